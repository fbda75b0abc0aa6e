/* snapshot.c: the state as records, a consistent cut of it, in slices.
 *
 * The live records are walked in the order of their places (below). What is changed ahead of the walk saves the record that was there first, so that the
 * walk gives back the state as of group_snapshot_begin() however long it takes; behind the walk nothing is saved. A group's revision is a record, too. */
#include "history/history.h"
#include "modern/modern.h"

enum part { PART_CATALOG, PART_GROUPS };
enum kind { KIND_REVISION, KIND_GROUP, KIND_MEMBER, KIND_PENDING, KIND_CONSUMER, KIND_STREAMS, KIND_HISTORY, KIND_OFFSET };

/* Where a record stands: a catalogue key; or a group, and in it by kind, then by member id or topic, then by number (member 0, its assignment 1; partition).
 * Records of consumer groups, of streams groups and of histories are told apart by their keys. */
struct place {
    enum part part;
    struct bytes key;
    struct str group;
    enum kind kind;
    struct str name;
    int32_t number;
};

struct saved {
    RB_ENTRY(saved) link;
    struct place place;
    struct record record;
}; /* value null: nothing was there */
RB_HEAD(saved_tree, saved);

struct snapshot_cut {
    struct record *head; /* the shard's own: SnapshotState, CatalogCursor, CoordinatorMove */
    int head_capacity, head_count, head_done;
    uint64_t hash, sum; /* of the state at the cut; of the records given out */
    bool started;       /* `at` is set */
    struct place at;    /* the last record given out; owned */
    struct saved_tree saved;
    struct arena arena;
};

/* NULL: records of something else. */
static const struct modern_kind *modern_of(enum kind kind)
{
    return kind == KIND_CONSUMER ? &consumer_kind : kind == KIND_STREAMS ? &streams_kind : NULL;
}

static int place_cmp(const struct place *a, const struct place *b)
{
    if (a->part != b->part) {
        return a->part < b->part ? -1 : 1;
    }
    if (a->part == PART_CATALOG) {
        return catalog_key_cmp(a->key, b->key);
    }
    int order = str_cmp(a->group, b->group);
    if (order == 0 && a->kind != b->kind) {
        order = a->kind < b->kind ? -1 : 1;
    }
    if (order == 0 && modern_of(a->kind) != NULL) {
        return modern_key_cmp(modern_of(a->kind), a->key, b->key);
    }
    if (order == 0 && a->kind == KIND_HISTORY) {
        return history_key_cmp(a->key, b->key);
    }
    if (order == 0) {
        order = str_cmp(a->name, b->name);
    }
    return order != 0 ? order : (a->number > b->number) - (a->number < b->number);
}

static int saved_cmp(const struct saved *a, const struct saved *b)
{
    return place_cmp(&a->place, &b->place);
}

RB_GENERATE_INTERNAL(saved_tree, saved, link, saved_cmp, __attribute__((unused)) static)

static struct place place_copy(struct pool *pool, const struct place *p)
{
    struct place copy = *p;
    copy.key = pool_bytes(pool, p->key);
    copy.group = pool_str(pool, p->group);
    copy.name = pool_str(pool, p->name);
    return copy;
}

static void place_free(struct pool *pool, struct place *p)
{
    pool_put_bytes(pool, p->key);
    pool_put_str(pool, p->group);
    pool_put_str(pool, p->name);
}

static struct place group_place(struct str group, enum kind kind, struct str name, int32_t number)
{
    return (struct place){.part = PART_GROUPS, .key = BYTES_NULL, .group = group, .kind = kind, .name = name, .number = number};
}

static struct place modern_place(struct str group, const struct modern_kind *kind, struct bytes key)
{
    enum kind place_kind = kind == &streams_kind ? KIND_STREAMS : KIND_CONSUMER;
    return (struct place){.part = PART_GROUPS, .key = key, .group = group, .kind = place_kind, .name = STR_NULL};
}

static struct place history_place(struct str group, struct bytes key)
{
    return (struct place){.part = PART_GROUPS, .key = key, .group = group, .kind = KIND_HISTORY, .name = STR_NULL};
}

