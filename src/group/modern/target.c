/* target.c: when a group's assignment is made anew, who has to know, and each member's way there. */
#include "draft.h"

#include "../sorted.h"

enum assignment_wait assignment_wait(const struct draft *t)
{
    const struct modern *s = &t->next;
    int64_t now = t->d->op->clock_ms;
    if (s->epoch <= assignment_epoch(s) || s->member_count == 0) {
        return ASSIGNMENT_DONE;
    }
    if (now < s->assign_not_before_ms) {
        return ASSIGNMENT_DELAYED;
    }
    if (s->has_assignment && s->assignment_wall_ms != 0 && now < s->assignment_clock_ms + t->timing.assignment_interval_ms) {
        return ASSIGNMENT_INTERVAL;
    }
    return ASSIGNMENT_DUE;
}

void draft_take_result(struct draft *t, const struct assign_result *result)
{
    t->assigned = result;
    t->next.has_assignment = true;
    t->next.assignment_epoch = t->next.epoch;
    t->next.assignment_wall_ms = t->d->op->wall_ms;
    t->next.assignment_clock_ms = t->d->op->clock_ms;
    t->assignment_put = true;
}

bool draft_same_members(const struct draft *t, const struct assign_result *result)
{
    int32_t count = 0;
    for (int32_t i = 0; i < t->was->slot_count; i++) {
        const struct modern_slot *slot = &t->was->slots[i];
        if (slot->member != NULL && (count == result->count || !str_eq(result->members[count++].member_id, slot->member_id))) {
            return false;
        }
    }
    return count == result->count;
}

static int assigned_order(const void *in, int32_t place, const void *key)
{
    return str_cmp(((const struct assign_result *)in)->members[place].member_id, *(const struct str *)key);
}

const struct holding *draft_computed(const struct draft *t, struct str member_id)
{
    int32_t place = sorted_find(t->assigned, t->assigned == NULL ? 0 : t->assigned->count, assigned_order, &member_id);
    return place >= 0 ? &t->assigned->members[place].target : NULL;
}

struct holding draft_target(const struct draft *t)
{
    const struct holding *computed = draft_computed(t, t->member_id);
    return computed != NULL ? *computed : t->target;
}

/* ---- who stands in the way ------------------------------------------------------------------------------------------------------------ */

/* A unit is active at one member only, and a process keeps its state in one directory: it has a task once, in one kind. What a member has been told to give up
 * is its own until it has said that it did. */
struct owners {
    const struct draft *t;
    struct holding wanted;
    bool *taken[UNIT_KINDS]; /* by place in wanted; NULL: not looked for yet */
    uint64_t filter;         /* a bit for each wanted unit: most of those that others have miss it */
};

static uint64_t filter_bit(const struct unit *u)
{
    uint32_t mix = (uint32_t)u->partition * 7 + (uint32_t)u->name.len;
    mix += u->name.len > 0 ? (uint8_t)u->name.ptr[u->name.len - 1] : 0;
    return (uint64_t)1 << (mix % 64);
}

static void mark(struct owners *o, struct units has, unsigned kinds)
{
    for (int32_t i = 0; i < has.len; i++) {
        if ((o->filter & filter_bit(&has.v[i])) == 0) {
            continue;
        }
        for (int k = 0; k < UNIT_KINDS; k++) {
            struct units wanted = o->wanted.kind[k];
            const struct unit *found = (kinds & 1u << k) != 0 ? units_find(wanted, has.v[i].name, has.v[i].partition) : NULL;
            if (found != NULL) {
                o->taken[k][found - wanted.v] = true;
            }
        }
    }
}

