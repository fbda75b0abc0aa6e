"""Members that come, go, die and move their partitions, as actors of load.World, each as its client library would be at work on what it was told.

What a member may be at work on (owned) is known at every moment: from the answer that assigns it until the request that says it was given up has
been sent. Two members of a group that own the same unit are what must never be seen; nor a member that is thrown out although it was heard in time.
"""
import time

from . import protocol
from .consumer import ConsumerMember
from .load import Actor
from .protocol import (FENCED_MEMBER_EPOCH, ILLEGAL_GENERATION, MEMBER_ID_REQUIRED, NONE, REBALANCE_IN_PROGRESS, RETRIABLE, UNKNOWN_MEMBER_ID,
                       error_text)
from .streams import StreamsMember, topology

GONE = {UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, ILLEGAL_GENERATION}


class Mover(Actor):
    """A member. Subclasses speak the protocol."""

    SHORT_S = 1.0                  # patience, where a request is not held by the coordinator

    def __init__(self, world, crowd, name, session_s, pace):
        super().__init__(world, crowd.group, pace)
        self.crowd = crowd
        self.name = name
        self.session_s = session_s
        self.owned = set()
        self.heard = None          # when the last heartbeat that was answered well had been sent; None: it is no member
        self.lost_answers = 0      # since that, those that said to ask again included
        self.leaving = False
        self.frame_of = None       # takes the answer that is awaited

    def own(self, units):
        self.owned = set(units)
        for other in self.crowd.members:
            both = self.owned & other.owned if other is not self else set()
            if both:
                self.world.breaks(f"{self.group}: {sorted(both)} belong to {self.name} and to {other.name}")

    def outcome_unknown(self):
        self.lost_answers += 1

    def lives(self):
        """A good answer: the member is one."""
        self.heard = self.sent_at
        self.lost_answers = 0

    def thrown_out(self, code):
        """Told that it is no member. A fault when the coordinator had heard of it less than a session ago."""
        silent = None if self.heard is None else time.monotonic() - self.heard
        if silent is not None and not self.leaving:
            # An epoch two answers behind is fenced by the protocol (KIP-848), whoever lost them.
            if silent < self.session_s and not (code == FENCED_MEMBER_EPOCH and self.lost_answers > 1):
                self.world.breaks(f"{self.group}: {self.name} is answered {error_text(code)} {silent:.2f} s after a heartbeat, "
                                  f"{self.lost_answers} answers lost since")
            else:
                self.crowd.late += 1
        self.heard = None
        self.owned = set()

    def leave(self):
        """With the next request, and stops when that is answered."""
        self.leaving = True

    def die(self):
        self.owned = set()
        self.retire()

    def retire(self):
        self.owned = set()
        self.stop()
        self.crowd.members.remove(self)
        self.world.actors.remove(self)

    def request(self, api, version, fields, take):
        """The next request; take(values) gets its answer and returns its error."""
        self.correlation += 1
        self.frame_of = lambda frame: take(protocol.answer_of(api, version, frame)[1])
        return protocol.request_frame(api, version, self.correlation, fields)

    def answered(self, frame):
        code = self.frame_of(frame)
        if code in RETRIABLE:
            self.outcome_unknown()   # what it asked for may have been in flight when the coordinator lost its office
        elif self.leaving and self.heard is None:
            self.retire()
        return [code]


class ModernMover(Mover):
    """Of a consumer or streams group. kind: its class in consumer.py or streams.py, which knows the fields."""

    def __init__(self, world, crowd, name, session_s, pace, kind, joining):
        super().__init__(world, crowd, name, session_s, pace)
        self.joining = joining     # fields of the first heartbeat
        self.member = kind(None, crowd.group, name)
        self.full = True           # the next heartbeat says what it has
        self.incarnation = 0
        self.patience = self.SHORT_S

    def next_request(self):
        m = self.member
        if self.leaving:
            self.owned = set()
            return self.request(m.API, m.VERSION, m.fields(-1), self._left)
        if self.heard is None:
            return self.request(m.API, m.VERSION, m.fields(0, **self.joining), self._beaten)
        self.own(m.held)           # what it gave up is nobody's from here on
        return self.request(m.API, m.VERSION, m.fields(m.epoch, **(m.report(m.held) if self.full else {})), self._beaten)

    def _left(self, values):
        if values["ErrorCode"] not in RETRIABLE:
            self.heard = None
        return values["ErrorCode"]

    def _beaten(self, values):
        m, code = self.member, values["ErrorCode"]
        if code in GONE:
            self.thrown_out(code)
            self._begin_again()
        elif code == NONE:
            if self.heard is not None and values["MemberEpoch"] < m.epoch:
                self.world.breaks(f"{self.group}: the epoch of {self.name} went back from {m.epoch} to {values['MemberEpoch']}")
            self.lives()
            before = set(m.held)
            m.epoch = values["MemberEpoch"]
            m.take(values)
            self.own(self.owned | m.held)
            self.full = m.held != before
        elif code not in RETRIABLE:
            self.world.breaks(f"{self.group}: heartbeat of {self.name} answered {error_text(code)} {values['ErrorMessage']}")
        return code

    def _begin_again(self):
        self.member.epoch = 0
        self.member.held = set()
        self.full = True

    def outcome_unknown(self):
        super().outcome_unknown()
        self.full = True

    def abandoned(self):
        """A first heartbeat that may be read at any time would reset the member: that one stays behind, and another joins."""
        if self.heard is None and not self.leaving:
            self.incarnation += 1
            self.member.member = f"{self.name}.{self.incarnation}"


