/* world.h: what stands around api in its tests. A coordinator that decides at once with the real group library (or holds requests when told to), a replica that
 * only remembers, and connections made of buffers. They take the places of coord, raft and net at link time. */
#ifndef MUSTER_TESTS_API_WORLD_H
#define MUSTER_TESTS_API_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <muster/api.h>

enum { SHARDS = 4, SELF = 1, NODES = 3, MAX_MESSAGES = 64, MAX_HELD = 64 };

struct net_slot {
    struct arena arena;
    struct buf out;
    void *user;
    enum net_verdict verdict;
    bool answered, closed, released, gone;
};

struct sent {
    uint32_t node;
    uint16_t channel;
    struct buf data;
};

/* struct coord and struct replica are this. */
struct world {
    struct pool pool;
    struct group_set *sets[SHARDS];
    int16_t state[SHARDS]; /* of coord_shard_state */
    uint32_t leader[SHARDS];
    bool moves[SHARDS];
    uint64_t index[SHARDS];
    struct group_settings settings;
    struct topics topics;
    struct arena scratch;
    bool hold; /* coord keeps what it is given */
    struct coord_request *held[MAX_HELD];
    struct coord_read *reads[MAX_HELD];
    bool hold_folder_reads; /* until the test says that they are done; else there is no such file, at once */
    struct api_folder_read *folder_reads[MAX_HELD];
    size_t folder_read_count;
    size_t held_count, read_count, cancelled, submitted, let_go;
    struct coord_cut *cut; /* the one that is open */
    bool connected[NODES + 1];
    bool send_fails;
    struct sent sent[MAX_MESSAGES];
    size_t sent_count;
    int transfer_rc;
    uint32_t transfer_shard, transfer_node;
    struct api *api;
    struct api_options options;
    struct net_handler handler;
    int64_t now_us;
    struct arena memory; /* of decoded answers */
    uint32_t ids;
};

int world_setup(void **state);
int world_teardown(void **state);
void world_restart(struct world *w);                               /* the api anew, with w->options */
void world_pass(struct world *w, int64_t ms);                      /* time */
void world_decide(struct world *w, struct coord_request *request); /* a held one, or at once */
void world_finish_read(struct world *w, struct coord_read *read, int16_t error);

/* A frame as a client sends it, to be released by slot_free. */
struct net_slot *slot_frame(struct world *w, const void *frame, size_t len);
struct net_slot *slot_ask(struct world *w, int16_t key, int16_t version, const void *request);
void slot_follows(struct world *w, struct net_slot *slot); /* another frame came behind it */
void slot_gone(struct world *w, struct net_slot *slot);
void slot_free(struct net_slot *slot); /* checks that it was released */
/* The decoded answer. */
const void *slot_answer(struct world *w, struct net_slot *slot, int16_t key, int16_t version);
/* All three at once, for what is answered at once. */
const void *ask(struct world *w, int16_t key, int16_t version, const void *request);

void create_topic(struct world *w, const char *name, int32_t partitions);
struct str group_of_shard(struct world *w, uint32_t shard); /* an id that lies there */
void register_node(struct world *w, int32_t node, const char *host, int32_t port);
void commit(struct world *w, struct str group, const char *topic, int32_t partition, int64_t offset);

#define STR_IS(view, text) assert_true(str_eq((view), str_of(text)))

extern const struct CMUnitTest members_tests[];
extern const size_t members_test_count;
extern const struct CMUnitTest protocol_tests[], group_tests[], topic_tests[], data_tests[], forward_tests[], streams_tests[],
    consumer_tests[];
extern const size_t protocol_test_count, group_test_count, topic_test_count, data_test_count, forward_test_count, streams_test_count,
    consumer_test_count;
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

#endif
