"""Consumer groups: joining, moving partitions, leaving; epochs behind and ahead; which change starts a new assignment."""
from lib import members
from lib.consumer import Member, describe, in_topics
from lib.members import settle
from lib.registry import script


def group_config(t, group, **configs):
    members.group_config(t, group, "consumer", **configs)


def trio(t, group, topics, names="abc", **options):
    return [Member(t, group, n, topics, **options) for n in names]


def partitions_of(member, *numbers):
    """Partitions of the only topic a member has, as the field of a request."""
    topic = next(iter(member.held))[0]
    return [{"TopicId": topic, "Partitions": list(numbers)}]


@script("consumer.two-members", "consumer")
def two_members(t):
    """A is given everything with its join; B joins and waits; A is told, confirms; B gets its share; B leaves; A leaves."""
    group, topics = t.group("two"), [t.topic("in", 6)]
    a, b = trio(t, group, topics, "ab")
    a.join()
    describe(a.conn, group)
    a.beat()
    a.ack()
    b.join()
    describe(a.conn, group)
    b.beat()
    t.say("A is told once what it keeps")
    a.beat()
    describe(a.conn, group)
    a.beat()
    t.say("what it keeps, reported, is the confirmation")
    a.ack()
    describe(a.conn, group)
    b.beat()
    describe(a.conn, group)
    b.beat()
    t.say("a leave computes nothing; the next heartbeat does")
    b.leave()
    describe(a.conn, group)
    a.beat()
    a.beat()
    describe(a.conn, group)
    b.beat()
    b.leave()
    a.leave()
    describe(a.conn, group)
    t.say("the empty group goes on from its epoch")
    b.join()
    describe(a.conn, group)


@script("consumer.three-members", "consumer")
def three_members(t):
    """B and C join before anybody has confirmed anything: members go straight to the newest target."""
    group, topics = t.group("three"), [t.topic("in", 12)]
    a, b, c = trio(t, group, topics)
    a.join()
    b.join()
    t.say("A has been told nothing yet when C joins")
    c.join()
    describe(a.conn, group)
    b.beat()
    c.beat()
    a.beat()
    describe(a.conn, group)
    a.ack()
    b.beat()
    c.beat()
    describe(a.conn, group)
    for m in (b, c, a):
        m.beat()
    t.say("C leaves, A takes its part back with the next heartbeat, B with its own")
    c.leave()
    a.beat()
    b.beat()
    describe(a.conn, group)
    t.say("B leaves while C comes back")
    c.join()
    b.leave()
    c.beat()
    a.beat()
    a.ack()
    c.beat()
    describe(a.conn, group)


@script("consumer.exact", "consumer")
def exact(t):
    """One member with several topics, and two whose topics differ: the partitions as numbers."""
    t.exact = True
    group, one, two = t.group("exact"), t.topic("one", 3), t.topic("two", 2)
    a, b = Member(t, group, "a", [one, two]), Member(t, group, "b", [two])
    a.join()
    describe(a.conn, group)
    a.beat(SubscribedTopicNames=[one])
    a.ack()
    b.join()
    describe(a.conn, group)
    a.beat()
    a.full()
    b.full()
    describe(a.conn, group)
    b.leave()
    a.leave()


@script("consumer.range", "consumer")
def by_range(t):
    """The range assignor: consecutive partitions of each topic, in the order of member ids."""
    t.exact = True
    group, topics = t.group("range"), [t.topic("one", 7), t.topic("two", 2)]
    a, b, c = trio(t, group, topics, ServerAssignor="range")
    c.join()
    a.join()
    b.join()
    describe(a.conn, group)
    for m in (c, a, b):
        m.beat()
        m.ack()
    for m in (a, b, c):
        m.beat()
    describe(a.conn, group)
    a.leave()
    for m in (b, c):
        m.beat()
        m.ack()
    b.beat()
    describe(b.conn, group)


@script("consumer.revocation", "consumer")
def revocation(t):
    """B03: what confirms a revocation: a report without all that was taken, or a new join; nothing else does."""
    group, topics = t.group("revoke"), [t.topic("in", 6)]
    a, b, c = trio(t, group, topics)
    a.join()
    everything = a.report()
    b.join()
    a.beat()
    t.say("it only beats, then still reports all, then says everything again with all")
    for _ in range(3):
        a.beat()
        b.beat()
    a.beat(**everything)
    b.beat()
    a.full(**everything)
    a.full(TopicPartitions=None)
    b.beat()
    t.say("all but one of those it gives up")
    numbers = sorted(p for _, p in a.held)
    given_up = sorted(set(range(6)) - set(numbers))
    a.beat(TopicPartitions=partitions_of(a, *numbers, given_up[0]))
    b.beat()
    describe(a.conn, group)
    t.say("less than it keeps is a confirmation as well, and it keeps the rest")
    a.beat(TopicPartitions=partitions_of(a, numbers[0]))
    describe(a.conn, group)
    b.beat()
    t.say("reports what others hold, or nobody has: not looked at")
    a.beat(**everything)
    a.beat(TopicPartitions=partitions_of(a, 99, -1))
    a.beat(TopicPartitions=[{"TopicId": "ab" * 16, "Partitions": [0]}])
    t.say("a join instead of a confirmation")
    c.join()
    a.beat()
    a.join()
    b.join()
    describe(a.conn, group)
    c.beat()
    describe(a.conn, group)


