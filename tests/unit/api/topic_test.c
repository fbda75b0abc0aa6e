/* topic_test.c: nodes, topics and configs as clients see them. */
#include "world.h"

#include <string.h>

static struct metadata_request all_topics(void)
{
    struct metadata_request request;
    wire_init(&wire_metadata_request, &request);
    request.topics = (struct metadata_request_topic_array){NULL, -1};
    request.allow_auto_topic_creation = false;
    return request;
}

static void test_metadata_lists_reachable_nodes(void **state)
{
    struct world *w = *state;
    struct metadata_request request = all_topics();
    char id[23];
    uuid_text(w->options.cluster_id, id);
    register_node(w, 3, "third.example", 3333);
    register_node(w, 2, "second.example", 2222);
    const struct metadata_response *response = ask(w, API_KEY_METADATA, 13, &request);
    assert_int_equal(response->brokers.len, 3);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(response->brokers.v[i].node_id, i + 1);
    }
    STR_IS(response->brokers.v[0].host, "self.example");
    STR_IS(response->brokers.v[2].host, "third.example");
    assert_int_equal(response->brokers.v[1].port, 2222);
    STR_IS(response->cluster_id, id);
    assert_int_equal(response->controller_id, SELF);
    w->connected[2] = false;
    w->leader[0] = 0;
    response = ask(w, API_KEY_METADATA, 13, &request);
    assert_int_equal(response->brokers.len, 2);
    assert_int_equal(response->brokers.v[1].node_id, 3);
    assert_int_equal(response->controller_id, -1);
    w->leader[1] = 2; /* a coordinator is listed whatever its connection */
    response = ask(w, API_KEY_METADATA, 13, &request);
    assert_int_equal(response->brokers.len, 3);
}

static void test_metadata_places_partitions(void **state)
{
    struct world *w = *state;
    struct metadata_request request = all_topics();
    register_node(w, 3, "third.example", 3333);
    register_node(w, 2, "second.example", 2222);
    create_topic(w, "ta", 6);
    request.include_topic_authorized_operations = true;
    for (int16_t version = 8; version <= 13; version++) {
        const struct metadata_response *response = ask(w, API_KEY_METADATA, version, &request);
        assert_int_equal(response->topics.len, 1);
        assert_int_equal(response->topics.v[0].partitions.len, 6);
        assert_int_equal(response->topics.v[0].topic_authorized_operations, 3576);
        int seen[4] = {0};
        for (int32_t i = 0; i < 6; i++) {
            const struct metadata_response_partition *p = &response->topics.v[0].partitions.v[i];
            assert_int_equal(p->partition_index, i);
            assert_int_equal(p->leader_epoch, 0);
            assert_in_range(p->leader_id, 1, 3);
            assert_int_equal(p->replica_nodes.v[0], p->leader_id);
            assert_int_equal(p->isr_nodes.len, p->replica_nodes.len);
            seen[p->leader_id]++;
        }
        assert_int_equal(seen[1], 2);
        assert_int_equal(seen[2], 2);
        assert_int_equal(seen[3], 2);
    }
    w->connected[3] = false;
    const struct metadata_response *response = ask(w, API_KEY_METADATA, 13, &request);
    for (int32_t i = 0; i < 6; i++) {
        assert_int_not_equal(response->topics.v[0].partitions.v[i].leader_id, 3);
    }
}

static void test_metadata_of_topics(void **state)
{
    struct world *w = *state;
    struct metadata_request_topic names[] = {
        {.name = STR("ta")}, {.name = STR("tb")}, {.name = STR("ta")}, {.name = STR("a/b")}, {.name = STR("..")}};
    struct metadata_request request = all_topics();
    create_topic(w, "ta", 1);
    request.topics.v = names;
    request.topics.len = COUNT_OF(names);
    for (int16_t version = 0; version <= 13; version++) {
        const struct metadata_response *response = ask(w, API_KEY_METADATA, version, &request);
        assert_int_equal(response->topics.len, 4);
        assert_int_equal(response->topics.v[0].error_code, 0);
        STR_IS(response->topics.v[0].name, "ta");
        assert_int_equal(response->topics.v[1].error_code, 3);
        assert_int_equal(response->topics.v[2].error_code, 17);
        assert_int_equal(response->topics.v[3].error_code, 17);
    }
}

