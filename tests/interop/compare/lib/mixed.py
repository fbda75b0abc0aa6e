"""Members that speak the classic protocol beside a consumer group's own: what they subscribe to and are assigned, in the
bytes of the consumer protocol, and the form in which those are shown.

As in lib/consumer.py partitions are compared by their count, for which of equals a member gets is the assignor's choice.
A generation inside a subscription is the member's own word and shown as it is.
"""
import struct

from . import codec
from .consumer import ranges

APIS = ("JoinGroup", "SyncGroup", "DescribeGroups")
LATEST = 3


# ---- the consumer protocol's bytes

def _text(text):
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _blob(data):
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def _partitions(held):
    out = struct.pack(">i", len(held))
    for topic, numbers in held.items():
        out += _text(topic) + struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)
    return out


def subscription(topics, version=LATEST, owned=None, generation=-1, rack=None, user=None):
    """owned: {topic: [partitions]}"""
    out = struct.pack(">hi", version, len(topics)) + b"".join(_text(t) for t in topics) + _blob(user)
    if version >= 1:
        out += _partitions(owned or {})
    if version >= 2:
        out += struct.pack(">i", generation)
    if version >= 3:
        out += struct.pack(">h", -1) if rack is None else _text(rack)
    return out


def assignment(held, version=LATEST, user=None):
    return struct.pack(">h", version) + _partitions(held) + _blob(user)


class Reader(codec.Reader):
    def number(self, form=">i"):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def text(self):
        length = self.number(">h")
        return None if length < 0 else self.take(length).decode()

    def blob(self):
        length = self.number()
        return None if length < 0 else self.take(length)

    def partitions(self):
        found = {}
        for _ in range(self.number()):
            topic = self.text()
            found.setdefault(topic, []).extend(self.number() for _ in range(self.number()))
        return found


def read_assignment(data):
    """(version, {topic: [partitions]}, user data)"""
    reader = Reader(data)
    return reader.number(">h"), reader.partitions(), reader.blob()


# ---- how they are shown

def _held(t, held):
    text = {n: ranges(p) if t.exact else f"x{len(p)}" for n, p in held.items()}
    return ", ".join(f"{name} {what}" for name, what in sorted(text.items())) or "none"


def shown_assignment(t, data):
    if not data:
        return data
    try:
        version, held, user = read_assignment(data)
        return f"v{version} {_held(t, held)}" + ("" if user is None else f" user data {user.hex()}")
    except (codec.DecodeError, UnicodeDecodeError):
        return data


def shown_subscription(t, data):
    try:
        reader = Reader(data)
        version = reader.number(">h")
        text = f"v{version} " + ",".join(reader.text() for _ in range(reader.number()))
        user = reader.blob()
        text += "" if user is None else f" user data {user.hex()}"
        if version >= 1:
            text += f" owned {_held(t, reader.partitions())}"
        text += f" generation {reader.number()}" if version >= 2 else ""
        rack = reader.text() if version >= 3 else None
        return text + ("" if rack is None else f" rack {rack}")
    except (codec.DecodeError, UnicodeDecodeError, TypeError):
        return data


def normal(t, api, values):
    """The values of a request or an answer with those bytes as text."""
    if api == "JoinGroup":
        return _join(t, values)
    if api == "SyncGroup":
        return _sync(t, values)
    return {**values, "Groups": [_group(t, g) for g in values["Groups"]]} if values["Groups"] and isinstance(
        values["Groups"][0], dict) else values


def _join(t, values):
    out = dict(values)
    if values.get("MemberId"):
        t.canon.learn_member_id(values["MemberId"])
    if "Protocols" in out:
        out["Protocols"] = [f"{p['Name']} ({_word(shown_subscription(t, p['Metadata']))})" for p in out["Protocols"]]
    if out.get("Members"):
        out["Members"] = [{**m, "MemberId": t.canon.string(m["MemberId"]), "Metadata": shown_subscription(t, m["Metadata"])}
                          for m in out["Members"]]
    return out


def _word(value):
    return value.hex() if isinstance(value, bytes) else value


def _sync(t, values):
    out = dict(values)
    if "Assignments" in out:
        out["Assignments"] = [{**a, "Assignment": shown_assignment(t, a["Assignment"])} for a in out["Assignments"]]
    if "Assignment" in out:
        out["Assignment"] = shown_assignment(t, out["Assignment"])
    return out


def _group(t, group):
    for member in group["Members"]:
        t.canon.learn_member_id(member["MemberId"])
    members = [{**m, "MemberMetadata": m["MemberMetadata"] and shown_subscription(t, m["MemberMetadata"]),
                "MemberAssignment": shown_assignment(t, m["MemberAssignment"])} for m in group["Members"]]
    return {**group, "Members": members}


