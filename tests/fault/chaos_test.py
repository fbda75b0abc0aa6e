#!/usr/bin/env python3
"""Rounds of faults of every kind under load of every kind, on three nodes with networks, disks and wall clocks of their own.

Faults: cuts (whole, one-way, bridges), delay, loss, kill -9, power cuts (musterd_lossy forgets what was not synced), SIGSTOP, graceful stops, full,
failing, hanging and slow disks, wall clocks that jump, leaders that change; all of them alone, then each with one or two others, and so on. Load:
commits of nobody's and of members of all three kinds of groups, reads of all nodes, members that come, leave and die. Never seen may be: an
acknowledged commit that is lost, a stale read, a partition with two owners, a member that is thrown out although it was heard in time, a settled
member that has to rejoin, replicas that differ. In the end tests/lin verifies that what was committed and read is linearizable, by what it was told alone. Tells the longest time without service after each kind of fault.
"""
import json
import random
import statistics
import struct
import subprocess
import sys
import time
from pathlib import Path

from faultlib import protocol
from faultlib.chaos import KINDS, draw, leave_majority
from faultlib.consumer import ConsumerMember
from faultlib.disk import FrailCluster
from faultlib.load import Actor, Beater, Committer, World, read_back
from faultlib.moving import classic_crowd, consumer_crowd, streams_crowd
from faultlib.protocol import NONE, RETRIABLE, error_text
from faultlib.settled import go_on
from faultlib.story import check, check_equal, main, say
from faultlib.streams import StreamsMember, topology

LINEARIZE = Path(__file__).resolve().parents[1] / "lin" / "linearize.py"
SIMPLE_GROUPS = 12
SETTLED_GROUPS = 3          # of each kind
CROWDS = 2                  # of each kind
MOVING_PARTITIONS = 6
SESSION_S = 8
AFTER_S = 1.3               # until nodes that were cut off have found each other again: they dial once a second
PATIENCE_S = 0.25           # of a client for an answer, before it asks elsewhere
SETTINGS = {"muster.entry.max.bytes": 65536, "muster.log.segment.bytes": 1048576, "muster.log.retain.bytes": 2097152,
            "muster.snapshot.interval.bytes": 262144, "muster.log.reserve.bytes": 262144,
            "group.consumer.session.timeout.ms": SESSION_S * 1000, "group.consumer.min.session.timeout.ms": 1000,
            "group.consumer.heartbeat.interval.ms": 1000, "group.consumer.min.heartbeat.interval.ms": 100,
            "group.streams.session.timeout.ms": SESSION_S * 1000, "group.streams.min.session.timeout.ms": 1000,
            "group.streams.heartbeat.interval.ms": 1000, "group.streams.min.heartbeat.interval.ms": 100,
            "group.streams.initial.rebalance.delay.ms": 0}


def settings_of(test, **more):
    """Sanitizers make a node about as slow as their patience is longer here."""
    slow = {"muster.election.timeout.ms": 1500, "muster.heartbeat.interval.ms": 300} if test.sanitized() else {}
    return {**SETTINGS, **slow, **more}


class Reader(Actor):
    """Asks one node, whoever leads, for what was committed: each answer is not older than the question, or says to ask again."""

    def __init__(self, world, address, committers, rng):
        super().__init__(world, committers[0].group, 0.01)
        self.home, self.committers, self.rng = address, committers, rng
        self.patience = PATIENCE_S
        self.tally = {"right": 0, "ask again": 0}

    def seek(self):
        self.address = self.home
        self.world.at(time.monotonic() + 0.02, self.step)

    def next_request(self):
        self.correlation += 1
        self.asked = c = self.rng.choice(self.committers)
        self.partition, self.floor, self.asked_at = c.partition, c.bounds(c.partition)[0], time.monotonic()
        frame = c.fetch
        return frame[:8] + struct.pack(">i", self.correlation) + frame[12:]

    def answered(self, frame):
        code, rows = protocol.fetched(protocol.answer_of("OffsetFetch", 8, frame)[1])
        row = rows.get((self.asked.topic, self.partition))
        code = code or (row["ErrorCode"] if row else NONE)
        if code == NONE:
            self.world.tell(self.asked.register(self.partition), "read", row["CommittedOffset"], self.asked_at, time.monotonic())
            offset, most = row["CommittedOffset"], self.asked.bounds(self.partition)[1]
            if not self.floor <= offset <= most:
                self.world.breaks(f"{self.asked.group}: {self.home} answers {offset} for partition {self.partition}; {self.floor} was acknowledged "
                                  f"before the question, {most} sent")
            self.tally["right"] += 1
        elif code in RETRIABLE:
            self.tally["ask again"] += 1
        else:
            self.world.breaks(f"{self.asked.group}: {self.home} answers a fetch with {error_text(code)}")
        return [code]


