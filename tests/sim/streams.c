/* Members of streams groups: each joins with its topology and says what tasks it has. */
#include "streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATUS_MISSING_SOURCES = 1, STATUS_PARTITIONING = 2, STATUS_MISSING_INTERNALS = 3 };

const struct plan streams_plans[SIM_STREAMS_GROUPS] = {
    {.sources = {"plain-in"}, .partitions = 4, .changelog = "plain-store"},
    {.sources = {"split-in"}, .partitions = 3, .repartition = "split-again", .changelog = "split-store"},
    {.sources = {"match-in-1", "match-in-2"}, .regex = "match-in-[0-9]+", .partitions = 4, .changelog = "match-store"},
    {.sources = {"wide-in"}, .partitions = 12, .changelog = "wide-store"},
};

/* ---- what it says ---- */

typedef struct streams_group_heartbeat_request request;
typedef struct streams_group_heartbeat_request_subtopology subtopology;
typedef struct streams_group_heartbeat_request_task_ids_array task_lists;

static struct str_array one_name(const char *text, struct arena *arena)
{
    struct str_array names = {ARENA_NEW(arena, struct str, 1), 1};
    names.v[0] = str_of(text);
    return names;
}

static struct streams_group_heartbeat_request_topic_info_array one_topic(const char *text, struct arena *arena)
{
    struct streams_group_heartbeat_request_topic_info_array topics = {ARENA_NEW(arena, struct streams_group_heartbeat_request_topic_info,
                                                                                1),
                                                                      1};
    topics.v[0].name = str_of(text);
    return topics;
}

static void say_topology(const struct member *m, request *q, struct arena *arena)
{
    const struct plan *plan = &streams_plans[m->crowd->number];
    q->topology = ARENA_NEW(arena, struct streams_group_heartbeat_request_topology, 1);
    q->topology->subtopologies.len = plan->repartition != NULL ? 2 : 1;
    q->topology->subtopologies.v = ARENA_NEW(arena, subtopology, 2);
    subtopology *first = &q->topology->subtopologies.v[0], *last = &q->topology->subtopologies.v[q->topology->subtopologies.len - 1];
    first->subtopology_id = STR("0");
    if (plan->regex != NULL)
        first->source_topic_regex = one_name(plan->regex, arena);
    else
        first->source_topics = one_name(plan->sources[0], arena);
    if (plan->repartition != NULL) {
        last->subtopology_id = STR("1");
        first->repartition_sink_topics = one_name(plan->repartition, arena);
        last->repartition_source_topics = one_topic(plan->repartition, arena);
    }
    last->state_changelog_topics = one_topic(plan->changelog, arena);
}

/* extra: one more task, of a partition that there is not. */
static task_lists say_tasks(const struct unit_set *tasks, bool extra, struct arena *arena)
{
    static const struct str ids[SUBS_MAX] = {{"0", 1}, {"1", 1}};
    task_lists lists = {ARENA_NEW(arena, struct streams_group_heartbeat_request_task_ids, SUBS_MAX), 0};
    for (uint32_t sub = 0; sub < SUBS_MAX; sub++) {
        struct streams_group_heartbeat_request_task_ids *list = &lists.v[lists.len];
        list->subtopology_id = ids[sub];
        list->partitions = (struct int32_array){ARENA_NEW(arena, int32_t, tasks->len + 1), 0};
        for (int32_t i = 0; i < tasks->len; i++) {
            if (unit_name(tasks->v[i]) == sub)
                list->partitions.v[list->partitions.len++] = unit_partition(tasks->v[i]);
        }
        if (extra && sub == 0)
            list->partitions.v[list->partitions.len++] = TASKS_MAX;
        lists.len += list->partitions.len > 0;
    }
    return lists;
}

static void say_has(const struct member *m, request *q, struct arena *arena)
{
    q->active_tasks = say_tasks(&m->has.role[ACTIVE], m->stray == STRAY_LARGER, arena);
    q->standby_tasks = say_tasks(&m->has.role[STANDBY], false, arena);
    q->warmup_tasks = say_tasks(&m->has.role[WARMUP], false, arena);
}

static void say(struct member *m, enum speech what)
{
    struct sim_request *r = member_request(m, GROUP_STREAMS_HEARTBEAT, 88, 1);
    request *q = ARENA_NEW(&r->arena, request, 1);
    wire_init(&wire_streams_group_heartbeat_request, q);
    r->request.op.request = q;
    q->group_id = r->request.op.group_id;
    q->member_id = member_text(r, m->member_id);
    q->member_epoch = member_epoch_to_say(m);
    q->instance_id = member_instance(m, r);
    q->endpoint_information_epoch = -1;
    switch (what) {
    case SPEECH_JOIN:
        q->rebalance_timeout_ms = MEMBER_REBALANCE_MS;
        q->process_id = member_text(r, m->process_id);
        q->client_tags.len = 0;
        say_topology(m, q, &r->arena);
        say_has(m, q, &r->arena);
        break;
    case SPEECH_BEAT:
        if (m->says != SAYS_NOTHING)
            say_has(m, q, &r->arena);
        break;
    case SPEECH_LEAVE:
        q->member_epoch = m->instance_id[0] != '\0' && sim_chance(m->sim, 500000) ? -2 : -1;
        break;
    case SPEECH_SYNC:
        break;
    }
    member_send(m, r, MEMBER_PATIENCE_US);
}