static struct place catalog_place(struct bytes key)
{
    return (struct place){.part = PART_CATALOG, .key = key, .group = STR_NULL, .name = STR_NULL};
}

/* ---- the live record of a place ------------------------------------------------------------------------------------------- */

static struct record revision_record(const struct group *g, struct arena *arena)
{
    struct group_revision_key key = {.group_id = g->id};
    struct group_revision_value value = {.revision = g->revision, .since_clock_ms = g->since_clock_ms};
    return wire_record_encode(RECORD_GROUP_REVISION, &key, 0, &value, arena);
}

static bool offset_record(const struct group *g, struct str topic, int32_t partition, struct arena *arena, struct record *ret)
{
    struct offset o;
    bool found = offsets_find(g, topic, partition, &o);
    if (found) {
        *ret = offsets_record(g, &o, arena);
    }
    return found;
}

static bool live_record(const struct group_set *set, const struct place *p, struct arena *arena, struct record *ret)
{
    if (p->part == PART_CATALOG) {
        return catalog_record(set, p->key, arena, ret);
    }
    const struct group *g = group_find(set, p->group);
    if (g == NULL) {
        return false;
    }
    switch (p->kind) {
    case KIND_REVISION:
        *ret = revision_record(g, arena);
        return true;
    case KIND_GROUP:
        return classic_record_group(g, arena, ret);
    case KIND_MEMBER:
        return p->number == 0 ? classic_record_member(g, p->name, arena, ret) : classic_record_assignment(g, p->name, arena, ret);
    case KIND_PENDING:
        return classic_record_pending_id(g, p->name, arena, ret);
    case KIND_CONSUMER:
    case KIND_STREAMS:
        return modern_record(modern_of(p->kind), g, p->key, arena, ret);
    case KIND_HISTORY:
        return history_record_of(g, p->key, arena, ret);
    case KIND_OFFSET:
        return offset_record(g, p->name, p->number, arena, ret);
    }
    return false;
}

/* ---- the next live place ------------------------------------------------------------------------------------------------------ */

static bool next_member(const struct group *g, const struct place *after, struct place *ret)
{
    struct str last = after->kind == KIND_MEMBER ? after->name : STR_NULL;
    const struct classic_member *m = str_is_null(last) ? NULL : classic_member_find(g, last);
    if (m != NULL && after->number == 0 && m->has_assignment) {
        *ret = group_place(g->id, KIND_MEMBER, m->member_id, 1);
        return true;
    }
    m = classic_member_after(g, last);
    if (m != NULL) {
        *ret = group_place(g->id, KIND_MEMBER, m->member_id, 0);
    }
    return m != NULL;
}

static bool next_pending(const struct group *g, const struct place *after, struct place *ret)
{
    const struct classic_pending_id *p = classic_pending_after(g, after->kind == KIND_PENDING ? after->name : STR_NULL);
    if (p != NULL) {
        *ret = group_place(g->id, KIND_PENDING, p->member_id, 0);
    }
    return p != NULL;
}

static bool next_modern(const struct group *g, enum kind kind, const struct place *after, struct arena *arena, struct place *ret)
{
    struct bytes key;
    if (after->kind > kind || !modern_key_after(modern_of(kind), g, after->kind == kind ? after->key : BYTES_NULL, arena, &key)) {
        return false;
    }
    *ret = modern_place(g->id, modern_of(kind), key);
    return true;
}

static bool next_history(const struct group *g, const struct place *after, struct arena *arena, struct place *ret)
{
    struct bytes key;
    if (after->kind > KIND_HISTORY || !history_key_after(g, after->kind == KIND_HISTORY ? after->key : BYTES_NULL, arena, &key)) {
        return false;
    }
    *ret = history_place(g->id, key);
    return true;
}

static bool next_offset(const struct group *g, const struct place *after, struct place *ret)
{
    bool inside = after->kind == KIND_OFFSET;
    struct offset o;
    bool found = offsets_after(g, inside ? after->name : STR_NULL, inside ? after->number : 0, &o);
    if (found) {
        *ret = group_place(g->id, KIND_OFFSET, o.topic->name, o.partition);
    }
    return found;
}

