/* leave.c: a heartbeat with epoch -1 (the member leaves) or -2 (a static one is away for a moment: its instance, its tasks and its session stay), and
 * the removal of all at an administrator's word. */
#include "draft.h"

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
    struct sender who = sender_of(r);
    struct refused refused = sender_find(t, &who, &slot);
    if (refused.error != KAFKA_NONE) {
        heartbeat_refuse(t->d, refused);
        return;
    }
    const char *rule = RULE(LEAVE_STATIC);
    if (r->member_epoch == -2) {
        sender_go_away(t, slot);
    } else {
        draft_remove(t, slot, GROUP_CAUSE_LEFT);
        rule = t->next.member_count == 0 ? RULE(LEAVE_LAST) : RULE(LEAVE);
    }
    take_shutdown(t, r);
    draft_close(t);
    heartbeat_left(t->d, rule, r);
}

/* As consumer_fence(). The topology stays. */
int32_t streams_fence(struct decision *d, const struct group *g)
{
    struct draft t;
    streams_draft_open(&t, d, g);
    int32_t count = draft_remove_all(&t, GROUP_CAUSE_ADMIN);
    if (count > 0) {
        draft_close(&t);
    }
    return count;
}
