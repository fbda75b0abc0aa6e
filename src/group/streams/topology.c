/* topology.c: a topology as it is recorded, its name, and what can be said of it without looking at topics. */
#include "topology.h"

#include <inttypes.h>

#include "partitions.h"

typedef struct streams_group_topology_value_copartition_group copartition_group;
typedef struct streams_group_topology_value_topic_config topic_config;

/* ---- its id ---------------------------------------------------------------------------------------------------------------------- */

static struct str hash_name(const topology *t, struct arena *arena)
{
    topology canonical = {.subtopologies = {.v = ARENA_NEW(arena, subtopology, t->subtopologies.len), .len = t->subtopologies.len},
                          .topology_id = STR_NULL};
    struct str *ids = ARENA_NEW(arena, struct str, t->subtopologies.len);
    for (int32_t i = 0; i < t->subtopologies.len; i++) {
        ids[i] = t->subtopologies.v[i].subtopology_id;
    }
    const int32_t *order = names_sort(ids, t->subtopologies.len, arena);
    for (int32_t i = 0; i < t->subtopologies.len; i++) {
        canonical.subtopologies.v[i] = t->subtopologies.v[order[i]];
    }
    struct bytes encoded = wire_encode(&wire_streams_group_topology_value, 0, &canonical, arena);
    return arena_printf(arena, "h-%016" PRIx64, hash_bytes(encoded.ptr, (size_t)encoded.len, 0));
}

static const topology *named(topology *t, struct str id, struct arena *arena)
{
    t->topology_id = str_is_null(id) ? hash_name(t, arena) : id;
    return t;
}

/* ---- from requests --------------------------------------------------------------------------------------------------------------- */

/* Both requests have types of their own for what the record holds. */
static void heartbeat_topics(const struct streams_group_heartbeat_request_topic_info_array *from, struct arena *arena,
                             struct streams_group_topology_value_topic_info_array *ret)
{
    ret->v = ARENA_NEW(arena, topic_info, from->len);
    ret->len = from->len;
    for (int32_t i = 0; i < from->len; i++) {
        const struct streams_group_heartbeat_request_topic_info *sent = &from->v[i];
        topic_config *configs = ARENA_NEW(arena, topic_config, sent->topic_configs.len);
        for (int32_t k = 0; k < sent->topic_configs.len; k++) {
            configs[k] = (topic_config){.key = sent->topic_configs.v[k].key, .value = sent->topic_configs.v[k].value};
        }
        ret->v[i] = (topic_info){.name = sent->name,
                                 .partitions = sent->partitions,
                                 .replication_factor = sent->replication_factor,
                                 .topic_configs = {.v = configs, .len = sent->topic_configs.len}};
    }
}

static void initialize_topics(const struct streams_group_initialize_request_topic_info_array *from, struct arena *arena,
                              struct streams_group_topology_value_topic_info_array *ret)
{
    ret->v = ARENA_NEW(arena, topic_info, from->len);
    ret->len = from->len;
    for (int32_t i = 0; i < from->len; i++) {
        const struct streams_group_initialize_request_topic_info *sent = &from->v[i];
        int32_t count = sent->topic_configs.len > 0 ? sent->topic_configs.len : 0; /* null: none */
        topic_config *configs = ARENA_NEW(arena, topic_config, count);
        for (int32_t k = 0; k < count; k++) {
            configs[k] = (topic_config){.key = sent->topic_configs.v[k].key, .value = sent->topic_configs.v[k].value};
        }
        ret->v[i] = (topic_info){.name = sent->name,
                                 .partitions = sent->partitions,
                                 .replication_factor = sent->replication_factor,
                                 .topic_configs = {.v = configs, .len = count}};
    }
}

static topology *empty(int32_t epoch, int32_t subtopologies, struct arena *arena)
{
    topology *t = ARENA_NEW(arena, topology, 1);
    t->epoch = epoch;
    t->subtopologies.v = ARENA_NEW(arena, subtopology, subtopologies);
    t->subtopologies.len = subtopologies;
    t->topology_id = STR_NULL;
    return t;
}

