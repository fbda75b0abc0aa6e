/* offsets.h: committed offsets of a group, private to src/group/offsets.
 *
 * An offset stands for one OffsetCommit record: key (group, topic name, partition), value in version 4 with two tagged fields of our own, the
 * shard clock of the commit and of its explicit expiry. Every offset that is kept can be written as exactly the record that made it. */
#ifndef MUSTER_GROUP_OFFSETS_H
#define MUSTER_GROUP_OFFSETS_H

#include "../errors.h"
#include "../state.h"

enum {
    OFFSETS_VALUE_VERSION = 4,
    /* Records of one slice of a sweep or a deletion: with what an entry adds to each, below half of the least muster.entry.max.bytes (64 KiB). */
    OFFSETS_SLICE_BYTES = 24 * 1024
};

/* ---- store.c --------------------------------------------------------------------------------------------------------------- */

/* offsets_find(), offsets_after(), offsets_walk(), offsets_record() and offsets_free() are declared in state.h: snapshots use them, too. */
void offsets_write_tombstone(struct decision *d, const struct offset *o);
/* The same as a part of something large: false, and `more` set, when the slice is full. */
bool offsets_drop(struct decision *d, const struct offset *o);
/* Bytes the state grows by when this offset is stored; negative when it shrinks. */
int64_t offsets_growth(const struct group_set *set, const struct group *g, struct str topic, int32_t partition, struct str metadata);
/* Whether the topic it was committed for is still there, as far as the catalogue says. */
bool offsets_live(const struct offset *o, const struct topics *topics);

/* ---- commit.c ---------------------------------------------------------------------------------------------------------------- */

/* A group that exists through commits alone, with a record of its own: it stays when its last offset is deleted, until the sweep. */
void offsets_write_simple_group(struct decision *d);
struct offset_written {
    struct str topic;
    struct uuid topic_id;
    int32_t partition, leader_epoch;
    int64_t offset;
    int64_t expire_clock_ms; /* -1: none of its own */
    struct str metadata;
};
void offsets_write(struct decision *d, const struct offset_written *o);
/* Kafka counts the limit in the units of UTF-16, in which its own strings are kept: a character beyond the first plane is two. */
bool offsets_metadata_too_large(struct str metadata, int32_t limit);

/* ---- protect.c: muster.protected, a group's config ---------------------------------------------------------------------------- */

/* Whether requests may neither delete the group nor change its offsets from outside. g NULL: nothing to protect. */
bool offsets_protected(struct decision *d, const struct group *g);
struct str offsets_protected_text(struct decision *d); /* for the answer */

/* ---- delete.c: what depends on the group's type -------------------------------------------------------------------------------- */

/* Whether somebody in the group reads the topic. An active consumer group whose subscription cannot be read counts as subscribed to everything. */
bool offsets_subscribed(struct decision *d, const struct group *g, struct str topic);
int16_t offsets_group_may_go(const struct group *g); /* as in a DeleteGroups */
void offsets_group_tombstones(struct decision *d, const struct group *g);

/* ---- answers.c: commits and deletions name partitions of topics and are answered in Kafka's order -------------------------- */

enum { ASKED_GROUP = -32768 }; /* not settled by the catalogue: the group decides */

struct asked_topic {
    struct str name;    /* null when the request named an id that no topic has */
    struct uuid id;     /* zero when the request named no topic that exists */
    int32_t partitions; /* of the topic; 0: no such topic */
    int32_t *partition;
    int16_t *error;
    int32_t len;
    int32_t settled; /* how many the catalogue refused */
};
struct asked {
    struct asked_topic *v;
    int32_t len;
    int64_t for_group, settled;
    bool by_id;
};
struct answer_partition {
    int32_t partition;
    int16_t error;
};
struct answer_topic {
    struct str name;
    struct uuid id;
    struct answer_partition *v;
    int32_t len;
};
struct answer {
    struct answer_topic *v;
    int32_t len;
};

void asked_init(struct asked *a, int32_t topics, bool by_id, struct arena *arena);
/* Fills the next topic: name, or id when the request goes by ids. The caller sets partition[0..len) and calls asked_check. */
struct asked_topic *asked_add(struct asked *a, struct str name, struct uuid id, int32_t len, const struct topics *topics,
                              struct arena *arena);
void asked_check(struct asked *a, struct asked_topic *t);
void asked_fail(struct asked *a, int16_t error); /* every partition left to the group gets this error */
/* What the catalogue refused first, then the rest, a topic's parts together; as sent when nothing was refused. */
void asked_answer(const struct asked *a, struct arena *arena, struct answer *ret);

#endif
