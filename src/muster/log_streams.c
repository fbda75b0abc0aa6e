/* log_streams.c: a streams group as its records make it. */
#include "consumer_protocol.h"
#include "log.h"
#include "out.h"

#include <muster/group.h>

#include <inttypes.h>

enum { KINDS = 3 };
static const char *const kinds[KINDS] = {"active", "standby", "warmup"};

struct member_seen {
    struct str member_id;
    const struct streams_group_member_metadata_value *metadata; /* NULL: the record is not live; so for the others */
    const struct streams_group_target_assignment_member_value *target;
    const struct streams_group_current_member_assignment_value *current;
};
struct group_seen {
    struct str group_id, state;
    const struct streams_group_metadata_value *metadata;
    const struct streams_group_target_assignment_metadata_value *assignment;
    const struct streams_group_topology_value *topology;
    struct member_seen *members;
    int32_t member_count;
};

/* ---- tasks ---- */

static struct topic_partitions_list target_list(const struct streams_group_target_assignment_member_value *v, int kind, struct arena *arena)
{
    const struct streams_group_target_assignment_member_value_task_ids_array *tasks = kind == 0   ? &v->active_tasks
                                                                                      : kind == 1 ? &v->standby_tasks
                                                                                                  : &v->warmup_tasks;
    struct topic_partitions_list list = {ARENA_NEW(arena, struct topic_partitions, tasks->len), tasks->len};
    for (int32_t i = 0; i < tasks->len; i++) {
        list.v[i] = (struct topic_partitions){tasks->v[i].subtopology_id, tasks->v[i].partitions};
    }
    return list;
}

static struct topic_partitions_list current_list(const struct streams_group_current_member_assignment_value *v, int kind, bool revoking,
                                                 struct arena *arena)
{
    const struct streams_group_current_member_assignment_value_task_ids_array *all[2][KINDS] = {
        {&v->active_tasks, &v->standby_tasks, &v->warmup_tasks},
        {&v->active_tasks_pending_revocation, &v->standby_tasks_pending_revocation, &v->warmup_tasks_pending_revocation}};
    const struct streams_group_current_member_assignment_value_task_ids_array *tasks = all[revoking ? 1 : 0][kind];
    struct topic_partitions_list list = {ARENA_NEW(arena, struct topic_partitions, tasks->len), tasks->len};
    for (int32_t i = 0; i < tasks->len; i++) {
        list.v[i] = (struct topic_partitions){tasks->v[i].subtopology_id, tasks->v[i].partitions};
    }
    return list;
}

enum share { SHARE_ASSIGNED, SHARE_REVOKING, SHARE_TARGET };

static struct topic_partitions_list share_of(const struct member_seen *m, enum share share, int kind, struct arena *arena)
{
    if (share == SHARE_TARGET) {
        return m->target == NULL ? (struct topic_partitions_list){NULL, 0} : target_list(m->target, kind, arena);
    }
    return m->current == NULL ? (struct topic_partitions_list){NULL, 0} : current_list(m->current, kind, share == SHARE_REVOKING, arena);
}

/* "0[0,1] standby 1[2]"; "-" for nothing. */
static struct str share_text(const struct member_seen *m, enum share share, struct arena *arena)
{
    struct str text = STR("");
    for (int kind = 0; kind < KINDS; kind++) {
        struct topic_partitions_list list = share_of(m, share, kind, arena);
        if (list.len == 0) {
            continue;
        }
        struct str tasks = topic_partitions_text(&list, arena);
        text = arena_printf(arena, "%.*s%s%s%s%.*s", STR_ARG(text), text.len > 0 ? " " : "", kind > 0 ? kinds[kind] : "",
                            kind > 0 ? " " : "", STR_ARG(tasks));
    }
    return text.len == 0 ? STR_NULL : text;
}

