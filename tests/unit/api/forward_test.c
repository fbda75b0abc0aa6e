/* forward_test.c: requests for shard 0's leader, from both ends; what an operator asks a node. */
#include "world.h"

#include <stdio.h>
#include <string.h>

enum { FORWARD_HEAD = 9 };

static struct create_topics_request create_request(void)
{
    static struct create_topics_request_creatable_topic topic = {.name = STR("fresh"), .num_partitions = 1, .replication_factor = -1};
    struct create_topics_request request;
    wire_init(&wire_create_topics_request, &request);
    request.topics.v = &topic;
    request.topics.len = 1;
    return request;
}

static void lead(struct world *w, uint32_t leader)
{
    w->leader[0] = leader;
    w->state[0] = leader == SELF ? 0 : 16;
}

static struct bytes message(const struct sent *sent)
{
    return (struct bytes){sent->data.ptr, (int32_t)sent->data.len};
}

static int16_t created_error(struct world *w, struct net_slot *slot, int16_t version)
{
    const struct create_topics_response *response = slot_answer(w, slot, API_KEY_CREATE_TOPICS, version);
    assert_int_equal(response->topics.len, 1);
    STR_IS(response->topics.v[0].name, "fresh");
    return response->topics.v[0].error_code;
}

/* What node 2 would answer: this world takes its place, as leader. */
static struct sent *answer_as_leader(struct world *w, const struct sent *question)
{
    size_t before = w->sent_count;
    lead(w, SELF);
    api_message(w->api, 3, API_CHANNEL_FORWARD, message(question));
    assert_int_equal(w->sent_count, before + 1);
    assert_int_equal(w->sent[before].node, 3);
    lead(w, 2);
    return &w->sent[before];
}

static void test_there_and_back(void **state)
{
    struct world *w = *state;
    struct create_topics_request request = create_request();
    for (int16_t version = 2; version <= 7; version++) {
        lead(w, 2);
        struct net_slot *slot = slot_ask(w, API_KEY_CREATE_TOPICS, version, &request);
        assert_false(slot->answered);
        struct sent *question = &w->sent[w->sent_count - 1];
        assert_int_equal(question->node, 2);
        assert_int_equal(question->channel, API_CHANNEL_FORWARD);
        struct sent *answer = answer_as_leader(w, question);
        assert_false(slot->answered);
        api_message(w->api, 3, API_CHANNEL_FORWARD, message(answer)); /* not the node that was asked */
        assert_false(slot->answered);
        api_message(w->api, 2, API_CHANNEL_FORWARD, message(answer));
        assert_int_equal(created_error(w, slot, version), version == 2 ? 0 : 36);
        slot_free(slot);
        api_message(w->api, 2, API_CHANNEL_FORWARD, message(answer)); /* twice: nobody waits any more */
    }
    struct catalog_topic topic;
    assert_true(catalog_find_topic(w->sets[0], STR("fresh"), &topic));
    struct api_stats stats;
    api_stats(w->api, &stats);
    assert_int_equal(stats.forwarded, 6);
    assert_int_equal(stats.waiting, 0);
}

static void test_leader_changes_on_the_way(void **state)
{
    struct world *w = *state;
    struct create_topics_request request = create_request();
    lead(w, 2);
    struct net_slot *slot = slot_ask(w, API_KEY_CREATE_TOPICS, 7, &request);
    uint8_t refusal[FORWARD_HEAD + 1];
    memcpy(refusal, w->sent[0].data.ptr, FORWARD_HEAD);
    refusal[0] = 2;
    refusal[FORWARD_HEAD] = 0;
    api_message(w->api, 2, API_CHANNEL_FORWARD, (struct bytes){refusal, sizeof(refusal)});
    assert_false(slot->answered);
    lead(w, 3);
    world_pass(w, 20);
    assert_int_equal(w->sent_count, 2);
    assert_int_equal(w->sent[1].node, 3);
    w->connected[3] = false;
    lead(w, SELF);
    api_peer_changed(w->api, 3, false);
    world_pass(w, 20);
    assert_int_equal(created_error(w, slot, 7), 0);
    slot_free(slot);
}

