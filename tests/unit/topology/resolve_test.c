/* A topology on topics: counts, tasks, what is wrong and what is missing. */
#include "text.h"

#include <stdio.h>
#include <string.h>

struct fixture {
    struct arena arena;
    struct text_topics topics;
    struct resolved resolved;
};

static int setup(void **state)
{
    static struct fixture f;
    arena_init(&f.arena, 0);
    topics_init(&f.topics);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    arena_fini(&f->arena);
    return 0;
}

static void resolve(struct fixture *f, const char *text, const struct regex_table *regexes)
{
    topology_resolve(topology_of_text(text, &f->arena), regexes, &f->topics.topics, &f->arena, &f->resolved);
}

static const char *list(struct fixture *f, const char *before, const struct resolved_topics *topics)
{
    struct str text = str_of(before);
    for (int32_t i = 0; i < topics->len; i++) {
        text = arena_printf(&f->arena, "%.*s%s%.*s:%d", STR_ARG(text), i > 0 ? "," : "", STR_ARG(topics->v[i].name),
                            (int)topics->v[i].partitions);
    }
    return topics->len > 0 ? arena_printf(&f->arena, "%.*s", STR_ARG(text)).ptr : "";
}

/* "ID*TASKS src=.. rep=.. cl=.. ; ..", a star for stateful ones. */
static const char *shown(struct fixture *f)
{
    struct str text = STR("");
    for (int32_t i = 0; i < f->resolved.subtopology_count; i++) {
        const struct resolved_subtopology *s = &f->resolved.subtopologies[i];
        text = arena_printf(&f->arena, "%.*s%s%.*s%s%d%s%s%s", STR_ARG(text), i > 0 ? " ; " : "", STR_ARG(s->id), s->stateful ? "*" : "-",
                            (int)s->tasks, list(f, " src=", &s->sources), list(f, " rep=", &s->repartition_sources),
                            list(f, " cl=", &s->changelogs));
    }
    return arena_printf(&f->arena, "%.*s", STR_ARG(text)).ptr;
}

static const char *missing(struct fixture *f)
{
    struct str text = STR("");
    for (int32_t i = 0; i < f->resolved.missing_count; i++) {
        text = arena_printf(&f->arena, "%.*s%s%.*s:%d", STR_ARG(text), i > 0 ? "," : "", STR_ARG(f->resolved.missing[i].name),
                            (int)f->resolved.missing[i].partitions);
    }
    return arena_printf(&f->arena, "%.*s", STR_ARG(text)).ptr;
}

struct resolve_case {
    const char *topics, *topology;
    enum topology_problem problem;
    const char *detail; /* NULL: none */
    const char *shown, *missing;
};

#define SOURCES  TOPOLOGY_MISSING_SOURCES
#define COUNTS   TOPOLOGY_PARTITIONING
#define INTERNAL TOPOLOGY_MISSING_INTERNAL
static const char differ[] = "Following topics do not have the same number of partitions: ";

