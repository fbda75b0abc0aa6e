/* decode.c: bytes to a C struct, by its table.
 *
 * Nothing here trusts a number it has read: a length is held against the bytes left before it is used, a count against the fewest
 * bytes its elements can take before memory is taken. Depth is that of the schema, which cannot recurse. */
#include "internal.h"

#include <string.h>

struct decoder {
    struct reader in;
    struct arena *arena;
    int16_t version;
    bool flexible;
};

static int decode_fields(struct decoder *d, const struct wire_type *type, void *dst);

/* Bytes on the wire of a number or UUID; 0 for the kinds with a length in front. */
INLINE size_t fixed_size(uint8_t kind)
{
    switch (kind) {
    case WIRE_BOOL:
    case WIRE_INT8:
        return 1;
    case WIRE_INT16:
    case WIRE_UINT16:
        return 2;
    case WIRE_INT32:
    case WIRE_UINT32:
        return 4;
    case WIRE_INT64:
    case WIRE_FLOAT64:
        return 8;
    case WIRE_UUID:
        return 16;
    default:
        return 0;
    }
}

static size_t least_type_size(const struct decoder *d, const struct wire_type *type);

/* The fewest bytes a value can take. */
static size_t least_size(const struct decoder *d, uint8_t kind, const struct wire_type *type, bool nullable)
{
    if (kind == WIRE_STRUCT) {
        return nullable ? 1 : least_type_size(d, type);
    }
    size_t fixed = fixed_size(kind);
    if (fixed > 0) {
        return fixed;
    }
    if (d->flexible) {
        return 1;
    }
    return kind == WIRE_STRING ? 2 : 4;
}

static size_t least_type_size(const struct decoder *d, const struct wire_type *type)
{
    size_t size = d->flexible ? 1 : 0;
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct wire_field *field = &type->fields[i];
        if (field_is_carried(field, d->version) && !field_is_tagged(field, d->version)) {
            size += least_size(d, field->kind, field->type, field_is_nullable(field, d->version));
        }
    }
    return size > 0 ? size : 1;
}

INLINE int decode_fixed(struct decoder *d, uint8_t kind, void *dst)
{
    size_t size = fixed_size(kind);
    const uint8_t *at = d->in.at;
    uint64_t bits;
    if (reader_left(&d->in) < size) {
        return MUSTER_E_TRUNCATED;
    }
    d->in.at += size;
    switch (size) {
    case 1:
        *(uint8_t *)dst = kind == WIRE_BOOL ? *at != 0 : *at;
        break;
    case 2:
        *(uint16_t *)dst = get_be16(at);
        break;
    case 4:
        *(uint32_t *)dst = get_be32(at);
        break;
    case 8:
        bits = get_be64(at);
        memcpy(dst, &bits, sizeof(bits));
        break;
    default:
        memcpy(dst, at, sizeof(struct uuid));
        break;
    }
    return MUSTER_E_OK;
}

/* A length or count in the form of the version; -1 is null and only then allowed. */
INLINE int decode_length(struct decoder *d, bool wide, bool nullable, int32_t *ret)
{
    int32_t len;
    int rc;
    if (d->flexible) {
        uint32_t more;
        rc = read_uvarint(&d->in, &more);
        if (rc == 0 && more > (uint32_t)INT32_MAX + 1) {
            return MUSTER_E_MALFORMED;
        }
        len = rc == 0 ? (int32_t)((int64_t)more - 1) : 0;
    } else if (wide) {
        rc = read_int32(&d->in, &len);
    } else {
        int16_t narrow = 0;
        rc = read_int16(&d->in, &narrow);
        len = narrow;
    }
    if (rc < 0) {
        return rc;
    }
    if (len < -1 || (len == -1 && !nullable)) {
        return MUSTER_E_MALFORMED;
    }
    *ret = len;
    return MUSTER_E_OK;
}

INLINE int decode_string(struct decoder *d, bool nullable, struct str *dst)
{
    int32_t len;
    int rc = decode_length(d, false, nullable, &len);
    if (rc < 0) {
        return rc;
    }
    if (len < 0) {
        *dst = STR_NULL;
        return MUSTER_E_OK;
    }
    if (len > INT16_MAX) {
        return MUSTER_E_MALFORMED;
    }
#ifndef MUSTER_FAULT_TRUST_LENGTH
    if ((size_t)len > reader_left(&d->in)) {
        return MUSTER_E_TRUNCATED;
    }
#endif
    *dst = (struct str){(const char *)d->in.at, len};
    d->in.at += len;
    return MUSTER_E_OK;
}

static int decode_bytes(struct decoder *d, bool nullable, struct bytes *dst)
{
    int32_t len;
    int rc = decode_length(d, true, nullable, &len);
    if (rc < 0) {
        return rc;
    }
    if (len < 0) {
        *dst = BYTES_NULL;
        return MUSTER_E_OK;
    }
    if ((size_t)len > reader_left(&d->in)) {
        return MUSTER_E_TRUNCATED;
    }
    *dst = (struct bytes){d->in.at, len};
    d->in.at += len;
    return MUSTER_E_OK;
}

static int decode_struct(struct decoder *d, const struct wire_field *field, void *dst)
{
    if (field->nullable_from < 0) {
        return decode_fields(d, field->type, dst);
    }
    void **link = dst; /* a structure that may be null in some version is always a pointer */
    if (field_is_nullable(field, d->version)) {
        if (reader_left(&d->in) < 1) {
            return MUSTER_E_TRUNCATED;
        }
        if ((int8_t)*d->in.at++ < 0) {
            *link = NULL;
            return MUSTER_E_OK;
        }
    }
    void *value = arena_try(d->arena, field->type->size);
    if (value == NULL) {
        return MUSTER_E_LIMIT;
    }
    wire_init_type(field->type, value);
    int rc = decode_fields(d, field->type, value);
    *link = value;
    return rc;
}

