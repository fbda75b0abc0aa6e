/* Heartbeats whose answers are held: nothing has changed for their members, so they stay here, as long as the decision allows, until something does. Then they are
 * decided again, from the beginning, like requests that have just come.
 *
 * What ends it: the group moves (group_beat_phase()); the time is over; something follows on the connection; the connection ends; the office does, or is handed over;
 * the member's next heartbeat. What is held costs nothing until then: its deadline lies in a heap of all shards', and an entry asks only the groups that it touches.
 *
 * A group of many members that moves often would be asked all the time: the more of them there are, the longer they are left alone in between. */
#include "internal.h"

#include <stdlib.h>

enum {
    BEATS_A_TURN = 1000,
    REST_US_EACH = 20, /* to ask one of them again takes a few: they get less than half of the loop */
    MOST_REST_US = 500 * 1000,
    MOST_HELD_BYTES = 16 << 10 /* a request that has more in its arena is answered at once */
};

static int beat_cmp(const struct beat *a, const struct beat *b)
{
    return str_cmp(a->member_id, b->member_id);
}
RB_GENERATE_INTERNAL(beat_tree, beat, link, beat_cmp, __attribute__((unused)) static)

static struct str sender_of(const struct group_op *op)
{
    if (op->kind == GROUP_STREAMS_HEARTBEAT)
        return ((const struct streams_group_heartbeat_request *)op->request)->member_id;
    if (op->kind == GROUP_CONSUMER_HEARTBEAT)
        return ((const struct consumer_group_heartbeat_request *)op->request)->member_id;
    return STR_NULL;
}

/* ---- deadlines ---------------------------------------------------------------------------------------------------------------- */

static void heap_set(struct coord *c, size_t at, struct beat *b)
{
    c->beats[at] = b;
    b->heap_at = at;
}

