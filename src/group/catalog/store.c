/* store.c: the catalogue's records, and the orders they are looked up in. */
#include "state.h"

#include <string.h>

/* ---- records by key --------------------------------------------------------------------------------------------------------- */

int catalog_key_cmp(struct bytes a, struct bytes b)
{
    return str_cmp((struct str){(const char *)a.ptr, a.len}, (struct str){(const char *)b.ptr, b.len});
}

static int entry_order(const struct entry *a, const struct entry *b)
{
    return catalog_key_cmp(a->key, b->key);
}
RB_GENERATE_INTERNAL(entry_tree, entry, link, entry_order, __attribute__((unused)) static)

const struct entry *entry_find(const struct catalog *c, struct bytes key)
{
    struct entry wanted = {.key = key};
    return RB_FIND(entry_tree, (struct entry_tree *)(uintptr_t)&c->entries, &wanted);
}

const struct entry *entry_after(const struct catalog *c, struct bytes key)
{
    struct entry_tree *tree = (struct entry_tree *)(uintptr_t)&c->entries;
    if (key.len < 0) {
        return RB_MIN(entry_tree, tree);
    }
    struct entry wanted = {.key = key};
    struct entry *e = RB_NFIND(entry_tree, tree, &wanted);
    return e != NULL && bytes_eq(e->key, key) ? RB_NEXT(entry_tree, tree, e) : e;
}

bool entry_is(const struct entry *e, int16_t type)
{
    return (int16_t)get_be16(e->key.ptr) == type;
}

/* Without arrays nothing is taken from the arena. What is stored has been decoded before it was stored. */
static void read_fields(const struct wire_msg *msg, int16_t version, struct bytes body, void *ret)
{
    struct arena none;
    arena_init(&none, 1);
    int rc = wire_decode(msg, version, body, &none, ret, NULL);
    arena_fini(&none);
    MUSTER_CHECK(rc == MUSTER_E_OK);
}

void entry_value(const struct entry *e, const struct wire_msg *msg, void *ret)
{
    struct bytes body = {e->value.ptr + 2, e->value.len - 2};
    read_fields(msg, (int16_t)get_be16(e->value.ptr), body, ret);
}

static void entry_key(const struct entry *e, const struct wire_msg *msg, void *ret)
{
    read_fields(msg, 0, (struct bytes){e->key.ptr + 2, e->key.len - 2}, ret);
}

struct bytes deleted_key(struct uuid topic_id, uint8_t dst[DELETED_KEY_BYTES])
{
    put_be16(dst, RECORD_TOPIC_DELETED);
    memcpy(dst + 2, topic_id.b, sizeof(topic_id.b));
    return (struct bytes){dst, DELETED_KEY_BYTES};
}

struct bytes end_key(struct uuid topic_id, int32_t partition, uint8_t dst[END_KEY_BYTES])
{
    put_be16(dst, RECORD_TOPIC_END);
    memcpy(dst + 2, topic_id.b, sizeof(topic_id.b));
    put_be32(dst + 18, (uint32_t)partition);
    return (struct bytes){dst, END_KEY_BYTES};
}

struct bytes numbered_key(int16_t type, int32_t number, uint8_t dst[NUMBERED_KEY_BYTES])
{
    put_be16(dst, (uint16_t)type);
    put_be32(dst + 2, (uint32_t)number);
    return (struct bytes){dst, NUMBERED_KEY_BYTES};
}

/* ---- topics ------------------------------------------------------------------------------------------------------------------ */

/* What is stored comes from a log: two records of one name or id, which nobody here writes, must not tear a tree. The key's bytes settle it, and the first
 * of equals is the one that is found. */
static int topic_by_name(const struct topic *a, const struct topic *b)
{
    int order = str_cmp(a->name, b->name);
    return order != 0 ? order : entry_order(&a->entry, &b->entry);
}
RB_GENERATE_INTERNAL(topic_name_order, topic, by_name, topic_by_name, __attribute__((unused)) static)

