/* A node: the real store, raft core and coord on an imagined disk, run in turns as musterd's loop runs them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

enum input_kind {
    INPUT_MESSAGE,
    INPUT_PEER,
    INPUT_PERSISTED,
    INPUT_JOB,
    INPUT_REQUEST,
    INPUT_TRANSFER,
    INPUT_CHANGE,
    INPUT_PEERS,
    INPUT_GROUP_JOB,
    INPUT_BACKUP,
    INPUT_TOPICS_CREATED
};

struct sim_input {
    struct sim_input *next;
    enum input_kind kind;
    uint32_t node;
    enum core_peer_event event;
    enum replica_change change;
    int result;
    struct core_job *job;
    struct sim_request *request;
    struct group_job *group_job;
    uint64_t token;
    struct bytes data; /* behind the struct */
};

static const int64_t tick_us = 20000;

static void turn_soon(struct sim_node *n, int64_t at_us);

/* ---- its clock ---- */

int64_t node_now(const struct sim_node *n)
{
    return n->clock_base_us + n->sim->now_us / 1000000 * n->clock_rate + n->sim->now_us % 1000000 * n->clock_rate / 1000000;
}

/* How long the world has to wait until so much of the node's time is over, or a little more. */
static int64_t world_us(const struct sim_node *n, int64_t us)
{
    return us * 1000000 / n->clock_rate + 2;
}

int64_t node_lag_us(const struct sim_node *n)
{
    return n->slow_until_us > n->sim->now_us ? n->slow_until_us - n->sim->now_us : 0;
}

/* ---- what comes in ---- */

static void add_input(struct sim_node *n, struct sim_input input, struct bytes data)
{
    size_t len = data.len > 0 ? (size_t)data.len : 0;
    struct sim_input *own = malloc(sizeof(*own) + len);
    MUSTER_CHECK(own != NULL);
    *own = input;
    if (len > 0)
        memcpy(own + 1, data.ptr, len);
    own->data = (struct bytes){(const uint8_t *)(own + 1), (int32_t)len};
    own->next = NULL;
    *n->inbox_end = own;
    n->inbox_end = &own->next;
    turn_soon(n, n->sim->now_us + sim_between(n->sim, 1, 80));
}

void node_receive(struct sim_node *n, uint32_t from, enum core_class class, struct bytes data)
{
    (void)class;
    add_input(n, (struct sim_input){.kind = INPUT_MESSAGE, .node = from, .token = n->sim->nodes[from].incarnation}, data);
}

void node_peer(struct sim_node *n, uint32_t peer, enum core_peer_event event)
{
    add_input(n, (struct sim_input){.kind = INPUT_PEER, .node = peer, .event = event}, BYTES_NULL);
}

void node_submit(struct sim_node *n, struct sim_request *request)
{
    add_input(n, (struct sim_input){.kind = INPUT_REQUEST, .request = request}, BYTES_NULL);
}

void node_transfer(struct sim_node *n, uint32_t shard)
{
    add_input(n, (struct sim_input){.kind = INPUT_TRANSFER, .node = shard}, BYTES_NULL);
}

void node_change_member(struct sim_node *n, uint32_t shard, enum replica_change change, uint32_t node)
{
    add_input(n, (struct sim_input){.kind = INPUT_CHANGE, .node = shard, .change = change, .token = node}, BYTES_NULL);
}

void node_set_peers(struct sim_node *n, const struct store_peer *peers, uint32_t count)
{
    struct bytes data = {(const uint8_t *)peers, (int32_t)(count * sizeof(*peers))};
    add_input(n, (struct sim_input){.kind = INPUT_PEERS, .node = count}, data);
}

void node_ask_backup(struct sim_node *n, struct bytes ask)
{
    add_input(n, (struct sim_input){.kind = INPUT_BACKUP}, ask);
}

void node_job_done(struct sim_node *n, struct group_job *job)
{
    add_input(n, (struct sim_input){.kind = INPUT_GROUP_JOB, .group_job = job}, BYTES_NULL);
}

void node_topics_created(struct sim_node *n, uint64_t token, const char *failure)
{
    add_input(n, (struct sim_input){.kind = INPUT_TOPICS_CREATED, .token = token}, bytes_of_str(str_of(failure)));
}

/* ---- the host of the core ---- */

