/* Heartbeats that are held, on virtual time. Everything is decided by the real library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

enum { INTERVAL_MS = 5000, HOLD_MS = 4500, SESSION_MS = 45000, NOT_COORDINATOR = 16, UNKNOWN_MEMBER = 25 };

/* Of the topic "t", which has one partition: of many members one has it, whoever else comes or goes. */
static struct call *beat_with(struct world *w, const char *group, const char *member, int32_t epoch, uint64_t connection, int owned)
{
    static struct str name = {"t", 1};
    struct call *c = call_new(GROUP_CONSUMER_HEARTBEAT, 68, 1, group);
    struct consumer_group_heartbeat_request *m = ARENA_NEW(&c->arena, struct consumer_group_heartbeat_request, 1);
    wire_init(&wire_consumer_group_heartbeat_request, m);
    m->group_id = str_of(group);
    m->member_id = arena_str(&c->arena, str_of(member));
    m->member_epoch = epoch;
    if (epoch == 0) {
        m->rebalance_timeout_ms = 60000;
        m->subscribed_topic_names = (struct str_array){&name, 1};
        m->topic_partitions.len = 0;
    }
    if (owned >= 0) {
        struct topic_view topic;
        struct topics topics;
        catalog_topics(coord_set(w->coord, 0), &topics);
        assert_true(topics.by_name(topics.ctx, name, &topic));
        m->topic_partitions.v = ARENA_NEW(&c->arena, struct consumer_group_heartbeat_request_topic_partitions, 1);
        m->topic_partitions.len = 1;
        m->topic_partitions.v[0].topic_id = topic.id;
        m->topic_partitions.v[0].partitions = (struct int32_array){ARENA_NEW(&c->arena, int32_t, owned), owned};
        for (int32_t p = 0; p < owned; p++)
            m->topic_partitions.v[0].partitions.v[p] = p;
    }
    c->request.op.request = m;
    c->request.connection = connection;
    c->request.yields = true;
    coord_submit(w->coord, &c->request);
    return c;
}

static struct call *beat(struct world *w, const char *group, const char *member, int32_t epoch, uint64_t connection)
{
    return beat_with(w, group, member, epoch, connection, -1);
}

static void grow(struct world *w, int32_t partitions)
{
    struct call *c = call_new(CATALOG_CREATE_PARTITIONS, 37, 3, "");
    struct create_partitions_request *m = ARENA_NEW(&c->arena, struct create_partitions_request, 1);
    wire_init(&wire_create_partitions_request, m);
    m->topics.v = ARENA_NEW(&c->arena, struct create_partitions_request_topic, 1);
    m->topics.len = 1;
    m->topics.v[0].name = STR("t");
    m->topics.v[0].count = partitions;
    m->topics.v[0].assignments.len = -1;
    c->request.op.request = m;
    coord_submit(w->coord, &c->request);
    settle(w);
    assert_int_equal(c->error, 0);
    call_free(c);
    turn_begin(w, 1);
}

static struct coord_stats stats_of(const struct world *w)
{
    struct coord_stats stats;
    coord_stats(w->coord, &stats);
    return stats;
}

static const struct consumer_group_heartbeat_response *answer_of(const struct call *c)
{
    assert_int_equal(c->done, 1);
    return c->answer;
}

/* Answers within a moment. */
static int32_t epoch_of(struct world *w, struct call *c)
{
    settle(w);
    const struct consumer_group_heartbeat_response *a = answer_of(c);
    assert_int_equal(a->error_code, 0);
    int32_t epoch = a->member_epoch;
    call_free(c);
    turn_begin(w, 1);
    return epoch;
}

static void pass(struct world *w, int64_t ms)
{
    for (; ms > 0; ms -= 500) {
        settle(w);
        turn_begin(w, (ms < 500 ? ms : 500) * MS);
    }
    settle(w);
    turn_begin(w, 1);
}

/* A member alone in its group, settled, whose next heartbeat is held. */
static struct call *held_member(struct world *w, const char *group, const char *member, uint64_t connection, int32_t *ret_epoch)
{
    *ret_epoch = epoch_of(w, beat(w, group, member, 0, connection));
    struct call *c = beat(w, group, member, *ret_epoch, connection);
    settle(w);
    turn_begin(w, 1);
    assert_int_equal(c->done, 0);
    return c;
}

static int64_t members_of(const struct world *w)
{
    struct group_set_counts counts;
    group_set_counts(coord_set(w->coord, 0), &counts);
    return counts.members;
}

