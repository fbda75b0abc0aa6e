/* office_test.c: who led the shard: what is recorded, how much of it is kept, and whom it is shown. */
#include "tests.h"

#include "group_world.h"
#include "history/history.h"

typedef struct group_history_response_coordinator_move shown_move;

struct fixture {
    struct world w;
    const char *rule; /* of the newest decision that nobody waited for */
    size_t records;
    struct arena arena;
};

static void silent(void *ctx, const struct group_op *op, const struct group_out *out)
{
    struct fixture *f = ctx;
    (void)op;
    f->rule = out->rule;
    f->records = out->records.len;
}

static void no_answer(void *ctx, const struct world_request *request, const struct group_out *out)
{
    (void)ctx, (void)request, (void)out;
}

static int setup(void **state)
{
    struct fixture *f = test_calloc(1, sizeof *f);
    struct world_events events = {.ctx = f, .answer = no_answer, .waits = no_answer, .asked = no_answer, .silent = silent};
    arena_init(&f->arena, 0);
    world_init(&f->w, &events);
    world_level(&f->w, OFFICE_FEATURE_LEVEL);
    f->w.now_ms = 1000;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    world_fini(&f->w);
    arena_fini(&f->arena);
    test_free(f);
    return 0;
}

/* The node takes office in that term; the one before led in from_term. */
static void take(struct fixture *f, int32_t node, int64_t term, int32_t from, int64_t from_term)
{
    struct group_office office = {.node_id = node,
                                  .from_node_id = from,
                                  .term = term,
                                  .from_term = from_term,
                                  .clock_ms = f->w.now_ms,
                                  .wall_ms = 7000 + f->w.now_ms,
                                  .silent_ms = 40,
                                  .handed_over = true};
    struct group_op op = {.kind = SHARD_OFFICE, .api_key = -1, .group_id = STR_NULL, .office = &office};
    world_run(&f->w, &op);
}

static void commit(struct fixture *f, const char *group)
{
    struct world_request *r = world_request_new("c");
    struct offset_commit_request *q = ARENA_NEW(&r->arena, struct offset_commit_request, 1);
    wire_init(&wire_offset_commit_request, q);
    q->topics.v = ARENA_NEW(&r->arena, struct offset_commit_request_topic, 1);
    q->topics.len = 1;
    q->topics.v[0].name = STR("t");
    q->topics.v[0].partitions.v = ARENA_NEW(&r->arena, struct offset_commit_request_partition, 1);
    q->topics.v[0].partitions.len = 1;
    q->topics.v[0].partitions.v[0] = (struct offset_commit_request_partition){.committed_offset = 1, .committed_metadata = STR_NULL};
    q->group_id = str_of(group);
    r->op = (struct group_op){.kind = GROUP_OFFSET_COMMIT, .api_version = 8, .group_id = q->group_id, .request = q};
    r->op.caller = (struct group_caller){STR("c"), STR("/h")};
    world_submit(&f->w, r);
}

static int32_t shown(struct fixture *f, const char *group, const shown_move **ret)
{
    struct group_op op = {.kind = GROUP_HISTORY,
                          .api_key = -1,
                          .group_id = str_of(group),
                          .settings = &f->w.settings,
                          .catalog = f->w.shard0,
                          .topics = &f->w.topics};
    struct group_out out;
    group_decide(f->w.set, &op, &f->arena, &out);
    const struct group_history_response *answer = out.answer;
    *ret = answer->coordinator_moves.v;
    return answer->coordinator_moves.len;
}

static void a_move_is_recorded_and_shown(void **state)
{
    struct fixture *f = *state;
    const shown_move *m;
    world_topic_set(&f->w, "t", 1);
    commit(f, "g");
    assert_int_equal(shown(f, "g", &m), 0);
    f->w.now_ms = 2000;
    take(f, 1, 7, 2, 5);
    assert_string_equal(f->rule, "office: recorded");
    assert_int_equal(shown(f, "g", &m), 1);
    assert_true(m->node_id == 1 && m->from_node_id == 2 && m->term == 7 && m->silent_ms == 40 && m->handed_over);
    assert_true(m->clock_ms == 2000 && m->wall_ms == 9000);
}

