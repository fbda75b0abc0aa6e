#include "streams_random.h"
#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "streams/draft.h"

static const char group_name[] = "app";

static uint64_t below(struct streams_random *r, uint64_t bound)
{
    return prng_below(&r->prng, bound);
}

/* ---- tasks as bits: 0:0 to 0:7 are the lower eight, 1:0 to 1:7 the upper ------------------------------------------------------ */

static uint32_t bit_of(struct str subtopology, int32_t partition)
{
    assert_true(subtopology.len == 1 && partition >= 0 && partition < STREAMS_TASKS / 2);
    return 1u << ((subtopology.ptr[0] - '0') * (STREAMS_TASKS / 2) + partition);
}

static uint32_t bits_of_units(struct units units)
{
    uint32_t bits = 0;
    for (int32_t i = 0; i < units.len; i++) {
        bits |= bit_of(units.v[i].name, units.v[i].partition);
    }
    return bits;
}

static uint32_t bits_of_answer(const struct streams_group_heartbeat_response_task_ids_array *tasks)
{
    uint32_t bits = 0;
    for (int32_t i = 0; i < tasks->len; i++) {
        for (int32_t k = 0; k < tasks->v[i].partitions.len; k++) {
            bits |= bit_of(tasks->v[i].subtopology_id, tasks->v[i].partitions.v[k]);
        }
    }
    return bits;
}

static struct streams_group_heartbeat_request_task_ids_array request_tasks(struct world_request *q, uint32_t bits)
{
    enum { EACH = STREAMS_TASKS / 2 };
    struct streams_group_heartbeat_request_task_ids_array all = {
        .v = ARENA_NEW(&q->arena, struct streams_group_heartbeat_request_task_ids, 2)};
    for (int s = 0; s < 2; s++) {
        struct int32_array partitions = {.v = ARENA_NEW(&q->arena, int32_t, EACH)};
        for (int p = 0; p < EACH; p++) {
            if ((bits >> (s * EACH + p) & 1) != 0) {
                partitions.v[partitions.len++] = p;
            }
        }
        if (partitions.len > 0) {
            all.v[all.len++] =
                (struct streams_group_heartbeat_request_task_ids){.subtopology_id = s == 0 ? STR("0") : STR("1"), .partitions = partitions};
        }
    }
    return all;
}

/* ---- answers ---------------------------------------------------------------------------------------------------------------------- */

static void forget(struct streams_client *c)
{
    c->epoch = 0;
    c->working = 0;
    memset(c->has, 0, sizeof c->has);
    c->owes = false;
}

static void take_tasks(struct streams_random *r, struct streams_client *c, const struct streams_group_heartbeat_response *answer)
{
    uint32_t now = bits_of_answer(&answer->active_tasks);
    c->owes = (c->working & ~now) != 0 || (c->has[1] & ~bits_of_answer(&answer->standby_tasks)) != 0;
    r->given += (now & ~c->working) != 0 ? 1 : 0;
    c->working |= now;
    c->has[0] = now;
    c->has[1] = bits_of_answer(&answer->standby_tasks);
    c->has[2] = bits_of_answer(&answer->warmup_tasks);
}

static void on_answer(void *ctx, const struct world_request *request, const struct group_out *out)
{
    struct streams_random *r = ctx;
    if (request->op.kind != GROUP_STREAMS_HEARTBEAT) {
        return;
    }
    const struct streams_group_heartbeat_request *q = request->op.request;
    const struct streams_group_heartbeat_response *answer = out->answer;
    struct streams_client *c = (struct streams_client *)(uintptr_t)request->tag;
    r->answers++;
    if (r->lossy && below(r, 12) == 0) {
        r->lost++;
        return;
    }
    if (answer->error_code != 0) {
        forget(c);
        return;
    }
    if (q->member_epoch < 0) {
        return;
    }
    c->owes = c->owes && (q->active_tasks.len < 0 || q->member_epoch == 0);
    c->epoch = answer->member_epoch;
    if (answer->active_tasks.len >= 0) {
        take_tasks(r, c, answer);
    }
}

/* ---- life --------------------------------------------------------------------------------------------------------------------------- */

