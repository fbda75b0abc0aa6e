/* recover_read.c: the log's segments to the state of each shard. Changes nothing on disk. */
#include "recover.h"
#include "file.h"
#include "snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is said to people ------------------------------------------------------------------------------------------ */

static const char rebuild_text[] =
    "This is not a torn write: acknowledged data of this node may be gone, so it must not start with this folder and nothing in it was "
    "changed. To rebuild: 1. leave this node stopped; 2. check that the other nodes serve; 3. move the data folder away and keep it; "
    "4. replace the node in the cluster, with an empty data folder: it gets its data from the others.";

int store_recover_corrupt(struct store_report *report, const char *file, uint64_t offset, const char *reason)
{
    (void)snprintf(report->corrupt_file, sizeof(report->corrupt_file), "%s", file);
    report->corrupt_offset = offset;
    (void)snprintf(report->text, sizeof(report->text), "%s, offset %" PRIu64 ": %s. %s", file, offset, reason, rebuild_text);
    return MUSTER_E_CORRUPT;
}

__attribute__((format(printf, 4, 5))) static int corrupt(struct recover *r, const struct walk *w, uint64_t offset, const char *format, ...)
{
    char reason[160];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    return store_recover_corrupt(r->report, w->name, offset, reason);
}

static int world_failed(struct recover *r, const char *file, const char *what, int rc)
{
    (void)snprintf(r->report->text, sizeof(r->report->text), "%s: %s failed: %s%s%s", file, what, muster_strerror(rc),
                   rc == MUSTER_E_IO ? ": " : "", rc == MUSTER_E_IO ? strerror(errno) : "");
    return rc;
}

/* ---- one record -------------------------------------------------------------------------------------------------------- */

static int slot_put(struct recover_shard *s, uint64_t index, uint64_t ordinal)
{
    if (index < s->known_first) {
        s->known_first = index; /* all later ones have just been erased */
    }
    size_t at = (size_t)(index - s->known_first);
    if (at >= s->slot_cap) {
        size_t cap = s->slot_cap == 0 ? 256 : s->slot_cap;
        while (cap <= at) {
            cap *= 2;
        }
        uint64_t *slots = realloc(s->slots, cap * sizeof(*slots));
        if (slots == NULL) {
            return MUSTER_E_LIMIT;
        }
        s->slots = slots;
        s->slot_cap = cap;
    }
    s->slots[at] = ordinal;
    return MUSTER_E_OK;
}

/* Memory stays in proportion to what is needed: slots of trimmed entries make room. */
static void slots_trim(struct recover_shard *s)
{
    if (s->log.at.last_index < s->known_first || s->log.at.trim < s->known_first) {
        return;
    }
    uint64_t keep_from = s->log.at.trim + 1;
    if (keep_from > s->log.at.last_index) {
        s->known_first = s->log.at.last_index + 1;
        return;
    }
    size_t count = (size_t)(s->log.at.last_index - keep_from + 1);
    memmove(s->slots, s->slots + (keep_from - s->known_first), count * sizeof(*s->slots));
    s->known_first = keep_from;
}

static int take_checkpoint(struct recover *r, const struct walk *w, const struct walk_batch *b, const struct store_record *rec,
                           const struct store_checkpoint *c)
{
    struct recover_shard *s = &r->shards[rec->shard];
    if (b->offset != SEGMENT_HEADER_BYTES || !shard_state_valid(c)) {
        return corrupt(r, w, b->offset, "batch %" PRIu64 " holds a checkpoint of shard %" PRIu32 " that no store writes",
                       b->header.sequence, rec->shard);
    }
    if (!r->started) {
        s->log.at = *c;
        s->known_first = c->last_index + 1;
        return MUSTER_E_OK;
    }
    if (memcmp(&s->log.at, c, sizeof(*c)) != 0) {
        return corrupt(r, w, b->offset, "the checkpoint of shard %" PRIu32 " does not agree with the segments before it", rec->shard);
    }
    return MUSTER_E_OK;
}

