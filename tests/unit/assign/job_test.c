/* job_test.c: groups in the assignor's numbers and back, within a decision and as a job that no longer needs the state it was made from. */
#include "tests.h"

#include <string.h>

#include "../../lib/group_world.h"
#include "modern/job.h"
#include "streams/job.h"

/* ---- views made by hand ------------------------------------------------------------------------------------------------------------ */

enum { MEMBERS = 6 };
struct scene {
    struct arena arena;
    struct resolved_subtopology subtopologies[2];
    struct resolved resolved;
    struct streams_configs configs;
    struct assign_view_member members[MEMBERS];
    struct assign_view view;
    struct assign_result result;
};

static void scene_init(struct scene *s)
{
    memset(s, 0, sizeof(*s));
    arena_init(&s->arena, 0);
    s->subtopologies[0] = (struct resolved_subtopology){.id = STR("0"), .tasks = 4, .stateful = true};
    s->subtopologies[1] = (struct resolved_subtopology){.id = STR("1"), .tasks = 2};
    s->resolved = (struct resolved){.problem = TOPOLOGY_FINE, .subtopologies = s->subtopologies, .subtopology_count = 2};
    s->configs.acceptable_recovery_lag = 10;
    s->configs.num_warmup_replicas = 2;
    s->view = (struct assign_view){.resolved = &s->resolved, .configs = &s->configs, .members = s->members};
}

static struct assign_view_member *scene_join(struct scene *s, const char *id, const char *process)
{
    struct assign_view_member *m = &s->members[s->view.member_count++];
    m->member_id = str_of(id);
    m->process_id = str_of(process);
    return m;
}

static void give(struct scene *s, struct units *to, const char *subtopology, int32_t partition)
{
    struct unit_list list;
    unit_list_init(&list, &s->arena);
    for (int32_t i = 0; i < to->len; i++) {
        unit_list_add(&list, to->v[i].name, to->v[i].partition, 0);
    }
    unit_list_add(&list, str_of(subtopology), partition, 7);
    *to = unit_list_finish(&list);
}

static const struct holding *target(const struct scene *s, const char *id)
{
    for (int32_t i = 0; i < s->result.count; i++) {
        if (str_eq(s->result.members[i].member_id, str_of(id))) {
            return &s->result.members[i].target;
        }
    }
    fail_msg("%s is not among the members", id);
    return NULL;
}

static bool receives(const struct scene *s, const char *id, enum unit_kind kind, const char *subtopology, int32_t partition)
{
    return units_find(target(s, id)->kind[kind], str_of(subtopology), partition) != NULL;
}

static void assign(struct scene *s)
{
    streams_assign(&s->view, &s->arena, &s->result);
    assert_int_equal(s->result.count, s->view.member_count);
}

static void test_names_and_numbers(void **state)
{
    (void)state;
    struct scene s;
    scene_init(&s);
    struct assign_view_member *a = scene_join(&s, "a", "p");
    scene_join(&s, "b", "q");
    give(&s, &a->current.kind[UNITS_ACTIVE], "0", 3);
    give(&s, &a->current.kind[UNITS_ACTIVE], "1", 1);
    give(&s, &a->current.kind[UNITS_ACTIVE], "1", 2);    /* no longer there */
    give(&s, &a->current.kind[UNITS_ACTIVE], "gone", 0); /* nor that */
    give(&s, &a->current.kind[UNITS_STANDBY], "", 0);
    assign(&s);
    assert_true(receives(&s, "a", UNITS_ACTIVE, "0", 3));
    assert_true(receives(&s, "a", UNITS_ACTIVE, "1", 1));
    const struct units *mine = &target(&s, "a")->kind[UNITS_ACTIVE], *others = &target(&s, "b")->kind[UNITS_ACTIVE];
    assert_int_equal(mine->len, 3);
    assert_int_equal(others->len, 3);
    for (int32_t i = 1; i < 3; i++) {
        assert_true(unit_cmp(&mine->v[i - 1], &mine->v[i]) < 0);
    }
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(mine->v[i].epoch, 0);
    }
    s.resolved.problem = TOPOLOGY_MISSING_INTERNAL; /* it cannot run: nobody gets anything */
    assign(&s);
    assert_int_equal(holding_count(target(&s, "a")) + holding_count(target(&s, "b")), 0);
    arena_fini(&s.arena);
}