static const struct resolve_case cases[] = {
    {"", "", TOPOLOGY_FINE, NULL, "", ""},
    {"in=4", "0 src=in", TOPOLOGY_FINE, NULL, "0-4 src=in:4", ""},
    {"in=4,in2=2", "1 src=in2 ; 0 src=in,in2", TOPOLOGY_FINE, NULL, "0-4 src=in:4,in2:2 ; 1-2 src=in2:2", ""},
    {"in=4", "0 src=in,in", TOPOLOGY_FINE, NULL, "0-4 src=in:4", ""},
    {"in=4,c=4", "0 src=in cl=c", TOPOLOGY_FINE, NULL, "0*4 src=in:4 cl=c:4", ""},
    /* missing source topics hide all else, of whichever subtopology */
    {"in=4", "0 src=nope,in,also cl=c ; 1 src=another,nope", SOURCES, "Source topics also, another, nope are missing.",
     "0*0 src=also:0,in:4,nope:0 cl=c:0 ; 1-0 src=another:0,nope:0", ""},
    {"in=4,in2=2", "0 src=in,in2 cop=0.1// ; 1 src=nope", SOURCES, "Source topics nope are missing.", "0-0 src=in:4,in2:2 ; 1-0 src=nope:0",
     ""},
    {"in=2", "0 src=in sink=r ; 1 rep=r ; 2 src=r", SOURCES, "Source topics r are missing.",
     "0-0 src=in:2 ; 1-0 src=r:0 rep=r:0 ; 2-0 src=r:0", ""},
    /* internal topics */
    {"in=4", "0 src=in cl=c", INTERNAL, "Internal topics are missing: c", "0*4 src=in:4 cl=c:4", "c:4"},
    {"in=4", "0 src=in sink=r2,r ; 1 rep=r,r2", INTERNAL, "Internal topics are missing: r, r2",
     "0-4 src=in:4 ; 1-4 src=r:4,r2:4 rep=r:4,r2:4", "r:4,r2:4"},
    {"in=4", "0 src=in cl=d,a,c,b,e", INTERNAL, "Internal topics are missing: a, b, c and 2 additional topics",
     "0*4 src=in:4 cl=d:4,a:4,c:4,b:4,e:4", "a:4,b:4,c:4,d:4,e:4"},
    {"in=4", "0 src=in cl=d,a,c,b", INTERNAL, "Internal topics are missing: a, b, c and 1 additional topics",
     "0*4 src=in:4 cl=d:4,a:4,c:4,b:4", "a:4,b:4,c:4,d:4"},
    {"in=4,c=3,c2=5", "0 src=in cl=c2,c,c3", COUNTS, "Existing topic c has different number of partitions: expected 4, found 3",
     "0*0 src=in:4 cl=c2:0,c:0,c3:0", ""},
    {"in=4,r=2", "0 src=in sink=r ; 1 rep=r", COUNTS, "Existing topic r has different number of partitions: expected 4, found 2",
     "0-0 src=in:4 ; 1-0 src=r:2 rep=r:0", ""},
    {"in=4,r=2", "0 src=in sink=r ; 1 rep=r:3", COUNTS, "Existing topic r has different number of partitions: expected 3, found 2",
     "0-0 src=in:4 ; 1-0 src=r:2 rep=r:3", ""},
    {"in=2", "0 src=in cl=in", TOPOLOGY_FINE, NULL, "0*2 src=in:2 cl=in:0", ""},
    {"in=2,in6=6", "0 src=in cl=in6 ; 1 src=in6", COUNTS, "Existing topic in6 has different number of partitions: expected 2, found 6",
     "0*0 src=in:2 cl=in6:0 ; 1-0 src=in6:6", ""},
    /* derived counts: the first writer in Kafka's order, with what is known then */
    {"in=4", "0 src=in sink=r ; 1 rep=r cl=c", INTERNAL, "Internal topics are missing: c, r", "0-4 src=in:4 ; 1*4 src=r:4 rep=r:4 cl=c:4",
     "c:4,r:4"},
    {"in=4", "0 src=in sink=r ; 1 rep=r sink=q ; 2 rep=q sink=p ; 3 rep=p", INTERNAL, "Internal topics are missing: p, q, r",
     "0-4 src=in:4 ; 1-4 src=r:4 rep=r:4 ; 2-4 src=q:4 rep=q:4 ; 3-4 src=p:4 rep=p:4", "p:4,q:4,r:4"},
    {"in=4", "3 src=in sink=r ; 2 rep=r sink=q ; 1 rep=q sink=p ; 0 rep=p", INTERNAL, "Internal topics are missing: p, q, r",
     "0-4 src=p:4 rep=p:4 ; 1-4 src=q:4 rep=q:4 ; 2-4 src=r:4 rep=r:4 ; 3-4 src=in:4", "p:4,q:4,r:4"},
    {"in2=2,in6=6", "0 src=in2 rep=q sink=r ; 1 src=in6 sink=q ; 2 rep=r", INTERNAL, "Internal topics are missing: q, r",
     "0-6 src=in2:2,q:6 rep=q:6 ; 1-6 src=in6:6 ; 2-2 src=r:2 rep=r:2", "q:6,r:2"},
    {"in2=2,in6=6", "1 src=in2 rep=q sink=r ; 0 src=in6 sink=q ; 2 rep=r", INTERNAL, "Internal topics are missing: q, r",
     "0-6 src=in6:6 ; 1-6 src=in2:2,q:6 rep=q:6 ; 2-6 src=r:6 rep=r:6", "q:6,r:6"},
    {"in2=2,in6=6", "0 src=in2 sink=r ; 1 src=in6 sink=r ; 2 rep=r", INTERNAL, "Internal topics are missing: r",
     "0-2 src=in2:2 ; 1-6 src=in6:6 ; 2-2 src=r:2 rep=r:2", "r:2"},
    {"in2=2", "0 src=in2 sink=r ; 1 rep=r:3 ; 2 rep=r", INTERNAL, "Internal topics are missing: r",
     "0-2 src=in2:2 ; 1-3 src=r:3 rep=r:3 ; 2-3 src=r:3 rep=r:3", "r:3"},
    {"in=4", "0 src=in rep=r sink=r", INTERNAL, "Internal topics are missing: r", "0-4 src=in:4,r:4 rep=r:4", "r:4"},
    {"in=4", "0 src=in sink=r2 rep=r ; 1 sink=r rep=r2", INTERNAL, "Internal topics are missing: r, r2",
     "0-4 src=in:4,r:4 rep=r:4 ; 1-4 src=r2:4 rep=r2:4", "r:4,r2:4"},
    {"", "0 rep=r:3 sink=r cl=c", INTERNAL, "Internal topics are missing: c, r", "0*3 src=r:3 rep=r:3 cl=c:3", "c:3,r:3"},
    {"in=2,in6=6", "0 src=in cl=c ; 1 src=in6 cl=c", INTERNAL, "Internal topics are missing: c",
     "0*2 src=in:2 cl=c:6 ; 1*6 src=in6:6 cl=c:6", "c:6"},
    /* copartition groups */
    {"in=4,in2=4", "0 src=in,in2 cop=0.1//", TOPOLOGY_FINE, NULL, "0-4 src=in:4,in2:4", ""}, /* field case B29 */
    {"in=4,in2=2", "0 src=in,in2 cop=0.1//", COUNTS, "[{in=4, in2=2}]", "0-0 src=in:4,in2:2", ""},
    {"in=4,in2=2,in6=6", "0 src=in6,in2,in cop=2.0.1//", COUNTS, "[{in=4, in2=2, in6=6}]", "0-0 src=in:4,in2:2,in6:6", ""},
    {"in=4,in2=2", "0 src=in,in2", TOPOLOGY_FINE, NULL, "0-4 src=in:4,in2:2", ""}, /* not copartitioned: nothing to say */
    {"in=4,in2=2,in6=6", "0 src=in,in2 cop=0.1// ; 1 src=in6,in2 cop=0.1//", COUNTS, "[{in=4, in2=2}]",
     "0-0 src=in:4,in2:2 ; 1-0 src=in2:2,in6:6", ""},
    {"in=4,in2=2,in6=6", "0 src=in,in2,in6 cop=2.1// cop=0.1//", COUNTS, "[{in2=2, in6=6}]", "0-0 src=in:4,in2:2,in6:6", ""},
    {"in=4,in2=2", "0 src=in sink=r ; 1 src=in2 rep=r cop=0//0", INTERNAL, "Internal topics are missing: r",
     "0-4 src=in:4 ; 1-2 src=in2:2,r:2 rep=r:2", "r:2"},
    {"in=4,in2=2", "0 src=in sink=r ; 1 src=in2 rep=r sink=q cop=0//0 ; 2 rep=q cl=c", INTERNAL, "Internal topics are missing: c, q, r",
     "0-4 src=in:4 ; 1-2 src=in2:2,r:2 rep=r:2 ; 2*4 src=q:4 rep=q:4 cl=c:4", "c:4,q:4,r:2"}, /* q was counted before */
    {"in=4,in2=2", "0 src=in sink=r ; 1 src=in,in2 rep=r cop=0//0 cop=1//0", INTERNAL, "Internal topics are missing: r",
     "0-4 src=in:4 ; 1-4 src=in:4,in2:2,r:2 rep=r:2", "r:2"},
    {"in=4", "0 src=in sink=r,s ; 1 src=in rep=s:5,r:3 cop=0//0.1", COUNTS,
     "Number of partitions [3] of repartition topic [r] doesn't match number of partitions [4] of the source topic.",
     "0-0 src=in:4 ; 1-0 src=in:4,r:0,s:0 rep=s:5,r:3", ""},
    {"in=4", "0 src=in sink=r ; 1 src=in rep=r:4 cop=0//0", INTERNAL, "Internal topics are missing: r",
     "0-4 src=in:4 ; 1-4 src=in:4,r:4 rep=r:4", "r:4"},
    {"in=4,in2=2", "0 src=in,in2 sink=r ; 1 src=in,in2 rep=r:3 cop=0.1//0", COUNTS, "[{in=4, in2=2}]",
     "0-0 src=in:4,in2:2 ; 1-0 src=in:4,in2:2,r:0 rep=r:3", ""},
    {"in=4,in6=6", "0 src=in sink=r ; 1 src=in6 sink=s ; 2 rep=r,s cop=//0.1", INTERNAL, "Internal topics are missing: r, s",
     "0-4 src=in:4 ; 1-6 src=in6:6 ; 2-6 src=r:6,s:6 rep=r:6,s:6", "r:6,s:6"},
    {"in=4", "0 src=in sink=r,s ; 1 rep=r,s:3 cop=//0.1", INTERNAL, "Internal topics are missing: r, s",
     "0-4 src=in:4 ; 1-3 src=r:3,s:3 rep=r:3,s:3", "r:3,s:3"},
    {"in=4", "0 src=in sink=g,h,i ; 1 rep=g:3,h:5,i cop=//0.1.2", COUNTS, "[{g=3, h=5}]",
     "0-0 src=in:4 ; 1-0 src=g:0,h:0,i:0 rep=g:3,h:5,i:0", ""},
    /* Another topic's fixed count is none of the group's business: Kafka 4.4.0 has 3 for r and s here, and with f:5 beside it would never run. */
    {"in=4", "0 src=in sink=r,s,f ; 1 rep=r,s cop=//0.1 ; 2 rep=f:3", INTERNAL, "Internal topics are missing: f, r, s",
     "0-4 src=in:4 ; 1-4 src=r:4,s:4 rep=r:4,s:4 ; 2-3 src=f:3 rep=f:3", "f:3,r:4,s:4"},
    /* What exists counts with what it has. */
    {"in=4,r=6", "0 src=in sink=r,s ; 1 rep=r,s cop=//0.1", INTERNAL, "Internal topics are missing: s",
     "0-4 src=in:4 ; 1-6 src=r:6,s:6 rep=r:6,s:6", "s:6"},
    {"in=4,r=6", "0 src=in sink=r ; 1 src=in rep=r cop=0//0", COUNTS,
     "Existing topic r has different number of partitions: expected 4, found 6", "0-0 src=in:4 ; 1-0 src=in:4,r:6 rep=r:0", ""},
    {"in=4,r=6", "0 src=in sink=r ; 1 src=in rep=r:4 cop=0//0", COUNTS,
     "Number of partitions [6] of repartition topic [r] doesn't match number of partitions [4] of the source topic.",
     "0-0 src=in:4 ; 1-0 src=in:4,r:6 rep=r:4", ""},
};