static void test_nobody_leads(void **state)
{
    struct world *w = *state;
    struct create_topics_request request = create_request();
    lead(w, 0);
    struct net_slot *slot = slot_ask(w, API_KEY_CREATE_TOPICS, 7, &request);
    for (int i = 0; i < 100; i++) {
        world_pass(w, 25);
    }
    assert_false(slot->answered);
    world_pass(w, 600);
    assert_int_equal(created_error(w, slot, 7), 41);
    slot_free(slot);
}

/* Silence is waited for as long as the client waits, at least 10 s and at most 60. */
static void test_leader_is_silent_for_long(void **state)
{
    static const int32_t cases[][2] = {{25000, 25000}, {3000, 10000}, {600000, 60000}, {-1, 10000}};
    struct world *w = *state;
    struct create_topics_request request = create_request();
    lead(w, 2);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        request.timeout_ms = cases[i][0];
        struct net_slot *slot = slot_ask(w, API_KEY_CREATE_TOPICS, 7, &request);
        world_pass(w, cases[i][1] - 1);
        assert_false(slot->answered);
        world_pass(w, 2);
        assert_int_equal(created_error(w, slot, 7), 7);
        slot_free(slot);
    }
}

static void test_leader_is_silent(void **state)
{
    struct world *w = *state;
    struct create_topics_request request = create_request();
    request.timeout_ms = 5000;
    lead(w, 2);
    struct net_slot *slot = slot_ask(w, API_KEY_CREATE_TOPICS, 7, &request);
    world_pass(w, 9000);
    assert_false(slot->answered);
    world_pass(w, 1001);
    assert_int_equal(created_error(w, slot, 7), 7);
    slot_free(slot);
}

/* A message between nodes holds up the heartbeats behind it. */
static void test_too_long_to_forward(void **state)
{
    enum { TOPICS = 600, NAME_BYTES = 30000 };
    static struct create_topics_request_creatable_topic topics[TOPICS];
    static char name[NAME_BYTES];
    struct world *w = *state;
    struct create_topics_request request;
    memset(name, 'x', sizeof(name));
    for (size_t i = 0; i < TOPICS; i++) {
        topics[i] =
            (struct create_topics_request_creatable_topic){.name = {name, NAME_BYTES}, .num_partitions = 1, .replication_factor = -1};
    }
    wire_init(&wire_create_topics_request, &request);
    request.topics.v = topics;
    request.topics.len = TOPICS;
    lead(w, 2);
    struct net_slot *slot = slot_ask(w, API_KEY_CREATE_TOPICS, 7, &request);
    assert_int_equal(w->sent_count, 0);
    const struct create_topics_response *response = slot_answer(w, slot, API_KEY_CREATE_TOPICS, 7);
    assert_int_equal(response->topics.v[TOPICS - 1].error_code, 41);
    slot_free(slot);
}

static void test_answer_too_long_to_forward(void **state)
{
    struct world *w = *state;
    struct create_topics_request request = create_request();
    lead(w, 2);
    struct net_slot *slot = slot_ask(w, API_KEY_CREATE_TOPICS, 7, &request);
    uint8_t answer[FORWARD_HEAD + 1];
    memcpy(answer, w->sent[0].data.ptr, FORWARD_HEAD);
    answer[0] = 2;
    answer[FORWARD_HEAD] = 2;
    api_message(w->api, 2, API_CHANNEL_FORWARD, (struct bytes){answer, sizeof(answer)});
    assert_true(slot->closed);
    assert_int_equal(w->sent_count, 1);
    slot_free(slot);
}

static void test_client_goes_while_forwarded(void **state)
{
    struct world *w = *state;
    struct create_topics_request request = create_request();
    lead(w, 2);
    struct net_slot *slot = slot_ask(w, API_KEY_CREATE_TOPICS, 7, &request);
    slot_gone(w, slot);
    slot_free(slot);
    struct sent *answer = answer_as_leader(w, &w->sent[0]);
    api_message(w->api, 2, API_CHANNEL_FORWARD, message(answer));
    lead(w, 0);
    slot = slot_ask(w, API_KEY_CREATE_TOPICS, 7, &request);
    slot_gone(w, slot);
    slot_free(slot);
}

