/* streams_errands_test.c: streams groups with what is done outside for them: topics made, assignors run beside the loop, regular expressions matched. */
#include "group_errands.h"
#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "state.h"
#include "streams/streams.h"

enum { STATUS_MISSING_SOURCES = 1, STATUS_MISSING_INTERNAL = 3, STATUS_UNINITIALIZED_TOPOLOGY = 100 };

struct fixture {
    struct world world;
    struct errands errands;
    /* of the last answer */
    int answers;
    int16_t error;
    int32_t epoch, tasks; /* tasks -1: not told */
    int8_t status;        /* the first one's code; -1: none */
    char detail[200];
};

static int32_t count_tasks(const struct streams_group_heartbeat_response *answer)
{
    int32_t count = answer->active_tasks.len < 0 ? -1 : 0;
    for (int32_t i = 0; i < answer->active_tasks.len; i++) {
        count += answer->active_tasks.v[i].partitions.len;
    }
    return count;
}

static void on_answer(void *ctx, const struct world_request *request, const struct group_out *out)
{
    struct fixture *f = ctx;
    f->answers++;
    f->error = out->error;
    if (request->op.kind != GROUP_STREAMS_HEARTBEAT) {
        return;
    }
    const struct streams_group_heartbeat_response *answer = out->answer;
    f->epoch = answer->member_epoch;
    f->tasks = count_tasks(answer);
    f->status = answer->status.len > 0 ? answer->status.v[0].status_code : -1;
    f->detail[0] = '\0';
    if (answer->status.len > 0) {
        size_t len = (size_t)answer->status.v[0].status_detail.len;
        assert_true(len < sizeof f->detail);
        memcpy(f->detail, answer->status.v[0].status_detail.ptr, len);
        f->detail[len] = '\0';
    }
}

static int setup(void **state)
{
    struct fixture *f = test_calloc(1, sizeof *f);
    struct world_events events = {.ctx = f, .answer = on_answer};
    world_init(&f->world, &events);
    errands_init(&f->errands, &f->world);
    f->world.settings.streams.initial_rebalance_delay_ms = 0;
    f->world.settings.streams.assignment_interval_ms = 0;
    world_topic_set(&f->world, "in", 4);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    errands_fini(&f->errands);
    world_fini(&f->world);
    test_free(f);
    return 0;
}

/* ---- requests ------------------------------------------------------------------------------------------------------------------ */

static struct streams_group_heartbeat_request *heartbeat_new(struct world_request *q, const char *member, int32_t epoch)
{
    struct streams_group_heartbeat_request *h = ARENA_NEW(&q->arena, struct streams_group_heartbeat_request, 1);
    wire_init(&wire_streams_group_heartbeat_request, h);
    q->op.kind = GROUP_STREAMS_HEARTBEAT;
    q->op.group_id = STR("app");
    q->op.caller = (struct group_caller){.client_id = STR("c"), .host = STR("/127.0.0.1")};
    q->op.request = h;
    h->group_id = q->op.group_id;
    h->member_id = arena_str(&q->arena, str_of(member));
    h->member_epoch = epoch;
    return h;
}

/* One subtopology that reads a topic, or what a regular expression matches; with a changelog, or none. */
static struct world_request *join_request(const char *member, const char *source, const char *regex, const char *changelog)
{
    struct world_request *q = world_request_new(member);
    struct streams_group_heartbeat_request *h = heartbeat_new(q, member, 0);
    struct streams_group_heartbeat_request_topology *t = ARENA_NEW(&q->arena, struct streams_group_heartbeat_request_topology, 1);
    struct streams_group_heartbeat_request_subtopology *s = ARENA_NEW(&q->arena, struct streams_group_heartbeat_request_subtopology, 1);
    struct str *names = ARENA_NEW(&q->arena, struct str, 2);
    struct streams_group_heartbeat_request_topic_info *info = ARENA_NEW(&q->arena, struct streams_group_heartbeat_request_topic_info, 1);
    names[0] = str_of(source);
    names[1] = str_of(regex);
    info->name = str_of(changelog);
    s->subtopology_id = STR("0");
    s->source_topics = (struct str_array){&names[0], source != NULL};
    s->source_topic_regex = (struct str_array){&names[1], regex != NULL};
    s->state_changelog_topics.v = info;
    s->state_changelog_topics.len = changelog != NULL;
    t->subtopologies.v = s;
    t->subtopologies.len = 1;
    h->topology = t;
    h->rebalance_timeout_ms = 60000;
    h->process_id = h->member_id;
    h->active_tasks.len = h->standby_tasks.len = h->warmup_tasks.len = 0;
    return q;
}

