/* alike_test.c: the uniform assignor where all members subscribe to the same topics: even, and moved least. Small groups are held against every assignment
 * there is. */
#include "crowd.h"

#include <string.h>

/* ---- the twin: all assignments, one after the other ---------------------------------------------------------------------------------- */

enum { FEW = 6 };

struct few {
    int32_t was[FEW], owner[FEW];
    int32_t count, members;
};

static struct few few_of(const struct crowd *c)
{
    struct few f = {.members = c->member_count};
    for (int32_t t = 0; t < c->topic_count; t++) {
        for (int32_t p = 0; p < c->partitions[t] && crowd_wanted(c, t); p++) {
            assert_in_range(f.count, 0, FEW - 1);
            f.was[f.count++] = crowd_was(c, t, p);
        }
    }
    return f;
}

static bool next_assignment(struct few *f)
{
    int32_t i = 0;
    while (i < f->count && f->owner[i] == f->members - 1) {
        f->owner[i++] = 0;
    }
    if (i < f->count) {
        f->owner[i]++;
    }
    return i < f->count;
}

/* How many partitions move; -1: it is not even. */
static int32_t moves_of(const struct few *f)
{
    int32_t held[CROWD_MEMBERS] = {0}, moves = 0, least = FEW, most = 0;
    for (int32_t i = 0; i < f->count; i++) {
        held[f->owner[i]]++;
        moves += f->was[i] != CROWD_NOBODY && f->was[i] != f->owner[i];
    }
    for (int32_t m = 0; m < f->members; m++) {
        least = held[m] < least ? held[m] : least;
        most = held[m] > most ? held[m] : most;
    }
    return most - least <= 1 ? moves : -1;
}

static int32_t fewest_moves(const struct crowd *c)
{
    struct few f = few_of(c);
    int32_t best = FEW + 1;
    do {
        int32_t moves = moves_of(&f);
        best = moves >= 0 && moves < best ? moves : best;
    } while (next_assignment(&f));
    return best;
}

static int32_t spread(const struct crowd *c)
{
    int32_t least = INT32_MAX, most = 0;
    for (int32_t m = 0; m < c->member_count; m++) {
        least = crowd_holds(c, m) < least ? crowd_holds(c, m) : least;
        most = crowd_holds(c, m) > most ? crowd_holds(c, m) : most;
    }
    return most - least;
}

static void against_all_assignments(void **state)
{
    (void)state;
    static struct crowd c;
    struct prng p;
    prng_seed(&p, 1);
    for (int round = 0; round < 3000; round++) {
        crowd_draw(&c, &p, ASSIGNOR_UNIFORM, (struct crowd_bounds){.topics = 2, .partitions = 3, .members = 4});
        crowd_draw_had(&c, &p);
        crowd_assign(&c);
        assert_true(spread(&c) <= 1);
        assert_int_equal(crowd_moves(&c), fewest_moves(&c));
        crowd_fini(&c);
    }
}

/* ---- larger ones: what can be said without looking at all of them --------------------------------------------------------------------- */

static int32_t least_possible_moves(const struct crowd *c)
{
    int32_t had[CROWD_MEMBERS] = {0}, partitions = 0, moves = 0;
    for (int32_t t = 0; t < c->topic_count; t++) {
        for (int32_t p = 0; p < c->partitions[t] && crowd_wanted(c, t); p++) {
            int32_t was = crowd_was(c, t, p);
            partitions++;
            if (was != CROWD_NOBODY) {
                had[was]++;
            }
        }
    }
    int32_t floor = partitions / c->member_count, extras = partitions % c->member_count;
    for (int32_t m = 0; m < c->member_count; m++) {
        bool extra = had[m] > floor && extras > 0;
        extras -= extra;
        moves += had[m] > floor + extra ? had[m] - floor - extra : 0;
    }
    return moves;
}

static void lives(void **state)
{
    (void)state;
    static struct crowd c;
    struct crowd_bounds b = {.topics = 8, .partitions = 40, .members = 40};
    struct prng p;
    prng_seed(&p, 2);
    for (int life = 0; life < 60; life++) {
        crowd_draw(&c, &p, ASSIGNOR_UNIFORM, b);
        if (life % 3 == 0) {
            crowd_draw_had(&c, &p);
        }
        for (int step = 0; step < 12; step++) {
            assert_true(crowd_alike(&c));
            crowd_assign(&c);
            assert_true(spread(&c) <= 1);
            assert_int_equal(crowd_moves(&c), least_possible_moves(&c));
            crowd_take(&c);
            crowd_assign(&c);
            assert_int_equal(crowd_moves(&c), 0);
            crowd_change(&c, &p, b);
        }
        crowd_fini(&c);
    }
}

static void expect_share(const struct crowd *c, int32_t member, int32_t first, int32_t last)
{
    int32_t p = first;
    for (int32_t i = 0; i < crowd_holds(c, member); i++) {
        assert_int_equal(c->shares[member].v[i].partition, p++);
    }
    assert_int_equal(p, last + 1);
}

static void join(struct crowd *c, const char *id)
{
    struct crowd_member *m = crowd_join(c, id);
    assert_non_null(m);
    m->wants[0] = true;
}

/* Seen on Kafka: who comes gets the last ones of those who have most. */
static void one_after_the_other(void **state)
{
    (void)state;
    static struct crowd c;
    crowd_init(&c, ASSIGNOR_UNIFORM, 1);
    c.partitions[0] = 6;
    join(&c, "a");
    crowd_assign(&c);
    expect_share(&c, 0, 0, 5);
    crowd_take(&c);
    join(&c, "b");
    crowd_assign(&c);
    expect_share(&c, 0, 0, 2);
    expect_share(&c, 1, 3, 5);
    crowd_take(&c);
    join(&c, "c");
    crowd_assign(&c);
    expect_share(&c, 0, 0, 1);
    expect_share(&c, 1, 3, 4);
    assert_int_equal(crowd_moves(&c), 2);
    crowd_take(&c);
    crowd_leave(&c, 0);
    crowd_assign(&c);
    assert_int_equal(crowd_moves(&c), 0);
    assert_int_equal(crowd_holds(&c, 0), 3);
    crowd_fini(&c);
}

int run_alike_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(against_all_assignments),
        cmocka_unit_test(lives),
        cmocka_unit_test(one_after_the_other),
    };
    return cmocka_run_group_tests_name("alike", tests, NULL, NULL);
}
