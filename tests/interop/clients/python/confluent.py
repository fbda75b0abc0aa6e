"""A group's life with confluent-kafka (its own librdkafka), classic protocol."""
import time

from confluent_kafka import Consumer, ConsumerGroupState, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from story import BOOTSTRAP, COMMITTED, RUN, WAIT, Failed, hook, say, tell

TOPIC, GROUP = f"confluent-{RUN}", f"confluent-group-{RUN}"


def join(name):
    consumer = Consumer({
        "bootstrap.servers": BOOTSTRAP, "client.id": f"confluent-{name}", "group.id": GROUP, "group.protocol": "classic",
        "session.timeout.ms": 10000, "heartbeat.interval.ms": 500, "enable.auto.commit": False,
        "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    return consumer


def await_owned(wanted, lowest=0):
    """wanted: [(consumer, partitions)]; polls all until each owns so many."""
    deadline = time.monotonic() + WAIT
    while any(len(consumer.assignment()) != count for consumer, count in wanted):
        if time.monotonic() > deadline:
            raise Failed(f"wanted {[c for _, c in wanted]} partitions, have {[len(c.assignment()) for c, _ in wanted]}")
        for consumer, _ in wanted:
            poll(consumer, lowest)
    say(f"assigned: {[count for _, count in wanted]}")


def poll(consumer, lowest):
    message = consumer.poll(0.05)
    if message is not None and message.error() is None and message.offset() < lowest:
        raise Failed(f"got offset {message.offset()} although {lowest} is committed")


def commit(consumer, offset):
    rows = [TopicPartition(TOPIC, tp.partition, offset) for tp in consumer.assignment()]
    deadline = time.monotonic() + WAIT
    while True:
        try:
            consumer.commit(offsets=rows, asynchronous=False)
            return
        except KafkaException as error:
            if not error.args[0].retriable() and error.args[0].name() not in ("_TIMED_OUT", "_TRANSPORT", "_WAIT_COORD"):
                raise
            if time.monotonic() > deadline:
                raise
            say(f"commit: {error.args[0].name()}, once more")
            poll(consumer, 0)


def expect_committed(consumer):
    for row in consumer.committed([TopicPartition(TOPIC, p) for p in (0, 1)], timeout=WAIT):
        if row.error or row.offset != COMMITTED:
            raise Failed(f"committed: {row}")
    say(f"committed: {COMMITTED}")


def listed(admin):
    result = admin.list_consumer_groups().result()
    if result.errors:
        raise Failed(f"list: {result.errors}")
    return GROUP in [g.group_id for g in result.valid]


def expect_described(admin, state, members):
    group = admin.describe_consumer_groups([GROUP])[GROUP].result()
    if group.state != state or len(group.members) != members:
        raise Failed(f"described: {group.state} with {len(group.members)} members")
    say(f"described: {state.name}, {members} members")


def life():
    admin = AdminClient({"bootstrap.servers": BOOTSTRAP})
    admin.create_topics([NewTopic(TOPIC, 2, 1)])[TOPIC].result()
    hook("HOOK_TOPIC", TOPIC)
    a = join("a")
    await_owned([(a, 2)])
    b = join("b")
    await_owned([(a, 1), (b, 1)])
    for consumer in (a, b):
        commit(consumer, COMMITTED)
    expect_committed(a)
    hook("HOOK_MIDLIFE", GROUP)
    for consumer in (a, b):
        commit(consumer, COMMITTED)
    if not listed(admin):
        raise Failed("the group is not listed")
    expect_described(admin, ConsumerGroupState.STABLE, 2)
    b.close()
    await_owned([(a, 2)])
    a.close()
    expect_described(admin, ConsumerGroupState.EMPTY, 0)
    a = join("a2")
    await_owned([(a, 2)], COMMITTED)
    expect_committed(a)
    for row in a.position([TopicPartition(TOPIC, p) for p in (0, 1)]):
        if 0 <= row.offset < COMMITTED:
            raise Failed(f"position: {row}")
    a.close()
    admin.delete_consumer_groups([GROUP])[GROUP].result()
    if listed(admin):
        raise Failed("the deleted group is listed")
    say("deleted")


tell(life)
