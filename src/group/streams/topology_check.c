/* topology_check.c: whether a topology may be stored. In Kafka's order and words; where 4.4.0 answers UNKNOWN_SERVER_ERROR there are words of ours. */
#include "../catalog/configs.h"
#include "../errors.h"
#include "../names.h"
#include "resolve.h"

#include <inttypes.h>
#include <muster/regex.h>

typedef struct streams_group_topology_value_copartition_group copartition_group;

enum {
    MOST_REGEXES = 100,        /* each is matched against every topic whenever topics come or go */
    MOST_REGEX_PROGRAM = 1000, /* instructions of all of them together (regex.h): what each topic's name may cost */
    PARTS_PER_TOPIC = 16       /* configs and copartition indexes that a topology may have for each topic that it may have */
};

struct checking {
    const topology *t;
    const struct group_settings *settings;
    struct arena *arena;
    struct str problem;
};

static int16_t refuse(struct checking *c, int16_t error, struct str problem)
{
    c->problem = problem;
    return error;
}

/* ---- size ------------------------------------------------------------------------------------------------------------------------ */

static int64_t topics_of(const subtopology *s)
{
    return (int64_t)s->source_topics.len + s->source_topic_regex.len + s->state_changelog_topics.len + s->repartition_sink_topics.len +
           s->repartition_source_topics.len;
}

static int64_t configs_of(const struct streams_group_topology_value_topic_info_array *topics)
{
    int64_t total = 0;
    for (int32_t i = 0; i < topics->len; i++) {
        total += topics->v[i].topic_configs.len;
    }
    return total;
}

static int64_t parts_of(const subtopology *s)
{
    int64_t total = configs_of(&s->state_changelog_topics) + configs_of(&s->repartition_source_topics) + s->copartition_groups.len;
    for (int32_t i = 0; i < s->copartition_groups.len; i++) {
        const copartition_group *g = &s->copartition_groups.v[i];
        total += (int64_t)g->source_topics.len + g->source_topic_regex.len + g->repartition_source_topics.len;
    }
    return total;
}

static int16_t check_size(struct checking *c)
{
    const struct streams_settings *limits = &c->settings->streams;
    int64_t topics = 0;
    int64_t parts = 0;
    if (limits->max_subtopologies > 0 && c->t->subtopologies.len > limits->max_subtopologies) {
        return refuse(c, KAFKA_STREAMS_INVALID_TOPOLOGY,
                      arena_printf(c->arena, "The topology has %" PRId32 " subtopologies; %" PRId32 " are allowed.",
                                   c->t->subtopologies.len, limits->max_subtopologies));
    }
    for (int32_t i = 0; i < c->t->subtopologies.len; i++) {
        topics += topics_of(&c->t->subtopologies.v[i]);
        parts += parts_of(&c->t->subtopologies.v[i]);
    }
    if (limits->max_topology_topics > 0 && topics > limits->max_topology_topics) {
        return refuse(c, KAFKA_STREAMS_INVALID_TOPOLOGY,
                      arena_printf(c->arena, "The topology names %" PRId64 " topics; %" PRId32 " are allowed.", topics,
                                   limits->max_topology_topics));
    }
    if (limits->max_topology_topics > 0 && parts > (int64_t)limits->max_topology_topics * PARTS_PER_TOPIC) {
        return refuse(c, KAFKA_STREAMS_INVALID_TOPOLOGY,
                      arena_printf(c->arena, "The topology has %" PRId64 " configs and copartitioned topics; %" PRId64 " are allowed.",
                                   parts, (int64_t)limits->max_topology_topics * PARTS_PER_TOPIC));
    }
    return KAFKA_NONE;
}

/* ---- names ----------------------------------------------------------------------------------------------------------------------- */

static bool is_legal(struct str name, struct arena *arena)
{
    return str_is_null(topic_name_problem(name, arena));
}

static bool is_not_kafkas(struct str name, struct arena *arena)
{
    (void)arena;
    return !str_eq(name, STR("__consumer_offsets")) && !str_eq(name, STR("__transaction_state")) &&
           !str_eq(name, STR("__share_group_state"));
}

struct bad_names {
    bool (*good)(struct str name, struct arena *arena);
    struct arena *arena;
    struct str_array list;
    struct names seen; /* each is told once */
    int32_t bytes;
};

