/* log_text.c: a record on one line. The tables of wire say which fields there are; a short table here says which are more than a number. */
#include "consumer_protocol.h"
#include "log.h"
#include "out.h"

#include <muster/group.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct any_array {
    void *v;
    int32_t len;
};

/* ---- fields that read better than their plain value; `of`: the record, NULL: all of them ---- */

enum shown {
    SHOW_PLAIN,
    SHOW_TIME,
    SHOW_NOT,
    SHOW_IF_POSITIVE, /* a number that says nothing else */
    SHOW_CLASSIC_STATE,
    SHOW_MEMBER_STATE,
    SHOW_CONSUMER_STATE,
    SHOW_SUBSCRIPTION,
    SHOW_ASSIGNMENT,
    SHOW_RESOURCE,
    SHOW_PROBLEM,
    SHOW_CAUSE,
    SHOW_GROUP_TYPE,
    SHOW_HEX,
    SHOW_UNITS
};

static const struct {
    const char *of, *field;
    enum shown shown;
} special[] = {
    {NULL, "commitTimestamp", SHOW_TIME},
    {NULL, "StateWallMs", SHOW_TIME},
    {NULL, "currentStateTimestamp", SHOW_TIME},
    {NULL, "AssignmentTimestamp", SHOW_TIME},
    {NULL, "StateTimestampMs", SHOW_NOT},
    {NULL, "CommitClockMs", SHOW_NOT},
    {NULL, "TopicsHash", SHOW_NOT},
    {NULL, "AssignmentsSince", SHOW_NOT},
    {NULL, "AssignmentClockMs", SHOW_NOT},
    {NULL, "MetadataHash", SHOW_NOT},
    {"ConsumerGroupMetadata", "EmptySinceMs", SHOW_IF_POSITIVE},
    {"ConsumerGroupCurrentMemberAssignment", "State", SHOW_CONSUMER_STATE},
    {"ConsumerGroupTargetAssignmentMember", "TopicPartitions", SHOW_UNITS},
    {"ConsumerGroupCurrentMemberAssignment", "AssignedPartitions", SHOW_UNITS},
    {"ConsumerGroupCurrentMemberAssignment", "PartitionsPendingRevocation", SHOW_UNITS},
    {"ConsumerGroupRegularExpression", "Timestamp", SHOW_TIME},
    {"StreamsRegularExpression", "Timestamp", SHOW_TIME},
    {"StreamsGroupMetadata", "EndpointInformationEpoch", SHOW_IF_POSITIVE},
    {"StreamsGroupMetadata", "AssignNotBeforeMs", SHOW_IF_POSITIVE},
    {"StreamsGroupMetadata", "EmptySinceMs", SHOW_IF_POSITIVE},
    {"StreamsGroupMetadata", "InitializeUntilMs", SHOW_IF_POSITIVE},
    {"StreamsGroupMetadata", "TopologyProblem", SHOW_PROBLEM},
    {"StreamsGroupCurrentMemberAssignment", "State", SHOW_MEMBER_STATE},
    {"GroupRebalance", "GroupType", SHOW_GROUP_TYPE},
    {"GroupRebalance", "Cause", SHOW_CAUSE},
    {"GroupRebalanceCause", "Cause", SHOW_CAUSE},
    {NULL, "ActiveTasks", SHOW_UNITS},
    {NULL, "StandbyTasks", SHOW_UNITS},
    {NULL, "WarmupTasks", SHOW_UNITS},
    {NULL, "ActiveTasksPendingRevocation", SHOW_UNITS},
    {NULL, "StandbyTasksPendingRevocation", SHOW_UNITS},
    {NULL, "WarmupTasksPendingRevocation", SHOW_UNITS},
    {"ClassicGroup", "State", SHOW_CLASSIC_STATE},
    {"ClassicMember", "Metadata", SHOW_SUBSCRIPTION},
    {"ConsumerGroupMemberMetadata", "Metadata", SHOW_SUBSCRIPTION},
    {"ClassicAssignment", "Assignment", SHOW_ASSIGNMENT},
    {"GroupMetadata", "subscription", SHOW_SUBSCRIPTION},
    {"GroupMetadata", "assignment", SHOW_ASSIGNMENT},
    {"Config", "ResourceType", SHOW_RESOURCE},
    {"StateHash", "Hash", SHOW_HEX},
};

