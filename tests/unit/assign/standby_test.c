/* standby_test.c: copies of state: spread over racks, then kept where they are, then even. That there are as many as there may be, and where they may not be, is
 * checked with every assignment (shape.c). */
#include "shape.h"

static const struct shape_bounds any = {.tasks = 40, .members = 8, .processes = 7, .replicas = 3, .tags = 2};

/* What every move of one copy could gain, by looking at all of them. */
struct load {
    int64_t tasks, members;
};
static struct load load_of(const struct shape *s, int32_t process)
{
    struct load l = {0, shape_crew(s, process)};
    for (int32_t m = 0; m < s->member_count; m++) {
        const struct assign_share *share = &s->shares[m];
        l.tasks += s->members[m].process == process ? share->active_len + share->standby_len + share->warmup_len : 0;
    }
    return l;
}

static bool process_holds(const struct shape *s, int32_t task, int32_t process)
{
    bool holds = s->members[shape_owner(s, task)].process == process || shape_warms(s, task) == process;
    for (int32_t m = 0; m < s->member_count; m++) {
        holds = holds || (s->members[m].process == process && shape_gets(s, m, task));
    }
    return holds;
}

/* Copies of the task, the active one too, whose tag values are missing or not the first of their kind, were one copy of it moved. */
static int32_t repeated(const struct shape *s, int32_t task, int32_t from, int32_t to)
{
    int32_t count = 0;
    for (int32_t k = 0; k < s->tag_count; k++) {
        bool seen[8] = {false};
        for (int32_t p = 0; p < s->process_count; p++) {
            bool holds = p == to || (p != from && process_holds(s, task, p) && shape_warms(s, task) != p);
            int32_t value = s->tags[p][k];
            if (holds) {
                count += value < 0 || seen[value];
                seen[value < 0 ? 7 : value] = true;
            }
        }
    }
    return count;
}

static void assert_nothing_better(const struct shape *s, int32_t task, int32_t from, int64_t all)
{
    struct load a = load_of(s, from);
    int32_t now = repeated(s, task, -1, -1);
    bool too_much = (a.tasks - 1) * shape_workers(s) >= all * a.members;
    for (int32_t to = 0; to < s->process_count; to++) {
        struct load b = load_of(s, to);
        if (b.members == 0 || process_holds(s, task, to)) {
            continue;
        }
        int32_t then = repeated(s, task, from, to);
        assert_true(then >= now);
        if (then == now && too_much) {
            assert_true((2 * a.tasks - 1) * b.members <= (2 * b.tasks + 1) * a.members);
        }
    }
}

static void assert_cannot_be_improved(const struct shape *s)
{
    int64_t all = 0;
    for (int32_t p = 0; p < s->process_count; p++) {
        all += load_of(s, p).tasks;
    }
    for (int32_t t = 0; t < s->tasks; t++) {
        for (int32_t m = 0; m < s->member_count; m++) {
            if (shape_gets(s, m, t)) {
                assert_nothing_better(s, t, s->members[m].process, all);
            }
        }
    }
}

/* With one tag key the copies have as many values as there are, or as there are copies. */
static void assert_racks(const struct shape *s)
{
    int32_t values = 0;
    bool exists[8] = {false};
    for (int32_t p = 0; p < s->process_count; p++) {
        int32_t value = s->tags[p][0];
        if (value >= 0 && shape_crew(s, p) > 0 && !exists[value]) {
            exists[value] = true;
            values++;
        }
    }
    for (int32_t t = 0; t < s->tasks; t++) {
        bool seen[8] = {false};
        int32_t distinct = 0, able = 0;
        for (int32_t p = 0; p < s->process_count; p++) {
            int32_t value = s->tags[p][0];
            if (process_holds(s, t, p) && value >= 0 && !seen[value]) {
                seen[value] = true;
                distinct++;
            }
            able += process_holds(s, t, p);
        }
        int32_t active = s->tags[s->members[shape_owner(s, t)].process][0];
        int32_t possible = able - (active < 0 ? 1 : 0);
        assert_int_equal(distinct, values < possible ? values : possible);
    }
}

/* Inside a process all tasks are even, as far as standbys can make them. */
static void assert_even_within(const struct shape *s)
{
    for (int32_t p = 0; p < s->process_count; p++) {
        int32_t most = -1, least = SHAPE_TASKS;
        for (int32_t m = 0; m < s->member_count; m++) {
            const struct assign_share *share = &s->shares[m];
            if (s->members[m].process != p || s->members[m].idle) {
                continue;
            }
            int32_t total = share->active_len + share->standby_len + share->warmup_len;
            most = share->standby_len + share->warmup_len > 0 && total > most ? total : most;
            least = total < least ? total : least;
        }
        assert_true(most <= least + 1);
    }
}

