/* The life of a replica: elections, replication, kills, pauses, partitions, transfers, reads, full and slow disks. The world checks agreement,
 * one leader a term and reads after every event; the tests here add what each situation must lead to. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SECOND = 1000000, MS = 1000 };

static void start(struct world *w, uint64_t seed, uint32_t nodes, uint32_t shards)
{
    world_init(w, seed, nodes, shards);
    world_start(w);
    assert_true(world_settle(w, 3 * SECOND));
}

/* Puts a command in each shard every millisecond where that is possible, and asks every leader for a read. Returns how many were taken. */
static unsigned load(struct world *w, int64_t us)
{
    unsigned taken = 0;
    for (int64_t end = w->now_us + us; w->now_us < end;) {
        for (uint32_t s = 0; s < w->shard_count; s++) {
            taken += world_put(w, s, 64) ? 1 : 0;
            for (uint32_t n = 1; n <= w->node_count; n++) {
                world_read(w, world_node(w, n), s);
            }
        }
        world_run(w, MS);
    }
    return taken;
}

static uint64_t reads(struct world *w)
{
    uint64_t sum = 0;
    for (uint32_t n = 1; n <= w->node_count; n++) {
        for (uint32_t s = 0; s < w->shard_count; s++) {
            sum += world_node(w, n)->shards[s].reads;
        }
    }
    return sum;
}

static uint32_t follower(struct world *w, uint32_t shard)
{
    uint32_t leader = world_leader(w, shard)->id;
    return leader == 1 ? 2 : 1;
}

static struct core_stats stats_of(struct world *w, uint32_t id)
{
    struct core_stats stats;
    core_stats(world_node(w, id)->core, &stats);
    return stats;
}

static void kill_three(struct world *w)
{
    for (uint32_t n = 1; n <= 3; n++) {
        world_kill(w, n);
    }
}

static int64_t until_leader(struct world *w, uint32_t shard, int64_t limit_us)
{
    int64_t begin = w->now_us;
    while (world_leader(w, shard) == NULL && w->now_us < begin + limit_us) {
        world_run(w, MS);
    }
    return w->now_us - begin;
}

static void test_elects_one_leader_per_shard(void **state)
{
    struct world w;
    (void)state;
    start(&w, 1, 3, 4);
    for (uint32_t s = 0; s < 4; s++) {
        assert_non_null(world_leader(&w, s));
        assert_int_equal(world_leader(&w, s)->id, s % 3 + 1); /* the preferred one asks first */
    }
    world_fini(&w);
}

static void test_single_node(void **state)
{
    struct world w;
    (void)state;
    start(&w, 2, 1, 2);
    assert_true(load(&w, 50 * MS) > 50);
    assert_true(reads(&w) > 50);
    world_kill(&w, 1);
    world_restart(&w, 1);
    assert_true(world_settle(&w, SECOND));
    assert_true(world_node(&w, 1)->shards[0].commands >= 49);
    world_fini(&w);
}

