/* read.c: what others ask the catalogue. Everything they get points into the state and is good until the next apply. */
#include "configs.h"

#include <string.h>

static bool topic_give(const struct topic *t, struct topic_view *ret)
{
    if (t == NULL) {
        return false;
    }
    *ret = (struct topic_view){.name = t->name, .id = t->id, .partitions = t->partitions};
    return true;
}

static bool view_by_name(const void *ctx, struct str name, struct topic_view *ret)
{
    const struct group_set *shard0 = ctx;
    return topic_give(topic_find(shard0->catalog, name), ret);
}

static bool view_by_id(const void *ctx, struct uuid id, struct topic_view *ret)
{
    const struct group_set *shard0 = ctx;
    return topic_give(topic_find_id(shard0->catalog, id), ret);
}

static bool view_was_deleted(const void *ctx, struct uuid id)
{
    const struct group_set *shard0 = ctx;
    uint8_t key[DELETED_KEY_BYTES];
    return entry_find(shard0->catalog, deleted_key(id, key)) != NULL;
}

static bool view_next(const void *ctx, struct str after, struct topic_view *ret)
{
    const struct group_set *shard0 = ctx;
    return topic_give(topic_after(shard0->catalog, after), ret);
}

void catalog_topics(const struct group_set *shard0, struct topics *ret)
{
    *ret = (struct topics){.ctx = shard0, .by_name = view_by_name, .by_id = view_by_id, .was_deleted = view_was_deleted, .next = view_next};
}

/* ---- what has changed ------------------------------------------------------------------------------------------------------------ */

enum { DELETIONS_LOOKED_AT = 1000 };

/* The names of topics that are gone since then, the newest ones. */
static bool gone_since(const struct catalog *c, int64_t since, struct arena *arena, struct names *ret)
{
    const struct deleted *newest = deleted_newest(c);
    int32_t count = 0;
    for (const struct deleted *d = newest; d != NULL && d->index > since && count < DELETIONS_LOOKED_AT; d = deleted_before(d)) {
        count++;
    }
    names_init(ret, arena, count);
    for (int32_t i = 0; i < count; i++, newest = deleted_before(newest)) {
        struct topic_deleted_value value;
        entry_value(&newest->entry, &wire_topic_deleted_value, &value);
        names_add(ret, bytes_of_str(value.name), i);
    }
    return count > 0;
}

int32_t catalog_changed_topics(const struct group_set *shard0, struct str_array names, int64_t since, struct arena *arena,
                               struct str_array *first)
{
    const int32_t *order = names_sort(names.v, names.len, arena);
    struct names gone;
    bool any_gone = gone_since(shard0->catalog, since, arena, &gone);
    int32_t total = 0, room = first->len;
    first->len = 0;
    for (int32_t i = 0; i < names.len; i++) {
        struct str name = names.v[order[i]];
        const struct topic *t = topic_find(shard0->catalog, name);
        bool changed = t != NULL ? t->changed_index > since : any_gone && names_find(&gone, bytes_of_str(name)) >= 0;
        if (!changed || (i > 0 && str_eq(name, names.v[order[i - 1]]))) {
            continue;
        }
        if (first->len < room) {
            first->v[first->len++] = name;
        }
        total++;
    }
    return total;
}

static bool catalog_give(const struct topic *t, struct catalog_topic *ret)
{
    if (t == NULL) {
        return false;
    }
    *ret = (struct catalog_topic){.name = t->name, .id = t->id, .partitions = t->partitions, .replication_factor = t->replication_factor};
    return true;
}

bool catalog_next_topic(const struct group_set *shard0, struct str after, struct catalog_topic *ret)
{
    return catalog_give(topic_after(shard0->catalog, after), ret);
}

bool catalog_find_topic(const struct group_set *shard0, struct str name, struct catalog_topic *ret)
{
    return catalog_give(topic_find(shard0->catalog, name), ret);
}

bool catalog_find_topic_id(const struct group_set *shard0, struct uuid id, struct catalog_topic *ret)
{
    return catalog_give(topic_find_id(shard0->catalog, id), ret);
}

int64_t catalog_end_offset(const struct group_set *shard0, struct uuid topic_id, int32_t partition)
{
    uint8_t key[END_KEY_BYTES];
    const struct entry *e = entry_find(shard0->catalog, end_key(topic_id, partition, key));
    if (e == NULL) {
        return 0;
    }
    struct topic_end_value value;
    entry_value(e, &wire_topic_end_value, &value);
    return value.end_offset;
}

