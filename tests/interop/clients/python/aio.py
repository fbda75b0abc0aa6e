"""A group's life with aiokafka."""
import asyncio
import time

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError

from story import BOOTSTRAP, COMMITTED, RUN, WAIT, Failed, hook, say, tell

TOPIC, GROUP = f"aiokafka-{RUN}", f"aiokafka-group-{RUN}"


async def join(name):
    consumer = AIOKafkaConsumer(
        bootstrap_servers=BOOTSTRAP, client_id=f"aiokafka-{name}", group_id=GROUP, enable_auto_commit=False,
        auto_offset_reset="earliest", session_timeout_ms=10000, heartbeat_interval_ms=500, rebalance_timeout_ms=10000)
    consumer.subscribe([TOPIC])
    await consumer.start()
    return consumer


async def await_owned(wanted, lowest=0):
    deadline = time.monotonic() + WAIT
    while any(len(consumer.assignment()) != count for consumer, count in wanted):
        if time.monotonic() > deadline:
            raise Failed(f"wanted {[c for _, c in wanted]} partitions, have {[len(c.assignment()) for c, _ in wanted]}")
        for consumer, _ in wanted:
            for rows in (await consumer.getmany(timeout_ms=50)).values():
                if rows[0].offset < lowest:
                    raise Failed(f"got offset {rows[0].offset} although {lowest} is committed")
    say(f"assigned: {[count for _, count in wanted]}")


async def again(what, ask):
    """Repeats what may fail while a node is away: aiokafka's admin client asks any node and does not try another."""
    deadline = time.monotonic() + WAIT
    while True:
        try:
            return await ask()
        except KafkaError as error:
            if not error.retriable or time.monotonic() > deadline:
                raise
            say(f"{what}: {error}, once more")
            await asyncio.sleep(0.1)


async def commit(consumer):
    await again("commit", lambda: consumer.commit({tp: COMMITTED for tp in consumer.assignment()}))


async def expect_committed(consumer):
    for partition in (0, 1):
        offset = await consumer.committed(TopicPartition(TOPIC, partition))
        if offset != COMMITTED:
            raise Failed(f"partition {partition}: committed {offset}")
    say(f"committed: {COMMITTED}")


async def listed(admin):
    return GROUP in [row[0] for row in await again("list", admin.list_consumer_groups)]


async def expect_described(admin, state, members):
    answer = (await again("describe", lambda: admin.describe_consumer_groups([GROUP])))[0]
    group = answer.groups[0]
    if group[0] != 0 or group[2] != state or len(group[5]) != members:
        raise Failed(f"described: {group}")
    say(f"described: {state}, {members} members")


async def live():
    admin = AIOKafkaAdminClient(bootstrap_servers=BOOTSTRAP, client_id="aiokafka-admin")
    await admin.start()
    await admin.create_topics([NewTopic(TOPIC, 2, 1)])
    hook("HOOK_TOPIC", TOPIC)
    a = await join("a")
    await await_owned([(a, 2)])
    b = await join("b")
    await await_owned([(a, 1), (b, 1)])
    for consumer in (a, b):
        await commit(consumer)
    await expect_committed(a)
    await asyncio.to_thread(hook, "HOOK_MIDLIFE", GROUP)
    for consumer in (a, b):
        await commit(consumer)
    if not await listed(admin):
        raise Failed("the group is not listed")
    await expect_described(admin, "Stable", 2)
    await b.stop()
    await await_owned([(a, 2)])
    await a.stop()
    await expect_described(admin, "Empty", 0)
    a = await join("a2")
    await await_owned([(a, 2)], COMMITTED)
    await expect_committed(a)
    for partition in (0, 1):
        position = await a.position(TopicPartition(TOPIC, partition))
        if position < COMMITTED:
            raise Failed(f"partition {partition}: position {position}")
    say("resumed where it had committed")
    await a.stop()
    await admin.close()


tell(lambda: asyncio.run(live()))
