/* log_dump.c: muster log dump, verify, state. */
#include "commands.h"
#include "log.h"

#include <string.h>

/* ---- dump ---- */

static void show_item(void *ctx, const struct log_item *item)
{
    log_print_item(ctx, item);
}

static void show_state(void *ctx, const struct store_record *record)
{
    log_print_state(ctx, record);
}

static void show_snapshot(void *ctx, const struct store_snapshot_meta *meta)
{
    log_print_snapshot(ctx, meta);
}

int log_dump_folder(struct cli *cli, struct log_folder *f, const struct log_filter *filter)
{
    struct log_printer printer;
    log_printer_init(&printer, cli, filter);
    int scanned = log_folder_scan(f, show_item, show_state, show_snapshot, &printer);
    int code = log_folder_judge(cli, f, scanned);
    if (printer.unreadable && code != CLI_CORRUPT) {
        code = cli_fail(cli, CLI_CORRUPT,
                        "the log holds entries that this program cannot read: they are of a newer release, or damaged when "
                        "they were made");
    }
    code = log_printer_judge(&printer, code);
    log_printer_fini(&printer);
    return code;
}

static int run_dump(struct cli *cli)
{
    struct log_filter filter;
    struct log_folder folder;
    const char *data = cli_text(cli, "data");
    bool follow = cli_flag(cli, "follow");
    if (!log_filter_take(cli, &filter)) {
        return CLI_USAGE;
    }
    if (data == NULL) {
        return log_dump_live(cli, &filter, follow);
    }
    if (follow || cli_text(cli, "bootstrap") != NULL) {
        return cli_fail(cli, CLI_USAGE, "--data reads a folder; --bootstrap and --follow go with a live node");
    }
    int code = log_folder_open(cli, data, &folder);
    if (code == CLI_OK) {
        code = log_dump_folder(cli, &folder, &filter);
        log_folder_close(&folder);
    }
    return code;
}

#define OPTION_DATA                                                                                                                        \
    {                                                                                                                                      \
        "data", "DIR", "the data folder (muster.data.dir) of a node, stopped or running; it is only read"                                  \
    }
#define OPTION_GROUP                                                                                                                       \
    {                                                                                                                                      \
        "group", "GROUP", "only records of the group, and what requests for it caused"                                                     \
    }
#define OPTION_TYPE                                                                                                                        \
    {                                                                                                                                      \
        "type", "TYPE", "only records of that type: OffsetCommit, ClassicGroup, Topic, ... in any case"                                    \
    }
#define OPTION_SHARD                                                                                                                       \
    {                                                                                                                                      \
        "shard", "N", "only that shard"                                                                                                    \
    }

static const struct cli_option dump_options[] = {
    OPTION_DATA,
    OPTION_GROUP,
    OPTION_TYPE,
    OPTION_SHARD,
    {"from", "INDEX", "only entries from that index on"},
    {"to", "INDEX", "only entries up to that index"},
    {"all", NULL, "also what is no record: barriers, terms and votes, snapshots; and entries that later ones erased"},
    {"follow", NULL, "go on with entries as they are committed, until interrupted (a live node)"},
};

const struct cli_command command_log_dump = {
    .noun = "log",
    .verb = "dump",
    .operands = "",
    .summary = "Shows the records of the log, each with the request that caused it.",
    .details =
        "From a data folder (--data) or from a live node (--bootstrap, the first that answers). One line for each record; with --json one\n"
        "JSON object a line. TIME is the wall clock of the node that wrote the entry, RULE the rule that made the record; behind the "
        "arrow\n"
        "stand the request it was applied to, its client, and the client's reason. Entries that a later leader replaced were never\n"
        "committed and are left out unless --all shows them. A folder's log may end in entries that are not committed yet; a live node\n"
        "shows committed entries that it still has in memory.\n"
        "Exit code 1 when nothing is there of the --group or --type that was asked for, as grep has it. Damage: everything before it is\n"
        "shown, then its place and kind on standard error, and exit code 4 or 5.",
    .options = dump_options,
    .option_count = COUNT_OF(dump_options),
    .run = run_dump};

/* ---- verify ---- */

static int with_folder(struct cli *cli, struct log_folder *folder)
{
    const char *data = cli_text(cli, "data");
    return data == NULL ? cli_fail(cli, CLI_USAGE, "--data DIR is missing") : log_folder_open(cli, data, folder);
}

static int run_verify(struct cli *cli)
{
    struct log_folder folder;
    int code = with_folder(cli, &folder);
    if (code == CLI_OK) {
        code = log_verify_folder(cli, &folder);
        log_folder_close(&folder);
    }
    return code;
}

static const struct cli_option verify_options[] = {
    OPTION_DATA,
};

const struct cli_command command_log_verify = {
    .noun = "log",
    .verb = "verify",
    .operands = "",
    .summary = "Verifies a data folder: every checksum, and the state that the log makes.",
    .details =
        "Reads every batch and snapshot, applies the entries to an empty state or to the oldest snapshot that they follow, and compares\n"
        "the state's hash with the one each snapshot carries.",
    .options = verify_options,
    .option_count = COUNT_OF(verify_options),
    .run = run_verify};

/* ---- state ---- */

static int run_state(struct cli *cli)
{
    struct log_filter filter;
    struct log_folder folder;
    int64_t at;
    if (!log_filter_take(cli, &filter) || !cli_number(cli, "at", 1, INT64_MAX, INT64_MAX, &at)) {
        return CLI_USAGE;
    }
    int code = with_folder(cli, &folder);
    if (code == CLI_OK) {
        code = log_state_folder(cli, &folder, &filter, at);
        log_folder_close(&folder);
    }
    return code;
}

static const struct cli_option state_options[] = {
    OPTION_DATA, OPTION_GROUP, OPTION_TYPE, OPTION_SHARD, {"at", "INDEX", "as of that index of the shard's log (its end)"},
};

const struct cli_command command_log_state = {
    .noun = "log",
    .verb = "state",
    .operands = "",
    .summary = "Shows the state that the log makes: the live records as of an index.",
    .details = "Give --group or --shard with --at: each shard counts its own indexes. Exit code 1 when nothing is there.",
    .options = state_options,
    .option_count = COUNT_OF(state_options),
    .run = run_state};
