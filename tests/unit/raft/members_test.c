/* Members of a shard change: learners come, vote and go, alone and while everything else happens. The world checks agreement, one leader a term and
 * reads after every event; the tests here add what each change must lead to, and what must be refused. */
#include "world.h"

#include "state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SECOND = 1000000, MS = 1000, LIMIT = 5 * SECOND };

static struct world w;

/* Founders, and room for more. */
static void begin(uint32_t founders, uint32_t more, uint32_t shards)
{
    world_init(&w, founders * 100 + more, founders, shards);
    world_room(&w, more);
    world_start(&w);
    assert_true(world_settle(&w, 3 * SECOND));
}

static int teardown(void **state)
{
    (void)state;
    world_fini(&w);
    return 0;
}

/* Returns how many commands were taken. */
static unsigned load(int64_t us)
{
    unsigned taken = 0;
    for (int64_t end = w.now_us + us; w.now_us < end; world_run(&w, MS)) {
        for (uint32_t s = 0; s < w.shard_count; s++) {
            taken += world_put(&w, s, 64) ? 1 : 0;
            for (uint32_t n = 1; n <= w.node_count; n++) {
                world_read(&w, world_node(&w, n), s);
            }
        }
    }
    return taken;
}

static void join(uint32_t id)
{
    world_join(&w, id);
    world_hear_all(&w);
}

static void change_all(enum replica_change change, uint32_t node)
{
    for (uint32_t s = 0; s < w.shard_count; s++) {
        if (!world_change(&w, s, change, node, LIMIT)) {
            world_show(&w);
            fail_msg("change %d of node %u is not made in shard %u", (int)change, node, s);
        }
    }
}

static void add_voter(uint32_t id)
{
    join(id);
    change_all(REPLICA_ADD_LEARNER, id);
    change_all(REPLICA_PROMOTE, id);
}

static int ask(uint32_t shard, enum replica_change change, uint32_t node)
{
    struct node *leader = world_leader(&w, shard);
    assert_non_null(leader);
    int rc = replica_change_member(leader->core, shard, change, node);
    world_flush(&w, leader);
    return rc;
}

static uint64_t term_of(uint32_t id, uint32_t shard)
{
    struct replica_shard_status status;
    replica_status(world_node(&w, id)->core, shard, &status);
    return status.term;
}

static uint64_t commit_of(uint32_t id, uint32_t shard)
{
    struct replica_shard_status status;
    replica_status(world_node(&w, id)->core, shard, &status);
    return status.commit_index;
}

static void kill_all_but(uint32_t first, uint32_t second)
{
    for (uint32_t i = 1; i <= w.node_count; i++) {
        if (i != first && i != second && world_node(&w, i)->up) {
            world_kill(&w, i);
        }
    }
}

/* ---- learners ------------------------------------------------------------------------------------------------------------- */

static void test_a_learner_gets_everything_and_counts_for_nothing(void **state)
{
    (void)state;
    begin(3, 1, 2);
    load(100 * MS);
    join(4);
    change_all(REPLICA_ADD_LEARNER, 4);
    load(200 * MS);
    assert_true(world_even(&w, SECOND));
    for (uint32_t s = 0; s < 2; s++) {
        assert_int_equal(world_node(&w, 4)->shards[s].commands, world_leader(&w, s)->shards[s].commands);
        assert_true(world_learns(&w, 4, s, 4));
        assert_true(world_node(&w, 4)->shards[s].configurations >= 2);
    }
    kill_all_but(1, 4); /* one of three voters, and the learner */
    uint64_t commit = commit_of(1, 0);
    load(3 * SECOND);
    assert_null(world_leader(&w, 0));
    assert_int_equal(commit_of(1, 0), commit);
    assert_int_not_equal(world_node(&w, 4)->shards[0].role, REPLICA_SERVING);
    assert_int_equal(world_node(&w, 4)->shards[0].leader, 0); /* it no longer believes in the dead one */
}

