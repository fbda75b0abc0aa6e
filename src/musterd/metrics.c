/* metrics.c: what the admin port shows: one table a source, a row a metric. */
#include "limits.h"
#include "server.h"

#include <stdio.h>
#include <string.h>

enum { METRIC_BYTES_LIMIT = 16 << 20 };

struct metric {
    const char *name;
    enum ops_kind kind;
    const char *help;
    size_t offset; /* of a uint64_t in the source */
};

#define COORD(field, kind, help)                                                                                                           \
    {                                                                                                                                      \
        "muster_coord_" #field, kind, help, offsetof(struct coord_stats, field)                                                            \
    }
static const struct metric coord_metrics[] = {
    COORD(requests, OPS_COUNTER, "Requests about groups and the catalogue that were decided or refused here."),
    COORD(refused, OPS_COUNTER, "Requests refused because this node does not serve the shard."),
    COORD(entries, OPS_COUNTER, "Log entries proposed."),
    COORD(records, OPS_COUNTER, "Records in these entries."),
    COORD(confirmed_reads, OPS_COUNTER, "Answers without a record, confirmed by a majority."),
    COORD(waits, OPS_COUNTER, "Joins and syncs that had to wait for others."),
    COORD(gate_waits, OPS_COUNTER, "Requests that waited for a change of their group in flight."),
    COORD(expiries, OPS_COUNTER, "Timers that fired."),
    COORD(leader_losses, OPS_COUNTER, "Times that this node stopped leading a shard."),
    COORD(offices_given_up, OPS_COUNTER, "Shards handed over because the catalogue, of shard 0, could not be reached."),
    COORD(stalls, OPS_COUNTER, "Turns of the loop that came too late; no deadline counted that time."),
    COORD(too_large, OPS_COUNTER, "Requests refused because their records would not fit an entry."),
    COORD(beats, OPS_COUNTER, "Heartbeats that were held, so that their clients hear at once of a change."),
    COORD(beats_moved, OPS_COUNTER, "Held heartbeats that were looked at again because their group changed."),
    COORD(beats_let_go, OPS_COUNTER, "Held heartbeats that were answered because their client sent something else."),
    COORD(beats_refused, OPS_COUNTER, "Heartbeats answered at once because too many were held (muster.group.heartbeat.hold.max)."),
    COORD(jobs, OPS_COUNTER, "Assignments and regular expressions given to other threads."),
    COORD(jobs_dropped, OPS_COUNTER, "Those whose result came too late: this node did not lead the shard any more."),
    COORD(creations, OPS_COUNTER, "Times that topics of a streams group were asked for."),
    COORD(creations_failed, OPS_COUNTER, "Those of which not all could be made."),
    COORD(cuts, OPS_COUNTER, "Times that a shard's state was frozen for a backup."),
    COORD(cuts_lost, OPS_COUNTER, "Those that were given up because the state was wanted for a snapshot."),
    COORD(cuts_open, OPS_GAUGE, "Shards that are being read for a backup."),
    COORD(parked, OPS_GAUGE, "Requests that wait for an answer."),
    COORD(beats_held, OPS_GAUGE, "Heartbeats that are held."),
    COORD(jobs_running, OPS_GAUGE, "Assignments and regular expressions on other threads."),
    COORD(jobs_queued, OPS_GAUGE, "Those that wait for others to end."),
    COORD(creations_running, OPS_GAUGE, "Creations of topics under way."),
    COORD(timers, OPS_GAUGE, "Session and rebalance timers."),
};
#undef COORD

#define NET(field, kind, help)                                                                                                             \
    {                                                                                                                                      \
        "muster_net_" #field, kind, help, offsetof(struct net_stats, field)                                                                \
    }