static void tables(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct resolve_case *one = &cases[i];
        struct str detail = str_of(one->detail);
        if (one->detail != NULL && one->detail[0] == '[') {
            detail = arena_printf(&f->arena, "%s%s", differ, one->detail);
        }
        topics_init(&f->topics);
        topics_of_text(&f->topics, str_of(one->topics));
        resolve(f, one->topology, NULL);
        if (f->resolved.problem != one->problem || !str_eq(f->resolved.detail, detail) || strcmp(shown(f), one->shown) != 0 ||
            strcmp(missing(f), one->missing) != 0) {
            fail_msg("%s | %s: %d %.*s | %s | %s", one->topics, one->topology, f->resolved.problem, STR_ARG(f->resolved.detail), shown(f),
                     missing(f));
        }
    }
}

/* Made as asked for, the topics are fine. */
static void creation(void **state)
{
    struct fixture *f = *state;
    topics_of_text(&f->topics, STR("in=4"));
    resolve(f, "0 src=in sink=r cl=c:0:2:cleanup.policy=compact&a=b ; 1 rep=r:7:-1", NULL);
    const struct create_topics_request *r = topology_creation(&f->resolved, &f->arena);
    assert_non_null(r);
    assert_int_equal(r->topics.len, 2);
    const struct create_topics_request_creatable_topic *c = &r->topics.v[0];
    assert_true(str_eq(c->name, STR("c")) && c->num_partitions == 4 && c->replication_factor == 2 && c->assignments.len == 0);
    assert_true(c->configs.len == 2 && str_eq(c->configs.v[0].name, STR("cleanup.policy")) &&
                str_eq(c->configs.v[0].value, STR("compact")));
    assert_true(str_eq(r->topics.v[1].name, STR("r")) && r->topics.v[1].num_partitions == 7 && r->topics.v[1].replication_factor == -1);
    assert_false(r->validate_only);
    assert_true(wire_size(&wire_create_topics_request, 7, r) > 0);
    topics_create(&f->topics, r);
    resolve(f, "0 src=in sink=r cl=c:0:2:cleanup.policy=compact&a=b ; 1 rep=r:7:-1", NULL);
    assert_int_equal(f->resolved.problem, TOPOLOGY_FINE);
    assert_null(topology_creation(&f->resolved, &f->arena));
    /* 0 is the brokers' default. */
    topics_put(&f->topics, STR("c"), 0);
    resolve(f, "0 src=in cl=c", NULL);
    assert_int_equal(topology_creation(&f->resolved, &f->arena)->topics.v[0].replication_factor, -1);
}

