/* The torture of torture_test.c while the members change: an operator adds, promotes, removes and replaces nodes, from one voter to seven, and whoever leads
 * a shard makes the changes there, one step after the other, a leader that was cut off included. At the end all must be as the operator wanted it.
 *
 *     raft_members_torture [first seed [count]]
 */
#include "torture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum wanted { OUT, LEARNER, VOTER };

static uint64_t first_seed = 1;
static unsigned seed_count = 24;

/* The operator's wishes, and how often which was granted. */
static struct {
    enum wanted wanted[WORLD_NODES + 1];
    uint32_t wiped; /* it is being replaced: out of all shards first */
} cluster;
static unsigned long changes_begun[REPLICA_REMOVE + 1], replaced, expelled, most_voters, fewest_voters;

static unsigned wanted_voters(void)
{
    unsigned count = 0;
    for (uint32_t i = 1; i <= WORLD_NODES; i++) {
        count += cluster.wanted[i] == VOTER ? 1 : 0;
    }
    return count;
}

/* ---- who leads a shard ---------------------------------------------------------------------------------------------------- */

static bool is_peer(const struct node *n, uint32_t id)
{
    const struct store_identity *identity = core_identity(n->core);
    for (uint32_t i = 0; i < identity->peer_count; i++) {
        if (identity->peers[i].node_id == id) {
            return true;
        }
    }
    return false;
}

/* The first step towards the wish that this node can ask for. */
static void reconcile(struct world *w, struct node *n, uint32_t shard)
{
    for (uint32_t pass = 0; pass < 2; pass++) { /* who comes, then who goes */
        for (uint32_t id = 1; id <= w->node_count; id++) {
            bool votes = world_votes(w, n->id, shard, id), learns = world_learns(w, n->id, shard, id);
            enum wanted wanted = cluster.wanted[id];
            enum replica_change change = REPLICA_REMOVE;
            if (pass == 0 && wanted != OUT && !votes && !learns && is_peer(n, id)) {
                change = REPLICA_ADD_LEARNER;
            } else if (pass == 0 && wanted == VOTER && learns) {
                change = REPLICA_PROMOTE;
            } else if (pass == 0 || wanted != OUT || (!votes && !learns)) {
                continue;
            }
            if (replica_change_member(n->core, shard, change, id) == 0) {
                changes_begun[change]++;
                world_flush(w, n);
#ifndef MUSTER_FAULT_TWO_CHANGES_AT_ONCE
                return;
#endif
            }
        }
    }
    world_flush(w, n);
}

/* No shard has it any more, as far as the one that leads it knows for certain. */
static bool gone(struct world *w, uint32_t id)
{
    for (uint32_t s = 0; s < w->shard_count; s++) {
        struct node *leader = world_leader(w, s);
        struct replica_member members[WORLD_NODES];
        bool committed = false;
        if (leader == NULL) {
            return false;
        }
        (void)replica_members(leader->core, s, members, COUNT_OF(members), &committed);
        if (!committed || world_votes(w, leader->id, s, id) || world_learns(w, leader->id, s, id)) {
            return false;
        }
    }
    return true;
}

static bool in_record(const struct world *w, uint32_t id)
{
    for (uint32_t i = 0; i < w->members.peer_count; i++) {
        if (w->members.peers[i].node_id == id) {
            return true;
        }
    }
    return false;
}

/* Whoever is out everywhere leaves the record some time later; one that was wiped comes back under its old id. */
static void clear_up(struct world *w)
{
    for (uint32_t id = 1; id <= w->node_count; id++) {
        if (cluster.wanted[id] != OUT || (!in_record(w, id) && id != cluster.wiped) || !gone(w, id)) {
            continue;
        }
        if (id == cluster.wiped) {
            cluster.wiped = 0;
            cluster.wanted[id] = VOTER;
            world_join(w, id);
            replaced++;
        } else if (prng_chance(&w->prng, 3000)) {
            world_expel(w, id);
            expelled++;
        }
    }
}

static void step(struct world *w)
{
    uint32_t shard = (uint32_t)prng_below(&w->prng, w->shard_count);
    for (uint32_t i = 1; i <= w->node_count; i++) {
        struct node *n = world_node(w, i);
        if (!n->up || n->paused) {
            continue;
        }
        if (prng_chance(&w->prng, 100000)) {
            world_hear(w, i);
        }
        if (n->shards[shard].role == REPLICA_SERVING) {
            reconcile(w, n, shard);
            unsigned long voters = wanted_voters();
            most_voters = voters > most_voters ? voters : most_voters;
            fewest_voters = voters < fewest_voters ? voters : fewest_voters;
        }
    }
    clear_up(w);
}

