/* Members that come and go. The world has five places; one node or three of them found the cluster. The administrator takes nodes in, lets them learn for a while and
 * has them promoted; takes nodes out, leaders too; asks for two changes at once, and does so just when the network is split. Without faults there are three. */
#include <stdio.h>
#include <string.h>

#include "world.h"

enum { IN_PEACE = 3 };

static bool in_story(const struct sim *sim)
{
    return sim->options.story == STORY_MEMBERS;
}

/* ---- the record of the members ---- */

static struct uuid incarnation_of(uint32_t id, uint32_t incarnation)
{
    struct uuid drawn;
    memset(drawn.b, (int)id, sizeof(drawn.b));
    if (incarnation > 0)
        drawn.b[15] = (uint8_t)incarnation;
    return drawn;
}

static struct store_peer peer_of(uint32_t id, uint32_t incarnation)
{
    struct store_peer peer = {.node_id = id, .incarnation = incarnation_of(id, incarnation)};
    snprintf(peer.address, sizeof(peer.address), "node-%u:1", id);
    return peer;
}

void members_found(struct sim *sim)
{
    uint32_t founders = sim->options.nodes;
    if (in_story(sim))
        founders = sim_chance(sim, 400000) ? 1 : IN_PEACE;
    sim->identity = (struct store_identity){.node_id = 1, .shard_count = SIM_SHARDS, .hash_version = 1, .peer_count = founders};
    memset(sim->identity.cluster_id.b, 7, sizeof(sim->identity.cluster_id.b));
    for (uint32_t id = 1; id <= founders; id++)
        sim->identity.peers[id - 1] = peer_of(id, 0);
    for (uint32_t id = founders + 1; id <= sim->options.nodes; id++)
        sim->nodes[id].absent = true;
    sim->members_next_us = sim->now_us + 2000000;
}

static void leave_record(struct sim *sim, uint32_t id)
{
    struct store_identity *record = &sim->identity;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < record->peer_count; i++) {
        if (record->peers[i].node_id != id)
            record->peers[kept++] = record->peers[i];
    }
    record->peer_count = kept;
    sim->members_version++;
}

static void enter_record(struct sim_node *n)
{
    struct store_identity *record = &n->sim->identity;
    uint32_t at = record->peer_count++;
    for (; at > 0 && record->peers[at - 1].node_id > n->id; at--)
        record->peers[at] = record->peers[at - 1];
    record->peers[at] = peer_of(n->id, n->incarnation);
    n->sim->members_version++;
}

struct store_identity members_identity(const struct sim_node *n)
{
    struct store_identity identity = n->sim->identity;
    const struct store_peer self = peer_of(n->id, n->incarnation);
    identity.node_id = n->id;
    identity.incarnation = self.incarnation;
    identity.joined = n->incarnation > 0;
    for (uint32_t i = 0; i < identity.peer_count; i++) {
        if (identity.peers[i].node_id == n->id)
            identity.peers[i] = self;
    }
    return identity;
}

/* ---- who knows whom ---- */

bool members_lets_in(const struct sim_node *n, const struct sim_node *other, uint32_t incarnation)
{
    const struct uuid known = incarnation_of(other->id, incarnation);
    for (uint32_t i = 0; i < n->identity.peer_count; i++) {
        if (n->identity.peers[i].node_id == other->id)
            return uuid_eq(n->identity.peers[i].incarnation, known);
    }
    return false;
}

bool members_acquainted(const struct sim_node *a, const struct sim_node *b)
{
    return members_lets_in(a, b, b->incarnation) && members_lets_in(b, a, a->incarnation);
}

void members_told(struct sim_node *n, int rc)
{
    if (rc == MUSTER_E_BUSY) /* it is told again */
        return;
    if (rc < 0) {
        sim_fail(n->sim, "node %u does not take its peers: %s", n->id, muster_strerror(rc));
        return;
    }
    n->identity = *core_identity(n->core);
    network_acquaint(n->sim, n->id);
}

static bool is_recorded(const struct sim_node *n)
{
    for (uint32_t i = 0; i < n->sim->identity.peer_count; i++) {
        if (n->sim->identity.peers[i].node_id == n->id)
            return true;
    }
    return false;
}

/* Over and over: who is told may be busy, or dead before it does anything about it. */
static void tell_members(struct sim *sim)
{
    const struct store_identity *record = &sim->identity;
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        struct sim_node *n = &sim->nodes[id];
        bool same = n->identity.peer_count == record->peer_count &&
                    memcmp(n->identity.peers, record->peers, record->peer_count * sizeof(*record->peers)) == 0;
        if (n->alive && !same && is_recorded(n))
            node_set_peers(n, record->peers, record->peer_count);
    }
}

/* One of those that are absent, or not. */
static struct sim_node *choose(struct sim *sim, bool absent)
{
    uint32_t first = (uint32_t)prng_below(&sim->random, sim->options.nodes);
    for (uint32_t i = 0; i < sim->options.nodes; i++) {
        struct sim_node *n = &sim->nodes[1 + (first + i) % sim->options.nodes];
        if (n->absent == absent)
            return n;
    }
    return NULL;
}