static void regular_expressions(void **state)
{
    struct fixture *f = *state;
    struct str a[] = {STR("a-1"), STR("a-2"), STR("c"), STR("gone"), STR("r")};
    struct str none[1] = {STR_NULL};
    const struct regex_topics rows[] = {{STR("a-.*"), {a, 5}}, {STR("b-.*"), {none, 0}}};
    const struct regex_table table = {rows, 2};
    topics_of_text(&f->topics, STR("in=2,a-1=4,a-2=4,c=4,r=4"));
    /* Matches are sources, but not the topology's own topics, nor what has been deleted since. */
    resolve(f, "0 rx=a-.* sink=r cl=c ; 1 rep=r", &table);
    assert_string_equal(shown(f), "0*4 src=a-1:4,a-2:4 cl=c:4 ; 1-4 src=r:4 rep=r:4");
    assert_int_equal(f->resolved.problem, TOPOLOGY_FINE);
    /* One without a match is a missing source topic, as is one that nobody has matched yet. */
    resolve(f, "0 rx=b-.*,a-.* src=nope ; 1 rx=z-.*", &table);
    assert_int_equal(f->resolved.problem, TOPOLOGY_MISSING_SOURCES);
    assert_true(str_eq(f->resolved.detail, STR("Source topics b-.*, nope, z-.* are missing.")));
    resolve(f, "0 rx=a-.*", NULL);
    assert_true(str_eq(f->resolved.detail, STR("Source topics a-.* are missing.")));
    /* Copartitioning holds for all that match. */
    resolve(f, "0 src=in rx=a-.* cop=0/0/", &table);
    assert_int_equal(f->resolved.problem, TOPOLOGY_PARTITIONING);
    assert_true(
        str_eq(f->resolved.detail, STR("Following topics do not have the same number of partitions: [{a-1=4, a-2=4, c=4, in=2, r=4}]")));
    resolve(f, "0 src=in sink=q ; 1 rx=a-.* rep=q cop=/0/0", &table);
    assert_string_equal(shown(f), "0-2 src=in:2 ; 1-4 src=a-1:4,a-2:4,c:4,q:4,r:4 rep=q:4");
    /* The name of a topic beside the expression that matches it. */
    resolve(f, "0 src=a-1 rx=a-.*", &table);
    assert_string_equal(shown(f), "0-4 src=a-1:4,a-2:4,c:4,r:4");
    resolve(f, "0 rx=a-.* ; 1 rx=a-.*", &table);
    assert_string_equal(shown(f), "0-4 src=a-1:4,a-2:4,c:4,r:4 ; 1-4 src=a-1:4,a-2:4,c:4,r:4");
}

