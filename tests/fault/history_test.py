#!/usr/bin/env python3
"""Why groups rebalanced, from the command line alone: members that join, leave in their own words, fall silent, change what they read and are removed by
somebody else, of classic and of consumer groups, while coordinators are killed. The history is the same wherever it is asked for, and survives them.
"""
import json
import time
from datetime import datetime, timezone

from faultlib.consumer import ConsumerMember
from faultlib.protocol import NONE
from faultlib.story import check, check_equal, main, say, until

SESSION_MS = 4000
HISTORY_LEVEL = 3  # the feature level from which on all of it is recorded
SETTINGS = {"group.min.session.timeout.ms": 1000, "group.initial.rebalance.delay.ms": 0, "group.consumer.min.session.timeout.ms": 1000,
            "group.consumer.session.timeout.ms": SESSION_MS, "group.consumer.heartbeat.interval.ms": 200,
            "group.consumer.min.heartbeat.interval.ms": 100, "group.consumer.assignment.interval.ms": 0,
            "muster.group.history.max.entries": 5}


def ask(cluster, verb, group, node=None):
    bootstrap = cluster.bootstrap() if node is None else "%s:%d" % cluster.address(node)
    code, out, err = cluster.muster("groups", verb, group, "--bootstrap", bootstrap, "--json")
    check(code == 0 and not err, f"muster groups {verb} {group}: {code} {err}")
    return json.loads(out)["groups"][0]


def history(cluster, group, node=None):
    return ask(cluster, "history", group, node)["rebalances"]


def why(cluster, group, *words):
    text = ask(cluster, "why", group)["why"]
    for word in words:
        check(word in text, f"'{word}' is not in: {text}")
    say(text)


def newest(cluster, group, counts):
    """The newest rebalance, once it is settled; its causes have to be those."""
    def settled():
        last = history(cluster, group)[-1]
        return last["settledAfterMs"] is not None and last["causeCounts"] == counts and last
    return until(f"a settled rebalance of {group} because of {counts}", settled, 20)


def from_the_start(cluster, client):
    """Nobody has to raise the feature level of a new cluster; a moment after it was formed all its nodes know it."""
    def recorded():
        member, _ = client.alone("early", topics=("t",))
        check_equal(set(client.leave("early", member)), {NONE}, "leave")
        code, out, _ = cluster.muster("groups", "history", "early", "--bootstrap", cluster.bootstrap(), "--json")  # it says so while there is none
        return code == 0 and json.loads(out)["groups"][0]["rebalances"]
    until("a group's rebalances are recorded", recorded, 20)
    check_equal(cluster.members()["featureLevel"], HISTORY_LEVEL, "the feature level")


def classic(cluster, client):
    first, generation = client.alone("old", topics=("t",), session=SESSION_MS)
    why(cluster, "old", "joined", first, "(client fault at /127.0.0.1)")
    check_equal(client.heartbeat("old", generation, first), NONE, "heartbeat")
    newest(cluster, "old", {"member_joined": 1})
    gone = newest(cluster, "old", {"session_expired": 1})
    check_equal((gone["causes"][0]["member"], gone["causes"][0]["timeoutMs"]), (first, SESSION_MS), "who expired")
    why(cluster, "old", first, "was not heard of for 4 s")
    second, _ = client.alone("old", topics=("t",))
    values = client.one_error("old", "LeaveGroup", 5, GroupId="old", Members=[{"MemberId": second, "Reason": "it is late"}])
    check_equal(values["ErrorCode"], NONE, "leave")
    left = newest(cluster, "old", {"member_left": 1})
    check_equal(left["causes"][0]["reason"], "it is late", "the reason")
    why(cluster, "old", second, "left, saying 'it is late'")
    third, _ = client.alone("old", topics=("t",))
    values = client.one_error("old", "LeaveGroup", 5, GroupId="old", Members=[{"MemberId": third, "Reason": "member was removed by an admin"}])
    check_equal(values["ErrorCode"], NONE, "leave")
    newest(cluster, "old", {"admin": 1})
    why(cluster, "old", third, "was removed")
    check_equal(len(history(cluster, "old")), 5, "rebalances that are kept")


def settle(members, count):
    def done():
        for m in members:
            m.confirm()
        return sum(len(m.held) for m in members) == count
    until(f"{len(members)} members share {count}", done, 20)


def consumers(cluster, client):
    a = ConsumerMember(client, "new", "a").join("t")
    settle([a], 4)
    b = ConsumerMember(client, "new", "b").join("t")
    settle([a, b], 4)
    grown = newest(cluster, "new", {"member_joined": 1})
    check_equal((grown["moved"], grown["moves"][0]["from"], grown["moves"][0]["to"], grown["moves"][0]["name"]), (2, "a", "b", "t"), "what moved")
    why(cluster, "new", "member b (client fault at /127.0.0.1) joined", "2 partitions changed hands", "was settled after")
    b.must(b.epoch, SubscribedTopicNames=["t", "u"])
    settle([a, b], 6)
    newest(cluster, "new", {"subscription_changed": 1})
    why(cluster, "new", "member b", "changed its subscription")
    return a, b


