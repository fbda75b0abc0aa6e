/* group_errands.h: what a coordinator has done outside when decisions wish for it: jobs that run, topics that are made. Stands on a world whose events it takes.
 *
 * As a coordinator does: of each group one errand of a kind is under way at a time; a job is made of the state as it is when it begins, and wished for again
 * while it is out it is made again when it is back; topics that could not be made are told to the group (GROUP_TOPICS_CREATED) or to the request that waits. */
#ifndef MUSTER_TESTS_GROUP_ERRANDS_H
#define MUSTER_TESTS_GROUP_ERRANDS_H

#include "group_world.h"

struct errand;
struct errands {
    struct world *world;
    struct world_events told; /* who else wants to know */
    struct errand *first;     /* in the order they were wished for */
    bool hold_jobs;           /* jobs run, but their results stay out until it is lifted */
    bool hold_topics;         /* nothing is made until it is lifted */
    const char *failure;      /* why topics cannot be made; NULL: they can */
    bool working;
    int64_t jobs, creations; /* so far */
};

/* Takes the world's events and passes them on. */
void errands_init(struct errands *e, struct world *w);
void errands_fini(struct errands *e); /* before the world */

/* Runs what can run, until nothing is left; results are decided. After what may have wished for something: a submit, a run, a tick. */
void errands_work(struct errands *e);
bool errands_idle(const struct errands *e);
/* Another coordinator: what is under way is forgotten. Before world_failover(). */
void errands_drop(struct errands *e);

#endif
