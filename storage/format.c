/* format.c: the log's bytes to values and back. */
#include "format.h"

#include <string.h>

static const uint8_t segment_magic[8] = {'M', 'U', 'S', 'T', 'R', 'L', 'O', 'G'};
static const uint8_t batch_magic[4] = {'M', 'B', 'A', 'T'};

enum { SEGMENT_FLAG_RESERVE = 1 };

void store_segment_encode(const struct segment_header *h, uint8_t dst[SEGMENT_HEADER_BYTES])
{
    memset(dst, 0, SEGMENT_HEADER_BYTES);
    memcpy(dst, segment_magic, sizeof(segment_magic));
    put_le32(dst + 8, STORE_FORMAT_VERSION);
    put_le32(dst + 12, SEGMENT_HEADER_BYTES);
    put_le64(dst + 16, h->number);
    put_le64(dst + 24, h->first_sequence);
    put_le64(dst + 32, h->salt);
    put_le64(dst + 40, h->bytes);
    put_le64(dst + 48, h->reserve ? SEGMENT_FLAG_RESERVE : 0);
    put_le64(dst + 56, hash_bytes(dst, 56, 0));
}

int store_segment_decode(const uint8_t *src, size_t len, struct segment_header *ret)
{
    if (len < SEGMENT_HEADER_BYTES || memcmp(src, segment_magic, sizeof(segment_magic)) != 0) {
        return MUSTER_E_CORRUPT;
    }
    if (get_le64(src + 56) != hash_bytes(src, 56, 0)) {
        return MUSTER_E_CORRUPT;
    }
    if (get_le32(src + 8) != STORE_FORMAT_VERSION || get_le32(src + 12) != SEGMENT_HEADER_BYTES) {
        return MUSTER_E_VERSION;
    }
    *ret = (struct segment_header){
        .number = get_le64(src + 16),
        .first_sequence = get_le64(src + 24),
        .salt = get_le64(src + 32),
        .bytes = get_le64(src + 40),
        .reserve = (get_le64(src + 48) & SEGMENT_FLAG_RESERVE) != 0,
    };
    return MUSTER_E_OK;
}

/* Covers everything behind itself in the header, the body's checksum included. */
static uint32_t batch_header_check(const uint8_t *header, uint64_t salt)
{
    return (uint32_t)hash_bytes(header + 8, BATCH_HEADER_BYTES - 8, salt);
}

bool store_batch_header_decode(const uint8_t *src, size_t len, uint64_t salt, struct batch_header *ret)
{
    if (len < BATCH_HEADER_BYTES || memcmp(src, batch_magic, sizeof(batch_magic)) != 0) {
        return false;
    }
    if (get_le32(src + 4) != batch_header_check(src, salt)) {
        return false;
    }
    *ret = (struct batch_header){
        .sequence = get_le64(src + 8),
        .body_bytes = get_le32(src + 16),
        .record_count = get_le32(src + 20),
        .body_hash = get_le64(src + 24),
    };
    return true;
}

bool store_batch_decode(const uint8_t *src, size_t len, uint64_t salt, struct batch_header *ret)
{
    struct batch_header h;
    if (!store_batch_header_decode(src, len, salt, &h)) {
        return false;
    }
    if (h.body_bytes > len - BATCH_HEADER_BYTES || h.body_bytes % BATCH_ALIGN_BYTES != 0) {
        return false;
    }
    if (h.body_hash != hash_bytes(src + BATCH_HEADER_BYTES, h.body_bytes, salt + h.sequence)) {
        return false;
    }
    *ret = h;
    return true;
}

static int add_room(struct buf *out, size_t size, uint8_t **ret)
{
    if (out->len > BATCH_BODY_LIMIT || size > BATCH_BODY_LIMIT - out->len) {
        return MUSTER_E_LIMIT;
    }
    uint8_t *at = buf_add(out, size);
    if (at == NULL) {
        return MUSTER_E_LIMIT;
    }
    *ret = at;
    return MUSTER_E_OK;
}

int store_batch_begin(struct buf *out)
{
    uint8_t *at = NULL;
    int rc = add_room(out, BATCH_HEADER_BYTES, &at);
    if (rc < 0) {
        return rc;
    }
    memset(at, 0, BATCH_HEADER_BYTES);
    return MUSTER_E_OK;
}

static void record_header(uint8_t *at, uint8_t kind, uint8_t entry_type, uint32_t shard)
{
    at[0] = kind;
    at[1] = entry_type;
    put_le16(at + 2, 0);
    put_le32(at + 4, shard);
}

static int entry_add(struct buf *out, const struct store_record *r)
{
    size_t payload = r->payload.len > 0 ? (size_t)r->payload.len : 0;
    uint8_t *at = NULL;
    int rc = add_room(out, ENTRY_RECORD_BYTES + payload, &at);
    if (rc < 0) {
        return rc;
    }
    record_header(at, STORE_ENTRY, r->entry_type, r->shard);
    put_le64(at + 8, r->term);
    put_le64(at + 16, r->index);
    put_le32(at + 24, (uint32_t)payload);
    if (payload > 0) {
        memcpy(at + ENTRY_RECORD_BYTES, r->payload.ptr, payload);
    }
    return MUSTER_E_OK;
}

