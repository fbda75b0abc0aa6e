/* tally.h: what happened to the groups that this node coordinates, counted as Kafka's group coordinator counts it, and changes of leaders. For the metrics. */
#ifndef MUSTERD_TALLY_H
#define MUSTERD_TALLY_H

#include <muster/group.h>

enum { TALLY_SHARDS = 256 }; /* muster.shards has no more */

struct tally {
    uint64_t offsets_committed, offsets_expired, offsets_deleted;
    uint64_t classic_rebalances;   /* that were completed: the leader's assignment was taken */
    uint64_t consumer_rebalances;  /* begun: a new group epoch */
    uint64_t streams_rebalances;   /* the same */
    uint32_t leader[TALLY_SHARDS]; /* the last one known of each shard; 0: none was yet */
    uint64_t leader_changes[TALLY_SHARDS];
};

/* Of every decision, as struct coord_events tells it. */
void tally_decided(struct tally *t, const struct group_op *op, const struct group_out *out);
/* leader 0: nobody is known, which is not counted. */
void tally_leader(struct tally *t, uint32_t shard, uint32_t leader);

#endif
