/* owners.c: how many members of a consumer group have a partition, so that one that waits for it need not look through what all the others have. A hash table with
 * linear probing; an overlay shares it until it changes it. */
#include "modern.h"

#include <string.h>

enum { FEWEST = 16 };

static struct unit_owner key_of(const struct unit *u)
{
    struct unit_owner key = {.partition = u->partition};
    MUSTER_CHECK(u->name.len == (int32_t)sizeof key.topic_id.b);
    memcpy(key.topic_id.b, u->name.ptr, sizeof key.topic_id.b);
    return key;
}

static uint32_t place_of(const struct unit_owners *o, const struct unit_owner *key)
{
    uint64_t hash = hash_bytes(key->topic_id.b, sizeof key->topic_id.b, (uint64_t)(uint32_t)key->partition);
    return (uint32_t)hash & (o->size - 1);
}

/* Where the key is, or the free place where it belongs. */
static uint32_t find(const struct unit_owners *o, const struct unit_owner *key)
{
    uint32_t at = place_of(o, key);
    while (o->v[at].members > 0 && (o->v[at].partition != key->partition || !uuid_eq(o->v[at].topic_id, key->topic_id))) {
        at = (at + 1) & (o->size - 1);
    }
    return at;
}

static struct unit_owners *owners_new(struct pool *pool, uint32_t size)
{
    struct unit_owners *o = pool_get(pool, sizeof *o);
    o->references = 1;
    o->size = size;
    o->v = pool_get(pool, size * sizeof *o->v);
    return o;
}

void owners_put(struct pool *pool, struct unit_owners *o)
{
    if (o == NULL) {
        return;
    }
    MUSTER_CHECK(o->references > 0);
    if (--o->references == 0) {
        pool_put(pool, o->v, o->size * sizeof *o->v);
        pool_put(pool, o, sizeof *o);
    }
}

/* As something to change, with room for one more. */
static struct unit_owners *own(struct pool *pool, struct modern *s)
{
    struct unit_owners *from = s->owners;
    uint32_t size = from == NULL ? FEWEST : from->size;
    bool full = from != NULL && from->used + 1 > size / 4 * 3;
    if (from != NULL && from->references == 1 && !full) {
        return from;
    }
    struct unit_owners *o = owners_new(pool, full ? 2 * size : size);
    for (uint32_t i = 0; from != NULL && i < size; i++) {
        if (from->v[i].members > 0) {
            o->v[find(o, &from->v[i])] = from->v[i];
            o->used++;
        }
    }
    owners_put(pool, from);
    s->owners = o;
    return o;
}

/* What stands behind a place that became free moves up, where it may. */
static void close_gap(struct unit_owners *o, uint32_t gap)
{
    uint32_t mask = o->size - 1;
    for (uint32_t at = (gap + 1) & mask; o->v[at].members > 0; at = (at + 1) & mask) {
        uint32_t home = place_of(o, &o->v[at]);
        if (((at - home) & mask) >= ((at - gap) & mask)) {
            o->v[gap] = o->v[at];
            gap = at;
        }
    }
    o->v[gap] = (struct unit_owner){.members = 0};
}

static void change(struct pool *pool, struct modern *s, const struct units *units, int32_t by)
{
    for (int32_t i = 0; i < units->len; i++) {
        struct unit_owners *o = own(pool, s);
        struct unit_owner key = key_of(&units->v[i]);
        uint32_t at = find(o, &key);
        if (o->v[at].members == 0) {
            MUSTER_CHECK(by > 0);
            o->v[at] = key;
            o->used++;
        }
        o->v[at].members += by;
        if (o->v[at].members == 0) {
            close_gap(o, at);
            o->used--;
        }
    }
}

void owners_change(struct pool *pool, struct modern *s, const struct modern_slot *slot, int32_t by)
{
    if (s->indexed && slot->member != NULL && slot->current != NULL) {
        change(pool, s, &slot->current->assigned->holding.kind[UNITS_ACTIVE], by);
#ifndef MUSTER_FAULT_GIVEN_WHILE_REVOKED
        change(pool, s, &slot->current->revoking->holding.kind[UNITS_ACTIVE], by);
#endif
    }
}

int32_t owners_count(const struct unit_owners *o, const struct unit *unit)
{
    struct unit_owner key = key_of(unit);
    return o == NULL ? 0 : o->v[find(o, &key)].members;
}
