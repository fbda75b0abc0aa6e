/* log_groups.c: the records of a state, with each consumer group and streams group shown in front of its own. The state of one follows from the whole of its
 * records, so it stands in none of them. */
#include "log.h"
#include "out.h"

#include <stdlib.h>

/* The kind of group a record belongs to. */
static enum log_group_kind kind_of(int16_t type)
{
    switch (type) {
    case RECORD_CONSUMER_GROUP_METADATA:
    case RECORD_CONSUMER_GROUP_MEMBER_METADATA:
    case RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA:
    case RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER:
    case RECORD_CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT:
    case RECORD_CONSUMER_GROUP_REGULAR_EXPRESSION:
        return LOG_GROUP_CONSUMER;
    case RECORD_STREAMS_GROUP_METADATA:
    case RECORD_STREAMS_GROUP_MEMBER_METADATA:
    case RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA:
    case RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER:
    case RECORD_STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT:
    case RECORD_STREAMS_GROUP_TOPOLOGY:
    case RECORD_STREAMS_TASK_OFFSETS:
    case RECORD_STREAMS_TOPOLOGY_DESCRIPTION:
    case RECORD_STREAMS_REGULAR_EXPRESSION:
        return LOG_GROUP_STREAMS;
    default:
        return LOG_GROUP_NONE;
    }
}

static void flush(struct log_groups *g)
{
    if (g->kind == LOG_GROUP_CONSUMER) {
        log_consumer_show(g);
    } else if (g->kind == LOG_GROUP_STREAMS) {
        log_streams_show(g);
    }
    for (size_t i = 0; i < g->count; i++) {
        log_print_record(g->printer, g->shard, g->records[i]);
    }
    g->count = 0;
    g->kind = LOG_GROUP_NONE;
    g->group = STR_NULL;
    arena_clear(&g->arena);
}

static void collect(struct log_groups *g, struct record record)
{
    if (g->count == g->cap) {
        g->cap = g->cap == 0 ? 64 : 2 * g->cap;
        g->records = reallocarray(g->records, g->cap, sizeof(*g->records));
        MUSTER_CHECK(g->records != NULL);
    }
    g->records[g->count++] = (struct record){arena_bytes(&g->arena, record.key), arena_bytes(&g->arena, record.value)};
}

void log_groups_init(struct log_groups *g, struct log_printer *printer, uint32_t shard, const struct group_set *set,
                     const struct group_set *catalog)
{
    *g = (struct log_groups){.printer = printer, .set = set, .catalog = catalog, .shard = shard, .group = STR_NULL};
    arena_init(&g->arena, 0);
}

void log_groups_record(struct log_groups *g, struct record record)
{
    enum log_group_kind kind = record.key.len < 2 ? LOG_GROUP_NONE : kind_of((int16_t)get_be16(record.key.ptr));
    struct str group = kind == LOG_GROUP_NONE ? STR_NULL : log_record_group(record, &g->arena);
    if (g->kind != LOG_GROUP_NONE && (kind != g->kind || !str_eq(group, g->group))) {
        flush(g); /* the arena goes, but the group's id lies in the record */
    }
    if (str_is_null(group)) {
        log_print_record(g->printer, g->shard, record);
        return;
    }
    if (g->kind == LOG_GROUP_NONE) {
        g->kind = kind;
        g->group = arena_str(&g->arena, group);
    }
    collect(g, record);
}

void log_groups_fini(struct log_groups *g)
{
    flush(g);
    free(g->records);
    arena_fini(&g->arena);
}

void log_groups_json(const struct log_groups *g, const char *name, json_t *group)
{
    json_t *document = json_object();
    out_json_set(document, "shard", json_integer(g->shard));
    out_json_set(document, name, group);
    char *text = json_dumps(document, JSON_COMPACT);
    MUSTER_CHECK(text != NULL);
    fprintf(g->printer->cli->out, "%s\n", text);
    free(text);
    json_decref(document);
}
