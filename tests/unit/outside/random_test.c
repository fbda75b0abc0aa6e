/* Everything that can be asked of a group, by members and by others, in random order: what always holds of a streams group does, each decision is the same on an
 * overlay, each state survives a snapshot (tests/lib/group_world.c looks at both), and in the end nothing is left. */
#include "fixture.h"
#include "group_world.h"

enum { SEEDS = 60, STEPS = 250, MEMBERS = 3, GROUPS = 2, ITEMS = 8 };

struct random {
    struct world world;
    struct prng prng;
    struct str group;
    int64_t answers, errors, kinds[GROUP_TOPICS_CREATED + 1];
};

static int chance(struct random *r, int bound)
{
    return (int)prng_below(&r->prng, (uint64_t)bound);
}

static struct str one_of(struct random *r, const char *const *words, int count)
{
    return str_of(words[chance(r, count)]);
}

static const char *const topic_names[] = {"a", "b", "log", "rep", "nowhere"};
static const char *const member_ids[] = {"m0", "m1", "m2", "stranger"};

/* ---- what happened ------------------------------------------------------------------------------------------------------------- */

static void on_answer(void *ctx, const struct world_request *request, const struct group_out *out)
{
    struct random *r = ctx;
    r->answers++;
    r->errors += out->error != 0;
    r->kinds[request->op.kind]++;
}

static void always(const struct random *r, struct str id)
{
    const struct group *g = group_find(r->world.set, id);
    struct group_listing listing;
    if (g == NULL) {
        return;
    }
    assert_true(group_listing(r->world.set, id, &listing));
    if (g->streams == NULL) {
        return;
    }
    const struct modern *s = g->streams;
    assert_int_equal(group_type(g), GROUP_STREAMS); /* no record is left behind */
    assert_false(g->classic.exists);
    assert_int_equal(s->empty_since_ms >= 0, s->member_count == 0);
    assert_true(s->topology == NULL || str_is_null(s->initializing_member));
    assert_true(s->topology != NULL || s->regex_count == 0);
    assert_true(s->epoch >= s->assignment_epoch);
    assert_true(s->member_count > 0 || s->slot_count == 0);
    assert_true(s->validated_topology_epoch == -1 || s->problem == TOPOLOGY_FINE);
    for (int32_t i = 0; i < s->slot_count; i++) {
        assert_non_null(s->slots[i].member);
        assert_true(modern_position(&s->slots[i]).epoch <= s->epoch);
    }
}

/* ---- requests --------------------------------------------------------------------------------------------------------------------- */

static struct world_request *request_new(struct random *r, enum group_op_kind kind, int16_t version)
{
    struct world_request *q = world_request_new("client");
    q->op.kind = kind;
    q->op.api_version = version;
    q->op.group_id = r->group;
    q->op.caller = (struct group_caller){STR("client"), STR("/127.0.0.1")};
    return q;
}

/* Of three topologies, the last with a regular expression; often with topics that are missing. */
static void fill_subtopology(struct random *r, struct arena *arena, struct streams_group_initialize_request_subtopology *s)
{
    int which = chance(r, 3);
    wire_init_type(wire_streams_group_initialize_request.type->fields[1].type, s);
    s->subtopology = STR("0");
    s->source_topics.v = ARENA_NEW(arena, struct str, 1);
    s->source_topics.v[0] = one_of(r, topic_names, which == 0 ? 2 : 5);
    s->source_topics.len = 1;
    s->source_topic_regex = which == 2 ? STR("[ab]") : STR_NULL;
    if (which == 1) {
        s->state_changelog_topics.v = ARENA_NEW(arena, struct streams_group_initialize_request_topic_info, 1);
        s->state_changelog_topics.len = 1;
        s->state_changelog_topics.v[0].name = STR("log");
        s->state_changelog_topics.v[0].topic_configs.len = -1;
    }
}

