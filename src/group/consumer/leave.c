/* leave.c: a heartbeat with epoch -1 (the member leaves) or -2 (a static one is away for a moment: its instance, its partitions and its session stay),
 * and the removal of all at an administrator's word. */
#include "draft.h"

static const char *leave(struct draft *t, const struct modern_slot *slot)
{
    draft_remove(t, slot, GROUP_CAUSE_LEFT);
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

/* Their next heartbeats are answered UNKNOWN_MEMBER_ID, on which clients give up what they have and join again. A commit that comes late names an epoch that no
 * member of that id has had since: the group's epoch has moved. */
int32_t consumer_fence(struct decision *d, const struct group *g)
{
    struct draft t;
    consumer_draft_open(&t, d, g);
    int32_t count = draft_remove_all(&t, GROUP_CAUSE_ADMIN);
    if (count > 0) {
        consumer_draft_refresh(&t);
        draft_close(&t);
    }
    return count;
}
