/* describe.c: what configs are in force and where they come from, as DescribeConfigs tells it.
 *
 * A topic config is the topic's own, else what was set for all brokers, else the default. A group config is the group's own, else what the node
 * was started with, else the default. Configs of a broker are what the node was started with and what was altered since. */
#include "configs.h"

#include <inttypes.h>

/* ---- one config -------------------------------------------------------------------------------------------------------------- */

static struct str canonical(const struct config_definition *def, struct str text, struct arena *arena)
{
    struct str value;
    struct str problem;
    return config_value_check(def, text, arena, &value, &problem) ? value : text;
}

/* What was set for all brokers under the name that the topic config falls back to; null: nothing. */
static struct str set_for_brokers(const struct catalog *c, const struct config_definition *def)
{
    const struct config *set = def->synonym != NULL ? config_find(c, RESOURCE_BROKER, STR(""), str_of(def->synonym)) : NULL;
    return set != NULL ? set->value : STR_NULL;
}

struct str config_effective(const struct catalog *c, const struct config_definition *def, struct str topic_value, struct arena *arena,
                            int8_t *ret_source)
{
    *ret_source = SOURCE_TOPIC;
    if (str_is_null(topic_value)) {
        *ret_source = SOURCE_DYNAMIC_DEFAULT_BROKER;
        topic_value = set_for_brokers(c, def);
    }
    if (str_is_null(topic_value)) {
        *ret_source = SOURCE_DEFAULT;
        return str_of(def->fallback);
    }
    return canonical(def, topic_value, arena);
}

/* ---- results ------------------------------------------------------------------------------------------------------------------- */

struct description {
    const struct catalog *catalog;
    const struct describe_configs_request_resource *resource;
    bool synonyms, documentation;
    const struct catalog_broker_values *broker;
    struct arena *arena;
    struct describe_configs_response_result *ret;
    int32_t room;
};

static bool is_asked(const struct description *d, struct str name)
{
    const struct str_array *keys = &d->resource->configuration_keys;
    if (keys->len <= 0) {
        return true;
    }
    for (int32_t i = 0; i < keys->len; i++) {
        if (str_eq(keys->v[i], name)) {
            return true;
        }
    }
    return false;
}

/* The next result, with room for four synonyms. */
static struct describe_configs_response_resource_result *add(struct description *d, struct str name, const struct config_definition *def)
{
    struct describe_configs_response_resource_result *to;
    if (d->ret->configs.len == d->room) {
        int32_t room = d->room == 0 ? 64 : 2 * d->room;
        struct describe_configs_response_resource_result *grown =
            ARENA_NEW(d->arena, struct describe_configs_response_resource_result, room);
        for (int32_t i = 0; i < d->room; i++) {
            grown[i] = d->ret->configs.v[i];
        }
        d->ret->configs.v = grown;
        d->room = room;
    }
    to = &d->ret->configs.v[d->ret->configs.len++];
    to->name = name;
    to->config_source = SOURCE_DEFAULT;
    to->config_type = def != NULL ? (int8_t)def->type : 0;
    to->documentation = d->documentation && def != NULL ? str_of(def->help) : STR_NULL;
    to->synonyms.v = ARENA_NEW(d->arena, struct describe_configs_response_synonym, 4);
    return to;
}

static void add_synonym(const struct description *d, struct describe_configs_response_resource_result *to, struct str name,
                        struct str value, int8_t source)
{
    if (d->synonyms) {
        to->synonyms.v[to->synonyms.len++] = (struct describe_configs_response_synonym){.name = name, .value = value, .source = source};
    }
}

static void fail(struct description *d, int16_t error, struct str message)
{
    d->ret->error_code = error;
    d->ret->error_message = message;
}

/* What the node was started with; null when it has no such config. */
static struct str broker_value(const struct description *d, struct str name)
{
    return d->broker != NULL ? d->broker->get(d->broker->ctx, name, d->arena) : STR_NULL;
}

/* ---- topics -------------------------------------------------------------------------------------------------------------------- */

static void describe_topic_config(struct description *d, const struct config_definition *def)
{
    const struct config *own = config_find(d->catalog, RESOURCE_TOPIC, d->resource->resource_name, str_of(def->name));
    struct describe_configs_response_resource_result *to = add(d, str_of(def->name), def);
    struct str shared = set_for_brokers(d->catalog, def);
    to->value = config_effective(d->catalog, def, own != NULL ? own->value : STR_NULL, d->arena, &to->config_source);
    if (own != NULL) {
        add_synonym(d, to, to->name, to->value, SOURCE_TOPIC);
    }
    if (!str_is_null(shared)) {
        add_synonym(d, to, str_of(def->synonym), shared, SOURCE_DYNAMIC_DEFAULT_BROKER);
    }
    if (def->synonym_has_default) {
        add_synonym(d, to, str_of(def->synonym), str_of(def->fallback), SOURCE_DEFAULT);
    }
}

