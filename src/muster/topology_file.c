#include "topology_file.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum { TEXT_MOST_BYTES = 32767 }; /* of the protocol */

/* ---- to JSON ---- */

static json_t *texts_json(const struct str_array *texts)
{
    json_t *array = json_array();
    for (int32_t i = 0; i < texts->len; i++) {
        out_json_add(array, out_json_text(texts->v[i]));
    }
    return array;
}

static json_t *places_json(const struct int16_array *places)
{
    json_t *array = json_array();
    for (int32_t i = 0; i < places->len; i++) {
        out_json_add(array, json_integer(places->v[i]));
    }
    return array;
}

static json_t *topics_json(const struct streams_group_topology_response_topic_info_array *topics)
{
    json_t *array = json_array();
    for (int32_t i = 0; i < topics->len; i++) {
        const struct streams_group_topology_response_topic_info *topic = &topics->v[i];
        json_t *one = json_object();
        json_t *configs = json_array();
        for (int32_t k = 0; k < topic->topic_configs.len; k++) {
            json_t *config = json_object();
            out_json_set(config, "name", out_json_text(topic->topic_configs.v[k].key));
            out_json_set(config, "value", out_json_text(topic->topic_configs.v[k].value));
            out_json_add(configs, config);
        }
        out_json_set(one, "name", out_json_text(topic->name));
        out_json_set(one, "partitions", json_integer(topic->partitions));
        out_json_set(one, "replicationFactor", json_integer(topic->replication_factor));
        out_json_set(one, "configs", configs);
        out_json_add(array, one);
    }
    return array;
}

static json_t *subtopology_json(const struct streams_group_topology_response_subtopology *s)
{
    json_t *one = json_object();
    json_t *groups = json_array();
    for (int32_t i = 0; i < s->copartition_groups.len; i++) {
        json_t *group = json_object();
        out_json_set(group, "sourceTopics", places_json(&s->copartition_groups.v[i].source_topics));
        out_json_set(group, "sourceTopicRegex", places_json(&s->copartition_groups.v[i].source_topic_regex));
        out_json_set(group, "repartitionSourceTopics", places_json(&s->copartition_groups.v[i].repartition_source_topics));
        out_json_add(groups, group);
    }
    out_json_set(one, "subtopologyId", out_json_text(s->subtopology_id));
    out_json_set(one, "sourceTopics", texts_json(&s->source_topics));
    out_json_set(one, "sourceTopicRegex", texts_json(&s->source_topic_regex));
    out_json_set(one, "stateChangelogTopics", topics_json(&s->state_changelog_topics));
    out_json_set(one, "repartitionSinkTopics", texts_json(&s->repartition_sink_topics));
    out_json_set(one, "repartitionSourceTopics", topics_json(&s->repartition_source_topics));
    out_json_set(one, "copartitionGroups", groups);
    return one;
}

json_t *topology_json(struct str group, const struct streams_group_topology_response *t)
{
    json_t *document = json_object();
    json_t *subtopologies = json_array();
    for (int32_t i = 0; i < t->subtopologies.len; i++) {
        out_json_add(subtopologies, subtopology_json(&t->subtopologies.v[i]));
    }
    out_json_set(document, "group", out_json_text(group));
    out_json_set(document, "state", out_json_text(t->group_state));
    out_json_set(document, "groupEpoch", json_integer(t->group_epoch));
    out_json_set(document, "problem", out_json_text(t->problem));
    out_json_set(document, "topologyEpoch", t->topology_epoch >= 0 ? json_integer(t->topology_epoch) : json_null());
    out_json_set(document, "topologyId", out_json_text(t->topology_id));
    out_json_set(document, "subtopologies", subtopologies);
    return document;
}

/* ---- from JSON ---- */

struct reader {
    struct cli *cli;
    const char *file;
    bool failed; /* said so */
};

