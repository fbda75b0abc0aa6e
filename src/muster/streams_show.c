/* streams_show.c: a streams group as tables and as JSON. */
#include "commands.h"
#include "streams_view.h"

#include <inttypes.h>
#include <string.h>

typedef struct streams_group_describe_response_member member;
typedef struct streams_group_describe_response_task_ids_array task_ids;
typedef struct streams_group_describe_response_subtopology subtopology;
typedef struct streams_group_describe_response_task_offset_array task_offsets;

enum { ROLES = 3 };
static const char *const roles[ROLES] = {"active", "standby", "warmup"};

static const task_ids *tasks_of(const struct streams_group_describe_response_assignment *a, int role)
{
    return role == 0 ? &a->active_tasks : role == 1 ? &a->standby_tasks : &a->warmup_tasks;
}

static bool has_task(const task_ids *tasks, struct str id, int32_t partition)
{
    for (int32_t i = 0; i < tasks->len; i++) {
        for (int32_t p = 0; str_eq(tasks->v[i].subtopology_id, id) && p < tasks->v[i].partitions.len; p++) {
            if (tasks->v[i].partitions.v[p] == partition) {
                return true;
            }
        }
    }
    return false;
}

static int64_t offset_of(const task_offsets *offsets, struct str id, int32_t partition)
{
    for (int32_t i = 0; i < offsets->len; i++) {
        if (offsets->v[i].partition == partition && str_eq(offsets->v[i].subtopology_id, id)) {
            return offsets->v[i].offset;
        }
    }
    return -1;
}

/* ---- JSON ---- */

static json_t *tasks_json(const task_ids *tasks)
{
    json_t *array = json_array();
    for (int32_t i = 0; i < tasks->len; i++) {
        json_t *one = json_object();
        json_t *partitions = json_array();
        for (int32_t p = 0; p < tasks->v[i].partitions.len; p++) {
            out_json_add(partitions, json_integer(tasks->v[i].partitions.v[p]));
        }
        out_json_set(one, "subtopologyId", out_json_text(tasks->v[i].subtopology_id));
        out_json_set(one, "partitions", partitions);
        out_json_add(array, one);
    }
    return array;
}

static json_t *assignment_json(const struct streams_group_describe_response_assignment *a)
{
    json_t *one = json_object();
    for (int role = 0; role < ROLES; role++) {
        out_json_set(one, roles[role], tasks_json(tasks_of(a, role)));
    }
    return one;
}

static json_t *task_offsets_json(const task_offsets *offsets)
{
    json_t *array = json_array();
    for (int32_t i = 0; i < offsets->len; i++) {
        json_t *one = json_object();
        out_json_set(one, "subtopologyId", out_json_text(offsets->v[i].subtopology_id));
        out_json_set(one, "partition", json_integer(offsets->v[i].partition));
        out_json_set(one, "offset", json_integer(offsets->v[i].offset));
        out_json_add(array, one);
    }
    return array;
}

static json_t *endpoint_json(const struct streams_group_describe_response_endpoint *endpoint)
{
    if (endpoint == NULL) {
        return json_null();
    }
    json_t *one = json_object();
    out_json_set(one, "host", out_json_text(endpoint->host));
    out_json_set(one, "port", json_integer(endpoint->port));
    return one;
}

static json_t *member_json(const member *m)
{
    json_t *one = json_object();
    json_t *tags = json_array();
    for (int32_t i = 0; i < m->client_tags.len; i++) {
        json_t *tag = json_object();
        out_json_set(tag, "key", out_json_text(m->client_tags.v[i].key));
        out_json_set(tag, "value", out_json_text(m->client_tags.v[i].value));
        out_json_add(tags, tag);
    }
    out_json_set(one, "memberId", out_json_text(m->member_id));
    out_json_set(one, "memberEpoch", json_integer(m->member_epoch));
    out_json_set(one, "groupInstanceId", out_json_text(m->instance_id));
    out_json_set(one, "rackId", out_json_text(m->rack_id));
    out_json_set(one, "clientId", out_json_text(m->client_id));
    out_json_set(one, "host", out_json_text(m->client_host));
    out_json_set(one, "processId", out_json_text(m->process_id));
    out_json_set(one, "topologyEpoch", json_integer(m->topology_epoch));
    out_json_set(one, "userEndpoint", endpoint_json(m->user_endpoint));
    out_json_set(one, "clientTags", tags);
    out_json_set(one, "assignment", assignment_json(&m->assignment));
    out_json_set(one, "targetAssignment", assignment_json(&m->target_assignment));
    out_json_set(one, "taskOffsets", task_offsets_json(&m->task_offsets));
    out_json_set(one, "taskEndOffsets", task_offsets_json(&m->task_end_offsets));
    return one;
}

