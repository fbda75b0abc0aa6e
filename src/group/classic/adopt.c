/* adopt.c: the classic members of a consumer group go on as a classic group (consumer/downgrade.c). */
#include "draft.h"

static void write_member(struct decision *d, const struct classic_member *m)
{
    struct classic_member_key key = {.group_id = d->op->group_id, .member_id = m->member_id};
    struct classic_member_value value;
    classic_member_value_of(m, d->arena, &value);
    out_record(d, RECORD_CLASSIC_MEMBER, &key, 0, &value);
}

static void write_assignment(struct decision *d, const struct classic_member *m)
{
    struct classic_assignment_key key = {.group_id = d->op->group_id, .member_id = m->member_id};
    struct classic_assignment_value value = {.generation = m->assignment_generation, .assignment = m->assignment};
    out_record(d, RECORD_CLASSIC_ASSIGNMENT, &key, 0, &value);
}

static void write_group(struct decision *d, const struct classic_adoption *a)
{
    struct classic_group_key key = {.group_id = d->op->group_id};
    struct classic_group_value value;
    wire_init(&wire_classic_group_value, &value);
    value.protocol_type = STR("consumer");
    value.generation = a->generation;
    value.state = a->stable ? CLASSIC_STABLE : CLASSIC_PREPARING;
    value.protocol_name = a->protocol_name;
    value.leader = a->members[0]->member_id;
    value.state_timestamp_ms = d->op->clock_ms;
    value.state_wall_ms = d->op->wall_ms;
    value.assignments_since = a->generation;
    if (a->stable && d->op->settings->rebalance_on_partition_change) {
        value.topics_hash = classic_topics_hash(d, value.protocol_type, a->protocol_name, a->members, a->count);
    }
    out_record(d, RECORD_CLASSIC_GROUP, &key, 0, &value);
}

void classic_adopt(struct decision *d, const struct classic_adoption *a)
{
    MUSTER_CHECK(a->count > 0);
    for (int32_t i = 0; i < a->count; i++) {
        write_member(d, a->members[i]);
        write_assignment(d, a->members[i]);
    }
    write_group(d, a);
}

void classic_adopt_timers(struct decision *d, const struct classic_adoption *a)
{
    int32_t longest = 0;
    for (int32_t i = 0; i < a->count; i++) {
        const struct classic_member *m = a->members[i];
        longest = m->rebalance_timeout_ms > longest ? m->rebalance_timeout_ms : longest;
        out_timer(d, GROUP_TIMER_SESSION, m->member_id, a->generation, m->session_timeout_ms);
    }
    if (!a->stable) {
        out_timer(d, GROUP_TIMER_REBALANCE, STR(""), a->generation, longest);
    }
}