/* A slice a turn, and nothing is told twice. */
static void test_large_metadata_does_not_hold_the_loop(void **state)
{
    enum { NAMES = 4000, PARTITIONS = 3000 };
    struct world *w = *state;
    struct metadata_request request = all_topics();
    create_topic(w, "ta", PARTITIONS);
    create_topic(w, "tb", PARTITIONS);
    create_topic(w, "tc", PARTITIONS);
    request.topics.v = ARENA_NEW(&w->memory, struct metadata_request_topic, NAMES);
    request.topics.len = NAMES;
    for (int32_t i = 0; i < NAMES; i++) {
        request.topics.v[i].name = i % 2 == 1 ? arena_printf(&w->memory, "t%d", i) : i % 4 == 0 ? STR("ta") : STR("tb");
    }
    struct net_slot *slot = slot_ask(w, API_KEY_METADATA, 12, &request);
    assert_false(slot->answered);
    world_pass(w, 1);
    assert_true(slot->answered);
    const struct metadata_response *response = slot_answer(w, slot, API_KEY_METADATA, 12);
    assert_int_equal(response->topics.len, 2 + NAMES / 2);
    STR_IS(response->topics.v[0].name, "ta");
    assert_int_equal(response->topics.v[0].partitions.len, PARTITIONS);
    STR_IS(response->topics.v[1].name, "t1");
    assert_int_equal(response->topics.v[1].error_code, 3);
    STR_IS(response->topics.v[2].name, "tb");
    slot_free(slot);
    request = all_topics();
    slot = slot_ask(w, API_KEY_METADATA, 12, &request);
    assert_false(slot->answered);
    world_pass(w, 1);
    response = slot_answer(w, slot, API_KEY_METADATA, 12);
    assert_int_equal(response->topics.len, 3);
    STR_IS(response->topics.v[2].name, "tc");
    assert_int_equal(response->topics.v[2].partitions.len, PARTITIONS);
    slot_free(slot);
}

static void test_client_goes_while_metadata_is_made(void **state)
{
    struct world *w = *state;
    struct metadata_request request = all_topics();
    create_topic(w, "ta", 6000);
    create_topic(w, "tb", 6000);
    struct net_slot *slot = slot_ask(w, API_KEY_METADATA, 12, &request);
    assert_false(slot->answered);
    slot_gone(w, slot);
    world_pass(w, 1);
    assert_int_equal(slot->out.len, 0);
    slot_free(slot);
}

static void test_too_many_topics(void **state)
{
    struct world *w = *state;
    struct metadata_request request = all_topics();
    struct api_stats stats;
    int32_t most = 2000;
    w->options.request_max_topics = most;
    world_restart(w);
    create_topic(w, "ta", 1);
    request.topics.v = ARENA_NEW(&w->memory, struct metadata_request_topic, most + 1);
    for (int32_t i = 0; i <= most; i++) {
        request.topics.v[i].name = STR("ta");
    }
    request.topics.len = most + 1;
    struct net_slot *slot = slot_ask(w, API_KEY_METADATA, 12, &request);
    assert_true(slot->closed);
    slot_free(slot);
    api_stats(w->api, &stats);
    assert_int_equal(stats.too_many_topics, 1);
    request.topics.len = most;
    assert_int_equal(((const struct metadata_response *)ask(w, API_KEY_METADATA, 12, &request))->topics.len, 1);
}

/* The size is known before the first byte is written. */
static void test_answer_too_large(void **state)
{
    struct world *w = *state;
    struct metadata_request request = all_topics();
    struct api_stats stats;
    create_topic(w, "ta", 3000);
    w->options.response_max_bytes = 400 << 10;
    world_restart(w);
    assert_int_equal(((const struct metadata_response *)ask(w, API_KEY_METADATA, 12, &request))->topics.len, 1);
    w->options.response_max_bytes = 50 << 10;
    world_restart(w);
    struct net_slot *slot = slot_ask(w, API_KEY_METADATA, 12, &request);
    assert_true(slot->closed);
    assert_int_equal(slot->out.cap, 0);
    slot_free(slot);
    api_stats(w->api, &stats);
    assert_int_equal(stats.answers_too_large, 1);
}

static void test_metadata_of_all_and_none(void **state)
{
    struct world *w = *state;
    struct metadata_request request = all_topics();
    create_topic(w, "ta", 1);
    create_topic(w, "tb", 1);
    assert_int_equal(((const struct metadata_response *)ask(w, API_KEY_METADATA, 1, &request))->topics.len, 2);
    request.topics.len = 0;
    assert_int_equal(((const struct metadata_response *)ask(w, API_KEY_METADATA, 1, &request))->topics.len, 0);
    assert_int_equal(((const struct metadata_response *)ask(w, API_KEY_METADATA, 0, &request))->topics.len, 2);
}

