import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;

/**
 * A group of kcat and another member with librdkafka, both classic, into which Java's consumer comes with the new protocol, and which it leaves
 * again. Environment: LIFE, the program librdkafka-life.
 */
public final class LibrdkafkaMigrationLife {
    private static final int PARTITIONS = 6;
    private static final String TOPIC = "mixed-" + Story.RUN;
    private static final String GROUP = "mixed-group-" + Story.RUN;

    private static final GroupMember.Board BOARD = new GroupMember.Board();
    private static Admin admin;

    private LibrdkafkaMigrationLife() {
    }

    /** A member in a process of its own, and what it last said that it owns. */
    private abstract static class Other {
        final Process process;
        volatile int owned;
        volatile int moves;

        Other(String... command) throws IOException {
            process = new ProcessBuilder(command).redirectErrorStream(true).start();
            Thread reader = new Thread(this::read);
            reader.setDaemon(true);
            reader.start();
            Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
        }

        private void read() {
            try (BufferedReader in = new BufferedReader(new InputStreamReader(process.getInputStream()))) {
                for (String line = in.readLine(); line != null; line = in.readLine()) {
                    take(line);
                }
            } catch (IOException closed) {
                owned = 0;
            }
        }

        abstract void take(String line);

        void owns(int partitions) {
            moves += partitions == owned ? 0 : 1;
            owned = partitions;
        }
    }

    private static final class Kcat extends Other {
        Kcat() throws IOException {
            super("kcat", "-b", Story.BOOTSTRAP, "-X", "client.id=kcat", "-X", "session.timeout.ms=10000", "-X", "heartbeat.interval.ms=500",
                "-X", "enable.auto.commit=false", "-X", "auto.offset.reset=earliest", "-G", GROUP, TOPIC);
        }

        @Override
        void take(String line) {
            if (line.contains("rebalanced")) {
                owns(line.contains("assigned:") ? line.split(TOPIC + " \\[", -1).length - 1 : 0);
            }
        }

        void leave() throws InterruptedException {
            process.destroy();
            Story.check(process.waitFor(Story.WAIT_MS, TimeUnit.MILLISECONDS), "kcat does not end");
        }
    }

    private static final class Committer extends Other {
        Committer() throws IOException {
            super(System.getenv("LIFE"), "member", GROUP, TOPIC);
        }

        @Override
        void take(String line) {
            String[] words = line.split(" ", -1);
            if (words[0].equals("owns")) {
                owns((int) Arrays.stream(words[1].split(",")).filter(w -> !w.isEmpty()).count());
            } else if (words[0].equals("committed")) {
                BOARD.acknowledged(new TopicPartition(TOPIC, Integer.parseInt(words[1])), Long.parseLong(words[2]));
            } else if (!line.startsWith("%")) {
                Story.say("librdkafka: " + line);
            }
        }

        void leave() throws Exception {
            process.getOutputStream().close();
            Story.check(process.waitFor(Story.WAIT_MS, TimeUnit.MILLISECONDS), "librdkafka's member does not end");
        }
    }

    private static ConsumerGroupDescription describe() {
        try {
            return admin.describeConsumerGroups(List.of(GROUP)).all().get().get(GROUP);
        } catch (Exception error) {
            throw new Story.Failed("describe: " + error);
        }
    }

    private static void expectStable(GroupType type, int members, int upgraded) {
        Story.until("stable, of type " + type + ", " + upgraded + " of " + members + " members of the new protocol", () -> {
            ConsumerGroupDescription d = describe();
            return d.type() == type && d.groupState() == GroupState.STABLE && d.members().size() == members
                && d.members().stream().filter(m -> type == GroupType.CONSUMER && m.upgraded().orElse(false)).count() == upgraded;
        });
    }

    /** Commits go on in so many partitions that others than kcat own. */
    private static void expectProgress(int partitions) {
        Map<TopicPartition, Integer> then = Map.copyOf(BOARD.commits);
        Story.until("commits go on in " + partitions + " partitions", () ->
            BOARD.commits.entrySet().stream().filter(e -> e.getValue() >= then.getOrDefault(e.getKey(), 0) + 5).count() == partitions);
    }

    private static void expectCommitted() throws Exception {
        Map<TopicPartition, OffsetAndMetadata> found = admin.listConsumerGroupOffsets(GROUP).partitionsToOffsetAndMetadata().get();
        Story.check(BOARD.committed.size() == PARTITIONS, "committed: " + BOARD.committed);
        BOARD.committed.forEach((partition, offset) -> {
            OffsetAndMetadata at = found.get(partition);
            Story.check(at != null && at.offset() == offset, partition + ": committed " + at + ", acknowledged " + offset);
        });
        Story.say("nothing acknowledged was lost");
    }

    private static void failover(Kcat kcat, Committer committer, GroupMember java) throws Exception {
        int moves = kcat.moves + committer.moves + java.moves.get();
        Story.hook("HOOK_KILL", GROUP);
        expectProgress(4);
        Thread.sleep(1_000);
        Story.check(kcat.moves + committer.moves + java.moves.get() == moves, "partitions moved when the coordinator was killed");
    }

    private static void live() throws Exception {
        admin.createTopics(List.of(new NewTopic(TOPIC, PARTITIONS, (short) 1))).all().get();
        Story.hook("HOOK_TOPIC", TOPIC);
        Kcat kcat = new Kcat();
        Committer first = new Committer();
        Story.until("kcat and librdkafka's member share the partitions", () -> kcat.owned == 3 && first.owned == 3);
        expectStable(GroupType.CLASSIC, 2, 0);
        expectProgress(3);
        GroupMember java = GroupMember.start(GROUP, "java", BOARD);
        java.committing = true;
        java.names(TOPIC);
        Story.until("all three have a share", () -> kcat.owned == 2 && first.owned == 2 && java.owns(2));
        expectStable(GroupType.CONSUMER, 3, 1);
        expectProgress(4);
        failover(kcat, first, java);
        first.leave();
        Story.until("the other two have its share", () -> kcat.owned == 3 && java.owns(3));
        Committer second = new Committer();
        Story.until("it is back, classic as it was", () -> kcat.owned == 2 && second.owned == 2 && java.owns(2));
        expectStable(GroupType.CONSUMER, 3, 1);
        kcat.leave();
        Story.until("kcat's share went to the others", () -> second.owned == 3 && java.owns(3));
        expectProgress(6);
        java.close();
        Story.until("librdkafka's member has all", () -> second.owned == PARTITIONS);
        expectStable(GroupType.CLASSIC, 1, 0);
        expectProgress(6);
        Kcat again = new Kcat();
        Story.until("kcat is back in the classic group", () -> again.owned == 3 && second.owned == 3);
        again.leave();
        second.leave();
        Story.check(java.error == null, "java: " + java.error);
        expectCommitted();
        admin.deleteConsumerGroups(List.of(GROUP)).all().get();
        Story.say("deleted");
    }

    public static void main(String[] args) {
        Story.tell(() -> {
            Properties p = new Properties();
            p.put("bootstrap.servers", Story.BOOTSTRAP);
            try (Admin open = Admin.create(p)) {
                admin = open;
                live();
            }
        });
    }
}
