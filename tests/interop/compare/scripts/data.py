"""ListOffsets, Fetch, OffsetForLeaderEpoch, InitProducerId, ListPartitionReassignments: topics without data."""
from lib.registry import script


@script("data.list-offsets")
def list_offsets(t):
    """ListOffsets of an empty topic: every version, every special timestamp, unknown topics and partitions."""
    topic = t.topic("lo", 2)
    a = t.conn("A", address=t.leader(topic))

    def ask(version, rows, **fields):
        return a.ask("ListOffsets", version, ReplicaId=-1, Topics=[
            {"Name": name, "Partitions": [{"PartitionIndex": p, "Timestamp": at} for p, at in parts]}
            for name, parts in rows], **fields)

    for version in range(1, 12):
        ask(version, [(topic, [(0, -1)])])
        ask(version, [(topic, [(0, -2)])])
        ask(version, [(topic, [(0, 0)])])
    t.say("largest timestamp, local, tiered, unknown special values")
    for version, at in ((6, -3), (7, -3), (8, -4), (9, -5), (10, -5), (11, -6), (11, -7), (7, -4), (11, -9)):
        ask(version, [(topic, [(0, at)])])
    for version in (1, 7, 11):
        ask(version, [(topic, [(9, -1)]), (t.name("nothing"), [(0, -1)])])
        ask(version, [(topic, [(0, -1), (0, -2)])])
        ask(version, [])
    t.say("leader epochs")
    a.ask("ListOffsets", 7, ReplicaId=-1, Topics=[
        {"Name": topic, "Partitions": [{"PartitionIndex": 0, "CurrentLeaderEpoch": 0, "Timestamp": -1}]}])
    a.ask("ListOffsets", 7, ReplicaId=-1, Topics=[
        {"Name": topic, "Partitions": [{"PartitionIndex": 0, "CurrentLeaderEpoch": 99, "Timestamp": -1}]}])
    ask(7, [(topic, [(0, -1)])], IsolationLevel=1)


@script("data.fetch")
def fetch(t):
    """Fetch of an empty topic at its end: every version; it waits; unknown topics and ids; sessions."""
    topic = t.topic("fx", 1)
    digits = t.topic_id(topic)
    ghost = "7" * 32
    a = t.conn("A", address=t.leader(topic))

    def send(version, name, offset=0, wait=300, partition=0, epoch=-1, **fields):
        key = "TopicId" if version >= 13 else "Topic"
        return a.send("Fetch", version, MaxWaitMs=wait, MinBytes=1, MaxBytes=1048576, Topics=[
            {key: name, "Partitions": [{"Partition": partition, "FetchOffset": offset, "PartitionMaxBytes": 1048576,
                                        "CurrentLeaderEpoch": epoch}]}], **fields)

    for version in range(4, 19):
        send(version, digits if version >= 13 else topic).wait(within=(0.25, 2.0))
    t.say("unknown topics and partitions are answered at once")
    for version in (4, 11, 12):
        send(version, t.name("nothing"), wait=3000).wait(within=(0, 1.5))
        send(version, topic, partition=9, wait=3000).wait(within=(0, 1.5))
    for version in (13, 18):
        send(version, ghost, wait=3000).wait(within=(0, 1.5))
        send(version, digits, partition=9, wait=3000).wait(within=(0, 1.5))
    t.say("leader epochs")
    send(12, topic, epoch=0).wait()
    send(12, topic, epoch=99, wait=3000).wait(within=(0, 1.5))
    t.say("no topics, no wait")
    a.ask("Fetch", 11, MaxWaitMs=300, MinBytes=1, Topics=[])
    a.ask("Fetch", 13, MaxWaitMs=0, MinBytes=1, Topics=[])
    send(11, topic, wait=0).wait(within=(0, 1.0))
    t.say("sessions: an unknown one, an epoch without one")
    send(11, topic, SessionId=12345, SessionEpoch=1).wait()
    send(11, topic, SessionId=12345, SessionEpoch=-1).wait()


@script("data.fetch-beyond")
def fetch_beyond(t):
    """Fetch beyond the end: Kafka says OFFSET_OUT_OF_RANGE; a server without data answers empty at any offset."""
    topic = t.topic("fb", 1)
    a = t.conn("A", address=t.leader(topic))
    for offset in (5, -1):
        a.ask("Fetch", 11, MaxWaitMs=100, MinBytes=1, Topics=[
            {"Topic": topic, "Partitions": [{"Partition": 0, "FetchOffset": offset, "PartitionMaxBytes": 1000}]}])


@script("data.leader-epoch")
def leader_epoch(t):
    """OffsetForLeaderEpoch of an empty topic."""
    topic = t.topic("le", 1)
    a = t.conn("A", address=t.leader(topic))
    for version in range(2, 5):
        for name, partition, current, epoch in ((topic, 0, -1, 0), (topic, 0, 0, 0), (topic, 0, -1, 5),
                                                (topic, 0, 99, 0), (topic, 9, -1, 0), (t.name("nothing"), 0, -1, 0)):
            a.ask("OffsetForLeaderEpoch", version, Topics=[
                {"Topic": name, "Partitions": [{"Partition": partition, "CurrentLeaderEpoch": current,
                                                "LeaderEpoch": epoch}]}])


@script("data.init-producer-id")
def init_producer_id(t):
    """InitProducerId without a transactional id, as Kafka Streams asks for it first."""
    a = t.conn("A")
    t.until_code(0, "InitProducerId", 4, TransactionalId=None, TransactionTimeoutMs=60000)
    for version in range(0, 6):
        a.ask("InitProducerId", version, TransactionalId=None, TransactionTimeoutMs=60000)
    t.say("with a producer id but no transactional id; the empty transactional id")
    a.ask("InitProducerId", 4, TransactionalId=None, TransactionTimeoutMs=60000, ProducerId=5, ProducerEpoch=1)
    a.ask("InitProducerId", 4, TransactionalId="", TransactionTimeoutMs=60000)


@script("data.reassignments")
def reassignments(t):
    """ListPartitionReassignments: there are none."""
    topic = t.topic("re", 1)
    a = t.conn("A")
    a.ask("ListPartitionReassignments", 0, TimeoutMs=5000, Topics=None)
    a.ask("ListPartitionReassignments", 0, TimeoutMs=5000, Topics=[])
    a.ask("ListPartitionReassignments", 0, TimeoutMs=5000, Topics=[{"Name": topic, "PartitionIndexes": [0]}])
    a.ask("ListPartitionReassignments", 0, TimeoutMs=5000, Topics=[{"Name": t.name("nothing"), "PartitionIndexes": [0]}])
