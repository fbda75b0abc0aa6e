#!/usr/bin/env python3
"""The command line program on a cluster that lives, loses a node and stops: what it says agrees with what the clients know, its exit codes
tell what happened, and reading a data folder leaves every byte as it was."""
import hashlib
import json
import os
import pwd
import re
import shutil
import urllib.request

from faultlib.story import check, check_equal, main, say, until

GROUP = "orders-app"


class Cli:
    def __init__(self, cluster):
        self.cluster = cluster

    def __call__(self, *words, code=0, live=True):
        where = ["--bootstrap", self.cluster.bootstrap()] if live else []
        got, out, err = self.cluster.muster(*words, *where)
        check(got == code, f"muster {' '.join(map(str, words))}: exit code {got}, not {code}: {err.strip()}")
        return out, err

    def json(self, *words, **options):
        return json.loads(self(*words, "--json", **options)[0])

    def lines(self, *words, **options):
        return [json.loads(line) for line in self(*words, "--json", **options)[0].splitlines()]


def topics(cli):
    made = cli.json("topics", "create", "orders", "--partitions", 4)["topics"][0]
    check(made["created"] and made["partitions"] == 4, f"created: {made}")
    cli("topics", "create", "orders", code=1)
    cli("topics", "create", "orders", "--if-not-exists")
    cli("topics", "set-end", "orders", 100)
    cli("topics", "set-end", "orders", 250, "--partition", 2)
    topic = cli.json("topics", "describe", "orders")["topics"][0]
    check_equal(topic["topicId"], made["topicId"], "topic id")
    check_equal([p["logEndOffset"] for p in topic["partitions"]], [100, 100, 250, 100], "ends")
    _, err = cli("topics", "describe", "nothing", code=1)
    check("UNKNOWN_TOPIC_OR_PARTITION" in err, err)
    say("topics: created, described, given their ends")


def groups(cli, client):
    # Nobody heartbeats for the member: it must outlive the test.
    member, generation = client.alone(GROUP, topics=("orders",), session=600000)
    client.commit(GROUP, {"orders": {0: 40, 2: 250}}, generation, member)
    group = cli.json("groups", "describe", GROUP)["groups"][0]
    check_equal((group["state"], group["type"], [m["memberId"] for m in group["members"]]), ("Stable", "classic", [member]), "group")
    rows = {o["partition"]: (o["currentOffset"], o["lag"]) for o in cli.json("offsets", "list", GROUP)["groups"][0]["offsets"]}
    check_equal(rows, {0: (40, 60), 2: (250, 0)}, "offsets")
    check_equal([g["group"] for g in cli.json("groups", "list", "--type", "classic")["groups"]], [GROUP], "groups")
    _, err = cli("groups", "delete", GROUP, code=1)
    check("NON_EMPTY_GROUP" in err, err)
    cli("groups", "describe", "nobody", code=1)
    named_as_kafka_does(cli)
    say("groups: listed, described, not deleted while it has a member")


def named_as_kafka_does(cli):
    """Options of every command before its words, groups and topics by Kafka's options."""
    group = cli.json("groups", "describe", GROUP)
    where = ("--bootstrap-server", cli.cluster.bootstrap(), "--json")
    for words in ((*where, "groups", "describe", "--group", GROUP), ("groups", *where, "describe", "--all-groups")):
        check_equal(json.loads(cli(*words, live=False)[0]), group, " ".join(words))
    check_equal(cli.json("offsets", "list", "--all-groups"), cli.json("offsets", "list", GROUP), "offsets of all groups")
    check("LEADER-EPOCH" in cli("groups", "describe", "--group", GROUP, "--verbose")[0], "--verbose shows leader epochs")
    cli("topics", "create", "--topic", "one", "--topic", "two")
    check_equal([t["topic"] for t in cli.json("topics", "describe", "--topic", "two")["topics"]], ["two"], "topic")
    cli("topics", "delete", "--topic", "one", "two")
    check_equal([t["topic"] for t in cli.json("topics", "list", "--exclude-internal")["topics"]], ["orders"], "topics that are left")
    cli("configs", "set", "--entity-type", "topics", "--entity-name", "orders", "retention.ms=1000")
    cli("configs", "unset", "topics", "orders", "retention.ms")


