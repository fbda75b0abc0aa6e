/* snapshot_read.c: a snapshot file chunk by chunk, each checked before a byte of it is used. */
#include "snapshot.h"
#include "file.h"

#include <stdlib.h>
#include <string.h>

struct store_snapshot_reader {
    struct store_port port;
    int file;
    uint64_t file_bytes;
    uint64_t seed;                 /* the header's checksum */
    uint64_t offset;               /* of the next chunk */
    uint64_t chunks_end;           /* where the trailer begins */
    struct chunk_totals seen, all; /* so far; as the trailer says */
    struct buf header;
    struct buf stored;
    struct buf raw;
    LZ4F_dctx *lz4;
};

/* ---- header and trailer ---------------------------------------------------------------------------------------------- */

static int read_part(struct store_snapshot_reader *r, uint64_t offset, struct buf *out, size_t len)
{
    buf_clear(out);
    uint8_t *at = buf_add(out, len);
    if (at == NULL) {
        return MUSTER_E_LIMIT;
    }
    int rc = store_file_read(&r->port, r->file, offset, at, len);
    return rc == MUSTER_E_TRUNCATED ? MUSTER_E_CORRUPT : rc;
}

static int read_header(struct store_snapshot_reader *r, struct store_snapshot_meta *ret)
{
    if (r->file_bytes < SNAPSHOT_HEADER_BYTES + 8 + SNAPSHOT_TRAILER_BYTES) {
        return MUSTER_E_CORRUPT;
    }
    int rc = read_part(r, 0, &r->header, SNAPSHOT_HEADER_BYTES);
    if (rc < 0) {
        return rc;
    }
    uint32_t config = get_le32(r->header.ptr + 20);
    uint32_t bytes = get_le32(r->header.ptr + 12);
    if (memcmp(r->header.ptr, snapshot_magic, sizeof(snapshot_magic)) != 0 || config > SNAPSHOT_CONFIG_LIMIT_BYTES ||
        bytes != SNAPSHOT_HEADER_BYTES + config + 8) {
        return MUSTER_E_CORRUPT;
    }
    rc = read_part(r, 0, &r->header, bytes);
    if (rc < 0) {
        return rc;
    }
    const uint8_t *h = r->header.ptr;
    r->seed = get_le64(h + bytes - 8);
    if (r->seed != hash_bytes(h, bytes - 8, 0)) {
        return MUSTER_E_CORRUPT;
    }
    if (get_le32(h + 8) != SNAPSHOT_VERSION) {
        return MUSTER_E_VERSION;
    }
    *ret = (struct store_snapshot_meta){
        .shard = get_le32(h + 16),
        .index = get_le64(h + 24),
        .term = get_le64(h + 32),
        .config_index = get_le64(h + 40),
        .config = {h + SNAPSHOT_HEADER_BYTES, (int32_t)config},
        .state_hash = get_le64(h + 48),
    };
    r->offset = bytes;
    r->seen.chain = r->seed;
    return MUSTER_E_OK;
}

static int read_trailer(struct store_snapshot_reader *r)
{
    uint8_t t[SNAPSHOT_TRAILER_BYTES];
    r->chunks_end = r->file_bytes - sizeof(t);
    int rc = store_file_read(&r->port, r->file, r->chunks_end, t, sizeof(t));
    if (rc < 0) {
        return rc == MUSTER_E_TRUNCATED ? MUSTER_E_CORRUPT : rc;
    }
    if (memcmp(t, snapshot_trailer_magic, sizeof(snapshot_trailer_magic)) != 0 || get_le64(t + 40) != hash_bytes(t, 40, r->seed) ||
        get_le64(t + 24) != r->file_bytes) {
        return MUSTER_E_CORRUPT;
    }
    r->all.count = get_le64(t + 8);
    r->all.raw_bytes = get_le64(t + 16);
    r->all.chain = get_le64(t + 32);
    return MUSTER_E_OK;
}

