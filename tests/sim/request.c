/* A request of somebody outside: its way to a node, into coord, and the answer's way back. Either way it may be lost; whoever asks has his own clock. */
#include <stdlib.h>

#include "world.h"

struct sim_request *request_new(struct sim *sim, void *owner, void (*arrived)(struct sim_request *), enum group_op_kind kind,
                                int16_t api_key, int16_t version)
{
    struct sim_request *r = calloc(1, sizeof(*r));
    MUSTER_CHECK(r != NULL);
    arena_init(&r->arena, 0);
    r->sim = sim;
    r->owner = owner;
    r->arrived = arrived;
    r->request.arena = &r->arena;
    r->request.ctx = r;
    r->request.op.kind = kind;
    r->request.op.api_key = api_key;
    r->request.op.api_version = version;
    return r;
}

void request_free(void *arg)
{
    struct sim_request *r = arg;
    connection_release(r->connection);
    arena_fini(&r->arena);
    free(r);
}

void request_lost(struct sim_request *request)
{
    request_free(request);
}

static void answer_arrives(struct sim *sim, void *arg, uint64_t tag)
{
    struct sim_request *r = arg;
    (void)sim;
    (void)tag;
    if (r->connection == NULL || !connection_closed(r->connection))
        r->arrived(r);
    request_free(r);
}

static void on_done(struct coord_request *request, int16_t error, const void *answer)
{
    struct sim_request *r = request->ctx;
    struct sim_node *n = r->node;
    (void)error;
    if (r->connection != NULL) {
        connection_answered(r->connection, r, answer);
        return;
    }
    if (!n->alive || n->life != r->life || answer == NULL) {
        request_free(r);
        return;
    }
    r->answer = answer;
    request_deliver(r, r->sim->now_us + node_lag_us(n) + sim_between(r->sim, 60, 900));
}

void request_deliver(struct sim_request *r, int64_t at_us)
{
    sim_at_owned(r->sim, at_us, answer_arrives, r, 0, request_free);
}

void request_enter(struct sim_request *r, struct sim_node *n)
{
    r->node = n;
    r->life = n->life;
    r->request.done = on_done;
    if (r->connection != NULL)
        connection_entered(r->connection, r);
    coord_submit(n->coord, &r->request);
}

static void request_arrives(struct sim *sim, void *arg, uint64_t node)
{
    struct sim_request *r = arg;
    struct sim_node *n = &sim->nodes[node];
    if (n->alive)
        node_submit(n, r);
    else
        request_free(r);
}

void request_send(struct sim_request *r, uint32_t node)
{
    sim_at_owned(r->sim, r->sim->now_us + sim_between(r->sim, 60, 900), request_arrives, r, node, request_free);
}

bool request_elsewhere(int16_t error)
{
    return error == 14 || error == 15 || error == 16 || error == 41;
}
