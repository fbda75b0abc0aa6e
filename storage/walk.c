/* walk.c: going through the batches of one segment. */
#include "walk.h"
#include "file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SEGMENT_LIMIT_BYTES ((uint64_t)1 << 32)

int store_walk_open(struct walk *w, const struct store_port *port, uint64_t number)
{
    char name[STORE_NAME_BYTES];
    store_segment_name(number, name);
    return store_walk_open_as(w, port, number, name);
}

int store_walk_open_as(struct walk *w, const struct store_port *port, uint64_t number, const char *name)
{
    memset(w, 0, sizeof(*w));
    buf_init(&w->data, 0);
    w->number = number;
    (void)snprintf(w->name, sizeof(w->name), "%s", name);
    int rc = port->open(port->ctx, w->name, false, false, &w->file);
    if (rc < 0) {
        w->file = -1;
    }
    return rc;
}

int store_walk_load(struct walk *w, const struct store_port *port)
{
    int rc = store_file_load(port, w->file, SEGMENT_LIMIT_BYTES, &w->data);
    if (rc < 0) {
        return rc;
    }
    rc = store_segment_decode(w->data.ptr, w->data.len, &w->header);
    if (rc == MUSTER_E_VERSION) {
        (void)snprintf(w->reason, sizeof(w->reason), "the segment has a format version that this release does not know");
        return rc;
    }
    if (rc < 0) {
        (void)snprintf(w->reason, sizeof(w->reason), "the segment's header is damaged or cut off (file of %zu bytes)", w->data.len);
        return rc;
    }
    if (w->header.number != w->number) {
        (void)snprintf(w->reason, sizeof(w->reason), "the file holds segment %" PRIu64 ", its name says %" PRIu64, w->header.number,
                       w->number);
        return MUSTER_E_CORRUPT;
    }
    w->at = SEGMENT_HEADER_BYTES;
    w->sequence = w->header.first_sequence;
    return MUSTER_E_OK;
}

int store_walk_peek(const struct walk *w, const struct store_port *port, struct segment_header *ret_header, struct batch_header *ret_first,
                    struct buf *out)
{
    uint8_t head[SEGMENT_HEADER_BYTES + BATCH_HEADER_BYTES];
    int rc = store_file_read(port, w->file, 0, head, sizeof(head));
    if (rc >= 0) {
        rc = store_segment_decode(head, SEGMENT_HEADER_BYTES, ret_header);
    }
    if (rc < 0) {
        return rc == MUSTER_E_TRUNCATED ? MUSTER_E_CORRUPT : rc;
    }
    if (!store_batch_header_decode(head + SEGMENT_HEADER_BYTES, BATCH_HEADER_BYTES, ret_header->salt, ret_first) ||
        ret_first->body_bytes > (UINT16_MAX + 1) * (uint32_t)CHECKPOINT_RECORD_BYTES) {
        return MUSTER_E_CORRUPT;
    }
    size_t bytes = BATCH_HEADER_BYTES + (size_t)ret_first->body_bytes;
    uint8_t *batch = buf_add(out, bytes);
    rc = batch == NULL ? MUSTER_E_LIMIT : store_file_read(port, w->file, SEGMENT_HEADER_BYTES, batch, bytes);
    if (rc == MUSTER_E_TRUNCATED || (rc >= 0 && !store_batch_decode(batch, bytes, ret_header->salt, ret_first))) {
        return MUSTER_E_CORRUPT;
    }
    if (rc >= 0) {
        buf_drop_front(out, BATCH_HEADER_BYTES);
    }
    return rc;
}

void store_walk_unload(struct walk *w, struct buf *ret_memory)
{
    *ret_memory = w->data;
    buf_clear(ret_memory);
    buf_init(&w->data, 0);
}

void store_walk_close(struct walk *w, const struct store_port *port)
{
    if (w->file >= 0) {
        port->close(port->ctx, w->file);
        w->file = -1;
    }
    buf_fini(&w->data);
}

/* Proof that a later batch was begun, so that the one at w->at had been synced: a good header with a higher number anywhere behind, or
 * bytes behind the end that the bad batch's own good header gives it. The batch's own good header in another place is none of a torn write, either: the disk
 * has put it where it does not belong, and may have said that it is synced. */
