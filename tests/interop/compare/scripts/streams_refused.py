"""Streams groups: heartbeats and topologies that are refused, with which words, and which of several faults is told."""
from lib.registry import script
from lib.streams import Member, describe, internal, subtopology, tasks_of, topology
from scripts.streams_join import simple


@script("streams.refused", "streams")
def refused(t):
    """Fields that may not be, one fault at a time."""
    group, top = t.group("refused"), simple(t)
    a = Member(t, group, "a", top)
    for version in (0, 1):
        a.version = version
        for fields in ({"GroupId": ""}, {"GroupId": " "}, {"MemberId": ""}, {"InstanceId": ""}, {"RackId": ""},
                       {"Topology": None}, {"RebalanceTimeoutMs": -1}, {"MemberEpoch": -3}, {"MemberEpoch": -2}):
            a.join(**fields)
    for name in ("ActiveTasks", "StandbyTasks", "WarmupTasks"):
        a.join(**{name: None})
        a.join(**{name: tasks_of(_0=[0])})
    t.say("the group does not exist")
    for fields in ({"MemberEpoch": 5}, {"MemberEpoch": -1}, {"MemberEpoch": -2, "InstanceId": "i"},
                   {"MemberEpoch": 5, "InstanceId": "i"}):
        a.beat(**fields)
    describe(a.conn, group)
    a.join()
    x = Member(t, group, "x", top)
    t.say("a stranger")
    for fields in ({"MemberEpoch": 5}, {"MemberEpoch": -1}, {"MemberEpoch": 5, "InstanceId": "i"},
                   {"MemberEpoch": -1, "InstanceId": "i"}, {"MemberEpoch": -2, "InstanceId": "i"}):
        x.beat(**fields)
    t.say("a member")
    for fields in ({"Topology": top}, {"ActiveTasks": []}, {"ActiveTasks": [], "StandbyTasks": []}, {"StandbyTasks": []},
                   {"ActiveTasks": tasks_of(_9=[0]), "StandbyTasks": [], "WarmupTasks": []},
                   {"ActiveTasks": [], "StandbyTasks": tasks_of(_9=[0]), "WarmupTasks": []},
                   {"ActiveTasks": tasks_of(_0=[77]), "StandbyTasks": [], "WarmupTasks": []},
                   {"ActiveTasks": tasks_of(_0=[-1]), "StandbyTasks": [], "WarmupTasks": []},
                   {"ActiveTasks": tasks_of(_0=[0]) + tasks_of(_0=[1]), "StandbyTasks": [], "WarmupTasks": []},
                   {"MemberEpoch": 9}, {"MemberEpoch": 1}, {"MemberEpoch": -2}, {"InstanceId": "i"},
                   {"ClientTags": [{"Key": "k", "Value": "1"}, {"Key": "k", "Value": "2"}]}):
        a.beat(**fields)
    t.say("odd, but granted")
    a.join(RebalanceTimeoutMs=-2)
    a.join(ProcessId="", ClientTags=None)
    describe(a.conn, group)


@script("streams.order-of-checks", "streams")
def order_of_checks(t):
    """Two faults at once: which is told."""
    group, top = t.group("order"), simple(t)
    a = Member(t, group, "a", top)
    a.join()
    x = Member(t, group, "x", top)
    bad, unknown = topology(subtopology("0")), {"ActiveTasks": tasks_of(_9=[0]), "StandbyTasks": [], "WarmupTasks": []}
    nothing = {"ActiveTasks": [], "StandbyTasks": [], "WarmupTasks": []}
    for fields in ({"GroupId": "", "MemberId": "", "MemberEpoch": 0}, {"MemberId": "", "MemberEpoch": -5},
                   {"InstanceId": "", "MemberEpoch": -5}, {"InstanceId": "", "RackId": "", "MemberEpoch": 0},
                   {"RackId": "", "MemberEpoch": -3}, {"MemberEpoch": 0}, {"MemberEpoch": 0, "RebalanceTimeoutMs": 1},
                   {"MemberEpoch": 0, "Topology": top}, {"MemberEpoch": 0, "Topology": top, "RebalanceTimeoutMs": 1},
                   {"MemberEpoch": 0, "RebalanceTimeoutMs": 1, **nothing},
                   {"MemberEpoch": 0, "RebalanceTimeoutMs": 1, "Topology": bad, **nothing},
                   {"MemberEpoch": 5, "Topology": top, "ActiveTasks": []},
                   {"MemberEpoch": 5, "ActiveTasks": tasks_of(_9=[0])}, {"MemberEpoch": 5, **unknown},
                   {"GroupId": t.group("nothing"), "MemberEpoch": 5, **unknown}, {"MemberEpoch": -1, "ActiveTasks": []}):
        x.beat(**fields)
    a.beat(MemberEpoch=9, **unknown)
    a.beat(InstanceId="q", **unknown)
    a.beat(InstanceId="q", MemberEpoch=99)
    t.say("an instance that is taken, with another topology")
    s, u = Member(t, group, "s", top, instance="i"), Member(t, group, "u", bad, instance="i")
    s.join()
    u.join()
    t.say("a leave's report is not looked at")
    a.leave(**unknown)
    describe(a.conn, group)


