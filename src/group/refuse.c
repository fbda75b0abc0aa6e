/* refuse.c: the answer of a request that nobody decides, with a coordinator's error wherever a client of that version looks for one. */
#include "errors.h"
#include "state.h"

struct refusal {
    const struct group_op *op;
    struct arena *arena;
    int16_t error;
};

static const void *refuse_join(const struct refusal *f)
{
    const struct join_group_request *r = f->op->request;
    struct join_group_response *answer = ARENA_NEW(f->arena, struct join_group_response, 1);
    wire_init(&wire_join_group_response, answer);
    answer->error_code = f->error;
    answer->member_id = r->member_id;
    answer->protocol_name = f->op->api_version < 7 ? STR("") : STR_NULL;
    return answer;
}

static const void *refuse_sync(const struct refusal *f)
{
    struct sync_group_response *answer = ARENA_NEW(f->arena, struct sync_group_response, 1);
    wire_init(&wire_sync_group_response, answer);
    answer->error_code = f->error;
    answer->assignment = (struct bytes){(const uint8_t *)"", 0};
    return answer;
}

static const void *refuse_heartbeat(const struct refusal *f)
{
    struct heartbeat_response *answer = ARENA_NEW(f->arena, struct heartbeat_response, 1);
    wire_init(&wire_heartbeat_response, answer);
    /* Clients know no "loading" in a heartbeat's answer; "not available" makes them ask for the coordinator and come again. */
    answer->error_code = f->error == KAFKA_COORDINATOR_LOAD_IN_PROGRESS ? KAFKA_COORDINATOR_NOT_AVAILABLE : f->error;
    return answer;
}

static const void *refuse_leave(const struct refusal *f)
{
    struct leave_group_response *answer = ARENA_NEW(f->arena, struct leave_group_response, 1);
    wire_init(&wire_leave_group_response, answer);
    answer->error_code = f->error;
    return answer;
}

static const void *refuse_commit(const struct refusal *f)
{
    const struct offset_commit_request *r = f->op->request;
    struct offset_commit_response *answer = ARENA_NEW(f->arena, struct offset_commit_response, 1);
    wire_init(&wire_offset_commit_response, answer);
    answer->topics.len = r->topics.len;
    answer->topics.v = ARENA_NEW(f->arena, struct offset_commit_response_topic, r->topics.len);
    for (int32_t i = 0; i < r->topics.len; i++) {
        const struct offset_commit_request_topic *asked = &r->topics.v[i];
        struct offset_commit_response_topic *topic = &answer->topics.v[i];
        topic->name = asked->name;
        topic->topic_id = asked->topic_id;
        topic->partitions.len = asked->partitions.len;
        topic->partitions.v = ARENA_NEW(f->arena, struct offset_commit_response_partition, asked->partitions.len);
        for (int32_t k = 0; k < asked->partitions.len; k++) {
            topic->partitions.v[k].partition_index = asked->partitions.v[k].partition_index;
            topic->partitions.v[k].error_code = f->error;
        }
    }
    return answer;
}

/* Before version 2 there is no error but at each partition. */
static void refuse_fetch_partitions(const struct refusal *f, const struct offset_fetch_request_group *r,
                                    struct offset_fetch_response_group *answer)
{
    answer->topics.len = r->topics.len > 0 ? r->topics.len : 0;
    answer->topics.v = ARENA_NEW(f->arena, struct offset_fetch_response_topics, answer->topics.len);
    for (int32_t i = 0; i < answer->topics.len; i++) {
        const struct offset_fetch_request_topics *asked = &r->topics.v[i];
        struct offset_fetch_response_topics *topic = &answer->topics.v[i];
        topic->name = asked->name;
        topic->topic_id = asked->topic_id;
        topic->partitions.len = asked->partition_indexes.len;
        topic->partitions.v = ARENA_NEW(f->arena, struct offset_fetch_response_partitions, asked->partition_indexes.len);
        for (int32_t k = 0; k < asked->partition_indexes.len; k++) {
            topic->partitions.v[k] = (struct offset_fetch_response_partitions){.partition_index = asked->partition_indexes.v[k],
                                                                               .committed_offset = -1,
                                                                               .committed_leader_epoch = -1,
                                                                               .metadata = STR(""),
                                                                               .error_code = f->error};
        }
    }
}

static const void *refuse_fetch(const struct refusal *f)
{
    struct offset_fetch_response_group *answer = ARENA_NEW(f->arena, struct offset_fetch_response_group, 1);
    answer->group_id = f->op->group_id;
    answer->error_code = f->error;
    if (f->op->api_version < 2) {
        refuse_fetch_partitions(f, f->op->request, answer);
    }
    return answer;
}

