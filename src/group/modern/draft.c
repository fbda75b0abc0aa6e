/* draft.c: the group as it would be, and the records that make it so. */
#include "draft.h"

#include <string.h>

void draft_open(struct draft *t, const struct draft_kind *kind, struct decision *d, const struct group *g)
{
    memset(t, 0, sizeof *t);
    t->kind = kind;
    t->d = d;
    t->g = g;
    t->is_new = g == NULL || group_type(g) != kind->records->type;
    t->was = t->is_new ? &kind->nothing : group_modern(g);
    t->next = *t->was;
    t->member_id = STR_NULL;
}

void draft_bump(struct draft *t, enum group_cause cause)
{
    draft_note_bump(t, cause);
    if (!t->bumped) {
        t->bumped = t->changed = true;
        t->next.epoch += t->next.epoch < INT32_MAX ? 1 : 0; /* a log may say anything */
        if (t->kind->bumped != NULL) {
            t->kind->bumped(t);
        }
    }
}

/* ---- members ------------------------------------------------------------------------------------------------------------------ */

static const struct member_position nowhere = {.state = MEMBER_STABLE};

void draft_hold(struct draft *t, const struct modern_slot *slot)
{
    MUSTER_CHECK(str_is_null(t->member_id));
    t->slot = slot;
    t->member_id = slot->member_id;
    t->put = slot->member;
    t->before = t->after = modern_position(slot);
    t->target = modern_target(slot);
}

static void go(struct draft *t, const struct modern_slot *slot)
{
    if (t->left == NULL) {
        t->left = ARENA_NEW(t->d->arena, bool, t->was->slot_count);
    }
    t->left[slot - t->was->slots] = true;
    t->gone = slot;
}

static void admit(struct draft *t)
{
    if (t->next.member_count++ > 0) {
        return;
    }
    int32_t delay = t->timing.initial_delay_ms;
    t->changed = true;
    t->next.empty_since_ms = -1;
    t->next.assign_not_before_ms = delay > 0 ? t->d->op->clock_ms + delay : 0;
    if (delay > 0) {
        out_timer(t->d, GROUP_TIMER_ASSIGN, STR(""), 0, delay);
    }
}

void draft_add(struct draft *t, struct str member_id, const struct modern_slot *from)
{
    MUSTER_CHECK(str_is_null(t->member_id));
    t->member_id = member_id;
    t->before = nowhere;
    if (from != NULL) {
        go(t, from);
        out_timer(t->d, GROUP_TIMER_SESSION, from->member_id, 0, -1);
        t->before.assigned = modern_position(from).assigned;
        t->target = modern_target(from);
        t->target_put = from->target.held != NULL;
    } else {
        admit(t);
        draft_note_joined(t);
    }
    t->after = t->before;
}

static void forget_members(struct draft *t)
{
    t->next.empty_since_ms = t->d->op->clock_ms;
    t->next.assign_not_before_ms = 0;
    t->next.has_assignment = true;
    t->next.assignment_epoch = t->next.epoch;
    t->next.assignment_wall_ms = t->next.assignment_clock_ms = 0; /* nobody was assigned anything: no interval begins */
    t->assignment_put = true;
    out_timer(t->d, GROUP_TIMER_ASSIGN, STR(""), 0, -1);
}

void draft_remove(struct draft *t, const struct modern_slot *slot, enum group_cause cause)
{
    MUSTER_CHECK(slot->member != NULL && (t->left == NULL || !t->left[slot - t->was->slots]));
    go(t, slot);
    t->next.member_count--;
    draft_note_removal(t, slot, cause);
    draft_bump(t, cause);
    if (t->next.member_count == 0) {
        forget_members(t);
    }
    if (t->kind->removed != NULL) {
        t->kind->removed(t, slot);
    }
    out_timer(t->d, GROUP_TIMER_SESSION, slot->member_id, 0, -1);
    if (modern_position(slot).state == MEMBER_UNREVOKED) {
        out_timer(t->d, GROUP_TIMER_REVOKE, slot->member_id, 0, -1);
    }
}

