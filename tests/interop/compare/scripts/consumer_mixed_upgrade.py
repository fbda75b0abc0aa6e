"""Classic groups that become consumer groups when a member of the new protocol joins."""
from lib.consumer import Member, describe
from lib.mixed import Classic, assignment, quietly, settle_classic, subscription
from lib.registry import script


def pair(t, group, top, **options):
    """Two classic members of a stable group, with half of six partitions each."""
    a, b = Classic(t, group, "A", [top], **options), Classic(t, group, "B", [top], **options)
    settle_classic([a, b], [{top: [0, 1, 2]}, {top: [3, 4, 5]}])
    return a, b


def look(t, group, conn):
    """What everybody sees of a group."""
    describe(conn, group)
    t.describe(conn, group)
    t.list_groups(5)


@script("consumer_mixed.upgrade", "mixed")
def upgrade(t):
    """A stable classic group of two, step by step: conversion, classic members give up what the new one gets."""
    group, top = t.group("up"), t.topic("in", 6)
    a, b = pair(t, group, top)
    c = Member(t, group, "c", [top])
    c.join()
    look(t, group, c.conn)
    t.say("the classic members are told with their next heartbeat; until they rejoin they keep what they have")
    a.beat()
    b.beat()
    t.commit(a.conn, group, [(top, 0, 7)], a.generation, a.id)
    t.commit(a.conn, group, [(top, 0, 8)], a.generation + 1, a.id)
    t.say("a sync tells the same")
    a.sync()
    t.say("A rejoins with what it has: the generation stays, it gets what it keeps")
    a.join()
    a.sync()
    a.beat()
    c.beat()
    describe(c.conn, group)
    t.say("and rejoins without the rest")
    a.join()
    a.sync()
    a.beat()
    c.beat()
    describe(c.conn, group)
    t.say("B likewise; then all are settled")
    b.again()
    b.beat()
    b.again()
    b.beat()
    c.beat()
    c.beat()
    look(t, group, c.conn)
    t.commit(b.conn, group, [(top, 3, 9)], b.generation, b.id)
    t.fetch(b.conn, group, {top: [0, 3]}, member=b.id, epoch=b.generation)


@script("consumer_mixed.upgrade-preparing", "mixed")
def upgrade_preparing(t):
    """A member of the new protocol joins while a rebalance of the classic group waits for one of its members."""
    group, top = t.group("preparing"), t.topic("in", 6)
    a, b = Classic(t, group, "A", [top]), Classic(t, group, "B", [top])
    settle_classic([a], [{top: [0, 1, 2, 3, 4, 5]}])
    b.id = b.send_join().wait()["MemberId"]
    waiting = b.send_join().still_waiting(0.3)
    c = Member(t, group, "c", [top])
    c.join()
    t.say("the join that waited is told to come again")
    waiting.wait()
    look(t, group, c.conn)
    a.beat()
    b.beat(generation=1)
    b.beat(generation=2)
    a.sync()
    b.sync(generation=1)
    b.again()
    a.again()
    a.again()
    b.beat()
    b.again()
    c.beat()
    describe(c.conn, group)


@script("consumer_mixed.upgrade-completing", "mixed")
def upgrade_completing(t):
    """A member of the new protocol joins while the classic members wait for their leader's assignment."""
    group, top = t.group("completing"), t.topic("in", 6)
    a, b = pair(t, group, top)
    waiting = a.send_join()
    t.pause(0.2)
    b.joined(b.send_join())
    a.joined(waiting)
    waiting = b.send_sync().still_waiting(0.3)
    c = Member(t, group, "c", [top])
    c.join()
    t.say("the sync that waited is told to rejoin; the last assignment counts")
    waiting.wait()
    look(t, group, c.conn)
    t.say("the leader comes too late")
    a.sync([(a.id, assignment({top: [0]}))])
    a.beat()
    a.again()
    a.again()
    b.again()
    b.again()
    c.beat()
    describe(c.conn, group)


@script("consumer_mixed.upgrade-first", "mixed")
def upgrade_first(t):
    """The leader of the very first generation has not assigned anything yet."""
    group, top = t.group("first"), t.topic("in", 6)
    a = Classic(t, group, "A", [top])
    a.join()
    c = Member(t, group, "c", [top])
    c.join()
    look(t, group, c.conn)
    a.sync([(a.id, assignment({top: [0]}))])
    a.again()
    a.beat()


@script("consumer_mixed.upgrade-ids", "mixed")
def upgrade_ids(t):
    """Member ids that were handed out and not used yet (KIP-394)."""
    top = t.topic("in", 6)
    group = t.group("ids")
    a, b = Classic(t, group, "A", [top]), Classic(t, group, "B", [top])
    settle_classic([a], [{top: [0, 1, 2, 3, 4, 5]}])
    b.id = b.send_join().wait()["MemberId"]
    c = Member(t, group, "c", [top])
    c.join()
    describe(c.conn, group)
    t.say("nobody knows the id, and it may join")
    b.beat(generation=1)
    b.leave()
    b.again()
    describe(c.conn, group)
    t.say("a group that has nothing but such an id is empty")
    group = t.group("only")
    b = Classic(t, group, "B", [top])
    b.id = b.send_join().wait()["MemberId"]
    c = Member(t, group, "c", [top])
    c.join()
    look(t, group, c.conn)
    b.again()


