/* record.c: what the records of a streams group say, from its state. ../modern/record.c gives them back in order. */
#include "streams.h"

/* ---- values ---------------------------------------------------------------------------------------------------------------------- */

struct streams_group_metadata_value streams_group_value(const struct modern *s, struct arena *arena)
{
    struct streams_group_metadata_value v;
    wire_init(&wire_streams_group_metadata_value, &v);
    if (s == NULL) {
        return v;
    }
    v.epoch = s->epoch;
    v.metadata_hash = s->metadata_hash;
    v.validated_topology_epoch = s->validated_topology_epoch;
    v.last_assignment_configs.len = s->config_count;
    v.last_assignment_configs.v =
        s->config_count <= 0 ? NULL : ARENA_NEW(arena, struct streams_group_metadata_value_last_assignment_config, s->config_count);
    for (int32_t i = 0; i < s->config_count; i++) {
        v.last_assignment_configs.v[i].key = s->configs[i].key;
        v.last_assignment_configs.v[i].value = s->configs[i].value;
    }
    v.stored_description_topology_epoch = s->stored_description_epoch;
    v.failed_description_topology_epoch = s->failed_description_epoch;
    v.endpoint_information_epoch = s->endpoint_epoch;
    v.shutdown_member_id = s->shutdown_member;
    v.topology_problem = s->problem;
    v.topology_problem_detail = s->problem_detail;
    v.assign_not_before_ms = s->assign_not_before_ms;
    v.empty_since_ms = s->empty_since_ms;
    v.initializing_member_id = s->initializing_member;
    v.initialize_until_ms = s->initialize_until_ms;
    return v;
}

static const void *member_value(const struct modern_member *m, struct arena *arena)
{
    struct streams_group_member_metadata_value *v = ARENA_NEW(arena, struct streams_group_member_metadata_value, 1);
    wire_init(&wire_streams_group_member_metadata_value, v);
    v->instance_id = m->instance_id;
    v->rack_id = m->rack_id;
    v->client_id = m->client_id;
    v->client_host = m->client_host;
    v->rebalance_timeout_ms = m->rebalance_timeout_ms;
    v->topology_epoch = m->topology_epoch;
    v->process_id = m->process_id;
    if (!str_is_null(m->endpoint_host)) {
        v->user_endpoint = ARENA_NEW(arena, struct streams_group_member_metadata_value_endpoint, 1);
        v->user_endpoint->host = m->endpoint_host;
        v->user_endpoint->port = m->endpoint_port;
    }
    v->client_tags.len = m->tag_count;
    v->client_tags.v = ARENA_NEW(arena, struct streams_group_member_metadata_value_key_value, m->tag_count);
    for (int32_t i = 0; i < m->tag_count; i++) {
        v->client_tags.v[i].key = m->tags[i].key;
        v->client_tags.v[i].value = m->tags[i].value;
    }
    return v;
}

static struct streams_group_target_assignment_member_value_task_ids_array target_tasks(struct units u, struct arena *arena)
{
    struct streams_group_target_assignment_member_value_task_ids_array tasks = {NULL, 0};
    tasks.v = ARENA_NEW(arena, struct streams_group_target_assignment_member_value_task_ids, units_runs(u));
    for (int32_t i = 0, len; i < u.len; i += len) {
        len = units_run_length(u, i);
        tasks.v[tasks.len].subtopology_id = u.v[i].name;
        tasks.v[tasks.len++].partitions = units_run_partitions(u, i, len, arena);
    }
    return tasks;
}

static const void *target_value(const struct holding *target, struct arena *arena)
{
    struct streams_group_target_assignment_member_value *v = ARENA_NEW(arena, struct streams_group_target_assignment_member_value, 1);
    v->active_tasks = target_tasks(target->kind[UNITS_ACTIVE], arena);
    v->standby_tasks = target_tasks(target->kind[UNITS_STANDBY], arena);
    v->warmup_tasks = target_tasks(target->kind[UNITS_WARMUP], arena);
    return v;
}

static struct streams_group_current_member_assignment_value_task_ids_array current_tasks(const struct holding *h, enum unit_kind kind,
                                                                                         struct arena *arena)
{
    struct units u = h->kind[kind];
    struct streams_group_current_member_assignment_value_task_ids_array tasks = {NULL, 0};
    tasks.v = ARENA_NEW(arena, struct streams_group_current_member_assignment_value_task_ids, units_runs(u));
    for (int32_t i = 0, len; i < u.len; i += len) {
        len = units_run_length(u, i);
        tasks.v[tasks.len].subtopology_id = u.v[i].name;
        tasks.v[tasks.len].partitions = units_run_partitions(u, i, len, arena);
        /* Active tasks always carry the epochs they were given with; the others, which nobody commits for, only if they have any. */
        tasks.v[tasks.len++].assignment_epochs = units_run_epochs(u, i, len, kind == UNITS_ACTIVE, arena);
    }
    return tasks;
}

