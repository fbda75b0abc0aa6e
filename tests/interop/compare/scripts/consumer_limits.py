"""Consumer groups: the size of a group, sessions, how long a member may take to give up partitions."""
import time

from lib.consumer import Member, describe
from lib.members import quietly, settle
from lib.registry import script
from scripts.consumer_join import group_config, trio


def keep_alive(t, seconds, *alive):
    """Heartbeats of some members outside the transcript for a while."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        t.pause(0.2)
        for member in alive:
            quietly(member, "beat")


@script("consumer.max-size", "consumer-limits")
def max_size(t):
    """group.consumer.max.size 3: who is not a member is not let in; members may join again, static ones return."""
    group, topics = t.group("size"), [t.topic("in", 12)]
    group_config(t, group, **{"session.timeout.ms": "60000"})
    a, b, c = trio(t, group, topics)
    d, s = Member(t, group, "d", topics), Member(t, group, "s", topics, instance="i")
    for m in (a, b, c, d, a, s):
        m.join()
    d.send(MemberEpoch=5)
    d.send(MemberEpoch=-1)
    s.send(MemberEpoch=5)
    s.send(MemberEpoch=-2)
    c.leave()
    s.join()
    t.say("an absent one counts, and may return")
    s.leave(-2)
    d.join()
    again = Member(t, group, "again", topics, instance="i")
    again.join()
    describe(a.conn, group)


@script("consumer.session", "consumer-limits")
def session(t):
    """A member that is silent for its session is removed, an absent static one likewise; refused heartbeats are silence."""
    group, topics = t.group("session"), [t.topic("in", 6)]
    a, b, c = Member(t, group, "a", topics), Member(t, group, "b", topics), Member(t, group, "c", topics, instance="i")
    for m in (a, b, c):
        m.join()
    settle(a, b, c)
    c.leave(-2)
    describe(a.conn, group)
    keep_alive(t, 2.2, a)
    describe(a.conn, group)
    t.say("B has sent nothing for its session, nor has C come back")
    keep_alive(t, 1.6, a)
    describe(a.conn, group)
    b.beat()
    b.leave()
    c.beat(MemberEpoch=4)
    a.ack()
    c.join()
    t.say("C is refused each time")
    end = time.monotonic() + 3.8
    while time.monotonic() < end:
        keep_alive(t, 0.3, a)
        c.conn.recorded = False
        c.send(MemberEpoch=99)
        c.conn.recorded = True
    c.beat()
    t.say("the last one")
    t.pause(3.8)
    describe(a.conn, group)
    a.beat()


@script("consumer.session-config", "consumer-limits")
def session_config(t):
    """consumer.session.timeout.ms and consumer.heartbeat.interval.ms of a group hold from a member's next heartbeat on."""
    group, topics = t.group("config"), [t.topic("in", 6)]
    a, b = trio(t, group, topics, "ab")
    a.join()
    b.join()
    group_config(t, group, **{"session.timeout.ms": "6000", "heartbeat.interval.ms": "700"})
    a.beat()
    t.say("A has six seconds, B still three")
    t.pause(3.6)
    describe(a.conn, group)
    a.beat()
    group_config(t, group, **{"session.timeout.ms": None, "heartbeat.interval.ms": None})
    a.beat()
    t.pause(3.6)
    describe(a.conn, group)


@script("consumer.rebalance-timeout", "consumer-limits")
def rebalance_timeout(t):
    """A member that is told to give up partitions and does not confirm within its rebalance timeout is removed."""
    group, topics = t.group("slow"), [t.topic("in", 6)]
    a, b, c = Member(t, group, "a", topics, rebalance=1500), *trio(t, group, topics, "bc")
    a.join()
    b.join()
    keep_alive(t, 2.2, b)
    t.say("A has not been told yet: no hurry")
    a.beat()
    keep_alive(t, 1.0, a, b)
    t.say("neither another target nor another timeout gives it more time")
    c.join()
    a.beat(RebalanceTimeoutMs=9000)
    describe(b.conn, group)
    keep_alive(t, 1.0, a, b, c)
    a.beat()
    describe(b.conn, group)
    t.say("B confirms in time")
    a.rebalance = 1000
    b.beat(RebalanceTimeoutMs=1000)
    settle(b, c)
    a.join()
    b.beat()
    b.ack()
    keep_alive(t, 1.5, a, b, c)
    b.beat()


@script("consumer.rebalance-timeout-static", "consumer-limits")
def rebalance_timeout_static(t):
    """It goes for a moment while its time runs: the time does not."""
    group, topics = t.group("slow-static"), [t.topic("in", 6)]
    a, b = Member(t, group, "a", topics, rebalance=1000, instance="i"), Member(t, group, "b", topics)
    a.join()
    b.join()
    a.beat()
    a.leave(-2)
    keep_alive(t, 1.6, b)
    describe(b.conn, group)
    a.join()
    b.beat()
    t.say("a new join ends it, too")
    c = Member(t, group, "c", topics)
    c.join()
    a.beat()
    b.beat()
    b.ack()
    a.instance = None
    a.join()
    keep_alive(t, 1.6, a, b, c)
    describe(b.conn, group)
