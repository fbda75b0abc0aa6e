/* Topologies as they are recorded: what requests become, names, and which two are the same. */
#include "text.h"

#include <string.h>

static void fields_of_a_heartbeat(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 0);
    struct streams_group_heartbeat_request *r =
        heartbeat_of_text("a src=in,in2 rx=x.* sink=r cl=c:0:2:k=v&l=w rep=r:7:3 cop=1/0/0", &arena);
    r->topology->epoch = 42;
    r->topology_id = STR("release-7");
    const topology *t = topology_of_heartbeat(r, &arena);
    assert_int_equal(t->epoch, 42);
    assert_true(str_eq(t->topology_id, STR("release-7")));
    assert_int_equal(t->subtopologies.len, 1);
    const struct streams_group_topology_value_subtopology *s = &t->subtopologies.v[0];
    assert_true(str_eq(s->subtopology_id, STR("a")));
    assert_true(s->source_topics.len == 2 && str_eq(s->source_topics.v[1], STR("in2")));
    assert_true(s->source_topic_regex.len == 1 && str_eq(s->source_topic_regex.v[0], STR("x.*")));
    assert_true(s->repartition_sink_topics.len == 1 && str_eq(s->repartition_sink_topics.v[0], STR("r")));
    const struct streams_group_topology_value_topic_info *c = &s->state_changelog_topics.v[0];
    assert_true(s->state_changelog_topics.len == 1 && str_eq(c->name, STR("c")) && c->replication_factor == 2 && c->partitions == 0);
    assert_true(c->topic_configs.len == 2 && str_eq(c->topic_configs.v[1].key, STR("l")) && str_eq(c->topic_configs.v[1].value, STR("w")));
    const struct streams_group_topology_value_topic_info *q = &s->repartition_source_topics.v[0];
    assert_true(s->repartition_source_topics.len == 1 && q->partitions == 7 && q->replication_factor == 3 && q->topic_configs.len == 0);
    assert_int_equal(s->copartition_groups.len, 1);
    assert_int_equal(s->copartition_groups.v[0].source_topics.v[0], 1);
    assert_int_equal(s->copartition_groups.v[0].source_topic_regex.v[0], 0);
    assert_int_equal(s->copartition_groups.v[0].repartition_source_topics.v[0], 0);
    arena_fini(&arena);
}

/* Both requests say the same in their own words. */
static void the_early_revision(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 0);
    const topology *t = topology_of_text("0 src=in rx=x.* sink=r cl=c:0:0:k=v ; 1 rep=r:7", &arena);
    struct streams_group_initialize_request_topic_config config = {STR("k"), STR("v")};
    struct streams_group_initialize_request_topic_info changelog = {.name = STR("c"), .topic_configs = {&config, 1}};
    struct streams_group_initialize_request_topic_info repartition = {.name = STR("r"), .partitions = 7, .topic_configs = {NULL, -1}};
    struct str in = STR("in");
    struct str r = STR("r");
    struct streams_group_initialize_request_subtopology subtopologies[2] = {
        {.subtopology = STR("0"),
         .source_topics = {&in, 1},
         .source_topic_regex = STR("x.*"),
         .state_changelog_topics = {&changelog, 1},
         .repartition_sink_topics = {&r, 1}},
        {.subtopology = STR("1"), .source_topic_regex = STR_NULL, .repartition_source_topics = {&repartition, 1}},
    };
    struct streams_group_initialize_request request;
    wire_init(&wire_streams_group_initialize_request, &request);
    request.topology.v = subtopologies;
    request.topology.len = 2;
    const topology *early = topology_of_initialize(&request, 9, &arena);
    assert_int_equal(early->epoch, 9);
    assert_true(topology_equal(t, early));
    assert_true(str_eq(t->topology_id, early->topology_id));
    request.topology_id = STR("given");
    assert_true(str_eq(topology_of_initialize(&request, 9, &arena)->topology_id, STR("given")));
    arena_fini(&arena);
}