static void test_replicates_to_all(void **state)
{
    struct world w;
    (void)state;
    start(&w, 3, 3, 2);
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

static void test_survives_a_bad_network(void **state)
{
    struct world w;
    (void)state;
    start(&w, 4, 3, 2);
    w.drop_ppm = 100000;
    w.double_ppm = 100000;
    w.delay_max_us = 20 * MS;
    assert_true(load(&w, 3 * SECOND) > 100);
    w.drop_ppm = w.double_ppm = 0;
    w.delay_max_us = 400;
    assert_true(world_settle(&w, 3 * SECOND));
    assert_true(world_even(&w, 3 * SECOND));
    assert_true(reads(&w) > 100);
    world_fini(&w);
}

static void test_restart_keeps_everything(void **state)
{
    struct world w;
    (void)state;
    start(&w, 5, 3, 2);
    load(&w, 300 * MS);
    assert_true(world_even(&w, SECOND));
    uint64_t commands = world_node(&w, 1)->shards[0].commands;
    kill_three(&w);
    for (uint32_t n = 1; n <= 3; n++) {
        world_restart(&w, n);
    }
    assert_true(world_settle(&w, 3 * SECOND));
    assert_true(world_even(&w, SECOND));
    assert_int_equal(world_node(&w, 1)->shards[0].commands, commands);
    world_fini(&w);
}

/* Evidence instead of timeouts: a killed leader is replaced long before the election timeout of 300 ms. */
static void test_fast_failover(void **state)
{
    (void)state;
    int64_t sum = 0;
    for (uint64_t seed = 10; seed < 30; seed++) {
        struct world w;
        start(&w, seed, 3, 1);
        load(&w, 100 * MS);
        uint32_t leader = world_leader(&w, 0)->id;
        world_kill(&w, leader);
        int64_t took = until_leader(&w, 0, SECOND);
        assert_true(took < 150 * MS);
        sum += took;
        load(&w, 50 * MS);
        world_restart(&w, leader);
        assert_true(world_settle(&w, 2 * SECOND));
        assert_true(world_even(&w, SECOND));
        world_fini(&w);
    }
    assert_true(sum / 20 < 60 * MS);
}

/* A frozen leader keeps its connections: only time tells. The first in rank succeeds at once, and the thawed leader confirms nothing. */
static void test_frozen_leader(void **state)
{
    (void)state;
    for (uint64_t seed = 40; seed < 50; seed++) {
        struct world w;
        start(&w, seed, 3, 1);
        load(&w, 100 * MS);
        struct node *old = world_leader(&w, 0);
        world_read(&w, old, 0);
        world_pause(&w, old->id);
        assert_true(until_leader(&w, 0, 2 * SECOND) < 500 * MS);
        load(&w, 200 * MS);
        uint64_t before = old->shards[0].reads;
        world_resume(&w, old->id);
        old->shards[0].read_round = 0;
        world_read(&w, old, 0); /* it still believes that it leads */
        assert_true(world_settle(&w, 2 * SECOND));
        assert_int_equal(old->shards[0].reads, before);
        load(&w, 100 * MS);
        assert_true(world_even(&w, SECOND));
        world_fini(&w);
    }
}

/* A leader that is cut off goes on believing for a while; it must not confirm a read or commit an entry. */
static void test_cut_off_leader_confirms_nothing(void **state)
{
    struct world w;
    (void)state;
    start(&w, 60, 5, 1);
    load(&w, 100 * MS);
    struct node *old = world_leader(&w, 0);
    world_isolate(&w, old->id, true);
    world_run(&w, 2 * MS); /* what was on its way has arrived */
    uint64_t before = old->shards[0].reads;
    uint64_t applied = old->shards[0].applied;
    old->shards[0].read_round = 0;
    for (int i = 0; i < 200; i++) {
        world_read(&w, old, 0);
        if (old->shards[0].role == REPLICA_SERVING) {
            world_propose(&w, old, 0, 64);
        }
        world_put(&w, 0, 64);
        world_run(&w, 5 * MS);
    }
    assert_int_equal(old->shards[0].reads, before);
    assert_int_equal(old->shards[0].applied, applied);
    assert_int_equal(old->shards[0].role, REPLICA_FOLLOWER);
    assert_non_null(world_leader(&w, 0));
    world_isolate(&w, old->id, false);
    assert_true(world_settle(&w, 2 * SECOND));
    assert_true(world_even(&w, SECOND));
    assert_true(stats_of(&w, old->id).entries_cut > 0);
    world_fini(&w);
}

/* The contact with a majority stops moving when the majority is gone. */
static void test_contact_stops_when_cut_off(void **state)
{
    struct world w;
    (void)state;
    start(&w, 61, 3, 1);
    world_run(&w, 500 * MS);
    struct node *leader = world_leader(&w, 0);
    struct replica_shard_status status;
    replica_status(leader->core, 0, &status);
    assert_true(w.now_us - status.contact_us < 150 * MS);
    int64_t cut_us = w.now_us;
    world_isolate(&w, leader->id, true);
    world_run(&w, 150 * MS);
    replica_status(leader->core, 0, &status);
    assert_true(status.contact_us <= cut_us);
    world_fini(&w);
}

/* Rounds that leave in 100 ms while so many reads are asked for every 100 us. */
static uint64_t rounds_under(struct world *w, struct node *leader, int reads_each)
{
    uint64_t before = stats_of(w, leader->id).rounds_sent;
    for (int i = 0; i < 1000; i++) {
        for (int k = 0; k < reads_each; k++) {
            replica_want_round(leader->core, 0);
        }
        replica_flush(leader->core, w->now_us);
        world_run(w, 100);
    }
    return stats_of(w, leader->id).rounds_sent - before;
}

/* One in an interval as long as they carry few requests, less often when they carry many, in the end one in four intervals. */
static void test_rounds_that_carry_many_are_rarer(void **state)
{
    struct world w;
    const uint64_t most = 200;
    (void)state;
    world_init(&w, 62, 3, 1);
    w.options.probe_interval_us = 500;
    world_start(&w);
    assert_true(world_settle(&w, 2 * SECOND));
    struct node *leader = world_leader(&w, 0);
    assert_in_range(rounds_under(&w, leader, 1), most * 9 / 10, most + 2);
    assert_in_range(rounds_under(&w, leader, 3), most * 9 / 10, most + 2);
    assert_in_range(rounds_under(&w, leader, 100), most / 4 * 9 / 10, most / 4 + 2);
    assert_in_range(rounds_under(&w, leader, 1), most * 9 / 10, most + 2);
    world_read(&w, leader, 0);
    world_run(&w, 20 * MS);
    assert_int_equal(leader->shards[0].read_round, 0);
    world_fini(&w);
}

static void test_transfer_under_load(void **state)
{
    struct world w;
    (void)state;
    start(&w, 70, 3, 2);
    for (int round = 0; round < 10; round++) {
        load(&w, 100 * MS);
        struct node *leader = world_leader(&w, 0);
        uint32_t target = leader->id % 3 + 1;
        assert_int_equal(replica_transfer(leader->core, 0, target), 0);
        assert_int_equal(leader->shards[0].role, REPLICA_HANDING_OVER);
        assert_int_equal(replica_transfer(leader->core, 0, target), MUSTER_E_BUSY);
        assert_int_equal(world_propose(&w, leader, 0, 64), MUSTER_E_BUSY);
        int64_t begin = w.now_us;
        while (world_leader(&w, 0) == NULL || world_leader(&w, 0)->id != target) {
            world_run(&w, MS);
            assert_true(w.now_us - begin < 60 * MS);
        }
        assert_int_equal(stats_of(&w, leader->id).transfers_aborted, 0);
    }
    assert_true(world_even(&w, SECOND));
    world_fini(&w);
}

static void test_transfer_refusals(void **state)
{
    struct world w;
    (void)state;
    start(&w, 71, 3, 1);
    struct node *leader = world_leader(&w, 0);
    struct node *other = world_node(&w, follower(&w, 0));
    assert_int_equal(replica_transfer(other->core, 0, 0), MUSTER_E_NOT_LEADER);
    assert_int_equal(replica_transfer(leader->core, 0, leader->id), MUSTER_E_NOT_FOUND);
    assert_int_equal(replica_transfer(leader->core, 0, 9), MUSTER_E_NOT_FOUND);
    assert_int_equal(replica_transfer(leader->core, 7, 1), MUSTER_E_INVALID);
    world_fini(&w);
}

/* Who is about to end says so: it is handed nothing, and does not hand over to another one that ends as well. */
static void test_nodes_that_end_are_handed_nothing(void **state)
{
    struct world w;
    (void)state;
    start(&w, 73, 3, 1);
    load(&w, 100 * MS);
    struct node *leader = world_leader(&w, 0);
    uint32_t ends = leader->id % 3 + 1, stays = ends % 3 + 1;
    replica_ending(world_node(&w, ends)->core);
    replica_ending(leader->core);
    world_run(&w, 10 * MS);
    assert_int_equal(replica_transfer(leader->core, 0, 0), 0);
    world_run(&w, 100 * MS);
    struct node *next = world_leader(&w, 0);
    assert_int_equal(next->id, stays);
    replica_ending(next->core);
    world_run(&w, 10 * MS);
    assert_int_equal(replica_transfer(next->core, 0, 0), MUSTER_E_NOT_FOUND);
    assert_true(load(&w, 50 * MS) > 20);
    world_fini(&w);
}

/* The target is frozen: the leader takes submissions again after one election timeout. */
static void test_transfer_to_a_frozen_node_aborts(void **state)
{
    struct world w;
    (void)state;
    start(&w, 72, 3, 1);
    load(&w, 100 * MS);
    struct node *leader = world_leader(&w, 0);
    uint32_t target = follower(&w, 0);
    world_pause(&w, target);
    load(&w, 20 * MS);
    assert_int_equal(replica_transfer(leader->core, 0, target), 0);
    world_run(&w, 700 * MS);
    assert_int_equal(leader->shards[0].role, REPLICA_SERVING);
    assert_int_equal(stats_of(&w, leader->id).transfers_aborted, 1);
    assert_true(load(&w, 50 * MS) > 20);
    world_resume(&w, target);
    assert_true(world_settle(&w, SECOND));
    assert_true(world_even(&w, SECOND));
    world_fini(&w);
}

static void test_full_disk_hands_over(void **state)
{
    struct world w;
    (void)state;
    start(&w, 90, 3, 1);
    load(&w, 100 * MS);
    struct node *leader = world_leader(&w, 0);
    leader->force_result = MUSTER_E_FULL;
    load(&w, 3 * SECOND);
    assert_int_not_equal(world_leader(&w, 0)->id, leader->id);
    assert_true(load(&w, 100 * MS) > 50);
    leader->force_result = 0;
    load(&w, SECOND);
    assert_true(world_even(&w, 2 * SECOND));
    world_fini(&w);
}

/* Nobody can write: the leader goes on leading and confirms reads, refuses changes, and takes them again by itself. */
static void test_full_disks_everywhere(void **state)
{
    struct world w;
    (void)state;
    start(&w, 91, 3, 1);
    load(&w, 100 * MS);
    for (uint32_t n = 1; n <= 3; n++) {
        world_node(&w, n)->force_result = MUSTER_E_FULL;
    }
    load(&w, 2 * SECOND);
    struct node *leader = world_leader(&w, 0);
    assert_non_null(leader);
    uint64_t before = reads(&w);
    assert_int_equal(world_propose(&w, leader, 0, 64), MUSTER_E_BUSY);
    assert_int_equal(load(&w, SECOND), 0);
    assert_true(reads(&w) > before + 100);
    assert_ptr_equal(world_leader(&w, 0), leader);
    for (uint32_t n = 1; n <= 3; n++) {
        world_node(&w, n)->force_result = 0;
    }
    world_run(&w, SECOND);
    assert_true(load(&w, 200 * MS) > 100);
    assert_true(world_even(&w, SECOND));
    world_fini(&w);
}

/* Not even the reserve is left for a vote: it is tried again now and then, and not as fast as a disk says no. */
static void test_a_disk_without_any_room_is_not_asked_all_the_time(void **state)
{
    struct world w;
    (void)state;
    start(&w, 93, 3, 1);
    load(&w, 100 * MS);
    uint32_t led = world_leader(&w, 0)->id, one = follower(&w, 0);
    for (uint32_t n = 1; n <= 3; n++) {
        world_node(&w, n)->force_result = MUSTER_E_FULL;
    }
    world_kill(&w, led);
    world_run(&w, SECOND);
    uint64_t before = stats_of(&w, one).batches_full;
    world_run(&w, SECOND);
    uint64_t asked = stats_of(&w, one).batches_full - before;
    assert_true(asked >= 1 && asked <= 60);
    for (uint32_t n = 1; n <= 3; n++) {
        world_node(&w, n)->force_result = 0;
    }
    assert_true(world_settle(&w, 2 * SECOND));
    world_restart(&w, led);
    assert_true(world_even(&w, 3 * SECOND));
    world_fini(&w);
}

static void test_slow_disk_hands_over(void **state)
{
    struct world w;
    (void)state;
    start(&w, 92, 3, 1);
    load(&w, 100 * MS);
    struct node *leader = world_leader(&w, 0);
    leader->write_takes_us = 5 * SECOND;
    load(&w, 3 * SECOND);
    assert_int_not_equal(world_leader(&w, 0)->id, leader->id);
    leader->write_takes_us = 500;
    world_run(&w, 5 * SECOND);
    load(&w, 100 * MS);
    assert_true(world_even(&w, SECOND));
    world_fini(&w);
}

static void test_failed_write_is_fatal(void **state)
{
    struct world w;
    (void)state;
    start(&w, 93, 3, 1);
    struct node *leader = world_leader(&w, 0);
    leader->force_result = MUSTER_E_IO;
    load(&w, 100 * MS);
    assert_non_null(strstr(leader->fatal, "writing the log failed"));
    world_fini(&w);
}

static void test_diverged_replica_stops(void **state)
{
    struct world w;
    (void)state;
    start(&w, 94, 3, 1);
    load(&w, 100 * MS);
    uint32_t id = follower(&w, 0);
    assert_true(world_even(&w, SECOND));
    /* Its state goes wrong without anything else going wrong; the check of the world must not see it first. */
    uint64_t at = world_node(&w, id)->shards[0].applied;
    for (uint64_t i = at + 1; i < at + 40; i++) {
        world_node(&w, id)->shards[0].hash = 12345;
        w.unchecked = id;
        world_put(&w, 0, 64);
        world_run(&w, 5 * MS);
    }
    assert_non_null(strstr(world_node(&w, id)->fatal, "diverged"));
    struct core_stats stats;
    core_stats(world_node(&w, id)->core, &stats);
    assert_int_equal(stats.shards_in_doubt, 1);
    assert_false(stats.disk_healthy);
    for (uint32_t n = 1; n <= 3; n++) {
        assert_true(n == id || world_node(&w, n)->fatal[0] == '\0');
    }
    world_fini(&w);
}

/* Who was away when the others told their hashes hears them when he is back: nothing new is written by then, so nobody would tell him anything else. */
static void test_diverged_replica_that_was_away_stops(void **state)
{
    enum { MORE_THAN_AN_INTERVAL = 20 };
    struct world w;
    (void)state;
    start(&w, 95, 3, 1);
    load(&w, 100 * MS);
    assert_true(world_even(&w, SECOND));
    uint32_t id = follower(&w, 0);
    world_kill(&w, id);
    for (unsigned i = 0; i < MORE_THAN_AN_INTERVAL; i++) {
        assert_true(world_put(&w, 0, 64));
        world_run(&w, 5 * MS);
    }
    w.unchecked = id;
    world_restart(&w, id);
    world_node(&w, id)->shards[0].hash = 12345;
    world_run(&w, SECOND);
    assert_non_null(strstr(world_node(&w, id)->fatal, "diverged"));
    for (uint32_t n = 1; n <= 3; n++) {
        assert_true(n == id || world_node(&w, n)->fatal[0] == '\0');
    }
    world_fini(&w);
}

/* Two of three gone and back: the survivor must not have run its term up, and everything goes on. */
static void test_minority_keeps_its_term(void **state)
{
    struct world w;
    (void)state;
    start(&w, 95, 3, 1);
    load(&w, 100 * MS);
    world_kill(&w, 2);
    world_kill(&w, 3);
    world_run(&w, 10 * SECOND);
    uint64_t term = world_node(&w, 1)->shards[0].term;
    world_run(&w, 20 * SECOND);
    assert_true(world_node(&w, 1)->shards[0].term <= term + 1);
    world_restart(&w, 2);
    world_restart(&w, 3);
    assert_true(world_settle(&w, 3 * SECOND));
    load(&w, 100 * MS);
    assert_true(world_even(&w, SECOND));
    world_fini(&w);
}

/* A node that was up for long without a majority elects as soon as there is one, although it had come to ask rarely. */
static void test_a_majority_of_late_comers(void **state)
{
    (void)state;
    int64_t sum = 0;
    for (uint64_t seed = 520; seed < 540; seed++) {
        struct world w;
        start(&w, seed, 3, 4);
        load(&w, 100 * MS);
        kill_three(&w);
        world_restart(&w, 3);
        world_run(&w, 5 * SECOND + (int64_t)(seed % 20) * 20 * MS);
        int64_t begin = w.now_us;
        world_restart(&w, 1);
        for (uint32_t s = 0; s < 4; s++) {
            until_leader(&w, s, SECOND);
        }
        assert_true(w.now_us - begin < 250 * MS);
        assert_int_equal(world_leader(&w, 2)->id, 3); /* whom it prefers */
        sum += w.now_us - begin;
        world_fini(&w);
    }
    assert_true(sum / 20 < 200 * MS);
}

/* They come one after the other, but soon: nobody is elected in the place of the last. */
static void test_who_is_a_little_late_gets_its_shards(void **state)
{
    (void)state;
    for (uint64_t seed = 550; seed < 560; seed++) {
        struct world w;
        start(&w, seed, 3, 4);
        load(&w, 100 * MS);
        assert_true(world_even(&w, SECOND));
        kill_three(&w);
        world_restart(&w, 1);
        world_run(&w, 30 * MS);
        world_restart(&w, 2);
        world_run(&w, 50 * MS);
        world_restart(&w, 3);
        assert_true(until_leader(&w, 2, SECOND) < 150 * MS);
        assert_int_equal(world_leader(&w, 2)->id, 3);
        world_fini(&w);
    }
}

/* The first in rank asks, and lacks entries that the last has: that one need not wait for its turn. */
static void test_who_has_the_newest_log_stands_at_once(void **state)
{
    (void)state;
    for (uint64_t seed = 540; seed < 550; seed++) {
        struct world w;
        start(&w, seed, 3, 1);
        load(&w, 100 * MS);
        assert_int_equal(replica_transfer(world_leader(&w, 0)->core, 0, 3), 0);
        world_run(&w, 100 * MS);
        assert_int_equal(world_leader(&w, 0)->id, 3);
        world_isolate(&w, 3, true);
        assert_int_equal(world_propose(&w, world_node(&w, 3), 0, 64), 0);
        world_run(&w, 20 * MS);
        kill_three(&w);
        world_isolate(&w, 3, false);
        world_restart(&w, 1);
        world_restart(&w, 3);
        assert_true(until_leader(&w, 0, SECOND) < 150 * MS);
        assert_int_equal(world_leader(&w, 0)->id, 3);
        world_fini(&w);
    }
}

/* Three nodes wake up, and the longer the log, the older the term: who has the newest term may not lead, and the others must learn of it. */
static void test_longest_log_has_the_oldest_term(void **state)
{
    struct world w;
    (void)state;
    start(&w, 408, 3, 1);
    load(&w, 100 * MS);
    assert_true(world_even(&w, SECOND));
    struct node *longest = world_leader(&w, 0);
    uint64_t term = longest->shards[0].term;
    uint32_t middle = longest->id % 3 + 1, shortest = middle % 3 + 1;
    w.hush[longest->id][shortest] = true;
    assert_int_equal(world_propose(&w, longest, 0, 64), 0);
    world_run(&w, 20 * MS);
    w.hush[longest->id][middle] = true;
    assert_int_equal(world_propose(&w, longest, 0, 64), 0);
    world_run(&w, 20 * MS);
    memset(w.hush, false, sizeof w.hush);
    kill_three(&w);
    world_set_term(&w, middle, 0, term + 4);
    world_set_term(&w, shortest, 0, term + 8);
    for (uint32_t n = 1; n <= 3; n++) {
        world_restart(&w, n);
    }
    assert_true(world_settle(&w, 10 * SECOND));
    assert_true(world_leader(&w, 0)->id != shortest);
    assert_true(world_leader(&w, 0)->shards[0].term > term + 8);
    load(&w, 100 * MS);
    assert_true(world_even(&w, SECOND));
    world_fini(&w);
}

/* A node that comes back with a long log applies it in slices (the world looks), and is heard meanwhile: one election, not one after another. */
static void test_a_long_log_is_applied_in_slices(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 98, 3, 2);
    w.options.apply_slice_bytes = 4000;
    world_start(&w);
    assert_true(world_settle(&w, 3 * SECOND));
    for (int i = 0; i < 300; i++) {
        world_put(&w, 0, 1000);
        world_put(&w, 1, 1000);
        world_run(&w, 5 * MS);
    }
    assert_true(world_even(&w, SECOND));
    uint64_t entries = world_node(&w, 1)->shards[0].applied;
    assert_true(entries > 200);
    for (uint32_t id = 1; id <= 3; id++) {
        world_kill(&w, id);
    }
    for (uint32_t id = 1; id <= 3; id++) {
        world_restart(&w, id);
    }
    assert_true(world_settle(&w, 3 * SECOND));
    assert_true(world_even(&w, SECOND));
    assert_true(world_node(&w, 1)->shards[0].applied > entries);
    world_fini(&w);
}

