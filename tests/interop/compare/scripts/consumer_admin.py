"""Consumer groups: describing, listing, deleting, offsets, configs, and groups of other types."""
from lib.consumer import Member, describe
from lib.members import quietly, settle
from lib.registry import script
from lib.streams import Member as StreamsMember, subtopology, topology
from scripts.consumer_join import group_config, trio
from scripts.offsets import subscription


@script("consumer.describe", "consumer")
def describe_groups(t):
    """All fields in all states; groups that are not there or of another type; several at once."""
    group, topics = t.group("describe"), [t.topic("in", 6)]
    group_config(t, group, **{"assignment.interval.ms": "2000"})
    a = Member(t, group, "a", topics, RackId="r1", instance="i1")
    b = Member(t, group, "b", topics + [t.name("none")], ServerAssignor="range")
    a.join()
    describe(a.conn, group)
    b.join()
    describe(a.conn, group)
    t.list_groups(5)
    t.pause(2.2)
    b.beat()
    describe(a.conn, group, 0)
    describe(a.conn, group, IncludeAuthorizedOperations=True)
    a.leave(-2)
    describe(a.conn, group)
    b.leave()
    a.leave()
    describe(a.conn, group, 0)
    describe(a.conn, group)
    t.say("not there")
    classic, streams = t.group("classic"), t.group("streams")
    k = t.conn("K", classic)
    t.stable_one(k, classic, 3)
    s = StreamsMember(t, streams, "s", topology(subtopology("0", topics)))
    s.join()
    for version in (0, 1):
        for name in (t.group("none"), " ", classic, streams):
            describe(t.conn("D", name), name, version)
        describe(a.conn, "", version)
    describe(a.conn, [group, group])
    describe(a.conn, [])


@script("consumer.list", "consumer")
def list_groups(t):
    """ListGroups by state and type, in any case of letters."""
    topics = [t.topic("in", 6)]
    a, b = Member(t, t.group("stable"), "a", topics), Member(t, t.group("empty"), "b", topics)
    c, d = trio(t, t.group("reconciling"), topics, "cd")
    e, f = trio(t, t.group("assigning"), topics, "ef")
    for m in (a, b, c, d, e, f):
        m.join()
    b.leave()
    f.leave()
    for version in (3, 4, 5):
        t.list_groups(version)
    for fields in ({"StatesFilter": ["Stable"]}, {"StatesFilter": ["stable", "EMPTY"]}, {"StatesFilter": ["Assigning"]},
                   {"StatesFilter": ["Reconciling"]}, {"TypesFilter": ["consumer"]}, {"TypesFilter": ["Consumer", "classic"]},
                   {"TypesFilter": ["classic"]}, {"TypesFilter": ["consumer"], "StatesFilter": ["Empty"]}):
        t.list_groups(5, **fields)


@script("consumer.delete", "consumer")
def delete(t):
    """DeleteGroups and OffsetDelete with members and without; the id afterwards."""
    group, one, two = t.group("delete"), t.topic("one", 2), t.topic("two", 2)
    a = Member(t, group, "a", [one])
    a.join()
    t.commit(a.conn, group, [(one, 0, 7), (two, 0, 8)], a.epoch, "a")

    def offset_delete(*rows):
        a.conn.ask("OffsetDelete", 0, GroupId=group, Topics=[
            {"Name": n, "Partitions": [{"PartitionIndex": p}]} for n, p in rows])

    offset_delete((one, 0))
    offset_delete((one, 1))
    offset_delete((two, 0))
    offset_delete((t.name("none"), 0))
    offset_delete((one, 99))
    for version in (1, 2, 3):
        a.conn.ask("DeleteGroups", version, GroupsNames=[group])
    a.leave()
    t.say("an empty group")
    a.beat(MemberEpoch=2)
    a.beat(MemberEpoch=-1)
    offset_delete((one, 1))
    t.fetch(a.conn, group, {one: [0], two: [0]})
    a.conn.ask("DeleteGroups", 3, GroupsNames=[group])
    describe(a.conn, group)
    t.fetch(a.conn, group, {one: [0]})
    a.beat(MemberEpoch=2)
    a.beat(MemberEpoch=-1)
    a.conn.ask("DeleteGroups", 3, GroupsNames=[group])
    offset_delete((one, 0))
    t.say("made again")
    a.join()
    describe(a.conn, group)
    t.say("a topic that is subscribed to by expression")
    b = Member(t, group, "b", regex=t.prefix + "tw.")
    b.join()
    t.pause(1.0)
    quietly(b, "beat")
    offset_delete((two, 0))


