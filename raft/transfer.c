/* Leadership by choice: handing a shard over, and keeping the leaders spread.
 *
 * The library sends TIMEOUT_NOW once, at the target's next answer, even if that is behind, and a target with writes in flight ignores it. So the
 * host holds submissions until the target has the last entry on disk, and only then lets the library act. All nodes are told before, so that
 * voters do not park the target's request. */
#include "state.h"

enum {
    BALANCE_EVERY_US = 500000,
    TRANSFER_PAUSE_US = 1000000, /* after an attempt, before the next of its shard */
    TRANSFER_FAILED_PAUSE_US = 10000000,
    DOUBLINGS_MAX = 6 /* of how long a shard stays before it is sent home: by default five minutes */
};

static bool peer_fit(const struct shard *s, const struct peer *p)
{
    return !p->self && !p->dead && p->healthy && shard_voter(s, p->id) && peer_recent(s->core, p) && !lost_entries(s, p);
}

static uint64_t match_of(const struct shard *s, uint32_t node)
{
    raft_index match = 0;
    if (raft_match_index(&s->raft, node, &match) != 0) {
        return 0;
    }
    return match;
}

uint32_t transfer_choose(struct shard *s)
{
    const struct replica *core = s->core;
    uint32_t best = 0;
    uint64_t best_match = 0;
    uint32_t voters[NODES_MAX];
    size_t count = shard_voters(s, voters);
    for (size_t i = 0; i < count; i++) {
        const struct peer *p = peer_const(core, voters[(s->id + i) % count]);
        uint64_t match = p != NULL ? match_of(s, p->id) : 0;
        if (p != NULL && peer_fit(s, p) && (best == 0 || match > best_match)) {
            best = p->id;
            best_match = match;
        }
    }
    return best;
}

static void announce(struct shard *s)
{
    struct replica *core = s->core;
    struct message m = {.type = MESSAGE_HANDOVER, .shard = s->id};
    m.handover.term = raft_current_term(&s->raft);
    m.handover.target = s->transfer.target;
    for (size_t i = 0; i < core->peer_count; i++) {
        if (!core->peers[i].self && core->peers[i].connected) {
            core_post(core, s, core->peers[i].id, CORE_RAFT, &m);
        }
    }
}

int transfer_begin(struct shard *s, uint32_t target)
{
    struct replica *core = s->core;
    if (!shard_leads(s)) {
        return MUSTER_E_NOT_LEADER;
    }
    if (s->transfer.active || !shard_serves(s)) {
        return MUSTER_E_BUSY;
    }
    if (target == 0) {
        target = transfer_choose(s);
    }
    const struct peer *p = target != 0 ? peer_by_id(core, target) : NULL;
    if (p == NULL || p->self || !p->connected || !shard_voter(s, target) || lost_entries(s, p)) {
        return MUSTER_E_NOT_FOUND;
    }
    s->transfer = (struct transfer){.active = true, .target = target, .since_us = core->now_us};
    core->stats.transfers_begun++;
    announce(s);
    shard_tell(s);
    transfer_poll(s);
    return 0;
}

static void transfer_end(struct shard *s, bool done)
{
    struct replica *core = s->core;
    s->transfer = (struct transfer){0};
    s->flee_after_us = core->now_us + TRANSFER_PAUSE_US;
    s->home_after_us = core->now_us + TRANSFER_FAILED_PAUSE_US;
    if (done) {
        core->stats.transfers_done++;
    } else {
        core->stats.transfers_aborted++;
        shard_tell(s);
    }
}

void transfer_lost(struct shard *s)
{
    if (s->transfer.active) {
        transfer_end(s, true);
    }
}

void transfer_poll(struct shard *s)
{
    struct replica *core = s->core;
    if (!s->transfer.active || !shard_leads(s)) {
        return;
    }
    if (s->transfer.stepped) {
        if (raft_transferee(&s->raft) == 0) {
            transfer_end(s, false); /* the library gave up after its election timeout */
        }
        return;
    }
    bool ready = match_of(s, s->transfer.target) == s->log.last;
#ifdef MUSTER_FAULT_TRANSFER_WITHOUT_HOLD
    ready = true;
#endif
    if (ready) {
        struct raft_event event = {.type = RAFT_TRANSFER};
        event.transfer.server_id = s->transfer.target;
        s->transfer.stepped = true;
        if (shard_step(s, &event) != 0) {
            transfer_end(s, false);
        }
        return;
    }
    if (core->now_us - s->transfer.since_us > (int64_t)core->options.election_timeout_ms * 1000) {
        transfer_end(s, false);
    }
}

/* ---- balance ------------------------------------------------------------------------------------------------------------- */

/* The shards' homes are dealt out over the voters there are. */
static uint32_t home_of(const struct shard *s)
{
    uint32_t voters[NODES_MAX];
    size_t count = shard_voters(s, voters);
    return count > 0 ? voters[s->id % count] : 0;
}

