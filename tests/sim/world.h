/* world.h: a seeded world for whole nodes. Virtual clock, network and disks; real coord, group, raft core and storage recovery; model clients.
 * The same seed gives the same run: every choice comes from one generator, every event from one ordered heap, and the run's hash says so. */
#ifndef MUSTER_SIM_WORLD_H
#define MUSTER_SIM_WORLD_H

#include <bsd/sys/queue.h>
#include <stdio.h>

#include <muster/coord.h>
#include <muster/store.h>

#include "core.h"
#include "mem_port.h"

enum { SIM_NODES_MAX = 5, SIM_SHARDS = 4, SIM_PARTITIONS = 6, SIM_GROUPS_MAX = 8, SIM_CLIENTS_MAX = 48, SIM_ID_MAX = 80 };
enum { SIM_STREAMS_GROUPS = 4, SIM_STREAMS_MEMBERS = 16, SIM_CREATIONS_MAX = 128, SIM_TOPICS_MAX = 512 };
enum { SIM_CONSUMER_GROUPS = 5, SIM_CONSUMER_MEMBERS = 20, SIM_REGISTERS = SIM_GROUPS_MAX + SIM_CONSUMER_GROUPS };
/* Members that are not settled are asked to heartbeat that soon. */
enum { SIM_BEAT_FLOOR_MS = 60 };
/* Those whose heartbeats are held, seldom; of one node no more than so many are. */
enum { SIM_HOLD_INTERVAL_MS = 200, SIM_HELD_MAX = 12 };
/* A broker-wide number of standby tasks that no process count reaches: it counts for the cost of an assignment, so that groups with a dozen tasks and more
 * are assigned by jobs, smaller ones within a decision. */
enum { SIM_STANDBYS = 400 };
/* Assignments of consumer groups that cost more are made by jobs: those of the group with many partitions. */
enum { SIM_INLINE_COST = 16 };
enum { SIM_SESSION_MS = 1500, SIM_QUIET_FROM = 24, SIM_STALL_US = 200000, SIM_ELECTION_US = 300000 };
/* The monotonic clocks of nodes run at 0.9 to 1.1 of the world's, by which clients live: a node may see a time pass that much sooner. */
enum { SIM_DRIFT_PER_MILLION = 100000 };
enum { SIM_HASH_INTERVAL = 64, SIM_LOG_RETAIN_BYTES = 48 << 10 };
/* In some worlds the log is so long that nobody gets by a snapshot what he lacks. */
enum { SIM_LONG_LOG_BYTES = 8 << 20 };
/* The world begins, and is left in peace for a while. */
enum { SIM_BEGIN_US = 1000000, SIM_FIRST_FAULT_US = SIM_BEGIN_US + 3000000 };
#define SIM_LEAST_US(ms) ((int64_t)(ms)*1000 * 1000000 / (1000000 + SIM_DRIFT_PER_MILLION))

#define SIM_TOPIC "orders"

struct sim;
typedef void sim_fn(struct sim *sim, void *arg, uint64_t tag);

struct sim_due {
    int64_t at_us;
    uint64_t order;
    uint32_t place; /* of its event */
};
struct sim_event {
    sim_fn *fn;
    void *arg;
    uint64_t tag;
    void (*drop)(void *arg);
};