static void test_a_settled_member_is_held_until_its_time_is_over(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    int32_t epoch;
    struct call *c = held_member(w, "g", "m", 7, &epoch);
    assert_int_equal(stats_of(w).beats_held, 1);
    assert_int_equal(stats_of(w).parked, 0);
    int64_t due = w->now_us + HOLD_MS * MS;
    turn_end(w);
    assert_in_range(coord_next_deadline_us(w->coord), due - 100, due);
    turn_begin(w, (HOLD_MS - 100) * MS);
    settle(w);
    assert_int_equal(c->done, 0);
    turn_begin(w, 100 * MS);
    turn_end(w);
    assert_int_equal(c->done, 0); /* its round has to come back */
    fake_confirm(w->replica);
    assert_int_equal(answer_of(c)->member_epoch, epoch);
    assert_int_equal(answer_of(c)->heartbeat_interval_ms, INTERVAL_MS);
    assert_null(answer_of(c)->assignment);
    assert_int_equal(stats_of(w).beats_held, 0);
    call_free(c);
    world_free(w);
}

/* A round that left while it was held proves nothing for what is read when it is let go. */
static void test_what_is_let_go_needs_a_round_of_its_own(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    int32_t epoch;
    struct call *c = held_member(w, "g", "m", 7, &epoch), *fetched = fetch(w, "g");
    turn_end(w); /* the round for the fetch leaves */
    fake_confirm(w->replica);
    assert_int_equal(fetched->done, 1);
    turn_begin(w, 1);
    coord_let_go(w->coord, &c->request);
    turn_end(w);
    assert_int_equal(c->done, 0);
    fake_confirm(w->replica);
    assert_int_equal(answer_of(c)->error_code, 0);
    call_free(c);
    call_free(fetched);
    world_free(w);
}

static void test_only_by_what_its_connection_was_told(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    int32_t epoch;
    struct call *c = held_member(w, "g", "m", 7, &epoch);
    struct call *other = beat(w, "g", "m", epoch, 8); /* it has connected anew; the old connection is not known to be dead yet */
    settle(w);
    assert_int_equal(answer_of(other)->error_code, 0);
    assert_int_equal(c->done, 0);
    turn_begin(w, 1);
    struct call *next = beat(w, "g", "m", epoch, 8); /* told, so held */
    settle(w);
    assert_int_equal(next->done, 0);
    assert_int_equal(stats_of(w).beats_held, 2);
    turn_begin(w, 1);
    coord_let_go(w->coord, &c->request); /* nobody is told there what would count for the other connection */
    settle(w);
    assert_int_equal(answer_of(c)->error_code, 0);
    turn_begin(w, 1);
    struct call *again = beat(w, "g", "m", epoch, 8);
    settle(w);
    assert_int_equal(again->done, 0);
    coord_cancel(w->coord, &next->request);
    assert_int_equal(next->done, 1);
    assert_null(next->answer);
    coord_cancel(w->coord, &again->request);
    assert_int_equal(stats_of(w).beats_held, 0);
    call_free(c);
    call_free(other);
    call_free(next);
    call_free(again);
    world_free(w);
}

static void test_not_where_the_owner_cannot_let_go(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    int32_t epoch = epoch_of(w, beat(w, "g", "m", 0, 7));
    struct call *c = beat(w, "g", "m", epoch, 7);
    assert_int_equal(c->request.in.state != 0, true);
    coord_let_go(w->coord, &c->request);
    assert_int_equal(epoch_of(w, c), epoch);
    c = call_new(GROUP_CONSUMER_HEARTBEAT, 68, 1, "g");
    struct consumer_group_heartbeat_request *m = ARENA_NEW(&c->arena, struct consumer_group_heartbeat_request, 1);
    wire_init(&wire_consumer_group_heartbeat_request, m);
    m->group_id = STR("g");
    m->member_id = STR("m");
    m->member_epoch = epoch;
    c->request.op.request = m;
    c->request.connection = 7;
    coord_submit(w->coord, &c->request);
    assert_int_equal(epoch_of(w, c), epoch);
    world_free(w);
}

static int32_t partitions_of(const struct call *c)
{
    const struct consumer_group_heartbeat_response *a = answer_of(c);
    assert_int_equal(a->error_code, 0);
    return a->assignment == NULL ? -1 : a->assignment->topic_partitions.len == 0 ? 0 : a->assignment->topic_partitions.v[0].partitions.len;
}

