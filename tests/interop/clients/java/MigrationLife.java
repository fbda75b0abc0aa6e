import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;

/**
 * A group of Java's KafkaConsumer goes over from the classic protocol to the new one and back, one member after the other, while all commit: no
 * partition has two owners, no acknowledged commit is lost, commits go on. Once with eager classic members, once with cooperative ones.
 */
public final class MigrationLife {
    private static final int PARTITIONS = 6;
    private static final long LONGEST_PAUSE_MS = 20_000;

    private static Admin admin;

    private final String topic;
    private final String group;
    private final String strategy;
    private final GroupMember.Board board = new GroupMember.Board();
    private final List<GroupMember> members = new ArrayList<>();

    private MigrationLife(String name, String strategy) {
        topic = "migration-" + name + "-" + Story.RUN;
        group = topic + "-group";
        this.strategy = strategy;
    }

    private GroupMember start(String name, boolean classic) {
        GroupMember member = classic
            ? GroupMember.start(group, name, board, "group.protocol", "classic", "session.timeout.ms", "10000", "heartbeat.interval.ms", "500",
                "partition.assignment.strategy", "org.apache.kafka.clients.consumer." + strategy)
            : GroupMember.start(group, name, board);
        member.committing = true;
        return member.names(topic);
    }

    private ConsumerGroupDescription describe() {
        try {
            return admin.describeConsumerGroups(List.of(group)).all().get().get(group);
        } catch (Exception error) {
            throw new Story.Failed("describe: " + error);
        }
    }

    private boolean shared() {
        Set<TopicPartition> all = new HashSet<>();
        members.forEach(m -> all.addAll(m.owned));
        return all.size() == PARTITIONS && members.stream().allMatch(m -> m.owns(PARTITIONS / members.size()));
    }

    private void expectProgress() {
        Map<TopicPartition, Integer> then = Map.copyOf(board.commits);
        Story.until("commits go on", () -> board.further(then, PARTITIONS));
    }

    private void expectSettled(GroupType type, int upgraded) {
        Story.until("all partitions are shared", this::shared);
        Story.until("the group is stable, of type " + type + ", with " + upgraded + " of " + members.size() + " members of the new protocol", () -> {
            ConsumerGroupDescription d = describe();
            return d.type() == type && d.groupState() == GroupState.STABLE && d.members().size() == members.size()
                && (type == GroupType.CLASSIC || d.members().stream().filter(m -> m.upgraded().orElse(false)).count() == upgraded);
        });
        expectProgress();
        board.check();
        members.forEach(m -> Story.check(m.error == null, m.name + ": " + m.error));
    }

    /** Each member in turn ends and comes back with the other protocol. */
    private void roll(boolean toClassic) throws Exception {
        for (int i = 0; i < members.size(); i++) {
            GroupMember before = members.get(i);
            before.close();
            members.set(i, start(before.name, toClassic));
            int upgraded = toClassic ? members.size() - i - 1 : i + 1;
            expectSettled(upgraded == 0 ? GroupType.CLASSIC : GroupType.CONSUMER, upgraded);
            if (i == 0) {
                failover();
            }
        }
    }

    /** A mixed group whose coordinator is killed stays as it is. */
    private void failover() throws Exception {
        int moves = members.stream().mapToInt(m -> m.moves.get()).sum();
        int epoch = describe().groupEpoch().orElseThrow();
        Story.hook("HOOK_KILL", group);
        expectProgress();
        Thread.sleep(1_000);
        Story.check(members.stream().mapToInt(m -> m.moves.get()).sum() == moves && describe().groupEpoch().orElseThrow() == epoch,
            "something moved when the coordinator was killed");
    }

    private void expectCommitted() throws Exception {
        Map<TopicPartition, OffsetAndMetadata> found = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
        board.committed.forEach((partition, offset) -> {
            OffsetAndMetadata at = found.get(partition);
            Story.check(at != null && at.offset() == offset, partition + ": committed " + at + ", acknowledged " + offset);
        });
        Story.check(board.longestPause < LONGEST_PAUSE_MS, "a partition had no commit for " + board.longestPause + " ms");
        Story.say("nothing acknowledged was lost; the longest pause of a partition was " + board.longestPause + " ms");
    }

    private void live() throws Exception {
        Story.say(strategy);
        admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 1))).all().get();
        Story.hook("HOOK_TOPIC", topic);
        for (String name : List.of("x", "y", "z")) {
            members.add(start(name, true));
        }
        expectSettled(GroupType.CLASSIC, 0);
        roll(false);
        Story.say("upgraded");
        roll(true);
        Story.say("downgraded");
        members.forEach(GroupMember::close);
        expectCommitted();
        admin.deleteConsumerGroups(List.of(group)).all().get();
    }

    public static void main(String[] args) {
        Story.tell(() -> {
            Properties p = new Properties();
            p.put("bootstrap.servers", Story.BOOTSTRAP);
            try (Admin open = Admin.create(p)) {
                admin = open;
                new MigrationLife("eager", "RangeAssignor").live();
                new MigrationLife("cooperative", "CooperativeStickyAssignor").live();
            }
        });
    }
}
