#include "offset_file.h"

#include "out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST_BYTES = 1 << 30, CSV_FIELDS = 4 };

/* ---- lists ------------------------------------------------------------------------------------------------------------------- */

void saved_add(struct saved_offsets *s, const struct saved_offset *one, struct arena *arena)
{
    if (s->count == s->cap) {
        int cap = s->cap > 0 ? s->cap * 2 : 64;
        struct saved_offset *grown = ARENA_NEW(arena, struct saved_offset, cap);
        if (s->count > 0) {
            memcpy(grown, s->v, (size_t)s->count * sizeof(*grown));
        }
        s->v = grown;
        s->cap = cap;
    }
    s->v[s->count++] = *one;
}

static int by_place(const struct saved_offset *x, const struct saved_offset *y)
{
    int group = str_cmp(x->group, y->group);
    int topic = group != 0 ? group : str_cmp(x->topic, y->topic);
    return topic != 0 ? topic : (x->partition > y->partition) - (x->partition < y->partition);
}

/* Equal ones stay in the order of their addresses before sorting, which `offset` cannot tell: a merge sort keeps it. */
static void merge_sort(struct saved_offset *v, struct saved_offset *spare, int count)
{
    if (count < 2) {
        return;
    }
    int half = count / 2;
    merge_sort(v, spare, half);
    merge_sort(v + half, spare, count - half);
    memcpy(spare, v, (size_t)half * sizeof(*v));
    for (int left = 0, right = half, at = 0; left < half; at++) {
        v[at] = right < count && by_place(&v[right], &spare[left]) < 0 ? v[right++] : spare[left++];
    }
}

static void sort(struct saved_offsets *s)
{
    struct saved_offset *spare = calloc((size_t)s->count + 1, sizeof(*spare));
    MUSTER_CHECK(spare != NULL);
    merge_sort(s->v, spare, s->count);
    free(spare);
}

void saved_settle(struct saved_offsets *s)
{
    int kept = 0;
    sort(s);
    for (int i = 0; i < s->count; i++) {
        bool again = kept > 0 && by_place(&s->v[kept - 1], &s->v[i]) == 0;
        s->v[again ? kept - 1 : kept++] = s->v[i];
    }
    s->count = kept;
}

static int compare(const void *a, const void *b)
{
    return by_place(a, b);
}

const struct saved_offset *saved_find(const struct saved_offsets *s, struct str group, struct str topic, int32_t partition)
{
    struct saved_offset key = {.group = group, .topic = topic, .partition = partition};
    const struct saved_offset *found = s->count > 0 ? bsearch(&key, s->v, (size_t)s->count, sizeof(key), compare) : NULL;
    return found != NULL || str_is_null(group) ? found : saved_find(s, STR_NULL, topic, partition);
}

/* ---- files ---------------------------------------------------------------------------------------------------------------------- */

int file_read(struct cli *cli, const char *path, struct bytes *ret)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "rb");
    struct buf data;
    int code = CLI_OK;
    if (file == NULL) {
        return cli_fail(cli, CLI_FAILED, "%s: %s", path, strerror(errno));
    }
    buf_init(&data, FILE_MOST_BYTES);
    for (size_t got = 1; got > 0 && code == CLI_OK;) {
        uint8_t piece[16384];
        got = fread(piece, 1, sizeof(piece), file);
        if (buf_put(&data, piece, got) < 0) {
            code = cli_fail(cli, CLI_FAILED, "%s: is larger than %d bytes", path, FILE_MOST_BYTES);
        }
    }
    if (code == CLI_OK && ferror(file)) {
        code = cli_fail(cli, CLI_FAILED, "%s: %s", path, strerror(errno));
    }
    if (code == CLI_OK) {
        *ret = arena_bytes(&cli->arena, (struct bytes){data.len > 0 ? data.ptr : (const uint8_t *)"", (int32_t)data.len});
    }
    buf_fini(&data);
    if (!standard) {
        (void)fclose(file);
    }
    return code;
}

/* ---- CSV ------------------------------------------------------------------------------------------------------------------------- */

struct csv {
    struct cli *cli;
    const char *path, *at, *end;
    int line;
};

/* One field, from at; behind it stands a comma, the end of the line or of the file. false: a quote that is not closed, or text behind one. */
static bool take_field(struct csv *c, struct str *ret)
{
    if (c->at == c->end || *c->at != '"') {
        const char *from = c->at;
        while (c->at < c->end && *c->at != ',' && *c->at != '\n' && *c->at != '\r') {
            c->at++;
        }
        *ret = (struct str){from, (int32_t)(c->at - from)};
        return true;
    }
    char *text = arena_get(&c->cli->arena, (size_t)(c->end - c->at) + 1);
    int32_t len = 0;
    for (c->at++; c->at < c->end; c->at++) {
        bool quote = *c->at == '"';
        if (quote && (c->at + 1 == c->end || c->at[1] != '"')) {
            c->at++;
            *ret = (struct str){text, len};
            return c->at == c->end || *c->at == ',' || *c->at == '\n' || *c->at == '\r';
        }
        c->at += quote;
        text[len++] = *c->at;
    }
    return false;
}

