#!/usr/bin/env python3
"""muster's own commands on groups of every type; what they print, without what differs from run to run.

    commands.py --bootstrap LIST --libs FOLDER --classes FOLDER --hook-topic PROGRAM > transcript

The same story is told on Apache Kafka and on muster, and the two transcripts have to be the same (tools/run does that): all commands that speak Kafka's protocol work on
both. Members of all three types join, commit and leave; groups and their offsets are listed, described, reset, copied, renamed, exported, imported and deleted, topics and configs
made, changed and deleted. Of what only muster has (the log, histories, protection, members, shards) `takeover.py` sees that Kafka's users are told so.
"""
import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

from shell import arguments
from takeover import NONE, Client, ConsumerMember, StreamsMember, addresses, check, commit_errors, commit_fields, topology

ONE, TWO = "own-one", "own-two"
CLASSIC, CONSUMER, STREAMS, SIMPLE = "own-classic", "own-consumer", "own-streams", "own-simple"
GROUPS = (CLASSIC, CONSUMER, STREAMS, SIMPLE)

# Where it is, and what one run draws: nodes, addresses, ids that servers make, times; and what muster alone can tell.
DRAWN = {"coordinator", "shard", "leader", "replicas", "isr", "host", "clientHost", "port", "id", "topicId", "node", "address", "memberId", "processId", "clientId",
         "leaderEpoch"}
MUSTER_ONLY = {"shard", "protected", "problem", "undo"}

LISTS = ["groups list", "groups list --state Stable", "groups list --state Empty,Stable", "groups list --type consumer", "groups list --type streams",
         "groups list --type classic"]
VIEWS = ["groups describe {0}", "groups describe {0} --state", "groups describe {0} --offsets", "offsets list {0}", "offsets export {0}"]


class Story:
    def __init__(self, options):
        self.options = options
        self.program = os.environ["MUSTER_BIN"] + "/muster"
        self.client = Client(addresses(options.bootstrap), patience=30)
        self.folder = Path(tempfile.mkdtemp())

    def run(self, words, form=("--json",)):
        command = [self.program, *words.split(), *form, "--bootstrap", self.options.bootstrap, "--timeout", "30000"]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=self.folder)

    def tell(self, *commands):
        for words in commands:
            done = self.run(words)
            print(f"$ muster {words}")
            for line in told(done.stdout) + done.stderr.splitlines():
                print(f"  {line}")
            print(f"  exit {done.returncode}", flush=True)

    def tell_text(self, words, error=""):
        """As a table: that there is one, and of how many lines; that what is said on standard error has it."""
        done = self.run(words, ())
        check(re.search(error or "^$", done.stderr), f"muster {words} says: {done.stderr}")
        print(f"$ muster {words}  (text)\n  {len(done.stdout.splitlines())} lines\n  exit {done.returncode}", flush=True)

    def commit(self, group, offsets, epoch=-1, member="", version=8):
        values = self.client.group(group, "OffsetCommit", version, commit_errors, **commit_fields(group, offsets, epoch, member, version=version))
        check(commit_errors(values) == {NONE}, f"commit of {group}: {commit_errors(values)}")


def told(text):
    """A document, one entry of its lists a line, in order; or the lines as they are."""
    try:
        document = json.loads(text)
    except ValueError:
        return text.splitlines()
    return json.dumps(settled(document), indent=1, sort_keys=True).splitlines()


def settled(value):
    if isinstance(value, dict):
        return {key: "<drawn>" if key in DRAWN else settled(item) for key, item in value.items() if key not in MUSTER_ONLY}
    if isinstance(value, list):
        return sorted((settled(item) for item in value if ours(item)), key=lambda item: json.dumps(item, sort_keys=True))
    return value


def ours(item):
    """Not what another story has left."""
    name = item.get("group", item.get("name", item.get("topic"))) if isinstance(item, dict) else None
    return not isinstance(name, str) or name.startswith("own-") or "key" in item


def topics(story):
    story.tell(f"topics create {ONE} {TWO} --partitions 2", f"topics create {ONE}", "topics create own/bad", "topics create own-more --partitions 0")
    for topic in (ONE, TWO):
        subprocess.run([story.options.hook_topic, topic], env={**os.environ, "BOOTSTRAP": story.options.bootstrap}, check=True)
    story.tell(f"topics describe {ONE}", "topics describe own-none", "topics create own-brief --partitions 1 --config retention.ms=1000", "topics describe own-brief",
               "topics delete own-brief own-none")


