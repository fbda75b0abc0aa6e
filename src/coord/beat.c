/* Heartbeats whose answers are held: nothing has changed for their members, so they stay here, as long as the decision allows, until something does. Then they are
 * decided again, from the beginning, like requests that have just come.
 *
 * What ends it: the group moves (group_beat_phase()); the time is over; something follows on the connection; the connection ends; the office does, or is handed over.
 * What is held costs nothing until then: an entry asks only the groups that it touches, and deadlines are in order. */
#include "internal.h"

#include <stdlib.h>

enum {
    BEATS_A_TURN = 1000,
    BEATS_FOR_WORK = 8,         /* one is enough to make an assignment when it is due; some of them may be gone by then */
    MOST_HELD_BYTES = 16 * 1024 /* a request that has more in its arena is answered at once */
};

static int due_cmp(const struct beat *a, const struct beat *b)
{
    if (a->due_us != b->due_us)
        return a->due_us < b->due_us ? -1 : 1;
    return (a->serial > b->serial) - (a->serial < b->serial);
}
RB_GENERATE_INTERNAL(beat_tree, beat, by_due, due_cmp, __attribute__((unused)) static)

static struct str sender_of(const struct group_op *op)
{
    if (op->kind == GROUP_STREAMS_HEARTBEAT)
        return ((const struct streams_group_heartbeat_request *)op->request)->member_id;
    if (op->kind == GROUP_CONSUMER_HEARTBEAT)
        return ((const struct consumer_group_heartbeat_request *)op->request)->member_id;
    return STR_NULL;
}

/* ---- one of them ---------------------------------------------------------------------------------------------------------------- */

/* A client is held only by what it was told on this very connection: whoever comes anew may go by an older interval. */
void beat_fill(struct shard *s, struct coord_request *r)
{
    struct coord *c = s->coord;
    r->op.holds = r->yields;
    r->op.told_ms = 0;
    if (!r->yields || r->in.followed || r->in.cancelled)
        return;
    struct group_timer what = {.kind = GROUP_TIMER_SESSION, .group_id = r->op.group_id, .member_id = sender_of(&r->op)};
    const struct timer *session = timer_find(&s->timers, &what);
    if (session != NULL && session->connection == r->connection)
        r->op.told_ms = session->told_ms;
    r->op.held_ms = (int32_t)((c->now_us - r->in.came_us) / 1000);
}

static void keep(struct shard *s, struct coord_request *r, int32_t hold_ms)
{
    struct coord *c = s->coord;
    struct gate *g = gate_get(s, &r->op);
    struct beat *b = calloc(1, sizeof(*b));
    MUSTER_CHECK(b != NULL);
    *b = (struct beat){.request = r, .gate = g, .due_us = c->now_us + (int64_t)hold_ms * 1000, .serial = ++c->beat_serial};
#ifdef MUSTER_FAULT_HELD_FOREVER
    b->due_us += INT32_MAX * (int64_t)1000;
#endif
    if (TAILQ_EMPTY(&g->beats)) {
        g->beat_phase = group_beat_phase(s->set, g->id);
        g->work_phase = group_work_phase(s->set, g->id);
    }
    TAILQ_INSERT_TAIL(&g->beats, b, link);
    RB_INSERT(beat_tree, &c->beats, b);
    c->beat_count++;
    r->in.beat = b;
    r->in.state = REQUEST_BEAT;
    c->stats.parked--;
    c->stats.beats++;
}

bool beat_hold(struct shard *s, struct coord_request *r, int32_t hold_ms, struct arena_mark before)
{
    struct coord *c = s->coord;
    if (hold_ms <= 0 || before.used_bytes > MOST_HELD_BYTES)
        return false;
    if (c->beat_count >= c->options.max_beats) {
        c->stats.beats_refused++;
        return false;
    }
    r->in.told_ms = 0; /* nobody has been told yet */
    MUSTER_CHECK(!request_follow(s, r));
#ifndef MUSTER_FAULT_HELD_ANSWER_STALE
    r->in.answer = NULL; /* it is made anew, perhaps many times: nothing of it may stay */
    r->in.timers = NULL;
    arena_rewind(r->arena, before);
#endif
    r->op.held = true;
    keep(s, r, hold_ms);
    return true;
}