@script("consumer.commit", "consumer")
def commit(t):
    """OffsetCommit: versions, epochs of the member and of each partition, who may commit, topics that are not there."""
    group, one, two = t.group("commit"), t.topic("one", 6), t.topic("two", 1)
    known = t.topic_id(one)
    a, b = trio(t, group, [one], "ab")
    a.join()
    for version in (2, 5, 7, 8, 9):
        t.commit(a.conn, group, [(one, 0, 1)], 2, "a", version=version)
    t.commit(a.conn, group, [(known, 0, 2)], 2, "a", version=10)
    t.commit(a.conn, group, [("ab" * 16, 0, 2)], 2, "a", version=10)
    t.say("epochs")
    for epoch in (1, 3, 0, -1, -2):
        t.commit(a.conn, group, [(one, 0, 1)], epoch, "a")
    t.say("members")
    for version in (8, 9):
        for epoch, member in ((-1, ""), (2, ""), (2, "zz"), (-1, "zz"), (-1, "a")):
            t.commit(a.conn, group, [(one, 0, 1)], epoch, member, version=version)
    t.commit(a.conn, group, [(one, 0, 1)], 2, "a", instance="zz")
    t.say("topics")
    t.commit(a.conn, group, [(one, 99, 1), (one, 0, 1)], 2, "a")
    t.commit(a.conn, group, [(two, 0, 1)], 2, "a")
    t.commit(a.conn, group, [(t.name("none"), 0, 1)], 2, "a")
    t.commit(a.conn, group, [], 2, "a")
    t.say("a partition that a member keeps may be committed with each epoch since it came")
    b.join()
    a.beat()
    kept = sorted(p for _, p in a.held)
    gone = sorted(set(range(6)) - set(kept))
    for number, role in ((kept[0], "kept 0"), (kept[1], "kept 1"), (gone[0], "given up 0"), (gone[1], "given up 1")):
        t.canon.name_partition(one, number, role)
    t.commit(a.conn, group, [(one, gone[0], 1)], 2, "a")
    t.commit(a.conn, group, [(one, gone[0], 1)], 1, "a")
    a.ack()
    b.beat()
    for epoch, numbers in ((2, kept[:1]), (2, kept[:2]), (2, [kept[0], gone[0]]), (2, gone[:1]), (3, gone[:1]), (1, kept[:1]),
                           (4, kept[:1])):
        t.commit(a.conn, group, [(one, n, 1) for n in numbers], epoch, "a")
    t.commit(a.conn, group, [(two, 0, 1)], 2, "a")
    t.commit(a.conn, group, [(one, 99, 1), (one, kept[0], 1)], 2, "a")
    t.commit(b.conn, group, [(one, gone[0], 1)], 2, "b")
    t.commit(b.conn, group, [(one, gone[0], 1)], 3, "b")


@script("consumer.commit-static", "consumer")
def commit_static(t):
    """Commits and fetches of a static member that is away and comes back."""
    group, one = t.group("commit-static"), t.topic("one", 2)
    a = Member(t, group, "a", [one], instance="i")
    a.join()
    a.leave(-2)
    for epoch in (2, -2, 1):
        t.commit(a.conn, group, [(one, 0, 1)], epoch, "a")
        t.fetch(a.conn, group, {one: [0]}, member="a", epoch=epoch)
    t.commit(a.conn, group, [(one, 0, 1)])
    again = Member(t, group, "again", [one], instance="i")
    again.join()
    for epoch in (2, 1, 0):
        t.commit(again.conn, group, [(one, 0, 1)], epoch, "again", instance="i")
    t.commit(a.conn, group, [(one, 0, 1)], 2, "a", instance="i")
    t.fetch(a.conn, group, {one: [0]}, member="a", epoch=2)


