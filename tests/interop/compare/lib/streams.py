"""Streams groups (KIP-1071): topologies, members that remember what they hold, and the normal form of answers.

Which of several equal tasks a member is given is the assignor's own choice. Answers are therefore compared by the count
of tasks of each subtopology (`0 x4`), and a line `~active` says how many of a list a member had before.
"""
import re

from . import members

APIS = ("StreamsGroupHeartbeat", "StreamsGroupDescribe")
LISTS = ("ActiveTasks", "StandbyTasks", "WarmupTasks")


# ---- normal form

def counts(tasks):
    """A list of tasks as text; None stays None."""
    if tasks is None:
        return None
    found = {}
    for entry in tasks:
        found[entry["SubtopologyId"]] = found.get(entry["SubtopologyId"], 0) + len(entry["Partitions"])
    return ", ".join(f"{name} x{count}" for name, count in sorted(found.items())) or "none"


def offsets(rows):
    return None if rows is None else ", ".join(
        sorted(f"{r['SubtopologyId']}_{r['Partition']}={r['Offset']}" for r in rows)) or "none"


def endpoint(value):
    return None if value is None else f"{value['Host']}:{value['Port']}"


def partitions(rows):
    return ", ".join(sorted(f"{r['Topic']} x{len(r['Partitions'])}" for r in rows)) or "none"


def status_text(text):
    """Topics that are missing come in the order of a hash table, and only three of them are named."""
    missing = re.match(r"Internal topics are missing: (.*?)( and \d+ additional topics)?(; Creation failed: (.*)\.)?$", text)
    if not missing:
        return text
    names, more, failed, causes = missing.groups()
    text = "Internal topics are missing: " + (f"<3 names>{more}" if more else ", ".join(sorted(names.split(", "))))
    if failed:
        text += "; Creation failed: " + ", ".join(sorted(re.split(r"(?<=\)), ", causes))) + "."
    return text


def normal(api, values):
    """The values of a request or an answer with tasks counted and what has no order sorted."""
    return _heartbeat(values) if api == "StreamsGroupHeartbeat" else _describe(values)


def _heartbeat(values):
    out = dict(values)
    for name in LISTS:
        if name in out:
            out[name] = counts(out[name])
    for name in ("TaskOffsets", "TaskEndOffsets"):
        if name in out:
            out[name] = offsets(out[name])
    if "UserEndpoint" in out:
        out["UserEndpoint"] = endpoint(out["UserEndpoint"])
    if out.get("Status"):
        out["Status"] = [{**s, "StatusDetail": status_text(s["StatusDetail"])} for s in out["Status"]]
    if out.get("PartitionsByUserEndpoint"):
        rows = [{"Endpoint": endpoint(r["UserEndpoint"]), "ActivePartitions": partitions(r["ActivePartitions"]),
                 "StandbyPartitions": partitions(r["StandbyPartitions"])} for r in out["PartitionsByUserEndpoint"]]
        out["PartitionsByUserEndpoint"] = sorted(rows, key=str)
    return out


def _describe(values):
    if "Groups" not in values:
        return values
    return {**values, "Groups": [_group(g) for g in values["Groups"]]}


def _group(group):
    out = {**group, "Members": [_member(m) for m in sorted(group["Members"], key=lambda m: m["MemberId"])]}
    for name in ("Assignment", "TargetAssignment"):
        out["~" + name] = _total(group["Members"], name)
    return out


def _member(member):
    out = dict(member)
    out["UserEndpoint"] = endpoint(member["UserEndpoint"])
    for name in ("TaskOffsets", "TaskEndOffsets"):
        out[name] = offsets(member[name])
    for name in ("Assignment", "TargetAssignment"):
        out[name] = {kind: counts(member[name][kind]) for kind in LISTS}
    return out


def ids(tasks):
    return {(t["SubtopologyId"], p) for t in tasks or [] for p in t["Partitions"]}


