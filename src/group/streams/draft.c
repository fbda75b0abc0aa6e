/* draft.c: what a draft of a streams group does besides: the configs it was bumped with, what ends with its members, its topology, task offsets. */
#include "draft.h"

/* What the assignor goes by besides the members, as Kafka records it. */
static void set_configs(struct draft *t)
{
    const struct streams_configs *c = &streams_part(t)->configs;
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

static void forget_member(struct draft *t, const struct modern_slot *slot)
{
    if (str_eq(t->next.initializing_member, slot->member_id)) {
        t->next.initializing_member = STR_NULL;
        t->next.initialize_until_ms = 0;
    }
    if (t->next.member_count == 0) {
        t->next.shutdown_member = STR_NULL;
    }
}

/* ---- records ---------------------------------------------------------------------------------------------------------------------- */

static bool topology_reads_regex(const void *ctx, struct str regex)
{
    const topology *own = ctx;
    for (int32_t i = 0; own != NULL && i < own->subtopologies.len; i++) {
        const struct str_array *regexes = &own->subtopologies.v[i].source_topic_regex;
        for (int32_t k = 0; k < regexes->len; k++) {
            if (str_eq(regexes->v[k], regex)) {
                return true;
            }
        }
    }
    return false;
}

static void write_topology(const struct draft *t)
{
    struct streams_group_topology_key key = {.group_id = t->d->op->group_id};
    if (streams_part(t)->topology_put || t->regexes != NULL) {
        draft_write_regexes(t, topology_reads_regex, draft_topology(t));
    }
    if (streams_part(t)->topology_put) {
        out_record(t->d, RECORD_STREAMS_GROUP_TOPOLOGY, &key, MODERN_VALUE_VERSION, t->next.topology->value);
    }
#ifdef MUSTER_FAULT_DROP_TOPOLOGY
    if (t->next.member_count == 0 && t->next.topology != NULL)
        out_record(t->d, RECORD_STREAMS_GROUP_TOPOLOGY, &key, MODERN_VALUE_VERSION, NULL);
#endif
}

static void write_rest(const struct draft *t)
{
    const struct streams_draft *own = streams_part(t);
    if (own->offsets_put) {
        struct streams_task_offsets_key key = {.group_id = t->d->op->group_id, .member_id = t->member_id};
        bool none = own->offsets.task_offsets.len == 0 && own->offsets.task_end_offsets.len == 0;
        out_record(t->d, RECORD_STREAMS_TASK_OFFSETS, &key, MODERN_VALUE_VERSION, none ? NULL : &own->offsets);
    }
    if (t->is_new && t->g != NULL) {
        classic_tombstones(t->d, t->g); /* last: the group is a streams group by then, so that it never seems to be gone */
    }
}

/* ---- the kind ---------------------------------------------------------------------------------------------------------------------- */

static const struct draft_kind kind = {
    .records = &streams_kind,
    .rules = streams_rules,
    .shared_rules = {[SHARED_UNKNOWN_MEMBER] = STREAMS_RULE_UNKNOWN_MEMBER,
                     [SHARED_UNKNOWN_INSTANCE] = STREAMS_RULE_UNKNOWN_INSTANCE,
                     [SHARED_FENCED_INSTANCE] = STREAMS_RULE_FENCED_INSTANCE,
                     [SHARED_EPOCH_AHEAD] = STREAMS_RULE_EPOCH_AHEAD,
                     [SHARED_EPOCH_BEHIND] = STREAMS_RULE_EPOCH_BEHIND,
                     [SHARED_GROUP_FULL] = STREAMS_RULE_JOIN_GROUP_FULL,
                     [SHARED_NO_ROOM] = STREAMS_RULE_NO_ROOM,
                     [SHARED_UNRELEASED] = STREAMS_RULE_JOIN_UNRELEASED,
                     [SHARED_SESSION_MOOT] = STREAMS_RULE_SESSION_MOOT,
                     [SHARED_SESSION_EXPIRED] = STREAMS_RULE_SESSION_EXPIRED,
                     [SHARED_REVOKE_MOOT] = STREAMS_RULE_REVOKE_MOOT,
                     [SHARED_REVOKE_EXPIRED] = STREAMS_RULE_REVOKE_EXPIRED},
    .nothing = {.epoch = 1,
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
                .assignment_raw = {NULL, -1}},
    .bumped = set_configs,
    .removed = forget_member,
    .before_group = write_topology,
    .after_position = write_rest,
};

void streams_draft_open(struct draft *t, struct decision *d, const struct group *g)
{
    draft_open(t, &kind, d, g);
    t->more = ARENA_NEW(d->arena, struct streams_draft, 1);
    struct streams_configs *c = &streams_part(t)->configs;
    streams_configs(d->op->catalog, d->op->settings, d->op->group_id, d->arena, c);
    t->timing = (struct modern_timing){.session_timeout_ms = c->session_timeout_ms,
                                       .heartbeat_interval_ms = c->heartbeat_interval_ms,
                                       .hold_ms = t->d->op->settings->streams.hold_ms,
                                       .assignment_interval_ms = c->assignment_interval_ms,
                                       .initial_delay_ms = c->initial_rebalance_delay_ms};
}
