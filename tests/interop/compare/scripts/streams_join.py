"""Streams groups: joining, moving tasks, leaving; which change of a member starts a new assignment."""
from lib import members
from lib.members import settle
from lib.registry import script
from lib.streams import Member, describe, subtopology, tasks_of, topology


def simple(t, partitions=6, name="in"):
    """A topology of one subtopology that reads one topic."""
    return topology(subtopology("0", [t.topic(name, partitions)]))


@script("streams.two-members", "streams")
def two_members(t):
    """A is given everything with its join; B joins and waits; A is told, confirms; B gets its share; B leaves; A leaves."""
    group, top = t.group("two"), simple(t)
    a = Member(t, group, "a", top)
    a.join()
    describe(a.conn, group)
    a.beat()
    a.ack()
    b = Member(t, group, "b", top)
    b.join()
    describe(a.conn, group)
    b.beat()
    t.say("A is told once what it keeps")
    a.beat()
    describe(a.conn, group)
    a.beat()
    t.say("what it keeps, reported, is the confirmation")
    a.ack()
    describe(a.conn, group)
    b.beat()
    describe(a.conn, group)
    b.beat()
    t.say("a leave computes nothing; the next heartbeat does")
    b.leave()
    describe(a.conn, group)
    b.beat(MemberEpoch=3)
    a.beat()
    describe(a.conn, group)
    a.leave()
    describe(a.conn, group)
    t.say("the empty group goes on from its epoch")
    b.join()
    describe(a.conn, group)


@script("streams.three-members", "streams")
def three_members(t):
    """B and C join before anybody has confirmed anything: members go straight to the newest target."""
    group, top = t.group("three"), simple(t, 12)
    a, b, c = (Member(t, group, n, top) for n in "abc")
    a.join()
    b.join()
    t.say("A has been told nothing yet when C joins")
    c.join()
    describe(a.conn, group)
    b.beat()
    c.beat()
    a.beat()
    describe(a.conn, group)
    a.ack()
    b.beat()
    c.beat()
    describe(a.conn, group)
    b.beat()
    c.beat()
    t.say("C leaves, A takes its third back with the next heartbeat, B with its own")
    c.leave()
    a.beat()
    b.beat()
    describe(a.conn, group)


@script("streams.revocation", "streams")
def revocation(t):
    """What confirms a revocation: a report without all that was taken, or a new join; nothing else does."""
    group, top = t.group("revoke"), simple(t)
    a, b = Member(t, group, "a", top), Member(t, group, "b", top)
    a.join()
    everything = a.report()
    b.join()
    a.beat()
    t.say("still reports all, then all but one of those it gives up")
    a.beat(**everything)
    given_up = sorted({("0", p) for p in range(6)} - a.held["ActiveTasks"])
    keeps = sorted(p for _, p in a.held["ActiveTasks"])
    almost = tasks_of(_0=sorted(keeps + [given_up[0][1]]))
    a.beat(ActiveTasks=almost, StandbyTasks=[], WarmupTasks=[])
    b.beat()
    describe(a.conn, group)
    t.say("less than it keeps is a confirmation as well, and it keeps the rest")
    a.beat(ActiveTasks=tasks_of(_0=keeps[:1]), StandbyTasks=[], WarmupTasks=[])
    describe(a.conn, group)
    b.beat()
    t.say("reports what others hold: not looked at")
    a.beat(**everything)
    t.say("a join instead of a confirmation")
    c = Member(t, group, "c", top)
    c.join()
    a.beat()
    a.join()
    b.join()
    describe(a.conn, group)
    c.beat()
    describe(a.conn, group)


