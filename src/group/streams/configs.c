/* configs.c: the configs in force for a streams group: its own (GROUP resource) over what the node was started with. */
#include "streams.h"

#include "../catalog/configs.h"

static const struct config_field numbers[] = {
    {"streams.acceptable.recovery.lag", true, offsetof(struct streams_configs, acceptable_recovery_lag)},
    {"streams.assignment.interval.ms", false, offsetof(struct streams_configs, assignment_interval_ms)},
    {"streams.heartbeat.interval.ms", false, offsetof(struct streams_configs, heartbeat_interval_ms)},
    {"streams.initial.rebalance.delay.ms", false, offsetof(struct streams_configs, initial_rebalance_delay_ms)},
    {"streams.num.standby.replicas", false, offsetof(struct streams_configs, num_standby_replicas)},
    {"streams.num.warmup.replicas", false, offsetof(struct streams_configs, num_warmup_replicas)},
    {"streams.session.timeout.ms", false, offsetof(struct streams_configs, session_timeout_ms)},
    {"streams.task.offset.interval.ms", false, offsetof(struct streams_configs, task_offset_interval_ms)},
};

static void set_word(void *ctx, struct str name, struct str word, struct arena *arena)
{
    struct streams_configs *to = ctx;
    if (str_eq(name, STR("streams.rack.aware.assignment.tags"))) {
        to->tags = config_list(word, arena);
    } else if (str_eq(name, STR("streams.assignor.offload.enable"))) {
        to->offload = str_eq(word, STR("true"));
    } else if (str_eq(name, STR("streams.warmup.mode"))) {
        to->warm_up = str_eq(word, STR("lag"));
    } else if (str_eq(name, STR("streams.topology.update"))) {
        to->update = str_eq(word, STR("epoch")) ? TOPOLOGY_UPDATE_EPOCH : TOPOLOGY_UPDATE_REJECT;
    } else if (str_eq(name, STR("streams.topology.initialization"))) {
        to->initialization = str_eq(word, STR("strict"))     ? INITIALIZE_STRICT
                             : str_eq(word, STR("explicit")) ? INITIALIZE_EXPLICIT
                                                             : INITIALIZE_IMPLICIT;
    }
}

void streams_configs(const struct group_set *catalog, const struct group_settings *settings, struct str group_id, struct arena *arena,
                     struct streams_configs *ret)
{
    const struct streams_settings *s = &settings->streams;
    *ret = (struct streams_configs){
        .session_timeout_ms = s->session_timeout_ms,
        .heartbeat_interval_ms = s->heartbeat_interval_ms,
        .assignment_interval_ms = s->assignment_interval_ms,
        .initial_rebalance_delay_ms = s->initial_rebalance_delay_ms,
        .num_standby_replicas = s->num_standby_replicas,
        .num_warmup_replicas = s->num_warmup_replicas,
        .task_offset_interval_ms = s->task_offset_interval_ms,
        .acceptable_recovery_lag = s->acceptable_recovery_lag,
        .tags = config_list(s->rack_aware_assignment_tags, arena),
        .offload = s->assignor_offload,
    };
    struct config_reader reader = {
        .prefix = STR("streams."), .numbers = numbers, .number_count = COUNT_OF(numbers), .to = ret, .word = set_word};
    config_read_group(catalog, settings, group_id, &reader, arena);
}
