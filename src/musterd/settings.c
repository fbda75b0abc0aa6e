/* settings.c: from the configuration to the options of each module. */
#include "settings.h"

#include <string.h>

enum { MAX_CREATIONS = 64 };

/* Budgets are of the cluster; a shard decides alone and gets its share of them. */
static int64_t share(int64_t total, int32_t shards)
{
    return (total + shards - 1) / shards;
}

static struct streams_settings settings_streams(const struct config *c)
{
    return (struct streams_settings){
        .session_timeout_ms = c->streams_session_timeout_ms,
        .heartbeat_interval_ms = c->streams_heartbeat_interval_ms,
        .hold_ms = c->streams_hold_ms,
        .assignment_interval_ms = c->streams_assignment_interval_ms,
        .initial_rebalance_delay_ms = c->streams_initial_rebalance_delay_ms,
        .min_session_timeout_ms = c->streams_min_session_timeout_ms,
        .max_session_timeout_ms = c->streams_max_session_timeout_ms,
        .min_heartbeat_interval_ms = c->streams_min_heartbeat_interval_ms,
        .max_heartbeat_interval_ms = c->streams_max_heartbeat_interval_ms,
        .min_assignment_interval_ms = c->streams_min_assignment_interval_ms,
        .max_assignment_interval_ms = c->streams_max_assignment_interval_ms,
        .max_standby_replicas = c->streams_max_standby_replicas,
        .max_warmup_replicas = c->streams_max_warmup_replicas,
        .min_task_offset_interval_ms = c->streams_min_task_offset_interval_ms,
        .max_size = c->streams_max_size,
        .num_standby_replicas = c->streams_num_standby_replicas,
        .num_warmup_replicas = c->streams_num_warmup_replicas,
        .acceptable_recovery_lag = c->streams_acceptable_recovery_lag,
        .task_offset_interval_ms = c->streams_task_offset_interval_ms,
        .rack_aware_assignment_tags = str_of(c->streams_rack_aware_assignment_tags),
        .assignor_offload = c->streams_assignor_offload_enable,
        .initialize_timeout_ms = c->streams_initialize_timeout_ms,
        .max_subtopologies = c->streams_max_subtopologies,
        .max_topology_topics = c->streams_max_topology_topics,
    };
}

static struct consumer_settings settings_consumer(const struct config *c)
{
    int32_t policy = c->consumer_migration_policy; /* enum config_migration_policy */
    return (struct consumer_settings){
        .session_timeout_ms = c->consumer_session_timeout_ms,
        .heartbeat_interval_ms = c->consumer_heartbeat_interval_ms,
        .hold_ms = c->consumer_hold_ms,
        .assignment_interval_ms = c->consumer_assignment_interval_ms,
        .min_session_timeout_ms = c->consumer_min_session_timeout_ms,
        .max_session_timeout_ms = c->consumer_max_session_timeout_ms,
        .min_heartbeat_interval_ms = c->consumer_min_heartbeat_interval_ms,
        .max_heartbeat_interval_ms = c->consumer_max_heartbeat_interval_ms,
        .min_assignment_interval_ms = c->consumer_min_assignment_interval_ms,
        .max_assignment_interval_ms = c->consumer_max_assignment_interval_ms,
        .max_size = c->consumer_max_size,
        .assignors = str_of(c->consumer_assignors),
        .assignor_offload = c->consumer_assignor_offload_enable,
        .regex_refresh_interval_ms = c->consumer_regex_refresh_interval_ms,
        .upgrade = policy == CONFIG_MIGRATION_UPGRADE || policy == CONFIG_MIGRATION_BIDIRECTIONAL,
        .downgrade = policy == CONFIG_MIGRATION_DOWNGRADE || policy == CONFIG_MIGRATION_BIDIRECTIONAL,
        .max_subscribed_topics = c->max_subscribed_topics,
        .max_regexes = c->max_regexes,
    };
}

