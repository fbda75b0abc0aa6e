/* fetch.c: OffsetFetch, one group of it.
 *
 * An unknown group or partition has offset -1 and metadata "", a topic id that no topic has is UNKNOWN_TOPIC_ID. Member id and epoch (version 9) mean nothing
 * to a classic group; one of the new protocols refuses members it does not know, or not at that epoch. There are no transactions, so no offset is unstable and
 * require_stable changes nothing. */
#include "offsets.h"
#include "rules.h"

static void no_offset(struct offset_fetch_response_partitions *ret, int32_t partition, int16_t error)
{
    *ret = (struct offset_fetch_response_partitions){
        .partition_index = partition, .committed_offset = -1, .committed_leader_epoch = -1, .metadata = STR(""), .error_code = error};
}

static void stored_offset(struct offset_fetch_response_partitions *ret, const struct offset *o)
{
    *ret = (struct offset_fetch_response_partitions){.partition_index = o->partition,
                                                     .committed_offset = o->offset,
                                                     .committed_leader_epoch = o->leader_epoch,
                                                     .metadata = o->metadata,
                                                     .error_code = KAFKA_NONE};
}

/* Whether the offset is of the topic with that id. One without an id goes by its topic's name. */
static bool is_of(const struct offset *o, struct uuid id)
{
    return uuid_is_zero(o->topic_id) || uuid_eq(o->topic_id, id);
}

/* ---- named topics ---------------------------------------------------------------------------------------------------------- */

/* name null: an id that no topic has. */
static void fetch_topic(struct decision *d, const struct group *g, const struct offset_fetch_request_topics *asked, struct str name,
                        struct offset_fetch_response_topics *ret)
{
    bool by_id = d->op->api_version >= 10;
    int32_t len = asked->partition_indexes.len > 0 ? asked->partition_indexes.len : 0;
    *ret = (struct offset_fetch_response_topics){.name = by_id ? STR("") : name, .topic_id = asked->topic_id};
    ret->partitions.v = ARENA_NEW(d->arena, struct offset_fetch_response_partitions, len);
    ret->partitions.len = len;
    for (int32_t i = 0; i < len; i++) {
        int32_t partition = asked->partition_indexes.v[i];
        struct offset o;
        bool found = !str_is_null(name) && offsets_find(g, name, partition, &o);
        if (found && offsets_live(&o, d->op->topics) && (!by_id || is_of(&o, asked->topic_id))) {
            stored_offset(&ret->partitions.v[i], &o);
        } else {
            no_offset(&ret->partitions.v[i], partition, str_is_null(name) ? KAFKA_UNKNOWN_TOPIC_ID : KAFKA_NONE);
        }
    }
}

static void fetch_named(struct decision *d, const struct group *g, const struct offset_fetch_request_group *request,
                        struct offset_fetch_response_group *ret)
{
    bool by_id = d->op->api_version >= 10;
    ret->topics.v = ARENA_NEW(d->arena, struct offset_fetch_response_topics, request->topics.len);
    /* Ids that no topic has come last, as in Kafka's answers. */
    for (int round = 0; round < (by_id ? 2 : 1); round++) {
        for (int32_t t = 0; t < request->topics.len; t++) {
            const struct offset_fetch_request_topics *asked = &request->topics.v[t];
            struct topic_view view;
            bool known = !by_id || (!uuid_is_zero(asked->topic_id) && d->op->topics->by_id(d->op->topics->ctx, asked->topic_id, &view));
            if (known == (round == 0)) {
                struct str name = !known ? STR_NULL : by_id ? view.name : asked->name;
                fetch_topic(d, g, asked, name, &ret->topics.v[ret->topics.len++]);
            }
        }
    }
}

/* ---- everything ------------------------------------------------------------------------------------------------------------ */

/* How many topics and offsets there are to answer; the offsets of a topic lie side by side. */
static int32_t count_topics(const struct group *g)
{
    int32_t count = 0;
    const struct topic_name *last = NULL;
    for (struct offset_walk w = offsets_walk(g); offsets_next(&w);) {
        const struct offset *o = &w.at;
        count += o->topic != last ? 1 : 0;
        last = o->topic;
    }
    return count;
}

/* From version 10 on a topic is named by its id: one that no longer exists cannot be. */
static bool can_be_answered(struct decision *d, const struct offset *o, struct uuid *ret_id)
{
    struct topic_view view;
    if (!offsets_live(o, d->op->topics)) {
        return false;
    }
    if (d->op->api_version < 10) {
        return true;
    }
    if (!d->op->topics->by_name(d->op->topics->ctx, o->topic->name, &view)) {
        return false;
    }
    *ret_id = view.id;
    return is_of(o, view.id);
}

static void fetch_all(struct decision *d, const struct group *g, struct offset_fetch_response_group *ret)
{
    ret->topics.v = ARENA_NEW(d->arena, struct offset_fetch_response_topics, count_topics(g));
    struct offset_fetch_response_partitions *partitions = ARENA_NEW(d->arena, struct offset_fetch_response_partitions, g->offset_count);
    struct offset_fetch_response_topics *topic = NULL;
    const struct topic_name *last = NULL;
    for (struct offset_walk w = offsets_walk(g); offsets_next(&w);) {
        const struct offset *o = &w.at;
        struct uuid id = {{0}};
        if (!can_be_answered(d, o, &id)) {
            continue;
        }
        if (o->topic != last) {
            topic = &ret->topics.v[ret->topics.len++];
            *topic = (struct offset_fetch_response_topics){.name = d->op->api_version >= 10 ? STR("") : o->topic->name, .topic_id = id};
            topic->partitions.v = partitions;
            last = o->topic;
        }
        stored_offset(partitions++, o);
        topic->partitions.len++;
    }
}

static int16_t may_fetch(struct decision *d, const struct group *g, const struct offset_fetch_request_group *request)
{
    switch (g != NULL ? group_type(g) : GROUP_CLASSIC) {
    case GROUP_CONSUMER:
        return consumer_may_fetch(d, g, request);
    case GROUP_STREAMS:
        return streams_may_fetch(d, g, request);
    default:
        return KAFKA_NONE;
    }
}

void offsets_decide_fetch(struct decision *d)
{
    const struct offset_fetch_request_group *request = d->op->request;
    const struct group *g = group_find(d->set, d->op->group_id);
    struct offset_fetch_response_group *response = ARENA_NEW(d->arena, struct offset_fetch_response_group, 1);
    response->group_id = d->op->group_id;
    response->error_code = may_fetch(d, g, request);
    if (response->error_code != KAFKA_NONE) {
        d->out->verdict = GROUP_ANSWER;
        d->out->error = response->error_code;
        d->out->answer = response;
        return;
    }
    if (request->topics.len >= 0) {
        fetch_named(d, g, request, response);
    } else if (g != NULL) {
        fetch_all(d, g, response);
    }
    out_rule(d, offsets_rules[g == NULL ? RULE_FETCH_NO_GROUP : request->topics.len < 0 ? RULE_FETCH_ALL : RULE_FETCH]);
    d->out->verdict = GROUP_ANSWER;
    d->out->answer = response;
}
