/* topology_resolve.c: a topology on the topics that exist: its partition counts, its tasks, what is wrong and what is missing. In Kafka's order: missing
 * source topics, then partition counts, then internal topics that exist with other counts, then internal topics that are missing; the first one is told. */
#include "../catalog/configs.h"
#include "resolve.h"

#include <inttypes.h>

enum {
    SHOWN_MISSING_INTERNAL = 3, /* as Kafka */
    MOST_MATCHES = 100000       /* topics that regular expressions match, counted for each subtopology; more is no topology but a mistake */
};

void resolve_problem(struct resolving *r, enum topology_problem problem, struct str detail)
{
    if (r->ret->problem == TOPOLOGY_FINE) {
        r->ret->problem = problem;
        r->ret->detail = detail;
    }
}

static const subtopology *subtopology_at(const struct resolving *r, int32_t number)
{
    return &r->t->subtopologies.v[number];
}

/* ---- topics ------------------------------------------------------------------------------------------------------------------------ */

static int32_t use(struct resolving *r, struct str name)
{
    int32_t at = names_add(&r->used_names, bytes_of_str(name), r->used_count);
    if (at >= 0) {
        return at;
    }
    struct topic_view view;
    struct used_topic *to = &r->used[r->used_count];
    to->name = name;
    if (r->topics->by_name(r->topics->ctx, name, &view)) {
        to->id = view.id;
        to->partitions = view.partitions;
    }
    return r->used_count++;
}

const struct used_topic *resolve_used(const struct resolving *r, struct str name)
{
    int32_t at = names_find(&r->used_names, bytes_of_str(name));
    MUSTER_CHECK(at >= 0);
    return &r->used[at];
}

static bool is_internal(const struct resolving *r, struct str name)
{
    return repartition_find(&r->repartitions, name) != NULL || names_find(&r->changelog_names, bytes_of_str(name)) >= 0;
}

static int64_t count_matches(const struct resolving *r, int32_t number)
{
    const struct str_array *regexes = &subtopology_at(r, number)->source_topic_regex;
    int64_t total = 0;
    for (int32_t i = 0; i < regexes->len; i++) {
        total += regex_table_get(r->regexes, regexes->v[i]).len;
    }
    return total;
}

static void find_changelogs(struct resolving *r)
{
    int32_t total = 0;
    for (int32_t i = 0; i < r->t->subtopologies.len; i++) {
        total += subtopology_at(r, i)->state_changelog_topics.len;
    }
    names_init(&r->changelog_names, r->arena, total);
    for (int32_t i = 0; i < r->t->subtopologies.len; i++) {
        const struct streams_group_topology_value_topic_info_array *topics = &subtopology_at(r, i)->state_changelog_topics;
        for (int32_t k = 0; k < topics->len; k++) {
            (void)names_add(&r->changelog_names, bytes_of_str(topics->v[k].name), 0);
        }
    }
}

/* Regular expressions match neither the topology's own topics nor what has been deleted since. */
static void find_sources(struct resolving *r, int32_t number, int64_t matches)
{
    const subtopology *s = subtopology_at(r, number);
    struct used_sources *to = &r->sources[number];
    to->v = ARENA_NEW(r->arena, int32_t, s->source_topics.len + matches);
    to->starts = ARENA_NEW(r->arena, int32_t, s->source_topic_regex.len + 1);
    for (int32_t i = 0; i < s->source_topics.len; i++) {
        to->v[to->len++] = use(r, s->source_topics.v[i]);
    }
    for (int32_t i = 0; i < s->source_topic_regex.len; i++) {
        to->starts[i] = to->len;
        struct str_array topics = matches > 0 ? regex_table_get(r->regexes, s->source_topic_regex.v[i]) : (struct str_array){0};
        for (int32_t k = 0; k < topics.len; k++) {
            int32_t used = is_internal(r, topics.v[k]) ? -1 : use(r, topics.v[k]);
            if (used >= 0 && r->used[used].partitions > 0) {
                to->v[to->len++] = used;
            }
        }
    }
    to->starts[s->source_topic_regex.len] = to->len;
}

static int64_t named_topics(const subtopology *s)
{
    return (int64_t)s->source_topics.len + s->repartition_source_topics.len + s->state_changelog_topics.len;
}

