/* log_streams_test.c: a streams group in a log: its records as lines, and what they make of the group. */
#include "run.h"

#include "made.h"

#include <jansson.h>

/* Entry 3: a joins group s alone and has both tasks; 4: b joins, a is to give one up; 5: group t has no topology. */
enum { LAST = 5 };

struct story {
    struct made made;
    char dir[32];
};

/* ---- records ---- */

static struct record group_record(struct story *s, const char *group, int32_t epoch, int8_t problem)
{
    struct streams_group_metadata_key key = {.group_id = str_of(group)};
    struct streams_group_metadata_value v;
    wire_init(&wire_streams_group_metadata_value, &v);
    v.epoch = epoch;
    v.topology_problem = problem;
    v.topology_problem_detail = problem < 0 ? STR_NULL : STR("Source topics in are missing.");
    return wire_record_encode(RECORD_STREAMS_GROUP_METADATA, &key, 0, &v, &s->made.arena);
}

static struct record assignment_record(struct story *s, const char *group, int32_t epoch)
{
    struct streams_group_target_assignment_metadata_key key = {.group_id = str_of(group)};
    struct streams_group_target_assignment_metadata_value v = {.assignment_epoch = epoch,
                                                               .assignment_timestamp = 1790000000000,
                                                               .assignment_clock_ms = 4711};
    return wire_record_encode(RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA, &key, 0, &v, &s->made.arena);
}

static struct record topology_record(struct story *s, const char *group)
{
    struct streams_group_topology_key key = {.group_id = str_of(group)};
    struct streams_group_topology_value_subtopology sub;
    struct streams_group_topology_value v;
    struct str in = STR("in");
    wire_init_type(wire_streams_group_topology_value.type->fields[1].type, &sub);
    wire_init(&wire_streams_group_topology_value, &v);
    sub.subtopology_id = STR("0");
    sub.source_topics = (struct str_array){&in, 1};
    v.epoch = 1;
    v.subtopologies.v = &sub;
    v.subtopologies.len = 1;
    v.topology_id = STR("h-12");
    return wire_record_encode(RECORD_STREAMS_GROUP_TOPOLOGY, &key, 0, &v, &s->made.arena);
}

static struct record member_record(struct story *s, const char *group, const char *member)
{
    struct streams_group_member_metadata_key key = {.group_id = str_of(group), .member_id = str_of(member)};
    struct streams_group_member_metadata_value v;
    wire_init(&wire_streams_group_member_metadata_value, &v);
    v.instance_id = STR_NULL;
    v.rack_id = STR_NULL;
    v.process_id = STR("p-1");
    v.topology_epoch = 1;
    return wire_record_encode(RECORD_STREAMS_GROUP_MEMBER_METADATA, &key, 0, &v, &s->made.arena);
}

static struct record target_record(struct story *s, const char *member, int32_t first, int32_t count)
{
    struct streams_group_target_assignment_member_key key = {.group_id = STR("s"), .member_id = str_of(member)};
    int32_t partitions[] = {0, 1, 2, 3};
    struct streams_group_target_assignment_member_value_task_ids ids = {STR("0"), {partitions + first, count}};
    struct streams_group_target_assignment_member_value v = {.active_tasks = {&ids, 1}};
    return wire_record_encode(RECORD_STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER, &key, 0, &v, &s->made.arena);
}

static struct record current_record(struct story *s, const char *member, int32_t epoch, int8_t state, int32_t tasks, int32_t revoking)
{
    struct streams_group_current_member_assignment_key key = {.group_id = STR("s"), .member_id = str_of(member)};
    int32_t partitions[] = {0, 1}, epochs[] = {2, 2};
    struct streams_group_current_member_assignment_value_task_ids has = {STR("0"), {partitions, tasks}, {epochs, tasks}};
    struct streams_group_current_member_assignment_value_task_ids gives = {STR("0"), {partitions + tasks, revoking}, {epochs, revoking}};
    struct streams_group_current_member_assignment_value v = {.member_epoch = epoch,
                                                              .previous_member_epoch = epoch - 1,
                                                              .state = state,
                                                              .active_tasks = {&has, tasks > 0},
                                                              .active_tasks_pending_revocation = {&gives, revoking > 0}};
    return wire_record_encode(RECORD_STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT, &key, 0, &v, &s->made.arena);
}