STREAMS = "orders-totals"
TOPOLOGY = {"subtopologies": [
    {"subtopologyId": "0", "sourceTopics": ["orders"], "repartitionSinkTopics": ["totals-again"]},
    {"subtopologyId": "1", "repartitionSourceTopics": [{"name": "totals-again", "configs": [{"name": "retention.ms", "value": "-1"}]}],
     "stateChangelogTopics": [{"name": "totals-store", "replicationFactor": 1}],
     "copartitionGroups": [{"repartitionSourceTopics": [0]}]}]}


def streams_member(client, member):
    """Joins without a word of the topology but the one that was initialized, until it has tasks."""
    topology = client.group(STREAMS, "StreamsGroupTopology", 0, lambda v: [v["ErrorCode"]], GroupId=STREAMS)["Subtopologies"]
    fields = {"GroupId": STREAMS, "MemberId": member, "MemberEpoch": 0, "EndpointInformationEpoch": -1, "RebalanceTimeoutMs": 60000,
              "Topology": {"Epoch": 0, "Subtopologies": topology}, "ProcessId": member, "ActiveTasks": [], "StandbyTasks": [],
              "WarmupTasks": []}

    def has_tasks():
        answer = client.group(STREAMS, "StreamsGroupHeartbeat", 1, lambda v: [v["ErrorCode"]], **fields)
        check_equal(answer["ErrorCode"], 0, f"heartbeat: {answer['ErrorMessage']}")
        return bool(answer["ActiveTasks"])
    until("the member has tasks", has_tasks, 15)


def streams(cli, client, folder):
    wrong, right, missing = folder / "wrong.json", folder / "right.json", folder / "missing.json"
    wrong.write_text('{"subtopologies": [\n  {"subtopologyId": "0",}\n]}')
    right.write_text(json.dumps(TOPOLOGY))
    missing.write_text(json.dumps(TOPOLOGY).replace('"orders"', '"nothing"'))
    _, err = cli("streams", "initialize", STREAMS, "--topology", wrong, code=2)
    check("wrong.json: line 2, column" in err, err)
    _, err = cli("streams", "initialize", STREAMS, "--topology", missing, code=1)
    check("STREAMS_MISSING_SOURCE_TOPICS" in err and "nothing" in err, err)
    cli("streams", "topology", STREAMS, code=1)
    check(cli.json("streams", "initialize", STREAMS, "--topology", right)["initialized"], "not initialized")
    check_equal([len(t["partitions"]) for t in cli.json("topics", "describe", "totals-again", "totals-store")["topics"]], [4, 4],
                "internal topics")
    topology = cli.json("streams", "topology", STREAMS)
    check_equal((topology["state"], topology["topologyEpoch"], len(topology["subtopologies"])), ("Empty", 0, 2), "topology")
    right.write_text(json.dumps(topology))
    cli("streams", "initialize", "orders-copy", "--topology", right)
    copy = cli.json("streams", "topology", "orders-copy")
    check_equal((copy["topologyId"], copy["subtopologies"]), (topology["topologyId"], topology["subtopologies"]), "what was printed, read again")
    streams_member(client, "threads")
    group = cli.json("groups", "describe", STREAMS)["groups"][0]
    check_equal((group["type"], group["state"], [m["memberId"] for m in group["members"]]), ("streams", "Stable", ["threads"]), "group")
    check_equal(sorted({o["topic"] for o in group["offsets"]}), ["orders", "totals-again"], "topics that tasks read")
    check_equal(sorted(g["group"] for g in cli.json("groups", "list", "--type", "streams")["groups"]), ["orders-copy", STREAMS], "streams groups")
    out, _ = cli("streams", "describe", STREAMS)
    check("totals-store(4)" in out and "0[0,1,2,3] 1[0,1,2,3]" in out, out)
    _, err = cli("groups", "delete", STREAMS, code=1)
    check("NON_EMPTY_GROUP" in err, err)
    cli("groups", "delete", "orders-copy")
    say("streams groups: initialized by hand, copied, joined, described")
    return group


CONSUMERS = "orders-readers"


class Reader:
    """A member of a consumer group that says in full what it has with each heartbeat."""

    def __init__(self, client, member, **fields):
        self.client = client
        self.fields = {"GroupId": CONSUMERS, "MemberId": member, "RebalanceTimeoutMs": 60000, "SubscribedTopicNames": ["orders"], **fields}
        self.epoch = 0
        self.owned = []

    def beat(self):
        answer = self.client.group(CONSUMERS, "ConsumerGroupHeartbeat", 1, lambda v: [v["ErrorCode"]], MemberEpoch=self.epoch,
                                   TopicPartitions=self.owned, **self.fields)
        check_equal(answer["ErrorCode"], 0, f"heartbeat: {answer['ErrorMessage']}")
        self.epoch = answer["MemberEpoch"]
        if answer["Assignment"] is not None:
            self.owned = answer["Assignment"]["TopicPartitions"]
        return sum(len(t["Partitions"]) for t in self.owned)


