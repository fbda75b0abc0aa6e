/* Members of a shard: who votes, and how that changes.
 *
 * The configuration in force is the newest in the log, committed or not (Raft, 4.1). It changes by one member at a time: the next change begins when the
 * last one is committed, so that majorities of two configurations that follow each other always overlap. A leader begins none before an entry
 * of its own term is committed. A new node learns first, and votes when it has caught up: when a round of entries, what the leader had when the round began,
 * reached it in less than an election timeout (Raft, 4.2.1). A leader does not remove itself: it hands over, and the next one does it. */
#include "state.h"

#include <stdlib.h>
#include <string.h>

/* ---- small questions ------------------------------------------------------------------------------------------------------ */

static const struct raft_server *server_of(const struct raft_configuration *c, uint32_t node)
{
    for (unsigned i = 0; i < c->n; i++) {
        if (c->servers[i].id == node) {
            return &c->servers[i];
        }
    }
    return NULL;
}

bool shard_member(const struct shard *s, uint32_t node)
{
    return server_of(&s->raft.configuration, node) != NULL;
}

bool shard_voter(const struct shard *s, uint32_t node)
{
    const struct raft_server *server = server_of(&s->raft.configuration, node);
    return server != NULL && server->role == RAFT_VOTER;
}

size_t shard_voters(const struct shard *s, uint32_t ret[NODES_MAX])
{
    const struct raft_configuration *c = &s->raft.configuration;
    size_t count = 0;
    for (unsigned i = 0; i < c->n && count < NODES_MAX; i++) {
        if (c->servers[i].role != RAFT_VOTER) {
            continue;
        }
        size_t at = count++;
        while (at > 0 && ret[at - 1] > c->servers[i].id) {
            ret[at] = ret[at - 1];
            at--;
        }
        ret[at] = (uint32_t)c->servers[i].id;
    }
    return count;
}

static bool sole_voter(const struct raft_configuration *c, uint32_t node)
{
    bool found = false;
    for (unsigned i = 0; i < c->n; i++) {
        if (c->servers[i].role == RAFT_VOTER) {
            if (c->servers[i].id != node) {
                return false;
            }
            found = true;
        }
    }
    return found;
}

bool shard_alone(const struct shard *s)
{
    return sole_voter(&s->raft.configuration, s->core->self);
}

static bool change_pending(const struct shard *s)
{
    return s->raft.configuration_uncommitted_index != 0;
}

size_t replica_members(const struct replica *core, uint32_t shard, struct replica_member *ret, size_t capacity, bool *ret_committed)
{
    MUSTER_CHECK(shard < core->shard_count);
    const struct shard *s = &core->shards[shard];
    const struct raft_configuration *c = &s->raft.configuration;
    for (unsigned i = 0; i < c->n && i < capacity; i++) {
        ret[i].node = (uint32_t)c->servers[i].id;
        ret[i].vote = c->servers[i].role == RAFT_VOTER ? REPLICA_VOTER : REPLICA_LEARNER;
    }
    *ret_committed = !change_pending(s);
    return c->n;
}

bool replica_progress(const struct replica *core, uint32_t shard, uint32_t node, struct replica_progress *ret)
{
    MUSTER_CHECK(shard < core->shard_count);
    const struct shard *s = &core->shards[shard];
    const struct peer *p = peer_const(core, node);
    raft_index match = 0;
    if (p == NULL || raft_match_index(&s->raft, node, &match) != 0) {
        return false;
    }
    *ret = (struct replica_progress){.match_index = match,
                                     .heard_us = p->self ? core->now_us : p->acked_stamp_us,
                                     .snapshot_under_way = install_sending(s, node)};
    return true;
}

/* ---- catching up ------------------------------------------------------------------------------------------------------------ */

static void follow_learner(struct shard *s, struct catch_up *c, uint64_t match)
{
    const struct replica *core = s->core;
    int64_t patience_us = (int64_t)core->options.election_timeout_ms * 1000;
    uint64_t term = raft_current_term(&s->raft);
    if (c->term != term) {
        *c = (struct catch_up){.term = term, .target = s->log.last, .since_us = core->now_us};
    }
    bool quick = core->now_us - c->since_us < patience_us;
    if (match >= c->target) {
        c->done = quick;
        c->target = s->log.last;
        c->since_us = core->now_us;
    } else if (!quick) {
        c->done = false;
    }
}

void members_tick(struct shard *s)
{
    struct replica *core = s->core;
    for (size_t i = 0; i < core->peer_count && shard_leads(s); i++) {
        raft_index match = 0;
        uint32_t node = core->peers[i].id;
        if (shard_voter(s, node) || raft_match_index(&s->raft, node, &match) != 0) {
            s->at.catch_up[i].term = 0; /* it begins anew as a learner */
        } else {
            follow_learner(s, &s->at.catch_up[i], match);
        }
    }
}

static bool caught_up(const struct shard *s, const struct peer *p)
{
    const struct catch_up *c = &s->at.catch_up[p - s->core->peers];
    return c->term == raft_current_term(&s->raft) && c->done && peer_recent(s->core, p);
}

