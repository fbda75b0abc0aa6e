/* draft.h: a change of one streams group while it is being decided.
 *
 * A decision changes nothing, yet its later steps depend on its earlier ones (a member joins, so the group's epoch moves, so its assignment is due, so the
 * member has tasks). The draft is the group as it would be: `next` has everything of the group itself, `put` the one member that is added or changed, `gone`
 * the one that leaves; all other members are as they are. streams_draft_close() writes what differs, in Kafka's order. Everything lies in the arena of the request or
 * is borrowed from the state. */
#ifndef MUSTER_STREAMS_DRAFT_H
#define MUSTER_STREAMS_DRAFT_H

#include "job.h"
#include "rules.h"
#include "streams.h"

typedef struct streams_group_heartbeat_request heartbeat_request;

struct draft {
    struct decision *d;
    const struct group *g;     /* NULL: unknown */
    const struct streams *was; /* as applied; of a group that is no streams group yet an empty one */
    bool is_new;               /* it is none yet */
    struct streams_configs configs;
    /* The group. */
    struct streams next;               /* its slots and regexes are those of `was` */
    bool changed;                      /* something in its StreamsGroupMetadata */
    bool bumped;                       /* its epoch moves */
    bool topology_put;                 /* next.topology is written */
    const struct resolved *resolved;   /* NULL: nobody has asked yet */
    const struct regex_table *regexes; /* that were matched anew; NULL: those of `was` */
    /* The member that is added or changed. */
    struct str member_id;           /* null: nobody is put */
    const struct modern_slot *slot; /* as applied; NULL: it is new, or nobody is put */
    const struct modern_member *put;
    bool member_put; /* its StreamsGroupMemberMetadata is written */
    struct member_position before, after;
    bool position_put;     /* it moved: after is written */
    struct holding target; /* what it was to have when the request came */
    bool target_put;       /* that is written: it took it over from the member it replaces */
    bool offsets_put;      /* what it reports of its tasks is written */
    struct streams_task_offsets_value offsets;
    /* The member that goes. */
    const struct modern_slot *gone; /* NULL: nobody */
    /* The assignment. */
    const struct assign_result *assigned; /* that was computed; NULL: none */
    bool assignment_put;                  /* its StreamsGroupTargetAssignmentMetadata is written */
};

void streams_draft_open(struct draft *t, struct decision *d, const struct group *g);
void streams_draft_close(struct draft *t); /* writes the records */

void streams_draft_bump(struct draft *t); /* the group's epoch; once a decision, whatever the reasons */
/* The member of that slot, as it is; it may be changed from there. */
void streams_draft_hold(struct draft *t, const struct modern_slot *slot);
/* A new one of that id. from: the member whose place it takes, which is gone then; NULL: nobody's. */
void streams_draft_add(struct draft *t, struct str member_id, const struct modern_slot *from);
/* The member leaves, with all it has. The last one takes along what concerns members alone. */
void streams_draft_remove(struct draft *t, const struct modern_slot *slot);

static inline bool draft_has(const struct draft *t, const struct modern_slot *slot) /* a member that is as it was */
{
    return slot->member != NULL && slot != t->slot && slot != t->gone;
}
/* The epoch of the assignment in force. A group begins with 1, as if its members' having nothing had been computed. */
static inline int32_t assignment_epoch(const struct streams *s)
{
    return s->has_assignment ? s->assignment_epoch : 1;
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
void streams_draft_write_regexes(const struct draft *t);
/* Wishes for what the topology lacks: internal topics, the matches of regular expressions. */
void streams_draft_wish(struct draft *t);

/* ---- assignment.c: who is to have which tasks ----------------------------------------------------------------------------------- */

enum assignment_wait { ASSIGNMENT_DONE, ASSIGNMENT_DUE, ASSIGNMENT_DELAYED, ASSIGNMENT_INTERVAL };
enum assignment_wait assignment_wait(const struct draft *t);
/* Computes the assignment if it is due: here, or, when that would take long, by wishing for a job. */
void streams_draft_assign(struct draft *t);
/* Whether what the put member reports lets the next assignment hand it a task that it has warmed up for. */
bool streams_draft_warmed_up(struct draft *t);
void streams_draft_take_result(struct draft *t, const struct assign_result *result);
/* The put member's next step towards what it is to have. owned NULL: it did not say what it has. */
void streams_draft_reconcile(struct draft *t, const struct holding *owned);

/* ---- member.c: who sends a request, and what it says of itself ------------------------------------------------------------------- */

struct refused { /* error 0: it is not */
    int16_t error;
    struct str text; /* null: none */
    const char *rule;
};
static inline struct refused not_refused(void)
{
    return (struct refused){.error = KAFKA_NONE, .text = STR_NULL};
}
/* The sender, a member already: unknown 25, fenced 82. */
struct refused sender_find(const struct draft *t, const heartbeat_request *r, const struct modern_slot **ret);
struct refused sender_check_epoch(const struct draft *t, const heartbeat_request *r, const struct modern_slot *slot,
                                  const struct holding *owned);
/* Take over what the request says of its sender, which is new, known, or comes (back) as the static member old. */
void sender_new(struct draft *t, const heartbeat_request *r, int32_t topology_epoch);
void sender_update(struct draft *t, const heartbeat_request *r, const struct modern_member *old, int32_t topology_epoch);
void sender_replace(struct draft *t, const heartbeat_request *r, const struct modern_member *old, int32_t topology_epoch);
struct refused sender_check_growth(const struct draft *t); /* against the shard's budget */
/* What the sender says it has; NULL: it does not say. */
const struct holding *sender_owned(const struct draft *t, const heartbeat_request *r);
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
void heartbeat_answer(struct draft *t, const char *rule, const heartbeat_request *r);
/* The endpoint epoch moves with the put member's endpoint, and with its tasks when it has one. */
void endpoints_move(struct draft *t);
struct streams_group_heartbeat_response_endpoint_to_partitions_array endpoints_list(struct draft *t);

/* ---- join.c, leave.c --------------------------------------------------------------------------------------------------------------------- */

void heartbeat_join(struct draft *t, const heartbeat_request *r);
void heartbeat_leave(struct draft *t, const heartbeat_request *r);
/* heartbeat.c: what follows once the member is as it said; answers. rule NULL: by what happened. */
void heartbeat_finish(struct draft *t, const heartbeat_request *r, const struct holding *owned, const char *rule);

#endif
