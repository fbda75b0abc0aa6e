#!/usr/bin/env python3
"""kafka-streams-groups of Apache Kafka in all its forms, on a cluster; what it prints, with what differs from run to run named.

    streams_groups.py --bootstrap LIST --libs FOLDER --classes FOLDER --hook-topic PROGRAM > transcript

The same story is told on Apache Kafka and on muster, and the two transcripts have to be the same (tests/interop/run does that): an application
of Kafka Streams joins, its group is listed and described, it leaves, its offsets are reset and deleted, the group is deleted.
"""
import contextlib
import os
import subprocess
import sys
import time

from shell import Tools, arguments, java

APPLICATION, TOPIC = "tool-app", "tool-in"

# Left out: --to-datetime and --by-duration, as topics without data have nothing of any time; --describe --topology, which Kafka answers with an
# error unless somebody wrote it a plugin. Forms while the application runs, and when it has ended. Each is told with its exit code.
RUNNING = [
    "--list", "--list --state", "--list --state Stable", "--list --state Empty", "--list --state nonsense",
    "--describe --group tool-app", "--describe --group tool-app --verbose", "--describe --group tool-app --state",
    "--describe --group tool-app --state --verbose", "--describe --group tool-app --members", "--describe --group tool-app --members --verbose",
    "--describe --group tool-app --offsets", "--describe --group tool-app --offsets --verbose", "--describe --all-groups",
    "--describe --group unknown", "--delete --group tool-app",
    "--reset-offsets --group tool-app --all-input-topics --to-earliest --dry-run",
    "--delete-offsets --group tool-app --input-topic tool-in",
]
ENDED = [
    "--list --state", "--describe --group tool-app --state", "--describe --group tool-app --members", "--describe --group tool-app --offsets",
    "--reset-offsets --group tool-app --input-topic tool-in --to-offset 4 --dry-run",
    "--reset-offsets --group tool-app --input-topic tool-in --to-offset 4 --execute",
    "--describe --group tool-app --offsets",
    "--reset-offsets --group tool-app --all-input-topics --shift-by -1 --execute",
    "--reset-offsets --group tool-app --input-topic tool-in:1 --to-latest --execute",
    "--describe --group tool-app --offsets",
    "--reset-offsets --group tool-app --all-input-topics --to-current --dry-run",
    "--reset-offsets --group tool-app --all-input-topics --to-earliest --dry-run --export",
    "--reset-offsets --group tool-app --input-topic tool-in --to-offset 99 --dry-run",
    "--delete-offsets --group tool-app --input-topic tool-in:1", "--describe --group tool-app --offsets",
    "--delete-offsets --group tool-app --all-input-topics", "--delete-offsets --group tool-app --input-topic nowhere",
    "--delete --group tool-app", "--list", "--describe --group tool-app", "--delete --group tool-app",
]


# Other tools, and what they say of a group of another type than theirs, while the application runs.
OTHERS = [
    ("kafka-consumer-groups", "--list"), ("kafka-consumer-groups", "--list --type streams"), ("kafka-consumer-groups", "--list --state --type streams"),
    ("kafka-consumer-groups", "--describe --group tool-app"), ("kafka-consumer-groups", "--describe --group tool-app --state"),
    ("kafka-consumer-groups", "--delete --group tool-app"), ("kafka-groups", "--list"), ("kafka-groups", "--list --streams"),
    ("kafka-groups", "--list --consumer"), ("kafka-groups", "--list --group-type streams"),
]


def application(options):
    return subprocess.Popen(java(options, "StreamsInstance", APPLICATION, TOPIC, "a"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, env={**os.environ, "BOOTSTRAP": options.bootstrap})


def prepare(options, tools):
    """Topics, their end offsets, and offsets committed at their ends, so that no record is there to be worked on."""
    tools.must("kafka-topics", f"--create --topic {TOPIC} --partitions 2 --replication-factor 1")
    subprocess.run([options.hook_topic, TOPIC], check=True, timeout=60, env={**os.environ, "BOOTSTRAP": options.bootstrap})
    tools.must("kafka-consumer-groups", f"--group {APPLICATION} --reset-offsets --to-offset 10 --topic {TOPIC} --execute")


def wait_for_tasks(app):
    for line in app.stdout:
        if line.startswith("state RUNNING active=0_0,0_1,1_0,1_1"):
            return
    raise SystemExit("FAILED: the application ended before it ran its tasks")


def main():
    options = arguments(__doc__)
    tools = Tools(options, APPLICATION)
    with contextlib.ExitStack() as stack:
        stack.callback(tools.end)
        prepare(options, tools)
        app = application(options)
        stack.callback(app.kill)
        wait_for_tasks(app)
        time.sleep(1)
        for form in RUNNING:
            tools.tell("kafka-streams-groups", form)
        for tool, form in OTHERS:
            tools.tell(tool, form)
        app.stdin.write("leave\n")
        app.stdin.flush()
        app.wait(timeout=60)
        for form in ENDED:
            tools.tell("kafka-streams-groups", form)


if __name__ == "__main__":
    sys.exit(main())
