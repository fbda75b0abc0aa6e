/* units.c against slow twins: a set here is a table of flags over a small universe of names and partitions. */
#include "tests.h"

#include <string.h>

#include <muster/base.h>
#include "modern/units.h"

enum { NAMES = 5, PARTITIONS = 4, UNIVERSE = NAMES * PARTITIONS, ROUNDS = 3000 };

static const struct str names[NAMES] = {{"", 0}, {"0", 1}, {"1", 1}, {"10", 2}, {"1\0", 2}}; /* in order: shorter first, then by bytes */

struct flags {
    bool in[UNIVERSE];
    int32_t epoch[UNIVERSE];
};

static int order_of_name(struct str name)
{
    /* "1\0" sorts before "10" */
    static const int order[NAMES] = {0, 1, 2, 4, 3};
    for (int i = 0; i < NAMES; i++) {
        if (str_eq(names[i], name)) {
            return order[i];
        }
    }
    fail();
    return -1;
}

static struct units random_set(struct prng *p, struct arena *arena, struct flags *ret)
{
    *ret = (struct flags){0};
    struct unit_list l;
    unit_list_init(&l, arena);
    int adds = (int)prng_below(p, UNIVERSE + 4);
    for (int i = 0; i < adds; i++) {
        int which = (int)prng_below(p, UNIVERSE);
        int32_t epoch = (int32_t)prng_below(p, 100);
        unit_list_add(&l, names[which / PARTITIONS], which % PARTITIONS, epoch);
        if (!ret->in[which]) { /* the first one stays */
            ret->in[which] = true;
            ret->epoch[which] = epoch;
        }
    }
    return unit_list_finish(&l);
}

/* Whether the set holds what the flags say, epochs included, in order. */
static void assert_is(struct units set, const struct flags *flags)
{
    int count = 0;
    for (int i = 0; i < UNIVERSE; i++) {
        count += flags->in[i];
    }
    assert_int_equal(set.len, count);
    int last = -1;
    for (int32_t i = 0; i < set.len; i++) {
        int name = 0;
        while (!str_eq(names[name], set.v[i].name)) {
            name++;
        }
        int which = name * PARTITIONS + set.v[i].partition;
        assert_true(flags->in[which]);
        assert_int_equal(set.v[i].epoch, flags->epoch[which]);
        int place = order_of_name(set.v[i].name) * PARTITIONS + set.v[i].partition;
        assert_true(place > last);
        last = place;
    }
}

static void sets_are_as_added(void **state)
{
    (void)state;
    struct prng p;
    struct arena arena;
    prng_seed(&p, 1);
    arena_init(&arena, 0);
    for (int round = 0; round < ROUNDS; round++) {
        struct flags flags;
        struct units set = random_set(&p, &arena, &flags);
        assert_is(set, &flags);
        for (int i = 0; i < UNIVERSE; i++) {
            const struct unit *found = units_find(set, names[i / PARTITIONS], i % PARTITIONS);
            assert_int_equal(found != NULL, flags.in[i]);
            if (found != NULL) {
                assert_int_equal(found->epoch, flags.epoch[i]);
            }
        }
        assert_null(units_find(set, STR("elsewhere"), 0));
        assert_null(units_find(set, names[1], PARTITIONS));
        arena_clear(&arena);
    }
    arena_fini(&arena);
}

static void many_are_sorted(void **state)
{
    (void)state;
    struct prng p;
    struct arena arena;
    prng_seed(&p, 2);
    arena_init(&arena, 0);
    struct unit_list l;
    unit_list_init(&l, &arena);
    for (int i = 0; i < 5000; i++) {
        unit_list_add(&l, STR("s"), (int32_t)prng_below(&p, 4000) - 2000, i);
    }
    struct units set = unit_list_finish(&l);
    for (int32_t i = 1; i < set.len; i++) {
        assert_true(unit_cmp(&set.v[i - 1], &set.v[i]) < 0);
    }
    assert_in_range(set.len, 2500, 3999);
    unit_list_init(&l, &arena);
    assert_int_equal(unit_list_finish(&l).len, 0);
    arena_fini(&arena);
}

static void pairs_are_as_their_twins(void **state)
{
    (void)state;
    struct prng p;
    struct arena arena;
    prng_seed(&p, 3);
    arena_init(&arena, 0);
    for (int round = 0; round < ROUNDS; round++) {
        struct flags fa, fb, minus = {0}, both = {0}, join = {0};
        struct units a = random_set(&p, &arena, &fa), b = random_set(&p, &arena, &fb);
        if (prng_chance(&p, 200000)) {
            b = a;
            fb = fa;
        }
        bool equal = true, same = true, within = true, meet = false;
        for (int i = 0; i < UNIVERSE; i++) {
            equal = equal && fa.in[i] == fb.in[i];
            same = same && fa.in[i] == fb.in[i] && fa.epoch[i] == fb.epoch[i];
            within = within && (!fa.in[i] || fb.in[i]);
            meet = meet || (fa.in[i] && fb.in[i]);
            minus.in[i] = fa.in[i] && !fb.in[i];
            both.in[i] = fa.in[i] && fb.in[i];
            join.in[i] = fa.in[i] || fb.in[i];
            minus.epoch[i] = both.epoch[i] = fa.epoch[i];
            join.epoch[i] = fa.in[i] ? fa.epoch[i] : fb.epoch[i];
        }
        assert_int_equal(units_equal(a, b), equal);
        assert_int_equal(units_same(a, b), same);
        assert_int_equal(units_within(a, b), within);
        assert_int_equal(units_meet(a, b), meet);
        assert_is(units_minus(a, b, &arena), &minus);
        assert_is(units_both(a, b, &arena), &both);
        assert_is(units_join(a, b, &arena), &join);
        arena_clear(&arena);
    }
    arena_fini(&arena);
}

