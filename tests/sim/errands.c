/* What coord asks its owner to do outside: jobs, which take a while, and topics, which somebody has to ask shard 0's leader for, wherever it is. */
#include <stdio.h>
#include <stdlib.h>

#include "world.h"

/* ---- jobs ---- */

struct outside_job {
    struct sim_node *node;
    uint64_t life;
    struct group_job *job;
};

static void job_drop(void *arg)
{
    struct outside_job *own = arg;
    group_job_free(own->job);
    free(own);
}

/* A thread came to its end. What a process leaves behind that died meanwhile is gone with it. */
static void job_ends(struct sim *sim, void *arg, uint64_t tag)
{
    struct outside_job *own = arg;
    (void)sim;
    (void)tag;
    if (own->node->alive && own->node->life == own->life) {
        node_job_done(own->node, own->job);
        free(own);
    } else {
        job_drop(own);
    }
}

void errands_run_job(void *ctx, struct group_job *job)
{
    struct sim_node *n = ctx;
    struct outside_job *own = calloc(1, sizeof(*own));
    MUSTER_CHECK(own != NULL);
    *own = (struct outside_job){n, n->life, job};
    n->sim->totals.jobs++;
    group_job_run(job);
    int64_t takes_us = sim_chance(n->sim, 200000) ? sim_between(n->sim, 50000, 1500000) : sim_between(n->sim, 500, 40000);
    sim_at_owned(n->sim, n->sim->now_us + takes_us, job_ends, own, 0, job_drop);
}

/* ---- topics ---- */

enum { ATTEMPT_US = 700000, GIVE_UP_US = 4000000, AGAIN_US = 20000, APPLIED_US = 1000000 };

/* In a slot of its world, so that nothing that comes late finds nobody. */
struct sim_creation {
    uint64_t serial; /* 0: free */
    struct sim_node *node;
    uint64_t life, token, attempt;
    struct create_topics_request *request; /* one block */
    int64_t until_us;
    char failure[200];
};

static void creation_try(struct sim *sim, void *arg, uint64_t serial);

static bool is_over(const struct sim_creation *c)
{
    return !c->node->alive || c->node->life != c->life;
}

static void creation_free(struct sim_creation *c)
{
    free(c->request);
    c->request = NULL;
    c->serial = 0;
}

static void tell(struct sim_creation *c)
{
    if (!is_over(c))
        node_topics_created(c->node, c->token, c->failure);
    creation_free(c);
}

static bool has_applied(const struct sim_creation *c)
{
    const struct group_set *catalog = coord_set(c->node->coord, 0);
    for (int32_t i = 0; i < c->request->topics.len; i++) {
        struct catalog_topic topic;
        if (!catalog_find_topic(catalog, c->request->topics.v[i].name, &topic))
            return false;
    }
    return true;
}

/* Made, says shard 0's leader; coord is told once its own node has applied it, or after a while. */
static void creation_applied(struct sim *sim, void *arg, uint64_t serial)
{
    struct sim_creation *c = arg;
    if (c->serial != serial)
        return;
    if (is_over(c) || c->failure[0] != '\0' || sim->now_us >= c->until_us || has_applied(c))
        tell(c);
    else
        sim_at(sim, sim->now_us + 2000, creation_applied, c, serial);
}

static void creation_answered(struct sim_request *r)
{
    enum { EXISTS = 36 };
    struct sim *sim = r->sim;
    struct sim_creation *c = r->owner;
    const struct create_topics_response *answer = r->answer;
    if (c->serial == 0 || c->attempt != r->serial)
        return;
    int16_t error = answer->topics.len > 0 ? answer->topics.v[0].error_code : 0;
    if (request_elsewhere(error)) {
        sim_at(sim, sim->now_us + AGAIN_US, creation_try, c, c->serial);
        return;
    }
    for (int32_t i = 0; i < answer->topics.len; i++) {
        error = answer->topics.v[i].error_code;
        if (error != 0 && error != EXISTS)
            snprintf(c->failure, sizeof(c->failure), "%.*s (error %d)", STR_ARG(answer->topics.v[i].name), error);
        sim->totals.topics_made += error == 0;
    }
    c->attempt = 0;
    c->until_us = sim->now_us + APPLIED_US;
    creation_applied(sim, c, c->serial);
}

static uint32_t ask_whom(const struct sim_creation *c)
{
    uint32_t leader = 0;
    (void)coord_shard_state(c->node->coord, 0, &leader);
    return leader != 0 ? leader : members_any(c->node->sim);
}

static void no_answer(struct sim *sim, void *arg, uint64_t attempt)
{
    struct sim_creation *c = arg;
    if (c->serial != 0 && c->attempt == attempt)
        creation_try(sim, c, c->serial);
}

static void creation_try(struct sim *sim, void *arg, uint64_t serial)
{
    struct sim_creation *c = arg;
    if (c->serial != serial)
        return;
    if (is_over(c) || sim->now_us >= c->until_us) {
        snprintf(c->failure, sizeof(c->failure), "all (The request timed out.)");
        tell(c);
        return;
    }
    struct sim_request *r = request_new(sim, c, creation_answered, CATALOG_CREATE_TOPICS, 19, 7);
    const struct wire_type *type = wire_create_topics_request.type;
    r->request.op.request = wire_copy(type, c->request, arena_get(&r->arena, wire_copy_size(type, c->request)));
    r->request.op.caller = (struct group_caller){STR_NULL, STR("")};
    r->serial = c->attempt = ++sim->next_creation;
    request_send(r, ask_whom(c));
    sim_at(sim, sim->now_us + ATTEMPT_US, no_answer, c, c->attempt);
}

static struct sim_creation *free_slot(struct sim *sim)
{
    for (size_t i = 0; i < SIM_CREATIONS_MAX; i++) {
        if (sim->creations[i].serial == 0)
            return &sim->creations[i];
    }
    MUSTER_CHECK(false);
    return NULL;
}

void errands_create_topics(void *ctx, uint64_t token, const struct create_topics_request *request)
{
    struct sim_node *n = ctx;
    struct sim *sim = n->sim;
    struct sim_creation *c = free_slot(sim);
    const struct wire_type *type = wire_create_topics_request.type;
    void *block = calloc(1, wire_copy_size(type, request));
    MUSTER_CHECK(block != NULL);
    *c = (struct sim_creation){
        .serial = ++sim->next_creation, .node = n, .life = n->life, .token = token, .until_us = sim->now_us + GIVE_UP_US};
    c->request = wire_copy(type, request, block);
    sim->totals.creations++;
    sim_say(sim, "node=%u wants topic %.*s%s", n->id, STR_ARG(request->topics.v[0].name), request->topics.len > 1 ? " and others" : "");
    sim_at(sim, sim->now_us + 1, creation_try, c, c->serial);
}

void errands_init(struct sim *sim)
{
    sim->creations = calloc(SIM_CREATIONS_MAX, sizeof(*sim->creations));
    MUSTER_CHECK(sim->creations != NULL);
}

void errands_fini(struct sim *sim)
{
    for (size_t i = 0; i < SIM_CREATIONS_MAX; i++)
        creation_free(&sim->creations[i]);
    free(sim->creations);
}
