#!/usr/bin/env python3
"""A rolling upgrade to a program of the next feature level, under load.

Nodes of both programs work together; the level cannot be raised before all nodes have the new one, and is raised by one command. After that the old
program stops before it applies anything, says which version it needs, and its folder is good for the new one; an old node is not taken in.
"""
import subprocess
import time

from failover_test import check_members, prepare
from faultlib.load import World, read_back
from faultlib.story import check, check_equal, main, say, until
from membership_test import meanwhile

VERSION = 7     # exit status


def restart(test, cluster, node, folder):
    """The node with the programs of that folder."""
    cluster.environment["MUSTER_BIN"] = str(folder)
    cluster.restart(node)
    cluster.environment["MUSTER_BIN"] = str(test.bin)
    cluster.wait()


def upgrade(cluster, *options):
    return cluster.muster("cluster", "upgrade", *options, "--bootstrap", cluster.bootstrap())


def levels(cluster):
    return {m["id"]: m["featureLevel"] for m in cluster.members()["members"]}


def old_program(test, cluster, node):
    """The old program on a folder of the new level: it ends, and says why."""
    cluster.signal(node, 15)
    check(cluster.await_end(node), f"node {node} does not end")
    log = cluster.home(node) / "log"
    before = len(cluster.log(node))
    with open(log, "a", encoding="utf-8") as out:
        done = subprocess.run([str(test.bin / "musterd"), "--config", str(cluster.properties(node))], stdout=out, stderr=out, timeout=30, check=False)
    check_equal(done.returncode, VERSION, "exit status of the old program")
    said = cluster.log(node)[before:]
    check("version_too_old" in said and "raised to feature level 3" in said and "knows levels up to 2" in said, f"what it says: {said[-600:]}")
    say(f"the old program ends with {VERSION}: {said.split('text=')[1].split('hint=')[0].strip()}")


def run(test):
    newer = test.bin / "next"
    cluster = test.cluster().start()
    world = World(cluster.addresses())
    committers, _, member_groups = prepare(cluster, world)
    until("all have said which level they know", lambda: list(levels(cluster).values()) == [2, 2, 2], 20)
    code, out, _ = upgrade(cluster)
    check(code == 0 and "from 1 to 2" in out, f"what the programs know already: {out}")
    code, out, _ = upgrade(cluster)
    check(code == 0 and "level is 2" in out, f"an upgrade of nothing: {out}")
    for node in cluster.numbers():
        meanwhile(world, lambda n=node: restart(test, cluster, n, newer))
        until(f"node {node} says that it knows level 3", lambda n=node: levels(cluster)[n] == 3, 20)
        say(f"node {node} runs the new program: levels {levels(cluster)}")
        if node < 3:
            code, _, err = upgrade(cluster, "--level", "3")
            check(code == 1 and "upgrade it first" in err, f"an upgrade too early: {err}")
    check(upgrade(cluster, "--dry-run")[1].startswith("The feature level can be raised from 2 to 3"), "what a dry run says")
    check_equal(cluster.members()["featureLevel"], 2, "level before the upgrade")
    code, out, err = meanwhile(world, lambda: upgrade(cluster))
    check(code == 0 and "from 2 to 3" in out, f"the upgrade: {out}{err}")
    say(out.strip())
    meanwhile(world, lambda: old_program(test, cluster, 3))
    meanwhile(world, lambda: restart(test, cluster, 3, newer))
    said = meanwhile(world, lambda: cluster.run("add", 4, check=False, timeout=120))  # of the old program
    check("a newer musterd is needed there" in said, f"an old node that wants to join: {said}")
    say("an old node is not taken in")
    marks = {c: c.commits for c in committers}
    check(world.run(30, lambda: all(c.commits > marks[c] for c in committers)), "a committer stands still")
    time.sleep(0.1)
    client = cluster.client()
    world.close()
    read_back(client, committers, "in the end")
    check_members(client, member_groups)
    check(not world.broken, "; ".join(world.broken))
    cluster.nodes = 4  # the one that was not taken in is ended, too


if __name__ == "__main__":
    main(run, 24580)