@script("streams.topology-refused", "streams")
def topology_refused(t):
    """Topologies that no group takes; each at a group of its own, which is not made."""
    source = t.topic("in", 2)
    bad = "a b"
    cases = (
        ("no source", [subtopology("0")]),
        ("two without a source", [subtopology("1"), subtopology("0")]),
        ("names", [subtopology("0", ["z z", "b b"], [internal("y y")], ["c c"], ["x x"]), subtopology("1", ["a a"])]),
        ("an empty name", [subtopology("0", [""])]),
        ("dots", [subtopology("0", [".."])]),
        ("a changelog's name", [subtopology("0", [source], [bad])]),
        ("a sink's name", [subtopology("0", [source], sinks=[bad])]),
        ("a repartition topic's name", [subtopology("0", [source], repartitions=[bad])]),
        ("a changelog with a count", [subtopology("0", [source], [internal(t.name("c"), 3)])]),
        ("a changelog with a negative count", [subtopology("0", [source], [internal(t.name("c"), -1)])]),
        ("a repartition topic that is never written", [subtopology("0", [source], repartitions=[t.name("r")])]),
        ("a loop", [subtopology("0", [], sinks=[t.name("s")], repartitions=[t.name("r")]),
                    subtopology("1", [], sinks=[t.name("r")], repartitions=[t.name("s")])]),
        ("a topic of Kafka's own", [subtopology("0", ["__consumer_offsets"])]),
    )
    for idx, (text, parts) in enumerate(cases):
        group = t.group(f"bad-{idx}")
        t.say(text)
        a = Member(t, group, "a", topology(*parts))
        a.join()
        describe(a.conn, group)


@script("streams.topology-crashes", "streams")
def topology_crashes(t):
    """Topologies that Kafka 4.4.0 answers with UNKNOWN_SERVER_ERROR."""
    source = t.topic("in", 2)
    cases = (
        ("the same subtopology twice", topology(subtopology("0", [source]), subtopology("0", [source]))),
        ("a copartition index out of range", topology(subtopology("0", [source], copartitions=[([5], [])]))),
        ("a negative one", topology(subtopology("0", [source], copartitions=[([-1], [])]))),
        ("one of a repartition topic", topology(subtopology("0", [source], copartitions=[([0], [3])]))),
        ("a changelog twice", topology(subtopology("0", [source], [t.name("c"), t.name("c")]))),
        ("a config key twice", topology(subtopology("0", [source], [
            internal(t.name("d"), configs=[("cleanup.policy", "compact"), ("cleanup.policy", "delete")])]))),
        ("a negative count", topology(subtopology("0", [source], sinks=[t.name("r")]),
                                      subtopology("1", [], repartitions=[internal(t.name("r"), -1)]))),
        ("a negative epoch", topology(subtopology("0", [source]), epoch=-1)),
    )
    for idx, (text, top) in enumerate(cases):
        group = t.group(f"crash-{idx}")
        t.say(text)
        a = Member(t, group, "a", top)
        a.join()
        describe(a.conn, group)


@script("streams.topology-odd", "streams")
def topology_odd(t):
    """Odd topologies that are taken."""
    source, other = t.topic("in", 2), t.topic("other", 2)
    cases = (
        ("no subtopology", topology()),
        ("an empty subtopology id", topology(subtopology("", [source]))),
        ("a sink that nobody reads", topology(subtopology("0", [source], sinks=[t.name("nowhere")]))),
        ("a sink that is another's source", topology(subtopology("0", [source], sinks=[other]), subtopology("1", [other]))),
        ("a source in two subtopologies", topology(subtopology("0", [source]), subtopology("1", [source]))),
        ("a source twice", topology(subtopology("0", [source, source]))),
        ("a source that is the changelog", topology(subtopology("0", [source], [source]))),
        ("an empty copartition group", topology(subtopology("0", [source], copartitions=[([], [])]))),
        ("an index twice", topology(subtopology("0", [source], copartitions=[([0, 0], [])]))),
        ("an epoch", topology(subtopology("0", [source]), epoch=7)),
        ("the largest epoch", topology(subtopology("0", [source]), epoch=2**31 - 1)),
        ("names in no order", topology(subtopology("b", [other, source]), subtopology("a", [other]), subtopology("10", [source]))),
    )
    for idx, (text, top) in enumerate(cases):
        group = t.group(f"odd-{idx}")
        t.say(text)
        a = Member(t, group, "a", top)
        a.join()
        describe(a.conn, group)
