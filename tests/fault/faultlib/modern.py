"""Members of groups whose assignment the coordinator makes (consumer groups, streams groups), with a blocking client, and the bad days they share.

A test says how a member joins: join(group, name) makes one that has sent its first heartbeat.
"""
import time

from . import protocol
from .load import Beater
from .protocol import NONE, error_text
from .story import Failed, check, check_equal, say, until


class Member:
    """Its epoch, what it was told last (held), and what it may still be at work on (owned): what it was told less what it said it gave up.
    Subclasses have the protocol: API, DESCRIBE, VERSION, KIND, OWNED (the field of a report), ALWAYS (fields of every heartbeat)."""

    ALWAYS = {}

    def __init__(self, client, group, member="m"):
        self.client = client
        self.group = group
        self.member = member
        self.epoch = 0
        self.held = set()
        self.owned = set()

    def fields(self, epoch, **fields):
        return {"GroupId": self.group, "MemberId": self.member, "MemberEpoch": epoch, **self.ALWAYS, **fields}

    def ask(self, epoch, **fields):
        """One heartbeat; the whole answer."""
        if fields.get(self.OWNED) is not None:
            self.owned = self.units(fields[self.OWNED])
        values = self.client.one_error(self.group, self.API, self.VERSION, **self.fields(epoch, **fields))
        if values["ErrorCode"] == NONE:
            self.epoch = values["MemberEpoch"]
            self.take(values)
        return values

    def take(self, values):
        told = self.told(values)
        if told is not None:
            self.held = told
            self.owned |= told

    def must(self, epoch, **fields):
        values = self.ask(epoch, **fields)
        if values["ErrorCode"] != NONE:
            raise Failed(f"{self.group}: heartbeat of {self.member} at epoch {epoch}: {error_text(values['ErrorCode'])} {values['ErrorMessage']}")
        return values

    def beat(self):
        return self.must(self.epoch)

    def confirm(self):
        """A heartbeat that says what it has, which confirms what it was told to give up."""
        return self.must(self.epoch, **self.report(self.held))

    def leave(self):
        self.must(-1)
        self.held, self.owned = set(), set()

    def settle(self, count, seconds=20):
        """Heartbeats until it has that many units."""
        def enough():
            self.beat()
            return len(self.held) == count
        until(f"{self.member} of {self.group} has {count} of what it asked for", enough, seconds)

    def describe(self):
        return self.client.group(self.group, self.DESCRIBE, 1, lambda v: [g["ErrorCode"] for g in v["Groups"]], GroupIds=[self.group])["Groups"][0]

    def units(self, rows):
        """What a list of the protocol names, as a set."""
        raise NotImplementedError

    def told(self, values):
        """What the answer assigns; None: what it did before."""
        raise NotImplementedError

    def report(self, units):
        """The fields that say what the member has."""
        raise NotImplementedError


class ModernBeater(Beater):
    """Heartbeats of a settled member: each must be answered NONE with the epoch it has, and assign nothing else."""

    def __init__(self, world, member, pace=0.05):
        self.member = member
        self.API, self.VERSION = member.API, member.VERSION
        self.epoch = member.epoch
        super().__init__(world, member.group, member.epoch, member.member, pace)

    def fields(self, generation, member):
        return self.member.fields(generation)

    def answered(self, frame):
        values = protocol.answer_of(self.API, self.VERSION, frame)[1]
        if values["ErrorCode"] == NONE and (values["MemberEpoch"], self.member.told(values)) != (self.epoch, None):
            self.world.breaks(f"{self.group}: heartbeat at epoch {self.epoch} answered {values}")
        return super().answered(frame)


def owners(members):
    """What members have together. Fails when two may be at work on the same: it was given to one before the other said that it gave it up."""
    seen = {}
    for m in members:
        for unit in m.owned:
            check(unit not in seen, f"{unit} belongs to {seen.get(unit)} and to {m.member}")
            seen[unit] = m.member
    return set(seen)


def listed(cluster, client):
    """{group: (type, state)}, once every node answers."""
    def all_nodes():
        answers = [client.list_groups(address) for address in cluster.addresses()]
        return all(code == NONE for code, _ in answers) and [g for _, groups in answers for g in groups]
    return {g["GroupId"]: (g["GroupType"].lower(), g["GroupState"]) for g in until("ListGroups of all nodes", all_nodes, 10)}