static int take_record(struct recover *r, const struct walk *w, const struct walk_batch *b, const struct store_record *rec)
{
    struct recover_shard *s = &r->shards[rec->shard];
    if (b->offset == SEGMENT_HEADER_BYTES || shard_state_check(&s->log.at, rec) < 0) {
        return corrupt(r, w, b->offset,
                       "batch %" PRIu64 " holds a record of shard %" PRIu32 " (kind %d, index %" PRIu64
                       ") that cannot follow the ones before",
                       b->header.sequence, rec->shard, rec->kind, rec->index);
    }
    if (shard_log_reserve(&s->log, 1) < 0) {
        return world_failed(r, w->name, "memory for recovery", MUSTER_E_LIMIT);
    }
    shard_log_apply(&s->log, rec);
    store_segments_note(r->store, rec);
    r->report->records++;
    if (rec->kind == STORE_SNAPSHOT) {
        if (rec->entry_type == SNAPSHOT_EMPTIES_LOG) {
            s->known_first = rec->index + 1;
        }
        slots_trim(s);
    }
    if (rec->kind == STORE_ENTRY && slot_put(s, rec->index, r->entry_ordinal++) < 0) {
        return world_failed(r, w->name, "memory for recovery", MUSTER_E_LIMIT);
    }
    return MUSTER_E_OK;
}

/* ---- batches and segments ------------------------------------------------------------------------------------------------ */

static int take_batch(struct recover *r, const struct walk *w, const struct walk_batch *b)
{
    size_t at = 0;
    for (uint32_t i = 0; i < b->header.record_count; i++) {
        struct store_record rec;
        struct store_checkpoint checkpoint;
        int used = store_record_decode(b->body + at, b->header.body_bytes - at, &rec, &checkpoint);
        if (used < 0) {
            return corrupt(r, w, b->offset, "record %" PRIu32 " of batch %" PRIu64 " is of no form that this release knows", i,
                           b->header.sequence);
        }
        if (rec.shard >= r->options->shard_count) {
            return corrupt(r, w, b->offset, "a record of shard %" PRIu32 " in a folder of %" PRIu32 " shards", rec.shard,
                           r->options->shard_count);
        }
        int rc = rec.kind == STORE_CHECKPOINT ? take_checkpoint(r, w, b, &rec, &checkpoint) : take_record(r, w, b, &rec);
        if (rc < 0) {
            return rc;
        }
        at += (size_t)used;
    }
    r->report->batches++;
    if (b->offset == SEGMENT_HEADER_BYTES && b->header.record_count != r->options->shard_count) {
        return corrupt(r, w, b->offset, "the folder was made for %" PRIu32 " shards, not %" PRIu32, b->header.record_count,
                       r->options->shard_count);
    }
    r->started = true;
    return MUSTER_E_OK;
}

static void note_torn(struct recover *r, const struct walk *w)
{
    size_t len = w->data.len - (w->at - w->base);
    while (len > 0 && w->data.ptr[w->at - w->base + len - 1] == 0) {
        len--;
    }
    r->dirty_bytes = w->at + len;
    r->report->torn_tail = true;
    r->report->torn_offset = w->at;
    (void)snprintf(r->report->torn_file, sizeof(r->report->torn_file), "%s", w->name);
    (void)snprintf(r->torn_text, sizeof(r->torn_text), "%s, offset %zu: %s; it was never acknowledged and is dropped", w->name, w->at,
                   w->reason);
}

static int take_segment(struct recover *r, struct walk *w, bool newest)
{
    struct walk_batch b;
    int rc = store_segment_push(r->store, w->header.number, w->file_bytes);
    if (rc < 0) {
        return world_failed(r, w->name, "memory for recovery", rc);
    }
    enum walk_step step = store_walk_next(w, &b);
    while (step == WALK_BATCH) {
        rc = take_batch(r, w, &b);
        if (rc < 0) {
            return rc;
        }
        step = store_walk_next(w, &b);
    }
#ifdef MUSTER_FAULT_CORRUPT_AS_TORN
    if (step == WALK_CORRUPT && newest) {
        step = WALK_TORN;
    }
#endif
    if (step == WALK_FAILED) {
        return world_failed(r, w->name, "reading the segment", w->failed);
    }
    if (step == WALK_CORRUPT) {
        return corrupt(r, w, w->at, "%s", w->reason);
    }
    if (step == WALK_TORN && !newest) {
        return corrupt(r, w, w->at, "batch %" PRIu64 " is damaged and a good segment follows", w->sequence);
    }
    if (step == WALK_TORN) {
        note_torn(r, w);
    }
    r->report->segments++;
    r->last = w->header;
    r->used_bytes = w->at;
    return MUSTER_E_OK;
}