static void test_asked_as_follower(void **state)
{
    struct world *w = *state;
    struct create_topics_request request = create_request();
    lead(w, 2);
    struct net_slot *slot = slot_ask(w, API_KEY_CREATE_TOPICS, 7, &request);
    api_message(w->api, 3, API_CHANNEL_FORWARD, message(&w->sent[0])); /* still a follower: says so, does not send it on */
    assert_int_equal(w->sent_count, 2);
    assert_int_equal(w->sent[1].node, 3);
    assert_int_equal(w->sent[1].data.len, FORWARD_HEAD + 1);
    assert_int_equal(w->sent[1].data.ptr[FORWARD_HEAD], 0);
    slot_gone(w, slot);
    slot_free(slot);
}

static void test_broken_messages(void **state)
{
    struct world *w = *state;
    static const uint8_t forms[][24] = {
        {0}, {1, 0, 0, 0, 0, 0, 0, 0, 1}, {1, 0, 0, 0, 0, 0, 0, 0, 1, 200, 1}, {2, 0, 0, 0, 0, 0, 0, 0, 9, 1}, {3}};
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        for (int32_t len = 0; len <= (int32_t)sizeof(forms[i]); len++) {
            api_message(w->api, 2, API_CHANNEL_FORWARD, (struct bytes){forms[i], len});
            api_message(w->api, 2, API_CHANNEL_APPLIED, (struct bytes){forms[i], len});
            for (size_t k = 0; k < w->sent_count; k++) {
                buf_fini(&w->sent[k].data);
            }
            w->sent_count = 0;
        }
    }
    struct api_stats stats;
    api_stats(w->api, &stats);
    assert_int_equal(stats.waiting, 0);
}

/* ---- all nodes have it ---- */

static void wait_for_all(struct world *w)
{
    w->options.apply_wait_us = 1000000;
    world_restart(w);
}

static void tell(struct world *w, size_t ask, uint32_t node)
{
    uint8_t told[9] = {2};
    memcpy(told + 1, w->sent[ask].data.ptr + 1, 8);
    api_message(w->api, node, API_CHANNEL_APPLIED, (struct bytes){told, sizeof(told)});
}

static void test_answered_when_all_have_applied(void **state)
{
    struct world *w = *state;
    struct create_topics_request request = create_request();
    wait_for_all(w);
    struct net_slot *slot = slot_ask(w, API_KEY_CREATE_TOPICS, 7, &request);
    assert_false(slot->answered);
    assert_int_equal(w->sent_count, 2);
    assert_int_equal(w->sent[0].channel, API_CHANNEL_APPLIED);
    tell(w, 0, 2);
    tell(w, 0, 2); /* the same node again does not count */
    assert_false(slot->answered);
    tell(w, 1, 3);
    assert_int_equal(created_error(w, slot, 7), 0);
    slot_free(slot);
}

static void test_node_is_slow_or_lost(void **state)
{
    struct world *w = *state;
    struct create_topics_request request = create_request();
    wait_for_all(w);
    struct net_slot *slot = slot_ask(w, API_KEY_CREATE_TOPICS, 7, &request);
    tell(w, 0, 2);
    world_pass(w, 999);
    assert_false(slot->answered);
    world_pass(w, 1);
    assert_int_equal(created_error(w, slot, 7), 0);
    slot_free(slot);
    tell(w, 1, 3); /* too late */
    slot = slot_ask(w, API_KEY_DELETE_TOPICS, 6, arena_get(&w->memory, sizeof(struct delete_topics_request)));
    tell(w, 2, 2);
    assert_false(slot->answered);
    api_peer_changed(w->api, 3, false);
    assert_true(slot->answered);
    slot_free(slot);
    w->connected[2] = w->connected[3] = false;
    slot = slot_ask(w, API_KEY_DELETE_TOPICS, 6, arena_get(&w->memory, sizeof(struct delete_topics_request)));
    assert_true(slot->answered);
    slot_free(slot);
}