/* ---- the operator ------------------------------------------------------------------------------------------------------------ */

static bool as_wanted(struct world *w)
{
    for (uint32_t s = 0; s < w->shard_count; s++) {
        struct node *leader = world_leader(w, s);
        for (uint32_t i = 1; i <= w->node_count; i++) {
            struct node *n = world_node(w, i);
            if (leader == NULL || world_votes(w, leader->id, s, i) != (cluster.wanted[i] == VOTER) ||
                world_learns(w, leader->id, s, i) != (cluster.wanted[i] == LEARNER)) {
                return false;
            }
            /* Every member knows the same. */
            for (uint32_t k = 1; cluster.wanted[i] != OUT && k <= w->node_count; k++) {
                if (!n->up || world_votes(w, i, s, k) != (cluster.wanted[k] == VOTER)) {
                    return false;
                }
            }
        }
    }
    return cluster.wiped == 0;
}

static void add(struct world *w, struct node *n)
{
    if (n->up || cluster.wanted[n->id] != OUT || in_record(w, n->id) || n->id == cluster.wiped) {
        return;
    }
    cluster.wanted[n->id] = prng_chance(&w->prng, 300000) ? LEARNER : VOTER;
    world_join(w, n->id);
}

/* Its disk is lost. That is survived while the others have everything that was acknowledged, and so one is replaced at a time, when all is well. */
static void wipe(struct world *w, struct node *n)
{
    if (cluster.wanted[n->id] != VOTER || !n->up || wanted_voters() < 3 || !as_wanted(w)) {
        return;
    }
    torture_collect(w, n);
    world_kill(w, n->id);
    n->part = false;
    cluster.wanted[n->id] = OUT;
    cluster.wiped = n->id;
    world_expel(w, n->id);
}

/* Two halves that do not hear each other while changes go on: whose majority is it? The newest members tend to be with a leader that is cut off. */
static void split(struct world *w)
{
    bool side[WORLD_NODES + 1] = {false};
    struct node *leader = world_leader(w, (uint32_t)prng_below(&w->prng, w->shard_count));
    for (uint32_t i = 1; i <= w->node_count; i++) {
        bool votes = leader != NULL && world_votes(w, leader->id, 0, i);
        side[i] = prng_chance(&w->prng, votes ? 350000 : 850000);
    }
    if (leader != NULL) {
        side[leader->id] = true;
    }
    for (int on = 1; on >= 0; on--) {
        for (uint32_t i = 1; i <= w->node_count; i++) {
            for (uint32_t k = 1; k <= w->node_count; k++) {
                w->hush[i][k] = on && side[i] != side[k];
            }
        }
        torture_run(w, on ? 100 * MS + (int64_t)prng_below(&w->prng, 900 * MS) : 0);
    }
}

static void operate(struct world *w)
{
    struct node *n = world_node(w, 1 + (uint32_t)prng_below(&w->prng, w->node_count));
    switch (prng_below(&w->prng, 7)) {
    case 0:
    case 1:
        add(w, n);
        break;
    case 2:
        if (cluster.wanted[n->id] == LEARNER) {
            cluster.wanted[n->id] = VOTER;
        } else if (!n->up && n->part && cluster.wanted[n->id] == OUT && !in_record(w, n->id)) {
            n->part = false; /* the process of a removed node is not started again */
        }
        break;
    case 3:
        if (cluster.wanted[n->id] == LEARNER || (cluster.wanted[n->id] == VOTER && wanted_voters() > 1 && cluster.wiped == 0)) {
            cluster.wanted[n->id] = OUT;
        } else if (n->up && cluster.wanted[n->id] == OUT && !in_record(w, n->id)) {
            torture_collect(w, n);
            world_kill(w, n->id);
            n->part = false;
        }
        break;
    case 4:
        wipe(w, n);
        break;
    default:
        split(w);
        break;
    }
}

/* ---- a seed --------------------------------------------------------------------------------------------------------------------- */

