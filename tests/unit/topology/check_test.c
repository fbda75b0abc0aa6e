/* What may be stored and what not, and in which words: those of Kafka 4.4.0 where it has any. */
#include "text.h"

#include <string.h>

enum { FINE = 0, INVALID = 130, EPOCH = 131 };

struct check_case {
    const char *topology;
    int16_t error;
    const char *problem; /* NULL: none */
};

static const char no_source[] = "No source topics found for subtopology ";
static const char never_written[] =
    "Failed to compute number of partitions for all repartition topics, because a repartition source topic is never used "
    "as a sink topic.";
static const char loops[] =
    "Failed to compute number of partitions for all repartition topics. There may be loops in the topology that cannot be resolved.";

static const struct check_case cases[] = {
    {"", FINE, NULL},
    {"0 src=in", FINE, NULL},
    {"\"\" src=in", FINE, NULL},
    {"0 rx=in-.*", FINE, NULL},
    {"0 src=in,in", FINE, NULL},
    {"0 src=in ; 1 src=in", FINE, NULL},
    {"0 src=in sink=nobody", FINE, NULL},
    {"0 src=in sink=r,r ; 1 rep=r", FINE, NULL},
    {"0 src=in cop=//", FINE, NULL},
    {"0 src=in cop=0.0//", FINE, NULL},
    {"0 src=in cl=in", FINE, NULL},
    /* sources */
    {"0", INVALID, "0"},
    {"0 src=in ; 1 sink=r", INVALID, "1"},
    {"3 ; 1", INVALID, "1"}, /* in the order of Kafka's table */
    {"10 ; 9", INVALID, "9"},
    /* names */
    {"0 src=b@d", INVALID, "Topic names b@d are not valid topic names."},
    {"0 ; 1 src=b@d", INVALID, "Topic names b@d are not valid topic names."},
    {"0 src=z@z,in sink=b@b rep=x@x cl=y@y,c ; 1 src=a@a", INVALID, "Topic names z@z,b@b,x@x,y@y,a@a are not valid topic names."},
    {"0 src=b@d,b@d sink=b@d,z@z ; 1 src=a@a,z@z", INVALID, "Topic names b@d,z@z,a@a are not valid topic names."},
    {"0 src=in sink=__consumer_offsets ; 1 rep=__consumer_offsets", INVALID,
     "Use of Kafka internal topics __consumer_offsets in a Kafka Streams topology is prohibited."},
    {"0 src=,..", INVALID, "Topic names ,.. are not valid topic names."},
    {"0 src=in sink=__consumer_offsets", INVALID,
     "Use of Kafka internal topics __consumer_offsets in a Kafka Streams topology is prohibited."},
    {"0 src=__transaction_state cl=b@d ; 1 rep=__share_group_state sink=__consumer_offsets", INVALID,
     "Use of Kafka internal topics __transaction_state,__consumer_offsets,__share_group_state in a Kafka Streams topology is prohibited."},
    {"0 src=__other", FINE, NULL},
    /* regular expressions */
    {"0 rx=in-(.*", INVALID, "A source topic regex of subtopology 0 cannot be used: missing closing )"},
    {"0 rx=a{400} ; 1 rx=b{400}", FINE, NULL},
    {"0 rx=a{400} ; 1 rx=b{400} ; 2 rx=c{400}", INVALID, "The source topic regexes of the topology are too large together."},
    {"0 rx=(?:a?b?){500}", INVALID, "A source topic regex of subtopology 0 cannot be used: pattern too large"},
    {"0 rx=a ; 1 src=b@d rx=(", INVALID, "Topic names b@d are not valid topic names."},
    /* changelogs and repartition topics */
    {"0 src=in cl=c:3", INVALID, "Changelog topic c must have an undefined partition count, but it is set to 3."},
    {"0 src=in cl=c:-1", INVALID, "Changelog topic c must have an undefined partition count, but it is set to -1."},
    {"1 src=in cl=c2:3 ; 0 cl=c1:3", INVALID, "Changelog topic c2 must have an undefined partition count, but it is set to 3."},
    {"0 src=in rep=r cl=c:3", INVALID, "Changelog topic c must have an undefined partition count, but it is set to 3."},
    {"0 src=in cl=c,d,c", INVALID, "Changelog topic c is named twice in subtopology 0."},
    {"0 src=in cl=c ; 1 src=in cl=c", FINE, NULL},
    {"0 src=in sink=r ; 1 rep=r,r", INVALID, "Repartition topic r is named twice in subtopology 1."},
    {"0 src=in sink=r ; 1 rep=r:3 ; 2 rep=r:5", FINE, NULL},
    {"0 src=in sink=r ; 1 rep=r:-1", INVALID, "Repartition topic r must not have a negative partition count, but it is set to -1."},
    {"0 src=in cl=c:0:0:a=1&b=2&a=1", INVALID, "Config a of topic c is given twice."},
    {"0 src=in cl=c:0:-5", FINE, NULL}, /* creation will fail and say why */
    /* copartition groups and ids */
    {"0 src=in cop=1//", INVALID, "A copartition group of subtopology 0 refers to source topic 1, but the subtopology has 1."},
    {"0 src=in cop=0// cop=-1//", INVALID, "A copartition group of subtopology 0 refers to source topic -1, but the subtopology has 1."},
    {"0 src=in cop=/0/", INVALID, "A copartition group of subtopology 0 refers to source topic regex 0, but the subtopology has 0."},
    {"0 src=in rx=a,b cop=/1/", FINE, NULL},
    {"0 src=in cop=//0", INVALID, "A copartition group of subtopology 0 refers to repartition source topic 0, but the subtopology has 0."},
    {"0 src=in ; 0 src=in", INVALID, "Subtopology id 0 is used twice."},
    {"\"\" src=in ; \"\" src=in", INVALID, "Subtopology id  is used twice."},
    {"0 src=in ; 0", INVALID, "Subtopology id 0 is used twice."},
    /* what flows where */
    {"0 src=in rep=r", INVALID, never_written},
    {"0 src=in rep=r:3", FINE, NULL}, /* nobody needs to count it */
    {"0 src=in sink=r rep=r,q", INVALID, never_written},
    {"0 rep=r sink=r", INVALID, loops},
    {"0 rep=r sink=q ; 1 rep=q sink=r", INVALID, loops},
    {"0 src=in ; 1 rep=r sink=r", INVALID, loops},
    {"0 rep=r:3 sink=r", FINE, NULL},
    {"0 rep=r:3 sink=q ; 1 rep=q sink=r", FINE, NULL},
    {"0 src=in rep=r sink=r", FINE, NULL},
    {"0 src=in rep=r sink=q ; 1 rep=q sink=r", FINE, NULL},
    {"0 rx=in rep=r sink=q ; 1 rep=q sink=r", FINE, NULL},
    {"0 rep=a sink=b ; 1 rep=b sink=c ; 2 rep=c sink=a ; 3 src=in sink=d ; 4 rep=d", INVALID, loops},
};

