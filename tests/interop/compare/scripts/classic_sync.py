"""SyncGroup and Heartbeat: every version, every state, every refusal."""
from lib.registry import script


@script("classic.sync-versions")
def sync_versions(t):
    """SyncGroup and Heartbeat in every version, one member alone."""
    for version in range(0, 6):
        group = t.group(f"sync-v{version}")
        a = t.conn("A", group)
        one = t.join(a, group, 3)
        member, generation = one["MemberId"], one["GenerationId"]
        t.sync(a, group, generation, member, [(member, b"mine")], version=version)
        t.beat(a, group, generation, member, version=min(version, 4))
        t.sync(a, group, generation, member, [(member, b"ignored")], version=version)


@script("classic.sync-refused")
def sync_refused(t):
    """SyncGroup that is refused: member, generation, protocol, state."""
    group = t.group("sync")
    a = t.conn("A", group)
    t.say("no such group")
    for version in (0, 3, 5):
        t.sync(a, group, 1, "nobody", version=version)
    t.say("the empty group id")
    for version in (0, 5):
        t.sync(a, "", 1, "nobody", version=version)
    one = t.join(a, group, 9)
    one = t.join(a, group, 9, member=one["MemberId"])
    member, generation = one["MemberId"], one["GenerationId"]
    t.say("CompletingRebalance: wrong member, generations, protocol type and name")
    t.sync(a, group, generation, "nobody")
    t.sync(a, group, generation, "")
    t.sync(a, group, generation + 1, member)
    t.sync(a, group, generation - 1, member)
    t.sync(a, group, -1, member)
    t.sync(a, group, generation, member, kind="connect")
    t.sync(a, group, generation, member, protocol="sticky")
    t.say("v5 with nulls: nothing to check")
    t.sync(a, group, generation, member, [(member, b"x")], kind=None, protocol=None)
    t.say("Stable")
    t.sync(a, group, generation, "nobody")
    t.sync(a, group, generation + 1, member)
    t.sync(a, group, generation, member, kind="connect")
    t.sync(a, group, generation, member, protocol="sticky")
    t.say("an assignment for a stranger is dropped, a stable group's is not replaced")
    t.sync(a, group, generation, member, [("nobody", b"x"), (member, b"y")])
    t.describe(a, group)
    t.say("the leader assigns to strangers only: it holds nothing itself")
    two = t.join(a, group, 9, member=member)
    t.sync(a, group, two["GenerationId"], member, [("nobody", b"x")])
    t.describe(a, group)
    t.leave(a, group, [member])
    t.say("Empty")
    t.sync(a, group, two["GenerationId"], member)
    t.sync(a, group, two["GenerationId"] + 1, member)


@script("classic.sync-in-rebalance")
def sync_in_rebalance(t):
    """SyncGroup in PreparingRebalance, followers whose sync is overtaken by a new rebalance, no entry for a follower."""
    group = t.group("sync-rebalance")
    (a, one), (b, two), generation = t.stable_pair(group)
    t.say("B changes its metadata: PreparingRebalance")
    changed = t.send_join(b, group, 9, member=two, protocols=[("range", b"new")]).still_waiting(0.3)
    t.sync(a, group, generation, one)
    t.sync(a, group, generation + 1, one)
    t.sync(a, group, generation, "nobody")
    t.join(a, group, 9, member=one)
    generation = changed.wait()["GenerationId"]
    t.say("B waits for its assignment when C joins: B is sent back at once")
    waiting = t.send_sync(b, group, generation, two).still_waiting(0.3)
    c = t.conn("C", group)
    third = t.send_join(c, group, 3).still_waiting(0.2)
    waiting.wait()
    t.beat(a, group, generation, one)
    t.say("the leader's late sync")
    t.sync(a, group, generation, one, [(one, b"a"), (two, b"b")])
    waits = [t.send_join(b, group, 9, member=two, protocols=[("range", b"new")])]
    waits[0].still_waiting(0.2)
    t.join(a, group, 9, member=one)
    generation = waits[0].wait()["GenerationId"]
    three = third.wait()["MemberId"]
    t.say("B has no entry in the leader's assignment: zero bytes")
    waiting = t.send_sync(b, group, generation, two).still_waiting(0.2)
    t.sync(a, group, generation, one, [(one, b"a"), (three, b"c")])
    waiting.wait()
    t.sync(c, group, generation, three)
    t.sync(c, group, generation, three, version=0)
    t.describe(a, group)


