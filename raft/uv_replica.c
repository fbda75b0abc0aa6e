/* The replica in a server: the core, its peers, the log thread, the pool for snapshots, and a timer, all on one loop. */
#include "core.h"
#include "uv_peer.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OLDEST_EVERY_US = 1000000, TIDY_EVERY_US = 60000000, IDENTITY_RETRY_US = 1000000, TEXT_BYTES = RAFT_HOST_TEXT_BYTES };
enum { GIVE_BACK_BYTES = 4 << 20 };

struct uv_replica {
    uv_loop_t *loop;
    struct replica *core;
    struct uv_peers *peers;
    struct store *store;
    struct store_writer *writer;
    struct store_port port;
    void (*turn_begin)(void *ctx);
    void (*round_trip)(void *ctx, uint32_t node, int64_t took_us);
    void *turn_ctx;
    uv_timer_t timer;
    uv_async_t written; /* the log thread has a result */
    uv_idle_t awake;    /* a timer began a turn: the loop must not sleep before its end */
    uint64_t pin_bytes; /* more log than this, pinned by one shard, asks for its snapshot */
    int64_t oldest_us;  /* when the oldest segment is looked at next */
    int64_t tidy_us;    /* when history is */
    int64_t armed_us;
    uint64_t log_high; /* bytes of log in memory since the heap was last trimmed, at most */
    struct {
        uv_work_t work;
        struct store_identity identity;
        bool wanted, busy;
        int64_t after_us; /* no attempt before */
        int result;
    } identity; /* to be written */
    bool closing;
    unsigned handles;
    void (*done)(void *ctx);
    void *done_ctx;
};

struct uv_job {
    uv_work_t work;
    struct uv_replica *owner;
    struct core_job *job;
};

static int64_t now_us(void)
{
    return (int64_t)(uv_hrtime() / 1000);
}

/* An event from outside is about to be told. */
static void begin(struct uv_replica *r)
{
    if (r->turn_begin != NULL) {
        r->turn_begin(r->turn_ctx);
    }
}

/* ---- what the core asks for --------------------------------------------------------------------------------------------------- */

static void host_persist(void *ctx, const struct store_record *records, size_t count)
{
    struct uv_replica *r = ctx;
    MUSTER_CHECK(store_writer_submit(r->writer, records, count) == 0);
}

static bool host_send(void *ctx, uint32_t node, enum core_class class, struct bytes data)
{
    struct uv_replica *r = ctx;
    return r->peers != NULL && uv_peers_send(r->peers, node, class, data);
}

static void job_run(uv_work_t *work)
{
    struct uv_job *j = CONTAINER_OF(work, struct uv_job, work);
    j->job->run(j->job);
}

static void close_further(struct uv_replica *r);

static void job_after(uv_work_t *work, int status)
{
    struct uv_job *j = CONTAINER_OF(work, struct uv_job, work);
    struct uv_replica *r = j->owner;
    struct core_job *job = j->job;
    MUSTER_CHECK(status == 0);
    free(j);
    if (!r->closing) {
        begin(r);
    }
    core_job_done(r->core, job, now_us());
    if (r->closing) {
        close_further(r);
    }
}

static void host_job(void *ctx, struct core_job *job)
{
    struct uv_replica *r = ctx;
    struct uv_job *j = calloc(1, sizeof *j);
    MUSTER_CHECK(j != NULL);
    j->owner = r;
    j->job = job;
    MUSTER_CHECK(uv_queue_work(r->loop, &j->work, job_run, job_after) == 0);
}

static void host_trim(void *ctx, uint32_t shard, uint64_t index)
{
    struct uv_replica *r = ctx;
    store_writer_trim(r->writer, shard, index);
}

static void host_make_room(void *ctx)
{
    struct uv_replica *r = ctx;
    store_writer_tidy(r->writer, true);
}

static void on_timer(uv_timer_t *timer);

static void arm(struct uv_replica *r)
{
    int64_t now = now_us();
    int64_t at_us = core_next_deadline(r->core, now);
    if (at_us == r->armed_us) {
        return;
    }
    r->armed_us = at_us;
    uv_timer_start(&r->timer, on_timer, (uint64_t)((at_us - now + 999) / 1000), 0);
}

static void host_round_trip(void *ctx, uint32_t node, int64_t took_us)
{
    struct uv_replica *r = ctx;
    r->round_trip(r->turn_ctx, node, took_us);
}

static void host_flush(void *ctx)
{
    struct uv_replica *r = ctx;
    if (r->peers != NULL && !r->closing) {
        uv_peers_flush(r->peers);
        arm(r);
    }
}

/* ---- the identity ---------------------------------------------------------------------------------------------------------------- */

