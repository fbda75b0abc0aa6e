#include "world_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TERMS_MAX = 100000, SNAPSHOT_BYTES = 24 };

struct packet {
    struct packet *next;
    int64_t at_us;
    uint32_t from, to;
    unsigned from_incarnation, to_life;
    enum core_class class;
    size_t len;
    uint8_t data[];
};

struct world_job {
    struct world_job *next;
    int64_t at_us;
    struct core_job *job;
};

/* ---- the host ------------------------------------------------------------------------------------------------------- */

static void host_persist(void *ctx, const struct store_record *records, size_t count)
{
    struct node *n = ctx;
    assert_null(n->records);
    n->records = records;
    n->record_count = count;
    n->write_done_us = n->world->now_us + n->write_takes_us;
}

bool world_lets_in(const struct node *n, uint32_t other, unsigned incarnation)
{
    const struct store_identity *id = n->core != NULL ? core_identity(n->core) : &n->identity;
    for (uint32_t i = 0; i < id->peer_count; i++) {
        if (id->peers[i].node_id == other) {
            return id->peers[i].incarnation.b[0] == (uint8_t)incarnation;
        }
    }
    return false;
}

static bool acquainted(const struct node *a, const struct node *b)
{
    return world_lets_in(a, b->id, b->incarnation) && world_lets_in(b, a->id, a->incarnation);
}

static int64_t delay(struct world *w)
{
    return w->delay_min_us + (int64_t)prng_below(&w->prng, (uint64_t)(w->delay_max_us - w->delay_min_us + 1));
}

static void schedule(struct world *w, struct packet *p)
{
    struct packet **at = &w->packets;
    while (*at != NULL && (*at)->at_us <= p->at_us) {
        at = &(*at)->next;
    }
    p->next = *at;
    *at = p;
}

static void post(struct world *w, uint32_t from, uint32_t to, enum core_class class, struct bytes data)
{
    struct packet *p = malloc(sizeof *p + (size_t)data.len);
    assert_non_null(p);
    *p = (struct packet){.at_us = w->now_us + delay(w), .from = from, .to = to, .class = class, .len = (size_t)data.len};
    p->from_incarnation = w->nodes[from - 1].incarnation;
    p->to_life = w->nodes[to - 1].life;
    memcpy(p->data, data.ptr, (size_t)data.len);
    schedule(w, p);
}

static bool host_send(void *ctx, uint32_t node, enum core_class class, struct bytes data)
{
    struct node *n = ctx;
    struct world *w = n->world;
    w->messages++;
    w->bulk_bytes += class == CORE_BULK ? (uint64_t)data.len : 0;
    if (w->cut[n->id][node] || !acquainted(n, &w->nodes[node - 1])) {
        return false;
    }
    if (w->hush[n->id][node] || prng_chance(&w->prng, w->drop_ppm)) {
        return true;
    }
    post(w, n->id, node, class, data);
    if (prng_chance(&w->prng, w->double_ppm)) {
        post(w, n->id, node, class, data);
    }
    return true;
}

static void host_job(void *ctx, struct core_job *job)
{
    struct node *n = ctx;
    struct world_job *j = malloc(sizeof *j);
    assert_non_null(j);
    *j = (struct world_job){.at_us = n->world->now_us + 200 + delay(n->world), .job = job};
    struct world_job **at = &n->jobs;
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = j;
}

static void host_trim(void *ctx, uint32_t shard, uint64_t index)
{
    struct node *n = ctx;
    if (n->trim_count < COUNT_OF(n->trims)) {
        n->trims[n->trim_count].shard = shard;
        n->trims[n->trim_count++].index = index;
    }
}

static void host_flush(void *ctx)
{
    (void)ctx;
}

/* ---- the state machine: a running hash, and a check against everybody else's -------------------------------------------- */

static void on_role(void *ctx, uint32_t shard, enum replica_role role, uint64_t term, uint32_t leader)
{
    struct node *n = ctx;
    struct world *w = n->world;
    struct world_shard *s = &n->shards[shard];
    assert_true(term >= s->term);
    s->role = role;
    s->term = term;
    s->leader = leader;
    if (role == REPLICA_FOLLOWER) {
        s->read_round = 0;
        return;
    }
    assert_int_equal(leader, n->id);
    assert_true(term < TERMS_MAX);
    uint32_t *of_term = &w->leaders[shard][term];
    if (*of_term != 0 && *of_term != n->id) {
        fail_msg("shard %u has two leaders in term %llu: %u and %u", shard, (unsigned long long)term, *of_term, n->id);
    }
    *of_term = n->id;
    if (role == REPLICA_SERVING) {
        struct replica_shard_status status;
        replica_status(n->core, shard, &status);
        s->led_before_us = status.led_us;
    }
}

