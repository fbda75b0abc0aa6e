/* Snapshots: the log stays bounded, a node starts from one, and a node that is too far behind is sent one. */
#include "world.h"

#include "state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SECOND = 1000000, MS = 1000, RETAIN = 100000 };

static void start(struct world *w, uint64_t seed, uint32_t shards)
{
    world_init(w, seed, 3, shards);
    w->options.log_retain_bytes = RETAIN;
    w->options.snapshot_chunk_bytes = 50000;
    world_start(w);
    assert_true(world_settle(w, 3 * SECOND));
}

static void load(struct world *w, int count)
{
    for (int i = 0; i < count; i++) {
        for (uint32_t s = 0; s < w->shard_count; s++) {
            world_put(w, s, 500);
        }
        world_run(w, MS);
    }
}

static struct core_stats stats_of(struct world *w, uint32_t id)
{
    struct core_stats stats;
    core_stats(world_node(w, id)->core, &stats);
    return stats;
}

static uint32_t follower(struct world *w, uint32_t shard)
{
    uint32_t leader = world_leader(w, shard)->id;
    return leader == 1 ? 2 : 1;
}

static void test_log_stays_bounded(void **state)
{
    struct world w;
    (void)state;
    start(&w, 1, 2);
    for (int i = 0; i < 20; i++) {
        load(&w, 100);
        for (uint32_t n = 1; n <= 3; n++) {
            assert_true(core_log_bytes(world_node(&w, n)->core) < RETAIN / 2);
            assert_true(stats_of(&w, n).replay_bytes < RETAIN + 60000);
        }
    }
    for (uint32_t n = 1; n <= 3; n++) {
        assert_true(stats_of(&w, n).snapshots_taken > 3);
        assert_true(world_node(&w, n)->trim_count > 3);
        struct replica_shard_status status;
        replica_status(world_node(&w, n)->core, 0, &status);
        assert_true(status.snapshot_index > 0 && status.first_index <= status.applied_index && status.first_index > 1);
    }
    world_fini(&w);
}

/* One follower's disk stands still while the others go on: what it holds in memory has an end, and when its disk is back it catches up. */
static void test_slow_follower_holds_little(void **state)
{
    enum { UNAPPLIED = 50000 };
    struct world w;
    (void)state;
    world_init(&w, 7, 3, 2);
    w.options.log_retain_bytes = UINT64_C(1) << 30;
    w.options.snapshot_interval_bytes = UINT64_C(1) << 30;
    w.options.unapplied_max_bytes = UNAPPLIED;
    world_start(&w);
    assert_true(world_settle(&w, 3 * SECOND));
    uint32_t slow = follower(&w, 0);
    load(&w, 100);
    world_node(&w, slow)->write_takes_us = 5 * SECOND;
    uint64_t most = 0;
    for (int i = 0; i < 40; i++) {
        load(&w, 50);
        struct core_stats stats = stats_of(&w, slow);
        most = stats.unstored_bytes > most ? stats.unstored_bytes : most;
    }
    assert_true(core_log_bytes(world_leader(&w, 0)->core) > 20 * UNAPPLIED); /* it lacks that */
    assert_true(most > UNAPPLIED && most < 2 * UNAPPLIED);
    assert_true(stats_of(&w, slow).appends_shortened > 0);
    world_node(&w, slow)->write_takes_us = 100;
    assert_true(world_even(&w, 30 * SECOND));
    world_fini(&w);
}

/* The disk takes the log and no snapshot: a leader that cannot shed its log refuses changes before it fills the disk. */
static void test_log_without_snapshots_is_bounded(void **state)
{
    enum { UNAPPLIED = 200000 };
    struct world w;
    (void)state;
    world_init(&w, 8, 3, 1);
    w.options.log_retain_bytes = RETAIN;
    w.options.unapplied_max_bytes = UNAPPLIED;
    world_start(&w);
    assert_true(world_settle(&w, 3 * SECOND));
    for (uint32_t n = 1; n <= 3; n++) {
        world_node(&w, n)->jobs_wait = true;
    }
    bool refused = false;
    for (int i = 0; i < 5000 && !refused; i++) {
        refused = !world_put(&w, 0, 500);
        world_run(&w, MS);
    }
    assert_true(refused);
    assert_in_range(stats_of(&w, world_leader(&w, 0)->id).replay_bytes, 4 * RETAIN, 4 * RETAIN + UNAPPLIED + 10000);
    for (uint32_t n = 1; n <= 3; n++) {
        world_node(&w, n)->jobs_wait = false;
    }
    world_run(&w, 2 * SECOND);
    assert_true(world_put(&w, 0, 500));
    assert_true(stats_of(&w, world_leader(&w, 0)->id).replay_bytes < 2 * RETAIN);
    world_fini(&w);
}