static void mark_all(struct owners *o, const struct modern_slot *slot)
{
    enum { ALL = (1u << UNIT_KINDS) - 1 };
    struct member_position p = modern_position(slot);
    bool copies = o->t->kind->records->type == GROUP_STREAMS && str_eq(slot->member->process_id, o->t->put->process_id);
    unsigned kinds = copies ? ALL : 1u << UNITS_ACTIVE;
    mark(o, p.assigned.kind[UNITS_ACTIVE], kinds);
    mark(o, p.revoking.kind[UNITS_ACTIVE], kinds);
    for (int k = UNITS_STANDBY; copies && k < UNIT_KINDS; k++) {
        mark(o, p.assigned.kind[k], ALL);
        mark(o, p.revoking.kind[k], ALL);
    }
}

/* One pass over all that the other members have: about 2 ns for each of their units. Only a member that lacks something asks. */
static void find_owners(struct owners *o, const struct holding *target)
{
    const struct draft *t = o->t;
    for (int k = 0; k < UNIT_KINDS; k++) {
        o->wanted.kind[k] = units_minus(target->kind[k], t->before.assigned.kind[k], t->d->arena);
        o->taken[k] = ARENA_NEW(t->d->arena, bool, o->wanted.kind[k].len);
        for (int32_t i = 0; i < o->wanted.kind[k].len; i++) {
            o->filter |= filter_bit(&o->wanted.kind[k].v[i]);
        }
    }
    for (int32_t i = 0; i < t->was->slot_count; i++) {
        if (draft_has(t, &t->was->slots[i])) {
            mark_all(o, &t->was->slots[i]);
        }
    }
    /* Seen on Kafka 4.4.0: a task that the member is giving up itself comes back with a later heartbeat, not with the one that confirms; a partition at once. */
    if (t->kind->records->type == GROUP_STREAMS) {
        mark(o, t->before.revoking.kind[UNITS_ACTIVE], 1u << UNITS_ACTIVE);
    }
}

/* ---- the same by the group's own table of owners, which consumer groups keep: what is recorded, less what goes or is the member's own ------------------ */

static int32_t count_of(const struct member_position *p, const struct unit *unit)
{
    return (units_find(p->assigned.kind[UNITS_ACTIVE], unit->name, unit->partition) != NULL ? 1 : 0) +
           (units_find(p->revoking.kind[UNITS_ACTIVE], unit->name, unit->partition) != NULL ? 1 : 0);
}

static bool is_recorded_taken(const struct draft *t, const struct unit *unit)
{
    int32_t count = owners_count(t->was->owners, unit);
    if (count > 0 && t->slot != NULL) {
        struct member_position own = modern_position(t->slot);
        count -= count_of(&own, unit);
    }
    for (int32_t i = 0; count > 0 && t->left != NULL && i < t->was->slot_count; i++) {
        if (t->left[i]) {
            struct member_position gone = modern_position(&t->was->slots[i]);
            count -= count_of(&gone, unit);
        }
    }
    return count > 0;
}

struct search {
    struct owners owners;
    struct holding target;
};

static bool is_taken(const void *ctx, enum unit_kind kind, const struct unit *unit)
{
    struct search *s = (struct search *)(uintptr_t)ctx;
    if (s->owners.t->was->indexed) {
        return is_recorded_taken(s->owners.t, unit);
    }
    if (s->owners.taken[0] == NULL) {
        find_owners(&s->owners, &s->target);
    }
    const struct unit *found = units_find(s->owners.wanted.kind[kind], unit->name, unit->partition);
    MUSTER_CHECK(found != NULL);
    return s->owners.taken[kind][found - s->owners.wanted.kind[kind].v];
}

