/* One event into the library, and everything that must follow, in the order that keeps the promises of core.h:
 * term and vote are marked, entries enter the in-memory log (the payloads of this step's messages come from it), messages are encoded (the
 * library's array dies at its next step), roles are told, and only then committed entries are applied, since applying may step again. */
#include "state.h"

#include <stdlib.h>
#include <string.h>

enum { HELD_MAX = 8192 };

/* Marks entries whose memory is not the library's to free. */
static char borrowed_batch;

/* A legitimate peer never is this far ahead: see MESSAGE_TERM_MAX. */
#define TERM_JUMP_MAX (UINT64_C(1) << 40)

int64_t shard_silence_us(const struct shard *s)
{
    return s->core->now_us - (int64_t)s->raft.election_timer_start * 1000;
}

/* ---- messages out --------------------------------------------------------------------------------------------------- */

static void hold(struct replica *core, struct shard *s, uint32_t node)
{
    if (core->held_count >= HELD_MAX) {
        core->stats.messages_dropped++;
        return;
    }
    struct held *h = malloc(sizeof *h + core->out.len);
    MUSTER_CHECK(h != NULL);
    *h = (struct held){.shard = s, .version = s->term_version, .node = node, .len = (uint32_t)core->out.len};
    memcpy(h->data, core->out.ptr, core->out.len);
    *core->held_tail = h;
    core->held_tail = &h->next;
    core->held_count++;
    core->stats.messages_held++;
}

static bool must_hold(const struct shard *s)
{
#ifdef MUSTER_FAULT_VOTE_NOT_SYNCED
    (void)s;
    return false;
#else
    return s != NULL && s->term_durable != s->term_version;
#endif
}

void core_post(struct replica *core, struct shard *s, uint32_t node, enum core_class class, const struct message *m)
{
    buf_clear(&core->out);
    MUSTER_CHECK(message_encode(&core->out, m) == 0);
    if (must_hold(s)) {
        hold(core, s, node);
        return;
    }
    if (!core->host.send(core->host.ctx, node, class, (struct bytes){core->out.ptr, (int32_t)core->out.len})) {
        core->stats.messages_dropped++;
    }
}

void core_release_held(struct replica *core)
{
    struct held **at = &core->held_head;
    while (*at != NULL) {
        struct held *h = *at;
        if (h->version > h->shard->term_durable) {
            at = &h->next;
            continue;
        }
        if (!core->host.send(core->host.ctx, h->node, CORE_RAFT, (struct bytes){h->data, (int32_t)h->len})) {
            core->stats.messages_dropped++;
        }
        *at = h->next;
        core->held_count--;
        free(h);
    }
    core->held_tail = at;
}

void core_drop_held(struct replica *core, uint32_t node)
{
    struct held **at = &core->held_head;
    while (*at != NULL) {
        struct held *h = *at;
        if (h->node != node) {
            at = &h->next;
            continue;
        }
        *at = h->next;
        core->held_count--;
        free(h);
    }
    core->held_tail = at;
}

/* The library says how many entries; the payloads are ours. A message too big for one frame becomes several that follow each other. */
void shard_send_append(struct shard *s, uint32_t node, const struct raft_append_entries *args)
{
    struct replica *core = s->core;
    const uint64_t frame_max = core->options.entry_max_bytes + (UINT64_C(1) << 20);
    struct message m = {.type = MESSAGE_RAFT, .shard = s->id, .everywhere = s->everywhere};
    m.raft.type = RAFT_APPEND_ENTRIES;
    if (args->n_entries > 0 && args->prev_log_index + 1 < s->log.first) {
        s->outrun = true;
        return;
    }
    unsigned done = 0;
    do {
        struct raft_append_entries *a = &m.raft.append_entries;
        *a = *args;
        a->prev_log_index = args->prev_log_index + done;
        if (done > 0) {
            a->prev_log_term = log_get(&s->log, a->prev_log_index)->term;
        }
        a->entries = core->append;
        a->n_entries = 0;
        uint64_t bytes = MESSAGE_APPEND_OVERHEAD;
        while (done < args->n_entries && a->n_entries < MESSAGE_ENTRIES_MAX) {
            const struct entry *e = log_get(&s->log, args->prev_log_index + 1 + done);
            MUSTER_CHECK(e != NULL);
            bytes += MESSAGE_ENTRY_OVERHEAD + e->len;
            if (a->n_entries > 0 && bytes > frame_max) {
                break;
            }
            core->append[a->n_entries++] =
                (struct raft_entry){.term = e->term, .type = (enum raft_entry_type)e->type, .buf = {(void *)(uintptr_t)e->data, e->len}};
            done++;
        }
        core_post(core, s, node, CORE_RAFT, &m);
    } while (done < args->n_entries);
}