static void look_at(struct bad_names *bad, struct str name)
{
    if (bad->bytes < SHOWN_NAME_BYTES && !bad->good(name, bad->arena) && names_add(&bad->seen, bytes_of_str(name), 0) < 0) {
        bad->list.v[bad->list.len++] = name;
        bad->bytes += name.len;
    }
}

static void look_at_topics(struct bad_names *bad, const struct streams_group_topology_value_topic_info_array *topics)
{
    for (int32_t i = 0; i < topics->len; i++) {
        look_at(bad, topics->v[i].name);
    }
}

/* The names that are not good, in the order in which Kafka tells them; null when there are none. */
static struct str bad_names(const struct checking *c, bool (*good)(struct str name, struct arena *arena))
{
    struct bad_names bad = {.good = good, .arena = c->arena};
    int64_t total = 0;
    for (int32_t i = 0; i < c->t->subtopologies.len; i++) {
        total += topics_of(&c->t->subtopologies.v[i]);
    }
    bad.list.v = ARENA_NEW(c->arena, struct str, total);
    names_init(&bad.seen, c->arena, (int32_t)total);
    for (int32_t i = 0; i < c->t->subtopologies.len; i++) {
        const subtopology *s = &c->t->subtopologies.v[i];
        for (int32_t k = 0; k < s->source_topics.len; k++) {
            look_at(&bad, s->source_topics.v[k]);
        }
        for (int32_t k = 0; k < s->repartition_sink_topics.len; k++) {
            look_at(&bad, s->repartition_sink_topics.v[k]);
        }
        look_at_topics(&bad, &s->repartition_source_topics);
        look_at_topics(&bad, &s->state_changelog_topics);
    }
    return bad.list.len > 0 ? config_join(bad.list, STR(","), c->arena) : STR_NULL;
}

static int16_t check_names(struct checking *c)
{
    struct str kafkas = bad_names(c, is_not_kafkas);
    if (!str_is_null(kafkas)) {
        return refuse(c, KAFKA_STREAMS_INVALID_TOPOLOGY,
                      arena_printf(c->arena, "Use of Kafka internal topics %.*s in a Kafka Streams topology is prohibited.",
                                   STR_ARG(kafkas)));
    }
    struct str illegal = bad_names(c, is_legal);
    if (!str_is_null(illegal)) {
        return refuse(c, KAFKA_STREAMS_INVALID_TOPOLOGY,
                      arena_printf(c->arena, "Topic names %.*s are not valid topic names.", STR_ARG(illegal)));
    }
    return KAFKA_NONE;
}

/* ---- regular expressions ----------------------------------------------------------------------------------------------------------- */

/* Kafka 4.4.0 refuses all of them. */
static int16_t check_regexes(struct checking *c)
{
    int64_t total = 0;
    int size = 0;
    for (int32_t i = 0; i < c->t->subtopologies.len; i++) {
        const subtopology *s = &c->t->subtopologies.v[i];
        total += s->source_topic_regex.len;
        for (int32_t k = 0; k < s->source_topic_regex.len && total <= MOST_REGEXES; k++) {
            char why[REGEX_WHY_BYTES];
            int one = regex_check(s->source_topic_regex.v[k], why);
            size += one;
            if (one < 0) {
                return refuse(c, KAFKA_STREAMS_INVALID_TOPOLOGY,
                              arena_printf(c->arena, "A source topic regex of subtopology %.*s cannot be used: %s",
                                           STR_ARG(s->subtopology_id), why));
            }
        }
    }
    if (total > MOST_REGEXES) {
        return refuse(c, KAFKA_STREAMS_INVALID_TOPOLOGY,
                      arena_printf(c->arena, "The topology has %" PRId64 " source topic regexes; %d are allowed.", total, MOST_REGEXES));
    }
    if (size > MOST_REGEX_PROGRAM) {
        return refuse(c, KAFKA_STREAMS_INVALID_TOPOLOGY, STR("The source topic regexes of the topology are too large together."));
    }
    return KAFKA_NONE;
}

/* ---- changelogs and repartition topics ------------------------------------------------------------------------------------------- */

static int16_t check_changelogs(struct checking *c)
{
    for (int32_t i = 0; i < c->t->subtopologies.len; i++) {
        const struct streams_group_topology_value_topic_info_array *topics = &c->t->subtopologies.v[i].state_changelog_topics;
        for (int32_t k = 0; k < topics->len; k++) {
            if (topics->v[k].partitions != 0) {
                return refuse(c, KAFKA_STREAMS_INVALID_TOPOLOGY,
                              arena_printf(c->arena,
                                           "Changelog topic %.*s must have an undefined partition count, but it is set to %" PRId32 ".",
                                           STR_ARG(topics->v[k].name), topics->v[k].partitions));
            }
        }
    }
    return KAFKA_NONE;
}

