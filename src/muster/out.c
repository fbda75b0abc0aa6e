#include "out.h"

#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* Length of the well-formed UTF-8 sequence at s, 0 when there is none (RFC 3629). */
static int utf8_length(const uint8_t *s, int32_t left)
{
    static const struct {
        uint8_t first, last, low, high;
        int len;
    } forms[] = {
        {0x00, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
    };
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        if (s[0] < forms[i].first || s[0] > forms[i].last) {
            continue;
        }
        bool good = left >= forms[i].len && (forms[i].len == 1 || (s[1] >= forms[i].low && s[1] <= forms[i].high));
        for (int k = 2; good && k < forms[i].len; k++) {
            good = (s[k] & 0xc0) == 0x80;
        }
        return good ? forms[i].len : 0;
    }
    return 0;
}

/* C0, DEL, and C1 (0xc2 0x80 to 0xc2 0x9f): what a terminal would obey. */
static bool is_control(const uint8_t *s, int len)
{
    return s[0] < ' ' || s[0] == 127 || (len == 2 && s[0] == 0xc2 && s[1] < 0xa0);
}

struct str out_text(struct str text, struct arena *arena)
{
    if (text.len < 0) {
        return STR("-");
    }
    if (text.len == 0) {
        return STR("\"\"");
    }
    const uint8_t *s = (const uint8_t *)text.ptr;
    char *out = arena_get(arena, (size_t)text.len * 4 + 1);
    int32_t used = 0;
    for (int32_t i = 0; i < text.len;) {
        int len = utf8_length(s + i, text.len - i);
        if (len == 0 || is_control(s + i, len)) {
            used += snprintf(out + used, 5, "\\x%02x", s[i]);
            i++;
        } else {
            memcpy(out + used, s + i, (size_t)len);
            used += len;
            i += len;
        }
    }
    return (struct str){out, used};
}

struct str out_quoted(struct str text, struct arena *arena)
{
    return text.len == 0 ? STR("''") : arena_printf(arena, "'%.*s'", STR_ARG(out_text(text, arena)));
}

bool out_is_terminal(FILE *file)
{
    int fd = fileno(file);
    return fd >= 0 && isatty(fd);
}

int out_width(struct str text)
{
    int width = 0;
    for (int32_t i = 0; i < text.len; i++) {
        width += ((uint8_t)text.ptr[i] & 0xc0) != 0x80;
    }
    return width;
}

struct str out_time(int64_t wall_ms, struct arena *arena)
{
    /* years 1 to 9999 */
    if (wall_ms < INT64_C(-62135596800000) || wall_ms > INT64_C(253402300799999)) {
        return arena_printf(arena, "%" PRId64 "ms", wall_ms);
    }
    int64_t ms = wall_ms % 1000 + (wall_ms % 1000 < 0 ? 1000 : 0);
    time_t seconds = (time_t)((wall_ms - ms) / 1000);
    struct tm tm;
    MUSTER_CHECK(gmtime_r(&seconds, &tm) != NULL);
    return arena_printf(arena, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
                        tm.tm_sec, (int)ms);
}

/* ---- tables ---- */

void table_init(struct table *t, struct arena *arena, const char *const *headers, int columns)
{
    *t = (struct table){.arena = arena, .headers = headers, .columns = columns};
}

static void add_cell(struct table *t, struct str text)
{
    if (t->cell_count == t->cell_cap) {
        int cap = t->cell_cap > 0 ? t->cell_cap * 2 : 64;
        struct str *grown = ARENA_NEW(t->arena, struct str, cap);
        if (t->cell_count > 0) {
            memcpy(grown, t->cells, (size_t)t->cell_count * sizeof(*grown));
        }
        t->cells = grown;
        t->cell_cap = cap;
    }
    t->cells[t->cell_count++] = text;
}

void table_text(struct table *t, struct str text)
{
    add_cell(t, out_text(text, t->arena));
}

void table_number(struct table *t, int64_t number)
{
    add_cell(t, arena_printf(t->arena, "%" PRId64, number));
}

void table_number_or_dash(struct table *t, int64_t number)
{
    if (number < 0) {
        add_cell(t, STR("-"));
    } else {
        table_number(t, number);
    }
}

static bool is_number(struct str text)
{
    bool number = text.len > 0;
    for (int32_t i = 0; number && i < text.len; i++) {
        number = (text.ptr[i] >= '0' && text.ptr[i] <= '9') || (text.ptr[i] == '-' && i == 0);
    }
    return number;
}

/* Width and side of one column. */
static int measure(const struct table *t, int column, bool *ret_right)
{
    int width = (int)strlen(t->headers[column]);
    bool right = t->cell_count > 0;
    for (int i = column; i < t->cell_count; i += t->columns) {
        int cell = out_width(t->cells[i]);
        width = cell > width ? cell : width;
        right = right && is_number(t->cells[i]);
    }
    *ret_right = right;
    return width;
}

