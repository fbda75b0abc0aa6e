"""The lives of groups of the new protocol (KIP-848) with confluent-kafka (its own librdkafka): by names, with the coordinator killed under load; by
regular expression; with static members."""
import threading
import time

from confluent_kafka import Consumer, ConsumerGroupState, ConsumerGroupType, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from story import BOOTSTRAP, COMMITTED, RUN, WAIT, Failed, hook, say, tell

TOPIC, GROUP = f"confluent848-{RUN}", f"confluent848-group-{RUN}"
LATER = f"{TOPIC}-later"
NO_PATTERN = "^a**$"  # for RE2; librdkafka itself takes it
ELSEWHERE = ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS", "_TRANSPORT")
BOTH = {(TOPIC, 0), (TOPIC, 1)}


class Member:
    """A consumer that a thread of its own polls; with `committing` it commits one offset after the other in each partition it owns."""

    def __init__(self, name, topics, group=GROUP, committed=None, **settings):
        self.owned, self.moves, self.lowest, self.errors = set(), 0, None, []
        self.committing, self.ended, self.committed = False, False, {} if committed is None else committed
        self.lock = threading.Lock()
        self.consumer = Consumer({
            "bootstrap.servers": BOOTSTRAP, "client.id": f"confluent848-{name}", "group.id": group, "group.protocol": "consumer",
            "enable.auto.commit": False, "auto.offset.reset": "earliest", **settings})
        self.consumer.subscribe(topics, on_assign=self.assign, on_revoke=self.revoke, on_lost=self.revoke)
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def assign(self, consumer, partitions):
        self.moves += len(partitions) > 0
        consumer.incremental_assign(partitions)
        self.owned = self.owned | {(p.topic, p.partition) for p in partitions}

    def revoke(self, consumer, partitions):
        self.moves += len(partitions) > 0
        self.owned = self.owned - {(p.topic, p.partition) for p in partitions}
        consumer.incremental_unassign(partitions)

    def run(self):
        while not self.ended:
            with self.lock:
                message = self.consumer.poll(0.02)
                if message is not None and message.error() is None:
                    self.lowest = min(message.offset(), message.offset() if self.lowest is None else self.lowest)
                elif message is not None:
                    self.errors.append(message.error())
                if self.committing:
                    self.commit({at: self.committed.get(at, 0) + 1 for at in self.owned})
            time.sleep(0.001)

    def commit(self, offsets):
        deadline = time.monotonic() + WAIT
        while offsets:
            try:
                rows = [TopicPartition(topic, partition, offset) for (topic, partition), offset in offsets.items()]
                for row in self.consumer.commit(offsets=rows, asynchronous=False):
                    if row.error:
                        raise KafkaException(row.error)
                self.committed.update(offsets)
                return
            except KafkaException as error:
                # as an application would: what may pass is tried again
                if not error.args[0].retriable() and error.args[0].name() not in ("_TIMED_OUT", "_TRANSPORT", "_WAIT_COORD"):
                    self.errors.append(error.args[0])
                    return
                if time.monotonic() > deadline:
                    raise
                self.consumer.poll(0.02)

    def commit_all(self, offset):
        with self.lock:
            self.commit({at: offset for at in self.owned})

    def close(self):
        self.ended = True
        self.thread.join(WAIT)
        self.consumer.close()

    def refused(self, text):
        """librdkafka tells what a coordinator refuses for good as one fatal error, in words."""
        return any(e.name() == "_FATAL" and text in e.str() for e in self.errors)

    def check(self):
        if self.errors:
            raise Failed(f"errors: {self.errors}")


def until(what, condition):
    deadline = time.monotonic() + WAIT
    while not condition():
        if time.monotonic() > deadline:
            raise Failed(f"never: {what}")
        time.sleep(0.02)
    say(what)


class Admin:
    """librdkafka's admin API, as far as this story needs it."""

    def __init__(self):
        self.client = AdminClient({"bootstrap.servers": BOOTSTRAP})

    def create(self, topic):
        self.client.create_topics([NewTopic(topic, 2, 1)])[topic].result()

    def of_coordinator(self, ask):
        """librdkafka passes on what says that the coordinator is elsewhere or not ready, and goes on asking the same node: another client helps."""
        deadline = time.monotonic() + WAIT
        while True:
            try:
                return ask()
            except KafkaException as error:
                if error.args[0].name() not in ELSEWHERE or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
                self.client = AdminClient({"bootstrap.servers": BOOTSTRAP})

    def describe(self, group):
        return self.of_coordinator(lambda: self.client.describe_consumer_groups([group])[group].result())

    def expect_stable(self, group, members):
        """Stable, of the new type, everybody at the target."""
        def settled():
            d = self.describe(group)
            return (d.state == ConsumerGroupState.STABLE and d.type == ConsumerGroupType.CONSUMER and len(d.members) == members
                    and all(rows(m.assignment) == rows(m.target_assignment) for m in d.members))
        until(f"{group} is stable with {members} members", settled)

    def expect_empty(self, group):
        def empty():
            d = self.describe(group)
            return d.state == ConsumerGroupState.EMPTY and not d.members
        until(f"{group} is empty", empty)

    def listed(self, group, state):
        result = self.client.list_consumer_groups(states={state}, types={ConsumerGroupType.CONSUMER}).result()
        if result.errors:
            raise Failed(f"list: {result.errors}")
        return group in [g.group_id for g in result.valid]

    def delete(self, group):
        self.of_coordinator(lambda: self.client.delete_consumer_groups([group])[group].result())
        if self.listed(group, ConsumerGroupState.EMPTY):
            raise Failed("the deleted group is listed")
        say("deleted")


