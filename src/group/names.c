/* names.c: an open table of keys, at most half full. The order of its slots is never seen by anyone. */
#include "names.h"

void names_init(struct names *n, struct arena *arena, int32_t count)
{
    MUSTER_CHECK(count >= 0);
    uint32_t size = 4;
    while (size < (uint32_t)count * 2) {
        size *= 2;
    }
    n->slots = ARENA_NEW(arena, struct name_slot, size);
    n->mask = size - 1;
}

/* The slot that holds the key, or the empty one where it belongs. */
static struct name_slot *names_slot(const struct names *n, struct bytes key)
{
    uint32_t at = (uint32_t)hash_bytes(key.ptr, (size_t)(key.len > 0 ? key.len : 0), 0) & n->mask;
    while (n->slots[at].key.ptr != NULL && !bytes_eq(n->slots[at].key, key)) {
        at = (at + 1) & n->mask;
    }
    return &n->slots[at];
}

int32_t names_add(struct names *n, struct bytes key, int32_t number)
{
    if (key.len <= 0) {
        key = (struct bytes){(const uint8_t *)"", 0};
    }
    struct name_slot *slot = names_slot(n, key);
    if (slot->key.ptr != NULL) {
        return slot->number;
    }
    *slot = (struct name_slot){.key = key, .number = number};
    return -1;
}

int32_t names_find(const struct names *n, struct bytes key)
{
    if (key.len <= 0) {
        key = (struct bytes){(const uint8_t *)"", 0};
    }
    const struct name_slot *slot = names_slot(n, key);
    return slot->key.ptr != NULL ? slot->number : -1;
}

void names_repeats(const struct str *v, int32_t len, struct arena *arena, struct repeats *ret)
{
    struct names seen;
    names_init(&seen, arena, len);
    ret->first = ARENA_NEW(arena, int32_t, len);
    ret->times = ARENA_NEW(arena, int32_t, len);
    for (int32_t i = 0; i < len; i++) {
        int32_t at = names_add(&seen, bytes_of_str(v[i]), i);
        ret->first[i] = at < 0 ? i : at;
        ret->times[ret->first[i]]++;
    }
}

/* A merge sort: the names come from clients, in whatever order hurts. */
int32_t *names_sort(const struct str *v, int32_t len, struct arena *arena)
{
    int32_t *from = ARENA_NEW(arena, int32_t, len);
    int32_t *to = ARENA_NEW(arena, int32_t, len);
    for (int32_t i = 0; i < len; i++) {
        from[i] = i;
    }
    for (int64_t width = 1; width < len; width *= 2) {
        for (int64_t start = 0; start < len; start += 2 * width) {
            int64_t middle = start + width < len ? start + width : len;
            int64_t end = middle + width < len ? middle + width : len;
            int64_t left = start;
            int64_t right = middle;
            for (int64_t at = start; at < end; at++) {
                bool take_left = left < middle && (right >= end || str_cmp(v[from[left]], v[from[right]]) <= 0);
                to[at] = take_left ? from[left++] : from[right++];
            }
        }
        int32_t *swap = from;
        from = to;
        to = swap;
    }
    return from;
}

/* ---- Java's hash tables ---------------------------------------------------------------------------------------------------------------- */

uint32_t java_hash(struct str s)
{
    uint32_t hash = 0;
    for (int32_t i = 0; i < s.len; i++) {
        hash = 31 * hash + (uint8_t)s.ptr[i];
    }
    return hash;
}

uint32_t java_buckets(int32_t count)
{
    uint32_t buckets = 16;
    while ((uint32_t)count > buckets / 4 * 3) {
        buckets *= 2;
    }
    return buckets;
}

uint32_t java_bucket(uint32_t hash, uint32_t buckets)
{
    return (hash ^ hash >> 16) & (buckets - 1);
}
