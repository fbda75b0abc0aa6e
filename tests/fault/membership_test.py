#!/usr/bin/env python3
"""The members of a cluster change under load.

Three nodes become five and three again; a wiped one is replaced; the leader of everything is removed; changes that must not be are refused; shard 0's
leader is killed in the middle of each kind of change, and whoever leads next ends it; all nodes are restarted, one after the other. Throughout: no
acknowledged commit is lost, no member is thrown out, and clients see no error but those that ask them to try again.
"""
import threading
import time

from failover_test import check_members, prepare
from faultlib.load import World, read_back
from faultlib.settled import Settled
from faultlib.story import check, check_equal, main, say, until

CHANGE_S = 60           # bound of one change; a second or two is expected


def meanwhile(world, call):
    """call() in a thread of its own, while the load goes on; its value. What it raises is raised here."""
    outcome = {}

    def work():
        try:
            outcome["value"] = call()
        except Exception as error:  # told in the thread that asked
            outcome["error"] = error
    thread = threading.Thread(target=work)
    thread.start()
    world.run(until=lambda: not thread.is_alive())
    thread.join()
    if "error" in outcome:
        raise outcome["error"]
    return outcome.get("value")


class Bench:
    """The cluster, its load, and what is checked after each change."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.world = World(cluster.addresses())
        self.committers, self.beaters, self.member_groups = prepare(cluster, self.world)
        self.settled = Settled(self.world, cluster.client())
        self.committers += self.settled.committers
        self.longest = 0.0

    def do(self, what, call):
        begun = time.monotonic()
        value = meanwhile(self.world, call)
        seconds = time.monotonic() - begun
        self.longest = max(self.longest, seconds)
        self.check(what)
        say(f"{what}: {seconds:.1f} s")
        return value

    def check(self, what):
        """Everybody goes on, and nothing is lost."""
        marks = {c: c.commits for c in self.committers}
        check(self.world.run(30, lambda: all(c.commits > marks[c] for c in self.committers)), f"{what}: a committer stands still")
        check(not self.world.broken, f"{what}: " + "; ".join(self.world.broken))
        client = self.cluster.client()
        read_back(client, self.committers, what)
        client.close()

    def members(self):
        """{node: standing}, once all shards have what the members say."""
        def settled():
            shown = self.cluster.members()
            if shown is None or (shown["change"] and shown["change"]["state"] == "under way"):
                return None
            for m in shown["members"]:
                wanted = {"voter": (shown["shards"], 0), "learner": (0, shown["shards"])}.get(m["standing"])
                if (m["votesIn"], m["learnsIn"]) != wanted or not m["connected"]:
                    return None
            return {m["id"]: m["standing"] for m in shown["members"]}
        return meanwhile(self.world, lambda: until("the members are as they shall be", settled, CHANGE_S))

    def expect(self, voters, learners=()):
        check_equal(self.members(), {**{n: "voter" for n in voters}, **{n: "learner" for n in learners}}, "members")

    def controller(self):
        return until("shard 0 has a leader", lambda: self.cluster.leaders().get(0), 30)


def refused(cluster, verb, node, *words):
    code, _, err = cluster.change(verb, node)
    check_equal(code, 1, f"exit status of {verb} {node}")
    check(all(word in err for word in words), f"{verb} {node}: {err.strip()}")


def refusals(bench):
    """What must not be is not done, and says why."""
    cluster = bench.cluster
    refused(cluster, "remove", 9, "VOTER_NOT_FOUND", "not a member")
    refused(cluster, "promote", 2, "no learner")
    refused(cluster, "add", f"2@127.0.0.1:{cluster.base_port + 901}", "DUPLICATE_VOTER", "member already")
    refused(cluster, "add", f"9@127.0.0.1:{cluster.base_port + 101}", "DUPLICATE_VOTER", "address of node 2")
    refused(cluster, "replace", 2, "runs with its data folder")
    check_equal(cluster.change("add", "nonsense")[0], 2, "exit status of nonsense")
    victim = next(n for n in cluster.numbers() if n != bench.controller())
    cluster.kill(victim)
    bench.world.run(0.5)
    other = next(n for n in cluster.numbers() if n not in (victim, bench.controller()))
    refused(cluster, "remove", other, "POLICY_VIOLATION", "stand still")
    refused(cluster, "add", f"9@127.0.0.1:{cluster.base_port + 801}", "POLICY_VIOLATION", "stand still")
    cluster.restart(victim)
    cluster.wait()
    bench.expect(cluster.numbers())


def a_node_that_does_not_come(bench):
    """It is given up, and everything is as before."""
    code, _, err = meanwhile(bench.world, lambda: bench.cluster.change("add", f"9@127.0.0.1:{bench.cluster.base_port + 801}"))
    check_equal(code, 1, "exit status of a change that was given up")
    check("given up" in err and "cannot be reached" in err, f"what is said of it: {err.strip()}")


def grow(bench):
    bench.do("node 4 added", lambda: bench.cluster.add(4))
    bench.world.addresses.append(bench.cluster.address(4))
    bench.do("node 5 added as a learner", lambda: bench.cluster.add(5, "--learner"))
    bench.world.addresses.append(bench.cluster.address(5))
    bench.expect([1, 2, 3, 4], [5])
    check_equal(meanwhile(bench.world, lambda: bench.cluster.change("promote", 5))[0], 0, "exit status of promote 5")
    bench.expect([1, 2, 3, 4, 5])


def killed_in_the_middle(bench, what, begin):
    """begin() records a change; then shard 0's leader dies, and the change ends all the same."""
    cluster = bench.cluster
    victim = bench.controller()
    meanwhile(bench.world, lambda: begin(victim))
    under_way = cluster.members()["change"]
    cluster.kill(victim)
    say(f"   {what}: node {victim}, which led shard 0, is killed while it is {under_way['state']}")
    done = lambda: (cluster.members() or {"change": {"state": ""}})["change"]["state"] == "done"  # noqa: E731
    bench.do(f"{what} ended by the next leader", lambda: until("the change is done", done, CHANGE_S))
    check_equal(cluster.members()["change"]["id"], under_way["id"], "the change that ended")
    cluster.restart(victim)
    meanwhile(bench.world, cluster.wait)


