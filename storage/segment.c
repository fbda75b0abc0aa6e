/* segment.c: making segments: ahead of need, from the reserve, and the switch to a new one.
 *
 * A segment gets its name only when its header and first batch are on disk, so a named segment with a bad front is damage, never a torn write. */
#include "log.h"
#include "file.h"
#include "names.h"

#include <stdlib.h>
#include <string.h>

enum { PREPARE_SLICE_BYTES = 256 * 1024 };

uint64_t store_segment_head_bytes(const struct store *s)
{
    return SEGMENT_HEADER_BYTES + BATCH_HEADER_BYTES + (uint64_t)CHECKPOINT_RECORD_BYTES * s->options.shard_count;
}

/* ---- ahead of need ------------------------------------------------------------------------------------------------- */

void store_next_discard(struct store *s)
{
    if (s->next_file >= 0) {
        s->port.close(s->port.ctx, s->next_file);
        s->next_file = -1;
    }
    s->next_bytes = 0;
    (void)s->port.remove(s->port.ctx, STORE_NEXT_NAME);
}

static int next_grow(struct store *s, uint64_t bytes)
{
    int rc = MUSTER_E_OK;
    if (s->next_file < 0) {
        s->next_bytes = 0;
        rc = store_file_remove(&s->port, STORE_NEXT_NAME);
        if (rc >= 0) {
            rc = s->port.open(s->port.ctx, STORE_NEXT_NAME, true, true, &s->next_file);
        }
    }
    if (rc >= 0) {
        rc = s->port.allocate(s->port.ctx, s->next_file, bytes);
    }
    if (rc >= 0) {
        rc = s->port.sync(s->port.ctx, s->next_file);
    }
    if (rc < 0) {
        store_next_discard(s); /* its blocks may be what others need now */
        return rc;
    }
    s->next_bytes = bytes;
    return MUSTER_E_OK;
}

/* The file is no part of the log yet, but a disk that fails here has failed. */
static int next_result(struct store *s, int rc)
{
    return rc < 0 && rc != MUSTER_E_FULL ? store_die(s, rc) : rc;
}

int store_next_prepare(struct store *s, uint64_t bytes)
{
    if (s->next_file >= 0 && s->next_bytes >= bytes) {
        return MUSTER_E_OK;
    }
    return next_result(s, next_grow(s, bytes));
}

void store_prepare(struct store *s)
{
    if (s->dead) {
        return;
    }
    const struct segment *last = &s->segments[s->segment_count - 1];
    uint64_t target = s->options.segment_bytes;
    uint64_t due = target / 1000 * (s->offset * 2000 / last->bytes); /* twice as far as the current one is used */
    if (s->next_bytes >= target || s->next_bytes >= due) {
        return;
    }
    uint64_t bytes = s->next_bytes + PREPARE_SLICE_BYTES < target ? s->next_bytes + PREPARE_SLICE_BYTES : target;
    (void)next_result(s, next_grow(s, bytes));
}

/* ---- the reserve ----------------------------------------------------------------------------------------------------- */

static int reserve_write(struct store *s)
{
    int file = -1;
    int rc = store_file_remove(&s->port, STORE_RESERVE_TMP_NAME);
    if (rc >= 0) {
        rc = s->port.open(s->port.ctx, STORE_RESERVE_TMP_NAME, true, true, &file);
    }
    if (rc < 0) {
        return rc;
    }
    rc = s->port.allocate(s->port.ctx, file, s->options.reserve_bytes);
    if (rc >= 0) {
        rc = s->port.sync(s->port.ctx, file);
    }
    s->port.close(s->port.ctx, file);
    return rc;
}

int store_reserve_make(struct store *s)
{
    if (s->reserve_ready || s->options.reserve_bytes == 0) {
        return MUSTER_E_OK;
    }
    int rc = reserve_write(s);
    if (rc >= 0) {
        rc = s->port.rename(s->port.ctx, STORE_RESERVE_TMP_NAME, STORE_RESERVE_NAME);
    }
    if (rc >= 0) {
        rc = s->port.sync_dir(s->port.ctx);
    }
    if (rc < 0) {
        (void)s->port.remove(s->port.ctx, STORE_RESERVE_TMP_NAME);
        return rc;
    }
    s->reserve_ready = true;
    return MUSTER_E_OK;
}

/* The reserve becomes the segment prepared ahead. Under its new name first: a crash in between leaves no half-used reserve. */
static int reserve_take(struct store *s)
{
    store_next_discard(s);
    s->reserve_ready = false;
    int rc = s->port.rename(s->port.ctx, STORE_RESERVE_NAME, STORE_NEXT_NAME);
    if (rc >= 0) {
        rc = s->port.open(s->port.ctx, STORE_NEXT_NAME, false, true, &s->next_file);
    }
    if (rc < 0) {
        s->next_file = -1;
        return rc;
    }
    s->next_bytes = s->options.reserve_bytes;
    return MUSTER_E_OK;
}

/* ---- the switch ------------------------------------------------------------------------------------------------------ */

int store_segment_push(struct store *s, uint64_t number, uint64_t bytes)
{
    if (s->segment_count == s->segment_cap) {
        size_t cap = s->segment_cap == 0 ? 16 : s->segment_cap * 2;
        struct segment *segments = realloc(s->segments, cap * sizeof(*segments));
        if (segments == NULL) {
            return MUSTER_E_LIMIT;
        }
        s->segments = segments;
        s->segment_cap = cap;
    }
    uint64_t *last_entries = calloc(s->options.shard_count, sizeof(*last_entries));
    if (last_entries == NULL) {
        return MUSTER_E_LIMIT;
    }
    s->segments[s->segment_count++] = (struct segment){number, bytes, last_entries};
    return MUSTER_E_OK;
}

