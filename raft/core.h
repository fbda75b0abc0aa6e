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

#include <muster/raft_host.h>
#include <muster/replica.h>
#include <muster/store.h>

enum core_class {
    CORE_RAFT, /* consensus, in order */
    CORE_BULK, /* snapshot bytes, on a connection of their own so that they delay nothing */
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
    /* Something else than the log found the disk full: what can be done without goes (store_make_room). NULL: nothing can. */
    void (*make_room)(void *ctx);
    /* The turn is over: what send gathered may leave. */
    void (*flush)(void *ctx);
    /* The node answered a probe that left so long ago. NULL: nobody wants to know. */
    void (*round_trip)(void *ctx, uint32_t node, int64_t took_us);
    const struct store_port *port; /* for snapshots, inside jobs and core_start */
};

/* Makes a replica for the node of this identity (copied). Nothing runs yet. INVALID: the identity is not usable (no such node, too many shards). */
int core_new(struct replica **ret, const struct store_identity *identity, const struct core_options *options, const struct core_host *host,
             const struct replica_events *events);
/* No job may be under way (core_jobs) and no batch be outstanding. Accepts NULL. */
void core_free(struct replica *core);

/* Nothing leaves and no event is called any more, except snapshot_end: for the time between the decision to close and core_free. */
void core_stop(struct replica *core);

/* Hand this to store_open, before core_start: it fills the shards from what recovery found. */
void core_recovery(struct replica *core, struct store_recovery *ret);
/* Restores the snapshots (through host.port; blocking), starts every shard. On failure ret_text, 256 bytes, says why in words. */
int core_start(struct replica *core, int64_t now_us, char *ret_text);

/* Inputs. */
void core_tick(struct replica *core, int64_t now_us);
/* One message from an authenticated node; bytes borrowed for the call. MALFORMED: the sender is broken, close its connection. */
int core_receive(struct replica *core, uint32_t node, struct bytes data, int64_t now_us);
/* The outstanding batch: 0, FULL (nothing of it counts, the store is usable) or IO. */
void core_persisted(struct replica *core, int result, int64_t now_us);
void core_job_done(struct replica *core, struct core_job *job, int64_t now_us);

enum core_peer_event {
    CORE_PEER_CONNECTED, /* messages may be sent to it */
    CORE_PEER_DISCONNECTED,
    CORE_PEER_REFUSED /* it was connected, the connection ended, and its port refuses: evidence that the process is dead */
};
void core_peer_state(struct replica *core, uint32_t node, enum core_peer_event event, int64_t now_us);
/* The nodes from now on (raft_host.h, uv_replica_set_peers). Not from within an event. 0: they are the same; 1: the host is to close the connections of
 * those that are gone and to write core_identity to disk; INVALID, BUSY. */
int core_set_peers(struct replica *core, const struct store_peer *peers, uint32_t count, int64_t now_us);
const struct store_identity *core_identity(const struct replica *core);
/* The oldest log segment is pinned by this shard: snapshot it soon. */
void core_snapshot_hint(struct replica *core, uint32_t shard);

/* When core_tick wants to be called next, at the latest; never before `after_us`. */
int64_t core_next_deadline(const struct replica *core, int64_t after_us);
size_t core_jobs(const struct replica *core);
/* The jobs under way have run and nobody will hear of them: the simulated process is dead, and core_free comes next. */
void core_forget_jobs(struct replica *core);

void core_stats(const struct replica *core, struct core_stats *ret);
/* Bytes of log in memory, all shards. */
uint64_t core_log_bytes(const struct replica *core);

#endif
