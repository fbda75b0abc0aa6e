#!/usr/bin/env python3
"""Everything acknowledged is on disk: all nodes are killed at once, with data folders that forget what was not synced.

Runs musterd_lossy (storage/port_lossy.c): a kill takes from it every byte that no fsync has carried to the file, as a power failure would. With
--expect-loss it runs a build whose fdatasync does nothing, and passes only if the loss is found: so the proof proves something.
"""
import time

from faultlib.load import Beater, Committer, World
from faultlib.story import Failed, check, main, say

GROUPS = 16
# Small files, so that new segments, snapshots and trimming are part of it.
SETTINGS = {"muster.entry.max.bytes": 65536, "muster.log.segment.bytes": 1048576, "muster.log.retain.bytes": 2097152,
            "muster.snapshot.interval.bytes": 131072, "muster.log.reserve.bytes": 131072}


class Loss(Failed):
    """Something acknowledged is gone."""


def round_of(cluster, world, committers, beats, turn):
    # Kills at different moments of the load, the first ones early.
    world.run(0.2 + 0.37 * (turn % 4))
    nodes = range(1, cluster.nodes + 1)
    cluster.kill(*nodes)
    world.run(0.05)
    acked = {c: c.acked for c in committers}
    for node in nodes:
        check(cluster.await_end(node), f"node {node} outlives kill -9")
    cluster.run("start")
    begun = time.monotonic()
    cluster.wait(20)
    waited = time.monotonic() - begun
    client = cluster.client()
    for c in committers:
        got = client.offsets(c.group, {c.topic: [c.partition]}).get((c.topic, c.partition), -1)
        if got < acked[c]:
            raise Loss(f"{c.group}: offset {got} after the restart, {acked[c]} was acknowledged")
        check(got <= c.sent, f"{c.group}: offset {got}, but no more than {c.sent} was ever sent")
    for b in beats:
        b.beats = 0
    if not world.run(10, lambda: all(b.beats for b in beats) or world.broken):
        raise Failed("heartbeats are not answered after the restart")
    if world.broken:
        raise Loss("; ".join(world.broken))
    client.close()
    say(f"round {turn + 1}: all killed at {sum(acked.values())} acknowledged commits, served again {waited * 1000:.0f} ms after the start; "
        "all there")


def prove(test, cluster):
    cluster.start()
    client = cluster.client()
    client.create_topic("t", 1)
    world = World(cluster.addresses())
    committers = [Committer(world, f"g{n}", "t", 0.001) for n in range(GROUPS)]
    beats = []
    for n in range(4):
        member, generation = client.alone(f"m{n}", session=60000, rebalance=60000)
        beats.append(Beater(world, f"m{n}", generation, member))
    for actor in world.actors:
        actor.begin()
    check(world.run(20, lambda: all(c.acked > 5 for c in committers)), "the committers do not get going")
    for turn in range(test.options.rounds):
        round_of(cluster, world, committers, beats, turn)
    world.close()
    taken = [s["snapshotIndex"] for s in cluster.status()["shards"] for s in s["replicas"]]
    say(f"{sum(1 for i in taken if i)} of {len(taken)} replicas have a snapshot")
    check(any(taken), "no replica took a snapshot: the load was too small for this test")


def run(test):
    options = test.options
    cluster = test.cluster(bin_folder=test.bin / ("lossy-unsynced" if options.expect_loss else "lossy"), settings=SETTINGS)
    try:
        prove(test, cluster)
    except Loss as loss:
        if not options.expect_loss:
            raise
        say(f"found, as it must be: {loss}")
        return
    check(not options.expect_loss, "a build that syncs nothing was not found out")


if __name__ == "__main__":
    main(run, 24892, [("--rounds", {"type": int, "default": 8}), ("--expect-loss", {"action": "store_true"})])