class Load:
    """Everybody who asks something."""

    def __init__(self, cluster, client, rng):
        self.world = world = World(cluster.addresses())
        self.client = client
        self.rng = rng
        client.create_topic("t", 10000)
        client.create_topic("t1", 1)
        client.create_topic("moving", MOVING_PARTITIONS)
        self.committers = [Committer(world, f"simple-{n}", "t", 0.02) for n in range(SIMPLE_GROUPS)]
        self.settled = {}
        for n in range(SETTLED_GROUPS):
            self._classic(f"classic-{n}")
            self._modern(ConsumerMember(client, f"consumer-{n}").join("t1"))
            self._modern(StreamsMember(client, f"streams-{n}").join(topology("t1")))
        self.readers = [Reader(world, address, self.committers, rng) for address in cluster.addresses()]
        made = [(consumer_crowd, "moving"), (streams_crowd, "moving"), (classic_crowd, MOVING_PARTITIONS)]
        self.crowds = [make(world, f"{make.__name__}-{n}", what, SESSION_S, 0.15) for n in range(CROWDS) for make, what in made]
        for actor in world.actors:
            actor.patience = PATIENCE_S
            actor.begin()
        for crowd in self.crowds:
            for _ in range(3):
                crowd.add()

    def _classic(self, group):
        member, generation = self.client.alone(group, session=SESSION_S * 1000, topics=("t1",))
        self.committers.append(Committer(self.world, group, "t", 0.05, generation, member))
        Beater(self.world, group, generation, member, 0.2)
        self.settled[group] = ("classic", member, generation)

    def _modern(self, member):
        self.committers.append(go_on(self.world, member))
        self.settled[member.group] = (member.KIND, member, member.epoch)

    def check(self, when):
        check(not self.world.broken, f"{when}: " + "; ".join(self.world.broken))

    def check_settled(self, when):
        for group, (kind, member, epoch) in self.settled.items():
            if kind == "classic":
                row = self.client.describe(group)
                check_equal([m["MemberId"] for m in row["Members"]], [member], f"{when}: members of {group}")
                check_equal(self.client.heartbeat(group, epoch, member), NONE, f"{when}: heartbeat of {group}")
            else:
                row = member.describe()
                check_equal([(m["MemberId"], m["MemberEpoch"]) for m in row["Members"]], [(member.member, epoch)], f"{when}: members of {group}")

    def whole(self):
        """Every partition of every crowd has an owner."""
        return not self.missing()

    def missing(self):
        """What members of the groups have where a partition has no owner: what, and how long ago the last good answer's question was."""
        return [missing_of(crowd) for crowd in self.crowds if len(crowd.owned()) < MOVING_PARTITIONS]


def missing_of(crowd):
    return {crowd.group: {m.name: (sorted(m.owned), "leaves" if m.leaving else "stays", m.heard and round(time.monotonic() - m.heard, 1)) for m in crowd.members}}


def equal_replicas(cluster, when):
    hashes = {}
    for s in cluster.status()["shards"]:
        for r in s["replicas"]:
            hashes.setdefault((s["shard"], r["appliedIndex"]), set()).add(r["stateHash"])
    torn = [where for where, values in hashes.items() if len(values) > 1]
    check(not torn, f"{when}: replicas differ at {torn}")


def longest_gap(committer, begun, until):
    """(seconds, from when on after the beginning, group) of the longest time without an acknowledgement."""
    times = [begun, *(t for t, _ in committer.acks if t >= begun), until]
    return max((b - a, a - begun, committer.group) for a, b in zip(times, times[1:]))


