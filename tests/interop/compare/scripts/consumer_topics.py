"""Consumer groups: topics that come, grow, go and come back; regular expressions on the server."""
import time

from lib.consumer import Member, describe
from lib.members import quietly, settle, wait_for_topics
from lib.registry import script
from scripts.consumer_join import group_config, trio

# Kafka looks at the topics of a group's expressions again with the first heartbeat ten seconds after the last time.
REFRESH_SECONDS = 10.5


def grow(t, full, count):
    t.quiet().ask("CreatePartitions", 2, Topics=[{"Name": full, "Count": count, "Assignments": None}],
                  TimeoutMs=10000, ValidateOnly=False)
    t.wait_topic(full, count)


def remove(t, full):
    t.quiet().ask("DeleteTopics", 5, TopicNames=[full], TimeoutMs=10000)
    t.topics_changed = time.monotonic()


def resolve(t):
    """Until what a heartbeat asked for was looked up beside it."""
    t.pause(1.0)


def refresh(t, member, since):
    """Until the topics of expressions were looked at again, which a heartbeat has to start."""
    t.pause(max(0.0, since + REFRESH_SECONDS - time.monotonic()))
    quietly(member, "beat")
    resolve(t)


@script("consumer.topic-events", "consumer")
def topic_events(t):
    """B26: topics grow, go and come back, while two members run."""
    group, one, two = t.group("events"), t.topic("one", 6), t.topic("two", 6)
    a, b = Member(t, group, "a", [one]), Member(t, group, "b", [two])
    a.join()
    b.join()
    settle(a, b)
    describe(a.conn, group)
    t.say("it grows: the one whose it is has it with the next heartbeat, the other one a new epoch")
    grow(t, one, 12)
    b.beat()
    a.beat()
    describe(a.conn, group)
    t.say("the other goes: the one whose it was is told, and confirms")
    remove(t, two)
    a.beat()
    describe(a.conn, group)
    b.beat()
    b.beat()
    describe(a.conn, group)
    b.ack()
    describe(a.conn, group)
    t.say("a newcomer to the first, and the second comes back, smaller, as another topic")
    c = Member(t, group, "c", [one, two])
    c.join()
    a.beat()
    t.topic("two", 4)
    b.beat()
    describe(a.conn, group)
    a.beat()
    a.ack()
    c.beat()
    settle(a, b, c)
    describe(a.conn, group)


@script("consumer.event-times", "consumer")
def event_times(t):
    """What Kafka does once, with the next heartbeat, happens here when the topic changes: two changes are two epochs."""
    group, one = t.group("event-times"), t.topic("one", 6)
    a, b = trio(t, group, [one], "ab")
    a.join()
    b.join()
    settle(a, b)
    grow(t, one, 8)
    wait_for_topics(t)
    grow(t, one, 12)
    wait_for_topics(t)
    a.leave()
    b.beat()
    describe(b.conn, group)


@script("consumer.topic-recreated", "consumer")
def topic_recreated(t):
    """B26: one partition, then three, then none, then two under another id; what was committed goes with the topic."""
    t.exact = True
    group, topic = t.group("recreated"), t.topic("rt", 1)
    old = t.topic_id(topic)
    a = Member(t, group, "a", [topic])
    a.join()
    t.commit(a.conn, group, [(topic, 0, 7)], a.epoch, "a")
    grow(t, topic, 3)
    a.beat()
    t.say("gone")
    remove(t, topic)
    a.beat()
    describe(a.conn, group)
    t.fetch(a.conn, group, None)
    a.ack()
    a.beat()
    t.say("back")
    t.topic("rt", 2)
    a.beat()
    describe(a.conn, group)
    t.fetch(a.conn, group, {topic: [0, 1]}, member="a", epoch=a.epoch)
    t.commit(a.conn, group, [(old, 0, 8)], a.epoch, "a", version=10)
    a.full()


@script("consumer.topic-late", "consumer")
def topic_late(t):
    """A topic that is subscribed to before it is there; topics of members that are not settled; describe without heartbeats."""
    group, late, one = t.group("late"), t.name("late"), t.topic("one", 6)
    a, b = trio(t, group, [late, one], "ab")
    a.join()
    b.join()
    a.beat()
    t.say("it comes while A has to confirm")
    t.topic("late", 6)
    b.beat()
    a.beat()
    describe(a.conn, group)
    a.ack()
    a.beat()
    b.beat()
    settle(a, b)
    describe(a.conn, group)
    t.say("it goes; nobody beats")
    remove(t, late)
    wait_for_topics(t)
    a.conn.recorded = False
    row = describe(a.conn, group)["Groups"][0]
    a.conn.recorded = True
    for name in ("Assignment", "TargetAssignment"):
        left = sum(len(p["Partitions"]) for m in row["Members"] for p in m[name]["TopicPartitions"])
        t.step(f"partitions that are left: {name}", "").lines.append(("~count", str(left)))


@script("consumer.topic-interval", "consumer")
def topic_interval(t):
    """A topic grows within the assignment interval: the group's epoch rises at once, members get it after the interval."""
    group, topic = t.group("growth"), t.topic("in", 2)
    group_config(t, group, **{"assignment.interval.ms": "6000"})
    a = Member(t, group, "a", [topic])
    wait_for_topics(t)
    a.join()
    grow(t, topic, 4)
    a.beat()
    describe(a.conn, group)
    t.pause(4.5)
    a.beat()
    describe(a.conn, group)


