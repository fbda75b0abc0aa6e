/* alter.c: IncrementalAlterConfigs. Each resource is decided for itself: all of its changes or none.
 *
 * Topic and group configs must be known; of brokers the dynamic ones of broker_configs may change, and the broker configs that topic configs fall
 * back to. Other broker configs that are known are refused, unknown ones are kept as they are, as Kafka does for its plugins. */
#include "configs.h"
#include "rules.h"

#include <inttypes.h>
#include <string.h>

enum { OP_SET, OP_DELETE, OP_APPEND, OP_SUBTRACT, OP_COUNT };

struct alteration {
    struct decision *d;
    const struct incremental_alter_configs_request_alter_configs_resource *asked;
    struct incremental_alter_configs_response_alter_configs_resource_response *result;
    struct config_changes changes;
};

static bool refuse(struct alteration *a, int16_t error, struct str message)
{
    a->result->error_code = error;
    a->result->error_message = message;
    return false;
}

/* ---- the request's form ------------------------------------------------------------------------------------------------------- */

static bool check_form(struct alteration *a)
{
    struct arena *arena = a->d->arena;
    struct str_array nulls = {.v = ARENA_NEW(arena, struct str, a->asked->configs.len)};
    struct names seen;
    bool repeated = false;
    names_init(&seen, arena, a->asked->configs.len);
    for (int32_t i = 0; i < a->asked->configs.len; i++) {
        const struct incremental_alter_configs_request_alterable_config *config = &a->asked->configs.v[i];
        repeated = names_add(&seen, bytes_of_str(config->name), i) >= 0 || repeated;
        if (config->config_operation != OP_DELETE && str_is_null(config->value)) {
            nulls.v[nulls.len++] = config->name;
        }
    }
    if (repeated) {
        return refuse(a, KAFKA_INVALID_REQUEST, STR("Error due to duplicate config keys"));
    }
    if (nulls.len > 0) {
        struct str names = config_join(nulls, STR(", "), arena);
        return refuse(a, KAFKA_INVALID_REQUEST, arena_printf(arena, "Null value not supported for : %.*s", STR_ARG(names)));
    }
    for (int32_t i = 0; i < a->asked->configs.len; i++) {
        int8_t operation = a->asked->configs.v[i].config_operation;
        if (operation < 0 || operation >= OP_COUNT) {
            return refuse(a, KAFKA_INVALID_REQUEST, arena_printf(arena, "Unknown operations type %d", operation));
        }
    }
    return true;
}

static bool read_node_id(struct str name, int32_t *ret)
{
    int32_t id = 0;
    for (int32_t i = 0; i < name.len; i++) {
        if (name.ptr[i] < '0' || name.ptr[i] > '9' || __builtin_mul_overflow(id, 10, &id) ||
            __builtin_add_overflow(id, name.ptr[i] - '0', &id)) {
            return false;
        }
    }
    *ret = id;
    return name.len > 0;
}

static bool check_resource(struct alteration *a)
{
    struct str name = a->asked->resource_name;
    struct arena *arena = a->d->arena;
    int32_t node_id;
    switch (a->asked->resource_type) {
    case RESOURCE_TOPIC: {
        struct str problem = topic_name_problem(name, arena);
        if (str_is_empty(name)) {
            return refuse(a, KAFKA_INVALID_REQUEST, STR("Default topic resources are not allowed."));
        }
        return str_is_null(problem) || refuse(a, KAFKA_INVALID_TOPIC, problem);
    }
    case RESOURCE_GROUP:
        return !str_is_empty(name) || refuse(a, KAFKA_INVALID_REQUEST, STR("Default group resources are not allowed."));
    case RESOURCE_BROKER:
        if (str_is_empty(name)) {
            return true;
        }
        if (!read_node_id(name, &node_id)) {
            return refuse(a, KAFKA_INVALID_REQUEST, arena_printf(arena, "Node id must be an integer, but it is: %.*s", STR_ARG(name)));
        }
        return node_is_registered(a->d->set->catalog, node_id) ||
               refuse(a, KAFKA_INVALID_REQUEST, arena_printf(arena, "No broker with id %" PRId32 " is registered.", node_id));
    default:
        return refuse(a, KAFKA_INVALID_REQUEST, arena_printf(arena, "Unknown resource type %d", a->asked->resource_type));
    }
}

/* ---- new values ------------------------------------------------------------------------------------------------------------------ */

static struct str list_with(struct str_array now, struct str_array what, struct arena *arena)
{
    struct str_array all = {.v = ARENA_NEW(arena, struct str, now.len + what.len)};
    struct names seen;
    names_init(&seen, arena, now.len + what.len);
    for (int32_t i = 0; i < now.len + what.len; i++) {
        struct str item = i < now.len ? now.v[i] : what.v[i - now.len];
        if (names_add(&seen, bytes_of_str(item), i) < 0) {
            all.v[all.len++] = item;
        }
    }
    return config_join(all, STR(","), arena);
}