static enum shown shown_as(const char *record, const struct wire_field *field)
{
    for (size_t i = 0; i < COUNT_OF(special); i++) {
        if (strcmp(special[i].field, field->name) == 0 && (special[i].of == NULL || strcmp(special[i].of, record) == 0)) {
            return special[i].shown;
        }
    }
    return SHOW_PLAIN;
}

/* ---- the line ---- */

struct line {
    const char *record;
    int64_t known_ms; /* a time that stands beside the record and need not be said again */
    struct arena *arena;
    struct buf out;
};

static void put_fields(struct line *l, const struct wire_type *type, int16_t version, const void *value, const char *between);

static void put(struct line *l, struct str text)
{
    MUSTER_CHECK(text.len <= 0 || buf_put(&l->out, text.ptr, (size_t)text.len) == 0);
}

/* A text as it is when it is one plain word, else in quotes. */
static void put_text(struct line *l, struct str text)
{
    struct str safe = out_text(text, l->arena);
    bool quotes = text.len > 0 && memchr(text.ptr, ' ', (size_t)text.len) != NULL;
    put(l, quotes ? arena_printf(l->arena, "\"%.*s\"", STR_ARG(safe)) : safe);
}

static void put_subscription(struct line *l, struct bytes bytes)
{
    struct consumer_subscription s;
    if (!consumer_subscription_parse(bytes, l->arena, &s)) {
        put(l, arena_printf(l->arena, "<%d bytes>", bytes.len > 0 ? bytes.len : 0));
        return;
    }
    put(l, STR("topics("));
    for (int32_t i = 0; i < s.topics.len; i++) {
        put(l, i > 0 ? STR(",") : STR(""));
        put_text(l, s.topics.v[i]);
    }
    put(l, STR(")"));
    if (s.owned.len > 0) {
        put(l, STR(" owns "));
        put(l, topic_partitions_text(&s.owned, l->arena));
    }
}

static void put_assignment(struct line *l, struct bytes bytes)
{
    struct consumer_assignment a;
    if (consumer_assignment_parse(bytes, l->arena, &a)) {
        put(l, topic_partitions_text(&a.topics, l->arena));
    } else {
        put(l, arena_printf(l->arena, "<%d bytes>", bytes.len));
    }
}

static void put_number(struct line *l, uint8_t kind, const void *at)
{
    switch (kind) {
    case WIRE_INT8:
        put(l, arena_printf(l->arena, "%d", *(const int8_t *)at));
        break;
    case WIRE_INT16:
        put(l, arena_printf(l->arena, "%d", *(const int16_t *)at));
        break;
    case WIRE_UINT16:
        put(l, arena_printf(l->arena, "%u", *(const uint16_t *)at));
        break;
    case WIRE_INT32:
        put(l, arena_printf(l->arena, "%" PRId32, *(const int32_t *)at));
        break;
    case WIRE_UINT32:
        put(l, arena_printf(l->arena, "%" PRIu32, *(const uint32_t *)at));
        break;
    case WIRE_INT64:
        put(l, arena_printf(l->arena, "%" PRId64, *(const int64_t *)at));
        break;
    default:
        MUSTER_CHECK(kind == WIRE_FLOAT64);
        put(l, arena_printf(l->arena, "%g", *(const double *)at));
        break;
    }
}

static void put_uuid(struct line *l, struct uuid id)
{
    char text[23];
    uuid_text(id, text);
    put(l, uuid_is_zero(id) ? STR("-") : arena_str(l->arena, str_of(text)));
}

