/* Memory that changes by itself: what one node applies is not what it has written, by one bit. Nobody who reads offsets sees it; the state's hash does, and
 * the node that is wrong stops, its leader's office or not, before it hands its state to anybody, in a snapshot say. It is replaced: its snapshots may have it, too. */
#include <string.h>

#include "world.h"

enum { AGAIN_US = 10000, HEARD_US = 100000 };
enum { LEADER_EPOCH_AT = 13 }; /* in the value of an OffsetCommit of version 3 or later: int16 version, int64 offset, int32 leader epoch */

/* Where a wrong state was handed on, since nobody was there to compare it, it is the majority's: it stays, and who is right is the one to stop. */
static bool spread(const struct sim *sim)
{
    return sim->totals.wrong_handed_on > 0;
}

bool memory_diverged(const struct sim_node *n)
{
    for (uint32_t shard = 0; shard < SIM_SHARDS && !spread(n->sim); shard++) {
        if (n->diverged[shard] != 0)
            return true;
    }
    return n->diverges_next;
}

/* Its state may be right again, but the hashes of then may yet be compared. */
bool memory_was_wrong(const struct sim_node *n)
{
    return memory_diverged(n) || (n->alive && n->was_wrong);
}

void memory_fault(struct sim *sim)
{
    struct sim_node *n = &sim->nodes[1 + prng_below(&sim->random, sim->options.nodes)];
    bool sound = damage_none(sim);
    for (uint32_t id = 1; id <= sim->options.nodes; id++)
        sound = sound && sim->nodes[id].alive && !sim->nodes[id].joining;
    n->diverges_next = n->diverges_next || sound;
    n->diverges_before_snapshot = sim_chance(sim, 500000);
}

/* The committed leader epoch of the first offset that the entry commits; NULL: it commits none. */
static const uint8_t *place_in(struct bytes entry, struct arena *arena)
{
    struct log_entry decoded;
    if (wire_decode(&wire_log_entry, 0, entry, arena, &decoded, NULL) < 0)
        return NULL;
    for (int32_t i = 0; i < decoded.records.len; i++) {
        struct bytes key = decoded.records.v[i].key, value = decoded.records.v[i].value;
        if (key.len > 2 && get_be16(key.ptr) == RECORD_OFFSET_COMMIT && value.len > LEADER_EPOCH_AT && get_be16(value.ptr) >= 3)
            return value.ptr + LEADER_EPOCH_AT;
    }
    return NULL;
}

/* It leads, and somebody lacks what its log has no more. */
static bool gives_snapshot(const struct sim_node *n, uint32_t shard)
{
    struct replica_shard_status own, other;
    replica_status(n->core, shard, &own);
    for (uint32_t id = 1; id <= n->sim->options.nodes && own.role == REPLICA_SERVING; id++) {
        const struct sim_node *to = &n->sim->nodes[id];
        if (!to->alive || to == n)
            continue;
        replica_status(to->core, shard, &other);
        if (other.applied_index + 1 < own.first_index)
            return true;
    }
    return false;
}

/* Soon before hashes are told, or before a snapshot is due: else the offset may be committed anew. Above all before one that somebody is to be given. */
static bool is_moment(const struct sim_node *n, uint32_t shard, uint64_t index)
{
    uint64_t left = SIM_HASH_INTERVAL - index % SIM_HASH_INTERVAL;
    struct core_stats stats;
    if (left > SIM_HASH_INTERVAL / 4 && gives_snapshot(n, shard))
        return true;
    if (!n->diverges_before_snapshot)
        return left <= 4;
    core_stats(n->core, &stats);
    return left > SIM_HASH_INTERVAL / 4 && stats.replay_bytes > node_log_retain_bytes(n) - 512;
}

struct bytes memory_applied(struct sim_node *n, uint32_t shard, uint64_t index, struct bytes entry, struct buf *copy)
{
    struct arena arena;
    if (!n->diverges_next || entry.len <= 0 || !is_moment(n, shard, index))
        return entry;
    arena_init(&arena, 0);
    const uint8_t *place = place_in(entry, &arena);
    if (place != NULL) {
        struct replica_shard_status s;
        replica_status(n->core, shard, &s);
        MUSTER_CHECK(buf_put(copy, entry.ptr, (size_t)entry.len) == 0);
        copy->ptr[place - entry.ptr] ^= (uint8_t)(1u << prng_below(&n->sim->random, 7));
        entry.ptr = copy->ptr;
        n->diverges_next = false;
        n->was_wrong = true;
        n->diverged[shard] = index;
        n->sim->totals.memory_flips++;
        n->sim->totals.memory_flips_leader += s.role == REPLICA_SERVING;
        sim_say(n->sim, "node=%u shard=%u index=%llu a bit flips in memory", n->id, shard, (unsigned long long)index);
    }
    arena_fini(&arena);
    return entry;
}

