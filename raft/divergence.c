/* Divergence is noticed: at fixed indexes every replica reports its state's hash, and whoever finds itself in the minority stops.
 *
 * A majority of the shard's voters that agree on another hash proves this node wrong, the leader included. If all have reported and no hash has a
 * majority, nobody can know who is right, and all stop.
 *
 * The same is done at the index of each snapshot, so that no wrong state is handed on: who takes one says its hash, and the others answer, from
 * what they keep of the newest entries or when they come to that entry. Who has an answer to give gives each node one for an index, and none for
 * an older index than its last; only the newest is answered again. So nobody can be kept answering. */
#include "state.h"

enum { ANSWER_AGAIN_US = 100000 };

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

static bool comparing(const struct replica *core)
{
    return core->options.hash_interval != UINT64_MAX && core->events.state_hash != NULL;
}

/* This node's hash at the index, whether it was told or is only remembered. */
static bool own_hash(const struct shard *s, uint64_t index, uint64_t *ret)
{
    const struct hash_slot *slot = slot_at(s->hashes, index);
    const struct recent_hashes *r = &s->recent;
    if (slot != NULL) {
        *ret = slot->hash;
        return true;
    }
    *ret = r->hash[index % HASHES_RECENT];
    return r->last != 0 && index >= r->first && index <= r->last && r->last - index < HASHES_RECENT;
}

static void remember(struct shard *s, uint64_t index, uint64_t hash)
{
    struct recent_hashes *r = &s->recent;
    if (index != r->last + 1) {
        r->first = index;
    }
    r->last = index;
    r->hash[index % HASHES_RECENT] = hash;
}

static struct compared_snapshot *compared_at(struct shard *s, uint64_t index, uint64_t hash)
{
    for (unsigned i = 0; i < COUNT_OF(s->compared); i++) {
        if (s->compared[i].index == index && s->compared[i].hash == hash) {
            return &s->compared[i];
        }
    }
    return NULL;
}

static void snapshot_agreed(struct shard *s, uint64_t index, uint64_t hash)
{
    struct compared_snapshot *c = compared_at(s, index, hash);
    if (c != NULL) {
        c->agreed = true;
    }
}

static void compare(struct shard *s, uint64_t index)
{
    struct replica *core = s->core;
    uint64_t own = 0;
    unsigned self = shard_voter(s, core->self) ? 1 : 0;
    unsigned reports = self, agree = self;
    unsigned best_other = 0;
    uint64_t other = 0;
    uint32_t ids[NODES_MAX];
    unsigned voters = (unsigned)shard_voters(s, ids);
    if (voters == 0 || !own_hash(s, index, &own)) {
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
        agree += slot->hash == own ? 1 : 0;
        unsigned same = 0;
        for (size_t k = 0; k < core->peer_count && slot->hash != own; k++) {
            const struct hash_slot *peer = report_of(s, k, index);
            same += peer != NULL && peer->hash == slot->hash ? 1 : 0;
        }
        if (same > best_other) {
            best_other = same;
            other = slot->hash;
        }
    }
    core->stats.hashes_compared++;
    s->in_doubt = agree <= voters / 2 && (best_other > 0 || s->in_doubt);
    if (agree > voters / 2) {
        snapshot_agreed(s, index, own);
    }
    if (best_other > voters / 2) {
        core_fatal(core,
                   "shard %u diverged: at entry %llu this node's state hash is %016llx and a majority has %016llx. This copy of the state "
                   "is wrong; "
                   "replace the node's data folder.",
                   s->id, (unsigned long long)index, (unsigned long long)own, (unsigned long long)other);
    } else if (reports == voters && agree <= voters / 2) {
        core_fatal(core, "shard %u diverged: at entry %llu no two of a majority agree on the state hash (this node has %016llx).", s->id,
                   (unsigned long long)index, (unsigned long long)own);
    } else if (best_other > 0 && index != s->doubt_told) {
        s->doubt_told = index;
        log_event(LOG_ERROR, "replica_diverged", "node=%u shard=%u index=%llu hash=%016llx other=%016llx", core->self, s->id,
                  (unsigned long long)index, (unsigned long long)own, (unsigned long long)other);
    }
}

static void report(struct shard *s, uint32_t node, const struct hash_slot *slot)
{
    struct message m = {.type = MESSAGE_HASH, .shard = s->id};
    m.hash.index = slot->index;
    m.hash.hash = slot->hash;
    core_post(s->core, NULL, node, CORE_RAFT, &m);
}

static void tell(struct shard *s, uint64_t index, uint64_t hash)
{
    struct replica *core = s->core;
    struct hash_slot told = {.index = index, .hash = hash, .known = true};
    if (slot_at(s->hashes, index) == NULL) {
        s->hashes[s->hash_next++ % HASHES_KEPT] = told;
    }
    for (size_t i = 0; i < core->peer_count; i++) {
        if (!core->peers[i].self && core->peers[i].connected) {
            report(s, core->peers[i].id, &told);
        }
    }
    compare(s, index);
}

/* Another node has told its hash at this index already. */
static bool asked_for(const struct shard *s, uint64_t index)
{
    for (size_t i = 0; i < s->core->peer_count && index <= s->newest_reported; i++) {
        if (slot_at(s->at.reported[i], index) != NULL) {
            return true;
        }
    }
    return false;
}

