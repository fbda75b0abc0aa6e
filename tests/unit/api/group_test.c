/* group_test.c: requests about groups: where they go, how parts become one answer. */
#include "world.h"

#include <string.h>

static const struct find_coordinator_response *find(struct world *w, int16_t version, int8_t type, struct str key)
{
    struct find_coordinator_request request;
    wire_init(&wire_find_coordinator_request, &request);
    request.key = key;
    request.key_type = type;
    request.coordinator_keys.v = &key;
    request.coordinator_keys.len = 1;
    return ask(w, API_KEY_FIND_COORDINATOR, version, &request);
}

static void test_find_coordinator(void **state)
{
    struct world *w = *state;
    register_node(w, 2, "second.example", 19092);
    w->leader[1] = 2;
    w->leader[2] = 0;
    for (int16_t version = 0; version <= 3; version++) {
        const struct find_coordinator_response *here = find(w, version, 0, group_of_shard(w, 0));
        assert_int_equal(here->error_code, 0);
        assert_int_equal(here->node_id, SELF);
        STR_IS(here->host, "self.example");
        assert_int_equal(here->port, 9092);
        if (version >= 1) {
            STR_IS(here->error_message, "NONE");
        }
        const struct find_coordinator_response *there = find(w, version, 0, group_of_shard(w, 1));
        assert_int_equal(there->node_id, 2);
        STR_IS(there->host, "second.example");
        const struct find_coordinator_response *nowhere = find(w, version, 0, group_of_shard(w, 2));
        assert_int_equal(nowhere->error_code, 15);
        assert_int_equal(nowhere->node_id, -1);
        STR_IS(nowhere->host, "");
        assert_int_equal(nowhere->port, -1);
    }
}

static void test_find_coordinators(void **state)
{
    struct world *w = *state;
    struct find_coordinator_request request;
    uint32_t lost = coord_shard_of(NULL, STR("")) == 2 ? 3 : 2;
    struct str keys[] = {group_of_shard(w, 0), group_of_shard(w, lost), STR("")};
    wire_init(&wire_find_coordinator_request, &request);
    request.coordinator_keys.v = keys;
    request.coordinator_keys.len = 3;
    w->leader[lost] = 0;
    for (int16_t version = 4; version <= 6; version++) {
        const struct find_coordinator_response *response = ask(w, API_KEY_FIND_COORDINATOR, version, &request);
        assert_int_equal(response->coordinators.len, 3);
        for (int i = 0; i < 3; i++) {
            assert_true(str_eq(response->coordinators.v[i].key, keys[i]));
            assert_int_equal(response->coordinators.v[i].error_code, i == 1 ? 15 : 0);
            assert_int_equal(response->coordinators.v[i].node_id, i == 1 ? -1 : SELF);
        }
    }
}

/* Nobody is sent to the node that just hands its shard over; who does not care for that shard does not wait. */
static void test_a_coordinator_on_its_way(void **state)
{
    struct world *w = *state;
    struct find_coordinator_request request;
    struct str key = group_of_shard(w, 1);
    wire_init(&wire_find_coordinator_request, &request);
    request.key = key;
    request.coordinator_keys.v = &key;
    request.coordinator_keys.len = 1;
    register_node(w, 2, "second.example", 19092);
    for (int16_t version = 3; version <= 6; version++) {
        w->leader[1] = SELF;
        w->moves[1] = true;
        struct net_slot *asks = slot_ask(w, API_KEY_FIND_COORDINATOR, version, &request);
        struct net_slot *leaves = slot_ask(w, API_KEY_FIND_COORDINATOR, version, &request);
        world_pass(w, 50);
        assert_false(asks->answered);
        assert_int_equal(find(w, version, 1, key)->error_code, version < 4 ? 15 : 0); /* another kind of key */
        slot_gone(w, leaves);
        slot_free(leaves);
        w->leader[1] = 2;
        w->moves[1] = false;
        world_pass(w, 2);
        const struct find_coordinator_response *found = slot_answer(w, asks, API_KEY_FIND_COORDINATOR, version);
        assert_int_equal(version < 4 ? found->node_id : found->coordinators.v[0].node_id, 2);
        slot_free(asks);
    }
}

