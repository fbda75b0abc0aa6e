/* coord on a replica that commits and confirms when told to: when may an answer leave, who waits for whom. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <muster/coord.h>

#include "fake_replica.h"

enum { MS = 1000, SECOND = 1000 * 1000 };

struct world {
    struct replica *replica;
    struct coord *coord;
    int64_t now_us;
    uint8_t next_id;
    int fatal;
    uint64_t closed_connection;
};

struct call {
    struct coord_request request;
    struct arena arena;
    int done;
    int16_t error;
    const void *answer;
};

static void draw_id(void *ctx, struct uuid *ret)
{
    struct world *w = ctx;
    memset(ret->b, ++w->next_id, sizeof(ret->b));
}

static int64_t wall_ms(void *ctx)
{
    const struct world *w = ctx;
    return w->now_us / 1000;
}

static void close_connection(void *ctx, uint64_t connection)
{
    struct world *w = ctx;
    w->closed_connection = connection;
}

static void fatal(void *ctx, const char *text)
{
    struct world *w = ctx;
    (void)text;
    w->fatal++;
}

static struct world *world_new(uint32_t shards, bool close_on_rebalance)
{
    struct world *w = calloc(1, sizeof(*w));
    struct coord_options options = {
        .settings = {.min_session_timeout_ms = 1000,
                     .max_session_timeout_ms = 600000,
                     .new_member_join_timeout_ms = 300000,
                     .group_max_size = 1000,
                     .offset_metadata_max_bytes = 4096,
                     .offsets_retention_ms = 604800000,
                     .default_partitions = 1,
                     .default_replication_factor = 1,
                     .max_partitions_per_topic = 1000,
                     .max_topics = 1000,
                     .node_count = 3,
                     .max_groups = 1000,
                     .max_members = 10000,
                     .max_state_bytes = 1 << 30},
        .shard_count = shards,
        .entry_max_bytes = 64 << 10,
        .election_timeout_us = 300 * MS,
        .stall_us = 2 * SECOND,
        .retention_check_us = 600 * (int64_t)SECOND,
        .max_parked = 1000,
        .close_on_rebalance = close_on_rebalance,
    };
    struct coord_events events = {.ctx = w, .draw_id = draw_id, .wall_ms = wall_ms, .close_connection = close_connection, .fatal = fatal};
    w->now_us = SECOND;
    w->replica = fake_new(shards);
    assert_int_equal(coord_new(&w->coord, &options, &events), 0);
    coord_replica_events(w->coord, fake_events(w->replica));
    coord_attach(w->coord, w->replica);
    fake_contact(w->replica, INT64_MAX / 2);
    coord_turn_begin(w->coord, w->now_us);
    return w;
}

static void turn_end(struct world *w)
{
    coord_expire(w->coord);
    coord_turn_end(w->coord);
}

static void turn_begin(struct world *w, int64_t later_us)
{
    w->now_us += later_us;
    coord_turn_begin(w->coord, w->now_us);
}

/* Turns until nothing is left to do, everything committed and confirmed. */
static void settle(struct world *w)
{
    for (int i = 0; i < 20; i++) {
        turn_end(w);
        fake_commit(w->replica);
        fake_confirm(w->replica);
        turn_begin(w, 1);
    }
    turn_end(w);
}

static void world_free(struct world *w)
{
    assert_int_equal(w->fatal, 0);
    coord_free(w->coord);
    fake_free(w->replica);
    free(w);
}

static void on_done(struct coord_request *request, int16_t error, const void *answer)
{
    struct call *c = request->ctx;
    c->done++;
    c->error = error;
    c->answer = answer;
}

static struct call *call_new(enum group_op_kind kind, int16_t api_key, int16_t version, const char *group)
{
    struct call *c = calloc(1, sizeof(*c));
    arena_init(&c->arena, 0);
    c->request.arena = &c->arena;
    c->request.done = on_done;
    c->request.ctx = c;
    c->request.op.kind = kind;
    c->request.op.api_key = api_key;
    c->request.op.api_version = version;
    c->request.op.group_id = str_of(group);
    c->request.op.caller = (struct group_caller){STR("client"), STR("/127.0.0.1")};
    return c;
}

