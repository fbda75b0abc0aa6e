/* resolve.h: what topology_resolve.c and topology_copartition.c share. Arrays of subtopologies are in the order of the record. */
#ifndef MUSTER_STREAMS_RESOLVE_H
#define MUSTER_STREAMS_RESOLVE_H

#include "partitions.h"

enum { SHOWN_NAME_BYTES = 16384 }; /* of the names in one text; a string of the protocol ends at 32767 */

struct used_topic { /* one the topology reads or keeps; each once */
    struct str name;
    struct uuid id;
    int32_t partitions; /* 0: it does not exist */
};
struct used_sources { /* what a subtopology reads from outside: places in `used` */
    int32_t *v;       /* its source topics as sent, then what its regular expressions match */
    int32_t len;
    int32_t *starts; /* where in v the matches of each regular expression begin; one more, the end */
};
struct resolving {
    const topology *t;
    const struct topics *topics;
    const struct regex_table *regexes;
    struct arena *arena;
    const int32_t *order;
    struct used_topic *used;
    int32_t used_count;
    struct names used_names;
    struct names changelog_names;
    struct used_sources *sources;
    struct repartitions repartitions;
    int32_t *tasks;
    int64_t copartitioned; /* topics of the copartition groups so far */
    bool derived;          /* counts and tasks are right */
    struct resolved *ret;
};

/* Notes the first problem. */
void resolve_problem(struct resolving *r, enum topology_problem problem, struct str detail);
const struct used_topic *resolve_used(const struct resolving *r, struct str name);
/* Sets the counts of the open repartition topics of copartition groups. False: they do not fit. */
bool resolve_copartitions(struct resolving *r);

#endif
