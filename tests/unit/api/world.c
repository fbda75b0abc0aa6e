#include "world.h"

#include "group_defaults.h"

#include <stdlib.h>
#include <string.h>

/* ---- coord and replica ---- */

static struct world *world_of(const void *opaque)
{
    return (struct world *)(uintptr_t)opaque;
}

uint32_t coord_shard_of(const struct coord *c, struct str group_id)
{
    (void)c;
    return (uint32_t)(hash_bytes(group_id.ptr, group_id.len > 0 ? (size_t)group_id.len : 0, 0) % SHARDS);
}

int16_t coord_shard_state(const struct coord *c, uint32_t shard, uint32_t *ret_leader)
{
    *ret_leader = world_of(c)->leader[shard];
    return world_of(c)->state[shard];
}

bool coord_shard_moves(const struct coord *c, uint32_t shard)
{
    return world_of(c)->moves[shard];
}

const struct group_set *coord_set(const struct coord *c, uint32_t shard)
{
    return world_of(c)->sets[shard];
}

struct replica *coord_replica(const struct coord *c)
{
    return (struct replica *)world_of(c);
}

uint64_t coord_applied_index(const struct coord *c, uint32_t shard)
{
    return world_of(c)->index[shard];
}

static bool is_catalog(enum group_op_kind kind)
{
    return kind >= CATALOG_CREATE_TOPICS && kind <= CATALOG_UPGRADE;
}

static uint32_t shard_of(struct coord_request *r)
{
    return is_catalog(r->op.kind) ? 0 : coord_shard_of(NULL, r->op.group_id);
}

void world_decide(struct world *w, struct coord_request *r)
{
    uint32_t shard = shard_of(r);
    struct group_out out;
    r->op.wall_ms = r->op.clock_ms = w->now_us / 1000;
    r->op.next_index = w->index[shard] + 1;
    r->op.topics = &w->topics;
    r->op.catalog = w->sets[0];
    r->op.settings = &w->settings;
    put_be32(r->op.fresh_id.b + 12, ++w->ids);
    group_decide(w->sets[shard], &r->op, r->arena, &out);
    if (out.records.len > 0) {
        w->index[shard]++;
    }
    for (size_t i = 0; i < out.records.len; i++) {
        arena_clear(&w->scratch);
        assert_true(group_apply(w->sets[shard], w->index[shard], out.records.v[i], &w->scratch));
    }
    if (out.verdict == GROUP_WAIT) {
        w->held[w->held_count++] = r;
        return;
    }
    r->done(r, out.error, out.answer);
}

void coord_submit(struct coord *c, struct coord_request *r)
{
    struct world *w = world_of(c);
    int16_t error = w->state[shard_of(r)];
    w->submitted++;
    if (error != 0) {
        struct group_out out;
        group_refuse(&r->op, error, r->arena, &out);
        r->done(r, error, out.answer);
    } else if (w->hold) {
        assert_true(w->held_count < MAX_HELD);
        w->held[w->held_count++] = r;
    } else {
        world_decide(w, r);
    }
}

void coord_cancel(struct coord *c, struct coord_request *r)
{
    world_of(c)->cancelled++;
    r->done(r, 0, NULL);
}

void coord_let_go(struct coord *c, struct coord_request *r)
{
    world_of(c)->let_go++;
    r->yields = false;
}

void coord_submit_read(struct coord *c, struct coord_read *read)
{
    struct world *w = world_of(c);
    if (w->hold) {
        w->reads[w->read_count++] = read;
    } else {
        world_finish_read(w, read, 0);
    }
}

void world_finish_read(struct world *w, struct coord_read *read, int16_t error)
{
    if (error == 0) {
        read->read(read, w->sets[read->shard]);
    }
    read->done(read, error);
}

static void cut_freeze(struct coord_read *read, const struct group_set *set)
{
    struct coord_cut *cut = read->ctx;
    (void)set;
    struct world *w = world_of(cut->in.coord);
    cut->index = w->index[cut->shard];
    cut->term = 7;
    cut->state_hash = group_set_hash(w->sets[cut->shard]);
    group_snapshot_begin(w->sets[cut->shard]);
}

static void cut_opened(struct coord_read *read, int16_t error)
{
    struct coord_cut *cut = read->ctx;
    cut->in.frozen = error == 0;
    world_of(cut->in.coord)->cut = error == 0 ? cut : NULL;
    cut->opened(cut, error);
}

