/* A shard's state read out for a backup: frozen like a snapshot of the replica's own, confirmed like any other read. */
#include "internal.h"

static void freeze(struct coord_read *read, const struct group_set *set)
{
    struct coord_cut *cut = read->ctx;
    struct shard *s = &cut->in.coord->shards[cut->shard];
    MUSTER_CHECK(set == s->set);
    cut->index = s->applied;
    cut->term = s->term;
    cut->state_hash = group_set_hash(set);
    cut->catalog_index = group_set_cursor(set);
    group_snapshot_begin(s->set);
    s->cut = cut;
    cut->in.frozen = true;
}

static void thaw(struct shard *s)
{
    s->cut->in.frozen = false;
    s->cut = NULL;
    group_snapshot_end(s->set);
}

/* The round is over: nobody else led the shard when the state was frozen. */
static void confirmed(struct coord_read *read, int16_t error)
{
    struct coord_cut *cut = read->ctx;
    struct shard *s = &cut->in.coord->shards[cut->shard];
    if (error == 0 && !cut->in.frozen)
        error = LOAD_IN_PROGRESS; /* lost meanwhile */
    if (error != 0 && cut->in.frozen)
        thaw(s);
    if (error == 0)
        s->coord->stats.cuts++;
    cut->in.read.ctx = NULL;
    cut->opened(cut, error);
}

void coord_cut_open(struct coord *c, struct coord_cut *cut)
{
    MUSTER_CHECK(cut->shard < c->options.shard_count);
    const struct shard *s = &c->shards[cut->shard];
    cut->in.coord = c;
    cut->in.frozen = false;
    if (s->cut != NULL || s->snapshot_running || s->restoring) {
        cut->opened(cut, LOAD_IN_PROGRESS);
        return;
    }
    cut->in.read = (struct coord_read){.shard = cut->shard, .read = freeze, .done = confirmed, .ctx = cut};
#ifdef MUSTER_FAULT_CUT_WITHOUT_ROUND
    cut->in.read.local = coord_shard_state(c, cut->shard, NULL) == 0;
#endif
    coord_submit_read(c, &cut->in.read);
}

int coord_cut_next(struct coord_cut *cut, size_t budget, struct buf *out, bool *ret_more)
{
    MUSTER_CHECK(cut->in.frozen);
    struct shard *s = &cut->in.coord->shards[cut->shard];
    *ret_more = group_snapshot_next(s->set, budget, out);
    return *ret_more || snapshot_sound(s) ? 0 : MUSTER_E_CORRUPT;
}

void coord_cut_close(struct coord_cut *cut)
{
    MUSTER_CHECK(cut->in.frozen);
    thaw(&cut->in.coord->shards[cut->shard]);
}

void cut_lose(struct shard *s)
{
    struct coord_cut *cut = s->cut;
    if (cut == NULL)
        return;
    thaw(s);
    s->coord->stats.cuts_lost++;
    if (cut->in.read.ctx == NULL)
        cut->lost(cut); /* else confirmed() tells */
}