static void test_a_learner_never_leads(void **state)
{
    (void)state;
    begin(3, 1, 1);
    join(4);
    change_all(REPLICA_ADD_LEARNER, 4);
    struct node *leader = world_leader(&w, 0);
    assert_int_equal(replica_transfer(leader->core, 0, 4), MUSTER_E_NOT_FOUND);
    for (uint32_t i = 1; i <= 3; i++) {
        world_kill(&w, i);
    }
    world_run(&w, 5 * SECOND);
    struct core_stats stats;
    core_stats(world_node(&w, 4)->core, &stats);
    assert_int_equal(stats.elections_begun, 0);
    assert_int_equal(world_node(&w, 4)->shards[0].role, REPLICA_FOLLOWER);
}

static void test_a_learner_far_behind_is_sent_the_snapshot(void **state)
{
    struct core_stats stats;
    (void)state;
    world_init(&w, 3, 3, 1);
    world_room(&w, 1);
    w.options.log_retain_bytes = 40000;
    world_start(&w);
    assert_true(world_settle(&w, 3 * SECOND));
    struct node *leader = world_leader(&w, 0);
    load(500 * MS);
    core_snapshot_hint(leader->core, 0);
    load(500 * MS);
    join(4);
    change_all(REPLICA_ADD_LEARNER, 4);
    load(500 * MS);
    assert_true(world_even(&w, 3 * SECOND));
    core_stats(world_node(&w, 4)->core, &stats);
    assert_int_equal(stats.snapshots_installed, 1);
    assert_true(world_learns(&w, 4, 0, 4));
    change_all(REPLICA_PROMOTE, 4);
    world_run(&w, 100 * MS);
    assert_true(world_votes(&w, 4, 0, 4));
}

/* Whoever reads a learner's log or snapshot back knows what it was. */
static void test_members_survive_restarts(void **state)
{
    (void)state;
    begin(3, 2, 1);
    add_voter(4);
    join(5);
    change_all(REPLICA_ADD_LEARNER, 5);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 1; i <= 5; i++) {
            world_kill(&w, i);
        }
        for (uint32_t i = 1; i <= 5; i++) {
            world_restart(&w, i);
        }
        assert_true(world_settle(&w, 5 * SECOND));
        assert_true(world_even(&w, SECOND));
        for (uint32_t i = 1; i <= 5; i++) {
            assert_true(world_votes(&w, i, 0, 4));
            assert_true(world_learns(&w, i, 0, 5));
            core_snapshot_hint(world_node(&w, i)->core, 0); /* the second time from snapshots */
        }
        load(300 * MS);
    }
}

/* ---- voters ----------------------------------------------------------------------------------------------------------------- */

static void test_promotion_waits_until_it_has_caught_up(void **state)
{
    struct replica_progress progress;
    (void)state;
    begin(3, 1, 1);
    load(100 * MS);
    join(4);
    world_isolate(&w, 4, true);
    assert_int_equal(ask(0, REPLICA_PROMOTE, 4), MUSTER_E_NOT_FOUND);
    change_all(REPLICA_ADD_LEARNER, 4);
    load(500 * MS);
    assert_int_equal(ask(0, REPLICA_PROMOTE, 4), MUSTER_E_BUSY);
    assert_true(replica_progress(world_leader(&w, 0)->core, 0, 4, &progress));
    assert_int_equal(progress.match_index, 0);
    assert_int_equal(progress.heard_us, 0);
    world_isolate(&w, 4, false);
    load(500 * MS);
    assert_true(replica_progress(world_leader(&w, 0)->core, 0, 4, &progress));
    assert_true(progress.match_index + 50 > commit_of(world_leader(&w, 0)->id, 0));
    assert_true(progress.heard_us > w.now_us - 200 * MS);
    assert_int_equal(ask(0, REPLICA_PROMOTE, 4), 0);
    world_run(&w, 50 * MS);
    assert_true(world_votes(&w, 1, 0, 4));
    assert_false(replica_progress(world_leader(&w, 0)->core, 0, 5, &progress));
}