/* Any kind but an array. */
static void put_plain(struct line *l, uint8_t kind, const struct wire_type *type, int16_t version, const void *at)
{
    switch (kind) {
    case WIRE_BOOL:
        put(l, *(const bool *)at ? STR("true") : STR("false"));
        break;
    case WIRE_STRING:
        put_text(l, *(const struct str *)at);
        break;
    case WIRE_BYTES:
        put(l, arena_printf(l->arena, "<%d bytes>", ((const struct bytes *)at)->len));
        break;
    case WIRE_UUID:
        put_uuid(l, *(const struct uuid *)at);
        break;
    case WIRE_STRUCT:
        put_fields(l, type, version, at, " ");
        break;
    default:
        put_number(l, kind, at);
        break;
    }
}

size_t log_value_size(uint8_t kind, const struct wire_type *type)
{
    static const size_t sizes[] = {
        [WIRE_BOOL] = sizeof(bool),
        [WIRE_INT8] = 1,
        [WIRE_INT16] = 2,
        [WIRE_UINT16] = 2,
        [WIRE_INT32] = 4,
        [WIRE_UINT32] = 4,
        [WIRE_INT64] = 8,
        [WIRE_FLOAT64] = sizeof(double),
        [WIRE_UUID] = sizeof(struct uuid),
        [WIRE_STRING] = sizeof(struct str),
        [WIRE_BYTES] = sizeof(struct bytes),
    };
    return kind == WIRE_STRUCT ? type->size : sizes[kind];
}

static void put_array(struct line *l, const struct wire_field *field, int16_t version, const struct any_array *array)
{
    bool structs = field->element == WIRE_STRUCT;
    put(l, STR("["));
    for (int32_t i = 0; i < array->len; i++) {
        put(l, i == 0 ? STR("") : structs ? STR("; ") : STR(","));
        put_plain(l, field->element, field->type, version,
                  (const uint8_t *)array->v + (size_t)i * log_value_size(field->element, field->type));
    }
    put(l, STR("]"));
}

static bool is_word(enum shown shown)
{
    return shown == SHOW_CLASSIC_STATE || shown == SHOW_MEMBER_STATE || shown == SHOW_CONSUMER_STATE || shown == SHOW_PROBLEM ||
           shown == SHOW_RESOURCE || shown == SHOW_CAUSE || shown == SHOW_GROUP_TYPE;
}

static const char *word_of(enum shown shown, int8_t number)
{
    static const char *const states[] = {"Empty", "PreparingRebalance", "CompletingRebalance", "Stable"};
    if (shown == SHOW_CLASSIC_STATE) {
        return number >= 0 && number < (int8_t)COUNT_OF(states) ? states[number] : "?";
    }
    if (shown == SHOW_MEMBER_STATE) {
        return log_member_state(number);
    }
    if (shown == SHOW_CONSUMER_STATE) {
        return log_consumer_state(number);
    }
    if (shown == SHOW_PROBLEM) {
        return log_topology_problem(number);
    }
    if (shown == SHOW_CAUSE) {
        return group_cause_name(number);
    }
    if (shown == SHOW_GROUP_TYPE) {
        return number == 0 ? "classic" : number == 1 ? "consumer" : number == 2 ? "streams" : "?";
    }
    return number == 2 ? "topic" : number == 4 ? "broker" : number == 32 ? "group" : "?";
}

/* "0[0@2,1@3] 1[4]": tasks of subtopologies or partitions of topics, with the epochs they were given with where the record has them. */
static void put_units(struct line *l, const struct wire_type *type, const struct any_array *array)
{
    for (int32_t i = 0; i < array->len; i++) {
        const uint8_t *ids = (const uint8_t *)array->v + (size_t)i * type->size;
        const struct int32_array *partitions = (const void *)(ids + type->fields[1].offset);
        const struct int32_array *epochs = type->field_count > 2 ? (const void *)(ids + type->fields[2].offset) : NULL;
        put(l, i == 0 ? STR("") : STR(" "));
        put_plain(l, type->fields[0].kind, NULL, 0, ids + type->fields[0].offset);
        for (int32_t k = 0; k < partitions->len; k++) {
            bool epoch = epochs != NULL && k < epochs->len;
            put(l, arena_printf(l->arena, "%s%" PRId32, k == 0 ? "[" : ",", partitions->v[k]));
            put(l, epoch ? arena_printf(l->arena, "@%" PRId32, epochs->v[k]) : STR(""));
        }
        put(l, partitions->len == 0 ? STR("[]") : STR("]"));
    }
}

