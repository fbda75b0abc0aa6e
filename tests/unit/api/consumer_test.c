/* consumer_test.c: requests about consumer groups. */
#include "world.h"

#include <string.h>

static struct consumer_group_heartbeat_request heartbeat(struct str group, const char *member)
{
    static struct str name = {"in", 2};
    struct consumer_group_heartbeat_request request;
    wire_init(&wire_consumer_group_heartbeat_request, &request);
    request.group_id = group;
    request.member_id = str_of(member);
    request.rebalance_timeout_ms = 1000;
    request.subscribed_topic_names = (struct str_array){&name, 1};
    request.topic_partitions.len = 0;
    return request;
}

static const struct consumer_group_heartbeat_response *beat(struct world *w, int16_t version,
                                                            const struct consumer_group_heartbeat_request *request)
{
    return ask(w, API_KEY_CONSUMER_GROUP_HEARTBEAT, version, request);
}

static void join(struct world *w, struct str group)
{
    struct consumer_group_heartbeat_request request = heartbeat(group, "m");
    const struct consumer_group_heartbeat_response *response = beat(w, 1, &request);
    assert_int_equal(response->error_code, 0);
    STR_IS(response->member_id, "m");
}

/* Version 0 lets the server make the id. */
static void test_a_member_joins(void **state)
{
    struct world *w = *state;
    create_topic(w, "in", 2);
    for (int16_t version = 0; version <= 1; version++) {
        struct consumer_group_heartbeat_request request = heartbeat(group_of_shard(w, (uint32_t)version), version == 0 ? "" : "m");
        const struct consumer_group_heartbeat_response *response = beat(w, version, &request);
        assert_int_equal(response->error_code, 0);
        assert_int_equal(response->member_epoch, 2);
        assert_true(response->member_id.len == (version == 0 ? 22 : 1));
        assert_int_equal(response->assignment->topic_partitions.len, 1);
        assert_int_equal(response->assignment->topic_partitions.v[0].partitions.len, 2);
    }
}

static void test_requests_reach_coord_whole(void **state)
{
    struct world *w = *state;
    struct consumer_group_heartbeat_request request = heartbeat(STR("app"), "m");
    w->hold = true;
    request.subscribed_topic_regex = STR("a.*");
    struct net_slot *slot = slot_ask(w, API_KEY_CONSUMER_GROUP_HEARTBEAT, 1, &request);
    assert_int_equal(slot->verdict, NET_YIELD);
    const struct group_op *op = &w->held[0]->op;
    assert_int_equal(op->kind, GROUP_CONSUMER_HEARTBEAT);
    assert_int_equal(op->api_version, 1);
    STR_IS(op->group_id, "app");
    STR_IS(((const struct consumer_group_heartbeat_request *)op->request)->subscribed_topic_regex, "a.*");
    world_decide(w, w->held[0]);
    slot_free(slot);
}

/* Coord may keep a heartbeat's answer back, because it is told when something follows on the connection, and when that ends. */
static void test_heartbeats_yield(void **state)
{
    struct world *w = *state;
    struct consumer_group_heartbeat_request request = heartbeat(STR("app"), "m");
    w->hold = true;
    struct net_slot *first = slot_ask(w, API_KEY_CONSUMER_GROUP_HEARTBEAT, 1, &request);
    struct coord_request *held = w->held[0];
    assert_true(held->yields);
    api_take_submitted(w->api);
    slot_follows(w, first);
    assert_int_equal(w->let_go, 1);
    assert_false(held->yields);
    assert_true(api_take_submitted(w->api)); /* what coord has decided has to leave */
    assert_false(first->answered);
    world_decide(w, held);
    slot_answer(w, first, API_KEY_CONSUMER_GROUP_HEARTBEAT, 1);
    slot_free(first);

    struct net_slot *second = slot_ask(w, API_KEY_CONSUMER_GROUP_HEARTBEAT, 1, &request);
    slot_gone(w, second);
    assert_int_equal(w->cancelled, 1);
    slot_free(second);

    struct offset_commit_request commit;
    wire_init(&wire_offset_commit_request, &commit);
    commit.group_id = STR("app");
    struct net_slot *other = slot_ask(w, API_KEY_OFFSET_COMMIT, 9, &commit);
    assert_int_equal(other->verdict, NET_TAKEN);
    assert_false(w->held[2]->yields);
    world_decide(w, w->held[2]);
    slot_free(other);
}

/* An id of nothing but blanks is refused by any node; the member's is looked at first, where it has to have one. */
static void test_blank_group_ids(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *group, *member;
        int16_t version;
        int32_t epoch;
        const char *message;
    } cases[] = {
        {"", "m", 1, 0, "GroupId can't be empty."},  {" \t", "m", 1, 5, "GroupId can't be empty."},
        {"", "", 0, 0, "GroupId can't be empty."},   {"", "", 0, -2, "GroupId can't be empty."},
        {"", "", 0, -1, "MemberId can't be empty."}, {"", "", 0, 1, "MemberId can't be empty."},
        {"", " ", 1, 0, "MemberId can't be empty."},
    };
    for (uint32_t shard = 0; shard < SHARDS; shard++) {
        w->state[shard] = 16;
    }
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct consumer_group_heartbeat_request request = heartbeat(str_of(cases[i].group), cases[i].member);
        request.member_epoch = cases[i].epoch;
        const struct consumer_group_heartbeat_response *response = beat(w, cases[i].version, &request);
        assert_int_equal(response->error_code, 42);
        STR_IS(response->error_message, cases[i].message);
        assert_true(str_is_null(response->member_id));
        assert_null(response->assignment);
    }
    struct consumer_group_heartbeat_request request = heartbeat(STR("app"), "m");
    assert_int_equal(beat(w, 1, &request)->error_code, 16);
}

