#!/usr/bin/env python3
"""Data folders of every format that was ever released, or will be, are opened: formats/N.tar.xz holds those of three nodes, N.json what is in them.

All that clients see is as it was: groups of every kind with their members and histories, offsets, topics with their ids, configs. Members go on where they were,
commits are taken, and what was opened and written to is opened once more. --record N makes the two files of a new format from a cluster of this build.
"""
import json
import shutil
import tarfile
from pathlib import Path

from faultlib.client import Client
from faultlib.configs import alter, configs
from faultlib.consumer import ConsumerMember
from faultlib.modern import fill, listed
from faultlib.protocol import NONE
from faultlib.story import check, check_equal, main, say, until
from faultlib.streams import StreamsMember, topology

HERE = Path(__file__).resolve().parent / "formats"
PORT = 31900  # the nodes' addresses are in their folders
SETTINGS = {"muster.entry.max.bytes": 65536, "muster.log.segment.bytes": 1048576, "muster.log.retain.bytes": 65536, "muster.log.tail.bytes": 65536,
            "muster.snapshot.interval.bytes": 65536, "muster.log.reserve.bytes": 131072, "muster.group.consumer.heartbeat.hold.ms": 0,
            "group.consumer.session.timeout.ms": 60000, "group.streams.session.timeout.ms": 60000,
            "group.consumer.max.session.timeout.ms": 60000, "group.streams.initial.rebalance.delay.ms": 0}
GROUPS = ("simple", "emptied", "living", "consumers", "matching", "streams")
HISTORIES = ("living", "consumers", "streams")
VOLATILE = ("AuthorizedOperations", "ThrottleTimeMs")


# ---- what clients see

