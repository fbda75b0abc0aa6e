/* assign_draft.h: an assignment while it is being made; private to assign*.c. */
#ifndef MUSTER_STREAMS_ASSIGN_DRAFT_H
#define MUSTER_STREAMS_ASSIGN_DRAFT_H

#include <bsd/sys/tree.h>

#include "assign.h"

/* ---- assign_scale.c: what carries least comes first --------------------------------------------------------------------------- */

struct assign_pan {
    RB_ENTRY(assign_pan) link;
    int64_t load;
    int32_t width; /* the load is spread over so many */
    int32_t id;
    bool on;
};
RB_HEAD(assign_scale, assign_pan);                                                /* by load for each width, then id */
void scale_put(struct assign_scale *scale, struct assign_pan *pan, int64_t load); /* puts it on, or moves it */
void scale_take(struct assign_scale *scale, struct assign_pan *pan);
struct assign_pan *scale_lightest(struct assign_scale *scale); /* NULL: none */
struct assign_pan *scale_next(struct assign_pan *pan);

/* ---- the draft ------------------------------------------------------------------------------------------------------------------ */

enum had_kind { HAD_ACTIVE, HAD_STANDBY, HAD_LETTING_GO, HAD_WARMUP, HAD_REPORTED };
struct assign_had { /* who has the state of a task */
    int32_t process;
    int32_t member; /* -1: the process reported it, no member names it */
    enum had_kind kind;
};
enum { NOBODY = -1 };

struct assign_draft {
    const struct assign_in *in;
    struct arena *arena;
    int32_t task_count;
    int32_t *subtopology, *partition; /* of each task */
    int32_t *by_partition;            /* tasks by partition, then subtopology */
    /* Who had what: the entries of task t are had[had_first[t]] up to had[had_first[t + 1]]. */
    struct assign_had *had;
    int32_t *had_first;
    int32_t *was_active; /* the member that had the task active and is not idle */
    /* The members of process p that are not idle: crew[crew_first[p]] up to crew[crew_first[p + 1]]. */
    int32_t *crew, *crew_first;
    int32_t capacity; /* members that are not idle */
    /* assign_active.c */
    int32_t floor, extras; /* each member gets floor tasks, and so many that are still free to choose one more */
    int32_t *owner;        /* of each task: its member */
    int32_t *held;         /* of each member: how many tasks it owns */
    int32_t *load;         /* of each process: the sum over its members */
    /* assign_warmup.c */
    int32_t *warming; /* of each task: the process that warms it up */
    /* assign_standby.c */
    int32_t copies;       /* standbys of a stateful task that there is room for */
    int32_t *copy;        /* [task * copies + i]: a process */
    int32_t *copy_member; /* the same, members */
    int32_t *warming_member;
};

static inline int32_t crew_size(const struct assign_draft *d, int32_t process)
{
    return d->crew_first[process + 1] - d->crew_first[process];
}
static inline bool task_stateful(const struct assign_draft *d, int32_t task)
{
    return d->in->subtopologies[d->subtopology[task]].stateful;
}
static inline int32_t process_of(const struct assign_draft *d, int32_t member)
{
    return d->in->members[member].process;
}
bool task_caught_up(const struct assign_draft *d, int32_t task, int32_t process);

/* Gives each task an owner: members differ by one task at most, the fewest tasks possible change their member, and among these the fewest stateful ones. */
void assign_active(struct assign_draft *d);
/* Gives stateful tasks whose new process is far behind back to who has their state, and lets some of them warm up. */
void assign_warmup(struct assign_draft *d);
/* Places the standbys of stateful tasks on processes. */
void assign_standby(struct assign_draft *d);
/* Spreads what a process holds as standby or warms up over its members. */
void assign_within(struct assign_draft *d);

#endif