static void identity_run(uv_work_t *work)
{
    struct uv_replica *r = work->data;
    r->identity.result = store_identity_write(&r->port, &r->identity.identity);
}

static void identity_after(uv_work_t *work, int status)
{
    struct uv_replica *r = work->data;
    MUSTER_CHECK(status == 0);
    r->identity.busy = false;
    if (r->identity.result != 0) {
        log_event(LOG_ERROR, "identity_not_written", "node=%u error=\"%s\"", replica_self(r->core), muster_strerror(r->identity.result));
        r->identity.wanted = true;
        r->identity.after_us = now_us() + IDENTITY_RETRY_US;
    }
    if (r->closing) {
        close_further(r);
    }
}

static void write_identity(struct uv_replica *r, int64_t now)
{
    if (!r->identity.wanted || r->identity.busy || now < r->identity.after_us) {
        return;
    }
    r->identity.wanted = false;
    r->identity.busy = true;
    r->identity.identity = *core_identity(r->core);
    r->identity.work.data = r;
    MUSTER_CHECK(uv_queue_work(r->loop, &r->identity.work, identity_run, identity_after) == 0);
}

int uv_replica_set_peers(struct uv_replica *r, const struct store_peer *peers, uint32_t count)
{
    int rc = r->closing ? 0 : core_set_peers(r->core, peers, count, now_us());
    if (rc <= 0) {
        return rc;
    }
    uv_peers_set(r->peers, core_identity(r->core));
    r->identity.wanted = true;
    r->identity.after_us = 0;
    write_identity(r, now_us());
    return 0;
}

/* ---- what happens to it -------------------------------------------------------------------------------------------------------- */

static void on_awake(uv_idle_t *idle)
{
    uv_idle_stop(idle);
}

static void look_at_oldest(struct uv_replica *r, int64_t now)
{
    uint32_t shard;
    uint64_t log_bytes;
    if (now < r->oldest_us) {
        return;
    }
    r->oldest_us = now + OLDEST_EVERY_US;
    if (now >= r->tidy_us) {
        r->tidy_us = now + TIDY_EVERY_US;
        store_writer_tidy(r->writer, false);
    }
    if (store_oldest(r->store, &shard, &log_bytes) && log_bytes > r->pin_bytes) {
        core_snapshot_hint(r->core, shard);
    }
}

