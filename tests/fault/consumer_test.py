#!/usr/bin/env python3
"""Consumer groups of the new protocol on bad days: revocations that are not confirmed (franz-go d5ceeb73), answers that get lost (KAFKA-16367),
regular expressions (KAFKA-17593, KAFKA-19899), topics that are deleted and made again (KAFKA-16168), an emptied classic group that became one and is
loaded from a snapshot (KAFKA-20254), clocks that jump while members heartbeat (etcd 12291), coordinators killed under heartbeats, commits and moves.
"""
import time

from faultlib.clock import Clocks
from faultlib.consumer import ConsumerMember
from faultlib.load import Committer, World
from faultlib.modern import ModernBeater, converted, failovers, jumps, owners
from faultlib.protocol import FENCED_MEMBER_EPOCH, GROUP_ID_NOT_FOUND, INVALID_REGULAR_EXPRESSION, NONE, UNKNOWN_TOPIC_ID, error_text
from faultlib.story import check, check_equal, main, say, until

INTERVAL_MS = 500
SETTINGS = {"muster.entry.max.bytes": 65536, "muster.log.segment.bytes": 1048576, "muster.log.retain.bytes": 65536,
            "muster.snapshot.interval.bytes": 65536, "muster.log.reserve.bytes": 131072, "group.consumer.min.session.timeout.ms": 1000,
            "group.consumer.session.timeout.ms": 5000, "group.consumer.heartbeat.interval.ms": INTERVAL_MS,
            "group.consumer.min.heartbeat.interval.ms": 100, "group.consumer.assignment.interval.ms": 0, "muster.group.heartbeat.adaptive": "false"}
SESSION_S = 5.0


def revoked(client):
    """B03: what a member has is its own until it says so; heartbeats that only say that it lives say nothing of it."""
    a = ConsumerMember(client, "b03", "a").join("tc")
    a.settle(4)
    b = ConsumerMember(client, "b03", "b").join("tc")
    everything, epoch = set(a.held), a.epoch

    def halved():
        check_equal((a.beat()["HeartbeatIntervalMs"], b.beat()["HeartbeatIntervalMs"]), (INTERVAL_MS, INTERVAL_MS), "the intervals told")
        return len(a.held) == 2
    until("the first member is told to keep two of four", halved, 10)
    kept = set(a.held)
    check(kept < everything, f"the first member is to keep {kept} of {everything}")
    for report in ({}, {}, {}, a.report(everything)):
        answer = a.must(epoch, **report)
        check_equal(answer["MemberEpoch"], epoch, f"the epoch in the answer to {report or 'a keep-alive'}")
        # Whoever reports what it is not to have is told again: perhaps it missed the answer.
        check((answer["Assignment"] is not None) == bool(report) and set(a.held) == kept, f"the assignment in the answer to {report or 'a keep-alive'}")
        b.beat()
        check_equal(b.held, set(), f"what the second member has after {report or 'a keep-alive'}")
        owners([a, b])
    check(b.epoch > epoch, f"the second member waits at epoch {b.epoch}, the first one's is {epoch}")
    check(a.confirm()["MemberEpoch"] > epoch, "the confirmation did not lift the epoch")
    b.beat()
    check_equal(b.held, everything - kept, "what the second member is given")
    owners([a, b])
    check_equal(a.describe()["GroupState"], "Stable", "the group")
    say("what only keeps a member alive frees nothing, nor does a report of everything; the report of what was kept does, at once")
    a.leave()
    b.leave()


def lost_answers(client):
    """B17: whoever missed an answer hears all of it again when it asks for all, and may repeat what it said."""
    client.create_topic("tl", 4)
    a = ConsumerMember(client, "b17", "a")
    full = a.full(["tl"])
    a.lose("the member whose answer is lost has joined", lambda: a.describe()["ErrorCode"] == NONE and a.row(), 0, **full)
    a.must(0, **full)
    check_equal(len(a.held), 4, "partitions told again after a lost join")
    client.grow_topic("tl", 6)

    def given():
        return sum(len(t["Partitions"]) for t in a.row()["Assignment"]["TopicPartitions"]) == 6
    a.lose("six partitions are assigned by the heartbeat whose answer is lost", given, a.epoch)
    epoch = a.row()["MemberEpoch"]
    check(epoch > a.epoch, f"the lost answer's epoch is {epoch}, before it was {a.epoch}")
    # The member knows the epoch before, and the partitions from before.
    check_equal(a.must(a.epoch, **a.full(["tl"]))["MemberEpoch"], epoch, "epoch after the lost answer")
    check_equal(len(a.held), 6, "partitions told again after a lost assignment")
    check_equal(a.beat()["Assignment"], None, "the assignment in the answer to a heartbeat without news")
    repeated(a)
    emptied = a.must(a.epoch, SubscribedTopicNames=[])
    check_equal(emptied["Assignment"], {"TopicPartitions": []}, "the assignment of who subscribes to nothing")
    say("what got lost is told again to who asks for all; a repeated confirmation is taken, a larger or missing list is fenced")
    a.leave()


