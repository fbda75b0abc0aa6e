/* How much of the log stays in memory.
 *
 * What a node that is behind may still be sent comes from memory. So it is kept from what some member lacks on, up to log_retain_bytes in all, and a short tail of it
 * even where nobody lacks anything: a connection that breaks must not cost a snapshot. Everything else is on disk only, and read again when this node starts.
 *
 * The leader knows what each member has stored and says so with its entries; the others keep what they would need in its place. That every member has an entry stays
 * true: it is applied, too, before it goes. Only a member that comes new to the shard lacks it, or one for which too much would have to be kept: they are sent a
 * snapshot, one taken for them if the newest does not reach far enough. The library is not told what goes: it knows the terms of all entries since the snapshot. */
#include "state.h"

/* Every member, this node included, has stored the entries up to this one. */
static uint64_t stored_by_all(const struct shard *s)
{
    const struct raft_configuration *c = &s->raft.configuration;
    uint64_t least = s->raft.last_stored;
    for (unsigned i = 0; i < c->n; i++) {
        raft_index match = 0;
        if (c->servers[i].id == s->core->self) {
            continue;
        }
        (void)raft_match_index(&s->raft, c->servers[i].id, &match);
        least = match < least ? match : least;
    }
    return least;
}

void memory_everywhere(struct shard *s, uint64_t index)
{
    s->everywhere = index > s->everywhere ? index : s->everywhere;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The first entry that is not on this node's disk for certain. */
static uint64_t unwritten_from(const struct shard *s)
{
    uint64_t index = s->raft.last_stored + 1;
    if (s->queued_from != 0) {
        index = least(index, s->queued_from);
    }
    if (s->core->writing && s->writing_from != 0) {
        index = least(index, s->writing_from);
    }
    return index;
}

/* The first entry that is wanted in memory: what has not been applied or written is, and the last that was applied. */
static uint64_t wanted_from(const struct shard *s)
{
    const struct replica *core = s->core;
    uint64_t bytes = core_log_bytes(core), retain = core->options.log_retain_bytes;
    uint64_t done = s->everywhere;
    if (bytes > retain && s->snapshot_index > done) {
        uint64_t pinned = install_pinned(s); /* else that node would need the next snapshot as soon as it has this one */
        done = bytes < 2 * retain ? least(s->snapshot_index, pinned) : s->snapshot_index;
        done = done > s->everywhere ? done : s->everywhere;
    }
    return least(least(done + 1, s->applied), unwritten_from(s));
}

uint64_t memory_tail_bytes(const struct replica *core)
{
    return least(core->options.log_tail_bytes, core->options.log_retain_bytes / 4) / core->shard_count;
}

void memory_trim(struct shard *s)
{
    if (s->started && !s->installing) {
        log_shed(&s->log, wanted_from(s), memory_tail_bytes(s->core), &s->core->limbo);
    }
}

void memory_tick(struct replica *core)
{
    for (uint32_t i = 0; i < core->shard_count; i++) {
        struct shard *s = &core->shards[i];
        if (s->started && shard_leads(s)) {
            memory_everywhere(s, stored_by_all(s));
        }
        memory_trim(s);
    }
}

uint64_t shard_replay_bytes(const struct shard *s)
{
    return s->applied_bytes - s->snapshot_bytes;
}

uint64_t core_replay_bytes(const struct replica *core)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < core->shard_count; i++) {
        sum += shard_replay_bytes(&core->shards[i]);
    }
    return sum;
}