def join(story):
    """One member of each type; the simple group has none."""
    member, generation = story.client.alone(CLASSIC, topics=(ONE,), session=30000)
    story.commit(CLASSIC, {ONE: {0: 3}}, generation, member)
    consumer = ConsumerMember(story.client, CONSUMER, "AAAAAAAAAAAAAAAAAAAAAA").join(ONE)
    consumer.settle(2, 30)
    consumer.confirm()
    story.commit(CONSUMER, {ONE: {0: 4, 1: 5}}, consumer.epoch, consumer.member, 9)
    streams = StreamsMember(story.client, STREAMS, "BBBBBBBBBBBBBBBBBBBBBB").join(topology(TWO))
    streams.settle(2, 30)
    streams.confirm()
    story.commit(STREAMS, {TWO: {1: 6}}, streams.epoch, streams.member, 9)
    story.commit(SIMPLE, {ONE: {0: 1, 1: 10}, TWO: {0: 2}})
    return lambda: (story.client.leave(CLASSIC, member), consumer.leave(), streams.leave())


def look(story):
    story.tell(*LISTS)
    for group in GROUPS:
        story.tell(*(view.format(group) for view in VIEWS), f"groups coordinator {group}")
    story.tell(f"streams describe {STREAMS}", f"streams describe {CONSUMER}", "groups describe own-none", "offsets list own-none")
    for words in ("groups list", f"groups describe {CONSUMER}", f"offsets list {SIMPLE}", f"topics describe {ONE}"):
        story.tell_text(words)


def busy(story):
    """What members keep from being done."""
    story.tell(f"groups delete {CLASSIC}", f"offsets delete {STREAMS} --topic {TWO} --execute", f"offsets rename {CLASSIC} own-new --execute")
    story.tell_text(f"offsets reset {CONSUMER} --topic {ONE} --to-earliest --execute", "member")


def offsets(story):
    for group in GROUPS:
        for plan in ("--to-earliest", "--to-latest", "--to-offset 7", "--shift-by -2", "--to-current"):
            story.tell(f"offsets reset {group} --all-topics {plan}")
    story.tell(f"offsets reset {SIMPLE} --topic {ONE}:1 --to-offset 4 --execute", f"offsets list {SIMPLE}",
               f"offsets copy {CLASSIC} own-copy --execute", "offsets list own-copy", "offsets rename own-copy own-named --execute", "offsets list own-copy own-named",
               f"offsets pre-create own-early --topic {TWO} --to-latest --execute", "offsets list own-early",
               f"offsets delete {SIMPLE} --topic {ONE}:0 --execute", f"offsets export {SIMPLE}", "offsets reset own-named --to-offset 1", "offsets delete own-none --topic own-one")
    for form, name in (((), "own.csv"), (("--json",), "own.json")):
        (story.folder / name).write_text(story.run("offsets export own-named", form).stdout, encoding="utf-8")
    story.tell("offsets import own.csv --group own-read --execute", "offsets list own-read", "offsets import own.json --execute", "offsets import own-none.csv --execute")
    story.tell(f"topics delete {TWO}", "groups delete own-named own-read own-early own-none", *(f"groups delete {g}" for g in GROUPS), "groups list")


def configs(story):
    story.tell(f"configs set topics {ONE} retention.ms=5000", f"configs get topics {ONE} retention.ms", f"configs list topics {ONE}", f"configs unset topics {ONE} retention.ms",
               f"configs list topics {ONE}", f"configs set topics {ONE} no.such=1", f"configs set groups {CONSUMER} consumer.session.timeout.ms=46000",
               f"configs list groups {CONSUMER}", f"configs unset groups {CONSUMER} consumer.session.timeout.ms", "configs list topics own-none")


def main():
    story = Story(arguments(__doc__))
    topics(story)
    leave = join(story)
    look(story)
    busy(story)
    leave()
    configs(story)
    offsets(story)
    story.tell(f"topics delete {ONE}")


if __name__ == "__main__":
    main()
