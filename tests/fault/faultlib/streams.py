"""Members of streams groups, with a blocking client."""
from .modern import Member


def topology(*sources, changelog=None, epoch=0):
    """One subtopology that reads the topics."""
    changelogs = [] if changelog is None else [{"Name": changelog, "Partitions": 0, "ReplicationFactor": 0, "TopicConfigs": []}]
    return {"Epoch": epoch, "Subtopologies": [{"SubtopologyId": "0", "SourceTopics": sorted(sources), "SourceTopicRegex": [],
                                               "StateChangelogTopics": changelogs, "RepartitionSinkTopics": [],
                                               "RepartitionSourceTopics": [], "CopartitionGroups": []}]}


class StreamsMember(Member):
    """Units are active tasks: (subtopology, partition)."""

    API, DESCRIBE, VERSION, KIND = "StreamsGroupHeartbeat", "StreamsGroupDescribe", 1, "streams"
    OWNED = "ActiveTasks"
    ALWAYS = {"EndpointInformationEpoch": -1}

    def __init__(self, client, group, member="m"):
        super().__init__(client, group, member)
        self.statuses = []

    def take(self, values):
        super().take(values)
        self.statuses = [s["StatusCode"] for s in values["Status"]]

    def units(self, rows):
        return {(t["SubtopologyId"], p) for t in rows for p in t["Partitions"]}

    def told(self, values):
        return None if values["ActiveTasks"] is None else self.units(values["ActiveTasks"])

    def report(self, units):
        tasks = [{"SubtopologyId": "0", "Partitions": sorted(p for _, p in units)}] if units else []
        return {"ActiveTasks": tasks, "StandbyTasks": [], "WarmupTasks": []}

    def join(self, of, rebalance=60000):
        self.must(0, RebalanceTimeoutMs=rebalance, Topology=of, ProcessId=f"process-{self.member}", ClientTags=[], **self.report(set()))
        return self