def consumers(cli, client):
    first, second = Reader(client, "first"), Reader(client, "second", RackId="r1", SubscribedTopicRegex="orders-no.*")
    check_equal(first.beat(), 4, "partitions of the only member")

    def shared():
        return (first.beat(), second.beat()) == (2, 2)
    until("both members have two partitions", shared, 15)
    group = cli.json("groups", "describe", CONSUMERS)["groups"][0]
    check_equal((group["type"], group["state"], group["protocol"]), ("consumer", "Stable", "uniform"), "group")
    check_equal(group["epoch"], group["assignmentEpoch"], "epochs")
    for member, reader in zip(group["members"], (first, second)):
        check_equal((member["memberId"], member["memberEpoch"], member["memberType"]),
                    (reader.fields["MemberId"], reader.epoch, "consumer"), "member")
        check_equal(member["assignment"], member["targetAssignment"], "what it has and is to have")
        check_equal(sum(len(t["partitions"]) for t in member["assignment"]), 2, "partitions")
    check_equal([(m["rackId"], m["topicRegex"]) for m in group["members"]], [(None, ""), ("r1", "orders-no.*")], "what members say of themselves")
    check_equal([g["group"] for g in cli.json("groups", "list", "--type", "consumer")["groups"]], [CONSUMERS], "consumer groups")
    out, _ = cli("groups", "describe", CONSUMERS, "--members")
    check("orders-no.*" in out and out.count("orders[") == 4, out)
    _, err = cli("groups", "delete", CONSUMERS, code=1)
    check("NON_EMPTY_GROUP" in err, err)
    check_equal({o["partition"]: o["currentOffset"] for o in group["offsets"]}, {n: None for n in range(4)}, "offsets of what is assigned")
    for reader in (first, second):
        reader.epoch = -1
        reader.beat()
    check_equal(cli.json("groups", "list", "--state", "Empty", "--type", "consumer")["groups"][0]["group"], CONSUMERS, "empty groups")
    cli("groups", "delete", CONSUMERS)
    say("consumer groups: joined, described, listed, not deleted while they have members")


def metrics(cli, cluster):
    """Of the node that coordinates the streams group."""
    node = cli.json("groups", "coordinator", STREAMS)["coordinator"]["id"]
    port = cluster.address(node)[1] + 2
    with open(cluster.properties(node), "a", encoding="utf-8") as file:
        file.write(f"muster.admin.listener=127.0.0.1:{port}\n")
    cluster.restart(node)
    cluster.wait()
    shard = {g["group"]: g for g in cli.json("groups", "list")["groups"]}[STREAMS]
    check(shard["state"] == "Stable", f"{shard}")

    def counted():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            lines = dict(line.rsplit(" ", 1) for line in answer.read().decode().splitlines() if not line.startswith("#"))
        # Whoever leads the shards now: groups of all types and states add up to those it coordinates.
        mine = [g for g in cli.json("groups", "list")["groups"] if g["coordinator"] == node]
        rows = {k: int(v) for k, v in lines.items() if "_groups{state=" in k}
        return len(rows) == 13 and sum(rows.values()) == len(mine) and all(
            rows[f'muster_{g["type"]}_groups{{state="{g["state"]}"}}'] > 0 for g in mine)
    until("metrics count the groups by type and state", counted, 10, 0.3)
    say(f"metrics of node {node}: groups by type and state")


def losing_the_streams_coordinator(cli, cluster, before):
    """No member says anything: what is described comes from the log alone."""
    node = before["coordinator"]["id"]
    cluster.kill(node)
    after = cli.json("groups", "describe", STREAMS)["groups"][0]
    check(after["coordinator"]["id"] != node, f"node {node} was killed: {after['coordinator']}")
    for part in ("state", "epoch", "assignmentEpoch", "topology", "members"):
        check_equal(after[part], before[part], f"{part} after the kill")
    cluster.restart(node)
    cluster.wait()
    say(f"node {node} killed: the streams group is described by its new coordinator as it was")


