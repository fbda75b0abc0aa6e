/* consumer.h: consumers in the simulator: what their files share. Those of the new protocol say what they subscribe to and are told what they have; those of the
 * classic one join and sync, in groups that are converted under them while they run. */
#ifndef MUSTER_SIM_CONSUMER_H
#define MUSTER_SIM_CONSUMER_H

#include "member.h"

enum { PLAN_TOPICS = 3, PARTS_MAX = 24 };

/* What a group reads. Its topics are c<group>-kept, which stays and grows, -more and -third, which come and go. */
struct consumer_plan {
    int32_t partitions[PLAN_TOPICS]; /* when they are made */
    bool regexes;                    /* its members use them */
    bool mixed; /* members of both protocols; a topic that is deleted does not come back, for the classic protocol knows it by name alone */
    bool cooperative; /* its classic members keep what they have while they rejoin */
};
extern const struct consumer_plan consumer_plans[SIM_CONSUMER_GROUPS];

struct given { /* with which epoch a unit was given; 0: not known */
    uint32_t unit;
    int32_t epoch;
};
struct part { /* of an assignment that a classic leader has made */
    char member_id[SIM_ID_MAX];
    bool is_static;
    uint32_t names; /* that its subscription has */
    struct unit_set units;
    struct unit_set gives_up; /* that it had, and another is to have in the next round */
};

struct consumer {
    struct member member;
    const struct consumer_plan *plan;
    bool classic;
    int16_t version; /* of its requests */
    /* What it subscribes to. */
    uint32_t names; /* a bit a topic of the plan */
    int regex;      /* consumer_regex(); 0: none */
    bool changed;   /* and has not said so */
    struct given *given;
    size_t given_count, given_cap;
    /* The offset request under way. */
    int32_t partition;
    int64_t value;
    int32_t asked_epoch;
    uint32_t asked_unit;
    uint64_t sure_beside; /* the commit that it sent last behind a heartbeat, if that has to be fine */
    bool leaves_nothing;  /* a heartbeat under way says everything and has to be answered so */
    /* Classic. */
    bool in_classic_group; /* when it joined */
    int32_t complained;    /* the generation in which it joined again because of what it does not want */
    struct share said;     /* to have, with its newest JoinGroup */
    int64_t calm_sent_us;  /* of the newest request after which nothing was to be done: a rebalance began no earlier */
    struct part parts[PARTS_MAX];
    int32_t part_count; /* -1: it does not lead */
    uint64_t layout;    /* of the topics as it has assigned them */
};

/* A topic as a group's clients know it. */
struct known_topic {
    uint64_t as_of; /* that index of the catalogue */
    bool there;
    uint32_t number;
};

struct sim_consumers {
    struct consumer consumers[SIM_CONSUMER_MEMBERS];
    struct crowd crowds[SIM_CONSUMER_GROUPS];
    struct looker lookers[3];
    struct administrator admin;
    struct known_topic known[SIM_CONSUMER_GROUPS][PLAN_TOPICS];
    const struct known_topic *had[SIM_TOPICS_MAX];        /* whose name a topic has or had, by its number */
    int32_t partitions[SIM_CONSUMER_GROUPS][PLAN_TOPICS]; /* that they have, or are to have; 0: it is not there; -1: nor will be again */
    uint32_t fashion[SIM_CONSUMER_GROUPS];                /* of a mixed group: how many of a million begin their lives as classic ones */
    uint8_t type[SIM_CONSUMER_GROUPS];                    /* of a mixed group: as its coordinator last wrote it */
};

static inline struct consumer *consumer_of(struct member *m)
{
    return CONTAINER_OF(m, struct consumer, member);
}
static inline const struct consumer *const_consumer_of(const struct member *m)
{
    return CONTAINER_OF(m, const struct consumer, member);
}
const char *consumer_topic(uint32_t group, uint32_t topic, char name[SIM_ID_MAX]);
const char *consumer_regex(const struct consumer *c, char text[SIM_ID_MAX]); /* "": none */
bool consumer_reads(const struct consumer *c, uint32_t topic);               /* by name or by its regular expression */
void consumer_given(struct consumer *c, const struct unit_set *before,
                    int32_t epoch); /* what it has and had not before; epoch 0: not known */

extern const struct protocol consumer_protocol;
/* consumer_classic.c */
extern const struct protocol consumer_classic_eager, consumer_classic_cooperative;

/* consumer_bytes.c: what the classic protocol carries */
void topics_heard(struct sim *sim, uint32_t group); /* a consumer asks for metadata before it joins, and before it assigns */
struct bytes subscription_bytes(const struct consumer *c, int16_t version, struct arena *arena);
struct bytes assignment_bytes(struct sim *sim, uint32_t group, const struct unit_set *units, struct arena *arena);
/* Of topics that are there; others are left out. names: a bit a topic of the group. */
bool subscription_read(struct sim *sim, uint32_t group, struct bytes in, uint32_t *ret_names, struct unit_set *owned);
bool assignment_read(struct sim *sim, uint32_t group, struct bytes in, struct unit_set *ret);

/* consumer_offsets.c */
bool consumer_asks_offsets(struct consumer *c);                         /* perhaps it commits or reads now: true when it does */
bool consumer_hears_offsets(struct consumer *c, struct sim_request *r); /* false: that was no such request */
void consumer_commits_beside(struct member *m);

/* consumer_admin.c */
void consumer_admin_start(struct sim *sim);

/* consumer_check.c */
void consumer_check_group(struct sim *sim, struct crowd *c, const void *described, int64_t sent_us, const char *how);
void consumer_check_classic(struct sim *sim, struct crowd *c, const void *described, int64_t sent_us, const char *how);

#endif
