"""CreateTopics, CreatePartitions, DeleteTopics."""
from lib.registry import script


def topic_row(name, partitions=1, replication=1, **more):
    return {"Name": name, "NumPartitions": partitions, "ReplicationFactor": replication, **more}


def create(t, conn, rows, version=7, **fields):
    return conn.ask("CreateTopics", version, Topics=rows, TimeoutMs=10000, **fields)


@script("topics.create-versions")
def create_versions(t):
    """CreateTopics in every version, and what Metadata says after; validate only; existing topics."""
    a = t.conn("A")
    for version in range(2, 8):
        name = t.name(f"ct-{version}")
        create(t, a, [topic_row(name, 3)], version, ValidateOnly=True)
        create(t, a, [topic_row(name, 3)], version)
        create(t, a, [topic_row(name, 3)], version)
        create(t, a, [topic_row(name, 3)], version, ValidateOnly=True)
        t.wait_topic(name, 3)
        a.ask("Metadata", 12, Topics=[{"Name": name}])
    t.say("broker defaults: -1 partitions, -1 replicas, from v4 on")
    for version in (2, 3, 4, 5, 7):
        create(t, a, [topic_row(t.name(f"cd-{version}"), -1, -1)], version)
    t.say("no topics at all")
    create(t, a, [], 7)


@script("topics.create-refused")
def create_refused(t):
    """CreateTopics that is refused: names, counts, replicas, configs, the same name twice."""
    a = t.conn("A")
    for name in ("", ".", "..", "a b", "a/b", "x" * 250, "\u00fc"):
        create(t, a, [topic_row(name)])
    for partitions in (0, -2, -1):
        create(t, a, [topic_row(t.name(f"cp{partitions}"), partitions)])
    for replication in (0, -2, 7):
        create(t, a, [topic_row(t.name(f"cr{replication}"), 1, replication)])
    t.say("the same name twice in one request")
    create(t, a, [topic_row(t.name("twice")), topic_row(t.name("twice"))])
    create(t, a, [topic_row(t.name("twice")), topic_row(t.name("good")), topic_row(t.name("twice"), 2)], 5)
    t.say("replicas by hand")
    create(t, a, [topic_row(t.name("hand"), -1, -1, Assignments=[{"PartitionIndex": 0, "BrokerIds": [1]},
                                                                  {"PartitionIndex": 1, "BrokerIds": [1]}])])
    create(t, a, [topic_row(t.name("hand2"), 2, 1, Assignments=[{"PartitionIndex": 0, "BrokerIds": [1]}])])
    create(t, a, [topic_row(t.name("hand3"), -1, -1, Assignments=[{"PartitionIndex": 1, "BrokerIds": [1]}])])
    create(t, a, [topic_row(t.name("hand4"), -1, -1, Assignments=[{"PartitionIndex": 0, "BrokerIds": [99]}])])
    create(t, a, [topic_row(t.name("hand5"), -1, -1, Assignments=[{"PartitionIndex": 0, "BrokerIds": [1, 1]}])])
    create(t, a, [topic_row(t.name("hand6"), -1, -1, Assignments=[{"PartitionIndex": 0, "BrokerIds": []}])])
    create(t, a, [topic_row(t.name("hand7"), -1, -1, Assignments=[{"PartitionIndex": 0, "BrokerIds": [1]},
                                                                   {"PartitionIndex": 0, "BrokerIds": [1]}])])
    t.say("configs")
    create(t, a, [topic_row(t.name("cc"), Configs=[{"Name": "no.such.key", "Value": "1"}])])
    create(t, a, [topic_row(t.name("cc"), Configs=[{"Name": "retention.ms", "Value": "abc"}])])
    create(t, a, [topic_row(t.name("cc"), Configs=[{"Name": "cleanup.policy", "Value": "none-such"}])])
    create(t, a, [topic_row(t.name("cc"), Configs=[{"Name": "retention.ms", "Value": None}])])
    create(t, a, [topic_row(t.name("cc"), Configs=[{"Name": "retention.ms", "Value": "1000"},
                                                   {"Name": "cleanup.policy", "Value": "compact"}])])
    t.say("names that collide in metric names: . and _")
    create(t, a, [topic_row(t.name("co.l"))])
    create(t, a, [topic_row(t.name("co_l"))])


