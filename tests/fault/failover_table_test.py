#!/usr/bin/env python3
"""How long groups are without a coordinator: kill -9, SIGSTOP, a cut cable, a graceful stop, a power cut of all three; so many trials of each.

Committers and members of classic groups, nodes with cables of their own. A trial takes the coordinator of some group; the time of each
of its groups runs from that moment to the first commit that was sent after it and served; in a graceful stop, where service goes on meanwhile, it is the longest
time without one in the half second that it takes at most. Clients ask elsewhere when a node has not answered for 100 ms. The gap of the others is the longest
time without a commit of groups that a living node leads. Nothing acknowledged may be lost, nobody thrown out. With --strict the figures must be those that a release build
reaches on a quiet machine.
"""
import json
import signal
import statistics
import time

from failover_test import check_members, gap_after, prepare
from faultlib.load import World, read_back
from faultlib.network import CLIENTS, PEERS, NetworkCluster
from faultlib.story import check, main, say

SIMPLE_GROUPS = 30
PATIENCE_S = 0.1
WINDOW_S = 1.6
STOP_S = 0.5


class Kill:
    NAME = "kill -9"
    MEDIAN_MS, LONGEST_MS, GAP_MS = 30, 200, 50

    def begin(self, cluster, node):
        return cluster.kill(node)

    def end(self, cluster, node):
        cluster.start_node(node)


class Pause(Kill):
    NAME = "SIGSTOP"
    MEDIAN_MS, LONGEST_MS = 500, 1000

    def begin(self, cluster, node):
        moment = time.monotonic()
        cluster.pause(node)
        return moment

    def end(self, cluster, node):
        cluster.resume(node)


class Cut(Pause):
    NAME = "network cut"

    def begin(self, cluster, node):
        moment = time.monotonic()
        cluster.cut(node, CLIENTS)
        cluster.cut(node, PEERS)
        return moment

    def end(self, cluster, node):
        cluster.mend(node, PEERS)
        cluster.mend(node, CLIENTS)


class Stop(Kill):
    NAME = "graceful stop"
    MEDIAN_MS, LONGEST_MS = 20, 200

    def begin(self, cluster, node):
        moment = time.monotonic()
        cluster.signal(node, signal.SIGTERM)
        return moment

    def end(self, cluster, node):
        check(cluster.await_end(node, 10), f"node {node} does not end 10 s after SIGTERM")
        cluster.start_node(node)


class PowerCut(Kill):
    """Counted from when the nodes are started again."""
    NAME = "power cut of all three"
    MEDIAN_MS, LONGEST_MS, GAP_MS = 1000, 2000, None

    def begin(self, cluster, node):
        cluster.kill(*range(1, cluster.nodes + 1))
        time.sleep(0.05)
        moment = time.monotonic()
        for each in range(1, cluster.nodes + 1):
            cluster.start_node(each)
        return moment

    def end(self, cluster, node):
        pass


KINDS = (Kill, Pause, Cut, Stop, PowerCut)


def trial(cluster, world, committers, kind, node):
    """(ms of each group of the node, longest gap of the others in ms, most retries of a client)."""
    for c in committers:
        c.acks, c.keep_acks, c.retries = [], True, 0
    world.run(0.3)
    # Now, since a committer hears only with its next commit that its group has moved back.
    led = [c for c in committers if kind is PowerCut or c.address == cluster.address(node)]
    others = [c for c in committers if c not in led and c.address is not None]
    fault = kind()
    moment = fault.begin(cluster, node)
    served = lambda c: next((t for t, sent in c.acks if sent > moment), None)  # noqa: E731
    check(world.run(20, lambda: all(served(c) for c in led)), f"{kind.NAME}: not served after 20 s: {[c.group for c in led if not served(c)]}")
    world.run(max(0.0, moment + WINDOW_S - time.monotonic()))
    for c in committers:
        c.keep_acks = False
    times = [gap_after(c.acks, moment, STOP_S) if kind is Stop else (served(c) - moment) * 1000 for c in led]
    gap = max((gap_after(c.acks, moment) for c in others), default=0.0)
    retries = max(c.retries for c in led)
    fault.end(cluster, node)
    return times, gap, retries


