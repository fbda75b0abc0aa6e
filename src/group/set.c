/* set.c: the set of groups. Order comes from a tree, lookup from a table of chains beside it. */
#include "history/history.h"
#include "modern/modern.h"

#include <string.h>

struct group_table {
    struct group **buckets;
    uint32_t bucket_count;
    uint32_t used;
    struct group *last; /* that was looked for; NULL: none. The records of an entry are of one group, mostly */
};

enum { FIRST_BUCKETS = 64 };

static int compare_groups(const struct group *a, const struct group *b)
{
    return str_cmp(a->id, b->id);
}

RB_GENERATE_INTERNAL(group_tree, group, link, compare_groups, __attribute__((unused)) static)

/* ---- the lookup table ---------------------------------------------------------------------------------------------- */

/* Group ids are chosen by clients: the seed differs from process to process, so that nobody can prepare ids that share a bucket. It decides
 * nothing but the place in a table whose order is never seen. */
static uint64_t id_hash(const struct group_set *set, struct str id)
{
    return hash_bytes(id.ptr, id.len > 0 ? (size_t)id.len : 0, (uint64_t)(uintptr_t)set->table);
}

static void table_new(struct group_set *set)
{
    set->table = pool_get(set->pool, sizeof *set->table);
    set->table->buckets = pool_get(set->pool, FIRST_BUCKETS * sizeof(struct group *));
    set->table->bucket_count = FIRST_BUCKETS;
}

static void table_free(struct group_set *set)
{
    pool_put(set->pool, set->table->buckets, set->table->bucket_count * sizeof(struct group *));
    pool_put(set->pool, set->table, sizeof *set->table);
    set->table = NULL;
}

static struct group **bucket_of(const struct group_table *t, uint64_t hash)
{
    return &t->buckets[hash & (t->bucket_count - 1)];
}

static void table_grow(struct group_set *set)
{
    struct group_table *t = set->table;
    struct group **old = t->buckets;
    uint32_t old_count = t->bucket_count;
    t->buckets = pool_get(set->pool, 2 * (size_t)old_count * sizeof(struct group *));
    t->bucket_count = 2 * old_count;
    for (uint32_t i = 0; i < old_count; i++) {
        for (struct group *g = old[i], *next; g != NULL; g = next) {
            next = g->chain;
            struct group **bucket = bucket_of(t, g->id_hash);
            g->chain = *bucket;
            *bucket = g;
        }
    }
    pool_put(set->pool, old, old_count * sizeof(struct group *));
}

static void table_add(struct group_set *set, struct group *g)
{
    if (set->table->used >= set->table->bucket_count) {
        table_grow(set);
    }
    struct group **bucket = bucket_of(set->table, g->id_hash);
    g->chain = *bucket;
    *bucket = g;
    set->table->used++;
}

static void table_remove(struct group_set *set, struct group *g)
{
    struct group **link = bucket_of(set->table, g->id_hash);
    while (*link != g) {
        MUSTER_CHECK(*link != NULL);
        link = &(*link)->chain;
    }
    *link = g->chain;
    MUSTER_CHECK(set->table->used > 0);
    set->table->used--;
    set->table->last = NULL;
}

/* ---- groups ------------------------------------------------------------------------------------------------------------ */

static struct group *look_up(const struct group_set *set, struct str id, uint64_t hash)
{
    struct group *g = *bucket_of(set->table, hash);
    while (g != NULL && (g->id_hash != hash || !str_eq(g->id, id))) {
        g = g->chain;
    }
    return g;
}

struct group *group_find(const struct group_set *set, struct str id)
{
    struct group *last = set->table->last;
    if (last == NULL || !str_eq(last->id, id)) {
        last = look_up(set, id, id_hash(set, id));
        set->table->last = last;
    }
    return last;
}

static size_t group_bytes(struct str id)
{
    return sizeof(struct group) + (size_t)id.len;
}

struct group *group_find_or_add(struct group_set *set, struct str id)
{
    struct group *g = group_find(set, id);
    if (g != NULL) {
        return g;
    }
    g = pool_get(set->pool, group_bytes(id));
    memcpy(g + 1, id.ptr, (size_t)id.len);
    g->id = (struct str){(const char *)(g + 1), id.len};
    g->id_hash = id_hash(set, id);
    g->since_clock_ms = set->clock_ms;
    g->classic.protocol_type = STR("");
    g->classic.protocol_name = STR_NULL;
    g->classic.leader = STR_NULL;
    MUSTER_CHECK(RB_INSERT(group_tree, &set->groups, g) == NULL);
    table_add(set, g);
    set->table->last = g;
    set->counts.groups++;
    group_phase_move(set, g);
    group_beat_phase_move(set, g);
    group_work_phase_move(set, g);
    return g;
}

