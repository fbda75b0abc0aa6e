#!/usr/bin/env python3
"""Field cases of other coordinators, with nodes that have networks, disks and wall clocks of their own, and faults on top of what was reported.

B05: a coordinator that has just taken over says "no offset" of what was committed (Redpanda 5428). B27: clocks jump, timers start anew at a failover
(etcd 12291, 9395). B36: groups deleted and made again, then loaded (KAFKA-17306, KAFKA-19862). B46: disks full (dqlite 309, etcd 945).
"""
import random
import time

import reads_test
import recreate_test
from chaos_test import Load, equal_replicas, settings_of
from faultlib import chaos
from faultlib.consumer import ConsumerMember
from faultlib.disk import FrailCluster
from faultlib.load import Beater, World, read_back
from faultlib.modern import ModernBeater
from faultlib.story import check, main, say, until
from faultlib.streams import StreamsMember, topology


def cluster_of(test, **settings):
    cluster = FrailCluster(test.folder / "cluster", test.port, test.bin / "lossy", settings=settings_of(test, **settings))
    test.clusters.append(cluster)
    return cluster.start()


# ---- B05

LEADER_CHANGES = 50
OFFICES = (chaos.Transfers, chaos.Kill, chaos.Pause, chaos.Cut, chaos.Mute, chaos.PowerCut, chaos.Stop, chaos.FailingSync, chaos.HangingSync)


def terms(cluster):
    return sum(s["term"] for s in cluster.status()["shards"])


def b05(test):
    """Offices change by every means, while all nodes are asked for known partitions: the committed offset or an error, never "none"."""
    cluster = cluster_of(test)
    rng = random.Random(5)
    reads_test.fill(cluster)
    world = World(cluster.addresses())
    tally = {"right": 0, "ask again": 0}
    world.actors += [reads_test.Asker(world, address, tally, rng) for address in cluster.addresses()]
    world.run(0.5)
    changes = 0
    for turn in range(40):
        before = terms(cluster)
        fault = OFFICES[turn % len(OFFICES)](cluster, world, rng)
        fault.begin()
        world.run(fault.seconds)
        fault.end()
        world.run(0.5)
        cluster.wait()
        check(not world.broken, f"{fault.NAME}: " + "; ".join(world.broken))
        changes += terms(cluster) - before
        if changes >= LEADER_CHANGES and turn >= len(OFFICES) - 1:
            break
    check(changes >= LEADER_CHANGES, f"only {changes} leader changes")
    check(tally["right"] > 1000, "too few answers to prove anything")
    world.close()
    say(f"{changes} leader changes by {turn + 1} faults: {tally['right']} right answers, {tally['ask again']} times asked to come again, no other answer")


# ---- B27

SESSION_S = 10


def named(cluster, client, kind, node):
    """A group name that this node coordinates."""
    return next(name for name in (f"{kind}-{n}" for n in range(1000)) if cluster.coordinator(client, name) == node)


class Sitters:
    """A member of each kind with a session of ten seconds, all coordinated by one node, each heartbeating once a second."""

    def __init__(self, cluster, client, world, node, suffix):
        self.client, self.world = client, world
        classic = named(cluster, client, f"classic-{suffix}", node)
        member, generation = client.alone(classic, session=SESSION_S * 1000, topics=("t",))
        modern = [ConsumerMember(client, named(cluster, client, f"consumer-{suffix}", node)).join("t"),
                  StreamsMember(client, named(cluster, client, f"streams-{suffix}", node)).join(topology("t"))]
        for m in modern:
            m.settle(1)
            m.confirm()
        self.actors = [Beater(world, classic, generation, member, 1.0), *(ModernBeater(world, m, 1.0) for m in modern)]
        self.members = {classic: lambda: client.describe(classic)["Members"], **{m.group: lambda m=m: m.describe()["Members"] for m in modern}}
        for actor in self.actors:
            actor.patience = 0.5
            actor.begin()

    def left(self):
        return [group for group, members in self.members.items() if members()]


def b27(test):
    """Clocks of the coordinator jump, a frozen coordinator is followed by one whose clock is an hour ahead, members are silent meanwhile."""
    seconds = {"group.consumer.session.timeout.ms": SESSION_S * 1000, "group.streams.session.timeout.ms": SESSION_S * 1000}
    cluster = cluster_of(test, **seconds)
    client = cluster.client(patience=30)
    client.create_topic("t", 1)
    client.commit("kept", {"t": {0: 7}})
    world = World(cluster.addresses())
    node = cluster.coordinator(client, "kept")
    staying, going = Sitters(cluster, client, world, node, "a"), Sitters(cluster, client, world, node, "b")

    def all_there(when):
        check(not world.broken, f"{when}: " + "; ".join(world.broken))
        check(len(staying.left()) == 3 and len(going.left()) == 3, f"{when}: left are {staying.left() + going.left()}")
        check(client.offsets("kept", {"t": [0]}) == {("t", 0): 7}, f"{when}: the offset is gone")
    for step in (3600, -3600):
        cluster.clock(node, step)
        world.run(SESSION_S + 2)
        all_there(f"the coordinator's clock stands at {step:+} s")
    for other in cluster.peers_of(node):
        cluster.clock(other, 3600)
    cluster.pause(node)
    time.sleep(3)               # nobody sends anything
    world.run(SESSION_S + 2)
    cluster.resume(node)        # it would hold up the questions, and they the heartbeats
    all_there("after a failover to a node whose clock is an hour ahead")
    world.run(1)
    for actor in going.actors:
        actor.stop()
    stopped = time.monotonic()
    gone = {}

    def removed():
        world.run(0.2)
        left = going.left()
        for group in going.members:
            if group not in left:
                gone.setdefault(group, time.monotonic() - stopped)
        return not left
    until("members that stopped are removed", removed, 4 * SESSION_S, pause=0)
    early = {group: t for group, t in gone.items() if not SESSION_S - 1.5 <= t <= 2 * SESSION_S + 2}
    check(not early, f"removed not between one and two sessions after the last heartbeat: {early}")
    check(len(staying.left()) == 3 and not world.broken, f"{staying.left()} stay; " + "; ".join(world.broken))
    check(client.offsets("kept", {"t": [0]}) == {("t", 0): 7}, "the offset is gone")
    world.close()
    say("jumps and a failover removed nobody; who stopped was removed after " + ", ".join(f"{t:.1f} s" for t in sorted(gone.values())))


