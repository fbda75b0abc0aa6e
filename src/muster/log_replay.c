/* log_replay.c: the log applied again, by the library that the nodes run, to see what state it makes.
 *
 * Shards know nothing of each other: entries are gathered, and applied by several threads (log_queue.h), those of a shard by one at a time and in their order. The caller's
 * thread reads on meanwhile, and waits for them wherever it looks at a state itself.
 *
 * Which entries were erased by later ones is known for sure only after the whole log was read. A log without such, and in which nothing is wrong, is verified in one pass: entries are
 * applied as they come, and taken back while they still wait. Where that does not do, or something is wrong, all begins again and goes by the book. */
#include "log_explain.h"
#include "log_hashes.h"
#include "log_queue.h"
#include "out.h"
#include "progress.h"

#include <muster/group.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct replay_shard {
    struct pool pool;
    struct arena scratch;
    struct log_line line;
    struct log_shard is; /* set NULL: nothing of the shard was seen */
    uint64_t gathered;   /* the newest entry that is applied or waits for it */
    uint64_t newest;     /* that was read */
    uint64_t term;       /* of the entry at is.index */
    uint64_t at;         /* stop behind this index; 0: it is not wished for */
    uint64_t compared;
    struct log_hashes hashes;
    bool ended; /* at the index asked for, or it cannot go on */
};
struct snapshot_seen {
    uint32_t shard;
    uint64_t index, term, hash;
    bool compared;
};

struct log_replay {
    struct cli *cli;
    struct log_folder *folder;
    int64_t only;                 /* shard; -1: all */
    bool nearest;                 /* begins with the nearest snapshots; else compares all of them */
    struct replay_shard **shards; /* by number; each stays where it is: its state points to its pool */
    size_t shard_count;
    struct log_shard *found;
    size_t found_count;
    struct snapshot_seen *snapshots;
    size_t snapshot_count, snapshot_cap;
    struct log_queue *queue;
    bool hasty;              /* the pass that begins again when it is not sure */
    bool unsure;             /* it has to */
    pthread_mutex_t telling; /* what is wrong */
    int code;
    struct log_explain explain;
    struct log_states *states; /* NULL: nobody asked */
};

static bool leaves_out(const struct log_replay *r, uint32_t shard)
{
    return r->only >= 0 && r->only != (int64_t)shard;
}

static struct replay_shard *shard_of(struct log_replay *r, uint32_t shard)
{
    while (r->shard_count <= shard) {
        r->shards = reallocarray(r->shards, r->shard_count + 1, sizeof(*r->shards));
        MUSTER_CHECK(r->shards != NULL);
        struct replay_shard *s = calloc(1, sizeof(*s));
        MUSTER_CHECK(s != NULL);
        s->is.shard = (uint32_t)r->shard_count;
        arena_init(&s->scratch, 0);
        s->at = r->nearest ? 0 : UINT64_MAX;
        r->shards[r->shard_count++] = s;
    }
    return r->shards[shard];
}

static struct group_set *set_of(struct replay_shard *s)
{
    if (s->is.set == NULL) {
        s->is.set = group_set_new(&s->pool, s->is.shard);
    }
    return s->is.set;
}

static void wrong(struct log_replay *r, uint32_t shard, uint64_t index, const char *what)
{
    if (r->hasty) {
        r->unsure = true;
        return;
    }
    fflush(r->cli->out);
    r->code = cli_fail(r->cli, CLI_CORRUPT, "shard %" PRIu32 ", index %" PRIu64 ": %s", shard, index, what);
}

static void note_term(struct log_replay *r, uint32_t shard, uint64_t term)
{
    struct replay_shard *s = shard_of(r, shard);
    s->is.term = term > s->is.term ? term : s->is.term;
}

/* ---- snapshots ---- */

