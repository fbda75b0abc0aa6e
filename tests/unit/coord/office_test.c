/* Office and time: who answers when a node does not lead, stops leading or cannot write, and what expires when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

/* ---- office ---- */

static void test_who_does_not_serve_refuses(void **state)
{
    (void)state;
    struct world *w = world_new(1, false);
    struct call *c = commit(w, "g", 1);
    assert_int_equal(commit_error(c), 16);
    call_free(c);
    fake_role(w->replica, 0, REPLICA_LEADER, 2, 1);
    c = commit(w, "g", 1);
    assert_int_equal(commit_error(c), 14);
    call_free(c);
    world_free(w);
}

static void test_loss_of_office_answers_everything(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct call *in_flight = commit(w, "g", 1), *queued = fetch(w, "g");
    turn_end(w);
    turn_begin(w, 1);
    struct call *in_turn = commit(w, "h", 1), *reading = fetch(w, "i");
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 3, 2);
    assert_int_equal(commit_error(in_flight), 16);
    assert_int_equal(commit_error(in_turn), 16);
    assert_int_equal(((const struct offset_fetch_response_group *)queued->answer)->error_code, 16);
    assert_int_equal(((const struct offset_fetch_response_group *)reading->answer)->error_code, 16);
    turn_end(w);
    assert_int_equal(fake_proposed(w->replica), 0);
    call_free(in_flight);
    call_free(queued);
    call_free(in_turn);
    call_free(reading);
    world_free(w);
}

static void test_a_disk_that_refuses_is_retriable(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    fake_refuse(w->replica, MUSTER_E_BUSY);
    struct call *c = commit(w, "g", 1);
    turn_end(w);
    assert_int_equal(commit_error(c), 15);
    call_free(c);
    fake_refuse(w->replica, 0);
    turn_begin(w, 1);
    c = commit(w, "g", 2);
    settle(w);
    assert_int_equal(commit_error(c), 0);
    call_free(c);
    world_free(w);
}

/* The majority answers but stores nothing, as with two full disks of three. */
static void test_what_is_not_stored_in_time_is_retriable(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct call *in_flight = commit(w, "g", 1);
    struct call *joining = join(w, "h", "", 1);
    turn_end(w);
    assert_int_equal(fake_proposed(w->replica), 1);
    struct call *queued = fetch(w, "g");
    for (int i = 0; i < 49; i++) {
        turn_begin(w, 100 * MS);
        turn_end(w);
    }
    assert_int_equal(in_flight->done + queued->done + joining->done, 0);
    assert_true(coord_next_deadline_us(w->coord) <= w->now_us + 100 * MS);
    turn_begin(w, 200 * MS);
    turn_end(w);
    assert_int_equal(commit_error(in_flight), 15);
    assert_int_equal(((const struct offset_fetch_response_group *)queued->answer)->error_code, 15);
    assert_int_equal(joining->done, 0); /* it arms a session once it is applied */
    call_free(in_flight);
    call_free(queued);
    settle(w); /* it is stored after all */
    queued = fetch(w, "g");
    settle(w);
    assert_int_equal(fetched(queued), 1);
    assert_int_equal(joining->done, 1);
    call_free(queued);
    call_free(joining);
    world_free(w);
}

static void test_a_handover_holds_requests(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    fake_role(w->replica, 0, REPLICA_HANDING_OVER, 2, 2);
    struct call *c = commit(w, "g", 1);
    turn_end(w);
    assert_int_equal(c->done, 0);
    assert_int_equal(fake_proposed(w->replica), 0);
    turn_begin(w, 1);
    fake_role(w->replica, 0, REPLICA_SERVING, 2, 1); /* it did not happen */
    settle(w);
    assert_int_equal(commit_error(c), 0);
    call_free(c);
    world_free(w);
}

/* What was decided in the turn in which the handover begins can be proposed no more. */
static void test_a_handover_undoes_the_turn(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct call *c = commit(w, "g", 1), *j = join(w, "h", "", 1);
    fake_role(w->replica, 0, REPLICA_HANDING_OVER, 2, 1);
    turn_end(w);
    assert_int_equal(c->done + j->done, 0);
    assert_int_equal(fake_proposed(w->replica), 0);
    turn_begin(w, 1);
    fake_role(w->replica, 0, REPLICA_SERVING, 2, 1); /* it did not happen */
    settle(w);
    assert_int_equal(commit_error(c), 0);
    assert_int_equal(((const struct join_group_response *)j->answer)->error_code, 0);
    call_free(c);
    call_free(j);
    c = fetch(w, "g");
    settle(w);
    assert_int_equal(fetched(c), 1);
    call_free(c);
    world_free(w);
}

