"""A blocking client: a connection, and a client of the whole cluster that asks again where Kafka's clients would."""
import socket
import struct
import time

from . import protocol
from .protocol import NONE, RETRIABLE


class Lost(Exception):
    """No answer: the connection was refused or ended, or the time is over. Whether the request happened is not known."""


class Refused(Exception):
    """An answer with an error that asking again does not cure."""


class Conn:
    """One connection. Requests may be sent ahead; answers are taken in order."""

    def __init__(self, address, timeout=5.0, client_id="fault"):
        self.address = address
        self.timeout = timeout
        self.client_id = client_id
        self.correlation = 0
        self.sent = []
        self.buffer = bytearray()
        try:
            self.socket = socket.create_connection(address, timeout=timeout)
        except OSError as error:
            raise Lost(f"{address[0]}:{address[1]}: {error}") from error
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self):
        self.socket.close()

    def send(self, api, version, **fields):
        self.correlation += 1
        frame = protocol.request_frame(api, version, self.correlation, fields, self.client_id)
        self.sent.append((self.correlation, api, version))
        self.raw(frame)

    def raw(self, data):
        try:
            self.socket.settimeout(self.timeout)
            self.socket.sendall(data)
        except OSError as error:
            raise Lost(f"{self.address[0]}:{self.address[1]}: {error}") from error

    def receive(self, timeout=None):
        """The answer of the oldest request that has none."""
        correlation, api, version = self.sent[0]
        frame = self.frame(self.timeout if timeout is None else timeout)
        self.sent.pop(0)
        got, values = protocol.answer_of(api, version, frame)
        if got != correlation:
            raise Refused(f"{api}: answer of request {got}, not of {correlation}: out of order")
        return values

    def frame(self, timeout):
        deadline = time.monotonic() + timeout
        while True:
            if len(self.buffer) >= 4:
                length = struct.unpack(">i", self.buffer[:4])[0]
                if len(self.buffer) >= 4 + length:
                    frame = bytes(self.buffer[4:4 + length])
                    del self.buffer[:4 + length]
                    return frame
            self._read(deadline)

    def _read(self, deadline):
        left = deadline - time.monotonic()
        if left <= 0:
            raise Lost(f"{self.address[0]}:{self.address[1]}: no answer in time")
        try:
            self.socket.settimeout(left)
            data = self.socket.recv(1 << 18)
        except OSError as error:
            raise Lost(f"{self.address[0]}:{self.address[1]}: {error}") from error
        if not data:
            raise Lost(f"{self.address[0]}:{self.address[1]}: closed")
        self.buffer += data

    def closed_within(self, seconds):
        """True when the other side ends the connection in that time (answers that come before are dropped)."""
        deadline = time.monotonic() + seconds
        try:
            while True:
                self._read(deadline)
        except Lost as lost:
            return "no answer in time" not in str(lost) and "timed out" not in str(lost)

    def ask(self, api, version, timeout=None, **fields):
        self.send(api, version, **fields)
        return self.receive(timeout)