static void nothing_is_recorded_twice_or_below_its_level(void **state)
{
    struct fixture *f = *state;
    take(f, 1, 7, 2, 5);
    take(f, 1, 7, 2, 5);
    assert_string_equal(f->rule, "office: recorded already");
    assert_int_equal(f->records, 0);
    assert_int_equal(f->w.set->office_count, 1);
    f->w.settings.history_max_entries = 0;
    take(f, 2, 8, 1, 7);
    assert_string_equal(f->rule, "office: no history is kept");
    f->w.settings.history_max_entries = 5;
    world_level(&f->w, OFFICE_FEATURE_LEVEL - 1);
    take(f, 2, 8, 1, 7);
    assert_string_equal(f->rule, "office: no history is kept");
    assert_int_equal(f->w.set->office_count, 1);
    world_level(&f->w, OFFICE_FEATURE_LEVEL);
    take(f, 1, 9, 1, 7); /* the same node in another term */
    assert_string_equal(f->rule, "office: recorded");
    assert_int_equal(f->w.set->office_count, 2);
}

/* What the log has is believed where it is newer than what the node saw: it was away, or has just been started. */
static void who_led_before_is_the_newest_that_is_known(void **state)
{
    struct fixture *f = *state;
    struct group_office v;
    take(f, 1, 7, -1, 0);
    assert_true(group_set_office(f->w.set, 0, &v) && v.from_node_id == -1 && v.silent_ms == 40);
    take(f, 2, 8, -1, 0);
    assert_true(group_set_office(f->w.set, 0, &v) && v.from_node_id == 1 && v.silent_ms == -1 && !v.handed_over);
    take(f, 3, 11, 1, 9); /* who led in term 9 was not there long enough to be recorded */
    assert_true(group_set_office(f->w.set, 0, &v) && v.from_node_id == 1 && v.silent_ms == 40 && v.handed_over);
    take(f, 1, 12, 3, 11);
    assert_true(group_set_office(f->w.set, 0, &v) && v.from_node_id == 3 && v.silent_ms == 40);
}

static void the_newest_are_kept(void **state)
{
    struct fixture *f = *state;
    struct group_office v;
    int64_t bytes = 0;
    for (int32_t i = 1; i <= 100; i++) {
        struct group_set_counts counts;
        take(f, 1 + i % 3, i, 1 + (i - 1) % 3, i - 1);
        group_set_counts(f->w.set, &counts);
        assert_true(i <= OFFICES_KEPT || counts.bytes == bytes);
        bytes = counts.bytes;
    }
    assert_int_equal(f->w.set->office_count, OFFICES_KEPT);
    assert_true(group_set_office(f->w.set, OFFICES_KEPT - 1, &v) && v.term == 100 - OFFICES_KEPT + 1);
    assert_true(group_set_office(f->w.set, 0, &v) && v.term == 100);
    assert_false(group_set_office(f->w.set, OFFICES_KEPT, &v));
    struct pool pool = {0};
    struct group_set *copy = world_restored(&f->w, &pool, 1);
    assert_true(copy != NULL && copy->office_count == OFFICES_KEPT && group_set_hash(copy) == group_set_hash(f->w.set));
    group_set_free(copy);
    assert_int_equal(pool.bytes, 0);
    group_set_clear(f->w.set);
    assert_true(f->w.set->office_count == 0 && group_set_hash(f->w.set) == 0);
}

/* A group is shown what has come since it exists, however much has happened to it meanwhile; and after a restart, too. */
static void a_group_is_shown_what_came_behind_it(void **state)
{
    struct fixture *f = *state;
    const shown_move *m;
    world_topic_set(&f->w, "t", 1);
    take(f, 1, 5, 3, 4);
    f->w.now_ms = 2000;
    commit(f, "early");
    f->w.now_ms = 3000;
    take(f, 2, 6, 1, 5);
    f->w.now_ms = 4000;
    commit(f, "late");
    f->w.now_ms = 5000;
    take(f, 3, 7, 2, 6);
    assert_int_equal(shown(f, "early", &m), 2);
    assert_true(m[0].node_id == 2 && m[1].node_id == 3);
    assert_int_equal(shown(f, "late", &m), 1);
    assert_int_equal(m->node_id, 3);
    commit(f, "early");
    assert_int_equal(shown(f, "early", &m), 2);
    assert_int_equal(shown(f, "unknown", &m), 0);
    struct pool pool = {0};
    struct group_set *copy = world_restored(&f->w, &pool, 1), *living = f->w.set;
    f->w.set = copy;
    assert_int_equal(shown(f, "early", &m), 2);
    assert_int_equal(shown(f, "late", &m), 1);
    f->w.set = living;
    group_set_free(copy);
}

int run_office_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_move_is_recorded_and_shown, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_recorded_twice_or_below_its_level, setup, teardown),
        cmocka_unit_test_setup_teardown(who_led_before_is_the_newest_that_is_known, setup, teardown),
        cmocka_unit_test_setup_teardown(the_newest_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(a_group_is_shown_what_came_behind_it, setup, teardown),
    };
    return cmocka_run_group_tests_name("office", tests, NULL, NULL);
}