static void group_free(struct group_set *set, struct group *g)
{
    classic_free(set, g);
    modern_free(set, &g->consumer);
    modern_free(set, &g->streams);
    history_free(set, g);
    if (set->base == NULL) {
        offsets_free(set, g);
    }
    RB_REMOVE(group_tree, &set->groups, g);
    table_remove(set, g);
    set->counts.groups--;
    MUSTER_CHECK(set->counts.groups >= 0);
    pool_put(set->pool, g, group_bytes(g->id));
}

void group_remove_if_gone(struct group_set *set, struct group *g)
{
    const struct classic *c = &g->classic;
    if (g->offset_count == 0 && !c->exists && c->member_count == 0 && c->pending_count == 0 && g->consumer == NULL && g->streams == NULL &&
        g->history == NULL) {
        group_free(set, g);
    }
}

struct group *group_after(const struct group_set *set, struct str id)
{
    struct group_tree *tree = (struct group_tree *)(uintptr_t)&set->groups;
    if (str_is_null(id)) {
        return RB_MIN(group_tree, tree);
    }
    struct group key = {.id = id};
    struct group *g = group_find(set, id);
    g = g != NULL ? RB_NEXT(group_tree, tree, g) : RB_NFIND(group_tree, tree, &key);
    set->table->last = g; /* who goes through all of them asks about this one next */
    return g;
}

void group_phase_move(struct group_set *set, struct group *g)
{
    g->phase = ++set->phases;
}

void group_beat_phase_move(struct group_set *set, struct group *g)
{
    g->beat_phase = ++set->phases;
}

void group_work_phase_move(struct group_set *set, struct group *g)
{
    g->work_phase = ++set->phases;
}

/* ---- the set -------------------------------------------------------------------------------------------------------------- */

struct group_set *group_set_new_bare(struct pool *pool, uint32_t shard)
{
    struct group_set *set = pool_get(pool, sizeof *set);
    set->pool = pool;
    set->shard = shard;
    RB_INIT(&set->groups);
    RB_INIT(&set->topic_names);
    table_new(set);
    return set;
}

struct group_set *group_set_new(struct pool *pool, uint32_t shard)
{
    struct group_set *set = group_set_new_bare(pool, shard);
    catalog_new(set);
    return set;
}

static void free_groups(struct group_set *set)
{
    for (struct group *g = RB_MIN(group_tree, &set->groups), *next; g != NULL; g = next) {
        next = RB_NEXT(group_tree, &set->groups, g);
        group_free(set, g);
    }
}

void group_set_free(struct group_set *set)
{
    if (set == NULL) {
        return;
    }
    group_snapshot_end(set);
    free_groups(set);
    offices_free(set);
    if (set->catalog != NULL) {
        catalog_free(set);
    }
    table_free(set);
    pool_put(set->pool, set, sizeof *set);
}

void group_set_clear(struct group_set *set)
{
    MUSTER_CHECK(set->base == NULL);
    group_snapshot_end(set);
    free_groups(set);
    offices_free(set);
    MUSTER_CHECK(set->table->used == 0 && set->counts.groups == 0 && set->counts.members == 0 && set->counts.pending == 0);
    catalog_free(set);
    catalog_new(set);
    memset(&set->counts, 0, sizeof set->counts);
    set->hash = 0;
    set->clock_ms = 0;
    set->catalog_index = 0;
    set->cursor = 0;
    set->cursor_hash = 0;
}

/* ---- questions -------------------------------------------------------------------------------------------------------------- */

int64_t group_revision(const struct group_set *set, struct str group_id)
{
    const struct group *g = group_find(set, group_id);
    return g == NULL ? 0 : g->revision;
}

uint64_t group_phase(const struct group_set *set, struct str group_id)
{
    const struct group *g = group_find(set, group_id);
    return g == NULL ? 0 : g->phase;
}

uint64_t group_beat_phase(const struct group_set *set, struct str group_id)
{
    const struct group *g = group_find(set, group_id);
    return g == NULL ? 0 : g->beat_phase;
}

uint64_t group_work_phase(const struct group_set *set, struct str group_id)
{
    const struct group *g = group_find(set, group_id);
    return g == NULL ? 0 : g->work_phase;
}

uint64_t group_set_hash(const struct group_set *set)
{
    return set->hash;
}

int64_t group_set_clock(const struct group_set *set)
{
    return set->clock_ms;
}

int64_t group_set_cursor(const struct group_set *set)
{
    return set->cursor;
}

uint64_t group_set_catalog_index(const struct group_set *set)
{
    return set->catalog_index;
}

void group_set_counts(const struct group_set *set, struct group_set_counts *ret)
{
    *ret = set->counts;
    ret->bytes = (int64_t)set->pool->bytes;
}
