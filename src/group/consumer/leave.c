/* leave.c: a heartbeat with epoch -1 (the member leaves) or -2 (a static one is away for a moment: its instance, its partitions and its session stay). */
#include "draft.h"

static const char *leave(struct draft *t, const struct modern_slot *slot)
{
    draft_remove(t, slot);
    consumer_draft_refresh(t);
    if (consumer_downgrade(t)) {
        return RULE(LEAVE_DOWNGRADE);
    }
    draft_close(t);
    return t->next.member_count == 0 ? RULE(LEAVE_LAST) : RULE(LEAVE);
}

void consumer_leave(struct draft *t, const consumer_heartbeat *r)
{
    const struct modern_slot *slot = NULL;
    struct sender who = consumer_sender(r);
    struct refused refused = sender_find(t, &who, &slot);
    if (refused.error != KAFKA_NONE) {
        consumer_refuse(t->d, refused);
        return;
    }
    if (r->member_epoch == -2) {
        sender_go_away(t, slot);
        draft_close(t);
        consumer_left(t->d, RULE(LEAVE_STATIC), r);
        return;
    }
    consumer_left(t->d, leave(t, slot), r);
}
