/* format.h: bytes of the log on disk. FORMAT.md is the reference; this page and format.c are the only code that knows it.
 *
 * Everything is little-endian. A segment is a header of 64 bytes and then batches, each starting at a multiple of 8; what follows the last
 * batch is zero. A batch is a header of 32 bytes and a body of records, padded with zeros to a multiple of 8. Every checksum is XXH3 seeded
 * with the segment's salt, so bytes of another segment, of another log or out of a client's payload never pass for a batch. */
#ifndef STORAGE_FORMAT_H
#define STORAGE_FORMAT_H

#include <muster/store.h>

enum {
    STORE_FORMAT_VERSION = 1,
    SEGMENT_HEADER_BYTES = 64,
    BATCH_HEADER_BYTES = 32,
    BATCH_ALIGN_BYTES = 8,
    RECORD_HEADER_BYTES = 8,
    CHECKPOINT_RECORD_BYTES = 56,
    ENTRY_RECORD_BYTES = 28 /* without its payload */
};
#define BATCH_BODY_LIMIT ((size_t)1 << 30)

struct segment_header {
    uint64_t number; /* 1, 2, 3 ... without a gap */
    uint64_t first_sequence;
    uint64_t salt;  /* seed of every checksum of this segment */
    uint64_t bytes; /* size it was prewritten to */
    bool reserve;   /* made from the reserve: votes only, as long as there is no other */
};
void store_segment_encode(const struct segment_header *h, uint8_t dst[SEGMENT_HEADER_BYTES]);
/* CORRUPT (also when shorter than a header), VERSION. */
int store_segment_decode(const uint8_t *src, size_t len, struct segment_header *ret);

struct batch_header {
    uint64_t sequence;
    uint32_t body_bytes;
    uint32_t record_count;
    uint64_t body_hash;
};
/* A batch's header that passes its checksum starts at src; its body may be cut off or bad. */
bool store_batch_header_decode(const uint8_t *src, size_t len, uint64_t salt, struct batch_header *ret);
/* A whole valid batch starts at src: its header and body pass their checksums and fit in len. */
bool store_batch_decode(const uint8_t *src, size_t len, uint64_t salt, struct batch_header *ret);

/* Encoding: begin leaves room for the header, records are added behind it, end pads and fills the header in.
 * All work at the end of out, which keeps its memory from batch to batch. LIMIT when a batch would pass BATCH_BODY_LIMIT. */
int store_batch_begin(struct buf *out);
int store_batch_add(struct buf *out, const struct store_record *record);
int store_batch_pad(struct buf *out, size_t start);
void store_batch_end(uint8_t *batch, size_t len, uint64_t salt, uint64_t sequence, uint32_t record_count);

/* State of one shard as the first batch of a segment carries it (record kind STORE_CHECKPOINT). */
struct store_checkpoint {
    uint64_t term, vote;
    uint64_t snapshot_index, snapshot_term;
    uint64_t trim;
    uint64_t last_index;
};
int store_checkpoint_add(struct buf *out, uint32_t shard, const struct store_checkpoint *checkpoint);

/* The record at the front of body; checkpoint is filled for that kind. Returns its length or MALFORMED. */
int store_record_decode(const uint8_t *body, size_t len, struct store_record *ret, struct store_checkpoint *ret_checkpoint);

/* The salt of the segment that follows one with this salt and this last batch header: binds the segments of a log into one chain. */
uint64_t store_next_salt(uint64_t salt, const uint8_t last_batch_header[BATCH_HEADER_BYTES]);

bool store_all_zero(const uint8_t *data, size_t len);

#endif
