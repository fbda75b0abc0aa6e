/* create.c: CreateTopics, checked in Kafka's order: names, names that collide, topics that exist, configs that are null, configs, then partitions
 * and replicas. A topic named twice in a request is refused once and answered behind the others. */
#include "configs.h"
#include "rules.h"

#include <inttypes.h>
#include <string.h>

enum { TOPIC_NAME_BYTES = 249 };

/* ---- names ------------------------------------------------------------------------------------------------------------------ */

static bool is_name_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

struct str topic_name_problem(struct str name, struct arena *arena)
{
    if (name.len <= 0) {
        return STR("Topic name is invalid: the empty string is not allowed");
    }
    if (str_eq(name, STR(".")) || str_eq(name, STR(".."))) {
        return arena_printf(arena, "Topic name is invalid: '%.*s' is not allowed", STR_ARG(name));
    }
    if (name.len > TOPIC_NAME_BYTES) {
        return arena_printf(arena, "Topic name is invalid: the length of '%.*s' is longer than the max allowed length %d", STR_ARG(name),
                            TOPIC_NAME_BYTES);
    }
    for (int32_t i = 0; i < name.len; i++) {
        if (!is_name_character(name.ptr[i])) {
            return arena_printf(
                arena,
                "Topic name is invalid: '%.*s' contains one or more characters other than ASCII alphanumerics, '.', '_' and "
                "'-'",
                STR_ARG(name));
        }
    }
    return STR_NULL;
}

static bool may_collide(struct str name)
{
    return memchr(name.ptr, '.', (size_t)name.len) != NULL || memchr(name.ptr, '_', (size_t)name.len) != NULL;
}

/* ---- one topic --------------------------------------------------------------------------------------------------------------- */

struct creation {
    struct decision *d;
    const struct create_topics_request *request;
    int32_t number; /* of the topics made so far in this request */
};

/* What is known of a topic that is being made. */
struct topic_plan {
    const struct create_topics_request_creatable_topic *asked;
    struct config_changes configs;
    struct uuid id;
    int32_t partitions;
    int16_t replication_factor;
};

static bool refuse(struct create_topics_response_creatable_topic_result *result, int16_t error, struct str message)
{
    result->error_code = error;
    result->error_message = message;
    return false;
}

static bool check_name(const struct creation *c, struct str name, struct create_topics_response_creatable_topic_result *result)
{
    const struct catalog *catalog = c->d->set->catalog;
    if (topic_find(catalog, name) != NULL) {
        return refuse(result, KAFKA_TOPIC_ALREADY_EXISTS, arena_printf(c->d->arena, "Topic '%.*s' already exists.", STR_ARG(name)));
    }
    struct str problem = topic_name_problem(name, c->d->arena);
    if (!str_is_null(problem)) {
        return refuse(result, KAFKA_INVALID_TOPIC, problem);
    }
    const struct topic *other = may_collide(name) ? topic_colliding(catalog, name) : NULL;
    if (other != NULL) {
        return refuse(result, KAFKA_INVALID_TOPIC,
                      arena_printf(c->d->arena, "Topic '%.*s' collides with existing topic: %.*s", STR_ARG(name), STR_ARG(other->name)));
    }
    return true;
}

