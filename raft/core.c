#include "state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How often the library asks for a snapshot to be sent while nothing comes of it; asking is cheap (install.c keeps what it has begun). */
enum { INSTALL_TIMEOUT_MS = 1000 };

/* ---- small questions ------------------------------------------------------------------------------------------------ */

bool shard_leads(const struct shard *s)
{
    return s->raft.state == RAFT_LEADER;
}

bool shard_serves(const struct shard *s)
{
#ifdef MUSTER_FAULT_SKIP_BARRIER
    return shard_leads(s);
#else
    return shard_leads(s) && s->serving_index != 0 && s->applied >= s->serving_index;
#endif
}

/* The disk takes entries, and in time. */
bool node_healthy(const struct replica *core)
{
    bool slow = core->writing && core->now_us - core->write_started_us > (int64_t)core->options.slow_write_ms * 1000;
#ifdef MUSTER_FAULT_HUNG_STAYS
    slow = false;
#endif
    return !slow && !core->full && !core->broken;
}

void core_fatal(struct replica *core, const char *format, ...)
{
    if (core->broken) {
        return;
    }
    core->broken = true;
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    core->events.fatal(core->events.ctx, text);
}

/* ---- making and unmaking ---------------------------------------------------------------------------------------------- */

static void default_u32(uint32_t *field, uint32_t value)
{
    *field = *field != 0 ? *field : value;
}

static void default_u64(uint64_t *field, uint64_t value)
{
    *field = *field != 0 ? *field : value;
}

void core_options_defaults(struct core_options *o)
{
    default_u32(&o->election_timeout_ms, 300);
    default_u32(&o->heartbeat_ms, 60);
    default_u32(&o->tick_ms, 20);
    default_u32(&o->slow_write_ms, 1000);
    default_u32(&o->balance_after_ms, 5000);
    default_u64(&o->entry_max_bytes, UINT64_C(1) << 20);
    default_u64(&o->unapplied_max_bytes, UINT64_C(64) << 20);
    default_u64(&o->log_retain_bytes, UINT64_C(64) << 20);
    default_u64(&o->log_tail_bytes, UINT64_C(4) << 20);
    default_u64(&o->snapshot_interval_bytes, UINT64_C(64) << 20);
    default_u64(&o->batch_max_bytes, UINT64_C(8) << 20);
    default_u64(&o->hash_interval, 10000);
    default_u32(&o->snapshot_chunk_bytes, 256u << 10);
    default_u64(&o->apply_slice_bytes, UINT64_C(256) << 10);
}

static int config_encode(const struct raft_configuration *c, struct buf *out)
{
    struct raft_buffer encoded;
    if (raft_configuration_encode(c, &encoded) != 0) {
        return MUSTER_E_INVALID;
    }
    int rc = buf_put(out, encoded.base, encoded.len);
    raft_free(encoded.base);
    return rc;
}

int core_founding_config(const struct store_identity *identity, struct buf *out)
{
    struct raft_configuration c;
    raft_configuration_init(&c);
    int rc = 0;
    for (uint32_t i = 0; i < identity->peer_count && rc == 0; i++) {
        if (raft_configuration_add(&c, identity->peers[i].node_id, identity->peers[i].address, RAFT_VOTER) != 0) {
            rc = MUSTER_E_INVALID;
        }
    }
    if (rc == 0) {
        rc = config_encode(&c, out);
    }
    raft_configuration_close(&c);
    return rc;
}

int config_decode(struct bytes data, struct raft_configuration *ret)
{
    if (!message_config_valid(data)) {
        return MUSTER_E_MALFORMED;
    }
    struct raft_buffer encoded = {(void *)(uintptr_t)data.ptr, (size_t)data.len};
    raft_configuration_init(ret);
    return raft_configuration_decode(&encoded, ret) == 0 ? 0 : MUSTER_E_MALFORMED;
}

