/* page_test.c: packed offsets: every field comes back, and many of them in pages beside a plain array. */
#include "fixture.h"
#include "tests.h"

#include "offsets/page.h"

#include <stdlib.h>
#include <string.h>

static const int64_t numbers[] = {0, 1, -1, 63, 64, -64, -65, 8191, 8192, 1796082605027, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
static const struct str texts[] = {STR(""), {NULL, -1}, STR("x"), STR("what the client says of it")};
static const struct uuid ids[] = {{{0}}, {{1}}, {{255, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255}}};

static int64_t any_number(struct prng *r)
{
    return numbers[prng_below(r, COUNT_OF(numbers))];
}

static struct offset any_offset(struct prng *r, int32_t partition)
{
    return (struct offset){.partition = partition,
                           .leader_epoch = (int32_t)any_number(r),
                           .offset = any_number(r),
                           .commit_clock_ms = any_number(r),
                           .commit_wall_ms = any_number(r),
                           .expire_clock_ms = any_number(r),
                           .topic_id = ids[prng_below(r, COUNT_OF(ids))],
                           .metadata = texts[prng_below(r, COUNT_OF(texts))]};
}

static void assert_same(const struct offset *a, const struct offset *b)
{
    assert_int_equal(a->partition, b->partition);
    assert_int_equal(a->leader_epoch, b->leader_epoch);
    assert_int_equal(a->offset, b->offset);
    assert_int_equal(a->commit_clock_ms, b->commit_clock_ms);
    assert_int_equal(a->commit_wall_ms, b->commit_wall_ms);
    assert_int_equal(a->expire_clock_ms, b->expire_clock_ms);
    assert_true(uuid_eq(a->topic_id, b->topic_id));
    assert_int_equal(a->metadata.len, b->metadata.len);
    assert_true(a->metadata.len <= 0 || memcmp(a->metadata.ptr, b->metadata.ptr, (size_t)a->metadata.len) == 0);
}

void test_page(void **state)
{
    (void)state;
    struct pool pool = {0};
    struct topic_name topic = {.name = STR("t")};
    struct prng r;
    prng_seed(&r, 7);
    struct offset_page *page = NULL;
    for (int round = 0; round < 2000; round++) {
        static const int32_t firsts[] = {0, 16, INT32_MAX - 15, -16, INT32_MIN};
        int32_t first = firsts[prng_below(&r, COUNT_OF(firsts))];
        struct offset all[OFFSET_PAGE_PLACES];
        int32_t len = 0;
        for (int32_t i = 0; i < OFFSET_PAGE_PLACES; i++) {
            if (prng_below(&r, 2) == 0 || (i == OFFSET_PAGE_PLACES - 1 && len == 0)) {
                all[len++] = any_offset(&r, first + i);
            }
        }
        page_pack(&pool, &page, &topic, all, len);
        assert_int_equal(page->first, first);
        assert_int_equal(page->count, len);
        struct offset at;
        const uint8_t *next = page_begin(page, &at);
        for (int32_t i = 0; i < len; i++) {
            next = page_read(page, next, &at);
            assert_ptr_equal(at.topic, &topic);
            assert_same(&at, &all[i]);
        }
        assert_ptr_equal(next, page->data + page->size);
    }
    page_free(&pool, page);
    assert_int_equal(pool.bytes, 0);
}

/* What changes in a page of its own goes into the bytes that are there; they are those that packing all anew would have made. */
void test_page_changes(void **state)
{
    (void)state;
    static char lengthy[700];
    memset(lengthy, 'm', sizeof(lengthy));
    struct pool pool = {0}, other = {0};
    struct topic_name topic = {.name = STR("t")};
    struct prng r;
    prng_seed(&r, 13);
    struct offset all[OFFSET_PAGE_PLACES];
    bool there[OFFSET_PAGE_PLACES] = {false};
    struct offset_page *page = NULL, *anew = NULL;
    int32_t count = 0;
    for (int round = 0; round < 20000; round++) {
        int32_t at = (int32_t)prng_below(&r, OFFSET_PAGE_PLACES), len = 0;
        struct offset packed[OFFSET_PAGE_PLACES], with = any_offset(&r, 32 + at);
        struct page_place place;
        if (prng_below(&r, 50) == 0) {
            with.metadata = (struct str){lengthy, (int32_t)sizeof(lengthy)};
        }
        page_seek(page, with.partition, &place);
        assert_int_equal(place.found, there[at]);
        if (place.found) {
            assert_same(&place.is, &all[at]);
        }
        if (there[at] && count > 1 && prng_below(&r, 2) == 0) {
            page_drop(&pool, &page, &place);
            there[at] = false;
            count--;
        } else {
            page_put(&pool, &page, &topic, &place, &with);
            all[at] = with;
            count += !there[at];
            there[at] = true;
        }
        for (int32_t i = 0; i < OFFSET_PAGE_PLACES; i++) {
            if (there[i]) {
                packed[len++] = all[i];
            }
        }
        page_pack(&other, &anew, &topic, packed, len);
        assert_int_equal(page->size, anew->size);
        assert_memory_equal(page, anew, offsetof(struct offset_page, data) + anew->size);
        assert_int_equal(pool.bytes, other.bytes);
    }
    page_free(&pool, page);
    page_free(&other, anew);
    assert_int_equal(pool.bytes, 0);
}

/* ---- many of them ---------------------------------------------------------------------------------------------------------- */

enum { TOPICS = 3, PARTITIONS = 100, STEPS = 20000 };
static const struct str names[TOPICS] = {STR("a"), STR("ab"), STR("b")};

struct model {
    struct offset offset[TOPICS][PARTITIONS];
    bool exists[TOPICS][PARTITIONS];
    int64_t count;
};

static void apply(struct group_set *set, struct str topic, const struct offset *o, bool removes, struct arena *arena)
{
    struct group in = {.id = STR("g")};
    struct topic_name name = {.name = topic};
    struct offset named = *o;
    named.topic = &name;
    struct offset_commit_key key = {.group = in.id, .topic = topic, .partition = o->partition};
    struct offset_commit_value value = {.offset = o->offset,
                                        .leader_epoch = o->leader_epoch,
                                        .metadata = o->metadata,
                                        .commit_timestamp = o->commit_wall_ms,
                                        .topic_id = o->topic_id,
                                        .commit_clock_ms = o->commit_clock_ms,
                                        .expire_clock_ms = o->expire_clock_ms};
    struct record record = offsets_record(&in, &named, arena);
    struct apply_context c = {.set = set,
                              .key_hash = hash_bytes(record.key.ptr, (size_t)record.key.len, 0),
                              .record_hash = removes ? 0 : record_hash(record),
                              .scratch = arena};
    offsets_apply_commit(&c, &key, removes ? NULL : &value);
    arena_clear(arena);
}

static void step(struct group_set *set, struct model *m, struct prng *r, struct arena *arena)
{
    uint64_t t = prng_below(r, TOPICS), p = prng_below(r, PARTITIONS);
    bool removes = prng_below(r, 3) == 0;
    struct offset with = any_offset(r, (int32_t)p);
    with.metadata = with.metadata.len < 0 ? STR("") : with.metadata; /* a record's is never null */
    apply(set, names[t], &with, removes, arena);
    m->count += (removes ? 0 : 1) - (m->exists[t][p] ? 1 : 0);
    m->exists[t][p] = !removes;
    m->offset[t][p] = with;
}

static void compare(const struct group_set *set, const struct model *m)
{
    const struct group *g = group_find(set, STR("g"));
    struct offset_walk w = offsets_walk(g);
    struct offset last = {0}, o;
    for (int t = 0; t < TOPICS; t++) {
        for (int32_t p = 0; p < PARTITIONS; p++) {
            assert_int_equal(offsets_find(g, names[t], p, &o), m->exists[t][p]);
            if (!m->exists[t][p]) {
                continue;
            }
            assert_same(&o, &m->offset[t][p]);
            assert_true(offsets_next(&w));
            assert_true(str_eq(w.at.topic->name, names[t]));
            assert_same(&w.at, &o);
            assert_true(offsets_after(g, last.topic == NULL ? STR_NULL : last.topic->name, last.partition, &last));
            assert_ptr_equal(last.topic, o.topic);
            assert_same(&last, &o);
        }
    }
    assert_false(offsets_next(&w));
    assert_false(m->count > 0 && offsets_after(g, last.topic->name, last.partition, &last));
    assert_int_equal(g->offset_count, m->count);
}

/* In any order, over many pages; and what there is takes the same memory, whatever was there before. */
void test_pages(void **state)
{
    (void)state;
    struct pool pool = {0}, other = {0};
    struct model *m = calloc(1, sizeof(*m));
    struct prng r;
    struct arena arena;
    arena_init(&arena, 1 << 20);
    prng_seed(&r, 11);
    struct group_set *set = group_set_new(&pool, 1);
    assert_non_null(m);
    for (int i = 0; i < STEPS; i++) {
        step(set, m, &r, &arena);
        if (i % 500 == 0 && m->count > 0) {
            compare(set, m);
        }
    }
    compare(set, m);
    struct group_set *again = group_set_new(&other, 1);
    for (struct offset_walk w = offsets_walk(group_find(set, STR("g"))); offsets_next(&w);) {
        apply(again, w.at.topic->name, &w.at, false, &arena);
    }
    assert_int_equal(pool.bytes, other.bytes);
    assert_true(group_set_hash(set) == group_set_hash(again));
    group_set_free(set);
    group_set_free(again);
    assert_int_equal(pool.bytes, 0);
    assert_int_equal(other.bytes, 0);
    arena_fini(&arena);
    free(m);
}