static void test_three_to_five_to_three_under_load(void **state)
{
    (void)state;
    begin(3, 2, 2);
    load(100 * MS);
    add_voter(4);
    load(100 * MS);
    add_voter(5);
    assert_true(load(300 * MS) > 400);
    world_kill(&w, 1);
    world_kill(&w, 2); /* three of five are left */
    assert_true(world_settle(&w, 5 * SECOND));
    assert_true(load(300 * MS) > 400);
    world_restart(&w, 2);
    load(SECOND);
    change_all(REPLICA_REMOVE, 1); /* a dead one */
    change_all(REPLICA_REMOVE, 3);
    world_expel(&w, 1);
    world_expel(&w, 3);
    world_hear_all(&w);
    assert_true(load(300 * MS) > 400);
    assert_true(world_settle(&w, SECOND));
    assert_true(world_even(&w, SECOND));
    for (uint32_t s = 0; s < 2; s++) {
        assert_false(world_votes(&w, 2, s, 1) || world_votes(&w, 2, s, 3));
        assert_true(world_votes(&w, 2, s, 2) && world_votes(&w, 2, s, 4) && world_votes(&w, 2, s, 5));
    }
}

/* One of the two must die, and the other stops: then a third learns, votes, and any two are enough. */
static void test_one_to_three(void **state)
{
    (void)state;
    begin(1, 2, 1);
    assert_true(load(50 * MS) > 40);
    add_voter(2);
    load(50 * MS);
    add_voter(3);
    load(50 * MS);
    world_kill(&w, 1);
    assert_true(world_settle(&w, 5 * SECOND));
    assert_true(load(100 * MS) > 80);
    world_restart(&w, 1);
    load(500 * MS);
    change_all(REPLICA_REMOVE, 2);
    change_all(REPLICA_REMOVE, 3);
    kill_all_but(1, 1);
    assert_true(load(100 * MS) > 80);
}

/* Three nodes, of which the one behind the leader is away; the leader. */
static uint32_t led_with_one_away(void)
{
    begin(3, 0, 1);
    load(50 * MS);
    assert_true(world_even(&w, SECOND));
    uint32_t leader = world_leader(&w, 0)->id;
    world_kill(&w, leader % 3 + 1);
    load(50 * MS);
    return leader;
}

/* Two of three have different states and the third, which would tell who is right, is away: without it nobody ever could, and both would stop. */
static void test_who_can_tell_whose_state_is_right_is_not_removed(void **state)
{
    (void)state;
    uint32_t leader = led_with_one_away(), away = leader % 3 + 1, wrong = away % 3 + 1;
    w.unchecked = wrong;
    struct core_stats stats;
    core_stats(world_node(&w, leader)->core, &stats);
    for (unsigned i = 0; i < 100 && stats.shards_in_doubt == 0; i++) {
        world_node(&w, wrong)->shards[0].hash = 12345;
        load(MS);
        core_stats(world_node(&w, leader)->core, &stats);
    }
    assert_int_equal(stats.shards_in_doubt, 1);
    assert_int_equal(world_leader(&w, 0)->id, leader);
    assert_int_equal(ask(0, REPLICA_REMOVE, away), MUSTER_E_DIVERGED);
    world_restart(&w, away);
    world_run(&w, SECOND);
    assert_non_null(strstr(world_node(&w, wrong)->fatal, "diverged"));
    change_all(REPLICA_REMOVE, wrong);
    assert_true(load(100 * MS) > 80);
}

