/* log_state.c: muster log state: the live records, as of a moment. */
#include "columns.h"
#include "commands.h"
#include "log.h"
#include "log_options.h"
#include "log_past.h"
#include "out.h"

#include <muster/group.h>

static void print_run(struct log_groups *groups, const struct buf *run)
{
    struct record record;
    for (size_t at = 0; log_run_next((struct bytes){run->ptr, (int32_t)run->len}, &at, &record);) {
        log_groups_record(groups, record);
    }
}

static void print_state(struct log_printer *printer, uint32_t shard, struct group_set *set, const struct group_set *catalog)
{
    struct log_groups groups;
    struct buf run;
    bool more = true;
    buf_init(&run, 0);
    log_groups_init(&groups, printer, shard, set, catalog);
    group_snapshot_begin(set);
    while (more) {
        buf_clear(&run);
        more = group_snapshot_next(set, 1 << 16, &run);
        print_run(&groups, &run);
    }
    group_snapshot_end(set);
    log_groups_fini(&groups);
    buf_fini(&run);
}

int log_state_folder(struct cli *cli, struct log_folder *f, const struct log_filter *filter, const struct log_moment *at)
{
    struct log_past past;
    struct log_printer printer;
    size_t count;
    int code = log_past_open(cli, f, filter->group, filter->shard, at, &past);
    if (past.replay == NULL) {
        return code;
    }
    log_printer_init(&printer, cli, filter);
    const struct log_shard *shards = log_replay_shards(past.replay, &count);
    const struct log_shard *catalog = log_replay_shard(past.replay, 0);
    log_past_print(cli, &past);
    for (size_t i = 0; i < count; i++) {
        if (log_past_is_asked(&past, shards[i].shard)) {
            print_state(&printer, shards[i].shard, shards[i].set, catalog != NULL ? catalog->set : NULL);
        }
    }
    if (code == CLI_OK && printer.printed == 0) {
        code = cli_fail(cli, CLI_FAILED, "there is nothing%s%s", str_is_null(filter->group) ? "" : " of group ",
                        str_is_null(filter->group) ? "" : filter->group.ptr);
    }
    log_printer_fini(&printer);
    log_past_close(&past);
    return code;
}

static int run_state(struct cli *cli)
{
    struct log_filter filter;
    struct log_moment at;
    struct log_folder folder;
    if (!log_filter_take(cli, &filter) || !log_moment_take(cli, &at)) {
        return CLI_USAGE;
    }
    int code = log_source_open(cli, &folder);
    if (code == CLI_OK) {
        code = log_state_folder(cli, &folder, &filter, &at);
        log_folder_close(&folder);
    }
    return code;
}

static const struct cli_option state_options[] = {
    OPTION_DATA, OPTION_NODE, OPTION_GROUP, OPTION_TOPIC, OPTION_MEMBER, OPTION_TYPE, OPTION_SHARD, OPTION_AT,
};

static const struct cli_column state_columns[] = {
    {"MEMBER-ID, PROTOCOL", "of a member of a consumer group, and what it speaks: classic ones may be in it, too"},
    COLUMN_INSTANCE,
    {"PROCESS-ID", "of the application's instance"},
    {"EPOCH, STATE", "the assignment that the member has taken; Stable, or what it has to let go of first, or waits for"},
    {"TOPOLOGY-EPOCH", "which of the group's topologies it runs"},
    {"SUBSCRIPTION", "the topics that it reads"},
    {"PARTITIONS, TASKS", "what it has"},
    {"GIVING-UP, TARGET", "what it has yet to let go of, and what it is to have in the end"},
};

const struct cli_command command_log_state = {
    .noun = "log",
    .verb = "state",
    .reach = REACHES_LOG,
    .operands = "",
    .summary = "Shows the state that the log makes: the live records as of an index or a time.",
    .details =
        "From the nearest snapshot on, as far back as the log is kept (muster.history.retention.*). With --at INDEX and clock:MS give "
        "--group or\n"
        "--shard, too: each shard counts its own indexes, and has a clock of its own, which never goes back. A TIME is compared with the "
        "wall\n"
        "clock in the entries: the state is that before the first entry that was written later; where wall clocks were set back, a time "
        "may\n"
        "be there more than once, which is said. The end of a node's folder may hold entries that are not committed yet. Exit code 1 when "
        "nothing is there.",
    .options = state_options,
    .option_count = COUNT_OF(state_options),
    .columns = state_columns,
    .column_count = COUNT_OF(state_columns),
    .run = run_state};