/* 0.22.1 answers a pre-vote with the asker's term even where it refuses because its own is newer. The asker never learns that term and stays
 * behind; if it is the one with the longest log, nobody is elected, ever. A refusal tells the newer term: more than one ahead, and the asker moves up. */
static void mend_vote(const struct shard *s, struct raft_request_vote_result *result)
{
    if (result->pre_vote && !result->vote_granted && result->term < raft_current_term(&s->raft)) {
        result->term = raft_current_term(&s->raft);
    }
}

static void send_message(struct shard *s, const struct raft_message *from)
{
    struct replica *core = s->core;
    const struct peer *p = peer_by_id(core, (uint32_t)from->server_id);
    if (p == NULL || !p->connected) {
        core->stats.messages_dropped++;
        return;
    }
    if (from->type == RAFT_APPEND_ENTRIES) {
        shard_send_append(s, p->id, &from->append_entries);
        return;
    }
    if (from->type == RAFT_INSTALL_SNAPSHOT) {
        install_offer(s, p->id);
        return;
    }
    struct message m = {.type = MESSAGE_RAFT, .shard = s->id, .raft = *from};
    if (from->type == RAFT_APPEND_ENTRIES_RESULT && s->stale_append) {
        /* 0.22.1 leaves these two unset when it rejects an old term; nobody reads them, but equal runs must send equal bytes. */
        m.raft.append_entries_result.rejected = 0;
        m.raft.append_entries_result.last_log_index = 0;
    }
    if (from->type == RAFT_REQUEST_VOTE_RESULT) {
        mend_vote(s, &m.raft.request_vote_result);
    }
    core_post(core, s, p->id, CORE_RAFT, &m);
}

/* ---- after a step --------------------------------------------------------------------------------------------------- */

static void take_entries(struct shard *s, const struct raft_update *update)
{
    struct replica *core = s->core;
    struct raft_entry *entries = update->entries.batch;
    uint64_t index = update->entries.index;
    unsigned from = 0;
    if (index <= s->log.last) {
        core->stats.entries_cut += s->log.last - index + 1;
#ifdef MUSTER_FAULT_TRUNCATE_IGNORED
        from = (unsigned)(s->log.last - index + 1);
        from = from < update->entries.n ? from : update->entries.n;
        if (update->entries.n < s->log.last - index + 1) {
            log_cut(&s->log, index + update->entries.n, &core->limbo);
        }
#else
        for (uint64_t i = index; i <= s->log.last; i++) {
            s->pending_bytes -= entry_bytes(log_get(&s->log, i));
            core->pending_bytes -= entry_bytes(log_get(&s->log, i));
        }
        log_cut(&s->log, index, &core->limbo);
#endif
    }
    for (unsigned i = from; i < update->entries.n; i++) {
        struct raft_entry *e = &entries[i];
        log_append(&s->log, e->term, (uint8_t)e->type, (struct bytes){e->buf.base, (int32_t)e->buf.len});
        uint64_t size = entry_bytes(log_get(&s->log, s->log.last));
        s->pending_bytes += size;
        core->pending_bytes += size;
    }
    if (entries[0].batch != &borrowed_batch) {
        raft_free(entries[0].batch);
    }
    persist_entries(s, index);
    if (shard_leads(s) && s->serving_index == 0) {
        s->serving_index = index;
    }
}

static void take_state(struct shard *s)
{
    struct replica *core = s->core;
    if (shard_leads(s)) {
        core->stats.elections_won++;
        s->tries = 0;
        round_office(s);
        balance_office(s);
        return;
    }
    if (s->serving_index != 0 || s->transfer.active) {
        transfer_lost(s);
    }
    s->serving_index = 0;
}

