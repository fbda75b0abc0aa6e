/* store.c: what the records of a group's history say: the records themselves, packed, in order. Nobody but people asks for them, so they are kept as logged. */
#include "history.h"

#include "../sorted.h"

#include <string.h>

/* ---- records ------------------------------------------------------------------------------------------------------------------------ */

static size_t record_bytes(int32_t value_len)
{
    return sizeof(struct history_record) + (size_t)value_len;
}

static void record_put(struct pool *pool, struct history_record *r)
{
    MUSTER_CHECK(r->references > 0);
    if (--r->references == 0) {
        pool_put(pool, r, record_bytes(r->value_len));
    }
}

static int64_t weight(const struct history_record *r)
{
    return (int64_t)record_bytes(r->value_len) + (int64_t)sizeof(struct history_record *);
}

struct bytes history_value(const struct history_record *r)
{
    return (struct bytes){r->value, r->value_len};
}

/* ---- places ------------------------------------------------------------------------------------------------------------------------- */

struct place {
    int16_t type;
    int32_t rebalance, number;
};

static int place_cmp(struct place a, struct place b)
{
    if (a.rebalance != b.rebalance) {
        return a.rebalance < b.rebalance ? -1 : 1;
    }
    if (a.type != b.type) {
        return a.type < b.type ? -1 : 1;
    }
    return (a.number > b.number) - (a.number < b.number);
}

static struct place place_of(const struct history_record *r)
{
    return (struct place){r->type, r->rebalance, r->number};
}

/* Keys end with the rebalance, and behind it the number of the cause. */
static struct place place_of_key(struct bytes key)
{
    struct place p = {.type = (int16_t)get_be16(key.ptr)};
    const uint8_t *end = key.ptr + key.len;
    bool cause = p.type == RECORD_GROUP_REBALANCE_CAUSE;
    p.rebalance = (int32_t)get_be32(end - (cause ? 8 : 4));
    p.number = cause ? (int32_t)get_be32(end - 4) : 0;
    return p;
}

static int record_order(const void *in, int32_t place, const void *key)
{
    return place_cmp(place_of(((struct history_record *const *)in)[place]), *(const struct place *)key);
}

/* Where it is, or belongs. */
static int32_t find(const struct history *h, struct place p, bool *ret_found)
{
    return sorted_place(h == NULL ? NULL : h->v, h == NULL ? 0 : h->count, record_order, &p, ret_found);
}

/* ---- the history of a group --------------------------------------------------------------------------------------------------------- */

struct history *history_share(struct history *h)
{
    if (h != NULL) {
        h->references++;
    }
    return h;
}

static void history_put(struct pool *pool, struct history *h)
{
    MUSTER_CHECK(h->references > 0);
    if (--h->references > 0) {
        return;
    }
    for (int32_t i = 0; i < h->count; i++) {
        record_put(pool, h->v[i]);
    }
    pool_put(pool, h->v, (size_t)h->capacity * sizeof(struct history_record *));
    pool_put(pool, h, sizeof *h);
}

void history_free(struct group_set *set, struct group *g)
{
    for (int32_t i = 0; g->history != NULL && i < g->history->count; i++) {
        set->counts.history_bytes -= weight(g->history->v[i]);
        set->counts.history_records--;
    }
    if (g->history != NULL) {
        history_put(set->pool, g->history);
        g->history = NULL;
    }
}

/* With room for one more. Histories are short and there are many: room is made in small steps. */
static void reserve(struct pool *pool, struct history *h)
{
    enum { STEP = 4 };
    if (h->count < h->capacity) {
        return;
    }
    struct history_record **grown = pool_get(pool, (size_t)(h->capacity + STEP) * sizeof(struct history_record *));
    if (h->count > 0) {
        memcpy(grown, h->v, (size_t)h->count * sizeof(struct history_record *));
    }
    pool_put(pool, h->v, (size_t)h->capacity * sizeof(struct history_record *));
    h->v = grown;
    h->capacity += STEP;
}

/* The set's own, to be changed. */
static struct history *own(struct group_set *set, struct group *g)
{
    struct history *h = g->history;
    if (h != NULL && h->references == 1) {
        return h;
    }
    struct history *mine = pool_get(set->pool, sizeof *mine);
    mine->references = 1;
    for (int32_t i = 0; h != NULL && i < h->count; i++) {
        reserve(set->pool, mine);
        h->v[i]->references++;
        mine->v[mine->count++] = h->v[i];
    }
    if (h != NULL) {
        history_put(set->pool, h);
    }
    g->history = mine;
    return mine;
}