static int reader_begin(struct store_snapshot_reader *r, const char *name, struct store_snapshot_meta *ret_meta)
{
    int rc = r->port.open(r->port.ctx, name, false, false, &r->file);
    if (rc < 0) {
        r->file = -1;
        return rc;
    }
    if (LZ4F_isError(LZ4F_createDecompressionContext(&r->lz4, LZ4F_VERSION))) {
        return MUSTER_E_LIMIT;
    }
    rc = r->port.size(r->port.ctx, r->file, &r->file_bytes);
    if (rc >= 0) {
        rc = read_header(r, ret_meta);
    }
    return rc < 0 ? rc : read_trailer(r);
}

int snapshot_reader_open(const struct store_port *port, const char *name, struct store_snapshot_meta *ret_meta,
                         struct store_snapshot_reader **ret)
{
    struct store_snapshot_reader *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return MUSTER_E_LIMIT;
    }
    r->port = *port;
    r->file = -1;
    buf_init(&r->header, 0);
    buf_init(&r->stored, 0);
    buf_init(&r->raw, 0);
    struct store_snapshot_meta meta;
    int rc = reader_begin(r, name, &meta);
    if (rc < 0) {
        store_snapshot_close(r);
        return rc;
    }
    *ret_meta = meta;
    *ret = r;
    return MUSTER_E_OK;
}

void store_snapshot_close(struct store_snapshot_reader *r)
{
    if (r == NULL) {
        return;
    }
    if (r->file >= 0) {
        r->port.close(r->port.ctx, r->file);
    }
    (void)LZ4F_freeDecompressionContext(r->lz4);
    buf_fini(&r->header);
    buf_fini(&r->stored);
    buf_fini(&r->raw);
    free(r);
}

/* ---- chunks ------------------------------------------------------------------------------------------------------------ */

/* The next one's bytes into r->stored. */
static int chunk_load(struct store_snapshot_reader *r)
{
    uint64_t room = r->chunks_end - r->offset;
    uint32_t stored = 0;
    int rc = room < CHUNK_HEADER_BYTES ? MUSTER_E_CORRUPT : read_part(r, r->offset, &r->stored, CHUNK_HEADER_BYTES);
    if (rc >= 0) {
        rc = chunk_frame_bytes(r->stored.ptr, room, &stored);
    }
    if (rc >= 0) {
        rc = read_part(r, r->offset, &r->stored, CHUNK_HEADER_BYTES + (size_t)stored);
    }
    return rc;
}

static int chunk_read(struct store_snapshot_reader *r)
{
    int rc = chunk_load(r);
    if (rc >= 0) {
        rc = chunk_decode((struct bytes){r->stored.ptr, (int32_t)r->stored.len}, r->seed, r->lz4, &r->raw, &r->seen);
    }
    if (rc >= 0) {
        r->offset += r->stored.len;
    }
    return rc;
}

static bool is_whole(const struct store_snapshot_reader *r)
{
    return r->seen.count == r->all.count && r->seen.raw_bytes == r->all.raw_bytes && r->seen.chain == r->all.chain;
}

int store_snapshot_check(struct store_snapshot_reader *r)
{
    uint64_t begin = r->offset;
    int rc = MUSTER_E_OK;
    while (rc >= 0 && r->offset != r->chunks_end) {
        rc = chunk_load(r);
        if (rc >= 0) {
            rc = chunk_check((struct bytes){r->stored.ptr, (int32_t)r->stored.len}, r->seed, &r->seen);
            r->offset += r->stored.len;
        }
    }
    if (rc >= 0 && !is_whole(r)) {
        rc = MUSTER_E_CORRUPT;
    }
    r->offset = begin;
    r->seen = (struct chunk_totals){.chain = r->seed};
    return rc;
}

int store_snapshot_next(struct store_snapshot_reader *r, struct bytes *ret)
{
    if (r->offset == r->chunks_end) {
        if (!is_whole(r)) {
            return MUSTER_E_CORRUPT;
        }
        *ret = (struct bytes){r->raw.ptr, 0};
        return MUSTER_E_OK;
    }
    int rc = chunk_read(r);
    if (rc < 0) {
        return rc;
    }
    *ret = (struct bytes){r->raw.ptr, (int32_t)r->raw.len};
    return MUSTER_E_OK;
}

