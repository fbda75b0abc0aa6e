"""One life of a group of a new protocol: operations drawn from a seed, made to both sides, compared.

What is particular to streams groups and to consumer groups: streams_life.py, consumer_life.py.
"""
import random
import re
import time

from . import errors
from .members import NEWS_SECONDS
from .play import Epochs

DIGITS = re.compile(r"\d+")


class Differs(Exception):
    """The two sides do not say the same."""


def plain(text, prefix):
    """A text without the prefix of names and without epochs, which two sides may count differently."""
    return None if text is None else DIGITS.sub("#", text.replace(prefix, ""))


class Life:
    heartbeat_api = describe_api = group_type = Seat = None
    OPERATIONS = (("beat", 20), ("ack", 20), ("no_ack", 5), ("full", 4), ("change", 5), ("rejoin", 4), ("leave", 6), ("away", 5),
                  ("return", 5), ("second_instance", 2), ("wrong_epoch", 7), ("stranger", 3), ("bad_request", 4),
                  ("describe", 8), ("list", 1), ("commit", 8), ("admin_commit", 2), ("fetch", 3), ("offset_delete", 1),
                  ("delete_group", 2), ("classic", 2), ("event", 10))

    def __init__(self, seed, sides, kind):
        self.seed = seed
        self.rng = random.Random(seed)
        self.sides = sides
        self.kind = kind
        self.name = f"life-{seed}"
        self.members = {}
        self.used = 0
        self.log = []
        self.steps = 0
        self.lapses = 0
        self.answers = self.loosened = 0  # heartbeats, and those of which what they assign was not compared
        self.events = {}  # topics of this life alone, with how many partitions they have
        self.fresh()

    def fresh(self):
        """The group does not exist, or not as one of this type."""
        self.epochs = Epochs()
        self.members = {}
        self.ever_loose = self.parted = False
        for side in self.sides:
            side.seats = {}

    # ---- what a kind of group is

    def share(self, name):
        """How much a member has when everybody has what it should have."""
        raise NotImplementedError

    def topics(self):
        """The topics that are committed to, without the prefix of a side."""
        raise NotImplementedError

    def new_member(self):
        raise NotImplementedError

    def join_fields(self, member, side, extra=None):
        raise NotImplementedError

    def full_fields(self, member, side, seat):
        """What a heartbeat after an error says, beside its epoch."""
        raise NotImplementedError

    def heartbeat_view(self, side, answer):
        """What is compared of an answer. `active` is how much it assigns."""
        raise NotImplementedError

    def not_compared(self, loose):
        """The names in a view that say nothing now."""
        return {"active"} if loose or self.kind == "spread" else set()

    def show(self, answer):
        raise NotImplementedError

    def describe_view(self, side, group, settled, loose):
        raise NotImplementedError

    def given_to(self, described):
        """Partitions or tasks that a described member has."""
        raise NotImplementedError

    def place(self, seat, how, index):
        """(topic without prefix, partition, epoch in which it came) that a commit of a member is about, of one of topics() where
        it is not what it has longest; None: there is none."""
        raise NotImplementedError

    # ---- comparing

    def say(self, text):
        self.log.append(text)

    def fail(self, what, first, second):
        raise Differs(f"{what}: kafka {first!r}, muster {second!r}")

    def waiting(self):
        """Members that wait for tasks of others; who of several gets which first is the assignor's choice."""
        return sum(any(len(s.seats[n].held) < self.share(n) for s in self.sides) for n in self.members)

    def giving_up(self, name):
        """A member that was told to give up tasks: whether it is given the same ones again is the assignor's choice."""
        return any(name in s.seats and s.seats[name].giving for s in self.sides)

    def same_counts(self):
        return all(len({len(s.seats[n].held) for s in self.sides}) == 1 for n in self.members)

    def is_loose(self, name, before, reshapes):
        """Whether what an answer assigns may be the assignor's choice. before: how many waited before it; reshapes: it changes what
        everybody is to have."""
        return before >= 2 or self.waiting() >= 2

    def may_part(self, name):
        """Whether the two sides may move a member to different epochs now, for a while."""
        return False

    def compare_heartbeats(self, answers, loose, may_part):
        views = [self.heartbeat_view(s, a) for s, a in zip(self.sides, answers)]
        self.ever_loose = self.ever_loose or loose
        skip = self.not_compared(loose)
        self.say(f"      kafka  {self.show(answers[0])}")
        self.say(f"      muster {self.show(answers[1])}")
        for key, value in views[0].items():
            if key not in skip and value != views[1][key]:
                self.fail(key, value, views[1][key])
        if self.kind == "spread" or self.epochs.same(answers[0]["MemberEpoch"], answers[1]["MemberEpoch"]):
            return
        if not may_part:
            self.fail("epoch", answers[0]["MemberEpoch"], answers[1]["MemberEpoch"])
        self.parted = True

    # ---- heartbeats

    def one_heartbeat(self, side, name, build, patient):
        """patient: group epochs before a change of topics, of which a coordinator hears a while after it happened: Kafka with the
        first heartbeat that comes then, muster by itself."""
        deadline = time.monotonic() + 20
        while side.acts_by_itself and patient and self.group_epoch(side) == patient[side.name] and time.monotonic() < deadline:
            time.sleep(0.1)
        while True:
            seat = side.seats.get(name) or self.Seat()
            fields = {"GroupId": side.group(self.name), "MemberId": name, **build(side, seat)}
            fields = {k: v for k, v in fields.items() if v is not None}
            answer = side.ask(self.heartbeat_api, 1, fields, self.client_of(name), self.name)
            if patient is None or time.monotonic() > deadline or self.group_epoch(side) > patient[side.name]:
                return answer
            time.sleep(0.3)

    def group_epoch(self, side):
        answer = side.ask(self.describe_api, 1, {"GroupIds": [side.group(self.name)]}, "admin", self.name)
        return answer["Groups"][0]["GroupEpoch"]

    def heartbeat(self, name, text, build, joined=False, quiet=False, patient=None, reshapes=False):
        """The same heartbeat to both sides. build(side, seat): the fields beside group and member."""
        self.say(f"{self.steps:3} {name}: {text}")
        before, may_part = self.waiting(), self.may_part(name)
        self.answers += 1
        loose = self.giving_up(name) or not self.same_counts()
        had = len(self.sides[0].seats[name].held) if name in self.sides[0].seats and not joined else 0
        answers = [self.one_heartbeat(side, name, build, patient) for side in self.sides]
        self.drop_repeated(name, answers)
        for side, answer in zip(self.sides, answers):
            if answer["ErrorCode"] == 0 and answer["MemberEpoch"] > 0:
                side.seats.setdefault(name, self.Seat()).take(answer, joined)
        self.answered(name, answers, had, quiet)
        if not quiet:
            loose = self.is_loose(name, before, reshapes or joined) or loose
            self.loosened += loose
            self.compare_heartbeats(answers, loose, may_part)
        return answers[0]["ErrorCode"]

    def drop_repeated(self, name, answers):
        """Who reports something else than it is to have is told again by muster, not by Kafka (differences.txt)."""
        seats = [side.seats.get(name) for side in self.sides]
        if all(seats) and not any(a["ErrorCode"] for a in answers) and seats[0].given(answers[0]) is None:
            if seats[1].given(answers[1]) == seats[1].held:
                seats[1].unsay(answers[1])

    def answered(self, name, answers, had, quiet):
        """Two answers came, before they are compared."""

    def even_out(self):
        """Members have unequal parts of what is still on its way: all have their share before the life goes on."""
        self.settle()
        if self.members:
            self.describe(settled=True)
        self.parted = False
        if not self.same_counts():
            raise Differs("members have unequal shares after everybody had its chance")

    def client_of(self, name):
        return self.members[name].client if name in self.members else f"c-{name}"

    def base(self, member, seat, epoch=None):
        return {"MemberEpoch": seat.epoch if epoch is None else epoch, "InstanceId": member.instance}

    def op_join(self):
        if len(self.members) >= self.limit:
            return False
        member = self.new_member()
        self.members[member.name] = member
        for side in self.sides:
            side.seats[member.name] = self.Seat()
        before = self.epochs_before()
        code = self.heartbeat(member.name, f"joins {member}", lambda side, seat: self.join_fields(member, side), joined=True)
        if code:
            raise Differs(f"a join is refused by both sides with {code}")
        self.joined(member, before)
        return True

    def epochs_before(self):
        """What joined() wants to know of the group as it was."""

    def joined(self, member, before):
        """A member was let in, or came back."""

    def pick(self, away=None, instance=None):
        rows = [m for m in self.members.values() if (away is None or m.away == away) and
                (instance is None or (m.instance is not None) == instance)]
        return self.rng.choice(rows) if rows else None

    def op_beat(self):
        m = self.pick(away=False)
        if not m:
            return False
        self.heartbeat(m.name, "beats", lambda side, seat: self.base(m, seat))
        return True

    def outdated(self, m):
        """It may have tasks that there are no more: what it reports says nothing."""
        return False

    def op_ack(self):
        m = self.pick(away=False)
        if not m or self.outdated(m):
            return False
        self.heartbeat(m.name, "reports what it has", lambda side, seat: {**self.base(m, seat), **seat.report()})
        return True

    def op_no_ack(self):
        """Reports what it had before it was told to give up."""
        m = self.pick(away=False)
        if not m or any(s.seats[m.name].told is None for s in self.sides) or self.outdated(m):
            return False
        self.heartbeat(m.name, "reports what it had", lambda side, seat: {**self.base(m, seat), **seat.report(seat.told)})
        return True

    def op_full(self):
        """Everything again, as after an error."""
        m = self.pick(away=False)
        if not m or self.outdated(m):
            return False
        self.heartbeat(m.name, "says everything again", lambda side, seat: {
            **self.base(m, seat), **seat.report(), **self.full_fields(m, side, seat)})
        return True

    def op_rejoin(self):
        m = self.pick(away=False)
        if not m:
            return False
        self.heartbeat(m.name, "joins again", lambda side, seat: self.join_fields(m, side), joined=True)
        return True

    def op_leave(self):
        m = self.pick()
        if not m:
            return False
        self.leave(m)
        return True

    def leave(self, m):
        self.heartbeat(m.name, "leaves", lambda side, seat: self.base(m, seat, -1), reshapes=True)
        self.forget(m)

    def forget(self, m):
        del self.members[m.name]
        for side in self.sides:
            del side.seats[m.name]

    def op_away(self):
        m = self.pick(instance=True)
        if not m:
            return False
        self.heartbeat(m.name, "goes for a moment", lambda side, seat: self.base(m, seat, -2))
        m.away = True
        return True

    def op_return(self):
        m = self.pick(away=True)
        if not m:
            return False
        self.come_back(m)
        return True

    def come_back(self, m, quiet=False):
        old = m.name
        if self.rng.random() < 0.5:
            self.used += 1
            m.name = f"m{self.used}"
        self.changed_away(m)
        before = {}
        del self.members[old]
        self.members[m.name] = m
        for side in self.sides:
            before[side.name] = set(side.seats.pop(old).held)
            side.seats[m.name] = self.Seat()
            side.seats[m.name].held = set(before[side.name])
        m.away = False
        epochs = self.epochs_before()
        self.heartbeat(m.name, f"comes back as {m.instance}, was {old}", lambda side, seat: self.join_fields(m, side),
                       joined=True, quiet=quiet)
        for side in self.sides:
            seat = side.seats[m.name]
            seat.since = {task: 0 if task in before[side.name] else epoch for task, epoch in seat.since.items()}
        self.joined(m, epochs)

    def changed_away(self, m):
        """What may be another when a static member comes back."""

    def op_second_instance(self):
        m = self.pick(away=False, instance=True)
        if not m:
            return False
        self.heartbeat("thief", f"joins as {m.instance}, which is active",
                       lambda side, seat: {**self.join_fields(m, side), "MemberEpoch": 0})
        return True

    def op_wrong_epoch(self):
        m = self.pick()
        if not m:
            return False
        how = self.rng.choice(("above", "far above", "below", "before", "before with a report"))
        if self.kind == "spread" and how.startswith("before"):
            return False
        if how.startswith("before") and (self.ever_loose or any(s.seats[m.name].before is None for s in self.sides) or m.away or
                                         self.outdated(m)):
            return False

        def build(side, seat):
            epoch = {"above": seat.epoch + 1, "far above": 1000, "below": 1, "before": seat.before,
                     "before with a report": seat.before}[how]
            return {**self.base(m, seat, epoch), **(seat.report() if how.endswith("report") else {})}

        if how == "below" and any(s.seats[m.name].epoch <= 3 or s.seats[m.name].before == 1 for s in self.sides):
            return False
        self.heartbeat(m.name, f"beats with an epoch {how}", build)
        return True

    def op_stranger(self):
        instance = self.rng.choice((None, None, "i-nobody"))
        epoch = self.rng.choice((1, 5, -1, -2 if instance else -1))
        self.heartbeat("stranger", f"beats with epoch {epoch} and instance {instance}",
                       lambda side, seat: {"MemberEpoch": epoch, "InstanceId": instance})
        return True

    # ---- everything else

    def ask_all(self, text, api, version, build, view, client="admin"):
        self.say(f"{self.steps:3} {text}")
        answers = [side.ask(api, version, build(side), client, self.name) for side in self.sides]
        views = [view(side, answer) for side, answer in zip(self.sides, answers)]
        self.say(f"      kafka  {views[0]}")
        self.say(f"      muster {views[1]}")
        if views[0] != views[1]:
            self.fail(text, views[0], views[1])
        return answers

    def op_describe(self):
        self.describe()
        return True

    def describe(self, settled=False):
        epochs = []

        def view(side, answer):
            group = answer["Groups"][0]
            rows = sorted(group["Members"], key=lambda m: m["MemberId"])
            epochs.append([group["GroupEpoch"], group["AssignmentEpoch"]] + [m["MemberEpoch"] for m in rows])
            loose = self.waiting() >= 2 or self.kind == "spread" and not settled
            every = [t for m in rows for t in self.given_to(m)]
            return (errors.text(group["ErrorCode"]), plain(group["ErrorMessage"], side.prefix),
                    None if self.kind == "spread" and not settled else group["GroupState"],
                    len(every) - len(set(every)), self.describe_view(side, group, settled, loose))

        answers = self.ask_all("describe", self.describe_api, 1, lambda side: {"GroupIds": [side.group(self.name)]}, view)
        for first, second in zip(*epochs):
            if self.kind != "spread" and not self.epochs.same(first, second):
                self.fail("epochs of describe", epochs[0], epochs[1])
        return answers[0]["Groups"][0]["GroupState"]

    def op_list(self):
        self.ask_all("list", "ListGroups", 5, lambda side: {"StatesFilter": [], "TypesFilter": [self.group_type]},
                     lambda side, a: [(g["ProtocolType"], None if self.kind == "spread" else g["GroupState"], g["GroupType"])
                                      for g in a["Groups"] if g["GroupId"] == side.group(self.name)])
        return True

    def op_commit(self):
        m = self.pick()
        if not m:
            return False
        how = self.rng.choice(("now", "now", "above", "since", "since less one", "foreign", "foreign before", "minus one"))
        if how.startswith(("since", "foreign")) and (self.waiting() >= 2 or m.away or self.kind == "spread" or
                                                     not all(s.seats[m.name].held for s in self.sides)):
            return False
        index = self.rng.randrange(len(self.topics()))
        places = {s.name: self.place(s.seats[m.name], how, index) for s in self.sides}
        if None in places.values() or how == "since less one" and any(since <= 0 for s in self.sides
                                                                      for since in s.seats[m.name].since.values()):
            return False

        def build(side):
            topic, partition, since = places[side.name]
            epoch = since if how.startswith("since") else side.seats[m.name].epoch
            epoch = -1 if how == "minus one" else epoch + {"above": 1, "since less one": -1, "foreign before": -1}.get(how, 0)
            return {"GroupId": side.group(self.name), "GenerationIdOrMemberEpoch": epoch, "MemberId": m.name, "Topics": [
                {"Name": side.prefix + topic, "Partitions": [{"PartitionIndex": partition, "CommittedOffset": self.steps}]}]}

        if self.kind == "events" and 0 in self.events.values():
            return False
        self.ask_all(f"{m.name} commits ({how})", "OffsetCommit", 9, build,
                     lambda side, a: [p["ErrorCode"] for t in a["Topics"] for p in t["Partitions"]])
        return True

    def op_admin_commit(self):
        if self.kind == "events":
            return False
        self.ask_all("a commit without a member", "OffsetCommit", 9, lambda side: {
            "GroupId": side.group(self.name), "GenerationIdOrMemberEpoch": -1, "MemberId": "", "Topics": [
                {"Name": side.prefix + self.topics()[0], "Partitions": [{"PartitionIndex": 1, "CommittedOffset": self.steps}]}]},
            lambda side, a: [p["ErrorCode"] for t in a["Topics"] for p in t["Partitions"]])
        if not self.epochs.pairs:
            self.ever_loose = True  # there is a group of offsets now, and it will be converted
        return True

    def op_fetch(self):
        m = self.pick()
        how = self.rng.choice(("now", "above", "none")) if m else "none"

        def build(side):
            entry = {"GroupId": side.group(self.name), "Topics": [
                {"Name": side.prefix + self.topics()[0], "PartitionIndexes": [1]}]}
            if how != "none":
                entry |= {"MemberId": m.name, "MemberEpoch": side.seats[m.name].epoch + (how == "above")}
            return {"Groups": [entry], "RequireStable": False}

        # what was committed where is a side's own: members commit partitions that it gave them
        self.ask_all(f"fetch ({how})", "OffsetFetch", 9, build, lambda side, a: [
            (g["ErrorCode"], [(p["PartitionIndex"], p["ErrorCode"]) for t in g["Topics"] for p in t["Partitions"]])
            for g in a["Groups"]])
        return True

    def op_offset_delete(self):
        if self.kind == "events":
            return False
        self.ask_all("offset delete", "OffsetDelete", 0, lambda side: {"GroupId": side.group(self.name), "Topics": [
            {"Name": side.prefix + self.topics()[0], "Partitions": [{"PartitionIndex": 5}]}]},
            lambda side, a: (a["ErrorCode"], [p["ErrorCode"] for t in a["Topics"] for p in t["Partitions"]]))
        return True

    def op_delete_group(self):
        if self.members and self.rng.random() < 0.8:
            return False
        answers = self.ask_all("delete the group", "DeleteGroups", 3, lambda side: {"GroupsNames": [side.group(self.name)]},
                               lambda side, a: [r["ErrorCode"] for r in a["Results"]])
        if answers[0]["Results"][0]["ErrorCode"] == 0:
            self.fresh()
        return True

    def classic_metadata(self, side):
        return b""

    def op_classic(self):
        """A classic member asks for an id: at an empty group that is the end of what it was."""
        if self.members and self.rng.random() < 0.7:
            return False
        empty = not self.members
        answers = self.ask_all("a classic join", "JoinGroup", 9, lambda side: {
            "GroupId": side.group(self.name), "SessionTimeoutMs": 10000, "RebalanceTimeoutMs": 10000, "MemberId": "",
            "ProtocolType": "consumer", "Protocols": [{"Name": "range", "Metadata": self.classic_metadata(side)}]},
            lambda side, a: a["ErrorCode"])
        time.sleep(0.5)  # Kafka gives the id before it has written that there is a group
        if answers[0]["ErrorCode"] == 79 and empty:
            self.fresh()
            self.ever_loose = True  # the first endpoint of a converted streams group counts as a change in Kafka
        return True

    # ---- topics

    def op_event(self):
        """A topic comes, grows or goes, and a member beats."""
        witness = self.pick(away=False)
        if self.kind != "events" or not witness:
            return False
        name = self.rng.choice(sorted(self.events))
        full = f"{self.name}-{name}"
        now = self.events[name]
        if now == 0:
            then, api, fields = 2, "CreateTopics", lambda p: new_topic(p, 2)
        elif now == 2 and self.rng.random() < 0.6:
            then, api, fields = 4, "CreatePartitions", lambda p: {"Topics": [
                {"Name": p, "Count": 4, "Assignments": None}], "TimeoutMs": 10000, "ValidateOnly": False}
        else:
            then, api, fields = 0, "DeleteTopics", lambda p: {"TopicNames": [p], "TimeoutMs": 10000}
        self.heartbeat(witness.name, "beats", lambda side, seat: self.base(witness, seat))
        self.say(f"{self.steps:3} topic {name}: {now} -> {then} partitions")
        before = {side.name: self.group_epoch(side) for side in self.sides} if self.cares() else None
        self.change_topic(full, api, fields)
        if before is None:
            time.sleep(2 * NEWS_SECONDS)
        self.events[name] = then
        self.epochs.loose = True
        self.heartbeat(witness.name, "beats", lambda side, seat: self.base(witness, seat), patient=before)
        return True

    def cares(self):
        """Whether a change of a topic is one of the group's topics."""
        return True

    def change_topic(self, full, api, fields):
        version = {"CreateTopics": 5, "CreatePartitions": 2, "DeleteTopics": 5}[api]
        for side in self.sides:
            side.wire.ask(api, version, fields(side.prefix + full))

    def begin_topics(self):
        there = [(name, count) for name, count in self.events.items() if count]
        for name, count in there:
            self.change_topic(f"{self.name}-{name}", "CreateTopics", lambda p, c=count: new_topic(p, c))
        if there:
            for side in self.sides:
                self.until_known(side, self.name + "-probe", [f"{self.name}-{name}" for name, _ in there])
            time.sleep(0.5)

    def end_topics(self):
        for name, count in self.events.items():
            if count:
                self.change_topic(f"{self.name}-{name}", "DeleteTopics", lambda p: {"TopicNames": [p], "TimeoutMs": 10000})

    @classmethod
    def probe(cls, side, topics):
        """(fields of a join that wants these topics, whether its answer says that they are all known)."""
        raise NotImplementedError

    @classmethod
    def until_known(cls, side, name, topics):
        """A group that comes and goes: until a coordinator knows the topics and the group may start at once."""
        deadline = time.monotonic() + 60
        join, knows = cls.probe(side, topics)
        base = {"GroupId": side.group(name), "MemberId": "probe"}
        while time.monotonic() < deadline:
            answer = side.ask(cls.heartbeat_api, 1, {**base, "MemberEpoch": 0, **join}, "probe", name)
            side.ask(cls.heartbeat_api, 1, {**base, "MemberEpoch": -1}, "probe", name)
            side.ask("DeleteGroups", 3, {"GroupsNames": [side.group(name)]}, "probe", name)
            if knows(answer):
                return answer
            time.sleep(0.3)
        raise Differs(f"{side.name} does not come to know {topics}")

    # ---- a whole life

    def careful(self, operation):
        return operation()

    def settle(self):
        """Everybody is there, beats and confirms until all have their share."""
        self.say("    settling")
        for m in [m for m in self.members.values() if m.away]:
            self.come_back(m, quiet=True)
        for turn in range(8):
            for name in list(self.members):
                m = self.members[name]
                self.heartbeat(name, "beats", lambda side, seat, m=m: self.base(m, seat), quiet=True)
                self.heartbeat(name, "reports", lambda side, seat, m=m: {**self.base(m, seat), **seat.report()}, quiet=True)
            if self.settled() and turn >= (4 if self.kind == "spread" else 0):
                break

    def settled(self):
        return all(len(s.seats[n].held) == self.share(n) for s in self.sides for n in self.members) and all(
            len({s.seats[n].epoch for n in self.members}) <= 1 for s in self.sides)

    def live(self, length):
        self.begin_topics()
        names = [n for n, _ in self.OPERATIONS]
        weights = [w for _, w in self.OPERATIONS]
        done = 0
        while done < length:
            name = self.rng.choices(names, weights)[0]
            self.steps = done
            if not self.careful(getattr(self, "op_" + name)):
                continue
            done += 1
            if self.kind == "spread":
                if done % 12 == 0:
                    self.careful(self.even_out)
            elif self.parted or not self.same_counts():
                self.careful(self.even_out)
        self.careful(self.even_out)
        for m in list(self.members.values()):
            self.leave(m)
        self.describe()
        self.ask_all("delete the group", "DeleteGroups", 3, lambda side: {"GroupsNames": [side.group(self.name)]},
                     lambda side, a: [r["ErrorCode"] for r in a["Results"]])
        self.end_topics()


def new_topic(full, partitions):
    return {"Topics": [{"Name": full, "NumPartitions": partitions, "ReplicationFactor": 1}], "TimeoutMs": 10000}
