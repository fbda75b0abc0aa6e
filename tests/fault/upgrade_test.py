#!/usr/bin/env python3
"""A rolling upgrade from a program of feature level 1 to this one, under load.

Nodes of both programs work together; the level cannot be raised before all nodes have the new one, and is raised by one command. After that the old
program stops before it applies anything, says which version it needs, and its folder is good for the new one; an old node is not taken in.
"""
import json
import subprocess
import time

from failover_test import check_members, prepare
from faultlib.load import World, read_back
from faultlib.settled import Settled
from faultlib.story import check, check_equal, main, say, until
from membership_test import meanwhile

VERSION = 7     # exit status


def restart(cluster, node, folder):
    """The node with the programs of that folder."""
    cluster.environment["MUSTER_BIN"] = str(folder)
    cluster.restart(node)
    cluster.wait()


def upgrade(cluster, *options):
    return cluster.muster("cluster", "upgrade", *options, "--bootstrap", cluster.bootstrap())


def levels(cluster):
    return {m["id"]: m["featureLevel"] for m in cluster.members()["members"]}


def history(cluster, group):
    """How many rebalances of the group are recorded, and what is said beside."""
    code, out, err = cluster.muster("groups", "history", group, "--bootstrap", cluster.bootstrap(), "--json")
    check_equal(code, 0, f"exit status of groups history: {err}")
    return len(json.loads(out)["groups"][0]["rebalances"]), err


def old_program(test, cluster, node):
    """The old program on a folder of the new level: it ends, and says why."""
    cluster.signal(node, 15)
    check(cluster.await_end(node), f"node {node} does not end")
    log = cluster.home(node) / "log"
    before = len(cluster.log(node))
    with open(log, "a", encoding="utf-8") as out:
        done = subprocess.run([str(test.bin / "before/musterd"), "--config", str(cluster.properties(node))], stdout=out, stderr=out, timeout=30,
                              check=False)
    check_equal(done.returncode, VERSION, "exit status of the old program")
    said = cluster.log(node)[before:]
    check("version_too_old" in said and "raised to feature level 3" in said and "knows levels up to 1" in said, f"what it says: {said[-600:]}")
    say(f"the old program ends with {VERSION}: {said.split('text=')[1].split('hint=')[0].strip()}")


def founded(test, cluster):
    """A cluster begins at what all its founders know."""
    cluster.environment["MUSTER_BIN"] = str(test.bin / "before")
    cluster.start()
    until("all have said which level they know", lambda: list(levels(cluster).values()) == [1, 1, 1], 20)
    client = cluster.client()
    client.create_topic("h", 2)
    client.alone("early", topics=("h",))
    count, said = history(cluster, "early")
    check(count == 0 and "muster cluster upgrade" in said, f"a history below its level: {count} {said}")
    code, out, _ = upgrade(cluster)
    check(code == 0 and "level is 1" in out, f"an upgrade of nothing: {out}")


def add_old(test, cluster):
    """A node of the old program wants to join."""
    cluster.environment["MUSTER_BIN"] = str(test.bin / "before")
    said = cluster.run("add", 4, check=False, timeout=120)
    check("a newer musterd is needed there" in said, f"an old node that wants to join: {said}")
    say("an old node is not taken in")


def roll(test, cluster, world):
    """Node after node gets the program; the level cannot be raised before all have it."""
    for node in cluster.numbers():
        meanwhile(world, lambda n=node: restart(cluster, n, test.bin))
        until(f"node {node} says that it knows level 3", lambda n=node: levels(cluster)[n] == 3, 20)
        say(f"node {node} runs the new program: levels {levels(cluster)}")
        if node < 3:
            code, _, err = upgrade(cluster, "--level", "3")
            check(code == 1 and "upgrade it first" in err, f"an upgrade too early: {err}")


def run(test):
    cluster = test.cluster()
    founded(test, cluster)
    world = World(cluster.addresses())
    committers, _, member_groups = prepare(cluster, world)
    settled = Settled(world, cluster.client())
    committers += settled.committers
    roll(test, cluster, world)
    check(upgrade(cluster, "--dry-run")[1].startswith("The feature level can be raised from 1 to 3"), "what a dry run says")
    check_equal(cluster.members()["featureLevel"], 1, "level before the upgrade")
    code, out, err = meanwhile(world, lambda: upgrade(cluster))
    check(code == 0 and "from 1 to 3" in out, f"the upgrade: {out}{err}")
    say(out.strip())
    meanwhile(world, lambda: old_program(test, cluster, 3))
    meanwhile(world, lambda: restart(cluster, 3, test.bin))
    meanwhile(world, lambda: add_old(test, cluster))
    marks = {c: c.commits for c in committers}
    check(world.run(30, lambda: all(c.commits > marks[c] for c in committers)), "a committer stands still")
    time.sleep(0.1)
    client = cluster.client()
    world.close()
    client.alone("late", topics=("h",))
    check_equal(history(cluster, "late"), (1, ""), "the history, from its level on")
    read_back(client, committers, "in the end")
    check_members(client, member_groups)
    settled.check("in the end")
    check(not world.broken, "; ".join(world.broken))
    cluster.nodes = 4  # the one that was not taken in is ended, too


if __name__ == "__main__":
    main(run, 24580)
