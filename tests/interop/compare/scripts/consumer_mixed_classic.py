"""Members of the classic protocol in consumer groups: joining, syncing, beating, leaving, their timers."""
from lib.consumer import Member, describe, held
from lib.mixed import Classic, assignment, mixed_pair, quietly, subscription
from lib.registry import script


@script("consumer_mixed.join", "mixed")
def join(t):
    """A classic member joins a consumer group of one and gets its half, step by step."""
    group, top = t.group("join"), t.topic("in", 6)
    c, a = Member(t, group, "c", [top]), Classic(t, group, "A", [top])
    c.join()
    a.join()
    describe(c.conn, group)
    t.say("nothing is free yet")
    a.sync()
    a.beat()
    t.say("C is told, and lets go")
    c.beat()
    a.beat()
    c.ack()
    t.say("now A is told to come and get it")
    a.beat()
    a.sync()
    a.join()
    a.sync()
    a.beat()
    describe(c.conn, group)
    t.say("C leaves a second new one the field; A gives up and gets")
    d = Member(t, group, "d", [top])
    d.join()
    a.beat()
    a.again()
    a.beat()
    a.again()
    a.beat()
    c.ack()
    c.ack()
    d.beat()
    describe(c.conn, group)


@script("consumer_mixed.join-versions", "mixed")
def join_versions(t):
    """Every version of JoinGroup, SyncGroup, Heartbeat and LeaveGroup in a consumer group."""
    group, top = t.group("versions"), t.topic("in", 6)
    c = Member(t, group, "c", [top])
    c.join()
    for version in range(0, 10):
        a = Classic(t, group, "A", [top], version=version)
        a.join()
        a.sync(version=min(version, 5))
        a.beat(version=min(version, 4))
        a.leave(version=min(version, 5))
        describe(c.conn, group)


@script("consumer_mixed.join-forms", "mixed")
def join_forms(t):
    """The assignment comes in the version of the member's own subscription."""
    top = t.topic("in", 6)
    for form in range(0, 4):
        group = t.group(f"form-{form}")
        c = Member(t, group, "c", [top])
        c.join()
        a = Classic(t, group, "A", [top], form=form)
        a.again()
        quietly(c, "beat", "ack")
        a.beat()
        a.again()
        a.beat()
        t.say("to give up half of it")
        d = Member(t, group, "d", [top])
        d.join()
        a.beat()
        a.again()
        a.beat()
        describe(c.conn, group)
    t.say("of a later version than there is")
    group = t.group("form-9")
    c = Member(t, group, "c", [top])
    c.join()
    a = Classic(t, group, "A", [top])
    a.join(protocols=[("range", b"\x00\x09" + subscription([top])[2:] + b"more")])
    a.sync()


@script("consumer_mixed.join-refused", "mixed")
def join_refused(t):
    """What may not join: types, protocols, metadata, timeouts, and in which order that is found."""
    group, top = t.group("refused"), t.topic("in", 6)
    c = Member(t, group, "c", [top])
    c.join()
    a, b = Classic(t, group, "A", [top]), Classic(t, group, "B", [top])
    for fields in ({"session": 999}, {"session": 1800001}, {"kind": "connect"}, {"kind": ""}, {"protocols": []},
                   {"kind": "connect", "session": 1}, {"kind": "connect", "member": "nobody"},
                   {"protocols": [("range", b"broken")], "version": 3}, {"protocols": [("range", b"")], "version": 3},
                   {"protocols": [("range", b"broken")], "member": "some"}, {"instance": "i", "protocols": []},
                   {"instance": "i", "member": "some"}, {"protocols": [("range", b"broken")], "instance": "i"}):
        for version in (3, 9) if "version" not in fields else (3,):
            a.send_join(**{"version": version, **fields}).wait()
    t.say("an id is handed out before the metadata are looked at")
    a.joined(a.send_join(protocols=[("range", b"broken")]))
    describe(c.conn, group)
    t.say("an id that nobody gave will do")
    a.id = "some"
    a.join()
    t.say("no protocol in common with the other classic member")
    b.send_join(protocols=[("sticky", subscription([top]))]).wait()
    b.send_join(protocols=[("sticky", subscription([top]))], member="other").wait()
    b.join(protocols=[("sticky", subscription([top])), ("range", subscription([top]))])
    t.say("A cannot turn to what B does not have alone")
    a.send_join(protocols=[("sticky", subscription([top]))]).wait()
    a.send_join(protocols=[("roundrobin", subscription([top]))]).wait()
    a.send_join(kind="connect").wait()
    describe(c.conn, group)


