"""Random lives of groups of the new protocols, played to two systems at once.

A life is a list of operations drawn from a seed. Each operation makes one request for each system, with that system's
epochs and tasks, and the two answers are compared in a normal form. The topics have so many partitions that with one to
four members every member's share is forced; only while two members wait for tasks of others is it the assignor's choice
who gets which part first, and lists are not compared then.
"""
import socket
import struct
import time

from . import codec
from .schema import has

MOVED = (14, 15, 16)  # the coordinator loads, is not there, is another node
TASKS = {"small": 4, "big": 12}  # partitions of the topics that groups share


class Broken(Exception):
    """A side does not answer."""


class Wire:
    """One connection to the coordinator of a group."""

    def __init__(self, bootstrap, schemas):
        self.bootstrap = bootstrap
        self.schemas = schemas
        self.sockets = {}
        self.places = {}
        self.correlation = 0

    def close(self):
        for sock in self.sockets.values():
            sock.close()

    def ask(self, api, version, fields, client="c", group=None):
        """The answer; goes on until the coordinator of the group gives one."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            place = self._place(group) if group else self.bootstrap[0]
            try:
                answer = place and self._once(place, api, version, fields, client)
            except OSError:
                answer = None
                sock = self.sockets.pop(place, None)
                if sock:
                    sock.close()
            if answer and not code_of(answer) in MOVED:
                return answer
            self.places.pop(group, None)
            time.sleep(0.2)
        raise Broken(f"{api} is not answered")

    def _place(self, group):
        if group not in self.places:
            answer = self._once(self.bootstrap[0], "FindCoordinator", 4, {"KeyType": 0, "CoordinatorKeys": [group]}, "c")
            found = answer["Coordinators"][0]
            if found["ErrorCode"] == 0:
                self.places[group] = (found["Host"], found["Port"])
        return self.places.get(group)

    def _once(self, place, api, version, fields, client):
        if place not in self.sockets:
            self.sockets[place] = socket.create_connection(place, timeout=30)
            self.sockets[place].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        message = self.schemas[api + "Request"]
        self.correlation += 1
        name = client.encode()
        head = struct.pack(">hhih", message.key, version, self.correlation, len(name)) + name
        head += b"\x00" if has(message.flexible, version) else b""
        body = head + codec.encode(message, version, fields)
        sock = self.sockets[place]
        sock.sendall(struct.pack(">i", len(body)) + body)
        length = struct.unpack(">i", _take(sock, 4))[0]
        frame = _take(sock, length)
        at = 5 if has(message.flexible, version) and api != "ApiVersions" else 4
        return codec.decode(self.schemas[api + "Response"], version, frame[at:])[0]


def _take(sock, count):
    data = bytearray()
    while len(data) < count:
        more = sock.recv(count - len(data))
        if not more:
            raise OSError("closed")
        data += more
    return bytes(data)


def code_of(answer):
    """The error that speaks for a whole answer."""
    for name in ("Groups", "Results", "Coordinators"):
        if name in answer and answer[name] and "ErrorCode" in answer[name][0]:
            return answer[name][0]["ErrorCode"]
    if answer.get("Topics") and answer["Topics"][0].get("Partitions"):
        return answer["Topics"][0]["Partitions"][0].get("ErrorCode")
    return answer.get("ErrorCode")


class Seat:
    """What one side knows of one member."""

    def __init__(self):
        self.epoch = 0
        self.before = None  # the epoch that its present one replaced
        self.held = set()
        self.since = {}  # what it holds -> epoch in which it came
        self.told = None  # what it held before it was told to give up
        self.giving = False  # it has not moved on since

    def given(self, answer):
        """What an answer assigns; None: what it has stays."""
        raise NotImplementedError

    def report(self):
        """The fields that say what it holds."""
        raise NotImplementedError

    def unsay(self, answer):
        """Takes out of an answer what it assigns."""
        raise NotImplementedError

    def take(self, answer, joined=False):
        if joined:
            self.before = None
        elif answer["MemberEpoch"] != self.epoch:
            self.before = self.epoch
        self.giving = self.giving and answer["MemberEpoch"] == self.epoch and not joined
        self.epoch = answer["MemberEpoch"]
        now = self.given(answer)
        if now is None:
            return
        self.told = set(self.held) if self.held - now else None
        self.giving = self.told is not None
        self.since = {task: self.since.get(task, self.epoch) for task in now}
        self.held = now


class Side:
    """One of the two systems, as one life sees it."""

    def __init__(self, name, wire, prefix):
        self.name = name
        self.wire = wire
        self.prefix = prefix
        self.acts_by_itself = name == "muster"
        self.seats = {}
        self.topics = {}  # id -> name, as far as asked for

    def group(self, name):
        return self.prefix + name

    def ask(self, api, version, fields, client, group):
        return self.wire.ask(api, version, fields, client, self.group(group))

    def topic_of(self, digits, names):
        """Which of these topics has an id now; None: none of them."""
        if digits not in self.topics:
            for row in self.wire.ask("Metadata", 12, {"Topics": [{"Name": name} for name in names]})["Topics"]:
                if row["ErrorCode"] == 0:
                    self.topics[row["TopicId"]] = row["Name"]
        return self.topics.get(digits)


class Member:
    """What both sides have in common of a member."""

    def __init__(self, name, instance):
        self.name = name
        self.instance = instance
        self.rebalance = 60000
        self.away = False
        self.rack = None
        self.client = "c-" + name


class Epochs:
    """Epochs of one side against those of the other: equal, until topics change; then in the same order."""

    def __init__(self):
        self.pairs = {}
        self.loose = False

    def same(self, first, second):
        if first is None or second is None or first <= 0 or second <= 0:
            return first == second
        if first in self.pairs:
            return self.pairs[first] == second
        if not self._fits(first, second):
            return False
        self.pairs[first] = second
        self.loose = False
        return True

    def _fits(self, first, second):
        """Between its neighbours: in order with each, and as far from one of them as on the other side."""
        below = max((k for k in self.pairs if k < first), default=None)
        above = min((k for k in self.pairs if k > first), default=None)
        if below is not None and self.pairs[below] >= second or above is not None and self.pairs[above] <= second:
            return False
        if self.loose:
            return True
        near = below if below is not None else above
        return first - second == (near - self.pairs[near] if near is not None else 0)

    def ahead(self):
        """How far the first side's newest epoch is ahead of the other's."""
        return max(self.pairs) - self.pairs[max(self.pairs)] if self.pairs else 0
