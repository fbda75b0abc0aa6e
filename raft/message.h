/* message.h: what nodes say to each other once the transport has let them in.
 *
 * One message is a byte for its type and fixed little-endian fields; lists carry their count first. The decoder is fed bytes from the network:
 * it checks every length against what is left, bounds every count, and never reads past the end. Decoded views point into the input.
 * Nothing is aligned, nothing is padded, and a message that has bytes left over is malformed. */
#ifndef MUSTER_RAFT_MESSAGE_H
#define MUSTER_RAFT_MESSAGE_H

#include <muster/base.h>
#include <raft.h>

enum {
    MESSAGE_ENTRIES_MAX = 1024, /* entries in one AppendEntries; the driver never asks for more in flight */
    MESSAGE_SHARDS_MAX = 1024   /* shards a probe may list */
};

/* Sane bounds on what a peer may claim: an election every millisecond for ten thousand years stays below them. */
#define MESSAGE_TERM_MAX  (UINT64_C(1) << 56)
#define MESSAGE_INDEX_MAX (UINT64_C(1) << 60)

enum message_type {
    MESSAGE_RAFT = 1,           /* one of the Raft library's messages, for one shard */
    MESSAGE_PROBE = 2,          /* a confirmation round: the shards and terms the sender leads */
    MESSAGE_PROBE_ACK = 3,      /* ... and those of them for which the answering node knows a newer term */
    MESSAGE_HANDOVER = 4,       /* the leader of a shard announces to whom it hands over */
    MESSAGE_HASH = 5,           /* the state's hash at an index */
    MESSAGE_SNAPSHOT_OFFER = 6, /* bulk: a snapshot the sender would like the receiver to install */
    MESSAGE_SNAPSHOT_WANT = 7,  /* the receiver asks for the bytes from an offset on */
    MESSAGE_SNAPSHOT_CHUNK = 8, /* bulk: bytes of the snapshot's file as they are */
    MESSAGE_SNAPSHOT_DONE = 9,  /* the receiver has it all (or gives up) */
    MESSAGE_APP = 10            /* a message of the layers above */
};

enum { MESSAGE_HEALTHY = 1 }; /* flags of probe and ack: the sender is one to hand a shard over to */

struct shard_term {
    uint32_t shard;
    uint64_t term;
};

struct message_probe {
    uint64_t round;
    int64_t stamp_us; /* the prober's clock when the probe left; echoed */
    uint8_t flags;
    uint32_t count;
    struct shard_term *list; /* decode: into the scratch */
};

struct message_snapshot {
    uint64_t term;             /* the offering leader's */
    uint64_t index, last_term; /* of the snapshot's last entry */
    uint64_t config_index;
    struct bytes config; /* offer only; as the Raft library encodes it */
    uint64_t file_bytes; /* offer and chunk: the size of the whole file */
    uint64_t offset;     /* want and chunk */
    struct bytes data;   /* chunk */
};

struct message {
    enum message_type type;
    uint32_t shard;      /* all but probe, ack and app */
    uint64_t everywhere; /* AppendEntries: every member has stored what is up to this index */
    union {
        struct raft_message raft; /* entries: in the scratch, payloads in the input, batch NULL */
        struct message_probe probe;
        struct {
            uint64_t term;
            uint32_t target;
        } handover;
        struct {
            uint64_t index;
            uint64_t hash;
        } hash;
        struct message_snapshot snapshot;
        struct {
            uint16_t channel;
            struct bytes data;
        } app;
    };
};

/* Room for the lists of one decoded message. */
struct message_scratch {
    struct raft_entry entries[MESSAGE_ENTRIES_MAX];
    struct shard_term shards[MESSAGE_SHARDS_MAX];
};

/* 0 or MALFORMED (also for terms and indexes out of bounds). The result points into data and scratch. */
int message_decode(struct bytes data, struct message_scratch *scratch, struct message *ret);

/* Appends the message to out. 0 or LIMIT. AppendEntries: the entries' payloads must be in place. InstallSnapshot is never sent this way. */
int message_encode(struct buf *out, const struct message *message);

/* Bytes an entry takes inside an AppendEntries message, payload excluded; and the rest of such a message at most. */
enum { MESSAGE_ENTRY_OVERHEAD = 13, MESSAGE_APPEND_OVERHEAD = 64 };

/* Whether these bytes are a configuration the Raft library may be given to decode. */
bool message_config_valid(struct bytes data);

#endif
