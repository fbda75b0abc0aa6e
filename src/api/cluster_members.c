/* cluster_members.c: ClusterMembers (20009), of this project: the members as this node's copy of shard 0 has them, the change that is under way, and the
 * members of each shard by this node's log. How far they are only a shard's leader knows: whoever wants all of it asks every node. */
#include "internal.h"

typedef struct cluster_members_response_member member_row;
typedef struct cluster_members_response_shard shard_row;
typedef struct cluster_members_response_replica replica_row;

static void show_member(struct api *a, const struct catalog_member *m, member_row *ret)
{
    struct catalog_node node;
    bool self = m->node_id == (int32_t)a->options.node_id;
    *ret = (member_row){.node_id = m->node_id,
                        .incarnation = m->incarnation,
                        .peer_address = m->peer_address,
                        .standing = (int8_t)m->standing,
                        .host = STR(""),
                        .port = -1,
                        .connected = self || replica_connected(coord_replica(a->coord), (uint32_t)m->node_id),
                        .feature_level = -1,
                        .release = STR_NULL};
    if (catalog_next_node(api_catalog(a), m->node_id - 1, &node) && node.node_id == m->node_id) {
        ret->host = node.host;
        ret->port = node.port;
        ret->feature_level = node.feature_level;
        ret->release = node.release;
    }
}

static void show_members(struct api_request *r, struct cluster_members_response *response)
{
    struct api *a = r->api;
    struct catalog_member m;
    int32_t count = 0;
    for (int32_t after = -1; catalog_next_member(api_catalog(a), after, &m); after = m.node_id) {
        count++;
    }
    response->members.v = ARENA_NEW(r->arena, member_row, count);
    for (int32_t after = -1; catalog_next_member(api_catalog(a), after, &m); after = m.node_id) {
        show_member(a, &m, &response->members.v[response->members.len++]);
    }
}

static void show_change(struct api_request *r, struct cluster_members_response *response)
{
    struct api *a = r->api;
    struct catalog_change change;
    if (!catalog_member_change(api_catalog(a), &change)) {
        return;
    }
    response->change_id = change.id;
    response->change_kind = (int8_t)change.kind;
    response->change_node = change.node_id;
    response->change_state = (int8_t)change.state;
    response->change_target = (int8_t)change.target;
    response->change_began_wall_ms = change.began_wall_ms;
    response->change_reason = change.reason;
    if (a->options.doing != NULL) {
        response->doing = arena_str(r->arena, a->options.doing(a->options.doing_ctx));
    }
}

static void show_replica(struct api *a, uint32_t shard, const struct replica_member *m, replica_row *ret)
{
    struct replica_progress progress;
    *ret = (replica_row){.node_id = (int32_t)m->node, .voter = m->vote == REPLICA_VOTER, .match_index = -1, .heard_ms = -1};
    if (replica_progress(coord_replica(a->coord), shard, m->node, &progress)) {
        ret->match_index = (int64_t)progress.match_index;
        ret->heard_ms = progress.heard_us > 0 ? (a->now_us - progress.heard_us) / 1000 : -1;
        ret->heard_ms = progress.heard_us > 0 && ret->heard_ms < 0 ? 0 : ret->heard_ms;
    }
}

static void show_shard(struct api_request *r, uint32_t shard, shard_row *ret)
{
    struct api *a = r->api;
    struct replica_shard_status status;
    struct replica_member members[CATALOG_MAX_MEMBERS + 1];
    struct replica *replica = coord_replica(a->coord);
    bool committed = false;
    replica_status(replica, shard, &status);
    size_t count = replica_members(replica, shard, members, COUNT_OF(members), &committed);
    count = count < COUNT_OF(members) ? count : COUNT_OF(members);
    *ret = (shard_row){.shard = (int32_t)shard,
                       .leader = status.leader != 0 ? (int32_t)status.leader : -1,
                       .leads = status.role == REPLICA_SERVING || status.role == REPLICA_HANDING_OVER,
                       .committed = committed,
                       .last_index = (int64_t)status.last_index};
    ret->replicas.len = (int32_t)count;
    ret->replicas.v = ARENA_NEW(r->arena, replica_row, count);
    for (size_t i = 0; i < count; i++) {
        show_replica(a, shard, &members[i], &ret->replicas.v[i]);
    }
}

void api_cluster_members(struct api_request *r)
{
    struct api *a = r->api;
    struct cluster_members_response *response = api_response(r);
    uint32_t shards = replica_shard_count(coord_replica(a->coord));
    response->node_id = (int32_t)a->options.node_id;
    response->feature_level = catalog_feature_level(api_catalog(a));
    show_members(r, response);
    show_change(r, response);
    response->shards.len = (int32_t)shards;
    response->shards.v = ARENA_NEW(r->arena, shard_row, shards);
    for (uint32_t i = 0; i < shards; i++) {
        show_shard(r, i, &response->shards.v[i]);
    }
    api_answer(r, response);
}