@script("consumer.fetch", "consumer")
def fetch(t):
    """OffsetFetch of members: the exact epoch; without a member; of groups that are empty or not there."""
    group, one = t.group("fetch"), t.topic("one", 2)
    known = t.topic_id(one)
    a = Member(t, group, "a", [one])
    a.join()
    t.commit(a.conn, group, [(one, 0, 5, "m")], 2, "a")
    for member, epoch in (("a", 2), ("a", 1), ("a", 3), ("a", 0), ("a", -1), ("a", -2), ("zz", 2), ("zz", -1), ("", -1), ("", 2)):
        t.fetch(a.conn, group, {one: [0, 1]}, member=member, epoch=epoch)
    t.fetch(a.conn, group, {known: [0, 1]}, version=10, member="a", epoch=2)
    t.fetch(a.conn, group, {one: [0]}, version=8)
    t.fetch(a.conn, group, {one: [0]}, version=6)
    t.fetch(a.conn, group, None)
    a.leave()
    t.say("an empty group")
    for member, epoch in (("a", 2), ("a", -1), ("", -1), (None, None)):
        t.fetch(a.conn, group, {one: [0]}, member=member, epoch=epoch)
    for version in (8, 9):
        for epoch, member in ((2, "a"), (-1, ""), (0, ""), (-1, "a")):
            t.commit(a.conn, group, [(one, 0, 1)], epoch, member, version=version)
    t.say("no group")
    none = t.group("none")
    n = t.conn("N", none)
    t.fetch(n, none, {one: [0]}, member="zz", epoch=2)
    t.commit(n, none, [(one, 0, 1)], 2, "zz", version=9)
    t.commit(n, none, [(one, 0, 1)], 2, "zz", version=8)
    t.commit(n, none, [(one, 0, 1)], -1, "zz", version=9)
    describe(n, none)


@script("consumer.fetch-odd", "consumer")
def fetch_odd(t):
    """An epoch without a member."""
    group, one = t.group("fetch-odd"), t.topic("one", 2)
    a = Member(t, group, "a", [one])
    a.join()
    a.conn.ask("OffsetFetch", 9, RequireStable=False, Groups=[
        {"GroupId": group, "MemberId": None, "MemberEpoch": 2, "Topics": [{"Name": one, "PartitionIndexes": [0]}]}])


@script("consumer.configs", "consumer")
def configs(t):
    """consumer.* configs of a group: bounds and texts; the heartbeat interval in the next answer."""
    group, topics = t.group("configs"), [t.topic("in", 2)]
    a = Member(t, group, "a", topics)
    a.join()

    def alter(name, value):
        a.conn.ask("IncrementalAlterConfigs", 1, ValidateOnly=False, Resources=[
            {"ResourceType": 32, "ResourceName": group, "Configs": [
                {"Name": f"consumer.{name}", "ConfigOperation": 1 if value is None else 0, "Value": value}]}])

    for name, value in (("heartbeat.interval.ms", "7000"), ("heartbeat.interval.ms", "4999"), ("heartbeat.interval.ms", "15001"),
                        ("session.timeout.ms", "50000"), ("session.timeout.ms", "44999"), ("session.timeout.ms", "60001"),
                        ("session.timeout.ms", "x"), ("assignment.interval.ms", "15001"), ("assignment.interval.ms", "-1"),
                        ("assignment.interval.ms", "0"), ("nope", "1"), ("heartbeat.interval.ms", "")):
        alter(name, value)
    t.pause(0.6)
    a.beat()
    a.full()
    a.conn.ask("DescribeConfigs", 4, Resources=[{"ResourceType": 32, "ResourceName": group, "ConfigurationKeys": [
        "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms", "consumer.assignment.interval.ms"]}])
    alter("heartbeat.interval.ms", None)
    t.pause(0.6)
    a.beat()


@script("consumer.classic-requests", "consumer")
def classic_requests(t):
    """The classic protocol's requests to a group with members of the new one, and to an empty one."""
    group, topics = t.group("other"), [t.topic("in", 2)]
    a = Member(t, group, "a", topics, instance="i")
    a.join()
    k = t.conn("K", group)
    for version in (0, 5, 6):
        t.describe(k, group, version)
    good = [("range", subscription(topics))]
    t.say("joins that are refused")
    for kind, protocols, options in (("connect", good, {}), ("", good, {}), ("consumer", [], {}), ("consumer", None, {"version": 3}),
                                     ("consumer", None, {"member": "zz"}), ("consumer", good, {"member": "zz"}),
                                     ("consumer", None, {"member": "a"}), ("consumer", good, {"session": 1}),
                                     ("connect", good, {"member": "a"})):
        t.join(k, group, kind=kind, protocols=protocols, **options)
    t.say("an id")
    t.join(k, group, protocols=good)
    t.say("the others")
    for member, epoch in (("a", 2), ("a", 5), ("zz", 2), ("", 2)):
        t.sync(k, group, epoch, member)
        t.beat(k, group, epoch, member)
    t.beat(k, group, 2, "a", instance="i")
    t.beat(k, group, 2, "a", instance="zz")
    t.beat(k, group, 2, "b", instance="i")
    t.sync(k, group, 2, "b", instance="i")
    describe(a.conn, group)
    a.leave()
    t.say("an empty group")
    for version in (5, 6):
        t.describe(k, group, version)
    t.sync(k, group, 2, "zz")
    t.beat(k, group, 2, "zz")
    t.leave(k, group, ["zz"])
    describe(a.conn, group)


