"""Consumer groups: heartbeats that are refused, and which of two faults is told."""
from lib.consumer import Member, describe
from lib.registry import script

ABSENT = object()


def attempt(member, version=1, **fields):
    """A join with some fields changed or left out; who got in leaves again."""
    member.version = version
    full = {**member.joining(), **fields}
    answer = member.send(**{k: v for k, v in full.items() if v is not ABSENT})
    if answer["ErrorCode"] == 0 and answer["MemberEpoch"] > 0:
        member.conn.recorded = False
        member.conn.ask("ConsumerGroupHeartbeat", 1, GroupId=member.group, MemberId=answer["MemberId"], MemberEpoch=-1)
        member.conn.recorded = True
    return answer


@script("consumer.refused", "consumer")
def refused(t):
    """Every check of a request, versions 0 and 1."""
    group, topics = t.group("refused"), [t.topic("in", 4)]
    a, x = Member(t, group, "a", topics), Member(t, group, "x", topics)
    a.join()
    owned = a.report()["TopicPartitions"]
    empty = [{"TopicId": owned[0]["TopicId"], "Partitions": []}]
    for version in (0, 1):
        t.say(f"joins, version {version}")
        for fields in ({"GroupId": ""}, {"GroupId": " "}, {"InstanceId": ""}, {"InstanceId": " "}, {"RackId": ""},
                       {"RackId": " "}, {"RebalanceTimeoutMs": -1}, {"RebalanceTimeoutMs": ABSENT},
                       {"SubscribedTopicNames": ABSENT}, {"TopicPartitions": ABSENT}, {"TopicPartitions": owned},
                       {"TopicPartitions": empty}, {"ServerAssignor": ""}, {"ServerAssignor": "nope"},
                       {"ServerAssignor": "UNIFORM"}):
            attempt(x, version, **fields)
        t.say("a stranger's other epochs")
        for fields in ({"MemberEpoch": -3}, {"MemberEpoch": -2}, {"MemberEpoch": -2, "InstanceId": "i"},
                       {"MemberEpoch": -1}, {"MemberEpoch": -1, "InstanceId": "i"}, {"MemberEpoch": 5},
                       {"MemberEpoch": 5, "InstanceId": "i"}, {"MemberEpoch": 5, "GroupId": t.group("none")},
                       {"MemberEpoch": -1, "GroupId": t.group("none")},
                       {"MemberEpoch": -2, "InstanceId": "i", "GroupId": t.group("none")}):
            attempt(x, version, **fields)
    t.say("without a member id")
    x.id = ""
    for fields in ({}, {"MemberEpoch": -1}, {"MemberEpoch": 5}, {"MemberEpoch": -2, "InstanceId": "i"}):
        attempt(x, 1, **fields)
    for fields in ({"MemberEpoch": -1}, {"MemberEpoch": 5}, {"MemberEpoch": -2, "InstanceId": "i"}):
        attempt(x, 0, **fields)
    attempt(x, 1, MemberId=" ")
    t.say("odd, but granted")
    x.id = "x"
    for fields in ({"RebalanceTimeoutMs": 0}, {"RebalanceTimeoutMs": -2}, {"SubscribedTopicNames": [""]},
                   {"SubscribedTopicNames": ["a b"]}, {"SubscribedTopicNames": topics * 2}):
        a.join()
        attempt(x, 1, **fields)
    describe(a.conn, group)


@script("consumer.regex-refused", "consumer")
def regex_refused(t):
    """B15: regular expressions of another dialect than RE2's."""
    group = t.group("regex-refused")
    x = Member(t, group, "x")
    for text in ("(a", "[", "[b-a]", "*", "+a", "a**", "a{1001}", "a{2,1}", "(?=a)b", "(?!a)b", "(a)\\1", "\\", "\\8",
                 "(?-u)a", "\\p{Nope}", "(?P<>a)", "[[:nope:]]", "(?z)"):
        x.join(SubscribedTopicRegex=text)
    describe(x.conn, group)
    t.say("a member's own")
    x.join(SubscribedTopicNames=[])
    x.beat(SubscribedTopicRegex="(a")
    x.beat(MemberEpoch=9, SubscribedTopicRegex="(a")
    describe(x.conn, group)