static void test_asked_what_is_applied(void **state)
{
    struct world *w = *state;
    uint8_t question[17] = {1, 0, 0, 0, 0, 0, 0, 0, 5};
    w->index[0] = 10;
    put_be64(question + 9, 10);
    api_message(w->api, 2, API_CHANNEL_APPLIED, (struct bytes){question, sizeof(question)});
    assert_int_equal(w->sent_count, 1);
    assert_int_equal(w->sent[0].data.ptr[0], 2);
    assert_memory_equal(w->sent[0].data.ptr + 1, question + 1, 8);
    put_be64(question + 9, 12);
    api_message(w->api, 2, API_CHANNEL_APPLIED, (struct bytes){question, sizeof(question)});
    api_message(w->api, 3, API_CHANNEL_APPLIED, (struct bytes){question, sizeof(question)});
    api_turn_end(w->api);
    assert_int_equal(w->sent_count, 1);
    api_peer_changed(w->api, 3, false);
    w->index[0] = 12;
    api_turn_end(w->api);
    assert_int_equal(w->sent_count, 2);
    assert_int_equal(w->sent[1].node, 2);
    api_turn_end(w->api);
    assert_int_equal(w->sent_count, 2);
}

/* ---- this node's own requests ---- */

static bool find_self(struct world *w, struct catalog_node *ret)
{
    return catalog_next_node(w->sets[0], SELF - 1, ret) && ret->node_id == SELF;
}

static void test_registers_itself(void **state)
{
    struct world *w = *state;
    struct catalog_node node;
    api_register_self(w->api);
    assert_true(find_self(w, &node));
    STR_IS(node.host, "self.example");
    assert_int_equal(node.port, 9092);
    uint64_t index = w->index[0];
    api_register_self(w->api);
    assert_int_equal(w->index[0], index); /* nothing new */
    w->options.advertised_port = 19092;
    world_restart(w);
    api_register_self(w->api);
    assert_true(find_self(w, &node));
    assert_int_equal(node.port, 19092);
}

static void test_registers_through_the_leader(void **state)
{
    struct world *w = *state;
    struct catalog_node node;
    lead(w, 2);
    api_register_self(w->api);
    api_register_self(w->api); /* one is under way */
    assert_int_equal(w->sent_count, 1);
    assert_false(find_self(w, &node));
    struct sent *answer = answer_as_leader(w, &w->sent[0]);
    api_message(w->api, 2, API_CHANNEL_FORWARD, message(answer));
    assert_true(find_self(w, &node));
    struct api_stats stats;
    api_stats(w->api, &stats);
    assert_int_equal(stats.waiting, 0);
}

static void test_ends_while_registering(void **state)
{
    struct world *w = *state;
    lead(w, 0);
    api_register_self(w->api);
    world_restart(w); /* frees what waits */
    lead(w, 2);
    api_register_self(w->api);
}

/* ---- what operators ask ---- */

static void test_cluster_status(void **state)
{
    struct world *w = *state;
    struct cluster_status_request request;
    wire_init(&wire_cluster_status_request, &request);
    register_node(w, 2, "second.example", 2222);
    w->connected[3] = false;
    w->leader[1] = 3;
    w->leader[2] = 0;
    const struct cluster_status_response *response = ask(w, API_KEY_CLUSTER_STATUS, 0, &request);
    assert_int_equal(response->node_id, SELF);
    STR_IS(response->version, "1.2.3");
    assert_int_equal(response->nodes.len, 3);
    STR_IS(response->nodes.v[1].host, "second.example");
    STR_IS(response->nodes.v[2].peer_address, "h3:3");
    assert_true(response->nodes.v[0].connected && response->nodes.v[1].connected);
    assert_false(response->nodes.v[2].connected);
    assert_int_equal(response->shards.len, SHARDS);
    static const int32_t leaders[] = {1, 3, -1, 1}, roles[] = {2, 0, 1, 2};
    for (int32_t i = 0; i < SHARDS; i++) {
        assert_int_equal(response->shards.v[i].shard, i);
        assert_int_equal(response->shards.v[i].leader, leaders[i]);
        assert_int_equal(response->shards.v[i].role, roles[i]);
        assert_int_equal(response->shards.v[i].last_index, 100 + i);
        assert_int_equal(response->shards.v[i].state_hash, group_set_hash(w->sets[i]));
    }
}

