/* groups.c: muster groups ... */
#include "commands.h"
#include "group_view.h"
#include "out.h"
#include "streams_view.h"

#include <inttypes.h>
#include <string.h>

enum { GROUP_ID_NOT_FOUND = 69 };

/* ---- list ---- */

static void print_list_json(struct cli *cli, const struct listed_groups *groups)
{
    json_t *document = json_object();
    json_t *array = json_array();
    for (int i = 0; i < groups->count; i++) {
        const struct listed_group *g = &groups->v[i];
        json_t *one = json_object();
        out_json_set(one, "group", out_json_text(g->group_id));
        out_json_set(one, "type", out_json_text(g->type));
        out_json_set(one, "protocolType", out_json_text(g->protocol_type));
        out_json_set(one, "state", out_json_text(g->state));
        out_json_set(one, "coordinator", json_integer(g->coordinator_id));
        out_json_add(array, one);
    }
    out_json_set(document, "groups", array);
    out_json_print(document, cli->out);
}

static void print_list(struct cli *cli, const struct listed_groups *groups)
{
    static const char *const headers[] = {"GROUP", "TYPE", "PROTOCOL", "STATE", "COORDINATOR"};
    struct table t;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    for (int i = 0; i < groups->count; i++) {
        table_text(&t, groups->v[i].group_id);
        table_text(&t, groups->v[i].type);
        table_text(&t, str_is_empty(groups->v[i].protocol_type) ? STR_NULL : groups->v[i].protocol_type);
        table_text(&t, groups->v[i].state);
        table_number(&t, groups->v[i].coordinator_id);
    }
    table_print(&t, cli->out);
}

static int run_list(struct cli *cli)
{
    struct client c;
    struct listed_groups groups;
    int code = cli_connect(cli, &c);
    if (code != CLI_OK) {
        return code;
    }
    int rc = group_list_fetch(cli, &c, str_of(cli_text(cli, "state")), str_of(cli_text(cli, "type")), &groups);
    if (rc < 0) {
        code = cli_client_failed(cli, &c, rc);
    } else if (cli->json) {
        print_list_json(cli, &groups);
    } else {
        print_list(cli, &groups);
    }
    client_fini(&c);
    return code;
}

static const struct cli_option list_options[] = {
    {"state", "STATE", "only groups in that state, as Kafka writes it: Stable, Empty, PreparingRebalance, ..."},
    {"type", "TYPE", "only groups of that type: classic, consumer, streams, ..."},
};

const struct cli_command command_groups_list = {
    .noun = "groups",
    .verb = "list",
    .operands = "",
    .summary = "Lists the groups of the cluster.",
    .options = list_options,
    .details = "Every node is asked for the groups it coordinates. A node that does not answer is named on standard error.",
    .option_count = COUNT_OF(list_options),
    .run = run_list};

/* ---- describe ---- */

static struct str topics_text(const struct str_array *topics, struct arena *arena)
{
    struct str text = STR("");
    for (int32_t i = 0; i < topics->len; i++) {
        text = arena_printf(arena, "%.*s%s%.*s", STR_ARG(text), i > 0 ? "," : "", STR_ARG(topics->v[i]));
    }
    return topics->len > 0 ? text : STR_NULL;
}

