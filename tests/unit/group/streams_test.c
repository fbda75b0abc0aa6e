/* streams_test.c: streams groups at random: what must never happen, and that they settle. */
#include "streams_random.h"
#include "tests.h"

enum { SEEDS = 60, STEPS = 400 };

static void random_lives_keep_the_invariants(void **unused)
{
    (void)unused;
    int64_t given = 0, lost = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct streams_random r;
        streams_random_init(&r, seed);
        r.world.check = seed % 4 == 0;
        for (int i = 0; i < STEPS; i++) {
            streams_random_step(&r);
            streams_random_check(&r);
        }
        given += r.given;
        lost += r.lost;
        streams_random_fini(&r);
    }
    assert_true(given > SEEDS * STEPS / 40);
    assert_true(lost > SEEDS);
}

/* When all beat and no answer gets lost they come to rest soon, whatever was before. */
static void all_settle(void **unused)
{
    enum { ROUNDS = 25 }; /* the longest delay, and the moves of what it assigns */
    (void)unused;
    for (uint64_t seed = 1000; seed < 1000 + SEEDS; seed++) {
        struct streams_random r;
        streams_random_init(&r, seed);
        r.world.check = false;
        for (int i = 0; i < STEPS / 2; i++) {
            streams_random_step(&r);
        }
        r.lossy = false;
        world_tick(&r.world, 50000); /* sessions of those that will not be heard of again */
        int rounds = 0;
        for (; rounds < ROUNDS && !streams_random_settled(&r); rounds++) {
            for (int client = 0; client < STREAMS_CLIENTS; client++) {
                streams_random_beat(&r, client);
                streams_random_check(&r);
                world_tick(&r.world, 60);
            }
        }
        assert_true(streams_random_settled(&r));
        streams_random_fini(&r);
    }
}

static void silence_ends_everything(void **unused)
{
    (void)unused;
    for (uint64_t seed = 2000; seed < 2000 + SEEDS; seed++) {
        struct streams_random r;
        streams_random_init(&r, seed);
        r.world.check = false;
        for (int i = 0; i < STEPS / 4; i++) {
            streams_random_step(&r);
        }
        world_tick(&r.world, 3600000);
        struct group_timer timer;
        int64_t due;
        assert_false(world_timer_at(&r.world, 0, &timer, &due));
        struct group_set_counts counts;
        group_set_counts(r.world.set, &counts);
        assert_int_equal(counts.members, 0);
        streams_random_check(&r);
        streams_random_fini(&r);
    }
}

/* Every member has a session timer, whatever happened, and a revocation that is not confirmed ends. */
static void timers_follow_the_members(void **unused)
{
    (void)unused;
    for (uint64_t seed = 3000; seed < 3000 + SEEDS; seed++) {
        struct streams_random r;
        streams_random_init(&r, seed);
        r.world.check = false;
        for (int i = 0; i < STEPS / 4; i++) {
            streams_random_step(&r);
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
        streams_random_fini(&r);
    }
}

int run_streams_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_lives_keep_the_invariants),
        cmocka_unit_test(all_settle),
        cmocka_unit_test(silence_ends_everything),
        cmocka_unit_test(timers_follow_the_members),
    };
    return cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}