def fill(cluster, client, beat):
    """Commits until every shard had to take a snapshot and trim its log of all that it had before."""
    before = {s["shard"]: s["commitIndex"] for s in cluster.status()["shards"]}

    def done():
        for n in range(24):
            client.commit(f"filler-{n}", {"ta": {p: (1, 0, "f" * 3000) for p in range(2)}})
            beat()
        return all(r["snapshotIndex"] and r["firstIndex"] > before[s["shard"]] for s in cluster.status()["shards"] for r in s["replicas"])
    until("snapshots of all shards", done, 60)


def converted(cluster, client, join):
    """The offset of a classic group that read ta stays when the emptied group is another kind's, through snapshots and a restart of everything."""
    member, generation = client.alone("converted", topics=("ta",))
    client.commit("converted", {"ta": {0: 42}}, generation, member)
    check_equal(set(client.leave("converted", member)), {NONE}, "leave")
    modern = join("converted", "m")
    modern.settle(2)
    epoch = modern.epoch
    fill(cluster, client, modern.beat)
    cluster.kill(1, 2, 3)
    cluster.run("start")
    cluster.wait()
    seen = modern.describe()
    check_equal((seen["ErrorCode"], seen["GroupState"], len(seen["Members"])), (NONE, "Stable", 1), "the group after the restart")
    check_equal(listed(cluster, client)["converted"], (modern.KIND, "Stable"), "as listed")
    check_equal(client.offsets("converted", {"ta": [0]}), {("ta", 0): 42}, "the classic group's offset")
    modern.beat()
    check_equal(modern.epoch, epoch, "the member's epoch")
    say(f"a classic group that became a {modern.KIND} group came back from snapshots as one, offset and member and all")
    modern.leave()


def failovers(cluster, client, join, count, each=lambda member: None):
    """Members come and go while coordinators are killed: units move, none has two owners, nobody is fenced, epochs never go back.
    each(member) is called after each of its heartbeats."""
    members = []
    epochs = {}

    def turn():
        for m in members:
            m.confirm()
            check(m.epoch >= epochs.get(m.member, 0), f"the epoch of {m.member} went back to {m.epoch}")
            epochs[m.member] = m.epoch
            owners(members)
            each(m)

    def settled():
        turn()
        return len(owners(members)) == count and members[0].describe()["GroupState"] == "Stable"
    for n in range(6):
        members.append(join("moving", f"m{n}"))
        if n % 2 == 1:
            node = cluster.coordinator(client, "moving")
            cluster.kill(node)
            turn()
            cluster.restart(node)
            cluster.wait()
        until(f"{len(members)} members share {count}", settled, 30)
    say("six members joined, three coordinators were killed meanwhile: everything has one owner, everybody his epoch")
    for m in members[:3]:
        m.leave()
    del members[:3]
    until("three members share what the others left", settled, 30)
    for m in members:
        m.leave()


def beats(members, seconds):
    """Heartbeats of them for that long."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for m in members:
            m.beat()
        time.sleep(0.2)


def jumps(cluster, client, clocks, join, session_s):
    """Sessions are measured on nobody's wall clock."""
    living = [join(f"clock-{n}", "m") for n in range(4)]
    silent = join("clock-silent", "m")
    for n, seconds in enumerate((3600, -3600, 0)):
        for node in range(1, 4):
            clocks.step(node, seconds)
        beats(living if n else [*living, silent], session_s)
    check_equal({len(m.describe()["Members"]) for m in living}, {1}, "members that heartbeat while clocks jump")
    check_equal(silent.describe()["Members"], [], "members of a group that was silent for two sessions")
    say("clocks jumped an hour forward and two back: who heartbeats stays, who is silent goes")
    silent, *living = living
    node = cluster.coordinator(client, silent.group)
    for other in range(1, 4):
        clocks.step(other, 0 if other == node else 3600)
    silent.beat()
    beats(living, session_s / 2)
    killed = cluster.kill(node)

    def gone():
        beats(living, 0.1)
        return not silent.describe()["Members"]
    until("the silent member is removed after the failover", gone, 4 * session_s)
    lived = time.monotonic() - killed
    check(session_s - 0.1 <= lived <= 2 * session_s + 1, f"a silent member was removed {lived:.1f} s after a failover, a session has {session_s:.0f} s")
    say(f"silent since half a session before the kill, removed {lived:.1f} s after it by a node whose clock is an hour ahead")
    clocks.restart(node)
    cluster.wait()
    for m in living:
        m.beat()
        m.leave()