static void initialize(struct random *r)
{
    static const char *const ids[] = {"v1", "v2", NULL, NULL};
    struct world_request *q = request_new(r, GROUP_STREAMS_INITIALIZE, 0);
    struct streams_group_initialize_request *body = ARENA_NEW(&q->arena, struct streams_group_initialize_request, 1);
    wire_init(&wire_streams_group_initialize_request, body);
    body->group_id = r->group;
    body->topology.v = ARENA_NEW(&q->arena, struct streams_group_initialize_request_subtopology, 1);
    body->topology.len = 1;
    fill_subtopology(r, &q->arena, body->topology.v);
    body->topology_id = one_of(r, ids, 4);
    body->topology_epoch = chance(r, 3) == 0 ? chance(r, 6) : -1;
    body->member_id = chance(r, 2) == 0 ? one_of(r, member_ids, 4) : STR_NULL;
    q->op.request = body;
    world_submit(&r->world, q);
}

/* A member joins, beats or leaves; with an epoch that is right, if it is a member. */
static void beat(struct random *r)
{
    struct world_request *q = request_new(r, GROUP_STREAMS_HEARTBEAT, 1);
    struct streams_group_heartbeat_request *body = ARENA_NEW(&q->arena, struct streams_group_heartbeat_request, 1);
    const struct group *g = group_find(r->world.set, r->group);
    wire_init(&wire_streams_group_heartbeat_request, body);
    body->group_id = r->group;
    body->member_id = one_of(r, member_ids, MEMBERS);
    const struct modern_slot *slot = g != NULL && g->streams != NULL ? modern_find(g->streams, body->member_id) : NULL;
    body->member_epoch = slot == NULL ? 0 : chance(r, 5) == 0 ? -1 : modern_position(slot).epoch;
    if (slot == NULL) {
        struct streams_group_heartbeat_request_topology *t = ARENA_NEW(&q->arena, struct streams_group_heartbeat_request_topology, 1);
        t->subtopologies.v = ARENA_NEW(&q->arena, struct streams_group_heartbeat_request_subtopology, 1);
        t->subtopologies.len = 1;
        t->subtopologies.v[0].subtopology_id = STR("0");
        t->subtopologies.v[0].source_topics.v = ARENA_NEW(&q->arena, struct str, 1);
        t->subtopologies.v[0].source_topics.v[0] = one_of(r, topic_names, 3);
        t->subtopologies.v[0].source_topics.len = 1;
        body->topology = chance(r, 3) == 0 ? NULL : t;
        body->rebalance_timeout_ms = 1000;
        body->active_tasks.len = body->standby_tasks.len = body->warmup_tasks.len = 0;
    }
    q->op.request = body;
    world_submit(&r->world, q);
}

static void commit(struct random *r)
{
    struct world_request *q = request_new(r, GROUP_OFFSET_COMMIT, (int16_t)(8 + chance(r, 2)));
    struct offset_commit_request *body = ARENA_NEW(&q->arena, struct offset_commit_request, 1);
    wire_init(&wire_offset_commit_request, body);
    body->group_id = r->group;
    body->member_id = chance(r, 3) == 0 ? STR("") : one_of(r, member_ids, 4);
    body->generation_id_or_member_epoch = chance(r, 12) - 2;
    body->topics.v = ARENA_NEW(&q->arena, struct offset_commit_request_topic, 2);
    for (int i = 0; i < 2; i++) {
        struct offset_commit_request_topic *t = &body->topics.v[body->topics.len++];
        wire_init_type(wire_offset_commit_request.type->fields[5].type, t);
        t->name = one_of(r, topic_names, 5);
        t->partitions.v = ARENA_NEW(&q->arena, struct offset_commit_request_partition, 1);
        t->partitions.len = 1;
        t->partitions.v[0] = (struct offset_commit_request_partition){.partition_index = chance(r, 4),
                                                                      .committed_offset = 1,
                                                                      .committed_leader_epoch = -1,
                                                                      .committed_metadata = STR("")};
    }
    q->op.request = body;
    world_submit(&r->world, q);
}

static void fetch(struct random *r)
{
    struct world_request *q = request_new(r, GROUP_OFFSET_FETCH, 9);
    struct offset_fetch_request_group *body = ARENA_NEW(&q->arena, struct offset_fetch_request_group, 1);
    wire_init_type(wire_offset_fetch_request.type->fields[2].type, body);
    body->group_id = r->group;
    body->topics.len = -1;
    body->member_id = chance(r, 2) == 0 ? STR_NULL : one_of(r, member_ids, 4);
    body->member_epoch = chance(r, 6) - 1;
    q->op.request = body;
    world_submit(&r->world, q);
}

