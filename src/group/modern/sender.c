/* sender.c: who sends a heartbeat: a member, one that joins, a static one that is back or leaves for a moment. */
#include "draft.h"

static struct refused refuse(const struct draft *t, enum shared_rule rule, int16_t error, struct str text)
{
    return (struct refused){.error = error, .text = text, .rule = draft_rule(t, rule)};
}

static struct refused find_by_id(const struct draft *t, const struct sender *who, const struct modern_slot **ret)
{
    *ret = modern_find(t->was, who->member_id);
    if (*ret == NULL) {
        return refuse(t, SHARED_UNKNOWN_MEMBER, KAFKA_UNKNOWN_MEMBER_ID,
                      arena_printf(t->d->arena, "Member %.*s is not a member of group %.*s.", STR_ARG(who->member_id),
                                   STR_ARG(t->d->op->group_id)));
    }
    return not_refused();
}

static struct refused find_by_instance(const struct draft *t, const struct sender *who, const struct modern_slot **ret)
{
    *ret = modern_by_instance(t->was, who->instance_id);
    if (*ret == NULL) {
        return refuse(t, SHARED_UNKNOWN_INSTANCE, KAFKA_UNKNOWN_MEMBER_ID,
                      arena_printf(t->d->arena, "Instance id %.*s is unknown.", STR_ARG(who->instance_id)));
    }
    if (!str_eq((*ret)->member_id, who->member_id)) {
        return refuse(t, SHARED_FENCED_INSTANCE, KAFKA_FENCED_INSTANCE_ID,
                      arena_printf(t->d->arena, "Static member %.*s with instance id %.*s was fenced by member %.*s.",
                                   STR_ARG(who->member_id), STR_ARG(who->instance_id), STR_ARG((*ret)->member_id)));
    }
    return not_refused();
}

struct refused sender_find(const struct draft *t, const struct sender *who, const struct modern_slot **ret)
{
    return str_is_null(who->instance_id) ? find_by_id(t, who, ret) : find_by_instance(t, who, ret);
}

struct refused sender_check_epoch(const struct draft *t, const struct sender *who, const struct modern_slot *slot,
                                  const struct holding *owned)
{
    struct member_position p = modern_position(slot);
    bool ahead = who->epoch > p.epoch;
#ifdef MUSTER_FAULT_LARGER_AT_OLD_EPOCH
    if (who->epoch == p.previous_epoch && owned != NULL) {
        return not_refused();
    }
#endif
    if (who->epoch == p.epoch || (!ahead && who->epoch == p.previous_epoch && owned != NULL && holding_within(owned, &p.assigned))) {
        return not_refused();
    }
    return refuse(t, ahead ? SHARED_EPOCH_AHEAD : SHARED_EPOCH_BEHIND, KAFKA_FENCED_MEMBER_EPOCH,
                  arena_printf(t->d->arena,
                               "The %s member has a %s member epoch (%d) than the one known by the group coordinator (%d). "
                               "The member must abandon all its partitions and rejoin.",
                               t->kind->records->noun, ahead ? "greater" : "smaller", (int)who->epoch, (int)p.epoch));
}

void draft_arm_session(const struct draft *t)
{
    struct group_timer session = {.kind = GROUP_TIMER_SESSION, .member_id = t->member_id};
    out_timer_full(t->d, &(struct group_timer_wish){session, t->timing.session_timeout_ms, .keep = t->d->op->held});
}

/* ---- room ----------------------------------------------------------------------------------------------------------------------------- */

static bool is_known(const struct draft *t, const struct sender *who)
{
    return modern_find(t->was, who->member_id) != NULL ||
           (!str_is_null(who->instance_id) && modern_by_instance(t->was, who->instance_id) != NULL);
}

struct refused sender_check_size(const struct draft *t, const struct sender *who, int32_t max_size)
{
    if (max_size <= 0 || t->was->member_count < max_size || is_known(t, who)) {
        return not_refused();
    }
    return refuse(t, SHARED_GROUP_FULL, KAFKA_GROUP_MAX_SIZE_REACHED,
                  arena_printf(t->d->arena, "The %s has reached its maximum capacity of %d members.", t->kind->records->noun,
                               (int)max_size));
}

