import java.util.function.BooleanSupplier;

/** What the Java programs share: the environment, the story they print, the way they end. */
final class Story {
    static final String BOOTSTRAP = System.getenv("BOOTSTRAP");
    static final String RUN = System.getenv("RUN");
    static final long WAIT_MS = 30_000;
    static final long COMMITTED = 5;

    interface Life {
        void live() throws Exception;
    }

    static final class Failed extends RuntimeException {
        private static final long serialVersionUID = 1;

        Failed(String text) {
            super(text);
        }
    }

    private Story() {
    }

    static void say(String text) {
        System.out.println(text);
    }

    static void check(boolean good, String otherwise) {
        if (!good) {
            throw new Failed(otherwise);
        }
    }

    /** Repeats `step` until the condition holds, then tells it. */
    static void until(String what, BooleanSupplier condition, Runnable step) {
        long deadline = System.currentTimeMillis() + WAIT_MS;
        while (!condition.getAsBoolean()) {
            check(System.currentTimeMillis() < deadline, "never: " + what);
            step.run();
        }
        say(what);
    }

    /** Waits until the condition holds, then tells it. */
    static void until(String what, BooleanSupplier condition) {
        until(what, condition, () -> {
            try {
                Thread.sleep(20);
            } catch (InterruptedException stop) {
                Thread.currentThread().interrupt();
            }
        });
    }

    static void hook(String name, String argument) throws Exception {
        String program = System.getenv(name);
        if (program != null && !program.isEmpty()) {
            check(new ProcessBuilder(program, argument).inheritIO().start().waitFor() == 0, program + " failed");
        }
    }

    static void tell(Life life) {
        try {
            life.live();
        } catch (Throwable error) {
            say("FAILED: " + error);
            error.printStackTrace();
            System.exit(1);
        }
        System.exit(0);
    }
}
