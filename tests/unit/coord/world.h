/* The world of coord's tests: a coord on a replica that commits and confirms when told to, and the requests of clients. */
#ifndef MUSTER_COORD_TEST_WORLD_H
#define MUSTER_COORD_TEST_WORLD_H

#include <muster/coord.h>

#include "fake_replica.h"

enum { MS = 1000, SECOND = 1000 * 1000, MAX_JOBS = 2, MAX_CREATIONS = 2, MAX_BEATS = 40, MOST_ERRANDS = 16, HASH_INTERVAL = 50 };

struct world {
    struct replica *replica;
    struct coord *coord;
    int64_t now_us;
    uint8_t next_id;
    int fatal;
    uint64_t closed_connection;
    /* What coord asked to be done outside, oldest first; the test does it. */
    struct group_job *jobs[MOST_ERRANDS];
    struct {
        uint64_t token;
        char name[64]; /* of the first topic */
    } creations[MOST_ERRANDS];
    int job_count, creation_count;
};

/* A request and what was answered. */
struct call {
    struct coord_request request;
    struct arena arena;
    int done;
    int16_t error;
    const void *answer;
};

/* Nobody leads yet. */
struct world *world_new(uint32_t shards, bool close_on_rebalance);
/* This node leads every shard, and the topic "t" has one partition. */
struct world *serving_world(uint32_t shards);
void world_free(struct world *w);

/* A turn of the loop: what comes between the two is one turn. */
void turn_begin(struct world *w, int64_t later_us);
void turn_end(struct world *w);
/* Turns until nothing is left to do, everything committed and confirmed. */
void settle(struct world *w);

/* Another node leads shard 0 for a while, and then this one again. */
void lose_and_regain(struct world *w);

/* A request of no body; whoever makes it frees it once it is answered: call_free insists on exactly one answer. */
struct call *call_new(enum group_op_kind kind, int16_t api_key, int16_t version, const char *group);
void call_free(struct call *c);

/* Requests, submitted at once. */
struct call *create_topic(struct world *w, const char *name, int32_t partitions);
void alter_budget(struct world *w, const char *name, const char *value); /* for the whole cluster, and settles */
struct call *join(struct world *w, const char *group, const char *member, uint64_t connection);
struct call *sync_group(struct world *w, const char *group, struct str member, int32_t generation);
struct call *heartbeat(struct world *w, const char *group, struct str member, int32_t generation);
struct call *commit(struct world *w, const char *group, int64_t offset);
struct call *commit_with(struct world *w, const char *group, int64_t offset, struct str metadata);
struct call *commit_as(struct world *w, const char *group, struct str member, int32_t generation); /* a member's */
struct call *fetch(struct world *w, const char *group);
/* One member of a group, joined and synced; *ret_member lives as long as the call returned. */
struct call *stable_member(struct world *w, const char *group, struct str *ret_member);

/* Parts of an answer. */
int16_t commit_error(const struct call *c);
int64_t fetched(const struct call *c);

#endif
