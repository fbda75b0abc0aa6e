/* describe_groups.c: DescribeGroups (15). */
#include "internal.h"

static struct str group_of(const struct api_request *r, int32_t idx)
{
    const struct describe_groups_request *request = r->request;
    return request->groups.v[idx];
}

static void join(struct api_request *r)
{
    const struct describe_groups_request *request = r->request;
    struct describe_groups_response *response = api_response(r);
    response->groups.len = r->fan->count;
    response->groups.v = ARENA_NEW(r->arena, struct describe_groups_response_described_group, r->fan->count);
    for (int32_t i = 0; i < r->fan->count; i++) {
        response->groups.v[i] = *(const struct describe_groups_response_described_group *)r->fan->answers[i];
        if (request->include_authorized_operations && response->groups.v[i].error_code == 0) {
            response->groups.v[i].authorized_operations = OPERATIONS_OF_GROUP;
        }
    }
    api_answer(r, response);
}

void api_describe_groups(struct api_request *r)
{
    const struct describe_groups_request *request = r->request;
    if (api_too_many_groups(r, request->groups.len)) {
        return;
    }
    api_fan_out(r, GROUP_DESCRIBE, request->groups.len, group_of, NULL, join);
}
