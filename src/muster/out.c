#include "out.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
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

int out_place(const char *path)
{
    struct stat there;
    return lstat(path, &there) != 0 ? 0 : S_ISREG(there.st_mode) ? 1 : MUSTER_E_NO_FILE;
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

struct str out_count(uint64_t count, const char *one, const char *many, struct arena *arena)
{
    return arena_printf(arena, "%" PRIu64 " %s", count, count == 1 ? one : many);
}

int64_t out_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- tables ---- */

void table_init(struct table *t, struct arena *arena, const char *const *headers, int columns)
{
    *t = (struct table){.arena = arena, .headers = headers, .columns = columns};
}

void table_keep(struct table *t, int column)
{
    t->kept |= UINT64_C(1) << column;
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

/* 2023-11-14T22:13:20.000Z, as out_time writes the years 1 to 9999. */
static bool is_time(struct str text)
{
    static const char form[] = "0000-00-00T00:00:00.000Z";
    bool time = text.len == (int32_t)sizeof(form) - 1;
    for (int32_t i = 0; time && i < text.len; i++) {
        time = form[i] == '0' ? text.ptr[i] >= '0' && text.ptr[i] <= '9' : text.ptr[i] == form[i];
    }
    return time;
}

/* ---- a column as it is printed */

enum { LEAST = 8, DATE_LENGTH = 10, YEAR_LENGTH = 4 };
struct column {
    struct str header;
    int at;            /* its place in the table */
    int width, least;  /* least: not cut below */
    int skip;          /* so many bytes of each time are not shown: all share them, or the year is this one */
    bool right, times; /* numbers; moments */
    bool nothing;      /* "-" in all rows */
    bool kept;         /* its texts are whole: they take several lines rather than being cut */
};

static bool is_dash(struct str text)
{
    return str_eq(text, STR("-"));
}

/* "LONG|SHORT" */
static struct str header_of(const char *header, bool narrow)
{
    const char *bar = strchr(header, '|');
    struct str wide = {header, (int32_t)(bar != NULL ? bar - header : (ptrdiff_t)strlen(header))};
    return narrow && bar != NULL ? str_of(bar + 1) : wide;
}

static int longest_word(struct str text)
{
    int longest = 0;
    for (int32_t at = 0, begin = 0; at <= text.len; at++) {
        if (at == text.len || text.ptr[at] == ' ') {
            int width = out_width((struct str){text.ptr + begin, at - begin});
            longest = width > longest ? width : longest;
            begin = at + 1;
        }
    }
    return longest;
}

static int cell_width(const struct column *c, struct str cell)
{
    return out_width(cell) - (c->times && !is_dash(cell) ? c->skip : 0);
}

static void measure(const struct table *t, struct column *c)
{
    bool filled = t->cell_count > 0;
    int words = 0;
    c->width = out_width(c->header);
    c->right = c->times = c->nothing = filled;
    for (int i = c->at; i < t->cell_count; i += t->columns) {
        c->right = c->right && is_number(t->cells[i]);
        c->times = c->times && (is_time(t->cells[i]) || is_dash(t->cells[i]));
        c->nothing = c->nothing && is_dash(t->cells[i]);
    }
    c->times = c->times && !c->nothing;
    for (int i = c->at; i < t->cell_count; i += t->columns) {
        int width = cell_width(c, t->cells[i]), word = longest_word(t->cells[i]);
        c->width = width > c->width ? width : c->width;
        words = word > words ? word : words;
    }
    int least = c->kept ? words : LEAST;
    least = c->right || c->times ? c->width : least;
    c->least = c->kept && out_width(c->header) > least ? out_width(c->header) : least;
}

/* What stays of times: those of one day go without it, which stands in the header then; those of this year without the year. */
static void shorten_times(const struct table *t, struct column *c)
{
    const char *first = NULL;
    bool day = true, year = true;
    struct str now = out_time(out_now_ms(), t->arena);
    for (int i = c->at; i < t->cell_count; i += t->columns) {
        struct str cell = t->cells[i];
        if (!is_time(cell)) {
            continue;
        }
        first = first == NULL ? cell.ptr : first;
        day = day && memcmp(cell.ptr, first, DATE_LENGTH) == 0;
        year = year && memcmp(cell.ptr, now.ptr, YEAR_LENGTH) == 0;
    }
    if (!day || first == NULL) {
        c->skip = year ? YEAR_LENGTH + 1 : 0;
        return;
    }
    int before = year ? YEAR_LENGTH + 1 : 0;
    c->skip = DATE_LENGTH + 1;
    c->header = arena_printf(t->arena, "%.*s %.*s", STR_ARG(c->header), DATE_LENGTH - before, first + before);
}

/* How wide the lines are; measures all. */
static int total_of(const struct table *t, struct column *v, int count)
{
    int total = 2 * (count - 1);
    for (int i = 0; i < count; i++) {
        measure(t, &v[i]);
        total += v[i].width;
    }
    return total;
}

static int remove_columns(const struct table *t, struct column *v, int count, bool (*goes)(const struct table *t, const struct column *c))
{
    int left = 0;
    for (int i = 0; i < count; i++) {
        if (!goes(t, &v[i])) {
            v[left++] = v[i];
        }
    }
    return left;
}

static bool says_nothing(const struct table *t, const struct column *c)
{
    (void)t;
    return c->nothing;
}

static bool has_no_name(const struct table *t, const struct column *c)
{
    return header_of(t->headers[c->at], true).len == 0;
}

/* Takes columns off the widest, one by one, until all fit or none is wider than it has to be. */
static void narrow(struct column *v, int count, int excess)
{
    while (excess-- > 0) {
        struct column *widest = NULL;
        for (int i = 0; i < count; i++) {
            widest = v[i].width > v[i].least && (widest == NULL || v[i].width > widest->width) ? &v[i] : widest;
        }
        if (widest == NULL) {
            return;
        }
        widest->width--;
    }
}

/* The columns that are shown within so many, and how wide. What costs least comes first: columns that say nothing, days that all rows share, long names, columns that have no
 * short one, then texts. */
static int fit(const struct table *t, struct column *v, int limit)
{
    int count = t->columns;
    int total = total_of(t, v, count);
    if (limit <= 0 || total <= limit) {
        return count;
    }
    count = remove_columns(t, v, count, says_nothing);
    total = total_of(t, v, count);
    if (total > limit) {
        for (int i = 0; i < count; i++) {
            if (v[i].times) {
                shorten_times(t, &v[i]);
            }
        }
        total = total_of(t, v, count);
    }
    if (total > limit) {
        for (int i = 0; i < count; i++) {
            struct str name = header_of(t->headers[v[i].at], true);
            v[i].header = v[i].skip > 0 || name.len == 0 ? v[i].header : name;
        }
        total = total_of(t, v, count);
    }
    if (total > limit) {
        count = remove_columns(t, v, count, has_no_name);
        total = total_of(t, v, count);
    }
    narrow(v, count, total - limit);
    return count;
}

/* ---- what is cut */

/* So many code points from the start, or from the end. */
static int32_t bytes_of(struct str text, int columns, bool from_end)
{
    int32_t at = from_end ? text.len : 0;
    while (columns > 0 && (from_end ? at > 0 : at < text.len)) {
        at += from_end ? -1 : 1;
        bool whole = from_end ? ((uint8_t)text.ptr[at] & 0xc0) != 0x80 : at == text.len || ((uint8_t)text.ptr[at] & 0xc0) != 0x80;
        columns -= whole;
    }
    return at;
}

/* `behind` of the columns show the text's end. */
static struct str cut(struct str text, int width, int behind, struct arena *arena)
{
    if (out_width(text) <= width || width < 1) {
        return text;
    }
    int32_t begin = bytes_of(text, width - 1 - behind, false);
    int32_t end = bytes_of(text, behind, true);
    return arena_printf(arena, "%.*s…%.*s", begin, text.ptr, text.len - end, text.ptr + end);
}

struct str out_cut(struct str text, int width, struct arena *arena)
{
    bool word = text.len > 0 && memchr(text.ptr, ' ', (size_t)text.len) == NULL;
    return cut(text, width, word ? (width - 1) * 2 / 3 : 0, arena);
}

/* How much of a kept text goes into a line: whole words. The rest begins behind the blank. */
static struct str take_line(struct str *text, int width)
{
    struct str line = *text;
    if (out_width(line) > width) {
        int32_t end = bytes_of(*text, width, false);
        while (end > 0 && text->ptr[end] != ' ') {
            end--;
        }
        line.len = end > 0 ? end : text->len;
    }
    int32_t used = line.len < text->len ? line.len + 1 : line.len;
    *text = (struct str){text->ptr + used, text->len - used};
    return line;
}

/* ---- lines */

static void print_cell(FILE *to, const struct column *c, struct str text, bool last)
{
    int taken = out_width(text);
    int blanks = taken < c->width ? c->width - taken : 0;
    fprintf(to, "%*s%.*s", c->right ? blanks : 0, "", STR_ARG(text));
    if (last) {
        fputc('\n', to);
    } else {
        fprintf(to, "%*s", (c->right ? 0 : blanks) + 2, "");
    }
}

/* One row, and below it what is left of the texts that are not cut. */
static void print_row(const struct table *t, const struct column *v, int count, int row, FILE *to)
{
    struct str *rest = ARENA_NEW(t->arena, struct str, count);
    bool more = true;
    for (int i = 0; i < count; i++) {
        struct str cell = t->cells[row + v[i].at];
        int skip = v[i].times && !is_dash(cell) ? v[i].skip : 0;
        rest[i] = (struct str){cell.ptr + skip, cell.len - skip};
    }
    while (more) {
        more = false;
        for (int i = 0; i < count; i++) {
            struct str line = v[i].kept ? take_line(&rest[i], v[i].width) : out_cut(rest[i], v[i].width, t->arena);
            rest[i].len = v[i].kept ? rest[i].len : 0;
            more = more || rest[i].len > 0;
            print_cell(to, &v[i], line, i + 1 == count);
        }
    }
}

void table_print_within(const struct table *t, int width, FILE *to)
{
    struct column *v = ARENA_NEW(t->arena, struct column, t->columns);
    for (int i = 0; i < t->columns; i++) {
        v[i] = (struct column){.at = i, .header = header_of(t->headers[i], false), .kept = i < 64 && (t->kept >> i & 1) != 0};
    }
    int count = fit(t, v, width);
    for (int i = 0; i < count; i++) {
        print_cell(to, &v[i], cut(v[i].header, v[i].width, 0, t->arena), i + 1 == count);
    }
    for (int row = 0; row < t->cell_count; row += t->columns) {
        print_row(t, v, count, row, to);
    }
}

int out_terminal_width(FILE *to)
{
    struct winsize size;
    return out_is_terminal(to) && ioctl(fileno(to), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void table_print(const struct table *t, FILE *to)
{
    table_print_within(t, out_terminal_width(to), to);
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