class Client:
    """Asks the cluster as a client library would: finds the coordinator, asks again on retriable errors and lost connections."""

    def __init__(self, addresses, patience=10.0, timeout=5.0):
        self.addresses = list(addresses)
        self.patience = patience
        self.timeout = timeout
        self.conns = {}
        self.coordinators = {}

    def close(self):
        for conn in self.conns.values():
            conn.close()
        self.conns.clear()

    def conn(self, address):
        if address not in self.conns:
            self.conns[address] = Conn(address, self.timeout)
        return self.conns[address]

    def drop(self, address):
        conn = self.conns.pop(address, None)
        if conn is not None:
            conn.close()

    def at(self, address, api, version, timeout=None, **fields):
        """One request to one node; Lost closes the connection, so that a late answer meets nobody."""
        try:
            return self.conn(address).ask(api, version, timeout, **fields)
        except Lost:
            self.drop(address)
            raise

    def find(self, group):
        """Address of the group's coordinator, by whoever answers first; None: nobody knows now."""
        for address in self.addresses:
            try:
                values = self.at(address, "FindCoordinator", 4, KeyType=0, CoordinatorKeys=[group])
            except Lost:
                continue
            found = values["Coordinators"][0]
            if found["ErrorCode"] == NONE:
                return found["Host"], found["Port"]
        return None

    def group(self, group, api, version, errors, timeout=None, patience=None, **fields):
        """Sends a group request to its coordinator until the answer has no retriable error. errors(values): its error codes.
        A request whose answer was lost is sent again: right for whatever may happen twice."""
        deadline = time.monotonic() + (self.patience if patience is None else patience)
        why = "no coordinator"
        while True:
            address = self.coordinators.get(group) or self.find(group)
            if address is not None:
                try:
                    values = self.at(address, api, version, timeout, **fields)
                    codes = errors(values)
                    if not any(code in RETRIABLE for code in codes):
                        self.coordinators[group] = address
                        return values
                    why = ", ".join(protocol.error_text(c) for c in codes)
                except Lost as lost:
                    why = str(lost)
                self.coordinators.pop(group, None)
            if time.monotonic() > deadline:
                raise Lost(f"{api} of {group}: {why}")
            time.sleep(0.01)

    # ---- what tests ask most

    def commit(self, group, offsets, generation=-1, member="", version=8, retention=None, **options):
        values = self.group(group, "OffsetCommit", version, protocol.commit_errors,
                            **protocol.commit_fields(group, offsets, generation, member, retention, version), **options)
        bad = protocol.commit_errors(values) - {NONE}
        if bad:
            raise Refused(f"commit of {group}: {', '.join(protocol.error_text(c) for c in bad)}")

    def rows(self, group, topics=None, **options):
        """{(topic, partition): row} of the committed offsets."""
        def errors(values):
            code, rows = protocol.fetched(values)
            return [code] + [row["ErrorCode"] for row in rows.values()]
        values = self.group(group, "OffsetFetch", 8, errors, **protocol.fetch_fields(group, topics), **options)
        code, rows = protocol.fetched(values)
        if code != NONE:
            raise Refused(f"fetch of {group}: {protocol.error_text(code)}")
        return rows

    def offsets(self, group, topics=None, **options):
        """{(topic, partition): offset}; -1: none."""
        return {where: row["CommittedOffset"] for where, row in self.rows(group, topics, **options).items()}

    def one_error(self, group, api, version, **fields):
        """A request whose answer has one error code; returns the whole answer."""
        return self.group(group, api, version, lambda values: [values["ErrorCode"]], **fields)

    def heartbeat(self, group, generation, member, **options):
        return self.one_error(group, "Heartbeat", 4, GroupId=group, GenerationId=generation, MemberId=member,
                              **options)["ErrorCode"]

    def join(self, group, member="", session=10000, rebalance=10000, topics=("t",), timeout=30.0, protocols=None):
        """Joins; with a member id that the coordinator gives, if need be. Returns the answer."""
        fields = {"GroupId": group, "SessionTimeoutMs": session, "RebalanceTimeoutMs": rebalance, "ProtocolType": "consumer",
                  "Protocols": protocols or [{"Name": "range", "Metadata": protocol.subscription(*topics)}]}
        values = self.one_error(group, "JoinGroup", 9, MemberId=member, timeout=timeout, **fields)
        if values["ErrorCode"] == protocol.MEMBER_ID_REQUIRED:
            values = self.one_error(group, "JoinGroup", 9, MemberId=values["MemberId"], timeout=timeout, **fields)
        return values

    def sync(self, group, generation, member, assignments=(), timeout=30.0):
        return self.one_error(group, "SyncGroup", 5, timeout=timeout, GroupId=group, GenerationId=generation, MemberId=member,
                              ProtocolType="consumer", ProtocolName="range",
                              Assignments=[{"MemberId": m, "Assignment": a} for m, a in assignments])

    def alone(self, group, **options):
        """A member alone in a stable group: (member id, generation)."""
        joined = self.join(group, **options)
        if joined["ErrorCode"] != NONE:
            raise Refused(f"join of {group}: {protocol.error_text(joined['ErrorCode'])}")
        member, generation = joined["MemberId"], joined["GenerationId"]
        synced = self.sync(group, generation, member, [(member, b"all")])
        if synced["ErrorCode"] != NONE:
            raise Refused(f"sync of {group}: {protocol.error_text(synced['ErrorCode'])}")
        return member, generation

    def leave(self, group, member):
        values = self.one_error(group, "LeaveGroup", 5, GroupId=group, Members=[{"MemberId": member}])
        return [values["ErrorCode"]] + [row["ErrorCode"] for row in values["Members"]]

    def delete_group(self, group):
        values = self.group(group, "DeleteGroups", 2, lambda v: [r["ErrorCode"] for r in v["Results"]], GroupsNames=[group])
        return values["Results"][0]["ErrorCode"]

    def describe(self, group):
        return self.group(group, "DescribeGroups", 5, lambda v: [g["ErrorCode"] for g in v["Groups"]],
                          Groups=[group])["Groups"][0]

    def create_topic(self, name, partitions=1):
        """Makes a topic; one that exists is fine."""
        self.change_topic(name, "CreateTopics", 5, lambda v: v["Topics"][0], (NONE, 36), TimeoutMs=5000, Topics=[
            {"Name": name, "NumPartitions": partitions, "ReplicationFactor": 1, "Assignments": [], "Configs": []}])

    def grow_topic(self, name, partitions):
        self.change_topic(name, "CreatePartitions", 3, lambda v: v["Results"][0], (NONE,), TimeoutMs=5000, Topics=[
            {"Name": name, "Count": partitions, "Assignments": None}], ValidateOnly=False)

    def delete_topic(self, name):
        self.change_topic(name, "DeleteTopics", 5, lambda v: v["Responses"][0], (NONE,), TimeoutMs=5000, TopicNames=[name])

    def change_topic(self, name, api, version, row_of, fine, **fields):
        """Until one of the nodes says that it is done."""
        deadline = time.monotonic() + self.patience
        why = "nobody was asked"
        while time.monotonic() < deadline:
            for address in self.addresses:
                try:
                    row = row_of(self.at(address, api, version, **fields))
                except Lost as lost:
                    why = str(lost)
                    continue
                if row["ErrorCode"] in fine:
                    return
                why = f"{protocol.error_text(row['ErrorCode'])} {row['ErrorMessage']}"
            time.sleep(0.05)
        raise Refused(f"{api} of topic {name}: {why}")

    def list_groups(self, address, version=5, timeout=None):
        """(error, [group]) as that one node says."""
        values = self.at(address, "ListGroups", version, timeout)
        return values["ErrorCode"], values["Groups"]