/* The other one's state is right again, or its word was of another time, and nothing is written that would tell. */
static void test_a_doubt_is_looked_into_when_a_node_is_to_be_removed(void **state)
{
    (void)state;
    uint32_t leader = led_with_one_away(), away = leader % 3 + 1, other = away % 3 + 1;
    assert_true(world_even(&w, SECOND));
    struct shard *s = &world_node(&w, leader)->core->shards[0];
    w.hush[leader][other] = true; /* what it is answered is lost */
    hash_reported(s, other - 1, s->applied, 12345);
    world_run(&w, MS);
    w.hush[leader][other] = false;
    world_run(&w, SECOND);
    assert_true(s->in_doubt);
    assert_int_equal(ask(0, REPLICA_REMOVE, away), MUSTER_E_DIVERGED);
    world_run(&w, 50 * MS);
    assert_false(s->in_doubt);
    assert_int_equal(ask(0, REPLICA_REMOVE, away), 0);
}

static void test_removed_node_knows_and_disturbs_nobody(void **state)
{
    struct replica_member members[8];
    bool committed = false;
    (void)state;
    begin(3, 1, 1);
    add_voter(4);
    struct node *leader = world_leader(&w, 0);
    uint32_t gone = leader->id == 4 ? 3 : 4;
    change_all(REPLICA_REMOVE, gone);
    world_run(&w, 50 * MS);
    assert_int_equal(replica_members(world_node(&w, gone)->core, 0, members, 8, &committed), 3);
    assert_true(committed);
    assert_false(world_votes(&w, gone, 0, gone));
    uint64_t term = term_of(leader->id, 0);
    load(3 * SECOND); /* it stays up, and the others still talk to it */
    assert_int_equal(term_of(leader->id, 0), term);
    assert_ptr_equal(world_leader(&w, 0), leader);
    uint64_t heard = world_node(&w, gone)->shards[0].applied;
    assert_true(heard < leader->shards[0].applied);
}

/* It was cut off when it was removed, and does not know. */
static void test_a_removed_node_that_does_not_know_disturbs_nobody(void **state)
{
    (void)state;
    begin(5, 0, 1);
    struct node *leader = world_leader(&w, 0);
    uint32_t gone = leader->id == 5 ? 4 : 5;
    world_isolate(&w, gone, true);
    load(2 * SECOND);
    change_all(REPLICA_REMOVE, gone);
    load(100 * MS);
    assert_true(world_votes(&w, gone, 0, gone)); /* as far as it knows */
    world_isolate(&w, gone, false);
    uint64_t term = term_of(leader->id, 0);
    load(3 * SECOND);
    assert_int_equal(term_of(leader->id, 0), term);
    assert_ptr_equal(world_leader(&w, 0), leader);
    world_kill(&w, leader->id); /* nor when there is nobody to disturb */
    assert_true(world_settle(&w, 5 * SECOND));
    assert_int_not_equal(world_leader(&w, 0)->id, gone);
}

/* It stood for election just before, and is in a newer term than the others, who will not follow it there: reads are confirmed and deadlines run all the same. */
static void test_a_removed_node_in_a_newer_term_disturbs_nobody(void **state)
{
    (void)state;
    begin(3, 0, 1);
    struct node *leader = world_leader(&w, 0);
    uint32_t gone = leader->id == 3 ? 2 : 3;
    uint64_t term = term_of(leader->id, 0);
    world_kill(&w, gone);
    change_all(REPLICA_REMOVE, gone);
    world_set_term(&w, gone, 0, term + 2);
    world_restart(&w, gone);
    load(SECOND); /* the others still talk to it */
    assert_true(term_of(gone, 0) > term);
    uint64_t reads = leader->shards[0].reads;
    load(100 * MS);
    assert_true(leader->shards[0].reads > reads + 10);
    struct replica_shard_status status;
    replica_status(leader->core, 0, &status);
    assert_int_equal(status.term, term);
    assert_true(w.now_us - status.contact_us < 150 * MS);
}

static void test_a_leader_hands_over_and_is_removed_by_the_next(void **state)
{
    (void)state;
    begin(3, 0, 1);
    struct node *leader = world_leader(&w, 0);
    assert_int_equal(ask(0, REPLICA_REMOVE, leader->id), MUSTER_E_BUSY);
    world_run(&w, 100 * MS);
    assert_ptr_not_equal(world_leader(&w, 0), leader);
    change_all(REPLICA_REMOVE, leader->id);
    world_run(&w, 50 * MS);
    assert_false(world_votes(&w, leader->id, 0, leader->id));
    assert_true(load(200 * MS) > 180);
}