static void note_snapshot(void *ctx, const struct store_snapshot_meta *meta)
{
    struct log_replay *r = ctx;
    if (leaves_out(r, meta->shard)) {
        return;
    }
    note_term(r, meta->shard, meta->term);
    if (r->snapshot_count == r->snapshot_cap) {
        r->snapshot_cap = r->snapshot_cap > 0 ? r->snapshot_cap * 2 : 16;
        r->snapshots = reallocarray(r->snapshots, r->snapshot_cap, sizeof(*r->snapshots));
        MUSTER_CHECK(r->snapshots != NULL);
    }
    r->snapshots[r->snapshot_count++] = (struct snapshot_seen){meta->shard, meta->index, meta->term, meta->state_hash, false};
}

/* A group set is filled by runs of whole records; snapshots give them in the runs they were written in. */
static int restore_runs(struct replay_shard *s, struct store_snapshot_reader *reader)
{
    for (;;) {
        struct bytes run;
        int rc = store_snapshot_next(reader, &run);
        if (rc < 0 || run.len == 0) {
            return rc;
        }
        arena_clear(&s->scratch);
        rc = group_restore(s->is.set, run, &s->scratch);
        if (rc < 0) {
            return rc;
        }
    }
}

/* Fills the shard's state from the snapshot, and closes it. */
static int restore(struct replay_shard *s, const struct store_snapshot_meta *meta, struct store_snapshot_reader *reader)
{
    group_set_clear(set_of(s));
    log_hashes_forget(&s->hashes);
    int rc = restore_runs(s, reader);
    s->is.index = meta->index;
    s->term = meta->term;
    s->is.snapshot = meta->index;
    s->gathered = meta->index;
    s->is.term = meta->term > s->is.term ? meta->term : s->is.term;
    s->is.wall_ms = 0;
    store_snapshot_close(reader);
    return rc;
}

/* The oldest snapshot that the entry behind min_index can follow, as long as it is not too new. */
static int restore_behind(struct log_replay *r, struct replay_shard *s, uint64_t min_index)
{
    struct store_snapshot_meta meta, older;
    struct store_snapshot_reader *reader = NULL, *other = NULL;
    int rc = store_snapshot_open(&r->folder->port, s->is.shard, min_index, &meta, &reader);
    while (rc == 0 && meta.index > min_index &&
           store_snapshot_open_before(&r->folder->port, s->is.shard, meta.index - 1, &older, &other) == 0) {
        if (older.index < min_index) {
            store_snapshot_close(other);
            break;
        }
        store_snapshot_close(reader);
        reader = other;
        meta = older;
    }
    return rc < 0 ? rc : restore(s, &meta, reader);
}

/* Where a snapshot was taken, its hash has to be that of the state; an entry of another term in that place never was committed. */
static void compare(struct log_replay *r, struct replay_shard *s)
{
    if (r->states != NULL) {
        const struct log_state_mark mark = {s->is.index, s->term, group_set_hash(s->is.set)};
        log_states_note(r->states, s->is.shard, &mark);
    }
    for (size_t i = 0; i < r->snapshot_count; i++) {
        struct snapshot_seen *seen = &r->snapshots[i];
        if (seen->shard != s->is.shard || seen->index != s->is.index || seen->term != s->term || seen->compared) {
            continue;
        }
        seen->compared = true;
        s->compared++;
        if (group_set_hash(s->is.set) == seen->hash) {
            log_hashes_agreed(&s->hashes, s->is.index);
        } else {
            MUSTER_CHECK(pthread_mutex_lock(&r->telling) == 0);
            wrong(r, s->is.shard, seen->index, "the state does not have the hash that the snapshot carries");
            if (!r->hasty) {
                log_explain_compare(&r->explain, r->cli, r->folder, s->is.shard, seen->index, s->is.set);
            }
            MUSTER_CHECK(pthread_mutex_unlock(&r->telling) == 0);
        }
    }
}

/* ---- entries ---- */

/* Begins with a snapshot that the entry can follow. false: there is none, said. */
static bool begin_before(struct log_replay *r, struct replay_shard *s, uint64_t index)
{
    int rc = restore_behind(r, s, index - 1);
    if (rc < 0) {
        wrong(r, s->is.shard, index, "nothing on the disk says what came before: there is no snapshot that this entry follows");
        s->ended = true;
        return false;
    }
    if (s->is.index > s->at) {
        s->ended = true;
        if (r->code == CLI_OK) {
            r->code =
                cli_fail(r->cli, CLI_FAILED, "shard %" PRIu32 ": the log begins with a snapshot at %" PRIu64 ", what was before is gone",
                         s->is.shard, s->is.index);
        }
        return false;
    }
    compare(r, s);
    return true;
}

