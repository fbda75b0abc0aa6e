/* encode.c: a C struct to bytes, by its table. One walk serves both to count and to write, so that the two cannot disagree. */
#include "internal.h"

#include <string.h>

struct encoder {
    uint8_t *dst;
    size_t room; /* bytes there; what does not fit is only counted */
    size_t len;
    int16_t version;
    bool flexible;
};

static void encode_fields(struct encoder *e, const struct wire_type *type, const void *src);

INLINE void put_raw(struct encoder *e, const void *data, size_t size)
{
    if (size > 0 && size <= e->room && e->len <= e->room - size) {
        memcpy(e->dst + e->len, data, size);
    }
    e->len += size;
}

INLINE void put_byte(struct encoder *e, uint8_t value)
{
    if (e->len < e->room) {
        e->dst[e->len] = value;
    }
    e->len++;
}

INLINE void put_uvarint(struct encoder *e, uint32_t value)
{
    while (value >= 0x80) {
        put_byte(e, (uint8_t)(value | 0x80));
        value >>= 7;
    }
    put_byte(e, (uint8_t)value);
}

INLINE void put_fixed(struct encoder *e, uint8_t kind, const void *src)
{
    uint8_t bytes[8];
    uint64_t bits;
    switch (kind) {
    case WIRE_BOOL:
        put_byte(e, *(const bool *)src ? 1 : 0);
        break;
    case WIRE_INT8:
        put_byte(e, *(const uint8_t *)src);
        break;
    case WIRE_INT16:
    case WIRE_UINT16:
        put_be16(bytes, *(const uint16_t *)src);
        put_raw(e, bytes, 2);
        break;
    case WIRE_INT32:
    case WIRE_UINT32:
        put_be32(bytes, *(const uint32_t *)src);
        put_raw(e, bytes, 4);
        break;
    case WIRE_INT64:
    case WIRE_FLOAT64:
        memcpy(&bits, src, sizeof(bits));
        put_be64(bytes, bits);
        put_raw(e, bytes, 8);
        break;
    default:
        MUSTER_CHECK(kind == WIRE_UUID);
        put_raw(e, src, sizeof(struct uuid));
        break;
    }
}

/* A length or count in the form of the version; -1 is null and then has to be allowed. */
INLINE void put_length(struct encoder *e, bool wide, bool nullable, int32_t len)
{
    MUSTER_CHECK(len >= 0 || (len == -1 && nullable));
    uint8_t bytes[4];
    if (e->flexible) {
        put_uvarint(e, (uint32_t)len + 1);
    } else if (wide) {
        put_be32(bytes, (uint32_t)len);
        put_raw(e, bytes, 4);
    } else {
        put_be16(bytes, (uint16_t)len);
        put_raw(e, bytes, 2);
    }
}

/* The length a string is written with: cut in front of the UTF-8 character that would pass the protocol's limit. */
static int32_t string_length(struct str s)
{
    if (s.len <= INT16_MAX) {
        return s.len;
    }
    int32_t len = INT16_MAX;
    while (len > INT16_MAX - 4 && ((uint8_t)s.ptr[len] & 0xc0) == 0x80) {
        len--;
    }
    return len;
}

INLINE void put_string(struct encoder *e, bool nullable, const struct str *src)
{
    int32_t len = string_length(*src);
    put_length(e, false, nullable, len);
    put_raw(e, src->ptr, len > 0 ? (size_t)len : 0);
}

static void put_bytes(struct encoder *e, bool nullable, const struct bytes *src)
{
    put_length(e, true, nullable, src->len);
    put_raw(e, src->ptr, src->len > 0 ? (size_t)src->len : 0);
}

static void put_struct(struct encoder *e, const struct wire_field *field, const void *src)
{
    if (field->nullable_from < 0) {
        encode_fields(e, field->type, src);
        return;
    }
    const void *value = *(const void *const *)src;
    if (field_is_nullable(field, e->version)) {
        put_byte(e, value != NULL ? 1 : 0xff);
        if (value == NULL) {
            return;
        }
    }
    MUSTER_CHECK(value != NULL);
    encode_fields(e, field->type, value);
}