/* The next place of a group that is live; `after` is one of this group. */
static bool next_in_group(const struct group *g, const struct place *after, struct arena *arena, struct place *ret)
{
    if (after->kind == KIND_REVISION && g->classic.exists) {
        *ret = group_place(g->id, KIND_GROUP, STR_NULL, 0);
        return true;
    }
    return (after->kind <= KIND_MEMBER && next_member(g, after, ret)) || (after->kind <= KIND_PENDING && next_pending(g, after, ret)) ||
           next_modern(g, KIND_CONSUMER, after, arena, ret) || next_modern(g, KIND_STREAMS, after, arena, ret) ||
           next_history(g, after, arena, ret) || next_offset(g, after, ret);
}

static bool next_live(const struct group_set *set, const struct snapshot_cut *cut, struct arena *arena, struct place *ret)
{
    if (!cut->started || cut->at.part == PART_CATALOG) {
        struct record record;
        if (catalog_record_after(set, cut->started ? cut->at.key : BYTES_NULL, arena, &record)) {
            *ret = catalog_place(record.key);
            return true;
        }
    }
    bool inside = cut->started && cut->at.part == PART_GROUPS;
    const struct group *g = inside ? group_find(set, cut->at.group) : NULL;
    if (g != NULL && next_in_group(g, &cut->at, arena, ret)) {
        return true;
    }
    g = group_after(set, inside ? cut->at.group : STR_NULL);
    if (g != NULL) {
        *ret = group_place(g->id, KIND_REVISION, STR_NULL, 0);
    }
    return g != NULL;
}

/* ---- what is changed ahead of the walk -------------------------------------------------------------------------------------------- */

static void save(struct group_set *set, const struct place *p, struct arena *scratch)
{
    struct snapshot_cut *cut = set->cut;
    struct saved wanted = {.place = *p};
    if ((cut->started && place_cmp(p, &cut->at) <= 0) || RB_FIND(saved_tree, &cut->saved, &wanted) != NULL) {
        return;
    }
    struct record record = {BYTES_NULL, BYTES_NULL};
    (void)live_record(set, p, scratch, &record);
    struct saved *s = pool_get(set->pool, sizeof *s);
    s->place = place_copy(set->pool, p);
    s->record = (struct record){pool_bytes(set->pool, record.key), pool_bytes(set->pool, record.value)};
    MUSTER_CHECK(RB_INSERT(saved_tree, &cut->saved, s) == NULL);
}

static void saved_free(struct group_set *set, struct saved *s)
{
    RB_REMOVE(saved_tree, &set->cut->saved, s);
    place_free(set->pool, &s->place);
    pool_put_bytes(set->pool, s->record.key);
    pool_put_bytes(set->pool, s->record.value);
    pool_put(set->pool, s, sizeof *s);
}

void snapshot_save_revision(struct group_set *set, struct str group_id, struct arena *scratch)
{
    struct place p = group_place(group_id, KIND_REVISION, STR_NULL, 0);
    save(set, &p, scratch);
}

static void save_member(struct group_set *set, const struct classic_member_key *key, bool tombstone, struct arena *scratch)
{
    struct place p = group_place(key->group_id, KIND_MEMBER, key->member_id, 0);
    save(set, &p, scratch);
    if (tombstone) { /* it takes the assignment along */
        p.number = 1;
        save(set, &p, scratch);
    }
}