static void join(struct fixture *f, const char *member, const char *source, const char *regex, const char *changelog)
{
    world_submit(&f->world, join_request(member, source, regex, changelog));
}

static const struct modern_slot *member(struct fixture *f, const char *id)
{
    const struct group *g = group_find(f->world.set, STR("app"));
    for (int32_t i = 0; g != NULL && g->streams != NULL && i < g->streams->slot_count; i++) {
        if (str_eq(g->streams->slots[i].member_id, str_of(id))) {
            return &g->streams->slots[i];
        }
    }
    return NULL;
}

/* At its epoch; it says that it has what it is assigned. */
static struct world_request *beat_request(struct fixture *f, const char *id)
{
    struct world_request *q = world_request_new(id);
    const struct modern_current *current = member(f, id)->current;
    struct units active = current->assigned->holding.kind[UNITS_ACTIVE];
    struct streams_group_heartbeat_request *h = heartbeat_new(q, id, current->epoch);
    struct int32_array partitions = {ARENA_NEW(&q->arena, int32_t, active.len), active.len};
    for (int32_t i = 0; i < active.len; i++) {
        partitions.v[i] = active.v[i].partition;
    }
    h->active_tasks.v = ARENA_NEW(&q->arena, struct streams_group_heartbeat_request_task_ids, 1);
    h->active_tasks.v[0] = (struct streams_group_heartbeat_request_task_ids){STR("0"), partitions};
    h->active_tasks.len = active.len > 0;
    h->standby_tasks.len = h->warmup_tasks.len = 0;
    return q;
}

static void beat(struct fixture *f, const char *id)
{
    world_submit(&f->world, beat_request(f, id));
}

static void initialize(struct fixture *f, const char *changelog)
{
    struct world_request *q = world_request_new("initialize");
    struct streams_group_initialize_request *r = ARENA_NEW(&q->arena, struct streams_group_initialize_request, 1);
    struct streams_group_initialize_request_subtopology *s = ARENA_NEW(&q->arena, struct streams_group_initialize_request_subtopology, 1);
    struct streams_group_initialize_request_topic_info *info = ARENA_NEW(&q->arena, struct streams_group_initialize_request_topic_info, 1);
    wire_init(&wire_streams_group_initialize_request, r);
    wire_init_type(wire_streams_group_initialize_request.type->fields[1].type, s);
    s->subtopology = STR("0");
    s->source_topics.v = ARENA_NEW(&q->arena, struct str, 1);
    s->source_topics.v[0] = STR("in");
    s->source_topics.len = 1;
    info->name = str_of(changelog);
    info->topic_configs.len = -1;
    s->state_changelog_topics.v = info;
    s->state_changelog_topics.len = 1;
    r->group_id = STR("app");
    r->topology.v = s;
    r->topology.len = 1;
    q->op.kind = GROUP_STREAMS_INITIALIZE;
    q->op.group_id = r->group_id;
    q->op.request = r;
    world_submit(&f->world, q);
}

static int32_t partitions_of(struct fixture *f, const char *topic)
{
    struct topic_view view;
    return f->world.topics.by_name(f->world.topics.ctx, str_of(topic), &view) ? view.partitions : 0;
}

static void assert_state(struct fixture *f, const char *state)
{
    struct group_listing listing;
    assert_true(group_listing(f->world.set, STR("app"), &listing));
    assert_true(str_eq(listing.state, str_of(state)));
    assert_true(str_eq(listing.type, STR("streams")));
}

/* ---- topics ---------------------------------------------------------------------------------------------------------------------- */

static void internal_topics_are_made_and_tasks_follow(void **state)
{
    struct fixture *f = *state;
    f->errands.hold_topics = true;
    join(f, "a", "in", NULL, "app-cl");
    errands_work(&f->errands);
    assert_int_equal(f->status, STATUS_MISSING_INTERNAL);
    assert_int_equal(f->tasks, 0);
    assert_state(f, "NotReady");
    assert_int_equal(partitions_of(f, "app-cl"), 0);
    beat(f, "a"); /* wishes for them once more, while they are being made */
    f->errands.hold_topics = false;
    errands_work(&f->errands);
    assert_true(errands_idle(&f->errands));
    assert_int_equal(f->errands.creations, 1);
    assert_int_equal(partitions_of(f, "app-cl"), 4);
    beat(f, "a");
    assert_int_equal(f->status, -1);
    assert_int_equal(f->tasks, 4);
    assert_state(f, "Stable");
}