static void test_log_read(void **state)
{
    struct world *w = *state;
    struct log_read_request request;
    wire_init(&wire_log_read_request, &request);
    request.shard = 1;
    const struct log_read_response *response = ask(w, API_KEY_LOG_READ, 0, &request);
    assert_int_equal(response->entries.len, 3);
    assert_int_equal(response->entries.v[2].index, 3);
    assert_int_equal(response->entries.v[2].data.len, 3);
    assert_int_equal(response->last_index, 3);
    request.from_index = 2;
    request.max_entries = 1;
    response = ask(w, API_KEY_LOG_READ, 0, &request);
    assert_int_equal(response->entries.len, 1);
    assert_int_equal(response->entries.v[0].index, 2);
    assert_int_equal(response->last_index, 2);
    request.from_index = 4;
    response = ask(w, API_KEY_LOG_READ, 0, &request);
    assert_int_equal(response->entries.len, 0);
    assert_int_equal(response->last_index, 3);
    request.shard = SHARDS;
    response = ask(w, API_KEY_LOG_READ, 0, &request);
    assert_int_equal(response->error_code, 42);
}

static void test_log_read_is_bounded(void **state)
{
    struct world *w = *state;
    struct log_read_request request;
    wire_init(&wire_log_read_request, &request);
    request.shard = 1;
    request.from_index = INT64_MIN;
    const struct log_read_response *response = ask(w, API_KEY_LOG_READ, 0, &request);
    assert_int_equal(response->entries.len, 3);
    request.from_index = INT64_MAX;
    response = ask(w, API_KEY_LOG_READ, 0, &request);
    assert_int_equal(response->entries.len, 0);
    /* What is looked at is bounded, not only what is shown; the next request goes on behind it. */
    request.from_index = 1;
    request.max_bytes = 1;
    response = ask(w, API_KEY_LOG_READ, 0, &request);
    assert_int_equal(response->last_index, 1);
    request.group_id = STR("a group that no entry touches");
    response = ask(w, API_KEY_LOG_READ, 0, &request);
    assert_int_equal(response->last_index, 1);
}

/* ---- ReadShard ---- */

static void make_groups(struct world *w, uint32_t shard, int count)
{
    for (int i = 0, made = 0; made < count; i++) {
        char group[32];
        (void)snprintf(group, sizeof(group), "read-%d", i);
        if (coord_shard_of(NULL, str_of(group)) == shard) {
            commit(w, str_of(group), "t", 0, i);
            made++;
        }
    }
}

static const struct read_shard_response *read_shard(struct world *w, int64_t cut, int32_t sequence)
{
    struct read_shard_request request = {.shard = 2, .cut_id = cut, .sequence = sequence, .max_bytes = 200};
    return ask(w, API_KEY_READ_SHARD, 0, &request);
}

/* The pieces in order are the state; a piece is to be had once. */
static void test_read_shard(void **state)
{
    struct world *w = *state;
    struct pool pool = {0};
    struct arena scratch;
    struct group_set *set = group_set_new(&pool, 2);
    arena_init(&scratch, 0);
    create_topic(w, "t", 1);
    make_groups(w, 2, 20);
    const struct read_shard_response *piece = read_shard(w, 0, 0);
    int64_t cut = piece->cut_id, hash = piece->state_hash;
    assert_true(cut > 0 && piece->term == 7 && piece->index == (int64_t)w->index[2]);
    assert_int_equal(read_shard(w, cut, 2)->error_code, 70);
    int32_t pieces = 1;
    for (;; pieces++) {
        assert_true(piece->error_code == 0 && piece->cut_id == cut && piece->data.len < 1000);
        arena_clear(&scratch);
        assert_int_equal(group_restore(set, piece->data, &scratch), 0);
        if (piece->last) {
            break;
        }
        make_groups(w, 2, 1); /* commits do not disturb it */
        piece = read_shard(w, cut, pieces);
    }
    assert_true(pieces > 5 && (int64_t)group_set_hash(set) == hash);
    assert_null(w->cut);
    assert_int_equal(read_shard(w, cut, pieces)->error_code, 70);
    group_set_free(set);
    arena_fini(&scratch);
}

static void test_read_shard_elsewhere(void **state)
{
    struct world *w = *state;
    struct read_shard_request request = {.shard = SHARDS};
    assert_int_equal(((const struct read_shard_response *)ask(w, API_KEY_READ_SHARD, 0, &request))->error_code, 42);
    w->state[2] = 16;
    w->leader[2] = 3;
    const struct read_shard_response *response = read_shard(w, 0, 0);
    assert_true(response->error_code == 16 && response->leader == 3 && response->cut_id == 0);
    w->state[2] = 0;
    create_topic(w, "t", 1);
    make_groups(w, 2, 20);
    assert_int_equal(read_shard(w, 0, 0)->error_code, 0);
    assert_int_equal(read_shard(w, 0, 0)->error_code, 14); /* one at a time */
}