@script("classic.sync-twice")
def sync_twice(t):
    """A follower syncs twice before the leader does; another connection takes over the wait."""
    group = t.group("sync-twice")
    a, b, b2 = t.conn("A", group), t.conn("B", group), t.conn("B2", group)
    one = t.join(a, group, 3)["MemberId"]
    joining = t.send_join(b, group, 3).still_waiting(0.2)
    generation = t.join(a, group, 3, member=one)["GenerationId"]
    two = joining.wait()["MemberId"]
    first = t.send_sync(b, group, generation, two).still_waiting(0.2)
    second = t.send_sync(b2, group, generation, two).still_waiting(0.2)
    first.still_waiting(0.2)
    t.sync(a, group, generation, one, [(one, b"a"), (two, b"b")])
    second.wait(3)
    first.wait(1)


@script("classic.join-twice")
def join_twice(t):
    """A member joins twice while it waits; the second request takes over."""
    group = t.group("join-twice")
    (a, one), (b, two), generation = t.stable_pair(group)
    b2 = t.conn("B2", group)
    first = t.send_join(b, group, 9, member=two, protocols=[("range", b"n1")]).still_waiting(0.2)
    second = t.send_join(b2, group, 9, member=two, protocols=[("range", b"n2")]).still_waiting(0.2)
    first.still_waiting(0.2)
    t.join(a, group, 9, member=one)
    second.wait(3)
    first.wait(1)


@script("classic.heartbeat")
def heartbeat(t):
    """Heartbeats in every state and with every wrong field."""
    group = t.group("beat")
    a = t.conn("A", group)
    t.say("no such group, the empty group id, an instance of nothing")
    for version in (0, 1, 3, 4):
        t.beat(a, group, 1, "nobody", version=version)
        t.beat(a, "", 1, "nobody", version=version)
    t.beat(a, group, 1, "nobody", instance="i1")
    one = t.join(a, group, 3)
    member, generation = one["MemberId"], one["GenerationId"]
    t.say("CompletingRebalance")
    t.beat(a, group, generation, member)
    t.beat(a, group, generation + 1, member)
    t.beat(a, group, generation - 1, member)
    t.beat(a, group, -1, member)
    t.beat(a, group, generation, "")
    t.beat(a, group, generation, "nobody")
    t.beat(a, group, generation, member, instance="i1")
    t.sync(a, group, generation, member, [(member, b"x")])
    t.say("Stable")
    for version in range(0, 5):
        t.beat(a, group, generation, member, version=version)
    t.beat(a, group, generation + 1, member)
    t.beat(a, group, generation - 1, member)
    t.beat(a, group, -1, member)
    t.beat(a, group, generation, "nobody")
    b = t.conn("B", group)
    joining = t.send_join(b, group, 3).still_waiting(0.3)
    t.say("PreparingRebalance: the generation is checked first")
    for version in range(0, 5):
        t.beat(a, group, generation, member, version=version)
    t.beat(a, group, generation + 1, member)
    t.beat(a, group, -1, member)
    t.beat(a, group, generation, "nobody")
    t.say("A leaves: B alone goes on")
    t.leave(a, group, [member])
    two = joining.wait()
    t.beat(b, group, two["GenerationId"], two["MemberId"])
    t.leave(b, group, [two["MemberId"]])
    t.say("Empty")
    t.beat(b, group, two["GenerationId"], two["MemberId"])
    t.beat(b, group, two["GenerationId"] + 1, two["MemberId"])
    t.beat(b, group, -1, "")


