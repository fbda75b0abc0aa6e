/* Three replicas in one process and one loop, over loopback, with real files: forming, elections, replication, a node that goes and comes, and
 * every reason why a node is not let in. */
#include <muster/raft_host.h>

#include "form.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <uv.h>

enum { NODES = 3, SHARDS = 4, BASE_PORT = 17040, LARGE_BYTES = 65 << 20 };

struct node {
    uint32_t id;
    char dir[64];
    struct store_port port;
    struct form_server *form;
    struct uv_replica *world;
    struct replica *replica;
    struct store_identity identity;
    bool closed;
    enum replica_role role[SHARDS];
    uint64_t applied[SHARDS], commands[SHARDS], confirmed[SHARDS];
    char fatal[256];
    unsigned messages;
};

static struct {
    uv_loop_t loop;
    uv_check_t check;
    struct node nodes[NODES];
    struct form_config config;
} t;

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

static uint16_t port_of(uint32_t id)
{
    return (uint16_t)(BASE_PORT + id);
}

static int try_open(struct node *n, const struct store_identity *identity, char *text)
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

static void node_open(struct node *n)
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

static void on_check(uv_check_t *check)
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
static bool run_until(bool (*condition)(void), unsigned limit_ms)
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

static struct node *leader_of(uint32_t shard)
{
    for (uint32_t i = 0; i < NODES; i++) {
        if (t.nodes[i].replica != NULL && t.nodes[i].role[shard] == REPLICA_SERVING) {
            return &t.nodes[i];
        }
    }
    return NULL;
}

static bool all_led(void)
{
    for (uint32_t s = 0; s < SHARDS; s++) {
        if (leader_of(s) == NULL) {
            return false;
        }
    }
    return true;
}

/* Everything that was proposed is applied, everywhere. */
static bool all_even(void)
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

static uint64_t left_at; /* the last entry of a node that went */

static bool log_has_moved_on(void)
{
    struct replica_shard_status status;
    if (leader_of(0) == NULL) {
        return false;
    }
    replica_status(leader_of(0)->replica, 0, &status);
    return status.first_index > left_at + 1;
}

static bool snapshot_installed(void)
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

static uint64_t fast_elections(void)
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

static void node_close(struct node *n)
{
    struct replica *gone = n->replica;
    assert_non_null(gone);
    n->replica = NULL;
    uv_replica_close(n->world, on_node_closed, n);
    while (!n->closed) {
        uv_run(&t.loop, UV_RUN_ONCE);
    }
}

static void put(uint32_t shard, int count, size_t size)
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

/* ---- forming ---------------------------------------------------------------------------------------------------------------------- */

static void on_formed(void *ctx, const struct store_identity *identity)
{
    struct node *n = ctx;
    n->form = NULL;
    n->identity = *identity;
}

static void form_open(struct node *n, const struct form_config *config)
{
    char text[RAFT_HOST_TEXT_BYTES];
    int rc = form_server_open(&n->form, &t.loop, &n->port, config, "127.0.0.1", port_of(n->id), on_formed, n, text);
    if (rc != 0) {
        fail_msg("form_server_open of node %u: %s", n->id, text);
    }
}

struct client {
    struct form_config config;
    uv_thread_t thread;
    int result;
    bool already;
    struct uuid cluster_id;
    char text[RAFT_HOST_TEXT_BYTES];
    atomic_bool done;
    uv_async_t async;
};

static void client_main(void *arg)
{
    struct client *c = arg;
    c->result = form_client_run(&c->config, 3000, &c->cluster_id, &c->already, c->text);
    c->done = true;
    uv_async_send(&c->async);
}

static struct client *running;

static bool client_done(void)
{
    return running->done;
}

static void on_async(uv_async_t *async)
{
    (void)async;
}

static int run_client(struct client *c)
{
    c->done = false;
    c->text[0] = '\0';
    running = c;
    uv_async_init(&t.loop, &c->async, on_async);
    assert_int_equal(uv_thread_create(&c->thread, client_main, c), 0);
    assert_true(run_until(client_done, 10000));
    uv_thread_join(&c->thread);
    uv_close((uv_handle_t *)&c->async, NULL);
    uv_run(&t.loop, UV_RUN_NOWAIT);
    return c->result;
}