static void test_metadata_by_id(void **state)
{
    struct world *w = *state;
    struct metadata_request request = all_topics();
    create_topic(w, "ta", 1);
    const struct metadata_response *all = ask(w, API_KEY_METADATA, 12, &request);
    struct metadata_request_topic topics[] = {{.topic_id = all->topics.v[0].topic_id, .name = STR_NULL},
                                              {.topic_id = {{7}}, .name = STR_NULL}};
    request.topics.v = topics;
    request.topics.len = 2;
    const struct metadata_response *response = ask(w, API_KEY_METADATA, 12, &request);
    assert_int_equal(response->topics.v[0].error_code, 0);
    STR_IS(response->topics.v[0].name, "ta");
    assert_int_equal(response->topics.v[1].error_code, 100);
    assert_true(uuid_eq(response->topics.v[1].topic_id, topics[1].topic_id));
    assert_true(str_is_null(response->topics.v[1].name));
    response = ask(w, API_KEY_METADATA, 10, &request); /* ids mean nothing yet: the whole request is refused */
    assert_int_equal(response->topics.v[0].error_code, 42);
    assert_int_equal(response->topics.v[1].error_code, 42);
    assert_int_equal(response->brokers.len, 0);
    topics[1] = (struct metadata_request_topic){.name = STR_NULL};
    response = ask(w, API_KEY_METADATA, 13, &request);
    assert_int_equal(response->topics.v[0].error_code, -1);
    assert_int_equal(response->error_code, -1);
    topics[1] = (struct metadata_request_topic){.topic_id = topics[0].topic_id, .name = STR("other")};
    response = ask(w, API_KEY_METADATA, 13, &request);
    assert_int_equal(response->topics.len, 1); /* the id counts, and it is there already */
    topics[1] = (struct metadata_request_topic){.name = STR("ta")};
    response = ask(w, API_KEY_METADATA, 13, &request);
    assert_int_equal(response->topics.len, 1); /* beside ids, names do not count */
}

static void test_auto_creation(void **state)
{
    struct world *w = *state;
    struct metadata_request_topic names[] = {{.name = STR("fresh")}, {.name = STR("a/b")}};
    struct metadata_request request = all_topics();
    request.topics.v = names;
    request.topics.len = 2;
    request.allow_auto_topic_creation = true;
    assert_int_equal(((const struct metadata_response *)ask(w, API_KEY_METADATA, 9, &request))->topics.v[0].error_code, 3);
    w->options.auto_create_topics = true;
    world_restart(w);
    request.allow_auto_topic_creation = false;
    assert_int_equal(((const struct metadata_response *)ask(w, API_KEY_METADATA, 9, &request))->topics.v[0].error_code, 3);
    request.allow_auto_topic_creation = true;
    const struct metadata_response *response = ask(w, API_KEY_METADATA, 9, &request);
    assert_int_equal(response->topics.v[0].error_code, 0);
    assert_int_equal(response->topics.v[0].partitions.len, 2);
    assert_int_equal(response->topics.v[1].error_code, 17);
}

/* A node that has not caught up does not say that topics do not exist, for a while. */
static void test_catalogue_not_ready(void **state)
{
    struct world *w = *state;
    struct metadata_request request = all_topics();
    world_restart(w);
    w->leader[0] = 0;
    struct net_slot *slot = slot_ask(w, API_KEY_METADATA, 9, &request);
    assert_false(slot->answered);
    world_pass(w, 300);
    assert_false(slot->answered);
    w->leader[0] = 2;
    world_pass(w, 30);
    assert_true(slot->answered);
    slot_free(slot);
    world_restart(w);
    w->leader[0] = 0;
    slot = slot_ask(w, API_KEY_METADATA, 9, &request);
    for (int i = 0; i < 11; i++) {
        world_pass(w, 100);
    }
    assert_true(slot->answered); /* better something than nothing */
    slot_free(slot);
    slot = slot_ask(w, API_KEY_METADATA, 9, &request);
    slot_gone(w, slot);
    slot_free(slot);
}

