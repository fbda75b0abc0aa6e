"""One life of a consumer group."""
import struct
import time

from . import consumer, errors
from .life import Differs, Life, plain
from .play import TASKS, Member, Seat


def total(rows):
    return None if rows is None else sum(len(r["Partitions"]) for r in rows)


class ConsumerSeat(Seat):
    def given(self, answer):
        return None if answer["Assignment"] is None else consumer.held(answer["Assignment"]["TopicPartitions"])

    def unsay(self, answer):
        answer["Assignment"] = None

    def report(self, held=None):
        return {"TopicPartitions": consumer.in_topics(self.held if held is None else held)}


class ConsumerMember(Member):
    def __init__(self, name, instance, assignor, regex):
        super().__init__(name, instance)
        self.assignor = assignor
        self.regex = regex
        self.wants = True  # it names topics

    def __str__(self):
        return f"{self.instance or ''} {self.assignor or ''} {'by expression' if self.regex else ''}"


class ConsumerLife(Life):
    """In a life of kind plain all members that want something want the same: their shares are forced. mixed: each wants one topic
    or both; compared when all is settled. regex: they want it by an expression, with or without the name of one of the topics."""
    heartbeat_api, describe_api, group_type, Seat = "ConsumerGroupHeartbeat", "ConsumerGroupDescribe", "consumer", ConsumerSeat
    KINDS = ("plain",) * 7 + ("events",) * 2 + ("spread", "regex")
    OPERATIONS = (("join", 14), ("join_refused", 3), *Life.OPERATIONS, ("subscribe", 5), ("streams", 1))

    def __init__(self, seed, sides, kind, shared):
        super().__init__(seed, sides, kind)
        self.limit = 2 if kind == "events" else 4
        self.assignor = self.rng.choice((None, None, "range", "uniform"))
        if kind == "events":  # each topic is shared out by itself, so that both shares are forced
            self.assignor = "range"
            self.events = {"e1": 2, "e2": 0 if self.rng.random() < 0.5 else 2}
            self.names = [f"{self.name}-e1", f"{self.name}-e2"]
        else:
            both = kind == "spread" or self.rng.random() < 0.3
            self.names = [shared["big"], shared["other"]] if both else [shared["big"]]

    @staticmethod
    def configs(seed, kind):
        """A group's own configs: no interval."""
        return {"consumer.assignment.interval.ms": "0"}

    def topics(self):
        return self.names

    def partitions(self):
        """How many partitions there are for those who want them."""
        return sum(self.events.values()) if self.events else TASKS["big"] * len(self.names)

    def share(self, name):
        wanting = sum(m.wants for m in self.members.values())
        return self.partitions() // wanting if self.members[name].wants else 0

    def cares(self):
        return any(m.wants for m in self.members.values())

    def fresh(self):
        super().fresh()
        self.known = False  # the group knows the expression
        self.reshaped = 0  # how often what all are to have has changed since everybody had it

    def forget(self, m):
        super().forget(m)
        self.unlearn()

    def unlearn(self):
        self.known = self.known and any(m.wants and m.regex is not None for m in self.members.values())

    def is_loose(self, name, before, reshapes):
        """While members still move to one target and there is another already, or of several topics one could be had at once, it is the
        assignor's choice whose partitions they are to have."""
        now = self.waiting()
        self.reshaped += reshapes
        if now == 0 and not any(self.giving_up(n) for n in self.members):
            self.reshaped = 0
        return max(before, now) >= 2 or now >= 1 and (self.reshaped >= 2 or reshapes and len(self.names) > 1)

    def may_part(self, name):
        """Whether it has to give up something more is the assignor's choice then, too."""
        return self.giving_up(name) or self.reshaped >= 2

    # ---- comparing

    def heartbeat_view(self, side, answer):
        return {"error": errors.text(answer["ErrorCode"]), "message": plain(answer["ErrorMessage"], side.prefix),
                "member": answer["MemberId"], "interval": answer["HeartbeatIntervalMs"],
                "active": None if answer["Assignment"] is None else total(answer["Assignment"]["TopicPartitions"])}

    def show(self, answer):
        rows = answer["Assignment"] and consumer.held(answer["Assignment"]["TopicPartitions"])
        text = "" if rows is None else f" assigned {sorted((t[:4], p) for t, p in rows)}"
        return f"{errors.text(answer['ErrorCode'])} {answer['ErrorMessage'] or ''} epoch {answer['MemberEpoch']}{text}"

    def given_to(self, described):
        return consumer.held(described["Assignment"]["TopicPartitions"])

    def describe_view(self, side, group, settled, loose):
        members = []
        for m in sorted(group["Members"], key=lambda m: m["MemberId"]):
            members.append((m["MemberId"], m["InstanceId"], m["RackId"], m["ClientId"], m["MemberType"],
                            sorted(n.replace(side.prefix, "") for n in m["SubscribedTopicNames"]),
                            m["SubscribedTopicRegex"].replace(side.prefix, ""),
                            None if loose else total(m["Assignment"]["TopicPartitions"]),
                            None if self.kind == "spread" and not settled else total(m["TargetAssignment"]["TopicPartitions"])))
        return group["AssignorName"], members

    # ---- what members want

    def subscription(self, member, side):
        if not member.wants:
            return {"SubscribedTopicNames": [], "SubscribedTopicRegex": ""}
        if member.regex is None:
            return {"SubscribedTopicNames": [side.prefix + n for n in self.wanted(member)]}
        return {"SubscribedTopicNames": [side.prefix + n for n in self.names[:member.regex]],
                "SubscribedTopicRegex": self.expression(side)}

    def wanted(self, member):
        """In a spread life each has its own choice."""
        if self.kind != "spread":
            return self.names
        return self.names[:1] if member.name[-1] in "147" else self.names[1:] if member.name[-1] in "258" else self.names

    def expression(self, side):
        return side.prefix + "(" + "|".join(self.names) + ")"

    def join_fields(self, member, side, extra=None):
        return {"MemberEpoch": 0, "InstanceId": member.instance, "RebalanceTimeoutMs": member.rebalance, "TopicPartitions": [],
                "ServerAssignor": member.assignor, "RackId": member.rack, **self.subscription(member, side)}

    def full_fields(self, member, side, seat):
        return {"RebalanceTimeoutMs": member.rebalance, **self.subscription(member, side)}

    def new_member(self):
        self.used += 1
        name = f"m{self.used}"
        member = ConsumerMember(name, f"i-{name}" if self.rng.random() < 0.3 else None,
                                self.assignor if self.kind == "events" or self.rng.random() < 0.7 else None,
                                self.rng.randrange(2) if self.kind == "regex" else None)
        # that one joins who wants nothing: 4.4.0 may give it something all the same, and then not
        return member

    def epochs_before(self):
        return {side.name: max(1, self.group_epoch(side)) for side in self.sides} if self.kind == "regex" else None

    def joined(self, member, before):
        first = member.assignor == "range" and all(m.assignor is None for m in self.members.values() if m is not member)
        self.look_up(member, before, member.regex or first)

    def look_up(self, member, before, moved):
        """An expression that the group does not know is looked up beside the heartbeat, by Kafka ten seconds after the last time. That
        is an epoch; moved: the heartbeat was one, too, for names, or an assignor that nobody had named."""
        if member.regex is None or not member.wants or self.known:
            return
        deadline = time.monotonic() + 25
        while any(self.group_epoch(side) <= before[side.name] + bool(moved) for side in self.sides):
            if time.monotonic() > deadline:
                raise Differs(f"the expression of {member.name} is not looked up")
            time.sleep(0.3)
            self.heartbeat(member.name, "beats until its expression is known", lambda side, seat: self.base(member, seat), quiet=True)
        self.known = True

    def even_out(self):
        """In a spread life who gets how much is the assignor's choice; all is given, and nothing twice."""
        if self.kind != "spread":
            return super().even_out()
        self.settle()
        views = []
        for side in self.sides:
            group = side.ask(self.describe_api, 1, {"GroupIds": [side.group(self.name)]}, "admin", self.name)["Groups"][0]
            has = [self.given_to(m) for m in group["Members"]]
            views.append((group["GroupState"], len(set().union(*has)), sum(len(h) for h in has)))
        self.say(f"      all has settled: {views}")
        if views[0] != views[1]:
            self.fail("what members have in the end", *views)
        return None

    def settled(self):
        if self.kind != "spread":
            return super().settled()
        return all(len({s.seats[n].epoch for n in self.members}) <= 1 and
                   all(s.seats[n].told is None for n in self.members) for s in self.sides)

    # ---- operations

    def op_join_refused(self):
        member = self.new_member()
        what = self.rng.choice(("assignor", "expression", "timeout", "nothing", "owned", "epoch"))
        bad = {"assignor": {"ServerAssignor": "nope"}, "expression": {"SubscribedTopicRegex": "(a"}, "timeout": {"RebalanceTimeoutMs": -1},
               "nothing": {"SubscribedTopicNames": None, "SubscribedTopicRegex": None}, "owned": {"TopicPartitions": None},
               "epoch": {"MemberEpoch": -4}}[what]
        self.heartbeat(member.name, f"joins with a bad request ({what})", lambda side, seat: {**self.join_fields(member, side), **bad})
        return True

    def op_subscribe(self):
        """It wants nothing any more, or something again."""
        m = self.pick(away=False)
        if not m or self.kind == "spread":
            return False
        m.wants = not m.wants
        before = self.epochs_before()
        self.heartbeat(m.name, f"wants {'its topics' if m.wants else 'nothing'}",
                       lambda side, seat: {**self.base(m, seat), **self.subscription(m, side)}, reshapes=True)
        self.look_up(m, before, m.regex)
        self.unlearn()
        return True

    def op_change(self):
        m = self.pick(away=False)
        if not m:
            return False
        what = self.rng.choice(("RebalanceTimeoutMs", "RackId", "ServerAssignor", "client id", "order", "nothing"))
        value = {"RebalanceTimeoutMs": self.rng.choice((60000, 70000)), "RackId": self.rng.choice(("r1", "r2")),
                 "ServerAssignor": self.assignor, "client id": f"c{self.rng.randrange(3)}-{m.name}"}.get(what)
        field = {"RebalanceTimeoutMs": "rebalance", "RackId": "rack", "ServerAssignor": "assignor", "client id": "client"}.get(what)
        if field and value:
            setattr(m, field, value)

        def build(side, seat):
            more = {what: value} if what[0].isupper() else {}
            if what == "order" and m.wants and m.regex is None:
                more = {"SubscribedTopicNames": [side.prefix + n for n in reversed(self.wanted(m) * 2)]}
            return {**self.base(m, seat), **more}

        self.heartbeat(m.name, f"changes {what} to {value}", build)
        return True

    def changed_away(self, m):
        if self.rng.random() < 0.3:
            m.rack = "r3"
        if self.rng.random() < 0.2 and self.kind not in ("spread", "regex"):
            m.wants = not m.wants
        m.client = "c-" + m.name

    def op_bad_request(self):
        m = self.pick(away=False)
        if not m:
            return False
        what = self.rng.choice(("epoch", "instance", "rack", "timeout", "assignor", "expression", "other instance", "gone"))
        bad = {"epoch": {"MemberEpoch": -3}, "instance": {"InstanceId": ""}, "rack": {"RackId": ""},
               "assignor": {"ServerAssignor": "nope"}, "expression": {"SubscribedTopicRegex": "a**"},
               "other instance": {"InstanceId": "i-nobody"}, "gone": {"MemberEpoch": -2}}
        if what == "gone" and m.instance:
            return False

        def build(side, seat):
            if what == "timeout":
                return {**self.join_fields(m, side), "RebalanceTimeoutMs": -1}
            return {**self.base(m, seat), **bad[what]}

        self.heartbeat(m.name, f"sends a bad request ({what})", build)
        return True

    def op_streams(self):
        """A streams member at the door of a group that is a consumer group."""
        if not self.members:
            return False
        self.ask_all("a streams join", "StreamsGroupHeartbeat", 1, lambda side: {
            "GroupId": side.group(self.name), "MemberId": "s", "MemberEpoch": 3, "EndpointInformationEpoch": -1},
            lambda side, a: (a["ErrorCode"], plain(a["ErrorMessage"], side.prefix)))
        return True

    def classic_metadata(self, side):
        topic = (side.prefix + self.names[0]).encode()
        return struct.pack(">hih", 0, 1, len(topic)) + topic + struct.pack(">i", -1)

    def place(self, seat, how, index):
        topic = self.names[index]
        if how.startswith("since"):
            row = min(seat.held, key=lambda t: (seat.since[t], t))
            name = self.topic_of(seat, row[0])
            return name and (name, row[1], seat.since[row])
        if not how.startswith("foreign"):
            return topic, 0, None
        mine = {p for t, p in seat.held | (seat.told or set()) if self.topic_of(seat, t) == topic}
        found = [p for p in range(self.events.get(topic.removeprefix(self.name + "-"), TASKS["big"])) if p not in mine]
        return (topic, found[0], None) if found else None

    def topic_of(self, seat, digits):
        """The name behind a topic id, without the prefix of its side; a topic that is gone may have none."""
        side = next(s for s in self.sides if seat in s.seats.values())
        name = side.topic_of(digits, [side.prefix + n for n in self.names])
        return name and name.removeprefix(side.prefix)

    @classmethod
    def probe(cls, side, topics):
        join = {"RebalanceTimeoutMs": 1000, "TopicPartitions": [], "SubscribedTopicNames": [side.prefix + t for t in topics]}
        return join, lambda a: a["Assignment"] and len(a["Assignment"]["TopicPartitions"]) == len(topics)