static bool all_formed(void)
{
    for (uint32_t i = 0; i < NODES; i++) {
        if (t.nodes[i].form != NULL) {
            return false;
        }
    }
    return true;
}

/* ---- the test, one story ------------------------------------------------------------------------------------------------------------ */

static int setup(void **state)
{
    (void)state;
    memset(&t, 0, sizeof t);
    uv_loop_init(&t.loop);
    uv_check_init(&t.loop, &t.check);
    uv_check_start(&t.check, on_check);
    t.config = (struct form_config){.shard_count = SHARDS, .hash_version = 1, .peer_count = NODES};
    for (uint32_t i = 0; i < NODES; i++) {
        struct node *n = &t.nodes[i];
        n->id = i + 1;
        t.config.peers[i].node_id = n->id;
        snprintf(t.config.peers[i].address, sizeof t.config.peers[i].address, "127.0.0.1:%u", port_of(n->id));
        snprintf(n->dir, sizeof n->dir, "/tmp/muster-raft-uv-XXXXXX");
        assert_non_null(mkdtemp(n->dir));
        assert_int_equal(store_port_posix_init(&n->port, n->dir, false), 0);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < NODES; i++) {
        struct node *n = &t.nodes[i];
        if (n->replica != NULL) {
            node_close(n);
        }
        if (n->form != NULL) {
            form_server_close(n->form, NULL, NULL);
        }
        store_port_posix_fini(&n->port);
        char command[128];
        snprintf(command, sizeof command, "rm -rf '%s'", n->dir);
        assert_int_equal(system(command), 0);
    }
    uv_close((uv_handle_t *)&t.check, NULL);
    uv_run(&t.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&t.loop), 0);
    return 0;
}

static void open_forms(void)
{
    for (uint32_t i = 0; i < NODES; i++) {
        struct form_config config = t.config;
        config.node_id = i + 1;
        form_open(&t.nodes[i], &config);
    }
}

static void form_cluster(void)
{
    static struct client c;
    open_forms();
    c.config = t.config;
    if (run_client(&c) != 0) {
        fail_msg("%s", c.text);
    }
    assert_false(c.already);
    assert_true(run_until(all_formed, 1000));
    for (uint32_t i = 0; i < NODES; i++) {
        assert_true(uuid_eq(t.nodes[i].identity.cluster_id, c.cluster_id));
        node_open(&t.nodes[i]);
    }
    if (!run_until(all_led, 5000)) {
        fail_msg("no leaders after forming");
    }
}

/* Longer than any entry, and than what may wait for a peer: it arrives. What is too long for a peer is not sent at all: it would end the connection. */
static void send_large(struct node *from, uint32_t to)
{
    uint8_t *data = calloc(2, LARGE_BYTES);
    assert_non_null(data);
    assert_true(replica_send(from->replica, to, 7, (struct bytes){data, LARGE_BYTES}));
    assert_false(replica_send(from->replica, to, 7, (struct bytes){data, 2 * LARGE_BYTES}));
    for (int i = 0; i < 100 && t.nodes[to - 1].messages < 2; i++) {
        run_until(NULL, 20);
    }
    assert_int_equal(t.nodes[to - 1].messages, 2);
    assert_true(replica_connected(from->replica, to));
    free(data);
}