@script("consumer.previous-epoch", "consumer")
def previous_epoch(t):
    """B17: the epoch before the present one is accepted with a report of what the member holds, or less."""
    group, topics = t.group("previous"), [t.topic("in", 6)]
    a, b = trio(t, group, topics, "ab")
    a.join()
    everything = a.report()
    b.join()
    a.beat()
    a.ack()
    b.beat()
    t.say("A is at epoch 3, was at 2 before")
    a.beat(MemberEpoch=2)
    a.epoch = 2
    a.ack()
    a.epoch = 2
    a.beat(TopicPartitions=[])
    a.epoch = 2
    a.full()
    a.beat(MemberEpoch=2, **everything)
    a.beat(MemberEpoch=2, TopicPartitions=[{"TopicId": "ab" * 16, "Partitions": [0]}])
    a.beat(MemberEpoch=1, TopicPartitions=[])
    a.beat(MemberEpoch=4)
    t.say("B joined at 3: it has no epoch before")
    b.beat(MemberEpoch=2, TopicPartitions=[])
    describe(a.conn, group)
    t.say("with a change of topics")
    other = t.topic("other", 2)
    a.beat(MemberEpoch=2, TopicPartitions=[], SubscribedTopicNames=topics + [other])
    describe(a.conn, group)


@script("consumer.lost-answers", "consumer")
def lost_answers(t):
    """B17: answers that were lost come again with a full heartbeat; the same confirmation twice."""
    group, topics = t.group("lost"), [t.topic("in", 6)]
    a, b = trio(t, group, topics, "ab")
    a.join()
    t.say("the answer to the join was lost: it owns nothing")
    a.full(TopicPartitions=[])
    t.say("what is not a full heartbeat")
    a.beat(TopicPartitions=[])
    a.beat(SubscribedTopicNames=topics)
    a.beat(RebalanceTimeoutMs=300000)
    a.beat(SubscribedTopicNames=topics, RebalanceTimeoutMs=300000)
    a.beat(SubscribedTopicNames=topics, TopicPartitions=[])
    a.beat(RebalanceTimeoutMs=300000, TopicPartitions=[])
    t.say("the answer that told to give up was lost")
    b.join()
    everything = a.report()
    a.beat()
    a.full(**everything)
    a.ack()
    t.say("the answer to the confirmation was lost, and that to the assignment")
    a.epoch = 2
    a.ack()
    b.beat()
    b.full(TopicPartitions=[])
    b.beat()
    describe(a.conn, group)


@script("consumer.rejoin", "consumer")
def rejoin(t):
    """A member that joins again with its id: keeps its partitions; a change of its topics starts an assignment."""
    group, one, two = t.group("rejoin"), t.topic("one", 6), t.topic("two", 6)
    a, b = trio(t, group, [one], "ab")
    a.join()
    a.join()
    a.join(MemberEpoch=0, RackId="r", RebalanceTimeoutMs=5000)
    b.join()
    t.say("A has not been told, and is not asked to confirm")
    a.join()
    b.beat()
    describe(a.conn, group)
    t.say("with another topic")
    a.topics = [two]
    a.join()
    b.beat()
    describe(a.conn, group)
    t.say("twice while it waits for what others have")
    b.join(SubscribedTopicNames=[two])
    b.join(SubscribedTopicNames=[two])
    describe(a.conn, group)
    a.beat()
    a.ack()
    b.beat()
    describe(a.conn, group)