/* Who was elected applies that shard before those it follows: clients wait for it. */
static void test_offices_are_taken_first(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 99, 3, 3);
    w.options.apply_slice_bytes = 500;
    world_start(&w);
    assert_true(world_settle(&w, 3 * SECOND));
    for (int i = 0; i < 2000; i++) {
        world_put(&w, (uint32_t)(1 + i % 2), 1000);
        world_run(&w, 2 * MS);
    }
    assert_true(world_even(&w, SECOND));
    uint64_t entries = world_node(&w, 1)->shards[1].applied;
    for (uint32_t id = 1; id <= 3; id++) {
        world_kill(&w, id);
    }
    for (uint32_t id = 1; id <= 3; id++) {
        world_restart(&w, id);
    }
    while (world_leader(&w, 2) == NULL || world_leader(&w, 2)->shards[2].role != REPLICA_SERVING) {
        world_run(&w, 100);
        assert_true(w.now_us < 60 * (int64_t)SECOND);
    }
    struct node *leader = world_leader(&w, 2);
    assert_true(leader->shards[1].role == REPLICA_FOLLOWER && leader->shards[1].applied < entries / 2);
    assert_true(world_even(&w, 3 * SECOND));
    world_fini(&w);
}

static void test_proposal_limits(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 96, 3, 1);
    w.options.entry_max_bytes = 10000;
    w.options.unapplied_max_bytes = 20000;
    world_start(&w);
    assert_true(world_settle(&w, 2 * SECOND));
    struct node *leader = world_leader(&w, 0);
    assert_int_equal(world_propose(&w, leader, 0, 10001), MUSTER_E_LIMIT);
    assert_int_equal(world_propose(&w, world_node(&w, follower(&w, 0)), 0, 64), MUSTER_E_NOT_LEADER);
    assert_int_equal(world_propose(&w, leader, 0, 9000), 0);
    assert_int_equal(world_propose(&w, leader, 0, 9000), 0);
    assert_int_equal(world_propose(&w, leader, 0, 9000), MUSTER_E_BUSY);
    world_run(&w, 50 * MS);
    assert_int_equal(world_propose(&w, leader, 0, 9000), 0);
    world_fini(&w);
}