/* What the run did: the closing lines, and the minima that a set of seeds must reach. */
/* clang-format off */
#define SIM_TOTALS(X) \
    X(events) X(turns) X(slow_turns) X(messages) X(dropped) X(reordered) X(duplicated) X(stutters) X(crashes) X(restarts) X(partitions) X(splits) X(one_way_fled) X(estranged) X(pauses) X(stalls) \
    X(slow_disks) X(full_disks) X(full_writes) X(hung_disks) X(disks_fled) X(flips) X(misdirected) X(lies) X(lies_mended) X(memory_flips) X(memory_flips_leader) X(diverged_found) X(wrong_snapshots) X(wrong_handed_on) X(refused_starts) X(replaced) X(outdated) X(levels_raised) X(offices_recorded) X(backups) X(backups_begun_again) X(cuts_lost) X(histories) X(resets) X(reset_members) X(grown) X(shrunk) X(leaders_removed) X(torn_tails) X(clock_jumps) X(transfers) X(leaders_spread) X(elections) X(fast_elections) X(votes_parked) \
    X(snapshots_taken) X(snapshots_installed) X(snapshots_uncompared) X(entries_cut) X(rounds) X(confirmed_reads) X(gates_closed) X(expiries) \
    X(refused) X(joins) X(generations) X(heartbeats) X(commits) X(commits_acked) X(fetches) X(leaves) X(deaths) X(fenced) \
    X(unknown_outcomes) X(topics_changed) X(hashes) X(jobs) X(creations) X(topics_made) \
    X(streams_joins) X(streams_beats) X(streams_moves) X(streams_fenced) X(streams_strays) X(streams_not_ready) X(streams_looks) \
    X(streams_describes) X(streams_given) \
    X(consumer_joins) X(consumer_beats) X(consumer_moves) X(consumer_fenced) X(consumer_strays) X(consumer_full) \
    X(consumer_changes) X(consumer_commits) X(consumer_stale) X(consumer_fetches) X(consumer_looks) X(consumer_describes) \
    X(consumer_beside) X(beats_held) X(beats_moved) X(beats_let_go) X(beats_refused) X(followed) X(seen_held) \
    X(consumer_classic_joins) X(consumer_assigned) X(consumer_resolved) X(upgrades) X(downgrades) X(members_compared)
/* clang-format on */
struct sim_totals {
#define X(name) uint64_t name;
    SIM_TOTALS(X)
#undef X
};

/* What else a seed is about. */
enum sim_story { STORY_NONE, STORY_MEMBERS, STORY_LEVELS };

/* Kinds of faults, for runs with some of them alone. */
/* clang-format off */
#define SIM_KINDS(X) \
    X(CRASH, "crashes") X(CUT, "cuts") X(ONE_WAY, "one-way-cuts") X(ESTRANGED, "estranged") X(PAUSE, "pauses") X(SLOW_DISK, "slow-disks") X(CLOCK_JUMP, "clock-jumps") \
    X(TRANSFER, "transfers") X(MISDIRECTED, "misdirected") X(LIE, "lies") X(MEMORY, "memory") X(FULL, "full-disks") X(HUNG, "hung-disks") X(DRIFT, "drift") \
    X(SLOW_TURN, "slow-turns") X(NETWORK, "network") X(DUPLICATE, "duplicates") X(TORN, "torn-writes")
/* clang-format on */
enum sim_kind {
#define X(name, text) KIND_##name,
    SIM_KINDS(X)
#undef X
};

struct sim_options {
    uint64_t seed;
    uint32_t only; /* those kinds, a bit each; 0: all */
    enum sim_story story;
    uint32_t nodes, groups, clients;
    int64_t duration_us; /* with faults; then everything heals and must settle */
    bool faults, verbose;
    bool damage;   /* of disks and memory, too */
    FILE *history; /* of offset operations, for tests/lin; NULL: none */
};

/* ---- nodes (node.c) ---- */

/* A request on its way or inside a coord (request.c); of members, on a connection (connection.c). */
struct sim_node;
struct sim_connection;
struct sim_request {
    struct coord_request request;
    struct arena arena;
    struct sim *sim;
    struct sim_node *node; /* that has it, in that life */
    uint64_t life, serial;
    const void *answer;
    void *owner;
    void (*arrived)(struct sim_request *r); /* the answer has come back; the request is freed behind it */
    struct sim_connection *connection;      /* NULL: none; its end is not noticed, and nothing is ordered */
    struct sim_request *next;               /* behind it on the connection */
    int64_t entered_us;
    int32_t told_ms;         /* the interval that its client knew of on that connection */
    bool answered, followed; /* by something on the connection */
    bool was_held;           /* it was a heartbeat whose answer was held */
    int64_t let_go_us;       /* when that was over */
    int32_t assigned;        /* and the epoch of its group's assignment then; 0: not known */
};

enum damage { DAMAGE_NONE, DAMAGE_FLIP, DAMAGE_MISDIRECTED, DAMAGE_LIE };
struct sim_kept { /* what a node's disk was said to have of a shard; last_term 0: not known */
    uint64_t term, vote, last_index, last_term;
};

