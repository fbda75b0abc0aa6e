#!/usr/bin/env python3
"""The commands that change offsets, on three nodes: plans change nothing, what is executed is what was planned, protected groups stay as they are whoever asks, what is
exported comes back, many offsets go in parts, and the log tells who did what."""
import json
import threading
import time
from datetime import datetime, timezone

from faultlib.protocol import commit_errors, commit_fields
from faultlib.story import check, check_equal, main, say, until

POLICY_VIOLATION, MANY = 44, 14000


class Cli:
    def __init__(self, test, cluster):
        self.test, self.cluster = test, cluster

    def __call__(self, *words, code=0):
        got, out, err = self.cluster.muster(*words, "--bootstrap", self.cluster.bootstrap())
        check(got == code, f"muster {' '.join(map(str, words))}: exit code {got}, not {code}: {err.strip()}")
        return out, err

    def json(self, *words, code=0):
        return json.loads(self(*words, "--json", code=code)[0])

    def offsets(self, group):
        return {(o["topic"], o["partition"]): o["offset"] for g in self.json("offsets", "export", group)["groups"] for o in g["offsets"]}

    def file(self, name, text):
        path = self.test.folder / name
        path.write_text(text, encoding="utf-8")
        return path


def resets(cli):
    cli("topics", "create", "orders", "--partitions", 3)
    cli("topics", "create", "other", "--partitions", 1)
    cli("topics", "set-end", "orders", 100)
    cli("topics", "set-end", "other", 10)
    cli("offsets", "pre-create", "g", "--topic", "orders", "--to-offset", 40)
    cli("groups", "describe", "g", code=1)
    cli("offsets", "pre-create", "g", "--topic", "orders", "--to-offset", 40, "--execute")
    _, err = cli("offsets", "pre-create", "g", "--topic", "orders", "--to-offset", 1, "--execute", code=1)
    check("exists ('muster offsets reset' changes it)" in err, err)
    _, err = cli("groups", "describe", "f", code=1)
    check("did you mean 'g'?" in err, err)
    for words, expected in ((("--all-topics", "--shift-by", 15), [55, 55, 55]), (("--topic", "orders:0,2", "--to-earliest"), [0, 55, 0]),
                            (("--topic", "orders:1", "--to-latest"), [0, 100, 0]), (("--all-topics", "--shift-by", -30), [0, 70, 0]),
                            (("--topic", "orders", "--to-offset", 500), [100, 100, 100]), (("--all-topics", "--to-current"), [100, 100, 100]),
                            (("--topic", "orders", "--to-offset", 40), [40, 40, 40])):
        before = cli.offsets("g")
        plan = cli.json("offsets", "reset", "g", *words)["groups"][0]
        check_equal((plan["executed"], cli.offsets("g")), (False, before), f"after a plan of {words}")
        done = cli.json("offsets", "reset", "g", *words, "--execute")["groups"][0]
        check_equal(done["offsets"], plan["offsets"], f"{words}: done as planned")
        check_equal([cli.offsets("g")["orders", p] for p in range(3)], expected, f"reset {words}")
    done = cli.json("offsets", "reset", "g", "--topic", "orders:0,2", "--to-offset", 7, "--execute")["groups"][0]
    check_equal([cli.offsets("g")["orders", p] for p in range(3)], [7, 40, 7], "reset")
    cli(*done["undo"].split()[1:])
    check_equal([cli.offsets("g")["orders", p] for p in range(3)], [40, 40, 40], done["undo"])
    _, err = cli("offsets", "delete", "g", "--topic", "orders:1", "--execute")
    check_equal(("orders", 1) in cli.offsets("g"), False, "deleted")
    cli(*err.split("to undo it: ")[1].split()[1:])
    check_equal([cli.offsets("g")["orders", p] for p in range(3)], [40, 40, 40], err)
    _, err = cli("offsets", "reset", "g", "--topic", "orders:7", "--to-latest", "--execute", code=1)
    check("orders-7" in err, err)
    _, err = cli("offsets", "reset", "g", "--topic", "other", "--shift-by", 1, "--execute", code=1)
    check("could be shifted" in err, err)
    _, err = cli("offsets", "reset", "nobody", "--topic", "other", "--to-latest", code=1)
    check("GROUP_ID_NOT_FOUND" in err and "did you mean" not in err, err)
    cli("topics", "create", "endless", "--partitions", 2)
    cli("offsets", "pre-create", "e", "--topic", "endless", "--to-offset", 500, "--execute")
    for words, expected in ((("--shift-by", 1), 501), (("--to-current",), 501), (("--to-offset", 700), 700), (("--to-latest",), 0)):
        _, err = cli("offsets", "reset", "e", "--all-topics", *words, "--execute")
        check_equal(cli.offsets("e"), {("endless", 0): expected, ("endless", 1): expected}, f"without an end: reset {words}")
        check_equal("nobody has set the end of 2" in err, words == ("--to-latest",), f"{words}: {err}")
    say("reset: what was planned was done; nothing is cut to an end that nobody has set")


