/* members.h: the member and pending-id arrays of a classic group. */
#ifndef MUSTER_CLASSIC_MEMBERS_H
#define MUSTER_CLASSIC_MEMBERS_H

#include "../state.h"

/* The place of an id in the sorted array, or the place where it would be put (*ret_found false). */
int32_t members_place(const struct classic *c, struct str member_id, bool *ret_found);
int32_t pending_place(const struct classic *c, struct str member_id, bool *ret_found);

/* The member that holds a group instance id, -1 when none does. */
int32_t members_by_instance(const struct classic *c, struct str instance_id);

bool member_supports(const struct classic_member *m, struct str protocol);
/* The member as its record says it: for the entry that makes it and for snapshots, whose bytes must be the same. Views into the member; the list in the arena. */
void classic_member_value_of(const struct classic_member *m, struct arena *arena, struct classic_member_value *ret);
struct bytes member_metadata(const struct classic_member *m, struct str protocol); /* zero bytes when it does not support it */

/* voting.c: the protocol most members prefer among those all support. */
struct str classic_vote(const struct classic_member *const *members, int32_t count, struct arena *arena);

/* Generations stay positive. */
static inline int32_t next_generation(int32_t generation)
{
    return generation == INT32_MAX ? 1 : generation + 1;
}

/* Has joined the join phase that is open. */
static inline bool member_joined(const struct classic *c, const struct classic_member *m)
{
    return m->join_generation == next_generation(c->generation);
}

#endif
