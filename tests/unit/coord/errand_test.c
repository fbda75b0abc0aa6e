/* What decisions want done outside: jobs beside the loop, topics. Decisions of streams groups are scripted here (--wrap), so that the coordinator's half is
 * tested alone; everything else is decided by the real library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

enum { REST = 500 * MS };

/* ---- the script ---- */

struct group_job {
    enum group_job_kind kind;
    char group[16];
    bool freed;
};

static struct {
    bool assign, resolve, wait, writes; /* of the next heartbeats */
    const char *create;
    bool nothing_due;         /* group_job_new has nothing to do */
    bool done_writes;         /* a job's result is recorded */
    int jobs, freed;          /* made and freed */
    int heartbeats, done;     /* decided */
    struct group_job *result; /* of the newest GROUP_JOB_DONE */
    int told;                 /* GROUP_TOPICS_CREATED */
    char failure[64];
    int64_t reserved_members; /* as the newest heartbeat saw it */
    int again;                /* heartbeats decided again after a creation; then they have their answer */
} script;

static struct group_job made[64];

struct group_job *__wrap_group_job_new(const struct group_set *set, const struct group_op *op, enum group_job_kind kind);
void __wrap_group_job_free(struct group_job *job);
enum group_job_kind __wrap_group_job_kind(const struct group_job *job);
void __real_group_decide(const struct group_set *set, const struct group_op *op, struct arena *arena, struct group_out *ret);
void __wrap_group_decide(const struct group_set *set, const struct group_op *op, struct arena *arena, struct group_out *ret);

struct group_job *__wrap_group_job_new(const struct group_set *set, const struct group_op *op, enum group_job_kind kind)
{
    assert_non_null(set);
    assert_non_null(op->topics);
    assert_non_null(op->catalog);
    assert_non_null(op->settings);
    assert_true(op->wall_ms > 0);
    if (script.nothing_due)
        return NULL;
    struct group_job *job = &made[script.jobs++];
    *job = (struct group_job){.kind = kind};
    snprintf(job->group, sizeof(job->group), "%.*s", STR_ARG(op->group_id));
    return job;
}

void __wrap_group_job_free(struct group_job *job)
{
    assert_false(job->freed);
    job->freed = true;
    script.freed++;
}

enum group_job_kind __wrap_group_job_kind(const struct group_job *job)
{
    assert_false(job->freed);
    return job->kind;
}

static void write_something(const struct group_op *op, struct arena *arena, struct group_out *ret)
{
    struct offset_commit_key key = {.group = op->group_id, .topic = STR("t"), .partition = 0};
    struct offset_commit_value value;
    memset(&value, 0, sizeof(value));
    value.metadata = STR("");
    ret->records.v = ARENA_NEW(arena, struct record, 1);
    ret->records.v[0] = wire_record_encode(1, &key, 3, &value, arena);
    ret->records.len = 1;
    ret->records.bytes = (size_t)ret->records.v[0].key.len + (size_t)ret->records.v[0].value.len;
}

static const struct create_topics_request *topics_to_make(const char *name, struct arena *arena)
{
    struct create_topics_request *m = ARENA_NEW(arena, struct create_topics_request, 1);
    wire_init(&wire_create_topics_request, m);
    m->topics.v = ARENA_NEW(arena, struct create_topics_request_creatable_topic, 1);
    m->topics.len = 1;
    m->topics.v[0].name = arena_str(arena, str_of(name));
    return m;
}

static void decide_heartbeat(const struct group_op *op, struct arena *arena, struct group_out *ret)
{
    struct streams_group_heartbeat_response *answer = ARENA_NEW(arena, struct streams_group_heartbeat_response, 1);
    script.heartbeats++;
    script.reserved_members = op->settings->reserved_members;
    wire_init(&wire_streams_group_heartbeat_response, answer);
    ret->assign = script.assign;
    ret->resolve = script.resolve;
    if (op->created != NULL) {
        snprintf(script.failure, sizeof(script.failure), "%.*s", STR_ARG(op->created->failure));
        answer->error_code = str_is_null(op->created->failure) ? 0 : 42;
        script.again++;
    } else if (script.create != NULL) {
        ret->create = topics_to_make(script.create, arena);
    }
    if (ret->create != NULL && script.wait) {
        ret->verdict = GROUP_WAIT;
        return;
    }
    if (script.writes)
        write_something(op, arena, ret);
    ret->verdict = GROUP_ANSWER;
    ret->answer = answer;
}