static void check_history(struct node *n, uint32_t shard, uint64_t index)
{
    struct world *w = n->world;
    assert_true(index < WORLD_ENTRIES);
    if (w->unchecked == n->id) {
        return;
    }
    uint64_t *known = &w->history[shard][index];
    if (*known != 0 && *known != n->shards[shard].hash) {
        fail_msg("shard %u: node %u has another history up to entry %llu", shard, n->id, (unsigned long long)index);
    }
    *known = n->shards[shard].hash;
}

static void on_apply(void *ctx, uint32_t shard, uint64_t index, uint64_t term, struct bytes entry)
{
    struct node *n = ctx;
    struct world_shard *s = &n->shards[shard];
    assert_false(s->restoring);
    assert_int_equal(index, s->applied + 1);
    s->applied = index;
    s->hash = hash_bytes(entry.len > 0 ? entry.ptr : (const uint8_t *)"", (size_t)entry.len, s->hash ^ term ^ (index << 20)) | 1;
    s->commands += entry.len > 0 ? 1 : 0;
    n->turn_last = (uint64_t)entry.len;
    n->turn_applied += n->turn_last;
    check_history(n, shard, index);
    n->world->run_hash = hash_bytes(&s->hash, sizeof s->hash, n->world->run_hash ^ n->id);
    if (entry.len >= 8 && get_le64(entry.ptr) == n->id && s->role == REPLICA_SERVING && term == s->term) {
        n->world->acked[shard] = index > n->world->acked[shard] ? index : n->world->acked[shard];
    }
}

static void on_confirmed(void *ctx, uint32_t shard, uint64_t term, uint64_t round)
{
    struct node *n = ctx;
    struct world_shard *s = &n->shards[shard];
    if (s->read_round == 0 || round < s->read_round || term != s->term || s->role != REPLICA_SERVING) {
        return;
    }
    if (s->applied < s->read_floor) {
        fail_msg("shard %u: a read confirmed at node %u sees entry %llu, but %llu was acknowledged before it was asked for", shard, n->id,
                 (unsigned long long)s->applied, (unsigned long long)s->read_floor);
    }
    s->read_round = 0;
    s->reads++;
}

static void on_restore_begin(void *ctx, uint32_t shard, uint64_t index, uint64_t term)
{
    struct node *n = ctx;
    (void)index;
    (void)term;
    assert_false(n->shards[shard].frozen);
    n->shards[shard].restoring = true;
    n->shards[shard].hash = 0;
    n->shards[shard].commands = 0;
}

static int on_restore_data(void *ctx, uint32_t shard, struct bytes data)
{
    struct node *n = ctx;
    assert_true(n->shards[shard].restoring);
    n->turn_last = (uint64_t)data.len;
    n->turn_applied += n->turn_last;
    if (n->shards[shard].hash == 0) {
        assert_true(data.len >= 16);
        n->shards[shard].hash = get_le64(data.ptr);
        n->shards[shard].commands = get_le64(data.ptr + 8);
    }
    return 0;
}

static int on_restored(void *ctx, uint32_t shard, uint64_t index, uint64_t state_hash)
{
    struct node *n = ctx;
    struct world_shard *s = &n->shards[shard];
    assert_true(s->restoring);
    s->restoring = false;
    s->applied = index;
    check_history(n, shard, index);
    return state_hash == s->hash ? 0 : -1;
}

static void on_snapshot_begin(void *ctx, uint32_t shard, uint64_t *ret_state_hash)
{
    struct node *n = ctx;
    struct world_shard *s = &n->shards[shard];
    assert_false(s->frozen);
    s->frozen = true;
    s->frozen_given = false;
    s->frozen_hash = s->hash;
    s->frozen_commands = s->commands;
    *ret_state_hash = s->hash;
}