static void test_find_other_coordinators(void **state)
{
    struct world *w = *state;
    assert_int_equal(find(w, 6, 1, STR("txn"))->coordinators.v[0].error_code, 15);
    assert_true(find(w, 6, 1, STR("txn"))->coordinators.v[0].error_message.len > 0);
    assert_int_equal(find(w, 6, 2, STR("g:AAAAAAAAAAAAAAAAAAAAAA:0"))->coordinators.v[0].error_code, 42);
    assert_int_equal(find(w, 6, 9, STR("x"))->coordinators.v[0].error_code, 42);
    assert_int_equal(find(w, 6, 9, STR("x"))->coordinators.v[0].node_id, -1);
    assert_int_equal(find(w, 3, 9, STR("x"))->error_code, 42);
    assert_int_equal(find(w, 3, 9, STR("x"))->node_id, -1);
}

static struct join_group_request join_request(struct str group)
{
    static struct join_group_request_protocol protocol = {STR("range"), {(const uint8_t *)"md", 2}};
    struct join_group_request request;
    wire_init(&wire_join_group_request, &request);
    request.group_id = group;
    request.session_timeout_ms = 10000;
    request.rebalance_timeout_ms = 10000;
    request.protocol_type = STR("consumer");
    request.protocols.v = &protocol;
    request.protocols.len = 1;
    return request;
}

static void test_requests_reach_coord_whole(void **state)
{
    struct world *w = *state;
    struct join_group_request request = join_request(STR("orders"));
    w->hold = true;
    struct net_slot *slot = slot_ask(w, API_KEY_JOIN_GROUP, 5, &request);
    assert_int_equal(slot->verdict, NET_HOLD);
    assert_int_equal(w->held_count, 1);
    const struct group_op *op = &w->held[0]->op;
    assert_int_equal(op->kind, GROUP_JOIN);
    assert_int_equal(op->api_key, API_KEY_JOIN_GROUP);
    assert_int_equal(op->api_version, 5);
    STR_IS(op->group_id, "orders");
    STR_IS(op->caller.client_id, "tester");
    STR_IS(op->caller.host, "/127.0.0.1");
    assert_int_equal(w->held[0]->connection, 42);
    assert_true(api_take_submitted(w->api));
    assert_false(api_take_submitted(w->api));
    world_decide(w, w->held[0]);
    const struct join_group_response *response = slot_answer(w, slot, API_KEY_JOIN_GROUP, 5);
    assert_int_equal(response->error_code, 79);
    slot_free(slot);
}

static void test_client_goes_while_coord_has_it(void **state)
{
    struct world *w = *state;
    struct join_group_request request = join_request(STR("orders"));
    w->hold = true;
    struct net_slot *slot = slot_ask(w, API_KEY_JOIN_GROUP, 5, &request);
    assert_false(slot->released);
    slot_gone(w, slot);
    assert_int_equal(w->cancelled, 1);
    assert_int_equal(slot->out.len, 0);
    slot_free(slot);
}

static void test_refused_elsewhere(void **state)
{
    struct world *w = *state;
    struct heartbeat_request request;
    wire_init(&wire_heartbeat_request, &request);
    request.group_id = group_of_shard(w, 1);
    w->state[1] = 16;
    const struct heartbeat_response *response = ask(w, API_KEY_HEARTBEAT, 4, &request);
    assert_int_equal(response->error_code, 16);
}

static void test_empty_group_id(void **state)
{
    struct world *w = *state;
    struct heartbeat_request heartbeat;
    struct join_group_request join = join_request(STR(""));
    for (uint32_t i = 0; i < SHARDS; i++) {
        w->state[i] = 16; /* any node says so */
    }
    wire_init(&wire_heartbeat_request, &heartbeat);
    assert_int_equal(((const struct heartbeat_response *)ask(w, API_KEY_HEARTBEAT, 0, &heartbeat))->error_code, 24);
    assert_int_equal(((const struct join_group_response *)ask(w, API_KEY_JOIN_GROUP, 9, &join))->error_code, 24);
    struct offset_commit_request commit_request;
    wire_init(&wire_offset_commit_request, &commit_request);
    struct offset_commit_request_partition p = {.committed_metadata = STR("")};
    struct offset_commit_request_topic t = {.name = STR("ta"), .partitions = {&p, 1}};
    commit_request.topics.v = &t;
    commit_request.topics.len = 1;
    const struct offset_commit_response *committed = ask(w, API_KEY_OFFSET_COMMIT, 7, &commit_request);
    assert_int_equal(committed->topics.v[0].partitions.v[0].error_code, 16);
}

