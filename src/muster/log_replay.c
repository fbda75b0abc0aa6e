/* log_replay.c: the log applied again, by the library that the nodes run, to see what state it makes. */
#include "log.h"
#include "out.h"

#include <muster/group.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct replay_shard {
    struct pool pool;
    struct group_set *set; /* NULL: nothing of the shard was seen */
    uint64_t applied;
    uint64_t entries;
    uint64_t term; /* the newest that was seen */
    bool ended;    /* at the index asked for, or it cannot go on */
};
struct snapshot_seen {
    uint32_t shard;
    uint64_t index, hash;
    bool compared;
};

struct replay {
    struct cli *cli;
    struct log_folder *folder;
    int64_t shard;                /* -1: all */
    uint64_t at;                  /* stop behind this index */
    struct replay_shard **shards; /* by number; each stays where it is: its state points to its pool */
    size_t shard_count;
    struct snapshot_seen *snapshots;
    size_t snapshot_count, snapshot_cap;
    struct arena scratch;
    int code;
    uint64_t compared;
};

static struct replay_shard *shard_of(struct replay *r, uint32_t shard)
{
    while (r->shard_count <= shard) {
        r->shards = reallocarray(r->shards, r->shard_count + 1, sizeof(*r->shards));
        MUSTER_CHECK(r->shards != NULL);
        r->shards[r->shard_count] = calloc(1, sizeof(**r->shards));
        MUSTER_CHECK(r->shards[r->shard_count] != NULL);
        r->shard_count++;
    }
    return r->shards[shard];
}

static void wrong(struct replay *r, uint32_t shard, uint64_t index, const char *what)
{
    fflush(r->cli->out);
    r->code = cli_fail(r->cli, CLI_CORRUPT, "shard %" PRIu32 ", index %" PRIu64 ": %s", shard, index, what);
}

static void note_term(struct replay *r, uint32_t shard, uint64_t term)
{
    struct replay_shard *s = shard_of(r, shard);
    s->term = term > s->term ? term : s->term;
}

/* ---- snapshots ---- */

static void note_snapshot(void *ctx, const struct store_snapshot_meta *meta)
{
    struct replay *r = ctx;
    note_term(r, meta->shard, meta->term);
    if (r->snapshot_count == r->snapshot_cap) {
        r->snapshot_cap = r->snapshot_cap > 0 ? r->snapshot_cap * 2 : 16;
        r->snapshots = reallocarray(r->snapshots, r->snapshot_cap, sizeof(*r->snapshots));
        MUSTER_CHECK(r->snapshots != NULL);
    }
    r->snapshots[r->snapshot_count++] = (struct snapshot_seen){meta->shard, meta->index, meta->state_hash, false};
}

/* A group set is filled by runs of whole records; snapshots give them in the runs they were written in. */
static int restore_runs(struct replay *r, struct replay_shard *s, struct store_snapshot_reader *reader)
{
    for (;;) {
        struct bytes run;
        int rc = store_snapshot_next(reader, &run);
        if (rc < 0 || run.len == 0) {
            return rc;
        }
        arena_clear(&r->scratch);
        rc = group_restore(s->set, run, &r->scratch);
        if (rc < 0) {
            return rc;
        }
    }
}

/* Fills the shard's state from its newest snapshot, which has at least min_index. */
static int restore(struct replay *r, uint32_t shard, uint64_t min_index)
{
    struct replay_shard *s = shard_of(r, shard);
    struct store_snapshot_meta meta;
    struct store_snapshot_reader *reader = NULL;
    int rc = store_snapshot_open(&r->folder->port, shard, min_index, &meta, &reader);
    if (rc < 0) {
        return rc;
    }
    group_set_clear(s->set);
    rc = restore_runs(r, s, reader);
    s->applied = meta.index;
    store_snapshot_close(reader);
    return rc;
}

/* Where a snapshot was taken, its hash has to be that of the state. */
static void compare(struct replay *r, uint32_t shard)
{
    struct replay_shard *s = shard_of(r, shard);
    for (size_t i = 0; i < r->snapshot_count; i++) {
        struct snapshot_seen *seen = &r->snapshots[i];
        if (seen->shard != shard || seen->index != s->applied || seen->compared) {
            continue;
        }
        seen->compared = true;
        r->compared++;
        if (group_set_hash(s->set) != seen->hash) {
            wrong(r, shard, seen->index, "the state does not have the hash that the snapshot carries");
        }
    }
}