static void on_snapshot_next(void *ctx, uint32_t shard, size_t budget, struct bytes *ret)
{
    struct node *n = ctx;
    static uint8_t given[WORLD_NODES][WORLD_SHARDS][300000]; /* borrowed until the next call for the same shard */
    uint8_t *data = given[n->id - 1][shard];
    const size_t size = sizeof given[0][0];
    struct world_shard *s = &n->shards[shard];
    assert_true(s->frozen && budget > 0);
    for (size_t i = 16; data[size - 1] == 0 && i < size; i++) {
        data[i] = (uint8_t)(hash_bytes(&i, sizeof i, 1) | 1); /* does not compress: transfers take several chunks */
    }
    put_le64(data, s->frozen_hash);
    put_le64(data + 8, s->frozen_commands);
    *ret = (struct bytes){data, n->freeze_broken ? -1 : s->frozen_given ? 0 : (int32_t)size};
    s->frozen_given = true;
}

static void on_snapshot_end(void *ctx, uint32_t shard)
{
    struct node *n = ctx;
    assert_true(n->shards[shard].frozen);
    n->shards[shard].frozen = false;
}

static uint64_t on_state_hash(void *ctx, uint32_t shard)
{
    struct node *n = ctx;
    return n->shards[shard].hash;
}

static void on_message(void *ctx, uint32_t from, uint16_t channel, struct bytes data)
{
    (void)ctx;
    (void)from;
    (void)channel;
    (void)data;
}

static void on_peer(void *ctx, uint32_t node, bool connected)
{
    (void)ctx;
    (void)node;
    (void)connected;
}

static void on_members(void *ctx, uint32_t shard)
{
    struct node *n = ctx;
    n->shards[shard].configurations++;
}

static void on_fatal(void *ctx, const char *text)
{
    struct node *n = ctx;
    snprintf(n->fatal, sizeof n->fatal, "%s", text);
}

/* ---- nodes ---------------------------------------------------------------------------------------------------------------- */

struct store_peer world_record(const struct node *n)
{
    struct store_peer peer = {.node_id = n->id};
    memset(peer.incarnation.b, (int)n->incarnation, sizeof peer.incarnation.b);
    snprintf(peer.address, sizeof peer.address, "node-%u:1", n->id);
    return peer;
}

struct store_identity world_identity(const struct world *w, const struct node *n)
{
    struct store_identity identity = w->members;
    identity.node_id = n->id;
    identity.incarnation = world_record(n).incarnation;
    return identity;
}

static int64_t wall_ms(void *ctx)
{
    const struct world *w = ctx;
    return w->now_us / 1000;
}

static void store_up(struct node *n, struct store_recovery *recovery)
{
    mem_disk_port(n->disk, &n->port);
    const struct store_options options = {.shard_count = n->world->shard_count,
                                          .history_bytes = 200000,
                                          .history_ms = 20000,
                                          .wall_ms = wall_ms,
                                          .wall_ctx = n->world,
                                          .segment_bytes = 1 << 20,
                                          .reserve_bytes = 1 << 16,
                                          .entry_max_bytes = 1 << 20};
    struct store_report report;
    int rc = store_open(&n->store, &n->port, &options, recovery, &report);
    if (rc != 0) {
        fail_msg("store_open of node %u: %s", n->id, report.text);
    }
}

static void ignore_shard(void *ctx, uint32_t shard, const struct store_shard_state *state)
{
    (void)ctx;
    (void)shard;
    (void)state;
}

static void ignore_entry(void *ctx, uint32_t shard, uint64_t index, uint64_t term, uint8_t entry_type, struct bytes payload)
{
    (void)ctx;
    (void)shard;
    (void)index;
    (void)term;
    (void)entry_type;
    (void)payload;
}

void world_set_term(struct world *w, uint32_t id, uint32_t shard, uint64_t term)
{
    struct node *n = world_node(w, id);
    struct store_recovery recovery = {n, ignore_shard, ignore_entry};
    const struct store_record record = {.kind = STORE_TERM, .shard = shard, .term = term};
    assert_false(n->up);
    store_up(n, &recovery);
    assert_int_equal(store_write(n->store, &record, 1), 0);
    store_close(n->store);
    n->store = NULL;
    mem_disk_end_process(n->disk, &n->port);
}

