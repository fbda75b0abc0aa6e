/* shard.h: what the log says about one shard, kept as records are written or read: the same rules for both. */
#ifndef STORAGE_SHARD_H
#define STORAGE_SHARD_H

#include "format.h"

/* For STORE_SNAPSHOT the entry_type of a record says what happened to the entries; the store works it out when it writes. */
enum { SNAPSHOT_KEEPS_ENTRIES = 0, SNAPSHOT_EMPTIES_LOG = 1 };

/* The rules on the plain numbers. last_index is the newest entry, or the snapshot's index when none is behind it.
 * check: 0, or INVALID when the record cannot follow: a gap, an entry the snapshot covers, a term that falls, a second vote in a term. */
#define SHARD_INDEX_LIMIT ((uint64_t)1 << 62)
bool shard_state_valid(const struct store_checkpoint *at); /* as a checkpoint read from disk must be */
int shard_state_check(const struct store_checkpoint *at, const struct store_record *r);
void shard_state_apply(struct store_checkpoint *at, const struct store_record *r);

struct term_run {
    uint64_t first_index, term;
};

struct shard_log {
    struct store_checkpoint at;
    struct term_run *runs; /* terms of the known entries, ascending; the first covers trim or what is known behind it */
    size_t run_count, run_cap;
};

void shard_log_fini(struct shard_log *s);
/* Room for one more run, so that apply cannot fail. LIMIT: no memory. */
int shard_log_reserve(struct shard_log *s, size_t more_runs);
void shard_log_apply(struct shard_log *s, const struct store_record *r); /* a checked record */
uint64_t shard_log_term_at(const struct shard_log *s, uint64_t index);   /* 0: not known */

#endif
