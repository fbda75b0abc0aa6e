/* topology.h: what a streams topology must be, what topics it needs, and whether it can run on those that exist. Pure.
 *
 * Sources: KIP-1071; what Kafka 4.4.0 accepts and says (protocol facts); its early revision for what is initialized explicitly. */
#ifndef MUSTER_STREAMS_TOPOLOGY_H
#define MUSTER_STREAMS_TOPOLOGY_H

#include "../modern/modern.h"

typedef struct streams_group_topology_value topology; /* as the record has it: epoch, subtopologies, id */

/* From a heartbeat's and from an initialization's topology; strings are borrowed, the rest lies in the arena. The id is the given one, or by default a
 * deterministic hash of everything but the epoch ("h-" and 16 hexadecimal digits). The tagged fields of an initialization count as those of a heartbeat. */
const topology *topology_of_heartbeat(const struct streams_group_heartbeat_request *r, struct arena *arena);
const topology *topology_of_initialize(const struct streams_group_initialize_request *r, int32_t epoch, struct arena *arena);

/* Null when it may be stored; otherwise the error (130, 131, 42) and a text as Kafka's where Kafka has one. Checks sources, names, changelog partitions 0,
 * sinks, cycles, copartition indexes, duplicate ids, regular expressions, epoch >= 0, and the bounds in settings. */
int16_t topology_check(const topology *t, const struct group_settings *settings, struct arena *arena, struct str *ret_problem);
/* Only what is looked at before the group is: all of it but sources and cycles. */
int16_t topology_check_form(const topology *t, const struct group_settings *settings, struct arena *arena, struct str *ret_problem);

/* Equal in everything but epoch and id; the order of subtopologies does not matter. */
bool topology_equal(const topology *a, const topology *b);

struct str_array regex_table_get(const struct regex_table *regexes, struct str regex); /* none when it is not there; regexes may be NULL */

enum topology_problem { /* the status codes of the heartbeat's answer */
                        TOPOLOGY_FINE = -1,
                        TOPOLOGY_MISSING_SOURCES = 1,
                        TOPOLOGY_PARTITIONING = 2,
                        TOPOLOGY_MISSING_INTERNAL = 3
};
struct resolved_topic {
    struct str name;
    int32_t partitions;
};
struct resolved_topics {
    const struct resolved_topic *v;
    int32_t len;
};
struct resolved_subtopology {
    struct str id;
    int32_t tasks;
    bool stateful;
    struct resolved_topics
        sources; /* source topics (those of regular expressions too), then repartition sources; with partitions; by name */
    const struct streams_group_topology_value_subtopology *as_sent;
    struct resolved_topics changelogs, repartition_sources; /* in the order sent, with derived partition counts (0 when not derivable) */
};
struct internal_topic {
    struct str name;
    int32_t partitions;
    int16_t replication_factor;
    struct streams_group_topology_value_topic_config_array configs;
};
struct resolved {
    enum topology_problem problem; /* the first that applies in Kafka's order */
    struct str detail;             /* status text for people; null when fine */
    bool misfit;                   /* PARTITIONING, and it is an internal topic that is there already */
    struct resolved_subtopology *subtopologies;
    int32_t subtopology_count; /* by id */
    struct internal_topic *missing;
    int32_t missing_count;   /* by name; those that can be made now: none while sources are missing or partitioning is wrong */
    struct str_array topics; /* used, whether they are there or not */
    int64_t metadata_hash;   /* over the topics used (name, id, partitions): moves when they do; 0 only when none exists */
};
/* regexes: recorded matches; one that is not in the table matches nothing (yet). */
void topology_resolve(const topology *t, const struct regex_table *regexes, const struct topics *topics, struct arena *arena,
                      struct resolved *ret);

/* The request that makes the missing topics; in the arena. NULL when there are none. */
const struct create_topics_request *topology_creation(const struct resolved *r, struct arena *arena);

/* Whether the tasks of that subtopology (by its place in the record) read the topic: as source, or as repartition source. */
bool topology_reads(const topology *t, int32_t number, const struct regex_table *regexes, struct str topic);
/* The first subtopology that does: its id, null when none does. Several may. */
struct str topology_reader_of(const topology *t, const struct regex_table *regexes, struct str topic);

#endif
