"""LeaveGroup, static members, failures and timeouts."""
from lib.registry import script


@script("classic.leave")
def leave(t):
    """LeaveGroup in every version: unknown groups and members, several members, a member twice."""
    group = t.group("leave")
    a = t.conn("A", group)
    t.say("no such group")
    for version in (0, 1, 2):
        t.leave(a, group, "nobody", version=version)
    for version in (3, 4, 5):
        t.leave(a, group, ["nobody"], version=version)
    t.say("the empty group id")
    t.leave(a, "", "nobody", version=1)
    t.leave(a, "", ["nobody"], version=5)
    t.say("nobody at all leaves")
    t.leave(a, group, [], version=3)
    for version in range(0, 6):
        one = t.join(a, group, 3)["MemberId"]
        t.leave(a, group, one if version < 3 else [one], version=version)
    t.say("an empty group, a member that left")
    t.leave(a, group, one, version=2)
    t.leave(a, group, [one], version=5)
    t.describe(a, group)
    (a, one), (b, two), generation = t.stable_pair(t.group("leave-2"))
    group = t.group("leave-2")
    t.say("a stranger, a member, and that member again, an unknown instance, empty ids")
    t.leave(a, group, ["nobody", two, two, ("", "i9"), ("", ""), ("nobody", "i9")])
    t.describe(a, group)
    t.beat(a, group, generation, one)
    t.say("a wrong instance for a member without one")
    t.leave(a, group, [(one, "i1")])
    t.beat(a, group, generation, one)
    t.leave(a, group, [one], version=4)
    t.describe(a, group)
    t.say("nobody leaves an existing group")
    t.leave(a, group, [], version=5)


@script("classic.leave-in-rebalance")
def leave_in_rebalance(t):
    """Members leave while a rebalance goes on, in each phase."""
    group = t.group("leave-rebalance")
    (a, one), (b, two), generation = t.stable_pair(group)
    t.say("PreparingRebalance: A joins again, B leaves instead: A is answered")
    o = t.conn("O", group)
    waiting = t.send_join(a, group, 9, member=one).still_waiting(0.3)
    t.leave(b, group, [two])
    generation = waiting.wait()["GenerationId"]
    t.say("CompletingRebalance: the only member leaves")
    t.leave(a, group, [one])
    t.describe(a, group)
    t.say("a member leaves whose join waits: that join is answered")
    (a, one), (b, two), generation = t.stable_pair(group)
    waiting = t.send_join(b, group, 9, member=two, protocols=[("range", b"n")]).still_waiting(0.3)
    t.leave(o, group, [two])
    waiting.wait(5)
    t.describe(o, group)
    t.say("and one whose sync waits")
    c = t.conn("C", group)
    third = t.send_join(c, group, 3).still_waiting(0.2)
    generation = t.join(a, group, 9, member=one)["GenerationId"]
    three = third.wait()["MemberId"]
    waiting = t.send_sync(c, group, generation, three).still_waiting(0.3)
    t.leave(o, group, [three])
    waiting.wait(5)
    t.describe(o, group)


@script("classic.static")
def static(t):
    """KIP-345: a static member restarts with the same metadata: new id, same generation, same assignment; the old
    id is fenced."""
    group, topic = t.group("static"), t.topic("static")
    a = t.conn("A", group)
    one = t.join(a, group, 9, instance="i1")
    generation = one["GenerationId"]
    t.sync(a, group, generation, one["MemberId"], [(one["MemberId"], b"a")], instance="i1")
    t.describe(a, group)
    t.say("restart: an empty id with the instance, v9 then v5")
    two = t.join(a, group, 9, instance="i1")
    t.sync(a, group, two["GenerationId"], two["MemberId"], instance="i1")
    t.describe(a, group)
    t.say("the old id, with and without the instance")
    t.beat(a, group, generation, one["MemberId"], instance="i1")
    t.beat(a, group, generation, one["MemberId"])
    t.sync(a, group, generation, one["MemberId"], instance="i1")
    t.sync(a, group, generation, one["MemberId"])
    t.join(a, group, 9, member=one["MemberId"], instance="i1")
    t.join(a, group, 9, member=one["MemberId"])
    t.commit(a, group, [(topic, 0, 1)], generation, one["MemberId"], instance="i1")
    t.commit(a, group, [(topic, 0, 1)], generation, one["MemberId"])
    t.leave(a, group, [(one["MemberId"], "i1")])
    t.leave(a, group, [one["MemberId"]])
    t.say("the new id with and without the instance, and with another")
    t.beat(a, group, generation, two["MemberId"], instance="i1")
    t.beat(a, group, generation, two["MemberId"])
    t.beat(a, group, generation, two["MemberId"], instance="i2")
    t.beat(a, group, generation, "", instance="i1")
    three = t.join(a, group, 5, instance="i1")
    t.sync(a, group, three["GenerationId"], three["MemberId"], version=3, instance="i1")
    t.say("the member itself rejoins: it leads, so a rebalance")
    four = t.join(a, group, 9, member=three["MemberId"], instance="i1")
    t.sync(a, group, four["GenerationId"], four["MemberId"], [(four["MemberId"], b"a2")], instance="i1")
    t.say("restart with other metadata while the chosen protocol stays: no rebalance, the new metadata is kept")
    five = t.join(a, group, 9, instance="i1", protocols=[("range", b"changed")])
    t.describe(a, group)
    t.sync(a, group, five["GenerationId"], five["MemberId"], [(five["MemberId"], b"a3")], instance="i1")
    t.say("restart with another protocol, so that the choice changes: a rebalance")
    six = t.join(a, group, 9, instance="i1", protocols=[("sticky", b"s"), ("range", b"changed")])
    t.describe(a, group)
    t.sync(a, group, six["GenerationId"], six["MemberId"], [(six["MemberId"], b"a4")], instance="i1", protocol="sticky")
    t.say("removal by instance alone")
    t.leave(a, group, [("", "i1")])
    t.describe(a, group)
    t.beat(a, group, five["GenerationId"], five["MemberId"], instance="i1")