static void check(const struct check_case *one, const struct group_settings *settings)
{
    struct arena arena;
    arena_init(&arena, 0);
    struct str problem = STR("?");
    struct str expected = str_of(one->problem);
    if (one->error != FINE && strlen(one->problem) <= 2) {
        expected = arena_printf(&arena, "%s%s", no_source, one->problem);
    }
    int16_t error = topology_check(topology_of_text(one->topology, &arena), settings, &arena, &problem);
    if (error != one->error || !str_eq(problem, expected)) {
        fail_msg("%s: %d %.*s", one->topology, error, STR_ARG(problem));
    }
    arena_fini(&arena);
}

static void what_may_be_stored(void **state)
{
    (void)state;
    const struct group_settings settings = {0};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check(&cases[i], &settings);
    }
}

static void epochs(void **state)
{
    (void)state;
    const struct group_settings settings = {0};
    struct arena arena;
    arena_init(&arena, 0);
    static const struct {
        int32_t epoch;
        const char *topology;
        int16_t error;
        const char *problem;
    } epoch_cases[] = {
        {0, "0 src=in", FINE, NULL},
        {INT32_MAX, "0 src=in", FINE, NULL},
        {-1, "0 src=in", EPOCH, "The topology epoch is -1, but must not be negative."},
        {INT32_MIN, "0 src=in", EPOCH, "The topology epoch is -2147483648, but must not be negative."},
        {-1, "0 src=b@d", INVALID, "Topic names b@d are not valid topic names."},
    };
    for (size_t i = 0; i < COUNT_OF(epoch_cases); i++) {
        struct streams_group_heartbeat_request *r = heartbeat_of_text(epoch_cases[i].topology, &arena);
        struct str problem;
        r->topology->epoch = epoch_cases[i].epoch;
        const topology *t = topology_of_heartbeat(r, &arena);
        assert_int_equal(topology_check(t, &settings, &arena, &problem), epoch_cases[i].error);
        assert_true(str_eq(problem, str_of(epoch_cases[i].problem)));
    }
    arena_fini(&arena);
}