/* A reader that stops reading costs memory for so long and no longer, and so does one that loses its cut to the node. */
static void test_read_shard_is_let_go(void **state)
{
    struct world *w = *state;
    create_topic(w, "t", 1);
    make_groups(w, 2, 20);
    int64_t cut = read_shard(w, 0, 0)->cut_id;
    world_pass(w, 4000);
    assert_int_equal(read_shard(w, cut, 1)->error_code, 0);
    assert_true(api_next_deadline_us(w->api) == w->now_us + 5000000);
    world_pass(w, 5000);
    assert_null(w->cut);
    assert_int_equal(read_shard(w, cut, 2)->error_code, 70);
    cut = read_shard(w, 0, 0)->cut_id;
    struct coord_cut *lost = w->cut;
    w->cut = NULL;
    group_snapshot_end(w->sets[2]);
    lost->lost(lost);
    assert_int_equal(read_shard(w, cut, 1)->error_code, 70);
}

static void test_read_shard_of_a_client_that_left(void **state)
{
    struct world *w = *state;
    struct read_shard_request request = {.shard = 2};
    w->hold = true;
    struct net_slot *slot = slot_ask(w, API_KEY_READ_SHARD, 0, &request);
    assert_int_equal(w->read_count, 1);
    slot_gone(w, slot);
    world_finish_read(w, w->reads[0], 0);
    assert_null(w->cut);
    slot_free(slot);
}

/* ---- ReadFolder ---- */

static struct net_slot *read_folder(struct world *w, const char *name, int64_t offset)
{
    struct read_folder_request request = {.name = str_of(name), .offset = offset, .max_bytes = 10};
    return slot_ask(w, API_KEY_READ_FOLDER, 0, &request);
}

static const struct read_folder_response *folder_answer(struct world *w, struct net_slot *slot)
{
    return slot_answer(w, slot, API_KEY_READ_FOLDER, 0);
}

/* What the host brings back becomes the answer; it is asked beside the loop, by few at once. */
static void test_read_folder(void **state)
{
    struct world *w = *state;
    w->hold_folder_reads = true;
    struct net_slot *names = read_folder(w, NULL, 0), *bytes = read_folder(w, "log-1.seg", 30), *third = read_folder(w, "log-1.seg", 40);
    assert_int_equal(w->folder_read_count, 2);
    assert_int_equal(folder_answer(w, third)->error_code, 89);
    slot_free(third);
    assert_string_equal(w->folder_reads[0]->name, "");
    assert_string_equal(w->folder_reads[1]->name, "log-1.seg");
    assert_true(w->folder_reads[1]->offset == 30 && w->folder_reads[1]->max_bytes == 10);
    assert_int_equal(buf_put(&w->folder_reads[1]->data, "0123456789", 10), 0);
    w->folder_reads[1]->file_bytes = 4096;
    api_folder_done(w->api, w->folder_reads[1]);
    const struct read_folder_response *response = folder_answer(w, bytes);
    assert_true(response->error_code == 0 && response->file_bytes == 4096 && response->data.len == 10 && response->node_id == SELF);
    slot_free(bytes);
    assert_int_equal(buf_put(&w->folder_reads[0]->data, "log-1.seg\0snap-0-9.snap", 24), 0);
    api_folder_done(w->api, w->folder_reads[0]);
    response = folder_answer(w, names);
    assert_true(response->error_code == 0 && response->names.len == 2 && str_eq(response->names.v[1], STR("snap-0-9.snap")));
    slot_free(names);
    struct net_slot *gone = read_folder(w, "log-0.seg", 0);
    w->folder_reads[2]->result = MUSTER_E_NOT_FOUND;
    api_folder_done(w->api, w->folder_reads[2]);
    assert_int_equal(folder_answer(w, gone)->error_code, 56);
    slot_free(gone);
}

static void test_read_folder_refuses(void **state)
{
    static const char long_name[] = "log-0000000000000000000000000000000000000000000000000000000000000001.seg";
    static const char *const names[] = {"", long_name, "log-1.seg"};
    struct world *w = *state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct net_slot *slot = read_folder(w, names[i], i == 2 ? -1 : 0);
        assert_int_equal(folder_answer(w, slot)->error_code, 42);
        slot_free(slot);
    }
    assert_int_equal(w->folder_read_count, 0);
}

