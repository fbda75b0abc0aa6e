/* What a majority does not store in time is answered all the same: two full disks of three would otherwise keep clients waiting without a word, with all that
 * stands behind their requests on the connection. The error says ask again; the entry stays in flight and may yet be applied, as after a lost answer.
 *
 * Not given up: a join or sync that waits for other members, a read that waits for its round (without a majority office is lost and everything is
 * answered), what coord asked itself, and a request in flight that arms timers or has errands once it is applied. */
#include "internal.h"

enum { LOOK_US = 100 * 1000 };

static bool overdue(const struct shard *s, const struct coord_request *r)
{
    bool follows = r->in.timer_count > 0 || r->in.assign || r->in.resolve || r->in.create != NULL;
    bool owed = r->op.api_key >= 0 && !(r->in.state == REQUEST_IN_FLIGHT && follows);
    return owed && s->coord->now_us - r->in.since_us >= s->coord->options.commit_timeout_us;
}

static void take_overdue(const struct shard *s, struct request_list *from, struct request_list *to)
{
    struct request_list all;
    struct coord_request *r;
    request_list_init(&all);
    request_list_move(from, &all);
    while ((r = request_list_take(&all)) != NULL)
        request_list_add(overdue(s, r) ? to : from, r);
}

static bool has_something(const struct shard *s)
{
    return s->flights != NULL || s->held.count > 0 || s->creating > 0;
}

static void take_overdue_creations(struct shard *s, struct request_list *to)
{
    for (struct errands *e = errands_first(s), *next; s->creating > 0 && e != NULL; e = next) {
        size_t before = e->waiting.count;
        next = errands_after(e);
        take_overdue(s, &e->waiting, to);
        s->creating -= before - e->waiting.count;
        errands_tidy(e);
    }
}

static void give_up(struct shard *s)
{
    struct request_list late;
    struct coord_request *r;
    request_list_init(&late);
    take_overdue(s, &s->held, &late);
    for (struct flight *f = s->flights; f != NULL; f = f->next)
        take_overdue(s, &f->requests, &late);
    for (struct gate *g = gate_first(s); g != NULL; g = gate_after(g))
        take_overdue(s, &g->queue, &late);
    if (s->catalog_gate != NULL)
        take_overdue(s, &s->catalog_gate->queue, &late);
    take_overdue_creations(s, &late);
    while ((r = request_list_take(&late)) != NULL)
        request_refuse(s, r, COORDINATOR_NOT_AVAILABLE);
}

void patience_check(struct coord *c)
{
    if (c->options.commit_timeout_us == 0 || c->now_us < c->patience_us)
        return;
    c->patience_us = c->now_us + LOOK_US;
    for (uint32_t i = 0; i < c->options.shard_count; i++) {
        if (has_something(&c->shards[i]))
            give_up(&c->shards[i]);
    }
}

int64_t patience_next_us(const struct coord *c)
{
    for (uint32_t i = 0; c->options.commit_timeout_us != 0 && i < c->options.shard_count; i++) {
        if (has_something(&c->shards[i]))
            return c->patience_us;
    }
    return INT64_MAX;
}
