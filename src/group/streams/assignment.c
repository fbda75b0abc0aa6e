/* assignment.c: a streams group's tasks are assigned anew: here, or, when that would take long, by a job. */
#include "draft.h"

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
    struct assign_view_member view = streams_view_member(&slot, &streams_part(t)->configs, own == NULL ? -1 : own->epoch);
    view.current = t->before.assigned;
    view.revoking = t->before.revoking;
    if (streams_part(t)->offsets_put) {
        view.offsets = reported(t, &streams_part(t)->offsets.task_offsets);
        view.offset_count = streams_part(t)->offsets.task_offsets.len;
        view.end_offsets = reported(t, &streams_part(t)->offsets.task_end_offsets);
        view.end_offset_count = streams_part(t)->offsets.task_end_offsets.len;
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
            v[count++] = streams_view_member(slot, &streams_part(t)->configs, epoch);
        }
    }
    if (!put) {
        v[count++] = view_of_put(t);
    }
    MUSTER_CHECK(count == t->next.member_count);
    *ret_count = count;
    return v;
}

void streams_draft_assign(struct draft *t)
{
    static const struct resolved nothing = {.problem = TOPOLOGY_MISSING_SOURCES};
    if (assignment_wait(t) != ASSIGNMENT_DUE) {
        return;
    }
    streams_draft_refresh(t);
    const struct resolved *resolved = streams_draft_resolve(t);
    struct assign_view view = {.resolved = resolved == NULL ? &nothing : resolved, .configs = &streams_part(t)->configs};
    view.members = view_members(t, &view.member_count);
    if (streams_part(t)->configs.offload && streams_assign_cost(&view) > STREAMS_ASSIGN_INLINE) {
        t->d->out->assign = true;
        return;
    }
    struct assign_result *result = ARENA_NEW(t->d->arena, struct assign_result, 1);
    streams_assign(&view, t->d->arena, result);
    draft_take_result(t, result);
}

bool streams_draft_warmed_up(struct draft *t)
{
    if (!streams_part(t)->configs.warm_up || !streams_part(t)->offsets_put || t->next.epoch > assignment_epoch(&t->next)) {
        return false;
    }
    struct assign_view view = {.resolved = streams_draft_resolve(t), .configs = &streams_part(t)->configs};
    if (view.resolved == NULL || view.resolved->problem != TOPOLOGY_FINE) {
        return false;
    }
    view.members = view_members(t, &view.member_count);
    return streams_warm_up_done(&view, t->d->arena);
}