static void announce(struct world *w, uint64_t term, size_t len)
{
    uint8_t message[13] = {0};
    put_le64(message + 4, term);
    fake_message(w->replica, 2, COORD_CHANNEL_TIMERS, message, len);
}

/* Who is handed a shard keeps what is asked of it until it serves, for a while; who is elected otherwise does not. */
static void test_the_next_leader_keeps_requests(void **state)
{
    (void)state;
    for (int how = 0; how < 4; how++) {
        struct world *w = world_new(1, false);
        announce(w, 2, 12);
        fake_role(w->replica, 0, REPLICA_LEADER, 3, 1);
        struct call *c = commit(w, "g", 1);
        fake_peer(w->replica, 2, false); /* it ends, as soon as it has handed over */
        turn_end(w);
        assert_int_equal(c->done, 0);
        assert_true(coord_next_deadline_us(w->coord) <= w->now_us + 301 * MS);
        turn_begin(w, how == 1 ? 301 * MS : 299 * MS);
        if (how == 2)
            fake_role(w->replica, 0, REPLICA_FOLLOWER, 4, 2);
        else if (how == 3)
            fake_role(w->replica, 0, REPLICA_LEADER, 4, 1);
        else if (how == 0)
            fake_serve(w->replica, 0, 3);
        settle(w);
        static const int16_t errors[] = {3, 14, 16, 14}; /* there is no such topic; not yet; another one leads */
        assert_int_equal(commit_error(c), errors[how]);
        call_free(c);
        world_free(w);
    }
}

/* Between two leaders nobody is told where the coordinator is. */
static void test_a_shard_on_its_way_is_nowhere(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    assert_false(coord_shard_moves(w->coord, 0));
    fake_role(w->replica, 0, REPLICA_HANDING_OVER, 2, 1);
    assert_true(coord_shard_moves(w->coord, 0));
    fake_role(w->replica, 0, REPLICA_SERVING, 2, 1);
    assert_false(coord_shard_moves(w->coord, 0));
    fake_role(w->replica, 0, REPLICA_HANDING_OVER, 2, 1);
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 3, 0);
    assert_true(coord_shard_moves(w->coord, 0));
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 3, 2);
    assert_false(coord_shard_moves(w->coord, 0));
    announce(w, 3, 12); /* a node that looks on */
    assert_true(coord_shard_moves(w->coord, 0));
    announce(w, 3, 13);
    assert_false(coord_shard_moves(w->coord, 0));
    announce(w, 3, 12);
    fake_peer(w->replica, 2, false);
    assert_false(coord_shard_moves(w->coord, 0));
    announce(w, 3, 12);
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 4, 2); /* it has voted, and still names the leader before */
    assert_true(coord_shard_moves(w->coord, 0));
    fake_peer(w->replica, 2, false);
    assert_true(coord_shard_moves(w->coord, 0));
    turn_end(w);
    turn_begin(w, 301 * MS);
    assert_false(coord_shard_moves(w->coord, 0)); /* nobody took over */
    world_free(w);
}

static void test_a_request_too_large_fails_alone(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct call *c = call_new(GROUP_OFFSET_COMMIT, 8, 8, "g");
    struct offset_commit_request *m = ARENA_NEW(&c->arena, struct offset_commit_request, 1);
    char metadata[4000];
    memset(metadata, 'x', sizeof(metadata));
    wire_init(&wire_offset_commit_request, m);
    m->group_id = STR("g");
    m->topics.v = ARENA_NEW(&c->arena, struct offset_commit_request_topic, 30);
    m->topics.len = 30;
    for (int i = 0; i < 30; i++) {
        m->topics.v[i].name = STR("t");
        m->topics.v[i].partitions.v = ARENA_NEW(&c->arena, struct offset_commit_request_partition, 1);
        m->topics.v[i].partitions.len = 1;
        m->topics.v[i].partitions.v[0] = (struct offset_commit_request_partition){0, i, -1, {metadata, sizeof(metadata)}};
    }
    c->request.op.request = m;
    coord_submit(w->coord, &c->request);
    assert_int_equal(c->done, 1);
    assert_int_equal(commit_error(c), 28);
    struct call *other = commit(w, "g", 7);
    settle(w);
    assert_int_equal(commit_error(other), 0);
    call_free(c);
    call_free(other);
    world_free(w);
}