uint32_t members_any(struct sim *sim)
{
    return choose(sim, false)->id;
}

/* ---- the administrator ---- */

uint32_t members_voters(const struct sim *sim, uint32_t *ret_dead)
{
    uint32_t voters = 0;
    *ret_dead = 0;
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        const struct sim_node *n = &sim->nodes[id];
        bool votes = !in_story(sim) || (!n->absent && !n->joining && !n->leaving);
        voters += votes;
        *ret_dead += votes && !n->alive;
    }
    return voters;
}

static bool under_way(const struct sim *sim)
{
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        if (sim->nodes[id].joining || sim->nodes[id].leaving)
            return true;
    }
    return false;
}

void members_begin_anew(struct sim_node *n)
{
    node_wipe(n);
    leave_record(n->sim, n->id);
    enter_record(n);
    n->identity = members_identity(n);
    node_start(n);
}

static void join(struct sim_node *n)
{
    struct sim *sim = n->sim;
    bool long_time = !sim->healing && sim_chance(sim, 400000);
    n->absent = false;
    n->learns_until_us = sim->now_us + (long_time ? sim_between(sim, 0, 4000000) : 0);
    sim_say(sim, "node=%u joins", n->id);
    members_begin_anew(n);
}

static void leave(struct sim_node *n)
{
    bool leads = false;
    for (uint32_t shard = 0; shard < SIM_SHARDS; shard++)
        leads = leads || operator_leader_of(n->sim, shard) == n;
    n->leaving = true;
    n->sim->totals.leaders_removed += leads;
    sim_say(n->sim, "node=%u is to leave%s", n->id, leads ? ", a leader" : "");
}

void members_arrived(struct sim_node *n)
{
    if (in_story(n->sim))
        n->sim->totals.grown++;
    else
        n->sim->totals.replaced++;
    sim_say(n->sim, "node=%u %s", n->id, in_story(n->sim) ? "votes everywhere" : "is replaced");
}

void members_left(struct sim_node *n)
{
    sim_say(n->sim, "node=%u has left", n->id);
    n->sim->totals.shrunk++;
    n->leaving = false;
    n->absent = true;
    leave_record(n->sim, n->id);
    if (n->alive)
        node_stop(n);
}

static void change(struct sim *sim)
{
    uint32_t present = sim->identity.peer_count;
    bool grows = present < IN_PEACE ? sim->healing || !sim_chance(sim, 150000) : sim_chance(sim, 600000);
    if (sim->healing)
        grows = present < IN_PEACE;
    if (grows ? present < sim->options.nodes : present > 1) {
        struct sim_node *leader = operator_leader_of(sim, (uint32_t)prng_below(&sim->random, SIM_SHARDS));
        if (grows)
            join(choose(sim, true));
        else
            leave(leader != NULL && sim_chance(sim, 400000) ? leader : choose(sim, false));
    }
    sim->members_next_us = sim->now_us + (sim->healing ? 0 : sim_between(sim, 50000, 2500000));
}

/* While one node votes and others only learn, they may have of it what it loses with the power. */
static void lone_falls(struct sim *sim)
{
    uint32_t dead;
    if (sim->healing || members_voters(sim, &dead) != 1 || dead != 0 || !under_way(sim) || !sim_chance(sim, 100000))
        return;
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        struct sim_node *n = &sim->nodes[id];
        if (n->alive && !n->joining && !n->leaving) {
            node_crash(n);
            faults_restart_soon(n);
        }
    }
}

void members_look(struct sim *sim)
{
    tell_members(sim);
    if (!in_story(sim))
        return;
    lone_falls(sim);
    bool wanted = sim->healing ? sim->identity.peer_count != IN_PEACE : sim->now_us >= sim->members_next_us;
    if (wanted && !under_way(sim) && !sim->failed)
        change(sim);
}

/* A leader that does not know yet that it is cut off is asked to take out two whom it cannot reach: if both changes were in force at once, it would be among the
 * majority of those who are left, and they among the majority of those who were. */
void members_in_haste(struct sim *sim)
{
    if (!in_story(sim) || under_way(sim) || sim->healing || sim_chance(sim, 300000))
        return;
    const struct sim_node *leader = operator_leader_of(sim, (uint32_t)prng_below(&sim->random, SIM_SHARDS));
    uint32_t leave_count = 0;
    for (uint32_t id = 1; id <= sim->options.nodes && leader != NULL && leave_count < 2; id++) {
        struct sim_node *n = &sim->nodes[id];
        if (n->absent || !sim->links[leader->id][id].cut || !sim->links[id][leader->id].cut)
            continue;
        leave(n);
        leave_count++;
    }
    if (leave_count > 0)
        operator_look(sim);
}

bool members_idle(const struct sim *sim)
{
    return !in_story(sim) || (!under_way(sim) && sim->identity.peer_count == IN_PEACE);
}
