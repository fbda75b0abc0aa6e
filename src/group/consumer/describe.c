/* describe.c: ConsumerGroupDescribe. */
#include "draft.h"

typedef struct consumer_group_describe_response_described_group described;
typedef struct consumer_group_describe_response_member shown_member;
typedef struct consumer_group_describe_response_assignment shown_assignment;

enum member_type { MEMBER_TYPE_CLASSIC = 0, MEMBER_TYPE_CONSUMER = 1 };

/* Topics in order of names, as people look for them. A topic that is gone has no name any more and is left out. */
static void show_units(const struct decision *d, struct units units, shown_assignment *ret)
{
    const struct topics *topics = d->op->topics;
    struct consumer_group_describe_response_topic_partitions *v =
        ARENA_NEW(d->arena, struct consumer_group_describe_response_topic_partitions, units.len);
    int32_t *partitions = ARENA_NEW(d->arena, int32_t, units.len);
    int32_t count = 0;
    bool there = false;
    for (int32_t i = 0; i < units.len; i++) {
        struct topic_view topic;
        partitions[i] = units.v[i].partition;
        if (i == 0 || !str_eq(units.v[i].name, units.v[i - 1].name)) {
            there = topics->by_id(topics->ctx, topic_of_unit(units.v[i].name), &topic);
            if (there) {
                v[count++] = (struct consumer_group_describe_response_topic_partitions){.topic_id = topic.id,
                                                                                        .topic_name = topic.name,
                                                                                        .partitions = {&partitions[i], 0}};
            }
        }
        if (there) {
            v[count - 1].partitions.len++;
        }
    }
    ret->topic_partitions.v = v;
    ret->topic_partitions.len = count;
}

/* An answer is made its own where it is (group_decide()): no array of it may be one of the state. */
static struct str_array copied(struct str_array names, struct arena *arena)
{
    struct str_array copy = {ARENA_NEW(arena, struct str, names.len), names.len};
    for (int32_t i = 0; i < names.len; i++) {
        copy.v[i] = names.v[i];
    }
    return copy;
}

static void describe_member(const struct decision *d, const struct modern_slot *slot, shown_member *ret)
{
    const struct modern_member *m = slot->member;
    struct member_position p = modern_position(slot);
    *ret = (shown_member){0};
    ret->member_id = slot->member_id;
    ret->instance_id = m->instance_id;
    ret->rack_id = m->rack_id;
    ret->member_epoch = p.epoch;
    ret->client_id = m->client_id;
    ret->client_host = m->client_host;
    ret->subscribed_topic_names = copied(m->topics, d->arena);
    ret->subscribed_topic_regex = str_is_null(m->regex) ? STR("") : m->regex;
    show_units(d, units_join(p.assigned.kind[UNITS_ACTIVE], p.revoking.kind[UNITS_ACTIVE], d->arena), &ret->assignment);
    show_units(d, modern_target(slot).kind[UNITS_ACTIVE], &ret->target_assignment);
    ret->member_type = m->is_classic ? MEMBER_TYPE_CLASSIC : MEMBER_TYPE_CONSUMER;
}

static void describe_group(struct decision *d, const struct group *g, described *ret)
{
    const struct modern *s = g->consumer;
    ret->group_state = str_of(consumer_state_name(g));
    ret->group_epoch = s->epoch;
    ret->assignment_epoch = assignment_epoch(s);
    ret->assignor_name = str_of(consumer_assignor_name(consumer_assignor_of(s, d->op->settings)));
    ret->members.v = ARENA_NEW(d->arena, shown_member, s->member_count);
    for (int32_t i = 0; i < s->slot_count; i++) {
        if (s->slots[i].member != NULL) {
            describe_member(d, &s->slots[i], &ret->members.v[ret->members.len++]);
        }
    }
}

/* Null when there is a consumer group of that id. */
static const char *missing(struct decision *d, const struct group *g, described *ret)
{
    if (str_is_empty(d->op->group_id)) {
        ret->error_code = KAFKA_INVALID_GROUP_ID;
        return RULE(DESCRIBE_NO_GROUP_ID);
    }
    if (g != NULL && group_type(g) == GROUP_CONSUMER) {
        return NULL;
    }
    ret->error_code = KAFKA_GROUP_ID_NOT_FOUND;
    ret->error_message =
        arena_printf(d->arena, g == NULL ? "Group %.*s not found." : "Group %.*s is not a consumer group.", STR_ARG(d->op->group_id));
    return g == NULL ? RULE(DESCRIBE_NO_GROUP) : RULE(DESCRIBE_OTHER_TYPE);
}

void consumer_decide_describe(struct decision *d)
{
    const struct group *g = group_find(d->set, d->op->group_id);
    described *answer = ARENA_NEW(d->arena, described, 1);
    wire_init_type(wire_consumer_group_describe_response.type->fields[1].type, answer);
    answer->group_id = d->op->group_id;
    const char *rule = missing(d, g, answer);
    if (rule == NULL) {
        describe_group(d, g, answer);
        rule = RULE(DESCRIBE);
    }
    out_answer(d, rule, answer->error_code, answer);
}
