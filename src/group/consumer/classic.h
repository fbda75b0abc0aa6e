/* classic.h: members of a consumer group that speak the classic protocol, private to src/group/consumer.
 *
 * Such a member has the protocols of its last JoinGroup as its metadata; what it subscribes to is read off the first of them, and so is the form that its
 * assignment is told in. Its generation is its member epoch. */
#ifndef MUSTER_CONSUMER_CLASSIC_H
#define MUSTER_CONSUMER_CLASSIC_H

#include "../embedded.h"
#include "draft.h"

/* ---- classic.c ------------------------------------------------------------------------------------------------------------------ */

/* Partitions by the names of topics, as units: those of topics that exist, with that epoch. In the arena. */
struct units classic_units(const struct decision *d, const struct consumer_protocol_assignment *a, int32_t epoch);
struct units classic_owned(const struct decision *d, const struct consumer_protocol_subscription *s);
struct units classic_report(const struct draft *t,
                            const struct consumer_protocol_subscription *s); /* of that, what the put member may have */
/* What a member that subscribed in those bytes is told of the units, in the arena. */
struct bytes classic_assignment_of(const struct decision *d, struct units units, struct bytes subscription);
struct str_array classic_topics(const struct decision *d, const struct consumer_protocol_subscription *s); /* in order, each once */

/* Who sends: instance unknown 25, instance of another member 82, member unknown or not a classic one 25; 0 with *ret set. */
int16_t classic_find(const struct modern *s, struct str member_id, struct str instance_id, const struct modern_slot **ret);
/* Its timers of this protocol end: it speaks it no longer, or has gone. */
void classic_timers_end(struct decision *d, struct str member_id);
/* The member is told to rejoin: for how long it may take, counted from the first time. */
void classic_told_to_rejoin(struct decision *d, const struct modern_slot *slot);

/* ---- downgrade.c ------------------------------------------------------------------------------------------------------------------ */

/* Whether the put member, a static one that takes that one's place and speaks the classic protocol, leaves nobody who speaks the new one. */
bool classic_is_last(const struct draft *t, const struct modern_slot *place);
/* The group of the draft becomes a classic one, the put member among its members; instead of draft_close(). */
void classic_take_over(struct draft *t);

#endif
