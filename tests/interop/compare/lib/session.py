"""What a request script works with: connections, requests, answers awaited with bounds, and the transcript.

A script is a function of a Session. Every request makes a step; the step's lines are what is compared.
Lines whose path starts with `~` tell what happened around the answer (it waited, the connection closed, ...).
"""
import random
import select
import socket
import struct
import time

from . import codec, consumer, mixed, streams
from .canon import Canon
from .schema import has

DEFAULT_WAIT = 20.0


class ScriptFailed(Exception):
    """The script cannot go on with this server."""


class Answer(dict):
    """A decoded answer; a field it does not have reads as None."""

    def __missing__(self, name):
        return None


class Step:
    def __init__(self, title, request):
        self.title = title
        self.request = request
        self.lines = []
        self.comment = None


class Pending:
    """A request on its way."""

    def __init__(self, conn, step, api, version, correlation, unordered):
        self.conn = conn
        self.step = step
        self.api = api
        self.version = version
        self.correlation = correlation
        self.unordered = unordered
        self.sent = time.monotonic()
        self.frame = None
        self.arrived = None
        self.asked = 0

    def still_waiting(self, seconds):
        """Writes down whether the answer keeps us waiting for that long."""
        self.conn.pump(self, seconds)
        quiet = self.frame is None and not self.conn.closed
        self.asked += 1
        name = "~still waiting" if self.asked == 1 else f"~still waiting, {self.asked}"
        self.step.lines.append((name, "yes" if quiet else "no"))
        return self

    def wait(self, timeout=DEFAULT_WAIT, within=None):
        """The answer, written down. within: the seconds after the request between which it must come."""
        self.conn.pump(self, timeout)
        lines = self.step.lines
        if self.frame is None:
            lines.append(("~answer", "connection closed" if self.conn.closed else f"none within {timeout:g} s"))
            return Answer()
        if within:
            took = self.arrived - self.sent
            good = within[0] <= took <= within[1]
            span = f"between {within[0]:g} and {within[1]:g} s"
            lines.append(("~answered", span if good else f"after {took:.1f} s, not {span}"))
        return self._decode()

    def _decode(self):
        session = self.conn.session
        message = session.schemas[self.api + "Response"]
        body = self.frame[4:]
        correlation = struct.unpack(">i", self.frame[:4])[0]
        if correlation != self.correlation:
            self.step.lines.append(("~correlation id", f"of another request ({correlation - self.correlation:+d})"))
        version = self.version
        if self.api == "ApiVersions":
            # an unknown version is answered in the layout of version 0
            if version > message.versions[1] or body[:2] == struct.pack(">h", 35):
                version = 0
        elif has(message.flexible, version):
            reader = codec.Reader(body)
            for _ in range(reader.uvarint()):
                tag = reader.uvarint()
                self.step.lines.append((f"~header tag {tag}", reader.take(reader.uvarint()).hex()))
            body = body[reader.at:]
        try:
            values, left = codec.decode(message, version, body)
        except codec.DecodeError as error:
            self.step.lines.append(("~answer", f"not decodable: {error}"))
            return Answer()
        if left:
            self.step.lines.append(("~bytes after the answer", str(left)))
        values = session.only_ours(self.api, values)
        shown = session.normal(self.api, values)
        self.step.lines.extend(session.canon.lines(self.api, shown, self.unordered))
        return Answer(values)


def group_of(fields):
    """The group that a request is about, None if it is about none or about several."""
    named = fields.get("Groups") or fields.get("GroupsNames") or fields.get("GroupIds") or []
    groups = {entry if isinstance(entry, str) else entry["GroupId"] for entry in named}
    if "GroupId" in fields:
        groups.add(fields["GroupId"])
    return groups.pop() if len(groups) == 1 else None