/* All of it: who is held hears at once what it has to give up, and what it gets when others go. */
static void test_partitions_change_hands(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    int32_t epoch;
    grow(w, 4);
    struct call *m = held_member(w, "g", "m", 7, &epoch);
    pass(w, 1500); /* the assignment interval */
    struct call *n = beat(w, "g", "n", 0, 8);
    settle(w);
    assert_int_equal(partitions_of(n), 0);
    assert_int_equal(answer_of(n)->heartbeat_interval_ms, 500);
    assert_int_equal(partitions_of(m), 2);
    assert_int_equal(answer_of(m)->member_epoch, epoch);
    call_free(m);
    call_free(n);
    turn_begin(w, 1);
    assert_int_equal(epoch_of(w, beat_with(w, "g", "m", epoch, 7, 2)), epoch + 1);
    m = beat(w, "g", "m", epoch + 1, 7);
    settle(w);
    assert_int_equal(m->done, 0);
    turn_begin(w, 500 * MS);
    n = beat(w, "g", "n", epoch + 1, 8);
    settle(w);
    assert_int_equal(partitions_of(n), 2);
    assert_int_equal(answer_of(n)->heartbeat_interval_ms, INTERVAL_MS);
    assert_int_equal(m->done, 0);
    call_free(n);
    turn_begin(w, SECOND);
    n = beat(w, "g", "n", -1, 8);
    settle(w);
    assert_int_equal(partitions_of(m), 4);
    assert_int_equal(answer_of(m)->member_epoch, epoch + 2);
    call_free(m);
    call_free(n);
    world_free(w);
}

/* What a heartbeat says would be old when it is decided again. */
static void test_not_what_says_something(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    grow(w, 4);
    int32_t epoch = epoch_of(w, beat(w, "g", "m", 0, 7));
    assert_int_equal(epoch_of(w, beat_with(w, "g", "m", epoch, 7, 3)), epoch);
    assert_int_equal(epoch_of(w, beat_with(w, "g", "m", epoch, 7, 4)), epoch);
    struct call *m = beat(w, "g", "m", epoch, 7);
    settle(w);
    assert_int_equal(m->done, 0);
    coord_cancel(w->coord, &m->request);
    call_free(m);
    world_free(w);
}

/* Whose share stays the same is moved on, and hears so. */
static void test_whoever_joins_moves_the_others_on(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    int32_t epoch;
    struct call *c = held_member(w, "g", "m", 7, &epoch);
    pass(w, 1500); /* the assignment interval */
    assert_int_equal(c->done, 0);
    struct call *joins = beat(w, "g", "n", 0, 8);
    settle(w);
    assert_int_equal(answer_of(joins)->error_code, 0);
    assert_int_equal(stats_of(w).beats_moved, 1);
    assert_int_equal(answer_of(c)->member_epoch, epoch + 1);
    call_free(c);
    call_free(joins);
    world_free(w);
}

/* The assignment may not be made yet: nobody is told to come soon, and it is made when its time has come. */
static void test_until_the_assignment_is_due(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    int32_t epoch;
    struct call *c = held_member(w, "g", "m", 7, &epoch);
    pass(w, 1500);
    struct call *n = beat(w, "g", "n", 0, 8);
    assert_int_equal(epoch_of(w, c), epoch + 1);
    c = beat(w, "g", "m", epoch + 1, 7);
    struct call *o = beat(w, "g", "o", 0, 9); /* within the interval */
    settle(w);
    assert_int_equal(answer_of(o)->member_epoch, epoch + 1);
    assert_int_equal(answer_of(o)->heartbeat_interval_ms, 500);
    assert_int_equal(c->done, 0);
    turn_begin(w, 500 * MS);
    settle(w);
    assert_int_equal(c->done, 0);
    turn_begin(w, 600 * MS);
    settle(w);
    assert_int_equal(answer_of(c)->member_epoch, epoch + 2);
    assert_int_equal(answer_of(c)->heartbeat_interval_ms, INTERVAL_MS);
    call_free(c);
    call_free(n);
    call_free(o);
    world_free(w);
}

static void test_commits_of_the_group_let_nobody_go(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    int32_t epoch;
    struct call *c = held_member(w, "g", "m", 7, &epoch), *committed = commit_as(w, "g", STR("m"), epoch);
    settle(w);
    assert_int_equal(committed->done, 1);
    assert_int_equal(c->done, 0);
    coord_cancel(w->coord, &c->request);
    call_free(c);
    call_free(committed);
    world_free(w);
}

