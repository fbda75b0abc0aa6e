/* record.c: what the records of a consumer group say, from its state. ../modern/record.c gives them back in order. */
#include "consumer.h"

static const void *group_value(const struct modern *s, struct arena *arena)
{
    struct consumer_group_metadata_value *v = ARENA_NEW(arena, struct consumer_group_metadata_value, 1);
    wire_init(&wire_consumer_group_metadata_value, v);
    v->epoch = s->epoch;
    v->metadata_hash = s->metadata_hash;
    v->empty_since_ms = s->empty_since_ms;
    return v;
}

static const void *assignment_value(const struct modern *s, struct arena *arena)
{
    struct consumer_group_target_assignment_metadata_value *v = ARENA_NEW(arena, struct consumer_group_target_assignment_metadata_value, 1);
    wire_init(&wire_consumer_group_target_assignment_metadata_value, v);
    v->assignment_epoch = s->assignment_epoch;
    v->assignment_timestamp = s->assignment_wall_ms;
    v->assignment_clock_ms = s->assignment_clock_ms;
    return v;
}

static struct consumer_group_member_metadata_value_classic_member_metadata *classic_value(const struct modern_member *m,
                                                                                          struct arena *arena)
{
    struct consumer_group_member_metadata_value_classic_member_metadata *v =
        ARENA_NEW(arena, struct consumer_group_member_metadata_value_classic_member_metadata, 1);
    v->session_timeout_ms = m->classic_session_timeout_ms;
    v->supported_protocols.len = m->protocol_count;
    v->supported_protocols.v = ARENA_NEW(arena, struct consumer_group_member_metadata_value_classic_protocol, m->protocol_count);
    for (int32_t i = 0; i < m->protocol_count; i++) {
        v->supported_protocols.v[i].name = m->protocols[i].name;
        v->supported_protocols.v[i].metadata = m->protocols[i].metadata;
    }
    return v;
}

static const void *member_value(const struct modern_member *m, struct arena *arena)
{
    struct consumer_group_member_metadata_value *v = ARENA_NEW(arena, struct consumer_group_member_metadata_value, 1);
    wire_init(&wire_consumer_group_member_metadata_value, v);
    v->instance_id = m->instance_id;
    v->rack_id = m->rack_id;
    v->client_id = m->client_id;
    v->client_host = m->client_host;
    v->subscribed_topic_names = m->topics;
    v->subscribed_topic_regex = m->regex;
    v->rebalance_timeout_ms = m->rebalance_timeout_ms;
    v->server_assignor = m->assignor;
    v->classic_member_metadata = m->is_classic ? classic_value(m, arena) : NULL;
    return v;
}

static const void *target_value(const struct holding *target, struct arena *arena)
{
    struct units u = target->kind[UNITS_ACTIVE];
    struct consumer_group_target_assignment_member_value *v = ARENA_NEW(arena, struct consumer_group_target_assignment_member_value, 1);
    struct consumer_group_target_assignment_member_value_topic_partition_array *topics = &v->topic_partitions;
    topics->v = ARENA_NEW(arena, struct consumer_group_target_assignment_member_value_topic_partition, units_runs(u));
    for (int32_t i = 0, len; i < u.len; i += len) {
        len = units_run_length(u, i);
        topics->v[topics->len].topic_id = topic_of_unit(u.v[i].name);
        topics->v[topics->len++].partitions = units_run_partitions(u, i, len, arena);
    }
    return v;
}

static struct consumer_group_current_member_assignment_value_topic_partitions_array current_topics(struct units u, struct arena *arena)
{
    struct consumer_group_current_member_assignment_value_topic_partitions_array topics = {NULL, 0};
    topics.v = ARENA_NEW(arena, struct consumer_group_current_member_assignment_value_topic_partitions, units_runs(u));
    for (int32_t i = 0, len; i < u.len; i += len) {
        len = units_run_length(u, i);
        topics.v[topics.len].topic_id = topic_of_unit(u.v[i].name);
        topics.v[topics.len].partitions = units_run_partitions(u, i, len, arena);
        topics.v[topics.len++].assignment_epochs = units_run_epochs(u, i, len, true, arena);
    }
    return topics;
}

static const void *current_value(const struct member_position *p, struct arena *arena)
{
    struct consumer_group_current_member_assignment_value *v = ARENA_NEW(arena, struct consumer_group_current_member_assignment_value, 1);
    wire_init(&wire_consumer_group_current_member_assignment_value, v);
    v->member_epoch = p->epoch;
    v->previous_member_epoch = p->previous_epoch;
    v->state = (int8_t)((int)p->state - 1);
    v->assigned_partitions = current_topics(p->assigned.kind[UNITS_ACTIVE], arena);
    v->partitions_pending_revocation = current_topics(p->revoking.kind[UNITS_ACTIVE], arena);
    return v;
}

static const void *regex_value(const struct modern_regex *r, struct arena *arena)
{
    struct consumer_group_regular_expression_value *v = ARENA_NEW(arena, struct consumer_group_regular_expression_value, 1);
    *v = (struct consumer_group_regular_expression_value){.topics = r->topics, .version = r->version, .timestamp = r->timestamp};
    return v;
}

const struct modern_kind consumer_kind = {
    .type = GROUP_CONSUMER,
    .noun = "consumer group",
    .group_record = RECORD_CONSUMER_GROUP_METADATA,
    .assignment_record = RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA,
    .regex_record = RECORD_CONSUMER_GROUP_REGULAR_EXPRESSION,
    .member_record = RECORD_CONSUMER_GROUP_MEMBER_METADATA,
    .target_record = RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER,
    .current_record = RECORD_CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
    .topology_record = -1,
    .description_record = -1,
    .offsets_record = -1,
    .group_value = group_value,
    .assignment_value = assignment_value,
    .member_value = member_value,
    .target_value = target_value,
    .current_value = current_value,
    .regex_value = regex_value,
};
