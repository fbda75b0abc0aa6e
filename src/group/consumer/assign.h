/* assign.h: the assignors of consumer groups: arrays in, arrays out. Pure; they run within a decision or, when that would take long, beside the loop. */
#ifndef MUSTER_CONSUMER_ASSIGN_H
#define MUSTER_CONSUMER_ASSIGN_H

#include <muster/wire.h>

#include "../modern/units.h"

struct consumer_topic {
    struct str id; /* the 16 bytes of its topic id: the name of its units */
    int32_t partitions;
    const struct str_array *racks; /* of each partition those that its replicas are in; NULL: not known */
};
struct consumer_subscriber {
    struct str member_id;
    struct str instance_id; /* null: a dynamic member */
    struct str rack_id;     /* null: not known */
    const int32_t *topics;  /* places in the topics, ascending, each once: those that exist of what it subscribes to */
    int32_t topic_count;
    struct units had; /* what it was to have so far (its target): what the sticky one leaves where it is */
};
struct consumer_assign_input {           /* all of it borrowed */
    const struct consumer_topic *topics; /* by id */
    int32_t topic_count;
    const struct consumer_subscriber *members; /* by member id, each once */
    int32_t member_count;
    /* They subscribe to different topics by name, though what exists of these may be the same for all: then Kafka's uniform assignor goes the way of
     * different subscriptions all the same, and so does ours. Where topics differ, it does not matter. */
    bool mixed;
};

enum consumer_assignor { ASSIGNOR_UNIFORM, ASSIGNOR_RANGE, ASSIGNOR_COUNT };
const char *consumer_assignor_name(enum consumer_assignor a);              /* "uniform" */
bool consumer_assignor_find(struct str name, enum consumer_assignor *ret); /* false: there is none of that name */

/* What each member is to have, by its place; in the arena, epochs 0, names those of the topics. Each partition that somebody subscribes to goes to exactly one
 * of those that do. */
void consumer_assign(enum consumer_assignor a, const struct consumer_assign_input *in, struct arena *arena, struct units *ret);
/* Rises with members and partitions; up to CONSUMER_ASSIGN_INLINE it takes about a millisecond. */
int64_t consumer_assign_cost(enum consumer_assignor a, const struct consumer_assign_input *in);
enum { CONSUMER_ASSIGN_INLINE = 4096 };

#endif
