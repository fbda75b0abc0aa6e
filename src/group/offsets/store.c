/* store.c: the offsets of a group in pages, in order; topic names shared by the whole set; and OffsetCommit records in both directions. */
#include "offsets.h"
#include "page.h"

#include "../sorted.h"

#include <string.h>

enum { VALUE_ROOM_BYTES = 512 }; /* for the record of an offset with short metadata */

/* ---- topic names: one copy a set ------------------------------------------------------------------------------------------ */

static int topic_name_order(const struct topic_name *a, const struct topic_name *b)
{
    return str_cmp(a->name, b->name);
}
RB_GENERATE_INTERNAL(topic_name_tree, topic_name, link, topic_name_order, __attribute__((unused)) static)

static struct topic_name *topic_name_find(const struct group_set *set, struct str name)
{
    struct topic_name key = {.name = name};
    return RB_FIND(topic_name_tree, (struct topic_name_tree *)(uintptr_t)&set->topic_names, &key);
}

static struct topic_name *topic_name_take(struct group_set *set, struct str name)
{
    struct topic_name *t = topic_name_find(set, name);
    if (t == NULL) {
        t = pool_get(set->pool, sizeof(*t));
        t->name = pool_str(set->pool, name);
        RB_INSERT(topic_name_tree, &set->topic_names, t);
    }
    t->references++;
    return t;
}

static void topic_name_drop(struct group_set *set, struct topic_name *t)
{
    MUSTER_CHECK(t->references > 0);
    if (--t->references > 0) {
        return;
    }
    RB_REMOVE(topic_name_tree, &set->topic_names, t);
    pool_put_str(set->pool, t->name);
    pool_put(set->pool, t, sizeof(*t));
}

/* ---- pages ----------------------------------------------------------------------------------------------------------------- */

static struct offset_page **pages_of(const struct group *g)
{
    return g->page_capacity == 0 ? (struct offset_page **)(uintptr_t)&g->page : g->pages;
}

static size_t pages_bytes(int32_t count)
{
    return (size_t)count * sizeof(struct offset_page *);
}

static void pages_free(struct group_set *set, struct group *g)
{
    if (g->page_capacity > 0) {
        pool_put(set->pool, g->pages, pages_bytes(g->page_capacity));
        g->page_capacity = 0;
    }
    g->page = NULL;
}

struct page_key {
    struct str topic;
    int32_t first;
};

static int page_order(const void *in, int32_t place, const void *key)
{
    const struct offset_page *p = ((struct offset_page *const *)in)[place];
    const struct page_key *k = key;
    int order = str_cmp(p->topic->name, k->topic);
    return order != 0 ? order : (p->first > k->first) - (p->first < k->first);
}

/* The place of that page, or the one that it would have. */
static int32_t page_search(const struct group *g, struct str topic, int32_t first, bool *ret_found)
{
    struct page_key key = {topic, first};
    return sorted_place(pages_of(g), g->page_count, page_order, &key, ret_found);
}

static void page_make_room(struct group_set *set, struct group *g, int32_t at)
{
    if (g->page_count > 0 && g->page_count >= g->page_capacity) {
        int32_t capacity = g->page_capacity == 0 ? 2 : g->page_capacity * 2;
        struct offset_page **pages = pool_get(set->pool, pages_bytes(capacity));
        memcpy(pages, pages_of(g), pages_bytes(g->page_count));
        pages_free(set, g);
        g->pages = pages;
        g->page_capacity = capacity;
    }
    struct offset_page **pages = pages_of(g);
    memmove(&pages[at + 1], &pages[at], pages_bytes(g->page_count - at));
    pages[at] = NULL;
    g->page_count++;
}

static void page_remove(struct group_set *set, struct group *g, int32_t at)
{
    struct offset_page **pages = pages_of(g);
    topic_name_drop(set, pages[at]->topic);
    page_free(set->pool, pages[at]);
    g->page_count--;
    memmove(&pages[at], &pages[at + 1], pages_bytes(g->page_count - at));
    if (g->page_count == 1 && g->page_capacity > 0) {
        struct offset_page *last = pages[0];
        pages_free(set, g);
        g->page = last;
    }
}

/* ---- looking --------------------------------------------------------------------------------------------------------------- */

static struct offset_walk walk_from(const struct group *g, int32_t page)
{
    return (struct offset_walk){.g = g, .page = page - 1};
}

