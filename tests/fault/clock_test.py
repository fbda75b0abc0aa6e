#!/usr/bin/env python3
"""Wall clocks that jump and timers at a failover (etcd 12291, 9395, 13294): sessions are measured on nobody's wall clock.

Members heartbeat while the clocks of all nodes jump an hour forward and two hours back; then the coordinator is killed and its successor's clock
is an hour ahead. No member that is alive is removed; each has a whole session after the failover; one that falls silent is removed in time.
"""
import time

from faultlib.clock import Clocks
from faultlib.load import Beater, World
from faultlib.protocol import NONE
from faultlib.story import check, check_equal, main, say

SESSION_S = 5.0
HOUR = 3600


def join(client, group):
    return client.alone(group, session=int(SESSION_S * 1000), rebalance=10000)


def members(client, group):
    return [m["MemberId"] for m in client.describe(group)["Members"]]


def go_on(world, client, seconds, beats, when):
    before = {b: b.beats for b, _, _ in beats}
    world.run(seconds)
    check(not world.broken, f"{when}: " + "; ".join(world.broken))
    check(all(b.beats > before[b] for b in before), f"{when}: heartbeats are not answered")
    for b, member, _ in beats:
        check_equal(members(client, b.group), [member], f"{when}: members of {b.group}")
    say(f"{when}: everybody is still there")


def lifetime(world, client, group, member, begun, limit):
    """Seconds after which the member was gone."""
    while member in members(client, group):
        check(time.monotonic() - begun < limit, f"{member} of {group} is still there after {limit:.0f} s")
        world.run(0.05)
    return time.monotonic() - begun


def failover(cluster, client, clocks, world, beats):
    """The successor's clock is an hour ahead; everybody is silent for more than half a session around the kill."""
    group = beats[0][0].group
    node = cluster.coordinator(client, group)
    for other in range(1, 4):
        clocks.step(other, 0 if other == node else HOUR)
    # One more member, whose last word lies half a session back when the coordinator dies.
    silent_member, _ = join(client, "silent")
    while cluster.coordinator(client, "silent") != node:
        for shard, leader in cluster.leaders().items():
            if leader not in (0, node):
                cluster.transfer(shard, node)
    silent_member, _ = join_again(client, "silent", silent_member)
    for b in [b for b, _, _ in beats]:
        b.stop()
    world.run(SESSION_S / 2)
    killed = cluster.kill(node)
    world.run(0.2 * SESSION_S)
    restarted = [Beater(world, b.group, generation, member, 0.3) for b, member, generation in beats]
    for b in restarted:
        b.begin()
    lived = lifetime(world, client, "silent", silent_member, killed, 4 * SESSION_S)
    check(lived >= SESSION_S - 0.1, f"a silent member was removed {lived:.1f} s after the kill: a new coordinator gives everybody a whole session")
    check(lived <= 2 * SESSION_S + 1, f"a silent member was removed only {lived:.1f} s after the kill")
    say(f"silent since half a session before the kill, removed {lived:.1f} s after it; a session has {SESSION_S:.0f} s")
    beats[:] = [(b, member, generation) for b, (_, member, generation) in zip(restarted, beats)]
    go_on(world, client, 1.0, beats, f"node {node} killed, its successors' clocks an hour ahead, silence of {0.7 * SESSION_S:.1f} s")
    clocks.restart(node)
    cluster.wait()


def join_again(client, group, member):
    client.leave(group, member)
    return join(client, group)


def run(test):
    cluster = test.cluster(settings={"group.min.session.timeout.ms": 1000}).start(spread=False)
    clocks = Clocks(cluster, test.bin / "tests/libclock_shift.so")
    cluster.spread()
    client = cluster.client()
    client.create_topic("t", 1)
    world = World(cluster.addresses())
    beats = []
    for n in range(9):
        member, generation = join(client, f"m{n}")
        beats.append((Beater(world, f"m{n}", generation, member, 0.3), member, generation))
    for b, _, _ in beats:
        b.begin()
    go_on(world, client, 1.0, beats, "at the beginning")
    for seconds, text in ((HOUR, "an hour forward"), (-HOUR, "two hours back")):
        for node in range(1, 4):
            clocks.step(node, seconds)
        go_on(world, client, 1.5 * SESSION_S, beats, f"the clocks of all nodes jump {text}")
        shard = 1
        heir = cluster.leaders()[shard] % 3 + 1
        cluster.place({shard: heir})
        seen = clocks.believes(heir)
        check(abs(seen - seconds) < 60, f"the step did not reach the node: its clock is {seen:.0f} s off")
    failover(cluster, client, clocks, world, beats)
    b, member, generation = beats.pop()
    check_equal(client.heartbeat(b.group, generation, member), NONE, "last heartbeat")
    b.stop()
    lived = lifetime(world, client, b.group, member, time.monotonic(), 3 * SESSION_S)
    check(SESSION_S - 0.5 <= lived <= 2 * SESSION_S, f"a member that fell silent was removed after {lived:.1f} s")
    say(f"a member that fell silent was removed after {lived:.1f} s")
    go_on(world, client, 0.5, beats, "in the end")
    world.close()


if __name__ == "__main__":
    main(run, 25324)
