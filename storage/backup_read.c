/* backup_read.c: a backup file block by block, each checked before a byte of it is used. */
#include "backup.h"
#include "file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 256, HEAD_MAX_BYTES = BACKUP_HEADER_BYTES + sizeof(((struct store_backup_info *)0)->version) + 8 };

struct store_backup_reader {
    struct store_port port;
    int file;
    uint64_t file_bytes, offset;
    uint64_t seed, chain; /* the header's checksum; the chain of the sections' checksums */
    uint32_t shard_count, sections;
    bool seen[BACKUP_SHARDS_MAX];
    bool inside; /* a section */
    bool ended;  /* the trailer agreed */
    struct {
        uint32_t shard;
        uint64_t seed;
        struct chunk_totals totals;
    } section;
    struct buf stored, raw;
    LZ4F_dctx *lz4;
    char text[TEXT_BYTES];
};

static int corrupt(struct store_backup_reader *r, const char *what)
{
    (void)snprintf(r->text, sizeof(r->text), "at byte %" PRIu64 " of %" PRIu64 ": %s", r->offset, r->file_bytes, what);
    return MUSTER_E_CORRUPT;
}

/* len bytes at the present offset, into stored. The offset stays. */
static int read_here(struct store_backup_reader *r, size_t len)
{
    if (len > r->file_bytes - r->offset) {
        return corrupt(r, "the file ends early");
    }
    buf_clear(&r->stored);
    uint8_t *at = buf_add(&r->stored, len);
    if (at == NULL) {
        return MUSTER_E_LIMIT;
    }
    int rc = store_file_read(&r->port, r->file, r->offset, at, len);
    return rc == MUSTER_E_TRUNCATED ? corrupt(r, "the file ends early") : rc;
}

/* ---- header and trailer ---------------------------------------------------------------------------------------------- */

static int header_check(struct store_backup_reader *r)
{
    const uint8_t *h = r->stored.ptr;
    uint32_t bytes = get_le32(h + 12);
    uint32_t text = get_le32(h + 56);
    if (memcmp(h, backup_magic, sizeof(backup_magic)) != 0) {
        return corrupt(r, "this is no backup of muster");
    }
    if (text > sizeof(((struct store_backup_info *)0)->version) || bytes != BACKUP_HEADER_BYTES + text + 8) {
        return get_le32(h + 8) > BACKUP_VERSION ? MUSTER_E_VERSION : corrupt(r, "the header is damaged");
    }
    return MUSTER_E_OK;
}

static int header_read(struct store_backup_reader *r, struct store_backup_info *ret)
{
    int rc = read_here(r, BACKUP_HEADER_BYTES);
    if (rc >= 0) {
        rc = header_check(r);
    }
    if (rc >= 0) {
        rc = read_here(r, get_le32(r->stored.ptr + 12));
    }
    if (rc < 0) {
        return rc;
    }
    const uint8_t *h = r->stored.ptr;
    size_t len = r->stored.len - 8;
    r->seed = get_le64(h + len);
    if (r->seed != hash_bytes(h, len, 0)) {
        return corrupt(r, "the header is damaged");
    }
    if (get_le32(h + 8) != BACKUP_VERSION) {
        return MUSTER_E_VERSION;
    }
    *ret = (struct store_backup_info){
        .taken_ms = (int64_t)get_le64(h + 32),
        .shard_count = get_le32(h + 40),
        .hash_version = get_le32(h + 44),
        .draw = get_le64(h + 48),
    };
    memcpy(ret->cluster_id.b, h + 16, 16);
    memcpy(ret->version, h + BACKUP_HEADER_BYTES, len - BACKUP_HEADER_BYTES);
    r->shard_count = ret->shard_count;
    r->chain = r->seed;
    if (r->shard_count == 0 || r->shard_count > BACKUP_SHARDS_MAX) {
        return corrupt(r, "the number of shards is out of range");
    }
    r->offset = r->stored.len;
    return MUSTER_E_OK;
}

/* Whether the file ends as one that was written to its end, before everything in it is read: a copy that was cut short is told at once. */
static int trailer_peek(struct store_backup_reader *r)
{
    uint64_t back = r->offset;
    if (r->file_bytes < r->offset + BACKUP_TRAILER_BYTES) {
        return corrupt(r, "the file ends early");
    }
    r->offset = r->file_bytes - BACKUP_TRAILER_BYTES;
    int rc = read_here(r, BACKUP_TRAILER_BYTES);
    const uint8_t *t = r->stored.ptr;
    if (rc >= 0 && (memcmp(t + 8, backup_trailer_magic, sizeof(backup_trailer_magic)) != 0 || get_le64(t + 16) != r->file_bytes ||
                    get_le64(t + 32) != r->seed || get_le64(t) != hash_bytes(t + 8, BACKUP_TRAILER_BYTES - 8, get_le64(t + 24)))) {
        rc = corrupt(r, "the end of the backup is missing or damaged");
    }
    r->offset = back;
    return rc;
}

static int trailer_check(struct store_backup_reader *r)
{
    const uint8_t *t = r->stored.ptr;
    if (get_le64(t) != hash_bytes(t + 8, BACKUP_TRAILER_BYTES - 8, r->chain) || get_le64(t + 24) != r->chain ||
        get_le32(t + 12) != r->sections || r->sections != r->shard_count || r->offset + BACKUP_TRAILER_BYTES != r->file_bytes) {
        return corrupt(r, "the trailer does not fit what stands before it");
    }
    r->ended = true;
    return MUSTER_E_NOT_FOUND;
}

/* ---- opening and closing -------------------------------------------------------------------------------------------------- */

