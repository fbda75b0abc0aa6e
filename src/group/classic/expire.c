/* expire.c: timers that fired. An expiry is a request like any other: what has happened since it was armed is looked at first. */
#include "draft.h"

static void done(struct draft *t, const char *rule)
{
    classic_draft_close(t);
    t->d->out->verdict = GROUP_SILENT;
    out_rule(t->d, rule);
}

/* ---- sessions ---------------------------------------------------------------------------------------------------------------- */

/* A member is gone: others that wait for it alone wait no longer. Unlike at a leave this completes an initial rebalance, too, as Kafka has it. */
static void after_removal(struct draft *t)
{
    if (t->state == CLASSIC_PREPARING) {
        classic_draft_complete_if_joined(t);
    } else if (t->state != CLASSIC_EMPTY) {
        classic_draft_prepare(t);
    }
}

/* Every member's session is armed anew when a generation begins: one of an older generation fired just before that. */
static void session(struct draft *t)
{
    const struct group_timer *timer = &t->d->op->timer;
    bool found;
    int32_t place = members_place(t->c, timer->member_id, &found);
    if (!found || timer->epoch != t->generation) {
        done(t, RULE(SESSION_MOOT));
        return;
    }
    const struct classic_member *m = t->c->members[place];
    bool waiting = t->state == CLASSIC_PREPARING && member_joined(t->c, m);
    if (waiting && timer->seen_members == 0) {
        classic_draft_session(t, m); /* it cannot beat while its join waits */
        done(t, RULE(SESSION_WAITING));
        return;
    }
    classic_draft_remove(t, place, GROUP_CAUSE_EXPIRED);
    after_removal(t);
    done(t, waiting ? RULE(SESSION_NEW_MEMBER) : RULE(SESSION_EXPIRED));
}

static void pending_id(struct draft *t)
{
    bool found;
    pending_place(t->c, t->d->op->timer.member_id, &found);
    if (!found) {
        done(t, RULE(PENDING_ID_MOOT));
        return;
    }
    classic_draft_remove_pending(t, t->d->op->timer.member_id);
    classic_draft_complete_if_joined(t);
    done(t, RULE(PENDING_ID_EXPIRED));
}

/* ---- phases -------------------------------------------------------------------------------------------------------------------- */

/* Each member has its own; those of one generation fire together. The first begins a rebalance, so the others find the group in PreparingRebalance of
 * the same generation; whoever else begins one cancels them. */
static void sync_timer(struct draft *t)
{
    const struct group_timer *timer = &t->d->op->timer;
    bool found;
    int32_t place = members_place(t->c, timer->member_id, &found);
    bool rejoined = found && t->state == CLASSIC_PREPARING && member_joined(t->c, t->c->members[place]);
    if (!found || rejoined || timer->epoch != t->generation || t->state == CLASSIC_EMPTY) {
        done(t, RULE(SYNC_TIMER_MOOT));
        return;
    }
    classic_draft_remove(t, place, GROUP_CAUSE_SYNC_TIMEOUT);
    classic_draft_rebalance(t);
    done(t, RULE(SYNC_TIMER_EXPIRED));
}

static void rebalance_timer(struct draft *t)
{
    if (t->state != CLASSIC_PREPARING || t->d->op->timer.epoch != t->generation) {
        done(t, RULE(REBALANCE_MOOT));
        return;
    }
    bool completed = classic_draft_complete(t);
    done(t, completed ? RULE(REBALANCE_TIMEOUT) : RULE(REBALANCE_NOBODY));
}

static void initial_delay(struct draft *t)
{
    const struct group_timer *timer = &t->d->op->timer;
    if (!classic_draft_initial(t) || timer->epoch != t->generation) {
        done(t, RULE(INITIAL_MOOT));
        return;
    }
    if (t->member_count <= timer->seen_members || timer->remaining_ms <= 0) {
        classic_draft_complete(t);
        done(t, RULE(INITIAL_OVER));
        return;
    }
    int32_t delay = t->d->op->settings->initial_rebalance_delay_ms;
    struct group_timer_wish wish = {.timer = *timer};
    wish.delay_ms = timer->remaining_ms < delay ? timer->remaining_ms : delay;
    wish.timer.remaining_ms = timer->remaining_ms > delay ? timer->remaining_ms - delay : 0;
    wish.timer.seen_members = t->member_count;
    out_timer_full(t->d, &wish);
    done(t, RULE(INITIAL_EXTENDED));
}

void classic_decide_timer(struct decision *d)
{
    struct draft t;
    classic_draft_open(&t, d, group_find(d->set, d->op->group_id));
    switch (d->op->timer.kind) {
    case GROUP_TIMER_SESSION:
        session(&t);
        break;
    case GROUP_TIMER_PENDING_ID:
        pending_id(&t);
        break;
    case GROUP_TIMER_SYNC:
        sync_timer(&t);
        break;
    case GROUP_TIMER_REBALANCE:
        rebalance_timer(&t);
        break;
    case GROUP_TIMER_INITIAL_DELAY:
        initial_delay(&t);
        break;
    case GROUP_TIMER_REVOKE:
    case GROUP_TIMER_ASSIGN:
    case GROUP_TIMER_REJOIN:
    case GROUP_TIMER_REFRESH:
        done(&t, RULE(SESSION_MOOT)); /* of a group of another type that is none any more */
        break;
    }
}

