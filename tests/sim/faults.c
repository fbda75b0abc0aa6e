/* What goes wrong, and when. Never more than a minority of the nodes is down by our doing, so that there is always something to check; all may be cut off. */
#include "world.h"

static void next_fault(struct sim *sim, void *arg, uint64_t tag);

static uint32_t any_node(struct sim *sim)
{
    return 1 + (uint32_t)prng_below(&sim->random, sim->options.nodes);
}

/* Whoever votes alone dies alone. */
static bool may_die(const struct sim *sim)
{
    uint32_t dead, voters = members_voters(sim, &dead);
    return dead + 1 <= (voters - 1) / 2 || (voters == 1 && dead == 0);
}

static void restart(struct sim *sim, void *arg, uint64_t tag)
{
    (void)tag;
    struct sim_node *n = arg;
    if (n->alive || n->broken || n->absent || sim->failed)
        return;
    sim->totals.restarts++;
    node_start(n);
}

static void crash(struct sim *sim)
{
    if (sim_chance(sim, 30000)) { /* everybody at once: a power cut */
        for (uint32_t id = 1; id <= sim->options.nodes; id++) {
            node_crash(&sim->nodes[id]);
            sim_at(sim, sim->now_us + sim_between(sim, 1000, 800000), restart, &sim->nodes[id], 0);
        }
        return;
    }
    if (!may_die(sim))
        return;
    struct sim_node *n = &sim->nodes[any_node(sim)];
    if (!n->alive)
        return;
    node_crash(n);
    sim_at(sim, sim->now_us + (sim_chance(sim, 500000) ? sim_between(sim, 1000, 50000) : sim_between(sim, 50000, 3000000)), restart, n, 0);
}

void faults_restart_soon(struct sim_node *n)
{
    sim_at(n->sim, n->sim->now_us + sim_between(n->sim, 1000, 400000), restart, n, 0);
}

static void heal_links(struct sim *sim, void *arg, uint64_t tag)
{
    (void)arg;
    (void)tag;
    network_heal(sim);
    sim_say(sim, "links are whole again");
}

/* Some of the nodes against the rest; now and then one of them is seen by both. */
static void split(struct sim *sim)
{
    uint32_t bridge = sim_chance(sim, 300000) ? any_node(sim) : 0;
    uint64_t side = prng_below(&sim->random, UINT64_C(1) << sim->options.nodes);
    sim->totals.splits++;
    sim_say(sim, "split %llx bridge=%u", (unsigned long long)side, bridge);
    for (uint32_t a = 1; a <= sim->options.nodes; a++) {
        for (uint32_t b = 1; b <= sim->options.nodes; b++) {
            if (((side >> (a - 1)) & 1) != ((side >> (b - 1)) & 1) && a != bridge && b != bridge)
                sim->links[a][b].cut = true;
        }
    }
}

/* One link, one way. */
static void deafen(struct sim *sim)
{
    uint32_t a = any_node(sim), b = any_node(sim);
    sim->totals.splits++;
    sim_say(sim, "node=%u is not heard by node=%u", a, b);
    sim->links[a][b].cut = a != b;
}

static void cut_off(struct sim *sim)
{
    uint32_t lone = any_node(sim);
    uint64_t how = prng_below(&sim->random, 3); /* both ways, only out, only in */
    sim_say(sim, "node=%u cut off, way %llu", lone, (unsigned long long)how);
    for (uint32_t other = 1; other <= sim->options.nodes; other++) {
        if (other == lone)
            continue;
        if (how != 2)
            sim->links[lone][other].cut = true;
        if (how != 1)
            sim->links[other][lone].cut = true;
    }
}

/* All links say much twice for a while. */
static void stutter(struct sim *sim)
{
    int64_t until_us = sim->now_us + sim_between(sim, 100000, 3000000);
    sim->totals.stutters++;
    sim_say(sim, "links stutter");
    for (uint32_t a = 1; a <= sim->options.nodes; a++)
        for (uint32_t b = 1; b <= sim->options.nodes; b++)
            sim->links[a][b].stutters_until_us = until_us;
}