static void find_topics(struct resolving *r)
{
    int32_t count = r->t->subtopologies.len;
    int64_t named = 0;
    int64_t matches = 0;
    for (int32_t i = 0; i < count; i++) {
        named += named_topics(subtopology_at(r, i));
        matches += count_matches(r, i);
    }
    bool too_many = matches > MOST_MATCHES;
    if (too_many) {
        resolve_problem(r, TOPOLOGY_PARTITIONING,
                        arena_printf(r->arena, "The regular expressions of the topology match more than %d topics.", MOST_MATCHES));
        matches = 0;
    }
    r->used = ARENA_NEW(r->arena, struct used_topic, named + matches);
    names_init(&r->used_names, r->arena, (int32_t)(named + matches));
    r->sources = ARENA_NEW(r->arena, struct used_sources, count);
    for (int32_t i = 0; i < count; i++) {
        find_sources(r, i, too_many ? 0 : count_matches(r, i));
    }
    for (int32_t i = 0; i < count; i++) {
        const subtopology *s = subtopology_at(r, i);
        for (int32_t k = 0; k < s->repartition_source_topics.len; k++) {
            (void)use(r, s->repartition_source_topics.v[k].name);
        }
        for (int32_t k = 0; k < s->state_changelog_topics.len; k++) {
            (void)use(r, s->state_changelog_topics.v[k].name);
        }
    }
}

/* A sum, so that order does not count; each topic is in it once. */
static int64_t metadata_hash(const struct resolving *r)
{
    uint64_t sum = 0;
    bool any = false;
    for (int32_t i = 0; i < r->used_count; i++) {
        const struct used_topic *one = &r->used[i];
        uint8_t partitions[4];
        if (one->partitions > 0) {
            put_be32(partitions, (uint32_t)one->partitions);
            uint64_t hash = hash_bytes(one->name.ptr, (size_t)one->name.len, 0);
            hash = hash_bytes(one->id.b, sizeof(one->id.b), hash);
            sum += hash_bytes(partitions, sizeof(partitions), hash);
            any = true;
        }
    }
    return any && sum == 0 ? 1 : (int64_t)sum;
}

static struct str_array topics_used(const struct resolving *r)
{
    struct str_array all = {ARENA_NEW(r->arena, struct str, r->used_count), r->used_count};
    for (int32_t i = 0; i < r->used_count; i++) {
        all.v[i] = r->used[i].name;
    }
    return all;
}

/* ---- missing source topics --------------------------------------------------------------------------------------------------------- */

/* In order, each once, as many as a text holds. */
static struct str names_text(struct str_array names, int32_t most, struct arena *arena)
{
    const int32_t *order = names_sort(names.v, names.len, arena);
    struct str_array shown = {.v = ARENA_NEW(arena, struct str, names.len)};
    int32_t bytes = 0;
    for (int32_t i = 0; i < names.len && shown.len < most && bytes < SHOWN_NAME_BYTES; i++) {
        if (i == 0 || !str_eq(names.v[order[i]], names.v[order[i - 1]])) {
            shown.v[shown.len++] = names.v[order[i]];
            bytes += names.v[order[i]].len;
        }
    }
    return config_join(shown, STR(", "), arena);
}

static void check_sources(struct resolving *r)
{
    int64_t total = 0;
    for (int32_t i = 0; i < r->t->subtopologies.len; i++) {
        total += subtopology_at(r, i)->source_topics.len + subtopology_at(r, i)->source_topic_regex.len;
    }
    struct str_array missing = {.v = ARENA_NEW(r->arena, struct str, total)};
    for (int32_t i = 0; i < r->t->subtopologies.len; i++) {
        const subtopology *s = subtopology_at(r, i);
        const struct used_sources *sources = &r->sources[i];
        for (int32_t k = 0; k < s->source_topics.len; k++) {
            if (r->used[sources->v[k]].partitions == 0) {
                missing.v[missing.len++] = s->source_topics.v[k];
            }
        }
        for (int32_t k = 0; k < s->source_topic_regex.len; k++) {
            if (sources->starts[k] == sources->starts[k + 1]) {
                missing.v[missing.len++] = s->source_topic_regex.v[k];
            }
        }
    }
    if (missing.len > 0) {
        resolve_problem(r, TOPOLOGY_MISSING_SOURCES,
                        arena_printf(r->arena, "Source topics %.*s are missing.", STR_ARG(names_text(missing, INT32_MAX, r->arena))));
    }
}

