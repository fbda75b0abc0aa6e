"""Streams groups: topologies that are behind or differ, topics that miss, come, grow and go, internal topics."""
import time

from lib.members import NEWS_SECONDS
from lib.registry import script
from lib.streams import Member, describe, internal, subtopology, topology
from scripts.streams_join import group_config, settle, simple


@script("streams.stale-topology", "streams")
def stale_topology(t):
    """A member with a lower topology epoch is a member like any other, and is told with every heartbeat."""
    group, source, other = t.group("stale"), t.topic("in", 6), t.topic("other", 6)

    def member(name, epoch, *sources):
        return Member(t, group, name, topology(subtopology("0", sources), epoch=epoch))

    a, b, c = member("a", 5, source), member("b", 3, source), member("c", 3, other)
    a.join()
    b.join()
    b.beat()
    a.beat()
    a.ack()
    b.beat()
    b.beat()
    describe(a.conn, group)
    t.say("behind, with other sources")
    c.join()
    settle(a, b, c)
    c.beat()
    describe(a.conn, group)
    t.say("the same epoch with other content, higher epochs with the same and with other content")
    member("d", 5, other).join()
    member("e", 6, source).join()
    member("f", 6, other).join()
    t.say("faults of a topology that is behind")
    for parts in ([subtopology("0")], [subtopology("0", ["a b"])], [subtopology("0", [source], [internal(t.name("q"), 4)])]):
        x = Member(t, group, "x", topology(*parts, epoch=3))
        if x.join()["ErrorCode"] == 0:
            x.leave()
    t.say("the only one that is up to date leaves")
    a.leave()
    settle(b, c)
    describe(b.conn, group)
    t.say("B comes again, up to date; C comes again, behind with other content: no new assignment")
    b.topology = a.topology
    b.join()
    c.beat()
    c.topology = topology(subtopology("0", [source]), epoch=3)
    c.join()
    describe(b.conn, group)


@script("streams.same-topology", "streams")
def same_topology(t):
    """When two topologies of one epoch are the same: the order of subtopologies does not count, everything else does."""
    group, p, q = t.group("same"), t.topic("p", 2), t.topic("q", 2)
    keys = [("cleanup.policy", "compact"), ("segment.bytes", "1048576")]

    def top(sources=(p, q), changelogs=(0, 1), configs=(0, 1), copartitions=(0, 1), replication=0, order=(0, 1), more=()):
        logs = [internal(t.name("c1"), 0, replication, [keys[i] for i in configs]), internal(t.name("c2"))]
        parts = [subtopology("0", sources, [logs[i] for i in changelogs], copartitions=[(copartitions, [])]),
                 subtopology("1", [p, *more])]
        return topology(*[parts[i] for i in order])

    t.topic("c1", 2)
    t.topic("c2", 2)
    Member(t, group, "a", top()).join()
    for text, other in (("as it was", top()), ("subtopologies", top(order=(1, 0))), ("sources", top(sources=(q, p))),
                        ("changelogs", top(changelogs=(1, 0))), ("configs", top(configs=(1, 0))),
                        ("copartition indexes", top(copartitions=(1, 0))), ("a config less", top(configs=(0,))),
                        ("replication", top(replication=1)), ("a source twice", top(more=(p,)))):
        t.say(text)
        b = Member(t, group, "b", other)
        if b.join()["ErrorCode"] == 0:
            b.leave()


@script("streams.missing-sources", "streams")
def missing_sources(t):
    """Source topics that are not there yet; one comes, then the other."""
    group, here = t.group("missing"), t.topic("here", 6)
    top = topology(subtopology("0", [t.name("two"), here]), subtopology("1", [t.name("one")]))
    a, b = Member(t, group, "a", top), Member(t, group, "b", top)
    a.join()
    describe(a.conn, group)
    a.beat()
    b.join()
    describe(a.conn, group)
    t.topic("one", 6)
    t.say("one of the two is there")
    a.beat()
    describe(a.conn, group)
    t.topic("two", 6)
    t.say("both: each member gets half at its next heartbeat")
    b.beat()
    describe(a.conn, group)
    a.beat()
    describe(a.conn, group)


