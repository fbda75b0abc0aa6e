/* log_past_client.c: requests answered by a moment of the past. The decisions are those of the coordinator, made on the state that the log makes, so that what is shown is what
 * it would have answered then. Only what reads is known here. */
#include "commands.h"
#include "log_past.h"

#include <muster/group.h>

#include <stdlib.h>
#include <string.h>

enum { PAST_NODE = -1 }; /* the log does not say who coordinated a group */

struct past_client {
    struct log_folder folder;
    struct log_past past;
    struct group_settings settings;
    struct group_set *empty; /* of a shard that has nothing */
    struct pool pool;
};

static const struct group_set *set_of(const struct past_client *p, uint32_t shard)
{
    const struct log_shard *s = log_replay_shard(p->past.replay, shard);
    return s != NULL ? s->set : p->empty;
}

static const void *decide(const struct past_client *p, enum group_op_kind kind, const struct client_call *call, struct str group,
                          const void *request, struct arena *arena)
{
    uint32_t shard = log_shard_of_group(group, p->past.shard_count);
    const struct log_shard *s = log_replay_shard(p->past.replay, shard);
    struct topics topics;
    struct group_out out;
    catalog_topics(set_of(p, 0), &topics);
    struct group_op op = {.kind = kind,
                          .api_key = call->key,
                          .api_version = call->max_version >= 0 ? call->max_version : wire_api_find(call->key)->request->max_version,
                          .group_id = group,
                          .request = request,
                          .clock_ms = group_set_clock(set_of(p, shard)),
                          .wall_ms = s != NULL ? s->wall_ms : 0,
                          .topics = &topics,
                          .catalog = set_of(p, 0),
                          .settings = &p->settings};
    group_decide(set_of(p, shard), &op, arena, &out);
    MUSTER_CHECK(out.answer != NULL);
    return out.answer;
}

/* ---- groups ---- */

static const void *describe(const struct past_client *p, const struct client_call *call, struct arena *arena)
{
    const struct describe_groups_request *request = call->request;
    struct describe_groups_response *response = ARENA_NEW(arena, struct describe_groups_response, 1);
    wire_init(&wire_describe_groups_response, response);
    response->groups.v = ARENA_NEW(arena, struct describe_groups_response_described_group, request->groups.len);
    response->groups.len = request->groups.len;
    for (int32_t i = 0; i < request->groups.len; i++) {
        response->groups.v[i] =
            *(const struct describe_groups_response_described_group *)decide(p, GROUP_DESCRIBE, call, request->groups.v[i], NULL, arena);
    }
    return response;
}

static const void *describe_consumer(const struct past_client *p, const struct client_call *call, struct arena *arena)
{
    const struct consumer_group_describe_request *request = call->request;
    struct consumer_group_describe_response *response = ARENA_NEW(arena, struct consumer_group_describe_response, 1);
    wire_init(&wire_consumer_group_describe_response, response);
    response->groups.v = ARENA_NEW(arena, struct consumer_group_describe_response_described_group, request->group_ids.len);
    response->groups.len = request->group_ids.len;
    for (int32_t i = 0; i < request->group_ids.len; i++) {
        response->groups.v[i] =
            *(const struct consumer_group_describe_response_described_group *)decide(p, GROUP_CONSUMER_DESCRIBE, call,
                                                                                     request->group_ids.v[i], NULL, arena);
    }
    return response;
}

static const void *describe_streams(const struct past_client *p, const struct client_call *call, struct arena *arena)
{
    const struct streams_group_describe_request *request = call->request;
    struct streams_group_describe_response *response = ARENA_NEW(arena, struct streams_group_describe_response, 1);
    wire_init(&wire_streams_group_describe_response, response);
    response->groups.v = ARENA_NEW(arena, struct streams_group_describe_response_described_group, request->group_ids.len);
    response->groups.len = request->group_ids.len;
    for (int32_t i = 0; i < request->group_ids.len; i++) {
        response->groups.v[i] =
            *(const struct streams_group_describe_response_described_group *)decide(p, GROUP_STREAMS_DESCRIBE, call,
                                                                                    request->group_ids.v[i], request, arena);
    }
    return response;
}

