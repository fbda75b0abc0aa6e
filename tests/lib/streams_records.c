#include "streams_records.h"

static struct record draw_group(struct record_draw *d)
{
    struct streams_group_metadata_key key = {.group_id = drawn_group(d)};
    struct streams_group_metadata_value v;
    struct streams_group_metadata_value_last_assignment_config configs[2] = {{STR("num.standby.replicas"), drawn_name(d, "", 3)},
                                                                             {STR("rack.aware.assignment.tags"), STR("z")}};
    wire_init(&wire_streams_group_metadata_value, &v);
    v.epoch = drawn_number(d);
    v.metadata_hash = drawn_number(d);
    v.validated_topology_epoch = drawn_number(d);
    v.last_assignment_configs.v = configs;
    v.last_assignment_configs.len = (int32_t)drawn_below(d, 4) - 1;
    v.last_assignment_configs.len = v.last_assignment_configs.len > 2 ? 2 : v.last_assignment_configs.len;
    v.endpoint_information_epoch = drawn_number(d);
    v.shutdown_member_id = drawn_maybe(d, drawn_member(d));
    v.topology_problem = (int8_t)(drawn_below(d, 2) == 0 ? -1 : drawn_number(d));
    v.topology_problem_detail = drawn_maybe(d, drawn_name(d, "why ", 3));
    v.assign_not_before_ms = drawn_number(d);
    v.empty_since_ms = drawn_number(d);
    v.initializing_member_id = drawn_maybe(d, drawn_member(d));
    return wire_record_encode(RECORD_STREAMS_GROUP_METADATA, &key, 0, &v, d->arena);
}

static struct record draw_assignment(struct record_draw *d)
{
    struct streams_group_target_assignment_metadata_key key = {.group_id = drawn_group(d)};
    struct streams_group_target_assignment_metadata_value v;
    wire_init(&wire_streams_group_target_assignment_metadata_value, &v);
    v.assignment_epoch = drawn_number(d);
    v.assignment_timestamp = drawn_number(d);
    v.assignment_clock_ms = drawn_number(d);
    return wire_record_encode(RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA, &key, 0, &v, d->arena);
}

static struct record draw_topology(struct record_draw *d)
{
    struct streams_group_topology_key key = {.group_id = drawn_group(d)};
    struct streams_group_topology_value v;
    struct streams_group_topology_value_topic_config config = {STR("cleanup.policy"), drawn_name(d, "compact", 2)};
    struct streams_group_topology_value_topic_info info = {.name = drawn_name(d, "changelog-", 3),
                                                           .partitions = drawn_number(d),
                                                           .replication_factor = 1,
                                                           .topic_configs = {&config, (int32_t)drawn_below(d, 2)}};
    struct int16_array indexes = {(int16_t[]){0, 1}, (int32_t)drawn_below(d, 3)};
    struct streams_group_topology_value_copartition_group copartition = {.source_topics = indexes};
    struct streams_group_topology_value_subtopology subtopologies[2];
    for (int i = 0; i < 2; i++) {
        wire_init_type(wire_streams_group_topology_value.type->fields[1].type, &subtopologies[i]);
        subtopologies[i].subtopology_id = drawn_name(d, "", 3);
        subtopologies[i].source_topics = drawn_names(d, "t-");
        subtopologies[i].source_topic_regex = drawn_names(d, "r.");
        subtopologies[i].state_changelog_topics.v = &info;
        subtopologies[i].state_changelog_topics.len = (int32_t)drawn_below(d, 2);
        subtopologies[i].repartition_sink_topics = drawn_names(d, "s-");
        subtopologies[i].copartition_groups.v = &copartition;
        subtopologies[i].copartition_groups.len = (int32_t)drawn_below(d, 2);
    }
    wire_init(&wire_streams_group_topology_value, &v);
    v.epoch = drawn_number(d);
    v.subtopologies.v = subtopologies;
    v.subtopologies.len = (int32_t)drawn_below(d, 3);
    v.topology_id = drawn_maybe(d, drawn_name(d, "id-", 3));
    return wire_record_encode(RECORD_STREAMS_GROUP_TOPOLOGY, &key, 0, &v, d->arena);
}

