/* Taking a snapshot, one at a time: the state is frozen at the applied index, its records are drawn in slices on the loop and compressed and
 * written by jobs, and only when the file is committed does the log name it, the library hear of it and the log lose its head. */
#include "state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLICE_BYTES = 256 << 10, FAILED_PAUSE_US = 10000000 };

enum taking_phase { TAKING_CREATE, TAKING_ADD, TAKING_COMMIT };

struct taking {
    struct core_job job;
    struct shard *shard;
    enum taking_phase phase;
    bool busy, cancelled;
    struct store_snapshot_meta meta;
    struct buf config;
    uint64_t bytes; /* applied when it was begun */
    struct store_snapshot_writer *writer;
    struct bytes data; /* borrowed from the frozen state */
    int result;
};

static void taking_free(struct replica *core)
{
    struct taking *t = core->taking;
    core->taking = NULL;
    if (t->writer != NULL) {
        store_snapshot_abort(t->writer);
    }
    core->events.snapshot_end(core->events.ctx, t->shard->id);
    buf_fini(&t->config);
    free(t);
}

static void taking_failed(struct replica *core, int result)
{
    log_event(LOG_ERROR, "snapshot_failed", "node=%u shard=%u error=\"%s\"", core->self, core->taking->shard->id, muster_strerror(result));
    core->snapshot_after_us = core->now_us + FAILED_PAUSE_US;
    if (result == MUSTER_E_FULL && core->host.make_room != NULL) {
        core->host.make_room(core->host.ctx);
    }
    taking_free(core);
}

/* ---- in a worker ---------------------------------------------------------------------------------------------------------- */

static void taking_run(struct core_job *job)
{
    struct taking *t = CONTAINER_OF(job, struct taking, job);
    switch (t->phase) {
    case TAKING_CREATE:
        t->result = store_snapshot_create(job->core->host.port, &t->meta, &t->writer);
        break;
    case TAKING_ADD:
        t->result = store_snapshot_add(t->writer, t->data);
        break;
    case TAKING_COMMIT:
        t->result = store_snapshot_commit(t->writer);
        t->writer = NULL;
        break;
    }
}

/* ---- on the loop ---------------------------------------------------------------------------------------------------------- */

static void taking_next(struct taking *t, enum taking_phase phase)
{
    t->phase = phase;
    t->busy = true;
    job_start(t->shard->core, &t->job);
}

static void want_mark(struct shard *s, uint64_t index, uint64_t term, bool keep_tail)
{
    uint64_t trim = keep_tail ? log_tail(&s->log, index, memory_tail_bytes(s->core)) - 1 : index;
    trim = trim > s->disk_trim ? trim : s->disk_trim; /* memory may keep a longer tail than the disk */
    s->mark = (struct mark){.index = index, .term = term, .trim = trim};
    s->mark_wanted = true;
}

static void taking_committed(struct replica *core)
{
    struct taking *t = core->taking;
    struct shard *s = t->shard;
    core->stats.snapshots_taken++;
    s->snapshot_bytes = t->bytes;
    want_mark(s, t->meta.index, t->meta.term, !s->snapshot_hint);
    s->snapshot_hint = false;
    buf_clear(&s->config);
    MUSTER_CHECK(buf_put(&s->config, t->config.ptr, t->config.len) == 0);
    s->config_index = t->meta.config_index;
    taking_free(core);
}

static void taking_done(struct core_job *job)
{
    struct taking *t = CONTAINER_OF(job, struct taking, job);
    struct replica *core = job->core;
    t->busy = false;
    if (t->cancelled || core->broken) {
        taking_free(core);
        return;
    }
    if (t->result != 0) {
        taking_failed(core, t->result);
        return;
    }
    if (t->phase == TAKING_COMMIT) {
        taking_committed(core);
        return;
    }
    core->events.snapshot_next(core->events.ctx, t->shard->id, SLICE_BYTES, &t->data);
    if (t->data.len < 0) {
        taking_failed(core, MUSTER_E_CORRUPT);
        return;
    }
    taking_next(t, t->data.len > 0 ? TAKING_ADD : TAKING_COMMIT);
}

