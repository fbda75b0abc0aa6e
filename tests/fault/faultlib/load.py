"""Load of many clients in one thread: nonblocking sockets, one request in flight per actor, requests made in advance.

An actor is a client of one group. It talks to the group's coordinator, finds the new one when that is lost, and remembers what was acknowledged:
the proof afterwards. Everything an actor must never see goes into World.broken.
"""
import heapq
import json
import selectors
import socket
import struct
import time

from . import protocol
from .protocol import NONE, RETRIABLE
from .story import check

RETRY_S = 0.004          # as fast as one thread may ask for all actors without keeping the nodes from the processor
CONNECT_RETRY_S = 0.005
FRUITLESS = 20           # questions and requests without a good answer, after which nodes without a connection are asked, too
SHUNNED_S = 1.0          # that long one is not that ended a connection or did not answer


class Channel:
    """A nonblocking connection to one node. on_lost() when it ends; answers go to the callback given with their request."""

    def __init__(self, world, address, on_lost):
        self.world = world
        self.address = address
        self.on_lost = on_lost
        self.waiting = []
        self.buffer = bytearray()
        self.output = bytearray()
        self.ended = False
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.connect_ex(address)
        self.events = selectors.EVENT_READ | selectors.EVENT_WRITE
        world.selector.register(self.socket, self.events, self)
        self.connected = False

    def send(self, frame, callback):
        self.waiting.append(callback)
        self.output += frame
        if self.connected:
            self._write()

    def _want(self, events):
        if events != self.events:
            self.events = events
            self.world.selector.modify(self.socket, events, self)

    def _write(self):
        try:
            while self.output:
                del self.output[:self.socket.send(self.output)]
        except BlockingIOError:
            pass
        except OSError:
            self.end()
            return
        self._want(selectors.EVENT_READ | (selectors.EVENT_WRITE if self.output else 0))

    def ready(self, events):
        if events & selectors.EVENT_WRITE:
            if not self.connected and self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0:
                self.end()
                return
            self.connected = True
            self._write()
        if events & selectors.EVENT_READ and not self.ended:
            self._read()

    def _read(self):
        try:
            data = self.socket.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.end()
            return
        self.buffer += data
        while len(self.buffer) >= 4 and not self.ended:
            length = struct.unpack(">i", self.buffer[:4])[0]
            if len(self.buffer) < 4 + length:
                return
            frame = bytes(self.buffer[4:4 + length])
            del self.buffer[:4 + length]
            self.waiting.pop(0)(frame)

    def close(self):
        """Ends it without telling."""
        if not self.ended:
            self.ended = True
            self.world.selector.unregister(self.socket)
            self.socket.close()

    def end(self):
        if not self.ended:
            self.close()
            self.world.ended[self.address] = time.monotonic()
            self.on_lost(self)


class World:
    """The loop: sockets, times, and what all actors share."""

    def __init__(self, addresses):
        self.addresses = list(addresses)
        self.selector = selectors.DefaultSelector()
        self.timers = []
        self.sequence = 0
        self.actors = []
        self.broken = []
        self.ended = {}            # address -> when a connection to it ended last
        self.history = None        # a file for tests/lin/linearize.py, open

    @staticmethod
    def now():
        return time.monotonic()

    def at(self, when, call):
        self.sequence += 1
        heapq.heappush(self.timers, (when, self.sequence, call))

    def run(self, seconds=None, until=None):
        """Turns the loop for that long, or until until() is true; the latter's value."""
        end = None if seconds is None else time.monotonic() + seconds
        while True:
            now = time.monotonic()
            if until is not None and until():
                return True
            if end is not None and now >= end:
                return False
            wait = 0.02 if end is None else min(0.02, end - now)
            if self.timers:
                wait = min(wait, self.timers[0][0] - now)
            for key, events in self.selector.select(max(0.0, wait)):
                if not key.data.ended:
                    key.data.ready(events)
            now = time.monotonic()
            while self.timers and self.timers[0][0] <= now:
                heapq.heappop(self.timers)[2]()

    def tell(self, register, op, value, invoke, answered):
        """An operation for the history; answered: when, None: nobody knows whether it took effect."""
        if self.history is not None:
            line = {"register": register, "op": op, "value": value, "invoke": invoke, "return": answered, "outcome": "unknown" if answered is None else "ok"}
            self.history.write(json.dumps(line) + "\n")

    def breaks(self, text):
        if len(self.broken) < 20:
            self.broken.append(text)

    def close(self):
        for actor in self.actors:
            actor.stop()
        self.selector.close()


