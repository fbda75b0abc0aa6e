"""Members of consumer groups of the new protocol, with a blocking client."""
from . import protocol
from .client import Conn
from .modern import Member
from .story import until


def rows(units):
    """A set of (topic id, partition) as a list of the protocol."""
    return [{"TopicId": topic, "Partitions": sorted(p for t, p in units if t == topic)} for topic in sorted({t for t, _ in units})]


class ConsumerMember(Member):
    """Units are partitions: (topic id, partition)."""

    API, DESCRIBE, VERSION, KIND = "ConsumerGroupHeartbeat", "ConsumerGroupDescribe", 1, "consumer"
    OWNED = "TopicPartitions"

    def units(self, rows_of):
        return {(row["TopicId"], p) for row in rows_of for p in row["Partitions"]}

    def told(self, values):
        return None if values["Assignment"] is None else self.units(values["Assignment"]["TopicPartitions"])

    def report(self, units):
        return {"TopicPartitions": rows(units)}

    def full(self, names=None, regex=None, rebalance=60000, owned=()):
        """Fields that say everything of the member, as at a first heartbeat."""
        return {"RebalanceTimeoutMs": rebalance, "SubscribedTopicNames": names, "SubscribedTopicRegex": regex, **self.report(owned)}

    def join(self, *names, regex=None):
        self.must(0, **self.full(list(names) or None, regex))
        return self

    def row(self):
        """What a description says of the member; None: there is none."""
        return next((m for m in self.describe()["Members"] if m["MemberId"] == self.member), None)

    def lose(self, what, seen, epoch, **fields):
        """A heartbeat whose answer is never read; returns once seen() tells that it was taken."""
        conn = Conn(self.client.find(self.group), 5)
        conn.send(self.API, self.VERSION, **self.fields(epoch, **fields))
        until(what, seen, 10)
        conn.close()

    def commit(self, offsets):
        """offsets: {topic id: {partition: offset}}; the errors."""
        values = self.client.group(self.group, "OffsetCommit", 10, protocol.commit_errors,
                                   **protocol.commit_fields(self.group, offsets, self.epoch, self.member, version=10))
        return protocol.commit_errors(values)
