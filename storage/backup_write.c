/* backup_write.c: the states of all shards to one file. Nothing is visible under its name before commit has synced it. */
#include "backup.h"
#include "file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const uint8_t backup_magic[8] = {'M', 'U', 'S', 'T', 'B', 'K', 'U', 'P'};
const uint8_t backup_section_magic[4] = {'M', 'S', 'E', 'C'};
const uint8_t backup_end_magic[4] = {'M', 'E', 'N', 'D'};
const uint8_t backup_trailer_magic[4] = {'M', 'B', 'N', 'D'};

struct store_backup_writer {
    struct store_port port;
    int file;
    char name[BACKUP_NAME_BYTES], tmp[BACKUP_NAME_BYTES];
    uint64_t seed, chain; /* the header's checksum; the chain of the sections' checksums */
    uint64_t offset;
    uint32_t shard_count, sections;
    bool inside; /* a section */
    struct {
        uint64_t offset, seed;
        struct chunk_totals totals;
    } section;
    struct buf raw, block;
    int failed; /* the first error: commit gives it back */
};

static int append(struct store_backup_writer *w, const void *data, size_t len)
{
    int rc = store_file_write(&w->port, w->file, w->offset, data, len);
    w->offset += rc >= 0 ? len : 0;
    return rc;
}

static int header_write(struct store_backup_writer *w, const struct store_backup_info *info)
{
    uint8_t h[BACKUP_HEADER_BYTES + sizeof(info->version) + 8] = {0};
    size_t text = strnlen(info->version, sizeof(info->version));
    size_t len = BACKUP_HEADER_BYTES + text;
    memcpy(h, backup_magic, sizeof(backup_magic));
    put_le32(h + 8, BACKUP_VERSION);
    put_le32(h + 12, (uint32_t)(len + 8));
    memcpy(h + 16, info->cluster_id.b, 16);
    put_le64(h + 32, (uint64_t)info->taken_ms);
    put_le32(h + 40, info->shard_count);
    put_le32(h + 44, info->hash_version);
    put_le64(h + 48, info->draw);
    put_le32(h + 56, (uint32_t)text);
    memcpy(h + BACKUP_HEADER_BYTES, info->version, text);
    w->seed = hash_bytes(h, len, 0);
    w->chain = w->seed;
    put_le64(h + len, w->seed);
    return append(w, h, len + 8);
}

static int begin_file(struct store_backup_writer *w, const char *name, unsigned own, const struct store_backup_info *info)
{
    int len = snprintf(w->tmp, sizeof(w->tmp), "%s.%u.tmp", name, own);
    if (len < 0 || (size_t)len >= sizeof(w->tmp) || info->shard_count == 0 || info->shard_count > BACKUP_SHARDS_MAX) {
        return MUSTER_E_INVALID;
    }
    memcpy(w->name, name, strlen(name) + 1);
    int rc = store_file_remove(&w->port, w->tmp);
    if (rc >= 0) {
        rc = w->port.open(w->port.ctx, w->tmp, true, true, &w->file);
    }
    return rc < 0 ? rc : header_write(w, info);
}

int store_backup_create(const struct store_port *port, const char *name, unsigned own, const struct store_backup_info *info,
                        struct store_backup_writer **ret)
{
    struct store_backup_writer *w = calloc(1, sizeof(*w));
    if (w == NULL) {
        return MUSTER_E_LIMIT;
    }
    w->port = *port;
    w->file = -1;
    w->shard_count = info->shard_count;
    buf_init(&w->raw, 0);
    buf_init(&w->block, 0);
    int rc = begin_file(w, name, own, info);
    if (rc < 0) {
        store_backup_abort(w);
        return rc;
    }
    *ret = w;
    return MUSTER_E_OK;
}

int store_backup_begin(struct store_backup_writer *w, const struct store_backup_section *section)
{
    uint8_t h[BACKUP_SECTION_BYTES] = {0};
    MUSTER_CHECK(!w->inside);
    memcpy(h + 8, backup_section_magic, sizeof(backup_section_magic));
    put_le32(h + 12, section->shard);
    put_le64(h + 16, section->index);
    put_le64(h + 24, section->term);
    put_le64(h + 32, section->state_hash);
    put_le64(h + 40, section->catalog_index);
    w->inside = true;
    w->section.offset = w->offset;
    w->section.seed = hash_bytes(h + 8, sizeof(h) - 8, w->chain);
    w->section.totals = (struct chunk_totals){.chain = w->section.seed};
    put_le64(h, w->section.seed);
    buf_clear(&w->raw);
    w->failed = w->failed < 0 ? w->failed : append(w, h, sizeof(h));
    return w->failed;
}

