#!/usr/bin/env python3
"""Field case B47: the tool that shows the log, on what is imperfect (KAFKA-9293: null fields and tombstones; etcd 13880: no entry behind a snapshot; etcd 4925: a running node's log)."""
import hashlib
import json
import os
import shutil
import subprocess

from faultlib.story import check, main, say

OK, TORN, CORRUPT = 0, 4, 5
LAST_BYTES = 200
SETTINGS = {"muster.shards": 1, "muster.snapshot.interval.bytes": 65536, "muster.log.segment.bytes": 1048576, "muster.log.reserve.bytes": 131072,
            "muster.entry.max.bytes": 65536}
VERBS = (("dump",), ("dump", "--all", "--json"), ("dump", "--format", "kafka"), ("grep", "."), ("stat",), ("state",), ("verify",))


def fingerprint(folder):
    return {p.name: (p.stat().st_mtime_ns, hashlib.sha256(p.read_bytes()).hexdigest()) for p in sorted(folder.iterdir())}


class Reader:
    """`muster log` on a folder, of which it must change nothing."""

    def __init__(self, test):
        self.muster = test.bin / "muster"

    def __call__(self, folder, *words, **options):
        done = subprocess.run([str(self.muster), "log", *words, "--data", str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=60, check=False, **options)
        check(done.returncode in (OK, TORN, CORRUPT), f"log {' '.join(words)} of {folder.name}: exit code {done.returncode}: {done.stderr[-300:]}")
        return done.returncode, done.stdout, done.stderr

    def still(self, folder, *words):
        before = fingerprint(folder)
        said = self(folder, *words)
        check(fingerprint(folder) == before, f"log {' '.join(words)} has changed a file of {folder.name}")
        return said


def story(client):
    """Two groups with members whose subscriptions have null user data; one has offsets that are withdrawn, the other one is deleted."""
    client.create_topic("orders", 2)
    for group in ("kept", "gone"):
        member, generation = client.alone(group, topics=("orders",), session=60000)
        client.commit(group, {"orders": {0: 17, 1: 4}}, generation, member)
        client.leave(group, member)
    check(client.delete_group("gone") == 0, "the group is not deleted")
    for n in range(40):
        client.commit("kept", {"orders": {0: 100 + n}})


def of_a_running_node(cluster, read):
    """As somebody who may read and nothing else, where the test may become one."""
    home = {**os.environ, "HOME": "/nonexistent"}
    stranger = {"user": 65534, "group": 65534, "extra_groups": [], "env": home} if os.geteuid() == 0 else {}
    for words in VERBS:
        try:
            code, out, err = read(cluster.data(1), *words, **stranger)
        except PermissionError:     # the way to the programs is not open to everybody, or there is no such user here
            stranger = {}
            code, out, err = read(cluster.data(1), *words)
        check(code == OK and out, f"log {' '.join(words)} of a running node: exit code {code}: {err}")
    check(cluster.pid(1) is not None, "the node whose log was read is gone")
    return "as somebody who may only read" if stranger else "as whom the test runs"


def copy_of(folder, name, change=None):
    copy = folder.parent / name
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    if change is not None:
        change(copy)
    return copy


def end_of(path):
    return len(path.read_bytes().rstrip(b"\0"))


def cut_anywhere(folder, read, segment, step):
    """The end of the log is gone: what is whole before it is shown, in the same words, and where the tail begins."""
    end, data = end_of(folder / segment), (folder / segment).read_bytes()
    _, whole, _ = read(folder, "dump", "--all")
    codes = []
    copy = copy_of(folder, "cut")
    for length in range(end - LAST_BYTES, end, step):
        (copy / segment).write_bytes(data[:length])
        code, out, err = read.still(copy, "dump", "--all")
        check(code in (OK, TORN) and (code == OK or f"torn tail: {segment}, offset " in err), f"cut at {length}: exit code {code}: {err}")
        check(out and whole.replace("(erased) ", "").startswith(out.replace("(erased) ", "")), f"cut at {length}: not the beginning of the whole is shown")
        codes.append(code)
    check(TORN in codes, "no cut was told")
    return len(codes)


def run(test):
    """Every verb on the log of a running node, and on copies that are cut, flipped, emptied or without a log: nothing crashes, what is whole is shown, the place of the damage is told."""
    cluster = test.cluster(settings=SETTINGS).start()
    read = Reader(test)
    story(cluster.client())
    how = of_a_running_node(cluster, read)
    cluster.run("stop")
    folder = cluster.data(1)
    segment = sorted(p.name for p in folder.glob("log-*.seg"))[-1]
    check(end_of(folder / segment) < (folder / segment).stat().st_size, "the last segment has no tail of zeros")
    for words in VERBS:
        code, out, err = read.still(folder, *words)
        check((code, err) == (OK, "") and out, f"log {' '.join(words)} with a tail of zeros: exit code {code}: {err}")
    lines = [json.loads(line) for line in read(folder, "dump", "--json")[1].splitlines()]
    records = [line["record"] for line in lines if line.get("record")]
    check(any(r["value"] is None and "gone" in json.dumps(r["key"]) for r in records), "the deletion of a group is not shown with its key")
    check(any("orders" in json.dumps(r["decoded"]) for r in records if r.get("decoded")), "a subscription with null user data is not shown")
    cuts = cut_anywhere(folder, read, segment, 7 if test.sanitized() else 1)

    def flip(copy):
        data = bytearray((copy / segment).read_bytes())
        data[end_of(copy / segment) // 2] ^= 0x10
        (copy / segment).write_bytes(data)
    damaged = (("flipped", flip), ("emptied", lambda copy: (copy / segment).write_bytes(b"")),
               ("without", lambda copy: [p.unlink() for p in copy.glob("log-*.seg")]))
    for name, change in damaged:
        copy = copy_of(folder, name, change)
        for words in VERBS:
            code, _, err = read.still(copy, *words)
            check(code == CORRUPT and ".seg" in err, f"{name}: log {' '.join(words)}: exit code {code}: {err}")
    say(f"the log of a running node, {how}; {cuts} cuts, a flipped byte, an empty and a missing log: told, and no file was changed")


if __name__ == "__main__":
    main(run, 28000)
