/* log_explain.c: a snapshot whose hash is not that of the state that the log makes: which records differ, and which entry wrote them last. */
#include "log_explain.h"
#include "out.h"

#include <muster/group.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A record of the snapshot. */
struct known {
    uint64_t key, value; /* hashes */
    bool met;
};
struct knowns {
    struct known *v;
    size_t count, cap;
};

static uint64_t hash_of(struct bytes b)
{
    return hash_bytes(b.ptr, b.len > 0 ? (size_t)b.len : 0, b.len < 0);
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = ((const struct known *)a)->key;
    uint64_t y = ((const struct known *)b)->key;
    return x < y ? -1 : x > y;
}

/* ---- the snapshot's records ---- */

static int each_record(struct log_folder *f, uint32_t shard, uint64_t index, void (*each)(void *ctx, struct record record), void *ctx)
{
    struct store_snapshot_meta meta;
    struct store_snapshot_reader *reader = NULL;
    struct bytes run = {NULL, 1};
    int rc = store_snapshot_open_before(&f->port, shard, index, &meta, &reader);
    if (rc == 0 && meta.index != index) {
        rc = MUSTER_E_NOT_FOUND;
    }
    while (rc == 0 && run.len > 0 && (rc = store_snapshot_next(reader, &run)) == 0) {
        struct record record;
        for (size_t at = 0; run.len > 0 && log_run_next(run, &at, &record);) {
            each(ctx, record);
        }
    }
    store_snapshot_close(reader);
    return rc;
}

static void learn(void *ctx, struct record record)
{
    struct knowns *k = ctx;
    if (k->count == k->cap) {
        k->cap = k->cap > 0 ? k->cap * 2 : 1024;
        k->v = reallocarray(k->v, k->cap, sizeof(*k->v));
        MUSTER_CHECK(k->v != NULL);
    }
    k->v[k->count++] = (struct known){hash_of(record.key), hash_of(record.value), false};
}

/* ---- differences ---- */

struct looking {
    struct log_explain *explain;
    struct cli *cli;
    uint32_t shard;
    uint64_t index;
    struct knowns snapshot;
    struct arena arena;
    size_t first; /* of this comparison's in explain */
};

static void note(struct looking *l, struct record record, const char *what)
{
    struct log_explain *e = l->explain;
    arena_clear(&l->arena);
    struct str text = log_record_text(record, -1, &l->arena);
    cli_say(l->cli, "shard %" PRIu32 ", index %" PRIu64 ": %s: %.*s", l->shard, l->index, what, STR_ARG(text));
    e->v[e->count++] = (struct log_difference){l->shard, l->index, hash_of(record.key), 0};
}

static bool is_full(const struct looking *l)
{
    return l->explain->count == LOG_DIFFERENCES_MAX;
}

static void compare_with(struct looking *l, struct record record)
{
    struct known key = {.key = hash_of(record.key)};
    struct known *known = l->snapshot.count > 0 ? bsearch(&key, l->snapshot.v, l->snapshot.count, sizeof(key), by_key) : NULL;
    if (known != NULL) {
        known->met = true;
    }
    if (!is_full(l) && (known == NULL || known->value != hash_of(record.value))) {
        note(l, record, known == NULL ? "the log makes, and the snapshot has not" : "the log makes, and the snapshot has another value of");
    }
}

static void tell_missing(void *ctx, struct record record)
{
    struct looking *l = ctx;
    struct known key = {.key = hash_of(record.key)};
    const struct known *known = bsearch(&key, l->snapshot.v, l->snapshot.count, sizeof(key), by_key);
    if (known != NULL && !known->met && !is_full(l)) {
        note(l, record, "the snapshot has, and the log does not make");
    }
}

void log_explain_compare(struct log_explain *e, struct cli *cli, struct log_folder *f, uint32_t shard, uint64_t index,
                         struct group_set *set)
{
    struct looking l = {.explain = e, .cli = cli, .shard = shard, .index = index, .first = e->count};
    struct buf run;
    bool more = true;
    arena_init(&l.arena, 0);
    buf_init(&run, 0);
    if (!is_full(&l) && each_record(f, shard, index, learn, &l.snapshot) == 0) {
        qsort(l.snapshot.v, l.snapshot.count, sizeof(*l.snapshot.v), by_key);
        group_snapshot_begin(set);
        while (more) {
            struct record record;
            buf_clear(&run);
            more = group_snapshot_next(set, 1 << 16, &run);
            for (size_t at = 0; log_run_next((struct bytes){run.ptr, (int32_t)run.len}, &at, &record);) {
                compare_with(&l, record);
            }
        }
        group_snapshot_end(set);
        (void)each_record(f, shard, index, tell_missing, &l);
        if (e->count == l.first) {
            cli_say(cli, "shard %" PRIu32 ", index %" PRIu64 ": the records are the same: the snapshot's head carries a wrong hash", shard,
                    index);
        }
    }
    free(l.snapshot.v);
    buf_fini(&run);
    arena_fini(&l.arena);
}

/* ---- who wrote them ---- */

struct blaming {
    struct log_explain *explain;
    struct arena arena;
};

static void blame_item(void *ctx, const struct log_item *item)
{
    struct blaming *b = ctx;
    struct log_entry entry;
    arena_clear(&b->arena);
    if (item->erased || item->kind != LOG_COMMAND || wire_decode(&wire_log_entry, 0, item->payload, &b->arena, &entry, NULL) < 0) {
        return;
    }
    for (int32_t i = 0; i < entry.records.len; i++) {
        uint64_t key = hash_of(entry.records.v[i].key);
        for (size_t k = 0; k < b->explain->count; k++) {
            struct log_difference *d = &b->explain->v[k];
            d->writer = d->shard == item->shard && d->key == key && item->index <= d->index ? item->index : d->writer;
        }
    }
}

void log_explain_blame(struct log_explain *e, struct cli *cli, struct log_folder *f)
{
    struct blaming b = {.explain = e};
    if (e->count == 0) {
        return;
    }
    arena_init(&b.arena, 0);
    (void)log_folder_scan(f, blame_item, NULL, NULL, &b);
    arena_fini(&b.arena);
    for (size_t i = 0; i < e->count; i++) {
        if (e->v[i].writer != 0) {
            cli_say(cli, "shard %" PRIu32 ", index %" PRIu64 ": difference %zu was last written by entry %" PRIu64, e->v[i].shard,
                    e->v[i].index, i + 1, e->v[i].writer);
        }
    }
}