static int16_t check_configs(struct checking *c, const topic_info *topic)
{
    struct names seen;
    names_init(&seen, c->arena, topic->topic_configs.len);
    for (int32_t i = 0; i < topic->topic_configs.len; i++) {
        struct str key = topic->topic_configs.v[i].key;
        if (names_add(&seen, bytes_of_str(key), i) >= 0) {
            return refuse(c, KAFKA_STREAMS_INVALID_TOPOLOGY,
                          arena_printf(c->arena, "Config %.*s of topic %.*s is given twice.", STR_ARG(key), STR_ARG(topic->name)));
        }
    }
    return KAFKA_NONE;
}

static int16_t check_topics(struct checking *c, const subtopology *s, const struct streams_group_topology_value_topic_info_array *topics,
                            const char *kind)
{
    struct names seen;
    names_init(&seen, c->arena, topics->len);
    for (int32_t i = 0; i < topics->len; i++) {
        const topic_info *topic = &topics->v[i];
        if (names_add(&seen, bytes_of_str(topic->name), i) >= 0) {
            return refuse(c, KAFKA_STREAMS_INVALID_TOPOLOGY,
                          arena_printf(c->arena, "%s topic %.*s is named twice in subtopology %.*s.", kind, STR_ARG(topic->name),
                                       STR_ARG(s->subtopology_id)));
        }
        if (topic->partitions < 0) {
            return refuse(c, KAFKA_STREAMS_INVALID_TOPOLOGY,
                          arena_printf(c->arena, "%s topic %.*s must not have a negative partition count, but it is set to %" PRId32 ".",
                                       kind, STR_ARG(topic->name), topic->partitions));
        }
        if (check_configs(c, topic) != KAFKA_NONE) {
            return KAFKA_STREAMS_INVALID_TOPOLOGY;
        }
    }
    return KAFKA_NONE;
}

/* ---- copartitioning -------------------------------------------------------------------------------------------------------------- */

static int16_t check_indexes(struct checking *c, const subtopology *s, const struct int16_array *indexes, int32_t count, const char *what)
{
    for (int32_t i = 0; i < indexes->len; i++) {
        if (indexes->v[i] < 0 || indexes->v[i] >= count) {
            return refuse(c, KAFKA_STREAMS_INVALID_TOPOLOGY,
                          arena_printf(c->arena,
                                       "A copartition group of subtopology %.*s refers to %s %d, but the subtopology has %" PRId32 ".",
                                       STR_ARG(s->subtopology_id), what, indexes->v[i], count));
        }
    }
    return KAFKA_NONE;
}

static int16_t check_copartitions(struct checking *c, const subtopology *s)
{
    int16_t error = KAFKA_NONE;
    for (int32_t i = 0; error == KAFKA_NONE && i < s->copartition_groups.len; i++) {
        const copartition_group *g = &s->copartition_groups.v[i];
        error = check_indexes(c, s, &g->source_topics, s->source_topics.len, "source topic");
        if (error == KAFKA_NONE) {
            error = check_indexes(c, s, &g->source_topic_regex, s->source_topic_regex.len, "source topic regex");
        }
        if (error == KAFKA_NONE) {
            error = check_indexes(c, s, &g->repartition_source_topics, s->repartition_source_topics.len, "repartition source topic");
        }
    }
    return error;
}

/* ---- subtopologies --------------------------------------------------------------------------------------------------------------- */

/* What 4.4.0 fails on, each subtopology for itself. */
static int16_t check_subtopologies(struct checking *c)
{
    int32_t count = c->t->subtopologies.len;
    struct names ids;
    names_init(&ids, c->arena, count);
    for (int32_t i = 0; i < count; i++) {
        const subtopology *s = &c->t->subtopologies.v[i];
        if (names_add(&ids, bytes_of_str(s->subtopology_id), i) >= 0) {
            return refuse(c, KAFKA_STREAMS_INVALID_TOPOLOGY,
                          arena_printf(c->arena, "Subtopology id %.*s is used twice.", STR_ARG(s->subtopology_id)));
        }
        if (check_copartitions(c, s) != KAFKA_NONE || check_topics(c, s, &s->state_changelog_topics, "Changelog") != KAFKA_NONE ||
            check_topics(c, s, &s->repartition_source_topics, "Repartition") != KAFKA_NONE) {
            return KAFKA_STREAMS_INVALID_TOPOLOGY;
        }
    }
    return KAFKA_NONE;
}