static void test_office_is_lost(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    int32_t epoch;
    struct call *c = held_member(w, "g", "m", 7, &epoch);
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 3, 2);
    assert_int_equal(answer_of(c)->error_code, NOT_COORDINATOR);
    assert_int_equal(stats_of(w).beats_held, 0);
    call_free(c);
    world_free(w);
}

static void test_a_transfer(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    int32_t epoch;
    struct call *c = held_member(w, "g", "m", 7, &epoch);
    pass(w, 2000);
    fake_role(w->replica, 0, REPLICA_HANDING_OVER, 2, 2);
    assert_int_equal(stats_of(w).beats_held, 0);
    fake_role(w->replica, 0, REPLICA_SERVING, 2, 1); /* called off */
    settle(w);
    turn_begin(w, 1);
    assert_int_equal(c->done, 0);
    assert_int_equal(stats_of(w).beats_held, 1);
    pass(w, 2000);
    assert_int_equal(c->done, 0);
    fake_role(w->replica, 0, REPLICA_HANDING_OVER, 2, 2);
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 3, 2);
    assert_int_equal(answer_of(c)->error_code, NOT_COORDINATOR);
    call_free(c);
    world_free(w);
}

/* The next coordinator is told of what is left of its session, which runs since its heartbeat came. */
static void test_a_transfer_hands_over_what_is_left(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct buf out;
    int32_t epoch;
    struct call *c = held_member(w, "g", "m", 7, &epoch);
    pass(w, 2000);
    fake_role(w->replica, 0, REPLICA_HANDING_OVER, 2, 2);
    buf_init(&out, 0);
    coord_handover_export(w->coord, 0, &out);
    assert_int_equal(out.len, 12 + 25 + 2 + 1 + 2 + 1);
    int64_t left_us = (int64_t)get_le64(out.ptr + 12 + 13);
    assert_in_range(left_us, (SESSION_MS - 2010) * (int64_t)MS, (SESSION_MS - 2000) * (int64_t)MS);
    buf_fini(&out);
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 3, 2);
    call_free(c);
    world_free(w);
}

static void test_sessions_run_since_the_heartbeat_came(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    int32_t epoch;
    struct call *c = held_member(w, "g", "m", 7, &epoch);
    pass(w, HOLD_MS + 500);
    assert_int_equal(answer_of(c)->error_code, 0);
    pass(w, SESSION_MS - HOLD_MS - 1000);
    assert_int_equal(members_of(w), 1);
    pass(w, 1000);
    assert_int_equal(members_of(w), 0);
    call_free(c);
    world_free(w);
}

/* One that is held is removed: it hears so. */
static void test_a_member_that_is_removed(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    int32_t epoch;
    struct call *c = held_member(w, "g", "m", 7, &epoch), *leaves = beat(w, "g", "m", -1, 9);
    settle(w);
    assert_int_equal(answer_of(leaves)->error_code, 0);
    assert_int_equal(answer_of(c)->error_code, UNKNOWN_MEMBER);
    call_free(leaves);
    call_free(c);
    world_free(w);
}

/* Whether all were told to come seldom. */
static bool beat_all(struct world *w, struct call **calls, int count, int32_t *ret_epoch)
{
    static char names[64][4];
    bool settled = true;
    assert_true(count <= 64);
    for (int i = 0; i < count; i++) {
        names[i][0] = 'm', names[i][1] = (char)('0' + i / 10), names[i][2] = (char)('0' + i % 10), names[i][3] = '\0';
        int32_t epoch = 0;
        if (calls[i] != NULL) {
            epoch = answer_of(calls[i])->member_epoch;
            settled = settled && answer_of(calls[i])->heartbeat_interval_ms == INTERVAL_MS;
            call_free(calls[i]);
        }
        *ret_epoch = epoch;
        calls[i] = beat(w, "g", names[i], epoch, (uint64_t)i + 1);
    }
    settle(w);
    turn_begin(w, 1);
    return settled;
}

static struct call **held_members(struct world *w, int count, int32_t *ret_epoch)
{
    struct call **calls = calloc((size_t)count, sizeof(*calls));
    beat_all(w, calls, count, ret_epoch);
    for (int round = 0; round < 4; round++) { /* until all have come to the same epoch, and were told so */
        pass(w, INTERVAL_MS);
        if (beat_all(w, calls, count, ret_epoch) && stats_of(w).beats_held == (uint64_t)(count < MAX_BEATS ? count : MAX_BEATS))
            return calls;
    }
    assert_true(false);
    return NULL;
}

