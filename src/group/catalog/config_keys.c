/* config_keys.c: the tables of configs: names, types, defaults, bounds and synonyms as Kafka 4.4.0 describes them, and the few of our own. */
#include "configs.h"

/* A row: name, default, what it is for; then what its values are, and the broker config it falls back to. */
#define ROW(key, text, purpose, ...)                                                                                                       \
    {                                                                                                                                      \
        .name = (key), .fallback = (text), .help = (purpose), __VA_ARGS__                                                                  \
    }
#define PLAIN(kind)                      .type = CONFIG_##kind
#define RANGE(kind, least, most)         .type = CONFIG_##kind, .check = CHECK_RANGE, .min = (least), .max = (most)
#define RANGE_OR_NONE(kind, least, most) .type = CONFIG_##kind, .check = CHECK_RANGE_OR_NONE, .min = (least), .max = (most)
#define CHOICE(list)                     .type = CONFIG_STRING, .check = CHECK_CHOICE, .choices = (list)
#define CHOICES(list)                    .type = CONFIG_LIST, .check = CHECK_CHOICES, .choices = (list)
#define ASSIGNOR(list)                   .type = CONFIG_STRING, .check = CHECK_ASSIGNOR, .choices = (list)
#define REPLICAS                         .type = CONFIG_LIST, .check = CHECK_REPLICAS
#define TAGS                             .type = CONFIG_LIST, .check = CHECK_TAGS
#define RESET                            .type = CONFIG_STRING, .check = CHECK_RESET
#define DLQ_TOPIC                        .type = CONFIG_STRING, .check = CHECK_DLQ_TOPIC
#define SYNONYM(name_of_it)              .synonym = (name_of_it), .synonym_has_default = true
#define SYNONYM_UNSET(name_of_it)        .synonym = (name_of_it)
#define BOUNDED(least, most)             .bounded = true, .low = (least), .high = (most)
#define LIMITED(whose, least, most)      BOUNDED(least, most), .limits = LIMITS_##whose
#define HIDDEN                           .hidden = true
#define OURS                             .on_demand = true
#define SINCE_LEVEL(number)              .level = (number)
#define DYNAMIC                          .dynamic = true

