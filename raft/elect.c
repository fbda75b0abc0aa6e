/* Elections: who stands when.
 *
 * A connection that ended and a port that refuses are evidence that a leader is dead. Then nobody waits for a timeout: the first follower in
 * rank tells its library TIMEOUT_NOW in the leader's name, the next one a little later. Everything here only decides when a node stands and
 * when it looks at a request; who may win is the library's business, so a false alarm costs an election and never safety.
 *
 * Rank: the voters in order of id, turned so that the shard's preferred leader comes first, without the leader and without those known dead. */
#include "state.h"

enum {
    STAGGER_US = 30000,     /* between ranks, on evidence */
    VOTED_WAIT_US = 120000, /* another one stands already: give it time */
    RETRY_US = 5000,        /* own entries still on their way to the disk */
    DISRUPTING_TRIES = 2,   /* then back to asking politely, which costs no terms */
    GREETING_MS = 10,       /* a node that has just been reached dials back before it can answer */
    HOME_MS = 100           /* the node that a shard prefers may be starting as well, a little later */
};

static unsigned rank_in(const struct shard *s, uint32_t leader, unsigned *ret_count)
{
    const struct replica *core = s->core;
    unsigned rank = 0, count = 0;
    bool passed = false;
    uint32_t voters[NODES_MAX];
    size_t voter_count = shard_voters(s, voters);
    for (size_t i = 0; i < voter_count; i++) {
        uint32_t id = voters[(s->id + i) % voter_count];
        const struct peer *p = peer_const(core, id);
        if (id == core->self) {
            passed = true;
            count++;
            continue;
        }
        if (id == leader || p == NULL || p->dead) {
            continue;
        }
        rank += passed ? 0 : 1;
        count++;
    }
    *ret_count = count;
    return rank;
}

static uint32_t known_leader(const struct shard *s)
{
    return s->raft.state == RAFT_FOLLOWER ? (uint32_t)s->raft.follower_state.current_leader.id : 0;
}

/* Candidates retry soon and in rank, so that a split vote ends with the next attempt; slower after each failure, for slow disks and networks. */
static unsigned candidate_timeout_ms(const struct shard *s)
{
    unsigned count;
    unsigned rank = rank_in(s, 0, &count);
    unsigned unit = s->core->options.election_timeout_ms / 5;
    unsigned growth = s->tries < 5 ? 1 + s->tries : 6;
    return unit * (1 + rank) * growth;
}

/* A follower's patience by rank: 1x, then steps up to less than 2x, so that the first to lose it finds the others ready to agree. */
static unsigned follower_timeout_ms(const struct shard *s)
{
    unsigned count;
    unsigned rank = rank_in(s, known_leader(s), &count);
    unsigned base = s->core->options.election_timeout_ms;
    return base + base * rank / (count > 2 ? count : 2);
}

void elect_after_step(struct shard *s)
{
    struct raft *r = &s->raft;
    if (r->state == RAFT_CANDIDATE) {
        r->candidate_state.randomized_election_timeout = candidate_timeout_ms(s);
    } else if (r->state == RAFT_FOLLOWER && r->follower_state.current_leader.id != 0) {
        r->follower_state.randomized_election_timeout = follower_timeout_ms(s);
        if (shard_silence_us(s) == 0) {
            s->tries = 0;
        }
    }
}

/* The whole cluster may be starting: the preferred node of each shard asks early. Where there is a leader its pre-vote is refused. */
void elect_start(struct shard *s)
{
    if (s->raft.state != RAFT_FOLLOWER) {
        return;
    }
    unsigned count;
    unsigned rank = rank_in(s, 0, &count);
    unsigned base = s->core->options.election_timeout_ms;
    s->raft.follower_state.randomized_election_timeout = base / 2 + base * rank / 2;
}

/* ---- without a leader ------------------------------------------------------------------------------------------------------ */

/* Where no leader is known nobody has to be waited for but those before this node in rank. It asks politely, so where there is one after all nothing comes of it. */
static void hasten(struct shard *s, unsigned wait_ms)
{
    struct raft *r = &s->raft;
    bool candidate = r->state == RAFT_CANDIDATE;
    if (!shard_voter(s, s->core->self) || (!candidate && (r->state != RAFT_FOLLOWER || known_leader(s) != 0))) {
        return;
    }
    unsigned count;
    unsigned *timeout = candidate ? &r->candidate_state.randomized_election_timeout : &r->follower_state.randomized_election_timeout;
    unsigned soon = (unsigned)(shard_silence_us(s) / 1000) + wait_ms + rank_in(s, 0, &count) * (STAGGER_US / 1000);
    s->tries = 0;
    *timeout = *timeout < soon ? *timeout : soon;
}

static bool reached(const struct replica *core, uint32_t node)
{
    const struct peer *p = peer_const(core, node);
    return p != NULL && (p->self || p->connected);
}

/* While a cluster starts, those that are up cannot do anything until they are a majority, and ask more and more rarely. */
void elect_connected(struct replica *core)
{
    for (uint32_t i = 0; i < core->shard_count; i++) {
        struct shard *s = &core->shards[i];
        uint32_t voters[NODES_MAX];
        size_t voter_count = shard_voters(s, voters), reached_count = 0;
        for (size_t k = 0; k < voter_count; k++) {
            reached_count += reached(core, voters[k]);
        }
        if (reached_count > voter_count / 2) {
            hasten(s, reached(core, voters[s->id % voter_count]) ? GREETING_MS : HOME_MS);
        }
    }
}