/* Brings the shard to the index before the entry. false: not possible, said. */
static bool reach(struct log_replay *r, struct replay_shard *s, uint64_t index)
{
    (void)set_of(s);
    return index <= s->is.index + 1 || begin_before(r, s, index);
}

/* The hashes that leaders wrote into the log. */
static void compare_told(struct log_replay *r, struct replay_shard *s, uint64_t index, struct bytes payload)
{
    struct log_hash told;
    char what[256];
    uint64_t agreed = s->hashes.agreed > s->is.snapshot ? s->hashes.agreed : s->is.snapshot;
    if (log_hashes_applied(&s->hashes, s->is.shard, index, payload, group_set_hash(s->is.set), &s->scratch, &told)) {
        return;
    }
    int len =
        snprintf(what, sizeof(what),
                 "the state behind this entry is another than its leader had, which wrote its hash, %016" PRIx64 ", into entry %" PRIu64,
                 told.hash, index);
    if (agreed < told.index) {
        snprintf(what + len, sizeof(what) - (size_t)len, ": one of the entries %" PRIu64 " to %" PRIu64 " does not make what it made then",
                 agreed + 1, told.index);
    } else {
        snprintf(what + len, sizeof(what) - (size_t)len, ", but the state behind entry %" PRIu64 " is right: that leader's was not",
                 agreed);
    }
    MUSTER_CHECK(pthread_mutex_lock(&r->telling) == 0);
    wrong(r, s->is.shard, told.index, what);
    MUSTER_CHECK(pthread_mutex_unlock(&r->telling) == 0);
}

static void apply(struct log_replay *r, struct replay_shard *s, const struct log_queued *e)
{
    const char *why = NULL;
    struct log_item item = {.kind = e->kind, .payload = e->payload};
    int64_t clock_ms;
    if (s->ended) {
        return;
    }
    arena_clear(&s->scratch);
    if (e->kind == LOG_COMMAND && !group_apply_entry(s->is.set, e->index, e->payload, &s->scratch, NULL, NULL, &why)) {
        MUSTER_CHECK(pthread_mutex_lock(&r->telling) == 0);
        wrong(r, s->is.shard, e->index, why);
        MUSTER_CHECK(pthread_mutex_unlock(&r->telling) == 0);
        s->ended = true;
        return;
    }
    s->is.index = e->index;
    s->term = e->term;
    s->is.entries++;
    (void)log_item_times(&item, &clock_ms, &s->is.wall_ms);
    if (!r->nearest) {
        compare_told(r, s, e->index, e->kind == LOG_COMMAND ? e->payload : BYTES_NULL);
    }
    compare(r, s);
}

/* ---- what waits ---- */

static void apply_queued(void *ctx, struct log_line *line, const struct log_queued *e)
{
    apply(ctx, CONTAINER_OF(line, struct replay_shard, line), e);
}

static void gather(struct log_replay *r, struct replay_shard *s, const struct log_item *item)
{
    const struct log_queued entry = {item->index, item->term, item->kind, item->payload};
    s->gathered = item->index;
    log_queue_put(r->queue, &s->line, &entry);
}

/* The shard's entries from the index on, which another one replaces. */
static void take_back(struct log_replay *r, struct replay_shard *s, uint64_t index)
{
    if (s->gathered < index) {
        return;
    }
    log_queue_take_back(r->queue, &s->line, index);
    if (s->is.index >= index) {
        r->unsure = true;
        return;
    }
    s->gathered = index - 1;
}

/* ---- what the folder holds ---- */

