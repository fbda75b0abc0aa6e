/* offset_for_leader_epoch.c: OffsetForLeaderEpoch (23). The only epoch a partition ever has is 0, and it ends where the partition ends. */
#include "internal.h"

static void answer_partition(struct api_request *r, const struct catalog_topic *topic,
                             const struct offset_for_leader_epoch_request_offset_for_leader_partition *asked,
                             struct offset_for_leader_epoch_response_epoch_end_offset *ret)
{
    *ret = (struct offset_for_leader_epoch_response_epoch_end_offset){.partition = asked->partition, .leader_epoch = -1, .end_offset = -1};
    if (topic == NULL || asked->partition < 0 || asked->partition >= topic->partitions) {
        ret->error_code = KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
    } else if (asked->current_leader_epoch > 0) {
        ret->error_code = KAFKA_UNKNOWN_LEADER_EPOCH;
    } else if (asked->leader_epoch == 0) {
        ret->leader_epoch = 0;
        ret->end_offset = catalog_end_offset(api_catalog(r->api), topic->id, asked->partition);
    }
}

void api_offset_for_leader_epoch(struct api_request *r)
{
    const struct offset_for_leader_epoch_request *request = r->request;
    if (api_too_many_topics(r, request->topics.len) || !api_catalog_ready(r, api_offset_for_leader_epoch)) {
        return;
    }
    struct offset_for_leader_epoch_response *response = api_response(r);
    response->topics.len = request->topics.len;
    response->topics.v = ARENA_NEW(r->arena, struct offset_for_leader_epoch_response_offset_for_leader_topic_result, request->topics.len);
    for (int32_t t = 0; t < request->topics.len; t++) {
        const struct offset_for_leader_epoch_request_offset_for_leader_topic *in = &request->topics.v[t];
        struct offset_for_leader_epoch_response_offset_for_leader_topic_result *out = &response->topics.v[t];
        struct catalog_topic topic;
        bool known = catalog_find_topic(api_catalog(r->api), in->topic, &topic);
        out->topic = in->topic;
        out->partitions.len = in->partitions.len;
        out->partitions.v = ARENA_NEW(r->arena, struct offset_for_leader_epoch_response_epoch_end_offset, in->partitions.len);
        for (int32_t p = 0; p < in->partitions.len; p++) {
            answer_partition(r, known ? &topic : NULL, &in->partitions.v[p], &out->partitions.v[p]);
        }
    }
    api_answer(r, response);
}
