#include "streams_view.h"

#include <stdlib.h>
#include <string.h>

enum { KAFKA_GROUP_ID_NOT_FOUND = 69 };

static int16_t describe_error(const void *answer)
{
    const struct streams_group_describe_response *response = answer;
    return response->groups.len == 1 ? response->groups.v[0].error_code : 0;
}

static int16_t topology_error(const void *answer)
{
    return ((const struct streams_group_topology_response *)answer)->error_code;
}

int streams_topology_fetch(struct client *c, struct str group, struct arena *arena, const struct streams_group_topology_response **ret)
{
    struct streams_group_topology_request request;
    const void *answer;
    wire_init(&wire_streams_group_topology_request, &request);
    request.group_id = group;
    struct client_call call = {.key = API_KEY_STREAMS_GROUP_TOPOLOGY, .max_version = -1, .request = &request};
    int rc = client_group_call(c, group, &call, topology_error, arena, &answer);
    if (rc == 0) {
        *ret = answer;
    }
    return rc;
}

static int fetch_description(struct client *c, struct str group, struct arena *arena, struct streams_view *view)
{
    struct streams_group_describe_request request;
    const void *answer;
    wire_init(&wire_streams_group_describe_request, &request);
    request.group_ids.v = &group;
    request.group_ids.len = 1;
    struct client_call call = {.key = API_KEY_STREAMS_GROUP_DESCRIBE, .max_version = -1, .request = &request};
    int rc = client_group_call(c, group, &call, describe_error, arena, &answer);
    if (rc < 0) {
        return rc;
    }
    const struct streams_group_describe_response *response = answer;
    if (response->groups.len != 1) {
        view->error = -1;
        return MUSTER_E_OK;
    }
    view->group = &response->groups.v[0];
    view->error = view->group->error_code;
    view->error_message = view->group->error_message;
    return MUSTER_E_OK;
}

static int by_member_id(const void *a, const void *b)
{
    const struct streams_group_describe_response_member *left = a, *right = b;
    return str_cmp(left->member_id, right->member_id);
}

int streams_view_fetch(struct client *c, struct str group, struct arena *arena, struct streams_view *ret)
{
    *ret = (struct streams_view){.group_id = group, .error_message = STR_NULL, .coordinator = {.id = -1}};
    int rc = fetch_description(c, group, arena, ret);
    if (rc < 0 || ret->error != 0) {
        return rc;
    }
    if (ret->group->members.len > 0) {
        qsort(ret->group->members.v, (size_t)ret->group->members.len, sizeof(ret->group->members.v[0]), by_member_id);
    }
    rc = streams_topology_fetch(c, group, arena, &ret->topology);
    if (rc == 0 && ret->topology->error_code != 0) { /* the group has gone meanwhile, or so */
        ret->topology = NULL;
    }
    if (rc < 0 && rc != MUSTER_E_VERSION) {
        return rc;
    }
    int16_t error; /* it is described all the same */
    rc = protection_fetch(c, group, arena, &ret->protection);
    return rc < 0 ? rc : coordinator_view_fetch(c, group, arena, &ret->coordinator, &error);
}

struct str streams_view_state(const struct streams_view *v)
{
    return v->topology != NULL ? v->topology->group_state : v->group->group_state;
}

static bool reads(const struct streams_group_describe_response_subtopology *s, struct str topic)
{
    for (int32_t i = 0; i < s->source_topics.len; i++) {
        if (str_eq(s->source_topics.v[i], topic)) {
            return true;
        }
    }
    for (int32_t i = 0; i < s->repartition_source_topics.len; i++) {
        if (str_eq(s->repartition_source_topics.v[i].name, topic)) {
            return true;
        }
    }
    return false;
}

struct str streams_reader_of(const struct streams_view *v, struct str topic)
{
    const struct streams_group_describe_response_topology *t = v->group->topology;
    for (int32_t i = 0; t != NULL && i < t->subtopologies.len; i++) {
        if (reads(&t->subtopologies.v[i], topic)) {
            return t->subtopologies.v[i].subtopology_id;
        }
    }
    return STR_NULL;
}

/* The partition of each topic that the task reads. That a source topic has fewer partitions than the task has a number is not told: such a row has no end. */
static void add_task(const struct streams_view *v, struct str subtopology, int32_t partition, struct offsets_view *offsets,
                     struct arena *arena)
{
    const struct streams_group_describe_response_topology *t = v->group->topology;
    for (int32_t i = 0; t != NULL && i < t->subtopologies.len; i++) {
        const struct streams_group_describe_response_subtopology *s = &t->subtopologies.v[i];
        if (!str_eq(s->subtopology_id, subtopology)) {
            continue;
        }
        for (int32_t k = 0; k < s->source_topics.len; k++) {
            offsets_view_add(offsets, s->source_topics.v[k], partition, arena);
        }
        for (int32_t k = 0; k < s->repartition_source_topics.len; k++) {
            if (partition < s->repartition_source_topics.v[k].partitions) {
                offsets_view_add(offsets, s->repartition_source_topics.v[k].name, partition, arena);
            }
        }
    }
}

void streams_view_partitions(const struct streams_view *v, struct offsets_view *offsets, struct arena *arena)
{
    for (int32_t i = 0; i < v->group->members.len; i++) {
        const struct streams_group_describe_response_task_ids_array *tasks = &v->group->members.v[i].assignment.active_tasks;
        for (int32_t k = 0; k < tasks->len; k++) {
            for (int32_t p = 0; p < tasks->v[k].partitions.len; p++) {
                add_task(v, tasks->v[k].subtopology_id, tasks->v[k].partitions.v[p], offsets, arena);
            }
        }
    }
}

bool group_missing(struct client *c, struct str group, struct arena *arena)
{
    struct group_view g;
    struct streams_view v;
    if (group_view_fetch(c, group, arena, &g) < 0 || g.error != KAFKA_GROUP_ID_NOT_FOUND) {
        return false;
    }
    int rc = streams_view_fetch(c, group, arena, &v);
    return rc == MUSTER_E_VERSION || (rc == 0 && v.error == KAFKA_GROUP_ID_NOT_FOUND);
}
