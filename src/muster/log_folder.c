/* log_folder.c: the entries of a data folder, each with the word whether a later one erased it. */
#include "log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the first pass: who erases whom ---- */

struct standing {
    uint64_t index;
    struct log_place place;
};
struct stack {
    struct standing *v;
    size_t count, cap;
}; /* of one shard: entries that stand so far, indexes ascending */

struct marking {
    struct log_erased *erased;
    struct stack *shards;
    size_t shard_count;
    uint64_t sequence;
    uint32_t place;
};

static void *grown(void *v, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap) {
        return v;
    }
    size_t wanted = *cap > 0 ? *cap * 2 : 64;
    wanted = wanted > need ? wanted : need;
    v = reallocarray(v, wanted, size);
    MUSTER_CHECK(v != NULL);
    *cap = wanted;
    return v;
}

static void erase_from(struct marking *m, struct stack *stack, uint64_t index)
{
    while (stack->count > 0 && stack->v[stack->count - 1].index >= index) {
        m->erased->v = grown(m->erased->v, &m->erased->cap, m->erased->count + 1, sizeof(*m->erased->v));
        m->erased->v[m->erased->count++] = stack->v[--stack->count].place;
    }
}

static struct stack *stack_of(struct marking *m, uint32_t shard)
{
    size_t had = m->shard_count;
    if (shard >= had) {
        m->shards = reallocarray(m->shards, (size_t)shard + 1, sizeof(*m->shards));
        MUSTER_CHECK(m->shards != NULL);
        memset(m->shards + had, 0, ((size_t)shard + 1 - had) * sizeof(*m->shards));
        m->shard_count = (size_t)shard + 1;
    }
    return &m->shards[shard];
}

static void mark_batch(void *ctx, const char *file, uint64_t offset, uint64_t sequence, uint32_t records)
{
    (void)file, (void)offset, (void)records;
    struct marking *m = ctx;
    m->sequence = sequence;
    m->place = 0;
}

static void mark_record(void *ctx, const struct store_record *record)
{
    struct marking *m = ctx;
    struct log_place place = {m->sequence, m->place++};
    struct stack *stack = stack_of(m, record->shard);
    if (record->kind == STORE_ENTRY) {
        erase_from(m, stack, record->index);
        stack->v = grown(stack->v, &stack->cap, stack->count + 1, sizeof(*stack->v));
        stack->v[stack->count++] = (struct standing){record->index, place};
    } else if (record->kind == STORE_SNAPSHOT && record->entry_type == 1) {
        erase_from(m, stack, record->index + 1); /* those up to its index are what it holds, or a history that it replaced */
    }
}

static int compare_places(const void *a, const void *b)
{
    const struct log_place *x = a;
    const struct log_place *y = b;
    if (x->sequence != y->sequence) {
        return x->sequence < y->sequence ? -1 : 1;
    }
    return (x->place > y->place) - (x->place < y->place);
}

static int mark_erased(struct log_folder *f)
{
    struct marking m = {.erased = &f->erased};
    struct store_visit visit = {.ctx = &m, .batch = mark_batch, .record = mark_record};
    int rc = store_scan(&f->port, &visit, &f->report);
    for (size_t i = 0; i < m.shard_count; i++) {
        free(m.shards[i].v);
    }
    free(m.shards);
    if (f->erased.count > 0) {
        qsort(f->erased.v, f->erased.count, sizeof(*f->erased.v), compare_places);
    }
    return rc;
}

/* ---- open ---- */

static int first_pass(struct cli *cli, struct log_folder *f)
{
    struct store_identity identity;
    int rc = mark_erased(f);
    if (rc < 0 && rc != MUSTER_E_TRUNCATED && rc != MUSTER_E_CORRUPT) {
        log_folder_close(f);
        return cli_fail(cli, CLI_FAILED, "%s", f->report.text);
    }
    if (f->report.segments == 0 && rc == 0 && store_identity_read(&f->port, &identity) == MUSTER_E_NOT_FOUND) {
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
    return first_pass(cli, ret);
}

int log_folder_open_port(struct cli *cli, const struct store_port *port, struct log_folder *ret)
{
    *ret = (struct log_folder){.port = *port, .borrowed = true};
    return first_pass(cli, ret);
}

void log_folder_close(struct log_folder *f)
{
    if (!f->borrowed && f->port.ctx != NULL) {
        store_port_posix_fini(&f->port);
    }
    f->port = (struct store_port){0};
    free(f->erased.v);
    f->erased = (struct log_erased){0};
}

/* ---- the pass that shows ---- */

static void visit_batch(void *ctx, const char *file, uint64_t offset, uint64_t sequence, uint32_t records)
{
    (void)file, (void)offset, (void)records;
    struct log_folder *f = ctx;
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
        item.erased = f->erased.count > 0 && bsearch(&place, f->erased.v, f->erased.count, sizeof(*f->erased.v), compare_places) != NULL;
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

int log_folder_scan(struct log_folder *f, void (*item)(void *ctx, const struct log_item *item),
                    void (*state)(void *ctx, const struct store_record *record),
                    void (*snapshot)(void *ctx, const struct store_snapshot_meta *meta), void *ctx)
{
    struct store_visit visit = {.ctx = f, .batch = visit_batch, .record = visit_record, .snapshot = visit_snapshot};
    f->pass.item = item;
    f->pass.state = state;
    f->pass.snapshot = snapshot;
    f->pass.ctx = ctx;
    return store_scan(&f->port, &visit, &f->report);
}

int log_folder_judge(struct cli *cli, const struct log_folder *f, int scanned)
{
    fflush(cli->out);
    switch (scanned) {
    case MUSTER_E_OK:
        return CLI_OK;
    case MUSTER_E_TRUNCATED:
        return cli_fail(cli, CLI_TORN, "torn tail: %s. Everything before it was read. A node that starts on this folder drops it.",
                        f->report.text);
    case MUSTER_E_CORRUPT:
        return cli_fail(cli, CLI_CORRUPT,
                        "damaged: %s. Everything before it was read. The node will refuse to start; rebuild it from the others.",
                        f->report.text);
    default:
        return cli_fail(cli, CLI_FAILED, "%s", f->report.text);
    }
}