static void replay_item(void *ctx, const struct log_item *item)
{
    struct log_replay *r = ctx;
    if (leaves_out(r, item->shard)) {
        return;
    }
    note_term(r, item->shard, item->term);
    struct replay_shard *s = shard_of(r, item->shard);
    if (r->hasty && item->index <= s->newest) {
        take_back(r, s, item->index);
    }
    s->newest = item->index;
    if (item->erased || item->index > s->at || item->index <= s->gathered) {
        return;
    }
    if (item->index > s->gathered + 1 || s->is.set == NULL) {
        log_queue_finish(r->queue);
        if (s->ended || !reach(r, s, item->index) || item->index <= s->gathered) {
            return;
        }
    }
    gather(r, s, item);
}

/* A snapshot that came from another node took the place of the shard's log, which had entries that never were committed, or ended before it. */
static void replay_state(void *ctx, const struct store_record *record)
{
    struct log_replay *r = ctx;
    if (leaves_out(r, record->shard)) {
        return;
    }
    note_term(r, record->shard, record->term);
    bool jumps = record->kind == STORE_SNAPSHOT && record->entry_type == 1;
    struct replay_shard *s = shard_of(r, record->shard);
    if (!jumps) {
        return;
    }
    if (r->hasty && record->index < s->newest) {
        take_back(r, s, record->index + 1);
    }
    s->newest = record->index;
    if (record->index > s->at) {
        return;
    }
    log_queue_finish(r->queue);
    if (r->states != NULL) {
        log_states_replaced(r->states, record->shard, record->index);
    }
    bool there = s->is.index > record->index || (s->is.index == record->index && s->term == record->term);
    if (!s->ended && !there) {
        (void)begin_before(r, s, record->index + 1);
    }
}

/* Shards of which the log has no entry, only a snapshot. */
static void replay_rest(struct log_replay *r)
{
    for (size_t i = 0; i < r->snapshot_count; i++) {
        const struct snapshot_seen seen = r->snapshots[i];
        struct replay_shard *s = shard_of(r, seen.shard);
        if (seen.index <= s->at && s->is.set == NULL && !s->ended) {
            (void)reach(r, s, seen.index + 1);
        }
    }
}

/* ---- the whole ---- */

/* Whether a wished shard has entries in the segment between what is reached and what is asked for, or one that erases such: none does behind a segment that begins
 * with a snapshot in use that covers them. */
static bool holds_wished(void *ctx, const struct store_segment *segment, const struct store_segment *next)
{
    const struct log_replay *r = ctx;
    for (size_t i = 0; i < r->shard_count && i < segment->shard_count; i++) {
        const struct replay_shard *s = r->shards[i];
        bool before_end = segment->shards[i].snapshot_index < s->at;
        bool behind_begin = next == NULL || i >= next->shard_count || next->shards[i].last_index > s->is.index;
        if (s->at > 0 && before_end && behind_begin) {
            return true;
        }
    }
    return false;
}

static void begin_with_nearest(struct log_replay *r, const struct log_wish *wishes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct store_snapshot_meta meta;
        struct store_snapshot_reader *reader = NULL;
        struct replay_shard *s = shard_of(r, wishes[i].shard);
        uint64_t limit = wishes[i].at;
        progress(r->cli, "snapshots", (int64_t)i, (int64_t)count);
        int rc = limit > 0 ? 0 : MUSTER_E_NOT_FOUND;
        s->at = wishes[i].at;
        while (rc == 0 && limit > 0 && (rc = store_snapshot_open_before(&r->folder->port, wishes[i].shard, limit, &meta, &reader)) == 0) {
            limit = meta.index - 1;
            if (restore(s, &meta, reader) == 0 && group_set_hash(s->is.set) == meta.state_hash) {
                break;
            }
            cli_say(r->cli, "damaged: the snapshot of shard %" PRIu32 " at %" PRIu64 "; an older one and more of the log may do as well",
                    s->is.shard, meta.index);
            group_set_clear(s->is.set);
            s->is.index = 0;
            s->is.snapshot = 0;
            s->gathered = 0;
        }
        if (rc == MUSTER_E_CORRUPT || rc == MUSTER_E_VERSION) {
            cli_say(r->cli, "damaged: the snapshots of shard %" PRIu32, s->is.shard);
        }
    }
    progress_end(r->cli);
    log_folder_scope(r->folder, holds_wished, r);
}

