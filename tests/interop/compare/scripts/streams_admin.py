"""Streams groups: describe, list, delete, committed offsets, and groups that turn from one type into another."""
from lib.registry import script
from lib.streams import Member, describe, subtopology, topology
from scripts.streams_join import group_config, settle, simple


def joined(t, group, top, name="a", **more):
    """A member that is the group's only one and has everything."""
    member = Member(t, group, name, top, **more)
    member.join()
    return member


def partition_of(member, topic, mine=True, subtopology_id="0", tasks=6):
    """A partition of the topic that the member has, or one that it does not have, under that name."""
    held = {p for s, p in member.held["ActiveTasks"] if s == subtopology_id}
    chosen = max(p for p in range(tasks) if (p in held) == mine)
    member.t.canon.name_partition(topic, chosen, f"{'of' if mine else 'not of'} {member.id.upper()}")
    return chosen


@script("streams.describe", "streams")
def describe_groups(t):
    """StreamsGroupDescribe in both versions: unknown, empty, not ready, of another type; operations; the topology's words."""
    group, top = t.group("full"), simple(t)
    a = joined(t, group, top, UserEndpoint={"Host": "h", "Port": 7}, ClientTags=[{"Key": "b", "Value": "1"}, {"Key": "a", "Value": "2"}],
               RackId="r")
    s = Member(t, group, "s", top, instance="i")
    s.join()
    for version in (0, 1):
        describe(a.conn, group, version)
        describe(a.conn, group, version, IncludeAuthorizedOperations=True)
    t.say("with the words of the topology")
    describe(a.conn, group, 1, IncludeTopologyDescription=True)
    t.say("the same twice, none, the empty id")
    describe(a.conn, [group, group])
    describe(a.conn, [])
    a.conn.ask("StreamsGroupDescribe", 1, GroupIds=[""])
    a.leave()
    s.leave()
    describe(a.conn, group)
    t.say("unknown, and a classic group")
    none, classic = t.group("none"), t.group("classic")
    n, c = t.conn("N", none), t.conn("C", classic)
    for version in (0, 1):
        describe(n, none, version)
    t.stable_one(c, classic, 3)
    describe(c, classic)
    t.say("a streams group for DescribeGroups")
    for version in range(0, 7):
        t.describe(a.conn, group, version)
    t.say("the update of a topology's words")
    b = joined(t, group, top, "b")
    words = {"Subtopologies": [], "GlobalStores": []}
    for fields in ({}, {"MemberId": "x"}, {"TopologyEpoch": 5}):
        b.conn.ask("StreamsGroupTopologyDescriptionUpdate", 0, **{
            "GroupId": group, "MemberId": "b", "TopologyEpoch": 0, "TopologyDescription": words, **fields})


@script("streams.list", "streams")
def list_groups(t):
    """ListGroups: states and types of streams groups, filters in several spellings."""
    top = simple(t)
    names = {n: t.group(n) for n in ("stable", "empty", "assigning", "reconciling", "not-ready")}
    joined(t, names["stable"], top)
    joined(t, names["empty"], top).leave()
    group_config(t, names["assigning"], **{"initial.rebalance.delay.ms": "60000"})
    joined(t, names["assigning"], top)
    joined(t, names["reconciling"], top)
    joined(t, names["reconciling"], top, "b")
    joined(t, names["not-ready"], topology(subtopology("0", [t.name("nothing")])))
    for version in range(0, 6):
        t.list_groups(version)
    for states in (["Stable"], ["STABLE"], ["Empty", "assigning"], ["Reconciling"], ["NotReady"], ["notready"], ["not_ready"],
                   ["NOT_READY"], ["Dead"], ["Initializing"]):
        t.list_groups(5, StatesFilter=states, TypesFilter=[])
    for types in (["streams"], ["Streams"], ["STREAMS", "classic"], ["classic"], ["consumer"]):
        t.list_groups(5, StatesFilter=[], TypesFilter=types)


@script("streams.delete", "streams")
def delete(t):
    """DeleteGroups: refused with members in any state; an empty one goes, and starts anew with any topology."""
    top = simple(t)
    group, waiting = t.group("delete"), t.group("not-ready")
    w = joined(t, waiting, topology(subtopology("0", [t.name("nothing")])))
    w.conn.ask("DeleteGroups", 3, GroupsNames=[waiting])
    a = joined(t, group, top)
    topic = top["Subtopologies"][0]["SourceTopics"][0]
    t.commit(a.conn, group, [(topic, 0, 7)], 2, "a")
    for version in range(0, 4):
        a.conn.ask("DeleteGroups", version, GroupsNames=[group])
    a.leave()
    a.conn.ask("DeleteGroups", 3, GroupsNames=[group])
    describe(a.conn, group)
    t.fetch(a.conn, group, {topic: [0]})
    a.conn.ask("DeleteGroups", 3, GroupsNames=[group])
    a.topology = topology(subtopology("7", [topic]), epoch=2)
    a.join()
    describe(a.conn, group)
    a.leave()


