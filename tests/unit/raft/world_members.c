/* Who belongs to the world: nodes that join with an empty folder, the record of the members, and changes of a shard's configuration. */
#include "world_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

void world_room(struct world *w, uint32_t nodes)
{
    assert_true(w->node_count + nodes <= WORLD_NODES);
    for (uint32_t i = 0; i < nodes; i++) {
        world_slot(w, w->node_count++);
    }
}

static void leave_record(struct world *w, uint32_t id)
{
    struct store_identity *m = &w->members;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < m->peer_count; i++) {
        if (m->peers[i].node_id != id) {
            m->peers[kept++] = m->peers[i];
        }
    }
    m->peer_count = kept;
    w->members_version++;
}

static void enter_record(struct world *w, const struct node *n)
{
    struct store_identity *m = &w->members;
    uint32_t at = m->peer_count++;
    while (at > 0 && m->peers[at - 1].node_id > n->id) {
        m->peers[at] = m->peers[at - 1];
        at--;
    }
    m->peers[at] = world_record(n);
    w->members_version++;
}

void world_join(struct world *w, uint32_t id)
{
    struct node *n = world_node(w, id);
    if (n->up) {
        world_kill(w, id);
    }
    mem_disk_free(n->disk);
    n->disk = mem_disk_new();
    n->incarnation += WORLD_NODES;
    leave_record(w, id);
    enter_record(w, n);
    n->identity = world_identity(w, n);
    n->identity.joined = true;
    n->known = w->members_version;
    world_up(n);
}

void world_expel(struct world *w, uint32_t id)
{
    leave_record(w, id);
}

void world_hear(struct world *w, uint32_t id)
{
    struct node *n = world_node(w, id);
    bool mentioned = false;
    for (uint32_t i = 0; i < w->members.peer_count; i++) {
        mentioned = mentioned || (w->members.peers[i].node_id == id && world_lets_in(n, id, n->incarnation));
    }
    if (!n->up || n->paused || !mentioned || n->known == w->members_version) {
        return;
    }
    int rc = core_set_peers(n->core, w->members.peers, w->members.peer_count, w->now_us);
    if (rc == MUSTER_E_BUSY) {
        return;
    }
    assert_in_range(rc, 0, 1);
    n->identity = *core_identity(n->core);
    n->known = w->members_version;
    world_connect(n);
    world_flush(w, n);
}

void world_hear_all(struct world *w)
{
    for (uint32_t i = 1; i <= w->node_count; i++) {
        world_hear(w, i);
    }
}

static bool has_vote(struct world *w, uint32_t at, uint32_t shard, uint32_t node, enum replica_vote vote)
{
    struct replica_member members[WORLD_NODES];
    bool committed;
    size_t count = replica_members(world_node(w, at)->core, shard, members, COUNT_OF(members), &committed);
    for (size_t i = 0; i < count; i++) {
        if (members[i].node == node) {
            return members[i].vote == vote;
        }
    }
    return false;
}

bool world_votes(struct world *w, uint32_t at, uint32_t shard, uint32_t node)
{
    return has_vote(w, at, shard, node, REPLICA_VOTER);
}

bool world_learns(struct world *w, uint32_t at, uint32_t shard, uint32_t node)
{
    return has_vote(w, at, shard, node, REPLICA_LEARNER);
}

static bool changed(struct world *w, uint32_t at, uint32_t shard, enum replica_change change, uint32_t node)
{
    struct replica_member members[WORLD_NODES];
    bool committed;
    (void)replica_members(world_node(w, at)->core, shard, members, COUNT_OF(members), &committed);
    bool votes = world_votes(w, at, shard, node), learns = world_learns(w, at, shard, node);
    return committed && (change == REPLICA_ADD_LEARNER ? learns : change == REPLICA_PROMOTE ? votes : !votes && !learns);
}

bool world_change(struct world *w, uint32_t shard, enum replica_change change, uint32_t node, int64_t limit_us)
{
    for (int64_t end = w->now_us + limit_us; w->now_us < end; world_run(w, 1000)) {
        struct node *leader = world_leader(w, shard);
        if (leader != NULL && changed(w, leader->id, shard, change, node)) {
            return true;
        }
        if (leader != NULL) {
            (void)replica_change_member(leader->core, shard, change, node);
            world_flush(w, leader);
        }
    }
    return false;
}