void store_segments_note(struct store *s, const struct store_record *r)
{
    bool empties = r->kind == STORE_SNAPSHOT && r->entry_type == SNAPSHOT_EMPTIES_LOG;
    if (r->kind != STORE_ENTRY && !empties) {
        return;
    }
    uint64_t erased_from = empties ? 1 : r->index; /* entries from here on no longer count, wherever they are */
    for (size_t i = s->segment_count; i > 0; i--) {
        uint64_t *last = &s->segments[i - 1].last_entries[r->shard];
        if (*last == 0) {
            continue; /* no entry of this shard: look further back */
        }
        if (*last < erased_from) {
            break;
        }
        *last = erased_from - 1;
    }
    if (r->kind == STORE_ENTRY) {
        s->segments[s->segment_count - 1].last_entries[r->shard] = r->index;
    }
}

/* Header and checkpoint of the segment into s->head, and the seal on the batch in s->out. */
static int head_encode(struct store *s, const struct segment_header *h, uint32_t record_count)
{
    buf_clear(&s->head);
    uint8_t *at = buf_add(&s->head, SEGMENT_HEADER_BYTES);
    if (at == NULL) {
        return MUSTER_E_LIMIT;
    }
    store_segment_encode(h, at);
    int rc = store_batch_begin(&s->head);
    for (uint32_t shard = 0; rc >= 0 && shard < s->options.shard_count; shard++) {
        rc = store_checkpoint_add(&s->head, shard, &s->shards[shard].at);
    }
    if (rc >= 0) {
        rc = store_batch_pad(&s->head, SEGMENT_HEADER_BYTES);
    }
    if (rc < 0) {
        return rc;
    }
    store_batch_end(s->head.ptr + SEGMENT_HEADER_BYTES, s->head.len - SEGMENT_HEADER_BYTES, h->salt, h->first_sequence,
                    s->options.shard_count);
    if (s->out.len > 0) {
        store_batch_end(s->out.ptr, s->out.len, h->salt, h->first_sequence + 1, record_count);
    }
    return MUSTER_E_OK;
}

static int head_write(struct store *s, uint64_t number)
{
    char name[STORE_NAME_BYTES];
    struct bytes parts[2] = {{s->head.ptr, (int32_t)s->head.len}, {s->out.ptr, (int32_t)s->out.len}};
    int rc = s->port.write(s->port.ctx, s->next_file, 0, parts, s->out.len > 0 ? 2 : 1);
    if (rc < 0) {
        return rc; /* FULL on a file system that copies on write */
    }
    rc = s->port.sync(s->port.ctx, s->next_file);
    if (rc < 0) {
        return store_die(s, rc);
    }
    store_segment_name(number, name);
    rc = s->port.rename(s->port.ctx, STORE_NEXT_NAME, name);
    if (rc < 0) {
        return rc;
    }
    rc = s->port.sync_dir(s->port.ctx);
    return rc < 0 ? store_die(s, rc) : MUSTER_E_OK;
}

/* The new segment is on disk: make it the current one. */
static void switch_done(struct store *s, const struct segment_header *h)
{
    if (s->file >= 0) {
        s->port.close(s->port.ctx, s->file);
    }
    s->file = s->next_file;
    s->next_file = -1;
    s->next_bytes = 0;
    s->salt = h->salt;
    s->in_reserve = h->reserve;
    s->offset = s->head.len + s->out.len;
    s->sequence = h->first_sequence + (s->out.len > 0 ? 2 : 1);
    memcpy(s->last_header, s->out.len > 0 ? s->out.ptr : s->head.ptr + SEGMENT_HEADER_BYTES, BATCH_HEADER_BYTES);
    atomic_fetch_add_explicit(&s->shown.syncs, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->shown.batches, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&s->shown.bytes, s->head.len, memory_order_relaxed);
    store_show_segments(s);
}

int store_segment_switch(struct store *s, uint32_t record_count, bool from_reserve)
{
    uint64_t head = store_segment_head_bytes(s);
    uint64_t need = (head + BATCH_ALIGN_BYTES - 1) / BATCH_ALIGN_BYTES * BATCH_ALIGN_BYTES + s->out.len;
    uint64_t bytes = need > s->options.segment_bytes ? need : s->options.segment_bytes;
    int rc;
    if (from_reserve) {
        if (!s->reserve_ready || need > s->options.reserve_bytes) {
            return MUSTER_E_FULL;
        }
        rc = next_result(s, reserve_take(s));
    } else {
        rc = store_next_prepare(s, bytes);
    }
    if (rc < 0) {
        return rc;
    }
    bytes = s->next_bytes;
    struct segment_header h = {
        .number = s->segment_count > 0 ? s->segments[s->segment_count - 1].number + 1 : 1,
        .first_sequence = s->sequence,
        .salt = s->sequence > 1 ? store_next_salt(s->salt, s->last_header) : s->salt,
        .bytes = bytes,
        .reserve = from_reserve,
    };
    rc = head_encode(s, &h, record_count);
    if (rc >= 0) {
        rc = head_write(s, h.number);
    }
    if (rc < 0) {
        store_next_discard(s);
        return next_result(s, rc);
    }
    rc = store_segment_push(s, h.number, bytes);
    if (rc < 0) {
        return store_die(s, rc);
    }
    switch_done(s, &h);
    return MUSTER_E_OK;
}
