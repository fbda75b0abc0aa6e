/* configs.h: the configs in force for a consumer group. */
#ifndef MUSTER_CONSUMER_CONFIGS_H
#define MUSTER_CONSUMER_CONFIGS_H

#include "../state.h"

struct consumer_configs {
    int32_t session_timeout_ms, heartbeat_interval_ms, assignment_interval_ms;
    bool offload; /* a large assignment is worked out beside the loop */
};
/* The group's own over what the node was started with. catalog: shard 0's state as applied here, or NULL. */
void consumer_configs(const struct group_set *catalog, const struct group_settings *settings, struct str group_id, struct arena *arena,
                      struct consumer_configs *ret);

#endif