static const struct metric net_metrics[] = {
    NET(accepted, OPS_COUNTER, "Client connections accepted."),
    NET(refused, OPS_COUNTER, "Client connections closed at once because of a limit."),
    NET(closed, OPS_COUNTER, "Client connections that ended."),
    NET(garbage_closed, OPS_COUNTER, "Client connections closed because of what they sent."),
    NET(idle_closed, OPS_COUNTER, "Client connections closed because they were idle."),
    NET(unread_closed, OPS_COUNTER, "Client connections closed because answers that were not read took too much memory."),
    NET(requests, OPS_COUNTER, "Frames received from clients."),
    NET(answers, OPS_COUNTER, "Answers given to clients."),
    NET(bytes_in, OPS_COUNTER, "Bytes received from clients."),
    NET(bytes_out, OPS_COUNTER, "Bytes sent to clients."),
    NET(reads, OPS_COUNTER, "Reads from clients' sockets that brought something."),
    NET(writes, OPS_COUNTER, "Writes to clients' sockets."),
    NET(pauses, OPS_COUNTER, "Times that a client's socket was not read because of a limit."),
    NET(deferred, OPS_COUNTER, "Times that requests of a client waited for another turn of the loop because turns took too long."),
    NET(share, OPS_GAUGE, "Requests of one connection that a turn takes at most; fewer than 65536: turns took too long."),
    NET(stride, OPS_GAUGE, "Every how many turns a connection is looked at; more than 1: one request of each was too much."),
    NET(connections, OPS_GAUGE, "Client connections."),
    NET(in_flight, OPS_GAUGE, "Requests of clients without an answer yet."),
    NET(queued_bytes, OPS_GAUGE, "Memory of requests that have arrived."),
    NET(unread_bytes, OPS_GAUGE, "Memory of answers that clients do not read."),
};
#undef NET

#define API(field, kind, help)                                                                                                             \
    {                                                                                                                                      \
        "muster_api_" #field, kind, help, offsetof(struct api_stats, field)                                                                \
    }
static const struct metric api_metrics[] = {
    API(malformed, OPS_COUNTER, "Requests that could not be decoded."),
    API(unsupported, OPS_COUNTER, "Requests of an unknown API or version."),
    API(too_many_groups, OPS_COUNTER, "Requests that named more groups than one may: their connections were closed."),
    API(too_many_topics, OPS_COUNTER, "Requests that named more topics than one may: their connections were closed."),
    API(answers_too_large, OPS_COUNTER, "Answers that were too long: their connections were closed."),
    API(forwarded, OPS_COUNTER, "Requests sent on to the leader of shard 0."),
    API(forward_failures, OPS_COUNTER, "Requests sent on that came back without an answer."),
    API(fetch_waits, OPS_COUNTER, "Fetch requests that waited."),
    API(waiting, OPS_GAUGE, "Requests inside."),
};
#undef API

#define RAFT(field, help)                                                                                                                  \
    {                                                                                                                                      \
        "muster_raft_" #field, OPS_COUNTER, help, offsetof(struct core_stats, field)                                                       \
    }
static const struct metric raft_metrics[] = {
    RAFT(elections_begun, "Elections this node stood for."),
    RAFT(elections_won, "Elections this node won."),
    RAFT(elections_fast, "Elections begun on evidence that the leader is dead, without waiting for a timeout."),
    RAFT(rounds_sent, "Confirmation rounds sent."),
    RAFT(rounds_confirmed, "Confirmation rounds that a majority answered."),
    RAFT(entries_proposed, "Log entries proposed by this node."),
    RAFT(entries_applied, "Log entries applied."),
    RAFT(entries_cut, "Log entries of an older leader that were replaced."),
    RAFT(batches, "Write batches given to the log."),
    RAFT(batches_full, "Write batches that found the disk full."),
    RAFT(snapshots_taken, "Snapshots taken."),
    RAFT(snapshots_installed, "Snapshots received from other nodes."),
    RAFT(snapshots_sent, "Snapshots sent to other nodes."),
    RAFT(snapshots_uncompared, "Snapshots offered to other nodes although no majority was there to compare the state's hash with."),
    RAFT(entries_lost,
         "Times that another node had lost entries that it had acknowledged: its disk does not keep what it says it has synced."),
    RAFT(transfers_begun, "Transfers of leadership begun."),
    RAFT(transfers_done, "Transfers of leadership that succeeded."),
    RAFT(transfers_aborted, "Transfers of leadership that failed."),
    RAFT(votes_parked, "Votes held back because the leader may be alive."),
    RAFT(messages_refused, "Messages of other nodes that were not acceptable."),
    RAFT(messages_dropped, "Messages to other nodes that found no connection or a full one."),
    RAFT(stalls, "Times that the loop stood still."),
    RAFT(appends_shortened, "Messages taken without their entries, because too many were not stored here yet."),
    {"muster_raft_log_memory_bytes", OPS_GAUGE, "Log entries in memory, all shards.", offsetof(struct core_stats, log_bytes)},
    {"muster_raft_log_replay_bytes", OPS_GAUGE, "Log applied and in no snapshot, all shards: what a restart would replay.",
     offsetof(struct core_stats, replay_bytes)},
    {"muster_raft_unstored_bytes", OPS_GAUGE, "Of the entries in memory what this node's disk has not stored.",
     offsetof(struct core_stats, unstored_bytes)},
    {"muster_raft_messages_waiting", OPS_GAUGE, "Messages that wait for a term or vote to be stored.",
     offsetof(struct core_stats, messages_waiting)},
    RAFT(hashes_compared, "Comparisons of the state's hash between replicas."),
};
#undef RAFT

