/* dump.c: any message as one line of JSON. Fields come in the schema's order: those the version carries, of the tagged ones those that
 * are not at their default. Bytes are base64, UUIDs have Kafka's text form. */
#include "internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int dump_fields(const struct wire_type *type, int16_t version, const void *value, struct buf *out);

static int put_text(struct buf *out, const char *text)
{
    return buf_put(out, text, strlen(text));
}

/* Length of the well-formed UTF-8 sequence at the start of s, 0 when there is none (RFC 3629: no surrogates, no long forms). */
static int utf8_length(const uint8_t *s, int32_t left)
{
    if (s[0] < 0x80) {
        return 1;
    }
    int len = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || left < len) {
        return 0;
    }
    for (int i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool bad =
        (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f);
    return bad ? 0 : len;
}

static int dump_escaped(uint8_t byte, struct buf *out)
{
    char text[8];
    switch (byte) {
    case '"':
        return put_text(out, "\\\"");
    case '\\':
        return put_text(out, "\\\\");
    case '\n':
        return put_text(out, "\\n");
    case '\r':
        return put_text(out, "\\r");
    case '\t':
        return put_text(out, "\\t");
    default:
        snprintf(text, sizeof(text), "\\u%04x", byte);
        return put_text(out, text);
    }
}

int wire_dump_str(struct str text, struct buf *out)
{
    if (text.len < 0) {
        return put_text(out, "null");
    }
    const uint8_t *at = (const uint8_t *)text.ptr;
    int rc = put_text(out, "\"");
    for (int32_t left = text.len; rc == 0 && left > 0;) {
        int len = utf8_length(at, left);
        if (len == 0 || *at < ' ' || *at == 127 || *at == '"' || *at == '\\') {
            rc = dump_escaped(*at, out);
            len = 1;
        } else {
            rc = buf_put(out, at, (size_t)len);
        }
        at += len;
        left -= len;
    }
    return rc < 0 ? rc : put_text(out, "\"");
}

static int dump_bytes(struct bytes bytes, struct buf *out)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (bytes.len < 0) {
        return put_text(out, "null");
    }
    int rc = put_text(out, "\"");
    for (int32_t i = 0; rc == 0 && i < bytes.len; i += 3) {
        int32_t left = bytes.len - i;
        uint32_t bits = (uint32_t)bytes.ptr[i] << 16;
        bits |= left > 1 ? (uint32_t)bytes.ptr[i + 1] << 8 : 0;
        bits |= left > 2 ? bytes.ptr[i + 2] : 0;
        char text[4] = {alphabet[bits >> 18], alphabet[bits >> 12 & 63], '=', '='};
        if (left > 1) {
            text[2] = alphabet[bits >> 6 & 63];
        }
        if (left > 2) {
            text[3] = alphabet[bits & 63];
        }
        rc = buf_put(out, text, sizeof(text));
    }
    return rc < 0 ? rc : put_text(out, "\"");
}

static int dump_number(uint8_t kind, const void *value, struct buf *out)
{
    char text[40];
    switch (kind) {
    case WIRE_INT8:
        snprintf(text, sizeof(text), "%d", *(const int8_t *)value);
        break;
    case WIRE_INT16:
        snprintf(text, sizeof(text), "%d", *(const int16_t *)value);
        break;
    case WIRE_UINT16:
        snprintf(text, sizeof(text), "%u", *(const uint16_t *)value);
        break;
    case WIRE_INT32:
        snprintf(text, sizeof(text), "%" PRId32, *(const int32_t *)value);
        break;
    case WIRE_UINT32:
        snprintf(text, sizeof(text), "%" PRIu32, *(const uint32_t *)value);
        break;
    case WIRE_INT64:
        snprintf(text, sizeof(text), "%" PRId64, *(const int64_t *)value);
        break;
    default:
        MUSTER_CHECK(kind == WIRE_FLOAT64);
        snprintf(text, sizeof(text), "%.17g", *(const double *)value);
        break;
    }
    return put_text(out, text);
}

static int dump_uuid(struct uuid id, struct buf *out)
{
    char text[23];
    uuid_text(id, text);
    return wire_dump_str(str_of(text), out);
}

