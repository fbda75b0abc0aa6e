/* Everything at once, from a seed: nodes die, freeze and are cut off, messages are lost, doubled and late, disks are slow and full, leadership is
 * handed over, snapshots are taken and sent, while commands and reads keep coming. The world checks after every event; here it must also heal.
 *
 *     raft_torture [first seed [count]]
 */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SECOND = 1000000, MS = 1000 };

static uint64_t first_seed = 1;
static unsigned seed_count = 40;
static struct core_stats totals;
static uint64_t total_reads;

static void client(struct world *w)
{
    for (uint32_t s = 0; s < w->shard_count; s++) {
        world_put(w, s, 40 + prng_below(&w->prng, 400));
        for (uint32_t n = 1; n <= w->node_count; n++) {
            if (!world_node(w, n)->paused) {
                world_read(w, world_node(w, n), s);
            }
        }
    }
}

static void run(struct world *w, int64_t us)
{
    for (int64_t end = w->now_us + us; w->now_us < end;) {
        client(w);
        world_run(w, 1 + (int64_t)prng_below(&w->prng, 3 * MS));
    }
}

static unsigned up_count(const struct world *w)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < w->node_count; i++) {
        count += w->nodes[i].up ? 1 : 0;
    }
    return count;
}

static void collect(struct world *w, struct node *n)
{
    struct core_stats stats;
    if (n->core == NULL) {
        return;
    }
    core_stats(n->core, &stats);
    uint64_t *sum = (uint64_t *)&totals;
    const uint64_t *add = (const uint64_t *)&stats;
    for (size_t i = 0; i < sizeof totals / sizeof *sum; i++) {
        sum[i] += add[i];
    }
    for (uint32_t s = 0; s < w->shard_count; s++) {
        total_reads += n->shards[s].reads;
    }
}

/* It wakes as a leader that was replaced, and the new one's messages do not reach it: only the answers to its own probes can tell. */
static void sleep_through_an_election(struct world *w, struct node *n, uint32_t unheard)
{
    world_pause(w, n->id);
    w->hush[unheard][n->id] = true;
    run(w, 700 * MS);
    world_resume(w, n->id);
    run(w, 30 * MS);
    w->hush[unheard][n->id] = false;
}

static void kill_or_restart(struct world *w, struct node *n)
{
    if (n->up) {
        collect(w, n);
        world_kill(w, n->id);
    } else {
        world_restart(w, n->id);
    }
}

static void pause_or_resume(struct world *w, struct node *n)
{
    if (n->paused) {
        world_resume(w, n->id);
    } else if (n->up) {
        world_pause(w, n->id);
    }
}

static void disturb_network(struct world *w, struct node *n, uint32_t other)
{
    switch (prng_below(&w->prng, 3)) {
    case 0:
        world_isolate(w, n->id, prng_chance(&w->prng, 500000));
        break;
    case 1:
        w->hush[n->id][other] = other != n->id && !w->hush[n->id][other]; /* one way */
        break;
    default:
        w->drop_ppm = prng_chance(&w->prng, 500000) ? 100000 : 0;
        w->double_ppm = prng_chance(&w->prng, 500000) ? 50000 : 0;
        w->delay_max_us = prng_chance(&w->prng, 500000) ? 400 : 15 * MS;
        break;
    }
}

static void disturb_disk(struct world *w, struct node *n)
{
    if (prng_chance(&w->prng, 500000)) {
        n->force_result = prng_chance(&w->prng, 300000) ? MUSTER_E_FULL : 0;
    } else {
        n->write_takes_us = prng_chance(&w->prng, 600000) ? 500 : prng_chance(&w->prng, 500000) ? 30 * MS : 1500 * MS;
    }
}

static void mischief(struct world *w)
{
    struct node *n = world_node(w, 1 + (uint32_t)prng_below(&w->prng, w->node_count));
    uint32_t other = 1 + (uint32_t)prng_below(&w->prng, w->node_count);
    uint32_t shard = (uint32_t)prng_below(&w->prng, w->shard_count);
    bool awake = n->up && !n->paused;
    uint64_t what = prng_below(&w->prng, 13);
    if (what < 2) {
        kill_or_restart(w, n);
    } else if (what < 3) {
        pause_or_resume(w, n);
    } else if (what < 7) {
        disturb_network(w, n, other);
    } else if (what < 9) {
        disturb_disk(w, n);
    } else if (what == 9 && n->up) {
        core_snapshot_hint(n->core, shard);
    } else if (what == 10 && awake && other != n->id) {
        sleep_through_an_election(w, n, other);
    } else if (awake) {
        replica_transfer(n->core, shard, 0);
        world_flush(w, n);
    }
}

static void heal(struct world *w)
{
    w->drop_ppm = w->double_ppm = 0;
    w->delay_max_us = 400;
    for (uint32_t i = 1; i <= w->node_count; i++) {
        struct node *n = world_node(w, i);
        n->write_takes_us = 500;
        n->force_result = 0;
        world_isolate(w, i, false);
        if (!n->up) {
            world_restart(w, i);
        }
        world_resume(w, i);
    }
}

static uint64_t one_seed(uint64_t seed)
{
    struct world w;
    world_init(&w, seed, seed % 4 == 0 ? 5 : 3, 2);
    w.options.log_retain_bytes = 60000;
    w.options.snapshot_chunk_bytes = 100000;
    w.options.apply_slice_bytes = seed % 3 == 0 ? 2000 : 0;
    w.options.balance_after_ms = seed % 2 == 0 ? 500 : UINT32_MAX;
    world_start(&w);
    assert_true(world_settle(&w, 5 * SECOND));
    for (int i = 0; i < 40; i++) {
        mischief(&w);
        run(&w, (int64_t)prng_below(&w.prng, 300 * MS));
    }
    heal(&w);
    w.options.balance_after_ms = UINT32_MAX;
    run(&w, 3 * SECOND);
    if (!world_settle(&w, 20 * SECOND) || !world_even(&w, 20 * SECOND)) {
        world_show(&w);
        fail_msg("seed %llu does not heal", (unsigned long long)seed);
    }
    assert_int_equal(up_count(&w), w.node_count);
    for (uint32_t i = 1; i <= w.node_count; i++) {
        if (world_node(&w, i)->fatal[0] != '\0') {
            fail_msg("seed %llu, node %u: %s", (unsigned long long)seed, i, world_node(&w, i)->fatal);
        }
        collect(&w, world_node(&w, i));
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
           (unsigned long long)totals.elections_begun, (unsigned long long)totals.elections_won, (unsigned long long)totals.elections_fast,
           (unsigned long long)totals.entries_applied, (unsigned long long)totals.entries_cut, (unsigned long long)totals.batches_full,
           (unsigned long long)totals.snapshots_taken, (unsigned long long)totals.snapshots_installed,
           (unsigned long long)totals.transfers_done, (unsigned long long)totals.transfers_aborted, (unsigned long long)totals.votes_parked,
           (unsigned long long)totals.stalls, (unsigned long long)total_reads);
    if (seed_count < 40) {
        return;
    }
    assert_true(totals.elections_won > 2 * seed_count);
    assert_true(totals.elections_fast > seed_count / 2);
    assert_true(totals.entries_cut > seed_count);
    assert_true(totals.batches_full > seed_count);
    assert_true(totals.snapshots_taken > seed_count);
    assert_true(totals.snapshots_installed > seed_count / 2);
    assert_true(totals.transfers_done > seed_count / 2);
    assert_true(totals.stalls > seed_count / 4);
    assert_true(total_reads > 1000 * seed_count);
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
