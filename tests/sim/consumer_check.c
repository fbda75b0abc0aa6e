/* Checkers of consumer groups: what is described fits together, and fits what members know; also when the group has become a classic one. */
#include "consumer.h"

#include <stdio.h>
#include <stdlib.h>

enum { NONE = 0, GROUP_ID_NOT_FOUND = 69 };

typedef struct consumer_group_describe_response_described_group described;
typedef struct consumer_group_describe_response_assignment assignment;

static struct unit_set units_of(struct sim *sim, const assignment *a)
{
    struct unit_set units = {0};
    for (int32_t i = 0; i < a->topic_partitions.len; i++) {
        const struct consumer_group_describe_response_topic_partitions *t = &a->topic_partitions.v[i];
        for (int32_t k = 0; k < t->partitions.len; k++)
            set_add(&units, unit_of(topic_number(sim, t->topic_id), t->partitions.v[k]));
    }
    return units;
}

static const char *state_of(const described *g)
{
    if (g->members.len == 0)
        return "Empty";
    if (g->group_epoch > g->assignment_epoch)
        return "Assigning";
    for (int32_t i = 0; i < g->members.len; i++) {
        if (g->members.v[i].member_epoch != g->assignment_epoch)
            return "Reconciling";
    }
    return "Stable";
}

/* Where somebody has to give up or to wait for a topic that is not there any more, that is not shown. And a member that has another regular expression gives up
 * what it asked for no more before anything is computed for it. */
static void check_state(struct sim *sim, struct crowd *c, const described *g, bool as_targeted, const char *how)
{
    as_targeted = as_targeted || consumer_plans[c->number].regexes;
    const char *expected = state_of(g);
    bool reconciles = str_eq(g->group_state, STR("Reconciling"));
    bool settled = str_eq(str_of(expected), STR("Stable"));
    bool fits = settled ? reconciles || (as_targeted && str_eq(g->group_state, STR("Stable"))) : str_eq(g->group_state, str_of(expected));
    if (!fits)
        sim_fail(sim, "%s: %s is %.*s, but looks %s (epochs %d, %d)", how, c->id, STR_ARG(g->group_state),
                 settled && !as_targeted ? "Reconciling" : expected, g->group_epoch, g->assignment_epoch);
}

static void check_member(struct sim *sim, struct crowd *c, const described *g, int32_t i, int64_t sent_us, const char *how)
{
    const struct consumer_group_describe_response_member *m = &g->members.v[i];
    if (m->member_epoch > g->assignment_epoch || m->member_epoch < -2)
        sim_fail(sim, "%s: %s: member %.*s is in epoch %d of %d", how, c->id, STR_ARG(m->member_id), m->member_epoch, g->assignment_epoch);
    if (m->member_epoch > 0)
        crowd_rise_member(c, m->member_id, m->member_epoch, sent_us);
    for (uint32_t k = 0; k < c->count; k++) {
        const struct consumer *own = const_consumer_of(c->members[k]);
        bool same = str_eq(m->member_id, str_of(own->member.member_id)) && own->member.idle_from_us < sent_us &&
                    own->member.life == LIFE_MEMBER && member_is_sure(&own->member) && own->member.serial == 0;
        if (same && m->member_type != (own->classic ? 0 : 1))
            sim_fail(sim, "%s: %s: member %.*s is of type %d", how, c->id, STR_ARG(m->member_id), m->member_type);
    }
}

/* Nothing has two owners, nothing is to have two. Whether all have what they shall. */
static bool check_members(struct sim *sim, struct crowd *c, const described *g, int64_t sent_us, const char *how)
{
    char text[SET_TEXT_MAX];
    struct unit_set active = {0}, targets = {0};
    bool as_targeted = true;
    struct sight *sights = calloc((size_t)g->members.len + 1, sizeof(*sights));
    MUSTER_CHECK(sights != NULL);
    for (int32_t i = 0; i < g->members.len; i++) {
        const struct consumer_group_describe_response_member *m = &g->members.v[i];
        struct unit_set own = units_of(sim, &m->assignment), target = units_of(sim, &m->target_assignment);
        if (set_meets(&active, &own) || set_meets(&targets, &target))
            sim_fail(sim, "%s: %s: some of %s (target %d) have two owners", how, c->id, set_text(&own, text), set_meets(&targets, &target));
        as_targeted = as_targeted && set_equal(&own, &target);
        set_join(&active, &own);
        set_join(&targets, &target);
        set_free(&target);
        sights[i] =
            (struct sight){.member_id = m->member_id, .epoch = m->member_epoch, .assigned.role[ACTIVE] = own, .with_revoking = true};
        check_member(sim, c, g, i, sent_us, how);
    }
    crowd_check_sights(c, sights, g->members.len, sent_us, NULL, how);
    for (int32_t i = 0; i < g->members.len; i++)
        share_free(&sights[i].assigned);
    free(sights);
    set_free(&active);
    set_free(&targets);
    return as_targeted;
}

void consumer_check_group(struct sim *sim, struct crowd *c, const void *answer, int64_t sent_us, const char *how)
{
    const described *g = answer;
    if (g->error_code != NONE) { /* it is unknown, or a classic one */
        crowd_check_sights(c, NULL, 0, sent_us, consumer_plans[c->number].mixed ? &consumer_protocol : NULL, how);
        return;
    }
    crowd_rise(c, &c->epochs, g->group_epoch, sent_us, "group epoch");
    crowd_rise(c, &c->assignments, g->assignment_epoch, sent_us, "assignment epoch");
    if (g->assignment_epoch > g->group_epoch)
        sim_fail(sim, "%s: %s: assignment epoch %d of group epoch %d", how, c->id, g->assignment_epoch, g->group_epoch);
    bool as_targeted = check_members(sim, c, g, sent_us, how);
    check_state(sim, c, g, as_targeted, how);
    crowd_described(c, g->group_state, g->group_epoch, sent_us);
}

