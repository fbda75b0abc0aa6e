"""Streams groups: endpoints, shutdown of an application, standby tasks and their tags, sizes and timeouts."""
from lib.registry import script
from lib.streams import Member, describe, subtopology, topology
from scripts.streams_join import group_config, settle, simple
from scripts.streams_topology import remove


def at(host, port):
    return {"Host": host, "Port": port}


def knowing(*members):
    """They tell the endpoint epoch that they were given last."""
    for m in members:
        m.info = m.last_info


class Told(Member):
    """A member that remembers the endpoint epoch it was told."""

    last_info = -1

    def send(self, **fields):
        answer = super().send(**fields)
        if answer.get("ErrorCode") == 0:
            self.last_info = answer["EndpointInformationEpoch"]
        return answer


@script("streams.endpoints", "streams")
def endpoints(t):
    """Who serves which partitions: told when the member does not know the present epoch; what raises the epoch."""
    group, one, two = t.group("endpoints"), t.topic("one", 6), t.topic("two", 2)
    top = topology(subtopology("0", [one]), subtopology("1", [one, two]))
    a, b = Told(t, group, "a", top, UserEndpoint=at("h1", 1)), Told(t, group, "b", top, UserEndpoint=at("h2", 2))
    c = Told(t, group, "c", top)
    a.join()
    a.beat()
    knowing(a)
    a.beat()
    t.say("a higher one than there is")
    a.beat(EndpointInformationEpoch=77)
    t.say("B with an endpoint and no tasks yet")
    b.join()
    a.beat()
    knowing(b)
    b.beat()
    knowing(a)
    a.ack()
    b.beat()
    a.beat()
    knowing(a, b)
    a.beat()
    b.beat()
    t.say("C has none")
    c.join()
    knowing(c)
    c.beat()
    settle(a, b, c)
    knowing(a, b, c)
    a.beat()
    t.say("C leaves, then B")
    c.leave()
    a.beat()
    settle(a, b)
    knowing(a, b)
    b.leave()
    a.beat()
    knowing(a)
    a.beat()
    t.say("A gives its endpoint up by a join, takes another by a heartbeat")
    a.join(UserEndpoint=None)
    knowing(a)
    a.beat()
    a.beat(UserEndpoint=at("h3", 3))
    knowing(a)
    a.beat()
    t.say("the group is empty in between")
    a.leave()
    a.join()
    describe(a.conn, group)


@script("streams.endpoint-topic-gone", "streams")
def endpoint_topic_gone(t):
    """A source topic goes while a member with an endpoint reads it."""
    group, one, two = t.group("gone"), t.topic("one", 2), t.topic("two", 2)
    a = Member(t, group, "a", topology(subtopology("0", [one]), subtopology("1", [two])), UserEndpoint=at("h1", 1))
    a.join()
    remove(t, two)
    a.beat()
    a.ack()
    t.topic("two", 2)
    t.say("it is back")
    a.beat()
    describe(a.conn, group)


@script("streams.shutdown", "streams")
def shutdown(t):
    """A member asks for the shutdown of the whole application: every member is told until the group is empty."""
    group, top = t.group("shutdown"), simple(t)
    a, b, c = (Member(t, group, n, top) for n in "abc")
    a.join()
    b.join()
    settle(a, b)
    b.beat(ShutdownApplication=True)
    a.beat()
    a.beat()
    describe(a.conn, group)
    c.join()
    t.say("another asks; the first one stays named, also after it left")
    a.beat(ShutdownApplication=True)
    b.leave()
    c.beat()
    t.say("the last one asks again as it leaves; the next join is clean")
    a.leave()
    c.leave(ShutdownApplication=True)
    a.join()
    t.say("asked with a join")
    b.join(ShutdownApplication=True)
    a.beat()
    b.leave()
    a.leave()
    a.join()
    t.say("asked with a leave")
    b.join()
    b.leave(ShutdownApplication=True)
    a.beat()
    a.leave()
    a.join()
    t.say("asked by a refused heartbeat")
    a.beat(MemberEpoch=99, ShutdownApplication=True)
    a.beat()
    a.beat(ShutdownApplication=True, ActiveTasks=[])
    a.beat()
    t.say("asked by a static member that goes for a moment")
    s = Member(t, group, "s", top, instance="i")
    s.join()
    s.leave(-2, ShutdownApplication=True)
    a.beat()