void snapshot_save(struct group_set *set, struct record raw, const struct wire_decoded_record *record, struct arena *scratch)
{
    struct place p;
    switch (record->schema->type) {
    case RECORD_CLASSIC_GROUP:
        p = group_place(((const struct classic_group_key *)record->key)->group_id, KIND_GROUP, STR_NULL, 0);
        break;
    case RECORD_CLASSIC_MEMBER:
        snapshot_save_revision(set, ((const struct classic_member_key *)record->key)->group_id, scratch);
        save_member(set, record->key, record->value == NULL, scratch);
        return;
    case RECORD_CLASSIC_ASSIGNMENT: {
        const struct classic_assignment_key *key = record->key;
        p = group_place(key->group_id, KIND_MEMBER, key->member_id, 1);
        break;
    }
    case RECORD_CLASSIC_PENDING_ID: {
        const struct classic_pending_id_key *key = record->key;
        p = group_place(key->group_id, KIND_PENDING, key->member_id, 0);
        break;
    }
    case RECORD_OFFSET_COMMIT: {
        const struct offset_commit_key *key = record->key;
        p = group_place(key->group, KIND_OFFSET, key->topic, key->partition);
        break;
    }
    case RECORD_GROUP_REBALANCE:
    case RECORD_GROUP_REBALANCE_CAUSE:
    case RECORD_GROUP_REBALANCE_MOVES:
        p = history_place(((const struct group_rebalance_key *)record->key)->group_id, raw.key);
        break; /* all three keys begin with the group's id */
    case RECORD_TOPIC:
    case RECORD_TOPIC_DELETED:
    case RECORD_TOPIC_END:
    case RECORD_CONFIG:
    case RECORD_NODE:
    case RECORD_FEATURE_LEVEL:
    case RECORD_PRODUCER_ID_BLOCK:
    case RECORD_CLUSTER_MEMBER:
    case RECORD_MEMBER_CHANGE:
        p = catalog_place(raw.key);
        break;
    default:
        if (modern_kind_of(record->schema->type) == NULL) {
            return;
        }
        p = modern_place(((const struct consumer_group_metadata_key *)record->key)->group_id, modern_kind_of(record->schema->type),
                         raw.key);
        break; /* all their keys begin with the group's id */
    }
    if (p.part == PART_GROUPS) {
        snapshot_save_revision(set, p.group, scratch);
    }
    save(set, &p, scratch);
}

/* ---- begin, next, end ---------------------------------------------------------------------------------------------------------------- */

static void head_add(struct group_set *set, struct record record)
{
    struct snapshot_cut *cut = set->cut;
    MUSTER_CHECK(cut->head_count < cut->head_capacity);
    cut->head[cut->head_count++] = (struct record){pool_bytes(set->pool, record.key), pool_bytes(set->pool, record.value)};
}

static void head_fill(struct group_set *set)
{
    struct arena *arena = &set->cut->arena;
    set->cut->head_capacity = 2 + set->office_count;
    set->cut->head = pool_get(set->pool, (size_t)set->cut->head_capacity * sizeof(struct record));
    struct snapshot_state_key key = {.shard = (int32_t)set->shard};
    struct snapshot_state_value value = {.shard_clock_ms = set->clock_ms, .catalog_index = (int64_t)set->catalog_index};
    head_add(set, wire_record_encode(RECORD_SNAPSHOT_STATE, &key, 0, &value, arena));
    if (set->cursor_hash != 0) {
        struct catalog_cursor_key cursor_key = {.shard = (int32_t)set->shard};
        struct catalog_cursor_value cursor_value = {.catalog_index = set->cursor};
        head_add(set, wire_record_encode(RECORD_CATALOG_CURSOR, &cursor_key, 0, &cursor_value, arena));
    }
    for (int32_t i = 0; i < set->office_count; i++) {
        head_add(set, office_record(set->offices[i], arena));
    }
    arena_clear(arena);
}

void group_snapshot_begin(struct group_set *set)
{
    MUSTER_CHECK(set->cut == NULL && set->base == NULL);
    set->cut = pool_get(set->pool, sizeof *set->cut);
    RB_INIT(&set->cut->saved);
    arena_init(&set->cut->arena, 0);
    set->cut->hash = set->hash;
    head_fill(set);
}

static void write_bytes(struct buf *out, struct bytes b)
{
    uint8_t len[4];
    put_be32(len, (uint32_t)b.len);
    MUSTER_CHECK(buf_put(out, len, sizeof len) == MUSTER_E_OK);
    MUSTER_CHECK(b.len <= 0 || buf_put(out, b.ptr, (size_t)b.len) == MUSTER_E_OK);
}

/* Clock and revisions are no records of the log: only snapshots have them, and the state's hash does not. */
static bool is_hashed(struct record record)
{
    uint16_t type = get_be16(record.key.ptr);
    return type != RECORD_SNAPSHOT_STATE && type != RECORD_GROUP_REVISION;
}

