"""Answers as flat lines `path: value`, with what a server draws by itself replaced by canonical names.

Replaced: uuids inside strings (member ids keep their prefix), topic ids, node ids, hosts, ports, cluster ids,
times and throttle. Names of groups and topics lose the prefix that keeps runs apart. Everything else stays.
"""
import base64
import json
import re

from . import errors

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
ZERO_UUID = "0" * 32

NODE_FIELDS = {"NodeId", "ControllerId", "LeaderId", "BrokerId"}
NODE_LISTS = {"ReplicaNodes", "IsrNodes", "OfflineReplicas", "EligibleLeaderReplicas", "LastKnownElr"}
TIME_FIELDS = {"ThrottleTimeMs", "FinalizedFeaturesEpoch", "ProducerId"}

# What names an element of an array, in order of preference; anything else is numbered.
ELEMENT_NAMES = ("ApiKey", "GroupId", "Group", "Topic", "Name", "ResourceName", "ConfigName", "PartitionIndex",
                 "Partition", "Key")

# Arrays that Kafka builds from hash tables: their order says nothing and is not compared.
UNORDERED = {
    ("JoinGroup", "Members"), ("DescribeGroups", "Members"), ("ListGroups", "Groups"), ("Metadata", "Topics"),
    ("Metadata", "Partitions"), ("ApiVersions", "ApiKeys"), ("ApiVersions", "SupportedFeatures"),
    ("ApiVersions", "FinalizedFeatures"), ("DescribeConfigs", "Configs"), ("CreateTopics", "Configs"),
    ("CreateTopics", "Topics"), ("DeleteTopics", "Responses"), ("CreatePartitions", "Results"),
    ("DescribeCluster", "Brokers"), ("Metadata", "Brokers"), ("ListConfigResources", "ConfigResources"),
    ("DeleteGroups", "Results"), ("ListOffsets", "Topics"),
}


class Canon:
    def __init__(self, prefix):
        self.prefix = prefix
        self.names = {}
        self.counts = {}
        self.partitions = {}

    def _name(self, kind, value):
        if value not in self.names:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            self.names[value] = f"<{kind} {self.counts[kind]}>"
        return self.names[value]

    def _topic_id(self, digits):
        short = base64.urlsafe_b64encode(bytes.fromhex(digits)).decode().rstrip("=")
        self.names[short] = name = self._name("topic id", digits)
        return name

    def learn_topic_id(self, digits):
        """A topic id the script knows already, so that it has a name in request lines."""
        return self._topic_id(digits)

    def learn_member_id(self, value):
        """A member id that a server made and that is no uuid in its usual form."""
        if re.fullmatch(r"[A-Za-z0-9_-]{22}", value):
            self._name("member id", value)

    def name_partition(self, topic, partition, name):
        """A partition that a server chose, under the name of the role it plays in the script."""
        self.partitions[topic, partition] = f"<{name}>"

    def _roles(self, value, topic=None):
        """The values with such partitions replaced."""
        if isinstance(value, list):
            return [self._roles(v, topic) for v in value]
        if not isinstance(value, dict):
            return value
        topic = value.get("Name", topic)
        out = {k: self._roles(v, topic) for k, v in value.items()}
        role = self.partitions.get((topic, value.get("PartitionIndex")))
        if role:
            out["PartitionIndex"] = role
        return out

    def string(self, value):
        value = value.replace(self.prefix, "")
        for raw, name in self.names.items():
            if len(raw) == 22 and raw in value:
                value = value.replace(raw, name)
        return UUID.sub(lambda m: self._name("uuid", m.group(0)), value)

    def scalar(self, name, value):
        if value is None:
            return "null"
        if isinstance(value, bool):
            return "true" if value else "false"
        if name == "ErrorCode":
            return errors.text(value)
        if name in TIME_FIELDS and (value > 0 or name == "FinalizedFeaturesEpoch" and value == 0):
            return "<varies>"
        if name in NODE_FIELDS and value >= 0:
            return "<node>"
        if name == "Port" and value > 0:
            return "<port>"
        if isinstance(value, bytes):
            return self.bytes(value)
        if isinstance(value, str):
            if name == "Host" and value:
                return "<host>"
            if name == "ClusterId" and value:
                return "<cluster>"
            if name.endswith("TopicId") and len(value) == 32:
                return "zero" if value == ZERO_UUID else self._topic_id(value)
            return json.dumps(self.string(value), ensure_ascii=True)
        return str(value)

    def bytes(self, value):
        value = value.replace(self.prefix.encode(), b"")
        if all(32 <= b < 127 for b in value):
            return 'b"' + value.decode() + '"'
        return "0x" + value.hex()

    def _list(self, name, values):
        if name in NODE_LISTS:
            return "[" + ", ".join(["<node>"] * len(values)) + "]"
        return "[" + ", ".join(self.scalar(name[:-1] if name == "TopicIds" else name, v) for v in values) + "]"

    def _sort_key(self, element):
        """By name where the element has one: node ids and the like must not decide."""
        for key in ELEMENT_NAMES:
            if isinstance(element.get(key), (str, int)):
                return f"{element[key]:>12}" if isinstance(element[key], int) else element[key]
        return UUID.sub("", json.dumps(element, sort_keys=True, default=lambda b: b.decode("latin1")))

    def lines(self, api, values, unordered=()):
        """[(path, text)] of a decoded message."""
        out = []
        values = self._roles(values) if self.partitions else values
        self._walk(api, values, "", out, set(unordered))
        return out

    def _walk(self, api, values, where, out, unordered):
        for name, value in values.items():
            path = where + name
            if isinstance(value, dict):
                self._walk(api, value, path + ".", out, unordered)
            elif not isinstance(value, list):
                out.append((path, self.scalar(name, value)))
            elif value and isinstance(value[0], dict):
                self._walk_array(api, name, value, path, out, unordered)
            else:
                out.append((path, self._list(name, value)))

    def _walk_array(self, api, name, values, path, out, unordered):
        if (api, name) in UNORDERED or name in unordered:
            values = sorted(values, key=self._sort_key)
        if name == "Brokers" or name == "NodeEndpoints":
            seen = []
            for value in values:
                lines = self.lines(api, value, unordered)
                if lines not in seen:
                    seen.append(lines)
                    out.extend((f"{path}[*].{p}", text) for p, text in lines)
            return
        used = {}
        for idx, value in enumerate(values):
            label = self._label(idx, value)
            used[label] = used.get(label, 0) + 1
            if used[label] > 1:
                label = f"{label}#{used[label]}"
            if name == "Members":
                label = str(idx)
            self._walk(api, value, f"{path}[{label}].", out, unordered)

    def _label(self, idx, value):
        for key in ELEMENT_NAMES:
            if isinstance(value.get(key), str):
                return json.dumps(self.string(value[key]))[1:-1]
            if isinstance(value.get(key), int):
                return str(value[key])
        return self.scalar("TopicId", value["TopicId"]) if value.get("TopicId") else str(idx)

    def request(self, api, values):
        """A request on one line: only the fields that were given."""
        values = self._roles(values) if self.partitions else values
        return " ".join(f"{k}={self._inline(k, v)}" for k, v in values.items())

    def _inline(self, name, value):
        if isinstance(value, dict):
            return "{" + " ".join(f"{k}={self._inline(k, v)}" for k, v in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ", ".join(self._inline(name, v) for v in value) + "]"
        return self.scalar(name, value)
