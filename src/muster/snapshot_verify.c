/* snapshot_verify.c: muster snapshot verify. */
#include "columns.h"
#include "commands.h"
#include "out.h"
#include "snapshot_file.h"

#include <string.h>

static int verify(struct cli *cli, struct snapshot_file *f, struct table *t, json_t *shards)
{
    for (;;) {
        struct store_backup_section section;
        struct group_set *set;
        int code = snapshot_file_next(f, &section, &set);
        if (code != CLI_OK || set == NULL) {
            return code;
        }
        snapshot_row(cli, t, shards, &section, set);
    }
}

static void print(struct cli *cli, const struct snapshot_file *f, const struct table *t, json_t *shards)
{
    char id[23];
    uuid_text(f->info.cluster_id, id);
    struct str version = {f->info.version, (int32_t)strnlen(f->info.version, sizeof(f->info.version))};
    if (!cli->json) {
        table_print(t, cli->out);
        fprintf(cli->out, "\nWhole: cluster %s, saved %.*s by release %.*s\n", id, STR_ARG(out_time(f->info.taken_ms, &cli->arena)),
                STR_ARG(out_text(version, &cli->arena)));
        json_decref(shards);
        return;
    }
    json_t *document = json_object();
    out_json_set(document, "clusterId", json_string(id));
    out_json_set(document, "savedAtMs", json_integer((json_int_t)f->info.taken_ms));
    out_json_set(document, "version", out_json_text(version));
    out_json_set(document, "shards", shards);
    out_json_print(document, cli->out);
}

static int run_verify(struct cli *cli)
{
    struct snapshot_file f;
    struct table t;
    const char *const *headers;
    int columns;
    int code = snapshot_file_open(cli, cli->operands[0], &f);
    if (code != CLI_OK) {
        return code;
    }
    json_t *shards = json_array();
    snapshot_row_headers(&headers, &columns);
    table_init(&t, &cli->arena, headers, columns);
    code = verify(cli, &f, &t, shards);
    if (code == CLI_OK) {
        print(cli, &f, &t, shards);
    } else {
        json_decref(shards);
    }
    snapshot_file_close(&f);
    return code;
}

static const struct cli_column verify_columns[] = {
    COLUMN_SHARD,          {"INDEX, TERM", "the newest entry in the shard's state, and the term of the leader that wrote it"},
    COLUMN_GROUPS_OFFSETS, COLUMN_TOPICS,
    COLUMN_STATE_HASH,
};

const struct cli_command command_snapshot_verify = {
    .noun = "snapshot",
    .verb = "verify",
    .reach = REACHES_NOBODY,
    .operands = "FILE",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Verifies a backup: every checksum, and the state of each shard.",
    .details = "Rebuilds the state of one shard after the other, as a node would, compares its hash with the one that the shard's leader "
               "gave, and\n"
               "looks whether the shards fit together. Takes as much memory as the largest shard. Damage: its place, and exit code 5.",
    .columns = verify_columns,
    .column_count = COUNT_OF(verify_columns),
    .run = run_verify};
