import java.util.HashMap;
import java.util.Map;
import java.util.Scanner;
import java.util.stream.Collectors;

/**
 * Members of groups, in one process, as standard input wants them. `start NAME GROUP PROTOCOL SUBSCRIPTION`, where a subscription that begins
 * with ^ is a regular expression for the coordinator (with the classic protocol: names only); `close NAME`. Prints `NAME owns PARTITIONS` whenever that changes.
 */
public final class Members {
    private static final Map<String, GroupMember> ALL = new HashMap<>();

    private Members() {
    }

    private static void start(String name, String group, String protocol, String subscription) {
        GroupMember member = GroupMember.start(group, name, new GroupMember.Board(), "group.protocol", protocol);
        synchronized (ALL) {
            ALL.put(name, member);
        }
        if (subscription.startsWith("^")) {
            member.pattern(subscription);
        } else {
            member.names(subscription);
        }
    }

    private static void close(String name) {
        GroupMember member;
        synchronized (ALL) {
            member = ALL.remove(name);
        }
        member.close();
        Story.say(name + " closed");
    }

    private static void report() {
        Map<String, String> told = new HashMap<>();
        while (true) {
            synchronized (ALL) {
                ALL.forEach((name, member) -> {
                    String now = member.owned.stream().map(Object::toString).sorted().collect(Collectors.joining(","));
                    if (!now.equals(told.put(name, now))) {
                        Story.say(name + " owns " + now);
                    }
                });
            }
            try {
                Thread.sleep(20);
            } catch (InterruptedException stop) {
                return;
            }
        }
    }

    public static void main(String[] args) {
        Thread reporter = new Thread(Members::report);
        reporter.setDaemon(true);
        reporter.start();
        Scanner lines = new Scanner(System.in);
        while (lines.hasNextLine()) {
            String[] words = lines.nextLine().trim().split(" ");
            if (words[0].equals("start") && words.length == 5) {
                start(words[1], words[2], words[3], words[4]);
            } else if (words[0].equals("close") && words.length == 2) {
                close(words[1]);
            } else {
                Story.say("FAILED: what is " + String.join(" ", words));
            }
        }
        System.exit(0);
    }
}
