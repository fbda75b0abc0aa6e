/* What decisions want done outside: jobs beside the loop, and topics made. Of each group one of a kind is under way at a time; of all groups together so many
 * as the options say, the others wait in order. What failed rests before it is tried again. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum { REST_US = 500 * 1000 };

static int errands_cmp(const struct errands *a, const struct errands *b)
{
    return str_cmp(a->id, b->id);
}
RB_GENERATE_INTERNAL(errands_tree, errands, link, errands_cmp, __attribute__((unused)) static)

struct errands *errands_find(struct shard *s, struct str id)
{
    struct errands key = {.id = id};
    return RB_FIND(errands_tree, &s->errands, &key);
}

struct errands *errands_first(struct shard *s)
{
    return RB_MIN(errands_tree, &s->errands);
}

struct errands *errands_after(struct errands *e)
{
    return RB_NEXT(errands_tree, NULL, e);
}

struct errands *errands_get(struct shard *s, struct str id)
{
    struct errands *e = errands_find(s, id);
    if (e != NULL)
        return e;
    size_t len = id.len > 0 ? (size_t)id.len : 0;
    e = calloc(1, sizeof(*e) + len);
    MUSTER_CHECK(e != NULL);
    char *own = (char *)(e + 1);
    if (len > 0)
        memcpy(own, id.ptr, len);
    e->id = (struct str){own, (int32_t)len};
    e->shard = s;
    arena_init(&e->arena, 0);
    request_list_init(&e->waiting);
    for (int kind = 0; kind < ERRAND_KINDS; kind++) {
        e->v[kind].of = e;
        e->v[kind].kind = (enum errand_kind)kind;
    }
    RB_INSERT(errands_tree, &s->errands, e);
    return e;
}

static void errands_free(struct errands *e)
{
    RB_REMOVE(errands_tree, &e->shard->errands, e);
    arena_fini(&e->arena);
    free(e);
}

void errands_tidy(struct errands *e)
{
    bool idle = e->waiting.count == 0;
    for (int kind = 0; kind < ERRAND_KINDS; kind++)
        idle = idle && e->v[kind].state == ERRAND_IDLE;
    if (idle)
        errands_free(e);
}

static struct errand_list *queue_of(struct coord *c, const struct errand *one)
{
    return one->kind == ERRAND_CREATE ? &c->creations : &c->jobs;
}

void errand_wish(struct errand *one)
{
    struct coord *c = one->of->shard->coord;
    if (one->state != ERRAND_IDLE) {
        one->again = one->again || one->state != ERRAND_QUEUED;
        return;
    }
    one->state = ERRAND_QUEUED;
    one->again = false;
    TAILQ_INSERT_TAIL(queue_of(c, one), one, link);
    c->dirty = true;
}

void errand_rest(struct errand *one)
{
    struct coord *c = one->of->shard->coord;
    one->state = ERRAND_RESTING;
    one->rest_until_us = c->now_us + REST_US;
    TAILQ_INSERT_TAIL(&c->resting, one, link);
}

bool errands_of(struct shard *s, struct coord_request *r)
{
    bool waits = r->in.wait && r->in.create != NULL;
    if (r->in.assign)
        errand_wish(&errands_get(s, r->op.group_id)->v[ERRAND_ASSIGN]);
    if (r->in.resolve)
        errand_wish(&errands_get(s, r->op.group_id)->v[ERRAND_RESOLVE]);
    if (r->in.create != NULL)
        creation_wish(s, r);
    r->in.assign = r->in.resolve = false;
    r->in.create = NULL;
    if (waits)
        creation_wait(s, r);
    return waits;
}

static void rested(struct errand *one)
{
    one->state = ERRAND_IDLE;
    if (one->again)
        errand_wish(one);
    if (one->kind == ERRAND_CREATE)
        creation_rested(one);
    else
        errands_tidy(one->of);
}

static void start_jobs(struct coord *c)
{
    while (c->running_count < c->options.max_jobs && !TAILQ_EMPTY(&c->jobs)) {
        struct errand *one = TAILQ_FIRST(&c->jobs);
        TAILQ_REMOVE(&c->jobs, one, link);
        one->state = ERRAND_IDLE;
        if (!errand_job_start(c, one))
            errands_tidy(one->of);
    }
}

static void start_creations(struct coord *c)
{
    while (c->creating_count < c->options.max_creations && !TAILQ_EMPTY(&c->creations)) {
        struct errand *one = TAILQ_FIRST(&c->creations);
        TAILQ_REMOVE(&c->creations, one, link);
        creation_start(c, one);
    }
}

void errands_step(struct coord *c)
{
    struct errand *one;
    while ((one = TAILQ_FIRST(&c->resting)) != NULL && one->rest_until_us <= c->now_us) {
        TAILQ_REMOVE(&c->resting, one, link);
        rested(one);
    }
    while ((one = TAILQ_FIRST(&c->made)) != NULL) {
        TAILQ_REMOVE(&c->made, one, link);
        creation_made(one);
    }
    start_jobs(c);
    start_creations(c);
}

static void drop(struct coord *c, struct errand *one)
{
    switch (one->state) {
    case ERRAND_IDLE:
        break;
    case ERRAND_QUEUED:
        TAILQ_REMOVE(queue_of(c, one), one, link);
        break;
    case ERRAND_OUT:
        if (one->kind == ERRAND_CREATE)
            TAILQ_REMOVE(&c->creating, one, link);
        else
            errand_job_forget(c, one);
        break;
    case ERRAND_BACK: /* a job's result is decided by a request that is refused now */
        if (one->kind == ERRAND_CREATE)
            TAILQ_REMOVE(&c->made, one, link);
        break;
    case ERRAND_RESTING:
        TAILQ_REMOVE(&c->resting, one, link);
        break;
    }
}

void errands_drop(struct shard *s, struct request_list *requests)
{
    for (struct errands *e = errands_first(s), *next; e != NULL; e = next) {
        next = errands_after(e);
        for (int kind = 0; kind < ERRAND_KINDS; kind++)
            drop(s->coord, &e->v[kind]);
        request_list_move(&e->waiting, requests);
        errands_free(e);
    }
    s->creating = 0;
}

int64_t errands_next_us(const struct coord *c)
{
    const struct errand *one = TAILQ_FIRST(&c->resting);
    bool job = !TAILQ_EMPTY(&c->jobs) && c->running_count < c->options.max_jobs;
    bool creation = !TAILQ_EMPTY(&c->creations) && c->creating_count < c->options.max_creations;
    if (job || creation || !TAILQ_EMPTY(&c->made))
        return 0;
    return one != NULL ? one->rest_until_us : INT64_MAX;
}
