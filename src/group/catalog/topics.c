/* topics.c: CreatePartitions, DeleteTopics and the end offsets that are set here because there is no data. */
#include "rules.h"
#include "state.h"

#include <inttypes.h>

enum { DELETED_KEPT = 10000 }; /* deleted topics that are remembered */

/* ---- CreatePartitions ------------------------------------------------------------------------------------------------------------ */

static int16_t check_growth(const struct decision *d, const struct topic *t, int32_t count, struct str *ret_message)
{
    int32_t limit = d->op->settings->max_partitions_per_topic;
    if (count == t->partitions) {
        *ret_message = arena_printf(d->arena, "Topic already has %" PRId32 " partition(s).", t->partitions);
        return KAFKA_INVALID_PARTITIONS;
    }
    if (count < t->partitions) {
        *ret_message =
            arena_printf(d->arena, "The topic %.*s currently has %" PRId32 " partition(s); %" PRId32 " would not be an increase.",
                         STR_ARG(t->name), t->partitions, count);
        return KAFKA_INVALID_PARTITIONS;
    }
    if (limit > 0 && count > limit) {
        *ret_message = STR("Excessively large number of additional partitions per request.");
        return KAFKA_POLICY_VIOLATION;
    }
    return KAFKA_NONE;
}

static int16_t check_new_replicas(const struct decision *d, const struct topic *t, const struct create_partitions_request_topic *asked,
                                  struct str *ret_message)
{
    int32_t additional = asked->count - t->partitions;
    if (asked->assignments.len < 0) {
        return KAFKA_NONE;
    }
    if (asked->assignments.len != additional) {
        *ret_message =
            arena_printf(d->arena,
                         "Attempted to add %" PRId32 " additional partition(s), but only %" PRId32 " assignment(s) were specified.",
                         additional, asked->assignments.len);
        return KAFKA_INVALID_REPLICA_ASSIGNMENT;
    }
    for (int32_t i = 0; i < asked->assignments.len; i++) {
        struct str problem = replicas_problem(d->set->catalog, asked->assignments.v[i].broker_ids, t->replication_factor, d->arena);
        if (!str_is_null(problem)) {
            *ret_message = problem;
            return KAFKA_INVALID_REPLICA_ASSIGNMENT;
        }
    }
    return KAFKA_NONE;
}

static void write_partitions(struct decision *d, const struct topic *t, int32_t count)
{
    struct topic_key key = {.name = t->name};
    struct topic_value value;
    entry_value(&t->entry, &wire_topic_value, &value);
    value.partitions = count;
    out_record(d, RECORD_TOPIC, &key, 0, &value);
}

static void grow_topic(struct decision *d, const struct create_partitions_request_topic *asked, bool validate_only,
                       struct create_partitions_response_topic_result *result)
{
    const struct topic *t = topic_find(d->set->catalog, asked->name);
    if (t == NULL) {
        result->error_code = KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
        return;
    }
    result->error_code = check_growth(d, t, asked->count, &result->error_message);
    if (result->error_code == KAFKA_NONE) {
        result->error_code = check_new_replicas(d, t, asked, &result->error_message);
    }
    if (result->error_code == KAFKA_NONE && !validate_only) {
        write_partitions(d, t, asked->count);
    }
}

void catalog_create_partitions(struct decision *d)
{
    const struct create_partitions_request *request = d->op->request;
    struct create_partitions_response *response = ARENA_NEW(d->arena, struct create_partitions_response, 1);
    struct repeats names;
    struct str *all = ARENA_NEW(d->arena, struct str, request->topics.len);
    int32_t good = 0;
    for (int32_t i = 0; i < request->topics.len; i++) {
        all[i] = request->topics.v[i].name;
    }
    names_repeats(all, request->topics.len, d->arena, &names);
    response->results.v = ARENA_NEW(d->arena, struct create_partitions_response_topic_result, request->topics.len);
    for (int round = 0; round < 2; round++) { /* names given twice come first */
        for (int32_t i = 0; i < request->topics.len; i++) {
            if (names.first[i] != i || (names.times[i] > 1) != (round == 0)) {
                continue;
            }
            struct create_partitions_response_topic_result *result = &response->results.v[response->results.len++];
            *result = (struct create_partitions_response_topic_result){.name = all[i], .error_message = STR_NULL};
            if (names.times[i] > 1) {
                result->error_code = KAFKA_INVALID_REQUEST;
                result->error_message = STR("Duplicate topic name.");
            } else {
                grow_topic(d, &request->topics.v[i], request->validate_only, result);
                good += result->error_code == KAFKA_NONE ? 1 : 0;
            }
        }
    }
    const char *rule = good == 0 ? RULE(PARTITIONS_REFUSED) : request->validate_only ? RULE(PARTITIONS_VALIDATED) : RULE(PARTITIONS_ADDED);
    out_answer(d, rule, KAFKA_NONE, response);
}

