/* active_test.c: active tasks: even, and moved least. Small shapes are held against every assignment there is. */
#include "shape.h"

#include <string.h>

/* ---- the twin: all assignments, one after the other ---------------------------------------------------------------------------------- */

struct cost {
    int32_t spread; /* between the member with most tasks and that with fewest */
    int32_t moves, stateful_moves;
};

struct twin {
    const struct shape *s;
    int32_t was[SHAPE_TASKS];
    bool stateful[SHAPE_TASKS];
};

static struct twin twin_of(const struct shape *s)
{
    struct twin twin = {.s = s};
    for (int32_t t = 0; t < s->tasks; t++) {
        twin.was[t] = shape_was_active(s, t);
        twin.stateful[t] = shape_stateful(s, t);
    }
    return twin;
}

static struct cost cost_of(const struct twin *twin, const int32_t *owner)
{
    struct cost c = {0, 0, 0};
    int32_t held[SHAPE_MEMBERS] = {0}, least = SHAPE_TASKS, most = 0;
    for (int32_t t = 0; t < twin->s->tasks; t++) {
        bool moves = twin->was[t] >= 0 && twin->was[t] != owner[t];
        held[owner[t]]++;
        c.moves += moves;
        c.stateful_moves += moves && twin->stateful[t];
    }
    for (int32_t m = 0; m < twin->s->member_count; m++) {
        if (!twin->s->members[m].idle) {
            least = held[m] < least ? held[m] : least;
            most = held[m] > most ? held[m] : most;
        }
    }
    c.spread = most - least;
    return c;
}

static int cost_cmp(struct cost a, struct cost b)
{
    bool even_a = a.spread <= 1, even_b = b.spread <= 1;
    if (even_a != even_b) {
        return even_a ? -1 : 1;
    }
    return a.moves != b.moves ? a.moves - b.moves : a.stateful_moves - b.stateful_moves;
}

/* The next assignment to members that work; false: that was the last. */
static bool next_assignment(const struct shape *s, int32_t *owner)
{
    for (int32_t t = 0; t < s->tasks; t++) {
        do {
            owner[t]++;
        } while (owner[t] < s->member_count && s->members[owner[t]].idle);
        if (owner[t] < s->member_count) {
            return true;
        }
        for (owner[t] = 0; s->members[owner[t]].idle; owner[t]++) {
        }
    }
    return false;
}

static struct cost best_cost(const struct twin *twin)
{
    int32_t owner[SHAPE_TASKS] = {0};
    struct cost best = {SHAPE_TASKS, SHAPE_TASKS, SHAPE_TASKS};
    for (int32_t t = 0; t < twin->s->tasks; t++) {
        while (twin->s->members[owner[t]].idle) {
            owner[t]++;
        }
    }
    do {
        struct cost c = cost_of(twin, owner);
        best = cost_cmp(c, best) < 0 ? c : best;
    } while (next_assignment(twin->s, owner));
    return best;
}

static struct cost own_cost(const struct twin *twin)
{
    int32_t owner[SHAPE_TASKS];
    for (int32_t t = 0; t < twin->s->tasks; t++) {
        owner[t] = shape_owner(twin->s, t);
    }
    return cost_of(twin, owner);
}

/* Any history at all: what members have is drawn. */
static void draw_history(struct shape *s, struct prng *p)
{
    for (int32_t t = 0; t < s->tasks; t++) {
        int32_t m = (int32_t)prng_below(p, (uint64_t)s->member_count + 1);
        if (m < s->member_count) {
            shape_list_add(&s->members[m].active, t);
        }
        m = (int32_t)prng_below(p, (uint64_t)s->member_count + 1);
        if (m < s->member_count && shape_stateful(s, t)) {
            shape_list_add(&s->members[m].standby, t);
        }
    }
}

