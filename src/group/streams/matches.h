/* matches.h: which topics the regular expressions of a topology match: prepared where the topics are, worked out anywhere. */
#ifndef MUSTER_STREAMS_MATCHES_H
#define MUSTER_STREAMS_MATCHES_H

#include "topology.h"

struct matching {
    struct str_array patterns, names; /* both in order, each once */
};
/* A copy of all that it takes, in the arena. */
void streams_matching(const topology *t, const struct topics *topics, struct arena *arena, struct matching *ret);
/* For each regular expression the topics, in order of names; borrowed from the matching. */
struct regex_table streams_matches(const struct matching *m, struct arena *arena);

#endif
