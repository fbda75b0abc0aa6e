/* Consumer groups as coord sees them: ids, jobs, and what waits for the catalogue. Everything is decided by the real library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

/* A join has all that a join needs, of the topic "t", or of what the regular expression matches. */
static struct call *beat(struct world *w, const char *group, const char *member, int32_t epoch, const char *regex)
{
    static struct str name = {"t", 1};
    struct call *c = call_new(GROUP_CONSUMER_HEARTBEAT, 68, member[0] == '\0' ? 0 : 1, group);
    struct consumer_group_heartbeat_request *m = ARENA_NEW(&c->arena, struct consumer_group_heartbeat_request, 1);
    wire_init(&wire_consumer_group_heartbeat_request, m);
    m->group_id = str_of(group);
    m->member_id = str_of(member);
    m->member_epoch = epoch;
    if (epoch == 0) {
        m->rebalance_timeout_ms = 60000;
        m->subscribed_topic_names = (struct str_array){&name, regex == NULL ? 1 : 0};
        m->subscribed_topic_regex = str_of(regex);
        m->topic_partitions.len = 0;
    }
    c->request.op.request = m;
    coord_submit(w->coord, &c->request);
    return c;
}

static const struct consumer_group_heartbeat_response *answer_of(const struct call *c)
{
    return c->answer;
}

static int16_t settled_error(struct world *w, struct call *c)
{
    settle(w);
    assert_int_equal(c->done, 1);
    int16_t error = answer_of(c)->error_code;
    call_free(c);
    turn_begin(w, 1);
    return error;
}

static void test_ids_are_drawn_for_those_that_have_none(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct call *a = beat(w, "g", "", 0, NULL), *b = beat(w, "g", "", 0, NULL);
    settle(w);
    assert_int_equal(answer_of(a)->error_code, 0);
    assert_int_equal(answer_of(b)->error_code, 0);
    assert_int_equal(answer_of(a)->member_id.len, 22);
    assert_false(str_eq(answer_of(a)->member_id, answer_of(b)->member_id));
    call_free(a);
    call_free(b);
    world_free(w);
}

static void test_regular_expressions_are_matched_by_a_job(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    assert_int_equal(settled_error(w, beat(w, "g", "m", 0, "t.*")), 0);
    assert_int_equal(w->job_count, 1);
    assert_int_equal(group_job_kind(w->jobs[0]), GROUP_JOB_RESOLVE);
    group_job_run(w->jobs[0]);
    coord_job_done(w->coord, w->jobs[0]);
    settle(w);
    turn_begin(w, 2 * SECOND); /* the assignment interval */
    struct call *c = beat(w, "g", "m", 1, NULL);
    settle(w);
    assert_int_equal(answer_of(c)->error_code, 0);
    assert_non_null(answer_of(c)->assignment);
    assert_int_equal(answer_of(c)->assignment->topic_partitions.len, 1);
    call_free(c);
    world_free(w);
}

/* The cursor is past the topics that it looked for, and nobody says anything: without another look they would be found when the matches are refreshed. */
static void test_a_job_that_its_office_did_not_outlive_is_done_again(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    assert_int_equal(settled_error(w, beat(w, "g", "m", 0, "t.*")), 0);
    assert_int_equal(w->job_count, 1);
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 3, 2);
    settle(w);
    turn_begin(w, 1);
    fake_serve(w->replica, 0, 4);
    group_job_run(w->jobs[0]); /* of an office that is over */
    coord_job_done(w->coord, w->jobs[0]);
    settle(w);
    assert_int_equal(w->job_count, 2);
    assert_int_equal(group_job_kind(w->jobs[1]), GROUP_JOB_RESOLVE);
    group_job_run(w->jobs[1]);
    coord_job_done(w->coord, w->jobs[1]);
    world_free(w);
}

/* Another id of a shard that is not shard 0. */
static const char *other_group(const struct world *w, char group[2])
{
    memcpy(group, "a", 2);
    while (coord_shard_of(w->coord, str_of(group)) == 0)
        group[0]++;
    return group;
}

static int64_t members_of(const struct world *w)
{
    struct group_set_counts counts;
    group_set_counts(coord_set(w->coord, 1), &counts);
    return counts.members;
}

static void pass(struct world *w, int seconds)
{
    for (int i = 0; i < seconds; i++) {
        settle(w);
        turn_begin(w, SECOND);
    }
}