__attribute__((format(printf, 3, 4))) static void wrong(struct reader *r, struct str place, const char *format, ...)
{
    va_list args;
    char text[256];
    if (r->failed) {
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    r->failed = true;
    cli_say(r->cli, "%s: %.*s %s", r->file, STR_ARG(str_is_empty(place) ? STR("the document") : place), text);
}

static struct str member_place(struct reader *r, struct str place, const char *key)
{
    return arena_printf(&r->cli->arena, "%.*s%s%s", STR_ARG(place), str_is_empty(place) ? "" : ".", key);
}

static struct str item_place(struct reader *r, struct str place, size_t idx)
{
    return arena_printf(&r->cli->arena, "%.*s[%zu]", STR_ARG(place), idx);
}

/* An object that holds no other keys than these; keys ends with NULL. */
static bool is_object(struct reader *r, const json_t *value, struct str place, const char *const *keys)
{
    const char *key;
    json_t *member;
    if (!json_is_object(value)) {
        wrong(r, place, "is not an object");
        return false;
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        size_t i = 0;
        while (keys[i] != NULL && strcmp(keys[i], key) != 0) {
            i++;
        }
        if (keys[i] == NULL) {
            wrong(r, place, "has a key that means nothing: '%.100s'", key);
            return false;
        }
    }
    return true;
}

static struct str take_text(struct reader *r, const json_t *value, struct str place)
{
    if (!json_is_string(value)) {
        wrong(r, place, "is not a text");
        return STR("");
    }
    if (json_string_length(value) > TEXT_MOST_BYTES) {
        wrong(r, place, "is longer than %d bytes", TEXT_MOST_BYTES);
        return STR("");
    }
    return arena_str(&r->cli->arena, (struct str){json_string_value(value), (int32_t)json_string_length(value)});
}

static struct str take_text_of(struct reader *r, const json_t *object, struct str place, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (value == NULL) {
        wrong(r, place, "lacks '%s'", key);
        return STR("");
    }
    return take_text(r, value, member_place(r, place, key));
}

static int64_t take_number_of(struct reader *r, const json_t *object, struct str place, const char *key, int64_t least, int64_t most)
{
    const json_t *value = json_object_get(object, key);
    if (value == NULL) {
        return 0;
    }
    if (!json_is_integer(value) || json_integer_value(value) < least || json_integer_value(value) > most) {
        wrong(r, member_place(r, place, key), "is not a whole number from %" PRId64 " to %" PRId64, least, most);
        return 0;
    }
    return json_integer_value(value);
}

/* The array of that key, NULL when it is missing (or wrong). */
static const json_t *take_array_of(struct reader *r, const json_t *object, struct str place, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (value != NULL && !json_is_array(value)) {
        wrong(r, member_place(r, place, key), "is not an array");
        return NULL;
    }
    return value;
}

static struct str_array take_texts_of(struct reader *r, const json_t *object, struct str place, const char *key)
{
    const json_t *array = take_array_of(r, object, place, key);
    struct str_array texts = {.len = (int32_t)json_array_size(array)};
    texts.v = ARENA_NEW(&r->cli->arena, struct str, texts.len);
    place = member_place(r, place, key);
    for (int32_t i = 0; i < texts.len; i++) {
        texts.v[i] = take_text(r, json_array_get(array, (size_t)i), item_place(r, place, (size_t)i));
    }
    return texts;
}

static struct int16_array take_places_of(struct reader *r, const json_t *object, struct str place, const char *key)
{
    const json_t *array = take_array_of(r, object, place, key);
    struct int16_array places = {.len = (int32_t)json_array_size(array)};
    places.v = ARENA_NEW(&r->cli->arena, int16_t, places.len);
    place = member_place(r, place, key);
    for (int32_t i = 0; i < places.len; i++) {
        const json_t *value = json_array_get(array, (size_t)i);
        if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) > INT16_MAX) {
            wrong(r, item_place(r, place, (size_t)i), "is not a place in a list, counted from 0");
        } else {
            places.v[i] = (int16_t)json_integer_value(value);
        }
    }
    return places;
}

static void take_topic(struct reader *r, const json_t *value, struct str place, struct streams_group_initialize_request_topic_info *topic)
{
    static const char *const keys[] = {"name", "partitions", "replicationFactor", "configs", NULL};
    static const char *const config_keys[] = {"name", "value", NULL};
    if (!is_object(r, value, place, keys)) {
        return;
    }
    const json_t *configs = take_array_of(r, value, place, "configs");
    topic->name = take_text_of(r, value, place, "name");
    topic->partitions = (int32_t)take_number_of(r, value, place, "partitions", 0, INT32_MAX);
    topic->replication_factor = (int16_t)take_number_of(r, value, place, "replicationFactor", -1, INT16_MAX);
    topic->topic_configs.len = (int32_t)json_array_size(configs);
    topic->topic_configs.v = ARENA_NEW(&r->cli->arena, struct streams_group_initialize_request_topic_config, topic->topic_configs.len);
    for (int32_t i = 0; i < topic->topic_configs.len; i++) {
        const json_t *config = json_array_get(configs, (size_t)i);
        struct str at = item_place(r, member_place(r, place, "configs"), (size_t)i);
        if (is_object(r, config, at, config_keys)) {
            topic->topic_configs.v[i].key = take_text_of(r, config, at, "name");
            topic->topic_configs.v[i].value = take_text_of(r, config, at, "value");
        }
    }
}

static struct streams_group_initialize_request_topic_info_array take_topics_of(struct reader *r, const json_t *object, struct str place,
                                                                               const char *key)
{
    const json_t *array = take_array_of(r, object, place, key);
    struct streams_group_initialize_request_topic_info_array topics = {.len = (int32_t)json_array_size(array)};
    topics.v = ARENA_NEW(&r->cli->arena, struct streams_group_initialize_request_topic_info, topics.len);
    place = member_place(r, place, key);
    for (int32_t i = 0; i < topics.len; i++) {
        take_topic(r, json_array_get(array, (size_t)i), item_place(r, place, (size_t)i), &topics.v[i]);
    }
    return topics;
}