static const void *fetch_offsets(const struct past_client *p, const struct client_call *call, struct arena *arena)
{
    const struct offset_fetch_request *request = call->request;
    struct offset_fetch_response *response = ARENA_NEW(arena, struct offset_fetch_response, 1);
    wire_init(&wire_offset_fetch_response, response);
    response->groups.v = ARENA_NEW(arena, struct offset_fetch_response_group, request->groups.len);
    response->groups.len = request->groups.len;
    for (int32_t i = 0; i < request->groups.len; i++) {
        const struct offset_fetch_request_group *asked = &request->groups.v[i];
        response->groups.v[i] =
            *(const struct offset_fetch_response_group *)decide(p, GROUP_OFFSET_FETCH, call, asked->group_id, asked, arena);
    }
    return response;
}

static bool lists(const struct log_past *past, uint32_t shard, const struct list_groups_request *request, const struct group_listing *g)
{
    bool state = request->states_filter.len <= 0, type = request->types_filter.len <= 0;
    for (int32_t i = 0; i < request->states_filter.len; i++) {
        state = state || str_eq(request->states_filter.v[i], g->state);
    }
    for (int32_t i = 0; i < request->types_filter.len; i++) {
        type = type || str_eq(request->types_filter.v[i], g->type);
    }
    return state && type && log_past_is_asked(past, shard);
}

static const void *list_groups(const struct past_client *p, const struct client_call *call, struct arena *arena)
{
    struct list_groups_response *response = ARENA_NEW(arena, struct list_groups_response, 1);
    size_t count, most = 0;
    const struct log_shard *shards = log_replay_shards(p->past.replay, &count);
    wire_init(&wire_list_groups_response, response);
    for (size_t i = 0; i < count; i++) {
        struct group_set_counts counts;
        group_set_counts(shards[i].set, &counts);
        most += (size_t)counts.groups;
    }
    response->groups.v = ARENA_NEW(arena, struct list_groups_response_listed_group, most);
    for (size_t i = 0; i < count; i++) {
        struct group_listing g;
        for (struct str id = group_set_next(shards[i].set, STR_NULL); !str_is_null(id); id = group_set_next(shards[i].set, id)) {
            if (group_listing(shards[i].set, id, &g) && lists(&p->past, shards[i].shard, call->request, &g)) {
                response->groups.v[response->groups.len++] = (struct list_groups_response_listed_group){.group_id = g.group_id,
                                                                                                        .protocol_type = g.protocol_type,
                                                                                                        .group_state = g.state,
                                                                                                        .group_type = g.type};
            }
        }
    }
    return response;
}

/* ---- the cluster ---- */

static const void *find_coordinator(const struct client_call *call, struct arena *arena)
{
    const struct find_coordinator_request *request = call->request;
    struct find_coordinator_response *response = ARENA_NEW(arena, struct find_coordinator_response, 1);
    wire_init(&wire_find_coordinator_response, response);
    response->coordinators.v = ARENA_NEW(arena, struct find_coordinator_response_coordinator, request->coordinator_keys.len);
    response->coordinators.len = request->coordinator_keys.len;
    for (int32_t i = 0; i < request->coordinator_keys.len; i++) {
        response->coordinators.v[i] = (struct find_coordinator_response_coordinator){.key = request->coordinator_keys.v[i],
                                                                                     .node_id = PAST_NODE,
                                                                                     .host = STR("-"),
                                                                                     .error_message = STR_NULL};
    }
    return response;
}