void world_connect(struct node *n)
{
    struct world *w = n->world;
    for (uint32_t i = 1; i <= w->node_count; i++) {
        struct node *other = world_node(w, i);
        if (i == n->id || !other->up || !acquainted(n, other)) {
            continue;
        }
        if (!w->cut[n->id][i] && !replica_connected(n->core, i)) {
            core_peer_state(n->core, i, CORE_PEER_CONNECTED, w->now_us);
        }
        if (!w->cut[i][n->id] && !replica_connected(other->core, n->id)) {
            core_peer_state(other->core, n->id, CORE_PEER_CONNECTED, w->now_us);
        }
    }
}

void world_up(struct node *n)
{
    struct world *w = n->world;
    const struct core_host host = {
        .ctx = n, .persist = host_persist, .send = host_send, .job = host_job, .trim = host_trim, .flush = host_flush, .port = &n->port};
    const struct replica_events events = {
        n,           on_role,           on_apply,         on_confirmed,    on_restore_begin, on_restore_data,
        on_restored, on_snapshot_begin, on_snapshot_next, on_snapshot_end, on_state_hash,    on_message,
        on_peer,     on_fatal,          on_members};
    struct store_identity identity = n->identity;
    struct core_options options = w->options;
    options.seed = prng_next(&w->prng);
    memset(n->shards, 0, sizeof n->shards);
    n->fatal[0] = '\0';
    n->life++;
    n->trim_count = 0;
    n->turn_applied = n->turn_last = 0;
    assert_int_equal(core_new(&n->core, &identity, &options, &host, &events), 0);
    struct store_recovery recovery;
    core_recovery(n->core, &recovery);
    store_up(n, &recovery);
    char text[256];
    int rc = core_start(n->core, w->now_us, text);
    if (rc != 0) {
        fail_msg("core_start of node %u: %s", n->id, text);
    }
    n->up = true;
    n->part = true;
    n->tick_us = w->now_us;
    world_connect(n);
    world_flush(w, n);
}

static void finish_jobs(struct node *n)
{
    while (n->jobs != NULL) {
        struct world_job *j = n->jobs;
        n->jobs = j->next;
        j->job->run(j->job);
        core_job_done(n->core, j->job, n->world->now_us);
        free(j);
    }
}

/* The batch under way when the machine went: not begun, torn somewhere, or finished and never reported. */
static void crash(struct node *n)
{
    uint64_t fate = prng_below(&n->world->prng, 3);
    if (n->records != NULL && fate > 0) {
        mem_disk_faults(n->disk)->cut_power = fate == 1 ? 1 + prng_below(&n->world->prng, 4) : 0;
        (void)store_write(n->store, n->records, n->record_count);
    }
    n->records = NULL;
    mem_disk_crash(n->disk, &n->world->prng);
    *mem_disk_faults(n->disk) = (struct mem_faults){0};
}

static void node_down(struct node *n)
{
    crash(n);
    finish_jobs(n);
    core_free(n->core);
    n->core = NULL;
    store_close(n->store);
    n->store = NULL;
    n->records = NULL;
    n->up = false;
    world_resume(n->world, n->id); /* what waited is lost with the process */
}

void world_slot(struct world *w, uint32_t i)
{
    struct node *n = &w->nodes[i];
    n->world = w;
    n->id = i + 1;
    n->incarnation = i + 1;
    n->write_takes_us = 500;
    n->disk = mem_disk_new();
}

void world_init(struct world *w, uint64_t seed, uint32_t nodes, uint32_t shards)
{
    memset(w, 0, sizeof *w);
    prng_seed(&w->prng, seed);
    w->now_us = 1000000;
    w->node_count = nodes;
    w->shard_count = shards;
    w->delay_min_us = 100;
    w->delay_max_us = 400;
    w->options.balance_after_ms = UINT32_MAX;
    w->options.hash_interval = 16;
    w->history = calloc(shards, sizeof *w->history);
    assert_non_null(w->history);
    for (uint32_t s = 0; s < shards; s++) {
        w->leaders[s] = calloc(TERMS_MAX, sizeof *w->leaders[s]);
        assert_non_null(w->leaders[s]);
    }
    for (uint32_t i = 0; i < nodes; i++) {
        struct node *n = &w->nodes[i];
        world_slot(w, i);
        w->members.peers[i] = world_record(n);
        n->part = true;
    }
    w->members.peer_count = nodes;
    w->members.shard_count = shards;
    w->members.hash_version = 1;
    memset(w->members.cluster_id.b, 7, sizeof w->members.cluster_id.b);
}

