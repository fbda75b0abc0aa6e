/* What of the log stays in memory: what a member lacks, and a short tail. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { SECOND = 1000000, MS = 1000, TAIL = 20000, ENTRY = 500 };

static struct world w;

static void begin(uint64_t seed, uint32_t shards, uint64_t retain)
{
    world_init(&w, seed, 3, shards);
    world_room(&w, 1);
    w.options.log_retain_bytes = retain;
    w.options.snapshot_interval_bytes = UINT64_C(1) << 30;
    w.options.log_tail_bytes = TAIL;
    world_start(&w);
    assert_true(world_settle(&w, 3 * SECOND));
}

static int finish(void **state)
{
    (void)state;
    world_fini(&w);
    return 0;
}

static void load(int count)
{
    for (int i = 0; i < count; i++) {
        for (uint32_t s = 0; s < w.shard_count; s++) {
            world_put(&w, s, ENTRY);
        }
        world_run(&w, MS);
    }
}

static struct core_stats stats_of(uint32_t id)
{
    struct core_stats stats;
    core_stats(world_node(&w, id)->core, &stats);
    return stats;
}

static uint32_t follower(uint32_t shard)
{
    uint32_t leader = world_leader(&w, shard)->id;
    return leader == 1 ? 2 : 1;
}

static void assert_short(uint32_t id)
{
    assert_in_range(stats_of(id).log_bytes, TAIL, 2 * TAIL);
}

/* No snapshot is needed for memory to be short, on the leader and on those that follow. */
static void test_what_all_have_leaves_memory(void **state)
{
    (void)state;
    begin(1, 2, UINT64_C(1) << 30);
    load(500);
    world_run(&w, 200 * MS);
    for (uint32_t n = 1; n <= 3; n++) {
        assert_short(n);
        assert_true(stats_of(n).replay_bytes > 20 * TAIL);
        assert_int_equal(stats_of(n).snapshots_taken, 0);
        struct replica_shard_status status;
        replica_status(world_node(&w, n)->core, 0, &status);
        assert_in_range(status.first_index, 400, status.applied_index);
    }
}

/* A start reads all of it; when the others have shown that they have it, too, it goes again. */
static void test_what_a_start_replays_leaves_memory(void **state)
{
    (void)state;
    begin(2, 2, UINT64_C(1) << 30);
    load(500);
    assert_true(world_even(&w, SECOND));
    for (uint32_t n = 1; n <= 3; n++) {
        world_kill(&w, n);
    }
    for (uint32_t n = 1; n <= 3; n++) {
        world_restart(&w, n);
        assert_true(stats_of(n).log_bytes > 20 * TAIL);
    }
    assert_true(world_settle(&w, 3 * SECOND));
    assert_true(world_even(&w, SECOND));
    world_run(&w, 200 * MS);
    for (uint32_t n = 1; n <= 3; n++) {
        assert_short(n);
        assert_true(stats_of(n).replay_bytes > 20 * TAIL);
        assert_int_equal(stats_of(n).snapshots_taken, 0);
    }
}

/* All nodes keep what one lacks that is away, not the leader alone: the next leader has it, too. */
static void test_who_was_away_is_sent_the_log(void **state)
{
    (void)state;
    begin(3, 1, UINT64_C(1) << 30);
    load(200);
    uint32_t away = follower(0);
    world_kill(&w, away);
    load(500);
    uint32_t leader = world_leader(&w, 0)->id, other = 6 - leader - away;
    assert_true(stats_of(leader).log_bytes > 10 * TAIL);
    assert_true(stats_of(other).log_bytes > 10 * TAIL);
    world_kill(&w, leader);
    world_restart(&w, away);
    assert_true(world_settle(&w, 5 * SECOND));
    assert_true(world_even(&w, 3 * SECOND));
    world_restart(&w, leader);
    load(20);
    assert_true(world_even(&w, 3 * SECOND));
    for (uint32_t n = 1; n <= 3; n++) {
        assert_int_equal(stats_of(n).snapshots_taken, 0);
        assert_int_equal(stats_of(n).snapshots_installed, 0);
    }
    load(50);
    world_run(&w, 200 * MS);
    for (uint32_t n = 1; n <= 3; n++) {
        assert_short(n);
    }
}

