/* configs.c: the configs in force for a streams group: its own (GROUP resource) over what the node was started with. */
#include "streams.h"

#include "../catalog/configs.h"

#include <string.h>

static const struct str prefix = {"streams.", 8};

/* Whole numbers among them, and where they go. */
static const struct number_field {
    const char *name;
    bool wide;
    size_t offset;
} numbers[] = {
    {"streams.acceptable.recovery.lag", true, offsetof(struct streams_configs, acceptable_recovery_lag)},
    {"streams.assignment.interval.ms", false, offsetof(struct streams_configs, assignment_interval_ms)},
    {"streams.heartbeat.interval.ms", false, offsetof(struct streams_configs, heartbeat_interval_ms)},
    {"streams.initial.rebalance.delay.ms", false, offsetof(struct streams_configs, initial_rebalance_delay_ms)},
    {"streams.num.standby.replicas", false, offsetof(struct streams_configs, num_standby_replicas)},
    {"streams.num.warmup.replicas", false, offsetof(struct streams_configs, num_warmup_replicas)},
    {"streams.session.timeout.ms", false, offsetof(struct streams_configs, session_timeout_ms)},
    {"streams.task.offset.interval.ms", false, offsetof(struct streams_configs, task_offset_interval_ms)},
};

/* A node's bounds may have become narrower since the value was accepted; settings without bounds (max_session_timeout_ms 0) have none. */
static int64_t within(const struct config_definition *def, const struct group_settings *settings, int64_t number)
{
    struct config_definition d = config_within_limits(def, settings);
    if (!d.bounded || settings->streams.max_session_timeout_ms == 0) {
        return number;
    }
    return number < d.low ? d.low : number > d.high ? d.high : number;
}

static bool set_number(struct streams_configs *to, const struct config_definition *def, const struct group_settings *settings,
                       struct str value)
{
    for (size_t i = 0; i < COUNT_OF(numbers); i++) {
        int64_t number = 0;
        if (!str_eq(str_of(def->name), str_of(numbers[i].name))) {
            continue;
        }
        if (!config_number(value, &number)) {
            return true;
        }
        char *field = (char *)to + numbers[i].offset;
        number = within(def, settings, number);
        if (numbers[i].wide) {
            memcpy(field, &number, sizeof(number));
        } else if (number >= INT32_MIN && number <= INT32_MAX) {
            int32_t narrow = (int32_t)number;
            memcpy(field, &narrow, sizeof(narrow));
        }
        return true;
    }
    return false;
}

static void set_word(struct streams_configs *to, struct str name, struct str word)
{
    if (str_eq(name, STR("streams.assignor.offload.enable"))) {
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

/* A stored value that is not one (written by a later release, say) is as if it were not there. */
static void set_own(struct streams_configs *to, const struct config *config, const struct group_settings *settings, struct arena *arena)
{
    const struct config_definition *def = config_definition_find(RESOURCE_GROUP, config->name);
    struct str value;
    struct str problem;
    if (def == NULL || set_number(to, def, settings, config->value) || !config_value_check(def, config->value, arena, &value, &problem)) {
        return;
    }
    if (str_eq(config->name, STR("streams.rack.aware.assignment.tags"))) {
        to->tags = config_list(value, arena); /* which lies in the arena, as every list that was checked */
    } else {
        set_word(to, config->name, value);
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
    if (catalog == NULL || catalog->catalog == NULL) {
        return;
    }
    const struct config *own = config_at(catalog->catalog, RESOURCE_GROUP, group_id, prefix);
    for (; own != NULL && own->name.len > prefix.len && memcmp(own->name.ptr, prefix.ptr, (size_t)prefix.len) == 0;
         own = config_next(own)) {
        set_own(ret, own, settings, arena);
    }
}