void streams_random_init(struct streams_random *r, uint64_t seed)
{
    static const int32_t intervals[] = {0, 0, 300, 1000};
    static const int32_t delays[] = {0, 0, 1000, 3000};
    memset(r, 0, sizeof *r);
    prng_seed(&r->prng, seed);
    struct world_events events = {.ctx = r, .answer = on_answer};
    world_init(&r->world, &events);
    r->world.settings.streams.assignment_interval_ms = intervals[below(r, 4)];
    r->world.settings.streams.initial_rebalance_delay_ms = delays[below(r, 4)];
    r->world.settings.streams.num_standby_replicas = (int32_t)below(r, 3);
    r->lossy = below(r, 2) == 0;
    world_topic_set(&r->world, "in", (int32_t)(1 + below(r, 8)));
    world_topic_set(&r->world, "in2", (int32_t)(1 + below(r, 8)));
}

void streams_random_fini(struct streams_random *r)
{
    group_job_free(r->job);
    world_fini(&r->world);
}

static int number_of(const struct streams_random *r, const struct streams_client *c)
{
    return (int)(c - r->client);
}

static struct world_request *request_new(struct streams_random *r, struct streams_client *c, int32_t epoch)
{
    struct world_request *q = world_request_new("s");
    struct streams_group_heartbeat_request *h = ARENA_NEW(&q->arena, struct streams_group_heartbeat_request, 1);
    int n = number_of(r, c);
    wire_init(&wire_streams_group_heartbeat_request, h);
    q->tag = c;
    q->op.kind = GROUP_STREAMS_HEARTBEAT;
    q->op.api_version = (int16_t)below(r, 2);
    q->op.group_id = STR(group_name);
    q->op.caller = (struct group_caller){.client_id = arena_printf(&q->arena, "c%d", n), .host = STR("/127.0.0.1")};
    h->group_id = q->op.group_id;
    h->member_epoch = epoch;
    h->member_id = arena_str(&q->arena, str_of(c->member_id));
    h->instance_id = n >= STREAMS_STATIC ? arena_printf(&q->arena, "i%d", n) : STR_NULL;
    h->endpoint_information_epoch = (int32_t)below(r, 3) - 1;
    q->op.request = h;
    return q;
}

static struct streams_group_heartbeat_request *body(struct world_request *q)
{
    return (struct streams_group_heartbeat_request *)(uintptr_t)q->op.request;
}

/* 0 reads in, is stateless, and writes rp; 1 reads in2 and rp's like, and keeps state. */
static void set_topology(struct world_request *q)
{
    struct streams_group_heartbeat_request_topology *t = ARENA_NEW(&q->arena, struct streams_group_heartbeat_request_topology, 1);
    struct streams_group_heartbeat_request_subtopology *s = ARENA_NEW(&q->arena, struct streams_group_heartbeat_request_subtopology, 2);
    struct str *names = ARENA_NEW(&q->arena, struct str, 2);
    names[0] = STR("in");
    names[1] = STR("in2");
    t->subtopologies.v = s;
    t->subtopologies.len = 2;
    for (int i = 0; i < 2; i++) {
        s[i].subtopology_id = i == 0 ? STR("0") : STR("1");
        s[i].source_topics = (struct str_array){&names[i], 1};
    }
    struct streams_group_heartbeat_request_topic_info *changelog =
        ARENA_NEW(&q->arena, struct streams_group_heartbeat_request_topic_info, 1);
    changelog->name = STR("cl");
    s[1].state_changelog_topics.v = changelog;
    s[1].state_changelog_topics.len = 1;
    body(q)->topology = t;
}

/* Two clients of each process, so that there are members that share one. */
static struct str process_of(struct world_request *q, int client)
{
    return arena_printf(&q->arena, "p%d", client / 2);
}

static struct world_request *join_request(struct streams_random *r, struct streams_client *c)
{
    int n = number_of(r, c);
    bool anew = c->member_id[0] == '\0' || c->dead || (n >= STREAMS_STATIC && below(r, 2) == 0);
    forget(c);
    c->dead = c->away = false;
    if (anew) {
        snprintf(c->member_id, sizeof c->member_id, "m%d-%d", n, c->lives++);
    }
    struct world_request *q = request_new(r, c, 0);
    struct streams_group_heartbeat_request *h = body(q);
    h->rebalance_timeout_ms = (int32_t)(500 + below(r, 4) * 1000);
    h->process_id = process_of(q, n);
    h->active_tasks.len = h->standby_tasks.len = h->warmup_tasks.len = 0;
    if (n % 3 == 0) {
        h->user_endpoint = ARENA_NEW(&q->arena, struct streams_group_heartbeat_request_endpoint, 1);
        h->user_endpoint->host = STR("h");
        h->user_endpoint->port = (uint16_t)n;
    }
    set_topology(q);
    return q;
}

