#include "timer.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BUCKETS = 64 };

static uint64_t hash_of(const struct group_timer *what)
{
    uint64_t h = hash_bytes(what->group_id.ptr, what->group_id.len > 0 ? (size_t)what->group_id.len : 0, (uint64_t)what->kind);
    return what->member_id.len > 0 ? hash_bytes(what->member_id.ptr, (size_t)what->member_id.len, h) : h;
}

static bool same_name(const struct group_timer *a, const struct group_timer *b)
{
    bool no_member = str_is_empty(a->member_id) && str_is_empty(b->member_id);
    return a->kind == b->kind && str_eq(a->group_id, b->group_id) && (no_member || str_eq(a->member_id, b->member_id));
}

static void *need(void *memory)
{
    MUSTER_CHECK(memory != NULL);
    return memory;
}

void timer_set_init(struct timer_set *t)
{
    memset(t, 0, sizeof(*t));
    t->bucket_count = FIRST_BUCKETS;
    t->buckets = need(calloc(t->bucket_count, sizeof(struct timer *)));
}

static void timer_free(struct timer *timer)
{
    free((void *)(uintptr_t)timer->what.group_id.ptr);
    free(timer);
}

void timer_set_clear(struct timer_set *t)
{
    for (size_t i = 0; i < t->bucket_count; i++) {
        while (t->buckets[i] != NULL) {
            struct timer *timer = t->buckets[i];
            t->buckets[i] = timer->chain;
            timer_free(timer);
        }
    }
    t->heap_len = 0;
    t->count = 0;
}

void timer_set_fini(struct timer_set *t)
{
    if (t->buckets == NULL)
        return;
    timer_set_clear(t);
    free(t->buckets);
    free(t->heap);
    memset(t, 0, sizeof(*t));
}

/* ---- the heap: a binary heap by heap_us, equal ones by age so that a run can be repeated ---- */

static bool earlier(const struct timer *a, const struct timer *b)
{
    return a->heap_us != b->heap_us ? a->heap_us < b->heap_us : a->order < b->order;
}

static void heap_set(struct timer_set *t, size_t at, struct timer *timer)
{
    t->heap[at] = timer;
    timer->heap_at = at;
}

static void heap_up(struct timer_set *t, size_t at)
{
    struct timer *moving = t->heap[at];
    while (at > 0 && earlier(moving, t->heap[(at - 1) / 2])) {
        heap_set(t, at, t->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_set(t, at, moving);
}

static void heap_down(struct timer_set *t, size_t at)
{
    struct timer *moving = t->heap[at];
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= t->heap_len)
            break;
        if (child + 1 < t->heap_len && earlier(t->heap[child + 1], t->heap[child]))
            child++;
        if (!earlier(t->heap[child], moving))
            break;
        heap_set(t, at, t->heap[child]);
        at = child;
    }
    heap_set(t, at, moving);
}

static void heap_add(struct timer_set *t, struct timer *timer)
{
    if (t->heap_len == t->heap_cap) {
        t->heap_cap = t->heap_cap == 0 ? FIRST_BUCKETS : 2 * t->heap_cap;
        t->heap = need(realloc(t->heap, t->heap_cap * sizeof(struct timer *)));
    }
    timer->heap_us = timer->deadline_us;
    heap_set(t, t->heap_len++, timer);
    heap_up(t, timer->heap_at);
}

static void heap_remove(struct timer_set *t, struct timer *timer)
{
    size_t at = timer->heap_at;
    MUSTER_CHECK(at < t->heap_len && t->heap[at] == timer);
    struct timer *last = t->heap[--t->heap_len];
    timer->heap_at = SIZE_MAX;
    if (last == timer)
        return;
    heap_set(t, at, last);
    heap_up(t, at);
    heap_down(t, last->heap_at);
}

/* ---- the table ---- */

static void grow(struct timer_set *t)
{
    size_t count = 2 * t->bucket_count;
    struct timer **buckets = need(calloc(count, sizeof(struct timer *)));
    for (size_t i = 0; i < t->bucket_count; i++) {
        while (t->buckets[i] != NULL) {
            struct timer *timer = t->buckets[i];
            t->buckets[i] = timer->chain;
            timer->chain = buckets[timer->hash & (count - 1)];
            buckets[timer->hash & (count - 1)] = timer;
        }
    }
    free(t->buckets);
    t->buckets = buckets;
    t->bucket_count = count;
}