struct sim_wrong {
    uint32_t shard;
    uint64_t index, hash;
};

struct sim_node {
    struct sim *sim;
    uint32_t id;
    bool alive;
    uint64_t life;           /* counts starts: what belongs to an earlier life is void */
    int64_t paused_until_us; /* a stopped process: its sockets fill, it does nothing */
    int64_t disk_slow_until_us;
    int64_t disk_hangs_until_us;      /* disks.c */
    bool disk_full, disk_writes_fail; /* nothing on it grows; and any write may fail for that */
    int64_t disk_useless_since_us;    /* its log takes no entries; 0: it does, or none were tried */
    uint64_t disk_trouble;            /* counts */
    bool catalog_restores;            /* shard 0's state is being replaced */
    int64_t wall_offset_ms;           /* its wall clock against the world's */
    int64_t clock_base_us;            /* its monotonic clock when the world began, */
    int64_t clock_rate;               /* and how many of its microseconds a second of the world has */
    int64_t slow_until_us;            /* its turn takes until then: what it says leaves it at the end */
    struct mem_disk *disk;
    struct store_port port;
    struct store *store;
    struct replica *core;
    struct coord *coord;
    struct replica_events coord_events; /* what coord wants to hear; the checkers listen in */
    const struct store_record *batch;
    size_t batch_count; /* being written */
    uint64_t batch_serial;
    struct sim_input *inbox, **inbox_end;
    int64_t turn_at_us; /* a turn is scheduled; 0: none */
    uint64_t turn_serial;
    bool sees[SIM_NODES_MAX + 1]; /* has a connection to that node */
    uint64_t torn_tails;
    enum damage damage; /* of its disk, since it was last known to be whole (damage.c) */
    char damaged_file[64];
    struct sim_kept kept[SIM_SHARDS], lied[SIM_SHARDS];
    int64_t power_behind_us; /* its write that lands elsewhere is its last: the power goes so long behind it; 0: not */
    bool lies_next;
    bool lie_owed;               /* it has lost what its disk lied about, and may not have it again */
    bool lie_open;               /* what its disk said was synced is not; only until its next write, or the moment after (damage.c) */
    struct sim_wrong wrong[128]; /* the state as it was then */
    struct sim_watched {
        uint32_t shard;
        uint64_t index, hash, life, trouble;
    } watched; /* it has reported a wrong hash there, and has to stop */
    struct sim_told {
        uint64_t index, dropped;
        int64_t at_us;
    } told[SIM_SHARDS][16];                       /* the hashes it has told in this life; dropped: messages until then */
    int64_t started_us;                           /* this life */
    bool was_wrong;                               /* in this life: hashes of then may still be compared */
    bool diverges_next, diverges_before_snapshot; /* its memory is about to change by itself (memory.c) */
    uint64_t diverged[SIM_SHARDS];                /* from that entry on */
    struct sim_wrong wrong_snapshots[8];          /* the newest that it has on its disk */
    unsigned wrong_snapshots_next;
    bool stops;                /* it has found that out, and its turn is its last */
    bool broken;               /* it refuses to start, and waits for the operator */
    bool joining;              /* came later, with an empty folder; is not a voter of all shards yet */
    bool leaving, absent;      /* it is to be a member no more; it is none, and no process */
    int64_t learns_until_us;   /* nobody promotes it before */
    int16_t level, level_most; /* what its program knows, and the newest of its programs did (levels.c) */
    bool outdated;             /* it stops for that */
    uint32_t incarnation;
    struct store_identity identity; /* as its folder says; the others as it knows them */
    uint32_t members_known;         /* which record of them */
    int64_t turn_us;                /* the last turn */
    int64_t live_us[SIM_SHARDS];    /* expiry.c: how long it ran and a majority answered */
    struct sim_heard *heard;
    size_t heard_count, heard_cap;
    struct sim_cut *cuts;                               /* backups.c: of its shards, that are being read */
    LIST_HEAD(sim_connections, sim_connection) waiting; /* for answers of that node, in this life or an earlier one */
};

/* ---- the world ---- */