static void take_copartition_groups(struct reader *r, const json_t *object, struct str place,
                                    struct streams_group_initialize_request_subtopology *s)
{
    static const char *const keys[] = {"sourceTopics", "sourceTopicRegex", "repartitionSourceTopics", NULL};
    const json_t *array = take_array_of(r, object, place, "copartitionGroups");
    s->copartition_groups.len = (int32_t)json_array_size(array);
    s->copartition_groups.v = ARENA_NEW(&r->cli->arena, struct streams_group_initialize_request_copartition_group, json_array_size(array));
    place = member_place(r, place, "copartitionGroups");
    for (int32_t i = 0; i < s->copartition_groups.len; i++) {
        const json_t *group = json_array_get(array, (size_t)i);
        struct str at = item_place(r, place, (size_t)i);
        if (is_object(r, group, at, keys)) {
            s->copartition_groups.v[i].source_topics = take_places_of(r, group, at, "sourceTopics");
            s->copartition_groups.v[i].source_topic_regex = take_places_of(r, group, at, "sourceTopicRegex");
            s->copartition_groups.v[i].repartition_source_topics = take_places_of(r, group, at, "repartitionSourceTopics");
        }
    }
}

static void take_subtopology(struct reader *r, const json_t *value, struct str place,
                             struct streams_group_initialize_request_subtopology *s)
{
    static const char *const keys[] = {"subtopologyId",         "sourceTopics",
                                       "sourceTopicRegex",      "stateChangelogTopics",
                                       "repartitionSinkTopics", "repartitionSourceTopics",
                                       "copartitionGroups",     NULL};
    s->source_topic_regex = STR_NULL;
    if (!is_object(r, value, place, keys)) {
        return;
    }
    struct str_array regexes = take_texts_of(r, value, place, "sourceTopicRegex");
    s->subtopology = take_text_of(r, value, place, "subtopologyId");
    s->source_topics = take_texts_of(r, value, place, "sourceTopics");
    if (regexes.len > 0) {
        s->source_topic_regex = regexes.v[0];
        s->more_source_topic_regex = (struct str_array){regexes.v + 1, regexes.len - 1};
    }
    s->state_changelog_topics = take_topics_of(r, value, place, "stateChangelogTopics");
    s->repartition_sink_topics = take_texts_of(r, value, place, "repartitionSinkTopics");
    s->repartition_source_topics = take_topics_of(r, value, place, "repartitionSourceTopics");
    take_copartition_groups(r, value, place, s);
}

/* "h-" and 16 hexadecimal digits: the name that the coordinator gives to a topology without one. */
static bool is_hash_id(struct str id)
{
    if (id.len != 18 || id.ptr[0] != 'h' || id.ptr[1] != '-') {
        return false;
    }
    for (int32_t i = 2; i < id.len; i++) {
        if ((id.ptr[i] < '0' || id.ptr[i] > '9') && (id.ptr[i] < 'a' || id.ptr[i] > 'f')) {
            return false;
        }
    }
    return true;
}

static void take_document(struct reader *r, const json_t *document, struct streams_group_initialize_request *ret)
{
    /* What stands in front of "topologyId" is told by `muster streams topology` and asks for nothing. */
    static const char *const keys[] = {"group", "state", "groupEpoch", "problem", "topologyEpoch", "topologyId", "subtopologies", NULL};
    struct str top = STR("");
    if (!is_object(r, document, top, keys)) {
        return;
    }
    const json_t *id = json_object_get(document, "topologyId");
    const json_t *subtopologies = take_array_of(r, document, top, "subtopologies");
    if (subtopologies == NULL) {
        wrong(r, top, "lacks 'subtopologies'");
        return;
    }
    if (id != NULL && !json_is_null(id)) {
        ret->topology_id = take_text(r, id, STR("topologyId"));
    }
    if (is_hash_id(ret->topology_id)) {
        ret->topology_id = STR_NULL;
    }
    ret->topology.len = (int32_t)json_array_size(subtopologies);
    ret->topology.v = ARENA_NEW(&r->cli->arena, struct streams_group_initialize_request_subtopology, ret->topology.len);
    for (int32_t i = 0; i < ret->topology.len; i++) {
        take_subtopology(r, json_array_get(subtopologies, (size_t)i), item_place(r, STR("subtopologies"), (size_t)i), &ret->topology.v[i]);
    }
}

int topology_read(struct cli *cli, const char *path, struct streams_group_initialize_request *ret)
{
    struct reader r = {.cli = cli, .file = path};
    json_error_t error;
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rbe");
    if (file == NULL) {
        return cli_fail(cli, CLI_USAGE, "%s: %s", path, strerror(errno));
    }
    json_t *document = json_loadf(file, JSON_REJECT_DUPLICATES, &error);
    if (file != stdin) {
        (void)fclose(file);
    }
    if (document == NULL) {
        return cli_fail(cli, CLI_USAGE, "%s: line %d, column %d: %s", path, error.line, error.column, error.text);
    }
    take_document(&r, document, ret);
    json_decref(document);
    return r.failed ? CLI_USAGE : CLI_OK;
}