def losing_a_node(cli, cluster):
    node = cli.json("groups", "coordinator", GROUP)["coordinator"]["id"]
    cluster.kill(node)
    group = cli.json("groups", "describe", GROUP)["groups"][0]
    check(group["coordinator"]["id"] != node and len(group["members"]) == 1, f"after the kill: {group}")

    def told_down():
        return not {n["id"]: n["up"] for n in cluster.status()["nodes"]}[node]
    until("status says that the node is down", told_down, 5)
    cluster.wait()
    _, err = cli("cluster", "status")
    check(f"node {node}" in err, f"status does not name node {node}: {err}")
    cluster.restart(node)
    cluster.wait()
    say(f"node {node} killed: the group is described by its new coordinator, status names the node")


def nobody_answers(cli, cluster):
    host, port = cluster.address(1)
    code, _, err = cluster.muster("groups", "list", "--timeout", 1500, "--bootstrap", f"{host}:{port + 1}")
    check(code == 3 and "not for peers" in err, f"asked at the port for peers: exit code {code}: {err}")
    for node in range(1, cluster.nodes + 1):
        cluster.pause(node)
    try:
        _, err = cli("groups", "list", "--timeout", 1500, code=3)
        check("cannot be reached" in err, err)
    finally:
        for node in range(1, cluster.nodes + 1):
            cluster.resume(node)
    cluster.wait()
    say("all nodes hang: exit code 3 in time")


def without_a_majority(cli, cluster):
    """One of three nodes is left: it is said that nobody leads, not that something may have been done."""
    for node in (2, 3):
        cluster.kill(node)
    until("the node that is left leads nothing", lambda: cluster.status()["controller"] in (None, -1), 10)
    for words in (("cluster", "remove", 3), ("cluster", "upgrade"), ("topics", "create", "late"), ("configs", "set", "groups", GROUP, "a=b")):
        _, err = cli(*words, "--timeout", 1000, code=3)
        check("no majority" in err and "carried out" not in err, err)
    _, err = cli("groups", "describe", GROUP, "--timeout", 1000, code=3)
    check("no coordinator: none was elected" in err and "carried out" not in err, err)
    _, err = cli("cluster", "rebalance", "--timeout", 1000, code=1)
    check("shard 7 has no leader that answers" in err, err)
    for node in (2, 3):
        cluster.restart(node)
    cluster.wait()
    say("two nodes killed: what changes something says that nobody leads")


def rebalancing(cli):
    """Leadership goes to each shard's home, and one document says what was moved."""
    def moved():
        leader = cli.cluster.status()["shards"][4]["leader"]
        code, _, _ = cli.cluster.transfer(4, leader % 3 + 1)
        done = cli.json("cluster", "rebalance")
        check_equal(sorted(done), ["moved", "shards"], "the document")
        return code == 0 and [m for m in done["moved"] if m["shard"] == 4]
    check_equal(until("shard 4 goes home", moved, 20)[0]["to"], 2, "home of shard 4")
    until("every shard is led by its home",
          lambda: all(s["leader"] == s["shard"] % 3 + 1 for s in cli.cluster.status()["shards"]) or cli("cluster", "rebalance") is None, 20)
    check_equal(cli.json("cluster", "rebalance"), {"shards": 8, "moved": []}, "nothing to be moved")
    say("leadership was spread")


def who_did_it(cli):
    """The log names the user who lifts a protection."""
    until("groups can be protected", lambda: cli.cluster.muster("groups", "protect", "ours", "--bootstrap", cli.cluster.bootstrap())[0] == 0, 20)
    cli("groups", "protect", "ours", "--off")
    newest = cli.lines("log", "dump", "--type", "Config")[-1]
    check("muster.protected" in json.dumps(newest["record"]), f"the newest config is not the protection: {newest}")
    user = re.sub(r"[^A-Za-z0-9._-]", "_", pwd.getpwuid(os.geteuid()).pw_name)
    check_equal(newest["cause"]["clientId"], f"muster-cli/{user}", "who lifted the protection")
    say("the log says who lifted a protection")


