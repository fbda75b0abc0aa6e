/* describe_configs.c: DescribeConfigs (32), from this node's own copy of the catalogue and its own configuration. */
#include "internal.h"

enum {
    RESOURCE_BROKER = 4,
    MOST_ANSWER_BYTES =
        128
        << 20 /* some 20,000 topics with all their keys; a request of five bytes a resource could ask for thousands of times its length */
};

/* A broker's configuration is asked of that broker; the empty name means the cluster's defaults. */
static bool is_other_broker(struct api_request *r, const struct describe_configs_request_resource *resource)
{
    struct str own = arena_printf(r->arena, "%u", r->api->options.node_id);
    return resource->resource_type == RESOURCE_BROKER && resource->resource_name.len > 0 && !str_eq(resource->resource_name, own);
}

static bool is_integer(struct str text)
{
    for (int32_t i = 0; i < text.len; i++) {
        if ((text.ptr[i] < '0' || text.ptr[i] > '9') && (i > 0 || text.len == 1 || (text.ptr[i] != '-' && text.ptr[i] != '+'))) {
            return false;
        }
    }
    return text.len > 0;
}

static struct str why_not_this_broker(struct api_request *r, struct str name)
{
    if (!is_integer(name)) {
        return arena_printf(r->arena, "Broker id must be an integer, but it is: %.*s", STR_ARG(name));
    }
    return arena_printf(r->arena, "Unexpected broker id, expected %u or empty string, but received %.*s", r->api->options.node_id,
                        STR_ARG(name));
}

static void describe(struct api_request *r, const struct describe_configs_request_resource *resource,
                     struct describe_configs_response_result *ret)
{
    const struct describe_configs_request *request = r->request;
    struct api *a = r->api;
    if (is_other_broker(r, resource)) {
        ret->error_code = KAFKA_INVALID_REQUEST;
        ret->error_message = why_not_this_broker(r, resource->resource_name);
        ret->resource_type = resource->resource_type;
        ret->resource_name = resource->resource_name;
        return;
    }
    catalog_describe_config(api_catalog(a), resource, request->include_synonyms, request->include_documentation, &a->options.broker_values,
                            r->arena, ret);
}

static void refuse_rest(const struct describe_configs_request_resource *resource, struct describe_configs_response_result *ret)
{
    ret->error_code = KAFKA_INVALID_REQUEST;
    ret->error_message = STR("The answer would be too long: ask for fewer resources at once.");
    ret->resource_type = resource->resource_type;
    ret->resource_name = resource->resource_name;
}

void api_describe_configs(struct api_request *r)
{
    const struct describe_configs_request *request = r->request;
    if (!api_catalog_ready(r, api_describe_configs)) {
        return;
    }
    struct describe_configs_response *response = api_response(r);
    response->results.len = request->resources.len;
    response->results.v = ARENA_NEW(r->arena, struct describe_configs_response_result, request->resources.len);
    size_t limit = r->arena->used_bytes + MOST_ANSWER_BYTES;
    for (int32_t i = 0; i < request->resources.len; i++) {
        if (r->arena->used_bytes < limit) {
            describe(r, &request->resources.v[i], &response->results.v[i]);
        } else {
            refuse_rest(&request->resources.v[i], &response->results.v[i]);
        }
    }
    api_answer(r, response);
}
