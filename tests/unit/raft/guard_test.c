/* What the driver keeps from the library, and what it mends: messages of strangers, absurd terms, impossible leaders, configurations in the middle of
 * a batch, late rejections. */
#include "world.h"

#include "state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { SECOND = 1000000, MS = 1000 };

static struct world w;

static int setup(void **state)
{
    (void)state;
    world_init(&w, 7, 3, 1);
    world_start(&w);
    assert_true(world_settle(&w, 2 * SECOND));
    for (int i = 0; i < 10; i++) {
        assert_true(world_put(&w, 0, 64));
        world_run(&w, 2 * MS);
    }
    assert_true(world_even(&w, SECOND));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_fini(&w);
    return 0;
}

static struct node *a_follower(void)
{
    return world_node(&w, world_leader(&w, 0)->id % 3 + 1);
}

static int tell_any(struct node *to, uint32_t from, const struct message *message)
{
    struct buf out;
    buf_init(&out, 0);
    assert_int_equal(message_encode(&out, message), 0);
    int rc = core_receive(to->core, from, (struct bytes){out.ptr, (int32_t)out.len}, w.now_us);
    world_flush(&w, to);
    buf_fini(&out);
    return rc;
}

static int tell(struct node *to, uint32_t from, const struct raft_message *m)
{
    const struct message message = {.type = MESSAGE_RAFT, .shard = 0, .raft = *m};
    return tell_any(to, from, &message);
}

/* An answer to the newest probe, by which that node has been in this term of the shard. */
static void name_term(struct node *to, uint32_t from, uint64_t term)
{
    struct shard_term named = {0, term};
    struct message m = {.type = MESSAGE_PROBE_ACK};
    m.probe.round = to->core->round_next - 1;
    m.probe.stamp_us = w.now_us;
    m.probe.flags = MESSAGE_HEALTHY;
    m.probe.count = 1;
    m.probe.list = &named;
    assert_int_equal(tell_any(to, from, &m), 0);
}

static bool confirms(struct node *n)
{
    uint64_t before = n->shards[0].reads;
    n->shards[0].read_round = 0;
    world_read(&w, n, 0);
    world_run(&w, 100 * MS);
    return n->shards[0].reads > before;
}

static struct replica_shard_status status_of(const struct node *n)
{
    struct replica_shard_status status;
    replica_status(n->core, 0, &status);
    return status;
}

static uint64_t refused_by(const struct node *n)
{
    struct core_stats stats;
    core_stats(n->core, &stats);
    return stats.messages_refused;
}

static struct raft_message vote_from(uint32_t candidate, uint64_t term)
{
    struct raft_message m = {.type = RAFT_REQUEST_VOTE};
    m.request_vote.term = term;
    m.request_vote.candidate_id = candidate;
    m.request_vote.last_log_index = 1000;
    m.request_vote.last_log_term = term - 1;
    m.request_vote.disrupt_leader = true;
    return m;
}

static void test_strangers(void **state)
{
    struct node *n = a_follower();
    struct raft_message m = vote_from(9, 50);
    (void)state;
    assert_int_equal(tell(n, 9, &m), MUSTER_E_REFUSED);
    assert_int_equal(tell(n, n->id, &m), MUSTER_E_REFUSED);
    uint32_t other = 6 - n->id - world_leader(&w, 0)->id;
    uint64_t before = refused_by(n);
    assert_int_equal(tell(n, other, &m), 0); /* a vote asked for somebody else */
    assert_int_equal(refused_by(n), before + 1);
    assert_true(status_of(n).term < 50);
}

static void test_absurd_terms(void **state)
{
    struct node *leader = world_leader(&w, 0);
    struct node *n = a_follower();
    uint64_t term = status_of(leader).term;
    (void)state;
    struct raft_message m = vote_from(n->id, UINT64_C(1) << 50);
    uint64_t before = refused_by(leader);
    assert_int_equal(tell(leader, n->id, &m), 0);
    assert_int_equal(refused_by(leader), before + 1);
    m = vote_from(n->id, UINT64_MAX);
    assert_int_equal(tell(leader, n->id, &m), MUSTER_E_MALFORMED);
    world_run(&w, SECOND);
    assert_int_equal(status_of(leader).term, term);
    assert_ptr_equal(world_leader(&w, 0), leader);
}