/* ---- counts ------------------------------------------------------------------------------------------------------------------------ */

/* Of what the subtopology reads from outside; a topic that is a repartition topic elsewhere is none of it. */
static int32_t outside_count(const struct resolving *r, int32_t number)
{
    const struct used_sources *sources = &r->sources[number];
    int32_t most = 0;
    for (int32_t i = 0; i < sources->len; i++) {
        const struct used_topic *one = &r->used[sources->v[i]];
        most = one->partitions > most ? one->partitions : most;
    }
    return most;
}

static int32_t count_of_source(const struct resolving *r, struct str name)
{
    const struct repartition *topic = repartition_find(&r->repartitions, name);
    return topic != NULL && r->derived ? topic->count : resolve_used(r, name)->partitions;
}

static int32_t task_count(const struct resolving *r, int32_t number)
{
    const subtopology *s = subtopology_at(r, number);
    int32_t most = outside_count(r, number);
    for (int32_t i = 0; i < s->repartition_source_topics.len; i++) {
        int32_t count = repartition_find(&r->repartitions, s->repartition_source_topics.v[i].name)->count;
        most = count > most ? count : most;
    }
    return most;
}

static bool derive(struct resolving *r)
{
    int32_t count = r->t->subtopologies.len;
    int32_t *outside = ARENA_NEW(r->arena, int32_t, count);
    for (int32_t i = 0; i < count; i++) {
        outside[i] = outside_count(r, i);
    }
    if (!repartitions_count(r->t, r->order, outside, &r->repartitions, r->arena)) { /* topology_check() does not let them in */
        resolve_problem(r, TOPOLOGY_PARTITIONING,
                        STR("Failed to compute number of partitions for all repartition topics. There may be loops in the topology that "
                            "cannot be resolved."));
        return false;
    }
    if (!resolve_copartitions(r)) {
        return false;
    }
    for (int32_t i = 0; i < count; i++) {
        r->tasks[i] = task_count(r, i);
    }
    return true;
}

/* ---- internal topics --------------------------------------------------------------------------------------------------------------- */

struct internals { /* each once; a name that is used for several things is the last of them */
    struct internal_topic *v;
    int32_t len;
    struct names by_name;
};

static void add_internal(struct internals *to, const topic_info *info, int32_t partitions)
{
    int32_t at = names_add(&to->by_name, bytes_of_str(info->name), to->len);
    to->v[at >= 0 ? at : to->len++] = (struct internal_topic){.name = info->name,
                                                              .partitions = partitions,
                                                              .replication_factor = info->replication_factor,
                                                              .configs = info->topic_configs};
}

static bool is_source(const struct resolving *r, int32_t number, const struct names *sources, struct str name)
{
    return r->sources[number].len > 0 && names_find(sources, bytes_of_str(name)) >= 0;
}

/* A source topic that doubles as changelog of its own subtopology is nobody's to make. */
static void add_changelogs(const struct resolving *r, int32_t number, struct internals *to)
{
    const subtopology *s = subtopology_at(r, number);
    struct names sources;
    names_init(&sources, r->arena, s->source_topics.len);
    for (int32_t i = 0; i < s->source_topics.len; i++) {
        (void)names_add(&sources, bytes_of_str(s->source_topics.v[i]), i);
    }
    for (int32_t i = 0; i < s->state_changelog_topics.len; i++) {
        const topic_info *info = &s->state_changelog_topics.v[i];
        if (!is_source(r, number, &sources, info->name)) {
            add_internal(to, info, r->tasks[number]);
        }
    }
}

static void find_internals(const struct resolving *r, struct internals *ret)
{
    int32_t total = r->repartitions.len;
    for (int32_t i = 0; i < r->t->subtopologies.len; i++) {
        total += subtopology_at(r, i)->state_changelog_topics.len;
    }
    *ret = (struct internals){.v = ARENA_NEW(r->arena, struct internal_topic, total)};
    names_init(&ret->by_name, r->arena, total);
    for (int32_t i = 0; i < r->repartitions.len; i++) {
        add_internal(ret, r->repartitions.v[i].info, r->repartitions.v[i].count);
    }
    for (int32_t i = 0; i < r->t->subtopologies.len; i++) {
        add_changelogs(r, r->order[i], ret);
    }
}

