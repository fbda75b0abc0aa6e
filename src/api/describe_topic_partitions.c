/* describe_topic_partitions.c: DescribeTopicPartitions (75), topics by name in pages (KIP-966). */
#include "internal.h"

enum { PAGE_PARTITIONS = 2000 }; /* max.request.partition.size.limit of Kafka */

struct page {
    struct api_request *r;
    struct broker_list brokers;
    struct describe_topic_partitions_response *response;
    int32_t topic_capacity;
    int32_t left; /* partitions that still fit */
};

static struct describe_topic_partitions_response_topic *add_topic(struct page *p, struct str name)
{
    struct describe_topic_partitions_response_topic_array *topics = &p->response->topics;
    if (topics->len == p->topic_capacity) {
        int32_t capacity = p->topic_capacity > 0 ? p->topic_capacity * 2 : 16;
        struct describe_topic_partitions_response_topic *grown =
            ARENA_NEW(p->r->arena, struct describe_topic_partitions_response_topic, capacity);
        for (int32_t i = 0; i < topics->len; i++) {
            grown[i] = topics->v[i];
        }
        topics->v = grown;
        p->topic_capacity = capacity;
    }
    struct describe_topic_partitions_response_topic *topic = &topics->v[topics->len++];
    topic->name = name;
    topic->topic_authorized_operations = OPERATIONS_OF_TOPIC;
    return topic;
}

static void cut_page(struct page *p, struct str name, int32_t partition)
{
    struct describe_topic_partitions_response_cursor *cursor = arena_get(p->r->arena, sizeof(*cursor));
    cursor->topic_name = name;
    cursor->partition_index = partition;
    p->response->next_cursor = cursor;
}

/* False when the page ended within the topic, or before it. */
static bool show_topic(struct page *p, const struct catalog_topic *topic, int32_t first)
{
    if (p->left == 0) {
        cut_page(p, topic->name, first);
        return false;
    }
    int32_t count = topic->partitions - first;
    if (count > p->left) {
        count = p->left;
    }
    if (count < 0) {
        count = 0;
    }
    struct describe_topic_partitions_response_topic *shown = add_topic(p, topic->name);
    shown->topic_id = topic->id;
    shown->partitions.len = count;
    shown->partitions.v = ARENA_NEW(p->r->arena, struct describe_topic_partitions_response_partition, count);
    for (int32_t i = 0; i < count; i++) {
        struct placement place = api_place(&p->brokers, topic, first + i, p->r->arena);
        shown->partitions.v[i] = (struct describe_topic_partitions_response_partition){
            .partition_index = first + i,
            .leader_id = place.leader,
            .leader_epoch = 0,
            .replica_nodes = place.replicas,
            .isr_nodes = place.replicas,
        };
    }
    p->left -= count;
    if (first + count < topic->partitions) {
        cut_page(p, topic->name, first + count);
        return false;
    }
    return true;
}

static int32_t first_partition(const struct describe_topic_partitions_request *request, struct str name)
{
    return request->cursor != NULL && str_eq(request->cursor->topic_name, name) ? request->cursor->partition_index : 0;
}

static void show_all(struct page *p, const struct describe_topic_partitions_request *request)
{
    const struct group_set *catalog = api_catalog(p->r->api);
    struct catalog_topic topic;
    struct str after = STR_NULL;
    if (request->cursor != NULL) {
        if (catalog_find_topic(catalog, request->cursor->topic_name, &topic) && !show_topic(p, &topic, request->cursor->partition_index)) {
            return;
        }
        after = request->cursor->topic_name;
    }
    for (bool more = catalog_next_topic(catalog, after, &topic); more; more = catalog_next_topic(catalog, topic.name, &topic)) {
        if (!show_topic(p, &topic, 0)) {
            return;
        }
    }
}

/* One topic that was asked for by name; false: the page is full. */
static bool show_name(struct page *p, const struct describe_topic_partitions_request *request, struct str name)
{
    struct catalog_topic topic;
    if (request->cursor != NULL && str_cmp(name, request->cursor->topic_name) < 0) {
        return true;
    }
    if (catalog_find_topic(api_catalog(p->r->api), name, &topic)) {
        return show_topic(p, &topic, first_partition(request, name));
    }
    struct describe_topic_partitions_response_topic *missing = add_topic(p, name);
    missing->error_code = KAFKA_UNKNOWN_TOPIC_OR_PARTITION;
    return true;
}

/* In order of their names, each once. */
static void show_named(struct page *p, const struct describe_topic_partitions_request *request)
{
    int32_t count = request->topics.len;
    struct str *names = ARENA_NEW(p->r->arena, struct str, count);
    for (int32_t i = 0; i < count; i++) {
        names[i] = request->topics.v[i].name;
    }
    int32_t *order = names_in_order(names, count, p->r->arena);
    for (int32_t i = 0; i < count; i++) {
        bool again = i > 0 && str_eq(names[order[i]], names[order[i - 1]]);
        if (!again && !show_name(p, request, names[order[i]])) {
            return;
        }
    }
}

/* A request that cannot be answered at all gets its error in every topic it names. */
static void refuse(struct page *p, const struct describe_topic_partitions_request *request, int16_t error)
{
    for (int32_t i = 0; i < request->topics.len; i++) {
        struct describe_topic_partitions_response_topic *topic = add_topic(p, request->topics.v[i].name);
        topic->error_code = error;
        topic->topic_authorized_operations = INT32_MIN;
    }
}

static int16_t check(const struct describe_topic_partitions_request *request)
{
    bool has_cursor_topic = request->cursor == NULL || request->topics.len == 0;
    for (int32_t i = 0; i < request->topics.len; i++) {
        if (!topic_name_is_valid(request->topics.v[i].name)) {
            return KAFKA_UNKNOWN_SERVER_ERROR; /* as Kafka answers it */
        }
        has_cursor_topic = has_cursor_topic || str_eq(request->topics.v[i].name, request->cursor->topic_name);
    }
    bool good = has_cursor_topic && (request->cursor == NULL || request->cursor->partition_index >= 0);
    return good ? KAFKA_NONE : KAFKA_INVALID_REQUEST;
}

void api_describe_topic_partitions(struct api_request *r)
{
    const struct describe_topic_partitions_request *request = r->request;
    if (api_too_many_topics(r, request->topics.len) || !api_catalog_ready(r, api_describe_topic_partitions)) {
        return;
    }
    struct page page = {.r = r, .brokers = api_brokers(r->api, r->arena), .response = api_response(r)};
    int16_t error = check(request);
    page.left = request->response_partition_limit;
    if (page.left > PAGE_PARTITIONS || page.left < 1) {
        page.left = page.left < 1 ? 1 : PAGE_PARTITIONS;
    }
    if (error != KAFKA_NONE) {
        refuse(&page, request, error);
    } else if (request->topics.len == 0) {
        show_all(&page, request);
    } else {
        show_named(&page, request);
    }
    api_answer(r, page.response);
}