/* ---- a new coordinator ------------------------------------------------------------------------------------------------------------ */

/* Members whose first join waited at the old coordinator never heard their id: their clients come again as new ones. */
void classic_decide_takeover(struct decision *d)
{
    struct draft t;
    classic_draft_open(&t, d, group_find(d->set, d->op->group_id));
    bool dropped = false;
    for (int32_t i = 0; t.state == CLASSIC_PREPARING && i < t.c->member_count; i++) {
        const struct classic_member *m = t.c->members[i];
        if (member_joined(t.c, m) && !m->id_delivered) {
            classic_draft_remove(&t, i, GROUP_CAUSE_COORDINATOR);
            dropped = true;
        }
    }
    if (dropped) {
        classic_draft_rebalance(&t);
    }
    done(&t, dropped ? RULE(TAKEOVER_DROPPED) : RULE(TAKEOVER_NOTHING));
}

/* muster.classic.rebalance.on.partition.change: the coordinator of the original design watched the partitions of subscribed topics. */
void classic_decide_topics_changed(struct decision *d)
{
    const struct group *g = group_find(d->set, d->op->group_id);
    struct draft t;
    classic_draft_open(&t, d, g);
    const struct classic *c = t.c;
    bool watched = d->op->settings->rebalance_on_partition_change && c->topics_hash != 0 &&
                   (c->state == CLASSIC_STABLE || c->state == CLASSIC_COMPLETING);
    bool changed = watched && c->topics_hash != classic_topics_hash(d, c->protocol_type, c->protocol_name,
                                                                    (const struct classic_member *const *)c->members, c->member_count);
    if (changed) {
        classic_note(&t, GROUP_CAUSE_TOPICS, NULL, -1);
        history_topics(d, classic_topic_names(d, c), d->set->cursor);
        classic_draft_prepare(&t);
    }
    done(&t, changed ? RULE(TOPICS_CHANGED) : RULE(TOPICS_UNMOVED));
}

/* ---- timers of a new coordinator ----------------------------------------------------------------------------------------------------- */

struct armer {
    const struct group *g;
    void (*each)(void *ctx, const struct group_timer_wish *wish);
    void *ctx;
};

static void arm(const struct armer *a, enum group_timer_kind kind, struct str member_id, int64_t delay_ms)
{
    struct group_timer_wish wish = {.delay_ms = delay_ms > 0 ? delay_ms : 0};
    wish.timer.kind = kind;
    wish.timer.group_id = a->g->id;
    wish.timer.member_id = member_id;
    wish.timer.epoch = a->g->classic.generation;
    a->each(a->ctx, &wish);
}

static void arm_phase(const struct armer *a, const struct group_settings *settings, int32_t rebalance_ms)
{
    const struct classic *c = &a->g->classic;
    if (c->state == CLASSIC_PREPARING && str_is_null(c->protocol_name)) {
        struct group_timer_wish wish = {.delay_ms = settings->initial_rebalance_delay_ms};
        wish.timer.kind = GROUP_TIMER_INITIAL_DELAY;
        wish.timer.group_id = a->g->id;
        wish.timer.member_id = STR("");
        wish.timer.epoch = c->generation;
        wish.timer.remaining_ms = rebalance_ms > wish.delay_ms ? rebalance_ms - (int32_t)wish.delay_ms : 0;
        wish.timer.seen_members = c->member_count;
        a->each(a->ctx, &wish);
    } else if (c->state == CLASSIC_PREPARING) {
        arm(a, GROUP_TIMER_REBALANCE, STR(""), rebalance_ms);
    }
}

void classic_timers(const struct group *g, const struct group_settings *settings,
                    void (*each)(void *ctx, const struct group_timer_wish *wish), void *ctx)
{
    struct armer a = {.g = g, .each = each, .ctx = ctx};
    const struct classic *c = &g->classic;
    int32_t rebalance_ms = 0;
    for (int32_t i = 0; i < c->member_count; i++) {
        rebalance_ms = c->members[i]->rebalance_timeout_ms > rebalance_ms ? c->members[i]->rebalance_timeout_ms : rebalance_ms;
        arm(&a, GROUP_TIMER_SESSION, c->members[i]->member_id, c->members[i]->session_timeout_ms);
    }
    for (int32_t i = 0; c->state == CLASSIC_COMPLETING && i < c->member_count; i++) {
        arm(&a, GROUP_TIMER_SYNC, c->members[i]->member_id, rebalance_ms);
    }
    for (int32_t i = 0; i < c->pending_count; i++) {
        arm(&a, GROUP_TIMER_PENDING_ID, c->pending[i].member_id, c->pending[i].session_timeout_ms);
    }
    arm_phase(&a, settings, rebalance_ms);
}