static const void *refuse_offset_delete(const struct refusal *f)
{
    struct offset_delete_response *answer = ARENA_NEW(f->arena, struct offset_delete_response, 1);
    wire_init(&wire_offset_delete_response, answer);
    answer->error_code = f->error;
    return answer;
}

static const void *refuse_describe(const struct refusal *f)
{
    struct describe_groups_response_described_group *answer = ARENA_NEW(f->arena, struct describe_groups_response_described_group, 1);
    answer->error_code = f->error;
    answer->error_message = STR_NULL;
    answer->group_id = f->op->group_id;
    answer->group_state = STR("");
    answer->protocol_type = STR("");
    answer->protocol_data = STR("");
    answer->authorized_operations = INT32_MIN;
    return answer;
}

static const void *refuse_group_delete(const struct refusal *f)
{
    struct delete_groups_response_deletable_group_result *answer =
        ARENA_NEW(f->arena, struct delete_groups_response_deletable_group_result, 1);
    answer->group_id = f->op->group_id;
    answer->error_code = f->error;
    answer->error_message = STR_NULL;
    return answer;
}

/* ---- groups of the new protocols -------------------------------------------------------------------------------------------- */

/* Their clients show it to people. */
static struct str text_of(int16_t error)
{
    return error == KAFKA_UNKNOWN_SERVER_ERROR ? STR("The change does not fit into one entry of the log. See the log of the coordinator.")
                                               : STR_NULL;
}

static const void *refuse_streams_heartbeat(const struct refusal *f)
{
    struct streams_group_heartbeat_response *answer = ARENA_NEW(f->arena, struct streams_group_heartbeat_response, 1);
    wire_init(&wire_streams_group_heartbeat_response, answer);
    answer->error_code = f->error;
    answer->error_message = text_of(f->error);
    return answer;
}

static const void *refuse_streams_describe(const struct refusal *f)
{
    struct streams_group_describe_response_described_group *answer =
        ARENA_NEW(f->arena, struct streams_group_describe_response_described_group, 1);
    wire_init_type(wire_streams_group_describe_response.type->fields[1].type, answer);
    answer->group_id = f->op->group_id;
    answer->error_code = f->error;
    return answer;
}

static const void *refuse_streams_topology(const struct refusal *f)
{
    struct streams_group_topology_response *answer = ARENA_NEW(f->arena, struct streams_group_topology_response, 1);
    wire_init(&wire_streams_group_topology_response, answer);
    answer->error_code = f->error;
    return answer;
}

static const void *refuse_history(const struct refusal *f)
{
    struct group_history_response *answer = ARENA_NEW(f->arena, struct group_history_response, 1);
    wire_init(&wire_group_history_response, answer);
    answer->error_code = f->error;
    return answer;
}

static const void *refuse_streams_initialize(const struct refusal *f)
{
    struct streams_group_initialize_response *answer = ARENA_NEW(f->arena, struct streams_group_initialize_response, 1);
    wire_init(&wire_streams_group_initialize_response, answer);
    answer->error_code = f->error;
    return answer;
}

static const void *refuse_streams_description(const struct refusal *f)
{
    struct streams_group_topology_description_update_response *answer =
        ARENA_NEW(f->arena, struct streams_group_topology_description_update_response, 1);
    wire_init(&wire_streams_group_topology_description_update_response, answer);
    answer->error_code = f->error;
    return answer;
}

static const void *refuse_streams(const struct refusal *f)
{
    switch (f->op->kind) {
    case GROUP_STREAMS_HEARTBEAT:
        return refuse_streams_heartbeat(f);
    case GROUP_STREAMS_DESCRIBE:
        return refuse_streams_describe(f);
    case GROUP_STREAMS_TOPOLOGY:
        return refuse_streams_topology(f);
    case GROUP_STREAMS_INITIALIZE:
        return refuse_streams_initialize(f);
    case GROUP_STREAMS_DESCRIPTION:
        return refuse_streams_description(f);
    default:
        return NULL;
    }
}

static const void *refuse_alter_offsets(const struct refusal *f)
{
    struct alter_group_offsets_response *answer = ARENA_NEW(f->arena, struct alter_group_offsets_response, 1);
    wire_init(&wire_alter_group_offsets_response, answer);
    answer->error_code = f->error;
    answer->error_message = text_of(f->error);
    return answer;
}

/* ---- consumer groups ------------------------------------------------------------------------------------------------------- */

static const void *refuse_consumer_heartbeat(const struct refusal *f)
{
    struct consumer_group_heartbeat_response *answer = ARENA_NEW(f->arena, struct consumer_group_heartbeat_response, 1);
    wire_init(&wire_consumer_group_heartbeat_response, answer);
    answer->error_code = f->error;
    answer->error_message = text_of(f->error);
    return answer;
}