def retire(bench, node):
    """What is left of a node that was removed."""
    check(bench.cluster.await_end(node, 20), f"node {node} was removed and does not end")
    check("removed_from_cluster" in bench.cluster.log(node), f"node {node} does not say that it was removed")
    bench.cluster.home(node).rename(bench.cluster.folder / f"gone-{node}")


def begin(cluster, verb, node):
    code, _, err = cluster.change(verb, node, "--no-wait")
    rest = [line for line in err.splitlines() if " voters the cluster survives " not in line]
    check_equal((code, rest), (0, []), f"{verb} {node}")


def kills(bench):
    cluster = bench.cluster
    killed_in_the_middle(bench, "add 6", lambda _: cluster.add(6, "--learner", "--no-wait"))
    bench.expect([1, 2, 3, 4, 5], [6])
    killed_in_the_middle(bench, "promote 6", lambda _: begin(cluster, "promote", 6))
    bench.expect([1, 2, 3, 4, 5, 6])
    lost = lambda victim: next(n for n in (6, 5, 4) if n != victim)  # noqa: E731
    killed_in_the_middle(bench, "replace", lambda victim: cluster.replace(lost(victim), "--no-wait"))
    bench.expect([1, 2, 3, 4, 5, 6])
    cluster.transfer(0, 1)
    killed_in_the_middle(bench, "remove 6", lambda _: begin(cluster, "remove", 6))
    meanwhile(bench.world, lambda: retire(bench, 6))
    bench.expect([1, 2, 3, 4, 5])


def leader_of_everything(bench):
    cluster = bench.cluster
    victim = bench.controller()
    meanwhile(bench.world, lambda: cluster.place({shard: victim for shard in cluster.leaders()}))
    bench.do(f"node {victim}, which led every shard, removed", lambda: cluster.remove(victim))
    check("folder_of_removed_node" in starts_again(cluster, victim), "a removed node's folder does not say so")
    return victim


def removed_while_dead(bench, node):
    """It does not know; the others tell it, and it ends."""
    cluster = bench.cluster
    cluster.kill(node)
    bench.world.run(0.5)
    code, _, err = meanwhile(bench.world, lambda: cluster.change("remove", node))
    check_equal(code, 0, f"exit status of remove {node}: {err}")
    bench.do(f"node {node}, removed while it was dead, ends", lambda: (cluster.run("restart", node), retire(bench, node)))


def starts_again(cluster, node):
    """What a node says that is started on the folder of one that was removed."""
    gone = cluster.folder / f"gone-{node}"
    gone.rename(cluster.home(node))
    try:
        cluster.run("restart", node, check=False)
        check(cluster.await_end(node), f"node {node} runs although it was removed")
        return cluster.log(node)
    finally:
        cluster.home(node).rename(gone)


def rolling_restart(bench, most):
    """Each node is told to end, hands over, and comes back: nobody is told more than once to ask again (or a little more often, on a busy machine)."""
    worst = 0
    for node in bench.cluster.numbers():
        meanwhile(bench.world, bench.cluster.spread)
        before = {a: a.retries for a in bench.world.actors}
        bench.do(f"node {node} restarted", lambda n=node: bench.cluster.restart(n))
        retries = max(a.retries - before[a] for a in bench.world.actors)
        worst = max(worst, retries)
        meanwhile(bench.world, bench.cluster.wait)
    say(f"rolling restart: no client had to ask more than {worst} time(s) again for a restart")
    check(worst <= most, f"a client had to ask {worst} times again")


def run(test):
    cluster = test.cluster(settings={"muster.membership.join.timeout.ms": "5000"}).start()
    bench = Bench(cluster)
    until("the members are recorded", lambda: len((cluster.members() or {"members": []})["members"]) == 3, 20)
    refusals(bench)
    a_node_that_does_not_come(bench)
    grow(bench)
    kills(bench)
    gone = leader_of_everything(bench)
    left = [n for n in (1, 2, 3, 4, 5) if n != gone]
    out = left.pop()
    removed_while_dead(bench, out)
    bench.expect(left)
    wiped = next(n for n in left if n != bench.controller())
    bench.do(f"node {wiped}, wiped, replaced", lambda: cluster.replace(wiped))
    bench.expect(left)
    rolling_restart(bench, 1 if test.options.strict else 5)
    bench.world.run(0.3)
    client = cluster.client()
    bench.world.close()
    read_back(client, bench.committers, "in the end")
    check_members(client, bench.member_groups)
    bench.settled.check("in the end")
    check(not bench.world.broken, "; ".join(bench.world.broken))
    say(f"{sum(c.commits for c in bench.committers)} commits, {sum(c.reads for c in bench.committers)} reads, "
        f"{sum(b.beats for b in bench.beaters)} heartbeats: none lost, nobody thrown out; longest change {bench.longest:.1f} s")


if __name__ == "__main__":
    main(run, 24572, [("--strict", {"action": "store_true", "help": "the figures that a release build must reach on an idle machine"})])
