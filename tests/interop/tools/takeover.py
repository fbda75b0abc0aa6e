#!/usr/bin/env python3
"""Groups of all three types go from a running Apache Kafka into muster and back, by the topic __consumer_offsets, by its segment files, and by files of ours; and
`muster offsets reset` plans on Kafka what kafka-consumer-groups plans there.

tests/interop/tools/run starts both clusters and calls it. Prints what was compared; ends with 1 and the reason when something differs."""
import argparse
import csv
import io
import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "fault"))
from faultlib.client import Client  # noqa: E402
from faultlib.consumer import ConsumerMember  # noqa: E402
from faultlib.protocol import NONE, commit_errors, commit_fields  # noqa: E402
from faultlib.streams import StreamsMember, topology  # noqa: E402
from shell import Tools  # noqa: E402

TOPIC, OTHER = "takeover", "takeover-log"
RECORDS = 40
GROUPS = ("take-classic", "take-consumer", "take-simple", "take-streams")
MUSTER_ONLY = ("groups history take-classic", "groups why take-classic", "groups describe take-classic --at 5", "offsets list take-classic --at 5", "log dump", "log stat",
               "log verify", "log state", "cluster members", "cluster status", "cluster transfer 1 1", "cluster rebalance", "cluster upgrade", "cluster add 7@127.0.0.1:1", "cluster remove 1",
               "snapshot save never-written")
PLANS = ("--to-earliest", "--to-latest", "--to-current", "--to-offset 7", "--to-offset 100000", "--shift-by -3", "--shift-by 5", "--shift-by -50")


def check(condition, text):
    if not condition:
        raise SystemExit(f"FAILED: {text}")


class Muster:
    """The command line, on one of the clusters."""

    def __init__(self, program, bootstrap):
        self.program, self.bootstrap = program, bootstrap

    def run(self, *words):
        done = subprocess.run([self.program, *map(str, words), "--bootstrap", self.bootstrap, "--timeout", "30000"], capture_output=True, text=True,
                              timeout=120, check=False)
        return done.returncode, done.stdout, done.stderr

    def must(self, *words):
        code, out, err = self.run(*words)
        check(code == 0, f"muster {' '.join(map(str, words))}: exit code {code}: {err}")
        return out

    def offsets(self):
        """{(group, topic, partition): (offset, metadata)} of this story's groups."""
        return rows_of(json.loads(self.must("offsets", "export", "--json")))


def rows_of(document):
    return {(g["group"], o["topic"], o["partition"]): (o["offset"], o["metadata"] or "")
            for g in document["groups"] for o in g["offsets"] if g["group"] in GROUPS}


def addresses(bootstrap):
    return [(a.rsplit(":", 1)[0], int(a.rsplit(":", 1)[1])) for a in bootstrap.split(",")]


def fill(topic, bootstrap, partitions):
    for partition in range(partitions):
        subprocess.run(["kcat", "-q", "-P", "-b", bootstrap, "-t", topic, "-p", str(partition)], input="x\n" * RECORDS, text=True, check=True, timeout=30)


def commit(client, group, offsets, epoch, member, version):
    values = client.group(group, "OffsetCommit", version, commit_errors, **commit_fields(group, offsets, epoch, member, version=version))
    check(commit_errors(values) == {NONE}, f"commit of {group}: {commit_errors(values)}")


def live(bootstrap):
    """Each group has a member of its protocol, which commits twice and leaves; the simple one has none, and has committed beyond an end."""
    client = Client(addresses(bootstrap), patience=30)
    for topic in (TOPIC, OTHER):
        client.create_topic(topic, 3)
        fill(topic, bootstrap, 3)
    member, generation = client.alone("take-classic", topics=(TOPIC,), session=30000)
    commit(client, "take-classic", {TOPIC: {0: 1, 1: 11}, OTHER: {2: 12}}, generation, member, 8)
    commit(client, "take-classic", {TOPIC: {0: 10}}, generation, member, 8)
    client.leave("take-classic", member)
    consumer = ConsumerMember(client, "take-consumer", "AAAAAAAAAAAAAAAAAAAAAA").join(TOPIC)
    consumer.settle(3, 30)
    commit(client, "take-consumer", {TOPIC: {0: 20, 1: 21, 2: 22}}, consumer.epoch, consumer.member, 9)
    consumer.leave()
    streams = StreamsMember(client, "take-streams", "BBBBBBBBBBBBBBBBBBBBBB").join(topology(TOPIC))
    streams.settle(3, 30)
    commit(client, "take-streams", {TOPIC: {0: 30, 2: 32}}, streams.epoch, streams.member, 9)
    streams.leave()
    commit(client, "take-simple", {OTHER: {0: 5, 1: 6, 2: 1000}}, -1, "", 8)
    client.close()


def segments(folder):
    return sorted(str(p) for p in Path(folder).glob("__consumer_offsets-*/*.log"))


def compressed(path):
    """How many of the file's batches say that they are compressed with lz4."""
    data, at, count = Path(path).read_bytes(), 0, 0
    while at + 61 <= len(data):
        count += data[at + 22] & 7 == 3
        at += 12 + int.from_bytes(data[at + 8:at + 12], "big")
    return count