static void test_processes(void **state)
{
    (void)state;
    struct scene s;
    scene_init(&s);
    s.configs.num_standby_replicas = 2;
    scene_join(&s, "a", "");
    struct assign_view_member *b = scene_join(&s, "b", "");
    b->process_id = STR_NULL; /* the same as an empty one */
    assign(&s);
    assert_int_equal(target(&s, "a")->kind[UNITS_STANDBY].len + target(&s, "b")->kind[UNITS_STANDBY].len, 0);
    scene_join(&s, "c", "r");
    assign(&s);
    for (int32_t p = 0; p < 4; p++) { /* the other process has a copy of each */
        assert_true(receives(&s, "c", UNITS_ACTIVE, "0", p) != receives(&s, "c", UNITS_STANDBY, "0", p));
    }
    s.members[2].idle = true;
    assign(&s);
    assert_int_equal(holding_count(target(&s, "c")), 0);
    arena_fini(&s.arena);
}

static void test_tags(void **state)
{
    (void)state;
    static const struct key_value zones[][1] = {{{{"zone", 4}, {"x", 1}}}, {{{"zone", 4}, {"y", 1}}}};
    struct str keys[] = {STR("zone"), STR("rack")};
    struct scene s;
    scene_init(&s);
    s.configs.num_standby_replicas = 1;
    s.configs.tags = (struct str_array){keys, 1};
    static const char *const ids[] = {"a", "b", "c", "d"};
    for (int32_t i = 0; i < 4; i++) {
        struct assign_view_member *m = scene_join(&s, ids[i], ids[i]);
        m->tags = zones[i / 2];
        m->tag_count = 1;
    }
    assign(&s);
    for (int32_t p = 0; p < 4; p++) {
        bool active_x = receives(&s, "a", UNITS_ACTIVE, "0", p) || receives(&s, "b", UNITS_ACTIVE, "0", p);
        bool standby_x = receives(&s, "a", UNITS_STANDBY, "0", p) || receives(&s, "b", UNITS_STANDBY, "0", p);
        assert_true(active_x != standby_x);
    }
    s.configs.tags.len = 2;
    struct str_array missing = streams_missing_tags(&s.configs, zones[0], 1, &s.arena);
    assert_int_equal(missing.len, 1);
    assert_true(str_eq(missing.v[0], STR("rack")));
    assert_int_equal(streams_missing_tags(&s.configs, NULL, 0, &s.arena).len, 2);
    arena_fini(&s.arena);
}

/* a has it all, b warms some of it up; lags are ends less offsets, whoever of a process reports them. */
static void test_lags(void **state)
{
    (void)state;
    static const struct task_offset ends[] = {{{"0", 1}, 2, 500}, {{"0", 1}, 3, 400}, {{"nothing", 7}, 3, 4}};
    static const struct task_offset far[] = {{{"0", 1}, 2, 100}, {{"0", 1}, 3, 389}, {{"0", 1}, 99, 1}, {{"0", 1}, 0, -2}};
    static const struct task_offset near[] = {{{"0", 1}, 3, 390}};
    struct scene s;
    scene_init(&s);
    s.configs.warm_up = true;
    struct assign_view_member *a = scene_join(&s, "a", "p"), *b = scene_join(&s, "b", "q");
    for (int32_t p = 0; p < 4; p++) {
        give(&s, &a->current.kind[UNITS_ACTIVE], "0", p);
    }
    a->end_offsets = ends;
    a->end_offset_count = COUNT_OF(ends);
    assert_false(streams_warm_up_done(&s.view, &s.arena));
    assign(&s);
    assert_int_equal(target(&s, "a")->kind[UNITS_ACTIVE].len, 4);
    assert_true(receives(&s, "b", UNITS_WARMUP, "0", 3));
    b->current = *target(&s, "b");
    b->offsets = far;
    b->offset_count = COUNT_OF(far);
    assert_false(streams_warm_up_done(&s.view, &s.arena)); /* 11 behind */
    assign(&s);
    assert_true(holding_equal(target(&s, "b"), &b->current));
    scene_join(&s, "c", "q");
    s.members[2].offsets = near;
    s.members[2].offset_count = 1;
    assert_true(streams_warm_up_done(&s.view, &s.arena)); /* another of the process knows better: 10 */
    assign(&s);
    assert_true(receives(&s, "b", UNITS_ACTIVE, "0", 3) || receives(&s, "c", UNITS_ACTIVE, "0", 3));
    s.configs.warm_up = false;
    assert_false(streams_warm_up_done(&s.view, &s.arena));
    arena_fini(&s.arena);
}

