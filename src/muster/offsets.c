/* offsets.c: muster offsets ... */
#include "columns.h"
#include "commands.h"
#include "group_view.h"
#include "log_options.h"
#include "log_past.h"
#include "out.h"

int64_t offset_lag(const struct offset_view *o)
{
    if (o->committed < 0 || o->end < 0) {
        return -1;
    }
    return o->end > o->committed ? o->end - o->committed : 0;
}

static json_t *number_or_null(int64_t number)
{
    return number < 0 ? json_null() : json_integer(number);
}

json_t *offsets_json(const struct offsets_view *offsets)
{
    json_t *array = json_array();
    for (int i = 0; i < offsets->count; i++) {
        const struct offset_view *o = &offsets->v[i];
        json_t *one = json_object();
        out_json_set(one, "topic", out_json_text(o->topic));
        out_json_set(one, "partition", json_integer(o->partition));
        out_json_set(one, "currentOffset", number_or_null(o->committed));
        out_json_set(one, "leaderEpoch", number_or_null(o->leader_epoch));
        out_json_set(one, "metadata", out_json_text(o->metadata));
        out_json_set(one, "logEndOffset", number_or_null(o->end));
        out_json_set(one, "lag", number_or_null(offset_lag(o)));
        out_json_add(array, one);
    }
    return array;
}

static void add_rows(struct table *t, struct str group, const struct offsets_view *offsets)
{
    for (int i = 0; i < offsets->count; i++) {
        const struct offset_view *o = &offsets->v[i];
        table_text(t, group);
        table_text(t, o->topic);
        table_number(t, o->partition);
        table_number(t, o->committed);
        table_number_or_dash(t, o->end);
        table_number_or_dash(t, offset_lag(o));
        table_number_or_dash(t, o->leader_epoch);
        table_text(t, str_is_empty(o->metadata) ? STR_NULL : o->metadata);
    }
}

static int list_one(struct cli *cli, struct client *c, struct str group, bool named, struct table *t, json_t *groups)
{
    struct offsets_view offsets;
    int rc = offsets_view_fetch(c, group, &cli->arena, &offsets);
    if (rc == 0 && offsets.error == 0) {
        rc = offsets_view_known_ends(c, &offsets, &cli->arena);
    }
    int code = rc < 0 ? cli_client_failed(cli, c, rc) : offsets_view_judge(cli, group, named, &offsets);
    if (code != CLI_OK) {
        return code;
    }
    add_rows(t, group, &offsets);
    json_t *one = json_object();
    out_json_set(one, "group", out_json_text(group));
    out_json_set(one, "offsets", offsets_json(&offsets));
    out_json_add(groups, one);
    return CLI_OK;
}

static void print_offsets(struct cli *cli, const struct client *c, const struct table *t, json_t *groups)
{
    if (cli->json) {
        json_t *document = json_object();
        log_past_add(c, document);
        out_json_set(document, "groups", json_incref(groups));
        out_json_print(document, cli->out);
    } else if (t->cell_count > 0) {
        table_print(t, cli->out);
    }
}

static int run_list(struct cli *cli)
{
    static const char *const headers[] = {
        "GROUP", "TOPIC", "PARTITION|PART", "CURRENT-OFFSET|CURRENT", "LOG-END-OFFSET|END", "LAG", "LEADER-EPOCH|EPOCH", "METADATA"};
    struct client c;
    struct table t;
    struct str *names;
    int count;
    bool named = cli->operand_count > 0;
    int code = cli_connect(cli, &c);
    if (code != CLI_OK) {
        return code;
    }
    json_t *groups = json_array();
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    int rc = groups_named(cli, &c, &names, &count);
    if (rc < 0) {
        code = cli_client_failed(cli, &c, rc);
    }
    for (int i = 0; rc == 0 && i < count && code != CLI_UNREACHABLE; i++) {
        int one = list_one(cli, &c, names[i], named, &t, groups);
        code = one != CLI_OK ? one : code;
    }
    if (rc == 0) {
        print_offsets(cli, &c, &t, groups);
    }
    json_decref(groups);
    client_fini(&c);
    return code;
}

static const struct cli_option list_options[] = {
    OPTION_NAMED_GROUPS, OPTION_ALL_GROUPS, OPTION_AT, OPTION_DATA_AT, OPTION_NODE,
};

static const struct cli_column list_columns[] = {
    COLUMNS_OFFSET,
    COLUMN_EPOCHS,
    {"METADATA", "a text that the client committed with the offset"},
};

const struct cli_command command_offsets_list = {
    .noun = "offsets",
    .verb = "list",
    .operands = "[GROUP...]",
    .watchable = true,
    .max_operands = -1,
    .named_by = {"group"},
    .summary = "Lists committed offsets.",
    .details = "Of the groups named, as operands or with --group; of all groups when none is named. A group that is named and has no\n"
               "committed offsets is an error (exit code 1). 'muster groups describe' shows also who reads what.",
    .options = list_options,
    .option_count = COUNT_OF(list_options),
    .columns = list_columns,
    .column_count = COUNT_OF(list_columns),
    .run = run_list};