/* ---- the folder ---- */

static int setup(void **state)
{
    struct story *s = calloc(1, sizeof(*s));
    struct made_change e;
    assert_non_null(s);
    made_init(&s->made);
    made_write(&s->made, (struct store_record){.kind = STORE_TERM, .shard = 1, .term = 1, .vote = 1});
    for (uint64_t index = 1; index <= 2; index++) {
        made_write(&s->made, made_entry(&s->made.arena, 1, index, 1));
    }
    made_change_init(&e, API_KEY_STREAMS_GROUP_HEARTBEAT, "streams: join", "s", 0);
    made_change_add(&e, member_record(s, "s", "a"));
    made_change_add(&e, topology_record(s, "s"));
    made_change_add(&e, group_record(s, "s", 2, -1));
    made_change_add(&e, target_record(s, "a", 0, 2));
    made_change_add(&e, assignment_record(s, "s", 2));
    made_change_add(&e, current_record(s, "a", 2, 1, 2, 0));
    made_change_write(&s->made, &e, 3);
    made_change_init(&e, API_KEY_STREAMS_GROUP_HEARTBEAT, "streams: join", "s", 1);
    made_change_add(&e, member_record(s, "s", "b"));
    made_change_add(&e, group_record(s, "s", 3, -1));
    made_change_add(&e, target_record(s, "a", 0, 1));
    made_change_add(&e, target_record(s, "b", 1, 1));
    made_change_add(&e, assignment_record(s, "s", 3));
    made_change_add(&e, current_record(s, "b", 3, 3, 0, 0));
    made_change_add(&e, current_record(s, "a", 2, 2, 1, 1));
    made_change_write(&s->made, &e, 4);
    made_change_init(&e, API_KEY_STREAMS_GROUP_HEARTBEAT, "streams: join", "t", 0);
    made_change_add(&e, group_record(s, "t", 1, 1));
    made_change_write(&s->made, &e, LAST);
    made_folder(&s->made, s->dir);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct story *s = *state;
    made_folder_remove(s->dir);
    made_fini(&s->made);
    free(s);
    return 0;
}

/* ---- tests ---- */

static void dump_shows_tasks_and_states_in_words(void **state)
{
    struct story *s = *state;
    struct run r = run_cli("log", "dump", "--data", s->dir, NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "StreamsGroupMetadata GroupId=s : Epoch=2 <- StreamsGroupHeartbeat v0 app-1 /127.0.0.1\n"));
    assert_non_null(strstr(r.out, "StreamsGroupMetadata GroupId=t : Epoch=1 TopologyProblem=MissingSourceTopics "
                                  "TopologyProblemDetail=\"Source topics in are missing.\""));
    assert_non_null(strstr(r.out, "StreamsGroupTargetAssignmentMember GroupId=s MemberId=a : ActiveTasks=0[0,1] <-"));
    assert_non_null(strstr(r.out, "StreamsGroupCurrentMemberAssignment GroupId=s MemberId=a : MemberEpoch=2 PreviousMemberEpoch=1 "
                                  "State=UnrevokedTasks ActiveTasks=0[0@2] ActiveTasksPendingRevocation=0[1@2] <-"));
    assert_non_null(strstr(r.out, "StreamsGroupTopology GroupId=s : Epoch=1 Subtopologies=[SubtopologyId=0 SourceTopics=[in] "));
    assert_non_null(strstr(r.out, "TopologyId=h-12"));
    run_fini(&r);
}