def into_muster(options, kafka, muster):
    there = kafka.offsets()
    check(len(there) == 11, f"Kafka has {there}")
    words = ("offsets", "import", "--from-kafka", kafka.bootstrap, "--create-topics")
    muster.must(*words)
    check(muster.offsets() == {}, "a plan that changed something")
    muster.must(*words, "--execute")
    check(muster.offsets() == there, f"taken over: {muster.offsets()}, not {there}")
    print(f"{len(there)} offsets of {len(GROUPS)} groups read from the topic of a running Kafka")
    for group in GROUPS:
        muster.must("groups", "delete", group)
    muster.must("offsets", "import", "--segment", *segments(options.kafka_data), "--execute")
    check(muster.offsets() == there, f"from segment files: {muster.offsets()}, not {there}")
    batches = sum(compressed(path) for path in segments(options.kafka_data))
    check(batches > 0, "no batch of Kafka's is compressed: is offsets.topic.compression.codec=3 set?")
    print(f"the same from its {len(segments(options.kafka_data))} segment files, with {batches} batches of lz4")


def and_back(options, kafka, muster, tools):
    for group in GROUPS:
        muster.must("offsets", "reset", group, "--all-topics", "--shift-by", 2, "--execute")
    here = muster.offsets()
    for name, words in (("csv", ()), ("json", ("--json",))):
        path = Path(options.work) / f"back.{name}"
        path.write_text(muster.must("offsets", "export", *words), encoding="utf-8")
        kafka.must("offsets", "import", path, "--execute")
        check({k: v[0] for k, v in kafka.offsets().items()} == {k: v[0] for k, v in here.items()}, f"{name}: {kafka.offsets()}, not {here}")
        for group in GROUPS:
            muster.must("offsets", "reset", group, "--all-topics", "--shift-by", 1, "--execute")
        here = muster.offsets()
    print("back into Kafka from CSV and from JSON")
    segment = Path(options.work) / "00000000000000000000.log"  # the tool takes the first offset from the name
    muster.must("offsets", "export", *GROUPS, "--segment", segment)
    text, code = tools.run("kafka-dump-log", f"--offsets-decoder --files {segment}")
    payloads = [json.loads(line.split("payload: ")[1]) for line in text.splitlines() if "payload: " in line]
    keys = [json.loads(line.split("key: ")[1].split(" payload: ")[0]) for line in text.splitlines() if " key: " in line]
    got = {(k["data"]["group"], k["data"]["topic"], k["data"]["partition"]): p["data"]["offset"] for k, p in zip(keys, payloads)}
    check(code == 0 and "invalid" not in text.lower() and got == {k: v[0] for k, v in here.items()}, f"kafka-dump-log: {text}")
    print(f"kafka-dump-log reads the segment that was written: {len(got)} offsets")


def plans(kafka, tools):
    """What each option would do, by Kafka's tool and by muster's, on the same groups."""
    compared = 0
    for group in GROUPS:
        for plan in PLANS:
            theirs, code = tools.run("kafka-consumer-groups", f"--reset-offsets --group {group} --all-topics {plan} --export --dry-run")
            check(code == 0, f"kafka-consumer-groups {plan}: {theirs}")
            ours = kafka.must("offsets", "reset", group, "--all-topics", *plan.split(), "--export", "--dry-run")
            rows = [sorted(tuple(r) for r in csv.reader(io.StringIO(text)) if len(r) == 3 and r[2].isdigit()) for text in (theirs, ours)]
            check(rows[0] and rows[0] == rows[1], f"{group} {plan}: {rows[1]}, not {rows[0]}")
            compared += len(rows[0])
    print(f"{len(GROUPS) * len(PLANS)} plans of kafka-consumer-groups, {compared} offsets: the same")


def refusals(kafka):
    code, _, err = kafka.run("offsets", "reset", "take-classic", "--all-topics", "--to-earliest", "--fence", "--execute")
    check(code == 1 and "--fence needs a cluster of muster" in err, f"--fence on Kafka: {code} {err}")
    code, _, err = kafka.run("groups", "protect", "take-classic")
    check(code == 1 and "INVALID_CONFIG" in err, f"protect on Kafka: {code} {err}")
    code, _, err = kafka.run("offsets", "reset", "nobody", "--topic", TOPIC, "--to-earliest", "--execute")
    check(code == 1 and "GROUP_ID_NOT_FOUND" in err, f"an unknown group on Kafka: {code} {err}")
    member, _ = Client(addresses(kafka.bootstrap), patience=30).alone("take-active", topics=(TOPIC,), session=30000)
    code, _, err = kafka.run("offsets", "reset", "take-active", "--topic", TOPIC, "--to-earliest", "--execute")
    check(code == 1 and "has members" in err, f"an active group on Kafka: {code} {err}")
    Client(addresses(kafka.bootstrap), patience=30).leave("take-active", member)
    kafka.must("offsets", "rename", "take-simple", "take-renamed", "--execute")
    kafka.must("offsets", "delete", "take-renamed", "--topic", f"{OTHER}:1", "--execute")
    left = json.loads(kafka.must("offsets", "export", "take-renamed", "--json"))["groups"][0]["offsets"]
    check([o["partition"] for o in left] == [0, 2], f"after rename and delete: {left}")
    for words in MUSTER_ONLY:
        code, out, err = kafka.run(*words.split())
        check(code == 1 and out == "" and "it is not a muster node" in err, f"{words} on Kafka: {code} {out} {err}")
    print(f"{len(MUSTER_ONLY)} commands that need a log say so")
    print("on Kafka: --fence and protect say that they cannot; unknown and active groups are refused; rename and delete work")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("kafka", "muster", "program", "kafka-data", "work", "libs", "classes"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    options.bootstrap = options.kafka
    kafka, muster = Muster(options.program, options.kafka), Muster(options.program, options.muster)
    tools = Tools(options, GROUPS)
    live(options.kafka)
    into_muster(options, kafka, muster)
    and_back(options, kafka, muster, tools)
    plans(kafka, tools)
    refusals(kafka)
    tools.end()


if __name__ == "__main__":
    main()
