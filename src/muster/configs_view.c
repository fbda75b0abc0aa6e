#include "configs_view.h"

#include "cli.h"

enum { ALTER_SET = 0, ALTER_DELETE = 1, KAFKA_UNKNOWN_SERVER_ERROR = -1 };

typedef struct incremental_alter_configs_request_alterable_config alterable;

static int16_t alter_error(const void *answer)
{
    const struct incremental_alter_configs_response *response = answer;
    return response->responses.len == 1 ? response->responses.v[0].error_code : 0;
}

/* A node answers for itself, but not for another one; what belongs to the cluster is changed by the controller. */
static int ask(struct client *c, enum config_resource type, struct str name, const struct client_call *call, struct arena *arena,
               const void **ret)
{
    const struct metadata_response *metadata;
    int64_t id;
    if (type != CONFIG_OF_BROKER || !cli_parse_number(arena_printf(arena, "%.*s", STR_ARG(name)).ptr, 0, INT32_MAX, &id)) {
        return call->idempotent ? client_controller_call(c, call, alter_error, arena, ret) : client_any_call(c, call, arena, ret, NULL);
    }
    int rc = client_metadata(c, NULL, 0, arena, &metadata);
    if (rc < 0) {
        return rc;
    }
    struct client_node *node = client_node_by_id(c, (int32_t)id);
    if (node == NULL) {
        (void)snprintf(c->error, sizeof(c->error), "node %d is not there now", (int)id);
        return MUSTER_E_NOT_FOUND;
    }
    return client_node_call(c, node, call, arena, ret);
}

int configs_fetch(struct client *c, enum config_resource type, struct str name, const struct str *key, struct arena *arena,
                  const struct describe_configs_response_result **ret)
{
    struct describe_configs_request request;
    struct describe_configs_request_resource *resource = ARENA_NEW(arena, struct describe_configs_request_resource, 1);
    const void *answer;
    wire_init(&wire_describe_configs_request, &request);
    *resource = (struct describe_configs_request_resource){(int8_t)type, name, {NULL, -1}};
    if (key != NULL) {
        resource->configuration_keys.v = ARENA_NEW(arena, struct str, 1);
        resource->configuration_keys.v[0] = *key;
        resource->configuration_keys.len = 1;
    }
    request.resources.v = resource;
    request.resources.len = 1;
    struct client_call call = {.key = API_KEY_DESCRIBE_CONFIGS, .max_version = -1, .request = &request};
    int rc = ask(c, type, name, &call, arena, &answer);
    if (rc < 0) {
        return rc;
    }
    const struct describe_configs_response *response = answer;
    if (response->results.len != 1) {
        struct describe_configs_response_result *none = ARENA_NEW(arena, struct describe_configs_response_result, 1);
        *none = (struct describe_configs_response_result){.error_code = KAFKA_UNKNOWN_SERVER_ERROR, .error_message = STR_NULL};
        *ret = none;
        return MUSTER_E_OK;
    }
    *ret = &response->results.v[0];
    return MUSTER_E_OK;
}

struct str configs_value(const struct describe_configs_response_result *configs, struct str key)
{
    for (int32_t i = 0; i < configs->configs.len; i++) {
        if (str_eq(configs->configs.v[i].name, key)) {
            return configs->configs.v[i].value;
        }
    }
    return STR_NULL;
}

int configs_alter(struct client *c, enum config_resource type, struct str name, const struct config_change *v, int count,
                  struct arena *arena, int16_t *ret_error, struct str *ret_message)
{
    struct incremental_alter_configs_request request;
    struct incremental_alter_configs_request_alter_configs_resource resource = {.resource_type = (int8_t)type, .resource_name = name};
    const void *answer;
    resource.configs.v = ARENA_NEW(arena, alterable, count);
    resource.configs.len = count;
    for (int i = 0; i < count; i++) {
        resource.configs.v[i] = (alterable){v[i].key, str_is_null(v[i].value) ? ALTER_DELETE : ALTER_SET, v[i].value};
    }
    wire_init(&wire_incremental_alter_configs_request, &request);
    request.resources.v = &resource;
    request.resources.len = 1;
    struct client_call call = {.key = API_KEY_INCREMENTAL_ALTER_CONFIGS, .max_version = -1, .request = &request, .idempotent = true};
    int rc = ask(c, type, name, &call, arena, &answer);
    if (rc < 0) {
        return rc;
    }
    const struct incremental_alter_configs_response *response = answer;
    *ret_error = response->responses.len == 1 ? response->responses.v[0].error_code : KAFKA_UNKNOWN_SERVER_ERROR;
    *ret_message = response->responses.len == 1 ? response->responses.v[0].error_message : STR_NULL;
    return MUSTER_E_OK;
}
