/* streams.c: muster streams ... */
#include "columns.h"
#include "commands.h"
#include "group_view.h"
#include "log_options.h"
#include "out.h"
#include "streams_view.h"
#include "topology_file.h"

#include <string.h>

enum { KAFKA_GROUP_ID_NOT_FOUND = 69 };

static int no_streams_groups(struct cli *cli, struct client *c, int rc)
{
    if (rc == MUSTER_E_VERSION) {
        return cli_fail(cli, CLI_FAILED, "the cluster does not serve this: %s", c->error);
    }
    return cli_client_failed(cli, c, rc);
}

static int refused(struct cli *cli, struct client *c, struct str group, int16_t error, struct str message)
{
    return cli_fail(cli, CLI_FAILED, "group %.*s: %s%s", STR_ARG(out_quoted(group, &cli->arena)),
                    kafka_error_text(error, message, &cli->arena),
                    error == KAFKA_GROUP_ID_NOT_FOUND && strcmp(cli->command->verb, "initialize") != 0 ? group_meant(c, group, &cli->arena)
                                                                                                       : "");
}

/* ---- describe ---- */

static int describe_one(struct describing *d, struct str group)
{
    struct cli *cli = d->cli;
    struct streams_view v;
    int rc = streams_view_fetch(&d->client, group, &cli->arena, &v);
    if (rc < 0) {
        return no_streams_groups(cli, &d->client, rc);
    }
    if (v.error != 0) {
        return refused(cli, &d->client, group, v.error, v.error_message);
    }
    if (cli->json) {
        out_json_add(d->groups, streams_json(&v, NULL));
        return CLI_OK;
    }
    describe_next(d);
    streams_print_summary(cli, &v);
    streams_print_topology(cli, &v);
    streams_print_members(cli, &v);
    streams_print_tasks(cli, &v);
    return CLI_OK;
}

static int run_describe(struct cli *cli)
{
    return describe_each(cli, describe_one);
}

static const struct cli_option describe_options[] = {
    OPTION_NAMED_GROUPS,
    OPTION_AT,
    OPTION_DATA_AT,
    OPTION_NODE,
};

static const struct cli_column describe_columns[] = {
    {"TYPE, STATE", "as in 'muster groups list'; Initializing: the group waits for its topology"},
    {"MEMBER-ID", "of the application's member"},
    {"EPOCH", "of a group: counts the changes of its members and of what they run; of a member: the assignment that it has taken"},
    {"ASSIGNMENT-EPOCH", "the EPOCH that the newest assignment was made for"},
    {"TARGET-EPOCH", "the assignment that a member is on its way to"},
    {"TOPOLOGY-EPOCH", "of a group: counts its topologies; of a member: the one that it runs"},
    {"TOPOLOGY-ID", "the name of the topology, or a hash of it"},
    {"PROCESS-ID, ENDPOINT", "of the application's instance, and where it answers queries (application.server)"},
    {"ACTIVE, STANDBY, WARMUP", "tasks, SUBTOPOLOGY[PARTITION,...]: those that are run, copies that are kept, copies that are being made"},
    {"TASK, ROLE, CHANGE",
     "SUBTOPOLOGY_PARTITION; one that the member has and shall not keep is 'to go', one that it has yet to get is 'to come'"},
    {"CHANGELOG-OFFSET", "how far the member's copy of the task's state is, as it last reported; CHANGELOG-END-OFFSET: how far that goes"},
    {"SUBTOPOLOGY, SOURCES", "a part of the topology, and the topics that it reads; REPARTITION-SOURCES, REPARTITION-SINKS: internal ones "
                             "that it reads and writes"},
    {"CHANGELOGS", "internal topics that hold its state"},
    COLUMNS_GROUP,
};

const struct cli_command command_streams_describe = {.noun = "streams",
                                                     .verb = "describe",
                                                     .operands = "GROUP...",
                                                     .watchable = true,
                                                     .min_operands = 1,
                                                     .max_operands = -1,
                                                     .named_by = {"group"},
                                                     .summary = "Shows streams groups: topology, members, and who has each task.",
                                                     .details = "'muster groups describe' shows what the group has committed.",
                                                     .options = describe_options,
                                                     .option_count = COUNT_OF(describe_options),
                                                     .columns = describe_columns,
                                                     .column_count = COUNT_OF(describe_columns),
                                                     .run = run_describe};

