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

from faultlib.clock import Clocks
from faultlib.story import check, check_equal, main, say, until
from faultlib.terminal import run_on_terminal

GROUP = "orders-app"
SETTINGS = {"muster.shards": 2, "muster.log.segment.bytes": 1048576, "muster.log.retain.bytes": 65536, "muster.snapshot.interval.bytes": 65536,
            "muster.log.reserve.bytes": 131072, "muster.entry.max.bytes": 65536,
            "muster.state.hash.interval": 50}
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
    shard, last = seen["live"][0]["shard"], seen["live"][-1]["index"]
    for where in ({"live": True}, {"data": 2}):
        words = ("log", "follow", "--group", "followed", "--type", "OffsetCommit", "--json")
        said = [json.loads(line) for line in muster(*words, "--shard", shard, "--from", last - 3, "--to", last, **where).splitlines()]
        check_equal(said[-1]["index"], last, f"{where}: the last entry of follow --to {last}")
        muster(*words, "--until", "now", **where)
    say("follow --to and --until end by themselves")


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


def right_after(muster, client):
    """What was acknowledged is in what any node shows next, whoever leads."""
    cluster = muster.cluster
    for n in range(12):
        client.commit("at-once", {"orders": {0: n}})
        node = "%s:%d" % cluster.address(n % cluster.nodes + 1)
        code, said, err = cluster.muster("log", "dump", "--group", "at-once", "--type", "OffsetCommit", "--json", "--bootstrap", node)
        check(code == 0 and "are not shown" not in err, f"log dump of {node}: {code} {err}")
        shown = [json.loads(line)["record"]["value"]["offset"] for line in said.splitlines()]
        check_equal(shown, list(range(n + 1)), f"commits that node {n % cluster.nodes + 1} shows right after the last")
    say("dump of each node in turn, right after a commit: it is there")
    compared = muster.json("log", "diff", "--node", 1, "--with-node", 2, live=True)["shards"]
    check(any(s["same"] > 100 for s in compared) and all(s["different"] == 0 for s in compared), f"diff of two live nodes: {compared}")
    say("diff of two live nodes: what both have is the same")


HOUR = 3600


def clock_set_back(muster, client, clocks):
    """The same time comes twice; by the shard's clock it comes once."""
    group = "twice"
    commits = []
    for n, shift in enumerate((0, 0, -HOUR, -HOUR)):
        for node in range(1, 4):
            clocks.step(node, shift)
        client.commit(group, {"orders": {0: n}})
        commits.append(time.time() + shift)
        time.sleep(0.3)
    entries = [json.loads(line) for line in muster("log", "dump", "--group", group, "--type", "OffsetCommit", "--json", data=1).splitlines()]
    check_equal([e["record"]["value"]["offset"] for e in entries], [0, 1, 2, 3], "commits in the log")
    check(entries[2]["wallMs"] < entries[0]["wallMs"] - HOUR * 900, "the step back did not reach the coordinator")
    readings = [e["shardClockMs"] for e in entries]
    check(all(0 <= b - a < 60000 for a, b in zip(readings, readings[1:])), f"the shard's clock jumped: {readings}")
    for where in (["--data", muster.cluster.data(2)], ["--bootstrap", muster.cluster.bootstrap()]):
        words = ["offsets", "list", group, "--json", *where, "--at"]
        code, out, err = muster.cluster.muster(*words, text_of((entries[0]["wallMs"] + entries[1]["wallMs"]) / 2000), timeout=60)
        check(code == 0 and "wall clocks went back" in err and f"clock:{entries[3]['shardClockMs']}" in err, f"a time that was twice: {code} {err}")
        check_equal(json.loads(out)["groups"][0]["offsets"][0]["currentOffset"], 0, "the offset at a time that was twice")
        for n, reading in enumerate(readings):
            code, out, err = muster.cluster.muster(*words, f"clock:{reading}", timeout=60)
            check(code == 0 and not err, f"at clock:{reading}: {code} {err}")
            check_equal(json.loads(out)["groups"][0]["offsets"][0]["currentOffset"], n, f"the offset at clock:{reading}")
    say("wall clocks set back by an hour: a time is said to be there twice; by the shard's clock each commit has its own")


