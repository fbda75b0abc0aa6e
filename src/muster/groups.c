/* groups.c: muster groups ... */
#include "columns.h"
#include "commands.h"
#include "group_view.h"
#include "log_options.h"
#include "log_past.h"
#include "out.h"
#include "streams_view.h"

#include <inttypes.h>
#include <string.h>

enum { GROUP_ID_NOT_FOUND = 69 };

/* ---- list ---- */

static void print_list_json(struct cli *cli, const struct client *c, const struct listed_groups *groups)
{
    json_t *document = json_object();
    log_past_add(c, document);
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
        table_number_or_dash(&t, groups->v[i].coordinator_id);
    }
    table_print(&t, cli->out);
}

static int run_list(struct cli *cli)
{
    struct client c;
    struct listed_groups groups;
    struct list_filter filter;
    int code = list_filter_take(cli, &filter);
    code = code == CLI_OK ? cli_connect(cli, &c) : code;
    if (code != CLI_OK) {
        return code;
    }
    int rc = group_list_fetch(cli, &c, &filter, &groups);
    rc = rc == 0 && cli_flag(cli, "protected") ? protected_keep(&c, &groups, &cli->arena) : rc;
    if (rc < 0) {
        code = cli_client_failed(cli, &c, rc);
    } else if (cli->json) {
        print_list_json(cli, &c, &groups);
    } else {
        print_list(cli, &groups);
    }
    client_fini(&c);
    return code;
}

static const struct cli_option list_options[] = {
    {"state", "[STATE,...]",
     "only groups in these states: PreparingRebalance, CompletingRebalance, Stable, Empty, Assigning, Reconciling, NotReady, Dead; "
     "without a value all"},
    {"type", "[TYPE,...]", "only groups of these types: classic, consumer, streams, share; without a value all"},
    {"protected", NULL, "only groups that are protected ('muster groups protect')"},
    OPTION_AT,
    OPTION_DATA_AT,
    OPTION_NODE,
};

static const struct cli_column list_columns[] = {
    {"TYPE", "the protocol of the group: classic (JoinGroup), consumer (KIP-848), streams (KIP-1071)"},
    {"PROTOCOL", "what the members are: consumer, connect, ...; '-' where only offsets were committed"},
    {"STATE",
     "Stable: every member has what it is to have; Empty: there are no members; else a rebalance is under way, or topics are missing"},
    {"COORDINATOR", "the node that serves the group"},
};

const struct cli_command command_groups_list = {
    .noun = "groups",
    .verb = "list",
    .operands = "",
    .watchable = true,
    .summary = "Lists the groups of the cluster.",
    .options = list_options,
    .details =
        "Every node is asked for the groups it coordinates. A node that does not answer is named on standard error. A group that is\n"
        "protected and not there yet is not among those of --protected: 'muster configs list groups GROUP' tells of it.",
    .option_count = COUNT_OF(list_options),
    .columns = list_columns,
    .column_count = COUNT_OF(list_columns),
    .run = run_list};

/* ---- describe ---- */

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
    rc = protection_fetch(c, group, arena, &g->protection);
    rc = rc == 0 ? offsets_view_fetch(c, group, arena, offsets) : rc;
    for (int i = 0; rc == 0 && i < g->member_count; i++) {
        for (int32_t k = 0; k < g->members[i].assignment.len; k++) {
            const struct topic_partitions *t = &g->members[i].assignment.v[k];
            for (int32_t p = 0; p < t->partitions.len; p++) {
                offsets_view_add(offsets, t->topic, t->partitions.v[p], arena);
            }
        }
    }
    return rc == 0 ? offsets_view_known_ends(c, offsets, arena) : rc;
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
    return rc == 0 ? offsets_view_known_ends(c, offsets, arena) : rc;
}

