/* coord on a replica that commits and confirms when told to: when may an answer leave, who waits for whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "world.h"

/* ---- when an answer may leave ---- */

static void test_a_commit_is_answered_when_applied(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct call *c = commit(w, "g", 5);
    turn_end(w);
    assert_int_equal(fake_proposed(w->replica), 1);
    fake_confirm(w->replica);
    assert_int_equal(c->done, 0);
    fake_commit(w->replica);
    assert_int_equal(c->done, 1);
    assert_int_equal(commit_error(c), 0);
    call_free(c);
    world_free(w);
}

static void test_a_read_is_answered_when_confirmed(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct call *c = fetch(w, "g");
    turn_end(w);
    assert_int_equal(fake_proposed(w->replica), 0);
    assert_int_equal(c->done, 0);
    fake_confirm(w->replica);
    assert_int_equal(c->done, 1);
    assert_int_equal(fetched(c), -1);
    call_free(c);
    world_free(w);
}

static void test_all_commits_of_a_turn_are_one_entry(void **state)
{
    (void)state;
    enum { COUNT = 20 };
    struct world *w = serving_world(1);
    struct call *calls[COUNT];
    for (int i = 0; i < COUNT; i++)
        calls[i] = commit(w, i % 2 ? "g" : "h", i);
    turn_end(w);
    assert_int_equal(fake_proposed(w->replica), 1);
    fake_commit(w->replica);
    for (int i = 0; i < COUNT; i++)
        call_free(calls[i]);
    world_free(w);
}

static void test_a_fetch_sees_the_commit_before_it(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct call *c = commit(w, "g", 41), *f = fetch(w, "g");
    turn_end(w);
    fake_confirm(w->replica);
    assert_int_equal(f->done, 0);
    settle(w);
    assert_int_equal(fetched(f), 41);
    call_free(c);
    call_free(f);
    world_free(w);
}

static void test_an_entry_is_filled_to_half_the_limit(void **state)
{
    (void)state;
    enum { COUNT = 20 };
    struct world *w = serving_world(1);
    struct call *calls[COUNT];
    char metadata[4000];
    memset(metadata, 'x', sizeof(metadata));
    for (int i = 0; i < COUNT; i++)
        calls[i] = commit_with(w, i % 2 ? "g" : "h", i, (struct str){metadata, sizeof(metadata)});
    turn_end(w);
    assert_in_range(fake_proposed(w->replica), 2, 6);
    fake_commit(w->replica);
    for (int i = 0; i < COUNT; i++)
        call_free(calls[i]);
    world_free(w);
}

/* ---- the gate ---- */

static void test_joins_of_a_turn_are_decided_together(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct call *a = join(w, "g", "", 0), *b = join(w, "g", "", 0);
    turn_end(w);
    assert_int_equal(fake_proposed(w->replica), 1);
    fake_commit(w->replica);
    settle(w);
    /* Without an initial delay the first join of an unknown group is served at once, the second one makes the next generation. */
    assert_int_equal(a->done, 1);
    const struct join_group_response *first = a->answer;
    assert_int_equal(first->error_code, 0);
    struct call *again = join(w, "g", "no-such-member", 0);
    settle(w);
    assert_int_equal(((const struct join_group_response *)again->answer)->error_code, 25);
    if (b->done == 0) {
        struct call *rejoin = join(w, "g", arena_printf(&a->arena, "%.*s", STR_ARG(first->member_id)).ptr, 0);
        settle(w);
        assert_int_equal(rejoin->done, 1);
        call_free(rejoin);
    }
    assert_int_equal(((const struct join_group_response *)b->answer)->error_code, 0);
    call_free(a);
    call_free(b);
    call_free(again);
    world_free(w);
}

static void test_a_commit_waits_for_a_membership_change(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct call *j = join(w, "g", "", 0);
    turn_end(w);
    turn_begin(w, 1);
    struct call *c = commit(w, "g", 1);
    struct call *other = commit(w, "other", 1);
    turn_end(w);
    assert_int_equal(fake_proposed(w->replica), 2); /* the join's entry and the other group's commit */
    settle(w);
    assert_int_equal(c->done, 1);
    assert_int_equal(commit_error(c), 25); /* decided after the join: the group has a member now */
    call_free(j);
    call_free(c);
    call_free(other);
    world_free(w);
}

