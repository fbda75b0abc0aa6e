"""OffsetCommit, OffsetFetch and OffsetDelete."""
import struct

from lib.registry import script


def subscription(topics, version=0):
    """A consumer's subscription as the consumer protocol writes it: version, topics, user data."""
    out = struct.pack(">hi", version, len(topics))
    for topic in topics:
        out += struct.pack(">h", len(topic)) + topic.encode()
    return out + struct.pack(">i", -1)


@script("offsets.commit-versions")
def commit_versions(t):
    """A simple commit and its fetch, through every version; v10 names topics by id."""
    topic = t.topic("co", 3)
    digits = t.topic_id(topic)
    a = t.conn("A", t.group("commit"))
    for version in range(2, 11):
        group = t.group(f"commit-v{version}")
        a = t.conn("A", group)
        t.commit(a, group, [(digits if version >= 10 else topic, 0, 100 + version, f"m{version}", 3),
                            (digits if version >= 10 else topic, 2, 200 + version)], version=version)
        for reader in range(1, 11):
            if reader in (version, 10, 5):
                t.fetch(a, group, {digits if reader >= 10 else topic: [0, 1, 2]}, version=reader)


@script("offsets.fetch-versions")
def fetch_versions(t):
    """Every version of OffsetFetch: named partitions, null for all, empty lists, unknown topics, partitions, groups."""
    topic, other = t.topic("fe", 2), t.topic("fe2", 1)
    ids = {name: t.topic_id(name) for name in (topic, other)}
    ghost = "7" * 32
    group = t.group("fetch")
    a = t.conn("A", group)
    t.commit(a, group, [(topic, 0, 5, "x y", 3), (topic, 1, 6, None, -1), (other, 0, 7, "")])
    for version in range(1, 11):
        def name(full):
            return ids.get(full, ghost) if version >= 10 else full
        t.fetch(a, group, {name(topic): [0, 1, 9], name(t.name("nothing")): [0]}, version=version)
        t.fetch(a, group, {}, version=version)
        t.fetch(a, group, {name(topic): []}, version=version)
        if version >= 2:
            t.fetch(a, group, None, version=version)
        t.say("a group that is not")
        t.fetch(a, t.group("fetch-none"), {name(topic): [0]}, version=version)
        if version >= 2:
            t.fetch(a, t.group("fetch-none"), None, version=version)
        if version >= 7:
            t.fetch(a, group, {name(topic): [0]}, version=version, stable=True)
        t.say("the empty group id")
        t.fetch(a, "", {name(topic): [0]}, version=version)


@script("offsets.fetch-batch")
def fetch_batch(t):
    """OffsetFetch v8 and later: several groups in one request, the same group twice, none at all."""
    topic = t.topic("ba", 2)
    group = t.group("batch")
    a = t.conn("A", group)
    t.commit(a, group, [(topic, 0, 5)])
    for version in (8, 9):
        a.ask("OffsetFetch", version, Groups=[])
        a.ask("OffsetFetch", version, Groups=[
            {"GroupId": group, "Topics": [{"Name": topic, "PartitionIndexes": [0, 1]}]},
            {"GroupId": group, "Topics": None}])
        a.ask("OffsetFetch", version, Groups=[
            {"GroupId": group, "Topics": [{"Name": topic, "PartitionIndexes": [1]},
                                          {"Name": topic, "PartitionIndexes": [0, 0]}]}], RequireStable=True)
        a.ask("OffsetFetch", version, Groups=[{"GroupId": group, "Topics": [{"Name": "", "PartitionIndexes": [0]}]}])
    t.say("a member id and epoch for a simple group, for a group that is not, for the null member")
    a.ask("OffsetFetch", 9, Groups=[{"GroupId": group, "MemberId": "m", "MemberEpoch": 1,
                                     "Topics": [{"Name": topic, "PartitionIndexes": [0]}]}])
    a.ask("OffsetFetch", 9, Groups=[{"GroupId": t.group("none"), "MemberId": "m", "MemberEpoch": 1,
                                     "Topics": [{"Name": topic, "PartitionIndexes": [0]}]}])
    a.ask("OffsetFetch", 9, Groups=[{"GroupId": group, "MemberEpoch": -1,
                                     "Topics": [{"Name": topic, "PartitionIndexes": [0]}]}])
    a.ask("OffsetFetch", 9, Groups=[{"GroupId": group, "MemberId": "", "MemberEpoch": 5,
                                     "Topics": [{"Name": topic, "PartitionIndexes": [0]}]}])


