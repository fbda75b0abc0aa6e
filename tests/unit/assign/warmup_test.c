/* warmup_test.c: with warm-ups a stateful task moves when its state has arrived, and runs that follow one another end at an even assignment. */
#include "shape.h"

enum { FAR = 1000, STEP = 400, ACCEPTABLE = 10 };

static void shape_warm(struct shape *s, int32_t tasks, bool stateful, int32_t processes)
{
    const struct assign_subtopology subtopology = {.tasks = tasks, .stateful = stateful};
    shape_init(s, &subtopology, 1, processes);
    s->warm_up = true;
    s->warmup_replicas = 2;
    s->acceptable_lag = ACCEPTABLE;
}

static int32_t warming(const struct shape *s)
{
    int32_t count = 0;
    for (int32_t m = 0; m < s->member_count; m++) {
        count += s->shares[m].warmup_len;
    }
    return count;
}

/* One member with everything, and one that comes. */
static void begin(struct shape *s)
{
    shape_warm(s, 4, true, 2);
    shape_join(s, 0);
    shape_assign(s);
    shape_take(s);
    shape_join(s, 1);
}

static void test_moves_when_it_has_arrived(void **state)
{
    (void)state;
    struct shape s;
    begin(&s);
    shape_assign(&s);
    assert_int_equal(s.shares[0].active_len, 4); /* no lag is known: far behind */
    assert_int_equal(s.shares[1].warmup_len, 2);
    shape_take(&s);
    int32_t first = s.members[1].warmup.v[0], second = s.members[1].warmup.v[1];
    s.lag[first][1] = ACCEPTABLE + 1;
    s.lag[second][1] = ACCEPTABLE;
    shape_assign(&s);
    assert_int_equal(shape_owner(&s, first), 0);
    assert_int_equal(shape_warms(&s, first), 1);
    assert_int_equal(shape_owner(&s, second), 1);
    shape_take(&s);
    s.lag[first][1] = 0;
    shape_assign(&s);
    assert_int_equal(s.shares[0].active_len, 2);
    assert_int_equal(s.shares[1].active_len, 2);
    assert_int_equal(warming(&s), 0);
    shape_fini(&s);
}

static void test_limit(void **state)
{
    (void)state;
    struct shape s;
    begin(&s);
    s.warmup_replicas = 1;
    shape_assign(&s);
    assert_int_equal(s.shares[1].warmup_len, 1);
    shape_take(&s);
    int32_t first = s.members[1].warmup.v[0];
    for (int run = 0; run < 3; run++) { /* what has begun goes on */
        shape_assign(&s);
        assert_true(shape_settled(&s));
    }
    s.lag[first][1] = 0;
    shape_assign(&s);
    assert_int_equal(shape_owner(&s, first), 1);
    assert_int_equal(s.shares[1].warmup_len, 1); /* the next one */
    s.warmup_replicas = 0;
    shape_assign(&s);
    assert_int_equal(warming(&s), 0);
    assert_int_equal(s.shares[0].active_len, 3);
    shape_fini(&s);
}

static void test_at_once(void **state)
{
    (void)state;
    struct shape s;
    begin(&s);
    s.lag[3][1] = 0; /* on its disk, from before */
    shape_assign(&s);
    assert_int_equal(shape_owner(&s, 3), 1);
    shape_fini(&s);

    begin(&s);
    shape_leave(&s, 0); /* nobody else has the state */
    shape_assign(&s);
    assert_int_equal(s.shares[0].active_len, 4);
    shape_fini(&s);

    shape_warm(&s, 4, false, 2); /* no state, nothing to wait for */
    shape_join(&s, 0);
    shape_assign(&s);
    shape_take(&s);
    shape_join(&s, 1);
    shape_assign(&s);
    assert_int_equal(s.shares[1].active_len, 2);
    shape_fini(&s);

    begin(&s);
    s.members[1].process = 0; /* in the same process the state is there */
    shape_assign(&s);
    assert_int_equal(s.shares[1].active_len, 2);
    assert_int_equal(warming(&s), 0);
    shape_fini(&s);
}

/* What can move now goes before what is still on its way. */
static void test_standby_goes_first(void **state)
{
    (void)state;
    struct shape s;
    shape_warm(&s, 3, true, 3);
    struct shape_member *a = shape_join(&s, 0), *b = shape_join(&s, 1), *c = shape_join(&s, 2);
    for (int32_t t = 0; t < 3; t++) {
        shape_list_add(&a->active, t);
    }
    shape_list_add(&b->warmup, 1);
    shape_list_add(&c->warmup, 2);
    shape_list_add(&b->standby, 0);
    s.lag[0][1] = 0;
    shape_assign(&s);
    assert_int_equal(shape_owner(&s, 0), 1);
    assert_int_equal(warming(&s), 1);
    assert_int_equal(shape_warms(&s, 2), 2);
    shape_fini(&s);
}

/* Its member has left: who has a copy takes the task, also beyond its share, until the other has one. */
static void test_copy_takes_over(void **state)
{
    (void)state;
    struct shape s;
    shape_warm(&s, 6, true, 3);
    struct shape_member *a = shape_join(&s, 0), *b = shape_join(&s, 1);
    shape_join(&s, 2);
    for (int32_t t = 0; t < 6; t++) {
        shape_list_add(t < 2 ? &a->active : &b->standby, t);
    }
    shape_assign(&s);
    for (int32_t t = 2; t < 6; t++) {
        assert_int_equal(shape_owner(&s, t), 1);
    }
    assert_int_equal(s.shares[2].warmup_len, 2);
    shape_fini(&s);
}

