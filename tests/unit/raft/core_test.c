#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SECOND = 1000000, MS = 1000 };

static void test_elects_one_leader_per_shard(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 1, 3, 4);
    world_start(&w);
    assert_true(world_settle(&w, 2 * SECOND));
    for (uint32_t s = 0; s < 4; s++) {
        assert_non_null(world_leader(&w, s));
    }
    world_fini(&w);
}

static void test_replicates_to_all(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 2, 3, 2);
    world_start(&w);
    assert_true(world_settle(&w, 2 * SECOND));
    for (int i = 0; i < 200; i++) {
        assert_true(world_put(&w, (uint32_t)i % 2, 100));
        world_run(&w, 300);
    }
    assert_true(world_even(&w, SECOND));
    for (uint32_t n = 1; n <= 3; n++) {
        assert_int_equal(world_node(&w, n)->shards[0].commands, 100);
        assert_int_equal(world_node(&w, n)->shards[1].commands, 100);
    }
    world_fini(&w);
}

int main(void)
{
    log_set(NULL, NULL, LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elects_one_leader_per_shard),
        cmocka_unit_test(test_replicates_to_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
