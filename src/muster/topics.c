/* topics.c: muster topics list, describe. */
#include "columns.h"
#include "commands.h"
#include "configs_view.h"
#include "out.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCE_TOPIC_CONFIG = 1 };

static struct str uuid_str(struct uuid id, struct arena *arena)
{
    char text[23];
    if (uuid_is_zero(id)) {
        return STR_NULL;
    }
    uuid_text(id, text);
    return arena_str(arena, str_of(text));
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct metadata_response_topic *)a)->name, ((const struct metadata_response_topic *)b)->name);
}

static int replication_of(const struct metadata_response_topic *t)
{
    return t->partitions.len > 0 ? t->partitions.v[0].replica_nodes.len : 0;
}

/* ---- list ---- */

static void print_list(struct cli *cli, const struct metadata_response *metadata, bool internal)
{
    static const char *const headers[] = {"TOPIC", "PARTITIONS", "REPLICATION", "TOPIC-ID"};
    struct table t;
    json_t *topics = json_array();
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    for (int32_t i = 0; i < metadata->topics.len; i++) {
        const struct metadata_response_topic *topic = &metadata->topics.v[i];
        if (topic->error_code != 0 || (topic->is_internal && !internal)) {
            continue;
        }
        json_t *one = json_object();
        out_json_set(one, "topic", out_json_text(topic->name));
        out_json_set(one, "topicId", out_json_text(uuid_str(topic->topic_id, &cli->arena)));
        out_json_set(one, "partitions", json_integer(topic->partitions.len));
        out_json_set(one, "replicationFactor", json_integer(replication_of(topic)));
        out_json_set(one, "internal", json_boolean(topic->is_internal));
        out_json_add(topics, one);
        table_text(&t, topic->name);
        table_number(&t, topic->partitions.len);
        table_number(&t, replication_of(topic));
        table_text(&t, uuid_str(topic->topic_id, &cli->arena));
    }
    if (cli->json) {
        json_t *document = json_object();
        out_json_set(document, "topics", json_incref(topics));
        out_json_print(document, cli->out);
    } else {
        table_print(&t, cli->out);
    }
    json_decref(topics);
}

static int run_list(struct cli *cli)
{
    struct client c;
    const struct metadata_response *metadata;
    if (cli_flag(cli, "internal") && cli_flag(cli, "exclude-internal")) {
        return cli_fail(cli, CLI_USAGE, "--internal and --exclude-internal do not go together");
    }
    int code = cli_connect(cli, &c);
    if (code != CLI_OK) {
        return code;
    }
    int rc = client_metadata(&c, NULL, -1, &cli->arena, &metadata);
    if (rc < 0) {
        code = cli_client_failed(cli, &c, rc);
    } else {
        if (metadata->topics.len > 0) {
            qsort(metadata->topics.v, (size_t)metadata->topics.len, sizeof(*metadata->topics.v), by_name);
        }
        print_list(cli, metadata, cli_flag(cli, "internal"));
    }
    client_fini(&c);
    return code;
}

static const struct cli_option list_options[] = {
    {"internal", NULL, "the system's own topics as well"},
    {"exclude-internal", NULL, "without those, as without --internal"},
};

static const struct cli_column list_columns[] = {
    {"REPLICATION", "how many nodes the topic says it is on; all nodes know every topic"},
    {"TOPIC-ID", "stays with the topic until it is deleted; one that is made again has another"},
};

const struct cli_command command_topics_list = {.noun = "topics",
                                                .verb = "list",
                                                .operands = "",
                                                .watchable = true,
                                                .summary = "Lists topics.",
                                                .options = list_options,
                                                .option_count = COUNT_OF(list_options),
                                                .columns = list_columns,
                                                .column_count = COUNT_OF(list_columns),
                                                .run = run_list};

/* ---- describe ---- */

struct topic_description {
    const struct metadata_response_topic *topic;
    struct offsets_view ends;                               /* one for each partition */
    const struct describe_configs_response_result *configs; /* NULL: not told */
};