static struct str list_without(struct str_array now, struct str_array what, struct arena *arena)
{
    struct str_array left = {.v = ARENA_NEW(arena, struct str, now.len)};
    struct names gone;
    names_init(&gone, arena, what.len);
    for (int32_t i = 0; i < what.len; i++) {
        names_add(&gone, bytes_of_str(what.v[i]), i);
    }
    for (int32_t i = 0; i < now.len; i++) {
        if (names_find(&gone, bytes_of_str(now.v[i])) < 0) {
            left.v[left.len++] = now.v[i];
        }
    }
    return config_join(left, STR(","), arena);
}

/* Lists of topics and of the brokers' dynamic configs can be appended to; of group configs Kafka allows it for none. */
static bool change_list(struct alteration *a, const struct config_definition *def, struct str now,
                        const struct incremental_alter_configs_request_alterable_config *config, struct str *ret_value)
{
    struct arena *arena = a->d->arena;
    bool append = config->config_operation == OP_APPEND;
    bool of_broker = a->asked->resource_type == RESOURCE_BROKER;
    if (def == NULL || def->type != CONFIG_LIST || a->asked->resource_type == RESOURCE_GROUP) {
        struct str problem = of_broker ? arena_printf(arena, "Config value %s is not allowed for config key: %.*s",
                                                      append ? "append" : "subtract", STR_ARG(config->name))
                                       : arena_printf(arena, "Can't %s to key %.*s because its type is not LIST.",
                                                      append ? "APPEND" : "SUBTRACT", STR_ARG(config->name));
        return refuse(a, KAFKA_INVALID_CONFIG, problem);
    }
    struct str_array current = config_list(str_is_null(now) ? str_of(def->fallback) : now, arena);
    struct str_array items = config_list(config->value, arena);
    *ret_value = append ? list_with(current, items, arena) : list_without(current, items, arena);
    if (ret_value->len > INT16_MAX) {
        return refuse(a, KAFKA_INVALID_CONFIG, arena_printf(arena, "The value of %s becomes too long.", def->name));
    }
    return true;
}

static const struct config_definition *definition_of(const struct alteration *a, struct str name)
{
    const struct config_definition *def = config_definition_find(a->asked->resource_type, name);
    if (def == NULL && a->asked->resource_type == RESOURCE_BROKER) {
        def = config_definition_of_synonym(name);
    }
    return def;
}

static bool compute_change(struct alteration *a, const struct incremental_alter_configs_request_alterable_config *config)
{
    const struct config *stored = config_find(a->d->set->catalog, a->asked->resource_type, a->asked->resource_name, config->name);
    struct str now = stored != NULL ? stored->value : STR_NULL;
    struct config_change change = {.def = definition_of(a, config->name), .name = config->name, .value = STR_NULL};
    if (config->config_operation == OP_SET) {
        change.value = config->value;
    } else if (config->config_operation != OP_DELETE && !change_list(a, change.def, now, config, &change.value)) {
        return false;
    }
    if (!str_eq(change.value, now)) {
        a->changes.v[a->changes.len++] = change;
    }
    return true;
}

/* ---- may they be ------------------------------------------------------------------------------------------------------------------- */

/* Kafka answers INVALID_REQUEST for values of broker configs (KAFKA-13609). */
static bool check_broker_changes(struct alteration *a)
{
    struct arena *arena = a->d->arena;
    struct str_array fixed = {.v = ARENA_NEW(arena, struct str, a->changes.len)};
    for (int32_t i = 0; i < a->changes.len; i++) {
        struct str name = a->changes.v[i].name;
        const struct config_definition *own = config_definition_find(RESOURCE_BROKER, name);
        bool ours = name.len > 7 && memcmp(name.ptr, "muster.", 7) == 0;
        if (own != NULL ? !own->dynamic : ours) {
            fixed.v[fixed.len++] = name;
        }
    }
    if (fixed.len > 0) {
        struct str names = config_join(fixed, STR(", "), arena);
        return refuse(a, KAFKA_INVALID_REQUEST, arena_printf(arena, "Cannot update these configs dynamically: [%.*s]", STR_ARG(names)));
    }
    for (int32_t i = 0; i < a->changes.len; i++) {
        struct str value;
        struct str problem;
        struct config_definition def;
        const struct config_change *change = &a->changes.v[i];
        if (change->def == NULL || str_is_null(change->value)) {
            continue;
        }
        def = *change->def;
        if (def.synonym != NULL) {
            def.name = def.synonym; /* the problem is told under the name that was sent */
        }
        if (!config_value_check(&def, change->value, arena, &value, &problem)) {
            return refuse(a, KAFKA_INVALID_REQUEST, problem);
        }
    }
    return true;
}

/* A node that does not know a config keeps it and does not keep to it: whether it holds would depend on who coordinates. */
static bool check_levels(struct alteration *a)
{
    int16_t level = catalog_feature_level(a->d->set);
    for (int32_t i = 0; i < a->changes.len; i++) {
        const struct config_definition *def = a->changes.v[i].def;
        if (def != NULL && def->level > level && !str_is_null(a->changes.v[i].value)) {
            return refuse(a, KAFKA_POLICY_VIOLATION,
                          arena_printf(a->d->arena,
                                       "%s needs feature level %d, and the cluster is at %d: nodes of an older version would not keep to "
                                       "it. When all run a newer one: muster cluster upgrade.",
                                       def->name, def->level, level));
        }
    }
    return true;
}

