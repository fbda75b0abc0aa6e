/* consumer_group_describe.c: ConsumerGroupDescribe (69). */
#include "internal.h"

static struct str group_of(const struct api_request *r, int32_t idx)
{
    const struct consumer_group_describe_request *request = r->request;
    return request->group_ids.v[idx];
}

static void join(struct api_request *r)
{
    const struct consumer_group_describe_request *request = r->request;
    struct consumer_group_describe_response *response = api_response(r);
    response->groups.len = r->fan->count;
    response->groups.v = ARENA_NEW(r->arena, struct consumer_group_describe_response_described_group, r->fan->count);
    for (int32_t i = 0; i < r->fan->count; i++) {
        struct consumer_group_describe_response_described_group *group = &response->groups.v[i];
        *group = *(const struct consumer_group_describe_response_described_group *)r->fan->answers[i];
        if (request->include_authorized_operations && group->error_code == 0) {
            group->authorized_operations = OPERATIONS_OF_GROUP;
        }
    }
    api_answer(r, response);
}

void api_consumer_group_describe(struct api_request *r)
{
    const struct consumer_group_describe_request *request = r->request;
    if (!api_too_many_groups(r, request->group_ids.len)) {
        api_fan_out(r, GROUP_CONSUMER_DESCRIBE, request->group_ids.len, group_of, NULL, join);
    }
}
