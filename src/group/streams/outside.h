/* outside.h: what describe.c, description.c, initialize.c and outside.c share: the requests that do not come from members' heartbeats. */
#ifndef MUSTER_STREAMS_OUTSIDE_H
#define MUSTER_STREAMS_OUTSIDE_H

#include "streams.h"

/* ---- describe.c ---- */

/* The text of GROUP_ID_NOT_FOUND. g NULL: unknown; else it is of another type. */
struct str streams_not_found(struct decision *d, const struct group *g);

/* ---- description.c ---- */

/* The description of the group's topology as it is; NULL: there is none. */
struct streams_group_describe_response_topology_description *streams_description_shown(const struct modern *s, struct arena *arena);

/* Structures of one message as those of another that have the same form on the wire, in the arena with all they point to. */
struct shape {
    const struct wire_type *type;
    int16_t version;
};
void *reshape(struct shape from, const void *values, int32_t len, struct shape to, struct arena *arena);
struct shape shape_of(struct shape whole, const char *field); /* of that field, or of its elements */

#endif