static void heap_up(struct coord *c, size_t at)
{
    struct beat *moving = c->beats[at];
    while (at > 0 && moving->due_us < c->beats[(at - 1) / 2]->due_us) {
        heap_set(c, at, c->beats[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_set(c, at, moving);
}

static void heap_down(struct coord *c, size_t at)
{
    struct beat *moving = c->beats[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= c->beat_count)
            break;
        if (child + 1 < c->beat_count && c->beats[child + 1]->due_us < c->beats[child]->due_us)
            child++;
        if (c->beats[child]->due_us >= moving->due_us)
            break;
        heap_set(c, at, c->beats[child]);
        at = child;
    }
    heap_set(c, at, moving);
}

static void heap_add(struct coord *c, struct beat *b)
{
    if (c->beat_count == c->beat_cap) {
        c->beat_cap = c->beat_cap == 0 ? 64 : 2 * c->beat_cap;
        c->beats = realloc(c->beats, c->beat_cap * sizeof(struct beat *));
        MUSTER_CHECK(c->beats != NULL);
    }
    heap_set(c, c->beat_count++, b);
    heap_up(c, b->heap_at);
}

static void heap_remove(struct coord *c, struct beat *b)
{
    size_t at = b->heap_at;
    MUSTER_CHECK(at < c->beat_count && c->beats[at] == b);
    struct beat *last = c->beats[--c->beat_count];
    if (last == b)
        return;
    heap_set(c, at, last);
    heap_up(c, at);
    heap_down(c, last->heap_at);
}

/* ---- one of them ---------------------------------------------------------------------------------------------------------------- */

/* The group has nothing left that is to be asked again. */
static void beats_forget(struct coord *c, struct gate *g)
{
    if (g->beats_moved)
        TAILQ_REMOVE(&c->beat_gates, g, beat_link);
    g->beats_moved = false;
}

/* The request is like one that has just come, but for what it was told when. Its gate may be idle now. */
static struct coord_request *take(struct coord *c, struct beat *b)
{
    struct coord_request *r = b->request;
    heap_remove(c, b);
    RB_REMOVE(beat_tree, &b->gate->beats, b);
    if (--b->gate->beat_count == 0)
        beats_forget(c, b->gate);
    free(b);
    r->in.beat = NULL;
    r->in.state = REQUEST_NEW;
    r->in.since_us = c->now_us;
    c->stats.parked++;
    return r;
}

static void let_go(struct shard *s, struct coord_request *r)
{
    struct gate *g = r->in.beat->gate;
    request_route(s, take(s->coord, r->in.beat));
    gate_free_if_idle(s, g);
}

static struct timer *session_of(struct shard *s, const struct coord_request *r)
{
    struct group_timer what = {.kind = GROUP_TIMER_SESSION, .group_id = r->op.group_id, .member_id = sender_of(&r->op)};
    return timer_find(&s->timers, &what);
}

/* A client is held only by what it was told on this very connection: whoever comes anew may go by an older interval. */
void beat_fill(struct shard *s, struct coord_request *r)
{
    struct coord *c = s->coord;
    r->op.told_ms = r->op.held_ms = 0;
    r->op.holds = r->yields;
    if (!r->yields || r->in.followed || r->in.cancelled)
        return;
    const struct timer *session = session_of(s, r);
    if (session == NULL || session->connection != r->connection)
        return;
    r->op.told_ms = session->told_ms;
    r->op.held_ms = (int32_t)((c->now_us - r->in.came_us) / 1000);
}

static void keep(struct shard *s, struct coord_request *r, int64_t due_us)
{
    struct coord *c = s->coord;
    struct gate *g = gate_get(s, &r->op);
    struct beat *b = calloc(1, sizeof(*b));
    MUSTER_CHECK(b != NULL);
    b->request = r;
    b->member_id = sender_of(&r->op);
    b->gate = g;
    b->due_us = due_us;
    b->live_us = s->live_us;
    if (g->beat_count++ == 0)
        g->beat_phase = group_beat_phase(s->set, g->id);
    if (g->beat_rest_us < r->in.rest_until_us)
        g->beat_rest_us = r->in.rest_until_us;
    MUSTER_CHECK(RB_INSERT(beat_tree, &g->beats, b) == NULL);
    heap_add(c, b);
    r->in.beat = b;
    r->in.state = REQUEST_BEAT;
    c->stats.parked--;
    c->stats.beats++;
}

/* A member has one heartbeat on its way; where there are two, the older one is of a connection that it has given up. */
static void let_older_go(struct shard *s, const struct coord_request *r)
{
    struct gate *g = gate_find(s, &r->op);
    struct beat key = {.member_id = sender_of(&r->op)};
    struct beat *older = g == NULL ? NULL : RB_FIND(beat_tree, &g->beats, &key);
    if (older == NULL)
        return;
    older->request->in.followed = true;
    let_go(s, older->request);
}

static bool may_hold(struct shard *s, const struct coord_request *r)
{
    struct coord *c = s->coord;
    bool wanted =
        r->yields && !r->in.followed && !r->in.cancelled && s->role == REPLICA_SERVING && r->in.before.used_bytes <= MOST_HELD_BYTES;
    if (wanted && c->beat_count >= c->options.max_beats) {
        c->stats.beats_refused++;
        return false;
    }
    return wanted;
}

bool beat_hold(struct shard *s, struct coord_request *r)
{
    int64_t due_us = r->in.decided_us + (int64_t)r->in.hold_ms * 1000;
    if (due_us <= s->coord->now_us || r->in.hold_ms == 0 || !may_hold(s, r))
        return false;
    r->in.told_ms = 0; /* nobody has been told yet */
    MUSTER_CHECK(!request_follow(s, r));
    r->in.answer = NULL; /* it will be made anew, perhaps many times: nothing of it may stay */
    r->in.timers = NULL;
    arena_rewind(r->arena, r->in.before);
    r->op.again = true;
    r->op.moved_to = r->in.moved_to;
    let_older_go(s, r);
    keep(s, r, due_us);
    return true;
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

/* All of a group's, in order of members, as requests in that state. */
static void take_all(struct coord *c, struct gate *g, enum request_state state, struct request_list *to)
{
    for (struct beat *b; (b = RB_MIN(beat_tree, &g->beats)) != NULL;) {
        struct coord_request *r = take(c, b);
        r->in.state = state;
        request_list_add(to, r);
    }
}

void beats_drop(struct shard *s, struct gate *g, struct request_list *requests)
{
    take_all(s->coord, g, REQUEST_NEW, requests);
}

/* Nobody may be expired for what is not let go before the other node counts: each session has lost the time that its member was held. */
static void prolong_sessions(struct shard *s, struct gate *g)
{
    struct beat *b;
    RB_FOREACH(b, beat_tree, &g->beats)
    {
        struct timer *session = session_of(s, b->request);
        if (session != NULL)
            timer_arm(&s->timers, &session->what, session->deadline_us + (s->live_us - b->live_us), 0);
    }
}

void beats_hand_over(struct shard *s)
{
    for (struct gate *g = gate_first(s), *next; g != NULL; g = next) {
        next = gate_after(g);
        prolong_sessions(s, g);
        take_all(s->coord, g, REQUEST_HELD, &s->held);
        gate_free_if_idle(s, g);
    }
    for (struct coord_request *r; (r = request_list_take(&s->moved)) != NULL;) {
        r->in.state = REQUEST_HELD;
        request_list_add(&s->held, r);
    }
}

static void ask_again(struct shard *s, struct gate *g)
{
    struct coord *c = s->coord;
    int64_t rest_us = (int64_t)g->beat_count * REST_US_EACH;
    struct request_list all;
    request_list_init(&all);
    take_all(c, g, REQUEST_MOVED, &all);
    c->stats.beats_moved += all.count;
    for (struct coord_request *r = all.first; r != NULL; r = r->in.next)
        r->in.rest_until_us = c->now_us + (rest_us < MOST_REST_US ? rest_us : MOST_REST_US);
    request_list_move(&all, &s->moved);
    c->dirty = true;
}

void beats_look(struct shard *s, struct gate *g)
{
    struct coord *c = s->coord;
    if (g->beats_moved || group_beat_phase(s->set, g->id) == g->beat_phase)
        return;
    if (c->now_us >= g->beat_rest_us) {
        ask_again(s, g);
        return;
    }
    g->beats_moved = true;
    TAILQ_INSERT_TAIL(&c->beat_gates, g, beat_link);
}

static void look_at_rested(struct coord *c)
{
    for (struct gate *g = TAILQ_FIRST(&c->beat_gates), *next; g != NULL; g = next) {
        next = TAILQ_NEXT(g, beat_link);
        if (c->now_us < g->beat_rest_us)
            continue;
        struct shard *s = &c->shards[RB_ROOT(&g->beats)->request->in.shard];
        beats_forget(c, g);
        ask_again(s, g);
        gate_free_if_idle(s, g);
    }
}

void beats_step(struct coord *c)
{
    look_at_rested(c);
    for (uint32_t i = 0; i < c->options.shard_count; i++) {
        struct shard *s = &c->shards[i];
        for (int n = 0; n < BEATS_A_TURN && s->moved.count > 0; n++)
            request_route(s, request_list_take(&s->moved));
        c->dirty = c->dirty || s->moved.count > 0;
    }
}

void beats_expire(struct coord *c)
{
    for (int n = 0; n < BEATS_A_TURN && c->beat_count > 0 && c->beats[0]->due_us <= c->now_us; n++)
        let_go(&c->shards[c->beats[0]->request->in.shard], c->beats[0]->request);
}

int64_t beats_next_us(const struct coord *c)
{
    int64_t next = c->beat_count > 0 ? c->beats[0]->due_us : INT64_MAX;
    const struct gate *g;
    TAILQ_FOREACH(g, &c->beat_gates, beat_link)
    next = g->beat_rest_us < next ? g->beat_rest_us : next;
    return next;
}
