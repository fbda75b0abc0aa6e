/* log_follow.c: the folder of a running node, read again and again: only the segments from the newest that was read on, and of those what is behind the last batch. */
#include "log.h"

#include <string.h>
#include <time.h>

enum { FOLLOW_MS = 200 };

enum { CLOCKS_DIFFER_MS = 1000 };

bool log_follow_passed(const struct log_filter *f)
{
    return f->until_ms != 0 && log_wall_ms() > f->until_ms + CLOCKS_DIFFER_MS;
}

bool log_follow_is_over(const struct log_filter *f, uint64_t last)
{
    return log_follow_passed(f) || (f->shard >= 0 && f->to != INT64_MAX && last >= (uint64_t)f->to);
}

struct following {
    struct log_printer printer;
    uint64_t segment; /* the one that was read last, whose end may have grown */
    uint64_t shown;   /* batches up to this one are done with */
    uint64_t sequence;
    uint64_t last; /* of the filter's shard */
    bool silent;   /* the first round, when it is the end that is looked for */
};

static bool from_last(void *ctx, const struct store_segment *segment, const struct store_segment *next)
{
    struct following *f = ctx;
    if (next == NULL) {
        f->segment = segment->number;
        return true;
    }
    return !f->silent && segment->number >= f->segment && next->first_sequence > f->shown + 1;
}

static void follow_batch(void *ctx, const char *file, uint64_t offset, uint64_t sequence, uint32_t records)
{
    (void)file, (void)offset, (void)records;
    ((struct following *)ctx)->sequence = sequence;
}

static void follow_record(void *ctx, const struct store_record *record)
{
    struct following *f = ctx;
    if (record->kind == STORE_ENTRY && f->printer.filter.shard == (int64_t)record->shard) {
        f->last = record->index;
    }
    if (f->sequence <= f->shown || f->silent) {
        return;
    }
    if (record->kind == STORE_ENTRY) {
        struct log_item item = {
            .shard = record->shard, .index = record->index, .term = record->term, .kind = record->entry_type, .payload = record->payload};
        log_print_item(&f->printer, &item);
    } else if (record->kind != STORE_CHECKPOINT) {
        log_print_state(&f->printer, record);
    }
}

static int follow_on(struct cli *cli, struct log_folder *folder, struct following *f)
{
    struct store_visit visit = {.ctx = f, .batch = follow_batch, .record = follow_record, .wanted = from_last, .skip_snapshots = true};
    for (;;) {
        int rc = store_scan(&folder->port, &visit, &folder->report);
        f->shown = f->sequence > f->shown ? f->sequence : f->shown;
        f->silent = false;
        if (rc < 0 && rc != MUSTER_E_TRUNCATED) { /* what is torn now may be whole in a moment */
            return log_folder_judge(cli, folder, rc);
        }
        if (fflush(cli->out) != 0 || log_follow_is_over(&f->printer.filter, f->last)) {
            return CLI_OK;
        }
        struct timespec pause = {.tv_nsec = FOLLOW_MS * 1000000L};
        nanosleep(&pause, NULL);
    }
}

int log_follow_folder(struct cli *cli, struct log_folder *folder, const struct log_filter *filter, bool from_end)
{
    struct following f = {.silent = from_end};
    log_printer_init(&f.printer, cli, filter);
    log_folder_learn_topic(folder, filter->topic, &f.printer.topic_ids);
    int code = follow_on(cli, folder, &f);
    log_printer_fini(&f.printer);
    return code;
}