/* Much log has left memory: a start has replayed it, or a node that lacked it has it now. The allocator would keep it for later; it is not needed soon. */
static void give_back(struct uv_replica *r)
{
    uint64_t bytes = core_log_bytes(r->core);
    r->log_high = bytes > r->log_high ? bytes : r->log_high;
    if (r->log_high - bytes >= GIVE_BACK_BYTES) {
        malloc_trim(0);
        r->log_high = bytes;
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct uv_replica *r = timer->data;
    int64_t now = now_us();
    r->armed_us = 0;
    begin(r);
    look_at_oldest(r, now);
    write_identity(r, now);
    give_back(r);
    core_tick(r->core, now);
    uv_idle_start(&r->awake, on_awake);
}

static void on_written(uv_async_t *async)
{
    struct uv_replica *r = async->data;
    int result;
    if (!r->closing && store_writer_poll(r->writer, &result)) {
        begin(r);
        core_persisted(r->core, result, now_us());
    }
}

static void wake(void *ctx)
{
    struct uv_replica *r = ctx;
    uv_async_send(&r->written);
}

static void peer_state(void *ctx, uint32_t node, enum core_peer_event event)
{
    struct uv_replica *r = ctx;
    begin(r);
    core_peer_state(r->core, node, event, now_us());
}

static int peer_message(void *ctx, uint32_t node, struct bytes data)
{
    struct uv_replica *r = ctx;
    begin(r);
    return core_receive(r->core, node, data, now_us());
}

/* ---- opening ------------------------------------------------------------------------------------------------------------------------ */

static int open_store(struct uv_replica *r, const struct uv_replica_options *o, char *text)
{
    struct store_recovery recovery;
    struct store_report report;
    core_recovery(r->core, &recovery);
    int rc = store_open(&r->store, &r->port, &o->store, &recovery, &report);
    if (rc != 0) {
        snprintf(text, TEXT_BYTES, "%s", report.text[0] != '\0' ? report.text : muster_strerror(rc));
        return rc;
    }
    if (report.torn_tail) {
        log_event(LOG_WARN, "torn_tail_dropped", "node=%u file=%s offset=%llu", o->identity.node_id, report.torn_file,
                  (unsigned long long)report.torn_offset);
    }
    log_event(LOG_INFO, "log_recovered", "node=%u batches=%llu records=%llu segments=%llu", o->identity.node_id,
              (unsigned long long)report.batches, (unsigned long long)report.records, (unsigned long long)report.segments);
    rc = core_start(r->core, now_us(), text);
    return rc;
}

static int open_world(struct uv_replica *r, const struct uv_replica_options *o, char *text)
{
    const struct uv_peers_events events = {.ctx = r,
                                           .max_queued_bytes = o->peer_max_queued_bytes,
                                           .state = peer_state,
                                           .message = peer_message};
    int rc = open_store(r, o, text);
    if (rc == 0) {
        rc = store_writer_start(&r->writer, r->store, wake, r);
        if (rc != 0) {
            snprintf(text, TEXT_BYTES, "the log thread cannot be started: %s", muster_strerror(rc));
        }
    }
    if (rc == 0) {
        rc = uv_peers_open(&r->peers, r->loop, &o->identity, o->listen_host, o->listen_port, &events, text);
    }
    return rc;
}

int uv_replica_open(struct uv_replica **ret, const struct uv_replica_options *o, struct replica **ret_replica, char *text)
{
    struct uv_replica *r = calloc(1, sizeof *r);
    MUSTER_CHECK(r != NULL);
    r->loop = o->loop;
    r->port = *o->port;
    r->turn_begin = o->turn_begin;
    r->turn_ctx = o->turn_ctx;
    r->round_trip = o->round_trip;
    const struct core_host host = {.ctx = r,
                                   .persist = host_persist,
                                   .send = host_send,
                                   .job = host_job,
                                   .trim = host_trim,
                                   .make_room = host_make_room,
                                   .flush = host_flush,
                                   .round_trip = o->round_trip != NULL ? host_round_trip : NULL,
                                   .port = &r->port};
    struct core_options core = o->core;
    core_options_defaults(&core);
    r->pin_bytes = 2 * core.log_retain_bytes;
    struct uv_replica_options options = *o;
    options.core = core;
    int rc = core_new(&r->core, &o->identity, &core, &host, &o->events);
    if (rc != 0) {
        snprintf(text, TEXT_BYTES, "the identity of the data folder cannot be used (%u nodes, %u shards)", o->identity.peer_count,
                 o->identity.shard_count);
        free(r);
        return rc;
    }
    *ret_replica = r->core;
    uv_timer_init(r->loop, &r->timer);
    uv_idle_init(r->loop, &r->awake);
    MUSTER_CHECK(uv_async_init(r->loop, &r->written, on_written) == 0);
    r->timer.data = r->awake.data = r->written.data = r;
    r->handles = 3;
    *ret = r;
    rc = open_world(r, &options, text);
    if (rc == 0) {
        uv_timer_start(&r->timer, on_timer, 0, 0);
    }
    return rc;
}

/* ---- closing ------------------------------------------------------------------------------------------------------------------------ */

static void release(struct uv_replica *r)
{
    r->handles--;
    if (r->handles > 0) {
        return;
    }
    void (*done)(void *ctx) = r->done;
    void *ctx = r->done_ctx;
    core_free(r->core);
    if (r->store != NULL) {
        store_close(r->store);
    }
    free(r);
    if (done != NULL) {
        done(ctx);
    }
}

static void on_closed(uv_handle_t *handle)
{
    release(handle->data);
}

static void peers_closed(void *ctx)
{
    release(ctx);
}

/* The handles go when the last job is back: its memory is the core's. */
static void close_further(struct uv_replica *r)
{
    if (core_jobs(r->core) > 0 || r->identity.busy) {
        return;
    }
    store_writer_stop(r->writer);
    r->writer = NULL;
    uv_close((uv_handle_t *)&r->timer, on_closed);
    uv_close((uv_handle_t *)&r->awake, on_closed);
    uv_close((uv_handle_t *)&r->written, on_closed);
}

void uv_replica_close(struct uv_replica *r, void (*done)(void *ctx), void *ctx)
{
    r->closing = true;
    r->done = done;
    r->done_ctx = ctx;
    core_stop(r->core);
    uv_timer_stop(&r->timer);
    uv_idle_stop(&r->awake);
    if (r->peers != NULL) {
        r->handles++;
        uv_peers_close(r->peers, peers_closed, r);
        r->peers = NULL;
    }
    close_further(r);
}

void uv_replica_stats(const struct uv_replica *r, struct core_stats *ret_core, struct store_stats *ret_store)
{
    core_stats(r->core, ret_core);
    store_stats(r->store, ret_store);
}

size_t uv_replica_peers(const struct uv_replica *r, struct uv_peer_status *ret, size_t capacity)
{
    return r->peers != NULL ? uv_peers_status(r->peers, ret, capacity) : 0;
}
