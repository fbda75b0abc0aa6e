/* world.h: a few nodes of raft/core.c in one process, with a virtual clock, network and disk, all drawn from one seed.
 *
 * After every event the world checks: two nodes never apply different entries at one index, a term has at most one leader, and a confirmed read
 * sees everything that was acknowledged before it was asked for. A violated rule fails the running test. */
#ifndef MUSTER_TEST_RAFT_WORLD_H
#define MUSTER_TEST_RAFT_WORLD_H

#include "core.h"
#include "mem_port.h"

enum { WORLD_NODES = 7, WORLD_SHARDS = 4, WORLD_ENTRIES = 100000 };

struct world_shard {
    enum replica_role role;
    uint64_t term;
    uint32_t leader;
    int64_t led_before_us; /* as it was known when it began to serve */
    uint64_t applied;
    uint64_t hash;     /* over all entries applied, in order */
    uint64_t commands; /* ... with content */
    bool restoring;
    uint64_t read_round, read_floor; /* a read that waits for its round: it must see at least this index */
    uint64_t reads;                  /* confirmed */
    uint64_t frozen_hash, frozen_commands;
    bool frozen, frozen_given;
    unsigned configurations; /* how often members() was called */
};

struct world;

struct node {
    struct world *world;
    uint32_t id;
    bool part; /* of the world: started, or down and to come back */
    bool up, paused;
    unsigned incarnation;
    struct store_identity identity; /* as on its disk */
    unsigned known;                 /* the newest record of the members it has heard of */
    struct replica *core;
    struct store *store;
    struct mem_disk *disk;
    struct store_port port;
    struct world_shard shards[WORLD_SHARDS];
    int64_t tick_us; /* when core_tick is due */
    /* The outstanding batch: written to the disk when it is due. */
    const struct store_record *records;
    size_t record_count;
    int64_t write_done_us;
    int64_t write_takes_us; /* how long the disk takes */
    int force_result;       /* what the disk answers instead of 0 */
    struct world_job *jobs;
    bool jobs_wait;        /* snapshots come to no end */
    bool freeze_broken;    /* the state is not what was frozen */
    struct packet *socket; /* while paused */
    char fatal[512];
    unsigned life;
    uint64_t turn_applied, turn_last; /* bytes of entries applied since the last flush; of the last of them */
    struct {
        uint32_t shard;
        uint64_t index;
    } trims[64];
    size_t trim_count;
};

struct world {
    struct prng prng;
    int64_t now_us;
    uint32_t node_count, shard_count; /* the slots of node_count nodes; those after the founders join later */
    struct store_identity members;    /* the record of the members, of which a node hears with world_hear */
    unsigned members_version;
    struct node nodes[WORLD_NODES];
    struct core_options options;
    struct packet *packets;
    uint32_t drop_ppm, double_ppm;
    int64_t delay_min_us, delay_max_us;
    bool cut[WORLD_NODES + 1][WORLD_NODES + 1];  /* from, to */
    bool hush[WORLD_NODES + 1][WORLD_NODES + 1]; /* as cut, but the sender is not told: its connection looks up */
    uint64_t (*history)[WORLD_ENTRIES];          /* hash of shard's state after index; 0 not applied by anyone */
    uint32_t *leaders[WORLD_SHARDS];             /* by term */
    uint64_t acked[WORLD_SHARDS];                /* newest index whose proposer applied it while leading */
    uint64_t messages, bulk_bytes;
    uint64_t run_hash;  /* over every delivery and every applied entry: equal seeds give equal runs */
    uint32_t unchecked; /* a node whose state is wrong on purpose */
};

void world_init(struct world *w, uint64_t seed, uint32_t nodes, uint32_t shards);
void world_start(struct world *w); /* all founders */
/* Slots for nodes that are to join. Before world_start. */
void world_room(struct world *w, uint32_t nodes);
/* A node with an empty folder comes up under this id, for the first time or in place of one that was there, and enters the record of the members. */
void world_join(struct world *w, uint32_t id);
/* It leaves the record; its process goes on. */
void world_expel(struct world *w, uint32_t id);
void world_hear(struct world *w, uint32_t id); /* the node hears of the newest record */
void world_hear_all(struct world *w);
/* By the newest configuration in the node's log. */
bool world_votes(struct world *w, uint32_t at, uint32_t shard, uint32_t node);
bool world_learns(struct world *w, uint32_t at, uint32_t shard, uint32_t node);
/* Asks the shard's leader for the change until it is committed there; false after limit_us. */
bool world_change(struct world *w, uint32_t shard, enum replica_change change, uint32_t node, int64_t limit_us);
void world_fini(struct world *w);
void world_run(struct world *w, int64_t us); /* lets that much time pass */
/* Until every shard has one serving leader that all running, connected nodes follow; false after limit_us. */
bool world_settle(struct world *w, int64_t limit_us);
/* Until all running nodes have applied the same index everywhere. */
bool world_even(struct world *w, int64_t limit_us);
void world_kill(struct world *w,
                uint32_t id); /* a crash: what was not synced may be gone, the batch under way may be torn; others see the refusal */
void world_restart(struct world *w, uint32_t id);
/* Writes into the log of a node that is down that it has been in this term. */
void world_set_term(struct world *w, uint32_t id, uint32_t shard, uint64_t term);
void world_pause(struct world *w, uint32_t id); /* as SIGSTOP: connections stay, packets wait */
void world_resume(struct world *w, uint32_t id);
void world_isolate(struct world *w, uint32_t id, bool cut);
struct node *world_node(struct world *w, uint32_t id);
struct node *world_leader(struct world *w, uint32_t shard); /* the serving leader of the highest term, NULL */
/* Proposes a command of this size at the node. */
int world_propose(struct world *w, struct node *n, uint32_t shard, size_t size);
/* At the current leader; false if there is none or it is busy. */
bool world_put(struct world *w, uint32_t shard, size_t size);
void world_read(struct world *w, struct node *n, uint32_t shard);
void world_flush(struct world *w, struct node *n);
void world_show(const struct world *w); /* one line per shard and node on standard error: for a failing seed */

#endif