void __wrap_group_decide(const struct group_set *set, const struct group_op *op, struct arena *arena, struct group_out *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->verdict = GROUP_SILENT;
    ret->reason = STR_NULL;
    ret->rule = "script";
    switch (op->kind) {
    case GROUP_STREAMS_HEARTBEAT:
        decide_heartbeat(op, arena, ret);
        break;
    case GROUP_JOB_DONE:
        assert_false(op->job->freed);
        assert_string_equal(op->job->group, arena_printf(arena, "%.*s", STR_ARG(op->group_id)).ptr);
        script.done++;
        script.result = (struct group_job *)(uintptr_t)op->job;
        if (script.done_writes)
            write_something(op, arena, ret);
        break;
    case GROUP_TOPICS_CREATED:
        script.told++;
        snprintf(script.failure, sizeof(script.failure), "%.*s", STR_ARG(op->created->failure));
        break;
    default:
        __real_group_decide(set, op, arena, ret);
    }
}

/* ---- requests ---- */

static struct call *ask(struct world *w, const char *group, int32_t member_epoch)
{
    struct call *c = call_new(GROUP_STREAMS_HEARTBEAT, 88, 1, group);
    struct streams_group_heartbeat_request *m = ARENA_NEW(&c->arena, struct streams_group_heartbeat_request, 1);
    wire_init(&wire_streams_group_heartbeat_request, m);
    m->group_id = str_of(group);
    m->member_epoch = member_epoch;
    c->request.op.request = m;
    coord_submit(w->coord, &c->request);
    return c;
}

static struct coord_stats stats_of(const struct world *w)
{
    struct coord_stats stats;
    coord_stats(w->coord, &stats);
    return stats;
}

static struct world *start(void)
{
    memset(&script, 0, sizeof(script));
    memset(made, 0, sizeof(made));
    return serving_world(1);
}

/* A heartbeat that wishes for what the script says, answered. */
static void wish(struct world *w, const char *group)
{
    struct call *c = ask(w, group, 1);
    settle(w);
    call_free(c);
    turn_begin(w, 1);
}

static void finish(struct world *w)
{
    assert_int_equal(stats_of(w).parked, 0);
    assert_int_equal(stats_of(w).jobs_running, 0);
    assert_int_equal(script.freed, script.jobs);
    world_free(w);
}

/* ---- jobs ---- */

static void test_a_job_starts_when_its_records_are_applied(void **state)
{
    (void)state;
    struct world *w = start();
    script.assign = script.writes = true;
    struct call *c = ask(w, "g", 1);
    turn_end(w);
    turn_begin(w, 1);
    turn_end(w);
    assert_int_equal(w->job_count, 0);
    fake_commit(w->replica);
    assert_int_equal(coord_next_deadline_us(w->coord), 0);
    turn_begin(w, 1);
    turn_end(w);
    assert_int_equal(w->job_count, 1);
    assert_int_equal(w->jobs[0]->kind, GROUP_JOB_ASSIGN);
    assert_string_equal(w->jobs[0]->group, "g");
    call_free(c);
    coord_job_done(w->coord, w->jobs[0]);
    finish(w);
}

static void test_one_job_of_a_kind_runs_for_a_group(void **state)
{
    (void)state;
    struct world *w = start();
    script.assign = true;
    wish(w, "g");
    assert_int_equal(w->job_count, 1);
    wish(w, "g");
    wish(w, "g");
    assert_int_equal(w->job_count, 1);
    script.resolve = true;
    script.assign = false;
    wish(w, "g");
    assert_int_equal(w->job_count, 2);
    assert_int_equal(w->jobs[1]->kind, GROUP_JOB_RESOLVE);
    coord_job_done(w->coord, w->jobs[0]); /* what was wished for meanwhile */
    settle(w);
    assert_int_equal(w->job_count, 3);
    assert_int_equal(w->jobs[2]->kind, GROUP_JOB_ASSIGN);
    coord_job_done(w->coord, w->jobs[1]);
    coord_job_done(w->coord, w->jobs[2]);
    settle(w);
    assert_int_equal(w->job_count, 3);
    assert_int_equal(script.done, 3);
    finish(w);
}

