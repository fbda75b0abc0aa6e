/* streams.h: streams groups (KIP-1071), private to src/group/streams. README.md has the life of a group.
 *
 * apply.c and record.c know what its records say, ../modern/store.c keeps it; everything else decides. */
#ifndef MUSTER_STREAMS_STREAMS_H
#define MUSTER_STREAMS_STREAMS_H

#include "../errors.h"
#include "../modern/modern.h"
#include "topology.h"

/* ---- configs.c: what is in force for one group: its own configs over the settings ------------------------------------------- */

enum topology_update { TOPOLOGY_UPDATE_REJECT, TOPOLOGY_UPDATE_EPOCH };              /* streams.topology.update */
enum initialization { INITIALIZE_IMPLICIT, INITIALIZE_EXPLICIT, INITIALIZE_STRICT }; /* streams.topology.initialization */
struct streams_configs {
    int32_t session_timeout_ms, heartbeat_interval_ms, assignment_interval_ms, initial_rebalance_delay_ms;
    int32_t num_standby_replicas, num_warmup_replicas, task_offset_interval_ms;
    int64_t acceptable_recovery_lag;
    struct str_array tags; /* keys of the rack-aware assignment */
    bool offload;
    bool warm_up; /* streams.warmup.mode = lag; default none, as Kafka 4.4.0 moves at once */
    enum topology_update update;
    enum initialization initialization;
};
enum {
    TOPOLOGY_NONE = -1,
    TOPOLOGY_UNVERIFIED = -2
}; /* a member's topology epoch: it came without one; with one that could not be compared */
/* Whether a member of that topology epoch may not have tasks, for the group's topology is another one. Where topologies are never replaced nobody is: a stale
 * member works on the group's, as in Kafka 4.4.0. */
static inline bool streams_is_behind(const struct streams_configs *c, int32_t member_epoch, int32_t topology_epoch)
{
    bool replaced = c->update == TOPOLOGY_UPDATE_EPOCH || c->initialization != INITIALIZE_IMPLICIT;
    return replaced && member_epoch != TOPOLOGY_NONE && member_epoch != topology_epoch;
}
void streams_configs(const struct group_set *catalog, const struct group_settings *settings, struct str group_id, struct arena *arena,
                     struct streams_configs *ret);

/* ---- record.c ------------------------------------------------------------------------------------------------------------------ */

/* The group's own record as it would be written now, and a new group's with s NULL; streams_kind has the others. Strings are borrowed. */
struct streams_group_metadata_value streams_group_value(const struct modern *s, struct arena *arena);

/* store.c: the state a group is in, by what is recorded alone. */
enum streams_state { STREAMS_INITIALIZING, STREAMS_EMPTY, STREAMS_NOT_READY, STREAMS_ASSIGNING, STREAMS_RECONCILING, STREAMS_STABLE };
enum streams_state streams_state(const struct modern *s);

#endif