/* ---- OffsetFetch ---- */

static void test_offset_fetch_old_form(void **state)
{
    struct world *w = *state;
    struct str group = group_of_shard(w, 2);
    int32_t partitions[] = {0, 1};
    struct offset_fetch_request_topic topic = {.name = STR("ta"), .partition_indexes = {partitions, 2}};
    struct offset_fetch_request request;
    create_topic(w, "ta", 2);
    commit(w, group, "ta", 1, 42);
    for (int16_t version = 1; version <= 7; version++) {
        wire_init(&wire_offset_fetch_request, &request);
        request.group_id = group;
        request.topics.v = &topic;
        request.topics.len = 1;
        const struct offset_fetch_response *response = ask(w, API_KEY_OFFSET_FETCH, version, &request);
        assert_int_equal(response->error_code, 0);
        assert_int_equal(response->topics.len, 1);
        STR_IS(response->topics.v[0].name, "ta");
        assert_int_equal(response->topics.v[0].partitions.len, 2);
        assert_int_equal(response->topics.v[0].partitions.v[0].committed_offset, -1);
        assert_int_equal(response->topics.v[0].partitions.v[1].committed_offset, 42);
        STR_IS(response->topics.v[0].partitions.v[1].metadata, "m");
        if (version >= 2) {
            request.topics = (struct offset_fetch_request_topic_array){NULL, -1};
            response = ask(w, API_KEY_OFFSET_FETCH, version, &request);
            assert_int_equal(response->topics.len, 1);
            assert_int_equal(response->topics.v[0].partitions.len, 1);
            assert_int_equal(response->topics.v[0].partitions.v[0].partition_index, 1);
        }
    }
}

static void test_offset_fetch_old_form_elsewhere(void **state)
{
    struct world *w = *state;
    int32_t partitions[] = {3};
    struct offset_fetch_request_topic topic = {.name = STR("ta"), .partition_indexes = {partitions, 1}};
    struct offset_fetch_request request;
    wire_init(&wire_offset_fetch_request, &request);
    request.group_id = group_of_shard(w, 1);
    request.topics.v = &topic;
    request.topics.len = 1;
    w->state[1] = 14;
    const struct offset_fetch_response *first = ask(w, API_KEY_OFFSET_FETCH, 1, &request);
    assert_int_equal(first->topics.v[0].partitions.v[0].error_code, 14); /* no other place in version 1 */
    assert_int_equal(first->topics.v[0].partitions.v[0].partition_index, 3);
    assert_int_equal(first->topics.v[0].partitions.v[0].committed_offset, -1);
    const struct offset_fetch_response *second = ask(w, API_KEY_OFFSET_FETCH, 2, &request);
    assert_int_equal(second->error_code, 14);
}

static void test_offset_fetch_of_many_groups(void **state)
{
    struct world *w = *state;
    struct str here = group_of_shard(w, 0), there = group_of_shard(w, 3);
    int32_t partition = 0;
    struct offset_fetch_request_topics topic = {.name = STR("ta"), .partition_indexes = {&partition, 1}};
    struct offset_fetch_request_group groups[2] = {{.group_id = here, .member_id = STR_NULL, .member_epoch = -1, .topics = {&topic, 1}},
                                                   {.group_id = there, .member_id = STR_NULL, .member_epoch = -1, .topics = {NULL, -1}}};
    struct offset_fetch_request request;
    create_topic(w, "ta", 1);
    commit(w, here, "ta", 0, 5);
    wire_init(&wire_offset_fetch_request, &request);
    request.groups.v = groups;
    request.groups.len = 2;
    w->state[3] = 16;
    const struct offset_fetch_response *response = ask(w, API_KEY_OFFSET_FETCH, 8, &request);
    assert_int_equal(response->groups.len, 2);
    assert_true(str_eq(response->groups.v[0].group_id, here));
    assert_int_equal(response->groups.v[0].error_code, 0);
    assert_int_equal(response->groups.v[0].topics.v[0].partitions.v[0].committed_offset, 5);
    assert_true(str_eq(response->groups.v[1].group_id, there));
    assert_int_equal(response->groups.v[1].error_code, 16);
}

