/* limits.h: the limits of the configuration as metrics. */
#ifndef MUSTERD_LIMITS_H
#define MUSTERD_LIMITS_H

#include <muster/api.h>
#include <muster/coord.h>
#include <muster/net.h>
#include <muster/ops.h>
#include <muster/raft_host.h>

#include "config.h"

/* Where the numbers come from. */
struct limits_view {
    struct net_stats net;
    struct api_stats api;
    struct coord_stats coord;
    struct core_stats core;
    struct store_stats store;
    uint64_t lag_ms;
    uint64_t peer_queued_bytes, peer_dropped;                     /* of the peer for which most waits; messages to all of them */
    uint64_t groups, members, topics, state_bytes, history_bytes; /* of all shards, as this node has applied them */
};

/* muster_limit: needs no node. */
void limits_put(const struct config *c, struct buf *out);
/* muster_limit_used, muster_limit_hits_total. */
void limits_put_use(const struct limits_view *view, struct buf *out);

#endif
