/* partitions.h: how many partitions the repartition topics of a topology get, private to topology_*.c.
 *
 * As Kafka 4.4.0 counts, seen with some 800 random topologies: subtopologies are gone through in the order of its hash table, again and again. One that
 * reads a topic of known count gives the highest such count, as it is known then, to those topics it writes that have none yet. So the first writer counts,
 * and what becomes known later changes nothing. */
#ifndef MUSTER_STREAMS_PARTITIONS_H
#define MUSTER_STREAMS_PARTITIONS_H

#include "../names.h"
#include "topology.h"

typedef struct streams_group_topology_value_subtopology subtopology;
typedef struct streams_group_topology_value_topic_info topic_info;

struct repartition {
    struct str name;
    int32_t sent;  /* the count that was asked for; 0: open wherever it is named */
    int32_t count; /* 0: not known */
    bool open;     /* somewhere it is named without a count: then copartitioning may set it */
    const topic_info *info;
};
struct repartitions { /* each once, in the order in which the topology names them */
    struct repartition *v;
    int32_t len;
    struct names by_name;
};

/* Indexes of the subtopologies as Kafka goes through them. */
int32_t *topology_order(const topology *t, struct arena *arena);

void repartitions_new(const topology *t, const int32_t *order, struct arena *arena, struct repartitions *ret);
struct repartition *repartition_find(const struct repartitions *r, struct str name); /* NULL: it is none */
/* Fills the counts. outside: for each subtopology the highest count of its other source topics, 0 for none. False: some cannot be known. */
bool repartitions_count(const topology *t, const int32_t *order, const int32_t *outside, struct repartitions *r, struct arena *arena);

#endif