static int topic_by_id(const struct topic *a, const struct topic *b)
{
    int order = uuid_cmp(a->id, b->id);
    return order != 0 ? order : entry_order(&a->entry, &b->entry);
}
RB_GENERATE_INTERNAL(topic_id_order, topic, by_id, topic_by_id, __attribute__((unused)) static)

static int form_cmp(struct str a, struct str b)
{
    for (int32_t i = 0; i < a.len && i < b.len; i++) {
        char x = a.ptr[i] == '.' ? '_' : a.ptr[i];
        char y = b.ptr[i] == '.' ? '_' : b.ptr[i];
        if (x != y) {
            return (unsigned char)x < (unsigned char)y ? -1 : 1;
        }
    }
    return (a.len > b.len) - (a.len < b.len);
}

static int topic_by_form(const struct topic *a, const struct topic *b)
{
    int order = form_cmp(a->name, b->name);
    return order != 0 ? order : topic_by_name(a, b);
}
RB_GENERATE_INTERNAL(topic_form_order, topic, by_form, topic_by_form, __attribute__((unused)) static)

const struct topic *topic_find(const struct catalog *c, struct str name)
{
    struct topic wanted = {.name = name};
    const struct topic *found = RB_NFIND(topic_name_order, (struct topic_name_order *)(uintptr_t)&c->topics_by_name, &wanted);
    return found != NULL && str_eq(found->name, name) ? found : NULL;
}

const struct topic *topic_find_id(const struct catalog *c, struct uuid id)
{
    struct topic wanted = {.id = id};
    const struct topic *found = RB_NFIND(topic_id_order, (struct topic_id_order *)(uintptr_t)&c->topics_by_id, &wanted);
    return found != NULL && uuid_eq(found->id, id) ? found : NULL;
}

const struct topic *topic_after(const struct catalog *c, struct str name)
{
    struct topic_name_order *tree = (struct topic_name_order *)(uintptr_t)&c->topics_by_name;
    if (str_is_null(name)) {
        return RB_MIN(topic_name_order, tree);
    }
    struct topic wanted = {.name = name};
    struct topic *t = RB_NFIND(topic_name_order, tree, &wanted);
    while (t != NULL && str_eq(t->name, name)) {
        t = RB_NEXT(topic_name_order, tree, t);
    }
    return t;
}

const struct topic *topic_colliding(const struct catalog *c, struct str name)
{
    const struct topic *first = NULL;
    struct topic *t = RB_ROOT((struct topic_form_order *)(uintptr_t)&c->topics_by_form);
    while (t != NULL) {
        int order = form_cmp(name, t->name);
        if (order == 0) {
            first = t;
        }
        t = order <= 0 ? RB_LEFT(t, by_form) : RB_RIGHT(t, by_form);
    }
    return first;
}

static void topic_unlink(struct catalog *c, struct topic *t)
{
    RB_REMOVE(topic_name_order, &c->topics_by_name, t);
    RB_REMOVE(topic_id_order, &c->topics_by_id, t);
    RB_REMOVE(topic_form_order, &c->topics_by_form, t);
}

static void topic_link(struct catalog *c, struct topic *t)
{
    struct topic_key key;
    struct topic_value value;
    entry_key(&t->entry, &wire_topic_key, &key);
    entry_value(&t->entry, &wire_topic_value, &value);
    t->name = key.name;
    t->id = value.topic_id;
    t->partitions = value.partitions;
    t->replication_factor = value.replication_factor;
    t->changed_index = value.created_index;
    RB_INSERT(topic_name_order, &c->topics_by_name, t);
    RB_INSERT(topic_id_order, &c->topics_by_id, t);
    RB_INSERT(topic_form_order, &c->topics_by_form, t);
}

/* ---- configs ----------------------------------------------------------------------------------------------------------------- */

static int config_by_resource(const struct config *a, const struct config *b)
{
    if (a->resource_type != b->resource_type) {
        return a->resource_type < b->resource_type ? -1 : 1;
    }
    int order = str_cmp(a->resource, b->resource);
    order = order != 0 ? order : str_cmp(a->name, b->name);
    return order != 0 ? order : entry_order(&a->entry, &b->entry);
}
RB_GENERATE_INTERNAL(config_order, config, by_resource, config_by_resource, __attribute__((unused)) static)