static void collect(struct log_replay *r)
{
    r->found = calloc(r->shard_count + 1, sizeof(*r->found));
    MUSTER_CHECK(r->found != NULL);
    for (size_t i = 0; i < r->shard_count; i++) {
        bool nothing = r->shards[i]->is.set == NULL || (r->shards[i]->ended && r->code == CLI_FAILED);
        if (!nothing) {
            r->found[r->found_count++] = r->shards[i]->is;
        }
    }
}

static struct log_replay *replay_new(struct cli *cli, struct log_folder *f, int64_t only, struct log_states *states)
{
    struct log_replay *r = calloc(1, sizeof(*r));
    MUSTER_CHECK(r != NULL);
    *r = (struct log_replay){.cli = cli, .folder = f, .only = only, .states = states};
    r->queue = log_queue_new(apply_queued, r);
    MUSTER_CHECK(pthread_mutex_init(&r->telling, NULL) == 0);
    return r;
}

static int replay_all(struct log_replay *r)
{
    int scanned = log_folder_scan(r->folder, replay_item, replay_state, r->nearest ? NULL : note_snapshot, r);
    log_queue_finish(r->queue);
    replay_rest(r);
    return scanned;
}

/* What is wrong is told, and the code is that of the worst. */
static int judge(struct log_replay *r, int scanned)
{
    int judged = log_folder_judge(r->cli, r->folder, scanned);
    log_explain_blame(&r->explain, r->cli, r->folder);
    log_folder_scope(r->folder, NULL, NULL);
    collect(r);
    return judged == CLI_CORRUPT || r->code == CLI_OK ? judged : r->code;
}

struct log_replay *log_replay_run(struct cli *cli, struct log_folder *f, const struct log_wish *wishes, size_t count, int *ret_code)
{
    struct log_replay *r = replay_new(cli, f, -1, NULL);
    r->nearest = true;
    begin_with_nearest(r, wishes, count);
    *ret_code = judge(r, replay_all(r));
    return r;
}

struct log_replay *log_replay_verify(struct cli *cli, struct log_folder *f, int64_t shard, struct log_states *states, int *ret_code)
{
    struct log_replay *r = replay_new(cli, f, shard, states);
    r->hasty = true;
    log_folder_as_written(f);
    int scanned = replay_all(r);
    if (r->unsure) {
        log_replay_free(r);
        log_folder_scope(f, NULL, NULL);
        r = replay_new(cli, f, shard, states);
        scanned = replay_all(r);
    }
    *ret_code = judge(r, scanned);
    return r;
}

const struct log_shard *log_replay_shards(const struct log_replay *r, size_t *ret_count)
{
    *ret_count = r->found_count;
    return r->found;
}

const struct log_shard *log_replay_shard(const struct log_replay *r, uint32_t shard)
{
    for (size_t i = 0; i < r->found_count; i++) {
        if (r->found[i].shard == shard) {
            return &r->found[i];
        }
    }
    return NULL;
}

struct log_compared log_replay_compared(const struct log_replay *r)
{
    struct log_compared c = {.snapshots = r->snapshot_count};
    for (size_t i = 0; i < r->shard_count; i++) {
        c.snapshots_compared += r->shards[i]->compared;
        c.hashes += r->shards[i]->hashes.seen;
        c.hashes_compared += r->shards[i]->hashes.compared;
    }
    return c;
}

void log_replay_free(struct log_replay *r)
{
    log_queue_free(r->queue);
    for (size_t i = 0; i < r->shard_count; i++) {
        if (r->shards[i]->is.set != NULL) {
            group_set_free(r->shards[i]->is.set);
        }
        arena_fini(&r->shards[i]->scratch);
        log_hashes_forget(&r->shards[i]->hashes);
        free(r->shards[i]);
    }
    free(r->shards);
    free(r->found);
    free(r->snapshots);
    (void)pthread_mutex_destroy(&r->telling);
    free(r);
}