/* ---- what it is told ---- */

static void add_tasks(struct unit_set *tasks, const struct streams_group_heartbeat_response_task_ids_array *lists)
{
    for (int32_t i = 0; i < lists->len; i++) {
        uint32_t sub = str_eq(lists->v[i].subtopology_id, STR("1"));
        for (int32_t k = 0; k < lists->v[i].partitions.len; k++)
            set_add(tasks, unit_of(sub, lists->v[i].partitions.v[k]));
    }
}

static void look_at_status(struct member *m, const struct streams_group_heartbeat_response *a)
{
    for (int32_t i = 0; i < a->status.len; i++) {
        int8_t code = a->status.v[i].status_code;
        m->sim->totals.streams_not_ready += code >= STATUS_MISSING_SOURCES && code <= STATUS_MISSING_INTERNALS;
        if (code == STATUS_PARTITIONING)
            streams_repair(m->sim, m->crowd->number);
    }
}

static void hear(struct member *m, struct sim_request *r)
{
    const struct streams_group_heartbeat_response *a = r->answer;
    struct streams_group_check *g = &m->sim->streams->groups[m->crowd->number];
    bool joins = m->life == LIFE_JOINING, stray = m->stray != STRAY_NONE;
    struct share share = {0};
    add_tasks(&share.role[ACTIVE], &a->active_tasks);
    add_tasks(&share.role[STANDBY], &a->standby_tasks);
    add_tasks(&share.role[WARMUP], &a->warmup_tasks);
    struct reply reply = {.error = a->error_code,
                          .text = a->error_message,
                          .epoch = a->member_epoch,
                          .interval_ms = a->heartbeat_interval_ms,
                          .tells = a->active_tasks.len >= 0,
                          .share = &share};
    member_heard(m, &reply);
    share_free(&share);
    if (a->error_code != 0 || stray)
        return;
    if (joins && g->topology_at_us == 0)
        g->topology_at_us = m->sim->now_us;
    look_at_status(m, a);
}

static void born(struct member *m)
{
    snprintf(m->member_id, SIM_ID_MAX, "%s-%llu", m->name, (unsigned long long)m->lives);
}

static const struct protocol streams_protocol = {.heals = true, .born = born, .say = say, .hear = hear};

/* Two processes with two threads each. One thread of each group is a static member. */
void streams_start(struct sim *sim)
{
    struct sim_streams *s = sim->streams = calloc(1, sizeof(*s));
    MUSTER_CHECK(s != NULL);
    for (uint32_t i = 0; i < SIM_STREAMS_GROUPS; i++)
        crowd_begin(&s->crowds[i], sim, CROWD_STREAMS, "streams", i);
    for (uint32_t i = 0; i < SIM_STREAMS_MEMBERS; i++) {
        struct member *m = &s->apps[i];
        uint32_t group = i % SIM_STREAMS_GROUPS;
        member_begin(m, &s->crowds[group], &streams_protocol, "app", i);
        snprintf(m->process_id, SIM_ID_MAX, "process-%u-%u", group, i / SIM_STREAMS_GROUPS / 2);
        if (i / SIM_STREAMS_GROUPS == 3)
            snprintf(m->instance_id, SIM_ID_MAX, "static-%u", group);
    }
    streams_admin_start(sim);
    streams_giver_start(sim);
}

void streams_fini(struct sim *sim)
{
    for (uint32_t i = 0; sim->streams != NULL && i < SIM_STREAMS_GROUPS; i++)
        crowd_fini(&sim->streams->crowds[i]);
    free(sim->streams);
}

/* ---- after the faults ---- */

bool streams_idle(const struct sim *sim)
{
    return sim->streams->admin.count == 0;
}

bool streams_settled(struct sim *sim, char *why, size_t why_len)
{
    bool settled = true;
    for (uint32_t group = 0; settled && group < SIM_STREAMS_GROUPS; group++) {
        struct unit_set expected = {0};
        for (uint32_t sub = 0; sub < SUBS_MAX; sub++) {
            for (int32_t p = 0; p < streams_task_count(sim, group, sub); p++)
                set_add(&expected, unit_of(sub, p));
        }
        struct settling s = {.expected = &expected, .healed_at_us = sim->healed_at_us, .beats = SETTLE_BEATS};
        settled = crowd_settled(&sim->streams->crowds[group], &s, why, why_len);
        set_free(&expected);
    }
    return settled;
}

void streams_gone(struct sim *sim, struct str group_id)
{
    for (uint32_t i = 0; i < SIM_STREAMS_GROUPS; i++) {
        if (str_eq(str_of(sim->streams->crowds[i].id), group_id))
            crowd_forget(&sim->streams->crowds[i]);
    }
}