static void bounds(void **state)
{
    (void)state;
    const struct group_settings settings = {.streams = {.max_subtopologies = 2, .max_topology_topics = 5}};
    static const struct check_case bound_cases[] = {
        {"0 src=in ; 1 src=in", FINE, NULL},
        {"0 src=in ; 1 src=in ; 2 src=in", INVALID, "The topology has 3 subtopologies; 2 are allowed."},
        {"0 src=a rx=b sink=c cl=d ; 1 rep=c", FINE, NULL},
        {"0 src=a rx=b sink=c,e cl=d ; 1 rep=c", INVALID, "The topology names 6 topics; 5 are allowed."},
        {"0 src=a cop=0.0.0.0.0.0.0.0.0.0// cop=0.0.0.0.0.0.0.0.0.0// cop=0.0.0.0.0.0.0.0.0.0// cop=0.0.0.0.0.0.0.0.0.0// "
         "cop=0.0.0.0.0.0.0.0.0.0// cop=0.0.0.0.0.0.0.0.0.0// cop=0.0.0.0.0.0.0.0.0.0// cop=0//",
         FINE, NULL},
        {"0 src=a cl=c:0:0:k=v&l=v cop=0.0.0.0.0.0.0.0.0.0// cop=0.0.0.0.0.0.0.0.0.0// cop=0.0.0.0.0.0.0.0.0.0// "
         "cop=0.0.0.0.0.0.0.0.0.0// cop=0.0.0.0.0.0.0.0.0.0// cop=0.0.0.0.0.0.0.0.0.0// cop=0.0.0.0.0.0.0.0.0.0// cop=0//",
         INVALID, "The topology has 81 configs and copartitioned topics; 80 are allowed."},
    };
    for (size_t i = 0; i < COUNT_OF(bound_cases); i++) {
        check(&bound_cases[i], &settings);
    }
}

/* Regular expressions are few, and long lists of bad names are cut. */
static void many(void **state)
{
    (void)state;
    const struct group_settings settings = {0};
    struct arena arena;
    struct str problem;
    arena_init(&arena, 0);
    struct streams_group_heartbeat_request *r = heartbeat_of_text("0 src=in", &arena);
    struct streams_group_heartbeat_request_subtopology *s = &r->topology->subtopologies.v[0];
    s->source_topic_regex = (struct str_array){.v = ARENA_NEW(&arena, struct str, 101), .len = 100};
    for (int32_t i = 0; i < 101; i++) {
        s->source_topic_regex.v[i] = STR("x-.*");
    }
    assert_int_equal(topology_check(topology_of_heartbeat(r, &arena), &settings, &arena, &problem), FINE);
    s->source_topic_regex.len = 101;
    assert_int_equal(topology_check(topology_of_heartbeat(r, &arena), &settings, &arena, &problem), INVALID);
    assert_true(str_eq(problem, STR("The topology has 101 source topic regexes; 100 are allowed.")));
    s->source_topic_regex.len = 0;
    s->source_topics = (struct str_array){.v = ARENA_NEW(&arena, struct str, 10000), .len = 10000};
    for (int32_t i = 0; i < 10000; i++) {
        s->source_topics.v[i] = arena_printf(&arena, "b@d %d", (int)i);
    }
    assert_int_equal(topology_check(topology_of_heartbeat(r, &arena), &settings, &arena, &problem), INVALID);
    assert_in_range(problem.len, 16384, 20000);
    arena_fini(&arena);
}

int run_check_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_may_be_stored),
        cmocka_unit_test(epochs),
        cmocka_unit_test(bounds),
        cmocka_unit_test(many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