const struct entry *entry_numbered_after(const struct catalog *c, int16_t type, int32_t after)
{
    uint8_t key[NUMBERED_KEY_BYTES];
    if (after == INT32_MAX) {
        return NULL;
    }
    struct bytes first = numbered_key(type, after < 0 ? 0 : after + 1, key);
    const struct entry *e = entry_find(c, first);
    if (e == NULL) {
        e = entry_after(c, first);
    }
    return e != NULL && entry_is(e, type) ? e : NULL;
}

bool catalog_next_node(const struct group_set *shard0, int32_t after, struct catalog_node *ret)
{
    const struct entry *e = entry_numbered_after(shard0->catalog, RECORD_NODE, after);
    if (e == NULL) {
        return false;
    }
    struct node_value value;
    entry_value(e, &wire_node_value, &value);
    *ret = (struct catalog_node){.node_id = (int32_t)get_be32(e->key.ptr + 2),
                                 .incarnation = value.incarnation,
                                 .host = value.host,
                                 .port = value.port,
                                 .peer_address = value.peer_address,
                                 .rack = value.rack,
                                 .feature_level = value.feature_level,
                                 .release = value.release};
    return true;
}

bool node_is_registered(const struct catalog *c, int32_t node_id)
{
    uint8_t key[NUMBERED_KEY_BYTES];
    return node_id >= 0 && entry_find(c, numbered_key(RECORD_NODE, node_id, key)) != NULL;
}

bool catalog_config(const struct group_set *shard0, int8_t resource_type, struct str resource, struct str name, struct str *ret)
{
    const struct config *config = config_find(shard0->catalog, resource_type, resource, name);
    if (config == NULL) {
        return false;
    }
    *ret = config->value;
    return true;
}

bool catalog_next_config_resource(const struct group_set *shard0, int8_t resource_type, struct str after, struct str *ret)
{
    if (resource_type == RESOURCE_TOPIC) { /* every topic has configs, if only defaults */
        const struct topic *t = topic_after(shard0->catalog, after);
        if (t != NULL) {
            *ret = t->name;
        }
        return t != NULL;
    }
    const struct config *config = config_after_resource(shard0->catalog, resource_type, after);
    if (config != NULL) {
        *ret = config->resource;
    }
    return config != NULL;
}

/* ---- what a group has set for itself -------------------------------------------------------------------------------------------- */

static bool read_number(const struct config_reader *reader, const struct config_definition *def, const struct group_settings *settings,
                        struct str value)
{
    for (size_t i = 0; i < reader->number_count; i++) {
        int64_t number = 0;
        if (!str_eq(str_of(def->name), str_of(reader->numbers[i].name))) {
            continue;
        }
        if (!config_number(value, &number)) {
            return true;
        }
        char *field = (char *)reader->to + reader->numbers[i].offset;
        number = config_kept_within(def, settings, number);
        if (reader->numbers[i].wide) {
            memcpy(field, &number, sizeof(number));
        } else if (number >= INT32_MIN && number <= INT32_MAX) {
            int32_t narrow = (int32_t)number;
            memcpy(field, &narrow, sizeof(narrow));
        }
        return true;
    }
    return false;
}

void config_read_group(const struct group_set *catalog, const struct group_settings *settings, struct str group_id,
                       const struct config_reader *reader, struct arena *arena)
{
    if (catalog == NULL || catalog->catalog == NULL) {
        return;
    }
    struct str prefix = reader->prefix;
    const struct config *own = config_at(catalog->catalog, RESOURCE_GROUP, group_id, prefix);
    for (; own != NULL && own->name.len > prefix.len && memcmp(own->name.ptr, prefix.ptr, (size_t)prefix.len) == 0;
         own = config_next(own)) {
        const struct config_definition *def = config_definition_find(RESOURCE_GROUP, own->name);
        struct str value;
        struct str problem;
        if (def != NULL && !read_number(reader, def, settings, own->value) &&
            config_value_check(def, own->value, arena, &value, &problem)) {
            reader->word(reader->to, own->name, value, arena);
        }
    }
}

/* ---- budgets ------------------------------------------------------------------------------------------------------------------ */

static void budget(const struct group_set *shard0, struct str name, int32_t shard_count, int64_t *budget_of_shard)
{
    const struct config *set = config_find(shard0->catalog, RESOURCE_BROKER, STR(""), name);
    int64_t total = 0;
    if (set != NULL && config_number(set->value, &total)) {
        *budget_of_shard = (total + shard_count - 1) / shard_count;
    }
}

void catalog_settings(const struct group_set *shard0, int32_t shard_count, struct group_settings *settings)
{
    budget(shard0, STR("muster.max.groups"), shard_count, &settings->max_groups);
    budget(shard0, STR("muster.max.members"), shard_count, &settings->max_members);
    budget(shard0, STR("muster.max.state.bytes"), shard_count, &settings->max_state_bytes);
}
