#!/usr/bin/env python3
"""Imperfect data folders: a flipped bit in the log, a torn last batch, a log or an identity that is gone.

What was acknowledged is never dropped silently: a node whose log is damaged does not start, says where the damage is and what to do, and the
other nodes go on. A last batch that was being written when the power went is no damage.
"""
import os
import struct

from faultlib.story import check, check_equal, main, say, until


def start_refused(cluster, node, texts):
    """The node must end by itself, with the exit status of a damaged folder and these words in its log."""
    already = len(cluster.log(node))
    try:
        cluster.restart(node)
    except RuntimeError:
        pass                    # it ended while scripts/cluster looked
    check(cluster.await_end(node, 20), f"node {node} starts on a damaged folder")
    told = cluster.log(node)[already:]
    for text in texts:
        check(text in told, f"node {node}: nothing of {text!r} in\n{told[-1500:]}")
    check("exit=4" in told or "exit" not in told, f"not the exit status of a damaged folder:\n{told[-800:]}")
    check("Sanitizer" not in told, told[-3000:])
    line = next(line for line in told.splitlines() if texts[0] in line)
    say(f"node {node} refuses to start: {line.split(' ', 1)[1]}")


def newest_segment(cluster, node):
    return sorted(cluster.data(node).glob("log-*.seg"))[-1]


def used_bytes(path):
    """End of what was written; the rest of the file is zeros."""
    return len(path.read_bytes().rstrip(b"\0"))


def others_go_on(cluster, client, value):
    for n in range(12):
        client.commit(f"g{n}", {"t": {0: value}})
        check_equal(client.offsets(f"g{n}", {"t": [0]})[("t", 0)], value, f"offset of g{n}")


def flip(path, offset):
    with open(path, "r+b") as f:
        f.seek(offset)
        byte = f.read(1)[0]
        f.seek(offset)
        f.write(bytes([byte ^ 0x10]))


def await_caught_up(cluster, node):
    """Until the node has applied what the others have, with the same state."""
    def same():
        for s in cluster.status()["shards"]:
            rows = {r["node"]: (r["appliedIndex"], r["stateHash"]) for r in s["replicas"]}
            if len(rows) != cluster.nodes or len(set(rows.values())) != 1:
                return False
        return True
    until(f"node {node} has what the others have, with equal hashes", same, 20)


def flipped_bit(cluster, client):
    cluster.kill(3)
    cluster.await_end(3)
    path = newest_segment(cluster, 3)
    offset = used_bytes(path) // 2
    flip(path, offset)
    before = path.read_bytes()
    start_refused(cluster, 3, ["error=\"", path.name, "offset"])
    check(path.read_bytes() == before, "the damaged file was changed")
    others_go_on(cluster, client, 2)
    code, out, err = cluster.muster("log", "dump", "--data", cluster.data(3))
    check(code not in (0, 2) and path.name in out + err, f"muster log dump of the damaged folder: exit status {code}, {(out + err)[-300:]}")
    say(f"muster log dump on that folder: exit status {code}: {err.strip().splitlines()[-1] if err.strip() else ''}")
    flip(path, offset)
    cluster.restart(3)
    cluster.wait()
    await_caught_up(cluster, 3)
    say("the bit flipped back: node 3 starts and catches up")


def torn_batch(cluster, client):
    """Half a batch behind the last one, as a power failure leaves it."""
    path = newest_segment(cluster, 2)
    sizes = []

    def still():
        sizes.append(used_bytes(path))
        return len(sizes) > 5 and len(set(sizes[-6:])) == 1
    until("nothing is written", still, 20, 0.1)  # else the kill could leave half a batch by itself
    cluster.kill(2)
    cluster.await_end(2)
    end = (used_bytes(path) + 7) // 8 * 8
    with open(path, "r+b") as f:
        f.seek(end)
        f.write(b"MBAT" + struct.pack("<I", 0x12345678) + os.urandom(120))
    others_go_on(cluster, client, 3)
    already = len(cluster.log(2))
    cluster.restart(2)
    cluster.wait()
    await_caught_up(cluster, 2)
    told = cluster.log(2)[already:]
    check("torn_tail_dropped" in told and path.name in told, f"nothing is said of the torn batch:\n{told[-1500:]}")
    others_go_on(cluster, client, 4)
    say("half a batch behind the last: node 2 starts, says so, has everything")


def lost_log(cluster, client):
    """Somebody made room: the segments are gone, and with them this node's votes."""
    cluster.kill(1)
    cluster.await_end(1)
    kept = {path: path.read_bytes() for path in cluster.data(1).glob("log-*.seg")}
    for path in kept:
        path.unlink()
    start_refused(cluster, 1, ["the folder was in use and its log is missing"])
    others_go_on(cluster, client, 5)
    for path, data in kept.items():
        path.write_bytes(data)
    path = cluster.data(1) / "identity"
    data = path.read_bytes()
    path.write_bytes(data[:20] + bytes([data[20] ^ 1]) + data[21:])
    start_refused(cluster, 1, ["identity_unreadable"])
    path.write_bytes(data)
    cluster.restart(1)
    cluster.wait()
    await_caught_up(cluster, 1)
    others_go_on(cluster, client, 6)
    say("log and identity back in place: node 1 starts")


def run(test):
    cluster = test.cluster().start()
    client = cluster.client()
    client.create_topic("t", 1)
    for _ in range(10):
        others_go_on(cluster, client, 1)
    flipped_bit(cluster, client)
    torn_batch(cluster, client)
    lost_log(cluster, client)


if __name__ == "__main__":
    main(run, 25312)