def files(cli):
    cli("offsets", "copy", "g", "h", "--execute")
    check_equal(cli.offsets("h"), cli.offsets("g"), "the copy")
    saved = cli.file("saved.csv", cli("offsets", "export", "g", "h")[0])
    whole = cli.file("saved.json", cli("offsets", "export", "--json")[0])
    segment = cli.test.folder / "00000000000000000000.log"
    cli("offsets", "export", "g", "h", "--segment", segment)
    link = cli.test.folder / "link.log"
    link.unlink(missing_ok=True)
    link.symlink_to(segment)
    _, err = cli("offsets", "export", "g", "--segment", link, code=1)
    check("it is a link, a folder or a device" in err and link.is_symlink(), f"a segment in the place of a link: {err}")
    before = cli.offsets("g")
    for words in (("reset", "--all-groups", "--from-file", saved), ("import", saved), ("import", whole), ("import", "--segment", segment)):
        cli("offsets", "reset", "g", "h", "--all-topics", "--to-earliest", "--execute")
        check_equal(cli.offsets("h")["orders", 0], 0, "reset")
        cli("offsets", *words, "--execute")
        check_equal((cli.offsets("g"), cli.offsets("h")), (before, before), f"after {words}")
    _, err = cli("offsets", "rename", "h", "i")
    check("group 'h' would be deleted\n" in err, err)
    _, err = cli("offsets", "rename", "h", "i", "--execute")
    check("group 'h' is deleted\n" in err, err)
    check_equal(cli.offsets("i"), before, "renamed")
    cli("groups", "describe", "h", code=1)
    gone = cli.file("gone.csv", "nothing,0,5\norders,0,6\n")
    cli("offsets", "import", gone, "--group", "i", "--execute", code=1)
    check_equal(cli.offsets("i"), before, "all or nothing")
    cli("offsets", "import", gone, "--group", "i", "--execute", "--skip-missing")
    check_equal(cli.offsets("i")["orders", 0], 6, "what there is")
    cli("offsets", "import", gone, "--group", "i", "--execute", "--create-topics")
    check_equal(cli.offsets("i")["nothing", 0], 5, "with the topic made")
    say("copied, renamed, exported and imported")


def the_past(cli, client, cluster):
    """What was there before careless hands, out of the log: through a live node and from a folder, with metadata."""
    client.commit("lost", {"orders": {0: 31, 1: 32}})
    node = cluster.coordinator(client, "lost")
    lines = cli("log", "dump", "--group", "lost", "--node", node, "--json")[0].splitlines()
    index = max(line["index"] for line in map(json.loads, lines))
    time.sleep(0.1)
    moment = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    before = cli.offsets("lost")
    for where in (("--to-time", moment), ("--to-index", index), ("--to-index", index, "--data", cluster.data(node)), ("--to-time", moment, "--topic", "orders:0")):
        cli("offsets", "reset", "lost", "--all-topics", "--to-latest", "--execute")
        cli("offsets", "reset", "lost", *where)
        check_equal(cli.offsets("lost")["orders", 0], 100, "after a plan")
        cli("offsets", "reset", "lost", *where, "--execute")
        check_equal(cli.offsets("lost"), before if "--topic" not in where else {**before, ("orders", 1): 100}, f"back by {where}")
    say("offsets brought back out of the log, by time and by index")
    before = cli.offsets("lost")
    for more, expected in (((), before), (("--topic", "orders:0"), {("orders", 0): before["orders", 0]})):
        _, err = cli("groups", "delete", "lost")
        _, said = cli("offsets", "reset", "lost", "--topic", "orders", "--to-latest", "--execute", code=1)
        check("pre-create" in said and "did you mean" not in said, said)
        undo = err.split("to undo it: ")[1].split()[1:]
        check_equal(undo[:3], ["offsets", "pre-create", "lost"], err)
        cli(*undo[:-1], *more)
        cli("groups", "describe", "lost", code=1)
        cli(*undo, *more)
        check_equal(cli.offsets("lost"), expected, f"after {undo} {more}")
        cli(*undo, *more, code=1)
    cli("offsets", "copy", "lost", "g", "--execute")
    had = cli.offsets("g")
    cli("offsets", "delete", "g", "--topic", "orders:0", "--execute")
    some = cli.offsets("g")
    _, err = cli("offsets", "reset", "g", "--topic", "orders", "--to-offset", 77, "--execute")
    for line in err.splitlines():
        if ": muster " in line:
            cli(*line.split(": muster ")[1].split())
    check_equal((cli.offsets("g"), some == had), (some, False), f"after all of {err}")
    _, err = cli("offsets", "copy", "g", "fresh", "--execute")
    cli(*err.split("to undo it: ")[1].split()[1:])
    cli("groups", "describe", "fresh", code=1)
    _, err = cli("offsets", "rename", "g", "fresh", "--execute")
    cli(*err.split("to undo it: ")[1].splitlines()[0].split()[1:])
    check_equal(cli.offsets("g"), some, err)
    cli("groups", "describe", "fresh", code=1)
    say("a deleted group came back with its offsets; what was new is deleted again, who was renamed is renamed back")