static int fetch_configs(struct cli *cli, struct client *c, struct topic_description *view)
{
    const struct describe_configs_response_result *configs;
    int rc = configs_fetch(c, CONFIG_OF_TOPIC, view->topic->name, NULL, &cli->arena, &configs);
    if (rc < 0) {
        return rc == MUSTER_E_VERSION ? MUSTER_E_OK : rc;
    }
    view->configs = configs->error_code == 0 ? configs : NULL;
    return MUSTER_E_OK;
}

static int fetch_topic(struct cli *cli, struct client *c, struct topic_description *view)
{
    for (int32_t i = 0; i < view->topic->partitions.len; i++) {
        offsets_view_add(&view->ends, view->topic->name, view->topic->partitions.v[i].partition_index, &cli->arena);
    }
    int rc = fetch_configs(cli, c, view);
    return rc == 0 ? offsets_view_ends(c, &view->ends, &cli->arena) : rc;
}

static json_t *topic_json(struct cli *cli, const struct topic_description *view)
{
    json_t *one = json_object();
    json_t *partitions = json_array();
    json_t *configs = json_object();
    for (int i = 0; i < view->ends.count; i++) {
        const struct offset_view *end = &view->ends.v[i];
        const struct metadata_response_partition *p = client_partition(view->topic, end->partition);
        json_t *row = json_object();
        out_json_set(row, "partition", json_integer(end->partition));
        out_json_set(row, "leader", p->leader_id < 0 ? json_null() : json_integer(p->leader_id));
        out_json_set(row, "leaderEpoch", p->leader_epoch < 0 ? json_null() : json_integer(p->leader_epoch));
        out_json_set(row, "logEndOffset", end->end < 0 ? json_null() : json_integer(end->end));
        out_json_add(partitions, row);
    }
    for (int32_t i = 0; view->configs != NULL && i < view->configs->configs.len; i++) {
        const struct describe_configs_response_resource_result *config = &view->configs->configs.v[i];
        if (config->config_source == SOURCE_TOPIC_CONFIG) {
            out_json_set(configs, arena_printf(&cli->arena, "%.*s", STR_ARG(out_text(config->name, &cli->arena))).ptr,
                         out_json_text(config->value));
        }
    }
    out_json_set(one, "topic", out_json_text(view->topic->name));
    out_json_set(one, "topicId", out_json_text(uuid_str(view->topic->topic_id, &cli->arena)));
    out_json_set(one, "replicationFactor", json_integer(replication_of(view->topic)));
    out_json_set(one, "configs", configs);
    out_json_set(one, "partitions", partitions);
    return one;
}

static struct str configs_text(struct cli *cli, const struct topic_description *view)
{
    struct str text = STR_NULL;
    for (int32_t i = 0; view->configs != NULL && i < view->configs->configs.len; i++) {
        const struct describe_configs_response_resource_result *config = &view->configs->configs.v[i];
        if (config->config_source == SOURCE_TOPIC_CONFIG) {
            text = arena_printf(&cli->arena, "%.*s%s%.*s=%.*s", STR_ARG(text), text.len > 0 ? "," : "", STR_ARG(config->name),
                                STR_ARG(config->value));
        }
    }
    return text;
}

static void print_topic(struct cli *cli, const struct topic_description *view)
{
    static const char *const headers[] = {"TOPIC", "PARTITIONS", "REPLICATION", "TOPIC-ID", "CONFIGS"};
    static const char *const partition_headers[] = {"TOPIC", "PARTITION", "LEADER", "LEADER-EPOCH", "LOG-END-OFFSET"};
    struct table t;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    table_text(&t, view->topic->name);
    table_number(&t, view->topic->partitions.len);
    table_number(&t, replication_of(view->topic));
    table_text(&t, uuid_str(view->topic->topic_id, &cli->arena));
    table_text(&t, configs_text(cli, view));
    table_print(&t, cli->out);
    fputc('\n', cli->out);
    table_init(&t, &cli->arena, partition_headers, COUNT_OF(partition_headers));
    for (int i = 0; i < view->ends.count; i++) {
        const struct metadata_response_partition *p = client_partition(view->topic, view->ends.v[i].partition);
        table_text(&t, view->topic->name);
        table_number(&t, view->ends.v[i].partition);
        table_number_or_dash(&t, p->leader_id);
        table_number_or_dash(&t, p->leader_epoch);
        table_number_or_dash(&t, view->ends.v[i].end);
    }
    table_print(&t, cli->out);
}

