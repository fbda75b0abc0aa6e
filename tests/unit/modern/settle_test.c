/* Many members with targets that change while they go there: no task is at two of them at once by what they themselves have been told and have acknowledged, epochs
 * never go back, and once the target rests everything settles within a bounded number of rounds. */
#include "tests.h"

#include <muster/base.h>
#include "modern/reconcile.h"

enum { MEMBERS = 7, TASKS = 16, WORLDS = 400, STEPS = 120, ROUNDS_TO_SETTLE = 5 };

struct world {
    struct prng prng;
    struct arena arena;
    int32_t target_epoch;
    int32_t targets[TASKS]; /* the member, or -1 */
    struct member_position at[MEMBERS];
    bool owns[MEMBERS][TASKS]; /* at the client */
};
struct asker {
    const struct world *w;
    int32_t member;
};

static bool taken(const void *ctx, enum unit_kind kind, const struct unit *unit)
{
    const struct asker *asker = ctx;
    for (int32_t m = 0; m < MEMBERS; m++) {
        const struct member_position *at = &asker->w->at[m];
        if (m != asker->member && (units_find(at->assigned.kind[kind], unit->name, unit->partition) != NULL ||
                                   units_find(at->revoking.kind[kind], unit->name, unit->partition) != NULL)) {
            return true;
        }
    }
    return false;
}

static struct holding target_of(struct world *w, int32_t member)
{
    struct unit_list l;
    unit_list_init(&l, &w->arena);
    for (int32_t t = 0; t < TASKS; t++) {
        if (w->targets[t] == member) {
            unit_list_add(&l, STR("0"), t, 0);
        }
    }
    return (struct holding){.kind = {[UNITS_ACTIVE] = unit_list_finish(&l)}};
}

static struct holding owned_by(struct world *w, int32_t member)
{
    struct unit_list l;
    unit_list_init(&l, &w->arena);
    for (int32_t t = 0; t < TASKS; t++) {
        if (w->owns[member][t]) {
            unit_list_add(&l, STR("0"), t, 0);
        }
    }
    return (struct holding){.kind = {[UNITS_ACTIVE] = unit_list_finish(&l)}};
}

static void assert_apart(const struct world *w)
{
    for (int32_t t = 0; t < TASKS; t++) {
        int owners = 0;
        for (int32_t m = 0; m < MEMBERS; m++) {
            owners += w->owns[m][t];
        }
        assert_in_range(owners, 0, 1);
    }
}

/* A heartbeat: it may report what it has; the answer may be lost; a client that gets it does as it says. Returns whether something moved. */
static bool heartbeat(struct world *w, int32_t member, bool report, bool lost)
{
    struct asker asker = {w, member};
    struct holding target = target_of(w, member), owned = owned_by(w, member);
    struct member_position now = w->at[member];
    struct reconcile r = {
        .now = &now, .target_epoch = w->target_epoch, .target = &target, .owned = report ? &owned : NULL, .taken = taken, .ctx = &asker};
    struct member_position *next = &w->at[member];
    bool moved = reconcile(&r, &w->arena, next);
    assert_true(next->epoch >= now.epoch);
    assert_true(next->epoch <= w->target_epoch);
    assert_true(next->previous_epoch <= next->epoch);
    assert_false(holding_meet(&next->assigned, &next->revoking));
    assert_true(moved || next->state != MEMBER_STABLE || next->epoch == w->target_epoch);
    for (int32_t i = 0; i < next->assigned.kind[UNITS_ACTIVE].len; i++) {
        assert_in_range(next->assigned.kind[UNITS_ACTIVE].v[i].epoch, 1, next->epoch);
    }
    if (!lost) {
        for (int32_t t = 0; t < TASKS; t++) {
            w->owns[member][t] = units_find(next->assigned.kind[UNITS_ACTIVE], STR("0"), t) != NULL;
        }
    }
    assert_apart(w);
    return moved;
}

static void new_target(struct world *w)
{
    w->target_epoch++;
    for (int32_t t = 0; t < TASKS; t++) {
        if (prng_chance(&w->prng, 400000)) {
            w->targets[t] = (int32_t)prng_below(&w->prng, MEMBERS + 1) - 1;
        }
    }
}

static void assert_settles(struct world *w)
{
    bool moved = true;
    for (int round = 0; round < ROUNDS_TO_SETTLE; round++) {
        moved = false;
        for (int32_t m = 0; m < MEMBERS; m++) {
            moved = heartbeat(w, m, true, false) || moved;
        }
    }
    assert_false(moved);
    for (int32_t m = 0; m < MEMBERS; m++) {
        struct holding target = target_of(w, m);
        assert_int_equal(w->at[m].epoch, w->target_epoch);
        assert_int_equal(w->at[m].state, MEMBER_STABLE);
        assert_true(holding_equal(&w->at[m].assigned, &target));
    }
}

static void groups_settle(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= WORLDS; seed++) {
        struct world w = {.target_epoch = 1};
        prng_seed(&w.prng, seed);
        arena_init(&w.arena, 0);
        for (int32_t t = 0; t < TASKS; t++) {
            w.targets[t] = -1;
        }
        for (int32_t m = 0; m < MEMBERS; m++) {
            w.at[m].state = MEMBER_STABLE;
        }
        for (int i = 0; i < STEPS; i++) {
            if (prng_chance(&w.prng, 150000)) {
                new_target(&w);
            }
            heartbeat(&w, (int32_t)prng_below(&w.prng, MEMBERS), prng_chance(&w.prng, 500000), prng_chance(&w.prng, 200000));
        }
        assert_settles(&w);
        arena_fini(&w.arena);
    }
}

int run_settle_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_settle),
    };
    return cmocka_run_group_tests_name("settle", tests, NULL, NULL);
}
