/* StreamsGroupInitialize: what the transcripts (tests/golden/streams_seed_*.txt) do not show. */
#include "fixture.h"

static struct streams_group_initialize_request *request_new(struct fixture *f, const char *source, const char *regex)
{
    struct streams_group_initialize_request *r = ARENA_NEW(&f->arena, struct streams_group_initialize_request, 1);
    wire_init(&wire_streams_group_initialize_request, r);
    r->group_id = STR("g");
    r->topology.len = 1;
    r->topology.v = ARENA_NEW(&f->arena, struct streams_group_initialize_request_subtopology, 1);
    wire_init_type(wire_streams_group_initialize_request.type->fields[1].type, r->topology.v);
    r->topology.v[0].subtopology = STR("0");
    r->topology.v[0].source_topic_regex = str_of(regex);
    if (source != NULL) {
        r->topology.v[0].source_topics.v = ARENA_NEW(&f->arena, struct str, 1);
        r->topology.v[0].source_topics.v[0] = str_of(source);
        r->topology.v[0].source_topics.len = 1;
    }
    return r;
}

static const struct modern *group_of(const struct fixture *f)
{
    const struct group *g = group_find(f->set, STR("g"));
    assert_non_null(g);
    assert_non_null(g->streams);
    return g->streams;
}

static void epochs_end_somewhere(void **state)
{
    struct fixture *f = *state;
    fixture_topic(f, "a", 1);
    fixture_topic(f, "b", 1);
    struct streams_group_initialize_request *r = request_new(f, "a", NULL);
    r->topology_epoch = INT32_MAX - 1;
    assert_int_equal(fixture_decide(f, GROUP_STREAMS_INITIALIZE, 0, r).error, 0);
    assert_int_equal(fixture_decide(f, GROUP_STREAMS_INITIALIZE, 0, request_new(f, "b", NULL)).error, 0);
    assert_int_equal(group_of(f)->topology->value->epoch, INT32_MAX);
    struct group_out out = fixture_decide(f, GROUP_STREAMS_INITIALIZE, 0, request_new(f, "a", NULL));
    assert_int_equal(out.error, 131);
    assert_int_equal(out.records.len, 0);
    assert_int_equal(fixture_decide(f, GROUP_STREAMS_INITIALIZE, 0, request_new(f, "b", NULL)).error, 0); /* it has that one */
}

static void regular_expressions_are_matched_at_once(void **state)
{
    struct fixture *f = *state;
    fixture_topic(f, "orders.eu", 2);
    fixture_topic(f, "orders.us", 3);
    fixture_topic(f, "bills", 1);
    assert_int_equal(fixture_decide(f, GROUP_STREAMS_INITIALIZE, 0, request_new(f, NULL, "orders\\..*")).error, 0);
    const struct modern *s = group_of(f);
    assert_int_equal(s->regex_count, 1);
    assert_int_equal(s->regexes[0]->topics.len, 2);
    assert_int_equal(s->problem, TOPOLOGY_FINE);
    assert_int_equal(s->validated_topology_epoch, 0);
    assert_true(s->metadata_hash != 0);
    /* The next topology has another: the old one's matches go. */
    struct group_out out = fixture_decide(f, GROUP_STREAMS_INITIALIZE, 0, request_new(f, NULL, "b.*"));
    assert_int_equal(out.error, 0);
    s = group_of(f);
    assert_int_equal(s->regex_count, 1);
    assert_true(str_eq(s->regexes[0]->regex, STR("b.*")));
    out = fixture_decide(f, GROUP_STREAMS_INITIALIZE, 0, request_new(f, NULL, "("));
    assert_true(out.error != 0);
    assert_int_equal(out.records.len, 0);
}

/* The id is the topology's, not the way's by which it came. */
static void a_topology_has_one_id(void **state)
{
    struct fixture *f = *state;
    fixture_topic(f, "a", 2);
    assert_int_equal(fixture_decide(f, GROUP_STREAMS_INITIALIZE, 0, request_new(f, "a", NULL)).error, 0);
    struct str id = arena_str(&f->arena, group_of(f)->topology->value->topology_id);
    assert_true(id.len == 18 && memcmp(id.ptr, "h-", 2) == 0);
    struct streams_group_heartbeat_request r;
    struct streams_group_heartbeat_request_topology t = {.subtopologies = {.len = 1}};
    wire_init(&wire_streams_group_heartbeat_request, &r);
    t.subtopologies.v = ARENA_NEW(&f->arena, struct streams_group_heartbeat_request_subtopology, 1);
    t.subtopologies.v[0].subtopology_id = STR("0");
    t.subtopologies.v[0].source_topics.v = ARENA_NEW(&f->arena, struct str, 1);
    t.subtopologies.v[0].source_topics.v[0] = STR("a");
    t.subtopologies.v[0].source_topics.len = 1;
    r.group_id = STR("g");
    r.member_id = STR("m");
    r.rebalance_timeout_ms = 1000;
    r.topology = &t;
    r.active_tasks.len = r.standby_tasks.len = r.warmup_tasks.len = 0;
    const struct streams_group_heartbeat_response *answer = fixture_decide(f, GROUP_STREAMS_HEARTBEAT, 1, &r).answer;
    assert_int_equal(answer->error_code, 0);
    assert_true(str_eq(answer->group_topology_id, id));
}

/* Each decision is made from the beginning: what it finds when the topics are there counts. */
static void a_group_that_changed_while_topics_were_made(void **state)
{
    struct fixture *f = *state;
    fixture_topic(f, "a", 2);
    struct streams_group_initialize_request *r = request_new(f, "a", NULL);
    struct streams_group_initialize_request_topic_info changelog;
    wire_init_type(wire_streams_group_initialize_request.type->fields[1].type, r->topology.v);
    r->topology.v[0].subtopology = STR("0");
    r->topology.v[0].source_topics.v = ARENA_NEW(&f->arena, struct str, 1);
    r->topology.v[0].source_topics.v[0] = STR("a");
    r->topology.v[0].source_topics.len = 1;
    memset(&changelog, 0, sizeof changelog);
    changelog.name = STR("log");
    changelog.topic_configs.len = -1;
    r->topology.v[0].state_changelog_topics.v = &changelog;
    r->topology.v[0].state_changelog_topics.len = 1;
    struct group_out out = fixture_decide(f, GROUP_STREAMS_INITIALIZE, 0, r);
    assert_int_equal(out.verdict, GROUP_WAIT);
    assert_non_null(out.create);
    assert_int_equal(out.create->topics.len, 1);
    assert_int_equal(out.create->topics.v[0].num_partitions, 2);
    assert_int_equal(out.records.len, 0);

    fixture_topic(f, "log", 2);
    struct classic_group_key key = {.group_id = STR("g")};
    struct classic_group_value classic;
    wire_init(&wire_classic_group_value, &classic);
    classic.state = CLASSIC_STABLE;
    classic.generation = 1;
    classic.protocol_type = STR("consumer");
    fixture_apply(f, RECORD_CLASSIC_GROUP, &key, &classic);
    struct topics_created created = {.failure = STR_NULL};
    f->op.created = &created;
    group_decide(f->set, &f->op, &f->arena, &out);
    assert_int_equal(out.error, 69);
    assert_int_equal(out.records.len, 0);
}

int run_initialize_tests(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(epochs_end_somewhere),
        fixture_test(regular_expressions_are_matched_at_once),
        fixture_test(a_topology_has_one_id),
        fixture_test(a_group_that_changed_while_topics_were_made),
    };
    return cmocka_run_group_tests_name("initialize", tests, NULL, NULL);
}
