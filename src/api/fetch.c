/* fetch.c: Fetch (1). There is nothing to fetch: every known partition is answered empty, at any offset and without error, after the time the client is
 * willing to wait for data. Sessions (KIP-227) are not kept: session id 0 says so, and the client names all its partitions each time. */
#include "internal.h"

enum { FIRST_VERSION_WITH_IDS = 13, LONGEST_WAIT_MS = 5 * 60 * 1000, NO_SESSION = -1, NEW_SESSION = 0, READ_COMMITTED = 1 };

static bool find_topic(struct api_request *r, const struct fetch_request_topic *in, struct catalog_topic *ret)
{
    const struct group_set *catalog = api_catalog(r->api);
    return r->version >= FIRST_VERSION_WITH_IDS ? catalog_find_topic_id(catalog, in->topic_id, ret)
                                                : catalog_find_topic(catalog, in->topic, ret);
}

/* The error of a partition, 0 when there is none. */
static int16_t partition_error(const struct api_request *r, const struct catalog_topic *topic, const struct fetch_request_partition *asked)
{
    if (topic == NULL) {
        return r->version >= FIRST_VERSION_WITH_IDS ? KAFKA_UNKNOWN_TOPIC_ID : KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
    }
    if (asked->partition < 0 || asked->partition >= topic->partitions) {
        return KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
    }
    return asked->current_leader_epoch > 0 ? KAFKA_UNKNOWN_LEADER_EPOCH : KAFKA_NONE;
}

static void answer_partition(struct api_request *r, const struct catalog_topic *topic, const struct fetch_request_partition *asked,
                             struct fetch_response_partition_data *ret)
{
    const struct fetch_request *request = r->request;
    *ret = (struct fetch_response_partition_data){
        .partition_index = asked->partition,
        .error_code = partition_error(r, topic, asked),
        .high_watermark = -1,
        .last_stable_offset = -1,
        .log_start_offset = -1,
        .diverging_epoch = {-1, -1},
        .current_leader = {-1, -1},
        .snapshot_id = {-1, -1},
        .preferred_read_replica = -1,
        .records = {(const uint8_t *)"", 0},
    };
    /* As Kafka has it: no list at all, except beside the error for what does not exist. */
    bool missing = ret->error_code == KAFKA_UNKNOWN_TOPIC_ID || ret->error_code == KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
    ret->aborted_transactions.len = missing || (ret->error_code == 0 && request->isolation_level == READ_COMMITTED) ? 0 : -1;
    if (ret->error_code == 0) {
        ret->high_watermark = catalog_end_offset(api_catalog(r->api), topic->id, asked->partition);
        ret->last_stable_offset = ret->high_watermark;
        ret->log_start_offset = 0;
    }
}

static void answer(struct api_request *r)
{
    const struct fetch_request *request = r->request;
    struct fetch_response *response = api_response(r);
    response->responses.len = request->topics.len;
    response->responses.v = ARENA_NEW(r->arena, struct fetch_response_fetchable_topic_response, request->topics.len);
    for (int32_t t = 0; t < request->topics.len; t++) {
        const struct fetch_request_topic *in = &request->topics.v[t];
        struct fetch_response_fetchable_topic_response *out = &response->responses.v[t];
        struct catalog_topic topic;
        bool known = find_topic(r, in, &topic);
        out->topic = in->topic;
        out->topic_id = in->topic_id;
        out->partitions.len = in->partitions.len;
        out->partitions.v = ARENA_NEW(r->arena, struct fetch_response_partition_data, in->partitions.len);
        for (int32_t p = 0; p < in->partitions.len; p++) {
            answer_partition(r, known ? &topic : NULL, &in->partitions.v[p], &out->partitions.v[p]);
        }
    }
    api_answer(r, response);
}

static void wait_over(struct api_request *r)
{
    if (r->gone) {
        api_drop(r);
    } else {
        answer(r);
    }
    api_unref(r);
}

/* Errors are told at once; so is the emptiness of a request that does not want to wait. */
static bool answers_at_once(struct api_request *r)
{
    const struct fetch_request *request = r->request;
    if (request->max_wait_ms <= 0 || request->min_bytes <= 0) {
        return true;
    }
    int32_t asked = 0;
    for (int32_t t = 0; t < request->topics.len; t++) {
        const struct fetch_request_topic *in = &request->topics.v[t];
        struct catalog_topic topic;
        bool known = find_topic(r, in, &topic);
        for (int32_t p = 0; p < in->partitions.len; p++) {
            asked++;
            if (partition_error(r, known ? &topic : NULL, &in->partitions.v[p]) != 0) {
                return true;
            }
        }
    }
    return asked == 0;
}

/* A session that this node never gave: it restarted under the client, or the client took it for another node. */
static bool refuse_session(struct api_request *r)
{
    const struct fetch_request *request = r->request;
    if (request->session_epoch == NO_SESSION || request->session_epoch == NEW_SESSION) {
        return false; /* closes the old session, and begins a new one or none */
    }
    struct fetch_response *response = api_response(r);
    response->error_code = KAFKA_FETCH_SESSION_ID_NOT_FOUND;
    api_answer(r, response);
    return true;
}

void api_fetch(struct api_request *r)
{
    const struct fetch_request *request = r->request;
    if (api_too_many_topics(r, request->topics.len) || !api_catalog_ready(r, api_fetch) || refuse_session(r)) {
        return;
    }
    if (answers_at_once(r)) {
        answer(r);
        return;
    }
    int64_t wait_ms = request->max_wait_ms < LONGEST_WAIT_MS ? request->max_wait_ms : LONGEST_WAIT_MS;
    r->api->stats.fetch_waits++;
    api_ref(r);
    wait_arm(r, r->api->now_us + wait_ms * 1000, wait_over);
}
