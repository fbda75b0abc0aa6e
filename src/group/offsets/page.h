/* page.h: offsets, packed. A page has those of one topic whose partitions lie in one range of sixteen, in order; it is written anew when one of them changes.
 *
 * A million offsets are what a coordinator of many groups is made of. As a tree node each took 136 bytes; packed, one that was committed with its neighbours takes
 * about ten, and the page forty, with room for one or two more. What a page looks like follows from what is in it alone, so what the state takes is the same on every node, whatever way it came there. */
#ifndef MUSTER_GROUP_OFFSETS_PAGE_H
#define MUSTER_GROUP_OFFSETS_PAGE_H

#include "../state.h"

enum {
    OFFSET_PAGE_PLACES = 16,
    OFFSET_PACKED_BYTES = 24 /* what one is taken to need without its metadata, where that has to be said before it is there */
};

struct offset_page {
    struct topic_name *topic; /* counted once for the page */
    int32_t first;            /* the partition that its first place is for: a multiple of the places */
    uint32_t size;            /* bytes of data */
    uint8_t count;            /* offsets, at least one */
    struct uuid topic_id;     /* that of its first offset */
    uint8_t data[];
};

static inline int32_t page_first(int32_t partition)
{
    return partition - (partition & (OFFSET_PAGE_PLACES - 1));
}

/* Reads the next offset into `at`, which holds the one before it, or what page_begin() made of it. Returns where the one after it begins. Its metadata are the page's. */
const uint8_t *page_begin(const struct offset_page *p, struct offset *at);
const uint8_t *page_read(const struct offset_page *p, const uint8_t *next, struct offset *at);

/* Where one offset of a page stands, or belongs. */
struct page_place {
    int32_t number; /* how many stand before it */
    bool found;
    struct offset is;           /* it, when found */
    const uint8_t *begin, *end; /* its bytes; none where it is not */
    int64_t before_clock_ms, before_wall_ms;
};
/* p NULL: there is no page yet. */
void page_seek(const struct offset_page *p, int32_t partition, struct page_place *ret);
/* The same for a partition behind all of the page, of whose last offset these are the times. */
void page_seek_end(const struct offset_page *p, int64_t last_clock_ms, int64_t last_wall_ms, struct page_place *ret);
/* Puts an offset where page_seek() found its place; *page NULL: into a page of its own. Its metadata may be those of the page. */
void page_put(struct pool *pool, struct offset_page **page, struct topic_name *topic, const struct page_place *place,
              const struct offset *with);
/* Takes the one away that was found, which is not the only one. */
void page_drop(struct pool *pool, struct offset_page **page, const struct page_place *place);

/* Puts a page with those `len` offsets, of one range and in order, in the place of *page (NULL: of none). Their metadata may be those of the old page. */
void page_pack(struct pool *pool, struct offset_page **page, struct topic_name *topic, const struct offset *all, int32_t len);
void page_free(struct pool *pool, struct offset_page *page);

#endif