static struct timer *find_hashed(const struct timer_set *t, const struct group_timer *what, uint64_t hash)
{
    struct timer *timer = t->buckets[hash & (t->bucket_count - 1)];
    while (timer != NULL && (timer->hash != hash || !same_name(&timer->what, what)))
        timer = timer->chain;
    return timer;
}

struct timer *timer_find(const struct timer_set *t, const struct group_timer *what)
{
    return find_hashed(t, what, hash_of(what));
}

/* Both ids in one block of memory, so that a timer is two allocations. */
static void copy_ids(struct group_timer *dst, const struct group_timer *src)
{
    size_t group_len = src->group_id.len > 0 ? (size_t)src->group_id.len : 0;
    size_t member_len = src->member_id.len > 0 ? (size_t)src->member_id.len : 0;
    char *block = need(malloc(group_len + member_len + 1));
    if (group_len > 0)
        memcpy(block, src->group_id.ptr, group_len);
    if (member_len > 0)
        memcpy(block + group_len, src->member_id.ptr, member_len);
    dst->group_id = (struct str){block, (int32_t)group_len};
    dst->member_id = (struct str){block + group_len, (int32_t)member_len};
}

static struct timer *add(struct timer_set *t, const struct group_timer *what, uint64_t hash)
{
    if (t->count >= t->bucket_count)
        grow(t);
    struct timer *timer = need(calloc(1, sizeof(*timer)));
    timer->hash = hash;
    timer->order = ++t->next_order;
    timer->heap_at = SIZE_MAX;
    timer->what = *what;
    copy_ids(&timer->what, what);
    timer->chain = t->buckets[hash & (t->bucket_count - 1)];
    t->buckets[hash & (t->bucket_count - 1)] = timer;
    t->count++;
    return timer;
}

struct timer *timer_arm(struct timer_set *t, const struct group_timer *what, int64_t deadline_us, uint64_t connection)
{
    uint64_t hash = hash_of(what);
    struct timer *timer = find_hashed(t, what, hash);
    if (timer == NULL)
        timer = add(t, what, hash);
    timer->what.epoch = what->epoch;
    timer->what.remaining_ms = what->remaining_ms;
    timer->what.seen_members = what->seen_members;
    timer->deadline_us = deadline_us;
    timer->serial = ++t->next_serial;
    if (connection != 0 && connection != timer->connection) {
        timer->connection = connection;
        timer->told_ms = 0;
    }
    if (timer->heap_at == SIZE_MAX) {
        heap_add(t, timer);
    } else if (deadline_us < timer->heap_us) {
        timer->heap_us = deadline_us;
        heap_up(t, timer->heap_at);
    }
    return timer;
}

static void forget(struct timer_set *t, struct timer *timer)
{
    if (timer->heap_at != SIZE_MAX)
        heap_remove(t, timer);
    struct timer **link = &t->buckets[timer->hash & (t->bucket_count - 1)];
    while (*link != timer)
        link = &(*link)->chain;
    *link = timer->chain;
    t->count--;
    timer_free(timer);
}

void timer_cancel(struct timer_set *t, const struct group_timer *what)
{
    struct timer *timer = timer_find(t, what);
    if (timer != NULL)
        forget(t, timer);
}

struct timer *timer_fire(struct timer_set *t, int64_t live_us)
{
    while (t->heap_len > 0 && t->heap[0]->heap_us <= live_us) {
        struct timer *timer = t->heap[0];
        if (timer->deadline_us <= live_us) {
            heap_remove(t, timer);
            return timer;
        }
        timer->heap_us = timer->deadline_us;
        heap_down(t, 0);
    }
    return NULL;
}

void timer_decided(struct timer_set *t, const struct group_timer *what, uint64_t serial)
{
    struct timer *timer = timer_find(t, what);
    if (timer != NULL && timer->serial == serial && timer->heap_at == SIZE_MAX)
        forget(t, timer);
}

int64_t timer_next_us(const struct timer_set *t)
{
    return t->heap_len > 0 ? t->heap[0]->heap_us : INT64_MAX;
}
