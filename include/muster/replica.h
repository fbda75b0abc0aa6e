/* replica.h: agreed order. A node holds one replica of every shard; each shard is a Raft group of its own.
 *
 * coord uses this page; raft/ implements it on libraft's sans-I/O core. Everything runs on the loop thread; no call blocks. A turn of the
 * loop is: inputs (frames, peer messages, finished writes, ticks), any number of replica_propose and replica_want_round, then one
 * replica_flush, which hands all new records to the log in one batch and sends one message per peer. Events are called from within
 * replica_* calls; an event handler may call replica_propose and replica_want_round, nothing else. */
#ifndef MUSTER_REPLICA_H
#define MUSTER_REPLICA_H

#include <muster/base.h>

struct replica;

enum replica_role {
    REPLICA_FOLLOWER,                    /* also candidates; leader says whom it follows, 0: nobody known */
    REPLICA_LEADER,                      /* elected, entries of earlier terms not all applied yet: decides nothing, answers LOAD_IN_PROGRESS */
    REPLICA_SERVING,                     /* an entry of the own term is applied: may decide */
    REPLICA_HANDING_OVER                 /* a transfer is under way: proposals are held by coord until SERVING again or FOLLOWER */
};

struct replica_events {
    void *ctx;
    void (*role)(void *ctx, uint32_t shard, enum replica_role role, uint64_t term, uint32_t leader);
    /* A committed command, in index order, exactly once per life of the state. Empty entries (barriers, configurations) come with len 0. */
    void (*apply)(void *ctx, uint32_t shard, uint64_t index, uint64_t term, struct bytes entry);
    /* Every round up to `round` left after it was wanted and was answered by a majority that knows no newer term than `term`. */
    void (*confirmed)(void *ctx, uint32_t shard, uint64_t term, uint64_t round);
    /* The state of the shard is replaced: reset it, then restore_data any number of times (runs of whole records), then restored. */
    void (*restore_begin)(void *ctx, uint32_t shard, uint64_t index, uint64_t term);
    int  (*restore_data)(void *ctx, uint32_t shard, struct bytes data);      /* not 0: the data is bad */
    int  (*restored)(void *ctx, uint32_t shard, uint64_t index, uint64_t state_hash);    /* not 0: the hash does not agree */
    /* Snapshots: begin freezes the state at the applied index and returns its hash; next gives the following run of records (len 0: the end),
     * at most about budget bytes, borrowed until the next call, len -1: the state is not what was frozen, and no snapshot is made of it; end releases the frozen state (also on failure). One per shard at a time. */
    void (*snapshot_begin)(void *ctx, uint32_t shard, uint64_t *ret_state_hash);
    void (*snapshot_next)(void *ctx, uint32_t shard, size_t budget, struct bytes *ret);
    void (*snapshot_end)(void *ctx, uint32_t shard);
    /* The hash of the state as applied, for the comparison between replicas. */
    uint64_t (*state_hash)(void *ctx, uint32_t shard);
    /* A message of the layers above from another node (forwarded requests, handed-over timers): channel is theirs to define. */
    void (*message)(void *ctx, uint32_t from, uint16_t channel, struct bytes data);
    void (*peer)(void *ctx, uint32_t node, bool connected);
    /* An unrecoverable fault of this node (failed fsync, diverged state): the owner logs it and stops the process. */
    void (*fatal)(void *ctx, const char *text);
    /* A configuration of the shard was committed, or came with a snapshot: replica_members tells it. May be NULL. */
    void (*members)(void *ctx, uint32_t shard);
};

/* Members of a shard. A learner is sent everything and keeps a state like the others, but it has no vote, counts for no majority and never leads. */
enum replica_vote { REPLICA_LEARNER, REPLICA_VOTER };
struct replica_member { uint32_t node; enum replica_vote vote; };

enum replica_change {
    REPLICA_ADD_LEARNER,                 /* a node that is no member becomes a learner */
    REPLICA_PROMOTE,                     /* a learner becomes a voter */
    REPLICA_REMOVE                       /* a voter or learner is a member no more */
};

