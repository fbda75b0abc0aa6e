/* job.h: who is to have which tasks, worked out within a decision or beside the loop; and what regular expressions match.
 *
 * A decision that holds the group as it will be fills an assign_view and calls streams_assign(), as long as streams_assign_cost() is within
 * STREAMS_ASSIGN_INLINE; else it sets out->assign, and streams_job_prepare() makes the view of the group as it is once the records are applied. */
#ifndef MUSTER_STREAMS_JOB_H
#define MUSTER_STREAMS_JOB_H

#include "../modern/draft.h"
#include "streams.h"

/* A member as the assignor sees it; all of it borrowed. */
struct assign_view_member {
    struct str member_id;
    struct str process_id; /* members with equal ones (empty ones, too) share a process and its state */
    const struct key_value *tags;
    int32_t tag_count;
    /* What it has: its position's assigned, revoking left out. Tasks stay where they are, not where they were to go: so does Kafka 4.4.0. */
    struct holding current;
    struct holding revoking;                         /* its position's revoking: state that is still there */
    const struct task_offset *offsets, *end_offsets; /* as last reported (modern_offsets); in any order */
    int32_t offset_count, end_offset_count;
    bool idle; /* gets nothing, and counts for nothing but the state it has: its topology is not the group's */
};
struct assign_view {
    const struct resolved *resolved; /* with a problem: nobody gets anything */
    const struct streams_configs *configs;
    const struct assign_view_member *members; /* by member id, each once */
    int32_t member_count;
};
/* The view's line for a slot with a member; borrowed from the state. idle: streams_is_behind(). */
struct assign_view_member streams_view_member(const struct modern_slot *slot, const struct streams_configs *configs,
                                              int32_t topology_epoch);
/* All members of the group as it is, by member id; in the arena, borrowing from the state. */
struct assign_view_member *streams_view_members(const struct modern *s, const struct streams_configs *configs, struct arena *arena,
                                                int32_t *ret_count);

/* Rises with members and tasks (and replicas); up to STREAMS_ASSIGN_INLINE it takes about a millisecond. */
int64_t streams_assign_cost(const struct assign_view *v);
enum { STREAMS_ASSIGN_INLINE = 4096 };
/* In the arena; member ids and subtopology ids are borrowed from the view. */
void streams_assign(const struct assign_view *v, struct arena *arena, struct assign_result *ret);

/* With configs->warm_up: whether a copy has come within the acceptable lag, so that a new assignment hands its task over. To be asked when a member has reported
 * new offsets (they are in the view) and the assignment is that of the group's epoch; if so, the epoch has to move. Always false without warm_up. */
bool streams_warm_up_done(const struct assign_view *v, struct arena *arena);

/* Status 6: the keys of configs->tags the member has no tag for, in their order; empty when it has all. In the arena, borrowed. */
struct str_array streams_missing_tags(const struct streams_configs *configs, const struct key_value *tags, int32_t tag_count,
                                      struct arena *arena);

/* The regular expressions of a topology, as often as they stand in it; in the arena, borrowed. */
struct str_array streams_patterns(const topology *t, struct arena *arena);

#endif
