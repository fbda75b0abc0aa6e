/* out.c: putting a decision together. Everything lies in the arena of the request. */
#include "state.h"

#include <string.h>

enum { FIRST_RECORDS = 8 };

static void records_reserve(struct record_list *list, struct arena *arena)
{
    if (list->len < list->cap) {
        return;
    }
    size_t cap = list->cap == 0 ? FIRST_RECORDS : 2 * list->cap;
    struct record *grown = ARENA_NEW(arena, struct record, cap);
    if (list->len > 0) {
        memcpy(grown, list->v, list->len * sizeof *grown);
    }
    list->v = grown;
    list->cap = cap;
}

void out_record(struct decision *d, int16_t type, const void *key, int16_t value_version, const void *value)
{
    struct record_list *list = &d->out->records;
    records_reserve(list, d->arena);
    MUSTER_CHECK(!d->op->waiting); /* a request that is asked again decides nothing */
    struct record record = wire_record_encode(type, key, value_version, value, d->arena);
    MUSTER_CHECK(record.key.len > 2 && (value == NULL) == (record.value.len < 0));
    list->v[list->len++] = record;
    list->bytes += (size_t)record.key.len + (record.value.len > 0 ? (size_t)record.value.len : 0);
}

void out_timer_full(struct decision *d, const struct group_timer_wish *wish)
{
    struct group_out *out = d->out;
    /* A power of two says that the array is full: its capacity is the next power of two at or above the count. */
    if ((out->timer_count & (out->timer_count - 1)) == 0) {
        size_t cap = out->timer_count == 0 ? 1 : 2 * out->timer_count;
        struct group_timer_wish *grown = ARENA_NEW(d->arena, struct group_timer_wish, cap);
        if (out->timer_count > 0) {
            memcpy(grown, out->timers, out->timer_count * sizeof *grown);
        }
        out->timers = grown;
    }
    out->timers[out->timer_count] = *wish;
    out->timers[out->timer_count].timer.group_id = d->op->group_id;
    out->timers[out->timer_count].timer.member_id =
        arena_str(d->arena, wish->timer.member_id); /* its member may be gone when it is armed */
#ifdef MUSTER_FAULT_EXPIRE_EARLY
    out->timers[out->timer_count].delay_ms /= wish->timer.kind == GROUP_TIMER_SESSION ? 4 : 1;
#endif
    out->timer_count++;
}

void out_timer(struct decision *d, enum group_timer_kind kind, struct str member_id, int32_t epoch, int64_t delay_ms)
{
    out_timer_full(d, &(struct group_timer_wish){.timer = {.kind = kind, .member_id = member_id, .epoch = epoch}, .delay_ms = delay_ms});
}

void out_rule(struct decision *d, const char *rule)
{
    MUSTER_CHECK(rule != NULL);
    d->out->rule = rule;
}

void out_answer(struct decision *d, const char *rule, int16_t error, const void *answer)
{
    MUSTER_CHECK(rule != NULL && answer != NULL);
    d->out->verdict = GROUP_ANSWER;
    d->out->rule = rule;
    d->out->error = error;
    d->out->answer = answer;
}

bool budget_allows(const struct decision *d, int64_t groups, int64_t members, int64_t bytes)
{
    const struct group_settings *s = d->op->settings;
    struct group_set_counts now;
    group_set_counts(d->set, &now);
    return (s->max_groups == 0 || groups == 0 || now.groups + s->reserved_groups + groups <= s->max_groups) &&
           (s->max_members == 0 || members == 0 || now.members + now.pending + s->reserved_members + members <= s->max_members) &&
           (s->max_state_bytes == 0 || now.bytes + s->reserved_bytes + bytes <= s->max_state_bytes);
}
