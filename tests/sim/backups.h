/* backups.h: what was read of a cluster for a backup. */
#ifndef MUSTER_SIM_BACKUPS_H
#define MUSTER_SIM_BACKUPS_H

#include "world.h"

struct backup_section { /* a shard */
    bool begun;
    int64_t asked_us; /* whatever anybody was told until then has to be in it */
    uint64_t index, term, state_hash;
    int64_t catalog_index;
    struct buf data;
};
void backup_check(struct sim *sim, const struct backup_section sections[SIM_SHARDS]);

#endif
