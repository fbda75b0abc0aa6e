/* streams.h: applications of Kafka Streams in the simulator: what its files share. */
#ifndef MUSTER_SIM_STREAMS_H
#define MUSTER_SIM_STREAMS_H

#include "world.h"

enum { SUBS_MAX = 2, TASKS_MAX = 20, ROLES = 3, SUBS_TASKS = SUBS_MAX * TASKS_MAX };
enum { ACTIVE, STANDBY, WARMUP };
enum { STREAMS_HEARTBEAT_US = 300000, STREAMS_REBALANCE_MS = 2500, SETTLE_BEATS = 60 };

/* A bit a task: subtopology * TASKS_MAX + partition. */
struct tasks {
    uint64_t role[ROLES];
};
_Static_assert(SUBS_TASKS <= 64, "a bit a task");

enum app_state { APP_DOWN, APP_JOINING, APP_MEMBER, APP_LEAVING };

/* A thread of an application: a member of its group. By its own clock: what it works on, and until when it may believe to have it. */
struct app {
    struct sim *sim;
    uint32_t number, group;
    enum app_state state;
    char member_id[SIM_ID_MAX], process_id[SIM_ID_MAX], instance_id[SIM_ID_MAX]; /* instance "": dynamic */
    int32_t epoch;
    uint64_t lives;
    struct tasks has, keeps; /* keeps: while it closes what it was told to give up */
    int64_t closed_at_us;    /* when it will have closed them; 0: nothing to close */
    int64_t confirm_by_us;   /* it has to say so by then, or counts as gone; 0: nothing is owed */
    bool confirms;           /* the request under way says so */
    int64_t good_sent_us;    /* of the newest heartbeat that was answered well */
    int64_t next_beat_us;
    bool say_tasks; /* the next heartbeat says what it has */
    int64_t
        doubt_until_us; /* an answer was lost: it may have been told something, and joins anew unless it is told all by then; 0: none was */
    bool stray;         /* the request under way is of an epoch that never was: it may not be fine */
    int64_t wait_until_us; /* before it does anything else */
    uint32_t node;
    uint64_t serial, thinks;
    int64_t sent_us;
    uint32_t beats_since_healed;
};

/* What an application's group is made of. */
struct plan {
    const char *sources[2]; /* names of source topics; with a regular expression only the first is there from the start */
    const char *regex;      /* NULL: none */
    int32_t partitions;
    const char *repartition; /* NULL: one subtopology */
    const char *changelog;
};
extern const struct plan streams_plans[SIM_STREAMS_GROUPS];

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

struct streams_group_check {
    struct rising epochs, assignments;
    struct member_seen *members;
    size_t member_count, member_cap;
    int64_t topology_at_us; /* since when it is known to have its topology; INT64_MAX: it is not */
    char topology_id[40];   /* "": not seen yet */
    char state[24];         /* as last described */
    int64_t state_at_us;
    int32_t epoch_described;
};

enum chore_kind { CHORE_CREATE, CHORE_DELETE, CHORE_GROW };
struct chore { /* of the administrator, in order, each until it is done */
    enum chore_kind kind;
    char topic[SIM_ID_MAX];
    int32_t partitions;
    int64_t not_before_us;
};

struct looker { /* asks any node how a group is, over and over */
    struct sim *sim;
    uint32_t number, group;
    uint64_t serial;
    int64_t sent_us;
    bool topology; /* the request under way asks for that */
};

#define SIM_GIVEN_GROUP "given"
struct giver { /* of topologies, to a group without members */
    uint64_t serial;
    uint32_t node;
    int64_t sent_us;
    int32_t epoch, acked_epoch; /* newest that was sent; that is known to be in force, since */
    int64_t acked_at_us;
};

struct sim_streams {
    struct giver giver;
    struct app apps[SIM_STREAMS_MEMBERS];
    struct looker lookers[2];
    struct streams_group_check groups[SIM_STREAMS_GROUPS];
    struct chore chores[64];
    size_t chore_count;
    uint64_t chore_serial;
    uint32_t admin_node;
    int32_t partitions[SIM_STREAMS_GROUPS]; /* that the sources have, or are to have */
    bool second_source[SIM_STREAMS_GROUPS];
    int64_t repaired_at_us[SIM_STREAMS_GROUPS];
    int64_t healed_at_us; /* the administrator has nothing left to do and the faults are over; 0: not yet */
};

/* streams_admin.c */
void streams_admin_start(struct sim *sim);
void streams_repair(struct sim *sim, uint32_t group); /* internal topics do not fit: away with them, they are made anew */
bool streams_admin_idle(struct sim *sim);
int32_t streams_task_count(const struct sim *sim, uint32_t group, uint32_t sub); /* 0: there is no such subtopology */

void streams_delete_topic(struct sim *sim, const char *topic);

/* streams_giver.c */
void streams_giver_start(struct sim *sim);

/* streams_check.c */
void streams_check_owner(struct app *a, uint64_t gained);                               /* it starts to work on these active tasks */
void streams_check_epoch(struct app *a, int32_t epoch, int64_t sent_us, bool topology); /* as its heartbeat was answered */
void streams_check_group(struct sim *sim, uint32_t group, const struct streams_group_describe_response_described_group *g, int64_t sent_us,
                         const char *how);
void streams_check_topology(struct sim *sim, uint32_t group, const struct streams_group_topology_response *t, int64_t sent_us);
bool streams_believes(const struct app *a); /* that it still is a member, by its own clock */
void streams_check_free(struct sim *sim);

uint32_t streams_group_of(struct str group_id); /* SIM_STREAMS_GROUPS: none */
void streams_group_id(uint32_t group, char id[SIM_ID_MAX]);

#endif
