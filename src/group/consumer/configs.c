/* configs.c: the configs in force for a consumer group: its own (GROUP resource) over what the node was started with. */
#include "configs.h"

#include "../catalog/configs.h"

static const struct config_field numbers[] = {
    {"consumer.assignment.interval.ms", false, offsetof(struct consumer_configs, assignment_interval_ms)},
    {"consumer.heartbeat.interval.ms", false, offsetof(struct consumer_configs, heartbeat_interval_ms)},
    {"consumer.session.timeout.ms", false, offsetof(struct consumer_configs, session_timeout_ms)},
};

static void set_word(void *ctx, struct str name, struct str word, struct arena *arena)
{
    struct consumer_configs *to = ctx;
    (void)arena;
    if (str_eq(name, STR("consumer.assignor.offload.enable"))) {
        to->offload = str_eq(word, STR("true"));
    }
}

void consumer_configs(const struct group_set *catalog, const struct group_settings *settings, struct str group_id, struct arena *arena,
                      struct consumer_configs *ret)
{
    const struct consumer_settings *s = &settings->consumer;
    *ret = (struct consumer_configs){
        .session_timeout_ms = s->session_timeout_ms,
        .heartbeat_interval_ms = s->heartbeat_interval_ms,
        .assignment_interval_ms = s->assignment_interval_ms,
        .offload = s->assignor_offload,
    };
    struct config_reader reader = {
        .prefix = STR("consumer."), .numbers = numbers, .number_count = COUNT_OF(numbers), .to = ret, .word = set_word};
    config_read_group(catalog, settings, group_id, &reader, arena);
}
