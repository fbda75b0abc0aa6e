#include "kafka_batch.h"

#include <lz4frame.h>
#include <string.h>

enum {
    LENGTH_END = 12,   /* offset and length, which length does not count */
    CRC_AT = 17,       /* behind offset, length, leader epoch and magic */
    CRC_FROM = 21,     /* what it is over */
    HEADER_BYTES = 61, /* up to the records */
    MAGIC = 2,
    CODEC_LZ4 = 3,
    DECOMPRESSED_MOST = 256 << 20
};

/* ---- checksum ---------------------------------------------------------------------------------------------------------------- */

uint32_t crc32c(const uint8_t *data, size_t len)
{
    static uint32_t table[256];
    if (table[1] == 0) {
        for (uint32_t i = 0; i < 256; i++) {
            uint32_t value = i;
            for (int bit = 0; bit < 8; bit++) {
                value = value >> 1 ^ (value & 1 ? 0x82f63b78u : 0);
            }
            table[i] = value;
        }
    }
    uint32_t crc = 0xffffffffu;
    for (size_t i = 0; i < len; i++) {
        crc = crc >> 8 ^ table[(crc ^ data[i]) & 0xff];
    }
    return ~crc;
}

/* ---- batches -------------------------------------------------------------------------------------------------------------------- */

int kafka_batch_next(struct bytes *rest, struct kafka_batch *ret)
{
    const uint8_t *p = rest->ptr;
    if (rest->len < HEADER_BYTES) {
        return MUSTER_E_TRUNCATED;
    }
    int32_t length = (int32_t)get_be32(p + 8);
    if (p[16] != MAGIC) {
        return p[16] < MAGIC ? MUSTER_E_VERSION : MUSTER_E_MALFORMED;
    }
    if (length < HEADER_BYTES - LENGTH_END || length > INT32_MAX - LENGTH_END) {
        return MUSTER_E_MALFORMED;
    }
    if (rest->len < length + LENGTH_END) {
        return MUSTER_E_TRUNCATED;
    }
    if (crc32c(p + CRC_FROM, (size_t)(length + LENGTH_END - CRC_FROM)) != get_be32(p + CRC_AT)) {
        return MUSTER_E_CORRUPT;
    }
    uint16_t attributes = get_be16(p + 21);
    *ret = (struct kafka_batch){.base_offset = (int64_t)get_be64(p),
                                .last_offset = (int64_t)get_be64(p) + (int32_t)get_be32(p + 23),
                                .producer_id = (int64_t)get_be64(p + 43),
                                .transactional = attributes & 0x10,
                                .control = attributes & 0x20,
                                .codec = attributes & 7,
                                .count = (int32_t)get_be32(p + 57),
                                .records = {p + HEADER_BYTES, length + LENGTH_END - HEADER_BYTES}};
    rest->ptr += length + LENGTH_END;
    rest->len -= length + LENGTH_END;
    return MUSTER_E_OK;
}

/* ---- records ---------------------------------------------------------------------------------------------------------------------- */

/* A number in zigzag form off the front. */
static bool take_number(struct bytes *rest, int64_t *ret)
{
    uint64_t value = 0;
    for (int shift = 0; rest->len > 0 && shift < 64; shift += 7) {
        uint8_t byte = *rest->ptr++;
        rest->len--;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            *ret = (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
            return true;
        }
    }
    return false;
}

static bool take_bytes(struct bytes *rest, struct bytes *ret)
{
    int64_t len;
    if (!take_number(rest, &len) || len > rest->len) {
        return false;
    }
    *ret = len < 0 ? BYTES_NULL : (struct bytes){rest->ptr, (int32_t)len};
    rest->ptr += len < 0 ? 0 : len;
    rest->len -= len < 0 ? 0 : (int32_t)len;
    return true;
}

/* Headers behind the value are of no interest to anybody here. */
static bool take_record(struct bytes *rest, struct kafka_record *ret)
{
    struct bytes whole;
    int64_t number;
    if (!take_bytes(rest, &whole) || whole.len < 1) {
        return false;
    }
    whole.ptr++; /* attributes, of which there are none */
    whole.len--;
    if (!take_number(&whole, &number) /* time */) {
        return false;
    }
    if (!take_number(&whole, &number) /* offset */) {
        return false;
    }
    return take_bytes(&whole, &ret->key) && take_bytes(&whole, &ret->value);
}

