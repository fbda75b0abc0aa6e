"""Members of streams groups, with a blocking client."""
from .protocol import NONE, error_text
from .story import Failed, until


def topology(*sources, changelog=None, epoch=0):
    """One subtopology that reads the topics."""
    changelogs = [] if changelog is None else [{"Name": changelog, "Partitions": 0, "ReplicationFactor": 0, "TopicConfigs": []}]
    return {"Epoch": epoch, "Subtopologies": [{"SubtopologyId": "0", "SourceTopics": sorted(sources), "SourceTopicRegex": [],
                                               "StateChangelogTopics": changelogs, "RepartitionSinkTopics": [],
                                               "RepartitionSourceTopics": [], "CopartitionGroups": []}]}


class StreamsMember:
    """Its epoch and tasks, as it was told last."""

    def __init__(self, client, group, member="m"):
        self.client = client
        self.group = group
        self.member = member
        self.epoch = 0
        self.tasks = set()
        self.statuses = []

    def ask(self, epoch, **fields):
        """One heartbeat; the whole answer."""
        values = self.client.one_error(self.group, "StreamsGroupHeartbeat", 1, GroupId=self.group, MemberId=self.member, MemberEpoch=epoch,
                                       EndpointInformationEpoch=-1, **fields)
        if values["ErrorCode"] == NONE:
            self.epoch = values["MemberEpoch"]
            self.statuses = [s["StatusCode"] for s in values["Status"]]
            if values["ActiveTasks"] is not None:
                self.tasks = {(t["SubtopologyId"], p) for t in values["ActiveTasks"] for p in t["Partitions"]}
        return values

    def must(self, epoch, **fields):
        values = self.ask(epoch, **fields)
        if values["ErrorCode"] != NONE:
            raise Failed(f"{self.group}: heartbeat of {self.member} at epoch {epoch}: {error_text(values['ErrorCode'])} {values['ErrorMessage']}")
        return values

    def join(self, of, rebalance=60000):
        return self.must(0, RebalanceTimeoutMs=rebalance, Topology=of, ActiveTasks=[], StandbyTasks=[], WarmupTasks=[],
                         ProcessId=f"process-{self.member}", ClientTags=[])

    def beat(self):
        return self.must(self.epoch)

    def leave(self):
        return self.must(-1)

    def settle(self, count, seconds=20):
        """Heartbeats until it has that many tasks."""
        def enough():
            self.beat()
            return len(self.tasks) == count
        until(f"{self.member} of {self.group} has {count} tasks", enough, seconds)


def describe(client, group):
    return client.group(group, "StreamsGroupDescribe", 1, lambda v: [g["ErrorCode"] for g in v["Groups"]], GroupIds=[group])["Groups"][0]
