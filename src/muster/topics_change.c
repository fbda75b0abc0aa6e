/* topics_change.c: muster topics create, delete, set-end. */
#include "commands.h"
#include "group_view.h"
#include "out.h"

#include <inttypes.h>
#include <string.h>

enum { KAFKA_TOPIC_ALREADY_EXISTS = 36, KAFKA_UNKNOWN_TOPIC = 3, KAFKA_NOT_CONTROLLER = 41 };

/* What became of each topic: a table, or {"topics": [...]}. */
struct results {
    struct table table;
    json_t *topics;
    int code;
};

static void results_init(struct results *r, struct cli *cli, const char *const *headers, int columns)
{
    *r = (struct results){.topics = json_array(), .code = CLI_OK};
    table_init(&r->table, &cli->arena, headers, columns);
}

static int results_end(struct results *r, struct cli *cli)
{
    if (cli->json) {
        json_t *document = json_object();
        out_json_set(document, "topics", json_incref(r->topics));
        out_json_print(document, cli->out);
    } else if (r->table.cell_count > 0) {
        table_print(&r->table, cli->out);
    }
    json_decref(r->topics);
    return r->code;
}

/* Sets the members that every result has, and says the error. */
static json_t *result_json(struct cli *cli, struct results *r, struct str topic, int16_t error, struct str message)
{
    json_t *one = json_object();
    out_json_set(one, "topic", out_json_text(topic));
    out_json_set(one, "error", error == 0 ? json_null() : out_json_text(str_of(kafka_error_name(error, &cli->arena))));
    out_json_add(r->topics, one);
    if (error != 0) {
        r->code = cli_fail(cli, CLI_FAILED, "topic %.*s: %s", STR_ARG(out_quoted(topic, &cli->arena)),
                           kafka_error_text(error, message, &cli->arena));
    }
    return one;
}

/* ---- create ---- */

static int16_t create_error(const void *answer)
{
    const struct create_topics_response *response = answer;
    return response->topics.len > 0 ? response->topics.v[0].error_code : 0;
}

/* --config KEY=VALUE, each. false with a message. */
static bool take_configs(struct cli *cli, struct create_topics_request_creatable_topic *topic)
{
    topic->configs.v = ARENA_NEW(&cli->arena, struct create_topics_request_creatable_topic_config, cli->given_count);
    topic->configs.len = 0;
    for (int i = 0; i < cli->given_count; i++) {
        if (strcmp(cli->given[i].name, "config") != 0) {
            continue;
        }
        const char *text = cli->given[i].value;
        const char *equals = strchr(text, '=');
        if (equals == NULL || equals == text) {
            cli_say(cli, "--config takes KEY=VALUE, not '%s'", text);
            return false;
        }
        topic->configs.v[topic->configs.len++] =
            (struct create_topics_request_creatable_topic_config){{text, (int32_t)(equals - text)}, str_of(equals + 1)};
    }
    return true;
}

static bool compose_create(struct cli *cli, struct create_topics_request *request)
{
    int64_t partitions;
    int64_t replication;
    wire_init(&wire_create_topics_request, request);
    if (!cli_number(cli, "partitions", 1, INT32_MAX, -1, &partitions) ||
        !cli_number(cli, "replication-factor", 1, INT16_MAX, -1, &replication)) {
        return false;
    }
    request->timeout_ms = (int32_t)cli->timeout_ms;
    request->validate_only = cli_flag(cli, "validate-only");
    request->topics.len = cli->operand_count;
    request->topics.v = ARENA_NEW(&cli->arena, struct create_topics_request_creatable_topic, cli->operand_count);
    for (int i = 0; i < cli->operand_count; i++) {
        struct create_topics_request_creatable_topic *topic = &request->topics.v[i];
        topic->name = str_of(cli->operands[i]);
        topic->num_partitions = (int32_t)partitions;
        topic->replication_factor = (int16_t)replication;
        if (!take_configs(cli, topic)) {
            return false;
        }
    }
    return true;
}

