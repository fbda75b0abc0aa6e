/* kafka_batch.h: record batches of Kafka's log (magic 2), as they stand in segment files and in answers to Fetch. */
#ifndef MUSTER_CLI_KAFKA_BATCH_H
#define MUSTER_CLI_KAFKA_BATCH_H

#include <muster/base.h>
#include <muster/wire.h>

/* CRC-32C (Castagnoli), which Kafka's batches and ours do not share a library for. */
uint32_t crc32c(const uint8_t *data, size_t len);

struct kafka_batch {
    int64_t base_offset, last_offset, producer_id;
    bool transactional, control;
    int8_t codec; /* 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd */
    int32_t count;
    struct bytes records; /* as stored: compressed by codec */
};

/* Takes the next batch off the front of rest. 0; TRUNCATED: what is left is no whole batch (a segment's torn end, or the cut end of a fetch; nothing is taken);
 * CORRUPT: its checksum does not hold; VERSION: it is of another format; MALFORMED. Borrowed from rest. */
int kafka_batch_next(struct bytes *rest, struct kafka_batch *ret);

struct kafka_record {
    struct bytes key, value; /* null: none */
};
/* Calls each for all records; what it is given lies in the batch, or, decompressed, in the arena. 0; VERSION: a codec that this program does not have; MALFORMED. */
int kafka_batch_each(const struct kafka_batch *batch, struct arena *arena, void (*each)(void *ctx, const struct kafka_record *record),
                     void *ctx);

/* Appends one batch without compression. */
void kafka_batch_write(struct buf *to, int64_t base_offset, int64_t timestamp_ms, const struct record *records, int32_t count);

#endif
