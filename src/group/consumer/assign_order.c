/* assign_order.c: in which order members are taken. Nothing good or bad follows from it, but clients that come to muster from Kafka, or are compared
 * with it, find the same partitions. */
#include "assign_draft.h"

#include "../names.h"

const int32_t *order_of_range(const struct consumer_assign_input *in, struct arena *arena)
{
    int32_t *order = ARENA_NEW(arena, int32_t, in->member_count), *fixed = ARENA_NEW(arena, int32_t, in->member_count);
    struct str *instances = ARENA_NEW(arena, struct str, in->member_count);
    int32_t statics = 0, at = 0;
    for (int32_t m = 0; m < in->member_count; m++) {
        if (!str_is_null(in->members[m].instance_id)) {
            fixed[statics] = m;
            instances[statics++] = in->members[m].instance_id;
        }
    }
    const int32_t *sorted = names_sort(instances, statics, arena);
    for (int32_t i = 0; i < statics; i++) {
        order[at++] = fixed[sorted[i]];
    }
    for (int32_t m = 0; m < in->member_count; m++) {
        if (str_is_null(in->members[m].instance_id)) {
            order[at++] = m;
        }
    }
    return order;
}

/* ---- as Java's hash tables have it -------------------------------------------------------------------------------------------------------- */

/* Those of a list in order of their keys, which are below a bound; equal ones as they stand. */
static int32_t *sorted_by(const uint32_t *keys, uint32_t bound, const int32_t *list, int32_t len, struct arena *arena)
{
    int32_t *sorted = ARENA_NEW(arena, int32_t, len), *next = ARENA_NEW(arena, int32_t, (size_t)bound + 1);
    for (int32_t i = 0; i < len; i++) {
        next[keys[i] + 1]++;
    }
    for (uint32_t k = 0; k < bound; k++) {
        next[k + 1] += next[k];
    }
    for (int32_t i = 0; i < len; i++) {
        sorted[next[keys[list[i]]]++] = list[i];
    }
    return sorted;
}

/* Members are put into a table for the assignor: at most three quarters full, spread by the low bits of the hash. They come from one that may be fuller and
 * goes by the high bits of a product; that is their order where they meet in a bucket. Where they meet in both, the last one to join comes first; who that
 * is, nobody here knows any more, so the last one by id does. */
const int32_t *order_of_uniform(const struct consumer_assign_input *in, struct arena *arena)
{
    int32_t n = in->member_count, *order = ARENA_NEW(arena, int32_t, n);
    uint32_t *slot = ARENA_NEW(arena, uint32_t, n), *bucket = ARENA_NEW(arena, uint32_t, n);
    uint32_t buckets = java_buckets(n);
    unsigned bits = 1;
    while ((uint64_t)n * 3 > (uint64_t)4 << bits) {
        bits++;
    }
    for (int32_t m = 0; m < n; m++) {
        uint32_t hash = java_hash(in->members[m].member_id);
        slot[m] = (uint32_t)((uint64_t)(int32_t)hash * 0x9E3779B97F4A7C15u >> (64 - bits));
        bucket[m] = java_bucket(hash, buckets);
        order[n - 1 - m] = m;
    }
    order = sorted_by(slot, 1u << bits, order, n, arena);
    return sorted_by(bucket, buckets, order, n, arena);
}
