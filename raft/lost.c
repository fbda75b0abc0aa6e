/* A follower that has lost what it acknowledged: its disk said that it had synced, and came back without it.
 *
 * Raft has no word for that. The leader takes for known what a follower acknowledged in its term, so the library would send this one nothing but heartbeats until the term ends,
 * and would count it among those that have everything. Its term ends, then: the shard is handed over to a node that has all. The next leader begins by asking what each has.
 * Where there is no such node the leader goes on with those that follow; an election could lose what only it has. */
#include "state.h"

static struct lost_entries *of(struct shard *s, const struct peer *p)
{
    struct lost_entries *l = &s->at.lost[p - s->core->peers];
    uint64_t term = raft_current_term(&s->raft);
    if (l->term != term) {
        *l = (struct lost_entries){.term = term};
    }
    return l;
}

/* The least that it can say it has, whatever process of it answers: what it acknowledged, also where that came late, after a connection that its next process made. */
static uint64_t acknowledged(const struct shard *s, const struct peer *p)
{
    raft_index match = 0;
    return raft_match_index(&s->raft, p->id, &match) == 0 ? match : 0;
}

/* Once may be an answer from before it acknowledged more, which is late. */
void lost_answered(struct shard *s, struct peer *p, bool rejects, uint64_t last_index)
{
    struct replica *core = s->core;
    struct lost_entries *l = of(s, p);
    uint64_t kept = acknowledged(s, p);
#ifdef MUSTER_FAULT_LOST_ENTRIES_IGNORED
    return;
#endif
    if (last_index >= kept) {
        l->since_us = 0;
        return;
    }
    if (!rejects || l->found) {
        return;
    }
    l->since_us = l->since_us == 0 ? core->now_us : l->since_us;
    if (core->now_us - l->since_us < (int64_t)core->options.heartbeat_ms * 2000) {
        return;
    }
    l->found = true;
    core->stats.entries_lost++;
    log_event(LOG_ERROR, "peer_lost_entries",
              "node=%u shard=%u peer=%u acknowledged=%llu has=%llu "
              "hint=\"its disk does not keep what it says it has synced: replace it (muster cluster replace %u)\"",
              core->self, s->id, p->id, (unsigned long long)kept, (unsigned long long)last_index, p->id);
}

bool lost_entries(const struct shard *s, const struct peer *p)
{
    const struct lost_entries *l = &s->at.lost[p - s->core->peers];
    return l->found && l->term == raft_current_term(&s->raft);
}

static bool anybody_lost(const struct shard *s)
{
    const struct replica *core = s->core;
    for (size_t i = 0; i < core->peer_count; i++) {
        if (!core->peers[i].self && lost_entries(s, &core->peers[i])) {
            return true;
        }
    }
    return false;
}

/* As often as leaders look for better homes. */
void lost_tick(struct replica *core)
{
    for (uint32_t i = 0; i < core->shard_count; i++) {
        struct shard *s = &core->shards[i];
        if (transfer_may_flee(s) && anybody_lost(s)) {
            transfer_flee(s, "peer_lost_entries");
        }
    }
}
