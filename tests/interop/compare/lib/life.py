"""One life of a streams group: operations drawn from a seed, made to both sides, compared."""
import random
import re
import time

from . import errors, streams
from .play import TASKS, Epochs, Member, Seat

DIGITS = re.compile(r"\d+")


class Differs(Exception):
    """The two sides do not say the same."""


def plain(text, prefix):
    """A text without the prefix of names and without epochs, which two sides may count differently."""
    return None if text is None else DIGITS.sub("#", text.replace(prefix, ""))


def total(tasks):
    return None if tasks is None else sum(len(t["Partitions"]) for t in tasks)


class Life:
    def __init__(self, seed, sides, kind, shared):
        self.seed = seed
        self.rng = random.Random(seed)
        self.sides = sides
        self.kind = kind
        self.name = f"life-{seed}"
        self.limit = 2 if kind in ("events", "standby") else 4
        self.members = {}
        self.used = 0
        self.log = []
        self.steps = 0
        self.lapses = 0
        self.topology_epoch = self.rng.choice((0, 0, 5))
        self.shape = self._shape(shared)
        self.fresh()

    def fresh(self):
        """The group does not exist, or not as a streams group."""
        self.epochs = Epochs()
        self.members = {}
        self.ever_loose = False
        self.refused = False
        self.asked_to_end = False
        for side in self.sides:
            side.seats = {}

    def _shape(self, shared):
        """(subtopology id, topics, changelogs) with names that sides put their prefix before."""
        rng = self.rng
        if self.kind == "events":
            self.events = {"e1": 2, "e2": 0 if rng.random() < 0.5 else 2}
            return [("0", [f"{self.name}-e1"], []), ("1", [f"{self.name}-e2"], [])]
        self.events = {}
        logs = [shared["log"]] if self.kind in ("standby", "spread") or rng.random() < 0.4 else []
        rows = [("0", [shared["big"]], logs)]
        if self.kind == "plain" and rng.random() < 0.3:
            rows.append(("1", [shared["other"]], []))
        return rows

    def tasks(self):
        """How many tasks the group has now; none while a topic misses."""
        if self.kind == "events":
            return 0 if 0 in self.events.values() else sum(self.events.values())
        return TASKS["big"] * len(self.shape)

    def share(self):
        return self.tasks() // len(self.members) if self.members else 0

    def topology(self, side, epoch=None, extra=None):
        rows = [streams.subtopology(i, [side.prefix + s for s in sources], [side.prefix + c for c in logs])
                for i, sources, logs in self.shape]
        if extra == "content":
            rows.append(streams.subtopology("9", [side.prefix + self.shape[0][1][0]]))
        elif extra == "sourceless":
            rows = [streams.subtopology("0")]
        elif extra == "names":
            rows[0]["SourceTopics"] = ["a b"]
        return streams.topology(*rows, epoch=self.topology_epoch if epoch is None else epoch)

    # ---- comparing

    def say(self, text):
        self.log.append(text)

    def fail(self, what, first, second):
        raise Differs(f"{what}: kafka {first!r}, muster {second!r}")

    def waiting(self):
        """Members that wait for tasks of others; who of several gets which first is the assignor's choice."""
        share = self.share()
        count = sum(any(len(s.seats[n].held) < share for s in self.sides) for n in self.members)
        return 2 * count if self.kind == "standby" else count  # and what of its standbys it is to have as active

    def giving_up(self, name):
        """A member that was told to give up tasks: whether it is given the same ones again is the assignor's choice."""
        return any(name in s.seats and s.seats[name].told is not None for s in self.sides)

    def same_counts(self):
        return all(len({len(s.seats[n].held) for s in self.sides}) == 1 for n in self.members)

    def heartbeat_view(self, side, answer):
        status = [(s["StatusCode"], plain(streams.status_text(s["StatusDetail"]), side.prefix)) for s in answer["Status"]]
        ends = answer["PartitionsByUserEndpoint"]
        if ends is not None:
            ends = sorted((streams.endpoint(e["UserEndpoint"]), total_of(e["ActivePartitions"])) for e in ends)
        return {"error": errors.text(answer["ErrorCode"]), "message": plain(answer["ErrorMessage"], side.prefix),
                "member": answer["MemberId"], "intervals": (answer["HeartbeatIntervalMs"], answer["TaskOffsetIntervalMs"],
                                                            answer["AcceptableRecoveryLag"]),
                "status": status, "active": total(answer["ActiveTasks"]), "standby": total(answer["StandbyTasks"]),
                "warmup": total(answer["WarmupTasks"]), "info": answer["EndpointInformationEpoch"], "endpoints": ends}

    def compare_heartbeats(self, answers, loose):
        views = [self.heartbeat_view(s, a) for s, a in zip(self.sides, answers)]
        self.ever_loose = self.ever_loose or loose
        skip = set()
        if loose or self.kind == "spread":
            skip |= {"active", "standby", "warmup"}
        if self.ever_loose or self.kind != "plain":
            skip |= {"info", "endpoints"}
        self.say(f"      kafka  {show(answers[0])}")
        self.say(f"      muster {show(answers[1])}")
        for key, value in views[0].items():
            if key not in skip and value != views[1][key]:
                self.fail(key, value, views[1][key])
        if self.kind != "spread" and not self.epochs.same(answers[0]["MemberEpoch"], answers[1]["MemberEpoch"]):
            self.fail("epoch", answers[0]["MemberEpoch"], answers[1]["MemberEpoch"])

    # ---- heartbeats

    def one_heartbeat(self, side, name, build, patient):
        """patient: group epochs before a change of topics, of which a coordinator hears a while after it happened: Kafka with the
        first heartbeat that comes then, muster by itself."""
        deadline = time.monotonic() + 20
        while side.acts_by_itself and patient and self.group_epoch(side) == patient[side.name] and time.monotonic() < deadline:
            time.sleep(0.1)
        while True:
            seat = side.seats.get(name) or Seat()
            fields = {"GroupId": side.group(self.name), "MemberId": name, "EndpointInformationEpoch": -1, **build(side, seat)}
            fields = {k: v for k, v in fields.items() if v is not None}
            answer = side.ask("StreamsGroupHeartbeat", 1, fields, self.client_of(name), self.name)
            if patient is None or time.monotonic() > deadline or self.group_epoch(side) > patient[side.name]:
                return answer
            time.sleep(0.3)

    def group_epoch(self, side):
        answer = side.ask("StreamsGroupDescribe", 1, {"GroupIds": [side.group(self.name)]}, "admin", self.name)
        return answer["Groups"][0]["GroupEpoch"]

    def heartbeat(self, name, text, build, joined=False, quiet=False, patient=None):
        """The same heartbeat to both sides. build(side, seat): the fields beside group and member."""
        self.say(f"{self.steps:3} {name}: {text}")
        loose = self.waiting() >= 2 or self.giving_up(name) or not self.same_counts()
        had = len(self.sides[0].seats[name].held) if name in self.sides[0].seats and not joined else 0
        answers = [self.one_heartbeat(side, name, build, patient) for side in self.sides]
        for side, answer in zip(self.sides, answers):
            if answer["ErrorCode"] == 0 and answer["MemberEpoch"] > 0:
                side.seats.setdefault(name, Seat()).take(answer, joined)
        if answers[0]["ErrorCode"]:
            self.refused = True
        if not quiet:
            if self.takes_all(answers, had):
                self.fail("active", 0, total(answers[1]["ActiveTasks"]))
            self.compare_heartbeats(answers, loose or self.waiting() >= 2)
        return answers[0]["ErrorCode"]

    def takes_all(self, answers, had):
        """Kafka takes everything from a member although the group has tasks for all."""
        ready = not any(s["StatusCode"] in (1, 2, 3) for s in answers[0]["Status"])
        return (ready and had and self.share() > 0 and not any(a["ErrorCode"] for a in answers) and
                total(answers[0]["ActiveTasks"]) == 0 and total(answers[1]["ActiveTasks"]) != 0)

    def recover(self, reason):
        """Kafka 4.4.0 forgets what it resolved of a topology when it refuses a heartbeat at the wrong moment: a member is told
        to give up everything or is not given its tasks, and a later heartbeat mends it with an epoch of its own. Not a thing to
        do likewise. Only that epoch shows that it was so."""
        before = self.epochs.ahead()
        self.settle()
        now = [self.group_epoch(side) for side in self.sides]
        if not self.refused or now[0] - now[1] <= before:
            raise reason
        self.say(f"    a lapse of Kafka: {reason}")
        self.lapses += 1
        self.refused = False
        self.ever_loose = True
        self.epochs = Epochs()
        self.epochs.pairs[now[0]] = now[1]

    def even_out(self):
        """Members have unequal parts of what is still on its way: all have their share before the life goes on."""
        self.settle()
        if self.members:
            self.describe(settled=True)
        if not self.same_counts():
            raise Differs("members have unequal shares after everybody had its chance")

    def client_of(self, name):
        return self.members[name].client if name in self.members else f"c-{name}"

    def base(self, member, seat, epoch=None):
        return {"MemberEpoch": seat.epoch if epoch is None else epoch, "InstanceId": member.instance}

    def join_fields(self, member, side, extra=None):
        return {"MemberEpoch": 0, "InstanceId": member.instance, "RebalanceTimeoutMs": member.rebalance,
                "Topology": self.topology(side, member.topology_epoch, extra), "ActiveTasks": [], "StandbyTasks": [],
                "WarmupTasks": [], "ProcessId": member.process, "ClientTags": member.tags, "RackId": member.rack,
                "UserEndpoint": member.endpoint}

    def new_member(self):
        rng = self.rng
        self.used += 1
        name = f"m{self.used}"
        process = rng.choice((f"p-{name}", f"p-{name}", "shared")) if self.kind == "plain" else f"p-{name}"
        epoch = self.topology_epoch
        if self.members and epoch and rng.random() < 0.2:
            epoch -= 2
        member = Member(name, f"i-{name}" if rng.random() < 0.3 else None, process, epoch,
                        [{"Key": "zone", "Value": "x"}] if rng.random() < 0.5 else [])
        if self.kind == "plain" and rng.random() < 0.2:
            member.endpoint = {"Host": f"h-{name}", "Port": 1}
        return member

    def op_join(self):
        if len(self.members) >= self.limit:
            return False
        member = self.new_member()
        self.members[member.name] = member
        for side in self.sides:
            side.seats[member.name] = Seat()
        code = self.heartbeat(member.name, f"joins {member.instance or ''} topology {member.topology_epoch}",
                              lambda side, seat: self.join_fields(member, side), joined=True)
        if code:
            raise Differs(f"a join is refused by both sides with {code}")
        return True

    def op_join_refused(self):
        member = self.new_member()
        extra = self.rng.choice(("content", "sourceless", "names", "higher"))
        if extra == "higher":
            member.topology_epoch = self.topology_epoch + 1
        if not self.members and extra in ("content", "higher"):
            return False
        if member.topology_epoch < self.topology_epoch and extra in ("content", "sourceless"):
            return False
        self.heartbeat(member.name, f"joins with a bad topology ({extra})",
                       lambda side, seat: self.join_fields(member, side, extra))
        return True

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
        """It may have tasks that there are no more since a topic was made again: what it reports is refused or not by their names."""
        limit = min(self.events.values(), default=TASKS["big"])
        return any(p >= limit for s in self.sides for _, p in s.seats[m.name].held | (s.seats[m.name].told or set()))

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
        self.heartbeat(m.name, "reports what it had", lambda side, seat: {
            **self.base(m, seat), "ActiveTasks": streams.in_lists(seat.told), "StandbyTasks": streams.in_lists(seat.standby),
            "WarmupTasks": []})
        return True

    def op_full(self):
        """Everything again, as after an error."""
        m = self.pick(away=False)
        if not m or self.outdated(m):
            return False
        self.heartbeat(m.name, "says everything again", lambda side, seat: {
            **self.base(m, seat), **seat.report(), "RebalanceTimeoutMs": m.rebalance, "ProcessId": m.process,
            "ClientTags": m.tags, "RackId": m.rack})
        return True

    def op_change(self):
        m = self.pick(away=False)
        if not m:
            return False
        what = self.rng.choice(("RebalanceTimeoutMs", "ProcessId", "ClientTags", "RackId", "client id", "nothing"))
        value = {"client id": f"c{self.rng.randrange(3)}-{m.name}", "RebalanceTimeoutMs": self.rng.choice((60000, 70000)), "ProcessId": f"q{self.rng.randrange(3)}-{m.name}",
                 "ClientTags": self.rng.choice(([], [{"Key": "zone", "Value": "y"}])), "RackId": self.rng.choice(("r1", "r2")),
                 "nothing": None}[what]
        if what == "RebalanceTimeoutMs":
            m.rebalance = value
        elif what == "ProcessId":
            m.process = value
        elif what == "ClientTags":
            m.tags = value
        elif what == "RackId":
            m.rack = value
        elif what == "client id":
            m.client = value
        self.heartbeat(m.name, f"changes {what} to {value}",
                       lambda side, seat: {**self.base(m, seat), **({what: value} if what[0].isupper() else {})})
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
        self.leave(m, self.rng.random() < 0.1)
        return True

    def leave(self, m, shutdown=False):
        self.asked_to_end = self.asked_to_end or shutdown
        self.heartbeat(m.name, "leaves" + (" and asks for shutdown" if shutdown else ""), lambda side, seat: {
            **self.base(m, seat, -1), "ShutdownApplication": shutdown})
        del self.members[m.name]
        self.asked_to_end = self.asked_to_end and bool(self.members)
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
        if self.asked_to_end and len(self.members) == 1:
            return self.leave(m)  # in Kafka the group is empty for a moment then, and the shutdown forgotten
        old = m.name
        if self.rng.random() < 0.5:
            self.used += 1
            m.name = f"m{self.used}"
        if self.rng.random() < 0.3:
            m.process = f"p-{m.name}-again"
        before = {}
        del self.members[old]
        self.members[m.name] = m
        for side in self.sides:
            before[side.name] = set(side.seats.pop(old).held)
            side.seats[m.name] = Seat()
            side.seats[m.name].held = set(before[side.name])
        m.away = False
        self.heartbeat(m.name, f"comes back as {m.instance}, was {old}", lambda side, seat: self.join_fields(m, side),
                       joined=True, quiet=quiet)
        for side in self.sides:
            seat = side.seats[m.name]
            seat.since = {task: 0 if task in before[side.name] else epoch for task, epoch in seat.since.items()}
        return None

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
        if how.startswith("before") and (self.ever_loose or any(s.seats[m.name].before is None for s in self.sides) or m.away or self.outdated(m)):
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

    def op_bad_request(self):
        m = self.pick(away=False)
        if not m:
            return False
        what = self.rng.choice(("lists", "topology", "task", "subtopology", "epoch", "instance", "rack", "timeout"))
        bad = {"lists": {"ActiveTasks": []}, "task": {"ActiveTasks": streams.tasks_of(_0=[99]), "StandbyTasks": [], "WarmupTasks": []},
               "subtopology": {"ActiveTasks": streams.tasks_of(_77=[0]), "StandbyTasks": [], "WarmupTasks": []},
               "epoch": {"MemberEpoch": -3}, "instance": {"InstanceId": ""}, "rack": {"RackId": ""}}
        if what == "task" and not self.tasks():
            return False

        def build(side, seat):
            if what == "topology":
                return {**self.base(m, seat), "Topology": self.topology(side)}
            if what == "timeout":
                return {**self.join_fields(m, side), "RebalanceTimeoutMs": -1}
            return {**self.base(m, seat), **bad[what]}

        self.heartbeat(m.name, f"sends a bad request ({what})", build)
        return True

    def op_shutdown(self):
        m = self.pick(away=False)
        if not m or self.rng.random() < 0.7:
            return False
        self.asked_to_end = True
        self.heartbeat(m.name, "asks for shutdown", lambda side, seat: {**self.base(m, seat), "ShutdownApplication": True})
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
            epochs.append([group["GroupEpoch"], group["AssignmentEpoch"]] + [
                m["MemberEpoch"] for m in sorted(group["Members"], key=lambda m: m["MemberId"])])
            loose = self.waiting() >= 2 or self.kind == "spread" and not settled
            members = []
            for m in sorted(group["Members"], key=lambda m: m["MemberId"]):
                members.append((m["MemberId"], m["InstanceId"], m["RackId"], m["ClientId"], m["TopologyEpoch"], m["ProcessId"],
                                streams.endpoint(m["UserEndpoint"]), str(m["ClientTags"]),
                                None if loose else total(m["Assignment"]["ActiveTasks"]),
                                None if self.kind == "spread" and not settled else total(m["TargetAssignment"]["ActiveTasks"])))
            active = [t for m in group["Members"] for t in streams.ids(m["Assignment"]["ActiveTasks"])]
            standby = sum(total(m["TargetAssignment"]["StandbyTasks"]) for m in group["Members"])
            topology = group["Topology"] and (group["Topology"]["Epoch"], [
                (s["SubtopologyId"], [t.replace(side.prefix, "") for t in s["SourceTopics"]])
                for s in group["Topology"]["Subtopologies"]])
            return (errors.text(group["ErrorCode"]), plain(group["ErrorMessage"], side.prefix),
                    None if self.kind == "spread" and not settled else group["GroupState"], topology, members,
                    len(active) - len(set(active)), standby if settled else None)

        answers = self.ask_all("describe", "StreamsGroupDescribe", 1, lambda side: {"GroupIds": [side.group(self.name)]}, view)
        for first, second in zip(*epochs):
            if self.kind != "spread" and not self.epochs.same(first, second):
                self.fail("epochs of describe", epochs[0], epochs[1])
        return answers[0]["Groups"][0]["GroupState"]

    def op_list(self):
        self.ask_all("list", "ListGroups", 5, lambda side: {"StatesFilter": [], "TypesFilter": ["streams"]},
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
        index = self.rng.randrange(len(self.shape))
        if how.startswith("foreign") and not all(self.foreign(s.seats[m.name], index) for s in self.sides):
            return False

        def build(side):
            seat = side.seats[m.name]
            subtopology, sources, _ = self.shape[index]
            epoch, partition = seat.epoch, 0
            if how == "above":
                epoch += 1
            elif how == "minus one":
                epoch = -1
            elif how.startswith("since"):
                task = min(seat.held, key=lambda t: (seat.since[t], t))
                subtopology, partition = task
                epoch = seat.since[task] - (1 if how.endswith("one") else 0)
                sources = next(s for i, s, _ in self.shape if i == subtopology)
            elif how.startswith("foreign"):
                partition = self.foreign(seat, index)[0]
                epoch -= 1 if how.endswith("before") else 0
            return {"GroupId": side.group(self.name), "GenerationIdOrMemberEpoch": epoch, "MemberId": m.name, "Topics": [
                {"Name": side.prefix + sources[0], "Partitions": [{"PartitionIndex": partition, "CommittedOffset": self.steps}]}]}

        if how == "since less one" and any(s.seats[m.name].since[t] <= 0 for s in self.sides for t in s.seats[m.name].held):
            return False
        if self.kind == "events" and 0 in self.events.values():
            return False
        self.ask_all(f"{m.name} commits ({how})", "OffsetCommit", 9, build,
                     lambda side, a: [p["ErrorCode"] for t in a["Topics"] for p in t["Partitions"]])
        return True

    def foreign(self, seat, index):
        """Partitions of a subtopology's topic that a member does not have, nor is giving up."""
        mine = seat.held | (seat.told or set())
        return [p for p in range(self.tasks() // len(self.shape)) if (self.shape[index][0], p) not in mine]

    def op_admin_commit(self):
        if self.kind == "events":
            return False
        self.ask_all("a commit without a member", "OffsetCommit", 9, lambda side: {
            "GroupId": side.group(self.name), "GenerationIdOrMemberEpoch": -1, "MemberId": "", "Topics": [
                {"Name": side.prefix + self.shape[0][1][0], "Partitions": [{"PartitionIndex": 1, "CommittedOffset": self.steps}]}]},
            lambda side, a: [p["ErrorCode"] for t in a["Topics"] for p in t["Partitions"]])
        if not self.epochs.pairs:
            self.ever_loose = True  # there is a group of offsets now, and it will be converted
        return True

    def op_fetch(self):
        m = self.pick()
        how = self.rng.choice(("now", "above", "none")) if m else "none"

        def build(side):
            entry = {"GroupId": side.group(self.name), "Topics": [
                {"Name": side.prefix + self.shape[0][1][0], "PartitionIndexes": [1]}]}
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
            {"Name": side.prefix + self.shape[0][1][0], "Partitions": [{"PartitionIndex": 5}]}]},
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

    def op_classic(self):
        """A classic member asks for an id: at an empty group that is the end of the streams group."""
        if self.members and self.rng.random() < 0.7:
            return False
        answers = self.ask_all("a classic join", "JoinGroup", 9, lambda side: {
            "GroupId": side.group(self.name), "SessionTimeoutMs": 10000, "RebalanceTimeoutMs": 10000, "MemberId": "",
            "ProtocolType": "consumer", "Protocols": [{"Name": "range", "Metadata": b""}]}, lambda side, a: a["ErrorCode"])
        if answers[0]["ErrorCode"] == 79:
            self.fresh()
            self.ever_loose = True  # the first endpoint of a converted group counts as a change in Kafka
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
        before = {side.name: self.group_epoch(side) for side in self.sides}
        self.change_topic(full, api, fields)
        self.events[name] = then
        self.epochs.loose = True
        self.heartbeat(witness.name, "beats", lambda side, seat: self.base(witness, seat), patient=before)
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
                until_known(side, self.name + "-probe", [f"{self.name}-{name}" for name, _ in there])
            time.sleep(0.5)

    def end_topics(self):
        for name, count in self.events.items():
            if count:
                self.change_topic(f"{self.name}-{name}", "DeleteTopics", lambda p: {"TopicNames": [p], "TimeoutMs": 10000})

    # ---- a whole life

    def careful(self, operation):
        try:
            return operation()
        except Differs as reason:
            self.recover(reason)
            return True

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
        share = self.share()
        return all(len(s.seats[n].held) == share for s in self.sides for n in self.members) and all(
            len({s.seats[n].epoch for n in self.members}) <= 1 for s in self.sides)

    OPERATIONS = (("join", 14), ("join_refused", 3), ("beat", 20), ("ack", 20), ("no_ack", 5), ("full", 4), ("change", 5),
                  ("rejoin", 4), ("leave", 6), ("away", 5), ("return", 5), ("second_instance", 2), ("wrong_epoch", 7),
                  ("stranger", 3), ("bad_request", 4), ("shutdown", 2), ("describe", 8), ("list", 1), ("commit", 8),
                  ("admin_commit", 2), ("fetch", 3), ("offset_delete", 1), ("delete_group", 2), ("classic", 2), ("event", 10))

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
            elif not self.same_counts():
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


def until_known(side, name, topics):
    """A group that comes and goes: until a coordinator knows the topics and the group may start at once."""
    deadline = time.monotonic() + 60
    fields = {"GroupId": side.group(name), "MemberId": "probe", "MemberEpoch": 0, "RebalanceTimeoutMs": 1000, "ActiveTasks": [],
              "StandbyTasks": [], "WarmupTasks": [], "ProcessId": "probe", "ClientTags": [],
              "Topology": streams.topology(streams.subtopology("0", [side.prefix + t for t in topics]))}
    while time.monotonic() < deadline:
        answer = side.ask("StreamsGroupHeartbeat", 1, fields, "probe", name)
        side.ask("StreamsGroupHeartbeat", 1, {"GroupId": side.group(name), "MemberId": "probe", "MemberEpoch": -1}, "probe", name)
        side.ask("DeleteGroups", 3, {"GroupsNames": [side.group(name)]}, "probe", name)
        if not any(s["StatusCode"] == 1 for s in answer["Status"]):
            return answer
        time.sleep(0.3)
    raise Differs(f"{side.name} does not come to know {topics}")


def total_of(rows):
    return sum(len(r["Partitions"]) for r in rows)


def show(answer):
    lists = "" if answer["ActiveTasks"] is None else \
        f" active {sorted(streams.ids(answer['ActiveTasks']))} standby {total(answer['StandbyTasks'])}"
    return (f"{errors.text(answer['ErrorCode'])} {answer['ErrorMessage'] or ''} epoch {answer['MemberEpoch']}{lists} "
            f"status {[s['StatusCode'] for s in answer['Status']]} info {answer['EndpointInformationEpoch']}")
