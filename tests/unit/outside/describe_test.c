/* Descriptions of groups, and of topologies for people to read. */
#include "fixture.h"

static struct streams_group_topology_value_topic_info info(const char *name, int32_t partitions)
{
    return (struct streams_group_topology_value_topic_info){.name = str_of(name), .partitions = partitions};
}

/* One subtopology, its names in no order and one of them twice. */
static struct streams_group_topology_value *unordered(struct fixture *f)
{
    static struct str sources[] = {{"zz", 2}, {"in", 2}, {"zz", 2}, {"also", 4}}, sinks[] = {{"s2", 2}, {"s1", 2}};
    static struct streams_group_topology_value_topic_config configs[] = {{{"b", 1}, {"2", 1}}, {{"a", 1}, {"1", 1}}};
    struct streams_group_topology_value *t = ARENA_NEW(&f->arena, struct streams_group_topology_value, 1);
    wire_init(&wire_streams_group_topology_value, t);
    t->epoch = 3;
    t->topology_id = STR("id");
    t->subtopologies.len = 1;
    t->subtopologies.v = ARENA_NEW(&f->arena, struct streams_group_topology_value_subtopology, 1);
    struct streams_group_topology_value_subtopology *s = t->subtopologies.v;
    s->subtopology_id = STR("0");
    s->source_topics = (struct str_array){sources, 4};
    s->repartition_sink_topics = (struct str_array){sinks, 2};
    s->state_changelog_topics.v = ARENA_NEW(&f->arena, struct streams_group_topology_value_topic_info, 2);
    s->state_changelog_topics.len = 2;
    s->state_changelog_topics.v[0] = info("c2", 0);
    s->state_changelog_topics.v[0].topic_configs.v = configs;
    s->state_changelog_topics.v[0].topic_configs.len = 2;
    s->state_changelog_topics.v[1] = info("c1", 0);
    s->repartition_source_topics.v = ARENA_NEW(&f->arena, struct streams_group_topology_value_topic_info, 2);
    s->repartition_source_topics.len = 2;
    s->repartition_source_topics.v[0] = info("s2", 3);
    s->repartition_source_topics.v[1] = info("s1", 0);
    return t;
}

static void set_problem(struct fixture *f, int8_t problem)
{
    struct streams_group_metadata_key key = {.group_id = STR("g")};
    struct streams_group_metadata_value value = streams_group_value(NULL, &f->arena);
    value.epoch = 2;
    value.topology_problem = problem;
    fixture_apply(f, RECORD_STREAMS_GROUP_METADATA, &key, &value);
}

static const struct streams_group_describe_response_described_group *describe(struct fixture *f, bool description)
{
    struct streams_group_describe_request request = {.include_topology_description = description};
    return fixture_decide(f, GROUP_STREAMS_DESCRIBE, 1, &request).answer;
}

static void names_are_in_order_and_counts_as_they_count(void **state)
{
    struct fixture *f = *state;
    fixture_topic(f, "in", 4);
    fixture_topic(f, "also", 2);
    fixture_topic(f, "zz", 1);
    fixture_topic(f, "s1", 4);
    fixture_topic(f, "s2", 3);
    fixture_topic(f, "c1", 4);
    fixture_topic(f, "c2", 4);
    fixture_group(f, 2, unordered(f));
    fixture_member(f, "m", &(struct member_position){.epoch = 2, .state = MEMBER_STABLE});
    for (int8_t problem = TOPOLOGY_FINE; problem <= TOPOLOGY_MISSING_SOURCES; problem = (int8_t)(problem + 2)) {
        set_problem(f, problem);
        bool runs = problem == TOPOLOGY_FINE;
        const struct streams_group_describe_response_described_group *g = describe(f, false);
        assert_true(str_eq(g->group_state, runs ? STR("Stable") : STR("NotReady")));
        assert_int_equal(g->topology->epoch, 3);
        const struct streams_group_describe_response_subtopology *s = g->topology->subtopologies.v;
        assert_int_equal(s->source_topics.len, 3);
        assert_true(str_eq(s->source_topics.v[0], STR("also")) && str_eq(s->source_topics.v[2], STR("zz")));
        assert_true(str_eq(s->repartition_sink_topics.v[0], STR("s1")));
        assert_true(str_eq(s->state_changelog_topics.v[0].name, STR("c1")));
        assert_int_equal(s->state_changelog_topics.v[0].partitions, runs ? 4 : 0);
        assert_true(str_eq(s->state_changelog_topics.v[1].topic_configs.v[0].key, runs ? STR("a") : STR("b"))); /* or as they were sent */
        assert_true(str_eq(s->state_changelog_topics.v[1].topic_configs.v[0].value, runs ? STR("1") : STR("2")));
        assert_int_equal(s->repartition_source_topics.v[0].partitions, runs ? 4 : 0); /* s1, open */
        assert_int_equal(s->repartition_source_topics.v[1].partitions, 3);            /* s2, as it says */
    }
}