static void take(struct shard *s)
{
    struct replica *core = s->core;
    struct taking *t = calloc(1, sizeof *t);
    MUSTER_CHECK(t != NULL);
    t->shard = s;
    t->job.run = taking_run;
    t->job.done = taking_done;
    buf_init(&t->config, 0);
    MUSTER_CHECK(buf_put(&t->config, s->applied_config.ptr, s->applied_config.len) == 0);
    t->meta.shard = s->id;
    t->meta.index = s->applied;
    t->meta.term = log_get(&s->log, s->applied)->term;
    t->meta.config_index = s->applied_config_index;
    t->meta.config = (struct bytes){t->config.ptr, (int32_t)t->config.len};
    t->bytes = s->applied_bytes;
    core->taking = t;
    s->snapshot_renew = false;
    core->events.snapshot_begin(core->events.ctx, s->id, &t->meta.state_hash);
    taking_next(t, TAKING_CREATE);
    hash_snapshot(s, t->meta.index, t->meta.state_hash);
}

static bool mark_pending(const struct shard *s)
{
    return s->mark_wanted || s->mark_writing;
}

bool snapshot_under_way(const struct shard *s)
{
    return mark_pending(s) || (s->core->taking != NULL && s->core->taking->shard == s);
}

/* Something new to save, and nothing else going on with this shard's snapshots. */
static bool may_take(const struct shard *s)
{
    return s->applied > s->snapshot_index && !mark_pending(s) && !s->installing && s->receiving == NULL &&
           log_get(&s->log, s->applied) != NULL;
}

/* The newest snapshot, and that the log before it begins where memory does: who lacks more is sent the snapshot. */
static void tell_library(struct shard *s)
{
    uint64_t first = s->log.first <= s->snapshot_index ? s->log.first : s->snapshot_index + 1;
    struct raft_event event = {.type = RAFT_SNAPSHOT};
    event.snapshot.metadata.index = s->snapshot_index;
    event.snapshot.metadata.term = s->snapshot_term;
    event.snapshot.metadata.configuration_index = s->config_index;
    MUSTER_CHECK(config_decode((struct bytes){s->config.ptr, (int32_t)s->config.len}, &event.snapshot.metadata.configuration) == 0);
    event.snapshot.trailing = (unsigned)(s->snapshot_index + 1 - first);
    s->outrun = s->outrun && s->snapshot_index + 1 < s->log.first;
    shard_step(s, &event);
}

/* One that bytes do not make worth it: a hint, a member that lacks what is on disk only, or one to compare. false: the shard needs none, or cannot have one now. */
static bool take_asked(struct shard *s)
{
    if (s->outrun && !mark_pending(s) && !s->installing && s->snapshot_index + 1 >= s->log.first) {
        tell_library(s); /* the newest one does for it */
    }
    if ((s->snapshot_hint || s->outrun || s->snapshot_renew) && may_take(s)) {
        take(s);
        return true;
    }
    s->snapshot_renew = s->snapshot_renew && s->applied > s->snapshot_index;
    if (s->snapshot_hint && s->applied == s->snapshot_index && s->applied > 0 && !mark_pending(s) && !s->installing) {
        s->snapshot_hint = false; /* nothing new, only the tail that the log kept */
        want_mark(s, s->snapshot_index, s->snapshot_term, false);
    }
    return false;
}

void snapshot_tick(struct replica *core)
{
    if (core->taking != NULL || core->full || core->now_us < core->snapshot_after_us) {
        return;
    }
    struct shard *most = NULL;
    for (uint32_t i = 0; i < core->shard_count; i++) {
        struct shard *s = &core->shards[i];
        if (take_asked(s)) {
            return;
        }
        if (!may_take(s)) {
            continue;
        }
        if (shard_replay_bytes(s) >= core->options.snapshot_interval_bytes) {
            take(s);
            return;
        }
        most = most == NULL || shard_replay_bytes(s) > shard_replay_bytes(most) ? s : most;
    }
    if (most != NULL && core_replay_bytes(core) > core->options.log_retain_bytes) {
        take(most);
    }
}

void snapshot_marked(struct shard *s, const struct mark *mark)
{
    struct replica *core = s->core;
    if (s->installing) {
        return; /* a newer one replaces everything */
    }
    if (mark->index > s->snapshot_index) {
        s->snapshot_index = mark->index;
        s->snapshot_term = mark->term;
        memory_trim(s);
        tell_library(s);
    }
    s->disk_trim = mark->trim;
    core->host.trim(core->host.ctx, s->id, mark->trim);
}

