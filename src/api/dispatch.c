/* dispatch.c: the table of APIs, and the first and the last step of each request. */
#include "internal.h"

#include <string.h>

/* Versions are those of the schema (src/wire/schema), which are the ones that Kafka 4.4 accepts. Ordered by key. */
const struct api_row api_rows[] = {
    {API_KEY_PRODUCE, false, api_produce},
    {API_KEY_FETCH, true, api_fetch},
    {API_KEY_LIST_OFFSETS, false, api_list_offsets},
    {API_KEY_METADATA, false, api_metadata},
    {API_KEY_OFFSET_COMMIT, false, api_offset_commit},
    {API_KEY_OFFSET_FETCH, false, api_offset_fetch},
    {API_KEY_FIND_COORDINATOR, false, api_find_coordinator},
    {API_KEY_JOIN_GROUP, true, api_join_group},
    {API_KEY_HEARTBEAT, false, api_heartbeat},
    {API_KEY_LEAVE_GROUP, false, api_leave_group},
    {API_KEY_SYNC_GROUP, true, api_sync_group},
    {API_KEY_DESCRIBE_GROUPS, false, api_describe_groups},
    {API_KEY_LIST_GROUPS, false, api_list_groups},
    {API_KEY_API_VERSIONS, false, api_api_versions},
    {API_KEY_CREATE_TOPICS, false, api_create_topics},
    {API_KEY_DELETE_TOPICS, false, api_delete_topics},
    {API_KEY_INIT_PRODUCER_ID, false, api_init_producer_id},
    {API_KEY_OFFSET_FOR_LEADER_EPOCH, false, api_offset_for_leader_epoch},
    {API_KEY_DESCRIBE_CONFIGS, false, api_describe_configs},
    {API_KEY_CREATE_PARTITIONS, false, api_create_partitions},
    {API_KEY_DELETE_GROUPS, false, api_delete_groups},
    {API_KEY_INCREMENTAL_ALTER_CONFIGS, false, api_incremental_alter_configs},
    {API_KEY_LIST_PARTITION_REASSIGNMENTS, false, api_list_partition_reassignments},
    {API_KEY_OFFSET_DELETE, false, api_offset_delete},
    {API_KEY_DESCRIBE_CLUSTER, false, api_describe_cluster},
    {API_KEY_CONSUMER_GROUP_HEARTBEAT, false, api_consumer_group_heartbeat},
    {API_KEY_CONSUMER_GROUP_DESCRIBE, false, api_consumer_group_describe},
    {API_KEY_LIST_CONFIG_RESOURCES, false, api_list_config_resources},
    {API_KEY_DESCRIBE_TOPIC_PARTITIONS, false, api_describe_topic_partitions},
    {API_KEY_STREAMS_GROUP_HEARTBEAT, false, api_streams_group_heartbeat},
    {API_KEY_STREAMS_GROUP_DESCRIBE, false, api_streams_group_describe},
    {API_KEY_STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, false, api_streams_group_topology_description_update},
    {API_KEY_CLUSTER_STATUS, false, api_cluster_status},
    {API_KEY_LOG_READ, false, api_log_read},
    {API_KEY_TRANSFER_SHARD, false, api_transfer_shard},
    {API_KEY_SET_END_OFFSET, false, api_set_end_offset},
    {API_KEY_REGISTER_NODE, false, api_register_node},
    {API_KEY_STREAMS_GROUP_INITIALIZE, true, api_streams_group_initialize},
    {API_KEY_STREAMS_GROUP_TOPOLOGY, false, api_streams_group_topology},
    {API_KEY_CHANGE_MEMBER, false, api_change_member},
    {API_KEY_CLUSTER_MEMBERS, false, api_cluster_members},
    {API_KEY_UPGRADE_CLUSTER, false, api_upgrade_cluster},
    {API_KEY_ALTER_GROUP_OFFSETS, false, api_alter_group_offsets},
    {API_KEY_READ_SHARD, false, api_read_shard},
    {API_KEY_READ_FOLDER, false, api_read_folder},
    {API_KEY_GROUP_HISTORY, false, api_group_history},
};
const size_t api_row_count = COUNT_OF(api_rows);
_Static_assert(COUNT_OF(api_rows) <= 64, "struct api_stats counts by row");