/* The offset was committed anew, before anybody compared: then the wrong one is gone. Whoever comes to an entry second sees that both agree. */
static void heals(struct sim_node *n, uint32_t shard, uint64_t index)
{
    if (index > n->diverged[shard])
        n->diverged[shard] = 0;
}

static void compare_with_wrong(struct sim *sim, uint32_t shard, uint64_t index, uint64_t hash)
{
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        struct sim_node *n = &sim->nodes[id];
        const struct sim_wrong *then = &n->wrong[index % COUNT_OF(n->wrong)];
        if (n->diverged[shard] != 0 && then->shard == shard && then->index == index && then->hash == hash)
            heals(n, shard, index);
    }
}

/* ---- who has reported another hash than all others has to stop ---- */

/* What may have kept somebody from hearing it. */
static uint64_t trouble(const struct sim *sim)
{
    const struct sim_totals *t = &sim->totals;
    return t->dropped + t->crashes + t->pauses + t->slow_turns + t->partitions;
}

static struct sim_told *told_at(struct sim_node *n, uint32_t shard, uint64_t index)
{
    return &n->told[shard][index / SIM_HASH_INTERVAL % COUNT_OF(n->told[shard])];
}

/* Whoever was given a snapshot from behind the entry tells no hash of it. What was told before this life is told again, but not by who stands still; what was told in
 * it may have been dropped. */
static bool all_told(struct sim *sim, struct sim_node *to, uint32_t shard, uint64_t index)
{
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        struct sim_node *n = &sim->nodes[id];
        const struct sim_told *told = told_at(n, shard, index);
        bool still = sim->now_us < n->paused_until_us || sim->now_us < n->slow_until_us;
        if (!n->alive || still || told->index != index)
            return false;
        if (n != to && told->at_us >= to->started_us && told->dropped != sim->totals.dropped)
            return false;
    }
    return true;
}

void memory_told(struct sim_node *n, uint32_t shard)
{
    struct replica_shard_status s;
    replica_status(n->core, shard, &s);
    if (s.applied_index % SIM_HASH_INTERVAL != 0)
        return; /* told only when somebody asks */
    *told_at(n, shard, s.applied_index) = (struct sim_told){s.applied_index, n->sim->totals.dropped, n->sim->now_us};
}

/* Another one has the same wrong state. */
static bool shared(const struct sim *sim, const struct sim_node *n)
{
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        const struct sim_node *other = &sim->nodes[id];
        const struct sim_wrong *then = &other->wrong[n->watched.index % COUNT_OF(other->wrong)];
        if (other != n && then->shard == n->watched.shard && then->index == n->watched.index && then->hash == n->watched.hash)
            return true;
    }
    return false;
}

/* The wrong offset may be committed anew just before hashes are told: what this node told was right when it was the first to say so. tag: 1: all had told
 * theirs at the last look, and messages have arrived since. */
static void watch(struct sim *sim, void *arg, uint64_t tag)
{
    struct sim_node *n = arg;
    if (!n->alive || n->life != n->watched.life || trouble(sim) != n->watched.trouble ||
        check_state_agrees(sim, n->watched.shard, n->watched.index, n->watched.hash) || shared(sim, n))
        return;
    if (tag == 1)
        sim_fail(sim, "node %u goes on, although its hash of shard %u at entry %llu was another than that of all others", n->id,
                 n->watched.shard, (unsigned long long)n->watched.index);
    bool told = all_told(sim, n, n->watched.shard, n->watched.index);
    sim_at(sim, sim->now_us + (told ? HEARD_US : AGAIN_US), watch, n, told);
}

static void watch_it(struct sim_node *n, uint32_t shard, uint64_t index, uint64_t hash)
{
    if (index % SIM_HASH_INTERVAL != 0)
        return;
    n->watched.shard = shard;
    n->watched.index = index;
    n->watched.hash = hash;
    n->watched.life = n->life;
    n->watched.trouble = trouble(n->sim);
    sim_at(n->sim, n->sim->now_us + AGAIN_US, watch, n, 0);
}