/* ---- entries ---- */

/* Brings the shard to the index before the entry. false: not possible, said. */
static bool reach(struct replay *r, uint32_t shard, uint64_t index)
{
    struct replay_shard *s = shard_of(r, shard);
    if (s->set == NULL) {
        s->set = group_set_new(&s->pool, shard);
    }
    if (index <= s->applied + 1) {
        return true;
    }
    int rc = restore(r, shard, index - 1);
    if (rc < 0) {
        wrong(r, shard, index, "nothing on the disk says what came before: there is no snapshot that this entry follows");
        s->ended = true;
        return false;
    }
    if (s->applied > r->at) {
        s->ended = true;
        if (r->code == CLI_OK) {
            r->code =
                cli_fail(r->cli, CLI_FAILED, "shard %" PRIu32 ": the log begins with a snapshot at %" PRIu64 ", what was before is gone",
                         shard, s->applied);
        }
        return false;
    }
    compare(r, shard);
    return true;
}

static void replay_item(void *ctx, const struct log_item *item)
{
    struct replay *r = ctx;
    const char *why = NULL;
    note_term(r, item->shard, item->term);
    if (item->erased || (r->shard >= 0 && r->shard != (int64_t)item->shard)) {
        return;
    }
    struct replay_shard *s = shard_of(r, item->shard);
    if (s->ended || item->index > r->at || !reach(r, item->shard, item->index)) {
        return;
    }
    if (item->index <= s->applied) {
        return;
    }
    arena_clear(&r->scratch);
    if (item->kind == LOG_COMMAND && !group_apply_entry(s->set, item->index, item->payload, &r->scratch, NULL, NULL, &why)) {
        wrong(r, item->shard, item->index, why);
        s->ended = true;
        return;
    }
    s->applied = item->index;
    s->entries++;
    compare(r, item->shard);
}

/* A snapshot that came from another node took the place of the shard's log. */
static void replay_state(void *ctx, const struct store_record *record)
{
    struct replay *r = ctx;
    note_term(r, record->shard, record->term);
    bool jumps = record->kind == STORE_SNAPSHOT && record->entry_type == 1;
    if (!jumps || record->index > r->at || (r->shard >= 0 && r->shard != (int64_t)record->shard)) {
        return;
    }
    struct replay_shard *s = shard_of(r, record->shard);
    if (!s->ended && s->applied < record->index) {
        (void)reach(r, record->shard, record->index + 1);
    }
}

/* Shards of which the log has no entry, only a snapshot. */
static void replay_rest(struct replay *r)
{
    for (size_t i = 0; i < r->snapshot_count; i++) {
        const struct snapshot_seen seen = r->snapshots[i];
        bool wanted = (r->shard < 0 || r->shard == (int64_t)seen.shard) && seen.index <= r->at;
        if (wanted && shard_of(r, seen.shard)->set == NULL && !shard_of(r, seen.shard)->ended) {
            (void)reach(r, seen.shard, seen.index + 1);
        }
    }
}

static int replay_all(struct replay *r)
{
    int scanned = log_folder_scan(r->folder, replay_item, replay_state, note_snapshot, r);
    replay_rest(r);
    int judged = log_folder_judge(r->cli, r->folder, scanned);
    return judged == CLI_CORRUPT || r->code == CLI_OK ? judged : r->code;
}

static void replay_init(struct replay *r, struct cli *cli, struct log_folder *folder, int64_t shard, int64_t at)
{
    *r = (struct replay){.cli = cli, .folder = folder, .shard = shard, .at = (uint64_t)at};
    arena_init(&r->scratch, 0);
}

static void replay_fini(struct replay *r)
{
    for (size_t i = 0; i < r->shard_count; i++) {
        if (r->shards[i]->set != NULL) {
            group_set_free(r->shards[i]->set);
        }
        free(r->shards[i]);
    }
    free(r->shards);
    free(r->snapshots);
    arena_fini(&r->scratch);
}

/* ---- verify ---- */