static json_t *topics_json(const struct streams_group_describe_response_topic_info_array *topics)
{
    json_t *array = json_array();
    for (int32_t i = 0; i < topics->len; i++) {
        json_t *one = json_object();
        out_json_set(one, "name", out_json_text(topics->v[i].name));
        out_json_set(one, "partitions", json_integer(topics->v[i].partitions));
        out_json_add(array, one);
    }
    return array;
}

static json_t *topology_json_of(const struct streams_view *v)
{
    const struct streams_group_describe_response_topology *t = v->group->topology;
    if (t == NULL) {
        return json_null();
    }
    json_t *one = json_object();
    json_t *array = json_array();
    for (int32_t i = 0; i < t->subtopologies.len; i++) {
        const subtopology *s = &t->subtopologies.v[i];
        json_t *each = json_object();
        out_json_set(each, "subtopologyId", out_json_text(s->subtopology_id));
        out_json_set(each, "sourceTopics", names_json(&s->source_topics));
        out_json_set(each, "repartitionSinkTopics", names_json(&s->repartition_sink_topics));
        out_json_set(each, "repartitionSourceTopics", topics_json(&s->repartition_source_topics));
        out_json_set(each, "stateChangelogTopics", topics_json(&s->state_changelog_topics));
        out_json_add(array, each);
    }
    out_json_set(one, "epoch", json_integer(t->epoch));
    out_json_set(one, "id", v->topology != NULL ? out_json_text(v->topology->topology_id) : json_null());
    out_json_set(one, "subtopologies", array);
    return one;
}

json_t *streams_json(const struct streams_view *v, const struct offsets_view *offsets)
{
    const struct streams_group_describe_response_described_group *g = v->group;
    json_t *one = json_object();
    json_t *members = json_array();
    for (int32_t i = 0; i < g->members.len; i++) {
        out_json_add(members, member_json(&g->members.v[i]));
    }
    out_json_set(one, "group", out_json_text(v->group_id));
    out_json_set(one, "type", json_string("streams"));
    out_json_set(one, "state", out_json_text(streams_view_state(v)));
    out_json_set(one, "problem", v->topology != NULL ? out_json_text(v->topology->problem) : json_null());
    out_json_set(one, "epoch", json_integer(g->group_epoch));
    out_json_set(one, "assignmentEpoch", json_integer(g->assignment_epoch));
    out_json_set(one, "assignor", out_json_text(g->assignor_name));
    out_json_set(one, "topology", topology_json_of(v));
    out_json_set(one, "coordinator", coordinator_json(&v->coordinator));
    out_json_set(one, "shard", group_shard_json(&v->coordinator));
    out_json_set(one, "protected", protection_json(v->protection));
    out_json_set(one, "members", members);
    if (offsets != NULL) {
        out_json_set(one, "offsets", offsets_json(offsets));
    }
    return one;
}

/* ---- tables ---- */

void streams_print_summary(struct cli *cli, const struct streams_view *v)
{
    static const char *const headers[] = {"GROUP",          "TYPE",        "STATE",    "EPOCH",       "ASSIGNMENT-EPOCH|ASSIGNED",
                                          "TOPOLOGY-EPOCH", "TOPOLOGY-ID", "#MEMBERS", "COORDINATOR", "SHARD"};
    const struct streams_group_describe_response_described_group *g = v->group;
    struct table t;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    table_text(&t, v->group_id);
    table_text(&t, STR("streams"));
    table_text(&t, streams_view_state(v));
    table_number(&t, g->group_epoch);
    table_number(&t, g->assignment_epoch);
    table_number_or_dash(&t, g->topology != NULL ? g->topology->epoch : -1);
    table_text(&t, v->topology != NULL ? v->topology->topology_id : STR_NULL);
    table_number(&t, g->members.len);
    table_text(&t, coordinator_text(&v->coordinator, &cli->arena));
    table_number_or_dash(&t, v->coordinator.shard);
    table_print(&t, cli->out);
    if (v->topology != NULL && !str_is_empty(v->topology->problem)) {
        fprintf(cli->out, "\nPROBLEM  %.*s\n", STR_ARG(out_text(v->topology->problem, &cli->arena)));
    }
    protection_print(cli, v->protection);
}