static void put_element(struct encoder *e, const struct wire_field *field, const void *src)
{
    switch (field->element) {
    case WIRE_STRING:
        put_string(e, false, src);
        break;
    case WIRE_BYTES:
        put_bytes(e, false, src);
        break;
    case WIRE_STRUCT:
        encode_fields(e, field->type, src);
        break;
    default:
        put_fixed(e, field->element, src);
        break;
    }
}

static void put_array(struct encoder *e, const struct wire_field *field, const struct any_array *src)
{
    put_length(e, true, field_is_nullable(field, e->version), src->len);
    size_t stride = kind_size(field->element, field->type);
    const uint8_t *element = src->v;
    for (int32_t i = 0; i < src->len; i++, element += stride) {
        put_element(e, field, element);
    }
}

INLINE void put_value(struct encoder *e, const struct wire_field *field, const void *src)
{
    switch (field->kind) {
    case WIRE_STRING:
        put_string(e, field_is_nullable(field, e->version), src);
        break;
    case WIRE_BYTES:
        put_bytes(e, field_is_nullable(field, e->version), src);
        break;
    case WIRE_STRUCT:
        put_struct(e, field, src);
        break;
    case WIRE_ARRAY:
        put_array(e, field, src);
        break;
    default:
        put_fixed(e, field->kind, src);
        break;
    }
}

/* The field stands in the tagged section: carried there, and not at its default. */
static bool stands_tagged(const struct encoder *e, const struct wire_field *field, const void *src)
{
    return field_is_carried(field, e->version) && field_is_tagged(field, e->version) &&
           !field_is_default(field, (const uint8_t *)src + field->offset);
}

static void put_tags(struct encoder *e, const struct wire_type *type, const void *src)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < type->field_count; i++) {
        count += stands_tagged(e, &type->fields[i], src);
    }
    put_uvarint(e, count);
    for (uint32_t i = 0; count > 0 && i < type->field_count; i++) {
        const struct wire_field *field = &type->fields[i];
        if (!stands_tagged(e, field, src)) {
            continue;
        }
        struct encoder counter = {.version = e->version, .flexible = e->flexible};
        put_value(&counter, field, (const uint8_t *)src + field->offset);
        put_uvarint(e, (uint32_t)field->tag);
        put_uvarint(e, (uint32_t)counter.len);
        put_value(e, field, (const uint8_t *)src + field->offset);
    }
}

static void encode_fields(struct encoder *e, const struct wire_type *type, const void *src)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct wire_field *field = &type->fields[i];
        if (field_is_carried(field, e->version) && !field_is_tagged(field, e->version)) {
            put_value(e, field, (const uint8_t *)src + field->offset);
        }
    }
    if (e->flexible) {
        put_tags(e, type, src);
    }
}

size_t wire_write_within(const struct wire_msg *msg, int16_t version, const void *value, uint8_t *dst, size_t room)
{
    MUSTER_CHECK(version >= msg->min_version && version <= msg->max_version);
    struct encoder e = {.dst = dst, .room = room, .version = version, .flexible = version >= msg->flexible_from};
    encode_fields(&e, msg->type, value);
    return e.len;
}

size_t wire_size(const struct wire_msg *msg, int16_t version, const void *value)
{
    return wire_write_within(msg, version, value, NULL, 0);
}

size_t wire_write(const struct wire_msg *msg, int16_t version, const void *value, uint8_t *dst)
{
    MUSTER_CHECK(dst != NULL);
    return wire_write_within(msg, version, value, dst, SIZE_MAX);
}

struct bytes wire_encode(const struct wire_msg *msg, int16_t version, const void *value, struct arena *arena)
{
    size_t size = wire_size(msg, version, value);
    MUSTER_CHECK(size <= INT32_MAX);
    uint8_t *dst = arena_get(arena, size);
    wire_write(msg, version, value, dst);
    return (struct bytes){dst, (int32_t)size};
}
