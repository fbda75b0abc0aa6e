/* log_state.c: muster log verify, state. */
#include "commands.h"
#include "log.h"
#include "log_options.h"

/* ---- verify ---- */

static int run_verify(struct cli *cli)
{
    struct log_folder folder;
    int code = log_source_open(cli, &folder);
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
    int code = log_source_open(cli, &folder);
    if (code == CLI_OK) {
        code = log_state_folder(cli, &folder, &filter, at);
        log_folder_close(&folder);
    }
    return code;
}

static const struct cli_option state_options[] = {
    OPTION_DATA,
    OPTION_GROUP,
    OPTION_TOPIC,
    OPTION_MEMBER,
    OPTION_TYPE,
    OPTION_SHARD,
    {"at", "INDEX", "as of that index of the shard's log (its end)"},
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
