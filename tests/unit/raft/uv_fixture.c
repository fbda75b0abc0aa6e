/* The nodes of uv_test.c: what they do with events, how they are opened and closed, and what they can be waited for. */
#include "uv_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct fixture t;

#ifdef __SANITIZE_THREAD__
/* libuv closes sockets past the sanitizer, which then takes the next user of the same descriptor, on the log thread, for a second user at once. */
const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void)
{
    return "race:port_posix.c\n";
}
#endif

static int64_t now_us(void)
{
    return (int64_t)(uv_hrtime() / 1000);
}

/* ---- events ------------------------------------------------------------------------------------------------------------------ */

static void on_role(void *ctx, uint32_t shard, enum replica_role role, uint64_t term, uint32_t leader)
{
    struct node *n = ctx;
    (void)term;
    (void)leader;
    n->role[shard] = role;
}

static void on_apply(void *ctx, uint32_t shard, uint64_t index, uint64_t term, struct bytes entry)
{
    struct node *n = ctx;
    (void)term;
    assert_int_equal(index, n->applied[shard] + 1);
    n->applied[shard] = index;
    n->commands[shard] += entry.len > 0 ? 1 : 0;
}

static void on_confirmed(void *ctx, uint32_t shard, uint64_t term, uint64_t round)
{
    struct node *n = ctx;
    (void)term;
    n->confirmed[shard] = round;
}

static void on_restore_begin(void *ctx, uint32_t shard, uint64_t index, uint64_t term)
{
    struct node *n = ctx;
    (void)index;
    (void)term;
    n->commands[shard] = 0;
}

static int on_restore_data(void *ctx, uint32_t shard, struct bytes data)
{
    struct node *n = ctx;
    n->commands[shard] = data.len == 8 ? get_le64(data.ptr) : 0;
    return data.len == 8 ? 0 : -1;
}

static int on_restored(void *ctx, uint32_t shard, uint64_t index, uint64_t state_hash)
{
    struct node *n = ctx;
    n->applied[shard] = index;
    return state_hash == n->commands[shard] ? 0 : -1;
}

static uint64_t frozen[NODES][SHARDS];
static bool given[NODES][SHARDS];

static void on_snapshot_begin(void *ctx, uint32_t shard, uint64_t *ret_state_hash)
{
    struct node *n = ctx;
    frozen[n->id - 1][shard] = n->commands[shard];
    given[n->id - 1][shard] = false;
    *ret_state_hash = n->commands[shard];
}

static void on_snapshot_next(void *ctx, uint32_t shard, size_t budget, struct bytes *ret)
{
    static uint8_t data[NODES][SHARDS][8];
    struct node *n = ctx;
    (void)budget;
    put_le64(data[n->id - 1][shard], frozen[n->id - 1][shard]);
    *ret = (struct bytes){data[n->id - 1][shard], given[n->id - 1][shard] ? 0 : 8};
    given[n->id - 1][shard] = true;
}

static void on_snapshot_end(void *ctx, uint32_t shard)
{
    (void)ctx;
    (void)shard;
}

static uint64_t on_state_hash(void *ctx, uint32_t shard)
{
    struct node *n = ctx;
    return n->commands[shard];
}

static void on_message(void *ctx, uint32_t from, uint16_t channel, struct bytes data)
{
    struct node *n = ctx;
    assert_true(from >= 1 && from <= NODES);
    assert_int_equal(channel, 7);
    assert_true(data.len == 5 || data.len == LARGE_BYTES);
    n->messages++;
}

static void on_peer(void *ctx, uint32_t node, bool connected)
{
    (void)ctx;
    (void)node;
    (void)connected;
}

static void on_fatal(void *ctx, const char *text)
{
    struct node *n = ctx;
    snprintf(n->fatal, sizeof n->fatal, "%s", text);
}

/* ---- nodes ---------------------------------------------------------------------------------------------------------------------- */

/* Two runs at once, of two checkouts, do not meet. */
uint16_t port_of(uint32_t id)
{
    return (uint16_t)(BASE_PORT + getpid() % 256 * 8 + (int)id);
}