/* ---- topology ---- */

static struct str topic_names(const struct streams_group_topology_response_topic_info_array *topics, struct arena *arena)
{
    struct str_array names = {.v = ARENA_NEW(arena, struct str, topics->len), .len = topics->len};
    for (int32_t i = 0; i < topics->len; i++) {
        names.v[i] = topics->v[i].name;
    }
    return names_text(&names, arena);
}

static void print_topology(struct cli *cli, struct str group, const struct streams_group_topology_response *topology)
{
    static const char *const headers[] = {"GROUP", "STATE", "EPOCH", "TOPOLOGY-EPOCH", "TOPOLOGY-ID"};
    static const char *const rows[] = {"GROUP",     "SUBTOPOLOGY", "SOURCES", "SOURCE-REGEX", "REPARTITION-SOURCES", "REPARTITION-SINKS",
                                       "CHANGELOGS"};
    struct table summary, t;
    table_init(&summary, &cli->arena, headers, COUNT_OF(headers));
    table_text(&summary, group);
    table_text(&summary, topology->group_state);
    table_number(&summary, topology->group_epoch);
    table_number_or_dash(&summary, topology->topology_epoch);
    table_text(&summary, topology->topology_id);
    table_print(&summary, cli->out);
    if (!str_is_empty(topology->problem)) {
        fprintf(cli->out, "\nPROBLEM  %.*s\n", STR_ARG(out_text(topology->problem, &cli->arena)));
    }
    table_init(&t, &cli->arena, rows, COUNT_OF(rows));
    for (int32_t i = 0; i < topology->subtopologies.len; i++) {
        const struct streams_group_topology_response_subtopology *s = &topology->subtopologies.v[i];
        table_text(&t, group);
        table_text(&t, s->subtopology_id);
        table_text(&t, names_text(&s->source_topics, &cli->arena));
        table_text(&t, names_text(&s->source_topic_regex, &cli->arena));
        table_text(&t, topic_names(&s->repartition_source_topics, &cli->arena));
        table_text(&t, names_text(&s->repartition_sink_topics, &cli->arena));
        table_text(&t, topic_names(&s->state_changelog_topics, &cli->arena));
    }
    if (t.cell_count > 0) {
        fputc('\n', cli->out);
        table_print(&t, cli->out);
    }
}

static int run_topology(struct cli *cli)
{
    struct client c;
    struct str group = str_of(cli->operands[0]);
    const struct streams_group_topology_response *topology;
    int code = cli_connect(cli, &c);
    if (code != CLI_OK) {
        return code;
    }
    int rc = streams_topology_fetch(&c, group, &cli->arena, &topology);
    if (rc < 0) {
        code = no_streams_groups(cli, &c, rc);
    } else if (topology->error_code != 0) {
        code = refused(cli, &c, group, topology->error_code, topology->error_message);
    } else if (cli->json) {
        out_json_print(topology_json(group, topology), cli->out);
    } else {
        print_topology(cli, group, topology);
    }
    client_fini(&c);
    return code;
}

static const struct cli_option topology_options[] = {OPTION_NAMED_GROUP};

static const struct cli_column topology_columns[] = {
    {"STATE, EPOCH", "of the group, as in 'muster streams describe'"},
    {"TOPOLOGY-EPOCH", "counts the group's topologies"},
    {"TOPOLOGY-ID", "the name of the topology, or a hash of it"},
    {"SOURCES, SOURCE-REGEX", "topics that a subtopology reads, and the pattern of the names of others"},
    {"REPARTITION-SOURCES", "internal topics that it reads; REPARTITION-SINKS: that it writes"},
    {"CHANGELOGS", "internal topics that hold its state"},
};