void memory_state(struct sim_node *n, uint32_t shard, uint64_t index)
{
    uint64_t hash = group_set_hash(coord_set(n->coord, shard));
    if (n->diverged[shard] != 0 && check_state_agrees(n->sim, shard, index, hash))
        heals(n, shard, index);
    if (n->diverged[shard] == 0) {
        check_state_hash(n->sim, n->id, shard, index, hash);
        compare_with_wrong(n->sim, shard, index, hash);
    } else {
        n->wrong[index % COUNT_OF(n->wrong)] = (struct sim_wrong){shard, index, hash};
        watch_it(n, shard, index, hash);
    }
}

/* It may take one: the others say that it is wrong before it is handed on. */
void memory_snapshot(struct sim_node *n, uint32_t shard)
{
    struct replica_shard_status s;
    if (n->diverged[shard] == 0)
        return;
    replica_status(n->core, shard, &s);
    n->wrong_snapshots[n->wrong_snapshots_next++ % COUNT_OF(n->wrong_snapshots)] =
        (struct sim_wrong){shard, s.applied_index, group_set_hash(coord_set(n->coord, shard))};
    n->sim->totals.wrong_snapshots++;
    sim_say(n->sim, "node=%u shard=%u index=%llu takes a snapshot of a wrong state", n->id, shard, (unsigned long long)s.applied_index);
}

void memory_restarts(struct sim_node *n)
{
    memset(n->diverged, 0, sizeof(n->diverged));
    memset(n->told, 0, sizeof(n->told));
    n->started_us = n->sim->now_us;
    n->diverges_next = n->was_wrong = false;
}

void memory_wiped(struct sim_node *n)
{
    memset(n->diverged, 0, sizeof(n->diverged));
    memset(n->wrong_snapshots, 0, sizeof(n->wrong_snapshots));
}

/* The wrong offset may have been committed anew before the snapshot, by an entry that nobody else had come to yet. */
static bool has_wrong(const struct sim_node *n, uint32_t shard, uint64_t index, uint64_t hash)
{
    if (check_state_agrees(n->sim, shard, index, hash))
        return false;
    for (size_t i = 0; i < COUNT_OF(n->wrong_snapshots); i++) {
        const struct sim_wrong *w = &n->wrong_snapshots[i];
        if (w->index != 0 && w->shard == shard && w->index == index && w->hash == hash)
            return true;
    }
    return false;
}

/* Somebody has sent a snapshot that nobody was there to compare. */
static bool uncompared(struct sim *sim)
{
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        struct core_stats stats = {0};
        if (sim->nodes[id].alive)
            core_stats(sim->nodes[id].core, &stats);
        if (stats.snapshots_uncompared > 0)
            return true;
    }
    return false;
}

/* A snapshot brings the wrong state back to who took it. Nobody else is given it. */
void memory_restored(struct sim_node *n, uint32_t shard, uint64_t index)
{
    struct sim *sim = n->sim;
    uint64_t hash = group_set_hash(coord_set(n->coord, shard));
    n->diverged[shard] = has_wrong(n, shard, index, hash) ? index : 0;
    for (uint32_t id = 1; id <= sim->options.nodes && n->diverged[shard] == 0; id++) {
        if (!has_wrong(&sim->nodes[id], shard, index, hash))
            continue;
        if (!uncompared(sim) && !spread(sim))
            sim_fail(sim, "node %u was given the wrong state of shard %u that node %u has at entry %llu", n->id, shard, id,
                     (unsigned long long)index);
        sim->totals.wrong_handed_on++;
        n->diverged[shard] = index;
        n->wrong_snapshots[n->wrong_snapshots_next++ % COUNT_OF(n->wrong_snapshots)] = (struct sim_wrong){shard, index, hash};
    }
    n->was_wrong = n->was_wrong || n->diverged[shard] != 0;
    if (!sim->failed)
        memory_state(n, shard, index);
}

bool memory_found_out(struct sim_node *n, const char *text)
{
    if ((!n->was_wrong && !spread(n->sim)) || strstr(text, "diverged") == NULL)
        return false;
    n->sim->totals.diverged_found++;
    sim_say(n->sim, "node=%u stops: %s", n->id, text);
    n->stops = true;
    return true;
}