static const void *current_value(const struct member_position *p, struct arena *arena)
{
    struct streams_group_current_member_assignment_value *v = ARENA_NEW(arena, struct streams_group_current_member_assignment_value, 1);
    wire_init(&wire_streams_group_current_member_assignment_value, v);
    v->member_epoch = p->epoch;
    v->previous_member_epoch = p->previous_epoch;
    v->state = (int8_t)p->state;
    v->active_tasks = current_tasks(&p->assigned, UNITS_ACTIVE, arena);
    v->standby_tasks = current_tasks(&p->assigned, UNITS_STANDBY, arena);
    v->warmup_tasks = current_tasks(&p->assigned, UNITS_WARMUP, arena);
    v->active_tasks_pending_revocation = current_tasks(&p->revoking, UNITS_ACTIVE, arena);
    v->standby_tasks_pending_revocation = current_tasks(&p->revoking, UNITS_STANDBY, arena);
    v->warmup_tasks_pending_revocation = current_tasks(&p->revoking, UNITS_WARMUP, arena);
    return v;
}

static struct streams_task_offsets_value_task_offset_array task_offsets(const struct task_offset *from, int32_t count, struct arena *arena)
{
    struct streams_task_offsets_value_task_offset_array offsets = {NULL, count};
    offsets.v = ARENA_NEW(arena, struct streams_task_offsets_value_task_offset, count);
    for (int32_t i = 0; i < count; i++) {
        offsets.v[i].subtopology_id = from[i].subtopology;
        offsets.v[i].partition = from[i].partition;
        offsets.v[i].offset = from[i].offset;
    }
    return offsets;
}

/* ---- the kind ------------------------------------------------------------------------------------------------------------------------------ */

static const void *group_value(const struct modern *s, struct arena *arena)
{
    struct streams_group_metadata_value *v = ARENA_NEW(arena, struct streams_group_metadata_value, 1);
    *v = streams_group_value(s, arena);
    return v;
}

static const void *assignment_value(const struct modern *s, struct arena *arena)
{
    struct streams_group_target_assignment_metadata_value *v = ARENA_NEW(arena, struct streams_group_target_assignment_metadata_value, 1);
    wire_init(&wire_streams_group_target_assignment_metadata_value, v);
    v->assignment_epoch = s->assignment_epoch;
    v->assignment_timestamp = s->assignment_wall_ms;
    v->assignment_clock_ms = s->assignment_clock_ms;
    return v;
}

static const void *regex_value(const struct modern_regex *r, struct arena *arena)
{
    struct streams_regular_expression_value *v = ARENA_NEW(arena, struct streams_regular_expression_value, 1);
    *v = (struct streams_regular_expression_value){.topics = r->topics, .version = r->version, .timestamp = r->timestamp};
    return v;
}

static const void *offsets_value(const struct modern_offsets *o, struct arena *arena)
{
    struct streams_task_offsets_value *v = ARENA_NEW(arena, struct streams_task_offsets_value, 1);
    v->task_offsets = task_offsets(o->offsets, o->offset_count, arena);
    v->task_end_offsets = task_offsets(o->end_offsets, o->end_offset_count, arena);
    return v;
}

const struct modern_kind streams_kind = {
    .type = GROUP_STREAMS,
    .noun = "streams group",
    .group_record = RECORD_STREAMS_GROUP_METADATA,
    .assignment_record = RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA,
    .regex_record = RECORD_STREAMS_REGULAR_EXPRESSION,
    .member_record = RECORD_STREAMS_GROUP_MEMBER_METADATA,
    .target_record = RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER,
    .current_record = RECORD_STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT,
    .topology_record = RECORD_STREAMS_GROUP_TOPOLOGY,
    .description_record = RECORD_STREAMS_TOPOLOGY_DESCRIPTION,
    .offsets_record = RECORD_STREAMS_TASK_OFFSETS,
    .group_value = group_value,
    .assignment_value = assignment_value,
    .member_value = member_value,
    .target_value = target_value,
    .current_value = current_value,
    .regex_value = regex_value,
    .offsets_value = offsets_value,
};
