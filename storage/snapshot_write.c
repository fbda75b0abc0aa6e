/* snapshot_write.c: a shard's state to a file. Nothing is visible under the snapshot's name before commit has synced it. */
#include "snapshot.h"
#include "file.h"

#include <stdlib.h>
#include <string.h>

const uint8_t snapshot_magic[8] = {'M', 'U', 'S', 'T', 'S', 'N', 'A', 'P'};
const uint8_t snapshot_trailer_magic[4] = {'M', 'E', 'N', 'D'};

struct store_snapshot_writer {
    struct store_port port;
    int file;
    uint32_t shard;
    uint64_t index;
    uint64_t seed; /* the header's checksum */
    uint64_t offset;
    struct chunk_totals totals;
    struct buf raw;   /* runs of the chunk being filled */
    struct buf chunk; /* header and frame of the chunk being written */
    int failed;       /* the first error: commit gives it back */
#ifdef MUSTER_FAULT_SNAPSHOT_LOSES_RUN
    uint64_t run_count;
#endif
};

static int header_encode(struct buf *out, const struct store_snapshot_meta *meta)
{
    size_t config = meta->config.len > 0 ? (size_t)meta->config.len : 0;
    if (meta->index == 0 || config > SNAPSHOT_CONFIG_LIMIT_BYTES) {
        return MUSTER_E_INVALID;
    }
    uint8_t *at = buf_add(out, SNAPSHOT_HEADER_BYTES + config + 8);
    if (at == NULL) {
        return MUSTER_E_LIMIT;
    }
    memset(at, 0, SNAPSHOT_HEADER_BYTES);
    memcpy(at, snapshot_magic, sizeof(snapshot_magic));
    put_le32(at + 8, SNAPSHOT_VERSION);
    put_le32(at + 12, (uint32_t)out->len);
    put_le32(at + 16, meta->shard);
    put_le32(at + 20, (uint32_t)config);
    put_le64(at + 24, meta->index);
    put_le64(at + 32, meta->term);
    put_le64(at + 40, meta->config_index);
    put_le64(at + 48, meta->state_hash);
    if (config > 0) {
        memcpy(at + SNAPSHOT_HEADER_BYTES, meta->config.ptr, config);
    }
    put_le64(at + SNAPSHOT_HEADER_BYTES + config, hash_bytes(at, SNAPSHOT_HEADER_BYTES + config, 0));
    return MUSTER_E_OK;
}

static int begin_file(struct store_snapshot_writer *w, const struct store_snapshot_meta *meta)
{
    char name[STORE_NAME_BYTES];
    int rc = header_encode(&w->chunk, meta);
    if (rc < 0) {
        return rc;
    }
    w->seed = get_le64(w->chunk.ptr + w->chunk.len - 8);
    w->totals.chain = w->seed;
    store_snapshot_tmp_name(meta->shard, meta->index, name);
    rc = store_file_remove(&w->port, name);
    if (rc >= 0) {
        rc = w->port.open(w->port.ctx, name, true, true, &w->file);
    }
    if (rc >= 0) {
        rc = store_file_write(&w->port, w->file, 0, w->chunk.ptr, w->chunk.len);
    }
    w->offset = w->chunk.len;
    return rc;
}

int store_snapshot_create(const struct store_port *port, const struct store_snapshot_meta *meta, struct store_snapshot_writer **ret)
{
    struct store_snapshot_writer *w = calloc(1, sizeof(*w));
    if (w == NULL) {
        return MUSTER_E_LIMIT;
    }
    w->port = *port;
    w->file = -1;
    w->shard = meta->shard;
    w->index = meta->index;
    buf_init(&w->raw, 0);
    buf_init(&w->chunk, 0);
    int rc = begin_file(w, meta);
    if (rc < 0) {
        store_snapshot_abort(w);
        return rc;
    }
    *ret = w;
    return MUSTER_E_OK;
}

static int chunk_flush(struct store_snapshot_writer *w)
{
    if (w->raw.len == 0) {
        return MUSTER_E_OK;
    }
    int rc = chunk_encode(&w->chunk, (struct bytes){w->raw.ptr, (int32_t)w->raw.len}, w->seed, &w->totals);
    if (rc >= 0) {
        rc = store_file_write(&w->port, w->file, w->offset, w->chunk.ptr, w->chunk.len);
    }
    if (rc < 0) {
        return rc;
    }
    w->offset += w->chunk.len;
    buf_clear(&w->raw);
    return MUSTER_E_OK;
}

int store_snapshot_add(struct store_snapshot_writer *w, struct bytes data)
{
    if (w->failed < 0) {
        return w->failed;
    }
    if (data.len <= 0) {
        return MUSTER_E_OK;
    }
#ifdef MUSTER_FAULT_SNAPSHOT_LOSES_RUN
    if (++w->run_count % 3 == 0) {
        return MUSTER_E_OK;
    }
#endif
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

static int trailer_write(struct store_snapshot_writer *w)
{
    uint8_t t[SNAPSHOT_TRAILER_BYTES] = {0};
    memcpy(t, snapshot_trailer_magic, sizeof(snapshot_trailer_magic));
    put_le64(t + 8, w->totals.count);
    put_le64(t + 16, w->totals.raw_bytes);
    put_le64(t + 24, w->offset + sizeof(t));
    put_le64(t + 32, w->totals.chain);
    put_le64(t + 40, hash_bytes(t, 40, w->seed));
    return store_file_write(&w->port, w->file, w->offset, t, sizeof(t));
}

int store_snapshot_commit(struct store_snapshot_writer *w)
{
    char tmp[STORE_NAME_BYTES];
    char name[STORE_NAME_BYTES];
    store_snapshot_tmp_name(w->shard, w->index, tmp);
    store_snapshot_name(w->shard, w->index, name);
    int rc = w->failed < 0 ? w->failed : chunk_flush(w);
    if (rc >= 0) {
        rc = trailer_write(w);
    }
    if (rc >= 0) {
        rc = store_file_publish(&w->port, w->file, tmp, name);
    }
    store_snapshot_abort(w); /* removes the temporary name, which a success has used up */
    return rc;
}

void store_snapshot_abort(struct store_snapshot_writer *w)
{
    if (w == NULL) {
        return;
    }
    if (w->file >= 0) {
        char tmp[STORE_NAME_BYTES];
        store_snapshot_tmp_name(w->shard, w->index, tmp);
        w->port.close(w->port.ctx, w->file);
        (void)w->port.remove(w->port.ctx, tmp);
    }
    buf_fini(&w->raw);
    buf_fini(&w->chunk);
    free(w);
}