# ---- members

class Classic:
    """A consumer of the classic protocol on a connection of its own: its id, its generation and what it was assigned."""

    def __init__(self, t, group, name, topics, instance=None, rebalance=30000, session=30000, version=9, form=LATEST,
                 protocols=("range",), rack=None):
        t.reads_subscriptions = True
        self.t = t
        self.group = group
        self.topics = topics
        self.instance = instance
        self.rebalance = rebalance
        self.session = session
        self.version = version
        self.form = form
        self.protocols = protocols
        self.rack = rack
        self.id = ""
        self.generation = -1
        self.held = {}
        self.conn = t.conn(name, group)

    def metadata(self, owned=None, topics=None, form=None, **more):
        held = self.held if owned is None else owned
        return subscription(self.topics if topics is None else topics, self.form if form is None else form, held,
                            self.generation, more.get("rack", self.rack), more.get("user"))

    def send_join(self, protocols=None, member=None, instance=False, version=None, session=None, rebalance=None,
                  kind="consumer", **more):
        if protocols is None:
            protocols = [(name, self.metadata(**more)) for name in self.protocols]
        return self.t.send_join(self.conn, self.group, self.version if version is None else version,
                                self.id if member is None else member, self.instance if instance is False else instance,
                                protocols, kind, self.session if session is None else session,
                                self.rebalance if rebalance is None else rebalance)

    def joined(self, pending):
        answer = pending.wait()
        if answer["ErrorCode"] == 0:
            self.id, self.generation = answer["MemberId"], answer["GenerationId"]
        return answer

    def join(self, **fields):
        """Joins, with the id that it is given where it is given one."""
        answer = self.joined(self.send_join(**fields))
        if answer["ErrorCode"] == 79:
            self.id = answer["MemberId"]
            answer = self.joined(self.send_join(**fields))
        return answer

    def send_sync(self, assignments=(), generation=None, member=None, instance=False, version=5, **more):
        return self.t.send_sync(self.conn, self.group, self.generation if generation is None else generation,
                                self.id if member is None else member, assignments, version,
                                self.instance if instance is False else instance,
                                protocol=more.pop("protocol", self.protocols[0]), **more)

    def synced(self, pending):
        answer = pending.wait()
        if answer["ErrorCode"] == 0 and answer["Assignment"]:
            had = {(t, p) for t, rows in self.held.items() for p in rows}
            self.held = read_assignment(answer["Assignment"])[1]
            now = {(t, p) for t, rows in self.held.items() for p in rows}
            pending.step.lines.append(
                ("~assigned", f"{len(now & had)} kept, {len(now - had)} new, {len(had - now)} given up"))
        return answer

    def sync(self, *args, **fields):
        return self.synced(self.send_sync(*args, **fields))

    def again(self):
        """What a client does when it is told to rejoin, until it is told nothing any more."""
        answer = self.join()
        self.sync()
        return answer

    def beat(self, generation=None, member=None, instance=False, version=4):
        return self.t.beat(self.conn, self.group, self.generation if generation is None else generation,
                           self.id if member is None else member, version,
                           self.instance if instance is False else instance)

    def leave(self, version=5):
        entry = (self.id, self.instance) if self.instance else self.id
        return self.t.leave(self.conn, self.group, self.id if version < 3 else [entry], version)


def quietly(member, *names):
    member.conn.recorded = False
    for name in names:
        getattr(member, name)()
    member.conn.recorded = True


def settle_classic(members, shares, version=LATEST, user=None):
    """Makes a stable classic group of them, outside the transcript. shares: what each is assigned; the first one leads."""
    for member in members:
        member.conn.recorded = False
    for count in range(1, len(members) + 1):
        newest = members[count - 1]
        if not newest.instance and newest.version >= 4:
            newest.id = newest.send_join().wait()["MemberId"]
        waiting = [(newest, newest.send_join())]
        newest.t.pause(0.1)
        waiting += [(m, m.send_join()) for m in members[:count - 1]]
        for member, pending in waiting:
            member.joined(pending)
    first, others = members[0], members[1:]
    waiting = [(m, m.send_sync()) for m in others]
    rows = [(m.id, s if isinstance(s, bytes) else assignment(s, version, user)) for m, s in zip(members, shares)]
    for member, pending in [(first, first.send_sync(rows))] + waiting:
        member.synced(pending)
    for member in members:
        member.conn.recorded = True


def mixed_pair(t, group, topics, consumer, **options):
    """A consumer-protocol member and a classic one that share everything, settled, outside the transcript."""
    classic = Classic(t, group, "A", topics, **options)
    quietly(consumer, "join")
    quietly(classic, "join", "sync")
    quietly(consumer, "beat", "ack")
    quietly(classic, "again")
    return classic
