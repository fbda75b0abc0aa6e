/* hold.c: which answers may be held.
 *
 * A settled member beats seldom, so it would hear late when its group has something for it. Instead the answer that says nothing new is held: it leaves when the
 * group moves, or when its time is over. Then the heartbeat is decided anew, as if it had just come, so it may only be one that says nothing of its sender but that
 * it is there: whatever else it said would be old by then.
 *
 * A heartbeat has to be answered before its interval is over: librdkafka gives it up then, and with it the connection; Java's client does not sleep any more until
 * the answer is there. The interval is the one that this client was told last, whatever the answer would tell it now. */
#include "draft.h"

/* For the way of the request, for the round that confirms the answer, and for a client or a node that stands still for a moment. */
enum { MARGIN_MS = 500 };

static int32_t lesser(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* From when it came: nine tenths of the interval, three quarters of a short one, since the client's clock may be the faster one. The session runs meanwhile, and franz-go's client counts its interval from the
 * answer on, so half of what a session is longer than an interval stays for it. */
static int32_t longest(const struct draft *t)
{
    int32_t told = t->d->op->told_ms;
    int32_t way = lesser(MARGIN_MS, told / 4);
    int32_t margin = told / 10 > way ? told / 10 : way;
#ifdef MUSTER_FAULT_HELD_BY_ONE_CLOCK /* as if the client's ran like this node's: for the way alone */
    margin = way / 4;
#endif
    int32_t session = (t->timing.session_timeout_ms - t->timing.heartbeat_interval_ms) / 2;
    return lesser(told - margin, lesser(t->timing.hold_ms, session));
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

void draft_hold_answer(const struct draft *t)
{
    struct group_out *out = t->d->out;
    int32_t left = longest(t) - t->d->op->held_ms;
    int64_t due = until_due(t);
    bool news = t->tells || out->records.len > 0 || out->resolve || out->create != NULL;
    if (t->d->op->told_ms > 0 && !news && is_settled(t) && left > 0 && due > 0) {
        out->hold_ms = due < left ? (int32_t)due : left;
    }
}