# ---- B36

def b36(test):
    """Nodes lose their power between the lives of groups, in the end all: whatever was written is read back."""
    cluster = cluster_of(test, **recreate_test.SETTINGS)
    client = cluster.client(patience=30)
    client.create_topic("t", 2)
    rng = random.Random(36)
    rounds, left, deleted = 40, {}, set()
    for turn in range(rounds):
        if turn % 3 == 0:
            node = rng.randint(1, cluster.nodes)
            cluster.kill(node)
            cluster.await_end(node)
            cluster.wait()      # who loses two answers in a row has to rejoin, by the protocol: that is not looked at here
        for group in rng.sample(recreate_test.NAMES, 2):
            recreate_test.life(client, group, turn, False)
        if turn % 3 == 0:
            cluster.start_node(node)
            cluster.wait()
    for n, group in enumerate(recreate_test.NAMES):
        if n % 4 == 3:
            recreate_test.life(client, group, rounds + n, False)
            deleted.add(group)
        else:
            left[group] = (recreate_test.life(client, group, rounds + n, True), rounds + n)
    client.close()              # connections of nodes that were killed since
    recreate_test.verify(cluster, client, left, deleted, f"after {rounds} rounds")
    fault = chaos.PowerCut(cluster, World(cluster.addresses()), rng)
    fault.begin()
    for node in range(1, cluster.nodes + 1):
        check(cluster.await_end(node), f"node {node} outlives kill -9")
    fault.end()
    cluster.wait(20)
    client.close()
    recreate_test.verify(cluster, client, left, deleted, "after a power cut of all three")
    equal_replicas(cluster, "in the end")


# ---- B46

def b46(test):
    """Commits and joins until the disks of a coordinator and of another node are full; both lose their power on the full disk; space comes back; all lose it."""
    cluster = cluster_of(test, **{"offsets.commit.timeout.ms": 1500})
    rng = random.Random(46)
    load = Load(cluster, cluster.client(patience=40), rng)
    world = load.world
    check(world.run(60, lambda: all(c.acked > 5 for c in load.committers) and load.whole()), "the load does not get going")
    first, second = 1, 2
    cluster.fill_disk(first)
    until("the first disk is full", lambda: world.run(0.2) or "evt=disk_full" in cluster.log(first), 60, pause=0)
    before = {c: c.commits for c in load.committers}
    check(world.run(30, lambda: all(c.commits > before[c] + 2 for c in load.committers)), "with one full disk not every group is served")
    load.check("one disk full")
    cluster.fill_disk(second)
    until("the second disk is full", lambda: world.run(0.2) or "evt=disk_full" in cluster.log(second), 60, pause=0)
    world.run(2)
    before = {c: c.commits for c in load.committers}
    for turn in range(10):
        world.run(1)
        rng.choice(load.crowds).change(rng)
        if turn == 4:
            cluster.kill(first, second)
            check(cluster.await_end(first) and cluster.await_end(second), "a node outlives kill -9")
            cluster.start_node(first)
            cluster.start_node(second)
    invented = [c.group for c in load.committers if c.commits > before[c]]
    check(not invented, f"commits of {invented} are acknowledged, though two of three disks are full")
    load.check("two disks full")
    check(cluster.pid(first) and cluster.pid(second), "a node does not start on its full disk")
    for node in (first, second):
        cluster.empty_disk(node)
    mended = time.monotonic()
    check(world.run(40, lambda: all(c.commits > before[c] for c in load.committers)), "not every group is served when there is space again")
    say(f"space again: every group commits after {time.monotonic() - mended:.1f} s")
    fault = chaos.PowerCut(cluster, world, rng)
    fault.begin()
    world.run(0.3)
    fault.end()
    before = {c: c.commits for c in load.committers}
    served = world.run(40, lambda: all(c.commits > before[c] for c in load.committers) and load.whole())
    check(served, f"after the power cut {[c.group for c in load.committers if c.commits <= before[c]]} are not served, without owner is {load.missing()}")
    load.check("in the end")
    world.close()
    read_back(load.client, load.committers, "in the end")
    equal_replicas(cluster, "in the end")
    say("nothing acknowledged is lost, nothing was invented, nobody was thrown out, and the nodes started unattended")


CASES = {"B05": b05, "B27": b27, "B36": b36, "B46": b46}


def run(test):
    CASES[test.options.case](test)


if __name__ == "__main__":
    main(run, 25384, [("--case", {"choices": sorted(CASES), "required": True})], namespaces=("--net", "--mount"))