/* A leader whose followers take it for dead, and it does not know; in larger worlds with one who stays with it, on links that say much twice. */
static void estrange(struct sim *sim)
{
    const struct sim_node *leader = operator_leader_of(sim, (uint32_t)prng_below(&sim->random, SIM_SHARDS));
    if (leader == NULL)
        return;
    uint32_t companion = sim->options.nodes >= 5 && sim_chance(sim, 600000) ? any_node(sim) : 0;
    companion = companion == leader->id ? 0 : companion;
    sim->totals.estranged++;
    sim_say(sim, "node=%u is given up by all but %u", leader->id, companion);
    if (companion != 0)
        stutter(sim);
    network_reset(sim, leader->id, companion);
}

static void partition(struct sim *sim)
{
    sim->totals.partitions++;
    if (sim_chance(sim, 300000))
        stutter(sim);
    switch (prng_below(&sim->random, 7)) {
    case 0:
    case 1:
        split(sim);
        break;
    case 2:
        deafen(sim);
        break;
    case 3:
    case 4:
        estrange(sim);
        break;
    default:
        cut_off(sim);
        break;
    }
    sim_at(sim, sim->now_us + sim_between(sim, 50000, 3000000), heal_links, NULL, 0);
    members_in_haste(sim);
}

static void jump_clock(struct sim *sim)
{
    struct sim_node *n = &sim->nodes[any_node(sim)];
    n->wall_offset_ms = sim_between(sim, -7200000, 7200000);
    sim->totals.clock_jumps++;
    sim_say(sim, "node=%u wall clock off by %lld ms", n->id, (long long)n->wall_offset_ms);
}

static void slow_disk(struct sim *sim)
{
    struct sim_node *n = &sim->nodes[any_node(sim)];
    n->disk_slow_until_us = sim->now_us + sim_between(sim, 100000, 2500000);
    sim->totals.slow_disks++;
    sim_say(sim, "node=%u disk is slow", n->id);
}

static void transfer(struct sim *sim)
{
    struct sim_node *n = &sim->nodes[any_node(sim)];
    for (uint32_t shard = 0; n->alive && shard < SIM_SHARDS; shard++) { /* whatever it leads of some of them */
        if (sim_chance(sim, 500000))
            node_transfer(n, shard);
    }
}

static void next_fault(struct sim *sim, void *arg, uint64_t tag)
{
    (void)arg;
    (void)tag;
    if (sim->healing)
        return;
    switch (prng_below(&sim->random, 15)) {
    case 0:
    case 1:
    case 2:
        crash(sim);
        break;
    case 3:
    case 4:
        partition(sim);
        break;
    case 5:
        node_pause(&sim->nodes[any_node(sim)], sim_between(sim, 300000, 4000000));
        break;
    case 6:
        node_pause(&sim->nodes[any_node(sim)], sim_between(sim, 10000, 300000));
        break;
    case 7:
        slow_disk(sim);
        break;
    case 8:
        jump_clock(sim);
        break;
    case 9:
    case 10:
        transfer(sim);
        break;
    case 11:
        damage_misdirect(sim);
        break;
    case 12:
    case 13:
        damage_lie(sim);
        break;
    case 14:
        memory_fault(sim);
        break;
    default:
        break;
    }
    sim_at(sim, sim->now_us + sim_between(sim, 50000, 1500000), next_fault, NULL, 0);
}

void faults_start(struct sim *sim)
{
    sim_at(sim, SIM_FIRST_FAULT_US, next_fault, NULL, 0);
}

void faults_heal(struct sim *sim)
{
    network_heal(sim);
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        struct sim_node *n = &sim->nodes[id];
        n->disk_slow_until_us = 0;
        n->diverges_next = n->lies_next = false;
        if (!n->alive)
            restart(sim, n, 0);
    }
}