/* Whatever was recorded, the work is bounded. */
static void too_many_matches(void **state)
{
    struct fixture *f = *state;
    enum { MATCHES = 50001 };
    struct str *names = ARENA_NEW(&f->arena, struct str, MATCHES);
    for (int32_t i = 0; i < MATCHES; i++) {
        names[i] = STR("in");
    }
    const struct regex_topics row = {STR(".*"), {names, MATCHES}};
    const struct regex_table table = {&row, 1};
    topics_of_text(&f->topics, STR("in=2"));
    resolve(f, "0 rx=.*", &table);
    assert_int_equal(f->resolved.problem, TOPOLOGY_FINE);
    resolve(f, "0 rx=.* ; 1 rx=.*", &table);
    assert_int_equal(f->resolved.problem, TOPOLOGY_PARTITIONING);
    assert_true(str_eq(f->resolved.detail, STR("The regular expressions of the topology match more than 100000 topics.")));
    assert_string_equal(shown(f), "0-0 ; 1-0");
}

/* A group may name the same expression over and over; its matches count once. */
static void repeated_regexes(void **state)
{
    struct fixture *f = *state;
    enum { MATCHES = 40000, INDEXES = 60000 };
    struct str *names = ARENA_NEW(&f->arena, struct str, MATCHES);
    for (int32_t i = 0; i < MATCHES; i++) {
        names[i] = STR("in");
    }
    const struct regex_topics row = {STR(".*"), {names, MATCHES}};
    const struct regex_table table = {&row, 1};
    topics_of_text(&f->topics, STR("in=2,x=3"));
    struct streams_group_heartbeat_request *r = heartbeat_of_text("0 src=x rx=.* cop=0/0/", &f->arena);
    struct int16_array *indexes = &r->topology->subtopologies.v[0].copartition_groups.v[0].source_topic_regex;
    indexes->v = ARENA_NEW(&f->arena, int16_t, INDEXES);
    indexes->len = INDEXES;
    size_t before = f->arena.used_bytes;
    topology_resolve(topology_of_heartbeat(r, &f->arena), &table, &f->topics.topics, &f->arena, &f->resolved);
    assert_true(str_eq(f->resolved.detail, STR("Following topics do not have the same number of partitions: [{in=2, x=3}]")));
    assert_true(f->arena.used_bytes - before < 32 << 20);
    /* Many groups that name it are more than is looked at. */
    indexes->len = 1;
    for (int32_t groups = 5; groups <= 6; groups++) {
        struct streams_group_heartbeat_request_subtopology *s = &r->topology->subtopologies.v[0];
        struct streams_group_heartbeat_request_copartition_group group = {.source_topic_regex = *indexes};
        s->copartition_groups.v = ARENA_NEW(&f->arena, struct streams_group_heartbeat_request_copartition_group, groups);
        s->copartition_groups.len = groups;
        for (int32_t i = 0; i < groups; i++) {
            s->copartition_groups.v[i] = group;
        }
        topology_resolve(topology_of_heartbeat(r, &f->arena), &table, &f->topics.topics, &f->arena, &f->resolved);
        assert_int_equal(f->resolved.problem, groups == 5 ? TOPOLOGY_FINE : TOPOLOGY_PARTITIONING);
    }
    assert_true(str_eq(f->resolved.detail, STR("The copartition groups of the topology have more than 200000 topics.")));
}

