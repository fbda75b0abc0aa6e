/* The nodes this one knows: those of its identity, until it is told of others. Who may vote where is each shard's business (members.c). */
#include "state.h"

#include <stdlib.h>
#include <string.h>

struct peer *peer_by_id(struct replica *core, uint32_t id)
{
    for (size_t i = 0; i < core->peer_count; i++) {
        if (core->peers[i].id == id) {
            return &core->peers[i];
        }
    }
    return NULL;
}

const struct peer *peer_const(const struct replica *core, uint32_t id)
{
    for (size_t i = 0; i < core->peer_count; i++) {
        if (core->peers[i].id == id) {
            return &core->peers[i];
        }
    }
    return NULL;
}

const struct store_identity *core_identity(const struct replica *core)
{
    return &core->identity;
}

/* Ascending, this node among them. */
static bool peers_valid(const struct store_identity *self, const struct store_peer *peers, uint32_t count)
{
    bool found = false;
    if (count == 0 || count > NODES_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (peers[i].node_id == 0 || (i > 0 && peers[i].node_id <= peers[i - 1].node_id)) {
            return false;
        }
        found = found || peers[i].node_id == self->node_id;
    }
    return found;
}

int peers_take(struct replica *core)
{
    const struct store_identity *id = &core->identity;
    if (!peers_valid(id, id->peers, id->peer_count) || id->shard_count == 0 || id->shard_count > MESSAGE_SHARDS_MAX) {
        return MUSTER_E_INVALID;
    }
    for (uint32_t i = 0; i < id->peer_count; i++) {
        core->peers[i] = (struct peer){.id = id->peers[i].node_id, .address = id->peers[i].address, .healthy = true};
        if (id->peers[i].node_id == id->node_id) {
            core->peers[i].self = true;
            core->self_pos = i;
        }
    }
    core->peer_count = id->peer_count;
    core->self = id->node_id;
    return 0;
}

/* ---- others ----------------------------------------------------------------------------------------------------------------- */

static const struct store_peer *find(const struct store_peer *peers, uint32_t count, uint32_t node)
{
    for (uint32_t i = 0; i < count; i++) {
        if (peers[i].node_id == node) {
            return &peers[i];
        }
    }
    return NULL;
}

/* Nothing that the node said or was to be sent counts any more. */
static void forget(struct replica *core, uint32_t node)
{
    struct peer *p = peer_by_id(core, node);
    install_forget(core, node);
    core_drop_held(core, node);
    for (uint32_t i = 0; i < core->shard_count; i++) {
        struct shard *s = &core->shards[i];
        if (s->parked.from == node) {
            s->parked.used = false;
        }
    }
    if (p->connected) {
        p->connected = false;
        core->events.peer(core->events.ctx, node, false);
    }
}

/* What shards keep by position follows the peers to their new ones. from[i]: the old position of the peer at i, or NODES_MAX. */
static void move_positions(struct shard *s, const size_t from[NODES_MAX])
{
    struct shard_positions old = s->at;
    memset(&s->at, 0, sizeof s->at);
    for (size_t i = 0; i < NODES_MAX; i++) {
        if (from[i] < NODES_MAX) {
            memcpy(s->at.reported[i], old.reported[from[i]], sizeof s->at.reported[i]);
            s->at.reported_next[i] = old.reported_next[from[i]];
            s->at.answered[i] = old.answered[from[i]];
            s->at.catch_up[i] = old.catch_up[from[i]];
            s->at.lost[i] = old.lost[from[i]];
            s->at.named_term[i] = old.named_term[from[i]];
        }
    }
}

static void take_anew(struct replica *core, const struct store_peer *peers, uint32_t count)
{
    struct peer old[NODES_MAX];
    size_t from[NODES_MAX];
    size_t old_count = core->peer_count;
    memcpy(old, core->peers, sizeof old);
    memcpy(core->identity.peers, peers, count * sizeof *peers);
    core->identity.peer_count = count;
    core->identity.joined = true;
    memset(core->peers, 0, sizeof core->peers);
    MUSTER_CHECK(peers_take(core) == 0);
    for (size_t i = 0; i < NODES_MAX; i++) {
        from[i] = NODES_MAX;
        for (size_t k = 0; k < old_count && i < count; k++) {
            if (old[k].id == core->peers[i].id) {
                const char *address = core->peers[i].address;
                from[i] = k;
                core->peers[i] = old[k];
                core->peers[i].address = address;
            }
        }
    }
    for (uint32_t i = 0; i < core->shard_count; i++) {
        move_positions(&core->shards[i], from);
    }
}

static bool beginnings_durable(const struct replica *core)
{
    for (uint32_t i = 0; i < core->shard_count; i++) {
        const struct shard *s = &core->shards[i];
        if (s->snapshot_index == 0 && s->raft.last_stored == 0) {
            return false;
        }
    }
    return true;
}

static bool same_peers(const struct store_identity *id, const struct store_peer *peers, uint32_t count)
{
    bool same = count == id->peer_count;
    for (uint32_t i = 0; i < count && same; i++) {
        same = peers[i].node_id == id->peers[i].node_id && uuid_eq(peers[i].incarnation, id->peers[i].incarnation) &&
               strcmp(peers[i].address, id->peers[i].address) == 0;
    }
    return same;
}

int core_set_peers(struct replica *core, const struct store_peer *peers, uint32_t count, int64_t now_us)
{
    struct store_identity *id = &core->identity;
    core->now_us = now_us;
    if (!peers_valid(id, peers, count) || !uuid_eq(find(peers, count, id->node_id)->incarnation, id->incarnation)) {
        return MUSTER_E_INVALID;
    }
    if (same_peers(id, peers, count)) {
        return 0;
    }
    if (!id->joined && !beginnings_durable(core)) {
        return MUSTER_E_BUSY;
    }
    uint32_t gone[NODES_MAX];
    size_t gone_count = 0;
    for (uint32_t i = 0; i < id->peer_count; i++) {
        const struct store_peer *now = find(peers, count, id->peers[i].node_id);
        if (now == NULL || !uuid_eq(now->incarnation, id->peers[i].incarnation)) {
            gone[gone_count++] = id->peers[i].node_id;
        }
    }
    for (size_t i = 0; i < gone_count; i++) {
        forget(core, gone[i]);
        peer_by_id(core, gone[i])->id = 0; /* a node of another incarnation is another node: it takes over nothing */
    }
    take_anew(core, peers, count);
    core->calm_since_us = now_us;
    return 1;
}
