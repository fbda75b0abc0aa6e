"""Consumer groups of the new protocol (KIP-848): members that remember what they hold, and the normal form of answers.

Which of several equal partitions a member is given is the assignor's own choice. Answers are therefore compared by the
count of partitions of each topic (`in x4`), and a line `~assigned` says how many of a list a member had before. A script
whose assignment is forced sets `t.exact`: partitions are shown then (`in 0-3`). Topics are shown by name; a topic that was
made again has a prime: `in'`.
"""
from . import members

APIS = ("ConsumerGroupHeartbeat", "ConsumerGroupDescribe")


# ---- normal form

def ranges(numbers):
    """[0, 1, 2, 5] as 0-2,5"""
    parts = []
    for n in sorted(numbers):
        if parts and parts[-1][1] == n - 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def shown(t, rows):
    """A list of topics with partitions as text; None stays None."""
    if rows is None:
        return None
    found = {}
    for row in rows:
        found.setdefault(t.topic_name(row["TopicId"]), []).extend(row["Partitions"])
    text = {n: ranges(p) if t.exact else f"x{len(p)}" for n, p in found.items()}
    return ", ".join(f"{name} {what}" for name, what in sorted(text.items())) or "none"


def normal(t, api, values):
    """The values of a request or an answer with partitions counted and what has no order sorted."""
    return _heartbeat(t, values) if api == "ConsumerGroupHeartbeat" else _describe(t, values)


def _heartbeat(t, values):
    out = dict(values)
    if "TopicPartitions" in out:
        out["TopicPartitions"] = shown(t, out["TopicPartitions"])
    if out.get("Assignment"):
        out["Assignment"] = shown(t, out["Assignment"]["TopicPartitions"])
    return out


def _describe(t, values):
    return {**values, "Groups": [_group(t, g) for g in values["Groups"]]} if "Groups" in values else values


def _group(t, group):
    out = {**group, "Members": [_member(t, m) for m in sorted(group["Members"], key=lambda m: (m["ClientId"], m["MemberId"]))]}
    for name in ("Assignment", "TargetAssignment"):
        out["~" + name] = _total(t, group["Members"], name)
    return out


def _member(t, member):
    out = {**member, "SubscribedTopicNames": sorted(member["SubscribedTopicNames"])}
    for name in ("Assignment", "TargetAssignment"):
        out[name] = shown(t, member[name]["TopicPartitions"])
    return out


def _total(t, rows, name):
    """All partitions of a group together, and what must never be: a partition twice."""
    every = [p for m in rows for p in held(m[name]["TopicPartitions"])]
    return f"{shown(t, in_topics(set(every)))}; {len(every) - len(set(every))} twice"


def held(rows):
    """{(topic id, partition)}"""
    return {(row["TopicId"], p) for row in rows or [] for p in row["Partitions"]}


def in_topics(partitions):
    found = {}
    for topic, partition in sorted(partitions):
        found.setdefault(topic, []).append(partition)
    return [{"TopicId": topic, "Partitions": rows} for topic, rows in found.items()]


# ---- members

class Member(members.Member):
    """A member of a consumer group: topics by name, by regular expression, or both."""

    api = "ConsumerGroupHeartbeat"

    def __init__(self, t, group, name, topics=None, regex=None, instance=None, rebalance=300000, version=1, **more):
        super().__init__(t, group, name, instance, rebalance, version, more)
        self.topics = topics
        self.regex = regex
        self.held = set()

    def take(self, answer, step):
        if not self.id:
            self.id = answer["MemberId"]
        if answer["Assignment"] is None:
            return
        now = held(answer["Assignment"]["TopicPartitions"])
        had, self.held = self.held, now
        step.lines.append(("~assigned", f"{len(now & had)} kept, {len(now - had)} new, {len(had - now)} given up"))

    def subscription(self):
        names = {} if self.topics is None else {"SubscribedTopicNames": self.topics}
        return names if self.regex is None else {**names, "SubscribedTopicRegex": self.regex}

    def joining(self):
        """The fields of a first heartbeat."""
        return {"MemberEpoch": 0, "RebalanceTimeoutMs": self.rebalance, **self.subscription(), "TopicPartitions": [],
                **self.more}

    def join(self, **fields):
        self.held = set()
        return self.send(**{**self.joining(), **fields})

    def report(self):
        """What it holds."""
        return {"TopicPartitions": in_topics(self.held)}

    def full(self, **fields):
        """A heartbeat that says everything, as after an error: is always answered with the assignment."""
        return self.send(**{"RebalanceTimeoutMs": self.rebalance, **self.subscription(), **self.report(), **fields})


def describe(conn, group, version=1, **fields):
    groups = [group] if isinstance(group, str) else group
    return conn.ask("ConsumerGroupDescribe", version, GroupIds=groups, **fields)