static struct str hash_text(const void *at, struct arena *arena)
{
    return arena_printf(arena, "%016" PRIx64, (uint64_t) * (const int64_t *)at);
}

static void put_value(struct line *l, const struct wire_field *field, int16_t version, const void *at)
{
    enum shown shown = shown_as(l->record, field);
    if (shown == SHOW_TIME && *(const int64_t *)at >= 0) {
        put(l, out_time(*(const int64_t *)at, l->arena));
    } else if (shown == SHOW_UNITS) {
        put_units(l, field->type, at);
    } else if (shown == SHOW_HEX) {
        put(l, hash_text(at, l->arena));
    } else if (is_word(shown)) {
        put(l, str_of(word_of(shown, *(const int8_t *)at)));
    } else if (shown == SHOW_SUBSCRIPTION) {
        put_subscription(l, *(const struct bytes *)at);
    } else if (shown == SHOW_ASSIGNMENT) {
        put_assignment(l, *(const struct bytes *)at);
    } else if (field->kind == WIRE_ARRAY) {
        put_array(l, field, version, at);
    } else if (field->kind == WIRE_STRUCT && field->nullable_from >= 0) {
        put(l, STR("{"));
        put_fields(l, field->type, version, *(const void *const *)at, " ");
        put(l, STR("}"));
    } else {
        put_plain(l, field->kind, field->type, version, at);
    }
}

/* Null, no text, no UUID, no tasks, or -1 where that stands for nothing. */
static bool is_unset(const struct wire_field *field, enum shown shown, const void *at)
{
    bool minus_one = field->has_default && field->default_number == -1;
    if (shown == SHOW_IF_POSITIVE) {
        return (field->kind == WIRE_INT32 ? *(const int32_t *)at : *(const int64_t *)at) <= 0;
    }
    if (shown == SHOW_NOT) {
        return true;
    }
    if (shown == SHOW_UNITS && ((const struct any_array *)at)->len == 0) {
        return true;
    }
    switch (field->kind) {
    case WIRE_INT8:
        return minus_one && *(const int8_t *)at == -1;
    case WIRE_STRING:
        return ((const struct str *)at)->len <= 0;
    case WIRE_BYTES:
        return ((const struct bytes *)at)->len < 0;
    case WIRE_ARRAY:
        return ((const struct any_array *)at)->len < 0;
    case WIRE_STRUCT:
        return field->nullable_from >= 0 && *(const void *const *)at == NULL;
    case WIRE_UUID:
        return uuid_is_zero(*(const struct uuid *)at);
    case WIRE_INT32:
        return minus_one && *(const int32_t *)at == -1;
    case WIRE_INT64:
        return minus_one && *(const int64_t *)at == -1;
    default:
        return false;
    }
}

/* name=value of every field the version carries, nulls and what is of no interest left out. */
static void put_fields(struct line *l, const struct wire_type *type, int16_t version, const void *value, const char *between)
{
    bool first = true;
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct wire_field *field = &type->fields[i];
        const void *at = (const uint8_t *)value + field->offset;
        bool carried = version >= field->min_version && version <= field->max_version;
        enum shown shown = shown_as(l->record, field);
        bool known = shown == SHOW_TIME && *(const int64_t *)at == l->known_ms;
        if (!carried || known || is_unset(field, shown, at)) {
            continue;
        }
        put(l, str_of(first ? "" : between));
        first = false;
        put(l, str_of(field->name));
        put(l, STR("="));
        put_value(l, field, version, at);
    }
}

/* Of a key every field counts. */
static void put_key(struct line *l, const struct wire_type *type, const void *key)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        put(l, i > 0 ? STR(" ") : STR(""));
        put(l, str_of(type->fields[i].name));
        put(l, STR("="));
        put_value(l, &type->fields[i], 0, (const uint8_t *)key + type->fields[i].offset);
    }
}