static const void *refuse_consumer_describe(const struct refusal *f)
{
    struct consumer_group_describe_response_described_group *answer =
        ARENA_NEW(f->arena, struct consumer_group_describe_response_described_group, 1);
    wire_init_type(wire_consumer_group_describe_response.type->fields[1].type, answer);
    answer->group_id = f->op->group_id;
    answer->error_code = f->error;
    return answer;
}

/* ---- the catalogue: each thing that was asked for has an error of its own ------------------------------------------------ */

static const void *refuse_create_topics(const struct refusal *f)
{
    const struct create_topics_request *r = f->op->request;
    struct create_topics_response *answer = ARENA_NEW(f->arena, struct create_topics_response, 1);
    wire_init(&wire_create_topics_response, answer);
    answer->topics.len = r->topics.len;
    answer->topics.v = ARENA_NEW(f->arena, struct create_topics_response_creatable_topic_result, r->topics.len);
    for (int32_t i = 0; i < r->topics.len; i++) {
        answer->topics.v[i] = (struct create_topics_response_creatable_topic_result){
            .name = r->topics.v[i].name, .error_code = f->error, .error_message = STR_NULL, .num_partitions = -1, .replication_factor = -1};
    }
    return answer;
}

static const void *refuse_create_partitions(const struct refusal *f)
{
    const struct create_partitions_request *r = f->op->request;
    struct create_partitions_response *answer = ARENA_NEW(f->arena, struct create_partitions_response, 1);
    wire_init(&wire_create_partitions_response, answer);
    answer->results.len = r->topics.len;
    answer->results.v = ARENA_NEW(f->arena, struct create_partitions_response_topic_result, r->topics.len);
    for (int32_t i = 0; i < r->topics.len; i++) {
        answer->results.v[i] = (struct create_partitions_response_topic_result){.name = r->topics.v[i].name,
                                                                                .error_code = f->error,
                                                                                .error_message = STR_NULL};
    }
    return answer;
}

static const void *refuse_delete_topics(const struct refusal *f)
{
    const struct delete_topics_request *r = f->op->request;
    bool by_state = f->op->api_version >= 6;
    struct delete_topics_response *answer = ARENA_NEW(f->arena, struct delete_topics_response, 1);
    wire_init(&wire_delete_topics_response, answer);
    answer->responses.len = by_state ? r->topics.len : r->topic_names.len;
    answer->responses.v = ARENA_NEW(f->arena, struct delete_topics_response_deletable_topic_result, answer->responses.len);
    for (int32_t i = 0; i < answer->responses.len; i++) {
        struct delete_topics_response_deletable_topic_result *one = &answer->responses.v[i];
        one->name = by_state ? r->topics.v[i].name : r->topic_names.v[i];
        one->error_code = f->error;
        one->error_message = STR_NULL;
        if (by_state) {
            one->topic_id = r->topics.v[i].topic_id;
        }
    }
    return answer;
}

static const void *refuse_alter_configs(const struct refusal *f)
{
    const struct incremental_alter_configs_request *r = f->op->request;
    struct incremental_alter_configs_response *answer = ARENA_NEW(f->arena, struct incremental_alter_configs_response, 1);
    wire_init(&wire_incremental_alter_configs_response, answer);
    answer->responses.len = r->resources.len;
    answer->responses.v = ARENA_NEW(f->arena, struct incremental_alter_configs_response_alter_configs_resource_response, r->resources.len);
    for (int32_t i = 0; i < r->resources.len; i++) {
        answer->responses.v[i] =
            (struct incremental_alter_configs_response_alter_configs_resource_response){.error_code = f->error,
                                                                                        .error_message = STR_NULL,
                                                                                        .resource_type = r->resources.v[i].resource_type,
                                                                                        .resource_name = r->resources.v[i].resource_name};
    }
    return answer;
}

static void refuse_set_end_topic(const struct refusal *f, const struct set_end_offset_request_topic *asked,
                                 struct set_end_offset_response_topic_result *topic)
{
    topic->name = asked->name;
    topic->partitions.len = asked->partitions.len;
    topic->partitions.v = ARENA_NEW(f->arena, struct set_end_offset_response_partition_result, asked->partitions.len);
    for (int32_t i = 0; i < asked->partitions.len; i++) {
        topic->partitions.v[i] = (struct set_end_offset_response_partition_result){.partition = asked->partitions.v[i].partition,
                                                                                   .error_code = f->error,
                                                                                   .error_message = STR_NULL};
    }
}