static void write_finished(struct sim *sim, void *arg, uint64_t serial)
{
    struct sim_node *n = arg;
    if (!n->alive || n->batch_serial != serial || n->batch == NULL)
        return;
    if (disks_hang(n)) {
        sim_at(sim, n->disk_hangs_until_us + sim_between(sim, 80, 600), write_finished, n, serial);
        return;
    }
    int rc = damage_write(n, n->batch, n->batch_count);
    n->batch = NULL;
    add_input(n, (struct sim_input){.kind = INPUT_PERSISTED, .result = rc}, BYTES_NULL);
}

static void host_persist(void *ctx, const struct store_record *records, size_t count)
{
    struct sim_node *n = ctx;
    struct sim *sim = n->sim;
    MUSTER_CHECK(n->batch == NULL);
    n->batch = records;
    n->batch_count = count;
    bool slow = sim->now_us < n->disk_slow_until_us;
    int64_t at = sim->now_us + (slow ? sim_between(sim, 20000, 400000) : sim_between(sim, 80, 600));
    sim_at(sim, at, write_finished, n, ++n->batch_serial);
    disks_write_begins(n);
}

void node_disk_wakes(struct sim_node *n)
{
    sim_at(n->sim, n->sim->now_us + sim_between(n->sim, 80, 600), write_finished, n, n->batch_serial);
}

static bool host_send(void *ctx, uint32_t node, enum core_class class, struct bytes data)
{
    struct sim_node *n = ctx;
    return !n->outdated && n->sees[node] && network_send(n->sim, n->id, node, class, data);
}

static void job_finished(struct sim *sim, void *arg, uint64_t tag)
{
    (void)sim;
    (void)tag;
    struct sim_input *input = arg;
    struct sim_node *n = &sim->nodes[input->node];
    if (n->alive && n->life == (uint64_t)input->result)
        add_input(n, (struct sim_input){.kind = INPUT_JOB, .job = input->job}, BYTES_NULL);
    free(input);
}

/* The work is done at once, the loop hears of it later; much later when the disk is slow, of which snapshots are read and to which they are written. */
static void host_job(void *ctx, struct core_job *job)
{
    struct sim_node *n = ctx;
    struct sim_input *input = calloc(1, sizeof(*input));
    MUSTER_CHECK(input != NULL);
    job->run(job);
    *input = (struct sim_input){.node = n->id, .result = (int)n->life, .job = job};
    bool slow = n->sim->now_us < n->disk_slow_until_us;
    int64_t from = disks_hang(n) ? n->disk_hangs_until_us : n->sim->now_us;
    sim_at_owned(n->sim, from + sim_between(n->sim, slow ? 10000 : 100, slow ? 300000 : 3000), job_finished, input, 0, free);
}

static void host_trim(void *ctx, uint32_t shard, uint64_t index)
{
    struct sim_node *n = ctx;
    if (n->batch == NULL)
        MUSTER_CHECK(store_trim(n->store, shard, index) == 0);
}

static void host_flush(void *ctx)
{
    (void)ctx;
}

/* ---- what the replica tells coord, with the checkers in between ---- */

static void on_apply(void *ctx, uint32_t shard, uint64_t index, uint64_t term, struct bytes entry)
{
    struct sim_node *n = ctx;
    struct buf copy;
    if (!levels_entry(n, shard, index, entry))
        return;
    buf_init(&copy, 0);
    n->coord_events.apply(n->coord_events.ctx, shard, index, term, memory_applied(n, shard, index, entry, &copy));
    buf_fini(&copy);
    if (!n->sim->failed)
        memory_state(n, shard, index);
}

static int on_restored(void *ctx, uint32_t shard, uint64_t index, uint64_t state_hash)
{
    struct sim_node *n = ctx;
    int rc = n->coord_events.restored(n->coord_events.ctx, shard, index, state_hash);
    n->catalog_restores = n->catalog_restores && shard != 0;
    levels_restored(n, shard, index);
    if (rc == 0)
        memory_restored(n, shard, index);
    return rc;
}

