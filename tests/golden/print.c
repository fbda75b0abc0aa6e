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

void print_held(const struct group_out *decided, struct buf *out)
{
    if (decided->hold_ms > 0) {
        print_text(" held for ", out);
        print_ms(decided->hold_ms, out);
    }
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

/* Sentences, which have spaces in them. */
static bool is_sentence(struct str s)
{
    bool spaces = false;
    for (int32_t i = 0; i < s.len; i++) {
        if (s.ptr[i] < ' ' || s.ptr[i] >= 0x7f || s.ptr[i] == '"') {
            return false;
        }
        spaces = spaces || s.ptr[i] == ' ';
    }
    return spaces;
}

void print_str(struct str s, struct buf *out)
{
    if (s.len < 0) {
        print_text("null", out);
    } else if (is_sentence(s)) {
        print_text("\"", out);
        MUSTER_CHECK(buf_put(out, s.ptr, (size_t)s.len) == 0);
        print_text("\"", out);
    } else {
        print_bytes(s.ptr, s.len, out);
    }
}

/* ---- what members of the classic consumer protocol tell each other ---------------------------------------------------------------- */

static void print_parts(struct str topic, const struct int32_array *partitions, const char **separator, struct buf *out)
{
    for (int32_t i = 0; i < partitions->len; i++) {
        print_text(*separator, out);
        print_str(topic, out);
        print_text("-", out);
        print_number(partitions->v[i], out);
        *separator = "+";
    }
}

static void print_user_data(struct bytes data, struct buf *out)
{
    if (data.len >= 0) {
        print_text("!", out);
        print_bytes(data.ptr, data.len, out);
    }
}

static void print_subscription(const struct consumer_protocol_subscription *s, struct buf *out)
{
    const char *separator = "~";
    for (int32_t i = 0; i < s->topics.len; i++) {
        print_text(i > 0 ? "+" : "", out);
        print_str(s->topics.v[i], out);
    }
    for (int32_t i = 0; i < s->owned_partitions.len; i++) {
        print_parts(s->owned_partitions.v[i].topic, &s->owned_partitions.v[i].partitions, &separator, out);
    }
    if (!str_is_null(s->rack_id)) {
        print_text("^", out);
        print_str(s->rack_id, out);
    }
    print_user_data(s->user_data, out);
}

static void print_assignment(const struct consumer_protocol_assignment *a, struct buf *out)
{
    const char *separator = "";
    for (int32_t i = 0; i < a->assigned_partitions.len; i++) {
        print_parts(a->assigned_partitions.v[i].topic, &a->assigned_partitions.v[i].partitions, &separator, out);
    }
    print_user_data(a->user_data, out);
}

/* As commands write them (commands.c, content_of). Nothing is written, and false, when the bytes are of another form. */
static bool print_consumer_bytes(struct bytes in, bool assignment, struct buf *out)
{
    union {
        struct consumer_protocol_subscription subscription;
        struct consumer_protocol_assignment assignment;
    } value;
    const struct wire_msg *msg = assignment ? &wire_consumer_protocol_assignment : &wire_consumer_protocol_subscription;
    int16_t version = in.len < 2 ? -1 : (int16_t)get_be16(in.ptr);
    struct arena arena;
    size_t used = 0;
    arena_init(&arena, 0);
    struct bytes body = {in.ptr + 2, in.len - 2};
    bool good = version >= 0 && version <= 3 && wire_decode(msg, version, body, &arena, &value, &used) == 0 && used == (size_t)body.len;
    if (good) {
        print_text(assignment ? "parts" : "topics", out);
        if (version != 0) {
            print_text("/", out);
            print_number(version, out);
        }
        print_text(":", out);
        if (assignment) {
            print_assignment(&value.assignment, out);
        } else {
            print_subscription(&value.subscription, out);
        }
    }
    arena_fini(&arena);
    return good;
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

/* ---- partitions and tasks ---------------------------------------------------------------------------------------------------- */

static const struct world_topic *known_topics;
static const int *known_count;

void print_topics_of(const struct world_topic *topics, const int *count)
{
    known_topics = topics;
    known_count = count;
}

/* The name, and which one of that name it is, when it was made again. */
static void print_topic(const struct uuid *id, struct buf *out)
{
    int number = 0;
    char text[23];
    const struct world_topic *found = NULL;
    for (int i = 0; known_topics != NULL && i < *known_count; i++) {
        found = uuid_eq(known_topics[i].id, *id) ? &known_topics[i] : found;
    }
    if (found == NULL) {
        uuid_text(*id, text);
        print_text(text, out);
        return;
    }
    print_text(found->name, out);
    for (const struct world_topic *t = known_topics; t <= found; t++) {
        number += strcmp(t->name, found->name) == 0;
    }
    if (number > 1) {
        print_text("@", out);
        print_number(number, out);
    }
}

/* Structures of a name and numbers, in short: tasks as 0:0,1 (with the epochs they were given with as 0:0@2,1@3), partitions as t:0,1. A topic may be named by
 * its id alone, or by both. */
struct numbers {
    const struct wire_field *name, *id, *numbers, *epochs; /* NULL: it has none */
};

static bool is_numbers(const struct wire_type *type, struct numbers *ret)
{
    uint32_t at = 0, count = type->field_count;
    *ret = (struct numbers){NULL};
    ret->id = at < count && type->fields[at].kind == WIRE_UUID ? &type->fields[at++] : NULL;
    ret->name = at < count && type->fields[at].kind == WIRE_STRING ? &type->fields[at++] : NULL;
    if (at < count && type->fields[at].kind == WIRE_ARRAY && type->fields[at].element == WIRE_INT32) {
        ret->numbers = &type->fields[at++];
    }
    if (at < count && type->fields[at].kind == WIRE_ARRAY && type->fields[at].element == WIRE_INT32) {
        ret->epochs = &type->fields[at++];
    }
    return at == count && ret->numbers != NULL && (ret->id != NULL || ret->name != NULL);
}

static void print_numbers(const struct numbers *n, const uint8_t *at, struct buf *out)
{
    const struct int32_array *numbers = (const void *)(at + n->numbers->offset);
    const struct int32_array *epochs = n->epochs != NULL ? (const void *)(at + n->epochs->offset) : NULL;
    if (n->id != NULL) {
        print_topic((const void *)(at + n->id->offset), out);
    }
    if (n->id != NULL && n->name != NULL) {
        print_text("/", out);
    }
    if (n->name != NULL) {
        print_str(*(const struct str *)(const void *)(at + n->name->offset), out);
    }
    for (int32_t i = 0; i < numbers->len; i++) {
        print_text(i == 0 ? ":" : ",", out);
        print_number(numbers->v[i], out);
        if (epochs != NULL && i < epochs->len) {
            print_text("@", out);
            print_number(epochs->v[i], out);
        }
    }
}

/* A key and its value: k=v. */
static bool is_pair(const struct wire_type *type)
{
    return type->field_count == 2 && type->fields[0].kind == WIRE_STRING && type->fields[1].kind == WIRE_STRING &&
           (strcmp(type->fields[0].name, "Key") == 0 || strcmp(type->fields[0].name, "key") == 0);
}

static void print_pair(const struct wire_type *type, const uint8_t *at, struct buf *out)
{
    print_str(*(const struct str *)(const void *)(at + type->fields[0].offset), out);
    print_text("=", out);
    print_str(*(const struct str *)(const void *)(at + type->fields[1].offset), out);
}

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
        struct numbers numbers;
        if (is_numbers(type, &numbers)) {
            print_numbers(&numbers, at, out);
            break;
        }
        if (is_pair(type)) {
            print_pair(type, at, out);
            break;
        }
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
        return f->nullable_from >= 0 && *(void *const *)at == NULL;
    default:
        return number_at(f->kind, at) == (f->has_default ? f->default_number : 0);
    }
}

