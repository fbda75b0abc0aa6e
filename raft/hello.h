/* hello.h: how two nodes make each other's acquaintance, before the core sees a byte.
 *
 * A connection carries messages one way, from the node that dialed. It begins with a hello that says who the dialer is and whom it means to reach;
 * the other side checks it against its own identity and answers once. A wiped folder comes back with another incarnation and is refused: it has
 * forgotten votes and entries that others count on. Frames are a 32-bit little-endian length and that many bytes; the first frame of a connection
 * begins with magic, version and class, whatever the class. */
#ifndef MUSTER_RAFT_HELLO_H
#define MUSTER_RAFT_HELLO_H

#include <muster/store.h>

enum {
    HELLO_MAGIC = 0x5254534d, /* "MSTR" */
    HELLO_VERSION = 1,
    HELLO_BYTES_MAX = 512 /* longest first frame of the classes RAFT and BULK, and longest answer */
};

enum hello_class { HELLO_RAFT, HELLO_BULK, HELLO_FORM };

struct hello {
    enum hello_class class;
    struct uuid cluster_id;
    uint32_t from;
    struct uuid incarnation; /* of the dialer */
    uint32_t to;
    uint32_t shard_count, hash_version;
};

/* Name; what the one who answers says of the dialer; what the dialer says of the one who answers. */
#define HELLO_VERDICTS(X)                                                                                                                  \
    X(OK, "accepted", "accepted")                                                                                                          \
    X(VERSION, "it speaks another version of the peer protocol", "it speaks another version of the peer protocol")                         \
    X(CLUSTER, "it belongs to another cluster", "it belongs to another cluster")                                                           \
    X(NODE, "its node id is not one of this cluster's", "it does not know this node's id")                                                 \
    X(INCARNATION, "its data folder is not the one its node id was formed with: it was wiped or swapped",                                  \
      "it refuses this node's data folder: it is not the one this node id was formed with")                                                \
    X(MISDIRECTED, "it meant to reach another node: addresses are mixed up", "its address leads to another node")                          \
    X(SHARDS, "it was formed with other shards", "it was formed with other shards")                                                        \
    X(UNFORMED, "", "its data folder is empty: it was never formed, or it was wiped")                                                      \
    X(STRANGER, "", "another data folder answers under its node id: it was wiped or swapped")

enum hello_verdict {
#define X(name, of_dialer, of_answerer) HELLO_VERDICT_##name,
    HELLO_VERDICTS(X)
#undef X
};

struct hello_answer {
    enum hello_verdict verdict;
    uint32_t node; /* who answers */
    struct uuid incarnation;
};

/* The beginning that all first frames share. MALFORMED: not a node's connection; VERSION: another version, ret_class is not set. */
int hello_class_of(struct bytes frame, enum hello_class *ret_class);

int hello_encode(struct buf *out, const struct hello *hello);
int hello_decode(struct bytes frame, struct hello *ret);
/* The verdict of the node with this identity. */
enum hello_verdict hello_judge(const struct store_identity *self, const struct hello *hello);
int hello_answer_encode(struct buf *out, const struct hello_answer *answer);
int hello_answer_decode(struct bytes frame, struct hello_answer *ret);
/* What the dialer makes of the answer: OK, or why this is not the node it meant to reach. */
enum hello_verdict hello_judge_answer(const struct store_identity *self, const struct hello *sent, const struct hello_answer *answer);
/* For people, as said by the dialer or by the one who answers. */
const char *hello_text(enum hello_verdict verdict, bool dialer);

#endif