static bool check_changes(struct alteration *a)
{
    int8_t type = a->asked->resource_type;
    struct str name = a->asked->resource_name;
    if (type == RESOURCE_BROKER) {
        return check_broker_changes(a);
    }
    struct str problem = config_changes_problem(a->d->set->catalog, a->d->op->settings, type, name, &a->changes, a->d->arena);
    if (!str_is_null(problem)) {
        return refuse(a, KAFKA_INVALID_CONFIG, problem);
    }
    if (type == RESOURCE_TOPIC && topic_find(a->d->set->catalog, name) == NULL) {
        return refuse(a, KAFKA_UNKNOWN_TOPIC_OR_PARTITION, arena_printf(a->d->arena, "The topic '%.*s' does not exist.", STR_ARG(name)));
    }
    return true;
}

/* Configs of topics and groups, also of groups that do not exist, are state like any other; those of brokers raise the budget itself. */
static bool check_budget(struct alteration *a)
{
    enum { OBJECT_BYTES = 160 };
    int64_t growth = 0;
    for (int32_t i = 0; i < a->changes.len; i++) {
        const struct config_change *change = &a->changes.v[i];
        growth += str_is_null(change->value) ? 0 : OBJECT_BYTES + a->asked->resource_name.len + change->name.len + change->value.len;
    }
    if (a->asked->resource_type == RESOURCE_BROKER || growth == 0 ||
        budget_allows(a->d, 0, 0, growth + (int64_t)a->d->out->records.bytes)) {
        return true;
    }
    return refuse(a, KAFKA_POLICY_VIOLATION, STR("The state has no room for more configs (muster.max.state.bytes)."));
}

static void write_changes(struct alteration *a)
{
    for (int32_t i = 0; i < a->changes.len; i++) {
        struct config_key key = {.resource_type = a->asked->resource_type,
                                 .resource_name = a->asked->resource_name,
                                 .name = a->changes.v[i].name};
        struct config_value value = {.value = a->changes.v[i].value};
        out_record(a->d, RECORD_CONFIG, &key, 0, str_is_null(value.value) ? NULL : &value);
    }
}

/* ---- the request -------------------------------------------------------------------------------------------------------------------- */

/* False when the resource is refused. */
static bool alter_resource(struct alteration *a, bool validate_only)
{
    if (!check_form(a) || !check_resource(a)) {
        return false;
    }
    a->changes.v = ARENA_NEW(a->d->arena, struct config_change, a->asked->configs.len);
    for (int32_t i = 0; i < a->asked->configs.len; i++) {
        if (!compute_change(a, &a->asked->configs.v[i])) {
            return false;
        }
    }
    if (!check_levels(a) || !check_changes(a) || (!validate_only && !check_budget(a))) {
        return false;
    }
    if (!validate_only) {
        write_changes(a);
    }
    return true;
}

/* A resource is named by its type and its name: one text of both. */
static struct str resource_key(const struct incremental_alter_configs_request_alter_configs_resource *r, struct arena *arena)
{
    return arena_printf(arena, "%d/%.*s", r->resource_type, STR_ARG(r->resource_name));
}

void catalog_alter_configs(struct decision *d)
{
    const struct incremental_alter_configs_request *request = d->op->request;
    int32_t len = request->resources.len;
    struct incremental_alter_configs_response *response = ARENA_NEW(d->arena, struct incremental_alter_configs_response, 1);
    struct str *keys = ARENA_NEW(d->arena, struct str, len);
    struct repeats resources;
    int32_t good = 0;
    for (int32_t i = 0; i < len; i++) {
        keys[i] = resource_key(&request->resources.v[i], d->arena);
    }
    names_repeats(keys, len, d->arena, &resources);
    response->responses.v = ARENA_NEW(d->arena, struct incremental_alter_configs_response_alter_configs_resource_response, len);
    response->responses.len = len;
    for (int32_t i = 0; i < len; i++) {
        struct alteration a = {.d = d, .asked = &request->resources.v[i], .result = &response->responses.v[i]};
        a.result->resource_type = a.asked->resource_type;
        a.result->resource_name = a.asked->resource_name;
        a.result->error_message = STR_NULL;
        if (resources.times[resources.first[i]] > 1) {
            refuse(&a, KAFKA_INVALID_REQUEST, STR("Each resource must appear at most once."));
        } else {
            good += alter_resource(&a, request->validate_only) ? 1 : 0;
        }
    }
    const char *rule = good == 0                 ? RULE(CONFIGS_REFUSED)
                       : request->validate_only  ? RULE(CONFIGS_VALIDATED)
                       : d->out->records.len > 0 ? RULE(CONFIGS_ALTERED)
                                                 : RULE(CONFIGS_UNCHANGED);
    out_answer(d, rule, KAFKA_NONE, response);
}