/* The other events go to coord as they are; its ctx is not ours. */
#define PASS(n) ((n)->coord_events.ctx)
/* The process ended where it met what it does not know; only this turn's code goes on. */
static bool has_ended(const struct sim_node *n)
{
    return n->outdated;
}
static void on_role(void *ctx, uint32_t shard, enum replica_role role, uint64_t term, uint32_t leader)
{
    struct sim_node *n = ctx;
    static const char *const names[] = {"follower", "leader", "serving", "handing_over"};
    if (has_ended(n))
        return;
    sim_say(n->sim, "node=%u shard=%u role=%s term=%llu leader=%u", n->id, shard, names[role], (unsigned long long)term, leader);
    expiry_office(n, shard);
    n->coord_events.role(PASS(n), shard, role, term, leader);
    offices_role(n, shard, role, term);
    if (role == REPLICA_SERVING) {
        node_tell(n);
        streams_look(n, shard);
        consumers_look(n, shard);
        histories_check(n, shard);
    }
}
static void on_confirmed(void *ctx, uint32_t shard, uint64_t term, uint64_t round)
{
    struct sim_node *n = ctx;
    if (!has_ended(n))
        n->coord_events.confirmed(PASS(n), shard, term, round);
}
static void on_restore_begin(void *ctx, uint32_t shard, uint64_t index, uint64_t term)
{
    struct sim_node *n = ctx;
    sim_say(n->sim, "node=%u shard=%u restore index=%llu", n->id, shard, (unsigned long long)index);
    n->catalog_restores = n->catalog_restores || shard == 0;
    n->coord_events.restore_begin(PASS(n), shard, index, term);
}
static int on_restore_data(void *ctx, uint32_t shard, struct bytes data)
{
    struct sim_node *n = ctx;
    return n->coord_events.restore_data(PASS(n), shard, data);
}
static void on_snapshot_begin(void *ctx, uint32_t shard, uint64_t *ret_state_hash)
{
    struct sim_node *n = ctx;
    memory_snapshot(n, shard);
    n->coord_events.snapshot_begin(PASS(n), shard, ret_state_hash);
}
static void on_snapshot_next(void *ctx, uint32_t shard, size_t budget, struct bytes *ret)
{
    struct sim_node *n = ctx;
    n->coord_events.snapshot_next(PASS(n), shard, budget, ret);
}
static void on_snapshot_end(void *ctx, uint32_t shard)
{
    struct sim_node *n = ctx;
    n->coord_events.snapshot_end(PASS(n), shard);
}
static uint64_t on_state_hash(void *ctx, uint32_t shard)
{
    struct sim_node *n = ctx;
    memory_told(n, shard);
    return n->coord_events.state_hash(PASS(n), shard);
}
static void on_message(void *ctx, uint32_t from, uint16_t channel, struct bytes data)
{
    struct sim_node *n = ctx;
    n->coord_events.message(PASS(n), from, channel, data);
}
static void on_peer(void *ctx, uint32_t node, bool connected)
{
    struct sim_node *n = ctx;
    n->coord_events.peer(PASS(n), node, connected);
}
static void on_fatal(void *ctx, const char *text)
{
    struct sim_node *n = ctx;
    if (!has_ended(n) && !memory_found_out(n, text))
        sim_fail(n->sim, "node %u stops: %s", n->id, text);
}

static const struct replica_events listening = {
    .role = on_role,
    .apply = on_apply,
    .confirmed = on_confirmed,
    .restore_begin = on_restore_begin,
    .restore_data = on_restore_data,
    .restored = on_restored,
    .snapshot_begin = on_snapshot_begin,
    .snapshot_next = on_snapshot_next,
    .snapshot_end = on_snapshot_end,
    .state_hash = on_state_hash,
    .message = on_message,
    .peer = on_peer,
    .fatal = on_fatal,
};

static void draw_id(void *ctx, struct uuid *ret)
{
    struct sim_node *n = ctx;
    for (int i = 0; i < 16; i += 8)
        put_le64(ret->b + i, prng_next(&n->sim->random));
}

static int64_t wall_ms(void *ctx)
{
    const struct sim_node *n = ctx;
    return 1700000000000 + n->sim->now_us / 1000 + n->wall_offset_ms;
}

static void close_connection(void *ctx, uint64_t connection)
{
    (void)ctx;
    (void)connection;
}

