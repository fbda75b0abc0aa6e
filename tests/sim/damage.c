/* Disks that do wrong, one node's at a time: a bit flips at rest, a write lands elsewhere, a sync lies once. And what must hold of every start: what a disk
 * was said to have is there, or the node refuses and names the place.
 *
 * A lie is only told about what the others have, too: Raft counts on what was acknowledged, so a lie about the one copy that made a majority loses it, whatever
 * the code does. The same goes for a flip in the very last batch, which nobody can tell from a torn write (storage/FORMAT.md). */
#include <string.h>

#include "world.h"

enum { MENDED_AFTER_US = 4000000 };

/* ---- what a disk was said to have ---- */

static void keep_record(struct sim_kept *k, const struct store_record *r)
{
    switch (r->kind) {
    case STORE_ENTRY:
        k->last_index = r->index;
        k->last_term = r->term;
        break;
    case STORE_TERM:
        k->term = r->term;
        k->vote = r->vote;
        break;
    default: /* whether the entries behind it stay is the store's to know */
        k->last_term = r->index < k->last_index ? 0 : r->term;
        k->last_index = r->index;
        break;
    }
}

void damage_kept(struct sim_node *n, const struct store_record *records, size_t count)
{
    for (size_t i = 0; i < count; i++)
        keep_record(&n->kept[records[i].shard], &records[i]);
}

static void found_shard(void *ctx, uint32_t shard, const struct store_shard_state *state)
{
    struct sim_kept *found = ctx;
    found[shard] = (struct sim_kept){.term = state->term, .vote = state->vote, .last_index = state->last_index};
    if (found[shard].last_index < state->snapshot_index)
        found[shard].last_index = state->snapshot_index;
}

static void found_entry(void *ctx, uint32_t shard, uint64_t index, uint64_t term, uint8_t entry_type, struct bytes payload)
{
    (void)ctx, (void)shard, (void)index, (void)term, (void)entry_type, (void)payload;
}

/* The first shard of which less is there than there was; SIM_SHARDS: none. */
static uint32_t less_than(const struct sim_kept *kept, const struct sim_kept *found)
{
    for (uint32_t i = 0; i < SIM_SHARDS; i++) {
        bool vote_lost = found[i].term == kept[i].term && kept[i].vote != 0 && found[i].vote != kept[i].vote;
        if (found[i].term < kept[i].term || vote_lost || found[i].last_index < kept[i].last_index)
            return i;
    }
    return SIM_SHARDS;
}

void damage_started(struct sim_node *n, uint32_t shard, const struct store_shard_state *state)
{
    struct sim_kept found[SIM_SHARDS];
    memcpy(found, n->kept, sizeof(found));
    found_shard(found, shard, state);
    if (n->damage != DAMAGE_LIE && less_than(n->kept, found) == shard)
        sim_fail(
            n->sim,
            "node %u starts with term %llu, vote %llu and entries up to %llu in shard %u, but its disk was synced with %llu, %llu and %llu",
            n->id, (unsigned long long)found[shard].term, (unsigned long long)found[shard].vote,
            (unsigned long long)found[shard].last_index, shard, (unsigned long long)n->kept[shard].term,
            (unsigned long long)n->kept[shard].vote, (unsigned long long)n->kept[shard].last_index);
    found[shard].last_term = 0;
    n->kept[shard] = found[shard];
}

/* ---- bits that flip while the node is down ---- */

static size_t used_bytes(struct bytes file)
{
    size_t len = (size_t)file.len;
    while (len > 0 && file.ptr[len - 1] == 0)
        len--;
    return len;
}

static bool is_data(const char *name)
{
    size_t len = strlen(name);
    return len > 5 && (strcmp(name + len - 4, ".seg") == 0 || strcmp(name + len - 5, ".snap") == 0);
}

/* Whether a start from such a disk would lose something without a word. */
static bool would_lose(const struct sim_node *n, struct mem_disk *disk)
{
    struct sim_kept found[SIM_SHARDS] = {0};
    struct store_port port;
    struct store *store = NULL;
    struct store_options options = node_store_options(n);
    struct store_recovery recovery = {.ctx = found, .shard = found_shard, .entry = found_entry};
    struct store_report report = {0};
    mem_disk_port(disk, &port);
    options.warn = NULL;
    int rc = store_open(&store, &port, &options, &recovery, &report);
    store_close(store);
    return rc == 0 && report.torn_tail && less_than(n->kept, found) < SIM_SHARDS;
}

