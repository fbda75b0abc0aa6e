#!/usr/bin/env python3
"""Garbage on the client port and on the peer port closes its own connection, takes no memory and disturbs nobody.

10,000 connections that send two bytes and stop are part of it: the idle limit ends them.
"""
import os
import resource
import socket
import struct
import time

from faultlib.client import Conn, Lost
from faultlib.load import Committer, World
from faultlib.story import check, main, say, until

HALVES = 10000
GROWTH_BYTES = 24 << 20         # what allocators keep and sanitizers add; a frame that was believed takes 100 MB and more
SETTINGS = {"connections.max.idle.ms": 8000}


def header(key, version, client=b"x"):
    return struct.pack(">hhih", key, version, 7, len(client)) + client


def framed(body):
    return struct.pack(">i", len(body)) + body


def pieces():
    heartbeat = framed(header(12, 0) + b"\0\1g\0\0\0\1\0\1m")
    return {
        "GET / HTTP/1.1": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "a TLS client hello": bytes.fromhex("16030100c8010000c40303") + os.urandom(190),
        "a frame of 0 bytes": struct.pack(">i", 0),
        "a frame of -1 bytes": struct.pack(">i", -1),
        "a frame of 200 MiB, of which 100 bytes come": struct.pack(">i", 200 << 20) + bytes(100),
        "API key 999": framed(header(999, 0) + bytes(20)),
        "Heartbeat v99": framed(header(12, 99) + bytes(20)),
        "a truncated Heartbeat v0": framed(header(12, 0) + b"\0\1g\0\0"),
        "a negative string length": framed(header(12, 0) + struct.pack(">h", -5) + bytes(12)),
        "OffsetCommit v2 with 2,147,483,647 topics": framed(header(8, 2) + b"\0\1g" + struct.pack(">i", -1) + b"\0\0" + struct.pack(">q", -1)
                                                            + struct.pack(">i", 2147483647)),
        "a string longer than its frame": framed(header(12, 0) + struct.pack(">h", 32000) + b"g"),
        "a client id longer than its frame": framed(struct.pack(">hhih", 12, 0, 7, 3000) + b"x"),
        "a good heartbeat, then noise": heartbeat + b"\xff" * 64,
        "random bytes": b"\x7f" + os.urandom(300),
    }


def throw(address, what, data, seconds=3):
    conn = Conn(address, timeout=seconds)
    try:
        conn.raw(data)
        check(conn.closed_within(seconds), f"{what}: the connection is not closed within {seconds} s")
    except Lost:
        pass                    # closed while we were still sending
    conn.close()


def halves(address, count):
    made = []
    for _ in range(count):
        conn = socket.socket()
        conn.setblocking(False)
        conn.connect_ex(address)
        made.append(conn)
        if len(made) % 200 == 0:
            time.sleep(0.02)
    time.sleep(0.3)
    sent = 0
    for conn in made:
        try:
            sent += conn.send(b"\0\0") == 2
        except OSError:
            pass
    return made, sent


def ended(conns):
    """How many the other side has ended."""
    count = 0
    for conn in conns:
        try:
            count += conn.recv(1) == b""
        except BlockingIOError:
            pass
        except OSError:
            count += 1
    return count


def run(test):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count = min(HALVES, hard - 2000)
    check(count >= 1000, f"only {hard} open files are allowed (ulimit -n): too few for this test")
    cluster = test.cluster(settings=SETTINGS).start()
    client = cluster.client()
    client.create_topic("t", 1)
    world = World(cluster.addresses())
    committers = [Committer(world, f"g{n}", "t", 0.01) for n in range(6)]
    for actor in world.actors:
        actor.begin()
    check(world.run(10, lambda: all(c.acked > 5 for c in committers)), "the committers do not get going")
    victim = cluster.address(1)
    for what, data in pieces().items():
        throw(victim, what, data)
    before = cluster.memory(1)
    for _ in range(20):
        for what, data in pieces().items():
            throw(victim, what, data)
    check(cluster.pid(1) is not None, "the node ended")
    grown = cluster.memory(1) - before
    say(f"{len(pieces())} kinds of garbage, 20 times: closed each time, memory grew by {grown / 1e6:.1f} MB")
    check(grown < GROWTH_BYTES, f"memory grew by {grown} bytes")

    peer = (victim[0], victim[1] + 1)
    for what, data in pieces().items():
        throw(peer, f"peer port: {what}", data, 12)
    say("the same on the peer port")
    watch(world, committers)

    before = cluster.memory(1)
    made, sent = halves(victim, count)
    grown = cluster.memory(1) - before
    say(f"{count} connections, {sent} of them with half a length word: memory grew by {grown / 1e6:.1f} MB")
    check(sent > count * 0.95, f"only {sent} of {count} connections were made")
    limit = count * 4096 * (4 if test.sanitized() else 1)
    check(grown < limit, f"memory grew by {grown} bytes, {grown // count} a connection")
    watch(world, committers)
    gone = [0]

    def all_gone():
        world.run(0.2)
        gone[0] = ended(made)
        return gone[0] == len(made)
    until("all half connections are ended by the idle limit", all_gone, 30)
    say(f"the idle limit ended {gone[0]} of them")
    for conn in made:
        conn.close()
    watch(world, committers)
    world.close()
    check(not ended_nodes(cluster), "a node ended")


def watch(world, committers):
    """Everybody else goes on."""
    before = {c: c.commits for c in committers}
    world.run(5, lambda: all(c.commits > before[c] + 2 for c in committers))
    quiet = [c.group for c in committers if c.commits <= before[c] + 2]
    check(not quiet, f"no three commits of {quiet} in 5 s")
    check(not world.broken, "; ".join(world.broken))


def ended_nodes(cluster):
    return [n for n in range(1, cluster.nodes + 1) if cluster.pid(n) is None]


if __name__ == "__main__":
    main(run, 25304)