class Conn:
    """A client's connection. Requests about a group whose coordinator is another node go there, as a client's would, on a
    connection of the same name."""

    def __init__(self, session, name, address, recorded=True):
        self.session = session
        self.name = name
        self.client_id = name.lower()
        self.recorded = recorded
        self.address = address
        self.closed = False
        self.buffer = bytearray()
        self.queue = []
        self.correlation = 0
        self.held = None
        self.others = {}
        self.socket = socket.create_connection(address, timeout=10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self):
        self.closed = True
        self.socket.close()
        for other in self.others.values():
            other.close()

    def _towards(self, group):
        """The connection to the coordinator of a group: this one, or one beside it."""
        address = self.session.coordinator(group)
        if address == self.address:
            return self
        if address not in self.others or self.others[address].closed:
            self.others[address] = Conn(self.session, self.name, address)
        self.others[address].client_id = self.client_id
        return self.others[address]

    def frame(self, api, version, fields, header=None, body=None, tags=b"\x00"):
        """The bytes of a request, length word included."""
        message = self.session.schemas[api + "Request"]
        self.correlation += 1
        out = bytearray(struct.pack(">hhi", message.key, version, self.correlation))
        client = self.client_id
        data = None if client is None else client.encode()
        out += struct.pack(">h", -1 if data is None else len(data)) + (data or b"")
        flexible = has(message.flexible, version) if header is None else header == 2
        if flexible:
            out += tags
        out += codec.encode(message, version, fields) if body is None else body
        return struct.pack(">i", len(out)) + bytes(out)

    def send(self, api, version, unordered=(), note=None, header=None, body=None, tags=b"\x00", **fields):
        group = group_of(fields)
        if self.recorded and group is not None:
            there = self._towards(group)
            if there is not self:
                return there.send(api, version, unordered, note, header, body, tags, **fields)
        data = self.frame(api, version, fields, header, body, tags)
        text = self.session.canon.request(api, self.session.normal(api, fields))
        if body is not None:
            text = f"body={self.session.canon.bytes(body)}"
        step = self.session.step(f"{self.name} {api} v{version}", text, self.recorded)
        if note:
            step.comment = note
        pending = Pending(self, step, api, version, self.correlation, unordered)
        self.queue.append(pending)
        if self.held is not None:
            self.held += data
            return pending
        try:
            self.socket.sendall(data)
        except OSError:
            self.closed = True
        return pending

    def ask(self, api, version, timeout=DEFAULT_WAIT, within=None, **fields):
        return self.send(api, version, **fields).wait(timeout, within)

    def hold(self):
        """From now on requests collect; flush() sends them in one write."""
        self.held = bytearray()

    def flush(self):
        data, self.held = self.held, None
        self.socket.sendall(data)

    def raw(self, data, title):
        """Bytes as they are; the step says whether the server closes the connection or answers."""
        step = self.session.step(f"{self.name} {title}", f"{len(data)} bytes", self.recorded)
        try:
            self.socket.sendall(data)
        except OSError:
            self.closed = True
        return step

    def expect_close(self, step, seconds):
        deadline = time.monotonic() + seconds
        while not self.closed and time.monotonic() < deadline:
            self._read(deadline - time.monotonic())
        text = "connection closed" if self.closed else f"connection still open after {seconds:g} s"
        if self.buffer:
            text += f", {len(self.buffer)} bytes came"
        step.lines.append(("~answer", text))
        return self.closed

    def _read(self, seconds):
        if self.closed:
            return
        ready, _, _ = select.select([self.socket], [], [], max(0.0, seconds))
        if not ready:
            return
        try:
            data = self.socket.recv(1 << 20)
        except OSError:
            data = b""
        if not data:
            self.closed = True
        self.buffer += data

    def _take_frame(self):
        if len(self.buffer) < 4:
            return None
        length = struct.unpack(">i", self.buffer[:4])[0]
        if len(self.buffer) < 4 + length:
            return None
        frame = bytes(self.buffer[4:4 + length])
        del self.buffer[:4 + length]
        return frame

    def pump(self, pending, seconds):
        """Reads until that request is answered, the connection ends or the time is over."""
        deadline = time.monotonic() + seconds
        while pending.frame is None:
            frame = self._take_frame()
            if frame is not None:
                if not self.queue:
                    raise ScriptFailed(f"{self.name}: an answer that nobody asked for")
                first = self.queue.pop(0)
                first.frame = frame
                first.arrived = time.monotonic()
                continue
            if self.closed or time.monotonic() >= deadline:
                return
            self._read(deadline - time.monotonic())


