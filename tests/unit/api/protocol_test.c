/* protocol_test.c: what is served, in which versions, and what happens to everything else. */
#include "world.h"

#include <string.h>

/* Kafka 4.4 accepts these; whoever changes a schema has to change this table, too. */
static const struct {
    int16_t key, min, max;
} ranges[] = {{0, 3, 13},    {1, 4, 18},    {2, 1, 11},    {3, 0, 13},    {8, 2, 10},    {9, 1, 10},    {10, 0, 6},    {11, 0, 9},
              {12, 0, 4},    {13, 0, 5},    {14, 0, 5},    {15, 0, 6},    {16, 0, 5},    {18, 0, 5},    {19, 2, 7},    {20, 1, 6},
              {22, 0, 5},    {23, 2, 4},    {32, 1, 4},    {37, 0, 3},    {42, 0, 3},    {44, 0, 1},    {46, 0, 0},    {47, 0, 0},
              {60, 0, 2},    {68, 0, 1},    {69, 0, 1},    {74, 0, 1},    {75, 0, 0},    {88, 0, 1},    {89, 0, 1},    {93, 0, 0},
              {20000, 0, 0}, {20001, 0, 0}, {20002, 0, 0}, {20003, 0, 0}, {20005, 0, 0}, {20006, 0, 0}, {20007, 0, 0}, {20008, 0, 0},
              {20009, 0, 0}, {20010, 0, 0}, {20020, 0, 0}, {20030, 0, 0}, {20040, 0, 0}, {20050, 0, 0}};

static struct api_versions_request versions_request(void)
{
    struct api_versions_request request;
    wire_init(&wire_api_versions_request, &request);
    request.client_software_name = STR("tester");
    request.client_software_version = STR("1.0-rc.1");
    return request;
}

static void test_version_ranges(void **state)
{
    struct world *w = *state;
    struct api_versions_request request = versions_request();
    for (int16_t version = 0; version <= 5; version++) {
        const struct api_versions_response *response = ask(w, API_KEY_API_VERSIONS, version, &request);
        assert_int_equal(response->error_code, 0);
        assert_int_equal(response->api_keys.len, COUNT_OF(ranges));
        for (size_t i = 0; i < COUNT_OF(ranges); i++) {
            assert_int_equal(response->api_keys.v[i].api_key, ranges[i].key);
            assert_int_equal(response->api_keys.v[i].min_version, ranges[i].key == API_KEY_PRODUCE ? 0 : ranges[i].min);
            assert_int_equal(response->api_keys.v[i].max_version, ranges[i].max);
        }
        assert_int_equal(response->supported_features.len, version >= 4 ? 2 : 0);
        assert_int_equal(response->finalized_features.len, version >= 3 ? 2 : 0);
        assert_int_equal(response->finalized_features_epoch, version >= 3 ? 0 : -1);
        for (int i = 0; i < 2 && version >= 4; i++) {
            STR_IS(response->supported_features.v[i].name, i == 0 ? "group.version" : "streams.version");
            assert_int_equal(response->supported_features.v[i].min_version, 0);
            assert_int_equal(response->supported_features.v[i].max_version, 1);
        }
        for (int i = 0; i < 2 && version >= 3; i++) {
            STR_IS(response->finalized_features.v[i].name, i == 0 ? "group.version" : "streams.version");
            assert_int_equal(response->finalized_features.v[i].max_version_level, 1);
        }
    }
}

static void test_table_of_keys(void **state)
{
    (void)state;
    assert_int_equal(api_key_count(), COUNT_OF(ranges));
    for (size_t i = 0; i < COUNT_OF(ranges); i++) {
        const char *name;
        assert_int_equal(api_key_at(i, &name), ranges[i].key);
        assert_string_equal(name, wire_api_find(ranges[i].key)->name);
    }
}

/* KIP-511: answered in version 0, with nothing but the range of ApiVersions itself. */
static void test_versions_too_new(void **state)
{
    struct world *w = *state;
    static const uint8_t frame[] = {0, 18, 0, 99, 0, 0, 0, 7, 0, 2, 'm', 'e', 0, 0xde, 0xad, 0xbe, 0xef};
    static const uint8_t expected[] = {0, 0, 0, 16, 0, 0, 0, 7, 0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 5};
    struct net_slot *slot = slot_frame(w, frame, sizeof(frame));
    assert_int_equal(slot->verdict, NET_TAKEN);
    assert_int_equal(slot->out.len, sizeof(expected));
    assert_memory_equal(slot->out.ptr, expected, sizeof(expected));
    slot_free(slot);
    static const uint8_t negative[] = {0, 18, 255, 255, 0, 0, 0, 7, 0, 2, 'm', 'e', 0};
    static const uint8_t with_tags[] = {0, 18, 0, 6, 0, 0, 0, 7, 0, 2, 'm', 'e', 1, 9, 2, 'x', 'y'};
    slot = slot_frame(w, negative, sizeof(negative));
    assert_int_equal(slot->verdict, NET_CLOSE);
    slot_free(slot);
    for (size_t len = 8; len <= sizeof(with_tags); len++) {
        slot = slot_frame(w, with_tags, len);
        assert_int_equal(slot->verdict, len == sizeof(with_tags) ? NET_TAKEN : NET_CLOSE);
        slot_free(slot);
    }
}

