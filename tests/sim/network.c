/* The network: links between nodes with delay, loss, reordering and cuts, one way or both; connections that end when a process dies. */
#include <stdlib.h>
#include <string.h>

#include "world.h"

enum {
    LEAST_DELAY_US = 50,
    MOST_DELAY_US = 400,
    LOSS_PER_MILLION = 2000,
    REORDER_PER_MILLION = 5000,
    LATE_PER_MILLION = 3000,
    LATE_US = 60000,
    DUPLICATE_PER_MILLION = 4000,
    STUTTER_PER_MILLION = 400000
};

struct packet {
    uint32_t from, to;
    uint64_t to_life;
    uint32_t of; /* the sender's incarnation: who has another one is not let in */
    enum core_class class;
    struct bytes data;
};

static void deliver(struct sim *sim, void *arg, uint64_t tag)
{
    (void)tag;
    struct packet *p = arg;
    struct sim_node *to = &sim->nodes[p->to];
    if (to->alive && to->life == p->to_life && sim->nodes[p->from].incarnation == p->of &&
        members_lets_in(to, &sim->nodes[p->from], p->of) && !sim->links[p->from][p->to].cut)
        node_receive(to, p->from, p->class, p->data);
    else
        sim->totals.dropped++;
    free(p);
}

static void put_on_its_way(struct sim *sim, uint32_t from, uint32_t to, enum core_class class, struct bytes data, int64_t at)
{
    struct packet *p = malloc(sizeof(*p) + (size_t)data.len);
    MUSTER_CHECK(p != NULL);
    memcpy(p + 1, data.ptr, (size_t)data.len);
    *p = (struct packet){from, to, sim->nodes[to].life, sim->nodes[from].incarnation, class, {(const uint8_t *)(p + 1), data.len}};
    sim_at_owned(sim, at, deliver, p, 0, free);
}

bool network_send(struct sim *sim, uint32_t from, uint32_t to, enum core_class class, struct bytes data)
{
    struct sim_node *target = &sim->nodes[to];
    struct sim_link *link = &sim->links[from][to];
    if (!target->alive)
        return false;
    sim->totals.messages++;
    bool faults = faults_has(sim, KIND_NETWORK);
    if (link->cut || (faults && sim_chance(sim, LOSS_PER_MILLION))) {
        sim->totals.dropped++;
        return true;
    }
    int64_t at = sim->now_us + node_lag_us(&sim->nodes[from]) + sim_between(sim, LEAST_DELAY_US, MOST_DELAY_US);
    if (faults && sim_chance(sim, LATE_PER_MILLION))
        at += sim_between(sim, 0, LATE_US);
    if (faults && sim_chance(sim, REORDER_PER_MILLION)) {
        sim->totals.reordered++;
    } else {
        at = at > link->last_us ? at : link->last_us;
        link->last_us = at;
    }
    put_on_its_way(sim, from, to, class, data, at);
    if (faults_has(sim, KIND_DUPLICATE) &&
        sim_chance(sim, sim->now_us < link->stutters_until_us
                            ? STUTTER_PER_MILLION
                            : DUPLICATE_PER_MILLION)) { /* no TCP connection does so, but nothing here may depend on that */
        sim->totals.duplicated++;
        put_on_its_way(sim, from, to, class, data, at + (sim_chance(sim, 500000) ? 0 : sim_between(sim, 0, LATE_US)));
    }
    return true;
}

/* tag: the peer's life << 8 | peer << 2 | event. Events of a life that is over come late and say nothing new. */
static void peer_event(struct sim *sim, void *arg, uint64_t tag)
{
    struct sim_node *n = arg;
    uint32_t id = (uint32_t)(tag >> 2) & 63;
    enum core_peer_event event = (enum core_peer_event)(tag & 3);
    const struct sim_node *peer = &sim->nodes[id];
    bool of_this_life = peer->life == tag >> 8;
    if (!n->alive || !of_this_life || peer->alive != (event == CORE_PEER_CONNECTED))
        return;
    if (event == CORE_PEER_CONNECTED && !members_acquainted(n, peer))
        return;
    if (event == CORE_PEER_CONNECTED && n->sees[id])
        node_peer(n, id, CORE_PEER_DISCONNECTED);
    if (event == CORE_PEER_DISCONNECTED && !n->sees[id])
        return;
    n->sees[id] = event == CORE_PEER_CONNECTED;
    node_peer(n, id, event);
}