static void test_starts_from_a_snapshot(void **state)
{
    struct world w;
    (void)state;
    start(&w, 2, 2);
    load(&w, 500);
    assert_true(world_even(&w, SECOND));
    uint64_t hash = world_node(&w, 1)->shards[0].hash;
    uint64_t commands = world_node(&w, 1)->shards[0].commands;
    for (uint32_t n = 1; n <= 3; n++) {
        world_kill(&w, n);
    }
    for (uint32_t n = 1; n <= 3; n++) {
        struct replica_shard_status status;
        world_restart(&w, n);
        replica_status(world_node(&w, n)->core, 0, &status);
        assert_true(status.snapshot_index > 0);
        assert_int_equal(status.applied_index, 0); /* of more than a turn's slice not all is there yet, and nothing is said to be */
        if (n == 1) {
            world_run(&w, 50 * MS); /* alone, it restores all the same */
            replica_status(world_node(&w, n)->core, 0, &status);
            assert_true(status.leader == 0 && status.applied_index >= status.snapshot_index);
        }
    }
    assert_true(world_settle(&w, 3 * SECOND));
    assert_true(world_even(&w, SECOND));
    assert_int_equal(world_node(&w, 1)->shards[0].commands, commands);
    assert_int_not_equal(hash, 0);
    load(&w, 200);
    assert_true(world_even(&w, SECOND));
    world_fini(&w);
}

static void behind_node_catches_up(struct world *w, uint32_t id)
{
    world_kill(w, id);
    load(w, 600);
    world_restart(w, id);
    load(w, 100);
    assert_true(world_even(w, 20 * SECOND));
    assert_true(stats_of(w, id).snapshots_installed > 0);
}

static void test_sends_a_snapshot(void **state)
{
    struct world w;
    (void)state;
    start(&w, 3, 1);
    load(&w, 50);
    uint32_t id = follower(&w, 0);
    behind_node_catches_up(&w, id);
    assert_true(stats_of(&w, world_leader(&w, 0)->id).snapshots_sent > 0);
    /* ... and it starts from what it was sent. */
    world_kill(&w, id);
    world_restart(&w, id);
    assert_true(world_settle(&w, SECOND));
    load(&w, 50);
    assert_true(world_even(&w, SECOND));
    world_fini(&w);
}

static void test_sends_a_snapshot_through_a_bad_network(void **state)
{
    struct world w;
    (void)state;
    start(&w, 4, 2);
    w.drop_ppm = 100000;
    w.double_ppm = 50000;
    w.delay_max_us = 5 * MS;
    behind_node_catches_up(&w, follower(&w, 0));
    world_fini(&w);
}

/* Cut off again and again while it fetches: it goes on where it was. */
static void test_transfer_of_a_snapshot_is_resumed(void **state)
{
    struct world w;
    (void)state;
    start(&w, 5, 1);
    uint32_t id = follower(&w, 0);
    world_kill(&w, id);
    load(&w, 800);
    w.delay_min_us = w.delay_max_us = 10 * MS;
    world_restart(&w, id);
    unsigned cuts = 0;
    for (; stats_of(&w, id).snapshots_installed == 0 && cuts < 30; cuts++) {
        world_run(&w, 150 * MS); /* long enough for some chunks, too short for all */
        world_isolate(&w, id, true);
        world_run(&w, 400 * MS);
        world_isolate(&w, id, false);
    }
    assert_in_range(cuts, 2, 29);
    assert_true(w.bulk_bytes < 2 * 300000);
    assert_true(world_even(&w, 5 * SECOND));
    world_fini(&w);
}

