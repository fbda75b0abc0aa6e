/* apply.c: what the records of a consumer group say. ../modern/apply.c has what they do to its state. */
#include "consumer.h"

/* ---- ConsumerGroupMetadata, ConsumerGroupTargetAssignmentMetadata ---------------------------------------------------------------- */

void consumer_apply_group(const struct apply_context *c, const struct consumer_group_metadata_key *key,
                          const struct consumer_group_metadata_value *value)
{
    struct group *g;
    struct modern *s = modern_state(c, &consumer_kind, key->group_id, &g);
    if (s == NULL) {
        return;
    }
    struct consumer_group_metadata_value none;
    wire_init(&wire_consumer_group_metadata_value, &none);
    const struct consumer_group_metadata_value *v = value == NULL ? &none : value;
    s->epoch = v->epoch;
    s->metadata_hash = v->metadata_hash;
    s->empty_since_ms = v->empty_since_ms;
    modern_applied_group(c, &consumer_kind, g);
}

void consumer_apply_assignment(const struct apply_context *c, const struct consumer_group_target_assignment_metadata_key *key,
                               const struct consumer_group_target_assignment_metadata_value *value)
{
    struct modern_assigned said = {0};
    if (value != NULL) {
        said = (struct modern_assigned){value->assignment_epoch, value->assignment_timestamp, value->assignment_clock_ms};
    }
    modern_apply_assignment(c, &consumer_kind, key->group_id, value == NULL ? NULL : &said);
}

/* ---- ConsumerGroupRegularExpression ------------------------------------------------------------------------------------------------ */

void consumer_apply_regex(const struct apply_context *c, const struct consumer_group_regular_expression_key *key,
                          const struct consumer_group_regular_expression_value *value)
{
    struct modern_regex said = {0};
    if (value != NULL) {
        said = (struct modern_regex){.topics = value->topics, .version = value->version, .timestamp = value->timestamp};
    }
    modern_apply_regex(c, &consumer_kind, key->group_id, key->regular_expression, value == NULL ? NULL : &said);
}

/* ---- ConsumerGroupMemberMetadata ----------------------------------------------------------------------------------------------------- */

struct protocols { /* of a member that speaks the classic protocol */
    const struct consumer_group_member_metadata_value_classic_protocol *v;
    int32_t len;
};

static struct protocols protocols_of(const struct consumer_group_member_metadata_value *v)
{
    const struct consumer_group_member_metadata_value_classic_member_metadata *classic = v->classic_member_metadata;
    return classic == NULL ? (struct protocols){NULL, 0}
                           : (struct protocols){classic->supported_protocols.v, classic->supported_protocols.len};
}

static size_t member_size(const struct consumer_group_member_metadata_value *v, const struct str_array *topics)
{
    struct protocols protocols = protocols_of(v);
    size_t bytes = sizeof(struct modern_member) + (size_t)topics->len * sizeof(struct str) +
                   (size_t)protocols.len * sizeof(struct classic_protocol) + text_size(v->instance_id) + text_size(v->rack_id) +
                   text_size(v->client_id) + text_size(v->client_host) + text_size(v->subscribed_topic_regex) +
                   text_size(v->server_assignor);
    for (int32_t i = 0; i < topics->len; i++) {
        bytes += text_size(topics->v[i]);
    }
    for (int32_t i = 0; i < protocols.len; i++) {
        bytes += text_size(protocols.v[i].name) + (protocols.v[i].metadata.len > 0 ? (size_t)protocols.v[i].metadata.len : 0);
    }
    return bytes;
}

static void member_fill(struct modern_member *m, const struct consumer_group_member_metadata_value *v, const struct str_array *topics)
{
    struct protocols protocols = protocols_of(v);
    char *text = (char *)(m->protocols + protocols.len);
    m->instance_id = text_put(&text, v->instance_id);
    m->rack_id = text_put(&text, v->rack_id);
    m->client_id = text_put(&text, v->client_id);
    m->client_host = text_put(&text, v->client_host);
    m->regex = text_put(&text, v->subscribed_topic_regex);
    m->assignor = text_put(&text, v->server_assignor);
    for (int32_t i = 0; i < topics->len; i++) {
        m->topics.v[i] = text_put(&text, topics->v[i]);
    }
    for (int32_t i = 0; i < protocols.len; i++) {
        m->protocols[i].name = text_put(&text, protocols.v[i].name);
        m->protocols[i].metadata = bytes_put(&text, protocols.v[i].metadata);
    }
}