static void test_client_goes_between_parts(void **state)
{
    struct world *w = *state;
    struct offset_fetch_request_group groups[3] = {{.group_id = STR("a"), .member_id = STR_NULL, .topics = {NULL, -1}},
                                                   {.group_id = STR("b"), .member_id = STR_NULL, .topics = {NULL, -1}},
                                                   {.group_id = STR("c"), .member_id = STR_NULL, .topics = {NULL, -1}}};
    struct offset_fetch_request request;
    wire_init(&wire_offset_fetch_request, &request);
    request.groups.v = groups;
    request.groups.len = 3;
    w->hold = true;
    struct net_slot *slot = slot_ask(w, API_KEY_OFFSET_FETCH, 9, &request);
    assert_int_equal(w->held_count, 3);
    world_decide(w, w->held[1]);
    assert_false(slot->answered);
    slot_gone(w, slot);
    assert_int_equal(w->cancelled, 2);
    slot_free(slot);
}

/* ---- many groups ---- */

enum { MANY = 1200, SLICE = 500 };

static struct describe_groups_request many_groups(struct world *w, int32_t count)
{
    struct describe_groups_request request;
    wire_init(&wire_describe_groups_request, &request);
    request.groups.v = ARENA_NEW(&w->memory, struct str, count);
    request.groups.len = count;
    for (int32_t i = 0; i < count; i++) {
        request.groups.v[i] = arena_printf(&w->memory, "many-%d", i);
    }
    return request;
}

/* A slice a turn, and the answer in the order of the names. */
static void test_many_groups_do_not_hold_the_loop(void **state)
{
    struct world *w = *state;
    struct describe_groups_request request = many_groups(w, MANY);
    create_topic(w, "ta", 1);
    commit(w, STR("many-777"), "ta", 0, 5);
    w->submitted = 0;
    struct net_slot *slot = slot_ask(w, API_KEY_DESCRIBE_GROUPS, 6, &request);
    assert_int_equal(w->submitted, SLICE);
    assert_false(slot->answered);
    world_pass(w, 1);
    assert_int_equal(w->submitted, 2 * SLICE);
    assert_false(slot->answered);
    world_pass(w, 1);
    assert_int_equal(w->submitted, MANY);
    const struct describe_groups_response *response = slot_answer(w, slot, API_KEY_DESCRIBE_GROUPS, 6);
    assert_int_equal(response->groups.len, MANY);
    for (int32_t i = 0; i < MANY; i++) {
        assert_true(str_eq(response->groups.v[i].group_id, request.groups.v[i]));
        assert_int_equal(response->groups.v[i].error_code, i == 777 ? 0 : 69);
    }
    slot_free(slot);
}

/* A group that is named a thousand times is asked about once, and answered as often as it is named, as Kafka does. */
static void test_one_group_named_often(void **state)
{
    struct world *w = *state;
    struct describe_groups_request request = many_groups(w, MANY);
    create_topic(w, "ta", 1);
    commit(w, STR("many-777"), "ta", 0, 5);
    for (int32_t i = 0; i < MANY; i++) {
        request.groups.v[i] = i % 3 == 0 ? STR("many-777") : STR("nobody");
    }
    w->submitted = 0;
    const struct describe_groups_response *response = ask(w, API_KEY_DESCRIBE_GROUPS, 6, &request);
    assert_int_equal(w->submitted, 2);
    assert_int_equal(response->groups.len, MANY);
    for (int32_t i = 0; i < MANY; i++) {
        assert_true(str_eq(response->groups.v[i].group_id, request.groups.v[i]));
        assert_int_equal(response->groups.v[i].error_code, i % 3 == 0 ? 0 : 69);
    }
}

static void test_client_goes_between_slices(void **state)
{
    struct world *w = *state;
    struct describe_groups_request request = many_groups(w, MANY);
    w->submitted = 0;
    struct net_slot *slot = slot_ask(w, API_KEY_DESCRIBE_GROUPS, 6, &request);
    assert_int_equal(w->submitted, SLICE);
    slot_gone(w, slot);
    world_pass(w, 1);
    assert_int_equal(w->submitted, SLICE);
    assert_int_equal(slot->out.len, 0);
    slot_free(slot);
}