/* A new leader that does not hear how far the catalogue has come answers no heartbeat; so it ends no session either. Classic groups need no catalogue. */
static void test_sessions_wait_where_heartbeats_wait(void **state)
{
    (void)state;
    struct world *w = serving_world(2);
    char id[2], classic[] = "A";
    const char *group = other_group(w, id);
    struct str member;
    while (coord_shard_of(w->coord, str_of(classic)) == 0)
        classic[0]++;
    struct call *j = stable_member(w, classic, &member);
    assert_int_equal(settled_error(w, beat(w, group, "m", 0, NULL)), 0);
    assert_int_equal(members_of(w), 2);
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 3, 2); /* and that node says nothing */
    fake_role(w->replica, 1, REPLICA_FOLLOWER, 3, 2);
    turn_end(w);
    turn_begin(w, 1);
    fake_serve(w->replica, 1, 4);
    struct call *c = beat(w, group, "m", 2, NULL);
    pass(w, 60);
    assert_int_equal(answer_of(c)->error_code, 15); /* the request is given up, its member is not */
    assert_int_equal(members_of(w), 1);
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 4, 1);
    fake_serve(w->replica, 0, 5);
    pass(w, 1);
    assert_int_equal(members_of(w), 0);
    call_free(c);
    call_free(j);
    world_free(w);
}

/* Of 45 seconds 30 have passed when the shard is handed over. */
static void test_a_transfer_hands_sessions_over(void **state)
{
    (void)state;
    struct world *w = serving_world(2);
    char id[2];
    const char *group = other_group(w, id);
    struct buf out;
    assert_int_equal(settled_error(w, beat(w, group, "m", 0, NULL)), 0);
    pass(w, 30);
    buf_init(&out, 0);
    coord_handover_export(w->coord, 1, &out);
    fake_role(w->replica, 1, REPLICA_FOLLOWER, 3, 2);
    settle(w);
    turn_begin(w, 1);
    coord_handover_import(w->coord, 2, 1, (struct bytes){out.ptr, (int32_t)out.len});
    fake_serve(w->replica, 1, 3);
    pass(w, 14);
    assert_int_equal(members_of(w), 1);
    pass(w, 2);
    assert_int_equal(members_of(w), 0);
    buf_fini(&out);
    world_free(w);
}

/* Those that are not stored yet count as those that are. */
static void test_members_in_flight_count_against_the_budget(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    alter_budget(w, "muster.max.members", "2");
    struct call *first = beat(w, "a", "m", 0, NULL), *second = beat(w, "b", "m", 0, NULL), *third = beat(w, "c", "m", 0, NULL);
    settle(w);
    assert_int_equal(answer_of(first)->error_code, 0);
    assert_int_equal(answer_of(second)->error_code, 0);
    assert_int_equal(answer_of(third)->error_code, 15);
    call_free(first);
    call_free(second);
    call_free(third);
    turn_begin(w, 1);
    assert_int_equal(settled_error(w, beat(w, "a", "m", 2, NULL)), 0);
    assert_int_equal(settled_error(w, beat(w, "a", "m", -1, NULL)), 0);
    assert_int_equal(settled_error(w, beat(w, "c", "m", 0, NULL)), 0);
    world_free(w);
}

static void test_what_needs_the_catalogue(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct str member;
    struct call *j = stable_member(w, "c", &member);
    static const enum group_op_kind kinds[] = {GROUP_JOIN, GROUP_SYNC, GROUP_HEARTBEAT, GROUP_LEAVE, GROUP_TIMER};
    const struct group_set *set = coord_set(w->coord, 0);
    assert_int_equal(settled_error(w, beat(w, "g", "m", 0, NULL)), 0);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        assert_false(group_op_needs_catalog(set, &(struct group_op){.kind = kinds[i], .group_id = STR("nobody's")}));
        assert_false(group_op_needs_catalog(set, &(struct group_op){.kind = kinds[i], .group_id = STR("c")}));
        assert_true(group_op_needs_catalog(set, &(struct group_op){.kind = kinds[i], .group_id = STR("g")}));
    }
    assert_true(group_op_needs_catalog(set, &(struct group_op){.kind = GROUP_CONSUMER_HEARTBEAT, .group_id = STR("nobody's")}));
    assert_false(group_op_needs_catalog(set, &(struct group_op){.kind = GROUP_DESCRIBE, .group_id = STR("g")}));
    call_free(j);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_are_drawn_for_those_that_have_none),
        cmocka_unit_test(test_regular_expressions_are_matched_by_a_job),
        cmocka_unit_test(test_a_job_that_its_office_did_not_outlive_is_done_again),
        cmocka_unit_test(test_sessions_wait_where_heartbeats_wait),
        cmocka_unit_test(test_a_transfer_hands_sessions_over),
        cmocka_unit_test(test_members_in_flight_count_against_the_budget),
        cmocka_unit_test(test_what_needs_the_catalogue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