def grow(t, full, partitions):
    answer = t.quiet().ask("CreatePartitions", 2, TimeoutMs=10000, ValidateOnly=False,
                           Topics=[{"Name": full, "Count": partitions, "Assignments": None}])
    if not answer or answer["Results"][0]["ErrorCode"] != 0:
        raise ValueError(f"{full} does not grow: {answer}")
    t.wait_topic(full, partitions)


def remove(t, full):
    t.quiet().ask("DeleteTopics", 5, TopicNames=[full], TimeoutMs=10000)
    t.topics_changed = time.monotonic()


def wait_for_news(t):
    """Until a coordinator has heard of what changed."""
    t.pause(max(0.0, t.topics_changed + NEWS_SECONDS - time.monotonic()))


@script("streams.topic-events", "streams")
def topic_events(t):
    """A source topic grows, goes and comes back while two members run."""
    group, one, two = t.group("events"), t.topic("one", 6), t.topic("two", 6)
    top = topology(subtopology("0", [one]), subtopology("1", [two]))
    a, b = Member(t, group, "a", top), Member(t, group, "b", top)
    a.join()
    b.join()
    settle(a, b)
    describe(a.conn, group)
    t.say("it grows")
    grow(t, one, 12)
    a.beat()
    describe(a.conn, group)
    b.beat()
    a.beat()
    describe(a.conn, group)
    t.say("the other goes: everything is given up")
    remove(t, two)
    a.beat()
    describe(a.conn, group)
    b.beat()
    a.beat()
    a.ack()
    describe(a.conn, group)
    t.say("a newcomer, then B, which had not confirmed")
    c = Member(t, group, "c", top)
    c.join()
    b.beat()
    b.ack()
    describe(a.conn, group)
    c.leave()
    b.beat()
    t.say("it is back, smaller")
    t.topic("two", 4)
    b.beat()
    a.beat()
    describe(a.conn, group)


def beat_until_made(t, member, full, partitions):
    """Each heartbeat tries to make what misses; the first one may come while the topic is still being deleted."""
    for _ in range(20):
        if t.describe_topic(full)["ErrorCode"] == 0:
            break
        t.pause(1.0)
        if t.describe_topic(full)["ErrorCode"] != 0:
            member.conn.recorded = False
            member.beat()
            member.conn.recorded = True
    t.wait_topic(full, partitions)


@script("streams.event-times", "streams")
def event_times(t):
    """When changes of topics are acted on: Kafka sees them with the next heartbeat, and only what is left of them then."""
    group, one, two = t.group("times"), t.topic("one", 6), t.topic("two", 6)
    top = topology(subtopology("0", [one], [t.name("log")]), subtopology("1", [two]))
    a = Member(t, group, "a", top)
    a.join()
    t.wait_topic(t.name("log"), 6)
    a.beat()
    t.say("a source grows")
    grow(t, two, 12)
    wait_for_news(t)
    describe(a.conn, group)
    a.beat()
    describe(a.conn, group)
    t.say("gone and made again between two heartbeats: another topic of the same size")
    remove(t, two)
    wait_for_news(t)
    t.topic("two", 12)
    a.beat()
    describe(a.conn, group)
    t.say("an internal topic goes")
    remove(t, t.name("log"))
    wait_for_news(t)
    describe(a.conn, group)
    a.beat()
    beat_until_made(t, a, t.name("log"), 6)
    a.beat()
    a.ack()
    a.beat()
    describe(a.conn, group)
    t.say("the last member leaves while a source misses")
    remove(t, one)
    wait_for_news(t)
    a.leave()
    describe(a.conn, group)