/* The configs asked for; the last one of a name counts. */
static bool check_configs(const struct creation *c, struct topic_plan *plan, struct create_topics_response_creatable_topic_result *result)
{
    const struct create_topics_request_creatable_topic_config_array *asked = &plan->asked->configs;
    struct arena *arena = c->d->arena;
    struct str_array nulls = {.v = ARENA_NEW(arena, struct str, asked->len)};
    struct names seen;
    names_init(&seen, arena, asked->len);
    plan->configs.v = ARENA_NEW(arena, struct config_change, asked->len);
    for (int32_t i = 0; i < asked->len; i++) {
        struct config_change change = {.name = asked->v[i].name, .value = asked->v[i].value};
        if (str_is_null(change.value)) {
            nulls.v[nulls.len++] = change.name;
            continue;
        }
        change.def = config_definition_find(RESOURCE_TOPIC, change.name);
        int32_t at = names_add(&seen, bytes_of_str(change.name), plan->configs.len);
        plan->configs.v[at < 0 ? plan->configs.len++ : at] = change;
    }
    if (nulls.len > 0) {
        struct str names = config_join(nulls, STR(","), arena);
        return refuse(result, KAFKA_INVALID_CONFIG,
                      arena_printf(arena, "Null value not supported for topic configs: %.*s", STR_ARG(names)));
    }
    struct str problem =
        config_changes_problem(c->d->set->catalog, c->d->op->settings, RESOURCE_TOPIC, plan->asked->name, &plan->configs, arena);
    return str_is_null(problem) || refuse(result, KAFKA_INVALID_CONFIG, problem);
}

/* ---- partitions and replicas --------------------------------------------------------------------------------------------------- */

struct str replicas_problem(const struct catalog *c, struct int32_array nodes, int32_t expected, struct arena *arena)
{
    if (nodes.len <= 0) {
        return STR("The manual partition assignment includes an empty replica list.");
    }
    for (int32_t i = 0; i < nodes.len; i++) {
        if (!node_is_registered(c, nodes.v[i])) {
            return arena_printf(arena, "The manual partition assignment includes broker %" PRId32 ", but no such broker is registered.",
                                nodes.v[i]);
        }
        for (int32_t k = 0; k < i; k++) { /* registered nodes only, so there are few before one repeats */
            if (nodes.v[k] == nodes.v[i]) {
                return arena_printf(arena, "The manual partition assignment includes the broker %" PRId32 " more than once.", nodes.v[i]);
            }
        }
    }
    if (expected > 0 && nodes.len != expected) {
        return arena_printf(arena,
                            "The manual partition assignment includes a partition with %" PRId32
                            " replica(s), but this is not consistent with "
                            "previous partitions, which have %" PRId32 " replica(s).",
                            nodes.len, expected);
    }
    return STR_NULL;
}

static bool check_assignments(const struct creation *c, struct topic_plan *plan,
                              struct create_topics_response_creatable_topic_result *result)
{
    const struct create_topics_request_creatable_replica_assignment_array *asked = &plan->asked->assignments;
    if (plan->asked->replication_factor != -1) {
        return refuse(result, KAFKA_INVALID_REQUEST,
                      STR("A manual partition assignment was specified, but replication factor was not set to -1."));
    }
    if (plan->asked->num_partitions != -1) {
        return refuse(result, KAFKA_INVALID_REQUEST,
                      STR("A manual partition assignment was specified, but numPartitions was not set to -1."));
    }
    bool *given = ARENA_NEW(c->d->arena, bool, asked->len);
    bool in_sequence = true;
    for (int32_t i = 0; i < asked->len; i++) {
        int32_t partition = asked->v[i].partition_index;
        bool inside = partition >= 0 && partition < asked->len;
        if (inside && given[partition]) {
            return refuse(result, KAFKA_INVALID_REPLICA_ASSIGNMENT,
                          arena_printf(c->d->arena, "Found multiple manual partition assignments for partition %" PRId32, partition));
        }
        struct str problem = replicas_problem(c->d->set->catalog, asked->v[i].broker_ids, plan->replication_factor, c->d->arena);
        if (!str_is_null(problem)) {
            return refuse(result, KAFKA_INVALID_REPLICA_ASSIGNMENT, problem);
        }
        plan->replication_factor = (int16_t)asked->v[i].broker_ids.len;
        in_sequence = in_sequence && inside;
        if (inside) {
            given[partition] = true;
        }
    }
    if (!in_sequence) {
        return refuse(result, KAFKA_INVALID_REPLICA_ASSIGNMENT, STR("partitions should be a consecutive 0-based integer sequence"));
    }
    plan->partitions = asked->len;
    return true;
}

