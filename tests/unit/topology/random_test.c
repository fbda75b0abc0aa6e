/* Random topologies against a slow twin, and what must hold for all of them. */
#include <stdio.h>
#include <string.h>

#include "text.h"

enum { ROUNDS = 3000, NAMES = 12, MOST_SUBTOPOLOGIES = 14 };

/* ---- a generator ------------------------------------------------------------------------------------------------------------------ */

struct drawn {
    struct arena arena;
    struct prng random;
    struct text_topics topics;
    const topology *topology;
    struct resolved resolved;
    struct buf text;
    int32_t fixed[NAMES]; /* the count that n0, n1, ... are mostly named with; 0: none */
};

static const char *const outside[] = {"in1", "in2", "in3", "in4", "in5", "in6"};

static void drawn_init(struct drawn *d)
{
    *d = (struct drawn){0};
    arena_init(&d->arena, 0);
    buf_init(&d->text, 0);
}

static void drawn_fini(struct drawn *d)
{
    arena_fini(&d->arena);
    buf_fini(&d->text);
}

static int32_t below(struct drawn *d, int32_t bound)
{
    return (int32_t)prng_below(&d->random, (uint64_t)bound);
}

static void put(struct drawn *d, const char *text)
{
    assert_int_equal(buf_put(&d->text, text, strlen(text)), 0);
}

static void put_number(struct drawn *d, const char *before, int32_t number)
{
    put(d, arena_printf(&d->arena, "%s%d", before, (int)number).ptr);
}

static void draw_list(struct drawn *d, const char *field, int32_t most, int32_t first, bool with_counts)
{
    int32_t len = below(d, most + 1);
    int32_t start = below(d, NAMES / 2);
    for (int32_t i = 0; i < len; i++) {
        int32_t name = first + (start + i) % (NAMES / 2);
        put(d, i == 0 ? field : ",");
        put_number(d, "n", name);
        if (with_counts && d->fixed[name] > 0 && below(d, 10) > 0) {
            put_number(d, ":", d->fixed[name]);
        }
    }
}

static void draw_sources(struct drawn *d)
{
    int32_t len = below(d, 3);
    int32_t start = below(d, (int32_t)COUNT_OF(outside));
    for (int32_t i = 0; i < len; i++) {
        put_number(d, i == 0 ? " src=in" : ",in", (start + i) % (int32_t)COUNT_OF(outside) + 1);
    }
}

static const char *draw(struct drawn *d)
{
    static const char *const ids[MOST_SUBTOPOLOGIES] = {"0", "1", "2", "3", "4", "9", "10", "11", "a", "B", "Aa", "BB", "_x", "\"\""};
    int32_t count = below(d, MOST_SUBTOPOLOGIES) + 1;
    int32_t first = below(d, MOST_SUBTOPOLOGIES);
    buf_clear(&d->text);
    for (int32_t i = 0; i < NAMES; i++) {
        d->fixed[i] = below(d, 3) == 0 ? below(d, 6) + 1 : 0;
    }
    for (int32_t i = 0; i < count; i++) {
        put(d, i > 0 ? " ; " : "");
        put(d, ids[(first + i) % MOST_SUBTOPOLOGIES]);
        draw_sources(d);
        draw_list(d, " rep=", 2, 0, true);
        draw_list(d, " sink=", 3, 0, false);
        draw_list(d, " cl=", 2, NAMES / 2, false);
    }
    return arena_printf(&d->arena, "%.*s", (int)d->text.len, (const char *)d->text.ptr).ptr; /* ends by itself */
}

/* Copartition groups at random, within bounds. */
static void draw_groups(struct drawn *d, struct streams_group_heartbeat_request *r)
{
    for (int32_t i = 0; i < r->topology->subtopologies.len; i++) {
        struct streams_group_heartbeat_request_subtopology *s = &r->topology->subtopologies.v[i];
        int32_t groups = below(d, 3) == 0 ? below(d, 3) : 0;
        s->copartition_groups.v = ARENA_NEW(&d->arena, struct streams_group_heartbeat_request_copartition_group, groups);
        s->copartition_groups.len = groups;
        for (int32_t k = 0; k < groups; k++) {
            struct int16_array *lists[2] = {&s->copartition_groups.v[k].source_topics,
                                            &s->copartition_groups.v[k].repartition_source_topics};
            int32_t limits[2] = {s->source_topics.len, s->repartition_source_topics.len};
            for (int which = 0; which < 2; which++) {
                lists[which]->v = ARENA_NEW(&d->arena, int16_t, 2);
                for (int32_t n = limits[which] > 0 ? below(d, 3) : 0; n > 0; n--) {
                    lists[which]->v[lists[which]->len++] = (int16_t)below(d, limits[which]);
                }
            }
        }
    }
}