void shard_tell(struct shard *s)
{
    struct replica *core = s->core;
    enum replica_role role = REPLICA_FOLLOWER;
    uint32_t leader = 0;
    if (shard_leads(s)) {
        leader = core->self;
        role = s->transfer.active ? REPLICA_HANDING_OVER : shard_serves(s) ? REPLICA_SERVING : REPLICA_LEADER;
    } else if (s->raft.state == RAFT_FOLLOWER) {
        leader = (uint32_t)s->raft.follower_state.current_leader.id;
        s->led_us = leader != 0 ? core->now_us - shard_silence_us(s) : s->led_us;
    }
    uint64_t term = raft_current_term(&s->raft);
    if (role == s->told_role && term == s->told_term && leader == s->told_leader) {
        return;
    }
    bool begins = role == REPLICA_SERVING && (term != s->told_term || s->told_role != REPLICA_HANDING_OVER);
    s->told_role = role;
    s->told_term = term;
    s->told_leader = leader;
    core->events.role(core->events.ctx, s->id, role, term, leader);
    s->led_us = begins ? core->now_us : s->led_us; /* a majority has the office's first entry; it is told first when nobody led */
}

int shard_step(struct shard *s, struct raft_event *event)
{
    struct replica *core = s->core;
    struct raft_update update;
    event->time = (raft_time)(core->now_us / 1000);
    event->capacity = 0;
    int rc = raft_step(&s->raft, event, &update);
    if (rc != 0) {
        if (rc == RAFT_SHUTDOWN || rc == RAFT_NOMEM || rc == RAFT_CORRUPT) {
            core_fatal(core, "shard %u: the Raft library stopped: %s (event %d, term %llu, last index %llu)", s->id, raft_strerror(rc),
                       event->type, raft_current_term(&s->raft), (unsigned long long)s->log.last);
        }
        return rc;
    }
    if (update.flags & (RAFT_UPDATE_CURRENT_TERM | RAFT_UPDATE_VOTED_FOR)) {
        s->term_version++;
    }
    if (update.flags & (RAFT_UPDATE_ENTRIES)) {
        take_entries(s, &update);
    }
    if (update.flags & (RAFT_UPDATE_STATE)) {
        take_state(s);
    }
    if (update.flags & (RAFT_UPDATE_SNAPSHOT)) {
        install_wanted(s, &update);
    }
    if ((update.flags & (RAFT_UPDATE_MESSAGES)) && !s->mute) {
        for (unsigned i = 0; i < update.messages.n; i++) {
            send_message(s, &update.messages.batch[i]);
        }
    }
    elect_after_step(s);
    shard_tell(s);
    shard_apply(s);
    if (shard_leads(s) && s->serving_index == 0 && !core->broken) {
        /* Nothing was uncommitted, so the library saw no need for a barrier; serving needs an entry of the own term all the same. */
        static const uint8_t zeros[8];
        shard_submit(s, RAFT_BARRIER, (struct bytes){zeros, sizeof zeros});
    }
    return 0;
}

int shard_submit(struct shard *s, uint8_t type, struct bytes data)
{
    struct raft_entry entry = {.term = raft_current_term(&s->raft),
                               .type = (enum raft_entry_type)type,
                               .buf = {(void *)(uintptr_t)data.ptr, (size_t)data.len},
                               .batch = &borrowed_batch};
    struct raft_event event = {.type = RAFT_SUBMIT};
    event.submit.entries = &entry;
    event.submit.n = 1;
    return shard_step(s, &event);
}

/* ---- applying ------------------------------------------------------------------------------------------------------- */

void shard_configuration(struct shard *s, uint64_t index, struct bytes config)
{
    struct raft_event event = {.type = RAFT_CONFIGURATION};
    event.configuration.index = index;
    if (config_decode(config, &event.configuration.conf) != 0) {
        core_fatal(s->core, "shard %u: the configuration in entry %llu cannot be decoded", s->id, (unsigned long long)index);
        return;
    }
    shard_step(s, &event);
}