static void shard_init(struct shard *s, struct replica *core, uint32_t id)
{
    s->core = core;
    s->id = id;
    log_init(&s->log);
    buf_init(&s->config, 0);
    buf_init(&s->applied_config, 0);
    memset(&s->raft, 0, sizeof s->raft);
    MUSTER_CHECK(raft_init(&s->raft, NULL, NULL, core->self, core->peers[core->self_pos].address) == 0);
    s->raft.tracer = NULL; /* the default one formats every message into a static buffer, even when it prints nothing */
    raft_seed(&s->raft, (unsigned)prng_next(&core->prng));
    raft_set_pre_vote(&s->raft, true);
    raft_set_election_timeout(&s->raft, core->options.election_timeout_ms);
    raft_set_heartbeat_timeout(&s->raft, core->options.heartbeat_ms);
    raft_set_install_snapshot_timeout(&s->raft, INSTALL_TIMEOUT_MS);
    raft_set_max_inflight_entries(&s->raft, MESSAGE_ENTRIES_MAX);
}

int core_new(struct replica **ret, const struct store_identity *identity, const struct core_options *options, const struct core_host *host,
             const struct replica_events *events)
{
    struct replica *core = calloc(1, sizeof *core);
    MUSTER_CHECK(core != NULL);
    core->options = *options;
    core_options_defaults(&core->options);
    core->host = *host;
    core->events = *events;
    core->identity = *identity;
    core->held_tail = &core->held_head;
    buf_init(&core->out, 0);
    prng_seed(&core->prng, core->options.seed);
    /* Rounds of different lives of a node do not overlap, so an answer to an earlier life confirms nothing. */
    core->round_next = 1 + (prng_below(&core->prng, UINT64_C(1) << 32) << 24);
    core->round_sent_us = INT64_MIN / 2;
    int rc = peers_take(core);
    if (rc != 0) {
        free(core);
        return rc;
    }
    core->scratch = calloc(1, sizeof *core->scratch);
    core->scratch_led = calloc(MESSAGE_SHARDS_MAX, sizeof *core->scratch_led);
    core->append = calloc(MESSAGE_ENTRIES_MAX, sizeof *core->append);
    core->shards = calloc(identity->shard_count, sizeof *core->shards);
    MUSTER_CHECK(core->scratch != NULL && core->scratch_led != NULL && core->append != NULL && core->shards != NULL);
    core->shard_count = identity->shard_count;
    for (uint32_t i = 0; i < core->shard_count; i++) {
        shard_init(&core->shards[i], core, i);
    }
    *ret = core;
    return 0;
}

void core_stop(struct replica *core)
{
    core->broken = true;
}

void core_free(struct replica *core)
{
    if (core == NULL) {
        return;
    }
    MUSTER_CHECK(core->jobs == 0);
    snapshot_abort(core);
    install_close(core);
    for (uint32_t i = 0; i < core->shard_count; i++) {
        snapshot_close(&core->shards[i]);
        raft_close(&core->shards[i].raft, NULL);
        log_fini(&core->shards[i].log);
        buf_fini(&core->shards[i].config);
        buf_fini(&core->shards[i].applied_config);
    }
    while (core->held_head != NULL) {
        struct held *h = core->held_head;
        core->held_head = h->next;
        free(h);
    }
    log_limbo_clear(&core->limbo);
    buf_fini(&core->out);
    free(core->records);
    free(core->shards);
    free(core->append);
    free(core->scratch_led);
    free(core->scratch);
    free(core);
}

/* ---- recovery and start ------------------------------------------------------------------------------------------------ */

static void recovered_shard(void *ctx, uint32_t shard, const struct store_shard_state *state)
{
    struct replica *core = ctx;
    MUSTER_CHECK(shard < core->shard_count);
    struct shard *s = &core->shards[shard];
    s->found = *state;
    s->snapshot_index = state->snapshot_index;
    s->snapshot_term = state->snapshot_term;
    s->disk_trim = state->first_index > 0 ? state->first_index - 1 : 0;
    if (state->first_index <= state->last_index && state->first_index > 0) {
        s->log.first = state->first_index;
        s->log.last = state->first_index - 1;
    } else {
        s->log.first = state->snapshot_index + 1;
        s->log.last = state->snapshot_index;
    }
}