const struct config *config_at(const struct catalog *c, int8_t resource_type, struct str resource, struct str name)
{
    struct config wanted = {.resource_type = resource_type, .resource = resource, .name = name};
    const struct config *found = RB_NFIND(config_order, (struct config_order *)(uintptr_t)&c->configs, &wanted);
    return found != NULL && found->resource_type == resource_type && str_eq(found->resource, resource) ? found : NULL;
}

const struct config *config_next(const struct config *config)
{
    const struct config *next = RB_NEXT(config_order, NULL, (struct config *)(uintptr_t)config);
    return next != NULL && next->resource_type == config->resource_type && str_eq(next->resource, config->resource) ? next : NULL;
}

const struct config *config_find(const struct catalog *c, int8_t resource_type, struct str resource, struct str name)
{
    const struct config *found = config_at(c, resource_type, resource, name);
    return found != NULL && str_eq(found->name, name) ? found : NULL;
}

const struct config *config_after_resource(const struct catalog *c, int8_t resource_type, struct str resource)
{
    struct config wanted = {.resource_type = resource_type, .resource = resource, .name = STR_NULL};
    const struct config *found = RB_NFIND(config_order, (struct config_order *)(uintptr_t)&c->configs, &wanted);
    while (found != NULL && found->resource_type == resource_type && str_eq(found->resource, resource)) {
        found = RB_NEXT(config_order, NULL, (struct config *)(uintptr_t)found);
    }
    return found != NULL && found->resource_type == resource_type ? found : NULL;
}

static void config_unlink(struct catalog *c, struct config *config)
{
    RB_REMOVE(config_order, &c->configs, config);
}

static void config_link(struct catalog *c, struct config *config)
{
    struct config_key key;
    struct config_value value;
    entry_key(&config->entry, &wire_config_key, &key);
    entry_value(&config->entry, &wire_config_value, &value);
    config->resource_type = key.resource_type;
    config->resource = key.resource_name;
    config->name = key.name;
    config->value = value.value;
    RB_INSERT(config_order, &c->configs, config);
}

/* ---- deleted topics ------------------------------------------------------------------------------------------------------------- */

static int deleted_by_age(const struct deleted *a, const struct deleted *b)
{
    if (a->index != b->index) {
        return a->index < b->index ? -1 : 1;
    }
    return entry_order(&a->entry, &b->entry);
}
RB_GENERATE_INTERNAL(deleted_order, deleted, by_age, deleted_by_age, __attribute__((unused)) static)

const struct deleted *deleted_oldest(const struct catalog *c)
{
    return RB_MIN(deleted_order, (struct deleted_order *)(uintptr_t)&c->deleted);
}

const struct deleted *deleted_next(const struct deleted *d)
{
    return RB_NEXT(deleted_order, NULL, (struct deleted *)(uintptr_t)d);
}

const struct deleted *deleted_newest(const struct catalog *c)
{
    return RB_MAX(deleted_order, (struct deleted_order *)(uintptr_t)&c->deleted);
}

const struct deleted *deleted_before(const struct deleted *d)
{
    return RB_PREV(deleted_order, NULL, (struct deleted *)(uintptr_t)d);
}

static void deleted_unlink(struct catalog *c, struct deleted *d)
{
    RB_REMOVE(deleted_order, &c->deleted, d);
    c->deleted_count--;
}

static void deleted_link(struct catalog *c, struct deleted *d)
{
    struct topic_deleted_value value;
    entry_value(&d->entry, &wire_topic_deleted_value, &value);
    d->index = value.deleted_index;
    RB_INSERT(deleted_order, &c->deleted, d);
    c->deleted_count++;
}

/* ---- apply --------------------------------------------------------------------------------------------------------------------- */

static size_t entry_bytes(const struct entry *e)
{
    switch ((int16_t)get_be16(e->key.ptr)) {
    case RECORD_TOPIC:
        return sizeof(struct topic);
    case RECORD_TOPIC_DELETED:
        return sizeof(struct deleted);
    case RECORD_CONFIG:
        return sizeof(struct config);
    default:
        return sizeof(struct entry);
    }
}

