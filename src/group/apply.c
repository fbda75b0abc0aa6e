/* apply.c: from an entry's bytes to changes of the state. Decides nothing. */
#include "history/history.h"
#include "modern/modern.h"

#include <string.h>

const struct modern_kind *modern_kind_of(int16_t record_type)
{
    switch (record_type) {
    case RECORD_CONSUMER_GROUP_METADATA:
    case RECORD_CONSUMER_GROUP_MEMBER_METADATA:
    case RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA:
    case RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER:
    case RECORD_CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT:
    case RECORD_CONSUMER_GROUP_REGULAR_EXPRESSION:
        return &consumer_kind;
    case RECORD_STREAMS_GROUP_METADATA:
    case RECORD_STREAMS_GROUP_MEMBER_METADATA:
    case RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA:
    case RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER:
    case RECORD_STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT:
    case RECORD_STREAMS_GROUP_TOPOLOGY:
    case RECORD_STREAMS_TASK_OFFSETS:
    case RECORD_STREAMS_TOPOLOGY_DESCRIPTION:
    case RECORD_STREAMS_REGULAR_EXPRESSION:
        return &streams_kind;
    default:
        return NULL;
    }
}

static bool is_history(int16_t type)
{
    return type >= RECORD_GROUP_REBALANCE && type <= RECORD_GROUP_REBALANCE_MOVES;
}

/* The group a record belongs to; false for records of the catalogue and of the shard. */
static bool group_of_record(const struct wire_decoded_record *r, struct str *ret)
{
    switch (r->schema->type) {
    case RECORD_CLASSIC_GROUP:
        *ret = ((const struct classic_group_key *)r->key)->group_id;
        return true;
    case RECORD_CLASSIC_MEMBER:
        *ret = ((const struct classic_member_key *)r->key)->group_id;
        return true;
    case RECORD_CLASSIC_ASSIGNMENT:
        *ret = ((const struct classic_assignment_key *)r->key)->group_id;
        return true;
    case RECORD_CLASSIC_PENDING_ID:
        *ret = ((const struct classic_pending_id_key *)r->key)->group_id;
        return true;
    case RECORD_OFFSET_COMMIT:
        *ret = ((const struct offset_commit_key *)r->key)->group;
        return true;
    default:
        break;
    }
    if (modern_kind_of(r->schema->type) != NULL || is_history(r->schema->type)) {
        *ret = ((const struct consumer_group_metadata_key *)r->key)->group_id; /* all their keys begin with it */
        return true;
    }
    return false;
}

static bool is_catalog(int16_t type)
{
    return type >= RECORD_TOPIC && type <= RECORD_MEMBER_CHANGE;
}

/* Changes of topics and configs make every shard look at its groups; nodes, end offsets and producer ids, of which there are many, do not. */
static bool concerns_groups(int16_t type)
{
    return type == RECORD_TOPIC || type == RECORD_TOPIC_DELETED || type == RECORD_CONFIG;
}

static uint64_t key_hash(struct record record)
{
    return hash_bytes(record.key.ptr, (size_t)record.key.len, 0);
}

uint64_t record_value_hash(uint64_t hash_of_key, struct bytes value)
{
    return value.len < 0 ? 0 : hash_bytes(value.ptr, (size_t)value.len, hash_of_key);
}

uint64_t record_hash(struct record record)
{
    return record_value_hash(key_hash(record), record.value);
}

static void apply_cursor(const struct apply_context *c, const struct catalog_cursor_value *value)
{
    group_hash_replace(c->set, c->set->cursor_hash, c->record_hash);
    c->set->cursor_hash = c->record_hash;
    c->set->cursor = value == NULL ? 0 : value->catalog_index;
}

static void apply_revision(const struct apply_context *c, const struct group_revision_key *key, const struct group_revision_value *value)
{
    if (value != NULL) {
        struct group *g = group_find_or_add(c->set, key->group_id);
        g->revision = value->revision;
        g->since_clock_ms = value->since_clock_ms;
    }
}

