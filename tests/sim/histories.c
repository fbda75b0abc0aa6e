/* What is kept of a group's rebalances: no more than the settings say, in the order in which they were. That all nodes keep the same is seen by the state's hash, which its records
 * are part of (src/group/history/store.c). */
#include "member.h"

enum { MOST_CAUSES = 8, MOST_MOVES = 8 };

typedef struct group_history_response_rebalance rebalance;

static void check_causes(struct sim *sim, struct str group, const rebalance *r, int64_t clock_ms)
{
    int64_t after_ms = r->began_clock_ms;
    if (r->causes.len == 0 || r->causes.len > MOST_CAUSES || r->moves.len > MOST_MOVES)
        sim_fail(sim, "history of %.*s: rebalance %d has %d causes, %d moves", STR_ARG(group), r->rebalance, r->causes.len, r->moves.len);
    for (int32_t i = 0; i < r->causes.len; i++) {
        const struct group_history_response_cause *cause = &r->causes.v[i];
        if (cause->number != i || cause->clock_ms < after_ms || cause->clock_ms > clock_ms)
            sim_fail(sim, "history of %.*s: rebalance %d: cause %d at %lld comes after %lld, by %lld", STR_ARG(group), r->rebalance,
                     cause->number, (long long)cause->clock_ms, (long long)after_ms, (long long)clock_ms);
        after_ms = cause->clock_ms;
    }
}

static void check_group(struct sim_node *n, uint32_t shard, struct str group, struct arena *arena)
{
    struct sim *sim = n->sim;
    struct group_op op = {.kind = GROUP_HISTORY, .group_id = group};
    const struct group_history_response *h = look_at_node(n, shard, &op, arena);
    int64_t clock_ms = group_set_clock(coord_set(n->coord, shard)), after_ms = 0;
    if (h->rebalances.len > node_settings(n).history_max_entries)
        sim_fail(sim, "history of %.*s: %d rebalances are kept", STR_ARG(group), h->rebalances.len);
    for (int32_t i = 0; i < h->rebalances.len && !sim->failed; i++) {
        const rebalance *r = &h->rebalances.v[i];
        bool over = r->settled_clock_ms >= 0, newest = i + 1 == h->rebalances.len;
        if (i > 0 && r->rebalance != h->rebalances.v[i - 1].rebalance + 1)
            sim_fail(sim, "history of %.*s: rebalance %d comes behind %d", STR_ARG(group), r->rebalance, h->rebalances.v[i - 1].rebalance);
        if (r->began_clock_ms < after_ms || (over && r->settled_clock_ms < r->began_clock_ms) || r->settled_clock_ms > clock_ms ||
            (!over && !newest))
            sim_fail(sim, "history of %.*s: rebalance %d from %lld to %lld, after %lld, by %lld", STR_ARG(group), r->rebalance,
                     (long long)r->began_clock_ms, (long long)r->settled_clock_ms, (long long)after_ms, (long long)clock_ms);
        check_causes(sim, group, r, clock_ms);
        after_ms = r->settled_clock_ms;
        sim->totals.histories++;
    }
}

void histories_check(struct sim_node *n, uint32_t shard)
{
    struct arena arena;
    struct str group = STR_NULL;
    arena_init(&arena, 0);
    while (!n->sim->failed && !str_is_null(group = group_set_next(coord_set(n->coord, shard), group))) {
        arena_clear(&arena);
        check_group(n, shard, group, &arena);
    }
    arena_fini(&arena);
}
