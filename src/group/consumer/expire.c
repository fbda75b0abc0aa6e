/* expire.c: timers that fired. An expiry is a request like any other: what has happened since it was armed is looked at first. */
#include "draft.h"

static void done(struct draft *t, const char *rule)
{
    if (!t->is_new && (t->gone == NULL || !consumer_downgrade(t))) {
        draft_close(t);
    }
    t->d->out->verdict = GROUP_SILENT;
    out_rule(t->d, rule);
}

static void removed(struct draft *t, const char *rule)
{
    if (t->gone != NULL) {
        consumer_draft_refresh(t);
    }
    done(t, rule);
}

void consumer_decide_timer(struct decision *d)
{
    struct draft t;
    consumer_draft_open(&t, d, group_find(d->set, d->op->group_id));
    switch (d->op->timer.kind) {
    case GROUP_TIMER_SESSION:
        removed(&t, draft_session_over(&t));
        break;
    case GROUP_TIMER_REVOKE:
        removed(&t, draft_revocation_over(&t));
        break;
    case GROUP_TIMER_REFRESH:
        done(&t, consumer_refresh_due(&t));
        break;
    case GROUP_TIMER_REJOIN:
    case GROUP_TIMER_SYNC:
        removed(&t, consumer_classic_timer(&t));
        break;
    case GROUP_TIMER_ASSIGN:
    case GROUP_TIMER_REBALANCE:
    case GROUP_TIMER_INITIAL_DELAY:
    case GROUP_TIMER_PENDING_ID:
        done(&t, RULE(OTHER_TIMER));
        break;
    }
}

/* ---- timers of a new coordinator ------------------------------------------------------------------------------------------------------- */

void consumer_timers(const struct group *g, const struct group_set *catalog, const struct group_settings *settings, int64_t clock_ms,
                     void (*each)(void *ctx, const struct group_timer_wish *wish), void *ctx)
{
    struct timer_armer a = {.g = g, .each = each, .ctx = ctx};
    struct consumer_configs configs;
    struct arena scratch;
    (void)clock_ms;
    arena_init(&scratch, 0);
    consumer_configs(catalog, settings, g->id, &scratch, &configs);
    modern_member_timers(&a, g->consumer, configs.session_timeout_ms);
    if (g->consumer->regex_count > 0) {
        group_timer_arm(&a, GROUP_TIMER_REFRESH, STR(""), 0, settings->consumer.regex_refresh_interval_ms);
    }
    arena_fini(&scratch);
}