@script("streams.topic-grows-in-interval", "streams")
def topic_grows_in_interval(t):
    """Topics change within the assignment interval."""
    group, one = t.group("grows"), t.topic("one", 2)
    group_config(t, group, **{"assignment.interval.ms": "6000"})
    a = Member(t, group, "a", topology(subtopology("0", [one])))
    a.join()
    grow(t, one, 3)
    a.beat()
    describe(a.conn, group)
    t.say("and goes")
    remove(t, one)
    a.beat()
    describe(a.conn, group)
    t.pause(6.2)
    a.beat()
    describe(a.conn, group)
    a.ack()


@script("streams.copartitions", "streams")
def copartitions(t):
    """Topics that must have equally many partitions, and do not."""
    two, four, also = t.topic("two", 2), t.topic("four", 4), t.topic("also", 4)
    cases = (
        ("two sources", [subtopology("0", [four, two], copartitions=[([0, 1], [])])]),
        ("three", [subtopology("0", [also, two, four], copartitions=[([0, 1, 2], [])])]),
        ("a source misses too: that is told alone", [subtopology("0", [four, two, t.name("none")], copartitions=[([0, 1, 2], [])])]),
        ("a fixed repartition topic beside a source", [subtopology("0", [two], sinks=[t.name("r1")]),
                                                       subtopology("1", [four], repartitions=[internal(t.name("r1"), 3)],
                                                                   copartitions=[([0], [0])])]),
        ("two fixed repartition topics", [subtopology("0", [two], sinks=[t.name("r2"), t.name("r3")]),
                                          subtopology("1", [], repartitions=[internal(t.name("r2"), 3), internal(t.name("r3"), 5)],
                                                      copartitions=[([], [0, 1])])]),
        ("an internal topic would have to be made, too", [subtopology("0", [four, two], [t.name("c1")], copartitions=[([0, 1], [])])]),
    )
    first = None
    for idx, (text, parts) in enumerate(cases):
        group = t.group(f"co-{idx}")
        t.say(text)
        a = Member(t, group, "a", topology(*parts))
        a.join()
        a.beat()
        describe(a.conn, group)
        first = a if idx == 0 else first
    t.say("it is put right")
    group = t.group("co-0")
    grow(t, two, 4)
    first.beat()
    describe(first.conn, group)


@script("streams.internal-topics", "streams")
def internal_topics(t):
    """Repartition and changelog topics are made by the coordinator: counts, the next heartbeat, those that exist already."""
    two, four = t.topic("two", 2), t.topic("four", 4)
    n = t.name
    cases = (
        ("an open repartition topic and its changelog", {"r1": 4, "c1": 4},
         [subtopology("0", [four], sinks=[n("r1")]),
          subtopology("1", [], [internal(n("c1"), configs=[("cleanup.policy", "compact")])], repartitions=[n("r1")])]),
        ("copartitioned with a source", {"r2": 4},
         [subtopology("0", [two], sinks=[n("r2")]),
          subtopology("1", [four], repartitions=[n("r2")], copartitions=[([0], [0])])]),
        ("a chain", {"r3": 4, "r4": 4, "c4": 4},
         [subtopology("0", [four], sinks=[n("r3")]), subtopology("1", [], sinks=[n("r4")], repartitions=[n("r3")]),
          subtopology("2", [], [n("c4")], repartitions=[n("r4")])]),
        ("a loop that a source resolves", {"r5": 4, "r6": 4},
         [subtopology("0", [four], sinks=[n("r6")], repartitions=[n("r5")]),
          subtopology("1", [], sinks=[n("r5")], repartitions=[n("r6")])]),
        ("a fixed repartition topic", {"r7": 3},
         [subtopology("0", [two], sinks=[n("r7")]), subtopology("1", [], repartitions=[internal(n("r7"), 3)])]),
        ("four changelogs: three are named", {"c5": 4, "c6": 4, "c7": 4, "c8": 2},
         [subtopology("0", [four], [n("c5"), n("c6"), n("c7")]), subtopology("1", [two], [n("c8")])]),
    )
    for idx, (text, made, parts) in enumerate(cases):
        group = t.group(f"int-{idx}")
        t.say(text)
        a = Member(t, group, "a", topology(*parts))
        a.join()
        for name, count in made.items():
            t.wait_topic(n(name), count)
            a.beat()
        describe(a.conn, group)
    t.say("how they were made")
    a.conn.ask("DescribeConfigs", 4, Resources=[{"ResourceType": 2, "ResourceName": n("c1"), "ConfigurationKeys": ["cleanup.policy"]}])
    t.say("the source grows: the internal topic does not fit any more until it is grown by hand")
    group = t.group("int-1")
    a = Member(t, group, "b", topology(*cases[1][2]))
    a.join()
    settle(a)
    grow(t, four, 6)
    a.beat()
    a.ack()
    a.beat()
    describe(a.conn, group)
    grow(t, n("r2"), 6)
    a.beat()
    describe(a.conn, group)
    for name, exists, parts in (("a changelog of another count", "x1", [subtopology("0", [two], [n("x1")])]),
                                ("an open repartition topic of another count", "x2",
                                 [subtopology("0", [two], sinks=[n("x2")]), subtopology("1", [], repartitions=[n("x2")])]),
                                ("a fixed one", "x3", [subtopology("0", [two], sinks=[n("x3")]),
                                                       subtopology("1", [], repartitions=[internal(n("x3"), 5)])])):
        t.topic(exists, 3)
        group = t.group(f"has-{exists}")
        t.say(f"there is {name} already")
        b = Member(t, group, "b", topology(*parts))
        b.join()
        b.beat()
        describe(b.conn, group)


