/* streams_test.c: requests about streams groups, and the topics that this node has made for them. */
#include "world.h"

#include <stdio.h>
#include <string.h>

static struct streams_group_heartbeat_request heartbeat(struct str group, const char *source)
{
    static struct streams_group_heartbeat_request_subtopology subtopology;
    static struct streams_group_heartbeat_request_topology topology;
    static struct str name;
    struct streams_group_heartbeat_request request;
    wire_init(&wire_streams_group_heartbeat_request, &request);
    memset(&subtopology, 0, sizeof(subtopology));
    name = str_of(source);
    subtopology.subtopology_id = STR("0");
    subtopology.source_topics = (struct str_array){&name, 1};
    topology.epoch = 0;
    topology.subtopologies.v = &subtopology;
    topology.subtopologies.len = 1;
    request.group_id = group;
    request.member_id = STR("m");
    request.rebalance_timeout_ms = 1000;
    request.topology = &topology;
    request.process_id = STR("p");
    request.active_tasks.len = request.standby_tasks.len = request.warmup_tasks.len = 0;
    return request;
}

static void join(struct world *w, struct str group)
{
    struct streams_group_heartbeat_request request = heartbeat(group, "in");
    const struct streams_group_heartbeat_response *response = ask(w, API_KEY_STREAMS_GROUP_HEARTBEAT, 1, &request);
    assert_int_equal(response->error_code, 0);
    STR_IS(response->member_id, "m");
}

static void test_a_member_joins(void **state)
{
    struct world *w = *state;
    create_topic(w, "in", 2);
    for (int16_t version = 0; version <= 1; version++) {
        struct streams_group_heartbeat_request request = heartbeat(group_of_shard(w, (uint32_t)version), "in");
        const struct streams_group_heartbeat_response *response = ask(w, API_KEY_STREAMS_GROUP_HEARTBEAT, version, &request);
        assert_int_equal(response->error_code, 0);
        assert_int_equal(response->active_tasks.len, 1);
        assert_int_equal(response->active_tasks.v[0].partitions.len, 2);
    }
}

static void test_requests_reach_coord_whole(void **state)
{
    struct world *w = *state;
    struct streams_group_heartbeat_request request = heartbeat(STR("app"), "in");
    w->hold = true;
    struct net_slot *slot = slot_ask(w, API_KEY_STREAMS_GROUP_HEARTBEAT, 1, &request);
    assert_int_equal(slot->verdict, NET_YIELD);
    const struct group_op *op = &w->held[0]->op;
    assert_int_equal(op->kind, GROUP_STREAMS_HEARTBEAT);
    assert_int_equal(op->api_version, 1);
    STR_IS(op->group_id, "app");
    STR_IS(((const struct streams_group_heartbeat_request *)op->request)->topology->subtopologies.v[0].source_topics.v[0], "in");
    world_decide(w, w->held[0]);
    slot_free(slot);
}

/* An id of nothing but blanks is refused by any node. */
static void test_blank_group_ids(void **state)
{
    struct world *w = *state;
    const char *const blank[] = {"", " ", "\t \n"};
    for (uint32_t shard = 0; shard < SHARDS; shard++) {
        w->state[shard] = 16;
    }
    for (size_t i = 0; i < COUNT_OF(blank); i++) {
        struct streams_group_heartbeat_request request = heartbeat(str_of(blank[i]), "in");
        const struct streams_group_heartbeat_response *response = ask(w, API_KEY_STREAMS_GROUP_HEARTBEAT, 1, &request);
        assert_int_equal(response->error_code, 42);
        STR_IS(response->error_message, "GroupId can't be empty.");
        STR_IS(response->member_id, "");
        assert_int_equal(response->status.len, 0);
        assert_int_equal(response->active_tasks.len, -1);
    }
    struct streams_group_heartbeat_request request = heartbeat(STR("app"), "in");
    assert_int_equal(((const struct streams_group_heartbeat_response *)ask(w, API_KEY_STREAMS_GROUP_HEARTBEAT, 1, &request))->error_code,
                     16);
}