/* Without warm-ups a standby that has caught up is what a task can move to. */
static void test_standby_has_caught_up(void **state)
{
    (void)state;
    static const struct task_offset end[] = {{{"0", 1}, 3, 50}}, offset[] = {{{"0", 1}, 3, 45}};
    struct scene s;
    scene_init(&s);
    s.configs.warm_up = true;
    s.configs.num_warmup_replicas = 0;
    s.configs.num_standby_replicas = 1;
    struct assign_view_member *a = scene_join(&s, "a", "p"), *b = scene_join(&s, "b", "q");
    for (int32_t p = 0; p < 4; p++) {
        give(&s, &a->current.kind[UNITS_ACTIVE], "0", p);
    }
    assign(&s);
    assert_int_equal(target(&s, "a")->kind[UNITS_ACTIVE].len, 4);
    a->current = *target(&s, "a");
    b->current = *target(&s, "b");
    a->end_offsets = end;
    a->end_offset_count = 1;
    b->offsets = offset;
    b->offset_count = 1;
    assert_true(streams_warm_up_done(&s.view, &s.arena));
    assign(&s);
    assert_true(receives(&s, "b", UNITS_ACTIVE, "0", 3));
    a->current = *target(&s, "a");
    b->current = *target(&s, "b");
    assert_false(streams_warm_up_done(&s.view, &s.arena)); /* three each */
    arena_fini(&s.arena);
}

/* ---- jobs --------------------------------------------------------------------------------------------------------------------------- */

static const struct str group_id = {"g", 1};

struct job_world {
    struct world w;
    struct arena arena;
    struct record records[16];
    size_t count;
};

static void record(struct job_world *j, int16_t type, const void *key, const void *value)
{
    j->records[j->count++] = wire_record_encode(type, key, 0, value, &j->arena);
}

static void record_member(struct job_world *j, const char *id)
{
    struct streams_group_member_metadata_key key = {.group_id = group_id, .member_id = str_of(id)};
    struct streams_group_member_metadata_value value = {.instance_id = STR_NULL,
                                                        .rack_id = STR_NULL,
                                                        .client_id = STR("c"),
                                                        .client_host = STR("h"),
                                                        .topology_epoch = 3,
                                                        .process_id = str_of(id)};
    record(j, RECORD_STREAMS_GROUP_MEMBER_METADATA, &key, &value);
}

static void record_topology(struct job_world *j, const char *regex)
{
    static struct str sources[] = {{"in", 2}}, again[] = {{"x.*", 3}};
    struct str regexes[] = {STR("x.*"), STR("in|y1"), str_of(regex)};
    static struct streams_group_topology_value_topic_info changelog = {.name = {"log", 3}};
    struct streams_group_topology_value_subtopology subtopologies[] = {{.subtopology_id = STR("0"),
                                                                        .source_topics = {sources, 1},
                                                                        .state_changelog_topics = {&changelog, 1}},
                                                                       {.subtopology_id = STR("1"), .source_topic_regex = {regexes, 3}},
                                                                       {.subtopology_id = STR("2"), .source_topic_regex = {again, 1}}};
    struct streams_group_topology_key key = {.group_id = group_id};
    struct streams_group_topology_value value = {.epoch = 3, .subtopologies = {subtopologies, 3}, .topology_id = STR_NULL};
    record(j, RECORD_STREAMS_GROUP_TOPOLOGY, &key, &value);
}

static void record_regex(struct job_world *j, const char *regex, const char *topic)
{
    struct str topics[] = {str_of(topic)};
    struct streams_regular_expression_key key = {.group_id = group_id, .regular_expression = str_of(regex)};
    struct streams_regular_expression_value value = {.topics = {topics, 1}};
    record(j, RECORD_STREAMS_REGULAR_EXPRESSION, &key, &value);
}

static void apply(struct job_world *j)
{
    for (size_t i = 0; i < j->count; i++) {
        assert_true(group_apply(j->w.set, i + 1, j->records[i], &j->w.scratch));
    }
    j->count = 0;
}

/* Two members, of whom the first has four tasks; an assignment is due. regex: one more that the topology reads. */
static void job_world_init(struct job_world *j, const char *regex)
{
    static const struct world_events none = {.ctx = NULL};
    int32_t partitions[] = {0, 1, 2, 3};
    memset(j, 0, sizeof(*j));
    world_init(&j->w, &none);
    arena_init(&j->arena, 0);
    world_topic_set(&j->w, "in", 4);
    world_topic_set(&j->w, "log", 4);
    world_topic_set(&j->w, "x1", 2);
    world_topic_set(&j->w, "x2", 2);
    world_topic_set(&j->w, "y", 2);
    record_member(j, "a");
    record_member(j, "b");
    record_topology(j, regex);
    record_regex(j, "x.*", "x1");
    record_regex(j, "in|y1", "in");
    struct streams_group_metadata_key key = {.group_id = group_id};
    struct streams_group_metadata_value value = {.epoch = 5, .validated_topology_epoch = -1, .empty_since_ms = -1};
    value.shutdown_member_id = value.topology_problem_detail = value.initializing_member_id = STR_NULL;
    value.last_assignment_configs.len = -1;
    value.topology_problem = -1;
    record(j, RECORD_STREAMS_GROUP_METADATA, &key, &value);
    struct streams_group_current_member_assignment_key current_key = {.group_id = group_id, .member_id = STR("a")};
    struct streams_group_current_member_assignment_value_task_ids ids = {.subtopology_id = STR("0"),
                                                                         .partitions = {partitions, 4},
                                                                         .assignment_epochs = {NULL, -1}};
    struct streams_group_current_member_assignment_value current = {.member_epoch = 4, .state = 1, .active_tasks = {&ids, 1}};
    record(j, RECORD_STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT, &current_key, &current);
    apply(j);
}

