/* store.c: the offsets of a group in a tree, topic names shared by the whole set, and OffsetCommit records in both directions. */
#include "offsets.h"

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

/* ---- offsets --------------------------------------------------------------------------------------------------------------- */

static int offset_order(const struct offset *a, const struct offset *b)
{
    if (a->topic != b->topic) {
        int order = str_cmp(a->topic->name, b->topic->name);
        if (order != 0) {
            return order;
        }
    }
    return (a->partition > b->partition) - (a->partition < b->partition);
}
RB_GENERATE_INTERNAL(offset_tree, offset, link, offset_order, __attribute__((unused)) static)

/* The tree's functions take it unqualified; looking changes nothing. */
static struct offset_tree *tree_of(const struct group *g)
{
    return (struct offset_tree *)(uintptr_t)&g->offsets;
}

static struct offset *offset_find(const struct group *g, struct str topic, int32_t partition)
{
    struct topic_name name = {.name = topic};
    struct offset key = {.topic = &name, .partition = partition};
    return RB_FIND(offset_tree, tree_of(g), &key);
}

const struct offset *offsets_find(const struct group *g, struct str topic, int32_t partition)
{
    return offset_find(g, topic, partition);
}

const struct offset *offsets_first(const struct group *g)
{
    return RB_MIN(offset_tree, tree_of(g));
}

const struct offset *offsets_next(const struct offset *o)
{
    return RB_NEXT(offset_tree, NULL, (struct offset *)(uintptr_t)o);
}

const struct offset *offsets_after(const struct group *g, struct str topic, int32_t partition)
{
    if (str_is_null(topic)) {
        return offsets_first(g);
    }
    struct topic_name name = {.name = topic};
    struct offset key = {.topic = &name, .partition = partition};
    const struct offset *o = RB_NFIND(offset_tree, tree_of(g), &key);
    bool is_it = o != NULL && o->partition == partition && str_eq(o->topic->name, topic);
    return is_it ? offsets_next(o) : o;
}

static void offset_free(struct group_set *set, struct group *g, struct offset *o)
{
    RB_REMOVE(offset_tree, &g->offsets, o);
    topic_name_drop(set, o->topic);
    pool_put_str(set->pool, o->metadata);
    pool_put(set->pool, o, sizeof(*o));
    g->offset_count--;
    set->counts.offsets--;
}

void offsets_free(struct group_set *set, struct group *g)
{
    struct offset *o;
    while ((o = RB_ROOT(&g->offsets)) != NULL) {
        offset_free(set, g, o);
    }
}

static struct offset *offset_make(struct group_set *set, struct group *g, struct str topic, int32_t partition)
{
    struct offset *o = pool_get(set->pool, sizeof(*o));
    o->topic = topic_name_take(set, topic);
    o->partition = partition;
    RB_INSERT(offset_tree, &g->offsets, o);
    g->offset_count++;
    set->counts.offsets++;
    return o;
}

void offsets_apply_commit(const struct apply_context *c, const struct offset_commit_key *key, const struct offset_commit_value *value)
{
    struct group_set *set = c->set;
    struct group *g = value != NULL ? group_find_or_add(set, key->group) : group_find(set, key->group);
    struct offset *o = g != NULL ? offset_find(g, key->topic, key->partition) : NULL;
    group_hash_replace(set, o != NULL ? o->record_hash : 0, c->record_hash);
    if (value == NULL) {
        if (o != NULL) {
            offset_free(set, g, o);
        }
        return;
    }
    if (o == NULL) {
        o = offset_make(set, g, key->topic, key->partition);
    }
    pool_put_str(set->pool, o->metadata);
    o->metadata = pool_str(set->pool, value->metadata);
    o->offset = value->offset;
    o->leader_epoch = value->leader_epoch;
    o->commit_wall_ms = value->commit_timestamp;
    o->commit_clock_ms = value->commit_clock_ms;
    o->expire_clock_ms = value->expire_clock_ms;
    o->topic_id = value->topic_id;
    o->record_hash = c->record_hash;
}

struct record offsets_record(const struct group *g, const struct offset *o, struct arena *arena)
{
    struct offset_commit_key key = {.group = g->id, .topic = o->topic->name, .partition = o->partition};
    struct offset_commit_value value;
    wire_init(&wire_offset_commit_value, &value);
    value.offset = o->offset;
    value.leader_epoch = o->leader_epoch;
    value.metadata = o->metadata;
    value.commit_timestamp = o->commit_wall_ms;
    value.topic_id = o->topic_id;
    value.commit_clock_ms = o->commit_clock_ms;
    value.expire_clock_ms = o->expire_clock_ms;
    return wire_record_encode(RECORD_OFFSET_COMMIT, &key, OFFSETS_VALUE_VERSION, &value, arena);
}

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
    const struct offset *o = g != NULL ? offsets_find(g, topic, partition) : NULL;
    if (o != NULL) {
        return bytes - o->metadata.len;
    }
    bytes += (int64_t)sizeof(struct offset);
    if (topic_name_find(set, topic) == NULL) {
        bytes += (int64_t)sizeof(struct topic_name) + topic.len;
    }
    return bytes;
}

bool offsets_live(const struct offset *o, const struct topics *topics)
{
    return uuid_is_zero(o->topic_id) || !topics->was_deleted(topics->ctx, o->topic_id);
}
