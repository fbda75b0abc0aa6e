/* answer.c: what a member is told. */
#include "draft.h"

static struct streams_group_heartbeat_response *answer_new(const struct decision *d)
{
    struct streams_group_heartbeat_response *answer = ARENA_NEW(d->arena, struct streams_group_heartbeat_response, 1);
    wire_init(&wire_streams_group_heartbeat_response, answer);
    return answer;
}

void heartbeat_refuse(struct decision *d, struct refused refused)
{
    struct streams_group_heartbeat_response *answer = answer_new(d);
    answer->error_code = refused.error;
    answer->error_message = refused.text;
    d->out->timer_count = 0; /* what was begun does not happen */
    out_answer(d, refused.rule, refused.error, answer);
}

void heartbeat_left(struct decision *d, const char *rule, const heartbeat_request *r)
{
    struct streams_group_heartbeat_response *answer = answer_new(d);
    answer->member_id = r->member_id;
    answer->member_epoch = r->member_epoch;
    out_answer(d, rule, KAFKA_NONE, answer);
}

/* ---- tasks -------------------------------------------------------------------------------------------------------------------------- */

static struct streams_group_heartbeat_response_task_ids_array task_ids(const struct draft *t, struct units units)
{
    struct arena *arena = t->d->arena;
    struct streams_group_heartbeat_response_task_ids_array all = {
        .v = ARENA_NEW(arena, struct streams_group_heartbeat_response_task_ids, units.len)};
    int32_t *partitions = ARENA_NEW(arena, int32_t, units.len);
    for (int32_t i = 0; i < units.len; i++) {
        partitions[i] = units.v[i].partition;
        if (i == 0 || !str_eq(units.v[i - 1].name, units.v[i].name)) {
            all.v[all.len++] =
                (struct streams_group_heartbeat_response_task_ids){.subtopology_id = units.v[i].name, .partitions = {&partitions[i], 0}};
        }
        all.v[all.len - 1].partitions.len++;
    }
    return all;
}

static void tell_tasks(const struct draft *t, struct streams_group_heartbeat_response *answer)
{
    const struct holding *has = &t->after.assigned;
    answer->active_tasks = task_ids(t, has->kind[UNITS_ACTIVE]);
    answer->standby_tasks = task_ids(t, has->kind[UNITS_STANDBY]);
    answer->warmup_tasks = task_ids(t, has->kind[UNITS_WARMUP]);
}

/* ---- statuses -------------------------------------------------------------------------------------------------------------------------- */

enum status { /* of Kafka; those of topologies are enum topology_problem */
              STATUS_STALE_TOPOLOGY = 0,
              STATUS_SHUTDOWN = 4,
              STATUS_ASSIGNMENT_DELAYED = 5,
              STATUS_MISSING_TAGS = 6,
              STATUS_UNINITIALIZED_TOPOLOGY = 100 /* ours: the group waits for StreamsGroupInitialize */
};
enum { MAX_STATUSES = 6 };

struct statuses {
    struct streams_group_heartbeat_response_status_array list;
    struct arena *arena;
};

static void add(struct statuses *s, enum status code, struct str detail)
{
    if (s->list.v == NULL) {
        s->list.v = ARENA_NEW(s->arena, struct streams_group_heartbeat_response_status, MAX_STATUSES);
    }
    MUSTER_CHECK(s->list.len < MAX_STATUSES);
    s->list.v[s->list.len++] = (struct streams_group_heartbeat_response_status){.status_code = (int8_t)code, .status_detail = detail};
}

static void add_topology(const struct draft *t, struct statuses *s)
{
    const topology *own = draft_topology(t);
    int32_t epoch = t->put->topology_epoch;
    if (own == NULL) {
        add(s, STATUS_UNINITIALIZED_TOPOLOGY, STR("The group's topology has not been initialized."));
    } else if (epoch >= 0 && epoch < own->epoch) {
        add(s, STATUS_STALE_TOPOLOGY,
            arena_printf(s->arena, "The member's topology epoch %d is behind the group's topology epoch %d.", (int)epoch, (int)own->epoch));
    }
}

