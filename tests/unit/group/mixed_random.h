/* mixed_random.h: members of both protocols in one group that live at random: join, rejoin, sync, beat, acknowledge, lead, leave, lose answers, fall silent, come
 * back in the other protocol; so that the group changes its type either way, at any moment. Each knows what it may work on, as a client does. */
#ifndef MUSTER_TESTS_UNIT_GROUP_MIXED_RANDOM_H
#define MUSTER_TESTS_UNIT_GROUP_MIXED_RANDOM_H

#include "group_world.h"

enum {
    MIXED_CLIENTS = 6,
    MIXED_STATIC = 4,
    MIXED_LED = 3 * MIXED_CLIENTS,
    MIXED_PARTITIONS = 12
}; /* clients from MIXED_STATIC on are static */

enum mixed_tide { TIDE_NONE, TIDE_CLASSIC, TIDE_CONSUMER }; /* the protocol that clients turn to */

struct mixed_client {
    char member_id[64];  /* empty: none */
    int lives;           /* how often it began anew */
    bool classic;        /* the protocol it speaks in this life */
    bool away, dead;     /* dead: says nothing any more */
    int32_t epoch;       /* its member epoch or generation; 0: it has to join */
    uint32_t has;        /* a bit for each partition: what it was last given */
    uint32_t working;    /* that, and what it has not yet given up */
    int64_t heard_ms;    /* when it last had an answer: when its session is over it stops by itself */
    bool owes;           /* of the new protocol: it was given less than it has, and has not said so */
    bool unsure;         /* the answer to its last request was lost: it asks for everything again */
    bool eager;          /* classic: it gives everything up before it joins */
    bool joined, rejoin; /* classic: it has to sync; it was told to rejoin */
    bool waiting;        /* a request of it waits at the coordinator */
    /* classic, as a leader: whom it assigns for, and what they said they own. */
    int led;
    char led_id[MIXED_LED][64];
    uint32_t led_owned[MIXED_LED];
};

struct mixed_random {
    struct world world;
    struct prng prng;
    struct mixed_client client[MIXED_CLIENTS];
    bool lossy;
    enum mixed_tide tide;
    int32_t epoch; /* of the group, the highest seen since it was empty */
    bool was_consumer;
    int64_t answers, ups, downs, given, led;
};

void mixed_random_init(struct mixed_random *r, uint64_t seed);
void mixed_random_fini(struct mixed_random *r);
void mixed_random_step(struct mixed_random *r);
void mixed_random_act(struct mixed_random *r, int client); /* what a client would do next */
void mixed_random_check(struct mixed_random *r);           /* what must hold after each step */
bool mixed_random_settled(const struct mixed_random *r);   /* everybody is a member that has what it is to have, and all is assigned */

#endif