@script("streams.previous-epoch", "streams")
def previous_epoch(t):
    """The epoch before the present one is accepted with a report of what the member holds, or less."""
    group, top = t.group("previous"), simple(t)
    a, b = Member(t, group, "a", top), Member(t, group, "b", top)
    a.join()
    everything = a.report()
    b.join()
    a.beat()
    a.ack()
    b.beat()
    t.say("A is at epoch 3, was at 2 before")
    a.beat(MemberEpoch=2)
    a.epoch = 2
    a.ack()
    a.epoch = 2
    a.beat(ActiveTasks=[], StandbyTasks=[], WarmupTasks=[])
    a.beat(MemberEpoch=2, **everything)
    a.beat(MemberEpoch=2, ActiveTasks=[], StandbyTasks=tasks_of(_0=[0]), WarmupTasks=[])
    a.beat(MemberEpoch=1, ActiveTasks=[], StandbyTasks=[], WarmupTasks=[])
    a.beat(MemberEpoch=4)
    t.say("B joined at 3: it has no epoch before")
    b.beat(MemberEpoch=2, ActiveTasks=[], StandbyTasks=[], WarmupTasks=[])
    describe(a.conn, group)


@script("streams.rejoin", "streams")
def rejoin(t):
    """A member that joins again with its id: keeps its tasks; a change of its fields starts an assignment."""
    group, top = t.group("rejoin"), simple(t)
    a = Member(t, group, "a", top)
    a.join()
    a.join()
    for text, fields in (("another rebalance timeout", {"RebalanceTimeoutMs": 7000}),
                         ("another process", {"RebalanceTimeoutMs": 7000, "ProcessId": "other"}),
                         ("tags", {"RebalanceTimeoutMs": 7000, "ProcessId": "other", "ClientTags": [{"Key": "k", "Value": "v"}]}),
                         ("tags not said", {"RebalanceTimeoutMs": 7000, "ProcessId": "other", "ClientTags": None}),
                         ("a rack", {"RebalanceTimeoutMs": 7000, "ProcessId": "other", "ClientTags": None, "RackId": "r"}),
                         ("no rack said", {"RebalanceTimeoutMs": 7000, "ProcessId": "other", "ClientTags": None}),
                         ("process not said", {"RebalanceTimeoutMs": 7000, "ProcessId": None, "ClientTags": None}),
                         ("an endpoint", {"RebalanceTimeoutMs": 7000, "ProcessId": None, "ClientTags": None,
                                          "UserEndpoint": {"Host": "h", "Port": 1}}),
                         ("no endpoint said: it has none", {"RebalanceTimeoutMs": 7000, "ProcessId": None, "ClientTags": None}),
                         ("an instance id", {"RebalanceTimeoutMs": 7000, "ProcessId": None, "ClientTags": None, "InstanceId": "i"})):
        t.say(text)
        a.join(**fields)
        describe(a.conn, group)
    b = Member(t, group, "b", top)
    b.join()
    t.say("A joins again, untold of the revocation: it is at its target at once")
    a.instance = "i"
    a.leave(-2)
    a.join(RebalanceTimeoutMs=7000, ProcessId=None, ClientTags=None)
    b.beat()
    describe(a.conn, group)


@script("streams.changes", "streams")
def changes(t):
    """Which fields of a heartbeat start a new assignment when they change: the epoch tells."""
    group, top = t.group("changes"), simple(t)
    a = Member(t, group, "a", top)
    a.join()
    one, two = {"Key": "z", "Value": "1"}, {"Key": "y", "Value": "2"}
    for text, fields in (("the same rebalance timeout", {"RebalanceTimeoutMs": 5000}),
                         ("another", {"RebalanceTimeoutMs": 6000}), ("nil", {"RebalanceTimeoutMs": 0}),
                         ("the same process", {"ProcessId": "p-a"}), ("another", {"ProcessId": "p"}),
                         ("an empty one", {"ProcessId": ""}),
                         ("an endpoint", {"UserEndpoint": {"Host": "h", "Port": 1}}),
                         ("the same", {"UserEndpoint": {"Host": "h", "Port": 1}}),
                         ("another port", {"UserEndpoint": {"Host": "h", "Port": 2}}),
                         ("tags", {"ClientTags": [one]}), ("the same", {"ClientTags": [one]}),
                         ("more", {"ClientTags": [one, two]}), ("in another order", {"ClientTags": [two, one]}),
                         ("none", {"ClientTags": []}), ("a rack", {"RackId": "r"}), ("the same", {"RackId": "r"}),
                         ("offsets of tasks", {"TaskOffsets": [{"SubtopologyId": "0", "Partition": 0, "Offset": 4}],
                                               "TaskEndOffsets": [{"SubtopologyId": "0", "Partition": 0, "Offset": 9}]}),
                         ("other offsets replace all", {"TaskOffsets": [{"SubtopologyId": "9", "Partition": 1, "Offset": 5}]})):
        t.say(text)
        a.beat(**fields)
    describe(a.conn, group)
    t.say("no offsets")
    a.beat(TaskOffsets=[])
    describe(a.conn, group)
    t.say("another client id")
    a.conn.client_id = "renamed"
    a.beat()
    describe(a.conn, group)
    t.say("version 0")
    a.version = 0
    a.beat()