/* What is in every answer to a member, unless something is configured. */
static bool is_usual(const struct wire_field *f, const void *at)
{
    static const struct {
        const char *name;
        int64_t number;
    } usual[] = {
        {"HeartbeatIntervalMs", 5000},
        {"TaskOffsetIntervalMs", 60000},
        {"AcceptableRecoveryLag", 10000},
        {"TopologyDescriptionRequired", 1},
    };
    if (strcmp(f->name, "MetadataHash") == 0) {
        return true; /* the epoch moves with it */
    }
    for (size_t i = 0; i < COUNT_OF(usual); i++) {
        if (strcmp(f->name, usual[i].name) == 0) {
            return number_at(f->kind, at) == usual[i].number;
        }
    }
    /* A topology id that nobody gave: a hash. */
    const struct str *text = at;
    return (strcmp(f->name, "GroupTopologyId") == 0 || strcmp(f->name, "TopologyId") == 0) && text->len > 2 &&
           memcmp(text->ptr, "h-", 2) == 0;
}

void print_message(const struct wire_type *type, int16_t version, const void *value, struct buf *out)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct wire_field *f = &type->fields[i];
        const void *at = (const uint8_t *)value + f->offset;
        if (version < f->min_version || version > f->max_version || is_default(f, at) || is_usual(f, at)) {
            continue;
        }
        print_text(" ", out);
        print_text(f->name, out);
        print_text("=", out);
        if (f->kind == WIRE_ARRAY) {
            print_array(f, version, at, out);
        } else if (f->kind == WIRE_BYTES && print_consumer_bytes(*(const struct bytes *)at, strcmp(f->name, "Assignment") == 0, out)) {
            continue;
        } else {
            bool pointer = f->kind == WIRE_STRUCT && f->nullable_from >= 0;
            print_value(f->kind, f->type, version, pointer ? *(const void *const *)at : at, out);
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
