/* sorted.h: places in what is kept in order, each key once. */
#ifndef MUSTER_GROUP_SORTED_H
#define MUSTER_GROUP_SORTED_H

#include <muster/base.h>

/* How the element at that place stands to the key: less than 0 before it, 0 it is the one. */
typedef int sorted_order(const void *in, int32_t place, const void *key);

/* Where the key is among the first `count` elements, or belongs. Inlined with its order: it stands where every heartbeat comes by. */
static inline __attribute__((always_inline)) int32_t sorted_place(const void *in, int32_t count, sorted_order *order, const void *key,
                                                                  bool *ret_found)
{
    int32_t low = 0, high = count;
    *ret_found = false;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        int is = order(in, middle, key);
        if (is == 0) {
            *ret_found = true;
            return middle;
        }
        if (is < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The same of a key that has no place to be put at: -1, it is not there. */
static inline __attribute__((always_inline)) int32_t sorted_find(const void *in, int32_t count, sorted_order *order, const void *key)
{
    bool found;
    int32_t place = sorted_place(in, count, order, key, &found);
    return found ? place : -1;
}

static inline int sorted_str_order(const void *in, int32_t place, const void *key)
{
    return str_cmp(((const struct str *)in)[place], *(const struct str *)key);
}

static inline int32_t str_sorted_find(const struct str *in, int32_t count, struct str key)
{
    return sorted_find(in, count, sorted_str_order, &key);
}

#endif
