/* state.h: the catalogue of a set, private to src/group/catalog.
 *
 * Every record of the catalogue is kept as it was logged, in one tree by its key's bytes: snapshots give back exactly these bytes, and what is
 * rarely asked (nodes, end offsets, deleted topics) is read from them. Topics and configs have trees of their own beside it. */
#ifndef MUSTER_GROUP_CATALOG_STATE_H
#define MUSTER_GROUP_CATALOG_STATE_H

#include "../errors.h"
#include "../names.h"
#include "../state.h"

enum { RESOURCE_TOPIC = 2, RESOURCE_BROKER = 4, RESOURCE_BROKER_LOGGER = 8, RESOURCE_CLIENT_METRICS = 16, RESOURCE_GROUP = 32 };

struct entry { /* one live record */
    RB_ENTRY(entry) link;
    struct bytes key, value;
    uint64_t record_hash;
};
RB_HEAD(entry_tree, entry);

struct topic {
    struct entry entry;
    RB_ENTRY(topic) by_name, by_id, by_form;
    struct str name; /* into entry.key */
    struct uuid id;
    int32_t partitions;
    int16_t replication_factor;
    int64_t changed_index; /* of the entry that made it or made it grow, as far as this state saw that; for people, no part of the state */
};
RB_HEAD(topic_name_order, topic);
RB_HEAD(topic_id_order, topic);
RB_HEAD(topic_form_order, topic); /* by name with '.' read as '_': names that collide lie side by side */

struct config {
    struct entry entry;
    RB_ENTRY(config) by_resource; /* by type, resource, name */
    int8_t resource_type;
    struct str resource, name, value; /* into entry.key and entry.value */
};
RB_HEAD(config_order, config);

struct deleted { /* a topic that is remembered */
    struct entry entry;
    RB_ENTRY(deleted) by_age;
    int64_t index; /* of the deletion */
};
RB_HEAD(deleted_order, deleted);

struct catalog {
    struct entry_tree entries;
    struct topic_name_order topics_by_name;
    struct topic_id_order topics_by_id;
    struct topic_form_order topics_by_form;
    struct config_order configs;
    struct deleted_order deleted;
    int64_t deleted_count;
};

/* ---- store.c --------------------------------------------------------------------------------------------------------------- */

const struct topic *topic_find(const struct catalog *c, struct str name);
const struct topic *topic_find_id(const struct catalog *c, struct uuid id);
const struct topic *topic_after(const struct catalog *c, struct str name); /* null: the first */
/* A topic whose name differs only in '.' and '_'; NULL: none. */
const struct topic *topic_colliding(const struct catalog *c, struct str name);

const struct deleted *deleted_oldest(const struct catalog *c); /* NULL: none */
const struct deleted *deleted_next(const struct deleted *d);
const struct deleted *deleted_newest(const struct catalog *c);
const struct deleted *deleted_before(const struct deleted *d);

/* The first config of the resource at or after the name; name null: its first. NULL: none. */
const struct config *config_at(const struct catalog *c, int8_t resource_type, struct str resource, struct str name);
const struct config *config_next(const struct config *config); /* of the same resource; NULL at the end */
const struct config *config_find(const struct catalog *c, int8_t resource_type, struct str resource, struct str name);
/* The first config of a resource of that type behind the resource; null: of the first one. */
const struct config *config_after_resource(const struct catalog *c, int8_t resource_type, struct str resource);

/* Records with keys of a fixed size. A key is written by the functions below into dst; entry_find and entry_after take it. */
enum { DELETED_KEY_BYTES = 18, END_KEY_BYTES = 22, NUMBERED_KEY_BYTES = 6 };
struct bytes deleted_key(struct uuid topic_id, uint8_t dst[DELETED_KEY_BYTES]);
struct bytes end_key(struct uuid topic_id, int32_t partition, uint8_t dst[END_KEY_BYTES]);
struct bytes numbered_key(int16_t type, int32_t number, uint8_t dst[NUMBERED_KEY_BYTES]); /* nodes, members, producer ids */
const struct entry *entry_find(const struct catalog *c, struct bytes key);
/* The first record of a numbered type behind that number (-1: of all); NULL: none. */
const struct entry *entry_numbered_after(const struct catalog *c, int16_t type, int32_t after);
const struct entry *entry_after(const struct catalog *c, struct bytes key); /* null: the first */
bool entry_is(const struct entry *e, int16_t type);
/* Reads the value of a record without arrays; its strings point into the entry. */
void entry_value(const struct entry *e, const struct wire_msg *msg, void *ret);

/* ---- decide ---------------------------------------------------------------------------------------------------------------- */

void catalog_create_topics(struct decision *d);
void catalog_create_partitions(struct decision *d);
void catalog_delete_topics(struct decision *d);
void catalog_set_end(struct decision *d);
void catalog_alter_configs(struct decision *d);
void catalog_register_node(struct decision *d);
void catalog_producer_id(struct decision *d);
void catalog_move_cursor(struct decision *d);
void catalog_change_member(struct decision *d);
void catalog_member_step(struct decision *d);
void catalog_upgrade(struct decision *d);

/* Null when a topic may have that name, otherwise why not; Kafka's words. In the arena or static. */
struct str topic_name_problem(struct str name, struct arena *arena);
/* Null when the nodes may hold the replicas of a partition; expected: how many there should be, 0 when that is open. */
struct str replicas_problem(const struct catalog *c, struct int32_array nodes, int32_t expected, struct arena *arena);
bool node_is_registered(const struct catalog *c, int32_t node_id);
/* Nodes that may hold copies: the members that are or become voters or learners, or as many as the settings say where none are recorded yet. */
int32_t member_count(const struct group_set *shard0, int32_t otherwise);
bool member_find(const struct group_set *shard0, int32_t node_id, struct catalog_member *ret);
bool has_members(const struct group_set *shard0);
/* Another address of a member that registered itself. */
void member_moved(struct decision *d, const struct catalog_member *member, struct str peer_address);

#endif
