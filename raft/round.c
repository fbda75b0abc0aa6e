/* Confirmation rounds: one probe per pair of nodes serves all shards and all requests of the turns before it left.
 *
 * A probe lists the shards this node leads, with its terms. Who answers says for which of them it knows a newer term, and does not count for those from then
 * on. When a majority has answered round N without naming a newer term, no other leader had been elected when N left: it would have needed the vote of one of
 * them. A newer term alone deposes nobody here: it may be that of a node which was removed while it stood for election, and which nobody follows.
 * Probes also go out at every heartbeat while anything is led, so that the moment of the last contact with a majority is always known. */
#include "state.h"

enum {
    CROWD = 20,         /* a round that carries more requests makes the next one wait longer, in proportion */
    CROWD_INTERVALS = 4 /* up to so many intervals */
};

static size_t list_led(struct replica *core, struct shard_term *list)
{
    size_t count = 0;
    for (uint32_t i = 0; i < core->shard_count; i++) {
        const struct shard *s = &core->shards[i];
        if (shard_leads(s)) {
            list[count++] = (struct shard_term){s->id, raft_current_term(&s->raft)};
        }
    }
    return count;
}

void round_office(struct shard *s)
{
    s->round_first = s->core->round_next;
    s->round_confirmed = 0;
    s->round_wanted = 0;
}

static bool restores(const struct replica *core)
{
    for (uint32_t i = 0; i < core->shard_count; i++) {
        if (core->shards[i].restoring != NULL) {
            return true;
        }
    }
    return false;
}

/* Whether it is one to hand a shard over to: it could serve it at once, and would for a while. */
static uint8_t health_flag(const struct replica *core)
{
    return node_healthy(core) && !core->ending && !restores(core) ? MESSAGE_HEALTHY : 0;
}

static bool counts(const struct shard *s, uint32_t node)
{
#ifdef MUSTER_FAULT_LEARNER_COUNTS
    return shard_member(s, node);
#elif defined(MUSTER_FAULT_REMOVED_STILL_VOTES)
    return shard_voter(s, node) || !shard_member(s, node);
#else
    return shard_voter(s, node);
#endif
}

/* Whether the peer at that position is in a term that is newer than this node's. */
static bool ahead(const struct shard *s, size_t pos)
{
    return s->at.named_term[pos] > raft_current_term(&s->raft);
}

/* The newest round (or stamp) that a majority of the shard's voters has answered, this node counting as answered. The voters are those of its newest
 * configuration: a leader elected elsewhere had a majority of it or of the one before or after, and any two of those have a node in common. */
static uint64_t majority_round(const struct shard *s, int64_t *ret_stamp_us)
{
    const struct replica *core = s->core;
    const struct raft_configuration *c = &s->raft.configuration;
    uint64_t rounds[NODES_MAX];
    int64_t stamps[NODES_MAX];
    size_t count = 0, voters = 0;
    for (unsigned i = 0; i < c->n; i++) {
        voters += c->servers[i].role == RAFT_VOTER ? 1 : 0;
    }
    for (size_t i = 0; i < core->peer_count; i++) {
        const struct peer *p = &core->peers[i];
        if (p->self || !counts(s, p->id) || ahead(s, i)) {
            continue;
        }
        size_t at = count++;
        while (at > 0 && rounds[at - 1] < p->acked_round) {
            rounds[at] = rounds[at - 1];
            stamps[at] = stamps[at - 1];
            at--;
        }
        rounds[at] = p->acked_round;
        stamps[at] = p->acked_stamp_us;
    }
#ifdef MUSTER_FAULT_QUORUM_OF_OLD_VOTERS
    voters = s->founding_voters;
#endif
    size_t others = voters / 2; /* needed besides this node */
    others += voters > 0 && !shard_voter(s, core->self) ? 1 : 0;
    if (others == 0) {
        *ret_stamp_us = core->now_us;
        return core->round_next - 1;
    }
    if (others > count) {
        return 0;
    }
    *ret_stamp_us = stamps[others - 1];
    return rounds[others - 1];
}

static void confirm(struct shard *s)
{
    struct replica *core = s->core;
    int64_t stamp_us = 0;
    if (!shard_leads(s) || s->round_wanted == 0) {
        return;
    }
    uint64_t round = majority_round(s, &stamp_us);
    if (round < s->round_first || round <= s->round_confirmed) {
        return;
    }
    s->round_confirmed = round;
    if (round >= s->round_wanted) {
        s->round_wanted = 0;
    }
    core->stats.rounds_confirmed++;
    core->events.confirmed(core->events.ctx, s->id, raft_current_term(&s->raft), round);
}

int64_t round_contact_us(const struct shard *s)
{
    int64_t stamp_us = 0;
    if (!shard_leads(s)) {
        return 0;
    }
    uint64_t round = majority_round(s, &stamp_us);
    return round >= s->round_first || shard_alone(s) ? stamp_us : 0;
}

static void send_round(struct replica *core)
{
    struct message m = {.type = MESSAGE_PROBE};
    m.probe.list = core->scratch_led;
    m.probe.count = (uint32_t)list_led(core, core->scratch_led);
    m.probe.round = core->round_next++;
    m.probe.stamp_us = core->now_us;
    m.probe.flags = health_flag(core);
    core->round_sent_us = core->now_us;
    core->round_carries = core->round_asked;
    core->round_asked = 0;
    if (m.probe.count == 0) {
        return;
    }
    core->stats.rounds_sent++;
    for (size_t i = 0; i < core->peer_count; i++) {
        const struct peer *p = &core->peers[i];
        if (!p->self && p->connected) {
            core_post(core, NULL, p->id, CORE_RAFT, &m);
        }
    }
}

