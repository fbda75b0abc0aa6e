/* list_offsets.c: ListOffsets (2). A partition has no records, but an end: the offset that was set for it, 0 until then. */
#include "internal.h"

enum { LATEST = -1, EARLIEST = -2, MAX_TIMESTAMP = -3, EARLIEST_LOCAL = -4, LATEST_TIERED = -5, EARLIEST_PENDING_UPLOAD = -6 };

/* The first version in which a special timestamp has its meaning. */
static int16_t version_of(int64_t timestamp)
{
    switch (timestamp) {
    case MAX_TIMESTAMP: /* KIP-734 */
        return 7;
    case EARLIEST_LOCAL: /* KIP-405 */
        return 8;
    case LATEST_TIERED: /* KIP-1005 */
        return 9;
    case EARLIEST_PENDING_UPLOAD: /* KIP-1023 */
        return 11;
    default:
        return timestamp < EARLIEST_PENDING_UPLOAD ? INT16_MAX : 0;
    }
}

enum { SEARCHED_PARTITIONS = 1000 };

/* Kafka refuses partitions that are named twice. Large requests are not searched for them: each is simply answered. */
static bool is_small(const struct list_offsets_request *request)
{
    int64_t count = request->topics.len;
    for (int32_t t = 0; t < request->topics.len; t++) {
        count += request->topics.v[t].partitions.len;
    }
    return count <= SEARCHED_PARTITIONS;
}

/* How often the partition is named, in all or, with a partition of its topic as `before`, up to there. */
static int32_t times_named(const struct list_offsets_request *request, struct str topic, int32_t partition,
                           const struct list_offsets_request_partition *before)
{
    int32_t count = 0;
    for (int32_t t = 0; t < request->topics.len; t++) {
        const struct list_offsets_request_topic *other = &request->topics.v[t];
        if (!str_eq(other->name, topic)) {
            continue;
        }
        for (int32_t p = 0; p < other->partitions.len; p++) {
            if (&other->partitions.v[p] == before) {
                return count;
            }
            count += other->partitions.v[p].partition_index == partition;
        }
    }
    return count;
}

static void find_offset(struct api_request *r, const struct catalog_topic *topic, const struct list_offsets_request_partition *asked,
                        struct list_offsets_response_partition_response *ret)
{
    if (asked->current_leader_epoch > 0) {
        ret->error_code = KAFKA_UNKNOWN_LEADER_EPOCH; /* leadership means nothing here and never changes: epoch 0 */
    } else if (r->version < version_of(asked->timestamp)) {
        ret->error_code = KAFKA_UNSUPPORTED_VERSION;
    } else if (asked->timestamp == LATEST) {
        ret->offset = catalog_end_offset(api_catalog(r->api), topic->id, asked->partition_index);
        ret->leader_epoch = 0;
    } else if (asked->timestamp == EARLIEST || asked->timestamp == EARLIEST_LOCAL) {
        ret->offset = 0;
        ret->leader_epoch = 0;
    } /* else: no record has that timestamp or a later one, and nothing is tiered: -1 */
}

static void answer_partition(struct api_request *r, const struct list_offsets_request_topic *in, const struct catalog_topic *topic,
                             int32_t idx, struct list_offsets_response_partition_response_array *ret)
{
    const struct list_offsets_request *request = r->request;
    const struct list_offsets_request_partition *asked = &in->partitions.v[idx];
    bool search = r->state != NULL;
    if (search && times_named(request, in->name, asked->partition_index, asked) > 0) {
        return; /* answered at its first place */
    }
    struct list_offsets_response_partition_response *answer = &ret->v[ret->len++];
    *answer = (struct list_offsets_response_partition_response){.partition_index = asked->partition_index,
                                                                .timestamp = -1,
                                                                .offset = -1,
                                                                .leader_epoch = -1};
    if (search && times_named(request, in->name, asked->partition_index, NULL) > 1) {
        answer->error_code = KAFKA_INVALID_REQUEST;
    } else if (topic == NULL || asked->partition_index < 0 || asked->partition_index >= topic->partitions) {
        answer->error_code = KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
    } else {
        find_offset(r, topic, asked, answer);
    }
}

void api_list_offsets(struct api_request *r)
{
    const struct list_offsets_request *request = r->request;
    if (api_too_many_topics(r, request->topics.len) || !api_catalog_ready(r, api_list_offsets)) {
        return;
    }
    struct list_offsets_response *response = api_response(r);
    r->state = is_small(request) ? r : NULL; /* partitions named twice are looked for */
    response->topics.len = request->topics.len;
    response->topics.v = ARENA_NEW(r->arena, struct list_offsets_response_topic_response, request->topics.len);
    for (int32_t t = 0; t < request->topics.len; t++) {
        const struct list_offsets_request_topic *in = &request->topics.v[t];
        struct list_offsets_response_topic_response *out = &response->topics.v[t];
        struct catalog_topic topic;
        bool known = catalog_find_topic(api_catalog(r->api), in->name, &topic);
        out->name = in->name;
        out->partitions.v = ARENA_NEW(r->arena, struct list_offsets_response_partition_response, in->partitions.len);
        for (int32_t p = 0; p < in->partitions.len; p++) {
            answer_partition(r, in, known ? &topic : NULL, p, &out->partitions);
        }
    }
    api_answer(r, response);
}
