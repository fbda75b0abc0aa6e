#!/usr/bin/env python3
"""The admin port of nodes that wait to be formed, serve, lose their majority and find it again: /livez and /readyz say so check by check, and /metrics stands up to a
strict reader: HELP and TYPE, units, no series twice, every key of the configuration that is a limit, and numbers that agree with what clients did."""
import re
import subprocess
import urllib.error
import urllib.request

from faultlib import prometheus
from faultlib.story import check, check_equal, main, say, until

# Counters of muster's own tables bear the name of what they count; everything else says _total, as Prometheus wants it.
TABLES = ("muster_net_", "muster_api_", "muster_coord_", "muster_raft_", "muster_store_", "muster_peer_", "kafka_")
GAUGES_OF_ETCD = {"etcd_server_proposals_committed_total", "etcd_server_proposals_applied_total", "etcd_disk_wal_write_bytes_total"}
NO_UNITS = ("_ms", "_us", "_millis", "_kb", "_mb", "_minutes")
READY = ["ping", "disk-hung", "formed", "shutdown", "loop", "disk", "peers", "leaders", "applied", "catalogue", "diverged"]
LIVE = ["ping", "disk-hung"]


def port_of(cluster, node):
    return cluster.address(node)[1] + 2


def get(cluster, node, path):
    """(status, text); status 0: nobody answers."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port_of(cluster, node)}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def failed(text):
    return re.findall(r"^\[-\](\S+) failed: \S", text, re.M)


def passed(text):
    return re.findall(r"^\[\+\](\S+) ok$", text, re.M)


def is_ready(cluster, node):
    return get(cluster, node, "/readyz")[0] == 200


def metrics(cluster, node):
    status, text = get(cluster, node, "/metrics")
    check_equal(status, 200, f"/metrics of node {node}")
    return prometheus.parse(text)


def unformed(test, cluster):
    """A node of an empty folder: alive, and not ready because nobody formed it."""
    home = test.folder / "unformed"
    home.mkdir(parents=True, exist_ok=True)
    port = cluster.address(1)[1]
    (home / "properties").write_text(
        f"node.id=1\nlisteners=PLAINTEXT://127.0.0.1:{port}\nmuster.peer.listener=127.0.0.1:{port + 1}\nmuster.peers=1@127.0.0.1:{port + 1}\n"
        f"muster.data.dir={home}/data\nmuster.admin.listener=127.0.0.1:{port + 2}\nqueued.max.request.bytes=-1\n", encoding="utf-8")
    with open(home / "log", "w", encoding="utf-8") as log, subprocess.Popen(
            [str(test.bin / "musterd"), "--config", str(home / "properties")], stderr=log) as process:
        try:
            until("a node that waits to be formed answers", lambda: get(cluster, 1, "/livez")[0] == 200, 10)
            status, text = get(cluster, 1, "/readyz")
            check_equal((status, failed(text)), (503, ["formed"]), "an unformed node's /readyz")
            check("musterd form" in text, text)
            check_equal(metrics(cluster, 1)["muster_limit"].value(key="queued.max.request.bytes"), float("inf"), "a limit that is none")
            check_equal(get(cluster, 1, "/health")[0], 503, "an unformed node's /health")
        finally:
            process.terminate()
            check_equal(process.wait(20), 0, "exit code")
    say("unformed: alive, not ready, and says that it waits for `musterd form`")


def probes(cluster):
    for node in range(1, 4):
        until(f"node {node} is ready", lambda n=node: is_ready(cluster, n), 20, 0.2)
    status, text = get(cluster, 2, "/readyz?verbose")
    check_equal((status, passed(text)), (200, READY), "/readyz?verbose")
    status, text = get(cluster, 2, "/livez?verbose")
    check_equal((status, passed(text)), (200, LIVE), "/livez?verbose")
    check_equal(get(cluster, 2, "/readyz/peers"), (200, "[+]peers ok\n"), "one check")
    check_equal(get(cluster, 2, "/readyz/nonsense")[0], 404, "no check")
    say(f"three nodes are ready: {', '.join(READY)}")


def check_names(families):
    for name, family in families.items():
        check(re.match(r"(muster|etcd|kafka|process)_[a-z0-9_]+\Z", name), f"{name}: whose is it?")
        check(not name.endswith(NO_UNITS), f"{name}: seconds and bytes are the units")
        if family.type == "counter":
            check(name.endswith("_total") or name.startswith(TABLES), f"{name}: a counter that does not say so")
        elif name.endswith("_total"):
            check(name in GAUGES_OF_ETCD, f"{name}: says total and is a {family.type}")
        if family.type == "histogram":
            check(name.endswith("_seconds"), f"{name}: a histogram of what?")


def limits(test, families):
    """Every key whose name has the word max, and its value as --help-config has it."""
    manual = subprocess.run([str(test.bin / "musterd"), "--help-config"], stdout=subprocess.PIPE, text=True, check=True).stdout
    keys = dict(re.findall(r"^  ([a-z0-9._]+)=(-?[0-9]+)    \(", manual, re.M))
    wanted = [key for key in keys if "max" in key.split(".")]
    check(len(wanted) > 25, f"only {len(wanted)} limits in the manual")
    for key in wanted:
        check_equal(families["muster_limit"].value(key=key), float(keys[key]), f"muster_limit of {key}")
    for name in ("muster_limit_used", "muster_limit_hits_total"):
        for _, labels in families[name].samples:
            check(families["muster_limit"].value(**dict(labels)) is not None, f"{name} of {labels}, which is no limit")
    say(f"{len(wanted)} limits of the configuration are metrics, {len(families['muster_limit_used'].samples)} say how much is used")


def numbers(cluster, client):
    """What clients did is what the nodes say, put together."""
    cluster.muster("topics", "create", "orders", "--partitions", 4, "--bootstrap", cluster.bootstrap())
    for n in range(6):
        member, generation = client.alone(f"g{n}", topics=("orders",), session=600000)
        client.commit(f"g{n}", {"orders": {0: 1, 1: 2, 2: 3}}, generation, member)
    all_nodes = {}

    def settled():
        all_nodes.update({node: metrics(cluster, node) for node in range(1, 4)})
        known = [families["muster_limit_used"].value(key="muster.max.groups") for families in all_nodes.values()]
        return summed("kafka_server_group_coordinator_metrics_group_count", protocol="classic") == 6 and known == [6, 6, 6]

    def summed(name, **labels):
        return sum(families[name].value(**labels) for families in all_nodes.values())

    until("six groups are counted, and every node knows of all of them", settled, 15, 0.5)
    kafka = "kafka_server_group_coordinator_metrics_"
    check_equal(summed(kafka + "classic_group_count", state="Stable"), 6, "stable groups")
    check_equal(summed(kafka + "offset_commit_count"), 18, "committed offsets")
    check_equal(summed(kafka + "offset_count"), 18, "offsets")
    check_equal(summed(kafka + "group_completed_rebalance_count"), 6, "rebalances")
    check_equal(summed(kafka + "num_partitions", state="active"), 8, "shards that are served")
    for shard in range(8):
        check_equal(summed("etcd_server_has_leader", shard=str(shard)), 3, f"nodes that know shard {shard}'s leader")
        check_equal(summed("etcd_server_is_leader", shard=str(shard)), 1, f"leaders of shard {shard}")
    for node, families in all_nodes.items():
        check_names(families)
        check(families["etcd_disk_wal_fsync_duration_seconds"].samples[("etcd_disk_wal_fsync_duration_seconds_count", ())] > 0, "fsyncs")
        check(families["etcd_disk_wal_write_bytes_total"].value() > 0, "bytes of the log")
        check_equal(len(families["etcd_network_peer_sent_bytes_total"].samples), 2, f"peers of node {node}")
        trips = families["etcd_network_peer_round_trip_time_seconds"].samples
        for other in {1, 2, 3} - {node}:
            count = trips.get(("etcd_network_peer_round_trip_time_seconds_count", (("To", str(other)),)), 0)
            check(count > 0, f"answers of node {other} to probes of node {node}: {count}")
        check(families["etcd_server_proposals_failed_total"].value() >= 0, "entries that failed")
        check(families["process_resident_memory_bytes"].value() > 1 << 20, "memory")
    say("etcd's and Kafka's metrics agree with six groups of three offsets each, and with who leads")
    return all_nodes[1]


def without_majority(cluster):
    """Alive, so that nobody starts it anew for nothing; not ready, and it says why."""
    cluster.kill(2, 3)
    lost = until("node 1 sees that it is alone", lambda: failed(get(cluster, 1, "/readyz")[1]), 20, 0.1)
    check("peers" in lost or "leaders" in lost, f"{lost}")
    until("both causes are told", lambda: {"peers", "leaders"} <= set(failed(get(cluster, 1, "/readyz")[1])), 20, 0.1)
    check_equal(get(cluster, 1, "/livez")[0], 200, "/livez without a majority")
    check_equal(get(cluster, 1, "/readyz?exclude=peers&exclude=leaders")[0], 200, "/readyz without these two")
    check(metrics(cluster, 1)["etcd_server_has_leader"].sum() < 8, "leaders without a majority")
    say("without a majority: alive, not ready because of peers and leaders")
    for node in (2, 3):
        cluster.restart(node)
    until("node 1 is ready again", lambda: is_ready(cluster, 1), 30, 0.2)
    check(metrics(cluster, 1)["etcd_server_leader_changes_seen_total"].sum() > 0, "changes of leaders")
    say("with it: ready")


def run(test):
    probe = test.cluster("probe")
    unformed(test, probe)
    with test.cluster() as cluster:
        cluster.start(spread=False)
        for node in range(1, 4):
            with open(cluster.properties(node), "a", encoding="utf-8") as file:
                file.write(f"muster.admin.listener=127.0.0.1:{port_of(cluster, node)}\n")
            cluster.restart(node)
        cluster.wait()
        cluster.spread()
        probes(cluster)
        families = numbers(cluster, cluster.client())
        limits(test, families)
        without_majority(cluster)


if __name__ == "__main__":
    main(run, 23000)
