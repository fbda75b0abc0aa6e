/* settings.c: `set`: the settings of the group library, by short names. */
#include <string.h>

#include "words.h"

static void set_one(struct group_settings *s, const char *name, int32_t n)
{
    const struct {
        const char *name;
        int32_t *number;
        int64_t *wide;
        bool *flag;
    } settings[] = {
        {"initial_delay", &s->initial_rebalance_delay_ms, NULL, NULL},
        {"group_max_size", &s->group_max_size, NULL, NULL},
        {"max_protocols", &s->max_protocols, NULL, NULL},
        {"max_groups", NULL, &s->max_groups, NULL},
        {"max_members", NULL, &s->max_members, NULL},
        {"max_bytes", NULL, &s->max_state_bytes, NULL},
        {"retention", NULL, &s->offsets_retention_ms, NULL},
        {"history", &s->history_max_entries, NULL, NULL},
        {"history_bytes", NULL, &s->history_max_bytes, NULL},
        {"owned_only", NULL, NULL, &s->commit_owned_only},
        {"rebalance_on_partition_change", NULL, NULL, &s->rebalance_on_partition_change},
        {"adaptive", NULL, NULL, &s->adaptive.enabled},
        {"adaptive_floor", &s->adaptive.floor_ms, NULL, NULL},
        {"adaptive_rate", &s->adaptive.rate, NULL, NULL},
        {"hold", &s->consumer.hold_ms, NULL, NULL},
        {"streams_hold", &s->streams.hold_ms, NULL, NULL},
        {"hold_interval", &s->adaptive.hold_interval_ms, NULL, NULL},
        {"hold_rate", &s->adaptive.hold_rate, NULL, NULL},
        {"consumer_interval", &s->consumer.assignment_interval_ms, NULL, NULL},
        {"consumer_max_size", &s->consumer.max_size, NULL, NULL},
        {"consumer_max_topics", &s->consumer.max_subscribed_topics, NULL, NULL},
        {"consumer_max_regexes", &s->consumer.max_regexes, NULL, NULL},
        {"consumer_refresh", &s->consumer.regex_refresh_interval_ms, NULL, NULL},
        {"upgrade", NULL, NULL, &s->consumer.upgrade},
        {"downgrade", NULL, NULL, &s->consumer.downgrade},
        {"streams_delay", &s->streams.initial_rebalance_delay_ms, NULL, NULL},
        {"streams_interval", &s->streams.assignment_interval_ms, NULL, NULL},
        {"streams_max_size", &s->streams.max_size, NULL, NULL},
        {"streams_initialize", &s->streams.initialize_timeout_ms, NULL, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        if (strcmp(settings[i].name, name) != 0) {
            continue;
        }
        if (settings[i].number != NULL) {
            *settings[i].number = n;
        } else if (settings[i].wide != NULL) {
            *settings[i].wide = n;
        } else {
            *settings[i].flag = n != 0;
        }
        return;
    }
    bad_command("no such setting", name);
}

void command_set(struct golden *g, const struct words *w)
{
    struct group_settings *s = &g->world.settings;
    for (int i = 1; i < w->count; i++) {
        char *value = strchr(w->word[i], '=');
        if (value == NULL) {
            bad_command("a setting needs a value", w->word[i]);
        }
        *value++ = '\0';
        set_one(s, w->word[i], (int32_t)ms_of(value));
    }
}