static uint64_t apply_limit(const struct shard *s)
{
#ifdef MUSTER_FAULT_APPLY_BEFORE_COMMIT
    return shard_leads(s) ? s->log.last : raft_commit_index(&s->raft);
#else
    return raft_commit_index(&s->raft);
#endif
}

bool shard_behind(const struct shard *s)
{
    return s->started && !s->installing && (s->restoring != NULL || s->applied < apply_limit(s));
}

/* Clients wait for the shards this node was elected for, and those for the catalogue in shard 0: what it only follows can wait. */
static bool has_time(const struct shard *s)
{
    if (s->id != 0 && s->core->shards[0].restoring != NULL) {
        return false;
    }
    return !s->core->office_behind || s->id == 0 || shard_leads(s);
}

bool core_slice_left(const struct replica *core)
{
    return core->turn_applied_bytes < core->options.apply_slice_bytes && !core->broken;
}

/* In slices: a node that comes back with a long log must be heard and hear others while it applies it, or it loses every office it wins. */
void shard_apply(struct shard *s)
{
    struct replica *core = s->core;
    if (s->applying || s->installing || !s->started || !has_time(s)) {
        return;
    }
    s->applying = true;
    snapshot_restore(s);
    while (s->restoring == NULL && s->applied < apply_limit(s) && core_slice_left(core) && !s->installing) {
        uint64_t index = s->applied + 1;
        const struct entry *e = log_get(&s->log, index);
        MUSTER_CHECK(e != NULL);
        s->applied = index;
        s->pending_bytes -= entry_bytes(e);
        core->pending_bytes -= entry_bytes(e);
        s->applied_bytes += entry_bytes(e);
        core->turn_applied_bytes += e->len;
        core->stats.entries_applied++;
        struct bytes data = {e->data, e->type == RAFT_COMMAND ? (int32_t)e->len : 0};
        core->events.apply(core->events.ctx, s->id, index, e->term, data);
        if (e->type == RAFT_CHANGE) {
            struct bytes config = {e->data, (int32_t)e->len};
            shard_configuration(s, index, config);
            members_applied(s, index, config);
        }
        hash_applied(s);
        shard_tell(s);
    }
    s->applying = false;
}

/* ---- messages in ---------------------------------------------------------------------------------------------------- */

static int step_message(struct shard *s, struct raft_message *m)
{
    struct raft_event event = {.type = RAFT_RECEIVE};
    event.receive.message = m;
    return shard_step(s, &event);
}

static struct raft_server *own_server(struct shard *s)
{
    struct raft_configuration *c = &s->raft.configuration;
    for (unsigned i = 0; i < c->n; i++) {
        if (c->servers[i].id == s->core->self) {
            return &c->servers[i];
        }
    }
    return NULL;
}

/* A learner votes, too, when it is asked: who asks has it for a voter, by a configuration that has not come here yet, and its vote may be the one that is
 * missing (Raft, 4.2.1). Who really counts no learners does not ask. 0.22.1 would refuse. */
int shard_vote(struct shard *s, struct raft_message *m)
{
    struct raft_server *own = own_server(s);
    int role = own != NULL ? own->role : RAFT_VOTER;
    if (own != NULL) {
        own->role = RAFT_VOTER;
    }
    int rc = step_message(s, m);
    own = own_server(s);
    if (own != NULL) {
        own->role = role;
    }
    return rc;
}

static bool log_agrees(const struct shard *s, uint64_t index, uint64_t term)
{
    const struct entry *e = log_get(&s->log, index);
    return e != NULL ? e->term == term : index == s->snapshot_index && term == s->snapshot_term;
}

/* A follower whose disk is slower than the others' is sent what they can take: up to a thousand entries a shard, of a megabyte each. When it has too much that its
 * disk has not taken, the message counts without the entries that are too many, as if the leader had not sent them: that never stops what is here from being
 * committed, and the answer says up to where this node has come. */
static void shorten_append(struct shard *s, struct raft_append_entries *append)
{
    struct replica *core = s->core;
    uint64_t most = core->options.unapplied_max_bytes, bytes = append->n_entries > 0 ? core_unstored_bytes(core) : 0;
    unsigned kept = 0;
    while (kept < append->n_entries && bytes <= most) {
        bytes += append->entries[kept++].buf.len;
    }
    if (kept < append->n_entries) {
        append->n_entries = kept;
        core->stats.appends_shortened++;
    }
}