/* What changed a group's membership, and why: the story of a seed. */
static void decided(void *ctx, uint32_t shard, const struct group_op *op, const struct group_out *out)
{
    struct sim_node *n = ctx;
    check_decided(n, shard, op, out);
    if (op->kind == GROUP_RETENTION && out->records.len > 0) {
        check_group_gone(n->sim, op->group_id);
        streams_gone(n->sim, op->group_id);
        consumers_gone(n->sim, op->group_id);
    }
    consumers_decided(n, shard, op, out);
    if ((op->kind == GROUP_STREAMS_HEARTBEAT || op->kind == GROUP_CONSUMER_HEARTBEAT) && out->records.len > 0)
        sim_say(n->sim, "node=%u group=%.*s op=%s rule=\"%s\" records=%zu%s", n->id, STR_ARG(op->group_id), group_op_name(op->kind),
                out->rule, out->records.len, out->assign ? " wants a job" : "");
    bool told = op->kind == GROUP_TIMER || op->kind == GROUP_TAKEOVER || op->kind == GROUP_LEAVE || op->kind == GROUP_JOB_DONE ||
                (op->kind == GROUP_JOIN && out->records.len > 0);
    if (told)
        sim_say(n->sim, "node=%u shard=%u group=%.*s op=%s member=%.*s rule=\"%s\" records=%zu", n->id, shard, STR_ARG(op->group_id),
                group_op_name(op->kind), STR_ARG(op->timer.member_id), out->rule, out->records.len);
}

static void make_coord(struct sim_node *n)
{
    struct coord_options options = {
        .settings = node_settings(n),
        .shard_count = SIM_SHARDS,
        .entry_max_bytes = 1 << 20,
        .election_timeout_us = SIM_ELECTION_US,
        .stall_us = SIM_STALL_US,
        .retention_check_us = 5000000,
        .commit_timeout_us = 1000000,
        .max_parked = 10000,
        .max_jobs = 2,
        .max_creations = 4,
        .max_beats = SIM_HELD_MAX,
        .hash_interval = SIM_HASH_INTERVAL,
    };
    struct coord_events events = {.ctx = n,
                                  .draw_id = draw_id,
                                  .wall_ms = wall_ms,
                                  .close_connection = close_connection,
                                  .fatal = on_fatal,
                                  .decided = decided,
                                  .run_job = errands_run_job,
                                  .create_topics = errands_create_topics};
    MUSTER_CHECK(coord_new(&n->coord, &options, &events) == 0);
    causes_level(n);
    coord_replica_events(n->coord, &n->coord_events);
}

static void warn(void *ctx, const char *text)
{
    struct sim_node *n = ctx;
    sim_say(n->sim, "node=%u store: %s", n->id, text);
}

struct store_options node_store_options(const struct sim_node *n)
{
    return (struct store_options){.shard_count = SIM_SHARDS,
                                  .segment_bytes = 32 << 10,
                                  .reserve_bytes = 16 << 10,
                                  .entry_max_bytes = 1 << 20,
                                  .warn = warn,
                                  .warn_ctx = (void *)(uintptr_t)n};
}

size_t node_log_retain_bytes(const struct sim_node *n)
{
    return n->sim->options.seed % 8 == 6 ? SIM_LONG_LOG_BYTES : SIM_LOG_RETAIN_BYTES;
}

/* What it finds on its disk goes to the core, and to those who know what must be there. */
struct found {
    struct sim_node *node;
    struct store_recovery core;
};
static void found_shard(void *ctx, uint32_t shard, const struct store_shard_state *state)
{
    struct found *f = ctx;
    damage_started(f->node, shard, state);
    f->core.shard(f->core.ctx, shard, state);
}
static void found_entry(void *ctx, uint32_t shard, uint64_t index, uint64_t term, uint8_t entry_type, struct bytes payload)
{
    struct found *f = ctx;
    f->core.entry(f->core.ctx, shard, index, term, entry_type, payload);
}

static int open_all(struct sim_node *n, char text[1024])
{
    struct core_host host = {
        .ctx = n, .persist = host_persist, .send = host_send, .job = host_job, .trim = host_trim, .flush = host_flush, .port = &n->port};
    struct core_options options = {.seed = prng_next(&n->sim->random),
                                   .log_retain_bytes = node_log_retain_bytes(n),
                                   .log_tail_bytes = 8 << 10,
                                   .balance_after_ms = 2000,
                                   .hash_interval = SIM_HASH_INTERVAL,
                                   .apply_slice_bytes = n->life % 2 == 0 ? 2048 : 0, /* a restore, or many entries, over many turns */
                                   .snapshot_chunk_bytes = 4096};
    core_options_defaults(&options);
    struct replica_events events = listening;
    events.ctx = n;
    int rc = core_new(&n->core, &n->identity, &options, &host, &events);
    MUSTER_CHECK(rc == 0);
    struct store_options store = node_store_options(n);
    struct found found = {.node = n};
    struct store_recovery recovery = {.ctx = &found, .shard = found_shard, .entry = found_entry};
    struct store_report report = {0};
    core_recovery(n->core, &found.core);
    rc = store_open(&n->store, &n->port, &store, &recovery, &report);
    n->sim->totals.torn_tails += report.torn_tail;
    snprintf(text, 1024, "%s", report.text);
    if (rc != 0)
        return rc;
    coord_attach(n->coord, n->core);
    return core_start(n->core, node_now(n), text);
}