const struct config_definition topic_configs[] = {
    ROW("cleanup.policy", "delete", "What happens to records that are past retention: dropped, compacted by key, or both.",
        CHOICES("compact,delete"), SYNONYM("log.cleanup.policy")),
    ROW("compression.gzip.level", "-1", "Level used when the broker compresses with gzip.", RANGE_OR_NONE(INT, 1, 9),
        SYNONYM("compression.gzip.level")),
    ROW("compression.lz4.level", "9", "Level used when the broker compresses with lz4.", RANGE(INT, 1, 17),
        SYNONYM("compression.lz4.level")),
    ROW("compression.type", "producer", "Codec of stored batches; producer keeps what was sent.",
        CHOICE("uncompressed,zstd,lz4,snappy,gzip,producer"), SYNONYM("compression.type")),
    ROW("compression.zstd.level", "3", "Level used when the broker compresses with zstd.", RANGE(INT, -131072, 22),
        SYNONYM("compression.zstd.level")),
    ROW("delete.retention.ms", "86400000", "How long a compacted topic keeps its tombstones.", RANGE(LONG, 0, INT64_MAX),
        SYNONYM("log.cleaner.delete.retention.ms")),
    ROW("errors.deadletterqueue.group.enable", "false", "Whether share groups may write undeliverable records to this topic.",
        PLAIN(BOOLEAN)),
    ROW("file.delete.delay.ms", "60000", "Wait before a dropped file is removed.", RANGE(LONG, 0, INT64_MAX),
        SYNONYM("log.segment.delete.delay.ms")),
    ROW("flush.messages", "9223372036854775807", "Records after which the log is forced to disk.", RANGE(LONG, 1, INT64_MAX),
        SYNONYM("log.flush.interval.messages")),
    ROW("flush.ms", "9223372036854775807", "Time after which the log is forced to disk.", RANGE(LONG, 0, INT64_MAX),
        SYNONYM_UNSET("log.flush.interval.ms")),
    ROW("follower.replication.throttled.replicas", "", "Replicas whose fetching is throttled.", REPLICAS),
    ROW("index.interval.bytes", "4096", "Bytes of data between two index entries.", RANGE(INT, 0, INT64_MAX),
        SYNONYM("log.index.interval.bytes")),
    ROW("leader.replication.throttled.replicas", "", "Replicas whose leader is throttled.", REPLICAS),
    ROW("local.retention.bytes", "-2", "Bytes kept locally under tiered storage; -2 follows retention.bytes.", RANGE(LONG, -2, INT64_MAX),
        SYNONYM("log.local.retention.bytes")),
    ROW("local.retention.ms", "-2", "Time kept locally under tiered storage; -2 follows retention.ms.", RANGE(LONG, -2, INT64_MAX),
        SYNONYM("log.local.retention.ms")),
    ROW("max.compaction.lag.ms", "9223372036854775807", "Longest time a record may stay uncompacted.", RANGE(LONG, 1, INT64_MAX),
        SYNONYM("log.cleaner.max.compaction.lag.ms")),
    ROW("max.decompressed.message.bytes", "2147483639", "Largest batch after decompression.", RANGE(INT, 1, 2147483639),
        SYNONYM("max.decompressed.message.bytes")),
    ROW("max.message.bytes", "1048588", "Largest batch.", RANGE(INT, 0, INT64_MAX), SYNONYM("message.max.bytes")),
    ROW("message.timestamp.after.max.ms", "3600000", "How far a record's timestamp may lie ahead of the broker's clock.",
        RANGE(LONG, 0, INT64_MAX), SYNONYM("log.message.timestamp.after.max.ms")),
    ROW("message.timestamp.before.max.ms", "9223372036854775807", "How far a record's timestamp may lie behind the broker's clock.",
        RANGE(LONG, 0, INT64_MAX), SYNONYM("log.message.timestamp.before.max.ms")),
    ROW("message.timestamp.type", "CreateTime", "Whether a record carries its creation or its append time.",
        CHOICE("CreateTime,LogAppendTime"), SYNONYM("log.message.timestamp.type")),
    ROW("min.cleanable.dirty.ratio", "0.5", "Share of uncompacted data at which compaction begins.", RANGE(DOUBLE, 0, 1),
        SYNONYM("log.cleaner.min.cleanable.ratio")),
    ROW("min.compaction.lag.ms", "0", "Shortest time a record stays uncompacted.", RANGE(LONG, 0, INT64_MAX),
        SYNONYM("log.cleaner.min.compaction.lag.ms")),
    ROW("min.insync.replicas", "1", "Replicas that must have a write before it is acknowledged to acks=all.", RANGE(INT, 1, INT64_MAX),
        SYNONYM("min.insync.replicas")),
    ROW("preallocate", "false", "Whether segment files are allocated in full when they are made.", PLAIN(BOOLEAN),
        SYNONYM("log.preallocate")),
    ROW("remote.copy.lag.bytes", "-1", "Bytes a segment waits before it is copied to remote storage; -1 follows local retention.",
        RANGE(LONG, -1, INT64_MAX), SYNONYM("log.remote.copy.lag.bytes")),
    ROW("remote.copy.lag.ms", "0", "Time a segment waits before it is copied to remote storage; -1 follows local retention.",
        RANGE(LONG, -1, INT64_MAX), SYNONYM("log.remote.copy.lag.ms")),
    ROW("remote.log.copy.disable", "false", "Stops copying to remote storage.", PLAIN(BOOLEAN)),
    ROW("remote.log.delete.on.disable", "false", "Whether remote data goes when tiered storage is turned off.", PLAIN(BOOLEAN)),
    ROW("remote.storage.enable", "false", "Tiered storage; not available here.", PLAIN(BOOLEAN)),
    ROW("retention.bytes", "-1", "Bytes a partition may hold; -1 is no limit.", PLAIN(LONG), SYNONYM("log.retention.bytes")),
    ROW("retention.ms", "604800000", "Time records are kept; -1 is no limit.", RANGE(LONG, -1, INT64_MAX),
        SYNONYM_UNSET("log.retention.ms")),
    ROW("segment.bytes", "1073741824", "Size of a segment file.", RANGE(INT, 1048576, INT64_MAX), SYNONYM("log.segment.bytes")),
    ROW("segment.index.bytes", "10485760", "Size of a segment's index.", RANGE(INT, 4, INT64_MAX), SYNONYM("log.index.size.max.bytes")),
    ROW("segment.jitter.ms", "0", "Random time taken off segment.ms.", RANGE(LONG, 0, INT64_MAX), SYNONYM_UNSET("log.roll.jitter.ms")),
    ROW("segment.ms", "604800000", "Time after which a new segment is begun.", RANGE(LONG, 1, INT64_MAX), SYNONYM_UNSET("log.roll.ms")),
    ROW("unclean.leader.election.enable", "false", "Whether a replica that is behind may lead.", PLAIN(BOOLEAN),
        SYNONYM("unclean.leader.election.enable")),
};
const size_t topic_config_count = COUNT_OF(topic_configs);