def beside_commits(cli, cluster):
    """The command that undoes brings back what was replaced, and not what was there when the change was prepared."""
    client, stop, offset = cluster.client(), threading.Event(), 1000

    def commit_on():
        nonlocal offset
        while not stop.is_set():
            client.commit("busy", {"orders": {0: offset}})
            offset += 1
    cli("offsets", "pre-create", "busy", "--topic", "orders:0", "--to-offset", 40, "--execute")
    committer = threading.Thread(target=commit_on)
    committer.start()
    told = []
    try:
        for i in range(10):
            told.append(cli.json("offsets", "reset", "busy", "--topic", "orders:0", "--to-offset", i, "--execute")["groups"][0])
    finally:
        stop.set()
        committer.join()
        client.close()
    for one in told:
        words = one["undo"].split()
        index = words[words.index("--to-index") + 1]
        then = cli.json("offsets", "list", "busy", "--at", index)["groups"][0]["offsets"]
        check_equal(then[0]["currentOffset"], one["offsets"][0]["currentOffset"], f"what '{one['undo']}' would bring back")
    check(offset > 1010, f"only {offset - 1000} commits beside ten resets")
    say(f"ten resets beside {offset - 1000} commits: each is undone to what it replaced")


def deletions(cli, client):
    member, generation = client.alone("live", topics=("orders",), session=600000)
    client.commit("live", {"orders": {0: 3}, "other": {0: 4}}, generation, member)
    _, err = cli("offsets", "delete", "live", "--topic", "orders", "--execute", code=1)
    check("GROUP_SUBSCRIBED_TO_TOPIC" in err, err)
    check_equal([o["topic"] for o in cli.json("offsets", "delete", "live", "--stale")["groups"][0]["offsets"]], ["other"], "stale")
    check_equal(len(cli.offsets("live")), 2, "offsets after a plan")
    cli("offsets", "delete", "live", "--stale", "--execute")
    check_equal(cli.offsets("live"), {("orders", 0): 3}, "offsets after --stale")
    for execute in ((), ("--execute",)):
        out, err = cli("offsets", "delete", "live", "--stale", *execute, code=1)
        check_equal((out, "nothing of what is committed is stale" in err), ("", True), f"nothing is stale: {err}")
    cli("offsets", "delete", "live", "--topic", "orders:0", "--execute", "--fence")
    cli("offsets", "export", "live", code=1)
    check_equal(client.heartbeat("live", generation, member), 25, "the member that was fenced")
    say("stale offsets deleted while a member reads the topic; with --fence those it reads")