static void test_a_wiped_node_is_replaced(void **state)
{
    (void)state;
    begin(3, 0, 2);
    load(100 * MS);
    world_join(&w, 3); /* nobody lets it in before it is in the record that they have heard of */
    load(500 * MS);
    assert_int_equal(world_node(&w, 3)->shards[0].applied, 0);
    change_all(REPLICA_REMOVE, 3);
    world_hear_all(&w);
    change_all(REPLICA_ADD_LEARNER, 3);
    change_all(REPLICA_PROMOTE, 3);
    load(100 * MS);
    world_kill(&w, 1);
    assert_true(world_settle(&w, 5 * SECOND));
    assert_true(load(100 * MS) > 150);
}

/* ---- what is refused ------------------------------------------------------------------------------------------------------------- */

static void test_refusals(void **state)
{
    (void)state;
    begin(3, 2, 1);
    struct node *leader = world_leader(&w, 0);
    uint32_t other = leader->id % 3 + 1, third = 6 - leader->id - other;
    assert_int_equal(replica_change_member(world_node(&w, other)->core, 0, REPLICA_REMOVE, third), MUSTER_E_NOT_LEADER);
    assert_int_equal(ask(0, REPLICA_ADD_LEARNER, 4), MUSTER_E_NOT_FOUND); /* no peer */
    assert_int_equal(ask(0, REPLICA_ADD_LEARNER, other), MUSTER_E_EXISTS);
    assert_int_equal(ask(0, REPLICA_PROMOTE, other), MUSTER_E_EXISTS);
    assert_int_equal(ask(0, REPLICA_PROMOTE, 4), MUSTER_E_NOT_FOUND);
    assert_int_equal(ask(0, REPLICA_REMOVE, 4), MUSTER_E_NOT_FOUND);
    world_kill(&w, third);
    load(500 * MS);
    assert_int_equal(ask(0, REPLICA_REMOVE, other), MUSTER_E_REFUSED); /* of it and the dead one no majority would answer */
    assert_int_equal(ask(0, REPLICA_REMOVE, third), 0);
    assert_int_equal(ask(0, REPLICA_REMOVE, other), MUSTER_E_BUSY); /* one at a time */
    load(200 * MS);
    assert_int_equal(ask(0, REPLICA_REMOVE, other), 0);
    load(200 * MS);
    assert_int_equal(ask(0, REPLICA_REMOVE, leader->id), MUSTER_E_REFUSED); /* the last voter */
    assert_true(load(100 * MS) > 90);
}

/* Two of three answer: with a fourth voter that does not, two of four would not be enough, and it is not asked for. */
static void test_no_promotion_into_a_lost_majority(void **state)
{
    (void)state;
    begin(3, 1, 1);
    join(4);
    change_all(REPLICA_ADD_LEARNER, 4);
    load(500 * MS);
    struct node *leader = world_leader(&w, 0);
    world_kill(&w, leader->id % 3 + 1);
    world_kill(&w, 4);
    load(500 * MS);
    assert_non_null(world_leader(&w, 0));
    assert_int_equal(ask(0, REPLICA_PROMOTE, 4), MUSTER_E_REFUSED);
    world_restart(&w, 4);
    load(500 * MS);
    assert_int_equal(ask(0, REPLICA_PROMOTE, 4), 0);
}

/* ---- what the library would get wrong ----------------------------------------------------------------------------------------------- */

/* The only voter sent a learner an entry, and died before it had the entry on its own disk. When it comes back and leads, what it writes at that index must be
 * of another term, else the learner takes its entry for the same. */
