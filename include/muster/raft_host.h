/* raft_host.h: the replica as a server runs it: raft/ with libuv for the network and the timers, and storage's log thread for the disk. Also how
 * a cluster is formed. For musterd; everybody else sees replica.h.
 *
 * All of it runs on the loop given at open, except the log thread and the jobs of libuv's pool (snapshots). */
#ifndef MUSTER_RAFT_HOST_H
#define MUSTER_RAFT_HOST_H

#include <muster/replica.h>
#include <muster/store.h>

struct uv_loop_s;

/* Room that every `text` on this page must have. */
enum { RAFT_HOST_TEXT_BYTES = 1024 };

/* ---- the replica ---------------------------------------------------------------------------------------------------- */

struct core_options {
    uint64_t seed;                       /* of this life of the node: never the same twice */
    uint32_t election_timeout_ms;        /* default 300: muster.election.timeout.ms */
    uint32_t heartbeat_ms;               /* default 60: muster.heartbeat.interval.ms */
    uint32_t tick_ms;                    /* default 20: how often timeouts are looked at, at least */
    uint32_t probe_interval_us;          /* muster.read.probe.interval.us; 0: one probe each turn that asks */
    uint32_t slow_write_ms;              /* default 1000: muster.slow.write.ms */
    uint32_t balance_after_ms;           /* default 5000: how long all must be calm before leadership moves home. UINT32_MAX: never */
    bool no_fast_failover;               /* wait for the election timeout even when the leader is known to be dead */
    uint64_t entry_max_bytes;            /* default 1 MiB: muster.entry.max.bytes */
    uint64_t unapplied_max_bytes;        /* default 64 MiB, all shards: proposals beyond are BUSY; a follower takes no more than that its disk has not stored */
    uint64_t log_retain_bytes;           /* default 64 MiB: log that no snapshot holds, all shards: beyond it the shard with most is snapshotted. As much
                                          * is kept in memory for members that are behind */
    uint64_t log_tail_bytes;             /* default 4 MiB, a quarter of that at most: log kept in memory although every member has it, all shards */
    uint64_t snapshot_interval_bytes;    /* default 64 MiB: a shard is snapshotted after so many bytes of entries */
    uint64_t batch_max_bytes;            /* default 8 MiB: one write batch; the last entry may pass it */
    uint64_t hash_interval;              /* default 10000: state hashes are compared at multiples of this index. UINT64_MAX: never */
    uint32_t snapshot_chunk_bytes;       /* default 256 KiB: muster.snapshot.chunk.bytes */
    uint64_t apply_slice_bytes;          /* default 256 KiB: entries applied in one turn, all shards; the last one may pass it */
};
/* Zero fields take their defaults. */
void core_options_defaults(struct core_options *options);

/* The voters of a cluster that begins with the nodes of the identity, as the Raft library writes them: the first entry of every shard, and the configuration in a
 * snapshot that takes its place. The same bytes on all nodes. Appends to out. 0 or INVALID. */
int core_founding_config(const struct store_identity *identity, struct buf *out);

/* Totals since the start, for metrics and for the simulator's minima. */
struct core_stats {
    uint64_t elections_begun, elections_won, elections_fast;     /* fast: on evidence, without waiting for a timeout */
    uint64_t rounds_sent, rounds_confirmed;
    uint64_t entries_proposed, entries_applied, entries_cut;
    uint64_t batches, batches_full;
    uint64_t snapshots_taken, snapshots_installed, snapshots_sent;
    uint64_t snapshots_uncompared;       /* offered although no majority was there to compare its state with */
    uint64_t entries_lost;               /* times that another node had not what it had acknowledged: its disk lied */
    uint64_t transfers_begun, transfers_done, transfers_aborted;
    uint64_t votes_parked, messages_refused, messages_dropped, messages_held;
    uint64_t stalls, hashes_compared;
    uint64_t appends_shortened;          /* messages taken without their entries: too many were not stored here */
    /* As things stand now. */
    uint64_t log_bytes;                  /* entries in memory, all shards */
    uint64_t replay_bytes;               /* applied entries that no snapshot holds */
    uint64_t unapplied_bytes;            /* of those in memory what is not applied, */
    uint64_t unstored_bytes;             /* or not on this node's disk */
    uint64_t messages_waiting;           /* until a term or vote is on disk */
    uint64_t write_age_us;               /* of the write that is under way; 0: none is */
    uint64_t shards_in_doubt;            /* whose hash differs from another node's while no majority has said that this one's is right */
    bool disk_full, disk_healthy;        /* healthy: it takes entries, and in time */
};

struct uv_replica;

