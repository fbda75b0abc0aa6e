/* commit.c: OffsetCommit.
 *
 * The catalogue is asked first: partitions that do not exist are refused one by one, and a request without any that exists is answered without
 * looking at the group (and makes none). Then the group says whether this committer may commit at all, and each partition is judged for itself:
 * one that is refused takes no other with it (KAFKA-16371).
 *
 * Refused partitions carry Kafka's errors, and three of ours:
 *   COORDINATOR_NOT_AVAILABLE    the shard's budget of groups or bytes would be passed. Clients try again, which is right: budgets can be
 *                                raised and offsets expire. A commit that makes nothing grow always passes.
 *   TOPIC_AUTHORIZATION_FAILED   muster.classic.commit.owned.only, and the member does not own the partition. Clients report it and
 *                                neither retry nor rejoin; a generation error would make a program that commits foreign partitions on
 *                                purpose rebalance its group for ever.
 *   POLICY_VIOLATION             muster.protected of the group, and the commit comes from outside of it: an administrator's, by way of
 *                                Kafka's tools. A group that lives by such commits alone takes them. */
#include "offsets.h"
#include "rules.h"

#include "../modern/modern.h"

/* ---- admission --------------------------------------------------------------------------------------------------- */

/* What the partitions of this commit add to the state. */
static int64_t growth_of(const struct decision *d, const struct group *g, const struct asked *a,
                         const struct offset_commit_request *request)
{
    int64_t growth = g == NULL ? (int64_t)sizeof(struct group) + request->group_id.len : 0;
    for (int32_t t = 0; t < a->len; t++) {
        for (int32_t i = 0; i < a->v[t].len; i++) {
            if (a->v[t].error[i] == ASKED_GROUP) {
                struct str metadata = request->topics.v[t].partitions.v[i].committed_metadata;
                growth += offsets_growth(d->set, g, a->v[t].name, a->v[t].partition[i], metadata);
            }
        }
    }
    return growth;
}

static bool within_budget(struct decision *d, const struct group *g, const struct asked *a, const struct offset_commit_request *request)
{
    int64_t growth = d->op->settings->max_state_bytes > 0 ? growth_of(d, g, a, request) : 0;
    return (g != NULL && growth <= 0) || budget_allows(d, g == NULL ? 1 : 0, 0, growth);
}

/* The member whose commits are bound to its assignment; NULL: this one's are not. */
static const struct classic_member *bound_member(const struct decision *d, const struct group *g,
                                                 const struct offset_commit_request *request)
{
    if (!d->op->settings->commit_owned_only || g == NULL || group_type(g) != GROUP_CLASSIC ||
        !str_eq(g->classic.protocol_type, STR("consumer"))) {
        return NULL;
    }
    return classic_member_find(g, request->member_id);
}

/* ---- records -------------------------------------------------------------------------------------------------------------- */

void offsets_write_simple_group(struct decision *d)
{
    struct classic_group_key key = {.group_id = d->op->group_id};
    struct classic_group_value value;
    wire_init(&wire_classic_group_value, &value);
    value.state_timestamp_ms = d->op->clock_ms;
    value.state_wall_ms = d->op->wall_ms;
    out_record(d, RECORD_CLASSIC_GROUP, &key, 0, &value);
}

void offsets_write(struct decision *d, const struct offset_written *o)
{
    struct offset_commit_key key = {.group = d->op->group_id, .topic = o->topic, .partition = o->partition};
    struct offset_commit_value value;
    wire_init(&wire_offset_commit_value, &value);
    value.offset = o->offset;
    value.leader_epoch = o->leader_epoch;
    value.metadata = o->metadata.len > 0 ? o->metadata : STR("");
    value.commit_timestamp = d->op->wall_ms;
    value.commit_clock_ms = d->op->clock_ms;
    value.topic_id = o->topic_id;
    if (o->expire_clock_ms >= 0) {
        value.expire_clock_ms = o->expire_clock_ms;
    }
    out_record(d, RECORD_OFFSET_COMMIT, &key, OFFSETS_VALUE_VERSION, &value);
}