const topology *topology_of_heartbeat(const struct streams_group_heartbeat_request *r, struct arena *arena)
{
    const struct streams_group_heartbeat_request_subtopology_array *from = &r->topology->subtopologies;
    topology *t = empty(r->topology->epoch, from->len, arena);
    for (int32_t i = 0; i < from->len; i++) {
        const struct streams_group_heartbeat_request_subtopology *sent = &from->v[i];
        subtopology *to = &t->subtopologies.v[i];
        copartition_group *groups = ARENA_NEW(arena, copartition_group, sent->copartition_groups.len);
        for (int32_t k = 0; k < sent->copartition_groups.len; k++) {
            groups[k] = (copartition_group){.source_topics = sent->copartition_groups.v[k].source_topics,
                                            .source_topic_regex = sent->copartition_groups.v[k].source_topic_regex,
                                            .repartition_source_topics = sent->copartition_groups.v[k].repartition_source_topics};
        }
        *to = (subtopology){.subtopology_id = sent->subtopology_id,
                            .source_topics = sent->source_topics,
                            .source_topic_regex = sent->source_topic_regex,
                            .repartition_sink_topics = sent->repartition_sink_topics,
                            .copartition_groups = {.v = groups, .len = sent->copartition_groups.len}};
        heartbeat_topics(&sent->state_changelog_topics, arena, &to->state_changelog_topics);
        heartbeat_topics(&sent->repartition_source_topics, arena, &to->repartition_source_topics);
    }
    return named(t, r->topology_id, arena);
}

/* The one that the early revision has room for, and more behind it. */
static struct str_array initialize_regexes(const struct streams_group_initialize_request_subtopology *sent, struct arena *arena)
{
    struct str_array ret = {.v = ARENA_NEW(arena, struct str, sent->more_source_topic_regex.len + 1)};
    if (!str_is_null(sent->source_topic_regex)) {
        ret.v[ret.len++] = sent->source_topic_regex;
    }
    for (int32_t i = 0; i < sent->more_source_topic_regex.len; i++) {
        ret.v[ret.len++] = sent->more_source_topic_regex.v[i];
    }
    return ret;
}

const topology *topology_of_initialize(const struct streams_group_initialize_request *r, int32_t epoch, struct arena *arena)
{
    topology *t = empty(epoch, r->topology.len, arena);
    for (int32_t i = 0; i < r->topology.len; i++) {
        const struct streams_group_initialize_request_subtopology *sent = &r->topology.v[i];
        subtopology *to = &t->subtopologies.v[i];
        copartition_group *groups = ARENA_NEW(arena, copartition_group, sent->copartition_groups.len);
        for (int32_t k = 0; k < sent->copartition_groups.len; k++) {
            groups[k] = (copartition_group){.source_topics = sent->copartition_groups.v[k].source_topics,
                                            .source_topic_regex = sent->copartition_groups.v[k].source_topic_regex,
                                            .repartition_source_topics = sent->copartition_groups.v[k].repartition_source_topics};
        }
        *to = (subtopology){.subtopology_id = sent->subtopology,
                            .source_topics = sent->source_topics,
                            .source_topic_regex = initialize_regexes(sent, arena),
                            .repartition_sink_topics = sent->repartition_sink_topics,
                            .copartition_groups = {.v = groups, .len = sent->copartition_groups.len}};
        initialize_topics(&sent->state_changelog_topics, arena, &to->state_changelog_topics);
        initialize_topics(&sent->repartition_source_topics, arena, &to->repartition_source_topics);
    }
    return named(t, r->topology_id, arena);
}

/* ---- equality -------------------------------------------------------------------------------------------------------------------- */

static bool same_names(const struct str_array *a, const struct str_array *b)
{
    bool same = a->len == b->len;
    for (int32_t i = 0; same && i < a->len; i++) {
        same = str_eq(a->v[i], b->v[i]);
    }
    return same;
}

static bool same_topic(const topic_info *a, const topic_info *b)
{
    bool same = str_eq(a->name, b->name) && a->partitions == b->partitions && a->replication_factor == b->replication_factor &&
                a->topic_configs.len == b->topic_configs.len;
    for (int32_t i = 0; same && i < a->topic_configs.len; i++) {
        same = str_eq(a->topic_configs.v[i].key, b->topic_configs.v[i].key) &&
               str_eq(a->topic_configs.v[i].value, b->topic_configs.v[i].value);
    }
    return same;
}

static bool same_topics(const struct streams_group_topology_value_topic_info_array *a,
                        const struct streams_group_topology_value_topic_info_array *b)
{
    bool same = a->len == b->len;
    for (int32_t i = 0; same && i < a->len; i++) {
        same = same_topic(&a->v[i], &b->v[i]);
    }
    return same;
}