static void test_describe_cluster(void **state)
{
    struct world *w = *state;
    struct describe_cluster_request request;
    wire_init(&wire_describe_cluster_request, &request);
    register_node(w, 2, "second.example", 2222);
    w->connected[2] = false;
    const struct describe_cluster_response *response = ask(w, API_KEY_DESCRIBE_CLUSTER, 2, &request);
    assert_int_equal(response->brokers.len, 1);
    assert_int_equal(response->controller_id, SELF);
    assert_int_equal(response->cluster_authorized_operations, INT32_MIN);
    request.include_fenced_brokers = true;
    request.include_cluster_authorized_operations = true;
    response = ask(w, API_KEY_DESCRIBE_CLUSTER, 2, &request);
    assert_int_equal(response->brokers.len, 2);
    assert_false(response->brokers.v[0].is_fenced);
    assert_true(response->brokers.v[1].is_fenced);
    assert_int_equal(response->cluster_authorized_operations, 8096);
    request.endpoint_type = 2;
    assert_int_equal(((const struct describe_cluster_response *)ask(w, API_KEY_DESCRIBE_CLUSTER, 1, &request))->error_code, 114);
    request.endpoint_type = 3;
    assert_int_equal(((const struct describe_cluster_response *)ask(w, API_KEY_DESCRIBE_CLUSTER, 1, &request))->error_code, 115);
}

/* ---- DescribeTopicPartitions ---- */

static struct describe_topic_partitions_request pages(int32_t limit)
{
    struct describe_topic_partitions_request request;
    wire_init(&wire_describe_topic_partitions_request, &request);
    request.response_partition_limit = limit;
    return request;
}

static void test_pages_of_all_topics(void **state)
{
    struct world *w = *state;
    create_topic(w, "ta", 3);
    create_topic(w, "tb", 1);
    create_topic(w, "tc", 5);
    struct describe_topic_partitions_request request = pages(2);
    int32_t partitions = 0, asked = 0;
    for (;;) {
        const struct describe_topic_partitions_response *response = ask(w, API_KEY_DESCRIBE_TOPIC_PARTITIONS, 0, &request);
        int32_t here = 0;
        asked++;
        for (int32_t i = 0; i < response->topics.len; i++) {
            assert_int_equal(response->topics.v[i].error_code, 0);
            here += response->topics.v[i].partitions.len;
        }
        assert_in_range(here, 1, 2);
        partitions += here;
        if (response->next_cursor == NULL) {
            break;
        }
        struct describe_topic_partitions_request_cursor *cursor = arena_get(&w->memory, sizeof(*cursor));
        cursor->topic_name = response->next_cursor->topic_name;
        cursor->partition_index = response->next_cursor->partition_index;
        request.cursor = cursor;
    }
    assert_int_equal(partitions, 9);
    assert_int_equal(asked, 5);
}

static void test_pages_of_named_topics(void **state)
{
    struct world *w = *state;
    struct describe_topic_partitions_request_topic_request names[] = {{STR("tc")}, {STR("ta")}, {STR("nope")}, {STR("ta")}};
    struct describe_topic_partitions_request_cursor cursor = {STR("tc"), 1};
    create_topic(w, "ta", 3);
    create_topic(w, "tc", 3);
    struct describe_topic_partitions_request request = pages(2000);
    request.topics.v = names;
    request.topics.len = COUNT_OF(names);
    const struct describe_topic_partitions_response *response = ask(w, API_KEY_DESCRIBE_TOPIC_PARTITIONS, 0, &request);
    assert_int_equal(response->topics.len, 3);
    STR_IS(response->topics.v[0].name, "nope");
    assert_int_equal(response->topics.v[0].error_code, 3);
    STR_IS(response->topics.v[1].name, "ta");
    assert_int_equal(response->topics.v[1].partitions.len, 3);
    assert_int_equal(response->topics.v[1].topic_authorized_operations, 3576);
    STR_IS(response->topics.v[2].name, "tc");
    assert_null(response->next_cursor);
    request.cursor = &cursor;
    response = ask(w, API_KEY_DESCRIBE_TOPIC_PARTITIONS, 0, &request);
    assert_int_equal(response->topics.len, 1);
    assert_int_equal(response->topics.v[0].partitions.len, 2);
    assert_int_equal(response->topics.v[0].partitions.v[0].partition_index, 1);
    request.response_partition_limit = 0;
    response = ask(w, API_KEY_DESCRIBE_TOPIC_PARTITIONS, 0, &request);
    assert_int_equal(response->topics.v[0].partitions.len, 1);
    assert_int_equal(response->next_cursor->partition_index, 2);
}