static void test_against_all_assignments(void **state)
{
    (void)state;
    struct prng p;
    prng_seed(&p, 1);
    struct shape s;
    int compared = 0;
    for (int round = 0; round < 6000; round++) {
        shape_draw(&s, &p, (struct shape_bounds){.tasks = 6, .members = 4, .processes = 3, .replicas = 1});
        if (s.member_count > 0) {
            draw_history(&s, &p);
            s.members[0].idle = s.member_count > 1 && prng_below(&p, 5) == 0;
            shape_assign(&s);
            struct twin twin = twin_of(&s);
            struct cost best = best_cost(&twin), own = own_cost(&twin);
            assert_true(own.spread <= 1);
            assert_int_equal(own.moves, best.moves);
            assert_int_equal(own.stateful_moves, best.stateful_moves);
            compared++;
        }
        shape_fini(&s);
    }
    assert_true(compared > 4000);
}

/* ---- larger ones: what can be said without looking at all of them ----------------------------------------------------------------------- */

static int32_t moves(const struct shape *s)
{
    int32_t count = 0;
    for (int32_t t = 0; t < s->tasks; t++) {
        int32_t was = shape_was_active(s, t);
        count += was >= 0 && was != shape_owner(s, t);
    }
    return count;
}

static void assert_even(const struct shape *s)
{
    for (int32_t m = 0; m < s->member_count; m++) {
        if (!s->members[m].idle) {
            assert_in_range(s->shares[m].active_len, s->tasks / shape_workers(s), (s->tasks + shape_workers(s) - 1) / shape_workers(s));
        }
    }
}

static void join_and_check(struct shape *s, struct prng *p)
{
    int32_t joiner = s->member_count;
    shape_join(s, (int32_t)prng_below(p, (uint64_t)s->process_count));
    shape_assign(s);
    assert_even(s);
    if (joiner == 0) {
        return;
    }
    assert_int_equal(moves(s), s->shares[joiner].active_len); /* it takes what it needs, nobody else anything */
    for (int32_t t = 0; t < s->tasks; t++) {
        assert_true(shape_owner(s, t) == joiner || shape_owner(s, t) == shape_was_active(s, t));
    }
    for (int32_t t = 0; t < s->tasks; t++) { /* and state only when there was nothing else to take from that member */
        int32_t was = shape_was_active(s, t);
        if (shape_owner(s, t) != was && shape_stateful(s, t)) {
            for (int32_t i = 0; i < s->shares[was].active_len; i++) {
                assert_true(shape_stateful(s, s->shares[was].active[i]));
            }
        }
    }
}

static void leave_and_check(struct shape *s, struct prng *p)
{
    shape_leave(s, (int32_t)prng_below(p, (uint64_t)s->member_count));
    shape_assign(s);
    if (s->member_count > 0) {
        assert_even(s);
        assert_int_equal(moves(s), 0); /* only the leaver's tasks go anywhere */
    }
}

static void test_joins_and_leaves(void **state)
{
    (void)state;
    struct prng p;
    prng_seed(&p, 2);
    struct shape s;
    for (int round = 0; round < 150; round++) {
        shape_draw(&s, &p, (struct shape_bounds){.tasks = 40, .members = 4, .processes = 6, .replicas = 2, .tags = 2});
        shape_assign(&s);
        shape_take(&s);
        for (int step = 0; step < 20; step++) {
            if (s.member_count == 0 || (s.member_count < 12 && prng_below(&p, 5) < 3)) {
                join_and_check(&s, &p);
            } else {
                leave_and_check(&s, &p);
            }
            shape_take(&s);
            shape_assign(&s);
            assert_true(shape_settled(&s)); /* done again it changes nothing */
        }
        shape_fini(&s);
    }
}

/* Tasks of a member that is gone go to where copies are, as far as balance allows: here one of two on the same process has to go on. */
static void test_goes_where_state_is(void **state)
{
    (void)state;
    const struct assign_subtopology stateful = {.tasks = 12, .stateful = true};
    struct shape s;
    shape_init(&s, &stateful, 1, 4);
    for (int32_t p = 0; p < 3; p++) {
        shape_join(&s, p);
        for (int32_t t = 0; t < 3; t++) {
            shape_list_add(&s.members[p].active, 3 * p + t);
        }
    }
    shape_list_add(&s.members[2].standby, 9);
    shape_list_add(&s.members[1].standby, 10);
    shape_list_add(&s.members[1].standby, 11);
    shape_assign(&s);
    assert_int_equal(shape_owner(&s, 9), 2);
    assert_true((shape_owner(&s, 10) == 1) != (shape_owner(&s, 11) == 1));
    assert_int_equal(moves(&s), 0);
    shape_fini(&s);
}

