/* random.h: clients that do what comes to their minds: join, sync, beat, leave, commit, die; over a few groups. */
#ifndef MUSTER_TESTS_UNIT_GROUP_RANDOM_H
#define MUSTER_TESTS_UNIT_GROUP_RANDOM_H

#include "group_world.h"

enum { RANDOM_GROUPS = 3, RANDOM_CLIENTS = 6 };

struct random_client {
    char member_id[128];
    int32_t generation;
    bool leader;
};

struct random_world {
    struct world world;
    struct prng prng;
    struct random_client client[RANDOM_GROUPS][RANDOM_CLIENTS];
    int64_t answers;
};

void random_init(struct random_world *r, uint64_t seed);
void random_fini(struct random_world *r);
/* A request that one of them might send; NULL when it keeps quiet. */
struct world_request *random_request(struct random_world *r);
/* One step: a request, a bit of time, a failover. */
void random_step(struct random_world *r);

/* What must hold in every state that decisions can bring about. */
void check_invariants(const struct group_set *set);

#endif