/* The leader that sends goes away in the middle: the next one serves. */
static void test_sender_dies(void **state)
{
    struct world w;
    (void)state;
    start(&w, 6, 1);
    uint32_t id = follower(&w, 0);
    world_kill(&w, id);
    load(&w, 800);
    w.delay_min_us = w.delay_max_us = 5 * MS;
    world_restart(&w, id);
    world_run(&w, 120 * MS);
    assert_int_equal(stats_of(&w, id).snapshots_installed, 0);
    uint32_t leader = world_leader(&w, 0)->id;
    world_kill(&w, leader);
    assert_true(world_even(&w, 20 * SECOND));
    assert_true(stats_of(&w, id).snapshots_installed > 0);
    world_restart(&w, leader);
    assert_true(world_settle(&w, 3 * SECOND));
    assert_true(world_even(&w, 3 * SECOND));
    world_fini(&w);
}

/* What it was offered came with the log meanwhile, and the node that offered it sends nothing. It takes its own snapshots as ever: who leads needs them for others. */
static void test_offer_is_overtaken_by_the_log(void **state)
{
    struct world w;
    struct buf out;
    (void)state;
    start(&w, 15, 1);
    load(&w, 50);
    const struct node *leader = world_leader(&w, 0);
    struct node *n = world_node(&w, follower(&w, 0));
    const struct shard *s = &n->core->shards[0];
    struct message m = {.type = MESSAGE_SNAPSHOT_OFFER, .shard = 0};
    m.snapshot.term = m.snapshot.last_term = n->shards[0].term;
    m.snapshot.index = n->shards[0].applied + 20;
    m.snapshot.config_index = s->applied_config_index;
    m.snapshot.config = (struct bytes){s->applied_config.ptr, (int32_t)s->applied_config.len};
    m.snapshot.file_bytes = 100000;
    buf_init(&out, 0);
    assert_int_equal(message_encode(&out, &m), 0);
    assert_int_equal(core_receive(n->core, leader->id, (struct bytes){out.ptr, (int32_t)out.len}, w.now_us), 0);
    buf_fini(&out);
    world_flush(&w, n);
    assert_non_null(s->receiving);
    load(&w, 10);
    assert_non_null(s->receiving);
    uint64_t taken = stats_of(&w, n->id).snapshots_taken;
    load(&w, 1000);
    assert_null(s->receiving);
    assert_true(stats_of(&w, n->id).snapshots_taken > taken);
    world_fini(&w);
}

static void test_hint_trims_an_idle_shard(void **state)
{
    struct world w;
    (void)state;
    start(&w, 7, 2);
    world_put(&w, 1, 100);
    world_run(&w, 100 * MS);
    struct node *n = world_node(&w, 1);
    core_snapshot_hint(n->core, 1);
    world_run(&w, 200 * MS);
    assert_int_equal(n->trim_count, 1);
    assert_int_equal(n->trims[0].shard, 1);
    assert_int_equal(n->trims[0].index, n->shards[1].applied);
    core_snapshot_hint(n->core, 1); /* nothing new: the log is trimmed again, no snapshot is made */
    world_run(&w, 200 * MS);
    assert_int_equal(n->trim_count, 2);
    assert_int_equal(stats_of(&w, 1).snapshots_taken, 1);
    world_fini(&w);
}

/* The records are not those that were frozen: no snapshot is made of them, the log stays, and after a while it is tried again. */
static void test_snapshot_of_a_changed_state_is_abandoned(void **state)
{
    struct world w;
    (void)state;
    start(&w, 9, 1);
    struct node *n = world_node(&w, follower(&w, 0));
    n->freeze_broken = true;
    load(&w, 400);
    struct replica_shard_status status;
    replica_status(n->core, 0, &status);
    assert_int_equal(stats_of(&w, n->id).snapshots_taken, 0);
    assert_int_equal(status.snapshot_index, 0);
    assert_int_equal(n->trim_count, 0);
    assert_false(n->shards[0].frozen);
    assert_string_equal(n->fatal, "");
    assert_true(stats_of(&w, n->id).replay_bytes > RETAIN);
    n->freeze_broken = false;
    world_run(&w, 5 * SECOND);
    assert_int_equal(stats_of(&w, n->id).snapshots_taken, 0);
    world_run(&w, 6 * SECOND);
    assert_int_equal(stats_of(&w, n->id).snapshots_taken, 1);
    assert_true(n->trim_count > 0);
    world_kill(&w, n->id);
    world_restart(&w, n->id);
    assert_true(world_even(&w, 3 * SECOND));
    world_fini(&w);
}