class Session:
    def __init__(self, script, target, schemas):
        self.script = script
        self.target = target
        self.schemas = schemas
        self.prefix = f"z{random.randrange(16 ** 6):06x}-"
        self.canon = Canon(self.prefix)
        self.steps = []
        self.conns = []
        self.quiet_conns = {}
        self.coordinators = {}
        self.pending_comment = None
        self.topics_changed = 0.0
        self.topic_names = {}
        self.exact = False
        self.reads_subscriptions = False
        self.paused = False  # real time is part of the script

    # ---- transcript

    def step(self, title, request, recorded=True):
        step = Step(title, request)
        if recorded:
            step.comment, self.pending_comment = self.pending_comment, None
            self.steps.append(step)
        return step

    def say(self, text):
        """A sentence above the next step."""
        self.pending_comment = text if self.pending_comment is None else f"{self.pending_comment} {text}"

    def only_ours(self, api, values):
        """Lists of everything on the server are cut down to what this script made."""
        if api == "ListGroups":
            values["Groups"] = [g for g in values["Groups"] if g["GroupId"].startswith(self.prefix)]
        if api == "Metadata":
            values["Topics"] = [t for t in values["Topics"] if t["Name"] is None or not self._foreign(t["Name"])]
        if api == "ListConfigResources":
            values["ConfigResources"] = [r for r in values["ConfigResources"]
                                         if r.get("ResourceType", 32) not in (2, 32)
                                         or r["ResourceName"].startswith(self.prefix)]
        return values

    def normal(self, api, values):
        """The form in which a request or an answer is shown and compared."""
        if api in ("ConsumerGroupHeartbeat", "JoinGroup"):
            self.canon.learn_member_id(values.get("MemberId") or "")
        if api in consumer.APIS:
            return consumer.normal(self, api, values)
        if self.reads_subscriptions and api in mixed.APIS:
            return mixed.normal(self, api, values)
        return streams.normal(api, values) if api in streams.APIS else values

    def _foreign(self, name):
        return name.startswith("__") or ("-" in name and not name.startswith(self.prefix))

    def pause(self, seconds):
        self.paused = True
        time.sleep(seconds)

    # ---- names

    def group(self, name):
        return self.prefix + name

    def name(self, name):
        return self.prefix + name

    def topic(self, name, partitions=1, configs=None):
        """Makes a topic outside the transcript and waits until it is known."""
        full = self.prefix + name
        fields = {"Topics": [{"Name": full, "NumPartitions": partitions, "ReplicationFactor": 1,
                              "Configs": [{"Name": k, "Value": v} for k, v in (configs or {}).items()]}],
                  "TimeoutMs": 10000}
        answer = self.quiet().ask("CreateTopics", 5, **fields)
        if not answer or answer["Topics"][0]["ErrorCode"] not in (0, 36):
            raise ScriptFailed(f"topic {name} cannot be made: {answer}")
        self.wait_topic(full, partitions)
        return full

    def wait_topic(self, full, partitions):
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            known = self.describe_topic(full)
            if known["ErrorCode"] == 0 and len(known["Partitions"]) == partitions and all(
                    p["LeaderId"] >= 0 for p in known["Partitions"]):
                time.sleep(0.1)
                self._learn_topic(full, known["TopicId"])
                self.topics_changed = time.monotonic()
                return
            time.sleep(0.05)
        raise ScriptFailed(f"topic {full} does not appear in metadata")

    def _learn_topic(self, full, digits):
        """A topic that was made again has a prime behind its name."""
        earlier = sum(name.rstrip("'") == full for d, name in self.topic_names.items() if d != digits)
        self.topic_names.setdefault(digits, full + "'" * earlier)

    def topic_name(self, digits):
        return self.topic_names.get(digits, "(another topic)")

    def describe_topic(self, full):
        return self.quiet().ask("Metadata", 12, Topics=[{"Name": full}])["Topics"][0]

    def topic_id(self, full):
        digits = self.describe_topic(full)["TopicId"]
        self.canon.learn_topic_id(digits)
        return digits

    # ---- connections

    def quiet(self, address=None):
        """A connection whose requests are not written down."""
        address = address or self.target.bootstrap[0]
        if address not in self.quiet_conns or self.quiet_conns[address].closed:
            self.quiet_conns[address] = Conn(self, "quiet", address, recorded=False)
        return self.quiet_conns[address]

    def coordinator(self, group):
        """The address of a group's coordinator; asked for once."""
        if group not in self.coordinators:
            self.coordinators[group] = self._find_coordinator(group)
        return self.coordinators[group]

    def _find_coordinator(self, group):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            answer = self.quiet().ask("FindCoordinator", 4, KeyType=0, CoordinatorKeys=[group])
            found = answer["Coordinators"][0] if answer else {"ErrorCode": None}
            if found["ErrorCode"] == 0:
                address = (found["Host"], found["Port"])
                answer = self.quiet(address).ask("OffsetFetch", 8, Groups=[{"GroupId": group, "Topics": []}])
                if answer and answer["Groups"][0]["ErrorCode"] == 0:
                    return address
            time.sleep(0.1)
        raise ScriptFailed(f"no coordinator for {group}")

    def until_code(self, code, api, version, **fields):
        """Repeats a request outside of the transcript until it gives that error code: what is being made is there then."""
        deadline = time.monotonic() + 20
        while self.quiet().ask(api, version, **fields)["ErrorCode"] != code:
            if time.monotonic() > deadline:
                raise ScriptFailed(f"{api} does not answer {code}")
            time.sleep(0.1)

    def leader(self, full, partition=0):
        answer = self.quiet().ask("Metadata", 12, Topics=[{"Name": full}])
        leaders = {p["PartitionIndex"]: p["LeaderId"] for p in answer["Topics"][0]["Partitions"]}
        nodes = {b["NodeId"]: (b["Host"], b["Port"]) for b in answer["Brokers"]}
        return nodes[leaders[partition]]

    def conn(self, name, group=None, address=None):
        """A named connection: to the coordinator of a group, to an address, or to the first node."""
        if group is not None:
            address = self.coordinator(group)
        conn = Conn(self, name, address or self.target.bootstrap[0])
        self.conns.append(conn)
        return conn

    def close(self):
        for conn in self.conns + list(self.quiet_conns.values()):
            conn.close()

    # ---- requests that most scripts make

    def join(self, conn, group, version=9, member="", instance=None, protocols=None, kind="consumer",
             session=10000, rebalance=10000, reason=None):
        return self.send_join(conn, group, version, member, instance, protocols, kind, session, rebalance, reason).wait()

    def send_join(self, conn, group, version=9, member="", instance=None, protocols=None, kind="consumer",
                  session=10000, rebalance=10000, reason=None):
        if protocols is None:
            protocols = [("range", b"meta-" + conn.name.lower().encode())]
        fields = {"GroupId": group, "SessionTimeoutMs": session}
        if version >= 1:
            fields["RebalanceTimeoutMs"] = rebalance
        fields["MemberId"] = member
        if instance is not None:
            fields["GroupInstanceId"] = instance
        fields["ProtocolType"] = kind
        fields["Protocols"] = [{"Name": n, "Metadata": m} for n, m in protocols]
        if reason is not None:
            fields["Reason"] = reason
        return conn.send("JoinGroup", version, **fields)

    def member(self, conn, group, **options):
        """A member id as KIP-394 hands it out, outside the story's point: the first join and its answer."""
        return self.join(conn, group, **options)["MemberId"]

    def stable_pair(self, group, version=3, session=10000, rebalance=10000, metadata=None, names="AB"):
        """Two members of a stable group: ((conn, id), (conn, id), generation). The first one leads."""
        a, b = self.conn(names[0], group), self.conn(names[1], group)
        options = {"version": version, "session": session, "rebalance": rebalance}
        if metadata is not None:
            options["protocols"] = [("range", metadata)]
        one = self.join(a, group, **options)["MemberId"]
        waiting = self.send_join(b, group, **options).still_waiting(0.2)
        generation = self.join(a, group, member=one, **options)["GenerationId"]
        two = waiting.wait()["MemberId"]
        follower = self.send_sync(b, group, generation, two).still_waiting(0.2)
        self.sync(a, group, generation, one, [(one, b"for-a"), (two, b"for-b")])
        follower.wait()
        return (a, one), (b, two), generation

    def stable_one(self, conn, group, version=9, instance=None, metadata=None, session=10000, rebalance=10000):
        """A member alone in a stable group: (id, generation)."""
        options = {"version": version, "instance": instance, "session": session, "rebalance": rebalance}
        if metadata is not None:
            options["protocols"] = [("range", metadata)]
        answer = self.join(conn, group, **options)
        if answer["ErrorCode"] == 79:
            answer = self.join(conn, group, member=answer["MemberId"], **options)
        member, generation = answer["MemberId"], answer["GenerationId"]
        self.sync(conn, group, generation, member, [(member, b"all")], instance=instance)
        return member, generation

    def send_sync(self, conn, group, generation, member, assignments=(), version=5, instance=None, kind="consumer",
                  protocol="range"):
        fields = {"GroupId": group, "GenerationId": generation, "MemberId": member}
        if instance is not None:
            fields["GroupInstanceId"] = instance
        if version >= 5:
            fields["ProtocolType"] = kind
            fields["ProtocolName"] = protocol
        fields["Assignments"] = [{"MemberId": m, "Assignment": a} for m, a in assignments]
        return conn.send("SyncGroup", version, **fields)

    def sync(self, conn, group, generation, member, assignments=(), **options):
        return self.send_sync(conn, group, generation, member, assignments, **options).wait()

    def beat(self, conn, group, generation, member, version=4, instance=None):
        fields = {"GroupId": group, "GenerationId": generation, "MemberId": member}
        if instance is not None:
            fields["GroupInstanceId"] = instance
        return conn.ask("Heartbeat", version, **fields)

    def leave(self, conn, group, members, version=5):
        """members: member ids, or (member id, instance id) pairs; one id up to version 2."""
        if version < 3:
            return conn.ask("LeaveGroup", version, GroupId=group, MemberId=members)
        rows = []
        for entry in members:
            member, instance = entry if isinstance(entry, tuple) else (entry, None)
            row = {"MemberId": member}
            if instance is not None:
                row["GroupInstanceId"] = instance
            rows.append(row)
        return conn.ask("LeaveGroup", version, GroupId=group, Members=rows)

    def beat_quietly(self, conn, group, generation, member):
        """A heartbeat that keeps a member alive and is not written down."""
        conn.recorded = False
        self.beat(conn, group, generation, member)
        conn.recorded = True

    def list_groups(self, version, **fields):
        """ListGroups of every node, the answers put together as one: a client's view of the whole cluster."""
        title = self.canon.request("ListGroups", fields)
        step = self.step(f"all ListGroups v{version}", title)
        rows, codes = [], set()
        for address in self.nodes():
            answer = self.quiet(address).ask("ListGroups", version, **fields)
            rows += answer["Groups"] or []
            codes.add(answer["ErrorCode"])
        step.lines.append(("ErrorCode", ", ".join(str(c) for c in sorted(codes, key=str))))
        step.lines += self.canon.lines("ListGroups", {"Groups": rows})
        return rows

    def nodes(self):
        answer = self.quiet().ask("Metadata", 1, Topics=[])
        return [(b["Host"], b["Port"]) for b in answer["Brokers"]]

    def node_of(self, conn):
        """The id, as text, of the node a connection goes to."""
        answer = self.quiet(conn.address).ask("Metadata", 1, Topics=[])
        return next(str(b["NodeId"]) for b in answer["Brokers"] if b["Port"] == conn.address[1])

    def describe(self, conn, group, version=6):
        return conn.ask("DescribeGroups", version, Groups=[group] if isinstance(group, str) else group)

    def commit(self, conn, group, offsets, generation=-1, member="", version=9, instance=None, retention=None):
        """offsets: [(topic, partition, offset)] with an optional 4th metadata and 5th leader epoch."""
        fields = {"GroupId": group, "GenerationIdOrMemberEpoch": generation, "MemberId": member}
        if instance is not None:
            fields["GroupInstanceId"] = instance
        if retention is not None:
            fields["RetentionTimeMs"] = retention
        topics = []
        for topic, partition, offset, *more in offsets:
            row = {"PartitionIndex": partition, "CommittedOffset": offset}
            if more:
                row["CommittedMetadata"] = more[0]
            if len(more) > 1:
                row["CommittedLeaderEpoch"] = more[1]
            key = "TopicId" if version >= 10 else "Name"
            if topics and topics[-1][key] == topic:
                topics[-1]["Partitions"].append(row)
            else:
                topics.append({key: topic, "Partitions": [row]})
        fields["Topics"] = topics
        return conn.ask("OffsetCommit", version, **fields)

    def fetch(self, conn, group, topics, version=9, stable=False, member=None, epoch=None):
        """topics: {topic: [partitions]} or None for all; below version 8 one group, from 8 on one in a batch."""
        key = "TopicId" if version >= 10 else "Name"
        rows = None if topics is None else [{key: t, "PartitionIndexes": p} for t, p in topics.items()]
        unordered = ("Topics", "Partitions") if topics is None else ()
        if version < 8:
            fields = {"GroupId": group, "Topics": rows}
        else:
            entry = {"GroupId": group, "Topics": rows}
            if member is not None:
                entry["MemberId"] = member
                entry["MemberEpoch"] = epoch
            fields = {"Groups": [entry]}
        if version >= 7:
            fields["RequireStable"] = stable
        return conn.ask("OffsetFetch", version, unordered=unordered, **fields)