@script("streams.group-configs", "streams")
def group_configs(t):
    """A group's own configs: which of them start a new assignment at the next heartbeat, which only go out to members."""
    group, top = t.group("configs"), simple(t)
    a = Member(t, group, "a", top)
    a.join()
    for name, value in (("num.standby.replicas", "1"), ("num.standby.replicas", "1"), ("num.warmup.replicas", "3"),
                        ("acceptable.recovery.lag", "5"), ("task.offset.interval.ms", "20000"),
                        ("heartbeat.interval.ms", "6000"), ("session.timeout.ms", "50000"),
                        ("assignment.interval.ms", "0"), ("initial.rebalance.delay.ms", "0"), ("assignor.name", "sticky"),
                        ("assignor.offload.enable", "false"), ("rack.aware.assignment.tags", "z,y"),
                        ("rack.aware.assignment.tags", ""), ("num.standby.replicas", None)):
        group_config(t, group, **{name: value})
        t.say(f"{name} is now {value}")
        describe(a.conn, group)
        a.beat()
        describe(a.conn, group)


def group_config(t, group, **configs):
    members.group_config(t, group, "streams", **configs)


@script("streams.interval", "streams")
def interval(t):
    """streams.assignment.interval.ms 1500: who joins within it waits with status 5; the next heartbeat after it computes."""
    group, top = t.group("interval"), simple(t)
    group_config(t, group, **{"assignment.interval.ms": "1500"})
    a, b, c = (Member(t, group, n, top) for n in "abc")
    a.join()
    b.join()
    describe(a.conn, group)
    b.beat()
    a.beat()
    t.say("the interval ends by itself, but nobody computes")
    t.pause(1.8)
    describe(a.conn, group)
    b.beat()
    describe(a.conn, group)
    a.beat()
    a.ack()
    b.beat()
    t.say("a leave and a join within the interval, one assignment for both")
    c.join()
    b.leave()
    describe(a.conn, group)
    t.pause(1.8)
    a.beat()
    c.beat()
    a.ack()
    c.beat()
    describe(a.conn, group)


@script("streams.initial-delay", "streams")
def initial_delay(t):
    """streams.initial.rebalance.delay.ms 2000: members wait at the old epoch; the delay ends by a timer and computes."""
    group, top = t.group("delay"), simple(t)
    group_config(t, group, **{"initial.rebalance.delay.ms": "2000"})
    a, b = Member(t, group, "a", top), Member(t, group, "b", top)
    a.join()
    describe(a.conn, group)
    t.pause(0.8)
    a.beat()
    a.ack()
    t.say("a second join does not prolong it")
    b.join()
    describe(a.conn, group)
    t.pause(1.6)
    describe(a.conn, group)
    b.beat()
    describe(a.conn, group)
    a.beat()
    describe(a.conn, group)
    t.say("the delay applies again after the group was empty")
    a.leave()
    b.leave()
    a.join()
    describe(a.conn, group)
    t.say("the last member leaves in the delay")
    a.leave()
    describe(a.conn, group)
    t.pause(2.4)
    describe(a.conn, group)
    t.say("one of two leaves in the delay")
    a.join()
    b.join()
    a.leave()
    b.beat()
    t.pause(2.4)
    describe(a.conn, group)
    b.beat()
    describe(a.conn, group)
