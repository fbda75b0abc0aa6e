/* timers.c: sessions and revocations that are over. An expiry is a request like any other: what has happened since it was armed is looked at first. */
#include "draft.h"

const char *draft_session_over(struct draft *t)
{
    const struct modern_slot *slot = modern_find(t->was, t->d->op->timer.member_id);
    if (slot == NULL) {
        return draft_rule(t, SHARED_SESSION_MOOT);
    }
    draft_remove(t, slot, GROUP_CAUSE_EXPIRED);
    return draft_rule(t, SHARED_SESSION_EXPIRED);
}

const char *draft_revocation_over(struct draft *t)
{
    const struct group_timer *timer = &t->d->op->timer;
    const struct modern_slot *slot = modern_find(t->was, timer->member_id);
    struct member_position p = slot == NULL ? (struct member_position){.state = MEMBER_STABLE} : modern_position(slot);
    if (slot == NULL || p.state != MEMBER_UNREVOKED || p.epoch != timer->epoch) {
        return draft_rule(t, SHARED_REVOKE_MOOT);
    }
    draft_remove(t, slot, GROUP_CAUSE_REVOCATION_TIMEOUT);
    return draft_rule(t, SHARED_REVOKE_EXPIRED);
}

void group_timer_arm(const struct timer_armer *a, enum group_timer_kind kind, struct str member_id, int32_t epoch, int64_t delay_ms)
{
    struct group_timer_wish wish = {.delay_ms = delay_ms > 0 ? delay_ms : 0};
    wish.timer.kind = kind;
    wish.timer.group_id = a->g->id;
    wish.timer.member_id = member_id;
    wish.timer.epoch = epoch;
    a->each(a->ctx, &wish);
}

void modern_member_timers(const struct timer_armer *a, const struct modern *s, int32_t session_timeout_ms)
{
    for (int32_t i = 0; i < s->slot_count; i++) {
        const struct modern_slot *slot = &s->slots[i];
        if (slot->member == NULL) {
            continue;
        }
        struct member_position p = modern_position(slot);
        group_timer_arm(a, GROUP_TIMER_SESSION, slot->member_id, 0,
                        slot->member->is_classic ? slot->member->classic_session_timeout_ms : session_timeout_ms);
        if (p.state == MEMBER_UNREVOKED && !slot->member->is_classic) {
            group_timer_arm(a, GROUP_TIMER_REVOKE, slot->member_id, p.epoch, slot->member->rebalance_timeout_ms);
        }
    }
}