static void test_a_result_is_freed_when_its_records_are_applied(void **state)
{
    (void)state;
    struct world *w = start();
    script.assign = script.done_writes = true;
    wish(w, "g");
    coord_job_done(w->coord, w->jobs[0]);
    turn_end(w);
    assert_int_equal(script.done, 1);
    assert_ptr_equal(script.result, w->jobs[0]);
    assert_int_equal(script.freed, 0);
    wish(w, "g"); /* while it is being decided: after it */
    assert_int_equal(script.freed, 1);
    assert_int_equal(w->job_count, 2);
    coord_job_done(w->coord, w->jobs[1]);
    settle(w);
    finish(w);
}

static void test_nothing_due_is_no_job(void **state)
{
    (void)state;
    struct world *w = start();
    script.assign = script.nothing_due = true;
    wish(w, "g");
    assert_int_equal(w->job_count, 0);
    script.nothing_due = false;
    wish(w, "g");
    assert_int_equal(w->job_count, 1);
    coord_job_done(w->coord, w->jobs[0]);
    finish(w);
}

static void test_jobs_wait_their_turn(void **state)
{
    (void)state;
    struct world *w = start();
    const char *const groups[] = {"a", "b", "c", "d"};
    script.assign = true;
    for (int i = 0; i < 4; i++)
        wish(w, groups[i]);
    assert_int_equal(w->job_count, MAX_JOBS);
    assert_int_equal(stats_of(w).jobs_queued, 2);
    assert_int_equal(stats_of(w).jobs_running, MAX_JOBS);
    for (int i = 0; i < 4; i++) {
        coord_job_done(w->coord, w->jobs[i]);
        settle(w);
        turn_begin(w, 1);
    }
    assert_int_equal(w->job_count, 4);
    assert_string_equal(w->jobs[3]->group, "d");
    assert_int_equal(stats_of(w).jobs, 4);
    finish(w);
}

static void test_office_lost_drops_results(void **state)
{
    (void)state;
    struct world *w = start();
    script.assign = true;
    wish(w, "g");
    lose_and_regain(w);
    wish(w, "g"); /* the new office has its own, and the old result is nobody's */
    assert_int_equal(w->job_count, 2);
    coord_job_done(w->coord, w->jobs[0]);
    settle(w);
    assert_int_equal(script.done, 0);
    assert_int_equal(script.freed, 1);
    coord_job_done(w->coord, w->jobs[1]);
    settle(w);
    assert_int_equal(script.done, 1);
    assert_ptr_equal(script.result, w->jobs[1]);
    assert_int_equal(stats_of(w).jobs_dropped, 1);
    finish(w);
}

static void test_office_lost_while_a_result_is_stored(void **state)
{
    (void)state;
    struct world *w = start();
    script.assign = script.done_writes = true;
    wish(w, "g");
    coord_job_done(w->coord, w->jobs[0]);
    turn_end(w);
    turn_begin(w, 1);
    assert_int_equal(script.freed, 0);
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 3, 2);
    assert_int_equal(script.freed, 1);
    finish(w);
}

static void test_jobs_that_wait_end_with_the_office(void **state)
{
    (void)state;
    struct world *w = start();
    script.assign = true;
    wish(w, "a");
    wish(w, "b");
    wish(w, "c");
    lose_and_regain(w);
    coord_job_done(w->coord, w->jobs[0]);
    coord_job_done(w->coord, w->jobs[1]);
    settle(w);
    assert_int_equal(w->job_count, 2);
    finish(w);
}

static void test_a_result_the_disks_refuse_is_worked_out_again(void **state)
{
    (void)state;
    struct world *w = start();
    script.assign = script.done_writes = true;
    wish(w, "g");
    script.assign = false;
    fake_refuse(w->replica, MUSTER_E_BUSY);
    coord_job_done(w->coord, w->jobs[0]);
    settle(w);
    fake_refuse(w->replica, 0);
    assert_int_equal(script.freed, 1);
    assert_int_equal(w->job_count, 1);
    assert_true(coord_next_deadline_us(w->coord) <= w->now_us + REST);
    turn_begin(w, REST);
    settle(w);
    assert_int_equal(w->job_count, 2);
    coord_job_done(w->coord, w->jobs[1]);
    settle(w);
    finish(w);
}

/* The owner keeps a job that it has when coord goes, and frees it. */
static void test_coord_ends_before_its_jobs(void **state)
{
    (void)state;
    struct world *w = start();
    script.assign = true;
    wish(w, "g");
    struct group_job *job = w->jobs[0];
    world_free(w);
    assert_false(job->freed);
}