static void offsets_are_in_order(void **state)
{
    struct fixture *f = *state;
    struct streams_task_offsets_value_task_offset offsets[] = {{STR("1"), 3, 7},
                                                               {STR("10"), 0, 9},
                                                               {STR("1"), 0, 8},
                                                               {STR("1"), 3, 6} /* once more */};
    struct streams_task_offsets_value value = {.task_offsets = {offsets, 4}, .task_end_offsets = {offsets, 1}};
    struct streams_task_offsets_key key = {.group_id = STR("g"), .member_id = STR("m")};
    fixture_group(f, 2, unordered(f));
    fixture_member(f, "m", &(struct member_position){.epoch = 2, .state = MEMBER_STABLE});
    fixture_apply(f, RECORD_STREAMS_TASK_OFFSETS, &key, &value);
    const struct streams_group_describe_response_member *m = describe(f, false)->members.v;
    assert_int_equal(m->task_offsets.len, 3);
    assert_int_equal(m->task_offsets.v[0].offset, 8);
    assert_int_equal(m->task_offsets.v[1].offset, 6);
    assert_int_equal(m->task_offsets.v[2].offset, 9);
    assert_int_equal(m->task_end_offsets.len, 1);
    assert_int_equal(m->task_end_offsets.v[0].offset, 7);
}

static struct bytes dumped(const void *group, struct arena *arena)
{
    struct streams_group_describe_response whole = {.groups = {(void *)(uintptr_t)group, 1}};
    return wire_encode(&wire_streams_group_describe_response, 1, &whole, arena);
}

/* Whatever the state does after the decision. */
static void the_answer_stands_alone(void **state)
{
    struct fixture *f = *state;
    fixture_topic(f, "in", 4);
    fixture_group(f, 2, unordered(f));
    struct unit_list l;
    unit_list_init(&l, &f->arena);
    unit_list_add(&l, STR("0"), 1, 2);
    unit_list_add(&l, STR("0"), 2, 2);
    unit_list_add(&l, STR("1"), 0, 2);
    struct member_position position = {.epoch = 2, .state = MEMBER_STABLE};
    position.assigned.kind[UNITS_STANDBY] = unit_list_finish(&l);
    fixture_member(f, "m", &position);
    const struct streams_group_describe_response_described_group *g = describe(f, true);
    struct streams_group_topology_request request = {.group_id = STR("g")};
    const struct streams_group_topology_response *t = fixture_decide(f, GROUP_STREAMS_TOPOLOGY, 0, &request).answer;
    assert_int_equal(g->members.v[0].assignment.standby_tasks.len, 2);
    assert_int_equal(g->members.v[0].assignment.standby_tasks.v[0].partitions.len, 2);
    assert_int_equal(t->subtopologies.v[0].state_changelog_topics.v[0].topic_configs.len, 2);
    assert_true(str_eq(t->subtopologies.v[0].source_topics.v[0], STR("zz"))); /* as it was given */
    struct bytes before = dumped(g, &f->arena), stored = wire_encode(&wire_streams_group_topology_response, 0, t, &f->arena);
    group_set_clear(f->set);
    assert_true(bytes_eq(before, dumped(g, &f->arena)));
    assert_true(bytes_eq(stored, wire_encode(&wire_streams_group_topology_response, 0, t, &f->arena)));
}