/* Fence and new offset are one decision: what a member sends while it is not applied yet waits, and is then refused. */
static void test_a_commit_waits_for_an_alteration(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct str member;
    struct call *joined = stable_member(w, "g", &member);
    turn_begin(w, 0);
    struct call *before = commit_as(w, "g", member, 1);
    struct call *alteration = call_new(GROUP_ALTER_OFFSETS, API_KEY_ALTER_GROUP_OFFSETS, 0, "g");
    struct alter_group_offsets_request request;
    struct alter_group_offsets_request_partition partition = {.offset = 7, .most = INT64_MAX, .leader_epoch = -1, .metadata = STR_NULL};
    struct alter_group_offsets_request_topic topic = {.name = STR("t"), .partitions = {&partition, 1}};
    wire_init(&wire_alter_group_offsets_request, &request);
    request.fence = true;
    request.topics.v = &topic;
    request.topics.len = 1;
    alteration->request.op.request = &request;
    coord_submit(w->coord, &alteration->request);
    struct call *after = commit_as(w, "g", member, 1);
    struct call *beat = heartbeat(w, "g", member, 1);
    turn_end(w);
    assert_int_equal(before->done + alteration->done + after->done + beat->done, 0);
    settle(w);
    assert_int_equal(commit_error(before), 0);
    assert_int_equal(alteration->error, 0);
    const struct alter_group_offsets_response *answer = alteration->answer;
    assert_int_equal(answer->fenced, 1);
    assert_int_equal(answer->topics.v[0].partitions.v[0].before, 1);
    assert_int_equal(commit_error(after), 25);
    assert_int_equal(beat->error, 25);
    struct call *read = fetch(w, "g");
    settle(w);
    assert_int_equal(fetched(read), 7);
    struct call *all[] = {joined, before, alteration, after, beat, read};
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        call_free(all[i]);
    }
    world_free(w);
}

static void test_heartbeats_pass_beside_commits(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct str member;
    struct call *j = stable_member(w, "g", &member);
    struct call *c = commit(w, "h", 1), *hb = heartbeat(w, "g", member, 1);
    turn_end(w);
    fake_confirm(w->replica);
    assert_int_equal(hb->done, 1);
    assert_int_equal(((const struct heartbeat_response *)hb->answer)->error_code, 0);
    assert_int_equal(c->done, 0);
    settle(w);
    call_free(j);
    call_free(c);
    call_free(hb);
    world_free(w);
}

/* ---- more than one shard ---- */

static void test_topics_are_asked_for_before_they_are_relied_on(void **state)
{
    (void)state;
    struct world *w = world_new(4, false);
    char group[] = "a";
    while (coord_shard_of(w->coord, str_of(group)) == 0)
        group[0]++;
    uint32_t shard = coord_shard_of(w->coord, str_of(group));
    fake_serve(w->replica, shard, 2);
    struct call *c = commit(w, group, 1);
    settle(w);
    assert_int_equal(c->done, 0); /* nobody can say how far the catalogue has come */
    turn_begin(w, SECOND);
    fake_serve(w->replica, 0, 2);
    settle(w);
    assert_int_equal(c->done, 1);
    assert_int_equal(commit_error(c), 3); /* and then the topic is known not to exist */
    call_free(c);
    world_free(w);
}

/* Where two nodes do not see each other, a third one that sees both does better: a leader that cannot reach shard 0 hands over, when somebody waits. */
static void test_who_cannot_reach_the_catalogue_hands_over(void **state)
{
    (void)state;
    struct world *w = world_new(4, false);
    char group[] = "a";
    uint32_t which;
    while (coord_shard_of(w->coord, str_of(group)) == 0)
        group[0]++;
    uint32_t shard = coord_shard_of(w->coord, str_of(group));
    fake_serve(w->replica, shard, 2);
    settle(w);
    turn_begin(w, SECOND);
    turn_end(w);
    assert_int_equal(fake_transfers(w->replica, &which), 0); /* nobody waits */
    fake_role(w->replica, shard, REPLICA_FOLLOWER, 3, 2);
    fake_serve(w->replica, shard, 4);
    struct call *c = commit(w, group, 1);
    turn_begin(w, 500 * MS);
    turn_end(w);
    assert_int_equal(fake_transfers(w->replica, &which), 0);
    turn_begin(w, 101 * MS);
    turn_end(w);
    assert_int_equal(fake_transfers(w->replica, &which), 1);
    assert_int_equal(which, shard);
    turn_begin(w, 3 * SECOND);
    turn_end(w);
    assert_int_equal(fake_transfers(w->replica, &which), 1); /* nobody would take it: not at once again */
    turn_begin(w, SECOND);
    fake_serve(w->replica, 0, 2);
    settle(w);
    assert_int_equal(commit_error(c), 3);
    call_free(c);
    world_free(w);
}