/* The text's first columns; what is cut ends in '…'. */
static void print_text(FILE *to, struct str text, int width)
{
    int32_t len = text.len;
    if (out_width(text) > width) {
        len = 0;
        for (int column = 0; column < width; len++) {
            column += ((uint8_t)text.ptr[len] & 0xc0) != 0x80;
        }
        len--; /* the last one makes room */
    }
    fwrite(text.ptr, 1, (size_t)len, to);
    fputs(len < text.len ? "…" : "", to);
}

static void print_cell(FILE *to, struct str text, int width, bool right, bool last)
{
    int taken = out_width(text);
    int blanks = taken < width ? width - taken : 0;
    if (right && blanks > 0) {
        fprintf(to, "%*s", blanks, "");
    }
    print_text(to, text, width);
    if (last) {
        fputc('\n', to);
    } else {
        fprintf(to, "%*s", (right ? 0 : blanks) + 2, "");
    }
}

/* Takes columns off the widest that are text, one by one, until all fit or none is wider than a few. */
static void narrow(int *widths, const bool *right, int columns, int limit)
{
    enum { LEAST = 8 };
    int total = 2 * (columns - 1);
    for (int c = 0; c < columns; c++) {
        total += widths[c];
    }
    while (total > limit) {
        int widest = -1;
        for (int c = 0; c < columns; c++) {
            widest = !right[c] && widths[c] > LEAST && (widest < 0 || widths[c] > widths[widest]) ? c : widest;
        }
        if (widest < 0) {
            return;
        }
        widths[widest]--;
        total--;
    }
}

static int terminal_width(FILE *to)
{
    struct winsize size;
    return out_is_terminal(to) && ioctl(fileno(to), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void table_print_within(const struct table *t, int width, FILE *to)
{
    int *widths = ARENA_NEW(t->arena, int, t->columns);
    bool *right = ARENA_NEW(t->arena, bool, t->columns);
    for (int c = 0; c < t->columns; c++) {
        widths[c] = measure(t, c, &right[c]);
    }
    if (width > 0) {
        narrow(widths, right, t->columns, width);
    }
    for (int c = 0; c < t->columns; c++) {
        print_cell(to, str_of(t->headers[c]), widths[c], right[c], c + 1 == t->columns);
    }
    for (int i = 0; i < t->cell_count; i++) {
        int c = i % t->columns;
        print_cell(to, t->cells[i], widths[c], right[c], c + 1 == t->columns);
    }
}

void table_print(const struct table *t, FILE *to)
{
    table_print_within(t, terminal_width(to), to);
}

/* ---- JSON ---- */

/* Bytes that belong to no UTF-8 sequence, one by one, as the code points of their numbers. */
static json_t *latin_text(struct str text)
{
    const uint8_t *s = (const uint8_t *)text.ptr;
    struct buf out;
    buf_init(&out, 0);
    for (int32_t i = 0; i < text.len;) {
        int len = utf8_length(s + i, text.len - i);
        uint8_t pair[2] = {(uint8_t)(0xc0 | s[i] >> 6), (uint8_t)(0x80 | (s[i] & 0x3f))};
        MUSTER_CHECK(buf_put(&out, len > 0 ? s + i : pair, len > 0 ? (size_t)len : sizeof(pair)) == 0);
        i += len > 0 ? len : 1;
    }
    json_t *value = json_stringn((const char *)out.ptr, out.len);
    buf_fini(&out);
    return value;
}

json_t *out_json_text(struct str text)
{
    if (text.len < 0) {
        return json_null();
    }
    json_t *value = json_stringn(text.len > 0 ? text.ptr : "", (size_t)text.len);
    if (value == NULL) {
        value = latin_text(text);
    }
    MUSTER_CHECK(value != NULL);
    return value;
}

json_t *out_json_base64(struct bytes bytes)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if (bytes.len < 0) {
        return json_null();
    }
    struct buf out;
    buf_init(&out, 0);
    for (int32_t i = 0; i < bytes.len; i += 3) {
        int32_t left = bytes.len - i;
        uint32_t bits = (uint32_t)bytes.ptr[i] << 16 | (left > 1 ? (uint32_t)bytes.ptr[i + 1] << 8 : 0) | (left > 2 ? bytes.ptr[i + 2] : 0);
        char text[4] = {alphabet[bits >> 18], alphabet[bits >> 12 & 63], left > 1 ? alphabet[bits >> 6 & 63] : '=',
                        left > 2 ? alphabet[bits & 63] : '='};
        MUSTER_CHECK(buf_put(&out, text, sizeof(text)) == 0);
    }
    json_t *value = json_stringn(out.len > 0 ? (const char *)out.ptr : "", out.len);
    buf_fini(&out);
    MUSTER_CHECK(value != NULL);
    return value;
}

void out_json_set(json_t *object, const char *key, json_t *value)
{
    MUSTER_CHECK(json_object_set_new(object, key, value) == 0);
}

void out_json_add(json_t *array, json_t *value)
{
    MUSTER_CHECK(json_array_append_new(array, value) == 0);
}

void out_json_print(json_t *document, FILE *to)
{
    (void)json_dumpf(document, to, JSON_INDENT(2));
    fputc('\n', to);
    json_decref(document);
}