static struct record draw_description(struct record_draw *d)
{
    struct streams_topology_description_key key = {.group_id = drawn_group(d)};
    struct streams_topology_description_value v;
    struct streams_topology_description_value_subtopology subtopology = {.subtopology_id = drawn_name(d, "", 3)};
    wire_init(&wire_streams_topology_description_value, &v);
    v.topology_epoch = drawn_number(d);
    v.subtopologies.v = &subtopology;
    v.subtopologies.len = (int32_t)drawn_below(d, 2);
    return wire_record_encode(RECORD_STREAMS_TOPOLOGY_DESCRIPTION, &key, 0, &v, d->arena);
}

static struct record draw_regex(struct record_draw *d)
{
    struct streams_regular_expression_key key = {.group_id = drawn_group(d), .regular_expression = drawn_name(d, "r.", 3)};
    struct streams_regular_expression_value v = {.topics = drawn_names(d, "t-"), .version = drawn_number(d), .timestamp = drawn_number(d)};
    return wire_record_encode(RECORD_STREAMS_REGULAR_EXPRESSION, &key, 0, &v, d->arena);
}

static struct record draw_member(struct record_draw *d)
{
    struct streams_group_member_metadata_key key = {.group_id = drawn_group(d), .member_id = drawn_member(d)};
    struct streams_group_member_metadata_value v;
    struct streams_group_member_metadata_value_endpoint endpoint = {.host = drawn_name(d, "h", 2), .port = (uint16_t)drawn_below(d, 65536)};
    struct streams_group_member_metadata_value_key_value tags[2] = {{STR("zone"), drawn_name(d, "z", 2)}, {STR("rack"), STR("")}};
    wire_init(&wire_streams_group_member_metadata_value, &v);
    v.instance_id = drawn_maybe(d, drawn_name(d, "i-", 2));
    v.rack_id = drawn_maybe(d, drawn_name(d, "rack", 2));
    v.client_id = drawn_name(d, "c", 2);
    v.client_host = STR("/127.0.0.1");
    v.rebalance_timeout_ms = drawn_number(d);
    v.topology_epoch = drawn_number(d);
    v.process_id = drawn_name(d, "p", 3);
    v.user_endpoint = drawn_below(d, 2) == 0 ? NULL : &endpoint;
    v.client_tags.v = tags;
    v.client_tags.len = (int32_t)drawn_below(d, 3);
    return wire_record_encode(RECORD_STREAMS_GROUP_MEMBER_METADATA, &key, 0, &v, d->arena);
}

static struct streams_group_target_assignment_member_value_task_ids_array target_tasks(struct record_draw *d)
{
    struct streams_group_target_assignment_member_value_task_ids_array a = {NULL, (int32_t)drawn_below(d, 3)};
    bool tidy = drawn_below(d, 4) != 0;
    a.v = ARENA_NEW(d->arena, struct streams_group_target_assignment_member_value_task_ids, a.len);
    for (int32_t i = 0; i < a.len; i++) {
        a.v[i].subtopology_id = tidy ? arena_printf(d->arena, "%d", (int)i) : drawn_name(d, "", 3);
        a.v[i].partitions = drawn_partitions(d);
    }
    return a;
}

static struct record draw_target(struct record_draw *d)
{
    struct streams_group_target_assignment_member_key key = {.group_id = drawn_group(d), .member_id = drawn_member(d)};
    struct streams_group_target_assignment_member_value v = {.active_tasks = target_tasks(d),
                                                             .standby_tasks = target_tasks(d),
                                                             .warmup_tasks = target_tasks(d)};
    return wire_record_encode(RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER, &key, 0, &v, d->arena);
}

