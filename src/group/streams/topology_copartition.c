/* topology_copartition.c: topics of one copartition group have the same number of partitions.
 *
 * As Kafka 4.4.0 but for one thing: a group of repartition topics alone is held here to the fixed counts among its own topics; there, to those of the whole
 * topology, so that a count fixed for another topic is forced upon the group, and two different ones anywhere keep every such group from running.
 *
 * A repartition topic that exists already counts with what it has. */
#include "../catalog/configs.h"
#include "resolve.h"

#include <inttypes.h>

typedef struct streams_group_topology_value_copartition_group copartition_group;

enum {
    MOST_COPARTITIONED = 200000
}; /* topics of all groups; what topology_check() lets in has fewer, but for those that regular expressions match */

struct member { /* a topic of the group */
    struct str name;
    int32_t partitions;
    struct repartition *repartition; /* NULL: a source topic from outside */
};
struct members {
    struct member *v;
    int32_t len;
};

/* ---- who is in the group ----------------------------------------------------------------------------------------------------------- */

static void add_source(const struct resolving *r, struct members *to, int32_t used)
{
    to->v[to->len++] = (struct member){.name = r->used[used].name, .partitions = r->used[used].partitions};
}

/* What was not checked here, a record of the log from elsewhere, may name what is not there. */
static bool names_one_of(int16_t index, int32_t len)
{
    return index >= 0 && index < len;
}

/* Each expression once, however often it is named. False: too many topics, over all groups. */
static bool outside_members(struct resolving *r, int32_t number, const copartition_group *g, struct members *ret)
{
    const struct used_sources *sources = &r->sources[number];
    const subtopology *s = &r->t->subtopologies.v[number];
    bool *named = ARENA_NEW(r->arena, bool, s->source_topic_regex.len);
    int32_t count = g->source_topics.len;
    for (int32_t i = 0; i < g->source_topic_regex.len; i++) {
        int16_t regex = g->source_topic_regex.v[i];
        if (names_one_of(regex, s->source_topic_regex.len) && !named[regex]) {
            named[regex] = true;
            count += sources->starts[regex + 1] - sources->starts[regex];
        }
    }
    r->copartitioned += count;
    if (r->copartitioned > MOST_COPARTITIONED) {
        resolve_problem(r, TOPOLOGY_PARTITIONING,
                        arena_printf(r->arena, "The copartition groups of the topology have more than %d topics.", MOST_COPARTITIONED));
        return false;
    }
    ret->v = ARENA_NEW(r->arena, struct member, count);
    for (int32_t i = 0; i < g->source_topics.len; i++) {
        if (names_one_of(g->source_topics.v[i], s->source_topics.len)) {
            add_source(r, ret, sources->v[g->source_topics.v[i]]);
        }
    }
    for (int32_t i = 0; i < s->source_topic_regex.len; i++) {
        for (int32_t k = sources->starts[i]; named[i] && k < sources->starts[i + 1]; k++) {
            add_source(r, ret, sources->v[k]);
        }
    }
    return true;
}

static struct members repartition_members(const struct resolving *r, int32_t number, const copartition_group *g)
{
    const subtopology *s = &r->t->subtopologies.v[number];
    struct members m = {.v = ARENA_NEW(r->arena, struct member, g->repartition_source_topics.len)};
    for (int32_t i = 0; i < g->repartition_source_topics.len; i++) {
        if (!names_one_of(g->repartition_source_topics.v[i], s->repartition_source_topics.len)) {
            continue;
        }
        struct str name = s->repartition_source_topics.v[g->repartition_source_topics.v[i]].name;
        struct repartition *topic = repartition_find(&r->repartitions, name);
        int32_t existing = resolve_used(r, name)->partitions;
        m.v[m.len++] = (struct member){.name = name, .partitions = existing > 0 ? existing : topic->count, .repartition = topic};
    }
    return m;
}

/* ---- do they fit ------------------------------------------------------------------------------------------------------------------- */