static void test_describe_of_many(void **state)
{
    struct world *w = *state;
    struct str groups[] = {group_of_shard(w, 1), STR("nobody"), group_of_shard(w, 2), group_of_shard(w, 3)};
    struct streams_group_describe_request request;
    create_topic(w, "in", 2);
    join(w, groups[0]);
    join(w, groups[2]);
    commit(w, groups[3], "in", 0, 1);
    wire_init(&wire_streams_group_describe_request, &request);
    request.group_ids = (struct str_array){groups, COUNT_OF(groups)};
    request.include_authorized_operations = true;
    for (int16_t version = 0; version <= 1; version++) {
        const struct streams_group_describe_response *response = ask(w, API_KEY_STREAMS_GROUP_DESCRIBE, version, &request);
        assert_int_equal(response->groups.len, COUNT_OF(groups));
        for (int32_t i = 0; i < response->groups.len; i++) {
            const struct streams_group_describe_response_described_group *g = &response->groups.v[i];
            assert_true(str_eq(g->group_id, groups[i]));
            assert_int_equal(g->error_code, i % 2 == 0 ? 0 : 69);
            assert_int_equal(g->members.len, i % 2 == 0 ? 1 : 0);
            assert_int_equal(g->authorized_operations, i % 2 == 0 ? 3400 : INT32_MIN);
        }
        STR_IS(response->groups.v[0].group_state, "Stable");
    }
}

static void test_groups_are_listed_by_type(void **state)
{
    struct world *w = *state;
    struct str type = STR("streams");
    struct list_groups_request request;
    create_topic(w, "in", 2);
    join(w, group_of_shard(w, 1));
    commit(w, group_of_shard(w, 2), "in", 0, 1);
    wire_init(&wire_list_groups_request, &request);
    assert_int_equal(((const struct list_groups_response *)ask(w, API_KEY_LIST_GROUPS, 5, &request))->groups.len, 2);
    request.types_filter = (struct str_array){&type, 1};
    const struct list_groups_response *response = ask(w, API_KEY_LIST_GROUPS, 5, &request);
    assert_int_equal(response->groups.len, 1);
    STR_IS(response->groups.v[0].group_type, "streams");
    STR_IS(response->groups.v[0].protocol_type, "streams");
    STR_IS(response->groups.v[0].group_state, "Stable");
}

static struct streams_group_initialize_request initialization(struct str group)
{
    static struct streams_group_initialize_request_subtopology subtopology;
    static struct streams_group_initialize_request_copartition_group copartition;
    static struct str more[] = {{"b.*", 3}};
    static int16_t places[] = {1};
    struct streams_group_initialize_request request;
    wire_init(&wire_streams_group_initialize_request, &request);
    memset(&subtopology, 0, sizeof(subtopology));
    copartition.source_topic_regex = (struct int16_array){places, 1};
    subtopology.subtopology = STR("0");
    subtopology.source_topic_regex = STR("a.*");
    subtopology.more_source_topic_regex = (struct str_array){more, 1};
    subtopology.copartition_groups.v = &copartition;
    subtopology.copartition_groups.len = 1;
    request.group_id = group;
    request.topology.v = &subtopology;
    request.topology.len = 1;
    return request;
}

/* What StreamsGroupInitialize is given is what StreamsGroupTopology shows, our tagged fields too. */
static void test_a_topology_there_and_back(void **state)
{
    struct world *w = *state;
    struct streams_group_initialize_request request = initialization(STR("app"));
    struct streams_group_topology_request question = {STR("app")};
    create_topic(w, "a1", 2);
    create_topic(w, "b1", 2);
    const struct streams_group_topology_response *topology = ask(w, API_KEY_STREAMS_GROUP_TOPOLOGY, 0, &question);
    assert_int_equal(topology->error_code, 69);
    const struct streams_group_initialize_response *response = ask(w, API_KEY_STREAMS_GROUP_INITIALIZE, 0, &request);
    assert_int_equal(response->error_code, 0);
    topology = ask(w, API_KEY_STREAMS_GROUP_TOPOLOGY, 0, &question);
    assert_int_equal(topology->error_code, 0);
    STR_IS(topology->group_state, "Empty");
    assert_int_equal(topology->subtopologies.len, 1);
    const struct streams_group_topology_response_subtopology *s = topology->subtopologies.v;
    assert_int_equal(s->source_topic_regex.len, 2);
    STR_IS(s->source_topic_regex.v[0], "a.*");
    STR_IS(s->source_topic_regex.v[1], "b.*");
    assert_int_equal(s->copartition_groups.len, 1);
    assert_int_equal(s->copartition_groups.v[0].source_topic_regex.v[0], 1);
    request.topology_id = STR("another name");
    response = ask(w, API_KEY_STREAMS_GROUP_INITIALIZE, 0, &request);
    assert_int_equal(response->error_code, 0);
    topology = ask(w, API_KEY_STREAMS_GROUP_TOPOLOGY, 0, &question);
    STR_IS(topology->topology_id, "another name");
}

