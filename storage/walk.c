/* walk.c: going through the batches of one segment. */
#include "walk.h"
#include "file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SEGMENT_LIMIT_BYTES ((uint64_t)1 << 32)

enum { WINDOW_BYTES = 256 * 1024 }; /* small enough to stay in the processor's cache while its batches are checked */

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

/* The bytes that are there from the place on where the next batch is expected. */
static const uint8_t *rest(const struct walk *w, size_t *ret_len)
{
    *ret_len = w->data.len - (w->at - w->base);
    return w->data.ptr + (w->at - w->base);
}

/* Makes bytes from w->at on be there: as many, or all up to the file's end. */
static int need(struct walk *w, size_t bytes)
{
    size_t have = w->data.len - (w->at - w->base);
    size_t left = w->file_bytes - w->at;
    if (w->port == NULL || have >= bytes || have >= left) {
        return MUSTER_E_OK;
    }
    buf_drop_front(&w->data, w->at - w->base);
    w->base = w->at;
    size_t more = (bytes > WINDOW_BYTES ? bytes : WINDOW_BYTES) - have;
    more = more < left - have ? more : left - have;
    uint8_t *dst = buf_add(&w->data, more);
    size_t got = 0;
    int rc = dst == NULL ? MUSTER_E_LIMIT : w->port->read(w->port->ctx, w->file, w->base + have, dst, more, &got);
    if (rc >= 0 && got < more) { /* shorter than it said: what is missing cannot be a batch */
        w->data.len = have + got;
        w->file_bytes = w->base + w->data.len;
    }
    return rc;
}

static int read_segment_header(struct walk *w)
{
    int rc = store_segment_decode(w->data.ptr, w->data.len, &w->header);
    if (rc == MUSTER_E_VERSION) {
        (void)snprintf(w->reason, sizeof(w->reason), "the segment has a format version that this release does not know");
        return rc;
    }
    if (rc < 0) {
        (void)snprintf(w->reason, sizeof(w->reason), "the segment's header is damaged or cut off (file of %zu bytes)", w->file_bytes);
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

int store_walk_load(struct walk *w, const struct store_port *port)
{
    int rc = store_file_load(port, w->file, SEGMENT_LIMIT_BYTES, &w->data);
    w->file_bytes = w->data.len;
    return rc < 0 ? rc : read_segment_header(w);
}

int store_walk_begin(struct walk *w, const struct store_port *port)
{
    uint64_t bytes = 0;
    int rc = port->size(port->ctx, w->file, &bytes);
    if (rc < 0) {
        return rc;
    }
    if (bytes > SEGMENT_LIMIT_BYTES) {
        return MUSTER_E_LIMIT;
    }
    w->port = port;
    w->file_bytes = (size_t)bytes;
    rc = need(w, SEGMENT_HEADER_BYTES);
    return rc < 0 ? rc : read_segment_header(w);
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

/* ---- how a segment ends ------------------------------------------------------------------------------------------------------ */

/* Whether nothing but zeros follows; if something else does, all that follows is there afterwards. */
static int look_behind(struct walk *w, bool *ret_zero)
{
    size_t len = 0;
    int rc = MUSTER_E_OK;
    const size_t at = w->at;
    do {
        const uint8_t *bytes = rest(w, &len);
        *ret_zero = store_all_zero(bytes, len);
        w->at += len;
        rc = *ret_zero && w->at < w->file_bytes ? need(w, 1) : MUSTER_E_OK;
    } while (rc >= 0 && *ret_zero && w->at < w->file_bytes);
    w->at = at;
    if (w->port != NULL) {
        w->base = at;
        buf_clear(&w->data);
        rc = rc >= 0 && !*ret_zero ? need(w, w->file_bytes - at) : rc;
    }
    return rc;
}

/* Proof that a later batch was begun, so that the one at w->at had been synced: a good header with a higher number anywhere behind, or
 * bytes behind the end that the bad batch's own good header gives it. The batch's own good header in another place is none of a torn write, either: the disk
 * has put it where it does not belong, and may have said that it is synced. */
static bool later_begun(const struct walk *w, size_t *ret_offset)
{
    struct batch_header h;
    size_t len;
    const uint8_t *data = rest(w, &len);
    if (store_batch_header_decode(data, len, w->header.salt, &h) && h.sequence == w->sequence) {
        size_t end = BATCH_HEADER_BYTES + (size_t)h.body_bytes;
        if (end < len && !store_all_zero(data + end, len - end)) {
            *ret_offset = w->at + end;
            return true;
        }
    }
#ifdef MUSTER_FAULT_MISDIRECTED_AS_TORN
    const uint64_t own = w->sequence + 1;
#else
    const uint64_t own = w->sequence;
#endif
    for (size_t at = 0; at + BATCH_HEADER_BYTES <= len; at += BATCH_ALIGN_BYTES) {
        if (store_batch_header_decode(data + at, len - at, w->header.salt, &h) && h.sequence >= (at > 0 ? own : w->sequence + 1)) {
            *ret_offset = w->at + at;
            return true;
        }
    }
    return false;
}

static enum walk_step judge_end(struct walk *w)
{
    size_t offset = 0;
    bool first = w->at == SEGMENT_HEADER_BYTES;
    bool zero = false;
    w->failed = look_behind(w, &zero);
    if (w->failed < 0) {
        return WALK_FAILED;
    }
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

static bool whole(const struct walk *w, const uint8_t *src, size_t len, struct batch_header *ret)
{
#ifdef MUSTER_FAULT_TORN_BATCH_COUNTS /* one whose end was never written, as if nothing but that were missing */
    enum { BLANK_BYTES = 64 };
    if (store_batch_header_decode(src, len, w->header.salt, ret) && len - BATCH_HEADER_BYTES >= ret->body_bytes &&
        ret->body_bytes >= BLANK_BYTES && store_all_zero(src + BATCH_HEADER_BYTES + ret->body_bytes - BLANK_BYTES, BLANK_BYTES)) {
        return true;
    }
#endif
    return store_batch_decode(src, len, w->header.salt, ret);
}

enum walk_step store_walk_next(struct walk *w, struct walk_batch *ret)
{
    struct batch_header h;
    size_t len = 0;
    w->failed = need(w, BATCH_HEADER_BYTES);
    const uint8_t *src = rest(w, &len);
    if (w->failed >= 0 && store_batch_header_decode(src, len, w->header.salt, &h)) {
        w->failed = need(w, BATCH_HEADER_BYTES + (size_t)h.body_bytes);
        src = rest(w, &len);
    }
    if (w->failed < 0) {
        return WALK_FAILED;
    }
    if (!whole(w, src, len, &h) || h.sequence != w->sequence) {
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
        w->file_bytes = w->data.len;
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