#define STORE(field, kind, help)                                                                                                           \
    {                                                                                                                                      \
        "muster_store_" #field, kind, help, offsetof(struct store_stats, field)                                                            \
    }
static const struct metric store_metrics[] = {
    STORE(batches, OPS_COUNTER, "Write batches written."),
    STORE(records, OPS_COUNTER, "Records in these batches."),
    STORE(bytes, OPS_COUNTER, "Bytes of these batches."),
    STORE(syncs, OPS_COUNTER, "Calls of fdatasync."),
    STORE(full_events, OPS_COUNTER, "Writes that found the disk full."),
    STORE(segments, OPS_GAUGE, "Files of the log."),
    STORE(log_bytes, OPS_GAUGE, "Bytes of the log."),
    STORE(history_segments, OPS_GAUGE, "Files of the log that are kept as history."),
    STORE(history_snapshots, OPS_GAUGE, "Snapshots that newer ones replaced and that are kept as history."),
    STORE(history_bytes, OPS_GAUGE, "Bytes of both."),
    STORE(history_given_up, OPS_COUNTER, "Pieces of history that went because the disk was full."),
};
#undef STORE

static void put_table(struct buf *out, const struct metric *table, size_t count, const void *source)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t *value = (const uint64_t *)(const void *)((const char *)source + table[i].offset);
        ops_metric(out, table[i].name, table[i].kind, table[i].help);
        ops_value(out, table[i].name, NULL, STR_NULL, *value);
    }
}

static void put_by_key(struct buf *out, const char *name, const char *help, const uint64_t *values)
{
    ops_metric(out, name, OPS_COUNTER, help);
    for (size_t i = 0; i < api_key_count(); i++) {
        const char *api;
        api_key_at(i, &api);
        ops_value(out, name, "api", str_of(api), values[i]);
    }
}

struct shard_view {
    struct replica_shard_status status;
    struct group_set_counts counts;
};

/* One gauge of every shard. */
static void put_shards(struct server *s, struct buf *out, const char *name, const char *help, uint64_t (*value)(const struct shard_view *v))
{
    ops_metric(out, name, OPS_GAUGE, help);
    for (uint32_t i = 0; i < replica_shard_count(s->replica); i++) {
        struct shard_view view;
        char shard[16];
        replica_status(s->replica, i, &view.status);
        group_set_counts(coord_set(s->coord, i), &view.counts);
        snprintf(shard, sizeof(shard), "%u", i);
        ops_value(out, name, "shard", str_of(shard), value(&view));
    }
}

static uint64_t shard_leader(const struct shard_view *v)
{
    return v->status.leader;
}

static uint64_t shard_serving(const struct shard_view *v)
{
    return v->status.role == REPLICA_SERVING;
}

static uint64_t shard_term(const struct shard_view *v)
{
    return v->status.term;
}

static uint64_t shard_commit(const struct shard_view *v)
{
    return v->status.commit_index;
}

static uint64_t shard_applied(const struct shard_view *v)
{
    return v->status.applied_index;
}

static uint64_t shard_groups(const struct shard_view *v)
{
    return (uint64_t)v->counts.groups;
}

static uint64_t shard_members(const struct shard_view *v)
{
    return (uint64_t)v->counts.members;
}

static uint64_t shard_offsets(const struct shard_view *v)
{
    return (uint64_t)v->counts.offsets;
}

static uint64_t shard_history(const struct shard_view *v)
{
    return (uint64_t)v->counts.history_records;
}

static uint64_t shard_bytes(const struct shard_view *v)
{
    return (uint64_t)v->counts.bytes;
}

/* ---- groups by type and state -------------------------------------------------------------------------------------------------- */

enum { CENSUS_GROUPS = 16, CENSUS_BUDGET_US = 500, CENSUS_STEP_MS = 10, CENSUS_AGE_US = 1000000, MOST_SHARDS = 256 };