void coord_cut_open(struct coord *c, struct coord_cut *cut)
{
    struct world *w = world_of(c);
    cut->in.coord = c;
    cut->in.read = (struct coord_read){.shard = cut->shard, .read = cut_freeze, .done = cut_opened, .ctx = cut};
    if (w->cut != NULL || w->state[cut->shard] != 0) {
        cut->opened(cut, w->cut != NULL ? 14 : w->state[cut->shard]);
    } else {
        coord_submit_read(c, &cut->in.read);
    }
}

int coord_cut_next(struct coord_cut *cut, size_t budget, struct buf *out, bool *ret_more)
{
    const struct group_set *set = world_of(cut->in.coord)->sets[cut->shard];
    *ret_more = group_snapshot_next(world_of(cut->in.coord)->sets[cut->shard], budget, out);
    return *ret_more || group_snapshot_whole(set) ? 0 : MUSTER_E_CORRUPT;
}

void coord_cut_close(struct coord_cut *cut)
{
    struct world *w = world_of(cut->in.coord);
    assert_ptr_equal(w->cut, cut);
    w->cut = NULL;
    group_snapshot_end(w->sets[cut->shard]);
}

uint32_t replica_shard_count(const struct replica *r)
{
    (void)r;
    return SHARDS;
}

bool replica_connected(const struct replica *r, uint32_t node)
{
    return node <= NODES && world_of(r)->connected[node];
}

size_t replica_nodes(const struct replica *r, uint32_t *ret_ids, size_t capacity)
{
    (void)r;
    for (uint32_t i = 0; i < NODES && i < capacity; i++) {
        ret_ids[i] = i + 1;
    }
    return NODES;
}

size_t replica_members(const struct replica *r, uint32_t shard, struct replica_member *ret, size_t capacity, bool *ret_committed)
{
    (void)r;
    assert_true(capacity >= NODES);
    for (uint32_t i = 0; i < NODES; i++) {
        ret[i] = (struct replica_member){.node = i + 1, .vote = i + 1 == NODES && shard == 1 ? REPLICA_LEARNER : REPLICA_VOTER};
    }
    *ret_committed = shard != 2;
    return NODES;
}

bool replica_progress(const struct replica *r, uint32_t shard, uint32_t node, struct replica_progress *ret)
{
    const struct world *w = world_of(r);
    *ret = (struct replica_progress){.match_index = 10 * shard + node, .heard_us = node == 2 ? w->now_us - 7000 : 0};
    return w->leader[shard] == SELF;
}

bool replica_send(struct replica *r, uint32_t node, uint16_t channel, struct bytes data)
{
    struct world *w = world_of(r);
    if (w->send_fails || !w->connected[node]) {
        return false;
    }
    assert_true(w->sent_count < MAX_MESSAGES);
    struct sent *sent = &w->sent[w->sent_count++];
    sent->node = node;
    sent->channel = channel;
    buf_init(&sent->data, 0);
    assert_int_equal(buf_put(&sent->data, data.ptr, (size_t)data.len), 0);
    return true;
}

void replica_status(const struct replica *r, uint32_t shard, struct replica_shard_status *ret)
{
    struct world *w = world_of(r);
    *ret = (struct replica_shard_status){
        .role = w->leader[shard] == SELF ? REPLICA_SERVING : REPLICA_FOLLOWER,
        .leader = w->leader[shard],
        .term = 7,
        .first_index = 1,
        .last_index = 100 + shard,
        .commit_index = 3,
        .applied_index = 3,
    };
}

int replica_read_entry(const struct replica *r, uint32_t shard, uint64_t index, uint64_t *ret_term, uint8_t *ret_kind, struct bytes *ret)
{
    static const uint8_t payload[] = {1, 2, 3};
    (void)r;
    (void)shard;
    if (index < 1 || index > 3) {
        return MUSTER_E_NOT_FOUND;
    }
    *ret_term = 7;
    *ret_kind = 1;
    *ret = (struct bytes){payload, (int32_t)index};
    return 0;
}

int replica_transfer(struct replica *r, uint32_t shard, uint32_t node)
{
    struct world *w = world_of(r);
    w->transfer_shard = shard;
    w->transfer_node = node;
    return w->transfer_rc;
}

/* ---- net ---- */

void net_set_user(struct net_slot *slot, void *user)
{
    slot->user = user;
}

struct buf *net_answer_begin(struct net_slot *slot)
{
    assert_false(slot->answered);
    return slot->gone ? NULL : &slot->out;
}

void net_answer_end(struct net_slot *slot)
{
    slot->answered = true;
}

