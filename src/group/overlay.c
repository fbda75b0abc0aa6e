/* overlay.c: a private copy of one group, for deciding several requests of a turn after one another. It shares the members (immutable, counted)
 * with its base and has no offsets; dropping it is the undo. */
#include "history/history.h"
#include "modern/modern.h"

struct group_set *group_overlay_new(const struct group_set *base, struct str group_id)
{
    MUSTER_CHECK(base->base == NULL);
    struct group_set *overlay = group_set_new_bare(base->pool, base->shard);
    overlay->base = base;
    overlay->clock_ms = base->clock_ms;
    overlay->catalog_index = base->catalog_index;
    overlay->cursor = base->cursor;
    overlay->phases = base->phases;
    const struct group *g = group_find(base, group_id);
    if (g != NULL) {
        struct group *copy = group_find_or_add(overlay, group_id);
        copy->revision = g->revision;
        copy->phase = g->phase;
        copy->offset_count = g->offset_count;
        classic_clone(overlay, copy, g);
        copy->consumer = modern_share(g->consumer);
        copy->streams = modern_share(g->streams);
        copy->history = history_share(g->history);
    }
    overlay->counts = base->counts;
    return overlay;
}

void group_overlay_free(struct group_set *overlay)
{
    MUSTER_CHECK(overlay == NULL || overlay->base != NULL);
    group_set_free(overlay);
}