static int chunk_flush(struct store_backup_writer *w)
{
    if (w->raw.len == 0) {
        return MUSTER_E_OK;
    }
    int rc = chunk_encode(&w->block, (struct bytes){w->raw.ptr, (int32_t)w->raw.len}, w->section.seed, &w->section.totals);
    if (rc >= 0) {
        rc = append(w, w->block.ptr, w->block.len);
    }
    buf_clear(&w->raw);
    return rc;
}

int store_backup_add(struct store_backup_writer *w, struct bytes data)
{
    MUSTER_CHECK(w->inside);
    if (w->failed < 0 || data.len <= 0) {
        return w->failed;
    }
    int rc = data.len > CHUNK_RUN_LIMIT_BYTES ? MUSTER_E_LIMIT : MUSTER_E_OK;
    if (rc >= 0 && w->raw.len + (size_t)data.len > CHUNK_RAW_BYTES) {
        rc = chunk_flush(w);
    }
    if (rc >= 0) {
        rc = buf_put(&w->raw, data.ptr, (size_t)data.len);
    }
    w->failed = rc < 0 ? rc : MUSTER_E_OK;
    return rc;
}

int store_backup_end(struct store_backup_writer *w)
{
    uint8_t e[BACKUP_END_BYTES] = {0};
    MUSTER_CHECK(w->inside);
    int rc = w->failed < 0 ? w->failed : chunk_flush(w);
    memcpy(e + 8, backup_end_magic, sizeof(backup_end_magic));
    put_le64(e + 16, w->section.totals.count);
    put_le64(e + 24, w->section.totals.raw_bytes);
    put_le64(e + 32, w->section.totals.chain);
    uint64_t hash = hash_bytes(e + 8, sizeof(e) - 8, w->section.seed);
    put_le64(e, hash);
    rc = rc < 0 ? rc : append(w, e, sizeof(e));
    w->chain = chunk_chain(w->chain, hash);
    w->sections++;
    w->inside = false;
    w->failed = rc < 0 ? rc : MUSTER_E_OK;
    return rc;
}

int store_backup_drop(struct store_backup_writer *w)
{
    MUSTER_CHECK(w->inside);
    w->inside = false;
    w->offset = w->section.offset;
    buf_clear(&w->raw);
    if (w->failed >= 0) {
        w->failed = w->port.truncate(w->port.ctx, w->file, w->offset);
    }
    return w->failed;
}

uint64_t store_backup_bytes(const struct store_backup_writer *w)
{
    return w->offset;
}

static int trailer_write(struct store_backup_writer *w)
{
    uint8_t t[BACKUP_TRAILER_BYTES] = {0};
    memcpy(t + 8, backup_trailer_magic, sizeof(backup_trailer_magic));
    put_le32(t + 12, w->sections);
    put_le64(t + 16, w->offset + sizeof(t));
    put_le64(t + 24, w->chain);
    put_le64(t + 32, w->seed);
    put_le64(t, hash_bytes(t + 8, sizeof(t) - 8, w->chain));
    return append(w, t, sizeof(t));
}

int store_backup_commit(struct store_backup_writer *w)
{
    int rc = w->failed;
    if (rc >= 0 && (w->inside || w->sections != w->shard_count)) {
        rc = MUSTER_E_INVALID;
    }
    if (rc >= 0) {
        rc = trailer_write(w);
    }
    if (rc >= 0) {
        rc = store_file_publish(&w->port, w->file, w->tmp, w->name);
    }
    store_backup_abort(w); /* removes the temporary name, which a success has used up */
    return rc;
}

void store_backup_abort(struct store_backup_writer *w)
{
    if (w == NULL) {
        return;
    }
    if (w->file >= 0) {
        w->port.close(w->port.ctx, w->file);
        (void)w->port.remove(w->port.ctx, w->tmp);
    }
    buf_fini(&w->raw);
    buf_fini(&w->block);
    free(w);
}