/* A leader that missed this node's answers may go on from below what is kept here; its snapshot may be older than this node's, too, so that there is nothing it could
 * send that this node does not refuse. What a snapshot covers is committed, so every leader has the same: that part counts as taken, and the answer says so
 * (etcd answers with the commit index there). The library would refuse, and would take entries from the very first one on for new ones. */
static void skip_snapshotted(struct shard *s, struct raft_append_entries *append)
{
    if (append->prev_log_index >= s->snapshot_index || log_get(&s->log, append->prev_log_index) != NULL) {
        return;
    }
    uint64_t covered = s->snapshot_index - append->prev_log_index;
    unsigned skipped = append->n_entries < covered ? append->n_entries : (unsigned)covered;
    append->entries += skipped;
    append->n_entries -= skipped;
    append->prev_log_index = s->snapshot_index;
    append->prev_log_term = s->snapshot_term;
}

/* Splits what arrived so that a configuration entry is the first of its step: 0.22.1 gives it the index of the first new entry otherwise. */
static void receive_append(struct shard *s, struct raft_message *m)
{
    skip_snapshotted(s, &m->append_entries);
    shorten_append(s, &m->append_entries);
    const struct raft_append_entries all = m->append_entries;
    unsigned start = 0;
    do {
        unsigned end = start;
        while (end < all.n_entries && (end == start || all.entries[end].type != RAFT_CHANGE)) {
            end++;
        }
        struct raft_append_entries *part = &m->append_entries;
        *part = all;
        part->entries = &all.entries[start];
        part->n_entries = end - start;
        part->prev_log_index = all.prev_log_index + start;
        part->prev_log_term = start > 0 ? all.entries[start - 1].term : all.prev_log_term;
        if (part->n_entries > 0) {
            void *batch = raft_malloc(1);
            MUSTER_CHECK(batch != NULL);
            for (unsigned i = start; i < end; i++) {
                all.entries[i].batch = batch;
            }
        }
        if (part->n_entries > 0 && part->entries[0].type == RAFT_CHANGE && !s->installing &&
            log_agrees(s, part->prev_log_index, part->prev_log_term)) {
            members_before_change(s, part->prev_log_index + 1);
        }
        if (step_message(s, m) != 0 || end == all.n_entries) {
            return;
        }
        uint64_t at = all.prev_log_index + end;
        const struct entry *last = log_get(&s->log, at);
        if (last != NULL ? last->term != all.entries[end - 1].term : at >= s->log.first) {
            return; /* refused: what follows cannot match either */
        }
        start = end;
    } while (start < all.n_entries);
}

static uint64_t message_term(const struct raft_message *m)
{
    switch (m->type) {
    case RAFT_REQUEST_VOTE:
        return m->request_vote.term;
    case RAFT_REQUEST_VOTE_RESULT:
        return m->request_vote_result.term;
    case RAFT_APPEND_ENTRIES:
        return m->append_entries.term;
    case RAFT_APPEND_ENTRIES_RESULT:
        return m->append_entries_result.term;
    case RAFT_INSTALL_SNAPSHOT:
        return m->install_snapshot.term;
    case RAFT_TIMEOUT_NOW:
        return m->timeout_now.term;
    default:
        return UINT64_MAX;
    }
}

/* Negative: this node's log is older than the candidate's; positive: it is newer. */
static int compare_logs(const struct shard *s, const struct raft_request_vote *vote)
{
    const struct entry *last = log_get(&s->log, s->log.last);
    uint64_t last_term = last != NULL ? last->term : s->snapshot_term;
    if (last_term != vote->last_log_term) {
        return last_term < vote->last_log_term ? -1 : 1;
    }
    return s->log.last < vote->last_log_index ? -1 : s->log.last > vote->last_log_index;
}

/* Who is no voter by this node's newest configuration may be one by a newer one, which then is in its log: of two voters, the one that was just added
 * may be the only one that can lead. A removed node has no newer log: it is sent nothing from its removal on. */
