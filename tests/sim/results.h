/* results.h: what runs of seeds came to, kept in a file, so that a run of hours can be stopped and taken up again. One line a seed:
 *
 *     BUILD SEED ok|FAILED HASH NAME=VALUE ... commit=COMMIT
 *
 * BUILD says which code it was (scripts/sim gives a hash of all that the simulator is made of, which many commits leave as it is); lines of other builds are
 * left alone and count nothing. COMMIT says where it was run. */
#ifndef MUSTER_SIM_RESULTS_H
#define MUSTER_SIM_RESULTS_H

#include "world.h"

struct results {
    FILE *file;
    const char *commit; /* told with what is added; NULL: not known */
    char build[80];
    uint8_t *done; /* by seed - from: 1 ok, 2 failed */
    uint64_t from, count;
};

/* Adds what the file already has of these seeds of this build to the totals, and opens it to be added to. False, with a message on stderr, when it cannot be. */
bool results_open(struct results *r, const char *path, const char *build, uint64_t from, uint64_t count, struct sim_totals *totals);
uint8_t results_of(const struct results *r, uint64_t seed); /* 0: not run yet */
void results_add(struct results *r, uint64_t seed, bool ok, uint64_t hash, const struct sim_totals *totals);
void results_close(struct results *r);

#endif