/* ---- time ---- */

static void silence(struct world *w, int seconds)
{
    for (int i = 0; i < seconds; i++) {
        turn_begin(w, SECOND);
        settle(w);
    }
    turn_begin(w, 1);
}

static int16_t heartbeat_error(struct world *w, struct str member)
{
    struct call *c = heartbeat(w, "g", member, 1);
    settle(w);
    int16_t error = ((const struct heartbeat_response *)c->answer)->error_code;
    call_free(c);
    turn_begin(w, 1);
    return error;
}

static void test_a_silent_member_expires(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct str member;
    struct call *j = stable_member(w, "g", &member);
    silence(w, 9);
    assert_int_equal(heartbeat_error(w, member), 0);
    silence(w, 9);
    assert_int_equal(heartbeat_error(w, member), 0);
    silence(w, 11);
    assert_int_equal(heartbeat_error(w, member), 25);
    call_free(j);
    world_free(w);
}

/* A commit keeps its member's session, from when it arrives and not only once it is stored: here in the turn in which the session would be over. */
static void test_a_commit_counts_when_it_arrives(void **state)
{
    (void)state;
    for (int later = 0; later < 2; later++) {
        struct world *w = serving_world(1);
        struct str member;
        struct call *j = stable_member(w, "g", &member);
        silence(w, 9);
        turn_begin(w, later ? SECOND - 100 * MS : SECOND); /* the session lasts ten */
        struct call *c = commit_as(w, "g", member, 1);
        turn_end(w);
        turn_begin(w, 200 * MS);
        turn_end(w); /* the entry is not stored yet */
        settle(w);
        assert_int_equal(commit_error(c), 0);
        turn_begin(w, 1);
        assert_int_equal(heartbeat_error(w, member), 0);
        call_free(c);
        call_free(j);
        world_free(w);
    }
}

static void test_nobody_expires_while_the_majority_is_silent(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct str member;
    struct call *j = stable_member(w, "g", &member);
    fake_contact(w->replica, w->now_us);
    silence(w, 30);
    fake_contact(w->replica, INT64_MAX / 2);
    assert_int_equal(heartbeat_error(w, member), 0);
    call_free(j);
    world_free(w);
}

/* A member's heartbeats wait behind a join that is not stored, are given up, and are sent again. When it is stored the next one has not been sent yet. */
static void test_nobody_expires_while_nothing_is_stored(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct str member;
    struct call *j = stable_member(w, "g", &member);
    struct call *joining = join(w, "g", "", 2);
    turn_end(w);
    struct call *beat = heartbeat(w, "g", member, 1);
    for (int i = 0; i < 300 || (i < 400 && beat->done == 0); i++) {
        turn_begin(w, 100 * MS);
        turn_end(w);
        if (i < 300 && beat->done > 0) {
            call_free(beat);
            beat = heartbeat(w, "g", member, 1);
        }
    }
    assert_int_equal(beat->done, 1);
    settle(w);
    assert_int_equal(heartbeat_error(w, member), 27);
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 3, 2);
    settle(w);
    call_free(beat);
    call_free(joining);
    call_free(j);
    world_free(w);
}

static void test_a_stalled_loop_expires_nobody(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct str member;
    struct call *j = stable_member(w, "g", &member);
    turn_begin(w, 60 * (int64_t)SECOND);
    settle(w);
    turn_begin(w, 1);
    assert_int_equal(heartbeat_error(w, member), 0);
    call_free(j);
    world_free(w);
}

static void test_a_new_leader_gives_a_full_session(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct str member;
    struct call *j = stable_member(w, "g", &member);
    silence(w, 8);
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 3, 2);
    settle(w);
    turn_begin(w, 1);
    fake_serve(w->replica, 0, 4);
    silence(w, 8);
    assert_int_equal(heartbeat_error(w, member), 0);
    call_free(j);
    world_free(w);
}

