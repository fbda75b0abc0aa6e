/* Everything at once, from a seed: nodes die, freeze and are cut off, messages are lost, doubled and late, disks are slow and full, leadership is
 * handed over, snapshots are taken and sent, while commands and reads keep coming. The world checks after every event; here it must also heal.
 *
 *     raft_torture [first seed [count]]
 */
#include "torture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint64_t first_seed = 1;
static unsigned seed_count = 40;

static uint64_t one_seed(uint64_t seed)
{
    struct world w;
    world_init(&w, seed, seed % 4 == 0 ? 5 : 3, 2);
    w.options.log_retain_bytes = seed % 5 == 0 ? UINT64_C(1) << 30 : 60000;
    w.options.log_tail_bytes = seed % 7 == 0 ? 0 : 2000;
    w.options.snapshot_chunk_bytes = 100000;
    w.options.apply_slice_bytes = seed % 3 == 0 ? 2000 : 0;
    w.options.balance_after_ms = seed % 2 == 0 ? 500 : UINT32_MAX;
    world_start(&w);
    assert_true(world_settle(&w, 5 * SECOND));
    for (int i = 0; i < 40; i++) {
        torture_mischief(&w);
        torture_run(&w, (int64_t)prng_below(&w.prng, 300 * MS));
    }
    torture_heal(&w);
    w.options.balance_after_ms = UINT32_MAX;
    torture_run(&w, 3 * SECOND);
    if (!world_settle(&w, 20 * SECOND) || !world_even(&w, 20 * SECOND)) {
        world_show(&w);
        fail_msg("seed %llu does not heal", (unsigned long long)seed);
    }
    assert_int_equal(torture_up_count(&w), w.node_count);
    for (uint32_t i = 1; i <= w.node_count; i++) {
        if (world_node(&w, i)->fatal[0] != '\0') {
            fail_msg("seed %llu, node %u: %s", (unsigned long long)seed, i, world_node(&w, i)->fatal);
        }
        torture_collect(&w, world_node(&w, i));
    }
    uint64_t run_hash = w.run_hash;
    world_fini(&w);
    return run_hash;
}

static void test_seeds(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++) {
        fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
        one_seed(seed);
    }
}

static void test_same_seed_same_run(void **state)
{
    (void)state;
    for (uint64_t seed = first_seed; seed < first_seed + 3; seed++) {
        assert_int_equal(one_seed(seed), one_seed(seed));
    }
}

/* A run in which nothing happened proves nothing. */
static void test_enough_happened(void **state)
{
    (void)state;
    printf("elections %llu/%llu fast %llu, applied %llu, cut %llu, full %llu, snapshots %llu/%llu, transfers %llu/%llu, parked %llu, "
           "stalls %llu, reads %llu\n",
           (unsigned long long)torture_totals.elections_begun, (unsigned long long)torture_totals.elections_won,
           (unsigned long long)torture_totals.elections_fast, (unsigned long long)torture_totals.entries_applied,
           (unsigned long long)torture_totals.entries_cut, (unsigned long long)torture_totals.batches_full,
           (unsigned long long)torture_totals.snapshots_taken, (unsigned long long)torture_totals.snapshots_installed,
           (unsigned long long)torture_totals.transfers_done, (unsigned long long)torture_totals.transfers_aborted,
           (unsigned long long)torture_totals.votes_parked, (unsigned long long)torture_totals.stalls, (unsigned long long)torture_reads);
    if (seed_count < 40) {
        return;
    }
    assert_true(torture_totals.elections_won > 2 * seed_count);
    assert_true(torture_totals.elections_fast > seed_count / 2);
    assert_true(torture_totals.entries_cut > seed_count);
    assert_true(torture_totals.batches_full > seed_count);
    assert_true(torture_totals.snapshots_taken > seed_count);
    assert_true(torture_totals.snapshots_installed > seed_count / 2);
    assert_true(torture_totals.transfers_done > seed_count / 2);
    assert_true(torture_totals.stalls > seed_count / 4);
    assert_true(torture_reads > 1000 * seed_count);
}

int main(int argc, char **argv)
{
    log_set(NULL, NULL, LOG_ERROR + 1);
    if (argc > 1) {
        first_seed = strtoull(argv[1], NULL, 10);
        seed_count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_enough_happened),
        cmocka_unit_test(test_same_seed_same_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
