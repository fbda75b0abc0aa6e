#!/usr/bin/env python3
"""A coordinator is cut off from the other nodes, while its own clients still reach it; later a node is cut off from everybody.

The one that is cut off answers nothing stale and throws nobody out; the others take its groups over; when the cable is back everything is as it
was, without anybody having to rejoin. Nobody is told of a cut cable: connections stay half open until somebody notices.
"""
import time

from faultlib.client import Conn, Lost
from faultlib.load import Beater, Committer, World
from faultlib.network import CLIENTS, PEERS, NetworkCluster
from faultlib.protocol import NONE, RETRIABLE, error_text, fetch_fields, fetched
from faultlib.story import check, check_equal, main, say

SESSION_MS = 6000
CUT_S = 8


class Stubborn:
    """Clients that go on asking the node that is cut off, on connections of their own."""

    def __init__(self, address, committers):
        self.address = address
        self.pairs = [(c, Conn(address, 3.0)) for c in committers]
        self.answers = {"right": 0, "ask again": 0, "none": 0}

    def ask(self, world):
        for i, (c, conn) in enumerate(self.pairs):
            partition, floor = c.partition, c.bounds(c.partition)[0]
            try:
                conn.send("OffsetFetch", 8, **fetch_fields(c.group, {"t": [partition]}))
                code, rows = fetched(conn.receive(0.3))
            except Lost:
                self.answers["none"] += 1
                conn.close()
                self.pairs[i] = (c, Conn(self.address, 3.0))
                world.run(0.01)
                continue
            row = rows.get(("t", partition))
            code = code or (row["ErrorCode"] if row else NONE)
            if code == NONE:
                check(row["CommittedOffset"] >= floor, f"the node that is cut off answers {row['CommittedOffset']} for {c.group}; {floor} was "
                      "acknowledged before the question")
                self.answers["right"] += 1
            else:
                check(code in RETRIABLE, f"the node that is cut off answers {error_text(code)}")
                self.answers["ask again"] += 1
            world.run(0.01)

    def close(self):
        for _, conn in self.pairs:
            conn.close()


def let_go(world, address):
    """Our clients hang up on a node that does not answer, as request timeouts make them do. What they sent may arrive all the same, when the cable is back: the
    kernel goes on sending it."""
    for actor in world.actors:
        if actor.address == address:
            actor.hang_up(address)


def cut_off(cluster, world, committers, node, net, text):
    address = cluster.address(node)
    led = [c for c in committers if c.address == address]
    check(led, f"node {node} coordinates nothing")
    stubborn = Stubborn(address, led) if net == PEERS else None
    before = {c: c.commits for c in committers}
    moment = time.monotonic()
    cluster.cut(node, net)
    world.run(0.5)
    let_go(world, address)
    if stubborn is not None:
        # Those who are told so go elsewhere by themselves; the others hang up again and again.
        while time.monotonic() < moment + 3:
            stubborn.ask(world)
            world.run(0.05)
    taken = world.run(15, lambda: all(c.commits > before[c] + 2 for c in led))
    check(taken, f"{text}: groups are not served by others: {[c.group for c in led if c.commits <= before[c] + 2]}")
    while time.monotonic() < moment + CUT_S:
        if stubborn is not None:
            stubborn.ask(world)
        world.run(0.1)
    if stubborn is not None:
        stubborn.close()
    cluster.mend(node, net)
    check(not world.broken, f"{text}: " + "; ".join(world.broken))
    say(f"{text}: {len(led)} groups of node {node} went on elsewhere" + (f"; it answered {stubborn.answers}, nothing stale" if stubborn else ""))


def both(cluster, world, committers, node):
    """Cut off from peers and clients alike: whoever waits for it waits for nothing, and hangs up."""
    cluster.cut(node, PEERS)
    cut_off(cluster, world, committers, node, CLIENTS, "cut off from everybody")
    cluster.mend(node, PEERS)


def settled(cluster, client, world, beats, when):
    check(world.run(60, cluster.is_spread), f"{when}: leadership is not spread again within 60 s")
    world.run(1)
    check(not world.broken, f"{when}: " + "; ".join(world.broken))
    for b, member, generation in beats:
        check_equal([m["MemberId"] for m in client.describe(b.group)["Members"]], [member], f"{when}: members of {b.group}")
        check_equal(client.heartbeat(b.group, generation, member), NONE, f"{when}: heartbeat of {b.group}")
    hashes = {}
    for s in cluster.status()["shards"]:
        for r in s["replicas"]:
            hashes.setdefault((s["shard"], r["appliedIndex"]), set()).add(r["stateHash"])
    torn = [where for where, values in hashes.items() if len(values) > 1]
    check(not torn, f"{when}: replicas differ at {torn}")
    say(f"{when}: every member is still in its generation")


def run(test):
    cluster = NetworkCluster(test.folder / "cluster", test.port, test.bin, settings={"group.min.session.timeout.ms": 1000})
    test.clusters.append(cluster)
    cluster.start()
    client = cluster.client()
    client.create_topic("t", 100)
    world = World(cluster.addresses())
    committers = [Committer(world, f"g{n}", "t", 0.01) for n in range(12)]
    beats = []
    for n in range(6):
        member, generation = client.alone(f"m{n}", session=SESSION_MS)
        beats.append((Beater(world, f"m{n}", generation, member, 0.2), member, generation))
    for actor in world.actors:
        actor.begin()
    check(world.run(10, lambda: all(c.acked > 5 for c in committers)), "the committers do not get going")
    cut_off(cluster, world, committers, 1, PEERS, f"cut off from its peers for {CUT_S} s, longer than a session")
    settled(cluster, client, world, beats, "mended")
    both(cluster, world, committers, 2)
    settled(cluster, client, world, beats, "mended again")
    world.close()


if __name__ == "__main__":
    main(run, 25336, namespaces=("--net", "--mount"))
