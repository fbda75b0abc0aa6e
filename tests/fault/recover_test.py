#!/usr/bin/env python3
"""Two of three nodes are lost for good: the third one's folder becomes a cluster of its own, deliberately, with everything it holds.

A folder whose node runs, or that is damaged, is refused and stays as it is; so does the old folder, beside the new one. Nodes of the old cluster
and the new one refuse each other.
"""
import hashlib
import json

from faultlib.client import Client
from faultlib.cluster import Cluster
from faultlib.protocol import NONE
from faultlib.story import check, check_equal, main, say, until

GROUPS = 40


def digest(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def recover(cluster, *words, code):
    got, out, err = cluster.muster("cluster", "recover", "--data", cluster.data(1), *words)
    check_equal(got, code, f"muster cluster recover {' '.join(words)}: {err.strip()[-300:]}")
    return out, err


def caught_up(cluster):
    return all(len({(r["appliedIndex"], r["stateHash"]) for r in s["replicas"]}) == 1 and len(s["replicas"]) == cluster.nodes
               for s in cluster.status()["shards"])


def refusals(cluster):
    """Whatever is refused leaves the folder as it was."""
    _, err = recover(cluster, "--force-new-cluster", code=1)
    check("stop the node first" in err, err)
    cluster.kill(1, 2, 3)
    for node in (1, 2, 3):
        cluster.await_end(node)
    before = digest(cluster.data(1))
    _, err = recover(cluster, code=2)
    check("WARNING" in err and "--force-new-cluster" in err, err)
    segment = sorted(cluster.data(1).glob("log-*.seg"))[0]
    good = segment.read_bytes()
    segment.write_bytes(good[:200] + bytes([good[200] ^ 1]) + good[201:])
    _, err = recover(cluster, "--force-new-cluster", code=5)
    check(segment.name in err, err)
    segment.write_bytes(good)
    check_equal(digest(cluster.data(1)), before, "the folder after what was refused")
    check_equal(sorted(p.name for p in cluster.home(1).iterdir() if p.is_dir()), ["data"], "folders of the node")
    say("refused: while the node runs, without the word for it, with a damaged segment; nothing was touched")
    return before


def shape(cluster, nodes):
    (cluster.folder / "shape").write_text(f"{nodes} {cluster.base_port}\n")


def start_alone(cluster):
    alone = Cluster(cluster.folder, cluster.base_port, cluster.bin, nodes=1)
    path = alone.properties(1)
    lines = [line for line in path.read_text().splitlines() if not line.startswith("muster.peers=")]
    path.write_text("\n".join([*lines, f"muster.peers=1@127.0.0.1:{alone.address(1)[1] + 1}", ""]))
    shape(alone, 1)
    alone.restart(1)
    alone.wait()
    return alone


def run(test):
    cluster = test.cluster().start()
    client = cluster.client()
    client.create_topic("t", 2)
    for n in range(GROUPS):
        client.commit(f"g{n}", {"t": {0: n, 1: 2 * n}})
    member, generation = client.alone("members", session=60000, rebalance=60000)
    until("node 1 has what the others have", lambda: caught_up(cluster), 10)
    old_id = cluster.status()["clusterId"]
    before = refusals(cluster)
    out, err = recover(cluster, "--force-new-cluster", "--json", code=0)
    check("may" in err or "lost" in err, err)
    told = json.loads(out)
    check(told["clusterId"] != old_id, "the new cluster has the id of the old one")
    aside = cluster.home(1) / told["oldData"].rsplit("/", 1)[1]
    check_equal(digest(aside), before, "the old folder beside the new one")
    alone = start_alone(cluster)
    check_equal(alone.status()["clusterId"], told["clusterId"], "cluster id")
    fresh = Client(alone.addresses())
    for n in range(GROUPS):
        check_equal(fresh.offsets(f"g{n}", {"t": [0, 1]}), {("t", 0): n, ("t", 1): 2 * n}, f"offsets of g{n}")
    check_equal(fresh.heartbeat("members", generation, member), NONE, "the member's heartbeat")
    fresh.create_topic("u", 1)
    fresh.commit("after", {"u": {0: 5}})
    say(f"node 1 alone is cluster {told['clusterId']}: {GROUPS} groups and the member are there, changes are taken")
    mark = len(cluster.log(2))
    shape(cluster, 3)
    cluster.restart(2)
    until("node 2 of the old cluster is refused", lambda: "another cluster" in cluster.log(2)[mark:], 10)
    cluster.kill(2)
    shape(cluster, 1)
    alone.restart(1)
    alone.wait()
    check_equal(fresh.offsets("after", {"u": [0]}), {("u", 0): 5}, "what was committed after the recovery, after a restart")
    fresh.close()
    say("node 2 of the old cluster is refused; a restart finds everything")


if __name__ == "__main__":
    main(run, 25412)
