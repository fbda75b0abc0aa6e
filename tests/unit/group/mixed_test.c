#include "mixed_random.h"
#include "tests.h"

#include <stdio.h>

static void live(struct mixed_random *r, int steps)
{
    for (int i = 0; i < steps; i++) {
        mixed_random_step(r);
        mixed_random_check(r);
    }
}

/* Faults stop; a while later everybody has its share. Silent members go first. */
static void settle(struct mixed_random *r, uint64_t seed)
{
    enum { ROUNDS = 80 };
    int round = 0;
    r->lossy = false;
    for (int i = 0; i < MIXED_CLIENTS; i++) {
        mixed_random_act(r, i);
        mixed_random_check(r);
    }
    for (; round < ROUNDS && (round < 50 || !mixed_random_settled(r)); round++) {
        world_tick(&r->world, 1000);
        mixed_random_check(r);
        for (int i = 0; i < MIXED_CLIENTS; i++) {
            mixed_random_act(r, i);
            mixed_random_check(r);
        }
    }
    if (!mixed_random_settled(r)) {
        print_error("seed %llu does not settle\n", (unsigned long long)seed);
    }
    assert_true(mixed_random_settled(r));
}

static void test_lives(void **state)
{
    (void)state;
    int64_t ups = 0, downs = 0, given = 0, led = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct mixed_random r;
        mixed_random_init(&r, seed);
        live(&r, 900);
        settle(&r, seed);
        ups += r.ups;
        downs += r.downs;
        given += r.given;
        led += r.led;
        mixed_random_fini(&r);
    }
    /* What it is about has happened. */
    assert_true(ups > 200 && downs > 100 && given > 5000 && led > 300);
}

int run_mixed_tests(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lives)};
    return cmocka_run_group_tests_name("mixed groups", tests, NULL, NULL);
}