@script("consumer_mixed.join-protocols", "mixed")
def join_protocols(t):
    """Several protocols: the first one counts, for what the member subscribes to and for what it is told."""
    group, tops = t.group("protocols"), [t.topic("one", 2), t.topic("two", 4)]
    c = Member(t, group, "c", tops)
    c.join()
    a = Classic(t, group, "A", tops)
    lists = [("sticky", subscription([tops[0]])), ("range", subscription([tops[1]]))]
    a.join(protocols=lists)
    a.sync()
    a.sync(protocol="sticky")
    a.sync(protocol="sticky", kind="connect")
    t.say("of another one the first may be the second")
    b = Classic(t, group, "B", tops)
    b.join(protocols=[("range", subscription([tops[1]])), ("sticky", b"broken")])
    b.sync()
    describe(c.conn, group)
    t.say("alone among classic members it may change")
    b.leave()
    a.join(protocols=[("range", subscription([tops[1]]))])
    a.sync()
    t.say("all at once")
    a.join(protocols=[("roundrobin", subscription([tops[1]])), ("range", subscription([tops[1]]))])


@script("consumer_mixed.rejoin", "mixed")
def rejoin(t):
    """A classic member joins again and says something else: what moves the group, and what does not."""
    group, top, other = t.group("rejoin"), t.topic("in", 6), t.topic("other", 2)
    c = Member(t, group, "c", [top])
    a = mixed_pair(t, group, [top], c)
    a.beat()
    t.say("the same again")
    a.again()
    t.say("session, rebalance timeout, without a rebalance timeout, user data, rack, no rack, client id")
    a.join(session=12000)
    a.join(rebalance=13000)
    a.join(version=0, session=12000)
    a.join(user=b"x")
    a.join(rack="r1")
    describe(c.conn, group)
    a.join()
    a.conn.client_id = "else"
    a.join()
    describe(c.conn, group)
    t.say("another generation in the subscription does not matter")
    a.generation = 77
    a.join()
    t.say("other topics: what it had has to be given up first")
    a.topics = [other]
    a.again()
    a.beat()
    describe(c.conn, group)
    a.again()
    a.beat()
    describe(c.conn, group)
    t.say("back, and it says that it has nothing")
    a.topics = [top]
    a.join(owned={})
    a.sync()
    a.beat()
    c.beat()
    describe(c.conn, group)
    t.say("nothing at all")
    a.topics = []
    a.again()
    a.again()
    a.beat()
    describe(c.conn, group)


@script("consumer_mixed.rejoin-unrevoked", "mixed")
def rejoin_unrevoked(t):
    """It is told to give up and does not, while the target moves on."""
    group, top = t.group("unrevoked"), t.topic("in", 12)
    c = Member(t, group, "c", [top])
    a = mixed_pair(t, group, [top], c)
    d = Member(t, group, "d", [top])
    d.join()
    a.beat()
    kept = dict(a.held)
    a.again()
    t.say("with all it had once more: nothing happens")
    a.join(owned=kept)
    a.sync()
    a.beat()
    t.say("another member comes meanwhile")
    e = Member(t, group, "e", [top])
    e.join()
    a.beat()
    a.sync()
    describe(c.conn, group)
    t.say("it lets go of what it was told first, and is told more")
    a.again()
    a.beat()
    describe(c.conn, group)
    a.again()
    a.beat()
    describe(c.conn, group)


@script("consumer_mixed.sync", "mixed")
def sync(t):
    """SyncGroup and Heartbeat: what is checked, in which order."""
    group, top = t.group("sync"), t.topic("in", 6)
    c = Member(t, group, "c", [top], instance="ic")
    a = mixed_pair(t, group, [top], c, instance="ia")
    t.say("assignments of a classic leader do not count")
    a.sync([(a.id, assignment({top: [0]})), ("c", b"yours")])
    for version in range(0, 5):
        a.sync(version=version)
    for fields in ({"kind": "connect"}, {"protocol": "sticky"}, {"kind": None}, {"protocol": None}, {"generation": 2},
                   {"generation": 4}, {"generation": -1}, {"member": "nobody"}, {"member": "c", "instance": None},
                   {"member": "c", "instance": "ic"}, {"member": "nobody", "instance": None}, {"instance": "none"},
                   {"instance": None}, {"generation": 9, "kind": "connect"}, {"member": "nobody", "generation": 9}):
        a.send_sync(**fields).wait()
    for fields in ({"generation": 2}, {"generation": 4}, {"generation": -1}, {"member": "nobody"}, {"member": ""},
                   {"member": "c", "instance": None}, {"member": "c", "instance": "ic"}, {"member": "nobody", "instance": None},
                   {"instance": "none"}, {"instance": "ic"}, {"instance": None}, {}):
        a.beat(**fields)
    t.say("while it should rejoin")
    d = Member(t, group, "d", [top])
    d.join()
    for fields in ({}, {"protocol": "sticky"}, {"generation": 2}):
        a.send_sync(**fields).wait()
    for fields in ({}, {"generation": 2}, {"instance": None}):
        a.beat(**fields)