/* For a part of a turn's time. */
static void count_groups(struct server *s)
{
    const struct group_set *sets[MOST_SHARDS];
    uint32_t shards = replica_shard_count(s->replica);
    int64_t until_us = server_now_us() + CENSUS_BUDGET_US;
    MUSTER_CHECK(shards <= MOST_SHARDS);
    for (uint32_t i = 0; i < shards; i++) {
        uint32_t leader;
        sets[i] = coord_shard_state(s->coord, i, &leader) == 0 ? coord_set(s->coord, i) : NULL;
    }
    while (s->census.running && server_now_us() < until_us) {
        census_step(&s->census, sets, shards, CENSUS_GROUPS);
    }
}

static void on_counting(uv_timer_t *timer)
{
    struct server *s = timer->data;
    if (s->replica != NULL && !s->ending) {
        count_groups(s);
    }
    if (!s->census.running || s->replica == NULL || s->ending) {
        uv_timer_stop(timer);
    }
}

/* Few groups are counted at once; many go on being counted, and the newest whole count is shown until then. */
static void put_groups(struct server *s, struct buf *out)
{
    int64_t now = server_now_us();
    if (!s->census.running && (s->census_us == 0 || now - s->census_us >= CENSUS_AGE_US)) {
        s->census_us = now;
        census_begin(&s->census);
        count_groups(s);
    }
    if (s->census.running) {
        uv_timer_start(&s->counting, on_counting, CENSUS_STEP_MS, CENSUS_STEP_MS);
    }
    for (size_t t = 0; s->census.known && t < CENSUS_TYPES; t++) {
        const struct census_type *type = &census_types[t];
        char name[64], help[128];
        snprintf(name, sizeof(name), "muster_%s_groups", type->type);
        snprintf(help, sizeof(help), "Groups of the type %s in the shards that this node serves, by state.", type->type);
        ops_metric(out, name, OPS_GAUGE, help);
        for (size_t i = 0; i < type->state_count; i++) {
            ops_value(out, name, "state", str_of(type->states[i]), s->census.counted[t][i]);
        }
    }
}

static void put_consensus(struct server *s, struct buf *out)
{
    struct core_stats core;
    struct store_stats store;
    uv_replica_stats(s->host, &core, &store);
    put_table(out, raft_metrics, COUNT_OF(raft_metrics), &core);
    put_table(out, store_metrics, COUNT_OF(store_metrics), &store);
    const char *since = "muster_store_history_since_seconds";
    ops_metric(out, since, OPS_GAUGE, "When the oldest file of the log became history, in seconds since 1970; 0: there is none.");
    ops_value_micro(out, since, NULL, STR_NULL, store.history_since_ms * 1000);
}

/* A connection can be there one way only. */
static void put_peers(struct server *s, struct buf *out)
{
    struct uv_peer_status peers[32];
    size_t count = uv_replica_peers(s->host, peers, COUNT_OF(peers));
    char node[16];
    ops_metric(out, "muster_peer_connected", OPS_GAUGE, "Whether this node is connected to that node.");
    for (size_t i = 0; i < count; i++) {
        snprintf(node, sizeof(node), "%u", peers[i].node);
        ops_value(out, "muster_peer_connected", "node", str_of(node), peers[i].connected);
    }
    ops_metric(out, "muster_peer_heard", OPS_GAUGE, "Whether that node is connected to this node.");
    for (size_t i = 0; i < count; i++) {
        snprintf(node, sizeof(node), "%u", peers[i].node);
        ops_value(out, "muster_peer_heard", "node", str_of(node), peers[i].heard);
    }
    ops_metric(out, "muster_peer_bytes_sent", OPS_COUNTER, "Bytes sent to that node.");
    for (size_t i = 0; i < count; i++) {
        snprintf(node, sizeof(node), "%u", peers[i].node);
        ops_value(out, "muster_peer_bytes_sent", "node", str_of(node), peers[i].bytes_sent);
    }
}

static void read_peers(struct server *s, struct limits_view *ret)
{
    struct uv_peer_status peers[32];
    size_t count = uv_replica_peers(s->host, peers, COUNT_OF(peers));
    for (size_t i = 0; i < count && i < COUNT_OF(peers); i++) {
        ret->peer_dropped += peers[i].dropped;
        ret->peer_queued_bytes = peers[i].bytes_queued > ret->peer_queued_bytes ? peers[i].bytes_queued : ret->peer_queued_bytes;
    }
}

