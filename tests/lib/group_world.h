/* group_world.h: one shard with a coordinator that commits at once, for tests of the group library.
 *
 * Each decision's records go into one entry, which is applied; timers run on a virtual clock; requests that wait are asked again when their group's phase
 * moves. Before a decision counts it is made a second time on an overlay and must be the same; after each entry the state is written as a snapshot, restored,
 * and must have the same hash. */
#ifndef MUSTER_TESTS_GROUP_WORLD_H
#define MUSTER_TESTS_GROUP_WORLD_H

#include <muster/group.h>

struct world_request;
struct world_timer;

/* What happened, in order. Requests are named by whoever made them. */
struct world_events {
    void *ctx;
    void (*record)(void *ctx, struct record record);
    void (*waits)(void *ctx, const struct world_request *request, const struct group_out *out);
    void (*asked)(void *ctx, const struct world_request *request, const struct group_out *out); /* again, and it waits on */
    void (*answer)(void *ctx, const struct world_request *request, const struct group_out *out);
    void (*silent)(void *ctx, const struct group_op *op, const struct group_out *out); /* a timer, a takeover, a sweep */
};

enum { WORLD_TOPICS = 64, WORLD_NAME = 64 };
struct world_topic {
    char name[WORLD_NAME];
    struct uuid id;
    int32_t partitions;
    bool deleted;
};

struct world {
    struct pool pool;
    struct group_set *set;
    struct group_set *shard0; /* the catalogue that decisions are shown; empty unless a test fills it */
    struct group_settings settings;
    struct topics topics;
    struct world_topic topic[WORLD_TOPICS];
    int topic_count;
    struct world_events events;
    struct arena scratch;
    int64_t now_ms;
    uint64_t index;
    uint32_t ids, other_ids; /* drawn so far: the nth member id is all zeros but for n at its end */
    struct world_timer *timers;
    struct world_request *requests; /* that wait, oldest first */
    struct world_request *making;   /* that wait for topics, oldest first */
    bool hold;                      /* requests that wait are not asked again until it is lifted */
    bool check;         /* overlay and snapshot checks at each step (on by default), and that the history is as the groups are */
    bool history_whole; /* it was recorded from the beginning */
    int64_t decisions, entries;
};

struct world_request {
    struct world_request *next;
    char name[WORLD_NAME];
    struct arena arena; /* the request, and the answer */
    struct group_op op;
    uint64_t phase;
    const void *tag; /* of the caller */
};

void world_init(struct world *w, const struct world_events *events);
void world_fini(struct world *w);

/* A request to fill in: op.kind, api_version, group_id, request, caller, all in its arena. Then world_submit() owns it. */
struct world_request *world_request_new(const char *name);
void world_request_free(struct world_request *request); /* one that was not submitted */
void world_submit(struct world *w, struct world_request *request);
/* Of those without a client: TIMER, TAKEOVER, RETENTION, TOPICS_CHANGED. */
void world_run(struct world *w, struct group_op *op);

/* Advances the clock, firing what is due on the way. */
void world_tick(struct world *w, int64_t ms);
/* Another node becomes coordinator: requests that wait are refused, timers armed afresh, members without a delivered id dropped. */
void world_failover(struct world *w);
/* The topics the group's requests wait for have been made, or not (failure, else null): they are decided again, from the beginning. */
void world_made(struct world *w, struct str group_id, struct str failure);
/* Asks the waiting requests again, unless held. */
void world_ask_again(struct world *w);
/* One entry with these records, as a leader would log it. */
void world_apply(struct world *w, const struct record *records, size_t count);
/* Armed timers of a group, soonest first: how many, and the nth. */
bool world_timer_at(const struct world *w, int n, struct group_timer *ret, int64_t *ret_due_ms);

/* A job of the group that has run; NULL when there is nothing to do. Its result is brought back with GROUP_JOB_DONE. */
struct group_job *world_job(struct world *w, struct str group_id, enum group_job_kind kind);
void world_group_config(struct world *w, struct str group_id, struct str name, struct str value); /* value null: unset */
void world_level(struct world *w, int16_t level);                            /* the cluster's feature level, 1 to begin with */
void world_topic_set(struct world *w, const char *name, int32_t partitions); /* made, grown; partitions 0: deleted */
/* A snapshot of the set in slices of `budget` bytes, restored into a new set. NULL when that fails. */
struct group_set *world_restored(struct world *w, struct pool *pool, size_t budget);

#endif