def _total(members, name):
    """All active tasks of a group together, and what must never be: a task twice, a standby beside its active task."""
    active = [task for m in members for task in ids(m[name]["ActiveTasks"])]
    where = {task: m["ProcessId"] for m in members for task in ids(m[name]["ActiveTasks"])}
    beside = sum(where.get(task) == m["ProcessId"] for m in members for task in ids(m[name]["StandbyTasks"]))
    found = {}
    for subtopology, _ in set(active):
        found[subtopology] = found.get(subtopology, 0) + 1
    text = ", ".join(f"{s} x{c}" for s, c in sorted(found.items())) or "none"
    return f"{text}; {len(active) - len(set(active))} twice; {beside} standbys beside their active task"


# ---- topologies

def tasks_of(**lists):
    """tasks_of(_0=[1, 2]) or tasks_of(a=[0]): the array form."""
    return [{"SubtopologyId": s.lstrip("_"), "Partitions": list(p)} for s, p in lists.items()]


def internal(name, count=0, replication=0, configs=()):
    """A changelog or repartition topic."""
    row = {"Name": name}
    if count:
        row["Partitions"] = count
    if replication:
        row["ReplicationFactor"] = replication
    if configs:
        row["TopicConfigs"] = [{"Key": k, "Value": v} for k, v in configs]
    return row


def subtopology(name, sources=(), changelogs=(), sinks=(), repartitions=(), copartitions=(), regexes=()):
    """copartitions: (source indexes, repartition indexes) pairs; internal topics by name or from internal()."""
    row = {"SubtopologyId": name}
    if sources:
        row["SourceTopics"] = list(sources)
    if regexes:
        row["SourceTopicRegex"] = list(regexes)
    if changelogs:
        row["StateChangelogTopics"] = [internal(c) if isinstance(c, str) else c for c in changelogs]
    if sinks:
        row["RepartitionSinkTopics"] = list(sinks)
    if repartitions:
        row["RepartitionSourceTopics"] = [internal(r) if isinstance(r, str) else r for r in repartitions]
    if copartitions:
        row["CopartitionGroups"] = [{"SourceTopics": list(s), "RepartitionSourceTopics": list(r)} for s, r in copartitions]
    return row


def topology(*subtopologies, epoch=0):
    return {"Epoch": epoch, "Subtopologies": list(subtopologies)}


# ---- members

class Member(members.Member):
    """A member of a streams group, which has a topology and a process."""

    api = "StreamsGroupHeartbeat"

    def __init__(self, t, group, name, topology, process=None, instance=None, rebalance=5000, version=1, **more):
        super().__init__(t, group, name, instance, rebalance, version, more)
        self.topology = topology
        self.process = process or f"p-{name}"
        self.info = -1
        self.held = {name: set() for name in LISTS}

    def base(self):
        return {"GroupId": self.group, "MemberId": self.id, "MemberEpoch": self.epoch,
                "EndpointInformationEpoch": self.info, "InstanceId": self.instance}

    def take(self, answer, step):
        if answer["ActiveTasks"] is None:
            return
        had = self.held["ActiveTasks"]
        self.held = {name: ids(answer[name]) for name in LISTS}
        now = self.held["ActiveTasks"]
        step.lines.append(("~active", f"{len(now & had)} kept, {len(now - had)} new, {len(had - now)} given up"))

    def joining(self):
        """The fields of a first heartbeat."""
        return {"MemberEpoch": 0, "RebalanceTimeoutMs": self.rebalance, "Topology": self.topology, "ActiveTasks": [],
                "StandbyTasks": [], "WarmupTasks": [], "ProcessId": self.process, "ClientTags": [], **self.more}

    def join(self, **fields):
        self.held = {name: set() for name in LISTS}
        return self.send(**{**self.joining(), **fields})

    def report(self):
        """What it holds, as the three lists."""
        return {name: in_lists(self.held[name]) for name in LISTS}


def in_lists(tasks):
    found = {}
    for name, partition in sorted(tasks):
        found.setdefault(name, []).append(partition)
    return [{"SubtopologyId": name, "Partitions": rows} for name, rows in found.items()]


def describe(conn, group, version=1, **fields):
    groups = [group] if isinstance(group, str) else group
    return conn.ask("StreamsGroupDescribe", version, GroupIds=groups, **fields)
