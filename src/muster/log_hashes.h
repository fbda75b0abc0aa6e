/* log_hashes.h: the hashes of a shard's state that its leaders wrote into the log, held against the state that the log makes. */
#ifndef MUSTER_CLI_LOG_HASHES_H
#define MUSTER_CLI_LOG_HASHES_H

#include <muster/base.h>

#include <stdbool.h>
#include <stdint.h>

/* A leader writes the hash of the state behind one entry into a later one: in between are those that were in flight or, where another leader took over, up to an interval. */
enum { LOG_HASHES_KEPT = 16384 };

struct log_hash {
    uint64_t index, hash; /* of the state behind that entry */
};
struct log_hashes {
    struct log_hash *v; /* the newest states, by index; NULL: none was noted */
    uint64_t agreed;    /* the newest index at which the state was found right; 0: none */
    uint64_t seen, compared;
    bool differed;
};

/* It is no more, or the state comes from a snapshot: what was noted before need not be what that goes on from. */
void log_hashes_forget(struct log_hashes *h);
/* The state behind the index is known to be right: a snapshot says so. */
void log_hashes_agreed(struct log_hashes *h, uint64_t index);
/* The entry was applied, and the state behind it has that hash. false: an earlier state has another hash than the entry tells (*ret_told), for the first time. */
bool log_hashes_applied(struct log_hashes *h, uint32_t shard, uint64_t index, struct bytes payload, uint64_t hash, struct arena *scratch,
                        struct log_hash *ret_told);

#endif
