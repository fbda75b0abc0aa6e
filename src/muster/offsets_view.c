/* offsets_view.c: committed offsets of a group and the ends of the partitions. */
#include "group_view.h"
#include "out.h"

#include <stdlib.h>
#include <string.h>

static int16_t fetch_error(const void *answer)
{
    const struct offset_fetch_response *response = answer;
    return response->groups.len == 1 ? response->groups.v[0].error_code : 0;
}

static struct offset_view *add(struct offsets_view *offsets, struct arena *arena)
{
    if (offsets->count == offsets->cap) {
        int cap = offsets->cap > 0 ? offsets->cap * 2 : 64;
        struct offset_view *grown = ARENA_NEW(arena, struct offset_view, cap);
        if (offsets->count > 0) {
            memcpy(grown, offsets->v, (size_t)offsets->count * sizeof(*grown));
        }
        offsets->v = grown;
        offsets->cap = cap;
    }
    return &offsets->v[offsets->count++];
}

static int compare(struct str topic, int32_t partition, const struct offset_view *o)
{
    int by_topic = str_cmp(topic, o->topic);
    return by_topic != 0 ? by_topic : (partition > o->partition) - (partition < o->partition);
}

static int by_partition(const void *a, const void *b)
{
    const struct offset_view *x = a;
    return compare(x->topic, x->partition, b);
}

void offsets_view_add(struct offsets_view *offsets, struct str topic, int32_t partition, struct arena *arena)
{
    int at = 0;
    for (int end = offsets->count; at < end;) {
        int middle = at + (end - at) / 2;
        if (compare(topic, partition, &offsets->v[middle]) > 0) {
            at = middle + 1;
        } else {
            end = middle;
        }
    }
    if (at < offsets->count && compare(topic, partition, &offsets->v[at]) == 0) {
        return;
    }
    (void)add(offsets, arena);
    memmove(&offsets->v[at + 1], &offsets->v[at], (size_t)(offsets->count - 1 - at) * sizeof(*offsets->v));
    offsets->v[at] = (struct offset_view){topic, partition, -1, -1, STR_NULL, -1};
}

int offsets_view_fetch(struct client *c, struct str group, struct arena *arena, struct offsets_view *ret)
{
    struct offset_fetch_request request;
    struct offset_fetch_request_group *one = ARENA_NEW(arena, struct offset_fetch_request_group, 1);
    const void *answer;
    wire_init(&wire_offset_fetch_request, &request);
    *one = (struct offset_fetch_request_group){.group_id = group, .member_id = STR_NULL, .member_epoch = -1, .topics = {NULL, -1}};
    request.groups.v = one;
    request.groups.len = 1;
    /* From version 10 on topics have ids only; names are wanted here. */
    struct client_call call = {.key = API_KEY_OFFSET_FETCH, .min_version = 8, .max_version = 9, .request = &request};
    *ret = (struct offsets_view){0};
    int rc = client_group_call(c, group, &call, fetch_error, arena, &answer);
    if (rc < 0) {
        return rc;
    }
    const struct offset_fetch_response *response = answer;
    if (response->groups.len != 1 || response->groups.v[0].error_code != 0) {
        ret->error = response->groups.len == 1 ? response->groups.v[0].error_code : -1;
        return MUSTER_E_OK;
    }
    const struct offset_fetch_response_group *g = &response->groups.v[0];
    for (int32_t i = 0; i < g->topics.len; i++) {
        for (int32_t k = 0; k < g->topics.v[i].partitions.len; k++) {
            const struct offset_fetch_response_partitions *p = &g->topics.v[i].partitions.v[k];
            if (p->error_code == 0 && p->committed_offset >= 0) {
                *add(ret, arena) = (struct offset_view){g->topics.v[i].name,       p->partition_index, p->committed_offset,
                                                        p->committed_leader_epoch, p->metadata,        -1};
            }
        }
    }
    if (ret->count > 0) {
        qsort(ret->v, (size_t)ret->count, sizeof(*ret->v), by_partition);
    }
    return MUSTER_E_OK;
}

/* ---- ends ---- */

enum { KAFKA_UNKNOWN_TOPIC_OR_PARTITION = 3 };

static const struct metadata_response_topic *find_topic(const struct metadata_response *metadata, struct str topic)
{
    for (int32_t i = 0; i < metadata->topics.len; i++) {
        if (str_eq(metadata->topics.v[i].name, topic)) {
            return &metadata->topics.v[i];
        }
    }
    return NULL;
}

/* Its leader, -1 if there is none; and what is known of its offsets before that one is asked. */
static int64_t find_leader(const struct metadata_response *metadata, const struct offset_view *place, int32_t *ret_leader)
{
    const struct metadata_response_topic *topic = find_topic(metadata, place->topic);
    *ret_leader = -1;
    if (topic == NULL || topic->error_code != 0) {
        return topic != NULL && topic->error_code == KAFKA_UNKNOWN_TOPIC_OR_PARTITION ? LIST_NONE : LIST_UNTOLD;
    }
    const struct metadata_response_partition *p = client_partition(topic, place->partition);
    if (p == NULL) {
        return LIST_NONE;
    }
    *ret_leader = p->error_code == 0 ? p->leader_id : -1;
    return LIST_UNTOLD;
}