static void read_view(struct server *s, struct limits_view *ret)
{
    memset(ret, 0, sizeof(*ret));
    read_peers(s, ret);
    ret->lag_ms = (uint64_t)turn_lag_us(s) / 1000;
    net_stats(s->net, &ret->net);
    api_stats(s->api, &ret->api);
    coord_stats(s->coord, &ret->coord);
    uv_replica_stats(s->host, &ret->core, &ret->store);
    for (uint32_t i = 0; i < replica_shard_count(s->replica); i++) {
        struct group_set_counts counts;
        group_set_counts(coord_set(s->coord, i), &counts);
        ret->groups += (uint64_t)counts.groups;
        ret->members += (uint64_t)(counts.members + counts.pending);
        ret->topics += (uint64_t)counts.topics;
        ret->state_bytes += (uint64_t)counts.bytes;
        ret->history_bytes += (uint64_t)counts.history_bytes;
    }
}

/* Each decision counts once for each cause: a member that joins a group while it rebalances anyway, too. */
static void put_causes(const struct coord_stats *stats, struct buf *out)
{
    static const char name[] = "muster_group_rebalance_causes_total";
    ops_metric(out, name, OPS_COUNTER, "Why groups that this node coordinates rebalanced, by cause.");
    for (int cause = 0; cause < GROUP_CAUSE_COUNT; cause++) {
        ops_value(out, name, "cause", str_of(group_cause_name(cause)), stats->causes[cause]);
    }
}

static void put_node(struct server *s, struct buf *out)
{
    struct limits_view view;
    read_view(s, &view);
    put_table(out, net_metrics, COUNT_OF(net_metrics), &view.net);
    put_table(out, api_metrics, COUNT_OF(api_metrics), &view.api);
    put_by_key(out, "muster_api_requests", "Requests by API.", view.api.by_key);
    put_by_key(out, "muster_api_errors", "Requests answered with an error, by API.", view.api.error_by_key);
    put_table(out, coord_metrics, COUNT_OF(coord_metrics), &view.coord);
    limits_put_use(&view, out);
    put_consensus(s, out);
    put_peers(s, out);
    put_shards(s, out, "muster_shard_leader", "Node that leads the shard, as this node knows; 0: nobody.", shard_leader);
    put_shards(s, out, "muster_shard_serving", "Whether this node serves the shard.", shard_serving);
    put_shards(s, out, "muster_shard_term", "Raft term of the shard.", shard_term);
    put_shards(s, out, "muster_shard_commit_index", "Newest committed entry this node knows of.", shard_commit);
    put_shards(s, out, "muster_shard_applied_index", "Newest entry applied.", shard_applied);
    put_shards(s, out, "muster_shard_groups", "Groups.", shard_groups);
    put_shards(s, out, "muster_shard_members", "Members of groups.", shard_members);
    put_shards(s, out, "muster_shard_offsets", "Committed offsets.", shard_offsets);
    put_shards(s, out, "muster_shard_state_bytes", "Memory of the shard's state.", shard_bytes);
    put_shards(s, out, "muster_shard_history_records", "Records of the histories of the shard's groups.", shard_history);
    put_groups(s, out);
    put_causes(&view.coord, out);
    metrics_put_etcd(s, out);
    metrics_put_kafka(s, out);
}

void metrics_put(void *ctx, struct buf *out)
{
    struct server *s = ctx;
    out->limit = METRIC_BYTES_LIMIT;
    metrics_put_process(s, out);
    limits_put(s->config, out);
    if (s->replica != NULL && s->net != NULL) {
        put_node(s, out);
    }
}

/* Healthy: every shard has a leader that this node knows, and this node has applied what it knows to be committed. */
bool metrics_health(void *ctx, struct buf *out)
{
    struct server *s = ctx;
    bool healthy = true;
    if (s->replica == NULL) {
        static const char text[] = "not formed, or not started yet\n";
        buf_put(out, text, sizeof(text) - 1);
        return false;
    }
    for (uint32_t i = 0; i < replica_shard_count(s->replica); i++) {
        struct replica_shard_status status;
        char line[128];
        replica_status(s->replica, i, &status);
        bool good = status.leader != 0 && status.applied_index >= status.commit_index;
        healthy = healthy && good;
        int len = snprintf(line, sizeof(line), "shard=%u leader=%u applied=%llu commit=%llu %s\n", i, status.leader,
                           (unsigned long long)status.applied_index, (unsigned long long)status.commit_index, good ? "ok" : "not ok");
        buf_put(out, line, (size_t)len);
    }
    return healthy;
}