@script("offsets.commit-simple")
def commit_simple(t):
    """Commits without members: the simple group, what it looks like, what is accepted in it."""
    topic = t.topic("si", 2)
    group = t.group("simple")
    a = t.conn("A", group)
    t.say("to a group that is not: with a generation, with a member, with both")
    t.commit(a, group, [(topic, 0, 1)], generation=1, version=9)
    t.commit(a, group, [(topic, 0, 1)], generation=1, version=8)
    t.commit(a, group, [(topic, 0, 1)], generation=1, version=2)
    t.commit(a, group, [(topic, 0, 1)], generation=1, member="m", version=9)
    t.commit(a, group, [(topic, 0, 1)], generation=1, member="m", version=8)
    t.commit(a, group, [(topic, 0, 1)], generation=-1, member="m", version=9)
    t.commit(a, group, [(topic, 0, 1)], generation=-1, member="m", version=8)
    t.commit(a, group, [(topic, 0, 1)], generation=0, version=9)
    t.commit(a, group, [(topic, 0, 1)], generation=-2, version=9)
    t.say("zero topics: nothing is made")
    t.commit(a, group, [], version=9)
    t.commit(a, group, [], version=2)
    t.describe(a, group)
    t.say("generation -1 and no member: the simple group")
    t.commit(a, group, [(topic, 0, 1)])
    t.describe(a, group)
    t.list_groups(5)
    t.say("what a simple group takes and what not")
    t.commit(a, group, [(topic, 0, 2)], generation=0)
    t.commit(a, group, [(topic, 0, 2)], generation=1)
    t.commit(a, group, [(topic, 0, 2)], generation=1, member="m")
    t.commit(a, group, [(topic, 0, 2)], generation=-1, member="m")
    t.commit(a, group, [(topic, 0, 2)], generation=-5)
    t.commit(a, group, [(topic, 0, 3)], version=2, retention=1000)
    t.say("negative and large offsets, negative leader epochs")
    t.commit(a, group, [(topic, 0, -1), (topic, 1, -7)])
    t.fetch(a, group, {topic: [0, 1]})
    t.commit(a, group, [(topic, 0, 2**63 - 1), (topic, 1, 0, "", -9)])
    t.fetch(a, group, {topic: [0, 1]})
    t.say("a member joins the simple group: it becomes a consumer group, the offsets stay")
    one, generation = t.stable_one(a, group, 3)
    t.describe(a, group)
    t.fetch(a, group, {topic: [0, 1]})
    t.say("with members: without an id, with an instance only, with the old form")
    t.commit(a, group, [(topic, 0, 4)])
    t.commit(a, group, [(topic, 0, 4)], instance="i1")
    t.commit(a, group, [(topic, 0, 4)], version=2)
    t.commit(a, group, [(topic, 0, 4)], generation=generation)
    t.commit(a, group, [(topic, 0, 4)], generation=-1, member=one)
    t.commit(a, group, [(topic, 0, 4)], generation=generation, member=one)
    t.leave(a, group, [one])
    t.say("empty again")
    t.commit(a, group, [(topic, 0, 5)])
    t.commit(a, group, [(topic, 0, 5)], generation=generation, member=one)
    t.commit(a, group, [(topic, 0, 5)], generation=generation + 1, member=one)
    t.fetch(a, group, None)


@script("offsets.commit-member")
def commit_member(t):
    """Commits of members: each version, wrong generations, in each state."""
    topic = t.topic("me", 2)
    digits = t.topic_id(topic)
    group = t.group("member")
    (a, one), (b, two), generation = t.stable_pair(group)
    for version in range(2, 11):
        t.commit(a, group, [(digits if version >= 10 else topic, 0, version)], generation, one, version=version)
    t.say("any partition, not only one's own; the generations around; strangers")
    t.commit(b, group, [(topic, 0, 50), (topic, 1, 51)], generation, two)
    t.commit(b, group, [(topic, 0, 50)], generation - 1, two)
    t.commit(b, group, [(topic, 0, 50)], generation + 1, two)
    t.commit(b, group, [(topic, 0, 50)], generation, "nobody")
    t.commit(b, group, [(topic, 0, 50)], generation + 1, "nobody")
    t.commit(b, group, [(topic, 0, 50)], generation, two, instance="i1")
    t.commit(b, group, [(topic, 0, 50)], generation, "")
    t.say("an id given out but not joined")
    c = t.conn("C", group)
    three = t.join(c, group)["MemberId"]
    t.commit(c, group, [(topic, 0, 52)], generation, three)
    t.commit(c, group, [(topic, 0, 52)], -1, three)
    t.say("PreparingRebalance")
    joining = t.send_join(c, group, member=three).still_waiting(0.3)
    o = t.conn("O", group)
    t.commit(a, group, [(topic, 0, 60)], generation, one)
    t.commit(o, group, [(topic, 0, 61)], generation, three)
    t.commit(o, group, [(topic, 0, 61)])
    waiting = t.send_join(b, group, 3, member=two).still_waiting(0.2)
    again = t.join(a, group, 3, member=one)
    joining.wait()
    waiting.wait()
    t.say("CompletingRebalance")
    t.commit(a, group, [(topic, 0, 62)], again["GenerationId"], one)
    t.commit(a, group, [(topic, 0, 62)], generation, one)
    t.commit(a, group, [(topic, 0, 62)], again["GenerationId"], "nobody")
    t.commit(a, group, [(topic, 0, 62)])
    t.fetch(a, group, {topic: [0, 1]})