static bool field_number(struct csv *c, struct str field, int64_t most, int64_t *ret)
{
    return cli_parse_number(arena_printf(&c->cli->arena, "%.*s", STR_ARG(field)).ptr, 0, most, ret);
}

/* A line of fields. Their count; 0: an empty line, -1: it cannot be read. */
static int take_line(struct csv *c, struct str fields[CSV_FIELDS])
{
    int count = 0;
    for (;;) {
        struct str field;
        if (!take_field(c, &field) || count == CSV_FIELDS) {
            return -1;
        }
        fields[count++] = field;
        if (c->at == c->end || *c->at != ',') {
            break;
        }
        c->at++;
    }
    while (c->at < c->end && *c->at == '\r') {
        c->at++;
    }
    c->at += c->at < c->end && *c->at == '\n';
    return count == 1 && fields[0].len == 0 ? 0 : count;
}

/* A first line without any number is what other programs write above their columns. */
static int bad_number(const struct csv *c, bool any, struct str field, const char *what)
{
    if (!any && c->line == 1) {
        return cli_fail(c->cli, CLI_FAILED, "%s, line 1: is a header; remove it", c->path);
    }
    return cli_fail(c->cli, CLI_FAILED, "%s, line %d: %.*s is no %s", c->path, c->line, STR_ARG(out_quoted(field, &c->cli->arena)), what);
}

static int read_csv(struct cli *cli, const char *path, struct bytes text, struct saved_offsets *ret)
{
    struct csv c = {.cli = cli, .path = path, .at = (const char *)text.ptr, .end = (const char *)text.ptr + text.len};
    for (c.line = 1; c.at < c.end; c.line++) {
        struct str fields[CSV_FIELDS];
        int64_t partition;
        int64_t offset;
        int count = take_line(&c, fields);
        if (count == 0) {
            continue;
        }
        struct str *own = count == CSV_FIELDS ? &fields[1] : fields;
        if (count < CSV_FIELDS - 1 || own[0].len == 0) {
            return cli_fail(cli, CLI_FAILED, "%s, line %d: is neither 'topic,partition,offset' nor 'group,topic,partition,offset'", path,
                            c.line);
        }
        bool partition_read = field_number(&c, own[1], INT32_MAX, &partition);
        bool offset_read = field_number(&c, own[2], INT64_MAX, &offset);
        if (!partition_read || !offset_read) {
            return bad_number(&c, partition_read || offset_read, partition_read ? own[2] : own[1], partition_read ? "offset" : "partition");
        }
        saved_add(ret,
                  &(struct saved_offset){.group = count == CSV_FIELDS ? fields[0] : STR_NULL,
                                         .topic = own[0],
                                         .partition = (int32_t)partition,
                                         .offset = offset,
                                         .leader_epoch = -1,
                                         .metadata = STR_NULL},
                  &cli->arena);
    }
    if (text.len > 0 && text.ptr[text.len - 1] != '\n') {
        cli_say(cli, "%s: its last line has no end; if the file was cut off there, that offset is not what it was", path);
    }
    return CLI_OK;
}

static struct str safe(struct str text, struct arena *arena)
{
    return text.len > 0 ? out_text(text, arena) : text;
}

void saved_make_safe(struct saved_offsets *s, struct arena *arena)
{
    for (int i = 0; i < s->count; i++) {
        s->v[i].group = safe(s->v[i].group, arena);
        s->v[i].topic = safe(s->v[i].topic, arena);
    }
}

static void write_field(struct str text, FILE *to)
{
    bool quotes = text.len <= 0;
    for (int32_t i = 0; i < text.len; i++) {
        quotes = quotes || strchr(",\"\r\n", text.ptr[i]) != NULL;
    }
    if (!quotes) {
        fwrite(text.ptr, 1, (size_t)text.len, to);
        return;
    }
    fputc('"', to);
    for (int32_t i = 0; i < text.len; i++) {
        if (text.ptr[i] == '"') {
            fputc('"', to);
        }
        fputc(text.ptr[i], to);
    }
    fputc('"', to);
}

void saved_write_csv(const struct saved_offsets *s, bool with_group, FILE *to)
{
    for (int i = 0; i < s->count; i++) {
        if (with_group) {
            write_field(s->v[i].group, to);
            fputc(',', to);
        }
        write_field(s->v[i].topic, to);
        fprintf(to, ",%" PRId32 ",%" PRId64 "\n", s->v[i].partition, s->v[i].offset);
    }
}

/* ---- JSON -------------------------------------------------------------------------------------------------------------------------- */