/* A group of the streams protocol; false when it is none. */
static bool describe_streams(struct describing *d, struct str group, int *ret_code)
{
    struct cli *cli = d->cli;
    struct streams_view v;
    struct offsets_view offsets = {0};
    int rc = fetch_streams_group(&d->client, group, &cli->arena, &v, &offsets);
    if (rc == MUSTER_E_VERSION || (rc == 0 && v.error != 0)) {
        return false;
    }
    if (rc < 0) {
        *ret_code = cli_client_failed(cli, &d->client, rc);
        return true;
    }
    say_offsets_error(cli, group, offsets.error);
    *ret_code = CLI_OK;
    if (cli->json) {
        out_json_add(d->groups, streams_json(&v, &offsets));
        return true;
    }
    describe_next(d);
    streams_print_summary(cli, &v);
    if (cli_flag(cli, "members")) {
        streams_print_members(cli, &v);
    } else if (!cli_flag(cli, "state")) {
        streams_print_offsets(cli, &v, &offsets);
    }
    return true;
}

static int describe_one(struct describing *d, struct str group)
{
    struct cli *cli = d->cli;
    struct group_view g;
    struct offsets_view offsets = {0};
    int rc = fetch_group(&d->client, group, &cli->arena, &g, &offsets);
    if (rc < 0) {
        return cli_client_failed(cli, &d->client, rc);
    }
    int code = CLI_OK;
    if (g.error == GROUP_ID_NOT_FOUND && describe_streams(d, group, &code)) {
        return code;
    }
    if (g.error == GROUP_ID_NOT_FOUND && cli_flag(cli, "at")) {
        return cli_fail(cli, CLI_FAILED, "group %.*s: there was no such group then ('muster log dump --disk --group' shows from when on)",
                        STR_ARG(out_quoted(group, &cli->arena)));
    }
    if (g.error != 0) {
        return cli_fail(cli, CLI_FAILED, "group %.*s: %s%s", STR_ARG(out_quoted(group, &cli->arena)),
                        kafka_error_text(g.error, g.error_message, &cli->arena),
                        g.error == GROUP_ID_NOT_FOUND ? group_meant(&d->client, group, &cli->arena) : "");
    }
    say_offsets_error(cli, group, offsets.error);
    if (cli->json) {
        out_json_add(d->groups, group_json(&g, &offsets, &cli->arena));
        return CLI_OK;
    }
    describe_next(d);
    group_print_summary(cli, &g);
    if (cli_flag(cli, "members")) {
        group_print_members(cli, &g);
    } else if (!cli_flag(cli, "state")) {
        group_print_offsets(cli, &g, &offsets);
    }
    return CLI_OK;
}

void describe_next(struct describing *d)
{
    if (d->printed) {
        fputc('\n', d->cli->out);
    }
    d->printed = true;
}

int describe_each(struct cli *cli, int (*one)(struct describing *d, struct str group))
{
    struct describing d = {.cli = cli};
    struct str *names;
    int count = 0;
    int code = cli_connect(cli, &d.client);
    if (code != CLI_OK) {
        return code;
    }
    d.groups = json_array();
    int rc = groups_named(cli, &d.client, &names, &count);
    code = rc < 0 ? cli_client_failed(cli, &d.client, rc) : CLI_OK;
    for (int i = 0; rc == 0 && i < count && code != CLI_UNREACHABLE; i++) {
        int result = one(&d, names[i]);
        code = result != CLI_OK ? result : code;
    }
    if (cli->json && (json_array_size(d.groups) > 0 || (rc == 0 && count == 0))) {
        json_t *document = json_object();
        log_past_add(&d.client, document);
        out_json_set(document, "groups", json_incref(d.groups));
        out_json_print(document, cli->out);
    }
    json_decref(d.groups);
    client_fini(&d.client);
    return code;
}

static int run_describe(struct cli *cli)
{
    return describe_each(cli, describe_one);
}

static const struct cli_option describe_options[] = {
    OPTION_NAMED_GROUPS,
    OPTION_ALL_GROUPS,
    {"members", NULL, "the members with their subscriptions, and what each has and is to have, instead of the partitions"},
    {"state", NULL, "the group alone, without partitions and members"},
    {"offsets", NULL, "the partitions, as without it"},
    {"verbose", NULL, "the leader epochs of committed offsets as well; of members and state everything is shown always"},
    OPTION_AT,
    OPTION_DATA_AT,
    OPTION_NODE,
};

