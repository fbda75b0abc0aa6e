/* metadata.c: Metadata (3): the nodes, and the topics with who "leads" their partitions. Answered from this node's own copy of the catalogue. */
#include "internal.h"

enum { FIRST_VERSION_WITH_IDS = 12, SLICE_PARTITIONS = 5000 };

/* An answer that is being made, slice by slice, a turn for each, so that nobody else has to wait for all of it. The catalogue may change in between: nothing here
 * points into it. */
struct showing {
    struct metadata_response *response;
    struct broker_list brokers;
    bool by_id;
    const bool *repeated; /* of the topics asked for */
    int32_t next;         /* of them */
    struct str after;     /* of all topics: the last one shown */
    int32_t cap;
};

static struct metadata_response_partition partition_of(const struct broker_list *brokers, const struct catalog_topic *topic,
                                                       int32_t partition, struct arena *arena)
{
    struct placement place = api_place(brokers, topic, partition, arena);
    return (struct metadata_response_partition){
        .partition_index = partition,
        .leader_id = place.leader,
        .leader_epoch = 0,
        .replica_nodes = place.replicas,
        .isr_nodes = place.replicas,
    };
}

static void show_topic(struct api_request *r, const struct broker_list *brokers, const struct catalog_topic *topic,
                       struct metadata_response_topic *ret)
{
    const struct metadata_request *request = r->request;
    ret->name = arena_str(r->arena, topic->name);
    ret->topic_id = topic->id;
    ret->partitions.len = topic->partitions;
    ret->partitions.v = ARENA_NEW(r->arena, struct metadata_response_partition, topic->partitions);
    for (int32_t i = 0; i < topic->partitions; i++) {
        ret->partitions.v[i] = partition_of(brokers, topic, i, r->arena);
    }
    if (request->include_topic_authorized_operations) {
        ret->topic_authorized_operations = OPERATIONS_OF_TOPIC;
    }
}

static void show_asked(struct api_request *r, const struct broker_list *brokers, const struct metadata_request_topic *asked,
                       struct metadata_response_topic *ret)
{
    const struct metadata_request *request = r->request;
    const struct group_set *catalog = api_catalog(r->api);
    struct catalog_topic topic;
    bool by_id = !uuid_is_zero(asked->topic_id);
    ret->name = by_id ? STR_NULL : asked->name;
    ret->topic_id = asked->topic_id;
    ret->topic_authorized_operations = request->include_topic_authorized_operations && !by_id ? OPERATIONS_OF_TOPIC : INT32_MIN;
    if (by_id ? catalog_find_topic_id(catalog, asked->topic_id, &topic) : catalog_find_topic(catalog, asked->name, &topic)) {
        show_topic(r, brokers, &topic, ret);
    } else if (by_id) {
        ret->error_code = KAFKA_UNKNOWN_TOPIC_ID;
    } else {
        ret->error_code = topic_name_is_valid(asked->name) ? KAFKA_UNKNOWN_TOPIC_OR_PARTITION : KAFKA_INVALID_TOPIC_EXCEPTION;
    }
}

static struct metadata_response_topic *next_place(struct api_request *r, struct showing *sh)
{
    struct metadata_response_topic_array *topics = &sh->response->topics;
    if (topics->len == sh->cap) {
        int32_t cap = sh->cap > 0 ? sh->cap * 2 : 16;
        struct metadata_response_topic *wider = ARENA_NEW(r->arena, struct metadata_response_topic, cap);
        for (int32_t i = 0; i < topics->len; i++) {
            wider[i] = topics->v[i];
        }
        topics->v = wider;
        sh->cap = cap;
    }
    return &topics->v[topics->len++];
}

/* True: that was the last one. */
static bool show_all(struct api_request *r, struct showing *sh, int32_t budget)
{
    struct catalog_topic topic;
    while (catalog_next_topic(api_catalog(r->api), sh->after, &topic)) {
        if (budget <= 0) {
            return false;
        }
        struct metadata_response_topic *place = next_place(r, sh);
        place->topic_authorized_operations = INT32_MIN;
        show_topic(r, &sh->brokers, &topic, place);
        sh->after = place->name;
        budget -= 1 + topic.partitions;
    }
    return true;
}

/* A request that names topics by their ids is answered for those alone. */
static bool asks_by_id(const struct metadata_request *request)
{
    for (int32_t i = 0; i < request->topics.len; i++) {
        if (!uuid_is_zero(request->topics.v[i].topic_id)) {
            return true;
        }
    }
    return false;
}

static struct str key_of(const struct metadata_request_topic *asked, bool by_id)
{
    return by_id ? (struct str){(const char *)asked->topic_id.b, sizeof(asked->topic_id.b)} : asked->name;
}

/* Each topic once, however often it is named: the answer cannot be larger than the catalogue. */
static const bool *repeated_topics(struct api_request *r, bool by_id)
{
    const struct metadata_request *request = r->request;
    int32_t count = request->topics.len;
    struct str *keys = ARENA_NEW(r->arena, struct str, count);
    for (int32_t i = 0; i < count; i++) {
        keys[i] = key_of(&request->topics.v[i], by_id);
    }
    return names_repeated(keys, count, r->arena);
}

static bool show_asked_topics(struct api_request *r, struct showing *sh, int32_t budget)
{
    const struct metadata_request *request = r->request;
    for (; sh->next < request->topics.len; sh->next++) {
        const struct metadata_request_topic *asked = &request->topics.v[sh->next];
        if (budget <= 0) {
            return false;
        }
        budget--;
        if (!sh->repeated[sh->next] && !(sh->by_id && uuid_is_zero(asked->topic_id))) {
            struct metadata_response_topic *place = next_place(r, sh);
            show_asked(r, &sh->brokers, asked, place);
            budget -= place->partitions.len;
        }
    }
    return true;
}