static void expect_page_error(struct world *w, const struct describe_topic_partitions_request *request, int16_t error)
{
    const struct describe_topic_partitions_response *response = ask(w, API_KEY_DESCRIBE_TOPIC_PARTITIONS, 0, request);
    assert_int_equal(response->topics.len, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(response->topics.v[i].error_code, error);
        assert_int_equal(response->topics.v[i].topic_authorized_operations, INT32_MIN);
    }
    assert_null(response->next_cursor);
}

static void test_pages_that_cannot_be(void **state)
{
    struct world *w = *state;
    struct describe_topic_partitions_request_topic_request names[] = {{STR("ta")}, {STR("tb")}};
    struct describe_topic_partitions_request_cursor cursor = {STR("zz"), 0};
    create_topic(w, "ta", 3);
    struct describe_topic_partitions_request request = pages(10);
    request.topics.v = names;
    request.topics.len = 2;
    request.cursor = &cursor;
    expect_page_error(w, &request, 42);
    cursor = (struct describe_topic_partitions_request_cursor){STR("ta"), -1};
    expect_page_error(w, &request, 42);
    request.cursor = NULL;
    names[1].name = STR("a b");
    expect_page_error(w, &request, -1);
}

/* ---- configs ---- */

static void test_config_resources(void **state)
{
    struct world *w = *state;
    struct list_config_resources_request request;
    int8_t types[2] = {2};
    wire_init(&wire_list_config_resources_request, &request);
    create_topic(w, "ta", 1);
    const struct list_config_resources_response *response = ask(w, API_KEY_LIST_CONFIG_RESOURCES, 0, &request);
    assert_int_equal(response->config_resources.len, 0);
    response = ask(w, API_KEY_LIST_CONFIG_RESOURCES, 1, &request);
    assert_int_equal(response->config_resources.len, 3); /* the topic, and the node as broker and as logger */
    request.resource_types.v = types;
    request.resource_types.len = 1;
    response = ask(w, API_KEY_LIST_CONFIG_RESOURCES, 1, &request);
    assert_int_equal(response->config_resources.len, 1);
    STR_IS(response->config_resources.v[0].resource_name, "ta");
    types[1] = 77;
    request.resource_types.len = 2;
    response = ask(w, API_KEY_LIST_CONFIG_RESOURCES, 1, &request);
    assert_int_equal(response->error_code, 35);
}

static struct str broker_value(const void *ctx, struct str key, struct arena *arena)
{
    (void)ctx;
    (void)arena;
    return str_eq(key, STR("num.partitions")) ? STR("2") : STR_NULL;
}

static bool broker_next(const void *ctx, struct str after, struct str *ret_key)
{
    (void)ctx;
    *ret_key = STR("num.partitions");
    return str_is_null(after);
}

static void test_configs_of_brokers(void **state)
{
    struct world *w = *state;
    struct describe_configs_request_resource resources[] = {{4, STR("1"), {NULL, -1}}, {4, STR("2"), {NULL, -1}}};
    struct describe_configs_request request;
    w->options.broker_values = (struct catalog_broker_values){NULL, broker_value, broker_next};
    world_restart(w);
    wire_init(&wire_describe_configs_request, &request);
    request.resources.v = resources;
    request.resources.len = 2;
    const struct describe_configs_response *response = ask(w, API_KEY_DESCRIBE_CONFIGS, 4, &request);
    assert_int_equal(response->results.len, 2);
    assert_int_equal(response->results.v[0].error_code, 0);
    bool found = false;
    for (int32_t i = 0; i < response->results.v[0].configs.len; i++) {
        found = found || str_eq(response->results.v[0].configs.v[i].name, STR("num.partitions"));
    }
    assert_true(found);
    assert_int_equal(response->results.v[1].error_code, 42);
    STR_IS(response->results.v[1].resource_name, "2");
}

const struct CMUnitTest topic_tests[] = {
    TEST(test_metadata_lists_reachable_nodes),
    TEST(test_metadata_places_partitions),
    TEST(test_metadata_of_topics),
    TEST(test_metadata_of_all_and_none),
    TEST(test_large_metadata_does_not_hold_the_loop),
    TEST(test_client_goes_while_metadata_is_made),
    TEST(test_too_many_topics),
    TEST(test_answer_too_large),
    TEST(test_metadata_by_id),
    TEST(test_auto_creation),
    TEST(test_catalogue_not_ready),
    TEST(test_describe_cluster),
    TEST(test_pages_of_all_topics),
    TEST(test_pages_of_named_topics),
    TEST(test_pages_that_cannot_be),
    TEST(test_config_resources),
    TEST(test_configs_of_brokers),
};
const size_t topic_test_count = COUNT_OF(topic_tests);