/* A topology that passes the check; every topic from outside exists. */
static bool draw_valid(struct drawn *d, uint64_t seed)
{
    const struct group_settings settings = {0};
    struct str problem;
    prng_seed(&d->random, seed);
    arena_clear(&d->arena);
    topics_init(&d->topics);
    for (size_t i = 0; i < COUNT_OF(outside); i++) {
        topics_put(&d->topics, str_of(outside[i]), (int32_t)(below(d, 4) == 0 ? i + 1 : 4));
    }
    struct streams_group_heartbeat_request *r = heartbeat_of_text(draw(d), &d->arena);
    draw_groups(d, r);
    d->topology = topology_of_heartbeat(r, &d->arena);
    return topology_check(d->topology, &settings, &d->arena, &problem) == 0;
}

static void resolve(struct drawn *d)
{
    topology_resolve(d->topology, NULL, &d->topics.topics, &d->arena, &d->resolved);
}

/* ---- the twin: the rules, said as plainly as possible -------------------------------------------------------------------------------- */

struct twin {
    const struct drawn *d;
    int32_t order[MOST_SUBTOPOLOGIES];
    int32_t count[NAMES]; /* of n0, n1, ...; 0: not known */
    bool open[NAMES], is_repartition[NAMES], fixed[NAMES];
    bool differs;
};

static const struct streams_group_topology_value_subtopology *sub(const struct twin *t, int32_t i)
{
    return &t->d->topology->subtopologies.v[i];
}

static int32_t name_number(struct str name)
{
    return name.ptr[0] == 'n' ? number_of((struct str){name.ptr + 1, name.len - 1}) : -1;
}

static int32_t existing(const struct twin *t, struct str name)
{
    struct topic_view view;
    return t->d->topics.topics.by_name(&t->d->topics, name, &view) ? view.partitions : 0;
}

static uint32_t bucket(struct str id, uint32_t size)
{
    int32_t hash = 0; /* as Java says it */
    for (int32_t i = 0; i < id.len; i++) {
        hash = (int32_t)(31u * (uint32_t)hash + (uint32_t)(unsigned char)id.ptr[i]);
    }
    return ((uint32_t)hash ^ ((uint32_t)hash >> 16)) % size;
}

static void twin_order(struct twin *t)
{
    int32_t total = t->d->topology->subtopologies.len;
    int32_t at = 0;
    uint32_t size = total > 12 ? 32 : 16;
    for (uint32_t b = 0; b < size; b++) {
        for (int32_t i = 0; i < total; i++) {
            if (bucket(sub(t, i)->subtopology_id, size) == b) {
                t->order[at++] = i;
            }
        }
    }
    assert_int_equal(at, total);
}

static int32_t twin_known(const struct twin *t, int32_t i)
{
    int32_t most = 0;
    for (int32_t k = 0; k < sub(t, i)->source_topics.len; k++) {
        int32_t count = existing(t, sub(t, i)->source_topics.v[k]);
        most = count > most ? count : most;
    }
    for (int32_t k = 0; k < sub(t, i)->repartition_source_topics.len; k++) {
        int32_t count = t->count[name_number(sub(t, i)->repartition_source_topics.v[k].name)];
        most = count > most ? count : most;
    }
    return most;
}

static void twin_derive(struct twin *t)
{
    int32_t total = t->d->topology->subtopologies.len;
    for (int32_t i = 0; i < total; i++) {
        for (int32_t k = 0; k < sub(t, t->order[i])->repartition_source_topics.len; k++) {
            const struct streams_group_topology_value_topic_info *info = &sub(t, t->order[i])->repartition_source_topics.v[k];
            int32_t n = name_number(info->name);
            t->is_repartition[n] = true;
            t->open[n] = t->open[n] || info->partitions == 0;
            t->fixed[n] = t->fixed[n] || info->partitions > 0;
            t->count[n] = info->partitions > 0 ? info->partitions : t->count[n];
        }
    }
    for (int32_t round = 0; round <= total; round++) {
        for (int32_t i = 0; i < total; i++) {
            for (int32_t k = 0; k < sub(t, t->order[i])->repartition_sink_topics.len; k++) {
                int32_t n = name_number(sub(t, t->order[i])->repartition_sink_topics.v[k]);
                if (t->is_repartition[n] && t->count[n] == 0) {
                    t->count[n] = twin_known(t, t->order[i]);
                }
            }
        }
    }
}