/* Somebody asked whose log is older than this node's: it cannot win with this node's vote, and this node can with its. */
void elect_refused_pre_vote(struct shard *s)
{
    if (s->raft.state == RAFT_FOLLOWER) {
        hasten(s, 0);
    }
}

/* A candidacy that set out to depose a dead leader and failed twice goes back to pre-votes: without a majority it would raise the term for ever. */
void elect_before_timeout(struct shard *s)
{
    struct raft *r = &s->raft;
    if (r->state == RAFT_CANDIDATE && r->candidate_state.disrupt_leader && s->tries >= DISRUPTING_TRIES) {
        r->candidate_state.disrupt_leader = false;
        r->candidate_state.in_pre_vote = true;
    }
}

/* ---- on evidence --------------------------------------------------------------------------------------------------------- */

static bool leader_dead(const struct shard *s)
{
    uint32_t leader = known_leader(s);
    const struct peer *p = leader != 0 ? peer_const(s->core, leader) : NULL;
    return p != NULL && p->dead;
}

static void stand_in_leaders_name(struct shard *s)
{
    struct raft *r = &s->raft;
    const struct peer *leader = peer_by_id(s->core, known_leader(s));
    struct raft_message m = {.type = RAFT_TIMEOUT_NOW, .server_id = leader->id, .server_address = leader->address};
    const struct entry *last = log_get(&s->log, s->log.last);
    m.timeout_now.term = raft_current_term(r);
    m.timeout_now.last_log_index = s->log.last;
    m.timeout_now.last_log_term = last != NULL ? last->term : s->snapshot_term;
    struct raft_event event = {.type = RAFT_RECEIVE};
    event.receive.message = &m;
    s->core->stats.elections_fast++;
    s->core->stats.elections_begun++;
    shard_step(s, &event);
}

static void attempt(struct shard *s)
{
    s->attempt_us = 0;
    if (!leader_dead(s) || !shard_voter(s, s->core->self)) {
        return;
    }
    if (s->raft.last_stored < s->log.last || s->installing) {
        s->attempt_us = s->core->now_us + RETRY_US;
        return;
    }
    stand_in_leaders_name(s);
}

static void deliver_parked(struct shard *s)
{
    if (!s->parked.used) {
        return;
    }
    s->parked.used = false;
    const struct peer *p = peer_by_id(s->core, s->parked.from);
    if (p == NULL) {
        return; /* removed meanwhile */
    }
    struct raft_message m = {.type = RAFT_REQUEST_VOTE, .server_id = p->id, .server_address = p->address};
    m.request_vote = s->parked.vote;
    uint64_t before = raft_voted_for(&s->raft);
    shard_vote(s, &m);
    if (before == 0 && raft_voted_for(&s->raft) == 0 && m.request_vote.term == raft_current_term(&s->raft)) {
        elect_refused_vote(s);
    } else if (s->attempt_us != 0 && s->attempt_us < s->core->now_us + VOTED_WAIT_US) {
        s->attempt_us = s->core->now_us + VOTED_WAIT_US;
    }
}

void elect_peer_dead(struct replica *core, struct peer *p)
{
    for (uint32_t i = 0; i < core->shard_count; i++) {
        struct shard *s = &core->shards[i];
        if (known_leader(s) != p->id) {
            continue;
        }
        unsigned count;
        s->attempt_us = core->now_us + (int64_t)rank_in(s, p->id, &count) * STAGGER_US;
        deliver_parked(s);
        if (s->attempt_us != 0 && s->attempt_us <= core->now_us) {
            attempt(s);
        }
    }
}

/* The first in rank lacks entries this node has, so it cannot win with this node's vote: no reason to wait any longer. */
void elect_refused_vote(struct shard *s)
{
    if (leader_dead(s)) {
        attempt(s);
    }
}

bool elect_admit(struct shard *s, uint32_t from, const struct raft_request_vote *vote)
{
    uint32_t leader = known_leader(s);
    bool announced = s->announced.target == from && s->announced.term + 1 == vote->term;
    if (!vote->disrupt_leader || leader == 0 || leader == from || announced || leader_dead(s)) {
        if (s->attempt_us != 0 && s->attempt_us < s->core->now_us + VOTED_WAIT_US && raft_current_term(&s->raft) < vote->term) {
            s->attempt_us = s->core->now_us + VOTED_WAIT_US;
        }
        return true;
    }
    s->core->stats.votes_parked++;
    s->parked = (struct parked_vote){.used = true, .from = from, .since_us = s->core->now_us, .vote = *vote};
    return false;
}

void elect_announced(struct shard *s, uint32_t from, uint64_t term, uint32_t target)
{
    if (known_leader(s) != from || raft_current_term(&s->raft) != term) {
        return;
    }
    s->announced.term = term;
    s->announced.target = target;
    if (s->parked.used && s->parked.from == target) {
        deliver_parked(s);
    }
}

void elect_tick(struct shard *s)
{
    struct replica *core = s->core;
    if (s->parked.used) {
        int64_t timeout_us = (int64_t)core->options.election_timeout_ms * 1000;
        if (core->now_us - s->parked.since_us > timeout_us) {
            s->parked.used = false;
        } else if (known_leader(s) == 0 || shard_silence_us(s) >= timeout_us * 9 / 10) {
            deliver_parked(s);
        }
    }
    if (s->attempt_us != 0 && s->attempt_us <= core->now_us) {
        attempt(s);
    }
}

int64_t elect_deadline(const struct shard *s)
{
    return s->attempt_us != 0 ? s->attempt_us : INT64_MAX;
}
