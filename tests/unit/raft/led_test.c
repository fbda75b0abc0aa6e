/* Since when nobody led a shard, as whoever leads next knows it. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { SECOND = 1000000, MS = 1000 };

static int64_t led_us(struct world *w, uint32_t id)
{
    struct replica_shard_status status;
    replica_status(world_node(w, id)->core, 0, &status);
    return status.led_us;
}

/* The leader of three is cut off; returns who serves next, as soon as it does. */
static uint32_t cut_off_leader(struct world *w, uint32_t *ret_old, int64_t *ret_cut_us)
{
    const struct node *leader;
    world_init(w, 61, 3, 1);
    world_start(w);
    assert_true(world_settle(w, 3 * SECOND));
    world_run(w, 500 * MS);
    *ret_old = world_leader(w, 0)->id;
    *ret_cut_us = w->now_us;
    world_isolate(w, *ret_old, true);
    while ((leader = world_leader(w, 0)) == NULL || leader->id == *ret_old || leader->shards[0].role != REPLICA_SERVING) {
        world_run(w, 100);
        assert_true(w->now_us < 60 * (int64_t)SECOND);
    }
    return leader->id;
}

/* Whoever takes over knows when the leader before was last heard of; so does one that led itself and had no majority for a while. */
static void test_when_the_one_before_was_heard_of(void **state)
{
    struct world w;
    uint32_t old;
    int64_t cut_us;
    (void)state;
    int64_t before_us = world_node(&w, cut_off_leader(&w, &old, &cut_us))->shards[0].led_before_us;
    assert_true(before_us <= cut_us + 20 * MS && before_us >= cut_us - 100 * MS);
    world_run(&w, SECOND);
    assert_true(led_us(&w, old) <= cut_us + 20 * MS && led_us(&w, old) >= cut_us - 100 * MS);
    for (uint32_t id = 1; id <= 3; id++) {
        assert_true(id == old || led_us(&w, id) >= w.now_us - 100 * MS);
    }
    world_fini(&w);
}

/* Who began to lead had a majority then, though it is cut off before it asks for another one. */
static void test_an_office_of_a_moment_counts(void **state)
{
    struct world w;
    uint32_t old;
    int64_t cut_us;
    (void)state;
    uint32_t next = cut_off_leader(&w, &old, &cut_us);
    int64_t served_us = w.now_us;
    world_isolate(&w, next, true);
    world_run(&w, SECOND);
    assert_true(led_us(&w, next) >= served_us - MS && led_us(&w, next) <= served_us + 20 * MS);
    world_fini(&w);
}

int main(void)
{
    log_set(NULL, NULL, LOG_ERROR + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_when_the_one_before_was_heard_of),
        cmocka_unit_test(test_an_office_of_a_moment_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
