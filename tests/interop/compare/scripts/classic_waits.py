"""Who is waited for, for how long, and who survives the wait."""
from lib.registry import script


@script("classic.static-silent")
def static_silent(t):
    """A static leader that does not rejoin stays in the group until its session ends: the others get a generation
    without its join, another one leads, and it still counts as a member."""
    group = t.group("static-silent")
    options = {"session": 15000, "rebalance": 3000}
    a, b, o = t.conn("A", group), t.conn("B", group), t.conn("O", group)
    one = t.join(a, group, 9, instance="ia", **options)["MemberId"]
    joining = t.send_join(b, group, 9, instance="ib", **options).still_waiting(0.3)
    generation = t.join(a, group, 9, member=one, instance="ia", **options)["GenerationId"]
    two = joining.wait()["MemberId"]
    waiting = t.send_sync(b, group, generation, two, instance="ib").still_waiting(0.2)
    t.sync(a, group, generation, one, [(one, b"a"), (two, b"b")], instance="ia")
    waiting.wait()
    t.say("B brings new metadata, A only beats")
    joining = t.send_join(b, group, 9, member=two, instance="ib", protocols=[("range", b"new")], **options)
    joining.still_waiting(1.0)
    t.beat(a, group, generation, one, instance="ia")
    answer = joining.wait(within=(2.3, 5.0))
    t.describe(o, group)
    t.beat(a, group, generation, one, instance="ia")
    t.beat(a, group, answer["GenerationId"], one, instance="ia")
    t.sync(b, group, answer["GenerationId"], two, [(two, b"b"), (one, b"a")], instance="ib")
    t.sync(a, group, answer["GenerationId"], one, instance="ia")
    t.describe(o, group)


@script("classic.static-expires")
def static_expires(t):
    """A static member that falls silent is removed after its session timeout like any other."""
    group = t.group("static-expires")
    a = t.conn("A", group)
    one, generation = t.stable_one(a, group, 9, instance="i1", session=6000)
    t.pause(7.5)
    t.describe(a, group)
    t.beat(a, group, generation, one, instance="i1")
    t.say("its instance is free: it joins as a new member")
    t.join(a, group, 9, instance="i1")


@script("classic.join-outlives-session")
def join_outlives_session(t):
    """A member whose join waits is alive: its session does not end while the answer is owed."""
    group = t.group("outlives")
    options = {"session": 6000, "rebalance": 9000}
    (a, one), (b, two), generation = t.stable_pair(group, **options)
    joining = t.send_join(b, group, 3, member=two, protocols=[("range", b"new")], **options).still_waiting(4.0)
    t.beat(a, group, generation, one)
    joining.still_waiting(3.2)
    t.beat(a, group, generation, one)
    answer = joining.wait(within=(7.5, 11.5))
    t.say("A did not rejoin in time, B has the group")
    t.beat(b, group, answer["GenerationId"], two)
    t.beat(a, group, generation, one)


@script("classic.sync-outlives-session")
def sync_outlives_session(t):
    """A member whose sync waits is alive as well: eight seconds of a session of six."""
    group = t.group("sync-outlives")
    options = {"version": 3, "session": 6000, "rebalance": 30000}
    a, b = t.conn("A", group), t.conn("B", group)
    one = t.join(a, group, **options)["MemberId"]
    joining = t.send_join(b, group, **options).still_waiting(0.2)
    generation = t.join(a, group, member=one, **options)["GenerationId"]
    two = joining.wait()["MemberId"]
    waiting = t.send_sync(b, group, generation, two)
    for _ in range(4):
        waiting.still_waiting(2.0)
        t.beat(a, group, generation, one)
    t.describe(a, group)
    t.sync(a, group, generation, one, [(one, b"a"), (two, b"b")])
    waiting.wait(2)


@script("classic.connection-lost")
def connection_lost(t):
    """A connection that ends while its join waits: the member stays until its session ends."""
    group = t.group("lost")
    options = {"session": 6000, "rebalance": 6000}
    a, b, o = t.conn("A", group), t.conn("B", group), t.conn("O", group)
    one, generation = t.stable_one(a, group, 3, **options)
    t.send_join(b, group, 3, **options).still_waiting(0.3)
    b.close()
    t.pause(0.5)
    t.describe(o, group)
    again = t.join(a, group, 3, member=one, **options)
    t.sync(a, group, again["GenerationId"], one, [(one, b"a")])
    t.describe(o, group)
    for _ in range(3):
        t.pause(2.4)
        t.beat_quietly(a, group, again["GenerationId"], one)
    t.say("seven seconds later")
    t.beat(a, group, again["GenerationId"], one)
    t.describe(o, group)


@script("classic.newcomers")
def newcomers(t):
    """Newcomers in every phase: with and without an id, while joins come in and while assignments are awaited."""
    group = t.group("newcomers")
    a, b, c, d = (t.conn(n, group) for n in "ABCD")
    one = t.join(a, group, 3)["MemberId"]
    t.say("CompletingRebalance: an id is given without disturbing it")
    three = t.join(c, group, 9)["MemberId"]
    t.beat(a, group, 1, one)
    t.say("a join does disturb it")
    second = t.send_join(b, group, 3).still_waiting(0.3)
    t.beat(a, group, 1, one)
    t.say("PreparingRebalance: an id, then its join, then a static newcomer")
    four = t.join(d, group, 9)["MemberId"]
    third = t.send_join(c, group, 9, member=three).still_waiting(0.2)
    fourth = t.send_join(d, group, 9, member=four).still_waiting(0.2)
    fifth = t.send_join(t.conn("E", group), group, 9, instance="i5").still_waiting(0.2)
    again = t.join(a, group, 3, member=one)
    for pending in (second, third, fourth, fifth):
        pending.wait()
    t.sync(a, group, again["GenerationId"], one, [(one, b"a")])
    t.describe(a, group)
