"""Mixed groups under other settings: who may migrate, how large groups may be, the assignment interval."""
from lib.consumer import Member, describe
from lib.mixed import Classic, assignment, mixed_pair, quietly, settle_classic
from lib.registry import script


def look(t, group, conn):
    describe(conn, group)
    t.describe(conn, group)


def migrate(t):
    """The same steps under each policy."""
    top = t.topic("in", 6)
    t.say("up, with members")
    group = t.group("up")
    a = Classic(t, group, "A", [top])
    settle_classic([a], [{top: [0, 1, 2]}])
    c = Member(t, group, "c", [top])
    c.join()
    c.beat()
    look(t, group, c.conn)
    a.beat()
    t.say("up, empty")
    group = t.group("up-empty")
    a = Classic(t, group, "A", [top])
    settle_classic([a], [{top: [0, 1, 2]}])
    quietly(a, "leave")
    c = Member(t, group, "c", [top])
    c.join()
    look(t, group, c.conn)
    t.say("a classic one joins, and the other one leaves")
    a = Classic(t, group, "A", [top])
    a.join()
    a.sync() if a.generation > 0 else None
    c.leave()
    look(t, group, c.conn)
    t.say("the empty one, to classic")
    group = t.group("down-empty")
    c = Member(t, group, "c", [top])
    quietly(c, "join", "leave")
    a = Classic(t, group, "A", [top])
    a.join()
    look(t, group, c.conn)
    t.say("static, the only one")
    group = t.group("static")
    c = Member(t, group, "c", [top], instance="i")
    quietly(c, "join")
    a = Classic(t, group, "A", [top], instance="i")
    a.join()
    look(t, group, c.conn)
    t.say("another type")
    group = t.group("type")
    a = Classic(t, group, "A", [top])
    a.join(kind="connect")
    c = Member(t, group, "c", [top])
    c.join()


@script("consumer_mixed.policy-upgrade", "mixed-upgrade")
def policy_upgrade(t):
    """group.consumer.migration.policy=upgrade: no way back."""
    migrate(t)
    top = t.topic("two", 6)
    group = t.group("stays")
    c = Member(t, group, "c", [top])
    a = mixed_pair(t, group, [top], c)
    c.leave()
    t.say("only classic members are left in a consumer group")
    describe(c.conn, group)
    a.join()
    a.sync()
    describe(c.conn, group)


@script("consumer_mixed.policy-downgrade", "mixed-downgrade")
def policy_downgrade(t):
    """group.consumer.migration.policy=downgrade: only back."""
    migrate(t)


@script("consumer_mixed.policy-disabled", "mixed-disabled")
def policy_disabled(t):
    """group.consumer.migration.policy=disabled: neither, and no classic members in consumer groups."""
    migrate(t)


@script("consumer_mixed.full", "mixed-small")
def full(t):
    """group.consumer.max.size 3: classic groups that are too large, and newcomers without a place."""
    top = t.topic("in", 6)
    group = t.group("four")
    members = [Classic(t, group, name, [top]) for name in "ABDE"]
    settle_classic(members, [{top: [0, 1, 2]}, {top: [3, 4, 5]}, {}, {}])
    c = Member(t, group, "c", [top])
    c.join()
    t.describe(c.conn, group)
    group = t.group("three")
    a, b, d = members = [Classic(t, group, name, [top]) for name in "ABD"]
    settle_classic(members, [{top: [0, 1, 2]}, {top: [3, 4, 5]}, {}])
    c = Member(t, group, "c", [top])
    c.join()
    t.describe(c.conn, group)
    a.beat()
    t.say("one of the three has a place")
    c.id = a.id
    c.join()
    describe(c.conn, group)
    group = t.group("two")
    a, b = Classic(t, group, "A", [top]), Classic(t, group, "B", [top], instance="ib")
    settle_classic([a, b], [{top: [0, 1, 2]}, {top: [3, 4, 5]}])
    c, d = Member(t, group, "c", [top]), Member(t, group, "d", [top])
    c.join()
    d.join()
    e = Classic(t, group, "E", [top])
    for fields in ({}, {"member": "some-id"}, {"instance": "i"}, {"version": 3}, {"kind": "connect"}):
        e.send_join(**fields).wait()
    t.say("who is there already, and who takes a place, may")
    a.join()
    f = Classic(t, group, "F", [top], instance="ib")
    f.join()
    describe(c.conn, group)


@script("consumer_mixed.too-large", "mixed-limits")
def too_large(t):
    """group.max.size 2: what is larger does not become a classic group."""
    group, top = t.group("large"), t.topic("in", 12)
    c = Member(t, group, "c", [top])
    c.join()
    a, b, d = members = [Classic(t, group, name, [top]) for name in "ABD"]
    for member in members:
        member.join()
    e = Classic(t, group, "E", [top])
    e.join()
    c.leave()
    look(t, group, c.conn)
    t.say("two are left")
    a.leave()
    look(t, group, c.conn)
    t.say("a static one's place taken, three members")
    group = t.group("static")
    s = Member(t, group, "s", [top], instance="i")
    quietly(s, "join")
    a, b = [Classic(t, group, name, [top]) for name in "AB"]
    quietly(a, "join")
    quietly(b, "join")
    d = Classic(t, group, "D", [top], instance="i")
    d.join()
    describe(s.conn, group)
    a.leave()
    look(t, group, s.conn)


@script("consumer_mixed.interval", "mixed-interval")
def interval(t):
    """With an assignment interval of a second: joins get the old generation and nothing, until somebody computes."""
    group, top = t.group("interval"), t.topic("in", 6)
    c, a = Member(t, group, "c", [top]), Classic(t, group, "A", [top])
    quietly(c, "join")
    a.join()
    a.sync()
    a.beat()
    a.join()
    describe(c.conn, group)
    t.commit(a.conn, group, [(top, 0, 1)], a.generation, a.id)
    t.pause(1.2)
    t.say("beating and syncing compute nothing, joining does")
    a.beat()
    a.sync()
    a.join()
    a.sync()
    a.beat()
    describe(c.conn, group)
    t.say("another one at once, and the other protocol's member leaves: this generation nobody has")
    b = Classic(t, group, "B", [top])
    b.join()
    b.sync()
    c.leave()
    t.describe(c.conn, group)
    a.beat()
    b.beat()
    b.beat(generation=4)


@script("consumer_mixed.interval-up", "mixed-interval")
def interval_up(t):
    """No interval runs after a conversion."""
    group, top = t.group("up"), t.topic("in", 6)
    a = Classic(t, group, "A", [top])
    a.join()
    a.sync([(a.id, assignment({top: [0, 1, 2, 3, 4, 5]}))])
    c = Member(t, group, "c", [top])
    c.join()
    a.beat()
    a.again()
    describe(c.conn, group)


@script("consumer_mixed.initial-delay", "mixed-interval")
def initial_delay(t):
    """The first rebalance of a classic group is still waiting for more members."""
    group, top = t.group("initial"), t.topic("in", 6)
    a = Classic(t, group, "A", [top])
    a.id = a.send_join().wait()["MemberId"]
    waiting = a.send_join().still_waiting(0.3)
    c = Member(t, group, "c", [top])
    c.join()
    waiting.wait()
    describe(c.conn, group)