@script("consumer.regex-words", "consumer")
def regex_words(t):
    """Expressions that RE2 in C++ and RE2/J refuse with other words."""
    x = Member(t, t.group("regex-words"), "x")
    for text in ("a)", "(?<=a)b", "(?P<n>a)(?P<n>b)"):
        x.join(SubscribedTopicRegex=text)
    describe(x.conn, x.group)


@script("consumer.refused-member", "consumer")
def refused_member(t):
    """A member's heartbeats with something wrong; none of them changes anything."""
    group, topics = t.group("member"), [t.topic("in", 4)]
    a = Member(t, group, "a", topics)
    a.join()
    for fields in ({"MemberEpoch": 99}, {"MemberEpoch": 1}, {"MemberEpoch": -2}, {"MemberEpoch": -3}, {"RackId": ""},
                   {"InstanceId": "i"}, {"InstanceId": ""}, {"ServerAssignor": "nope"}, {"ServerAssignor": ""},
                   {"MemberEpoch": 99, "ServerAssignor": "nope"}, {"MemberEpoch": 0},
                   {"MemberEpoch": 0, "RebalanceTimeoutMs": 5000}, {"MemberEpoch": -1, "InstanceId": "i"},
                   {"MemberEpoch": -1, "RackId": ""}, {"MemberEpoch": 99, "InstanceId": "i"},
                   {"MemberEpoch": 99, "SubscribedTopicNames": ["q"]}):
        a.beat(**fields)
    describe(a.conn, group)


@script("consumer.order-of-checks", "consumer")
def order_of_checks(t):
    """Two faults at once: which is told."""
    group, topics = t.group("order"), [t.topic("in", 4)]
    a, x = Member(t, group, "a", topics), Member(t, group, "x", topics)
    a.join()
    bad = {"ServerAssignor": "nope"}
    for fields in ({"GroupId": "", "MemberId": ""}, {"MemberId": "", "InstanceId": ""}, {"InstanceId": "", "RackId": ""},
                   {"GroupId": "", "InstanceId": ""}, {"RackId": "", "MemberEpoch": -3},
                   {"InstanceId": "", "MemberEpoch": -3}, {"MemberId": "", "MemberEpoch": -3},
                   {"MemberEpoch": -2, "RackId": ""}, {"RebalanceTimeoutMs": -1, "SubscribedTopicNames": ABSENT},
                   {"RebalanceTimeoutMs": -1, "TopicPartitions": ABSENT},
                   {"SubscribedTopicNames": ABSENT, "TopicPartitions": ABSENT}, {"RebalanceTimeoutMs": -1, **bad},
                   {"SubscribedTopicNames": ABSENT, **bad}, {"TopicPartitions": ABSENT, **bad}, {"RackId": "", **bad},
                   {"RebalanceTimeoutMs": -1, "RackId": ""}, {"SubscribedTopicRegex": "(a", **bad},
                   {"MemberEpoch": 5, **bad}, {"MemberEpoch": 5, "SubscribedTopicRegex": "(a"},
                   {"MemberEpoch": 5, "GroupId": t.group("none"), "SubscribedTopicRegex": "(a"}, {"MemberEpoch": -1, **bad},
                   {"MemberEpoch": -2, **bad}, {"MemberEpoch": -3, **bad}, {"MemberEpoch": 5, "RackId": ""}):
        attempt(x, **fields)
    t.say("a refused join makes no group")
    for name, fields in (("one", {"SubscribedTopicRegex": "(a"}), ("two", bad), ("three", {"TopicPartitions": ABSENT})):
        y = Member(t, t.group(name), "y", topics)
        attempt(y, **fields)
        describe(y.conn, y.group)
    t.say("an instance that is taken, with a bad expression")
    s, u = Member(t, group, "s", topics, instance="i"), Member(t, group, "u", topics, instance="i")
    s.join()
    u.join(SubscribedTopicRegex="(a")
    u.join(ServerAssignor="nope")
    u.send(MemberEpoch=2)
    u.send(MemberEpoch=99, SubscribedTopicRegex="(a")
    describe(a.conn, group)