void node_init(struct sim *sim, uint32_t id)
{
    struct sim_node *n = &sim->nodes[id];
    n->sim = sim;
    n->id = id;
    n->inbox_end = &n->inbox;
    n->disk = mem_disk_new();
    levels_init(n);
    n->identity = members_identity(n);
    bool drifts = faults_has(sim, KIND_DRIFT);
    n->clock_rate = 1000000 + (drifts ? sim_between(sim, -SIM_DRIFT_PER_MILLION, SIM_DRIFT_PER_MILLION) : 0);
    n->clock_base_us = sim_between(sim, 0, 1000000000); /* machines were started at different times */
}

static void close_all(struct sim_node *n, bool orderly);

void node_start(struct sim_node *n)
{
    char text[1024] = "";
    n->alive = true;
    n->life++;
    n->paused_until_us = n->slow_until_us = 0;
    n->turn_at_us = 0;
    n->catalog_restores = false;
    n->stops = n->outdated = false;
    n->batch = NULL;
    n->batch_serial++;
    n->disk_useless_since_us = 0;
    expiry_forget(n);
    memory_restarts(n);
    mem_disk_port(n->disk, &n->port);
    mem_disk_faults(n->disk)->misdirect_by = 0; /* that write was never made */
    make_coord(n);
    int rc = open_all(n, text);
    if (rc != 0) {
        damage_refused(n, rc, text);
        close_all(n, false);
        return;
    }
    n->damage = DAMAGE_NONE; /* whatever it was, it did no harm */
    sim_say(n->sim, "node=%u started life=%llu", n->id, (unsigned long long)n->life);
    network_node_up(n->sim, n->id);
    turn_soon(n, n->sim->now_us + 1);
}

void node_tell(struct sim_node *n)
{
    for (uint32_t shard = 0; n->alive && shard < SIM_SHARDS; shard++) {
        struct replica_shard_status s;
        replica_status(n->core, shard, &s);
        sim_say(n->sim, "node=%u shard=%u role=%d term=%llu leader=%u first=%llu last=%llu commit=%llu applied=%llu snapshot=%llu", n->id,
                shard, (int)s.role, (unsigned long long)s.term, s.leader, (unsigned long long)s.first_index,
                (unsigned long long)s.last_index, (unsigned long long)s.commit_index, (unsigned long long)s.applied_index,
                (unsigned long long)s.snapshot_index);
    }
}

void node_collect(struct sim_node *n)
{
    struct sim_totals *t = &n->sim->totals;
    struct core_stats core;
    struct coord_stats coord;
    core_stats(n->core, &core);
    coord_stats(n->coord, &coord);
    t->elections += core.elections_won;
    t->fast_elections += core.elections_fast;
    t->votes_parked += core.votes_parked;
    t->snapshots_taken += core.snapshots_taken;
    t->snapshots_installed += core.snapshots_installed;
    t->snapshots_uncompared += core.snapshots_uncompared;
    t->entries_cut += core.entries_cut;
    t->rounds += core.rounds_confirmed;
    t->hashes += core.hashes_compared;
    t->transfers += core.transfers_done;
    t->confirmed_reads += coord.confirmed_reads;
    t->gates_closed += coord.gate_waits;
    t->expiries += coord.expiries;
    t->refused += coord.refused;
    t->stalls += coord.stalls;
    t->cuts_lost += coord.cuts_lost;
    t->beats_held += coord.beats;
    t->beats_moved += coord.beats_moved;
    t->beats_let_go += coord.beats_let_go;
    t->beats_refused += coord.beats_refused;
}