static void test_no_more_than_so_many(void **state)
{
    (void)state;
    enum { COUNT = MAX_BEATS + 5 };
    struct world *w = serving_world(1);
    int32_t epoch;
    struct call **calls = held_members(w, COUNT, &epoch);
    int answered = 0;
    for (int i = 0; i < COUNT; i++)
        answered += calls[i]->done;
    assert_int_equal(answered, 5);
    assert_true(stats_of(w).beats_refused >= 5);
    for (int i = 0; i < COUNT; i++) {
        if (calls[i]->done == 0)
            coord_cancel(w->coord, &calls[i]->request);
        call_free(calls[i]);
    }
    assert_int_equal(stats_of(w).beats_held, 0);
    free(calls);
    world_free(w);
}

static void join_group(struct world *w, const char *name)
{
    struct call *c = beat(w, "g", name, 0, 100);
    settle(w);
    assert_int_equal(answer_of(c)->error_code, 0);
    call_free(c);
    turn_begin(w, 1);
}

/* An assignment that is due later is one's work: not all are asked again because of it. Then all hear of it. */
static void test_many_of_a_group(void **state)
{
    (void)state;
    enum { COUNT = 30, FOR_WORK = 8 };
    struct world *w = serving_world(1);
    int32_t epoch;
    struct call **calls = held_members(w, COUNT, &epoch);
    pass(w, 1500);
    join_group(w, "x");
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(epoch_of(w, calls[i]), epoch + 1);
    for (int i = 0; i < COUNT; i++) {
        char name[4] = {'m', (char)('0' + i / 10), (char)('0' + i % 10), '\0'};
        calls[i] = beat(w, "g", name, epoch + 1, (uint64_t)i + 1);
        settle(w);
        turn_begin(w, 1);
        assert_int_equal(calls[i]->done, 0);
    }
    uint64_t moved = stats_of(w).beats_moved;
    join_group(w, "y"); /* within the assignment interval */
    join_group(w, "z");
    assert_int_equal(stats_of(w).beats_moved, moved + 2 * FOR_WORK);
    assert_int_equal(stats_of(w).beats_held, COUNT);
    pass(w, 1500);
    assert_int_equal(stats_of(w).beats_held, 0);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(epoch_of(w, calls[i]), epoch + 3);
    free(calls);
    world_free(w);
}

/* Asked again many times, it takes no more memory than at first. */
static void test_memory(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    int32_t epoch;
    struct call *c = held_member(w, "g", "m", 7, &epoch);
    pass(w, 1500);
    struct call *n = beat(w, "g", "n", 0, 8);
    settle(w);
    turn_begin(w, 1);
    assert_int_equal(epoch_of(w, c), epoch + 1);
    call_free(n);
    c = beat(w, "g", "m", epoch + 1, 7);
    settle(w);
    turn_begin(w, 1);
    size_t used = c->arena.used_bytes;
    char name[2] = "a";
    for (; name[0] < 'k'; name[0]++) { /* each moves the group's epoch, within the assignment interval */
        struct call *joins = beat(w, "g", name, 0, 10);
        settle(w);
        call_free(joins);
        turn_begin(w, MS);
    }
    assert_int_equal(c->done, 0);
    assert_int_equal(c->arena.used_bytes, used);
    coord_cancel(w->coord, &c->request);
    call_free(c);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_settled_member_is_held_until_its_time_is_over),
        cmocka_unit_test(test_what_is_let_go_needs_a_round_of_its_own),
        cmocka_unit_test(test_only_by_what_its_connection_was_told),
        cmocka_unit_test(test_not_where_the_owner_cannot_let_go),
        cmocka_unit_test(test_partitions_change_hands),
        cmocka_unit_test(test_not_what_says_something),
        cmocka_unit_test(test_whoever_joins_moves_the_others_on),
        cmocka_unit_test(test_until_the_assignment_is_due),
        cmocka_unit_test(test_commits_of_the_group_let_nobody_go),
        cmocka_unit_test(test_office_is_lost),
        cmocka_unit_test(test_a_transfer),
        cmocka_unit_test(test_a_transfer_hands_over_what_is_left),
        cmocka_unit_test(test_sessions_run_since_the_heartbeat_came),
        cmocka_unit_test(test_a_member_that_is_removed),
        cmocka_unit_test(test_no_more_than_so_many),
        cmocka_unit_test(test_many_of_a_group),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