json_t *saved_json(const struct saved_offsets *s)
{
    json_t *document = json_object();
    json_t *groups = json_array();
    json_t *offsets = NULL;
    for (int i = 0; i < s->count; i++) {
        const struct saved_offset *o = &s->v[i];
        if (i == 0 || !str_eq(s->v[i - 1].group, o->group)) {
            json_t *one = json_object();
            offsets = json_array();
            out_json_set(one, "group", out_json_text(o->group));
            out_json_set(one, "offsets", offsets);
            out_json_add(groups, one);
        }
        json_t *row = json_object();
        out_json_set(row, "topic", out_json_text(o->topic));
        out_json_set(row, "partition", json_integer(o->partition));
        out_json_set(row, "offset", json_integer(o->offset));
        out_json_set(row, "leaderEpoch", o->leader_epoch < 0 ? json_null() : json_integer(o->leader_epoch));
        out_json_set(row, "metadata", out_json_text(o->metadata));
        out_json_add(offsets, row);
    }
    out_json_set(document, "groups", groups);
    return document;
}

static struct str text_of(const json_t *value, struct arena *arena)
{
    if (!json_is_string(value)) {
        return STR_NULL;
    }
    return arena_str(arena, (struct str){json_string_value(value), (int32_t)json_string_length(value)});
}

/* false: something that has to be there is not, or is of another kind. */
static bool read_row(const json_t *row, struct str group, struct arena *arena, struct saved_offsets *ret)
{
    const json_t *offset = json_object_get(row, "offset");
    const json_t *partition = json_object_get(row, "partition");
    const json_t *epoch = json_object_get(row, "leaderEpoch");
    if (offset == NULL) {
        offset = json_object_get(row, "currentOffset"); /* of `muster offsets list --json` */
    }
    struct saved_offset one = {.group = group,
                               .topic = text_of(json_object_get(row, "topic"), arena),
                               .offset = json_integer_value(offset),
                               .leader_epoch = -1,
                               .metadata = text_of(json_object_get(row, "metadata"), arena)};
    json_int_t number = json_integer_value(partition);
    json_int_t epoch_number = json_is_integer(epoch) ? json_integer_value(epoch) : -1;
    if (str_is_empty(one.topic) || !json_is_integer(partition) || !json_is_integer(offset) || number < 0 || number > INT32_MAX ||
        one.offset < 0 || epoch_number > INT32_MAX) {
        return false;
    }
    one.partition = (int32_t)number;
    one.leader_epoch = epoch_number < 0 ? -1 : (int32_t)epoch_number;
    saved_add(ret, &one, arena);
    return true;
}

static int read_json(struct cli *cli, const char *path, struct bytes text, struct saved_offsets *ret)
{
    json_error_t error;
    json_t *document = json_loadb((const char *)text.ptr, (size_t)text.len, JSON_ALLOW_NUL, &error);
    json_t *groups = json_object_get(document, "groups");
    size_t g, i;
    json_t *group, *row;
    int code = CLI_OK;
    if (document == NULL) {
        return cli_fail(cli, CLI_FAILED, "%s, line %d: %s", path, error.line, error.text);
    }
    if (!json_is_array(groups)) {
        code = cli_fail(cli, CLI_FAILED, "%s: has no list 'groups'", path);
    }
    json_array_foreach(groups, g, group)
    {
        struct str name = text_of(json_object_get(group, "group"), &cli->arena);
        json_array_foreach(json_object_get(group, "offsets"), i, row)
        {
            if (code == CLI_OK && !read_row(row, name, &cli->arena, ret)) {
                code = cli_fail(cli, CLI_FAILED, "%s: offset %zu of group %.*s lacks a topic, a partition or an offset", path, i + 1,
                                STR_ARG(out_quoted(name, &cli->arena)));
            }
        }
    }
    json_decref(document);
    return code;
}

/* A file that says two things of one partition was put together wrongly; which one is meant nobody knows. */
static int check_once(struct cli *cli, const char *name, struct saved_offsets *s)
{
    sort(s);
    for (int i = 1; i < s->count; i++) {
        const struct saved_offset *a = &s->v[i - 1], *b = &s->v[i];
        if (by_place(a, b) == 0 && a->offset != b->offset) {
            return cli_fail(cli, CLI_FAILED, "%s: has %.*s-%" PRId32 "%s%.*s twice, with offset %" PRId64 " and with %" PRId64, name,
                            STR_ARG(out_text(b->topic, &cli->arena)), b->partition, str_is_null(b->group) ? "" : " of group ",
                            STR_ARG(str_is_null(b->group) ? STR("") : out_quoted(b->group, &cli->arena)), a->offset, b->offset);
        }
    }
    return CLI_OK;
}

int saved_parse(struct cli *cli, const char *name, struct bytes text, struct saved_offsets *ret)
{
    int32_t at = 0;
    *ret = (struct saved_offsets){0};
    while (at < text.len && strchr(" \t\r\n", text.ptr[at]) != NULL && text.ptr[at] != '\0') {
        at++;
    }
    bool json = at < text.len && text.ptr[at] == '{';
    int code = json ? read_json(cli, name, text, ret) : read_csv(cli, name, text, ret);
    code = code == CLI_OK ? check_once(cli, name, ret) : code;
    saved_settle(ret);
    return code;
}

int saved_read(struct cli *cli, const char *path, struct saved_offsets *ret)
{
    struct bytes text = BYTES_NULL;
    *ret = (struct saved_offsets){0};
    int code = file_read(cli, path, &text);
    return code == CLI_OK ? saved_parse(cli, path, text, ret) : code;
}
