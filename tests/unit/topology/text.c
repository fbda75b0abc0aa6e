#include "text.h"

#include <string.h>

struct str part_of(struct str *rest, const char *separator)
{
    struct str part = *rest;
    int32_t len = (int32_t)strlen(separator);
    if (str_is_null(*rest)) {
        return STR_NULL;
    }
    for (int32_t i = 0; i + len <= rest->len; i++) {
        if (memcmp(rest->ptr + i, separator, (size_t)len) == 0) {
            part.len = i;
            *rest = (struct str){rest->ptr + i + len, rest->len - i - len};
            return part;
        }
    }
    *rest = STR_NULL;
    return part;
}

int32_t number_of(struct str text)
{
    int32_t value = 0;
    bool negative = text.len > 0 && text.ptr[0] == '-';
    for (int32_t i = negative ? 1 : 0; i < text.len; i++) {
        assert_in_range(text.ptr[i], '0', '9');
        value = 10 * value + text.ptr[i] - '0';
    }
    return negative ? -value : value;
}

static int32_t parts(struct str text, char separator)
{
    int32_t count = text.len > 0 ? 1 : 0;
    for (int32_t i = 0; i < text.len; i++) {
        count += text.ptr[i] == separator ? 1 : 0;
    }
    return count;
}

static struct str_array names(struct str text, struct arena *arena)
{
    struct str_array ret = {.v = ARENA_NEW(arena, struct str, parts(text, ','))};
    for (struct str rest = text, part; !str_is_null(part = part_of(&rest, ","));) {
        ret.v[ret.len++] = part;
    }
    return ret;
}

static struct int16_array indexes(struct str text, struct arena *arena)
{
    struct int16_array ret = {.v = ARENA_NEW(arena, int16_t, parts(text, '.'))};
    for (struct str rest = text, part; text.len > 0 && !str_is_null(part = part_of(&rest, "."));) {
        ret.v[ret.len++] = (int16_t)number_of(part);
    }
    return ret;
}

static struct streams_group_heartbeat_request_topic_info topic(struct str text, struct arena *arena)
{
    struct streams_group_heartbeat_request_topic_info ret = {.name = part_of(&text, ":")};
    struct str partitions = part_of(&text, ":");
    struct str replication = part_of(&text, ":");
    ret.partitions = number_of(partitions);
    ret.replication_factor = (int16_t)number_of(replication);
    ret.topic_configs.v = ARENA_NEW(arena, struct streams_group_heartbeat_request_key_value, parts(text, '&'));
    for (struct str part; !str_is_null(part = part_of(&text, "&"));) {
        struct str key = part_of(&part, "=");
        ret.topic_configs.v[ret.topic_configs.len++] = (struct streams_group_heartbeat_request_key_value){key, part};
    }
    return ret;
}

static struct streams_group_heartbeat_request_topic_info_array topics(struct str text, struct arena *arena)
{
    struct streams_group_heartbeat_request_topic_info_array ret = {
        .v = ARENA_NEW(arena, struct streams_group_heartbeat_request_topic_info, parts(text, ','))};
    for (struct str part; !str_is_null(part = part_of(&text, ","));) {
        ret.v[ret.len++] = topic(part, arena);
    }
    return ret;
}

static void field(struct streams_group_heartbeat_request_subtopology *s, struct str name, struct str value, struct arena *arena)
{
    if (str_eq(name, STR("src"))) {
        s->source_topics = names(value, arena);
    } else if (str_eq(name, STR("rx"))) {
        s->source_topic_regex = names(value, arena);
    } else if (str_eq(name, STR("sink"))) {
        s->repartition_sink_topics = names(value, arena);
    } else if (str_eq(name, STR("cl"))) {
        s->state_changelog_topics = topics(value, arena);
    } else if (str_eq(name, STR("rep"))) {
        s->repartition_source_topics = topics(value, arena);
    } else {
        assert_true(str_eq(name, STR("cop")));
        struct streams_group_heartbeat_request_copartition_group *g = &s->copartition_groups.v[s->copartition_groups.len++];
        g->source_topics = indexes(part_of(&value, "/"), arena);
        g->source_topic_regex = indexes(part_of(&value, "/"), arena);
        g->repartition_source_topics = indexes(value, arena);
    }
}