static void call_free(struct call *c)
{
    assert_int_equal(c->done, 1);
    arena_fini(&c->arena);
    free(c);
}

static struct call *create_topic(struct world *w, const char *name, int32_t partitions)
{
    struct call *c = call_new(CATALOG_CREATE_TOPICS, 19, 7, "");
    struct create_topics_request *m = ARENA_NEW(&c->arena, struct create_topics_request, 1);
    wire_init(&wire_create_topics_request, m);
    m->topics.v = ARENA_NEW(&c->arena, struct create_topics_request_creatable_topic, 1);
    m->topics.len = 1;
    m->topics.v[0] =
        (struct create_topics_request_creatable_topic){.name = str_of(name), .num_partitions = partitions, .replication_factor = 1};
    c->request.op.request = m;
    coord_submit(w->coord, &c->request);
    return c;
}

static struct call *join(struct world *w, const char *group, const char *member, uint64_t connection)
{
    struct call *c = call_new(GROUP_JOIN, 11, 3, group);
    struct join_group_request *m = ARENA_NEW(&c->arena, struct join_group_request, 1);
    wire_init(&wire_join_group_request, m);
    m->group_id = str_of(group);
    m->session_timeout_ms = 10000;
    m->rebalance_timeout_ms = 5000;
    m->member_id = str_of(member);
    m->protocol_type = STR("test");
    m->protocols.v = ARENA_NEW(&c->arena, struct join_group_request_protocol, 1);
    m->protocols.len = 1;
    m->protocols.v[0] = (struct join_group_request_protocol){.name = STR("p"), .metadata = {(const uint8_t *)"m", 1}};
    c->request.op.request = m;
    c->request.connection = connection;
    coord_submit(w->coord, &c->request);
    return c;
}

static struct call *sync(struct world *w, const char *group, struct str member, int32_t generation)
{
    struct call *c = call_new(GROUP_SYNC, 14, 3, group);
    struct sync_group_request *m = ARENA_NEW(&c->arena, struct sync_group_request, 1);
    wire_init(&wire_sync_group_request, m);
    m->group_id = str_of(group);
    m->generation_id = generation;
    m->member_id = arena_str(&c->arena, member);
    c->request.op.request = m;
    coord_submit(w->coord, &c->request);
    return c;
}

static struct call *heartbeat(struct world *w, const char *group, struct str member, int32_t generation)
{
    struct call *c = call_new(GROUP_HEARTBEAT, 12, 3, group);
    struct heartbeat_request *m = ARENA_NEW(&c->arena, struct heartbeat_request, 1);
    wire_init(&wire_heartbeat_request, m);
    m->group_id = str_of(group);
    m->generation_id = generation;
    m->member_id = arena_str(&c->arena, member);
    c->request.op.request = m;
    c->request.connection = 9;
    coord_submit(w->coord, &c->request);
    return c;
}

static struct call *commit_with(struct world *w, const char *group, int64_t offset, struct str metadata)
{
    struct call *c = call_new(GROUP_OFFSET_COMMIT, 8, 8, group);
    struct offset_commit_request *m = ARENA_NEW(&c->arena, struct offset_commit_request, 1);
    wire_init(&wire_offset_commit_request, m);
    m->group_id = str_of(group);
    m->topics.v = ARENA_NEW(&c->arena, struct offset_commit_request_topic, 1);
    m->topics.len = 1;
    m->topics.v[0].name = STR("t");
    m->topics.v[0].partitions.v = ARENA_NEW(&c->arena, struct offset_commit_request_partition, 1);
    m->topics.v[0].partitions.len = 1;
    m->topics.v[0].partitions.v[0] = (struct offset_commit_request_partition){0, offset, -1, metadata};
    c->request.op.request = m;
    coord_submit(w->coord, &c->request);
    return c;
}

static struct call *commit(struct world *w, const char *group, int64_t offset)
{
    return commit_with(w, group, offset, STR(""));
}

static int16_t commit_error(const struct call *c)
{
    return ((const struct offset_commit_response *)c->answer)->topics.v[0].partitions.v[0].error_code;
}