static void twin_group(struct twin *t, int32_t i, const struct streams_group_topology_value_copartition_group *g)
{
    int32_t from_outside = 0;
    int32_t among_fixed = 0;
    int32_t most = 0;
    for (int32_t k = 0; k < g->source_topics.len; k++) {
        int32_t count = existing(t, sub(t, i)->source_topics.v[g->source_topics.v[k]]);
        t->differs = t->differs || (from_outside != 0 && from_outside != count);
        from_outside = count;
    }
    for (int32_t k = 0; k < g->repartition_source_topics.len; k++) {
        struct str name = sub(t, i)->repartition_source_topics.v[g->repartition_source_topics.v[k]].name;
        int32_t n = name_number(name);
        int32_t count = existing(t, name) > 0 ? existing(t, name) : t->count[n];
        most = count > most ? count : most;
        if (t->fixed[n]) {
            t->differs = t->differs || (from_outside != 0 && count != from_outside) ||
                         (from_outside == 0 && among_fixed != 0 && among_fixed != count);
            among_fixed = count;
        }
    }
    for (int32_t k = 0; k < g->repartition_source_topics.len; k++) {
        int32_t n = name_number(sub(t, i)->repartition_source_topics.v[g->repartition_source_topics.v[k]].name);
        if (t->open[n]) {
            t->count[n] = from_outside > 0 ? from_outside : among_fixed > 0 ? among_fixed : most;
        }
    }
}

static void twin_new(const struct drawn *d, struct twin *t)
{
    *t = (struct twin){.d = d};
    twin_order(t);
    twin_derive(t);
    for (int32_t i = 0; i < d->topology->subtopologies.len; i++) {
        for (int32_t k = 0; k < sub(t, t->order[i])->copartition_groups.len && !t->differs; k++) {
            twin_group(t, t->order[i], &sub(t, t->order[i])->copartition_groups.v[k]);
        }
    }
}

static void compare_subtopology(const struct twin *t, const struct resolved_subtopology *s)
{
    int32_t number = (int32_t)(s->as_sent - t->d->topology->subtopologies.v);
    assert_int_equal(s->tasks, twin_known(t, number));
    for (int32_t i = 0; i < s->repartition_sources.len; i++) {
        int32_t sent = s->as_sent->repartition_source_topics.v[i].partitions;
        int32_t count = t->count[name_number(s->repartition_sources.v[i].name)];
        assert_int_equal(s->repartition_sources.v[i].partitions, sent > 0 ? sent : count);
    }
    for (int32_t i = 0; i < s->sources.len; i++) {
        int32_t n = name_number(s->sources.v[i].name);
        assert_int_equal(s->sources.v[i].partitions, n >= 0 ? t->count[n] : existing(t, s->sources.v[i].name));
        assert_true(i == 0 || str_cmp(s->sources.v[i - 1].name, s->sources.v[i].name) < 0);
    }
    assert_int_equal(s->stateful, s->changelogs.len > 0);
    assert_int_equal(s->changelogs.len, s->as_sent->state_changelog_topics.len);
}

static void as_the_twin(void **state)
{
    (void)state;
    struct drawn d;
    int running = 0;
    int differing = 0;
    drawn_init(&d);
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        struct twin t;
        if (!draw_valid(&d, seed)) {
            continue;
        }
        for (int32_t i = 0; i < 3 && below(&d, 3) == 0; i++) { /* some exist already */
            topics_put(&d.topics, arena_printf(&d.arena, "n%d", (int)below(&d, NAMES)), below(&d, 4) + 3);
        }
        resolve(&d);
        twin_new(&d, &t);
        differing += t.differs ? 1 : 0;
        assert_int_equal(t.differs, d.resolved.problem == TOPOLOGY_PARTITIONING && d.resolved.detail.ptr[0] != 'E');
        if (d.resolved.problem == TOPOLOGY_FINE || d.resolved.problem == TOPOLOGY_MISSING_INTERNAL) {
            for (int32_t i = 0; i < d.resolved.subtopology_count; i++) {
                compare_subtopology(&t, &d.resolved.subtopologies[i]);
            }
            running++;
        }
    }
    assert_true(running > 200 && differing > 50);
    drawn_fini(&d);
}

/* ---- what must hold ---------------------------------------------------------------------------------------------------------------- */

