/* history.c: what happens to a group of the new protocols, for its history (../history/README.md). A rebalance lasts from the bump of a settled group's epoch
 * until every member has what it is to have. */
#include "draft.h"

/* What the sender of the request does; the others only come to light with it. */
static bool is_of_sender(enum group_cause cause)
{
    return cause == GROUP_CAUSE_SUBSCRIPTION || cause == GROUP_CAUSE_MEMBER || cause == GROUP_CAUSE_TOPOLOGY;
}

static void note(struct draft *t, enum group_cause cause, struct str member_id, const struct modern_member *m, int32_t timeout_ms)
{
    const struct group_caller *caller = &t->d->op->caller;
    bool asked = t->d->op->request != NULL && (cause == GROUP_CAUSE_JOINED || is_of_sender(cause));
    struct history_event e = {.cause = cause, .member_id = member_id, .reason = STR_NULL, .timeout_ms = timeout_ms};
    e.instance_id = m == NULL ? STR_NULL : m->instance_id;
    e.client_id = m != NULL ? m->client_id : asked ? caller->client_id : STR_NULL;
    e.host = m != NULL ? m->client_host : asked ? caller->host : STR_NULL;
    history_event(t->d, &e);
}

void draft_note_joined(struct draft *t)
{
    note(t, GROUP_CAUSE_JOINED, t->member_id, NULL, -1);
}

void draft_note_removal(struct draft *t, const struct modern_slot *slot, enum group_cause cause)
{
    const struct modern_member *m = slot->member;
    int32_t timeout_ms = -1;
    if (cause == GROUP_CAUSE_EXPIRED) {
        timeout_ms = m->is_classic ? m->classic_session_timeout_ms : t->timing.session_timeout_ms;
    } else if (cause != GROUP_CAUSE_LEFT && cause != GROUP_CAUSE_ADMIN) {
        timeout_ms = m->rebalance_timeout_ms;
    }
    note(t, cause, slot->member_id, m, timeout_ms);
}

void draft_note_subscription(struct draft *t, const struct modern_slot *slot)
{
    note(t, GROUP_CAUSE_SUBSCRIPTION, slot->member_id, slot->member, -1);
}

/* A member that comes or goes changes what the group reads, too: that is no cause of its own. A new topology is. */
void draft_note_bump(struct draft *t, enum group_cause cause)
{
    const struct history_notes *n = t->d->notes;
    bool noted = n != NULL && n->event_count > 0;
    if (!noted || (cause == GROUP_CAUSE_TOPOLOGY && n->cause_counts[cause] == 0)) {
        bool sender = is_of_sender(cause) && !str_is_null(t->member_id);
        note(t, cause, sender ? t->member_id : STR_NULL, sender && t->slot != NULL ? t->slot->member : NULL, -1);
    }
}

/* ---- whose units they were, and are ----------------------------------------------------------------------------------------------------- */

static struct units active_target(const struct modern_slot *slot)
{
    return modern_target(slot).kind[UNITS_ACTIVE];
}

static bool is_left(const struct draft *t, const struct modern_slot *slot)
{
    return t->left != NULL && t->left[slot - t->was->slots] && !t->target_put;
}

void draft_note_lost(const struct draft *t)
{
    struct history_owner *owners = ARENA_NEW(t->d->arena, struct history_owner, t->was->slot_count);
    int32_t count = 0;
    for (int32_t i = 0; i < t->was->slot_count; i++) {
        const struct modern_slot *slot = &t->was->slots[i];
        if (is_left(t, slot) && active_target(slot).len > 0) {
            owners[count++] = (struct history_owner){.member_id = slot->member_id, .before = active_target(slot)};
        }
    }
    if (count > 0) {
        history_moves(t->d, owners, count, t->kind->records->type == GROUP_CONSUMER);
    }
}

/* Members of the result and slots both are in order of ids. */
static void note_assigned(const struct draft *t)
{
    int32_t most = t->assigned->count, count = 0, at = 0;
    struct history_owner *owners = ARENA_NEW(t->d->arena, struct history_owner, most);
    for (int32_t i = 0; i < most; i++) {
        const struct assigned_member *m = &t->assigned->members[i];
        while (at < t->was->slot_count && str_cmp(t->was->slots[at].member_id, m->member_id) < 0) {
            at++;
        }
        bool known = at < t->was->slot_count && str_eq(t->was->slots[at].member_id, m->member_id);
        struct units before = known ? active_target(&t->was->slots[at]) : (struct units){0};
        before = str_eq(m->member_id, t->member_id) ? t->target.kind[UNITS_ACTIVE] : before;
        if (!units_equal(before, m->target.kind[UNITS_ACTIVE])) {
            owners[count++] = (struct history_owner){.member_id = m->member_id, .before = before, .after = m->target.kind[UNITS_ACTIVE]};
        }
    }
    history_moves(t->d, owners, count, t->kind->records->type == GROUP_CONSUMER);
}

/* ---- the phase -------------------------------------------------------------------------------------------------------------------------- */

static bool is_settled(const struct draft *t)
{
    int32_t epoch = assignment_epoch(&t->next);
    bool settled = t->next.member_count == 0 || t->next.epoch == epoch;
    if (t->next.member_count > 0 && !str_is_null(t->member_id)) {
        settled = settled && t->after.state == MEMBER_STABLE && t->after.epoch == epoch;
    }
    for (int32_t i = 0; settled && t->next.member_count > 0 && i < t->was->slot_count; i++) {
        const struct modern_slot *slot = &t->was->slots[i];
        bool there = slot->current != NULL && slot->current->state == MEMBER_STABLE && slot->current->epoch == epoch;
        settled = there || !draft_has(t, slot);
    }
    return settled;
}

static void note_last(const struct draft *t, struct history_notes *n)
{
    if (n->settles && t->position_put && t->put != NULL) {
        n->last_member_id = t->member_id;
        n->last_client_id = t->put->client_id;
        n->last_host = t->put->client_host;
    }
}

static void name_instances(const struct draft *t, struct history_notes *n)
{
    for (int32_t i = 0; t->put != NULL && i < n->event_count && i < HISTORY_CAUSES; i++) {
        if (str_eq(n->events[i].member_id, t->member_id)) {
            n->events[i].instance_id = t->put->instance_id;
        }
    }
}

/* Most heartbeats change nothing, and of those that do most are steps of a rebalance that is known to go on. */
void draft_note_phase(const struct draft *t)
{
    bool step = (t->position_put || t->assignment_put) && history_is_open(t->g);
    if (!t->bumped && t->d->notes == NULL && !step) {
        return;
    }
    struct history_notes *n = history_notes(t->d);
    n->stands = true;
    n->type = t->kind->records->type;
    n->opens = t->bumped || n->cause_counts[GROUP_CAUSE_CONVERTED] > 0;
    n->prepares = t->assigned != NULL;
    n->epoch_before = t->was->epoch;
    n->epoch_after = t->next.epoch;
    n->members = t->next.member_count;
    name_instances(t, n);
    if (!history_is_kept(t->d)) {
        return;
    }
    n->settles = is_settled(t);
    note_last(t, n);
    if (t->assigned != NULL) {
        note_assigned(t);
    } else if (t->left != NULL) {
        draft_note_lost(t);
    }
}