static struct call *fetch(struct world *w, const char *group)
{
    struct call *c = call_new(GROUP_OFFSET_FETCH, 9, 8, group);
    struct offset_fetch_request_group *m = ARENA_NEW(&c->arena, struct offset_fetch_request_group, 1);
    m->group_id = str_of(group);
    m->member_id = STR_NULL;
    m->member_epoch = -1;
    m->topics.v = ARENA_NEW(&c->arena, struct offset_fetch_request_topics, 1);
    m->topics.len = 1;
    m->topics.v[0].name = STR("t");
    m->topics.v[0].partition_indexes.v = ARENA_NEW(&c->arena, int32_t, 1);
    m->topics.v[0].partition_indexes.len = 1;
    c->request.op.request = m;
    coord_submit(w->coord, &c->request);
    return c;
}

static int64_t fetched(const struct call *c)
{
    return ((const struct offset_fetch_response_group *)c->answer)->topics.v[0].partitions.v[0].committed_offset;
}

static struct world *serving_world(uint32_t shards)
{
    struct world *w = world_new(shards, false);
    for (uint32_t s = 0; s < shards; s++)
        fake_serve(w->replica, s, 2);
    struct call *topic = create_topic(w, "t", 1);
    settle(w);
    assert_int_equal(((const struct create_topics_response *)topic->answer)->topics.v[0].error_code, 0);
    call_free(topic);
    turn_begin(w, 1);
    return w;
}

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

static struct call *stable_member(struct world *w, const char *group, struct str *ret_member)
{
    struct call *j = join(w, group, "", 9);
    settle(w);
    const struct join_group_response *a = j->answer;
    assert_int_equal(a->error_code, 0);
    turn_begin(w, 1);
    struct call *s = sync(w, group, a->member_id, a->generation_id);
    settle(w);
    assert_int_equal(((const struct sync_group_response *)s->answer)->error_code, 0);
    call_free(s);
    *ret_member = a->member_id;
    turn_begin(w, 1);
    return j;
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
    struct call *alter = call_new(CATALOG_ALTER_CONFIGS, 44, 1, "");
    struct incremental_alter_configs_request_alterable_config config = {STR("muster.max.groups"), 0, STR("2")};
    struct incremental_alter_configs_request_alter_configs_resource resource = {4, STR(""), {&config, 1}};
    struct incremental_alter_configs_request request = {.resources = {&resource, 1}};
    alter->request.op.request = &request;
    coord_submit(w->coord, &alter->request);
    settle(w);
    assert_int_equal(((const struct incremental_alter_configs_response *)alter->answer)->responses.v[0].error_code, 0);
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
    call_free(alter);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_altered_budgets_hold),
        cmocka_unit_test(test_deletion_in_slices),
        cmocka_unit_test(test_a_commit_is_answered_when_applied),
        cmocka_unit_test(test_a_read_is_answered_when_confirmed),
        cmocka_unit_test(test_all_commits_of_a_turn_are_one_entry),
        cmocka_unit_test(test_a_fetch_sees_the_commit_before_it),
        cmocka_unit_test(test_an_entry_is_filled_to_half_the_limit),
        cmocka_unit_test(test_joins_of_a_turn_are_decided_together),
        cmocka_unit_test(test_a_commit_waits_for_a_membership_change),
        cmocka_unit_test(test_heartbeats_pass_beside_commits),
        cmocka_unit_test(test_who_does_not_serve_refuses),
        cmocka_unit_test(test_loss_of_office_answers_everything),
        cmocka_unit_test(test_a_disk_that_refuses_is_retriable),
        cmocka_unit_test(test_a_handover_holds_requests),
        cmocka_unit_test(test_a_request_too_large_fails_alone),
        cmocka_unit_test(test_a_silent_member_expires),
        cmocka_unit_test(test_nobody_expires_while_the_majority_is_silent),
        cmocka_unit_test(test_a_stalled_loop_expires_nobody),
        cmocka_unit_test(test_a_new_leader_gives_a_full_session),
        cmocka_unit_test(test_a_timer_survives_a_disk_that_refuses),
        cmocka_unit_test(test_topics_are_asked_for_before_they_are_relied_on),
        cmocka_unit_test(test_a_parked_join_can_be_cancelled),
        cmocka_unit_test(test_sockets_are_closed_where_configured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
