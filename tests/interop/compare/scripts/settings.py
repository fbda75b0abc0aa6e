"""Behaviour that broker settings change: the initial delay, limits of size and session, retention."""
from lib.registry import script
from scripts.offsets import subscription


@script("delay.initial", "delay")
def initial_delay(t):
    """group.initial.rebalance.delay.ms: the first join of an empty group waits for others; each newcomer prolongs it,
    up to the rebalance timeout; later rebalances do not wait."""
    group = t.group("delay")
    a, b = t.conn("A", group), t.conn("B", group)
    first = t.send_join(a, group, 3).still_waiting(1.0)
    second = t.send_join(b, group, 3).still_waiting(0.5)
    first.wait(within=(2.0, 6.0))
    second.wait(within=(0.5, 5.0))
    t.say("a group of one, twice: the delay applies again when it was empty")
    group = t.group("delay-2")
    a = t.conn("A", group)
    one = t.send_join(a, group, 3).wait(within=(1.8, 3.8))
    t.sync(a, group, one["GenerationId"], one["MemberId"], [(one["MemberId"], b"a")])
    t.send_join(a, group, 3, member=one["MemberId"]).wait(within=(0, 1.0))
    t.leave(a, group, [one["MemberId"]])
    t.send_join(a, group, 3).wait(within=(1.8, 3.8))


@script("delay.short-rebalance", "delay")
def delay_short_rebalance(t):
    """The initial delay holds for a member whose rebalance timeout is shorter, too."""
    group = t.group("short")
    a = t.conn("A", group)
    t.send_join(a, group, 3, rebalance=500).wait(within=(1.8, 3.8))


@script("delay.leave-while-waiting", "delay")
def delay_leave(t):
    """The member whose first join waits leaves by another connection."""
    group = t.group("leave-early")
    a, o = t.conn("A", group), t.conn("O", group)
    given = t.join(a, group)
    waiting = t.send_join(a, group, member=given["MemberId"]).still_waiting(0.5)
    t.describe(o, group)
    t.leave(o, group, [given["MemberId"]])
    waiting.wait(within=(0, 1.5))
    t.describe(o, group)


@script("limits.max-size", "limits")
def max_size(t):
    """KAFKA-9885: group.max.size 4 counts members that wait, not the ids given out; v3 joins directly."""
    group = t.group("size")
    conns = [t.conn(f"M{i}", group) for i in range(6)]
    ids = [t.join(c, group)["MemberId"] for c in conns]
    t.say("six ids are out for four places")
    t.join(conns[0], group, member=ids[0])
    waits = [t.send_join(conns[i], group, member=ids[i]).still_waiting(0.2) for i in (1, 2, 3)]
    t.say("the first is back too: four wait, two ids are still out, and those are one too many each")
    waits.append(t.send_join(conns[0], group, member=ids[0]).still_waiting(0.3))
    t.join(conns[4], group, member=ids[4])
    t.join(conns[5], group, member=ids[5])
    for w in waits:
        again = w.wait(15)
    o = t.conn("O", group)
    t.describe(o, group)
    t.say("the group is full: old and new versions, with and without an id, static")
    t.join(o, group, 3)
    t.join(o, group, 9)
    t.join(o, group, 9, instance="i1")
    t.join(o, group, 9, member=ids[5])
    t.say("members may rejoin")
    t.beat(conns[0], group, again["GenerationId"], ids[0])
    t.leave(o, group, [ids[1], ids[2], ids[3]])
    t.say("there is room again")
    t.send_join(o, group, 3).still_waiting(0.3)


@script("limits.sessions", "limits")
def sessions(t):
    """group.min.session.timeout.ms and group.max.session.timeout.ms as set, and a short session that ends."""
    group = t.group("sessions")
    a = t.conn("A", group)
    for session in (999, 1000, 20000, 20001, 0, -1):
        t.join(a, t.group(f"s{session}"), 3, session=session)
    one, generation = t.stable_one(a, group, 3, session=1000)
    for _ in range(4):
        t.pause(0.5)
        t.beat(a, group, generation, one)
    t.pause(2.0)
    t.beat(a, group, generation, one)
    t.describe(a, group)


