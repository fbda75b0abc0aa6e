/* log_folder.c: the entries of a data folder, each with the word whether a later one erased it. */
#include "log.h"
#include "progress.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- how far it is ---- */

static void add_extent(struct log_folder *f, const struct store_segment *segment)
{
    if (f->extent.count == f->extent.cap) {
        f->extent.cap = f->extent.cap > 0 ? f->extent.cap * 2 : 16;
        f->extent.v = reallocarray(f->extent.v, f->extent.cap, sizeof(*f->extent.v));
        MUSTER_CHECK(f->extent.v != NULL);
    }
    f->extent.v[f->extent.count++] = (struct log_extent){segment->first_sequence, f->extent.bytes};
    f->extent.bytes += segment->bytes;
}

void log_folder_progress(const struct log_folder *f, const char *what, uint64_t sequence, uint64_t offset)
{
    size_t low = 0; /* behind the segments that begin at the batch or before it */
    for (size_t high = f->extent.count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (f->extent.v[middle].first_sequence <= sequence) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    uint64_t done = low > 0 ? f->extent.v[low - 1].before + offset : 0;
    progress(f->cli, what, (int64_t)(done >> 10), (int64_t)(f->extent.bytes >> 10));
}

/* ---- the first pass: who erases whom ---- */

struct marking {
    struct log_folder *folder;
    uint64_t sequence;
    uint32_t place;
};

static int compare_places(struct log_place a, struct log_place b)
{
    if (a.sequence != b.sequence) {
        return a.sequence < b.sequence ? -1 : 1;
    }
    return (a.place > b.place) - (a.place < b.place);
}

static struct log_erased *erased_of(struct log_folder *f, uint32_t shard)
{
    if (shard >= f->shard_count) {
        f->erased = reallocarray(f->erased, (size_t)shard + 1, sizeof(*f->erased));
        MUSTER_CHECK(f->erased != NULL);
        memset(f->erased + f->shard_count, 0, ((size_t)shard + 1 - f->shard_count) * sizeof(*f->erased));
        f->shard_count = (size_t)shard + 1;
    }
    return &f->erased[shard];
}

/* From here on every entry that stands before `place` with this index or a higher one is void. What an earlier one voided at or behind the same index,
 * this one voids too: so the indexes ascend with the places, and the first one behind an entry decides. */
static void add_erasure(struct log_erased *e, uint64_t index, struct log_place place)
{
    while (e->count > 0 && e->v[e->count - 1].index >= index) {
        e->count--;
    }
    if (e->count == e->cap) {
        e->cap = e->cap > 0 ? e->cap * 2 : 16;
        e->v = reallocarray(e->v, e->cap, sizeof(*e->v));
        MUSTER_CHECK(e->v != NULL);
    }
    e->v[e->count++] = (struct log_erasure){index, place};
}

static bool is_erased(const struct log_folder *f, uint32_t shard, uint64_t index, struct log_place place)
{
    if (shard >= f->shard_count) {
        return false;
    }
    const struct log_erased *e = &f->erased[shard];
    size_t low = 0;
    for (size_t high = e->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (compare_places(e->v[middle].place, place) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < e->count && e->v[low].index <= index;
}

static void mark_batch(void *ctx, const char *file, uint64_t offset, uint64_t sequence, uint32_t records)
{
    (void)file, (void)records;
    struct marking *m = ctx;
    log_folder_progress(m->folder, "KiB of the log looked through", sequence, offset);
    m->sequence = sequence;
    m->place = 0;
}

static void mark_record(void *ctx, const struct store_record *record)
{
    struct marking *m = ctx;
    struct log_place place = {m->sequence, m->place++};
    struct log_erased *e = erased_of(m->folder, record->shard);
    if (record->kind == STORE_ENTRY) {
        if (record->index <= e->last) {
            add_erasure(e, record->index, place);
        }
        e->last = record->index;
    } else if (record->kind == STORE_SNAPSHOT && record->entry_type == 1) {
        if (record->index < e->last) {
            add_erasure(e, record->index + 1, place); /* those up to its index are what it holds, or a history that it replaced */
        }
        e->last = record->index;
    }
}

static bool in_scope(void *ctx, const struct store_segment *segment, const struct store_segment *next)
{
    const struct log_folder *f = ((struct marking *)ctx)->folder;
    return f->scope.wanted(f->scope.ctx, segment, next);
}

static void forget_erased(struct log_folder *f)
{
    for (size_t i = 0; i < f->shard_count; i++) {
        free(f->erased[i].v);
    }
    free(f->erased);
    f->erased = NULL;
    f->shard_count = 0;
    f->marked = false;
}

static void mark_erased(struct log_folder *f)
{
    struct marking m = {.folder = f};
    struct store_visit visit = {
        .ctx = &m, .batch = mark_batch, .record = mark_record, .wanted = f->scope.wanted != NULL ? in_scope : NULL, .skip_snapshots = true};
    struct store_report report;
    (void)store_scan(&f->port, &visit, &report); /* the pass that follows finds the same, and tells */
    progress_end(f->cli);
    f->marked = true;
}

void log_folder_scope(struct log_folder *f,
                      bool (*wanted)(void *ctx, const struct store_segment *segment, const struct store_segment *next), void *ctx)
{
    forget_erased(f);
    f->scope.wanted = wanted;
    f->scope.ctx = ctx;
}

void log_folder_as_written(struct log_folder *f)
{
    forget_erased(f);
    f->marked = true;
}

/* ---- open ---- */

/* Nothing is read but where each segment begins. */
static bool note_segment(void *ctx, const struct store_segment *segment, const struct store_segment *next)
{
    struct log_folder *f = ctx;
    (void)next;
    f->segments++;
    add_extent(f, segment);
    f->log_shards = segment->shard_count;
    return false;
}

static int first_look(struct cli *cli, struct log_folder *f)
{
    struct store_identity identity;
    struct store_visit visit = {.ctx = f, .wanted = note_segment, .skip_snapshots = true};
    f->cli = cli;
    int rc = store_scan(&f->port, &visit, &f->report);
    if (rc < 0 && rc != MUSTER_E_TRUNCATED && rc != MUSTER_E_CORRUPT) {
        log_folder_close(f);
        return cli_fail(cli, CLI_FAILED, "%s", f->report.text);
    }
    if (f->segments == 0 && rc == 0 && store_identity_read(&f->port, &identity) == MUSTER_E_NOT_FOUND) {
        log_folder_close(f);
        return cli_fail(cli, CLI_FAILED, "the folder holds no log: it is not the data folder of a node that was part of a cluster");
    }
    return CLI_OK;
}

int log_folder_open(struct cli *cli, const char *dir, struct log_folder *ret)
{
    *ret = (struct log_folder){0};
    int rc = store_port_posix_init(&ret->port, dir, true);
    if (rc < 0) {
        return cli_fail(cli, CLI_FAILED, "the data folder %s cannot be opened: %s", dir,
                        rc == MUSTER_E_NOT_FOUND ? "there is no such folder"
                        : errno != 0             ? strerror(errno)
                                                 : muster_strerror(rc));
    }
    return first_look(cli, ret);
}

int log_folder_open_port(struct cli *cli, const struct store_port *port, struct log_folder *ret)
{
    *ret = (struct log_folder){.port = *port, .borrowed = true};
    return first_look(cli, ret);
}

int log_source_open(struct cli *cli, struct log_folder *ret)
{
    const char *data = cli_text(cli, "data");
    int64_t node;
    if (!cli_number(cli, "node", 0, INT32_MAX, -1, &node)) {
        return CLI_USAGE;
    }
    if (data != NULL && (node >= 0 || (cli_text(cli, "bootstrap") != NULL && !cli->command->both))) {
        return cli_fail(cli, CLI_USAGE, "--data reads a folder; --bootstrap and --node go with a live node");
    }
    return data == NULL ? log_remote_open(cli, node, ret) : log_folder_open(cli, data, ret);
}

void log_folder_close(struct log_folder *f)
{
    if (!f->borrowed && f->port.ctx != NULL) {
        store_port_posix_fini(&f->port);
    }
    f->port = (struct store_port){0};
    log_remote_close(f->remote);
    f->remote = NULL;
    free(f->extent.v);
    f->extent.v = NULL;
    f->extent.count = f->extent.cap = 0;
    forget_erased(f);
}

/* ---- the pass that shows ---- */

static void visit_batch(void *ctx, const char *file, uint64_t offset, uint64_t sequence, uint32_t records)
{
    (void)file, (void)records;
    struct log_folder *f = ctx;
    log_folder_progress(f, "KiB of the log read", sequence, offset);
    f->pass.sequence = sequence;
    f->pass.place = 0;
}

static void visit_record(void *ctx, const struct store_record *record)
{
    struct log_folder *f = ctx;
    struct log_place place = {f->pass.sequence, f->pass.place++};
    if (record->kind != STORE_ENTRY) {
        if (f->pass.state != NULL) {
            f->pass.state(f->pass.ctx, record);
        }
        return;
    }
    if (f->pass.item != NULL) {
        struct log_item item = {
            .shard = record->shard, .index = record->index, .term = record->term, .kind = record->entry_type, .payload = record->payload};
        item.erased = is_erased(f, record->shard, record->index, place);
        f->pass.item(f->pass.ctx, &item);
    }
}

static void visit_snapshot(void *ctx, const struct store_snapshot_meta *meta)
{
    struct log_folder *f = ctx;
    if (f->pass.snapshot != NULL) {
        f->pass.snapshot(f->pass.ctx, meta);
    }
}

static bool scope_wanted(void *ctx, const struct store_segment *segment, const struct store_segment *next)
{
    const struct log_folder *f = ctx;
    return f->scope.wanted(f->scope.ctx, segment, next);
}

int log_folder_scan(struct log_folder *f, void (*item)(void *ctx, const struct log_item *item),
                    void (*state)(void *ctx, const struct store_record *record),
                    void (*snapshot)(void *ctx, const struct store_snapshot_meta *meta), void *ctx)
{
    struct store_visit visit = {.ctx = f, .batch = visit_batch, .record = visit_record, .snapshot = visit_snapshot};
    if (!f->marked) {
        mark_erased(f);
    }
    if (f->scope.wanted != NULL) {
        visit.wanted = scope_wanted;
        visit.skip_snapshots = snapshot == NULL;
    }
    f->pass.item = item;
    f->pass.state = state;
    f->pass.snapshot = snapshot;
    f->pass.ctx = ctx;
    int rc = store_scan(&f->port, &visit, &f->report);
    progress_end(f->cli);
    return rc;
}

int log_folder_tell(struct cli *cli, struct log_folder *f)
{
    int code = log_folder_judge(cli, f, log_folder_scan(f, NULL, NULL, NULL, NULL));
    return code != CLI_OK ? code : cli_fail(cli, CLI_FAILED, "the log is empty");
}

void log_folder_learn_topic(struct log_folder *f, struct str topic, struct log_topic_ids *ids)
{
    struct store_snapshot_meta meta;
    struct store_snapshot_reader *reader = NULL;
    struct arena arena;
    struct bytes run = {NULL, 0};
    if (str_is_empty(topic) || store_snapshot_open(&f->port, 0, 0, &meta, &reader) < 0) {
        return;
    }
    arena_init(&arena, 0);
    while (store_snapshot_next(reader, &run) == 0 && run.len > 0) {
        struct record record;
        for (size_t at = 0; log_run_next(run, &at, &record);) {
            arena_clear(&arena);
            log_topic_ids_learn(ids, topic, record, &arena);
        }
    }
    arena_fini(&arena);
    store_snapshot_close(reader);
}

bool log_run_next(struct bytes run, size_t *at, struct record *ret)
{
    size_t len = (size_t)run.len;
    if (len - *at < 8) {
        return false;
    }
    int32_t key_len = (int32_t)get_be32(run.ptr + *at);
    if (key_len < 0 || (size_t)key_len > len - *at - 8) {
        return false;
    }
    ret->key = (struct bytes){run.ptr + *at + 4, key_len};
    *at += 4 + (size_t)key_len;
    int32_t value_len = (int32_t)get_be32(run.ptr + *at);
    if (value_len > 0 && (size_t)value_len > len - *at - 4) {
        return false;
    }
    ret->value = (struct bytes){run.ptr + *at + 4, value_len};
    *at += 4 + (value_len > 0 ? (size_t)value_len : 0);
    return true;
}

static int say_judgement(struct cli *cli, const struct log_folder *f, int scanned)
{
    switch (scanned) {
    case MUSTER_E_TRUNCATED:
        return cli_fail(cli, CLI_TORN, "torn tail: %s. Everything before it was read. A node that starts on this folder drops it.",
                        f->report.text);
    case MUSTER_E_CORRUPT:
        if (f->report.only_past) {
            return cli_fail(
                cli, CLI_CORRUPT,
                "damaged history: %s. Everything else was read. The node starts all the same: it needs none of it, and removes it in time.",
                f->report.text);
        }
        return cli_fail(cli, CLI_CORRUPT,
                        "damaged: %s. Everything before it was read. The node will refuse to start; rebuild it from the "
                        "others (muster cluster replace ID).",
                        f->report.text);
    default:
        return cli_fail(cli, CLI_FAILED, "%s", f->report.text);
    }
}

int log_folder_judge(struct cli *cli, struct log_folder *f, int scanned)
{
    fflush(cli->out);
    if (scanned != MUSTER_E_OK && f->told == CLI_OK) {
        f->told = say_judgement(cli, f, scanned);
    }
    return scanned == MUSTER_E_OK ? CLI_OK : f->told;
}