static void test_life(void **state)
{
    (void)state;
    form_cluster();
    for (uint32_t s = 0; s < SHARDS; s++) {
        put(s, 100, 100);
    }
    assert_true(run_until(all_even, 3000));
    assert_true(t.nodes[0].commands[0] > 90);

    struct node *leader = leader_of(0);
    uint64_t round = replica_want_round(leader->replica, 0);
    run_until(NULL, 50);
    assert_true(leader->confirmed[0] >= round);
    assert_true(replica_send(leader->replica, leader->id % NODES + 1, 7, bytes_of_str(STR("hello"))));
    run_until(NULL, 50);
    assert_int_equal(t.nodes[leader->id % NODES].messages, 1);
    send_large(leader, leader->id % NODES + 1);

    /* Large entries, snapshots on the way. */
    put(0, 200, 5000);
    assert_true(run_until(all_even, 5000));

    /* A node goes: the others do not wait for the election timeout. */
    leader = leader_of(0);
    left_at = leader->applied[0];
    node_close(leader);
    assert_true(run_until(all_led, 2000));
    assert_true(fast_elections() > 0);
    for (int i = 0; i < 10; i++) {
        put(0, 100, 5000);
        run_until(NULL, 20);
    }
    /* It comes back, is behind the log's beginning, and is sent a snapshot. */
    assert_true(run_until(log_has_moved_on, 5000));
    node_open(leader);
    assert_true(run_until(snapshot_installed, 10000));
    assert_true(run_until(all_even, 10000));
    for (uint32_t i = 0; i < NODES; i++) {
        assert_string_equal(t.nodes[i].fatal, "");
        struct uv_peer_status peers[NODES];
        assert_int_equal(uv_replica_peers(t.nodes[i].world, peers, NODES), NODES - 1);
        assert_true(peers[0].connected && peers[1].connected && peers[0].heard && peers[1].heard);
    }
}

static void refused_as(struct node *n, const struct store_identity *identity, const char *reason)
{
    char text[RAFT_HOST_TEXT_BYTES];
    assert_int_equal(try_open(n, identity, text), 0);
    run_until(NULL, 300);
    struct uv_peer_status peers[NODES];
    assert_int_equal(uv_replica_peers(n->world, peers, NODES), NODES - 1);
    for (size_t i = 0; i < NODES - 1; i++) {
        assert_false(peers[i].connected);
        if (strstr(peers[i].refusal, reason) == NULL) {
            fail_msg("refused with \"%s\", not \"%s\"", peers[i].refusal, reason);
        }
    }
    node_close(n);
}

static void test_refusals(void **state)
{
    (void)state;
    form_cluster();
    struct node *n = &t.nodes[2];
    node_close(n);

    struct store_identity other = n->identity;
    other.cluster_id.b[0] ^= 1;
    refused_as(n, &other, "another cluster");

    other = n->identity;
    other.incarnation.b[0] ^= 1;
    refused_as(n, &other, "not the one this node id was formed with");

    other = n->identity;
    other.peers[0].incarnation.b[0] ^= 1;
    other.peers[1].incarnation.b[0] ^= 1;
    refused_as(n, &other, "another data folder answers");

    other = n->identity;
    memcpy(other.peers[0].address, n->identity.peers[1].address, sizeof other.peers[0].address);
    memcpy(other.peers[1].address, n->identity.peers[0].address, sizeof other.peers[1].address);
    refused_as(n, &other, "its address leads to another node");

    other = n->identity;
    other.hash_version = 9;
    refused_as(n, &other, "other shards");

    node_open(n);
    assert_true(run_until(all_led, 3000));
    assert_true(run_until(all_even, 3000));
}

static void test_address_taken(void **state)
{
    char text[RAFT_HOST_TEXT_BYTES];
    (void)state;
    form_cluster();
    struct node *n = &t.nodes[1];
    node_close(n);
    uv_tcp_t squatter;
    struct sockaddr_in address;
    uv_tcp_init(&t.loop, &squatter);
    uv_ip4_addr("127.0.0.1", port_of(n->id), &address);
    assert_int_equal(uv_tcp_bind(&squatter, (struct sockaddr *)&address, 0), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&squatter, 1, NULL), 0);
    assert_int_equal(try_open(n, &n->identity, text), MUSTER_E_BUSY);
    assert_non_null(strstr(text, "cannot listen"));
    node_close(n);
    uv_close((uv_handle_t *)&squatter, NULL);
    run_until(NULL, 10);
}

/* ---- forming gone wrong ----------------------------------------------------------------------------------------------------------------- */