def moved(cluster, client, node, before, handed_over):
    """The coordinator's newest move, which was not there before and had no effect."""
    def told():
        moves = ask(cluster, "history", "new")["coordinatorMoves"]
        return moves[-1] if len(moves) > len(before) and moves[-1]["from"] == node else None
    move = until(f"the move of the coordinator from node {node} is in the history", told, 20)
    check_equal((move["to"], move["handedOver"], move["effect"]), (cluster.coordinator(client, "new"), handed_over, "none"), f"the move {move}")
    check(move["leaderlessAtMostMs"] is not None and 0 <= move["leaderlessAtMostMs"] < 2000, f"how long nobody led: {move}")
    order = before + [move]
    check(all(a["term"] < b["term"] and a["clockMs"] <= b["clockMs"] for a, b in zip(order, order[1:])), f"moves out of order: {order}")
    _, out, _ = cluster.muster("groups", "history", "new", "--bootstrap", cluster.bootstrap())
    check("coordinator moved, no effect" in out and out.split()[-1] == ("over" if handed_over else "lost"), f"the tables: {out}")
    say(f"node {node} to node {move['to']}: nobody led for at most {move['leaderlessAtMostMs']} ms")
    return move


def kill_coordinator(cluster, client, a, b):
    """The coordinator's death moves nothing, and the history goes on where it was."""
    before = history(cluster, "new")
    moves = ask(cluster, "history", "new")["coordinatorMoves"]
    node = cluster.coordinator(client, "new")
    cluster.kill(node)
    for _ in range(5):
        a.beat()
        b.beat()
    check_equal(history(cluster, "new"), before, "the history after its coordinator's death")
    say(f"node {node}, which coordinated, was killed: nothing was rebalanced, and the history is whole")
    move = moved(cluster, client, node, moves, False)
    why(cluster, "new", f"its coordinator moved from node {node} to node {move['to']}", "without effect")
    cluster.restart(node)
    cluster.wait()
    moves = ask(cluster, "history", "new")["coordinatorMoves"]
    node = cluster.coordinator(client, "new")
    code, _, err = cluster.muster("cluster", "transfer", "--group", "new", "--bootstrap", cluster.bootstrap())
    check_equal(code, 0, f"the transfer: {err}")
    moved(cluster, client, node, moves, True)

    def removed():  # b falls silent
        a.beat()
        return a.describe()["Members"][-1]["MemberId"] == "a"
    until("the silent member is removed", removed, 20)
    settle([a], 4)
    newest(cluster, "new", {"session_expired": 1})
    why(cluster, "new", "member b", "was not heard of for 4 s")
    told = [history(cluster, "new", n) for n in cluster.numbers()]
    check(all(h == told[0] for h in told), "the history differs from node to node")
    a.leave()
    newest(cluster, "new", {"member_left": 1})


def as_it_was(cluster, client):
    """The history of the past is that which was told then, and the sentence, too."""
    member, _ = client.alone("past", topics=("t",))
    newest(cluster, "past", {"member_joined": 1})
    then = history(cluster, "past")
    told = ask(cluster, "why", "past")["why"]
    moment = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
    time.sleep(0.05)
    check_equal(set(client.leave("past", member)), {NONE}, "leave")
    newest(cluster, "past", {"member_left": 1})
    for where in (["--bootstrap", cluster.bootstrap()], ["--data", str(cluster.data(2))]):
        for verb, key, value in (("history", "rebalances", then), ("why", "why", told)):
            code, out, err = cluster.muster("groups", verb, "past", "--at", moment, "--json", *where)
            check(code == 0 and not err, f"muster groups {verb} --at {moment} {where}: {code} {err}")
            said = json.loads(out)
            check_equal(said["groups"][0][key], value, f"{verb} at {moment}, {where[0]}")
            check_equal(len(said["asOf"]), 1, "shards that the answer is of")
    say("history and why as of a moment before the last rebalance: as they were told then")


def deleted(cluster, client):
    check_equal(client.delete_group("new"), NONE, "delete")
    code, _, err = cluster.muster("groups", "why", "new", "--bootstrap", cluster.bootstrap())
    check(code == 1 and "not found" in err, f"why of a group that is gone: {code} {err}")


def run(test):
    cluster = test.cluster(settings=SETTINGS).start()
    client = cluster.client()
    client.create_topic("t", 4)
    client.create_topic("u", 2)
    from_the_start(cluster, client)
    classic(cluster, client)
    kill_coordinator(cluster, client, *consumers(cluster, client))
    as_it_was(cluster, client)
    deleted(cluster, client)


if __name__ == "__main__":
    main(run, 15100)
