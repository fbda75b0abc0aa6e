#!/usr/bin/env python3
"""Everything about an offset and its group survives a change of the coordinator, not only the number.

Leader epoch, metadata, protocol type of an emptied group, the kind of a group that only ever committed: after a kill, after a restart of all
nodes from snapshots, and on a node that got its state as a snapshot from another one.
"""
from faultlib.protocol import NONE, RETRIABLE
from faultlib.story import check, check_equal, main, say, until

SETTINGS = {"muster.entry.max.bytes": 65536, "muster.log.segment.bytes": 1048576, "muster.log.retain.bytes": 65536,
            "muster.snapshot.interval.bytes": 65536, "muster.log.reserve.bytes": 131072}
FILLERS = 24


def prepare(client):
    client.create_topic("ta", 4)
    offsets = {0: (5, 3, "x y"), 1: (6, -1, ""), 2: (7, 0, "m" * 4096)}
    client.commit("simple", {"ta": offsets})
    member, generation = client.alone("emptied", topics=("ta",))
    client.commit("emptied", {"ta": offsets}, generation, member)
    check_equal(set(client.leave("emptied", member)), {NONE}, "leave")
    member, generation = client.alone("living", topics=("ta",), session=60000, rebalance=60000)
    client.commit("living", {"ta": offsets}, generation, member)
    return member, generation


def verify(cluster, client, member, generation, when):
    want = {0: (5, 3, "x y"), 1: (6, -1, ""), 2: (7, 0, "m" * 4096), 3: (-1, -1, "")}
    for group in ("simple", "emptied", "living"):
        rows = client.rows(group, {"ta": [0, 1, 2, 3]})
        got = {p: (r["CommittedOffset"], r["CommittedLeaderEpoch"], r["Metadata"]) for (_, p), r in rows.items()}
        check_equal(got, want, f"{when}: offsets of {group}")
        check_equal(len(client.rows(group)), 3, f"{when}: number of {group}'s offsets when all are asked for")
        old = old_fetch(client, group)
        check_equal([(p["CommittedOffset"], "CommittedLeaderEpoch" in p) for p in old], [(5, False), (6, False)], f"{when}: v4 fetch of {group}")
    listed = until(f"{when}: ListGroups of all nodes", lambda: listing(cluster, client), 10)
    check_equal({g: listed.get(g) for g in ("simple", "emptied", "living")},
                {"simple": ("Empty", "", "classic"), "emptied": ("Empty", "consumer", "classic"), "living": ("Stable", "consumer", "classic")},
                f"{when}: as listed")
    check_equal(client.heartbeat("living", generation, member), NONE, f"{when}: the member's heartbeat")
    say(f"{when}: all there")


def listing(cluster, client):
    """{group: (state, protocol type, type)} of all nodes put together; None while one of them says: ask again. A shard may be on its way home."""
    listed = {}
    for address in cluster.addresses():
        code, groups = client.list_groups(address)
        if code in RETRIABLE:
            return None
        check_equal(code, NONE, "ListGroups")
        listed.update({g["GroupId"]: (g["GroupState"], g["ProtocolType"], g["GroupType"].lower()) for g in groups})
    return listed


def old_fetch(client, group):
    """Version 4 knows no leader epoch."""
    values = client.group(group, "OffsetFetch", 4, lambda v: [v["ErrorCode"]], GroupId=group,
                          Topics=[{"Name": "ta", "PartitionIndexes": [0, 1]}])
    return values["Topics"][0]["Partitions"]


def replicas(cluster, node, what):
    """{shard: number} of one node."""
    return {s["shard"]: next((r[what] for r in s["replicas"] if r["node"] == node), 0) for s in cluster.status()["shards"]}


def fill(client, turns):
    """Commits on all shards, so many that they have to be snapshotted."""
    for turn in range(turns):
        for n in range(FILLERS):
            client.commit(f"filler-{n}", {"ta": {p: (turn, 0, "f" * 3000) for p in range(4)}})


def trimmed(cluster, node, last):
    """Whether the node has a snapshot of every shard and no longer the entries that come after those: snapshots are taken one after the other,
    and the log is trimmed behind them."""
    taken, first = replicas(cluster, node, "snapshotIndex"), replicas(cluster, node, "firstIndex")
    return all(taken.values()) and all(first[s] > last[s] + 1 for s in first)


def run(test):
    cluster = test.cluster(settings=SETTINGS).start()
    client = cluster.client()
    member, generation = prepare(client)
    verify(cluster, client, member, generation, "at the beginning")

    node = cluster.coordinator(client, "simple")
    cluster.kill(node)
    until("the rest lists all groups", lambda: cluster.coordinator(client, "simple") != node, 10)
    cluster.restart(node)
    cluster.wait()
    verify(cluster, client, member, generation, "after a kill of the coordinator")

    away = 3
    last = replicas(cluster, away, "lastIndex")
    check(all(last.values()), f"node {away} does not tell its last entries: {last}")
    cluster.kill(away)
    fill(client, 12)
    for other in (1, 2):
        until(f"node {other} has a snapshot of every shard, and no longer in its log what node {away} lacks (it has {last})",
              lambda node=other: trimmed(cluster, node, last), 20)
    one, two = replicas(cluster, 1, "snapshotIndex"), replicas(cluster, 2, "snapshotIndex")
    before = {s: min(one[s], two[s]) for s in one}
    cluster.restart(away)
    cluster.wait()
    until("node 3 has the others' snapshots", lambda: all(replicas(cluster, away, "snapshotIndex")[s] >= i for s, i in before.items()), 20)
    cluster.place({shard: away for shard in range(8)})
    verify(cluster, client, member, generation, "on a node that got snapshots from another one")

    cluster.kill(1, 2, 3)
    cluster.run("start")
    cluster.wait()
    verify(cluster, client, member, generation, "after all were killed and started from their snapshots")


if __name__ == "__main__":
    main(run, 25292)