/* A node that leads a shard may be behind with the catalogue, and gets it as a snapshot, bit by bit. */
static void test_half_a_catalogue_is_none(void **state)
{
    (void)state;
    struct world *w = serving_world(4);
    char group[] = "a";
    while (coord_shard_of(w->coord, str_of(group)) == 0)
        group[0]++;
    struct buf run;
    struct call *c = commit(w, group, 1);
    settle(w);
    assert_int_equal(commit_error(c), 0);
    call_free(c);
    uint64_t hash = group_set_hash(coord_set(w->coord, 0));
    buf_init(&run, 0);
    group_snapshot_begin((struct group_set *)(uintptr_t)coord_set(w->coord, 0));
    while (group_snapshot_next((struct group_set *)(uintptr_t)coord_set(w->coord, 0), 1000, &run)) {
    }
    group_snapshot_end((struct group_set *)(uintptr_t)coord_set(w->coord, 0));
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 3, 2);
    struct replica_events *events = fake_events(w->replica);
    events->restore_begin(events->ctx, 0, 100, 3);
    turn_begin(w, 1);
    c = commit(w, group, 2);
    settle(w);
    assert_int_equal(c->done, 0); /* its topic is not there, for now */
    turn_begin(w, 1);
    assert_int_equal(events->restore_data(events->ctx, 0, (struct bytes){run.ptr, (int32_t)run.len}), 0);
    assert_int_equal(events->restored(events->ctx, 0, 100, hash), 0);
    settle(w);
    assert_int_equal(commit_error(c), 0);
    call_free(c);
    buf_fini(&run);
    world_free(w);
}

static void test_a_parked_join_can_be_cancelled(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    struct str member;
    struct call *j = stable_member(w, "g", &member);
    struct call *second = join(w, "g", "", 0);
    settle(w);
    assert_int_equal(second->done, 0);
    coord_cancel(w->coord, &second->request);
    assert_int_equal(second->done, 1);
    assert_null(second->answer);
    call_free(second);
    call_free(j);
    world_free(w);
}

static void test_sockets_are_closed_where_configured(void **state)
{
    (void)state;
    struct world *w = world_new(1, true);
    fake_serve(w->replica, 0, 2);
    struct str member;
    struct call *j = stable_member(w, "g", &member);
    struct call *hb = heartbeat(w, "g", member, 1);
    settle(w);
    call_free(hb);
    turn_begin(w, 1);
    struct call *second = join(w, "g", "", 11);
    settle(w);
    assert_int_equal(w->closed_connection, 9);
    coord_cancel(w->coord, &second->request);
    call_free(second);
    call_free(j);
    world_free(w);
}

/* One commit of many partitions, from first on. */
static struct call *commit_many(struct world *w, const char *group, int32_t first, int32_t count)
{
    struct call *c = call_new(GROUP_OFFSET_COMMIT, 8, 8, group);
    struct offset_commit_request *m = ARENA_NEW(&c->arena, struct offset_commit_request, 1);
    wire_init(&wire_offset_commit_request, m);
    m->group_id = str_of(group);
    m->topics.v = ARENA_NEW(&c->arena, struct offset_commit_request_topic, 1);
    m->topics.len = 1;
    m->topics.v[0].name = STR("many");
    m->topics.v[0].partitions.v = ARENA_NEW(&c->arena, struct offset_commit_request_partition, count);
    m->topics.v[0].partitions.len = count;
    for (int32_t i = 0; i < count; i++)
        m->topics.v[0].partitions.v[i] = (struct offset_commit_request_partition){first + i, 1, -1, STR("")};
    c->request.op.request = m;
    coord_submit(w->coord, &c->request);
    return c;
}

