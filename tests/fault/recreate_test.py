#!/usr/bin/env python3
"""A group that was deleted and made again a hundred times loads as what it was last, and nothing of its past stays (KAFKA-17306, KAFKA-19862).

Members join, commit, leave, the group is deleted: a consumer group, at times a classic one, a simple one, a streams group; snapshots fall in between. All
nodes are killed and started.
"""
import random

from faultlib.consumer import ConsumerMember
from faultlib.protocol import GROUP_ID_NOT_FOUND, NONE
from faultlib.story import check, check_equal, main, say, until
from faultlib.streams import StreamsMember, topology

SETTINGS = {"muster.entry.max.bytes": 65536, "muster.log.segment.bytes": 1048576, "muster.log.retain.bytes": 65536,
            "muster.snapshot.interval.bytes": 65536, "muster.log.reserve.bytes": 131072,
            "group.streams.initial.rebalance.delay.ms": 0,
            "muster.group.consumer.heartbeat.hold.ms": 0}   # each of these clients waits for its answer
MODERN = {"streams": (StreamsMember, topology("t", changelog="t-log")), "consumer": (ConsumerMember, "t")}
NAMES = [f"group-{n}" for n in range(8)]


def life(client, group, turn, last):
    """One incarnation: made, used, emptied and, but for the last one, deleted. Returns what it leaves behind."""
    kind = "streams" if turn % 5 == 4 else "classic" if turn % 3 == 2 else "simple" if turn % 4 == 2 else "consumer"
    offsets = {"t": {0: turn + 1, 1: turn + 1}}
    if kind == "simple":
        client.commit(group, {"t": {0: turn + 1}})
    elif kind == "classic":
        member, generation = client.alone(group, session=30000)
        client.commit(group, offsets, generation, member)
        if not last or turn % 2:
            check_equal(set(client.leave(group, member)), {NONE}, f"leave of {group}")
    else:
        member_of, wish = MODERN[kind]
        member = member_of(client, group).join(wish)
        member.settle(2)
        client.commit(group, offsets, member.epoch, member.member, version=9)
        if not last or turn % 2:
            member.leave()
    if not last:
        check_equal(client.delete_group(group), NONE, f"DeleteGroups of {group}")
    return kind


def verify(cluster, client, left, deleted, when):
    for group, (kind, turn) in left.items():
        want = {("t", 0): turn + 1} if kind == "simple" else {("t", 0): turn + 1, ("t", 1): turn + 1}
        check_equal(client.offsets(group), want, f"{when}: offsets of {group}")
        living = "Stable" if kind != "simple" and not turn % 2 else "Empty"
        if kind in MODERN:
            row = MODERN[kind][0](client, group).describe()
            check_equal((row["ErrorCode"], row["GroupState"], len(row["Members"])), (NONE, living, living == "Stable"), f"{when}: {group}")
            continue
        row = client.describe(group)
        check_equal((row["ErrorCode"], row["ProtocolType"]), (NONE, "" if kind == "simple" else "consumer"), f"{when}: {group}")
        check_equal(row["GroupState"], living, f"{when}: state of {group}")
    for group in deleted:
        check_equal(client.offsets(group, {"t": [0]}), {("t", 0): -1}, f"{when}: offsets of the deleted {group}")
        code = client.group(group, "DescribeGroups", 6, lambda v: [g["ErrorCode"] for g in v["Groups"]], Groups=[group])["Groups"][0]["ErrorCode"]
        check_equal(code, GROUP_ID_NOT_FOUND, f"{when}: the deleted {group}")
        for kind, (member, _) in MODERN.items():
            check_equal(member(client, group).describe()["ErrorCode"], GROUP_ID_NOT_FOUND, f"{when}: the deleted {group} as a {kind} group")
    listed = until(f"{when}: ListGroups of all nodes", lambda: listing(cluster, client), 10)
    check_equal(sorted(listed), sorted((group, "classic" if kind == "simple" else kind) for group, (kind, _) in left.items()), f"{when}: listed groups")
    say(f"{when}: {len(left)} groups as they were last, {len(deleted)} deleted ones gone")


def listing(cluster, client):
    """What all nodes list; None while one of them says: ask again."""
    answers = [client.list_groups(address) for address in cluster.addresses()]
    return [(g["GroupId"], g["GroupType"].lower()) for _, groups in answers for g in groups] if all(code == NONE for code, _ in answers) else None


def hashes(cluster, shard):
    """State hashes of the shard's replicas; None while one of them has not applied everything."""
    row = next(s for s in cluster.status()["shards"] if s["shard"] == shard)
    whole = len(row["replicas"]) == cluster.nodes and all(r["appliedIndex"] == row.get("commitIndex") for r in row["replicas"])
    return {r["stateHash"] for r in row["replicas"]} if whole else None


def snapshots(cluster):
    return sum(1 for s in cluster.status()["shards"] for r in s["replicas"] if r["snapshotIndex"])


def sizes(cluster):
    """Bytes of snapshots of each node; the log's files are written in advance."""
    return [sum(size(p) for p in cluster.data(node).glob("snap-*.snap")) for node in range(1, cluster.nodes + 1)]


def size(path):
    try:
        return path.stat().st_size
    except FileNotFoundError:   # a newer snapshot has replaced it meanwhile
        return 0


def run(test):
    cluster = test.cluster(settings=SETTINGS).start()
    client = cluster.client()
    client.create_topic("t", 2)
    rng = random.Random(36)
    rounds, left, deleted = test.options.rounds, {}, set()
    early = None
    for turn in range(rounds):
        for group in NAMES if turn % 10 == 9 else rng.sample(NAMES, 2):
            life(client, group, turn, False)
        if turn == rounds // 3:
            early = sizes(cluster)
    for n, group in enumerate(NAMES):
        if n % 4 == 3:
            deleted.add(group)
        else:
            left[group] = (life(client, group, rounds + n, True), rounds + n)
    verify(cluster, client, left, deleted, f"after {rounds} rounds")
    until("a snapshot was taken in between", lambda: snapshots(cluster), 10)
    late = sizes(cluster)
    check(max(late) < max(early) + 20000, f"snapshots grow with the past: {early} bytes after a third, {late} at the end")
    cluster.kill(1, 2, 3)
    cluster.run("start")
    cluster.wait(20)
    verify(cluster, client, left, deleted, "all killed and started")
    same = until("the replicas of one shard have applied everything", lambda: hashes(cluster, 1), 10)
    check_equal(len(same), 1, "state hashes of the replicas of one shard")


if __name__ == "__main__":
    main(run, 25296, [("--rounds", {"type": int, "default": 100})])
