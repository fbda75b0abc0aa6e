"""One life of a streams group."""
from . import errors, streams
from .life import Differs, Life, plain
from .play import TASKS, Epochs, Member, Seat


def total(tasks):
    return None if tasks is None else sum(len(t["Partitions"]) for t in tasks)


def total_of(rows):
    return sum(len(r["Partitions"]) for r in rows)


class StreamsSeat(Seat):
    def __init__(self):
        super().__init__()
        self.standby = set()

    def given(self, answer):
        if answer["ActiveTasks"] is None:
            return None
        self.standby = streams.ids(answer["StandbyTasks"])
        return streams.ids(answer["ActiveTasks"])

    def unsay(self, answer):
        answer["ActiveTasks"] = answer["StandbyTasks"] = answer["WarmupTasks"] = None

    def report(self, held=None):
        return {"ActiveTasks": streams.in_lists(self.held if held is None else held),
                "StandbyTasks": streams.in_lists(self.standby), "WarmupTasks": []}


class StreamsMember(Member):
    def __init__(self, name, instance, process, epoch, tags):
        super().__init__(name, instance)
        self.process = process
        self.topology_epoch = epoch
        self.tags = tags
        self.endpoint = None

    def __str__(self):
        return f"{self.instance or ''} topology {self.topology_epoch}"