static struct group_job *job_new(struct job_world *j, enum group_job_kind kind)
{
    struct group_op op = {.group_id = group_id, .topics = &j->w.topics, .catalog = j->w.shard0, .settings = &j->w.settings};
    return group_job_new(j->w.set, &op, kind);
}

/* Gone before the job runs. */
static void job_world_fini(struct job_world *j)
{
    world_fini(&j->w);
    arena_fini(&j->arena);
    memset(&j->w, 0xee, sizeof(j->w));
}

static void test_assign_job(void **state)
{
    (void)state;
    struct job_world j;
    job_world_init(&j, "x.*");
    struct group_job *job = job_new(&j, GROUP_JOB_ASSIGN);
    assert_non_null(job);
    job_world_fini(&j);
    group_job_run(job);
    assert_int_equal(group_job_kind(job), GROUP_JOB_ASSIGN);
    assert_true(str_eq(group_job_group(job), group_id));
    struct job_stamp stamp = job->stamp;
    assert_int_equal(stamp.epoch, 5);
    assert_int_equal(stamp.topology_epoch, 3);
    assert_int_not_equal(stamp.metadata_hash, 0);
    const struct assign_result *r = &job->assigned;
    assert_int_equal(r->count, 2);
    assert_true(str_eq(r->members[0].member_id, STR("a")));
    assert_true(str_eq(r->members[1].member_id, STR("b")));
    const struct units *a = &r->members[0].target.kind[UNITS_ACTIVE], *b = &r->members[1].target.kind[UNITS_ACTIVE];
    assert_int_equal(a->len + b->len, 4 + 4 + 2); /* "in|y1" gives the second subtopology four, "x.*" the third two */
    assert_int_equal(a->len, 5);
    for (int32_t p = 0; p < 4; p++) {
        assert_non_null(units_find(*a, STR("0"), p));
    }
    group_job_free(job);
}

static void test_resolve_job(void **state)
{
    (void)state;
    struct job_world j;
    job_world_init(&j, "([");
    struct group_job *job = job_new(&j, GROUP_JOB_RESOLVE);
    assert_non_null(job);
    job_world_fini(&j);
    group_job_run(job);
    const struct regex_table *t = &job->matches;
    assert_int_equal(t->len, 3); /* each once, in order */
    assert_true(str_eq(t->v[0].regex, STR("([")));
    assert_int_equal(t->v[0].topics.len, 0);
    assert_true(str_eq(t->v[1].regex, STR("in|y1")));
    assert_int_equal(t->v[1].topics.len, 1);
    assert_true(str_eq(t->v[1].topics.v[0], STR("in")));
    assert_true(str_eq(t->v[2].regex, STR("x.*")));
    assert_int_equal(t->v[2].topics.len, 2);
    assert_true(str_eq(t->v[2].topics.v[1], STR("x2")));
    group_job_free(job);
    group_job_free(NULL);
}

static void test_no_job(void **state)
{
    (void)state;
    struct job_world j;
    job_world_init(&j, "x.*");
    struct group_op op = {.group_id = STR("other"), .topics = &j.w.topics, .catalog = j.w.shard0, .settings = &j.w.settings};
    assert_null(group_job_new(j.w.set, &op, GROUP_JOB_ASSIGN));
    struct streams_group_target_assignment_metadata_key key = {.group_id = group_id};
    struct streams_group_target_assignment_metadata_value value = {.assignment_epoch = 5};
    record(&j, RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA, &key, &value);
    apply(&j);
    assert_null(job_new(&j, GROUP_JOB_ASSIGN)); /* not due */
    struct streams_group_topology_key topology_key = {.group_id = group_id};
    record(&j, RECORD_STREAMS_GROUP_TOPOLOGY, &topology_key, NULL);
    apply(&j);
    assert_null(job_new(&j, GROUP_JOB_RESOLVE)); /* nothing to match */
    job_world_fini(&j);
}

int run_job_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_and_numbers),
        cmocka_unit_test(test_processes),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_lags),
        cmocka_unit_test(test_assign_job),
        cmocka_unit_test(test_resolve_job),
        cmocka_unit_test(test_standby_has_caught_up),
        cmocka_unit_test(test_no_job),
    };
    return cmocka_run_group_tests_name("job", tests, NULL, NULL);
}