static json_t *share_json(const struct member_seen *m, enum share share, struct arena *arena)
{
    json_t *object = json_object();
    for (int kind = 0; kind < KINDS; kind++) {
        struct topic_partitions_list list = share_of(m, share, kind, arena);
        json_t *array = json_array();
        for (int32_t i = 0; i < list.len; i++) {
            json_t *one = json_object(), *partitions = json_array();
            for (int32_t k = 0; k < list.v[i].partitions.len; k++) {
                out_json_add(partitions, json_integer(list.v[i].partitions.v[k]));
            }
            out_json_set(one, "subtopologyId", out_json_text(list.v[i].topic));
            out_json_set(one, "partitions", partitions);
            out_json_add(array, one);
        }
        out_json_set(object, kinds[kind], array);
    }
    return object;
}

/* ---- the group ---- */

static void print_table(struct cli *cli, const struct group_seen *g, struct arena *arena)
{
    static const char *const headers[] = {"MEMBER-ID", "GROUP-INSTANCE-ID", "PROCESS-ID", "EPOCH", "TOPOLOGY-EPOCH", "STATE",
                                          "TASKS",     "GIVING-UP",         "TARGET"};
    const struct streams_group_metadata_value *v = g->metadata;
    struct str id = g->topology == NULL ? STR_NULL : g->topology->topology_id;
    fprintf(cli->out, "Streams group %.*s: %.*s, epoch %" PRId32 ", assignment epoch %" PRId32, STR_ARG(out_text(g->group_id, arena)),
            STR_ARG(g->state), v->epoch, g->assignment == NULL ? 0 : g->assignment->assignment_epoch);
    if (g->topology == NULL) {
        fprintf(cli->out, ", no topology");
    } else {
        fprintf(cli->out, ", topology %.*s of epoch %" PRId32, STR_ARG(out_text(id, arena)), g->topology->epoch);
    }
    if (v->topology_problem >= 0) {
        fprintf(cli->out, ", %s: %.*s", log_topology_problem(v->topology_problem), STR_ARG(out_text(v->topology_problem_detail, arena)));
    }
    fprintf(cli->out, "\n");
    struct table t;
    table_init(&t, arena, headers, COUNT_OF(headers));
    for (int32_t i = 0; i < g->member_count; i++) {
        const struct member_seen *m = &g->members[i];
        table_text(&t, m->member_id);
        table_text(&t, m->metadata == NULL ? STR_NULL : m->metadata->instance_id);
        table_text(&t, m->metadata == NULL ? STR_NULL : m->metadata->process_id);
        table_text(&t, m->current == NULL ? STR_NULL : arena_printf(arena, "%" PRId32, m->current->member_epoch));
        table_number_or_dash(&t, m->metadata == NULL ? -1 : m->metadata->topology_epoch);
        table_text(&t, m->current == NULL ? STR_NULL : str_of(log_member_state(m->current->state)));
        for (int share = SHARE_ASSIGNED; share <= SHARE_TARGET; share++) {
            table_text(&t, share_text(m, (enum share)share, arena));
        }
    }
    if (g->member_count > 0) {
        table_print(&t, cli->out);
    }
}

static json_t *members_json(const struct group_seen *g, struct arena *arena)
{
    json_t *members = json_array();
    for (int32_t i = 0; i < g->member_count; i++) {
        const struct member_seen *m = &g->members[i];
        json_t *one = json_object();
        out_json_set(one, "memberId", out_json_text(m->member_id));
        out_json_set(one, "groupInstanceId", m->metadata == NULL ? json_null() : out_json_text(m->metadata->instance_id));
        out_json_set(one, "processId", m->metadata == NULL ? json_null() : out_json_text(m->metadata->process_id));
        out_json_set(one, "topologyEpoch", m->metadata == NULL ? json_null() : json_integer(m->metadata->topology_epoch));
        out_json_set(one, "memberEpoch", m->current == NULL ? json_null() : json_integer(m->current->member_epoch));
        out_json_set(one, "previousMemberEpoch", m->current == NULL ? json_null() : json_integer(m->current->previous_member_epoch));
        out_json_set(one, "state", m->current == NULL ? json_null() : json_string(log_member_state(m->current->state)));
        out_json_set(one, "tasks", share_json(m, SHARE_ASSIGNED, arena));
        out_json_set(one, "givingUp", share_json(m, SHARE_REVOKING, arena));
        out_json_set(one, "target", share_json(m, SHARE_TARGET, arena));
        out_json_add(members, one);
    }
    return members;
}