@script("offsets.commit-bad-partition")
def commit_bad_partition(t):
    """KAFKA-16371: one bad partition in a commit does not poison the others."""
    topic, other = t.topic("ta", 2), t.topic("tb", 3)
    group = t.group("bad")
    a = t.conn("A", group)
    t.commit(a, group, [(topic, 0, 1, "m" * 4097), (topic, 1, 7, None), (other, 2, 0, "m" * 4096),
                        (t.name("unknown"), 0, 1), (other, 99, 1), (other, -1, 1)])
    t.fetch(a, group, {topic: [0, 1], other: [2]}, stable=True)
    t.say("by id: an unknown id, the zero id, a known one")
    t.commit(a, group, [("7" * 32, 0, 1), ("0" * 32, 0, 1), (t.topic_id(topic), 0, 9), (t.topic_id(topic), 5, 9)],
             version=10)
    t.fetch(a, group, {t.topic_id(topic): [0, 5], "7" * 32: [0], "0" * 32: [0]}, version=10)
    t.say("the same partition twice: the last one stays")
    a.ask("OffsetCommit", 9, GroupId=group, Topics=[
        {"Name": topic, "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 1},
                                       {"PartitionIndex": 0, "CommittedOffset": 2}]},
        {"Name": topic, "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 3}]}])
    t.fetch(a, group, {topic: [0]})
    t.say("names that no topic can have")
    t.commit(a, group, [("", 0, 1), ("a b", 0, 1), ("..", 0, 1)])
    t.say("only unknown topics: nothing is made")
    t.commit(a, t.group("bad-2"), [(t.name("unknown"), 0, 1)])
    t.describe(a, t.group("bad-2"))


@script("offsets.metadata-limit", "limits")
def metadata_limit(t):
    """offset.metadata.max.bytes counts UTF-16 units, whatever its name says."""
    topic = t.topic("li", 6)
    group = t.group("limit")
    a = t.conn("A", group)
    t.commit(a, group, [(topic, 0, 1, "m" * 64), (topic, 1, 1, "m" * 65), (topic, 2, 1, "\u00e9" * 32),
                        (topic, 3, 1, "\u00e9" * 64), (topic, 4, 1, "\u00e9" * 65)])
    t.commit(a, group, [(topic, 4, 1, "\U0001f600" * 32), (topic, 5, 1, "\U0001f600" * 33)])
    t.fetch(a, group, {topic: [0, 1, 2, 3, 4, 5]})


@script("offsets.instance-without-generation")
def instance_without_generation(t):
    """KAFKA-14201, KAFKA-6773: generation -1 with an instance id; the empty group id."""
    topic = t.topic("in", 1)
    group = t.group("instance")
    a = t.conn("A", group)
    t.commit(a, group, [(topic, 0, 1)], instance="i1")
    t.describe(a, group)
    one, generation = t.stable_one(a, group, 9, instance="i1")
    t.commit(a, group, [(topic, 0, 2)], instance="i1")
    t.commit(a, group, [(topic, 0, 2)], instance="i2")
    t.commit(a, group, [(topic, 0, 3)], generation, one, instance="i1")
    t.say("the empty group id")
    e = t.conn("E", "")
    t.commit(e, "", [(topic, 0, 5)])
    t.fetch(e, "", {topic: [0]})
    t.fetch(e, "", {topic: [0]}, version=1)
    t.describe(e, "", 5)
    t.describe(e, "", 6)
    t.commit(e, "", [(topic, 0, 5)], generation=1, member="m")
    e.ask("OffsetDelete", 0, GroupId="", Topics=[{"Name": topic, "Partitions": [{"PartitionIndex": 0}]}])
    e.ask("DeleteGroups", 2, GroupsNames=[""])
    e.ask("DeleteGroups", 2, GroupsNames=[""])
    t.join(e, "")


@script("offsets.delete")
def delete(t):
    """OffsetDelete: unknown groups and topics, subscribed topics, other group types."""
    topic, other = t.topic("de", 2), t.topic("de2", 1)
    group = t.group("delete")
    a = t.conn("A", group)

    def drop(name, partitions, where=group):
        return a.ask("OffsetDelete", 0, GroupId=where, Topics=[
            {"Name": name, "Partitions": [{"PartitionIndex": p} for p in partitions]}])

    t.say("no such group")
    drop(topic, [0])
    t.commit(a, group, [(topic, 0, 1), (topic, 1, 2), (other, 0, 3)])
    t.say("a simple group: offsets, one that is not there, a partition and a topic that are not")
    drop(topic, [0, 7])
    drop(topic, [0])
    drop(t.name("nothing"), [0])
    a.ask("OffsetDelete", 0, GroupId=group, Topics=[])
    t.fetch(a, group, None)
    t.say("a member that subscribes to one of the topics")
    one, generation = t.stable_one(a, group, 3, metadata=subscription([topic]))
    t.commit(a, group, [(topic, 0, 4), (other, 0, 5)], generation, one)
    a.ask("OffsetDelete", 0, GroupId=group, Topics=[
        {"Name": topic, "Partitions": [{"PartitionIndex": 0}, {"PartitionIndex": 1}]},
        {"Name": other, "Partitions": [{"PartitionIndex": 0}]},
        {"Name": t.name("nothing"), "Partitions": [{"PartitionIndex": 0}]}])
    t.fetch(a, group, None)
    t.say("CompletingRebalance and PreparingRebalance: the subscription counts there too")
    again = t.join(a, group, 3, member=one, protocols=[("range", subscription([topic]))])
    drop(topic, [0])
    b = t.conn("B", group)
    t.send_join(b, group, 3, protocols=[("range", subscription([other]))]).still_waiting(0.2)
    drop(topic, [0])
    t.leave(a, group, [one])
    t.say("a member whose metadata nobody can read: every topic counts as subscribed")
    odd = t.group("delete-odd")
    a = t.conn("A", odd)
    t.commit(a, odd, [(topic, 0, 1)])
    one, generation = t.stable_one(a, odd, 3, metadata=b"\x00")
    drop(topic, [0], odd)
    t.say("a group of another type with members")
    odd = t.group("delete-connect")
    a = t.conn("A", odd)
    t.commit(a, odd, [(topic, 0, 1)])
    t.join(a, odd, 3, kind="connect", protocols=[("v1", b"x")])
    drop(topic, [0], odd)
    t.fetch(a, odd, None)


@script("offsets.order")
def order(t):
    """Commit and fetch alternating on one connection, sent in one write: each fetch sees the commit before it, the
    answers keep their order."""
    topic = t.topic("or", 1)
    group = t.group("order")
    a = t.conn("A", group)
    a.hold()
    waits = []
    for number in range(40):
        waits.append(a.send("OffsetCommit", 9, GroupId=group, Topics=[
            {"Name": topic, "Partitions": [{"PartitionIndex": 0, "CommittedOffset": number}]}]))
        waits.append(a.send("OffsetFetch", 9, Groups=[
            {"GroupId": group, "Topics": [{"Name": topic, "PartitionIndexes": [0]}]}]))
    a.flush()
    for pending in waits:
        pending.wait()


@script("offsets.order-behind-join")
def order_behind_join(t):
    """Answers on one connection keep request order: a join that waits holds back what follows it."""
    topic = t.topic("ob", 1)
    group = t.group("behind")
    a, b = t.conn("A", group), t.conn("B", group)
    one, generation = t.stable_one(a, group, 3)
    b.hold()
    waits = [t.send_join(b, group, 3)]
    waits.append(b.send("ApiVersions", 0))
    waits[-1].step.lines.append(("~fields", "not shown"))
    waits.append(b.send("Heartbeat", 4, GroupId=group, GenerationId=generation, MemberId=one))
    waits.append(b.send("OffsetCommit", 9, GroupId=group, GenerationIdOrMemberEpoch=generation, MemberId=one, Topics=[
        {"Name": topic, "Partitions": [{"PartitionIndex": 0, "CommittedOffset": 5}]}]))
    waits.append(b.send("OffsetFetch", 9, Groups=[
        {"GroupId": group, "Topics": [{"Name": topic, "PartitionIndexes": [0]}]}]))
    b.flush()
    waits[0].still_waiting(1.0)
    waits[1].still_waiting(0.1)
    t.beat(a, group, generation, one)
    t.join(a, group, 3, member=one)
    for pending in [waits[0]] + waits[2:]:
        pending.wait()