static void show_created(struct cli *cli, struct results *r, const struct create_topics_response_creatable_topic_result *topic)
{
    char id[23] = "-";
    bool existed = topic->error_code == KAFKA_TOPIC_ALREADY_EXISTS && cli_flag(cli, "if-not-exists");
    int16_t error = existed ? 0 : topic->error_code;
    if (!uuid_is_zero(topic->topic_id)) {
        uuid_text(topic->topic_id, id);
    }
    json_t *one = result_json(cli, r, topic->name, error, topic->error_message);
    out_json_set(one, "created", json_boolean(topic->error_code == 0 && !cli_flag(cli, "validate-only")));
    if (topic->error_code == 0) {
        out_json_set(one, "topicId", strcmp(id, "-") == 0 ? json_null() : json_string(id));
        out_json_set(one, "partitions", json_integer(topic->num_partitions));
    }
    const char *result = existed ? "exists" : cli_flag(cli, "validate-only") ? "valid" : "created";
    table_text(&r->table, topic->name);
    table_text(&r->table, str_of(error != 0 ? kafka_error_name(error, &cli->arena) : result));
    table_number_or_dash(&r->table, topic->error_code == 0 ? topic->num_partitions : -1);
    table_text(&r->table, arena_str(&cli->arena, str_of(id)));
}

static int run_create(struct cli *cli)
{
    static const char *const headers[] = {"TOPIC", "RESULT", "PARTITIONS", "TOPIC-ID"};
    struct create_topics_request request;
    struct results r;
    struct client c;
    const void *answer;
    if (!compose_create(cli, &request)) {
        return CLI_USAGE;
    }
    int code = cli_connect(cli, &c);
    if (code != CLI_OK) {
        return code;
    }
    struct client_call call = {.key = API_KEY_CREATE_TOPICS, .max_version = -1, .request = &request, .changes = true};
    int rc = client_controller_call(&c, &call, create_error, &cli->arena, &answer);
    if (rc < 0) {
        code = cli_client_failed(cli, &c, rc);
    } else {
        const struct create_topics_response *response = answer;
        results_init(&r, cli, headers, COUNT_OF(headers));
        for (int32_t i = 0; i < response->topics.len; i++) {
            show_created(cli, &r, &response->topics.v[i]);
        }
        code = results_end(&r, cli);
    }
    client_fini(&c);
    return code;
}

static const struct cli_option create_options[] = {
    OPTION_NAMED_TOPICS,
    {"partitions", "N", "number of partitions (the cluster's num.partitions)"},
    {"replication-factor", "N", "recorded with the topic (the cluster's default.replication.factor)"},
    {"config", "KEY=VALUE", "a config of the topic; may be given more than once"},
    {"if-not-exists", NULL, "a topic that exists is no error"},
    {"validate-only", NULL, "only say whether it could be created"},
};

const struct cli_command command_topics_create = {.noun = "topics",
                                                  .verb = "create",
                                                  .operands = "TOPIC...",
                                                  .min_operands = 1,
                                                  .max_operands = -1,
                                                  .named_by = {"topic"},
                                                  .summary = "Creates topics.",
                                                  .options = create_options,
                                                  .option_count = COUNT_OF(create_options),
                                                  .run = run_create};

/* ---- delete ---- */

static int16_t delete_error(const void *answer)
{
    const struct delete_topics_response *response = answer;
    return response->responses.len > 0 ? response->responses.v[0].error_code : 0;
}

static void compose_delete(struct cli *cli, struct delete_topics_request *request)
{
    wire_init(&wire_delete_topics_request, request);
    request->timeout_ms = (int32_t)cli->timeout_ms;
    request->topics.len = cli->operand_count;
    request->topics.v = ARENA_NEW(&cli->arena, struct delete_topics_request_delete_topic_state, cli->operand_count);
    request->topic_names.len = cli->operand_count;
    request->topic_names.v = ARENA_NEW(&cli->arena, struct str, cli->operand_count);
    for (int i = 0; i < cli->operand_count; i++) {
        request->topics.v[i].name = str_of(cli->operands[i]);
        request->topic_names.v[i] = str_of(cli->operands[i]);
    }
}

static bool is_deleted(const struct cli *cli, struct str topic)
{
    for (int i = 0; i < cli->operand_count; i++) {
        if (str_eq(topic, str_of(cli->operands[i]))) {
            return true;
        }
    }
    return false;
}