static int64_t hash_of(struct fixture *f, const char *text)
{
    resolve(f, text, NULL);
    return f->resolved.metadata_hash;
}

static void hashes(void **state)
{
    struct fixture *f = *state;
    static const char one[] = "0 src=in,x sink=r,s cl=c ; 1 rep=r";
    assert_int_equal(hash_of(f, one), 0);
    topics_of_text(&f->topics, STR("other=3"));
    assert_int_equal(hash_of(f, one), 0);
    int64_t before = 0;
    static const char *const changes[] = {"in=4", "in=5", "x=4", "c=4", "r=4", "r=5"};
    for (size_t i = 0; i < COUNT_OF(changes); i++) {
        topics_of_text(&f->topics, str_of(changes[i]));
        int64_t now = hash_of(f, one);
        assert_int_not_equal(now, before);
        before = now;
    }
    /* What the topology only writes, or does not know, is not in it; nor does the order count. */
    topics_of_text(&f->topics, STR("s=2,other=5,another=1"));
    assert_int_equal(hash_of(f, one), before);
    assert_int_equal(hash_of(f, "1 rep=r ; 0 src=x,in,x sink=s,r cl=c,c"), before);
    /* A topic made again is another one. */
    topics_put(&f->topics, STR("in"), 0);
    assert_int_not_equal(hash_of(f, one), before);
    topics_put(&f->topics, STR("in"), 5);
    assert_int_not_equal(hash_of(f, one), before);
    assert_int_not_equal(hash_of(f, one), 0);
}