static void flip(struct sim_node *n)
{
    struct sim *sim = n->sim;
    size_t count = mem_disk_file_count(n->disk), first = (size_t)prng_below(&sim->random, count + 1);
    for (size_t i = 0; i < count; i++) {
        const char *name = mem_disk_file_name(n->disk, (first + i) % count);
        size_t used = is_data(name) ? used_bytes(mem_disk_file(n->disk, name)) : 0;
        if (used == 0)
            continue;
        uint64_t offset = prng_below(&sim->random, used);
        uint8_t mask = (uint8_t)(1u << prng_below(&sim->random, 8));
        struct mem_disk *copy = mem_disk_clone(n->disk);
        mem_disk_flip(copy, name, offset, mask);
        bool loses = would_lose(n, copy);
        mem_disk_free(copy);
        if (loses)
            return;
        sim->totals.flips++;
        sim_say(sim, "node=%u bit flips in %s at %llu", n->id, name, (unsigned long long)offset);
        snprintf(n->damaged_file, sizeof(n->damaged_file), "%s", name);
        mem_disk_flip(n->disk, name, offset, mask);
        n->damage = DAMAGE_FLIP;
        return;
    }
}

/* Who lost something to a lie is damaged until it has that again: the others' copies are all there are. */
static bool has_again(const struct sim_node *n)
{
    for (uint32_t shard = 0; shard < SIM_SHARDS; shard++) {
        if (n->lied[shard].last_index > n->kept[shard].last_index)
            return false;
    }
    return true;
}

bool damage_none(const struct sim *sim)
{
    if (!sim->options.damage || sim->options.story != STORY_NONE)
        return false;
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        if (sim->nodes[id].lie_owed && !has_again(&sim->nodes[id]))
            return false;
        if (sim->nodes[id].damage != DAMAGE_NONE || sim->nodes[id].broken || sim->nodes[id].joining || memory_was_wrong(&sim->nodes[id]))
            return false;
    }
    return true;
}

void damage_at_rest(struct sim_node *n)
{
    if (!n->sim->healing && sim_chance(n->sim, 150000) && damage_none(n->sim))
        flip(n);
}

/* ---- writes that land elsewhere ---- */

static bool all_alive(const struct sim *sim)
{
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        if (!sim->nodes[id].alive)
            return false;
    }
    return true;
}

/* It may have been the last write before the power goes, or one of many. */
static void power_goes(struct sim *sim, void *arg, uint64_t tag)
{
    struct sim_node *n = arg;
    if (!n->alive || n->life != tag || sim->healing || !all_alive(sim))
        return;
    sim_say(sim, "node=%u loses power", n->id);
    damage_lie_ends(n);
    node_lose_power(n);
    faults_restart_soon(n);
}

void damage_misdirect(struct sim *sim)
{
    struct sim_node *n = &sim->nodes[1 + prng_below(&sim->random, sim->options.nodes)];
    if (!n->alive || !damage_none(sim))
        return;
    n->power_behind_us = 0;
    if (sim_chance(sim, 500000)) /* nothing more is written: only what landed elsewhere tells that it was no torn write */
        n->power_behind_us = sim_between(sim, 1, 80); /* sooner than another write may be over */
    else if (sim_chance(sim, 500000))
        sim_at(sim, sim->now_us + sim_between(sim, 500, 1000000), power_goes, n, n->life);
    sim->totals.misdirected++;
    n->damage = DAMAGE_MISDIRECTED;
    n->damaged_file[0] = '\0';
    int64_t by = sim_between(sim, -8, 8) * 512;
    mem_disk_faults(n->disk)->misdirect_by = by;
    sim_say(sim, "node=%u its next write lands %lld bytes off", n->id, (long long)by);
}

/* ---- a sync that lies ---- */

void damage_lie(struct sim *sim)
{
    struct sim_node *n = &sim->nodes[1 + prng_below(&sim->random, sim->options.nodes)];
    if (damage_none(sim) && n->alive)
        n->lies_next = true;
}

