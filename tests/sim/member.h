/* member.h: members of groups that their coordinator assigns, in the simulator: streams groups, consumer groups, and what speaks the classic protocol in the
 * latter. The life that all of them live (member.c), and what is checked of it (member_check.c); each protocol says how it is said and heard. */
#ifndef MUSTER_SIM_MEMBER_H
#define MUSTER_SIM_MEMBER_H

#include "shares.h"
#include "world.h"

enum { CROWD_MEMBERS = 6, MEMBER_HEARTBEAT_US = 300000, MEMBER_REBALANCE_MS = 2500, MEMBER_PATIENCE_US = 1500000 };
/* Without faults a group settles before any of its members has heartbeated that often. Those that wait do it every 60 ms or so: until a session of somebody
 * who does not come back is over, and then until somebody who does not give up what he has is out. */
enum { SETTLE_BEATS = 150 };

enum life { LIFE_DOWN, LIFE_JOINING, LIFE_SYNCING, LIFE_MEMBER, LIFE_LEAVING };
enum speech { SPEECH_JOIN, SPEECH_SYNC, SPEECH_BEAT, SPEECH_LEAVE };
enum crowd_kind { CROWD_STREAMS, CROWD_CONSUMER };
enum says {
    SAYS_NOTHING,
    SAYS_HAS,
    SAYS_ALL
}; /* of itself, with a heartbeat: what it has; everything, as one does whose last answer was lost */
/* Requests that nobody may find fine: of an epoch that never was; of an older one with more than it was given since; of an older one that does not say what
 * the member has. */
enum stray { STRAY_NONE, STRAY_AHEAD, STRAY_LARGER, STRAY_SILENT };

struct member;
struct crowd;

/* How members of a kind speak. */
struct protocol {
    bool keeps;                     /* who joins again keeps what it has; of the others, who joins has nothing */
    bool heals;                     /* what an answer said that was lost is said again when it is asked for */
    void (*born)(struct member *m); /* a life begins: under which id it joins, and what else is its own. It may change its protocol */
    void (*say)(struct member *m, enum speech what);       /* member_send()s it */
    void (*hear)(struct member *m, struct sim_request *r); /* an answer that has come in time */
    bool (*act)(struct member *m);                         /* something of its own to do: true when it did it. NULL: never */
    void (*beside)(struct member *m);                      /* while a heartbeat is under way, on its connection. NULL: nothing */
};

/* A member of a group. By its own clock: what it works on, and until when it may believe to have it. */
struct member {
    struct sim *sim;
    struct crowd *crowd;
    const struct protocol *protocol; /* that it speaks in this life */
    uint32_t number;
    enum life life;
    char name[24];
    char member_id[SIM_ID_MAX], instance_id[SIM_ID_MAX]; /* instance "": dynamic */
    char process_id[SIM_ID_MAX];                         /* "": what it has it shares with nobody */
    int32_t epoch, previous_epoch;                       /* previous: an older one that was its own; 0: none */
    bool may_rise;                                       /* without its doing: its group may be converted under it */
    uint64_t lives;
    struct share has, told; /* told: what it is to have, by the last answer that said so; until it has closed the rest it has more */
    int64_t closed_at_us;   /* when it will have closed that; 0: nothing to close */
    int64_t confirm_by_us;  /* it has to say so by then, or counts as gone; 0: nothing is owed */
    int64_t owed_from_us;   /* when it sent the first request whose lost answer may have asked for it; 0: none was lost */
    bool confirms;          /* the request under way says so */
    int64_t good_sent_us;   /* of the newest heartbeat that was answered well */
    int64_t next_beat_us;
    int32_t interval_ms; /* as it was last told */
    enum says next_says; /* the next heartbeat does, soon; what the one under way says is `says` */
    enum says says;
    int64_t
        doubt_until_us; /* an answer was lost: it may have been told something, and joins anew unless it is told all by then; 0: none was */
    int64_t sure_from_us;  /* until then a request that it has given up may still come to somebody */
    bool sure;             /* when the request under way was sent, none could */
    bool aside;            /* that says nothing of its membership */
    enum stray stray;      /* the request under way is one */
    int64_t wait_until_us; /* before it does anything else */
    int64_t idle_from_us;  /* no request of its own is under way since */
    uint32_t node;
    struct sim_connection *connection;
    uint64_t serial, thinks;
    int64_t sent_us;
    int64_t as_of_us; /* the answer is as new as if it had been asked for then: when it was sent, or when it was let go */
    int32_t
        assigned; /* it was kept back for a while, and its group's assignment had that epoch when it was let go; 0: it was not, or not known */
    uint32_t beats_since_healed;
};

