/* modern_test.c: groups of the new protocols at random: what must never happen, and that they settle. */
#include "modern_random.h"
#include "tests.h"

enum { SEEDS = 60, STEPS = 400 };

static void random_lives_keep_the_invariants(void **state)
{
    const struct random_kind *kind = *state;
    int64_t given = 0, lost = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct modern_random r;
        modern_random_init(&r, kind, seed);
        r.world.check = seed % 4 == 0;
        for (int i = 0; i < STEPS; i++) {
            modern_random_step(&r);
            modern_random_check(&r);
        }
        given += r.given;
        lost += r.lost;
        modern_random_fini(&r);
    }
    assert_true(given > SEEDS * STEPS / 40);
    assert_true(lost > SEEDS);
}

/* When all beat and no answer gets lost they come to rest soon, whatever was before. */
static void all_settle(void **state)
{
    enum { ROUNDS = 25 }; /* the longest delay, and the moves of what it assigns */
    const struct random_kind *kind = *state;
    for (uint64_t seed = 1000; seed < 1000 + SEEDS; seed++) {
        struct modern_random r;
        modern_random_init(&r, kind, seed);
        r.world.check = false;
        for (int i = 0; i < STEPS / 2; i++) {
            modern_random_step(&r);
        }
        r.lossy = false;
        world_tick(&r.world, 50000); /* sessions of those that will not be heard of again */
        int rounds = 0;
        for (; rounds < ROUNDS && !modern_random_settled(&r); rounds++) {
            for (int client = 0; client < RANDOM_CLIENTS; client++) {
                modern_random_beat(&r, client);
                modern_random_check(&r);
                world_tick(&r.world, 60);
            }
            modern_random_work(&r);
            modern_random_check(&r);
        }
        assert_true(modern_random_settled(&r));
        modern_random_fini(&r);
    }
}

static void silence_ends_everything(void **state)
{
    const struct random_kind *kind = *state;
    for (uint64_t seed = 2000; seed < 2000 + SEEDS; seed++) {
        struct modern_random r;
        modern_random_init(&r, kind, seed);
        r.world.check = false;
        for (int i = 0; i < STEPS / 4; i++) {
            modern_random_step(&r);
        }
        world_tick(&r.world, 3600000);
        struct group_timer timer;
        int64_t due;
        assert_false(world_timer_at(&r.world, 0, &timer, &due));
        struct group_set_counts counts;
        group_set_counts(r.world.set, &counts);
        assert_int_equal(counts.members, 0);
        modern_random_check(&r);
        modern_random_fini(&r);
    }
}

/* Every member has a session timer, whatever happened, and a revocation that is not confirmed ends. */
static void timers_follow_the_members(void **state)
{
    const struct random_kind *kind = *state;
    for (uint64_t seed = 3000; seed < 3000 + SEEDS; seed++) {
        struct modern_random r;
        modern_random_init(&r, kind, seed);
        r.world.check = false;
        for (int i = 0; i < STEPS / 4; i++) {
            modern_random_step(&r);
            int sessions = 0;
            struct group_timer timer;
            int64_t due;
            for (int n = 0; world_timer_at(&r.world, n, &timer, &due); n++) {
                sessions += timer.kind == GROUP_TIMER_SESSION ? 1 : 0;
            }
            struct group_set_counts counts;
            group_set_counts(r.world.set, &counts);
            assert_int_equal(sessions, counts.members);
        }
        modern_random_fini(&r);
    }
}

/* ---- several decisions on one overlay ------------------------------------------------------------------------------------------------ */

enum { BATCH = 6 };

static void decide_on(const struct modern_random *r, const struct group_set *set, struct world_request *q, struct group_out *ret)
{
    q->op.clock_ms = r->world.now_ms;
    q->op.wall_ms = 1700000000000 + r->world.now_ms;
    q->op.topics = &r->world.topics;
    q->op.settings = &r->world.settings;
    q->op.catalog = r->world.shard0;
    group_decide(set, &q->op, &q->arena, ret);
}

static void assert_same(const struct group_out *a, const struct group_out *b)
{
    assert_int_equal(a->records.len, b->records.len);
    for (size_t i = 0; i < a->records.len; i++) {
        assert_true(bytes_eq(a->records.v[i].key, b->records.v[i].key) && bytes_eq(a->records.v[i].value, b->records.v[i].value));
    }
    assert_string_equal(a->rule, b->rule);
    assert_int_equal(a->error, b->error);
    assert_int_equal(a->timer_count, b->timer_count);
}

/* What a turn decides one after the other on its overlay is what would be decided if each were applied before the next. */
static void overlays_decide_like_their_base(void **state)
{
    const struct random_kind *kind = *state;
    int64_t records = 0;
    for (uint64_t seed = 4000; seed < 4000 + SEEDS; seed++) {
        struct modern_random r;
        modern_random_init(&r, kind, seed);
        r.world.check = false;
        for (int i = 0; i < STEPS / 4; i++) {
            modern_random_step(&r);
        }
        struct world_request *q[BATCH];
        struct group_out on_overlay[BATCH], on_base;
        struct arena scratch;
        arena_init(&scratch, 0);
        uint64_t hash = group_set_hash(r.world.set);
        struct group_set *overlay = group_overlay_new(r.world.set, STR(RANDOM_GROUP));
        for (int i = 0; i < BATCH; i++) {
            q[i] = modern_random_request(&r, (int)prng_below(&r.prng, RANDOM_CLIENTS));
            decide_on(&r, overlay, q[i], &on_overlay[i]);
            for (size_t k = 0; k < on_overlay[i].records.len; k++) {
                assert_true(group_apply(overlay, 0, on_overlay[i].records.v[k], &scratch));
            }
            records += (int64_t)on_overlay[i].records.len;
        }
        group_overlay_free(overlay);
        assert_true(group_set_hash(r.world.set) == hash);
        for (int i = 0; i < BATCH; i++) {
            decide_on(&r, r.world.set, q[i], &on_base);
            assert_same(&on_base, &on_overlay[i]);
            world_apply(&r.world, on_base.records.v, on_base.records.len);
            world_request_free(q[i]);
        }
        arena_fini(&scratch);
        modern_random_fini(&r);
    }
    assert_true(records > SEEDS * BATCH / 2);
}

#define OF_BOTH(test)                                                                                                                      \
    {"streams: " #test, test, NULL, NULL, (void *)(uintptr_t)&random_streams},                                                             \
    {                                                                                                                                      \
        "consumers: " #test, test, NULL, NULL, (void *)(uintptr_t)&random_consumers                                                        \
    }

int run_modern_tests(void)
{
    const struct CMUnitTest tests[] = {
        OF_BOTH(random_lives_keep_the_invariants), OF_BOTH(all_settle),
        OF_BOTH(silence_ends_everything),          OF_BOTH(timers_follow_the_members),
        OF_BOTH(overlays_decide_like_their_base),
    };
    return cmocka_run_group_tests_name("modern", tests, NULL, NULL);
}