int32_t draft_remove_all(struct draft *t, enum group_cause cause)
{
    for (int32_t i = 0; i < t->was->slot_count; i++) {
        if (t->was->slots[i].member != NULL) {
            draft_remove(t, &t->was->slots[i], cause);
        }
    }
    return t->was->member_count;
}

/* ---- records ---------------------------------------------------------------------------------------------------------------------- */

/* The keys of all records of a group's members are laid out alike; so are those of the group's own. */
typedef struct consumer_group_member_metadata_key member_key;
typedef struct consumer_group_metadata_key group_key;

static void write_tombstones(struct decision *d, const struct modern_slot *slot, const struct modern_kind *kind)
{
    member_key key = {.group_id = d->op->group_id, .member_id = slot->member_id};
    if (slot->offsets != NULL) {
        out_record(d, RECORD_STREAMS_TASK_OFFSETS, &key, MODERN_VALUE_VERSION, NULL);
    }
    if (slot->current != NULL) {
        out_record(d, kind->current_record, &key, MODERN_VALUE_VERSION, NULL);
    }
    if (slot->target.held != NULL) {
        out_record(d, kind->target_record, &key, MODERN_VALUE_VERSION, NULL);
    }
    if (slot->member != NULL) {
        out_record(d, kind->member_record, &key, MODERN_VALUE_VERSION, NULL);
    }
}

static void write_gone(const struct draft *t)
{
    for (int32_t i = 0; t->left != NULL && i < t->was->slot_count; i++) {
        if (t->left[i]) {
            write_tombstones(t->d, &t->was->slots[i], t->kind->records);
        }
    }
}

static void write_member(const struct draft *t)
{
    if (t->member_put) {
        member_key key = {.group_id = t->d->op->group_id, .member_id = t->member_id};
        out_record(t->d, t->kind->records->member_record, &key, MODERN_VALUE_VERSION, t->kind->records->member_value(t->put, t->d->arena));
    }
}

static void write_group(const struct draft *t)
{
    if (t->changed || t->is_new) {
        group_key key = {.group_id = t->d->op->group_id};
        out_record(t->d, t->kind->records->group_record, &key, MODERN_VALUE_VERSION, t->kind->records->group_value(&t->next, t->d->arena));
    }
}

static void write_target(const struct draft *t, struct str member_id, const struct holding *target)
{
    member_key key = {.group_id = t->d->op->group_id, .member_id = member_id};
    out_record(t->d, t->kind->records->target_record, &key, MODERN_VALUE_VERSION, t->kind->records->target_value(target, t->d->arena));
}

/* Only those whose target differs from what is recorded. Members of the result and slots both are in order of ids. */
static void write_targets(const struct draft *t)
{
    int32_t at = 0;
    for (int32_t i = 0; i < t->assigned->count; i++) {
        const struct assigned_member *m = &t->assigned->members[i];
        while (at < t->was->slot_count && str_cmp(t->was->slots[at].member_id, m->member_id) < 0) {
            at++;
        }
        bool known = at < t->was->slot_count && str_eq(t->was->slots[at].member_id, m->member_id);
        struct holding old = known ? modern_target(&t->was->slots[at]) : (struct holding){0};
        if (!known || t->was->slots[at].target.held == NULL || !holding_equal(&old, &m->target)) {
            write_target(t, m->member_id, &m->target);
        }
    }
}

static void write_assignment(const struct draft *t)
{
    if (t->assigned != NULL) {
        write_targets(t);
    } else if (t->target_put) {
        write_target(t, t->member_id, &t->target);
    }
    if (t->assignment_put) {
        group_key key = {.group_id = t->d->op->group_id};
        out_record(t->d, t->kind->records->assignment_record, &key, MODERN_VALUE_VERSION,
                   t->kind->records->assignment_value(&t->next, t->d->arena));
    }
}