/* ---- KIP-1331 ------------------------------------------------------------------------------------------------------------------------ */

static struct streams_group_topology_description_update_request *push_new(struct fixture *f, int32_t bytes)
{
    struct streams_group_topology_description_update_request *r =
        ARENA_NEW(&f->arena, struct streams_group_topology_description_update_request, 1);
    wire_init(&wire_streams_group_topology_description_update_request, r);
    r->group_id = STR("g");
    r->member_id = STR("m");
    r->topology_epoch = 3;
    int32_t count = bytes / 1000 + 1;
    struct str *ids = ARENA_NEW(&f->arena, struct str, count);
    r->topology_description.subtopologies.len = count;
    r->topology_description.subtopologies.v =
        ARENA_NEW(&f->arena, struct streams_group_topology_description_update_request_topology_description_subtopology, count);
    for (int32_t i = 0; i < count; i++) {
        char *text = arena_get(&f->arena, 1000);
        memset(text, 'x', 1000);
        ids[i] = (struct str){text, 1000};
        r->topology_description.subtopologies.v[i].subtopology_id = ids[i];
    }
    return r;
}

static bool is_asked_for(struct fixture *f)
{
    struct streams_group_heartbeat_request r;
    wire_init(&wire_streams_group_heartbeat_request, &r);
    r.group_id = STR("g");
    r.member_id = STR("m");
    r.member_epoch = modern_position(modern_find(group_find(f->set, STR("g"))->streams, r.member_id)).epoch;
    const struct streams_group_heartbeat_response *answer = fixture_decide(f, GROUP_STREAMS_HEARTBEAT, 1, &r).answer;
    assert_int_equal(answer->error_code, 0);
    return answer->topology_description_required;
}

static void make_described_group(struct fixture *f)
{
    fixture_topic(f, "in", 4);
    struct streams_group_topology_value *t = unordered(f);
    t->subtopologies.v[0].source_topics.v = ARENA_NEW(&f->arena, struct str, 1);
    t->subtopologies.v[0].source_topics.v[0] = STR("in");
    t->subtopologies.v[0].source_topics.len = 1;
    t->subtopologies.v[0].repartition_sink_topics.len = 0;
    t->subtopologies.v[0].repartition_source_topics.len = 0;
    t->subtopologies.v[0].state_changelog_topics.len = 0;
    fixture_group(f, 2, t);
    struct streams_group_member_metadata_key key = {.group_id = STR("g"), .member_id = STR("m")};
    struct streams_group_member_metadata_value member;
    fixture_member(f, "m", &(struct member_position){.epoch = 2, .state = MEMBER_STABLE});
    wire_init(&wire_streams_group_member_metadata_value, &member);
    member.client_id = STR("client");
    member.client_host = STR("/127.0.0.1");
    member.topology_epoch = 3;
    fixture_apply(f, RECORD_STREAMS_GROUP_MEMBER_METADATA, &key, &member);
}

static void a_description_is_asked_for_until_it_is_there(void **state)
{
    struct fixture *f = *state;
    make_described_group(f);
    assert_true(is_asked_for(f));
    assert_int_equal(describe(f, true)->topology_description_status, 1);
    assert_int_equal(fixture_decide(f, GROUP_STREAMS_DESCRIPTION, 0, push_new(f, 5000)).error, 0);
    assert_false(is_asked_for(f));
    const struct streams_group_describe_response_described_group *g = describe(f, true);
    assert_int_equal(g->topology_description_status, 3);
    assert_int_equal(g->topology_description->subtopologies.len, 6);
    assert_int_equal(describe(f, false)->topology_description_status, 0);
    assert_null(describe(f, false)->topology_description);
    struct bytes before = dumped(g, &f->arena);
    group_set_clear(f->set);
    assert_true(bytes_eq(before, dumped(g, &f->arena)));
}

