/* consumer.h: consumer groups (KIP-848), private to src/group/consumer. README.md has the life of a group.
 *
 * ../modern keeps what the records say and has what streams groups do alike; the rest of this folder decides. */
#ifndef MUSTER_CONSUMER_CONSUMER_H
#define MUSTER_CONSUMER_CONSUMER_H

#include "../errors.h"
#include "../modern/modern.h"
#include "assign.h"
#include "configs.h"

/* group.consumer.assignors: whether that one is offered; name null: the first one, which members get that name none. */
bool consumer_offers(const struct group_settings *settings, struct str name, enum consumer_assignor *ret);

/* ---- state.c ------------------------------------------------------------------------------------------------------------------ */

enum consumer_state { CONSUMER_EMPTY, CONSUMER_ASSIGNING, CONSUMER_RECONCILING, CONSUMER_STABLE };
enum consumer_state consumer_state(const struct modern *s); /* by what is recorded alone */

/* ---- subscription.c: which topics a group reads --------------------------------------------------------------------------------- */

static inline struct str unit_of_topic(const struct uuid *id) /* the name of a topic's units; borrowed */
{
    return (struct str){(const char *)id->b, (int32_t)sizeof id->b};
}
struct uuid topic_of_unit(struct str name);
/* Whether a member of that subscription reads the topic; regexes: what those of the group matched. */
bool consumer_member_reads(const struct modern_member *m, const struct regex_table *regexes, struct str topic);

#endif