static void test_second_leader_of_a_term(void **state)
{
    struct node *leader = world_leader(&w, 0);
    struct raft_message m = {.type = RAFT_APPEND_ENTRIES};
    (void)state;
    m.append_entries.term = status_of(leader).term;
    m.append_entries.prev_log_index = 1;
    m.append_entries.prev_log_term = 1;
    uint64_t before = refused_by(leader);
    assert_int_equal(tell(leader, a_follower()->id, &m), 0);
    assert_int_equal(refused_by(leader), before + 1);
    assert_int_equal(leader->shards[0].role, REPLICA_SERVING);
}

/* An answer to an old vote request, long after: in another state the library reads a field that is not there. */
static void test_late_vote_result(void **state)
{
    struct node *leader = world_leader(&w, 0);
    struct node *n = a_follower();
    uint64_t term = status_of(leader).term;
    struct raft_message m = {.type = RAFT_REQUEST_VOTE_RESULT};
    (void)state;
    m.request_vote_result.term = term + 1;
    m.request_vote_result.pre_vote = true;
    m.request_vote_result.vote_granted = true;
    assert_int_equal(tell(leader, n->id, &m), 0);
    assert_int_equal(tell(n, leader->id, &m), 0);
    world_run(&w, SECOND);
    assert_int_equal(status_of(leader).term, term);
    assert_int_equal(status_of(n).term, term);
}

/* 0.22.1 gives a configuration the index of the first new entry of its batch, whatever its place: each must begin a step. */
static void test_configuration_inside_a_batch(void **state)
{
    struct node *leader = world_leader(&w, 0);
    struct node *n = a_follower();
    struct replica_shard_status status = status_of(n);
    struct store_identity identity = {.node_id = 1, .peer_count = 3};
    struct buf config;
    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        identity.peers[i].node_id = i + 1;
        identity.peers[i].address[0] = (char)('a' + i);
    }
    buf_init(&config, 0);
    assert_int_equal(core_founding_config(&identity, &config), 0);
    w.unchecked = n->id;
    uint64_t first = status.last_index + 1;
    struct raft_entry entries[6];
    for (size_t i = 0; i < 6; i++) {
        entries[i] = (struct raft_entry){.term = status.term,
                                         .type = i == 2 || i == 4 ? RAFT_CHANGE : RAFT_COMMAND,
                                         .buf = {config.ptr, config.len}};
    }
    struct raft_message m = {.type = RAFT_APPEND_ENTRIES};
    m.append_entries.term = status.term;
    m.append_entries.prev_log_index = status.last_index;
    m.append_entries.prev_log_term = status.term;
    m.append_entries.leader_commit = first + 3;
    m.append_entries.entries = entries;
    m.append_entries.n_entries = 6;
    assert_int_equal(tell(n, leader->id, &m), 0);
    const struct raft *r = &n->core->shards[0].raft;
    assert_int_equal(status_of(n).last_index, first + 5);
    assert_int_equal(r->configuration_committed_index, first + 2);
    assert_int_equal(r->configuration_uncommitted_index, first + 4);
    m.append_entries.leader_commit = first + 5;
    assert_int_equal(tell(n, leader->id, &m), 0);
    assert_int_equal(r->configuration_committed_index, first + 4);
    assert_int_equal(r->configuration_uncommitted_index, 0);
    assert_int_equal(n->shards[0].applied, first + 5);
    buf_fini(&config);
}

static struct raft_entry configuration(uint64_t term, uint32_t members, struct buf *out)
{
    struct store_identity identity = {.node_id = 1, .peer_count = members};
    for (uint32_t i = 0; i < members; i++) {
        identity.peers[i].node_id = i + 1;
        identity.peers[i].address[0] = (char)('a' + i);
    }
    buf_init(out, 0);
    assert_int_equal(core_founding_config(&identity, out), 0);
    return (struct raft_entry){.term = term, .type = RAFT_CHANGE, .buf = {out->ptr, out->len}};
}

