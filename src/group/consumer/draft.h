/* draft.h: a change of one consumer group while it is being decided: what the draft of the new protocols (../modern/draft.h) has besides, for them. */
#ifndef MUSTER_CONSUMER_DRAFT_H
#define MUSTER_CONSUMER_DRAFT_H

#include "../modern/draft.h"
#include "consumer.h"
#include "rules.h"

typedef struct consumer_group_heartbeat_request consumer_heartbeat;

struct consumer_draft {
    struct consumer_configs configs;
    bool subscription_changed; /* what the put member subscribes to */
    bool converted;            /* the group was a classic one with members: that it is a consumer group is written already (convert.c) */
};
void consumer_draft_open(struct draft *t, struct decision *d, const struct group *g);
static inline struct consumer_draft *consumer_part(const struct draft *t)
{
    return t->more;
}

/* ---- subscription.c ---------------------------------------------------------------------------------------------------------------- */

/* What the group's regular expressions match, with what was matched anew. */
struct regex_table consumer_draft_regexes(const struct draft *t);
/* The topics that the group as it would be reads and that exist, in order of names; in the arena. */
struct topic_view *consumer_draft_topics(const struct draft *t, int32_t *ret_count);
int64_t consumer_draft_hash(const struct draft *t); /* over the topics as they are */
/* Takes the topics as they are into the group: their hash, and with it the epoch when there are members. True when they moved. */
bool consumer_draft_refresh(struct draft *t);
/* Whether members name that regular expression, as it would be. */
bool consumer_draft_has_regex(const struct draft *t, struct str regex);
/* Wishes for the matches of regular expressions that have none yet. */
void consumer_draft_wish(struct draft *t);

/* ---- assignment.c -------------------------------------------------------------------------------------------------------------------- */

/* Computes the assignment if it is due: here, or, when that would take long, by wishing for a job. */
void consumer_draft_assign(struct draft *t);
/* What most members name, as it would be; else the default. */
enum consumer_assignor consumer_draft_assignor(const struct draft *t);
enum consumer_assignor consumer_assignor_of(const struct modern *s, const struct group_settings *settings); /* of the group as it is */
/* Those of the units that the member reads. */
struct units consumer_still_read(const struct draft *t, const struct modern_member *m, struct units units);
/* The put member's next step towards what it is to have. owned NULL: it did not say what it has. */
void consumer_draft_reconcile(struct draft *t, const struct holding *owned);

/* ---- member.c: what the sender says of itself ------------------------------------------------------------------------------------------ */

static inline struct sender consumer_sender(const consumer_heartbeat *r)
{
    return (struct sender){.member_id = r->member_id, .instance_id = r->instance_id, .epoch = r->member_epoch};
}
/* from: what is known of it, or of the static member whose place it takes; NULL: nothing. */
void consumer_sender_put(struct draft *t, const consumer_heartbeat *r, const struct modern_member *from);
/* What it says it has, of what it may have by that position; NULL: it does not say. */
const struct holding *consumer_sender_owned(const struct draft *t, const consumer_heartbeat *r, const struct member_position *p);
/* The put member is m, which differs from what was known (from; NULL: nothing): records it, moves the epoch when its subscription does. */
void consumer_draft_put(struct draft *t, const struct modern_member *m, const struct modern_member *from);
extern const struct modern_member consumer_nobody; /* one that has said nothing yet */

/* ---- check.c ------------------------------------------------------------------------------------------------------------------------------ */

struct refused consumer_check(const struct draft *t, const consumer_heartbeat *r); /* the request by itself */
struct refused consumer_check_regex(const struct draft *t, const consumer_heartbeat *r);

/* ---- answer.c ------------------------------------------------------------------------------------------------------------------------------ */

void consumer_refuse(struct decision *d, struct refused refused);
void consumer_left(struct decision *d, const char *rule, const consumer_heartbeat *r);
void consumer_answer(struct draft *t, const char *rule, const consumer_heartbeat *r, const struct holding *owned);

/* ---- join.c, leave.c, heartbeat.c ------------------------------------------------------------------------------------------------------------ */

void consumer_join(struct draft *t, const consumer_heartbeat *r);
void consumer_leave(struct draft *t, const consumer_heartbeat *r);
/* What follows once the member is as it said; answers. rule NULL: by what happened. */
void consumer_finish(struct draft *t, const consumer_heartbeat *r, const struct holding *owned, const char *rule);
/* The same for the group and the put member, without an answer to a heartbeat: for classic members, too. */
void consumer_draft_settle(struct draft *t, const struct holding *owned);

/* topics.c: regular expressions are to be matched again; names the rule. */
const char *consumer_refresh_due(struct draft *t);

/* ---- seams to classic members (migration): convert.c, downgrade.c ----------------------------------------------------------------------------- */

/* The group of the draft is a classic one with members: it becomes a consumer group that its members stay in. Writes the records; the draft goes on from there. */
struct refused consumer_convert(struct draft *t);
/* Whether what is left of the group when the draft's members have gone speaks the classic protocol alone, so that it becomes a classic group; if so writes that,
 * instead of draft_close(). */
bool consumer_downgrade(struct draft *t);
/* A commit of a classic member of a consumer group, by its generation. */
int16_t consumer_classic_may_commit(struct decision *d, const struct group *g, const struct modern_slot *slot,
                                    const struct offset_commit_request *request);
/* A REJOIN or SYNC timer of a classic member: removes it, or nothing; names the rule. */
const char *consumer_classic_timer(struct draft *t);
/* The member of that slot spoke the classic protocol and speaks the new one now, under its id or the put member's. */
void consumer_classic_turned(struct draft *t, const struct modern_slot *slot);
/* Timers of a classic member end with it. */
void consumer_classic_removed(struct draft *t, const struct modern_slot *slot);

#endif