/* Remaining times go over at a transfer, whatever kinds of timers there are: the one in front is of the newest kind and of a group nobody knows. */
static void test_a_transfer_hands_remaining_times_over(void **state)
{
    (void)state;
    enum { HEAD = 12, TIMER = 25, IDS = 4 };
    struct world *w = serving_world(1);
    struct str member;
    struct call *j = stable_member(w, "g", &member);
    silence(w, 7);
    struct buf out, message;
    uint8_t foreign[TIMER + IDS] = {GROUP_TIMER_LAST};
    buf_init(&out, 0);
    buf_init(&message, 0);
    coord_handover_export(w->coord, 0, &out);
    assert_true(out.len > HEAD);
    buf_put(&message, out.ptr, HEAD);
    buf_put(&message, foreign, sizeof(foreign));
    buf_put(&message, out.ptr + HEAD, out.len - HEAD);
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 3, 2);
    settle(w);
    turn_begin(w, 1);
    coord_handover_import(w->coord, 2, 0, (struct bytes){message.ptr, (int32_t)message.len});
    fake_serve(w->replica, 0, 3);
    silence(w, 4); /* eleven in all; a full session would have been ten from here */
    assert_int_equal(heartbeat_error(w, member), 25);
    buf_fini(&out);
    buf_fini(&message);
    call_free(j);
    world_free(w);
}

/* A transfer that did not come about: the node that would have taken over takes over some time later for another reason. Members were heard of meanwhile. */
static void test_times_of_a_transfer_that_failed_are_void(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) {
        struct world *w = serving_world(1);
        struct str member;
        struct buf out;
        struct call *j = stable_member(w, "g", &member);
        silence(w, 7);
        buf_init(&out, 0);
        coord_handover_export(w->coord, 0, &out);
        fake_role(w->replica, 0, REPLICA_FOLLOWER, 3, 2);
        settle(w);
        turn_begin(w, 1);
        fake_message(w->replica, 2, COORD_CHANNEL_TIMERS, out.ptr, out.len);
        if (how == 0)
            silence(w, 1); /* too old */
        else if (how == 1)
            fake_peer(w->replica, 2, false); /* what it said behind that was not heard */
        else
            fake_message(w->replica, 2, COORD_CHANNEL_TIMERS, out.ptr, 13); /* it says that nothing came of it */
        fake_serve(w->replica, 0, 3);
        silence(w, 6);
        assert_int_equal(heartbeat_error(w, member), 0);
        buf_fini(&out);
        call_free(j);
        world_free(w);
    }
}

static void test_a_transfer_that_fails_is_called_off(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct str member;
    struct call *j = stable_member(w, "g", &member);
    fake_role(w->replica, 0, REPLICA_HANDING_OVER, 2, 1);
    turn_end(w);
    assert_int_equal(fake_sent(w->replica), 1);
    assert_true(fake_sent_bytes(w->replica) > 12);
    turn_begin(w, 1);
    fake_role(w->replica, 0, REPLICA_SERVING, 2, 1);
    turn_end(w);
    assert_int_equal(fake_sent(w->replica), 2);
    assert_int_equal(fake_sent_bytes(w->replica), 13);
    call_free(j);
    world_free(w);
}

static void test_a_timer_survives_a_disk_that_refuses(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct str member;
    struct call *j = stable_member(w, "g", &member);
    fake_refuse(w->replica, MUSTER_E_BUSY);
    silence(w, 12);
    fake_refuse(w->replica, 0);
    silence(w, 1);
    assert_int_equal(heartbeat_error(w, member), 25);
    call_free(j);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_does_not_serve_refuses),
        cmocka_unit_test(test_loss_of_office_answers_everything),
        cmocka_unit_test(test_a_disk_that_refuses_is_retriable),
        cmocka_unit_test(test_what_is_not_stored_in_time_is_retriable),
        cmocka_unit_test(test_a_handover_holds_requests),
        cmocka_unit_test(test_a_handover_undoes_the_turn),
        cmocka_unit_test(test_the_next_leader_keeps_requests),
        cmocka_unit_test(test_a_shard_on_its_way_is_nowhere),
        cmocka_unit_test(test_a_request_too_large_fails_alone),
        cmocka_unit_test(test_a_silent_member_expires),
        cmocka_unit_test(test_a_commit_counts_when_it_arrives),
        cmocka_unit_test(test_nobody_expires_while_the_majority_is_silent),
        cmocka_unit_test(test_nobody_expires_while_nothing_is_stored),
        cmocka_unit_test(test_a_stalled_loop_expires_nobody),
        cmocka_unit_test(test_a_new_leader_gives_a_full_session),
        cmocka_unit_test(test_a_transfer_hands_remaining_times_over),
        cmocka_unit_test(test_times_of_a_transfer_that_failed_are_void),
        cmocka_unit_test(test_a_transfer_that_fails_is_called_off),
        cmocka_unit_test(test_a_timer_survives_a_disk_that_refuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