def progress(muster, backup):
    """On a terminal long work shows how far it is, and nothing of that is left; a pipe gets nothing of it."""
    cluster = muster.cluster
    folder, copy = cluster.folder / "progress", cluster.folder / "recovered"
    for old in (folder, copy):
        shutil.rmtree(old, ignore_errors=True)
    shutil.copytree(cluster.data(1), copy)
    data = ["--data", cluster.data(1)]
    for words, what in ((["log", "verify", *data], "KiB of the log read"),
                        (["log", "verify", "--checksums", *data], "KiB of the log read"),
                        (["log", "stat", *data], "KiB of the log looked through"),
                        (["log", "diff", *data, "--with", cluster.data(2)], "KiB of the log looked through"),
                        (["log", "state", *data], "snapshots"),
                        (["log", "dump", "--json", *data], "KiB of the log looked through"),
                        (["log", "grep", "orders", *data], "KiB of the log looked through"),
                        (["offsets", "list", GROUP, "--at", "now", *data], "KiB of the log searched"),
                        (["groups", "history", GROUP, "--at", "now", *data], "KiB of the log searched"),
                        (["snapshot", "verify", backup], "shards"),
                        (["snapshot", "restore", backup, "--node-id", "1", "--peers", "1@127.0.0.1:1", "--data", folder], "shards"),
                        (["cluster", "recover", "--data", copy, "--force-new-cluster"], "snapshots")):
        code, out, sent = run_on_terminal([cluster.bin / "muster", *words])
        check_equal(code, 0, f"muster {' '.join(map(str, words))}: {sent[-300:]}: exit status")
        check(f"{what} [" in sent, f"muster {words[0]} {words[1]}: a terminal was sent {sent!r}, without '{what}'")
        check("[" not in sent.rsplit("\r\x1b[K", 1)[1], f"muster {words[0]} {words[1]}: left on the terminal: {sent[-200:]!r}")
        check("\x1b" not in out and "\r" not in out, f"muster {words[0]} {words[1]}: in the pipe: {out[-200:]!r}")
    _, _, err = cluster.muster("log", "verify", *data)
    check_equal(err, "", "standard error that is a pipe")
    say("how far long work is: on a terminal, wiped at the end, and nowhere else")


def fingerprint(folder):
    return {p.name: (p.stat().st_mtime_ns, hashlib.sha256(p.read_bytes()).hexdigest()) for p in sorted(folder.iterdir())}


def untouched(muster, moments):
    folder = muster.cluster.data(1)
    before = fingerprint(folder)
    check(sum(name.startswith("past-") for name in before) >= 2, f"no history: {list(before)}")
    states = set()
    for words in (("dump",), ("dump", "--all", "--json"), ("dump", "--format", "kafka"), ("grep", "orders"), ("stat",), ("state",),
                  ("diff", "--with", muster.cluster.data(2)), ("diff", "--with", muster.cluster.data(3)), ("verify",)):
        muster("log", *words, data=1)
    for node in (1, 2, 3):
        verified = muster.json("log", "verify", data=node)
        states.add(json.dumps([(s["shard"], s["stateHash"]) for s in verified["shards"]]))
        check(verified["snapshotsCompared"] >= 8, f"node {node}: only {verified['snapshotsCompared']} snapshots were compared")
        check(verified["hashesCompared"] >= 8, f"node {node}: only {verified['hashesCompared']} of {verified['hashes']} hashes in the log were compared")
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
    right_after(muster, client)
    clock_set_back(muster, client, Clocks(cluster, test.bin / "tests/libclock_shift.so"))
    backup = test.folder / "day.backup"
    muster("snapshot", "save", backup, "--force", live=True)
    cluster.run("stop")
    untouched(muster, moments)
    progress(muster, backup)
    damaged_history(muster, test.folder)


if __name__ == "__main__":
    main(run, 24252)
