#!/usr/bin/env python3
"""A bit flips in the memory of a running node, in its copy of the state: a follower's, then a leader's.

The node finds that when it writes its next snapshot, which is summed up against the hash kept from the log: it ends and says why, before anybody is handed the wrong state
or it is on the disk. The others go on; started again the node makes its state of its log anew, leads, and every offset and its metadata are as they were acknowledged. (A state that
went wrong before it was hashed differs from the others' hashes; the simulator and unit/raft have that.)
"""
import json
import os
import re
import time
from pathlib import Path

from faultlib.cluster import Cluster
from faultlib.story import check, check_equal, main, say, until

GROUP, MARK = "flipped", "the-metadata-that-is-to-change-in-memory"
LARGE = 1 << 30           # mappings beyond it are a sanitizer's, and nothing is there
SETTINGS = {"muster.shards": 2, "muster.snapshot.interval.bytes": 262144, "muster.log.retain.bytes": 1048576, "muster.log.tail.bytes": 65536,
            "muster.log.segment.bytes": 1048576, "muster.entry.max.bytes": 65536}


def writable(pid):
    """(begin, end) of the process's own memory."""
    for line in Path(f"/proc/{pid}/maps").read_text(encoding="utf-8").splitlines():
        span, rights, _, _, inode = line.split()[:5]
        begin, end = (int(number, 16) for number in span.split("-"))
        if rights.startswith("rw") and inode == "0" and end - begin < LARGE:
            yield begin, end


def flip(pid, mark):
    """Changes one bit of the text wherever it stands; how often that was."""
    count = 0
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        for begin, end in writable(pid):
            try:
                data = os.pread(memory.fileno(), end - begin, begin)
            except OSError:
                continue
            at = data.find(mark)
            while at >= 0:
                os.pwrite(memory.fileno(), bytes([data[at] ^ 1]), begin + at)
                count += 1
                at = data.find(mark, at + 1)
    return count


def committed(client):
    row = client.rows(GROUP, {"t": [0]})["t", 0]
    return row["CommittedOffset"], row["Metadata"]


def shard_of(cluster):
    code, out, err = cluster.muster("groups", "coordinator", GROUP, "--bootstrap", cluster.bootstrap(), "--json")
    check_equal(code, 0, f"groups coordinator: {err}")
    return json.loads(out)["shard"]


def fill(client, kilobytes):
    """Log, so that nothing but the state has the mark, and a snapshot is due."""
    for n in range(kilobytes // 4):
        client.commit(GROUP, {"t": {1 + n % 4: (n, -1, "x" * 4000)}})


def round_of(cluster, client, whose):
    client.commit(GROUP, {"t": {0: (7, -1, MARK)}})
    shard = shard_of(cluster)
    leader = cluster.leaders()[shard]
    victim = leader if whose == "leader" else next(n for n in cluster.numbers() if n != leader)
    fill(client, 800)
    pid = cluster.pid(victim)
    # Copies that nobody reads any more have the mark, too. Where the state was not hit it has it still, and is hit the next time; where it was, there is none left.
    for attempt in range(3):
        cluster.pause(victim)  # what moves meanwhile would be missed
        places = flip(pid, MARK.encode())
        cluster.resume(victim)
        check(places > 0, f"the memory of node {victim} does not have the mark (attempt {attempt + 1})")
        begun = time.monotonic()
        while cluster.pid(victim) == pid and time.monotonic() < begun + 20:
            fill(client, 40)
        if cluster.pid(victim) is None:
            break
    check(cluster.pid(victim) is None, f"node {victim} goes on with a state that has changed")
    told = re.findall(r'evt=fatal text="([^"]*)"', cluster.log(victim))
    check(told and "memory" in told[-1] and "started again" in told[-1], f"node {victim} does not say why it ended and what to do: {told}")
    say(f"{whose}: node {victim} ended {time.monotonic() - begun:.1f} s after the bit: {told[-1]}")
    check_equal(committed(client), (7, MARK), "the offset while the node is away")
    cluster.restart(victim)
    cluster.wait()
    cluster.transfer(shard, victim)
    until(f"node {victim} leads the shard", lambda: cluster.leaders()[shard] == victim, 20)
    check_equal(committed(client), (7, MARK), f"the offset as node {victim} has it now")


def run(test):
    cluster = Cluster(test.folder / "cluster", test.port, test.bin, settings=SETTINGS)
    test.clusters.append(cluster)
    cluster.start()
    client = cluster.client(patience=30)
    client.create_topic("t", 8)
    for whose in ("follower", "leader"):
        round_of(cluster, client, whose)


if __name__ == "__main__":
    main(run, 25420)
