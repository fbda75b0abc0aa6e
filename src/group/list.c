/* list.c: what is asked about many groups: their order, their listing, the timers a new coordinator arms. */
#include "state.h"

struct str group_set_next(const struct group_set *set, struct str after)
{
    const struct group *g = group_after(set, after);
    return g == NULL ? STR_NULL : g->id;
}

bool group_listing(const struct group_set *set, struct str group_id, struct group_listing *ret)
{
    const struct group *g = group_find(set, group_id);
    if (g == NULL) {
        return false;
    }
    ret->group_id = g->id;
    switch (group_type(g)) {
    case GROUP_CLASSIC:
        ret->protocol_type = g->classic.protocol_type;
        ret->type = STR("classic");
        ret->state = str_of(classic_state_name(g->classic.state));
        break;
    case GROUP_CONSUMER:
        ret->protocol_type = STR("consumer");
        ret->type = STR("consumer");
        ret->state = str_of(consumer_state_name(g));
        break;
    case GROUP_STREAMS:
        ret->protocol_type = STR("streams");
        ret->type = STR("streams");
        ret->state = str_of(streams_state_name(g, true));
        break;
    }
    return true;
}

void group_set_timers(const struct group_set *set, const struct group_set *catalog, const struct group_settings *settings, int64_t clock_ms,
                      void (*each)(void *ctx, const struct group_timer_wish *wish), void *ctx)
{
    for (const struct group *g = group_after(set, STR_NULL); g != NULL; g = group_after(set, g->id)) {
        switch (group_type(g)) {
        case GROUP_CLASSIC:
            classic_timers(g, settings, each, ctx);
            break;
        case GROUP_CONSUMER:
            consumer_timers(g, catalog, settings, clock_ms, each, ctx);
            break;
        case GROUP_STREAMS:
            streams_timers(g, catalog, settings, clock_ms, each, ctx);
            break;
        }
    }
}

bool group_reads_regexes(const struct group_set *set, struct str group_id)
{
    const struct group *g = group_find(set, group_id);
    if (g == NULL || group_type(g) == GROUP_CLASSIC) {
        return false;
    }
    return group_type(g) == GROUP_CONSUMER ? consumer_reads_regexes(g) : streams_reads_regexes(g);
}

bool group_needs_takeover(const struct group_set *set, struct str group_id)
{
    const struct group *g = group_find(set, group_id);
    return g != NULL && group_type(g) == GROUP_CLASSIC && g->classic.state == CLASSIC_PREPARING;
}