/* ---- DeleteTopics ------------------------------------------------------------------------------------------------------------------ */

/* One thing asked to be deleted, by name or by id. */
struct doomed {
    struct str name;
    struct uuid id;
    bool by_id;
    int32_t times;
    const struct topic *topic;
    bool silent;
};

struct deletion {
    struct decision *d;
    struct doomed *v;
    int32_t len;
    struct names names, ids, topics;
    struct delete_topics_response *response;
    int32_t deleted;
};

static void add_result(struct deletion *del, struct str name, struct uuid id, int16_t error, struct str message)
{
    del->response->responses.v[del->response->responses.len++] =
        (struct delete_topics_response_deletable_topic_result){.name = name, .topic_id = id, .error_code = error, .error_message = message};
}

static void ask_for(struct deletion *del, struct str name, struct uuid id)
{
    bool by_id = str_is_null(name);
    struct bytes key = by_id ? (struct bytes){id.b, sizeof(id.b)} : bytes_of_str(name);
    struct doomed *next = &del->v[del->len];
    *next = (struct doomed){.name = name, .id = id, .by_id = by_id};
    if (by_id) {
        key.ptr = next->id.b; /* the table borrows it */
    }
    int32_t at = names_add(by_id ? &del->ids : &del->names, key, del->len);
    if (at < 0) {
        at = del->len++;
    }
    del->v[at].times++;
}

static void ask_for_state(struct deletion *del, const struct delete_topics_request_delete_topic_state *state)
{
    bool no_id = uuid_is_zero(state->topic_id);
    if (str_is_null(state->name) && no_id) {
        add_result(del, STR_NULL, state->topic_id, KAFKA_INVALID_REQUEST, STR("Neither topic name nor id were specified."));
    } else if (!str_is_null(state->name) && !no_id) {
        add_result(del, state->name, state->topic_id, KAFKA_INVALID_REQUEST, STR("You may not specify both topic name and topic id."));
    } else {
        ask_for(del, state->name, state->topic_id);
    }
}

static void write_deletion(struct decision *d, const struct topic *t)
{
    const struct catalog *c = d->set->catalog;
    struct topic_key key = {.name = t->name};
    struct topic_deleted_key deleted = {.topic_id = t->id};
    struct topic_deleted_value value = {.name = t->name, .deleted_index = (int64_t)d->op->next_index};
    out_record(d, RECORD_TOPIC, &key, 0, NULL);
    out_record(d, RECORD_TOPIC_DELETED, &deleted, 0, &value);
    for (const struct config *config = config_at(c, RESOURCE_TOPIC, t->name, STR_NULL); config != NULL; config = config_next(config)) {
        struct config_key gone = {.resource_type = RESOURCE_TOPIC, .resource_name = t->name, .name = config->name};
        out_record(d, RECORD_CONFIG, &gone, 0, NULL);
    }
    for (int32_t partition = 0; partition < t->partitions; partition++) {
        uint8_t end[END_KEY_BYTES];
        if (entry_find(c, end_key(t->id, partition, end)) != NULL) {
            struct topic_end_key gone = {.topic_id = t->id, .partition = partition};
            out_record(d, RECORD_TOPIC_END, &gone, 0, NULL);
        }
    }
}

/* The oldest deletions are forgotten: all shards have cleaned up behind them long ago. */
static void forget_oldest(struct deletion *del)
{
    const struct catalog *c = del->d->set->catalog;
    const struct deleted *oldest = deleted_oldest(c);
    for (int64_t count = c->deleted_count + del->deleted; count > DELETED_KEPT && oldest != NULL; count--) {
        struct topic_deleted_key key;
        for (size_t i = 0; i < sizeof(key.topic_id.b); i++) {
            key.topic_id.b[i] = oldest->entry.key.ptr[2 + i];
        }
        out_record(del->d, RECORD_TOPIC_DELETED, &key, 0, NULL);
        oldest = deleted_next(oldest);
    }
}

/* Finds the topics; a topic that is named by its name and by its id is refused once, under its name. */
static void resolve(struct deletion *del)
{
    for (int round = 0; round < 2; round++) { /* ids first: the name is what is refused */
        for (int32_t i = 0; i < del->len; i++) {
            struct doomed *it = &del->v[i];
            if (it->by_id != (round == 0)) {
                continue;
            }
            it->topic = it->by_id ? topic_find_id(del->d->set->catalog, it->id) : topic_find(del->d->set->catalog, it->name);
            if (it->topic == NULL) {
                continue;
            }
            int32_t other = names_add(&del->topics, (struct bytes){it->topic->id.b, sizeof(it->topic->id.b)}, i);
            if (other >= 0) {
                del->v[other].silent = true;
                it->times = -1;
            }
        }
    }
}