def trials(test, cluster, kind, count):
    world = World(cluster.addresses())
    committers, _, members = prepare(cluster, world, f"{kind.__name__}-", SIMPLE_GROUPS)
    client = cluster.client(patience=30)
    for actor in world.actors:
        actor.patience = PATIENCE_S
    times, gaps, retries = [], [], []
    for turn in range(count):
        check(world.run(60, cluster.is_home) and world.run(30, lambda: all(c.address for c in committers)), "leadership is not at home again")
        node = cluster.coordinator(client, committers[turn * 7 % len(committers)].group)
        took, gap, asked = trial(cluster, world, committers, kind, node)
        times += took
        gaps.append(gap)
        retries.append(asked)
        check(not world.broken, f"{kind.NAME}: " + "; ".join(world.broken))
        cluster.wait()
        read_back(client, committers, kind.NAME)
        check_members(client, members)
        say(f"   {kind.NAME} {turn + 1}: node {node}, {len(took)} committers, {min(took):.0f} to {max(took):.0f} ms; gap elsewhere {gap:.0f} ms; "
            f"at most {asked} retries")
    world.close()
    return {"fault": kind.NAME, "trials": count, "groups": len(times), "median_ms": round(statistics.median(times), 1), "longest_ms": round(max(times), 1),
            "gap_median_ms": round(statistics.median(gaps), 1), "gap_longest_ms": round(max(gaps), 1), "most_retries": max(retries)}


def judge(test, kind, row):
    slack = 1 if test.options.strict else 25 if test.sanitized() else 5
    check(row["longest_ms"] < kind.LONGEST_MS * slack, f"{kind.NAME}: {row['longest_ms']} ms, at most {kind.LONGEST_MS * slack} are allowed")
    check(kind is not Stop or row["most_retries"] <= 1, f"{kind.NAME}: a client was told {row['most_retries']} times to ask again")
    if test.options.strict:
        check(row["median_ms"] < kind.MEDIAN_MS, f"{kind.NAME}: median {row['median_ms']} ms, less than {kind.MEDIAN_MS} is wanted")
        check(kind.GAP_MS is None or row["gap_longest_ms"] < kind.GAP_MS, f"{kind.NAME}: a gap of {row['gap_longest_ms']} ms elsewhere")


def run(test):
    wanted = test.options.only.split(",") if test.options.only else [kind.__name__ for kind in KINDS]
    kinds = [kind for kind in KINDS if kind.__name__ in wanted]
    check(kinds, f"there is no fault of {wanted}")
    cluster = NetworkCluster(test.folder / "cluster", test.port, test.bin)
    test.clusters.append(cluster)
    cluster.start()
    rows = []
    for kind in kinds:
        if kind is PowerCut:
            cluster.run("stop")
            cluster.bin = test.bin / "lossy"
            for node in range(1, cluster.nodes + 1):
                cluster.start_node(node)
            cluster.wait()
        rows.append(trials(test, cluster, kind, test.options.trials))
    say("ms until a group is served again, and the longest gap of groups that living nodes lead")
    for row in rows:
        print(f"         {row['fault']:24} {row['trials']:3} trials, {row['groups']:4} groups: median {row['median_ms']:7}, longest {row['longest_ms']:7};"
              f" gap elsewhere: median {row['gap_median_ms']:6}, longest {row['gap_longest_ms']:6}; retries {row['most_retries']}", flush=True)
    if test.options.json:
        with open(test.options.json, "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=1)
    for kind, row in zip(kinds, rows):
        judge(test, kind, row)


if __name__ == "__main__":
    main(run, 25380, [("--trials", {"type": int, "default": 30}), ("--only", {"default": "", "help": "classes of this file, with commas"}),
                      ("--strict", {"action": "store_true", "help": "the figures that a release build must reach on a quiet machine"}),
                      ("--json", {"default": "", "help": "a file that the table is written to"})], namespaces=("--net", "--mount"))