const struct config_definition group_configs[] = {
    ROW("consumer.assignment.interval.ms", "1000", "Least time between two assignments of a consumer group.", RANGE(INT, 0, INT64_MAX),
        SYNONYM("group.consumer.assignment.interval.ms"), LIMITED(CONSUMER_ASSIGNMENT, 0, 15000)),
    ROW("consumer.assignor.offload.enable", "true", "Whether the assignor runs beside the group's own work.", PLAIN(BOOLEAN),
        SYNONYM("group.consumer.assignor.offload.enable"), HIDDEN),
    ROW("consumer.heartbeat.interval.ms", "5000", "Time between two heartbeats of a consumer group's member.", RANGE(INT, 1, INT64_MAX),
        SYNONYM("group.consumer.heartbeat.interval.ms"), LIMITED(CONSUMER_HEARTBEAT, 5000, 15000)),
    ROW("consumer.session.timeout.ms", "45000", "Time without a heartbeat after which a consumer group's member is dropped.",
        RANGE(INT, 1, INT64_MAX), SYNONYM("group.consumer.session.timeout.ms"), LIMITED(CONSUMER_SESSION, 45000, 60000)),
    ROW("errors.deadletterqueue.copy.record.enable", "false", "Whether the record itself is copied to the dead letter queue.",
        PLAIN(BOOLEAN)),
    ROW("errors.deadletterqueue.topic.name", "", "Topic that takes records a share group gave up on; empty: none.", DLQ_TOPIC),
    ROW("muster.protected", "false",
        "Whether the group and its offsets are safe from requests: it is not deleted, and its offsets are neither deleted nor changed from "
        "outside of it, but by "
        "AlterGroupOffsets with Force. Its members commit as ever.",
        PLAIN(BOOLEAN), OURS, SINCE_LEVEL(2)),
    ROW("share.assignment.interval.ms", "1000", "Least time between two assignments of a share group.", RANGE(INT, 0, INT64_MAX),
        SYNONYM("group.share.assignment.interval.ms"), BOUNDED(0, 15000)),
    ROW("share.assignor.offload.enable", "true", "Whether the assignor runs beside the group's own work.", PLAIN(BOOLEAN),
        SYNONYM("group.share.assignor.offload.enable"), HIDDEN),
    ROW("share.auto.offset.reset", "latest", "Where a share group begins in a partition it has no offset for.", RESET),
    ROW("share.delivery.count.limit", "5", "How often a record is delivered before it counts as undeliverable.", RANGE(INT, 2, INT64_MAX),
        SYNONYM("group.share.delivery.count.limit"), BOUNDED(2, 10)),
    ROW("share.heartbeat.interval.ms", "5000", "Time between two heartbeats of a share group's member.", RANGE(INT, 1, INT64_MAX),
        SYNONYM("group.share.heartbeat.interval.ms"), BOUNDED(5000, 15000)),
    ROW("share.isolation.level", "read_uncommitted", "Whether a share group reads records of open transactions.",
        CHOICE("read_committed,read_uncommitted")),
    ROW("share.partition.max.record.locks", "2000", "Records of a partition that may be out for delivery at once.",
        RANGE(INT, 100, INT64_MAX), SYNONYM("group.share.partition.max.record.locks"), BOUNDED(100, 4000)),
    ROW("share.record.lock.duration.ms", "30000", "Time a delivered record is locked.", RANGE(INT, 1000, INT64_MAX),
        SYNONYM("group.share.record.lock.duration.ms"), BOUNDED(15000, 60000)),
    ROW("share.renew.acknowledge.enable", "true", "Whether a lock can be renewed.", PLAIN(BOOLEAN)),
    ROW("share.session.timeout.ms", "45000", "Time without a heartbeat after which a share group's member is dropped.",
        RANGE(INT, 1, INT64_MAX), SYNONYM("group.share.session.timeout.ms"), BOUNDED(45000, 60000)),
    ROW("streams.acceptable.recovery.lag", "10000", "Records a task may be behind and still count as caught up.", RANGE(LONG, 0, INT64_MAX),
        SYNONYM("group.streams.acceptable.recovery.lag"), HIDDEN),
    ROW("streams.assignment.interval.ms", "1000", "Least time between two assignments of a streams group.", RANGE(INT, 0, INT64_MAX),
        SYNONYM("group.streams.assignment.interval.ms"), LIMITED(STREAMS_ASSIGNMENT, 0, 15000)),
    ROW("streams.assignor.name", "sticky", "The assignor of a streams group's tasks.", ASSIGNOR("sticky"),
        SYNONYM("group.streams.assignors")),
    ROW("streams.assignor.offload.enable", "true", "Whether the assignor runs beside the group's own work.", PLAIN(BOOLEAN),
        SYNONYM("group.streams.assignor.offload.enable"), HIDDEN),
    ROW("streams.heartbeat.interval.ms", "5000", "Time between two heartbeats of a streams group's member.", RANGE(INT, 1, INT64_MAX),
        SYNONYM("group.streams.heartbeat.interval.ms"), LIMITED(STREAMS_HEARTBEAT, 5000, 15000)),
    ROW("streams.initial.rebalance.delay.ms", "3000", "Wait for more members before the first assignment of a streams group.",
        RANGE(INT, 0, INT64_MAX), SYNONYM("group.streams.initial.rebalance.delay.ms")),
    ROW("streams.num.standby.replicas", "0", "Standby tasks kept of each stateful task.", RANGE(INT, 0, INT64_MAX),
        SYNONYM("group.streams.num.standby.replicas"), LIMITED(STREAMS_STANDBYS, INT64_MIN, 2)),
    ROW("streams.num.warmup.replicas", "2", "Tasks that may warm up at once.", RANGE(INT, 0, INT64_MAX),
        SYNONYM("group.streams.num.warmup.replicas"), LIMITED(STREAMS_WARMUPS, INT64_MIN, 20), HIDDEN),
    ROW("streams.rack.aware.assignment.tags", "", "Client tags that standby tasks are spread over.", TAGS,
        SYNONYM("group.streams.rack.aware.assignment.tags")),
    ROW("streams.session.timeout.ms", "45000", "Time without a heartbeat after which a streams group's member is dropped.",
        RANGE(INT, 1, INT64_MAX), SYNONYM("group.streams.session.timeout.ms"), LIMITED(STREAMS_SESSION, 45000, 60000)),
    ROW("streams.task.offset.interval.ms", "60000", "Time between two reports of task offsets.", RANGE(INT, 1, INT64_MAX),
        SYNONYM("group.streams.task.offset.interval.ms"), LIMITED(STREAMS_TASK_OFFSETS, 15000, INT64_MAX), HIDDEN),
    ROW("streams.topology.initialization", "implicit",
        "How a streams group gets its topology. implicit: with the first member, as with Kafka. explicit: members may join without "
        "one, and one of them is asked to initialize the group. strict: by StreamsGroupInitialize alone; members that bring another "
        "topology are fenced.",
        CHOICE("implicit,explicit,strict"), OURS),
    ROW("streams.topology.update", "reject",
        "What becomes of another topology than the group's. reject: its member may not join, as with Kafka. epoch: a higher topology epoch "
        "replaces the group's topology.",
        CHOICE("reject,epoch"), OURS),
    ROW("streams.warmup.mode", "none",
        "Whether a stateful task waits for its new owner to catch up. none: it moves at once, as with Kafka. lag: it warms up there and "
        "moves when its lag is within streams.acceptable.recovery.lag.",
        CHOICE("none,lag"), OURS),
};
const size_t group_config_count = COUNT_OF(group_configs);