static struct holding random_holding(struct prng *p, struct arena *arena)
{
    struct holding h;
    struct flags flags;
    for (int k = 0; k < UNIT_KINDS; k++) {
        h.kind[k] = random_set(p, arena, &flags);
    }
    return h;
}

static void holdings_go_kind_by_kind(void **state)
{
    (void)state;
    struct prng p;
    struct arena arena;
    prng_seed(&p, 4);
    arena_init(&arena, 0);
    for (int round = 0; round < ROUNDS; round++) {
        struct holding a = random_holding(&p, &arena), b = a;
        int kind = (int)prng_below(&p, UNIT_KINDS);
        struct flags flags;
        b.kind[kind] = random_set(&p, &arena, &flags);
        assert_int_equal(holding_equal(&a, &b), units_equal(a.kind[kind], b.kind[kind]));
        assert_int_equal(holding_same(&a, &b), units_same(a.kind[kind], b.kind[kind]));
        assert_int_equal(holding_within(&a, &b), units_within(a.kind[kind], b.kind[kind]));
        struct holding only = {0};
        only.kind[kind] = a.kind[kind];
        assert_int_equal(holding_meet(&only, &b), units_meet(a.kind[kind], b.kind[kind]));
        only = (struct holding){0};
        only.kind[(kind + 1) % UNIT_KINDS] = b.kind[kind]; /* what is in another kind does not meet */
        struct holding rest = {0};
        rest.kind[kind] = b.kind[kind];
        assert_false(holding_meet(&only, &rest));
        assert_int_equal(holding_count(&a), a.kind[0].len + a.kind[1].len + a.kind[2].len);
        arena_clear(&arena);
    }
    arena_fini(&arena);
}

/* A report is what was said and is known, and one of the rest, whichever. */
static void reports_are_held_against_what_is_known(void **state)
{
    (void)state;
    struct arena arena;
    struct prng p;
    prng_seed(&p, 6);
    arena_init(&arena, 0);
    for (int round = 0; round < ROUNDS; round++) {
        struct flags known_flags, said = {0};
        struct units known = random_set(&p, &arena, &known_flags);
        struct unit_report r;
        bool strange = false;
        unit_report_init(&r, known, &arena);
        for (int adds = (int)prng_below(&p, 6); adds > 0; adds--) {
            int32_t partitions[5];
            int name = (int)prng_below(&p, NAMES), count = (int)prng_below(&p, 6);
            for (int i = 0; i < count; i++) {
                partitions[i] = (int32_t)prng_below(&p, PARTITIONS + 2) - 1;
                bool known_one = partitions[i] >= 0 && partitions[i] < PARTITIONS && known_flags.in[name * PARTITIONS + partitions[i]];
                strange = strange || !known_one;
                if (known_one) {
                    said.in[name * PARTITIONS + partitions[i]] = true;
                }
            }
            unit_report_add(&r, names[name], partitions, count);
        }
        struct units report = unit_report_finish(&r);
        struct units of_known = units_both(report, known, &arena);
        assert_is(of_known, &said);
        assert_int_equal(report.len - of_known.len, strange ? 1 : 0);
        arena_clear(&arena);
    }
    arena_fini(&arena);
}

static void what_is_held_stands_alone(void **state)
{
    (void)state;
    struct pool pool = {0};
    struct arena arena;
    struct prng p;
    prng_seed(&p, 5);
    arena_init(&arena, 0);
    for (int round = 0; round < 200; round++) {
        struct holding h = random_holding(&p, &arena);
        char text[8] = "moves";
        struct unit_list l;
        unit_list_init(&l, &arena);
        unit_list_add(&l, (struct str){text, 5}, 7, 3);
        unit_list_add(&l, (struct str){text, 5}, 8, 4);
        h.kind[UNITS_WARMUP] = unit_list_finish(&l);
        struct held *held = held_new(&pool, &h);
        assert_true(holding_same(&held->holding, &h));
        memcpy(text, "gone!", 5);
        assert_non_null(units_find(held->holding.kind[UNITS_WARMUP], STR("moves"), 8));
        held->references++;
        held_put(&pool, held);
        assert_int_equal(pool.objects, 1);
        assert_int_equal(pool.bytes, held->bytes);
        held_put(&pool, held);
        assert_int_equal(pool.objects, 0);
        assert_int_equal(pool.bytes, 0);
        arena_clear(&arena);
    }
    held_put(&pool, NULL);
    arena_fini(&arena);
}

int run_units_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_are_as_added),         cmocka_unit_test(many_are_sorted),
        cmocka_unit_test(pairs_are_as_their_twins),  cmocka_unit_test(holdings_go_kind_by_kind),
        cmocka_unit_test(what_is_held_stands_alone), cmocka_unit_test(reports_are_held_against_what_is_known),
    };
    return cmocka_run_group_tests_name("units", tests, NULL, NULL);
}
