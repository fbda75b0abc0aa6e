/* assign_draft.h: an assignment while it is being made; private to assign*.c. */
#ifndef MUSTER_CONSUMER_ASSIGN_DRAFT_H
#define MUSTER_CONSUMER_ASSIGN_DRAFT_H

#include "assign.h"

enum { NOBODY = -1 };

struct assign_list { /* borrowed */
    const int32_t *v;
    int32_t len;
};

/* Each assignor takes the members in an order of its own; in a draft a member is its rank in that order. Partitions are numbered through, topic by topic. */
struct assign_draft {
    const struct consumer_assign_input *in;
    struct arena *arena;
    const int32_t *order;              /* of each rank: its place in the members */
    bool alike;                        /* all members subscribe to the same topics */
    int32_t *first;                    /* partition p of topic t has the number first[t] + p; first[topic_count]: how many there are */
    int32_t *owner;                    /* of each partition: its member */
    const struct assign_list *subs;    /* of each topic: who subscribes to it, ascending */
    const struct assign_list *kindred; /* topics with the same subscribers, ascending; by draft_kindred() */
    int32_t kindred_count;
};

static inline const struct consumer_subscriber *draft_member(const struct assign_draft *d, int32_t rank)
{
    return &d->in->members[d->order[rank]];
}

/* assign.c: groups the topics that somebody subscribes to by who does, and, if asked to, by how many partitions they have. */
void draft_kindred(struct assign_draft *d, bool same_counts);

/* ---- assign_order.c: the orders in which Kafka 4.4.0 takes members -------------------------------------------------------------------- */

const int32_t *order_of_range(const struct consumer_assign_input *in,
                              struct arena *arena); /* static members by instance id, then the others by id */
const int32_t *order_of_uniform(const struct consumer_assign_input *in, struct arena *arena); /* that of its hash tables */

/* ---- assign_range.c, assign_uniform.c ------------------------------------------------------------------------------------------------- */

void assign_range(struct assign_draft *d);
void assign_uniform(struct assign_draft *d);

/* What members had of what they still subscribe to. */
struct assign_had {
    int32_t *was;             /* of each partition: who had it */
    struct assign_list *each; /* of each member: partitions, ascending */
};

struct assign_racks;
/* assign_alike.c: all members subscribe to the same topics. */
void assign_alike(struct assign_draft *d, const struct assign_had *had, const struct assign_racks *racks);
/* assign_mixed.c: they do not. */
void assign_mixed(struct assign_draft *d, const struct assign_had *had);

/* ---- assign_racks.c: partitions near to who reads them -------------------------------------------------------------------------------- */

struct assign_racks {
    int32_t count;          /* racks that members are in */
    int32_t *home;          /* of each member: its rack; -1: not known */
    int32_t *at, *at_first; /* the racks of partition i, of those: at[at_first[i]] up to at[at_first[i + 1]] */
};
const struct assign_racks *racks_known(const struct assign_draft *d); /* NULL: nothing that would matter is known */
bool racks_near(const struct assign_racks *r, int32_t partition, int32_t rank);

/* Things that members of some topics hold, each of which is near to the members of some racks. */
struct exchange {
    struct arena *arena;
    int32_t rack_count;
    const int32_t *home; /* of each member: its rack; -1: none */
    int32_t member_count;
    int32_t count;        /* things */
    int32_t *holder;      /* of each: the member that holds it */
    const int32_t **near; /* of each: racks */
    int32_t *near_count;
};
/* Changes holders until as many things as possible are near to who holds them; every member holds as many as before. Those first in the array are the first to
 * change hands. */
void exchange(struct exchange *x);

#endif