const struct config_definition broker_configs[] = {
    ROW("advertised.listeners", "", "Addresses that clients are told to use.", PLAIN(STRING)),
    ROW("auto.create.topics.enable", "false", "Whether a topic is made when it is first asked for; never here.", PLAIN(BOOLEAN)),
    ROW("broker.id", "-1", "This node's number.", PLAIN(INT)),
    ROW("broker.rack", "", "Where this node stands.", PLAIN(STRING)),
    ROW("connections.max.idle.ms", "600000", "Time after which a silent connection is closed.", PLAIN(LONG)),
    ROW("default.replication.factor", "1", "Replication factor of topics made without one.", PLAIN(INT)),
    ROW("delete.topic.enable", "true", "Whether topics can be deleted.", PLAIN(BOOLEAN)),
    ROW("group.consumer.assignment.interval.ms", "1000", "Least time between two assignments of a consumer group.", PLAIN(INT)),
    ROW("group.consumer.assignor.offload.enable", "true", "Whether the assignor runs beside the group's own work.", PLAIN(BOOLEAN)),
    ROW("group.consumer.assignors", "uniform,range", "Assignors of consumer groups; the first is the default.", PLAIN(LIST)),
    ROW("group.consumer.heartbeat.interval.ms", "5000", "Time between two heartbeats of a consumer group's member.", PLAIN(INT)),
    ROW("group.consumer.max.assignment.interval.ms", "15000", "Largest assignment interval a group may set.", PLAIN(INT)),
    ROW("group.consumer.max.heartbeat.interval.ms", "15000", "Largest heartbeat interval a group may set.", PLAIN(INT)),
    ROW("group.consumer.max.session.timeout.ms", "60000", "Largest session timeout a group may set.", PLAIN(INT)),
    ROW("group.consumer.max.size", "2147483647", "Members a consumer group may have.", PLAIN(INT)),
    ROW("group.consumer.migration.policy", "bidirectional", "Which way groups may move between the classic and the consumer protocol.",
        PLAIN(STRING)),
    ROW("group.consumer.min.assignment.interval.ms", "0", "Smallest assignment interval a group may set.", PLAIN(INT)),
    ROW("group.consumer.min.heartbeat.interval.ms", "5000", "Smallest heartbeat interval a group may set.", PLAIN(INT)),
    ROW("group.consumer.min.session.timeout.ms", "45000", "Smallest session timeout a group may set.", PLAIN(INT)),
    ROW("group.consumer.regex.refresh.interval.ms", "600000", "Time after which regular expressions are matched again.", PLAIN(INT)),
    ROW("group.consumer.session.timeout.ms", "45000", "Time without a heartbeat after which a consumer group's member is dropped.",
        PLAIN(INT)),
    ROW("group.coordinator.rebalance.protocols", "classic,consumer,streams", "Group protocols that are served.", PLAIN(LIST)),
    ROW("group.initial.rebalance.delay.ms", "3000", "Wait for more members before the first generation of a classic group.", PLAIN(INT)),
    ROW("group.max.session.timeout.ms", "1800000", "Largest session timeout a classic member may ask for.", PLAIN(INT)),
    ROW("group.max.size", "2147483647", "Members a classic group may have.", PLAIN(INT)),
    ROW("group.min.session.timeout.ms", "6000", "Smallest session timeout a classic member may ask for.", PLAIN(INT)),
    ROW("group.streams.acceptable.recovery.lag", "10000", "Records a task may be behind and still count as caught up.", PLAIN(LONG)),
    ROW("group.streams.assignment.interval.ms", "1000", "Least time between two assignments of a streams group.", PLAIN(INT)),
    ROW("group.streams.assignor.offload.enable", "true", "Whether the assignor runs beside the group's own work.", PLAIN(BOOLEAN)),
    ROW("group.streams.assignors", "sticky", "Assignors of streams groups.", PLAIN(LIST)),
    ROW("group.streams.heartbeat.interval.ms", "5000", "Time between two heartbeats of a streams group's member.", PLAIN(INT)),
    ROW("group.streams.initial.rebalance.delay.ms", "3000", "Wait for more members before the first assignment of a streams group.",
        PLAIN(INT)),
    ROW("group.streams.max.assignment.interval.ms", "15000", "Largest assignment interval a group may set.", PLAIN(INT)),
    ROW("group.streams.max.heartbeat.interval.ms", "15000", "Largest heartbeat interval a group may set.", PLAIN(INT)),
    ROW("group.streams.max.session.timeout.ms", "60000", "Largest session timeout a group may set.", PLAIN(INT)),
    ROW("group.streams.max.size", "2147483647", "Members a streams group may have.", PLAIN(INT)),
    ROW("group.streams.max.standby.replicas", "2", "Most standby tasks a group may set.", PLAIN(INT)),
    ROW("group.streams.max.warmup.replicas", "20", "Most tasks that warm up at once a group may set.", PLAIN(INT)),
    ROW("group.streams.min.assignment.interval.ms", "0", "Smallest assignment interval a group may set.", PLAIN(INT)),
    ROW("group.streams.min.heartbeat.interval.ms", "5000", "Smallest heartbeat interval a group may set.", PLAIN(INT)),
    ROW("group.streams.min.session.timeout.ms", "45000", "Smallest session timeout a group may set.", PLAIN(INT)),
    ROW("group.streams.min.task.offset.interval.ms", "15000", "Shortest time between two reports of task offsets a group may set.",
        PLAIN(INT)),
    ROW("group.streams.num.standby.replicas", "0", "Standby tasks kept of each stateful task.", PLAIN(INT)),
    ROW("group.streams.num.warmup.replicas", "2", "Tasks of a group that may warm up at once.", PLAIN(INT)),
    ROW("group.streams.rack.aware.assignment.tags", "", "Client tags that standby tasks are spread over.", PLAIN(LIST)),
    ROW("group.streams.session.timeout.ms", "45000", "Time without a heartbeat after which a streams group's member is dropped.",
        PLAIN(INT)),
    ROW("group.streams.task.offset.interval.ms", "60000", "Time between two reports of task offsets.", PLAIN(INT)),
    ROW("listeners", "PLAINTEXT://:9092", "Addresses this node listens on.", PLAIN(STRING)),
    ROW("max.connections", "2147483647", "Connections this node takes.", PLAIN(INT)),
    ROW("max.connections.per.ip", "2147483647", "Connections this node takes from one address.", PLAIN(INT)),
    ROW("muster.max.groups", "1000000", "Groups the cluster may hold; each shard has its share.", RANGE(LONG, 1, 1000000000), DYNAMIC),
    ROW("muster.max.members", "1000000", "Members of all groups together; each shard has its share.", RANGE(LONG, 1, 1000000000), DYNAMIC),
    ROW("muster.max.state.bytes", "8589934592", "Memory that groups, members and offsets may take together; each shard has its share.",
        RANGE(LONG, 1048576, 1125899906842624), DYNAMIC),
    ROW("node.id", "-1", "This node's number.", PLAIN(INT)),
    ROW("num.partitions", "1", "Partitions of topics made without a number.", PLAIN(INT)),
    ROW("offset.metadata.max.bytes", "4096", "Most metadata an offset may carry.", PLAIN(INT)),
    ROW("offsets.commit.timeout.ms", "5000", "Time a commit may take.", PLAIN(INT)),
    ROW("offsets.retention.check.interval.ms", "600000", "Time between two sweeps for expired offsets.", PLAIN(LONG)),
    ROW("offsets.retention.minutes", "10080", "Time offsets are kept after their group or topic has lost its readers.", PLAIN(INT)),
    ROW("offsets.topic.num.partitions", "50", "Partitions of the offsets topic, which is not used here.", PLAIN(INT)),
    ROW("offsets.topic.replication.factor", "3", "Replication factor of the offsets topic, which is not used here.", PLAIN(INT)),
    ROW("process.roles", "", "What this node does.", PLAIN(LIST)),
    ROW("queued.max.request.bytes", "268435456", "Memory that requests may take before they are decided.", PLAIN(LONG)),
    ROW("socket.request.max.bytes", "104857600", "Largest request.", PLAIN(INT)),
};
const size_t broker_config_count = COUNT_OF(broker_configs);

static const struct config_definition *find_in(const struct config_definition *table, size_t count, struct str name)
{
    size_t first = 0;
    while (first < count) {
        size_t middle = first + (count - first) / 2;
        int order = str_cmp(name, str_of(table[middle].name));
        if (order == 0) {
            return &table[middle];
        }
        if (order > 0) {
            first = middle + 1;
        } else {
            count = middle;
        }
    }
    return NULL;
}

const struct config_definition *config_definition_find(int8_t resource_type, struct str name)
{
    switch (resource_type) {
    case RESOURCE_TOPIC:
        return find_in(topic_configs, topic_config_count, name);
    case RESOURCE_GROUP:
        return find_in(group_configs, group_config_count, name);
    case RESOURCE_BROKER:
        return find_in(broker_configs, broker_config_count, name);
    default:
        return NULL;
    }
}

const struct config_definition *config_definition_of_synonym(struct str broker_config)
{
    for (size_t i = 0; i < topic_config_count; i++) {
        if (topic_configs[i].synonym != NULL && str_eq(broker_config, str_of(topic_configs[i].synonym))) {
            return &topic_configs[i];
        }
    }
    return NULL;
}
