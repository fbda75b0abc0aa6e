/* moves.c: what an assignment takes from whom and gives to whom. Only those members are looked at whose share changes; what is told is bounded, the rest
 * is counted. */
#include "history.h"

#include <string.h>

enum { MOVES_TOLD = 8, PARTITIONS_TOLD = 16, UNITS_LOOKED_AT = 10000 };

typedef struct group_rebalance_moves_value_move move;

struct moving {
    struct decision *d;
    const struct history_owner *owners;
    int32_t count;
    bool ids;
    struct group_rebalance_moves_value earlier; /* of the same rebalance: what has been lost by members that are gone */
    struct units lost; /* their epochs are the places of those that lose them; behind the owners come the earlier moves */
    bool *found;       /* by place in lost: somebody gets it */
    struct group_rebalance_moves_value *told;
};

/* A topic's name, now that it can be found out: it may be deleted when somebody asks. */
static struct str shown(const struct moving *m, struct str unit_name)
{
    struct uuid id;
    struct topic_view topic;
    if (!m->ids) {
        return unit_name;
    }
    MUSTER_CHECK(unit_name.len == (int32_t)sizeof id.b);
    memcpy(id.b, unit_name.ptr, sizeof id.b);
    if (m->d->op->topics != NULL && m->d->op->topics->by_id(m->d->op->topics->ctx, id, &topic)) {
        return arena_str(m->d->arena, topic.name);
    }
    char text[23];
    uuid_text(id, text);
    return arena_str(m->d->arena, str_of(text));
}

/* The members and the name are the same objects as those of the move before, when they are the same: units come in order. */
static move *move_of(struct moving *m, struct str from, struct str to, struct str unit_name)
{
    struct group_rebalance_moves_value *told = m->told;
    struct str name = shown(m, unit_name);
    for (int32_t i = told->moves.len - 1; i >= 0; i--) {
        move *one = &told->moves.v[i];
        if (str_eq(one->from_member_id, from) && str_eq(one->to_member_id, to) && str_eq(one->name, name)) {
            return one;
        }
    }
    if (told->moves.len == MOVES_TOLD) {
        return NULL;
    }
    move *one = &told->moves.v[told->moves.len++];
    *one = (move){.from_member_id = from, .to_member_id = to, .name = name};
    one->partitions.v = ARENA_NEW(m->d->arena, int32_t, PARTITIONS_TOLD);
    return one;
}

static void tell(struct moving *m, struct str from, struct str to, const struct unit *unit)
{
    move *one = move_of(m, from, to, unit->name);
    if (one == NULL) {
        m->told->more++;
        return;
    }
    if (one->partitions.len < PARTITIONS_TOLD) {
        ((int32_t *)(uintptr_t)one->partitions.v)[one->partitions.len++] = unit->partition;
    }
    one->count++;
}

/* A member that is gone has been gone for a while when its share is given to others. */
static void read_earlier(struct moving *m)
{
    const struct group *g = group_find(m->d->set, m->d->op->group_id);
    const struct history_record *r = history_is_open(g) ? history_moves_of(g, history_newest(g)->rebalance) : NULL;
    if (r != NULL) {
        struct bytes value = history_value(r);
        struct bytes body = {value.ptr + 2, value.len - 2};
        MUSTER_CHECK(wire_decode(&wire_group_rebalance_moves_value, (int16_t)get_be16(value.ptr), body, m->d->arena, &m->earlier, NULL) ==
                     0);
    }
}

static struct str unit_name_of(const struct moving *m, struct str shown_name)
{
    const struct topics *topics = m->d->op->topics;
    struct topic_view topic;
    if (!m->ids) {
        return shown_name;
    }
    if (topics == NULL || !topics->by_name(topics->ctx, shown_name, &topic)) {
        return STR_NULL;
    }
    return arena_str(m->d->arena, (struct str){(const char *)topic.id.b, (int32_t)sizeof topic.id.b});
}

static void add_earlier(const struct moving *m, struct unit_list *list)
{
    for (int32_t i = 0; i < m->earlier.moves.len; i++) {
        const move *one = &m->earlier.moves.v[i];
        struct str name = str_is_null(one->to_member_id) ? unit_name_of(m, one->name) : STR_NULL;
        for (int32_t k = 0; !str_is_null(name) && k < one->partitions.len && list->len < UNITS_LOOKED_AT; k++) {
            unit_list_add(list, name, one->partitions.v[k], m->count + i);
        }
    }
}

static struct str loser(const struct moving *m, const struct unit *lost)
{
    int32_t at = lost->epoch;
    return at < m->count ? m->owners[at].member_id : m->earlier.moves.v[at - m->count].from_member_id;
}

static struct units all_lost(const struct moving *m)
{
    struct unit_list list;
    unit_list_init(&list, m->d->arena);
    add_earlier(m, &list);
    for (int32_t i = 0; i < m->count; i++) {
        struct units lost = units_minus(m->owners[i].before, m->owners[i].after, m->d->arena);
        for (int32_t k = 0; k < lost.len && list.len < UNITS_LOOKED_AT; k++) {
            unit_list_add(&list, lost.v[k].name, lost.v[k].partition, i);
        }
    }
    return unit_list_finish(&list);
}

static int32_t tell_gained(struct moving *m)
{
    int32_t total = 0;
    for (int32_t i = 0; i < m->count; i++) {
        struct units gained = units_minus(m->owners[i].after, m->owners[i].before, m->d->arena);
        for (int32_t k = 0; k < gained.len; k++) {
            const struct unit *lost = total < UNITS_LOOKED_AT ? units_find(m->lost, gained.v[k].name, gained.v[k].partition) : NULL;
            if (total++ >= UNITS_LOOKED_AT) {
                m->told->more++;
                continue;
            }
            if (lost != NULL) {
                m->found[lost - m->lost.v] = true;
            }
            tell(m, lost == NULL ? STR_NULL : loser(m, lost), m->owners[i].member_id, &gained.v[k]);
        }
    }
    return total;
}

static void tell_lost(struct moving *m)
{
    for (int32_t i = 0; i < m->lost.len; i++) {
        if (!m->found[i]) {
            tell(m, loser(m, &m->lost.v[i]), STR_NULL, &m->lost.v[i]);
        }
    }
}

void history_moves(struct decision *d, const struct history_owner *owners, int32_t count, bool ids)
{
    struct moving m = {.d = d, .owners = owners, .count = count, .ids = ids};
    m.told = ARENA_NEW(d->arena, struct group_rebalance_moves_value, 1);
    m.told->moves.v = ARENA_NEW(d->arena, move, MOVES_TOLD);
    read_earlier(&m);
    m.lost = all_lost(&m);
    m.found = ARENA_NEW(d->arena, bool, m.lost.len + 1);
    history_notes(d)->moved = tell_gained(&m);
    tell_lost(&m);
    history_notes(d)->moves = m.told;
}
