#include "fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RULES = 64 };
static const char *hit[RULES];
static int hits;

bool rule_was_hit(const char *rule)
{
    for (int i = 0; i < hits; i++) {
        if (strcmp(hit[i], rule) == 0) {
            return true;
        }
    }
    return false;
}

/* ---- answers as text ----------------------------------------------------------------------------------------------------------- */

static void say(struct fixture *f, const char *format, ...)
{
    size_t at = strlen(f->answer);
    va_list args;
    va_start(args, format);
    vsnprintf(f->answer + at, sizeof f->answer - at, format, args);
    va_end(args);
}

static void say_result(struct fixture *f, struct str name, int16_t error, struct str message)
{
    say(f, "%s%.*s %d", f->answer[0] != '\0' ? "\n" : "", STR_ARG(name), error);
    if (message.len > 0) {
        say(f, " %.*s", STR_ARG(message));
    }
}

static void say_create(struct fixture *f, const struct create_topics_response *r)
{
    for (int32_t i = 0; i < r->topics.len; i++) {
        const struct create_topics_response_creatable_topic_result *t = &r->topics.v[i];
        say_result(f, t->name, t->error_code, t->error_message);
        if (t->error_code == 0) {
            say(f, " %d/%d", t->num_partitions, t->replication_factor);
            assert_int_equal(t->configs.len, 37);
            assert_false(uuid_is_zero(t->topic_id));
        } else {
            assert_true(t->num_partitions == -1 && t->replication_factor == -1 && t->configs.len == 0 && uuid_is_zero(t->topic_id));
        }
    }
}

static void say_delete(struct fixture *f, const struct delete_topics_response *r)
{
    for (int32_t i = 0; i < r->responses.len; i++) {
        const struct delete_topics_response_deletable_topic_result *t = &r->responses.v[i];
        char id[23];
        uuid_text(t->topic_id, id);
        say_result(f, t->name, t->error_code, t->error_message);
        say(f, " %s", uuid_is_zero(t->topic_id) ? "-" : str_is_null(t->name) ? id : "id");
    }
}

static void say_end(struct fixture *f, const struct set_end_offset_response *r)
{
    for (int32_t t = 0; t < r->topics.len; t++) {
        for (int32_t i = 0; i < r->topics.v[t].partitions.len; i++) {
            const struct set_end_offset_response_partition_result *p = &r->topics.v[t].partitions.v[i];
            say_result(f, r->topics.v[t].name, p->error_code, p->error_message);
            say(f, " @%d", p->partition);
        }
    }
}

static void say_answer(struct fixture *f, enum group_op_kind kind, const void *answer)
{
    if (kind == CATALOG_CREATE_TOPICS) {
        say_create(f, answer);
    } else if (kind == CATALOG_CREATE_PARTITIONS) {
        const struct create_partitions_response *r = answer;
        for (int32_t i = 0; i < r->results.len; i++) {
            say_result(f, r->results.v[i].name, r->results.v[i].error_code, r->results.v[i].error_message);
        }
    } else if (kind == CATALOG_DELETE_TOPICS) {
        say_delete(f, answer);
    } else if (kind == CATALOG_ALTER_CONFIGS) {
        const struct incremental_alter_configs_response *r = answer;
        for (int32_t i = 0; i < r->responses.len; i++) {
            say_result(f, r->responses.v[i].resource_name, r->responses.v[i].error_code, r->responses.v[i].error_message);
        }
    } else if (kind == CATALOG_SET_END) {
        say_end(f, answer);
    } else if (kind == CATALOG_REGISTER_NODE) {
        const struct register_node_response *r = answer;
        say_result(f, STR("node"), r->error_code, r->error_message);
    } else if (kind == CATALOG_CHANGE_MEMBER || kind == CATALOG_MEMBER_STEP) {
        const struct change_member_response *r = answer;
        say_result(f, STR("change"), r->error_code, r->error_message);
        say(f, " %lld", (long long)r->change_id);
    } else if (kind == CATALOG_UPGRADE) {
        const struct upgrade_cluster_response *r = answer;
        say_result(f, STR("level"), r->error_code, r->error_message);
        say(f, " %d->%d", r->before, r->level);
    } else {
        const struct init_producer_id_response *r = answer;
        say(f, "%d %lld/%d", r->error_code, (long long)r->producer_id, r->producer_epoch);
    }
}

void note_rule(const char *rule)
{
    if (!rule_was_hit(rule) && hits < RULES) {
        hit[hits++] = rule;
    }
}

static void note(struct fixture *f, const struct group_out *out)
{
    snprintf(f->rule, sizeof f->rule, "%s", out->rule);
    note_rule(out->rule);
}

static void on_answer(void *ctx, const struct world_request *request, const struct group_out *out)
{
    struct fixture *f = ctx;
    note(f, out);
    f->answer[0] = '\0';
    say_answer(f, request->op.kind, out->answer);
}

static void on_silent(void *ctx, const struct group_op *op, const struct group_out *out)
{
    (void)op;
    note(ctx, out);
}

static void on_record(void *ctx, struct record record)
{
    struct fixture *f = ctx;
    (void)record;
    f->records++;
}

const char *ask(struct fixture *f, enum group_op_kind kind, int16_t version, const void *request)
{
    struct world_request *r = world_request_new("ask");
    r->op.kind = kind;
    r->op.api_version = version;
    r->op.request = request;
    r->op.group_id = STR_NULL;
    r->op.reachable = (struct int32_array){f->reachable, f->reachable_count};
    r->op.release = STR("9.1");
    world_submit(&f->world, r);
    return f->answer;
}

