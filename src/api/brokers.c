/* brokers.c: the nodes as clients see them. Each shows itself as a broker; those that cannot be reached are left out, as Kafka leaves out brokers that are
 * down, so that tools which ask every broker do not hang. */
#include "internal.h"

enum { CATALOG_RETRY_US = 20 * 1000, CATALOG_WAIT_US = 1000 * 1000 };

const struct group_set *api_catalog(const struct api *a)
{
    return coord_set(a->coord, 0);
}

static bool leads_something(const struct api *a, uint32_t node)
{
    uint32_t count = replica_shard_count(coord_replica(a->coord));
    for (uint32_t shard = 0; shard < count; shard++) {
        uint32_t leader;
        coord_shard_state(a->coord, shard, &leader);
        if (leader == node) {
            return true;
        }
    }
    return false;
}

static bool is_reachable(const struct api *a, uint32_t node)
{
    return node == a->options.node_id || replica_connected(coord_replica(a->coord), node) || leads_something(a, node);
}

static struct broker own_broker(const struct api *a)
{
    const struct api_options *o = &a->options;
    return (struct broker){(int32_t)o->node_id, o->advertised_host, o->advertised_port, o->rack, false};
}

struct broker_list api_all_brokers(struct api *a, struct arena *arena)
{
    struct catalog_node node;
    int32_t count = 1;
    int32_t self = (int32_t)a->options.node_id;
    for (int32_t after = -1; catalog_next_node(api_catalog(a), after, &node); after = node.node_id) {
        count++;
    }
    struct broker_list list = {ARENA_NEW(arena, struct broker, count), 0};
    bool self_listed = false;
    for (int32_t after = -1; catalog_next_node(api_catalog(a), after, &node); after = node.node_id) {
        if (!self_listed && node.node_id >= self) {
            list.v[list.len++] = own_broker(a);
            self_listed = true;
        }
        if (node.node_id != self) {
            bool fenced = !is_reachable(a, (uint32_t)node.node_id);
            list.v[list.len++] = (struct broker){node.node_id, node.host, node.port, node.rack, fenced};
        }
    }
    if (!self_listed) {
        list.v[list.len++] = own_broker(a);
    }
    return list;
}

struct broker_list api_brokers(struct api *a, struct arena *arena)
{
    struct broker_list list = api_all_brokers(a, arena);
    int32_t kept = 0;
    for (int32_t i = 0; i < list.len; i++) {
        if (!list.v[i].fenced) {
            list.v[kept++] = list.v[i];
        }
    }
    list.len = kept;
    return list;
}

const struct broker *broker_find(const struct broker_list *list, uint32_t node_id)
{
    for (int32_t i = 0; i < list->len; i++) {
        if (list->v[i].node_id == (int32_t)node_id) {
            return &list->v[i];
        }
    }
    return NULL;
}

int32_t api_controller_id(const struct api *a)
{
    uint32_t leader;
    coord_shard_state(a->coord, 0, &leader);
    return leader != 0 ? (int32_t)leader : -1;
}

static void catalog_again(struct api_request *r)
{
    if (r->gone) {
        api_drop(r);
    } else {
        r->again(r);
    }
    api_unref(r);
}

/* Caught up: a leader is known and everything it has told to be committed is applied. */
static bool catalog_is_current(const struct api *a)
{
    struct replica_shard_status status;
    replica_status(coord_replica(a->coord), 0, &status);
    return status.leader != 0 && status.commit_index > 0 && status.applied_index >= status.commit_index;
}

bool api_catalog_ready(struct api_request *r, void (*again)(struct api_request *r))
{
    struct api *a = r->api;
    if (!a->catalog_ready) {
        a->catalog_ready = catalog_is_current(a);
    }
    if (r->catalog_deadline_us == 0) {
        r->catalog_deadline_us = a->now_us + CATALOG_WAIT_US;
    }
    if (a->catalog_ready || a->now_us >= r->catalog_deadline_us) {
        return true;
    }
    r->again = again;
    api_ref(r);
    wait_arm(r, a->now_us + CATALOG_RETRY_US, catalog_again);
    return false;
}

struct placement api_place(const struct broker_list *brokers, const struct catalog_topic *topic, int32_t partition, struct arena *arena)
{
    uint64_t first = hash_bytes(topic->id.b, sizeof(topic->id.b), 0) + (uint64_t)partition;
    int32_t copies = topic->replication_factor < 1 ? 1 : topic->replication_factor;
    if (copies > brokers->len) {
        copies = brokers->len;
    }
    struct placement place = {.replicas = {ARENA_NEW(arena, int32_t, copies), copies}};
    for (int32_t i = 0; i < copies; i++) {
        place.replicas.v[i] = brokers->v[(first + (uint64_t)i) % (uint64_t)brokers->len].node_id;
    }
    place.leader = place.replicas.v[0];
    return place;
}

bool topic_name_is_valid(struct str name)
{
    if (name.len < 1 || name.len > 249 || str_eq(name, STR(".")) || str_eq(name, STR(".."))) {
        return false;
    }
    for (int32_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && c != '.' && c != '_' && c != '-') {
            return false;
        }
    }
    return true;
}