static int segment_failed(struct recover *r, const struct walk *w, int rc)
{
    if (rc == MUSTER_E_CORRUPT) {
        return corrupt(r, w, 0, "%s", w->reason);
    }
    if (rc == MUSTER_E_VERSION) {
        (void)snprintf(r->report->text, sizeof(r->report->text), "%s: %s", w->name, w->reason);
        return rc;
    }
    return world_failed(r, w->name, "reading the segment", rc);
}

static int read_segments(struct recover *r)
{
    struct walk walks[2];
    int rc = MUSTER_E_OK;
    size_t done = 0;
    for (; rc >= 0 && done < r->number_count; done++) {
        struct walk *w = &walks[done % 2];
        const struct walk *prev = &walks[(done + 1) % 2];
        rc = store_walk_open(w, r->port, r->numbers[done]);
        if (rc >= 0) {
            rc = store_walk_begin(w, r->port);
        }
        if (rc < 0) {
            rc = segment_failed(r, w, rc);
        } else if (done > 0 && !store_walk_follows(w, prev)) {
            rc = corrupt(r, w, 0, "%s", w->reason);
        } else {
            rc = take_segment(r, w, done + 1 == r->number_count);
        }
        if (done > 0) {
            store_walk_close(&walks[(done + 1) % 2], r->port);
        }
    }
    if (done > 0) {
        const struct walk *last = &walks[(done + 1) % 2];
        r->store->salt = last->header.salt;
        r->store->sequence = last->sequence;
        memcpy(r->store->last_header, last->last_header, BATCH_HEADER_BYTES);
        store_walk_close(&walks[(done + 1) % 2], r->port);
    }
    return rc;
}

/* ---- the whole ----------------------------------------------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static int find_segments(struct recover *r)
{
    struct name_list names;
    int rc = store_name_list_load(&names, r->port);
    if (rc < 0) {
        return world_failed(r, ".", "listing the data folder", rc);
    }
    r->numbers = calloc(names.count + 1, sizeof(*r->numbers));
    for (size_t i = 0; r->numbers != NULL && i < names.count; i++) {
        uint32_t shard = 0;
        uint64_t index = 0;
        if (store_segment_name_parse(names.names[i], &r->numbers[r->number_count])) {
            r->number_count++;
        } else if (store_snapshot_name_parse(names.names[i], &shard, &index)) {
            r->snapshots_seen = true;
        }
    }
    store_name_list_free(&names);
    if (r->numbers == NULL) {
        return world_failed(r, ".", "memory for recovery", MUSTER_E_LIMIT);
    }
    qsort(r->numbers, r->number_count, sizeof(*r->numbers), compare_numbers);
    return MUSTER_E_OK;
}

static int check_shard(struct recover *r, uint32_t shard)
{
    const struct recover_shard *s = &r->shards[shard];
    const struct store_checkpoint *at = &s->log.at;
    char name[STORE_NAME_BYTES];
    char reason[160];
    if (at->last_index > at->trim && s->known_first > at->trim + 1) {
        store_segment_name(r->numbers[0] - 1, name);
        (void)snprintf(reason, sizeof(reason),
                       "entries %" PRIu64 " to %" PRIu64 " of shard %" PRIu32 " are in no segment: older ones are missing", at->trim + 1,
                       s->known_first - 1, shard);
        return store_recover_corrupt(r->report, name, 0, reason);
    }
    if (at->snapshot_index == 0) {
        return MUSTER_E_OK;
    }
    store_snapshot_name(shard, at->snapshot_index, name);
    uint64_t offset = 0;
    int rc = store_snapshot_verify(r->port, name, shard, at->snapshot_index, at->snapshot_term, &offset);
    if (rc == MUSTER_E_NOT_FOUND || rc == MUSTER_E_CORRUPT) {
        return store_recover_corrupt(r->report, name, offset,
                                     rc == MUSTER_E_CORRUPT ? "the snapshot that the log builds on is damaged"
                                                            : "the snapshot that the log builds on is missing");
    }
    return rc < 0 ? world_failed(r, name, "reading the snapshot", rc) : MUSTER_E_OK;
}

int store_recover_read(struct recover *r)
{
    int rc = find_segments(r);
    if (rc >= 0 && r->number_count > 0) {
        rc = read_segments(r);
        for (uint32_t shard = 0; rc >= 0 && shard < r->options->shard_count; shard++) {
            rc = check_shard(r, shard);
        }
    }
    return rc;
}

int store_recover_init(struct recover *r, struct store *store, struct store_report *report)
{
    *r = (struct recover){.port = &store->port, .options = &store->options, .report = report, .store = store};
    r->shards = calloc(store->options.shard_count, sizeof(*r->shards));
    if (r->shards == NULL) {
        return world_failed(r, ".", "memory for recovery", MUSTER_E_LIMIT);
    }
    for (uint32_t shard = 0; shard < store->options.shard_count; shard++) {
        r->shards[shard].known_first = 1;
    }
    return MUSTER_E_OK;
}

void store_recover_fini(struct recover *r)
{
    for (uint32_t shard = 0; r->shards != NULL && shard < r->options->shard_count; shard++) {
        shard_log_fini(&r->shards[shard].log);
        free(r->shards[shard].slots);
    }
    free(r->shards);
    free(r->numbers);
}

/* ---- second reading ------------------------------------------------------------------------------------------------------- */

