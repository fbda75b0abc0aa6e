/* protect.c: groups that an administrator has protected (the group config muster.protected).
 *
 * It is a config and no record of the group, so that it outlives the group, can be set before there is one, and Kafka's tools can set it. It is a word to people
 * and their scripts: members commit, offsets expire and those of deleted topics go as ever. It can be set from feature level 2 on: older nodes would keep the
 * config and not keep to it. */
#include "offsets.h"

#include "../catalog/configs.h"

static void take_word(void *ctx, struct str name, struct str value, struct arena *arena)
{
    bool *is_protected = ctx;
    (void)arena;
    if (str_eq(name, STR("muster.protected"))) {
        *is_protected = str_eq(value, STR("true"));
    }
}

bool offsets_protected(struct decision *d, const struct group *g)
{
    bool is_protected = false;
    struct config_reader reader = {.prefix = STR("muster."), .to = &is_protected, .word = take_word};
    if (g != NULL) {
        config_read_group(d->op->catalog, d->op->settings, d->op->group_id, &reader, d->arena);
    }
    return is_protected;
}

struct str offsets_protected_text(struct decision *d)
{
    return arena_printf(d->arena, "Group %.*s is protected: its config muster.protected is true.", STR_ARG(d->op->group_id));
}
