/* Requests of coord's own: timers that fired, takeovers, what came of jobs and creations, and the walks over all groups (retention, changed topics). */
#include "internal.h"

#include <stdlib.h>

enum { GROUPS_A_TURN = 64, MOST_OUTSTANDING = 256, RETRY_MS = 100 };

struct internal {
    struct coord_request request;
    struct arena arena;
    struct shard *shard;
    uint64_t serial; /* of the timer that fired */
    struct group_job *job;
    bool of_sweep;
};

static void internal_done(struct coord_request *request, int16_t error, const void *answer);

static struct internal *internal_new(struct shard *s, enum group_op_kind kind, struct str group_id)
{
    struct internal *own = calloc(1, sizeof(*own));
    MUSTER_CHECK(own != NULL);
    arena_init(&own->arena, 0);
    own->shard = s;
    own->request.arena = &own->arena;
    own->request.done = internal_done;
    own->request.ctx = own;
    own->request.op.kind = kind;
    own->request.op.api_key = -1;
    own->request.op.api_version = -1;
    own->request.op.group_id = arena_str(&own->arena, group_id);
    own->request.op.caller = (struct group_caller){STR_NULL, STR_NULL};
    return own;
}

static void send(struct internal *own)
{
    own->shard->coord->stats.parked++;
    request_route(own->shard, &own->request);
}

void internal_submit(struct shard *s, enum group_op_kind kind, struct str group_id, const struct timer *timer)
{
    struct internal *own = internal_new(s, kind, group_id);
    if (timer != NULL) {
        own->request.op.timer = timer->what;
        own->request.op.timer.group_id = own->request.op.group_id;
        own->request.op.timer.member_id = arena_str(&own->arena, timer->what.member_id);
        own->serial = timer->serial;
    }
    send(own);
}

void internal_submit_job(struct shard *s, struct str group_id, struct group_job *job)
{
    struct internal *own = internal_new(s, GROUP_JOB_DONE, group_id);
    own->job = job;
    own->request.op.job = job;
    send(own);
}

void internal_submit_created(struct shard *s, struct str group_id, struct str failure)
{
    struct internal *own = internal_new(s, GROUP_TOPICS_CREATED, group_id);
    struct topics_created *created = ARENA_NEW(&own->arena, struct topics_created, 1);
    created->failure = arena_str(&own->arena, failure);
    own->request.op.created = created;
    send(own);
}

bool internal_is_stale(struct shard *s, const struct coord_request *r)
{
    if (r->op.kind != GROUP_TIMER)
        return false;
    const struct internal *own = r->ctx;
    const struct timer *t = timer_find(&s->timers, &r->op.timer);
#ifdef MUSTER_FAULT_STALE_TIMERS
    return t == NULL && own->serial == 0;
#endif
    return t == NULL || t->serial != own->serial;
}

static void again(struct internal *own)
{
    struct internal *next = internal_new(own->shard, own->request.op.kind, own->request.op.group_id);
    next->of_sweep = own->of_sweep;
    send(next);
}

static void internal_done(struct coord_request *request, int16_t error, const void *answer)
{
    (void)answer;
    struct internal *own = request->ctx;
    struct shard *s = own->shard;
    bool serving = s->role == REPLICA_SERVING || s->role == REPLICA_HANDING_OVER;
    if (request->op.kind == GROUP_TIMER && serving) {
        const struct timer *t = timer_find(&s->timers, &request->op.timer);
        bool current = t != NULL && t->serial == own->serial;
        if (error != 0 && current) /* the disk refused: the deadline stands */
            timer_arm(&s->timers, &request->op.timer, s->live_us + RETRY_MS * 1000, 0);
        else
            timer_decided(&s->timers, &request->op.timer, own->serial);
    }
    if (own->job != NULL)
        errand_job_decided(s, request->op.group_id, own->job, error);
    if (serving && error == 0 && request->in.more)
        again(own);
    else if (own->of_sweep && s->sweep.outstanding > 0)
        s->sweep.outstanding--;
    s->coord->dirty = true;
    arena_fini(&own->arena);
    free(own);
}

/* ---- walks ---- */

void sweep_reset(struct shard *s)
{
    s->sweep.running = false;
    s->sweep.outstanding = 0;
    buf_clear(&s->sweep.after);
    s->sweep.after_known = false;
}

static void sweep_start(struct shard *s)
{
    sweep_reset(s);
    s->sweep.running = true;
    s->sweep.walked = false;
    s->sweep.kind = s->topics_due ? GROUP_TOPICS_CHANGED : GROUP_RETENTION;
    s->sweep.target = s->topics_due ? s->coord->catalog_index : (uint64_t)group_set_cursor(s->set);
    if (s->topics_due)
        s->topics_due = false;
    else
        s->retention_due = false;
}

/* The cursor's entry also carries the shard clock, so that time passes for shards in which nothing else happens. */
static void sweep_finish(struct shard *s)
{
    uint64_t target = s->sweep.target;
    sweep_reset(s);
    struct internal *own = internal_new(s, CATALOG_CURSOR, STR_NULL);
    own->request.op.catalog_index = (int64_t)target;
    send(own);
}

static void sweep_walk(struct shard *s)
{
    struct sweep *w = &s->sweep;
    for (int i = 0; i < GROUPS_A_TURN && w->outstanding < MOST_OUTSTANDING; i++) {
        struct str after = w->after_known ? (struct str){(const char *)w->after.ptr, (int32_t)w->after.len} : STR_NULL;
        struct str id = group_set_next(s->set, after);
        if (str_is_null(id)) {
            w->walked = true;
            return;
        }
        struct internal *own = internal_new(s, w->kind, id);
        own->of_sweep = true;
        buf_clear(&w->after);
        MUSTER_CHECK(buf_put(&w->after, id.ptr, (size_t)id.len) == 0);
        w->after_known = true;
        w->outstanding++;
        send(own);
    }
    s->coord->dirty = true;
}

void sweep_step(struct shard *s)
{
    if (s->role != REPLICA_SERVING || !catalog_ready(s))
        return;
    if (!s->sweep.running) {
        if (!s->topics_due && !s->retention_due)
            return;
        sweep_start(s);
    }
    if (!s->sweep.walked)
        sweep_walk(s);
    else if (s->sweep.outstanding == 0)
        sweep_finish(s);
}
