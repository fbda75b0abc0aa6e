#!/usr/bin/env python3
"""kafka-consumer-groups, kafka-groups and kafka-configs of Apache Kafka on groups of consumers; what they print, with what differs from run to run named.

    consumer_groups.py --bootstrap LIST --libs FOLDER --classes FOLDER --hook-topic PROGRAM > transcript

The same story is told on Apache Kafka and on muster, and the two transcripts have to be the same (tools/run does that): members of the new
protocol join, one by names and one by a regular expression; next to theirs there are a group that is being upgraded, a classic one and one that has only
offsets; the groups are listed and described, members leave, offsets are reset and deleted, groups are configured and deleted.
"""
import contextlib
import os
import subprocess
import sys
import tempfile
import time

from shell import Tools, arguments, java

ONE, TWO = "tool-one", "tool-two"
GROUPS = ("tool-group", "tool-mixed", "tool-classic", "tool-simple")
MEMBERS = [
    # name, group, protocol, subscription, what it owns then
    ("a", "tool-group", "consumer", ONE, f"{ONE}-0,{ONE}-1"),
    ("b", "tool-group", "consumer", "^tool-tw.*", f"{TWO}-0,{TWO}-1"),
    ("x", "tool-mixed", "classic", ONE, f"{ONE}-0,{ONE}-1"),
    ("y", "tool-mixed", "consumer", TWO, f"{TWO}-0,{TWO}-1"),
    ("z", "tool-classic", "classic", TWO, f"{TWO}-0,{TWO}-1"),
]

# Left out: --to-datetime and --by-duration, as topics without data have nothing of any time; --validate-regex, which asks no server.
LISTS = [
    ("kafka-consumer-groups", "--list"), ("kafka-consumer-groups", "--list --state"), ("kafka-consumer-groups", "--list --state Stable"),
    ("kafka-consumer-groups", "--list --state empty,stable"), ("kafka-consumer-groups", "--list --state nonsense"),
    ("kafka-consumer-groups", "--list --type"), ("kafka-consumer-groups", "--list --type consumer"),
    ("kafka-consumer-groups", "--list --type classic,consumer"), ("kafka-consumer-groups", "--list --type nonsense"),
    ("kafka-consumer-groups", "--list --state --type"), ("kafka-consumer-groups", "--list --state Empty --type classic"),
    ("kafka-groups", "--list"), ("kafka-groups", "--list --consumer"), ("kafka-groups", "--list --streams"), ("kafka-groups", "--list --share"),
    ("kafka-groups", "--list --group-type consumer"), ("kafka-groups", "--list --group-type classic"),
    ("kafka-groups", "--list --group-type nonsense"), ("kafka-groups", "--list --protocol consumer"),
    ("kafka-groups", "--list --group-type classic --protocol consumer"), ("kafka-groups", "--list --protocol connect"),
]
DESCRIPTIONS = ["", "--verbose", "--offsets", "--offsets --verbose", "--members", "--members --verbose", "--state", "--state --verbose"]
RUNNING = LISTS + [
    ("kafka-consumer-groups", f"--describe --group {group} {how}".strip()) for group in GROUPS for how in DESCRIPTIONS
] + [
    ("kafka-consumer-groups", f"--describe {which} {how}".strip())
    for which in ("--all-groups", "--group unknown", "--group tool-mixed --group tool-group") for how in ("", "--members", "--state")
] + [
    ("kafka-streams-groups", "--list"), ("kafka-streams-groups", "--describe --group tool-group"), ("kafka-streams-groups", "--delete --group tool-group"),
    ("kafka-streams-groups", "--describe --group tool-mixed --state"),
    ("kafka-consumer-groups", "--delete --group tool-group"), ("kafka-consumer-groups", "--delete --group tool-mixed"),
    ("kafka-consumer-groups", f"--reset-offsets --group tool-group --topic {ONE} --to-earliest --dry-run"),
    ("kafka-consumer-groups", f"--reset-offsets --group tool-mixed --topic {ONE} --to-earliest --execute"),
    ("kafka-consumer-groups", f"--delete-offsets --group tool-group --topic {ONE}"),
    ("kafka-consumer-groups", f"--delete-offsets --group tool-group --topic {TWO}:1"),
    ("kafka-consumer-groups", f"--delete-offsets --group tool-mixed --topic {ONE}"),
    ("kafka-consumer-groups", "--delete-offsets --group tool-group --topic nowhere"),
]
LEFT = [("kafka-consumer-groups", "--list --state --type")] + [
    ("kafka-consumer-groups", f"--describe --group tool-group {how}".strip()) for how in DESCRIPTIONS
] + [("kafka-consumer-groups", "--describe --group tool-mixed --members --verbose"), ("kafka-consumer-groups", "--describe --group tool-mixed --state")]
RESETS = [
    f"--topic {ONE} --to-offset 4 --dry-run", f"--topic {ONE} --to-offset 4 --execute", f"--topic {ONE} --topic {TWO} --to-earliest --dry-run",
    "--all-topics --shift-by -1 --execute", f"--topic {ONE}:1 --to-latest --execute", "--all-topics --to-current --dry-run",
    "--all-topics --to-earliest --dry-run --export", "--all-topics --to-current --dry-run --export --verbose", f"--topic {ONE} --to-offset 99 --dry-run",
    f"--topic {TWO}:0,1 --shift-by 2", "--topic nowhere --to-earliest --dry-run", f"--topic {ONE} --dry-run",
    f"--topic {ONE}:7 --to-earliest --dry-run",
]
ENDED = [("kafka-consumer-groups", f"--reset-offsets --group tool-group {how}") for how in RESETS] + [
    ("kafka-consumer-groups", "--describe --group tool-group --offsets"),
    ("kafka-consumer-groups", f"--reset-offsets --group tool-new --topic {ONE} --to-latest --execute"),
    ("kafka-consumer-groups", f"--reset-offsets --group tool-group --group tool-new --topic {TWO} --to-earliest --execute"),
    ("kafka-consumer-groups", "--reset-offsets --all-groups --all-topics --to-earliest --dry-run"),
    ("kafka-consumer-groups", f"--delete-offsets --group tool-group --topic {ONE}:1"),
    ("kafka-consumer-groups", f"--delete-offsets --group tool-group --topic {TWO}"),
    ("kafka-consumer-groups", "--delete-offsets --group tool-group --topic nowhere"),
    ("kafka-consumer-groups", f"--delete-offsets --group unknown --topic {ONE}"),
    ("kafka-consumer-groups", "--describe --group tool-group --offsets"),
    ("kafka-consumer-groups", "--delete --group tool-group"), ("kafka-consumer-groups", "--delete --group tool-group"),
    ("kafka-consumer-groups", "--describe --group tool-group"), ("kafka-consumer-groups", "--delete --group unknown --group tool-new"),
    ("kafka-consumer-groups", "--list"),
]
ON_GROUP = "--entity-type groups --entity-name tool-configured"
CONFIGS = [
    f"{ON_GROUP} --describe", f"{ON_GROUP} --alter --add-config consumer.heartbeat.interval.ms=2000,consumer.session.timeout.ms=8000",
    f"{ON_GROUP} --describe", "--group tool-configured --describe", "--entity-type groups --describe",
    f"{ON_GROUP} --alter --add-config consumer.assignment.interval.ms=500", f"{ON_GROUP} --describe",
    f"{ON_GROUP} --alter --add-config consumer.heartbeat.interval.ms=1", f"{ON_GROUP} --alter --add-config consumer.session.timeout.ms=70000",
    f"{ON_GROUP} --alter --add-config consumer.heartbeat.interval.ms=9000",
    f"{ON_GROUP} --alter --add-config consumer.heartbeat.interval.ms=soon", f"{ON_GROUP} --alter --add-config consumer.nonsense=1",
    f"{ON_GROUP} --alter --delete-config consumer.nonsense", f"{ON_GROUP} --alter --delete-config consumer.session.timeout.ms",
    f"{ON_GROUP} --describe", "--entity-type groups --entity-name unknown --describe", f"{ON_GROUP} --describe --all",
    f"{ON_GROUP} --alter --delete-config consumer.heartbeat.interval.ms,consumer.assignment.interval.ms", f"{ON_GROUP} --describe",
    "--entity-type groups --alter --add-config consumer.session.timeout.ms=8000",
]


