#include "torture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct core_stats torture_totals;
uint64_t torture_reads;
void (*torture_step)(struct world *w);

static void client(struct world *w)
{
    for (uint32_t s = 0; s < w->shard_count; s++) {
        world_put(w, s, 40 + prng_below(&w->prng, 400));
        for (uint32_t n = 1; n <= w->node_count; n++) {
            if (!world_node(w, n)->paused) {
                world_read(w, world_node(w, n), s);
            }
        }
    }
}

void torture_run(struct world *w, int64_t us)
{
    for (int64_t end = w->now_us + us; w->now_us < end;) {
        client(w);
        if (torture_step != NULL) {
            torture_step(w);
        }
        world_run(w, 1 + (int64_t)prng_below(&w->prng, 3 * MS));
    }
}

unsigned torture_up_count(const struct world *w)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < w->node_count; i++) {
        count += w->nodes[i].up ? 1 : 0;
    }
    return count;
}

void torture_collect(struct world *w, struct node *n)
{
    struct core_stats stats;
    if (n->core == NULL) {
        return;
    }
    core_stats(n->core, &stats);
    uint64_t *sum = (uint64_t *)&torture_totals;
    const uint64_t *add = (const uint64_t *)&stats;
    for (size_t i = 0; i < sizeof torture_totals / sizeof *sum; i++) {
        sum[i] += add[i];
    }
    for (uint32_t s = 0; s < w->shard_count; s++) {
        torture_reads += n->shards[s].reads;
    }
}

/* It wakes as a leader that was replaced, and the new one's messages do not reach it: only the answers to its own probes can tell. */
static void sleep_through_an_election(struct world *w, struct node *n, uint32_t unheard)
{
    world_pause(w, n->id);
    w->hush[unheard][n->id] = true;
    torture_run(w, 700 * MS);
    world_resume(w, n->id);
    torture_run(w, 30 * MS);
    w->hush[unheard][n->id] = false;
}

static void kill_or_restart(struct world *w, struct node *n)
{
    if (n->up) {
        torture_collect(w, n);
        world_kill(w, n->id);
    } else if (n->part) {
        world_restart(w, n->id);
    }
}

static void pause_or_resume(struct world *w, struct node *n)
{
    if (n->paused) {
        world_resume(w, n->id);
    } else if (n->up) {
        world_pause(w, n->id);
    }
}

static void disturb_network(struct world *w, struct node *n, uint32_t other)
{
    switch (prng_below(&w->prng, 3)) {
    case 0:
        world_isolate(w, n->id, prng_chance(&w->prng, 500000));
        break;
    case 1:
        w->hush[n->id][other] = other != n->id && !w->hush[n->id][other]; /* one way */
        break;
    default:
        w->drop_ppm = prng_chance(&w->prng, 500000) ? 100000 : 0;
        w->double_ppm = prng_chance(&w->prng, 500000) ? 50000 : 0;
        w->delay_max_us = prng_chance(&w->prng, 500000) ? 400 : 15 * MS;
        break;
    }
}

static void disturb_disk(struct world *w, struct node *n)
{
    if (prng_chance(&w->prng, 500000)) {
        n->force_result = prng_chance(&w->prng, 300000) ? MUSTER_E_FULL : 0;
    } else {
        n->write_takes_us = prng_chance(&w->prng, 600000) ? 500 : prng_chance(&w->prng, 500000) ? 30 * MS : 1500 * MS;
    }
}

void torture_mischief(struct world *w)
{
    struct node *n = world_node(w, 1 + (uint32_t)prng_below(&w->prng, w->node_count));
    uint32_t other = 1 + (uint32_t)prng_below(&w->prng, w->node_count);
    uint32_t shard = (uint32_t)prng_below(&w->prng, w->shard_count);
    bool awake = n->up && !n->paused;
    uint64_t what = prng_below(&w->prng, 13);
    if (what < 2) {
        kill_or_restart(w, n);
    } else if (what < 3) {
        pause_or_resume(w, n);
    } else if (what < 7) {
        disturb_network(w, n, other);
    } else if (what < 9) {
        disturb_disk(w, n);
    } else if (what == 9 && n->up) {
        core_snapshot_hint(n->core, shard);
    } else if (what == 10 && awake && other != n->id) {
        sleep_through_an_election(w, n, other);
    } else if (awake) {
        replica_transfer(n->core, shard, 0);
        world_flush(w, n);
    }
}

void torture_heal(struct world *w)
{
    w->drop_ppm = w->double_ppm = 0;
    w->delay_max_us = 400;
    for (uint32_t i = 1; i <= w->node_count; i++) {
        struct node *n = world_node(w, i);
        n->write_takes_us = 500;
        n->force_result = 0;
        world_isolate(w, i, false);
        if (n->part && !n->up) {
            world_restart(w, i);
        }
        world_resume(w, i);
    }
}