/* The earliest moment of the next round. One that carries many requests is worth more of a wait: where so many come in an interval, each is confirmed
 * at a fraction of the cost, and under such a load the loops are where they wait longest. */
static int64_t next_round_us(const struct replica *core)
{
    int64_t interval_us = (int64_t)core->options.probe_interval_us;
    int64_t wait_us = interval_us * core->round_carries / CROWD;
    int64_t most_us = interval_us * CROWD_INTERVALS;
    wait_us = wait_us < most_us ? wait_us : most_us;
    return core->round_sent_us + (wait_us > interval_us ? wait_us : interval_us);
}

static bool leads_any(const struct replica *core)
{
    for (uint32_t i = 0; i < core->shard_count; i++) {
        if (shard_leads(&core->shards[i])) {
            return true;
        }
    }
    return false;
}

void round_flush(struct replica *core)
{
    bool asked = core->round_asked > 0 && core->now_us >= next_round_us(core);
    bool beat = core->now_us - core->round_sent_us >= (int64_t)core->options.heartbeat_ms * 1000 && leads_any(core);
#if defined(MUSTER_FAULT_READ_WITHOUT_ROUND) || defined(MUSTER_FAULT_READ_BY_LEASE)
    for (uint32_t i = 0; i < core->shard_count; i++) {
        struct shard *s = &core->shards[i];
        bool sure = s->round_wanted != 0;
#ifdef MUSTER_FAULT_READ_BY_LEASE /* whoever has just heard of a majority leads until they lose patience, by its own clock */
        sure = sure && core->now_us - round_contact_us(s) < (int64_t)core->options.election_timeout_ms * 1000;
#endif
        if (sure) {
            core->events.confirmed(core->events.ctx, s->id, raft_current_term(&s->raft), s->round_wanted);
            s->round_wanted = 0;
        }
    }
#endif
    if (!asked && !beat) {
        return;
    }
    send_round(core);
    for (uint32_t i = 0; i < core->shard_count; i++) {
        if (shard_alone(&core->shards[i])) {
            confirm(&core->shards[i]); /* there is nobody to wait for */
        }
    }
}

int64_t round_deadline(const struct replica *core)
{
    return core->round_asked > 0 ? next_round_us(core) : INT64_MAX;
}

bool peer_recent(const struct replica *core, const struct peer *p)
{
    return p->connected && core->now_us - p->acked_stamp_us <= (int64_t)core->options.heartbeat_ms * 3000;
}

void round_probe(struct replica *core, struct peer *p, const struct message_probe *probe)
{
    struct message m = {.type = MESSAGE_PROBE_ACK};
    m.probe.round = probe->round;
    m.probe.stamp_us = probe->stamp_us;
    m.probe.flags = health_flag(core);
    m.probe.list = core->scratch_led;
    p->healthy = (probe->flags & MESSAGE_HEALTHY) != 0;
#ifndef MUSTER_FAULT_STALE_TERM_PROBE
    for (uint32_t i = 0; i < probe->count; i++) {
        uint32_t shard = probe->list[i].shard;
        if (shard >= core->shard_count) {
            continue;
        }
        uint64_t term = raft_current_term(&core->shards[shard].raft);
        if (term > probe->list[i].term && m.probe.count < MESSAGE_SHARDS_MAX) {
            m.probe.list[m.probe.count++] = (struct shard_term){shard, term};
        }
    }
#endif
    core_post(core, NULL, p->id, CORE_RAFT, &m);
}

void round_ack(struct replica *core, struct peer *p, const struct message_probe *ack)
{
    if (ack->round >= core->round_next) {
        core->stats.messages_refused++;
        return;
    }
    p->healthy = (ack->flags & MESSAGE_HEALTHY) != 0;
    if (core->host.round_trip != NULL && ack->stamp_us <= core->now_us) {
        core->host.round_trip(core->host.ctx, p->id, core->now_us - ack->stamp_us);
    }
    for (uint32_t i = 0; i < ack->count; i++) {
        struct shard *s = ack->list[i].shard < core->shard_count ? &core->shards[ack->list[i].shard] : NULL;
        uint64_t *named = s != NULL ? &s->at.named_term[p - core->peers] : NULL;
        if (s != NULL && ack->list[i].term > *named) {
            *named = ack->list[i].term;
        }
    }
#ifdef MUSTER_FAULT_DUPLICATE_ACK_COUNTS
    for (size_t i = 0; i < core->peer_count && ack->round == p->acked_round; i++) { /* as if it were one more node's */
        if (!core->peers[i].self && core->peers[i].acked_round < ack->round) {
            p = &core->peers[i];
            break;
        }
    }
#endif
    if (ack->round <= p->acked_round) {
        return;
    }
    p->acked_round = ack->round;
    int64_t stamp_us = ack->stamp_us < core->now_us ? ack->stamp_us : core->now_us;
    p->acked_stamp_us = stamp_us > p->acked_stamp_us ? stamp_us : p->acked_stamp_us;
    for (uint32_t i = 0; i < core->shard_count; i++) {
        confirm(&core->shards[i]);
    }
    balance_answered(core);
}