static void write_position(const struct draft *t)
{
    if (t->position_put) {
        member_key key = {.group_id = t->d->op->group_id, .member_id = t->member_id};
        out_record(t->d, t->kind->records->current_record, &key, MODERN_VALUE_VERSION,
                   t->kind->records->current_value(&t->after, t->d->arena));
    }
}

void draft_close(struct draft *t)
{
    draft_note_phase(t);
    write_gone(t);
    write_member(t);
    if (t->kind->before_group != NULL) {
        t->kind->before_group(t);
    }
    write_group(t);
    write_assignment(t);
    write_position(t);
    if (t->kind->after_position != NULL) {
        t->kind->after_position(t);
    }
}

/* ---- regular expressions ------------------------------------------------------------------------------------------------------------ */

typedef struct consumer_group_regular_expression_key regex_key;

static bool same_topics(const struct str_array *a, const struct str_array *b)
{
    bool same = a->len == b->len;
    for (int32_t i = 0; same && i < a->len; i++) {
        same = str_eq(a->v[i], b->v[i]);
    }
    return same;
}

void draft_write_regexes(const struct draft *t, bool (*used)(const void *ctx, struct str regex), const void *ctx)
{
    const struct modern_kind *kind = t->kind->records;
    struct regex_table known = modern_regexes(t->was, t->d->arena);
    for (int32_t i = 0; i < known.len; i++) {
        regex_key key = {.group_id = t->d->op->group_id, .regular_expression = known.v[i].regex};
        if (!used(ctx, known.v[i].regex)) {
            out_record(t->d, kind->regex_record, &key, MODERN_VALUE_VERSION, NULL);
        }
    }
    for (int32_t i = 0; t->regexes != NULL && i < t->regexes->len; i++) {
        const struct regex_topics *now = &t->regexes->v[i];
        const struct regex_topics *before = regex_table_find(&known, now->regex);
        regex_key key = {.group_id = t->d->op->group_id, .regular_expression = now->regex};
        struct modern_regex value = {.regex = now->regex, .topics = now->topics, .timestamp = t->d->op->wall_ms};
        if (used(ctx, now->regex) && (before == NULL || !same_topics(&before->topics, &now->topics))) {
            out_record(t->d, kind->regex_record, &key, MODERN_VALUE_VERSION, kind->regex_value(&value, t->d->arena));
        }
    }
}

/* ---- the end of a group ------------------------------------------------------------------------------------------------------------- */

void modern_tombstones(struct decision *d, const struct group *g, const struct modern *s, const struct modern_kind *kind)
{
    group_key key = {.group_id = g->id};
    for (int32_t i = 0; i < s->slot_count; i++) {
        write_tombstones(d, &s->slots[i], kind);
        if (s->slots[i].member != NULL) {
            out_timer(d, GROUP_TIMER_SESSION, s->slots[i].member_id, 0, -1);
            out_timer(d, GROUP_TIMER_REVOKE, s->slots[i].member_id, 0, -1);
        }
    }
    for (int32_t i = 0; i < s->regex_count; i++) {
        regex_key regex = {.group_id = g->id, .regular_expression = s->regexes[i]->regex};
        out_record(d, kind->regex_record, &regex, MODERN_VALUE_VERSION, NULL);
    }
    if (s->description != NULL) {
        out_record(d, RECORD_STREAMS_TOPOLOGY_DESCRIPTION, &key, MODERN_VALUE_VERSION, NULL);
    }
    if (s->has_assignment) {
        out_record(d, kind->assignment_record, &key, MODERN_VALUE_VERSION, NULL);
    }
    if (s->topology != NULL) {
        out_record(d, RECORD_STREAMS_GROUP_TOPOLOGY, &key, MODERN_VALUE_VERSION, NULL);
    }
    if (s->exists) {
        out_record(d, kind->group_record, &key, MODERN_VALUE_VERSION, NULL);
    }
    out_timer(d, GROUP_TIMER_ASSIGN, STR(""), 0, -1);
}
