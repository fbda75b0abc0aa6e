/* fake_node.h: a node that is made up: it moves coordinators, refuses, hangs and talks nonsense on demand. MUSTER_BOOTSTRAP names it while it lives. */
#ifndef TESTS_CLI_FAKE_NODE_H
#define TESTS_CLI_FAKE_NODE_H

#include "run.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

enum { CONNECTIONS_MAX = 32, NODE_ID = 7, WIDE = 60000 };

struct fake;
typedef const void *fake_more_fn(struct fake *f, int16_t key, const void *request);

struct fake {
    int listener;
    int port;
    pthread_t thread;
    atomic_bool stop;
    struct pollfd fds[CONNECTIONS_MAX + 1];
    int count;
    /* What to do. */
    atomic_int coordinator_missing; /* so many FindCoordinator are answered COORDINATOR_NOT_AVAILABLE */
    atomic_int not_coordinator;     /* so many DescribeGroups are answered NOT_COORDINATOR */
    atomic_int not_controller;      /* so many CreateTopics are answered NOT_CONTROLLER */
    atomic_int transfer_busy;       /* so many TransferShard are answered COORDINATOR_NOT_AVAILABLE */
    atomic_int transfer_in_vain;    /* so many after them are accepted, yet nothing changes */
    atomic_int not_serving;         /* so many ListGroups are answered COORDINATOR_LOAD_IN_PROGRESS once shard 1 was handed over */
    atomic_bool silent, garbage, leaderless, close_on_create, kafka, list_loading, transferred, moved_leader;
    atomic_int creates;
    char client_id[64]; /* of the newest request */
    /* What a test answers by itself: these keys are offered, too, and asked for here first. NULL: as ever. */
    fake_more_fn *more;
    const int16_t *more_keys;
    size_t more_count;
    void *more_state;
    struct arena arena;
};

/* The test answers these keys from now on; keys borrowed. */
void fake_more(struct fake *f, fake_more_fn *more, const int16_t *keys, size_t count);

/* For cmocka: *state is the node. */
int fake_setup(void **state);
int fake_teardown(void **state);

#endif