void world_start(struct world *w)
{
    for (uint32_t i = 1; i <= w->node_count; i++) {
        struct node *n = world_node(w, i);
        if (n->part) {
            n->identity = world_identity(w, n);
            world_up(n);
        }
    }
}

void world_fini(struct world *w)
{
    for (uint32_t i = 0; i < w->node_count; i++) {
        struct node *n = &w->nodes[i];
        if (n->core != NULL) {
            node_down(n);
        }
        mem_disk_free(n->disk);
    }
    while (w->packets != NULL) {
        struct packet *p = w->packets;
        w->packets = p->next;
        free(p);
    }
    for (uint32_t s = 0; s < w->shard_count; s++) {
        free(w->leaders[s]);
    }
    free(w->history);
}

struct node *world_node(struct world *w, uint32_t id)
{
    assert_true(id >= 1 && id <= w->node_count);
    return &w->nodes[id - 1];
}

static uint64_t apply_slice(const struct world *w)
{
    return w->options.apply_slice_bytes != 0 ? w->options.apply_slice_bytes : UINT64_C(256) << 10;
}

void world_flush(struct world *w, struct node *n)
{
    /* However much there is to catch up with, a turn ends soon: a node that applies must go on being heard. */
    assert_true(n->turn_applied - n->turn_last < apply_slice(w));
    n->turn_applied = n->turn_last = 0;
    replica_flush(n->core, w->now_us);
}

/* ---- time ------------------------------------------------------------------------------------------------------------------ */

static void deliver(struct world *w)
{
    struct packet *p = w->packets;
    w->packets = p->next;
    struct node *to = world_node(w, p->to);
    struct node *from = world_node(w, p->from);
    bool lost = !to->up || to->life != p->to_life || !world_lets_in(to, p->from, p->from_incarnation) || w->cut[p->from][p->to] ||
                (!from->up && from->core == NULL && prng_chance(&w->prng, 500000));
    if (!lost && to->paused) {
        struct packet **at = &to->socket;
        while (*at != NULL) {
            at = &(*at)->next;
        }
        p->next = NULL;
        *at = p;
        return;
    }
    w->run_hash = hash_bytes(p->data, p->len, w->run_hash ^ (uint64_t)w->now_us);
    if (!lost) {
        assert_int_equal(core_receive(to->core, p->from, (struct bytes){p->data, (int32_t)p->len}, w->now_us), 0);
        world_flush(w, to);
    }
    free(p);
}

static void write_done(struct node *n)
{
    const struct store_record *records = n->records;
    n->records = NULL;
    int result = n->force_result;
    if (result == 0) {
        result = store_write(n->store, records, n->record_count);
    }
    core_persisted(n->core, result, n->world->now_us);
    world_flush(n->world, n);
}

static void job_done(struct node *n)
{
    struct world_job *j = n->jobs;
    n->jobs = j->next;
    j->job->run(j->job);
    core_job_done(n->core, j->job, n->world->now_us);
    free(j);
    world_flush(n->world, n);
}

static int64_t node_next(const struct node *n)
{
    int64_t at = n->tick_us;
    if (n->records != NULL && n->write_done_us < at) {
        at = n->write_done_us;
    }
    if (n->jobs != NULL && !n->jobs_wait && n->jobs->at_us < at) {
        at = n->jobs->at_us;
    }
    return at;
}

static void node_event(struct node *n)
{
    struct world *w = n->world;
    if (n->records != NULL && n->write_done_us <= w->now_us) {
        write_done(n);
    } else if (n->jobs != NULL && !n->jobs_wait && n->jobs->at_us <= w->now_us) {
        job_done(n);
    } else {
        core_tick(n->core, w->now_us);
        world_flush(w, n);
    }
    n->tick_us = core_next_deadline(n->core, w->now_us + 200);
}