static void test_describe_of_many(void **state)
{
    struct world *w = *state;
    struct str groups[] = {group_of_shard(w, 1), STR("nobody"), group_of_shard(w, 2), group_of_shard(w, 3)};
    struct consumer_group_describe_request request;
    create_topic(w, "in", 2);
    join(w, groups[0]);
    join(w, groups[2]);
    commit(w, groups[3], "in", 0, 1);
    wire_init(&wire_consumer_group_describe_request, &request);
    request.group_ids = (struct str_array){groups, COUNT_OF(groups)};
    for (int16_t version = 0; version <= 1; version++) {
        request.include_authorized_operations = version == 1;
        const struct consumer_group_describe_response *response = ask(w, API_KEY_CONSUMER_GROUP_DESCRIBE, version, &request);
        assert_int_equal(response->groups.len, COUNT_OF(groups));
        for (int32_t i = 0; i < response->groups.len; i++) {
            const struct consumer_group_describe_response_described_group *g = &response->groups.v[i];
            assert_true(str_eq(g->group_id, groups[i]));
            assert_int_equal(g->error_code, i % 2 == 0 ? 0 : 69);
            assert_int_equal(g->members.len, i % 2 == 0 ? 1 : 0);
            assert_int_equal(g->authorized_operations, i % 2 == 0 && version == 1 ? 3400 : INT32_MIN);
        }
        STR_IS(response->groups.v[0].group_state, "Stable");
        STR_IS(response->groups.v[0].assignor_name, "uniform");
        STR_IS(response->groups.v[0].members.v[0].assignment.topic_partitions.v[0].topic_name, "in");
        assert_int_equal(response->groups.v[0].members.v[0].member_type, version == 1 ? 1 : -1);
    }
}

/* What no node coordinates now is told group by group. */
static void test_describe_of_a_shard_elsewhere(void **state)
{
    struct world *w = *state;
    struct str groups[] = {group_of_shard(w, 1), group_of_shard(w, 2)};
    struct consumer_group_describe_request request;
    create_topic(w, "in", 2);
    join(w, groups[0]);
    w->state[2] = 16;
    wire_init(&wire_consumer_group_describe_request, &request);
    request.group_ids = (struct str_array){groups, COUNT_OF(groups)};
    request.include_authorized_operations = true;
    const struct consumer_group_describe_response *response = ask(w, API_KEY_CONSUMER_GROUP_DESCRIBE, 1, &request);
    assert_int_equal(response->groups.v[0].error_code, 0);
    assert_int_equal(response->groups.v[1].error_code, 16);
    assert_true(str_eq(response->groups.v[1].group_id, groups[1]));
    assert_int_equal(response->groups.v[1].authorized_operations, INT32_MIN);
}

static void test_groups_are_listed_by_type(void **state)
{
    struct world *w = *state;
    struct str type = STR("Consumer"), group = STR("stable");
    struct list_groups_request request;
    create_topic(w, "in", 2);
    join(w, group_of_shard(w, 1));
    commit(w, group_of_shard(w, 2), "in", 0, 1);
    wire_init(&wire_list_groups_request, &request);
    request.types_filter = (struct str_array){&type, 1};
    request.states_filter = (struct str_array){&group, 1};
    const struct list_groups_response *response = ask(w, API_KEY_LIST_GROUPS, 5, &request);
    assert_int_equal(response->groups.len, 1);
    STR_IS(response->groups.v[0].group_type, "consumer");
    STR_IS(response->groups.v[0].protocol_type, "consumer");
    STR_IS(response->groups.v[0].group_state, "Stable");
}

static void test_too_many_groups(void **state)
{
    struct world *w = *state;
    struct str groups[] = {STR("a"), STR("b"), STR("c")};
    struct consumer_group_describe_request request;
    w->options.request_max_groups = 2;
    world_restart(w);
    wire_init(&wire_consumer_group_describe_request, &request);
    request.group_ids = (struct str_array){groups, COUNT_OF(groups)};
    struct net_slot *slot = slot_ask(w, API_KEY_CONSUMER_GROUP_DESCRIBE, 1, &request);
    assert_true(slot->closed);
    slot_free(slot);
}

static void test_consumer_groups_can_be_turned_off(void **state)
{
    struct world *w = *state;
    struct str groups[] = {STR("app"), STR("")};
    struct consumer_group_describe_request describe;
    w->options.consumer_groups = false;
    world_restart(w);
    for (size_t i = 0; i < COUNT_OF(groups); i++) {
        struct consumer_group_heartbeat_request request = heartbeat(groups[i], "m");
        assert_int_equal(beat(w, 1, &request)->error_code, 35);
    }
    wire_init(&wire_consumer_group_describe_request, &describe);
    describe.group_ids = (struct str_array){groups, COUNT_OF(groups)};
    const struct consumer_group_describe_response *response = ask(w, API_KEY_CONSUMER_GROUP_DESCRIBE, 1, &describe);
    assert_int_equal(response->groups.len, 2);
    assert_int_equal(response->groups.v[0].error_code, 35);
    STR_IS(response->groups.v[0].group_id, "app");
    assert_int_equal(w->submitted, 0);
}

const struct CMUnitTest consumer_tests[] = {
    TEST(test_a_member_joins),
    TEST(test_requests_reach_coord_whole),
    TEST(test_heartbeats_yield),
    TEST(test_heartbeats_yield),
    TEST(test_blank_group_ids),
    TEST(test_describe_of_many),
    TEST(test_describe_of_a_shard_elsewhere),
    TEST(test_groups_are_listed_by_type),
    TEST(test_too_many_groups),
    TEST(test_consumer_groups_can_be_turned_off),
};
const size_t consumer_test_count = COUNT_OF(consumer_tests);