@script("classic.static-pair")
def static_pair(t):
    """KIP-345 and KIP-814 with two members: restarts of the follower and of the leader, in each state."""
    group = t.group("static-pair")
    a, b, o = t.conn("A", group), t.conn("B", group), t.conn("O", group)
    one = t.join(a, group, 9, instance="ia")["MemberId"]
    joining = t.send_join(b, group, 9, instance="ib").still_waiting(0.3)
    again = t.join(a, group, 9, member=one, instance="ia")
    two = joining.wait()["MemberId"]
    generation = again["GenerationId"]
    t.say("the follower restarts in CompletingRebalance, the leader has not synced")
    waiting = t.send_sync(b, group, generation, two, instance="ib").still_waiting(0.2)
    b2 = t.conn("B2", group)
    joining = t.send_join(b2, group, 9, instance="ib").still_waiting(0.3)
    waiting.wait(3)
    t.describe(o, group)
    t.beat(a, group, generation, one, instance="ia")
    again = t.join(a, group, 9, member=one, instance="ia")
    two = joining.wait()["MemberId"]
    generation = again["GenerationId"]
    waiting = t.send_sync(b2, group, generation, two, instance="ib").still_waiting(0.2)
    t.sync(a, group, generation, one, [(one, b"a"), (two, b"b")], instance="ia")
    waiting.wait()
    t.say("stable: the follower restarts, no rebalance")
    two = t.join(b2, group, 9, instance="ib")["MemberId"]
    t.sync(b2, group, generation, two, instance="ib")
    t.beat(a, group, generation, one, instance="ia")
    t.say("stable: the leader restarts, v9 is told to skip the assignment")
    one = t.join(a, group, 9, instance="ia")["MemberId"]
    t.sync(a, group, generation, one, instance="ia")
    t.beat(b2, group, generation, two, instance="ib")
    t.say("v8 cannot be told: it gets the old leader's name")
    one = t.join(a, group, 8, instance="ia")["MemberId"]
    t.sync(a, group, generation, one, instance="ia")
    t.beat(b2, group, generation, two, instance="ib")
    t.describe(o, group)
    t.say("the follower restarts with new metadata, the choice of protocol stays: no rebalance")
    two = t.join(b2, group, 9, instance="ib", protocols=[("range", b"new")])["MemberId"]
    t.beat(a, group, generation, one, instance="ia")
    t.sync(b2, group, generation, two, instance="ib")
    t.say("the follower itself rejoins with other metadata: a rebalance")
    joining = t.send_join(b2, group, 9, member=two, instance="ib", protocols=[("range", b"newer")]).still_waiting(0.3)
    t.beat(a, group, generation, one, instance="ia")
    t.beat(o, group, generation, two, instance="ib")
    t.say("in PreparingRebalance the leader restarts")
    one = t.join(a, group, 9, instance="ia")["MemberId"]
    joining.wait()
    t.say("by id and instance: the wrong instance of an id, then both by instance")
    t.leave(o, group, [(two, "ia"), ("", "ib"), ("", "ia")])
    t.describe(o, group)


@script("classic.static-fenced-wait")
def static_fenced_wait(t):
    """KAFKA-8500: a second process with the same instance id joins while the first one's join waits: the first is
    fenced at once."""
    group = t.group("fenced-wait")
    a, b, c = t.conn("A", group), t.conn("B", group), t.conn("C", group)
    one = t.join(a, group, 9, instance="i1")
    t.sync(a, group, one["GenerationId"], one["MemberId"], [(one["MemberId"], b"a")], instance="i1")
    first = t.send_join(b, group, 9, instance="i2").still_waiting(0.3)
    second = t.send_join(c, group, 9, instance="i2").still_waiting(0.3)
    first.wait(within=(0, 2))
    again = t.join(a, group, 9, member=one["MemberId"], instance="i1")
    member = second.wait()["MemberId"]
    t.say("the same with a waiting sync")
    c2, generation = t.conn("C2", group), again["GenerationId"]
    waiting = t.send_sync(c, group, generation, member, instance="i2").still_waiting(0.3)
    joining = t.send_join(c2, group, 9, instance="i2").still_waiting(0.3)
    waiting.wait(within=(0, 2))
    t.join(a, group, 9, member=one["MemberId"], instance="i1")
    joining.wait()
    t.describe(a, group)


