/* coord.h: who may answer now. Takes decoded requests from api, decides them with the group library, puts the records of a turn into one entry a shard,
 * and lets an answer out only when it is true: after its entry is applied, or after a confirmation round.
 *
 * One struct coord per node, all shards inside; everything on the loop thread. Requests are struct coord_request, made by the caller with the memory they
 * need (an arena that holds the decoded message) and given back through done() exactly once. */
#ifndef MUSTER_COORD_H
#define MUSTER_COORD_H

#include <muster/group.h>
#include <muster/replica.h>

struct coord;
struct beat;                                     /* coord's own */

struct coord_options {
    struct group_settings settings;              /* of this node; budgets are a shard's share */
    uint32_t shard_count;
    size_t entry_max_bytes;                      /* muster.entry.max.bytes */
    int64_t election_timeout_us;                 /* deadlines advance only while a majority was heard of within this */
    int64_t stall_us;                            /* a turn that comes later than this after the one before gives all deadlines the lost time */
    int64_t retention_check_us;
    int64_t commit_timeout_us;                   /* a change that is not stored by then is answered COORDINATOR_NOT_AVAILABLE; 0: never */
    size_t max_parked;                           /* requests inside coord; beyond it new ones are refused with COORDINATOR_NOT_AVAILABLE */
    uint64_t hash_interval;                      /* muster.state.hash.interval: after so many entries the state's hash is written with the next one; 0: never */
    bool close_on_rebalance;                     /* muster.classic.rebalance.signal = close */
    uint32_t max_jobs;                           /* muster.jobs.max: that run at once; others of this node wait their turn */
    uint32_t max_creations;                      /* creations of topics under way at once */
    uint32_t max_beats;                          /* muster.group.heartbeat.hold.max: heartbeats that are held at once; others are answered at once */
};

/* Calls out of coord; from within coord_* calls only. */
struct coord_events {
    void *ctx;
    void (*draw_id)(void *ctx, struct uuid *ret);            /* 16 random bytes */
    int64_t (*wall_ms)(void *ctx);
    /* The connection's owner should close it: its members have to rejoin at once (signal = close). */
    void (*close_connection)(void *ctx, uint64_t connection);
    /* State that must stop the node: a broken entry, a revision that does not match. */
    void (*fatal)(void *ctx, const char *text);
    /* A committed entry, or a snapshot, holds what only a newer program knows: the node must stop, nothing of it is applied. NULL: fatal is called instead. */
    void (*outdated)(void *ctx, const char *text);
    /* Messages of other layers between nodes (channels below COORD_CHANNEL_FIRST), and the state of the connections. */
    void (*message)(void *ctx, uint32_t from, uint16_t channel, struct bytes data);
    void (*peer)(void *ctx, uint32_t node, bool connected);
    /* A shard changed hands, or the catalogue was changed and applied here; NULL: nobody cares. */
    void (*role)(void *ctx, uint32_t shard, enum replica_role role, uint64_t term, uint32_t leader);
    void (*catalog_changed)(void *ctx, uint64_t index);
    /* For the log and the metrics; NULL: nobody cares. */
    void (*decided)(void *ctx, uint32_t shard, const struct group_op *op, const struct group_out *out);
    /* Runs group_job_run(job) on another thread, then calls coord_job_done() on the loop, once; or group_job_free(), when coord or its replica is gone by then. */
    void (*run_job)(void *ctx, struct group_job *job);
    /* Makes topics, wherever shard 0 is led, as CreateTopics does; then coord_topics_created(), once, unless coord is gone by then. The request is valid during
     * the call only. */
    void (*create_topics)(void *ctx, uint64_t token, const struct create_topics_request *request);
};

/* Channels of replica_send that coord keeps for itself; everything below is the owner's. */
enum { COORD_CHANNEL_FIRST = 0x100, COORD_CHANNEL_BARRIER_ASK = 0x100, COORD_CHANNEL_BARRIER_ANSWER = 0x101, COORD_CHANNEL_TIMERS = 0x102 };

int  coord_new(struct coord **ret, const struct coord_options *options, const struct coord_events *events);
/* The replica is freed first: until then it may still call its events. Requests inside are refused. */
void coord_free(struct coord *c);
/* The replica's events are coord's: give them to the replica when it is made, then tell coord of the replica. Before that nothing may be submitted. */
void coord_replica_events(struct coord *c, struct replica_events *ret);
void coord_attach(struct coord *c, struct replica *r);

/* ---- requests ------------------------------------------------------------------------------------------------------------------- */

struct coord_request;
/* answer: see struct group_out; NULL when the request was cancelled. Lies in request->arena. The request is the caller's again. */
typedef void coord_done_fn(struct coord_request *request, int16_t error, const void *answer);

struct coord_request {
    struct group_op op;                          /* kind, api_key, api_version, group_id, request, caller: by the caller; the rest by coord */
    struct arena *arena;                         /* holds the message; takes the answer */
    uint64_t connection;                         /* for close_connection; 0: none */
    bool yields;                                 /* its answer may be held: the owner says so when something follows on the connection (coord_let_go()) */
    coord_done_fn *done;
    void *ctx;
    /* coord's own */
    struct {
        struct coord_request *next;
        uint8_t state;
        bool cancelled, followed, wait, more;
        uint32_t shard;
        int64_t since_us, came_us;
        int32_t told_ms;
        struct beat *beat;
        uint64_t round, phase;
        const void *answer;
        int16_t error;
        struct group_timer_wish *timers; size_t timer_count;
        bool assign, resolve;
        const struct create_topics_request *create;
        uint64_t creation;
    } in;
};
/* Takes the request. done() may be called before it returns (refusals), at the end of this turn or later. */
void coord_submit(struct coord *c, struct coord_request *request);
/* Something follows on the connection of a request that yields: from now on its answer is not held, and what was held is decided at once. */
void coord_let_go(struct coord *c, struct coord_request *request);
/* The client has gone: the request's effects stand, its answer is not wanted. done is called with answer NULL, now or later. */
void coord_cancel(struct coord *c, struct coord_request *request);

