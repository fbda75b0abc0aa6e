#!/usr/bin/env python3
"""`muster offsets reset --fence` while members of all three protocols commit as fast as they can, and while a coordinator dies: whatever a member's life before
the reset commits is either what the reset says it replaced or an earlier one, or is refused; the next life begins at the new offset."""
import json
import random
import threading

from faultlib.client import Client, Lost, Refused
from faultlib.consumer import ConsumerMember
from faultlib.protocol import FENCED_MEMBER_EPOCH, ILLEGAL_GENERATION, NONE, STALE_MEMBER_EPOCH, UNKNOWN_MEMBER_ID, commit_errors, commit_fields
from faultlib.story import Failed, check, check_equal, main, say, until
from faultlib.streams import StreamsMember, topology

TOPIC, ROUNDS, END = "orders", 6, 10_000_000
GONE = {UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, STALE_MEMBER_EPOCH, FENCED_MEMBER_EPOCH}


class Life:
    """From a join to the moment the coordinator says that it is over."""

    def __init__(self, begun):
        self.begun = begun      # where it took up
        self.sent = begun       # the highest offset it has asked to commit
        self.answered = None    # the highest that was acknowledged


class Worker(threading.Thread):
    """One member that takes up where its group is and commits one offset after the other; a fenced one begins a new life."""

    def __init__(self, cluster, protocol):
        super().__init__(name=protocol, daemon=True)
        self.client = Client(cluster.addresses(), patience=20)
        self.protocol, self.group = protocol, f"{protocol}-group"
        self.lives, self.over, self.failed = [], threading.Event(), None

    def enter(self):
        if self.protocol == "classic":
            self.member, self.epoch = self.client.alone(self.group, topics=(TOPIC,), session=60000)
            return
        kind = ConsumerMember if self.protocol == "consumer" else StreamsMember
        member = kind(self.client, self.group, "m")     # under its old id again, as clients of these protocols do
        if self.protocol == "consumer":
            member.join(TOPIC)
        else:
            member.join(topology(TOPIC))
        member.settle(1, 20)
        self.member, self.epoch = member.member, member.epoch

    def position(self):
        return max(0, self.client.offsets(self.group, {TOPIC: [0]})[TOPIC, 0])

    def commit(self, offset):
        fields = commit_fields(self.group, {TOPIC: {0: offset}}, self.epoch, self.member, version=9)
        return commit_errors(self.client.group(self.group, "OffsetCommit", 9, commit_errors, **fields))

    def live(self):
        self.enter()
        life = Life(self.position())
        self.lives.append(life)
        while not self.over.is_set():
            life.sent += 1
            errors = self.commit(life.sent)
            if errors & GONE:
                return
            check_equal(errors, {NONE}, f"commit of {self.group}")
            life.answered = life.sent

    def run(self):
        while not self.over.is_set():
            try:
                self.live()
            except (Lost, Refused, Failed, OSError) as error:
                self.failed = f"{self.group}: {error}"
                return


def reset(cluster, group, offset):
    words = ("offsets", "reset", group, "--topic", TOPIC, "--to-offset", offset, "--fence", "--execute", "--json", "--timeout", 20000)
    code, out, err = cluster.muster(*words, "--bootstrap", cluster.bootstrap())
    check_equal(code, 0, f"exit code of the reset: {err}")
    group_said = json.loads(out)["groups"][0]
    return group_said["fenced"], group_said["offsets"][0]


def round_of(cluster, client, worker, number, kill):
    lives = len(worker.lives)
    old = worker.lives[-1]
    until(f"{worker.group} commits", lambda: worker.failed or (old.answered or 0) > old.begun + 20, 30)
    if kill:
        node = cluster.coordinator(client, worker.group)
        cluster.kill(node)
        say(f"{worker.group}: coordinator {node} killed")
    target = 1000 * number + random.randrange(1000)
    fenced, said = reset(cluster, worker.group, target)
    check_equal((fenced, said["newOffset"]), (1, target), f"reset of {worker.group}")
    before = said["currentOffset"]
    until(f"the next life of {worker.group}", lambda: worker.failed or len(worker.lives) > lives, 40)
    check(worker.failed is None, worker.failed)
    check((old.answered or old.begun) <= before <= old.sent,
          f"{worker.group}: acknowledged up to {old.answered}, sent up to {old.sent}, and the reset replaced {before}")
    check_equal(worker.lives[lives].begun, target, f"{worker.group}: where it took up again")
    if kill:
        cluster.restart(node)
        cluster.wait()
    say(f"{worker.group}: {before} replaced by {target}, the member of before had {old.answered} acknowledged")


def dry_run_and_refusal(cluster, worker):
    code, _, err = cluster.muster("offsets", "reset", worker.group, "--topic", TOPIC, "--to-offset", 1, "--execute", "--bootstrap", cluster.bootstrap())
    check(code == 1 and "NON_EMPTY_GROUP" in err, f"without --fence: exit code {code}: {err}")
    lives = len(worker.lives)
    code, out, _ = cluster.muster("offsets", "reset", worker.group, "--topic", TOPIC, "--to-offset", 1, "--fence", "--bootstrap", cluster.bootstrap())
    check(code == 0 and TOPIC in out, "a plan")
    answered = worker.lives[-1].answered
    until("it commits on", lambda: worker.lives[-1].answered > answered + 10, 20)
    check_equal(len(worker.lives), lives, "lives after what changes nothing")


def run(test):
    cluster = test.cluster().start()
    client = cluster.client()
    client.create_topic(TOPIC)
    code, _, err = cluster.muster("topics", "set-end", TOPIC, END, "--bootstrap", cluster.bootstrap())
    check_equal(code, 0, err)
    workers = [Worker(cluster, protocol) for protocol in ("classic", "consumer", "streams")]
    for worker in workers:
        worker.start()
    for worker in workers:
        until(f"{worker.group} lives", lambda worker=worker: worker.failed or (worker.lives and worker.lives[-1].answered), 30)
        check(worker.failed is None, worker.failed)
        dry_run_and_refusal(cluster, worker)
    for number in range(1, ROUNDS + 1):
        for worker in workers:
            round_of(cluster, client, worker, number, kill=number == ROUNDS // 2)
    for worker in workers:
        worker.over.set()
        worker.join()
    say(f"{ROUNDS} resets of each of {len(workers)} groups")


if __name__ == "__main__":
    main(run, 26892)