/* A member whose topology is not the group's gives its tasks up, whatever their lag. */
static void test_idle_owner(void **state)
{
    (void)state;
    struct shape s;
    begin(&s);
    s.members[0].idle = true;
    shape_assign(&s);
    assert_int_equal(s.shares[1].active_len, 4);
    shape_join(&s, 0); /* but its process has the state */
    shape_assign(&s);
    assert_int_equal(s.shares[2].active_len, 4);
    assert_int_equal(s.shares[1].warmup_len, 2);
    shape_fini(&s);
}

/* ---- any history --------------------------------------------------------------------------------------------------------------------- */

static void check_moves(const struct shape *s)
{
    for (int32_t t = 0; t < s->tasks && s->member_count > 0; t++) {
        int32_t was = shape_was_active(s, t), to = s->members[shape_owner(s, t)].process;
        if (!shape_stateful(s, t) || (was >= 0 && s->members[was].process == to)) {
            continue;
        }
        bool arrived = s->lag[t][to] >= 0 && s->lag[t][to] <= s->acceptable_lag;
        if (was >= 0) {
            assert_true(arrived);
        }
        for (int32_t p = 0; p < s->process_count && !arrived && !shape_process_has(s, t, to) && s->lag[t][to] < 0; p++) {
            assert_true(shape_crew(s, p) == 0 || (!shape_process_has(s, t, p) && s->lag[t][p] < 0));
        }
    }
}

/* Whoever has a copy catches up. */
static void catch_up(struct shape *s)
{
    for (int32_t t = 0; t < s->tasks; t++) {
        for (int32_t p = 0; p < s->process_count; p++) {
            if (shape_stateful(s, t) && shape_process_has(s, t, p)) {
                int64_t lag = s->lag[t][p] < 0 ? FAR : s->lag[t][p] - STEP;
                s->lag[t][p] = lag > 0 ? lag : 0;
            }
        }
        int32_t was = shape_was_active(s, t);
        if (was >= 0) {
            s->lag[t][s->members[was].process] = 0;
        }
    }
}

static bool even(const struct shape *s)
{
    int32_t least = SHAPE_TASKS, most = 0;
    for (int32_t m = 0; m < s->member_count; m++) {
        least = s->shares[m].active_len < least ? s->shares[m].active_len : least;
        most = s->shares[m].active_len > most ? s->shares[m].active_len : most;
    }
    return s->member_count == 0 || most - least <= 1;
}

/* Runs until nothing changes any more; how often. */
static int settle(struct shape *s)
{
    for (int run = 1;; run++) {
        assert_true(run < 6 * SHAPE_TASKS);
        shape_assign(s);
        check_moves(s);
        bool quiet = shape_settled(s);
        shape_take(s);
        if (quiet && even(s) && warming(s) == 0) {
            return run;
        }
        catch_up(s);
    }
}

static void test_ends_even(void **state)
{
    (void)state;
    struct prng p;
    prng_seed(&p, 6);
    int warmed = 0;
    for (int round = 0; round < 60; round++) {
        struct shape s;
        shape_draw(&s, &p, (struct shape_bounds){.tasks = 30, .members = 5, .processes = 5, .replicas = 2, .tags = 1});
        s.warm_up = true;
        s.warmup_replicas = 1 + (int32_t)prng_below(&p, 4);
        s.acceptable_lag = ACCEPTABLE;
        for (int step = 0; step < 10; step++) {
            if (s.member_count == 0 || (s.member_count < 10 && prng_below(&p, 5) < 3)) {
                shape_join(&s, (int32_t)prng_below(&p, (uint64_t)s.process_count));
            } else {
                shape_leave(&s, (int32_t)prng_below(&p, (uint64_t)s.member_count));
            }
            if (prng_below(&p, 3) == 0) { /* the next change comes before this one is over */
                shape_assign(&s);
                check_moves(&s);
                shape_take(&s);
            } else {
                warmed += settle(&s) > 3;
            }
        }
        shape_fini(&s);
    }
    assert_true(warmed > 50);
}

/* While nothing arrives a run gives what the one before gave, but for a task that finds a better member in its process once others have come to rest. */
static void test_done_again(void **state)
{
    (void)state;
    struct prng p;
    prng_seed(&p, 7);
    int once = 0; /* of 1,800 */
    for (int round = 0; round < 300; round++) {
        struct shape s;
        shape_draw(&s, &p, (struct shape_bounds){.tasks = 30, .members = 4, .processes = 5, .replicas = 2, .tags = 1});
        s.warm_up = true;
        s.warmup_replicas = (int32_t)prng_below(&p, 5);
        s.acceptable_lag = ACCEPTABLE;
        shape_assign(&s);
        shape_take(&s);
        for (int step = 0; step < 6; step++) {
            shape_join(&s, (int32_t)prng_below(&p, (uint64_t)s.process_count));
            shape_assign(&s);
            shape_take(&s);
            shape_assign(&s);
            for (int32_t t = 0; t < s.tasks; t++) {
                assert_int_equal(s.members[shape_owner(&s, t)].process, s.members[shape_was_active(&s, t)].process);
            }
            once += shape_settled(&s);
            shape_take(&s);
            shape_assign(&s);
            assert_true(shape_settled(&s));
        }
        shape_fini(&s);
    }
    assert_true(once > 1750);
}

int run_warmup_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_moves_when_it_has_arrived),
        cmocka_unit_test(test_limit),
        cmocka_unit_test(test_at_once),
        cmocka_unit_test(test_standby_goes_first),
        cmocka_unit_test(test_copy_takes_over),
        cmocka_unit_test(test_idle_owner),
        cmocka_unit_test(test_ends_even),
        cmocka_unit_test(test_done_again),
    };
    return cmocka_run_group_tests_name("warm-up", tests, NULL, NULL);
}
