import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.StreamsGroupDescription;
import org.apache.kafka.clients.admin.StreamsGroupMemberDescription;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.config.ConfigResource;

/**
 * The life of a streams group (KIP-1071) with unmodified Kafka Streams in processes of their own: two instances with two threads each, disjoint
 * tasks and standbys, one killed, the coordinator killed, the application shut down by a failing task, and started again.
 */
public final class StreamsGroupLife {
    private static final String TOPIC = "kstreams-" + Story.RUN;
    private static final String GROUP = "kstreams-group-" + Story.RUN;
    private static final int PARTITIONS = 4;
    private static final Set<String> ALL = Set.of("0_0", "0_1", "0_2", "0_3", "1_0", "1_1", "1_2", "1_3");

    private StreamsGroupLife() {
    }

    /** An instance and what it last said of itself. */
    private static final class Instance {
        final String name;
        final Process process;
        final PrintStream commands;
        volatile String state = "";
        volatile Set<String> active = Set.of();
        volatile Set<String> standby = Set.of();
        volatile String error = "";
        volatile int moves;

        Instance(String name) throws IOException {
            this.name = name;
            process = new ProcessBuilder(System.getProperty("java.home") + "/bin/java", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", System.getProperty("java.class.path"),
                "StreamsInstance", GROUP, TOPIC, name).redirectErrorStream(true).start();
            commands = new PrintStream(process.getOutputStream(), true);
            Thread reader = new Thread(this::read);
            reader.setDaemon(true);
            reader.start();
            Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
        }

        private static Set<String> tasks(String text) {
            return List.of(text.split(",")).stream().filter(t -> !t.isEmpty()).collect(Collectors.toCollection(TreeSet::new));
        }

        private void read() {
            try (BufferedReader in = new BufferedReader(new InputStreamReader(process.getInputStream()))) {
                for (String line = in.readLine(); line != null; line = in.readLine()) {
                    take(line);
                }
            } catch (IOException closed) {
                state = "ENDED";
            }
        }

        private void take(String line) {
            String[] words = line.split(" ");
            if (words.length == 4 && words[0].equals("state")) {
                Set<String> now = tasks(words[2].substring("active=".length()));
                moves += now.equals(active) ? 0 : 1;
                active = now;
                standby = tasks(words[3].substring("standby=".length()));
                state = words[1];
            } else {
                error = error + " / " + line;
                System.out.println(name + ": " + line);
            }
        }

        boolean runs() {
            return state.equals("RUNNING");
        }
    }

    private static void nap() {
        try {
            Thread.sleep(20);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private static Set<String> union(Collection<String> a, Collection<String> b) {
        Set<String> all = new TreeSet<>(a);
        all.addAll(b);
        return all;
    }

    private static boolean shared(Instance a, Instance b) {
        return a.runs() && b.runs() && a.active.size() == 4 && b.active.size() == 4 && union(a.active, b.active).equals(ALL);
    }

    /** The stateful subtopology has a standby of each task, on the instance that does not have it active. */
    private static boolean standbys(Instance a, Instance b) {
        Set<String> stateful = ALL.stream().filter(t -> t.startsWith("1_")).collect(Collectors.toSet());
        return union(a.standby, b.standby).equals(stateful) && a.active.stream().noneMatch(a.standby::contains) &&
            b.active.stream().noneMatch(b.standby::contains);
    }

    private static StreamsGroupDescription describe(Admin admin) {
        try {
            return admin.describeStreamsGroups(List.of(GROUP)).describedGroups().get(GROUP).get();
        } catch (Exception error) {
            throw new Story.Failed("describe: " + error);
        }
    }

    private static void expectStable(Admin admin, int members) {
        Story.until("stable with " + members + " members", () -> {
            StreamsGroupDescription d = describe(admin);
            return d.groupState() == GroupState.STABLE && d.members().size() == members;
        }, StreamsGroupLife::nap);
    }

    private static void configure(Admin admin) throws Exception {
        ConfigResource group = new ConfigResource(ConfigResource.Type.GROUP, GROUP);
        admin.incrementalAlterConfigs(Map.of(group, List.of(
            new AlterConfigOp(new ConfigEntry("streams.num.standby.replicas", "1"), AlterConfigOp.OpType.SET),
            new AlterConfigOp(new ConfigEntry("streams.session.timeout.ms", "6000"), AlterConfigOp.OpType.SET),
            new AlterConfigOp(new ConfigEntry("streams.heartbeat.interval.ms", "500"), AlterConfigOp.OpType.SET),
            new AlterConfigOp(new ConfigEntry("streams.initial.rebalance.delay.ms", "500"), AlterConfigOp.OpType.SET)))).all().get();
        Thread.sleep(500);
    }

    private static void expectTopics(Admin admin) throws Exception {
        Set<String> names = admin.listTopics().names().get();
        Story.check(names.contains(GROUP + "-again-repartition") && names.contains(GROUP + "-counts-changelog"), "internal topics: " + names);
        Story.say("the internal topics are there");
    }

    private static void live() throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", Story.BOOTSTRAP);
        try (Admin admin = Admin.create(p)) {
            admin.createTopics(List.of(new NewTopic(TOPIC, PARTITIONS, (short) 1))).all().get();
            configure(admin);
            Instance a = new Instance("a");
            Story.until("a runs all tasks", () -> a.runs() && a.active.equals(ALL), StreamsGroupLife::nap);
            expectTopics(admin);
            Instance b = new Instance("b");
            Story.until("a and b share the tasks", () -> shared(a, b), StreamsGroupLife::nap);
            Story.until("standbys of each stateful task on the other instance", () -> standbys(a, b), StreamsGroupLife::nap);
            expectStable(admin, 4);
            int movesA = a.moves;
            int movesB = b.moves;
            int epoch = describe(admin).groupEpoch();
            Story.hook("HOOK_KILL", GROUP);
            Thread.sleep(3_000);
            expectStable(admin, 4);
            Story.check(shared(a, b) && a.moves == movesA && b.moves == movesB, "tasks moved when the coordinator was killed");
            Story.check(describe(admin).groupEpoch() == epoch, "the group's epoch moved when the coordinator was killed");
            Story.say("nothing moved at the coordinator's change");
            b.process.destroyForcibly();
            Story.until("b was killed and a has all tasks", () -> a.runs() && a.active.equals(ALL), StreamsGroupLife::nap);
            expectStable(admin, 2);
            Instance c = new Instance("b");
            Story.until("b is back and both share the tasks", () -> shared(a, c), StreamsGroupLife::nap);
            c.commands.println("fail");
            Story.until("the application has shut down", () -> !a.process.isAlive() && !c.process.isAlive(), StreamsGroupLife::nap);
            Story.until("the group is empty", () -> describe(admin).groupState() == GroupState.EMPTY, StreamsGroupLife::nap);
            Instance d = new Instance("a");
            Story.until("the application runs again in its group", () -> d.runs() && d.active.equals(ALL), StreamsGroupLife::nap);
            Story.check(describe(admin).groupEpoch() > epoch, "the group was not kept");
            Story.check(d.error.isEmpty(), "said: " + d.error);
            for (StreamsGroupMemberDescription m : describe(admin).members()) {
                Story.check(m.topologyEpoch() == 0, "topology epoch " + m.topologyEpoch());
            }
            d.commands.println("leave");
            Story.until("it left", () -> !d.process.isAlive(), StreamsGroupLife::nap);
            admin.deleteStreamsGroups(List.of(GROUP)).all().get();
            Story.say("deleted");
        }
    }

    public static void main(String[] args) {
        Story.tell(StreamsGroupLife::live);
    }
}