static bool asks_for_all(const struct api_request *r)
{
    const struct metadata_request *request = r->request;
    return r->version == 0 ? request->topics.len == 0 : request->topics.len < 0;
}

static void show_brokers(struct api_request *r, const struct broker_list *brokers, struct metadata_response_broker_array *ret)
{
    struct arena *arena = r->arena;
    ret->len = brokers->len;
    ret->v = ARENA_NEW(r->arena, struct metadata_response_broker, brokers->len);
    for (int32_t i = 0; i < brokers->len; i++) {
        const struct broker *b = &brokers->v[i];
        ret->v[i] = (struct metadata_response_broker){b->node_id, arena_str(arena, b->host), b->port, arena_str(arena, b->rack)};
    }
}

static void show_slice(struct api_request *r);

/* In a turn of its own; or the client has gone meanwhile. */
static void next_slice(struct api_request *r)
{
    if (r->gone) {
        api_drop(r);
    } else {
        show_slice(r);
    }
    api_unref(r);
}

static void show_slice(struct api_request *r)
{
    struct showing *sh = r->state;
    bool done = asks_for_all(r) ? show_all(r, sh, SLICE_PARTITIONS) : show_asked_topics(r, sh, SLICE_PARTITIONS);
    if (done) {
        api_answer(r, sh->response);
    } else if (r->arena->used_bytes > r->api->options.response_max_bytes) {
        api_answer_too_large(r);
    } else {
        api_ref(r);
        wait_arm(r, r->api->now_us + 1, next_slice);
    }
}

static void show(struct api_request *r)
{
    const struct metadata_request *request = r->request;
    struct api *a = r->api;
    struct metadata_response *response = api_response(r);
    struct showing *sh = arena_get(r->arena, sizeof(*sh));
    *sh = (struct showing){.response = response, .brokers = api_brokers(a, r->arena), .after = STR_NULL};
    show_brokers(r, &sh->brokers, &response->brokers);
    response->cluster_id = str_of(a->cluster_id);
    response->controller_id = api_controller_id(a);
    if (request->include_cluster_authorized_operations) {
        response->cluster_authorized_operations = OPERATIONS_OF_CLUSTER;
    }
    if (!asks_for_all(r)) {
        sh->by_id = asks_by_id(request);
        sh->repeated = repeated_topics(r, sh->by_id);
    }
    r->state = sh;
    show_slice(r);
}

/* ---- requests that cannot be answered ---- */

/* Ids are there in versions 10 and 11, but mean nothing yet (KIP-516); a topic without name and id is none. */
static int16_t check(const struct api_request *r)
{
    const struct metadata_request *request = r->request;
    for (int32_t i = 0; i < request->topics.len; i++) {
        const struct metadata_request_topic *asked = &request->topics.v[i];
        bool has_id = !uuid_is_zero(asked->topic_id);
        if (r->version < FIRST_VERSION_WITH_IDS && (has_id || str_is_null(asked->name))) {
            return KAFKA_INVALID_REQUEST;
        }
        if (!has_id && str_is_null(asked->name)) {
            return KAFKA_UNKNOWN_SERVER_ERROR; /* as Kafka answers it */
        }
    }
    return KAFKA_NONE;
}

static void refuse(struct api_request *r, int16_t error)
{
    const struct metadata_request *request = r->request;
    struct metadata_response *response = api_response(r);
    response->error_code = error;
    response->topics.len = request->topics.len;
    response->topics.v = ARENA_NEW(r->arena, struct metadata_response_topic, request->topics.len);
    for (int32_t i = 0; i < request->topics.len; i++) {
        const struct metadata_request_topic *asked = &request->topics.v[i];
        response->topics.v[i] = (struct metadata_response_topic){
            .error_code = error,
            .name = str_is_null(asked->name) ? STR("") : asked->name,
            .topic_id = asked->topic_id,
            .topic_authorized_operations = INT32_MIN,
        };
    }
    api_answer(r, response);
}

/* ---- auto.create.topics.enable ---- */

static void created(struct api_request *own, const void *response)
{
    (void)response; /* whether it worked shows in the catalogue */
    struct api_request *r = own->state;
    show(r);
    api_unref(r);
}

/* Makes the topics that are missing; false when none is, or none may be made. */
static bool create_missing(struct api_request *r)
{
    const struct metadata_request *request = r->request;
    if (!r->api->options.auto_create_topics || !request->allow_auto_topic_creation || asks_for_all(r)) {
        return false;
    }
    struct create_topics_request create;
    struct catalog_topic topic;
    wire_init(&wire_create_topics_request, &create);
    create.topics.v = ARENA_NEW(r->arena, struct create_topics_request_creatable_topic, request->topics.len);
    for (int32_t i = 0; i < request->topics.len; i++) {
        struct str name = request->topics.v[i].name;
        if (topic_name_is_valid(name) && !catalog_find_topic(api_catalog(r->api), name, &topic)) {
            create.topics.v[create.topics.len++] =
                (struct create_topics_request_creatable_topic){.name = name, .num_partitions = -1, .replication_factor = -1};
        }
    }
    if (create.topics.len == 0) {
        return false;
    }
    api_ref(r);
    api_run_own(r->api, API_KEY_CREATE_TOPICS, &create, created, r);
    return true;
}

void api_metadata(struct api_request *r)
{
    const struct metadata_request *request = r->request;
    if (api_too_many_topics(r, request->topics.len) || !api_catalog_ready(r, api_metadata)) {
        return;
    }
    int16_t error = check(r);
    if (error != KAFKA_NONE) {
        refuse(r, error);
    } else if (!create_missing(r)) {
        show(r);
    }
}