/* ---- changing ----------------------------------------------------------------------------------------------------------------- */

static int config_copy(const struct raft_configuration *from, uint32_t without, uint32_t promoted, struct raft_configuration *ret)
{
    int rc = 0;
    raft_configuration_init(ret);
    for (unsigned i = 0; i < from->n && rc == 0; i++) {
        const struct raft_server *server = &from->servers[i];
        if (server->id != without) {
            rc = raft_configuration_add(ret, server->id, server->address, server->id == promoted ? RAFT_VOTER : server->role);
        }
    }
    return rc;
}

/* The voters that would be: a majority of them must answer now, this node among them. */
static bool majority_answers(const struct shard *s, const struct raft_configuration *c)
{
    const struct replica *core = s->core;
    unsigned voters = 0, answering = 0;
    for (unsigned i = 0; i < c->n; i++) {
        if (c->servers[i].role != RAFT_VOTER) {
            continue;
        }
        const struct peer *p = peer_const(core, (uint32_t)c->servers[i].id);
        voters++;
        answering += p != NULL && (p->self || peer_recent(core, p)) ? 1 : 0;
    }
    return answering > voters / 2;
}

static int submit(struct shard *s, const struct raft_configuration *c)
{
    struct raft_buffer encoded;
#ifdef MUSTER_FAULT_TWO_CHANGES_AT_ONCE
    s->raft.configuration_uncommitted_index = 0;
#endif
    if (raft_configuration_encode(c, &encoded) != 0) {
        return MUSTER_E_INVALID;
    }
    int rc = shard_submit(s, RAFT_CHANGE, (struct bytes){encoded.base, (int32_t)encoded.len});
    raft_free(encoded.base);
    return rc == 0 ? 0 : rc == RAFT_NOTLEADER ? MUSTER_E_NOT_LEADER : MUSTER_E_BUSY;
}

static int add_learner(struct shard *s, uint32_t node)
{
    const struct peer *p = peer_const(s->core, node);
    struct raft_configuration c;
    if (shard_member(s, node)) {
        return MUSTER_E_EXISTS;
    }
    if (p == NULL || s->raft.configuration.n >= NODES_MAX) {
        return MUSTER_E_NOT_FOUND;
    }
    int rc = config_copy(&s->raft.configuration, 0, 0, &c) != 0 ? MUSTER_E_INVALID : 0;
    if (rc == 0 && raft_configuration_add(&c, node, p->address, RAFT_STANDBY) != 0) {
        rc = MUSTER_E_EXISTS;
    }
    if (rc == 0) {
        rc = submit(s, &c);
    }
    raft_configuration_close(&c);
    return rc;
}

static int promote(struct shard *s, uint32_t node)
{
    const struct peer *p = peer_const(s->core, node);
    struct raft_configuration c;
    if (p == NULL || !shard_member(s, node)) {
        return MUSTER_E_NOT_FOUND;
    }
    if (shard_voter(s, node)) {
        return MUSTER_E_EXISTS;
    }
    int rc = config_copy(&s->raft.configuration, 0, node, &c) != 0 ? MUSTER_E_INVALID : 0;
    if (rc == 0 && !majority_answers(s, &c)) {
        rc = MUSTER_E_REFUSED;
    }
    if (rc == 0 && !caught_up(s, p)) {
        rc = MUSTER_E_BUSY;
    }
    if (rc == 0) {
        rc = submit(s, &c);
    }
    raft_configuration_close(&c);
    return rc;
}

static int remove_member(struct shard *s, uint32_t node)
{
    struct raft_configuration c;
    uint32_t voters[NODES_MAX];
    if (!shard_member(s, node)) {
        return MUSTER_E_NOT_FOUND;
    }
    if (shard_voter(s, node) && shard_voters(s, voters) == 1) {
        return MUSTER_E_REFUSED;
    }
    int rc = config_copy(&s->raft.configuration, node, 0, &c) != 0 ? MUSTER_E_INVALID : 0;
    if (rc == 0 && node == s->core->self) {
        uint32_t target = transfer_choose(s);
        rc = target == 0 || transfer_begin(s, target) != 0 ? MUSTER_E_REFUSED : MUSTER_E_BUSY;
    } else if (rc == 0 && !majority_answers(s, &c)) {
        rc = MUSTER_E_REFUSED;
    } else if (rc == 0 && shard_voter(s, node) && hash_undecided(s, node)) {
        rc = MUSTER_E_DIVERGED;
    }
    if (rc == 0) {
        raft_index match = 0;
        (void)raft_match_index(&s->raft, node, &match);
        s->farewell = (struct farewell){.node = node, .match = match, .index = s->log.last + 1};
        rc = submit(s, &c);
    }
    raft_configuration_close(&c);
    return rc;
}

