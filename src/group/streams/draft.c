/* draft.c: the group as it would be, and the records that make it so. */
#include "draft.h"

#include <string.h>

static const struct streams no_streams = {
    .epoch = 1,
    .validated_topology_epoch = -1,
    .config_count = -1,
    .stored_description_epoch = -1,
    .failed_description_epoch = -1,
    .shutdown_member = {NULL, -1},
    .problem = TOPOLOGY_FINE,
    .problem_detail = {NULL, -1},
    .empty_since_ms = -1,
    .initializing_member = {NULL, -1},
    .raw = {NULL, -1},
    .assignment_raw = {NULL, -1},
};

void streams_draft_open(struct draft *t, struct decision *d, const struct group *g)
{
    memset(t, 0, sizeof *t);
    t->d = d;
    t->g = g;
    t->is_new = g == NULL || group_type(g) != GROUP_STREAMS;
    t->was = t->is_new ? &no_streams : g->streams;
    t->next = *t->was;
    t->member_id = STR_NULL;
    streams_configs(d->op->catalog, d->op->settings, d->op->group_id, d->arena, &t->configs);
}

/* ---- the epoch ------------------------------------------------------------------------------------------------------------- */

/* What the assignor goes by besides the members, as Kafka records it. */
static void set_configs(struct draft *t)
{
    const struct streams_configs *c = &t->configs;
    struct arena *arena = t->d->arena;
    struct key_value *v = ARENA_NEW(arena, struct key_value, 2);
    v[0] = (struct key_value){STR("num.standby.replicas"), arena_printf(arena, "%d", (int)c->num_standby_replicas)};
    t->next.config_count = 1;
    if (c->tags.len > 0) {
        struct str all = c->tags.v[0];
        for (int32_t i = 1; i < c->tags.len; i++) {
            all = arena_printf(arena, "%.*s,%.*s", STR_ARG(all), STR_ARG(c->tags.v[i]));
        }
        v[1] = (struct key_value){STR("rack.aware.assignment.tags"), all};
        t->next.config_count = 2;
    }
    t->next.configs = v;
}

void streams_draft_bump(struct draft *t)
{
    if (!t->bumped) {
        t->bumped = t->changed = true;
        t->next.epoch += t->next.epoch < INT32_MAX ? 1 : 0; /* a log may say anything */
        set_configs(t);
    }
}

/* ---- members ------------------------------------------------------------------------------------------------------------------ */

static const struct member_position nowhere = {.state = MEMBER_STABLE};

void streams_draft_hold(struct draft *t, const struct modern_slot *slot)
{
    MUSTER_CHECK(str_is_null(t->member_id));
    t->slot = slot;
    t->member_id = slot->member_id;
    t->put = slot->member;
    t->before = t->after = streams_position(slot);
    t->target = streams_target(slot);
}

static void admit(struct draft *t)
{
    if (t->next.member_count++ > 0) {
        return;
    }
    int32_t delay = t->configs.initial_rebalance_delay_ms;
    t->changed = true;
    t->next.empty_since_ms = -1;
    t->next.assign_not_before_ms = delay > 0 ? t->d->op->clock_ms + delay : 0;
    if (delay > 0) {
        out_timer(t->d, GROUP_TIMER_ASSIGN, STR(""), 0, delay);
    }
}

void streams_draft_add(struct draft *t, struct str member_id, const struct modern_slot *from)
{
    MUSTER_CHECK(str_is_null(t->member_id));
    t->member_id = member_id;
    t->before = nowhere;
    if (from != NULL) {
        t->gone = from;
        t->before.assigned = streams_position(from).assigned;
        t->target = streams_target(from);
        t->target_put = from->target.held != NULL;
        out_timer(t->d, GROUP_TIMER_SESSION, from->member_id, 0, -1);
    } else {
        admit(t);
    }
    t->after = t->before;
}

static void forget_members(struct draft *t)
{
    t->next.empty_since_ms = t->d->op->clock_ms;
    t->next.shutdown_member = STR_NULL;
    t->next.assign_not_before_ms = 0;
    t->next.has_assignment = true;
    t->next.assignment_epoch = t->next.epoch;
    t->next.assignment_wall_ms = t->next.assignment_clock_ms = 0; /* nobody was assigned anything: no interval begins */
    t->assignment_put = true;
    out_timer(t->d, GROUP_TIMER_ASSIGN, STR(""), 0, -1);
}

void streams_draft_remove(struct draft *t, const struct modern_slot *slot)
{
    MUSTER_CHECK(t->gone == NULL && slot->member != NULL);
    t->gone = slot;
    t->next.member_count--;
    streams_draft_bump(t);
    if (str_eq(t->next.initializing_member, slot->member_id)) {
        t->next.initializing_member = STR_NULL;
        t->next.initialize_until_ms = 0;
    }
    if (t->next.member_count == 0) {
        forget_members(t);
    }
    out_timer(t->d, GROUP_TIMER_SESSION, slot->member_id, 0, -1);
    if (streams_position(slot).state == MEMBER_UNREVOKED) {
        out_timer(t->d, GROUP_TIMER_REVOKE, slot->member_id, 0, -1);
    }
}

/* ---- records ---------------------------------------------------------------------------------------------------------------------- */