/* It stops working on what it was not given before it says so. */
static void say_tasks(struct world_request *q, struct streams_client *c)
{
    c->working = c->has[0];
    body(q)->active_tasks = request_tasks(q, c->has[0]);
    body(q)->standby_tasks = request_tasks(q, c->has[1]);
    body(q)->warmup_tasks = request_tasks(q, c->has[2]);
}

struct world_request *streams_random_request(struct streams_random *r, int client)
{
    struct streams_client *c = &r->client[client];
    if (c->epoch == 0 || c->dead || c->away) {
        return join_request(r, c);
    }
    struct world_request *q = request_new(r, c, c->epoch);
    if (c->owes || below(r, 4) == 0) {
        say_tasks(q, c);
    }
    return q;
}

void streams_random_beat(struct streams_random *r, int client)
{
    world_submit(&r->world, streams_random_request(r, client));
}

static void leave(struct streams_random *r, struct streams_client *c)
{
    bool is_static = number_of(r, c) >= STREAMS_STATIC && below(r, 2) == 0;
    struct world_request *q = request_new(r, c, is_static ? -2 : -1);
    forget(c);
    c->away = true;
    world_submit(&r->world, q);
}

static void change_member(struct streams_random *r, struct streams_client *c)
{
    if (c->epoch == 0 || c->dead || c->away) {
        return;
    }
    struct world_request *q = request_new(r, c, c->epoch);
    body(q)->rebalance_timeout_ms = (int32_t)(500 + below(r, 4) * 1000);
    body(q)->shutdown_application = below(r, 20) == 0;
    world_submit(&r->world, q);
}

static void change_topics(struct streams_random *r)
{
    static const char *const names[] = {"in", "in2", "cl"};
    world_topic_set(&r->world, names[below(r, 3)], (int32_t)below(r, 9));
    struct group_op op = {.kind = GROUP_TOPICS_CHANGED, .api_key = -1, .group_id = STR(group_name)};
    world_run(&r->world, &op);
}

/* The changelog, as it has to be. */
static void make_topics(struct streams_random *r)
{
    const struct topics *topics = &r->world.topics;
    struct topic_view view;
    if (topics->by_name(topics->ctx, STR("in2"), &view)) {
        world_topic_set(&r->world, "cl", 0);
        world_topic_set(&r->world, "cl", view.partitions);
    }
    struct group_op op = {.kind = GROUP_TOPICS_CHANGED, .api_key = -1, .group_id = STR(group_name)};
    world_run(&r->world, &op);
}

static void run_job(struct streams_random *r)
{
    if (r->job == NULL) {
        r->job = world_job(&r->world, STR(group_name), GROUP_JOB_ASSIGN);
        return;
    }
    struct group_op op = {.kind = GROUP_JOB_DONE, .api_key = -1, .group_id = STR(group_name), .job = r->job};
    world_run(&r->world, &op);
    group_job_free(r->job);
    r->job = NULL;
}

void streams_random_step(struct streams_random *r)
{
    int client = (int)below(r, STREAMS_CLIENTS);
    struct streams_client *c = &r->client[client];
    uint64_t what = below(r, 1000);
    if (what < 550) {
        streams_random_beat(r, client);
    } else if (what < 800) {
        world_tick(&r->world, (int64_t)below(r, 700));
    } else if (what < 850) {
        leave(r, c);
    } else if (what < 870) {
        c->dead = true;
    } else if (what < 900) {
        change_member(r, c);
    } else if (what < 920) {
        change_topics(r);
    } else if (what < 945) {
        make_topics(r);
    } else if (what < 975) {
        run_job(r);
    } else {
        world_failover(&r->world);
    }
}

/* ---- what must hold -------------------------------------------------------------------------------------------------------------------- */

static const struct modern *state(const struct streams_random *r)
{
    const struct group *g = group_find(r->world.set, STR(group_name));
    return g == NULL || group_type(g) != GROUP_STREAMS ? NULL : g->streams;
}

