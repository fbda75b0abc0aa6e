/* expire.c: timers that fired. An expiry is a request like any other: what has happened since it was armed is looked at first. */
#include "draft.h"

static void done(struct draft *t, const char *rule)
{
    if (!t->is_new) {
        streams_draft_close(t);
    }
    t->d->out->verdict = GROUP_SILENT;
    out_rule(t->d, rule);
}

static void session(struct draft *t)
{
    const struct modern_slot *slot = streams_member(t->was, t->d->op->timer.member_id);
    if (slot == NULL) {
        done(t, RULE(SESSION_MOOT));
        return;
    }
    streams_draft_remove(t, slot);
    done(t, RULE(SESSION_EXPIRED));
}

static void revocation(struct draft *t)
{
    const struct group_timer *timer = &t->d->op->timer;
    const struct modern_slot *slot = streams_member(t->was, timer->member_id);
    struct member_position p = slot == NULL ? (struct member_position){.state = MEMBER_STABLE} : streams_position(slot);
    if (slot == NULL || p.state != MEMBER_UNREVOKED || p.epoch != timer->epoch) {
        done(t, RULE(REVOKE_MOOT));
        return;
    }
    streams_draft_remove(t, slot);
    done(t, RULE(REVOKE_EXPIRED));
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
        session(&t);
        break;
    case GROUP_TIMER_REVOKE:
        revocation(&t);
        break;
    case GROUP_TIMER_ASSIGN:
        delay(&t);
        break;
    case GROUP_TIMER_REBALANCE:
    case GROUP_TIMER_INITIAL_DELAY:
    case GROUP_TIMER_SYNC:
    case GROUP_TIMER_PENDING_ID:
        done(&t, RULE(OTHER_TIMER));
        break;
    }
}

/* ---- timers of a new coordinator ------------------------------------------------------------------------------------------------------- */

struct armer {
    const struct group *g;
    void (*each)(void *ctx, const struct group_timer_wish *wish);
    void *ctx;
};

static void arm(const struct armer *a, enum group_timer_kind kind, struct str member_id, int32_t epoch, int64_t delay_ms)
{
    struct group_timer_wish wish = {.delay_ms = delay_ms > 0 ? delay_ms : 0};
    wish.timer.kind = kind;
    wish.timer.group_id = a->g->id;
    wish.timer.member_id = member_id;
    wish.timer.epoch = epoch;
    a->each(a->ctx, &wish);
}

void streams_timers(const struct group *g, const struct group_set *catalog, const struct group_settings *settings, int64_t clock_ms,
                    void (*each)(void *ctx, const struct group_timer_wish *wish), void *ctx)
{
    struct armer a = {.g = g, .each = each, .ctx = ctx};
    const struct streams *s = g->streams;
    struct streams_configs configs;
    struct arena scratch;
    arena_init(&scratch, 0);
    streams_configs(catalog, settings, g->id, &scratch, &configs);
    for (int32_t i = 0; i < s->slot_count; i++) {
        const struct modern_slot *slot = &s->slots[i];
        if (slot->member == NULL) {
            continue;
        }
        struct member_position p = streams_position(slot);
        arm(&a, GROUP_TIMER_SESSION, slot->member_id, 0, configs.session_timeout_ms);
        if (p.state == MEMBER_UNREVOKED) {
            arm(&a, GROUP_TIMER_REVOKE, slot->member_id, p.epoch, slot->member->rebalance_timeout_ms);
        }
    }
    bool delayed = s->member_count > 0 && s->epoch > assignment_epoch(s) && s->assign_not_before_ms > 0 &&
                   (!s->has_assignment || s->assignment_clock_ms < s->assign_not_before_ms);
    if (delayed) {
        arm(&a, GROUP_TIMER_ASSIGN, STR(""), 0, s->assign_not_before_ms - clock_ms);
    }
    arena_fini(&scratch);
}
