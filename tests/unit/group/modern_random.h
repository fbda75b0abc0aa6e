/* modern_random.h: members of groups of the new protocols that live at random: join, beat, acknowledge, leave, lose answers, fall silent, come back; topics
 * change, jobs run, coordinators fail over. Each knows what it may work on, as a client does: what it was given, less what it has said that it gave up.
 * What differs between streams groups and consumer groups is in streams_random.c and consumer_random.c. */
#ifndef MUSTER_TESTS_UNIT_GROUP_MODERN_RANDOM_H
#define MUSTER_TESTS_UNIT_GROUP_MODERN_RANDOM_H

#include "group_world.h"
#include "modern/draft.h"

enum {
    RANDOM_CLIENTS = 7,
    RANDOM_STATIC = 5,
    RANDOM_NAMES = WORLD_TOPICS,
    RANDOM_PARTITIONS = 8
}; /* clients from RANDOM_STATIC on are static */
#define RANDOM_GROUP "app"

struct unit_bits { /* a bit a partition; by subtopology, or by topic */
    uint8_t of[RANDOM_NAMES];
};

struct random_client {
    char member_id[40];
    int lives;                        /* how often it began anew: part of its id */
    int32_t epoch;                    /* 0: it has to join */
    bool away, dead;                  /* dead: says nothing any more */
    struct unit_bits has[UNIT_KINDS]; /* what it was last given */
    struct unit_bits working;         /* what it works on: active ones of those, and what it has not yet said that it gave up */
    bool owes;                        /* it was given less than it has, and has not said so */
    uint32_t topics;                  /* consumers: a bit a topic that it names */
    bool by_regex;
};

struct modern_random;
struct random_kind {
    const char *name;
    enum group_op_kind heartbeat;
    void (*init)(struct modern_random *r);
    struct world_request *(*join)(struct modern_random *r, struct random_client *c);
    struct world_request *(*beat)(struct modern_random *r, struct random_client *c, bool says_what_it_has);
    struct world_request *(*leave)(struct modern_random *r, struct random_client *c, int32_t epoch);
    struct world_request *(*change)(struct modern_random *r, struct random_client *c); /* of what it says of itself */
    void (*change_topics)(struct modern_random *r);
    void (*mend_topics)(struct modern_random *r); /* so that all can be assigned; NULL: there is nothing to mend */
    /* What an answer without an error says. told: what the member has from now on; false: nothing. */
    int32_t (*epoch_of)(const struct group_out *out);
    bool (*told)(const struct group_out *out, struct unit_bits told[UNIT_KINDS]);
    struct str (*member_id)(const struct group_out *out);
    const struct modern *(*state)(const struct group *g); /* NULL: it is no group of that kind */
    struct unit_bits (*bits)(struct units units);
    void (*check)(const struct modern_slot *a, const struct modern_slot *b);           /* any two members; NULL: nothing of its own */
    struct unit_bits (*needed)(const struct modern_random *r, const struct modern *s); /* of which each has an owner when all is settled */
};
extern const struct random_kind random_streams, random_consumers;

struct modern_random {
    const struct random_kind *kind;
    struct world world;
    struct prng prng;
    struct random_client client[RANDOM_CLIENTS];
    struct group_job *job;
    bool lossy;          /* answers get lost */
    int32_t group_epoch; /* the highest seen */
    int64_t answers, given, lost;
};

void modern_random_init(struct modern_random *r, const struct random_kind *kind, uint64_t seed);
void modern_random_fini(struct modern_random *r);
void modern_random_step(struct modern_random *r);
/* What that client says next; it joins first where it has to. */
struct world_request *modern_random_request(struct modern_random *r, int client);
void modern_random_beat(struct modern_random *r, int client);
void modern_random_work(struct modern_random *r);          /* jobs that are due, to their end */
void modern_random_check(struct modern_random *r);         /* what must hold after each step */
bool modern_random_settled(const struct modern_random *r); /* every member has what it is to have, and all that can be assigned is */

/* For the kinds. */
uint64_t modern_random_below(struct modern_random *r, uint64_t bound);
int modern_random_number(const struct modern_random *r, const struct random_client *c);
struct world_request *modern_random_new(struct modern_random *r, const struct random_client *c);
void modern_random_tell_topics(struct modern_random *r); /* the group hears of them */
void bits_add(struct unit_bits *all, int name, int32_t partition);
bool bits_meet(const struct unit_bits *a, const struct unit_bits *b);

#endif