/* The others have everything of that batch: its entries in their logs, and in its terms they follow somebody. */
static bool others_hold(const struct sim_node *n)
{
    for (uint32_t id = 1; id <= n->sim->options.nodes; id++) {
        const struct sim_node *other = &n->sim->nodes[id];
        if (id == n->id)
            continue;
        for (uint32_t shard = 0; shard < SIM_SHARDS; shard++) {
            const struct sim_kept *lied = &n->lied[shard], *kept = &other->kept[shard];
            struct replica_shard_status s = {0};
            if (!other->alive)
                return false;
            replica_status(other->core, shard, &s);
            if (lied->last_index > 0 && (kept->last_term != lied->last_term || kept->last_index < lied->last_index))
                return false;
            if (lied->term > 0 && (kept->term < lied->term || s.leader == 0))
                return false;
        }
    }
    return true;
}

void damage_lie_ends(struct sim_node *n)
{
    if (n->lie_open)
        mem_disk_settle(n->disk);
    n->lie_open = false;
}

/* tag: what trouble there has been. Nothing else has gone wrong since, so the others have given it all that it lost. */
static void is_mended(struct sim *sim, void *arg, uint64_t tag)
{
    const struct sim_node *n = arg;
    if (disks_trouble(sim) + sim->heals != tag || sim->healing || !n->lie_owed)
        return;
    sim->totals.lies_mended++;
    if (!has_again(n))
        sim_fail(sim, "node %u has lost what its disk said was synced, and has not got it back in %d s", n->id, MENDED_AFTER_US / 1000000);
}

/* tag: the node's life. Now the power goes, if that costs nothing that the others do not have. */
static void lie_is_found_out(struct sim *sim, void *arg, uint64_t tag)
{
    struct sim_node *n = arg;
    if (!n->alive || n->life != tag || !n->lie_open || sim->healing || n->batch != NULL || !damage_none(sim) || !others_hold(n))
        return;
    n->lie_open = false;
    if (disks_all_well(sim) && disks_all_work(sim)) {
        const uint64_t its_end_and_start = 2;
        sim->alone_until_us = sim->now_us + MENDED_AFTER_US;
        sim_at(sim, sim->alone_until_us, is_mended, n, disks_trouble(sim) + its_end_and_start + sim->heals);
    }
    sim->totals.lies++;
    sim_say(sim, "node=%u loses what its disk said was synced", n->id);
    n->damage = DAMAGE_LIE;
    n->lie_owed = true;
    node_lose_power(n);
    faults_restart_soon(n);
}

int damage_write(struct sim_node *n, const struct store_record *records, size_t count)
{
    struct sim *sim = n->sim;
    struct mem_faults *faults = mem_disk_faults(n->disk);
    int64_t elsewhere = faults->misdirect_by;
    damage_lie_ends(n);
    faults->sync_lies = n->lies_next;
    disks_write(n);
    int rc = store_write(n->store, records, count);
    disks_written(n, rc, records, count);
    if (elsewhere != 0 && faults->misdirect_by == 0 && n->power_behind_us > 0)
        sim_at(sim, sim->now_us + n->power_behind_us, power_goes, n, n->life);
    faults->sync_lies = false;
    if (rc == 0)
        damage_kept(n, records, count);
    if (n->lies_next && rc == 0) {
        n->lie_open = true;
        n->lie_owed = false;
        memset(n->lied, 0, sizeof(n->lied));
        for (size_t i = 0; i < count; i++)
            keep_record(&n->lied[records[i].shard], &records[i]);
        for (int i = 0; i < 3; i++) /* there are few moments at which the others have it and nothing else was synced */
            sim_at(sim, sim->now_us + sim_between(sim, 200, 4000), lie_is_found_out, n, n->life);
    }
    n->lies_next = false;
    return rc;
}

/* ---- a start ---- */

/* A node that does not start: by our doing, or not? It names the place, unless the damage looks like a torn write: then what was in it is missed elsewhere, such as the
 * entries that a snapshot holds of which nothing says any more that it is in use. */
void damage_refused(struct sim_node *n, int rc, const char *text)
{
    bool names_place = n->damage != DAMAGE_FLIP || strstr(text, n->damaged_file) != NULL || strstr(text, "the snapshot at entry") != NULL ||
                       strstr(text, "are in no segment") != NULL;
    if (n->damage == DAMAGE_NONE || rc != MUSTER_E_CORRUPT || !names_place) {
        sim_fail(n->sim, "node %u does not start: %s: %s", n->id, muster_strerror(rc), text);
        return;
    }
    n->sim->totals.refused_starts++;
    sim_say(n->sim, "node=%u refuses to start: %s", n->id, text);
    n->broken = true;
}
