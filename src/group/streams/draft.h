/* draft.h: a change of one streams group while it is being decided: what the draft of the new protocols (../modern/draft.h) has besides, for them. */
#ifndef MUSTER_STREAMS_DRAFT_H
#define MUSTER_STREAMS_DRAFT_H

#include "../modern/draft.h"
#include "job.h"
#include "rules.h"
#include "streams.h"

typedef struct streams_group_heartbeat_request heartbeat_request;

struct streams_draft {
    struct streams_configs configs;
    bool topology_put;               /* next.topology is written */
    const struct resolved *resolved; /* NULL: nobody has asked yet */
    bool offsets_put;                /* what the put member reports of its tasks is written */
    struct streams_task_offsets_value offsets;
};
void streams_draft_open(struct draft *t, struct decision *d, const struct group *g);
static inline struct streams_draft *streams_part(const struct draft *t)
{
    return t->more;
}
static inline const topology *draft_topology(const struct draft *t) /* NULL: none */
{
    return t->next.topology == NULL ? NULL : t->next.topology->value;
}

/* ---- topics.c: the topology against the topics that are there ----------------------------------------------------------------- */

/* What the group's topology needs and has; worked out once. NULL: it has no topology. */
const struct resolved *streams_draft_resolve(struct draft *t);
void streams_draft_set_topology(struct draft *t, const topology *value);
/* Takes the topics as they are into the group: problem and hash, and with them the epoch when there are members. True when they moved. */
bool streams_draft_refresh(struct draft *t);
/* Wishes for what the topology lacks: internal topics, the matches of regular expressions. */
void streams_draft_wish(struct draft *t);

/* ---- assignment.c: who is to have which tasks ----------------------------------------------------------------------------------- */

/* Computes the assignment if it is due: here, or, when that would take long, by wishing for a job. */
void streams_draft_assign(struct draft *t);
/* Whether what the put member reports lets the next assignment hand it a task that it has warmed up for. */
bool streams_draft_warmed_up(struct draft *t);

/* ---- member.c: who sends a request, and what it says of itself ------------------------------------------------------------------- */

static inline struct sender sender_of(const heartbeat_request *r)
{
    return (struct sender){.member_id = r->member_id, .instance_id = r->instance_id, .epoch = r->member_epoch};
}
/* Take over what the request says of its sender, which is new, known, or comes (back) as the static member old. */
void sender_new(struct draft *t, const heartbeat_request *r, int32_t topology_epoch);
void sender_update(struct draft *t, const heartbeat_request *r, const struct modern_member *old, int32_t topology_epoch);
void sender_replace(struct draft *t, const heartbeat_request *r, const struct modern_member *old, int32_t topology_epoch);
/* What the sender says it has, of what it may have by that position; NULL: it does not say. */
const struct holding *sender_owned(const struct draft *t, const heartbeat_request *r, const struct member_position *p);
void sender_report_offsets(struct draft *t, const heartbeat_request *r);

/* ---- check.c: the request by itself -------------------------------------------------------------------------------------------------- */

struct refused heartbeat_check(const struct draft *t, const heartbeat_request *r);
/* The tasks it says it has, against the topology. */
struct refused heartbeat_check_owned(struct draft *t, const heartbeat_request *r, const struct modern_slot *slot,
                                     const struct holding *owned);

/* ---- adopt.c: what the topology of a join does to the group -------------------------------------------------------------------------- */

struct refused adopt_check(const struct draft *t, const heartbeat_request *r); /* the topology by itself */
/* ret_epoch: the member's topology epoch. */
struct refused adopt_topology(struct draft *t, const heartbeat_request *r, int32_t *ret_epoch);

/* ---- answer.c, endpoints.c ------------------------------------------------------------------------------------------------------------ */

void heartbeat_refuse(struct decision *d, struct refused refused);
void heartbeat_left(struct decision *d, const char *rule, const heartbeat_request *r);
void heartbeat_answer(struct draft *t, const char *rule, const heartbeat_request *r, const struct holding *owned);
/* The endpoint epoch moves with the put member's endpoint, and with its tasks when it has one. */
void endpoints_move(struct draft *t);
struct streams_group_heartbeat_response_endpoint_to_partitions_array endpoints_list(struct draft *t);

/* ---- join.c, leave.c --------------------------------------------------------------------------------------------------------------------- */

/* An empty classic group becomes a streams group and keeps its offsets; one of another type does not. */
bool streams_convertible(const struct group *g);
void heartbeat_join(struct draft *t, const heartbeat_request *r);
void heartbeat_leave(struct draft *t, const heartbeat_request *r);
/* heartbeat.c: what follows once the member is as it said; answers. rule NULL: by what happened. */
void heartbeat_finish(struct draft *t, const heartbeat_request *r, const struct holding *owned, const char *rule);

#endif