static void a_creation_that_fails_is_told_and_tried_again(void **state)
{
    struct fixture *f = *state;
    f->errands.failure = "app-cl (no room)";
    join(f, "a", "in", NULL, "app-cl");
    errands_work(&f->errands);
    beat(f, "a");
    assert_int_equal(f->status, STATUS_MISSING_INTERNAL);
    assert_string_equal(f->detail, "Internal topics are missing: app-cl; Creation failed: app-cl (no room).");
    assert_int_equal(f->errands.creations, 1);
    f->errands.failure = NULL;
    errands_work(&f->errands); /* the heartbeat wished for them again */
    assert_int_equal(f->errands.creations, 2);
    beat(f, "a");
    assert_int_equal(f->tasks, 4);
}

static void a_topology_given_by_hand_waits_for_its_topics(void **state)
{
    struct fixture *f = *state;
    f->errands.hold_topics = true;
    initialize(f, "app-cl");
    errands_work(&f->errands);
    assert_int_equal(f->answers, 0);
    assert_true(group_find(f->world.set, STR("app")) == NULL); /* nothing is written before they are there */
    f->errands.hold_topics = false;
    errands_work(&f->errands);
    assert_int_equal(f->answers, 1);
    assert_int_equal(f->error, 0);
    assert_int_equal(partitions_of(f, "app-cl"), 4);
    assert_state(f, "Empty");
}

static void a_topology_given_by_hand_is_refused_without_its_topics(void **state)
{
    struct fixture *f = *state;
    f->errands.failure = "app-cl (no room)";
    initialize(f, "app-cl");
    errands_work(&f->errands);
    assert_int_equal(f->answers, 1);
    assert_true(f->error != 0);
    assert_true(group_find(f->world.set, STR("app")) == NULL);
    assert_true(errands_idle(&f->errands));
}

/* ---- jobs -------------------------------------------------------------------------------------------------------------------------- */

enum { MANY = 20, TASKS = 5000 }; /* more than a decision works out by itself */

static void join_many(struct fixture *f, int from, int to)
{
    for (int i = from; i < to; i++) {
        char id[16];
        snprintf(id, sizeof id, "m-%03d", i);
        join(f, id, "in", NULL, NULL);
    }
}

static void settle(struct fixture *f, int members)
{
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < members; i++) {
            char id[16];
            snprintf(id, sizeof id, "m-%03d", i);
            beat(f, id);
            errands_work(&f->errands);
        }
    }
}

static int32_t all_tasks(struct fixture *f)
{
    const struct modern *s = group_find(f->world.set, STR("app"))->streams;
    int32_t tasks = 0;
    for (int32_t i = 0; i < s->slot_count; i++) {
        tasks += s->slots[i].current->assigned->holding.kind[UNITS_ACTIVE].len;
    }
    return tasks;
}

static void large_groups_are_assigned_beside_the_loop(void **state)
{
    struct fixture *f = *state;
    f->world.check = false;
    world_topic_set(&f->world, "in", TASKS);
    f->errands.hold_jobs = true;
    join_many(f, 0, MANY);
    errands_work(&f->errands); /* the assignor runs on the group as it is now */
    assert_int_equal(f->errands.jobs, 1);
    join_many(f, MANY, MANY + 3); /* and is too late */
    f->errands.hold_jobs = false;
    errands_work(&f->errands);
    assert_int_equal(f->errands.jobs, 2);
    assert_true(errands_idle(&f->errands));
    settle(f, MANY + 3);
    assert_state(f, "Stable");
    assert_int_equal(all_tasks(f), TASKS);
}

static void a_failover_forgets_jobs_and_the_group_goes_on(void **state)
{
    struct fixture *f = *state;
    f->world.check = false;
    world_topic_set(&f->world, "in", TASKS);
    f->errands.hold_jobs = true;
    join_many(f, 0, MANY);
    errands_work(&f->errands);
    assert_int_equal(f->errands.jobs, 1);
    errands_drop(&f->errands);
    f->errands.hold_jobs = false;
    world_failover(&f->world);
    assert_true(errands_idle(&f->errands));
    settle(f, MANY);
    assert_state(f, "Stable");
    assert_int_equal(all_tasks(f), TASKS);
}

