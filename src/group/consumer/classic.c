/* classic.c: members of a consumer group that speak the classic protocol. */
#include "draft.h"

struct refused consumer_convert(struct draft *t)
{
    return (struct refused){.error = KAFKA_GROUP_ID_NOT_FOUND,
                            .text = arena_printf(t->d->arena, "Group %.*s is not a consumer group.", STR_ARG(t->d->op->group_id)),
                            .rule = RULE(OTHER_TYPE)};
}

bool consumer_downgrade(struct draft *t)
{
    (void)t;
    return false;
}

const char *consumer_classic_timer(struct draft *t)
{
    (void)t;
    return RULE(OTHER_TIMER);
}

void consumer_classic_timers(const struct timer_armer *a, const struct modern *s)
{
    (void)a;
    (void)s;
}

int16_t consumer_classic_may_commit(struct decision *d, const struct group *g, const struct modern_slot *slot,
                                    const struct offset_commit_request *request)
{
    (void)g;
    bool same = request->generation_id_or_member_epoch == modern_position(slot).epoch;
    if (!same) {
        out_rule(d, RULE(COMMIT_STALE));
    }
    return same ? KAFKA_NONE : KAFKA_ILLEGAL_GENERATION;
}
