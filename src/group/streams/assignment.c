/* assignment.c: when a group's tasks are assigned anew, who has to know, and each member's way there. */
#include "draft.h"

enum assignment_wait assignment_wait(const struct draft *t)
{
    const struct streams *s = &t->next;
    int64_t now = t->d->op->clock_ms;
    if (s->epoch <= assignment_epoch(s) || s->member_count == 0) {
        return ASSIGNMENT_DONE;
    }
    if (now < s->assign_not_before_ms) {
        return ASSIGNMENT_DELAYED;
    }
    if (s->has_assignment && s->assignment_wall_ms != 0 && now < s->assignment_clock_ms + t->configs.assignment_interval_ms) {
        return ASSIGNMENT_INTERVAL;
    }
    return ASSIGNMENT_DUE;
}

/* ---- computing it ------------------------------------------------------------------------------------------------------------------ */

static struct task_offset *reported(const struct draft *t, const struct streams_task_offsets_value_task_offset_array *from)
{
    struct task_offset *v = ARENA_NEW(t->d->arena, struct task_offset, from->len);
    for (int32_t i = 0; i < from->len; i++) {
        v[i] = (struct task_offset){from->v[i].subtopology_id, from->v[i].partition, from->v[i].offset};
    }
    return v;
}

/* The line of the put member, which the state does not have in that form. */
static struct assign_view_member view_of_put(const struct draft *t)
{
    struct modern_slot slot = {.member_id = t->member_id, .member = (struct modern_member *)(uintptr_t)t->put};
    slot.offsets = t->slot != NULL ? t->slot->offsets : NULL;
    const topology *own = draft_topology(t);
    struct assign_view_member view = streams_view_member(&slot, &t->configs, own == NULL ? -1 : own->epoch);
    view.current = t->before.assigned;
    view.revoking = t->before.revoking;
    if (t->offsets_put) {
        view.offsets = reported(t, &t->offsets.task_offsets);
        view.offset_count = t->offsets.task_offsets.len;
        view.end_offsets = reported(t, &t->offsets.task_end_offsets);
        view.end_offset_count = t->offsets.task_end_offsets.len;
    }
    return view;
}

/* Members as they would be, by id. */
static const struct assign_view_member *view_members(const struct draft *t, int32_t *ret_count)
{
    const topology *own = draft_topology(t);
    int32_t epoch = own == NULL ? -1 : own->epoch;
    struct assign_view_member *v = ARENA_NEW(t->d->arena, struct assign_view_member, t->next.member_count);
    bool put = str_is_null(t->member_id);
    int32_t count = 0;
    for (int32_t i = 0; i < t->was->slot_count; i++) {
        const struct modern_slot *slot = &t->was->slots[i];
        if (!put && str_cmp(t->member_id, slot->member_id) <= 0) {
            v[count++] = view_of_put(t);
            put = true;
        }
        if (draft_has(t, slot)) {
            v[count++] = streams_view_member(slot, &t->configs, epoch);
        }
    }
    if (!put) {
        v[count++] = view_of_put(t);
    }
    MUSTER_CHECK(count == t->next.member_count);
    *ret_count = count;
    return v;
}

void streams_draft_take_result(struct draft *t, const struct assign_result *result)
{
    t->assigned = result;
    t->next.has_assignment = true;
    t->next.assignment_epoch = t->next.epoch;
    t->next.assignment_wall_ms = t->d->op->wall_ms;
    t->next.assignment_clock_ms = t->d->op->clock_ms;
    t->assignment_put = true;
}