static void subtopology_of(struct str text, struct arena *arena, struct streams_group_heartbeat_request_subtopology *ret)
{
    struct str id = part_of(&text, " ");
    ret->subtopology_id = str_eq(id, STR("\"\"")) ? STR("") : id;
    ret->copartition_groups.v = ARENA_NEW(arena, struct streams_group_heartbeat_request_copartition_group, parts(text, ' '));
    for (struct str part; !str_is_null(part = part_of(&text, " "));) {
        if (part.len > 0) {
            struct str name = part_of(&part, "=");
            field(ret, name, part, arena);
        }
    }
}

struct streams_group_heartbeat_request *heartbeat_of_text(const char *text, struct arena *arena)
{
    struct streams_group_heartbeat_request *r = ARENA_NEW(arena, struct streams_group_heartbeat_request, 1);
    struct str rest = str_of(text);
    wire_init(&wire_streams_group_heartbeat_request, r);
    r->topology = ARENA_NEW(arena, struct streams_group_heartbeat_request_topology, 1);
    r->topology->subtopologies.v = ARENA_NEW(arena, struct streams_group_heartbeat_request_subtopology, parts(rest, ';'));
    for (struct str part; text[0] != '\0' && !str_is_null(part = part_of(&rest, " ; "));) {
        subtopology_of(part, arena, &r->topology->subtopologies.v[r->topology->subtopologies.len++]);
    }
    return r;
}

const topology *topology_of_text(const char *text, struct arena *arena)
{
    return topology_of_heartbeat(heartbeat_of_text(text, arena), arena);
}

/* ---- topics ---------------------------------------------------------------------------------------------------------------------- */

static int32_t place(const struct text_topics *t, struct str name)
{
    int32_t at = 0;
    while (at < t->len && str_cmp(t->v[at].name, name) < 0) {
        at++;
    }
    return at;
}

static bool give(const struct text_topics *t, int32_t at, struct topic_view *ret)
{
    if (at < t->len) {
        *ret = t->v[at];
    }
    return at < t->len;
}

static bool find_by_name(const void *ctx, struct str name, struct topic_view *ret)
{
    return give(ctx, place(ctx, name), ret) && str_eq(ret->name, name);
}

static bool find_next(const void *ctx, struct str after, struct topic_view *ret)
{
    const struct text_topics *t = ctx;
    int32_t at = str_is_null(after) ? 0 : place(t, after);
    return give(t, at < t->len && str_eq(t->v[at].name, after) ? at + 1 : at, ret);
}

void topics_init(struct text_topics *t)
{
    *t = (struct text_topics){.topics = {.ctx = t, .by_name = find_by_name, .next = find_next}};
}

void topics_put(struct text_topics *t, struct str name, int32_t partitions)
{
    int32_t at = place(t, name);
    bool there = at < t->len && str_eq(t->v[at].name, name);
    if (partitions == 0) {
        t->len -= there ? 1 : 0;
        memmove(&t->v[at], &t->v[at + 1], (size_t)(there ? t->len - at : 0) * sizeof(t->v[0]));
        return;
    }
    if (!there) {
        assert_true(t->len < TEXT_TOPICS);
        t->ids++;
        memmove(&t->v[at + 1], &t->v[at], (size_t)(t->len - at) * sizeof(t->v[0]));
        t->v[at] = (struct topic_view){.name = name, .id = {{1, (uint8_t)(t->ids >> 8), (uint8_t)t->ids}}};
        t->len++;
    }
    t->v[at].partitions = partitions;
}

void topics_of_text(struct text_topics *t, struct str text)
{
    for (struct str part; text.len > 0 && !str_is_null(part = part_of(&text, ","));) {
        struct str name = part_of(&part, "=");
        topics_put(t, name, number_of(part));
    }
}

void topics_create(struct text_topics *t, const struct create_topics_request *r)
{
    for (int32_t i = 0; i < r->topics.len; i++) {
        struct topic_view view;
        assert_false(t->topics.by_name(t->topics.ctx, r->topics.v[i].name, &view));
        topics_put(t, r->topics.v[i].name, r->topics.v[i].num_partitions);
    }
}