/* ---- topics ---- */

static void created(struct world *w, int which, struct str failure)
{
    coord_topics_created(w->coord, w->creations[which].token, failure);
    settle(w);
    turn_begin(w, 1);
}

static void test_a_heartbeat_does_not_wait_for_topics(void **state)
{
    (void)state;
    struct world *w = start();
    script.create = "made";
    wish(w, "g");
    assert_int_equal(w->creation_count, 1);
    assert_string_equal(w->creations[0].name, "made");
    wish(w, "g");
    assert_int_equal(w->creation_count, 1);
    created(w, 0, STR_NULL);
    assert_int_equal(script.told, 0); /* the catalogue says it */
    finish(w);
}

static void test_a_failure_is_told_and_rests(void **state)
{
    (void)state;
    struct world *w = start();
    script.create = "made";
    wish(w, "g");
    int64_t failed_us = w->now_us;
    created(w, 0, STR("made (no)"));
    assert_int_equal(script.told, 1);
    assert_string_equal(script.failure, "made (no)");
    wish(w, "g");
    assert_int_equal(w->creation_count, 1);
    turn_begin(w, failed_us + REST - w->now_us);
    settle(w);
    turn_begin(w, 1);
    wish(w, "g");
    assert_int_equal(w->creation_count, 2);
    assert_int_equal(stats_of(w).creations_failed, 1);
    created(w, 1, STR_NULL);
    finish(w);
}

static void test_a_request_waits_for_topics(void **state)
{
    (void)state;
    struct world *w = start();
    script.create = "made";
    script.wait = true;
    struct call *c = ask(w, "g", 1);
    settle(w);
    turn_begin(w, 1);
    assert_int_equal(c->done, 0);
    assert_int_equal(stats_of(w).parked, 1);
    assert_int_equal(w->creation_count, 1);
    created(w, 0, STR_NULL);
    assert_int_equal(script.again, 1);
    assert_string_equal(script.failure, "");
    assert_int_equal(c->error, 0);
    call_free(c);
    c = ask(w, "g", 1); /* not at once again: it waits until that may be */
    settle(w);
    turn_begin(w, REST);
    settle(w);
    turn_begin(w, 1);
    assert_int_equal(w->creation_count, 2);
    created(w, 1, STR("made (no)"));
    assert_int_equal(script.again, 2);
    assert_string_equal(script.failure, "made (no)");
    assert_int_equal(script.told, 0);
    call_free(c);
    finish(w);
}

/* Those that found a creation under way are decided from the beginning, for it may not have been theirs. */
static void test_others_wait_for_the_creation_under_way(void **state)
{
    (void)state;
    struct world *w = start();
    script.create = "made";
    script.wait = true;
    struct call *first = ask(w, "g", 1), *second = ask(w, "g", 1);
    settle(w);
    turn_begin(w, 1);
    assert_int_equal(w->creation_count, 1);
    script.create = NULL;
    created(w, 0, STR("made (no)"));
    assert_int_equal(first->done, 1);
    assert_int_equal(second->done, 0);
    turn_begin(w, REST);
    settle(w);
    assert_int_equal(script.again, 1);
    assert_int_equal(second->done, 1);
    call_free(first);
    call_free(second);
    finish(w);
}

static void test_a_request_waits_no_longer_than_its_patience(void **state)
{
    (void)state;
    struct world *w = start();
    script.create = "made";
    script.wait = true;
    struct call *c = ask(w, "g", 1);
    settle(w);
    for (int i = 0; i < 49; i++) {
        turn_begin(w, 100 * MS);
        turn_end(w);
    }
    assert_int_equal(c->done, 0);
    assert_true(coord_next_deadline_us(w->coord) <= w->now_us + 100 * MS);
    turn_begin(w, 200 * MS);
    turn_end(w);
    assert_int_equal(c->done, 1);
    assert_int_equal(c->error, 15);
    call_free(c);
    turn_begin(w, 1);
    created(w, 0, STR_NULL); /* too late for it */
    finish(w);
}

