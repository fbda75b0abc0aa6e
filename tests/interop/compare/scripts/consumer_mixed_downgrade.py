"""Consumer groups that become classic ones again when their last member of the new protocol is gone."""
from lib.consumer import Member, describe
from lib.members import group_config
from lib.mixed import Classic, assignment, mixed_pair, quietly, settle_classic, subscription
from lib.registry import script


def look(t, group, conn):
    describe(conn, group)
    t.describe(conn, group)
    t.list_groups(5)


@script("consumer_mixed.downgrade", "mixed")
def downgrade(t):
    """The last member of the new protocol leaves; the classic one goes on in a classic group."""
    group, top = t.group("down"), t.topic("in", 6)
    c = Member(t, group, "c", [top])
    a = mixed_pair(t, group, [top], c)
    t.commit(a.conn, group, [(top, 3, 5)], a.generation, a.id)
    c.leave()
    look(t, group, c.conn)
    t.say("another generation, the group's own, in every request")
    a.beat(generation=2)
    a.beat(generation=4)
    a.sync(generation=2)
    a.beat()
    a.sync()
    t.commit(a.conn, group, [(top, 3, 6)], 3, a.id)
    c.beat()
    t.say("it rejoins, leads and assigns")
    a.join()
    a.sync([(a.id, assignment({top: [0, 1, 2, 3, 4, 5]}))])
    a.beat()
    t.describe(c.conn, group)
    t.fetch(a.conn, group, {top: [3]})
    t.say("and up again")
    c.join()
    look(t, group, c.conn)
    a.again()
    a.again()
    c.beat()
    describe(c.conn, group)
    t.say("the classic one leaves first: no classic group")
    a.leave()
    look(t, group, c.conn)
    c.beat()
    c.leave()
    look(t, group, c.conn)


@script("consumer_mixed.downgrade-two", "mixed")
def downgrade_two(t):
    """Two classic members stay, one of which had to give up and one of which had not heard yet."""
    group, top = t.group("two"), t.topic("in", 6)
    a, b = Classic(t, group, "A", [top]), Classic(t, group, "B", [top])
    settle_classic([a, b], [{top: [0, 1, 2]}, {top: [3, 4, 5]}])
    c = Member(t, group, "c", [top])
    c.join()
    a.again()
    c.leave()
    t.say("the target is their assignment now, and their generation is gone")
    look(t, group, c.conn)
    for member in (a, b):
        member.beat()
        member.sync()
        member.beat(generation=3)
        t.commit(member.conn, group, [(top, 0, 1)], member.generation, member.id)
        t.commit(member.conn, group, [(top, 0, 1)], 3, member.id)
    t.say("they rejoin")
    a.conn.recorded = b.conn.recorded = False  # who leads is left to the order of a hash table there
    waiting = a.send_join().still_waiting(0.3)
    b.joined(b.send_join())
    a.joined(waiting)
    a.conn.recorded = b.conn.recorded = True
    t.describe(c.conn, group)
    a.beat()
    b.beat()


@script("consumer_mixed.downgrade-rejoin-timeout", "mixed")
def downgrade_rejoin_timeout(t):
    """One of the classic members that stay does not rejoin: it is dropped as in any classic group."""
    group, top = t.group("dropped"), t.topic("in", 6)
    a, b = Classic(t, group, "A", [top], rebalance=3000), Classic(t, group, "B", [top], rebalance=3000)
    settle_classic([a, b], [{top: [0, 1, 2]}, {top: [3, 4, 5]}])
    c = Member(t, group, "c", [top])
    c.join()
    c.leave()
    b.send_join().wait(within=(2.4, 4.5))
    t.describe(c.conn, group)
    a.beat()


@script("consumer_mixed.downgrade-session", "mixed")
def downgrade_session(t):
    """The last member of the new protocol falls silent."""
    group, top = t.group("silent"), t.topic("in", 6)
    group_config(t, group, "consumer", **{"session.timeout.ms": "3000", "heartbeat.interval.ms": "1000"})
    c = Member(t, group, "c", [top])
    a = mixed_pair(t, group, [top], c)
    t.pause(2)
    a.beat()
    t.pause(1.8)
    a.beat()
    look(t, group, c.conn)
    c.beat()
    t.say("an away static one counts as there until its session ends")
    group = t.group("away")
    group_config(t, group, "consumer", **{"session.timeout.ms": "3000", "heartbeat.interval.ms": "1000"})
    c = Member(t, group, "c", [top], instance="ic")
    a = mixed_pair(t, group, [top], c)
    c.leave(-2)
    a.beat()
    t.pause(3.8)
    a.beat()
    look(t, group, c.conn)


@script("consumer_mixed.downgrade-revocation", "mixed")
def downgrade_revocation(t):
    """The last member of the new protocol does not let go in time."""
    group, top = t.group("stubborn"), t.topic("in", 6)
    c, a = Member(t, group, "c", [top], rebalance=2500), Classic(t, group, "A", [top])
    c.join()
    a.again()
    c.beat()
    for _ in range(2):
        t.pause(0.8)
        quietly(c, "beat")
        a.beat()
    t.pause(1.5)
    a.beat()
    c.beat()
    look(t, group, a.conn)