struct sim_link {
    int64_t last_us, stutters_until_us; /* says much twice */
    bool cut, reset;                    /* reset: whoever is on it has seen its connection end, and is refused another one */
};
struct sim_client;
struct sim_check;
struct sim_creation;
struct sim_streams;
struct sim_consumers;
struct sim_office;
struct sim_resets;
struct sim_backups;
struct sim_cut;
struct sim_topic { /* one that was seen; by its number */
    struct uuid id;
    int64_t seen_us;
};

struct sim {
    struct sim_options options;
    struct prng random;
    int64_t now_us;
    struct sim_due *due; /* a heap; behind it the free places */
    struct sim_event *events;
    uint32_t event_count, event_cap;
    uint64_t next_order;
    struct sim_node nodes[SIM_NODES_MAX + 1]; /* by node id, from 1 */
    struct sim_link links[SIM_NODES_MAX + 1][SIM_NODES_MAX + 1];
    struct sim_client *clients;
    struct sim_check *check;
    struct sim_streams *streams;
    struct sim_consumers *consumers;
    struct sim_creation *creations;
    uint64_t next_creation;
    uint64_t next_connection;
    struct sim_totals totals;
    struct sim_resets *resets;
    struct sim_backups *backups;
    struct sim_office *offices[SIM_SHARDS]; /* by term */
    size_t office_count[SIM_SHARDS], office_cap[SIM_SHARDS];
    struct store_identity identity;      /* of node 1; others differ in id and incarnation. Its peers are the record of the members */
    uint32_t members_version;            /* of that record */
    int64_t members_next_us;             /* the next change of them */
    uint64_t operator_terms[SIM_SHARDS]; /* the newest office in which he was told who the members are */
    uint64_t hash;
    int64_t alone_until_us; /* the fault that there is; no other begins */
    uint64_t heals;         /* of links */
    bool healing;           /* faults are over */
    int64_t healed_at_us;   /* and nothing is left to be done to topics; 0: not yet */
    struct sim_topic topics[SIM_TOPICS_MAX];
    uint32_t topics_seen;
    bool failed;
    char failure[512];
};

void sim_at(struct sim *sim, int64_t at_us, sim_fn *fn, void *arg, uint64_t tag);
/* The same for an argument that belongs to the event: drop frees it when the world ends first. */
void sim_at_owned(struct sim *sim, int64_t at_us, sim_fn *fn, void *arg, uint64_t tag, void (*drop)(void *arg));
int64_t sim_between(struct sim *sim, int64_t least, int64_t most);
bool sim_chance(struct sim *sim, uint32_t per_million);
/* One line of the story (printed with --verbose), always part of the run's hash. */
__attribute__((format(printf, 2, 3))) void sim_say(struct sim *sim, const char *format, ...);
/* A checker found something: the run ends. */
__attribute__((format(printf, 2, 3))) void sim_fail(struct sim *sim, const char *format, ...);
/* Runs one seed; true when nothing was found. */
bool sim_run(const struct sim_options *options, struct sim_totals *totals, uint64_t *ret_hash, char failure[512]);

/* node.c */
void node_init(struct sim *sim, uint32_t id);
void node_start(struct sim_node *n);
void node_crash(struct sim_node *n);
void node_fini(struct sim_node *n);
void node_lose_power(struct sim_node *n); /* what was synced stays */
void node_disk_wakes(struct sim_node *n); /* what is being written need not wait any longer */
void node_wipe(struct sim_node *n);
void node_stop(struct sim_node *n);
void node_set_peers(struct sim_node *n, const struct store_peer *peers, uint32_t count);
void node_change_member(struct sim_node *n, uint32_t shard, enum replica_change change, uint32_t node);
struct group_settings node_settings(const struct sim_node *n); /* settings.c */
struct store_options node_store_options(const struct sim_node *n);
size_t node_log_retain_bytes(const struct sim_node *n);
void node_pause(struct sim_node *n, int64_t us);
int64_t node_now(const struct sim_node *n);    /* its monotonic clock */
int64_t node_lag_us(const struct sim_node *n); /* how much later than now what it says leaves it */
void node_receive(struct sim_node *n, uint32_t from, enum core_class class, struct bytes data);
void node_peer(struct sim_node *n, uint32_t peer, enum core_peer_event event);
void node_submit(struct sim_node *n, struct sim_request *request);
void node_transfer(struct sim_node *n, uint32_t shard);
void node_ask_backup(struct sim_node *n, struct bytes ask);
void node_job_done(struct sim_node *n, struct group_job *job);
void node_topics_created(struct sim_node *n, uint64_t token, const char *failure); /* failure "": none */
void node_tell(struct sim_node *n);                                                /* where its shards are */
void node_collect(struct sim_node *n);                                             /* adds its counters to the totals */