/* ---- what is known of a group --------------------------------------------------------------------------------------------------------- */

struct stamp { /* a number that was seen, and when it was known to be there */
    int32_t value;
    int64_t at_us;
};
struct rising { /* what may only rise: newest last */
    struct stamp *v;
    size_t len, cap;
};
struct member_seen {
    char member_id[SIM_ID_MAX];
    struct rising epochs;
};
struct crowd {
    struct sim *sim;
    enum crowd_kind kind;
    char id[SIM_ID_MAX];
    uint32_t number;
    bool restarts;          /* its epochs may begin anew when nobody is left in it */
    int64_t void_before_us; /* nobody was; what was seen before counts no more */
    struct member *members[CROWD_MEMBERS];
    uint32_t count;
    struct rising epochs, assignments;
    struct member_seen *seen;
    size_t seen_count, seen_cap;
    char state[24]; /* as last described */
    int64_t state_at_us;
    int32_t epoch_described;
};
enum { EPOCH_NOT_TOLD = INT32_MIN };
struct sight { /* one member as it is described */
    struct str member_id;
    int32_t epoch;
    struct share assigned;
    bool with_revoking; /* also what it has to give up */
    bool epoch_alone;   /* what it has is not told */
};

/* ---- member.c: a life --------------------------------------------------------------------------------------------------------------------- */

void crowd_begin(struct crowd *c, struct sim *sim, enum crowd_kind kind, const char *noun, uint32_t number); /* its id: noun-number */
const char *crowd_noun(const struct crowd *c);                                                               /* "streams group" */
void member_begin(struct member *m, struct crowd *crowd, const struct protocol *protocol, const char *noun, uint32_t number);
void member_fini(struct member *m);
void member_send(struct member *m, struct sim_request *r, int64_t patience_us);
void member_send_aside(struct member *m, struct sim_request *r);
void member_send_beside(struct member *m, struct sim_request *r, void (*arrived)(struct sim_request *r));
struct sim_request *member_request(struct member *m, enum group_op_kind kind, int16_t api_key, int16_t version); /* of its group */
struct str member_text(struct sim_request *r, const char *text);           /* in the request's arena */
struct str member_instance(const struct member *m, struct sim_request *r); /* null: none */
int32_t member_epoch_to_say(const struct member *m);                       /* strays say another one */
void member_say(struct member *m, enum speech what);