class StreamsLife(Life):
    heartbeat_api, describe_api, group_type, Seat = "StreamsGroupHeartbeat", "StreamsGroupDescribe", "streams", StreamsSeat
    # standby: two members, so that the standby tasks of each are forced, too; spread: up to four, compared when all is settled
    KINDS = ("plain",) * 6 + ("events",) * 2 + ("standby", "spread")
    OPERATIONS = (("join", 14), ("join_refused", 3), *Life.OPERATIONS, ("shutdown", 2))

    def __init__(self, seed, sides, kind, shared):
        super().__init__(seed, sides, kind)
        self.limit = 2 if kind in ("events", "standby") else 4
        self.topology_epoch = self.rng.choice((0, 0, 5))
        self.shape = self._shape(shared)

    def fresh(self):
        super().fresh()
        self.refused = False
        self.asked_to_end = False

    @staticmethod
    def configs(seed, kind):
        """A group's own configs: no delay, no interval."""
        found = {"streams.initial.rebalance.delay.ms": "0", "streams.assignment.interval.ms": "0"}
        if kind in ("standby", "spread"):
            found["streams.num.standby.replicas"] = "1"
        elif seed % 5 == 0:
            found["streams.rack.aware.assignment.tags"] = "zone"
        return found

    def _shape(self, shared):
        """(subtopology id, topics, changelogs) with names that sides put their prefix before."""
        rng = self.rng
        if self.kind == "events":
            self.events = {"e1": 2, "e2": 0 if rng.random() < 0.5 else 2}
            return [("0", [f"{self.name}-e1"], []), ("1", [f"{self.name}-e2"], [])]
        logs = [shared["log"]] if self.kind in ("standby", "spread") or rng.random() < 0.4 else []
        rows = [("0", [shared["big"]], logs)]
        if self.kind == "plain" and rng.random() < 0.3:
            rows.append(("1", [shared["other"]], []))
        return rows

    def topics(self):
        return [sources[0] for _, sources, _ in self.shape]

    def tasks(self):
        """How many tasks the group has now; none while a topic misses."""
        if self.kind == "events":
            return 0 if 0 in self.events.values() else sum(self.events.values())
        return TASKS["big"] * len(self.shape)

    def share(self, name=None):
        return self.tasks() // len(self.members) if self.members else 0

    def waiting(self):
        count = super().waiting()
        return 2 * count if self.kind == "standby" else count  # and what of its standbys it is to have as active

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

    def not_compared(self, loose):
        skip = super().not_compared(loose)
        if skip:
            skip |= {"standby", "warmup"}
        if self.ever_loose or self.kind != "plain":
            skip |= {"info", "endpoints"}
        return skip

    def show(self, answer):
        lists = "" if answer["ActiveTasks"] is None else \
            f" active {sorted(streams.ids(answer['ActiveTasks']))} standby {total(answer['StandbyTasks'])}"
        return (f"{errors.text(answer['ErrorCode'])} {answer['ErrorMessage'] or ''} epoch {answer['MemberEpoch']}{lists} "
                f"status {[s['StatusCode'] for s in answer['Status']]} info {answer['EndpointInformationEpoch']}")

    def answered(self, name, answers, had, quiet):
        if answers[0]["ErrorCode"]:
            self.refused = True
        if not quiet and self.takes_all(answers, had):
            self.fail("active", 0, total(answers[1]["ActiveTasks"]))

    def takes_all(self, answers, had):
        """Kafka takes everything from a member although the group has tasks for all."""
        ready = not any(s["StatusCode"] in (1, 2, 3) for s in answers[0]["Status"])
        return (ready and had and self.share() > 0 and not any(a["ErrorCode"] for a in answers) and
                total(answers[0]["ActiveTasks"]) == 0 and total(answers[1]["ActiveTasks"]) != 0)

    def careful(self, operation):
        try:
            return operation()
        except Differs as reason:
            self.recover(reason)
            return True

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

    # ---- heartbeats

    def one_heartbeat(self, side, name, build, patient):
        return super().one_heartbeat(side, name, lambda s, seat: {"EndpointInformationEpoch": -1, **build(s, seat)}, patient)

    def join_fields(self, member, side, extra=None):
        return {"MemberEpoch": 0, "InstanceId": member.instance, "RebalanceTimeoutMs": member.rebalance,
                "Topology": self.topology(side, member.topology_epoch, extra), "ActiveTasks": [], "StandbyTasks": [],
                "WarmupTasks": [], "ProcessId": member.process, "ClientTags": member.tags, "RackId": member.rack,
                "UserEndpoint": member.endpoint}

    def full_fields(self, member, side, seat):
        return {"RebalanceTimeoutMs": member.rebalance, "ProcessId": member.process, "ClientTags": member.tags,
                "RackId": member.rack}

    def new_member(self):
        rng = self.rng
        self.used += 1
        name = f"m{self.used}"
        process = rng.choice((f"p-{name}", f"p-{name}", "shared")) if self.kind == "plain" else f"p-{name}"
        epoch = self.topology_epoch
        if self.members and epoch and rng.random() < 0.2:
            epoch -= 2
        member = StreamsMember(name, f"i-{name}" if rng.random() < 0.3 else None, process, epoch,
                               [{"Key": "zone", "Value": "x"}] if rng.random() < 0.5 else [])
        if self.kind == "plain" and rng.random() < 0.2:
            member.endpoint = {"Host": f"h-{name}", "Port": 1}
        return member

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

    def outdated(self, m):
        """It may have tasks that there are no more since a topic was made again: what it reports is refused or not by their names."""
        limit = min(self.events.values(), default=TASKS["big"])
        return any(p >= limit for s in self.sides for _, p in s.seats[m.name].held | (s.seats[m.name].told or set()))

    def op_change(self):
        m = self.pick(away=False)
        if not m:
            return False
        what = self.rng.choice(("RebalanceTimeoutMs", "ProcessId", "ClientTags", "RackId", "client id", "nothing"))
        value = {"client id": f"c{self.rng.randrange(3)}-{m.name}", "RebalanceTimeoutMs": self.rng.choice((60000, 70000)),
                 "ProcessId": f"q{self.rng.randrange(3)}-{m.name}",
                 "ClientTags": self.rng.choice(([], [{"Key": "zone", "Value": "y"}])), "RackId": self.rng.choice(("r1", "r2")),
                 "nothing": None}[what]
        field = {"RebalanceTimeoutMs": "rebalance", "ProcessId": "process", "ClientTags": "tags", "RackId": "rack",
                 "client id": "client"}.get(what)
        if field:
            setattr(m, field, value)
        self.heartbeat(m.name, f"changes {what} to {value}",
                       lambda side, seat: {**self.base(m, seat), **({what: value} if what[0].isupper() else {})})
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
        self.forget(m)
        self.asked_to_end = self.asked_to_end and bool(self.members)

    def come_back(self, m, quiet=False):
        if self.asked_to_end and len(self.members) == 1:
            return self.leave(m)  # in Kafka the group is empty for a moment then, and the shutdown forgotten
        return super().come_back(m, quiet)

    def changed_away(self, m):
        if self.rng.random() < 0.3:
            m.process = f"p-{m.name}-again"

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

    def given_to(self, described):
        return streams.ids(described["Assignment"]["ActiveTasks"])

    def describe_view(self, side, group, settled, loose):
        members = []
        for m in sorted(group["Members"], key=lambda m: m["MemberId"]):
            members.append((m["MemberId"], m["InstanceId"], m["RackId"], m["ClientId"], m["TopologyEpoch"], m["ProcessId"],
                            streams.endpoint(m["UserEndpoint"]), str(m["ClientTags"]),
                            None if loose else total(m["Assignment"]["ActiveTasks"]),
                            None if self.kind == "spread" and not settled else total(m["TargetAssignment"]["ActiveTasks"])))
        standby = sum(total(m["TargetAssignment"]["StandbyTasks"]) for m in group["Members"])
        topology = group["Topology"] and (group["Topology"]["Epoch"], [
            (s["SubtopologyId"], [t.replace(side.prefix, "") for t in s["SourceTopics"]])
            for s in group["Topology"]["Subtopologies"]])
        return topology, members, standby if settled else None

    def place(self, seat, how, index):
        subtopology, sources, _ = self.shape[index]
        if how.startswith("since"):
            task = min(seat.held, key=lambda t: (seat.since[t], t))
            return next(s for i, s, _ in self.shape if i == task[0])[0], task[1], seat.since[task]
        if not how.startswith("foreign"):
            return sources[0], 0, None
        mine = seat.held | (seat.told or set())
        found = [p for p in range(self.tasks() // len(self.shape)) if (subtopology, p) not in mine]
        return (sources[0], found[0], None) if found else None

    @classmethod
    def probe(cls, side, topics):
        join = {"EndpointInformationEpoch": -1, "RebalanceTimeoutMs": 1000, "ActiveTasks": [], "StandbyTasks": [], "WarmupTasks": [],
                "ProcessId": "probe", "ClientTags": [],
                "Topology": streams.topology(streams.subtopology("0", [side.prefix + t for t in topics]))}
        return join, lambda answer: not any(s["StatusCode"] == 1 for s in answer["Status"])