void hash_applied(struct shard *s)
{
    struct replica *core = s->core;
    if (!comparing(core)) {
        return;
    }
    uint64_t hash = core->events.state_hash(core->events.ctx, s->id);
    remember(s, s->applied, hash);
    if (s->applied % core->options.hash_interval == 0 || asked_for(s, s->applied)) {
        tell(s, s->applied, hash);
    }
}

void hash_snapshot(struct shard *s, uint64_t index, uint64_t hash)
{
#ifdef MUSTER_FAULT_SEND_UNCOMPARED_SNAPSHOT
    return;
#endif
    if (!comparing(s->core)) {
        return;
    }
    if (compared_at(s, index, hash) == NULL) {
        s->compared[1] = s->compared[0];
        s->compared[0] = (struct compared_snapshot){.index = index, .hash = hash};
    }
    if (s->recent.last < index) {
        remember(s, index, hash); /* the state did not come out of the log */
    }
    tell(s, index, hash);
}

void hash_ask(struct shard *s, uint64_t index, uint64_t hash)
{
    if (!comparing(s->core)) {
        return;
    }
    if (compared_at(s, index, hash) == NULL) {
        s->compared[1] = (struct compared_snapshot){.index = index, .hash = hash};
    }
    tell(s, index, hash);
}

bool hash_agreed(struct shard *s, uint64_t index, uint64_t hash)
{
    const struct compared_snapshot *c = compared_at(s, index, hash);
    return (c != NULL && c->agreed) || !comparing(s->core);
}

bool hash_disputed(const struct shard *s, uint64_t index, uint64_t hash)
{
    for (size_t i = 0; i < s->core->peer_count; i++) {
        const struct hash_slot *slot = report_of(s, i, index);
        if (slot != NULL && slot->hash != hash && s->core->peers[i].connected) {
            return true;
        }
    }
    return false;
}

bool hash_comparable(const struct shard *s, uint32_t without)
{
    uint32_t ids[NODES_MAX];
    size_t voters = shard_voters(s, ids), there = 0;
    for (size_t i = 0; i < voters; i++) {
        const struct peer *p = peer_const(s->core, ids[i]);
        there += p != NULL && ids[i] != without && (p->self || p->connected) ? 1 : 0;
    }
    return there > voters / 2;
}

/* At the newest entry at which another one had another state. */
bool hash_undecided(struct shard *s, uint32_t without)
{
    uint64_t index = s->doubt_told, own = 0;
    uint32_t ids[NODES_MAX];
    size_t voters = shard_voters(s, ids), agree = 0, differ = 0, left = 0;
    if (!s->in_doubt || !own_hash(s, index, &own)) {
        return false;
    }
    for (size_t i = 0; i < voters; i++) {
        const struct peer *p = peer_const(s->core, ids[i]);
        if (p == NULL || ids[i] == without) {
            continue;
        }
        const struct hash_slot *slot = report_of(s, (size_t)(p - s->core->peers), index);
        left++;
        agree += p->self || (slot != NULL && slot->hash == own) ? 1 : 0;
        differ += slot != NULL && slot->hash != own ? 1 : 0;
    }
    if (differ == 0 || agree > left / 2) {
        return false;
    }
    if (comparing(s->core)) {
        tell(s, s->applied, s->core->events.state_hash(s->core->events.ctx, s->id));
    }
    return true;
}

/* Whoever was away when these were told may come to their indexes only now, and would find nobody to compare itself to. */
void hash_connected(struct replica *core, uint32_t node)
{
    size_t pos = (size_t)(peer_by_id(core, node) - core->peers);
    for (uint32_t i = 0; i < core->shard_count; i++) {
        struct shard *s = &core->shards[i];
        s->at.answered[pos].index = 0; /* it may be a new process, which knows less than the last */
        for (unsigned k = 0; k < HASHES_KEPT; k++) {
            const struct hash_slot *slot = &s->hashes[(s->hash_next + k) % HASHES_KEPT]; /* the oldest first */
            if (slot->known) {
                report(s, node, slot);
            }
        }
    }
}

/* It was told a hash that this node has not told it, or is told it again: then the answer was lost. */
static void answer(struct shard *s, size_t pos, uint64_t index, bool again)
{
    struct replica *core = s->core;
    struct hash_answer *last = &s->at.answered[pos];
    struct hash_slot own = {.index = index, .known = true};
    if (index > s->applied || !own_hash(s, index, &own.hash) || (!again && slot_at(s->hashes, index) != NULL)) {
        return;
    }
    if (index > last->index || (index == last->index && core->now_us - last->at_us >= ANSWER_AGAIN_US)) {
        *last = (struct hash_answer){.index = index, .at_us = core->now_us};
        report(s, core->peers[pos].id, &own);
    }
}

void hash_reported(struct shard *s, size_t from_pos, uint64_t index, uint64_t hash)
{
    struct hash_slot *slots = s->at.reported[from_pos];
    unsigned at = 0;
    while (at < HASHES_KEPT && (!slots[at].known || slots[at].index != index)) {
        at++;
    }
    bool again = at < HASHES_KEPT;
    at = again ? at : s->at.reported_next[from_pos]++ % HASHES_KEPT;
    slots[at] = (struct hash_slot){.index = index, .hash = hash, .known = true};
    s->newest_reported = index > s->newest_reported ? index : s->newest_reported;
    if (comparing(s->core)) {
        answer(s, from_pos, index, again);
    }
    compare(s, index);
}