/* Of two processes with a copy the one that carries less gets the task. */
static void test_lighter_of_two(void **state)
{
    (void)state;
    const struct assign_subtopology stateful = {.tasks = 7, .stateful = true};
    struct shape s;
    shape_init(&s, &stateful, 1, 3);
    for (int32_t p = 0; p < 3; p++) {
        shape_join(&s, p);
        shape_list_add(&s.members[p].standby, 6);
    }
    for (int32_t t = 0; t < 5; t++) {
        shape_list_add(&s.members[t < 2 ? 0 : t < 4 ? 1 : 2].active, t);
    }
    shape_assign(&s);
    assert_int_equal(shape_owner(&s, 6), 2);
    shape_fini(&s);
}

/* What a member has to give up is that of which the other has a copy. */
static void test_gives_what_is_there_already(void **state)
{
    (void)state;
    const struct assign_subtopology stateful = {.tasks = 4, .stateful = true};
    struct shape s;
    shape_init(&s, &stateful, 1, 2);
    struct shape_member *a = shape_join(&s, 0), *b = shape_join(&s, 1);
    for (int32_t t = 0; t < 4; t++) {
        shape_list_add(&a->active, t);
    }
    shape_list_add(&b->standby, 0);
    shape_list_add(&b->standby, 2);
    shape_assign(&s);
    assert_int_equal(shape_owner(&s, 0), 1);
    assert_int_equal(shape_owner(&s, 2), 1);
    shape_fini(&s);
}

/* A task that its member must give up stays in the process when somebody else there has room. */
static void test_stays_in_the_process(void **state)
{
    (void)state;
    const struct assign_subtopology stateful = {.tasks = 6, .stateful = true};
    struct shape s;
    shape_init(&s, &stateful, 1, 2);
    shape_join(&s, 0);
    shape_join(&s, 0);
    shape_join(&s, 1);
    shape_assign(&s);
    shape_take(&s);
    shape_join(&s, 0);
    shape_assign(&s);
    for (int32_t t = 0; t < s.tasks; t++) {
        assert_int_equal(s.members[shape_owner(&s, t)].process, s.members[shape_was_active(&s, t)].process);
    }
    assert_int_equal(s.shares[3].active_len, 1);
    shape_fini(&s);
}

/* What is being let go of is nobody's, yet its state is there. */
static void test_letting_go(void **state)
{
    (void)state;
    const struct assign_subtopology stateful = {.tasks = 4, .stateful = true};
    struct shape s;
    shape_init(&s, &stateful, 1, 3);
    struct shape_member *first = shape_join(&s, 0);
    shape_join(&s, 1);
    shape_list_add(&first->active, 0);
    for (int32_t t = 1; t < 4; t++) {
        shape_list_add(&first->letting_go, t);
    }
    shape_assign(&s);
    assert_int_equal(shape_owner(&s, 0), 0);
    assert_int_equal(shape_owner(&s, 1), 0);
    assert_int_equal(s.shares[1].active_len, 2);
    shape_fini(&s);
}

/* Two members cannot have it: the first one does. */
static void test_active_twice(void **state)
{
    (void)state;
    const struct assign_subtopology stateful = {.tasks = 2, .stateful = true};
    struct shape s;
    shape_init(&s, &stateful, 1, 2);
    for (int32_t p = 0; p < 2; p++) {
        shape_join(&s, p);
        shape_list_add(&s.members[p].active, 0);
    }
    shape_assign(&s);
    assert_int_equal(shape_owner(&s, 0), 0);
    assert_int_equal(shape_owner(&s, 1), 1);
    shape_fini(&s);
}

int run_active_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_all_assignments),
        cmocka_unit_test(test_joins_and_leaves),
        cmocka_unit_test(test_goes_where_state_is),
        cmocka_unit_test(test_lighter_of_two),
        cmocka_unit_test(test_gives_what_is_there_already),
        cmocka_unit_test(test_stays_in_the_process),
        cmocka_unit_test(test_letting_go),
        cmocka_unit_test(test_active_twice),
    };
    return cmocka_run_group_tests_name("active", tests, NULL, NULL);
}
