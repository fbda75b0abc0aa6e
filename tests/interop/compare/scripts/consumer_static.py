"""Consumer groups: static members."""
from lib.consumer import Member, describe
from lib.members import settle
from lib.registry import script


def pair(t, name):
    """Two static members that have three partitions each."""
    group, topics = t.group(name), [t.topic(name, 6)]
    a, b = Member(t, group, "a", topics, instance="i1"), Member(t, group, "b", topics, instance="i2")
    a.join()
    b.join()
    settle(a, b)
    return group, topics, a, b


@script("consumer.static", "consumer")
def static(t):
    """A static member goes for a moment and comes back, with its id and with another; who it was is fenced."""
    group, topics, a, b = pair(t, "static")
    describe(a.conn, group)
    epoch = a.epoch
    a.leave(-2)
    describe(b.conn, group)
    b.beat()
    t.say("while it is away its epoch is ahead; it may go once more")
    a.beat(MemberEpoch=epoch)
    a.beat(MemberEpoch=epoch, InstanceId=None)
    a.beat(MemberEpoch=epoch - 1, TopicPartitions=[])
    a.leave(-2)
    t.say("it comes back")
    a.join()
    describe(b.conn, group)
    a.beat()
    a.leave(-2)
    t.say("it comes back with another id")
    again = Member(t, group, "again", topics, instance="i1")
    again.join()
    describe(b.conn, group)
    again.beat()
    b.beat()
    t.say("the id it had")
    for fields in ({"MemberEpoch": epoch}, {"MemberEpoch": epoch, "InstanceId": None}, {"MemberEpoch": -1}, {"MemberEpoch": -2},
                   {"MemberEpoch": -1, "InstanceId": None}):
        a.instance = None if "InstanceId" in fields else "i1"
        a.beat(**fields)
    a.instance = "i1"
    t.say("the id it had joins again while the instance is active")
    a.join()
    describe(b.conn, group)


@script("consumer.static-taken", "consumer")
def static_taken(t):
    """An instance that is active is not given away; unknown instances; an instance left out or changed."""
    group, topics, a, b = pair(t, "taken")
    c = Member(t, group, "c", topics, instance="i1")
    c.join()
    a.join()
    describe(b.conn, group)
    c.instance = "unknown"
    for epoch in (3, -1, -2):
        c.beat(MemberEpoch=epoch)
    t.say("heartbeats without the instance")
    a.instance = None
    a.beat()
    a.join()
    t.say("to go for good without it")
    a.leave()
    b.beat()
    describe(b.conn, group)
    t.say("another instance for the same id")
    b.instance = "i3"
    b.beat()
    b.join()
    describe(b.conn, group)
    b.beat()
    b.beat(InstanceId="i2")


@script("consumer.static-unsaid", "consumer")
def static_unsaid(t):
    """franz-go goes for a moment without saying as which instance."""
    group, topics, a, b = pair(t, "unsaid")
    a.instance = None
    a.beat(MemberEpoch=-2)
    describe(b.conn, group)
    c = Member(t, group, "c", topics)
    c.join()
    t.say("nor may one that is not static")
    c.beat(MemberEpoch=-2)


@script("consumer.static-fields", "consumer")
def static_fields(t):
    """A static member comes back with other fields: which of them start a new assignment; what it does not say stays."""
    group, topics, a, b = pair(t, "fields")
    other = t.topic("other", 6)
    a.leave(-2)
    steps = ({"RackId": "r1"}, {}, {"RebalanceTimeoutMs": 5000}, {"SubscribedTopicNames": topics + [other]},
             {"SubscribedTopicNames": None, "SubscribedTopicRegex": "zz.*"}, {"ServerAssignor": "uniform"})
    for count, fields in enumerate(steps):
        n = Member(t, group, f"n{count}", topics, instance="i1")
        n.join(**fields)
        describe(b.conn, group)
        if "SubscribedTopicNames" in fields:
            settle(b, n)
        n.leave(-2)


@script("consumer.static-away", "consumer")
def static_away(t):
    """What happens to others while a static member is away, and when it returns."""
    group, topics, a, b = pair(t, "away")
    t.say("the other one leaves")
    a.leave(-2)
    b.leave()
    describe(b.conn, group)
    a.join()
    describe(b.conn, group)
    a.beat()
    t.say("a third comes while the first is away: its part is held for the absent one until that is back")
    b.join()
    settle(a, b)
    b.leave(-2)
    c = Member(t, group, "c", topics)
    c.join()
    a.beat()
    a.ack()
    c.beat()
    describe(a.conn, group)
    b.join()
    describe(a.conn, group)
    c.beat()
    settle(a, b, c)
    describe(a.conn, group)


@script("consumer.static-revoking", "consumer")
def static_revoking(t):
    """It goes while it is giving up partitions: those are free at once; it goes while it waits for some."""
    group, topics, a, b = pair(t, "revoking")
    c = Member(t, group, "c", topics, instance="i3")
    c.join()
    a.beat()
    b.beat()
    describe(a.conn, group)
    b.leave(-2)
    describe(a.conn, group)
    c.beat()
    again = Member(t, group, "again", topics, instance="i2")
    again.join()
    describe(a.conn, group)
    t.say("C goes while it waits for A's")
    c.leave(-2)
    describe(a.conn, group)
    a.ack()
    c.join()
    describe(a.conn, group)


@script("consumer.static-slot", "consumer")
def static_slot(t):
    """Leaving for good with the slot of an absent member; a group of absent members only."""
    group, topics, a, b = pair(t, "slot")
    a.leave(-2)
    n = Member(t, group, "n", topics, instance="i1")
    n.send(MemberEpoch=-1)
    n.send(MemberEpoch=-2)
    describe(b.conn, group)
    a.send(MemberEpoch=-1)
    describe(b.conn, group)
    t.say("nobody is there, but a slot is kept")
    b.leave(-2)
    describe(b.conn, group)
    t.list_groups(5)
    b.conn.ask("DeleteGroups", 3, GroupsNames=[group])
    b.join()
    describe(b.conn, group)


@script("consumer.leave-group", "consumer")
def leave_group(t):
    """LeaveGroup, as the admin client sends it, by member and by instance."""
    group, topics, a, b = pair(t, "leave")
    c, d, e = (Member(t, group, n, topics) for n in "cde")
    for m in (c, d, e):
        m.join()
    t.say("by instance; faults")
    t.leave(b.conn, group, [("", "i1")])
    describe(b.conn, group)
    for entry in (("", "zz"), ("b", "zz"), ("zz", "i2"), "zz", "", ("c", "i2")):
        t.leave(b.conn, group, [entry])
    describe(b.conn, group)
    t.say("several at once, one twice, and one that is not there: one new epoch")
    t.leave(b.conn, group, ["c", "c", "zz", "d"])
    describe(b.conn, group)
    t.say("an absent one")
    b.leave(-2)
    t.leave(b.conn, group, [("b", "i2")], version=4)
    t.say("the older form")
    t.leave(b.conn, group, "zz", version=1)
    t.leave(b.conn, group, "e", version=1)
    describe(b.conn, group)
    t.leave(b.conn, group, "e", version=1)
    t.leave(b.conn, t.group("none"), ["e"])