def plain(value):
    """An answer as JSON would have it, less what belongs to no group."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items() if k not in VOLATILE}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def described(client, group, api, version):
    field = "Groups" if api == "DescribeGroups" else "GroupIds"
    return plain(client.group(group, api, version, lambda v: [g["ErrorCode"] for g in v["Groups"]], **{field: [group]})["Groups"][0])


def seen(cluster, client):
    kinds = listed(cluster, client)
    offsets = {group: sorted([t, p, r["CommittedOffset"], r["CommittedLeaderEpoch"], r["Metadata"]]
                             for (t, p), r in client.rows(group).items()) for group in GROUPS}
    topics = json.loads(told(cluster, "topics", "list"))
    return plain({
        "groups": {group: list(kinds.get(group, ())) for group in GROUPS},
        "fillers": len([g for g in kinds if g.startswith("filler-")]),
        "offsets": offsets,
        "classic": {g: described(client, g, "DescribeGroups", 5) for g in ("emptied", "living")},
        "consumer": {g: described(client, g, "ConsumerGroupDescribe", 1) for g in ("consumers", "matching")},
        "streams": {g: described(client, g, "StreamsGroupDescribe", 1) for g in ("streams",)},
        "topics": topics,
        "config": configs(client, 32, "consumers", "consumer.session.timeout.ms"),
        "topic_config": configs(client, 2, "ta", "retention.ms"),
        "rebalances": {group: rebalances(cluster, group) for group in HISTORIES},
    })


def rebalances(cluster, group):
    history = json.loads(told(cluster, "groups", "history", group))
    return history["groups"][0]["rebalances"]


def told(cluster, *words):
    code, out, err = cluster.muster(*words, "--bootstrap", cluster.bootstrap(), "--json")
    check_equal(code, 0, f"muster {' '.join(words)}: {err.strip()}: exit status")
    return out


# ---- recording

def make(cluster, client):
    """Something of everything, most of it in snapshots, the last of it in the log only."""
    for name, partitions in (("ta", 4), ("tb", 2), ("gone", 1)):
        client.create_topic(name, partitions)
    client.commit("simple", {"gone": {0: 1}})
    client.grow_topic("tb", 3)
    client.delete_topic("gone")
    alter(client, 2, "ta", "retention.ms", "12345")
    alter(client, 32, "consumers", "consumer.session.timeout.ms", "50000")
    offsets = {0: (5, 3, "x y"), 1: (6, -1, ""), 2: (7, 0, "m" * 300)}
    client.commit("simple", {"ta": offsets})
    member, generation = client.alone("emptied", topics=("ta",))
    client.commit("emptied", {"ta": offsets}, generation, member)
    check_equal(set(client.leave("emptied", member)), {NONE}, "leave")
    member, generation = client.alone("living", topics=("ta",), session=60000, rebalance=60000)
    client.commit("living", {"ta": offsets}, generation, member)
    one = ConsumerMember(client, "consumers", "c1").join("ta", "tb")
    one.settle(7)
    two = ConsumerMember(client, "consumers", "c2").join("ta", "tb")  # what it is to have, the other one has not given up
    matching = ConsumerMember(client, "matching", "r").join(regex="t.*")
    matching.settle(7)
    streams = StreamsMember(client, "streams", "s").join(topology("ta", changelog="log"))
    streams.settle(4)

    def beat():
        for m in (one, two, matching, streams):
            m.beat()
        check_equal(client.heartbeat("living", generation, member), NONE, "heartbeat")
    fill(cluster, client, beat)
    client.commit("living", {"tb": {0: (77, 1, "in the log")}}, generation, member)
    return {"living": [member, generation], "epochs": {m.member: [m.group, m.epoch] for m in (one, two, matching, streams)}}


def record(test, number):
    cluster = test.cluster(settings=SETTINGS).start()
    client = cluster.client()
    told_of = {"members": make(cluster, client), "seen": seen(cluster, client)}
    cluster.run("stop")
    HERE.mkdir(exist_ok=True)
    with tarfile.open(HERE / f"{number}.tar.xz", "w:xz") as archive:
        for node in range(1, cluster.nodes + 1):
            archive.add(cluster.data(node), f"node-{node}/data", filter=nobodys)
    (HERE / f"{number}.json").write_text(json.dumps(told_of, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    say(f"recorded {HERE.name}/{number}.tar.xz, {(HERE / f'{number}.tar.xz').stat().st_size} bytes")


def nobodys(info):
    info.uid = info.gid = info.mtime = 0
    info.uname = info.gname = ""
    return info


# ---- opening

def unpack(cluster, number):
    shutil.rmtree(cluster.folder, ignore_errors=True)
    for node in range(1, cluster.nodes + 1):
        cluster.home(node).mkdir(parents=True)
    with tarfile.open(HERE / f"{number}.tar.xz") as archive:
        archive.extractall(cluster.folder)
    (cluster.folder / "shape").write_text(f"{cluster.nodes} {cluster.base_port}\n", encoding="utf-8")
    (cluster.folder / "formed").touch()


def go_on(client, members, when):
    """Each member is where it was, and what it commits is taken."""
    member, generation = members["living"]
    check_equal(client.heartbeat("living", generation, member), NONE, f"{when}: heartbeat of the classic member")
    client.commit("living", {"ta": {0: (5, 3, "x y")}}, generation, member)
    for name, (group, epoch) in members["epochs"].items():
        kind = StreamsMember if group == "streams" else ConsumerMember
        m = kind(client, group, name)
        m.epoch = epoch
        m.beat()
        check_equal(m.epoch, epoch, f"{when}: epoch of {name} of {group}")


def reads_offline(cluster, groups):
    for node in range(1, cluster.nodes + 1):
        code, out, err = cluster.muster("log", "dump", "--data", cluster.data(node), "--json", timeout=60)
        check_equal(code, 0, f"muster log dump of node {node}: {err.strip()[-300:]}: exit status")
        missing = [g for g in groups if g not in out]
        check(not missing, f"the log of node {node} does not tell of {missing}")
        before = {p.name: p.read_bytes() for p in cluster.data(node).iterdir()}
        for verb in (("verify",), ("stat",), ("state",), ("grep", "."), ("dump", "--format", "kafka")):
            code, _, err = cluster.muster("log", *verb, "--data", cluster.data(node), timeout=60)
            check_equal(code, 0, f"muster log {verb[0]} of node {node}: {err.strip()[-300:]}: exit status")
        check({p.name: p.read_bytes() for p in cluster.data(node).iterdir()} == before, f"files of node {node} changed by being read")


def opens(test, path):
    number = path.stem
    want = json.loads(path.read_text(encoding="utf-8"))
    cluster = test.cluster(name=f"format-{number}", settings=SETTINGS)
    cluster.base_port = PORT
    unpack(cluster, number)
    reads_offline(cluster, ["living"])
    for when in ("opened", "opened again"):
        cluster.start(fresh=False)
        client = Client(cluster.addresses())
        cluster.clients.append(client)
        now = seen(cluster, client)
        check_equal({what: now[what] for what in want["seen"]}, want["seen"], f"format {number}, {when}")
        go_on(client, want["members"], when)
        cluster.run("stop")
    say(f"format {number}: {len(want['seen']['groups'])} groups are as they were, twice")


def run(test):
    if test.options.record:
        test.port = PORT
        record(test, test.options.record)
        return
    recorded = sorted(HERE.glob("*.json"))
    check(recorded, f"no recorded formats in {HERE}")
    for path in recorded:
        opens(test, path)


if __name__ == "__main__":
    main(run, PORT, arguments=[("--record", {"type": int, "metavar": "N", "help": "make the files of format N from this build"})])
