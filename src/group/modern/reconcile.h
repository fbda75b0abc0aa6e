/* reconcile.h: how a member goes from what it has to what it is to have (KIP-848, KIP-1071), one heartbeat at a time.
 *
 * What it must give up is told first, and its epoch stays until it has said that it gave it up; then it is moved to the target's epoch and given what is
 * free; what others still hold it gets when they have let go. Pure; shared by consumer groups and streams groups. */
#ifndef MUSTER_MODERN_RECONCILE_H
#define MUSTER_MODERN_RECONCILE_H

#include "units.h"

/* As recorded for streams members; a consumer member's are one less (MEMBER_SETTLED 0). */
enum member_state { MEMBER_STABLE = 1, MEMBER_UNREVOKED = 2, MEMBER_UNRELEASED = 3 };

struct member_position { /* of one member, as a CurrentMemberAssignment record says it */
    int32_t epoch;
    int32_t previous_epoch;
    enum member_state state;
    struct holding assigned; /* with the epochs its units were given with */
    struct holding revoking; /* to be given up; still its own */
};

struct reconcile {
    const struct member_position *now;
    int32_t target_epoch; /* the group's assignment epoch */
    const struct holding *target;
    const struct holding *owned; /* what the member says it has; NULL: it did not say */
    bool counts_steps;           /* streams: a member that has let go and is told to give up more is an epoch further */
    /* Whether someone else stands in the way of the member taking the unit in that kind. */
    bool (*taken)(const void *ctx, enum unit_kind kind, const struct unit *unit);
    const void *ctx;
};

/* The member's next position, in the arena (names borrowed from the input). True when it differs from now. */
bool reconcile(const struct reconcile *r, struct arena *arena, struct member_position *ret);

/* KIP-848's rule for commits: whether a member at that epoch may commit the unit with the epoch it sent. assigned NULL: it does not own the unit. */
bool commit_epoch_ok(int32_t sent_epoch, int32_t member_epoch, const struct unit *assigned);

#endif
