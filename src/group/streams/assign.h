/* assign.h: the sticky task assignor of streams groups (KIP-1071), as a pure function: arrays in, arrays out.
 *
 * Active tasks are balanced over processes by their members, standby tasks never lie on the process of the active one, and both stay where they are as far as
 * balance allows; stateful tasks move least. */
#ifndef MUSTER_STREAMS_ASSIGN_H
#define MUSTER_STREAMS_ASSIGN_H

#include <muster/base.h>

struct assign_subtopology {
    int32_t tasks; /* partitions 0 .. tasks - 1 */
    bool stateful; /* has changelogs */
};
struct assign_ints {
    const int32_t *v;
    int32_t len;
}; /* numbers of tasks: of subtopology s, partition p it is first[s] + p, first[s] the sum of tasks before s */
struct assign_member {
    int32_t process;                            /* members of one process share its state directory; 0 .. process_count - 1 */
    bool idle;                                  /* gets nothing; the state it has is where it is */
    struct assign_ints active, standby, warmup; /* what it has */
    struct assign_ints letting_go;              /* of which it has the state besides: what it is giving up */
};
struct assign_process {
    const int32_t *tags; /* for each tag key of the rack-aware assignment a number that stands for its value; -1: the process lacks it */
};
struct assign_lag {
    int32_t task, process;
    int64_t lag;
}; /* records that process's copy of the task is behind, as last reported; unknown ones are missing */
struct assign_in {
    const struct assign_subtopology *subtopologies;
    int32_t subtopology_count;
    const struct assign_member *members;
    int32_t member_count; /* in order of member ids: equals are told apart by their number */
    const struct assign_process *processes;
    int32_t process_count;
    int32_t tag_count; /* keys of the rack-aware assignment */
    int32_t standby_replicas;
    bool warm_up;            /* move stateful tasks only to processes within the acceptable lag, warm up meanwhile */
    int32_t warmup_replicas; /* at most so many tasks warm up at once */
    int64_t acceptable_lag;
    const struct assign_lag *lags;
    int32_t lag_count; /* ascending by task, then process */
};
struct assign_share {
    int32_t *active, *standby, *warmup;
    int32_t active_len, standby_len, warmup_len;
}; /* task numbers, ascending */
/* One share for each member, in the arena. The same input gives the same result everywhere. Numbers in the input that name no task and no process are
 * passed over; of two members that have a task active the first one counts. */
struct assign_share *assign_tasks(const struct assign_in *in, struct arena *arena);

/* The lag of the process's copy of the task, as last reported; -1: unknown. */
int64_t assign_lag_of(const struct assign_in *in, int32_t task, int32_t process);

#endif
