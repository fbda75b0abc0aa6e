/* Commits of members of a streams group against the rule said again, slowly: with its own epoch a member may commit anything; with an earlier one only partitions
 * of tasks that it has, or is giving up, and was given by then. One partition that fails fails them all. */
#include "fixture.h"

enum { TOPICS = 4, PARTITIONS = 3, SUBTOPOLOGIES = 3, ROUNDS = 2000 };

static const char *const topic_names[TOPICS] = {"t0", "t1", "t2", "rep"};
static const char *const subtopology_ids[SUBTOPOLOGIES] = {"0", "1", "10"};
/* Who reads what: t0 by two of them, t2 by nobody, rep as a repartition topic. */
static const bool reads[SUBTOPOLOGIES][TOPICS] = {{true, true, false, false}, {true, false, false, true}, {false, false, false, true}};

static void make_topology(struct fixture *f)
{
    struct streams_group_topology_value t;
    wire_init(&wire_streams_group_topology_value, &t);
    t.topology_id = STR("id");
    t.subtopologies.len = SUBTOPOLOGIES;
    t.subtopologies.v = ARENA_NEW(&f->arena, struct streams_group_topology_value_subtopology, SUBTOPOLOGIES);
    for (int s = 0; s < SUBTOPOLOGIES; s++) {
        struct streams_group_topology_value_subtopology *to = &t.subtopologies.v[s];
        to->subtopology_id = str_of(subtopology_ids[s]);
        to->source_topics.v = ARENA_NEW(&f->arena, struct str, TOPICS);
        to->repartition_source_topics.v = ARENA_NEW(&f->arena, struct streams_group_topology_value_topic_info, 1);
        for (int i = 0; i < TOPICS - 1; i++) {
            if (reads[s][i]) {
                to->source_topics.v[to->source_topics.len++] = str_of(topic_names[i]);
            }
        }
        if (reads[s][TOPICS - 1]) {
            to->repartition_source_topics.v[to->repartition_source_topics.len++].name = str_of(topic_names[TOPICS - 1]);
        }
    }
    fixture_group(f, 9, &t);
}

struct tasks {
    int32_t epoch[SUBTOPOLOGIES][PARTITIONS]; /* 0: it has not got it */
    bool revoking[SUBTOPOLOGIES][PARTITIONS];
};

static struct member_position random_position(struct fixture *f, struct prng *p, struct tasks *ret)
{
    struct member_position position = {.epoch = 2 + (int32_t)prng_below(p, 6), .state = MEMBER_STABLE};
    struct unit_list assigned, revoking, standby;
    unit_list_init(&assigned, &f->arena);
    unit_list_init(&revoking, &f->arena);
    unit_list_init(&standby, &f->arena);
    *ret = (struct tasks){0};
    for (int s = 0; s < SUBTOPOLOGIES; s++) {
        for (int32_t i = 0; i < PARTITIONS; i++) {
            int32_t epoch = 1 + (int32_t)prng_below(p, (uint64_t)position.epoch);
            int which = (int)prng_below(p, 4);
            if (which >= 2) { /* nothing, or a standby task: no right to commit */
                unit_list_add(&standby, str_of(subtopology_ids[s]), i, 0);
                continue;
            }
            unit_list_add(which == 0 ? &assigned : &revoking, str_of(subtopology_ids[s]), i, epoch);
            ret->epoch[s][i] = epoch;
            ret->revoking[s][i] = which == 1;
        }
    }
    position.assigned.kind[UNITS_ACTIVE] = unit_list_finish(&assigned);
    position.assigned.kind[UNITS_STANDBY] = unit_list_finish(&standby);
    position.revoking.kind[UNITS_ACTIVE] = unit_list_finish(&revoking);
    return position;
}

static bool partition_ok(const struct tasks *tasks, int32_t member_epoch, int32_t epoch, int topic, int32_t partition)
{
    for (int s = 0; s < SUBTOPOLOGIES; s++) {
        int32_t given = tasks->epoch[s][partition];
        if (reads[s][topic] && given > 0 && given <= epoch && epoch <= member_epoch) {
            return true;
        }
    }
    return epoch == member_epoch;
}

static struct offset_commit_request *request_new(struct fixture *f, int32_t epoch, int topics)
{
    struct offset_commit_request *r = ARENA_NEW(&f->arena, struct offset_commit_request, 1);
    wire_init(&wire_offset_commit_request, r);
    r->group_id = STR("g");
    r->member_id = STR("m");
    r->generation_id_or_member_epoch = epoch;
    r->topics.v = ARENA_NEW(&f->arena, struct offset_commit_request_topic, topics);
    return r;
}

