#!/usr/bin/env python3
"""Streams groups on bad days: an emptied classic group that became one and is loaded from a snapshot (KAFKA-20254), clocks that jump while members
heartbeat (etcd 12291), coordinators killed while tasks are given out and taken back, and no task with two owners."""
from faultlib.clock import Clocks
from faultlib.modern import converted, failovers, jumps
from faultlib.story import main
from faultlib.streams import StreamsMember, topology

SETTINGS = {"muster.entry.max.bytes": 65536, "muster.log.segment.bytes": 1048576, "muster.log.retain.bytes": 65536,
            "muster.snapshot.interval.bytes": 65536, "muster.log.reserve.bytes": 131072, "group.streams.min.session.timeout.ms": 1000,
            "group.streams.session.timeout.ms": 5000, "group.streams.heartbeat.interval.ms": 500, "group.streams.min.heartbeat.interval.ms": 100,
            "group.streams.initial.rebalance.delay.ms": 0}
SESSION_S = 5.0


def run(test):
    cluster = test.cluster(settings=SETTINGS).start()
    client = cluster.client()
    client.create_topic("ta", 2)
    client.create_topic("tb", 12)

    def joined(topic, changelog=None):
        return lambda group, name: StreamsMember(client, group, name).join(topology(topic, changelog=changelog))
    converted(cluster, client, joined("ta", "log"))
    failovers(cluster, client, joined("tb"), 12)
    jumps(cluster, client, Clocks(cluster, test.bin / "tests/libclock_shift.so"), joined("ta"), SESSION_S)


if __name__ == "__main__":
    main(run, 25396)