static void offset_delete(struct random *r)
{
    struct world_request *q = request_new(r, GROUP_OFFSET_DELETE, 0);
    struct offset_delete_request *body = ARENA_NEW(&q->arena, struct offset_delete_request, 1);
    body->group_id = r->group;
    body->topics.v = ARENA_NEW(&q->arena, struct offset_delete_request_topic, 1);
    body->topics.len = 1;
    body->topics.v[0].name = one_of(r, topic_names, 5);
    body->topics.v[0].partitions.v = ARENA_NEW(&q->arena, struct offset_delete_request_partition, 1);
    body->topics.v[0].partitions.len = 1;
    q->op.request = body;
    world_submit(&r->world, q);
}

static void alter(struct random *r)
{
    struct world_request *q = request_new(r, GROUP_ALTER_OFFSETS, 0);
    struct alter_group_offsets_request *body = ARENA_NEW(&q->arena, struct alter_group_offsets_request, 1);
    wire_init(&wire_alter_group_offsets_request, body);
    body->group_id = r->group;
    body->create = (int8_t)chance(r, 3);
    body->fence = chance(r, 2) == 0;
    body->topics.v = ARENA_NEW(&q->arena, struct alter_group_offsets_request_topic, 1);
    body->topics.len = 1;
    body->topics.v[0].name = one_of(r, topic_names, 5);
    body->topics.v[0].partitions.v = ARENA_NEW(&q->arena, struct alter_group_offsets_request_partition, 1);
    body->topics.v[0].partitions.len = 1;
    body->topics.v[0].partitions.v[0] = (struct alter_group_offsets_request_partition){
        .action = (int8_t)chance(r, 4), .offset = chance(r, 8) - 2, .most = 4, .leader_epoch = -1, .metadata = STR_NULL};
    q->op.request = body;
    world_submit(&r->world, q);
}

static void describe(struct random *r)
{
    static const enum group_op_kind kinds[] = {GROUP_STREAMS_DESCRIBE, GROUP_STREAMS_TOPOLOGY, GROUP_DESCRIBE};
    struct world_request *q = request_new(r, kinds[chance(r, 3)], 0);
    struct streams_group_describe_request *body = ARENA_NEW(&q->arena, struct streams_group_describe_request, 1);
    body->include_topology_description = chance(r, 2) == 0;
    q->op.request = body;
    world_submit(&r->world, q);
}

static void description(struct random *r)
{
    struct world_request *q = request_new(r, GROUP_STREAMS_DESCRIPTION, 0);
    struct streams_group_topology_description_update_request *body =
        ARENA_NEW(&q->arena, struct streams_group_topology_description_update_request, 1);
    wire_init(&wire_streams_group_topology_description_update_request, body);
    body->group_id = r->group;
    body->member_id = one_of(r, member_ids, 4);
    body->topology_epoch = chance(r, 3);
    body->topology_description.subtopologies.v =
        ARENA_NEW(&q->arena, struct streams_group_topology_description_update_request_topology_description_subtopology, ITEMS);
    body->topology_description.subtopologies.len = chance(r, ITEMS);
    for (int32_t i = 0; i < body->topology_description.subtopologies.len; i++) {
        body->topology_description.subtopologies.v[i].subtopology_id = STR("s");
    }
    q->op.request = body;
    world_submit(&r->world, q);
}

static void classic_join(struct random *r)
{
    struct world_request *q = request_new(r, GROUP_JOIN, (int16_t)(chance(r, 2) == 0 ? 3 : 9));
    struct join_group_request *body = ARENA_NEW(&q->arena, struct join_group_request, 1);
    wire_init(&wire_join_group_request, body);
    body->group_id = r->group;
    body->session_timeout_ms = 6000;
    body->rebalance_timeout_ms = 6000;
    body->protocol_type = STR("consumer");
    body->protocols.v = ARENA_NEW(&q->arena, struct join_group_request_protocol, 1);
    body->protocols.len = chance(r, 5) == 0 ? 0 : 1;
    body->protocols.v[0] = (struct join_group_request_protocol){STR("range"), {(const uint8_t *)"", 0}};
    q->op.request = body;
    world_submit(&r->world, q);
}

static void group_delete(struct random *r)
{
    world_submit(&r->world, request_new(r, GROUP_DELETE, 2));
}

/* ---- what comes from elsewhere --------------------------------------------------------------------------------------------------------- */

