/* fixture.h: a world with the topics ta (3 partitions) and tb (3), and offsets spoken in short texts.
 *
 * Partitions are written "ta:0=5/3/x y, ta:1=7" (offset, leader epoch, metadata); answers come back as "ta[0:0 1:12] none[0:3]" for commits and
 * deletions (partition:error) and "ta[0=5/3/x y 1=-1/-1/]" for fetches; a topic known by its id alone is shown as #NN, its last byte. */
#ifndef MUSTER_TESTS_OFFSETS_FIXTURE_H
#define MUSTER_TESTS_OFFSETS_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "group_world.h"

struct fixture {
    struct world world;
    char answer[65536]; /* the newest one, as text */
    char rule[128];
    int16_t error;
    bool more;
    char member_id[256]; /* of the newest join */
    int32_t generation;
    int64_t records; /* decided so far */
};

int fixture_setup(void **state);
int fixture_teardown(void **state);

struct commit {
    int16_t version; /* 0: 9 */
    const char *group, *member, *instance;
    int32_t generation; /* 0: -1; use zero_generation for 0 */
    bool zero_generation;
    int64_t retention_ms; /* 0: not sent */
    const char *partitions;
};
const char *commit(struct fixture *f, struct commit c);
/* topics: "ta:0, ta:1"; NULL: all of the group. */
const char *fetch(struct fixture *f, int16_t version, const char *group, const char *topics);
const char *offset_delete(struct fixture *f, const char *group, const char *topics);
/* "ta:0=5, ta:1=-1": offset, or -1: deletes; with `moves` by how much. Answers "ta[0:0 5>7 1:0 7>-1]": partition:error before>after, before it "fenced N ". */
struct alter {
    const char *group, *partitions;
    int8_t create;
    bool fence, force, validate, moves;
};
const char *alter(struct fixture *f, struct alter a);
/* The error; deletes in as many slices as it takes. */
int16_t group_delete(struct fixture *f, const char *group, int *ret_slices);

/* Joins with a consumer subscription to the topics ("ta,tb"; NULL: bytes that are none) and waits for nothing. version 3. */
void join(struct fixture *f, const char *group, const char *protocol_type, const char *topics, const char *member, int32_t rebalance_ms);
/* Syncs as the leader of itself with these partitions. */
int16_t sync(struct fixture *f, const char *group, const char *assignment);
int16_t leave(struct fixture *f, const char *group, const char *member);
/* A member of a stable group of its own. */
void stable(struct fixture *f, const char *group, const char *topics, const char *assignment);
int16_t heartbeat(struct fixture *f, const char *group, int32_t generation, const char *member);

void run(struct fixture *f, enum group_op_kind kind, const char *group);
bool group_exists(struct fixture *f, const char *group);
/* Writes an offset as an import would: without a topic id or with one of its own. */
void import_offset(struct fixture *f, const char *group, const char *topic, int32_t partition, int64_t offset, struct uuid id);

bool rule_was_hit(const char *rule);

#endif
