/* draft.h: a change of one classic group while it is being decided.
 *
 * A decision changes nothing, yet its later steps depend on its earlier ones (a member leaves, so all others have joined, so the generation
 * completes). The draft keeps what the group would be: the facts of its ClassicGroup record, the counts, the members that left, the one that was put.
 * Each step writes its records and timer wishes; classic_draft_close() writes the group's own record last. */
#ifndef MUSTER_CLASSIC_DRAFT_H
#define MUSTER_CLASSIC_DRAFT_H

#include "../errors.h"
#include "../history/history.h"
#include "members.h"
#include "rules.h"

struct draft {
    struct decision *d;
    const struct classic *c; /* as applied; of an unknown group an empty one */
    /* What the ClassicGroup record will say. */
    enum classic_state state;
    int32_t generation, assignments_since;
    struct str protocol_type, protocol_name, leader;
    int64_t topics_hash;
    bool moved, changed; /* the state; anything in the record */
    /* Members. */
    int32_t member_count, joined_count, pending_count;
    bool *gone;                       /* by place in c->members; NULL: nobody is */
    const struct classic_member *put; /* added or put in an old one's place; NULL: nobody */
    int32_t put_place;                /* the place in c->members it takes over; -1: none */
};

void classic_draft_open(struct draft *t, struct decision *d, const struct group *g);
void classic_draft_close(struct draft *t); /* writes the group's record if anything in it changed */

/* The members as they would be, by id. In the arena. */
const struct classic_member **classic_draft_members(const struct draft *t, int32_t *ret_count);
bool classic_draft_has(const struct draft *t, int32_t place); /* the member at that place of c->members is still in */
bool classic_draft_all_joined(const struct draft *t);         /* no pending id either */
/* The first rebalance of an empty group: it is not complete when all have joined, but when its delay is over. */
bool classic_draft_initial(const struct draft *t);

void classic_draft_remove(struct draft *t, int32_t place, enum group_cause cause);
void classic_draft_remove_pending(struct draft *t, struct str member_id);
/* m lives in the arena. place: of the member of that id; -1: a new one. At most one in a draft. */
void classic_draft_put(struct draft *t, const struct classic_member *m, int32_t place);

/* Begins a rebalance from Empty, CompletingRebalance or Stable; completes it at once when all have joined. */
void classic_draft_prepare(struct draft *t);
/* Ends the join phase: who has not joined is dropped unless static, the rest is the next generation. With nobody joined it goes on waiting. False then. */
bool classic_draft_complete(struct draft *t);
/* From CompletingRebalance, with the leader's assignment. Sessions, which stood still while syncs waited, run again. */
void classic_draft_stable(struct draft *t);
/* Begins a rebalance where the state allows, else completes the one there is if all have joined and it is not the initial one. */
void classic_draft_rebalance(struct draft *t);
void classic_draft_complete_if_joined(struct draft *t);

/* history.c: what happens to the group, for its history. */
void classic_note(const struct draft *t, enum group_cause cause, const struct classic_member *m, int32_t timeout_ms);
void classic_note_removal(const struct draft *t, enum group_cause cause, const struct classic_member *m);
void classic_note_phase(const struct draft *t);                                                            /* when the draft is closed */
void classic_note_assignments(struct decision *d, const struct group *g, const struct bytes *assignments); /* by place; of the leader */

void classic_draft_session(struct draft *t, const struct classic_member *m); /* wishes for its session timer, in full */

/* subscription.c: over the partition counts of the topics these members subscribe to; 0: not a consumer group, or unreadable. */
int64_t classic_topics_hash(struct decision *d, struct str protocol_type, struct str protocol_name,
                            const struct classic_member *const *members, int32_t count);
struct str_array classic_topic_names(const struct decision *d, const struct classic *c); /* by name, each once; none where that is 0 */

/* Kafka's precedence when a request names its member: instance unknown 25, instance of another member 82, member unknown 25. c NULL: unknown group. */
int16_t classic_check_member(const struct classic *c, struct str member_id, struct str instance_id, const struct classic_member **ret);

#endif
