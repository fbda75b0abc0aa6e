import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * How long a group of real consumers at their default settings takes to settle when one more joins, and when that one leaves.
 *
 * Arguments: BOOTSTRAP PROTOCOL MEMBERS ROUNDS. Prints a line `join MILLISECONDS` and a line `leave MILLISECONDS` for each round, which begins at
 * a random moment of the others' heartbeats. Settled: each partition is at one member, all have their share, the coordinator says Stable; the
 * time is that of the last change at any member.
 */
public final class Settle {
    private static final int SHARE = 4;
    private static final long WAIT_MS = 60_000;
    private static final long HEARTBEAT_MS = 5_000;
    private static final long ASSIGNMENT_MS = 1_000;

    private final String bootstrap;
    private final String protocol;
    private final String topic = "settle-" + System.currentTimeMillis();
    private final String group = topic + "-group";
    private final List<Member> members = new ArrayList<>();
    private final Admin admin;
    private volatile long lastChange;

    private Settle(String bootstrap, String protocol) {
        this.bootstrap = bootstrap;
        this.protocol = protocol;
        admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
    }

    private final class Member implements ConsumerRebalanceListener {
        final Set<TopicPartition> owned = ConcurrentHashMap.newKeySet();
        private final KafkaConsumer<byte[], byte[]> consumer;
        private final Thread thread = new Thread(this::run);
        private volatile boolean ends;

        Member() {
            Properties p = new Properties();
            p.put("bootstrap.servers", bootstrap);
            p.put("group.id", group);
            p.put("group.protocol", protocol);
            consumer = new KafkaConsumer<>(p, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            consumer.subscribe(List.of(topic), this);
            thread.setDaemon(true);
            thread.start();
        }

        private void run() {
            while (!ends) {
                consumer.poll(Duration.ofMillis(100));
            }
            consumer.close();
        }

        void leave() throws InterruptedException {
            ends = true;
            thread.join();
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            owned.addAll(partitions);
            changed(partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            owned.removeAll(partitions);
            changed(partitions);
        }

        private void changed(Collection<TopicPartition> partitions) {
            if (!partitions.isEmpty()) {
                lastChange = System.nanoTime();
            }
        }
    }

    private boolean shared(int partitions) {
        Set<TopicPartition> all = ConcurrentHashMap.newKeySet();
        int sum = 0;
        for (Member m : members) {
            int count = m.owned.size();
            if (count < partitions / members.size() || count > (partitions + members.size() - 1) / members.size()) {
                return false;
            }
            sum += count;
            all.addAll(m.owned);
        }
        return sum == partitions && all.size() == partitions;
    }

    private boolean stable() throws Exception {
        return admin.describeConsumerGroups(List.of(group)).all().get().get(group).groupState() == GroupState.STABLE;
    }

    /** Waits until the group is settled; the milliseconds from `begin` to the last change. */
    private double settled(int partitions, long begin) throws Exception {
        long deadline = System.currentTimeMillis() + WAIT_MS;
        while (!shared(partitions) || !stable()) {
            if (System.currentTimeMillis() > deadline) {
                throw new IllegalStateException("the group does not settle: " + members.stream().map(m -> m.owned.size()).toList());
            }
            Thread.sleep(5);
        }
        return (lastChange - begin) / 1e6;
    }

    private void measure(int count, int rounds) throws Exception {
        int partitions = SHARE * (count + 1);
        Random random = new Random(1);
        admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all().get();
        for (int i = 0; i < count; i++) {
            members.add(new Member());
        }
        settled(partitions, 0);
        for (int round = 0; round <= rounds; round++) {
            Thread.sleep(ASSIGNMENT_MS + random.nextLong(HEARTBEAT_MS));
            long begin = System.nanoTime();
            Member one = new Member();
            members.add(one);
            double join = settled(partitions, begin);
            Thread.sleep(ASSIGNMENT_MS + random.nextLong(HEARTBEAT_MS));
            members.remove(one);
            begin = System.nanoTime();
            one.leave();
            double leave = settled(partitions, begin);
            if (round > 0) { // the first one warms up
                System.out.printf("join %.0f%nleave %.0f%n", join, leave);
            }
        }
    }

    public static void main(String[] args) {
        try {
            new Settle(args[0], args[1]).measure(Integer.parseInt(args[2]), Integer.parseInt(args[3]));
        } catch (Throwable error) {
            error.printStackTrace();
            System.exit(1);
        }
        System.exit(0);
    }
}