static void add_partition(struct fixture *f, struct offset_commit_request *r, int topic, int32_t partition)
{
    struct offset_commit_request_topic *t = &r->topics.v[r->topics.len++];
    wire_init_type(wire_offset_commit_request.type->fields[5].type, t);
    t->name = str_of(topic_names[topic]);
    t->partitions.len = 1;
    t->partitions.v = ARENA_NEW(&f->arena, struct offset_commit_request_partition, 1);
    t->partitions.v[0] = (struct offset_commit_request_partition){.partition_index = partition,
                                                                  .committed_offset = 5,
                                                                  .committed_leader_epoch = -1,
                                                                  .committed_metadata = STR("")};
}

static void commits_follow_the_rule(void **state)
{
    struct fixture *f = *state;
    struct prng p;
    prng_seed(&p, 7);
    for (int i = 0; i < TOPICS; i++) {
        fixture_topic(f, topic_names[i], PARTITIONS);
    }
    make_topology(f);
    int taken = 0, refused = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct tasks tasks;
        struct member_position position = random_position(f, &p, &tasks);
        fixture_member(f, "m", &position);
        int32_t epoch = (int32_t)prng_below(&p, 9);
        int count = 1 + (int)prng_below(&p, 3);
        struct offset_commit_request *r = request_new(f, epoch, count);
        bool ok = epoch <= position.epoch;
        for (int i = 0; i < count; i++) {
            int topic = (int)prng_below(&p, TOPICS);
            int32_t partition = (int32_t)prng_below(&p, PARTITIONS);
            add_partition(f, r, topic, partition);
            ok = ok && partition_ok(&tasks, position.epoch, epoch, topic, partition);
        }
        struct group_out out = fixture_decide(f, GROUP_OFFSET_COMMIT, 9, r);
        const struct offset_commit_response *answer = out.answer;
        for (int i = 0; i < count; i++) {
            assert_int_equal(answer->topics.v[i].partitions.v[0].error_code, ok ? 0 : 113);
        }
        assert_int_equal(out.records.len, ok ? count : 0);
        taken += ok;
        refused += !ok;
        arena_clear(&f->arena);
    }
    assert_true(taken > ROUNDS / 10 && refused > ROUNDS / 10);
}

static void one_partition_that_is_not_there_is_refused_alone(void **state)
{
    struct fixture *f = *state;
    fixture_topic(f, "t0", PARTITIONS);
    make_topology(f);
    struct unit_list assigned;
    unit_list_init(&assigned, &f->arena);
    unit_list_add(&assigned, STR("0"), 1, 2);
    struct member_position position = {.epoch = 4, .state = MEMBER_STABLE};
    position.assigned.kind[UNITS_ACTIVE] = unit_list_finish(&assigned);
    fixture_member(f, "m", &position);
    struct offset_commit_request *r = request_new(f, 3, 2);
    add_partition(f, r, 0, 1);
    add_partition(f, r, 0, 9);
    struct group_out out = fixture_decide(f, GROUP_OFFSET_COMMIT, 9, r);
    const struct offset_commit_response *answer = out.answer;
    assert_int_equal(answer->topics.v[0].partitions.v[0].partition_index, 9);
    assert_int_equal(answer->topics.v[0].partitions.v[0].error_code, 3);
    assert_int_equal(answer->topics.v[0].partitions.v[1].error_code, 0);
}

/* A static member that is away has epoch -2, and may use just that. */
static void a_member_that_is_away(void **state)
{
    struct fixture *f = *state;
    fixture_topic(f, "t0", PARTITIONS);
    make_topology(f);
    struct unit_list assigned;
    unit_list_init(&assigned, &f->arena);
    unit_list_add(&assigned, STR("0"), 1, 0);
    struct member_position position = {.epoch = -2, .previous_epoch = 4, .state = MEMBER_STABLE};
    position.assigned.kind[UNITS_ACTIVE] = unit_list_finish(&assigned);
    fixture_member(f, "m", &position);
    for (int32_t epoch = -3; epoch < 6; epoch++) {
        struct offset_commit_request *r = request_new(f, epoch, 1);
        add_partition(f, r, 0, 1);
        struct group_out out = fixture_decide(f, GROUP_OFFSET_COMMIT, 9, r);
        const struct offset_commit_response *answer = out.answer;
        assert_int_equal(answer->topics.v[0].partitions.v[0].error_code, epoch == -2 ? 0 : 113);
        struct offset_fetch_request_group fetch = {.group_id = STR("g"),
                                                   .member_id = STR("m"),
                                                   .member_epoch = epoch,
                                                   .topics = {.len = -1}};
        out = fixture_decide(f, GROUP_OFFSET_FETCH, 9, &fetch);
        assert_int_equal(out.error, epoch == -2 ? 0 : 113);
    }
}

int run_commit_tests(void)
{
    const struct CMUnitTest tests[] = {
        fixture_test(commits_follow_the_rule),
        fixture_test(one_partition_that_is_not_there_is_refused_alone),
        fixture_test(a_member_that_is_away),
    };
    return cmocka_run_group_tests_name("commit", tests, NULL, NULL);
}
