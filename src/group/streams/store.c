/* store.c: the state that a streams group is in. */
#include "streams.h"

enum streams_state streams_state(const struct modern *s)
{
    if (s->topology == NULL) {
        return STREAMS_INITIALIZING;
    }
    if (s->member_count == 0) {
        return STREAMS_EMPTY;
    }
    if (s->problem != TOPOLOGY_FINE) {
        return STREAMS_NOT_READY;
    }
    if (s->epoch > s->assignment_epoch) {
        return STREAMS_ASSIGNING;
    }
    return modern_all_settled(s) ? STREAMS_STABLE : STREAMS_RECONCILING;
}

const char *streams_state_name(const struct group *g, bool standard)
{
    static const char *const names[] = {
        [STREAMS_INITIALIZING] = "Initializing", [STREAMS_EMPTY] = "Empty",
        [STREAMS_NOT_READY] = "NotReady",        [STREAMS_ASSIGNING] = "Assigning",
        [STREAMS_RECONCILING] = "Reconciling",   [STREAMS_STABLE] = "Stable",
    };
    enum streams_state state = streams_state(g->streams);
    if (state == STREAMS_INITIALIZING && standard) {
        state = g->streams->member_count == 0 ? STREAMS_EMPTY : STREAMS_NOT_READY;
    }
    return names[state];
}