static json_t *member_json(const struct group_view *g, const struct member_view *m, struct arena *arena)
{
    json_t *one = json_object();
    out_json_set(one, "memberId", out_json_text(m->member_id));
    out_json_set(one, "groupInstanceId", out_json_text(m->instance_id));
    out_json_set(one, "clientId", out_json_text(m->client_id));
    out_json_set(one, "host", out_json_text(m->host));
    if (m->epoch >= 0) {
        out_json_set(one, "memberEpoch", json_integer(m->epoch));
    }
    if (m->subscription.len >= 0 && str_eq(g->protocol_type, STR("consumer"))) {
        out_json_set(one, "subscription", consumer_subscription_json(m->subscription, arena));
    } else if (m->subscription.len >= 0) {
        json_t *opaque = json_object();
        out_json_set(opaque, "bytes", json_integer(m->subscription.len));
        out_json_set(one, "subscription", opaque);
    } else if (m->topics.len >= 0) {
        json_t *topics = json_array();
        for (int32_t i = 0; i < m->topics.len; i++) {
            out_json_add(topics, out_json_text(m->topics.v[i]));
        }
        out_json_set(one, "topics", topics);
    }
    if (m->assignment_known) {
        out_json_set(one, "assignment", topic_partitions_json(&m->assignment));
    } else {
        out_json_set(one, "assignmentBytes", json_integer(m->assignment_bytes.len > 0 ? m->assignment_bytes.len : 0));
    }
    return one;
}

/* The member that a partition is assigned to; NULL: none. */
static const struct member_view *owner_of(const struct group_view *g, struct str topic, int32_t partition)
{
    for (int i = 0; i < g->member_count; i++) {
        for (int32_t k = 0; k < g->members[i].assignment.len; k++) {
            const struct topic_partitions *t = &g->members[i].assignment.v[k];
            for (int32_t p = 0; str_eq(t->topic, topic) && p < t->partitions.len; p++) {
                if (t->partitions.v[p] == partition) {
                    return &g->members[i];
                }
            }
        }
    }
    return NULL;
}

static json_t *group_json(const struct group_view *g, const struct offsets_view *offsets, struct arena *arena)
{
    json_t *one = json_object();
    json_t *coordinator = json_object();
    json_t *members = json_array();
    out_json_set(coordinator, "id", json_integer(g->coordinator_id));
    out_json_set(coordinator, "host", out_json_text(str_of(g->coordinator_host)));
    out_json_set(coordinator, "port", json_integer(g->coordinator_port));
    for (int i = 0; i < g->member_count; i++) {
        out_json_add(members, member_json(g, &g->members[i], arena));
    }
    out_json_set(one, "group", out_json_text(g->group_id));
    out_json_set(one, "type", out_json_text(g->type));
    out_json_set(one, "state", out_json_text(g->state));
    out_json_set(one, "protocolType", out_json_text(g->protocol_type));
    out_json_set(one, "protocol", out_json_text(g->protocol));
    if (g->epoch >= 0) {
        out_json_set(one, "epoch", json_integer(g->epoch));
    }
    out_json_set(one, "coordinator", coordinator);
    out_json_set(one, "members", members);
    out_json_set(one, "offsets", offsets_json(offsets));
    return one;
}

static void print_summary(struct cli *cli, const struct group_view *g)
{
    static const char *const headers[] = {"GROUP", "TYPE", "STATE", "PROTOCOL", "STRATEGY", "#MEMBERS", "COORDINATOR"};
    struct table t;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    table_text(&t, g->group_id);
    table_text(&t, g->type);
    table_text(&t, g->state);
    table_text(&t, str_is_empty(g->protocol_type) ? STR_NULL : g->protocol_type);
    table_text(&t, str_is_empty(g->protocol) ? STR_NULL : g->protocol);
    table_number(&t, g->member_count);
    table_text(&t, g->coordinator_id < 0
                       ? STR_NULL
                       : arena_printf(&cli->arena, "%d (%s:%d)", g->coordinator_id, g->coordinator_host, g->coordinator_port));
    table_print(&t, cli->out);
}