int replica_change_member(struct replica *core, uint32_t shard, enum replica_change change, uint32_t node)
{
    if (shard >= core->shard_count || node == 0) {
        return MUSTER_E_INVALID;
    }
    struct shard *s = &core->shards[shard];
    if (!shard_leads(s)) {
        return MUSTER_E_NOT_LEADER;
    }
    bool pending = change_pending(s);
#ifdef MUSTER_FAULT_TWO_CHANGES_AT_ONCE
    pending = false;
#endif
    if (!shard_serves(s) || pending || s->transfer.active || core->full || core->broken) {
        return MUSTER_E_BUSY;
    }
    switch (change) {
    case REPLICA_ADD_LEARNER:
        return add_learner(s, node);
    case REPLICA_PROMOTE:
        return promote(s, node);
    case REPLICA_REMOVE:
        return remove_member(s, node);
    default:
        return MUSTER_E_INVALID;
    }
}

/* ---- what follows from one ------------------------------------------------------------------------------------------------------- */

/* From its configuration on nothing is sent to a removed node. So that it hears of it all the same, and need not guess, it is sent once what it lacks up to
 * there. If that is lost it finds out when nobody lets it in any more. */
static void say_farewell(struct shard *s)
{
    const struct farewell f = s->farewell;
    const struct peer *p = peer_const(s->core, f.node);
    const struct entry *before = log_get(&s->log, f.match);
    s->farewell.node = 0;
    uint64_t before_term = before != NULL ? before->term : f.match == s->snapshot_index ? s->snapshot_term : 0;
    if (!shard_leads(s) || p == NULL || !p->connected || f.match >= f.index || before_term == 0 || f.match + 1 < s->log.first ||
        f.index - f.match > MESSAGE_ENTRIES_MAX) {
        return;
    }
    const struct raft_append_entries args = {.term = raft_current_term(&s->raft),
                                             .prev_log_index = f.match,
                                             .prev_log_term = before_term,
                                             .leader_commit = raft_commit_index(&s->raft),
                                             .n_entries = (unsigned)(f.index - f.match)};
    shard_send_append(s, p->id, &args);
}

static void keep_config(struct shard *s, uint64_t index, struct bytes config)
{
#ifdef MUSTER_FAULT_SNAPSHOT_OLD_CONFIG
    if (s->applied_config.len > 0) {
        return;
    }
#endif
    buf_clear(&s->applied_config);
    MUSTER_CHECK(buf_put(&s->applied_config, config.ptr, (size_t)config.len) == 0);
    s->applied_config_index = index;
}

void members_applied(struct shard *s, uint64_t index, struct bytes config)
{
    keep_config(s, index, config);
    if (s->farewell.node != 0 && s->farewell.index <= index) {
        say_farewell(s);
    }
    if (s->core->events.members != NULL) {
        s->core->events.members(s->core->events.ctx, s->id);
    }
}

/* 0.22.1 takes a configuration for committed only when it is told so while no newer one is in the log; a later roll-back would end one too early.
 * But where one follows another the first is committed, else the leader would not have begun the second. */
void members_before_change(struct shard *s, uint64_t index)
{
    uint64_t pending = s->raft.configuration_uncommitted_index;
    const struct entry *e = pending != 0 && pending < index ? log_get(&s->log, pending) : NULL;
    if (e != NULL) {
        shard_configuration(s, pending, (struct bytes){e->data, (int32_t)e->len});
    }
}

/* ---- elections of a shard's only voter -------------------------------------------------------------------------------------------- */

/* 0.22.1 makes the only voter leader in the term that is, without a vote. That term may have had a leader: another node, or this one in another life, of
 * which a learner still has entries that this node lost. So it votes for itself in the next term first. */
void members_stand_alone(struct shard *s)
{
#ifdef MUSTER_FAULT_ALONE_IN_OLD_TERM
    return;
#endif
    struct raft *r = &s->raft;
    const struct entry *last = log_get(&s->log, s->log.last);
    if (r->state != RAFT_FOLLOWER || r->last_stored < s->log.last || s->installing) {
        return;
    }
    struct raft_message m = {.type = RAFT_REQUEST_VOTE, .server_id = s->core->self, .server_address = r->address};
    m.request_vote.version = 2;
    m.request_vote.term = raft_current_term(r) + 1;
    m.request_vote.candidate_id = s->core->self;
    m.request_vote.last_log_index = s->log.last;
    m.request_vote.last_log_term = last != NULL ? last->term : s->snapshot_term;
    m.request_vote.disrupt_leader = true;
    struct raft_event event = {.type = RAFT_RECEIVE};
    event.receive.message = &m;
    s->mute = true;
    shard_step(s, &event);
    s->mute = false;
    r->follower_state.randomized_election_timeout = 0;
}

bool members_found_alone(const struct shard *s)
{
#ifdef MUSTER_FAULT_ALONE_IN_OLD_TERM
    return false;
#endif
    struct bytes config = {s->config.ptr, (int32_t)s->config.len};
    for (uint64_t i = s->log.last; i >= s->log.first && i > 0; i--) {
        const struct entry *e = log_get(&s->log, i);
        if (e->type == RAFT_CHANGE) {
            config = (struct bytes){e->data, (int32_t)e->len};
            break;
        }
    }
    struct raft_configuration c;
    if (config.len <= 0 || config_decode(config, &c) != 0) {
        return false;
    }
    bool alone = sole_voter(&c, s->core->self);
    raft_configuration_close(&c);
    return alone;
}
