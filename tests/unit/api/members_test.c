/* Members of the cluster: what is asked of them, and what they are told to be. */
#include "world.h"

/* As the host of shard 0's leader does at its first look. */
static void found(struct world *w, int32_t count)
{
    struct catalog_member founders[NODES];
    struct member_step step = {.kind = MEMBER_STEP_FOUND, .founders = founders, .founder_count = (size_t)count, .reason = STR_NULL};
    step.incomplete = true; /* nobody has registered */
    struct group_op op = {.kind = CATALOG_MEMBER_STEP, .group_id = STR_NULL, .request = &step, .settings = &w->settings};
    struct group_out out;
    for (int32_t i = 0; i < count; i++) {
        founders[i] = (struct catalog_member){.node_id = i + 1, .incarnation = {{(uint8_t)(i + 1)}}, .standing = MEMBER_VOTER};
        founders[i].peer_address = arena_printf(&w->memory, "m%d:%d", i + 1, i + 1);
    }
    group_decide(w->sets[0], &op, &w->memory, &out);
    for (size_t i = 0; i < out.records.len; i++) {
        assert_true(group_apply(w->sets[0], ++w->index[0], out.records.v[i], &w->memory));
    }
}

static const struct change_member_response *change(struct world *w, int8_t kind, int32_t node, const char *address)
{
    struct change_member_request request;
    wire_init(&wire_change_member_request, &request);
    request.kind = kind;
    request.node_id = node;
    request.peer_address = str_of(address);
    return ask(w, API_KEY_CHANGE_MEMBER, 0, &request);
}

static void test_a_change_goes_by_who_is_connected(void **state)
{
    struct world *w = *state;
    found(w, 3);
    w->connected[3] = false;
    const struct change_member_response *response = change(w, MEMBER_ADD, 4, "m4:4");
    assert_int_equal(response->error_code, 44);
    assert_int_equal(response->change_id, -1);
    w->connected[3] = true;
    response = change(w, MEMBER_ADD, 4, "m4:4");
    assert_int_equal(response->error_code, 0);
    assert_int_equal(response->change_id, 1);
    assert_int_equal(change(w, MEMBER_REMOVE, 3, NULL)->error_code, 60);
}

/* Asked before the members are recorded: a little later they are. */
static void test_a_change_waits_for_the_founding(void **state)
{
    struct world *w = *state;
    struct change_member_request request;
    wire_init(&wire_change_member_request, &request);
    request.kind = MEMBER_REMOVE;
    request.node_id = 3;
    struct net_slot *slot = slot_ask(w, API_KEY_CHANGE_MEMBER, 0, &request);
    assert_false(slot->answered);
    found(w, 3);
    world_pass(w, 30);
    const struct change_member_response *response = slot_answer(w, slot, API_KEY_CHANGE_MEMBER, 0);
    assert_int_equal(response->error_code, 0);
    slot_free(slot);
}

static struct str doing(const void *ctx)
{
    return str_of(ctx);
}

static void test_members_are_shown(void **state)
{
    struct world *w = *state;
    struct cluster_members_request request;
    wire_init(&wire_cluster_members_request, &request);
    w->options.doing = doing;
    w->options.doing_ctx = "node 3 hands over";
    world_restart(w);
    const struct cluster_members_response *r = ask(w, API_KEY_CLUSTER_MEMBERS, 0, &request);
    assert_true(r->members.len == 0 && r->change_id == -1 && r->feature_level == 1 && str_is_null(r->doing));
    found(w, 3);
    register_node(w, 2, "second.example", 2222);
    change(w, MEMBER_REMOVE, 3, NULL);
    w->connected[3] = false;
    w->leader[3] = 2;
    r = ask(w, API_KEY_CLUSTER_MEMBERS, 0, &request);
    assert_int_equal(r->members.len, 3);
    assert_true(r->members.v[0].standing == MEMBER_VOTER && r->members.v[2].standing == MEMBER_LEAVING);
    assert_true(r->members.v[0].connected && r->members.v[1].connected && !r->members.v[2].connected);
    STR_IS(r->members.v[1].host, "second.example");
    assert_true(r->members.v[1].feature_level == 1 && r->members.v[0].feature_level == -1);
    assert_true(r->change_id == 1 && r->change_kind == MEMBER_REMOVE && r->change_node == 3 && r->change_state == 0);
    STR_IS(r->doing, "node 3 hands over");
    assert_int_equal(r->shards.len, SHARDS);
    assert_true(r->shards.v[0].leads && r->shards.v[0].committed && !r->shards.v[2].committed && !r->shards.v[3].leads);
    assert_true(r->shards.v[1].replicas.len == 3 && !r->shards.v[1].replicas.v[2].voter && r->shards.v[1].replicas.v[1].voter);
    assert_true(r->shards.v[1].replicas.v[1].match_index == 12 && r->shards.v[1].replicas.v[1].heard_ms == 7);
    assert_int_equal(r->shards.v[1].replicas.v[2].heard_ms, -1);
    assert_true(r->shards.v[3].replicas.v[1].match_index == -1 && r->shards.v[3].leader == 2);
}

/* The status names the members, once they are recorded. */
static void test_status_names_members(void **state)
{
    struct world *w = *state;
    struct cluster_status_request request;
    wire_init(&wire_cluster_status_request, &request);
    found(w, 2);
    const struct cluster_status_response *r = ask(w, API_KEY_CLUSTER_STATUS, 0, &request);
    assert_int_equal(r->nodes.len, 2);
    STR_IS(r->nodes.v[1].peer_address, "m2:2");
}

static void test_upgrade(void **state)
{
    struct world *w = *state;
    struct upgrade_cluster_request request;
    wire_init(&wire_upgrade_cluster_request, &request);
    found(w, 3);
    const struct upgrade_cluster_response *r = ask(w, API_KEY_UPGRADE_CLUSTER, 0, &request);
    assert_int_equal(r->error_code, 44); /* nobody has registered */
    register_node(w, 1, "a", 1);
    register_node(w, 2, "b", 1);
    register_node(w, 3, "c", 1);
    r = ask(w, API_KEY_UPGRADE_CLUSTER, 0, &request);
    assert_true(r->error_code == 0 && r->before == 1 && r->level == 1);
}

const struct CMUnitTest members_tests[] = {
    TEST(test_a_change_goes_by_who_is_connected),
    TEST(test_a_change_waits_for_the_founding),
    TEST(test_members_are_shown),
    TEST(test_status_names_members),
    TEST(test_upgrade),
};
const size_t members_test_count = COUNT_OF(members_tests);
