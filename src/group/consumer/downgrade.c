/* downgrade.c: a consumer group whose last member of the new protocol is gone becomes a classic group of the members that are left (KIP-848).
 *
 * The group's epoch becomes the generation, what each member has its assignment. After a removal a rebalance begins at once; when a classic member has
 * taken the last one's place, which changes nothing for the others, and nobody has anything to give up or to wait for, the group is stable. */
#include "classic.h"

#include "../classic/members.h"

/* ---- when --------------------------------------------------------------------------------------------------------------------------- */

static bool allowed(const struct draft *t, int32_t count)
{
    const struct group_settings *s = t->d->op->settings;
    return s->consumer.downgrade && count > 0 && (s->group_max_size <= 0 || count <= s->group_max_size);
}

/* Those that are neither gone nor the put one; all of them classic. -1: somebody speaks the new protocol. */
static int32_t count_classic(const struct draft *t, const struct modern_slot *but)
{
    int32_t count = 0;
    for (int32_t i = 0; i < t->was->slot_count; i++) {
        const struct modern_slot *slot = &t->was->slots[i];
        if (!draft_has(t, slot) || slot == but) {
            continue;
        }
        if (!slot->member->is_classic) {
            return -1;
        }
        count++;
    }
    return count;
}

bool classic_is_last(const struct draft *t, const struct modern_slot *place)
{
    int32_t others = place->member->is_classic ? -1 : count_classic(t, place);
    return others >= 0 && allowed(t, others + 1);
}

/* ---- its members ------------------------------------------------------------------------------------------------------------------------ */

struct takeover {
    struct decision *d;
    struct classic_member *v;
    const struct classic_member **members; /* by id */
    struct units *had;
    int32_t count;
};

static void add_member(struct takeover *to, struct str member_id, const struct modern_member *m, struct units had)
{
    to->v[to->count] = (struct classic_member){.member_id = member_id,
                                               .instance_id = m->instance_id,
                                               .client_id = m->client_id,
                                               .client_host = m->client_host,
                                               .session_timeout_ms = m->classic_session_timeout_ms,
                                               .rebalance_timeout_ms = m->rebalance_timeout_ms,
                                               .id_delivered = true,
                                               .protocols = m->protocols,
                                               .protocol_count = m->protocol_count};
    to->members[to->count] = &to->v[to->count];
    to->had[to->count++] = had;
}

/* What a member may still have, and not, as with Kafka, what it was to have: if the group is converted again before the member has rejoined, nobody else must
 * get what it has not given up. */
static struct units had_at(const struct draft *t, const struct member_position *p)
{
    return units_join(p->assigned.kind[UNITS_ACTIVE], p->revoking.kind[UNITS_ACTIVE], t->d->arena);
}

static struct units had_by(const struct draft *t, const struct modern_slot *slot)
{
    struct member_position p = modern_position(slot);
    return had_at(t, &p);
}

static void add_members(const struct draft *t, struct takeover *to)
{
    bool put = str_is_null(t->member_id);
    for (int32_t i = 0; i < t->was->slot_count; i++) {
        const struct modern_slot *slot = &t->was->slots[i];
        if (!put && str_cmp(t->member_id, slot->member_id) <= 0) {
            add_member(to, t->member_id, t->put, had_at(t, &t->after));
            put = true;
        }
#ifdef MUSTER_FAULT_DOWNGRADE_FORGETS_STATIC
        if (slot->member != NULL && !str_is_null(slot->member->instance_id)) {
            continue;
        }
#endif
        if (draft_has(t, slot)) {
            add_member(to, slot->member_id, slot->member, had_by(t, slot));
        }
    }
    if (!put) {
        add_member(to, t->member_id, t->put, had_at(t, &t->after));
    }
}

/* For the group's history: what happened before goes on in a rebalance of the other protocol. */
static void note(const struct draft *t, const struct classic_adoption *a)
{
    struct history_notes *n = history_notes(t->d);
    struct history_event e = {.cause = GROUP_CAUSE_CONVERTED, .member_id = STR_NULL, .client_id = STR_NULL, .timeout_ms = -1};
    e.instance_id = e.host = e.reason = STR_NULL;
    history_event(t->d, &e);
    n->stands = n->running = true;
    n->opens = !a->stable;
    n->settles = a->stable;
    n->type = GROUP_CLASSIC;
    n->epoch_before = t->was->epoch;
    n->epoch_after = a->generation;
    n->members = a->count;
    if (t->left != NULL && history_is_kept(t->d)) {
        draft_note_lost(t);
    }
}

static void take_over(struct draft *t, int32_t generation, bool stable)
{
    struct arena *arena = t->d->arena;
    int32_t most = t->was->slot_count + 1;
    struct takeover to = {.d = t->d,
                          .v = ARENA_NEW(arena, struct classic_member, most),
                          .members = ARENA_NEW(arena, const struct classic_member *, most),
                          .had = ARENA_NEW(arena, struct units, most)};
    add_members(t, &to);
    struct classic_adoption a = {.members = to.members, .count = to.count, .generation = generation, .stable = stable};
    a.protocol_name = classic_vote(to.members, to.count, arena);
    for (int32_t i = 0; i < to.count; i++) {
        to.v[i].assignment = classic_assignment_of(t->d, to.had[i], member_metadata(&to.v[i], a.protocol_name));
        to.v[i].assignment_generation = generation;
    }
    classic_adopt(t->d, &a);
    consumer_tombstones(t->d, t->g); /* the classic group is there by then, so that it never seems to be gone */
    for (int32_t i = 0; i < to.count; i++) {
        classic_timers_end(t->d, to.v[i].member_id);
    }
    classic_adopt_timers(t->d, &a);
    note(t, &a);
    t->d->out->assign = t->d->out->resolve = false;
}

bool consumer_downgrade(struct draft *t)
{
    if (!allowed(t, count_classic(t, NULL))) {
        return false;
    }
    take_over(t, t->was->epoch, false); /* a removal moves no epoch then: the rebalance does */
    return true;
}

static bool all_settled(const struct draft *t)
{
    struct holding target = draft_target(t);
    bool settled =
        t->next.epoch == assignment_epoch(&t->next) && t->after.state == MEMBER_STABLE && holding_equal(&t->after.assigned, &target);
    for (int32_t i = 0; settled && i < t->was->slot_count; i++) {
        const struct modern_slot *slot = &t->was->slots[i];
        struct member_position p = modern_position(slot);
        target = modern_target(slot);
        settled = !draft_has(t, slot) || (p.state == MEMBER_STABLE && holding_equal(&p.assigned, &target));
    }
    return settled;
}

/* One that reads something else than the one before it did has moved the group's epoch; the others have to hear of that. */
void classic_take_over(struct draft *t)
{
    take_over(t, t->was->epoch, !t->bumped && all_settled(t));
}