@script("streams.internal-topics-fail", "streams")
def internal_topics_fail(t):
    """Internal topics that cannot be made: the reason is told from the next heartbeat on."""
    source, n = t.topic("in", 2), t.name
    nonsense, unknown = [("cleanup.policy", "nonsense")], [("no.such", "x")]
    first = None
    for idx, logs in enumerate(([internal(n("c1"), configs=nonsense)], [internal(n("c2"), configs=unknown)],
                                [internal(n("c3"), configs=nonsense), internal(n("c4"), configs=unknown), internal(n("c5"))])):
        group = t.group(f"fail-{idx}")
        a = Member(t, group, "a", topology(subtopology("0", [source], logs)))
        a.join()
        t.pause(1.5)
        a.beat()
        describe(a.conn, group)
        t.pause(1.5)
        a.beat()
        first = first or a
    t.say("the topic is made by hand")
    t.topic("c1", 2)
    first.beat()
    describe(first.conn, first.group)


@script("streams.regex", "streams")
def regex(t):
    """Source topics by regular expressions, which Kafka 4.4.0 refuses."""
    source = t.topic("in", 2)
    for idx, (sources, regexes) in enumerate((([source], ["in.*"]), ([], ["in.*"]), ([source], ["("]), ([source], [""]))):
        group = t.group(f"regex-{idx}")
        a = Member(t, group, "a", topology(subtopology("0", sources, regexes=regexes)))
        a.join()
        describe(a.conn, group)


@script("streams.delay-not-ready", "streams")
def delay_not_ready(t):
    """The initial delay and a topology that is not ready: both are told; which comes first to its end."""
    source, late = t.topic("in", 2), t.name("late")
    group = t.group("delay-1")
    group_config(t, group, **{"initial.rebalance.delay.ms": "3500"})
    a = Member(t, group, "a", topology(subtopology("0", [source], [t.name("c1")])))
    a.join()
    t.wait_topic(t.name("c1"), 2)
    t.say("ready before the delay ends")
    a.beat()
    describe(a.conn, group)
    t.pause(3.5)
    describe(a.conn, group)
    a.beat()
    group = t.group("delay-2")
    group_config(t, group, **{"initial.rebalance.delay.ms": "1500"})
    t.say("not ready when the delay ends: nothing is computed until a heartbeat")
    a = Member(t, group, "a", topology(subtopology("0", [late])))
    a.join()
    t.pause(1.9)
    describe(a.conn, group)
    a.beat()
    describe(a.conn, group)
    t.topic("late", 2)
    a.beat()
    describe(a.conn, group)