/* It is away for so long that too much would have to be kept. That nothing is written any more when it comes back must not keep it behind. */
static void test_who_was_away_too_long_is_sent_a_snapshot(void **state)
{
    enum { RETAIN = 10 * TAIL };
    (void)state;
    for (uint64_t seed = 4; seed < 12; seed++) {
        begin(seed, 2, RETAIN);
        load(100);
        uint32_t away = follower(0);
        world_kill(&w, away);
        for (int i = 0; i < 30; i++) {
            load(10 + (int)seed * 3);
            for (uint32_t n = 1; n <= 3; n++) {
                assert_true(n == away || stats_of(n).log_bytes < 2 * RETAIN);
            }
        }
        world_run(&w, SECOND);
        world_restart(&w, away);
        assert_true(world_even(&w, 20 * SECOND));
        assert_true(stats_of(away).snapshots_installed > 0);
        world_run(&w, 200 * MS);
        for (uint32_t n = 1; n <= 3; n++) {
            assert_in_range(stats_of(n).log_bytes, 1, 2 * TAIL);
        }
        if (seed < 11) {
            world_fini(&w);
        }
    }
}

/* What a node lacks that comes new is on disk only, and no snapshot was wanted so far: one is taken for it. */
static void test_a_newcomer_has_a_snapshot_taken(void **state)
{
    (void)state;
    begin(12, 2, UINT64_C(1) << 30);
    load(500);
    world_join(&w, 4);
    world_hear_all(&w);
    for (uint32_t s = 0; s < 2; s++) {
        assert_true(world_change(&w, s, REPLICA_ADD_LEARNER, 4, 3 * SECOND));
    }
    assert_true(world_even(&w, 5 * SECOND));
    assert_int_equal(stats_of(4).snapshots_installed, 2);
    load(100);
    for (uint32_t s = 0; s < 2; s++) {
        assert_true(world_change(&w, s, REPLICA_PROMOTE, 4, 3 * SECOND));
    }
    load(100);
    assert_true(world_even(&w, 5 * SECOND));
    world_run(&w, 200 * MS);
    for (uint32_t n = 1; n <= 4; n++) {
        assert_in_range(stats_of(n).log_bytes, TAIL, 2 * TAIL);
        assert_in_range(stats_of(n).snapshots_taken, 0, 2);
    }
}

/* One whose disk does not answer has stored nothing: what waits for it stays in memory, on it and on the others. */
static void test_what_is_not_written_stays(void **state)
{
    (void)state;
    begin(13, 1, UINT64_C(1) << 30);
    load(100);
    uint32_t slow = follower(0);
    world_node(&w, slow)->write_takes_us = 500 * MS;
    load(300);
    for (uint32_t n = 1; n <= 3; n++) {
        assert_true(stats_of(n).log_bytes > 5 * TAIL);
    }
    world_node(&w, slow)->write_takes_us = 100;
    assert_true(world_even(&w, 5 * SECOND));
    world_run(&w, SECOND);
    for (uint32_t n = 1; n <= 3; n++) {
        assert_short(n);
    }
}

int main(void)
{
    log_set(NULL, NULL, LOG_ERROR + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_what_all_have_leaves_memory, finish),
        cmocka_unit_test_teardown(test_what_a_start_replays_leaves_memory, finish),
        cmocka_unit_test_teardown(test_who_was_away_is_sent_the_log, finish),
        cmocka_unit_test_teardown(test_who_was_away_too_long_is_sent_a_snapshot, finish),
        cmocka_unit_test_teardown(test_a_newcomer_has_a_snapshot_taken, finish),
        cmocka_unit_test_teardown(test_what_is_not_written_stays, finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
