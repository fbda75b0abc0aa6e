#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "timer.h"

static struct group_timer session(const char *group, const char *member)
{
    return (struct group_timer){.kind = GROUP_TIMER_SESSION, .group_id = str_of(group), .member_id = str_of(member)};
}

static void test_fires_in_order_of_deadlines(void **state)
{
    (void)state;
    struct timer_set t;
    timer_set_init(&t);
    struct group_timer a = session("g", "a"), b = session("g", "b"), c = session("g", "c");
    timer_arm(&t, &a, 300, 0);
    timer_arm(&t, &b, 100, 0);
    timer_arm(&t, &c, 200, 0);
    assert_int_equal(timer_next_us(&t), 100);
    assert_null(timer_fire(&t, 99));
    const char *order[] = {"b", "c", "a"};
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        struct timer *fired = timer_fire(&t, 1000);
        assert_non_null(fired);
        assert_true(str_eq(fired->what.member_id, str_of(order[i])));
        struct group_timer what = fired->what;
        timer_decided(&t, &what, fired->serial);
    }
    assert_null(timer_fire(&t, 1000));
    assert_int_equal(t.count, 0);
    assert_int_equal(timer_next_us(&t), INT64_MAX);
    timer_set_fini(&t);
}

static void test_a_heartbeat_moves_the_deadline(void **state)
{
    (void)state;
    struct timer_set t;
    timer_set_init(&t);
    struct group_timer a = session("g", "a");
    timer_arm(&t, &a, 100, 7);
    timer_arm(&t, &a, 500, 0);
    assert_null(timer_fire(&t, 499));
    struct timer *fired = timer_fire(&t, 500);
    assert_non_null(fired);
    assert_int_equal(fired->connection, 7);
    timer_set_fini(&t);
}

static void test_an_earlier_deadline_is_kept(void **state)
{
    (void)state;
    struct timer_set t;
    timer_set_init(&t);
    struct group_timer a = session("g", "a"), b = session("g", "b");
    timer_arm(&t, &a, 500, 0);
    timer_arm(&t, &b, 300, 0);
    timer_arm(&t, &a, 100, 0);
    struct timer *fired = timer_fire(&t, 100);
    assert_non_null(fired);
    assert_true(str_eq(fired->what.member_id, STR("a")));
    timer_set_fini(&t);
}

static void test_armed_again_while_its_decision_waits(void **state)
{
    (void)state;
    struct timer_set t;
    timer_set_init(&t);
    struct group_timer a = session("g", "a");
    timer_arm(&t, &a, 100, 0);
    struct timer *fired = timer_fire(&t, 100);
    uint64_t serial = fired->serial;
    timer_arm(&t, &a, 900, 0);
    assert_int_not_equal(timer_find(&t, &a)->serial, serial);
    timer_decided(&t, &a, serial);
    assert_non_null(timer_find(&t, &a));
    assert_non_null(timer_fire(&t, 900));
    timer_set_fini(&t);
}

static void test_names(void **state)
{
    (void)state;
    struct timer_set t;
    timer_set_init(&t);
    struct group_timer a = session("g", "a"), other_group = session("h", "a");
    struct group_timer rebalance = {.kind = GROUP_TIMER_REBALANCE, .group_id = STR("g"), .member_id = STR_NULL};
    struct group_timer rebalance_empty = {.kind = GROUP_TIMER_REBALANCE, .group_id = STR("g"), .member_id = STR("")};
    timer_arm(&t, &a, 100, 0);
    timer_arm(&t, &other_group, 100, 0);
    timer_arm(&t, &rebalance, 100, 0);
    timer_arm(&t, &rebalance_empty, 200, 0); /* the same name */
    assert_int_equal(t.count, 3);
    timer_cancel(&t, &a);
    assert_null(timer_find(&t, &a));
    assert_non_null(timer_find(&t, &other_group));
    assert_int_equal(t.count, 2);
    timer_set_fini(&t);
}

static int number_of(struct str member_id)
{
    int number = 0;
    for (int32_t i = 1; i < member_id.len; i++)
        number = 10 * number + (member_id.ptr[i] - '0');
    return number;
}

/* Against a slow obvious twin: an array of deadlines. */
static void test_against_a_twin(void **state)
{
    (void)state;
    enum { NAMES = 200, STEPS = 20000 };
    int64_t twin[NAMES];
    char names[NAMES][16];
    struct timer_set t;
    struct prng random;
    int64_t now = 0;
    prng_seed(&random, 4);
    timer_set_init(&t);
    for (int i = 0; i < NAMES; i++) {
        twin[i] = -1;
        snprintf(names[i], sizeof(names[i]), "m%d", i);
    }
    for (int step = 0; step < STEPS; step++) {
        int i = (int)prng_below(&random, NAMES);
        struct group_timer what = session("g", names[i]);
        switch (prng_below(&random, 4)) {
        case 0:
        case 1:
            twin[i] = now + 1 + (int64_t)prng_below(&random, 1000);
            timer_arm(&t, &what, twin[i], 0);
            break;
        case 2:
            twin[i] = -1;
            timer_cancel(&t, &what);
            break;
        default:
            now += (int64_t)prng_below(&random, 50);
            for (struct timer *f; (f = timer_fire(&t, now)) != NULL;) {
                int who = number_of(f->what.member_id);
                assert_in_range(twin[who], 0, now);
                twin[who] = -1;
                struct group_timer fired = session("g", names[who]);
                timer_decided(&t, &fired, f->serial);
            }
            for (int k = 0; k < NAMES; k++)
                assert_true(twin[k] == -1 || twin[k] > now);
            break;
        }
    }
    timer_set_fini(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fires_in_order_of_deadlines),
        cmocka_unit_test(test_a_heartbeat_moves_the_deadline),
        cmocka_unit_test(test_an_earlier_deadline_is_kept),
        cmocka_unit_test(test_armed_again_while_its_decision_waits),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_against_a_twin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
