import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Scanner;
import java.util.concurrent.CompletableFuture;

import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs Kafka's command line tools one after the other in one process, which saves each the start of a JVM.
 *
 * A line of standard input: the tool's class and its arguments. What it printed follows, then a line `exit CODE`. A tool that wants to end
 * the process is stopped right there: its thread sleeps from then on.
 */
public final class ToolShell {
    private ToolShell() {
    }

    private static void run(String[] words, CompletableFuture<Integer> end) {
        try {
            Class.forName(words[0]).getMethod("main", String[].class).invoke(null, (Object) Arrays.copyOfRange(words, 1, words.length));
            end.complete(0);
        } catch (InvocationTargetException thrown) {
            thrown.getCause().printStackTrace();
            end.complete(1);
        } catch (ReflectiveOperationException error) {
            error.printStackTrace();
            end.complete(2);
        }
    }

    private static int runUntilItEnds(String[] words) {
        CompletableFuture<Integer> end = new CompletableFuture<>();
        Exit.Procedure procedure = (code, message) -> {
            end.complete(code);
            while (true) {
                try {
                    Thread.sleep(Long.MAX_VALUE);
                } catch (InterruptedException again) {
                    Thread.interrupted();
                }
            }
        };
        Exit.setExitProcedure(procedure);
        Exit.setHaltProcedure(procedure);
        Thread tool = new Thread(() -> run(words, end));
        tool.setDaemon(true);
        tool.start();
        return end.join();
    }

    public static void main(String[] args) {
        PrintStream terminal = System.out;
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            PrintStream out = new PrintStream(printed, true, StandardCharsets.UTF_8);
            System.setOut(out);
            System.setErr(out);
            int code = runUntilItEnds(lines.nextLine().trim().split(" +"));
            out.flush();
            terminal.print(printed.toString(StandardCharsets.UTF_8));
            terminal.println("exit " + code);
            terminal.flush();
        }
        System.exit(0);
    }
}
