#!/usr/bin/env python3
"""A node that is frozen and thawed (SIGSTOP, SIGCONT) answers nothing stale and throws nobody out; a node that is told to end takes nobody's session.

Frozen: found by the election timeout, the others go on. Thawed: what it is asked first is answered by what is true now, or with an error that
says ask again. It expires none of its former members although their sessions ran out on its clock.
"""
import signal
import time

from faultlib.client import Conn, Lost
from faultlib.load import Beater, Committer, World
from faultlib.protocol import NONE, RETRIABLE, error_text, fetch_fields, fetched
from faultlib.story import check, check_equal, main, say

SESSION_MS = 6000


def thaw_asking(cluster, node, committers, questions):
    """Requests that lie in the frozen node's sockets, and what it says to them when it thaws."""
    conns = []
    for c in committers:
        conn = questions[c]
        conn.send("OffsetFetch", 8, **fetch_fields(c.group, {c.topic: [c.partition]}))
        conns.append((c, conn, c.bounds(c.partition)[0]))
    cluster.resume(node)
    stale = asked = right = 0
    for c, conn, acked in conns:
        try:
            code, rows = fetched(conn.receive(5))
        except Lost:
            continue
        asked += 1
        row = rows.get((c.topic, c.partition))
        code = code or (row["ErrorCode"] if row else NONE)
        if code == NONE:
            right += 1
            stale += row["CommittedOffset"] < acked
        else:
            check(code in RETRIABLE, f"the thawed node answers {error_text(code)}")
    check(asked > 0, "the thawed node answered nothing at all")
    check_equal(stale, 0, "stale answers of the thawed node")
    return asked, right


def all_found(world):
    """Every client has heard who its coordinator is: shards may just have moved."""
    check(world.run(10, lambda: all(actor.address for actor in world.actors)), "a group has no coordinator")


def freeze(cluster, world, committers, beaters, seconds, turn):
    node = turn % cluster.nodes + 1
    all_found(world)
    led = [c for c in committers if c.address == cluster.address(node)]
    check(led, f"node {node} coordinates nothing")
    questions = {c: Conn(cluster.address(node), 5) for c in led}
    before = {c: c.commits for c in led}
    frozen = time.monotonic()
    cluster.pause(node)
    # Clients of the frozen node notice nothing by themselves; ours hang up after a while, as request timeouts do.
    world.run(0.8)
    for actor in led + [b for b in beaters if b.address == cluster.address(node)]:
        actor.hang_up(cluster.address(node))
    served = world.run(15, lambda: all(c.commits > before[c] + 2 for c in led))
    check(served, "the groups of the frozen node are not served by others within 15 s")
    took = time.monotonic() - frozen
    world.run(max(0.0, frozen + seconds - time.monotonic()))
    asked, right = thaw_asking(cluster, node, led, questions)
    for conn in questions.values():
        conn.close()
    world.run(1.0)
    check(not world.broken, "; ".join(world.broken))
    say(f"node {node} frozen for {seconds} s: its groups were served again {took:.1f} s after (0.8 s of it our own patience); thawed it answered "
        f"{asked} old questions, {right} of them with the truth of now, none stale")


def deaf_reads(cluster, client, beats):
    """Nobody was thrown out by anybody: all members are as they were."""
    for b, member, generation in beats:
        row = client.describe(b.group)
        check_equal([m["MemberId"] for m in row["Members"]], [member], f"members of {b.group}")
        check_equal(client.heartbeat(b.group, generation, member), NONE, f"heartbeat of {b.group}")


def frozen_beyond_sessions(cluster, client, world, beats):
    """All nodes frozen at once for longer than the sessions: nobody could send a heartbeat, nobody may be expired for it."""
    for node in range(1, 4):
        cluster.pause(node)
    time.sleep(SESSION_MS / 1000 + 1)
    for node in range(1, 4):
        cluster.resume(node)
    world.run(1.5)
    check(not world.broken, "; ".join(world.broken))
    deaf_reads(cluster, client, beats)
    say(f"all nodes frozen for {SESSION_MS / 1000 + 1:.0f} s, sessions of {SESSION_MS / 1000:.0f} s: every member is still there")


