/* draft.h: a change of one group of the new protocols while it is being decided.
 *
 * A decision changes nothing, yet its later steps depend on its earlier ones (a member joins, so the group's epoch moves, so its assignment is due, so the
 * member has something). The draft is the group as it would be: `next` has everything of the group itself, `put` the one member that is added or changed,
 * `left` those that go; all other members are as they are. draft_close() writes what differs, in Kafka's order. Everything lies in the arena of the request or
 * is borrowed from the state. */
#ifndef MUSTER_MODERN_DRAFT_H
#define MUSTER_MODERN_DRAFT_H

#include "../errors.h"
#include "../history/history.h"
#include "modern.h"

/* ---- what the assignors of both protocols come to ------------------------------------------------------------------------------- */

struct assigned_member {
    struct str member_id;
    struct holding target; /* epochs are 0: compare with holding_equal */
};
struct assign_result {
    const struct assigned_member *members; /* all of the group, by member id */
    int32_t count;
};

/* ---- refusals ---------------------------------------------------------------------------------------------------------------------- */

struct refused { /* error 0: it is not */
    int16_t error;
    struct str text; /* null: none */
    const char *rule;
};
static inline struct refused not_refused(void)
{
    return (struct refused){.error = KAFKA_NONE, .text = STR_NULL};
}

/* Rules that both protocols have, each with texts of its own. */
enum shared_rule {
    SHARED_UNKNOWN_MEMBER,
    SHARED_UNKNOWN_INSTANCE,
    SHARED_FENCED_INSTANCE,
    SHARED_EPOCH_AHEAD,
    SHARED_EPOCH_BEHIND,
    SHARED_GROUP_FULL,
    SHARED_NO_ROOM,
    SHARED_UNRELEASED,
    SHARED_SESSION_MOOT,
    SHARED_SESSION_EXPIRED,
    SHARED_REVOKE_MOOT,
    SHARED_REVOKE_EXPIRED,
    SHARED_RULES
};

/* ---- the draft ------------------------------------------------------------------------------------------------------------------------ */

/* What the machinery needs of a group's configs. */
struct modern_timing {
    int32_t session_timeout_ms, heartbeat_interval_ms, hold_ms, assignment_interval_ms, initial_delay_ms;
};
struct draft;
struct draft_kind {
    const struct modern_kind *records;
    const char *const *rules;       /* the protocol's, by its own numbers */
    int shared_rules[SHARED_RULES]; /* the numbers of those */
    struct modern nothing;          /* a group of the kind that has no records */
    /* NULL: nothing. */
    void (*bumped)(struct draft *t);                                  /* the epoch moves */
    void (*removed)(struct draft *t, const struct modern_slot *slot); /* a member is gone, perhaps the last one */
    void (*before_group)(const struct draft *t);                      /* records that come before the group's own */
    void (*after_position)(const struct draft *t);                    /* records that come last */
};

struct draft {
    const struct draft_kind *kind;
    struct decision *d;
    const struct group *g;    /* NULL: unknown */
    const struct modern *was; /* as applied; of a group that is of another type yet an empty one, or what it is converted to */
    bool is_new;              /* the group is of another type yet, or unknown */
    struct modern_timing timing;
    /* The group. */
    struct modern next;                /* its slots and regexes are those of `was` */
    bool changed;                      /* something in its own metadata record */
    bool bumped;                       /* its epoch moves */
    const struct regex_table *regexes; /* that were matched anew; NULL: those of `was` */
    /* The member that is added or changed. */
    struct str member_id;           /* null: nobody is put */
    const struct modern_slot *slot; /* as applied; NULL: it is new, or nobody is put */
    const struct modern_member *put;
    bool member_put; /* its metadata record is written */
    struct member_position before, after;
    bool position_put;     /* it moved: after is written */
    struct holding target; /* what it was to have when the request came */
    bool target_put;       /* that is written: it took it over from the member it replaces */
    /* Members that go. */
    bool *left;                     /* by place in was->slots; NULL: nobody */
    const struct modern_slot *gone; /* the last of them; NULL: nobody */
    /* The assignment. */
    const struct assign_result *assigned; /* that was computed; NULL: none */
    bool assignment_put;                  /* its target assignment metadata record is written */
    bool tells;                           /* the answer says more to the put member than that it still is one */
    void *more;                           /* of the protocol: struct streams_draft, struct consumer_draft */
};

static inline const char *draft_rule(const struct draft *t, enum shared_rule rule)
{
    return t->kind->rules[t->kind->shared_rules[rule]];
}
void draft_open(struct draft *t, const struct draft_kind *kind, struct decision *d, const struct group *g);
void draft_close(struct draft *t); /* writes the records */

/* The group's epoch; once a decision, whatever the reasons. The cause is noted when nothing else that happens is one. */
void draft_bump(struct draft *t, enum group_cause cause);
/* The member of that slot, as it is; it may be changed from there. */
void draft_hold(struct draft *t, const struct modern_slot *slot);
/* A new one of that id. from: the member whose place it takes, which is gone then; NULL: nobody's. */
void draft_add(struct draft *t, struct str member_id, const struct modern_slot *from);
/* The member leaves, with all it has. The last one takes along what concerns members alone. */
void draft_remove(struct draft *t, const struct modern_slot *slot, enum group_cause cause);
int32_t draft_remove_all(struct draft *t, enum group_cause cause); /* how many there were */