/* Which differences Kafka 4.4.0 takes for another topology: all but the order of subtopologies. */
static void equality(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"", "", true},
        {"0 src=in ; 1 src=x", "0 src=in ; 1 src=x", true},
        {"0 src=in ; 1 src=x", "1 src=x ; 0 src=in", true},
        {"0 src=in ; 1 src=x ; 2 src=y", "2 src=y ; 0 src=in ; 1 src=x", true},
        {"0 src=in ; 1 src=x", "0 src=in", false},
        {"0 src=in ; 1 src=x", "0 src=in ; 0 src=in", false},
        {"0 src=in ; 0 src=in", "0 src=in ; 1 src=x", false},
        {"0 src=in ; 1 src=x", "0 src=x ; 1 src=in", false},
        {"0 src=in", "1 src=in", false},
        {"0 src=a,b", "0 src=b,a", false},
        {"0 src=a,b", "0 src=a,b,a", false},
        {"0 src=a", "0 rx=a", false},
        {"0 src=a rx=b", "0 src=a rx=c", false},
        {"0 src=a sink=b,c", "0 src=a sink=c,b", false},
        {"0 src=a sink=b,c rep=b,c", "0 src=a sink=b,c rep=c,b", false},
        {"0 src=a cl=b,c", "0 src=a cl=c,b", false},
        {"0 src=a sink=r rep=r", "0 src=a sink=r rep=r:3", false},
        {"0 src=a cl=b:0:1", "0 src=a cl=b:0:2", false},
        {"0 src=a cl=b:0:0:k=v", "0 src=a cl=b", false},
        {"0 src=a cl=b:0:0:k=v&l=w", "0 src=a cl=b:0:0:l=w&k=v", false},
        {"0 src=a cl=b:0:0:k=v", "0 src=a cl=b:0:0:k=w", false},
        {"0 src=a cl=b:0:0:k=v", "0 src=a cl=b:0:0:l=v", false},
        {"0 src=a,b cop=0.1//", "0 src=a,b cop=1.0//", false},
        {"0 src=a,b cop=0// cop=1//", "0 src=a,b cop=1// cop=0//", false},
        {"0 src=a cop=//", "0 src=a", false},
        {"0 src=a,b rx=x,y cop=/0/", "0 src=a,b rx=x,y cop=/1/", false},
        {"0 src=a sink=q,r rep=q,r cop=//0", "0 src=a sink=q,r rep=q,r cop=//1", false},
    };
    struct arena arena;
    arena_init(&arena, 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const topology *a = topology_of_text(cases[i].a, &arena);
        const topology *b = topology_of_text(cases[i].b, &arena);
        if (topology_equal(a, b) != cases[i].equal || topology_equal(b, a) != cases[i].equal ||
            str_eq(a->topology_id, b->topology_id) != cases[i].equal) {
            fail_msg("%s and %s", cases[i].a, cases[i].b);
        }
    }
    arena_fini(&arena);
}

static void names(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 0);
    struct streams_group_heartbeat_request *r = heartbeat_of_text("0 src=in cl=c ; 1 src=x", &arena);
    struct str first = topology_of_heartbeat(r, &arena)->topology_id;
    assert_int_equal(first.len, 18);
    /* Clients and operators compare these: a hash that moves with a release would look like another topology. */
    assert_true(str_eq(first, STR("h-4d560ade33619199")));
    r->topology->epoch = 7;
    assert_true(str_eq(first, topology_of_heartbeat(r, &arena)->topology_id));
    r->topology_id = STR("");
    assert_true(str_eq(STR(""), topology_of_heartbeat(r, &arena)->topology_id));
    arena_fini(&arena);
}

static void readers(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 0);
    const topology *t = topology_of_text("0 src=in,both sink=r cl=c ; 1 src=both rep=r rx=app-.* ; 2 src=other", &arena);
    struct str matched[] = {STR("app-1"), STR("c"), STR("r")};
    const struct regex_topics row = {STR("app-.*"), {matched, 3}};
    const struct regex_table regexes = {&row, 1};
    static const struct {
        const char *topic, *reader;
    } cases[] = {{"in", "0"}, {"both", "0"}, {"r", "1"}, {"app-1", "1"}, {"other", "2"}, {"c", NULL}, {"app-2", NULL}, {"", NULL}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct str reader = topology_reader_of(t, &regexes, str_of(cases[i].topic));
        assert_true(str_eq(reader, str_of(cases[i].reader)));
    }
    assert_true(topology_reads(t, 0, &regexes, STR("both")) && topology_reads(t, 1, &regexes, STR("both")));
    assert_false(topology_reads(t, 2, &regexes, STR("both")));
    assert_true(str_is_null(topology_reader_of(t, NULL, STR("app-1"))));
    assert_true(str_is_null(topology_reader_of(topology_of_text("", &arena), NULL, STR("in"))));
    arena_fini(&arena);
}

/* The table is searched by halves. */
static void regex_tables(void **state)
{
    (void)state;
    struct regex_topics rows[50];
    struct arena arena;
    arena_init(&arena, 0);
    struct str topics[50];
    for (int32_t i = 0; i < 50; i++) {
        rows[i].regex = arena_printf(&arena, "x-%02d", (int)(2 * i));
        rows[i].topics = (struct str_array){topics, i + 1};
    }
    for (int32_t len = 0; len <= 50; len++) {
        const struct regex_table table = {rows, len};
        for (int32_t i = 0; i < 100; i++) {
            int32_t found = regex_table_get(&table, arena_printf(&arena, "x-%02d", (int)i)).len;
            assert_int_equal(found, i % 2 == 0 && i / 2 < len ? i / 2 + 1 : 0);
        }
    }
    assert_int_equal(regex_table_get(NULL, STR("x-00")).len, 0);
    arena_fini(&arena);
}

int run_form_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_a_heartbeat),
        cmocka_unit_test(the_early_revision),
        cmocka_unit_test(equality),
        cmocka_unit_test(names),
        cmocka_unit_test(readers),
        cmocka_unit_test(regex_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