static void print_verified(struct cli *cli, const struct replay *r)
{
    static const char *const headers[] = {"SHARD", "APPLIED", "ENTRIES", "GROUPS", "MEMBERS", "OFFSETS", "TOPICS", "STATE-HASH"};
    struct table t;
    json_t *shards = json_array();
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    for (size_t i = 0; i < r->shard_count; i++) {
        const struct replay_shard *s = r->shards[i];
        struct group_set_counts counts;
        if (s->set == NULL) {
            continue;
        }
        group_set_counts(s->set, &counts);
        struct str hash = arena_printf(&cli->arena, "%016" PRIx64, group_set_hash(s->set));
        const int64_t numbers[] = {(int64_t)i,     (int64_t)s->applied, (int64_t)s->entries, counts.groups,
                                   counts.members, counts.offsets,      counts.topics};
        static const char *const names[] = {"shard", "appliedIndex", "entries", "groups", "members", "offsets", "topics"};
        json_t *one = json_object();
        for (size_t k = 0; k < COUNT_OF(numbers); k++) {
            table_number(&t, numbers[k]);
            out_json_set(one, names[k], json_integer(numbers[k]));
        }
        table_text(&t, hash);
        out_json_set(one, "stateHash", out_json_text(hash));
        out_json_add(shards, one);
    }
    if (!cli->json) {
        table_print(&t, cli->out);
        fprintf(cli->out, "\n%" PRIu64 " batches in %" PRIu64 " segments, %zu snapshots; the state agreed with %" PRIu64 " of them\n",
                r->folder->report.batches, r->folder->report.segments, r->snapshot_count, r->compared);
        json_decref(shards);
        return;
    }
    json_t *document = json_object();
    out_json_set(document, "batches", json_integer((json_int_t)r->folder->report.batches));
    out_json_set(document, "segments", json_integer((json_int_t)r->folder->report.segments));
    out_json_set(document, "snapshots", json_integer((json_int_t)r->snapshot_count));
    out_json_set(document, "snapshotsCompared", json_integer((json_int_t)r->compared));
    out_json_set(document, "shards", shards);
    out_json_print(document, cli->out);
}

int log_verify_folder(struct cli *cli, struct log_folder *f)
{
    struct replay r;
    replay_init(&r, cli, f, -1, INT64_MAX);
    int code = replay_all(&r);
    print_verified(cli, &r);
    replay_fini(&r);
    return code;
}

int log_replay_folder(struct cli *cli, struct log_folder *f, void (*found)(void *ctx, const struct log_shard *shards, size_t count),
                      void *ctx)
{
    struct replay r;
    replay_init(&r, cli, f, -1, INT64_MAX);
    int code = replay_all(&r);
    struct log_shard *shards = ARENA_NEW(&cli->arena, struct log_shard, r.shard_count);
    size_t count = 0;
    for (size_t i = 0; i < r.shard_count; i++) {
        const struct replay_shard *s = r.shards[i];
        if (s->set != NULL) {
            shards[count++] = (struct log_shard){(uint32_t)i, s->applied, s->term, s->set};
        }
    }
    if (code == CLI_OK || code == CLI_TORN) {
        found(ctx, shards, count);
    }
    replay_fini(&r);
    return code;
}

/* ---- state ---- */

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

int log_state_folder(struct cli *cli, struct log_folder *f, const struct log_filter *filter, int64_t at)
{
    struct replay r;
    struct log_printer printer;
    replay_init(&r, cli, f, filter->shard, at);
    log_printer_init(&printer, cli, filter);
    int code = replay_all(&r);
    for (size_t i = 0; i < r.shard_count; i++) {
        if (r.shards[i]->set != NULL && !(r.shards[i]->ended && code == CLI_FAILED)) {
            print_state(&printer, (uint32_t)i, r.shards[i]->set, r.shards[0]->set);
        }
    }
    if (code == CLI_OK && printer.printed == 0) {
        code = cli_fail(cli, CLI_FAILED, "there is nothing%s%s", str_is_null(filter->group) ? "" : " of group ",
                        str_is_null(filter->group) ? "" : filter->group.ptr);
    }
    log_printer_fini(&printer);
    replay_fini(&r);
    return code;
}