static void sweep(struct random *r)
{
    struct group_op op = {.kind = chance(r, 2) == 0 ? GROUP_RETENTION : GROUP_TOPICS_CHANGED, .api_key = -1, .group_id = r->group};
    world_run(&r->world, &op);
}

static void topics(struct random *r)
{
    int which = chance(r, 4);
    int32_t partitions = chance(r, 4);
    struct topic_view there;
    const struct topics *t = &r->world.topics;
    bool known = t->by_name(t->ctx, str_of(topic_names[which]), &there);
    if (r->world.topic_count < WORLD_TOPICS - 1 && (known || partitions > 0)) { /* a deleted one never comes back under its id */
        world_topic_set(&r->world, topic_names[which], partitions);
    }
}

static void made(struct random *r)
{
    if (r->world.making != NULL) {
        world_topic_set(&r->world, "log", 1 + chance(r, 2));
        world_made(&r->world, r->group, chance(r, 3) == 0 ? STR("log (no room)") : STR_NULL);
    }
}

static void tick(struct random *r)
{
    world_tick(&r->world, chance(r, 8) == 0 ? 60000 : chance(r, 2000));
}

static void failover(struct random *r)
{
    if (chance(r, 6) == 0) {
        world_failover(&r->world);
    }
}

static void configure(struct random *r)
{
    static const char *const modes[] = {"implicit", "explicit", "strict", NULL};
    static const char *const updates[] = {"reject", "epoch", NULL};
    world_group_config(&r->world, r->group, STR("streams.topology.initialization"), one_of(r, modes, 4));
    world_group_config(&r->world, r->group, STR("streams.topology.update"), one_of(r, updates, 3));
}

static void step(struct random *r)
{
    static void (*const steps[])(struct random *) = {initialize,    initialize, beat,        beat,        beat,         commit,       fetch,
                                                     offset_delete, describe,   description, description, classic_join, group_delete, sweep,
                                                     topics,        made,       tick,        failover,    configure,    alter};
    static const char *const groups[GROUPS] = {"g0", "g1"};
    r->group = one_of(r, groups, GROUPS);
    steps[chance(r, (int)COUNT_OF(steps))](r);
    always(r, STR("g0"));
    always(r, STR("g1"));
}

/* Sessions end, retention comes by: whatever there was goes. */
static void end(struct random *r)
{
    for (int round = 0; round < 4; round++) {
        world_made(&r->world, STR("g0"), STR("over"));
        world_made(&r->world, STR("g1"), STR("over"));
        world_tick(&r->world, 400000);
        for (int i = 0; i < GROUPS; i++) {
            r->group = i == 0 ? STR("g0") : STR("g1");
            struct group_op op = {.kind = GROUP_RETENTION, .api_key = -1, .group_id = r->group};
            world_run(&r->world, &op);
        }
    }
    struct group_set_counts counts;
    group_set_counts(r->world.set, &counts);
    assert_int_equal(counts.groups, 0);
    assert_int_equal(counts.members, 0);
    assert_int_equal(counts.offsets, 0);
    assert_int_equal(group_set_hash(r->world.set), 0);
}

static void anything_goes(void **state)
{
    (void)state;
    int64_t answers = 0, errors = 0, kinds[GROUP_TOPICS_CREATED + 1] = {0};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct random r = {.answers = 0};
        prng_seed(&r.prng, seed);
        world_init(&r.world, &(struct world_events){.ctx = &r, .answer = on_answer});
        r.world.settings.offsets_retention_ms = 100000;
        r.world.settings.streams.initial_rebalance_delay_ms = chance(&r, 2) * 1000;
        world_topic_set(&r.world, "a", 2);
        world_topic_set(&r.world, "b", 1);
        for (int i = 0; i < STEPS; i++) {
            step(&r);
        }
        end(&r);
        world_fini(&r.world);
        answers += r.answers;
        errors += r.errors;
        for (int k = 0; k <= GROUP_TOPICS_CREATED; k++) {
            kinds[k] += r.kinds[k];
        }
    }
    assert_true(errors > answers / 20 && errors < answers * 9 / 10);
    assert_true(kinds[GROUP_STREAMS_INITIALIZE] > 0 && kinds[GROUP_STREAMS_DESCRIPTION] > 0 && kinds[GROUP_JOIN] > 0);
}

int run_random_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(anything_goes),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