static void fill_topic(const struct catalog_topic *topic, struct arena *arena, struct metadata_response_topic *ret)
{
    ret->name = topic->name;
    ret->topic_id = topic->id;
    ret->partitions.len = topic->partitions;
    ret->partitions.v = ARENA_NEW(arena, struct metadata_response_partition, topic->partitions);
    for (int32_t i = 0; i < topic->partitions; i++) {
        ret->partitions.v[i] = (struct metadata_response_partition){.partition_index = i, .leader_id = PAST_NODE};
    }
}

static const void *metadata(const struct past_client *p, const struct client_call *call, struct arena *arena)
{
    const struct metadata_request *request = call->request;
    struct metadata_response *response = ARENA_NEW(arena, struct metadata_response, 1);
    wire_init(&wire_metadata_response, response);
    response->brokers.len = 1;
    response->brokers.v = ARENA_NEW(arena, struct metadata_response_broker, 1);
    response->brokers.v[0] = (struct metadata_response_broker){.node_id = PAST_NODE, .host = STR("-"), .rack = STR_NULL};
    int32_t count = request->topics.len > 0 ? request->topics.len : 0;
    response->topics.v = ARENA_NEW(arena, struct metadata_response_topic, count);
    for (int32_t i = 0; i < count; i++) {
        struct catalog_topic topic;
        if (catalog_find_topic(set_of(p, 0), request->topics.v[i].name, &topic)) {
            fill_topic(&topic, arena, &response->topics.v[response->topics.len++]);
        }
    }
    return response;
}

static const void *list_offsets(const struct past_client *p, const struct client_call *call, struct arena *arena)
{
    const struct list_offsets_request *request = call->request;
    struct list_offsets_response *response = ARENA_NEW(arena, struct list_offsets_response, 1);
    wire_init(&wire_list_offsets_response, response);
    response->topics.len = request->topics.len;
    response->topics.v = ARENA_NEW(arena, struct list_offsets_response_topic_response, request->topics.len);
    for (int32_t i = 0; i < request->topics.len; i++) {
        const struct list_offsets_request_topic *asked = &request->topics.v[i];
        struct list_offsets_response_topic_response *topic = &response->topics.v[i];
        struct catalog_topic known;
        bool found = catalog_find_topic(set_of(p, 0), asked->name, &known);
        topic->name = asked->name;
        topic->partitions.len = asked->partitions.len;
        topic->partitions.v = ARENA_NEW(arena, struct list_offsets_response_partition_response, asked->partitions.len);
        for (int32_t k = 0; k < asked->partitions.len; k++) {
            int32_t partition = asked->partitions.v[k].partition_index;
            topic->partitions.v[k] =
                (struct list_offsets_response_partition_response){.partition_index = partition,
                                                                  .error_code = found ? 0 : 3,
                                                                  .offset =
                                                                      found ? catalog_end_offset(set_of(p, 0), known.id, partition) : -1};
        }
    }
    return response;
}

static const void *describe_configs(const struct past_client *p, const struct client_call *call, struct arena *arena)
{
    const struct describe_configs_request *request = call->request;
    struct describe_configs_response *response = ARENA_NEW(arena, struct describe_configs_response, 1);
    wire_init(&wire_describe_configs_response, response);
    response->results.len = request->resources.len;
    response->results.v = ARENA_NEW(arena, struct describe_configs_response_result, request->resources.len);
    for (int32_t i = 0; i < request->resources.len; i++) {
        catalog_describe_config(set_of(p, 0), &request->resources.v[i], false, false, NULL, arena, &response->results.v[i]);
    }
    return response;
}

