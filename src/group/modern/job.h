/* job.h: what takes too long for the loop: an assignment of a group, the matches of its regular expressions. Made on the loop with everything in an arena of
 * its own, run anywhere, looked at on the loop again. */
#ifndef MUSTER_MODERN_JOB_H
#define MUSTER_MODERN_JOB_H

#include "draft.h"
#include "matches.h"

/* What the group was when the job was made: a result for another epoch is void, and one for another catalogue may be. */
struct job_stamp {
    int32_t epoch;          /* the group's */
    int64_t metadata_hash;  /* of the topics it went by; ASSIGN only */
    int64_t catalog_index;  /* group_set_catalog_index of the catalogue it read */
    int32_t topology_epoch; /* streams; -1: the group has none */
};
struct group_job {
    struct arena arena; /* the job itself lies in it */
    enum group_job_kind kind;
    enum group_type type;
    struct str group_id;
    struct job_stamp stamp;
    void *work; /* ASSIGN: what the protocol's assignor takes */
    void (*assign)(void *work, struct arena *arena, struct assign_result *ret);
    struct assign_result assigned; /* of all members of the group as it was; valid as long as the job */
    struct matching matching;      /* RESOLVE */
    struct regex_table matches;    /* for each regular expression the names it matches */
};

/* Whether the group as it is has something to do of that kind, and what the work takes then. In the job's arena. */
bool consumer_job_prepare(struct group_job *job, const struct modern *s, const struct group_op *op);
bool streams_job_prepare(struct group_job *job, const struct modern *s, const struct group_op *op);

#endif