static void recovered_entry(void *ctx, uint32_t shard, uint64_t index, uint64_t term, uint8_t entry_type, struct bytes payload)
{
    struct replica *core = ctx;
    MUSTER_CHECK(shard < core->shard_count);
    struct shard *s = &core->shards[shard];
    MUSTER_CHECK(index == s->log.last + 1);
    log_append(&s->log, term, entry_type, payload);
}

void core_recovery(struct replica *core, struct store_recovery *ret)
{
    *ret = (struct store_recovery){.ctx = core, .shard = recovered_shard, .entry = recovered_entry};
}

/* Entries that the snapshot makes useless, or that contradict it (an installed snapshot replaced them), do not count. */
static void drop_superseded(struct shard *s)
{
#ifdef MUSTER_FAULT_SNAPSHOT_LOST_TAIL
    log_reset(&s->log, s->snapshot_index, &s->core->limbo);
#endif
    const struct entry *at = log_get(&s->log, s->snapshot_index);
    const struct entry *next = log_get(&s->log, s->snapshot_index + 1);
    bool joined = s->log.last >= s->snapshot_index;
    bool agrees = (at == NULL || at->term == s->snapshot_term) && (next == NULL || next->term >= s->snapshot_term);
    if (!joined || !agrees) {
        log_reset(&s->log, s->snapshot_index, &s->core->limbo);
    }
}

static int start_shard(struct shard *s, char *ret_text)
{
    struct replica *core = s->core;
    if (s->snapshot_index > 0 && s->log.first > s->snapshot_index + 1 && s->log.first <= s->log.last) {
        snprintf(ret_text, 256, "shard %u: the snapshot ends at entry %llu but the log begins at %llu", s->id,
                 (unsigned long long)s->snapshot_index, (unsigned long long)s->log.first);
        return MUSTER_E_CORRUPT;
    }
    if (s->snapshot_index > 0) {
        int rc = snapshot_open(s, ret_text);
        if (rc != 0) {
            return rc;
        }
        drop_superseded(s);
    } else if (s->log.last > 0 && (s->log.first != 1 || log_get(&s->log, 1)->type != RAFT_CHANGE)) {
        snprintf(ret_text, 256, "shard %u: the log begins at entry %llu and there is no snapshot of what came before", s->id,
                 (unsigned long long)s->log.first);
        return MUSTER_E_CORRUPT;
    }
    s->applied = s->snapshot_index;
    for (uint64_t i = s->snapshot_index + 1; i <= s->log.last; i++) {
        s->pending_bytes += entry_bytes(log_get(&s->log, i));
    }
    core->pending_bytes += s->pending_bytes;
    int rc = shard_start(s);
    if (rc != 0) {
        snprintf(ret_text, 256, "shard %u: the Raft library refuses the recovered log (term %llu, entries %llu to %llu)", s->id,
                 (unsigned long long)s->found.term, (unsigned long long)s->log.first, (unsigned long long)s->log.last);
    }
    return rc;
}

