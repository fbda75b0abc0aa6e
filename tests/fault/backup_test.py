#!/usr/bin/env python3
"""A backup taken under load while coordinators are killed, restored into a new cluster.

Everything that was acknowledged before the save began is in the file; what is in the file was sent. Old and new cluster refuse each other's nodes.
A damaged file is refused, with the place.
"""
import json
import shutil
import subprocess
import threading
import time

from faultlib.client import Lost, Refused
from faultlib.configs import alter, configs
from faultlib.consumer import ConsumerMember
from faultlib.load import Committer, World
from faultlib.protocol import NONE
from faultlib.story import check, check_equal, main, say, until
from faultlib.streams import StreamsMember, topology

GROUPS = 24
IDLE_GROUPS = 400       # so that a save takes a moment
ROUNDS = 3
# Nobody beats for the members while the saves go on, however slow the machine.
SETTINGS = {"muster.snapshot.interval.bytes": 262144, "group.consumer.session.timeout.ms": 600000, "group.consumer.max.session.timeout.ms": 600000,
            "group.streams.session.timeout.ms": 600000, "group.streams.max.session.timeout.ms": 600000, "group.streams.initial.rebalance.delay.ms": 0}


class Changes(threading.Thread):
    """Topics that come and go: every shard drops the offsets of those that went, and so acts on the catalogue."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.client = cluster.client()
        self.stopped = False
        self.count = 0

    def run(self):
        turn = 0
        while not self.stopped:
            name = f"passing-{turn}"  # what an error left behind has another one
            turn += 1
            try:
                self.client.create_topic(name, 2)
                self.client.commit(f"g{self.count % 20}", {name: {0: 1}})
                self.client.delete_topic(name)
                self.count += 1
            except (Lost, Refused, OSError):
                time.sleep(0.02)


def prepare(cluster, world):
    client = cluster.client()
    client.create_topic("t", 4)
    code, _, err = cluster.muster("topics", "set-end", "t", 1000, "--bootstrap", cluster.bootstrap())
    check_equal(code, 0, err)
    for n in range(IDLE_GROUPS):
        client.commit(f"idle-{n}", {"t": {p: (n, 3, "m" * 200) for p in range(4)}})
    member, generation = client.alone("members", session=600000, rebalance=600000)
    client.commit("members", {"t": {0: 7}}, generation, member)
    modern = ConsumerMember(client, "modern", "one").join("t")
    modern.settle(4)
    streams = StreamsMember(client, "streams", "two")
    streams.join(topology("t"))
    streams.settle(4)
    alter(client, 32, "modern", "consumer.session.timeout.ms", "510000")
    alter(client, 2, "t", "retention.ms", "123456")
    committers = [Committer(world, f"g{n}", "t", 0.002) for n in range(GROUPS)]
    for actor in committers:
        actor.begin()
    check(world.run(20, lambda: all(c.acked > 10 for c in committers)), "the committers do not get going")
    return committers, (member, generation), [modern, streams]


def save(cluster, path):
    return subprocess.Popen([str(cluster.bin / "muster"), "snapshot", "save", str(path), "--force", "--json", "--bootstrap", cluster.bootstrap()],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def verify(cluster, path, code=0):
    got, out, err = cluster.muster("snapshot", "verify", path, "--json")
    check_equal(got, code, f"muster snapshot verify: {err.strip()}")
    return json.loads(out) if code == 0 else err


def one_save(cluster, world, committers, path, victim, later):
    """Saves while the load goes on and the victim dies; ({group: acknowledged before}, {group: sent by the end})."""
    acked = {c.group: c.acked for c in committers}
    begun = time.monotonic()
    process = save(cluster, path)
    world.run(later)
    cluster.kill(victim)
    check(world.run(40, lambda: process.poll() is not None), "muster snapshot save does not end")
    sent = {c.group: c.sent for c in committers}
    out, err = process.communicate()
    check_equal(process.returncode, 0, f"muster snapshot save: {err.strip()}")
    saved = json.loads(out)
    shown = verify(cluster, path)
    check_equal(sorted((s["shard"], s["index"], s["stateHash"]) for s in saved["shards"]),
                sorted((s["shard"], s["index"], s["stateHash"]) for s in shown["shards"]), "what was saved, verified")
    say(f"saved {saved['bytes']} bytes in {1000 * (time.monotonic() - begun):.0f} ms with the verification, node {victim} killed "
        f"{later * 1000:.0f} ms after the begin, {err.count('is begun again')} shards begun again")
    return acked, sent


def saves_at_once(cluster, path):
    """Of one file: whoever says that it is saved has saved all of it."""
    for _ in range(5):
        processes = [save(cluster, path) for _ in range(3)]
        for process in processes:
            out, err = process.communicate()
            check_equal(process.returncode, 0, f"muster snapshot save beside others: {err.strip()}")
            check(json.loads(out)["bytes"] > 1000, f"a backup of {json.loads(out)['bytes']} bytes")
        verify(cluster, path)
    left = sorted(p.name for p in path.parent.glob(f"{path.name}*"))
    check_equal(left, [path.name], "files of the backup")
    say("three saves of one file at once, five times: each whole, and nothing left beside it")


def restore(path, cluster, token):
    """Makes the folders of a new cluster and starts it; nobody forms it."""
    peers = ",".join(f"{n}@127.0.0.1:{cluster.address(n)[1] + 1}" for n in range(1, cluster.nodes + 1))
    shutil.rmtree(cluster.folder, ignore_errors=True)
    ids = set()
    for node in range(1, cluster.nodes + 1):
        cluster.home(node).mkdir(parents=True)
        code, out, err = cluster.muster("snapshot", "restore", path, "--node-id", node, "--peers", peers, "--data", cluster.data(node),
                                        "--token", token, "--json")
        check_equal(code, 0, f"muster snapshot restore: {err.strip()}")
        ids.add(json.loads(out)["clusterId"])
    check_equal(len(ids), 1, "cluster ids of the restored folders")
    (cluster.folder / "shape").write_text(f"{cluster.nodes} {cluster.base_port}\n")
    (cluster.folder / "formed").touch()
    return ids.pop()


def compare(client, committers, acked, sent):
    for c in committers:
        got = client.offsets(c.group, {"t": [0]})[("t", 0)]
        check(acked[c.group] <= got <= sent[c.group],
              f"{c.group}: {got} in the new cluster; acknowledged before the save {acked[c.group]}, sent by its end {sent[c.group]}")
    for n in range(IDLE_GROUPS):
        rows = client.rows(f"idle-{n}", {"t": [0, 1, 2, 3]})
        check_equal({(r["CommittedOffset"], r["CommittedLeaderEpoch"], r["Metadata"]) for r in rows.values()}, {(n, 3, "m" * 200)}, f"idle-{n}")


def settings_of(client):
    return configs(client, 32, "modern", "consumer.session.timeout.ms") + configs(client, 2, "t", "retention.ms")


def topics_of(cluster):
    code, out, err = cluster.muster("topics", "describe", "t", "--json", "--bootstrap", cluster.bootstrap())
    check_equal(code, 0, err)
    topic = json.loads(out)["topics"][0]
    return topic["topicId"], [p["logEndOffset"] for p in topic["partitions"]]


def damaged(cluster, path, folder):
    data = bytearray(path.read_bytes())
    bad = folder / "bad.backup"
    for what, content in (("flipped", data[:len(data) // 2] + bytes([data[len(data) // 2] ^ 4]) + data[len(data) // 2 + 1:]),
                          ("cut", data[:-100]), ("nothing", b"")):
        bad.write_bytes(content)
        err = verify(cluster, bad, 5)
        check("at byte" in err, f"{what}: no place in {err!r}")
        target = folder / "refused"
        code, _, again = cluster.muster("snapshot", "restore", bad, "--node-id", 1, "--peers", "1@127.0.0.1:1", "--data", target)
        check_equal(code, 5, f"restore of a file that is {what}: {again.strip()}")
        check(not any(target.iterdir()) if target.exists() else True, f"something is left in {target}")
        say(f"{what}: {err.strip()}")
    bad.unlink()


def strangers(old, new, path):
    """A node of the old cluster at the address of one of the new: both sides refuse."""
    new.kill(3)
    new.await_end(3)
    kept = new.folder / "kept"
    new.data(3).rename(kept)
    peers = ",".join(f"{n}@127.0.0.1:{new.address(n)[1] + 1}" for n in (1, 2, 3))
    for what in ("restored with another token", "of the old cluster"):
        if what == "of the old cluster":
            shutil.copytree(old.data(3), new.data(3))
        else:
            code, _, err = new.muster("snapshot", "restore", path, "--node-id", 3, "--peers", peers, "--data", new.data(3), "--token", "other")
            check_equal(code, 0, err)
        mark = len(new.log(3))
        new.restart(3)
        until(f"node 3, {what}, is refused by node 1 and refuses it", lambda: all(
            f'evt={event} node=3 peer=1' in new.log(3)[mark:] for event in ("peer_not_accepted", "peer_refused")), 10)
        check("peer=3" in new.log(1) and "it belongs to another cluster" in new.log(1), "node 1 does not say why it refuses node 3")
        new.kill(3)
        new.await_end(3)
        shutil.rmtree(new.data(3))
        say(f"node 3 {what}: refused, and it refuses")
    kept.rename(new.data(3))
    new.restart(3)
    new.wait()


def run(test):
    old = test.cluster(settings=SETTINGS).start()
    world = World(old.addresses())
    committers, (member, generation), modern = prepare(old, world)
    changes = Changes(old)
    changes.start()
    path = test.folder / "cluster.backup"
    for turn in range(ROUNDS):
        victim = turn % 3 + 1
        acked, sent = one_save(old, world, committers, path, victim, 0.004 * turn)
        check(not world.broken, "; ".join(world.broken))
        old.restart(victim)
        old.wait()
        old.spread()
    changes.stopped = True
    changes.join(15)
    check(changes.count > 3, f"only {changes.count} topics came and went")
    topic, settings = topics_of(old), settings_of(old.client())
    check_equal([row[1] for row in settings], ["510000", "123456"], "configs")
    world.close()
    check(not world.broken, "; ".join(world.broken))
    saves_at_once(old, test.folder / "same.backup")
    damaged(old, path, test.folder)
    new = test.cluster("new", 2, settings=SETTINGS)
    cluster_id = restore(path, new, "second site")
    check(cluster_id != old.status()["clusterId"], "the new cluster has the id of the old one")
    old.run("stop")
    begun = time.monotonic()
    new.start(fresh=False)
    say(f"the new cluster {cluster_id} serves {1000 * (time.monotonic() - begun):.0f} ms after its start, unformed by anybody")
    check_equal(new.status()["clusterId"], cluster_id, "cluster id")
    fresh = new.client()
    compare(fresh, committers, acked, sent)
    check_equal(topics_of(new), topic, "topic t")
    check_equal(fresh.heartbeat("members", generation, member), NONE, "the classic member's heartbeat")
    fresh.commit("members", {"t": {0: 8}}, generation, member)
    check_equal(settings_of(fresh), settings, "configs")
    for m in modern:
        moved = type(m)(fresh, m.group, m.member)
        moved.epoch = m.epoch
        moved.beat()
        check_equal((moved.epoch, moved.describe()["GroupState"]), (m.epoch, "Stable"), f"epoch of the member of {m.group}, state of the group")
    say("offsets, members, topics, configs: all there; members go on where they were")
    strangers(old, new, path)
    compare(fresh, committers, acked, sent)
    new.run("stop")


if __name__ == "__main__":
    main(run, 25408)