static const void *refuse_set_end(const struct refusal *f)
{
    const struct set_end_offset_request *r = f->op->request;
    struct set_end_offset_response *answer = ARENA_NEW(f->arena, struct set_end_offset_response, 1);
    wire_init(&wire_set_end_offset_response, answer);
    answer->topics.len = r->topics.len;
    answer->topics.v = ARENA_NEW(f->arena, struct set_end_offset_response_topic_result, r->topics.len);
    for (int32_t i = 0; i < r->topics.len; i++) {
        refuse_set_end_topic(f, &r->topics.v[i], &answer->topics.v[i]);
    }
    return answer;
}

static const void *refuse_register_node(const struct refusal *f)
{
    struct register_node_response *answer = ARENA_NEW(f->arena, struct register_node_response, 1);
    wire_init(&wire_register_node_response, answer);
    answer->error_code = f->error;
    return answer;
}

static const void *refuse_producer_id(const struct refusal *f)
{
    struct init_producer_id_response *answer = ARENA_NEW(f->arena, struct init_producer_id_response, 1);
    wire_init(&wire_init_producer_id_response, answer);
    answer->error_code = f->error;
    return answer;
}

static const void *refuse_change_member(const struct refusal *f)
{
    struct change_member_response *answer = ARENA_NEW(f->arena, struct change_member_response, 1);
    wire_init(&wire_change_member_response, answer);
    answer->error_code = f->error;
    return answer;
}

static const void *refuse_upgrade(const struct refusal *f)
{
    struct upgrade_cluster_response *answer = ARENA_NEW(f->arena, struct upgrade_cluster_response, 1);
    wire_init(&wire_upgrade_cluster_response, answer);
    answer->error_code = f->error;
    return answer;
}

static const void *refuse_catalog(const struct refusal *f)
{
    switch (f->op->kind) {
    case CATALOG_CREATE_TOPICS:
        return refuse_create_topics(f);
    case CATALOG_CREATE_PARTITIONS:
        return refuse_create_partitions(f);
    case CATALOG_DELETE_TOPICS:
        return refuse_delete_topics(f);
    case CATALOG_ALTER_CONFIGS:
        return refuse_alter_configs(f);
    case CATALOG_SET_END:
        return refuse_set_end(f);
    case CATALOG_REGISTER_NODE:
        return refuse_register_node(f);
    case CATALOG_PRODUCER_ID:
        return refuse_producer_id(f);
    case CATALOG_CHANGE_MEMBER:
    case CATALOG_MEMBER_STEP:
        return refuse_change_member(f);
    case CATALOG_UPGRADE:
        return refuse_upgrade(f);
    default:
        return NULL; /* CATALOG_CURSOR, SHARD_OFFICE: nobody waits */
    }
}

/* NULL for what nobody waits for: timers, takeovers, what follows from changed topics, jobs. */
static const void *refuse(const struct refusal *f)
{
    switch (f->op->kind) {
    case GROUP_JOIN:
        return refuse_join(f);
    case GROUP_SYNC:
        return refuse_sync(f);
    case GROUP_HEARTBEAT:
        return refuse_heartbeat(f);
    case GROUP_LEAVE:
        return refuse_leave(f);
    case GROUP_OFFSET_COMMIT:
        return refuse_commit(f);
    case GROUP_OFFSET_FETCH:
        return refuse_fetch(f);
    case GROUP_OFFSET_DELETE:
        return refuse_offset_delete(f);
    case GROUP_DESCRIBE:
        return refuse_describe(f);
    case GROUP_DELETE:
        return refuse_group_delete(f);
    case GROUP_ALTER_OFFSETS:
        return refuse_alter_offsets(f);
    case GROUP_STREAMS_HEARTBEAT:
    case GROUP_STREAMS_DESCRIBE:
    case GROUP_STREAMS_TOPOLOGY:
    case GROUP_STREAMS_INITIALIZE:
    case GROUP_STREAMS_DESCRIPTION:
        return refuse_streams(f);
    case GROUP_CONSUMER_HEARTBEAT:
        return refuse_consumer_heartbeat(f);
    case GROUP_CONSUMER_DESCRIBE:
        return refuse_consumer_describe(f);
    case GROUP_HISTORY:
        return refuse_history(f);
    default:
        return refuse_catalog(f);
    }
}

void group_refuse(const struct group_op *op, int16_t error, struct arena *arena, struct group_out *ret)
{
    struct refusal f = {.op = op, .arena = arena, .error = error};
    *ret = (struct group_out){.error = error, .rule = "refused: coordinator", .reason = STR_NULL};
    ret->answer = refuse(&f);
    ret->verdict = ret->answer == NULL ? GROUP_SILENT : GROUP_ANSWER;
}