class Actor:
    """One client of one group. Subclasses say what to ask (next_request) and what the answer means (answered)."""

    def __init__(self, world, group, pace):
        self.world = world
        self.group = group
        self.pace = pace
        self.channels = {}
        self.address = None        # of the coordinator, as last told
        self.correlation = 0
        self.stopped = False
        self.pending = None        # when the request in flight was sent
        self.turn = 0              # counts requests, so that what belongs to an abandoned one is known
        self.seeking = 0
        self.shunned = {}          # address -> when it last ended this client's connection, or did not answer
        self.fruitless = 0         # how often it was asked where the coordinator is, since the last good answer
        self.patience = None       # seconds after which a request without answer is given up, and its connection with it
        self.retries = 0           # answers that said: ask again
        self.acks = []             # (when answered, when sent)
        self.keep_acks = False
        self.question = bytearray(protocol.request_frame("FindCoordinator", 4, 0, {"KeyType": 0, "CoordinatorKeys": [group]}))
        world.actors.append(self)

    def begin(self):
        for address in self.world.addresses:
            self.channel(address)
        self.world.at(time.monotonic(), self.seek)

    def stop(self):
        self.stopped = True
        for channel in self.channels.values():
            channel.close()
        self.channels.clear()

    def channel(self, address):
        if address not in self.channels:
            self.channels[address] = Channel(self.world, address, self.lost)
        return self.channels[address]

    def lost(self, channel):
        """Everything that waited on that connection has no answer."""
        if self.channels.get(channel.address) is channel:
            del self.channels[channel.address]
        self.shunned[channel.address] = time.monotonic()
        if self.stopped:
            return
        if channel.waiting:
            self.turn += 1
            self.pending = None
            self.outcome_unknown()
            self.address = None if self.address == channel.address else self.address
            # Asking the node that is gone would cost a refused connection: the next one is asked first.
            self.seeking += 1
            self.world.at(time.monotonic() + (0 if channel.connected else CONNECT_RETRY_S), self.seek)

    # ---- finding the coordinator

    def seek(self):
        if self.stopped or self.pending is not None:
            return
        live = [a for a in self.world.addresses if a in self.channels and self.channels[a].connected]
        if self.fruitless > FRUITLESS:   # those that are connected may be the ones that are cut off from the others
            live += [a for a in self.world.addresses if a not in live and time.monotonic() - self.shunned.get(a, 0) > SHUNNED_S]
        choice = live or self.world.addresses
        self.fruitless += 1
        address = choice[self.seeking % len(choice)]
        self.correlation += 1
        struct.pack_into(">i", self.question, 8, self.correlation)
        self._send(address, bytes(self.question), self._found)

    def _found(self, frame):
        row = protocol.answer_of("FindCoordinator", 4, frame)[1]["Coordinators"][0]
        if row["ErrorCode"] == NONE:
            self.address = (row["Host"], row["Port"])
            self.step()
            return
        self.seeking += 1
        self.world.at(time.monotonic() + RETRY_S, self.seek)

    # ---- asking

    def _send(self, address, frame, callback):
        self.pending = time.monotonic()
        self.turn += 1
        turn = self.turn

        def guarded(answer):
            if turn == self.turn and not self.stopped:
                sent, self.pending = self.pending, None
                self.sent_at = sent
                callback(answer)
        if self.patience is not None:
            self.world.at(self.pending + self.patience, lambda: self._give_up(turn, address))
        self.channel(address).send(frame, guarded)

    def hang_up(self, address):
        """On a node that it waits for, or that it would ask next."""
        if self.pending is not None:
            self._give_up(self.turn, address)
        elif address in self.channels:
            self.channels[address].end()

    def _give_up(self, turn, address):
        """Hangs up on a node that does not answer; the request may still take effect, at any time."""
        if self.stopped or turn != self.turn or self.pending is None:
            return
        channel = self.channels.pop(address, None)
        if channel is not None:
            channel.close()
        self.shunned[address] = time.monotonic()
        self.turn += 1
        self.pending = None
        self.abandoned()
        self.outcome_unknown()
        self.address = None if self.address == address else self.address
        self.seeking += 1
        self.seek()

    def step(self):
        """The next request, to the coordinator."""
        if self.stopped or self.pending is not None:
            return
        if self.address is None:
            self.seek()
            return
        self._send(self.address, self.next_request(), self._answered)

    def _answered(self, frame):
        codes = self.answered(frame)
        now = time.monotonic()
        if any(code in RETRIABLE for code in codes):
            self.retries += 1
            self.address = None
            self.seeking += 1
            self.world.at(now + RETRY_S, self.seek)
            return
        self.fruitless = 0
        if self.keep_acks:
            self.acks.append((now, self.sent_at))
        self.world.at(now + self.pace, self.step)

    def outcome_unknown(self):
        """The request in flight has no answer and will get none."""

    def abandoned(self):
        """As outcome_unknown, which follows, but the request may even be read later than those that come after it."""

    def next_request(self):
        raise NotImplementedError

    def answered(self, frame):
        """Takes the answer; its error codes."""
        raise NotImplementedError


