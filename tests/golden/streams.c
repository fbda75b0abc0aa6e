/* streams.c: the commands of streams groups. Their small languages:
 *
 *     topology=5:0(in,~^r.*$,>rp)+1(<rp:4,*cl)    epoch (0 when left out), then subtopologies: source topics, ~regular expressions, >sinks,
 *                                                 <repartition sources, *changelogs (a count behind a colon), %a/b copartition groups
 *     active=0:0/1,1:2                            tasks of subtopologies; an empty value is an empty list
 *     offsets=0:0@5,0:1@9                         end-offsets= likewise */
#include "print.h"
#include "words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct streams_group_heartbeat_request request;
typedef struct streams_group_heartbeat_request_subtopology subtopology;
typedef struct streams_group_heartbeat_request_topic_info topic_info;
typedef struct streams_group_heartbeat_request_task_ids_array tasks;

/* ---- topologies -------------------------------------------------------------------------------------------------------------- */

static void add_str(struct str_array *to, const char *text, struct arena *arena)
{
    enum { MOST = 32 };
    if (to->v == NULL) {
        to->v = ARENA_NEW(arena, struct str, MOST);
    }
    MUSTER_CHECK(to->len < MOST);
    to->v[to->len++] = str_of(text);
}

static void add_info(struct streams_group_heartbeat_request_topic_info_array *to, char *text, struct arena *arena)
{
    enum { MOST = 16 };
    if (to->v == NULL) {
        to->v = ARENA_NEW(arena, topic_info, MOST);
    }
    MUSTER_CHECK(to->len < MOST);
    char *colon = strchr(text, ':');
    to->v[to->len++] = (topic_info){.name = str_of(text), .partitions = colon == NULL ? 0 : (int32_t)strtol(colon + 1, NULL, 10)};
    if (colon != NULL) {
        to->v[to->len - 1].name.len = (int32_t)(colon - text);
    }
}

static void add_index(struct int16_array *to, int32_t index, struct arena *arena)
{
    enum { MOST = 16 };
    if (to->v == NULL) {
        to->v = ARENA_NEW(arena, int16_t, MOST);
    }
    MUSTER_CHECK(to->len < MOST);
    to->v[to->len++] = (int16_t)index;
}

/* Where a name of a copartition group stands among what came before it. */
static void add_copartition_name(struct streams_group_heartbeat_request_copartition_group *to, const subtopology *s, const char *name,
                                 struct arena *arena)
{
    for (int32_t i = 0; i < s->source_topics.len; i++) {
        if (str_eq(s->source_topics.v[i], str_of(name))) {
            add_index(&to->source_topics, i, arena);
        }
    }
    for (int32_t i = 0; i < s->repartition_source_topics.len; i++) {
        if (str_eq(s->repartition_source_topics.v[i].name, str_of(name))) {
            add_index(&to->repartition_source_topics, i, arena);
        }
    }
    for (int32_t i = 0; i < s->source_topic_regex.len; i++) {
        if (name[0] == '~' && str_eq(s->source_topic_regex.v[i], str_of(name + 1))) {
            add_index(&to->source_topic_regex, i, arena);
        }
    }
}

static void add_copartition(subtopology *s, char *names, struct arena *arena)
{
    enum { MOST = 8 };
    if (s->copartition_groups.v == NULL) {
        s->copartition_groups.v = ARENA_NEW(arena, struct streams_group_heartbeat_request_copartition_group, MOST);
    }
    MUSTER_CHECK(s->copartition_groups.len < MOST);
    struct streams_group_heartbeat_request_copartition_group *to = &s->copartition_groups.v[s->copartition_groups.len++];
    for (char *rest = names, *name; (name = next_part(&rest, "/")) != NULL;) {
        add_copartition_name(to, s, name, arena);
    }
}

static void add_item(subtopology *s, char *item, struct arena *arena)
{
    switch (item[0]) {
    case '~':
        add_str(&s->source_topic_regex, item + 1, arena);
        break;
    case '>':
        add_str(&s->repartition_sink_topics, item + 1, arena);
        break;
    case '<':
        add_info(&s->repartition_source_topics, item + 1, arena);
        break;
    case '*':
        add_info(&s->state_changelog_topics, item + 1, arena);
        break;
    case '%':
        add_copartition(s, item + 1, arena);
        break;
    default:
        add_str(&s->source_topics, item, arena);
    }
}