def moving_a_shard(cli):
    def handed_over():
        """None as long as the target, which may have been restarted a moment ago, cannot take it yet, or another node has it meanwhile."""
        leader = cli.cluster.status()["shards"][0]["leader"]
        target = leader % 3 + 1
        code, out, err = cli.cluster.muster("cluster", "transfer", 0, "--to", target, "--json", "--bootstrap", cli.cluster.bootstrap())
        check(code in (0, 1), f"transfer: exit code {code}: {err.strip()}")
        moved = json.loads(out) if code == 0 else {"from": None, "to": target}
        check_equal(moved["to"], target, "transfer")
        return moved if moved["from"] == leader else None
    moved = until("the shard is handed over", handed_over, 10)
    cli("cluster", "transfer", 999, code=1)
    shard = cli.json("groups", "coordinator", GROUP)["shard"]
    check_equal(shard, cli.json("groups", "describe", GROUP)["groups"][0]["shard"], "the group's shard")

    def group_moved():
        """The group's shard by the name of the group: None as above."""
        target = cli.json("groups", "coordinator", GROUP)["coordinator"]["id"] % 3 + 1
        code, out, _ = cli.cluster.muster("cluster", "transfer", "--group", GROUP, target, "--json", "--bootstrap", cli.cluster.bootstrap())
        return json.loads(out) if code == 0 else None
    check_equal(until("the group's shard is handed over", group_moved, 10)["shard"], shard, "shard that was handed over")
    say(f"shard 0 handed from node {moved['from']} to node {moved['to']}")


def facts(lines):
    return [(r["shard"], r["index"], r["term"], json.dumps(r["record"], sort_keys=True)) for r in lines]


def log_of_live_nodes(cli, cluster):
    live = facts(cli.lines("log", "dump", "--group", GROUP))
    check(len(live) > 5, f"only {len(live)} records of the group")
    for node in range(1, cluster.nodes + 1):
        def same(node=node):
            return facts(cli.lines("log", "dump", "--group", GROUP, "--data", cluster.data(node), live=False)) == live
        until(f"node {node}'s folder, while it runs, holds what a live node says", same, 5)
    say(f"{len(live)} records of the group: the same from a live node and from each running node's folder")


def fingerprint(folder):
    return {path.name: (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest()) for path in sorted(folder.iterdir())}


def log_of_stopped_nodes(cli, cluster):
    for node in range(1, cluster.nodes + 1):
        before = fingerprint(cluster.data(node))
        other = cluster.data(node % cluster.nodes + 1)  # who ended first may lack the last entries
        verified = cli.json("log", "verify", "--data", cluster.data(node), "--with", other, live=False)
        check_equal([len(verified[side]["shards"]) for side in ("data", "with")], [8, 8], "shards that were verified")
        state = cli("log", "state", "--group", GROUP, "--data", cluster.data(node), live=False)[0]
        check("offset=250" in state and "ClassicMember" in state, f"state: {state}")
        check_equal(fingerprint(cluster.data(node)), before, f"files of node {node} after they were read")
    say("stopped: every log verifies, all make the same state, no file was touched")


def log_that_is_damaged(cli, cluster, folder):
    whole = facts(cli.lines("log", "dump", "--data", cluster.data(1), live=False))
    newest = sorted(cluster.data(1).glob("log-*.seg"))[-1].name
    for name, code in (("torn", 4), ("damaged", 5)):
        copy = folder / name
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(cluster.data(1), copy)
        data = bytearray((copy / newest).read_bytes())
        end = len(bytes(data).rstrip(b"\0"))
        if code == 4:
            data[end - 3 :] = bytes(len(data) - end + 3)
        else:
            data[end // 2] ^= 0x40
        (copy / newest).write_bytes(data)
        out, err = cli("log", "dump", "--data", copy, "--json", code=code, live=False)
        part = facts(json.loads(line) for line in out.splitlines())
        check(0 < len(part) <= len(whole) and part == whole[: len(part)], f"{name}: what is shown is not the log's beginning")
        check(newest in err and "offset" in err, err)
    say("a torn and a damaged copy: their beginnings are shown, the place is named, exit codes 4 and 5")


def run(test):
    cluster = test.cluster().start()
    cli = Cli(cluster)
    client = cluster.client()
    topics(cli)
    groups(cli, client)
    consumers(cli, client)
    losing_the_streams_coordinator(cli, cluster, streams(cli, client, test.folder))
    metrics(cli, cluster)
    losing_a_node(cli, cluster)
    moving_a_shard(cli)
    rebalancing(cli)
    who_did_it(cli)
    without_a_majority(cli, cluster)
    nobody_answers(cli, cluster)
    log_of_live_nodes(cli, cluster)
    cluster.run("stop")
    log_of_stopped_nodes(cli, cluster)
    log_that_is_damaged(cli, cluster, test.folder)


if __name__ == "__main__":
    main(run, 24692)