static const struct cli_column describe_columns[] = {
    {"TYPE, STATE, PROTOCOL",
     "as in 'muster groups list'; of a member of a consumer group PROTOCOL is what it speaks: classic ones may be in it, too"},
    {"STRATEGY, ASSIGNOR", "how the partitions are dealt out"},
    {"EPOCH", "of a group: counts the changes of its members and of what they read; of a member: the assignment that it has taken"},
    {"ASSIGNMENT-EPOCH", "the EPOCH that the newest assignment was made for; what is ahead of it has yet to be assigned"},
    {"TARGET-EPOCH, TARGET", "the assignment that a member is on its way to; it has all of it when EPOCH and ASSIGNMENT are the same"},
    {"TOPICS, TOPIC-REGEX", "what the member subscribes to"},
    COLUMN_CONSUMER_ID,
    COLUMNS_GROUP,
    COLUMN_EPOCHS,
};

const struct cli_command command_groups_describe = {
    .noun = "groups",
    .verb = "describe",
    .operands = "GROUP...",
    .watchable = true,
    .min_operands = 1,
    .max_operands = -1,
    .named_by = {"group"},
    .summary = "Shows groups of any type: state, members, what each partition's offset is and who has it.",
    .details =
        "Where there is nothing to say stands '-'. A group that is protected ('muster groups protect') is said to be. 'muster groups why' "
        "says\n"
        "why it rebalanced last. With --json one document holds everything. 'muster streams describe' shows the topology and the tasks of\n"
        "streams groups.\n"
        "    muster groups describe my-group                          # where it is and how far behind\n"
        "    muster groups describe my-group --members                # who is in it\n"
        "    muster groups describe my-group --at '10m ago'           # as it was then",
    .options = describe_options,
    .option_count = COUNT_OF(describe_options),
    .columns = describe_columns,
    .column_count = COUNT_OF(describe_columns),
    .run = run_describe};

/* ---- coordinator ---- */

static void print_coordinator(struct cli *cli, const struct coordinator_view *v)
{
    static const char *const headers[] = {"NODE", "ADDRESS", "SHARD"};
    struct table t;
    if (cli->json) {
        json_t *document = json_object();
        out_json_set(document, "group", out_json_text(str_of(cli->operands[0])));
        out_json_set(document, "coordinator", coordinator_json(v));
        out_json_set(document, "shard", group_shard_json(v));
        out_json_print(document, cli->out);
        return;
    }
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    table_number(&t, v->id);
    table_text(&t, arena_printf(&cli->arena, "%s:%" PRId32, v->host, v->port));
    table_number_or_dash(&t, v->shard);
    table_print(&t, cli->out);
}

static int run_coordinator(struct cli *cli)
{
    struct client c;
    struct coordinator_view v;
    int16_t error = 0;
    int code = cli_connect(cli, &c);
    if (code != CLI_OK) {
        return code;
    }
    int rc = coordinator_view_fetch(&c, str_of(cli->operands[0]), &cli->arena, &v, &error);
    if (rc < 0) {
        code = cli_client_failed(cli, &c, rc);
    } else if (error != 0) {
        code = cli_fail(cli, CLI_FAILED, "group '%s': %s", cli->operands[0], kafka_error_text(error, STR_NULL, &cli->arena));
    } else {
        print_coordinator(cli, &v);
    }
    client_fini(&c);
    return code;
}

static const struct cli_option coordinator_options[] = {OPTION_NAMED_GROUP};

const struct cli_command command_groups_coordinator = {.noun = "groups",
                                                       .verb = "coordinator",
                                                       .operands = "GROUP",
                                                       .watchable = true,
                                                       .min_operands = 1,
                                                       .max_operands = 1,
                                                       .named_by = {"group"},
                                                       .summary = "Shows the node that coordinates the group, and the group's shard.",
                                                       .details =
                                                           "Every group id has a coordinator, whether the group exists or not: the node "
                                                           "that leads the shard which the id belongs to.\n"
                                                           "'muster cluster transfer --group GROUP' hands it to another node, with the "
                                                           "other groups of the shard.",
                                                       .options = coordinator_options,
                                                       .option_count = COUNT_OF(coordinator_options),
                                                       .run = run_coordinator};