const struct cli_command command_streams_topology = {
    .noun = "streams",
    .verb = "topology",
    .operands = "GROUP",
    .watchable = true,
    .min_operands = 1,
    .max_operands = 1,
    .named_by = {"group"},
    .summary = "Shows the topology of a streams group as it is stored, and why it cannot run.",
    .details =
        "A group that waits for its topology is in the state Initializing. What --json prints is what 'muster streams initialize' takes.",
    .options = topology_options,
    .option_count = COUNT_OF(topology_options),
    .columns = topology_columns,
    .column_count = COUNT_OF(topology_columns),
    .run = run_topology};

/* ---- initialize ---- */

static int16_t initialize_error(const void *answer)
{
    return ((const struct streams_group_initialize_response *)answer)->error_code;
}

static int compose(struct cli *cli, struct streams_group_initialize_request *request)
{
    int64_t epoch;
    const char *file = cli_text(cli, "topology"), *id = cli_text(cli, "topology-id");
    wire_init(&wire_streams_group_initialize_request, request);
    request->group_id = str_of(cli->operands[0]);
    if (file == NULL) {
        return cli_fail(cli, CLI_USAGE, "--topology is missing: the file that says what the group's topology is");
    }
    if (!cli_number(cli, "epoch", 0, INT32_MAX, -1, &epoch)) {
        return CLI_USAGE;
    }
    int code = topology_read(cli, file, request);
    request->topology_epoch = (int32_t)epoch;
    if (id != NULL) {
        request->topology_id = str_of(id);
    }
    return code;
}

static void print_initialized(struct cli *cli, struct str group, int16_t error)
{
    if (cli->json) {
        json_t *document = json_object();
        out_json_set(document, "group", out_json_text(group));
        out_json_set(document, "initialized", json_boolean(error == 0));
        out_json_set(document, "error", error == 0 ? json_null() : out_json_text(str_of(kafka_error_name(error, &cli->arena))));
        out_json_print(document, cli->out);
        return;
    }
    static const char *const headers[] = {"GROUP", "RESULT"};
    struct table t;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    table_text(&t, group);
    table_text(&t, error == 0 ? STR("initialized") : str_of(kafka_error_name(error, &cli->arena)));
    table_print(&t, cli->out);
}

static int run_initialize(struct cli *cli)
{
    struct client c;
    struct streams_group_initialize_request request;
    const void *answer;
    int code = compose(cli, &request);
    code = code == CLI_OK ? cli_connect(cli, &c) : code;
    if (code != CLI_OK) {
        return code;
    }
    struct client_call call = {.key = API_KEY_STREAMS_GROUP_INITIALIZE, .max_version = -1, .request = &request, .changes = true};
    int rc = client_group_call(&c, request.group_id, &call, initialize_error, &cli->arena, &answer);
    if (rc < 0) {
        code = no_streams_groups(cli, &c, rc);
    } else {
        const struct streams_group_initialize_response *response = answer;
        print_initialized(cli, request.group_id, response->error_code);
        if (response->error_code != 0) {
            code = refused(cli, &c, request.group_id, response->error_code, response->error_message);
        }
    }
    client_fini(&c);
    return code;
}

static const struct cli_option initialize_options[] = {
    OPTION_NAMED_GROUP,
    {"topology", "FILE", "the topology, as 'muster streams topology --json' prints one; '-' reads standard input"},
    {"topology-id", "ID", "its name: the same name always stands for the same topology (default: the file's, else a hash)"},
    {"epoch", "N", "its epoch (default: the one behind the epoch that the group has)"},
};

const struct cli_command command_streams_initialize = {
    .noun = "streams",
    .verb = "initialize",
    .operands = "GROUP",
    .min_operands = 1,
    .max_operands = 1,
    .named_by = {"group"},
    .summary = "Gives a streams group its topology; makes the group when there is none.",
    .details =
        "Every source topic has to exist, or a regular expression to match one. Missing internal topics are made first; when that fails, "
        "nothing\n"
        "is changed. An empty classic group becomes a streams group and keeps its offsets. What the file says besides 'topologyId' and\n"
        "'subtopologies' is not read.",
    .options = initialize_options,
    .option_count = COUNT_OF(initialize_options),
    .run = run_initialize};