static bool check_counts(const struct creation *c, struct topic_plan *plan, struct create_topics_response_creatable_topic_result *result)
{
    const struct group_settings *s = c->d->op->settings;
    int32_t partitions = plan->asked->num_partitions;
    int16_t factor = plan->asked->replication_factor;
    if (factor < -1 || factor == 0) {
        return refuse(result, KAFKA_INVALID_REPLICATION_FACTOR,
                      STR("Replication factor must be larger than 0, or -1 to use the default value."));
    }
    if (partitions < -1 || partitions == 0) {
        return refuse(result, KAFKA_INVALID_PARTITIONS, STR("Number of partitions was set to an invalid non-positive value."));
    }
    plan->partitions = partitions == -1 ? s->default_partitions : partitions;
    plan->replication_factor = factor == -1 ? s->default_replication_factor : factor;
    int32_t nodes = member_count(c->d->set, s->node_count);
    if (plan->replication_factor > nodes) {
        return refuse(
            result, KAFKA_INVALID_REPLICATION_FACTOR,
            arena_printf(c->d->arena,
                         "Unable to replicate the partition %d time(s): The target replication factor of %d cannot be reached because "
                         "only %" PRId32 " broker(s) are registered or some brokers have all their log directories cordoned.",
                         plan->replication_factor, plan->replication_factor, nodes));
    }
    return true;
}

static bool check_limits(const struct creation *c, const struct topic_plan *plan,
                         struct create_topics_response_creatable_topic_result *result)
{
    const struct group_settings *s = c->d->op->settings;
    if (s->max_partitions_per_topic > 0 && plan->partitions > s->max_partitions_per_topic) {
        return refuse(result, KAFKA_POLICY_VIOLATION, STR("Excessively large number of partitions per request."));
    }
    if (s->max_topics > 0 && c->d->set->counts.topics + c->number >= s->max_topics) {
        return refuse(result, KAFKA_POLICY_VIOLATION,
                      arena_printf(c->d->arena, "The cluster holds %" PRId32 " topics already, which is its limit.", s->max_topics));
    }
    return true;
}

/* ---- ids and records -------------------------------------------------------------------------------------------------------------- */

/* The first topic gets the id that was drawn, the others ids made from it. All have the form of a random UUID, and none begins with the dash
 * that command lines would take for an option. */
static struct uuid topic_id(const struct creation *c)
{
    struct uuid id = c->d->op->fresh_id;
    if (c->number > 0) {
        uint64_t low = hash_bytes(id.b, sizeof(id.b), (uint64_t)c->number);
        uint64_t high = hash_bytes(id.b, sizeof(id.b), ~(uint64_t)c->number);
        put_be64(id.b, low);
        put_be64(id.b + 8, high);
    }
    id.b[6] = (uint8_t)((id.b[6] & 0x0f) | 0x40);
    id.b[8] = (uint8_t)((id.b[8] & 0x3f) | 0x80);
    if (id.b[0] >> 2 == 62) {
        id.b[0] ^= 0x80;
    }
    return id;
}

static void write_topic(const struct creation *c, const struct topic_plan *plan)
{
    struct topic_key key = {.name = plan->asked->name};
    struct topic_value value = {.topic_id = plan->id,
                                .partitions = plan->partitions,
                                .replication_factor = plan->replication_factor,
                                .created_index = (int64_t)c->d->op->next_index};
    out_record(c->d, RECORD_TOPIC, &key, 0, &value);
    for (int32_t i = 0; i < plan->configs.len; i++) {
        struct config_key config = {.resource_type = RESOURCE_TOPIC, .resource_name = plan->asked->name, .name = plan->configs.v[i].name};
        struct config_value text = {.value = plan->configs.v[i].value};
        out_record(c->d, RECORD_CONFIG, &config, 0, &text);
    }
}

