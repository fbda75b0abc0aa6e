#include "membership.h"

static const struct membership_wish *wish_of(const struct membership_wish *wishes, size_t count, uint32_t node)
{
    for (size_t i = 0; i < count; i++) {
        if (wishes[i].node == node) {
            return &wishes[i];
        }
    }
    return NULL;
}

/* A node that nobody knows of, that leaves, or that has not come yet belongs to no shard. */
static bool belongs(const struct membership_wish *wish)
{
    return wish != NULL && (wish->standing == MEMBER_LEARNER || wish->standing == MEMBER_VOTER);
}

static const struct membership_replica *replica_of(const struct membership_shard *shard, uint32_t node)
{
    for (size_t i = 0; i < shard->count; i++) {
        if (shard->v[i].node == node) {
            return &shard->v[i];
        }
    }
    return NULL;
}

/* Whether those that would vote, with one more or one less, have a majority that answers. */
static bool majority_answers(const struct membership_shard *shard, uint32_t with, uint32_t without)
{
    size_t voters = 0, answering = 0;
    for (size_t i = 0; i < shard->count; i++) {
        const struct membership_replica *r = &shard->v[i];
        if ((r->voter || r->node == with) && r->node != without) {
            voters++;
            answering += r->answers;
        }
    }
    return answering > voters / 2;
}

static struct membership_step wait_for(uint32_t node, const char *why)
{
    return (struct membership_step){.act = MEMBERSHIP_WAIT, .node = node, .why = why};
}

static struct membership_step next_arrival(const struct membership_wish *wishes, size_t count, const struct membership_shard *shard)
{
    for (size_t i = 0; i < count; i++) {
        if (belongs(&wishes[i]) && replica_of(shard, wishes[i].node) == NULL) {
            return (struct membership_step){MEMBERSHIP_ADD, wishes[i].node, "it becomes a learner"};
        }
    }
    return (struct membership_step){.act = MEMBERSHIP_RIGHT};
}

static struct membership_step next_promotion(const struct membership_wish *wishes, size_t count, const struct membership_shard *shard)
{
    struct membership_step waits = {.act = MEMBERSHIP_RIGHT};
    for (size_t i = 0; i < count; i++) {
        const struct membership_replica *r = replica_of(shard, wishes[i].node);
        if (wishes[i].standing != MEMBER_VOTER || r == NULL || r->voter) {
            continue;
        }
        if (!r->answers) {
            waits = wait_for(r->node, "it does not answer, so that it cannot become a voter");
        } else if (!majority_answers(shard, r->node, 0)) {
            waits = wait_for(r->node, "with it as a voter no majority would answer");
        } else {
            return (struct membership_step){MEMBERSHIP_PROMOTE, r->node, "it becomes a voter when it has caught up"};
        }
    }
    return waits;
}

static struct membership_step next_departure(const struct membership_wish *wishes, size_t count, const struct membership_shard *shard)
{
    struct membership_step waits = {.act = MEMBERSHIP_RIGHT};
    for (size_t i = 0; i < shard->count; i++) {
        const struct membership_replica *r = &shard->v[i];
        if (belongs(wish_of(wishes, count, r->node))) {
            continue;
        }
        if (r->voter && !majority_answers(shard, 0, r->node)) {
            waits = wait_for(r->node, "without it no majority of the voters answers");
        } else {
            return (struct membership_step){MEMBERSHIP_REMOVE, r->node,
                                            r->node == shard->self ? "it leads and hands over first" : "it is removed"};
        }
    }
    return waits;
}

struct membership_step membership_next(const struct membership_wish *wishes, size_t wish_count, const struct membership_shard *shard)
{
    if (!shard->committed) {
        return wait_for(0, "the change before is not committed yet");
    }
    if (wish_count == 0) {
        return (struct membership_step){.act = MEMBERSHIP_RIGHT}; /* nobody has said yet who belongs to the cluster */
    }
    struct membership_step arrival = next_arrival(wishes, wish_count, shard);
    if (arrival.act != MEMBERSHIP_RIGHT) {
        return arrival;
    }
    struct membership_step promotion = next_promotion(wishes, wish_count, shard);
    if (promotion.act == MEMBERSHIP_PROMOTE) {
        return promotion;
    }
    struct membership_step departure = next_departure(wishes, wish_count, shard);
    return departure.act != MEMBERSHIP_RIGHT ? departure : promotion;
}

bool membership_agrees(const struct membership_wish *wishes, size_t wish_count, const struct replica_member *members, size_t member_count,
                       bool committed)
{
    size_t wanted = 0;
    for (size_t i = 0; i < wish_count; i++) {
        wanted += belongs(&wishes[i]);
    }
    if (!committed || member_count != wanted) {
        return false;
    }
    for (size_t i = 0; i < member_count; i++) {
        const struct membership_wish *wish = wish_of(wishes, wish_count, members[i].node);
        if (!belongs(wish) || (wish->standing == MEMBER_VOTER) != (members[i].vote == REPLICA_VOTER)) {
            return false;
        }
    }
    return true;
}