static struct str unknown_text(struct record record, struct arena *arena)
{
    if (record.key.len < 2) {
        return arena_printf(arena, "(no record: a key of %d bytes)", record.key.len);
    }
    return arena_printf(arena, "type %d, key of %d bytes, %s", (int16_t)get_be16(record.key.ptr), record.key.len - 2,
                        record.value.len < 0 ? "tombstone" : arena_printf(arena, "value of %d bytes", record.value.len).ptr);
}

struct str log_record_text(struct record record, int64_t known_ms, struct arena *arena)
{
    struct wire_decoded_record decoded;
    int rc = wire_record_decode(record, arena, &decoded);
    if (rc == MUSTER_E_NOT_FOUND) {
        return unknown_text(record, arena);
    }
    if (rc < 0) {
        return arena_printf(arena, "%.*s: unreadable (%s)", STR_ARG(unknown_text(record, arena)), muster_strerror(rc));
    }
    struct line l = {.record = decoded.schema->name, .known_ms = known_ms, .arena = arena};
    buf_init(&l.out, 0);
    put(&l, str_of(decoded.schema->name));
    put(&l, STR(" "));
    put_key(&l, decoded.schema->key->type, decoded.key);
    put(&l, STR(" : "));
    if (decoded.value == NULL) {
        put(&l, STR("tombstone"));
    } else {
        put_fields(&l, decoded.schema->value->type, decoded.value_version, decoded.value, " ");
    }
    struct str text = arena_str(arena, (struct str){(const char *)l.out.ptr, (int32_t)l.out.len});
    buf_fini(&l.out);
    return text;
}

const char *log_member_state(int8_t state)
{
    static const char *const words[] = {"Stable", "UnrevokedTasks", "UnreleasedTasks"};
    return state >= 1 && state <= (int8_t)COUNT_OF(words) ? words[state - 1] : "?";
}

const char *log_consumer_state(int8_t state)
{
    static const char *const words[] = {"Stable", "UnrevokedPartitions", "UnreleasedPartitions"};
    return state >= 0 && state < (int8_t)COUNT_OF(words) ? words[state] : "?";
}

const char *log_topology_problem(int8_t problem)
{
    static const char *const words[] = {"MissingSourceTopics", "IncorrectlyPartitionedTopics", "MissingInternalTopics"};
    return problem >= 1 && problem <= (int8_t)COUNT_OF(words) ? words[problem - 1] : "?";
}

struct str log_record_type(struct record record, struct arena *arena)
{
    if (record.key.len < 2) {
        return STR("?");
    }
    int16_t type = (int16_t)get_be16(record.key.ptr);
    const struct wire_record *schema = wire_record_find(type);
    return schema != NULL ? str_of(schema->name) : arena_printf(arena, "type %d", type);
}

struct str log_record_group(struct record record, struct arena *arena)
{
    struct wire_decoded_record decoded;
    if (wire_record_decode(record, arena, &decoded) < 0) {
        return STR_NULL;
    }
    const struct wire_type *key = decoded.schema->key->type;
    for (uint32_t i = 0; i < key->field_count; i++) {
        if (key->fields[i].kind == WIRE_STRING &&
            (strcmp(key->fields[i].name, "GroupId") == 0 || strcmp(key->fields[i].name, "group") == 0)) {
            return *(const struct str *)(const void *)((const uint8_t *)decoded.key + key->fields[i].offset);
        }
    }
    return STR_NULL;
}

/* ---- JSON ---- */

static void add_subscription(json_t *decoded, struct str protocol, struct bytes metadata, struct arena *arena)
{
    struct str name = out_text(protocol, arena);
    out_json_set(decoded, arena_printf(arena, "%.*s", STR_ARG(name)).ptr, consumer_subscription_json(metadata, arena));
}

static json_t *subscriptions_json(const struct classic_member_value *value, struct arena *arena)
{
    json_t *decoded = json_object();
    for (int32_t i = 0; i < value->protocols.len; i++) {
        add_subscription(decoded, value->protocols.v[i].name, value->protocols.v[i].metadata, arena);
    }
    return decoded;
}