static bool later_begun(const struct walk *w, size_t *ret_offset)
{
    struct batch_header h;
    const uint8_t *data = w->data.ptr;
    size_t len = w->data.len;
    if (store_batch_header_decode(data + w->at, len - w->at, w->header.salt, &h) && h.sequence == w->sequence) {
        size_t end = w->at + BATCH_HEADER_BYTES + h.body_bytes;
        if (end < len && !store_all_zero(data + end, len - end)) {
            *ret_offset = end;
            return true;
        }
    }
#ifdef MUSTER_FAULT_MISDIRECTED_AS_TORN
    const uint64_t own = w->sequence + 1;
#else
    const uint64_t own = w->sequence;
#endif
    for (size_t at = w->at; at + BATCH_HEADER_BYTES <= len; at += BATCH_ALIGN_BYTES) {
        if (store_batch_header_decode(data + at, len - at, w->header.salt, &h) && h.sequence >= (at > w->at ? own : w->sequence + 1)) {
            *ret_offset = at;
            return true;
        }
    }
    return false;
}

static enum walk_step judge_end(struct walk *w)
{
    size_t offset = 0;
    bool first = w->at == SEGMENT_HEADER_BYTES;
    bool zero = store_all_zero(w->data.ptr + w->at, w->data.len - w->at);
    if (!zero && later_begun(w, &offset)) {
        (void)snprintf(w->reason, sizeof(w->reason),
                       "batch %" PRIu64 " is damaged or missing although it or a later one was written, at offset %zu", w->sequence,
                       offset);
        return WALK_CORRUPT;
    }
    if (first) { /* synced before the segment got its name: no torn write can explain it */
        (void)snprintf(w->reason, sizeof(w->reason), "the segment's first batch, %" PRIu64 ", is damaged or cut off", w->sequence);
        return WALK_CORRUPT;
    }
    if (zero) {
        return WALK_CLEAN;
    }
    (void)snprintf(w->reason, sizeof(w->reason), "batch %" PRIu64 " is incomplete and nothing good follows: the last write was torn",
                   w->sequence);
    return WALK_TORN;
}

enum walk_step store_walk_next(struct walk *w, struct walk_batch *ret)
{
    const uint8_t *src = w->data.ptr + w->at;
    struct batch_header h;
    if (!store_batch_decode(src, w->data.len - w->at, w->header.salt, &h) || h.sequence != w->sequence) {
        return judge_end(w);
    }
    *ret = (struct walk_batch){.header = h, .offset = w->at, .body = src + BATCH_HEADER_BYTES};
    memcpy(w->last_header, src, BATCH_HEADER_BYTES);
    w->at += BATCH_HEADER_BYTES + h.body_bytes;
    w->sequence++;
    return WALK_BATCH;
}

int store_walk_refresh(struct walk *w, const struct store_port *port)
{
    uint64_t bytes = 0;
    int rc = port->size(port->ctx, w->file, &bytes);
    if (rc < 0) {
        return rc;
    }
    if (bytes > SEGMENT_LIMIT_BYTES || bytes < w->at) {
        return 0;
    }
    struct buf again;
    buf_init(&again, 0);
    uint8_t *dst = buf_add(&again, (size_t)bytes - w->at);
    size_t got = 0;
    rc = dst == NULL ? MUSTER_E_LIMIT : port->read(port->ctx, w->file, w->at, dst, again.len, &got);
    if (rc >= 0) {
        size_t old = w->data.len - w->at;
        rc = old != got || memcmp(dst, w->data.ptr + w->at, got) != 0 ? 1 : 0;
        w->data.len = w->at;
        if (buf_put(&w->data, dst, got) < 0) {
            rc = MUSTER_E_LIMIT;
        }
    }
    buf_fini(&again);
    return rc;
}

bool store_walk_follows(struct walk *w, const struct walk *prev)
{
    if (w->header.number != prev->header.number + 1) {
        (void)snprintf(w->reason, sizeof(w->reason), "segment %" PRIu64 " is missing", prev->header.number + 1);
        return false;
    }
    if (w->header.first_sequence != prev->sequence || w->header.salt != store_next_salt(prev->header.salt, prev->last_header)) {
        (void)snprintf(w->reason, sizeof(w->reason), "the segment does not continue the one before, which ends with batch %" PRIu64,
                       prev->sequence - 1);
        return false;
    }
    return true;
}