static json_t *group_json(const struct group_seen *g, struct arena *arena)
{
    const struct streams_group_metadata_value *v = g->metadata;
    json_t *group = json_object();
    out_json_set(group, "group", out_json_text(g->group_id));
    out_json_set(group, "state", out_json_text(g->state));
    out_json_set(group, "epoch", json_integer(v->epoch));
    out_json_set(group, "assignmentEpoch", json_integer(g->assignment == NULL ? 0 : g->assignment->assignment_epoch));
    out_json_set(group, "topologyEpoch", g->topology == NULL ? json_null() : json_integer(g->topology->epoch));
    out_json_set(group, "topologyId", g->topology == NULL ? json_null() : out_json_text(g->topology->topology_id));
    out_json_set(group, "problem", v->topology_problem < 0 ? json_null() : json_string(log_topology_problem(v->topology_problem)));
    out_json_set(group, "problemDetail", out_json_text(v->topology_problem_detail));
    out_json_set(group, "members", members_json(g, arena));
    return group;
}

/* ---- from records ---- */

static struct member_seen *member_of(struct group_seen *g, struct str member_id)
{
    if (g->member_count == 0 || !str_eq(g->members[g->member_count - 1].member_id, member_id)) { /* a member's records are neighbours */
        g->members[g->member_count++] = (struct member_seen){.member_id = member_id};
    }
    return &g->members[g->member_count - 1];
}

static void see(struct group_seen *g, const struct wire_decoded_record *r)
{
    switch (r->schema->type) {
    case RECORD_STREAMS_GROUP_METADATA:
        g->metadata = r->value;
        break;
    case RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA:
        g->assignment = r->value;
        break;
    case RECORD_STREAMS_GROUP_TOPOLOGY:
        g->topology = r->value;
        break;
    case RECORD_STREAMS_GROUP_MEMBER_METADATA:
        member_of(g, ((const struct streams_group_member_metadata_key *)r->key)->member_id)->metadata = r->value;
        break;
    case RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER:
        member_of(g, ((const struct streams_group_target_assignment_member_key *)r->key)->member_id)->target = r->value;
        break;
    case RECORD_STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT:
        member_of(g, ((const struct streams_group_current_member_assignment_key *)r->key)->member_id)->current = r->value;
        break;
    default:
        break;
    }
}

/* Kafka's words know no "Initializing". */
static struct str state_of(const struct group_set *set, const struct group_seen *g)
{
    struct group_listing listing;
    if (g->topology == NULL) {
        return STR("Initializing");
    }
    return group_listing(set, g->group_id, &listing) ? listing.state : STR("?");
}

void log_streams_show(struct log_groups *s)
{
    struct group_seen g = {.group_id = s->group, .members = ARENA_NEW(&s->arena, struct member_seen, s->count)};
    for (size_t i = 0; i < s->count; i++) {
        struct wire_decoded_record decoded;
        if (wire_record_decode(s->records[i], &s->arena, &decoded) == 0) {
            see(&g, &decoded);
        }
    }
    g.state = state_of(s->set, &g);
    if (g.metadata == NULL || !log_printer_takes_group(s->printer, g.group_id)) {
        return; /* what is left of a group is none */
    }
    if (s->printer->cli->json) {
        log_groups_json(s, "streamsGroup", group_json(&g, &s->arena));
    } else {
        print_table(s->printer->cli, &g, &s->arena);
    }
    s->printer->printed++;
}
