/* membership.h: what a shard's leader has to do so that its shard has the members that the cluster wants. Pure: a function of what is known. */
#ifndef MUSTERD_MEMBERSHIP_H
#define MUSTERD_MEMBERSHIP_H

#include <muster/group.h>
#include <muster/replica.h>

enum { MEMBERSHIP_NODES_MAX = CATALOG_MAX_MEMBERS + 1 };

/* What shard 0 says of a node. */
struct membership_wish {
    uint32_t node;
    enum member_standing standing;
};

/* A member of the shard by its newest configuration, as its leader sees it. */
struct membership_replica {
    uint32_t node;
    bool voter;
    bool answers; /* it was heard of just now; the leader itself is */
};
struct membership_shard {
    uint32_t self; /* who leads */
    bool committed;
    size_t count;
    struct membership_replica v[MEMBERSHIP_NODES_MAX];
};

enum membership_act {
    MEMBERSHIP_RIGHT,   /* nothing is left to be done */
    MEMBERSHIP_WAIT,    /* something is, but not now: why says what for */
    MEMBERSHIP_ADD,     /* node as a learner */
    MEMBERSHIP_PROMOTE, /* node, a learner, to a voter */
    MEMBERSHIP_REMOVE   /* node; if that is the leader itself, it hands over first and the next one does it */
};
struct membership_step {
    enum membership_act act;
    uint32_t node;
    const char *why; /* static */
};

/* One change at a time: the next one after it is committed. Who is to come comes before anybody goes, so that the shard is never smaller than it must be. */
struct membership_step membership_next(const struct membership_wish *wishes, size_t wish_count, const struct membership_shard *shard);

/* Whether a shard of these members is as the wishes are. */
bool membership_agrees(const struct membership_wish *wishes, size_t wish_count, const struct replica_member *members, size_t member_count,
                       bool committed);

#endif
