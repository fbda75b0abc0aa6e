#include "consumer_protocol.h"
#include "out.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Reads forward; once the input is too short everything reads as nothing and `bad` stays set. */
struct reader {
    const uint8_t *at, *end;
    bool bad;
};

static const uint8_t *take(struct reader *r, size_t len)
{
    if (r->bad || (size_t)(r->end - r->at) < len) {
        r->bad = true;
        return NULL;
    }
    const uint8_t *at = r->at;
    r->at += len;
    return at;
}

static int16_t take_int16(struct reader *r)
{
    const uint8_t *p = take(r, 2);
    return p != NULL ? (int16_t)get_be16(p) : 0;
}

static int32_t take_int32(struct reader *r)
{
    const uint8_t *p = take(r, 4);
    return p != NULL ? (int32_t)get_be32(p) : 0;
}

static struct str take_string(struct reader *r, bool nullable)
{
    int16_t len = take_int16(r);
    if (len < 0) {
        r->bad = r->bad || !nullable || len != -1;
        return STR_NULL;
    }
    const uint8_t *p = take(r, (size_t)len);
    return p != NULL ? (struct str){(const char *)p, len} : STR_NULL;
}

static struct bytes take_bytes(struct reader *r)
{
    int32_t len = take_int32(r);
    if (len < 0) {
        r->bad = r->bad || len != -1;
        return BYTES_NULL;
    }
    const uint8_t *p = take(r, (size_t)len);
    return p != NULL ? (struct bytes){p, len} : BYTES_NULL;
}

/* A count whose elements take at least `least` bytes each. */
static int32_t take_count(struct reader *r, size_t least)
{
    int32_t count = take_int32(r);
    if (count < 0 || (size_t)count * least > (size_t)(r->end - r->at)) {
        r->bad = true;
        return 0;
    }
    return count;
}

static struct topic_partitions_list take_partitions(struct reader *r, struct arena *arena)
{
    struct topic_partitions_list list = {.len = take_count(r, 6)};
    list.v = ARENA_NEW(arena, struct topic_partitions, list.len);
    for (int32_t i = 0; i < list.len && !r->bad; i++) {
        list.v[i].topic = take_string(r, false);
        list.v[i].partitions.len = take_count(r, 4);
        list.v[i].partitions.v = ARENA_NEW(arena, int32_t, list.v[i].partitions.len);
        for (int32_t k = 0; k < list.v[i].partitions.len; k++) {
            list.v[i].partitions.v[k] = take_int32(r);
        }
    }
    return list;
}

bool consumer_subscription_parse(struct bytes in, struct arena *arena, struct consumer_subscription *ret)
{
    if (in.len <= 0) {
        return false;
    }
    struct reader r = {.at = in.ptr, .end = in.ptr + in.len};
    struct consumer_subscription s = {.version = take_int16(&r), .generation = -1, .rack = STR_NULL};
    r.bad = r.bad || s.version < 0;
    s.topics.len = take_count(&r, 2);
    s.topics.v = ARENA_NEW(arena, struct str, s.topics.len);
    for (int32_t i = 0; i < s.topics.len; i++) {
        s.topics.v[i] = take_string(&r, false);
    }
    s.user_data = take_bytes(&r);
    if (s.version >= 1) {
        s.owned = take_partitions(&r, arena);
    }
    if (s.version >= 2) {
        s.generation = take_int32(&r);
    }
    if (s.version >= 3) {
        s.rack = take_string(&r, true);
    }
    if (!r.bad && (r.at == r.end || s.version > 3)) {
        *ret = s;
        return true;
    }
    return false;
}

bool consumer_assignment_parse(struct bytes in, struct arena *arena, struct consumer_assignment *ret)
{
    if (in.len <= 0) {
        *ret = (struct consumer_assignment){.user_data = BYTES_NULL};
        return true;
    }
    struct reader r = {.at = in.ptr, .end = in.ptr + in.len};
    struct consumer_assignment a = {.version = take_int16(&r)};
    r.bad = r.bad || a.version < 0;
    a.topics = take_partitions(&r, arena);
    a.user_data = take_bytes(&r);
    if (!r.bad && (r.at == r.end || a.version > 3)) {
        *ret = a;
        return true;
    }
    return false;
}

/* ---- shown ---- */

struct str topic_partitions_text(const struct topic_partitions_list *list, struct arena *arena)
{
    struct buf out;
    buf_init(&out, 0);
    for (int32_t i = 0; i < list->len; i++) {
        const struct topic_partitions *t = &list->v[i];
        struct str head = arena_printf(arena, "%s%.*s[", i > 0 ? " " : "", STR_ARG(out_text(t->topic, arena)));
        (void)buf_put(&out, head.ptr, (size_t)head.len);
        for (int32_t k = 0; k < t->partitions.len; k++) {
            struct str number = arena_printf(arena, "%s%" PRId32, k > 0 ? "," : "", t->partitions.v[k]);
            (void)buf_put(&out, number.ptr, (size_t)number.len);
        }
        (void)buf_put(&out, "]", 1);
    }
    struct str text = out.len > 0 ? arena_str(arena, (struct str){(const char *)out.ptr, (int32_t)out.len}) : STR("-");
    buf_fini(&out);
    return text;
}

json_t *topic_partitions_json(const struct topic_partitions_list *list)
{
    json_t *array = json_array();
    for (int32_t i = 0; i < list->len; i++) {
        json_t *one = json_object();
        json_t *partitions = json_array();
        for (int32_t k = 0; k < list->v[i].partitions.len; k++) {
            out_json_add(partitions, json_integer(list->v[i].partitions.v[k]));
        }
        out_json_set(one, "topic", out_json_text(list->v[i].topic));
        out_json_set(one, "partitions", partitions);
        out_json_add(array, one);
    }
    return array;
}

static json_t *length_only(struct bytes in)
{
    json_t *object = json_object();
    out_json_set(object, "bytes", json_integer(in.len > 0 ? in.len : 0));
    return object;
}

json_t *consumer_subscription_json(struct bytes in, struct arena *arena)
{
    struct consumer_subscription s;
    if (!consumer_subscription_parse(in, arena, &s)) {
        return length_only(in);
    }
    json_t *object = json_object();
    json_t *topics = json_array();
    for (int32_t i = 0; i < s.topics.len; i++) {
        out_json_add(topics, out_json_text(s.topics.v[i]));
    }
    out_json_set(object, "version", json_integer(s.version));
    out_json_set(object, "topics", topics);
    if (s.version >= 1) {
        out_json_set(object, "ownedPartitions", topic_partitions_json(&s.owned));
    }
    if (s.version >= 2) {
        out_json_set(object, "generation", json_integer(s.generation));
    }
    if (s.version >= 3) {
        out_json_set(object, "rack", out_json_text(s.rack));
    }
    out_json_set(object, "userDataBytes", s.user_data.len >= 0 ? json_integer(s.user_data.len) : json_null());
    return object;
}

json_t *consumer_assignment_json(struct bytes in, struct arena *arena)
{
    struct consumer_assignment a;
    if (!consumer_assignment_parse(in, arena, &a)) {
        return length_only(in);
    }
    json_t *object = json_object();
    out_json_set(object, "version", json_integer(a.version));
    out_json_set(object, "partitions", topic_partitions_json(&a.topics));
    out_json_set(object, "userDataBytes", a.user_data.len >= 0 ? json_integer(a.user_data.len) : json_null());
    return object;
}