struct uv_replica_options {
    struct uv_loop_s *loop;
    struct store_identity identity;      /* as store_identity_read gave it */
    const struct store_port *port;       /* of the data folder, locked; valid until closed */
    struct store_options store;
    struct core_options core;
    const char *listen_host;             /* muster.peer.listener */
    uint16_t listen_port;
    size_t peer_max_queued_bytes;        /* default 32 MiB: muster.peer.max.queued.bytes; messages beyond are dropped */
    struct replica_events events;
    /* Called before the first event that comes from the network, the disk or a timer in a turn of the loop; may be NULL. */
    void (*turn_begin)(void *ctx);
    void *turn_ctx;
    /* How long another node took to answer a probe, in the same ctx; may be NULL. */
    void (*round_trip)(void *ctx, uint32_t node, int64_t took_us);
};

/* Opens the log and looks through the snapshots (blocking), listens and begins to dial the peers. The owner ends every turn with replica_flush, from a
 * uv_check_t; a turn that a timer began does not sleep before it. On failure text says what is wrong and what to do:
 * CORRUPT (the data folder), BUSY (the address is taken), INVALID (the address, the identity), IO. When *ret is set all the same it is to be closed. */
int  uv_replica_open(struct uv_replica **ret, const struct uv_replica_options *options, struct replica **ret_replica, char *text);
/* Ends the connections, waits for the log thread and the jobs, then calls done from the loop; uv_replica and replica are gone by then. No event is
 * called after uv_replica_close, except snapshot_end. */
void uv_replica_close(struct uv_replica *r, void (*done)(void *ctx), void *ctx);
void uv_replica_stats(const struct uv_replica *r, struct core_stats *ret_core, struct store_stats *ret_store);

/* The nodes this one talks to and lets in, from now on; itself among them, ascending by node id. Connections of those that are gone or have another incarnation or
 * address end, and what was known of them is forgotten. Not from within an event. The identity file is written behind it (a job), again and
 * again until that succeeds. 0; INVALID (not ascending, more than 32, this node missing or with another incarnation); BUSY: a shard's beginning is not on disk yet,
 * so that the identity must still name the founders; to be asked again. */
int  uv_replica_set_peers(struct uv_replica *r, const struct store_peer *peers, uint32_t count);

struct uv_peer_status {
    uint32_t node;
    bool connected;                      /* this node's connection to it */
    bool heard;                          /* its connection to this node */
    uint64_t bytes_sent, bytes_received, bytes_queued, dropped, dials;
    bool expelled;                       /* it last refused this node because it is no member of the cluster (any more) */
    char refusal[160];                   /* why it last refused this node; empty: it did not */
};
size_t uv_replica_peers(const struct uv_replica *r, struct uv_peer_status *ret, size_t capacity);

/* ---- forming a cluster --------------------------------------------------------------------------------------------------- */

/* What a node's configuration says; every node of the cluster must say the same of peers and shards. */
struct form_config {
    uint32_t node_id;                    /* 0 for the client */
    uint32_t shard_count;
    uint32_t hash_version;
    uint32_t feature_level;              /* the highest that the node knows, for a cluster that it may join */
    uint32_t peer_count;
    struct store_peer peers[32];         /* ascending by node id; incarnations are not looked at */
};

/* A node of an empty folder. It listens for `musterd form` and does nothing else; formed is called from the loop after the identity was written and
 * after the listener and all connections are closed, so that the owner can go on with uv_replica_open at once. */
struct form_server;
int  form_server_open(struct form_server **ret, struct uv_loop_s *loop, const struct store_port *port, const struct form_config *config,
                      const char *listen_host, uint16_t listen_port, void (*formed)(void *ctx, const struct store_identity *identity), void *ctx, char *text);
/* done may be NULL. */
void form_server_close(struct form_server *s, void (*done)(void *ctx), void *ctx);

/* `musterd form`: blocking. Asks every peer, makes the cluster's ids, prepares all, then commits all. Every listed peer must be reachable, empty and
 * configured alike. Run again after an interruption it finishes what was begun; run again after success it changes nothing (*ret_already).
 * 0, or with text naming the peer: CLOSED (not reachable), EXISTS (it belongs to a cluster), REFUSED, INVALID (configurations
 * differ), BUSY (another form is under way). */
int  form_client_run(const struct form_config *config, int timeout_ms, struct uuid *ret_cluster_id, bool *ret_already, char *text);
/* Behind that: until every peer answers as a node of a cluster, which it does a moment later, or the time is over (false); blocking. */
bool form_client_await(const struct form_config *config, int timeout_ms);
/* Gives the node of identity->node_id, found by its address among the peers, its identity in a cluster that is there; blocking, from any thread. The node must be
 * empty, or have been given the same identity before. 0, or with text: CLOSED (not reachable), EXISTS (its folder belongs to another cluster or
 * incarnation), INVALID (another node id, other shards, a program too old), REFUSED. */
int  form_client_join(const struct store_identity *identity, uint32_t feature_level, int timeout_ms, char *text);

#endif
