#!/usr/bin/env python3
"""Two nodes do not see each other, a third sees both, whoever leads what: every group is served again soon.

Shard 0 is led by one of the two, and so what topics there are is known there; all other shards are given to the other one, again and again, which has no way to ask.
Then they are left to themselves for longer than it takes until leadership goes home. For each of the three pairs.
"""
import time

from faultlib import protocol
from faultlib.load import Channel, World, patient
from faultlib.network import SwitchedCluster
from faultlib.story import check, main, say

GIVEN = 3                    # times, EVERY_S apart
EVERY_S = 1.2
ALONE_S = 9.0                # leadership goes home after five seconds
SERVED_S = 1.0


def give(cluster, world, shards, node):
    """Tells whoever leads them; from within the load, which goes on."""
    for address in cluster.addresses():
        channel = Channel(world, address, lambda _: None)
        for shard in shards:
            channel.send(protocol.request_frame("TransferShard", 0, shard, {"Shard": shard, "NodeId": node}), lambda _: None)
        world.at(world.now() + 1.0, channel.close)


def watch(committers):
    for c in committers:
        c.acks, c.keep_acks = [], True
    return time.monotonic()


def longest(committers, begun):
    """(seconds, group) of the longest time without an acknowledgement, and the sum over all groups of such times above 0.1 s."""
    until = time.monotonic()
    gaps = []
    for c in committers:
        times = [begun, *(t for t, _ in c.acks if t >= begun), until]
        gaps += [(b - a, c.group) for a, b in zip(times, times[1:])]
        c.keep_acks = False
    return max(gaps), sum(seconds for seconds, _ in gaps if seconds > 0.1)


def bridge(cluster, world, committers, pair, middle):
    one, other = pair
    cluster.place({shard: one if shard == 0 else middle for shard in range(8)})
    world.run(1.0)
    begun = watch(committers)
    cluster.between(one, other, cluster.CUT)
    for _ in range(GIVEN):
        world.run(0.4)
        give(cluster, world, range(1, 8), other)
        world.run(EVERY_S - 0.4)
    (given, group), lost = longest(committers, begun)
    say(f"nodes {one} and {other} do not see each other, node {one} leads shard 0: node {other} is given all others {GIVEN} times: not served for at most "
        f"{1000 * given:.0f} ms ({group}); all groups together {lost:.1f} s")
    begun = watch(committers)
    world.run(ALONE_S)
    (alone, group), lost = longest(committers, begun)
    say(f"left alone for {ALONE_S:.0f} s: at most {1000 * alone:.0f} ms ({group}); all groups together {lost:.1f} s")
    cluster.between(one, other, cluster.WHOLE)
    check(not world.broken, "; ".join(world.broken))
    world.run(2.0)
    return max(given, alone)


def run(test):
    cluster = SwitchedCluster(test.folder / "cluster", test.port, test.bin)
    test.clusters.append(cluster)
    cluster.start()
    cluster.client().create_topic("t", 10000)
    world = World(cluster.addresses())
    committers = patient(world, "t", 24)
    worst = max(bridge(cluster, world, committers, pair, 6 - sum(pair)) for pair in ((1, 2), (2, 3), (3, 1)))
    world.close()
    slack = 3 if test.sanitized() else 1
    check(worst < SERVED_S * slack, f"a group was not served for {worst:.1f} s")


if __name__ == "__main__":
    main(run, 25388, namespaces=("--net", "--mount"))
