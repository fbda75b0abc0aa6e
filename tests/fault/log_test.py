#!/usr/bin/env python3
"""`muster log` and --at on a cluster that works: offsets and groups as they were at moments that the test remembers, by time and by index, from a live node and from the folder of
one, while commits go on and the log is trimmed many times over; what nodes show as it comes; and no byte of a folder changes by being read."""
import hashlib
import json
import shutil
import subprocess
import threading
import time
from datetime import datetime, timezone

from faultlib.story import check, check_equal, main, say, until

GROUP = "orders-app"
SETTINGS = {"muster.shards": 2, "muster.log.segment.bytes": 1048576, "muster.log.retain.bytes": 65536, "muster.snapshot.interval.bytes": 65536,
            "muster.log.reserve.bytes": 131072, "muster.entry.max.bytes": 65536}
PADDING = "m" * 3000
MOMENTS = 8
BETWEEN = 100   # commits from one moment to the next: each is 3 KB, a moment is some five snapshots


def text_of(moment):
    return datetime.fromtimestamp(moment, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"


class Muster:
    def __init__(self, cluster):
        self.cluster = cluster

    def __call__(self, *words, code=0, data=None, live=False):
        where = ["--data", self.cluster.data(data)] if data else ["--bootstrap", self.cluster.bootstrap()] if live else []
        got, out, err = self.cluster.muster(*words, *where, timeout=60)
        check_equal(got, code, f"muster {' '.join(map(str, words))}: {err.strip()[-300:]}: exit status")
        return out

    def json(self, *words, **options):
        return json.loads(self(*words, "--json", **options))


def live_through(client):
    """A member that commits; at each moment: the wall time, the offset, the member's generation. Time passes between a moment and what comes behind it."""
    moments = []
    for k in range(1, MOMENTS + 1):
        member, generation = client.alone(GROUP, topics=("orders",), session=600000)
        for n in range(BETWEEN):
            client.commit("noise", {"orders": {1: (n, -1, PADDING)}})
        client.commit(GROUP, {"orders": {0: (1000 * k, -1, "")}}, generation, member)
        time.sleep(0.05)
        moments.append((time.time(), 1000 * k, member, generation))
        time.sleep(0.05)
        client.leave(GROUP, member)
    return moments


def offset_at(muster, at, **where):
    said = muster.json("offsets", "list", GROUP, "--at", at, **where)
    check_equal(len(said["asOf"]), 1, "shards that the answer is of")
    return said["groups"][0]["offsets"][0]["currentOffset"], said["asOf"][0]


def as_it_was(muster, moments):
    for when, offset, member, _ in moments:
        for where in ({"data": 1}, {"data": 2}, {"live": True}):
            got, as_of = offset_at(muster, text_of(when), **where)
            check_equal(got, offset, f"offset at {text_of(when)}, {where}")
            check(as_of["wallMs"] is None or as_of["wallMs"] <= when * 1000, f"as of {as_of}, asked for {when}")
        group = muster.json("groups", "describe", GROUP, "--at", text_of(when), data=3)["groups"][0]
        check_equal((group["state"], [m["memberId"] for m in group["members"]]), ("Stable", [member]), f"group at {text_of(when)}")
        listed = muster.json("groups", "list", "--at", text_of(when), data=2)["groups"]
        check(GROUP in [g["group"] for g in listed], f"groups at {text_of(when)}: {listed}")
    say(f"{len(moments)} moments: offsets and members as they were, from two folders and a live node")


def by_index(muster, moments):
    """The commit of each moment by the log itself; before that entry the offset is the one of the moment before."""
    commits = [json.loads(line) for line in muster("log", "dump", "--group", GROUP, "--type", "OffsetCommit", "--json", data=1).splitlines()]
    entries = {c["record"]["value"]["offset"]: c for c in commits if c["record"]["value"]}
    for _, offset, _, _ in moments[1:]:
        index = entries[offset]["index"]
        got, as_of = offset_at(muster, index, data=1)
        check_equal((got, as_of["index"]), (offset, index), f"offset as of entry {index}")
        check_equal(offset_at(muster, index - 1, live=True)[0], offset - 1000, f"offset as of entry {index - 1}")
    state = muster("log", "state", "--group", GROUP, "--at", entries[3000]["index"], data=1)
    check("As of entry" in state and "offset=3000" in state, state[:300])
    muster("offsets", "list", GROUP, "--at", 10**12, data=1, code=1)
    muster("offsets", "list", GROUP, "--at", "2020-01-01", data=1, code=1)
    say("the same by index: each commit counts from its own entry on")


def follow(muster, client):
    """Both ways of following show what is committed meanwhile, and nothing of before."""
    cluster = muster.cluster
    seen = {}
    runs = {}
    for name, where in (("live", ["--bootstrap", cluster.bootstrap()]), ("folder", ["--data", str(cluster.data(2))])):
        runs[name] = subprocess.Popen([str(cluster.bin / "muster"), "log", "follow", "--group", "followed", "--type", "OffsetCommit", "--json", *where],
                                      stdout=subprocess.PIPE, text=True)
        seen[name] = []
        threading.Thread(target=lambda n=name: seen[n].extend(json.loads(line) for line in runs[n].stdout), daemon=True).start()
    time.sleep(1.0)
    for n in range(40):
        client.commit("followed", {"orders": {0: n}})
        client.commit("noise", {"orders": {1: (n, -1, PADDING)}})
    try:
        for name in runs:
            until(f"{name}: follow has shown 40 commits", lambda n=name: len(seen[n]) >= 40, 20, 0.1)
            check_equal([s["record"]["value"]["offset"] for s in seen[name]], list(range(40)), f"{name}: what follow showed")
    finally:
        for run in runs.values():
            run.terminate()
            run.wait(10)
    say("follow: 40 commits as they came, from a live node and from a folder that grew")


def under_load(muster, client):
    """All verbs on a folder that is written to, trimmed and snapshotted meanwhile: no damage is seen where there is none."""
    done = threading.Event()
    failures = []
    shard = json.loads(muster("log", "dump", "--group", GROUP, "--json", data=1).splitlines()[0])["shard"]

    def load():
        n = 0
        while not done.is_set():
            client.commit("noise", {"orders": {1: (n, -1, PADDING)}})
            n += 1
    thread = threading.Thread(target=load)
    thread.start()
    try:
        for _ in range(2):
            for words in (("log", "stat"), ("log", "verify"), ("log", "state", "--group", GROUP), ("log", "grep", "offset=1000 ", "--shard", shard, "--to", 10)):
                for where in ({"data": 1}, {"live": True}):
                    try:
                        muster(*words, *(["--disk"] if "live" in where and "grep" in words else []), **where)
                    except Exception as e:  # told below: the load has to end first
                        failures.append(f"{words} {where}: {e}")
    finally:
        done.set()
        thread.join()
    check(not failures, "; ".join(failures)[:1000])
    say("stat, verify, state and grep while commits went on: nothing wrong was seen")


def fingerprint(folder):
    return {p.name: (p.stat().st_mtime_ns, hashlib.sha256(p.read_bytes()).hexdigest()) for p in sorted(folder.iterdir())}


def untouched(muster, moments):
    folder = muster.cluster.data(1)
    before = fingerprint(folder)
    check(sum(name.startswith("past-") for name in before) > 3, f"no history: {list(before)}")
    states = set()
    for words in (("dump",), ("dump", "--all", "--json"), ("dump", "--format", "kafka"), ("grep", "orders"), ("stat",), ("state",),
                  ("diff", "--with", muster.cluster.data(2)), ("diff", "--with", muster.cluster.data(3)), ("verify",)):
        muster("log", *words, data=1)
    for node in (1, 2, 3):
        verified = muster.json("log", "verify", data=node)
        states.add(json.dumps([(s["shard"], s["stateHash"]) for s in verified["shards"]]))
        check(verified["snapshotsCompared"] >= 8, f"node {node}: only {verified['snapshotsCompared']} snapshots were compared")
    check_equal(len(states), 1, "states that the nodes' logs make")
    check_equal(offset_at(muster, text_of(moments[0][0]), data=1)[0], 1000, "the first moment, from a stopped node")
    check_equal(fingerprint(folder), before, "files after they were read")
    say(f"stopped: every verb; {len(before)} files as they were, byte for byte and by their times")


def damaged_history(muster, folder):
    """Old files are cut and changed: it is said, what is newer is read, and the node starts."""
    copy = folder / "damaged"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(muster.cluster.data(1), copy)
    past = sorted(copy.glob("past-*"))[1]
    data = bytearray(past.read_bytes())
    data[len(data) // 3] ^= 4
    past.write_bytes(data)
    code, out, err = muster.cluster.muster("log", "verify", "--data", copy, timeout=60)
    check(code == 5 and past.name in err and "history" in err, f"exit code {code}: {err}")
    check("SHARD" in out, out)
    check_equal(json.loads(muster.cluster.muster("offsets", "list", GROUP, "--at", "now", "--data", copy, "--json")[1])
                ["groups"][0]["offsets"][0]["currentOffset"], 1000 * MOMENTS, "the newest offset, from the damaged copy")
    say("a flipped bit in old log files: named as history; what is newer is there")


def run(test):
    cluster = test.cluster(settings=SETTINGS).start()
    muster = Muster(cluster)
    client = cluster.client()
    client.create_topic("orders", 2)
    moments = live_through(client)
    as_it_was(muster, moments)
    by_index(muster, moments)
    follow(muster, client)
    under_load(muster, client)
    cluster.restart(1)
    cluster.wait()
    as_it_was(muster, moments[:2])
    cluster.run("stop")
    untouched(muster, moments)
    damaged_history(muster, test.folder)


if __name__ == "__main__":
    main(run, 24252)