void net_answer_close(struct net_slot *slot)
{
    slot->answered = slot->closed = true;
}

void net_release(struct net_slot *slot)
{
    assert_false(slot->released);
    slot->released = true;
}

struct net_slot *slot_frame(struct world *w, const void *frame, size_t len)
{
    static const struct principal anonymous = {STR("User"), STR("ANONYMOUS")};
    struct net_slot *slot = calloc(1, sizeof(*slot));
    arena_init(&slot->arena, 0);
    buf_init(&slot->out, 0);
    struct bytes copy = arena_bytes(&slot->arena, (struct bytes){frame, (int32_t)len});
    struct net_frame taken = {slot, copy, &slot->arena, 42, STR("/127.0.0.1"), &anonymous};
    api_turn_begin(w->api, w->now_us);
    slot->verdict = w->handler.frame(w->handler.ctx, &taken);
    if (slot->verdict == NET_CLOSE) {
        slot->closed = slot->released = true;
    }
    return slot;
}

struct net_slot *slot_ask(struct world *w, int16_t key, int16_t version, const void *request)
{
    struct buf frame;
    buf_init(&frame, 0);
    assert_int_equal(wire_frame_request(wire_api_find(key), version, 77, STR("tester"), request, &frame), 0);
    struct net_slot *slot = slot_frame(w, frame.ptr + 4, frame.len - 4);
    buf_fini(&frame);
    return slot;
}

void slot_follows(struct world *w, struct net_slot *slot)
{
    w->handler.follows(w->handler.ctx, slot, slot->user);
}

void slot_gone(struct world *w, struct net_slot *slot)
{
    slot->gone = true;
    slot->answered = true;
    w->handler.gone(w->handler.ctx, slot, slot->user);
}

void slot_free(struct net_slot *slot)
{
    assert_true(slot->released);
    arena_fini(&slot->arena);
    buf_fini(&slot->out);
    free(slot);
}

const void *slot_answer(struct world *w, struct net_slot *slot, int16_t key, int16_t version)
{
    const struct wire_api *api = wire_api_find(key);
    void *response = arena_get(&w->memory, api->response->type->size);
    size_t used = 0, body = 0;
    int32_t correlation_id = 0;
    assert_true(slot->answered);
    assert_false(slot->closed);
    assert_true(slot->out.len >= 8);
    assert_int_equal(get_be32(slot->out.ptr), slot->out.len - 4);
    struct bytes frame = arena_bytes(&w->memory, (struct bytes){slot->out.ptr + 4, (int32_t)(slot->out.len - 4)});
    assert_int_equal(wire_read_response_header(api, version, frame, &correlation_id, &used), 0);
    assert_int_equal(correlation_id, 77);
    struct bytes rest = {frame.ptr + used, (int32_t)((size_t)frame.len - used)};
    assert_int_equal(wire_decode(api->response, version, rest, &w->memory, response, &body), 0);
    assert_int_equal(body, rest.len);
    return response;
}

const void *ask(struct world *w, int16_t key, int16_t version, const void *request)
{
    struct net_slot *slot = slot_ask(w, key, version, request);
    const void *response = slot_answer(w, slot, key, version);
    slot_free(slot);
    return response;
}

/* ---- the world ---- */

static struct str no_value(const void *ctx, struct str key, struct arena *arena)
{
    (void)ctx;
    (void)key;
    (void)arena;
    return STR_NULL;
}

static bool no_key(const void *ctx, struct str after, struct str *ret_key)
{
    (void)ctx;
    (void)after;
    (void)ret_key;
    return false;
}

/* A coord that goes takes its cuts back first. */
static void lose_cut(struct world *w)
{
    struct coord_cut *cut = w->cut;
    if (cut != NULL) {
        w->cut = NULL;
        group_snapshot_end(w->sets[cut->shard]);
        cut->lost(cut);
    }
}

void world_restart(struct world *w)
{
    lose_cut(w);
    api_free(w->api);
    assert_int_equal(api_new(&w->api, &w->options, (struct coord *)w), 0);
    api_net_handler(w->api, &w->handler);
    api_turn_begin(w->api, w->now_us);
}

static void hold_folder_read(void *ctx, struct api_folder_read *read)
{
    struct world *w = ctx;
    if (w->hold_folder_reads) {
        w->folder_reads[w->folder_read_count++] = read;
        return;
    }
    read->result = MUSTER_E_NOT_FOUND;
    api_folder_done(w->api, read);
}