@script("consumer_mixed.downgrade-leave-group", "mixed")
def downgrade_leave_group(t):
    """The last member of the new protocol is removed by LeaveGroup, alone, with classic ones, with all."""
    top = t.topic("in", 6)
    for name in ("alone", "version-2", "with-one", "with-all"):
        group = t.group(name)
        c = Member(t, group, "c", [top], instance="ic")
        a = mixed_pair(t, group, [top], c, instance="ia")
        b = Classic(t, group, "B", [top])
        quietly(b, "join")
        t.say(name)
        if name == "version-2":
            t.leave(a.conn, group, "c", version=2)
        else:
            others = {"alone": [], "with-one": [("", "ia")], "with-all": [b.id, ("", "ia")]}
            t.leave(a.conn, group, [("", "ic")] + others[name])
        look(t, group, c.conn)
        b.beat()


@script("consumer_mixed.downgrade-turn", "mixed")
def downgrade_turn(t):
    """The last member of the new protocol turns to the classic one: a consumer group it stays, until somebody leaves."""
    top = t.topic("in", 6)
    for name in ("leaves", "silent", "last"):
        group = t.group(name)
        c = Member(t, group, "c", [top])
        t.say(name)
        if name != "last":
            a = mixed_pair(t, group, [top], c, session=3000 if name == "silent" else 30000)
        else:
            quietly(c, "join")
        b = Classic(t, group, "B", [top])
        b.id, b.held = "c", {top: [p for _, p in sorted(c.held)]}
        b.join()
        b.sync()
        look(t, group, c.conn)
        if name == "leaves":
            a.beat()
            a.leave()
        elif name == "silent":
            t.pause(3.8)
        else:
            b.leave()
        look(t, group, c.conn)
        b.beat()


@script("consumer_mixed.downgrade-static", "mixed")
def downgrade_static(t):
    """A classic member takes the place of the last static member of the new protocol: the group is classic, and stable."""
    top = t.topic("in", 6)
    for name in ("away", "active"):
        group = t.group(name)
        s = Member(t, group, "s", [top], instance="i")
        b = mixed_pair(t, group, [top], s)
        t.say(name)
        if name == "away":
            s.leave(-2)
        a = Classic(t, group, "X", [top], instance="i")
        a.join()
        look(t, group, s.conn)
        a.beat()
        b.beat()
        b.sync()
        a.sync()
        s.beat()
        t.commit(a.conn, group, [(top, 0, 1)], a.generation, a.id)
    t.say("alone")
    group = t.group("alone")
    s = Member(t, group, "s", [top], instance="i")
    quietly(s, "join")
    a = Classic(t, group, "X", [top], instance="i")
    a.join()
    a.sync()
    a.beat()
    look(t, group, s.conn)
    t.say("under the id of the member itself")
    group = t.group("itself")
    s = Member(t, group, "s", [top], instance="i")
    b = mixed_pair(t, group, [top], s)
    a = Classic(t, group, "X", [top], instance="i")
    a.id = "s"
    a.join()
    look(t, group, s.conn)
    a.sync()
    b.beat()


@script("consumer_mixed.downgrade-static-topics", "mixed")
def downgrade_static_topics(t):
    """The classic member that takes the last place subscribes to something else."""
    group, top, other = t.group("topics"), t.topic("in", 6), t.topic("other", 2)
    s = Member(t, group, "s", [top], instance="i")
    b = mixed_pair(t, group, [top], s)
    s.leave(-2)
    a = Classic(t, group, "X", [top, other], instance="i")
    waiting = a.send_join()
    t.pause(0.5)
    look(t, group, s.conn)
    b.beat()
    b.send_join()
    a.joined(waiting)


@script("consumer_mixed.downgrade-protocols", "mixed")
def downgrade_protocols(t):
    """The protocol that the classic members prefer is chosen; each has its assignment in the form of what it subscribed in."""
    group, top = t.group("protocols"), t.topic("in", 6)
    c = Member(t, group, "c", [top])
    c.join()
    for name, lists in (("A", (("sticky", 3), ("range", 3))), ("B", (("range", 1), ("sticky", 2))), ("D", (("sticky", 0), ("range", 0)))):
        member = Classic(t, group, name, [top])
        member.join(protocols=[(protocol, subscription([top], form)) for protocol, form in lists])
    c.leave()
    look(t, group, c.conn)


@script("consumer_mixed.downgrade-topic-gone", "mixed")
def downgrade_topic_gone(t):
    """Topics that do not exist any more are not in the assignments."""
    group, top, gone = t.group("gone"), t.topic("in", 2), t.topic("gone", 2)
    c = Member(t, group, "c", [top, gone], ServerAssignor="range")
    a = mixed_pair(t, group, [top, gone], c)
    t.quiet().ask("DeleteTopics", 5, TopicNames=[gone], TimeoutMs=10000)
    t.pause(2.5)
    c.leave()
    t.describe(c.conn, group)