@script("topics.create-partitions")
def create_partitions(t):
    """CreatePartitions in every version; fewer, the same, zero, unknown, twice, by hand, validate only."""
    a = t.conn("A")

    def grow(name, count, version=3, assignments=None, **fields):
        return a.ask("CreatePartitions", version, Topics=[{"Name": name, "Count": count, "Assignments": assignments}],
                     TimeoutMs=10000, **fields)

    for version in range(0, 4):
        topic = t.topic(f"cp-{version}", 2)
        grow(topic, 3, version, ValidateOnly=True)
        grow(topic, 3, version, ValidateOnly=False)
        t.wait_topic(topic, 3)
        a.ask("Metadata", 12, Topics=[{"Name": topic}])
    topic = t.topic("cp", 2)
    for count in (2, 1, 0, -1):
        grow(topic, count, ValidateOnly=False)
    grow(t.name("nothing"), 3, ValidateOnly=False)
    grow("", 3, ValidateOnly=False)
    t.say("by hand: the right number, too few, an unknown node")
    grow(topic, 3, assignments=[{"BrokerIds": [1]}], ValidateOnly=True)
    grow(topic, 4, assignments=[{"BrokerIds": [1]}], ValidateOnly=True)
    grow(topic, 3, assignments=[{"BrokerIds": [99]}], ValidateOnly=True)
    grow(topic, 3, assignments=[{"BrokerIds": [1, 1]}], ValidateOnly=True)
    grow(topic, 3, assignments=[{"BrokerIds": []}], ValidateOnly=True)
    grow(topic, 3, assignments=[], ValidateOnly=True)
    t.say("the same topic twice, and none")
    a.ask("CreatePartitions", 3, Topics=[{"Name": topic, "Count": 3}, {"Name": topic, "Count": 4}], TimeoutMs=10000,
          ValidateOnly=False)
    a.ask("CreatePartitions", 3, Topics=[], TimeoutMs=10000, ValidateOnly=False)


@script("topics.delete")
def delete(t):
    """DeleteTopics in every version: by name, by id, unknown, both, twice; what becomes of committed offsets."""
    a = t.conn("A")
    ghost = "7" * 32
    for version in range(1, 7):
        topic = t.topic(f"dt-{version}", 1)
        rows = {"Topics": [{"Name": topic}, {"Name": t.name("nothing")}]} if version >= 6 else {
            "TopicNames": [topic, t.name("nothing")]}
        t.topic_id(topic)
        a.ask("DeleteTopics", version, TimeoutMs=10000, **rows)
        a.ask("DeleteTopics", version, TimeoutMs=10000, **rows)
    topic = t.topic("dt-id", 1)
    digits = t.topic_id(topic)
    t.say("by id; name and id; neither; twice; an unknown id")
    a.ask("DeleteTopics", 6, Topics=[{"Name": topic, "TopicId": digits}], TimeoutMs=10000)
    a.ask("DeleteTopics", 6, Topics=[{"Name": None}], TimeoutMs=10000)
    a.ask("DeleteTopics", 6, Topics=[{"Name": None, "TopicId": digits}, {"Name": topic}], TimeoutMs=10000)
    a.ask("DeleteTopics", 6, Topics=[{"Name": topic}, {"Name": topic}], TimeoutMs=10000)
    a.ask("DeleteTopics", 6, Topics=[{"Name": None, "TopicId": ghost}], TimeoutMs=10000)
    a.ask("DeleteTopics", 6, Topics=[{"Name": None, "TopicId": digits}], TimeoutMs=10000)
    a.ask("DeleteTopics", 6, Topics=[{"Name": None, "TopicId": digits}], TimeoutMs=10000)
    a.ask("DeleteTopics", 6, Topics=[{"Name": ""}], TimeoutMs=10000)
    a.ask("DeleteTopics", 6, Topics=[], TimeoutMs=10000)


@script("topics.delete-offsets")
def delete_offsets(t):
    """A deleted topic takes its committed offsets with it, an emptied group stays or goes; a topic of the same name
    has a new id and no offset."""
    topic, other = t.topic("do", 2), t.topic("do2", 1)
    group = t.group("do")
    a = t.conn("A", group)
    t.commit(a, group, [(topic, 0, 5), (topic, 1, 6), (other, 0, 7)])
    old = t.topic_id(topic)
    t.conn("B").ask("DeleteTopics", 6, Topics=[{"Name": topic}], TimeoutMs=10000)
    t.pause(1.5)
    t.say("a moment later")
    t.fetch(a, group, None)
    t.fetch(a, group, {topic: [0]})
    t.commit(a, group, [(topic, 0, 8)])
    t.commit(a, group, [(old, 0, 8)], version=10)
    t.topic("do", 2)
    t.say("made again")
    t.fetch(a, group, {topic: [0, 1]})
    t.commit(a, group, [(old, 0, 8)], version=10)
    t.fetch(a, group, {old: [0]}, version=10)
    t.commit(a, group, [(t.topic_id(topic), 0, 9)], version=10)
    t.fetch(a, group, {topic: [0, 1]})