@script("consumer.to-classic", "consumer")
def to_classic(t):
    """An empty consumer group becomes a classic one with the first JoinGroup; its offsets stay."""
    topics = [t.topic("in", 2)]
    for name, kind, version in (("v9", "consumer", 9), ("v3", "consumer", 3), ("connect", "connect", 3)):
        group = t.group(name)
        a = Member(t, group, "a", topics)
        a.join()
        t.commit(a.conn, group, [(topics[0], 0, 5)], 2, "a")
        a.leave()
        k = t.conn("K", group)
        t.join(k, group, version, kind=kind)
        describe(k, group)
        t.describe(k, group)
        t.fetch(k, group, None)
        t.list_groups(5)
        a.beat(MemberEpoch=2)


@script("consumer.from-others", "consumer")
def from_others(t):
    """A simple group and empty classic groups of any type become consumer groups with the first join; streams groups do not."""
    topics = [t.topic("in", 2)]
    simple = t.group("simple")
    a = Member(t, simple, "a", topics)
    t.commit(a.conn, simple, [(topics[0], 0, 42)])
    a.beat(MemberEpoch=3)
    a.beat(MemberEpoch=-1)
    describe(a.conn, simple)
    a.join()
    describe(a.conn, simple)
    t.fetch(a.conn, simple, None)
    for kind in ("consumer", "connect"):
        group = t.group("was-" + kind)
        k = t.conn("K", group)
        one = t.join(k, group, 3, kind=kind)
        t.sync(k, group, one["GenerationId"], one["MemberId"], [(one["MemberId"], b"all")], kind=kind)
        t.commit(k, group, [(topics[0], 0, 7)], one["GenerationId"], one["MemberId"])
        m = Member(t, group, "m", topics)
        if kind == "connect":
            m.join()
        m.beat(MemberEpoch=3)
        t.leave(k, group, [one["MemberId"]])
        m.beat(MemberEpoch=3)
        m.beat(MemberEpoch=-1)
        m.join()
        describe(m.conn, group)
        t.fetch(k, group, None)
        t.list_groups(5)
    t.say("a streams group, with a member and empty")
    streams = t.group("streams")
    s = StreamsMember(t, streams, "s", topology(subtopology("0", topics)))
    s.join()
    x = Member(t, streams, "x", topics)
    for _ in range(2):
        x.join()
        x.beat(MemberEpoch=3)
        x.beat(MemberEpoch=-1)
        describe(x.conn, streams)
        if s.epoch > 0:
            s.leave()
    t.say("streams requests to a consumer group, with a member and empty")
    r = StreamsMember(t, simple, "r", topology(subtopology("0", topics)))
    for _ in range(2):
        r.join()
        r.beat(MemberEpoch=3)
        r.conn.ask("StreamsGroupDescribe", 1, GroupIds=[simple])
        if a.epoch > 0:
            a.leave()


@script("consumer.made-again", "consumer")
def made_again(t):
    """B36: one id, again and again as a group of another type."""
    group, topics = t.group("again"), [t.topic("in", 2)]
    for turn in range(3):
        a = Member(t, group, "a", topics)
        a.join()
        t.commit(a.conn, group, [(topics[0], 0, turn)], a.epoch, "a")
        a.leave()
        a.conn.ask("DeleteGroups", 3, GroupsNames=[group])
        describe(a.conn, group)
        if turn == 0:
            k = t.conn("K", group)
            one = t.join(k, group, 3)
            t.leave(k, group, [one["MemberId"]])
            k.ask("DeleteGroups", 3, GroupsNames=[group])
        if turn == 1:
            s = StreamsMember(t, group, "s", topology(subtopology("0", topics)))
            s.join()
            s.leave()
            s.conn.ask("DeleteGroups", 3, GroupsNames=[group])
        t.fetch(a.conn, group, None)
    b = Member(t, group, "b", topics)
    b.join()
    settle(b)
    describe(b.conn, group)
