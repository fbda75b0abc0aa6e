"""Where Kafka 4.4.0 fails or hangs in mixed groups, and this does not: what differences.txt names."""
from lib.consumer import Member, describe
from lib.mixed import Classic, mixed_pair, settle_classic
from lib.registry import script


@script("consumer_mixed.lapse-alone", "mixed-upgrade")
def lapse_alone(t):
    """Only classic members are left in a consumer group, and nobody computes the assignment that is due."""
    group, top = t.group("alone"), t.topic("in", 6)
    c = Member(t, group, "c", [top])
    a = mixed_pair(t, group, [top], c)
    c.leave()
    a.beat()
    describe(a.conn, group)
    a.again()
    a.beat()
    describe(a.conn, group)


@script("consumer_mixed.lapse-refused", "mixed")
def lapse_refused(t):
    """A classic group that cannot be converted: the join that waits there is none of that heartbeat's business."""
    group, top = t.group("refused"), t.topic("in", 6)
    a, b = Classic(t, group, "A", [top]), Classic(t, group, "B", [top])
    settle_classic([a], [{top: [0, 1, 2, 3, 4, 5]}])
    b.id = b.send_join().wait()["MemberId"]
    waiting = b.send_join(protocols=[("range", b"broken")])
    t.pause(0.3)
    c = Member(t, group, "c", [top])
    c.join()
    waiting.still_waiting(0.3)
    t.describe(c.conn, group)
    b.leave()
    waiting.wait()


@script("consumer_mixed.lapse-assigned", "mixed")
def lapse_assigned(t):
    """A classic leader gave out a partition that there is not, or one to two members."""
    top = t.topic("in", 6)
    for name, shares in (("none", [{top: [0, 1, 17]}, {top: [3, 4, 5]}]), ("twice", [{top: [0, 1, 2, 3]}, {top: [3, 4, 5]}])):
        group = t.group(name)
        a, b = Classic(t, group, "A", [top]), Classic(t, group, "B", [top])
        settle_classic([a, b], shares)
        c = Member(t, group, "c", [top])
        c.join()
        describe(c.conn, group)