static void apply_snapshot_state(const struct apply_context *c, const struct snapshot_state_value *value)
{
    if (value != NULL) {
        c->set->clock_ms = value->shard_clock_ms;
        c->set->catalog_index = (uint64_t)value->catalog_index;
    }
}

static void dispatch_consumer(const struct apply_context *c, const struct wire_decoded_record *r)
{
    switch (r->schema->type) {
    case RECORD_CONSUMER_GROUP_METADATA:
        consumer_apply_group(c, r->key, r->value);
        return;
    case RECORD_CONSUMER_GROUP_MEMBER_METADATA:
        consumer_apply_member(c, r->key, r->value);
        return;
    case RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA:
        consumer_apply_assignment(c, r->key, r->value);
        return;
    case RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER:
        consumer_apply_target(c, r->key, r->value);
        return;
    case RECORD_CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT:
        consumer_apply_current(c, r->key, r->value);
        return;
    default:
        consumer_apply_regex(c, r->key, r->value);
        return;
    }
}

static void dispatch_streams(const struct apply_context *c, const struct wire_decoded_record *r)
{
    switch (r->schema->type) {
    case RECORD_STREAMS_GROUP_METADATA:
        streams_apply_group(c, r->key, r->value);
        return;
    case RECORD_STREAMS_GROUP_MEMBER_METADATA:
        streams_apply_member(c, r->key, r->value);
        return;
    case RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA:
        streams_apply_assignment(c, r->key, r->value);
        return;
    case RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER:
        streams_apply_target(c, r->key, r->value);
        return;
    case RECORD_STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT:
        streams_apply_current(c, r->key, r->value);
        return;
    case RECORD_STREAMS_GROUP_TOPOLOGY:
        streams_apply_topology(c, r->key, r->value);
        return;
    case RECORD_STREAMS_TASK_OFFSETS:
        streams_apply_task_offsets(c, r->key, r->value);
        return;
    case RECORD_STREAMS_REGULAR_EXPRESSION:
        streams_apply_regex(c, r->key, r->value);
        return;
    default:
        streams_apply_description(c, r->key, r->value);
        return;
    }
}

static bool dispatch(const struct apply_context *c, const struct wire_decoded_record *r)
{
    const struct modern_kind *kind = modern_kind_of(r->schema->type);
    if (kind != NULL) {
        (kind == &streams_kind ? dispatch_streams : dispatch_consumer)(c, r);
        return true;
    }
    if (is_history(r->schema->type)) {
        history_apply(c, r);
        return true;
    }
    switch (r->schema->type) {
    case RECORD_CLASSIC_GROUP:
        classic_apply_group(c, r->key, r->value);
        return true;
    case RECORD_CLASSIC_MEMBER:
        classic_apply_member(c, r->key, r->value);
        return true;
    case RECORD_CLASSIC_ASSIGNMENT:
        classic_apply_assignment(c, r->key, r->value);
        return true;
    case RECORD_CLASSIC_PENDING_ID:
        classic_apply_pending_id(c, r->key, r->value);
        return true;
    case RECORD_OFFSET_COMMIT:
        offsets_apply_commit(c, r->key, r->value);
        return true;
    case RECORD_CATALOG_CURSOR:
        apply_cursor(c, r->value);
        return true;
    case RECORD_GROUP_REVISION:
        apply_revision(c, r->key, r->value);
        return true;
    case RECORD_SNAPSHOT_STATE:
        apply_snapshot_state(c, r->value);
        return true;
    case RECORD_COORDINATOR_MOVE:
        office_apply(c, r->key, r->value != NULL);
        return true;
    case RECORD_STATE_HASH:
        return true; /* for those who compare replicas; it is no state itself */
    default:
        break;
    }
    if (!is_catalog(r->schema->type)) {
        return false;
    }
    catalog_apply(c, r);
    c->set->members_revision += r->schema->type == RECORD_CLUSTER_MEMBER || r->schema->type == RECORD_MEMBER_CHANGE;
    if (concerns_groups(r->schema->type) && c->index > c->set->catalog_index) {
        c->set->catalog_index = c->index;
    }
    return true;
}