int log_replay_folder(struct cli *cli, struct log_folder *f, void (*found)(void *ctx, const struct log_shard *shards, size_t count),
                      void *ctx)
{
    int code;
    struct log_wish *wishes = ARENA_NEW(&cli->arena, struct log_wish, f->log_shards);
    for (uint32_t i = 0; i < f->log_shards; i++) {
        wishes[i] = (struct log_wish){i, UINT64_MAX};
    }
    struct log_replay *r = log_replay_run(cli, f, wishes, f->log_shards, &code);
    if (code == CLI_OK || code == CLI_TORN) {
        found(ctx, r->found, r->found_count);
    }
    log_replay_free(r);
    return code;
}

uint32_t log_shard_of_group(struct str group, uint32_t shard_count)
{
    return (uint32_t)(hash_bytes(group.ptr, group.len > 0 ? (size_t)group.len : 0, 0) % shard_count);
}

/* ---- times ---- */

struct search {
    const struct log_moment *at;
    const struct log_folder *folder;
    struct search_shard {
        uint64_t begin, first, over; /* the first entry that is kept, the first command, the first that is later; 0: none yet */
        uint64_t last;               /* that the log reaches now: it may go on before it is read again */
        struct log_found found;
    } * v;
    size_t count;
};

static void search_batch(void *ctx, const char *file, uint64_t offset, uint64_t sequence, uint32_t records)
{
    (void)file, (void)records;
    log_folder_progress(((struct search *)ctx)->folder, "KiB of the log searched", sequence, offset);
}

static void search_command(struct search_shard *s, uint64_t index, int64_t clock_ms, bool later)
{
    if (s->over == 0 && later) {
        s->over = index;
    } else if (s->over == 0) {
        s->found.at_clock_ms = clock_ms;
    } else if (!later) {
        s->found.again = index;
        s->found.again_clock_ms = clock_ms;
    }
}

static void search_record(void *ctx, const struct store_record *record)
{
    struct search *search = ctx;
    int64_t clock_ms, wall_ms;
    struct log_item item = {.kind = record->entry_type, .payload = record->payload};
    if (record->shard >= search->count) {
        return;
    }
    struct search_shard *s = &search->v[record->shard];
    if (record->kind == STORE_ENTRY || (record->kind == STORE_SNAPSHOT && (record->entry_type == 1 || record->index > s->last))) {
        s->last = record->index;
    }
    if (record->kind != STORE_ENTRY) {
        return;
    }
    s->begin = s->begin == 0 ? record->index : s->begin;
    if (s->over != 0 && record->index <= s->over) {
        s->over = 0; /* it was erased */
    }
    if (record->index <= s->found.again) {
        s->found.again = 0;
    }
    if (!log_item_times(&item, &clock_ms, &wall_ms)) {
        return;
    }
    if (s->first == 0) {
        s->first = record->index;
        s->found.begins_ms = wall_ms;
        s->found.begins_clock_ms = clock_ms;
    }
    search_command(s, record->index, clock_ms, search->at->by_clock ? clock_ms > search->at->clock_ms : wall_ms > search->at->wall_ms);
}

int log_find_moment(struct cli *cli, struct log_folder *f, const struct log_moment *at, struct log_found **ret, size_t *ret_count)
{
    struct store_visit visit = {.batch = search_batch, .record = search_record, .skip_snapshots = true};
    struct search search = {.at = at, .folder = f, .v = ARENA_NEW(&cli->arena, struct search_shard, f->log_shards), .count = f->log_shards};
    struct store_report report;
    visit.ctx = &search;
    int rc = store_scan(&f->port, &visit, &report);
    progress_end(cli);
    *ret = ARENA_NEW(&cli->arena, struct log_found, search.count);
    *ret_count = search.count;
    for (size_t i = 0; i < search.count; i++) {
        const struct search_shard *s = &search.v[i];
        bool gone = s->over != 0 && s->over == s->first && s->begin > 1;
        (*ret)[i] = s->found;
        (*ret)[i].at = s->over == 0 ? (s->last > 0 ? s->last : UINT64_MAX) : gone ? 0 : s->over - 1;
    }
    return rc == MUSTER_E_TRUNCATED || rc == MUSTER_E_CORRUPT ? MUSTER_E_OK : rc; /* told by the pass that follows */
}