/* Offsets go with their topic, whoever's they are, and the request knows nothing of groups: groups that are protected are looked at before. CLI_OK, or said. */
static int check_protected_groups(struct cli *cli, struct client *c)
{
    struct listed_groups groups;
    int rc = group_list_fetch(cli, c, NULL, &groups);
    rc = rc == 0 ? protected_keep(c, &groups, &cli->arena) : rc;
    for (int i = 0; rc == 0 && i < groups.count; i++) {
        struct offsets_view offsets = {0};
        rc = offsets_view_fetch(c, groups.v[i].group_id, &cli->arena, &offsets);
        for (int k = 0; rc == 0 && k < offsets.count; k++) {
            if (is_deleted(cli, offsets.v[k].topic)) {
                return cli_fail(cli, CLI_FAILED,
                                "group %.*s is protected and has offsets of %.*s, which would go with it; nothing was deleted (--force)",
                                STR_ARG(out_quoted(groups.v[i].group_id, &cli->arena)),
                                STR_ARG(out_quoted(offsets.v[k].topic, &cli->arena)));
            }
        }
    }
    return rc == MUSTER_E_VERSION ? CLI_OK
           : rc < 0               ? cli_client_failed(cli, c, rc)
                                  : CLI_OK; /* what knows of no protection protects nothing */
}

static int run_delete(struct cli *cli)
{
    static const char *const headers[] = {"TOPIC", "RESULT"};
    struct delete_topics_request request;
    struct results r;
    struct client c;
    const void *answer;
    int code = cli_connect(cli, &c);
    if (code != CLI_OK) {
        return code;
    }
    code = cli_flag(cli, "force") ? CLI_OK : check_protected_groups(cli, &c);
    if (code != CLI_OK) {
        client_fini(&c);
        return code;
    }
    compose_delete(cli, &request);
    struct client_call call = {.key = API_KEY_DELETE_TOPICS, .max_version = -1, .request = &request, .changes = true};
    int rc = client_controller_call(&c, &call, delete_error, &cli->arena, &answer);
    if (rc < 0) {
        client_fini(&c);
        return cli_client_failed(cli, &c, rc);
    }
    const struct delete_topics_response *response = answer;
    results_init(&r, cli, headers, COUNT_OF(headers));
    for (int32_t i = 0; i < response->responses.len; i++) {
        const struct delete_topics_response_deletable_topic_result *topic = &response->responses.v[i];
        bool missing = topic->error_code == KAFKA_UNKNOWN_TOPIC && cli_flag(cli, "if-exists");
        int16_t error = missing ? 0 : topic->error_code;
        json_t *one = result_json(cli, &r, topic->name, error, topic->error_message);
        out_json_set(one, "deleted", json_boolean(topic->error_code == 0));
        table_text(&r.table, topic->name);
        table_text(&r.table, str_of(error != 0 ? kafka_error_name(error, &cli->arena) : missing ? "missing" : "deleted"));
    }
    client_fini(&c);
    return results_end(&r, cli);
}

static const struct cli_option delete_options[] = {
    OPTION_NAMED_TOPICS,
    {"if-exists", NULL, "a topic that does not exist is no error"},
    {"force", NULL, "although protected groups have offsets of it"},
};

const struct cli_command command_topics_delete = {
    .noun = "topics",
    .verb = "delete",
    .operands = "TOPIC...",
    .min_operands = 1,
    .max_operands = -1,
    .named_by = {"topic"},
    .summary = "Deletes topics, and the offsets that groups have committed for them.",
    .details = "Refused while a group that is protected ('muster groups protect') has offsets of one of them. Kafka's tools do\n"
               "not ask. The log keeps what the groups had: once the topic is there again, 'muster offsets reset GROUP --topic\n"
               "TOPIC --to-time TIME' sets it anew.",
    .options = delete_options,
    .option_count = COUNT_OF(delete_options),
    .run = run_delete};

/* ---- set-end ---- */

static int16_t set_end_error(const void *answer)
{
    const struct set_end_offset_response *response = answer;
    return response->topics.len > 0 && response->topics.v[0].partitions.len > 0 ? response->topics.v[0].partitions.v[0].error_code : 0;
}