int try_open(struct node *n, const struct store_identity *identity, char *text)
{
    struct uv_replica_options o = {
        .loop = &t.loop, .identity = *identity, .port = &n->port, .listen_host = "127.0.0.1", .listen_port = port_of(n->id)};
    o.store = (struct store_options){.shard_count = SHARDS, .segment_bytes = 1 << 20, .reserve_bytes = 1 << 16, .entry_max_bytes = 1 << 20};
    o.core.seed = (uint64_t)now_us();
    o.core.snapshot_interval_bytes = 50000;
    o.core.log_retain_bytes = 400000;
    o.core.balance_after_ms = UINT32_MAX;
    o.core.hash_interval = 10;
    o.events = (struct replica_events){n,
                                       on_role,
                                       on_apply,
                                       on_confirmed,
                                       on_restore_begin,
                                       on_restore_data,
                                       on_restored,
                                       on_snapshot_begin,
                                       on_snapshot_next,
                                       on_snapshot_end,
                                       on_state_hash,
                                       on_message,
                                       on_peer,
                                       on_fatal,
                                       NULL};
    memset(n->applied, 0, sizeof n->applied);
    memset(n->commands, 0, sizeof n->commands);
    memset(n->role, 0, sizeof n->role);
    n->closed = false;
    n->world = NULL;
    return uv_replica_open(&n->world, &o, &n->replica, text);
}

void node_open(struct node *n)
{
    char text[RAFT_HOST_TEXT_BYTES];
    if (try_open(n, &n->identity, text) != 0) {
        fail_msg("node %u: %s", n->id, text);
    }
}

static void on_node_closed(void *ctx)
{
    struct node *n = ctx;
    n->closed = true;
    n->replica = NULL;
    n->world = NULL;
}

void on_check(uv_check_t *check)
{
    (void)check;
    for (uint32_t i = 0; i < NODES; i++) {
        if (t.nodes[i].replica != NULL) {
            replica_flush(t.nodes[i].replica, now_us());
        }
    }
}

static void on_deadline(uv_timer_t *timer)
{
    *(bool *)timer->data = true;
}

/* Runs the loop until the condition holds; false after limit_ms. */
bool run_until(bool (*condition)(void), unsigned limit_ms)
{
    uv_timer_t timer;
    bool late = false;
    uv_timer_init(&t.loop, &timer);
    timer.data = &late;
    uv_timer_start(&timer, on_deadline, limit_ms, 0);
    bool met = condition != NULL && condition();
    while (!met && !late) {
        uv_run(&t.loop, UV_RUN_ONCE);
        met = condition != NULL && condition();
    }
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&t.loop, UV_RUN_NOWAIT);
    return met;
}

struct node *leader_of(uint32_t shard)
{
    for (uint32_t i = 0; i < NODES; i++) {
        if (t.nodes[i].replica != NULL && t.nodes[i].role[shard] == REPLICA_SERVING) {
            return &t.nodes[i];
        }
    }
    return NULL;
}

bool all_led(void)
{
    for (uint32_t s = 0; s < SHARDS; s++) {
        if (leader_of(s) == NULL) {
            return false;
        }
    }
    return true;
}

/* Everything that was proposed is applied, everywhere. */
bool all_even(void)
{
    for (uint32_t s = 0; s < SHARDS; s++) {
        const struct node *leader = leader_of(s);
        struct replica_shard_status status;
        if (leader == NULL) {
            return false;
        }
        replica_status(leader->replica, s, &status);
        for (uint32_t i = 0; i < NODES; i++) {
            const struct node *n = &t.nodes[i];
            if (n->replica != NULL && (n->applied[s] != status.last_index || n->commands[s] != leader->commands[s])) {
                return false;
            }
        }
    }
    return true;
}

uint64_t left_at; /* the last entry of a node that went */

bool log_has_moved_on(void)
{
    struct replica_shard_status status;
    if (leader_of(0) == NULL) {
        return false;
    }
    replica_status(leader_of(0)->replica, 0, &status);
    return status.first_index > left_at + 1;
}

bool snapshot_installed(void)
{
    struct core_stats stats;
    struct store_stats store;
    for (uint32_t i = 0; i < NODES; i++) {
        uv_replica_stats(t.nodes[i].world, &stats, &store);
        if (stats.snapshots_installed > 0) {
            return true;
        }
    }
    return false;
}

uint64_t fast_elections(void)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < NODES; i++) {
        struct core_stats stats;
        struct store_stats store;
        if (t.nodes[i].replica != NULL) {
            uv_replica_stats(t.nodes[i].world, &stats, &store);
            sum += stats.elections_fast;
        }
    }
    return sum;
}

void node_close(struct node *n)
{
    struct replica *gone = n->replica;
    assert_non_null(gone);
    n->replica = NULL;
    uv_replica_close(n->world, on_node_closed, n);
    while (!n->closed) {
        uv_run(&t.loop, UV_RUN_ONCE);
    }
}

void put(uint32_t shard, int count, size_t size)
{
    static uint8_t data[100000];
    for (int i = 0; i < count; i++) {
        uint64_t term, index;
        struct node *n = leader_of(shard);
        if (n != NULL) {
            replica_propose(n->replica, shard, (struct bytes){data, (int32_t)size}, &term, &index);
        }
        uv_run(&t.loop, UV_RUN_NOWAIT);
    }
}
