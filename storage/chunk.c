/* chunk.c: pieces of a shard's state to bytes and back. */
#include "chunk.h"

#include <string.h>

const uint8_t chunk_magic[4] = {'M', 'C', 'H', 'K'};

uint64_t chunk_chain(uint64_t chain, uint64_t hash)
{
    uint8_t b[8];
    put_le64(b, hash);
    return hash_bytes(b, sizeof(b), chain);
}

static void count(struct chunk_totals *totals, uint64_t hash, size_t raw_bytes)
{
    totals->chain = chunk_chain(totals->chain, hash);
    totals->count++;
    totals->raw_bytes += raw_bytes;
}

int chunk_encode(struct buf *out, struct bytes raw, uint64_t seed, struct chunk_totals *totals)
{
    size_t raw_bytes = (size_t)raw.len;
    LZ4F_preferences_t prefs = {.frameInfo = {.contentSize = raw_bytes}};
    size_t bound = LZ4F_compressFrameBound(raw_bytes, &prefs);
    buf_clear(out);
    uint8_t *at = buf_add(out, CHUNK_HEADER_BYTES + bound);
    if (at == NULL) {
        return MUSTER_E_LIMIT;
    }
    size_t stored = LZ4F_compressFrame(at + CHUNK_HEADER_BYTES, bound, raw.ptr, raw_bytes, &prefs);
    if (LZ4F_isError(stored)) {
        return MUSTER_E_LIMIT; /* lz4 fails here only for want of memory */
    }
    out->len = CHUNK_HEADER_BYTES + stored;
    memcpy(at + 8, chunk_magic, sizeof(chunk_magic));
    put_le32(at + 12, (uint32_t)stored);
    put_le32(at + 16, (uint32_t)raw_bytes);
    put_le32(at + 20, 0);
    uint64_t hash = hash_bytes(at + 8, out->len - 8, seed + totals->count);
    put_le64(at, hash);
    count(totals, hash, raw_bytes);
    return MUSTER_E_OK;
}

int chunk_frame_bytes(const uint8_t header[CHUNK_HEADER_BYTES], uint64_t room, uint32_t *ret)
{
    uint32_t stored = get_le32(header + 12);
    uint32_t raw = get_le32(header + 16);
    if (room < CHUNK_HEADER_BYTES || memcmp(header + 8, chunk_magic, sizeof(chunk_magic)) != 0 || stored > room - CHUNK_HEADER_BYTES ||
        raw == 0 || raw > CHUNK_RUN_LIMIT_BYTES || stored > LZ4F_compressFrameBound(raw, NULL)) {
        return MUSTER_E_CORRUPT;
    }
    *ret = stored;
    return MUSTER_E_OK;
}

static int unpack(struct bytes frame, LZ4F_dctx *lz4, uint8_t *dst, size_t raw_bytes)
{
    const uint8_t *src = frame.ptr;
    size_t left = (size_t)frame.len;
    size_t done = 0;
    LZ4F_resetDecompressionContext(lz4);
    for (;;) {
        size_t out = raw_bytes - done;
        size_t in = left;
        size_t more = LZ4F_decompress(lz4, dst + done, &out, src, &in, NULL);
        if (LZ4F_isError(more)) {
            return MUSTER_E_CORRUPT;
        }
        done += out;
        src += in;
        left -= in;
        if (more == 0) {
            return done == raw_bytes && left == 0 ? MUSTER_E_OK : MUSTER_E_CORRUPT;
        }
        if (in == 0 && out == 0) {
            return MUSTER_E_CORRUPT; /* the frame wants more than there is, or holds more than it says */
        }
    }
}

static bool is_whole(struct bytes chunk, uint64_t seed, const struct chunk_totals *totals)
{
    return get_le64(chunk.ptr) == hash_bytes(chunk.ptr + 8, (size_t)chunk.len - 8, seed + totals->count);
}

int chunk_check(struct bytes chunk, uint64_t seed, struct chunk_totals *totals)
{
    if (!is_whole(chunk, seed, totals)) {
        return MUSTER_E_CORRUPT;
    }
    count(totals, get_le64(chunk.ptr), get_le32(chunk.ptr + 16));
    return MUSTER_E_OK;
}

int chunk_decode(struct bytes chunk, uint64_t seed, LZ4F_dctx *lz4, struct buf *raw, struct chunk_totals *totals)
{
    uint32_t raw_bytes = get_le32(chunk.ptr + 16);
    if (!is_whole(chunk, seed, totals)) {
        return MUSTER_E_CORRUPT;
    }
    buf_clear(raw);
    uint8_t *dst = buf_add(raw, raw_bytes);
    if (dst == NULL) {
        return MUSTER_E_LIMIT;
    }
    int rc = unpack((struct bytes){chunk.ptr + CHUNK_HEADER_BYTES, chunk.len - CHUNK_HEADER_BYTES}, lz4, dst, raw_bytes);
    if (rc >= 0) {
        count(totals, get_le64(chunk.ptr), raw_bytes);
    }
    return rc;
}
