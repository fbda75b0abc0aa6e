/* record.c: records of the log: int16 type and key fields, int16 version and value fields. */
#include "internal.h"

#include <string.h>

enum { SHORT_BYTES = 256 };

/* The number and the body behind it, as much as has room; the size of all. */
static size_t write_numbered(const struct wire_msg *msg, int16_t number, int16_t version, const void *value, uint8_t *dst, size_t room)
{
    bool begins = room >= 2;
    if (begins) {
        put_be16(dst, (uint16_t)number);
    }
    return 2 + wire_write_within(msg, version, value, begins ? dst + 2 : dst, begins ? room - 2 : 0);
}

/* Most records are short: written once, into the room, and copied; only a long one is measured first. */
static struct bytes with_number(const struct wire_msg *msg, int16_t number, int16_t version, const void *value, struct arena *arena)
{
    uint8_t room[SHORT_BYTES];
    size_t size = write_numbered(msg, number, version, value, room, sizeof(room));
    MUSTER_CHECK(size <= INT32_MAX);
    uint8_t *dst = arena_get(arena, size);
    if (size <= sizeof(room)) {
        memcpy(dst, room, size);
    } else {
        write_numbered(msg, number, version, value, dst, size);
    }
    return (struct bytes){dst, (int32_t)size};
}

size_t wire_record_write_value(int16_t type, int16_t version, const void *value, uint8_t *dst, size_t room)
{
    const struct wire_record *schema = wire_record_find(type);
    MUSTER_CHECK(schema != NULL);
    return write_numbered(schema->value, version, version, value, dst, room);
}

struct record wire_record_encode(int16_t type, const void *key, int16_t value_version, const void *value, struct arena *arena)
{
    const struct wire_record *schema = wire_record_find(type);
    MUSTER_CHECK(schema != NULL);
    struct record record = {.key = with_number(schema->key, type, 0, key, arena), .value = BYTES_NULL};
    if (value != NULL) {
        record.value = with_number(schema->value, value_version, value_version, value, arena);
    }
    return record;
}

/* A body that fills its bytes. */
static int decode_whole(const struct wire_msg *msg, int16_t version, struct bytes in, struct arena *arena, void *ret)
{
    size_t used = 0;
    int rc = wire_decode(msg, version, in, arena, ret, &used);
    return rc == 0 && used != (size_t)in.len ? MUSTER_E_MALFORMED : rc;
}

static int decode_new(const struct wire_msg *msg, int16_t version, struct bytes in, struct arena *arena, void **ret)
{
    void *value = arena_try(arena, msg->type->size);
    if (value == NULL) {
        return MUSTER_E_LIMIT;
    }
    int rc = decode_whole(msg, version, in, arena, value);
    if (rc == 0) {
        *ret = value;
    }
    return rc;
}

int wire_record_decode_value(const struct wire_record *schema, struct bytes value, struct arena *arena, int16_t *ret_version, void *ret)
{
    if (value.len < 2) {
        return MUSTER_E_TRUNCATED;
    }
    *ret_version = (int16_t)get_be16(value.ptr);
    return decode_whole(schema->value, *ret_version, (struct bytes){value.ptr + 2, value.len - 2}, arena, ret);
}

int wire_record_decode(struct record record, struct arena *arena, struct wire_decoded_record *ret)
{
    struct wire_decoded_record decoded = {0};
    if (record.key.len < 2 || (record.value.len >= 0 && record.value.len < 2)) {
        return MUSTER_E_TRUNCATED;
    }
    decoded.schema = wire_record_find((int16_t)get_be16(record.key.ptr));
    if (decoded.schema == NULL) {
        return MUSTER_E_NOT_FOUND;
    }
    int rc = decode_new(decoded.schema->key, 0, (struct bytes){record.key.ptr + 2, record.key.len - 2}, arena, &decoded.key);
    if (rc == 0 && record.value.len >= 0) {
        decoded.value_version = (int16_t)get_be16(record.value.ptr);
        struct bytes body = {record.value.ptr + 2, record.value.len - 2};
        rc = decode_new(decoded.schema->value, decoded.value_version, body, arena, &decoded.value);
    }
    if (rc == 0) {
        *ret = decoded;
    }
    return rc;
}
