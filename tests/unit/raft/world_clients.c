/* What clients of the world do, and what a person sees of it. */
#include "world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

int world_propose(struct world *w, struct node *n, uint32_t shard, size_t size)
{
    static uint8_t command[1 << 20];
    uint64_t term, index;
    assert_true(size >= 16 && size <= sizeof command);
    put_le64(command, n->id);
    put_le64(command + 8, prng_next(&w->prng));
    int rc = replica_propose(n->core, shard, (struct bytes){command, (int32_t)size}, &term, &index);
    world_flush(w, n);
    return rc;
}

bool world_put(struct world *w, uint32_t shard, size_t size)
{
    struct node *n = world_leader(w, shard);
    return n != NULL && world_propose(w, n, shard, size) == 0;
}

void world_read(struct world *w, struct node *n, uint32_t shard)
{
    struct world_shard *s = &n->shards[shard];
    if (!n->up || s->role != REPLICA_SERVING || s->read_round != 0) {
        return;
    }
    s->read_floor = w->acked[shard];
    s->read_round = replica_want_round(n->core, shard);
    world_flush(w, n);
}

void world_show(const struct world *w)
{
    for (uint32_t s = 0; s < w->shard_count; s++) {
        for (uint32_t i = 0; i < w->node_count; i++) {
            const struct node *n = &w->nodes[i];
            if (!n->up) {
                fprintf(stderr, "shard %u node %u down\n", s, n->id);
                continue;
            }
            struct replica_shard_status status;
            replica_status(n->core, s, &status);
            fprintf(stderr, "shard %u node %u role %d leader %u term %llu entries %llu-%llu commit %llu applied %llu snapshot %llu%s\n", s,
                    n->id, (int)status.role, status.leader, (unsigned long long)status.term, (unsigned long long)status.first_index,
                    (unsigned long long)status.last_index, (unsigned long long)status.commit_index,
                    (unsigned long long)status.applied_index, (unsigned long long)status.snapshot_index, n->fatal);
        }
    }
}