void settings_group(const struct config *c, size_t node_count, struct group_settings *ret)
{
    *ret = (struct group_settings){
        .initial_rebalance_delay_ms = c->group_initial_rebalance_delay_ms,
        .min_session_timeout_ms = c->group_min_session_timeout_ms,
        .max_session_timeout_ms = c->group_max_session_timeout_ms,
        .new_member_join_timeout_ms = c->new_member_join_timeout_ms,
        .group_max_size = c->group_max_size,
        .max_protocols = c->max_protocols,
        .offset_metadata_max_bytes = c->offset_metadata_max_bytes,
        .offsets_retention_ms = (int64_t)c->offsets_retention_minutes * 60 * 1000,
        .default_partitions = c->num_partitions,
        .default_replication_factor = c->default_replication_factor,
        .max_partitions_per_topic = c->max_partitions_per_topic,
        .max_topics = c->max_topics,
        .node_count = (int32_t)node_count,
        .commit_owned_only = c->classic_commit_owned_only,
        .streams = settings_streams(c),
        .consumer = settings_consumer(c),
        .adaptive = {.enabled = c->adaptive_enabled,
                     .floor_ms = c->adaptive_floor_ms,
                     .rate = c->adaptive_rate,
                     .hold_interval_ms = c->hold_interval_ms,
                     .hold_rate = c->hold_rate},
        .rebalance_on_partition_change = c->classic_rebalance_on_partition_change,
        .max_groups = share(c->max_groups, c->shards),
        .max_members = share(c->max_members, c->shards),
        .max_state_bytes = share(c->max_state_bytes, c->shards),
        .history_max_entries = c->group_history_max_entries,
        .history_max_bytes = share(c->group_history_max_bytes, c->shards),
    };
}

void settings_coord(const struct config *c, size_t node_count, struct coord_options *ret)
{
    *ret = (struct coord_options){
        .shard_count = (uint32_t)c->shards,
        .entry_max_bytes = (size_t)c->entry_max_bytes,
        .election_timeout_us = (int64_t)c->election_timeout_ms * 1000,
        .stall_us = (int64_t)c->loop_stall_ms * 1000,
        .retention_check_us = c->offsets_retention_check_interval_ms * 1000,
        .commit_timeout_us = (int64_t)c->offsets_commit_timeout_ms * 1000,
        .max_parked = (size_t)c->max_requests,
        .close_on_rebalance = c->classic_rebalance_signal != 0,
        .max_jobs = (uint32_t)c->jobs_max,
        .max_creations = MAX_CREATIONS,
        .max_beats = (uint32_t)c->hold_max,
        .hash_interval = (uint64_t)c->state_hash_interval,
    };
    settings_group(c, node_count, &ret->settings);
}

void settings_net(const struct config *c, struct net_options *ret)
{
    *ret = (struct net_options){
        .request_max_bytes = (size_t)c->socket_request_max_bytes,
        .max_connections = (uint32_t)c->max_connections,
        .max_connections_per_ip = (uint32_t)c->max_connections_per_ip,
        .max_in_flight = (uint32_t)c->connection_max_inflight,
        .max_queued_bytes = c->queued_max_request_bytes > 0 ? (size_t)c->queued_max_request_bytes : 0,
        .max_output_bytes = (size_t)c->connection_max_output_bytes,
        .max_unread_bytes = (size_t)c->queued_max_response_bytes,
        .max_idle_ms = c->connections_max_idle_ms,
        .max_turn_us = (int64_t)c->turn_max_ms * 1000,
    };
}

static struct str broker_value(const void *ctx, struct str name, struct arena *arena)
{
    const struct config_row *key = config_row_find(name);
    return key != NULL ? config_text(ctx, key, arena) : STR_NULL;
}

/* Keys in the order of the manual; the first one after a null key. */
static bool broker_next(const void *ctx, struct str after, struct str *ret_key)
{
    (void)ctx;
    size_t next = 0;
    if (!str_is_null(after)) {
        const struct config_row *key = config_row_find(after);
        if (key == NULL) {
            return false;
        }
        next = (size_t)(key - config_keys) + 1;
    }
    if (next >= config_key_count) {
        return false;
    }
    *ret_key = str_of(config_keys[next].name);
    return true;
}

void settings_broker_values(const struct config *c, struct catalog_broker_values *ret)
{
    *ret = (struct catalog_broker_values){.ctx = c, .get = broker_value, .next = broker_next};
}
