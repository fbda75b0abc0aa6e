/* streams_random.h: members of streams groups that live at random: join, beat, acknowledge, leave, lose answers, fall silent, come back; topics and configs
 * change, coordinators fail over. Each knows what it may work on, as a client does: what it was given, less what it has said that it gave up. */
#ifndef MUSTER_TESTS_UNIT_GROUP_STREAMS_RANDOM_H
#define MUSTER_TESTS_UNIT_GROUP_STREAMS_RANDOM_H

#include "group_world.h"

enum { STREAMS_CLIENTS = 7, STREAMS_STATIC = 5, STREAMS_TASKS = 16 }; /* clients from STREAMS_STATIC on are static */

struct streams_client {
    char member_id[32];
    int lives;        /* how often it began anew: part of its id when it is static */
    int32_t epoch;    /* 0: it has to join */
    bool away, dead;  /* dead: says nothing any more */
    uint32_t has[3];  /* tasks by kind, a bit each: what it was last given */
    uint32_t working; /* active tasks it works on: those, and what it has not yet said that it gave up */
    bool owes;        /* it was given less than it has, and has not said so */
};

struct streams_random {
    struct world world;
    struct prng prng;
    struct streams_client client[STREAMS_CLIENTS];
    struct group_job *job;
    bool lossy;          /* answers get lost */
    int32_t group_epoch; /* the highest seen */
    int64_t answers, given, lost;
};

void streams_random_init(struct streams_random *r, uint64_t seed);
void streams_random_fini(struct streams_random *r);
void streams_random_step(struct streams_random *r);
struct world_request *streams_random_request(struct streams_random *r, int client);
/* A beat of that client as a client would send it; it joins first where it has to. */
void streams_random_beat(struct streams_random *r, int client);
/* What must hold after each step. */
void streams_random_check(struct streams_random *r);
/* Whether every member has what it is to have, and all that can be assigned is. */
bool streams_random_settled(const struct streams_random *r);

#endif