/* Of a member that speaks the classic protocol in a consumer group. */
static json_t *migrated_json(const struct consumer_group_member_metadata_value *value, struct arena *arena)
{
    if (value->classic_member_metadata == NULL) {
        return NULL;
    }
    json_t *decoded = json_object();
    const struct consumer_group_member_metadata_value_classic_protocol_array *all = &value->classic_member_metadata->supported_protocols;
    for (int32_t i = 0; i < all->len; i++) {
        add_subscription(decoded, all->v[i].name, all->v[i].metadata, arena);
    }
    return decoded;
}

/* What is opaque in the record and can be read; NULL: nothing. */
static json_t *decoded_json(struct record record, struct arena *arena)
{
    struct wire_decoded_record decoded;
    if (wire_record_decode(record, arena, &decoded) < 0 || decoded.value == NULL) {
        return NULL;
    }
    switch (decoded.schema->type) {
    case RECORD_CLASSIC_MEMBER:
        return subscriptions_json(decoded.value, arena);
    case RECORD_CONSUMER_GROUP_MEMBER_METADATA:
        return migrated_json(decoded.value, arena);
    case RECORD_CLASSIC_ASSIGNMENT:
        return consumer_assignment_json(((const struct classic_assignment_value *)decoded.value)->assignment, arena);
    default:
        return NULL;
    }
}

/* version -1: a key, which has all of its fields. */
static void add_names(json_t *names, const char *record, const struct wire_type *type, int16_t version, const void *fields,
                      struct arena *arena)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct wire_field *field = &type->fields[i];
        enum shown shown = shown_as(record, field);
        const void *at = (const uint8_t *)fields + field->offset;
        bool carried = version < 0 || (version >= field->min_version && version <= field->max_version);
        if (carried && is_word(shown) && !is_unset(field, shown, at)) {
            out_json_set(names, field->name, json_string(word_of(shown, *(const int8_t *)at)));
        } else if (carried && shown == SHOW_HEX) {
            out_json_set(names, field->name, out_json_text(hash_text(at, arena)));
        }
    }
}

/* What the numbers of states, causes and the like mean, and hashes as they are shown; NULL: it has none. */
static json_t *names_json(struct record record, struct arena *arena)
{
    struct wire_decoded_record decoded;
    if (wire_record_decode(record, arena, &decoded) < 0) {
        return NULL;
    }
    json_t *names = json_object();
    add_names(names, decoded.schema->name, decoded.schema->key->type, -1, decoded.key, arena);
    if (decoded.value != NULL) {
        add_names(names, decoded.schema->name, decoded.schema->value->type, decoded.value_version, decoded.value, arena);
    }
    if (json_object_size(names) == 0) {
        json_decref(names);
        return NULL;
    }
    return names;
}

/* One more member of the object that ends there; takes it. NULL: none. */
static void add_member(struct buf *out, const char *name, json_t *value)
{
    if (value == NULL) {
        return;
    }
    char *text = json_dumps(value, JSON_COMPACT);
    out->len--; /* the closing brace */
    MUSTER_CHECK(text != NULL && buf_put(out, ",\"", 2) == 0 && buf_put(out, name, strlen(name)) == 0 && buf_put(out, "\":", 2) == 0 &&
                 buf_put(out, text, strlen(text)) == 0 && buf_put(out, "}", 1) == 0);
    free(text);
    json_decref(value);
}

void log_record_json(struct record record, struct arena *arena, struct buf *out)
{
    size_t begin = out->len;
    if (record.key.len < 2 || wire_record_dump(record, arena, out) < 0) {
        out->len = begin;
        json_t *raw = json_object();
        out_json_set(raw, "unreadable", json_true());
        out_json_set(raw, "key", out_json_base64(record.key));
        out_json_set(raw, "value", out_json_base64(record.value));
        char *text = json_dumps(raw, JSON_COMPACT);
        MUSTER_CHECK(text != NULL && buf_put(out, text, strlen(text)) == 0);
        free(text);
        json_decref(raw);
        return;
    }
    add_member(out, "names", names_json(record, arena));
    add_member(out, "decoded", decoded_json(record, arena));
}
