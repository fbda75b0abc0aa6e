/* uv_fixture.h: replicas in one process and one loop, over loopback, with real files. */
#ifndef MUSTER_TEST_RAFT_UV_FIXTURE_H
#define MUSTER_TEST_RAFT_UV_FIXTURE_H

#include <muster/raft_host.h>

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

extern struct fixture {
    uv_loop_t loop;
    uv_check_t check;
    struct node nodes[NODES];
    struct form_config config;
} t;

extern uint64_t left_at; /* the last entry of a node that went */

uint16_t port_of(uint32_t id);
int try_open(struct node *n, const struct store_identity *identity, char *text);
void node_open(struct node *n);
void on_check(uv_check_t *check);
/* Runs the loop until the condition holds; false after limit_ms. */
bool run_until(bool (*condition)(void), unsigned limit_ms);
struct node *leader_of(uint32_t shard);
bool all_led(void);
bool all_even(void);
bool log_has_moved_on(void);
bool snapshot_installed(void);
uint64_t fast_elections(void);
void node_close(struct node *n);
void put(uint32_t shard, int count, size_t size);

#endif