static void entry_unlink(struct group_set *set, struct entry *e)
{
    if (entry_is(e, RECORD_TOPIC)) {
        topic_unlink(set->catalog, CONTAINER_OF(e, struct topic, entry));
        set->counts.topics--;
    } else if (entry_is(e, RECORD_TOPIC_DELETED)) {
        deleted_unlink(set->catalog, CONTAINER_OF(e, struct deleted, entry));
    } else if (entry_is(e, RECORD_CONFIG)) {
        config_unlink(set->catalog, CONTAINER_OF(e, struct config, entry));
    }
}

static void entry_link(struct group_set *set, struct entry *e)
{
    if (entry_is(e, RECORD_TOPIC)) {
        topic_link(set->catalog, CONTAINER_OF(e, struct topic, entry));
        set->counts.topics++;
    } else if (entry_is(e, RECORD_TOPIC_DELETED)) {
        deleted_link(set->catalog, CONTAINER_OF(e, struct deleted, entry));
    } else if (entry_is(e, RECORD_CONFIG)) {
        config_link(set->catalog, CONTAINER_OF(e, struct config, entry));
    }
}

static void entry_free(struct group_set *set, struct entry *e)
{
    size_t size = entry_bytes(e);
    entry_unlink(set, e);
    RB_REMOVE(entry_tree, &set->catalog->entries, e);
    pool_put_bytes(set->pool, e->key);
    pool_put_bytes(set->pool, e->value);
    pool_put(set->pool, e, size);
}

static struct entry *entry_make(struct group_set *set, struct bytes key)
{
    size_t size = entry_bytes(&(struct entry){.key = key});
    struct entry *e = pool_get(set->pool, size);
    e->key = pool_bytes(set->pool, key);
    RB_INSERT(entry_tree, &set->catalog->entries, e);
    return e;
}

static void note_change(struct topic *t, uint64_t index)
{
    if ((int64_t)index > t->changed_index) {
        t->changed_index = (int64_t)index;
    }
}

void catalog_apply(const struct apply_context *c, const struct wire_decoded_record *record)
{
    struct group_set *set = c->set;
    struct entry *e = (struct entry *)(uintptr_t)entry_find(set->catalog, c->raw.key);
    group_hash_replace(set, e != NULL ? e->record_hash : 0, c->record_hash);
    if (record->value == NULL) {
        if (e != NULL) {
            entry_free(set, e);
        }
        return;
    }
    if (e == NULL) {
        e = entry_make(set, c->raw.key);
    } else {
        entry_unlink(set, e);
        pool_put_bytes(set->pool, e->value);
    }
    e->value = pool_bytes(set->pool, c->raw.value);
    e->record_hash = c->record_hash;
    entry_link(set, e);
    if (entry_is(e, RECORD_TOPIC)) {
        note_change(CONTAINER_OF(e, struct topic, entry), c->index);
    }
}

void catalog_new(struct group_set *set)
{
    set->catalog = pool_get(set->pool, sizeof(*set->catalog));
}

void catalog_free(struct group_set *set)
{
    struct entry *e;
    while ((e = RB_ROOT(&set->catalog->entries)) != NULL) {
        entry_free(set, e);
    }
    pool_put(set->pool, set->catalog, sizeof(*set->catalog));
    set->catalog = NULL;
}

/* ---- snapshots ------------------------------------------------------------------------------------------------------------------ */

static bool give_record(const struct entry *e, struct arena *arena, struct record *ret)
{
    if (e == NULL) {
        return false;
    }
    *ret = (struct record){.key = arena_bytes(arena, e->key), .value = arena_bytes(arena, e->value)};
    return true;
}

bool catalog_record_after(const struct group_set *set, struct bytes key, struct arena *arena, struct record *ret)
{
    return give_record(entry_after(set->catalog, key), arena, ret);
}

bool catalog_record(const struct group_set *set, struct bytes key, struct arena *arena, struct record *ret)
{
    return give_record(entry_find(set->catalog, key), arena, ret);
}
