/* names.c: names in order, in time that a client cannot blow up: heap sort of their places. */
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

bool *names_repeated(const struct str *names, int32_t len, struct arena *arena)
{
    int32_t *order = names_in_order(names, len, arena);
    bool *repeated = ARENA_NEW(arena, bool, len);
    for (int32_t i = 1; i < len; i++) {
        repeated[order[i]] = str_eq(names[order[i - 1]], names[order[i]]);
    }
    return repeated;
}