static void print_members(struct cli *cli, const struct group_view *g)
{
    static const char *const headers[] = {"GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "TOPICS", "ASSIGNMENT"};
    struct table t;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    for (int i = 0; i < g->member_count; i++) {
        const struct member_view *m = &g->members[i];
        table_text(&t, g->group_id);
        table_text(&t, m->member_id);
        table_text(&t, m->instance_id);
        table_text(&t, m->host);
        table_text(&t, m->client_id);
        table_text(&t, topics_text(&m->topics, &cli->arena));
        table_text(&t, m->assignment_known
                           ? topic_partitions_text(&m->assignment, &cli->arena)
                           : arena_printf(&cli->arena, "%d bytes", m->assignment_bytes.len > 0 ? m->assignment_bytes.len : 0));
    }
    fputc('\n', cli->out);
    table_print(&t, cli->out);
}

static void add_offset_row(struct table *t, const struct group_view *g, const struct offset_view *o, const struct member_view *owner)
{
    table_text(t, g->group_id);
    table_text(t, o != NULL ? o->topic : STR_NULL);
    table_number_or_dash(t, o != NULL ? o->partition : -1);
    table_number_or_dash(t, o != NULL ? o->committed : -1);
    table_number_or_dash(t, o != NULL ? o->end : -1);
    table_number_or_dash(t, o != NULL ? offset_lag(o) : -1);
    table_text(t, owner != NULL ? owner->member_id : STR_NULL);
    table_text(t, owner != NULL ? owner->host : STR_NULL);
    table_text(t, owner != NULL ? owner->client_id : STR_NULL);
}

/* Partitions that are committed or assigned, then the members that have none. */
static void print_offsets(struct cli *cli, const struct group_view *g, const struct offsets_view *offsets)
{
    static const char *const headers[] = {"GROUP", "TOPIC",       "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET",
                                          "LAG",   "CONSUMER-ID", "HOST",      "CLIENT-ID"};
    struct table t;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    for (int i = 0; i < offsets->count; i++) {
        add_offset_row(&t, g, &offsets->v[i], owner_of(g, offsets->v[i].topic, offsets->v[i].partition));
    }
    for (int i = 0; i < g->member_count; i++) {
        if (g->members[i].assignment.len == 0) {
            add_offset_row(&t, g, NULL, &g->members[i]);
        }
    }
    if (t.cell_count > 0) {
        fputc('\n', cli->out);
        table_print(&t, cli->out);
    }
}

static void say_offsets_error(struct cli *cli, struct str group, int16_t error)
{
    if (error != 0) {
        cli_say(cli, "the offsets of group %.*s: %s", STR_ARG(out_quoted(group, &cli->arena)),
                kafka_error_text(error, STR_NULL, &cli->arena));
    }
}

static int fetch_group(struct client *c, struct str group, struct arena *arena, struct group_view *g, struct offsets_view *offsets)
{
    int rc = group_view_fetch(c, group, arena, g);
    if (rc < 0 || g->error != 0) {
        return rc;
    }
    rc = offsets_view_fetch(c, group, arena, offsets);
    for (int i = 0; rc == 0 && i < g->member_count; i++) {
        for (int32_t k = 0; k < g->members[i].assignment.len; k++) {
            const struct topic_partitions *t = &g->members[i].assignment.v[k];
            for (int32_t p = 0; p < t->partitions.len; p++) {
                offsets_view_add(offsets, t->topic, t->partitions.v[p], arena);
            }
        }
    }
    return rc == 0 ? offsets_view_ends(c, offsets, arena) : rc;
}

static int fetch_streams_group(struct client *c, struct str group, struct arena *arena, struct streams_view *v,
                               struct offsets_view *offsets)
{
    int rc = streams_view_fetch(c, group, arena, v);
    if (rc < 0 || v->error != 0) {
        return rc;
    }
    rc = offsets_view_fetch(c, group, arena, offsets);
    streams_view_partitions(v, offsets, arena);
    return rc == 0 ? offsets_view_ends(c, offsets, arena) : rc;
}

/* A group of the streams protocol; false when it is none. */
static bool describe_streams(struct cli *cli, struct client *c, struct str group, bool *first, json_t *groups, int *ret_code)
{
    struct streams_view v;
    struct offsets_view offsets = {0};
    int rc = fetch_streams_group(c, group, &cli->arena, &v, &offsets);
    if (rc == MUSTER_E_VERSION || (rc == 0 && v.error != 0)) {
        return false;
    }
    if (rc < 0) {
        *ret_code = cli_client_failed(cli, c, rc);
        return true;
    }
    say_offsets_error(cli, group, offsets.error);
    *ret_code = CLI_OK;
    if (cli->json) {
        out_json_add(groups, streams_json(&v, &offsets));
        return true;
    }
    if (!*first) {
        fputc('\n', cli->out);
    }
    *first = false;
    streams_print_summary(cli, &v);
    if (cli_flag(cli, "members")) {
        streams_print_members(cli, &v);
    } else {
        streams_print_offsets(cli, &v, &offsets);
    }
    return true;
}

static int describe_one(struct cli *cli, struct client *c, struct str group, bool *first, json_t *groups)
{
    struct group_view g;
    struct offsets_view offsets = {0};
    int rc = fetch_group(c, group, &cli->arena, &g, &offsets);
    if (rc < 0) {
        return cli_client_failed(cli, c, rc);
    }
    int code = CLI_OK;
    if (g.error == GROUP_ID_NOT_FOUND && describe_streams(cli, c, group, first, groups, &code)) {
        return code;
    }
    if (g.error != 0) {
        return cli_fail(cli, CLI_FAILED, "group %.*s: %s", STR_ARG(out_quoted(group, &cli->arena)),
                        kafka_error_text(g.error, g.error_message, &cli->arena));
    }
    say_offsets_error(cli, group, offsets.error);
    if (cli->json) {
        out_json_add(groups, group_json(&g, &offsets, &cli->arena));
        return CLI_OK;
    }
    if (!*first) {
        fputc('\n', cli->out);
    }
    *first = false;
    print_summary(cli, &g);
    if (cli_flag(cli, "members")) {
        print_members(cli, &g);
    } else {
        print_offsets(cli, &g, &offsets);
    }
    return CLI_OK;
}

static int run_describe(struct cli *cli)
{
    struct client c;
    bool first = true;
    int code = cli_connect(cli, &c);
    if (code != CLI_OK) {
        return code;
    }
    json_t *groups = json_array();
    for (int i = 0; i < cli->operand_count && code != CLI_UNREACHABLE; i++) {
        int one = describe_one(cli, &c, str_of(cli->operands[i]), &first, groups);
        code = one != CLI_OK ? one : code;
    }
    if (cli->json && json_array_size(groups) > 0) {
        json_t *document = json_object();
        out_json_set(document, "groups", json_incref(groups));
        out_json_print(document, cli->out);
    }
    json_decref(groups);
    client_fini(&c);
    return code;
}

static const struct cli_option describe_options[] = {
    {"members", NULL, "the members with their subscriptions instead of the partitions"},
};

const struct cli_command command_groups_describe = {
    .noun = "groups",
    .verb = "describe",
    .operands = "GROUP...",
    .min_operands = 1,
    .max_operands = -1,
    .summary = "Shows groups: state, members, what each partition's offset is and who has it.",
    .details = "LAG is the distance from the committed offset to the end of the partition; '-' stands where there is nothing to say.\n"
               "With --json one document holds everything. 'muster streams describe' shows the topology and the tasks of streams groups.",
    .options = describe_options,
    .option_count = COUNT_OF(describe_options),
    .run = run_describe};

/* ---- coordinator ---- */

static int run_coordinator(struct cli *cli)
{
    struct client c;
    struct client_node *node = NULL;
    int16_t error = 0;
    int code = cli_connect(cli, &c);
    if (code != CLI_OK) {
        return code;
    }
    int rc = client_coordinator(&c, str_of(cli->operands[0]), &cli->arena, &node, &error);
    if (rc < 0) {
        code = cli_client_failed(cli, &c, rc);
    } else if (error != 0) {
        code = cli_fail(cli, CLI_FAILED, "group '%s': %s", cli->operands[0], kafka_error_text(error, STR_NULL, &cli->arena));
    } else if (cli->json) {
        json_t *document = json_object();
        json_t *coordinator = json_object();
        out_json_set(coordinator, "id", json_integer(node->id));
        out_json_set(coordinator, "host", out_json_text(str_of(node->host)));
        out_json_set(coordinator, "port", json_integer(node->port));
        out_json_set(document, "group", out_json_text(str_of(cli->operands[0])));
        out_json_set(document, "coordinator", coordinator);
        out_json_print(document, cli->out);
    } else {
        fprintf(cli->out, "%" PRId32 "\n", node->id);
    }
    client_fini(&c);
    return code;
}

const struct cli_command command_groups_coordinator = {.noun = "groups",
                                                       .verb = "coordinator",
                                                       .operands = "GROUP",
                                                       .min_operands = 1,
                                                       .max_operands = 1,
                                                       .summary = "Prints the id of the node that coordinates the group.",
                                                       .details = "Every group id has a coordinator, whether the group exists or not.",
                                                       .run = run_coordinator};

/* ---- delete ---- */

static int16_t delete_error(const void *answer)
{
    const struct delete_groups_response *response = answer;
    return response->results.len == 1 ? response->results.v[0].error_code : 0;
}

static int delete_one(struct cli *cli, struct client *c, struct str group, struct table *t, json_t *results)
{
    struct delete_groups_request request;
    const void *answer;
    wire_init(&wire_delete_groups_request, &request);
    request.groups_names.v = &group;
    request.groups_names.len = 1;
    struct client_call call = {.key = API_KEY_DELETE_GROUPS, .max_version = -1, .request = &request, .changes = true};
    int rc = client_group_call(c, group, &call, delete_error, &cli->arena, &answer);
    if (rc < 0) {
        return cli_client_failed(cli, c, rc);
    }
    const struct delete_groups_response *response = answer;
    int16_t error = response->results.len == 1 ? response->results.v[0].error_code : -1;
    struct str message = response->results.len == 1 ? response->results.v[0].error_message : STR_NULL;
    table_text(t, group);
    table_text(t, error == 0 ? STR("deleted") : str_of(kafka_error_name(error, &cli->arena)));
    json_t *one = json_object();
    out_json_set(one, "group", out_json_text(group));
    out_json_set(one, "deleted", json_boolean(error == 0));
    out_json_set(one, "error", error == 0 ? json_null() : out_json_text(str_of(kafka_error_name(error, &cli->arena))));
    out_json_add(results, one);
    if (error != 0) {
        return cli_fail(cli, CLI_FAILED, "group %.*s: %s", STR_ARG(out_quoted(group, &cli->arena)),
                        kafka_error_text(error, message, &cli->arena));
    }
    return CLI_OK;
}

static int run_delete(struct cli *cli)
{
    static const char *const headers[] = {"GROUP", "RESULT"};
    struct client c;
    struct table t;
    int code = cli_connect(cli, &c);
    if (code != CLI_OK) {
        return code;
    }
    json_t *results = json_array();
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    for (int i = 0; i < cli->operand_count && code != CLI_UNREACHABLE; i++) {
        int one = delete_one(cli, &c, str_of(cli->operands[i]), &t, results);
        code = one != CLI_OK ? one : code;
    }
    if (cli->json) {
        json_t *document = json_object();
        out_json_set(document, "groups", json_incref(results));
        out_json_print(document, cli->out);
    } else if (t.cell_count > 0) {
        table_print(&t, cli->out);
    }
    json_decref(results);
    client_fini(&c);
    return code;
}

const struct cli_command command_groups_delete = {
    .noun = "groups",
    .verb = "delete",
    .operands = "GROUP...",
    .min_operands = 1,
    .max_operands = -1,
    .summary = "Deletes groups without members, with their offsets.",
    .details = "A group that has members is refused: stop its members first. Exit code 1 when any of the groups could not be deleted.",
    .run = run_delete};