/* Two configurations come before either is known to be committed, from a leader that does not know it itself. The first must be: else nobody had begun the
 * second. So when the second is cut off the first is in force, not the one that 0.22.1 was last told of. */
static void test_second_configuration_is_cut_off(void **state)
{
    struct node *n = a_follower();
    struct replica_shard_status status = status_of(n);
    struct buf first, second;
    (void)state;
    struct raft_entry entries[2] = {configuration(status.term, 4, &first), configuration(status.term, 5, &second)};
    struct raft_message m = {.type = RAFT_APPEND_ENTRIES};
    m.append_entries.term = status.term;
    m.append_entries.prev_log_index = status.last_index;
    m.append_entries.prev_log_term = status.term;
    m.append_entries.leader_commit = status.last_index;
    m.append_entries.entries = entries;
    m.append_entries.n_entries = 2;
    w.unchecked = n->id;
    assert_int_equal(tell(n, world_leader(&w, 0)->id, &m), 0);
    assert_int_equal(n->core->shards[0].raft.configuration.n, 5);
    entries[0] = (struct raft_entry){.term = status.term + 1, .type = RAFT_COMMAND, .buf = {"x", 1}};
    m.append_entries.term = status.term + 1;
    m.append_entries.prev_log_index = status.last_index + 1;
    m.append_entries.n_entries = 1;
    assert_int_equal(tell(n, 6 - n->id - world_leader(&w, 0)->id, &m), 0);
    assert_int_equal(status_of(n).last_index, status.last_index + 2);
    assert_int_equal(n->core->shards[0].raft.configuration.n, 4);
    buf_fini(&first);
    buf_fini(&second);
}

/* 0.22.1 steps down for the term in an answer before it looks whether the node is one of the shard. */
static void test_answer_of_a_peer_that_is_no_member(void **state)
{
    struct node *leader = world_leader(&w, 0);
    uint64_t term = status_of(leader).term;
    struct raft_message m = {.type = RAFT_APPEND_ENTRIES_RESULT};
    (void)state;
    world_room(&w, 1);
    world_join(&w, 4);
    world_hear_all(&w);
    m.append_entries_result.term = term + 3;
    m.append_entries_result.last_log_index = 1;
    uint64_t before = refused_by(leader);
    assert_int_equal(tell(leader, 4, &m), 0);
    assert_int_equal(refused_by(leader), before + 1);
    world_run(&w, SECOND);
    assert_ptr_equal(world_leader(&w, 0), leader);
    assert_int_equal(status_of(leader).term, term);
}

/* It was a member, and stood for election before it heard that it is none any more. */
static void test_newer_term_of_a_peer_that_is_no_member(void **state)
{
    struct node *leader = world_leader(&w, 0);
    uint64_t term = status_of(leader).term;
    (void)state;
    world_room(&w, 1);
    world_join(&w, 4);
    world_hear_all(&w);
    name_term(leader, 4, term + 3);
    assert_true(confirms(leader));
    assert_true(w.now_us - status_of(leader).contact_us < 150 * MS);
    assert_int_equal(status_of(leader).term, term);
}

/* Its answers do not count until the leader is as far; those of the others do. */
static void test_newer_term_of_a_voter(void **state)
{
    struct node *leader = world_leader(&w, 0);
    uint32_t names = a_follower()->id, other = 6 - leader->id - names;
    uint64_t term = status_of(leader).term;
    (void)state;
    name_term(leader, names, term + 1);
    assert_true(confirms(leader));
    world_isolate(&w, other, true);
    world_run(&w, 5 * MS); /* what was on its way has arrived */
    assert_false(confirms(leader));
    assert_ptr_equal(world_leader(&w, 0), leader);
    world_isolate(&w, other, false);
    assert_true(confirms(leader));
}