static int reader_begin(struct store_backup_reader *r, const char *name, struct store_backup_info *ret_info)
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
        rc = header_read(r, ret_info);
    }
    return rc < 0 ? rc : trailer_peek(r);
}

int store_backup_open(const struct store_port *port, const char *name, struct store_backup_info *ret_info, struct store_backup_reader **ret,
                      char *ret_text)
{
    struct store_backup_reader *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        return MUSTER_E_LIMIT;
    }
    struct store_backup_info info;
    r->port = *port;
    r->file = -1;
    buf_init(&r->stored, 0);
    buf_init(&r->raw, 0);
    int rc = reader_begin(r, name, &info);
    memcpy(ret_text, r->text, sizeof(r->text));
    if (rc < 0) {
        store_backup_close(r);
        return rc;
    }
    *ret_info = info;
    *ret = r;
    return MUSTER_E_OK;
}

const char *store_backup_problem(const struct store_backup_reader *r)
{
    return r->text;
}

void store_backup_close(struct store_backup_reader *r)
{
    if (r == NULL) {
        return;
    }
    if (r->file >= 0) {
        r->port.close(r->port.ctx, r->file);
    }
    (void)LZ4F_freeDecompressionContext(r->lz4);
    buf_fini(&r->stored);
    buf_fini(&r->raw);
    free(r);
}

/* ---- sections ---------------------------------------------------------------------------------------------------------- */

static bool is_block(const struct store_backup_reader *r, const uint8_t magic[4])
{
    return memcmp(r->stored.ptr + 8, magic, 4) == 0;
}

static int section_head(struct store_backup_reader *r, struct store_backup_section *ret)
{
    int rc = read_here(r, BACKUP_SECTION_BYTES);
    if (rc < 0) {
        return rc;
    }
    const uint8_t *h = r->stored.ptr;
    if (get_le64(h) != hash_bytes(h + 8, BACKUP_SECTION_BYTES - 8, r->chain)) {
        return corrupt(r, "the head of a shard's section is damaged");
    }
    struct store_backup_section section = {get_le32(h + 12), get_le64(h + 16), get_le64(h + 24), get_le64(h + 32), get_le64(h + 40)};
    if (section.shard >= r->shard_count || r->seen[section.shard] || section.index == 0 || section.index >= (uint64_t)INT64_MAX) {
        return corrupt(r, "a shard's section is out of range or there twice");
    }
    r->seen[section.shard] = true;
    r->inside = true;
    r->section.shard = section.shard;
    r->section.seed = get_le64(h);
    r->section.totals = (struct chunk_totals){.chain = r->section.seed};
    r->offset += BACKUP_SECTION_BYTES;
    *ret = section;
    return MUSTER_E_OK;
}

int store_backup_section(struct store_backup_reader *r, struct store_backup_section *ret)
{
    struct bytes data = {NULL, 1};
    while (r->inside && data.len > 0) {
        int rc = store_backup_next(r, &data);
        if (rc < 0) {
            return rc;
        }
    }
    if (r->ended) {
        return MUSTER_E_NOT_FOUND;
    }
    int rc = read_here(r, BACKUP_TRAILER_BYTES); /* no block is shorter */
    if (rc < 0) {
        return rc;
    }
    if (is_block(r, backup_trailer_magic)) {
        return trailer_check(r);
    }
    return is_block(r, backup_section_magic) ? section_head(r, ret) : corrupt(r, "no shard's section begins here");
}

static int section_end(struct store_backup_reader *r)
{
    int rc = read_here(r, BACKUP_END_BYTES);
    if (rc < 0) {
        return rc;
    }
    const uint8_t *e = r->stored.ptr;
    const struct chunk_totals *seen = &r->section.totals;
    uint64_t hash = get_le64(e);
    if (hash != hash_bytes(e + 8, BACKUP_END_BYTES - 8, r->section.seed) || get_le64(e + 16) != seen->count ||
        get_le64(e + 24) != seen->raw_bytes || get_le64(e + 32) != seen->chain) {
        return corrupt(r, "the end of a shard's section does not fit its data");
    }
    r->chain = chunk_chain(r->chain, hash);
    r->offset += BACKUP_END_BYTES;
    r->sections++;
    r->inside = false;
    return MUSTER_E_OK;
}

static int chunk_read(struct store_backup_reader *r)
{
    uint32_t frame = 0;
    int rc = chunk_frame_bytes(r->stored.ptr, r->file_bytes - r->offset, &frame);
    if (rc < 0) {
        return corrupt(r, "the length of a chunk is damaged");
    }
    rc = read_here(r, CHUNK_HEADER_BYTES + (size_t)frame);
    if (rc >= 0) {
        rc = chunk_decode((struct bytes){r->stored.ptr, (int32_t)r->stored.len}, r->section.seed, r->lz4, &r->raw, &r->section.totals);
        rc = rc == MUSTER_E_CORRUPT ? corrupt(r, "a chunk is damaged") : rc;
    }
    if (rc >= 0) {
        r->offset += r->stored.len;
    }
    return rc;
}

int store_backup_next(struct store_backup_reader *r, struct bytes *ret)
{
    MUSTER_CHECK(r->inside);
    int rc = read_here(r, CHUNK_HEADER_BYTES); /* a section's end is longer */
    if (rc < 0) {
        return rc;
    }
    if (is_block(r, backup_end_magic)) {
        *ret = (struct bytes){r->raw.ptr, 0};
        return section_end(r);
    }
    if (!is_block(r, chunk_magic)) {
        return corrupt(r, "neither a chunk nor the end of a shard's section is here");
    }
    rc = chunk_read(r);
    if (rc >= 0) {
        *ret = (struct bytes){r->raw.ptr, (int32_t)r->raw.len};
    }
    return rc;
}