static void describe_topic(struct description *d)
{
    struct str problem = topic_name_problem(d->resource->resource_name, d->arena);
    if (!str_is_null(problem)) {
        fail(d, KAFKA_INVALID_TOPIC, problem);
        return;
    }
    if (topic_find(d->catalog, d->resource->resource_name) == NULL) {
        fail(d, KAFKA_UNKNOWN_TOPIC_OR_PARTITION, STR(""));
        return;
    }
    for (size_t i = 0; i < topic_config_count; i++) {
        if (is_asked(d, str_of(topic_configs[i].name))) {
            describe_topic_config(d, &topic_configs[i]);
        }
    }
}

/* ---- groups -------------------------------------------------------------------------------------------------------------------- */

static void describe_group_config(struct description *d, const struct config_definition *def)
{
    const struct config *own = config_find(d->catalog, RESOURCE_GROUP, d->resource->resource_name, str_of(def->name));
    struct describe_configs_response_resource_result *to = add(d, str_of(def->name), def);
    struct str started = def->synonym != NULL ? broker_value(d, str_of(def->synonym)) : STR_NULL;
    bool differs = !str_is_null(started) && !str_eq(started, str_of(def->fallback));
    int8_t source = differs ? SOURCE_STATIC_BROKER : SOURCE_DEFAULT;
    struct str shared = differs ? started : str_of(def->fallback);
    to->value = own != NULL ? canonical(def, own->value, d->arena) : shared;
    to->config_source = own != NULL ? SOURCE_GROUP : source;
    if (own != NULL) {
        add_synonym(d, to, to->name, to->value, SOURCE_GROUP);
    }
    if (def->synonym != NULL) {
        add_synonym(d, to, str_of(def->synonym), shared, source);
        if (differs) {
            add_synonym(d, to, str_of(def->synonym), str_of(def->fallback), SOURCE_DEFAULT);
        }
    } else if (own == NULL) {
        add_synonym(d, to, to->name, shared, source);
    }
}

/* Tools that describe all of a group's configs show what they show of Kafka's. */
static bool is_shown(const struct description *d, const struct config_definition *def)
{
    bool named = d->resource->configuration_keys.len > 0;
    bool set = config_find(d->catalog, RESOURCE_GROUP, d->resource->resource_name, str_of(def->name)) != NULL;
    return def->on_demand ? named || set : !def->hidden;
}

static void describe_group(struct description *d)
{
    if (str_is_empty(d->resource->resource_name)) {
        fail(d, KAFKA_INVALID_REQUEST, STR("Group name must not be empty"));
        return;
    }
    for (size_t i = 0; i < group_config_count; i++) {
        const struct config_definition *def = &group_configs[i];
        if (is_shown(d, def) && is_asked(d, str_of(def->name))) {
            describe_group_config(d, def);
        }
    }
}

/* ---- brokers ------------------------------------------------------------------------------------------------------------------- */

static const struct config_definition *broker_definition(struct str name)
{
    const struct config_definition *def = config_definition_find(RESOURCE_BROKER, name);
    return def != NULL ? def : config_definition_of_synonym(name);
}

/* Own dynamic configs, and those that topic configs fall back to. */
static bool is_settable(const struct config_definition *def)
{
    return def != NULL && (def->dynamic || config_definition_find(RESOURCE_BROKER, str_of(def->name)) != def);
}

/* A value that was altered; the first one counts. What nobody knows the type of may be a secret: its value is not shown. */
static void add_altered(struct description *d, struct describe_configs_response_resource_result *to, const struct config_definition *def,
                        const struct config *set, int8_t source, bool *altered)
{
    struct str value = def != NULL ? canonical(def, set->value, d->arena) : STR_NULL;
    if (!*altered) {
        to->value = value;
        to->config_source = source;
        *altered = true;
    }
    to->is_sensitive = def == NULL;
    add_synonym(d, to, to->name, value, source);
}

/* started: what the node runs with; null for configs that only were altered. */
static void describe_broker_config(struct description *d, struct str name, struct str started)
{
    const struct config_definition *def = broker_definition(name);
    const struct config *own = config_find(d->catalog, RESOURCE_BROKER, d->resource->resource_name, name);
    const struct config *shared = config_find(d->catalog, RESOURCE_BROKER, STR(""), name);
    struct describe_configs_response_resource_result *to = add(d, name, def);
    bool is_default = def != NULL && str_eq(started, str_of(def->fallback));
    int8_t source = is_default ? SOURCE_DEFAULT : SOURCE_STATIC_BROKER;
    bool altered = false;
    to->value = started;
    to->config_source = source;
    if (own != NULL) {
        add_altered(d, to, def, own, SOURCE_DYNAMIC_BROKER, &altered);
    }
    if (shared != NULL) {
        add_altered(d, to, def, shared, SOURCE_DYNAMIC_DEFAULT_BROKER, &altered);
    }
    to->read_only = !is_settable(def);
    if (!str_is_null(started)) {
        to->is_sensitive = false;
        to->config_type = def != NULL ? (int8_t)def->type : CONFIG_STRING;
        add_synonym(d, to, name, started, source);
    }
    if (def != NULL && !is_default && !str_is_null(started)) {
        add_synonym(d, to, name, str_of(def->fallback), SOURCE_DEFAULT);
    }
}