struct streams_group_heartbeat_request_topology *words_topology(char *text, struct arena *arena)
{
    struct streams_group_heartbeat_request_topology *t = ARENA_NEW(arena, struct streams_group_heartbeat_request_topology, 1);
    char *colon = strchr(text, ':'), *open = strchr(text, '(');
    if (colon != NULL && (open == NULL || colon < open)) {
        t->epoch = (int32_t)strtol(text, NULL, 10);
        text = colon + 1;
    }
    t->subtopologies.v = ARENA_NEW(arena, subtopology, count_parts(text, ')'));
    for (char *rest = text, *part; (part = next_part(&rest, ")")) != NULL && (open = strchr(part, '(')) != NULL;) {
        subtopology *s = &t->subtopologies.v[t->subtopologies.len++];
        *open = '\0';
        s->subtopology_id = str_of(part[0] == '+' ? part + 1 : part);
        for (char *items = open + 1, *item; (item = next_part(&items, ",")) != NULL;) {
            add_item(s, item, arena);
        }
    }
    return t;
}

/* ---- tasks -------------------------------------------------------------------------------------------------------------------------- */

static tasks tasks_of(char *text, struct arena *arena)
{
    tasks all = {.v = ARENA_NEW(arena, struct streams_group_heartbeat_request_task_ids, count_parts(text, ','))};
    for (char *rest = text, *part; (part = next_part(&rest, ",")) != NULL;) {
        struct streams_group_heartbeat_request_task_ids *one = &all.v[all.len++];
        char *numbers = cut_name(part), *number;
        one->subtopology_id = str_of(part);
        one->partitions.v = ARENA_NEW(arena, int32_t, count_parts(numbers, '/'));
        while ((number = next_part(&numbers, "/")) != NULL) {
            one->partitions.v[one->partitions.len++] = (int32_t)strtol(number, NULL, 10);
        }
    }
    return all;
}

/* One of the lists makes the others empty; "-" is null. */
static void fill_tasks(request *q, const struct words *w, struct arena *arena)
{
    const struct {
        const char *key;
        tasks *to;
    } lists[] = {{"active", &q->active_tasks}, {"standby", &q->standby_tasks}, {"warmup", &q->warmup_tasks}};
    bool any = q->member_epoch == 0;
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        any = any || value_of(w, lists[i].key) != NULL;
    }
    for (size_t i = 0; any && i < COUNT_OF(lists); i++) {
        char *text = copy_value(w, lists[i].key, "", arena);
        *lists[i].to = strcmp(text, "-") == 0 ? (tasks){.len = -1} : tasks_of(text, arena);
    }
}

static struct streams_group_heartbeat_request_task_offset_array offsets_of(const struct words *w, const char *key, struct arena *arena)
{
    struct streams_group_heartbeat_request_task_offset_array all = {.len = -1};
    if (value_of(w, key) == NULL) {
        return all;
    }
    char *rest = copy_value(w, key, "", arena), *part;
    all.v = ARENA_NEW(arena, struct streams_group_heartbeat_request_task_offset, count_parts(rest, ','));
    all.len = 0;
    while ((part = next_part(&rest, ",")) != NULL) {
        char *partition = cut_name(part), *offset = strchr(partition, '@');
        MUSTER_CHECK(offset != NULL);
        all.v[all.len++] = (struct streams_group_heartbeat_request_task_offset){.subtopology_id = str_of(part),
                                                                                .partition = (int32_t)strtol(partition, NULL, 10),
                                                                                .offset = strtoll(offset + 1, NULL, 10)};
    }
    return all;
}

/* ---- the request ----------------------------------------------------------------------------------------------------------------------- */

static void fill_endpoint(request *q, const struct words *w, struct arena *arena)
{
    if (value_of(w, "endpoint") != NULL) {
        char *host = copy_value(w, "endpoint", "", arena);
        q->user_endpoint = ARENA_NEW(arena, struct streams_group_heartbeat_request_endpoint, 1);
        q->user_endpoint->port = (uint16_t)strtoul(cut_name(host), NULL, 10);
        q->user_endpoint->host = str_of(host);
    }
}

static void fill_tags(request *q, const struct words *w, struct arena *arena)
{
    if (value_of(w, "tags") == NULL) {
        return;
    }
    char *rest = copy_value(w, "tags", "", arena), *part;
    q->client_tags.v = ARENA_NEW(arena, struct streams_group_heartbeat_request_key_value, count_parts(rest, ','));
    q->client_tags.len = 0;
    while ((part = next_part(&rest, ",")) != NULL) {
        char *value = cut_name(part);
        q->client_tags.v[q->client_tags.len++] = (struct streams_group_heartbeat_request_key_value){str_of(part), str_of(value)};
    }
}