class Template:
    """A request of which only the correlation id and one number are filled in each time."""
    MARK = 0x5152535455565758

    def __init__(self, api, version, fields_of):
        mark = struct.pack(">q", self.MARK)
        self.frame = bytearray(protocol.request_frame(api, version, 0, fields_of(self.MARK)))
        self.at = self.frame.find(mark)
        if self.at < 0 or self.frame.find(mark, self.at + 1) >= 0:
            raise ValueError(f"{api}: the number must stand in it once")

    def fill(self, correlation, number):
        struct.pack_into(">i", self.frame, 8, correlation)
        struct.pack_into(">q", self.frame, self.at, number)
        return bytes(self.frame)


class Committer(Actor):
    """Commits growing offsets to one partition and reads them back every so often. member: (generation, member id) of a member's commits."""

    READ_EVERY = 8
    NEXT = 16                      # from one partition to the next: the groups of tests have fewer committers

    def __init__(self, world, group, topic, pace=0.0, generation=-1, member="", partition=0, metadata="", version=8):
        super().__init__(world, group, pace)
        self.topic, self.version = topic, version
        self.fields = lambda offset: protocol.commit_fields(group, {topic: {self.partition: (offset, -1, metadata)}}, generation, member)
        self.turn_to(partition)
        self.sent = 0              # highest offset ever sent
        self.acked = 0             # highest offset acknowledged
        self.commits = self.reads = 0
        self.refusals = set()      # errors that commits were answered with
        self.reading = False
        self.asked_at = 0
        self.flight = None         # the commit that is not answered: partition, offset, when it was sent
        self.floor = 0
        self.left = {}             # partition: (acknowledged, sent), of those that it commits to no more

    def turn_to(self, partition):
        self.partition = partition
        self.commit_template = Template("OffsetCommit", self.version, self.fields)
        self.fetch = protocol.request_frame("OffsetFetch", 8, 0, protocol.fetch_fields(self.group, {self.topic: [partition]}))

    def abandoned(self):
        """An offset that may be written at any time makes it impossible to know what comes last: the partition is left to it."""
        if not self.reading and self.sent > self.acked:
            self.left[self.partition] = (self.acked, self.sent)
            self.sent = self.acked = self.floor = 0
            self.turn_to(self.partition + self.NEXT)

    def register(self, partition):
        return f"{self.group}/{partition}"

    def outcome_unknown(self):
        self._wrote(None)

    def _wrote(self, answered):
        if self.flight is not None:
            partition, value, sent_at = self.flight
            self.world.tell(self.register(partition), "write", value, sent_at, answered)
            self.flight = None

    def bounds(self, partition):
        """(lowest, highest) offset that the partition may have now; -1: none."""
        acked, sent = self.left.get(partition, (self.acked, self.sent))
        return acked or -1, sent

    def next_request(self):
        self.correlation += 1
        self.reading = self.commits % self.READ_EVERY == self.READ_EVERY - 1 and not self.reading
        self.asked_at = time.monotonic()
        if self.reading:
            self.floor = self.acked
            return self.fetch[:8] + struct.pack(">i", self.correlation) + self.fetch[12:]
        self.sent += 1
        self.flight = (self.partition, self.sent, self.asked_at)
        return self.commit_template.fill(self.correlation, self.sent)

    def answered(self, frame):
        return self._read(frame) if self.reading else self._committed(frame)

    def _committed(self, frame):
        codes = protocol.commit_errors(protocol.answer_of("OffsetCommit", self.version, frame)[1])
        self._wrote(time.monotonic() if codes == {NONE} else None)
        if codes == {NONE}:
            self.acked = self.sent
            self.commits += 1
        else:
            self.refusals.update(codes)
            self.refuse("commit", codes)
        return codes

    def _read(self, frame):
        code, rows = protocol.fetched(protocol.answer_of("OffsetFetch", 8, frame)[1])
        row = rows.get((self.topic, self.partition))
        codes = {code} if row is None else {code, row["ErrorCode"]}
        if codes == {NONE}:
            self.reads += 1
            self.world.tell(self.register(self.partition), "read", row["CommittedOffset"], self.asked_at, time.monotonic())
            self.verify(row["CommittedOffset"])
        else:
            self.refuse("fetch", codes)
        return codes

    def verify(self, offset):
        if not (self.floor or -1) <= offset <= self.sent:
            self.world.breaks(f"{self.group}: reads {offset}, acknowledged {self.floor}, sent {self.sent}")

    def refuse(self, what, codes):
        for code in codes:
            if code != NONE and code not in RETRIABLE and code != protocol.REQUEST_TIMED_OUT:
                self.world.breaks(f"{self.group}: {what} answered {protocol.error_text(code)}")


