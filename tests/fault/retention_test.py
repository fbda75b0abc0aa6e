#!/usr/bin/env python3
"""Which offsets the retention sweep removes, and when: not before their age on a sound clock (KAFKA-13636, KIP-211, Redpanda 2904).

Retention of one minute, swept every second. (a) a stable group subscribed to ta that commits ta and tb; (b) a simple commit; (c) a group that stays
in the middle of a rebalance; (d) a group that became empty; (e), (f) as (a), a streams group and a consumer group of the new protocol. Meanwhile the
wall clocks jump and the coordinators change.
"""
import time

from faultlib import protocol
from faultlib.client import Conn
from faultlib.clock import Clocks
from faultlib.consumer import ConsumerMember
from faultlib.load import Beater, World
from faultlib.protocol import NONE, REBALANCE_IN_PROGRESS
from faultlib.story import check, check_equal, main, say, until
from faultlib.streams import StreamsMember, topology

RETENTION_S = 60
LATE_S = 25             # what sweeps, failovers and slow machines may add
SETTINGS = {"offsets.retention.minutes": 1, "offsets.retention.check.interval.ms": 1000, "group.streams.initial.rebalance.delay.ms": 0}
BOTH = {("ta", 0): 11, ("tb", 0): 12}


class Waiting(Beater):
    """A member that hears of a rebalance and does not rejoin: its heartbeats keep it alive all the same."""

    def answered(self, frame):
        code = protocol.answer_of("Heartbeat", 4, frame)[1]["ErrorCode"]
        if code == REBALANCE_IN_PROGRESS:
            self.beats += 1
            return [NONE]
        if code != NONE and code not in protocol.RETRIABLE:
            self.world.breaks(f"{self.group}: heartbeat answered {protocol.error_text(code)}")
        return [code]


def commit(client, group, generation=-1, member=""):
    client.commit(group, {"ta": {0: 11}, "tb": {0: 12}}, generation, member)


def joined(client, group, **options):
    member, generation = client.alone(group, session=20000, **options)
    commit(client, group, generation, member)
    return member, generation


def stuck(client, world):
    """A group whose second member waits for the first, which never joins again."""
    member, generation = joined(client, "c", rebalance=200000, topics=("ta",))
    second = Conn(client.find("c"), 5)
    fields = {"GroupId": "c", "SessionTimeoutMs": 200000, "RebalanceTimeoutMs": 200000, "ProtocolType": "consumer",
              "Protocols": [{"Name": "range", "Metadata": protocol.subscription("ta")}]}
    given = second.ask("JoinGroup", 9, MemberId="", **fields)["MemberId"]
    second.send("JoinGroup", 9, MemberId=given, **fields)
    Waiting(world, "c", generation, member, 1.0).begin()
    return second


def all_groups(cluster, client):
    """{group: state}, once every node answers: a shard may be on its way home."""
    def listing():
        answers = [client.list_groups(address) for address in cluster.addresses()]
        return all(code == NONE for code, _ in answers) and [g for _, groups in answers for g in groups] or None
    return {g["GroupId"]: g["GroupState"] for g in until("ListGroups of all nodes", listing, 10)}


def offsets(client, modern):
    for member in modern:
        member.beat()
    return {group: client.offsets(group) for group in "abcdef"}


def disturb(cluster, client, world, clocks, modern):
    """Until shortly before the age: an hour forward, two hours back, a coordinator killed. Nothing may go."""
    begun = time.monotonic()
    for seconds in (3600, -3600, 0):
        for node in range(1, 4):
            clocks.step(node, seconds)
        for shard, leader in cluster.leaders().items():
            cluster.transfer(shard, leader % 3 + 1)
        world.run(4)
        check_equal(offsets(client, modern), {group: BOTH for group in "abcdef"}, "offsets after a jump of the clocks")
    say("clocks an hour forward, two back, one forward, every shard moved each time: all offsets are there")
    node = cluster.coordinator(client, "b")
    cluster.kill(node)
    world.run(1)
    clocks.restart(node)
    cluster.wait()
    while time.monotonic() - begun < RETENTION_S - 15:
        world.run(1)
        check_equal(offsets(client, modern), {group: BOTH for group in "abcdef"}, f"offsets {time.monotonic() - begun:.0f} s on")
    say(f"node {node} killed; {time.monotonic() - begun:.0f} s after the commits all offsets are there")


def run(test):
    cluster = test.cluster(settings=SETTINGS).start(spread=False)
    clocks = Clocks(cluster, test.bin / "tests/libclock_shift.so")
    cluster.spread()
    client = cluster.client()
    client.create_topic("ta", 1)
    client.create_topic("tb", 1)
    world = World(cluster.addresses())
    begun = time.monotonic()
    member, generation = joined(client, "a", topics=("ta",))
    Beater(world, "a", generation, member, 1.0).begin()
    commit(client, "b")
    second = stuck(client, world)
    member, generation = joined(client, "d", topics=("ta",))
    check_equal(set(client.leave("d", member)), {NONE}, "leave")
    modern = [StreamsMember(client, "e").join(topology("ta")), ConsumerMember(client, "f").join("ta")]
    for member in modern:
        member.settle(1)
        client.commit(member.group, {"ta": {0: 11}, "tb": {0: 12}}, member.epoch, member.member, version=9)
    disturb(cluster, client, world, clocks, modern)
    check("c" in all_groups(cluster, client), "group c is gone")
    want = {"a": {("ta", 0): 11}, "b": {}, "c": BOTH, "d": {}, "e": {("ta", 0): 11}, "f": {("ta", 0): 11}}
    gone = {}
    while time.monotonic() - begun < RETENTION_S + LATE_S and len(gone) < 5:
        world.run(0.5)
        now = offsets(client, modern)
        for group in "abdef":
            if now[group] == want[group] and group not in gone:
                gone[group] = time.monotonic() - begun
        check_equal(now["c"], BOTH, "offsets of the group that rebalances")
        check(all(now[g] in (BOTH, want[g]) for g in "abdef"), f"half of what may go: {now}")
    check_equal(sorted(gone), ["a", "b", "d", "e", "f"], f"what is gone after {RETENTION_S + LATE_S} s")
    early = {g: t for g, t in gone.items() if t < RETENTION_S - 1}
    check(not early, f"removed too early: {early}")
    world.run(2)
    groups = all_groups(cluster, client)
    check_equal(groups, {"a": "Stable", "c": "PreparingRebalance", "e": "Stable", "f": "Stable"}, "groups in the end")
    check(not world.broken, "; ".join(world.broken))
    say("gone after " + ", ".join(f"{g}: {t:.0f} s" for g, t in sorted(gone.items())) + "; a, e and f keep ta, c keeps everything, b and d are not listed")
    world.close()
    second.close()


if __name__ == "__main__":
    main(run, 25328)
