import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.MemberDescription;
import org.apache.kafka.clients.admin.MemberToRemove;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RemoveMembersFromConsumerGroupOptions;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.GroupType;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.InvalidRegularExpression;
import org.apache.kafka.common.errors.UnreleasedInstanceIdException;

/**
 * The lives of groups of the new protocol (KIP-848) with Java's KafkaConsumer and Java's Admin: by names, with the coordinator killed under
 * load; by regular expression; with static members.
 */
public final class ConsumerGroupLife {
    private static final String TOPIC = "java848-" + Story.RUN;
    private static final String LATER = TOPIC + "-later";
    private static final String GROUP = "java848-group-" + Story.RUN;

    private static Admin admin;

    private ConsumerGroupLife() {
    }

    private static Set<TopicPartition> partitions(String topic) {
        return Set.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1));
    }

    private static ConsumerGroupDescription describe(String group) {
        try {
            return admin.describeConsumerGroups(List.of(group)).all().get().get(group);
        } catch (Exception error) {
            throw new Story.Failed("describe: " + error);
        }
    }

    /** Stable, of the new type, everybody at the group's epoch and at its target. */
    private static int expectStable(String group, int members) {
        Story.until(group + " is stable with " + members + " members", () -> {
            ConsumerGroupDescription d = describe(group);
            return d.groupState() == GroupState.STABLE && d.members().size() == members;
        });
        ConsumerGroupDescription d = describe(group);
        Story.check(d.type() == GroupType.CONSUMER && d.partitionAssignor().equals("uniform") && d.groupEpoch().equals(d.targetAssignmentEpoch()),
            "described: " + d);
        for (MemberDescription m : d.members()) {
            Story.check(m.memberEpoch().equals(d.groupEpoch()) && m.targetAssignment().equals(Optional.of(m.assignment()))
                && m.upgraded().equals(Optional.of(true)), "described: " + m);
        }
        return d.groupEpoch().orElseThrow();
    }

    /** A leave that meets a coordinator on the move is lost, as Java does not repeat it; the session's end does the rest. */
    private static void expectEmpty(String group) {
        Story.until(group + " is empty", () -> {
            ConsumerGroupDescription d = describe(group);
            return d.groupState() == GroupState.EMPTY && d.members().isEmpty() && d.type() == GroupType.CONSUMER;
        });
    }

    private static boolean listed(String group, GroupState state) throws Exception {
        Collection<GroupListing> all = admin.listGroups(new ListGroupsOptions().withTypes(Set.of(GroupType.CONSUMER)).inGroupStates(Set.of(state)))
            .all().get();
        return all.stream().anyMatch(g -> g.groupId().equals(group) && g.protocol().equals("consumer"));
    }

    private static void expectCommitted(GroupMember.Board board, long lowest) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> found = admin.listConsumerGroupOffsets(GROUP).partitionsToOffsetAndMetadata().get();
        for (TopicPartition partition : partitions(TOPIC)) {
            long wanted = board == null ? lowest : board.committed.get(partition);
            OffsetAndMetadata at = found.get(partition);
            Story.check(at != null && at.offset() == wanted, partition + ": committed " + at + ", acknowledged " + wanted);
        }
        Story.say("committed: " + (board == null ? lowest : "what was acknowledged last"));
    }

    private static void configure(String group) throws Exception {
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, group), List.of(
            new AlterConfigOp(new ConfigEntry("consumer.session.timeout.ms", "6000"), AlterConfigOp.OpType.SET),
            new AlterConfigOp(new ConfigEntry("consumer.heartbeat.interval.ms", "500"), AlterConfigOp.OpType.SET)))).all().get();
    }

    private static void byNames() throws Exception {
        GroupMember.Board board = new GroupMember.Board();
        GroupMember a = GroupMember.start(GROUP, "a", board).names(TOPIC);
        Story.until("a owns both partitions", () -> a.owns(2));
        GroupMember b = GroupMember.start(GROUP, "b", board).names(TOPIC);
        Story.until("a and b own one each", () -> a.owns(1) && b.owns(1));
        a.commit(Story.COMMITTED);
        b.commit(Story.COMMITTED);
        expectCommitted(null, Story.COMMITTED);
        int epoch = expectStable(GROUP, 2);
        Story.check(listed(GROUP, GroupState.STABLE) && !listed(GROUP, GroupState.EMPTY), "listed wrongly");
        failover(board, a, b, epoch);
        a.commit(Story.COMMITTED);
        b.commit(Story.COMMITTED);
        b.close();
        Story.until("a owns both again", () -> a.owns(2));
        a.close();
        expectEmpty(GROUP);

        GroupMember again = GroupMember.start(GROUP, "a2", board).names(TOPIC);
        Story.until("the member is back with both", () -> again.owns(2));
        for (TopicPartition partition : partitions(TOPIC)) {
            long position = again.ask(c -> c.position(partition));
            Story.check(position >= Story.COMMITTED && again.lowest.getOrDefault(partition, Story.COMMITTED) >= Story.COMMITTED,
                partition + ": position " + position + ", got " + again.lowest);
        }
        expectCommitted(null, Story.COMMITTED);
        Story.check(describe(GROUP).groupEpoch().orElseThrow() > epoch, "the group was not kept");
        again.close();
        board.check();
        admin.deleteConsumerGroupOffsets(GROUP, Set.of(new TopicPartition(TOPIC, 0))).all().get();
        admin.deleteConsumerGroups(List.of(GROUP)).all().get();
        Story.check(!listed(GROUP, GroupState.EMPTY), "the deleted group is listed");
        Story.say("deleted");
    }

    /** The coordinator is killed while both commit: nothing moves, no acknowledged commit is lost, and commits go on. */
    private static void failover(GroupMember.Board board, GroupMember a, GroupMember b, int epoch) throws Exception {
        int moves = a.moves.get() + b.moves.get();
        a.committing = true;
        b.committing = true;
        Story.until("both commit", () -> board.further(Map.of(), 2));
        Story.hook("HOOK_KILL", GROUP);
        Map<TopicPartition, Integer> then = Map.copyOf(board.commits);
        Story.until("both commit on", () -> board.further(then, 2));
        Thread.sleep(2_000);
        a.committing = false;
        b.committing = false;
        a.ask(c -> null);
        b.ask(c -> null);
        expectCommitted(board, 0);
        Story.check(a.moves.get() + b.moves.get() == moves && a.owns(1) && b.owns(1), "partitions moved when the coordinator was killed");
        Story.check(expectStable(GROUP, 2) == epoch, "the group's epoch moved when the coordinator was killed");
        Story.check(a.refused.get() + b.refused.get() == 0, "commits were refused");
        Story.say("nothing moved; the longest pause between two commits was " + board.longestPause + " ms");
    }

    private static void byExpression() throws Exception {
        String group = GROUP + "-re";
        configure(group);
        GroupMember.Board board = new GroupMember.Board();
        GroupMember c = GroupMember.start(group, "c", board).pattern(TOPIC + "(-la[a-z]+)?");
        Story.until("c owns the topic that there is", () -> c.owned.equals(partitions(TOPIC)));
        GroupMember d = GroupMember.start(group, "d", board).pattern(TOPIC + "(-la[a-z]+)?");
        Story.until("c and d own one each", () -> c.owns(1) && d.owns(1));
        admin.createTopics(List.of(new NewTopic(LATER, 2, (short) 1))).all().get();
        Story.until("a new topic that matches is shared too", () -> c.owns(2) && d.owns(2));
        expectStable(group, 2);
        d.pattern(LATER);
        Story.until("d wants less and has none of the rest", () -> union(c, d).size() == 4 && partitions(LATER).containsAll(d.owned));
        admin.deleteTopics(List.of(LATER)).all().get();
        Story.until("the deleted topic is gone", () -> c.owned.equals(partitions(TOPIC)) && d.owns(0));
        GroupMember bad = GroupMember.start(group, "bad", board).pattern("(");
        Story.until("a pattern that is none is refused", () -> bad.error instanceof InvalidRegularExpression);
        bad.close();
        c.close();
        d.close();
        board.check();
        expectEmpty(group);
        admin.deleteConsumerGroups(List.of(group)).all().get();
    }

    private static Set<TopicPartition> union(GroupMember a, GroupMember b) {
        Set<TopicPartition> all = new HashSet<>(a.owned);
        all.addAll(b.owned);
        return all;
    }

    private static void staticMembers() throws Exception {
        String group = GROUP + "-static";
        configure(group);
        GroupMember.Board board = new GroupMember.Board();
        GroupMember one = GroupMember.start(group, "one", board, "group.instance.id", "one").names(TOPIC);
        GroupMember two = GroupMember.start(group, "two", board, "group.instance.id", "two").names(TOPIC);
        Story.until("both static members own one", () -> one.owns(1) && two.owns(1));
        int epoch = expectStable(group, 2);
        int moves = two.moves.get();
        Set<TopicPartition> had = one.owned;
        one.close();
        Story.check(describe(group).members().stream().anyMatch(m -> m.memberEpoch().equals(Optional.of(-2))), "the slot was not kept");
        GroupMember back = GroupMember.start(group, "one", board, "group.instance.id", "one").names(TOPIC);
        Story.until("the restarted one has what it had", () -> back.owned.equals(had));
        Story.check(expectStable(group, 2) == epoch && two.moves.get() == moves, "a static member's restart moved something");
        GroupMember second = GroupMember.start(group, "two-again", board, "group.instance.id", "two").names(TOPIC);
        Story.until("a second member of an instance that is there is refused", () -> second.error instanceof UnreleasedInstanceIdException);
        two.close();
        admin.removeMembersFromConsumerGroup(group, new RemoveMembersFromConsumerGroupOptions(List.of(new MemberToRemove("two")))).all().get();
        Story.until("the removed instance's share went to the other", () -> back.owns(2));
        back.leaveForGood();
        board.check();
        expectEmpty(group);
        admin.deleteConsumerGroups(List.of(group)).all().get();
    }

    private static void live() throws Exception {
        Properties p = new Properties();
        p.put("bootstrap.servers", Story.BOOTSTRAP);
        try (Admin open = Admin.create(p)) {
            admin = open;
            admin.createTopics(List.of(new NewTopic(TOPIC, 2, (short) 1))).all().get();
            Story.hook("HOOK_TOPIC", TOPIC);
            configure(GROUP);
            byNames();
            byExpression();
            staticMembers();
        }
    }

    public static void main(String[] args) {
        Story.tell(ConsumerGroupLife::live);
    }
}