@script("consumer_mixed.static", "mixed")
def static(t):
    """Static classic members: replaced, fenced, back."""
    group, top = t.group("static"), t.topic("in", 6)
    c = Member(t, group, "c", [top])
    c.join()
    a = Classic(t, group, "A", [top], instance="i")
    a.join()
    a.sync()
    old = a.id
    t.say("rejoins with and without its instance")
    a.join()
    a.join(instance=None)
    t.say("its place taken while it waits for its partitions")
    b = Classic(t, group, "B", [top], instance="i")
    b.join()
    b.sync()
    describe(c.conn, group)
    a.beat()
    a.beat(instance=None)
    a.sync()
    for version in (5, 9):
        a.send_join(version=version).wait()
    a.send_join(instance="none").wait()
    quietly(c, "beat", "ack")
    b.beat()
    b.again()
    t.say("taken while it has them")
    d = Classic(t, group, "D", [top], instance="i")
    d.join()
    d.sync()
    d.beat()
    b.beat()
    describe(c.conn, group)
    t.say("taken by one that subscribes to something else; it may go on at once")
    other = t.topic("other", 2)
    e = Classic(t, group, "E", [other], instance="i")
    e.join()
    e.sync()
    e.beat()
    describe(c.conn, group)
    t.say("an instance that it does not have, an instance of nobody with an id")
    e.send_join(member=e.id, instance="j").wait()
    e.send_join(member=old).wait()
    e.leave()
    e.send_join().wait()


@script("consumer_mixed.static-both-ways", "mixed")
def static_both_ways(t):
    """An instance changes its protocol: from the new to the classic one and back, active or away, others being there."""
    group, top = t.group("ways"), t.topic("in", 6)
    s, c = Member(t, group, "s", [top], instance="i"), Member(t, group, "c", [top])
    for member in (s, c, s, s, c):
        quietly(member, "join" if not member.epoch else "ack")
    describe(c.conn, group)
    t.say("a classic one takes an active member's place")
    a = Classic(t, group, "A", [top], instance="i")
    a.join()
    a.sync()
    a.beat()
    s.beat()
    s.beat(InstanceId=None)
    s.leave(-2)
    describe(c.conn, group)
    t.say("a member of the new protocol takes an active classic one's place")
    u = Member(t, group, "u", [top], instance="i")
    u.join()
    u.beat()
    a.beat()
    a.send_join().wait()
    describe(c.conn, group)
    t.say("away, and back as a classic one")
    u.leave(-2)
    a = Classic(t, group, "A", [top], instance="i")
    a.again()
    a.beat()
    describe(c.conn, group)
    t.say("not that of an active member of the new protocol")
    d = Member(t, group, "d", [top], instance="i")
    d.join()
    v = Member(t, group, "v", [top], instance="i")
    v.join()


@script("consumer_mixed.turn", "mixed")
def turn(t):
    """Dynamic members change their protocol and keep their id."""
    group, top = t.group("turn"), t.topic("in", 6)
    c = Member(t, group, "c", [top])
    a = mixed_pair(t, group, [top], c)
    t.say("the classic one beats in the new protocol")
    n = Member(t, group, "n", [top])
    n.id = a.id
    n.beat(MemberEpoch=2)
    n.beat(MemberEpoch=4)
    n.epoch, n.held = 3, held([{"TopicId": t.topic_id(top), "Partitions": a.held[top]}])
    n.full()
    describe(c.conn, group)
    a.beat()
    a.sync()
    t.say("and joins in the classic one again")
    a.join()
    a.sync()
    a.beat()
    n.beat()
    describe(c.conn, group)
    t.say("a member of the new protocol joins in the classic one")
    b = Classic(t, group, "B", [top])
    b.id, b.held = "c", {top: [p for _, p in c.held]}
    b.join()
    b.sync()
    b.beat()
    describe(c.conn, group)
    t.describe(c.conn, group)
    t.say("and back, by joining")
    c.join()
    describe(c.conn, group)
    b.beat()


