/* crowd.h: a group to assign partitions in, that changes: members come and go and take what they were given, topics grow and go. */
#ifndef MUSTER_TESTS_UNIT_CONSUMER_ASSIGN_CROWD_H
#define MUSTER_TESTS_UNIT_CONSUMER_ASSIGN_CROWD_H

#include "tests.h"

#include "consumer/assign.h"

enum { CROWD_TOPICS = 12, CROWD_PARTITIONS = 64, CROWD_MEMBERS = 48, CROWD_RACKS = 6, CROWD_NOBODY = -1 };

struct crowd_member {
    char id[40], instance[24];
    bool is_static;
    int rack; /* -1: not known */
    bool wants[CROWD_TOPICS];
    bool had[CROWD_TOPICS][CROWD_PARTITIONS];
};
struct crowd {
    int32_t partitions[CROWD_TOPICS]; /* 0: the topic is gone */
    int32_t topic_count;
    struct crowd_member members[CROWD_MEMBERS]; /* by id */
    int32_t member_count;
    bool racks_known;
    bool mixed;                                     /* said to be; with the same topics for all, too */
    unsigned racks[CROWD_TOPICS][CROWD_PARTITIONS]; /* bits */
    /* What the assignor is given, and what came of it. */
    enum consumer_assignor assignor;
    struct arena arena;
    struct consumer_assign_input in;
    struct units *shares;
    int32_t owner[CROWD_TOPICS][CROWD_PARTITIONS];
};

void crowd_init(struct crowd *c, enum consumer_assignor assignor, int32_t topic_count);
void crowd_fini(struct crowd *c);
struct crowd_member *crowd_join(struct crowd *c, const char *id); /* NULL: it is there already, or there is no room */
void crowd_leave(struct crowd *c, int32_t member);

/* Fills shares and owner, and checks what holds for every assignment: each partition that somebody subscribes to is at one subscriber. */
void crowd_assign(struct crowd *c);
void crowd_take(struct crowd *c); /* each member takes its share */

bool crowd_kindred(const struct crowd *c, int32_t a, int32_t b);            /* the topics have the same subscribers */
bool crowd_wanted(const struct crowd *c, int32_t topic);                    /* by anybody */
int32_t crowd_was(const struct crowd *c, int32_t topic, int32_t partition); /* who had it and may keep it; nobody: CROWD_NOBODY */
int32_t crowd_holds(const struct crowd *c, int32_t member);                 /* partitions, of the assignment */
int32_t crowd_moves(const struct crowd *c);                                 /* partitions that could have stayed and did not */
bool crowd_near(const struct crowd *c, int32_t topic, int32_t partition, int32_t member);
int32_t crowd_nearness(const struct crowd *c); /* partitions that are near to their members */
bool crowd_alike(const struct crowd *c);       /* the same topics for all, and not said to be mixed */

/* A random one, and a random change of it. */
struct crowd_bounds {
    int32_t topics, partitions, members, racks;
    bool mixed;
};
void crowd_draw(struct crowd *c, struct prng *p, enum consumer_assignor assignor, struct crowd_bounds b);
void crowd_change(struct crowd *c, struct prng *p, struct crowd_bounds b);
void crowd_draw_had(struct crowd *c, struct prng *p); /* any history at all */

#endif
