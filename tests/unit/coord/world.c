#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "group_defaults.h"

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

static void run_job(void *ctx, struct group_job *job)
{
    struct world *w = ctx;
    assert_true(w->job_count < MOST_ERRANDS);
    w->jobs[w->job_count++] = job;
}

static void create_topics(void *ctx, uint64_t token, const struct create_topics_request *request)
{
    struct world *w = ctx;
    assert_true(w->creation_count < MOST_ERRANDS);
    w->creations[w->creation_count].token = token;
    snprintf(w->creations[w->creation_count++].name, sizeof(w->creations[0].name), "%.*s", STR_ARG(request->topics.v[0].name));
}

struct world *world_new(uint32_t shards, bool close_on_rebalance)
{
    struct world *w = calloc(1, sizeof(*w));
    struct coord_options options = {
        .settings = group_defaults(),
        .shard_count = shards,
        .entry_max_bytes = 64 << 10,
        .election_timeout_us = 300 * MS,
        .stall_us = 2 * SECOND,
        .retention_check_us = 600 * (int64_t)SECOND,
        .commit_timeout_us = 5 * (int64_t)SECOND,
        .max_parked = 1000,
        .max_jobs = MAX_JOBS,
        .max_creations = MAX_CREATIONS,
        .max_beats = MAX_BEATS,
        .hash_interval = HASH_INTERVAL,
        .close_on_rebalance = close_on_rebalance,
    };
    struct coord_events events = {.ctx = w,
                                  .draw_id = draw_id,
                                  .wall_ms = wall_ms,
                                  .close_connection = close_connection,
                                  .fatal = fatal,
                                  .run_job = run_job,
                                  .create_topics = create_topics};
    options.settings.initial_rebalance_delay_ms = 0;
    options.settings.min_session_timeout_ms = 1000;
    options.settings.streams.initial_rebalance_delay_ms = 0;
    options.settings.streams.hold_ms = 5000;
    options.settings.consumer.hold_ms = 5000;
    options.settings.adaptive.hold_interval_ms = 0;
    w->now_us = SECOND;
    w->replica = fake_new(shards);
    assert_int_equal(coord_new(&w->coord, &options, &events), 0);
    coord_replica_events(w->coord, fake_events(w->replica));
    coord_attach(w->coord, w->replica);
    fake_contact(w->replica, INT64_MAX / 2);
    coord_turn_begin(w->coord, w->now_us);
    return w;
}

void turn_end(struct world *w)
{
    coord_expire(w->coord);
    coord_turn_end(w->coord);
}

void turn_begin(struct world *w, int64_t later_us)
{
    w->now_us += later_us;
    coord_turn_begin(w->coord, w->now_us);
}

void settle(struct world *w)
{
    for (int i = 0; i < 20; i++) {
        turn_end(w);
        fake_commit(w->replica);
        fake_confirm(w->replica);
        turn_begin(w, 1);
    }
    turn_end(w);
}

void world_free(struct world *w)
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

void lose_and_regain(struct world *w)
{
    fake_role(w->replica, 0, REPLICA_FOLLOWER, 3, 2);
    settle(w);
    turn_begin(w, 1);
    fake_serve(w->replica, 0, 4);
    settle(w);
    turn_begin(w, 1);
}

struct call *call_new(enum group_op_kind kind, int16_t api_key, int16_t version, const char *group)
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

void call_free(struct call *c)
{
    assert_int_equal(c->done, 1);
    arena_fini(&c->arena);
    free(c);
}

struct call *create_topic(struct world *w, const char *name, int32_t partitions)
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

void alter_budget(struct world *w, const char *name, const char *value)
{
    struct call *alter = call_new(CATALOG_ALTER_CONFIGS, 44, 1, "");
    struct incremental_alter_configs_request_alterable_config config = {str_of(name), 0, str_of(value)};
    struct incremental_alter_configs_request_alter_configs_resource resource = {4, STR(""), {&config, 1}};
    struct incremental_alter_configs_request request = {.resources = {&resource, 1}};
    alter->request.op.request = &request;
    coord_submit(w->coord, &alter->request);
    settle(w);
    assert_int_equal(((const struct incremental_alter_configs_response *)alter->answer)->responses.v[0].error_code, 0);
    call_free(alter);
    turn_begin(w, 1);
}

struct call *join(struct world *w, const char *group, const char *member, uint64_t connection)
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

struct call *sync_group(struct world *w, const char *group, struct str member, int32_t generation)
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

struct call *heartbeat(struct world *w, const char *group, struct str member, int32_t generation)
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

static struct call *commit_from(struct world *w, const char *group, int64_t offset, struct str metadata, struct str member,
                                int32_t generation)
{
    struct call *c = call_new(GROUP_OFFSET_COMMIT, 8, 8, group);
    struct offset_commit_request *m = ARENA_NEW(&c->arena, struct offset_commit_request, 1);
    wire_init(&wire_offset_commit_request, m);
    m->group_id = str_of(group);
    m->member_id = arena_str(&c->arena, member);
    m->generation_id_or_member_epoch = generation;
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

struct call *commit_with(struct world *w, const char *group, int64_t offset, struct str metadata)
{
    return commit_from(w, group, offset, metadata, STR(""), -1);
}

struct call *commit_as(struct world *w, const char *group, struct str member, int32_t generation)
{
    return commit_from(w, group, 1, STR(""), member, generation);
}

struct call *commit(struct world *w, const char *group, int64_t offset)
{
    return commit_with(w, group, offset, STR(""));
}

int16_t commit_error(const struct call *c)
{
    return ((const struct offset_commit_response *)c->answer)->topics.v[0].partitions.v[0].error_code;
}

struct call *fetch(struct world *w, const char *group)
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

int64_t fetched(const struct call *c)
{
    return ((const struct offset_fetch_response_group *)c->answer)->topics.v[0].partitions.v[0].committed_offset;
}

struct world *serving_world(uint32_t shards)
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

struct call *stable_member(struct world *w, const char *group, struct str *ret_member)
{
    struct call *j = join(w, group, "", 9);
    settle(w);
    const struct join_group_response *a = j->answer;
    assert_int_equal(a->error_code, 0);
    turn_begin(w, 1);
    struct call *s = sync_group(w, group, a->member_id, a->generation_id);
    settle(w);
    assert_int_equal(((const struct sync_group_response *)s->answer)->error_code, 0);
    call_free(s);
    *ret_member = a->member_id;
    turn_begin(w, 1);
    return j;
}
