/* Members of streams groups. Each joins with its topology, heartbeats, starts what it is given, closes what it is told to give up and says so a while later; it
 * dies, leaves, stands still, and goes when by its own clock nobody can still count on it. */
#include "streams.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    NONE = 0,
    UNKNOWN_MEMBER_ID = 25,
    FENCED_INSTANCE_ID = 82,
    FENCED_MEMBER_EPOCH = 110,
    UNRELEASED_INSTANCE_ID = 111,
    PATIENCE_US = 1500000
};
enum { STATUS_PARTITIONING = 2 };

const struct plan streams_plans[SIM_STREAMS_GROUPS] = {
    {.sources = {"plain-in"}, .partitions = 4, .changelog = "plain-store"},
    {.sources = {"split-in"}, .partitions = 3, .repartition = "split-again", .changelog = "split-store"},
    {.sources = {"match-in-1", "match-in-2"}, .regex = "match-in-[0-9]+", .partitions = 4, .changelog = "match-store"},
    {.sources = {"wide-in"}, .partitions = 12, .changelog = "wide-store"},
};

static void think(struct sim *sim, void *arg, uint64_t tag);
static void act(struct app *a);

static void think_at(struct app *a, int64_t at_us)
{
    sim_at(a->sim, at_us, think, a, ++a->thinks);
}

void streams_group_id(uint32_t group, char id[SIM_ID_MAX])
{
    snprintf(id, SIM_ID_MAX, "streams-%u", group);
}

uint32_t streams_group_of(struct str group_id)
{
    for (uint32_t i = 0; i < SIM_STREAMS_GROUPS; i++) {
        char id[SIM_ID_MAX];
        streams_group_id(i, id);
        if (str_eq(str_of(id), group_id))
            return i;
    }
    return SIM_STREAMS_GROUPS;
}

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

