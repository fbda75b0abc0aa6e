/* From a request to records, an answer, or a place to wait. */
#include "internal.h"

#include <string.h>

int64_t shard_clock_ms(const struct shard *s)
{
#ifdef MUSTER_FAULT_CLOCK_OF_THE_WALL
    return s->coord->events.wall_ms(s->coord->events.ctx);
#endif
    return s->clock_base_ms + (s->coord->now_us - s->clock_base_us) / 1000;
}

/* A member that the request would add, if it may: it counts against the budget while it is in flight. */
bool op_adds_member(const struct group_op *op)
{
    if (op->kind == GROUP_STREAMS_HEARTBEAT)
        return ((const struct streams_group_heartbeat_request *)op->request)->member_epoch == 0;
    if (op->kind == GROUP_CONSUMER_HEARTBEAT)
        return ((const struct consumer_group_heartbeat_request *)op->request)->member_epoch == 0;
    return op->kind == GROUP_JOIN;
}

/* Where the decision may need an id that nobody has. */
static bool op_draws(const struct group_op *op)
{
    if (op->kind == GROUP_CONSUMER_HEARTBEAT)
        return str_is_empty(((const struct consumer_group_heartbeat_request *)op->request)->member_id);
    return op->kind == GROUP_JOIN || op_is_catalog(op->kind);
}

/* g: the gate of the op's group, or NULL. A group that its own flights make is not counted against it a second time. */
void op_fill(struct shard *s, const struct gate *g, struct group_op *op)
{
    struct coord *c = s->coord;
    op->clock_ms = shard_clock_ms(s);
    op->wall_ms = c->events.wall_ms(c->events.ctx);
    op->topics = &c->topics;
    op->catalog = c->shards[0].set;
    c->settings.reserved_bytes = s->reserved_bytes;
    c->settings.reserved_members = s->reserved_members;
    c->settings.reserved_groups = s->reserved_groups - (g != NULL && g->creates);
    op->settings = &c->settings;
    if (op_draws(op) && uuid_is_zero(op->fresh_id))
        c->events.draw_id(c->events.ctx, &op->fresh_id);
    if (s->id == 0 && op_is_catalog(op->kind)) {
        struct replica_shard_status status;
        replica_status(c->replica, s->id, &status);
        op->next_index = status.last_index + 1;
    }
}

static void keep_outcome(struct coord_request *r, const struct group_out *out)
{
    r->in.answer = out->answer;
    r->in.error = out->error;
    r->in.wait = out->verdict == GROUP_WAIT;
    r->in.told_ms = out->told_ms;
    r->in.more = out->more;
    r->in.timers = out->timers;
    r->in.timer_count = out->timer_count;
    r->in.assign = out->assign;
    r->in.resolve = out->resolve;
    r->in.create = out->create;
}

static void follow_wish(struct shard *s, const struct coord_request *r, const struct group_timer_wish *wish)
{
    if (wish->delay_ms < 0) {
        timer_cancel(&s->timers, &wish->timer);
        return;
    }
    struct timer *timer = wish->keep ? timer_find(&s->timers, &wish->timer) : NULL;
    if (timer == NULL)
        timer = timer_arm(&s->timers, &wish->timer, s->live_us + wish->delay_ms * 1000, r->connection);
    if (wish->timer.kind == GROUP_TIMER_SESSION && r->connection != 0 && timer->connection == r->connection && r->in.told_ms > 0)
        timer->told_ms = r->in.told_ms;
}

bool request_follow(struct shard *s, struct coord_request *r)
{
    for (size_t i = 0; i < r->in.timer_count; i++)
        follow_wish(s, r, &r->in.timers[i]);
    r->in.timer_count = 0;
    return errands_of(s, r);
}

void request_finish(struct shard *s, struct coord_request *r)
{
    s->coord->stats.parked--;
    bool cancelled = r->in.cancelled;
    r->done(r, cancelled ? 0 : r->in.error, cancelled ? NULL : r->in.answer);
}

void request_refuse(struct shard *s, struct coord_request *r, int16_t error)
{
    struct group_out out;
    group_refuse(&r->op, error, r->arena, &out);
    keep_outcome(r, &out);
    r->in.error = error;
    s->coord->stats.refused++;
    request_finish(s, r);
}

/* Decided without records: what it read may be answered once a majority has confirmed that nobody else leads. */
static void await_round(struct shard *s, struct coord_request *r)
{
#ifdef MUSTER_FAULT_UNCONFIRMED_READS
    request_finish(s, r);
    return;
#endif
    r->in.state = REQUEST_READING;
    r->in.round = replica_want_round(s->coord->replica, s->id);
    request_list_add(&s->reads, r);
}

static void park(struct shard *s, struct coord_request *r)
{
    struct gate *g = gate_get(s, &r->op);
    r->in.state = REQUEST_WAITING;
    r->in.phase = group_phase(s->set, r->op.group_id);
    request_list_add(&g->waiting, r);
    s->coord->stats.waits++;
}