@script("streams.commit", "streams")
def commit(t):
    """OffsetCommit by members: epochs, tasks that are theirs and not, topics of any kind; OffsetFetch with an epoch."""
    group, source, second, other = t.group("commit"), t.topic("in", 6), t.topic("second", 2), t.topic("other", 1)
    top = topology(subtopology("0", [source, second], [t.name("log")]))
    a = joined(t, group, top)
    t.say("not ready yet")
    t.commit(a.conn, group, [(source, 0, 1)], 2, "a")
    t.wait_topic(t.name("log"), 6)
    a.beat()
    t.say("everything at the present epoch")
    t.commit(a.conn, group, [(source, 0, 10), (source, 1, 11), (second, 1, 5), (other, 0, 3), (t.name("log"), 0, 1)], 3, "a")
    t.commit(a.conn, group, [(t.name("none"), 0, 1), (source, 99, 1), (second, 0, 2)], 3, "a")
    for epoch in (2, 4, -1, 0):
        t.commit(a.conn, group, [(source, 0, 12)], epoch, "a")
    for epoch, member in ((3, "x"), (-1, ""), (3, "")):
        t.commit(a.conn, group, [(source, 0, 12)], epoch, member)
    for version in (2, 5, 8):
        t.commit(a.conn, group, [(source, 0, 12)], 3, "a", version)
    t.commit(a.conn, group, [(source, 0, 12)], -1, "", 8)
    t.commit(a.conn, group, [(source, 0, 13)], 3, "a", instance="i")
    for member, epoch in (("a", 3), ("a", 2), ("a", 4), ("a", -1), ("x", 3), ("", -1), (None, -1)):
        t.fetch(a.conn, group, {source: [0, 3]}, member=member, epoch=epoch)
    t.fetch(a.conn, group, None, member="a", epoch=3)
    t.say("B comes; A has half since epoch 3, B the other half since 4; both are at 6 in the end")
    b, c = Member(t, group, "b", top), Member(t, group, "c", top)
    b.join()
    a.beat()
    mine, lost = partition_of(a, source), partition_of(a, source, False)
    t.say("A is told to give up, but did not confirm: what it gives up is still its own")
    t.commit(a.conn, group, [(source, lost, 1)], 3, "a")
    a.ack()
    t.commit(a.conn, group, [(source, lost, 1)], 3, "a")
    t.commit(a.conn, group, [(source, lost, 1)], 4, "a")
    b.beat()
    c.join()
    c.leave()
    settle(a, b)
    for epoch in (2, 3, 5, 6, 7):
        t.say(f"A's own at epoch {epoch}")
        t.commit(a.conn, group, [(source, mine, 1)], epoch, "a")
    t.say("another's, both, a topic of no task, an unknown one beside its own")
    t.commit(a.conn, group, [(source, lost, 1)], 3, "a")
    t.commit(a.conn, group, [(source, mine, 1), (source, lost, 1)], 3, "a")
    t.commit(a.conn, group, [(other, 0, 1)], 3, "a")
    t.commit(a.conn, group, [(source, mine, 1), (t.name("none"), 0, 1)], 3, "a")
    for epoch in (3, 4):
        t.say(f"B's own at epoch {epoch}")
        t.commit(b.conn, group, [(source, lost, 1)], epoch, "b")
    t.say("OffsetDelete of every kind of topic")
    odel(a.conn, group, source, other, t.name("log"), t.name("none"))
    t.say("the group is empty")
    a.leave()
    b.leave()
    t.commit(a.conn, group, [(source, 0, 77)], -1, "")
    t.commit(a.conn, group, [(source, 0, 78)], 6, "a")
    t.fetch(a.conn, group, {source: [0]}, member="a", epoch=6)
    odel(a.conn, group, source, other)
    t.fetch(a.conn, group, None)
    t.say("the group is gone")
    a.conn.ask("DeleteGroups", 3, GroupsNames=[group])
    for version, epoch, member in ((9, 3, "a"), (8, 3, "a")):
        t.commit(a.conn, group, [(source, 0, 1)], epoch, member, version)


def odel(conn, group, *topics):
    conn.ask("OffsetDelete", 0, GroupId=group, Topics=[{"Name": n, "Partitions": [{"PartitionIndex": 0}]} for n in topics])


@script("streams.commit-static", "streams")
def commit_static(t):
    """Commits by a static member that is away, and after it came back."""
    group, top = t.group("commit-static"), simple(t)
    source = top["Subtopologies"][0]["SourceTopics"][0]
    s = joined(t, group, top, "s", instance="i")
    s.leave(-2)
    for epoch in (2, -2, -1, 0):
        t.commit(s.conn, group, [(source, 0, 1)], epoch, "s")
    for epoch in (2, -2):
        t.fetch(s.conn, group, {source: [0]}, member="s", epoch=epoch)
    s.join()
    for epoch in (-1, 0, 1, 2, 3):
        t.commit(s.conn, group, [(source, 0, 1)], epoch, "s")


