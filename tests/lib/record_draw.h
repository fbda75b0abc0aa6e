/* record_draw.h: what records as chance has it are made of; of few groups, members and names, so that they meet. */
#ifndef MUSTER_TESTS_RECORD_DRAW_H
#define MUSTER_TESTS_RECORD_DRAW_H

#include <muster/messages.h>
#include <string.h>

struct record_draw {
    void *ctx;
    uint64_t (*below)(void *ctx, uint64_t bound); /* the chance: less than bound */
    struct arena *arena;
    int groups, members; /* how many of each */
};

static inline uint64_t drawn_below(struct record_draw *d, uint64_t bound)
{
    return d->below(d->ctx, bound);
}

static inline struct str drawn_name(struct record_draw *d, const char *prefix, int count)
{
    return arena_printf(d->arena, "%s%d", prefix, (int)drawn_below(d, (uint64_t)count));
}

static inline struct str drawn_group(struct record_draw *d)
{
    return drawn_name(d, "g-", d->groups);
}

static inline struct str drawn_member(struct record_draw *d)
{
    return drawn_name(d, "m-", d->members);
}

static inline struct str drawn_maybe(struct record_draw *d, struct str s)
{
    return drawn_below(d, 3) == 0 ? STR_NULL : s;
}

/* Small ones mostly. */
static inline int32_t drawn_number(struct record_draw *d)
{
    static const int32_t extremes[] = {-1, -2, INT32_MAX, INT32_MIN};
    return drawn_below(d, 12) == 0 ? extremes[drawn_below(d, COUNT_OF(extremes))] : (int32_t)drawn_below(d, 6);
}

static inline struct str_array drawn_names(struct record_draw *d, const char *prefix)
{
    struct str_array a = {ARENA_NEW(d->arena, struct str, 4), (int32_t)drawn_below(d, 5)};
    for (int32_t i = 0; i < a.len; i++) {
        a.v[i] = drawn_name(d, prefix, 6);
    }
    return a;
}

/* Ascending without repetitions, as this version writes them, or as it comes. */
static inline struct int32_array drawn_partitions(struct record_draw *d)
{
    struct int32_array a = {ARENA_NEW(d->arena, int32_t, 4), (int32_t)drawn_below(d, 5)};
    bool tidy = drawn_below(d, 4) != 0;
    for (int32_t i = 0; i < a.len; i++) {
        a.v[i] = tidy ? (i == 0 ? 0 : a.v[i - 1] + 1) + (int32_t)drawn_below(d, 2) : drawn_number(d);
    }
    return a;
}

/* With a tagged field that nobody here knows, as a later version may write it. The value ends with an empty section of them. */
static inline struct bytes drawn_with_unknown_tag(struct record_draw *d, struct bytes value)
{
    static const uint8_t tag[] = {1, 0xa0, 0x9c, 0x01, 2, 'h', 'i'}; /* one: number 20000, two bytes */
    uint8_t *longer = arena_get(d->arena, (size_t)value.len - 1 + sizeof tag);
    memcpy(longer, value.ptr, (size_t)value.len - 1);
    memcpy(longer + value.len - 1, tag, sizeof tag);
    return (struct bytes){longer, value.len - 1 + (int32_t)sizeof tag};
}

#endif
