/* recover.h: reading the log back. Three steps: read everything (changing nothing), settle the folder, hand over what survived. */
#ifndef STORAGE_RECOVER_H
#define STORAGE_RECOVER_H

#include "log.h"
#include "names.h"
#include "walk.h"

struct recover_shard {
    struct shard_log log;
    uint64_t known_first; /* entries known_first..last_index are in the segments that are there */
    uint64_t *slots;      /* their records' ordinals, by index - known_first */
    size_t slot_cap;
};

struct recover {
    const struct store_port *port;
    const struct store_options *options;
    struct store_report *report;
    struct store *store; /* segments and figures are filled in on the way */
    struct recover_shard *shards;
    uint64_t *numbers; /* of the segments there, ascending */
    size_t number_count;
    bool snapshots_seen;        /* the folder has a snapshot file */
    uint64_t entry_ordinal;     /* of the next entry record */
    bool started;               /* the first checkpoint has been read */
    struct segment_header last; /* of the newest segment */
    uint64_t used_bytes;        /* of the newest segment, up to its last good batch */
    uint64_t dirty_bytes;       /* end of the torn bytes behind that; 0: none */
    char torn_text[400];        /* what is said of a torn tail if nothing worse is found; empty: there is none */
};

/* recover_read.c */
int store_recover_init(struct recover *r, struct store *store, struct store_report *report);
void store_recover_fini(struct recover *r);
/* Reads and judges the whole folder. CORRUPT, VERSION, IO, LIMIT with the report filled in. */
int store_recover_read(struct recover *r);
/* Second reading: every surviving entry to the callback. */
int store_recover_replay(struct recover *r, const struct store_recovery *recovery);
/* Puts "file, offset, reason, what to do" into the report; returns CORRUPT. */
int store_recover_corrupt(struct store_report *report, const char *file, uint64_t offset, const char *reason);

#endif