int main(void)
{
    log_set(NULL, NULL, LOG_ERROR + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_elects_one_leader_per_shard),
        cmocka_unit_test(test_single_node),
        cmocka_unit_test(test_replicates_to_all),
        cmocka_unit_test(test_survives_a_bad_network),
        cmocka_unit_test(test_restart_keeps_everything),
        cmocka_unit_test(test_fast_failover),
        cmocka_unit_test(test_frozen_leader),
        cmocka_unit_test(test_cut_off_leader_confirms_nothing),
        cmocka_unit_test(test_contact_stops_when_cut_off),
        cmocka_unit_test(test_rounds_that_carry_many_are_rarer),
        cmocka_unit_test(test_transfer_under_load),
        cmocka_unit_test(test_transfer_refusals),
        cmocka_unit_test(test_nodes_that_end_are_handed_nothing),
        cmocka_unit_test(test_transfer_to_a_frozen_node_aborts),
        cmocka_unit_test(test_full_disk_hands_over),
        cmocka_unit_test(test_full_disks_everywhere),
        cmocka_unit_test(test_a_disk_without_any_room_is_not_asked_all_the_time),
        cmocka_unit_test(test_slow_disk_hands_over),
        cmocka_unit_test(test_failed_write_is_fatal),
        cmocka_unit_test(test_diverged_replica_stops),
        cmocka_unit_test(test_diverged_replica_that_was_away_stops),
        cmocka_unit_test(test_minority_keeps_its_term),
        cmocka_unit_test(test_a_majority_of_late_comers),
        cmocka_unit_test(test_who_is_a_little_late_gets_its_shards),
        cmocka_unit_test(test_who_has_the_newest_log_stands_at_once),
        cmocka_unit_test(test_longest_log_has_the_oldest_term),
        cmocka_unit_test(test_a_long_log_is_applied_in_slices),
        cmocka_unit_test(test_offices_are_taken_first),
        cmocka_unit_test(test_proposal_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
