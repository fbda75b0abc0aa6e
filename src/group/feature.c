/* feature.c: what only a newer program knows is noticed before any of it is applied.
 *
 * A record of an unknown type or version, or a feature level above the program's own, stops the node: it must not go on with a state that misses
 * something. Nothing of the entry is applied then, and a newer program goes on from the same data. */
#include "state.h"

#include <inttypes.h>

static bool read_level(struct record record, struct arena *arena, struct feature_level_value *ret)
{
    if (record.value.len < 2) {
        return false;
    }
    struct bytes body = {record.value.ptr + 2, record.value.len - 2};
    return wire_decode(&wire_feature_level_value, (int16_t)get_be16(record.value.ptr), body, arena, ret, NULL) == 0;
}

static bool knows_level(struct record record)
{
    struct feature_level_value value;
    struct arena none;
    arena_init(&none, 1); /* nothing is taken from it: the value has no arrays */
    bool known = !read_level(record, &none, &value) || value.level <= group_feature_level;
    arena_fini(&none);
    return known;
}

/* Bytes too short to be a record are for the decoder to refuse. */
bool record_is_known(struct record record)
{
    if (record.key.len < 2) {
        return true;
    }
    const struct wire_record *schema = wire_record_find((int16_t)get_be16(record.key.ptr));
    if (schema == NULL) {
        return false;
    }
    if (record.value.len < 2) {
        return true;
    }
    int16_t version = (int16_t)get_be16(record.value.ptr);
    if (version < schema->value->min_version || version > schema->value->max_version) {
        return false;
    }
    return schema->type != RECORD_FEATURE_LEVEL || knows_level(record);
}

static struct str level_problem(struct record record, struct arena *arena)
{
    struct feature_level_value value = {.release = STR_NULL};
    if (!read_level(record, arena, &value)) {
        return STR_NULL;
    }
    struct str release = str_is_empty(value.release) ? STR("a newer version") : value.release;
    return arena_printf(
        arena,
        "the cluster was raised to feature level %d and this program knows levels up to %d: %.*s of musterd is needed, or a "
        "later one; nothing of that level was applied here",
        value.level, group_feature_level, STR_ARG(release));
}

static struct str problem_of(struct record record, struct arena *arena)
{
    if (record_is_known(record)) {
        return STR_NULL;
    }
    int16_t type = (int16_t)get_be16(record.key.ptr);
    const struct wire_record *schema = wire_record_find(type);
    if (schema == NULL) {
        return arena_printf(
            arena,
            "the log holds a record of type 0x%04x, which this program (feature level %d) does not know: a newer version of "
            "musterd is needed; nothing of the entry was applied here",
            (unsigned)(uint16_t)type, group_feature_level);
    }
    int16_t version = (int16_t)get_be16(record.value.ptr);
    if (version >= schema->value->min_version && version <= schema->value->max_version) {
        return level_problem(record, arena);
    }
    return arena_printf(
        arena,
        "the log holds a %s record of version %d, of which this program (feature level %d) knows versions up to %d: a newer "
        "version of musterd is needed; nothing of the entry was applied here",
        schema->name, version, group_feature_level, schema->value->max_version);
}

struct str group_entry_problem(struct bytes entry, struct arena *arena)
{
    struct log_entry decoded;
    if (wire_decode(&wire_log_entry, 0, entry, arena, &decoded, NULL) < 0) {
        return STR_NULL;
    }
    for (int32_t i = 0; i < decoded.records.len; i++) {
        struct str problem = problem_of((struct record){decoded.records.v[i].key, decoded.records.v[i].value}, arena);
        if (!str_is_null(problem)) {
            return problem;
        }
    }
    return STR_NULL;
}

struct str group_run_problem(struct bytes run, struct arena *arena)
{
    struct record record;
    while (snapshot_read(&run, &record)) {
        struct str problem = problem_of(record, arena);
        if (!str_is_null(problem)) {
            return problem;
        }
    }
    return STR_NULL;
}
