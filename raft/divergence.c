/* Divergence is noticed: at fixed indexes every replica reports its state's hash, and whoever finds itself in the minority stops.
 *
 * A majority of the shard's voters that agree on another hash proves this node wrong, the leader included. If all have reported and no hash has a
 * majority, nobody can know who is right, and all stop. */
#include "state.h"

static const struct hash_slot *slot_at(const struct hash_slot *slots, uint64_t index)
{
    for (unsigned i = 0; i < HASHES_KEPT; i++) {
        if (slots[i].known && slots[i].index == index) {
            return &slots[i];
        }
    }
    return NULL;
}

/* What another voter reported. A learner compares itself to the voters, too, but is no evidence to anybody. */
static const struct hash_slot *report_of(const struct shard *s, size_t pos, uint64_t index)
{
    const struct peer *p = &s->core->peers[pos];
    return p->self || !shard_voter(s, p->id) ? NULL : slot_at(s->at.reported[pos], index);
}

static void compare(struct shard *s, uint64_t index)
{
    struct replica *core = s->core;
    const struct hash_slot *own = slot_at(s->hashes, index);
    unsigned self = shard_voter(s, core->self) ? 1 : 0;
    unsigned reports = self, agree = self;
    unsigned best_other = 0;
    uint64_t other = 0;
    uint32_t ids[NODES_MAX];
    unsigned voters = (unsigned)shard_voters(s, ids);
    if (own == NULL) {
        return;
    }
#ifdef MUSTER_FAULT_HASH_NOT_COMPARED
    return;
#endif
    for (size_t i = 0; i < core->peer_count; i++) {
        const struct hash_slot *slot = report_of(s, i, index);
        if (slot == NULL) {
            continue;
        }
        reports++;
        agree += slot->hash == own->hash ? 1 : 0;
        unsigned same = 0;
        for (size_t k = 0; k < core->peer_count && slot->hash != own->hash; k++) {
            const struct hash_slot *peer = report_of(s, k, index);
            same += peer != NULL && peer->hash == slot->hash ? 1 : 0;
        }
        if (same > best_other) {
            best_other = same;
            other = slot->hash;
        }
    }
    core->stats.hashes_compared++;
    s->in_doubt = best_other > 0 && agree <= voters / 2;
    if (best_other > voters / 2) {
        core_fatal(core,
                   "shard %u diverged: at entry %llu this node's state hash is %016llx and a majority has %016llx. This copy of the state "
                   "is wrong; "
                   "replace the node's data folder.",
                   s->id, (unsigned long long)index, (unsigned long long)own->hash, (unsigned long long)other);
    } else if (reports == voters && agree <= voters / 2) {
        core_fatal(core, "shard %u diverged: at entry %llu no two of a majority agree on the state hash (this node has %016llx).", s->id,
                   (unsigned long long)index, (unsigned long long)own->hash);
    } else if (best_other > 0) {
        log_event(LOG_ERROR, "replica_diverged", "node=%u shard=%u index=%llu hash=%016llx other=%016llx", core->self, s->id,
                  (unsigned long long)index, (unsigned long long)own->hash, (unsigned long long)other);
    }
}

static void report(struct shard *s, uint32_t node, const struct hash_slot *slot)
{
    struct message m = {.type = MESSAGE_HASH, .shard = s->id};
    m.hash.index = slot->index;
    m.hash.hash = slot->hash;
    core_post(s->core, NULL, node, CORE_RAFT, &m);
}

void hash_applied(struct shard *s)
{
    struct replica *core = s->core;
    if (core->options.hash_interval == UINT64_MAX || core->events.state_hash == NULL || s->applied % core->options.hash_interval != 0) {
        return;
    }
    struct hash_slot *slot = &s->hashes[s->hash_next++ % HASHES_KEPT];
    *slot = (struct hash_slot){.index = s->applied, .hash = core->events.state_hash(core->events.ctx, s->id), .known = true};
    for (size_t i = 0; i < core->peer_count; i++) {
        if (!core->peers[i].self && core->peers[i].connected) {
            report(s, core->peers[i].id, slot);
        }
    }
    compare(s, slot->index);
}

/* Whoever was away when these were told may come to their indexes only now, and would find nobody to compare itself to. */
void hash_connected(struct replica *core, uint32_t node)
{
    for (uint32_t i = 0; i < core->shard_count; i++) {
        struct shard *s = &core->shards[i];
        for (unsigned k = 0; k < HASHES_KEPT; k++) {
            const struct hash_slot *slot = &s->hashes[(s->hash_next + k) % HASHES_KEPT]; /* the oldest first */
            if (slot->known) {
                report(s, node, slot);
            }
        }
    }
}

void hash_reported(struct shard *s, size_t from_pos, uint64_t index, uint64_t hash)
{
    struct hash_slot *slots = s->at.reported[from_pos];
    for (unsigned i = 0; i < HASHES_KEPT; i++) {
        if (slots[i].known && slots[i].index == index) {
            slots[i].hash = hash;
            compare(s, index);
            return;
        }
    }
    slots[s->at.reported_next[from_pos]++ % HASHES_KEPT] = (struct hash_slot){.index = index, .hash = hash, .known = true};
    compare(s, index);
}
