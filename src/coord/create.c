/* Topics that a decision found missing and may make. A heartbeat does not wait for them: its group hears of a failure (GROUP_TOPICS_CREATED), and of success by
 * the catalogue's change. A request that cannot be answered without them waits, and is decided again from the beginning. */
#include "internal.h"

static const struct create_topics_request *copied(const struct create_topics_request *request, struct arena *arena)
{
    const struct wire_type *type = wire_create_topics_request.type;
    return wire_copy(type, request, arena_get(arena, wire_copy_size(type, request)));
}

void creation_wish(struct shard *s, struct coord_request *r)
{
    struct errands *e = errands_get(s, r->op.group_id);
    struct errand *one = &e->v[ERRAND_CREATE];
    r->in.creation = 0;
    if (one->state != ERRAND_IDLE)
        return; /* whoever does not wait for it comes again with the next heartbeat */
    arena_clear(&e->arena);
    e->create = copied(r->in.create, &e->arena);
    e->failure = STR_NULL;
    e->for_request = r->in.wait;
    e->token = ++s->coord->creation_token;
    if (r->in.wait)
        r->in.creation = e->token;
    errand_wish(one);
}

void creation_start(struct coord *c, struct errand *one)
{
    struct errands *e = one->of;
    one->state = ERRAND_OUT;
    TAILQ_INSERT_TAIL(&c->creating, one, link);
    c->creating_count++;
    c->stats.creations++;
    c->events.create_topics(c->events.ctx, e->token, e->create);
}

void coord_topics_created(struct coord *c, uint64_t token, struct str failure)
{
    struct errand *one = TAILQ_FIRST(&c->creating);
    while (one != NULL && one->of->token != token)
        one = TAILQ_NEXT(one, link);
    MUSTER_CHECK(c->creating_count > 0);
    c->creating_count--;
    c->stats.creations_failed += !str_is_null(failure);
    c->dirty = true;
    if (one == NULL)
        return; /* office was lost meanwhile */
    TAILQ_REMOVE(&c->creating, one, link);
    one->of->failure = arena_str(&one->of->arena, failure);
    one->state = ERRAND_BACK;
    TAILQ_INSERT_TAIL(&c->made, one, link);
}

void creation_wait(struct shard *s, struct coord_request *r)
{
    struct errands *e = errands_get(s, r->op.group_id);
    r->in.state = REQUEST_CREATING;
    r->op.created = NULL;
    request_list_add(&e->waiting, r);
    s->creating++;
    s->coord->stats.waits++;
}

bool creation_cancel(struct shard *s, struct coord_request *r)
{
    struct errands *e = errands_find(s, r->op.group_id);
    if (e == NULL || !request_list_remove(&e->waiting, r))
        return false;
    s->creating--;
    errands_tidy(e);
    return true;
}

static void take_waiting(struct errands *e, struct request_list *ret)
{
    request_list_init(ret);
    e->shard->creating -= e->waiting.count;
    request_list_move(&e->waiting, ret);
}

static void route_all(struct shard *s, struct request_list *requests)
{
    struct coord_request *r;
    while ((r = request_list_take(requests)) != NULL)
        request_route(s, r);
}

/* What it waited for is known: it is in the request's own memory, for it may have to wait again before it is decided. */
static void tell(struct coord_request *r, struct str failure)
{
    struct topics_created *created = ARENA_NEW(r->arena, struct topics_created, 1);
    created->failure = arena_str(r->arena, failure);
    r->op.created = created;
}

/* Others than the one that asked for these topics go on only where they were made: after a failure nothing may be asked for again until it has rested. */
void creation_made(struct errand *one)
{
    struct errands *e = one->of;
    struct shard *s = e->shard;
    struct request_list waited, next;
    struct coord_request *r;
    bool failed = !str_is_null(e->failure);
    take_waiting(e, &waited);
    request_list_init(&next);
    errand_rest(one);
    while ((r = request_list_take(&waited)) != NULL) {
        if (r->in.creation == e->token) {
            tell(r, e->failure);
            request_list_add(&next, r);
        } else if (failed) {
            creation_wait(s, r);
        } else {
            request_list_add(&next, r);
        }
    }
    if (failed && !e->for_request)
        internal_submit_created(s, e->id, e->failure);
    route_all(s, &next);
}

void creation_rested(struct errand *one)
{
    struct shard *s = one->of->shard;
    struct request_list waited;
    take_waiting(one->of, &waited);
    errands_tidy(one->of);
    route_all(s, &waited);
}