static inline bool draft_has(const struct draft *t, const struct modern_slot *slot) /* a member that is as it was */
{
    return slot->member != NULL && slot != t->slot && (t->left == NULL || !t->left[slot - t->was->slots]);
}
/* The epoch of the assignment in force. A group begins with 1, as if its members' having nothing had been computed. */
static inline int32_t assignment_epoch(const struct modern *s)
{
    return s->has_assignment ? s->assignment_epoch : 1;
}
void draft_write_regexes(const struct draft *t, bool (*used)(const void *ctx, struct str regex),
                         const void *ctx); /* those not used any more go */
/* Tombstones of every record that the group has of the kind, its own last, and its timers end. */
void modern_tombstones(struct decision *d, const struct group *g, const struct modern *s, const struct modern_kind *kind);

/* ---- target.c: when an assignment is due, who has to know, and each member's way there ------------------------------------------------- */

enum assignment_wait { ASSIGNMENT_DONE, ASSIGNMENT_DUE, ASSIGNMENT_DELAYED, ASSIGNMENT_INTERVAL };
enum assignment_wait assignment_wait(const struct draft *t);
void draft_take_result(struct draft *t, const struct assign_result *result);
bool draft_same_members(const struct draft *t,
                        const struct assign_result *result); /* a static member that is back under another id moves no epoch */
struct holding draft_target(const struct draft *t);          /* what the put member is to have, with what was computed */
const struct holding *draft_computed(const struct draft *t, struct str member_id); /* for that member; NULL: nothing was */
/* The put member's next step towards what it is to have. owned NULL: it did not say what it has. */
void draft_reconcile(struct draft *t, const struct holding *target, const struct holding *owned);
/* Whether the answer has to say what the put member has: that has changed, or the member says that it has something else, for an answer was lost. */
bool draft_tells_units(const struct draft *t, const struct holding *owned);
/* Whether someone else has an active unit that the member of that slot waits for. */
bool modern_waits_for_others(const struct modern *s, const struct modern_slot *slot, struct arena *arena);
/* The heartbeat interval to answer: the group's own, or a shorter one for a put member that is not settled (muster.group.heartbeat.adaptive). */
int32_t draft_heartbeat_interval(const struct draft *t);

/* ---- history.c: what happens to the group, for its history --------------------------------------------------------------------------- */

void draft_note_joined(struct draft *t);
void draft_note_removal(struct draft *t, const struct modern_slot *slot, enum group_cause cause);
void draft_note_subscription(struct draft *t, const struct modern_slot *slot); /* it changed that, which did not come to light then */
void draft_note_bump(struct draft *t, enum group_cause cause);
void draft_note_lost(const struct draft *t);  /* what those had that are gone */
void draft_note_phase(const struct draft *t); /* when the draft is closed */

/* ---- hold.c ------------------------------------------------------------------------------------------------------------------------------------ */

/* The answer to a heartbeat that says nothing is there and the draft closed: whether it may be held. */
void draft_hold_answer(const struct draft *t);

/* ---- sender.c: who sends a request ------------------------------------------------------------------------------------------------------- */

struct sender {
    struct str member_id, instance_id; /* instance null: a dynamic one */
    int32_t epoch;
};
/* A member already: unknown 25, fenced 82. */
struct refused sender_find(const struct draft *t, const struct sender *who, const struct modern_slot **ret);
/* A member whose last answer was lost comes with the epoch before, and with no more than it was given since. */
struct refused sender_check_epoch(const struct draft *t, const struct sender *who, const struct modern_slot *slot,
                                  const struct holding *owned);
/* Whether one more member fits, if it is one more: in the group (max_size 0: no bound); in the shard, too. */
struct refused sender_check_size(const struct draft *t, const struct sender *who, int32_t max_size);
struct refused sender_check_room(const struct draft *t, const struct sender *who, int32_t max_size);
struct refused sender_check_growth(const struct draft *t); /* of what the put member says of itself, against the shard's budget */
/* Who joins: a member of that id, a static one that is back (perhaps under another id), or neither. */
struct joining {
    const struct modern_slot *known, *back;
};
struct refused sender_look_up(const struct draft *t, const struct sender *who, struct joining *ret);
/* The static member takes the place it had; the caller says what it brings. */
void sender_come_back(struct draft *t, const struct sender *who, const struct joining *j);
void sender_go_away(struct draft *t, const struct modern_slot *slot); /* a static one, for a moment: instance, share and session stay */
/* The put member was heard of. Whose heartbeat was held was heard of when it came: its session goes on as it was armed then. */
void draft_arm_session(const struct draft *t);

/* ---- timers.c ------------------------------------------------------------------------------------------------------------------------------ */

/* What a timer of that kind comes to: the member is removed, or nothing happens. Names the rule. The caller closes the draft. */
const char *draft_session_over(struct draft *t);
const char *draft_revocation_over(struct draft *t);
/* Those of a new coordinator, in full: sessions (a classic member's is its own) and revocations. */
struct timer_armer {
    const struct group *g;
    void (*each)(void *ctx, const struct group_timer_wish *wish);
    void *ctx;
};
void group_timer_arm(const struct timer_armer *a, enum group_timer_kind kind, struct str member_id, int32_t epoch, int64_t delay_ms);
void modern_member_timers(const struct timer_armer *a, const struct modern *s, int32_t session_timeout_ms);

#endif