@script("consumer.unsubscribe", "consumer")
def unsubscribe(t):
    """Topics that a member no longer names are taken at once; no topics at all; topics that do not exist."""
    group, one, two, none = t.group("unsub"), t.topic("one", 4), t.topic("two", 4), t.name("none")
    a = Member(t, group, "a", [one])
    a.join()
    a.beat(SubscribedTopicNames=[])
    describe(a.conn, group)
    a.beat()
    a.ack()
    describe(a.conn, group)
    a.beat(SubscribedTopicNames=[one])
    t.say("one topic instead of another: gives up, then gets")
    a.beat(SubscribedTopicNames=[two])
    describe(a.conn, group)
    a.ack()
    t.say("both steps in one, as it says that it owns nothing")
    a.full(SubscribedTopicNames=[one], TopicPartitions=[])
    t.say("one more, one less")
    a.beat(SubscribedTopicNames=[one, two])
    a.beat(SubscribedTopicNames=[two])
    t.say("it has second thoughts before it confirmed")
    a.beat(SubscribedTopicNames=[one, two])
    describe(a.conn, group)
    a.ack()
    describe(a.conn, group)
    t.say("names of nothing")
    a.beat(SubscribedTopicNames=[two, none])
    a.ack()
    a.beat(SubscribedTopicNames=[none])
    a.ack()
    describe(a.conn, group)
    t.say("new groups whose first member names nothing, or what is not there")
    for name, topics in (("empty", []), ("nothing", [none]), ("some", [none, one])):
        m = Member(t, t.group(name), "m", topics)
        m.join()
        m.beat()
        describe(m.conn, m.group)
        n = Member(t, m.group, "n", topics)
        n.join()
        m.beat()
        m.ack()
        n.beat()
        describe(m.conn, m.group)
        n.leave()
        m.leave()
        describe(m.conn, m.group)


@script("consumer.nothing-joins", "consumer")
def nothing_joins(t):
    """A member that wants nothing joins members that have something, asks for something, gives it back."""
    group, topics = t.group("idle"), [t.topic("in", 6)]
    a, b = Member(t, group, "a", topics), Member(t, group, "b", [])
    a.join()
    b.join()
    describe(a.conn, group)
    a.beat()
    b.beat()
    b.beat(SubscribedTopicNames=topics)
    a.beat()
    a.ack()
    b.beat()
    b.beat(SubscribedTopicNames=[])
    a.beat()
    describe(a.conn, group)
    b.ack()
    a.beat()
    b.leave()
    a.beat()
    describe(a.conn, group)


@script("consumer.changes", "consumer")
def changes(t):
    """Which changes of a member start a new assignment, and which are only noted."""
    group, one, two = t.group("changes"), t.topic("one", 4), t.topic("two", 4)
    a = Member(t, group, "a", [one, two])
    a.join()
    for fields in ({"RackId": "r1"}, {"RackId": "r1"}, {"RackId": "r2"}, {"RebalanceTimeoutMs": 5000},
                   {"RebalanceTimeoutMs": 5000}, {"ServerAssignor": "uniform"}, {"ServerAssignor": "range"},
                   {"ServerAssignor": "range"}, {"ServerAssignor": "uniform"}, {"SubscribedTopicNames": [two, one]},
                   {"SubscribedTopicNames": [one, two, one]}, {"SubscribedTopicNames": [one, two, t.name("none")]},
                   {"SubscribedTopicNames": [one, two], "RackId": "r3"}):
        a.beat(**fields)
        describe(a.conn, group)
    t.say("another client id")
    a.conn.client_id = "other"
    a.beat()
    describe(a.conn, group)
    a.conn.client_id = "third"
    a.join(RebalanceTimeoutMs=7000)
    describe(a.conn, group)
    t.say("what a join does not say stays")
    a.join()
    describe(a.conn, group)


@script("consumer.assignors", "consumer")
def assignors(t):
    """The assignor that most members name is taken."""
    t.exact = True
    group, topics = t.group("assignors"), [t.topic("in", 6)]
    a, b, c = trio(t, group, topics)
    a.join(ServerAssignor="range")
    describe(a.conn, group)
    b.join()
    c.join(ServerAssignor="range")
    settle(a, b, c)
    describe(a.conn, group)
    t.say("B wants the same that is taken already")
    b.beat(ServerAssignor="range")
    describe(a.conn, group)
    t.say("A and C change their mind, one after the other")
    a.beat(ServerAssignor="uniform")
    describe(a.conn, group)
    c.beat(ServerAssignor="uniform")
    describe(a.conn, group)
    t.say("the two leave")
    a.leave()
    c.leave()
    describe(b.conn, group)


@script("consumer.assignor-tie", "consumer")
def assignor_tie(t):
    """As many members want one assignor as the other."""
    group, topics = t.group("tie"), [t.topic("in", 6)]
    a, b = trio(t, group, topics, "ab")
    a.join(ServerAssignor="range")
    b.join(ServerAssignor="uniform")
    describe(a.conn, group)
    a.beat()
    a.beat()
    describe(a.conn, group)


