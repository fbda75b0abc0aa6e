import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;

import org.apache.kafka.clients.consumer.CloseOptions;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.SubscriptionPattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** A consumer in a thread of its own, which polls, commits on and on when it is told to, and remembers what happened to it. */
final class GroupMember implements ConsumerRebalanceListener {

    private static final int MORE = 5;

    /** What the members of a group do together: who owns a partition, and the last offset of each that was acknowledged. */
    static final class Board {
        final Map<TopicPartition, String> owners = new ConcurrentHashMap<>();
        final Map<TopicPartition, Long> committed = new ConcurrentHashMap<>();
        final Map<TopicPartition, Integer> commits = new ConcurrentHashMap<>();
        private final Map<TopicPartition, Long> when = new ConcurrentHashMap<>();
        final ConcurrentLinkedQueue<String> faults = new ConcurrentLinkedQueue<>();
        volatile long longestPause;

        void own(TopicPartition partition, String name) {
            String before = owners.put(partition, name);
            if (before != null) {
                faults.add(partition + " went to " + name + " although " + before + " had it");
            }
        }

        void acknowledged(TopicPartition partition, long offset) {
            long now = System.nanoTime();
            Long last = when.put(partition, now);
            committed.merge(partition, offset, Math::max);
            commits.merge(partition, 1, Integer::sum);
            if (last != null) {
                synchronized (this) {
                    longestPause = Math.max(longestPause, (now - last) / 1_000_000);
                }
            }
        }

        /** So many acknowledged commits more than then, in each of so many partitions. */
        boolean further(Map<TopicPartition, Integer> than, int partitions) {
            return commits.size() == partitions && commits.entrySet().stream().allMatch(e -> e.getValue() >= than.getOrDefault(e.getKey(), 0) + MORE);
        }

        void check() {
            Story.check(faults.isEmpty(), String.join("; ", faults));
        }
    }

    final String name;
    final Board board;
    final Map<TopicPartition, Long> lowest = new ConcurrentHashMap<>();
    final AtomicInteger moves = new AtomicInteger();
    final AtomicInteger refused = new AtomicInteger();
    volatile Set<TopicPartition> owned = Set.of();
    volatile boolean committing;
    volatile Exception error;

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final ConcurrentLinkedQueue<Runnable> tasks = new ConcurrentLinkedQueue<>();
    private final Thread thread;
    private volatile boolean subscribed;
    private volatile CloseOptions ending;

    private GroupMember(String name, Board board, Properties settings) {
        this.name = name;
        this.board = board;
        consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        thread = new Thread(this::run, name);
        thread.setDaemon(true);
    }

    /** A member that has not subscribed to anything yet. Settings come in pairs, after those that all have. */
    static GroupMember start(String group, String name, Board board, String... more) {
        Properties p = new Properties();
        p.put("bootstrap.servers", Story.BOOTSTRAP);
        p.put("client.id", "java-" + name);
        p.put("group.id", group);
        p.put("group.protocol", "consumer");
        p.put("enable.auto.commit", "false");
        p.put("auto.offset.reset", "earliest");
        for (int i = 0; i < more.length; i += 2) {
            p.put(more[i], more[i + 1]);
        }
        GroupMember member = new GroupMember(name, board, p);
        member.thread.start();
        return member;
    }

    GroupMember names(String... topics) {
        return subscribe(c -> c.subscribe(List.of(topics), this));
    }

    GroupMember pattern(String text) {
        return subscribe(c -> c.subscribe(new SubscriptionPattern(text), this));
    }

    private GroupMember subscribe(java.util.function.Consumer<Consumer<byte[], byte[]>> how) {
        ask(c -> {
            how.accept(c);
            subscribed = true;
            return null;
        });
        return this;
    }

    /** Runs something on the member's own thread, as a consumer wants it. */
    <T> T ask(Function<Consumer<byte[], byte[]>, T> what) {
        CompletableFuture<T> result = new CompletableFuture<>();
        tasks.add(() -> {
            try {
                result.complete(what.apply(consumer));
            } catch (RuntimeException thrown) {
                result.completeExceptionally(thrown);
            }
        });
        return result.orTimeout(Story.WAIT_MS, TimeUnit.MILLISECONDS).join();
    }

    boolean owns(int partitions) {
        return owned.size() == partitions;
    }

    /** Commits the same offset for all that it owns. */
    void commit(long offset) {
        ask(c -> {
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            owned.forEach(p -> offsets.put(p, new OffsetAndMetadata(offset, "kept")));
            c.commitSync(offsets, Duration.ofMillis(Story.WAIT_MS));
            return null;
        });
    }

    void end(CloseOptions how) {
        ending = how;
        try {
            thread.join(Story.WAIT_MS);
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
        Story.check(!thread.isAlive(), name + " does not end");
    }

    /** Leaves; a static member keeps its slot. */
    void close() {
        end(CloseOptions.timeout(Duration.ofSeconds(20)));
    }

    void leaveForGood() {
        end(CloseOptions.timeout(Duration.ofSeconds(20)).withGroupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP));
    }

    private void run() {
        try {
            while (ending == null) {
                for (Runnable task = tasks.poll(); task != null; task = tasks.poll()) {
                    task.run();
                }
                if (!subscribed) {
                    Thread.sleep(5);
                    continue;
                }
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(20))) {
                    lowest.merge(new TopicPartition(record.topic(), record.partition()), record.offset(), Math::min);
                }
                if (committing) {
                    commitOne(owned);
                }
            }
        } catch (Exception thrown) {
            error = thrown;
        }
        consumer.close(ending == null ? CloseOptions.timeout(Duration.ofSeconds(1)) : ending);
        forget(owned);
    }

    /** The time as the offset: whoever commits later commits more. What a rebalance refuses is tried again with the next round. */
    private void commitOne(Collection<TopicPartition> partitions) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        partitions.forEach(p -> offsets.put(p, new OffsetAndMetadata(System.currentTimeMillis())));
        if (offsets.isEmpty()) {
            return;
        }
        try {
            consumer.commitSync(offsets, Duration.ofMillis(Story.WAIT_MS));
            offsets.forEach((partition, at) -> board.acknowledged(partition, at.offset()));
        } catch (CommitFailedException | RebalanceInProgressException again) {
            refused.incrementAndGet();
        }
    }

    private void forget(Collection<TopicPartition> partitions) {
        partitions.forEach(p -> board.owners.remove(p, name));
        Set<TopicPartition> rest = new HashSet<>(owned);
        rest.removeAll(partitions);
        owned = Set.copyOf(rest);
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        if (!partitions.isEmpty()) {
            moves.incrementAndGet();
            partitions.forEach(p -> board.own(p, name));
            Set<TopicPartition> now = new HashSet<>(owned);
            now.addAll(partitions);
            owned = Set.copyOf(now);
        }
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        if (!partitions.isEmpty()) {
            moves.incrementAndGet();
            if (committing) {
                commitOne(partitions);
            }
            forget(partitions);
        }
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        if (!partitions.isEmpty()) {
            moves.incrementAndGet();
            forget(partitions);
        }
    }
}