static void a_description_is_bounded(void **state)
{
    struct fixture *f = *state;
    make_described_group(f);
    assert_int_equal(fixture_decide(f, GROUP_STREAMS_DESCRIPTION, 0, push_new(f, 250 * 1024)).error, 0);
    const struct group *g = group_find(f->set, STR("g"));
    assert_true(g->streams->description->value.len > 240 * 1024 && g->streams->description->value.len <= 256 * 1024);
    struct bytes kept = g->streams->description->value;
    assert_int_equal(fixture_decide(f, GROUP_STREAMS_DESCRIPTION, 0, push_new(f, 262 * 1024)).error, 135);
    assert_ptr_equal(group_find(f->set, STR("g"))->streams->description->value.ptr, kept.ptr);
    assert_false(is_asked_for(f));
}

static void a_description_has_to_fit_into_the_budget(void **state)
{
    struct fixture *f = *state;
    make_described_group(f);
    struct group_set_counts counts;
    group_set_counts(f->set, &counts);
    f->settings.max_state_bytes = counts.bytes + 3000;
    struct group_out out = fixture_decide(f, GROUP_STREAMS_DESCRIPTION, 0, push_new(f, 5000));
    assert_int_equal(out.error, 135);
    assert_int_equal(out.records.len, 0);
    assert_true(is_asked_for(f)); /* room can be made */
    f->settings.max_state_bytes = counts.bytes + 100000;
    assert_int_equal(fixture_decide(f, GROUP_STREAMS_DESCRIPTION, 0, push_new(f, 5000)).error, 0);
    f->settings.max_state_bytes = counts.bytes; /* what makes nothing grow passes always */
    assert_int_equal(fixture_decide(f, GROUP_STREAMS_DESCRIPTION, 0, push_new(f, 3000)).error, 0);
}

/* ---- nobody decides ------------------------------------------------------------------------------------------------------------------- */

static void refusals_carry_the_error(void **state)
{
    struct fixture *f = *state;
    struct group_out out;
    f->op = (struct group_op){.kind = GROUP_STREAMS_DESCRIBE, .group_id = STR("g"), .api_version = 1};
    group_refuse(&f->op, 16, &f->arena, &out);
    const struct streams_group_describe_response_described_group *g = out.answer;
    assert_int_equal(g->error_code, 16);
    assert_true(str_eq(g->group_id, STR("g")));
    assert_true(dumped(g, &f->arena).len > 0);
    f->op.kind = GROUP_STREAMS_TOPOLOGY;
    group_refuse(&f->op, 14, &f->arena, &out);
    assert_int_equal(((const struct streams_group_topology_response *)out.answer)->error_code, 14);
    f->op.kind = GROUP_STREAMS_INITIALIZE;
    group_refuse(&f->op, 15, &f->arena, &out);
    assert_int_equal(((const struct streams_group_initialize_response *)out.answer)->error_code, 15);
    f->op.kind = GROUP_STREAMS_DESCRIPTION;
    group_refuse(&f->op, 16, &f->arena, &out);
    assert_int_equal(((const struct streams_group_topology_description_update_response *)out.answer)->error_code, 16);
}

int run_describe_tests(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(names_are_in_order_and_counts_as_they_count),
        fixture_test(offsets_are_in_order),
        fixture_test(the_answer_stands_alone),
        fixture_test(a_description_is_asked_for_until_it_is_there),
        fixture_test(a_description_is_bounded),
        fixture_test(a_description_has_to_fit_into_the_budget),
        fixture_test(refusals_carry_the_error),
    };
    return cmocka_run_group_tests_name("describe", tests, NULL, NULL);
}
