/* expire.c: timers that fired. An expiry is a request like any other: what has happened since it was armed is looked at first. */
#include "draft.h"

static void done(struct draft *t, const char *rule)
{
    if (!t->is_new) {
        draft_close(t);
    }
    t->d->out->verdict = GROUP_SILENT;
    out_rule(t->d, rule);
}

/* The end of the initial delay. A topology that cannot run is left to the next heartbeat, as Kafka has it. */
static void delay(struct draft *t)
{
    if (assignment_wait(t) != ASSIGNMENT_DUE || draft_topology(t) == NULL || t->next.problem != TOPOLOGY_FINE) {
        done(t, RULE(DELAY_MOOT));
        return;
    }
    streams_draft_assign(t);
    done(t, t->d->out->assign ? RULE(DELAY_JOB) : RULE(DELAY_OVER));
}

void streams_decide_timer(struct decision *d)
{
    struct draft t;
    streams_draft_open(&t, d, group_find(d->set, d->op->group_id));
    switch (d->op->timer.kind) {
    case GROUP_TIMER_SESSION:
        done(&t, draft_session_over(&t));
        break;
    case GROUP_TIMER_REVOKE:
        done(&t, draft_revocation_over(&t));
        break;
    case GROUP_TIMER_ASSIGN:
        delay(&t);
        break;
    case GROUP_TIMER_REBALANCE:
    case GROUP_TIMER_INITIAL_DELAY:
    case GROUP_TIMER_SYNC:
    case GROUP_TIMER_PENDING_ID:
    case GROUP_TIMER_REJOIN:
    case GROUP_TIMER_REFRESH:
        done(&t, RULE(OTHER_TIMER));
        break;
    }
}

/* ---- timers of a new coordinator ------------------------------------------------------------------------------------------------------- */

void streams_timers(const struct group *g, const struct group_set *catalog, const struct group_settings *settings, int64_t clock_ms,
                    void (*each)(void *ctx, const struct group_timer_wish *wish), void *ctx)
{
    struct timer_armer a = {.g = g, .each = each, .ctx = ctx};
    const struct modern *s = g->streams;
    struct streams_configs configs;
    struct arena scratch;
    arena_init(&scratch, 0);
    streams_configs(catalog, settings, g->id, &scratch, &configs);
    modern_member_timers(&a, s, configs.session_timeout_ms);
    bool delayed = s->member_count > 0 && s->epoch > assignment_epoch(s) && s->assign_not_before_ms > 0 &&
                   (!s->has_assignment || s->assignment_clock_ms < s->assign_not_before_ms);
    if (delayed) {
        group_timer_arm(&a, GROUP_TIMER_ASSIGN, STR(""), 0, s->assign_not_before_ms - clock_ms);
    }
    arena_fini(&scratch);
}
