#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { FIRES_A_TURN = 1000 };

static void shard_init(struct coord *c, uint32_t id)
{
    struct shard *s = &c->shards[id];
    s->coord = c;
    s->id = id;
    s->set = group_set_new(&s->pool, id);
    s->role = REPLICA_FOLLOWER;
    RB_INIT(&s->gates);
    RB_INIT(&s->errands);
    arena_init(&s->scratch, 0);
    turn_init(&s->turn);
    s->flights_end = &s->flights;
    s->shard_reads_end = &s->shard_reads;
    request_list_init(&s->reads);
    request_list_init(&s->held);
    request_list_init(&s->moved);
    timer_set_init(&s->timers);
    buf_init(&s->sweep.after, 0);
    buf_init(&s->handover, 0);
}

static void shard_fini(struct shard *s)
{
    if (s->coord == NULL)
        return;
    if (s->role != REPLICA_FOLLOWER)
        coord_role(s, REPLICA_FOLLOWER, s->term, 0);
    cut_lose(s);
    turn_fini(&s->turn);
    arena_fini(&s->scratch);
    timer_set_fini(&s->timers);
    buf_fini(&s->sweep.after);
    buf_fini(&s->handover);
    free(s->opened.v);
    group_set_free(s->set);
}

int coord_new(struct coord **ret, const struct coord_options *options, const struct coord_events *events)
{
    if (options->shard_count == 0 || options->entry_max_bytes == 0)
        return MUSTER_E_INVALID;
    struct coord *c = calloc(1, sizeof(*c));
    MUSTER_CHECK(c != NULL);
    c->options = *options;
    c->events = *events;
    c->settings = options->settings;
    c->shards = calloc(options->shard_count, sizeof(*c->shards));
    MUSTER_CHECK(c->shards != NULL);
    TAILQ_INIT(&c->jobs);
    TAILQ_INIT(&c->creations);
    TAILQ_INIT(&c->made);
    TAILQ_INIT(&c->resting);
    TAILQ_INIT(&c->creating);
    RB_INIT(&c->beats);
    c->running = calloc((size_t)options->max_jobs + 1, sizeof(*c->running));
    MUSTER_CHECK(c->running != NULL);
    for (uint32_t i = 0; i < options->shard_count; i++)
        shard_init(c, i);
    catalog_topics(c->shards[0].set, &c->topics);
    *ret = c;
    return 0;
}

void coord_free(struct coord *c)
{
    if (c == NULL)
        return;
    c->events.role = NULL;
    for (uint32_t i = 0; i < c->options.shard_count; i++)
        shard_fini(&c->shards[i]);
    free(c->shards);
    free(c->running);
    free(c);
}

/* ---- the replica's events ---- */

static struct shard *shard_at(void *ctx, uint32_t shard)
{
    struct coord *c = ctx;
    MUSTER_CHECK(shard < c->options.shard_count);
    return &c->shards[shard];
}

static void on_role(void *ctx, uint32_t shard, enum replica_role role, uint64_t term, uint32_t leader)
{
    coord_role(shard_at(ctx, shard), role, term, leader);
}

static void on_apply(void *ctx, uint32_t shard, uint64_t index, uint64_t term, struct bytes entry)
{
    coord_apply(shard_at(ctx, shard), index, term, entry);
}

static void on_confirmed(void *ctx, uint32_t shard, uint64_t term, uint64_t round)
{
    coord_confirmed(shard_at(ctx, shard), term, round);
}

static void on_restore_begin(void *ctx, uint32_t shard, uint64_t index, uint64_t term)
{
    (void)index;
    (void)term;
    struct shard *s = shard_at(ctx, shard);
    MUSTER_CHECK(s->role == REPLICA_FOLLOWER);
    s->restoring = true;
    cut_lose(s);
    state_hash_forget(s);
    group_set_clear(s->set);
}