/* Made as asked for, a topology is fine, and resolving changes nothing more. */
static void creation_is_enough(void **state)
{
    (void)state;
    struct drawn d;
    int made = 0;
    drawn_init(&d);
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        if (!draw_valid(&d, seed)) {
            continue;
        }
        resolve(&d);
        struct resolved before = d.resolved;
        if (d.resolved.problem != TOPOLOGY_MISSING_INTERNAL) {
            assert_int_equal(d.resolved.missing_count, 0);
            continue;
        }
        topics_create(&d.topics, topology_creation(&d.resolved, &d.arena));
        resolve(&d);
        assert_int_equal(d.resolved.problem, TOPOLOGY_FINE);
        assert_true(str_is_null(d.resolved.detail) && d.resolved.missing_count == 0);
        for (int32_t i = 0; i < before.subtopology_count; i++) {
            assert_int_equal(before.subtopologies[i].tasks, d.resolved.subtopologies[i].tasks);
        }
        made++;
    }
    assert_true(made > 200);
    drawn_fini(&d);
}

static bool uses(const topology *t, struct str topic)
{
    for (int32_t i = 0; i < t->subtopologies.len; i++) {
        const struct streams_group_topology_value_topic_info_array *changelogs = &t->subtopologies.v[i].state_changelog_topics;
        for (int32_t k = 0; k < changelogs->len; k++) {
            if (str_eq(changelogs->v[k].name, topic)) {
                return true;
            }
        }
    }
    return !str_is_null(topology_reader_of(t, NULL, topic));
}

/* One topic comes, grows or goes at a time. */
static void the_hash_moves_with_used_topics(void **state)
{
    (void)state;
    struct drawn d;
    int moved[2] = {0, 0};
    drawn_init(&d);
    for (uint64_t seed = 0; seed < ROUNDS / 2; seed++) {
        if (!draw_valid(&d, seed)) {
            continue;
        }
        resolve(&d);
        for (int step = 0; step < 10; step++) {
            int64_t before = d.resolved.metadata_hash;
            struct topic_view view = {.partitions = 0};
            int32_t n = below(&d, NAMES + (int32_t)COUNT_OF(outside));
            struct str name = n < NAMES ? arena_printf(&d.arena, "n%d", (int)n) : str_of(outside[n - NAMES]);
            bool there = d.topics.topics.by_name(&d.topics, name, &view);
            topics_put(&d.topics, name, there && below(&d, 2) == 0 ? 0 : view.partitions + 1);
            resolve(&d);
            assert_int_equal(d.resolved.metadata_hash != before, uses(d.topology, name));
            moved[uses(d.topology, name)]++;
        }
    }
    assert_true(moved[0] > 500 && moved[1] > 500);
    drawn_fini(&d);
}

/* The order of subtopologies is no part of a topology. */
static void order_does_not_count(void **state)
{
    (void)state;
    struct drawn d;
    int shuffled = 0;
    drawn_init(&d);
    for (uint64_t seed = 0; seed < ROUNDS / 2; seed++) {
        if (!draw_valid(&d, seed) || d.topology->subtopologies.len < 2) {
            continue;
        }
        topology other = *d.topology;
        other.subtopologies.v = ARENA_NEW(&d.arena, struct streams_group_topology_value_subtopology, other.subtopologies.len);
        for (int32_t i = 0; i < other.subtopologies.len; i++) {
            other.subtopologies.v[i] = d.topology->subtopologies.v[other.subtopologies.len - 1 - i];
        }
        assert_true(topology_equal(&other, d.topology) && topology_equal(d.topology, &other));
        resolve(&d);
        struct resolved resolved;
        topology_resolve(&other, NULL, &d.topics.topics, &d.arena, &resolved);
        assert_int_equal(resolved.metadata_hash, d.resolved.metadata_hash);
        other.subtopologies.v[0].subtopology_id = STR("another");
        assert_false(topology_equal(&other, d.topology) || topology_equal(d.topology, &other));
        shuffled++;
    }
    assert_true(shuffled > 100);
    drawn_fini(&d);
}

/* What is recorded reads as it was written. */
static void records(void **state)
{
    (void)state;
    struct drawn d;
    drawn_init(&d);
    for (uint64_t seed = 0; seed < ROUNDS / 10; seed++) {
        (void)draw_valid(&d, seed);
        struct bytes encoded = wire_encode(&wire_streams_group_topology_value, 0, d.topology, &d.arena);
        topology *read = ARENA_NEW(&d.arena, topology, 1);
        assert_int_equal(wire_decode(&wire_streams_group_topology_value, 0, encoded, &d.arena, read, NULL), 0);
        assert_true(topology_equal(read, d.topology) && str_eq(read->topology_id, d.topology->topology_id));
    }
    drawn_fini(&d);
}

int run_random_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_the_twin),
        cmocka_unit_test(creation_is_enough),
        cmocka_unit_test(the_hash_moves_with_used_topics),
        cmocka_unit_test(order_does_not_count),
        cmocka_unit_test(records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