/* Whether an overlay takes the record: it holds one group's members, never offsets. */
static bool overlay_takes(int16_t type)
{
    return (type >= RECORD_CLASSIC_GROUP && type <= RECORD_CLASSIC_PENDING_ID) || modern_kind_of(type) != NULL || is_history(type);
}

static bool apply_decoded(struct group_set *set, uint64_t index, struct record record, const struct wire_decoded_record *decoded,
                          struct arena *scratch)
{
    if (set->base != NULL && !overlay_takes(decoded->schema->type)) {
        return true;
    }
    if (set->cut != NULL) {
        snapshot_save(set, record, decoded, scratch);
    }
    struct apply_context c = {
        .set = set, .index = index, .key_hash = key_hash(record), .raw = record, .schema = decoded->schema, .scratch = scratch};
    c.record_hash = record_value_hash(c.key_hash, record.value);
    return dispatch(&c, decoded);
}

/* The offsets that a client commits at once follow each other, with keys that differ in the partition alone, which stands last: then only that and the value are
 * read. */
struct offset_run {
    struct bytes key; /* of the record before; null: of another kind */
    struct wire_decoded_record decoded;
    struct offset_commit_key commit_key;
    struct offset_commit_value commit_value;
};

enum { PARTITION_BYTES = 4 };

static bool run_goes_on(const struct offset_run *run, struct bytes key)
{
    return run->key.len > 0 && key.len == run->key.len && memcmp(key.ptr, run->key.ptr, (size_t)key.len - PARTITION_BYTES) == 0;
}

static int run_next(struct offset_run *run, struct record record, struct arena *scratch)
{
    struct wire_decoded_record *r = &run->decoded;
    run->commit_key.partition = (int32_t)get_be32(record.key.ptr + record.key.len - PARTITION_BYTES);
    r->value = NULL;
    r->value_version = 0;
    if (record.value.len < 0) {
        return MUSTER_E_OK;
    }
    r->value = &run->commit_value;
    return wire_record_decode_value(r->schema, record.value, scratch, &r->value_version, r->value);
}

/* As wire_record_decode(). ret_goes_on: of the same group as the record before. */
static int run_decode(struct offset_run *run, struct record record, struct arena *scratch, bool *ret_goes_on)
{
    *ret_goes_on = run_goes_on(run, record.key);
    if (*ret_goes_on) {
        return run_next(run, record, scratch);
    }
    int rc = wire_record_decode(record, scratch, &run->decoded);
    run->key = BYTES_NULL;
    if (rc == 0 && run->decoded.schema->type == RECORD_OFFSET_COMMIT) {
        run->key = record.key;
        run->commit_key = *(const struct offset_commit_key *)run->decoded.key;
        run->decoded.key = &run->commit_key;
    }
    return rc;
}

static bool apply_one(struct group_set *set, uint64_t index, struct record record, struct offset_run *run, struct arena *scratch)
{
    bool goes_on;
    if (!record_is_known(record) || run_decode(run, record, scratch, &goes_on) < 0 ||
        !apply_decoded(set, index, record, &run->decoded, scratch)) {
        return false;
    }
    struct str group_id;
    if (run->decoded.value == NULL && group_of_record(&run->decoded, &group_id)) {
        struct group *g = group_find(set, group_id);
        if (g != NULL) {
            group_remove_if_gone(set, g);
        }
    }
    return true;
}

bool group_apply(struct group_set *set, uint64_t index, struct record record, struct arena *scratch)
{
    struct offset_run run;
    run.key = BYTES_NULL;
    return apply_one(set, index, record, &run, scratch);
}

int group_restore(struct group_set *set, struct bytes bytes, struct arena *scratch)
{
    MUSTER_CHECK(set->base == NULL && set->cut == NULL);
    struct offset_run run;
    run.key = BYTES_NULL;
    while (bytes.len > 0) {
        struct record record;
        if (!snapshot_read(&bytes, &record) || !apply_one(set, 0, record, &run, scratch)) {
            return MUSTER_E_MALFORMED;
        }
        arena_clear(scratch);
    }
    return MUSTER_E_OK;
}