static int64_t expiry_of(const struct decision *d, const struct offset_commit_request *request)
{
    int64_t at;
    if (request->retention_time_ms == -1) {
        return -1;
    }
    bool past_the_end = __builtin_add_overflow(d->op->clock_ms, request->retention_time_ms, &at);
    return past_the_end ? INT64_MAX : at < 0 ? 0 : at;
}

static void write_offset(struct decision *d, const struct offset_commit_request *request, const struct asked_topic *t,
                         const struct offset_commit_request_partition *p)
{
    offsets_write(d, &(struct offset_written){.topic = t->name,
                                              .topic_id = t->id,
                                              .partition = p->partition_index,
                                              .leader_epoch = p->committed_leader_epoch,
                                              .offset = p->committed_offset,
                                              .expire_clock_ms = expiry_of(d, request),
                                              .metadata = p->committed_metadata});
}

bool offsets_metadata_too_large(struct str metadata, int32_t limit)
{
    int32_t units = 0;
    if (metadata.len <= limit) {
        return false; /* no encoding takes fewer bytes than units */
    }
    for (int32_t i = 0; i < metadata.len; i++) {
        uint8_t c = (uint8_t)metadata.ptr[i];
        bool continues = (c & 0xc0) == 0x80;
        units += continues ? 0 : c >= 0xf0 ? 2 : 1;
    }
    return units > limit;
}

static int32_t take_partitions(struct decision *d, const struct group *g, struct asked *a, const struct offset_commit_request *request)
{
    const struct classic_member *bound = bound_member(d, g, request);
    int32_t taken = 0;
    for (int32_t t = 0; t < a->len; t++) {
        struct asked_topic *topic = &a->v[t];
        for (int32_t i = 0; i < topic->len; i++) {
            const struct offset_commit_request_partition *p = &request->topics.v[t].partitions.v[i];
            if (topic->error[i] != ASKED_GROUP) {
                continue;
            }
            if (offsets_metadata_too_large(p->committed_metadata, d->op->settings->offset_metadata_max_bytes)) {
                topic->error[i] = KAFKA_OFFSET_METADATA_TOO_LARGE;
            } else if (bound != NULL && !classic_owns(g, bound, topic->name, p->partition_index)) {
                topic->error[i] = KAFKA_TOPIC_AUTHORIZATION_FAILED;
            } else {
                topic->error[i] = KAFKA_NONE;
                if (taken++ == 0 && g == NULL) {
                    offsets_write_simple_group(d);
                }
                write_offset(d, request, topic, p);
            }
        }
    }
    return taken;
}

/* ---- members of the new protocols --------------------------------------------------------------------------------------------- */

/* At an earlier epoch than its own a member commits what it has had since then, and no more. */
static int16_t may_commit_topic(struct decision *d, const struct group *g, const struct asked_topic *topic,
                                const struct modern_slot *member, int32_t epoch)
{
    int16_t error = KAFKA_NONE;
    bool streams = group_type(g) == GROUP_STREAMS;
    struct str_array readers = {NULL, 0};
    if (streams && topic->settled < topic->len) {
        readers = streams_readers(d, g, topic->name);
    }
    for (int32_t i = 0; i < topic->len && error == KAFKA_NONE; i++) {
        if (topic->error[i] == ASKED_GROUP) {
            error = streams ? streams_may_commit_partition(d, member, epoch, &readers, topic->partition[i])
                            : consumer_may_commit_partition(d, member, epoch, topic->id, topic->partition[i]);
        }
    }
    return error;
}

/* One partition that may not be committed takes the request with it, as in Kafka 4.4.0. */
static int16_t may_commit_modern(struct decision *d, const struct group *g, const struct asked *a,
                                 const struct offset_commit_request *request)
{
    int32_t epoch = request->generation_id_or_member_epoch;
    const struct modern_slot *member = NULL;
    int16_t error =
        group_type(g) == GROUP_STREAMS ? streams_may_commit(d, g, request, &member) : consumer_may_commit(d, g, request, &member);
    if (error != KAFKA_NONE || member == NULL || epoch == modern_position(member).epoch) {
        return error;
    }
    for (int32_t t = 0; t < a->len && error == KAFKA_NONE; t++) {
        error = may_commit_topic(d, g, &a->v[t], member, epoch);
    }
    return error;
}