@script("consumer_mixed.upgrade-empty", "mixed")
def upgrade_empty(t):
    """Empty classic groups make way, with their offsets, whatever they were."""
    top = t.topic("in", 6)
    for name, kind in (("consumer", "consumer"), ("connect", "connect")):
        group = t.group(name)
        a = Classic(t, group, "A", [top])
        a.conn.recorded = False
        a.join(kind=kind)
        t.sync(a.conn, group, 1, a.id, [(a.id, b"")], kind=kind)
        t.commit(a.conn, group, [(top, 0, 5)], 1, a.id)
        a.leave()
        a.conn.recorded = True
        c = Member(t, group, "c", [top])
        t.say("not with a later epoch")
        c.beat(MemberEpoch=1)
        c.beat(MemberEpoch=-1)
        c.join()
        look(t, group, c.conn)
        t.fetch(c.conn, group, {top: [0]})
    group = t.group("simple")
    c = Member(t, group, "c", [top])
    t.commit(c.conn, group, [(top, 1, 6)])
    c.join()
    look(t, group, c.conn)
    t.fetch(c.conn, group, {top: [1]}, member="c", epoch=2)


@script("consumer_mixed.upgrade-type", "mixed")
def upgrade_type(t):
    """A group of another protocol type stays what it is."""
    group, top = t.group("type"), t.topic("in", 6)
    a = Classic(t, group, "A", [top])
    a.join(kind="connect")
    c = Member(t, group, "c", [top])
    c.join()
    c.beat(MemberEpoch=3)
    c.leave()
    t.sync(a.conn, group, 1, a.id, [(a.id, b"x")], kind="connect")
    c.join()
    t.describe(c.conn, group)


# what a member subscribes to and what it was assigned, and what becomes of it
BYTES = (
    ("no-subscription", lambda s, a, top: (b"meta-a", a({top: [0]}))),
    ("no-bytes", lambda s, a, top: (b"", a({top: [0]}))),
    ("one-byte", lambda s, a, top: (b"\x00", a({top: [0]}))),
    ("short", lambda s, a, top: (s([top], 0)[:-4], a({top: [0]}))),
    ("short-v1", lambda s, a, top: (s([top], 1)[:-4], a({top: [0]}))),
    ("negative", lambda s, a, top: (b"\xff\xff" + s([top])[2:], a({top: [0]}))),
    ("v0", lambda s, a, top: (s([top], 0), a({top: [0]}, 0))),
    ("v1", lambda s, a, top: (s([top], 1, {top: [0]}, user=b"ud"), a({top: [0]}, 1))),
    ("v2", lambda s, a, top: (s([top], 2, {top: [0]}, 7), a({top: [0]}, 2))),
    ("rack", lambda s, a, top: (s([top, top + "x", top], 3, rack="r1"), a({top: [0], top + "x": [1]}))),
    ("v9", lambda s, a, top: (b"\x00\x09" + s([top])[2:] + b"more", a({top: [0]}))),
    ("more", lambda s, a, top: (s([top]) + b"more", a({top: [0]}) + b"more")),
    ("no-topics", lambda s, a, top: (s([]), a({}))),
    ("foreign", lambda s, a, top: (s([]), a({top: [0]}))),
    ("user-data", lambda s, a, top: (s([top]), a({top: [0]}, user=b"u"))),
    ("empty-user-data", lambda s, a, top: (s([top]), a({top: [0]}, user=b""))),
    ("no-assignment", lambda s, a, top: (s([top]), b"")),
    ("one-byte-assignment", lambda s, a, top: (s([top]), b"x")),
    ("bad-assignment", lambda s, a, top: (s([top]), b"not an assignment")),
)


@script("consumer_mixed.upgrade-bytes", "mixed")
def upgrade_bytes(t):
    """Subscriptions and assignments that can be read, and such as cannot: then the group stays classic."""
    top = t.topic("in", 6)
    for name, make in BYTES:
        group = t.group(name)
        t.say(name)
        a = Classic(t, group, "A", [top])
        metadata, share = make(subscription, assignment, top)
        a.conn.recorded = False
        a.join(protocols=[("range", metadata)])
        a.send_sync([(a.id, share)]).wait()
        a.conn.recorded = True
        c = Member(t, group, "c", [top])
        c.join()
        look(t, group, c.conn)
        a.join(protocols=[("range", metadata)]) if name in ("v0", "v1", "v2", "v9", "rack") else None
        a.sync() if name in ("v0", "v1", "v2", "v9", "rack") else None