int world_setup(void **state)
{
    static const struct api_peer peers[] = {{1, STR("h1:1")}, {2, STR("h2:2")}, {3, STR("h3:3")}};
    struct world *w = calloc(1, sizeof(*w));
    for (uint32_t i = 0; i < SHARDS; i++) {
        w->sets[i] = group_set_new(&w->pool, i);
        w->leader[i] = SELF;
    }
    w->settings = group_defaults();
    w->settings.initial_rebalance_delay_ms = 0;
    w->settings.streams.initial_rebalance_delay_ms = 0;
    w->settings.default_partitions = 2;
    w->settings.node_count = NODES;
    w->connected[2] = w->connected[3] = true;
    w->now_us = 1000000000;
    w->options = (struct api_options){
        .node_id = SELF,
        .cluster_id = {{9}},
        .incarnation = {{1}},
        .advertised_host = STR("self.example"),
        .advertised_port = 9092,
        .peer_address = STR("h1:1"),
        .rack = STR_NULL,
        .version = STR("1.2.3"),
        .peers = peers,
        .peer_count = NODES,
        .apply_wait_us = 0,
        .request_max_groups = 2000,
        .backup_idle_us = 5000000,
        .read_folder = hold_folder_read,
        .read_folder_ctx = w,
        .folder_reads_max = 2,
        .request_max_topics = 5000,
        .response_max_bytes = 128 << 20,
        .consumer_groups = true,
        .streams_groups = true,
        .broker_values = {NULL, no_value, no_key},
        .settings = &w->settings,
    };
    arena_init(&w->scratch, 0);
    arena_init(&w->memory, 0);
    catalog_topics(w->sets[0], &w->topics);
    log_set(NULL, NULL, LOG_ERROR);
    world_restart(w);
    *state = w;
    return 0;
}

int world_teardown(void **state)
{
    struct world *w = *state;
    lose_cut(w);
    api_free(w->api);
    for (uint32_t i = 0; i < SHARDS; i++) {
        group_set_free(w->sets[i]);
    }
    for (size_t i = 0; i < w->sent_count; i++) {
        buf_fini(&w->sent[i].data);
    }
    arena_fini(&w->scratch);
    arena_fini(&w->memory);
    free(w);
    return 0;
}

void world_pass(struct world *w, int64_t ms)
{
    w->now_us += ms * 1000;
    api_turn_begin(w->api, w->now_us);
    api_turn_end(w->api);
}

void create_topic(struct world *w, const char *name, int32_t partitions)
{
    struct create_topics_request request;
    struct create_topics_request_creatable_topic topic = {.name = str_of(name), .num_partitions = partitions, .replication_factor = -1};
    wire_init(&wire_create_topics_request, &request);
    request.topics.v = &topic;
    request.topics.len = 1;
    const struct create_topics_response *response = ask(w, API_KEY_CREATE_TOPICS, 7, &request);
    assert_int_equal(response->topics.len, 1);
    assert_int_equal(response->topics.v[0].error_code, 0);
}

struct str group_of_shard(struct world *w, uint32_t shard)
{
    for (int i = 0;; i++) {
        struct str id = arena_printf(&w->memory, "group-%d", i);
        if (coord_shard_of(NULL, id) == shard) {
            return id;
        }
    }
}

void register_node(struct world *w, int32_t node, const char *host, int32_t port)
{
    struct register_node_request request;
    wire_init(&wire_register_node_request, &request);
    request.node_id = node;
    request.incarnation.b[0] = (uint8_t)node;
    request.host = str_of(host);
    request.port = port;
    request.peer_address = STR("p:1");
    const struct register_node_response *response = ask(w, API_KEY_REGISTER_NODE, 0, &request);
    assert_int_equal(response->error_code, 0);
}

void commit(struct world *w, struct str group, const char *topic, int32_t partition, int64_t offset)
{
    struct offset_commit_request request;
    struct offset_commit_request_partition p = {.partition_index = partition,
                                                .committed_offset = offset,
                                                .committed_leader_epoch = -1,
                                                .committed_metadata = STR("m")};
    struct offset_commit_request_topic t = {.name = str_of(topic), .partitions = {&p, 1}};
    wire_init(&wire_offset_commit_request, &request);
    request.group_id = group;
    request.topics.v = &t;
    request.topics.len = 1;
    const struct offset_commit_response *response = ask(w, API_KEY_OFFSET_COMMIT, 7, &request);
    assert_int_equal(response->topics.v[0].partitions.v[0].error_code, 0);
}