/* ---- entries ----------------------------------------------------------------------------------------------------------- */

/* Whether the header names the group. Records stand in the order of the groups there, or nearly: the search begins where the last one ended. */
static bool names_group(const struct log_entry *entry, struct str group_id, int32_t *at)
{
    for (int32_t i = 0; i < entry->groups.len; i++) {
        int32_t place = (*at + i) % entry->groups.len;
        if (str_eq(entry->groups.v[place].group_id, group_id)) {
            *at = place;
            return true;
        }
    }
    return false;
}

static const char *check_revisions(struct group_set *set, const struct log_entry *entry, struct arena *scratch)
{
    for (int32_t i = 0; i < entry->groups.len; i++) {
        if (group_revision(set, entry->groups.v[i].group_id) != entry->groups.v[i].revision) {
            return "the entry was decided on another revision of a group";
        }
        if (set->cut != NULL) {
            snapshot_save_revision(set, entry->groups.v[i].group_id, scratch);
        }
    }
    return NULL;
}

static const char *apply_records(struct group_set *set, uint64_t index, const struct log_entry *entry, struct arena *scratch)
{
    int32_t at = 0;
    for (int32_t i = 0; i < entry->records.len; i++) {
        if (!record_is_known((struct record){entry->records.v[i].key, entry->records.v[i].value})) {
            return "the entry holds a record of a newer version";
        }
    }
    struct arena_mark before = arena_here(scratch);
    struct offset_run run;
    run.key = BYTES_NULL;
    for (int32_t i = 0; i < entry->records.len; i++, arena_rewind(scratch, before)) { /* one record's memory serves all */
        struct record record = {entry->records.v[i].key, entry->records.v[i].value};
        bool goes_on;
        if (run_decode(&run, record, scratch, &goes_on) < 0) {
            return "a record of the entry cannot be read";
        }
        struct str group_id;
        if (!goes_on && group_of_record(&run.decoded, &group_id) && !names_group(entry, group_id, &at)) {
            return "the entry changes a group that its header does not name";
        }
        if (!apply_decoded(set, index, record, &run.decoded, scratch)) {
            return "the entry holds a record that this version cannot apply";
        }
    }
    return NULL;
}

/* A group that is gone with this entry has no revision any more, so that the same id made anew begins at 0 again. */
static void finish_groups(struct group_set *set, const struct log_entry *entry, void (*on_group)(void *ctx, struct str group_id), void *ctx)
{
    for (int32_t i = 0; i < entry->groups.len; i++) {
        struct str group_id = entry->groups.v[i].group_id;
        struct group *g = group_find(set, group_id);
        if (g != NULL) {
            g->revision++;
            MUSTER_CHECK(g->revision > 0);
            group_remove_if_gone(set, g);
        }
        if (on_group != NULL) {
            on_group(ctx, group_id);
        }
    }
}

bool group_apply_entry(struct group_set *set, uint64_t index, struct bytes entry, struct arena *scratch,
                       void (*on_group)(void *ctx, struct str group_id), void *ctx, const char **ret_why)
{
    struct log_entry decoded;
    if (wire_decode(&wire_log_entry, 0, entry, scratch, &decoded, NULL) < 0) {
        *ret_why = "the entry cannot be read";
        return false;
    }
    MUSTER_CHECK(set->base == NULL);
    if (decoded.shard_clock_ms > set->clock_ms) {
        set->clock_ms = decoded.shard_clock_ms;
    }
    const char *why = check_revisions(set, &decoded, scratch);
    if (why == NULL) {
        why = apply_records(set, index, &decoded, scratch);
    }
    if (why != NULL) {
        *ret_why = why;
        return false;
    }
    finish_groups(set, &decoded, on_group, ctx);
    return true;
}
