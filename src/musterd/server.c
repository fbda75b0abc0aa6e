/* server.c: a node from its start to its end.
 *
 * Start: data folder; if it is empty, waiting to be formed; then the parts (node.c). End: no new clients, leadership handed over within a bounded time,
 * connections closed, log closed. */
#include "server.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
    HOUSEKEEPING_MS = 1000,
    LEAVE_STEP_MS = 10,
    LEAVE_TRIES = 3 /* of each shard: from a node that is ending as well it comes back */
};

_Noreturn void server_fatal(const char *text)
{
    log_event(LOG_ERROR, "fatal", "text=\"%s\"", text);
    _exit(SERVER_EXIT_FATAL);
}

_Noreturn void server_outdated(const char *text)
{
    log_event(LOG_ERROR, "version_too_old",
              "version=%s feature_level=%d text=\"%s\" hint=\"start a newer musterd on this folder; its data is whole\"", MUSTER_VERSION,
              group_feature_level, text);
    _exit(SERVER_EXIT_VERSION);
}

/* ---- the end ---- */

static void close_handle(uv_handle_t *handle)
{
    if (handle->type != UV_UNKNOWN_HANDLE && !uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

static void end_now(struct server *s)
{
    close_handle((uv_handle_t *)&s->housekeeping);
    close_handle((uv_handle_t *)&s->leaving);
    close_handle((uv_handle_t *)&s->counting);
    close_handle((uv_handle_t *)&s->watchdog);
    close_handle((uv_handle_t *)&s->term);
    close_handle((uv_handle_t *)&s->interrupt);
    members_stop(s);
    if (s->forming != NULL) {
        form_server_close(s->forming, NULL, NULL);
        s->forming = NULL;
    }
    admin_close(s);
    node_close(s);
}

void server_fail(struct server *s, enum server_exit code)
{
    s->exit_code = (int)code;
    s->ending = true;
    end_now(s);
}

/* Asks the replica to hand over what this node leads; false when nothing is left that could be, and everybody knows where it is. */
static bool hand_over(struct server *s)
{
    bool leads = false;
    for (uint32_t i = 0; i < replica_shard_count(s->replica); i++) {
        struct replica_shard_status status;
        replica_status(s->replica, i, &status);
        if (status.role == REPLICA_SERVING && s->handed_over[i] < LEAVE_TRIES) {
            int rc = replica_transfer(s->replica, i, 0);
            if (rc == 0) {
                s->handed_over[i]++;
            }
            leads = leads || rc != MUSTER_E_NOT_FOUND;
        }
        /* Clients that ask who leads a shard now are answered first. */
        leads = leads || coord_shard_moves(s->coord, i);
    }
    return leads;
}

static void on_leaving(uv_timer_t *timer)
{
    struct server *s = timer->data;
    turn_open(s);
    if (!hand_over(s) || server_now_us() >= s->leaving_until_us) {
        log_event(LOG_INFO, "ending", "node=%u", s->identity.node_id);
        end_now(s);
        return;
    }
    turn_wake(s);
}

static void on_signal(uv_signal_t *handle, int number)
{
    struct server *s = handle->data;
    if (s->ending) {
        log_event(LOG_WARN, "ended_at_once", "signal=%d", number);
        _exit(SERVER_EXIT_OK); /* asked twice; everything acknowledged is on disk */
    }
    s->ending = true;
    log_event(LOG_INFO, "told_to_end", "signal=%d", number);
    manager_stopping(s);
    if (s->replica == NULL) {
        end_now(s);
        return;
    }
    net_stop_listening(s->net);
    turn_open(s);
    replica_ending(s->replica);
    turn_wake(s);
    s->leaving_until_us = server_now_us() + (int64_t)s->config->shutdown_transfer_ms * 1000;
    uv_timer_start(&s->leaving, on_leaving, LEAVE_STEP_MS, LEAVE_STEP_MS); /* others may have been told the same, and say so first */
}

/* ---- the start ---- */

static void on_housekeeping(uv_timer_t *timer)
{
    struct server *s = timer->data;
    turn_second(s);
    manager_tell(s);
    if (s->api != NULL && s->replica != NULL) {
        s->register_soon = true;
        turn_wake(s);
    }
}

static void log_config(const struct config *c)
{
    struct arena scratch;
    arena_init(&scratch, 0);
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_row *key = &config_keys[i];
        struct str text = config_text(c, key, &scratch);
        log_event(config_is_default(c, key) ? LOG_DEBUG : LOG_INFO, "config", "key=%s value=\"%.*s\"", key->name, STR_ARG(text));
    }
    arena_fini(&scratch);
}

static void start_node(struct server *s)
{
    char cluster[23];
    uuid_text(s->identity.cluster_id, cluster);
    int code = node_open(s);
    if (code != SERVER_EXIT_OK) {
        server_fail(s, (enum server_exit)code);
        return;
    }
    members_start(s);
    struct config_endpoint listener = config_listener(s->config);
    log_event(LOG_INFO, "started", "version=%s node=%u cluster=%s nodes=%u shards=%u listener=%s:%u", MUSTER_VERSION, s->identity.node_id,
              cluster, s->identity.peer_count, s->identity.shard_count, listener.host, listener.port);
    manager_ready(s);
}

static void on_formed(void *ctx, const struct store_identity *identity)
{
    struct server *s = ctx;
    s->forming = NULL;
    s->identity = *identity;
    start_node(s);
}

static int wait_to_be_formed(struct server *s)
{
    struct form_config form;
    struct config_endpoint listener = config_peer_listener(s->config);
    char text[RAFT_HOST_TEXT_BYTES] = "";
    data_form_config(s->config, &form);
    int rc = form_server_open(&s->forming, &s->loop, &s->port, &form, listener.host, listener.port, on_formed, s, text);
    if (rc < 0) {
        s->forming = NULL;
        log_event(LOG_ERROR, "cannot_wait_for_forming", "error=\"%s\" text=\"%s\"", muster_strerror(rc), text);
        return rc == MUSTER_E_BUSY || rc == MUSTER_E_INVALID ? SERVER_EXIT_NETWORK : SERVER_EXIT_DATA;
    }
    log_event(
        LOG_INFO, "waits_to_be_formed",
        "node=%d dir=\"%s\" hint=\"a new cluster: musterd form --config FILE, once all nodes run; a cluster that there is: muster cluster "
        "replace %d if the node lost its folder, muster cluster add if it is new\"",
        s->config->node_id, s->config->data_dir, s->config->node_id);
    manager_ready(s);
    return SERVER_EXIT_OK;
}

static void init_handles(struct server *s)
{
    uv_timer_init(&s->loop, &s->housekeeping);
    uv_timer_init(&s->loop, &s->leaving);
    uv_timer_init(&s->loop, &s->counting);
    members_init(s);
    manager_open(s);
    uv_signal_init(&s->loop, &s->term);
    uv_signal_init(&s->loop, &s->interrupt);
    s->housekeeping.data = s->leaving.data = s->counting.data = s->term.data = s->interrupt.data = s;
    uv_timer_start(&s->housekeeping, on_housekeeping, HOUSEKEEPING_MS, HOUSEKEEPING_MS);
    uv_signal_start(&s->term, on_signal, SIGTERM);
    uv_signal_start(&s->interrupt, on_signal, SIGINT);
}

static void run(struct server *s)
{
    bool formed = false;
    log_config(s->config);
    int code = admin_open(s);
    if (code == SERVER_EXIT_OK) {
        code = data_open(s, &formed);
    }
    if (code == SERVER_EXIT_OK && !formed) {
        code = wait_to_be_formed(s);
    }
    if (code != SERVER_EXIT_OK) {
        server_fail(s, (enum server_exit)code);
    } else if (formed) {
        start_node(s);
    }
    uv_run(&s->loop, UV_RUN_DEFAULT);
}

/* As many files, and so connections, as the administrator allows. */
static void raise_file_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int64_t wall_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int server_run(const struct config *config)
{
    char threads[16];
    snprintf(threads, sizeof(threads), "%d", config->pool_threads);
    setenv("UV_THREADPOOL_SIZE", threads, 1);
    raise_file_limit();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    struct server *s = calloc(1, sizeof(*s));
    MUSTER_CHECK(s != NULL);
    s->config = config;
    s->started_wall_us = wall_us();
    arena_init(&s->memory, 0);
    census_init(&s->census);
    MUSTER_CHECK(uv_loop_init(&s->loop) == 0);
    init_handles(s);
    run(s);
    node_free(s);
    MUSTER_CHECK(uv_loop_close(&s->loop) == 0);
    if (s->port_open) {
        disk_fini(&s->disk);
        store_port_posix_fini(&s->port);
    }
    census_fini(&s->census);
    members_free(s);
    arena_fini(&s->memory);
    int code = s->exit_code;
    free(s);
    log_event(LOG_INFO, "ended", "exit=%d", code);
    return code;
}
