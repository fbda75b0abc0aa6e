/* history.h: what happened to a group, kept with it. See README.md here.
 *
 * While a group is being decided, its drafts note what happens (note.c); when the decision stands, history_decide() makes records of that (write.c). store.c keeps
 * what the records say, show.c gives it back. */
#ifndef MUSTER_GROUP_HISTORY_H
#define MUSTER_GROUP_HISTORY_H

#include "../modern/units.h"
#include "../state.h"

enum { HISTORY_FEATURE_LEVEL = 2, OFFICE_FEATURE_LEVEL = 3 }; /* from which on all nodes know the records */
enum { OFFICES_KEPT = 32 };                                   /* of a shard, the newest */
enum { HISTORY_CAUSES = 8 }; /* of a rebalance that are told one by one: the first seven, and the newest in the last place */
enum { HISTORY_TOPICS = 4 }; /* of a cause that are named; the others are counted */

/* ---- store.c: the state ----------------------------------------------------------------------------------------------------------- */

/* One record as logged; immutable and counted, so that overlays can share it. */
struct history_record {
    int32_t references;
    int16_t type;
    bool settled; /* of a GroupRebalance: it is over */
    int32_t rebalance, number;
    int32_t value_len;
    uint64_t record_hash;
    uint8_t value[];
};
struct history { /* counted: an overlay shares it until it changes it */
    int32_t references;
    int32_t count, capacity;
    struct history_record **v; /* by rebalance, type, number */
};
void history_apply(const struct apply_context *c, const struct wire_decoded_record *record);
struct history *history_share(struct history *h);                   /* one more reference; NULL is fine */
void history_free(struct group_set *set, struct group *group);      /* all of it, without records */
const struct history_record *history_newest(const struct group *g); /* the GroupRebalance of the newest one; NULL: none, or g is NULL */
const struct history_record *history_moves_of(const struct group *g, int32_t rebalance); /* NULL: none is told */
bool history_is_open(const struct group *g);                                             /* that is not over */
struct bytes history_value(const struct history_record *r);                              /* as logged: the version, then the fields */
/* For snapshots: in the order of the state. The key of the record after that one (null: the first), whether or not that is live; false at the end. */
bool history_key_after(const struct group *g, struct bytes key, struct arena *arena, struct bytes *ret);
bool history_record_of(const struct group *g, struct bytes key, struct arena *arena, struct record *ret);
int history_key_cmp(struct bytes a, struct bytes b);                /* that order; both keys of one group */
void history_tombstones(struct decision *d, const struct group *g); /* the group goes */

/* ---- note.c: what happens, noted while it is being decided -------------------------------------------------------------------------- */

struct history_event {
    enum group_cause cause;
    struct str member_id, instance_id, client_id, host; /* null where there is none */
    struct str reason;                                  /* null: the one of the request */
    int32_t timeout_ms;                                 /* -1: none */
    struct str_array topics;                            /* that changed, the first of them by name */
    int32_t topics_more;                                /* how many there are behind them */
};
struct history_notes {
    struct history_event *events; /* the first, and in the last place the newest */
    int32_t event_count;          /* all of them */
    int32_t cause_counts[GROUP_CAUSE_COUNT];
    bool stands;  /* the draft was closed: it is no refusal */
    bool opens;   /* the group moves: a rebalance begins, unless one goes on */
    bool running; /* it was not settled before */
    bool prepares, settles;
    enum group_type type;
    int32_t epoch_before, epoch_after, members;
    struct str last_member_id, last_client_id, last_host; /* null: nobody was last, or it is not known yet */
    const struct group_rebalance_moves_value *moves;      /* NULL: nothing was assigned */
    int32_t moved;
};
/* Borrows the texts until the decision ends. At most so many are kept one by one as are told. */
void history_event(struct decision *d, const struct history_event *e);
/* A member asked to leave: by itself, or somebody else removes it. */
enum group_cause history_leave_cause(const struct decision *d, struct str client_id, struct str reason);
void history_reason(struct decision *d, struct str reason); /* of the event that was noted last */
/* The topics that the group reads. Those that changed behind that index of shard 0's log are named by the event noted last, if that says that topics changed. */
void history_topics(struct decision *d, struct str_array names, int64_t since);
struct history_notes *history_notes(struct decision *d);            /* made where they are missing */
bool history_is_kept(const struct decision *d);                     /* by the settings, and by the cluster's feature level */
bool history_is_kept_from(const struct decision *d, int16_t level); /* the same of what is recorded from that level on */

/* ---- moves.c ------------------------------------------------------------------------------------------------------------------------ */

struct history_owner { /* a member whose share changes; by member id */
    struct str member_id;
    struct units before, after;
};
/* Notes who gets what from whom. ids: the units are named by topic ids. */
void history_moves(struct decision *d, const struct history_owner *owners, int32_t count, bool ids);

/* ---- office.c: who led the shard, CoordinatorMove ------------------------------------------------------------------------------------ */

void office_apply(const struct apply_context *c, const struct coordinator_move_key *key, bool live);
struct record office_record(const struct office *o, struct arena *arena);
void offices_free(struct group_set *set); /* all of them, without records */
void office_decide(struct decision *d);   /* SHARD_OFFICE */

/* ---- write.c, show.c ---------------------------------------------------------------------------------------------------------------- */

void history_decide(struct decision *d); /* at the end of every decision: the records */
void history_show(struct decision *d);   /* GROUP_HISTORY */

#endif
