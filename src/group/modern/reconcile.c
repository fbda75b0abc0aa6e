/* reconcile.c: one step of a member towards its target. The table in reconcile.h's words:
 *
 *     STABLE      at the target's epoch     stays
 *     UNREVOKED   has not let go yet        stays
 *     otherwise   something to give up      UNREVOKED, at its old epoch (of streams groups one more, if it was that before: seen on Kafka 4.4.0)
 *                 some of it is taken       UNRELEASED, at the target's epoch, with what is free
 *                 else                      STABLE, at the target's epoch
 *
 * A member that says in the same breath that it no longer has what it would be told to give up is not told.
 *
 * A task that changes its kind where it is (seen on Kafka 4.4.0): an active one that becomes a standby is given up as the one and had as the other in one
 * answer; a standby or warm-up task is never given up for being had in another kind, it stays what it is until it can be that. */
#include "reconcile.h"

static bool stays(const struct reconcile *r)
{
    switch (r->now->state) {
    case MEMBER_STABLE:
        return r->now->epoch == r->target_epoch;
    case MEMBER_UNREVOKED:
#ifdef MUSTER_FAULT_RELEASE_WITHOUT_ACK
        return false;
#endif
#ifdef MUSTER_FAULT_KEEP_ALIVE_RELEASES
        return r->owned != NULL && holding_meet(r->owned, &r->now->revoking);
#endif
        return r->owned == NULL || holding_meet(r->owned, &r->now->revoking);
    case MEMBER_UNRELEASED:
        break;
    }
    return false;
}

/* Those of target that the member lacks and may take now. *taken: whether there are others. */
static struct units free_units(const struct reconcile *r, enum unit_kind kind, struct units keeps, struct arena *arena, bool *taken)
{
    struct units wanted = units_minus(r->target->kind[kind], keeps, arena);
    struct unit *v = ARENA_NEW(arena, struct unit, wanted.len);
    int32_t len = 0;
    for (int32_t i = 0; i < wanted.len; i++) {
        bool others = r->taken(r->ctx, kind, &wanted.v[i]);
#ifdef MUSTER_FAULT_GIVEN_WHILE_TAKEN
        others = false;
#endif
        if (others) {
            *taken = true;
            continue;
        }
        v[len] = wanted.v[i];
        v[len++].epoch = kind == UNITS_ACTIVE ? r->target_epoch : 0; /* only what offsets are committed for carries its epoch */
    }
    return (struct units){v, len};
}

static bool differs(const struct member_position *a, const struct member_position *b)
{
    return a->epoch != b->epoch || a->previous_epoch != b->previous_epoch || a->state != b->state ||
           !holding_same(&a->assigned, &b->assigned) || !holding_same(&a->revoking, &b->revoking);
}

static struct units of_all_kinds(const struct holding *h, struct arena *arena)
{
    struct units all = h->kind[UNITS_ACTIVE];
    for (int k = UNITS_ACTIVE + 1; k < UNIT_KINDS; k++) {
        all = units_join(all, h->kind[k], arena);
    }
    return all;
}

/* What the member keeps and what it gives up. */
static void split(const struct reconcile *r, struct arena *arena, struct holding *keep, struct holding *revoke)
{
    const struct holding *has = &r->now->assigned, *target = r->target;
    for (int k = 0; k < UNIT_KINDS; k++) {
        keep->kind[k] = units_both(has->kind[k], target->kind[k], arena);
        revoke->kind[k] = units_minus(has->kind[k], target->kind[k], arena);
        if (k != UNITS_ACTIVE && has->kind[k].len + target->kind[k].len > 0) {
            struct units rises = units_both(revoke->kind[k], target->kind[UNITS_ACTIVE], arena);
            struct units changed = units_both(target->kind[k], of_all_kinds(has, arena), arena);
            keep->kind[k] = units_join(units_join(keep->kind[k], rises, arena), changed, arena);
            revoke->kind[k] = units_minus(revoke->kind[k], of_all_kinds(target, arena), arena);
        }
    }
}

bool reconcile(const struct reconcile *r, struct arena *arena, struct member_position *ret)
{
    const struct member_position *now = r->now;
    *ret = *now;
    if (stays(r)) {
        return false;
    }
    struct holding keep = {0}, revoke = {0};
    split(r, arena, &keep, &revoke);
    ret->previous_epoch = now->epoch;
    ret->assigned = keep;
    ret->revoking = (struct holding){0};
    if (holding_count(&revoke) > 0 && (r->owned == NULL || holding_meet(r->owned, &revoke))) {
        ret->revoking = revoke;
        /* One that has just let go for an older target counts as having come a step closer; the newest epoch is further away still. */
        bool closer = r->counts_steps && now->state == MEMBER_UNREVOKED && now->epoch < INT32_MAX;
        ret->epoch = closer ? now->epoch + 1 : now->epoch;
        ret->state = MEMBER_UNREVOKED;
#ifdef MUSTER_FAULT_EPOCH_BEFORE_RELEASE
        ret->epoch = r->target_epoch;
#endif
        return differs(now, ret);
    }
    bool taken = false;
    for (int k = 0; k < UNIT_KINDS; k++) {
        struct units more = free_units(r, (enum unit_kind)k, keep.kind[k], arena, &taken);
        ret->assigned.kind[k] = units_join(keep.kind[k], more, arena);
        if (k != UNITS_ACTIVE) {
            ret->assigned.kind[k] = units_minus(ret->assigned.kind[k], ret->assigned.kind[UNITS_ACTIVE], arena);
        }
    }
    ret->epoch = r->target_epoch;
    ret->state = taken ? MEMBER_UNRELEASED : MEMBER_STABLE;
    return differs(now, ret);
}

bool commit_epoch_ok(int32_t sent_epoch, int32_t member_epoch, const struct unit *assigned)
{
    if (assigned == NULL) {
        return sent_epoch == member_epoch;
    }
    return assigned->epoch <= sent_epoch && sent_epoch <= member_epoch;
}