static struct modern_member *member_new(const struct apply_context *c, const struct consumer_group_member_metadata_value *v)
{
    struct str_array topics = names_sorted(&v->subscribed_topic_names, c->scratch);
    size_t bytes = member_size(v, &topics);
    struct modern_member *m = pool_get(c->set->pool, bytes);
    m->bytes = bytes;
    m->topics = (struct str_array){(struct str *)(m + 1), topics.len};
    m->protocols = (struct classic_protocol *)(m->topics.v + topics.len);
    m->protocol_count = protocols_of(v).len;
    m->rebalance_timeout_ms = v->rebalance_timeout_ms;
    m->is_classic = v->classic_member_metadata != NULL;
    m->classic_session_timeout_ms = m->is_classic ? v->classic_member_metadata->session_timeout_ms : 0;
    m->process_id = STR_NULL;
    m->endpoint_host = STR_NULL;
    member_fill(m, v, &topics);
    return m;
}

void consumer_apply_member(const struct apply_context *c, const struct consumer_group_member_metadata_key *key,
                           const struct consumer_group_member_metadata_value *value)
{
    modern_apply_member(c, &consumer_kind, key->group_id, key->member_id, value == NULL ? NULL : member_new(c, value));
}

/* ---- ConsumerGroupTargetAssignmentMember, ConsumerGroupCurrentMemberAssignment -------------------------------------------------------- */

static struct units target_units(const struct consumer_group_target_assignment_member_value_topic_partition_array *topics,
                                 struct arena *arena)
{
    struct unit_list list;
    unit_list_init(&list, arena);
    for (int32_t i = 0; i < topics->len; i++) {
        for (int32_t k = 0; k < topics->v[i].partitions.len; k++) {
            unit_list_add(&list, unit_of_topic(&topics->v[i].topic_id), topics->v[i].partitions.v[k], 0);
        }
    }
    return unit_list_finish(&list);
}

void consumer_apply_target(const struct apply_context *c, const struct consumer_group_target_assignment_member_key *key,
                           const struct consumer_group_target_assignment_member_value *value)
{
    struct holding target = {0};
    if (value != NULL) {
        target.kind[UNITS_ACTIVE] = target_units(&value->topic_partitions, c->scratch);
    }
    modern_apply_target(c, &consumer_kind, key->group_id, key->member_id, value == NULL ? NULL : &target);
}

static struct units current_units(const struct consumer_group_current_member_assignment_value_topic_partitions_array *topics,
                                  struct arena *arena)
{
    struct unit_list list;
    unit_list_init(&list, arena);
    for (int32_t i = 0; i < topics->len; i++) {
        const struct consumer_group_current_member_assignment_value_topic_partitions *of_topic = &topics->v[i];
        for (int32_t k = 0; k < of_topic->partitions.len; k++) {
            int32_t epoch = k < of_topic->assignment_epochs.len ? of_topic->assignment_epochs.v[k] : 0;
            unit_list_add(&list, unit_of_topic(&of_topic->topic_id), of_topic->partitions.v[k], epoch);
        }
    }
    return unit_list_finish(&list);
}

void consumer_apply_current(const struct apply_context *c, const struct consumer_group_current_member_assignment_key *key,
                            const struct consumer_group_current_member_assignment_value *value)
{
    struct member_position p = {.state = MEMBER_STABLE};
    if (value != NULL) {
        p.epoch = value->member_epoch;
        p.previous_epoch = value->previous_member_epoch;
        p.state = (enum member_state)(value->state + 1); /* Kafka counts them from 0 here, from 1 in streams groups */
        p.assigned.kind[UNITS_ACTIVE] = current_units(&value->assigned_partitions, c->scratch);
        p.revoking.kind[UNITS_ACTIVE] = current_units(&value->partitions_pending_revocation, c->scratch);
    }
    modern_apply_current(c, &consumer_kind, key->group_id, key->member_id, value == NULL ? NULL : &p);
}