static void show(struct world *w)
{
    world_show(w);
    for (uint32_t s = 0; s < w->shard_count; s++) {
        for (uint32_t i = 1; i <= w->node_count; i++) {
            fprintf(stderr, "shard %u node %u wanted %d%s knows:", s, i, (int)cluster.wanted[i], i == cluster.wiped ? " wiped" : "");
            for (uint32_t k = 1; world_node(w, i)->up && k <= w->node_count; k++) {
                fprintf(stderr, " %u%s", k, world_votes(w, i, s, k) ? "+" : world_learns(w, i, s, k) ? "?" : "-");
            }
            fprintf(stderr, "\n");
        }
    }
}

static void must_become_as_wanted(struct world *w, uint64_t seed)
{
    bool done = false;
    torture_heal(w);
    for (int i = 0; i < 60 && !done; i++) {
        world_hear_all(w);
        torture_run(w, SECOND / 2);
        done = as_wanted(w);
    }
    if (!done) {
        show(w);
        fail_msg("seed %llu: the members do not become what they should be", (unsigned long long)seed);
    }
}

static uint64_t one_seed(uint64_t seed)
{
    static struct world w;
    memset(&cluster, 0, sizeof cluster);
    uint32_t founders = seed % 4 == 0 ? 1 : seed % 4 == 1 ? 5 : 3;
    world_init(&w, seed, founders, 2);
    world_room(&w, WORLD_NODES - founders);
    w.options.log_retain_bytes = seed % 5 == 0 ? UINT64_C(1) << 30 : 60000;
    w.options.log_tail_bytes = seed % 7 == 0 ? 0 : 2000;
    w.options.snapshot_chunk_bytes = 100000;
    w.options.balance_after_ms = seed % 2 == 0 ? 500 : UINT32_MAX;
    for (uint32_t i = 1; i <= founders; i++) {
        cluster.wanted[i] = VOTER;
    }
    world_start(&w);
    assert_true(world_settle(&w, 5 * SECOND));
    torture_step = step;
    for (int i = 0; i < 60; i++) {
        if (prng_chance(&w.prng, 500000)) {
            operate(&w);
        } else {
            torture_mischief(&w);
        }
        torture_run(&w, (int64_t)prng_below(&w.prng, 300 * MS));
        if (i % 20 == 19) {
            must_become_as_wanted(&w, seed); /* else nothing would be replaced, and one that is stuck would hide the rest */
        }
    }
    w.options.balance_after_ms = UINT32_MAX;
    torture_step = NULL;
    torture_run(&w, SECOND);
    if (!world_settle(&w, 20 * SECOND) || !world_even(&w, 20 * SECOND) || !as_wanted(&w)) {
        show(&w);
        fail_msg("seed %llu does not heal", (unsigned long long)seed);
    }
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
    fewest_voters = WORLD_NODES;
    for (uint64_t seed = first_seed; seed < first_seed + seed_count; seed++) {
        fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
        one_seed(seed);
    }
}

static void test_same_seed_same_run(void **state)
{
    (void)state;
    assert_int_equal(one_seed(first_seed), one_seed(first_seed));
}

/* A run in which nothing happened proves nothing. */
static void test_enough_happened(void **state)
{
    (void)state;
    printf("added %lu, promoted %lu, removed %lu, replaced %lu, expelled %lu, voters %lu to %lu, elections %llu, snapshots installed %llu, "
           "reads %llu\n",
           changes_begun[REPLICA_ADD_LEARNER], changes_begun[REPLICA_PROMOTE], changes_begun[REPLICA_REMOVE], replaced, expelled,
           fewest_voters, most_voters, (unsigned long long)torture_totals.elections_won,
           (unsigned long long)torture_totals.snapshots_installed, (unsigned long long)torture_reads);
    if (seed_count < 20) {
        return;
    }
    assert_true(changes_begun[REPLICA_ADD_LEARNER] > 4 * seed_count);
    assert_true(changes_begun[REPLICA_PROMOTE] > 3 * seed_count);
    assert_true(changes_begun[REPLICA_REMOVE] > 3 * seed_count);
    assert_true(replaced > seed_count / 4);
    assert_true(expelled > seed_count);
    assert_int_equal(fewest_voters, 1);
    assert_true(most_voters > 5);
    assert_true(torture_totals.elections_won > 2 * seed_count);
    assert_true(torture_totals.snapshots_installed > seed_count / 2);
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
