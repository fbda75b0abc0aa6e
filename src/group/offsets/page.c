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

/* ---- writing --------------------------------------------------------------------------------------------------------------- */

struct packer {
    uint8_t *at; /* NULL: only counts */
    size_t size;
};

static void put(struct packer *k, const void *bytes, size_t len)
{
    if (k->at != NULL && len > 0) {
        memcpy(k->at + k->size, bytes, len);
    }
    k->size += len;
}

static void put_byte(struct packer *k, uint8_t byte)
{
    put(k, &byte, 1);
}

static void put_number(struct packer *k, uint64_t n)
{
    for (; n >= 0x80; n >>= 7) {
        put_byte(k, (uint8_t)(n | 0x80));
    }
    put_byte(k, (uint8_t)n);
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

static size_t pack_all(uint8_t *to, const struct offset *all, int32_t len)
{
    struct packer k = {.at = to};
    struct offset none = {0};
    for (int32_t i = 0; i < len; i++) {
        pack(&k, &all[i], i == 0 ? &none : &all[i - 1], all[0].topic_id);
    }
    return k.size;
}

static size_t page_bytes(uint32_t size)
{
    return offsetof(struct offset_page, data) + size;
}

void page_pack(struct pool *pool, struct offset_page **page, struct topic_name *topic, const struct offset *all, int32_t len)
{
    MUSTER_CHECK(len > 0 && len <= OFFSET_PAGE_PLACES);
    size_t size = pack_all(NULL, all, len);
    MUSTER_CHECK(size <= UINT32_MAX);
    struct offset_page *p = pool_get(pool, page_bytes((uint32_t)size));
    p->topic = topic;
    p->first = page_first(all[0].partition);
    p->size = (uint32_t)size;
    p->count = (uint8_t)len;
    p->topic_id = all[0].topic_id;
    pack_all(p->data, all, len);
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
    uint64_t n = 0;
    int shift = 0;
    while ((**next & 0x80) != 0) {
        n |= (uint64_t)(*(*next)++ & 0x7f) << shift;
        shift += 7;
    }
    return n | (uint64_t) * (*next)++ << shift;
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

const uint8_t *page_read(const struct offset_page *p, const uint8_t *next, struct offset *at)
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