static bool too_large(const struct shard *s, const struct group_out *out)
{
    return out->records.bytes + out->records.len * 16 + 4096 > s->coord->options.entry_max_bytes;
}

static void refuse_too_large(struct shard *s, struct coord_request *r, const struct group_out *out)
{
    uint64_t kept_back;
    if (log_gate_pass(&s->coord->too_large_gate, s->coord->now_us, &kept_back)) {
        log_event(LOG_WARN, "request_too_large",
                  "group=%.*s op=%s records=%zu bytes=%zu limit=%zu kept_back=%llu hint=\"raise muster.entry.max.bytes\"",
                  STR_ARG(r->op.group_id), group_op_name(r->op.kind), out->records.len, out->records.bytes,
                  s->coord->options.entry_max_bytes, (unsigned long long)kept_back);
    }
    s->coord->stats.too_large++;
    bool offsets = r->op.kind == GROUP_OFFSET_COMMIT || r->op.kind == GROUP_ALTER_OFFSETS;
    request_refuse(s, r, offsets ? INVALID_COMMIT_OFFSET_SIZE : UNKNOWN_SERVER_ERROR);
}

static void queue(struct shard *s, struct coord_request *r)
{
    r->in.state = REQUEST_QUEUED;
    request_list_add(&gate_get(s, &r->op)->queue, r);
    s->coord->stats.gate_waits++;
}

/* before: what its arena had when it was decided. */
static void settle_without_records(struct shard *s, struct gate *g, struct coord_request *r, const struct group_out *out,
                                   struct arena_mark before)
{
    bool read_overlay = g != NULL && g->member_in_turn;
    if (read_overlay) {
        turn_join(s, g, r);
        return;
    }
    if (beat_hold(s, r, out->hold_ms, before) || request_follow(s, r))
        return;
    if (out->verdict == GROUP_WAIT)
        park(s, r);
    else if (out->verdict == GROUP_ANSWER)
        await_round(s, r);
    else
        request_finish(s, r);
}

static void decide(struct shard *s, struct gate *g, struct coord_request *r)
{
    struct coord *c = s->coord;
    struct group_out out;
    if (internal_is_stale(s, r)) {
        r->in.answer = NULL;
        request_finish(s, r);
        return;
    }
    op_fill(s, g, &r->op);
    r->op.waiting = false;
    beat_fill(s, r);
    struct arena_mark before = arena_here(r->arena);
    group_decide(gate_view(s, g, r->arena), &r->op, r->arena, &out);
    keep_outcome(r, &out);
    if (c->events.decided != NULL)
        c->events.decided(c->events.ctx, s->id, &r->op, &out);
    if (out.records.len == 0) {
        settle_without_records(s, g, r, &out, before);
        return;
    }
    if (too_large(s, &out)) {
        refuse_too_large(s, r, &out);
        return;
    }
    if (!turn_has_room(s, out.records.bytes)) {
        turn_seal(s);
        if (g != NULL && gate_closed(g, group_op_class(r->op.kind))) {
            queue(s, r);
            return;
        }
    }
    turn_add(s, gate_get(s, &r->op), r, &out);
}

void request_route(struct shard *s, struct coord_request *r)
{
    bool awaits_office = s->role == REPLICA_LEADER && handover_pending(s);
    if (s->role == REPLICA_FOLLOWER || (s->role == REPLICA_LEADER && !awaits_office)) {
        request_refuse(s, r, s->role == REPLICA_LEADER ? LOAD_IN_PROGRESS : NOT_COORDINATOR);
        return;
    }
    if (awaits_office || s->role == REPLICA_HANDING_OVER || (group_op_needs_catalog(s->set, &r->op) && !catalog_ready(s))) {
        r->in.state = REQUEST_HELD;
        request_list_add(&s->held, r);
        return;
    }
    struct gate *g = gate_find(s, &r->op);
    if (g != NULL && (g->queue.count > 0 || gate_closed(g, group_op_class(r->op.kind))))
        queue(s, r);
    else
        decide(s, g, r);
}

void request_poll(struct shard *s, struct coord_request *r)
{
    struct group_out out;
    op_fill(s, gate_find(s, &r->op), &r->op);
    r->op.waiting = true;
    group_decide(s->set, &r->op, r->arena, &out);
    MUSTER_CHECK(out.records.len == 0);
    if (s->coord->events.decided != NULL && out.verdict != GROUP_WAIT)
        s->coord->events.decided(s->coord->events.ctx, s->id, &r->op, &out);
    keep_outcome(r, &out);
    if (request_follow(s, r))
        return;
    if (out.verdict == GROUP_WAIT)
        park(s, r);
    else
        request_finish(s, r);
}

void read_finish(struct shard *s, struct coord_read *read, int16_t error)
{
    if (error == 0)
        s->coord->stats.confirmed_reads++;
    read->done(read, error);
}