static bool may_stand(const struct shard *s, uint32_t from, const struct raft_request_vote *vote)
{
    return shard_voter(s, from) || compare_logs(s, vote) < 0;
}

/* What the library would take on trust. */
static bool message_admissible(const struct shard *s, const struct raft_message *m)
{
    uint64_t current = raft_current_term(&s->raft);
    uint64_t term = message_term(m);
    uint32_t from = (uint32_t)m->server_id;
    if (term > current + TERM_JUMP_MAX) {
        return false;
    }
    switch (m->type) {
    case RAFT_REQUEST_VOTE:
        return m->request_vote.candidate_id == from && may_stand(s, from, &m->request_vote);
    case RAFT_REQUEST_VOTE_RESULT:
        /* Outside of a candidacy the library reads a field of another state here; there is nothing to learn from the answer then. */
        return shard_voter(s, from) && s->raft.state == RAFT_CANDIDATE;
    case RAFT_APPEND_ENTRIES_RESULT:
        return shard_member(s, from); /* the library would step down for the term of a node that was removed */
    case RAFT_APPEND_ENTRIES:
    case RAFT_INSTALL_SNAPSHOT:
        return !(shard_leads(s) && term == current); /* two leaders of one term: never, and the library would not notice */
    default:
        return true;
    }
}

/* A follower that has heard nothing for most of its timeout, or knows the leader dead, may help the first who asks: it joins the election itself
 * without asking anybody, so that it no longer has a leader when it looks at the request. */
static void receive_pre_vote(struct shard *s, struct raft_message *m)
{
    struct raft *r = &s->raft;
    if (r->state == RAFT_FOLLOWER && r->follower_state.current_leader.id != 0) {
        const struct peer *leader = peer_by_id(s->core, (uint32_t)r->follower_state.current_leader.id);
        bool silent =
            shard_voter(s, s->core->self) && !shard_alone(s) && shard_silence_us(s) >= (int64_t)s->core->options.election_timeout_ms * 900;
        if (silent || (leader != NULL && leader->dead)) {
            struct raft_event event = {.type = RAFT_TIMEOUT};
            r->follower_state.randomized_election_timeout = 0;
            s->mute = true;
            shard_step(s, &event);
            s->mute = false;
        }
    }
    bool newer = compare_logs(s, &m->request_vote) > 0;
    shard_vote(s, m);
    if (newer) {
        elect_refused_pre_vote(s);
    }
}

/* A rejection that arrives late, from before its sender caught up, makes 0.22.1 move its next index below what it knows to match; it then counts
 * more entries in flight than its limit and sends that node nothing but heartbeats until the term ends. What is known to match cannot be taken
 * back, so the answer is corrected to say no less. Unless the node has it no more (lost.c). */
static void mend_result(struct shard *s, uint32_t from, struct raft_append_entries_result *result)
{
    raft_index match = 0;
    if (result->term != raft_current_term(&s->raft) || raft_match_index(&s->raft, from, &match) != 0) {
        return;
    }
    struct peer *p = peer_by_id(s->core, from);
    if (p != NULL && shard_leads(s)) {
        lost_answered(s, p, result->rejected != 0, result->last_log_index);
    }
    if (result->rejected == 0) {
        return;
    }
    if (result->rejected <= match) {
        result->rejected = 0;
        result->last_log_index = match;
    } else if (result->last_log_index < match) {
        result->last_log_index = match;
    }
}

int shard_receive(struct shard *s, struct raft_message *m)
{
    if (!message_admissible(s, m)) {
        if (m->type != RAFT_REQUEST_VOTE_RESULT) {
            s->core->stats.messages_refused++;
        }
        return 0;
    }
    uint32_t from = (uint32_t)m->server_id;
    s->stale_append = message_term(m) < raft_current_term(&s->raft);
    if (m->type == RAFT_APPEND_ENTRIES) {
        receive_append(s, m);
    } else if (m->type == RAFT_REQUEST_VOTE && m->request_vote.pre_vote) {
        receive_pre_vote(s, m);
    } else if (m->type == RAFT_REQUEST_VOTE) {
        if (elect_admit(s, from, &m->request_vote)) {
            uint64_t before = raft_voted_for(&s->raft);
            shard_vote(s, m);
            if (m->request_vote.disrupt_leader && before == 0 && raft_voted_for(&s->raft) == 0 &&
                m->request_vote.term == raft_current_term(&s->raft)) {
                elect_refused_vote(s);
            }
        }
    } else {
        if (m->type == RAFT_APPEND_ENTRIES_RESULT) {
            mend_result(s, from, &m->append_entries_result);
        }
        step_message(s, m);
    }
    s->stale_append = false;
    if (shard_leads(s) && s->transfer.active) {
        transfer_poll(s);
    }
    return 0;
}