def protection(cli, client):
    member, generation = client.alone("kept", topics=("orders",), session=600000)
    client.commit("kept", {"orders": {0: 3}}, generation, member)
    client.leave("kept", member)
    cli("groups", "protect", "kept")
    values = client.group("kept", "OffsetCommit", 8, commit_errors, **commit_fields("kept", {"orders": {0: 1}}, -1, "", version=8))
    check_equal(commit_errors(values), {POLICY_VIOLATION}, "a commit as Kafka's tools make it")
    check_equal(client.delete_group("kept"), POLICY_VIOLATION, "DeleteGroups")
    for words in (("offsets", "reset", "kept", "--all-topics", "--to-latest", "--execute"), ("offsets", "delete", "kept", "--topic", "orders", "--execute"),
                  ("groups", "delete", "kept"), ("offsets", "rename", "kept", "away", "--execute")):
        cli(*words, code=1)
    check_equal(cli.offsets("kept"), {("orders", 0): 3}, "protected offsets")
    cli("groups", "describe", "away", code=1)
    cli("topics", "create", "going", "--partitions", 1)
    cli("offsets", "reset", "kept", "--topic", "going", "--to-offset", 5, "--execute", "--force")
    _, err = cli("topics", "delete", "going", code=1)
    check("group 'kept' is protected and has offsets of 'going'" in err and "--force" in err, err)
    check_equal(cli.offsets("kept"), {("orders", 0): 3, ("going", 0): 5}, "offsets of a topic that was not deleted")
    cli("topics", "delete", "going", "--force")
    until("the topic's offsets are gone", lambda: cli.offsets("kept") == {("orders", 0): 3}, 20)
    member, generation = client.alone("kept", topics=("orders",), session=600000)
    client.commit("kept", {"orders": {0: 8}}, generation, member)
    client.leave("kept", member)
    cli("offsets", "reset", "kept", "--all-topics", "--to-earliest", "--execute", "--force")
    check_equal(cli.offsets("kept"), {("orders", 0): 0}, "forced")
    _, err = cli("offsets", "rename", "kept", "moved", "--execute", "--force")
    check("group 'kept' is deleted, and its protection with it: group 'moved' is not protected" in err, err)
    config = cli.json("configs", "get", "groups", "moved", "muster.protected")["configs"]
    check_equal([(c["value"], c["source"]) for c in config], [("false", "default")], "the protection of the new group")
    listed = [c["key"] for c in cli.json("configs", "list", "groups", "moved", "--all")["configs"]]
    check_equal((listed.count("muster.protected"), listed), (1, sorted(listed)), "all of its configs")
    cli("groups", "delete", "moved")
    say("protected: nobody but members and --force")


def many(cli, client):
    cli("topics", "create", "wide", "--partitions", MANY)
    cli("topics", "set-end", "wide", 7)
    cli("offsets", "pre-create", "wide-group", "--topic", "wide", "--to-offset", 3, "--execute")
    check_equal(len(cli.offsets("wide-group")), MANY, "offsets made in parts")
    member, generation = client.alone("wide-group", topics=("wide",), session=600000)
    _, err = cli("offsets", "reset", "wide-group", "--all-topics", "--to-latest", "--execute", code=1)
    check("--fence" in err, err)
    check_equal(set(cli.offsets("wide-group").values()), {3}, "offsets of a group with a member")
    _, err = cli("offsets", "reset", "wide-group", "--all-topics", "--to-latest", "--fence", "--execute")
    check("parts" in err, err)
    check_equal(list(cli.offsets("wide-group").values()), [7] * MANY, "offsets after a reset in parts")
    check_equal(client.heartbeat("wide-group", generation, member), 25, "the member that was fenced")
    say(f"{MANY} offsets of one group, in parts, with --fence too")


def several(cli, client):
    """Groups one after the other, each of them whole, and each told."""
    members = {group: client.alone(group, topics=("orders",), session=600000) for group in ("one", "two", "three")}
    for group, (member, generation) in members.items():
        client.commit(group, {"orders": {0: 5, 1: 6}, "other": {0: 7}}, generation, member)
    words = ("offsets", "reset", *members, "--topic", "orders", "--topic", "other", "--to-earliest")
    cli(*words, "--execute", code=1)
    check_equal([cli.offsets(group)["orders", 1] for group in members], [6, 6, 6], "offsets of groups with members")
    done = cli.json(*words, "--fence", "--execute")["groups"]
    check_equal([(g["group"], g["executed"], len(g["offsets"])) for g in done], [(group, True, 4) for group in members], "what was told")
    for group, (member, generation) in members.items():
        check_equal(set(cli.offsets(group).values()), {0}, f"offsets of {group}")
        check_equal(client.heartbeat(group, generation, member), 25, f"the member of {group}")
    say("three groups and two topics in one command, with --fence")


def who(cli, cluster):
    got, out, err = cluster.muster("log", "dump", "--group", "i", "--json", "--bootstrap", cluster.bootstrap())
    check_equal(got, 0, err)
    check("muster offsets rename --execute, by " in out and "muster offsets import" in out, "who renamed, and who imported")
    say("the log has the command lines and the user")


def run(test):
    cluster = test.cluster().start()
    cli, client = Cli(test, cluster), cluster.client()
    resets(cli)
    files(cli)
    the_past(cli, client, cluster)
    beside_commits(cli, cluster)
    deletions(cli, client)
    protection(cli, client)
    several(cli, client)
    many(cli, client)
    who(cli, cluster)


if __name__ == "__main__":
    main(run, 26992)
