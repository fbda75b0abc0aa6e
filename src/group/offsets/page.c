/* page.c: offsets as bytes. One of them:
 *
 *     what it has (1)  place (1)  offset  [leader epoch]  clock  wall clock  [expiry]  [length, metadata]  [topic id (16)]
 *
 * Numbers are as wide as they need to be, seven bits a byte, small ones of either sign short; times are told as differences from those of the offset before. */
#include "page.h"

#include <string.h>

enum {
    HAS_EPOCH = 1,    /* -1 without */
    HAS_EXPIRY = 2,   /* -1 without */
    HAS_METADATA = 4, /* empty without */
    HAS_ID = 8,       /* the page's without */
    NULL_METADATA = 16
};
enum { EXCHANGE_BYTES = 512 }; /* two offsets with short metadata */
enum { PAGE_STEP_BYTES = 32 };
enum { NUMBER_BYTES = 10 }; /* the widest one */

/* ---- writing --------------------------------------------------------------------------------------------------------------- */

struct packer {
    uint8_t *at;
    size_t room; /* bytes there; what does not fit is only counted */
    size_t size;
};

static void put(struct packer *k, const void *bytes, size_t len)
{
    if (len > 0 && k->size + len <= k->room) {
        memcpy(k->at + k->size, bytes, len);
    }
    k->size += len;
}

static void put_byte(struct packer *k, uint8_t byte)
{
    if (k->size < k->room) {
        k->at[k->size] = byte;
    }
    k->size++;
}

static void put_number(struct packer *k, uint64_t n)
{
    if (k->size + NUMBER_BYTES > k->room) {
        for (; n >= 0x80; n >>= 7) {
            put_byte(k, (uint8_t)(n | 0x80));
        }
        put_byte(k, (uint8_t)n);
        return;
    }
    uint8_t *at = k->at + k->size;
    for (; n >= 0x80; n >>= 7) {
        *at++ = (uint8_t)(n | 0x80);
    }
    *at++ = (uint8_t)n;
    k->size = (size_t)(at - k->at);
}

/* 0, -1, 1, -2, 2 and so on as 0, 1, 2, 3, 4. */
static void put_signed(struct packer *k, uint64_t n)
{
    put_number(k, n << 1 ^ (0 - (n >> 63)));
}

static uint8_t what_it_has(const struct offset *o, struct uuid page_id)
{
    int has = (o->leader_epoch != -1 ? HAS_EPOCH : 0) | (o->expire_clock_ms != -1 ? HAS_EXPIRY : 0) |
              (o->metadata.len > 0 ? HAS_METADATA : 0) | (o->metadata.len < 0 ? NULL_METADATA : 0) |
              (uuid_eq(o->topic_id, page_id) ? 0 : HAS_ID);
    return (uint8_t)has;
}

static void pack(struct packer *k, const struct offset *o, const struct offset *before, struct uuid page_id)
{
    uint8_t has = what_it_has(o, page_id);
    put_byte(k, has);
    put_byte(k, (uint8_t)(o->partition & (OFFSET_PAGE_PLACES - 1)));
    put_signed(k, (uint64_t)o->offset);
    if ((has & HAS_EPOCH) != 0) {
        put_signed(k, (uint64_t)(int64_t)o->leader_epoch);
    }
    put_signed(k, (uint64_t)o->commit_clock_ms - (uint64_t)before->commit_clock_ms);
    put_signed(k, (uint64_t)o->commit_wall_ms - (uint64_t)before->commit_wall_ms);
    if ((has & HAS_EXPIRY) != 0) {
        put_signed(k, (uint64_t)o->expire_clock_ms);
    }
    if ((has & HAS_METADATA) != 0) {
        put_number(k, (uint64_t)o->metadata.len);
        put(k, o->metadata.ptr, (size_t)o->metadata.len);
    }
    if ((has & HAS_ID) != 0) {
        put(k, &o->topic_id, sizeof(o->topic_id));
    }
}

static size_t pack_all(uint8_t *to, size_t room, const struct offset *all, int32_t len)
{
    struct packer k = {.at = to, .room = room};
    struct offset none = {0};
    for (int32_t i = 0; i < len; i++) {
        pack(&k, &all[i], i == 0 ? &none : &all[i - 1], all[0].topic_id);
    }
    return k.size;
}

/* In steps, so that a page which is filled one offset after the other is not moved for each of them. They are every other one of the allocator's, which has 8 bytes
 * of its own beside what it gives. */