/* One group named again and again, whose offset has a long text: slices end sooner, and there is an end to what one answer may take. */
static void test_large_answers(void **state)
{
    enum { TEXT_BYTES = 30000, NAMES = 10000, PASSES = 500 };
    static char text[TEXT_BYTES];
    struct world *w = *state;
    struct offset_fetch_request fetch;
    struct offset_commit_request request;
    memset(text, 'x', sizeof(text));
    struct offset_commit_request_partition p = {.committed_offset = 5, .committed_metadata = {text, TEXT_BYTES}};
    struct offset_commit_request_topic t = {.name = STR("ta"), .partitions = {&p, 1}};
    w->settings.offset_metadata_max_bytes = TEXT_BYTES;
    w->options.request_max_groups = NAMES;
    world_restart(w);
    create_topic(w, "ta", 1);
    wire_init(&wire_offset_commit_request, &request);
    request.group_id = STR("texts");
    request.topics.v = &t;
    request.topics.len = 1;
    const struct offset_commit_response *committed = ask(w, API_KEY_OFFSET_COMMIT, 7, &request);
    assert_int_equal(committed->topics.v[0].partitions.v[0].error_code, 0);
    wire_init(&wire_offset_fetch_request, &fetch);
    fetch.groups.v = ARENA_NEW(&w->memory, struct offset_fetch_request_group, NAMES);
    fetch.groups.len = NAMES;
    for (int32_t i = 0; i < NAMES; i++) {
        fetch.groups.v[i] = (struct offset_fetch_request_group){.group_id = STR("texts"), .member_id = STR_NULL, .topics = {NULL, -1}};
    }
    w->submitted = 0;
    struct net_slot *slot = slot_ask(w, API_KEY_OFFSET_FETCH, 8, &fetch);
    assert_in_range(w->submitted, 2, 100);
    for (int i = 0; i < PASSES && !slot->closed; i++) {
        world_pass(w, 1);
    }
    assert_true(slot->closed);
    assert_int_equal(slot->out.len, 0);
    slot_free(slot);
}

/* The client is told by the end of its connection, as with a request that is too long; the log says why. */
static void assert_too_many(struct world *w, int16_t key, int16_t version, const void *request, uint64_t count)
{
    struct api_stats stats;
    w->submitted = 0;
    struct net_slot *slot = slot_ask(w, key, version, request);
    assert_true(slot->closed);
    assert_int_equal(w->submitted, 0);
    slot_free(slot);
    api_stats(w->api, &stats);
    assert_int_equal(stats.too_many_groups, count);
}

static void test_too_many_groups(void **state)
{
    struct world *w = *state;
    int32_t most = w->options.request_max_groups;
    struct describe_groups_request describe = many_groups(w, most + 1);
    struct delete_groups_request delete;
    struct find_coordinator_request find;
    struct offset_fetch_request fetch;
    wire_init(&wire_delete_groups_request, &delete);
    wire_init(&wire_find_coordinator_request, &find);
    wire_init(&wire_offset_fetch_request, &fetch);
    delete.groups_names = find.coordinator_keys = describe.groups;
    fetch.groups.v = ARENA_NEW(&w->memory, struct offset_fetch_request_group, most + 1);
    fetch.groups.len = most + 1;
    for (int32_t i = 0; i <= most; i++) {
        fetch.groups.v[i] =
            (struct offset_fetch_request_group){.group_id = describe.groups.v[i], .member_id = STR_NULL, .topics = {NULL, -1}};
    }
    assert_too_many(w, API_KEY_DESCRIBE_GROUPS, 5, &describe, 1);
    assert_too_many(w, API_KEY_DELETE_GROUPS, 2, &delete, 2);
    assert_too_many(w, API_KEY_FIND_COORDINATOR, 4, &find, 3);
    assert_too_many(w, API_KEY_OFFSET_FETCH, 8, &fetch, 4);
    find.coordinator_keys.len = most;
    const struct find_coordinator_response *found = ask(w, API_KEY_FIND_COORDINATOR, 4, &find);
    assert_int_equal(found->coordinators.len, most);
}

/* ---- describe, delete, list ---- */

