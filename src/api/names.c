/* names.c: names in order, and which of them are the same, in time that a client cannot blow up. */
#include "internal.h"

static bool before(const struct str *names, int32_t a, int32_t b)
{
    int order = str_cmp(names[a], names[b]);
    return order != 0 ? order < 0 : a < b;
}

static void sift_down(const struct str *names, int32_t *heap, int32_t at, int32_t len)
{
    for (int32_t child = 2 * at + 1; child < len; at = child, child = 2 * at + 1) {
        if (child + 1 < len && before(names, heap[child], heap[child + 1])) {
            child++;
        }
        if (!before(names, heap[at], heap[child])) {
            return;
        }
        int32_t held = heap[at];
        heap[at] = heap[child];
        heap[child] = held;
    }
}

int32_t *names_in_order(const struct str *names, int32_t len, struct arena *arena)
{
    int32_t *heap = ARENA_NEW(arena, int32_t, len);
    for (int32_t i = 0; i < len; i++) {
        heap[i] = i;
    }
    for (int32_t at = len / 2 - 1; at >= 0; at--) {
        sift_down(names, heap, at, len);
    }
    for (int32_t end = len - 1; end > 0; end--) {
        int32_t last = heap[0];
        heap[0] = heap[end];
        heap[end] = last;
        sift_down(names, heap, 0, end);
    }
    return heap;
}

static uint64_t name_hash(struct str name, uint64_t seed)
{
    return name.len > 0 ? hash_bytes(name.ptr, (size_t)name.len, seed) : (uint64_t)(int64_t)name.len;
}

/* A table of places. The seed is an address, which clients do not know: they cannot choose names that fall on one place. */
int32_t *names_first(const struct str *names, int32_t len, struct arena *arena)
{
    size_t cap = 16;
    while (cap < (size_t)len * 2) {
        cap *= 2;
    }
    int32_t *table = ARENA_NEW(arena, int32_t, cap); /* place + 1; 0: free */
    int32_t *first = ARENA_NEW(arena, int32_t, len);
    for (int32_t i = 0; i < len; i++) {
        size_t at = name_hash(names[i], (uint64_t)(uintptr_t)table) & (cap - 1);
        while (table[at] != 0 && !str_eq(names[table[at] - 1], names[i])) {
            at = (at + 1) & (cap - 1);
        }
        if (table[at] == 0) {
            table[at] = i + 1;
        }
        first[i] = table[at] - 1;
    }
    return first;
}

bool *names_repeated(const struct str *names, int32_t len, struct arena *arena)
{
    const int32_t *first = names_first(names, len, arena);
    bool *repeated = ARENA_NEW(arena, bool, len);
    for (int32_t i = 0; i < len; i++) {
        repeated[i] = first[i] != i;
    }
    return repeated;
}