/* The request is like one that has just come. Its gate may be idle now. */
static struct coord_request *take(struct coord *c, struct beat *b)
{
    struct coord_request *r = b->request;
    RB_REMOVE(beat_tree, &c->beats, b);
    TAILQ_REMOVE(&b->gate->beats, b, link);
    c->beat_count--;
    c->stats.parked++;
    free(b);
    r->in.beat = NULL;
    r->in.state = REQUEST_NEW;
    r->in.since_us = c->now_us;
    return r;
}

static void decide_again(struct shard *s, struct coord_request *r)
{
#ifdef MUSTER_FAULT_HELD_ANSWER_STALE
    request_finish(s, r);
    return;
#endif
    request_route(s, r);
}

static void let_go(struct shard *s, struct coord_request *r)
{
    struct gate *g = r->in.beat->gate;
    decide_again(s, take(s->coord, r->in.beat));
    gate_free_if_idle(s, g);
}

void beat_cancel(struct shard *s, struct coord_request *r)
{
    struct gate *g = r->in.beat->gate;
    request_finish(s, take(s->coord, r->in.beat));
    gate_free_if_idle(s, g);
}

void coord_let_go(struct coord *c, struct coord_request *request)
{
    request->in.followed = true;
    if (request->in.state != REQUEST_BEAT)
        return;
    c->stats.beats_let_go++;
    let_go(&c->shards[request->in.shard], request);
}

/* ---- many --------------------------------------------------------------------------------------------------------------------------- */

/* The newest ones first, for they have the most time left. */
static void take_some(struct coord *c, struct gate *g, size_t count, enum request_state state, struct request_list *to)
{
    for (struct beat *b; count > 0 && (b = TAILQ_LAST(&g->beats, beat_list)) != NULL; count--) {
        struct coord_request *r = take(c, b);
        r->in.state = state;
        request_list_add(to, r);
    }
}

void beats_drop(struct shard *s, struct gate *g, struct request_list *requests)
{
    take_some(s->coord, g, SIZE_MAX, REQUEST_NEW, requests);
}

void beats_hand_over(struct shard *s)
{
    for (struct gate *g = gate_first(s), *next; g != NULL; g = next) {
        next = gate_after(g);
        take_some(s->coord, g, SIZE_MAX, REQUEST_HELD, &s->held);
        gate_free_if_idle(s, g);
    }
    for (struct coord_request *r; (r = request_list_take(&s->moved)) != NULL;) {
        r->in.state = REQUEST_HELD;
        request_list_add(&s->held, r);
    }
}

void beats_look(struct shard *s, struct gate *g)
{
    struct coord *c = s->coord;
    uint64_t beat_phase = group_beat_phase(s->set, g->id), work_phase = group_work_phase(s->set, g->id);
    size_t before = s->moved.count;
    if (beat_phase != g->beat_phase)
        take_some(c, g, SIZE_MAX, REQUEST_MOVED, &s->moved);
    else if (work_phase != g->work_phase)
        take_some(c, g, BEATS_FOR_WORK, REQUEST_MOVED, &s->moved);
    g->beat_phase = beat_phase;
    g->work_phase = work_phase;
    c->stats.beats_moved += s->moved.count - before;
    c->dirty = c->dirty || s->moved.count > 0;
}

void beats_step(struct coord *c)
{
    for (uint32_t i = 0; i < c->options.shard_count; i++) {
        struct shard *s = &c->shards[i];
        for (int n = 0; n < BEATS_A_TURN && s->moved.count > 0; n++)
            decide_again(s, request_list_take(&s->moved));
        c->dirty = c->dirty || s->moved.count > 0;
    }
}

void beats_expire(struct coord *c)
{
    struct beat *b;
    for (int n = 0; n < BEATS_A_TURN && (b = RB_MIN(beat_tree, &c->beats)) != NULL && b->due_us <= c->now_us; n++)
        let_go(&c->shards[b->request->in.shard], b->request);
}

int64_t beats_next_us(const struct coord *c)
{
    const struct beat *b = RB_MIN(beat_tree, (struct beat_tree *)&c->beats);
    return b == NULL ? INT64_MAX : b->due_us;
}
