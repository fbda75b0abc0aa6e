/* Checkers of streams groups: no task is active in two processes at once, by the members' own words; no epoch goes back; a topology that somebody was told of
 * stays; what is described fits together. */
#include "streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- who works on what ---- */

bool streams_believes(const struct app *a)
{
    int64_t now = a->sim->now_us;
    if (now >= a->good_sent_us + SIM_SESSION_MS * 1000)
        return false; /* its session may be over */
    return (a->confirm_by_us == 0 || now < a->confirm_by_us) && (a->doubt_until_us == 0 || now < a->doubt_until_us);
}

void streams_check_owner(struct app *a, uint64_t gained)
{
    const struct sim_streams *s = a->sim->streams;
    for (uint32_t i = a->group; i < SIM_STREAMS_MEMBERS; i += SIM_STREAMS_GROUPS) {
        const struct app *other = &s->apps[i];
        uint64_t both = gained & other->has.role[ACTIVE];
        if (other == a || both == 0 || strcmp(other->process_id, a->process_id) == 0 || !streams_believes(other))
            continue;
        sim_fail(a->sim, "streams group %u: tasks %010llx are active in %s (%s) and in %s (%s)", a->group, (unsigned long long)both,
                 other->process_id, other->member_id, a->process_id, a->member_id);
    }
}

/* ---- what may only rise ---- */

static void rise(struct sim *sim, struct rising *r, int32_t value, int64_t sent_us, const char *what, uint32_t group)
{
    for (size_t i = r->len; i > 0; i--) {
        if (r->v[i - 1].at_us < sent_us && r->v[i - 1].value > value) {
            sim_fail(sim, "streams group %u: %s %d after %d was seen", group, what, value, r->v[i - 1].value);
            return;
        }
    }
    if (r->len > 0 && r->v[r->len - 1].value >= value)
        return;
    if (r->len == r->cap) {
        r->cap = r->cap == 0 ? 64 : 2 * r->cap;
        r->v = realloc(r->v, r->cap * sizeof(*r->v));
        MUSTER_CHECK(r->v != NULL);
    }
    r->v[r->len++] = (struct stamp){value, sim->now_us};
}

static struct member_seen *member_of(struct streams_group_check *g, struct str member_id)
{
    for (size_t i = 0; i < g->member_count; i++) {
        if (str_eq(str_of(g->members[i].member_id), member_id))
            return &g->members[i];
    }
    if (g->member_count == g->member_cap) {
        g->member_cap = g->member_cap == 0 ? 16 : 2 * g->member_cap;
        g->members = realloc(g->members, g->member_cap * sizeof(*g->members));
        MUSTER_CHECK(g->members != NULL);
    }
    struct member_seen *m = &g->members[g->member_count++];
    memset(m, 0, sizeof(*m));
    snprintf(m->member_id, SIM_ID_MAX, "%.*s", STR_ARG(member_id));
    return m;
}

void streams_check_epoch(struct app *a, int32_t epoch, int64_t sent_us, bool topology)
{
    struct streams_group_check *g = &a->sim->streams->groups[a->group];
    rise(a->sim, &member_of(g, str_of(a->member_id))->epochs, epoch, sent_us, "member epoch", a->group);
    if (g->epochs.len == 0 || g->epochs.v[g->epochs.len - 1].value < epoch) /* a member is never ahead of its group */
        rise(a->sim, &g->epochs, epoch, sent_us, "group epoch", a->group);
    if (topology && g->topology_at_us == 0)
        g->topology_at_us = a->sim->now_us;
}

/* ---- a description ---- */

typedef struct streams_group_describe_response_described_group described;
typedef struct streams_group_describe_response_assignment assignment;
typedef struct streams_group_describe_response_task_ids_array task_lists;

static uint64_t tasks_of(const task_lists *lists)
{
    uint64_t tasks = 0;
    for (int32_t i = 0; i < lists->len; i++) {
        uint32_t sub = str_eq(lists->v[i].subtopology_id, STR("1"));
        for (int32_t k = 0; k < lists->v[i].partitions.len; k++)
            tasks |= (uint64_t)1 << (sub * TASKS_MAX + (uint32_t)lists->v[i].partitions.v[k]);
    }
    return tasks;
}

static bool same_tasks(const assignment *a, const assignment *b)
{
    return tasks_of(&a->active_tasks) == tasks_of(&b->active_tasks) && tasks_of(&a->standby_tasks) == tasks_of(&b->standby_tasks) &&
           tasks_of(&a->warmup_tasks) == tasks_of(&b->warmup_tasks);
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
        if (g->members.v[i].member_epoch != g->assignment_epoch)
            return "Reconciling";
    }
    return NULL; /* Stable, or Reconciling as long as somebody waits for what others have */
}

static void check_state(struct sim *sim, uint32_t group, const described *g, const char *how)
{
    const char *expected = state_of(g);
    bool settled = expected == NULL;
    for (int32_t i = 0; settled && i < g->members.len; i++)
        settled = same_tasks(&g->members.v[i].assignment, &g->members.v[i].target_assignment);
    if (expected == NULL)
        expected = settled ? "Stable" : "Reconciling";
    if (!str_eq(g->group_state, str_of(expected)))
        sim_fail(sim, "%s: streams group %u is %.*s, but looks %s (epochs %d, %d)", how, group, STR_ARG(g->group_state), expected,
                 g->group_epoch, g->assignment_epoch);
}