@script("classic.static-refused")
def static_refused(t):
    """Static joins that are refused, and instance ids where none is known."""
    group, topic = t.group("static-refused"), t.topic("static-refused")
    a, b = t.conn("A", group), t.conn("B", group)
    t.say("an id and an instance that the group does not know")
    t.join(a, group, 9, member="nobody", instance="i1")
    one, generation = t.stable_one(a, group, 9, instance="i1")
    t.join(a, group, 9, member="nobody", instance="i1")
    t.join(a, group, 9, member="nobody", instance="i2")
    t.join(a, group, 9, member=one, instance="i2")
    t.say("the id alone, without its instance")
    t.join(a, group, 9, member=one)
    t.say("the empty instance id")
    t.join(b, t.group("static-empty"), 9, instance="")
    t.beat(a, group, generation, "nobody", instance="i1")
    t.beat(a, group, generation, one, instance="i9")
    t.sync(a, group, generation, "nobody", instance="i1")
    t.leave(a, group, [("nobody", "i1")])
    t.leave(a, group, [(one, "i9")])
    t.commit(a, group, [(topic, 0, 1)], generation, "nobody", instance="i1")
    t.commit(a, group, [(topic, 0, 1)], generation, one, instance="i9")
    t.describe(a, group, 3)
    t.describe(a, group, 4)


@script("classic.session-timeout")
def session_timeout(t):
    """A silent member is found after its session timeout: rebalance, then the group of the rest; static members as
    well, and their offsets stay."""
    group = t.group("session")
    (a, one), (b, two), generation = t.stable_pair(group, session=6000, rebalance=6000)
    for _ in range(3):
        t.pause(2.0)
        t.beat(a, group, generation, one)
    t.pause(1.0)
    t.say("seven seconds after its last sign B is gone")
    t.beat(a, group, generation, one)
    t.beat(b, group, generation, two)
    t.describe(a, group)
    last = t.join(a, group, 3, member=one, session=6000, rebalance=6000)
    t.sync(a, group, last["GenerationId"], one, [(one, b"a")])
    t.pause(7.0)
    t.say("and seven seconds later so is A")
    t.describe(a, group)
    t.beat(a, group, last["GenerationId"], one)


@script("classic.rebalance-timeout")
def rebalance_timeout(t):
    """A member that does not rejoin, though it beats, is dropped when the rebalance timeout is over."""
    group = t.group("rebalance-timeout")
    options = {"session": 20000, "rebalance": 3000}
    (a, one), (b, two), generation = t.stable_pair(group, **options)
    rejoining = t.send_join(b, group, 3, member=two, protocols=[("range", b"new")], **options).still_waiting(1.0)
    t.beat(a, group, generation, one)
    rejoining.wait(within=(2.3, 5.0))
    t.say("A is dropped, B leads")
    t.beat(a, group, generation, one)
    t.join(a, group, 9, member=one)
    t.describe(a, group)


@script("classic.join-v0-timeout")
def join_v0_timeout(t):
    """JoinGroup v0 has no rebalance timeout: the session timeout is it."""
    group = t.group("v0-timeout")
    a, b = t.conn("A", group), t.conn("B", group)
    one = t.join(a, group, 0, session=6000)
    t.sync(a, group, one["GenerationId"], one["MemberId"], [(one["MemberId"], b"a")], version=0)
    joining = t.send_join(b, group, 0, session=6000).still_waiting(3.0)
    t.beat(a, group, one["GenerationId"], one["MemberId"], version=0)
    joining.still_waiting(1.5)
    joining.wait(within=(5.0, 8.5))
    t.beat(a, group, one["GenerationId"], one["MemberId"], version=0)


@script("classic.lost-pending-id")
def lost_pending_id(t):
    """KAFKA-9885, KAFKA-9844: an id that was given out and never used holds a rebalance up for its session at most."""
    group = t.group("lost-id")
    a = t.conn("A", group)
    one, generation = t.stable_one(a, group, 3)
    b, c = t.conn("B", group), t.conn("C", group)
    t.join(b, group, 9, session=6000)
    joining = t.send_join(c, group, 3).still_waiting(0.3)
    rejoining = t.send_join(a, group, 3, member=one).still_waiting(2.0)
    rejoining.wait(within=(4.5, 8.5))
    joining.wait()
    t.describe(b, group)