static bool from_outside(const struct offset_commit_request *request)
{
    return request->generation_id_or_member_epoch < 0;
}

static bool lives_by_commits(const struct group *g)
{
    return g == NULL || (group_modern(g) == NULL && str_is_empty(g->classic.protocol_type));
}

/* ---- the request ---------------------------------------------------------------------------------------------------------- */

static void answer_commit(struct decision *d, const struct asked *a)
{
    struct answer answer;
    asked_answer(a, d->arena, &answer);
    struct offset_commit_response *response = ARENA_NEW(d->arena, struct offset_commit_response, 1);
    wire_init(&wire_offset_commit_response, response);
    response->topics.v = ARENA_NEW(d->arena, struct offset_commit_response_topic, answer.len);
    response->topics.len = answer.len;
    for (int32_t t = 0; t < answer.len; t++) {
        const struct answer_topic *from = &answer.v[t];
        struct offset_commit_response_topic *to = &response->topics.v[t];
        to->name = a->by_id ? STR("") : from->name;
        to->topic_id = from->id;
        to->partitions.v = ARENA_NEW(d->arena, struct offset_commit_response_partition, from->len);
        to->partitions.len = from->len;
        for (int32_t i = 0; i < from->len; i++) {
            to->partitions.v[i].partition_index = from->v[i].partition;
            to->partitions.v[i].error_code = from->v[i].error;
        }
    }
    d->out->verdict = GROUP_ANSWER;
    d->out->answer = response;
}

static void read_request(struct decision *d, const struct offset_commit_request *request, struct asked *ret)
{
    asked_init(ret, request->topics.len, d->op->api_version >= 10, d->arena);
    for (int32_t t = 0; t < request->topics.len; t++) {
        const struct offset_commit_request_topic *topic = &request->topics.v[t];
        struct asked_topic *to = asked_add(ret, topic->name, topic->topic_id, topic->partitions.len, d->op->topics, d->arena);
        for (int32_t i = 0; i < to->len; i++) {
            to->partition[i] = topic->partitions.v[i].partition_index;
        }
        asked_check(ret, to);
    }
}

void offsets_decide_commit(struct decision *d)
{
    const struct offset_commit_request *request = d->op->request;
    const struct group *g = group_find(d->set, d->op->group_id);
    struct asked asked;
    read_request(d, request, &asked);
    if (asked.for_group == 0) {
        out_rule(d, offsets_rules[RULE_COMMIT_NOTHING_KNOWN]);
        answer_commit(d, &asked);
        return;
    }
    int16_t error = group_modern(g) != NULL ? may_commit_modern(d, g, &asked, request) : classic_may_commit(d, g, request);
    if (error == KAFKA_NONE && from_outside(request) && !lives_by_commits(g) && offsets_protected(d, g)) {
        error = KAFKA_POLICY_VIOLATION;
        out_rule(d, offsets_rules[RULE_COMMIT_PROTECTED]);
    }
    if (error == KAFKA_NONE && !within_budget(d, g, &asked, request)) {
        error = KAFKA_COORDINATOR_NOT_AVAILABLE;
        out_rule(d, offsets_rules[RULE_COMMIT_OVER_BUDGET]);
    }
    if (error != KAFKA_NONE) {
        asked_fail(&asked, error);
        d->out->error = error;
    } else {
        int32_t taken = take_partitions(d, g, &asked, request);
        out_rule(d, offsets_rules[taken == 0 ? RULE_COMMIT_NOTHING_TAKEN : g == NULL ? RULE_COMMIT_NEW_SIMPLE_GROUP : RULE_COMMIT_TAKEN]);
    }
    answer_commit(d, &asked);
}