def repeated(a):
    """The answer to a confirmation is lost; the member says it again, at the epoch it knows."""
    b = ConsumerMember(a.client, a.group, "b").join("tl")

    def halved():
        a.beat()
        return len(a.held) == 3
    until("the first member is told to keep three of six", halved, 10)
    before, everything, kept = a.epoch, set(a.owned), set(a.held)
    check_equal(len(everything), 6, "what the first member had")
    a.lose("the confirmation was taken", lambda: a.row()["MemberEpoch"] > before, before, **a.report(kept))
    now = a.row()["MemberEpoch"]
    for repeat in (kept, set(sorted(kept)[:2]), set()):
        check_equal(a.must(before, **a.report(repeat))["MemberEpoch"], now, f"the epoch after {repeat} at the previous epoch")
    for report, what in ((a.report(everything), "more than it has"), ({}, "no list")):
        code = a.ask(before, **report)["ErrorCode"]
        check_equal(error_text(code), error_text(FENCED_MEMBER_EPOCH), f"{what} at the previous epoch")
    check_equal(a.confirm()["MemberEpoch"], now, "the epoch of a member that was refused a heartbeat")
    b.settle(3)
    owners([a, b])
    b.leave()
    a.settle(6)


def expressions(cluster, client):
    """B15: what is an expression, that it means whole names, topics that come later, also while coordinators go, and no expression any more."""
    for regex in ("(a", "(?=a)b", r"(a)\1"):
        answer = ConsumerMember(client, "b15-refused").ask(0, **ConsumerMember(client, "b15-refused").full(regex=regex))
        check_equal(error_text(answer["ErrorCode"]), error_text(INVALID_REGULAR_EXPRESSION), f"a join with {regex}")
        check(answer["ErrorMessage"], f"nothing is said of {regex}")
    check_equal(ConsumerMember(client, "b15-refused").describe()["ErrorCode"], GROUP_ID_NOT_FOUND, "the group of refused members")
    a = ConsumerMember(client, "b15")
    check_equal(a.must(0, **a.full(regex="late.*7"))["Assignment"], {"TopicPartitions": []}, "the assignment while nothing matches")
    client.create_topic("late7x")
    client.create_topic("late7")
    a.settle(1, 15)
    check_equal(names(a), {"late7"}, "topics that the expression matched")
    node = cluster.coordinator(client, "b15")
    cluster.kill(node)
    client.create_topic("x-late-7")
    client.create_topic("late-and-later-7", 2)
    a.settle(3, 15)
    check_equal(names(a), {"late7", "late-and-later-7"}, "topics that the expression matched after a failover")
    cluster.restart(node)
    cluster.wait()
    end = time.monotonic() + 1
    while time.monotonic() < end:
        a.beat()
        check_equal(names(a), {"late7", "late-and-later-7"}, "topics after a while")
    before, epoch = a.describe(), a.epoch
    check_equal(a.must(a.epoch, SubscribedTopicRegex="")["Assignment"], {"TopicPartitions": []}, "the assignment without an expression")
    check(a.describe()["GroupEpoch"] > before["GroupEpoch"], f"the group's epoch stays at {before['GroupEpoch']} without the expression")
    check(a.confirm()["MemberEpoch"] > epoch, f"the member's epoch stays at {epoch} though it gave up everything")
    say("bad expressions are refused; a good one finds whole names, those that come later too, and ends with everything given up")
    a.leave()


def names(member):
    """Topics that the description says are the member's, which must be what it was told."""
    given = member.row()["Assignment"]["TopicPartitions"]
    check_equal({(t["TopicId"], p) for t in given for p in t["Partitions"]}, member.held, "what is described and what was told")
    return {t["TopicName"] for t in given}


