import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicLong;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.TaskMetadata;
import org.apache.kafka.streams.processor.api.ContextualProcessor;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;

/** A group's life with Kafka Streams, classic protocol: a topology that keeps no state and writes nothing. */
public final class StreamsLife {
    private static final String TOPIC = "streams-" + Story.RUN;
    private static final String GROUP = "streams-group-" + Story.RUN;
    private static final AtomicLong LOWEST = new AtomicLong(Long.MAX_VALUE);

    private static final CloseOptions LEAVE =
        CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP);

    private StreamsLife() {
    }

    /** Remembers the lowest offset that came. */
    private static final class Watcher extends ContextualProcessor<byte[], byte[], Void, Void> {
        @Override
        public void process(Record<byte[], byte[]> record) {
            context().recordMetadata().ifPresent(at -> LOWEST.accumulateAndGet(at.offset(), Math::min));
        }
    }

    private static KafkaStreams start(String name) throws Exception {
        Path folder = Files.createTempDirectory("streams-");
        Properties p = new Properties();
        p.put("application.id", GROUP);
        p.put("client.id", "streams-" + name);
        p.put("bootstrap.servers", Story.BOOTSTRAP);
        p.put("group.protocol", "classic");
        p.put("state.dir", folder.toString());
        p.put("num.stream.threads", "1");
        p.put("commit.interval.ms", "500");
        p.put("default.key.serde", Serdes.ByteArraySerde.class.getName());
        p.put("default.value.serde", Serdes.ByteArraySerde.class.getName());
        p.put("consumer.session.timeout.ms", "10000");
        p.put("consumer.heartbeat.interval.ms", "500");
        p.put("consumer.auto.offset.reset", "earliest");
        StreamsBuilder builder = new StreamsBuilder();
        builder.<byte[], byte[]>stream(TOPIC).process(Watcher::new);
        KafkaStreams streams = new KafkaStreams(builder.build(), p);
        streams.setUncaughtExceptionHandler(error -> {
            Story.say(name + ": " + error);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
        return streams;
    }

    private static int tasks(KafkaStreams streams) {
        if (streams.state() != KafkaStreams.State.RUNNING) {
            return -1;
        }
        return streams.metadataForLocalThreads().stream().mapToInt(t -> t.activeTasks().size()).sum();
    }

    private static void nap() {
        try {
            Thread.sleep(50);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private static void expectResumed(KafkaStreams streams) {
        for (TaskMetadata task : streams.metadataForLocalThreads().iterator().next().activeTasks()) {
            task.committedOffsets().forEach((partition, at) ->
                Story.check(at == -1 || at >= Story.COMMITTED, partition + ": committed " + at));
        }
        Story.check(LOWEST.get() >= Story.COMMITTED, "got offset " + LOWEST.get());
    }

    private static void expectCommitted(Admin admin) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> found = admin.listConsumerGroupOffsets(GROUP).partitionsToOffsetAndMetadata().get();
        for (int partition = 0; partition < 2; partition++) {
            OffsetAndMetadata at = found.get(new TopicPartition(TOPIC, partition));
            Story.check(at != null && at.offset() >= Story.COMMITTED, "partition " + partition + ": committed " + at);
        }
        Story.say("committed: " + found.values().stream().map(OffsetAndMetadata::offset).toList());
    }

    private static void expectDescribed(Admin admin, GroupState state, int members) throws Exception {
        ConsumerGroupDescription group = admin.describeConsumerGroups(List.of(GROUP)).all().get().get(GROUP);
        Story.check(group.groupState() == state && group.members().size() == members,
            "described: " + group.groupState() + " with " + group.members().size() + " members");
        Story.say("described: " + state + ", " + members + " members");
    }

    private static void live() throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", Story.BOOTSTRAP);
        try (Admin admin = Admin.create(p)) {
            admin.createTopics(List.of(new NewTopic(TOPIC, 2, (short) 1))).all().get();
            Story.hook("HOOK_TOPIC", TOPIC);
            OffsetAndMetadata at = new OffsetAndMetadata(Story.COMMITTED);
            admin.alterConsumerGroupOffsets(GROUP,
                Map.of(new TopicPartition(TOPIC, 0), at, new TopicPartition(TOPIC, 1), at)).all().get();
            KafkaStreams a = start("a");
            Story.until("a runs with both tasks", () -> tasks(a) == 2, StreamsLife::nap);
            KafkaStreams b = start("b");
            Story.until("a and b run with one task each", () -> tasks(a) == 1 && tasks(b) == 1, StreamsLife::nap);
            expectResumed(a);
            expectResumed(b);
            expectDescribed(admin, GroupState.STABLE, 2);
            Story.hook("HOOK_MIDLIFE", GROUP);
            Thread.sleep(2_000);
            Story.check(tasks(a) == 1 && tasks(b) == 1, "the tasks moved: " + a.state() + " " + b.state());
            expectDescribed(admin, GroupState.STABLE, 2);
            b.close(LEAVE);
            Story.until("a runs with both tasks again", () -> tasks(a) == 2, StreamsLife::nap);
            a.close(LEAVE);
            expectDescribed(admin, GroupState.EMPTY, 0);
            expectCommitted(admin);

            KafkaStreams again = start("a");
            Story.until("the instance is back with both tasks", () -> tasks(again) == 2, StreamsLife::nap);
            expectResumed(again);
            again.close(LEAVE);
            expectCommitted(admin);
            admin.deleteConsumerGroups(List.of(GROUP)).all().get();
            Story.say("deleted");
        }
    }

    public static void main(String[] args) {
        Story.tell(StreamsLife::live);
    }
}