static int on_restore_data(void *ctx, uint32_t shard, struct bytes data)
{
    struct shard *s = shard_at(ctx, shard);
    arena_clear(&s->scratch);
    int rc = group_restore(s->set, data, &s->scratch);
    if (rc != 0) {
        arena_clear(&s->scratch);
        struct str problem = group_run_problem(data, &s->scratch);
        if (!str_is_null(problem))
            coord_give_up(s->coord, problem, "");
    }
    return rc;
}

static int on_restored(void *ctx, uint32_t shard, uint64_t index, uint64_t state_hash)
{
    struct coord *c = ctx;
    struct shard *s = shard_at(ctx, shard);
    if (group_set_hash(s->set) != state_hash)
        return MUSTER_E_CORRUPT;
    s->applied = index;
    s->restoring = false;
    if (shard == 0) {
        catalog_moved(c);
        for (uint32_t i = 1; i < c->options.shard_count; i++)
            held_release(&c->shards[i]);
    }
    return 0;
}

static void on_snapshot_begin(void *ctx, uint32_t shard, uint64_t *ret_state_hash)
{
    struct shard *s = shard_at(ctx, shard);
    cut_lose(s); /* the log waits to be trimmed; a backup can begin again */
    s->snapshot_running = true;
    *ret_state_hash = group_set_hash(s->set);
    group_snapshot_begin(s->set);
    buf_init(&s->snapshot, 0);
    s->snapshot_done = false;
}

/* Log and snapshots on disk are as they were: a start makes a good state of them. */
bool snapshot_sound(struct shard *s)
{
    if (group_snapshot_whole(s->set))
        return true;
    s->coord->events.fatal(s->coord->events.ctx, "the state in memory is not what was applied to it: this machine's memory may be faulty. "
                                                 "Nothing of it was written; the node can be started again.");
    return false;
}

static void on_snapshot_next(void *ctx, uint32_t shard, size_t budget, struct bytes *ret)
{
    struct shard *s = shard_at(ctx, shard);
    buf_clear(&s->snapshot);
    while (s->snapshot.len == 0 && !s->snapshot_done)
        s->snapshot_done = !group_snapshot_next(s->set, budget, &s->snapshot);
    if (s->snapshot_done && !snapshot_sound(s)) {
        *ret = BYTES_NULL;
        return;
    }
    *ret = (struct bytes){s->snapshot.ptr, (int32_t)s->snapshot.len};
}

static void on_snapshot_end(void *ctx, uint32_t shard)
{
    struct shard *s = shard_at(ctx, shard);
    group_snapshot_end(s->set);
    s->snapshot_running = false;
    buf_fini(&s->snapshot);
}

static uint64_t on_state_hash(void *ctx, uint32_t shard)
{
    return group_set_hash(shard_at(ctx, shard)->set);
}

static void on_message(void *ctx, uint32_t from, uint16_t channel, struct bytes data)
{
    struct coord *c = ctx;
    if (channel < COORD_CHANNEL_FIRST) {
        if (c->events.message != NULL)
            c->events.message(c->events.ctx, from, channel, data);
    } else if (channel == COORD_CHANNEL_TIMERS) {
        if (data.len >= 4 && get_le32(data.ptr) < c->options.shard_count)
            coord_handover_import(c, from, get_le32(data.ptr), data);
    } else {
        barrier_message(c, from, channel, data);
    }
}

static void on_peer(void *ctx, uint32_t node, bool connected)
{
    struct coord *c = ctx;
    c->barrier_retry_us = 0;
    c->dirty = true;
    if (!connected)
        handover_forget(c, node);
    if (c->events.peer != NULL)
        c->events.peer(c->events.ctx, node, connected);
}

static void on_fatal(void *ctx, const char *text)
{
    struct coord *c = ctx;
    c->events.fatal(c->events.ctx, text);
}

void coord_replica_events(struct coord *c, struct replica_events *ret)
{
    *ret = (struct replica_events){
        .ctx = c,
        .role = on_role,
        .apply = on_apply,
        .confirmed = on_confirmed,
        .restore_begin = on_restore_begin,
        .restore_data = on_restore_data,
        .restored = on_restored,
        .snapshot_begin = on_snapshot_begin,
        .snapshot_next = on_snapshot_next,
        .snapshot_end = on_snapshot_end,
        .state_hash = on_state_hash,
        .message = on_message,
        .peer = on_peer,
        .fatal = on_fatal,
    };
}

