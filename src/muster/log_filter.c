/* log_filter.c: which records are asked for. A record is of a topic or of a member when any of its fields says so, and of those that are opaque what can be read. */
#include "consumer_protocol.h"
#include "log.h"

#include <string.h>
#include <strings.h>

/* ---- from the command line ---- */

static bool known_type(struct cli *cli, const char *type)
{
    for (size_t i = 0; i < wire_record_count; i++) {
        if (strcasecmp(wire_records[i].name, type) == 0) {
            return true;
        }
    }
    struct str names = STR("");
    for (size_t i = 0; i < wire_record_count; i++) {
        names = arena_printf(&cli->arena, "%.*s%s%s", STR_ARG(names), i > 0 ? ", " : "", wire_records[i].name);
    }
    cli_say(cli, "'%s' is no record type; there are: %.*s", type, STR_ARG(names));
    return false;
}

static bool take_format(struct cli *cli, enum log_format *ret)
{
    const char *text = cli_text(cli, "format");
    bool json = text != NULL && strcmp(text, "json") == 0;
    bool kafka = text != NULL && strcmp(text, "kafka") == 0;
    if (text != NULL && !json && ((!kafka && strcmp(text, "text") != 0) || cli->json)) {
        cli_say(cli, "--format is one of text, json (as --json) and kafka, not '%s'%s", text, cli->json ? " with --json" : "");
        return false;
    }
    cli->json = cli->json || json;
    *ret = kafka ? LOG_FORMAT_KAFKA : cli->json ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT;
    return true;
}

bool log_filter_take(struct cli *cli, struct log_filter *ret)
{
    *ret = (struct log_filter){.group = str_of(cli_text(cli, "group")),
                               .type = str_of(cli_text(cli, "type")),
                               .topic = str_of(cli_text(cli, "topic")),
                               .member = str_of(cli_text(cli, "member")),
                               .all = cli_flag(cli, "all")};
    if (!str_is_null(ret->type) && !known_type(cli, ret->type.ptr)) {
        return false;
    }
    return cli_number(cli, "shard", 0, UINT16_MAX, -1, &ret->shard) && cli_number(cli, "from", 0, INT64_MAX, 0, &ret->from) &&
           cli_number(cli, "to", 0, INT64_MAX, INT64_MAX, &ret->to) && log_time_take(cli, "since", &ret->since_ms) &&
           log_time_take(cli, "until", &ret->until_ms) && take_format(cli, &ret->format);
}

/* ---- places and times ---- */

bool log_filter_place(const struct log_filter *f, uint32_t shard, uint64_t index)
{
    return (f->shard < 0 || f->shard == (int64_t)shard) && index >= (uint64_t)f->from && index <= (uint64_t)f->to;
}

bool log_filter_time(const struct log_filter *f, int64_t wall_ms)
{
    return wall_ms >= f->since_ms && (f->until_ms == 0 || wall_ms <= f->until_ms);
}

bool log_filter_item(const struct log_filter *f, const struct log_item *item)
{
    int64_t clock_ms, wall_ms;
    bool timed = f->since_ms != 0 || f->until_ms != 0;
    return log_filter_place(f, item->shard, item->index) &&
           (!timed || (log_item_times(item, &clock_ms, &wall_ms) && log_filter_time(f, wall_ms)));
}

bool log_filter_bare(const struct log_filter *f)
{
    return str_is_null(f->group) && str_is_null(f->type) && str_is_empty(f->topic) && str_is_empty(f->member) && f->grep == NULL;
}

bool log_filter_everywhere(const struct log_filter *f)
{
    return f->from == 0 && f->to == INT64_MAX && f->since_ms == 0 && f->until_ms == 0;
}

/* ---- what a record mentions ---- */

struct mention {
    const struct log_filter *filter;
    const struct log_topic_ids *ids; /* of the topic */
    struct arena *arena;
    bool topic, member; /* found so far */
};

static void look_into(struct mention *m, const struct wire_type *type, int16_t version, const void *value);

static bool names_topics(const char *field)
{
    return strstr(field, "opic") != NULL && strstr(field, "Regex") == NULL;
}