static struct str missing_text(const struct resolving *r)
{
    struct str_array names = {.v = ARENA_NEW(r->arena, struct str, r->ret->missing_count)};
    for (; names.len < r->ret->missing_count; names.len++) {
        names.v[names.len] = r->ret->missing[names.len].name;
    }
    struct str shown = names_text(names, SHOWN_MISSING_INTERNAL, r->arena);
    if (names.len <= SHOWN_MISSING_INTERNAL) {
        return arena_printf(r->arena, "Internal topics are missing: %.*s", STR_ARG(shown));
    }
    return arena_printf(r->arena, "Internal topics are missing: %.*s and %" PRId32 " additional topics", STR_ARG(shown),
                        names.len - SHOWN_MISSING_INTERNAL);
}

static void check_internals(struct resolving *r, const struct internals *internals)
{
    struct str *names = ARENA_NEW(r->arena, struct str, internals->len);
    for (int32_t i = 0; i < internals->len; i++) {
        names[i] = internals->v[i].name;
    }
    const int32_t *order = names_sort(names, internals->len, r->arena);
    struct internal_topic *missing = ARENA_NEW(r->arena, struct internal_topic, internals->len);
    int32_t missing_count = 0;
    for (int32_t i = 0; i < internals->len; i++) {
        const struct internal_topic *one = &internals->v[order[i]];
        int32_t found = resolve_used(r, one->name)->partitions;
        if (found == 0) {
            missing[missing_count++] = *one;
        } else if (found != one->partitions) {
            r->ret->misfit = r->ret->misfit || r->ret->problem == TOPOLOGY_FINE;
            resolve_problem(r, TOPOLOGY_PARTITIONING,
                            arena_printf(r->arena,
                                         "Existing topic %.*s has different number of partitions: expected %" PRId32 ", found %" PRId32,
                                         STR_ARG(one->name), one->partitions, found));
        }
    }
    if (r->ret->problem == TOPOLOGY_FINE && missing_count > 0) {
        r->ret->missing = missing;
        r->ret->missing_count = missing_count;
        resolve_problem(r, TOPOLOGY_MISSING_INTERNAL, missing_text(r));
    }
}

/* ---- the answer -------------------------------------------------------------------------------------------------------------------- */

static struct resolved_topics all_sources(const struct resolving *r, int32_t number)
{
    const subtopology *s = subtopology_at(r, number);
    const struct used_sources *sources = &r->sources[number];
    int32_t total = sources->len + s->repartition_source_topics.len;
    struct str *names = ARENA_NEW(r->arena, struct str, total);
    struct resolved_topic *to = ARENA_NEW(r->arena, struct resolved_topic, total);
    int32_t len = 0;
    for (int32_t i = 0; i < total; i++) {
        names[i] = i < sources->len ? r->used[sources->v[i]].name : s->repartition_source_topics.v[i - sources->len].name;
    }
    const int32_t *order = names_sort(names, total, r->arena);
    for (int32_t i = 0; i < total; i++) {
        struct str name = names[order[i]];
        if (len == 0 || !str_eq(to[len - 1].name, name)) {
            to[len++] = (struct resolved_topic){.name = name, .partitions = count_of_source(r, name)};
        }
    }
    return (struct resolved_topics){.v = to, .len = len};
}

static struct resolved_topics repartition_sources(const struct resolving *r, int32_t number)
{
    const struct streams_group_topology_value_topic_info_array *topics = &subtopology_at(r, number)->repartition_source_topics;
    struct resolved_topic *to = ARENA_NEW(r->arena, struct resolved_topic, topics->len);
    for (int32_t i = 0; i < topics->len; i++) {
        int32_t count = r->derived ? repartition_find(&r->repartitions, topics->v[i].name)->count : 0;
        to[i].name = topics->v[i].name;
        to[i].partitions = topics->v[i].partitions > 0 ? topics->v[i].partitions : count;
    }
    return (struct resolved_topics){.v = to, .len = topics->len};
}

