/* core.h: the replica without the world: no sockets, no threads, no clock, no files.
 *
 * It drives libraft's sans-I/O core, one instance per shard, and implements replica.h. The world comes in through struct core_host and the
 * core_* inputs below; the server's world is uv_replica.c, the simulator has its own. All calls are made by one thread. Every input carries
 * the monotonic time, which never goes back. Inputs may call replica_events; they gather work that the next replica_flush hands out.
 *
 * What it promises (architecture 3): a term or vote is durable before a message that follows from it leaves; an entry is durable before it is
 * acknowledged; messages of nodes that are not configured, of absurd terms or of a wrong form never reach the library. */
#ifndef MUSTER_RAFT_CORE_H
#define MUSTER_RAFT_CORE_H

#include <muster/replica.h>
#include <muster/store.h>

enum core_class {
    CORE_RAFT,                           /* consensus, in order */
    CORE_BULK,                           /* snapshot bytes, on a connection of their own so that they delay nothing */
    CORE_CLASSES
};

/* A piece of work that may block. The host calls run(job) on any thread, and later, from its loop and never from within core_host.job,
 * core_job_done with the same pointer. The memory is the core's. */
struct core_job {
    void (*run)(struct core_job *job);
    void (*done)(struct core_job *job);
    struct replica *core;
};

struct core_host {
    void *ctx;
    /* Starts writing one batch; records and payloads are borrowed until core_persisted. Called only while none is outstanding. */
    void (*persist)(void *ctx, const struct store_record *records, size_t count);
    /* Best effort; the bytes are copied. false: no connection, or its buffer is full. */
    bool (*send)(void *ctx, uint32_t node, enum core_class class, struct bytes data);
    void (*job)(void *ctx, struct core_job *job);
    /* Entries of the shard up to index are in a snapshot that the log names: store_trim between batches. */
    void (*trim)(void *ctx, uint32_t shard, uint64_t index);
    /* The turn is over: what send gathered may leave. */
    void (*flush)(void *ctx);
    const struct store_port *port;       /* for snapshots, inside jobs and core_start */
};

struct core_options {
    uint64_t seed;
    uint32_t election_timeout_ms;        /* default 300 */
    uint32_t heartbeat_ms;               /* default 60 */
    uint32_t tick_ms;                    /* default 20: how often core_tick wants to be called at least */
    uint32_t probe_interval_us;          /* default 500: muster.read.probe.interval.us */
    uint32_t slow_write_ms;              /* default 1000: muster.slow.write.ms */
    uint32_t balance_after_ms;           /* default 5000; how long all must be calm before leadership moves back. UINT32_MAX: never */
    uint64_t entry_max_bytes;            /* default 1 MiB */
    uint64_t unapplied_max_bytes;        /* default 64 MiB, all shards: proposals beyond are BUSY */
    uint64_t log_retain_bytes;           /* default 256 MiB, all shards: beyond it the shard with most is snapshotted */
    uint64_t batch_max_bytes;            /* default 8 MiB: one write batch, the last entry may pass it */
    uint64_t hash_interval;              /* default 4096: state hashes are exchanged at multiples of this index. UINT64_MAX: never */
    uint32_t snapshot_chunk_bytes;       /* default 256 KiB */
};
/* Zero fields take their defaults. */
void core_options_defaults(struct core_options *options);

/* Makes a replica for the node of this identity (copied). Nothing runs yet. INVALID: the identity is not usable (no such node, too many shards). */
int  core_new(struct replica **ret, const struct store_identity *identity, const struct core_options *options, const struct core_host *host,
              const struct replica_events *events);
/* No job may be under way (core_jobs) and no batch be outstanding. Accepts NULL. */
void core_free(struct replica *core);

/* Hand this to store_open, before core_start: it fills the shards from what recovery found. */
void core_recovery(struct replica *core, struct store_recovery *ret);
/* Restores the snapshots (through host.port; blocking), starts every shard. On failure ret_text, 256 bytes, says why in words. */
int  core_start(struct replica *core, int64_t now_us, char *ret_text);

/* Inputs. */
void core_tick(struct replica *core, int64_t now_us);
/* One message from an authenticated node; bytes borrowed for the call. MALFORMED: the sender is broken, close its connection. */
int  core_receive(struct replica *core, uint32_t node, struct bytes data, int64_t now_us);
/* The outstanding batch: 0, FULL (nothing of it counts, the store is usable) or IO. */
void core_persisted(struct replica *core, int result, int64_t now_us);
void core_job_done(struct replica *core, struct core_job *job, int64_t now_us);

enum core_peer_event {
    CORE_PEER_CONNECTED,                 /* messages may be sent to it */
    CORE_PEER_DISCONNECTED,
    CORE_PEER_REFUSED                    /* it was connected, the connection ended, and its port refuses: evidence that the process is dead */
};
void core_peer_state(struct replica *core, uint32_t node, enum core_peer_event event, int64_t now_us);
/* The oldest log segment is pinned by this shard: snapshot it soon. */
void core_snapshot_hint(struct replica *core, uint32_t shard);

/* When core_tick wants to be called next, at the latest; never before `after_us`. */
int64_t core_next_deadline(const struct replica *core, int64_t after_us);
size_t  core_jobs(const struct replica *core);
/* The jobs under way have run and nobody will hear of them: the simulated process is dead, and core_free comes next. */
void    core_forget_jobs(struct replica *core);

/* Totals since the start, for metrics and for the simulator's minima. */
struct core_stats {
    uint64_t elections_begun, elections_won, elections_fast;     /* fast: on evidence, without waiting for a timeout */
    uint64_t rounds_sent, rounds_confirmed;
    uint64_t entries_proposed, entries_applied, entries_cut;
    uint64_t batches, batches_full;
    uint64_t snapshots_taken, snapshots_installed, snapshots_sent;
    uint64_t transfers_begun, transfers_done, transfers_aborted;
    uint64_t votes_parked, messages_refused, messages_dropped, messages_held;
    uint64_t stalls, hashes_compared;
};
void core_stats(const struct replica *core, struct core_stats *ret);
/* Bytes of log in memory, all shards. */
uint64_t core_log_bytes(const struct replica *core);

/* The first entry of every shard: the founding configuration, the same bytes on all nodes. Appends to out. For tools that read a log. */
int core_founding_config(const struct store_identity *identity, struct buf *out);

#endif
