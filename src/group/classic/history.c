/* history.c: what happens to a classic group, for its history (../history/README.md). A rebalance lasts from Stable or Empty to Stable or Empty. */
#include "draft.h"

#include "../embedded.h"

void classic_note(const struct draft *t, enum group_cause cause, const struct classic_member *m, int32_t timeout_ms)
{
    struct history_event e = {.cause = cause, .timeout_ms = timeout_ms};
    e.member_id = m == NULL ? STR_NULL : m->member_id;
    e.instance_id = m == NULL ? STR_NULL : m->instance_id;
    e.client_id = m == NULL ? STR_NULL : m->client_id;
    e.host = m == NULL ? STR_NULL : m->client_host;
    e.reason = STR_NULL;
    history_event(t->d, &e);
}

void classic_note_removal(const struct draft *t, enum group_cause cause, const struct classic_member *m)
{
    int32_t timeout_ms = -1;
    if (cause == GROUP_CAUSE_EXPIRED) {
        timeout_ms = t->d->op->timer.seen_members > 0 ? t->d->op->settings->new_member_join_timeout_ms : m->session_timeout_ms;
    } else if (cause == GROUP_CAUSE_REBALANCE_TIMEOUT || cause == GROUP_CAUSE_SYNC_TIMEOUT) {
        timeout_ms = m->rebalance_timeout_ms;
    }
    classic_note(t, cause, m, timeout_ms);
}

/* ---- whose partitions they were, and are ------------------------------------------------------------------------------------------------ */

static bool of_consumers(const struct classic *c)
{
    return str_eq(c->protocol_type, STR("consumer"));
}

/* What cannot be read is nothing. */
static struct units units_of(struct bytes assignment, struct arena *arena)
{
    struct consumer_protocol_assignment a;
    struct unit_list list;
    unit_list_init(&list, arena);
    if (!embedded_assignment(assignment, arena, &a)) {
        return unit_list_finish(&list);
    }
    for (int32_t i = 0; i < a.assigned_partitions.len; i++) {
        for (int32_t k = 0; k < a.assigned_partitions.v[i].partitions.len; k++) {
            unit_list_add(&list, a.assigned_partitions.v[i].topic, a.assigned_partitions.v[i].partitions.v[k], 0);
        }
    }
    return unit_list_finish(&list);
}

/* The next process of the instance has its share. */
static bool is_replaced(const struct draft *t, const struct classic_member *m)
{
    return t->put != NULL && !str_is_null(m->instance_id) && str_eq(m->instance_id, t->put->instance_id);
}

static void note_lost(const struct draft *t)
{
    struct history_owner *owners = ARENA_NEW(t->d->arena, struct history_owner, t->c->member_count);
    int32_t count = 0;
    for (int32_t i = 0; i < t->c->member_count; i++) {
        const struct classic_member *m = t->c->members[i];
        if (t->gone[i] && m->has_assignment && !is_replaced(t, m)) {
            owners[count++] = (struct history_owner){.member_id = m->member_id, .before = units_of(m->assignment, t->d->arena)};
        }
    }
    if (count > 0) {
        history_moves(t->d, owners, count, false);
    }
}

void classic_note_assignments(struct decision *d, const struct group *g, const struct bytes *assignments)
{
    const struct classic *c = &g->classic;
    if (!history_is_kept(d) || !history_is_open(g) || !of_consumers(c)) {
        return;
    }
    struct history_owner *owners = ARENA_NEW(d->arena, struct history_owner, c->member_count);
    for (int32_t i = 0; i < c->member_count; i++) {
        const struct classic_member *m = c->members[i];
        owners[i].member_id = m->member_id;
        owners[i].before = units_of(m->has_assignment ? m->assignment : BYTES_NULL, d->arena);
        owners[i].after = units_of(assignments[i], d->arena);
    }
    history_moves(d, owners, c->member_count, false);
}

/* ---- the phase ---------------------------------------------------------------------------------------------------------------------------- */

static bool is_settled(enum classic_state state)
{
    return state == CLASSIC_STABLE || state == CLASSIC_EMPTY;
}

/* Who was last to join ends the join phase; when the timer did, nobody was. */
static void note_last(const struct draft *t, struct history_notes *n)
{
    if (n->prepares && t->put != NULL) {
        n->last_member_id = t->put->member_id;
        n->last_client_id = t->put->client_id;
        n->last_host = t->put->client_host;
    }
}

void classic_note_phase(const struct draft *t)
{
    const struct classic *c = t->c;
    bool moved = t->state != c->state || t->generation != c->generation;
    if (!moved && t->d->notes == NULL) {
        return;
    }
    struct history_notes *n = history_notes(t->d);
    n->stands = true;
    n->type = GROUP_CLASSIC;
    n->opens = moved && is_settled(c->state);
    n->running = !is_settled(c->state);
    n->prepares = t->generation != c->generation;
    n->settles = moved && is_settled(t->state);
    n->epoch_before = c->generation;
    n->epoch_after = t->generation;
    n->members = t->member_count;
    note_last(t, n);
    if (t->gone != NULL && (n->opens || n->running) && of_consumers(c) && history_is_kept(t->d)) {
        note_lost(t);
    }
}