/* An lz4 frame, or several, in the arena. */
static int decompress(struct bytes in, struct arena *arena, struct bytes *ret)
{
    LZ4F_dctx *context;
    struct buf out;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION))) {
        return MUSTER_E_LIMIT;
    }
    buf_init(&out, DECOMPRESSED_MOST);
    int rc = MUSTER_E_OK;
    while (rc == 0 && in.len > 0) {
        uint8_t piece[65536];
        size_t got = sizeof(piece);
        size_t used = (size_t)in.len;
        size_t left = LZ4F_decompress(context, piece, &got, in.ptr, &used, NULL);
        rc = LZ4F_isError(left) || (used == 0 && got == 0) ? MUSTER_E_MALFORMED : buf_put(&out, piece, got);
        in.ptr += used;
        in.len -= (int32_t)used;
    }
    if (rc == 0) {
        *ret = arena_bytes(arena, (struct bytes){out.len > 0 ? out.ptr : (const uint8_t *)"", (int32_t)out.len});
    }
    buf_fini(&out);
    LZ4F_freeDecompressionContext(context);
    return rc;
}

int kafka_batch_each(const struct kafka_batch *batch, struct arena *arena, void (*each)(void *ctx, const struct kafka_record *record),
                     void *ctx)
{
    struct bytes rest = batch->records;
    if (batch->codec != 0 && batch->codec != CODEC_LZ4) {
        return MUSTER_E_VERSION;
    }
    int rc = batch->codec == CODEC_LZ4 ? decompress(batch->records, arena, &rest) : MUSTER_E_OK;
    for (int32_t i = 0; rc == 0 && i < batch->count; i++) {
        struct kafka_record record;
        if (!take_record(&rest, &record)) {
            return MUSTER_E_MALFORMED;
        }
        each(ctx, &record);
    }
    return rc;
}

/* ---- writing ------------------------------------------------------------------------------------------------------------------------- */

static void put_number(struct buf *to, int64_t number)
{
    uint64_t value = (uint64_t)number << 1 ^ (uint64_t)(number >> 63);
    uint8_t bytes[10];
    size_t len = 0;
    do {
        bytes[len++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value > 0);
    MUSTER_CHECK(buf_put(to, bytes, len) == 0);
}

static void put_bytes(struct buf *to, struct bytes bytes)
{
    put_number(to, bytes.len);
    if (bytes.len > 0) {
        MUSTER_CHECK(buf_put(to, bytes.ptr, (size_t)bytes.len) == 0);
    }
}

static void put_record(struct buf *to, const struct record *record, int32_t delta)
{
    struct buf body;
    buf_init(&body, 0);
    MUSTER_CHECK(buf_put(&body, "", 1) == 0); /* attributes */
    put_number(&body, 0);                     /* of the same time as the batch */
    put_number(&body, delta);
    put_bytes(&body, record->key);
    put_bytes(&body, record->value);
    put_number(&body, 0); /* headers */
    put_bytes(to, (struct bytes){body.ptr, (int32_t)body.len});
    buf_fini(&body);
}

void kafka_batch_write(struct buf *to, int64_t base_offset, int64_t timestamp_ms, const struct record *records, int32_t count)
{
    size_t at = to->len;
    MUSTER_CHECK(buf_add(to, HEADER_BYTES) != NULL);
    for (int32_t i = 0; i < count; i++) {
        put_record(to, &records[i], i);
    }
    uint8_t *p = to->ptr + at;
    size_t size = to->len - at;
    put_be64(p, (uint64_t)base_offset);
    put_be32(p + 8, (uint32_t)(size - LENGTH_END));
    put_be32(p + 12, 0); /* leader epoch */
    p[16] = MAGIC;
    put_be16(p + 21, 0);
    put_be32(p + 23, (uint32_t)(count - 1));
    put_be64(p + 27, (uint64_t)timestamp_ms);
    put_be64(p + 35, (uint64_t)timestamp_ms);
    put_be64(p + 43, UINT64_MAX); /* no producer id, epoch or sequence */
    put_be16(p + 51, UINT16_MAX);
    put_be32(p + 53, UINT32_MAX);
    put_be32(p + 57, (uint32_t)count);
    put_be32(p + CRC_AT, crc32c(p + CRC_FROM, size - CRC_FROM));
}