def recreated(cluster, client):
    """B26: a topic grows, goes and comes again: another topic, without the past of the first."""
    client.create_topic("rt", 1)
    a = ConsumerMember(client, "b26").join("rt")
    a.settle(1)
    old = next(iter(a.held))[0]
    check_equal(a.commit({old: {0: 7}}), {NONE}, "the commit")
    check_equal(client.offsets("b26"), {("rt", 0): 7}, "offsets")
    client.grow_topic("rt", 3)
    a.settle(3)
    check_equal(a.held, {(old, p) for p in range(3)}, "partitions after the topic grew")
    client.delete_topic("rt")
    a.settle(0)
    a.confirm()
    check_equal(client.offsets("b26"), {}, "offsets after the topic was deleted")
    client.create_topic("rt", 2)
    until("the new topic's partitions", lambda: a.confirm() and len(a.held) == 2, 20)
    new = next(iter(a.held))[0]
    check(new != old, f"the new topic has the id of the old one, {old}")
    check_equal(a.held, {(new, p) for p in range(2)}, "partitions of the new topic")
    for when in ("at once", "after a failover"):
        a.beat()
        check_equal({t for t, _ in a.held}, {new}, f"topics of the member {when}")
        check_equal(client.offsets("b26", {"rt": [0, 1]}), {("rt", 0): -1, ("rt", 1): -1}, f"offsets of the new topic {when}")
        check_equal({error_text(c) for c in a.commit({old: {0: 8}})}, {error_text(UNKNOWN_TOPIC_ID)}, f"a commit to the old topic {when}")
        node = cluster.coordinator(client, "b26")
        cluster.kill(node)
        a.beat()
        cluster.restart(node)
        cluster.wait()
    check_equal(a.commit({new: {0: 3}}), {NONE}, "a commit to the new topic")
    check_equal(client.offsets("b26"), {("rt", 0): 3}, "offsets in the end")
    say("a topic that is deleted takes its offsets along; one of the same name is another")
    a.leave()


def under_load(cluster, client):
    """Coordinators are killed under settled members that heartbeat and commit: nobody is fenced, nothing that was acknowledged is lost."""
    world = World(cluster.addresses())
    beaters, committers, members = [], [], []
    for group in (f"load-{n}" for n in range(6)):
        pair = [ConsumerMember(client, group, name).join("ta") for name in "ab"]
        until(f"{group} is settled", lambda pair=pair: all([m.confirm() for m in pair]) and all(len(m.held) == 1 for m in pair), 20)
        check_equal(pair[0].describe()["GroupState"], "Stable", group)
        members += pair
        for m in pair:
            beaters.append(ModernBeater(world, m))
            partition = next(iter(m.held))[1]
            committers.append(Committer(world, group, "ta", 0.01, m.epoch, m.member, partition, version=9))
    for actor in beaters + committers:
        actor.begin()
    for turn in range(4):
        before = [a.beats for a in beaters] + [a.commits for a in committers]
        node = cluster.coordinator(client, f"load-{turn}")
        cluster.kill(node)
        goes_on = world.run(20, lambda before=before: all(now > then + 3 for now, then in zip(
            [a.beats for a in beaters] + [a.commits for a in committers], before)))
        check(goes_on, f"node {node} killed: heartbeats or commits do not go on within 20 s")
        cluster.restart(node)
        cluster.wait()
        world.run(1)
        check(not world.broken, f"node {node} killed: " + "; ".join(world.broken))
    sent = {(a.group, a.partition): (a.acked, a.sent) for a in committers}
    reads = sum(a.reads for a in committers)
    world.close()
    for (group, partition), (acked, most) in sent.items():
        offset = client.offsets(group, {"ta": [partition]})[("ta", partition)]
        check(acked <= offset <= most, f"{group}: reads {offset}, acknowledged {acked}, sent {most}")
    check(reads > len(committers), f"only {reads} reads")
    for m in members:
        check_equal(m.beat()["Assignment"], None, f"news for {m.member} of {m.group}")
    for m in members:
        m.leave()
    say(f"four coordinators killed: {sum(a for a, _ in sent.values())} commits, none lost, no member fenced, every epoch as it was")


def run(test):
    cluster = test.cluster(settings=SETTINGS).start()
    client = cluster.client()
    for topic, partitions in (("ta", 2), ("tb", 12), ("tc", 4)):
        client.create_topic(topic, partitions)

    def joined(topic):
        return lambda group, name: ConsumerMember(client, group, name).join(topic)
    revoked(client)
    lost_answers(client)
    expressions(cluster, client)
    recreated(cluster, client)
    under_load(cluster, client)
    last = {}

    def commit(member):
        """Of all that it has; each commit is one more than all before."""
        for topic, partition in member.held:
            offset = max(last.values(), default=0) + 1
            check_equal(member.commit({topic: {partition: offset}}), {NONE}, f"a commit of {member.member} at epoch {member.epoch}")
            last[("tb", partition)] = offset
    failovers(cluster, client, joined("tb"), 12, commit)
    check_equal(client.offsets("moving"), last, "offsets committed while partitions moved")
    converted(cluster, client, joined("ta"))
    jumps(cluster, client, Clocks(cluster, test.bin / "tests/libclock_shift.so"), joined("ta"), SESSION_S)


if __name__ == "__main__":
    main(run, 25400)
