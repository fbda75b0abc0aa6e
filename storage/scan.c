/* scan.c: the offline reader. Opens files for reading and nothing else; the folder may belong to a running node.
 *
 * A running node appends, begins segments and removes the oldest. So all segments are opened before the first is read, and what looks
 * damaged is read again until it stays the same: a batch may have been caught half written. */
#include "identity.h"
#include "snapshot.h"
#include "walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCAN_LIST_ATTEMPTS = 20, SCAN_REFRESH_ATTEMPTS = 200 };

struct segment_info {
    bool known, wanted;
    struct store_segment segment;
    struct store_segment_shard *shards;
};

struct scan {
    const struct store_port *port;
    const struct store_visit *visit;
    struct store_report *report;
    struct walk *walks;
    size_t walk_count;
    struct scan_shard {
        uint64_t snapshot_index;
    } * shards; /* the snapshot the log relies on, by shard */
    size_t shard_count;
    bool any_snapshot;
    struct scan_bad {
        uint32_t shard;
        uint64_t index;
    } * bad; /* snapshots that are damaged */
    size_t bad_count;
    bool live_damage;           /* of what a node needs to start */
    struct segment_info *infos; /* of the walks, when somebody chooses among them */
    struct buf spare;           /* memory for the next segment */
    int result;                 /* the worst so far: OK, TRUNCATED, CORRUPT */
};

/* ---- damage --------------------------------------------------------------------------------------------------------------- */

static void damage(struct scan *s, bool torn, const char *file, uint64_t offset, const char *text)
{
    struct store_report *report = s->report;
    if (torn) {
        report->torn_tail = true;
        report->torn_offset = offset;
        (void)snprintf(report->torn_file, sizeof(report->torn_file), "%s", file);
    } else if (s->result != MUSTER_E_CORRUPT) {
        report->corrupt_offset = offset;
        (void)snprintf(report->corrupt_file, sizeof(report->corrupt_file), "%s", file);
    }
    if (s->result != MUSTER_E_CORRUPT) {
        s->result = torn ? MUSTER_E_TRUNCATED : MUSTER_E_CORRUPT;
        (void)snprintf(report->text, sizeof(report->text), "%s, offset %" PRIu64 ": %s", file, offset, text);
    }
    if (s->visit->damage != NULL) {
        s->visit->damage(s->visit->ctx, torn, file, offset, text);
    }
}

/* ---- snapshots ------------------------------------------------------------------------------------------------------------ */

static int note_bad(struct scan *s, uint32_t shard, uint64_t index)
{
    struct scan_bad *bad = reallocarray(s->bad, s->bad_count + 1, sizeof(*bad));
    if (bad == NULL) {
        return MUSTER_E_LIMIT;
    }
    s->bad = bad;
    s->bad[s->bad_count++] = (struct scan_bad){shard, index};
    return MUSTER_E_OK;
}

static int scan_snapshot(struct scan *s, const char *name, uint32_t shard, uint64_t index)
{
    struct store_snapshot_meta meta;
    struct store_snapshot_reader *r = NULL;
    uint64_t offset = 0;
    int rc = snapshot_reader_open(s->port, name, &meta, &r);
    if (rc == MUSTER_E_NOT_FOUND) {
        return MUSTER_E_OK; /* replaced meanwhile */
    }
    if (rc >= 0) {
        rc = store_snapshot_verify(s->port, name, shard, index, meta.term, &offset);
        rc = rc == MUSTER_E_NOT_FOUND ? MUSTER_E_OK : rc;
    }
    if (rc >= 0 && s->visit->snapshot != NULL) {
        s->visit->snapshot(s->visit->ctx, &meta);
    }
    store_snapshot_close(r);
    if (rc == MUSTER_E_CORRUPT || rc == MUSTER_E_VERSION) {
        damage(s, false, name, offset,
               rc == MUSTER_E_CORRUPT ? "the snapshot is damaged" : "the snapshot has a version that this release does not know");
        return note_bad(s, shard, index);
    }
    return rc;
}

static int scan_snapshots(struct scan *s)
{
    struct name_list names;
    int rc = store_name_list_load(&names, s->port);
    if (rc < 0) {
        return rc;
    }
    for (size_t i = 0; rc >= 0 && i < names.count; i++) {
        uint32_t shard = 0;
        uint64_t index = 0;
        if (store_snapshot_name_parse(names.names[i], &shard, &index)) {
            s->any_snapshot = true;
            rc = s->visit->skip_snapshots ? MUSTER_E_OK : scan_snapshot(s, names.names[i], shard, index);
        }
    }
    store_name_list_free(&names);
    return rc;
}

