/* census.h: how many groups there are of each type in each state. A group's state follows from its members, and there may be a million groups: they are counted
 * bit by bit, and what is shown is the newest count that came to its end. */
#ifndef MUSTERD_CENSUS_H
#define MUSTERD_CENSUS_H

#include <muster/group.h>

enum { CENSUS_TYPES = 3, CENSUS_STATES = 6 };

struct census_type {
    const char *type; /* "consumer" */
    const char *const *states;
    size_t state_count;
};
extern const struct census_type census_types[CENSUS_TYPES];

struct census {
    bool running, known; /* known: counted is of a whole count */
    uint32_t shard;      /* that is being walked */
    struct buf after;    /* the last id looked at there; not valid before the first */
    bool within;
    uint64_t counting[CENSUS_TYPES][CENSUS_STATES], counted[CENSUS_TYPES][CENSUS_STATES];
};

void census_init(struct census *c);
void census_fini(struct census *c);
void census_begin(struct census *c);
/* Looks at so many groups more. sets: of each shard, NULL: this node does not serve it. */
void census_step(struct census *c, const struct group_set *const *sets, uint32_t shard_count, int most);

#endif
