/* What happens when an entry is applied or a round is confirmed: answers go out, gates open. */
#include "internal.h"

#include <string.h>

static void on_group(void *ctx, struct str group_id)
{
    struct shard *s = ctx;
    struct gate *g = gate_find_id(s, group_id);
    if (g != NULL)
        gate_list_add(&s->opened, g);
}

/* The client's answer is true now; a parked join or sync is asked what it has to say. A deletion of which only a slice is done is decided again: its
 * answer is true when nothing is left. */
static void release(struct shard *s, struct flight *f)
{
    struct coord_request *r;
    while ((r = request_list_take(&f->requests)) != NULL) {
        if (request_follow(s, r))
            continue;
        if (r->in.wait)
            request_poll(s, r);
        else if (r->in.more && r->op.kind == GROUP_DELETE)
            request_route(s, r);
        else
            request_finish(s, r);
    }
    flight_free(f);
}

/* In a join phase, that is. */
static bool rebalancing(const struct shard *s, const struct gate *g)
{
    return !g->catalog && group_needs_takeover(s->set, g->id);
}

/* muster.classic.rebalance.signal = close: the seed's second option. Members that have a join parked are spared. */
static void close_members(struct shard *s, const struct gate *g)
{
    for (size_t i = 0; i < s->timers.heap_len; i++) {
        const struct timer *t = s->timers.heap[i];
        if (t->what.kind != GROUP_TIMER_SESSION || t->connection == 0 || !str_eq(t->what.group_id, g->id))
            continue;
        bool parked = false;
        for (const struct coord_request *r = g->waiting.first; r != NULL && !parked; r = r->in.next)
            parked = r->connection == t->connection;
        if (!parked)
            s->coord->events.close_connection(s->coord->events.ctx, t->connection);
    }
}

static void note_rebalances(struct shard *s, const struct flight *f)
{
    for (size_t i = 0; i < f->gate_count; i++)
        f->gates[i]->was_rebalancing = rebalancing(s, f->gates[i]);
}

static void poll_waiting(struct shard *s, struct gate *g)
{
    struct request_list parked;
    request_list_init(&parked);
    request_list_move(&g->waiting, &parked);
    uint64_t phase = group_phase(s->set, g->id);
    struct coord_request *r;
    while ((r = request_list_take(&parked)) != NULL) {
        if (r->in.phase == phase) {
            request_list_add(&g->waiting, r);
            continue;
        }
        request_poll(s, r);
    }
}

/* In order of arrival, but for deadlines: one that had to wait waits for all that came meanwhile, for a heartbeat counts when it arrives. */
static void drain_queue(struct shard *s, struct gate *g)
{
    struct request_list queued, deadlines;
    request_list_init(&queued);
    request_list_init(&deadlines);
    request_list_move(&g->queue, &queued);
    struct coord_request *r;
    while ((r = request_list_take(&queued)) != NULL || (r = request_list_take(&deadlines)) != NULL) {
        if (r->op.kind == GROUP_TIMER && queued.count > 0) {
            request_list_add(&deadlines, r);
            continue;
        }
        if (g->queue.count > 0) {
            request_list_add(&g->queue, r); /* one before it had to wait again: keep the order */
            continue;
        }
        request_route(s, r);
    }
}

void gates_reconsider(struct shard *s)
{
    struct gate *g;
    while ((g = gate_list_take(&s->opened)) != NULL) {
        g->pins++;
        if (!g->catalog && g->waiting.count > 0)
            poll_waiting(s, g);
        if (!TAILQ_EMPTY(&g->beats))
            beats_look(s, g);
        if (s->coord->options.close_on_rebalance && !g->was_rebalancing && rebalancing(s, g)) {
            g->was_rebalancing = true;
            close_members(s, g);
        }
        if (g->queue.count > 0)
            drain_queue(s, g);
        g->pins--;
        gate_free_if_idle(s, g);
    }
}

void catalog_moved(struct coord *c)
{
    c->catalog_index = group_set_catalog_index(c->shards[0].set);
    c->settings = c->options.settings;
    catalog_settings(c->shards[0].set, (int32_t)c->options.shard_count, &c->settings);
    if (c->events.catalog_changed != NULL)
        c->events.catalog_changed(c->events.ctx, c->catalog_index);
}

static void catalog_applied(struct coord *c)
{
    if (group_set_catalog_index(c->shards[0].set) != c->catalog_index) {
        for (uint32_t i = 0; i < c->options.shard_count; i++)
            c->shards[i].topics_due = true;
        catalog_moved(c);
    }
    for (uint32_t i = 1; i < c->options.shard_count; i++)
        held_release(&c->shards[i]);
}

/* Says why the node cannot go on; the text of what a newer program has written comes first. */
void coord_give_up(struct coord *c, struct str outdated, const char *why)
{
    char text[512];
    if (str_is_null(outdated)) {
        c->events.fatal(c->events.ctx, why);
        return;
    }
    size_t len = (size_t)outdated.len < sizeof(text) ? (size_t)outdated.len : sizeof(text) - 1;
    memcpy(text, outdated.ptr, len);
    text[len] = '\0';
    (c->events.outdated != NULL ? c->events.outdated : c->events.fatal)(c->events.ctx, text);
}

void coord_apply(struct shard *s, uint64_t index, uint64_t term, struct bytes entry)
{
    struct coord *c = s->coord;
    if (c->options.close_on_rebalance && s->flights != NULL && s->flights->index == index)
        note_rebalances(s, s->flights);
    if (entry.len > 0) {
        const char *why = "";
        arena_clear(&s->scratch);
        if (!group_apply_entry(s->set, index, entry, &s->scratch, on_group, s, &why)) {
            coord_give_up(c, group_entry_problem(entry, &s->scratch), why);
            return;
        }
    }
    s->applied = index;
    state_hash_applied(s, index);
    if (s->flights != NULL && s->flights->index <= index) {
        MUSTER_CHECK(s->flights->index == index && s->flights->term == term);
        release(s, flight_take(s));
    }
    gates_reconsider(s);
    if (s->id == 0)
        catalog_applied(c);
}

void coord_confirmed(struct shard *s, uint64_t term, uint64_t round)
{
    if (term != s->term || s->role == REPLICA_FOLLOWER)
        return;
    while (s->reads.first != NULL && s->reads.first->in.round <= round) {
        s->coord->stats.confirmed_reads++;
        request_finish(s, request_list_take(&s->reads));
    }
    while (s->shard_reads != NULL && s->shard_reads->in.round <= round) {
        struct coord_read *read = s->shard_reads;
        s->shard_reads = read->in.next;
        if (s->shard_reads == NULL)
            s->shard_reads_end = &s->shard_reads;
        read_finish(s, read, 0);
    }
}