static int decode_element(struct decoder *d, const struct wire_field *field, void *dst)
{
    switch (field->element) {
    case WIRE_STRING:
        return decode_string(d, false, dst);
    case WIRE_BYTES:
        return decode_bytes(d, false, dst);
    case WIRE_STRUCT:
        if (field->type->start != NULL) {
            memcpy(dst, field->type->start, field->type->size);
        }
        return decode_fields(d, field->type, dst);
    default:
        return decode_fixed(d, field->element, dst);
    }
}

static int decode_array(struct decoder *d, const struct wire_field *field, struct any_array *dst)
{
    int32_t len;
    int rc = decode_length(d, true, field_is_nullable(field, d->version), &len);
    if (rc < 0) {
        return rc;
    }
    *dst = (struct any_array){NULL, len};
    if (len <= 0) {
        return MUSTER_E_OK;
    }
    if ((size_t)len > reader_left(&d->in) / least_size(d, field->element, field->type, false)) {
        return MUSTER_E_TRUNCATED;
    }
    size_t stride = kind_size(field->element, field->type);
    uint8_t *element = arena_try(d->arena, (size_t)len * stride);
    if (element == NULL) {
        return MUSTER_E_LIMIT;
    }
    dst->v = element;
    for (int32_t i = 0; i < len && rc == 0; i++, element += stride) {
        rc = decode_element(d, field, element);
    }
    return rc;
}

INLINE int decode_value(struct decoder *d, const struct wire_field *field, void *dst)
{
    switch (field->kind) {
    case WIRE_STRING:
        return decode_string(d, field_is_nullable(field, d->version), dst);
    case WIRE_BYTES:
        return decode_bytes(d, field_is_nullable(field, d->version), dst);
    case WIRE_STRUCT:
        return decode_struct(d, field, dst);
    case WIRE_ARRAY:
        return decode_array(d, field, dst);
    default:
        return decode_fixed(d, field->kind, dst);
    }
}

/* Tags ascend, and mostly in the order of the fields: the search begins at *at, behind the field that was found last. */
static const struct wire_field *find_tag(const struct decoder *d, const struct wire_type *type, uint32_t tag, uint32_t *at)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        uint32_t place = *at < type->field_count ? *at : 0;
        const struct wire_field *field = &type->fields[place];
        *at = place + 1;
        if (field->tag >= 0 && (uint32_t)field->tag == tag && field_is_carried(field, d->version) && field_is_tagged(field, d->version)) {
            return field;
        }
    }
    return NULL;
}

/* One tagged field, which must fill its size exactly. */
static int decode_tag(struct decoder *d, const struct wire_field *field, uint32_t size, void *dst)
{
    if (field == NULL) {
        d->in.at += size;
        return MUSTER_E_OK;
    }
    const uint8_t *end = d->in.end;
    d->in.end = d->in.at + size;
    int rc = decode_value(d, field, (uint8_t *)dst + field->offset);
    if (rc == MUSTER_E_TRUNCATED || (rc == 0 && d->in.at != d->in.end)) {
        rc = MUSTER_E_MALFORMED;
    }
    d->in.end = end;
    return rc;
}

/* at: where the first tagged field of the version stands, if it has one. */
static int decode_tags(struct decoder *d, const struct wire_type *type, uint32_t at, void *dst)
{
    uint32_t count = 0, tag = 0, size = 0, next_least = 0;
    int rc = read_uvarint(&d->in, &count);
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        rc = read_uvarint(&d->in, &tag);
        if (rc == 0) {
            rc = read_uvarint(&d->in, &size);
        }
        if (rc < 0) {
            break;
        }
        if (tag < next_least || tag == UINT32_MAX) { /* they ascend, and so none comes twice */
            return MUSTER_E_MALFORMED;
        }
        if (size > reader_left(&d->in)) {
            return MUSTER_E_TRUNCATED;
        }
        next_least = tag + 1;
        rc = decode_tag(d, find_tag(d, type, tag, &at), size, dst);
    }
    return rc;
}

/* dst holds the defaults. */
static int decode_fields(struct decoder *d, const struct wire_type *type, void *dst)
{
    uint32_t first_tagged = type->field_count;
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct wire_field *field = &type->fields[i];
        if (!field_is_carried(field, d->version)) {
            continue;
        }
        if (field_is_tagged(field, d->version)) {
            first_tagged = i < first_tagged ? i : first_tagged;
            continue;
        }
        int rc = decode_value(d, field, (uint8_t *)dst + field->offset);
        if (rc < 0) {
            return rc;
        }
    }
    return d->flexible ? decode_tags(d, type, first_tagged, dst) : MUSTER_E_OK;
}

int wire_decode(const struct wire_msg *msg, int16_t version, struct bytes in, struct arena *arena, void *ret, size_t *ret_used)
{
    if (version < msg->min_version || version > msg->max_version) {
        return MUSTER_E_VERSION;
    }
    const uint8_t *start = in.len > 0 ? in.ptr : (const uint8_t *)"";
    struct decoder d = {
        .in = {start, start + (in.len > 0 ? in.len : 0)},
        .arena = arena,
        .version = version,
        .flexible = version >= msg->flexible_from,
    };
    wire_init(msg, ret);
    int rc = decode_fields(&d, msg->type, ret);
    if (rc == 0 && ret_used != NULL) {
        *ret_used = (size_t)(d.in.at - start);
    }
    return rc;
}