/* A read of several groups or of the catalogue that must be confirmed: calls done with error 0 once what the callback sees is true, or with a coordinator error.
 * Used for ListGroups (of one shard), describe_configs and other reads of shard state by api: `read` runs on the loop against the applied state of the shard. */
struct coord_read {
    uint32_t shard;
    bool local;                                  /* no confirmation: the node's applied copy will do (Metadata) */
    void (*read)(struct coord_read *read, const struct group_set *set);
    void (*done)(struct coord_read *read, int16_t error);
    void *ctx;
    struct { struct coord_read *next; uint64_t round, term; } in;
};
void coord_submit_read(struct coord *c, struct coord_read *read);

/* The state of a shard as of one entry, read out over many turns: what a backup is made of. What changes meanwhile is copied first (group_snapshot_begin), so a cut
 * that is not read costs memory: the owner closes it when nobody goes on reading, and it is lost when the replica wants to take a snapshot of its own. */
struct coord_cut {
    uint32_t shard;
    /* Once. 0: it is open, everything that anybody was told before coord_cut_open is in it, and the fields below are set. Else it is not: a coordinator error;
     * COORDINATOR_LOAD_IN_PROGRESS also while another cut or a snapshot of the shard is under way. May be called before coord_cut_open returns. */
    void (*opened)(struct coord_cut *cut, int16_t error);
    void (*lost)(struct coord_cut *cut);         /* an open one was closed: a snapshot is taken, or the state is replaced, or coord is freed */
    void *ctx;
    uint64_t index, term, state_hash;
    int64_t catalog_index;
    struct { struct coord_read read; struct coord *coord; bool frozen; } in;
};
/* The cut is coord's until it was refused, lost or closed. */
void coord_cut_open(struct coord *c, struct coord_cut *cut);
/* Appends the next run of records, about budget bytes, and says whether there are more. After the last one they are compared with the state's hash, as kept from the log:
 * MUSTER_E_CORRUPT if memory has changed by itself (the node ends; nothing that was drawn may be kept), else 0. */
int coord_cut_next(struct coord_cut *cut, size_t budget, struct buf *out, bool *ret_more);
void coord_cut_close(struct coord_cut *cut);     /* one that is open */

/* ---- what events asked the owner to do (struct coord_events) ---- */

void coord_job_done(struct coord *c, struct group_job *job);
/* failure: null when all the topics are there and this node has applied that; else "name (cause), ..." for people. */
void coord_topics_created(struct coord *c, uint64_t token, struct str failure);

/* ---- turns and time -------------------------------------------------------------------------------------------------------------- */

/* At the start of a turn, before its requests: now_us, monotonic. Sockets are drained before coord_expire is called. */
void    coord_turn_begin(struct coord *c, int64_t now_us);
/* Fires what is due, after the turn's requests were submitted. */
void    coord_expire(struct coord *c);
/* Proposes the turn's entries. The owner calls replica_flush next. */
void    coord_turn_end(struct coord *c);
/* When the next deadline may be due, for the loop's timer; 0: another turn is wanted at once; INT64_MAX: none. */
int64_t coord_next_deadline_us(const struct coord *c);

/* ---- questions ---------------------------------------------------------------------------------------------------------------------- */

uint32_t coord_shard_of(const struct coord *c, struct str group_id);
/* 0 serving here; NOT_COORDINATOR (16), LOAD_IN_PROGRESS (14) or NOT_AVAILABLE (15) otherwise; ret_leader: 0 when unknown. */
int16_t  coord_shard_state(const struct coord *c, uint32_t shard, uint32_t *ret_leader);
/* The shard is being handed over, and who leads it next is not known here yet: whoever asks for its leader should wait, which is over within an election timeout. */
bool     coord_shard_moves(const struct coord *c, uint32_t shard);
const struct group_set *coord_set(const struct coord *c, uint32_t shard);        /* applied state; borrowed for this turn */
struct replica *coord_replica(const struct coord *c);
/* Calls back once this node has applied the catalogue up to index, or at once when it has; used to answer config changes after all nodes have them. */
uint64_t coord_applied_index(const struct coord *c, uint32_t shard);

struct coord_stats {
    uint64_t requests, refused, entries, records, confirmed_reads, waits, gate_waits, expiries, rounds, leader_losses, stalls, too_large;
    uint64_t entries_failed;                                     /* proposed and not taken, or in flight when leadership was lost */
    uint64_t jobs, jobs_dropped, creations, creations_failed;
    uint64_t cuts, cuts_lost;
    uint64_t offices_given_up;                                   /* shards handed over because shard 0, and with it the catalogue, was out of reach */
    uint64_t beats, beats_moved, beats_let_go, beats_refused;    /* held; asked again because their group moved; let go for what followed; too many were held */
    uint64_t causes[GROUP_CAUSE_COUNT];                         /* why groups rebalance: decisions, by enum group_cause */
    uint64_t parked, queued, timers, jobs_running, jobs_queued, creations_running, cuts_open, beats_held;
};
void coord_stats(const struct coord *c, struct coord_stats *ret);

/* Remaining times of a shard's timers, for a graceful transfer; and their arrival at the new leader, from the node that led. */
void coord_handover_export(struct coord *c, uint32_t shard, struct buf *out);
void coord_handover_import(struct coord *c, uint32_t from, uint32_t shard, struct bytes data);

#endif