/* This node has taken office. If it had sent the shard home only a moment ago it did not stay there: that node may not see another one that all others see. It is
 * given twice as long each time, while its connection holds. */
void balance_office(struct shard *s)
{
    struct replica *core = s->core;
    int64_t calm_us = (int64_t)core->options.balance_after_ms * 1000;
    const struct peer *p = peer_const(core, home_of(s));
    bool came_back = s->sent_home_us != 0 && core->now_us - s->sent_home_us < calm_us && p != NULL && p->connected;
    s->home_refused = came_back ? s->home_refused + 1 : 0;
    unsigned doublings = s->home_refused < DOUBLINGS_MAX ? s->home_refused : DOUBLINGS_MAX;
    s->sent_home_us = 0;
    s->home_after_us = core->now_us + (calm_us << doublings);
}

static bool any_transfer(const struct replica *core)
{
    for (uint32_t i = 0; i < core->shard_count; i++) {
        if (core->shards[i].transfer.active) {
            return true;
        }
    }
    return false;
}

/* Whether a majority can store what a new leader has to store first. Without it the shard would serve nothing, not even reads. */
static bool majority_writes(const struct shard *s)
{
    const struct replica *core = s->core;
    uint32_t ids[NODES_MAX];
    size_t voters = shard_voters(s, ids);
    size_t able = 0;
    for (size_t i = 0; i < voters; i++) {
        const struct peer *p = peer_const(core, ids[i]);
        able += p != NULL && (p->self ? !core->full : peer_fit(s, p)) ? 1 : 0;
    }
    return able > voters / 2;
}

bool transfer_may_flee(const struct shard *s)
{
    return shard_serves(s) && !s->transfer.active && s->core->now_us >= s->flee_after_us;
}

void transfer_flee(struct shard *s, const char *reason)
{
    struct replica *core = s->core;
    uint32_t target = transfer_choose(s);
    if (target != 0) {
        log_event(LOG_WARN, "handing_over", "node=%u shard=%u target=%u reason=%s", core->self, s->id, target, reason);
        transfer_begin(s, target);
        s->flee_after_us = core->now_us + TRANSFER_PAUSE_US;
    }
}

/* This node's disk is full or slow: whoever can write should lead. If that helps nobody, keep leading: reads and heartbeats go on. */
static void flee(struct replica *core)
{
    for (uint32_t i = 0; i < core->shard_count; i++) {
        struct shard *s = &core->shards[i];
        if (transfer_may_flee(s) && majority_writes(s)) {
            transfer_flee(s, core->full ? "disk_full" : "disk_slow");
        }
    }
}

static bool may_go_home(const struct replica *core, const struct shard *s)
{
    uint32_t home = home_of(s);
    const struct peer *p = peer_const(core, home);
    return home != core->self && p != NULL && shard_serves(s) && core->now_us >= s->home_after_us && peer_fit(s, p) &&
           core->now_us - core->calm_since_us >= (int64_t)core->options.balance_after_ms * 1000 &&
           match_of(s, home) + MESSAGE_ENTRIES_MAX / 4 >= s->log.last;
}

/* One shard at a time, after all nodes have been quiet and this one has led the shard for a while, to a node that answers and has everything.
 * First all are asked whether they are still there: a node that has just frozen or been cut off looks as well as ever for some heartbeats, and a
 * leader that hands over to it serves nothing until the attempt is given up. Nor should clients look for a coordinator while another is silent. */
static void go_home(struct replica *core)
{
    core->homing.asked = false;
    if (core->options.balance_after_ms == UINT32_MAX || any_transfer(core)) {
        return;
    }
    for (uint32_t i = 0; i < core->shard_count; i++) {
        if (may_go_home(core, &core->shards[i])) {
            core->homing = (struct homing){.asked = true, .shard = i, .round = core->round_next};
            core->round_asked++;
            return;
        }
    }
}

void balance_answered(struct replica *core)
{
    if (!core->homing.asked) {
        return;
    }
    for (size_t i = 0; i < core->peer_count; i++) {
        const struct peer *p = &core->peers[i];
        if (!p->self && p->connected && p->acked_round < core->homing.round) {
            return;
        }
    }
    core->homing.asked = false;
    struct shard *s = &core->shards[core->homing.shard];
    uint32_t home = home_of(s);
    if (!any_transfer(core) && may_go_home(core, s) && transfer_begin(s, home) == 0) {
        s->sent_home_us = core->now_us;
        log_event(LOG_INFO, "leadership_moves_home", "node=%u shard=%u target=%u", core->self, s->id, home);
    }
}

void balance_tick(struct replica *core)
{
    if (core->now_us < core->balance_us) {
        return;
    }
    core->balance_us = core->now_us + BALANCE_EVERY_US;
    lost_tick(core);
    if (!node_healthy(core)) {
        flee(core);
    } else {
        go_home(core);
    }
}
