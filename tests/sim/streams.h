/* streams.h: applications of Kafka Streams in the simulator: what its files share. */
#ifndef MUSTER_SIM_STREAMS_H
#define MUSTER_SIM_STREAMS_H

#include "member.h"

enum { SUBS_MAX = 2, TASKS_MAX = 20 };

/* What an application's group is made of. */
struct plan {
    const char *sources[2]; /* names of source topics; with a regular expression only the first is there from the start */
    const char *regex;      /* NULL: none */
    int32_t partitions;
    const char *repartition; /* NULL: one subtopology */
    const char *changelog;
};
extern const struct plan streams_plans[SIM_STREAMS_GROUPS];

struct streams_group_check {
    int64_t topology_at_us; /* since when it is known to have its topology; 0: it is not */
    char topology_id[40];   /* "": not seen yet */
};

#define SIM_GIVEN_GROUP "given"
struct giver { /* of topologies, to a group without members */
    uint64_t serial;
    uint32_t node;
    int64_t sent_us;
    int32_t epoch, acked_epoch; /* newest that was sent; that is known to be in force, since */
    int64_t acked_at_us;
};

struct sim_streams {
    struct giver giver;
    struct member apps[SIM_STREAMS_MEMBERS];
    struct crowd crowds[SIM_STREAMS_GROUPS];
    struct streams_group_check groups[SIM_STREAMS_GROUPS];
    struct looker lookers[2];
    struct administrator admin;
    int32_t partitions[SIM_STREAMS_GROUPS]; /* that the sources have, or are to have */
    bool second_source[SIM_STREAMS_GROUPS];
    int64_t repaired_at_us[SIM_STREAMS_GROUPS];
};

/* streams_admin.c */
void streams_admin_start(struct sim *sim);
void streams_repair(struct sim *sim, uint32_t group); /* internal topics do not fit: away with them, they are made anew */
int32_t streams_task_count(const struct sim *sim, uint32_t group, uint32_t sub); /* 0: there is no such subtopology */

/* streams_giver.c */
void streams_giver_start(struct sim *sim);

/* streams_check.c */
void streams_check_group(struct sim *sim, struct crowd *c, const void *described_group, int64_t sent_us, const char *how);
void streams_check_topology(struct sim *sim, struct crowd *c, const void *answer, int64_t sent_us);

#endif