int fixture_setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    world_init(&f->world, &(struct world_events){.ctx = f, .record = on_record, .answer = on_answer, .silent = on_silent});
    f->world.settings.max_partitions_per_topic = 10000;
    arena_init(&f->arena, 0);
    for (int32_t node = 1; node <= 3; node++) {
        struct register_node_request q = {
            .node_id = node, .incarnation = {{(uint8_t)node}}, .host = STR("h"), .port = 9092, .rack = STR_NULL};
        q.peer_address = STR("h:9093");
        assert_string_equal(ask(f, CATALOG_REGISTER_NODE, 0, &q), "node 0");
    }
    f->records = 0;
    *state = f;
    return 0;
}

int fixture_teardown(void **state)
{
    struct fixture *f = *state;
    world_fini(&f->world);
    arena_fini(&f->arena);
    free(f);
    return 0;
}

/* ---- requests ------------------------------------------------------------------------------------------------------------------ */

const char *create(struct fixture *f, const new_topic *topics, int32_t count)
{
    struct create_topics_request q = {.topics = {(new_topic *)(uintptr_t)topics, count}};
    return ask(f, CATALOG_CREATE_TOPICS, 4, &q);
}

const char *create_one(struct fixture *f, const char *name, int32_t partitions, int16_t replication_factor)
{
    new_topic topic = {.name = str_of(name), .num_partitions = partitions, .replication_factor = replication_factor};
    return create(f, &topic, 1);
}

const char *alter(struct fixture *f, int8_t type, const char *resource, const char *name, int8_t operation, const char *value)
{
    struct incremental_alter_configs_request_alterable_config config = {str_of(name), operation, str_of(value)};
    struct incremental_alter_configs_request_alter_configs_resource r = {type, str_of(resource), {&config, 1}};
    struct incremental_alter_configs_request q = {.resources = {&r, 1}};
    return ask(f, CATALOG_ALTER_CONFIGS, 1, &q);
}

static void say_config(struct fixture *f, const struct describe_configs_response_resource_result *c)
{
    say(f, "%s%.*s=", f->answer[0] != '\0' ? " " : "", STR_ARG(c->name));
    say(f, "%.*s(%d%s%s)", STR_ARG(c->value), c->config_source, c->read_only ? " fixed" : "", c->is_sensitive ? " secret" : "");
    for (int32_t i = 0; i < c->synonyms.len; i++) {
        say(f, "%s%.*s=%.*s(%d)%s", i == 0 ? "[" : " ", STR_ARG(c->synonyms.v[i].name), STR_ARG(c->synonyms.v[i].value),
            c->synonyms.v[i].source, i == c->synonyms.len - 1 ? "]" : "");
    }
}

static const char *describe_with(struct fixture *f, const struct describe_configs_request_resource *r, bool synonyms,
                                 const struct catalog_broker_values *broker)
{
    struct describe_configs_response_result result;
    catalog_describe_config(f->world.set, r, synonyms, true, broker, &f->arena, &result);
    f->answer[0] = '\0';
    if (result.error_code != 0) {
        say(f, "%d %.*s", result.error_code, STR_ARG(result.error_message));
    }
    for (int32_t i = 0; i < result.configs.len; i++) {
        say_config(f, &result.configs.v[i]);
        assert_true(result.configs.v[i].is_sensitive || result.configs.v[i].config_type > 0);
    }
    return f->answer;
}

static struct str_array key_list(struct fixture *f, const char *keys)
{
    struct str_array list = {.v = ARENA_NEW(&f->arena, struct str, 64), .len = keys == NULL ? -1 : 0};
    while (keys != NULL && *keys != '\0') {
        size_t len = strcspn(keys, " ");
        list.v[list.len++] = (struct str){keys, (int32_t)len};
        keys += len + (keys[len] == ' ' ? 1 : 0);
    }
    return list;
}

const char *describe(struct fixture *f, int8_t type, const char *resource, const char *keys, bool synonyms)
{
    struct describe_configs_request_resource r = {type, str_of(resource), key_list(f, keys)};
    return describe_with(f, &r, synonyms, NULL);
}

/* ---- a node's own configs ---------------------------------------------------------------------------------------------------------- */

static const char *const own[][2] = {{"node.id", "2"},
                                     {"num.partitions", "7"},
                                     {"group.max.size", "2147483647"},
                                     {"muster.max.groups", "500"},
                                     {"group.consumer.session.timeout.ms", "50000"},
                                     {"muster.odd", "x"}};

static struct str own_value(const void *ctx, struct str name, struct arena *arena)
{
    (void)ctx;
    for (size_t i = 0; i < COUNT_OF(own); i++) {
        if (str_eq(name, str_of(own[i][0]))) {
            return arena_str(arena, str_of(own[i][1]));
        }
    }
    return STR_NULL;
}

static bool own_next(const void *ctx, struct str after, struct str *ret)
{
    (void)ctx;
    size_t next = 0;
    while (!str_is_null(after) && next < COUNT_OF(own) && !str_eq(str_of(own[next++][0]), after)) {
    }
    if (next >= COUNT_OF(own)) {
        return false;
    }
    *ret = str_of(own[next][0]);
    return true;
}

const char *describe_on_node(struct fixture *f, const char *resource, const char *keys)
{
    struct catalog_broker_values values = {.get = own_value, .next = own_next};
    bool of_group = resource[0] == 'g';
    struct describe_configs_request_resource r = {of_group ? 32 : 4, str_of(resource), key_list(f, keys)};
    return describe_with(f, &r, true, &values);
}