/* The snapshots that the log relies on: there, or replaced by newer ones. */
static int check_relied_on(struct scan *s)
{
    struct name_list names;
    int rc = store_name_list_load(&names, s->port);
    if (rc < 0) {
        return rc;
    }
    for (size_t shard = 0; shard < s->shard_count; shard++) {
        bool found = s->shards[shard].snapshot_index == 0;
        for (size_t i = 0; !found && i < names.count; i++) {
            uint32_t of_shard = 0;
            uint64_t index = 0;
            found = store_snapshot_name_parse(names.names[i], &of_shard, &index) && of_shard == shard &&
                    index >= s->shards[shard].snapshot_index;
        }
        if (!found) {
            char name[STORE_NAME_BYTES];
            store_snapshot_name((uint32_t)shard, s->shards[shard].snapshot_index, name);
            damage(s, false, name, 0, "the snapshot that the log builds on is missing");
            s->live_damage = true;
        }
    }
    for (size_t i = 0; i < s->bad_count; i++) {
        bool old = s->bad[i].shard < s->shard_count && s->bad[i].index < s->shards[s->bad[i].shard].snapshot_index;
        s->live_damage = s->live_damage || !old;
    }
    store_name_list_free(&names);
    return rc;
}

/* ---- segments ------------------------------------------------------------------------------------------------------------- */

static int compare_walks(const void *a, const void *b)
{
    uint64_t x = ((const struct walk *)a)->number;
    uint64_t y = ((const struct walk *)b)->number;
    return x < y ? -1 : x > y;
}

static void close_walks(struct scan *s)
{
    for (size_t i = 0; i < s->walk_count; i++) {
        store_walk_close(&s->walks[i], s->port);
        if (s->infos != NULL) {
            free(s->infos[i].shards);
        }
    }
    free(s->walks);
    free(s->infos);
    s->walks = NULL;
    s->infos = NULL;
    s->walk_count = 0;
}

/* A segment that became history between two looks at the folder is there once. */
static bool is_open(const struct scan *s, uint64_t number)
{
    for (size_t i = 0; i < s->walk_count; i++) {
        if (s->walks[i].number == number) {
            return true;
        }
    }
    return false;
}

/* Opens all segments that are listed. NOT_FOUND: one was removed or renamed in between. */
static int open_listed(struct scan *s)
{
    struct name_list names;
    int rc = store_name_list_load(&names, s->port);
    if (rc < 0) {
        return rc;
    }
    s->walks = calloc(names.count + 1, sizeof(*s->walks));
    if (s->walks == NULL) {
        rc = MUSTER_E_LIMIT;
    }
    for (size_t i = 0; rc >= 0 && i < names.count; i++) {
        uint64_t number = 0;
        int64_t since_ms = 0;
        bool past = store_past_name_parse(names.names[i], &number, &since_ms);
        if ((past || store_segment_name_parse(names.names[i], &number)) && !is_open(s, number)) {
            rc = store_walk_open_as(&s->walks[s->walk_count], s->port, number, names.names[i]);
            s->walk_count += rc >= 0 ? 1 : 0;
        }
    }
    store_name_list_free(&names);
    if (rc < 0) {
        close_walks(s);
        return rc;
    }
    qsort(s->walks, s->walk_count, sizeof(*s->walks), compare_walks);
    return MUSTER_E_OK;
}

static bool is_past(const struct walk *w)
{
    uint64_t number;
    int64_t since_ms;
    return store_past_name_parse(w->name, &number, &since_ms);
}

/* History that does not reach to the log (an older program trimmed in between) is not of this log any more. */
static void drop_cut_off(struct scan *s)
{
    size_t first = s->walk_count;
    while (first > 0 &&
           (first == s->walk_count || s->walks[first - 1].number + 1 == s->walks[first].number || !is_past(&s->walks[first - 1]))) {
        first--;
    }
    for (size_t i = 0; i < first; i++) {
        store_walk_close(&s->walks[i], s->port);
    }
    memmove(s->walks, s->walks + first, (s->walk_count - first) * sizeof(*s->walks));
    s->walk_count -= first;
}

static bool has_gap(const struct scan *s)
{
    for (size_t i = 1; i < s->walk_count; i++) {
        if (s->walks[i].number != s->walks[i - 1].number + 1) {
            return true;
        }
    }
    return false;
}

/* A name that changes while the folder is listed may be missed under both: a gap is looked at again before it is believed. */
static int open_segments(struct scan *s)
{
    int rc = MUSTER_E_NOT_FOUND;
    for (int i = 0; (rc == MUSTER_E_NOT_FOUND || (rc >= 0 && has_gap(s))) && i < SCAN_LIST_ATTEMPTS; i++) {
        close_walks(s);
        rc = open_listed(s);
    }
    if (rc >= 0) {
        drop_cut_off(s);
    }
    return rc;
}