/* It may wait for topics, and whatever its client sends behind it waits along. */
static void test_an_initialization_holds_its_connection(void **state)
{
    struct world *w = *state;
    struct streams_group_initialize_request request = initialization(STR("app"));
    w->hold = true;
    struct net_slot *slot = slot_ask(w, API_KEY_STREAMS_GROUP_INITIALIZE, 0, &request);
    assert_int_equal(slot->verdict, NET_HOLD);
    world_decide(w, w->held[0]);
    const struct streams_group_initialize_response *response = slot_answer(w, slot, API_KEY_STREAMS_GROUP_INITIALIZE, 0);
    assert_int_equal(response->error_code, 20131);
    slot_free(slot);
}

static void test_streams_groups_can_be_turned_off(void **state)
{
    struct world *w = *state;
    w->options.streams_groups = false;
    world_restart(w);
    struct streams_group_heartbeat_request request = heartbeat(STR("app"), "in");
    struct streams_group_initialize_request initialize = initialization(STR("app"));
    struct streams_group_topology_description_update_request update;
    wire_init(&wire_streams_group_topology_description_update_request, &update);
    assert_int_equal(((const struct streams_group_heartbeat_response *)ask(w, API_KEY_STREAMS_GROUP_HEARTBEAT, 1, &request))->error_code,
                     35);
    assert_int_equal(
        ((const struct streams_group_initialize_response *)ask(w, API_KEY_STREAMS_GROUP_INITIALIZE, 0, &initialize))->error_code, 35);
    assert_int_equal(((const struct streams_group_topology_description_update_response *)
                          ask(w, API_KEY_STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, 0, &update))
                         ->error_code,
                     35);
    struct str groups[] = {STR("app"), STR("other")};
    struct streams_group_describe_request describe;
    wire_init(&wire_streams_group_describe_request, &describe);
    describe.group_ids = (struct str_array){groups, COUNT_OF(groups)};
    const struct streams_group_describe_response *described = ask(w, API_KEY_STREAMS_GROUP_DESCRIBE, 1, &describe);
    assert_int_equal(described->groups.len, 2);
    STR_IS(described->groups.v[1].group_id, "other");
    assert_int_equal(described->groups.v[1].error_code, 35);
    struct api_versions_request versions;
    wire_init(&wire_api_versions_request, &versions);
    versions.client_software_name = versions.client_software_version = STR("a");
    const struct api_versions_response *response = ask(w, API_KEY_API_VERSIONS, 4, &versions);
    assert_int_equal(response->error_code, 0);
    assert_int_equal(response->supported_features.len, 1);
    STR_IS(response->supported_features.v[0].name, "group.version");
    w->options.consumer_groups = false;
    world_restart(w);
    response = ask(w, API_KEY_API_VERSIONS, 4, &versions);
    assert_int_equal(response->supported_features.len, 0);
    assert_int_equal(response->finalized_features_epoch, -1);
}

/* ---- topics made by this node itself ---- */

struct outcome {
    int calls;
    uint64_t token;
    char failure[256];
};

static void created(void *ctx, uint64_t token, struct str failure)
{
    struct outcome *o = ctx;
    o->calls++;
    o->token = token;
    snprintf(o->failure, sizeof(o->failure), "%s%.*s", str_is_null(failure) ? "none" : "", STR_ARG(failure));
}

static void make(struct world *w, struct outcome *o, const char *a, const char *b, int32_t partitions)
{
    struct create_topics_request_creatable_topic topics[2] = {
        {.name = str_of(a), .num_partitions = partitions, .replication_factor = -1},
        {.name = str_of(b), .num_partitions = partitions, .replication_factor = -1},
    };
    struct create_topics_request request;
    wire_init(&wire_create_topics_request, &request);
    request.topics.v = topics;
    request.topics.len = 2;
    memset(o, 0, sizeof(*o));
    api_create_topics_own(w->api, &request, created, o, 7);
}