struct refused sender_check_room(const struct draft *t, const struct sender *who, int32_t max_size)
{
    enum { MEMBER_BYTES = 1024 };
    struct refused refused = sender_check_size(t, who, max_size);
    if (refused.error != KAFKA_NONE || is_known(t, who)) {
        return refused;
    }
    if (!budget_allows(t->d, t->g == NULL ? 1 : 0, 1, MEMBER_BYTES)) {
        return refuse(t, SHARED_NO_ROOM, KAFKA_COORDINATOR_NOT_AVAILABLE, STR_NULL);
    }
    return not_refused();
}

static size_t member_bytes(const struct draft *t, const struct modern_member *m)
{
    const struct modern_kind *kind = t->kind->records;
    return wire_size(wire_record_find(kind->member_record)->value, MODERN_VALUE_VERSION, kind->member_value(m, t->d->arena));
}

/* What a member says of itself can be large. */
struct refused sender_check_growth(const struct draft *t)
{
    const struct modern_slot *from = t->slot != NULL ? t->slot : t->gone;
    if (!t->member_put || t->d->op->settings->max_state_bytes == 0) {
        return not_refused();
    }
    size_t bytes = member_bytes(t, t->put);
    size_t old = from == NULL ? 0 : member_bytes(t, from->member);
    if (bytes <= old || budget_allows(t->d, 0, 0, (int64_t)(bytes - old))) {
        return not_refused();
    }
    return refuse(t, SHARED_NO_ROOM, KAFKA_COORDINATOR_NOT_AVAILABLE, STR_NULL);
}

/* ---- static members ------------------------------------------------------------------------------------------------------------------- */

struct refused sender_look_up(const struct draft *t, const struct sender *who, struct joining *ret)
{
    ret->known = modern_find(t->was, who->member_id);
    ret->back = str_is_null(who->instance_id) ? NULL : modern_by_instance(t->was, who->instance_id);
    /* A classic member has no way to say that it goes for a moment: its instance is always free to come again. */
    if (ret->back != NULL && modern_position(ret->back).epoch != -2 && !ret->back->member->is_classic) {
        return refuse(
            t, SHARED_UNRELEASED, KAFKA_UNRELEASED_INSTANCE_ID,
            arena_printf(t->d->arena,
                         "Static member %.*s with instance id %.*s cannot join the group because the instance id is owned by %.*s "
                         "member.",
                         STR_ARG(who->member_id), STR_ARG(who->instance_id), STR_ARG(ret->back->member_id)));
    }
    return not_refused();
}

/* It begins again where it was when it left. */
void sender_come_back(struct draft *t, const struct sender *who, const struct joining *j)
{
    if (j->back == j->known) {
        draft_hold(t, j->back);
        t->before.epoch = t->before.previous_epoch = 0;
        t->after = t->before;
    } else {
        draft_add(t, who->member_id, j->back);
    }
}

/* Its units lose the epochs they were given with: nobody can commit for them until it is back. */
static struct units without_epochs(const struct draft *t, struct units units)
{
    struct unit *v = ARENA_NEW(t->d->arena, struct unit, units.len);
    for (int32_t i = 0; i < units.len; i++) {
        v[i] = (struct unit){.name = units.v[i].name, .partition = units.v[i].partition};
    }
    return (struct units){v, units.len};
}

void sender_go_away(struct draft *t, const struct modern_slot *slot)
{
    draft_hold(t, slot);
    t->position_put = t->before.epoch != -2;
    t->after.epoch = -2;
    t->after.state = MEMBER_STABLE;
    for (int k = 0; k < UNIT_KINDS; k++) {
        t->after.assigned.kind[k] = without_epochs(t, t->before.assigned.kind[k]);
    }
    t->after.revoking = (struct holding){0};
    out_timer(t->d, GROUP_TIMER_SESSION, slot->member_id, 0, t->timing.session_timeout_ms);
    if (t->before.state == MEMBER_UNREVOKED) {
        out_timer(t->d, GROUP_TIMER_REVOKE, slot->member_id, 0, -1);
    }
}