/* A group whose deletion is too long for one entry: it is answered once, when all of it is gone. */
static void test_deletion_in_slices(void **state)
{
    (void)state;
    const char *group = "a-group-whose-name-makes-its-records-long";
    struct world *w = serving_world(1);
    struct call *topic = create_topic(w, "many", 1000);
    settle(w);
    for (int32_t first = 0; first < 1000; first += 200) {
        turn_begin(w, 1);
        struct call *c = commit_many(w, group, first, 200);
        settle(w);
        assert_int_equal(commit_error(c), 0);
        call_free(c);
    }
    turn_begin(w, 1);
    struct call *gone = call_new(GROUP_DELETE, 42, 2, group);
    coord_submit(w->coord, &gone->request);
    turn_end(w);
    assert_int_equal(fake_commit(w->replica), 1);
    assert_int_equal(gone->done, 0);
    struct group_set_counts counts;
    group_set_counts(coord_set(w->coord, 0), &counts);
    assert_in_range(counts.offsets, 1, 999);
    turn_begin(w, 1);
    settle(w);
    assert_int_equal(gone->done, 1);
    assert_int_equal(gone->error, 0);
    struct group_listing listing;
    assert_false(group_listing(coord_set(w->coord, 0), str_of(group), &listing));
    call_free(gone);
    call_free(topic);
    world_free(w);
}

/* Budgets are altered for the whole cluster and hold from the moment the change is applied. */
static void test_altered_budgets_hold(void **state)
{
    (void)state;
    struct world *w = serving_world(2);
    alter_budget(w, "muster.max.groups", "2");
    int refused = 0;
    static const char *const groups[] = {"a", "b", "c", "d", "e", "f"};
    for (size_t i = 0; i < 6; i++) {
        turn_begin(w, 1);
        struct call *c = commit(w, groups[i], 1);
        settle(w);
        refused += commit_error(c) == 15 ? 1 : 0;
        call_free(c);
    }
    assert_in_range(refused, 4, 5); /* a shard has its share: one group each */
    world_free(w);
}

/* Groups that decisions in flight will make count, each once; when nothing comes of them, they no longer do. */
static void test_groups_in_flight_count_against_the_budget(void **state)
{
    (void)state;
    struct world *w = serving_world(1);
    alter_budget(w, "muster.max.groups", "2");
    struct call *first = commit(w, "a", 1), *second = join(w, "b", "", 0), *third = commit(w, "c", 1), *again = commit(w, "a", 2);
    assert_int_equal(third->done, 0); /* a refusal waits for its confirmation as any read does */
    turn_end(w);
    turn_begin(w, 1);
    struct call *in_flight = commit(w, "d", 1), *beside = commit(w, "a", 3);
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 3, 2);
    assert_int_equal(commit_error(first), 16);
    fake_serve(w->replica, 0, 4);
    call_free(first);
    call_free(second);
    call_free(third);
    call_free(again);
    call_free(in_flight);
    call_free(beside);
    turn_begin(w, 1);
    first = commit(w, "a", 1), second = commit(w, "b", 1), third = commit(w, "c", 1), again = commit(w, "a", 2);
    settle(w);
    assert_int_equal(commit_error(first), 0);
    assert_int_equal(commit_error(second), 0);
    assert_int_equal(commit_error(third), 15);
    assert_int_equal(commit_error(again), 0);
    call_free(first);
    call_free(second);
    call_free(third);
    call_free(again);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_commit_is_answered_when_applied),
        cmocka_unit_test(test_a_read_is_answered_when_confirmed),
        cmocka_unit_test(test_all_commits_of_a_turn_are_one_entry),
        cmocka_unit_test(test_a_fetch_sees_the_commit_before_it),
        cmocka_unit_test(test_an_entry_is_filled_to_half_the_limit),
        cmocka_unit_test(test_joins_of_a_turn_are_decided_together),
        cmocka_unit_test(test_a_commit_waits_for_a_membership_change),
        cmocka_unit_test(test_a_commit_waits_for_an_alteration),
        cmocka_unit_test(test_heartbeats_pass_beside_commits),
        cmocka_unit_test(test_topics_are_asked_for_before_they_are_relied_on),
        cmocka_unit_test(test_who_cannot_reach_the_catalogue_hands_over),
        cmocka_unit_test(test_half_a_catalogue_is_none),
        cmocka_unit_test(test_a_parked_join_can_be_cancelled),
        cmocka_unit_test(test_sockets_are_closed_where_configured),
        cmocka_unit_test(test_deletion_in_slices),
        cmocka_unit_test(test_altered_budgets_hold),
        cmocka_unit_test(test_groups_in_flight_count_against_the_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