/* "0[0,1] 1[3]" */
static struct str tasks_text(const task_ids *tasks, struct arena *arena)
{
    struct topic_partitions_list list = {.v = ARENA_NEW(arena, struct topic_partitions, tasks->len), .len = tasks->len};
    for (int32_t i = 0; i < tasks->len; i++) {
        list.v[i] = (struct topic_partitions){tasks->v[i].subtopology_id, tasks->v[i].partitions};
    }
    return topic_partitions_text(&list, arena);
}

void streams_print_members(struct cli *cli, const struct streams_view *v)
{
    static const char *const headers[] = {"GROUP",      "MEMBER-ID",    "GROUP-INSTANCE-ID|INSTANCE",
                                          "PROCESS-ID", "HOST",         "CLIENT-ID|CLIENT",
                                          "EPOCH",      "TARGET-EPOCH", "TOPOLOGY-EPOCH",
                                          "ENDPOINT",   "ACTIVE",       "STANDBY",
                                          "WARMUP"};
    struct table t;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    for (int32_t i = 0; i < v->group->members.len; i++) {
        const member *m = &v->group->members.v[i];
        table_text(&t, v->group_id);
        table_text(&t, m->member_id);
        table_text(&t, m->instance_id);
        table_text(&t, m->process_id);
        table_text(&t, m->client_host);
        table_text(&t, m->client_id);
        table_number(&t, m->member_epoch);
        table_number(&t, v->group->assignment_epoch);
        table_number_or_dash(&t, m->topology_epoch);
        table_text(&t, m->user_endpoint == NULL
                           ? STR_NULL
                           : arena_printf(&cli->arena, "%.*s:%d", STR_ARG(m->user_endpoint->host), m->user_endpoint->port));
        for (int role = 0; role < ROLES; role++) {
            table_text(&t, tasks_text(tasks_of(&m->assignment, role), &cli->arena));
        }
    }
    if (t.cell_count > 0) {
        fputc('\n', cli->out);
        table_print(&t, cli->out);
    }
}

static void add_task_row(struct table *t, const struct streams_view *v, const member *m, int role, const char *change, struct str id,
                         int32_t partition)
{
    int64_t offset = offset_of(&m->task_offsets, id, partition), end = offset_of(&m->task_end_offsets, id, partition);
    table_text(t, v->group_id);
    table_text(t, arena_printf(t->arena, "%.*s_%" PRId32, STR_ARG(id), partition));
    table_text(t, str_of(roles[role]));
    table_text(t, str_of(change));
    table_text(t, m->member_id);
    table_text(t, m->client_host);
    table_text(t, m->client_id);
    table_number_or_dash(t, offset);
    table_number_or_dash(t, end);
    table_number_or_dash(t, offset >= 0 && end >= offset ? end - offset : -1);
}

/* Those of `these` in `others` get `both` (NULL: no row), the rest `change`. */
static void add_task_rows(struct table *t, const struct streams_view *v, const member *m, int role, const task_ids *these,
                          const task_ids *others, const char *both, const char *change)
{
    for (int32_t i = 0; i < these->len; i++) {
        for (int32_t p = 0; p < these->v[i].partitions.len; p++) {
            int32_t partition = these->v[i].partitions.v[p];
            const char *word = has_task(others, these->v[i].subtopology_id, partition) ? both : change;
            if (word != NULL) {
                add_task_row(t, v, m, role, word, these->v[i].subtopology_id, partition);
            }
        }
    }
}

void streams_print_tasks(struct cli *cli, const struct streams_view *v)
{
    static const char *const headers[] = {
        "GROUP", "TASK", "ROLE", "CHANGE", "MEMBER-ID", "HOST", "CLIENT-ID|CLIENT", "CHANGELOG-OFFSET|OFFSET", "CHANGELOG-END-OFFSET|END",
        "LAG"};
    struct table t;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    for (int32_t i = 0; i < v->group->members.len; i++) {
        const member *m = &v->group->members.v[i];
        for (int role = 0; role < ROLES; role++) {
            const task_ids *has = tasks_of(&m->assignment, role), *target = tasks_of(&m->target_assignment, role);
            add_task_rows(&t, v, m, role, has, target, "-", "to go");
            add_task_rows(&t, v, m, role, target, has, NULL, "to come");
        }
    }
    if (t.cell_count > 0) {
        fputc('\n', cli->out);
        table_print(&t, cli->out);
    }
}

