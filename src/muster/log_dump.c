/* log_dump.c: muster log dump, follow, grep: the records of the log as they stand there. */
#include "columns.h"
#include "commands.h"
#include "log.h"
#include "log_options.h"
#include "out.h"

#include <string.h>

static void show_item(void *ctx, const struct log_item *item)
{
    struct log_printer *p = ctx;
    uint32_t word = item->shard / 64;
    uint64_t bit = UINT64_C(1) << item->shard % 64;
    if (word < COUNT_OF(p->seen) && (p->seen[word] & bit) == 0) {
        p->seen[word] |= bit;
        p->cut = p->cut || item->index > 1;
    }
    log_print_item(p, item);
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
    log_folder_learn_topic(f, filter->topic, &printer.topic_ids);
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

/* What comes is not of a time that is over: with what is there already there is something to show, else there is not. */
static bool may_follow(struct cli *cli, const struct log_filter *filter, bool from_end)
{
    if (!log_follow_passed(filter)) {
        return true;
    }
    cli_say(cli, "--until: %.*s has passed: %s", STR_ARG(out_time(filter->until_ms, &cli->arena)),
            from_end ? "there is nothing to follow ('muster log dump --until TIME' shows what was written before)"
                     : "what was written before is shown, and nothing is waited for");
    return !from_end;
}

/* From the folder or the live node that the command line names. */
static int show(struct cli *cli, const struct log_filter *filter, bool follow)
{
    struct log_folder folder;
    const char *data = cli_text(cli, "data");
    bool disk = cli_flag(cli, "disk") || cli_text(cli, "node") != NULL;
    if (data == NULL && !disk) {
        return log_dump_live(cli, filter, follow);
    }
    if (follow) {
        return cli_fail(cli, CLI_USAGE, "--follow goes with a live node, without --disk ('muster log follow' follows a folder, too)");
    }
    int code = log_source_open(cli, &folder);
    if (code == CLI_OK) {
        code = log_dump_folder(cli, &folder, filter);
        log_folder_close(&folder);
    }
    return code;
}

/* ---- dump ---- */

static int run_dump(struct cli *cli)
{
    struct log_filter filter;
    bool follow = cli_flag(cli, "follow");
    bool good = log_filter_take(cli, &filter) && (!follow || may_follow(cli, &filter, false));
    return good ? show(cli, &filter, follow) : CLI_USAGE;
}

static const struct cli_option dump_options[] = {
    OPTION_DATA,  OPTION_DISK,   OPTION_NODE_DISK,
    OPTION_GROUP, OPTION_TOPIC,  OPTION_MEMBER,
    OPTION_TYPE,  OPTION_SHARD,  OPTION_FROM,
    OPTION_TO,    OPTION_SINCE,  OPTION_UNTIL,
    OPTION_ALL,   OPTION_FORMAT, {"follow", NULL, "go on with entries as they are committed, until interrupted (a live node)"},
};

static const struct cli_column dump_columns[] = {
    COLUMN_SHARD,
    {"INDEX", "the entry's number in the log of the shard: what --from, --to, --at and 'offsets reset --to-index' mean"},
    {"TERM", "of the leader that wrote it: counts the shard's elections"},
    {"SIZE", "of the entry, in bytes"},
    {"TIME", "the wall clock of the node that wrote it"},
    {"RULE", "the rule of the group protocol that made the record"},
    {"RECORD <- REQUEST", "type, key : value; and the request that it was made for, its client, and the reason that the client gave"},
};

const struct cli_command command_log_dump = {
    .noun = "log",
    .verb = "dump",
    .reach = REACHES_LOG,
    .operands = "",
    .summary = "Shows the records of the log, each with the request that caused it.",
    .details =
        "From a data folder (--data) or from a live node (--bootstrap, the first that answers). One line for each record; with --json one\n"
        "JSON object a line; with --format kafka as 'kafka-dump-log --offsets-decoder' prints them: the offset is the entry's index.\n"
        "    muster log dump --group my-group --since 1h\n"
        "    muster log dump --group my-group --data node-1/data\n"
        "Entries that a later leader replaced were never committed and are left out unless --all shows them. A folder's log may end in\n"
        "entries that are not committed yet; a live node shows the committed entries that it has in memory, and waits for those that the\n"
        "shards' leaders had when it was asked; with --disk all that its disk has.\n"
        "Commits carry no member id in the log, only the client's id and host: --member does not find them, 'muster log grep' does by\n"
        "those.\n"
        "Exit code 1 when nothing is there of what was asked for, as grep has it: of those places and times, too. So who asks again and\n"
        "again with --shard and the next --from is told that nothing new is there: 'nothing is there' on standard error, exit code 1.\n"
        "'log follow --from' waits instead. Damage: everything before it is shown, then its place and kind on standard error, and exit\n"
        "code 4 or 5.",
    .options = dump_options,
    .option_count = COUNT_OF(dump_options),
    .columns = dump_columns,
    .column_count = COUNT_OF(dump_columns),
    .run = run_dump};

/* ---- grep ---- */

static int run_grep(struct cli *cli)
{
    struct log_filter filter;
    if (!log_filter_take(cli, &filter)) {
        return CLI_USAGE;
    }
    filter.grep = log_pattern_new(cli, cli->operands[0], cli_flag(cli, "ignore-case"));
    int code = filter.grep != NULL ? show(cli, &filter, false) : CLI_USAGE;
    log_pattern_free(filter.grep);
    return code;
}

static const struct cli_option grep_options[] = {
    OPTION_DATA,   OPTION_DISK,  OPTION_NODE_DISK, OPTION_GROUP,  OPTION_TOPIC,
    OPTION_MEMBER, OPTION_TYPE,  OPTION_SHARD,     OPTION_FROM,   OPTION_TO,
    OPTION_SINCE,  OPTION_UNTIL, OPTION_ALL,       OPTION_FORMAT, {"ignore-case", NULL, "letters match in either case"},
};

const struct cli_command command_log_grep = {
    .noun = "log",
    .verb = "grep",
    .reach = REACHES_LOG,
    .operands = "PATTERN",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "Shows the records whose line in 'log dump' matches a pattern.",
    .details =
        "PATTERN is an extended regular expression, as for 'grep -E'. It is looked for in what stands from RULE on: the rule, the record\n"
        "with its fields, the request, its client and the client's reason; with --json and --format kafka too. Exit code 1: no match.\n"
        "Commits carry no member id in the log, only the client's id and host: look for those.\n"
        "    muster log grep ' my-client /10.0.0.9' --type OffsetCommit",
    .options = grep_options,
    .option_count = COUNT_OF(grep_options),
    .run = run_grep};

/* ---- follow ---- */

static int run_follow(struct cli *cli)
{
    struct log_filter filter;
    struct log_folder folder;
    const char *data = cli_text(cli, "data");
    if (!log_filter_take(cli, &filter)) {
        return CLI_USAGE;
    }
    bool from_end = cli_text(cli, "from") == NULL && cli_text(cli, "since") == NULL;
    if (cli_text(cli, "to") != NULL && filter.shard < 0) {
        return cli_fail(cli, CLI_USAGE, "--to goes with --shard: each shard counts its own entries");
    }
    if (!may_follow(cli, &filter, from_end)) {
        return CLI_USAGE;
    }
    if (data == NULL) {
        filter.from = from_end ? LOG_FROM_END : filter.from;
        return log_dump_live(cli, &filter, true);
    }
    if (cli_text(cli, "bootstrap") != NULL) {
        return cli_fail(cli, CLI_USAGE, "--data reads a folder; --bootstrap goes with a live node");
    }
    int code = log_folder_open(cli, data, &folder);
    if (code == CLI_OK) {
        code = log_follow_folder(cli, &folder, &filter, from_end);
        log_folder_close(&folder);
    }
    return code;
}

static const struct cli_option follow_options[] = {
    OPTION_DATA, OPTION_GROUP,     OPTION_TOPIC, OPTION_MEMBER,       OPTION_TYPE, OPTION_SHARD,
    OPTION_FROM, OPTION_FOLLOW_TO, OPTION_SINCE, OPTION_FOLLOW_UNTIL, OPTION_ALL,  OPTION_FORMAT,
};

const struct cli_command command_log_follow = {
    .noun = "log",
    .verb = "follow",
    .reach = REACHES_LOG,
    .operands = "",
    .summary = "Shows records as they come, until interrupted or as long as is asked.",
    .details =
        "Of a live node: entries as they are committed. Of the folder of a running node (--data): entries as they are written, which is\n"
        "before they are committed; one that a later leader replaces has been shown all the same. Begins at the end, or with --from, "
        "--since; ends\n"
        "with --to, --until. A time without a date (10m) is one that has passed: --until takes a date here.",
    .options = follow_options,
    .option_count = COUNT_OF(follow_options),
    .run = run_follow};
