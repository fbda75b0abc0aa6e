/* Each node's own account of whom it heard of. It is kept beside the coordinator's timers, from nothing but turns, the replica's contact with the
 * majority, and heartbeats that were found fine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

struct sim_heard {
    char member[SIM_ID_MAX];
    uint32_t shard;
    int64_t live_us; /* the node's clock of that shard */
};

void expiry_turn(struct sim_node *n)
{
    int64_t now = node_now(n), elapsed = now - n->turn_us;
    n->turn_us = now;
    if (elapsed > SIM_STALL_US) /* it did not run */
        return;
    for (uint32_t shard = 0; shard < SIM_SHARDS; shard++) {
        struct replica_shard_status s;
        replica_status(n->core, shard, &s);
        if ((s.role == REPLICA_SERVING || s.role == REPLICA_HANDING_OVER) && now - s.contact_us <= SIM_ELECTION_US)
            n->live_us[shard] += elapsed;
    }
}

void expiry_office(struct sim_node *n, uint32_t shard)
{
    size_t kept = 0;
    for (size_t i = 0; i < n->heard_count; i++) {
        if (n->heard[i].shard != shard)
            n->heard[kept++] = n->heard[i];
    }
    n->heard_count = kept;
}

void expiry_forget(struct sim_node *n)
{
    free(n->heard);
    n->heard = NULL;
    n->heard_count = n->heard_cap = 0;
    n->turn_us = node_now(n);
}

static struct sim_heard *find(struct sim_node *n, struct str member)
{
    for (size_t i = 0; i < n->heard_count; i++) {
        if (str_eq(str_of(n->heard[i].member), member))
            return &n->heard[i];
    }
    return NULL;
}

static void heard_of(struct sim_node *n, uint32_t shard, struct str member)
{
    struct sim_heard *h = find(n, member);
    if (h == NULL) {
        if (n->heard_count == n->heard_cap) {
            n->heard_cap = n->heard_cap == 0 ? 32 : 2 * n->heard_cap;
            n->heard = realloc(n->heard, n->heard_cap * sizeof(*n->heard));
            MUSTER_CHECK(n->heard != NULL);
        }
        h = &n->heard[n->heard_count++];
        snprintf(h->member, sizeof(h->member), "%.*s", STR_ARG(member));
        h->shard = shard;
    }
    h->live_us = n->live_us[shard];
}

/* Who leaves asks for no time; where that is not stored, since the disk is full, his session ends when it would have. */
static bool leaves(const struct group_op *op)
{
    if (op->kind == GROUP_STREAMS_HEARTBEAT)
        return ((const struct streams_group_heartbeat_request *)op->request)->member_epoch < 0;
    return ((const struct consumer_group_heartbeat_request *)op->request)->member_epoch < 0;
}

void expiry_decided(struct sim_node *n, uint32_t shard, const struct group_op *op, const struct group_out *out)
{
    if (op->held) /* heard of when it came */
        return;
    if (op->kind == GROUP_HEARTBEAT && out->error == 0)
        heard_of(n, shard, ((const struct heartbeat_request *)op->request)->member_id);
    if (op->kind == GROUP_STREAMS_HEARTBEAT && out->error == 0 && !leaves(op))
        heard_of(n, shard, ((const struct streams_group_heartbeat_request *)op->request)->member_id);
    if (op->kind == GROUP_CONSUMER_HEARTBEAT && out->error == 0 && !leaves(op))
        heard_of(n, shard, ((const struct consumer_group_heartbeat_response *)out->answer)->member_id);
    if (op->kind != GROUP_TIMER || op->timer.kind != GROUP_TIMER_SESSION || out->records.len == 0)
        return;
    const struct sim_heard *h = find(n, op->timer.member_id);
    int64_t silent_us = h == NULL ? INT64_MAX : n->live_us[shard] - h->live_us;
    if (silent_us < SIM_SESSION_MS * 1000 - 1000)
        sim_fail(n->sim, "node %u ends the session of %s %lld ms after its heartbeat", n->id, h->member, (long long)silent_us / 1000);
}