bool api_yields(const struct api_row *row)
{
    return row->key == API_KEY_CONSUMER_GROUP_HEARTBEAT || row->key == API_KEY_STREAMS_GROUP_HEARTBEAT;
}

enum {
    DECODED_FACTOR = 64, /* a decoded message may take so many times the bytes of its frame, and a little more */
    DECODED_LEAST_BYTES = 1 << 16,
    DECODED_MOST_BYTES = 16 << 20 /* room for 200,000 partitions; what is decoded without a copy, like metadata, does not count */
};

/* Besides memory it bounds time: a million names in one request hold up the loop long enough for the node to lose its shards. */
static size_t decoded_limit(size_t body_len)
{
    size_t limit = body_len * DECODED_FACTOR + DECODED_LEAST_BYTES;
    return limit < DECODED_MOST_BYTES ? limit : DECODED_MOST_BYTES;
}

static const struct api_row *find_row(int16_t key)
{
    size_t low = 0, high = api_row_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (api_rows[middle].key == key) {
            return &api_rows[middle];
        }
        if (api_rows[middle].key < key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

void api_ref(struct api_request *r)
{
    r->refs++;
}

/* Gives the request's memory back once it is answered and nothing can come back to it. */
void api_unref(struct api_request *r)
{
    MUSTER_CHECK(r->refs > 0);
    r->refs--;
    if (r->refs > 0) {
        return;
    }
    MUSTER_CHECK(r->answered);
    struct api *a = r->api;
    wait_cancel(r);
    a->stats.waiting--;
    if (r->slot != NULL) {
        net_release(r->slot);
        return;
    }
    struct arena own = r->own_arena; /* the request lies in it */
    arena_fini(&own);
}

/* Header and body. VERSION leaves the header's fields filled. */
static int read_frame(struct api_request *r, struct bytes frame)
{
    struct wire_request_header header;
    size_t used = 0;
    int rc = wire_read_request_header(frame, &header, &used);
    if (rc < 0 && rc != MUSTER_E_VERSION) {
        return rc;
    }
    r->frame = frame;
    r->row = find_row(header.api_key);
    r->version = header.api_version;
    r->correlation_id = header.correlation_id;
    r->client_id = header.client_id;
    if (rc < 0 || r->row == NULL) {
        return MUSTER_E_VERSION;
    }
    r->row_idx = (size_t)(r->row - api_rows);
    r->wire = wire_api_find(header.api_key);
    void *message = arena_get(r->arena, r->wire->request->type->size);
    struct bytes body = {frame.ptr + used, (int32_t)((size_t)frame.len - used)};
    r->arena->limit_bytes = r->arena->used_bytes + decoded_limit((size_t)body.len);
    rc = wire_decode(r->wire->request, r->version, body, r->arena, message, NULL);
    r->arena->limit_bytes = 0;
    r->request = message;
    return rc;
}

static void run(struct api_request *r)
{
    r->api->stats.by_key[r->row_idx]++;
    api_ref(r);
    r->row->handle(r);
    api_unref(r);
}

int api_run_frame(struct api_request *r, struct bytes frame)
{
    int rc = read_frame(r, frame);
    if (rc == 0) {
        r->api->stats.waiting++;
        run(r);
    }
    return rc;
}

static struct api_request *new_request(struct api *a, struct arena *arena)
{
    struct api_request *r = arena_get(arena, sizeof(*r));
    r->api = a;
    r->arena = arena;
    r->wait.at = SIZE_MAX;
    return r;
}

struct api_request *api_new_own(struct api *a)
{
    struct arena arena;
    arena_init(&arena, 0);
    struct api_request *r = new_request(a, &arena);
    r->own_arena = arena;
    r->arena = &r->own_arena;
    return r;
}

void api_drop_own(struct api_request *r)
{
    struct arena own = r->own_arena;
    arena_fini(&own);
}

void api_run_own(struct api *a, int16_t key, const void *value, void (*sink)(struct api_request *r, const void *response), void *state)
{
    api_run_value(api_new_own(a), key, value, sink, state);
}

void api_run_value(struct api_request *r, int16_t key, const void *value, void (*sink)(struct api_request *r, const void *response),
                   void *state)
{
    const struct wire_api *wire = wire_api_find(key);
    struct buf frame;
    buf_init(&frame, 0);
    MUSTER_CHECK(wire_frame_request(wire, wire->request->max_version, 0, STR_NULL, value, &frame) == 0);
    struct bytes copy = arena_bytes(r->arena, (struct bytes){frame.ptr + 4, (int32_t)(frame.len - 4)});
    buf_fini(&frame);
    r->sink = sink;
    r->state = state;
    r->host = STR("");
    MUSTER_CHECK(api_run_frame(r, copy) == 0);
}

/* ---- frames of clients ---- */

static void log_refused(struct api_request *r, int rc)
{
    struct api *a = r->api;
    uint64_t kept_back;
    bool unsupported = rc == MUSTER_E_VERSION;
    int key = r->frame.len >= 2 ? (int16_t)get_be16(r->frame.ptr) : -1;
    a->stats.unsupported += unsupported;
    a->stats.malformed += !unsupported;
    if (log_gate_pass(unsupported ? &a->unsupported_gate : &a->malformed_gate, a->now_us, &kept_back)) {
        log_event(LOG_INFO, unsupported ? "request_unsupported" : "request_malformed",
                  "host=%.*s client_id=\"%.*s\" api_key=%d api_version=%d error=\"%s\" kept_back=%llu", STR_ARG(r->host),
                  STR_ARG(r->client_id), key, r->version, muster_strerror(rc), (unsigned long long)kept_back);
    }
}

static enum net_verdict refuse_frame(struct api_request *r, int rc)
{
    struct api *a = r->api;
    if (rc == MUSTER_E_VERSION && r->row != NULL && r->row->key == API_KEY_API_VERSIONS && r->version > 0 &&
        api_versions_header_is_whole(r->frame)) {
        a->stats.unsupported++;
        api_versions_unsupported(r);
        net_release(r->slot);
        return NET_TAKEN;
    }
    log_refused(r, rc);
    return NET_CLOSE;
}

static enum net_verdict on_frame(void *ctx, const struct net_frame *frame)
{
    struct api *a = ctx;
    struct api_request *r = new_request(a, frame->arena);
    r->slot = frame->slot;
    r->host = frame->host;
    r->principal = frame->principal;
    r->connection = frame->connection;
    r->client_id = STR_NULL;
    a->stats.requests++;
    int rc = read_frame(r, frame->frame);
    if (rc < 0) {
        return refuse_frame(r, rc);
    }
    net_set_user(frame->slot, r);
    const struct api_row *row = r->row;
    a->stats.waiting++;
    run(r);
    return row->holds ? NET_HOLD : api_yields(row) ? NET_YIELD : NET_TAKEN;
}

static void on_follows(void *ctx, struct net_slot *slot, void *user)
{
    struct api *a = ctx;
    struct api_request *r = user;
    (void)slot;
    if (r->busy) {
        a->submitted = true;
        coord_let_go(a->coord, &r->coord);
    }
}

static void on_gone(void *ctx, struct net_slot *slot, void *user)
{
    (void)ctx;
    (void)slot;
    struct api_request *r = user;
    if (r == NULL) {
        return;
    }
    api_ref(r);
    r->gone = true;
    api_cancel(r);
    if (r->wait.at != SIZE_MAX) {
        wait_cancel(r);
        r->wait.fire(r);
    }
    api_unref(r);
}

void api_net_handler(struct api *a, struct net_handler *ret)
{
    *ret = (struct net_handler){.ctx = a, .frame = on_frame, .follows = on_follows, .gone = on_gone};
}