static void say_topology(const struct app *a, request *m, struct arena *arena)
{
    const struct plan *plan = &streams_plans[a->group];
    m->topology = ARENA_NEW(arena, struct streams_group_heartbeat_request_topology, 1);
    m->topology->subtopologies.len = plan->repartition != NULL ? 2 : 1;
    m->topology->subtopologies.v = ARENA_NEW(arena, subtopology, 2);
    subtopology *first = &m->topology->subtopologies.v[0], *last = &m->topology->subtopologies.v[m->topology->subtopologies.len - 1];
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

static task_lists say_tasks(uint64_t tasks, struct arena *arena)
{
    static const struct str ids[SUBS_MAX] = {{"0", 1}, {"1", 1}};
    task_lists lists = {ARENA_NEW(arena, struct streams_group_heartbeat_request_task_ids, SUBS_MAX), 0};
    for (int sub = 0; sub < SUBS_MAX; sub++) {
        struct streams_group_heartbeat_request_task_ids *list = &lists.v[lists.len];
        list->subtopology_id = ids[sub];
        list->partitions = (struct int32_array){ARENA_NEW(arena, int32_t, TASKS_MAX), 0};
        for (int32_t p = 0; p < TASKS_MAX; p++) {
            if (tasks >> (sub * TASKS_MAX + p) & 1)
                list->partitions.v[list->partitions.len++] = p;
        }
        lists.len += list->partitions.len > 0;
    }
    return lists;
}

static void say_has(const struct app *a, request *m, struct arena *arena)
{
    m->active_tasks = say_tasks(a->has.role[ACTIVE], arena);
    m->standby_tasks = say_tasks(a->has.role[STANDBY], arena);
    m->warmup_tasks = say_tasks(a->has.role[WARMUP], arena);
}

static void answer_arrives(struct sim_request *r);

/* No answer, or one that says nothing of what became of the request. */
static void doubt(struct app *a)
{
    a->say_tasks = true;
    a->stray = a->confirms = false;
    if (a->doubt_until_us == 0)
        a->doubt_until_us = a->sim->now_us + (sim_chance(a->sim, 300000) ? 0 : a->sent_us + STREAMS_REBALANCE_MS * 1000 - a->sim->now_us);
}

static void give_up(struct sim *sim, void *arg, uint64_t serial)
{
    struct app *a = arg;
    if (a->serial != serial)
        return;
    a->serial = 0;
    doubt(a);
    a->node = 1 + (uint32_t)prng_below(&sim->random, sim->options.nodes);
    act(a);
}

static struct sim_request *new_request(struct app *a, request **ret)
{
    char group[SIM_ID_MAX];
    struct sim_request *r = request_new(a->sim, a, answer_arrives, GROUP_STREAMS_HEARTBEAT, 88, 1);
    request *m = ARENA_NEW(&r->arena, request, 1);
    wire_init(&wire_streams_group_heartbeat_request, m);
    streams_group_id(a->group, group);
    r->request.op.group_id = m->group_id = arena_str(&r->arena, str_of(group));
    r->request.op.request = m;
    r->request.op.caller = (struct group_caller){arena_str(&r->arena, str_of(a->process_id)), STR("/app")};
    m->member_id = arena_str(&r->arena, str_of(a->member_id));
    m->member_epoch = a->epoch;
    m->endpoint_information_epoch = -1;
    if (a->instance_id[0] != '\0')
        m->instance_id = arena_str(&r->arena, str_of(a->instance_id));
    *ret = m;
    return r;
}

static void send(struct app *a, struct sim_request *r)
{
    r->serial = a->serial = ++a->thinks + ((uint64_t)(a->number + 1) << 40);
    a->sent_us = a->sim->now_us;
    a->next_beat_us = a->sim->now_us + STREAMS_HEARTBEAT_US;
    a->beats_since_healed += a->sim->streams->healed_at_us != 0;
    request_send(r, a->node);
    sim_at(a->sim, a->sim->now_us + PATIENCE_US, give_up, a, a->serial);
}

/* Whoever joins has nothing: what it had, it closed before. */
static void send_join(struct app *a)
{
    request *m;
    a->epoch = 0;
    memset(&a->has, 0, sizeof(a->has));
    a->closed_at_us = a->confirm_by_us = a->doubt_until_us = 0;
    a->say_tasks = a->confirms = a->stray = false;
    a->state = APP_JOINING;
    struct sim_request *r = new_request(a, &m);
    m->rebalance_timeout_ms = STREAMS_REBALANCE_MS;
    m->process_id = arena_str(&r->arena, str_of(a->process_id));
    m->client_tags.len = 0;
    say_topology(a, m, &r->arena);
    say_has(a, m, &r->arena);
    a->sim->totals.streams_joins++;
    send(a, r);
}

static void send_beat(struct app *a)
{
    request *m;
    struct sim_request *r = new_request(a, &m);
    a->stray = a->doubt_until_us == 0 && sim_chance(a->sim, 20000);
    m->member_epoch += a->stray;
    a->confirms = a->confirm_by_us != 0 && a->closed_at_us == 0;
    if (a->say_tasks || a->confirms)
        say_has(a, m, &r->arena);
    a->say_tasks = false;
    a->sim->totals.streams_beats++;
    send(a, r);
}

static void send_leave(struct app *a)
{
    request *m;
    memset(&a->has, 0, sizeof(a->has));
    a->state = APP_LEAVING;
    a->epoch = a->instance_id[0] != '\0' && sim_chance(a->sim, 500000) ? -2 : -1;
    a->sim->totals.leaves++;
    send(a, new_request(a, &m));
}

/* ---- what becomes of it ---- */

static void drop_all(struct app *a)
{
    memset(&a->has, 0, sizeof(a->has));
    a->closed_at_us = a->confirm_by_us = a->doubt_until_us = 0;
    a->good_sent_us = 0;
    a->serial = 0;
}

/* A member by that id is no more, or will not be. */
static void begin_anew(struct app *a, bool other_id)
{
    drop_all(a);
    a->state = APP_JOINING;
    if (other_id)
        snprintf(a->member_id, SIM_ID_MAX, "app-%u-%llu", a->number, (unsigned long long)++a->lives);
}

static void die(struct app *a)
{
    sim_say(a->sim, "app=%u dies member=%s", a->number, a->member_id);
    a->sim->totals.deaths++;
    drop_all(a);
    a->state = APP_DOWN;
    think_at(a, a->sim->now_us + sim_between(a->sim, 50000, 3000000));
}

static uint64_t tasks_of(const struct streams_group_heartbeat_response_task_ids_array *lists)
{
    uint64_t tasks = 0;
    for (int32_t i = 0; i < lists->len; i++) {
        uint32_t sub = str_eq(lists->v[i].subtopology_id, STR("1"));
        for (int32_t k = 0; k < lists->v[i].partitions.len; k++) {
            MUSTER_CHECK(lists->v[i].partitions.v[k] >= 0 && lists->v[i].partitions.v[k] < TASKS_MAX);
            tasks |= (uint64_t)1 << (sub * TASKS_MAX + (uint32_t)lists->v[i].partitions.v[k]);
        }
    }
    return tasks;
}

/* It closes what is not named any more, which takes a while, and starts what is new at once. */
static void take_tasks(struct app *a, const struct streams_group_heartbeat_response *m)
{
    struct tasks told = {{tasks_of(&m->active_tasks), tasks_of(&m->standby_tasks), tasks_of(&m->warmup_tasks)}};
    uint64_t closes = 0, gained = told.role[ACTIVE] & ~a->has.role[ACTIVE];
    for (int role = 0; role < ROLES; role++) {
        closes |= a->has.role[role] & ~told.role[role];
        a->has.role[role] |= told.role[role];
    }
    a->keeps = told;
    sim_say(a->sim, "app=%u group=%u epoch=%d active=%010llx standby=%010llx%s", a->number, a->group, a->epoch,
            (unsigned long long)told.role[ACTIVE], (unsigned long long)told.role[STANDBY], closes != 0 ? " closes some" : "");
    a->closed_at_us = 0;
    if (closes != 0)
        a->closed_at_us =
            a->sim->now_us + (sim_chance(a->sim, 300000) ? sim_between(a->sim, 200000, 900000) : sim_between(a->sim, 500, 50000));
    /* Also when it has nothing to close: what it shall give up may have been given to it by an answer that was lost. */
    a->say_tasks = a->closed_at_us == 0;
    if (a->confirm_by_us == 0)
        a->confirm_by_us = a->sent_us + STREAMS_REBALANCE_MS * 1000;
    streams_check_owner(a, gained);
}

static void look_at_status(struct app *a, const struct streams_group_heartbeat_response *m)
{
    for (int32_t i = 0; i < m->status.len; i++) {
        if (m->status.v[i].status_code >= 1 && m->status.v[i].status_code <= 3)
            a->sim->totals.streams_not_ready++;
        if (m->status.v[i].status_code == STATUS_PARTITIONING)
            streams_repair(a->sim, a->group);
    }
}

static void good(struct app *a, const struct streams_group_heartbeat_response *m)
{
    bool joined = a->state == APP_JOINING, lapsed = !joined && !streams_believes(a);
    if (joined)
        sim_say(a->sim, "app=%u group=%u joined member=%s epoch=%d", a->number, a->group, a->member_id, m->member_epoch);
    a->state = APP_MEMBER;
    a->good_sent_us = a->sent_us;
    if (lapsed && streams_believes(a)) /* its time was over, but nobody minded: then nobody else has what it has */
        streams_check_owner(a, a->has.role[ACTIVE]);
    streams_check_epoch(a, m->member_epoch, a->sent_us, joined);
    a->epoch = m->member_epoch;
    if (a->confirms) {
        a->confirm_by_us = 0;
        a->confirms = false;
    }
    if (m->active_tasks.len >= 0) {
        a->doubt_until_us = 0;
        take_tasks(a, m);
    }
    look_at_status(a, m);
}

static void refused(struct app *a, const struct streams_group_heartbeat_response *m)
{
    switch (m->error_code) {
    case UNKNOWN_MEMBER_ID:
    case FENCED_MEMBER_EPOCH:
    case FENCED_INSTANCE_ID:
        a->sim->totals.streams_fenced++;
        sim_say(a->sim, "app=%u member=%s fenced error=%d", a->number, a->member_id, m->error_code);
        begin_anew(a, a->instance_id[0] != '\0' || sim_chance(a->sim, 300000));
        break;
    case UNRELEASED_INSTANCE_ID: /* it was somebody else a moment ago, whose session is not over */
        begin_anew(a, false);
        a->wait_until_us = a->sim->now_us + STREAMS_HEARTBEAT_US;
        break;
    default:
        sim_fail(a->sim, "app %u of group %u (%s): error %d: %.*s", a->number, a->group, a->member_id, m->error_code,
                 STR_ARG(m->error_message));
        break;
    }
}

static void answer_arrives(struct sim_request *r)
{
    struct app *a = r->owner;
    struct sim *sim = r->sim;
    const struct streams_group_heartbeat_response *m = r->answer;
    if (a->serial != r->serial)
        return;
    a->serial = 0;
    if (a->state == APP_LEAVING) {
        die(a);
        return;
    }
    if (request_elsewhere(m->error_code)) {
        doubt(a);
        a->node = 1 + (uint32_t)prng_below(&sim->random, sim->options.nodes);
        think_at(a, sim->now_us + sim_between(sim, 1000, 20000));
        return;
    } else if (a->stray) {
        a->stray = false;
        if (m->error_code != FENCED_MEMBER_EPOCH && m->error_code != UNKNOWN_MEMBER_ID)
            sim_fail(sim, "app %u: a heartbeat of epoch %d is answered with error %d in epoch %d", a->number, a->epoch + 1, m->error_code,
                     a->epoch);
    } else if (m->error_code == NONE) {
        good(a, m);
    } else {
        refused(a, m);
    }
    int64_t soon_us = sim->now_us + sim_between(sim, 100, 3000);
    if (!sim->failed)
        think_at(a, soon_us > a->wait_until_us ? soon_us : a->wait_until_us);
}

/* ---- what to do next ---- */

static void close_tasks(struct app *a)
{
    a->has = a->keeps;
    a->closed_at_us = 0;
    a->say_tasks = true;
    a->sim->totals.streams_moves++;
}

static int64_t next_us(const struct app *a)
{
    int64_t at = a->next_beat_us;
    at = a->closed_at_us != 0 && a->closed_at_us < at ? a->closed_at_us : at;
    return at > a->sim->now_us ? at : a->sim->now_us + 1;
}

static void act_member(struct app *a)
{
    struct sim *sim = a->sim;
    bool calm = sim->healing;
    if (!streams_believes(a) && sim_chance(sim, 500000)) { /* as often as not it has not looked at its clock */
        begin_anew(a, false);
        send_join(a);
        return;
    }
    if (a->closed_at_us != 0 && sim->now_us >= a->closed_at_us)
        close_tasks(a);
    if (a->doubt_until_us != 0 && sim->now_us >= a->doubt_until_us) { /* whoever joins is told everything */
        send_join(a);
    } else if (!calm && sim_chance(sim, 4000)) {
        die(a);
    } else if (!calm && sim_chance(sim, 4000)) {
        send_leave(a);
    } else if (!calm && sim_chance(sim, 3000)) {
        think_at(a, sim->now_us + sim_between(sim, 200000, 3500000)); /* it stands still */
    } else if (a->say_tasks || sim->now_us >= a->next_beat_us) {
        send_beat(a);
    } else {
        think_at(a, next_us(a));
    }
}

static void act(struct app *a)
{
    if (a->sim->failed)
        return;
    switch (a->state) {
    case APP_DOWN:
        begin_anew(a, true);
        send_join(a);
        break;
    case APP_JOINING:
        send_join(a);
        break;
    case APP_MEMBER:
        act_member(a);
        break;
    case APP_LEAVING: /* whether it has left is not known: it comes back as somebody new */
        die(a);
        break;
    }
}

static void think(struct sim *sim, void *arg, uint64_t tag)
{
    struct app *a = arg;
    (void)sim;
    if (a->serial == 0 && a->thinks == tag)
        act(a);
}

/* Two processes with two threads each. One thread of each group is a static member. */
void streams_start(struct sim *sim)
{
    sim->streams = calloc(1, sizeof(*sim->streams));
    MUSTER_CHECK(sim->streams != NULL);
    for (uint32_t i = 0; i < SIM_STREAMS_MEMBERS; i++) {
        struct app *a = &sim->streams->apps[i];
        a->sim = sim;
        a->number = i;
        a->group = i % SIM_STREAMS_GROUPS;
        a->node = 1 + i % sim->options.nodes;
        snprintf(a->process_id, SIM_ID_MAX, "process-%u-%u", a->group, i / SIM_STREAMS_GROUPS / 2);
        if (i / SIM_STREAMS_GROUPS == 3)
            snprintf(a->instance_id, SIM_ID_MAX, "static-%u", a->group);
        think_at(a, sim->now_us + sim_between(sim, 800000, 3000000));
    }
    streams_admin_start(sim);
    streams_giver_start(sim);
}

void streams_fini(struct sim *sim)
{
    if (sim->streams == NULL)
        return;
    streams_check_free(sim);
    free(sim->streams);
}

/* ---- after the faults ---- */

static bool group_settled(struct sim *sim, uint32_t group, char *why, size_t why_len)
{
    const struct sim_streams *s = sim->streams;
    uint64_t all = 0, expected = 0;
    int32_t epoch = -1;
    for (uint32_t i = group; i < SIM_STREAMS_MEMBERS; i += SIM_STREAMS_GROUPS) {
        const struct app *a = &s->apps[i];
        if (a->state != APP_MEMBER || a->doubt_until_us != 0 || a->closed_at_us != 0 || a->confirm_by_us != 0 ||
            (epoch >= 0 && a->epoch != epoch)) {
            snprintf(why, why_len, "app %u of streams group %u is in state %d, epoch %d (others %d)", i, group, (int)a->state, a->epoch,
                     epoch);
            return false;
        }
        epoch = a->epoch;
        all |= a->has.role[ACTIVE];
    }
    for (uint32_t sub = 0; sub < SUBS_MAX; sub++)
        expected |= (((uint64_t)1 << streams_task_count(sim, group, sub)) - 1) << (sub * TASKS_MAX);
    const struct streams_group_check *g = &s->groups[group];
    if (all != expected || strcmp(g->state, "Stable") != 0 || g->state_at_us < s->healed_at_us || g->epoch_described != epoch) {
        snprintf(why, why_len, "streams group %u in epoch %d is %s, tasks %010llx of %010llx", group, epoch, g->state,
                 (unsigned long long)all, (unsigned long long)expected);
        return false;
    }
    return true;
}

bool streams_settled(struct sim *sim, char *why, size_t why_len)
{
    struct sim_streams *s = sim->streams;
    if (!streams_admin_idle(sim)) {
        snprintf(why, why_len, "the administrator has still %zu things to do", s->chore_count);
        return false;
    }
    if (s->healed_at_us == 0)
        s->healed_at_us = sim->now_us;
    for (uint32_t group = 0; group < SIM_STREAMS_GROUPS; group++) {
        if (group_settled(sim, group, why, why_len))
            continue;
        for (uint32_t i = group; i < SIM_STREAMS_MEMBERS; i += SIM_STREAMS_GROUPS) {
            if (s->apps[i].beats_since_healed > SETTLE_BEATS)
                sim_fail(sim, "after %u heartbeats of app %u without faults: %s", s->apps[i].beats_since_healed, i, why);
        }
        return false;
    }
    return true;
}