static void test_a_request_that_waits_can_be_cancelled(void **state)
{
    (void)state;
    struct world *w = start();
    script.create = "made";
    script.wait = true;
    struct call *c = ask(w, "g", 1);
    settle(w);
    coord_cancel(w->coord, &c->request);
    assert_int_equal(c->done, 1);
    assert_null(c->answer);
    call_free(c);
    created(w, 0, STR_NULL);
    finish(w);
}

static void test_office_lost_refuses_those_that_wait(void **state)
{
    (void)state;
    struct world *w = start();
    script.create = "made";
    script.wait = true;
    struct call *c = ask(w, "g", 1);
    settle(w);
    turn_begin(w, 1);
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 3, 2);
    assert_int_equal(c->done, 1);
    assert_int_equal(c->error, 16);
    call_free(c);
    created(w, 0, STR_NULL);
    assert_int_equal(script.again, 0);
    finish(w);
}

static void test_creations_wait_their_turn(void **state)
{
    (void)state;
    struct world *w = start();
    const char *const groups[] = {"a", "b", "c"};
    for (int i = 0; i < 3; i++) {
        script.create = groups[i];
        wish(w, groups[i]);
    }
    assert_int_equal(w->creation_count, MAX_CREATIONS);
    assert_int_equal(stats_of(w).creations_running, MAX_CREATIONS);
    created(w, 1, STR_NULL);
    assert_int_equal(w->creation_count, 3);
    assert_string_equal(w->creations[2].name, "c");
    created(w, 0, STR_NULL);
    created(w, 2, STR_NULL);
    assert_int_equal(stats_of(w).creations_running, 0);
    finish(w);
}

/* ---- what streams groups need besides ---- */

static void test_requests_wait_for_the_catalogue(void **state)
{
    (void)state;
    memset(&script, 0, sizeof(script));
    struct world *w = world_new(2, false);
    struct call *c = NULL;
    char group[8] = "a";
    while (coord_shard_of(w->coord, str_of(group)) != 1)
        group[0]++;
    fake_serve(w->replica, 1, 2);
    c = ask(w, group, 0);
    settle(w);
    assert_int_equal(c->done, 0); /* nobody says how far the catalogue has come */
    assert_int_equal(script.heartbeats, 0);
    turn_begin(w, 100 * MS);
    fake_serve(w->replica, 0, 2);
    settle(w);
    assert_int_equal(c->done, 1);
    call_free(c);
    finish(w);
}

static void test_members_in_flight_are_reserved(void **state)
{
    (void)state;
    struct world *w = start();
    script.writes = true;
    struct call *joins = ask(w, "a", 0), *goes_on = ask(w, "b", 7);
    turn_end(w);
    turn_begin(w, 1);
    struct call *next = ask(w, "c", 0);
    assert_int_equal(script.reserved_members, 1);
    settle(w);
    turn_begin(w, 1);
    struct call *last = ask(w, "d", 1);
    assert_int_equal(script.reserved_members, 0);
    settle(w);
    call_free(joins);
    call_free(goes_on);
    call_free(next);
    call_free(last);
    finish(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_job_starts_when_its_records_are_applied),
        cmocka_unit_test(test_one_job_of_a_kind_runs_for_a_group),
        cmocka_unit_test(test_a_result_is_freed_when_its_records_are_applied),
        cmocka_unit_test(test_nothing_due_is_no_job),
        cmocka_unit_test(test_jobs_wait_their_turn),
        cmocka_unit_test(test_office_lost_drops_results),
        cmocka_unit_test(test_office_lost_while_a_result_is_stored),
        cmocka_unit_test(test_jobs_that_wait_end_with_the_office),
        cmocka_unit_test(test_a_result_the_disks_refuse_is_worked_out_again),
        cmocka_unit_test(test_coord_ends_before_its_jobs),
        cmocka_unit_test(test_a_heartbeat_does_not_wait_for_topics),
        cmocka_unit_test(test_a_failure_is_told_and_rests),
        cmocka_unit_test(test_a_request_waits_for_topics),
        cmocka_unit_test(test_others_wait_for_the_creation_under_way),
        cmocka_unit_test(test_a_request_waits_no_longer_than_its_patience),
        cmocka_unit_test(test_a_request_that_waits_can_be_cancelled),
        cmocka_unit_test(test_office_lost_refuses_those_that_wait),
        cmocka_unit_test(test_creations_wait_their_turn),
        cmocka_unit_test(test_requests_wait_for_the_catalogue),
        cmocka_unit_test(test_members_in_flight_are_reserved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