def rows(assignment):
    return sorted((p.topic, p.partition) for p in assignment.topic_partitions)


def expect_committed(member, wanted):
    for row in member.consumer.committed([TopicPartition(TOPIC, p) for p in (0, 1)], timeout=WAIT):
        if row.error or row.offset != wanted[TOPIC, row.partition]:
            raise Failed(f"committed: {row}, acknowledged: {wanted}")
    say("committed: what was acknowledged last")


def failover(admin, a, b):
    """The coordinator is killed while both commit: nothing moves, no acknowledged commit is lost, and commits go on."""
    moves = a.moves + b.moves
    a.committing = b.committing = True
    until("both commit", lambda: all(a.committed.get(at, 0) > 20 for at in BOTH))
    hook("HOOK_KILL", GROUP)
    then = dict(a.committed)
    until("both commit on", lambda: all(a.committed[at] > then[at] + 20 for at in BOTH))
    time.sleep(2)
    a.committing = b.committing = False
    with a.lock, b.lock:
        expect_committed(a, a.committed)
    if a.moves + b.moves != moves or len(a.owned) != 1 or len(b.owned) != 1:
        raise Failed("partitions moved when the coordinator was killed")
    admin.expect_stable(GROUP, 2)
    say("nothing moved")


def by_names(admin):
    committed = {}
    a = Member("a", [TOPIC], committed=committed)
    until("a owns both partitions", lambda: a.owned == BOTH)
    b = Member("b", [TOPIC], committed=committed)
    until("a and b own one each", lambda: len(a.owned) == 1 and len(b.owned) == 1)
    a.commit_all(COMMITTED)
    b.commit_all(COMMITTED)
    expect_committed(a, {at: COMMITTED for at in BOTH})
    admin.expect_stable(GROUP, 2)
    if not admin.listed(GROUP, ConsumerGroupState.STABLE):
        raise Failed("the group is not listed")
    failover(admin, a, b)
    a.commit_all(COMMITTED)
    b.commit_all(COMMITTED)
    b.close()
    until("a owns both again", lambda: a.owned == BOTH)
    a.close()
    admin.expect_empty(GROUP)
    again = Member("a2", [TOPIC])
    until("the member is back with both", lambda: again.owned == BOTH)
    expect_committed(again, {at: COMMITTED for at in BOTH})
    time.sleep(0.5)
    for row in again.consumer.position([TopicPartition(TOPIC, p) for p in (0, 1)]):
        if 0 <= row.offset < COMMITTED or (again.lowest or COMMITTED) < COMMITTED:
            raise Failed(f"position: {row}, got {again.lowest}")
    again.close()
    for member in (a, b, again):
        member.check()
    admin.delete(GROUP)


def by_expression(admin):
    group = f"{GROUP}-re"
    pattern = f"^{TOPIC}(-la[a-z]+)?$"
    c = Member("c", [pattern], group)
    until("c owns the topic that there is", lambda: c.owned == BOTH)
    d = Member("d", [pattern], group)
    until("c and d own one each", lambda: len(c.owned) == 1 and len(d.owned) == 1)
    admin.create(LATER)
    until("a new topic that matches is shared too", lambda: len(c.owned) == 2 and len(d.owned) == 2)
    admin.expect_stable(group, 2)
    c.check()
    d.check()
    admin.client.delete_topics([LATER])[LATER].result()
    until("the deleted topic is gone", lambda: c.owned | d.owned == BOTH and len(c.owned) == 1)
    bad = Member("bad", [NO_PATTERN], group)
    until("a pattern that is none is refused", lambda: bad.refused("regular expression is not valid"))
    for member in (bad, c, d):
        member.close()
    admin.expect_empty(group)
    admin.delete(group)


def static_members(admin):
    group = f"{GROUP}-static"

    def start(name, instance):
        return Member(name, [TOPIC], group, **{"group.instance.id": instance})

    one, two = start("one", "one"), start("two", "two")
    until("both static members own one", lambda: len(one.owned) == 1 and len(two.owned) == 1)
    admin.expect_stable(group, 2)
    moves, had = two.moves, one.owned
    one.close()
    back = start("one", "one")
    until("the restarted one has what it had", lambda: back.owned == had)
    admin.expect_stable(group, 2)
    if two.moves != moves:
        raise Failed("a static member's restart moved something")
    second = start("two-again", "two")
    until("a second member of an instance that is there is refused", lambda: second.refused("instance"))
    second.close()
    two.check()
    two.close()
    until("the share of one that does not come back goes to the other", lambda: back.owned == BOTH)
    back.check()
    back.close()


def life():
    admin = Admin()
    admin.create(TOPIC)
    hook("HOOK_TOPIC", TOPIC)
    by_names(admin)
    by_expression(admin)
    static_members(admin)


tell(life)
