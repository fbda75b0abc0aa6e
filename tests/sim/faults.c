/* What goes wrong, and when. Never more than a minority of the nodes is down by our doing, so that there is always something to check; all may be cut off. */
#include "world.h"

enum { ONE_WAY_PATIENCE_US = 3000000 };

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
    if (disks_hang(n)) {
        sim_at(sim, n->disk_hangs_until_us, restart, n, 0);
        return;
    }
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
    sim->heals++;
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

/* how: 0 both ways, 1 only out, 2 only in. */
static struct sim_node *cut_off(struct sim *sim, uint64_t how)
{
    uint32_t lone = any_node(sim);
    sim_say(sim, "node=%u cut off, way %llu", lone, (unsigned long long)how);
    for (uint32_t other = 1; other <= sim->options.nodes; other++) {
        if (other == lone)
            continue;
        if (how != 2)
            sim->links[lone][other].cut = true;
        if (how != 1)
            sim->links[other][lone].cut = true;
    }
    return &sim->nodes[lone];
}

/* Whoever is not heard, or hears nobody, can get nothing done, although to half of the others' eyes nothing is amiss.
 * tag: what trouble there had been when it began. */
static void others_lead(struct sim *sim, void *arg, uint64_t tag)
{
    struct sim_node *lone = arg;
    if (disks_trouble(sim) + sim->heals != tag || sim->healing)
        return;
    sim->totals.one_way_fled++;
    for (uint32_t shard = 0; shard < SIM_SHARDS; shard++) {
        const struct sim_node *leader = operator_leader_of(sim, shard);
        struct replica_shard_status s;
        replica_status(lone->core, shard, &s);
        if (leader == NULL || leader == lone || s.role == REPLICA_SERVING)
            sim_fail(sim, "node %u is cut off one way since %d s, and shard %u is led by %s", lone->id,
                     (int)(ONE_WAY_PATIENCE_US / 1000000), shard, leader == NULL ? "nobody" : "it");
    }
}

/* Nothing else goes wrong, and it lasts: the others must have taken over before long. */
static void cut_off_for_long(struct sim *sim)
{
    sim->totals.partitions++;
    struct sim_node *lone = cut_off(sim, 1 + prng_below(&sim->random, 2));
    sim->alone_until_us = sim->now_us + ONE_WAY_PATIENCE_US + 500000;
    sim_at(sim, sim->alone_until_us, heal_links, NULL, 0);
    sim_at(sim, sim->now_us + ONE_WAY_PATIENCE_US, others_lead, lone, disks_trouble(sim) + sim->heals);
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

static void partition(struct sim *sim, enum sim_kind kind)
{
    if (kind == KIND_ONE_WAY && sim->options.seed % 4 >= 2 && disks_all_well(sim) && disks_all_work(sim)) {
        cut_off_for_long(sim);
        return;
    }
    sim->totals.partitions++;
    if (sim_chance(sim, 300000))
        stutter(sim);
    if (kind == KIND_ESTRANGED)
        estrange(sim);
    else if (kind == KIND_ONE_WAY ? sim_chance(sim, 430000) : sim_chance(sim, 670000))
        (kind == KIND_ONE_WAY ? deafen : split)(sim);
    else if (kind == KIND_ONE_WAY)
        (void)cut_off(sim, 1 + prng_below(&sim->random, 2));
    else
        (void)cut_off(sim, 0);
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

/* How often each kind comes among the others; those with 0 are there all the time. */
static const uint8_t shares[] = {
    [KIND_CRASH] = 9,     [KIND_CUT] = 3,        [KIND_ONE_WAY] = 2,  [KIND_ESTRANGED] = 2,   [KIND_PAUSE] = 6,
    [KIND_SLOW_DISK] = 3, [KIND_CLOCK_JUMP] = 3, [KIND_TRANSFER] = 6, [KIND_MISDIRECTED] = 3, [KIND_LIE] = 7,
    [KIND_MEMORY] = 4,    [KIND_FULL] = 3,       [KIND_HUNG] = 3,     [KIND_DRIFT] = 0,
};

bool faults_has(const struct sim *sim, enum sim_kind kind)
{
    return sim->options.faults && !sim->healing && (sim->options.only == 0 || (sim->options.only >> kind & 1) != 0);
}

/* KIND_DRIFT, which is none to be made, where only those are wanted that are there all the time. */
static enum sim_kind draw_kind(struct sim *sim)
{
    uint32_t sum = 0;
    for (uint32_t kind = 0; kind < COUNT_OF(shares); kind++)
        sum += faults_has(sim, (enum sim_kind)kind) ? shares[kind] : 0;
    uint64_t at = sum > 0 ? prng_below(&sim->random, sum) : 0;
    for (uint32_t kind = 0; sum > 0 && kind < COUNT_OF(shares); kind++) {
        uint32_t share = faults_has(sim, (enum sim_kind)kind) ? shares[kind] : 0;
        if (at < share)
            return (enum sim_kind)kind;
        at -= share;
    }
    return KIND_DRIFT;
}

static void make_fault(struct sim *sim, enum sim_kind kind)
{
    switch (kind) {
    case KIND_CRASH:
        crash(sim);
        break;
    case KIND_CUT:
    case KIND_ONE_WAY:
    case KIND_ESTRANGED:
        partition(sim, kind);
        break;
    case KIND_PAUSE:
        node_pause(&sim->nodes[any_node(sim)],
                   sim_chance(sim, 500000) ? sim_between(sim, 300000, 4000000) : sim_between(sim, 10000, 300000));
        break;
    case KIND_SLOW_DISK:
        slow_disk(sim);
        break;
    case KIND_CLOCK_JUMP:
        jump_clock(sim);
        break;
    case KIND_TRANSFER:
        transfer(sim);
        break;
    case KIND_MISDIRECTED:
        damage_misdirect(sim);
        break;
    case KIND_LIE:
        damage_lie(sim);
        break;
    case KIND_MEMORY:
        memory_fault(sim);
        break;
    case KIND_FULL:
    case KIND_HUNG:
        disks_fault(sim, kind == KIND_FULL);
        break;
    default:
        break;
    }
}

static void next_fault(struct sim *sim, void *arg, uint64_t tag)
{
    (void)arg;
    (void)tag;
    if (sim->healing)
        return;
    if (sim->now_us < sim->alone_until_us) {
        sim_at(sim, sim->alone_until_us, next_fault, NULL, 0);
        return;
    }
    make_fault(sim, draw_kind(sim));
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
        disks_end(n);
        n->diverges_next = n->lies_next = false;
        if (!n->alive)
            restart(sim, n, 0);
    }
}