static struct resolved_topics changelogs(const struct resolving *r, int32_t number, const struct internals *internals)
{
    const struct streams_group_topology_value_topic_info_array *topics = &subtopology_at(r, number)->state_changelog_topics;
    struct resolved_topic *to = ARENA_NEW(r->arena, struct resolved_topic, topics->len);
    for (int32_t i = 0; i < topics->len; i++) {
        int32_t at = r->derived ? names_find(&internals->by_name, bytes_of_str(topics->v[i].name)) : -1;
        to[i].name = topics->v[i].name;
        to[i].partitions = at >= 0 ? internals->v[at].partitions : 0;
    }
    return (struct resolved_topics){.v = to, .len = topics->len};
}

static void answer(struct resolving *r, const struct internals *internals)
{
    int32_t count = r->t->subtopologies.len;
    struct str *ids = ARENA_NEW(r->arena, struct str, count);
    for (int32_t i = 0; i < count; i++) {
        ids[i] = subtopology_at(r, i)->subtopology_id;
    }
    const int32_t *order = names_sort(ids, count, r->arena);
    r->ret->subtopologies = ARENA_NEW(r->arena, struct resolved_subtopology, count);
    r->ret->subtopology_count = count;
    for (int32_t i = 0; i < count; i++) {
        int32_t number = order[i];
        r->ret->subtopologies[i] = (struct resolved_subtopology){.id = ids[number],
                                                                 .tasks = r->derived ? r->tasks[number] : 0,
                                                                 .stateful = subtopology_at(r, number)->state_changelog_topics.len > 0,
                                                                 .sources = all_sources(r, number),
                                                                 .as_sent = subtopology_at(r, number),
                                                                 .changelogs = changelogs(r, number, internals),
                                                                 .repartition_sources = repartition_sources(r, number)};
    }
}

void topology_resolve(const topology *t, const struct regex_table *regexes, const struct topics *topics, struct arena *arena,
                      struct resolved *ret)
{
    struct internals internals = {0};
    struct resolving r = {.t = t, .topics = topics, .regexes = regexes, .arena = arena, .ret = ret};
    *ret = (struct resolved){.problem = TOPOLOGY_FINE, .detail = STR_NULL};
    r.order = topology_order(t, arena);
    r.tasks = ARENA_NEW(arena, int32_t, t->subtopologies.len);
    repartitions_new(t, r.order, arena, &r.repartitions);
    find_changelogs(&r);
    find_topics(&r);
    ret->metadata_hash = metadata_hash(&r);
    ret->topics = topics_used(&r);
    check_sources(&r);
    if (ret->problem == TOPOLOGY_FINE && derive(&r)) {
        find_internals(&r, &internals);
        check_internals(&r, &internals);
        r.derived = ret->problem == TOPOLOGY_FINE || ret->problem == TOPOLOGY_MISSING_INTERNAL;
    }
    answer(&r, &internals);
}

/* ---- the request that makes what is missing ---------------------------------------------------------------------------------------- */

const struct create_topics_request *topology_creation(const struct resolved *r, struct arena *arena)
{
    if (r->missing_count == 0) {
        return NULL;
    }
    struct create_topics_request *request = ARENA_NEW(arena, struct create_topics_request, 1);
    wire_init(&wire_create_topics_request, request);
    request->topics.v = ARENA_NEW(arena, struct create_topics_request_creatable_topic, r->missing_count);
    request->topics.len = r->missing_count;
    for (int32_t i = 0; i < r->missing_count; i++) {
        const struct internal_topic *from = &r->missing[i];
        struct create_topics_request_creatable_topic *to = &request->topics.v[i];
        to->name = from->name;
        to->num_partitions = from->partitions;
        to->replication_factor = from->replication_factor == 0 ? -1 : from->replication_factor; /* 0: the brokers' default */
        to->configs.v = ARENA_NEW(arena, struct create_topics_request_creatable_topic_config, from->configs.len);
        to->configs.len = from->configs.len;
        for (int32_t k = 0; k < from->configs.len; k++) {
            to->configs.v[k] =
                (struct create_topics_request_creatable_topic_config){.name = from->configs.v[k].key, .value = from->configs.v[k].value};
        }
    }
    return request;
}