/* ---- start ---------------------------------------------------------------------------------------------------------- */

/* A node that joined begins with nothing, and waits for what it is sent. */
static void load_founding(struct shard *s)
{
    if (s->core->identity.joined) {
        return;
    }
    struct buf config;
    buf_init(&config, 0);
    MUSTER_CHECK(core_founding_config(&s->core->identity, &config) == 0);
    log_append(&s->log, 1, RAFT_CHANGE, (struct bytes){config.ptr, (int32_t)config.len});
    buf_fini(&config);
    s->pending_bytes += entry_bytes(log_get(&s->log, 1));
    s->core->pending_bytes += entry_bytes(log_get(&s->log, 1));
    persist_entries(s, 1);
}

int shard_start(struct shard *s)
{
    if (s->snapshot_index == 0 && s->log.last == 0) {
        load_founding(s);
    }
    size_t count = (size_t)(s->log.last - s->log.first + 1);
    struct raft_entry *entries = raft_calloc(count > 0 ? count : 1, sizeof *entries);
    MUSTER_CHECK(entries != NULL);
    for (size_t i = 0; i < count; i++) {
        const struct entry *e = log_get(&s->log, s->log.first + i);
        entries[i] = (struct raft_entry){.term = e->term,
                                         .type = (enum raft_entry_type)e->type,
                                         .buf = {(void *)(uintptr_t)e->data, e->len},
                                         .batch = NULL};
    }
    uint64_t last_term = count > 0 ? entries[count - 1].term : s->snapshot_term;
    struct raft_event event = {.type = RAFT_START};
    event.start.term = s->found.term > last_term ? s->found.term : last_term;
    event.start.voted_for = s->found.term >= last_term ? s->found.vote : 0;
    event.start.start_index = s->log.first;
    event.start.entries = entries;
    event.start.n_entries = (unsigned)count;
    if (members_found_alone(s)) {
        event.start.term++; /* as members_stand_alone: the library makes it leader in this step */
        event.start.voted_for = s->core->self;
    }
    struct raft_snapshot_metadata meta;
    if (s->snapshot_index > 0) {
        meta = (struct raft_snapshot_metadata){.index = s->snapshot_index, .term = s->snapshot_term};
        if (config_decode((struct bytes){s->config.ptr, (int32_t)s->config.len}, &meta.configuration) != 0) {
            raft_free(entries);
            return MUSTER_E_CORRUPT;
        }
        meta.configuration_index = s->config_index;
        event.start.metadata = &meta;
    }
    s->term_version = event.start.term > s->found.term ? 1 : 0;
    s->started = true;
    if (shard_step(s, &event) != 0) {
        return MUSTER_E_CORRUPT; /* the library has freed the array */
    }
    raft_free(entries);
    if (s->snapshot_index > 0 && s->core->events.members != NULL) {
        s->core->events.members(s->core->events.ctx, s->id);
    }
#ifdef MUSTER_FAULT_QUORUM_OF_OLD_VOTERS
    uint32_t voters[NODES_MAX];
    s->founding_voters = shard_voters(s, voters);
#endif
    elect_start(s);
    MUSTER_CHECK(s->raft.last_stored == s->log.last || shard_leads(s));
    return 0;
}

void core_apply(struct replica *core)
{
    core->office_behind = false;
    for (uint32_t i = 0; i < core->shard_count; i++) {
        const struct shard *s = &core->shards[i];
        core->office_behind = core->office_behind || (shard_leads(s) && !shard_serves(s) && shard_behind(s));
    }
    for (uint32_t i = 0; i < core->shard_count; i++) {
        shard_apply(&core->shards[i]);
    }
}