static void test_describe_groups(void **state)
{
    struct world *w = *state;
    struct str groups[] = {group_of_shard(w, 0), group_of_shard(w, 1), group_of_shard(w, 2)};
    struct describe_groups_request request;
    create_topic(w, "ta", 1);
    commit(w, groups[0], "ta", 0, 5);
    wire_init(&wire_describe_groups_request, &request);
    request.groups.v = groups;
    request.groups.len = 3;
    request.include_authorized_operations = true;
    w->state[2] = 16;
    const struct describe_groups_response *response = ask(w, API_KEY_DESCRIBE_GROUPS, 6, &request);
    assert_int_equal(response->groups.len, 3);
    assert_int_equal(response->groups.v[0].error_code, 0);
    STR_IS(response->groups.v[0].group_state, "Empty");
    assert_int_equal(response->groups.v[0].authorized_operations, 3400);
    assert_int_equal(response->groups.v[1].error_code, 69);
    assert_int_equal(response->groups.v[1].authorized_operations, INT32_MIN);
    assert_int_equal(response->groups.v[2].error_code, 16);
    response = ask(w, API_KEY_DESCRIBE_GROUPS, 5, &request);
    assert_int_equal(response->groups.v[1].error_code, 0);
    STR_IS(response->groups.v[1].group_state, "Dead");
    assert_int_equal(response->groups.v[1].authorized_operations, 3400);
    request.include_authorized_operations = false;
    response = ask(w, API_KEY_DESCRIBE_GROUPS, 5, &request);
    assert_int_equal(response->groups.v[0].authorized_operations, INT32_MIN);
}

/* It goes to the group, whose refusals come back with words and for each partition. */
static void test_alter_offsets(void **state)
{
    struct world *w = *state;
    struct alter_group_offsets_request_partition partition = {.offset = 5, .most = INT64_MAX, .leader_epoch = -1, .metadata = STR("why")};
    struct alter_group_offsets_request_topic topic = {.name = STR("t"), .partitions = {&partition, 1}};
    struct alter_group_offsets_request request;
    wire_init(&wire_alter_group_offsets_request, &request);
    request.group_id = group_of_shard(w, 0);
    request.reason = STR("test");
    request.topics.v = &topic;
    request.topics.len = 1;
    const struct alter_group_offsets_response *response = ask(w, API_KEY_ALTER_GROUP_OFFSETS, 0, &request);
    assert_int_equal(response->error_code, 69);
    assert_true(response->error_message.len > 0);
    request.create = 1;
    response = ask(w, API_KEY_ALTER_GROUP_OFFSETS, 0, &request);
    assert_int_equal(response->error_code, 3);
    assert_int_equal(response->topics.v[0].partitions.v[0].error_code, 3);
}

static void test_delete_groups_once_each(void **state)
{
    struct world *w = *state;
    struct str known = group_of_shard(w, 0);
    struct str names[] = {STR("b"), known, STR("a"), STR("b"), known, STR("b")};
    struct delete_groups_request request;
    create_topic(w, "ta", 1);
    commit(w, known, "ta", 0, 5);
    wire_init(&wire_delete_groups_request, &request);
    request.groups_names.v = names;
    request.groups_names.len = COUNT_OF(names);
    const struct delete_groups_response *response = ask(w, API_KEY_DELETE_GROUPS, 2, &request);
    assert_int_equal(response->results.len, 3);
    STR_IS(response->results.v[0].group_id, "b");
    assert_int_equal(response->results.v[0].error_code, 69);
    assert_true(str_eq(response->results.v[1].group_id, known));
    assert_int_equal(response->results.v[1].error_code, 0);
    STR_IS(response->results.v[2].group_id, "a");
}

static const struct list_groups_response *list(struct world *w, const char *state_filter, const char *type_filter)
{
    struct str states[1] = {str_of(state_filter)}, types[1] = {str_of(type_filter)};
    struct list_groups_request request;
    wire_init(&wire_list_groups_request, &request);
    request.states_filter.v = states;
    request.states_filter.len = state_filter != NULL;
    request.types_filter.v = types;
    request.types_filter.len = type_filter != NULL;
    return ask(w, API_KEY_LIST_GROUPS, 5, &request);
}

static void make_groups(struct world *w)
{
    create_topic(w, "ta", 1);
    for (uint32_t shard = 0; shard < SHARDS; shard++) {
        commit(w, group_of_shard(w, shard), "ta", 0, 1);
    }
}

static void test_list_groups_of_led_shards(void **state)
{
    struct world *w = *state;
    make_groups(w);
    assert_int_equal(list(w, NULL, NULL)->groups.len, SHARDS);
    w->state[1] = 16;
    w->leader[1] = 2;
    const struct list_groups_response *response = list(w, NULL, NULL);
    assert_int_equal(response->error_code, 0);
    assert_int_equal(response->groups.len, SHARDS - 1);
    for (int32_t i = 0; i < response->groups.len; i++) {
        assert_false(str_eq(response->groups.v[i].group_id, group_of_shard(w, 1)));
        STR_IS(response->groups.v[i].group_state, "Empty");
        STR_IS(response->groups.v[i].group_type, "classic");
    }
    w->leader[1] = 0;
    response = list(w, NULL, NULL);
    assert_int_equal(response->error_code, 15);
    assert_int_equal(response->groups.len, 0);
    w->state[1] = 14;
    w->leader[1] = SELF;
    assert_int_equal(list(w, NULL, NULL)->error_code, 14);
}

