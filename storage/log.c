/* log.c: writing batches. A batch counts when its sync has returned; until then nothing of it has happened.
 *
 * FULL leaves the store as it was. Any other failure kills it: after a failed fsync nobody knows what the disk has. */
#include "log.h"
#include "file.h"
#include "names.h"

#include <stdlib.h>
#include <string.h>

int store_die(struct store *s, int rc)
{
    s->dead = true;
    return rc == MUSTER_E_LIMIT ? rc : MUSTER_E_IO;
}

int store_batch_sync(struct store *s, int file, bool only_terms)
{
    (void)only_terms;
#ifdef MUSTER_FAULT_NO_FDATASYNC
    (void)s;
    (void)file;
    return MUSTER_E_OK;
#else
#ifdef MUSTER_FAULT_VOTE_NOT_SYNCED
    if (only_terms) {
        return MUSTER_E_OK;
    }
#endif
    return s->port.sync(s->port.ctx, file);
#endif
}

/* ---- checking -------------------------------------------------------------------------------------------------------- */

static struct store_checkpoint *probe_of(struct store *s, uint32_t shard)
{
    if (s->probe_marks[shard] != s->probe_mark) {
        s->probe_marks[shard] = s->probe_mark;
        s->probes[shard] = s->shards[shard].at;
    }
    return &s->probes[shard];
}

/* The term of the entry at index as the log will be after the first `count` records of the batch; 0: there is no such entry. */
static uint64_t term_at(const struct store *s, const struct store_record *records, size_t count, uint32_t shard, uint64_t index)
{
    for (size_t i = count; i > 0; i--) {
        const struct store_record *r = &records[i - 1];
        if (r->shard == shard && r->kind == STORE_ENTRY && r->index == index) {
            return r->term;
        }
    }
    return shard_log_term_at(&s->shards[shard], index);
}

/* Whether the entries of the shard survive this snapshot: only if the snapshot's last entry is one of them. */
static uint8_t snapshot_effect(const struct store *s, const struct store_record *records, size_t i, const struct store_checkpoint *probe)
{
    const struct store_record *r = &records[i];
    if (r->index == probe->snapshot_index && r->term == probe->snapshot_term) {
        return SNAPSHOT_KEEPS_ENTRIES;
    }
    if (r->index > probe->last_index || term_at(s, records, i, r->shard, r->index) != r->term) {
        return SNAPSHOT_EMPTIES_LOG;
    }
    return SNAPSHOT_KEEPS_ENTRIES;
}

static int snapshot_exists(const struct store *s, const struct store_record *r)
{
    char name[STORE_NAME_BYTES];
    int file = -1;
    store_snapshot_name(r->shard, r->index, name);
    int rc = s->port.open(s->port.ctx, name, false, false, &file);
    if (rc >= 0) {
        s->port.close(s->port.ctx, file);
    }
    return rc;
}

/* Record i as it goes to disk: with what a snapshot does to the entries, and a trim that never goes back. */
static struct store_record record_settled(const struct store *s, const struct store_record *records, size_t i,
                                          const struct store_checkpoint *probe)
{
    struct store_record r = records[i];
    if (r.kind == STORE_SNAPSHOT) {
        r.entry_type = snapshot_effect(s, records, i, probe);
        r.trim = r.trim > probe->trim ? r.trim : probe->trim;
    }
    return r;
}

/* Checks record i against what comes before it and adds it to the batch in s->out. */
static int record_take(struct store *s, const struct store_record *records, size_t i)
{
    const struct store_record *raw = &records[i];
    if (raw->shard >= s->options.shard_count) {
        return MUSTER_E_INVALID;
    }
    if (raw->kind == STORE_ENTRY && raw->payload.len > 0 && (uint64_t)raw->payload.len > s->options.entry_max_bytes) {
        return MUSTER_E_LIMIT;
    }
    struct store_checkpoint *probe = probe_of(s, raw->shard);
    struct store_record r = record_settled(s, records, i, probe);
    int rc = shard_state_check(probe, &r);
    if (rc >= 0 && r.kind == STORE_SNAPSHOT) {
        rc = snapshot_exists(s, &r);
    }
    if (rc < 0) {
        return rc;
    }
    shard_state_apply(probe, &r);
    return store_batch_add(&s->out, &r);
}

static int batch_build(struct store *s, const struct store_record *records, size_t count)
{
    s->probe_mark++;
    buf_clear(&s->out);
    int rc = store_batch_begin(&s->out);
    for (size_t i = 0; rc >= 0 && i < count; i++) {
        rc = record_take(s, records, i);
    }
    for (size_t i = 0; rc >= 0 && i < count; i++) {
        if (records[i].kind == STORE_ENTRY) {
            rc = shard_log_reserve(&s->shards[records[i].shard], count);
        }
    }
    return rc < 0 ? rc : store_batch_pad(&s->out, 0);
}

/* ---- writing --------------------------------------------------------------------------------------------------------- */

/* Zeros over what a write that failed with FULL may have left: else it could pass for a torn batch before a good segment. */
static int scrub(struct store *s)
{
    if (s->dirty_end == 0) {
        return MUSTER_E_OK;
    }
    int rc = store_file_zero(&s->port, s->file, s->offset, s->dirty_end);
    if (rc == MUSTER_E_FULL) {
        return rc;
    }
    if (rc >= 0) {
        rc = s->port.sync(s->port.ctx, s->file);
    }
    if (rc < 0) {
        return store_die(s, rc);
    }
    s->dirty_end = 0;
    return MUSTER_E_OK;
}