static size_t page_bytes(size_t size)
{
    return (offsetof(struct offset_page, data) + size - 8 + PAGE_STEP_BYTES - 1) / PAGE_STEP_BYTES * PAGE_STEP_BYTES + 8;
}

void page_pack(struct pool *pool, struct offset_page **page, struct topic_name *topic, const struct offset *all, int32_t len)
{
    MUSTER_CHECK(len > 0 && len <= OFFSET_PAGE_PLACES);
    size_t size = pack_all(NULL, 0, all, len);
    MUSTER_CHECK(size <= UINT32_MAX);
    struct offset_page *p = pool_get(pool, page_bytes(size));
    p->topic = topic;
    p->first = page_first(all[0].partition);
    p->size = (uint32_t)size;
    p->count = (uint8_t)len;
    p->topic_id = all[0].topic_id;
    pack_all(p->data, size, all, len);
    page_free(pool, *page);
    *page = p;
}

void page_free(struct pool *pool, struct offset_page *page)
{
    if (page != NULL) {
        pool_put(pool, page, page_bytes(page->size));
    }
}

/* ---- reading: what page_pack() wrote, and nothing else --------------------------------------------------------------------- */

static uint64_t get_number(const uint8_t **next)
{
    const uint8_t *at = *next;
    uint64_t n = *at & 0x7f;
    for (int shift = 7; (*at++ & 0x80) != 0; shift += 7) {
        n |= (uint64_t)(*at & 0x7f) << shift;
    }
    *next = at;
    return n;
}

static uint64_t get_signed(const uint8_t **next)
{
    uint64_t n = get_number(next);
    return n >> 1 ^ (0 - (n & 1));
}

static void get(const uint8_t **next, void *to, size_t len)
{
    memcpy(to, *next, len);
    *next += len;
}

const uint8_t *page_begin(const struct offset_page *p, struct offset *at)
{
    *at = (struct offset){.topic = p->topic};
    return p->data;
}

static inline const uint8_t *read_one(const struct offset_page *p, const uint8_t *next, struct offset *at)
{
    uint8_t has = *next++;
    at->partition = p->first + *next++;
    at->offset = (int64_t)get_signed(&next);
    at->leader_epoch = (has & HAS_EPOCH) != 0 ? (int32_t)get_signed(&next) : -1;
    at->commit_clock_ms = (int64_t)((uint64_t)at->commit_clock_ms + get_signed(&next));
    at->commit_wall_ms = (int64_t)((uint64_t)at->commit_wall_ms + get_signed(&next));
    at->expire_clock_ms = (has & HAS_EXPIRY) != 0 ? (int64_t)get_signed(&next) : -1;
    at->metadata = (has & NULL_METADATA) != 0 ? STR_NULL : STR("");
    if ((has & HAS_METADATA) != 0) {
        int32_t len = (int32_t)get_number(&next);
        at->metadata = (struct str){(const char *)next, len};
        next += len;
    }
    at->topic_id = p->topic_id;
    if ((has & HAS_ID) != 0) {
        get(&next, &at->topic_id, sizeof(at->topic_id));
    }
    return next;
}

const uint8_t *page_read(const struct offset_page *p, const uint8_t *next, struct offset *at)
{
    return read_one(p, next, at);
}

static inline const uint8_t *pass_number(const uint8_t *next)
{
    while ((*next++ & 0x80) != 0) {
    }
    return next;
}

/* Of an offset that is not wanted nothing is read but its times, from which those of the next one are told. */
static inline const uint8_t *pass_one(const uint8_t *next, uint64_t *clock_ms, uint64_t *wall_ms)
{
    uint8_t has = next[0];
    next = pass_number(next + 2);
    next = (has & HAS_EPOCH) != 0 ? pass_number(next) : next;
    *clock_ms += get_signed(&next);
    *wall_ms += get_signed(&next);
    next = (has & HAS_EXPIRY) != 0 ? pass_number(next) : next;
    if ((has & HAS_METADATA) != 0) {
        uint64_t len = get_number(&next);
        next += len;
    }
    return (has & HAS_ID) != 0 ? next + sizeof(struct uuid) : next;
}