/* ---- regular expressions ------------------------------------------------------------------------------------------------------------- */

static void expressions_are_matched_and_again_when_topics_come(void **state)
{
    struct fixture *f = *state;
    join(f, "a", NULL, "in-.*", NULL);
    assert_int_equal(f->error, 0);
    assert_int_equal(f->status, STATUS_MISSING_SOURCES);
    errands_work(&f->errands); /* nothing matches */
    beat(f, "a");
    assert_int_equal(f->status, STATUS_MISSING_SOURCES);
    assert_state(f, "NotReady");
    world_topic_set(&f->world, "in-1", 3);
    world_topic_set(&f->world, "inn", 9);
    struct group_op op = {.kind = GROUP_TOPICS_CHANGED, .api_key = -1, .group_id = STR("app")};
    world_run(&f->world, &op);
    errands_work(&f->errands);
    beat(f, "a");
    assert_int_equal(f->status, -1);
    assert_int_equal(f->tasks, 3);
    world_topic_set(&f->world, "in-2", 5); /* while nobody looks: the next change tells */
    op = (struct group_op){.kind = GROUP_TOPICS_CHANGED, .api_key = -1, .group_id = STR("app")};
    f->errands.hold_jobs = true;
    world_run(&f->world, &op);
    errands_work(&f->errands);
    world_topic_set(&f->world, "in-3", 6); /* the job has not seen this one */
    f->errands.hold_jobs = false;
    int64_t jobs = f->errands.jobs;
    errands_work(&f->errands);
    assert_true(f->errands.jobs > jobs);
    beat(f, "a");
    assert_int_equal(f->tasks, 6);
}

/* ---- turns: several requests of a group, decided one after the other before anything of them is logged -------------------------------- */

enum { TURN = 6, TURNS = 300, MEMBERS = 5 };

struct turn {
    struct world_request *request[TURN];
    struct group_out out[TURN];
    int count;
};

/* A member that is unknown joins, one that is known beats, joins again or leaves; by what is known before the turn. */
static struct world_request *draw(struct fixture *f, struct prng *prng)
{
    char id[16];
    snprintf(id, sizeof id, "m-%d", (int)prng_below(prng, MEMBERS));
    const struct modern_slot *slot = member(f, id);
    uint64_t what = prng_below(prng, 8);
    if (slot == NULL || slot->current == NULL || what == 0) {
        return join_request(id, "in", NULL, NULL);
    }
    if (what == 1) {
        struct world_request *q = world_request_new(id);
        (void)heartbeat_new(q, id, -1);
        return q;
    }
    return beat_request(f, id);
}

static void fill(struct fixture *f, struct group_op *op)
{
    op->clock_ms = f->world.now_ms;
    op->topics = &f->world.topics;
    op->settings = &f->world.settings;
    op->catalog = f->world.shard0;
}

static void decide_on_overlay(struct fixture *f, struct turn *t)
{
    struct group_set *overlay = group_overlay_new(f->world.set, STR("app"));
    struct arena scratch;
    arena_init(&scratch, 0);
    for (int i = 0; i < t->count; i++) {
        fill(f, &t->request[i]->op);
        group_decide(overlay, &t->request[i]->op, &t->request[i]->arena, &t->out[i]);
        for (size_t k = 0; k < t->out[i].records.len; k++) {
            assert_true(group_apply(overlay, 0, t->out[i].records.v[k], &scratch));
        }
    }
    arena_fini(&scratch);
    group_overlay_free(overlay);
}

static void decide_one_by_one(struct fixture *f, struct turn *t)
{
    for (int i = 0; i < t->count; i++) {
        struct group_out out;
        group_decide(f->world.set, &t->request[i]->op, &t->request[i]->arena, &out);
        assert_int_equal(out.records.len, t->out[i].records.len);
        assert_int_equal(out.error, t->out[i].error);
        assert_string_equal(out.rule, t->out[i].rule);
        for (size_t k = 0; k < out.records.len; k++) {
            assert_true(bytes_eq(out.records.v[k].key, t->out[i].records.v[k].key));
            assert_true(bytes_eq(out.records.v[k].value, t->out[i].records.v[k].value));
        }
        world_apply(&f->world, out.records.v, out.records.len);
        world_request_free(t->request[i]);
    }
}