void world_run(struct world *w, int64_t us)
{
    int64_t end = w->now_us + us;
    for (;;) {
        struct node *next = NULL;
        int64_t at = w->packets != NULL ? w->packets->at_us : INT64_MAX;
        for (uint32_t i = 0; i < w->node_count; i++) {
            struct node *n = &w->nodes[i];
            if (n->up && !n->paused && node_next(n) < at) {
                at = node_next(n);
                next = n;
            }
        }
        if (at > end) {
            break;
        }
        w->now_us = at > w->now_us ? at : w->now_us;
        if (next != NULL) {
            node_event(next);
        } else {
            deliver(w);
        }
    }
    w->now_us = end;
}

struct node *world_leader(struct world *w, uint32_t shard)
{
    struct node *best = NULL;
    for (uint32_t i = 0; i < w->node_count; i++) {
        struct node *n = &w->nodes[i];
        if (n->up && !n->paused && n->shards[shard].role == REPLICA_SERVING &&
            (best == NULL || n->shards[shard].term > best->shards[shard].term)) {
            best = n;
        }
    }
    return best;
}

static bool settled(struct world *w, uint32_t shard)
{
    struct node *leader = world_leader(w, shard);
    if (leader == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < w->node_count; i++) {
        const struct node *n = &w->nodes[i];
        bool reachable = n == leader || (!w->cut[leader->id][n->id] && !w->cut[n->id][leader->id] && !w->hush[leader->id][n->id] &&
                                         !w->hush[n->id][leader->id]);
        bool member = world_votes(w, leader->id, shard, n->id) || world_learns(w, leader->id, shard, n->id);
        if (n->up && !n->paused && reachable && member && n->shards[shard].leader != leader->id) {
            return false;
        }
    }
    return true;
}

bool world_settle(struct world *w, int64_t limit_us)
{
    for (int64_t end = w->now_us + limit_us; w->now_us < end;) {
        bool all = true;
        for (uint32_t s = 0; s < w->shard_count; s++) {
            all = all && settled(w, s);
        }
        if (all) {
            return true;
        }
        world_run(w, 1000);
    }
    return false;
}

static bool even(struct world *w)
{
    for (uint32_t s = 0; s < w->shard_count; s++) {
        uint64_t applied = 0;
        struct node *leader = world_leader(w, s);
        for (uint32_t i = 0; i < w->node_count; i++) {
            const struct node *n = &w->nodes[i];
            if (!n->up || (leader != NULL && !world_votes(w, leader->id, s, n->id) && !world_learns(w, leader->id, s, n->id))) {
                continue;
            }
            struct replica_shard_status status;
            replica_status(n->core, s, &status);
            if ((applied != 0 && status.applied_index != applied) || status.applied_index != status.last_index) {
                return false;
            }
            applied = status.applied_index;
        }
    }
    return true;
}

bool world_even(struct world *w, int64_t limit_us)
{
    for (int64_t end = w->now_us + limit_us; w->now_us < end;) {
        if (even(w)) {
            return true;
        }
        world_run(w, 1000);
    }
    return false;
}

/* ---- faults ----------------------------------------------------------------------------------------------------------------- */

void world_kill(struct world *w, uint32_t id)
{
    struct node *n = world_node(w, id);
    node_down(n);
    for (uint32_t i = 1; i <= w->node_count; i++) {
        struct node *other = world_node(w, i);
        if (i != id && other->up && !w->cut[i][id] && !w->hush[i][id]) {
            core_peer_state(other->core, id, CORE_PEER_DISCONNECTED, w->now_us);
            core_peer_state(other->core, id, CORE_PEER_REFUSED, w->now_us + 1000);
            world_flush(w, other);
        }
    }
}

void world_restart(struct world *w, uint32_t id)
{
    world_up(world_node(w, id));
}

void world_pause(struct world *w, uint32_t id)
{
    world_node(w, id)->paused = true;
}

/* What came meanwhile lies in the socket and is read before anything else. */
void world_resume(struct world *w, uint32_t id)
{
    struct node *n = world_node(w, id);
    struct packet *waiting = n->socket;
    n->paused = false;
    n->socket = NULL;
    while (waiting != NULL) {
        struct packet *p = waiting;
        waiting = p->next;
        p->at_us = w->now_us;
        schedule(w, p);
    }
}

void world_isolate(struct world *w, uint32_t id, bool cut)
{
    for (uint32_t i = 1; i <= w->node_count; i++) {
        if (i != id) {
            w->hush[id][i] = cut;
            w->hush[i][id] = cut;
        }
    }
}