@script("consumer.regex", "consumer")
def regex(t):
    """B15: a join by regular expression is answered with nothing, the next heartbeat with its topics; whole names only."""
    group, prefix = t.group("regex"), t.prefix
    t.topic("in1", 4)
    t.topic("in2", 2)
    t.topic("in1x", 1)
    wait_for_topics(t)
    a, b = trio(t, group, None, "ab", regex=prefix + "in[0-9]", ServerAssignor="range")
    a.join()
    resolve(t)
    describe(a.conn, group)
    a.beat()
    describe(a.conn, group)
    a.beat()
    t.say("a second one with the same expression has its topics at once")
    b.join()
    a.beat()
    a.ack()
    b.beat()
    describe(a.conn, group)
    t.say("no expression any more: gives up everything")
    b.beat(SubscribedTopicRegex="")
    describe(a.conn, group)
    b.ack()
    a.beat()
    describe(a.conn, group)
    t.say("the expression the group knows, again")
    b.beat(SubscribedTopicRegex=prefix + "in[0-9]")
    settle(a, b)
    describe(a.conn, group)
    t.say("everything again, with and without the expression")
    b.full()
    b.beat(RebalanceTimeoutMs=300000, SubscribedTopicNames=[], TopicPartitions=[])
    b.full(SubscribedTopicRegex="")
    b.leave()
    a.leave()
    describe(a.conn, group)


@script("consumer.regex-late", "consumer")
def regex_late(t):
    """B15: an expression that matches nothing, until a topic comes; the topic goes."""
    group, prefix = t.group("regex-late"), t.prefix
    a = Member(t, group, "a", regex=prefix + "late.*7")
    a.join()
    since = time.monotonic()
    resolve(t)
    describe(a.conn, group)
    a.beat()
    t.topic("late7", 2)
    t.topic("late7x", 1)
    wait_for_topics(t)
    refresh(t, a, since)
    since = time.monotonic()
    quietly(a, "beat")
    a.full()
    describe(a.conn, group)
    t.say("another one that matches")
    t.topic("late-of-7", 2)
    refresh(t, a, since)
    quietly(a, "beat")
    a.full()
    describe(a.conn, group)
    t.say("the first goes")
    remove(t, prefix + "late7")
    a.beat()
    a.ack()
    describe(a.conn, group)


@script("consumer.regex-and-names", "consumer")
def regex_and_names(t):
    """Names and an expression together: the names count at once; changes of either."""
    group, prefix = t.group("both"), t.prefix
    one, two = t.topic("one", 4), t.topic("two", 4)
    wait_for_topics(t)
    a = Member(t, group, "a", [one], prefix + "tw.*")
    a.join()
    resolve(t)
    describe(a.conn, group)
    a.beat()
    t.say("a name that the expression has already")
    a.beat(SubscribedTopicNames=[one, two])
    a.beat(SubscribedTopicNames=[two])
    a.ack()
    describe(a.conn, group)
    t.say("without the expression, then without the name")
    a.beat(SubscribedTopicRegex="")
    describe(a.conn, group)
    a.beat(SubscribedTopicNames=[])
    a.ack()
    describe(a.conn, group)


@script("consumer.regex-changes", "consumer")
def regex_changes(t):
    """A member changes its expression to one that has to be looked up first."""
    group, prefix = t.group("regex-changes"), t.prefix
    t.topic("one", 4)
    t.topic("two", 4)
    wait_for_topics(t)
    a = Member(t, group, "a", regex=prefix + "one")
    a.join()
    since = time.monotonic()
    resolve(t)
    a.beat()
    t.say("what it has of no topic any more it has to give up at once")
    a.beat(SubscribedTopicRegex=prefix + "t.o")
    refresh(t, a, since)
    quietly(a, "beat", "ack")
    a.full(SubscribedTopicRegex=prefix + "t.o")
    describe(a.conn, group)
    t.say("a static member comes back with another expression")
    s = Member(t, t.group("regex-static"), "s", regex=prefix + "one", instance="i")
    s.join()
    since = time.monotonic()
    resolve(t)
    s.beat()
    s.leave(-2)
    again = Member(t, s.group, "again", regex=prefix + "two", instance="i")
    again.join()
    refresh(t, again, since)
    quietly(again, "beat", "ack")
    again.full()
    describe(s.conn, s.group)


def matched(t, *texts):
    """A group for each expression; each is told what of the topics it takes."""
    rows = [Member(t, t.group(f"odd-{n}"), "m", regex=f"(?:{t.prefix})(?:{text})") for n, text in enumerate(texts)]
    for m in rows:
        m.join()
    resolve(t)
    for m in rows:
        m.beat()
        m.leave()


@script("consumer.regex-odd", "consumer")
def regex_odd(t):
    """Expressions of all kinds, and which of these topics each takes."""
    for name in ("ab", "AB", "a.b", "a-b", "abab", "b1"):
        t.topic(name, 1)
    wait_for_topics(t)
    matched(t, "ab|b1", "(?i)ab", "a.b", "a\\.b", "(ab)+", "(?:ab){2}", "[[:alpha:]]+", "\\w+", "\\pL+", "ab$", "^ab",
            "(?P<n>ab)", "\\Qa.b\\E", ".*", "a?b1", "[^.]*", "")


@script("consumer.regex-named", "consumer")
def regex_named(t):
    """The younger form of named groups."""
    t.topic("ab", 1)
    wait_for_topics(t)
    matched(t, "(?<n>ab)")