@script("streams.statuses", "streams")
def statuses(t):
    """All that can be told at once, and in which order."""
    group, source = t.group("statuses"), t.topic("in", 2)
    group_config(t, group, **{"assignment.interval.ms": "15000", "rack.aware.assignment.tags": "z,y"})
    a = Member(t, group, "a", topology(subtopology("0", [source]), epoch=4))
    s = Member(t, group, "s", topology(subtopology("0", [source]), epoch=3))
    a.join()
    s.join(ShutdownApplication=True)
    a.beat()
    remove(t, source)
    s.beat()
    t.say("one of its tags")
    s.beat(ClientTags=[{"Key": "z", "Value": "1"}])
    t.say("version 0 knows no missing tags")
    s.version = 0
    s.beat()


@script("streams.standby", "streams")
def standby(t):
    """One standby replica: never in the process of the active task; tasks change their kind where they are."""
    group, source = t.group("standby"), t.topic("in", 6)
    top = topology(subtopology("0", [source], [t.name("c")]))
    group_config(t, group, **{"num.standby.replicas": "1"})
    a, b = Member(t, group, "a", top, UserEndpoint=at("h1", 1)), Member(t, group, "b", top, UserEndpoint=at("h2", 2))
    a.join()
    t.wait_topic(t.name("c"), 6)
    a.beat()
    describe(a.conn, group)
    t.say("B has its standbys at once; A has those that it gives up")
    b.join()
    a.beat()
    describe(a.conn, group)
    a.ack()
    b.beat()
    a.beat()
    describe(a.conn, group)
    t.say("two replicas with two processes: still one each")
    group_config(t, group, **{"num.standby.replicas": "2"})
    settle(a, b)
    describe(a.conn, group)
    t.say("B leaves: what A had a copy of it has now")
    b.leave()
    a.beat()
    describe(a.conn, group)
    b.join()
    settle(a, b)
    t.say("none again")
    group_config(t, group, **{"num.standby.replicas": None})
    a.beat()
    describe(a.conn, group)
    settle(a, b)
    describe(a.conn, group)


@script("streams.state-moves-last", "streams")
def state_moves_last(t):
    """Tasks with state and tasks without, and a second member: which move."""
    group, source, plain = t.group("last"), t.topic("in", 6), t.topic("plain", 6)
    top = topology(subtopology("0", [source], [t.name("c")]), subtopology("1", [plain]))
    a, b = Member(t, group, "a", top), Member(t, group, "b", top)
    a.join()
    t.wait_topic(t.name("c"), 6)
    a.beat()
    b.join()
    settle(a, b)
    describe(a.conn, group)


@script("streams.standby-one-process", "streams")
def standby_one_process(t):
    """Two members of one process: no standby; a second process has one."""
    group, source = t.group("process"), t.topic("in", 6)
    top = topology(subtopology("0", [source], [t.name("c")]))
    group_config(t, group, **{"num.standby.replicas": "1"})
    a, b = Member(t, group, "a", top, process="one"), Member(t, group, "b", top, process="one")
    a.join()
    t.wait_topic(t.name("c"), 6)
    settle(a)
    b.join()
    settle(a, b)
    describe(a.conn, group)


@script("streams.tags", "streams")
def tags(t):
    """Tags that the placement of standby tasks asks for: who lacks some is told, and is given tasks all the same."""
    group, source = t.group("tags"), t.topic("in", 2)
    group_config(t, group, **{"rack.aware.assignment.tags": "zone,cluster"})
    top = topology(subtopology("0", [source]))
    zone, cluster = {"Key": "zone", "Value": "x"}, {"Key": "cluster", "Value": "y"}
    a, b, c = (Member(t, group, n, top, ClientTags=own)
               for n, own in (("a", [zone, cluster]), ("b", [cluster]), ("c", [])))
    a.join()
    b.join()
    c.join()
    settle(a, b, c)
    b.beat()
    c.beat()
    describe(a.conn, group)
    t.say("now it has it")
    b.beat(ClientTags=[zone, cluster])
    t.say("nothing is asked any more")
    group_config(t, group, **{"rack.aware.assignment.tags": ""})
    c.beat()


