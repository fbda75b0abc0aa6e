/* Who leads, by choice: shards go home to the nodes that they prefer. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { MS = 1000, SECOND = 1000000 };

/* A command for each shard every millisecond, where that is possible. */
static void load(struct world *w, int64_t us)
{
    for (int64_t end = w->now_us + us; w->now_us < end;) {
        for (uint32_t s = 0; s < w->shard_count; s++) {
            (void)world_put(w, s, 64);
        }
        world_run(w, MS);
    }
}

static uint64_t transfers_of(struct world *w, uint32_t id)
{
    struct core_stats stats;
    core_stats(world_node(w, id)->core, &stats);
    return stats.transfers_begun;
}
static void test_leadership_goes_home(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 80, 3, 4);
    w.options.balance_after_ms = 2000;
    world_start(&w);
    assert_true(world_settle(&w, 3 * SECOND));
    load(&w, 100 * MS);
    world_kill(&w, 2);
    load(&w, SECOND);
    assert_int_not_equal(world_leader(&w, 1)->id, 2);
    world_restart(&w, 2);
    load(&w, SECOND);
    assert_int_not_equal(world_leader(&w, 1)->id, 2); /* not yet: it must have been calm for a while */
    load(&w, 4 * SECOND);
    for (uint32_t s = 0; s < 4; s++) {
        assert_int_equal(world_leader(&w, s)->id, s % 3 + 1);
    }
    world_fini(&w);
}

/* A world in which shard 1 is about to go home to node 2, which was away; run until the moment at_us, or until it goes. */
static uint32_t start_going_home(struct world *w, int64_t at_us)
{
    world_init(w, 81, 3, 4);
    w->options.balance_after_ms = 2000;
    world_start(w);
    assert_true(world_settle(w, 3 * SECOND));
    world_kill(w, 2);
    load(w, SECOND);
    uint32_t leader = world_leader(w, 1)->id;
    assert_int_not_equal(leader, 2);
    world_restart(w, 2);
    while (w->now_us < at_us && transfers_of(w, leader) == 0) {
        load(w, MS);
    }
    return leader;
}

/* A node freezes just before: the one that is to have it, or another. Nothing moves until it is back. */
static void test_leadership_stays_while_a_node_is_silent(void **state)
{
    struct world w;
    (void)state;
    uint32_t leader = start_going_home(&w, 60 * SECOND);
    int64_t went_us = w.now_us;
    assert_true(transfers_of(&w, leader) > 0);
    world_fini(&w);
    const uint32_t frozen[] = {2, 4 - leader};
    for (size_t i = 0; i < COUNT_OF(frozen); i++) {
        start_going_home(&w, went_us - 20 * MS);
        world_pause(&w, frozen[i]);
        load(&w, 800 * MS);
        assert_int_equal(transfers_of(&w, leader), 0);
        assert_int_equal(world_leader(&w, 1)->id, leader);
        world_resume(&w, frozen[i]);
        load(&w, 8 * SECOND);
        assert_int_equal(world_leader(&w, 1)->id, 2);
        world_fini(&w);
    }
}

/* Node 2 does not want shard 1, and hands it to node 3 each time a moment after it was sent home, as a node does that sees no other one. How often that is in so much time. */
static unsigned times_handed_back(struct world *w, int64_t us)
{
    unsigned times = 0;
    for (int64_t end = w->now_us + us; w->now_us < end;) {
        world_run(w, 100 * MS);
        const struct node *n = world_leader(w, 1);
        if (n != NULL && n->id == 2) {
            world_run(w, 300 * MS);
            assert_int_equal(replica_transfer(n->core, 1, 3), 0);
            world_run(w, 100 * MS);
            assert_int_equal(world_leader(w, 1)->id, 3);
            times++;
        }
    }
    return times;
}

static void test_a_shard_that_is_handed_back_is_sent_home_more_and_more_rarely(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 82, 3, 2);
    w.options.balance_after_ms = 1000;
    world_start(&w);
    assert_true(world_settle(&w, 3 * SECOND));
    world_run(&w, 2 * SECOND);
    unsigned times = times_handed_back(&w, 30 * SECOND);
    assert_in_range(times, 3, 6); /* every second and a half: 20 */
    world_run(&w, 64 * SECOND);
    assert_int_equal(world_leader(&w, 1)->id, 2); /* it is asked all the same, and this time keeps it */
    assert_int_equal(replica_transfer(world_leader(&w, 1)->core, 1, 3), 0);
    world_run(&w, 200 * MS);
    assert_int_equal(world_leader(&w, 1)->id, 3);
    world_run(&w, 2 * SECOND);
    assert_int_equal(world_leader(&w, 1)->id, 2); /* what somebody moved later comes home as soon as ever */
    world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leadership_goes_home),
        cmocka_unit_test(test_leadership_stays_while_a_node_is_silent),
        cmocka_unit_test(test_a_shard_that_is_handed_back_is_sent_home_more_and_more_rarely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
