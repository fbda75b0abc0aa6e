#!/usr/bin/env python3
"""A coordinator that has just taken over never says "no offset" of what was committed.

10,000 partitions over 200 groups; shards change their leader again and again while a client asks every node for random known partitions, without
pausing. Each answer is the committed offset or an error that says: ask again. The same once more with kill -9 instead of transfers.
"""
import random
import struct
import time

from faultlib import protocol
from faultlib.load import Channel, World
from faultlib.protocol import NONE, RETRIABLE, error_text
from faultlib.story import check, main, say

GROUPS = 200
PARTITIONS = 50
TRANSFERS = 50


def offset_of(group, partition):
    return group * 1000 + partition + 1


class Asker:
    """One connection to one node with a few fetches in flight."""

    AHEAD = 4

    def __init__(self, world, address, tally, rng):
        self.world, self.address, self.tally, self.rng = world, address, tally, rng
        self.frames = {}
        self.correlation = 0
        self.stopped = False
        self.connect()

    def connect(self):
        if not self.stopped:
            self.channel = Channel(self.world, self.address, self.lost)
            for _ in range(self.AHEAD):
                self.ask()

    def lost(self, _):
        self.world.at(time.monotonic() + 0.01, self.connect)

    def stop(self):
        self.stopped = True
        self.channel.close()

    def ask(self):
        group, partition = self.rng.randrange(GROUPS), self.rng.randrange(PARTITIONS)
        self.correlation += 1
        key = group, partition
        if key not in self.frames:
            self.frames[key] = protocol.request_frame("OffsetFetch", 8, 0, protocol.fetch_fields(f"g{group}", {"t": [partition]}))
        frame = self.frames[key]
        self.channel.send(frame[:8] + struct.pack(">i", self.correlation) + frame[12:], lambda answer: self.take(key, answer))

    def take(self, key, answer):
        code, rows = protocol.fetched(protocol.answer_of("OffsetFetch", 8, answer)[1])
        row = rows.get(("t", key[1]))
        codes = [code] + ([row["ErrorCode"]] if row else [])
        bad = [c for c in codes if c != NONE]
        if not bad and row["CommittedOffset"] == offset_of(*key):
            self.tally["right"] += 1
        elif bad and all(c in RETRIABLE for c in bad):
            self.tally["ask again"] += 1
        else:
            said = error_text(bad[0]) if bad else f"offset {row['CommittedOffset'] if row else 'missing'}"
            self.world.breaks(f"g{key[0]} partition {key[1]} on {self.address[1]}: {said}, committed was {offset_of(*key)}")
        self.ask()


def fill(cluster):
    client = cluster.client()
    client.create_topic("t", PARTITIONS)
    for group in range(GROUPS):
        client.commit(f"g{group}", {"t": {p: offset_of(group, p) for p in range(PARTITIONS)}})


def transfers(cluster, world, rng):
    moved = 0
    while moved < TRANSFERS:
        leaders = cluster.leaders()
        shard = rng.randrange(len(leaders))
        to = rng.choice([n for n in range(1, cluster.nodes + 1) if n != leaders[shard]])
        moved += transfer_meanwhile(cluster, world, shard, to)
        check(not world.broken, "; ".join(world.broken))
    return moved


def transfer_meanwhile(cluster, world, shard, to):
    """Sends the transfer itself, so that the questions go on in between; whether the shard got there."""
    leader = cluster.leaders()[shard]
    if leader in (0, to):
        return 0
    done = []

    def answered(frame):
        done.append(protocol.answer_of("TransferShard", 0, frame)[1]["ErrorCode"])
    channel = Channel(world, cluster.address(leader), lambda _: done.append(-1))
    channel.send(protocol.request_frame("TransferShard", 0, 1, {"Shard": shard, "NodeId": to}), answered)
    world.run(5, lambda: done)
    channel.close()
    check(done, f"no answer to the transfer of shard {shard} within 5 s")
    world.run(0.02)
    return int(done[0] == NONE)


def kills(cluster, world):
    for node in range(1, cluster.nodes + 1):
        cluster.kill(node)
        world.run(1.0)
        cluster.restart(node)
        world.run(1.0)
        cluster.wait()
        check(not world.broken, "; ".join(world.broken))


def run(test):
    cluster = test.cluster().start()
    rng = random.Random(test.options.seed)
    begun = time.monotonic()
    fill(cluster)
    say(f"{GROUPS * PARTITIONS} partitions over {GROUPS} groups committed in {time.monotonic() - begun:.1f} s; seed {test.options.seed}")
    world = World(cluster.addresses())
    tally = {"right": 0, "ask again": 0}
    askers = [Asker(world, address, tally, rng) for address in cluster.addresses()]
    world.actors += askers
    world.run(0.5)
    moved = transfers(cluster, world, rng)
    say(f"{moved} leader changes: {tally['right']} right answers, {tally['ask again']} times asked to come again, no other answer")
    check(tally["right"] > 1000, "too few answers to prove anything")
    kills(cluster, world)
    world.close()
    say(f"each node killed once: {tally['right']} right answers, {tally['ask again']} times asked to come again, no other answer")


if __name__ == "__main__":
    main(run, 24892, [("--seed", {"type": int, "default": 5})])
