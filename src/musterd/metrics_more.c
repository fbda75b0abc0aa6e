/* metrics_more.c: metrics under the names that operators know: etcd's for Raft, disk and peers, Kafka's (as the usual JMX exporter writes them) for groups, and
 * the process_* that every Prometheus client has. Dashboards and alerts made for those work; where etcd has one group and muster has shards there is a label. */
#include "server.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define LABEL_NODE_BYTES 16

static void put_gauge(struct buf *out, const char *name, const char *help, uint64_t value)
{
    ops_metric(out, name, OPS_GAUGE, help);
    ops_value(out, name, NULL, STR_NULL, value);
}

static void put_counter(struct buf *out, const char *name, const char *help, uint64_t value)
{
    ops_metric(out, name, OPS_COUNTER, help);
    ops_value(out, name, NULL, STR_NULL, value);
}

/* ---- the process ---- */

static int64_t timeval_us(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

/* Since Linux 6.2 the size of that folder is the number of descriptors; where it is 0 nothing is said, for counting 100,000 entries would hold up the loop. */
static uint64_t open_files(void)
{
    struct stat st;
    return stat("/proc/self/fd", &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

/* The first two numbers of /proc/self/statm: pages that are mapped, pages that are resident. */
static bool read_memory(uint64_t *ret_virtual, uint64_t *ret_resident)
{
    char text[128];
    char *rest;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    if (fd >= 0) {
        close(fd);
    }
    if (len <= 0) {
        return false;
    }
    text[len] = '\0';
    uint64_t mapped = strtoull(text, &rest, 10);
    uint64_t resident = strtoull(rest, NULL, 10);
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    *ret_virtual = mapped * page;
    *ret_resident = resident * page;
    return resident > 0;
}

void metrics_put_process(const struct server *s, struct buf *out)
{
    struct rusage usage;
    struct rlimit files;
    uint64_t mapped, resident, descriptors = open_files();
    getrusage(RUSAGE_SELF, &usage);
    ops_metric(out, "process_cpu_seconds_total", OPS_COUNTER, "Processor time, of user and system, in seconds.");
    ops_value_micro(out, "process_cpu_seconds_total", NULL, STR_NULL, (uint64_t)(timeval_us(usage.ru_utime) + timeval_us(usage.ru_stime)));
    if (read_memory(&mapped, &resident)) {
        put_gauge(out, "process_resident_memory_bytes", "Memory that is resident.", resident);
        put_gauge(out, "process_virtual_memory_bytes", "Memory that is mapped.", mapped);
    }
    if (descriptors > 0) {
        put_gauge(out, "process_open_fds", "Open file descriptors.", descriptors);
    }
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        put_gauge(out, "process_max_fds", "File descriptors this process may open.", (uint64_t)files.rlim_cur);
    }
    ops_metric(out, "process_start_time_seconds", OPS_GAUGE, "When the process began, in seconds since 1970.");
    ops_value_micro(out, "process_start_time_seconds", NULL, STR_NULL, (uint64_t)s->started_wall_us);
    ops_metric(out, "etcd_server_version", OPS_GAUGE, "Always 1; the label is the version of this program.");
    ops_value(out, "etcd_server_version", "server_version", STR(MUSTER_VERSION), 1);
    ops_histogram(out, "muster_loop_turn_seconds", "How long the turns of the loop took: so long whoever came meanwhile had to wait.",
                  &s->turn.took);
    ops_metric(out, "muster_loop_lag_seconds", OPS_GAUGE, "The longest turn of the last ten seconds.");
    ops_value_micro(out, "muster_loop_lag_seconds", NULL, STR_NULL, (uint64_t)turn_lag_us(s));
}

/* ---- etcd's: Raft ---- */

static uint64_t has_leader(const struct replica_shard_status *status)
{
    return status->leader != 0;
}

static uint64_t is_leader(const struct replica_shard_status *status)
{
    return status->role != REPLICA_FOLLOWER;
}

static uint64_t committed(const struct replica_shard_status *status)
{
    return status->commit_index;
}

static uint64_t applied(const struct replica_shard_status *status)
{
    return status->applied_index;
}

static uint64_t pending(const struct replica_shard_status *status)
{
    return status->role != REPLICA_FOLLOWER ? status->last_index - status->commit_index : 0;
}

static void put_raft(struct server *s, struct buf *out)
{
    static const struct {
        const char *name, *help;
        uint64_t (*value)(const struct replica_shard_status *status);
    } rows[] = {
        {"etcd_server_has_leader", "Whether this node knows a leader of the shard.", has_leader},
        {"etcd_server_is_leader", "Whether this node leads the shard.", is_leader},
        {"etcd_server_proposals_committed_total", "Newest entry of the shard that is committed, as this node knows; a gauge as etcd's is.",
         committed},
        {"etcd_server_proposals_applied_total", "Newest entry of the shard that is applied here; a gauge as etcd's is.", applied},
        {"etcd_server_proposals_pending", "Entries that this node has proposed as the shard's leader and that are not committed yet.",
         pending},
    };
    char shard[16];
    uint32_t count = replica_shard_count(s->replica);
    for (size_t r = 0; r < COUNT_OF(rows); r++) {
        ops_metric(out, rows[r].name, OPS_GAUGE, rows[r].help);
        for (uint32_t i = 0; i < count; i++) {
            struct replica_shard_status status;
            replica_status(s->replica, i, &status);
            snprintf(shard, sizeof(shard), "%u", i);
            ops_value(out, rows[r].name, "shard", str_of(shard), rows[r].value(&status));
        }
    }
    struct coord_stats coord;
    coord_stats(s->coord, &coord);
    put_counter(out, "etcd_server_proposals_failed_total",
                "Entries that were not taken when this node proposed them, or not known to be stored when it lost leadership, all shards.",
                coord.entries_failed);
    ops_metric(out, "etcd_server_leader_changes_seen_total", OPS_COUNTER, "Changes of the shard's leader that this node has seen.");
    for (uint32_t i = 0; i < count && i < TALLY_SHARDS; i++) {
        snprintf(shard, sizeof(shard), "%u", i);
        ops_value(out, "etcd_server_leader_changes_seen_total", "shard", str_of(shard), s->tally.leader_changes[i]);
    }
}

/* ---- etcd's: disk and peers ---- */

static void put_disk(struct server *s, struct buf *out)
{
    ops_histogram(out, "etcd_disk_wal_fsync_duration_seconds", "How long fdatasync of the log took.", &s->disk.log_sync);
    ops_histogram(out, "etcd_disk_wal_write_duration_seconds", "How long writes to the log took, without fdatasync.", &s->disk.log_write);
    ops_histogram(out, "etcd_snap_fsync_duration_seconds", "How long fdatasync of snapshots took.", &s->disk.snapshot_sync);
    struct core_stats core;
    struct store_stats store;
    uv_replica_stats(s->host, &core, &store);
    ops_metric(out, "muster_disk_write_age_seconds", OPS_GAUGE, "How long the write to the log that is under way has taken so far.");
    ops_value_micro(out, "muster_disk_write_age_seconds", NULL, STR_NULL, core.write_age_us);
    put_gauge(out, "muster_disk_healthy", "Whether the disk takes entries, and in time.", core.disk_healthy);
    put_gauge(out, "etcd_disk_wal_write_bytes_total", "Bytes written to the log; a gauge as etcd's is.", s->disk.log_bytes);
}

enum peer_value { PEER_SENT, PEER_RECEIVED, PEER_FAILED, PEER_QUEUED };

static uint64_t peer_value(const struct uv_peer_status *peer, enum peer_value which)
{
    const uint64_t values[] = {peer->bytes_sent, peer->bytes_received, peer->dropped, peer->bytes_queued};
    return values[which];
}

static void put_peers(struct server *s, struct buf *out)
{
    static const struct {
        const char *name, *label, *help;
        enum ops_kind kind;
        enum peer_value value;
    } rows[] = {
        {"etcd_network_peer_sent_bytes_total", "To", "Bytes sent to that node.", OPS_COUNTER, PEER_SENT},
        {"etcd_network_peer_received_bytes_total", "From", "Bytes received from that node.", OPS_COUNTER, PEER_RECEIVED},
        {"etcd_network_peer_sent_failures_total", "To", "Messages to that node that found no room in its connection's buffer.", OPS_COUNTER,
         PEER_FAILED},
        {"muster_peer_queued_bytes", "node", "Bytes that wait for that node to take them.", OPS_GAUGE, PEER_QUEUED},
    };
    struct uv_peer_status peers[32];
    char node[LABEL_NODE_BYTES], self[LABEL_NODE_BYTES];
    size_t count = uv_replica_peers(s->host, peers, COUNT_OF(peers));
    count = count < COUNT_OF(peers) ? count : COUNT_OF(peers);
    for (size_t r = 0; r < COUNT_OF(rows); r++) {
        ops_metric(out, rows[r].name, rows[r].kind, rows[r].help);
        for (size_t i = 0; i < count; i++) {
            snprintf(node, sizeof(node), "%u", peers[i].node);
            ops_value(out, rows[r].name, rows[r].label, str_of(node), peer_value(&peers[i], rows[r].value));
        }
    }
    const char *trip = "etcd_network_peer_round_trip_time_seconds";
    if (s->round_trips.node[0] != 0) {
        ops_metric(out, trip, OPS_HISTOGRAM, "How long that node took to answer a probe.");
    }
    for (size_t i = 0; i < COUNT_OF(s->round_trips.node) && s->round_trips.node[i] != 0; i++) {
        ops_histogram_of(out, trip, "To", s->round_trips.node[i], &s->round_trips.took[i]);
    }
    snprintf(self, sizeof(self), "%u", s->identity.node_id);
    ops_metric(out, "etcd_server_id", OPS_GAUGE, "Always 1; the label is the number of this node.");
    ops_value(out, "etcd_server_id", "server_id", str_of(self), 1);
}

/* As far as this node has applied shard 0. */
static void put_members(struct server *s, struct buf *out)
{
    static const char *const standings[] = {"joining", "learner", "voter", "leaving"}; /* enum member_standing */
    const struct group_set *catalog = coord_set(s->coord, 0);
    uint64_t counts[COUNT_OF(standings)] = {0};
    bool learner = false;
    struct catalog_member m;
    struct catalog_change change;
    for (int32_t after = -1; catalog_next_member(catalog, after, &m); after = m.node_id) {
        if ((size_t)m.standing < COUNT_OF(counts)) {
            counts[m.standing]++;
        }
        learner = learner || (m.node_id == (int32_t)s->identity.node_id && m.standing == MEMBER_LEARNER);
    }
    bool changes = catalog_member_change(catalog, &change) && change.state == MEMBER_CHANGE_UNDER_WAY;
    ops_metric(out, "muster_members", OPS_GAUGE, "Nodes of the cluster, by what it wants of them.");
    for (size_t i = 0; i < COUNT_OF(standings); i++) {
        ops_value(out, "muster_members", "standing", str_of(standings[i]), counts[i]);
    }
    put_gauge(out, "muster_member_change_under_way", "1 while the members of the cluster change.", changes);
    put_gauge(out, "etcd_server_is_learner", "1 when this node is a learner.", learner);
    put_gauge(out, "muster_feature_level", "What all nodes know and may be written.", (uint64_t)catalog_feature_level(catalog));
}

void metrics_put_etcd(struct server *s, struct buf *out)
{
    put_raft(s, out);
    put_disk(s, out);
    put_peers(s, out);
    put_members(s, out);
}

/* ---- Kafka's ---- */

/* Shards are to muster what partitions of the offsets topic are to Kafka. */
static void put_partitions(struct server *s, struct buf *out)
{
    static const char name[] = "kafka_server_group_coordinator_metrics_num_partitions";
    uint64_t loading = 0, active = 0, offsets = 0;
    for (uint32_t i = 0; i < replica_shard_count(s->replica); i++) {
        struct replica_shard_status status;
        struct group_set_counts counts;
        uint32_t leader;
        replica_status(s->replica, i, &status);
        loading += status.role == REPLICA_LEADER;
        active += status.role == REPLICA_SERVING || status.role == REPLICA_HANDING_OVER;
        if (coord_shard_state(s->coord, i, &leader) == 0) {
            group_set_counts(coord_set(s->coord, i), &counts);
            offsets += (uint64_t)counts.offsets;
        }
    }
    ops_metric(out, name, OPS_GAUGE, "Shards that this node coordinates, by state.");
    ops_value(out, name, "state", STR("loading"), loading);
    ops_value(out, name, "state", STR("active"), active);
    ops_value(out, name, "state", STR("failed"), 0);
    put_gauge(out, "kafka_server_group_coordinator_metrics_offset_count", "Committed offsets of the groups that this node coordinates.",
              offsets);
}

/* From the newest count of groups that came to its end (metrics.c). */
static void put_groups(struct server *s, struct buf *out)
{
    static const char name[] = "kafka_server_group_coordinator_metrics_group_count";
    if (!s->census.known) {
        return;
    }
    ops_metric(out, name, OPS_GAUGE, "Groups that this node coordinates, by protocol.");
    for (size_t t = 0; t < CENSUS_TYPES; t++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < census_types[t].state_count; i++) {
            sum += s->census.counted[t][i];
        }
        ops_value(out, name, "protocol", str_of(census_types[t].type), sum);
    }
    for (size_t t = 0; t < CENSUS_TYPES; t++) {
        const struct census_type *type = &census_types[t];
        char by_state[96], help[96];
        snprintf(by_state, sizeof(by_state), "kafka_server_group_coordinator_metrics_%s_group_count", type->type);
        snprintf(help, sizeof(help), "Groups of the type %s that this node coordinates, by state.", type->type);
        ops_metric(out, by_state, OPS_GAUGE, help);
        for (size_t i = 0; i < type->state_count; i++) {
            ops_value(out, by_state, "state", str_of(type->states[i]), s->census.counted[t][i]);
        }
    }
}

void metrics_put_kafka(struct server *s, struct buf *out)
{
    const struct tally *t = &s->tally;
    put_partitions(s, out);
    put_groups(s, out);
    put_counter(out, "kafka_server_group_coordinator_metrics_offset_commit_count", "Offsets committed.", t->offsets_committed);
    put_counter(out, "kafka_server_group_coordinator_metrics_offset_expiration_count", "Offsets whose retention was over.",
                t->offsets_expired);
    put_counter(out, "kafka_server_group_coordinator_metrics_offset_deletion_count",
                "Offsets deleted with their group, their topic or by hand.", t->offsets_deleted);
    put_counter(out, "kafka_server_group_coordinator_metrics_group_completed_rebalance_count",
                "Rebalances of classic groups that were completed.", t->classic_rebalances);
    put_counter(out, "kafka_server_group_coordinator_metrics_consumer_group_rebalance_count",
                "Rebalances of consumer groups: new group epochs.", t->consumer_rebalances);
    put_counter(out, "kafka_server_group_coordinator_metrics_streams_group_rebalance_count",
                "Rebalances of streams groups: new group epochs.", t->streams_rebalances);
}