/* What an answer to a heartbeat comes to. */
struct reply {
    int16_t error;
    struct str text;
    int32_t epoch, interval_ms;
    bool tells; /* what it is to have */
    const struct share *share;
};
void member_heard(struct member *m, const struct reply *reply);
#define MEMBER_COUNT(m, what)                                                                                                              \
    (*((m)->crowd->kind == CROWD_STREAMS ? &(m)->sim->totals.streams_##what : &(m)->sim->totals.consumer_##what) += 1)
void member_take(struct member *m, const struct share *told);
void member_elsewhere(struct member *m); /* another node is asked next */
void member_refused(struct member *m, int16_t error, struct str text);
void member_drop_all(struct member *m);
void member_begin_anew(struct member *m, bool other_life);    /* a member by that id is no more, or will not be */
bool member_believes(const struct member *m);                 /* that it still is a member, by its own clock */
void member_good(struct member *m, int32_t epoch, bool told); /* it has just heard that it is one, in that epoch; and what it is to have */
bool member_is_sure(const struct member *m);                  /* nothing of it is under way that it does not know of */

/* ---- after the faults ---- */

struct settling {
    const struct unit_set *expected; /* that they share */
    int64_t healed_at_us;
    uint32_t beats; /* more than that of one of them without faults are too many */
};
bool crowd_settled(struct crowd *c, const struct settling *s, char *why, size_t why_len);

/* ---- member_check.c ------------------------------------------------------------------------------------------------------------------------- */

void check_owner_of(struct member *m, const struct unit_set *gained);  /* it starts to work on these */
void check_epoch_of(struct member *m, int32_t epoch, int64_t sent_us); /* as it was answered */
void check_held(const struct member *m, int32_t epoch, bool told);     /* an answer that was kept back says what is, not what was */
void crowd_gap(struct crowd *c);                                       /* is anybody left in it? */
void crowd_rise(struct crowd *c, struct rising *r, int32_t value, int64_t sent_us, const char *what);
void crowd_rise_member(struct crowd *c, struct str member_id, int32_t epoch, int64_t sent_us);
/* What members are sure of is described: those that speak the protocol, or all (NULL). */
void crowd_check_sights(struct crowd *c, const struct sight *v, int32_t count, int64_t sent_us, const struct protocol *of, const char *how);
void crowd_described(struct crowd *c, struct str state, int32_t epoch, int64_t sent_us);
void crowd_forget(struct crowd *c); /* the group is removed */
void crowd_fini(struct crowd *c);

/* ---- topics.c: the administrator; and which topic is which ------------------------------------------------------------------------------------ */

enum chore_kind { CHORE_CREATE, CHORE_DELETE, CHORE_GROW };
struct chore { /* in order, each until it is done */
    enum chore_kind kind;
    char topic[SIM_ID_MAX];
    int32_t partitions;
    int64_t not_before_us;
};
struct administrator { /* of the topics of some groups */
    struct sim *sim;
    struct chore chores[64];
    size_t count;
    uint64_t serial;
    uint32_t node;
    void (*disturb)(struct sim *sim); /* thinks of something to do */
};
void administrator_start(struct administrator *a, struct sim *sim, void (*disturb)(struct sim *sim));
void chore_add(struct administrator *a, enum chore_kind kind, const char *topic, int32_t partitions, int64_t delay_us);

uint32_t topic_number(struct sim *sim, struct uuid id); /* the same for the same id */
struct uuid topic_id(const struct sim *sim, uint32_t number);
/* By the catalogue of whoever knows most of it. */
uint64_t topics_as_of(const struct sim *sim); /* the index of the newest catalogue that any living node has; 0: none */
bool topic_newest(const struct sim *sim, const char *name, struct catalog_topic *ret);
bool topic_exists(const struct sim *sim, uint32_t number);
int64_t topic_seen_us(const struct sim *sim, uint32_t number); /* since when the simulator knows it */

/* ---- looker.c: those who ask any node how a group is, over and over ------------------------------------------------------------------------------ */

struct question {
    enum group_op_kind kind;
    int16_t api_key, version;
    void (*fill)(struct sim_request *r); /* op.group_id is there */
    int16_t (*error)(const void *answer);
    void (*look)(struct sim *sim, struct crowd *c, const void *answer, int64_t sent_us);
};
struct looker {
    struct sim *sim;
    uint64_t serial;
    int64_t sent_us;
    struct crowd *crowd;
    const struct question *question;
    struct crowd *(*choose)(struct sim *sim, const struct question **ret);
};
void looker_start(struct looker *l, struct sim *sim, int64_t delay_us,
                  struct crowd *(*choose)(struct sim *sim, const struct question **ret));
bool looks_superseded(const struct sim_node *n, uint32_t shard); /* a thawed node may take office without knowing that it is over */
/* Asks a node's own state, with the topics as it knows them; the answer lies in the arena. */
const void *look_at_node(struct sim_node *n, uint32_t shard, struct group_op *op, struct arena *arena);

#endif