int core_start(struct replica *core, int64_t now_us, char *ret_text)
{
    core->now_us = now_us;
    core->last_tick_us = now_us;
    core->calm_since_us = now_us;
    core->balance_us = now_us;
    for (uint32_t i = 0; i < core->shard_count; i++) {
        int rc = start_shard(&core->shards[i], ret_text);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

/* ---- inputs ------------------------------------------------------------------------------------------------------------- */

static void tick_shard(struct shard *s)
{
    struct replica *core = s->core;
    raft_time now = (raft_time)(core->now_us / 1000);
    elect_tick(s);
#ifdef MUSTER_FAULT_OFFICE_UNANSWERED /* the library ends the office of a leader whom no majority has answered for an election timeout */
    if (shard_leads(s)) {
        s->raft.election_timer_start = now;
    }
#endif
    if (raft_timeout(&s->raft) <= now) {
        if (s->raft.state == RAFT_CANDIDATE) {
            s->tries++;
        } else if (s->raft.state == RAFT_FOLLOWER && shard_voter(s, core->self)) {
            core->stats.elections_begun++;
        } else if (s->raft.state == RAFT_FOLLOWER) {
            s->raft.follower_state.current_leader.id = 0; /* who has no vote does not stand; it only stops believing in a silent leader */
        }
        elect_before_timeout(s);
        if (shard_alone(s)) {
            members_stand_alone(s);
        }
        struct raft_event event = {.type = RAFT_TIMEOUT};
        shard_step(s, &event);
    }
    members_tick(s);
    if (s->transfer.active) {
        transfer_poll(s);
    }
    if (shard_serves(s)) {
        int64_t contact_us = round_contact_us(s);
        s->led_us = contact_us > s->led_us ? contact_us : s->led_us;
    }
}

void core_tick(struct replica *core, int64_t now_us)
{
    int64_t gap_us = now_us - core->last_tick_us;
    core->now_us = now_us;
    core->last_tick_us = now_us;
    if (core->broken) {
        return;
    }
    /* The process stood still (a pause, a long turn): what came meanwhile lies in the sockets and must be looked at before anything expires. */
    if (gap_us > (int64_t)core->options.election_timeout_ms * 500) {
        core->stats.stalls++;
        return;
    }
    for (uint32_t i = 0; i < core->shard_count; i++) {
        tick_shard(&core->shards[i]);
    }
    core_apply(core);
    balance_tick(core);
    memory_tick(core);
    snapshot_tick(core);
    install_tick(core);
}

static int receive_message(struct replica *core, struct peer *p, struct message *m)
{
    struct shard *s = m->shard < core->shard_count ? &core->shards[m->shard] : NULL;
    switch (m->type) {
    case MESSAGE_PROBE:
        round_probe(core, p, &m->probe);
        return 0;
    case MESSAGE_PROBE_ACK:
        round_ack(core, p, &m->probe);
        return 0;
    case MESSAGE_APP:
        core->events.message(core->events.ctx, p->id, m->app.channel, m->app.data);
        return 0;
    default:
        break;
    }
    if (s == NULL) {
        return MUSTER_E_MALFORMED;
    }
    switch (m->type) {
    case MESSAGE_RAFT:
        m->raft.server_id = p->id;
        m->raft.server_address = p->address;
        memory_everywhere(s, m->everywhere);
        return shard_receive(s, &m->raft);
    case MESSAGE_HANDOVER:
        elect_announced(s, p->id, m->handover.term, m->handover.target);
        return 0;
    case MESSAGE_HASH:
        hash_reported(s, (size_t)(p - core->peers), m->hash.index, m->hash.hash);
        return 0;
    default:
        return install_message(core, p, m);
    }
}

int core_receive(struct replica *core, uint32_t node, struct bytes data, int64_t now_us)
{
    core->now_us = now_us;
    struct peer *p = peer_by_id(core, node);
    if (p == NULL || p->self) {
        return MUSTER_E_REFUSED;
    }
    if (core->broken) {
        return 0;
    }
    p->heard_us = now_us;
    p->dead = false;
    struct message m;
    int rc = message_decode(data, core->scratch, &m);
    if (rc != 0) {
        core->stats.messages_refused++;
        return rc;
    }
    return receive_message(core, p, &m);
}

void core_job_done(struct replica *core, struct core_job *job, int64_t now_us)
{
    MUSTER_CHECK(core->jobs > 0);
    core->now_us = now_us;
    core->jobs--;
    job->done(job);
}

void job_start(struct replica *core, struct core_job *job)
{
    job->core = core;
    core->jobs++;
    core->host.job(core->host.ctx, job);
}

void core_peer_state(struct replica *core, uint32_t node, enum core_peer_event event, int64_t now_us)
{
    core->now_us = now_us;
    struct peer *p = peer_by_id(core, node);
    if (p == NULL || p->self || core->broken) {
        return;
    }
    bool connected = event == CORE_PEER_CONNECTED;
    if (connected != p->connected) {
        core->calm_since_us = now_us;
        p->connected = connected;
        p->connected_us = now_us;
        core->events.peer(core->events.ctx, node, connected);
    }
    if (connected) {
        p->dead = false;
        install_connected(core, node);
        hash_connected(core, node);
        elect_connected(core);
    }
    if (event == CORE_PEER_REFUSED && !p->dead && !core->options.no_fast_failover) {
        p->dead = true;
        elect_peer_dead(core, p);
    }
}

void core_snapshot_hint(struct replica *core, uint32_t shard)
{
    if (shard < core->shard_count) {
        core->shards[shard].snapshot_hint = true;
    }
}

int64_t core_next_deadline(const struct replica *core, int64_t after_us)
{
    int64_t at = core->last_tick_us + (int64_t)core->options.tick_ms * 1000;
    int64_t round = round_deadline(core);
    at = round < at ? round : at;
    for (uint32_t i = 0; i < core->shard_count; i++) {
        int64_t elect = elect_deadline(&core->shards[i]);
        at = elect < at ? elect : at;
        at = shard_behind(&core->shards[i]) ? after_us : at;
    }
    return at > after_us ? at : after_us;
}

size_t core_jobs(const struct replica *core)
{
    return core->jobs;
}

void core_forget_jobs(struct replica *core)
{
    core->jobs = 0;
    snapshot_forget_job(core);
}

void core_stats(const struct replica *core, struct core_stats *ret)
{
    *ret = core->stats;
    ret->log_bytes = core_log_bytes(core);
    ret->replay_bytes = core_replay_bytes(core);
    ret->unapplied_bytes = core->pending_bytes;
    ret->unstored_bytes = core_unstored_bytes(core);
    ret->messages_waiting = core->held_count;
    ret->write_age_us = core->writing ? (uint64_t)(core->now_us - core->write_started_us) : 0;
    ret->disk_full = core->full;
    ret->disk_healthy = node_healthy(core);
    for (uint32_t i = 0; i < core->shard_count; i++) {
        ret->shards_in_doubt += core->shards[i].in_doubt;
    }
}

uint64_t core_unstored_bytes(const struct replica *core)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < core->shard_count; i++) {
        const struct shard *s = &core->shards[i];
        sum += s->started ? log_bytes_behind(&s->log, s->raft.last_stored) : 0;
    }
    return sum;
}