/* ---- a state that went wrong between log and memory: its hash and its snapshots agree with each other ---- */

static void start_uneventful(struct world *w, uint64_t seed, uint32_t shards)
{
    world_init(w, seed, 3, shards);
    world_room(w, 1);
    w->options.log_retain_bytes = RETAIN;
    w->options.snapshot_chunk_bytes = 50000;
    w->options.hash_interval = UINT64_C(1) << 40; /* snapshots alone are compared */
    world_start(w);
    assert_true(world_settle(w, 3 * SECOND));
}

static void goes_wrong(struct world *w, struct node *n)
{
    w->unchecked = n->id;
    n->shards[0].hash ^= 64;
}

static uint64_t uncompared(struct world *w)
{
    uint64_t sum = 0;
    for (uint32_t n = 1; n <= w->node_count; n++) {
        sum += world_node(w, n)->up ? stats_of(w, n).snapshots_uncompared : 0;
    }
    return sum;
}

/* A new node is to have the state of a leader that is wrong: that one ends when it takes the snapshot, and the next one sends what is right. */
static void test_wrong_leader_sends_no_snapshot(void **state)
{
    struct world w;
    (void)state;
    start_uneventful(&w, 10, 1);
    load(&w, 50);
    struct node *wrong = world_leader(&w, 0);
    goes_wrong(&w, wrong);
    load(&w, 50);
    world_join(&w, 4);
    world_hear_all(&w);
    assert_true(world_change(&w, 0, REPLICA_ADD_LEARNER, 4, SECOND));
    load(&w, 300);
    assert_non_null(strstr(wrong->fatal, "diverged"));
    world_kill(&w, wrong->id);
    assert_true(world_even(&w, 20 * SECOND)); /* and everybody's history is checked */
    assert_true(stats_of(&w, 4).snapshots_installed > 0);
    for (uint32_t n = 1; n <= 4; n++) {
        assert_true(n == wrong->id || world_node(&w, n)->fatal[0] == '\0');
    }
    assert_int_equal(uncompared(&w), 0);
    world_fini(&w);
}

/* Of three one lacks the log, and the others have two states. Nobody knows which is right, and the third is not made to decide it; until one of them is gone. */
static void test_disputed_snapshot_is_not_sent(void **state)
{
    struct world w;
    (void)state;
    start_uneventful(&w, 11, 1);
    load(&w, 50);
    uint32_t behind = follower(&w, 0);
    struct node *leader = world_leader(&w, 0);
    struct node *wrong = world_node(&w, 6 - behind - leader->id);
    world_kill(&w, behind);
    goes_wrong(&w, wrong);
    load(&w, 600);
    world_restart(&w, behind);
    for (int i = 0; i < 6; i++) {
        load(&w, 100);
        world_run(&w, SECOND);
    }
    assert_int_equal(stats_of(&w, behind).snapshots_installed, 0);
    assert_int_equal(stats_of(&w, leader->id).shards_in_doubt, 1);
    assert_int_equal(uncompared(&w), 0);
    assert_string_equal(leader->fatal, "");
    assert_ptr_equal(world_leader(&w, 0), leader);
    world_kill(&w, wrong->id);
    world_run(&w, 10 * SECOND);
    assert_true(stats_of(&w, behind).snapshots_installed > 0);
    assert_true(uncompared(&w) > 0);
    world_restart(&w, wrong->id);
    wrong->shards[0].hash ^= 64; /* it was in memory only, or its snapshot has it */
    world_run(&w, 5 * SECOND);
    assert_string_equal(leader->fatal, "");
    assert_string_equal(world_node(&w, behind)->fatal, "");
    world_fini(&w);
}

