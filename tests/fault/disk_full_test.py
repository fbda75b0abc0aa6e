#!/usr/bin/env python3
"""The disk fills up under load, on one node and then on two; space comes back; all nodes are killed in between (dqlite 309, etcd 945 and 2819).

With one full disk the others take over and everything goes on. With two nothing can be acknowledged: changes get errors that say ask again,
heartbeats that change nothing are answered. When there is space again the nodes recover by themselves, and everything acknowledged is there.
"""
import subprocess
import time

from faultlib.load import Beater, Committer, World
from faultlib.protocol import RETRIABLE, REQUEST_TIMED_OUT, error_text
from faultlib.story import check, check_equal, main, say, until

MEGABYTES = {1: 14, 2: 40, 3: 200}
# Nothing is trimmed, so the log is what fills the disk.
SETTINGS = {"muster.entry.max.bytes": 65536, "muster.log.segment.bytes": 1048576, "muster.log.reserve.bytes": 1048576,
            "offsets.commit.timeout.ms": 1500}
SESSION_MS = 10000


def mount(path, megabytes, remount=False):
    path.mkdir(parents=True, exist_ok=True)
    options = f"size={megabytes}m" + (",remount" if remount else "")
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    check(done.returncode == 0, f"a file system of {megabytes} MB cannot be mounted: {done.stdout.strip()}")


def fill_until_full(cluster, world, node, seconds=60):
    check(world.run(seconds, lambda: told(cluster, node, "evt=disk_full")), f"node {node}'s disk is not full after {seconds} s")


_looked = {}


def told(cluster, node, what):
    """Asked ten times a second: reading a log takes time from the load."""
    now = time.monotonic()
    if now < _looked.get((node, what), 0.0):
        return False
    _looked[(node, what)] = now + 0.1
    return what in cluster.log(node)


def verify(client, committers, when):
    for c in committers:
        got = client.offsets(c.group, {"t": [0]})[("t", 0)]
        check(c.acked <= got <= c.sent, f"{when}: {c.group} has {got}; {c.acked} was acknowledged, {c.sent} was sent")


def advance(world, committers, seconds, what):
    before = {c: c.commits for c in committers}
    check(world.run(seconds, lambda: all(c.commits > before[c] + 1 for c in committers)),
          f"{what}: no commits of {[c.group for c in committers if c.commits <= before[c] + 1]} within {seconds} s")
    check(not world.broken, f"{what}: " + "; ".join(world.broken))


def two_full(world, committers, beaters):
    """Nobody can acknowledge. Returns what changes were answered with."""
    for c in committers:
        c.refusals.clear()
    world.run(4)
    before, beats = {c: c.commits for c in committers}, {b: b.beats for b in beaters}
    world.run(4)
    going = [c.group for c in committers if c.commits > before[c]]
    check(not world.broken, "; ".join(world.broken))
    check(not going, f"two of three disks are full, yet commits of {going} are acknowledged")
    refusals = set().union(*(c.refusals for c in committers))
    silent = [c.group for c in committers if not c.refusals]
    check(not silent, f"commits of {silent} are not answered at all")
    check(refusals <= set(RETRIABLE) | {REQUEST_TIMED_OUT}, f"changes are answered {[error_text(c) for c in refusals]}")
    deaf = [b.group for b in beaters if b.beats == beats[b]]
    check(not deaf, f"heartbeats of {deaf} are not answered")
    say(f"two disks full: no commit acknowledged, answers are {sorted(error_text(c) for c in refusals)}; all heartbeats answered")


def space_again(cluster, world, committers):
    for node in (1, 2):
        mount(cluster.data(node), 200, remount=True)
    begun = time.monotonic()
    advance(world, committers, 30, "space came back")
    say(f"space came back: every group commits again after {time.monotonic() - begun:.1f} s")
    until("both nodes say that they recovered", lambda: all("evt=disk_recovered" in cluster.log(n) for n in (1, 2)), 20)


def run(test):
    cluster = test.cluster(settings=SETTINGS)
    subprocess.run(["rm", "-rf", str(cluster.folder)], check=True)
    for node, megabytes in MEGABYTES.items():
        mount(cluster.data(node), megabytes)
    cluster.start(fresh=False)
    client = cluster.client()
    client.create_topic("t", 1)
    world = World(cluster.addresses())
    committers = [Committer(world, f"g{n}", "t", 0.004, metadata="f" * 3500) for n in range(16)]
    beaters = []
    for n in range(8):
        member, generation = client.alone(f"m{n}", session=SESSION_MS)
        beaters.append(Beater(world, f"m{n}", generation, member, 0.3))
    for actor in world.actors:
        actor.begin()
    fill_until_full(cluster, world, 1)
    say(f"node 1's disk of {MEGABYTES[1]} MB is full after {sum(c.commits for c in committers)} commits")
    advance(world, committers, 15, "one disk is full")
    until("node 1 leads nothing", lambda: 1 not in cluster.leaders().values() and 0 not in cluster.leaders().values(), 15)
    world.run(1)
    verify(client, committers, "one disk full")
    say("the other two serve every group, node 1 leads none")
    for c in committers:
        c.pace = 0.0
    fill_until_full(cluster, world, 2)
    say(f"node 2's disk of {MEGABYTES[2]} MB is full after {sum(c.commits for c in committers)} commits")
    two_full(world, committers, beaters)
    verify_killed_while_full(cluster, world)
    space_again(cluster, world, committers)
    cluster.kill(1, 2, 3)
    world.run(0.1)
    cluster.run("start")
    cluster.wait()
    verify(client, committers, "all killed and started")
    advance(world, committers, 15, "all killed and started")
    for n, b in enumerate(beaters):
        rows = client.describe(f"m{n}")["Members"]
        check_equal(len(rows), 1, f"members of {b.group}")
    check(not world.broken, "; ".join(world.broken))
    say("all killed and started: everything acknowledged is there, nobody was thrown out")
    world.close()


def verify_killed_while_full(cluster, world):
    """A full node that is killed starts again although its disk is still full."""
    cluster.kill(1)
    cluster.await_end(1)
    cluster.restart(1)
    world.run(2)
    check(cluster.pid(1) is not None, f"node 1 does not start on a full disk:\n{cluster.log(1)[-1500:]}")
    say("node 1 killed on its full disk: it starts again")


if __name__ == "__main__":
    main(run, 25332, namespaces=("--mount",))