uint64_t core_log_bytes(const struct replica *core)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < core->shard_count; i++) {
        sum += core->shards[i].log.bytes;
    }
    return sum;
}

/* ---- replica.h ------------------------------------------------------------------------------------------------------------ */

/* Of what a majority or this node's own disk has not stored, or of log that no snapshot takes off: the disk writes the log and fails with snapshots. */
static bool has_too_much(const struct replica *core, uint64_t more)
{
    const struct core_options *o = &core->options;
    return core->pending_bytes + more > o->unapplied_max_bytes || core_unstored_bytes(core) > o->unapplied_max_bytes ||
           core_replay_bytes(core) > 4 * o->log_retain_bytes + o->unapplied_max_bytes;
}

int replica_propose(struct replica *core, uint32_t shard, struct bytes entry, uint64_t *ret_term, uint64_t *ret_index)
{
    if (shard >= core->shard_count) {
        return MUSTER_E_INVALID;
    }
    struct shard *s = &core->shards[shard];
    if (!shard_serves(s)) {
        return MUSTER_E_NOT_LEADER;
    }
    if (entry.len < 0 || (uint64_t)entry.len > core->options.entry_max_bytes) {
        return MUSTER_E_LIMIT;
    }
    bool held = s->transfer.active;
#ifdef MUSTER_FAULT_TRANSFER_WITHOUT_HOLD
    held = held && s->transfer.stepped;
#endif
    if (held || core->full || core->broken || has_too_much(core, (uint64_t)entry.len)) {
        return MUSTER_E_BUSY;
    }
    uint64_t term = raft_current_term(&s->raft);
    uint64_t index = s->log.last + 1;
    int rc = shard_submit(s, RAFT_COMMAND, entry);
    if (rc != 0) {
        return rc == RAFT_NOTLEADER ? MUSTER_E_NOT_LEADER : MUSTER_E_BUSY;
    }
    core->stats.entries_proposed++;
    *ret_term = term;
    *ret_index = index;
    return 0;
}