@script("consumer_mixed.leave", "mixed")
def leave(t):
    """LeaveGroup of several members at once, of both protocols."""
    group, top = t.group("leave"), t.topic("in", 60)
    c = Member(t, group, "c", [top], instance="ic")
    x = Member(t, group, "x", [top])
    a = mixed_pair(t, group, [top], c, instance="ia")
    b, d = Classic(t, group, "B", [top]), Classic(t, group, "D", [top], instance="id")
    for member in (b, d):
        quietly(member, "join")
    quietly(x, "join")
    describe(c.conn, group)
    t.leave(a.conn, group, ["nobody", ("", "nobody"), ("wrong", "ia"), (a.id, "id"), ("c", "no"), (b.id, "no")])
    describe(c.conn, group)
    t.leave(a.conn, group, [("", "ia"), ("", "ia"), b.id, b.id, (d.id, "id")])
    describe(c.conn, group)
    t.say("of the new protocol")
    t.leave(a.conn, group, [("wrong", "ic"), ("c", "ic"), "c"])
    describe(x.conn, group)
    t.leave(a.conn, group, "x", version=2)
    describe(x.conn, group)
    t.leave(a.conn, group, "x", version=2)
    t.leave(a.conn, group, ["x"], version=5)


@script("consumer_mixed.offsets", "mixed")
def offsets(t):
    """Commits and fetches of classic members: any version, their generation alone counts."""
    group, top = t.group("offsets"), t.topic("in", 6)
    c = Member(t, group, "c", [top])
    a = mixed_pair(t, group, [top], c, instance="ia")
    for version in range(2, 10):
        t.commit(a.conn, group, [(top, 0, version), (top, 3, version)], a.generation, a.id, version=version)
    for generation, member, instance in ((2, a.id, None), (4, a.id, None), (-1, "", None), (-1, a.id, None), (3, "nobody", None),
                                         (3, a.id, "none"), (3, "nobody", "ia"), (3, "c", None), (2, "c", None)):
        for version in (8, 9):
            t.commit(a.conn, group, [(top, 0, 50)], generation, member, version, instance)
    for member, epoch in ((a.id, 3), (a.id, 2), (a.id, 4), ("c", 3), ("c", 2), ("nobody", 3), (None, -1)):
        t.fetch(a.conn, group, {top: [0]}, member=member, epoch=-1 if member is None else epoch)
    t.say("while it should rejoin")
    d = Member(t, group, "d", [top])
    d.join()
    t.commit(a.conn, group, [(top, 0, 60)], 3, a.id)
    t.fetch(a.conn, group, {top: [0]}, member=a.id, epoch=3)


@script("consumer_mixed.session", "mixed")
def session(t):
    """A classic member's session: kept by heartbeats, syncs and joins, not by commits."""
    group, top = t.group("session"), t.topic("in", 6)
    c = Member(t, group, "c", [top])
    a = mixed_pair(t, group, [top], c, session=3000)
    for _ in range(2):
        t.pause(1.8)
        a.beat()
        t.pause(1.8)
        a.sync()
    t.pause(1.8)
    a.join()
    a.sync()
    t.pause(1.8)
    t.commit(a.conn, group, [(top, 0, 1)], a.generation, a.id)
    t.pause(1.8)
    a.beat()
    describe(c.conn, group)
    c.beat()


@script("consumer_mixed.rejoin-timeout", "mixed")
def rejoin_timeout(t):
    """A classic member is told to rejoin and only goes on beating: its rebalance timeout from the first time on."""
    group, top = t.group("timeout"), t.topic("in", 6)
    c = Member(t, group, "c", [top])
    a = mixed_pair(t, group, [top], c, rebalance=3000)
    d = Member(t, group, "d", [top])
    d.join()
    t.say("it is not told yet")
    t.pause(3.5)
    describe(c.conn, group)
    a.beat()
    for _ in range(3):
        t.pause(0.6)
        quietly(a, "beat", "sync")
    a.beat()
    t.pause(1.8)
    describe(c.conn, group)
    a.beat()
    a.sync()


@script("consumer_mixed.rejoin-timeout-again", "mixed")
def rejoin_timeout_again(t):
    """It rejoins in time, and has to rejoin once more: a new timeout, the one of its last join."""
    group, top = t.group("again"), t.topic("in", 6)
    c = Member(t, group, "c", [top])
    a = mixed_pair(t, group, [top], c, rebalance=2500)
    d = Member(t, group, "d", [top])
    d.join()
    a.beat()
    t.pause(1.5)
    a.rebalance = 5000
    a.join()
    t.pause(1.5)
    a.sync()
    a.beat()
    t.pause(3)
    a.beat()
    t.pause(3)
    describe(c.conn, group)
    a.beat()


