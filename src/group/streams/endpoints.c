/* endpoints.c: where members can be asked for what their tasks hold (interactive queries). Told with each answer to whoever knows another epoch of it. */
#include "draft.h"

static bool endpoint_differs(const struct modern_member *a, const struct modern_member *b)
{
    return !str_eq(a->endpoint_host, b->endpoint_host) || a->endpoint_port != b->endpoint_port;
}

/* Seen on Kafka 4.4.0: neither the first member of a new group moves it nor one that leaves. */
void endpoints_move(struct draft *t)
{
    static const struct modern_member none = {.endpoint_host = {NULL, -1}};
    const struct modern_slot *from = t->slot != NULL ? t->slot : t->gone;
    const struct modern_member *old = from != NULL ? from->member : &none;
    bool has = !str_is_null(t->put->endpoint_host);
    bool moved = endpoint_differs(old, t->put) || (has && (from == NULL || !holding_equal(&t->before.assigned, &t->after.assigned)));
    if (moved && !t->is_new) {
        t->next.endpoint_epoch = t->next.endpoint_epoch < INT32_MAX ? t->next.endpoint_epoch + 1 : 0;
        t->changed = true;
    }
}

typedef struct streams_group_heartbeat_response_topic_partition_array topics_read;

static const struct resolved_subtopology *subtopology_of(const struct resolved *r, struct str id)
{
    for (int32_t i = 0; r != NULL && i < r->subtopology_count; i++) {
        if (str_eq(r->subtopologies[i].id, id)) {
            return &r->subtopologies[i];
        }
    }
    return NULL;
}

/* The topics that tasks [from, to) of one subtopology read: each with those of the tasks' partitions it has. */
static void add_topics(const struct draft *t, const struct unit *from, const struct unit *to, topics_read *all)
{
    const struct resolved_subtopology *subtopology = subtopology_of(streams_part(t)->resolved, from->name);
    for (int32_t i = 0; subtopology != NULL && i < subtopology->sources.len; i++) {
        const struct resolved_topic *topic = &subtopology->sources.v[i];
        struct int32_array partitions = {.v = ARENA_NEW(t->d->arena, int32_t, to - from)};
        for (const struct unit *u = from; u < to; u++) {
            if (u->partition < topic->partitions) {
                partitions.v[partitions.len++] = u->partition;
            }
        }
        if (partitions.len > 0) {
            all->v[all->len++] = (struct streams_group_heartbeat_response_topic_partition){.topic = topic->name, .partitions = partitions};
        }
    }
}

static int32_t most_topics(const struct resolved *r)
{
    int32_t count = 0;
    for (int32_t i = 0; r != NULL && i < r->subtopology_count; i++) {
        count += r->subtopologies[i].sources.len;
    }
    return count;
}

static topics_read topics_of(const struct draft *t, struct units tasks)
{
    topics_read all = {
        .v = ARENA_NEW(t->d->arena, struct streams_group_heartbeat_response_topic_partition, most_topics(streams_part(t)->resolved))};
    for (int32_t from = 0, to; from < tasks.len; from = to) {
        for (to = from + 1; to < tasks.len && str_eq(tasks.v[to].name, tasks.v[from].name); to++) {
        }
        add_topics(t, &tasks.v[from], &tasks.v[to], &all);
    }
    return all;
}

static struct streams_group_heartbeat_response_endpoint_to_partitions entry(const struct draft *t, const struct modern_member *m,
                                                                            const struct holding *has)
{
    struct units more = units_join(has->kind[UNITS_STANDBY], has->kind[UNITS_WARMUP], t->d->arena);
    return (struct streams_group_heartbeat_response_endpoint_to_partitions){.user_endpoint = {.host = m->endpoint_host,
                                                                                              .port = m->endpoint_port},
                                                                            .active_partitions = topics_of(t, has->kind[UNITS_ACTIVE]),
                                                                            .standby_partitions = topics_of(t, more)};
}

struct streams_group_heartbeat_response_endpoint_to_partitions_array endpoints_list(struct draft *t)
{
    struct streams_group_heartbeat_response_endpoint_to_partitions_array all = {
        .v = ARENA_NEW(t->d->arena, struct streams_group_heartbeat_response_endpoint_to_partitions, t->next.member_count)};
    for (int32_t i = 0; i < t->was->slot_count; i++) {
        const struct modern_slot *slot = &t->was->slots[i];
        if (draft_has(t, slot) && !str_is_null(slot->member->endpoint_host)) {
            streams_draft_resolve(t);
            struct member_position p = modern_position(slot);
            all.v[all.len++] = entry(t, slot->member, &p.assigned);
        }
    }
    if (!str_is_null(t->put->endpoint_host)) {
        streams_draft_resolve(t);
        all.v[all.len++] = entry(t, t->put, &t->after.assigned);
    }
    return all;
}