@script("streams.repartition-offsets", "streams")
def repartition_offsets(t):
    """Offsets of repartition topics: owned like those of sources."""
    group, source = t.group("rep"), t.topic("in", 6)
    top = topology(subtopology("0", [source], sinks=[t.name("r")]), subtopology("1", [], repartitions=[t.name("r")]))
    a = joined(t, group, top)
    t.wait_topic(t.name("r"), 6)
    a.beat()
    b = Member(t, group, "b", top)
    b.join()
    settle(a, b)
    mine, other = (partition_of(a, t.name("r"), own, "1") for own in (True, False))
    for partition in (mine, other):
        for epoch in (2, 3, 4):
            t.commit(a.conn, group, [(t.name("r"), partition, 1)], epoch, "a")
    odel(a.conn, group, t.name("r"))


@script("streams.other-requests", "streams")
def other_requests(t):
    """Requests of classic members to a streams group with members, and to an empty one."""
    group, top = t.group("other"), simple(t)
    a = joined(t, group, top)

    def classic():
        t.sync(a.conn, group, 2, "a")
        t.beat(a.conn, group, 2, "a")
        t.leave(a.conn, group, ["a"])
        t.leave(a.conn, group, "a", 2)
        t.leave(a.conn, group, [("", "i")])

    for version in (0, 3, 9):
        t.join(a.conn, group, version)
    t.join(a.conn, group, 9, member="a")
    t.join(a.conn, group, 9, instance="i")
    classic()
    a.leave()
    t.say("empty")
    classic()
    t.join(a.conn, group, 9, member="a")
    describe(a.conn, group)


@script("streams.from-classic", "streams")
def from_classic(t):
    """A classic group becomes a streams group once it is empty; its offsets stay."""
    top = simple(t)
    source = top["Subtopologies"][0]["SourceTopics"][0]
    group = t.group("from")
    c = t.conn("C", group)
    member, generation = t.stable_one(c, group, 3)
    t.commit(c, group, [(source, 0, 42)], generation, member)
    a = Member(t, group, "a", top)
    a.join()
    a.beat(MemberEpoch=2)
    a.beat(MemberEpoch=-1)
    describe(c, group)
    t.leave(c, group, [member])
    t.say("empty: only a join turns it, and only one that is granted")
    for fields in ({"MemberEpoch": 2}, {"MemberEpoch": -1}, {"MemberEpoch": -2, "InstanceId": "i"}):
        a.beat(**fields)
    Member(t, group, "b", topology(subtopology("0"))).join()
    t.describe(c, group)
    a.join()
    describe(c, group)
    t.describe(c, group)
    t.fetch(c, group, {source: [0]})
    t.beat(c, group, generation, member)
    for name, kind in (("simple", None), ("connect", "connect"), ("ids", "id")):
        t.say(f"a group of kind {name}")
        group = t.group(name)
        c = t.conn("C", group)
        given = None
        if kind == "connect":
            answer = t.join(c, group, 3, kind="connect")
            t.leave(c, group, [answer["MemberId"]])
        elif kind == "id":
            given = t.join(c, group, 9)["MemberId"]
        else:
            t.commit(c, group, [(source, 1, 7)])
        a = joined(t, group, top)
        t.fetch(c, group, {source: [1]})
        if given:
            t.join(c, group, 9, member=given)
        describe(c, group)


@script("streams.to-classic", "streams")
def to_classic(t):
    """An empty streams group becomes a classic group with the first JoinGroup without a member id; offsets stay, the topology goes."""
    top = simple(t)
    source = top["Subtopologies"][0]["SourceTopics"][0]
    group = t.group("to")
    a = joined(t, group, top)
    t.commit(a.conn, group, [(source, 2, 9)], 2, "a")
    a.leave()
    given = t.join(a.conn, group, 9)["MemberId"]
    t.describe(a.conn, group)
    describe(a.conn, group)
    answer = t.join(a.conn, group, 9, member=given)
    t.sync(a.conn, group, answer["GenerationId"], given, [(given, b"all")])
    t.describe(a.conn, group)
    t.fetch(a.conn, group, {source: [2]})
    t.say("a streams join in vain")
    a.join()
    t.leave(a.conn, group, [given])
    t.say("back again, with another topology")
    a.topology = topology(subtopology("7", [source]))
    a.join()
    describe(a.conn, group)
    t.fetch(a.conn, group, {source: [2]})
    a.leave()
    t.say("version 3 joins at once")
    t.join(a.conn, group, 3)
    t.describe(a.conn, group)
    for name, fields in (("kind", {"kind": ""}), ("protocols", {"protocols": []})):
        t.say(f"a JoinGroup that is refused for its {name}")
        group = t.group(name)
        b = joined(t, group, top, "b")
        b.leave()
        t.join(b.conn, group, 9, **fields)
        t.describe(b.conn, group)
        describe(b.conn, group)
