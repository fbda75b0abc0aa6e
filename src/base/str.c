/* str.c: views of text and bytes, and UUIDs in their two text forms. */
#include <muster/base.h>

#include <string.h>

struct str str_of(const char *c_string)
{
    if (c_string == NULL) {
        return STR_NULL;
    }
    size_t len = strlen(c_string);
    MUSTER_CHECK(len <= INT32_MAX);
    return (struct str){c_string, (int32_t)len};
}

bool str_is_null(struct str s)
{
    return s.len < 0;
}

bool str_is_empty(struct str s)
{
    return s.len <= 0;
}

bool str_is_blank(struct str s)
{
    int32_t at = 0;
    while (at < s.len && (s.ptr[at] == ' ' || (s.ptr[at] >= '\t' && s.ptr[at] <= '\r'))) {
        at++;
    }
    return s.len >= 0 && at == s.len;
}

bool str_eq(struct str a, struct str b)
{
    if (a.len != b.len) {
        return a.len < 0 && b.len < 0;
    }
    return a.len <= 0 || memcmp(a.ptr, b.ptr, (size_t)a.len) == 0;
}

int str_cmp(struct str a, struct str b)
{
    if (a.len < 0 || b.len < 0) {
        return (a.len >= 0) - (b.len >= 0);
    }
    int32_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter > 0 ? memcmp(a.ptr, b.ptr, (size_t)shorter) : 0;
    if (order != 0) {
        return order < 0 ? -1 : 1;
    }
    return (a.len > b.len) - (a.len < b.len);
}

bool bytes_eq(struct bytes a, struct bytes b)
{
    return str_eq((struct str){(const char *)a.ptr, a.len}, (struct str){(const char *)b.ptr, b.len});
}

struct bytes bytes_of_str(struct str s)
{
    return (struct bytes){(const uint8_t *)s.ptr, s.len};
}

bool uuid_eq(struct uuid a, struct uuid b)
{
    return memcmp(a.b, b.b, sizeof(a.b)) == 0;
}

int uuid_cmp(struct uuid a, struct uuid b)
{
    int order = memcmp(a.b, b.b, sizeof(a.b));
    return (order > 0) - (order < 0);
}

bool uuid_is_zero(struct uuid id)
{
    return uuid_eq(id, (struct uuid){{0}});
}

static const char base64_url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void uuid_text(struct uuid id, char dst[23])
{
    uint32_t bits = 0;
    unsigned held = 0;
    size_t at = 0;
    for (size_t i = 0; i < sizeof(id.b); i++) {
        bits = bits << 8 | id.b[i];
        held += 8;
        while (held >= 6) {
            held -= 6;
            dst[at++] = base64_url[bits >> held & 63];
        }
    }
    dst[at++] = base64_url[bits << (6 - held) & 63];
    dst[at] = '\0';
}

/* The value of a character of that alphabet, or -1. */
static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    if (c == '-') {
        return 62;
    }
    return c == '_' ? 63 : -1;
}

int uuid_parse(struct str text, struct uuid *ret)
{
    if (text.len != 22) {
        return MUSTER_E_MALFORMED;
    }
    struct uuid id;
    uint32_t bits = 0;
    unsigned held = 0;
    size_t at = 0;
    for (int32_t i = 0; i < text.len; i++) {
        int value = base64_value(text.ptr[i]);
        if (value < 0) {
            return MUSTER_E_MALFORMED;
        }
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            id.b[at++] = (uint8_t)(bits >> held);
        }
    }
    *ret = id; /* 132 bits were read; the last four say nothing */
    return MUSTER_E_OK;
}

void uuid_dashed(struct uuid id, char dst[37])
{
    static const char digits[] = "0123456789abcdef";
    size_t at = 0;
    for (size_t i = 0; i < sizeof(id.b); i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            dst[at++] = '-';
        }
        dst[at++] = digits[id.b[i] >> 4];
        dst[at++] = digits[id.b[i] & 15];
    }
    dst[at] = '\0';
}

void text_tame(char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        uint8_t byte = (uint8_t)text[i], next = i + 1 < len ? (uint8_t)text[i + 1] : 0;
        if (byte < ' ' || byte == 127) {
            text[i] = '?';
        } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) { /* C1 in UTF-8 */
            text[i] = text[i + 1] = '?';
        }
    }
}