static void test_topics_are_made_here(void **state)
{
    struct world *w = *state;
    struct outcome o;
    struct catalog_topic topic;
    create_topic(w, "there", 3);
    make(w, &o, "fresh", "there", 4);
    assert_int_equal(o.calls, 1);
    assert_int_equal(o.token, 7);
    assert_string_equal(o.failure, "none"); /* one that is there already counts as made */
    assert_true(catalog_find_topic(w->sets[0], STR("fresh"), &topic));
    assert_int_equal(topic.partitions, 4);
}

static void test_what_cannot_be_made_is_named(void **state)
{
    struct world *w = *state;
    struct outcome o;
    make(w, &o, "bad/name", "good", 0);
    assert_int_equal(o.calls, 1);
    assert_non_null(strstr(o.failure, "bad/name (Topic name is invalid: 'bad/name' contains one or more characters"));
    assert_non_null(strstr(o.failure, "), good (Number of partitions"));
}

static void test_topics_are_made_by_the_leader(void **state)
{
    struct world *w = *state;
    struct outcome o;
    w->state[0] = 16;
    w->leader[0] = 2;
    make(w, &o, "fresh", "other", 2);
    assert_int_equal(o.calls, 0);
    assert_int_equal(w->sent_count, 1);
    assert_int_equal(w->sent[0].node, 2);
    w->state[0] = 0; /* this world answers in its place */
    w->leader[0] = SELF;
    api_message(w->api, 3, API_CHANNEL_FORWARD, (struct bytes){w->sent[0].data.ptr, (int32_t)w->sent[0].data.len});
    assert_int_equal(w->sent_count, 2);
    api_message(w->api, 2, API_CHANNEL_FORWARD, (struct bytes){w->sent[1].data.ptr, (int32_t)w->sent[1].data.len});
    assert_int_equal(o.calls, 1);
    assert_string_equal(o.failure, "none");
}

static void test_nobody_leads(void **state)
{
    struct world *w = *state;
    struct outcome o;
    w->state[0] = 15;
    w->leader[0] = 0;
    make(w, &o, "fresh", "other", 2);
    for (int i = 0; i < 200 && o.calls == 0; i++) {
        world_pass(w, 20);
    }
    assert_int_equal(o.calls, 1);
    assert_string_equal(
        o.failure,
        "fresh (This is not the correct controller for this cluster.), other (This is not the correct controller for this cluster.)");
}

static void test_the_leader_does_not_answer(void **state)
{
    struct world *w = *state;
    struct outcome o;
    w->state[0] = 16;
    w->leader[0] = 2;
    make(w, &o, "fresh", "other", 2);
    world_pass(w, 9900);
    assert_int_equal(o.calls, 0);
    world_pass(w, 200);
    assert_int_equal(o.calls, 1);
    assert_string_equal(o.failure, "fresh (The request timed out.), other (The request timed out.)");
}

/* What is under way when the node ends comes back to nobody. */
static void test_the_node_ends_meanwhile(void **state)
{
    struct world *w = *state;
    struct outcome o;
    w->state[0] = 15;
    w->leader[0] = 0;
    make(w, &o, "fresh", "other", 2);
    world_restart(w);
    assert_int_equal(o.calls, 0);
}

const struct CMUnitTest streams_tests[] = {
    TEST(test_a_member_joins),
    TEST(test_requests_reach_coord_whole),
    TEST(test_blank_group_ids),
    TEST(test_describe_of_many),
    TEST(test_groups_are_listed_by_type),
    TEST(test_a_topology_there_and_back),
    TEST(test_an_initialization_holds_its_connection),
    TEST(test_streams_groups_can_be_turned_off),
    TEST(test_topics_are_made_here),
    TEST(test_what_cannot_be_made_is_named),
    TEST(test_topics_are_made_by_the_leader),
    TEST(test_nobody_leads),
    TEST(test_the_leader_does_not_answer),
    TEST(test_the_node_ends_meanwhile),
};
const size_t streams_test_count = COUNT_OF(streams_tests);