/* A join has by itself what a join must have. */
static void fill_join(request *q, const struct words *w, struct arena *arena)
{
    const char *client = w->client;
    char *topology = copy_value(w, "topology", q->member_epoch == 0 ? "0(in)" : "-", arena);
    if (strcmp(topology, "-") != 0) {
        q->topology = words_topology(topology, arena);
    }
    if (q->member_epoch == 0) {
        char *name = arena_get(arena, strlen(client) + 1);
        for (size_t i = 0; i < strlen(client); i++) {
            name[i] = (char)tolower((unsigned char)client[i]);
        }
        q->process_id = value_of(w, "process") == NULL ? arena_printf(arena, "p-%s", name) : q->process_id;
    }
}

void command_streams(struct golden *g, const struct words *w)
{
    struct world_request *r = request_new(w, GROUP_STREAMS_HEARTBEAT, &wire_streams_group_heartbeat_response, 1);
    struct arena *arena = &r->arena;
    request *q = ARENA_NEW(arena, request, 1);
    wire_init(&wire_streams_group_heartbeat_request, q);
    q->group_id = r->op.group_id;
    q->member_epoch = (int32_t)number_value(w, "epoch", 0);
    q->member_id = arena_str(arena, str_value(w, "member", r->op.caller.client_id.ptr));
    q->endpoint_information_epoch = (int32_t)number_value(w, "info", 0);
    q->instance_id = arena_str(arena, str_value(w, "instance", NULL));
    q->rack_id = arena_str(arena, str_value(w, "rack", NULL));
    q->process_id = arena_str(arena, str_value(w, "process", NULL));
    q->rebalance_timeout_ms = (int32_t)ms_value(w, "timeout", q->member_epoch == 0 ? "60s" : "-1");
    q->shutdown_application = number_value(w, "shutdown", 0) != 0;
    q->topology_id = arena_str(arena, str_value(w, "id", NULL));
    q->task_offsets = offsets_of(w, "offsets", arena);
    q->task_end_offsets = offsets_of(w, "end-offsets", arena);
    fill_tasks(q, w, arena);
    fill_endpoint(q, w, arena);
    fill_tags(q, w, arena);
    fill_join(q, w, arena);
    r->op.request = q;
    world_submit(&g->world, r);
}

/* ---- around it -------------------------------------------------------------------------------------------------------------------------- */

void command_config(struct golden *g, const struct words *w)
{
    struct str group = str_value(w, "group", "g");
    for (int i = 1; i < w->count; i++) {
        char *value = strchr(w->word[i], '=');
        if (value == NULL || strncmp(w->word[i], "group=", 6) == 0) {
            continue;
        }
        *value++ = '\0';
        world_group_config(&g->world, group, str_of(w->word[i]), str_of(*value == '\0' ? NULL : value));
    }
}

void command_begin(struct golden *g, const struct words *w)
{
    bool resolve = w->count > 1 && strcmp(w->word[1], "resolve") == 0;
    group_job_free(g->job);
    g->job = world_job(&g->world, str_value(w, "group", "g"), resolve ? GROUP_JOB_RESOLVE : GROUP_JOB_ASSIGN);
    if (g->job == NULL) {
        print_text("nothing to do\n", &g->happened);
    }
}

void command_finish(struct golden *g, const struct words *w)
{
    (void)w;
    if (g->job == NULL) {
        print_text("nothing to bring back\n", &g->happened);
        return;
    }
    struct group_op op = {.kind = GROUP_JOB_DONE, .api_key = -1, .group_id = group_job_group(g->job), .job = g->job};
    world_run(&g->world, &op);
    group_job_free(g->job);
    g->job = NULL;
}

void command_created(struct golden *g, const struct words *w)
{
    char *failure = copy_value(w, "failure", "", w->arena);
    for (char *c = failure; *c != '\0'; c++) {
        *c = *c == '_' ? ' ' : *c;
    }
    struct topics_created created = {.failure = *failure == '\0' ? STR_NULL : str_of(failure)};
    struct group_op op = {.kind = GROUP_TOPICS_CREATED, .api_key = -1, .group_id = str_value(w, "group", "g"), .created = &created};
    world_run(&g->world, &op);
}