bool snapshot_busy(struct shard *s)
{
    struct taking *t = s->core->taking;
    if (t == NULL || t->shard != s) {
        return false;
    }
    if (t->busy) {
        t->cancelled = true;
        return true;
    }
    taking_free(s->core);
    return false;
}

void snapshot_forget_job(struct replica *core)
{
    if (core->taking != NULL) {
        core->taking->busy = false;
    }
}

void snapshot_abort(struct replica *core)
{
    if (core->taking != NULL) {
        MUSTER_CHECK(!core->taking->busy);
        taking_free(core);
    }
}

/* ---- at start --------------------------------------------------------------------------------------------------------------
 *
 * Elections need the log and not the state, so a node that starts takes part in them at once and restores afterwards, in slices of its turns like the
 * entries behind the snapshot (shard_apply): first the shards that it was elected for. Until it is done nothing of the shard is applied, so it does not serve. */

static int open_sound(struct shard *s, struct store_snapshot_meta *ret_meta, char *ret_text)
{
    int rc = store_snapshot_open(s->core->host.port, s->id, s->snapshot_index, ret_meta, &s->restoring);
    if (rc != 0) {
        snprintf(ret_text, 256, "shard %u: the snapshot at entry %llu cannot be opened: %s", s->id, (unsigned long long)s->snapshot_index,
                 muster_strerror(rc));
        return rc;
    }
    rc = store_snapshot_check(s->restoring);
    if (rc != 0) {
        snprintf(ret_text, 256, "shard %u: the snapshot at entry %llu does not restore: %s", s->id, (unsigned long long)ret_meta->index,
                 muster_strerror(rc));
    }
    return rc;
}

int snapshot_open(struct shard *s, char *ret_text)
{
    struct store_snapshot_meta meta;
    int rc = open_sound(s, &meta, ret_text);
    if (rc != 0) {
        return rc;
    }
    if (meta.index > s->snapshot_index) {
        /* The node went down between the snapshot's commit and its mark in the log: the file is as good as the other. */
        s->mark = (struct mark){.index = meta.index, .term = meta.term, .trim = s->disk_trim};
        s->mark_wanted = true;
    }
    s->snapshot_index = meta.index;
    s->snapshot_term = meta.term;
    s->config_index = meta.config_index;
    buf_clear(&s->config);
    MUSTER_CHECK(buf_put(&s->config, meta.config.ptr, (size_t)meta.config.len) == 0);
    buf_clear(&s->applied_config);
    MUSTER_CHECK(buf_put(&s->applied_config, meta.config.ptr, (size_t)meta.config.len) == 0);
    s->applied_config_index = meta.config_index;
    s->restoring_hash = meta.state_hash;
    s->core->events.restore_begin(s->core->events.ctx, s->id, meta.index, meta.term);
    return 0;
}

void snapshot_close(struct shard *s)
{
    store_snapshot_close(s->restoring);
    s->restoring = NULL;
}

/* One piece of it; the empty one is the last. */
static int restore_piece(struct shard *s)
{
    const struct replica_events *events = &s->core->events;
    struct bytes data;
    int rc = store_snapshot_next(s->restoring, &data);
    if (rc != 0) {
        return rc;
    }
    if (data.len > 0) {
        s->core->turn_applied_bytes += (uint64_t)data.len;
        return events->restore_data(events->ctx, s->id, data) == 0 ? 0 : MUSTER_E_CORRUPT;
    }
    snapshot_close(s);
    if (events->restored(events->ctx, s->id, s->snapshot_index, s->restoring_hash) != 0) {
        return MUSTER_E_CORRUPT;
    }
    hash_snapshot(s, s->snapshot_index, s->restoring_hash);
    return 0;
}

void snapshot_restore(struct shard *s)
{
    struct replica *core = s->core;
    while (s->restoring != NULL && core_slice_left(core)) {
        int rc = restore_piece(s);
        if (rc != 0) {
            core_fatal(core, "shard %u: the snapshot at entry %llu does not restore: %s", s->id, (unsigned long long)s->snapshot_index,
                       muster_strerror(rc));
        }
    }
}