/* network.c */
bool network_send(struct sim *sim, uint32_t from, uint32_t to, enum core_class class, struct bytes data);
void network_node_up(struct sim *sim, uint32_t id);
void network_node_down(struct sim *sim, uint32_t id);
void network_heal(struct sim *sim);
void network_reset(struct sim *sim, uint32_t id,
                   uint32_t companion); /* all but the companion see that node's connections end; it does not */
bool network_is_reset(const struct sim *sim, uint32_t id);
void network_acquaint(struct sim *sim, uint32_t id); /* it knows others than before */

/* faults.c */
void faults_start(struct sim *sim);
bool faults_has(const struct sim *sim, enum sim_kind kind); /* there are such now */
void faults_heal(struct sim *sim);
void faults_restart_soon(struct sim_node *n);

/* disks.c: disks that are full or hang, for a while */
void disks_fault(struct sim *sim, bool full);
uint64_t disks_trouble(const struct sim *sim); /* counts what keeps others from taking over, or may */
bool disks_all_well(const struct sim *sim);    /* nothing of that is there now */
bool disks_all_work(const struct sim *sim);    /* none is full or hangs */
bool disks_hang(const struct sim_node *n);
void disks_end(struct sim_node *n);
void disks_write_begins(struct sim_node *n);
void disks_write(struct sim_node *n);
void disks_written(struct sim_node *n, int rc, const struct store_record *records, size_t count);
bool disks_calm(struct sim *sim, char *why, size_t why_len);

/* damage.c: disks that do wrong */
void damage_kept(struct sim_node *n, const struct store_record *records, size_t count);
void damage_started(struct sim_node *n, uint32_t shard, const struct store_shard_state *state); /* it has found that */
void damage_refused(struct sim_node *n, int rc, const char *text);                              /* it does not start */
int damage_write(struct sim_node *n, const struct store_record *records, size_t count);         /* store_write, with what may go wrong */
void damage_at_rest(struct sim_node *n);
bool damage_none(const struct sim *sim); /* every node is sound: no second one is damaged while one is */
void damage_misdirect(struct sim *sim);
void damage_lie(struct sim *sim);
void damage_lie_ends(struct sim_node *n); /* the disk has caught up */

/* memory.c: memory that changes by itself */
void memory_fault(struct sim *sim);
bool memory_diverged(const struct sim_node *n);
bool memory_was_wrong(const struct sim_node *n);
struct bytes memory_applied(struct sim_node *n, uint32_t shard, uint64_t index, struct bytes entry,
                            struct buf *copy);                         /* what it applies instead */
void memory_state(struct sim_node *n, uint32_t shard, uint64_t index); /* check_state_hash, if it is to be like the others' */
void memory_told(struct sim_node *n, uint32_t shard);                  /* it tells the others its hash */
void memory_restarts(struct sim_node *n);
void memory_wiped(struct sim_node *n); /* its disk */
void memory_restored(struct sim_node *n, uint32_t shard, uint64_t index);
void memory_snapshot(struct sim_node *n, uint32_t shard);
bool memory_found_out(struct sim_node *n, const char *text); /* it stops, as it has to */

/* operator.c: replaces nodes whose disk is damaged */
void operator_start(struct sim *sim);
bool operator_idle(const struct sim *sim);
void operator_look(struct sim *sim);                                  /* at once, not only at the next look */
struct sim_node *operator_leader_of(struct sim *sim, uint32_t shard); /* whoever serves it in the highest term; NULL: nobody */