@script("consumer.target-returns", "consumer")
def target_returns(t):
    """What a member is giving up comes back into its target before it confirmed; the owner of what others wait for leaves."""
    group, topics = t.group("returns"), [t.topic("in", 6)]
    a, b = trio(t, group, topics, "ab")
    a.join()
    b.join()
    a.beat()
    b.leave()
    describe(a.conn, group)
    a.beat()
    describe(a.conn, group)
    a.ack()
    describe(a.conn, group)
    t.say("A goes while B waits for its partitions")
    b.join()
    a.beat()
    b.beat()
    a.leave()
    describe(b.conn, group)
    b.beat()
    b.ack()
    describe(b.conn, group)


@script("consumer.revoked-twice", "consumer")
def revoked_twice(t):
    """A member that confirms is told to give up more at once; only a confirmation makes it look at a newer target."""
    group, topics = t.group("again"), [t.topic("in", 12)]
    a, b, c = trio(t, group, topics)
    a.join()
    b.join()
    a.beat()
    c.join()
    t.say("the newest target is smaller still, but A has not confirmed")
    a.beat()
    describe(a.conn, group)
    a.ack()
    describe(a.conn, group)
    a.beat()
    a.ack()
    describe(a.conn, group)
    t.say("what it says of its topics counts at once")
    settle(a, b, c)
    d = Member(t, group, "d", topics)
    d.join()
    a.beat()
    a.beat(SubscribedTopicNames=[])
    describe(a.conn, group)
    a.beat()
    a.ack()
    describe(a.conn, group)


@script("consumer.partly-free", "consumer")
def partly_free(t):
    """A member gets what is free already and waits for the rest; it gets nothing while it has to give up something."""
    group, one, two = t.group("partly"), t.topic("one", 6), t.topic("two", 2)
    a, b = Member(t, group, "a", [one]), Member(t, group, "b", [one, two])
    a.join()
    t.say("topic two is free for B, for its part of topic one it has to wait")
    b.join()
    b.beat()
    describe(a.conn, group)
    t.say("B has to give up topic two: meanwhile it gets nothing of topic one, which A has given up")
    b.beat(SubscribedTopicNames=[one])
    a.beat()
    a.ack()
    describe(a.conn, group)
    b.beat()
    b.ack()
    describe(a.conn, group)
    t.say("A goes; B joins again instead of beating")
    a.leave()
    b.join()
    describe(b.conn, group)


@script("consumer.interval", "consumer")
def interval(t):
    """consumer.assignment.interval.ms 3000: who joins within it gets the old epoch; the next heartbeat after it computes."""
    group, topics = t.group("interval"), [t.topic("in", 12)]
    group_config(t, group, **{"assignment.interval.ms": "3000"})
    a, b, c = trio(t, group, topics)
    a.join()
    b.join()
    c.join()
    describe(a.conn, group)
    a.beat()
    b.beat()
    t.say("unsubscribing is acted on at once, its target is not computed")
    c.beat(SubscribedTopicNames=[])
    c.beat(SubscribedTopicNames=topics)
    a.beat(SubscribedTopicNames=[])
    describe(a.conn, group)
    a.ack()
    a.beat(SubscribedTopicNames=topics)
    t.say("when it is over, whoever beats first computes")
    t.pause(3.2)
    c.beat()
    describe(a.conn, group)
    a.beat()
    b.beat()
    t.say("a leave within the interval")
    b.leave()
    a.beat()
    describe(a.conn, group)
    t.pause(3.2)
    a.beat()
    describe(a.conn, group)
    t.say("a join after it computes by itself")
    t.pause(3.2)
    b.join()
    describe(a.conn, group)


@script("consumer.versions", "consumer")
def versions(t):
    """Version 0: the server makes the member id when there is none; no regular expressions."""
    group, topics = t.group("v0"), [t.topic("in", 6)]
    a = Member(t, group, "a", topics, version=0)
    made = Member(t, group, "", topics, version=0)
    static = Member(t, group, "", topics, version=0, instance="i")
    a.join()
    made.conn.name = static.conn.name = "M"
    made.join()
    describe(a.conn, group, 0)
    a.beat()
    a.ack()
    made.beat()
    made.full()
    static.join()
    static.leave(-2)
    static.id = ""
    static.join()
    made.leave()
    describe(a.conn, group, 0)
    describe(a.conn, group, 1)


@script("consumer.owned-odd", "consumer")
def owned_odd(t):
    """Reports that say things twice."""
    group, topics = t.group("odd"), [t.topic("in", 4)]
    a, b = trio(t, group, topics, "ab")
    a.join()
    b.join()
    a.beat()
    numbers = sorted(p for _, p in a.held)
    twice = [n for n in numbers for _ in range(2)]
    a.beat(TopicPartitions=partitions_of(a, *twice) + partitions_of(a, numbers[0]))
    b.beat()
    a.beat(MemberEpoch=2, TopicPartitions=partitions_of(a, *twice) + in_topics(a.held))
    describe(a.conn, group)