@script("classic.rebalance-phases")
def rebalance_phases(t):
    """KAFKA-10134: heartbeat, commit and sync answers in each phase of a rebalance; the repeated follower join."""
    topic = t.topic("phases", 2)
    group = t.group("phases")
    a = t.conn("A", group)
    one, generation = t.stable_one(a, group, 3)
    b = t.conn("B", group)
    joining = t.send_join(b, group, 3).still_waiting(0.3)
    t.say("phase 1, the joins come in: heartbeat, commit, sync")
    t.beat(a, group, generation, one)
    t.commit(a, group, [(topic, 0, 5)], generation, one)
    t.sync(a, group, generation, one)
    again = t.join(a, group, 3, member=one)
    two = joining.wait()["MemberId"]
    t.say("phase 2, the assignment is awaited: heartbeat, commit of this and of the last generation")
    t.beat(a, group, again["GenerationId"], one)
    t.commit(a, group, [(topic, 0, 6)], again["GenerationId"], one)
    t.commit(a, group, [(topic, 0, 7)], generation, one)
    t.commit(b, group, [(topic, 1, 7)], again["GenerationId"], two)
    t.sync(a, group, again["GenerationId"], one, [(one, b"a")])
    t.say("phase 3, stable: old and future generation, the repeated follower join, the member without an entry")
    t.beat(a, group, generation, one)
    t.beat(a, group, again["GenerationId"] + 1, one)
    t.sync(b, group, again["GenerationId"], two)
    t.join(b, group, 3, member=two)
    t.commit(b, group, [(topic, 1, 8)], again["GenerationId"], two)
    t.fetch(a, group, {topic: [0, 1]})


@script("classic.silent-leader")
def silent_leader(t):
    """KAFKA-12890: a leader that beats but never syncs is removed after the rebalance timeout, and the waiting
    follower is sent back."""
    group = t.group("silent")
    a, b, o = t.conn("A", group), t.conn("B", group), t.conn("O", group)
    options = {"version": 3, "session": 6000, "rebalance": 3000}
    one = t.join(a, group, **options)["MemberId"]
    joining = t.send_join(b, group, **options).still_waiting(0.2)
    generation = t.join(a, group, member=one, **options)["GenerationId"]
    two = joining.wait()["MemberId"]
    waiting = t.send_sync(b, group, generation, two).still_waiting(1.0)
    t.beat(a, group, generation, one)
    waiting.still_waiting(1.0)
    t.beat(a, group, generation, one)
    waiting.wait(within=(2.3, 4.5))
    t.beat(a, group, generation, one)
    t.describe(o, group)
    t.beat(b, group, generation, two)
    t.say("the follower rejoins and leads")
    last = t.join(b, group, member=two, **options)
    t.sync(b, group, last["GenerationId"], two, [(two, b"b")])


@script("classic.leader-leaves")
def leader_leaves(t):
    """The leader leaves while a follower waits for its assignment: the follower is sent back at once."""
    group = t.group("leader-leaves")
    a, b = t.conn("A", group), t.conn("B", group)
    one = t.join(a, group, 3)["MemberId"]
    joining = t.send_join(b, group, 3).still_waiting(0.2)
    generation = t.join(a, group, 3, member=one)["GenerationId"]
    two = joining.wait()["MemberId"]
    waiting = t.send_sync(b, group, generation, two).still_waiting(0.3)
    t.leave(a, group, [one])
    waiting.wait(within=(0, 2.5))
    t.describe(a, group)
    t.join(b, group, 3, member=two)


@script("classic.silent-follower")
def silent_follower(t):
    """A follower that joined but never syncs is removed after the rebalance timeout; the leader has synced."""
    group = t.group("silent-follower")
    a, b = t.conn("A", group), t.conn("B", group)
    options = {"version": 3, "session": 6000, "rebalance": 2000}
    one = t.join(a, group, **options)["MemberId"]
    joining = t.send_join(b, group, **options).still_waiting(0.2)
    generation = t.join(a, group, member=one, **options)["GenerationId"]
    two = joining.wait()["MemberId"]
    t.sync(a, group, generation, one, [(one, b"a"), (two, b"b")])
    t.beat(a, group, generation, one)
    t.beat(b, group, generation, two)
    t.pause(3.0)
    t.say("three seconds later")
    t.beat(b, group, generation, two)
    t.beat(a, group, generation, one)
    t.describe(a, group)