void coord_attach(struct coord *c, struct replica *r)
{
    c->replica = r;
}

/* ---- requests ---- */

void coord_submit(struct coord *c, struct coord_request *request)
{
    MUSTER_CHECK(c->replica != NULL);
    memset(&request->in, 0, sizeof(request->in));
    request->op.fresh_id = (struct uuid){{0}};
    request->op.job = NULL;
    request->op.held = false;
    request->op.created = NULL;
    request->in.since_us = request->in.came_us = c->now_us;
    request->in.shard = op_is_catalog(request->op.kind) ? 0 : coord_shard_of(c, request->op.group_id);
    struct shard *s = &c->shards[request->in.shard];
    c->stats.requests++;
    c->stats.parked++;
    if (c->stats.parked > c->options.max_parked)
        request_refuse(s, request, COORDINATOR_NOT_AVAILABLE);
    else
        request_route(s, request);
}

void coord_cancel(struct coord *c, struct coord_request *request)
{
    struct shard *s = &c->shards[request->in.shard];
    request->in.cancelled = true;
    if (request->in.state == REQUEST_BEAT) {
        beat_cancel(s, request);
        return;
    }
    if (request->in.state == REQUEST_CREATING) {
        if (creation_cancel(s, request))
            request_finish(s, request);
        return;
    }
    if (request->in.state != REQUEST_WAITING)
        return;
    struct gate *g = gate_find(s, &request->op);
    if (g == NULL || !request_list_remove(&g->waiting, request))
        return; /* it is being polled right now: its answer is dropped */
    request_finish(s, request);
    gate_free_if_idle(s, g);
}

void coord_submit_read(struct coord *c, struct coord_read *read)
{
    MUSTER_CHECK(read->shard < c->options.shard_count);
    struct shard *s = &c->shards[read->shard];
    bool serving = s->role == REPLICA_SERVING || s->role == REPLICA_HANDING_OVER;
    read->in.next = NULL;
    if (read->local || !serving) {
        if (read->local)
            read->read(read, s->set);
        read->done(read, read->local ? 0 : coord_shard_state(c, read->shard, NULL));
        return;
    }
    read->read(read, s->set);
    read->in.round = replica_want_round(c->replica, s->id);
    *s->shard_reads_end = read;
    s->shard_reads_end = &read->in.next;
}

/* ---- turns and time ---- */

void coord_turn_begin(struct coord *c, int64_t now_us)
{
    int64_t elapsed = c->now_us == 0 ? 0 : now_us - c->now_us;
    MUSTER_CHECK(elapsed >= 0);
    c->now_us = now_us;
    c->dirty = false;
    if (elapsed > c->options.stall_us) {
#ifndef MUSTER_FAULT_EXPIRE_WHEN_STALLED
        c->stats.stalls++; /* the loop did not run: nobody is late because of that */
        elapsed = 0;
#endif
    }
    for (uint32_t i = 0; i < c->options.shard_count; i++)
        coord_advance(&c->shards[i], elapsed);
    if (c->retention_next_us == 0)
        c->retention_next_us = now_us + c->options.retention_check_us;
    if (now_us < c->retention_next_us)
        return;
    c->retention_next_us = now_us + c->options.retention_check_us;
    for (uint32_t i = 0; i < c->options.shard_count; i++)
        c->shards[i].retention_due = true;
}

static void shard_expire(struct shard *s)
{
    if (s->role != REPLICA_SERVING)
        return;
    for (int i = 0; i < FIRES_A_TURN; i++) {
        const struct timer *t = timer_fire(&s->timers, s->live_us);
        if (t == NULL)
            return;
        s->coord->stats.expiries++;
        internal_submit(s, GROUP_TIMER, t->what.group_id, t);
    }
    s->coord->dirty = true;
}

