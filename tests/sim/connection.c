/* Connections of members: what is sent on one arrives in order and is answered in order, as src/net does it, and whatever stands there unanswered is told that
 * something follows. An end of it is noticed late, or never. Here is checked what is true of heartbeats that are held, whatever they say. */
#include <stdlib.h>

#include "member.h"

struct sim_connection {
    LIST_ENTRY(sim_connection) waiting; /* with its node, while something stands on it that is not answered */
    struct sim *sim;
    uint64_t id;
    struct sim_node *node;
    uint64_t life; /* of the node: the connection ends with it */
    bool closed;   /* by the client */
    int32_t told_ms;
    uint32_t references; /* the client's, and each request's */
    int64_t last_up_us, last_down_us;
    struct sim_request *first, **end; /* that the node has not answered, in order */
};

struct sim_connection *connection_open(struct sim *sim, uint32_t node)
{
    struct sim_connection *c = calloc(1, sizeof(*c));
    MUSTER_CHECK(c != NULL);
    c->sim = sim;
    c->id = ++sim->next_connection;
    c->node = &sim->nodes[node];
    c->life = c->node->life;
    c->references = 1;
    c->end = &c->first;
    return c;
}

void connection_release(struct sim_connection *c)
{
    if (c == NULL || --c->references > 0)
        return;
    MUSTER_CHECK(c->first == NULL);
    free(c);
}

static bool node_has(const struct sim_connection *c)
{
    return c->node->alive && c->node->life == c->life;
}

bool connection_stands(const struct sim_connection *c, uint32_t node)
{
    return c != NULL && !c->closed && c->node->id == node && node_has(c);
}

/* ---- the client's side ---- */

void connection_told(struct sim_connection *c, int32_t interval_ms)
{
    if (c != NULL)
        c->told_ms = interval_ms;
}

static void end_noticed(struct sim *sim, void *arg, uint64_t tag)
{
    struct sim_connection *c = arg;
    (void)sim;
    (void)tag;
    for (struct sim_request *r = c->first, *next; r != NULL && node_has(c); r = next) {
        next = r->next;
        if (!r->answered)
            coord_cancel(c->node->coord, &r->request);
    }
    connection_release(c);
}

static void drop_end(void *arg)
{
    connection_release(arg);
}

void connection_close(struct sim_connection *c)
{
    if (c == NULL)
        return;
    c->closed = true;
    if (sim_chance(c->sim, 200000)) /* its host is gone: nobody says so */
        connection_release(c);
    else
        sim_at_owned(c->sim, c->sim->now_us + sim_between(c->sim, 60, 5000), end_noticed, c, 0, drop_end);
}

static void arrives(struct sim *sim, void *arg, uint64_t tag)
{
    struct sim_request *r = arg;
    (void)sim;
    (void)tag;
    if (node_has(r->connection))
        node_submit(r->connection->node, r);
    else
        request_lost(r);
}

void connection_send(struct sim_connection *c, struct sim_request *r)
{
    int64_t at = c->sim->now_us + sim_between(c->sim, 60, 900);
    c->last_up_us = at > c->last_up_us ? at : c->last_up_us + 1;
    c->references++;
    r->connection = c;
    r->told_ms = c->told_ms;
    r->request.connection = c->id;
    sim_at_owned(c->sim, c->last_up_us, arrives, r, 0, request_free);
}

/* ---- the node's side ---- */

static int32_t assignment_epoch(struct sim_node *n, const struct coord_request *r)
{
    struct arena arena;
    bool streams = r->op.kind == GROUP_STREAMS_HEARTBEAT;
    struct streams_group_describe_request request = {0};
    struct group_op op = {.kind = streams ? GROUP_STREAMS_DESCRIBE : GROUP_CONSUMER_DESCRIBE,
                          .api_key = streams ? 89 : 69,
                          .api_version = 0,
                          .group_id = r->op.group_id,
                          .request = streams ? &request : NULL};
    arena_init(&arena, 0);
    const void *answer = look_at_node(n, coord_shard_of(n->coord, op.group_id), &op, &arena);
    int32_t epoch = streams ? ((const struct streams_group_describe_response_described_group *)answer)->assignment_epoch
                            : ((const struct consumer_group_describe_response_described_group *)answer)->assignment_epoch;
    arena_fini(&arena);
    return epoch;
}

/* What follows lets it go in the middle of a turn; the rest is let go when all that the turn has brought is applied. */
static void note_let_go(struct sim_connection *c, struct sim_request *r)
{
    if (!r->was_held || r->let_go_us != 0)
        return;
    r->let_go_us = c->sim->now_us;
    r->assigned = r->followed || !node_has(c) ? 0 : assignment_epoch(c->node, &r->request);
}

void connection_entered(struct sim_connection *c, struct sim_request *r)
{
    r->entered_us = c->sim->now_us;
    for (struct sim_request *before = c->first, *next; before != NULL; before = next) {
        next = before->next;
        if (before->answered || before->followed)
            continue;
        before->followed = true;
        c->sim->totals.followed += before->request.in.beat != NULL;
#ifndef MUSTER_FAULT_HELD_WHEN_FOLLOWED
        coord_let_go(c->node->coord, &before->request);
#endif
    }
    if (c->first == NULL)
        LIST_INSERT_HEAD(&c->node->waiting, c, waiting);
    r->next = NULL;
    *c->end = r;
    c->end = &r->next;
}

void connection_answered(struct sim_connection *c, struct sim_request *r, const void *answer)
{
    r->answered = true;
    r->answer = answer;
    note_let_go(c, r);
    c->references++;
    while (c->first != NULL && c->first->answered) {
        struct sim_request *out = c->first;
        c->first = out->next;
        if (c->first == NULL) {
            c->end = &c->first;
            LIST_REMOVE(c, waiting);
        }
        if (out->answer == NULL || c->closed || !node_has(c)) {
            request_free(out);
            continue;
        }
        int64_t at = c->sim->now_us + sim_between(c->sim, 60, 900);
        c->last_down_us = at > c->last_down_us ? at : c->last_down_us + 1;
        request_deliver(out, c->last_down_us);
    }
    connection_release(c);
}

bool connection_closed(const struct sim_connection *c)
{
    return c->closed;
}

/* ---- what is checked ---- */

static void look_at(struct sim_connection *c, struct sim_request *r)
{
    struct sim *sim = c->sim;
    if (r->request.in.beat == NULL) {
        note_let_go(c, r);
        return;
    }
    r->was_held = true;
    r->let_go_us = 0;
    sim->totals.seen_held++;
    int64_t held_us = sim->now_us - r->entered_us;
    if (r->told_ms == 0)
        sim_fail(sim, "node %u holds a heartbeat of group %.*s, although its client was told no interval on that connection", c->node->id,
                 STR_ARG(r->request.op.group_id));
    else if (held_us >= (int64_t)r->told_ms * 1000)
        sim_fail(sim, "node %u holds a heartbeat of group %.*s for %lld ms, longer than its interval of %d ms", c->node->id,
                 STR_ARG(r->request.op.group_id), (long long)held_us / 1000, r->told_ms);
    else if (r->next != NULL)
        sim_fail(sim, "node %u holds a heartbeat of group %.*s, although something waits behind it", c->node->id,
                 STR_ARG(r->request.op.group_id));
}

/* A turn is over. */
void connections_check(struct sim_node *n)
{
    struct sim_connection *c;
    LIST_FOREACH(c, &n->waiting, waiting)
    {
        for (struct sim_request *r = c->first; c->life == n->life && r != NULL; r = r->next)
            look_at(c, r);
    }
}
