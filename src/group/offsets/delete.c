/* delete.c: OffsetDelete and DeleteGroups.
 *
 * A deletion that would be large goes in slices: the op is asked again after each has been applied, and the group's own tombstones come last,
 * so that a half deleted group is still a group. */
#include "offsets.h"
#include "rules.h"

#include "../history/history.h"

/* ---- OffsetDelete ---------------------------------------------------------------------------------------------------------- */

static void answer_delete(struct decision *d, int16_t error, const struct asked *a)
{
    struct offset_delete_response *response = ARENA_NEW(d->arena, struct offset_delete_response, 1);
    struct answer answer = {0};
    if (error == KAFKA_NONE) {
        asked_answer(a, d->arena, &answer);
    }
    response->error_code = error;
    response->topics.v = ARENA_NEW(d->arena, struct offset_delete_response_topic, answer.len);
    response->topics.len = answer.len;
    for (int32_t t = 0; t < answer.len; t++) {
        const struct answer_topic *from = &answer.v[t];
        struct offset_delete_response_topic *to = &response->topics.v[t];
        to->name = from->name;
        to->partitions.v = ARENA_NEW(d->arena, struct offset_delete_response_partition, from->len);
        to->partitions.len = from->len;
        for (int32_t i = 0; i < from->len; i++) {
            to->partitions.v[i].partition_index = from->v[i].partition;
            to->partitions.v[i].error_code = from->v[i].error;
        }
    }
    d->out->verdict = GROUP_ANSWER;
    d->out->error = error;
    d->out->answer = response;
}

/* A group with members that are not consumers has no subscription to go by: nothing may be deleted while they are there. */
static int16_t may_delete_offsets(struct decision *d, const struct group *g)
{
    if (str_is_empty(d->op->group_id)) { /* it may commit and fetch, no more (KAFKA-6773) */
        out_rule(d, offsets_rules[RULE_OFFSET_DELETE_NO_GROUP_ID]);
        return KAFKA_INVALID_GROUP_ID;
    }
    if (g == NULL) {
        out_rule(d, offsets_rules[RULE_OFFSET_DELETE_NO_GROUP]);
        return KAFKA_GROUP_ID_NOT_FOUND;
    }
    if (group_type(g) == GROUP_CLASSIC && g->classic.state != CLASSIC_EMPTY && !str_eq(g->classic.protocol_type, STR("consumer"))) {
        out_rule(d, offsets_rules[RULE_OFFSET_DELETE_NOT_CONSUMERS]);
        return KAFKA_NON_EMPTY_GROUP;
    }
    if (offsets_protected(d, g)) {
        out_rule(d, offsets_rules[RULE_OFFSET_DELETE_PROTECTED]);
        return KAFKA_POLICY_VIOLATION;
    }
    return KAFKA_NONE;
}

bool offsets_subscribed(struct decision *d, const struct group *g, struct str topic)
{
    bool known = false;
    if (group_type(g) == GROUP_STREAMS) {
        return streams_subscribed(d, g, topic);
    }
    if (group_type(g) == GROUP_CONSUMER) {
        return consumer_subscribed(d, g, topic);
    }
    if (g->classic.state == CLASSIC_EMPTY) {
        return false;
    }
    bool subscribed = classic_subscribed(d, g, topic, &known);
    return subscribed || !known;
}

static void delete_topic(struct decision *d, const struct group *g, struct asked_topic *t, bool *ret_refused)
{
    bool subscribed = t->settled < t->len && offsets_subscribed(d, g, t->name);
    for (int32_t i = 0; i < t->len; i++) {
        if (t->error[i] != ASKED_GROUP) {
            continue;
        }
        struct offset o;
        if (!subscribed && offsets_find(g, t->name, t->partition[i], &o)) {
            offsets_write_tombstone(d, &o);
        }
        t->error[i] = subscribed ? KAFKA_GROUP_SUBSCRIBED_TO_TOPIC : KAFKA_NONE;
        *ret_refused = *ret_refused || subscribed;
    }
}

void offsets_decide_delete(struct decision *d)
{
    const struct offset_delete_request *request = d->op->request;
    const struct group *g = group_find(d->set, d->op->group_id);
    struct asked asked = {0};
    int16_t error = may_delete_offsets(d, g);
    if (error != KAFKA_NONE) {
        answer_delete(d, error, &asked);
        return;
    }
    bool refused = false;
    asked_init(&asked, request->topics.len, false, d->arena);
    for (int32_t t = 0; t < request->topics.len; t++) {
        const struct offset_delete_request_topic *topic = &request->topics.v[t];
        struct asked_topic *to = asked_add(&asked, topic->name, (struct uuid){{0}}, topic->partitions.len, d->op->topics, d->arena);
        for (int32_t i = 0; i < to->len; i++) {
            to->partition[i] = topic->partitions.v[i].partition_index;
        }
        asked_check(&asked, to);
        delete_topic(d, g, to, &refused);
    }
    out_rule(d, offsets_rules[refused ? RULE_OFFSET_DELETE_SUBSCRIBED : RULE_OFFSET_DELETE]);
    answer_delete(d, KAFKA_NONE, &asked);
}

/* ---- DeleteGroups ---------------------------------------------------------------------------------------------------------- */

int16_t offsets_group_may_go(const struct group *g)
{
    switch (group_type(g)) {
    case GROUP_CONSUMER:
        return consumer_may_delete(g);
    case GROUP_STREAMS:
        return streams_may_delete(g);
    default:
        return classic_may_delete(g);
    }
}

/* Whatever records there are: of the type it is, and of one it was. */
void offsets_group_tombstones(struct decision *d, const struct group *g)
{
    history_tombstones(d, g);
    if (g->consumer != NULL) {
        consumer_tombstones(d, g);
    }
    if (g->streams != NULL) {
        streams_tombstones(d, g);
    }
    classic_tombstones(d, g);
}

/* 0, or the error with which the group stays; names the rule then. */
static int16_t may_delete_group(struct decision *d, const struct group *g)
{
    int16_t error = g == NULL ? KAFKA_GROUP_ID_NOT_FOUND : offsets_group_may_go(g);
    enum offsets_rule rule = g == NULL ? RULE_GROUP_DELETE_NO_GROUP : RULE_GROUP_DELETE_REFUSED;
    if (error == KAFKA_NONE && offsets_protected(d, g)) {
        error = KAFKA_POLICY_VIOLATION;
        rule = RULE_GROUP_DELETE_PROTECTED;
    }
    if (error != KAFKA_NONE) {
        out_rule(d, offsets_rules[rule]);
    }
    return error;
}

void offsets_decide_group_delete(struct decision *d)
{
    const struct group *g = group_find(d->set, d->op->group_id);
    int16_t error = may_delete_group(d, g);
    struct delete_groups_response_deletable_group_result *result =
        ARENA_NEW(d->arena, struct delete_groups_response_deletable_group_result, 1);
    result->group_id = d->op->group_id;
    result->error_code = error;
    result->error_message = error == KAFKA_POLICY_VIOLATION ? offsets_protected_text(d) : STR_NULL;
    d->out->verdict = GROUP_ANSWER;
    d->out->error = error;
    d->out->answer = result;
    if (error != KAFKA_NONE) {
        return;
    }
    for (struct offset_walk w = offsets_walk(g); offsets_next(&w);) {
        const struct offset *o = &w.at;
        if (!offsets_drop(d, o)) {
            out_rule(d, offsets_rules[RULE_GROUP_DELETE_SLICE]);
            return;
        }
    }
    offsets_group_tombstones(d, g);
    out_rule(d, offsets_rules[RULE_GROUP_DELETE]);
}
