/* admin.c: the admin port, and what /livez and /readyz ask. It listens before the node is formed and restored, so that whoever watches the process sees it start.
 *
 * Liveness is about the process alone: a node that cannot reach its peers or whose disk is full is not helped by a restart. Readiness is about the service. */
#include "server.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static bool fails(struct buf *why, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    buf_put(why, text, strlen(text));
    return false;
}

static void read_core(const struct server *s, struct core_stats *ret)
{
    struct store_stats store;
    uv_replica_stats(s->host, ret, &store);
}

/* ---- liveness ---- */

/* That it is answered is the proof: the loop turns. */
static bool check_ping(void *ctx, struct buf *why)
{
    (void)ctx;
    (void)why;
    return true;
}

bool admin_disk_answers(const struct server *s)
{
    struct core_stats core;
    if (s->replica == NULL) {
        return true;
    }
    read_core(s, &core);
    return core.write_age_us <= (uint64_t)s->config->disk_hang_ms * 1000;
}

/* A disk that takes this long for one write is not slow but gone, and what waits for it may only be freed by a new process. */
static bool check_disk_hung(void *ctx, struct buf *why)
{
    const struct server *s = ctx;
    return admin_disk_answers(s) || fails(why, "one write is under way for more than %d ms (muster.disk.hang.ms)", s->config->disk_hang_ms);
}

/* ---- readiness ---- */

static bool check_formed(void *ctx, struct buf *why)
{
    const struct server *s = ctx;
    return s->replica != NULL || fails(why, "%s", s->forming != NULL ? "waits for `musterd form`" : "starts or ends");
}

static bool check_shutdown(void *ctx, struct buf *why)
{
    const struct server *s = ctx;
    return !s->ending || fails(why, "was told to end");
}

static bool check_loop(void *ctx, struct buf *why)
{
    const struct server *s = ctx;
    int64_t lag_us = turn_lag_us(s);
    return lag_us <= (int64_t)s->config->loop_stall_ms * 1000 ||
           fails(why, "a turn of the loop took %lld ms lately, more than muster.loop.stall.ms", (long long)lag_us / 1000);
}

static bool check_disk(void *ctx, struct buf *why)
{
    const struct server *s = ctx;
    struct core_stats core;
    if (s->replica == NULL) {
        return true;
    }
    read_core(s, &core);
    return core.disk_healthy || fails(why, "%s", core.disk_full ? "the disk is full" : "a write takes longer than muster.slow.write.ms");
}

static bool check_peers(void *ctx, struct buf *why)
{
    const struct server *s = ctx;
    uint32_t nodes[32];
    size_t connected = 0;
    if (s->replica == NULL) {
        return true;
    }
    size_t count = replica_nodes(s->replica, nodes, COUNT_OF(nodes));
    for (size_t i = 0; i < count; i++) {
        connected += nodes[i] == replica_self(s->replica) || replica_connected(s->replica, nodes[i]);
    }
    return connected > count / 2 || fails(why, "connected to %zu of %zu nodes, itself included: no majority", connected, count);
}

/* The first shard of which wrong() is true; -1: of none. */
static int first_shard(const struct server *s, bool (*wrong)(const struct replica_shard_status *status))
{
    uint32_t count = s->replica != NULL ? replica_shard_count(s->replica) : 0;
    for (uint32_t i = 0; i < count; i++) {
        struct replica_shard_status status;
        replica_status(s->replica, i, &status);
        if (wrong(&status)) {
            return (int)i;
        }
    }
    return -1;
}

static bool has_no_leader(const struct replica_shard_status *status)
{
    return status->leader == 0;
}

static bool is_behind(const struct replica_shard_status *status)
{
    return status->applied_index < status->commit_index;
}

static bool check_leaders(void *ctx, struct buf *why)
{
    int shard = first_shard(ctx, has_no_leader);
    return shard < 0 || fails(why, "shard %d has no leader that this node knows", shard);
}

static bool check_applied(void *ctx, struct buf *why)
{
    int shard = first_shard(ctx, is_behind);
    return shard < 0 || fails(why, "shard %d has not applied all that it knows to be committed", shard);
}

static bool check_catalogue(void *ctx, struct buf *why)
{
    const struct server *s = ctx;
    return s->replica == NULL || api_is_registered(s->api) || fails(why, "the catalogue does not show this node as it is yet");
}

static bool check_diverged(void *ctx, struct buf *why)
{
    const struct server *s = ctx;
    struct core_stats core;
    if (s->replica == NULL) {
        return true;
    }
    read_core(s, &core);
    return core.shards_in_doubt == 0 ||
           fails(why, "another node has another state in %llu shards, and no majority has said yet which is right",
                 (unsigned long long)core.shards_in_doubt);
}

static const struct ops_check checks[] = {
    {"ping", true, check_ping},          {"disk-hung", true, check_disk_hung},
    {"formed", false, check_formed},     {"shutdown", false, check_shutdown},
    {"loop", false, check_loop},         {"disk", false, check_disk},
    {"peers", false, check_peers},       {"leaders", false, check_leaders},
    {"applied", false, check_applied},   {"catalogue", false, check_catalogue},
    {"diverged", false, check_diverged},
};

/* ---- the port ---- */

int admin_open(struct server *s)
{
    struct config_endpoint at;
    struct ops_handler handler = {
        .ctx = s, .metrics = metrics_put, .health = metrics_health, .checks = checks, .check_count = COUNT_OF(checks)};
    const char *why = "";
    uint16_t port;
    if (s->config->admin_listener[0] == '\0') {
        return SERVER_EXIT_OK;
    }
    if (!config_parse_endpoint(str_of(s->config->admin_listener), &at)) {
        log_event(LOG_ERROR, "config_wrong", "key=muster.admin.listener value=\"%s\" hint=\"HOST:PORT\"", s->config->admin_listener);
        return SERVER_EXIT_CONFIG;
    }
    if (ops_open(&s->ops, &s->loop, at.host, at.port, &handler, &port, &why) < 0) {
        s->ops = NULL;
        log_event(LOG_ERROR, "cannot_listen", "key=muster.admin.listener host=\"%s\" port=%u error=\"%s\"", at.host, at.port, why);
        return SERVER_EXIT_NETWORK;
    }
    return SERVER_EXIT_OK;
}

void admin_close(struct server *s)
{
    if (s->ops != NULL) {
        ops_close(s->ops, NULL, NULL);
        s->ops = NULL;
    }
}