class Members:
    """Consumers of these groups, in one process (Members.java)."""

    def __init__(self, options):
        self.process = subprocess.Popen(java(options, "Members"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "BOOTSTRAP": options.bootstrap})

    def ask(self, words, answer):
        self.process.stdin.write(words + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.rstrip() == answer:
                return
            if line.startswith("FAILED"):
                break
        raise SystemExit(f"FAILED: the members did not say '{answer}' to '{words}'")

    def start(self, name, group, protocol, subscription, owns):
        self.ask(f"start {name} {group} {protocol} {subscription}", f"{name} owns {owns}")

    def close(self, name):
        self.ask(f"close {name}", f"{name} closed")


def prepare(options, tools):
    for topic in (ONE, TWO):
        tools.must("kafka-topics", f"--create --topic {topic} --partitions 2 --replication-factor 1")
        subprocess.run([options.hook_topic, topic], check=True, timeout=60, env={**os.environ, "BOOTSTRAP": options.bootstrap})
    for group in GROUPS:
        tools.must("kafka-consumer-groups", f"--group {group} --reset-offsets --to-offset 7 --topic {ONE} --topic {TWO}:0 --execute")


def from_file(tools):
    """Offsets that an earlier --export printed."""
    with tempfile.NamedTemporaryFile("w", suffix=".csv", prefix="offsets-") as rows:
        rows.write(f"{ONE},0,2\n{TWO},1,3\n")
        rows.flush()
        tools.must("kafka-consumer-groups", f"--reset-offsets --group tool-group --from-file {rows.name} --execute")
    tools.tell("kafka-consumer-groups", "--describe --group tool-group --offsets")


def main():
    options = arguments(__doc__)
    tools = Tools(options, GROUPS)
    with contextlib.ExitStack() as stack:
        stack.callback(tools.end)
        prepare(options, tools)
        members = Members(options)
        stack.callback(members.process.kill)
        for member in MEMBERS:
            members.start(*member)
        time.sleep(3)  # until everybody has been told of the others
        for tool, form in RUNNING:
            tools.tell(tool, form)
        for name in ("a", "b", "y"):
            members.close(name)
        time.sleep(3)  # until x has heard that its group is a classic one again
        for tool, form in LEFT:
            tools.tell(tool, form)
        for name in ("x", "z"):
            members.close(name)
        from_file(tools)
        for tool, form in ENDED:
            tools.tell(tool, form)
        for form in CONFIGS:
            tools.tell("kafka-configs", form)


if __name__ == "__main__":
    sys.exit(main())