@script("consumer_mixed.sync-timeout", "mixed")
def sync_timeout(t):
    """A classic member that joins and never syncs, although it beats."""
    group, top = t.group("never"), t.topic("in", 6)
    c = Member(t, group, "c", [top])
    c.join()
    a = Classic(t, group, "A", [top], rebalance=2500)
    a.join()
    for _ in range(3):
        t.pause(0.5)
        a.beat()
    t.pause(2)
    a.beat()
    a.sync()
    describe(c.conn, group)
    t.say("a sync that is refused does not count")
    a = Classic(t, group, "B", [top], rebalance=3500)
    a.join()
    t.pause(1.5)
    d = Member(t, group, "d", [top])
    d.join()
    a.sync()
    t.pause(1.2)
    a.beat()
    t.pause(1.6)
    a.beat()
    describe(c.conn, group)
    t.say("no time at all")
    for rebalance in (0, -1):
        a = Classic(t, group, "A", [top], rebalance=rebalance)
        a.join()
        t.pause(0.4)
        a.sync()
    describe(c.conn, group)


@script("consumer_mixed.topics", "mixed")
def topics(t):
    """A topic grows while a classic member is there."""
    group, top = t.group("topics"), t.topic("in", 2)
    c = Member(t, group, "c", [top])
    a = mixed_pair(t, group, [top], c)
    a.beat()
    t.quiet().ask("CreatePartitions", 1, Topics=[{"Name": top, "Count": 6, "Assignments": None}], TimeoutMs=10000)
    t.wait_topic(top, 6)
    c.beat()
    a.beat()
    a.again()
    a.beat()
    describe(c.conn, group)


@script("consumer_mixed.topic-gone", "mixed")
def topic_gone(t):
    """A topic is deleted: a classic member is not told about it any more."""
    group, top, gone = t.group("gone"), t.topic("in", 2), t.topic("gone", 2)
    c = Member(t, group, "c", [top, gone], ServerAssignor="range")
    a = mixed_pair(t, group, [top, gone], c)
    a.sync()
    t.quiet().ask("DeleteTopics", 5, TopicNames=[gone], TimeoutMs=10000)
    t.pause(2.5)
    c.beat()
    a.beat()
    a.again()
    a.beat()
    a.again()
    a.beat()
    c.ack()
    c.beat()
    describe(c.conn, group)


@script("consumer_mixed.regex", "mixed")
def regex(t):
    """The member of the new protocol subscribes by a regular expression, the classic one by name."""
    group, top = t.group("regex"), t.topic("in", 6)
    c = Member(t, group, "c", regex=t.prefix + "i.")
    quietly(c, "join")
    t.pause(1)
    quietly(c, "beat", "beat")
    a = Classic(t, group, "A", [top])
    a.again()
    quietly(c, "beat", "ack", "beat")
    a.beat()
    a.again()
    a.beat()
    describe(c.conn, group)


@script("consumer_mixed.from-empty", "mixed")
def from_empty(t):
    """Empty consumer groups make way for classic ones, with their offsets."""
    group, top = t.group("empty"), t.topic("in", 6)
    c = Member(t, group, "c", [top])
    quietly(c, "join")
    t.commit(c.conn, group, [(top, 0, 3)], c.epoch, "c")
    quietly(c, "leave")
    a = Classic(t, group, "A", [top])
    t.say("what needs a member does not")
    a.send_join(member="nobody").wait()
    a.send_join(member="nobody", instance="i").wait()
    a.beat(generation=1, member="nobody")
    a.send_sync(generation=1, member="nobody").wait()
    t.leave(a.conn, group, ["nobody"])
    t.list_groups(5)
    t.say("a join that is refused does")
    a.send_join(kind="").wait()
    t.list_groups(5)
    describe(a.conn, group)
    a.join()
    a.sync([(a.id, assignment({top: [0]}))])
    t.describe(a.conn, group)
    t.fetch(a.conn, group, {top: [0]})
    for name, fields in (("v3", {"version": 3}), ("static", {"instance": "i"}), ("connect", {"version": 3, "kind": "connect"}),
                         ("bytes", {"version": 3, "protocols": [("x", b"broken")]})):
        group = t.group(name)
        c = Member(t, group, "c", [top])
        quietly(c, "join", "leave")
        a = Classic(t, group, "A", [top])
        a.join(**fields)
        t.describe(a.conn, group)