void streams_draft_assign(struct draft *t)
{
    static const struct resolved nothing = {.problem = TOPOLOGY_MISSING_SOURCES};
    if (assignment_wait(t) != ASSIGNMENT_DUE) {
        return;
    }
    streams_draft_refresh(t);
    const struct resolved *resolved = streams_draft_resolve(t);
    struct assign_view view = {.resolved = resolved == NULL ? &nothing : resolved, .configs = &t->configs};
    view.members = view_members(t, &view.member_count);
    if (t->configs.offload && streams_assign_cost(&view) > STREAMS_ASSIGN_INLINE) {
        t->d->out->assign = true;
        return;
    }
    struct assign_result *result = ARENA_NEW(t->d->arena, struct assign_result, 1);
    streams_assign(&view, t->d->arena, result);
    streams_draft_take_result(t, result);
}

bool streams_draft_warmed_up(struct draft *t)
{
    if (!t->configs.warm_up || !t->offsets_put || t->next.epoch > assignment_epoch(&t->next)) {
        return false;
    }
    struct assign_view view = {.resolved = streams_draft_resolve(t), .configs = &t->configs};
    if (view.resolved == NULL || view.resolved->problem != TOPOLOGY_FINE) {
        return false;
    }
    view.members = view_members(t, &view.member_count);
    return streams_warm_up_done(&view, t->d->arena);
}

static struct holding put_target(const struct draft *t)
{
    int32_t low = 0, high = t->assigned == NULL ? 0 : t->assigned->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        int order = str_cmp(t->assigned->members[middle].member_id, t->member_id);
        if (order == 0) {
            return t->assigned->members[middle].target;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return t->target;
}

/* ---- who stands in the way ------------------------------------------------------------------------------------------------------------ */

/* A task is active at one member only, and a process keeps its state in one directory: it has a task once, in one kind. What a member has been told to give up
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
    struct member_position p = streams_position(slot);
    bool same_process = str_eq(slot->member->process_id, o->t->put->process_id);
    unsigned kinds = same_process ? ALL : 1u << UNITS_ACTIVE;
    mark(o, p.assigned.kind[UNITS_ACTIVE], kinds);
    mark(o, p.revoking.kind[UNITS_ACTIVE], kinds);
    for (int k = UNITS_STANDBY; same_process && k < UNIT_KINDS; k++) {
        mark(o, p.assigned.kind[k], ALL);
        mark(o, p.revoking.kind[k], ALL);
    }
}

/* One pass over all that the other members have: about 2 ns for each of their tasks. Only a member that lacks something asks. */
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
    /* Seen on Kafka 4.4.0: what the member is giving up itself comes back with a later heartbeat, not with the one that confirms. */
    mark(o, t->before.revoking.kind[UNITS_ACTIVE], 1u << UNITS_ACTIVE);
}

struct search {
    struct owners owners;
    struct holding target;
};

static bool is_taken(const void *ctx, enum unit_kind kind, const struct unit *unit)
{
    struct search *s = (struct search *)(uintptr_t)ctx;
    if (s->owners.taken[0] == NULL) {
        find_owners(&s->owners, &s->target);
    }
    const struct unit *found = units_find(s->owners.wanted.kind[kind], unit->name, unit->partition);
    MUSTER_CHECK(found != NULL);
    return s->owners.taken[kind][found - s->owners.wanted.kind[kind].v];
}

void streams_draft_reconcile(struct draft *t, const struct holding *owned)
{
    struct search search = {.owners = {.t = t}, .target = put_target(t)};
    struct reconcile r = {.now = &t->before,
                          .target_epoch = assignment_epoch(&t->next),
                          .target = &search.target,
                          .owned = owned,
                          .taken = is_taken,
                          .ctx = &search};
    struct member_position after;
    if (!reconcile(&r, t->d->arena, &after)) {
        return;
    }
    t->after = after;
    t->position_put = true;
    if (after.state == MEMBER_UNREVOKED) {
        int32_t patience = t->put->rebalance_timeout_ms;
        out_timer(t->d, GROUP_TIMER_REVOKE, t->member_id, after.epoch, patience > 0 ? patience : 0);
    } else if (t->before.state == MEMBER_UNREVOKED) {
        out_timer(t->d, GROUP_TIMER_REVOKE, t->member_id, 0, -1);
    }
}
