/* units.c: sets of units as sorted arrays; every operation on two of them is one walk along both. */
#include "units.h"

#include "../sorted.h"

#include <string.h>

int unit_cmp(const struct unit *a, const struct unit *b)
{
    int by_name = str_cmp(a->name, b->name);
    if (by_name != 0) {
        return by_name;
    }
    return (a->partition > b->partition) - (a->partition < b->partition);
}

static int unit_order(const void *in, int32_t place, const void *key)
{
    return unit_cmp(&((const struct unit *)in)[place], key);
}

const struct unit *units_find(struct units set, struct str name, int32_t partition)
{
    struct unit wanted = {.name = name, .partition = partition};
    int32_t place = sorted_find(set.v, set.len, unit_order, &wanted);
    return place >= 0 ? &set.v[place] : NULL;
}

bool units_equal(struct units a, struct units b)
{
    if (a.len != b.len) {
        return false;
    }
    for (int32_t i = 0; i < a.len; i++) {
        if (unit_cmp(&a.v[i], &b.v[i]) != 0) {
            return false;
        }
    }
    return true;
}

bool units_same(struct units a, struct units b)
{
    if (!units_equal(a, b)) {
        return false;
    }
    for (int32_t i = 0; i < a.len; i++) {
        if (a.v[i].epoch != b.v[i].epoch) {
            return false;
        }
    }
    return true;
}

bool units_within(struct units inner, struct units outer)
{
    int32_t o = 0;
    for (int32_t i = 0; i < inner.len; i++) {
        while (o < outer.len && unit_cmp(&outer.v[o], &inner.v[i]) < 0) {
            o++;
        }
        if (o == outer.len || unit_cmp(&outer.v[o], &inner.v[i]) != 0) {
            return false;
        }
    }
    return true;
}

bool units_meet(struct units a, struct units b)
{
    int32_t i = 0, j = 0;
    while (i < a.len && j < b.len) {
        int order = unit_cmp(&a.v[i], &b.v[j]);
        if (order == 0) {
            return true;
        }
        if (order < 0) {
            i++;
        } else {
            j++;
        }
    }
    return false;
}

bool holding_equal(const struct holding *a, const struct holding *b)
{
    for (int k = 0; k < UNIT_KINDS; k++) {
        if (!units_equal(a->kind[k], b->kind[k])) {
            return false;
        }
    }
    return true;
}

bool holding_same(const struct holding *a, const struct holding *b)
{
    for (int k = 0; k < UNIT_KINDS; k++) {
        if (!units_same(a->kind[k], b->kind[k])) {
            return false;
        }
    }
    return true;
}

bool holding_within(const struct holding *inner, const struct holding *outer)
{
    for (int k = 0; k < UNIT_KINDS; k++) {
        if (!units_within(inner->kind[k], outer->kind[k])) {
            return false;
        }
    }
    return true;
}

bool holding_meet(const struct holding *a, const struct holding *b)
{
    for (int k = 0; k < UNIT_KINDS; k++) {
        if (units_meet(a->kind[k], b->kind[k])) {
            return true;
        }
    }
    return false;
}

int32_t holding_count(const struct holding *h)
{
    int32_t count = 0;
    for (int k = 0; k < UNIT_KINDS; k++) {
        count += h->kind[k].len;
    }
    return count;
}

/* a's elements that are in b, or those that are not. */
static struct units units_picked(struct units a, struct units b, bool in_b, struct arena *arena)
{
    struct unit *v = ARENA_NEW(arena, struct unit, a.len);
    int32_t len = 0, j = 0;
    for (int32_t i = 0; i < a.len; i++) {
        while (j < b.len && unit_cmp(&b.v[j], &a.v[i]) < 0) {
            j++;
        }
        bool found = j < b.len && unit_cmp(&b.v[j], &a.v[i]) == 0;
        if (found == in_b) {
            v[len++] = a.v[i];
        }
    }
    return (struct units){v, len};
}

struct units units_minus(struct units a, struct units b, struct arena *arena)
{
    return units_picked(a, b, false, arena);
}

struct units units_both(struct units a, struct units b, struct arena *arena)
{
    return units_picked(a, b, true, arena);
}

/* Two sorted runs into one; of equal elements a's comes first, and b's is dropped when the runs are sets. Returns how many there are. */
static int32_t merge(struct units a, struct units b, bool sets, struct unit *ret)
{
    int32_t len = 0, i = 0, j = 0;
    while (i < a.len || j < b.len) {
        int order = j == b.len ? -1 : i == a.len ? 1 : unit_cmp(&a.v[i], &b.v[j]);
        ret[len++] = order <= 0 ? a.v[i++] : b.v[j++];
        if (sets && order == 0) {
            j++;
        }
    }
    return len;
}

struct units units_join(struct units a, struct units b, struct arena *arena)
{
    struct unit *v = ARENA_NEW(arena, struct unit, (size_t)a.len + (size_t)b.len);
    return (struct units){v, merge(a, b, true, v)};
}

/* ---- building --------------------------------------------------------------------------------------------------------------- */

void unit_list_init(struct unit_list *l, struct arena *arena)
{
    *l = (struct unit_list){.arena = arena};
}

void unit_list_add(struct unit_list *l, struct str name, int32_t partition, int32_t epoch)
{
    if (l->len == l->cap) {
        MUSTER_CHECK(l->cap <= INT32_MAX / 2);
        int32_t cap = l->cap == 0 ? 8 : l->cap * 2;
        struct unit *v = ARENA_NEW(l->arena, struct unit, cap);
        if (l->len > 0) {
            memcpy(v, l->v, (size_t)l->len * sizeof(*v));
        }
        l->v = v;
        l->cap = cap;
    }
    l->v[l->len++] = (struct unit){name, partition, epoch};
}