/* ---- who is wanted ---- */

static int peek(struct scan *s, size_t at)
{
    struct segment_info *info = &s->infos[at];
    struct segment_header header;
    struct batch_header first;
    struct buf body;
    buf_init(&body, 0);
    int rc = store_walk_peek(&s->walks[at], s->port, &header, &first, &body);
    if (rc >= 0) {
        info->shards = calloc((size_t)first.record_count + 1, sizeof(*info->shards));
        rc = info->shards == NULL ? MUSTER_E_LIMIT : rc;
    }
    size_t used = 0;
    uint32_t count = 0;
    for (; rc >= 0 && count < first.record_count; count++) {
        struct store_record rec;
        struct store_checkpoint c;
        int len = store_record_decode(body.ptr + used, body.len - used, &rec, &c);
        if (len < 0 || rec.kind != STORE_CHECKPOINT || rec.shard != count) {
            break;
        }
        info->shards[count] = (struct store_segment_shard){c.last_index, c.snapshot_index};
        used += (size_t)len;
    }
    buf_fini(&body);
    if (rc < 0) {
        return rc == MUSTER_E_CORRUPT || rc == MUSTER_E_VERSION ? MUSTER_E_OK : rc; /* told when it is read */
    }
    info->known = count == first.record_count;
    info->segment = (struct store_segment){header.number, header.first_sequence, header.bytes, false, 0, count, info->shards};
    info->segment.past = store_past_name_parse(s->walks[at].name, &header.number, &info->segment.since_ms);
    return MUSTER_E_OK;
}

static int choose(struct scan *s)
{
    if (s->visit->wanted == NULL) {
        return MUSTER_E_OK;
    }
    s->infos = calloc(s->walk_count + 1, sizeof(*s->infos));
    int rc = s->infos == NULL ? MUSTER_E_LIMIT : MUSTER_E_OK;
    for (size_t i = 0; rc >= 0 && i < s->walk_count; i++) {
        rc = peek(s, i);
    }
    for (size_t i = 0; rc >= 0 && i < s->walk_count; i++) {
        struct segment_info *info = &s->infos[i];
        const struct segment_info *next = i + 1 < s->walk_count && info[1].known ? &info[1] : NULL;
        info->wanted = !info->known || s->visit->wanted(s->visit->ctx, &info->segment, next != NULL ? &next->segment : NULL);
    }
    return rc;
}

/* ---- reading them ---- */

static int note_record(struct scan *s, const struct store_record *r)
{
    if (r->shard >= s->shard_count) {
        if (r->shard > UINT16_MAX) {
            return MUSTER_E_MALFORMED;
        }
        size_t count = r->shard + 1;
        struct scan_shard *shards = realloc(s->shards, count * sizeof(*shards));
        if (shards == NULL) {
            return MUSTER_E_LIMIT;
        }
        memset(shards + s->shard_count, 0, (count - s->shard_count) * sizeof(*shards));
        s->shards = shards;
        s->shard_count = count;
    }
    if (r->kind == STORE_SNAPSHOT || r->kind == STORE_CHECKPOINT) {
        s->shards[r->shard].snapshot_index = r->index;
    }
    return MUSTER_E_OK;
}

static int scan_batch(struct scan *s, const struct walk *w, const struct walk_batch *b)
{
    size_t at = 0;
    if (s->visit->batch != NULL) {
        s->visit->batch(s->visit->ctx, w->name, b->offset, b->header.sequence, b->header.record_count);
    }
    s->report->batches++;
    for (uint32_t i = 0; i < b->header.record_count; i++) {
        struct store_record rec;
        struct store_checkpoint checkpoint;
        int used = store_record_decode(b->body + at, b->header.body_bytes - at, &rec, &checkpoint);
        int rc = used < 0 ? used : note_record(s, &rec);
        if (rc == MUSTER_E_MALFORMED) {
            damage(s, false, w->name, b->offset, "a record is of no form that this release knows");
            return MUSTER_E_CORRUPT;
        }
        if (rc < 0) {
            return rc;
        }
        at += (size_t)used;
        s->report->records += rec.kind == STORE_CHECKPOINT ? 0 : 1;
        if (s->visit->record != NULL) {
            s->visit->record(s->visit->ctx, &rec);
        }
    }
    return MUSTER_E_OK;
}

