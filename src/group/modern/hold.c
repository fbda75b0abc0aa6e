/* hold.c: which answers may be held.
 *
 * A settled member beats seldom, so it would hear late when its group has something for it. Instead the answer that says nothing new is held: it leaves when the
 * group moves, or when its time is over.
 *
 * A heartbeat has to be answered before its interval is over: librdkafka gives it up then, and with it the connection; Java's client does not sleep any more until
 * the answer is there. The interval is the one that this client was told last, whatever the answer would tell it now. */
#include "draft.h"

enum { LEAST_MARGIN_MS = 250 }; /* for the way of the request, and for the round that confirms the answer */

static int32_t lesser(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* From when it came, a third of the session at most: who is held is heard of, but who has died meanwhile is missed that much later. */
static int32_t longest(const struct draft *t)
{
    int32_t told = t->d->op->told_ms;
    int32_t margin = told / 10 > LEAST_MARGIN_MS ? told / 10 : LEAST_MARGIN_MS;
    int32_t most = lesser(t->d->op->settings->adaptive.hold_ms, t->timing.session_timeout_ms / 3);
    return lesser(told - margin, most);
}

/* An assignment that is due after a time is computed by whoever comes then, so somebody has to; one that is being computed may come to nothing. */
static int64_t until_due(const struct draft *t)
{
    int64_t now = t->d->op->clock_ms;
    switch (assignment_wait(t)) {
    case ASSIGNMENT_DONE:
        return INT32_MAX;
    case ASSIGNMENT_DUE:
        return draft_heartbeat_interval(t);
    case ASSIGNMENT_DELAYED:
        return t->next.assign_not_before_ms - now;
    case ASSIGNMENT_INTERVAL:
        return t->next.assignment_clock_ms + t->timing.assignment_interval_ms - now;
    }
    return 0;
}

static bool is_settled(const struct draft *t)
{
    return t->after.state == MEMBER_STABLE && t->after.epoch == assignment_epoch(&t->next);
}

/* A member that is moved to another epoch while it is held does not hear of it: with its next request it may come with the epoch before, as after a lost answer.
 * Once only, for that is as far as its epoch may be behind. */
static bool moves_silently(const struct draft *t)
{
    return t->position_put && !t->member_put && t->d->op->moved_to == 0;
}

/* What it says it has may be less than what it was given, as long as it has not taken that up. If that happens while it is held, nobody hears of it. */
static bool has_all(const struct draft *t, const struct holding *owned)
{
    return owned == NULL || holding_equal(owned, &t->after.assigned);
}

void draft_hold_answer(const struct draft *t, const struct holding *owned)
{
    struct group_out *out = t->d->out;
    bool quiet = !out->resolve && out->create == NULL && !t->tells && has_all(t, owned);
    bool moved = out->records.len > 0;
    if (t->d->op->told_ms <= 0 || !quiet || !is_settled(t) || (moved && !moves_silently(t)) || t->d->op->moved_to > 0) {
        return;
    }
    int64_t due = until_due(t);
    int32_t left = longest(t) - t->d->op->held_ms;
    if (left > 0 && due > 0) {
        out->verdict = GROUP_HOLD;
        out->hold_ms = due < left ? (int32_t)due : left;
        out->moved_to = moved ? t->after.epoch : 0;
    }
}