void page_seek(const struct offset_page *p, int32_t partition, struct page_place *ret)
{
    *ret = (struct page_place){0};
    if (p == NULL) {
        return;
    }
    const uint8_t *next = p->data;
    uint64_t clock_ms = 0, wall_ms = 0;
    int32_t number = 0;
    while (number < p->count && p->first + next[1] < partition) {
        next = pass_one(next, &clock_ms, &wall_ms);
        number++;
    }
    ret->number = number;
    ret->begin = ret->end = next;
    ret->before_clock_ms = (int64_t)clock_ms;
    ret->before_wall_ms = (int64_t)wall_ms;
    if (number < p->count && p->first + next[1] == partition) {
        ret->found = true;
        ret->is = (struct offset){.topic = p->topic, .commit_clock_ms = (int64_t)clock_ms, .commit_wall_ms = (int64_t)wall_ms};
        ret->end = read_one(p, next, &ret->is);
    }
}

void page_seek_end(const struct offset_page *p, int64_t last_clock_ms, int64_t last_wall_ms, struct page_place *ret)
{
    const uint8_t *end = p->data + p->size;
    *ret =
        (struct page_place){.number = p->count, .begin = end, .end = end, .before_clock_ms = last_clock_ms, .before_wall_ms = last_wall_ms};
}

/* ---- changing -------------------------------------------------------------------------------------------------------------- */

/* All of them, written anew. with NULL: the one there goes. */
static void rewrite(struct pool *pool, struct offset_page **page, struct topic_name *topic, const struct page_place *place,
                    const struct offset *with)
{
    struct offset all[OFFSET_PAGE_PLACES + 1], last;
    int32_t len = 0, count = *page == NULL ? 0 : (*page)->count;
    const uint8_t *next = *page == NULL ? NULL : page_begin(*page, &last);
    for (int32_t i = 0; i < count; i++) {
        next = page_read(*page, next, &last);
        if (i == place->number && with != NULL) {
            all[len++] = *with;
        }
        if (i != place->number || !place->found) {
            all[len++] = last;
        }
    }
    if (place->number == count && with != NULL) {
        all[len++] = *with;
    }
    page_pack(pool, page, topic, all, len);
}

/* The page with other bytes from `from` up to `to`. */
static void exchange(struct pool *pool, struct offset_page **page, const uint8_t *from, const uint8_t *to, const uint8_t *bytes, size_t len)
{
    struct offset_page *old = *page, *p = old;
    size_t before = (size_t)(from - old->data), behind = old->size - (size_t)(to - old->data);
    size_t size = before + len + behind;
    if (page_bytes(size) == page_bytes(old->size)) {
        memmove(p->data + before + len, to, behind);
    } else if (behind == 0) { /* mostly the state's youngest piece of memory, which grows where it is */
        p = pool_resize(pool, old, page_bytes(old->size), page_bytes(size));
    } else {
        p = pool_get(pool, page_bytes(size));
        memcpy(p, old, offsetof(struct offset_page, data) + before); /* not as a structure, which may be longer than a page of few bytes */
        memcpy(p->data + before + len, to, behind);
        page_free(pool, old);
    }
    p->size = (uint32_t)size;
    *page = p;
    memcpy(p->data + before, bytes, len);
}

void page_put(struct pool *pool, struct offset_page **page, struct topic_name *topic, const struct page_place *place,
              const struct offset *with)
{
    struct offset_page *p = *page;
    if (p == NULL || (place->number == 0 && !uuid_eq(with->topic_id, p->topic_id))) {
        rewrite(pool, page, topic, place, with);
        return;
    }
    uint8_t bytes[EXCHANGE_BYTES];
    struct packer k = {.at = bytes, .room = sizeof(bytes)};
    struct offset before = {.commit_clock_ms = place->before_clock_ms, .commit_wall_ms = place->before_wall_ms};
    struct offset after = place->found ? place->is : before;
    const uint8_t *rest = place->end;
    pack(&k, with, &before, p->topic_id);
    if (place->number + place->found <
        p->count) { /* what comes behind it tells its times from the new one's; the others stay as they are */
        rest = read_one(p, place->end, &after);
        pack(&k, &after, with, p->topic_id);
    }
    if (k.size > sizeof(bytes)) {
        rewrite(pool, page, topic, place, with);
        return;
    }
    p->count = (uint8_t)(p->count + !place->found);
    exchange(pool, page, place->begin, rest, bytes, k.size);
}

void page_drop(struct pool *pool, struct offset_page **page, const struct page_place *place)
{
    MUSTER_CHECK(place->found && (*page)->count > 1);
    rewrite(pool, page, (*page)->topic, place, NULL);
}