/* An active task is at one member, told to give it up or not; a process has a task in one kind. */
static void check_owners(const struct modern *s)
{
    for (int32_t i = 0; i < s->slot_count; i++) {
        struct member_position a = modern_position(&s->slots[i]);
        for (int32_t k = i + 1; k < s->slot_count; k++) {
            struct member_position b = modern_position(&s->slots[k]);
            uint32_t first = bits_of_units(a.assigned.kind[0]) | bits_of_units(a.revoking.kind[0]);
            uint32_t second = bits_of_units(b.assigned.kind[0]) | bits_of_units(b.revoking.kind[0]);
            assert_int_equal(first & second, 0);
            if (str_eq(s->slots[i].member->process_id, s->slots[k].member->process_id)) {
                assert_int_equal((first | bits_of_units(a.assigned.kind[1])) & bits_of_units(b.assigned.kind[1]), 0);
                assert_int_equal((second | bits_of_units(b.assigned.kind[1])) & bits_of_units(a.assigned.kind[1]), 0);
            }
        }
    }
}

static void check_slot(const struct modern *s, const struct modern_slot *slot)
{
    struct member_position p = modern_position(slot);
    assert_non_null(slot->member);
    assert_non_null(slot->current);
    assert_true(p.epoch <= assignment_epoch(s) && (p.epoch > 0 || p.epoch == -2));
    assert_true(p.state == MEMBER_UNREVOKED || holding_count(&p.revoking) == 0);
    assert_false(holding_meet(&p.assigned, &p.revoking));
}

/* What members work on, as they know it: those that are still members. */
static void check_work(const struct streams_random *r, const struct modern *s)
{
    uint32_t all = 0;
    for (int i = 0; i < STREAMS_CLIENTS; i++) {
        const struct streams_client *c = &r->client[i];
        if (c->epoch > 0 && !c->dead && modern_find(s, str_of(c->member_id)) != NULL) {
            assert_int_equal(all & c->working, 0);
            all |= c->working;
        }
    }
}

void streams_random_check(struct streams_random *r)
{
    const struct modern *s = state(r);
    struct group_set_counts counts;
    group_set_counts(r->world.set, &counts);
    if (s == NULL) {
        assert_int_equal(counts.members, 0);
        return;
    }
    assert_int_equal(counts.members, s->member_count);
    assert_int_equal(s->slot_count, s->member_count);
    assert_true(s->epoch >= r->group_epoch);
    assert_true(assignment_epoch(s) <= s->epoch);
    assert_true((s->empty_since_ms < 0) == (s->member_count > 0));
    r->group_epoch = s->epoch;
    for (int32_t i = 0; i < s->slot_count; i++) {
        check_slot(s, &s->slots[i]);
    }
    check_owners(s);
    check_work(r, s);
}

static uint32_t tasks_of_topic(const struct streams_random *r, struct str topic, int subtopology)
{
    struct topic_view view;
    const struct topics *topics = &r->world.topics;
    int32_t count = topics->by_name(topics->ctx, topic, &view) ? view.partitions : 0;
    return ((1u << count) - 1) << (subtopology * STREAMS_TASKS / 2);
}

bool streams_random_settled(const struct streams_random *r)
{
    const struct modern *s = state(r);
    uint32_t all = 0, needed = 0;
    bool settled = s != NULL && s->epoch == assignment_epoch(s);
    for (int32_t i = 0; settled && i < s->slot_count; i++) {
        struct member_position p = modern_position(&s->slots[i]);
        struct holding target = modern_target(&s->slots[i]);
        settled = p.epoch == s->epoch && p.state == MEMBER_STABLE && holding_equal(&p.assigned, &target);
        all |= bits_of_units(p.assigned.kind[0]);
    }
    if (settled && s->problem == TOPOLOGY_FINE) {
        needed = tasks_of_topic(r, STR("in"), 0) | tasks_of_topic(r, STR("in2"), 1);
    }
    for (int i = 0; settled && i < STREAMS_CLIENTS; i++) {
        const struct modern_slot *slot = modern_find(s, str_of(r->client[i].member_id));
        settled = slot == NULL || r->client[i].working == bits_of_units(modern_position(slot).assigned.kind[0]);
    }
    return settled && all == needed;
}