/* Of a batch whose first part does not fit nothing is taken. */
static void test_batch_that_does_not_fit(void **state)
{
    struct node *leader = world_leader(&w, 0);
    struct node *n = a_follower();
    struct replica_shard_status status = status_of(n);
    struct raft_entry entries[3] = {{.term = status.term, .type = RAFT_COMMAND, .buf = {"x", 1}},
                                    {.term = status.term, .type = RAFT_CHANGE},
                                    {.term = status.term, .type = RAFT_COMMAND, .buf = {"x", 1}}};
    const struct entry *config = log_get(&n->core->shards[0].log, 1);
    struct raft_message m = {.type = RAFT_APPEND_ENTRIES};
    (void)state;
    entries[1].buf.base = (void *)(uintptr_t)config->data;
    entries[1].buf.len = config->len;
    m.append_entries.term = status.term;
    m.append_entries.prev_log_index = status.last_index + 10;
    m.append_entries.prev_log_term = status.term;
    m.append_entries.entries = entries;
    m.append_entries.n_entries = 3;
    assert_int_equal(tell(n, leader->id, &m), 0);
    assert_int_equal(status_of(n).last_index, status.last_index);
}

/* A leader that missed this node's answers goes on from below what is kept here: what the snapshot covers counts as taken, the rest is taken. */
static void test_entries_from_below_the_snapshot(void **state)
{
    enum { BELOW = 8, ABOVE = 2, MOST = 1024 };
    static struct raft_entry entries[MOST];
    (void)state;
    world_fini(&w);
    world_init(&w, 8, 3, 1);
    w.options.log_retain_bytes = 20000;
    world_start(&w);
    assert_true(world_settle(&w, 2 * SECOND));
    struct node *n = a_follower();
    for (int i = 0; i < 500 && status_of(n).snapshot_index <= BELOW + 2; i++) {
        assert_true(world_put(&w, 0, 500));
        world_run(&w, 2 * MS);
    }
    assert_true(world_even(&w, SECOND));
    struct node *leader = world_leader(&w, 0);
    struct replica_shard_status before = status_of(n);
    assert_true(before.snapshot_index > BELOW + 2 && before.first_index > BELOW + 2);
    w.unchecked = n->id;
    struct raft_message m = {.type = RAFT_APPEND_ENTRIES};
    m.append_entries.term = before.term;
    m.append_entries.entries = entries;
    for (size_t i = 0; i < MOST; i++) {
        entries[i] = (struct raft_entry){.term = before.term, .type = RAFT_COMMAND, .buf = {"x", 1}};
    }

    m.append_entries.prev_log_index = 0; /* the library takes these for new ones */
    m.append_entries.n_entries = BELOW;
    assert_int_equal(tell(n, leader->id, &m), 0);
    assert_int_equal(status_of(n).last_index, before.last_index);

    m.append_entries.prev_log_index = before.first_index - BELOW;
    m.append_entries.prev_log_term = before.term;
    m.append_entries.n_entries = (unsigned)(before.last_index + ABOVE - m.append_entries.prev_log_index);
    assert_true(m.append_entries.n_entries <= MOST);
    assert_int_equal(tell(n, leader->id, &m), 0);
    assert_int_equal(status_of(n).last_index, before.last_index + ABOVE);
    assert_int_equal(status_of(n).first_index, before.first_index);
}

/* A rejection from before the follower caught up, late: the follower is still fed afterwards. */
static void test_late_rejection(void **state)
{
    struct node *leader = world_leader(&w, 0);
    struct node *n = a_follower();
    struct raft_message m = {.type = RAFT_APPEND_ENTRIES_RESULT};
    (void)state;
    world_isolate(&w, n->id, true);
    world_run(&w, 700 * MS); /* long enough for the leader to probe */
    world_put(&w, 0, 64);
    world_run(&w, 5 * MS);
    m.append_entries_result.term = status_of(leader).term;
    m.append_entries_result.rejected = status_of(n).last_index;
    m.append_entries_result.last_log_index = 2;
    assert_int_equal(tell(leader, n->id, &m), 0);
    world_isolate(&w, n->id, false);
    world_put(&w, 0, 64);
    assert_true(world_even(&w, 2 * SECOND));
}

