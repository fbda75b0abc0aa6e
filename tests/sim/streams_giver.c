/* Somebody gives a streams group without members one topology after the other (StreamsGroupInitialize), each with a store of its own, so that there is always a
 * topic to be made first. What was acknowledged stays, until a newer one takes its place. */
#include "streams.h"

#include <stdio.h>

enum {
    GIVE_PATIENCE_US = 6000000,
    ASK_PATIENCE_US = 300000,
    STORES = 3,
    NONE = 0,
    GROUP_ID_NOT_FOUND = 69,
    MISSING_SOURCES = 20131,
    INCONSISTENT_INTERNALS = 20134
};

static void act_again(struct sim *sim, void *arg, uint64_t serial);

static void act_at(struct sim *sim, int64_t delay_us)
{
    sim_at(sim, sim->now_us + delay_us, act_again, NULL, ++sim->streams->giver.serial);
}

static void given_up(struct sim *sim, void *arg, uint64_t serial)
{
    (void)arg;
    if (sim->streams->giver.serial == serial)
        act_at(sim, 1000);
}

static void send(struct sim *sim, struct sim_request *r, int64_t patience_us)
{
    struct giver *g = &sim->streams->giver;
    r->request.op.group_id = STR(SIM_GIVEN_GROUP);
    r->request.op.caller = (struct group_caller){STR("giver"), STR("/sim")};
    r->serial = ++g->serial;
    g->sent_us = sim->now_us;
    request_send(r, g->node);
    sim_at(sim, sim->now_us + patience_us, given_up, NULL, r->serial);
}

/* ---- giving ---- */

static void given(struct sim_request *r)
{
    struct sim *sim = r->sim;
    struct giver *g = &sim->streams->giver;
    const struct streams_group_initialize_response *answer = r->answer;
    if (g->serial != r->serial)
        return;
    switch (answer->error_code) {
    case NONE:
        g->acked_epoch = g->epoch;
        g->acked_at_us = sim->now_us;
        sim->totals.streams_given++;
        sim_say(sim, "giver: topology of epoch %d is in force", g->epoch);
        break;
    case MISSING_SOURCES: /* somebody deleted it */
        break;
    case INCONSISTENT_INTERNALS: /* the source has grown */
        for (int i = 0; i < STORES; i++) {
            char topic[SIM_ID_MAX];
            snprintf(topic, sizeof(topic), "given-store-%d", i);
            chore_add(&sim->streams->admin, CHORE_DELETE, topic, 0, 0);
        }
        break;
    default:
        if (!request_elsewhere(answer->error_code))
            sim_fail(sim, "giver: error %d: %.*s", answer->error_code, STR_ARG(answer->error_message));
        g->node = members_any(sim);
        break;
    }
    if (!sim->failed)
        act_at(sim, sim_between(sim, 1000, 60000));
}

static void give(struct sim *sim)
{
    struct giver *g = &sim->streams->giver;
    struct sim_request *r = request_new(sim, NULL, given, GROUP_STREAMS_INITIALIZE, 20006, 0);
    struct streams_group_initialize_request *m = ARENA_NEW(&r->arena, struct streams_group_initialize_request, 1);
    struct streams_group_initialize_request_subtopology *s = ARENA_NEW(&r->arena, struct streams_group_initialize_request_subtopology, 1);
    wire_init(&wire_streams_group_initialize_request, m);
    g->epoch++;
    m->group_id = STR(SIM_GIVEN_GROUP);
    m->topology_epoch = g->epoch;
    m->topology_id = arena_printf(&r->arena, "v%d", g->epoch);
    m->topology.v = s;
    m->topology.len = 1;
    s->subtopology = STR("0");
    s->source_topic_regex = STR_NULL;
    s->source_topics = (struct str_array){ARENA_NEW(&r->arena, struct str, 1), 1};
    s->source_topics.v[0] = str_of(streams_plans[0].sources[0]);
    s->state_changelog_topics.v = ARENA_NEW(&r->arena, struct streams_group_initialize_request_topic_info, 1);
    s->state_changelog_topics.len = 1;
    s->state_changelog_topics.v[0].name = arena_printf(&r->arena, "given-store-%d", g->epoch % STORES);
    s->state_changelog_topics.v[0].topic_configs.len = -1;
    r->request.op.request = m;
    send(sim, r, GIVE_PATIENCE_US);
}

/* ---- looking ---- */

static void looked(struct sim_request *r)
{
    struct sim *sim = r->sim;
    struct giver *g = &sim->streams->giver;
    const struct streams_group_topology_response *answer = r->answer;
    char id[32];
    if (g->serial != r->serial)
        return;
    int32_t known = g->acked_at_us != 0 && g->acked_at_us < g->sent_us ? g->acked_epoch : -1;
    snprintf(id, sizeof(id), "v%d", answer->topology_epoch);
    if (request_elsewhere(answer->error_code))
        g->node = members_any(sim);
    else if (answer->error_code == GROUP_ID_NOT_FOUND && known >= 0)
        sim_fail(sim, "giver: the group is unknown, but epoch %d was in force", known);
    else if (answer->error_code == NONE && (answer->topology_epoch < known || answer->topology_epoch > g->epoch))
        sim_fail(sim, "giver: topology epoch %d, but %d was in force and %d is the newest", answer->topology_epoch, known, g->epoch);
    else if (answer->error_code == NONE && (!str_eq(answer->topology_id, str_of(id)) || answer->subtopologies.len != 1))
        sim_fail(sim, "giver: topology epoch %d has the id %.*s", answer->topology_epoch, STR_ARG(answer->topology_id));
    if (!sim->failed)
        act_at(sim, sim_between(sim, 1000, 60000));
}

static void look(struct sim *sim)
{
    struct sim_request *r = request_new(sim, NULL, looked, GROUP_STREAMS_TOPOLOGY, 20007, 0);
    struct streams_group_topology_request *m = ARENA_NEW(&r->arena, struct streams_group_topology_request, 1);
    m->group_id = STR(SIM_GIVEN_GROUP);
    r->request.op.request = m;
    send(sim, r, ASK_PATIENCE_US);
}

static void act_again(struct sim *sim, void *arg, uint64_t serial)
{
    (void)arg;
    if (sim->streams->giver.serial != serial || sim->failed)
        return;
    if (!sim->healing && sim_chance(sim, 300000))
        give(sim);
    else
        look(sim);
}

void streams_giver_start(struct sim *sim)
{
    sim->streams->giver.node = 1;
    act_at(sim, 1500000);
}
