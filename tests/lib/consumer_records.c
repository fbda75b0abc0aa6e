#include "consumer_records.h"

static struct uuid topic_id(uint64_t number)
{
    struct uuid id = {{7, (uint8_t)number}};
    return id;
}

static struct record draw_group(struct record_draw *d)
{
    struct consumer_group_metadata_key key = {.group_id = drawn_group(d)};
    struct consumer_group_metadata_value v;
    wire_init(&wire_consumer_group_metadata_value, &v);
    v.epoch = drawn_number(d);
    v.metadata_hash = drawn_number(d);
    v.empty_since_ms = drawn_number(d);
    return wire_record_encode(RECORD_CONSUMER_GROUP_METADATA, &key, 0, &v, d->arena);
}

static struct record draw_assignment(struct record_draw *d)
{
    struct consumer_group_target_assignment_metadata_key key = {.group_id = drawn_group(d)};
    struct consumer_group_target_assignment_metadata_value v;
    wire_init(&wire_consumer_group_target_assignment_metadata_value, &v);
    v.assignment_epoch = drawn_number(d);
    v.assignment_timestamp = drawn_number(d);
    v.assignment_clock_ms = drawn_number(d);
    return wire_record_encode(RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA, &key, 0, &v, d->arena);
}

static struct record draw_regex(struct record_draw *d)
{
    struct consumer_group_regular_expression_key key = {.group_id = drawn_group(d), .regular_expression = drawn_name(d, "r.", 3)};
    struct consumer_group_regular_expression_value v = {.topics = drawn_names(d, "t-"),
                                                        .version = drawn_number(d),
                                                        .timestamp = drawn_number(d)};
    return wire_record_encode(RECORD_CONSUMER_GROUP_REGULAR_EXPRESSION, &key, 0, &v, d->arena);
}

static struct record draw_member(struct record_draw *d)
{
    struct consumer_group_member_metadata_key key = {.group_id = drawn_group(d), .member_id = drawn_member(d)};
    struct consumer_group_member_metadata_value_classic_protocol protocols[2] = {{drawn_name(d, "assignor-", 2),
                                                                                  bytes_of_str(drawn_name(d, "subscription ", 3))},
                                                                                 {STR("range"), bytes_of_str(STR(""))}};
    struct consumer_group_member_metadata_value_classic_member_metadata classic = {.session_timeout_ms = drawn_number(d),
                                                                                   .supported_protocols = {protocols, 0}};
    struct consumer_group_member_metadata_value v;
    classic.supported_protocols.len = (int32_t)drawn_below(d, 3);
    wire_init(&wire_consumer_group_member_metadata_value, &v);
    v.instance_id = drawn_maybe(d, drawn_name(d, "i-", 2));
    v.rack_id = drawn_maybe(d, drawn_name(d, "rack", 2));
    v.client_id = drawn_name(d, "c", 2);
    v.client_host = STR("/127.0.0.1");
    v.subscribed_topic_names = drawn_names(d, "t-");
    v.subscribed_topic_regex = drawn_maybe(d, drawn_below(d, 3) == 0 ? STR("") : drawn_name(d, "r.", 3));
    v.rebalance_timeout_ms = drawn_number(d);
    v.server_assignor = drawn_maybe(d, STR("uniform"));
    v.classic_member_metadata = drawn_below(d, 3) == 0 ? &classic : NULL;
    return wire_record_encode(RECORD_CONSUMER_GROUP_MEMBER_METADATA, &key, 0, &v, d->arena);
}

static struct record draw_target(struct record_draw *d)
{
    struct consumer_group_target_assignment_member_key key = {.group_id = drawn_group(d), .member_id = drawn_member(d)};
    struct consumer_group_target_assignment_member_value_topic_partition topics[3];
    struct consumer_group_target_assignment_member_value v = {.topic_partitions = {topics, (int32_t)drawn_below(d, 4)}};
    bool tidy = drawn_below(d, 4) != 0;
    for (int32_t i = 0; i < v.topic_partitions.len; i++) {
        topics[i].topic_id = topic_id(tidy ? (uint64_t)i : drawn_below(d, 3));
        topics[i].partitions = drawn_partitions(d);
    }
    return wire_record_encode(RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER, &key, 0, &v, d->arena);
}

static struct consumer_group_current_member_assignment_value_topic_partitions_array current_topics(struct record_draw *d)
{
    struct consumer_group_current_member_assignment_value_topic_partitions_array a = {NULL, (int32_t)drawn_below(d, 3)};
    bool odd = drawn_below(d, 6) == 0;
    a.v = ARENA_NEW(d->arena, struct consumer_group_current_member_assignment_value_topic_partitions, a.len);
    for (int32_t i = 0; i < a.len; i++) {
        a.v[i].topic_id = topic_id(odd ? drawn_below(d, 3) : (uint64_t)i);
        a.v[i].partitions = drawn_partitions(d);
        a.v[i].assignment_epochs.len = odd ? (int32_t)drawn_below(d, 5) - 1 : a.v[i].partitions.len;
        a.v[i].assignment_epochs.v = ARENA_NEW(d->arena, int32_t, 4);
        for (int32_t k = 0; k < a.v[i].assignment_epochs.len; k++) {
            a.v[i].assignment_epochs.v[k] = drawn_number(d);
        }
    }
    return a;
}

static struct record draw_current(struct record_draw *d)
{
    static const int8_t states[] = {0, 1, 2, 0, 1, 2, 3, -1, INT8_MAX, INT8_MIN};
    struct consumer_group_current_member_assignment_key key = {.group_id = drawn_group(d), .member_id = drawn_member(d)};
    struct consumer_group_current_member_assignment_value v = {.member_epoch = drawn_number(d),
                                                               .previous_member_epoch = drawn_number(d),
                                                               .state = states[drawn_below(d, COUNT_OF(states))],
                                                               .assigned_partitions = current_topics(d),
                                                               .partitions_pending_revocation = current_topics(d)};
    return wire_record_encode(RECORD_CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, &key, 0, &v, d->arena);
}

struct record draw_consumer_record(struct record_draw *d)
{
    static struct record (*const drawers[])(struct record_draw *) = {draw_group, draw_assignment, draw_member,
                                                                     draw_regex, draw_target,     draw_current};
    enum { NO_TAGS_OF_ITS_OWN = 3 }; /* from the regular expression on */
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