/* members.c: three nodes of one, five of three, three of five */
void members_found(struct sim *sim); /* before any node is made */
struct store_identity members_identity(const struct sim_node *n);
bool members_lets_in(const struct sim_node *n, const struct sim_node *other,
                     uint32_t incarnation); /* it knows that node, in that incarnation */
bool members_acquainted(const struct sim_node *a, const struct sim_node *b);
void members_told(struct sim_node *n, int rc); /* what core_set_peers said */
void members_look(struct sim *sim);
void members_begin_anew(struct sim_node *n); /* with an empty folder, under another incarnation; the others hear of it */
void members_arrived(struct sim_node *n);    /* it votes in every shard */
void members_left(struct sim_node *n);       /* it is in none any more */
void members_in_haste(struct sim *sim);      /* the network is split just now */
bool members_idle(const struct sim *sim);
uint32_t members_any(struct sim *sim);                              /* one that clients may know */
uint32_t members_voters(const struct sim *sim, uint32_t *ret_dead); /* of all shards, now and soon */

/* client.c */
void clients_start(struct sim *sim);
void clients_settle(struct sim *sim); /* from now on nobody dies or leaves */
void clients_final_reads(struct sim *sim);
bool clients_settled(struct sim *sim, char *why, size_t why_len);

/* request.c */
struct sim_request *request_new(struct sim *sim, void *owner, void (*arrived)(struct sim_request *), enum group_op_kind kind,
                                int16_t api_key, int16_t version);
void request_send(struct sim_request *r, uint32_t node);
void request_enter(struct sim_request *request, struct sim_node *n); /* it has reached the node: into coord */
void request_lost(struct sim_request *request);                      /* it never will */
void request_deliver(struct sim_request *r, int64_t at_us);          /* its answer, to whoever asked */
void request_free(void *request);
bool request_elsewhere(int16_t error); /* somebody else may answer, or the same node a little later */

/* connection.c: the client's side, and the node's */
struct sim_connection *connection_open(struct sim *sim, uint32_t node);
bool connection_stands(const struct sim_connection *c, uint32_t node);    /* to that node, as far as its client knows */
void connection_close(struct sim_connection *c);                          /* by the client, who forgets it */
void connection_release(struct sim_connection *c);                        /* the same, at the end of the world */
void connection_told(struct sim_connection *c, int32_t interval_ms);      /* its client, in what is its heartbeat interval from now on */
void connection_send(struct sim_connection *c, struct sim_request *r);    /* instead of request_send() */
void connection_entered(struct sim_connection *c, struct sim_request *r); /* the node has read it */
void connection_answered(struct sim_connection *c, struct sim_request *r, const void *answer); /* NULL: it will not be */
bool connection_closed(const struct sim_connection *c);
void connections_check(struct sim_node *n); /* a turn is over */

/* errands.c: what coord asks its owner to do outside; ctx is the node */
void errands_init(struct sim *sim);
void errands_fini(struct sim *sim);
void errands_run_job(void *ctx, struct group_job *job);
void errands_create_topics(void *ctx, uint64_t token, const struct create_topics_request *request);

/* streams.c, streams_check.c: applications of Kafka Streams, the topics they need, and who looks at them */
void streams_start(struct sim *sim);
void streams_fini(struct sim *sim);
bool streams_idle(const struct sim *sim); /* its topics are as they shall be */
bool streams_settled(struct sim *sim, char *why, size_t why_len);
void streams_look(struct sim_node *n, uint32_t shard);   /* it has just taken office */
void streams_gone(struct sim *sim, struct str group_id); /* the group is removed */

/* consumer.c, consumer_check.c: consumers of the new protocol, and of the classic one in the same groups */
void consumers_start(struct sim *sim);
void consumers_fini(struct sim *sim);
bool consumers_idle(const struct sim *sim);
bool consumers_settled(struct sim *sim, char *why, size_t why_len);
bool consumers_calm(struct sim *sim, char *why, size_t why_len);
void consumers_look(struct sim_node *n, uint32_t shard);
void consumers_gone(struct sim *sim, struct str group_id);
void consumers_decided(struct sim_node *n, uint32_t shard, const struct group_op *op, const struct group_out *out);
const char *consumer_topic(uint32_t group, uint32_t topic, char name[SIM_ID_MAX]); /* 0: the one that stays */

