"""DescribeConfigs, IncrementalAlterConfigs, ListConfigResources."""
from lib.registry import script

TOPIC, BROKER, GROUP = 2, 4, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
TOPIC_KEYS = ["retention.ms", "cleanup.policy", "segment.bytes", "retention.bytes"]
GROUP_KEYS = ["consumer.session.timeout.ms", "consumer.heartbeat.interval.ms", "streams.num.standby.replicas"]


def alter(conn, kind, name, rows, version=1, **fields):
    configs = [{"Name": n, "ConfigOperation": op, "Value": v} for n, op, v in rows]
    return conn.ask("IncrementalAlterConfigs", version,
                    Resources=[{"ResourceType": kind, "ResourceName": name, "Configs": configs}],
                    **{"ValidateOnly": False, **fields})


def describe(conn, kind, name, keys, version=4, **fields):
    return conn.ask("DescribeConfigs", version,
                    Resources=[{"ResourceType": kind, "ResourceName": name, "ConfigurationKeys": keys}], **fields)


@script("configs.topic")
def topic_configs(t):
    """Topic configs: described in every version, altered, removed, refused."""
    topic = t.topic("tc", 1, {"retention.ms": "1000"})
    a = t.conn("A")
    for version in range(1, 5):
        describe(a, TOPIC, topic, TOPIC_KEYS, version)
        describe(a, TOPIC, topic, ["retention.ms", "no.such.key"], version, IncludeSynonyms=True)
    describe(a, TOPIC, topic, [])
    describe(a, TOPIC, t.name("nothing"), TOPIC_KEYS)
    describe(a, TOPIC, "", TOPIC_KEYS)
    for version in (0, 1):
        alter(a, TOPIC, topic, [("retention.ms", SET, "2000")], version)
        t.pause(0.3)
        describe(a, TOPIC, topic, ["retention.ms"], IncludeSynonyms=True)
        alter(a, TOPIC, topic, [("retention.ms", DELETE, None)], version)
        t.pause(0.3)
        describe(a, TOPIC, topic, ["retention.ms"], IncludeSynonyms=True)
    t.say("validate only")
    alter(a, TOPIC, topic, [("retention.ms", SET, "3000")], ValidateOnly=True)
    t.pause(0.3)
    describe(a, TOPIC, topic, ["retention.ms"])
    t.say("refused: unknown key, bad value, null, twice, unknown operation, unknown topic, lists")
    alter(a, TOPIC, topic, [("no.such.key", SET, "1")])
    alter(a, TOPIC, topic, [("retention.ms", SET, "abc")])
    alter(a, TOPIC, topic, [("retention.ms", SET, None)])
    alter(a, TOPIC, topic, [("retention.ms", SET, "1"), ("retention.ms", SET, "2")])
    alter(a, TOPIC, topic, [("retention.ms", 9, "1")])
    alter(a, TOPIC, t.name("nothing"), [("retention.ms", SET, "1")])
    alter(a, TOPIC, topic, [("retention.ms", APPEND, "1")])
    alter(a, TOPIC, topic, [("cleanup.policy", APPEND, "compact")])
    t.pause(0.3)
    describe(a, TOPIC, topic, ["cleanup.policy"])
    alter(a, TOPIC, topic, [("cleanup.policy", SUBTRACT, "delete")])
    t.pause(0.3)
    describe(a, TOPIC, topic, ["cleanup.policy"])
    alter(a, TOPIC, topic, [])
    t.say("the same resource twice, an unknown resource type")
    a.ask("IncrementalAlterConfigs", 1, ValidateOnly=False, Resources=[
        {"ResourceType": TOPIC, "ResourceName": topic, "Configs": []},
        {"ResourceType": TOPIC, "ResourceName": topic, "Configs": []}])
    alter(a, 77, "x", [("a", SET, "1")])
    describe(a, 77, "x", [])


@script("configs.group")
def group_configs(t):
    """Group configs: of any group id; defaults, overrides, bounds, unknown keys."""
    group = t.group("gc")
    a = t.conn("A")
    for version in (1, 3, 4):
        describe(a, GROUP, group, GROUP_KEYS, version)
        describe(a, GROUP, group, GROUP_KEYS, version, IncludeSynonyms=True)
    describe(a, GROUP, group, ["no.such.key"])
    describe(a, GROUP, "", GROUP_KEYS)
    alter(a, GROUP, group, [("consumer.session.timeout.ms", SET, "50000")])
    t.pause(0.3)
    describe(a, GROUP, group, ["consumer.session.timeout.ms"], IncludeSynonyms=True)
    t.say("refused: out of range, unknown, not a number, null, the empty group")
    alter(a, GROUP, group, [("consumer.session.timeout.ms", SET, "1")])
    alter(a, GROUP, group, [("consumer.session.timeout.ms", SET, "999999")])
    alter(a, GROUP, group, [("no.such.key", SET, "1")])
    alter(a, GROUP, group, [("consumer.session.timeout.ms", SET, "abc")])
    alter(a, GROUP, group, [("consumer.session.timeout.ms", SET, None)])
    alter(a, GROUP, "", [("consumer.session.timeout.ms", SET, "50000")])
    alter(a, GROUP, group, [("consumer.session.timeout.ms", 9, "50000")])
    t.say("a heartbeat interval above the session timeout")
    alter(a, GROUP, group, [("consumer.heartbeat.interval.ms", SET, "15000"),
                            ("consumer.session.timeout.ms", SET, "45000")])
    alter(a, GROUP, group, [("consumer.session.timeout.ms", DELETE, None),
                            ("consumer.heartbeat.interval.ms", DELETE, None)])
    t.pause(0.3)
    describe(a, GROUP, group, GROUP_KEYS)
    alter(a, GROUP, group, [("consumer.session.timeout.ms", DELETE, None)])


@script("configs.list-resources")
def list_resources(t):
    """ListConfigResources: groups with configs, topics, all, unknown types."""
    group, topic = t.group("lr"), t.topic("lr")
    a = t.conn("A")
    alter(a, GROUP, group, [("consumer.session.timeout.ms", SET, "50000")])
    t.pause(0.3)
    a.ask("ListConfigResources", 1, ResourceTypes=[GROUP])
    a.ask("ListConfigResources", 1, ResourceTypes=[TOPIC])
    a.ask("ListConfigResources", 1, ResourceTypes=[TOPIC, GROUP])
    a.ask("ListConfigResources", 1, ResourceTypes=[77])
    a.ask("ListConfigResources", 1, ResourceTypes=[16])
    a.ask("ListConfigResources", 0)
    alter(a, GROUP, group, [("consumer.session.timeout.ms", DELETE, None)])
    t.pause(0.3)
    a.ask("ListConfigResources", 1, ResourceTypes=[GROUP])


@script("configs.broker")
def broker_configs(t):
    """Broker configs: the settings of groups and offsets as a node reports them, by node and of the whole cluster."""
    a = t.conn("A")
    keys = ["group.initial.rebalance.delay.ms", "group.min.session.timeout.ms", "group.max.session.timeout.ms",
            "group.max.size", "offsets.retention.minutes", "offset.metadata.max.bytes"]
    node = t.node_of(a)
    describe(a, BROKER, node, keys)
    describe(a, BROKER, node, keys[:2], IncludeSynonyms=True)
    describe(a, BROKER, "", keys)
    describe(a, BROKER, "99", keys)
    describe(a, BROKER, "abc", keys)