int store_batch_add(struct buf *out, const struct store_record *r)
{
    uint8_t *at = NULL;
    int rc;
    switch (r->kind) {
    case STORE_ENTRY:
        return entry_add(out, r);
    case STORE_TERM:
        rc = add_room(out, 24, &at);
        if (rc < 0) {
            return rc;
        }
        record_header(at, STORE_TERM, 0, r->shard);
        put_le64(at + 8, r->term);
        put_le64(at + 16, r->vote);
        return MUSTER_E_OK;
    case STORE_SNAPSHOT:
        rc = add_room(out, 32, &at);
        if (rc < 0) {
            return rc;
        }
        record_header(at, STORE_SNAPSHOT, r->entry_type, r->shard);
        put_le64(at + 8, r->term);
        put_le64(at + 16, r->index);
        put_le64(at + 24, r->trim);
        return MUSTER_E_OK;
    default:
        return MUSTER_E_INVALID;
    }
}

int store_checkpoint_add(struct buf *out, uint32_t shard, const struct store_checkpoint *c)
{
    uint8_t *at = NULL;
    int rc = add_room(out, CHECKPOINT_RECORD_BYTES, &at);
    if (rc < 0) {
        return rc;
    }
    record_header(at, STORE_CHECKPOINT, 0, shard);
    put_le64(at + 8, c->term);
    put_le64(at + 16, c->vote);
    put_le64(at + 24, c->snapshot_index);
    put_le64(at + 32, c->snapshot_term);
    put_le64(at + 40, c->trim);
    put_le64(at + 48, c->last_index);
    return MUSTER_E_OK;
}

int store_batch_pad(struct buf *out, size_t start)
{
    size_t over = (out->len - start) % BATCH_ALIGN_BYTES;
    if (over == 0) {
        return MUSTER_E_OK;
    }
    uint8_t *at = NULL;
    int rc = add_room(out, BATCH_ALIGN_BYTES - over, &at);
    if (rc < 0) {
        return rc;
    }
    memset(at, 0, BATCH_ALIGN_BYTES - over);
    return MUSTER_E_OK;
}

void store_batch_end(uint8_t *batch, size_t len, uint64_t salt, uint64_t sequence, uint32_t record_count)
{
    MUSTER_CHECK(len >= BATCH_HEADER_BYTES && len % BATCH_ALIGN_BYTES == 0);
    size_t body = len - BATCH_HEADER_BYTES;
    memcpy(batch, batch_magic, sizeof(batch_magic));
    put_le64(batch + 8, sequence);
    put_le32(batch + 16, (uint32_t)body);
    put_le32(batch + 20, record_count);
    put_le64(batch + 24, hash_bytes(batch + BATCH_HEADER_BYTES, body, salt + sequence));
    put_le32(batch + 4, batch_header_check(batch, salt));
}

static int entry_decode(const uint8_t *body, size_t len, struct store_record *r)
{
    if (len < ENTRY_RECORD_BYTES) {
        return MUSTER_E_MALFORMED;
    }
    uint32_t payload = get_le32(body + 24);
    if (payload > len - ENTRY_RECORD_BYTES || payload > INT32_MAX - ENTRY_RECORD_BYTES) {
        return MUSTER_E_MALFORMED;
    }
    r->entry_type = body[1];
    r->term = get_le64(body + 8);
    r->index = get_le64(body + 16);
    r->payload = (struct bytes){body + ENTRY_RECORD_BYTES, (int32_t)payload};
    return (int)(ENTRY_RECORD_BYTES + payload);
}

static void checkpoint_decode(const uint8_t *body, struct store_record *r, struct store_checkpoint *c)
{
    *c = (struct store_checkpoint){
        .term = get_le64(body + 8),
        .vote = get_le64(body + 16),
        .snapshot_index = get_le64(body + 24),
        .snapshot_term = get_le64(body + 32),
        .trim = get_le64(body + 40),
        .last_index = get_le64(body + 48),
    };
    r->term = c->term;
    r->vote = c->vote;
    r->index = c->snapshot_index;
    r->trim = c->trim;
}

int store_record_decode(const uint8_t *body, size_t len, struct store_record *ret, struct store_checkpoint *ret_checkpoint)
{
    if (len < RECORD_HEADER_BYTES) {
        return MUSTER_E_MALFORMED;
    }
    *ret = (struct store_record){.kind = body[0], .shard = get_le32(body + 4), .payload = BYTES_NULL};
    switch (ret->kind) {
    case STORE_ENTRY:
        return entry_decode(body, len, ret);
    case STORE_TERM:
        if (len < 24) {
            return MUSTER_E_MALFORMED;
        }
        ret->term = get_le64(body + 8);
        ret->vote = get_le64(body + 16);
        return 24;
    case STORE_SNAPSHOT:
        if (len < 32) {
            return MUSTER_E_MALFORMED;
        }
        ret->entry_type = body[1];
        ret->term = get_le64(body + 8);
        ret->index = get_le64(body + 16);
        ret->trim = get_le64(body + 24);
        return 32;
    case STORE_CHECKPOINT:
        if (len < CHECKPOINT_RECORD_BYTES) {
            return MUSTER_E_MALFORMED;
        }
        checkpoint_decode(body, ret, ret_checkpoint);
        return CHECKPOINT_RECORD_BYTES;
    default:
        return MUSTER_E_MALFORMED;
    }
}

uint64_t store_next_salt(uint64_t salt, const uint8_t last_batch_header[BATCH_HEADER_BYTES])
{
    return hash_bytes(last_batch_header, BATCH_HEADER_BYTES, salt);
}

bool store_all_zero(const uint8_t *data, size_t len)
{
    return len == 0 || (data[0] == 0 && memcmp(data, data + 1, len - 1) == 0);
}
