/* chunk.h: a piece of a shard's state in a file: one lz4 frame behind a header with lengths and a checksum. Snapshots and backups are made of them. */
#ifndef STORAGE_CHUNK_H
#define STORAGE_CHUNK_H

#include <muster/base.h>

#include <lz4frame.h>

enum {
    CHUNK_HEADER_BYTES = 24,
    CHUNK_RAW_BYTES = 256 * 1024, /* a chunk is closed when the next run would take it past this */
    CHUNK_RUN_LIMIT_BYTES = 32 * 1024 * 1024
};

extern const uint8_t chunk_magic[4];

/* What the chunks of one sequence come to. The chain folds their checksums in order; it starts as the sequence's seed. */
struct chunk_totals {
    uint64_t count, raw_bytes, chain;
};

/* out becomes header and frame; the totals move on. seed: of the sequence. LIMIT: no memory. */
int chunk_encode(struct buf *out, struct bytes raw, uint64_t seed, struct chunk_totals *totals);

/* The frame's length out of a chunk's header. CORRUPT when that is no header of a chunk that fits into room bytes. */
int chunk_frame_bytes(const uint8_t header[CHUNK_HEADER_BYTES], uint64_t room, uint32_t *ret);
/* Checks a whole chunk, its header being one that chunk_frame_bytes took, and unpacks it into raw; the totals move on. CORRUPT, LIMIT. */
int chunk_decode(struct bytes chunk, uint64_t seed, LZ4F_dctx *lz4, struct buf *raw, struct chunk_totals *totals);
/* The same without unpacking it: CORRUPT when its checksum is wrong. */
int chunk_check(struct bytes chunk, uint64_t seed, struct chunk_totals *totals);
/* Folds a checksum into a chain. */
uint64_t chunk_chain(uint64_t chain, uint64_t hash);

#endif