def told_to_end(cluster, client, world, committers, beats):
    """SIGTERM hands leadership over first: no group waits, nobody is thrown out, what is left of a session goes along."""
    client.close()
    silent, generation = client.alone("silent", session=SESSION_MS)
    begun = time.monotonic()
    time.sleep(1.5)
    node = cluster.coordinator(client, "silent")
    all_found(world)
    others = [c for c in committers if c.address != cluster.address(node)]
    led = [c for c in committers if c.address == cluster.address(node)]
    check(led and others, f"node {node} coordinates {len(led)} of the groups, the others {len(others)}")
    for c in committers:
        c.acks, c.keep_acks = [], True
    world.run(0.2)
    moment = time.monotonic()
    cluster.signal(node, signal.SIGTERM)
    check(world.run(10, lambda: cluster.pid(node) is None), f"node {node} does not end within 10 s of SIGTERM")
    ended = time.monotonic() - moment
    world.run(1.0)
    for c in committers:
        c.keep_acks = False
    gap = max(longest(c, moment) for c in led)
    calm = max(longest(c, moment) for c in others)
    check(not world.broken, "; ".join(world.broken))
    check("exit=0" in cluster.log(node)[-3000:], f"node {node}: not exit status 0")
    say(f"node {node} told to end: gone after {ended * 1000:.0f} ms; longest gap of its groups {gap * 1000:.0f} ms, of others {calm * 1000:.0f} ms")
    check(gap < 1.5, f"a group waited {gap:.2f} s although leadership was handed over")
    left = until_gone(client, "silent", generation, silent)
    lived = left - begun
    check(SESSION_MS / 1000 - 0.2 <= lived <= SESSION_MS / 1000 + 1.2,
          f"the silent member lived {lived:.1f} s: a handover keeps what is left of its {SESSION_MS / 1000:.0f} s")
    say(f"a silent member was removed {lived:.1f} s after its last word, across the handover")
    cluster.restart(node)
    cluster.wait()


def two_told_to_end(cluster):
    """With the third node gone, two that end hand their shards to each other; that has to come to an end."""
    cluster.kill(3)
    time.sleep(1)
    for node in (1, 2):
        cluster.signal(node, signal.SIGTERM)
    for node in (1, 2):
        check(cluster.await_end(node), f"node {node} does not end within 10 s of SIGTERM")
        log = cluster.log(node).rsplit("evt=told_to_end", 1)[1]
        check("exit=0" in log, f"node {node}: not exit status 0")
        handed = log.count("role=handing_over")
        check(handed <= 3 * 8, f"node {node} handed 8 shards over {handed} times")
        say(f"nodes 1 and 2 told to end at once: node {node} handed shards over {handed} times")


def longest(committer, moment):
    times = [t for t, _ in committer.acks if t >= moment - 0.3]
    return max((b - a for a, b in zip(times, times[1:]) if b >= moment), default=9.0)


def until_gone(client, group, generation, member):
    """When the member was gone, seen without a heartbeat."""
    del generation
    deadline = time.monotonic() + 3 * SESSION_MS / 1000
    while time.monotonic() < deadline:
        if member not in [m["MemberId"] for m in client.describe(group)["Members"]]:
            return time.monotonic()
        time.sleep(0.05)
    check(False, f"{member} is not removed")
    return 0.0


def run(test):
    cluster = test.cluster().start()
    client = cluster.client()
    client.create_topic("t", 100)
    world = World(cluster.addresses())
    committers = [Committer(world, f"g{n}", "t", 0.01) for n in range(12)]
    beats = []
    for n in range(6):
        member, generation = client.alone(f"m{n}", session=SESSION_MS)
        beats.append((Beater(world, f"m{n}", generation, member, 0.2), member, generation))
    beaters = [b for b, _, _ in beats]
    for actor in world.actors:
        actor.begin()
    check(world.run(10, lambda: all(c.acked > 5 for c in committers)), "the committers do not get going")
    for turn in range(3):
        freeze(cluster, world, committers, beaters, 2.5 if turn else SESSION_MS / 1000 + 1, turn)
        deaf_reads(cluster, client, beats)
        cluster.spread()
        world.run(0.3)
    frozen_beyond_sessions(cluster, client, world, beats)
    cluster.wait()
    cluster.spread()
    world.run(0.5)
    told_to_end(cluster, client, world, committers, beats)
    deaf_reads(cluster, client, beats)
    world.close()
    check(not world.broken, "; ".join(world.broken))
    two_told_to_end(cluster)


if __name__ == "__main__":
    main(run, 25320)