def one_round(cluster, load, kind, mixed):
    """The longest gap of all committers (longest_gap), and what the round counts as."""
    world, rng = load.world, load.rng
    faults = draw(kind, cluster, world, rng, mixed)
    what = " + ".join(f"{f.NAME} ({f.node})" for f in faults)
    say(f"   {what}, {faults[0].seconds:.1f} s")
    for c in load.committers:
        c.acks, c.keep_acks = [], True
    begun = time.monotonic()
    for fault in faults:
        fault.begin()
    end = begun + faults[0].seconds
    while time.monotonic() < end:
        world.run(min(0.7, max(0.0, end - time.monotonic())))
        rng.choice(load.crowds).change(rng)
        load.check(what)
    for fault in faults:
        fault.end()
    healed = time.monotonic()
    served = world.run(40, lambda: all(c.acks and c.acks[-1][1] > healed for c in load.committers))
    until = time.monotonic()
    for c in load.committers:
        c.keep_acks = False
    late = [c.group for c in load.committers if not c.acks or c.acks[-1][1] <= healed]
    check(served, f"{what}: commits of {late} are not served 40 s after everything was mended")
    load.check(what)
    world.run(AFTER_S)
    read_back(load.client, load.committers, what)
    load.check_settled(what)
    equal_replicas(cluster, what)
    name = kind.NAME if not mixed else "two or three of them at once" if leave_majority(faults, cluster) else "two or three, no majority is left"
    return max(longest_gap(c, begun, until) for c in load.committers), name


def linearizable(world):
    world.history.close()
    done = subprocess.run([sys.executable, LINEARIZE, world.history.name], stdout=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 0, f"the history in {world.history.name}: {done.stdout}")
    say(done.stdout.splitlines()[-1])


def table(gaps, file):
    rows = [{"fault": name, "rounds": len(seconds), "median_ms": round(1000 * statistics.median(seconds)), "longest_ms": round(1000 * max(seconds))}
            for name, seconds in gaps.items()]
    say("longest time in which a group was not served, in ms: the rounds' median, and the longest")
    for row in rows:
        print(f"         {row['fault']:42} {row['rounds']:4} rounds {row['median_ms']:8} {row['longest_ms']:8}", flush=True)
    if file:
        with open(file, "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=1)


def run(test):
    options = test.options
    rng = random.Random(options.seed)
    cluster = FrailCluster(test.folder / "cluster", test.port, test.bin / "lossy", settings=settings_of(test))
    test.clusters.append(cluster)
    cluster.start()
    load = Load(cluster, cluster.client(patience=40), rng)
    load.world.history = open(test.folder / "history.jsonl", "w", encoding="utf-8")
    check(load.world.run(60, lambda: all(c.acked > 5 for c in load.committers) and load.whole()), "the load does not get going")
    kinds = [kind for kind in KINDS if not options.only or any(kind.__name__ == name for name in options.only.split(","))]
    check(kinds, f"there is no fault of {options.only}")
    say(f"{len(load.committers)} committers, {len(load.settled)} settled groups, {len(load.crowds)} groups whose members change; seed {options.seed}")
    gaps, order, turn, end = {}, [], -1, time.monotonic() + 60 * options.minutes
    while turn + 1 < options.rounds or time.monotonic() < end:
        turn += 1
        order = order or rng.sample(kinds, len(kinds))
        mixed = turn // len(kinds) % 2 == 1
        kind = order.pop()
        (gap, at, group), name = one_round(cluster, load, kind, mixed)
        gaps.setdefault(name, []).append(gap)
        say(f"round {turn + 1}: not served for at most {1000 * gap:.0f} ms ({group}, from {1000 * at:.0f} ms on)")
    check(load.world.run(60, load.whole), f"not every partition has an owner in the end: {load.missing()}")
    load.check("in the end")
    load.world.close()
    linearizable(load.world)
    read_back(load.client, load.committers, "in the end")
    table(gaps, options.json)
    tally = {what: sum(r.tally[what] for r in load.readers) for what in ("right", "ask again")}
    say(f"{sum(c.commits for c in load.committers)} commits acknowledged, lost: 0; {sum(c.reads for c in load.committers) + tally['right']} reads, "
        f"stale: 0; {sum(c.made for c in load.crowds)} members came and went, partitions owned twice: 0; thrown out although heard in time: 0 "
        f"(after a session of silence: {sum(c.late for c in load.crowds)})")


if __name__ == "__main__":
    main(run, 25372, [("--rounds", {"type": int, "default": 50}), ("--seed", {"type": int, "default": 6}),
                      ("--minutes", {"type": float, "default": 0, "help": "goes on with more rounds until so much time has passed"}),
                      ("--only", {"default": "", "help": "kinds of faults, by the names of their classes in faultlib/chaos.py, with commas"}),
                      ("--json", {"default": "", "help": "a file that the table is written to"})], namespaces=("--net", "--mount"))