/* Of three one is dead and one lacks the log: without it there is no majority, so it is sent what there is, after a moment. */
static void test_snapshot_that_nobody_can_confirm_is_sent(void **state)
{
    struct world w;
    (void)state;
    start_uneventful(&w, 12, 1);
    load(&w, 50);
    uint32_t behind = follower(&w, 0);
    uint32_t leader = world_leader(&w, 0)->id;
    world_kill(&w, behind);
    load(&w, 600);
    for (uint32_t n = 1; n <= 3; n++) {
        if (n != behind) {
            world_kill(&w, n);
        }
    }
    world_restart(&w, leader);
    world_restart(&w, behind);
    assert_true(world_settle(&w, 10 * SECOND));
    assert_true(world_even(&w, 5 * SECOND));
    assert_true(stats_of(&w, behind).snapshots_installed > 0);
    assert_int_equal(uncompared(&w), 1);
    world_fini(&w);
}

/* After a restart nobody knows any more what it had at the others' snapshots: the leader takes another for who needs one. Idle shards are sent what they have. */
static void test_snapshot_is_renewed_to_be_compared(void **state)
{
    struct world w;
    (void)state;
    start_uneventful(&w, 13, 2);
    load(&w, 400);
    assert_true(world_even(&w, SECOND));
    for (uint32_t n = 1; n <= 3; n++) {
        world_kill(&w, n);
    }
    for (uint32_t n = 1; n <= 3; n++) {
        world_restart(&w, n);
    }
    assert_true(world_settle(&w, 3 * SECOND));
    assert_true(world_even(&w, SECOND));
    uint64_t taken = stats_of(&w, world_leader(&w, 0)->id).snapshots_taken;
    world_join(&w, 4);
    world_hear_all(&w);
    for (uint32_t s = 0; s < 2; s++) {
        assert_true(world_change(&w, s, REPLICA_ADD_LEARNER, 4, SECOND));
    }
    assert_true(world_even(&w, 5 * SECOND));
    assert_true(stats_of(&w, 4).snapshots_installed >= 2);
    assert_true(stats_of(&w, world_leader(&w, 0)->id).snapshots_taken > taken);
    assert_int_equal(uncompared(&w), 0);
    world_fini(&w);
}

/* The others' words are lost now and then: they are asked again. */
static void test_snapshots_are_compared_through_a_bad_network(void **state)
{
    (void)state;
    for (uint64_t seed = 20; seed < 40; seed++) {
        struct world w;
        start_uneventful(&w, seed, 1);
        load(&w, 50);
        uint32_t behind = follower(&w, 0);
        world_kill(&w, behind);
        w.drop_ppm = 300000;
        load(&w, 600);
        w.drop_ppm = 100000;
        world_restart(&w, behind);
        load(&w, 100);
        assert_true(world_even(&w, 30 * SECOND));
        assert_int_equal(uncompared(&w), 0);
        world_fini(&w);
    }
}

int main(void)
{
    log_set(NULL, NULL, LOG_ERROR + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_stays_bounded),
        cmocka_unit_test(test_slow_follower_holds_little),
        cmocka_unit_test(test_log_without_snapshots_is_bounded),
        cmocka_unit_test(test_starts_from_a_snapshot),
        cmocka_unit_test(test_sends_a_snapshot),
        cmocka_unit_test(test_sends_a_snapshot_through_a_bad_network),
        cmocka_unit_test(test_transfer_of_a_snapshot_is_resumed),
        cmocka_unit_test(test_sender_dies),
        cmocka_unit_test(test_offer_is_overtaken_by_the_log),
        cmocka_unit_test(test_hint_trims_an_idle_shard),
        cmocka_unit_test(test_snapshot_of_a_changed_state_is_abandoned),
        cmocka_unit_test(test_wrong_leader_sends_no_snapshot),
        cmocka_unit_test(test_disputed_snapshot_is_not_sent),
        cmocka_unit_test(test_snapshot_that_nobody_can_confirm_is_sent),
        cmocka_unit_test(test_snapshot_is_renewed_to_be_compared),
        cmocka_unit_test(test_snapshots_are_compared_through_a_bad_network),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