@script("consumer_mixed.upgrade-protocols", "mixed")
def upgrade_protocols(t):
    """Several protocols: the one that the classic group has chosen is read."""
    tops = [t.topic("one", 2), t.topic("two", 4)]
    one, two, bad = subscription([tops[0]]), subscription([tops[1]]), b"broken"
    for name, protocols in (("first", [("roundrobin", one), ("range", two)]), ("other-bad", [("range", two), ("roundrobin", bad)]),
                            ("chosen-bad", [("range", bad), ("roundrobin", two)])):
        group = t.group(name)
        t.say(name)
        a = Classic(t, group, "A", tops)
        a.conn.recorded = False
        a.join(protocols=protocols)
        a.sync([(a.id, assignment({tops[1]: [0]}))], protocol=protocols[0][0])
        a.conn.recorded = True
        c = Member(t, group, "c", [tops[1]])
        c.join()
        look(t, group, c.conn)


@script("consumer_mixed.upgrade-refused", "mixed")
def upgrade_refused(t):
    """A heartbeat that is refused for other reasons leaves the classic group as it is."""
    group, top = t.group("refused"), t.topic("in", 6)
    a, b = pair(t, group, top)
    c = Member(t, group, "c", [top])
    for fields in ({"ServerAssignor": "nope"}, {"SubscribedTopicNames": None}, {"SubscribedTopicRegex": "("},
                   {"RebalanceTimeoutMs": -1}, {"MemberEpoch": 2}, {"MemberEpoch": -1}, {"MemberEpoch": -2},
                   {"MemberEpoch": -2, "InstanceId": "i"}):
        c.join(**fields)
    t.describe(c.conn, group)
    a.beat()


@script("consumer_mixed.upgrade-self", "mixed")
def upgrade_self(t):
    """A classic member comes back as one of the new protocol, under its own id: nothing else changes."""
    group, top = t.group("self"), t.topic("in", 6)
    a, b = pair(t, group, top)
    c = Member(t, group, "a", [top])
    c.id = a.id
    c.join()
    look(t, group, c.conn)
    a.beat()
    b.beat()
    t.say("the second one as well")
    d = Member(t, group, "b", [top])
    d.id = b.id
    d.join()
    describe(c.conn, group)


@script("consumer_mixed.upgrade-static", "mixed")
def upgrade_static(t):
    """Static members: one of the new protocol takes the place of a classic one."""
    group, top = t.group("static"), t.topic("in", 6)
    a, b = Classic(t, group, "A", [top], instance="ia"), Classic(t, group, "B", [top], instance="ib")
    settle_classic([a, b], [{top: [0, 1, 2]}, {top: [3, 4, 5]}])
    c = Member(t, group, "c", [top], instance="ia")
    c.join()
    look(t, group, c.conn)
    t.say("the one before is fenced, the other one notices nothing")
    a.beat()
    a.beat(instance=None)
    a.sync()
    a.join()
    b.beat()
    b.sync()
    c.beat(MemberEpoch=3)
    t.say("B's as well")
    d = Member(t, group, "d", [top], instance="ib")
    d.join()
    describe(c.conn, group)
    t.say("alone in its group, with other topics")
    other, group = t.topic("other", 2), t.group("alone")
    a = Classic(t, group, "A", [top], instance="ia")
    settle_classic([a], [{top: [0, 1, 2]}])
    c = Member(t, group, "c", [other], instance="ia")
    c.join()
    describe(c.conn, group)


@script("consumer_mixed.upgrade-static-clash", "mixed")
def upgrade_static_clash(t):
    """The id of one classic member with the instance of another one."""
    group, top = t.group("clash"), t.topic("in", 6)
    a, b = Classic(t, group, "A", [top], instance="ia"), Classic(t, group, "B", [top])
    settle_classic([a, b], [{top: [0, 1, 2]}, {top: [3, 4, 5]}])
    c = Member(t, group, "b", [top])
    c.id = b.id
    c.join(InstanceId="new")
    describe(c.conn, group)
    b.beat()
    a.beat()


@script("consumer_mixed.upgrade-sessions", "mixed")
def upgrade_sessions(t):
    """Classic members keep their own session timeouts, which run on when the group is converted."""
    group, top = t.group("sessions"), t.topic("in", 6)
    a, b = Classic(t, group, "A", [top], session=3000), Classic(t, group, "B", [top], session=30000)
    settle_classic([a, b], [{top: [0, 1, 2]}, {top: [3, 4, 5]}])
    c = Member(t, group, "c", [top])
    c.join()
    for _ in range(4):
        t.pause(0.5)
        quietly(a, "beat")
    describe(c.conn, group)
    t.say("A falls silent")
    t.pause(3.6)
    describe(c.conn, group)
    a.beat()
    b.beat()
