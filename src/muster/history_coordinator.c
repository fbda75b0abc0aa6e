/* history_coordinator.c: a group's coordinator moved: from whom to whom, and that this did nothing to the group. */
#include "history_view.h"
#include "out.h"

bool history_move_is_within(const history_answer *h, const coordinator_move *m)
{
    for (int32_t i = 0; i < h->rebalances.len; i++) {
        const history_rebalance *r = &h->rebalances.v[i];
        if (r->began_clock_ms <= m->clock_ms && (r->settled_clock_ms < 0 || r->settled_clock_ms > m->clock_ms)) {
            return true;
        }
    }
    return false;
}

/* "coordinator moved from node 2 to node 1". */
static struct str moved(const coordinator_move *m, struct arena *arena)
{
    if (m->from_node_id < 0) {
        return arena_printf(arena, "coordinator moved to node %d", (int)m->node_id);
    }
    if (m->from_node_id == m->node_id) {
        return arena_printf(arena, "coordinator, node %d, lost its office and took it again", (int)m->node_id);
    }
    return arena_printf(arena, "coordinator moved from node %d%s to node %d", (int)m->from_node_id,
                        m->handed_over ? ", which handed over," : "", (int)m->node_id);
}

struct str history_move_text(const history_answer *h, const coordinator_move *m, struct arena *arena)
{
    struct str text = moved(m, arena), term = arena_printf(arena, "term %lld", (long long)m->term);
    if (m->silent_ms >= 0) {
        term = arena_printf(arena, "%.*s, nobody led for at most %.*s", STR_ARG(term), STR_ARG(history_duration(m->silent_ms, arena)));
    }
    return arena_printf(arena, "%.*s (%.*s), %s", STR_ARG(text), STR_ARG(term),
                        history_move_is_within(h, m) ? "while it rebalanced" : "without effect");
}

enum { SHORTLY_MS = 60000 };

/* A coordinator that was away just before may be why members came anew. */
static struct str moved_before(const history_answer *h, int64_t began, struct arena *arena)
{
    for (int32_t i = h->coordinator_moves.len - 1; i >= 0; i--) {
        const coordinator_move *m = &h->coordinator_moves.v[i];
        if (m->clock_ms < began && m->clock_ms >= began - SHORTLY_MS) {
            struct str led = m->silent_ms >= 0 ? arena_printf(arena, ", and nobody had led for %.*s at most",
                                                              STR_ARG(history_duration(m->silent_ms, arena)))
                                               : STR("");
            return arena_printf(arena, " Shortly before, at %.*s, its %.*s%.*s.", STR_ARG(out_time(m->wall_ms, arena)),
                                STR_ARG(moved(m, arena)), STR_ARG(led));
        }
    }
    return STR("");
}

/* Those since the newest rebalance began: the newest by itself, how many came before it. */
struct str history_moved_since(const history_answer *h, struct arena *arena)
{
    int64_t began = h->rebalances.len > 0 ? h->rebalances.v[h->rebalances.len - 1].began_clock_ms : INT64_MIN;
    int32_t count = 0;
    for (int32_t i = 0; i < h->coordinator_moves.len; i++) {
        count += h->coordinator_moves.v[i].clock_ms >= began;
    }
    if (count == 0) {
        return h->rebalances.len > 0 ? moved_before(h, began, arena) : STR("");
    }
    const coordinator_move *newest = &h->coordinator_moves.v[h->coordinator_moves.len - 1];
    struct str before = count > 1 ? arena_printf(arena, ", the last of %d such moves", (int)count) : STR("");
    return arena_printf(arena, " At %.*s its %.*s%.*s.", STR_ARG(out_time(newest->wall_ms, arena)),
                        STR_ARG(history_move_text(h, newest, arena)), STR_ARG(before));
}
