/* Disks that take nothing more for a while, or do not return for a while, one node's at a time. Somebody else has filled a full one: what has its room already can
 * be written, nothing grows; on some, any write may fail for that, half done. A hung one goes on where it stood; whoever starts on it waits for it.
 *
 * Often nothing else goes wrong meanwhile: then the others must have taken over before long. Afterwards the node must be as good as before. */
#include <stdio.h>

#include "world.h"

enum { PATIENCE_US = 3000000, MOST_BEHIND = 64, MOST_REFUSALS = 3000 };

uint64_t disks_trouble(const struct sim *sim)
{
    const struct sim_totals *t = &sim->totals;
    return t->crashes + t->restarts + t->pauses + t->slow_turns + t->partitions + t->slow_disks + t->memory_flips + t->diverged_found;
}

/* Who was stopped for another program is not back yet. Where two of three differ and the third lacks the log, none of them may send it a snapshot while both are
 * there (raft's install.c): without the one with the disk the other has no majority. */
bool disks_all_well(const struct sim *sim)
{
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        const struct sim_node *n = &sim->nodes[id];
        if (!n->alive || n->broken || n->joining || n->was_wrong || sim->now_us < n->paused_until_us || sim->now_us < n->disk_slow_until_us)
            return false;
        for (uint32_t other = 1; other <= sim->options.nodes; other++) {
            if (sim->links[id][other].cut || sim->links[id][other].reset)
                return false;
        }
    }
    return sim->options.story != STORY_MEMBERS;
}

/* tag: what trouble there had been when it began. */
static void others_lead(struct sim *sim, void *arg, uint64_t tag)
{
    struct sim_node *n = arg;
    if (n->disk_useless_since_us == 0 || sim->now_us - n->disk_useless_since_us < PATIENCE_US || disks_trouble(sim) != tag ||
        !disks_all_well(sim) || sim->healing)
        return;
    sim->totals.disks_fled++;
    for (uint32_t shard = 0; shard < SIM_SHARDS; shard++) {
        const struct sim_node *leader = operator_leader_of(sim, shard);
        if (leader == NULL || leader == n)
            sim_fail(sim, "node %u: its disk is %s since %d s, and shard %u is led by %s", n->id, n->disk_full ? "full" : "hung",
                     PATIENCE_US / 1000000, shard, leader == n ? "it" : "nobody");
    }
}

/* From now on its log takes no entries. */
static void useless(struct sim_node *n)
{
    struct sim *sim = n->sim;
    if (n->disk_useless_since_us != 0)
        return;
    n->disk_useless_since_us = sim->now_us;
    if (disks_all_well(sim))
        sim_at(sim, sim->now_us + PATIENCE_US, others_lead, n, disks_trouble(sim));
}

bool disks_hang(const struct sim_node *n)
{
    return n->sim->now_us < n->disk_hangs_until_us;
}

void disks_write_begins(struct sim_node *n)
{
    if (disks_hang(n))
        useless(n);
}

/* A batch is to be written: perhaps there is no room for the whole of it. */
void disks_write(struct sim_node *n)
{
    if (n->disk_full && n->disk_writes_fail && sim_chance(n->sim, 500000))
        mem_disk_faults(n->disk)->full_write = 1 + prng_below(&n->sim->random, 2);
}

void disks_written(struct sim_node *n, int rc, const struct store_record *records, size_t count)
{
    bool entries = false;
    mem_disk_faults(n->disk)->full_write = 0;
    for (size_t i = 0; i < count; i++)
        entries = entries || records[i].kind != STORE_TERM;
    if (rc == MUSTER_E_FULL) {
        n->sim->totals.full_writes++;
        if (n->sim->totals.full_writes > MOST_REFUSALS)
            sim_fail(n->sim, "a full disk was asked %d times: somebody asks as fast as it answers", MOST_REFUSALS);
        useless(n);
    } else if (entries || !n->disk_full) {
        n->disk_useless_since_us = 0;
    }
}

/* It works again; whoever runs on it hears of what he has written. */
void disks_end(struct sim_node *n)
{
    if (n->disk_full || disks_hang(n))
        sim_say(n->sim, "node=%u disk works again", n->id);
    n->disk_full = n->disk_writes_fail = false;
    n->disk_hangs_until_us = n->disk_useless_since_us = 0;
    n->disk_trouble++;
    mem_disk_faults(n->disk)->capacity_bytes = 0;
    node_disk_wakes(n);
}

static void is_over(struct sim *sim, void *arg, uint64_t tag)
{
    (void)sim;
    struct sim_node *n = arg;
    if (n->disk_trouble == tag)
        disks_end(n);
}

bool disks_all_work(const struct sim *sim)
{
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        if (sim->nodes[id].disk_full || disks_hang(&sim->nodes[id]))
            return false;
    }
    return true;
}

void disks_fault(struct sim *sim, bool full)
{
    struct sim_node *n = &sim->nodes[1 + prng_below(&sim->random, sim->options.nodes)];
    bool alone = disks_all_well(sim) && sim_chance(sim, 600000);
    int64_t us = alone ? sim_between(sim, PATIENCE_US + 500000, 7000000) : sim_between(sim, 200000, 4000000);
    if (!disks_all_work(sim) || !n->alive)
        return;
    n->disk_trouble++;
    if (full) {
        uint64_t room = (uint64_t)sim_between(sim, 0, alone ? 2 << 10 : 16 << 10);
        sim->totals.full_disks++;
        n->disk_full = true;
        n->disk_writes_fail = sim_chance(sim, 400000);
        mem_disk_faults(n->disk)->capacity_bytes = mem_disk_used(n->disk) + room;
        sim_say(sim, "node=%u disk is full but for %llu bytes%s", n->id, (unsigned long long)room,
                n->disk_writes_fail ? ", writes fail" : "");
    } else {
        sim->totals.hung_disks++;
        n->disk_hangs_until_us = sim->now_us + us;
        if (n->batch != NULL)
            useless(n);
        sim_say(sim, "node=%u disk hangs", n->id);
    }
    sim_at(sim, sim->now_us + us, is_over, n, n->disk_trouble);
    if (alone)
        sim->alone_until_us = sim->now_us + us;
}

bool disks_calm(struct sim *sim, char *why, size_t why_len)
{
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        const struct sim_node *n = &sim->nodes[id];
        struct core_stats stats;
        if (!n->alive)
            continue;
        core_stats(n->core, &stats);
        snprintf(why, why_len, "node %u: its disk takes everything, and it does not think so", id);
        if (stats.disk_full || !stats.disk_healthy)
            return false;
        for (uint32_t shard = 0; shard < SIM_SHARDS; shard++) {
            const struct sim_node *leader = operator_leader_of(sim, shard);
            struct replica_shard_status own, leads;
            snprintf(why, why_len, "node %u does not come after in shard %u", id, shard);
            if (leader == NULL)
                return false;
            replica_status(n->core, shard, &own);
            replica_status(leader->core, shard, &leads);
            if (own.applied_index + MOST_BEHIND < leads.commit_index)
                return false;
        }
    }
    return true;
}