@script("retention.sweep", "retention")
def sweep(t):
    """KAFKA-13636, KIP-211: which offsets the sweep may remove after a minute: not those of subscribed topics, not
    while the subscription is unknown, not before the group was empty for the time."""
    ta, tb = t.topic("ta", 1), t.topic("tb", 1)
    member_group, simple, stuck, left = (t.group(n) for n in ("stable", "simple", "stuck", "left"))
    a, s, k, k2, e = (t.conn(n, g) for n, g in (("A", member_group), ("S", simple), ("K", stuck), ("K2", stuck),
                                                ("E", left)))
    t.say("a stable member subscribed to ta commits ta and tb")
    one, generation = t.stable_one(a, member_group, 3, metadata=subscription([ta]))
    t.commit(a, member_group, [(ta, 0, 1), (tb, 0, 2)], generation, one)
    t.say("a simple commit")
    t.commit(s, simple, [(ta, 0, 3)])
    t.say("as the first, but a second member joins and the first never rejoins")
    two, second = t.stable_one(k, stuck, 3, metadata=subscription([ta]), rebalance=200000)
    t.commit(k, stuck, [(ta, 0, 4), (tb, 0, 5)], second, two)
    t.send_join(k2, stuck, 3, protocols=[("range", subscription([ta]))], rebalance=200000).still_waiting(0.2)
    t.say("a member that commits and leaves")
    three, third = t.stable_one(e, left, 3, metadata=subscription([ta]))
    t.commit(e, left, [(ta, 0, 6)], third, three)
    t.leave(e, left, [three])
    t.say("a member that commits now and leaves in 40 seconds")
    late = t.group("late")
    w = t.conn("W", late)
    four, fourth = t.stable_one(w, late, 3, metadata=subscription([ta]))
    t.commit(w, late, [(ta, 0, 7)], fourth, four)
    quiet = [(a, member_group, generation, one), (k, stuck, second, two), (w, late, fourth, four)]
    for turn in range(24):
        t.pause(3.0)
        for conn, group, number, member in quiet:
            t.beat_quietly(conn, group, number, member)
        if turn == 12:
            t.leave(w, late, [four])
            quiet.pop()
    t.say("75 seconds later")
    t.fetch(a, member_group, {ta: [0], tb: [0]})
    t.fetch(s, simple, {ta: [0]})
    t.fetch(k, stuck, {ta: [0], tb: [0]})
    t.fetch(e, left, {ta: [0]})
    t.fetch(w, late, {ta: [0]})
    t.list_groups(5)
    t.describe(a, member_group)
    t.describe(s, simple)
    t.describe(e, left)


@script("limits.no-place-left", "limits")
def no_place_left(t):
    """A member that is slow to rejoin while four others wait has lost its place: the group is full without it."""
    group = t.group("place")
    a, o = t.conn("A", group), t.conn("O", group)
    one, generation = t.stable_one(a, group, 3)
    for name in "BCDE":
        t.send_join(t.conn(name, group), group, 3).still_waiting(0.2)
    t.join(a, group, 3, member=one)
    t.beat(a, group, generation, one)
    t.send_join(t.conn("F", group), group, 3).still_waiting(0.2)
    t.describe(o, group)


@script("retention.custom", "retention")
def custom(t):
    """OffsetCommit v2 to v4 name a retention of their own; an empty group without offsets goes at the next sweep."""
    topic = t.topic("tr", 3)
    group, empty = t.group("custom"), t.group("empty")
    a, e = t.conn("A", group), t.conn("E", empty)
    t.commit(a, group, [(topic, 0, 1)], version=2, retention=1000)
    t.commit(a, group, [(topic, 1, 2)], version=4, retention=600000)
    t.commit(a, group, [(topic, 2, 3)], version=3)
    member, _ = t.stable_one(e, empty, 3)
    t.leave(e, empty, [member])
    t.pause(8.0)
    t.say("eight seconds later")
    t.fetch(a, group, {topic: [0, 1, 2]})
    t.describe(e, empty)
    t.list_groups(5)
    t.say("a group of nothing but an id given out")
    i = t.conn("I", t.group("ids"))
    given = t.join(i, t.group("ids"), session=10000)["MemberId"]
    t.pause(4.0)
    t.join(i, t.group("ids"), member=given)