static bool same_indexes(const struct int16_array *a, const struct int16_array *b)
{
    bool same = a->len == b->len;
    for (int32_t i = 0; same && i < a->len; i++) {
        same = a->v[i] == b->v[i];
    }
    return same;
}

static bool same_subtopology(const subtopology *a, const subtopology *b)
{
    bool same =
        str_eq(a->subtopology_id, b->subtopology_id) && same_names(&a->source_topics, &b->source_topics) &&
        same_names(&a->source_topic_regex, &b->source_topic_regex) && same_topics(&a->state_changelog_topics, &b->state_changelog_topics) &&
        same_names(&a->repartition_sink_topics, &b->repartition_sink_topics) &&
        same_topics(&a->repartition_source_topics, &b->repartition_source_topics) && a->copartition_groups.len == b->copartition_groups.len;
    for (int32_t i = 0; same && i < a->copartition_groups.len; i++) {
        const copartition_group *x = &a->copartition_groups.v[i];
        const copartition_group *y = &b->copartition_groups.v[i];
        same = same_indexes(&x->source_topics, &y->source_topics) && same_indexes(&x->source_topic_regex, &y->source_topic_regex) &&
               same_indexes(&x->repartition_source_topics, &y->repartition_source_topics);
    }
    return same;
}

static bool has_subtopology(const topology *t, const subtopology *wanted)
{
    for (int32_t i = 0; i < t->subtopologies.len; i++) {
        if (same_subtopology(&t->subtopologies.v[i], wanted)) {
            return true;
        }
    }
    return false;
}

bool topology_equal(const topology *a, const topology *b)
{
    bool same = a->subtopologies.len == b->subtopologies.len;
    for (int32_t i = 0; same && i < a->subtopologies.len; i++) {
        const subtopology *x = &a->subtopologies.v[i];
        const subtopology *y = &b->subtopologies.v[i];
        same = same_subtopology(x, y) || (has_subtopology(b, x) && has_subtopology(a, y));
    }
    return same;
}

/* ---- who reads a topic ----------------------------------------------------------------------------------------------------------- */

struct str_array regex_table_get(const struct regex_table *regexes, struct str regex)
{
    int32_t first = 0;
    int32_t end = regexes != NULL ? regexes->len : 0;
    while (first < end) {
        int32_t middle = first + (end - first) / 2;
        int order = str_cmp(regexes->v[middle].regex, regex);
        if (order == 0) {
            return regexes->v[middle].topics;
        }
        if (order < 0) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return (struct str_array){0};
}

static bool is_named(const struct str_array *names, struct str name)
{
    for (int32_t i = 0; i < names->len; i++) {
        if (str_eq(names->v[i], name)) {
            return true;
        }
    }
    return false;
}

static bool is_topic(const struct streams_group_topology_value_topic_info_array *topics, struct str name)
{
    for (int32_t i = 0; i < topics->len; i++) {
        if (str_eq(topics->v[i].name, name)) {
            return true;
        }
    }
    return false;
}

/* Topics of the topology's own making, which its regular expressions do not match. */
static bool is_internal(const topology *t, struct str topic)
{
    for (int32_t i = 0; i < t->subtopologies.len; i++) {
        if (is_topic(&t->subtopologies.v[i].repartition_source_topics, topic) ||
            is_topic(&t->subtopologies.v[i].state_changelog_topics, topic)) {
            return true;
        }
    }
    return false;
}

bool topology_reads(const topology *t, int32_t number, const struct regex_table *regexes, struct str topic)
{
    const subtopology *s = &t->subtopologies.v[number];
    if (is_named(&s->source_topics, topic) || is_topic(&s->repartition_source_topics, topic)) {
        return true;
    }
    for (int32_t i = 0; i < s->source_topic_regex.len; i++) {
        struct str_array matches = regex_table_get(regexes, s->source_topic_regex.v[i]);
        if (is_named(&matches, topic) && !is_internal(t, topic)) {
            return true;
        }
    }
    return false;
}

struct str topology_reader_of(const topology *t, const struct regex_table *regexes, struct str topic)
{
    for (int32_t i = 0; i < t->subtopologies.len; i++) {
        if (topology_reads(t, i, regexes, topic)) {
            return t->subtopologies.v[i].subtopology_id;
        }
    }
    return STR_NULL;
}
