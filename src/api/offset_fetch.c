/* offset_fetch.c: OffsetFetch (9). From version 8 on one request asks for many groups, which may lie in different shards; the older form, one
 * group with its topics at the top, is brought into the newer one and its answer back. */
#include "internal.h"

enum { FIRST_BATCHED_VERSION = 8 };

/* ---- versions 8 and later ---- */

static struct str group_of(const struct api_request *r, int32_t idx)
{
    const struct offset_fetch_request *request = r->request;
    return request->groups.v[idx].group_id;
}

static const void *request_of(const struct api_request *r, int32_t idx)
{
    const struct offset_fetch_request *request = r->request;
    return &request->groups.v[idx];
}

static void join_groups(struct api_request *r)
{
    struct offset_fetch_response *response = api_response(r);
    response->groups.len = r->fan->count;
    response->groups.v = ARENA_NEW(r->arena, struct offset_fetch_response_group, r->fan->count);
    for (int32_t i = 0; i < r->fan->count; i++) {
        response->groups.v[i] = *(const struct offset_fetch_response_group *)r->fan->answers[i];
    }
    api_answer(r, response);
}

/* ---- versions 1 to 7 ---- */

static struct str single_group(const struct api_request *r, int32_t idx)
{
    (void)idx;
    return ((const struct offset_fetch_request *)r->request)->group_id;
}

static const void *single_request(const struct api_request *r, int32_t idx)
{
    (void)idx;
    const struct offset_fetch_request *request = r->request;
    struct offset_fetch_request_group *group = arena_get(r->arena, sizeof(*group));
    group->group_id = request->group_id;
    group->member_id = STR_NULL;
    group->member_epoch = -1;
    group->topics.len = request->topics.len;
    if (request->topics.len <= 0) {
        return group;
    }
    group->topics.v = ARENA_NEW(r->arena, struct offset_fetch_request_topics, request->topics.len);
    for (int32_t i = 0; i < request->topics.len; i++) {
        group->topics.v[i].name = request->topics.v[i].name;
        group->topics.v[i].partition_indexes = request->topics.v[i].partition_indexes;
    }
    return group;
}

static void copy_topic(struct api_request *r, const struct offset_fetch_response_topics *from, struct offset_fetch_response_topic *to)
{
    to->name = from->name;
    to->partitions.len = from->partitions.len;
    to->partitions.v = ARENA_NEW(r->arena, struct offset_fetch_response_partition, from->partitions.len);
    for (int32_t i = 0; i < from->partitions.len; i++) {
        const struct offset_fetch_response_partitions *p = &from->partitions.v[i];
        to->partitions.v[i] = (struct offset_fetch_response_partition){
            .partition_index = p->partition_index,
            .committed_offset = p->committed_offset,
            .committed_leader_epoch = p->committed_leader_epoch,
            .metadata = p->metadata,
            .error_code = p->error_code,
        };
    }
}

/* Version 1 has no error at the top: the group's goes to every partition that was asked for. */
static void spread_error(struct api_request *r, struct offset_fetch_response *response, int16_t error)
{
    const struct offset_fetch_request *request = r->request;
    int32_t count = request->topics.len < 0 ? 0 : request->topics.len;
    response->topics.len = count;
    response->topics.v = ARENA_NEW(r->arena, struct offset_fetch_response_topic, count);
    for (int32_t i = 0; i < count; i++) {
        const struct offset_fetch_request_topic *asked = &request->topics.v[i];
        struct offset_fetch_response_topic *topic = &response->topics.v[i];
        topic->name = asked->name;
        topic->partitions.len = asked->partition_indexes.len;
        topic->partitions.v = ARENA_NEW(r->arena, struct offset_fetch_response_partition, asked->partition_indexes.len);
        for (int32_t p = 0; p < asked->partition_indexes.len; p++) {
            topic->partitions.v[p] = (struct offset_fetch_response_partition){
                .partition_index = asked->partition_indexes.v[p],
                .committed_offset = -1,
                .committed_leader_epoch = -1,
                .metadata = STR(""),
                .error_code = error,
            };
        }
    }
}

static void join_single(struct api_request *r)
{
    const struct offset_fetch_response_group *group = r->fan->answers[0];
    struct offset_fetch_response *response = api_response(r);
    response->error_code = group->error_code;
    if (group->error_code != 0 && r->version < 2) {
        spread_error(r, response, group->error_code);
    } else {
        response->topics.len = group->topics.len;
        response->topics.v = ARENA_NEW(r->arena, struct offset_fetch_response_topic, group->topics.len);
        for (int32_t i = 0; i < group->topics.len; i++) {
            copy_topic(r, &group->topics.v[i], &response->topics.v[i]);
        }
    }
    api_answer(r, response);
}

void api_offset_fetch(struct api_request *r)
{
    const struct offset_fetch_request *request = r->request;
    if (r->version >= FIRST_BATCHED_VERSION && api_too_many_groups(r, request->groups.len)) {
        return;
    }
    if (r->version >= FIRST_BATCHED_VERSION) {
        api_fan_out(r, GROUP_OFFSET_FETCH, request->groups.len, group_of, request_of, join_groups);
    } else {
        api_fan_out(r, GROUP_OFFSET_FETCH, 1, single_group, single_request, join_single);
    }
}