/* The partition asked for, or all the topic has. CLI_OK or the exit code, said. */
static int compose_set_end(struct cli *cli, struct client *c, int64_t end, int64_t partition, struct set_end_offset_request *request)
{
    const struct metadata_response *metadata;
    struct set_end_offset_request_topic *topic = ARENA_NEW(&cli->arena, struct set_end_offset_request_topic, 1);
    wire_init(&wire_set_end_offset_request, request);
    topic->name = str_of(cli->operands[0]);
    int rc = client_metadata(c, &topic->name, 1, &cli->arena, &metadata);
    if (rc < 0) {
        return cli_client_failed(cli, c, rc);
    }
    if (metadata->topics.len != 1 || metadata->topics.v[0].error_code != 0) {
        int16_t error = metadata->topics.len == 1 ? metadata->topics.v[0].error_code : KAFKA_UNKNOWN_TOPIC;
        return cli_fail(cli, CLI_FAILED, "topic '%s': %s", cli->operands[0], kafka_error_text(error, STR_NULL, &cli->arena));
    }
    int32_t count = metadata->topics.v[0].partitions.len;
    topic->partitions.v = ARENA_NEW(&cli->arena, struct set_end_offset_request_partition, count + 1);
    for (int32_t i = 0; partition < 0 && i < count; i++) {
        topic->partitions.v[topic->partitions.len++] = (struct set_end_offset_request_partition){i, end};
    }
    if (partition >= 0) {
        topic->partitions.v[topic->partitions.len++] = (struct set_end_offset_request_partition){(int32_t)partition, end};
    }
    request->topics.v = topic;
    request->topics.len = 1;
    return CLI_OK;
}

static int show_ends(struct cli *cli, const struct set_end_offset_response *response, int64_t end)
{
    static const char *const headers[] = {"TOPIC", "PARTITION", "LOG-END-OFFSET", "RESULT"};
    struct results r;
    results_init(&r, cli, headers, COUNT_OF(headers));
    for (int32_t i = 0; i < response->topics.len; i++) {
        const struct set_end_offset_response_topic_result *topic = &response->topics.v[i];
        for (int32_t k = 0; k < topic->partitions.len; k++) {
            const struct set_end_offset_response_partition_result *p = &topic->partitions.v[k];
            json_t *one = result_json(cli, &r, topic->name, p->error_code, p->error_message);
            out_json_set(one, "partition", json_integer(p->partition));
            out_json_set(one, "logEndOffset", p->error_code == 0 ? json_integer(end) : json_null());
            table_text(&r.table, topic->name);
            table_number(&r.table, p->partition);
            table_number_or_dash(&r.table, p->error_code == 0 ? end : -1);
            table_text(&r.table, p->error_code == 0 ? STR("set") : str_of(kafka_error_name(p->error_code, &cli->arena)));
        }
    }
    return results_end(&r, cli);
}

static int run_set_end(struct cli *cli)
{
    struct set_end_offset_request request;
    struct client c;
    const void *answer;
    int64_t end;
    int64_t partition;
    if (!cli_number(cli, "partition", 0, INT32_MAX, -1, &partition)) {
        return CLI_USAGE;
    }
    if (!cli_parse_number(cli->operands[1], 0, INT64_MAX, &end)) {
        return cli_fail(cli, CLI_USAGE, "'%s' is no offset: a whole number from 0 on", cli->operands[1]);
    }
    int code = cli_connect(cli, &c);
    if (code != CLI_OK) {
        return code;
    }
    code = compose_set_end(cli, &c, end, partition, &request);
    if (code == CLI_OK) {
        struct client_call call = {.key = API_KEY_SET_END_OFFSET, .max_version = -1, .request = &request, .idempotent = true};
        int rc = client_controller_call(&c, &call, set_end_error, &cli->arena, &answer);
        code = rc < 0 ? cli_client_failed(cli, &c, rc) : show_ends(cli, answer, end);
    }
    client_fini(&c);
    return code;
}

static const struct cli_option set_end_options[] = {
    OPTION_NAMED_TOPIC,
    {"partition", "P", "only this partition (all of the topic)"},
};

const struct cli_command command_topics_set_end = {
    .noun = "topics",
    .verb = "set-end",
    .operands = "TOPIC OFFSET",
    .min_operands = 2,
    .max_operands = 2,
    .named_by = {"topic"},
    .summary = "Sets the end offset that a topic's partitions show.",
    .details = "A muster cluster holds no data; consumers that start at the end, and everyone who computes a lag, see this offset.\n"
               "Until it is set, 'muster groups describe' has no lag to show.",
    .options = set_end_options,
    .option_count = COUNT_OF(set_end_options),
    .run = run_set_end};