uint64_t replica_want_round(struct replica *core, uint32_t shard)
{
    MUSTER_CHECK(shard < core->shard_count);
    core->shards[shard].round_wanted = core->round_next;
    core->round_asked++;
    return core->round_next;
}

void replica_flush(struct replica *core, int64_t now_us)
{
    core->now_us = now_us;
    core->turn_applied_bytes = 0;
    if (!core->broken) {
        round_flush(core);
        persist_start(core);
    }
    if (!core->writing) {
        log_limbo_clear(&core->limbo);
    }
    core->host.flush(core->host.ctx);
}

void replica_status(const struct replica *core, uint32_t shard, struct replica_shard_status *ret)
{
    MUSTER_CHECK(shard < core->shard_count);
    const struct shard *s = &core->shards[shard];
    *ret = (struct replica_shard_status){
        .role = s->told_role,
        .leader = s->told_leader,
        .term = s->told_term,
        .first_index = s->log.first,
        .last_index = s->log.last,
        .commit_index = raft_commit_index(&s->raft),
        .applied_index = s->restoring != NULL ? 0 : s->applied,
        .snapshot_index = s->snapshot_index,
        .contact_us = round_contact_us(s),
        .led_us = s->led_us,
    };
}

void replica_ending(struct replica *core)
{
    core->ending = true;
    core->round_asked++;
}

int replica_transfer(struct replica *core, uint32_t shard, uint32_t node)
{
    if (shard >= core->shard_count) {
        return MUSTER_E_INVALID;
    }
    return transfer_begin(&core->shards[shard], node);
}

bool replica_send(struct replica *core, uint32_t node, uint16_t channel, struct bytes data)
{
    struct peer *p = peer_by_id(core, node);
    if (p == NULL || !p->connected || core->broken) {
        return false;
    }
    struct message m = {.type = MESSAGE_APP};
    m.app.channel = channel;
    m.app.data = data;
    buf_clear(&core->out);
    MUSTER_CHECK(message_encode(&core->out, &m) == 0);
    return core->host.send(core->host.ctx, node, CORE_RAFT, (struct bytes){core->out.ptr, (int32_t)core->out.len});
}

bool replica_connected(const struct replica *core, uint32_t node)
{
    const struct peer *p = peer_const(core, node);
    return p != NULL && (p->self || p->connected);
}

uint32_t replica_self(const struct replica *core)
{
    return core->self;
}

uint32_t replica_shard_count(const struct replica *core)
{
    return core->shard_count;
}

size_t replica_nodes(const struct replica *core, uint32_t *ret_ids, size_t capacity)
{
    for (size_t i = 0; i < core->peer_count && i < capacity; i++) {
        ret_ids[i] = core->peers[i].id;
    }
    return core->peer_count;
}

int replica_read_entry(const struct replica *core, uint32_t shard, uint64_t index, uint64_t *ret_term, uint8_t *ret_kind, struct bytes *ret)
{
    MUSTER_CHECK(shard < core->shard_count);
    const struct shard *s = &core->shards[shard];
    const struct entry *e = index <= raft_commit_index(&s->raft) ? log_get(&s->log, index) : NULL;
    if (e == NULL) {
        return MUSTER_E_NOT_FOUND;
    }
    *ret_term = e->term;
    *ret_kind = e->type;
    *ret = (struct bytes){e->data, (int32_t)e->len};
    return 0;
}
