/* matches.h: which topics regular expressions match: prepared where the topics are, worked out anywhere. */
#ifndef MUSTER_MODERN_MATCHES_H
#define MUSTER_MODERN_MATCHES_H

#include "modern.h"

struct matching {
    struct str_array patterns, names; /* both in order, each once */
};
/* A copy of all that it takes, in the arena. patterns: in any order, also repeated. */
void matching_new(const struct str *patterns, int32_t count, const struct topics *topics, struct arena *arena, struct matching *ret);
/* For each regular expression the topics, in order of names; borrowed from the matching. Those that RE2 does not take match nothing. */
struct regex_table matching_run(const struct matching *m, struct arena *arena);

#endif