/* A chain against the order in which it is gone through, as long as a topology may be. */
static void long_chains(void **state)
{
    struct fixture *f = *state;
    enum { LENGTH = 1000 };
    char *text = ARENA_NEW(&f->arena, char, LENGTH * 40);
    size_t at = 0;
    for (int i = 0; i < LENGTH; i++) {
        at += (size_t)snprintf(text + at, 40, "%s%d rep=r%d sink=r%d", i > 0 ? " ; " : "", i, i, (i + LENGTH - 1) % LENGTH);
    }
    snprintf(text + at, 40, " ; x src=in sink=r%d", LENGTH - 1);
    topics_of_text(&f->topics, STR("in=3"));
    resolve(f, text, NULL);
    assert_int_equal(f->resolved.problem, TOPOLOGY_MISSING_INTERNAL);
    assert_int_equal(f->resolved.missing_count, LENGTH);
    for (int i = 0; i < LENGTH; i++) {
        assert_int_equal(f->resolved.missing[i].partitions, 3);
    }
}

int run_resolve_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tables, setup, teardown),
        cmocka_unit_test_setup_teardown(creation, setup, teardown),
        cmocka_unit_test_setup_teardown(regular_expressions, setup, teardown),
        cmocka_unit_test_setup_teardown(too_many_matches, setup, teardown),
        cmocka_unit_test_setup_teardown(repeated_regexes, setup, teardown),
        cmocka_unit_test_setup_teardown(hashes, setup, teardown),
        cmocka_unit_test_setup_teardown(long_chains, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