static struct str configured(const struct config_changes *configs, const char *name)
{
    for (int32_t i = 0; i < configs->len; i++) {
        if (str_eq(configs->v[i].name, str_of(name))) {
            return configs->v[i].value;
        }
    }
    return STR_NULL;
}

static void describe_topic(const struct creation *c, const struct topic_plan *plan,
                           struct create_topics_response_creatable_topic_result *result)
{
    struct create_topics_response_creatable_topic_configs *configs =
        ARENA_NEW(c->d->arena, struct create_topics_response_creatable_topic_configs, topic_config_count);
    for (size_t i = 0; i < topic_config_count; i++) {
        const struct config_definition *def = &topic_configs[i];
        configs[i].name = str_of(def->name);
        configs[i].value =
            config_effective(c->d->set->catalog, def, configured(&plan->configs, def->name), c->d->arena, &configs[i].config_source);
    }
    result->configs.v = configs;
    result->configs.len = (int32_t)topic_config_count;
    result->topic_id = plan->id;
    result->num_partitions = plan->partitions;
    result->replication_factor = plan->replication_factor;
}

static void create_topic(struct creation *c, const struct create_topics_request_creatable_topic *asked,
                         struct create_topics_response_creatable_topic_result *result)
{
    struct topic_plan plan = {.asked = asked};
    if (!check_name(c, asked->name, result) || !check_configs(c, &plan, result)) {
        return;
    }
    bool counted = asked->assignments.len > 0 ? check_assignments(c, &plan, result) : check_counts(c, &plan, result);
    if (!counted || !check_limits(c, &plan, result)) {
        return;
    }
    plan.id = topic_id(c);
    c->number++;
    if (!c->request->validate_only) {
        write_topic(c, &plan);
    }
    describe_topic(c, &plan, result);
}

/* ---- the request ------------------------------------------------------------------------------------------------------------------- */

static struct create_topics_response_creatable_topic_result *add_result(struct create_topics_response *response, struct str name)
{
    struct create_topics_response_creatable_topic_result *result = &response->topics.v[response->topics.len++];
    *result = (struct create_topics_response_creatable_topic_result){.name = name,
                                                                     .error_message = STR_NULL,
                                                                     .num_partitions = -1,
                                                                     .replication_factor = -1};
    return result;
}

void catalog_create_topics(struct decision *d)
{
    const struct create_topics_request *request = d->op->request;
    struct str reserved = STR("__cluster_metadata");
    struct create_topics_response *response = ARENA_NEW(d->arena, struct create_topics_response, 1);
    struct creation c = {.d = d, .request = request};
    struct repeats names;
    struct str *all = ARENA_NEW(d->arena, struct str, request->topics.len);
    for (int32_t i = 0; i < request->topics.len; i++) {
        all[i] = request->topics.v[i].name;
    }
    names_repeats(all, request->topics.len, d->arena, &names);
    response->topics.v = ARENA_NEW(d->arena, struct create_topics_response_creatable_topic_result, request->topics.len);
    for (int32_t i = 0; i < request->topics.len; i++) {
        if (names.times[names.first[i]] == 1 && !str_eq(all[i], reserved)) {
            create_topic(&c, &request->topics.v[i], add_result(response, all[i]));
        }
    }
    for (int32_t i = 0; i < request->topics.len; i++) {
        if (names.first[i] == i && names.times[i] > 1) {
            refuse(add_result(response, all[i]), KAFKA_INVALID_REQUEST, STR("Duplicate topic name."));
        } else if (names.first[i] == i && str_eq(all[i], reserved)) {
            refuse(add_result(response, reserved), KAFKA_INVALID_REQUEST,
                   STR("Creation of internal topic __cluster_metadata is prohibited."));
        }
    }
    out_answer(d,
               c.number == 0            ? RULE(TOPICS_REFUSED)
               : request->validate_only ? RULE(TOPICS_VALIDATED)
                                        : RULE(TOPICS_CREATED),
               KAFKA_NONE, response);
}
