#include "properties.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\f';
}

static const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && is_blank(*p)) {
        p++;
    }
    return p;
}

/* The end of the physical line that starts at p: its newline, or the end of the text. */
static const char *line_end(const char *p, const char *end)
{
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    return newline != NULL ? newline : end;
}

static struct str without_return(const char *p, const char *end)
{
    if (end > p && end[-1] == '\r') {
        end--;
    }
    return (struct str){p, (int32_t)(end - p)};
}

/* An odd number of backslashes at the end continues the line: an even number is backslashes that are meant. */
static bool is_continued(struct str line)
{
    int32_t count = 0;
    while (count < line.len && line.ptr[line.len - 1 - count] == '\\') {
        count++;
    }
    return count % 2 == 1;
}

/* Joins the lines of one entry into `text`, without the backslashes and the blanks at the start of each following line. */
static struct str logical_line(const char **position, const char *end, int *line_number, char *text)
{
    int32_t len = 0;
    bool more = true;
    while (more && *position < end) {
        const char *stop = line_end(*position, end);
        struct str line = without_return(skip_blanks(*position, stop), stop);
        more = is_continued(line);
        int32_t part = more ? line.len - 1 : line.len;
        memcpy(text + len, line.ptr, (size_t)part);
        len += part;
        *position = stop < end ? stop + 1 : end;
        (*line_number)++;
    }
    return (struct str){text, len};
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return -1;
}

/* Writes a code point of the basic plane in UTF-8; returns the bytes written. */
static int32_t put_utf8(char *out, unsigned code)
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | (code >> 6));
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    out[0] = (char)(0xe0 | (code >> 12));
    out[1] = (char)(0x80 | ((code >> 6) & 0x3f));
    out[2] = (char)(0x80 | (code & 0x3f));
    return 3;
}

static int unescape_unicode(struct str raw, int32_t at, char *out, int32_t *len)
{
    unsigned code = 0;
    if (raw.len - at < 4) {
        return MUSTER_E_MALFORMED;
    }
    for (int32_t i = at; i < at + 4; i++) {
        int digit = hex_digit(raw.ptr[i]);
        if (digit < 0) {
            return MUSTER_E_MALFORMED;
        }
        code = code * 16 + (unsigned)digit;
    }
    *len += put_utf8(out + *len, code);
    return 0;
}

static char simple_escape(char c)
{
    switch (c) {
    case 't':
        return '\t';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 'f':
        return '\f';
    default:
        return c;
    }
}

/* No escape is longer than what it stands for, so the output fits into the input's length. */
static int unescape(struct str raw, struct arena *arena, struct str *ret)
{
    char *out = arena_get(arena, (size_t)raw.len + 1);
    int32_t len = 0;
    for (int32_t i = 0; i < raw.len; i++) {
        if (raw.ptr[i] == '\0') {
            return MUSTER_E_MALFORMED;
        }
        if (raw.ptr[i] != '\\' || i + 1 == raw.len) {
            out[len++] = raw.ptr[i];
            continue;
        }
        i++;
        if (raw.ptr[i] != 'u') {
            out[len++] = simple_escape(raw.ptr[i]);
            continue;
        }
        int rc = unescape_unicode(raw, i + 1, out, &len);
        if (rc < 0) {
            return rc;
        }
        i += 4;
    }
    *ret = (struct str){out, len};
    return 0;
}

static struct str trim_end(struct str s)
{
    while (s.len > 0 && is_blank(s.ptr[s.len - 1])) {
        s.len--;
    }
    return s;
}

/* The key ends at the first unescaped =, : or blank; blanks around the separator belong to neither side. */
static void split(struct str line, struct str *key, struct str *value)
{
    int32_t i = 0;
    while (i < line.len && line.ptr[i] != '=' && line.ptr[i] != ':' && !is_blank(line.ptr[i])) {
        i += line.ptr[i] == '\\' && i + 1 < line.len ? 2 : 1;
    }
    *key = (struct str){line.ptr, i};
    while (i < line.len && is_blank(line.ptr[i])) {
        i++;
    }
    if (i < line.len && (line.ptr[i] == '=' || line.ptr[i] == ':')) {
        i++;
    }
    while (i < line.len && is_blank(line.ptr[i])) {
        i++;
    }
    *value = trim_end((struct str){line.ptr + i, line.len - i});
}

static bool is_comment(const char *p, const char *end)
{
    p = skip_blanks(p, end);
    return p == end || *p == '\n' || *p == '\r' || *p == '#' || *p == '!';
}

int properties_parse(struct str text, struct arena *arena, properties_fn *each, void *ctx, int *ret_line)
{
    const char *p = text.ptr;
    const char *end = text.ptr + text.len;
    int line_number = 1;
    char *joined = arena_get(arena, (size_t)text.len + 1);
    while (p < end) {
        int first = line_number;
        if (is_comment(p, end)) {
            const char *stop = line_end(p, end);
            p = stop < end ? stop + 1 : end;
            line_number++;
            continue;
        }
        struct str raw_key, raw_value, key = STR_NULL, value = STR_NULL;
        split(logical_line(&p, end, &line_number, joined), &raw_key, &raw_value);
        int rc = unescape(raw_key, arena, &key);
        if (rc == 0) {
            rc = unescape(raw_value, arena, &value);
        }
        if (rc < 0) {
            *ret_line = first;
            return rc;
        }
        each(ctx, first, key, value);
    }
    return 0;
}
