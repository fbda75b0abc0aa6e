/* produce.c: Produce (0). Refused: this cluster coordinates groups and keeps no data. A client that wants no answer (acks 0) is told by the close of its
 * connection, as Kafka does with errors it cannot tell otherwise. */
#include "internal.h"

static const char refusal[] = "This cluster coordinates groups and keeps no data: it accepts no records.";

static struct produce_response_partition_produce_response refuse_partition(int32_t partition)
{
    return (struct produce_response_partition_produce_response){
        .index = partition,
        .error_code = KAFKA_POLICY_VIOLATION,
        .base_offset = -1,
        .log_append_time_ms = -1,
        .log_start_offset = -1,
        .error_message = str_of(refusal),
        .current_leader = {-1, -1},
    };
}

void api_produce(struct api_request *r)
{
    const struct produce_request *request = r->request;
    if (api_too_many_topics(r, request->topic_data.len)) {
        return;
    }
    r->api->stats.error_by_key[r->row_idx]++;
    if (request->acks == 0) {
        api_answer_close(r);
        return;
    }
    struct produce_response *response = api_response(r);
    response->responses.len = request->topic_data.len;
    response->responses.v = ARENA_NEW(r->arena, struct produce_response_topic_produce_response, request->topic_data.len);
    for (int32_t t = 0; t < request->topic_data.len; t++) {
        const struct produce_request_topic_produce_data *in = &request->topic_data.v[t];
        struct produce_response_topic_produce_response *out = &response->responses.v[t];
        out->name = in->name;
        out->topic_id = in->topic_id;
        out->partition_responses.len = in->partition_data.len;
        out->partition_responses.v = ARENA_NEW(r->arena, struct produce_response_partition_produce_response, in->partition_data.len);
        for (int32_t p = 0; p < in->partition_data.len; p++) {
            out->partition_responses.v[p] = refuse_partition(in->partition_data.v[p].index);
        }
    }
    api_answer(r, response);
}