struct offset_walk offsets_walk(const struct group *g)
{
    return walk_from(g, 0);
}

bool offsets_next(struct offset_walk *w)
{
    if (w->left == 0) {
        if (w->page + 1 >= w->g->page_count) {
            return false;
        }
        const struct offset_page *p = pages_of(w->g)[++w->page];
        w->left = p->count;
        w->next = page_begin(p, &w->at);
    }
    w->next = page_read(pages_of(w->g)[w->page], w->next, &w->at);
    w->left--;
    return true;
}

bool offsets_find(const struct group *g, struct str topic, int32_t partition, struct offset *ret)
{
    bool found = false;
    int32_t at = g == NULL ? 0 : page_search(g, topic, page_first(partition), &found);
    if (!found) {
        return false;
    }
    struct page_place place;
    page_seek(pages_of(g)[at], partition, &place);
    *ret = place.is;
    return place.found;
}

bool offsets_after(const struct group *g, struct str topic, int32_t partition, struct offset *ret)
{
    bool found;
    int32_t from = str_is_null(topic) ? 0 : page_search(g, topic, page_first(partition), &found);
    for (struct offset_walk w = walk_from(g, from); offsets_next(&w);) {
        if (str_is_null(topic) || w.at.partition > partition || !str_eq(w.at.topic->name, topic)) {
            *ret = w.at;
            return true;
        }
    }
    return false;
}

/* ---- records --------------------------------------------------------------------------------------------------------------- */

static struct offset_commit_value value_of(const struct offset *o)
{
    struct offset_commit_value value;
    wire_init(&wire_offset_commit_value, &value);
    value.offset = o->offset;
    value.leader_epoch = o->leader_epoch;
    value.metadata = o->metadata;
    value.commit_timestamp = o->commit_wall_ms;
    value.topic_id = o->topic_id;
    value.commit_clock_ms = o->commit_clock_ms;
    value.expire_clock_ms = o->expire_clock_ms;
    return value;
}

struct record offsets_record(const struct group *g, const struct offset *o, struct arena *arena)
{
    struct offset_commit_key key = {.group = g->id, .topic = o->topic->name, .partition = o->partition};
    struct offset_commit_value value = value_of(o);
    return wire_record_encode(RECORD_OFFSET_COMMIT, &key, OFFSETS_VALUE_VERSION, &value, arena);
}

/* ---- changing -------------------------------------------------------------------------------------------------------------- */

void offsets_free(struct group_set *set, struct group *g)
{
    for (int32_t i = 0; i < g->page_count; i++) {
        topic_name_drop(set, pages_of(g)[i]->topic);
        page_free(set->pool, pages_of(g)[i]);
    }
    set->newest_offset.page = NULL;
    set->counts.offsets -= g->page_count > 0 ? g->offset_count : 0; /* an overlay counts those of its base, and has none */
    pages_free(set, g);
    g->page_count = 0;
    g->offset_count = 0;
}

static void count(struct group_set *set, struct group *g, int32_t difference)
{
    g->offset_count += difference;
    set->counts.offsets += difference;
}

/* What the offset there adds to the state hash: that of the record which made it, since that very record is what it is written as. Its key is that of the record
 * which takes its place. */
static uint64_t hash_of_place(const struct apply_context *c, const struct page_place *place)
{
    if (!place->found) {
        return 0;
    }
    struct offset_commit_value value = value_of(&place->is);
    uint8_t room[VALUE_ROOM_BYTES];
    struct arena_mark before = arena_here(c->scratch);
    size_t size = wire_record_write_value(RECORD_OFFSET_COMMIT, OFFSETS_VALUE_VERSION, &value, room, sizeof(room));
    uint8_t *bytes = room;
    if (size > sizeof(room)) {
        bytes = arena_get(c->scratch, size);
        wire_record_write_value(RECORD_OFFSET_COMMIT, OFFSETS_VALUE_VERSION, &value, bytes, size);
    }
    uint64_t hash = record_value_hash(c->key_hash, (struct bytes){bytes, (int32_t)size});
    arena_rewind(c->scratch, before);
    return hash;
}

