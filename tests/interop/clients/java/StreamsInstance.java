import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Properties;
import java.util.Scanner;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;

import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.ThreadMetadata;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.processor.PunctuationType;
import org.apache.kafka.streams.processor.api.ContextualFixedKeyProcessor;
import org.apache.kafka.streams.processor.api.FixedKeyProcessorContext;
import org.apache.kafka.streams.processor.api.FixedKeyRecord;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * One instance of a streams application with group.protocol=streams: a repartition topic, a state store, two threads.
 *
 * Arguments: application id, source topic, name. Prints `state STATE active=.. standby=..` whenever that changes. On standard input:
 * `fail` makes one task throw, upon which the whole application is asked to shut down; `leave` ends it as a member that leaves.
 *
 * One task, not all: the thread that failed is going, so another of the instance has to ask. When both fail while the first is still closing, the client
 * takes the first for alive, starts no third one, and nobody asks; with any coordinator.
 */
public final class StreamsInstance {
    private static final AtomicBoolean FAIL = new AtomicBoolean();
    private static final AtomicBoolean LIT = new AtomicBoolean();

    private StreamsInstance() {
    }

    /** Passes records on; throws from a punctuation when it is told to, since there may be no records. */
    private static final class Fuse extends ContextualFixedKeyProcessor<byte[], byte[], byte[]> {
        @Override
        public void init(FixedKeyProcessorContext<byte[], byte[]> context) {
            super.init(context);
            context.schedule(Duration.ofMillis(100), PunctuationType.WALL_CLOCK_TIME, now -> {
                if (LIT.compareAndSet(true, false)) {
                    throw new IllegalStateException("told to fail");
                }
            });
        }

        @Override
        public void process(FixedKeyRecord<byte[], byte[]> record) {
            context().forward(record);
        }
    }

    private static StreamsBuilder topology(String source) {
        StreamsBuilder builder = new StreamsBuilder();
        builder.<byte[], byte[]>stream(source)
            .processValues(Fuse::new)
            .map((key, value) -> KeyValue.pair(value, value))
            .groupByKey(Grouped.as("again"))
            .count(Materialized.<byte[], Long, KeyValueStore<Bytes, byte[]>>as("counts").withKeySerde(Serdes.ByteArray()));
        return builder;
    }

    private static KafkaStreams start(String application, String source, String name) throws Exception {
        Path folder = Files.createTempDirectory("streams-");
        Properties p = new Properties();
        p.put("application.id", application);
        p.put("client.id", application + "-" + name);
        p.put("bootstrap.servers", Story.BOOTSTRAP);
        p.put("group.protocol", "streams");
        p.put("state.dir", folder.toString());
        p.put("num.stream.threads", "2");
        p.put("commit.interval.ms", "500");
        p.put("application.server", "127.0.0.1:" + (name.equals("a") ? 7001 : 7002));
        p.put("default.key.serde", Serdes.ByteArraySerde.class.getName());
        p.put("default.value.serde", Serdes.ByteArraySerde.class.getName());
        p.put("auto.offset.reset", "earliest");
        KafkaStreams streams = new KafkaStreams(topology(source).build(), p);
        streams.setUncaughtExceptionHandler(error -> {
            Story.say("error " + error + (error.getCause() == null ? "" : " because of " + error.getCause()));
            return FAIL.get() ? StreamThreadExceptionResponse.SHUTDOWN_APPLICATION : StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        streams.start();
        return streams;
    }

    private static String tasks(KafkaStreams streams, boolean active) {
        return streams.metadataForLocalThreads().stream()
            .flatMap((ThreadMetadata t) -> (active ? t.activeTasks() : t.standbyTasks()).stream())
            .map(t -> t.taskId().toString())
            .collect(Collectors.toCollection(TreeSet::new))
            .stream().collect(Collectors.joining(","));
    }

    private static void report(KafkaStreams streams) {
        String last = "";
        while (true) {
            String now = "state " + streams.state() + " active=" + tasks(streams, true) + " standby=" + tasks(streams, false);
            if (!now.equals(last)) {
                Story.say(now);
                last = now;
            }
            if (streams.state().hasCompletedShutdown()) {
                System.exit(0);
            }
            try {
                Thread.sleep(20);
            } catch (InterruptedException error) {
                return;
            }
        }
    }

    public static void main(String[] args) throws Exception {
        KafkaStreams streams = start(args[0], args[1], args[2]);
        Thread reporter = new Thread(() -> report(streams));
        reporter.setDaemon(true);
        reporter.start();
        Scanner commands = new Scanner(System.in);
        while (commands.hasNextLine()) {
            String command = commands.nextLine();
            if (command.equals("fail")) {
                FAIL.set(true);
                LIT.set(true);
            } else if (command.equals("leave")) {
                streams.close(CloseOptions.timeout(Duration.ofSeconds(20))
                    .withGroupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
            }
        }
    }
}