static bool names_members(const char *field)
{
    static const char *const names[] = {"MemberId", "memberId", "InstanceId", "groupInstanceId", "Leader", "leader"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(names[i], field) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_topic_id(const struct log_topic_ids *ids, struct uuid id)
{
    for (size_t i = 0; i < ids->count; i++) {
        if (uuid_eq(ids->v[i], id)) {
            return true;
        }
    }
    return false;
}

static void look_at_opaque(struct mention *m, struct bytes bytes)
{
    struct consumer_subscription s;
    struct consumer_assignment a;
    if (str_is_empty(m->filter->topic) || bytes.len <= 0) {
        return;
    }
    if (consumer_subscription_parse(bytes, m->arena, &s)) {
        for (int32_t i = 0; i < s.topics.len; i++) {
            m->topic = m->topic || str_eq(s.topics.v[i], m->filter->topic);
        }
    }
    if (consumer_assignment_parse(bytes, m->arena, &a)) {
        for (int32_t i = 0; i < a.topics.len; i++) {
            m->topic = m->topic || str_eq(a.topics.v[i].topic, m->filter->topic);
        }
    }
}

static void look_at(struct mention *m, const char *field, uint8_t kind, const struct wire_type *type, int16_t version, const void *at)
{
    switch (kind) {
    case WIRE_STRING:
        m->topic = m->topic || (names_topics(field) && str_eq(*(const struct str *)at, m->filter->topic));
        m->member = m->member || (names_members(field) && str_eq(*(const struct str *)at, m->filter->member));
        break;
    case WIRE_UUID:
        m->topic = m->topic || is_topic_id(m->ids, *(const struct uuid *)at);
        break;
    case WIRE_BYTES:
        look_at_opaque(m, *(const struct bytes *)at);
        break;
    case WIRE_STRUCT:
        look_into(m, type, version, at);
        break;
    default:
        break;
    }
}

static void look_into(struct mention *m, const struct wire_type *type, int16_t version, const void *value)
{
    for (uint32_t i = 0; i < type->field_count; i++) {
        const struct wire_field *f = &type->fields[i];
        const void *at = (const uint8_t *)value + f->offset;
        if (f->kind == WIRE_STRUCT && f->nullable_from >= 0) {
            at = *(const void *const *)at;
            if (at != NULL) {
                look_into(m, f->type, version, at);
            }
        } else if (f->kind == WIRE_ARRAY) {
            const struct bytes_array *array = at; /* all arrays have this layout */
            size_t stride = log_value_size(f->element, f->type);
            for (int32_t k = 0; k < array->len; k++) {
                look_at(m, f->name, f->element, f->type, version, (const uint8_t *)(const void *)array->v + (size_t)k * stride);
            }
        } else {
            look_at(m, f->name, f->kind, f->type, version, at);
        }
    }
}

/* Records whose topic is in a field of another name. */
static struct str topic_of_catalog(const struct wire_decoded_record *d)
{
    switch (d->schema->type) {
    case RECORD_TOPIC:
        return ((const struct topic_key *)d->key)->name;
    case RECORD_TOPIC_DELETED:
        return d->value != NULL ? ((const struct topic_deleted_value *)d->value)->name : STR_NULL;
    case RECORD_CONFIG:
        return ((const struct config_key *)d->key)->resource_type == 2 ? ((const struct config_key *)d->key)->resource_name : STR_NULL;
    default:
        return STR_NULL;
    }
}

static bool mentioned(const struct log_filter *f, const struct log_topic_ids *ids, struct record record, struct arena *arena)
{
    struct wire_decoded_record d;
    if (wire_record_decode(record, arena, &d) < 0) {
        return false;
    }
    struct mention m = {.filter = f, .ids = ids, .arena = arena};
    m.topic = str_is_empty(f->topic) || str_eq(topic_of_catalog(&d), f->topic);
    m.member = str_is_empty(f->member);
    look_into(&m, d.schema->key->type, 0, d.key);
    if (d.value != NULL) {
        look_into(&m, d.schema->value->type, d.value_version, d.value);
    }
    return m.topic && m.member;
}

/* ---- records ---- */

bool log_filter_record(const struct log_filter *f, const struct log_topic_ids *ids, struct record record,
                       const struct log_entry_cause *cause, struct arena *arena)
{
    if (!str_is_null(f->type)) {
        struct str type = log_record_type(record, arena);
        if (type.len != f->type.len || strncasecmp(type.ptr, f->type.ptr, (size_t)type.len) != 0) {
            return false;
        }
    }
    bool of_group =
        str_is_null(f->group) || (cause != NULL && str_eq(cause->group_id, f->group)) || str_eq(log_record_group(record, arena), f->group);
    if (!of_group) {
        return false;
    }
    return (str_is_empty(f->topic) && str_is_empty(f->member)) || mentioned(f, ids, record, arena);
}

/* ---- a topic's ids ---- */

void log_topic_ids_add(struct log_topic_ids *ids, struct uuid id)
{
    if (uuid_is_zero(id) || is_topic_id(ids, id)) {
        return;
    }
    if (ids->count == LOG_TOPIC_IDS_MAX) { /* made and deleted so often: those seen last count */
        memmove(ids->v, ids->v + 1, (LOG_TOPIC_IDS_MAX - 1) * sizeof(*ids->v));
        ids->count--;
    }
    ids->v[ids->count++] = id;
}

void log_topic_ids_learn(struct log_topic_ids *ids, struct str topic, struct record record, struct arena *arena)
{
    struct wire_decoded_record d;
    bool catalog = record.key.len >= 2 &&
                   ((int16_t)get_be16(record.key.ptr) == RECORD_TOPIC || (int16_t)get_be16(record.key.ptr) == RECORD_TOPIC_DELETED);
    if (!catalog || str_is_empty(topic) || wire_record_decode(record, arena, &d) < 0 || d.value == NULL) {
        return;
    }
    if (str_eq(topic_of_catalog(&d), topic)) {
        log_topic_ids_add(ids, d.schema->type == RECORD_TOPIC ? ((const struct topic_value *)d.value)->topic_id
                                                              : ((const struct topic_deleted_key *)d.key)->topic_id);
    }
}
