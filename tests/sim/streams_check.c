/* Checkers of streams groups: a topology that somebody was told of stays; what is described fits together. */
#include "streams.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct streams_group_describe_response_described_group described;
typedef struct streams_group_describe_response_assignment assignment;
typedef struct streams_group_describe_response_task_ids_array task_lists;

static void add_tasks(struct unit_set *tasks, const task_lists *lists)
{
    for (int32_t i = 0; i < lists->len; i++) {
        uint32_t sub = str_eq(lists->v[i].subtopology_id, STR("1"));
        for (int32_t k = 0; k < lists->v[i].partitions.len; k++)
            set_add(tasks, unit_of(sub, lists->v[i].partitions.v[k]));
    }
}

static struct share share_of(const assignment *a)
{
    struct share share = {0};
    add_tasks(&share.role[ACTIVE], &a->active_tasks);
    add_tasks(&share.role[STANDBY], &a->standby_tasks);
    add_tasks(&share.role[WARMUP], &a->warmup_tasks);
    return share;
}

static bool same_tasks(const assignment *a, const assignment *b)
{
    struct share first = share_of(a), second = share_of(b);
    bool same = share_equal(&first, &second);
    share_free(&first);
    share_free(&second);
    return same;
}

static const char *state_of(const described *g)
{
    if (g->members.len == 0)
        return "Empty";
    if (str_eq(g->group_state, STR("NotReady")))
        return "NotReady";
    if (g->group_epoch > g->assignment_epoch)
        return "Assigning";
    for (int32_t i = 0; i < g->members.len; i++) {
        if (g->members.v[i].member_epoch != g->assignment_epoch ||
            !same_tasks(&g->members.v[i].assignment, &g->members.v[i].target_assignment))
            return "Reconciling";
    }
    return "Stable";
}

static void check_members(struct sim *sim, struct crowd *c, const described *g, int64_t sent_us, const char *how)
{
    char text[SET_TEXT_MAX];
    struct unit_set active = {0};
    struct sight *sights = calloc((size_t)g->members.len + 1, sizeof(*sights));
    MUSTER_CHECK(sights != NULL);
    for (int32_t i = 0; i < g->members.len; i++) {
        const struct streams_group_describe_response_member *m = &g->members.v[i];
        sights[i] = (struct sight){.member_id = m->member_id, .epoch = m->member_epoch, .assigned = share_of(&m->assignment)};
        const struct unit_set *own = &sights[i].assigned.role[ACTIVE];
        if (set_meets(&active, own))
            sim_fail(sim, "%s: %s: tasks %s have two owners", how, c->id, set_text(own, text));
        set_join(&active, own);
        if (m->member_epoch > g->assignment_epoch || m->member_epoch < -2)
            sim_fail(sim, "%s: %s: member %.*s is in epoch %d of %d", how, c->id, STR_ARG(m->member_id), m->member_epoch,
                     g->assignment_epoch);
        if (m->member_epoch > 0)
            crowd_rise_member(c, m->member_id, m->member_epoch, sent_us);
    }
    crowd_check_sights(c, sights, g->members.len, sent_us, NULL, how);
    for (int32_t i = 0; i < g->members.len; i++)
        share_free(&sights[i].assigned);
    free(sights);
    set_free(&active);
}

void streams_check_group(struct sim *sim, struct crowd *c, const void *described_group, int64_t sent_us, const char *how)
{
    const described *g = described_group;
    const struct streams_group_check *check = &sim->streams->groups[c->number];
    bool has_topology = check->topology_at_us != 0 && check->topology_at_us < sent_us;
    if (g->error_code != 0) {
        if (has_topology)
            sim_fail(sim, "%s: %s is unknown (error %d)", how, c->id, g->error_code);
        return;
    }
    int32_t subtopologies = streams_plans[c->number].repartition != NULL ? 2 : 1;
    if (g->topology == NULL || g->topology->epoch != 0 || g->topology->subtopologies.len != subtopologies)
        sim_fail(sim, "%s: %s has lost its topology", how, c->id);
    crowd_rise(c, &c->epochs, g->group_epoch, sent_us, "group epoch");
    crowd_rise(c, &c->assignments, g->assignment_epoch, sent_us, "assignment epoch");
    if (g->assignment_epoch > g->group_epoch)
        sim_fail(sim, "%s: %s: assignment epoch %d of group epoch %d", how, c->id, g->assignment_epoch, g->group_epoch);
    if (!str_eq(g->group_state, str_of(state_of(g))))
        sim_fail(sim, "%s: %s is %.*s, but looks %s (epochs %d, %d)", how, c->id, STR_ARG(g->group_state), state_of(g), g->group_epoch,
                 g->assignment_epoch);
    check_members(sim, c, g, sent_us, how);
    crowd_described(c, g->group_state, g->group_epoch, sent_us);
}

void streams_check_topology(struct sim *sim, struct crowd *c, const void *answer, int64_t sent_us)
{
    const struct streams_group_topology_response *t = answer;
    struct streams_group_check *check = &sim->streams->groups[c->number];
    bool has_topology = check->topology_at_us != 0 && check->topology_at_us < sent_us;
    if (t->error_code != 0 || str_is_empty(t->topology_id)) {
        if (has_topology)
            sim_fail(sim, "%s has no topology (error %d)", c->id, t->error_code);
        return;
    }
    if (check->topology_id[0] == '\0')
        snprintf(check->topology_id, sizeof(check->topology_id), "%.*s", STR_ARG(t->topology_id));
    else if (!str_eq(t->topology_id, str_of(check->topology_id)))
        sim_fail(sim, "%s: topology %.*s after %s", c->id, STR_ARG(t->topology_id), check->topology_id);
}

/* ---- right after a failover, before anybody has said anything ---- */

void streams_look(struct sim_node *n, uint32_t shard)
{
    struct sim *sim = n->sim;
    if (sim->streams == NULL || looks_superseded(n, shard))
        return;
    for (uint32_t group = 0; group < SIM_STREAMS_GROUPS && !sim->failed; group++) {
        struct crowd *c = &sim->streams->crowds[group];
        if (coord_shard_of(n->coord, str_of(c->id)) != shard)
            continue;
        struct arena arena;
        struct streams_group_describe_request request;
        arena_init(&arena, 0);
        wire_init(&wire_streams_group_describe_request, &request);
        struct group_op op = {
            .kind = GROUP_STREAMS_DESCRIBE, .api_key = 89, .api_version = 1, .group_id = str_of(c->id), .request = &request};
        streams_check_group(sim, c, look_at_node(n, shard, &op, &arena), sim->now_us, "a new coordinator");
        sim->totals.streams_looks++;
        arena_fini(&arena);
    }
}
