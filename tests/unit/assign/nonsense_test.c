/* nonsense_test.c: whatever the input says, each task is active once and nothing falls over. */
#include "shape.h"

#include <string.h>

static int32_t any_number(struct prng *p)
{
    static const int32_t odd[] = {-1, INT32_MIN, INT32_MAX, 1000, SHAPE_TASKS};
    return prng_below(p, 6) == 0 ? odd[prng_below(p, COUNT_OF(odd))] : (int32_t)prng_below(p, SHAPE_TASKS);
}

static void draw_list(struct shape_list *list, struct prng *p)
{
    for (uint64_t n = prng_below(p, 12); n > 0; n--) {
        shape_list_add(list, any_number(p));
    }
}

static void test_any_lists(void **state)
{
    (void)state;
    struct prng p;
    prng_seed(&p, 4);
    for (int round = 0; round < 3000; round++) {
        struct shape s;
        shape_draw(&s, &p, (struct shape_bounds){.tasks = 30, .members = 8, .processes = 5, .replicas = 9, .tags = 2});
        s.warm_up = prng_below(&p, 2) == 0;
        s.warmup_replicas = (int32_t)prng_below(&p, 5) - 1;
        s.standby_replicas -= prng_below(&p, 8) == 0 ? 20 : 0;
        s.acceptable_lag = (int64_t)prng_below(&p, 3) - 1;
        for (int32_t m = 0; m < s.member_count; m++) {
            draw_list(&s.members[m].active, &p); /* tasks that do not exist, at several members, more than once, in no order */
            draw_list(&s.members[m].standby, &p);
            draw_list(&s.members[m].warmup, &p);
            draw_list(&s.members[m].letting_go, &p);
            s.members[m].idle = prng_below(&p, 4) == 0;
        }
        for (int32_t i = 0; i < 10; i++) {
            s.lag[prng_below(&p, SHAPE_TASKS)][prng_below(&p, SHAPE_MEMBERS)] = (int64_t)prng_below(&p, 4);
        }
        shape_assign(&s);
        shape_fini(&s);
    }
}

static void test_odd_lags(void **state)
{
    (void)state;
    const struct assign_subtopology stateful = {.tasks = 4, .stateful = true};
    struct assign_lag lags[] = {{-5, 0, 3}, {0, -1, 2}, {0, 7, 1}, {1, 1, -40}, {9, 1, 1}, {INT32_MAX, INT32_MAX, INT64_MAX}};
    struct shape s;
    shape_init(&s, &stateful, 1, 2);
    shape_join(&s, 0);
    shape_join(&s, 1);
    shape_assign(&s);
    s.in.warm_up = true;
    s.in.warmup_replicas = INT32_MAX;
    s.in.acceptable_lag = INT64_MAX;
    s.in.lags = lags;
    s.in.lag_count = COUNT_OF(lags);
    s.shares = assign_tasks(&s.in, &s.arena);
    assert_int_equal(s.shares[0].active_len + s.shares[1].active_len, 4);
    assert_int_equal(assign_lag_of(&s.in, 1, 1), 0); /* ahead of the end it knows */
    assert_int_equal(assign_lag_of(&s.in, 1, 0), -1);
    shape_fini(&s);
}

static void test_nothing(void **state)
{
    (void)state;
    struct shape s;
    shape_init(&s, NULL, 0, 0);
    shape_assign(&s); /* no tasks, no members, no processes */
    shape_fini(&s);
    const struct assign_subtopology two[] = {{0, true}, {3, false}};
    shape_init(&s, two, 2, 2);
    shape_assign(&s); /* nobody to have them */
    struct shape_member *m = shape_join(&s, 0);
    m->idle = true;
    shape_assign(&s); /* nor here */
    assert_int_equal(s.shares[0].active_len, 0);
    shape_join(&s, 1);
    shape_assign(&s);
    assert_int_equal(s.shares[1].active_len, 3);
    shape_fini(&s);
}

static void test_same_input_same_result(void **state)
{
    (void)state;
    struct prng p;
    prng_seed(&p, 5);
    for (int round = 0; round < 100; round++) {
        struct shape s;
        shape_draw(&s, &p, (struct shape_bounds){.tasks = 40, .members = 10, .processes = 6, .replicas = 2, .tags = 2});
        shape_assign(&s);
        struct shape again = s;
        arena_init(&again.arena, 0);
        shape_assign(&again);
        for (int32_t m = 0; m < s.member_count; m++) {
            assert_int_equal(s.shares[m].active_len, again.shares[m].active_len);
            assert_int_equal(s.shares[m].standby_len, again.shares[m].standby_len);
            assert_memory_equal(s.shares[m].active, again.shares[m].active, (size_t)s.shares[m].active_len * sizeof(int32_t));
            assert_memory_equal(s.shares[m].standby, again.shares[m].standby, (size_t)s.shares[m].standby_len * sizeof(int32_t));
        }
        shape_fini(&again);
        shape_fini(&s);
    }
}

int run_nonsense_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_lists),
        cmocka_unit_test(test_odd_lags),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_same_input_same_result),
    };
    return cmocka_run_group_tests_name("nonsense", tests, NULL, NULL);
}