static bool is_fixed(const struct member *m)
{
    return m->repartition == NULL || m->repartition->sent > 0;
}

static int32_t *by_name(const struct resolving *r, const struct members *m)
{
    struct str *names = ARENA_NEW(r->arena, struct str, m->len);
    for (int32_t i = 0; i < m->len; i++) {
        names[i] = m->v[i].name;
    }
    return names_sort(names, m->len, r->arena);
}

/* "a=4, b=2": each topic once. */
static struct str counts_text(const struct resolving *r, const struct members *m)
{
    const int32_t *order = by_name(r, m);
    struct str_array shown = {.v = ARENA_NEW(r->arena, struct str, m->len)};
    int32_t bytes = 0;
    for (int32_t i = 0; i < m->len && bytes < SHOWN_NAME_BYTES; i++) {
        const struct member *one = &m->v[order[i]];
        if (is_fixed(one) && (i == 0 || !str_eq(one->name, m->v[order[i - 1]].name))) {
            shown.v[shown.len] = arena_printf(r->arena, "%.*s=%" PRId32, STR_ARG(one->name), one->partitions);
            bytes += shown.v[shown.len++].len;
        }
    }
    return config_join(shown, STR(", "), r->arena);
}

/* The count that all fixed ones have; 0 when there are none, -1 when they differ. */
static int32_t common_count(const struct members *m)
{
    int32_t count = 0;
    for (int32_t i = 0; i < m->len; i++) {
        if (is_fixed(&m->v[i]) && count != m->v[i].partitions) {
            if (count != 0) {
                return -1;
            }
            count = m->v[i].partitions;
        }
    }
    return count;
}

static int32_t agreed_count(struct resolving *r, const struct members *m)
{
    int32_t count = common_count(m);
    if (count < 0) {
        resolve_problem(r, TOPOLOGY_PARTITIONING,
                        arena_printf(r->arena, "Following topics do not have the same number of partitions: [{%.*s}]",
                                     STR_ARG(counts_text(r, m))));
    }
    return count;
}

static bool check_against(struct resolving *r, const struct members *m, int32_t count)
{
    const int32_t *order = by_name(r, m);
    for (int32_t i = 0; i < m->len; i++) {
        const struct member *one = &m->v[order[i]];
        if (is_fixed(one) && one->partitions != count) {
            resolve_problem(r, TOPOLOGY_PARTITIONING,
                            arena_printf(r->arena,
                                         "Number of partitions [%" PRId32 "] of repartition topic [%.*s] doesn't match number of "
                                         "partitions [%" PRId32 "] of the source topic.",
                                         one->partitions, STR_ARG(one->name), count));
            return false;
        }
    }
    return true;
}

static int32_t largest_count(const struct members *m)
{
    int32_t largest = 0;
    for (int32_t i = 0; i < m->len; i++) {
        largest = m->v[i].partitions > largest ? m->v[i].partitions : largest;
    }
    return largest;
}

static bool enforce(struct resolving *r, int32_t number, const copartition_group *g)
{
    struct members outside = {0};
    if (!outside_members(r, number, g, &outside)) {
        return false;
    }
    struct members repartitions = repartition_members(r, number, g);
    int32_t count = agreed_count(r, outside.len > 0 ? &outside : &repartitions);
    if (count < 0 || (outside.len > 0 && !check_against(r, &repartitions, count))) {
        return false;
    }
    count = count > 0 ? count : largest_count(&repartitions);
    for (int32_t i = 0; i < repartitions.len; i++) {
        if (repartitions.v[i].repartition->open) {
            repartitions.v[i].repartition->count = count;
        }
    }
    return true;
}

bool resolve_copartitions(struct resolving *r)
{
    for (int32_t i = 0; i < r->t->subtopologies.len; i++) {
        const subtopology *s = &r->t->subtopologies.v[r->order[i]];
        for (int32_t k = 0; k < s->copartition_groups.len; k++) {
            if (!enforce(r, r->order[i], &s->copartition_groups.v[k])) {
                return false;
            }
        }
    }
    return true;
}