static void test_form_refuses(void **state)
{
    static struct client c;
    (void)state;
    open_forms();

    /* A node that is not there. */
    struct node *third = &t.nodes[2];
    form_server_close(third->form, NULL, NULL);
    third->form = NULL;
    run_until(NULL, 20);
    c.config = t.config;
    assert_int_equal(run_client(&c), MUSTER_E_CLOSED);
    assert_non_null(strstr(c.text, "node 3"));
    assert_non_null(strstr(c.text, "cannot be reached"));

    /* A node whose configuration differs. */
    struct form_config config = t.config;
    config.node_id = 3;
    config.shard_count = SHARDS + 1;
    form_open(third, &config);
    assert_int_equal(run_client(&c), MUSTER_E_INVALID);
    assert_non_null(strstr(c.text, "muster.shards=5"));
    form_server_close(third->form, NULL, NULL);
    run_until(NULL, 20);

    /* Two addresses mixed up. */
    config = t.config;
    config.node_id = 3;
    form_open(third, &config);
    memcpy(c.config.peers[0].address, t.config.peers[1].address, sizeof c.config.peers[0].address);
    assert_int_equal(run_client(&c), MUSTER_E_INVALID);
    assert_non_null(strstr(c.text, "the address leads to node 2"));

    /* All is well, twice. */
    c.config = t.config;
    assert_int_equal(run_client(&c), 0);
    struct uuid cluster_id = c.cluster_id;
    assert_true(run_until(all_formed, 1000));
    for (uint32_t i = 0; i < NODES; i++) {
        node_open(&t.nodes[i]);
    }
    assert_int_equal(run_client(&c), 0);
    assert_true(c.already);
    assert_true(uuid_eq(c.cluster_id, cluster_id));

    /* A wiped node beside formed ones is not formed again. */
    node_close(third);
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'/*", third->dir);
    assert_int_equal(system(command), 0);
    form_open(third, &config);
    assert_int_equal(run_client(&c), MUSTER_E_EXISTS);
    assert_non_null(strstr(c.text, "wiped"));
    struct uv_peer_status peers[NODES];
    run_until(NULL, 1000);
    uv_replica_peers(t.nodes[0].world, peers, NODES);
    assert_non_null(strstr(peers[1].refusal, "empty"));
}

/* What a prepare leaves behind, made by the real thing. */
static void prepared_file(struct node *n, const struct store_identity *id)
{
    static struct form form;
    static struct form_request request;
    struct form_config config = t.config;
    struct form_answer answer;
    char text[RAFT_HOST_TEXT_BYTES];
    config.node_id = n->id;
    assert_int_equal(form_init(&form, &n->port, &config, text), 0);
    request.op = FORM_PREPARE;
    request.identity = *id;
    form_handle(&form, &request, &request, &answer);
    assert_int_equal(answer.error, 0);
    assert_int_equal(answer.state, FORM_PREPARED);
}

/* The client dies after the first commit: the next run finishes the others, with the same cluster. */
static void test_form_is_finished_by_a_retry(void **state)
{
    static struct client c;
    (void)state;
    open_forms();
    struct store_identity id = {.shard_count = SHARDS, .hash_version = 1, .peer_count = NODES};
    memset(id.cluster_id.b, 3, 16);
    for (uint32_t i = 0; i < NODES; i++) {
        id.peers[i] = t.config.peers[i];
        memset(id.peers[i].incarnation.b, (int)i + 1, 16);
    }
    for (uint32_t i = 0; i < NODES; i++) {
        id.node_id = i + 1;
        id.incarnation = id.peers[i].incarnation;
        struct node *n = &t.nodes[i];
        form_server_close(n->form, NULL, NULL);
        n->form = NULL;
        run_until(NULL, 10);
        prepared_file(n, &id);
        struct form_config config = t.config;
        config.node_id = n->id;
        if (i == 0) {
            assert_int_equal(store_identity_write(&n->port, &id), 0);
            n->identity = id;
            node_open(n);
        } else {
            form_open(n, &config);
        }
    }
    c.config = t.config;
    if (run_client(&c) != 0) {
        fail_msg("%s", c.text);
    }
    assert_false(c.already);
    assert_true(uuid_eq(c.cluster_id, id.cluster_id));
    assert_true(run_until(all_formed, 1000));
    node_open(&t.nodes[1]);
    node_open(&t.nodes[2]);
    assert_true(run_until(all_led, 3000));
}

int main(void)
{
    log_set(NULL, NULL, LOG_ERROR + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_life, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refusals, setup, teardown),
        cmocka_unit_test_setup_teardown(test_address_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(test_form_refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_form_is_finished_by_a_retry, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