static void test_list_groups_filters(void **state)
{
    struct world *w = *state;
    make_groups(w);
    assert_int_equal(list(w, "empty", NULL)->groups.len, SHARDS);
    assert_int_equal(list(w, "EMPTY", "Classic")->groups.len, SHARDS);
    assert_int_equal(list(w, "Stable", NULL)->groups.len, 0);
    assert_int_equal(list(w, "not_ready", NULL)->groups.len, 0);
    assert_int_equal(list(w, NULL, "consumer")->groups.len, 0);
    assert_int_equal(list(w, NULL, "no such type")->groups.len, 0);
    assert_int_equal(list(w, NULL, "no such type")->error_code, 0);
}

/* A node that is cut off answers within a second, too. */
static void test_list_groups_unconfirmed(void **state)
{
    struct world *w = *state;
    make_groups(w);
    struct list_groups_request request;
    wire_init(&wire_list_groups_request, &request);
    w->hold = true;
    struct net_slot *slot = slot_ask(w, API_KEY_LIST_GROUPS, 3, &request);
    assert_int_equal(w->read_count, SHARDS);
    world_finish_read(w, w->reads[0], 0);
    world_pass(w, 700);
    assert_false(slot->answered);
    world_pass(w, 200);
    const struct list_groups_response *response = slot_answer(w, slot, API_KEY_LIST_GROUPS, 3);
    assert_int_equal(response->error_code, 15);
    assert_int_equal(response->groups.len, 0);
    assert_false(slot->released); /* coord still has the reads */
    world_finish_read(w, w->reads[1], 0);
    world_finish_read(w, w->reads[2], 16);
    world_finish_read(w, w->reads[3], 0);
    slot_free(slot);
}

static void test_list_groups_loses_a_shard(void **state)
{
    struct world *w = *state;
    make_groups(w);
    struct list_groups_request request;
    wire_init(&wire_list_groups_request, &request);
    w->hold = true;
    struct net_slot *slot = slot_ask(w, API_KEY_LIST_GROUPS, 3, &request);
    for (uint32_t i = 0; i < SHARDS; i++) {
        world_finish_read(w, w->reads[i], i == 2 ? 16 : 0);
    }
    const struct list_groups_response *response = slot_answer(w, slot, API_KEY_LIST_GROUPS, 3);
    assert_int_equal(response->error_code, 15);
    slot_free(slot);
    w->read_count = 0;
    slot = slot_ask(w, API_KEY_LIST_GROUPS, 3, &request);
    slot_gone(w, slot);
    assert_false(slot->released);
    for (uint32_t i = 0; i < SHARDS; i++) {
        world_finish_read(w, w->reads[i], 0);
    }
    slot_free(slot);
}

const struct CMUnitTest group_tests[] = {
    TEST(test_find_coordinator),
    TEST(test_find_coordinators),
    TEST(test_a_coordinator_on_its_way),
    TEST(test_find_other_coordinators),
    TEST(test_requests_reach_coord_whole),
    TEST(test_client_goes_while_coord_has_it),
    TEST(test_refused_elsewhere),
    TEST(test_empty_group_id),
    TEST(test_offset_fetch_old_form),
    TEST(test_offset_fetch_old_form_elsewhere),
    TEST(test_offset_fetch_of_many_groups),
    TEST(test_client_goes_between_parts),
    TEST(test_many_groups_do_not_hold_the_loop),
    TEST(test_one_group_named_often),
    TEST(test_client_goes_between_slices),
    TEST(test_large_answers),
    TEST(test_too_many_groups),
    TEST(test_describe_groups),
    TEST(test_alter_offsets),
    TEST(test_delete_groups_once_each),
    TEST(test_list_groups_of_led_shards),
    TEST(test_list_groups_filters),
    TEST(test_list_groups_unconfirmed),
    TEST(test_list_groups_loses_a_shard),
};
const size_t group_test_count = COUNT_OF(group_tests);