static void check_members(struct sim *sim, uint32_t group, const described *g, int64_t sent_us, const char *how)
{
    struct streams_group_check *check = &sim->streams->groups[group];
    uint64_t active = 0;
    for (int32_t i = 0; i < g->members.len; i++) {
        const struct streams_group_describe_response_member *m = &g->members.v[i];
        uint64_t own = tasks_of(&m->assignment.active_tasks);
        if ((active & own) != 0)
            sim_fail(sim, "%s: streams group %u: tasks %010llx have two owners", how, group, (unsigned long long)(active & own));
        active |= own;
        if (m->member_epoch > g->assignment_epoch || m->member_epoch < -2)
            sim_fail(sim, "%s: streams group %u: member %.*s is in epoch %d of %d", how, group, STR_ARG(m->member_id), m->member_epoch,
                     g->assignment_epoch);
        if (m->member_epoch > 0)
            rise(sim, &member_of(check, m->member_id)->epochs, m->member_epoch, sent_us, "member epoch", group);
    }
}

void streams_check_group(struct sim *sim, uint32_t group, const described *g, int64_t sent_us, const char *how)
{
    struct streams_group_check *check = &sim->streams->groups[group];
    bool has_topology = check->topology_at_us != 0 && check->topology_at_us < sent_us;
    if (g->error_code != 0) {
        if (has_topology)
            sim_fail(sim, "%s: streams group %u is unknown (error %d)", how, group, g->error_code);
        return;
    }
    int32_t subtopologies = streams_plans[group].repartition != NULL ? 2 : 1;
    if (g->topology == NULL || g->topology->epoch != 0 || g->topology->subtopologies.len != subtopologies)
        sim_fail(sim, "%s: streams group %u has lost its topology", how, group);
    rise(sim, &check->epochs, g->group_epoch, sent_us, "group epoch", group);
    rise(sim, &check->assignments, g->assignment_epoch, sent_us, "assignment epoch", group);
    if (g->assignment_epoch > g->group_epoch)
        sim_fail(sim, "%s: streams group %u: assignment epoch %d of group epoch %d", how, group, g->assignment_epoch, g->group_epoch);
    check_state(sim, group, g, how);
    check_members(sim, group, g, sent_us, how);
    snprintf(check->state, sizeof(check->state), "%.*s", STR_ARG(g->group_state));
    check->state_at_us = sent_us;
    check->epoch_described = g->group_epoch;
}

void streams_check_topology(struct sim *sim, uint32_t group, const struct streams_group_topology_response *t, int64_t sent_us)
{
    struct streams_group_check *check = &sim->streams->groups[group];
    bool has_topology = check->topology_at_us != 0 && check->topology_at_us < sent_us;
    if (t->error_code != 0 || str_is_empty(t->topology_id)) {
        if (has_topology)
            sim_fail(sim, "streams group %u has no topology (error %d)", group, t->error_code);
        return;
    }
    if (check->topology_id[0] == '\0')
        snprintf(check->topology_id, sizeof(check->topology_id), "%.*s", STR_ARG(t->topology_id));
    else if (!str_eq(t->topology_id, str_of(check->topology_id)))
        sim_fail(sim, "streams group %u: topology %.*s after %s", group, STR_ARG(t->topology_id), check->topology_id);
}

/* ---- right after a failover, before anybody has said anything ---- */

/* A thawed node may take office without knowing that it is over. */
static bool is_superseded(const struct sim_node *n, uint32_t shard)
{
    struct replica_shard_status own, other;
    replica_status(n->core, shard, &own);
    for (uint32_t id = 1; id <= n->sim->options.nodes; id++) {
        if (!n->sim->nodes[id].alive)
            continue;
        replica_status(n->sim->nodes[id].core, shard, &other);
        if (other.term > own.term)
            return true;
    }
    return false;
}

void streams_look(struct sim_node *n, uint32_t shard)
{
    struct sim *sim = n->sim;
    if (is_superseded(n, shard))
        return;
    for (uint32_t group = 0; sim->streams != NULL && group < SIM_STREAMS_GROUPS && !sim->failed; group++) {
        char id[SIM_ID_MAX];
        streams_group_id(group, id);
        if (coord_shard_of(n->coord, str_of(id)) != shard)
            continue;
        struct arena arena;
        struct group_out out;
        struct topics topics;
        struct group_settings settings = {.node_count = 1};
        struct streams_group_describe_request request;
        arena_init(&arena, 0);
        wire_init(&wire_streams_group_describe_request, &request);
        catalog_topics(coord_set(n->coord, 0), &topics);
        struct group_op op = {.kind = GROUP_STREAMS_DESCRIBE, .api_key = 89, .api_version = 1, .group_id = str_of(id), .request = &request};
        op.topics = &topics;
        op.catalog = coord_set(n->coord, 0);
        op.settings = &settings;
        group_decide(coord_set(n->coord, shard), &op, &arena, &out);
        streams_check_group(sim, group, out.answer, sim->now_us, "a new coordinator");
        sim->totals.streams_looks++;
        arena_fini(&arena);
    }
}

/* What moved a streams group, and why: the story of a seed. */
void streams_decided(struct sim_node *n, const struct group_op *op, const struct group_out *out)
{
    uint32_t group = streams_group_of(op->group_id);
    if (group == SIM_STREAMS_GROUPS || out->records.len == 0 || op->kind == GROUP_TIMER)
        return;
    sim_say(n->sim, "node=%u group=streams-%u op=%s rule=\"%s\" records=%zu%s", n->id, group, group_op_name(op->kind), out->rule,
            out->records.len, out->assign ? " wants a job" : "");
}

void streams_check_free(struct sim *sim)
{
    for (uint32_t i = 0; i < SIM_STREAMS_GROUPS; i++) {
        struct streams_group_check *g = &sim->streams->groups[i];
        for (size_t k = 0; k < g->member_count; k++)
            free(g->members[k].epochs.v);
        free(g->members);
        free(g->epochs.v);
        free(g->assignments.v);
    }
}