static int describe_one(struct cli *cli, struct client *c, const struct metadata_response_topic *topic, json_t *topics)
{
    struct topic_description view = {.topic = topic};
    if (topic->error_code != 0) {
        return cli_fail(cli, CLI_FAILED, "topic %.*s: %s", STR_ARG(out_quoted(topic->name, &cli->arena)),
                        kafka_error_text(topic->error_code, STR_NULL, &cli->arena));
    }
    int rc = fetch_topic(cli, c, &view);
    if (rc < 0) {
        return cli_client_failed(cli, c, rc);
    }
    if (cli->json) {
        out_json_add(topics, topic_json(cli, &view));
        return CLI_OK;
    }
    if (json_array_size(topics) > 0) {
        fputc('\n', cli->out);
    }
    out_json_add(topics, json_null()); /* counts what was printed */
    print_topic(cli, &view);
    return CLI_OK;
}

static int describe_all(struct cli *cli, struct client *c)
{
    int count;
    const struct metadata_response *metadata;
    struct str *names = cli_names(cli, &count);
    int rc = client_metadata(c, names, count > 0 ? count : -1, &cli->arena, &metadata);
    if (rc < 0) {
        return cli_client_failed(cli, c, rc);
    }
    int code = CLI_OK;
    json_t *topics = json_array();
    for (int32_t i = 0; i < metadata->topics.len && code != CLI_UNREACHABLE; i++) {
        if (count > 0 || !metadata->topics.v[i].is_internal) {
            int one = describe_one(cli, c, &metadata->topics.v[i], topics);
            code = one != CLI_OK ? one : code;
        }
    }
    if (cli->json && (json_array_size(topics) > 0 || code == CLI_OK)) {
        json_t *document = json_object();
        out_json_set(document, "topics", json_incref(topics));
        out_json_print(document, cli->out);
    }
    json_decref(topics);
    return code;
}

static int run_describe(struct cli *cli)
{
    struct client c;
    int code = cli_connect(cli, &c);
    if (code == CLI_OK) {
        code = describe_all(cli, &c);
        client_fini(&c);
    }
    return code;
}

static const struct cli_option describe_options[] = {
    OPTION_NAMED_TOPICS,
    {"exclude-internal", NULL, "without the system's own topics, as without it: they are described when they are named"},
};

static const struct cli_column describe_columns[] = {
    {"REPLICATION", "how many nodes the topic says it is on; all nodes know every topic"},
    {"TOPIC-ID", "stays with the topic until it is deleted; one that is made again has another"},
    {"CONFIGS", "those set for the topic ('muster configs')"},
    {"LEADER, LEADER-EPOCH", "the node that clients are sent to for the partition; of a muster cluster the epoch is 0"},
    {"LOG-END-OFFSET",
     "the end of the partition, as clients are told it; of a muster cluster 0 until somebody sets one ('muster topics set-end')"},
};

const struct cli_command command_topics_describe = {.noun = "topics",
                                                    .verb = "describe",
                                                    .operands = "[TOPIC...]",
                                                    .watchable = true,
                                                    .max_operands = -1,
                                                    .named_by = {"topic"},
                                                    .summary =
                                                        "Shows topics: partitions, leaders, end offsets, and the configs set for them.",
                                                    .details = "Of all topics when none is named.",
                                                    .options = describe_options,
                                                    .option_count = COUNT_OF(describe_options),
                                                    .columns = describe_columns,
                                                    .column_count = COUNT_OF(describe_columns),
                                                    .run = run_describe};