static void state_shows_the_group_in_front_of_its_records(void **state)
{
    struct story *s = *state;
    assert_columns_told(run_cli("log", "state", "--data", s->dir, "--group", "s", NULL), "log", "state");
    struct run r = run_cli("log", "state", "--data", s->dir, "--group", "s", NULL);
    assert_int_equal(r.code, CLI_OK);
    const char *head = strstr(r.out, "Streams group s: Reconciling, epoch 3, assignment epoch 3, topology h-12 of epoch 1\n");
    assert_non_null(head);
    assert_true(head < strstr(r.out, "StreamsGroupMetadata GroupId=s"));
    assert_non_null(
        strstr(r.out, "MEMBER-ID  GROUP-INSTANCE-ID  PROCESS-ID  EPOCH  TOPOLOGY-EPOCH  STATE            TASKS  GIVING-UP  TARGET\n"));
    assert_non_null(
        strstr(r.out, "\na                          -  p-1             2               1  UnrevokedTasks   0[0]   0[1]       0[0]\n"));
    assert_non_null(
        strstr(r.out, "\nb                          -  p-1             3               1  UnreleasedTasks  -      -          0[1]\n"));
    assert_null(strstr(r.out, "group t"));
    run_fini(&r);
    r = run_cli("log", "state", "--data", s->dir, "--group", "s", "--at", "3", NULL);
    assert_non_null(strstr(r.out, "Streams group s: Stable, epoch 2, assignment epoch 2, topology h-12 of epoch 1\n"));
    run_fini(&r);
    r = run_cli("log", "state", "--data", s->dir, "--group", "t", NULL);
    assert_non_null(
        strstr(r.out, "Streams group t: Initializing, epoch 1, assignment epoch 0, no topology, MissingSourceTopics: Source topics in are "
                      "missing.\n"));
    run_fini(&r);
    r = run_cli("log", "state", "--data", s->dir, "--type", "StreamsGroupMetadata", NULL); /* records were asked for, not groups */
    assert_int_equal(lines_of(r.out), 2);
    run_fini(&r);
}

static void state_shows_the_group_as_json(void **state)
{
    struct story *s = *state;
    struct run r = run_cli("log", "state", "--data", s->dir, "--group", "s", "--json", NULL);
    assert_int_equal(r.code, CLI_OK);
    int groups = 0, records = 0;
    char *rest = r.out;
    for (char *line = strsep(&rest, "\n"); rest != NULL; line = strsep(&rest, "\n")) {
        json_t *object = json_loads(line, 0, NULL);
        assert_non_null(object);
        records += json_object_get(object, "record") != NULL ? 1 : 0;
        json_t *group = json_object_get(object, "streamsGroup");
        if (group != NULL) {
            groups++;
            assert_int_equal(records, 1); /* only its revision came before */
            assert_string_equal(json_string_value(json_object_get(group, "state")), "Reconciling");
            assert_string_equal(json_string_value(json_object_get(group, "topologyId")), "h-12");
            assert_int_equal(json_integer_value(json_object_get(group, "epoch")), 3);
            assert_true(json_is_null(json_object_get(group, "problem")));
            json_t *a = json_array_get(json_object_get(group, "members"), 0);
            assert_string_equal(json_string_value(json_object_get(a, "memberId")), "a");
            json_t *giving = json_array_get(json_object_get(json_object_get(a, "givingUp"), "active"), 0);
            assert_string_equal(json_string_value(json_object_get(giving, "subtopologyId")), "0");
            assert_int_equal(json_integer_value(json_array_get(json_object_get(giving, "partitions"), 0)), 1);
            assert_int_equal(json_array_size(json_object_get(json_object_get(a, "tasks"), "standby")), 0);
        }
        json_decref(object);
    }
    assert_int_equal(groups, 1);
    assert_int_equal(records, 1 + 3 + 3 + 3);
    run_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(dump_shows_tasks_and_states_in_words, setup, teardown),
        cmocka_unit_test_setup_teardown(state_shows_the_group_in_front_of_its_records, setup, teardown),
        cmocka_unit_test_setup_teardown(state_shows_the_group_as_json, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