void draft_reconcile(struct draft *t, const struct holding *target, const struct holding *owned)
{
    struct search search = {.owners = {.t = t}, .target = *target};
    struct reconcile r = {.now = &t->before,
                          .target_epoch = assignment_epoch(&t->next),
                          .target = &search.target,
                          .owned = owned,
                          .counts_steps = t->kind->records->type == GROUP_STREAMS,
                          .taken = is_taken,
                          .ctx = &search};
    struct member_position after;
    if (!reconcile(&r, t->d->arena, &after)) {
        return;
    }
    t->after = after;
    t->position_put = true;
    if (t->put->is_classic) {
        return; /* it has a timer of its own once it was told to rejoin */
    }
    if (after.state == MEMBER_UNREVOKED) {
        int32_t patience = t->put->rebalance_timeout_ms;
        out_timer(t->d, GROUP_TIMER_REVOKE, t->member_id, after.epoch, patience > 0 ? patience : 0);
    } else if (t->before.state == MEMBER_UNREVOKED) {
        out_timer(t->d, GROUP_TIMER_REVOKE, t->member_id, 0, -1);
    }
}

bool draft_tells_units(const struct draft *t, const struct holding *owned)
{
#ifdef MUSTER_FAULT_REPORT_NOT_ANSWERED
    owned = NULL;
#endif
    return !holding_equal(&t->before.assigned, &t->after.assigned) || (owned != NULL && !holding_equal(owned, &t->after.assigned));
}

bool modern_waits_for_others(const struct modern *s, const struct modern_slot *slot, struct arena *arena)
{
    struct member_position p = modern_position(slot);
    struct units wanted = units_minus(modern_target(slot).kind[UNITS_ACTIVE], p.assigned.kind[UNITS_ACTIVE], arena);
    for (int32_t i = 0; wanted.len > 0 && i < s->slot_count; i++) {
        struct member_position other = modern_position(&s->slots[i]);
        bool member = s->slots[i].member != NULL && &s->slots[i] != slot;
        if (member && (units_meet(wanted, other.assigned.kind[UNITS_ACTIVE]) || units_meet(wanted, other.revoking.kind[UNITS_ACTIVE]))) {
            return true;
        }
    }
    return false;
}

/* ---- how soon to beat ------------------------------------------------------------------------------------------------------------------ */

/* Of a large group every nth member is looked at. */
static int64_t count_unsettled(const struct draft *t)
{
    enum { LOOKS = 128 };
    int32_t step = t->was->slot_count / LOOKS + 1;
    int64_t count = 0;
    for (int32_t i = 0; i < t->was->slot_count; i += step) {
        const struct modern_slot *slot = &t->was->slots[i];
        bool behind = slot->current == NULL || slot->current->state != MEMBER_STABLE || slot->current->epoch < t->next.epoch;
        count += draft_has(t, slot) && behind ? 1 : 0;
    }
    return count * step + 1;
}

/* One whose heartbeats are held comes a little more often, so that it is not away for long once something else that it sent has let its heartbeat go. */
static int32_t held_interval(const struct draft *t)
{
    const struct adaptive_settings *a = &t->d->op->settings->adaptive;
    int32_t usual = t->timing.heartbeat_interval_ms;
    int64_t beats = a->hold_interval_ms > 0 ? (int64_t)1000 * t->next.member_count / a->hold_interval_ms : INT64_MAX;
    return beats <= a->hold_rate && a->hold_interval_ms < usual ? a->hold_interval_ms : usual;
}

/* A member that has something to give up or to wait for is asked to come soon, so that a share changes hands in fractions of a second; of many such members
 * each is asked less often, so that together they stay within the rate. */
int32_t draft_heartbeat_interval(const struct draft *t)
{
    const struct adaptive_settings *a = &t->d->op->settings->adaptive;
    bool holds = t->d->op->holds && t->timing.hold_ms > 0;
    int32_t usual = holds ? held_interval(t) : t->timing.heartbeat_interval_ms;
    if (!a->enabled || (t->after.state == MEMBER_STABLE && t->after.epoch >= t->next.epoch) || usual <= a->floor_ms) {
        return usual;
    }
    int64_t soon = a->rate > 0 ? 1000 * count_unsettled(t) / a->rate : 0;
    soon = soon > a->floor_ms ? soon : a->floor_ms;
    return soon < usual ? (int32_t)soon : usual;
}