@script("streams.offsets-of-tasks", "streams")
def offsets_of_tasks(t):
    """A stateful task moves at once, whatever the offsets say: nothing warms up."""
    group, source = t.group("warmup"), t.topic("in", 4)
    group_config(t, group, **{"acceptable.recovery.lag": "0", "num.warmup.replicas": "2"})
    top = topology(subtopology("0", [source], [t.name("c")]))
    rows = {n: [{"SubtopologyId": "0", "Partition": p, "Offset": n} for p in range(4)] for n in (5, 1000000)}
    a, b = Member(t, group, "a", top), Member(t, group, "b", top)
    a.join()
    t.wait_topic(t.name("c"), 4)
    a.beat()
    a.beat(TaskOffsets=rows[1000000], TaskEndOffsets=rows[1000000])
    b.join(TaskOffsets=rows[5], TaskEndOffsets=rows[1000000])
    a.beat()
    a.ack()
    b.beat()
    describe(a.conn, group)


@script("streams.max-size", "streams-limits")
def max_size(t):
    """group.streams.max.size 3: members that come again and static ones that come back are let in."""
    group, top = t.group("size"), simple(t, 6)
    a, b, c, d = (Member(t, group, n, top) for n in "abcd")
    a.join()
    b.join()
    d.join()
    c.join()
    b.join()
    s, u = Member(t, group, "s", top, instance="i"), Member(t, group, "u", top, process="p-s", instance="i")
    s.join()
    b.leave()
    s.join()
    s.leave(-2)
    c.join()
    u.join()
    describe(a.conn, group)


@script("streams.session", "streams-limits")
def session(t):
    """group.streams.session.timeout.ms 3000: silent members go, static ones that are away too."""
    group, top = t.group("session"), simple(t)
    a, s = Member(t, group, "a", top), Member(t, group, "s", top, instance="i")
    a.join()
    s.join()
    settle(a, s)
    alive(t, a, 4.5)
    a.beat()
    describe(a.conn, group)
    s.beat()
    s.beat(InstanceId=None)
    t.say("away")
    s.join()
    settle(a, s)
    s.leave(-2)
    alive(t, a, 4.5)
    a.beat()
    describe(a.conn, group)
    t.say("the last one")
    t.pause(4.5)
    describe(a.conn, group)
    t.say("refused heartbeats do not keep a member")
    a.join()
    for _ in range(9):
        t.pause(0.5)
        a.conn.recorded = False
        a.beat(MemberEpoch=99)
        a.conn.recorded = True
    a.beat(MemberEpoch=6)
    describe(a.conn, group)


def alive(t, member, seconds):
    for _ in range(int(seconds / 0.5)):
        t.pause(0.5)
        settle(member, rounds=1)


@script("streams.rebalance-timeout", "streams-limits")
def rebalance_timeout(t):
    """A revocation that is not confirmed within the member's rebalance timeout removes it."""
    group, top = t.group("rebalance"), simple(t)
    a, b = Member(t, group, "a", top, rebalance=1200), Member(t, group, "b", top)
    a.join()
    b.join()
    t.say("the time runs from when it is told")
    alive(t, b, 1.5)
    everything = a.report()
    a.beat()
    t.pause(0.8)
    a.beat(**everything)
    b.beat()
    describe(a.conn, group)
    t.pause(0.8)
    a.beat()
    describe(a.conn, group)
    b.beat()
    describe(a.conn, group)
    t.say("no time at all")
    a.join(RebalanceTimeoutMs=0)
    b.beat()
    b.ack()
    a.beat()
    c = Member(t, group, "c", top)
    c.join()
    a.beat()
    t.pause(0.3)
    a.beat()
    describe(b.conn, group)