/* Any kind but an array and a structure that may be null. */
static int dump_plain(uint8_t kind, const struct wire_type *type, int16_t version, const void *value, struct buf *out)
{
    switch (kind) {
    case WIRE_BOOL:
        return put_text(out, *(const bool *)value ? "true" : "false");
    case WIRE_STRING:
        return wire_dump_str(*(const struct str *)value, out);
    case WIRE_BYTES:
        return dump_bytes(*(const struct bytes *)value, out);
    case WIRE_UUID:
        return dump_uuid(*(const struct uuid *)value, out);
    case WIRE_STRUCT:
        return dump_fields(type, version, value, out);
    default:
        return dump_number(kind, value, out);
    }
}

static int dump_array(const struct wire_field *field, int16_t version, const struct any_array *array, struct buf *out)
{
    if (array->len < 0) {
        return put_text(out, "null");
    }
    size_t stride = kind_size(field->element, field->type);
    int rc = put_text(out, "[");
    for (int32_t i = 0; rc == 0 && i < array->len; i++) {
        if (i > 0) {
            rc = put_text(out, ",");
        }
        if (rc == 0) {
            rc = dump_plain(field->element, field->type, version, (const uint8_t *)array->v + (size_t)i * stride, out);
        }
    }
    return rc < 0 ? rc : put_text(out, "]");
}

static int dump_value(const struct wire_field *field, int16_t version, const void *value, struct buf *out)
{
    if (field->kind == WIRE_ARRAY) {
        return dump_array(field, version, value, out);
    }
    if (field->kind == WIRE_STRUCT && field->nullable_from >= 0) {
        const void *pointed = *(const void *const *)value;
        return pointed == NULL ? put_text(out, "null") : dump_fields(field->type, version, pointed, out);
    }
    return dump_plain(field->kind, field->type, version, value, out);
}

static int dump_fields(const struct wire_type *type, int16_t version, const void *value, struct buf *out)
{
    const char *before = "{\"";
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < type->field_count; i++) {
        const struct wire_field *field = &type->fields[i];
        const void *at = (const uint8_t *)value + field->offset;
        if (!field_is_carried(field, version) || (field_is_tagged(field, version) && field_is_default(field, at))) {
            continue;
        }
        rc = put_text(out, before);
        before = ",\"";
        if (rc == 0) {
            rc = put_text(out, field->name);
        }
        if (rc == 0) {
            rc = put_text(out, "\":");
        }
        if (rc == 0) {
            rc = dump_value(field, version, at, out);
        }
    }
    return rc < 0 ? rc : put_text(out, before[0] == '{' ? "{}" : "}");
}

int wire_dump(const struct wire_msg *msg, int16_t version, const void *value, struct buf *out)
{
    MUSTER_CHECK(version >= msg->min_version && version <= msg->max_version);
    return dump_fields(msg->type, version, value, out);
}

static int dump_unknown_record(struct record record, struct buf *out)
{
    char text[32];
    snprintf(text, sizeof(text), "{\"type\":%d,\"key\":", (int16_t)get_be16(record.key.ptr));
    int rc = put_text(out, text);
    if (rc == 0) {
        rc = dump_bytes((struct bytes){record.key.ptr + 2, record.key.len - 2}, out);
    }
    if (rc == 0) {
        rc = put_text(out, ",\"value\":");
    }
    if (rc == 0) {
        rc = dump_bytes(record.value, out);
    }
    return rc < 0 ? rc : put_text(out, "}");
}

int wire_record_dump(struct record record, struct arena *scratch, struct buf *out)
{
    struct wire_decoded_record decoded;
    int rc = wire_record_decode(record, scratch, &decoded);
    if (rc == MUSTER_E_NOT_FOUND) {
        return dump_unknown_record(record, out);
    }
    if (rc == 0) {
        rc = put_text(out, "{\"type\":\"");
    }
    if (rc == 0) {
        rc = put_text(out, decoded.schema->name);
    }
    if (rc == 0) {
        rc = put_text(out, "\",\"key\":");
    }
    if (rc == 0) {
        rc = wire_dump(decoded.schema->key, 0, decoded.key, out);
    }
    if (rc == 0) {
        rc = put_text(out, ",\"value\":");
    }
    if (rc == 0) {
        rc = decoded.value == NULL ? put_text(out, "null") : wire_dump(decoded.schema->value, decoded.value_version, decoded.value, out);
    }
    return rc < 0 ? rc : put_text(out, "}");
}
