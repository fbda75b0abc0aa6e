#!/usr/bin/env python3
"""Answers leave a connection in the order of its requests, also when the coordinator changes while they are under way.

A connection has commits and fetches in flight, a join that waits, requests of groups whose leader is killed or handed over. Whatever each
answer says, it is the next one; and a fetch sees the commit that went before it on its connection.
"""
from faultlib import protocol
from faultlib.client import Conn, Lost
from faultlib.protocol import NONE, RETRIABLE, error_text
from faultlib.story import check, check_equal, main, say

PAIRS = 500


def behind_a_join(cluster, client):
    """A join that waits for the rebalance, and what was sent behind it (Redpanda PR 25636)."""
    group = "ordered"
    member, generation = client.alone(group, session=30000, rebalance=3000)
    conn = Conn(client.find(group), timeout=20)
    fields = {"GroupId": group, "SessionTimeoutMs": 30000, "RebalanceTimeoutMs": 3000, "ProtocolType": "consumer",
              "Protocols": [{"Name": "range", "Metadata": protocol.subscription("t")}]}
    given = conn.ask("JoinGroup", 9, MemberId="", **fields)["MemberId"]
    conn.send("JoinGroup", 9, MemberId=given, **fields)
    conn.send("ApiVersions", 0)
    conn.send("Heartbeat", 4, GroupId="other", GenerationId=1, MemberId="nobody")
    conn.send("OffsetCommit", 8, **protocol.commit_fields("ordered-simple", {"t": {0: 5}}))
    conn.send("OffsetFetch", 8, **protocol.fetch_fields("ordered-simple", {"t": [0]}))
    joined = conn.receive()
    check_equal(joined["ErrorCode"], NONE, "the join that waited")
    for _ in range(4):
        conn.receive()
    conn.close()
    say("a join that waited 3 s and four requests behind it: answered in order")
    del member, generation


def pairs(client, group, address, disturb=None):
    """500 commits and fetches in one write; how many fetches saw the commit before them."""
    conn = Conn(address, timeout=20)
    frames = bytearray()
    for n in range(1, PAIRS + 1):
        conn.correlation += 2
        frames += protocol.request_frame("OffsetCommit", 8, conn.correlation - 1, protocol.commit_fields(group, {"t": {0: n}}))
        frames += protocol.request_frame("OffsetFetch", 8, conn.correlation, protocol.fetch_fields(group, {"t": [0]}))
        conn.sent += [(conn.correlation - 1, "OffsetCommit", 8), (conn.correlation, "OffsetFetch", 8)]
    conn.raw(frames)
    if disturb is not None:
        disturb()
    seen = refused = 0
    try:
        for n in range(1, PAIRS + 1):
            codes = protocol.commit_errors(conn.receive())
            error, rows = protocol.fetched(conn.receive())
            row = rows.get(("t", 0))
            error = error or (row["ErrorCode"] if row else NONE)
            if error == NONE and codes == {NONE}:
                check_equal(row["CommittedOffset"], n, f"fetch behind commit {n} of {group}")
                seen += 1
            else:
                refused += 1
                for code in codes | {error}:
                    check(code == NONE or code in RETRIABLE, f"{group}: {error_text(code)}")
    except Lost:
        check(disturb is not None, "the connection ended")
        say(f"the connection ended after {seen + refused} pairs")
    conn.close()
    return seen, refused


def run(test):
    cluster = test.cluster().start()
    client = cluster.client()
    client.create_topic("t", 1)
    behind_a_join(cluster, client)
    seen, refused = pairs(client, "calm", client.find("calm"))
    check_equal((seen, refused), (PAIRS, 0), "pairs in quiet times")
    say(f"{PAIRS} commits and fetches in one write: every fetch saw its commit")

    for turn in range(6):
        node = cluster.coordinator(client, "moved")
        shards = [s for s, leader in cluster.leaders().items() if leader == node]

        def hand_over(node=node, shards=shards):
            cluster.place({shard: node % cluster.nodes + 1 for shard in shards})
        seen, refused = pairs(client, "moved", cluster.address(node), hand_over)
        check(seen + refused == PAIRS, "answers are missing")
        say(f"handed over {turn + 1}: {seen} pairs served, {refused} told to ask again, all in order")

    node = cluster.coordinator(client, "killed")
    follower = node % cluster.nodes + 1
    pairs(client, "killed", cluster.address(node), lambda: cluster.kill(follower))
    cluster.restart(follower)
    cluster.wait()
    node = cluster.coordinator(client, "killed")
    seen, refused = pairs(client, "killed", cluster.address(node), lambda: cluster.kill(node))
    say(f"coordinator killed: {seen} pairs before, then the connection's end, nothing out of order")
    cluster.restart(node)
    cluster.wait()
    client.commit("killed", {"t": {0: PAIRS + 1}})
    check_equal(client.offsets("killed", {"t": [0]})[("t", 0)], PAIRS + 1, "a commit after all that")


if __name__ == "__main__":
    main(run, 25300)