static int16_t check_sources(struct checking *c, const int32_t *order)
{
    for (int32_t i = 0; i < c->t->subtopologies.len; i++) {
        const subtopology *s = &c->t->subtopologies.v[order[i]];
        if (s->source_topics.len + s->source_topic_regex.len + s->repartition_source_topics.len == 0) {
            return refuse(c, KAFKA_STREAMS_INVALID_TOPOLOGY,
                          arena_printf(c->arena, "No source topics found for subtopology %.*s", STR_ARG(s->subtopology_id)));
        }
    }
    return KAFKA_NONE;
}

/* ---- what flows where ------------------------------------------------------------------------------------------------------------ */

static bool has_writers(const struct checking *c, const struct repartitions *r)
{
    bool *written = ARENA_NEW(c->arena, bool, r->len);
    bool all = true;
    for (int32_t i = 0; i < c->t->subtopologies.len; i++) {
        const struct str_array *sinks = &c->t->subtopologies.v[i].repartition_sink_topics;
        for (int32_t k = 0; k < sinks->len; k++) {
            const struct repartition *topic = repartition_find(r, sinks->v[k]);
            if (topic != NULL) {
                written[topic - r->v] = true;
            }
        }
    }
    for (int32_t i = 0; i < r->len; i++) {
        all = all && (written[i] || r->v[i].sent > 0);
    }
    return all;
}

/* Kafka finds these two once all source topics exist; they do not depend on the topics. */
static int16_t check_flow(struct checking *c, const int32_t *order)
{
    struct repartitions topics;
    int32_t *outside = ARENA_NEW(c->arena, int32_t, c->t->subtopologies.len);
    repartitions_new(c->t, order, c->arena, &topics);
    if (!has_writers(c, &topics)) {
        return refuse(c, KAFKA_STREAMS_INVALID_TOPOLOGY,
                      STR("Failed to compute number of partitions for all repartition topics, because a repartition source topic is never "
                          "used as a sink topic."));
    }
    for (int32_t i = 0; i < c->t->subtopologies.len; i++) {
        const subtopology *s = &c->t->subtopologies.v[i];
        outside[i] = s->source_topics.len + s->source_topic_regex.len > 0 ? 1 : 0;
    }
    if (!repartitions_count(c->t, order, outside, &topics, c->arena)) {
        return refuse(c, KAFKA_STREAMS_INVALID_TOPOLOGY,
                      STR("Failed to compute number of partitions for all repartition topics. There may be loops in the topology that "
                          "cannot be resolved."));
    }
    return KAFKA_NONE;
}

static int16_t check_epoch(struct checking *c)
{
    if (c->t->epoch < 0) {
        return refuse(c, KAFKA_STREAMS_INVALID_TOPOLOGY_EPOCH,
                      arena_printf(c->arena, "The topology epoch is %" PRId32 ", but must not be negative.", c->t->epoch));
    }
    return KAFKA_NONE;
}

static int16_t check_form(struct checking *c)
{
    static int16_t (*const checks[])(struct checking *) = {check_size,       check_names, check_regexes,
                                                           check_changelogs, check_epoch, check_subtopologies};
    int16_t error = KAFKA_NONE;
    for (size_t i = 0; error == KAFKA_NONE && i < COUNT_OF(checks); i++) {
        error = checks[i](c);
    }
    return error;
}

int16_t topology_check_form(const topology *t, const struct group_settings *settings, struct arena *arena, struct str *ret_problem)
{
    struct checking c = {.t = t, .settings = settings, .arena = arena, .problem = STR_NULL};
    int16_t error = check_form(&c);
    *ret_problem = c.problem;
    return error;
}

int16_t topology_check(const topology *t, const struct group_settings *settings, struct arena *arena, struct str *ret_problem)
{
    static int16_t (*const ordered[])(struct checking *, const int32_t *) = {check_sources, check_flow};
    struct checking c = {.t = t, .settings = settings, .arena = arena, .problem = STR_NULL};
    int16_t error = check_form(&c);
    if (error == KAFKA_NONE) {
        const int32_t *order = topology_order(t, arena);
        for (size_t i = 0; error == KAFKA_NONE && i < COUNT_OF(ordered); i++) {
            error = ordered[i](&c, order);
        }
    }
    *ret_problem = c.problem;
    return error;
}