static void announce(struct sim *sim, struct sim_node *to, uint32_t peer, enum core_peer_event event, int64_t delay_us)
{
    sim_at(sim, sim->now_us + delay_us, peer_event, to, (sim->nodes[peer].life << 8) | ((uint64_t)peer << 2) | (uint64_t)event);
}

static void connect(struct sim *sim, uint32_t a, uint32_t b)
{
    int64_t dial = sim_between(sim, 200, 5000);
    announce(sim, &sim->nodes[b], a, CORE_PEER_CONNECTED, dial);
    announce(sim, &sim->nodes[a], b, CORE_PEER_CONNECTED, dial);
}

void network_node_up(struct sim *sim, uint32_t id)
{
    for (uint32_t other = 1; other <= sim->options.nodes; other++) {
        sim->nodes[id].sees[other] = false;
        if (other != id && sim->nodes[other].alive)
            connect(sim, id, other);
    }
}

/* Its connections to those whom it does not know any more are closed: whoever comes back under another incarnation is somebody else, and has to connect, although
 * his old connection was never seen to end. Of these, nobody hears: what they say is not let in. */
void network_acquaint(struct sim *sim, uint32_t id)
{
    struct sim_node *n = &sim->nodes[id];
    for (uint32_t other = 1; other <= sim->options.nodes; other++) {
        const struct sim_node *o = &sim->nodes[other];
        n->sees[other] = n->sees[other] && members_lets_in(n, o, o->incarnation) && replica_connected(n->core, other);
        if (other != id && o->alive && !n->sees[other] && members_acquainted(n, o))
            connect(sim, id, other);
    }
}

/* The kernel closes a dead process's sockets; the next dial is refused. */
void network_node_down(struct sim *sim, uint32_t id)
{
    for (uint32_t other = 1; other <= sim->options.nodes; other++) {
        if (other == id || !sim->nodes[other].alive)
            continue;
        int64_t eof = sim_between(sim, 100, 20000);
        announce(sim, &sim->nodes[other], id, CORE_PEER_DISCONNECTED, eof);
        announce(sim, &sim->nodes[other], id, CORE_PEER_REFUSED, eof + sim_between(sim, 100, 2000));
    }
}

/* tag: the node's life << 8 | its id. */
static void reset_event(struct sim *sim, void *arg, uint64_t tag)
{
    struct sim_node *n = arg;
    uint32_t id = (uint32_t)(tag & 255);
    if (!n->alive || !n->sees[id] || !sim->links[id][n->id].reset || sim->nodes[id].life != tag >> 8)
        return;
    n->sees[id] = false;
    node_peer(n, id, CORE_PEER_DISCONNECTED);
    node_peer(n, id, CORE_PEER_REFUSED);
}

/* As by a firewall that begins to answer for it: who takes that for its end elects somebody else at once, while it goes on and hears of nothing. */
void network_reset(struct sim *sim, uint32_t id, uint32_t companion)
{
    for (uint32_t other = 1; other <= sim->options.nodes; other++) {
        if (other == id || other == companion)
            continue;
        sim->links[id][other].cut = sim->links[other][id].cut = true;
        if (companion != 0)
            sim->links[companion][other].cut = sim->links[other][companion].cut = true;
        sim->links[id][other].reset = true;
        sim_at(sim, sim->now_us + sim_between(sim, 100, 20000), reset_event, &sim->nodes[other], (sim->nodes[id].life << 8) | id);
    }
}

bool network_is_reset(const struct sim *sim, uint32_t id)
{
    for (uint32_t other = 1; other <= sim->options.nodes; other++) {
        if (sim->links[id][other].reset)
            return true;
    }
    return false;
}

static void connect_again(struct sim *sim, uint32_t a, uint32_t b)
{
    sim->links[a][b].reset = false;
    if (sim->nodes[a].alive && sim->nodes[b].alive && !sim->nodes[b].sees[a])
        connect(sim, a, b);
}

void network_heal(struct sim *sim)
{
    for (uint32_t a = 0; a <= SIM_NODES_MAX; a++) {
        for (uint32_t b = 0; b <= SIM_NODES_MAX; b++) {
            sim->links[a][b].cut = false;
            if (sim->links[a][b].reset)
                connect_again(sim, a, b);
        }
    }
}