/* expiry.c: a session ends only after the member was silent for all of it, by a clock that stands still while a node cannot know. */
void expiry_turn(struct sim_node *n);                   /* a turn begins */
void expiry_office(struct sim_node *n, uint32_t shard); /* its role of that shard has changed */
void expiry_forget(struct sim_node *n);                 /* it starts, or is gone for good */
void expiry_decided(struct sim_node *n, uint32_t shard, const struct group_op *op, const struct group_out *out);

/* levels.c: two versions of the program. */
void levels_start(struct sim *sim);
void levels_init(struct sim_node *n);
bool levels_idle(const struct sim *sim);
bool levels_entry(struct sim_node *n, uint32_t shard, uint64_t index, struct bytes entry); /* false: nothing is applied any more */
void levels_restored(struct sim_node *n, uint32_t shard, uint64_t index);
void levels_decided(struct sim_node *n, const struct group_op *op, const struct group_out *out);
void levels_stopped(struct sim_node *n); /* as it has to */

/* resets.c: offsets that are reset under running members. */
void resets_start(struct sim *sim);
void resets_fini(struct sim *sim);
void resets_decided(struct sim_node *n, const struct group_op *op, const struct group_out *out);
bool resets_fenced_since(const struct sim *sim, uint32_t group, int64_t us); /* whether members may have been thrown out */
void resets_check_commit(struct sim *sim, uint32_t group, int64_t joined_us, int64_t sent_us, const char *member);

/* backups.c: backups that are saved, over and over. */
void backups_init(struct sim *sim);
void backups_start(struct sim *sim);
void backups_fini(struct sim *sim);
void backups_asked(struct sim_node *n, struct bytes ask);
void backups_turn(struct sim_node *n); /* a turn is over */
bool backups_calm(const struct sim *sim, char *why, size_t why_len);

/* offices.c: who leads, and that the history of it says so. */
void offices_fini(struct sim *sim);
void offices_role(struct sim_node *n, uint32_t shard, enum replica_role role, uint64_t term);
void offices_decided(struct sim_node *n, uint32_t shard, const struct group_op *op, const struct group_out *out);
bool offices_calm(struct sim *sim, char *why, size_t why_len); /* whoever leads has recorded it */

/* histories.c: what is kept of that. */
void histories_check(struct sim_node *n, uint32_t shard);

/* causes.c: why groups rebalance. */
void causes_level(struct sim_node *n); /* it starts */
void causes_decided(struct sim_node *n, const struct group_op *op, const struct group_out *out);

/* check.c */
void check_decided(struct sim_node *n, uint32_t shard, const struct group_op *op,
                   const struct group_out *out); /* all that look at decisions */
void check_init(struct sim *sim);
void check_free(struct sim *sim);
void check_state_hash(struct sim *sim, uint32_t node, uint32_t shard, uint64_t index, uint64_t hash);
/* Whether another node is known to have had that very state there. */
bool check_state_agrees(const struct sim *sim, uint32_t shard, uint64_t index, uint64_t hash);
uint64_t check_write_begin(struct sim *sim, uint32_t group, int32_t partition, uint32_t node); /* a new value, unique in the run */
void check_write_acked(struct sim *sim, uint32_t group, int32_t partition, int64_t value);
/* node: who was asked. */
void check_read(struct sim *sim, uint32_t group, int32_t partition, int64_t value, int64_t sent_us, uint32_t node, const char *how);
void check_saved(struct sim *sim, uint32_t group, int32_t partition, int64_t value, int64_t asked_us); /* in a backup; -1: none */
void check_generation(struct sim *sim, uint32_t group, int32_t generation, int64_t sent_us, int64_t at_us);
void check_heartbeat(struct sim *sim, uint32_t group, int32_t generation, int64_t sent_us);
/* The group is empty, has no offsets, and is removed: the next of this name counts its generations from 1 again. */
void check_group_gone(struct sim *sim, struct str group_id);
void check_owner(struct sim *sim, uint32_t group, int32_t generation, int32_t partition, const char *member);

#endif