/* The next step, with what looks damaged read again as long as it changes. */
static int settled_step(struct scan *s, struct walk *w, struct walk_batch *b, enum walk_step *ret)
{
    enum walk_step step = store_walk_next(w, b);
    for (int i = 0; (step == WALK_TORN || step == WALK_CORRUPT) && i < SCAN_REFRESH_ATTEMPTS; i++) {
        int rc = store_walk_refresh(w, s->port);
        if (rc < 0) {
            return rc;
        }
        if (rc == 0) {
            break;
        }
        step = store_walk_next(w, b);
    }
    *ret = step;
    return MUSTER_E_OK;
}

static int scan_segment(struct scan *s, struct walk *w, bool newest)
{
    struct walk_batch b;
    enum walk_step step = WALK_CLEAN;
    int rc = settled_step(s, w, &b, &step);
    while (rc >= 0 && step == WALK_BATCH) {
        rc = scan_batch(s, w, &b);
        if (rc >= 0) {
            rc = settled_step(s, w, &b, &step);
        }
    }
    if (rc < 0) {
        return rc;
    }
    if (step == WALK_CORRUPT || (step == WALK_TORN && !newest)) {
        damage(s, false, w->name, w->at, step == WALK_CORRUPT ? w->reason : "a damaged batch is followed by a good segment");
        return MUSTER_E_CORRUPT;
    }
    if (step == WALK_TORN) {
        damage(s, true, w->name, w->at, w->reason);
    }
    s->report->segments++;
    return MUSTER_E_OK;
}

static int load_segment(struct scan *s, struct walk *w, const struct walk *before)
{
    int rc = store_walk_load(w, s->port);
    if (rc >= 0 && before != NULL && !store_walk_follows(w, before)) {
        rc = MUSTER_E_CORRUPT;
    }
    if (rc == MUSTER_E_CORRUPT || rc == MUSTER_E_VERSION) {
        damage(s, false, w->name, 0, w->reason);
        return MUSTER_E_CORRUPT;
    }
    return rc;
}

/* CORRUPT: damage has been told, and nothing behind it is shown. Damage in history leaves a gap instead. */
static int scan_segments(struct scan *s)
{
    const struct walk *before = NULL; /* the neighbour, when it was read to its end */
    for (size_t i = 0; i < s->walk_count; i++) {
        struct walk *w = &s->walks[i];
        if (s->infos != NULL && !s->infos[i].wanted) {
            before = NULL;
            continue;
        }
        w->data = s->spare;
        int rc = load_segment(s, w, before);
        if (rc >= 0) {
            rc = scan_segment(s, w, i + 1 == s->walk_count);
        }
        store_walk_unload(w, &s->spare);
        bool gap = rc == MUSTER_E_CORRUPT && is_past(w);
        if (rc < 0 && !gap) {
            s->live_damage = true;
            return rc;
        }
        before = gap ? NULL : w;
    }
    return MUSTER_E_OK;
}

/* ---- the whole ------------------------------------------------------------------------------------------------------------- */

static int check_log_missing(struct scan *s)
{
    struct store_identity identity;
    bool begun = false;
    int rc = store_identity_load(s->port, &identity, &begun);
    if (rc == MUSTER_E_CORRUPT || rc == MUSTER_E_VERSION) {
        damage(s, false, STORE_IDENTITY_NAME, 0, "the identity file is damaged");
        s->live_damage = true;
        rc = MUSTER_E_OK;
    }
    if (rc < 0 && rc != MUSTER_E_NOT_FOUND) {
        return rc;
    }
    if (s->walk_count == 0 && (begun || s->any_snapshot)) {
        char name[STORE_NAME_BYTES];
        store_segment_name(1, name);
        damage(s, false, name, 0, "the folder was in use and its log is missing");
        s->live_damage = true;
    }
    return MUSTER_E_OK;
}

int store_scan(const struct store_port *port, const struct store_visit *visit, struct store_report *report)
{
    memset(report, 0, sizeof(*report));
    struct scan s = {.port = port, .visit = visit, .report = report};
    int rc = scan_snapshots(&s);
    if (rc >= 0) {
        rc = open_segments(&s);
    }
    if (rc >= 0) {
        rc = check_log_missing(&s);
    }
    if (rc >= 0) {
        rc = choose(&s);
    }
    if (rc >= 0) {
        rc = scan_segments(&s);
    }
    if (rc >= 0) {
        rc = check_relied_on(&s);
    }
    close_walks(&s);
    buf_fini(&s.spare);
    free(s.shards);
    free(s.bad);
    report->only_past = s.result == MUSTER_E_CORRUPT && !s.live_damage;
    if (rc < 0 && rc != MUSTER_E_CORRUPT) {
        (void)snprintf(report->text, sizeof(report->text), "the data folder cannot be read: %s", muster_strerror(rc));
        return rc;
    }
    return s.result;
}
