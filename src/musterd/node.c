/* node.c: the parts of a formed node, opened from the disk upwards and closed from the clients downwards. */
#include "server.h"
#include "settings.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- what coord asks of its owner ---- */

static void draw_id(void *ctx, struct uuid *ret)
{
    struct server *s = ctx;
    random_draw(&s->random, ret);
}

static int64_t wall_ms(void *ctx)
{
    (void)ctx;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void close_connection(void *ctx, uint64_t connection)
{
    struct server *s = ctx;
    net_close_connection(s->net, connection, "rebalance");
}

static void on_fatal(void *ctx, const char *text)
{
    (void)ctx;
    server_fatal(text);
}

static void on_outdated(void *ctx, const char *text)
{
    (void)ctx;
    server_outdated(text);
}

static void on_message(void *ctx, uint32_t from, uint16_t channel, struct bytes data)
{
    struct server *s = ctx;
    turn_open(s);
    api_message(s->api, from, channel, data);
}

static void on_peer(void *ctx, uint32_t node, bool connected)
{
    struct server *s = ctx;
    log_event(LOG_INFO, connected ? "peer_connected" : "peer_lost", "node=%u", node);
    turn_open(s);
    api_peer_changed(s->api, node, connected);
}

static void on_role(void *ctx, uint32_t shard, enum replica_role role, uint64_t term, uint32_t leader)
{
    static const char *const names[] = {"follower", "leader", "serving", "handing_over"};
    struct server *s = ctx;
    tally_leader(&s->tally, shard, leader);
    log_event(LOG_INFO, "shard_role", "shard=%u role=%s term=%llu leader=%u", shard, names[role], (unsigned long long)term, leader);
    if (shard == 0 && leader != 0) {
        s->register_soon = true;
    }
}

/* What nobody asked for (members that are thrown out) and what changes the catalogue is worth a line; the rest is shown at the level debug. */
static enum log_level level_of(enum group_op_kind kind)
{
    bool notable = kind == GROUP_TIMER || kind == GROUP_DELETE || kind >= CATALOG_CREATE_TOPICS;
    return notable && kind != CATALOG_PRODUCER_ID && kind != CATALOG_CURSOR && kind != SHARD_OFFICE ? LOG_INFO : LOG_DEBUG;
}

static void on_decided(void *ctx, uint32_t shard, const struct group_op *op, const struct group_out *out)
{
    struct server *s = ctx;
    tally_decided(&s->tally, op, out);
    if (out->records.len == 0 || op->kind == GROUP_OFFSET_COMMIT) {
        return;
    }
    log_event(level_of(op->kind), "decided",
              "op=%s shard=%u group=\"%.*s\" member=\"%.*s\" client_id=\"%.*s\" rule=\"%s\" error_code=%d records=%zu",
              group_op_name(op->kind), shard, STR_ARG(op->group_id), STR_ARG(op->timer.member_id), STR_ARG(op->caller.client_id),
              out->rule != NULL ? out->rule : "", out->error, out->records.len);
}

static void on_turn_begin(void *ctx)
{
    turn_open(ctx);
}

static void on_store_warning(void *ctx, const char *text)
{
    (void)ctx;
    log_event(LOG_WARN, "storage", "text=\"%s\"", text);
}

/* ---- opening ---- */

static int open_coord(struct server *s)
{
    struct coord_options options;
    struct coord_events events = {
        .ctx = s,
        .draw_id = draw_id,
        .wall_ms = wall_ms,
        .close_connection = close_connection,
        .fatal = on_fatal,
        .outdated = on_outdated,
        .message = on_message,
        .peer = on_peer,
        .role = on_role,
        .decided = on_decided,
        .run_job = errands_run_job,
        .create_topics = errands_create_topics,
    };
    settings_coord(s->config, s->identity.peer_count, &options);
    return coord_new(&s->coord, &options, &events) < 0 ? SERVER_EXIT_CONFIG : SERVER_EXIT_OK;
}

static struct str peer_listener(struct server *s)
{
    for (uint32_t i = 0; i < s->identity.peer_count; i++) {
        if (s->identity.peers[i].node_id == s->identity.node_id) {
            return str_of(s->identity.peers[i].address);
        }
    }
    return STR("");
}

static int open_api(struct server *s)
{
    const struct config *c = s->config;
    struct config_endpoint advertised = config_advertised(c);
    struct api_peer *peers = ARENA_NEW(&s->memory, struct api_peer, s->identity.peer_count);
    for (uint32_t i = 0; i < s->identity.peer_count; i++) {
        /* Copies: the identity moves on with the members. */
        peers[i] = (struct api_peer){s->identity.peers[i].node_id, arena_str(&s->memory, str_of(s->identity.peers[i].address))};
    }
    struct api_options options = {
        .node_id = s->identity.node_id,
        .cluster_id = s->identity.cluster_id,
        .incarnation = s->identity.incarnation,
        .advertised_host = arena_str(&s->memory, str_of(advertised.host)),
        .advertised_port = advertised.port,
        .peer_address = arena_str(&s->memory, peer_listener(s)),
        .rack = c->rack[0] != '\0' ? str_of(c->rack) : STR_NULL,
        .version = STR(MUSTER_VERSION),
        .peers = peers,
        .peer_count = s->identity.peer_count,
        .auto_create_topics = c->auto_create_topics_enable,
        .consumer_groups = strstr(c->rebalance_protocols, "consumer") != NULL, /* one of three words */
        .streams_groups = strstr(c->rebalance_protocols, "streams") != NULL,
        .apply_wait_us = (int64_t)c->catalog_apply_wait_ms * 1000,
        .request_max_groups = c->request_max_groups,
        .read_folder = folder_read,
        .read_folder_ctx = s,
        .folder_reads_max = c->log_reads_max,
        .backup_idle_us = (int64_t)c->backup_idle_timeout_ms * 1000,
        .doing = members_doing,
        .doing_ctx = s,
        .request_max_topics = c->request_max_topics,
        .response_max_bytes = (size_t)c->response_max_bytes,
    };
    settings_broker_values(c, &options.broker_values);
    return api_new(&s->api, &options, s->coord) < 0 ? SERVER_EXIT_CONFIG : SERVER_EXIT_OK;
}

static void on_round_trip(void *ctx, uint32_t node, int64_t took_us)
{
    struct round_trips *t = &((struct server *)ctx)->round_trips;
    size_t at = 0;
    while (at < COUNT_OF(t->node) && t->node[at] != node && t->node[at] != 0) {
        at++;
    }
    if (at == COUNT_OF(t->node)) { /* so many nodes came and went */
        return;
    }
    if (t->node[at] == 0) {
        t->node[at] = node;
        t->took[at].first_us = 100;
    }
    ops_observe(&t->took[at], took_us);
}

static void fill_core_options(const struct config *c, struct core_options *ret)
{
    *ret = (struct core_options){
        .election_timeout_ms = (uint32_t)c->election_timeout_ms,
        .heartbeat_ms = (uint32_t)c->heartbeat_interval_ms,
        .probe_interval_us = (uint32_t)c->read_probe_interval_us,
        .slow_write_ms = (uint32_t)c->slow_write_ms,
        .no_fast_failover = !c->fast_failover,
        .entry_max_bytes = (uint64_t)c->entry_max_bytes,
        .log_retain_bytes = (uint64_t)c->log_retain_bytes,
        .log_tail_bytes = (uint64_t)c->log_tail_bytes,
        .unapplied_max_bytes = (uint64_t)c->max_unapplied_bytes,
        .snapshot_interval_bytes = (uint64_t)c->snapshot_interval_bytes,
        .hash_interval = (uint64_t)c->state_hash_interval,
        .snapshot_chunk_bytes = (uint32_t)c->snapshot_chunk_bytes,
    };
}

static int open_replica(struct server *s)
{
    const struct config *c = s->config;
    struct config_endpoint listener = config_peer_listener(c);
    struct uv_replica_options options = {
        .peer_max_queued_bytes = (size_t)c->peer_max_queued_bytes,
        .loop = &s->loop,
        .identity = s->identity,
        .port = &s->timed_port,
        .listen_host = listener.host,
        .listen_port = listener.port,
        .turn_begin = on_turn_begin,
        .turn_ctx = s,
        .round_trip = on_round_trip,
    };
    char text[RAFT_HOST_TEXT_BYTES] = "";
    options.store = (struct store_options){
        .shard_count = s->identity.shard_count,
        .segment_bytes = (uint64_t)c->log_segment_bytes,
        .reserve_bytes = (uint64_t)c->log_reserve_bytes,
        .entry_max_bytes = (uint64_t)c->entry_max_bytes,
        .warn = on_store_warning,
        .warn_ctx = s,
        .history_bytes = (uint64_t)c->history_retention_bytes,
        .history_ms = c->history_retention_ms,
        .wall_ms = wall_ms,
    };
    fill_core_options(c, &options.core);
    options.core.seed = random_number(&s->random);
    coord_replica_events(s->coord, &options.events);
    int rc = uv_replica_open(&s->host, &options, &s->replica, text);
    if (rc < 0) {
        log_event(LOG_ERROR, "replica_not_opened", "error=\"%s\" text=\"%s\"", muster_strerror(rc), text);
        return rc == MUSTER_E_BUSY || rc == MUSTER_E_INVALID ? SERVER_EXIT_NETWORK : SERVER_EXIT_DATA;
    }
    coord_attach(s->coord, s->replica);
    return SERVER_EXIT_OK;
}

/* The first frame of a turn takes the time. */
static enum net_verdict on_frame(void *ctx, const struct net_frame *frame)
{
    struct server *s = ctx;
    turn_open(s);
    return s->api_handler.frame(s->api_handler.ctx, frame);
}

static void on_follows(void *ctx, struct net_slot *slot, void *user)
{
    struct server *s = ctx;
    turn_open(s);
    s->api_handler.follows(s->api_handler.ctx, slot, user);
}

static void on_gone(void *ctx, struct net_slot *slot, void *user)
{
    struct server *s = ctx;
    turn_open(s);
    s->api_handler.gone(s->api_handler.ctx, slot, user);
}

static int cannot_listen(const char *key, const char *host, uint16_t port, const char *why)
{
    log_event(LOG_ERROR, "cannot_listen", "key=%s host=\"%s\" port=%u error=\"%s\"", key, host, port, why);
    return SERVER_EXIT_NETWORK;
}

static int open_net(struct server *s)
{
    struct net_options options;
    struct net_handler handler = {.ctx = s, .frame = on_frame, .follows = on_follows, .gone = on_gone};
    struct config_endpoint listener = config_listener(s->config);
    const char *why = "";
    uint16_t port;
    settings_net(s->config, &options);
    api_net_handler(s->api, &s->api_handler);
    if (net_new(&s->net, &s->loop, &options, &handler) < 0) {
        return SERVER_EXIT_NETWORK;
    }
    if (net_listen(s->net, listener.host, listener.port, &port, &why) < 0) {
        return cannot_listen("listeners", listener.host, listener.port, why);
    }
    return SERVER_EXIT_OK;
}

int node_open(struct server *s)
{
    static int (*const steps[])(struct server *) = {data_check_identity, open_coord, open_api, open_replica, open_net};
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        int code = steps[i](s);
        if (code != SERVER_EXIT_OK) {
            return code;
        }
    }
    turn_start(s);
    return SERVER_EXIT_OK;
}

/* ---- closing ---- */

static void on_replica_closed(void *ctx)
{
    struct server *s = ctx;
    s->host = NULL;
    s->replica = NULL;
}

static void on_net_closed(void *ctx)
{
    struct server *s = ctx;
    if (s->turn.check.data != NULL) {
        turn_stop(s);
    }
    if (s->host != NULL) {
        uv_replica_close(s->host, on_replica_closed, s);
    }
}

void node_close(struct server *s)
{
    if (s->net != NULL) {
        net_close(s->net, on_net_closed, s);
    } else {
        on_net_closed(s);
    }
}

void node_free(struct server *s)
{
    coord_free(s->coord);
    api_free(s->api);
    net_free(s->net);
}
