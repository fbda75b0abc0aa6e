#!/usr/bin/env python3
"""Streams groups on bad days: an emptied classic group that became one and is loaded from a snapshot (KAFKA-20254), clocks that jump while members
heartbeat (etcd 12291), coordinators killed while tasks are given out and taken back, and no task with two owners."""
import time

from faultlib.clock import Clocks
from faultlib.protocol import NONE
from faultlib.story import check, check_equal, main, say, until
from faultlib.streams import StreamsMember, describe, topology

SETTINGS = {"muster.entry.max.bytes": 65536, "muster.log.segment.bytes": 1048576, "muster.log.retain.bytes": 65536,
            "muster.snapshot.interval.bytes": 65536, "muster.log.reserve.bytes": 131072, "group.streams.min.session.timeout.ms": 1000,
            "group.streams.session.timeout.ms": 5000, "group.streams.heartbeat.interval.ms": 500, "group.streams.min.heartbeat.interval.ms": 100,
            "group.streams.initial.rebalance.delay.ms": 0}
SESSION_S = 5.0


def listed(cluster, client):
    """{group: (type, state)}, once every node answers."""
    def all_nodes():
        answers = [client.list_groups(address) for address in cluster.addresses()]
        return all(code == NONE for code, _ in answers) and [g for _, groups in answers for g in groups]
    return {g["GroupId"]: (g["GroupType"].lower(), g["GroupState"]) for g in until("ListGroups of all nodes", all_nodes, 10)}


def converted(cluster, client):
    """B13: the offset of the classic group stays through conversion, snapshots and a restart of everything."""
    member, generation = client.alone("b13", topics=("ta",))
    client.commit("b13", {"ta": {0: 42}}, generation, member)
    check_equal(set(client.leave("b13", member)), {NONE}, "leave")
    streams = StreamsMember(client, "b13")
    streams.join(topology("ta", changelog="b13-log"))
    streams.settle(2)
    epoch = streams.epoch
    fill(cluster, client)
    cluster.kill(1, 2, 3)
    cluster.run("start")
    cluster.wait()
    seen = describe(client, "b13")
    check_equal((seen["ErrorCode"], seen["GroupState"], len(seen["Members"])), (NONE, "Stable", 1), "the group after the restart")
    check_equal(listed(cluster, client)["b13"], ("streams", "Stable"), "as listed")
    check_equal(client.offsets("b13", {"ta": [0]}), {("ta", 0): 42}, "the classic group's offset")
    streams.beat()
    check_equal(streams.epoch, epoch, "the member's epoch")
    say("a classic group that became a streams group came back from snapshots as one, offset and member and all")
    streams.leave()


def fill(cluster, client):
    """Commits until every shard had to take a snapshot and trim its log."""
    def done():
        for n in range(24):
            client.commit(f"filler-{n}", {"ta": {p: (1, 0, "f" * 3000) for p in range(2)}})
        return all(r["snapshotIndex"] and r["firstIndex"] > 1 for s in cluster.status()["shards"] for r in s["replicas"])
    until("snapshots of all shards", done, 60)


def owners(members):
    """Fails when two members were told the same task without the first having confirmed that it gave it up."""
    seen = {}
    for m in members:
        for task in m.tasks:
            check(task not in seen, f"task {task} belongs to {seen.get(task)} and to {m.member}")
            seen[task] = m.member
    return set(seen)


def confirm(member):
    """A heartbeat that says what it has, which confirms what it was told to give up."""
    tasks = [{"SubtopologyId": "0", "Partitions": sorted(p for _, p in member.tasks)}] if member.tasks else []
    member.must(member.epoch, ActiveTasks=tasks, StandbyTasks=[], WarmupTasks=[])


def failovers(cluster, client):
    """Members come and go while coordinators are killed: tasks move, none has two owners, nobody is fenced, epochs never go back."""
    members = []
    epochs = {}
    for turn in range(6):
        new = StreamsMember(client, "moving", f"m{turn}")
        new.join(topology("tb"))
        members.append(new)
        if turn % 2 == 1:
            node = cluster.coordinator(client, "moving")
            cluster.kill(node)
            for m in members:
                confirm(m)
                owners(members)
            cluster.restart(node)
            cluster.wait()

        def settled():
            for m in members:
                confirm(m)
                check(m.epoch >= epochs.get(m.member, 0), f"the epoch of {m.member} went back to {m.epoch}")
                epochs[m.member] = m.epoch
                owners(members)
            return len(owners(members)) == 12 and describe(client, "moving")["GroupState"] == "Stable"
        until(f"{len(members)} members share 12 tasks", settled, 30)
    say("six members joined, three coordinators were killed meanwhile: each task has one owner, everybody his epoch")
    for m in members[:3]:
        m.leave()
    members = members[3:]

    def shared():
        for m in members:
            confirm(m)
            owners(members)
        return len(owners(members)) == 12
    until("three members share what the others left", shared, 30)
    for m in members:
        m.leave()


def jumps(cluster, client, clocks):
    """B27: sessions are measured on nobody's wall clock."""
    living = [StreamsMember(client, f"clock-{n}") for n in range(4)]
    silent = StreamsMember(client, "clock-silent")
    for m in [*living, silent]:
        m.join(topology("ta"))
    begun = None
    for seconds in (3600, -3600, 0):
        for node in range(1, 4):
            clocks.step(node, seconds)
        end = time.monotonic() + SESSION_S
        while time.monotonic() < end:
            for m in living:
                m.beat()
            if begun is None:
                silent.beat()
            time.sleep(0.2)
        if begun is None:
            begun = time.monotonic()
    check_equal({len(describe(client, m.group)["Members"]) for m in living}, {1}, "members that heartbeat while clocks jump")
    until("the silent member is removed", lambda: not describe(client, "clock-silent")["Members"], 2 * SESSION_S)
    say("clocks jumped an hour forward and two back: who heartbeats stays, who is silent goes")
    node = cluster.coordinator(client, living[0].group)
    cluster.kill(node)
    for m in living:
        m.beat()
    clocks.restart(node)
    cluster.wait()
    for m in living:
        m.beat()
        m.leave()


def run(test):
    cluster = test.cluster(settings=SETTINGS).start()
    client = cluster.client()
    client.create_topic("ta", 2)
    client.create_topic("tb", 12)
    converted(cluster, client)
    failovers(cluster, client)
    clocks = Clocks(cluster, test.bin / "tests/libclock_shift.so")
    jumps(cluster, client, clocks)


if __name__ == "__main__":
    main(run, 25396)