static void forget(const struct apply_context *c, const struct offset_commit_key *key)
{
    struct group *g = group_find(c->set, key->group);
    bool paged = false;
    int32_t at = g == NULL ? 0 : page_search(g, key->topic, page_first(key->partition), &paged);
    if (!paged) {
        return;
    }
    struct offset_page **page = &pages_of(g)[at];
    struct page_place place;
    page_seek(*page, key->partition, &place);
    if (!place.found) {
        return;
    }
    group_hash_replace(c->set, hash_of_place(c, &place), 0);
    count(c->set, g, -1);
    c->set->newest_offset.page = NULL;
    if ((*page)->count == 1) {
        page_remove(c->set, g, at);
    } else {
        page_drop(c->set->pool, page, &place);
    }
}

static void seek(const struct group_set *set, const struct offset_page *page, int32_t partition, struct page_place *ret)
{
    if (page != NULL && page == set->newest_offset.page && partition > set->newest_offset.partition) {
        page_seek_end(page, set->newest_offset.clock_ms, set->newest_offset.wall_ms, ret);
    } else {
        page_seek(page, partition, ret);
    }
}

static void note_newest(struct group_set *set, const struct offset_page *page, const struct page_place *place, const struct offset *o)
{
    set->newest_offset.page = place->number + 1 == page->count ? page : NULL;
    set->newest_offset.partition = o->partition;
    set->newest_offset.clock_ms = o->commit_clock_ms;
    set->newest_offset.wall_ms = o->commit_wall_ms;
}

static void keep(const struct apply_context *c, const struct offset_commit_key *key, const struct offset_commit_value *value)
{
    struct group *g = group_find_or_add(c->set, key->group);
    bool paged;
    int32_t at = page_search(g, key->topic, page_first(key->partition), &paged);
    if (!paged) {
        page_make_room(c->set, g, at);
    }
    struct offset_page **page = &pages_of(g)[at];
    struct topic_name *topic = paged ? (*page)->topic : topic_name_take(c->set, key->topic);
    struct page_place place;
    seek(c->set, *page, key->partition, &place);
    group_hash_replace(c->set, hash_of_place(c, &place), c->record_hash);
    struct offset with = {.partition = key->partition,
                          .leader_epoch = value->leader_epoch,
                          .offset = value->offset,
                          .commit_clock_ms = value->commit_clock_ms,
                          .commit_wall_ms = value->commit_timestamp,
                          .expire_clock_ms = value->expire_clock_ms,
                          .topic_id = value->topic_id,
                          .metadata = value->metadata};
    count(c->set, g, place.found ? 0 : 1);
    page_put(c->set->pool, page, topic, &place, &with);
    note_newest(c->set, *page, &place, &with);
}

void offsets_apply_commit(const struct apply_context *c, const struct offset_commit_key *key, const struct offset_commit_value *value)
{
    if (value == NULL) {
        forget(c, key);
    } else {
        keep(c, key, value);
    }
}

/* ---- what others ask -------------------------------------------------------------------------------------------------------- */

void offsets_write_tombstone(struct decision *d, const struct offset *o)
{
    struct offset_commit_key key = {.group = d->op->group_id, .topic = o->topic->name, .partition = o->partition};
    out_record(d, RECORD_OFFSET_COMMIT, &key, OFFSETS_VALUE_VERSION, NULL);
}

bool offsets_drop(struct decision *d, const struct offset *o)
{
    if (d->out->records.bytes >= OFFSETS_SLICE_BYTES) {
        d->out->more = true;
        return false;
    }
    offsets_write_tombstone(d, o);
    return true;
}

int64_t offsets_growth(const struct group_set *set, const struct group *g, struct str topic, int32_t partition, struct str metadata)
{
    int64_t bytes = metadata.len > 0 ? metadata.len : 0;
    struct offset o;
    if (offsets_find(g, topic, partition, &o)) {
        return bytes - o.metadata.len;
    }
    bool paged = false;
    if (g != NULL) {
        (void)page_search(g, topic, page_first(partition), &paged);
    }
    bytes += OFFSET_PACKED_BYTES + (paged ? 0 : (int64_t)(sizeof(struct offset_page) + sizeof(struct offset_page *)));
    if (topic_name_find(set, topic) == NULL) {
        bytes += (int64_t)sizeof(struct topic_name) + topic.len;
    }
    return bytes;
}

bool offsets_live(const struct offset *o, const struct topics *topics)
{
    return uuid_is_zero(o->topic_id) || !topics->was_deleted(topics->ctx, o->topic_id);
}