/* The client goes, and then the node, before the disk has answered. */
static void test_read_folder_that_nobody_waits_for(void **state)
{
    struct world *w = *state;
    w->hold_folder_reads = true;
    struct net_slot *slot = read_folder(w, NULL, 0);
    slot_gone(w, slot);
    assert_int_equal(buf_put(&w->folder_reads[0]->data, "x", 2), 0);
    api_folder_done(w->api, w->folder_reads[0]);
    slot_free(slot);
    slot = read_folder(w, NULL, 0);
    slot_gone(w, slot);
    world_restart(w); /* the api is freed with a read under way */
    slot_free(slot);
}

static void test_transfer(void **state)
{
    struct world *w = *state;
    struct transfer_shard_request request = {.shard = 2, .node_id = -1};
    static const struct {
        int rc;
        int16_t error;
    } cases[] = {{0, 0}, {MUSTER_E_BUSY, 15}, {MUSTER_E_NOT_FOUND, 42}, {MUSTER_E_NOT_LEADER, 16}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        w->transfer_rc = cases[i].rc;
        const struct transfer_shard_response *response = ask(w, API_KEY_TRANSFER_SHARD, 0, &request);
        assert_int_equal(response->error_code, cases[i].error);
        assert_int_equal(w->transfer_shard, 2);
        assert_int_equal(w->transfer_node, 0);
    }
    w->transfer_rc = MUSTER_E_NOT_FOUND; /* to where it is: it went there meanwhile, or was sent before and the answer was lost */
    request.node_id = SELF;
    assert_int_equal(((const struct transfer_shard_response *)ask(w, API_KEY_TRANSFER_SHARD, 0, &request))->error_code, 0);
    request.node_id = -1;
    w->transfer_rc = 0;
    w->leader[2] = 3;
    struct net_slot *slot = slot_ask(w, API_KEY_TRANSFER_SHARD, 0, &request);
    assert_int_equal(w->sent_count, 1);
    assert_int_equal(w->sent[0].node, 3);
    w->leader[2] = SELF;
    api_message(w->api, 2, API_CHANNEL_FORWARD, message(&w->sent[0]));
    api_message(w->api, 3, API_CHANNEL_FORWARD, message(&w->sent[1]));
    const struct transfer_shard_response *response = slot_answer(w, slot, API_KEY_TRANSFER_SHARD, 0);
    assert_int_equal(response->error_code, 0);
    slot_free(slot);
    w->leader[2] = 0;
    response = ask(w, API_KEY_TRANSFER_SHARD, 0, &request);
    assert_int_equal(response->error_code, 15);
    request.shard = SHARDS;
    response = ask(w, API_KEY_TRANSFER_SHARD, 0, &request);
    assert_int_equal(response->error_code, 42);
}

const struct CMUnitTest forward_tests[] = {
    TEST(test_there_and_back),
    TEST(test_leader_changes_on_the_way),
    TEST(test_nobody_leads),
    TEST(test_leader_is_silent),
    TEST(test_leader_is_silent_for_long),
    TEST(test_too_long_to_forward),
    TEST(test_answer_too_long_to_forward),
    TEST(test_client_goes_while_forwarded),
    TEST(test_asked_as_follower),
    TEST(test_broken_messages),
    TEST(test_answered_when_all_have_applied),
    TEST(test_node_is_slow_or_lost),
    TEST(test_asked_what_is_applied),
    TEST(test_registers_itself),
    TEST(test_registers_through_the_leader),
    TEST(test_ends_while_registering),
    TEST(test_cluster_status),
    TEST(test_log_read),
    TEST(test_log_read_is_bounded),
    TEST(test_read_shard),
    TEST(test_read_shard_elsewhere),
    TEST(test_read_shard_is_let_go),
    TEST(test_read_shard_of_a_client_that_left),
    TEST(test_read_folder),
    TEST(test_read_folder_refuses),
    TEST(test_read_folder_that_nobody_waits_for),
    TEST(test_transfer),
};
const size_t forward_test_count = COUNT_OF(forward_tests);
