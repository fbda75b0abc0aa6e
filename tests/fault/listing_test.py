#!/usr/bin/env python3
"""ListGroups of every node adds up to each group once: in quiet times, while leaders change, with a node that hangs and thaws.

The exporters and admin clients of the field ask every node and put the answers together (KAFKA-15849, kafka_exporter 112): a second copy of
a group, or a node that never answers, breaks them.
"""
import time

from faultlib.protocol import NONE, RETRIABLE, error_text
from faultlib.story import check, check_equal, main, say, until

GROUPS = [f"g{n}" for n in range(1, 6)]


def ask(client, address, version):
    """(error, names) of one node; it must answer within a second."""
    begun = time.monotonic()
    code, rows = client.list_groups(address, version, timeout=1.0 if not ask.slow else 5.0)
    took = time.monotonic() - begun
    check(took < (1.0 if not ask.slow else 5.0), f"ListGroups took {took:.2f} s")
    check(code == NONE or code in RETRIABLE, f"ListGroups: {error_text(code)}")
    return code, [row["GroupId"] for row in rows]


def union(client, addresses, version):
    """(all answered NONE, names of all nodes put together)."""
    names, whole = [], True
    for address in addresses:
        code, got = ask(client, address, version)
        whole = whole and code == NONE
        names += got
    return whole, names


def quiet(client, cluster):
    leaders = {cluster.coordinator(client, group) for group in GROUPS}
    for version in (0, 3, 5):
        # Nothing happens; but a busy machine may keep a leader from its followers for as long as an election takes.
        _, names = until(f"ListGroups v{version} without errors", lambda v=version: listed(client, cluster, v), 5)
        check_equal(sorted(names), GROUPS, f"union of ListGroups v{version}")
    say(f"v0, v3, v5: every group once; coordinators are the nodes {sorted(leaders)}")


def changing(client, cluster):
    """While shards move a listing may miss what is between two leaders and says so by its error; it never shows a group twice at rest."""
    moved = asked = 0
    for turn in range(6):
        for shard, leader in cluster.leaders().items():
            if leader == 0 or (shard + turn) % 3:
                continue
            code, _, _ = cluster.transfer(shard, leader % cluster.nodes + 1)
            moved += code == 0
            for address in cluster.addresses():
                _, names = ask(client, address, 5)
                check(len(names) == len(set(names)), f"one node lists a group twice: {names}")
                asked += 1
        whole, names = until("a listing without errors", lambda: listed(client, cluster), 5)
        check_equal(sorted(names), GROUPS, "union after leaders changed")
    check(moved >= 6, f"only {moved} shards moved")
    say(f"{moved} shards moved, {asked} listings in between: answered at once, nothing twice")


def listed(client, cluster, version=5):
    whole, names = union(client, cluster.addresses(), version)
    return (whole, names) if whole else None


def hanging(client, cluster):
    """A node that is paused is found by the election timeout; the others list everything. Thawed, it does not list what it led."""
    node = cluster.coordinator(client, GROUPS[0])
    others = [a for a in cluster.addresses() if cluster.node_of(a) != node]
    cluster.pause(node)
    try:
        def all_listed():
            whole, names = union(client, others, 5)
            return whole and sorted(names) == GROUPS
        until("the other two nodes list every group", all_listed, 10)
    finally:
        cluster.resume(node)
    say(f"node {node} paused: the others list every group")
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        before = cluster.leaders()
        code, names = ask(client, cluster.address(node), 5)
        elsewhere = [n for address in others for n in ask(client, address, 5)[1]]
        if code == NONE and before == cluster.leaders():
            check(not set(names) & set(elsewhere), f"listed twice: {sorted(set(names) & set(elsewhere))}")

    def once():
        whole, names = union(client, cluster.addresses(), 5)
        return whole and sorted(names) == GROUPS
    until("after the thaw every group once", once, 10)
    say(f"node {node} resumed: every group once")


def run(test):
    ask.slow = test.sanitized()
    cluster = test.cluster().start()
    client = cluster.client()
    client.create_topic("t", 1)
    for group in GROUPS:
        client.commit(group, {"t": {0: 7}})
    quiet(client, cluster)
    changing(client, cluster)
    cluster.spread()
    hanging(client, cluster)


ask.slow = False

if __name__ == "__main__":
    main(run, 24092)