static struct streams_group_current_member_assignment_value_task_ids_array current_tasks(struct record_draw *d, bool active)
{
    struct streams_group_target_assignment_member_value_task_ids_array same = target_tasks(d);
    struct streams_group_current_member_assignment_value_task_ids_array a = {NULL, same.len};
    bool odd = drawn_below(d, 6) == 0;
    a.v = ARENA_NEW(d->arena, struct streams_group_current_member_assignment_value_task_ids, a.len);
    for (int32_t i = 0; i < a.len; i++) {
        a.v[i].subtopology_id = same.v[i].subtopology_id;
        a.v[i].partitions = same.v[i].partitions;
        a.v[i].assignment_epochs.len = (active != odd) ? a.v[i].partitions.len : -1;
        if (odd && drawn_below(d, 2) == 0) {
            a.v[i].assignment_epochs.len = (int32_t)drawn_below(d, 4);
        }
        a.v[i].assignment_epochs.v = ARENA_NEW(d->arena, int32_t, 4);
        for (int32_t k = 0; k < a.v[i].assignment_epochs.len; k++) {
            a.v[i].assignment_epochs.v[k] = drawn_number(d);
        }
    }
    return a;
}

static struct record draw_current(struct record_draw *d)
{
    struct streams_group_current_member_assignment_key key = {.group_id = drawn_group(d), .member_id = drawn_member(d)};
    struct streams_group_current_member_assignment_value v = {.member_epoch = drawn_number(d),
                                                              .previous_member_epoch = drawn_number(d),
                                                              .state = (int8_t)drawn_number(d),
                                                              .active_tasks = current_tasks(d, true),
                                                              .standby_tasks = current_tasks(d, false),
                                                              .warmup_tasks = current_tasks(d, false),
                                                              .active_tasks_pending_revocation = current_tasks(d, true),
                                                              .standby_tasks_pending_revocation = current_tasks(d, false),
                                                              .warmup_tasks_pending_revocation = current_tasks(d, false)};
    return wire_record_encode(RECORD_STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT, &key, 0, &v, d->arena);
}

static struct streams_task_offsets_value_task_offset_array task_offsets(struct record_draw *d)
{
    struct streams_task_offsets_value_task_offset_array a = {NULL, (int32_t)drawn_below(d, 4)};
    a.v = ARENA_NEW(d->arena, struct streams_task_offsets_value_task_offset, a.len);
    for (int32_t i = 0; i < a.len; i++) {
        a.v[i].subtopology_id = drawn_name(d, "", 3);
        a.v[i].partition = drawn_number(d);
        a.v[i].offset = drawn_number(d);
    }
    return a;
}

static struct record draw_offsets(struct record_draw *d)
{
    struct streams_task_offsets_key key = {.group_id = drawn_group(d), .member_id = drawn_member(d)};
    struct streams_task_offsets_value v = {.task_offsets = task_offsets(d), .task_end_offsets = task_offsets(d)};
    return wire_record_encode(RECORD_STREAMS_TASK_OFFSETS, &key, 0, &v, d->arena);
}

struct record draw_streams_record(struct record_draw *d)
{
    static struct record (*const drawers[])(struct record_draw *) = {draw_group,       draw_assignment, draw_topology,
                                                                     draw_description, draw_regex,      draw_member,
                                                                     draw_target,      draw_current,    draw_offsets};
    enum { NO_TAGS_OF_ITS_OWN = 3 }; /* from the description on */
    size_t which = (size_t)drawn_below(d, COUNT_OF(drawers));
    struct record record = drawers[which](d);
    uint64_t form = drawn_below(d, 16);
    if (form < 4) {
        record.value = BYTES_NULL;
    } else if (form == 4 && which >= NO_TAGS_OF_ITS_OWN) {
        record.value = drawn_with_unknown_tag(d, record.value);
    }
    return record;
}
