"""Kafka's command line tools, on a cluster: what they print, with what differs from run to run named."""
import argparse
import re
import subprocess

JAVA = ["java", "-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"]
TOOLS = {
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
    "kafka-configs": "org.apache.kafka.tools.ConfigCommand",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-streams-groups": "org.apache.kafka.tools.streams.StreamsGroupCommand",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
}

# What a run draws anew: ids in either form, addresses.
DRAWN = re.compile(r"(?<![\w-])[A-Za-z0-9_-]{22}(?![\w-])|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
ADDRESS = re.compile(r"\S+:\d{4,5}\b( +\(\d+\))?")


def arguments(doc):
    """The options that each story takes."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("bootstrap", "libs", "classes", "hook-topic"):
        parser.add_argument(f"--{name}", required=True)
    return parser.parse_args()


def java(options, *words):
    return JAVA + ["-cp", f"{options.classes}:{options.libs}/*", *words]


def plain(text, groups):
    """Without what differs from run to run. The rows of these groups in order; a usage text, which is the tool's own, is left out."""
    lines = []
    for line in text.splitlines():
        line = re.sub(r"\s+", " ", ADDRESS.sub("<address>", DRAWN.sub("<drawn>", line))).strip()
        if line.startswith("Option Description"):
            break
        line = re.sub("StreamThread-[12]", "StreamThread", line)  # which of two has which tasks
        line = re.sub("(Valid .* are|following scenarios): .*", r"\1: ...", line)  # in no order
        if line and not line.startswith("at "):
            lines.append(line)
    rows = sorted(line for line in lines if line.startswith(groups))
    return [rows.pop(0) if line.startswith(groups) else line for line in lines]


class Tools:
    """Kafka's tools, in one process (ToolShell)."""

    def __init__(self, options, groups):
        self.options, self.groups = options, groups
        self.shell = subprocess.Popen(java(options, "ToolShell"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, tool, words):
        """What it printed, and its exit code."""
        where = "" if tool == "kafka-dump-log" else f"--bootstrap-server {self.options.bootstrap} "
        self.shell.stdin.write(f"{TOOLS[tool]} {where}{words}\n")
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

    def tell(self, tool, form):
        text, code = self.run(tool, form)
        print(f"$ {tool} {form}")
        for line in plain(text, self.groups):
            print(f"  {line}")
        print(f"  exit {code}", flush=True)

    def end(self):
        self.shell.kill()
