/* group_defaults.h: the settings of a node that was configured with nothing, for the worlds of tests; what a test needs otherwise it changes. Kafka's defaults
 * where Kafka has the setting (unit/config compares them with those of musterd). */
#ifndef MUSTER_TESTS_GROUP_DEFAULTS_H
#define MUSTER_TESTS_GROUP_DEFAULTS_H

#include <muster/group.h>

static inline struct streams_settings streams_defaults(void)
{
    return (struct streams_settings){
        .session_timeout_ms = 45000,
        .heartbeat_interval_ms = 5000,
        .assignment_interval_ms = 1000,
        .initial_rebalance_delay_ms = 3000,
        .max_size = INT32_MAX,
        .num_warmup_replicas = 2,
        .acceptable_recovery_lag = 10000,
        .task_offset_interval_ms = 60000,
        .rack_aware_assignment_tags = STR(""),
        .assignor_offload = true,
        .initialize_timeout_ms = -1,
        .min_session_timeout_ms = 45000,
        .max_session_timeout_ms = 60000,
        .min_heartbeat_interval_ms = 5000,
        .max_heartbeat_interval_ms = 15000,
        .max_assignment_interval_ms = 15000,
        .max_standby_replicas = 2,
        .max_warmup_replicas = 20,
        .min_task_offset_interval_ms = 15000,
        .max_subtopologies = 1000,
        .max_topology_topics = 10000,
    };
}

static inline struct consumer_settings consumer_defaults(void)
{
    return (struct consumer_settings){
        .session_timeout_ms = 45000,
        .heartbeat_interval_ms = 5000,
        .hold_ms = 5000,
        .assignment_interval_ms = 1000,
        .max_size = INT32_MAX,
        .assignors = STR("uniform,range"),
        .assignor_offload = true,
        .regex_refresh_interval_ms = 600000,
        .upgrade = true,
        .downgrade = true,
        .max_subscribed_topics = 10000,
        .max_regexes = 100,
        .min_session_timeout_ms = 45000,
        .max_session_timeout_ms = 60000,
        .min_heartbeat_interval_ms = 5000,
        .max_heartbeat_interval_ms = 15000,
        .max_assignment_interval_ms = 15000,
    };
}

/* No budgets. */
static inline struct group_settings group_defaults(void)
{
    return (struct group_settings){
        .initial_rebalance_delay_ms = 3000,
        .min_session_timeout_ms = 6000,
        .max_session_timeout_ms = 1800000,
        .new_member_join_timeout_ms = 300000,
        .group_max_size = INT32_MAX,
        .max_protocols = 100,
        .offset_metadata_max_bytes = 4096,
        .offsets_retention_ms = 604800000,
        .default_partitions = 1,
        .default_replication_factor = 1,
        .max_partitions_per_topic = 100000,
        .max_topics = 100000,
        .history_max_entries = 10,
        .node_count = 3,
        .streams = streams_defaults(),
        .consumer = consumer_defaults(),
        .adaptive = {.enabled = true, .floor_ms = 500, .rate = 1000, .hold_interval_ms = 2000, .hold_rate = 50},
    };
}

#endif