static int16_t versions_error(struct world *w, int16_t version, const struct api_versions_request *request)
{
    const struct api_versions_response *response = ask(w, API_KEY_API_VERSIONS, version, request);
    assert_int_equal(response->api_keys.len, response->error_code == 0 ? (int32_t)COUNT_OF(ranges) : 0);
    return response->error_code;
}

static void test_software_names(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *name;
        int16_t error;
    } names[] = {{"a", 0},    {"apache-kafka-java", 0}, {"v1.2-3", 0}, {"", 42},   {"-a", 42}, {"a.", 42},
                 {"a b", 42}, {"\xc3\xa4", 42},         {"a_b", 42},   {"a/b", 42}};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct api_versions_request request = versions_request();
        request.client_software_name = str_of(names[i].name);
        assert_int_equal(versions_error(w, 3, &request), names[i].error);
        request = versions_request();
        request.client_software_version = str_of(names[i].name);
        assert_int_equal(versions_error(w, 5, &request), names[i].error);
        assert_int_equal(versions_error(w, 2, &request), 0);
    }
}

/* KIP-1242 */
static void test_cluster_and_node(void **state)
{
    struct world *w = *state;
    char id[23];
    uuid_text(w->options.cluster_id, id);
    static const struct {
        int cluster;
        int32_t node;
        int16_t error;
    } cases[] = {{0, -1, 0}, {1, SELF, 0}, {1, -1, 42}, {0, SELF, 42}, {1, 2, 129}, {2, SELF, 129}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct api_versions_request request = versions_request();
        request.cluster_id = cases[i].cluster == 0 ? STR_NULL : cases[i].cluster == 1 ? str_of(id) : STR("another");
        request.node_id = cases[i].node;
        assert_int_equal(versions_error(w, 5, &request), cases[i].error);
        assert_int_equal(versions_error(w, 4, &request), 0);
    }
}

static void expect_close(struct world *w, const void *frame, size_t len)
{
    struct net_slot *slot = slot_frame(w, frame, len);
    assert_int_equal(slot->verdict, NET_CLOSE);
    assert_int_equal(slot->out.len, 0);
    slot_free(slot);
}

/* Requests whose few bytes would become much memory, here or in the answer. */
static void test_amplification(void **state)
{
    enum { NAMES = 2000000, RESOURCES = 60000 };
    static struct str names[NAMES];
    static struct describe_configs_request_resource resources[RESOURCES];
    struct world *w = *state;
    struct find_coordinator_request find;
    w->options.request_max_groups = NAMES;
    world_restart(w);
    wire_init(&wire_find_coordinator_request, &find);
    for (size_t i = 0; i < NAMES; i++) {
        names[i] = STR("");
    }
    find.coordinator_keys.v = names;
    find.coordinator_keys.len = NAMES;
    struct net_slot *slot = slot_ask(w, API_KEY_FIND_COORDINATOR, 6, &find);
    assert_int_equal(slot->verdict, NET_CLOSE);
    slot_free(slot);
    find.coordinator_keys.len = NAMES / 4;
    const struct find_coordinator_response *found = ask(w, API_KEY_FIND_COORDINATOR, 6, &find);
    assert_int_equal(found->coordinators.len, NAMES / 4);

    struct describe_configs_request describe;
    create_topic(w, "orders", 1);
    wire_init(&wire_describe_configs_request, &describe);
    for (size_t i = 0; i < RESOURCES; i++) {
        resources[i] = (struct describe_configs_request_resource){.resource_type = 2,
                                                                  .resource_name = STR("orders"),
                                                                  .configuration_keys = {NULL, -1}};
    }
    describe.resources.v = resources;
    describe.resources.len = RESOURCES;
    const struct describe_configs_response *described = ask(w, API_KEY_DESCRIBE_CONFIGS, 4, &describe);
    assert_int_equal(described->results.len, RESOURCES);
    assert_int_equal(described->results.v[0].error_code, 0);
    assert_true(described->results.v[0].configs.len > 0);
    assert_int_equal(described->results.v[RESOURCES - 1].error_code, 42);
}