static void drop_inbox(struct sim_node *n)
{
    while (n->inbox != NULL) {
        struct sim_input *input = n->inbox;
        n->inbox = input->next;
        if (input->kind == INPUT_REQUEST)
            request_lost(input->request);
        if (input->kind == INPUT_GROUP_JOB)
            group_job_free(input->group_job);
        free(input);
    }
    n->inbox_end = &n->inbox;
}

/* Not orderly: whatever is still written in closing is not; an orderly end seals the log. */
static void close_all(struct sim_node *n, bool orderly)
{
    if (!orderly)
        mem_disk_end_process(n->disk, &n->port);
    node_collect(n);
    n->alive = false; /* whatever coord still answers goes nowhere */
    core_forget_jobs(n->core);
    core_free(n->core);
    coord_free(n->coord);
    store_close(n->store);
    n->core = NULL;
    n->coord = NULL;
    n->store = NULL;
    n->batch = NULL;
    drop_inbox(n);
}

static void power_off(struct sim_node *n)
{
    mem_disk_faults(n->disk)->never_tears = !faults_has(n->sim, KIND_TORN);
    mem_disk_crash(n->disk, &n->sim->random);
}

/* kill -9, and the disk keeps what was synced; of what was being written, some. */
void node_crash(struct sim_node *n)
{
    if (!n->alive)
        return;
    n->sim->totals.crashes++;
    sim_say(n->sim, "node=%u crashes", n->id);
    bool power_cut = sim_chance(n->sim, 700000);
    damage_lie_ends(n);
    if (!power_cut && n->batch != NULL && disks_hang(n) &&
        sim_chance(n->sim, 500000)) { /* the disk goes on; nobody is there to hear of it */
        if (store_write(n->store, n->batch, n->batch_count) == 0)
            damage_kept(n, n->batch, n->batch_count);
    }
    if (power_cut && n->batch != NULL && sim_chance(n->sim, 500000)) {
        mem_disk_faults(n->disk)->cut_power = 1 + prng_below(&n->sim->random, 4);
        if (store_write(n->store, n->batch, n->batch_count) == 0)
            damage_kept(n, n->batch, n->batch_count);
        mem_disk_faults(n->disk)->cut_power = 0;
    }
    close_all(n, false);
    if (power_cut)
        power_off(n);
    network_node_down(n->sim, n->id);
    if (power_cut)
        damage_at_rest(n);
}

void node_lose_power(struct sim_node *n)
{
    node_tell(n);
    n->sim->totals.crashes++;
    close_all(n, false);
    power_off(n);
    network_node_down(n->sim, n->id);
}

void node_wipe(struct sim_node *n)
{
    mem_disk_free(n->disk);
    n->disk = mem_disk_new();
    disks_end(n);
    memset(n->kept, 0, sizeof(n->kept));
    memory_wiped(n);
    n->damage = DAMAGE_NONE;
    n->broken = n->lie_owed = false;
    n->joining = true;
    n->incarnation++;
    n->identity = members_identity(n);
}

/* The process ends, and its disk keeps what was written. */
void node_stop(struct sim_node *n)
{
    close_all(n, true);
    mem_disk_end_process(n->disk, &n->port);
    network_node_down(n->sim, n->id);
}

void node_fini(struct sim_node *n)
{
    if (n->alive)
        close_all(n, true);
    expiry_forget(n);
    mem_disk_free(n->disk);
}

void node_pause(struct sim_node *n, int64_t us)
{
    n->sim->totals.pauses++;
    sim_say(n->sim, "node=%u stopped for %lld ms", n->id, (long long)us / 1000);
    n->paused_until_us = n->sim->now_us + us;
}

/* ---- turns ---- */