/* Evidence needs silence: a leader that is heard after its port refused is not dead. */
static void test_false_alarm(void **state)
{
    struct node *leader = world_leader(&w, 0);
    struct node *n = world_node(&w, 6 - leader->id - a_follower()->id); /* the second in rank, who waits a little */
    uint64_t term = status_of(leader).term;
    struct core_stats stats;
    (void)state;
    core_peer_state(n->core, leader->id, CORE_PEER_DISCONNECTED, w.now_us);
    core_peer_state(n->core, leader->id, CORE_PEER_REFUSED, w.now_us);
    world_flush(&w, n);
    assert_true(world_put(&w, 0, 64));
    world_run(&w, 500 * MS);
    core_stats(n->core, &stats);
    assert_int_equal(stats.elections_fast, 0);
    assert_int_equal(status_of(leader).term, term);
    assert_ptr_equal(world_leader(&w, 0), leader);
}

static void test_malformed_bytes(void **state)
{
    struct node *n = a_follower();
    (void)state;
    assert_int_equal(core_receive(n->core, n->id % 3 + 1, bytes_of_str(STR("\x63garbage")), w.now_us), MUSTER_E_MALFORMED);
    assert_int_equal(core_receive(n->core, n->id % 3 + 1, (struct bytes){NULL, 0}, w.now_us), MUSTER_E_MALFORMED);
    struct message m = {.type = MESSAGE_HASH, .shard = 77};
    struct buf out;
    buf_init(&out, 0);
    assert_int_equal(message_encode(&out, &m), 0);
    assert_int_equal(core_receive(n->core, n->id % 3 + 1, (struct bytes){out.ptr, (int32_t)out.len}, w.now_us), MUSTER_E_MALFORMED);
    buf_fini(&out);
}

static void test_read_entry(void **state)
{
    struct node *n = a_follower();
    uint64_t term;
    uint8_t kind;
    struct bytes data;
    (void)state;
    assert_int_equal(replica_read_entry(n->core, 0, 1, &term, &kind, &data), 0);
    assert_int_equal(term, 1);
    assert_int_equal(kind, RAFT_CHANGE);
    assert_int_equal(replica_read_entry(n->core, 0, status_of(n).last_index, &term, &kind, &data), 0);
    assert_int_equal(kind, RAFT_COMMAND);
    assert_int_equal(data.len, 64);
    assert_int_equal(replica_read_entry(n->core, 0, 0, &term, &kind, &data), MUSTER_E_NOT_FOUND);
    assert_int_equal(replica_read_entry(n->core, 0, status_of(n).last_index + 1, &term, &kind, &data), MUSTER_E_NOT_FOUND);
}

int main(void)
{
    log_set(NULL, NULL, LOG_ERROR + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_strangers, setup, teardown),
        cmocka_unit_test_setup_teardown(test_absurd_terms, setup, teardown),
        cmocka_unit_test_setup_teardown(test_second_leader_of_a_term, setup, teardown),
        cmocka_unit_test_setup_teardown(test_late_vote_result, setup, teardown),
        cmocka_unit_test_setup_teardown(test_configuration_inside_a_batch, setup, teardown),
        cmocka_unit_test_setup_teardown(test_second_configuration_is_cut_off, setup, teardown),
        cmocka_unit_test_setup_teardown(test_answer_of_a_peer_that_is_no_member, setup, teardown),
        cmocka_unit_test_setup_teardown(test_newer_term_of_a_peer_that_is_no_member, setup, teardown),
        cmocka_unit_test_setup_teardown(test_newer_term_of_a_voter, setup, teardown),
        cmocka_unit_test_setup_teardown(test_batch_that_does_not_fit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_entries_from_below_the_snapshot, setup, teardown),
        cmocka_unit_test_setup_teardown(test_late_rejection, setup, teardown),
        cmocka_unit_test_setup_teardown(test_false_alarm, setup, teardown),
        cmocka_unit_test_setup_teardown(test_malformed_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_read_entry, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