static void write_record(struct group_set *set, struct buf *out, struct record record)
{
    set->cut->sum += is_hashed(record) ? record_hash(record) : 0;
    write_bytes(out, record.key);
    write_bytes(out, record.value);
}

static void move_to(struct group_set *set, const struct place *p)
{
    MUSTER_CHECK(!set->cut->started || place_cmp(&set->cut->at, p) < 0);
    struct place copy = place_copy(set->pool, p);
    if (set->cut->started) {
        place_free(set->pool, &set->cut->at);
    }
    set->cut->at = copy;
    set->cut->started = true;
}

static bool dropped_on_purpose(const struct place *p)
{
#ifdef MUSTER_FAULT_SNAPSHOT_DROPS_RECORD
    static unsigned seen;
    return p->part == PART_GROUPS && p->kind == KIND_OFFSET && ++seen % 8 == 0;
#else
    (void)p;
    return false;
#endif
}

/* Gives out the next record of the cut: what was saved for a place goes before what is there now. False at the end. */
static bool next_record(struct group_set *set, struct buf *out)
{
    struct snapshot_cut *cut = set->cut;
    if (cut->head_done < cut->head_count) {
        write_record(set, out, cut->head[cut->head_done++]);
        return true;
    }
    struct place live;
    bool have_live = next_live(set, cut, &cut->arena, &live);
    struct saved *s = RB_MIN(saved_tree, &cut->saved);
    if (s != NULL && (!have_live || place_cmp(&s->place, &live) <= 0)) {
        move_to(set, &s->place);
        if (s->record.value.len >= 0 && !dropped_on_purpose(&s->place)) {
            write_record(set, out, s->record);
        }
        saved_free(set, s);
        return true;
    }
    if (!have_live) {
        return false;
    }
    struct record record;
    MUSTER_CHECK(live_record(set, &live, &cut->arena, &record));
    if (!dropped_on_purpose(&live)) {
        write_record(set, out, record);
    }
    move_to(set, &live);
    return true;
}

bool group_snapshot_next(struct group_set *set, size_t budget, struct buf *out)
{
    MUSTER_CHECK(set->cut != NULL);
    size_t begin = out->len;
    while (out->len - begin < budget || budget == 0) {
        bool more = next_record(set, out);
        arena_clear(&set->cut->arena);
        if (!more) {
            return false;
        }
        if (budget == 0) {
            break;
        }
    }
    return true;
}

bool group_snapshot_whole(const struct group_set *set)
{
    return set->cut->sum == set->cut->hash;
}

void group_snapshot_end(struct group_set *set)
{
    struct snapshot_cut *cut = set->cut;
    if (cut == NULL) {
        return;
    }
    for (struct saved *s; (s = RB_MIN(saved_tree, &cut->saved)) != NULL;) {
        saved_free(set, s);
    }
    if (cut->started) {
        place_free(set->pool, &cut->at);
    }
    for (int i = 0; i < cut->head_count; i++) {
        pool_put_bytes(set->pool, cut->head[i].key);
        pool_put_bytes(set->pool, cut->head[i].value);
    }
    pool_put(set->pool, cut->head, (size_t)cut->head_capacity * sizeof(struct record));
    arena_fini(&cut->arena);
    pool_put(set->pool, cut, sizeof *cut);
    set->cut = NULL;
}

/* ---- reading -------------------------------------------------------------------------------------------------------------------------- */

static bool read_bytes(struct bytes *in, struct bytes *ret)
{
    if (in->len < 4) {
        return false;
    }
    uint32_t len = get_be32(in->ptr);
    if (len > (uint32_t)in->len - 4) {
        return false;
    }
    *ret = (struct bytes){in->ptr + 4, (int32_t)len};
    in->ptr += 4 + len;
    in->len -= (int32_t)(4 + len);
    return true;
}

bool snapshot_read(struct bytes *run, struct record *ret)
{
    return run->len > 0 && read_bytes(run, &ret->key) && read_bytes(run, &ret->value);
}