static bool survives(const struct recover *r, const struct store_record *rec, uint64_t ordinal)
{
    const struct recover_shard *s = &r->shards[rec->shard];
    if (rec->index <= s->log.at.trim || rec->index > s->log.at.last_index) {
        return false;
    }
#ifdef MUSTER_FAULT_KEEP_ERASED_ENTRIES
    (void)ordinal;
    return true;
#else
    return s->slots[rec->index - s->known_first] == ordinal;
#endif
}

static void replay_batch(struct recover *r, const struct store_recovery *recovery, const struct walk_batch *b, uint64_t *ordinal)
{
    size_t at = 0;
    for (uint32_t i = 0; i < b->header.record_count; i++) {
        struct store_record rec;
        struct store_checkpoint checkpoint;
        int used = store_record_decode(b->body + at, b->header.body_bytes - at, &rec, &checkpoint);
        MUSTER_CHECK(used > 0 && rec.shard < r->options->shard_count); /* the first reading has seen this batch */
        at += (size_t)used;
        if (rec.kind == STORE_ENTRY && survives(r, &rec, (*ordinal)++)) {
            recovery->entry(recovery->ctx, rec.shard, rec.index, rec.term, rec.entry_type, rec.payload);
        }
    }
}

int store_recover_replay(struct recover *r, const struct store_recovery *recovery)
{
    uint64_t ordinal = 0;
    int rc = MUSTER_E_OK;
    for (size_t i = 0; rc >= 0 && i < r->number_count; i++) {
        struct walk w;
        struct walk_batch b;
        rc = store_walk_open(&w, r->port, r->numbers[i]);
        if (rc >= 0) {
            rc = store_walk_begin(&w, r->port);
        }
        size_t end = i + 1 < r->number_count ? w.file_bytes : r->used_bytes;
        enum walk_step step = WALK_BATCH;
        while (rc >= 0 && w.at < end && (step = store_walk_next(&w, &b)) == WALK_BATCH) {
            replay_batch(r, recovery, &b, &ordinal);
        }
        rc = step == WALK_FAILED ? w.failed : rc;
        if (rc < 0) {
            rc = segment_failed(r, &w, rc);
        }
        store_walk_close(&w, r->port);
    }
    if (rc >= 0 && ordinal != r->entry_ordinal) {
        (void)snprintf(r->report->text, sizeof(r->report->text),
                       "the log reads differently the second time: the disk does not give back what it holds");
        rc = MUSTER_E_IO;
    }
    return rc;
}