/* ---- finding and checking ---------------------------------------------------------------------------------------------- */

/* The highest index of the shard in [min_index, below). */
static bool newest_below(const struct name_list *names, uint32_t shard, uint64_t min_index, uint64_t below, uint64_t *ret)
{
    bool found = false;
    for (size_t i = 0; i < names->count; i++) {
        uint32_t of_shard = 0;
        uint64_t index = 0;
        if (store_snapshot_name_parse(names->names[i], &of_shard, &index) && of_shard == shard && index >= min_index && index < below &&
            (!found || index > *ret)) {
            *ret = index;
            found = true;
        }
    }
    return found;
}

/* Newest first, from those below `below` down to min_index. */
static int open_newest(const struct store_port *port, uint32_t shard, uint64_t min_index, uint64_t below,
                       struct store_snapshot_meta *ret_meta, struct store_snapshot_reader **ret)
{
    struct name_list names;
    int rc = store_name_list_load(&names, port);
    if (rc < 0) {
        return rc;
    }
    rc = MUSTER_E_NOT_FOUND;
    uint64_t index = below;
    while (newest_below(&names, shard, min_index, index, &index)) {
        char name[STORE_NAME_BYTES];
        struct store_snapshot_meta meta;
        struct store_snapshot_reader *r = NULL;
        store_snapshot_name(shard, index, name);
        int opened = snapshot_reader_open(port, name, &meta, &r);
        if (opened >= 0 && (meta.shard != shard || meta.index != index)) {
            store_snapshot_close(r);
            opened = MUSTER_E_CORRUPT;
        }
        if (opened >= 0) {
            *ret_meta = meta;
            *ret = r;
            rc = MUSTER_E_OK;
            break;
        }
        if (opened != MUSTER_E_NOT_FOUND) {
            rc = opened; /* a newer one may just have replaced a missing one; a bad one is worth telling */
        }
    }
    store_name_list_free(&names);
    return rc;
}

int store_snapshot_open(const struct store_port *port, uint32_t shard, uint64_t min_index, struct store_snapshot_meta *ret_meta,
                        struct store_snapshot_reader **ret)
{
    return open_newest(port, shard, min_index, UINT64_MAX, ret_meta, ret);
}

int store_snapshot_open_before(const struct store_port *port, uint32_t shard, uint64_t max_index, struct store_snapshot_meta *ret_meta,
                               struct store_snapshot_reader **ret)
{
    return open_newest(port, shard, 1, max_index < UINT64_MAX ? max_index + 1 : max_index, ret_meta, ret);
}

int store_snapshot_verify(const struct store_port *port, const char *name, uint32_t shard, uint64_t index, uint64_t term,
                          uint64_t *ret_offset)
{
    struct store_snapshot_meta meta;
    struct store_snapshot_reader *r = NULL;
    *ret_offset = 0;
    int rc = snapshot_reader_open(port, name, &meta, &r);
    if (rc < 0) {
        return rc;
    }
    if (meta.shard != shard || meta.index != index || meta.term != term) {
        rc = MUSTER_E_CORRUPT;
    }
    struct bytes data = {NULL, 1};
    while (rc >= 0 && data.len > 0) {
        *ret_offset = r->offset;
        rc = store_snapshot_next(r, &data);
    }
    store_snapshot_close(r);
    return rc;
}

/* ---- the bytes as they are ------------------------------------------------------------------------------------------------ */

uint64_t store_snapshot_file_bytes(const struct store_snapshot_reader *r)
{
    return r->file_bytes;
}

int store_snapshot_read_raw(struct store_snapshot_reader *r, uint64_t offset, void *dst, size_t len, size_t *ret_len)
{
    return r->port.read(r->port.ctx, r->file, offset, dst, len, ret_len);
}