static void delete_one(struct deletion *del, const struct doomed *it)
{
    struct uuid none = {{0}};
    struct uuid id = it->by_id ? it->id : none;
    if (it->times == -1) {
        add_result(del, it->name, it->topic->id, KAFKA_INVALID_REQUEST,
                   STR("The provided topic name maps to an ID that was already supplied."));
    } else if (it->times > 1) {
        add_result(del, it->name, id, KAFKA_INVALID_REQUEST, it->by_id ? STR("Duplicate topic id.") : STR("Duplicate topic name."));
    } else if (it->topic == NULL && it->by_id) {
        add_result(del, STR_NULL, it->id, KAFKA_UNKNOWN_TOPIC_ID, STR("This server does not host this topic ID."));
    } else if (it->topic == NULL) {
        add_result(del, it->name, none, KAFKA_UNKNOWN_TOPIC_OR_PARTITION, STR("This server does not host this topic-partition."));
    } else {
        add_result(del, it->topic->name, it->topic->id, KAFKA_NONE, STR_NULL);
        write_deletion(del->d, it->topic);
        del->deleted++;
    }
}

void catalog_delete_topics(struct decision *d)
{
    const struct delete_topics_request *request = d->op->request;
    bool named = d->op->api_version < 6;
    int32_t count = named ? request->topic_names.len : request->topics.len;
    count = count > 0 ? count : 0;
    struct deletion del = {.d = d, .v = ARENA_NEW(d->arena, struct doomed, count + 1)};
    del.response = ARENA_NEW(d->arena, struct delete_topics_response, 1);
    del.response->responses.v = ARENA_NEW(d->arena, struct delete_topics_response_deletable_topic_result, count);
    names_init(&del.names, d->arena, count);
    names_init(&del.ids, d->arena, count);
    names_init(&del.topics, d->arena, count);
    for (int32_t i = 0; i < count; i++) {
        if (named) {
            ask_for(&del, request->topic_names.v[i], (struct uuid){{0}});
        } else {
            ask_for_state(&del, &request->topics.v[i]);
        }
    }
    resolve(&del);
    for (int32_t i = 0; i < del.len; i++) {
        if (!del.v[i].silent) {
            delete_one(&del, &del.v[i]);
        }
    }
    forget_oldest(&del);
    out_answer(d, del.deleted > 0 ? RULE(TOPICS_DELETED) : RULE(TOPICS_NOT_DELETED), KAFKA_NONE, del.response);
}

/* ---- end offsets -------------------------------------------------------------------------------------------------------------------- */

static void set_end(struct decision *d, const struct topic *t, const struct set_end_offset_request_partition *asked,
                    struct set_end_offset_response_partition_result *result)
{
    *result = (struct set_end_offset_response_partition_result){.partition = asked->partition, .error_message = STR_NULL};
    if (t == NULL || asked->partition < 0 || asked->partition >= t->partitions) {
        result->error_code = KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
        result->error_message =
            t == NULL ? STR("There is no such topic.") : arena_printf(d->arena, "The topic has %" PRId32 " partition(s).", t->partitions);
        return;
    }
    if (asked->end_offset < 0) {
        result->error_code = KAFKA_INVALID_REQUEST;
        result->error_message = STR("An end offset cannot be negative.");
        return;
    }
    struct topic_end_key key = {.topic_id = t->id, .partition = asked->partition};
    struct topic_end_value value = {.end_offset = asked->end_offset};
    out_record(d, RECORD_TOPIC_END, &key, 0, &value);
}

void catalog_set_end(struct decision *d)
{
    const struct set_end_offset_request *request = d->op->request;
    struct set_end_offset_response *response = ARENA_NEW(d->arena, struct set_end_offset_response, 1);
    response->topics.v = ARENA_NEW(d->arena, struct set_end_offset_response_topic_result, request->topics.len);
    response->topics.len = request->topics.len;
    for (int32_t t = 0; t < request->topics.len; t++) {
        const struct set_end_offset_request_topic *asked = &request->topics.v[t];
        struct set_end_offset_response_topic_result *result = &response->topics.v[t];
        const struct topic *topic = topic_find(d->set->catalog, asked->name);
        result->name = asked->name;
        result->partitions.v = ARENA_NEW(d->arena, struct set_end_offset_response_partition_result, asked->partitions.len);
        result->partitions.len = asked->partitions.len;
        for (int32_t i = 0; i < asked->partitions.len; i++) {
            set_end(d, topic, &asked->partitions.v[i], &result->partitions.v[i]);
        }
    }
    out_answer(d, d->out->records.len > 0 ? RULE(END_SET) : RULE(END_REFUSED), KAFKA_NONE, response);
}
