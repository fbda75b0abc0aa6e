#include "print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void print_text(const char *text, struct buf *out)
{
    MUSTER_CHECK(buf_put(out, text, strlen(text)) == 0);
}

void print_number(int64_t n, struct buf *out)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)n);
    print_text(text, out);
}

void print_ms(int64_t ms, struct buf *out)
{
    print_number(ms % 1000 == 0 ? ms / 1000 : ms, out);
    print_text(ms % 1000 == 0 ? "s" : "ms", out);
}

static const char zeros[] = "00000000-0000-0000-0000-";

/* The nth id drawn, "00000000-0000-0000-0000-00000000000n", becomes "#n". Its last twelve digits are hexadecimal. */
static const char *shorten(const char *at, const char *end, struct buf *out)
{
    size_t prefix = sizeof zeros - 1;
    if ((size_t)(end - at) < prefix + 12 || memcmp(at, zeros, prefix) != 0) {
        return at;
    }
    char digits[13] = {0}, *rest;
    memcpy(digits, at + prefix, 12);
    unsigned long n = strtoul(digits, &rest, 16);
    if (*rest != '\0') {
        return at;
    }
    print_text("#", out);
    print_number((int64_t)n, out);
    return at + prefix + 12;
}

static void print_byte(uint8_t c, struct buf *out)
{
    char text[8];
    snprintf(text, sizeof text, c > ' ' && c < 0x7f ? "%c" : "\\x%02x", c);
    print_text(text, out);
}

static void print_bytes(const void *data, int32_t len, struct buf *out)
{
    const char *at = data;
    if (len == 0) {
        print_text("''", out);
    }
    for (const char *end = at + (len > 0 ? len : 0); at < end;) {
        const char *next = shorten(at, end, out);
        if (next == at) {
            print_byte((uint8_t)*at, out);
            next++;
        }
        at = next;
    }
}

void print_str(struct str s, struct buf *out)
{
    if (s.len < 0) {
        print_text("null", out);
    } else {
        print_bytes(s.ptr, s.len, out);
    }
}

static int64_t number_at(uint8_t kind, const void *at)
{
    switch (kind) {
    case WIRE_BOOL:
        return *(const bool *)at;
    case WIRE_INT8:
        return *(const int8_t *)at;
    case WIRE_INT16:
        return *(const int16_t *)at;
    case WIRE_UINT16:
        return *(const uint16_t *)at;
    case WIRE_INT32:
        return *(const int32_t *)at;
    case WIRE_UINT32:
        return *(const uint32_t *)at;
    case WIRE_INT64:
        return *(const int64_t *)at;
    default:
        return 0;
    }
}

static size_t kind_size(uint8_t kind, const struct wire_type *type)
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
        return sizeof(struct uuid);
    case WIRE_STRING:
        return sizeof(struct str);
    case WIRE_BYTES:
        return sizeof(struct bytes);
    default:
        return type->size;
    }
}

static void print_value(uint8_t kind, const struct wire_type *type, int16_t version, const void *at, struct buf *out);

static void print_array(const struct wire_field *f, int16_t version, const void *at, struct buf *out)
{
    struct {
        const uint8_t *v;
        int32_t len;
    } array;
    memcpy(&array, at, sizeof array);
    print_text("[", out);
    for (int32_t i = 0; i < array.len; i++) {
        print_text(i > 0 ? " " : "", out);
        print_value(f->element, f->type, version, array.v + (size_t)i * kind_size(f->element, f->type), out);
    }
    print_text("]", out);
}

static void print_value(uint8_t kind, const struct wire_type *type, int16_t version, const void *at, struct buf *out)
{
    char id[23];
    switch (kind) {
    case WIRE_UUID:
        uuid_text(*(const struct uuid *)at, id);
        print_text(id, out);
        break;
    case WIRE_STRING:
        print_str(*(const struct str *)at, out);
        break;
    case WIRE_BYTES:
        print_bytes(((const struct bytes *)at)->ptr, ((const struct bytes *)at)->len, out);
        break;
    case WIRE_STRUCT: {
        size_t begin = out->len;
        print_message(type, version, at, out);
        if (out->len > begin) {
            out->ptr[begin] = '{'; /* in place of the space */
        } else {
            print_text("{", out);
        }
        print_text("}", out);
        break;
    }
    default:
        print_number(number_at(kind, at), out);
    }
}

static bool is_default(const struct wire_field *f, const void *at)
{
    struct {
        const void *ptr;
        int32_t len;
    } view;
    switch (f->kind) {
    case WIRE_STRING:
    case WIRE_BYTES:
    case WIRE_ARRAY:
        memcpy(&view, at, sizeof view);
        return view.len <= 0 && (view.len < 0 || !f->default_null);
    case WIRE_UUID:
        return uuid_is_zero(*(const struct uuid *)at);
    case WIRE_STRUCT:
        return false;
    default:
        return number_at(f->kind, at) == (f->has_default ? f->default_number : 0);
    }
}

void print_message(const struct wire_type *type, int16_t version, const void *value, struct buf *out)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct wire_field *f = &type->fields[i];
        const void *at = (const uint8_t *)value + f->offset;
        if (version < f->min_version || version > f->max_version || is_default(f, at)) {
            continue;
        }
        print_text(" ", out);
        print_text(f->name, out);
        print_text("=", out);
        if (f->kind == WIRE_ARRAY) {
            print_array(f, version, at, out);
        } else {
            print_value(f->kind, f->type, version, at, out);
        }
    }
}

void print_record(struct record record, struct buf *out)
{
    struct arena arena;
    arena_init(&arena, 0);
    struct wire_decoded_record decoded;
    if (wire_record_decode(record, &arena, &decoded) < 0) {
        print_text("unreadable", out);
    } else {
        print_text(decoded.schema->name, out);
        print_message(decoded.schema->key->type, 0, decoded.key, out);
        if (decoded.value == NULL) {
            print_text(" gone", out);
        } else {
            print_message(decoded.schema->value->type, decoded.value_version, decoded.value, out);
        }
    }
    arena_fini(&arena);
}