static int write_here(struct store *s, uint32_t count, bool only_terms)
{
    store_batch_end(s->out.ptr, s->out.len, s->salt, s->sequence, count);
    struct bytes part = {s->out.ptr, (int32_t)s->out.len};
    int rc = s->port.write(s->port.ctx, s->file, s->offset, &part, 1);
    if (rc == MUSTER_E_FULL) {
        s->dirty_end = s->offset + s->out.len;
        return rc;
    }
    if (rc >= 0) {
        rc = store_batch_sync(s, s->file, only_terms);
    }
    if (rc < 0) {
        return store_die(s, rc);
    }
    s->offset += s->out.len;
    s->sequence++;
    memcpy(s->last_header, s->out.ptr, BATCH_HEADER_BYTES);
    atomic_fetch_add_explicit(&s->shown.syncs, 1, memory_order_relaxed);
    return MUSTER_E_OK;
}

static bool fits_here(const struct store *s)
{
    return s->out.len <= s->segments[s->segment_count - 1].bytes - s->offset;
}

/* Changes that are no votes: never into the reserve, and the reserve is made again before anything else takes the space. */
static int write_change(struct store *s, uint32_t count)
{
    if (!s->in_reserve && fits_here(s)) {
        return write_here(s, count, false);
    }
    int rc = store_reserve_make(s);
    if (rc < 0) {
        return rc == MUSTER_E_FULL ? rc : store_die(s, rc);
    }
    return store_segment_switch(s, count, false);
}

static int write_terms(struct store *s, uint32_t count)
{
    int rc = fits_here(s) ? write_here(s, count, true) : store_segment_switch(s, count, false);
    if (rc != MUSTER_E_FULL) {
        return rc;
    }
    rc = scrub(s);
    return rc < 0 ? rc : store_segment_switch(s, count, true);
}

static void batch_applied(struct store *s, const struct store_record *records, size_t count)
{
    bool replaced = false;
    for (size_t i = 0; i < count; i++) {
        struct shard_log *shard = &s->shards[records[i].shard];
        struct store_record r = record_settled(s, records, i, &shard->at);
        shard_log_apply(shard, &r);
        store_segments_note(s, &r);
        replaced = replaced || r.kind == STORE_SNAPSHOT;
    }
    if (replaced) {
        (void)store_history_settle(s); /* what cannot be removed now goes the next time */
    }
    s->batches_since_open++;
    atomic_fetch_add_explicit(&s->shown.batches, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->shown.records, count, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->shown.bytes, s->out.len, memory_order_relaxed);
}

int store_write(struct store *s, const struct store_record *records, size_t count)
{
    if (s->dead) {
        return MUSTER_E_IO;
    }
    if (count == 0) {
        return MUSTER_E_OK;
    }
    if (count > UINT32_MAX) {
        return MUSTER_E_LIMIT;
    }
    int rc = batch_build(s, records, count);
    if (rc < 0) {
        return rc == MUSTER_E_IO ? store_die(s, rc) : rc;
    }
    bool only_terms = true;
    for (size_t i = 0; i < count; i++) {
        only_terms = only_terms && records[i].kind == STORE_TERM;
    }
    do {
        rc = scrub(s);
        if (rc >= 0) {
            rc = only_terms ? write_terms(s, (uint32_t)count) : write_change(s, (uint32_t)count);
        }
    } while (rc == MUSTER_E_FULL && store_history_give_up(s));
    if (rc == MUSTER_E_FULL) {
        atomic_fetch_add_explicit(&s->shown.full_events, 1, memory_order_relaxed);
    }
    if (rc >= 0) {
        batch_applied(s, records, count);
    }
    return rc;
}

/* ---- closing --------------------------------------------------------------------------------------------------------- */

/* An empty batch behind the last one: from now on damage to what was acknowledged last can be told from a torn write. */
static void seal(struct store *s)
{
    if (s->dead || s->batches_since_open == 0 || scrub(s) < 0) {
        return;
    }
    buf_clear(&s->out);
    if (store_batch_begin(&s->out) >= 0 && fits_here(s)) {
        (void)write_here(s, 0, false);
    }
}

void store_close(struct store *s)
{
    if (s == NULL) {
        return;
    }
    seal(s);
    store_next_discard(s);
    store_delete(s);
}

void store_stats(const struct store *s, struct store_stats *ret)
{
    const struct store_shown *shown = &s->shown;
    *ret = (struct store_stats){
        .batches = atomic_load_explicit(&shown->batches, memory_order_relaxed),
        .records = atomic_load_explicit(&shown->records, memory_order_relaxed),
        .bytes = atomic_load_explicit(&shown->bytes, memory_order_relaxed),
        .syncs = atomic_load_explicit(&shown->syncs, memory_order_relaxed),
        .segments = atomic_load_explicit(&shown->segments, memory_order_relaxed),
        .log_bytes = atomic_load_explicit(&shown->log_bytes, memory_order_relaxed),
        .full_events = atomic_load_explicit(&shown->full_events, memory_order_relaxed),
        .history_segments = atomic_load_explicit(&shown->history_segments, memory_order_relaxed),
        .history_snapshots = atomic_load_explicit(&shown->history_snapshots, memory_order_relaxed),
        .history_bytes = atomic_load_explicit(&shown->history_bytes, memory_order_relaxed),
        .history_since_ms = atomic_load_explicit(&shown->history_since_ms, memory_order_relaxed),
        .history_given_up = atomic_load_explicit(&shown->history_given_up, memory_order_relaxed),
    };
}