static struct history_record *record_new(const struct apply_context *c, struct place p, const void *value)
{
    struct history_record *r = pool_get(c->set->pool, record_bytes(c->raw.value.len));
    *r = (struct history_record){.references = 1,
                                 .type = p.type,
                                 .rebalance = p.rebalance,
                                 .number = p.number,
                                 .value_len = c->raw.value.len,
                                 .record_hash = c->record_hash};
    r->settled = p.type == RECORD_GROUP_REBALANCE && ((const struct group_rebalance_value *)value)->settled_clock_ms >= 0;
    memcpy(r->value, c->raw.value.ptr, (size_t)c->raw.value.len);
    return r;
}

static void drop(struct group_set *set, struct history *h, int32_t at)
{
    struct history_record *r = h->v[at];
    group_hash_replace(set, r->record_hash, 0);
    set->counts.history_bytes -= weight(r);
    set->counts.history_records--;
    record_put(set->pool, r);
    h->count--;
    memmove(&h->v[at], &h->v[at + 1], (size_t)(h->count - at) * sizeof(struct history_record *));
}

static void insert(struct group_set *set, struct history *h, int32_t at, struct history_record *r)
{
    reserve(set->pool, h);
    memmove(&h->v[at + 1], &h->v[at], (size_t)(h->count - at) * sizeof(struct history_record *));
    h->v[at] = r;
    h->count++;
    group_hash_replace(set, 0, r->record_hash);
    set->counts.history_bytes += weight(r);
    set->counts.history_records++;
}

void history_apply(const struct apply_context *c, const struct wire_decoded_record *record)
{
    struct str group_id = ((const struct group_rebalance_key *)record->key)->group_id; /* all three keys begin with it */
    struct group *g = group_find(c->set, group_id);
    struct place p = place_of_key(c->raw.key);
    bool found;
    int32_t at = find(g == NULL ? NULL : g->history, p, &found);
    if (record->value == NULL && !found) {
        return;
    }
    g = g == NULL ? group_find_or_add(c->set, group_id) : g;
    struct history *h = own(c->set, g);
    if (found) {
        drop(c->set, h, at);
    }
    if (record->value != NULL) {
        insert(c->set, h, at, record_new(c, p, record->value));
    } else if (h->count == 0) {
        history_free(c->set, g);
    }
}

/* ---- reading ------------------------------------------------------------------------------------------------------------------------ */

const struct history_record *history_newest(const struct group *g)
{
    const struct history *h = g == NULL ? NULL : g->history;
    if (h == NULL) {
        return NULL;
    }
    bool found;
    int32_t at = find(h, (struct place){RECORD_GROUP_REBALANCE, h->v[h->count - 1]->rebalance, 0}, &found);
    return found ? h->v[at] : NULL;
}

const struct history_record *history_moves_of(const struct group *g, int32_t rebalance)
{
    bool found;
    int32_t at = find(g->history, (struct place){RECORD_GROUP_REBALANCE_MOVES, rebalance, 0}, &found);
    return found ? g->history->v[at] : NULL;
}

bool history_is_open(const struct group *g)
{
    const struct history_record *newest = history_newest(g);
    return newest != NULL && !newest->settled;
}

static struct record record_at(const struct group *g, const struct history_record *r, bool tombstone, struct arena *arena)
{
    struct group_rebalance_cause_key key = {.group_id = g->id, .rebalance = r->rebalance, .number = r->number}; /* the others begin alike */
    struct record record = wire_record_encode(r->type, &key, 0, NULL, arena);
    if (!tombstone) {
        record.value = history_value(r);
    }
    return record;
}

bool history_key_after(const struct group *g, struct bytes key, struct arena *arena, struct bytes *ret)
{
    bool found = false;
    int32_t at = key.len < 0 ? 0 : find(g->history, place_of_key(key), &found);
    at += found ? 1 : 0;
    if (g->history == NULL || at >= g->history->count) {
        return false;
    }
    *ret = record_at(g, g->history->v[at], true, arena).key;
    return true;
}

bool history_record_of(const struct group *g, struct bytes key, struct arena *arena, struct record *ret)
{
    bool found;
    int32_t at = find(g->history, place_of_key(key), &found);
    if (found) {
        *ret = record_at(g, g->history->v[at], false, arena);
    }
    return found;
}

int history_key_cmp(struct bytes a, struct bytes b)
{
    return place_cmp(place_of_key(a), place_of_key(b));
}

void history_tombstones(struct decision *d, const struct group *g)
{
    for (int32_t i = 0; g->history != NULL && i < g->history->count; i++) {
        const struct history_record *r = g->history->v[i];
        struct group_rebalance_cause_key key = {.group_id = g->id, .rebalance = r->rebalance, .number = r->number};
        out_record(d, r->type, &key, 0, NULL);
    }
}
