"""FindCoordinator, ApiVersions, Metadata, DescribeCluster, DescribeTopicPartitions."""
from lib.registry import script


@script("discovery.find-coordinator")
def find_coordinator(t):
    """FindCoordinator in every version, single and batched; key types."""
    group = t.group("fc")
    t.conn("warm", group)
    a = t.conn("A")
    for version in range(0, 4):
        a.ask("FindCoordinator", version, Key=group)
        a.ask("FindCoordinator", version, Key="")
    for version in range(4, 7):
        a.ask("FindCoordinator", version, KeyType=0, CoordinatorKeys=[group, t.group("fc2")])
        a.ask("FindCoordinator", version, KeyType=0, CoordinatorKeys=[])
        a.ask("FindCoordinator", version, KeyType=0, CoordinatorKeys=[""])
        a.ask("FindCoordinator", version, KeyType=0, CoordinatorKeys=[group, group])
    t.say("key types that are not")
    for version, key_type in ((1, 3), (3, -1), (3, 99)):
        a.ask("FindCoordinator", version, Key=group, KeyType=key_type)
    for version, key_type in ((4, 3), (6, 3), (6, -1)):
        a.ask("FindCoordinator", version, KeyType=key_type, CoordinatorKeys=[group, "x"])
    t.say("share coordinators: before v6, and with keys that are none")
    a.ask("FindCoordinator", 5, KeyType=2, CoordinatorKeys=["a:b:c"])
    a.ask("FindCoordinator", 6, KeyType=2, CoordinatorKeys=["nonsense"])


@script("discovery.api-versions")
def api_versions(t):
    """ApiVersions in every version, too new, with bad software names (KIP-511) and foreign clusters (KIP-1242)."""
    a = t.conn("A")
    software = {"ClientSoftwareName": "compare", "ClientSoftwareVersion": "1.0"}
    for version in range(0, 3):
        a.ask("ApiVersions", version)
    for version in range(3, 6):
        a.ask("ApiVersions", version, **software)
    t.say("names and versions outside of letters, digits, dots and dashes")
    for name in ("", " ", "-a", "a-", "a b", "a.b-c", ".a", "\u00fc"):
        a.ask("ApiVersions", 3, ClientSoftwareName=name, ClientSoftwareVersion="1")
    for name in ("", "1 2", "1.0-x", "-1"):
        a.ask("ApiVersions", 3, ClientSoftwareName="compare", ClientSoftwareVersion=name)
    t.say("v5: cluster and node must be both there or both not")
    a.ask("ApiVersions", 5, ClusterId="x", **software)
    a.ask("ApiVersions", 5, NodeId=1, **software)
    a.ask("ApiVersions", 5, ClusterId="another-cluster", NodeId=1, **software)
    a.ask("ApiVersions", 5, ClusterId="", NodeId=1, **software)
    t.say("the connection lives on")
    a.ask("ApiVersions", 0)


@script("discovery.api-versions-too-new")
def api_versions_too_new(t):
    """ApiVersions newer than known: version 0 layout, error 35, one entry; the connection stays usable."""
    a = t.conn("A")
    for version in (6, 99, 32767):
        a.send("ApiVersions", version, body=b"\x05garbage", header=2).wait()
    a.send("ApiVersions", 99, body=b"", header=1).wait()
    a.ask("ApiVersions", 0)
    a.send("ApiVersions", -1, body=b"", header=1).wait()


@script("discovery.metadata")
def metadata(t):
    """Metadata in every version: by name, by id, all, none, unknown and impossible names."""
    topic, other = t.topic("md", 2), t.topic("md2", 1)
    ghost = "7" * 32
    digits = t.topic_id(topic)
    a = t.conn("A")
    for version in range(0, 14):
        a.ask("Metadata", version, Topics=[{"Name": topic}, {"Name": t.name("nothing")}, {"Name": other}],
              AllowAutoTopicCreation=False)
        if version >= 1:
            a.ask("Metadata", version, Topics=[])
            a.ask("Metadata", version, Topics=None)
        else:
            a.ask("Metadata", version, Topics=[])
    for version in (1, 4, 9, 12, 13):
        t.say("names that no topic can have")
        for name in ("", ".", "..", "a b", "x" * 250, "a/b"):
            a.ask("Metadata", version, Topics=[{"Name": name}], AllowAutoTopicCreation=False)
        a.ask("Metadata", version, Topics=[{"Name": topic}, {"Name": topic}])
    for version in (10, 11, 12, 13):
        t.say("by id")
        a.ask("Metadata", version, Topics=[{"TopicId": digits, "Name": None}])
        a.ask("Metadata", version, Topics=[{"TopicId": ghost, "Name": None}])
        a.ask("Metadata", version, Topics=[{"TopicId": digits, "Name": topic}])
        a.ask("Metadata", version, Topics=[{"TopicId": digits, "Name": None}, {"Name": other}])
        a.ask("Metadata", version, Topics=[{"Name": None}])
    t.say("creation allowed: nothing is made since auto.create.topics.enable is off")
    a.ask("Metadata", 4, Topics=[{"Name": t.name("auto")}], AllowAutoTopicCreation=True)
    t.say("authorized operations")
    a.ask("Metadata", 8, Topics=[{"Name": topic}], IncludeClusterAuthorizedOperations=True,
          IncludeTopicAuthorizedOperations=True)
    a.ask("Metadata", 12, Topics=[{"Name": topic}, {"Name": t.name("nothing")}], IncludeTopicAuthorizedOperations=True)


@script("discovery.describe-cluster")
def describe_cluster(t):
    """DescribeCluster: brokers, controllers asked of a broker, authorized operations."""
    a = t.conn("A")
    for version in range(0, 3):
        a.ask("DescribeCluster", version)
        a.ask("DescribeCluster", version, IncludeClusterAuthorizedOperations=True)
    for version in (1, 2):
        a.ask("DescribeCluster", version, EndpointType=2)
        a.ask("DescribeCluster", version, EndpointType=3)
    a.ask("DescribeCluster", 2, IncludeFencedBrokers=True)


@script("discovery.describe-topic-partitions")
def describe_topic_partitions(t):
    """DescribeTopicPartitions: pages and cursors, unknown and impossible topics."""
    one, two = t.topic("dtp1", 3), t.topic("dtp2", 2)
    a = t.conn("A")

    def ask(names, **fields):
        return a.ask("DescribeTopicPartitions", 0, Topics=[{"Name": n} for n in names], **fields)

    ask([one, two])
    ask([two, one])
    ask([one, one])
    ask([t.name("nothing"), one])
    ask(["", "a b"])
    t.say("pages")
    ask([one, two], ResponsePartitionLimit=2)
    ask([one, two], ResponsePartitionLimit=3)
    ask([one, two], ResponsePartitionLimit=4)
    ask([one, two], Cursor={"TopicName": one, "PartitionIndex": 2})
    ask([one, two], Cursor={"TopicName": two, "PartitionIndex": 1}, ResponsePartitionLimit=1)
    ask([one, two], Cursor={"TopicName": one, "PartitionIndex": 9})
    ask([one, two], Cursor={"TopicName": t.name("zz"), "PartitionIndex": 0})
    ask([one, two], Cursor={"TopicName": one, "PartitionIndex": -1})
    t.say("limits below one")
    ask([one, two], ResponsePartitionLimit=0)
    ask([one, two], ResponsePartitionLimit=-1)