static int answer(void *ctx, const struct client_call *call, struct arena *arena, const void **ret)
{
    const struct past_client *p = ctx;
    switch (call->key) {
    case API_KEY_DESCRIBE_GROUPS:
        *ret = describe(p, call, arena);
        return MUSTER_E_OK;
    case API_KEY_CONSUMER_GROUP_DESCRIBE:
        *ret = describe_consumer(p, call, arena);
        return MUSTER_E_OK;
    case API_KEY_STREAMS_GROUP_DESCRIBE:
        *ret = describe_streams(p, call, arena);
        return MUSTER_E_OK;
    case API_KEY_STREAMS_GROUP_TOPOLOGY:
        *ret = decide(p, GROUP_STREAMS_TOPOLOGY, call, ((const struct streams_group_topology_request *)call->request)->group_id,
                      call->request, arena);
        return MUSTER_E_OK;
    case API_KEY_GROUP_HISTORY:
        *ret = decide(p, GROUP_HISTORY, call, ((const struct group_history_request *)call->request)->group_id, NULL, arena);
        return MUSTER_E_OK;
    case API_KEY_OFFSET_FETCH:
        *ret = fetch_offsets(p, call, arena);
        return MUSTER_E_OK;
    case API_KEY_LIST_GROUPS:
        *ret = list_groups(p, call, arena);
        return MUSTER_E_OK;
    case API_KEY_FIND_COORDINATOR:
        *ret = find_coordinator(call, arena);
        return MUSTER_E_OK;
    case API_KEY_METADATA:
        *ret = metadata(p, call, arena);
        return MUSTER_E_OK;
    case API_KEY_LIST_OFFSETS:
        *ret = list_offsets(p, call, arena);
        return MUSTER_E_OK;
    case API_KEY_DESCRIBE_CONFIGS:
        *ret = describe_configs(p, call, arena);
        return MUSTER_E_OK;
    default:
        return MUSTER_E_VERSION;
    }
}

/* ---- beginning and end ---- */

static void past_close(void *ctx)
{
    struct past_client *p = ctx;
    log_past_close(&p->past);
    log_folder_close(&p->folder);
    if (p->empty != NULL) {
        group_set_free(p->empty);
    }
    free(p);
}

/* The shard of all groups that are named; -1: of several, or none is named. */
static int64_t shard_of_names(struct cli *cli, uint32_t shard_count)
{
    int count;
    int64_t shard = -1;
    const struct str *names = cli_names(cli, &count);
    for (int i = 0; i < count && shard_count > 0; i++) {
        int64_t one = log_shard_of_group(names[i], shard_count);
        if (i > 0 && one != shard) {
            return -1;
        }
        shard = one;
    }
    return shard;
}

int log_past_connect_at(struct cli *cli, const struct log_moment *at, struct client *c)
{
    struct past_client *p = calloc(1, sizeof(*p));
    MUSTER_CHECK(p != NULL);
    int code = log_source_open(cli, &p->folder);
    if (code != CLI_OK) {
        free(p);
        return code;
    }
    p->settings.consumer.assignors = STR("uniform,range");
    p->settings.history_max_entries = 1; /* what is kept of histories is in the log; by this they say whether the feature level lets them */
    p->empty = group_set_new(&p->pool, 0);
    code = log_past_open(cli, &p->folder, STR_NULL, shard_of_names(cli, p->folder.log_shards), at, &p->past);
    if (p->past.replay == NULL || (code != CLI_OK && code != CLI_TORN)) {
        past_close(p);
        return code;
    }
    MUSTER_CHECK(client_init(c, "past:1", cli->timeout_ms) == 0);
    c->answer = answer;
    c->shard_count = p->folder.log_shards > 0 ? (int)p->folder.log_shards : -1;
    c->answer_ctx = p;
    c->answer_close = past_close;
    return CLI_OK;
}

int log_past_connect(struct cli *cli, struct client *c)
{
    struct log_moment at;
    int code = log_moment_take(cli, &at) ? log_past_connect_at(cli, &at, c) : CLI_USAGE;
    if (code == CLI_OK && !cli->json) {
        const struct past_client *p = c->answer_ctx;
        log_past_print(cli, &p->past);
    }
    return code;
}

void log_past_add(const struct client *c, json_t *document)
{
    const struct past_client *p = c->answer_ctx;
    if (c->answer == answer) {
        json_object_set_new(document, "asOf", log_past_json(&p->past));
    }
}