static void a_turn_on_an_overlay_decides_as_one_by_one(void **state)
{
    struct fixture *f = *state;
    struct prng prng;
    size_t records = 0, refused = 0;
    prng_seed(&prng, 7);
    for (int round = 0; round < TURNS; round++) {
        struct turn t = {.count = 1 + (int)prng_below(&prng, TURN)};
        for (int i = 0; i < t.count; i++) {
            t.request[i] = draw(f, &prng);
        }
        uint64_t hash = group_set_hash(f->world.set);
        decide_on_overlay(f, &t);
        assert_true(group_set_hash(f->world.set) == hash);
        for (int i = 0; i < t.count; i++) {
            records += t.out[i].records.len;
            refused += t.out[i].error != 0 ? 1 : 0;
        }
        decide_one_by_one(f, &t);
        f->world.now_ms += 100;
    }
    assert_true(records > TURNS * 4);
    assert_true(refused > TURNS / 20 && refused < TURNS);
}

/* ---- what only a log that somebody else wrote has ---------------------------------------------------------------------------------- */

static void apply_record(struct fixture *f, int16_t type, const void *value)
{
    struct arena arena;
    arena_init(&arena, 0);
    struct streams_group_metadata_key key = {.group_id = STR("app")}; /* the others' are the same */
    struct record record = wire_record_encode(type, &key, MODERN_VALUE_VERSION, value, &arena);
    world_apply(&f->world, &record, 1);
    arena_fini(&arena);
}

static void a_problem_without_a_topology_asks_for_no_topics(void **state)
{
    struct fixture *f = *state;
    f->errands.hold_topics = true;
    join(f, "a", "in", NULL, "app-cl");
    errands_work(&f->errands);
    apply_record(f, RECORD_STREAMS_GROUP_TOPOLOGY, NULL);
    beat(f, "a");
    assert_int_equal(f->error, 0);
    assert_int_equal(f->status, STATUS_UNINITIALIZED_TOPOLOGY);
    assert_int_equal(group_find(f->world.set, STR("app"))->streams->problem, STATUS_MISSING_INTERNAL);
}

static void join_with_endpoint(struct fixture *f, const char *member)
{
    struct world_request *q = join_request(member, "in", NULL, NULL);
    struct streams_group_heartbeat_request *h = (struct streams_group_heartbeat_request *)(uintptr_t)q->op.request;
    h->user_endpoint = ARENA_NEW(&q->arena, struct streams_group_heartbeat_request_endpoint, 1);
    h->user_endpoint->host = STR("host");
    h->user_endpoint->port = 9;
    world_submit(&f->world, q);
}

static void epochs_do_not_pass_the_largest_number(void **state)
{
    struct fixture *f = *state;
    join(f, "a", "in", NULL, NULL);
    struct arena arena;
    arena_init(&arena, 0);
    struct streams_group_metadata_value value = streams_group_value(group_find(f->world.set, STR("app"))->streams, &arena);
    value.epoch = value.endpoint_information_epoch = INT32_MAX;
    apply_record(f, RECORD_STREAMS_GROUP_METADATA, &value);
    arena_fini(&arena);
    join_with_endpoint(f, "b");
    assert_int_equal(f->error, 0);
    assert_int_equal(f->epoch, INT32_MAX);
    assert_int_equal(group_find(f->world.set, STR("app"))->streams->epoch, INT32_MAX);
    assert_int_equal(group_find(f->world.set, STR("app"))->streams->endpoint_epoch, 0);
}

int run_streams_errands_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(internal_topics_are_made_and_tasks_follow, setup, teardown),
        cmocka_unit_test_setup_teardown(a_creation_that_fails_is_told_and_tried_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_topology_given_by_hand_waits_for_its_topics, setup, teardown),
        cmocka_unit_test_setup_teardown(a_topology_given_by_hand_is_refused_without_its_topics, setup, teardown),
        cmocka_unit_test_setup_teardown(large_groups_are_assigned_beside_the_loop, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failover_forgets_jobs_and_the_group_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(expressions_are_matched_and_again_when_topics_come, setup, teardown),
        cmocka_unit_test_setup_teardown(a_turn_on_an_overlay_decides_as_one_by_one, setup, teardown),
        cmocka_unit_test_setup_teardown(a_problem_without_a_topology_asks_for_no_topics, setup, teardown),
        cmocka_unit_test_setup_teardown(epochs_do_not_pass_the_largest_number, setup, teardown),
    };
    return cmocka_run_group_tests_name("streams errands", tests, NULL, NULL);
}