static void test_joins_and_leaves(void **state)
{
    (void)state;
    struct prng p;
    prng_seed(&p, 3);
    struct shape s;
    int racks = 0;
    for (int round = 0; round < 120; round++) {
        shape_draw(&s, &p, any);
        for (int step = 0; step < 12; step++) {
            if (s.member_count == 0 || (s.member_count < 12 && prng_below(&p, 5) < 3)) {
                shape_join(&s, (int32_t)prng_below(&p, (uint64_t)s.process_count));
            } else {
                shape_leave(&s, (int32_t)prng_below(&p, (uint64_t)s.member_count));
            }
            shape_assign(&s);
            assert_cannot_be_improved(&s);
            assert_even_within(&s);
            if (s.tag_count == 1 && s.member_count > 0) {
                assert_racks(&s);
                racks++;
            }
            shape_take(&s);
            shape_assign(&s);
            assert_true(shape_settled(&s));
        }
        shape_fini(&s);
    }
    assert_true(racks > 200);
}

static int32_t copies_on(const struct shape *s, int32_t process, bool kept)
{
    int32_t count = 0;
    for (int32_t m = 0; m < s->member_count; m++) {
        for (int32_t i = 0; s->members[m].process == process && i < s->shares[m].standby_len; i++) {
            count += !kept || shape_process_has(s, s->shares[m].standby[i], process);
        }
    }
    return count;
}

/* A new process gets its part; on the others there are no copies but such that were there, or go on from an active task that left. */
static void test_joiner_gets_copies(void **state)
{
    (void)state;
    const struct assign_subtopology stateful = {.tasks = 30, .stateful = true};
    struct shape s;
    shape_init(&s, &stateful, 1, 6);
    s.standby_replicas = 1;
    for (int32_t p = 0; p < 5; p++) {
        shape_join(&s, p);
        shape_assign(&s);
        shape_take(&s);
    }
    shape_join(&s, 5);
    shape_assign(&s);
    assert_int_equal(s.shares[5].active_len, 5);
    assert_int_equal(s.shares[5].standby_len, 5);
    for (int32_t p = 0; p < 5; p++) {
        assert_int_equal(copies_on(&s, p, true), copies_on(&s, p, false));
    }
    shape_fini(&s);
}

/* Where a task was active it leaves its state behind, which is better than to begin a copy elsewhere. */
static void test_copy_where_it_was_active(void **state)
{
    (void)state;
    const struct assign_subtopology stateful = {.tasks = 4, .stateful = true};
    struct shape s;
    shape_init(&s, &stateful, 1, 3);
    s.standby_replicas = 1;
    shape_join(&s, 0);
    shape_assign(&s);
    shape_take(&s);
    shape_join(&s, 1);
    shape_assign(&s);
    for (int32_t i = 0; i < s.shares[1].active_len; i++) {
        assert_true(shape_gets(&s, 0, s.shares[1].active[i]));
    }
    shape_fini(&s);
}

/* Within a process, too, a copy stays where it is. */
static void test_stays_at_its_member(void **state)
{
    (void)state;
    const struct assign_subtopology stateful = {.tasks = 4, .stateful = true};
    struct shape s;
    shape_init(&s, &stateful, 1, 2);
    s.standby_replicas = 1;
    shape_join(&s, 0);
    shape_join(&s, 0);
    shape_join(&s, 1);
    for (int32_t t = 0; t < 4; t++) {
        shape_list_add(&s.members[t < 2 ? 2 : t - 2].active, t);
    }
    shape_list_add(&s.members[1].standby, 0);
    shape_list_add(&s.members[0].standby, 1);
    shape_assign(&s);
    assert_true(shape_gets(&s, 1, 0));
    assert_true(shape_gets(&s, 0, 1));
    shape_fini(&s);
}

/* Racks come before stickiness: a copy in the rack of the active task moves as soon as there is another rack. */
static void test_racks_before_staying(void **state)
{
    (void)state;
    const struct assign_subtopology stateful = {.tasks = 6, .stateful = true};
    struct shape s;
    shape_init(&s, &stateful, 1, 3);
    s.standby_replicas = 1;
    s.tag_count = 1;
    s.tags[2][0] = 1;
    shape_join(&s, 0);
    shape_join(&s, 1);
    shape_assign(&s);
    shape_take(&s);
    shape_join(&s, 2);
    shape_assign(&s);
    for (int32_t t = 0; t < s.tasks; t++) {
        assert_true(shape_owner(&s, t) == 2 || shape_gets(&s, 2, t));
    }
    shape_fini(&s);
}

int run_standby_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joins_and_leaves),         cmocka_unit_test(test_joiner_gets_copies),
        cmocka_unit_test(test_copy_where_it_was_active), cmocka_unit_test(test_stays_at_its_member),
        cmocka_unit_test(test_racks_before_staying),
    };
    return cmocka_run_group_tests_name("standby", tests, NULL, NULL);
}