static void take_input(struct sim_node *n, struct sim_input *input)
{
    int64_t now = node_now(n);
    switch (input->kind) {
    case INPUT_MESSAGE:
        if (!members_lets_in(n, &n->sim->nodes[input->node], (uint32_t)input->token))
            break; /* its connection ended meanwhile */
        if (core_receive(n->core, input->node, input->data, now) != 0)
            sim_fail(n->sim, "node %u refuses a message of node %u as malformed", n->id, input->node);
        break;
    case INPUT_PEER:
        core_peer_state(n->core, input->node, input->event, now);
        break;
    case INPUT_PERSISTED:
        core_persisted(n->core, input->result, now);
        break;
    case INPUT_JOB:
        core_job_done(n->core, input->job, now);
        break;
    case INPUT_REQUEST:
        request_enter(input->request, n);
        break;
    case INPUT_TRANSFER:
        (void)replica_transfer(n->core, input->node, 0);
        break;
    case INPUT_CHANGE: /* refused as often as not: the operator looks again */
        (void)replica_change_member(n->core, input->node, input->change, (uint32_t)input->token);
        break;
    case INPUT_PEERS:
        members_told(n, core_set_peers(n->core, (const struct store_peer *)(const void *)input->data.ptr, input->node, now));
        break;
    case INPUT_GROUP_JOB:
        coord_job_done(n->coord, input->group_job);
        break;
    case INPUT_BACKUP:
        backups_asked(n, input->data);
        break;
    case INPUT_TOPICS_CREATED:
        coord_topics_created(n->coord, input->token,
                             input->data.len > 0 ? (struct str){(const char *)input->data.ptr, input->data.len} : STR_NULL);
        break;
    }
}

/* Sockets have no order among each other: a thawed process may read its clients before it hears from its peers what has happened meanwhile. */
static void clients_first(struct sim_node *n)
{
    struct sim_input *requests = NULL, **requests_end = &requests, *others = NULL, **others_end = &others;
    for (struct sim_input *input = n->inbox, *next; input != NULL; input = next) {
        next = input->next;
        input->next = NULL;
        struct sim_input ***end = input->kind == INPUT_REQUEST ? &requests_end : &others_end;
        **end = input;
        *end = &input->next;
    }
    *requests_end = others;
    n->inbox_end = others != NULL ? others_end : requests_end;
    n->inbox = requests;
}

/* It has found that its state is wrong: it ends, and waits to be replaced. */
static void stop(struct sim_node *n)
{
    n->stops = false;
    n->broken = !n->outdated;
    node_stop(n);
    if (n->outdated)
        levels_stopped(n);
}

static void run_turn(struct sim_node *n)
{
    struct sim *sim = n->sim;
    sim->totals.turns++;
    if (faults_has(sim, KIND_SLOW_TURN) && sim->now_us >= sim->alone_until_us &&
        sim_chance(sim, 150)) { /* much to do, or the machine has others to run */
        n->slow_until_us = sim->now_us + (sim_chance(sim, 500000) ? sim_between(sim, 50000, 150000) : sim_between(sim, 150000, 500000));
        sim->totals.slow_turns++;
    }
    expiry_turn(n);
    if (n->inbox != NULL && sim_chance(sim, 300000))
        clients_first(n);
    int64_t now = node_now(n);
    coord_turn_begin(n->coord, now);
    core_tick(n->core, now);
    while (n->inbox != NULL && !sim->failed && !n->stops) {
        struct sim_input *input = n->inbox;
        n->inbox = input->next;
        if (n->inbox == NULL)
            n->inbox_end = &n->inbox;
        take_input(n, input);
        free(input);
    }
    if (n->stops)
        stop(n);
    if (sim->failed || !n->alive)
        return;
    coord_expire(n->coord);
    coord_turn_end(n->coord);
    connections_check(n);
    backups_turn(n);
    replica_flush(n->core, now);
    if (n->stops) {
        stop(n);
        return;
    }
    int64_t next = coord_next_deadline_us(n->coord);
    int64_t core = core_next_deadline(n->core, now);
    next = next < core ? next : core;
    next = next < now + tick_us ? next : now + tick_us;
    turn_soon(n, sim->now_us + (next > now ? world_us(n, next - now) : 1));
}

static void turn_event(struct sim *sim, void *arg, uint64_t tag)
{
    struct sim_node *n = arg;
    if (!n->alive || n->turn_at_us == 0 || n->turn_serial != tag)
        return;
    n->turn_at_us = 0;
    if (sim->now_us < n->paused_until_us || sim->now_us < n->slow_until_us) {
        turn_soon(n, n->paused_until_us);
        return;
    }
    run_turn(n);
}

static void turn_soon(struct sim_node *n, int64_t at_us)
{
    if (at_us < n->paused_until_us)
        at_us = n->paused_until_us;
    if (at_us < n->slow_until_us)
        at_us = n->slow_until_us;
    if (n->turn_at_us != 0 && n->turn_at_us <= at_us)
        return;
    n->turn_at_us = at_us;
    n->turn_serial = n->sim->next_order + 1;
    sim_at(n->sim, at_us, turn_event, n, n->turn_serial);
}