void coord_expire(struct coord *c)
{
    for (uint32_t i = 0; i < c->options.shard_count; i++) {
        shard_expire(&c->shards[i]);
        handover_expire(&c->shards[i]);
    }
    beats_expire(c);
    patience_check(c);
}

void coord_turn_end(struct coord *c)
{
    barrier_step(c);
    errands_step(c);
    beats_step(c);
    for (uint32_t i = 0; i < c->options.shard_count; i++) {
        sweep_step(&c->shards[i]);
        office_step(&c->shards[i]);
        state_hash_step(&c->shards[i]);
        turn_seal(&c->shards[i]);
        gates_reconsider(&c->shards[i]);
    }
    barrier_flee(c);
}

int64_t coord_next_deadline_us(const struct coord *c)
{
    if (c->dirty)
        return 0;
    int64_t next = patience_next_us(c), errands = errands_next_us(c);
    if (errands == 0)
        return 0;
    next = errands < next ? errands : next;
    int64_t beats = beats_next_us(c);
    next = beats < next ? beats : next;
    if (c->retention_next_us != 0 && c->retention_next_us < next)
        next = c->retention_next_us;
    for (uint32_t i = 0; i < c->options.shard_count; i++) {
        const struct shard *s = &c->shards[i];
        if (s->turn.flight != NULL)
            return 0;
        if (s->role == REPLICA_SERVING && !s->barrier_known && c->barrier_retry_us < next)
            next = c->barrier_retry_us;
        int64_t handover = handover_expiry_us(s), flee = barrier_flee_us(s), office = office_due_us(s);
        next = handover < next ? handover : next;
        next = office < next ? office : next;
        next = flee < next ? flee : next;
        int64_t timer = timer_next_us(&s->timers);
        if (s->role == REPLICA_SERVING && timer != INT64_MAX && c->now_us + (timer - s->live_us) < next)
            next = c->now_us + (timer - s->live_us);
    }
    return next;
}

/* ---- questions ---- */

uint32_t coord_shard_of(const struct coord *c, struct str group_id)
{
    return (uint32_t)(hash_bytes(group_id.ptr, group_id.len > 0 ? (size_t)group_id.len : 0, 0) % c->options.shard_count);
}

int16_t coord_shard_state(const struct coord *c, uint32_t shard, uint32_t *ret_leader)
{
    MUSTER_CHECK(shard < c->options.shard_count);
    const struct shard *s = &c->shards[shard];
    if (ret_leader != NULL)
        *ret_leader = s->leader;
    switch (s->role) {
    case REPLICA_SERVING:
    case REPLICA_HANDING_OVER:
        return 0;
    case REPLICA_LEADER:
        return LOAD_IN_PROGRESS;
    case REPLICA_FOLLOWER:
        break;
    }
    return s->leader == 0 ? COORDINATOR_NOT_AVAILABLE : NOT_COORDINATOR;
}

bool coord_shard_moves(const struct coord *c, uint32_t shard)
{
    MUSTER_CHECK(shard < c->options.shard_count);
    return c->shards[shard].role != REPLICA_LEADER && handover_pending(&c->shards[shard]);
}

const struct group_set *coord_set(const struct coord *c, uint32_t shard)
{
    MUSTER_CHECK(shard < c->options.shard_count);
    return c->shards[shard].set;
}

struct replica *coord_replica(const struct coord *c)
{
    return c->replica;
}

uint64_t coord_applied_index(const struct coord *c, uint32_t shard)
{
    MUSTER_CHECK(shard < c->options.shard_count);
    return c->shards[shard].applied;
}

void coord_stats(const struct coord *c, struct coord_stats *ret)
{
    *ret = c->stats;
    for (uint32_t i = 0; i < c->options.shard_count; i++) {
        ret->timers += c->shards[i].timers.count;
        ret->queued += c->shards[i].held.count;
        ret->cuts_open += c->shards[i].cut != NULL;
    }
    const struct errand *one;
    TAILQ_FOREACH(one, &c->jobs, link)
    ret->jobs_queued++;
    ret->jobs_running = c->running_count;
    ret->creations_running = c->creating_count;
    ret->beats_held = c->beat_count;
}
