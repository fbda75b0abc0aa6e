/* codec.h: little-endian numbers and counted bytes, read and written with every length checked. For what nodes say to each other. */
#ifndef MUSTER_RAFT_CODEC_H
#define MUSTER_RAFT_CODEC_H

#include <muster/base.h>

/* Reads stop at the first error: bad stays true, and every later value is zero. */
struct reader {
    const uint8_t *at;
    size_t left;
    bool bad;
};
const uint8_t *reader_take(struct reader *r, size_t size); /* when bad: zeros, of which 16 may be looked at */
uint8_t reader_u8(struct reader *r);
uint16_t reader_u16(struct reader *r);
uint32_t reader_u32(struct reader *r);
uint64_t reader_u64(struct reader *r);
bool reader_bool(struct reader *r); /* 0 or 1 */
struct uuid reader_uuid(struct reader *r);
struct bytes reader_bytes(struct reader *r); /* a 32-bit length, then the bytes; borrowed */

/* Appends to out; bad says that out's limit was hit. */
struct writer {
    struct buf *out;
    bool bad;
};
void writer_u8(struct writer *w, uint8_t v);
void writer_u16(struct writer *w, uint16_t v);
void writer_u32(struct writer *w, uint32_t v);
void writer_u64(struct writer *w, uint64_t v);
void writer_uuid(struct writer *w, struct uuid id);
void writer_bytes(struct writer *w, struct bytes b);

#endif
