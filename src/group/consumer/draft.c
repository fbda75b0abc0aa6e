/* draft.c: what a draft of a consumer group does besides. */
#include "draft.h"

static bool has_regex(const void *ctx, struct str regex)
{
    return consumer_draft_has_regex(ctx, regex);
}

static bool drops_regexes(const struct draft *t)
{
    for (int32_t i = 0; i < t->was->regex_count; i++) {
        if (!consumer_draft_has_regex(t, t->was->regexes[i]->regex)) {
            return true;
        }
    }
    return false;
}

static void write_regexes(const struct draft *t)
{
    bool members = t->member_put || t->left != NULL;
    if (t->regexes != NULL || (members && t->was->regex_count > 0 && drops_regexes(t))) {
        draft_write_regexes(t, has_regex, t);
    }
}

static void write_rest(const struct draft *t)
{
    if (t->is_new && t->g != NULL) {
        classic_tombstones(t->d, t->g); /* last: the group is a consumer group by then, so that it never seems to be gone */
    }
}

static const struct draft_kind kind = {
    .records = &consumer_kind,
    .rules = consumer_rules,
    .shared_rules = {[SHARED_UNKNOWN_MEMBER] = CONSUMER_RULE_UNKNOWN_MEMBER,
                     [SHARED_UNKNOWN_INSTANCE] = CONSUMER_RULE_UNKNOWN_INSTANCE,
                     [SHARED_FENCED_INSTANCE] = CONSUMER_RULE_FENCED_INSTANCE,
                     [SHARED_EPOCH_AHEAD] = CONSUMER_RULE_EPOCH_AHEAD,
                     [SHARED_EPOCH_BEHIND] = CONSUMER_RULE_EPOCH_BEHIND,
                     [SHARED_GROUP_FULL] = CONSUMER_RULE_JOIN_GROUP_FULL,
                     [SHARED_NO_ROOM] = CONSUMER_RULE_NO_ROOM,
                     [SHARED_UNRELEASED] = CONSUMER_RULE_JOIN_UNRELEASED,
                     [SHARED_SESSION_MOOT] = CONSUMER_RULE_SESSION_MOOT,
                     [SHARED_SESSION_EXPIRED] = CONSUMER_RULE_SESSION_EXPIRED,
                     [SHARED_REVOKE_MOOT] = CONSUMER_RULE_REVOKE_MOOT,
                     [SHARED_REVOKE_EXPIRED] = CONSUMER_RULE_REVOKE_EXPIRED},
    .nothing = {.epoch = 1,
                .validated_topology_epoch = -1,
                .config_count = -1,
                .stored_description_epoch = -1,
                .failed_description_epoch = -1,
                .shutdown_member = {NULL, -1},
                .problem = -1,
                .problem_detail = {NULL, -1},
                .empty_since_ms = -1,
                .initializing_member = {NULL, -1},
                .raw = {NULL, -1},
                .assignment_raw = {NULL, -1}},
    .removed = consumer_classic_removed,
    .before_group = write_regexes,
    .after_position = write_rest,
};

void consumer_draft_open(struct draft *t, struct decision *d, const struct group *g)
{
    draft_open(t, &kind, d, g);
    t->more = ARENA_NEW(d->arena, struct consumer_draft, 1);
    struct consumer_configs *c = &consumer_part(t)->configs;
    consumer_configs(d->op->catalog, d->op->settings, d->op->group_id, d->arena, c);
    t->timing = (struct modern_timing){.session_timeout_ms = c->session_timeout_ms,
                                       .heartbeat_interval_ms = c->heartbeat_interval_ms,
                                       .hold_ms = t->d->op->settings->consumer.hold_ms,
                                       .assignment_interval_ms = c->assignment_interval_ms};
}