static void describe_all_brokers(struct description *d)
{
    const struct config *config = config_at(d->catalog, RESOURCE_BROKER, STR(""), STR_NULL);
    for (; config != NULL; config = config_next(config)) {
        const struct config_definition *def = broker_definition(config->name);
        bool altered = false;
        if (is_asked(d, config->name)) {
            struct describe_configs_response_resource_result *to = add(d, config->name, def);
            add_altered(d, to, def, config, SOURCE_DYNAMIC_DEFAULT_BROKER, &altered);
            to->read_only = !is_settable(def);
        }
    }
}

/* Configs that were altered but are none of the node's own; those of all brokers only where this one has no value of its own. */
static void describe_altered(struct description *d, struct str resource)
{
    bool for_all = str_is_empty(resource);
    const struct config *config = config_at(d->catalog, RESOURCE_BROKER, resource, STR_NULL);
    for (; config != NULL; config = config_next(config)) {
        bool told = for_all && config_find(d->catalog, RESOURCE_BROKER, d->resource->resource_name, config->name) != NULL;
        if (!told && is_asked(d, config->name) && str_is_null(broker_value(d, config->name))) {
            describe_broker_config(d, config->name, STR_NULL);
        }
    }
}

static bool is_number(struct str name)
{
    for (int32_t i = name.len > 1 && name.ptr[0] == '-' ? 1 : 0; i < name.len; i++) {
        if (name.ptr[i] < '0' || name.ptr[i] > '9') {
            return false;
        }
    }
    return name.len > 0 && name.len <= 11;
}

static void describe_broker(struct description *d)
{
    struct str name = d->resource->resource_name;
    struct str self = broker_value(d, STR("node.id"));
    struct str key = STR_NULL;
    if (!is_number(name)) {
        fail(d, KAFKA_INVALID_REQUEST, arena_printf(d->arena, "Broker id must be an integer, but it is: %.*s", STR_ARG(name)));
        return;
    }
    if (!str_is_null(self) && !str_eq(self, name)) {
        fail(d, KAFKA_INVALID_REQUEST,
             arena_printf(d->arena, "Unexpected broker id, expected %.*s or empty string, but received %.*s", STR_ARG(self),
                          STR_ARG(name)));
        return;
    }
    while (d->broker != NULL && d->broker->next(d->broker->ctx, key, &key)) {
        if (is_asked(d, key)) {
            describe_broker_config(d, key, broker_value(d, key));
        }
    }
    describe_altered(d, name);
    describe_altered(d, STR(""));
}

void catalog_describe_config(const struct group_set *shard0, const struct describe_configs_request_resource *resource, bool synonyms,
                             bool documentation, const struct catalog_broker_values *broker, struct arena *arena,
                             struct describe_configs_response_result *ret)
{
    struct description d = {.catalog = shard0->catalog,
                            .resource = resource,
                            .synonyms = synonyms,
                            .documentation = documentation,
                            .broker = broker,
                            .arena = arena,
                            .ret = ret};
    *ret = (struct describe_configs_response_result){.error_message = STR(""),
                                                     .resource_type = resource->resource_type,
                                                     .resource_name = resource->resource_name};
    switch (resource->resource_type) {
    case RESOURCE_TOPIC:
        describe_topic(&d);
        break;
    case RESOURCE_GROUP:
        describe_group(&d);
        break;
    case RESOURCE_BROKER:
        if (str_is_empty(resource->resource_name)) {
            describe_all_brokers(&d);
        } else {
            describe_broker(&d);
        }
        break;
    case RESOURCE_CLIENT_METRICS: /* there are none */
        if (str_is_empty(resource->resource_name)) {
            fail(&d, KAFKA_INVALID_REQUEST, STR("Client metrics subscription name must not be empty"));
        }
        break;
    case RESOURCE_BROKER_LOGGER:
        fail(&d, KAFKA_INVALID_REQUEST, arena_printf(arena, "Unsupported resource type: %d", resource->resource_type));
        break;
    default: /* what the protocol says of INVALID_REQUEST */
        fail(&d, KAFKA_INVALID_REQUEST,
             STR("This most likely occurs because of a request being malformed by the client library or the message was sent to an "
                 "incompatible broker. See the broker logs for more details."));
        break;
    }
}
