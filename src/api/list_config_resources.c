/* list_config_resources.c: ListConfigResources (74): what has configs, or could have. Version 0 knew only client metrics, of which there are none here. */
#include "internal.h"

enum { TOPIC = 2, BROKER = 4, BROKER_LOGGER = 8, CLIENT_METRICS = 16, GROUP = 32 };

struct resources {
    struct api_request *r;
    struct list_config_resources_response_config_resource_array list;
    int32_t capacity;
};

static void add(struct resources *s, struct str name, int8_t type)
{
    if (s->list.len == s->capacity) {
        int32_t capacity = s->capacity > 0 ? s->capacity * 2 : 16;
        struct list_config_resources_response_config_resource *grown =
            ARENA_NEW(s->r->arena, struct list_config_resources_response_config_resource, capacity);
        for (int32_t i = 0; i < s->list.len; i++) {
            grown[i] = s->list.v[i];
        }
        s->list.v = grown;
        s->capacity = capacity;
    }
    s->list.v[s->list.len++] = (struct list_config_resources_response_config_resource){name, type};
}

static bool is_type(int8_t type)
{
    return type == TOPIC || type == BROKER || type == BROKER_LOGGER || type == CLIENT_METRICS || type == GROUP;
}

/* No types: all of them. */
static bool wants(const struct list_config_resources_request *request, int8_t type)
{
    for (int32_t i = 0; i < request->resource_types.len; i++) {
        if (request->resource_types.v[i] == type) {
            return true;
        }
    }
    return request->resource_types.len == 0;
}

static void add_topics(struct resources *s)
{
    const struct group_set *catalog = api_catalog(s->r->api);
    struct catalog_topic topic;
    for (bool more = catalog_next_topic(catalog, STR_NULL, &topic); more; more = catalog_next_topic(catalog, topic.name, &topic)) {
        add(s, topic.name, TOPIC);
    }
}

static void add_brokers(struct resources *s, int8_t type)
{
    struct broker_list brokers = api_brokers(s->r->api, s->r->arena);
    for (int32_t i = 0; i < brokers.len; i++) {
        add(s, arena_printf(s->r->arena, "%d", brokers.v[i].node_id), type);
    }
}

static void add_groups(struct resources *s)
{
    const struct group_set *catalog = api_catalog(s->r->api);
    struct str name = STR_NULL;
    while (catalog_next_config_resource(catalog, GROUP, name, &name)) {
        add(s, name, GROUP);
    }
}

void api_list_config_resources(struct api_request *r)
{
    const struct list_config_resources_request *request = r->request;
    if (!api_catalog_ready(r, api_list_config_resources)) {
        return;
    }
    struct list_config_resources_response *response = api_response(r);
    struct resources found = {.r = r};
    for (int32_t i = 0; i < request->resource_types.len; i++) {
        if (!is_type(request->resource_types.v[i])) {
            response->error_code = KAFKA_UNSUPPORTED_VERSION;
        }
    }
    if (response->error_code == 0 && r->version > 0) {
        if (wants(request, GROUP)) {
            add_groups(&found);
        }
        if (wants(request, BROKER_LOGGER)) {
            add_brokers(&found, BROKER_LOGGER);
        }
        if (wants(request, BROKER)) {
            add_brokers(&found, BROKER);
        }
        if (wants(request, TOPIC)) {
            add_topics(&found);
        }
    }
    response->config_resources = found.list;
    api_answer(r, response);
}