/* The partitions whose leader is the node, as a request; its topics in order. */
static void request_of_leader(const struct offsets_view *offsets, int64_t timestamp, const int32_t *leaders, int32_t node,
                              struct arena *arena, struct list_offsets_request *ret)
{
    wire_init(&wire_list_offsets_request, ret);
    ret->replica_id = -1;
    ret->topics.v = ARENA_NEW(arena, struct list_offsets_request_topic, offsets->count);
    ret->topics.len = 0;
    struct list_offsets_request_partition *partitions = ARENA_NEW(arena, struct list_offsets_request_partition, offsets->count);
    for (int i = 0; i < offsets->count; i++) {
        if (leaders[i] != node) {
            continue;
        }
        struct list_offsets_request_topic *topic = ret->topics.len > 0 ? &ret->topics.v[ret->topics.len - 1] : NULL;
        if (topic == NULL || !str_eq(topic->name, offsets->v[i].topic)) {
            topic = &ret->topics.v[ret->topics.len++];
            topic->name = offsets->v[i].topic;
            topic->partitions.v = partitions;
        }
        *partitions = (struct list_offsets_request_partition){offsets->v[i].partition, -1, timestamp};
        partitions++;
        topic->partitions.len++;
    }
}

static void take_answers(const struct offsets_view *offsets, const struct list_offsets_response *response, int64_t *ret)
{
    for (int32_t i = 0; i < response->topics.len; i++) {
        for (int32_t k = 0; k < response->topics.v[i].partitions.len; k++) {
            const struct list_offsets_response_partition_response *p = &response->topics.v[i].partitions.v[k];
            struct offset_view key = {.topic = response->topics.v[i].name, .partition = p->partition_index};
            struct offset_view *o = bsearch(&key, offsets->v, (size_t)offsets->count, sizeof(*offsets->v), by_partition);
            if (o != NULL && p->error_code == 0) {
                ret[o - offsets->v] = p->offset;
            }
        }
    }
}

static struct str *topics_of(const struct offsets_view *offsets, struct arena *arena, int *ret_count)
{
    struct str *topics = ARENA_NEW(arena, struct str, offsets->count);
    int count = 0;
    for (int i = 0; i < offsets->count; i++) {
        if (count == 0 || !str_eq(topics[count - 1], offsets->v[i].topic)) {
            topics[count++] = offsets->v[i].topic;
        }
    }
    *ret_count = count;
    return topics;
}

int offsets_view_list(struct client *c, const struct offsets_view *offsets, int64_t timestamp, struct arena *arena, int64_t *ret)
{
    int topic_count;
    const struct metadata_response *metadata;
    if (offsets->count == 0) {
        return MUSTER_E_OK;
    }
    struct str *topics = topics_of(offsets, arena, &topic_count);
    int rc = client_metadata(c, topics, topic_count, arena, &metadata);
    if (rc < 0) {
        return rc;
    }
    int32_t *leaders = ARENA_NEW(arena, int32_t, offsets->count);
    for (int i = 0; i < offsets->count; i++) {
        ret[i] = find_leader(metadata, &offsets->v[i], &leaders[i]);
    }
    for (int n = 0; client_broker(c, n) != NULL; n++) {
        struct client_node *node = client_broker(c, n);
        struct list_offsets_request request;
        const void *answer;
        request_of_leader(offsets, timestamp, leaders, node->id, arena, &request);
        struct client_call call = {.key = API_KEY_LIST_OFFSETS, .min_version = 1, .max_version = 10, .request = &request};
        if (request.topics.len > 0 && client_node_call(c, node, &call, arena, &answer) == 0) {
            take_answers(offsets, answer, ret);
        }
    }
    return MUSTER_E_OK;
}

int offsets_view_ends(struct client *c, struct offsets_view *offsets, struct arena *arena)
{
    int64_t *ends = ARENA_NEW(arena, int64_t, offsets->count);
    int rc = offsets_view_list(c, offsets, LIST_LATEST, arena, ends);
    for (int i = 0; rc == 0 && i < offsets->count; i++) {
        offsets->v[i].end = ends[i] >= 0 ? ends[i] : -1;
    }
    return rc;
}

int offsets_view_known_ends(struct client *c, struct offsets_view *offsets, struct arena *arena)
{
    int rc = offsets_view_ends(c, offsets, arena);
    bool any = false, muster = c->answer != NULL;
    for (int i = 0; rc == 0 && i < offsets->count; i++) {
        any = any || offsets->v[i].end == 0;
    }
    if (any && !muster && client_is_muster(c, arena, &muster) < 0) {
        return rc;
    }
    for (int i = 0; any && muster && i < offsets->count; i++) {
        offsets->v[i].end = offsets->v[i].end == 0 ? -1 : offsets->v[i].end;
    }
    return rc;
}

int offsets_view_told(struct cli *cli, const struct offset_view *place, int64_t listed)
{
    if (listed != LIST_UNTOLD) {
        return CLI_OK;
    }
    return cli_fail(cli, CLI_FAILED, "%.*s-%d: its leader does not say where it begins and ends; try again",
                    STR_ARG(out_text(place->topic, &cli->arena)), (int)place->partition);
}

int offsets_view_judge(struct cli *cli, struct str group, bool named, const struct offsets_view *offsets)
{
    if (offsets->error != 0) {
        return cli_fail(cli, CLI_FAILED, "group %.*s: %s", STR_ARG(out_quoted(group, &cli->arena)),
                        kafka_error_text(offsets->error, STR_NULL, &cli->arena));
    }
    if (offsets->count == 0 && named) {
        return cli_fail(cli, CLI_FAILED, "group %.*s has no committed offsets%s", STR_ARG(out_quoted(group, &cli->arena)),
                        cli_flag(cli, "at") ? " as of then" : "");
    }
    return CLI_OK;
}