static void write_gone(const struct draft *t)
{
    const struct modern_slot *slot = t->gone;
    if (slot == NULL) {
        return;
    }
    /* The keys of all four are laid out alike. */
    struct streams_group_member_metadata_key key = {.group_id = t->d->op->group_id, .member_id = slot->member_id};
    if (slot->offsets != NULL) {
        out_record(t->d, RECORD_STREAMS_TASK_OFFSETS, &key, STREAMS_VALUE_VERSION, NULL);
    }
    if (slot->current != NULL) {
        out_record(t->d, RECORD_STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT, &key, STREAMS_VALUE_VERSION, NULL);
    }
    if (slot->target.held != NULL) {
        out_record(t->d, RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER, &key, STREAMS_VALUE_VERSION, NULL);
    }
    out_record(t->d, RECORD_STREAMS_GROUP_MEMBER_METADATA, &key, STREAMS_VALUE_VERSION, NULL);
}

static void write_member(const struct draft *t)
{
    if (t->member_put) {
        struct streams_group_member_metadata_key key = {.group_id = t->d->op->group_id, .member_id = t->member_id};
        struct streams_group_member_metadata_value value = streams_member_value(t->put, t->d->arena);
        out_record(t->d, RECORD_STREAMS_GROUP_MEMBER_METADATA, &key, STREAMS_VALUE_VERSION, &value);
    }
}

static void write_group(const struct draft *t)
{
    struct streams_group_metadata_key key = {.group_id = t->d->op->group_id};
    if (t->topology_put) {
        out_record(t->d, RECORD_STREAMS_GROUP_TOPOLOGY, &key, STREAMS_VALUE_VERSION, t->next.topology->value);
    }
#ifdef MUSTER_FAULT_DROP_TOPOLOGY
    if (t->next.member_count == 0 && t->next.topology != NULL)
        out_record(t->d, RECORD_STREAMS_GROUP_TOPOLOGY, &key, STREAMS_VALUE_VERSION, NULL);
#endif
    if (t->changed || t->is_new) {
        struct streams_group_metadata_value value = streams_group_value(&t->next, t->d->arena);
        out_record(t->d, RECORD_STREAMS_GROUP_METADATA, &key, STREAMS_VALUE_VERSION, &value);
    }
}

static void write_target(const struct draft *t, struct str member_id, const struct holding *target)
{
    struct streams_group_target_assignment_member_key key = {.group_id = t->d->op->group_id, .member_id = member_id};
    struct streams_group_target_assignment_member_value value = streams_target_value(target, t->d->arena);
    out_record(t->d, RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER, &key, STREAMS_VALUE_VERSION, &value);
}

/* Only those whose target differs from what is recorded. Members of the result and slots both are in order of ids. */
static void write_targets(const struct draft *t)
{
    int32_t at = 0;
    for (int32_t i = 0; i < t->assigned->count; i++) {
        const struct assigned_member *m = &t->assigned->members[i];
        while (at < t->was->slot_count && str_cmp(t->was->slots[at].member_id, m->member_id) < 0) {
            at++;
        }
        bool known = at < t->was->slot_count && str_eq(t->was->slots[at].member_id, m->member_id);
        struct holding old = known ? streams_target(&t->was->slots[at]) : (struct holding){0};
        if (!known || t->was->slots[at].target.held == NULL || !holding_equal(&old, &m->target)) {
            write_target(t, m->member_id, &m->target);
        }
    }
}

static void write_assignment(const struct draft *t)
{
    if (t->assigned != NULL) {
        write_targets(t);
    } else if (t->target_put) {
        write_target(t, t->member_id, &t->target);
    }
    if (t->assignment_put) {
        struct streams_group_target_assignment_metadata_key key = {.group_id = t->d->op->group_id};
        struct streams_group_target_assignment_metadata_value value = {.assignment_epoch = t->next.assignment_epoch,
                                                                       .assignment_timestamp = t->next.assignment_wall_ms,
                                                                       .assignment_clock_ms = t->next.assignment_clock_ms};
        out_record(t->d, RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA, &key, STREAMS_VALUE_VERSION, &value);
    }
}

static void write_position(const struct draft *t)
{
    if (str_is_null(t->member_id)) {
        return;
    }
    struct streams_group_current_member_assignment_key key = {.group_id = t->d->op->group_id, .member_id = t->member_id};
    if (t->position_put) {
        struct streams_group_current_member_assignment_value value = streams_current_value(&t->after, t->d->arena);
        out_record(t->d, RECORD_STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT, &key, STREAMS_VALUE_VERSION, &value);
    }
    if (t->offsets_put) {
        bool none = t->offsets.task_offsets.len == 0 && t->offsets.task_end_offsets.len == 0;
        out_record(t->d, RECORD_STREAMS_TASK_OFFSETS, &key, STREAMS_VALUE_VERSION, none ? NULL : &t->offsets);
    }
}

void streams_draft_close(struct draft *t)
{
    write_gone(t);
    write_member(t);
    streams_draft_write_regexes(t);
    write_group(t);
    write_assignment(t);
    write_position(t);
    if (t->is_new && t->g != NULL) {
        classic_tombstones(t->d, t->g); /* last: the group is a streams group by then, so that it never seems to be gone */
    }
}