static void test_the_only_voter_leads_in_a_new_term(void **state)
{
    (void)state;
    begin(1, 1, 1);
    join(2);
    change_all(REPLICA_ADD_LEARNER, 2);
    load(100 * MS);
    assert_true(world_even(&w, SECOND));
    uint64_t term = term_of(1, 0), last = commit_of(1, 0);
    world_node(&w, 1)->write_takes_us = SECOND;
    assert_true(world_put(&w, 0, 64));
    world_run(&w, 50 * MS);
    struct replica_shard_status learner;
    replica_status(world_node(&w, 2)->core, 0, &learner);
    assert_int_equal(learner.last_index, last + 1);
    world_node(&w, 1)->records = NULL; /* nothing of the batch under way reaches the disk */
    world_kill(&w, 1);
    world_node(&w, 1)->write_takes_us = 500;
    world_restart(&w, 1);
    assert_true(world_settle(&w, 3 * SECOND));
    assert_true(term_of(1, 0) > term);
    load(100 * MS);
    assert_true(world_even(&w, SECOND)); /* the world has compared the histories */
}

/* The second configuration arrives before the first is known to be committed, and is cut off: the first must hold again, not the one before. */
static void test_a_second_configuration_is_cut_off(void **state)
{
    (void)state;
    begin(5, 2, 1);
    join(6);
    join(7);
    struct node *leader = world_leader(&w, 0);
    struct node *n = world_node(&w, leader->id % 5 + 1);
    for (uint32_t i = 1; i <= 5; i++) { /* n hears everything late */
        w.hush[i][n->id] = true;
    }
    assert_int_equal(ask(0, REPLICA_ADD_LEARNER, 6), 0);
    load(50 * MS);
    for (uint32_t i = 1; i <= 5; i++) { /* from now on the leader reaches n alone */
        w.hush[leader->id][i] = i != n->id;
        w.hush[i][n->id] = i != leader->id;
    }
    assert_int_equal(ask(0, REPLICA_ADD_LEARNER, 7), 0);
    world_run(&w, 150 * MS);
    assert_true(world_learns(&w, n->id, 0, 6) && world_learns(&w, n->id, 0, 7));
    world_kill(&w, leader->id);
    memset(w.hush, 0, sizeof w.hush);
    world_isolate(&w, n->id, true); /* the others elect one that never had the second */
    world_run(&w, 3 * SECOND);
    assert_true(load(100 * MS) > 0);
    world_isolate(&w, n->id, false);
    load(2 * SECOND);
    assert_true(world_learns(&w, n->id, 0, 6));
    assert_false(world_learns(&w, n->id, 0, 7));
}

/* Of two voters the new one alone has the configuration that made it one, and so it alone can lead: the other votes for it. */
static void test_the_new_voter_may_be_the_only_one_to_lead(void **state)
{
    (void)state;
    begin(2, 1, 1);
    join(3);
    change_all(REPLICA_ADD_LEARNER, 3);
    load(500 * MS);
    struct node *leader = world_leader(&w, 0);
    uint32_t other = 3 - leader->id;
    w.hush[leader->id][other] = true;
    assert_int_equal(ask(0, REPLICA_PROMOTE, 3), 0);
    world_run(&w, 30 * MS);
    assert_true(world_votes(&w, 3, 0, 3));
    assert_false(world_votes(&w, other, 0, 3));
    world_kill(&w, leader->id);
    assert_true(world_settle(&w, 5 * SECOND));
    assert_int_equal(world_leader(&w, 0)->id, 3);
    assert_true(load(100 * MS) > 90);
}

/* Of four voters one is dead and the new one has not heard yet that it votes: its vote is needed all the same. */
static void test_a_learner_votes_when_a_voter_asks(void **state)
{
    (void)state;
    begin(3, 1, 1);
    join(4);
    change_all(REPLICA_ADD_LEARNER, 4);
    load(500 * MS);
    assert_true(world_even(&w, SECOND));
    struct node *leader = world_leader(&w, 0);
    w.hush[leader->id][4] = true;
    assert_int_equal(ask(0, REPLICA_PROMOTE, 4), 0);
    world_run(&w, 30 * MS);
    assert_true(world_learns(&w, 4, 0, 4)); /* as far as it knows */
    world_kill(&w, leader->id);
    assert_true(world_settle(&w, 5 * SECOND));
    assert_true(load(100 * MS) > 90);
}