static void test_garbage_closes(void **state)
{
    struct world *w = *state;
    static const uint8_t unknown_key[] = {3, 231, 0, 0, 0, 0, 0, 7, 0, 2, 'm', 'e'};
    static const uint8_t unknown_version[] = {0, 12, 0, 99, 0, 0, 0, 7, 0, 2, 'm', 'e'};
    static const uint8_t below_version[] = {0, 8, 0, 1, 0, 0, 0, 7, 0, 2, 'm', 'e'};
    static const uint8_t truncated[] = {0, 12, 0, 0, 0, 0, 0, 7, 0, 2, 'm', 'e', 0, 1, 'g', 0, 0};
    static const uint8_t negative[] = {0, 12, 0, 0, 0, 0, 0, 7, 0, 2, 'm', 'e', 0x80, 1, 'g', 0, 0, 0, 0, 0, 0};
    static const uint8_t huge_count[] = {0, 8, 0, 2, 0, 0, 0, 7, 0,    2,    'm',  'e',  0, 1, 'g', 0, 0, 0, 0, 0,
                                         0, 0, 0, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 1, 't', 0, 0, 0, 0};
    static const uint8_t unserved[] = {0, 76, 0, 1, 0, 0, 0, 7, 0, 2, 'm', 'e', 0, 0, 0, 0, 0, 0, 0};
    static const uint8_t forming[] = {78, 36, 0, 0, 0, 0, 0, 7, 0, 2, 'm', 'e', 0, 1, 0};
    expect_close(w, unknown_key, sizeof(unknown_key));
    expect_close(w, unknown_version, sizeof(unknown_version));
    expect_close(w, below_version, sizeof(below_version));
    expect_close(w, negative, sizeof(negative));
    expect_close(w, huge_count, sizeof(huge_count));
    expect_close(w, unserved, sizeof(unserved));
    expect_close(w, forming, sizeof(forming));
    for (size_t len = 1; len < sizeof(truncated); len++) {
        expect_close(w, truncated, len);
    }
    struct api_stats stats;
    api_stats(w->api, &stats);
    assert_int_equal(stats.unsupported, 5);
    assert_int_equal(stats.waiting, 0);
}

/* Kafka takes what stands behind a body without a word. */
static void test_trailing_bytes(void **state)
{
    struct world *w = *state;
    static const uint8_t frame[] = {0, 12, 0, 0, 0, 0, 0, 77, 0, 2, 'm', 'e', 0, 1, 'g', 0, 0, 0, 1, 0, 1, 'x', 1, 2, 3, 4, 5};
    struct net_slot *slot = slot_frame(w, frame, sizeof(frame));
    const struct heartbeat_response *response = slot_answer(w, slot, API_KEY_HEARTBEAT, 0);
    assert_int_equal(response->error_code, 25);
    slot_free(slot);
}

static bool may_wait(int16_t key)
{
    return key == API_KEY_JOIN_GROUP || key == API_KEY_SYNC_GROUP || key == API_KEY_FETCH || key == API_KEY_STREAMS_GROUP_INITIALIZE;
}

static bool yields(int16_t key)
{
    return key == API_KEY_CONSUMER_GROUP_HEARTBEAT || key == API_KEY_STREAMS_GROUP_HEARTBEAT;
}

/* Every version of every API: an empty request is decoded, and answered in its version or by a close. */
static void each_version(struct world *w)
{
    for (size_t i = 0; i < COUNT_OF(ranges); i++) {
        const struct wire_api *api = wire_api_find(ranges[i].key);
        void *request = arena_get(&w->memory, api->request->type->size);
        wire_init(api->request, request);
        for (int16_t version = ranges[i].min; version <= ranges[i].max; version++) {
            struct net_slot *slot = slot_ask(w, api->key, version, request);
            assert_int_equal(slot->verdict, may_wait(api->key) ? NET_HOLD : yields(api->key) ? NET_YIELD : NET_TAKEN);
            if (!slot->answered) {
                world_pass(w, 20000);
            }
            assert_true(slot->answered);
            assert_true(slot->closed == (api->key == API_KEY_PRODUCE)); /* acks 0 */
            if (!slot->closed) {
                slot_answer(w, slot, api->key, version);
            }
            slot_free(slot);
        }
    }
}

static void test_each_version_served(void **state)
{
    each_version(*state);
}

static void test_each_version_elsewhere(void **state)
{
    struct world *w = *state;
    for (uint32_t i = 0; i < SHARDS; i++) {
        w->state[i] = 16;
        w->leader[i] = 0;
    }
    each_version(w);
}

static void test_statistics(void **state)
{
    struct world *w = *state;
    struct api_versions_request request = versions_request();
    struct api_stats stats;
    ask(w, API_KEY_API_VERSIONS, 3, &request);
    request.client_software_name = STR("");
    ask(w, API_KEY_API_VERSIONS, 3, &request);
    api_stats(w->api, &stats);
    assert_int_equal(stats.requests, 2);
    for (size_t i = 0; i < api_key_count(); i++) {
        const char *name;
        bool versions = api_key_at(i, &name) == API_KEY_API_VERSIONS;
        assert_int_equal(stats.by_key[i], versions ? 2 : 0);
        assert_int_equal(stats.error_by_key[i], versions ? 1 : 0);
    }
}

const struct CMUnitTest protocol_tests[] = {
    TEST(test_version_ranges),      TEST(test_table_of_keys),          TEST(test_versions_too_new), TEST(test_software_names),
    TEST(test_cluster_and_node),    TEST(test_amplification),          TEST(test_garbage_closes),   TEST(test_trailing_bytes),
    TEST(test_each_version_served), TEST(test_each_version_elsewhere), TEST(test_statistics),
};
const size_t protocol_test_count = COUNT_OF(protocol_tests);