/* How far a member is, as the leader knows it. */
struct replica_progress {
    uint64_t match_index;                /* its log agrees with the leader's up to here, durably; 0: not known yet */
    int64_t heard_us;                    /* the newest moment such that it answered something sent then or later; 0: never */
    bool snapshot_under_way;             /* it is being sent a snapshot */
};

struct replica_shard_status {
    enum replica_role role;
    uint32_t leader;
    uint64_t term, first_index, last_index, commit_index, applied_index, snapshot_index;
    int64_t contact_us;                  /* leader: the newest moment such that a majority has answered something sent then or later */
    int64_t led_us;                      /* when the shard was last known to be led: another node that did was heard of, or a majority by this one; 0: never since the start */
};

/* Submits a command to the shard; the bytes are copied. On success its name is (term, index); it has happened when apply() brings that pair, and
 * is not known to have happened when role() reports the loss of leadership before: it may yet be applied, like anybody's entry, if the next leader has
 * it. NOT_LEADER, BUSY (a transfer is under way, too many bytes are unapplied, or the disk refuses writes), LIMIT (over entry_max_bytes). */
int      replica_propose(struct replica *r, uint32_t shard, struct bytes entry, uint64_t *ret_term, uint64_t *ret_index);
/* A confirmation round that leaves after this call, for every shard this node leads; the same number for all who ask before it leaves.
 * A cluster of one confirms at the next flush. */
uint64_t replica_want_round(struct replica *r, uint32_t shard);
/* Ends the turn. now_us: monotonic. */
void     replica_flush(struct replica *r, int64_t now_us);
void     replica_status(const struct replica *r, uint32_t shard, struct replica_shard_status *ret);
/* This node is about to end: no other one chooses it any more for what it hands over, and what a transfer chooses a round later is not about to end either. */
void     replica_ending(struct replica *r);
/* Begins handing leadership of the shard to node (0: the best placed). 0, NOT_LEADER, BUSY (one is under way), NOT_FOUND. */
int      replica_transfer(struct replica *r, uint32_t shard, uint32_t node);
/* The members of the shard by the newest configuration in this node's log, in no order; *ret_committed false while that is not known to be committed.
 * The count, which may be more than capacity. 0: this node has just joined and was told nothing yet. */
size_t   replica_members(const struct replica *r, uint32_t shard, struct replica_member *ret, size_t capacity, bool *ret_committed);
/* Leader: begins one change of the shard's configuration, and of one member (Raft's single-server change). It has happened when members() is called and
 * replica_members says so, committed. 0; NOT_LEADER; BUSY (a change or a transfer is under way, the shard does not serve yet, a promoted node has not caught
 * up, or the leader itself is to go: then it hands over first, and the next leader is to be asked); NOT_FOUND (no such member, or no such peer to
 * add); EXISTS (a member already, or a voter; or its address is a member's); REFUSED (of the voters that would be, no majority answers);
 * DIVERGED (the voters that would be left have different states, and no majority of them one: ask again, all are comparing). */
int      replica_change_member(struct replica *r, uint32_t shard, enum replica_change change, uint32_t node);
/* Leader: how far a member is. false: this node does not lead, or node is no member. */
bool     replica_progress(const struct replica *r, uint32_t shard, uint32_t node, struct replica_progress *ret);
/* Best effort: false when there is no connection or its buffer is full. */
bool     replica_send(struct replica *r, uint32_t node, uint16_t channel, struct bytes data);
bool     replica_connected(const struct replica *r, uint32_t node);
uint32_t replica_self(const struct replica *r);
uint32_t replica_shard_count(const struct replica *r);
size_t   replica_nodes(const struct replica *r, uint32_t *ret_ids, size_t capacity);     /* configured voters, this node included, ascending */
/* An entry of the in-memory log, for readers of a live node. NOT_FOUND outside [first_index, commit_index]. Borrowed for this turn. */
int      replica_read_entry(const struct replica *r, uint32_t shard, uint64_t index, uint64_t *ret_term, uint8_t *ret_kind, struct bytes *ret);

#endif