def patient(world, topic, count, pace=0.02):
    """Committers of groups of their own that ask elsewhere when nobody answers; they have begun, and commit."""
    committers = [Committer(world, f"g{n}", topic, pace) for n in range(count)]
    for c in committers:
        c.patience = 0.25
        c.begin()
    check(world.run(20, lambda: all(c.acked > 5 for c in committers)), "the committers do not get going")
    return committers


def read_back(client, committers, when):
    """By another client: what each partition has, those left to requests without an answer included."""
    for c in committers:
        least = {partition: c.bounds(partition)[0] for partition in [*c.left, c.partition]}
        for (_, partition), got in client.offsets(c.group, {c.topic: list(least)}).items():
            most = c.bounds(partition)[1]
            check(least[partition] <= got <= most,
                  f"{when}: partition {partition} of {c.group} has {got}; {least[partition]} was acknowledged, {most} sent")
        c.left.clear()


class Beater(Actor):
    """Heartbeats of a member: every one must be answered NONE, whoever coordinates."""

    API, VERSION = "Heartbeat", 4

    def __init__(self, world, group, generation, member, pace=0.05):
        super().__init__(world, group, pace)
        self.template = bytearray(protocol.request_frame(self.API, self.VERSION, 0, self.fields(generation, member)))
        self.beats = 0

    def fields(self, generation, member):
        return {"GroupId": self.group, "GenerationId": generation, "MemberId": member}

    def next_request(self):
        self.correlation += 1
        struct.pack_into(">i", self.template, 8, self.correlation)
        return bytes(self.template)

    def answered(self, frame):
        code = protocol.answer_of(self.API, self.VERSION, frame)[1]["ErrorCode"]
        if code == NONE:
            self.beats += 1
        elif code not in RETRIABLE:
            self.world.breaks(f"{self.group}: heartbeat answered {protocol.error_text(code)}")
        return [code]