void consumer_check_classic(struct sim *sim, struct crowd *c, const void *answer, int64_t sent_us, const char *how)
{
    const struct describe_groups_response_described_group *g = answer;
    if (g->error_code == GROUP_ID_NOT_FOUND) /* it is a consumer group, or unknown */
        return;
    if (g->error_code != NONE) {
        sim_fail(sim, "%s: %s: error %d", how, c->id, g->error_code);
        return;
    }
    struct sight *sights = calloc((size_t)g->members.len + 1, sizeof(*sights));
    MUSTER_CHECK(sights != NULL);
    for (int32_t i = 0; i < g->members.len; i++)
        sights[i] = (struct sight){.member_id = g->members.v[i].member_id, .epoch = EPOCH_NOT_TOLD, .epoch_alone = true};
    crowd_check_sights(c, sights, g->members.len, sent_us, NULL, how);
    free(sights);
    if (g->members.len > 0 && str_eq(g->group_state, STR("Empty")))
        sim_fail(sim, "%s: %s is %.*s and has %d members", how, c->id, STR_ARG(g->group_state), g->members.len);
    crowd_described(c, g->group_state, EPOCH_NOT_TOLD, sent_us);
}

/* ---- right after a failover, before anybody has said anything ---- */

static void look_at(struct sim_node *n, uint32_t shard, struct crowd *c)
{
    struct sim *sim = n->sim;
    struct arena arena;
    struct group_listing listing;
    struct group_op op = {.kind = GROUP_CONSUMER_DESCRIBE, .api_key = 69, .api_version = 1, .group_id = str_of(c->id)};
    struct group_op classic = {.kind = GROUP_DESCRIBE, .api_key = 15, .api_version = 6, .group_id = str_of(c->id)};
    arena_init(&arena, 0);
    bool listed = group_listing(coord_set(n->coord, shard), str_of(c->id), &listing);
    const described *g = look_at_node(n, shard, &op, &arena);
    consumer_check_group(sim, c, g, sim->now_us, "a new coordinator");
    if (listed && str_eq(listing.type, STR("classic")))
        consumer_check_classic(sim, c, look_at_node(n, shard, &classic, &arena), sim->now_us, "a new coordinator");
    bool is_consumer = listed && str_eq(listing.type, STR("consumer"));
    if (is_consumer != (g->error_code == NONE) || (is_consumer && !str_eq(listing.state, g->group_state)))
        sim_fail(sim, "a new coordinator: %s is listed as %.*s %.*s, and described as %.*s (error %d)", c->id, STR_ARG(listing.type),
                 STR_ARG(listing.state), STR_ARG(g->group_state), g->error_code);
    sim->totals.consumer_looks++;
    arena_fini(&arena);
}

void consumers_look(struct sim_node *n, uint32_t shard)
{
    struct sim *sim = n->sim;
    if (sim->consumers == NULL || looks_superseded(n, shard))
        return;
    for (uint32_t group = 0; group < SIM_CONSUMER_GROUPS && !sim->failed; group++) {
        struct crowd *c = &sim->consumers->crowds[group];
        if (coord_shard_of(n->coord, str_of(c->id)) == shard)
            look_at(n, shard, c);
    }
}

/* ---- what is decided ---- */

/* It becomes a group of the other type while it has members. */
static void count_conversion(struct sim_node *n, uint32_t shard, const struct group_op *op, const struct group_out *out)
{
    struct group_listing listing;
    bool becomes_classic = false, becomes_consumer = false, ends = false;
    for (size_t k = 0; k < out->records.len; k++) {
        uint16_t type = get_be16(out->records.v[k].key.ptr);
        bool live = out->records.v[k].value.len >= 0;
        becomes_classic = becomes_classic || (type == RECORD_CLASSIC_GROUP && live);
        becomes_consumer = becomes_consumer || (type == RECORD_CONSUMER_GROUP_METADATA && live);
        ends = ends || ((type == RECORD_CLASSIC_GROUP || type == RECORD_CONSUMER_GROUP_METADATA) && !live);
    }
    if (!ends || becomes_classic == becomes_consumer || !group_listing(coord_set(n->coord, shard), op->group_id, &listing) ||
        str_eq(listing.state, STR("Empty")))
        return;
    n->sim->totals.upgrades += becomes_consumer;
    n->sim->totals.downgrades += becomes_classic;
    sim_say(n->sim, "node=%u group=%.*s becomes %s", n->id, STR_ARG(op->group_id), becomes_classic ? "classic" : "a consumer group");
}

void consumers_decided(struct sim_node *n, uint32_t shard, const struct group_op *op, const struct group_out *out)
{
    uint32_t i = 0;
    while (i < SIM_CONSUMER_GROUPS && !str_eq(op->group_id, str_of(n->sim->consumers->crowds[i].id)))
        i++;
    if (i == SIM_CONSUMER_GROUPS)
        return;
    if (op->kind == GROUP_JOB_DONE && group_job_kind(op->job) == GROUP_JOB_ASSIGN)
        n->sim->totals.consumer_assigned += out->records.len > 0;
    if (op->kind == GROUP_JOB_DONE && group_job_kind(op->job) == GROUP_JOB_RESOLVE)
        n->sim->totals.consumer_resolved += out->records.len > 0;
    if (consumer_plans[i].mixed)
        count_conversion(n, shard, op, out);
}
