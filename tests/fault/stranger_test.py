#!/usr/bin/env python3
"""Nodes that do not belong: a wiped folder under its old id, a node of another cluster, one folder at another's address.

They are refused on both sides with the reason, they cannot vote, and what the cluster acknowledged stays.
"""
import shutil
import subprocess
import time

from faultlib.client import Lost
from faultlib.story import check, check_equal, main, say, until


def commit_all(client, value):
    for n in range(12):
        client.commit(f"g{n}", {"t": {0: value}})


UNKNOWN = 999       # commits that were tried without a majority: they may happen later, when there is one


def verify_all(client, value):
    for n in range(12):
        got = client.offsets(f"g{n}", {"t": [0]})[("t", 0)]
        check(got in (value, UNKNOWN), f"offset of g{n}: {got}, not {value}")


def await_told(cluster, node, since, texts, seconds=10):
    def told():
        log = cluster.log(node)[since:]
        return next((line for line in log.splitlines() if all(text in line for text in texts)), None)
    return until(f"node {node} says {texts}", told, seconds).split(" ", 1)[1]


def cannot_be_counted(cluster, client, healthy, stranger):
    """With one good node and the stranger there is no majority: nothing may be acknowledged, nobody may serve."""
    third = ({1, 2, 3} - {healthy, stranger}).pop()
    cluster.kill(third)
    cluster.await_end(third)
    time.sleep(0.5)
    acknowledged = 0
    deadline = time.monotonic() + 3
    while time.monotonic() < deadline:
        for n in range(3):
            try:
                client.commit(f"g{n}", {"t": {0: UNKNOWN}}, patience=0.2, timeout=1.0)
                acknowledged += 1
            except Lost:
                pass
    check_equal(acknowledged, 0, f"commits acknowledged by node {healthy} alone beside the stranger")
    cluster.restart(third)
    cluster.wait()
    say(f"beside the stranger node {healthy} has no majority: nothing acknowledged; with node {third} back it goes on")


def wiped(cluster, client):
    cluster.kill(3)
    cluster.await_end(3)
    shutil.rmtree(cluster.data(3))
    marks = {n: len(cluster.log(n)) for n in (1, 2, 3)}
    cluster.restart(3)
    say(f"node 3 wiped: node 1: {await_told(cluster, 1, marks[1], ['peer_not_accepted', 'peer=3', 'empty'])}")
    say(f"  itself: {await_told(cluster, 3, marks[3], ['waits_to_be_formed', 'muster cluster replace 3'])}")
    cannot_be_counted(cluster, client, 1, 3)
    code, out = form(cluster)
    check(code != 0, f"musterd form gives a wiped node its old id again: {out}")
    check("muster cluster replace 3" in out, f"musterd form does not say how a wiped node comes back: {out}")
    say(f"musterd form beside a wiped node: exit status {code}: {out.strip()}")
    check("cluster_formed" not in cluster.log(3)[marks[3]:], "the wiped node was formed again under its old id")
    verify_all(client, 1)
    commit_all(client, 2)


def form(cluster):
    done = subprocess.run([str(cluster.bin / "musterd"), "form", "--config", str(cluster.properties(1))], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=30, check=False)
    return done.returncode, done.stdout


def of_another_cluster(test, cluster, client):
    """Node 3 of a cluster that was formed elsewhere with the same ids comes to our node 3's address."""
    cluster.kill(3)
    cluster.await_end(3)
    other = test.cluster("other", 2)
    other.start(spread=False)
    other.run("stop")
    shutil.rmtree(cluster.data(3), ignore_errors=True)
    shutil.copytree(other.data(3), cluster.data(3))
    marks = {n: len(cluster.log(n)) for n in (1, 2, 3)}
    cluster.restart(3)
    say(f"node 3 of another cluster: node 1: {await_told(cluster, 1, marks[1], ['peer_refused', 'peer=3', 'another cluster'])}")
    say(f"  itself: {await_told(cluster, 3, marks[3], ['peer_not_accepted', 'another cluster'])}")
    cannot_be_counted(cluster, client, 1, 3)
    verify_all(client, 3)
    commit_all(client, 4)


def misdirected(test, cluster, client):
    """A folder of node 2 started as node 3 does not get that far; node 3 at the address of node 2 is told so."""
    cluster.kill(3)
    cluster.await_end(3)
    shutil.rmtree(cluster.data(3), ignore_errors=True)
    cluster.kill(2)
    cluster.await_end(2)
    shutil.copytree(cluster.data(2), cluster.data(3))
    mark = len(cluster.log(3))
    try:
        cluster.restart(3)
    except RuntimeError:
        pass
    check(cluster.await_end(3), "node 3 starts on a folder of node 2")
    say(f"node 2's folder as node 3: {await_told(cluster, 3, mark, ['config_does_not_fit_data'])}")
    cluster.restart(2)
    cluster.wait()
    verify_all(client, 4)


def run(test):
    cluster = test.cluster().start()
    client = cluster.client()
    client.create_topic("t", 1)
    commit_all(client, 1)
    wiped(cluster, client)
    commit_all(client, 3)
    of_another_cluster(test, cluster, client)
    misdirected(test, cluster, client)


if __name__ == "__main__":
    main(run, 25316)