/* "name(4),name(4)": with the number of partitions, where it is known. */
static struct str topics_text(const struct streams_group_describe_response_topic_info_array *topics, struct arena *arena)
{
    struct str text = STR_NULL;
    for (int32_t i = 0; i < topics->len; i++) {
        struct str count = topics->v[i].partitions > 0 ? arena_printf(arena, "(%" PRId32 ")", topics->v[i].partitions) : STR("");
        text = arena_printf(arena, "%.*s%s%.*s%.*s", STR_ARG(text), i > 0 ? "," : "", STR_ARG(topics->v[i].name), STR_ARG(count));
    }
    return text;
}

void streams_print_topology(struct cli *cli, const struct streams_view *v)
{
    static const char *const headers[] = {"GROUP", "SUBTOPOLOGY", "SOURCES", "REPARTITION-SOURCES", "REPARTITION-SINKS", "CHANGELOGS"};
    const struct streams_group_describe_response_topology *topology = v->group->topology;
    struct table t;
    table_init(&t, &cli->arena, headers, COUNT_OF(headers));
    for (int32_t i = 0; topology != NULL && i < topology->subtopologies.len; i++) {
        const subtopology *s = &topology->subtopologies.v[i];
        table_text(&t, v->group_id);
        table_text(&t, s->subtopology_id);
        table_text(&t, names_text(&s->source_topics, &cli->arena));
        table_text(&t, topics_text(&s->repartition_source_topics, &cli->arena));
        table_text(&t, names_text(&s->repartition_sink_topics, &cli->arena));
        table_text(&t, topics_text(&s->state_changelog_topics, &cli->arena));
    }
    if (t.cell_count > 0) {
        fputc('\n', cli->out);
        table_print(&t, cli->out);
    }
}

static const member *owner_of(const struct streams_view *v, struct str id, int32_t partition)
{
    for (int32_t i = 0; i < v->group->members.len; i++) {
        if (has_task(&v->group->members.v[i].assignment.active_tasks, id, partition)) {
            return &v->group->members.v[i];
        }
    }
    return NULL;
}

void streams_print_offsets(struct cli *cli, const struct streams_view *v, const struct offsets_view *offsets)
{
    static const char *const headers[] = {"GROUP", "TOPIC",     "PARTITION|PART", "CURRENT-OFFSET|CURRENT", "LOG-END-OFFSET|END", "LAG",
                                          "TASK",  "MEMBER-ID", "HOST",           "CLIENT-ID|CLIENT",       "LEADER-EPOCH|EPOCH"};
    struct table t;
    bool epochs = cli_flag(cli, "verbose");
    table_init(&t, &cli->arena, headers, COUNT_OF(headers) - !epochs);
    for (int i = 0; i < offsets->count; i++) {
        const struct offset_view *o = &offsets->v[i];
        struct str id = streams_reader_of(v, o->topic);
        const member *owner = str_is_null(id) ? NULL : owner_of(v, id, o->partition);
        table_text(&t, v->group_id);
        table_text(&t, o->topic);
        table_number_or_dash(&t, o->partition);
        table_number_or_dash(&t, o->committed);
        table_number_or_dash(&t, o->end);
        table_number_or_dash(&t, offset_lag(o));
        table_text(&t, str_is_null(id) ? STR_NULL : arena_printf(&cli->arena, "%.*s_%" PRId32, STR_ARG(id), o->partition));
        table_text(&t, owner != NULL ? owner->member_id : STR_NULL);
        table_text(&t, owner != NULL ? owner->client_host : STR_NULL);
        table_text(&t, owner != NULL ? owner->client_id : STR_NULL);
        if (epochs) {
            table_number_or_dash(&t, o->leader_epoch);
        }
    }
    if (t.cell_count > 0) {
        fputc('\n', cli->out);
        table_print(&t, cli->out);
    }
}
