/* cluster_status.c: ClusterStatus (20000), of this project: what this node knows of the nodes and the shards. */
#include "internal.h"

enum { ROLE_FOLLOWER = 0, ROLE_CANDIDATE = 1, ROLE_LEADER = 2 };

static void show_node(struct api *a, const struct api_peer *peer, struct cluster_status_response_node_status *ret)
{
    struct catalog_node known;
    bool self = peer->node_id == a->options.node_id;
    *ret = (struct cluster_status_response_node_status){
        .node_id = (int32_t)peer->node_id,
        .host = STR(""),
        .port = -1,
        .peer_address = peer->address,
        .connected = self || replica_connected(coord_replica(a->coord), peer->node_id),
        .last_contact_ms = -1,
    };
    if (catalog_next_node(api_catalog(a), (int32_t)peer->node_id - 1, &known) && known.node_id == (int32_t)peer->node_id) {
        ret->host = known.host;
        ret->port = known.port;
        ret->incarnation = known.incarnation;
    }
}

/* The members; those that the cluster was formed with as long as this node has not heard of them as members. */
static void show_nodes(struct api_request *r, struct cluster_status_response *response)
{
    struct api *a = r->api;
    struct catalog_member m;
    response->nodes.v = ARENA_NEW(r->arena, struct cluster_status_response_node_status, a->options.peer_count + CATALOG_MAX_MEMBERS);
    for (int32_t after = -1; response->nodes.len < CATALOG_MAX_MEMBERS && catalog_next_member(api_catalog(a), after, &m);
         after = m.node_id) {
        struct api_peer peer = {(uint32_t)m.node_id, m.peer_address};
        show_node(a, &peer, &response->nodes.v[response->nodes.len++]);
    }
    bool heard = response->nodes.len > 0;
    for (size_t i = 0; !heard && i < a->options.peer_count; i++) {
        show_node(a, &a->options.peers[i], &response->nodes.v[response->nodes.len++]);
    }
}

/* A leader is one that serves: from its election until an entry of its own term is applied it counts as a candidate. */
static int8_t role_of(const struct replica_shard_status *status)
{
    if (status->role == REPLICA_SERVING || status->role == REPLICA_HANDING_OVER) {
        return ROLE_LEADER;
    }
    return status->role == REPLICA_LEADER || status->leader == 0 ? ROLE_CANDIDATE : ROLE_FOLLOWER;
}

static void show_shard(struct api *a, uint32_t shard, struct cluster_status_response_shard_status *ret)
{
    struct replica_shard_status status;
    struct group_set_counts counts;
    const struct group_set *set = coord_set(a->coord, shard);
    replica_status(coord_replica(a->coord), shard, &status);
    group_set_counts(set, &counts);
    *ret = (struct cluster_status_response_shard_status){
        .shard = (int32_t)shard,
        .role = role_of(&status),
        .leader = status.leader != 0 ? (int32_t)status.leader : -1,
        .term = (int64_t)status.term,
        .last_index = (int64_t)status.last_index,
        .commit_index = (int64_t)status.commit_index,
        .applied_index = (int64_t)status.applied_index,
        .first_index = (int64_t)status.first_index,
        .snapshot_index = (int64_t)status.snapshot_index,
        .state_hash = (int64_t)group_set_hash(set),
        .groups = (int32_t)counts.groups,
        .members = (int32_t)counts.members,
        .offsets = counts.offsets,
        .memory_bytes = counts.bytes,
    };
}

void api_cluster_status(struct api_request *r)
{
    struct api *a = r->api;
    struct cluster_status_response *response = api_response(r);
    uint32_t shards = replica_shard_count(coord_replica(a->coord));
    response->cluster_id = str_of(a->cluster_id);
    response->node_id = (int32_t)a->options.node_id;
    response->version = a->options.version;
    show_nodes(r, response);
    response->shards.len = (int32_t)shards;
    response->shards.v = ARENA_NEW(r->arena, struct cluster_status_response_shard_status, shards);
    for (uint32_t i = 0; i < shards; i++) {
        show_shard(a, i, &response->shards.v[i]);
    }
    api_answer(r, response);
}