static void add_assignment(const struct draft *t, struct statuses *s)
{
    enum assignment_wait wait = assignment_wait(t);
    if (wait == ASSIGNMENT_DELAYED) {
        add(s, STATUS_ASSIGNMENT_DELAYED, STR("Assignment delayed due to the configured initial rebalance delay."));
    } else if (wait == ASSIGNMENT_INTERVAL) {
        add(s, STATUS_ASSIGNMENT_DELAYED, STR("Assignment delayed due to the configured assignment interval."));
    }
}

static void add_missing_tags(const struct draft *t, struct statuses *s)
{
    if (t->d->op->api_version < 1 || streams_part(t)->configs.tags.len == 0) {
        return;
    }
    struct str_array missing = streams_missing_tags(&streams_part(t)->configs, t->put->tags, t->put->tag_count, s->arena);
    struct str names = missing.len > 0 ? missing.v[0] : STR("");
    for (int32_t i = 1; i < missing.len; i++) {
        names = arena_printf(s->arena, "%.*s, %.*s", STR_ARG(names), STR_ARG(missing.v[i]));
    }
    if (missing.len > 0) {
        add(s, STATUS_MISSING_TAGS,
            arena_printf(s->arena,
                         "Missing required client tags for rack-aware standby assignment: [%.*s]. Configure them via 'client.tag.<tagKey>' "
                         "in your Streams config.",
                         STR_ARG(names)));
    }
}

static struct streams_group_heartbeat_response_status_array statuses(const struct draft *t)
{
    struct statuses s = {.arena = t->d->arena};
    add_topology(t, &s);
    add_assignment(t, &s);
    if (t->next.problem != TOPOLOGY_FINE) {
        add(&s, (enum status)t->next.problem, str_is_null(t->next.problem_detail) ? STR("") : t->next.problem_detail);
    }
    if (!str_is_null(t->next.shutdown_member)) {
        add(&s, STATUS_SHUTDOWN,
            arena_printf(s.arena,
                         "Streams group member %.*s encountered a fatal error and requested a shutdown for the entire application.",
                         STR_ARG(t->next.shutdown_member)));
    }
    add_missing_tags(t, &s);
    return s.list;
}

/* ---- all of it --------------------------------------------------------------------------------------------------------------------------- */

/* KIP-1331: asked for until somebody has sent it, or it turned out that nobody can. */
static bool wants_description(const struct draft *t)
{
    const topology *own = draft_topology(t);
    return own != NULL && t->put->topology_epoch == own->epoch && t->next.stored_description_epoch != own->epoch &&
           t->next.failed_description_epoch != own->epoch;
}

void heartbeat_answer(struct draft *t, const char *rule, const heartbeat_request *r, const struct holding *owned)
{
    struct streams_group_heartbeat_response *answer = answer_new(t->d);
    const topology *own = draft_topology(t);
    answer->member_id = r->member_id;
    answer->member_epoch = t->after.epoch;
    answer->heartbeat_interval_ms = draft_heartbeat_interval(t);
    answer->task_offset_interval_ms = streams_part(t)->configs.task_offset_interval_ms;
    answer->acceptable_recovery_lag = streams_part(t)->configs.acceptable_recovery_lag;
    answer->status = statuses(t);
    if (r->member_epoch == 0 || draft_tells_units(t, owned)) {
        tell_tasks(t, answer);
    }
    answer->topology_description_required = wants_description(t);
    answer->endpoint_information_epoch = t->next.endpoint_epoch;
    if (r->endpoint_information_epoch != t->next.endpoint_epoch) {
        answer->partitions_by_user_endpoint = endpoints_list(t);
    }
    answer->should_initialize_topology = own == NULL && str_eq(t->next.initializing_member, t->member_id);
    answer->group_topology_id = own == NULL ? STR_NULL : own->topology_id;
    bool asks = (answer->topology_description_required && t->d->op->api_version >= 1) || answer->should_initialize_topology;
    t->tells = asks || answer->status.len > 0 || answer->active_tasks.len >= 0 || answer->partitions_by_user_endpoint.len >= 0;
    t->d->out->told_ms = answer->heartbeat_interval_ms;
    out_answer(t->d, rule, KAFKA_NONE, answer);
}
