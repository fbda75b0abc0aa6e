#!/usr/bin/env python3
"""Heartbeats of settled members are held, and let go when their group has something for them.

Two members of a consumer group are held; whoever joins or leaves makes both hear within a fraction of a second, although they beat every five seconds. What a client
sends behind a held heartbeat is answered at once, in order. A coordinator that goes away says so."""
import time

from faultlib.client import Conn, Lost
from faultlib.protocol import NONE, NOT_COORDINATOR, commit_errors, commit_fields, error_text
from faultlib.story import check, check_equal, main, say, until

GROUP = "held"
INTERVAL_S = 5.0
HOLD_S = 4.5
SOON_S = 0.5


class Member:
    """A member on a connection of its own. It has one heartbeat on its way at most, as clients do."""

    def __init__(self, client, name):
        self.group = GROUP
        self.name = name
        self.conn = Conn(until("a coordinator", lambda: client.find(GROUP), 10), timeout=15)
        self.epoch = 0
        self.partitions = set()
        self.interval = 0

    def send(self, epoch=None, owned=None, **fields):
        rows = None if owned is None else [{"TopicId": t, "Partitions": sorted(p for u, p in owned if u == t)} for t in sorted({t for t, _ in owned})]
        self.conn.send("ConsumerGroupHeartbeat", 1, GroupId=self.group, MemberId=self.name, MemberEpoch=self.epoch if epoch is None else epoch,
                       TopicPartitions=rows, **{"RebalanceTimeoutMs": -1, **fields})
        self.sent = time.monotonic()

    def receive(self, timeout=15.0):
        """The answer; how long it took."""
        values = self.conn.receive(timeout)
        took = time.monotonic() - self.sent
        if values["ErrorCode"] == NONE:
            self.epoch = values["MemberEpoch"]
            self.interval = values["HeartbeatIntervalMs"] / 1000
            if values["Assignment"] is not None:
                self.partitions = {(t["TopicId"], p) for t in values["Assignment"]["TopicPartitions"] for p in t["Partitions"]}
        return values, took

    def beat(self, **fields):
        self.send(**fields)
        return self.receive()

    def join(self):
        values, _ = self.beat(epoch=0, owned=set(), RebalanceTimeoutMs=60000, SubscribedTopicNames=["t"])
        check_equal(error_text(values["ErrorCode"]), error_text(NONE), f"join of {self.name}")

    def silent(self, seconds):
        """True when there is no answer for so long."""
        try:
            self.receive(seconds)
            return False
        except Lost:
            return True


def settle(*members):
    """Everybody tells what it has and beats as it is told, until nothing moves; then each is held."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        before = [(m.epoch, m.partitions, m.interval) for m in members]
        for m in members:
            m.beat(owned=m.partitions, RebalanceTimeoutMs=60000, SubscribedTopicNames=["t"])
        if before == [(m.epoch, m.partitions, m.interval) for m in members] and all(m.interval == INTERVAL_S for m in members):
            break
        time.sleep(0.1)
    for m in members:
        m.send()
    time.sleep(1.2)  # the assignment interval is over, too
    for m in members:
        check(m.silent(0.1), f"the heartbeat of {m.name} was answered at once")


def heard(members, since, what):
    """Each has its answer, soon."""
    for m in members:
        values, _ = m.receive()
        check_equal(error_text(values["ErrorCode"]), error_text(NONE), f"the heartbeat of {m.name}")
        took = time.monotonic() - since
        check(took < SOON_S, f"{m.name} heard {what} after {took:.3f} s")
    return time.monotonic() - since


def joins_and_leaves(client):
    a, b, c = (Member(client, name) for name in "abc")
    for m in (a, b):
        m.join()
    settle(a, b)
    since = time.monotonic()
    c.join()
    took = heard((a, b), since, "of the join")
    check(len(a.partitions) < 3 or len(b.partitions) < 3, "nobody was told to give something up")
    say(f"a member joins: the two that were held heard of it within {took * 1000:.0f} ms")
    settle(a, b, c)
    check_equal(sorted(len(m.partitions) for m in (a, b, c)), [2, 2, 2], "partitions")
    since = time.monotonic()
    c.send(epoch=-1)  # behind the heartbeat that is held
    values, _ = c.receive()
    check_equal(values["MemberEpoch"], c.epoch, "the held heartbeat")
    values, _ = c.receive()
    check_equal(values["MemberEpoch"], -1, "the leave")
    took = heard((a, b), since, "of the leave")
    check_equal(sorted(len(m.partitions) for m in (a, b)), [3, 3], "partitions")
    say(f"it leaves, behind its held heartbeat: the others have its partitions within {took * 1000:.0f} ms")
    return a


def what_follows(a):
    settle(a)
    since = time.monotonic()
    a.conn.send("OffsetCommit", 9, **commit_fields(a.group, {"t": {p: 7 for _, p in a.partitions}}, a.epoch, a.name))
    values, _ = a.receive()
    check_equal(values["MemberEpoch"], a.epoch, "the held heartbeat")
    check_equal(commit_errors(a.conn.receive()), {NONE}, "the commit")
    took = time.monotonic() - since
    check(took < SOON_S, f"the commit behind a held heartbeat took {took:.3f} s")
    say(f"a commit behind a held heartbeat: answered within {took * 1000:.0f} ms")


def time_over(a):
    _, took = a.beat()
    check(HOLD_S / 2 < took < INTERVAL_S, f"a heartbeat was held for {took:.3f} s")
    say(f"nothing happens: answered after {took:.2f} s, before the interval is over")


def connection_ends(a):
    """It comes again on another connection: its first heartbeat there is not held."""
    a.send()
    check(a.silent(0.2), "not held")
    address = a.conn.address
    a.conn.close()
    a.conn = Conn(address, timeout=15)
    _, took = a.beat()
    check(took < SOON_S, f"the first heartbeat on a connection took {took:.3f} s")
    say("the first heartbeat on a new connection: answered at once")


def office_ends(cluster, client, a):
    node = cluster.node_of(a.conn.address)
    a.send()
    check(a.silent(0.2), "not held")
    for shard, leads in cluster.leaders().items():
        if leads == node:
            cluster.transfer(shard, node % cluster.nodes + 1)
    since = time.monotonic()
    values, _ = a.receive(3)
    check_equal(error_text(values["ErrorCode"]), error_text(NOT_COORDINATOR), "a held heartbeat after a transfer")
    check(time.monotonic() - since < 1, "it was told late")
    a.conn.close()
    client.coordinators.clear()
    a.conn = Conn(until("the new coordinator", lambda: client.find(GROUP), 10), timeout=15)
    values, _ = a.beat()
    check_equal(error_text(values["ErrorCode"]), error_text(NONE), "the heartbeat there")
    say("the coordinator hands over: a held heartbeat is told so")


def run(test):
    cluster = test.cluster(settings={"muster.group.heartbeat.hold.interval.ms": 0,
                                     "muster.election.timeout.ms": 5000})
    cluster.start()
    client = cluster.client()
    client.create_topic("t", 6)
    a = joins_and_leaves(client)
    what_follows(a)
    settle(a)
    check(a.receive()[0]["ErrorCode"] == NONE, "let go")
    time_over(a)
    connection_ends(a)
    office_ends(cluster, client, a)


if __name__ == "__main__":
    main(run, 29000)
