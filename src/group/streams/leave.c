/* leave.c: a heartbeat with epoch -1 (the member leaves) or -2 (a static one is away for a moment: its instance, its tasks and its session stay). */
#include "draft.h"

/* Its tasks lose the epochs they were given with: nobody can commit for them until it is back. */
static struct units without_epochs(const struct draft *t, struct units units)
{
    struct unit *v = ARENA_NEW(t->d->arena, struct unit, units.len);
    for (int32_t i = 0; i < units.len; i++) {
        v[i] = (struct unit){.name = units.v[i].name, .partition = units.v[i].partition};
    }
    return (struct units){v, units.len};
}

static void go_away(struct draft *t, const struct modern_slot *slot)
{
    streams_draft_hold(t, slot);
    t->position_put = t->before.epoch != -2;
    t->after.epoch = -2;
    t->after.state = MEMBER_STABLE;
    for (int k = 0; k < UNIT_KINDS; k++) {
        t->after.assigned.kind[k] = without_epochs(t, t->before.assigned.kind[k]);
    }
    t->after.revoking = (struct holding){0};
    out_timer(t->d, GROUP_TIMER_SESSION, slot->member_id, 0, t->configs.session_timeout_ms);
    if (t->before.state == MEMBER_UNREVOKED) {
        out_timer(t->d, GROUP_TIMER_REVOKE, slot->member_id, 0, -1);
    }
}

static void take_shutdown(struct draft *t, const heartbeat_request *r)
{
    if (r->shutdown_application && t->next.member_count > 0 && str_is_null(t->next.shutdown_member)) {
        t->next.shutdown_member = r->member_id;
        t->changed = true;
    }
}

void heartbeat_leave(struct draft *t, const heartbeat_request *r)
{
    const struct modern_slot *slot = NULL;
    struct refused refused = sender_find(t, r, &slot);
    if (refused.error != KAFKA_NONE) {
        heartbeat_refuse(t->d, refused);
        return;
    }
    const char *rule = RULE(LEAVE_STATIC);
    if (r->member_epoch == -2) {
        go_away(t, slot);
    } else {
        streams_draft_remove(t, slot);
        rule = t->next.member_count == 0 ? RULE(LEAVE_LAST) : RULE(LEAVE);
    }
    take_shutdown(t, r);
    streams_draft_close(t);
    heartbeat_left(t->d, rule, r);
}