/* ---- peers ------------------------------------------------------------------------------------------------------------------------------ */

static void test_peers_are_checked(void **state)
{
    (void)state;
    begin(3, 1, 1);
    struct replica *core = world_node(&w, 2)->core;
    struct store_peer peers[3];
    memcpy(peers, core_identity(core)->peers, sizeof peers);
    assert_int_equal(core_set_peers(core, peers, 3, w.now_us), 0);
    assert_false(core_identity(core)->joined);
    assert_int_equal(core_set_peers(core, peers, 1, w.now_us), MUSTER_E_INVALID); /* without itself */
    assert_int_equal(core_set_peers(core, peers, 0, w.now_us), MUSTER_E_INVALID);
    peers[0].node_id = 3;
    assert_int_equal(core_set_peers(core, peers, 3, w.now_us), MUSTER_E_INVALID);
    peers[0].node_id = 1;
    peers[1].incarnation.b[3]++;
    assert_int_equal(core_set_peers(core, peers, 3, w.now_us), MUSTER_E_INVALID); /* itself, of another life */
    assert_true(load(100 * MS) > 90);
}

/* The leaders' homes are dealt out over the voters there are. */
static void test_leaders_spread_over_new_voters(void **state)
{
    (void)state;
    begin(3, 1, 4);
    w.options.balance_after_ms = 200;
    for (uint32_t i = 1; i <= 3; i++) {
        world_kill(&w, i);
        world_restart(&w, i);
        world_run(&w, 500 * MS);
    }
    assert_true(world_settle(&w, 5 * SECOND));
    add_voter(4);
    for (int i = 0; i < 100 && (world_leader(&w, 3) == NULL || world_leader(&w, 3)->id != 4); i++) {
        world_run(&w, 200 * MS);
    }
    for (uint32_t s = 0; s < 4; s++) {
        assert_int_equal(world_leader(&w, s)->id, s + 1);
    }
    change_all(REPLICA_REMOVE, 4);
    world_run(&w, 5 * SECOND);
    assert_int_equal(world_leader(&w, 3)->id, 1);
}

int main(void)
{
    log_set(NULL, NULL, LOG_ERROR + 1);
#define TEST(name) cmocka_unit_test_teardown(name, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_learner_gets_everything_and_counts_for_nothing),
        TEST(test_a_learner_never_leads),
        TEST(test_a_learner_far_behind_is_sent_the_snapshot),
        TEST(test_members_survive_restarts),
        TEST(test_promotion_waits_until_it_has_caught_up),
        TEST(test_three_to_five_to_three_under_load),
        TEST(test_one_to_three),
        TEST(test_who_can_tell_whose_state_is_right_is_not_removed),
        TEST(test_a_doubt_is_looked_into_when_a_node_is_to_be_removed),
        TEST(test_removed_node_knows_and_disturbs_nobody),
        TEST(test_a_removed_node_that_does_not_know_disturbs_nobody),
        TEST(test_a_removed_node_in_a_newer_term_disturbs_nobody),
        TEST(test_a_leader_hands_over_and_is_removed_by_the_next),
        TEST(test_a_wiped_node_is_replaced),
        TEST(test_refusals),
        TEST(test_no_promotion_into_a_lost_majority),
        TEST(test_the_only_voter_leads_in_a_new_term),
        TEST(test_a_second_configuration_is_cut_off),
        TEST(test_the_new_voter_may_be_the_only_one_to_lead),
        TEST(test_a_learner_votes_when_a_voter_asks),
        TEST(test_peers_are_checked),
        TEST(test_leaders_spread_over_new_voters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
