/* fixture.h: what the storage tests share: an imagined disk with a store on it, and a twin that says what the store must hold.
 *
 * The twin is the slow obvious version: per shard the newest term and vote, the snapshot in use, and one slot for each entry. */
#ifndef TESTS_STORAGE_FIXTURE_H
#define TESTS_STORAGE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "mem_port.h"

enum { TWIN_SHARDS = 3, TWIN_ENTRIES = 1024 };

struct twin_entry {
    uint64_t term;
    uint64_t hash;
    int32_t len;
    uint8_t type;
};
struct twin_shard {
    uint64_t term, vote, snapshot_index, snapshot_term, trim, last;
    struct twin_entry entries[TWIN_ENTRIES]; /* by index */
};
struct twin {
    struct twin_shard shards[TWIN_SHARDS];
};

struct twin *twin_new(void);
void twin_copy(struct twin *to, const struct twin *from);
void twin_apply(struct twin *t, const struct store_record *r);
/* Where the two differ, in words; NULL: nowhere. Entries up to the trim do not count. */
const char *twin_difference(const struct twin *a, const struct twin *b);

/* A store on a disk. `found` is what recovery handed over. */
struct box {
    struct mem_disk *disk;
    struct store_port port;
    struct store_options options;
    struct store *store;
    struct store_report report;
    struct twin *found;
    unsigned found_shards; /* calls of shard() */
    unsigned warnings;
};
void box_init(struct box *b, uint64_t segment_bytes, uint64_t reserve_bytes);
void box_fini(struct box *b);
int box_open(struct box *b);   /* a new process on the disk */
void box_close(struct box *b); /* a clean end */
void box_kill(struct box *b);  /* the process dies, the machine does not */
void box_crash(struct box *b, uint64_t seed);
/* Opens another disk's folder with b's options and gives the result; what was found stays in b->found. */
int box_open_disk(struct box *b, struct mem_disk *disk);

struct store_record rec_entry(uint32_t shard, uint64_t index, uint64_t term, const char *payload);
struct store_record rec_term(uint32_t shard, uint64_t term, uint64_t vote);
struct store_record rec_snapshot(uint32_t shard, uint64_t index, uint64_t term, uint64_t trim);
int box_write(struct box *b, struct store_record r);
/* Entries first..last of one term in batches of one. */
void box_fill(struct box *b, uint32_t shard, uint64_t first, uint64_t last, uint64_t term, const char *payload);
/* A committed snapshot with a few runs of data. */
void make_snapshot(const struct store_port *port, uint32_t shard, uint64_t index, uint64_t term);
/* Whether any file of the folder has a name that ends so. */
bool box_has_name(const struct box *b, const char *end);

#endif
