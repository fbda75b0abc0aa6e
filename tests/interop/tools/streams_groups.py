#!/usr/bin/env python3
"""kafka-streams-groups of Apache Kafka in all its forms, on a cluster; what it prints, with what differs from run to run named.

    streams_groups.py --bootstrap LIST --libs FOLDER --classes FOLDER --hook-topic PROGRAM > transcript

The same story is told on Apache Kafka and on muster, and the two transcripts have to be the same (tests/interop/run does that): an application
of Kafka Streams joins, its group is listed and described, it leaves, its offsets are reset and deleted, the group is deleted.
"""
import argparse
import contextlib
import os
import re
import subprocess
import sys
import time

APPLICATION, TOPIC = "tool-app", "tool-in"
COMMAND = "org.apache.kafka.tools.streams.StreamsGroupCommand"
JAVA = ["java", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"]

# What a run draws anew: ids in either form, addresses, which of two threads has which tasks.
DRAWN = re.compile(r"(?<![\w-])[A-Za-z0-9_-]{22}(?![\w-])|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
ADDRESS = re.compile(r"\S+:\d{4,5}\b( +\(\d+\))?")

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


def java(options, *words):
    return JAVA + ["-cp", f"{options.classes}:{options.libs}/*", *words]


def plain(text):
    """Without what differs from run to run. Rows of a table in order; a usage text, which is the tool's own, is left out."""
    lines = []
    for line in text.splitlines():
        line = re.sub(r"\s+", " ", ADDRESS.sub("<address>", DRAWN.sub("<drawn>", line))).strip()
        if line.startswith("Option Description"):
            break
        line = re.sub("StreamThread-[12]", "StreamThread", line)
        line = re.sub("Valid states are: .*", "Valid states are: ...", line)  # in no order
        if line and not line.startswith("at "):
            lines.append(line)
    rows = sorted(line for line in lines if line.startswith(APPLICATION))
    return [rows.pop(0) if line.startswith(APPLICATION) else line for line in lines]


class Tools:
    """Kafka's tools, in one process (ToolShell)."""

    def __init__(self, options):
        self.options = options
        self.shell = subprocess.Popen(java(options, "ToolShell"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, tool, words):
        """What it printed, and its exit code."""
        self.shell.stdin.write(f"{tool} --bootstrap-server {self.options.bootstrap} {words}\n")
        self.shell.stdin.flush()
        text = ""
        for line in self.shell.stdout:
            if re.fullmatch(r"exit -?\d+\n", line):
                return text, int(line.split()[1])
            text += line
        raise SystemExit("FAILED: the tools ended")

    def must(self, tool, words):
        text, code = self.run(tool, words)
        if code != 0:
            raise SystemExit(f"FAILED: {tool} {words}: {text}")

    def tell(self, form):
        text, code = self.run(COMMAND, form)
        print(f"$ kafka-streams-groups {form}")
        for line in plain(text):
            print(f"  {line}")
        print(f"  exit {code}", flush=True)

    def end(self):
        self.shell.kill()


def application(options):
    return subprocess.Popen(java(options, "StreamsInstance", APPLICATION, TOPIC, "a"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, env={**os.environ, "BOOTSTRAP": options.bootstrap})


def prepare(options, tools):
    """Topics, their end offsets, and offsets committed at their ends, so that no record is there to be worked on."""
    tools.must("org.apache.kafka.tools.TopicCommand", f"--create --topic {TOPIC} --partitions 2 --replication-factor 1")
    subprocess.run([options.hook_topic, TOPIC], check=True, timeout=60, env={**os.environ, "BOOTSTRAP": options.bootstrap})
    tools.must("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
               f"--group {APPLICATION} --reset-offsets --to-offset 10 --topic {TOPIC} --execute")


def wait_for_tasks(app):
    for line in app.stdout:
        if line.startswith("state RUNNING active=0_0,0_1,1_0,1_1"):
            return
    raise SystemExit("FAILED: the application ended before it ran its tasks")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("bootstrap", "libs", "classes", "hook-topic"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    tools = Tools(options)
    with contextlib.ExitStack() as stack:
        stack.callback(tools.end)
        prepare(options, tools)
        app = application(options)
        stack.callback(app.kill)
        wait_for_tasks(app)
        time.sleep(1)
        for form in RUNNING:
            tools.tell(form)
        app.stdin.write("leave\n")
        app.stdin.flush()
        app.wait(timeout=60)
        for form in ENDED:
            tools.tell(form)


if __name__ == "__main__":
    sys.exit(main())
