import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ClassicGroupDescription;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A group's life with Java's KafkaConsumer, classic protocol, and Java's Admin. */
public final class ConsumerLife {
    private static final String TOPIC = "java-" + Story.RUN;
    private static final String GROUP = "java-group-" + Story.RUN;
    private static final Set<TopicPartition> PARTITIONS = Set.of(new TopicPartition(TOPIC, 0), new TopicPartition(TOPIC, 1));

    private ConsumerLife() {
    }

    private static KafkaConsumer<byte[], byte[]> join(String name) {
        Properties p = new Properties();
        p.put("bootstrap.servers", Story.BOOTSTRAP);
        p.put("client.id", "java-" + name);
        p.put("group.id", GROUP);
        p.put("group.protocol", "classic");
        p.put("session.timeout.ms", "10000");
        p.put("heartbeat.interval.ms", "500");
        p.put("enable.auto.commit", "false");
        p.put("auto.offset.reset", "earliest");
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(p, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        consumer.subscribe(List.of(TOPIC));
        return consumer;
    }

    private static void poll(KafkaConsumer<byte[], byte[]> consumer, long lowest) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(50))) {
            Story.check(record.offset() >= lowest, "got offset " + record.offset() + " although " + lowest + " is committed");
        }
    }

    private static void commit(KafkaConsumer<byte[], byte[]> consumer) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (TopicPartition partition : consumer.assignment()) {
            offsets.put(partition, new OffsetAndMetadata(Story.COMMITTED, "kept"));
        }
        consumer.commitSync(offsets, Duration.ofMillis(Story.WAIT_MS));
    }

    private static void expectCommitted(KafkaConsumer<byte[], byte[]> consumer) {
        Map<TopicPartition, OffsetAndMetadata> found = consumer.committed(PARTITIONS);
        for (TopicPartition partition : PARTITIONS) {
            OffsetAndMetadata at = found.get(partition);
            Story.check(at != null && at.offset() == Story.COMMITTED && at.metadata().equals("kept"), partition + ": committed " + at);
        }
        Story.say("committed: " + Story.COMMITTED);
    }

    private static boolean listed(Admin admin) throws Exception {
        return admin.listGroups().all().get().stream().anyMatch(g -> g.groupId().equals(GROUP));
    }

    private static void expectDescribed(Admin admin, GroupState state, int members) throws Exception {
        ConsumerGroupDescription group = admin.describeConsumerGroups(List.of(GROUP)).all().get().get(GROUP);
        Story.check(group.groupState() == state && group.members().size() == members,
            "described: " + group.groupState() + " with " + group.members().size() + " members");
        ClassicGroupDescription classic = admin.describeClassicGroups(List.of(GROUP)).all().get().get(GROUP);
        Story.check(classic.state().toString().equals(state.toString()), "described as classic: " + classic.state());
        Story.say("described: " + state + ", " + members + " members");
    }

    private static void live() throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", Story.BOOTSTRAP);
        try (Admin admin = Admin.create(p)) {
            admin.createTopics(List.of(new NewTopic(TOPIC, 2, (short) 1))).all().get();
            Story.hook("HOOK_TOPIC", TOPIC);
            KafkaConsumer<byte[], byte[]> a = join("a");
            Story.until("a owns both partitions", () -> a.assignment().size() == 2, () -> poll(a, 0));
            KafkaConsumer<byte[], byte[]> b = join("b");
            Story.until("a and b own one each", () -> a.assignment().size() == 1 && b.assignment().size() == 1, () -> {
                poll(a, 0);
                poll(b, 0);
            });
            commit(a);
            commit(b);
            expectCommitted(a);
            Story.hook("HOOK_MIDLIFE", GROUP);
            commit(a);
            commit(b);
            Story.check(listed(admin), "the group is not listed");
            expectDescribed(admin, GroupState.STABLE, 2);
            b.close();
            Story.until("a owns both again", () -> a.assignment().size() == 2, () -> poll(a, 0));
            a.close();
            expectDescribed(admin, GroupState.EMPTY, 0);

            KafkaConsumer<byte[], byte[]> again = join("a2");
            Story.until("the member is back with both", () -> again.assignment().size() == 2, () -> poll(again, Story.COMMITTED));
            for (TopicPartition partition : PARTITIONS) {
                Story.check(again.position(partition) >= Story.COMMITTED, partition + ": position " + again.position(partition));
            }
            expectCommitted(again);
            again.close();
            admin.deleteConsumerGroupOffsets(GROUP, Set.of(new TopicPartition(TOPIC, 0))).all().get();
            admin.deleteConsumerGroups(List.of(GROUP)).all().get();
            Story.check(!listed(admin), "the deleted group is listed");
            Story.say("deleted");
        }
    }

    public static void main(String[] args) {
        Story.tell(ConsumerLife::live);
    }
}
