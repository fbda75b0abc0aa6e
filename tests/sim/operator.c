/* The operator: replaces a node whose disk is damaged, as the text of its refusal says. In every shard the old one is removed; then the folder is wiped, and
 * what comes back under another incarnation learns and is promoted. So does he with nodes that are to come or to go (members.c). He asks whoever leads a shard for
 * everything that he wants of it, at once: that one change follows another is for the nodes to see to. */
#include <string.h>

#include "world.h"

enum { LOOK_US = 40000 };

struct sim_node *operator_leader_of(struct sim *sim, uint32_t shard)
{
    struct sim_node *best = NULL;
    uint64_t term = 0;
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        struct sim_node *n = &sim->nodes[id];
        struct replica_shard_status s;
        if (!n->alive)
            continue;
        replica_status(n->core, shard, &s);
        if (s.role == REPLICA_SERVING && s.term > term) {
            best = n;
            term = s.term;
        }
    }
    return best;
}

enum standing { STANDS_UNKNOWN, STANDS_OUT, STANDS_LEARNER, STANDS_VOTER };

static enum standing standing_of(struct sim *sim, uint32_t shard, uint32_t node, struct sim_node **ret_leader, bool *ret_committed)
{
    struct replica_member members[SIM_NODES_MAX];
    struct replica_shard_status status;
    *ret_leader = operator_leader_of(sim, shard);
    if (*ret_leader == NULL)
        return STANDS_UNKNOWN;
    replica_status((*ret_leader)->core, shard, &status);
    if (status.term < sim->operator_terms[shard])
        return STANDS_UNKNOWN; /* deposed, and does not know: who was removed since is a voter to it, under whatever incarnation */
    sim->operator_terms[shard] = status.term;
    size_t count = replica_members((*ret_leader)->core, shard, members, SIM_NODES_MAX, ret_committed);
    for (size_t i = 0; i < count; i++) {
        if (members[i].node == node)
            return members[i].vote == REPLICA_VOTER ? STANDS_VOTER : STANDS_LEARNER;
    }
    return STANDS_OUT;
}

/* Asks for the next change of one shard; true when there is nothing left to be done in it. */
static bool shard_done(struct sim *sim, uint32_t shard, struct sim_node *n)
{
    struct sim_node *leader;
    bool committed = false, goes = n->broken || n->leaving;
    enum standing standing = standing_of(sim, shard, n->id, &leader, &committed);
    if (standing == STANDS_UNKNOWN || (!committed && sim->options.story != STORY_MEMBERS))
        return false;
    if (goes && standing != STANDS_OUT)
        node_change_member(leader, shard, REPLICA_REMOVE, n->id);
    if (!goes && standing == STANDS_OUT)
        node_change_member(leader, shard, REPLICA_ADD_LEARNER, n->id);
    if (!goes && standing == STANDS_LEARNER && sim->now_us >= n->learns_until_us)
        node_change_member(leader, shard, REPLICA_PROMOTE, n->id);
    return committed && (goes ? standing == STANDS_OUT : standing == STANDS_VOTER);
}

void operator_look(struct sim *sim)
{
    for (uint32_t id = 1; id <= sim->options.nodes && !sim->failed; id++) {
        struct sim_node *n = &sim->nodes[id];
        if (!n->broken && !n->joining && !n->leaving)
            continue;
        bool done = true;
        for (uint32_t shard = 0; shard < SIM_SHARDS; shard++)
            done = shard_done(sim, shard, n) && done;
        if (done && n->leaving) {
            members_left(n);
        } else if (done && n->broken) {
            sim_say(sim, "node=%u comes back with an empty folder", id);
            members_begin_anew(n);
        } else if (done) {
            n->joining = false;
            members_arrived(n);
        }
    }
}

static void look(struct sim *sim, void *arg, uint64_t tag)
{
    (void)arg;
    (void)tag;
    operator_look(sim);
    members_look(sim);
    sim_at(sim, sim->now_us + LOOK_US, look, NULL, 0);
}

void operator_start(struct sim *sim)
{
    sim_at(sim, sim->now_us + LOOK_US, look, NULL, 0);
}

bool operator_idle(const struct sim *sim)
{
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        if (sim->nodes[id].broken || sim->nodes[id].joining || memory_diverged(&sim->nodes[id]))
            return false;
    }
    return members_idle(sim);
}