static bool sorted(const struct unit_list *l)
{
    for (int32_t i = 1; i < l->len; i++) {
        if (unit_cmp(&l->v[i - 1], &l->v[i]) >= 0) {
            return false;
        }
    }
    return true;
}

/* Stable: runs of 1, 2, 4, ... are merged between the list and a second array. */
static void sort(struct unit_list *l)
{
    struct unit *from = l->v, *to = ARENA_NEW(l->arena, struct unit, l->len);
    for (int64_t run = 1; run < l->len; run *= 2) {
        for (int64_t at = 0; at < l->len; at += 2 * run) {
            int64_t left = l->len - at < run ? l->len - at : run;
            int64_t right = l->len - at - left < run ? l->len - at - left : run;
            struct units a = {from + at, (int32_t)left};
            struct units b = {from + at + left, (int32_t)right};
            merge(a, b, false, to + at);
        }
        struct unit *merged = to;
        to = from;
        from = merged;
    }
    l->v = from;
    l->cap = l->len;
}

struct units unit_list_finish(struct unit_list *l)
{
    if (!sorted(l)) { /* which is how clients and records mostly have it */
        sort(l);
        int32_t len = 1;
        for (int32_t i = 1; i < l->len; i++) {
            if (unit_cmp(&l->v[i], &l->v[len - 1]) != 0) {
                l->v[len++] = l->v[i];
            }
        }
        l->len = len;
    }
    return (struct units){l->v, l->len};
}

/* ---- reported ------------------------------------------------------------------------------------------------------------------- */

/* Where the first one is that is not before that unit. */
static int32_t units_place(struct units set, struct str name, int32_t partition)
{
    struct unit wanted = {.name = name, .partition = partition};
    int32_t low = 0, high = set.len;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (unit_cmp(&set.v[middle], &wanted) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

void unit_report_init(struct unit_report *r, struct units known, struct arena *arena)
{
    *r = (struct unit_report){.known = known, .said = ARENA_NEW(arena, bool, known.len), .arena = arena};
}

void unit_report_add(struct unit_report *r, struct str name, const int32_t *partitions, int32_t count)
{
    const struct unit *v = r->known.v;
    int32_t first = units_place(r->known, name, INT32_MIN), end = units_place(r->known, name, INT32_MAX);
    end += end < r->known.len && str_eq(v[end].name, name) ? 1 : 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t low = first, high = end;
        while (low < high) {
            int32_t middle = low + (high - low) / 2;
            if (v[middle].partition < partitions[i]) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if (low < end && v[low].partition == partitions[i]) {
            r->said[low] = true;
        } else if (!r->strange) {
            r->strange = true;
            r->stranger = (struct unit){.name = arena_str(r->arena, name), .partition = partitions[i]};
        }
    }
}

struct units unit_report_finish(struct unit_report *r)
{
    struct unit_list list;
    unit_list_init(&list, r->arena);
    for (int32_t i = 0; i < r->known.len; i++) {
        if (r->said[i]) {
            unit_list_add(&list, r->known.v[i].name, r->known.v[i].partition, 0);
        }
    }
    if (r->strange) {
        unit_list_add(&list, r->stranger.name, r->stranger.partition, 0);
    }
    return unit_list_finish(&list);
}

/* ---- kept ---------------------------------------------------------------------------------------------------------------------- */

/* One text for all units that follow each other with the same name. */
static bool same_as_before(struct units set, int32_t i)
{
    return i > 0 && str_eq(set.v[i].name, set.v[i - 1].name);
}

static size_t name_bytes(struct units set)
{
    size_t bytes = 0;
    for (int32_t i = 0; i < set.len; i++) {
        if (!same_as_before(set, i) && set.v[i].name.len > 0) {
            bytes += (size_t)set.v[i].name.len;
        }
    }
    return bytes;
}

static struct units units_kept(struct units set, struct unit *v, char **names)
{
    for (int32_t i = 0; i < set.len; i++) {
        v[i] = set.v[i];
        if (same_as_before(set, i)) {
            v[i].name = v[i - 1].name;
            continue;
        }
        v[i].name.ptr = *names;
        if (set.v[i].name.len > 0) {
            memcpy(*names, set.v[i].name.ptr, (size_t)set.v[i].name.len);
            *names += set.v[i].name.len;
        }
    }
    return (struct units){v, set.len};
}

struct held *held_new(struct pool *pool, const struct holding *h)
{
    size_t units = 0, names = 0;
    for (int k = 0; k < UNIT_KINDS; k++) {
        units += (size_t)h->kind[k].len;
        names += name_bytes(h->kind[k]);
    }
    size_t bytes = sizeof(struct held) + units * sizeof(struct unit) + names;
    struct held *held = pool_get(pool, bytes);
    held->references = 1;
    held->bytes = bytes;
    struct unit *v = (struct unit *)(held + 1);
    char *text = (char *)(v + units);
    for (int k = 0; k < UNIT_KINDS; k++) {
        held->holding.kind[k] = units_kept(h->kind[k], v, &text);
        v += h->kind[k].len;
    }
    return held;
}

void held_put(struct pool *pool, struct held *h)
{
    if (h == NULL) {
        return;
    }
    MUSTER_CHECK(h->references > 0);
    h->references--;
    if (h->references == 0) {
        pool_put(pool, h, h->bytes);
    }
}
