/* Gates: what of a group is in flight, and who waits for it.
 *
 *   op class      waits while                                             and then
 *   membership    a membership change is in flight                        is decided on the turn's overlay, with all others that waited
 *   commit        a membership change is in flight or in this turn        passes beside other commits
 *   read          anything of the group is in flight or in this turn      reads the applied state
 *   exclusive     as read                                                 and shuts the gate until it is applied */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

static int gate_cmp(const struct gate *a, const struct gate *b)
{
    return str_cmp(a->id, b->id);
}
RB_GENERATE_INTERNAL(gate_tree, gate, link, gate_cmp, __attribute__((unused)) static)

bool op_is_catalog(enum group_op_kind kind)
{
    return kind >= CATALOG_CREATE_TOPICS;
}

struct gate *gate_find_id(struct shard *s, struct str id)
{
    struct gate key = {.id = id};
    return RB_FIND(gate_tree, &s->gates, &key);
}

struct gate *gate_first(struct shard *s)
{
    return RB_MIN(gate_tree, &s->gates);
}

struct gate *gate_after(struct gate *g)
{
    return RB_NEXT(gate_tree, NULL, g);
}

struct gate *gate_find(struct shard *s, const struct group_op *op)
{
    return op_is_catalog(op->kind) ? s->catalog_gate : gate_find_id(s, op->group_id);
}

static struct gate *gate_new(struct str id)
{
    size_t len = id.len > 0 ? (size_t)id.len : 0;
    struct gate *g = calloc(1, sizeof(*g) + len);
    MUSTER_CHECK(g != NULL);
    char *own = (char *)(g + 1);
    if (len > 0)
        memcpy(own, id.ptr, len);
    g->id = (struct str){own, (int32_t)len};
    request_list_init(&g->queue);
    request_list_init(&g->waiting);
    TAILQ_INIT(&g->beats);
    return g;
}

struct gate *gate_get(struct shard *s, const struct group_op *op)
{
    struct gate *g = gate_find(s, op);
    if (g != NULL)
        return g;
    g = gate_new(op->group_id);
    g->catalog = op_is_catalog(op->kind);
    if (g->catalog)
        s->catalog_gate = g;
    else
        RB_INSERT(gate_tree, &s->gates, g);
    return g;
}

bool gate_closed(const struct gate *g, enum group_op_class class)
{
    if (g->exclusive)
        return true;
    switch (class) {
    case GROUP_CLASS_MEMBERSHIP:
        return g->member_flights > 0;
    case GROUP_CLASS_COMMIT:
#ifdef MUSTER_FAULT_COMMIT_PASSES_GATE
        return false;
#endif
        return g->member_flights > 0 || g->member_in_turn;
    case GROUP_CLASS_READ:
    case GROUP_CLASS_EXCLUSIVE:
        return g->flights > 0 || g->in_turn;
    }
    MUSTER_CHECK(false);
    return true;
}

const struct group_set *gate_view(struct shard *s, struct gate *g, struct arena *scratch)
{
    if (g == NULL || !g->member_in_turn || g->catalog)
        return s->set;
    if (g->overlay == NULL) {
        g->overlay = group_overlay_new(s->set, g->id);
        for (size_t i = 0; i < g->turn_record_count; i++)
            MUSTER_CHECK(group_apply(g->overlay, s->applied, g->turn_records[i], scratch));
    }
    return g->overlay;
}

void gate_end_turn(struct gate *g)
{
    if (g->overlay != NULL)
        group_overlay_free(g->overlay);
    g->overlay = NULL;
    g->turn_record_count = 0;
    g->in_turn = false;
    g->member_in_turn = false;
}

void gate_made(struct shard *s, struct gate *g)
{
    s->reserved_groups -= g->creates;
    g->creates = false;
}

void gate_free_if_idle(struct shard *s, struct gate *g)
{
    if (g->pins > 0 || g->flights > 0 || g->in_turn || g->queue.count > 0 || g->waiting.count > 0 || !TAILQ_EMPTY(&g->beats))
        return;
    MUSTER_CHECK(g->overlay == NULL && !g->exclusive && !g->creates);
    if (g->catalog)
        s->catalog_gate = NULL;
    else
        RB_REMOVE(gate_tree, &s->gates, g);
    free(g->turn_records);
    free(g);
}

void gate_list_add(struct gate_list *l, struct gate *g)
{
    if (l->len == l->cap) {
        l->cap = l->cap == 0 ? 16 : 2 * l->cap;
        l->v = realloc(l->v, l->cap * sizeof(struct gate *));
        MUSTER_CHECK(l->v != NULL);
    }
    g->pins++;
    l->v[l->len++] = g;
}

struct gate *gate_list_take(struct gate_list *l)
{
    if (l->len == 0)
        return NULL;
    struct gate *g = l->v[--l->len];
    MUSTER_CHECK(g->pins > 0);
    g->pins--;
    return g;
}