class ClassicMover(Mover):
    """Of a classic group, eager: who has to rejoin gives everything up first. The leader deals the partitions out."""

    REBALANCE_MS = 8000
    HELD_S = 20                    # JoinGroup and SyncGroup are answered late

    def __init__(self, world, crowd, name, session_s, pace, partitions):
        super().__init__(world, crowd, name, session_s, pace)
        self.partitions = partitions
        self.member, self.generation = "", -1
        self.next = self._join
        self.assignments = []

    def next_request(self):
        self.patience = self.SHORT_S
        return self._leave() if self.leaving else self.next()

    def _leave(self):
        self.owned = set()
        return self.request("LeaveGroup", 5, {"GroupId": self.group, "Members": [{"MemberId": self.member}]}, self._left)

    def _left(self, values):
        if values["ErrorCode"] not in RETRIABLE:
            self.heard = None
        return values["ErrorCode"]

    def _join(self):
        self.patience = self.HELD_S
        self.owned = set()
        protocols = [{"Name": "range", "Metadata": protocol.subscription("moving")}]
        return self.request("JoinGroup", 9, {"GroupId": self.group, "SessionTimeoutMs": int(self.session_s * 1000), "ProtocolType": "consumer",
                                             "RebalanceTimeoutMs": self.REBALANCE_MS, "MemberId": self.member, "Protocols": protocols}, self._joined)

    def _joined(self, values):
        code = values["ErrorCode"]
        if code == MEMBER_ID_REQUIRED:
            self.member = values["MemberId"]
        elif code == NONE:
            self.member, self.generation = values["MemberId"], values["GenerationId"]
            self.lives()
            self.assignments = self._deal([m["MemberId"] for m in values["Members"]]) if values["Leader"] == self.member else []
            self.next = self._sync
        else:
            self._refused("join", code)
        return code

    def _deal(self, members):
        return [{"MemberId": m, "Assignment": ",".join(str(p) for p in range(self.partitions) if p % len(members) == n).encode()}
                for n, m in enumerate(members)]

    def _sync(self):
        self.patience = self.HELD_S
        return self.request("SyncGroup", 5, {"GroupId": self.group, "GenerationId": self.generation, "MemberId": self.member,
                                             "ProtocolType": "consumer", "ProtocolName": "range", "Assignments": self.assignments}, self._synced)

    def _synced(self, values):
        code = values["ErrorCode"]
        if code == NONE:
            self.lives()
            self.next = self._beat
            self.own({int(p) for p in values["Assignment"].decode().split(",") if p})
        else:
            self._refused("sync", code)
        return code

    def _beat(self):
        return self.request("Heartbeat", 4, {"GroupId": self.group, "GenerationId": self.generation, "MemberId": self.member}, self._beaten)

    def _beaten(self, values):
        code = values["ErrorCode"]
        if code == NONE:
            self.lives()
        else:
            self._refused("heartbeat", code)
        return code

    def _refused(self, what, code):
        if code in RETRIABLE:
            return
        if code == UNKNOWN_MEMBER_ID:
            self.thrown_out(code)
            self.member, self.generation = "", -1
        elif code == REBALANCE_IN_PROGRESS:
            self.lives()
        elif code != ILLEGAL_GENERATION:
            self.world.breaks(f"{self.group}: {what} of {self.name} answered {error_text(code)}")
        self.owned = set()
        self.next = self._join


class Crowd:
    """The members of one group. make(world, crowd, name) makes one more."""

    def __init__(self, world, group, make):
        self.world = world
        self.group = group
        self.make = make
        self.members = []
        self.made = 0
        self.late = 0              # members that were thrown out after a session without any answer

    def add(self):
        self.made += 1
        member = self.make(self.world, self, f"{self.group}-m{self.made}")
        self.members.append(member)
        member.begin()

    def change(self, rng, fewest=2, most=5):
        """Somebody comes, leaves or dies."""
        staying = [m for m in self.members if not m.leaving]
        if len(staying) <= fewest or (len(staying) < most and rng.random() < 0.5):
            self.add()
        elif rng.random() < 0.7:
            rng.choice(staying).leave()
        else:
            rng.choice(staying).die()

    def owned(self):
        return set().union(*(m.owned for m in self.members))


def consumer_crowd(world, group, topic, session_s, pace):
    joining = ConsumerMember(None, group).full([topic])
    return Crowd(world, group, lambda w, crowd, name: ModernMover(w, crowd, name, session_s, pace, ConsumerMember, joining))


def streams_crowd(world, group, topic, session_s, pace):
    def make(w, crowd, name):
        joining = {"RebalanceTimeoutMs": 60000, "Topology": topology(topic), "ProcessId": f"process-{name}", "ClientTags": [],
                   **StreamsMember(None, group).report(set())}
        return ModernMover(w, crowd, name, session_s, pace, StreamsMember, joining)
    return Crowd(world, group, make)


def classic_crowd(world, group, partitions, session_s, pace):
    return Crowd(world, group, lambda w, crowd, name: ClassicMover(w, crowd, name, session_s, pace, partitions))
