/* Three replicas in one process and one loop, over loopback, with real files: forming, elections, replication, a node that goes and comes, and
 * every reason why a node is not let in. */
#include "uv_fixture.h"

#include "form.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

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
    for (int i = 0; i < 500 && t.nodes[to - 1].messages < 2; i++) {
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
    struct uv_peer_status peers[NODES];
    for (int i = 0; i < 500; i++) {
        run_until(NULL, 10);
        assert_int_equal(uv_replica_peers(n->world, peers, NODES), NODES - 1);
        if (peers[0].refusal[0] != '\0' && peers[1].refusal[0] != '\0') {
            break;
        }
    }
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

/* In all shards, by whoever leads them. */
static void change_all(enum replica_change change, uint32_t node)
{
    for (uint32_t s = 0; s < SHARDS; s++) {
        int rc = MUSTER_E_BUSY;
        for (int i = 0; i < 500 && rc != 0; i++) {
            rc = leader_of(s) != NULL ? replica_change_member(leader_of(s)->replica, s, change, node) : rc;
            run_until(NULL, 10);
        }
        assert_int_equal(rc, 0);
    }
}

static void set_peers(uint32_t count)
{
    for (uint32_t i = 0; i < NODES - 1; i++) {
        struct store_identity file;
        assert_int_equal(uv_replica_set_peers(t.nodes[i].world, t.nodes[2].identity.peers, count), 0);
        for (int k = 0; k < 500; k++) {
            run_until(NULL, 10);
            assert_int_equal(store_identity_read(&t.nodes[i].port, &file), 0);
            if (file.joined && file.peer_count == count) {
                break;
            }
        }
        assert_true(file.joined && file.peer_count == count && file.node_id == i + 1);
        assert_true(uuid_eq(file.peers[1].incarnation, t.nodes[1].identity.incarnation));
    }
}

/* A node whose folder was wiped is let in again in another life, learns, votes, and goes. */
static void test_a_node_is_replaced(void **state)
{
    (void)state;
    form_cluster();
    struct node *n = &t.nodes[2];
    node_close(n);
    assert_true(run_until(all_led, 5000));
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'/*", n->dir);
    assert_int_equal(system(command), 0);
    n->identity.incarnation.b[0] ^= 1;
    n->identity.peers[2].incarnation = n->identity.incarnation;
    n->identity.joined = true;
    assert_int_equal(store_identity_write(&n->port, &n->identity), 0);
    refused_as(n, &n->identity, "not the one this node id was formed with");
    change_all(REPLICA_REMOVE, 3);
    set_peers(3);
    node_open(n);
    put(0, 100, 100);
    change_all(REPLICA_ADD_LEARNER, 3);
    change_all(REPLICA_PROMOTE, 3);
    assert_true(run_until(all_even, 5000));
    assert_true(n->commands[0] >= 100);
    assert_string_equal(n->fatal, "");
    change_all(REPLICA_REMOVE, 3);
    set_peers(2);
    struct uv_peer_status peers[NODES];
    for (int i = 0; i < 500; i++) {
        run_until(NULL, 10);
        assert_int_equal(uv_replica_peers(n->world, peers, NODES), 2);
        if (peers[0].expelled && peers[1].expelled) {
            break;
        }
    }
    assert_true(peers[0].expelled && peers[1].expelled);
    assert_int_equal(uv_replica_peers(t.nodes[0].world, peers, NODES), 1);
    assert_true(peers[0].connected && peers[0].heard);
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
    assert_non_null(strstr(c.text, "to be taken in there: muster cluster replace 3"));
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
        cmocka_unit_test_setup_teardown(test_a_node_is_replaced, setup, teardown),
        cmocka_unit_test_setup_teardown(test_address_taken, setup, teardown),
        cmocka_unit_test_setup_teardown(test_form_refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_form_is_finished_by_a_retry, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
