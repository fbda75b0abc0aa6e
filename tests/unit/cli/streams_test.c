/* streams_test.c: topologies as JSON, there and back; what is wrong with a file; how a streams group is shown. */
#include "run.h"

#include <unistd.h>

#include "streams_view.h"
#include "topology_file.h"

/* ---- files ---- */

struct parsed {
    struct cli cli;
    struct run run;
    struct streams_group_initialize_request request;
};

static void parse(struct parsed *p, const char *text)
{
    char path[] = "/tmp/muster-topology-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    cli_begin(&p->cli, &p->run, false);
    wire_init(&wire_streams_group_initialize_request, &p->request);
    cli_end(&p->cli, &p->run, topology_read(&p->cli, path, &p->request));
    unlink(path);
}

static void assert_wrong(const char *text, const char *message)
{
    struct parsed p;
    parse(&p, text);
    assert_int_equal(p.run.code, CLI_USAGE);
    assert_int_equal(lines_of(p.run.err), 1);
    if (strstr(p.run.err, message) == NULL) {
        fail_msg("'%s' is not in: %s", message, p.run.err);
    }
    run_fini(&p.run);
}

#define SUB(fields) "{\"subtopologies\":[{\"subtopologyId\":\"0\"" fields "}]}"

static void what_is_wrong_with_a_file_is_said(void **state)
{
    (void)state;
    assert_wrong("{\n\"subtopologies\": [\n  {,\n", "line 3, column ");
    assert_wrong("", "line 1, column 0");
    assert_wrong("{\"subtopologies\": [],\n \"subtopologies\": []}", "line 2, column");
    assert_wrong("[]", "the document is not an object");
    assert_wrong("{}", "the document lacks 'subtopologies'");
    assert_wrong("{\"subtopologies\": 1}", "subtopologies is not an array");
    assert_wrong("{\"subtopologies\": [], \"sub\": 1}", "the document has a key that means nothing: 'sub'");
    assert_wrong("{\"subtopologies\": [], \"topologyId\": 7}", "topologyId is not a text");
    assert_wrong("{\"subtopologies\": [{}]}", "subtopologies[0] lacks 'subtopologyId'");
    assert_wrong("{\"subtopologies\": [5]}", "subtopologies[0] is not an object");
    assert_wrong(SUB(",\"sourceTopic\":[]"), "subtopologies[0] has a key that means nothing: 'sourceTopic'");
    assert_wrong(SUB(",\"sourceTopics\":[\"a\",null]"), "subtopologies[0].sourceTopics[1] is not a text");
    assert_wrong(SUB(",\"sourceTopicRegex\":\"a.*\""), "subtopologies[0].sourceTopicRegex is not an array");
    assert_wrong(SUB(",\"stateChangelogTopics\":[{\"partitions\":1}]"), "subtopologies[0].stateChangelogTopics[0] lacks 'name'");
    assert_wrong(SUB(",\"repartitionSourceTopics\":[{\"name\":\"r\",\"partitions\":-1}]"),
                 "subtopologies[0].repartitionSourceTopics[0].partitions is not a whole number from 0 to 2147483647");
    assert_wrong(SUB(",\"repartitionSourceTopics\":[{\"name\":\"r\",\"partitions\":1.5}]"), "partitions is not a whole number");
    assert_wrong(SUB(",\"repartitionSourceTopics\":[{\"name\":\"r\",\"replicationFactor\":40000}]"),
                 "replicationFactor is not a whole number");
    assert_wrong(SUB(",\"stateChangelogTopics\":[{\"name\":\"c\",\"configs\":[{\"name\":\"a\"}]}]"),
                 "subtopologies[0].stateChangelogTopics[0].configs[0] lacks 'value'");
    assert_wrong(SUB(",\"copartitionGroups\":[{\"sourceTopics\":[0,-1]}]"),
                 "subtopologies[0].copartitionGroups[0].sourceTopics[1] is not a place in a list");
    char *longest = malloc(40000);
    memset(longest, 'x', 40000);
    memcpy(longest, "{\"subtopologies\":[],\"topologyId\":\"", 34);
    memcpy(longest + 39990, "\"}", 3);
    assert_wrong(longest, "topologyId is longer than 32767 bytes");
    free(longest);
}

static void a_missing_file_is_said(void **state)
{
    (void)state;
    struct run r = run_cli("streams", "initialize", "g", "--topology", "/nowhere/at/all.json", NULL);
    assert_int_equal(r.code, CLI_USAGE);
    assert_non_null(strstr(r.err, "/nowhere/at/all.json: No such file"));
    run_fini(&r);
    r = run_cli("streams", "initialize", "g", NULL);
    assert_int_equal(r.code, CLI_USAGE);
    assert_non_null(strstr(r.err, "--topology is missing"));
    run_fini(&r);
    r = run_cli("streams", "initialize", "g", "--topology", "f", "--epoch", "-3", NULL);
    assert_int_equal(r.code, CLI_USAGE);
    assert_non_null(strstr(r.err, "--epoch takes a whole number from 0"));
    run_fini(&r);
}

/* ---- there and back ---- */

static struct str name(const char *text)
{
    return str_of(text);
}

static struct streams_group_topology_response *stored(struct arena *arena)
{
    struct streams_group_topology_response *t = ARENA_NEW(arena, struct streams_group_topology_response, 1);
    wire_init(&wire_streams_group_topology_response, t);
    t->group_state = name("Stable");
    t->group_epoch = 9;
    t->topology_epoch = 4;
    t->topology_id = name("v7");
    t->subtopologies.len = 1;
    t->subtopologies.v = ARENA_NEW(arena, struct streams_group_topology_response_subtopology, 1);
    struct streams_group_topology_response_subtopology *s = t->subtopologies.v;
    s->subtopology_id = name("0");
    s->source_topics = (struct str_array){ARENA_NEW(arena, struct str, 2), 2};
    s->source_topics.v[0] = name("in");
    s->source_topics.v[1] = name("also \"quoted\"");
    s->source_topic_regex = (struct str_array){ARENA_NEW(arena, struct str, 2), 2};
    s->source_topic_regex.v[0] = name("a.*");
    s->source_topic_regex.v[1] = name("b.*");
    s->repartition_sink_topics = (struct str_array){ARENA_NEW(arena, struct str, 1), 1};
    s->repartition_sink_topics.v[0] = name("r");
    s->repartition_source_topics.len = 1;
    s->repartition_source_topics.v = ARENA_NEW(arena, struct streams_group_topology_response_topic_info, 1);
    s->repartition_source_topics.v[0] =
        (struct streams_group_topology_response_topic_info){.name = name("r"), .partitions = 3, .replication_factor = 2};
    s->state_changelog_topics.len = 1;
    s->state_changelog_topics.v = ARENA_NEW(arena, struct streams_group_topology_response_topic_info, 1);
    struct streams_group_topology_response_topic_info *changelog = s->state_changelog_topics.v;
    changelog->name = name("c");
    changelog->topic_configs.len = 1;
    changelog->topic_configs.v = ARENA_NEW(arena, struct streams_group_topology_response_topic_config, 1);
    changelog->topic_configs.v[0] = (struct streams_group_topology_response_topic_config){name("cleanup.policy"), name("compact")};
    s->copartition_groups.len = 1;
    s->copartition_groups.v = ARENA_NEW(arena, struct streams_group_topology_response_copartition_group, 1);
    s->copartition_groups.v[0].source_topics = (struct int16_array){ARENA_NEW(arena, int16_t, 2), 2};
    s->copartition_groups.v[0].source_topics.v[1] = 1;
    s->copartition_groups.v[0].source_topic_regex = (struct int16_array){ARENA_NEW(arena, int16_t, 1), 1};
    s->copartition_groups.v[0].source_topic_regex.v[0] = 1;
    s->copartition_groups.v[0].repartition_source_topics = (struct int16_array){ARENA_NEW(arena, int16_t, 1), 1};
    return t;
}

static char *json_text(json_t *document)
{
    char *text = json_dumps(document, JSON_COMPACT);
    json_decref(document);
    assert_non_null(text);
    return text;
}

static void what_is_printed_can_be_read(void **state)
{
    (void)state;
    struct arena arena;
    struct parsed p;
    arena_init(&arena, 0);
    char *text = json_text(topology_json(name("g"), stored(&arena)));
    parse(&p, text);
    assert_int_equal(p.run.code, CLI_OK);
    assert_string_equal(p.run.err, "");
    free(text);
    run_fini(&p.run);
    arena_fini(&arena);
}

static void all_of_a_topology_is_read(void **state)
{
    (void)state;
    struct arena arena;
    struct cli cli;
    struct run run;
    struct streams_group_initialize_request request;
    char path[] = "/tmp/muster-topology-XXXXXX";
    arena_init(&arena, 0);
    FILE *file = fdopen(mkstemp(path), "w");
    out_json_print(topology_json(name("g"), stored(&arena)), file);
    fclose(file);
    cli_begin(&cli, &run, false);
    wire_init(&wire_streams_group_initialize_request, &request);
    assert_int_equal(topology_read(&cli, path, &request), CLI_OK);
    unlink(path);
    assert_true(str_eq(request.topology_id, name("v7")));
    assert_int_equal(request.topology_epoch, -1); /* the group's next one */
    assert_int_equal(request.topology.len, 1);
    const struct streams_group_initialize_request_subtopology *s = request.topology.v;
    assert_true(str_eq(s->subtopology, name("0")));
    assert_int_equal(s->source_topics.len, 2);
    assert_true(str_eq(s->source_topics.v[1], name("also \"quoted\"")));
    assert_true(str_eq(s->source_topic_regex, name("a.*")));
    assert_int_equal(s->more_source_topic_regex.len, 1);
    assert_true(str_eq(s->more_source_topic_regex.v[0], name("b.*")));
    assert_true(str_eq(s->repartition_sink_topics.v[0], name("r")));
    assert_true(str_eq(s->repartition_source_topics.v[0].name, name("r")));
    assert_int_equal(s->repartition_source_topics.v[0].partitions, 3);
    assert_int_equal(s->repartition_source_topics.v[0].replication_factor, 2);
    assert_true(str_eq(s->state_changelog_topics.v[0].topic_configs.v[0].key, name("cleanup.policy")));
    assert_true(str_eq(s->state_changelog_topics.v[0].topic_configs.v[0].value, name("compact")));
    assert_int_equal(s->copartition_groups.len, 1);
    assert_int_equal(s->copartition_groups.v[0].source_topics.len, 2);
    assert_int_equal(s->copartition_groups.v[0].source_topics.v[1], 1);
    assert_int_equal(s->copartition_groups.v[0].source_topic_regex.v[0], 1);
    assert_int_equal(s->copartition_groups.v[0].repartition_source_topics.v[0], 0);
    cli_end(&cli, &run, CLI_OK);
    run_fini(&run);
    arena_fini(&arena);
}

/* Whoever changes a topology that had no name of its own gives it a new hash. */
static void a_hash_is_worked_out_again(void **state)
{
    (void)state;
    static const struct {
        const char *id;
        bool kept;
    } ids[] = {{"h-0123456789abcdef", false}, {"h-0123456789abcdeg", true}, {"h-0123456789abcde", true}, {"x-0123456789abcdef", true}};
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        struct parsed p;
        char text[128];
        snprintf(text, sizeof(text), "{\"topologyId\":\"%s\",\"subtopologies\":[]}", ids[i].id);
        parse(&p, text);
        assert_int_equal(p.run.code, CLI_OK);
        assert_int_equal(!str_is_null(p.request.topology_id), ids[i].kept);
        run_fini(&p.run);
    }
}

/* ---- a group ---- */

static struct streams_group_describe_response_task_ids_array tasks(struct arena *arena, const char *id, int32_t from, int32_t count)
{
    struct streams_group_describe_response_task_ids_array ids = {0};
    if (count == 0) {
        return ids;
    }
    ids.v = ARENA_NEW(arena, struct streams_group_describe_response_task_ids, 1);
    ids.len = 1;
    ids.v[0].subtopology_id = name(id);
    ids.v[0].partitions = (struct int32_array){ARENA_NEW(arena, int32_t, count), count};
    for (int32_t i = 0; i < count; i++) {
        ids.v[0].partitions.v[i] = from + i;
    }
    return ids;
}

/* Member "a" has tasks 0 and 1 and shall keep 0; "b" waits for 1, and keeps a copy of 0. */
static void made_up(struct arena *arena, struct streams_view *v)
{
    struct streams_group_describe_response_described_group *g = ARENA_NEW(arena, struct streams_group_describe_response_described_group, 1);
    g->error_message = STR_NULL;
    g->group_id = name("g");
    g->group_state = name("Reconciling");
    g->group_epoch = 5;
    g->assignment_epoch = 5;
    g->assignor_name = name("sticky");
    g->topology = ARENA_NEW(arena, struct streams_group_describe_response_topology, 1);
    g->topology->epoch = 3;
    g->topology->subtopologies.len = 1;
    g->topology->subtopologies.v = ARENA_NEW(arena, struct streams_group_describe_response_subtopology, 1);
    struct streams_group_describe_response_subtopology *s = g->topology->subtopologies.v;
    s->subtopology_id = name("0");
    s->source_topics = (struct str_array){ARENA_NEW(arena, struct str, 1), 1};
    s->source_topics.v[0] = name("in");
    s->state_changelog_topics.len = 1;
    s->state_changelog_topics.v = ARENA_NEW(arena, struct streams_group_describe_response_topic_info, 1);
    s->state_changelog_topics.v[0] = (struct streams_group_describe_response_topic_info){.name = name("c"), .partitions = 2};
    g->members.len = 2;
    g->members.v = ARENA_NEW(arena, struct streams_group_describe_response_member, 2);
    for (int i = 0; i < 2; i++) {
        struct streams_group_describe_response_member *m = &g->members.v[i];
        m->member_id = name(i == 0 ? "a" : "b\x1b[2J");
        m->instance_id = STR_NULL;
        m->rack_id = STR_NULL;
        m->client_id = name("client");
        m->client_host = name("/10.0.0.1");
        m->process_id = name("p");
        m->topology_epoch = 3;
        m->member_epoch = i == 0 ? 4 : 5;
    }
    g->members.v[0].assignment.active_tasks = tasks(arena, "0", 0, 2);
    g->members.v[0].target_assignment.active_tasks = tasks(arena, "0", 0, 1);
    g->members.v[1].target_assignment.active_tasks = tasks(arena, "0", 1, 1);
    g->members.v[1].assignment.standby_tasks = tasks(arena, "0", 0, 1);
    g->members.v[1].target_assignment.standby_tasks = tasks(arena, "0", 0, 1);
    g->members.v[1].task_offsets.len = 1;
    g->members.v[1].task_offsets.v = ARENA_NEW(arena, struct streams_group_describe_response_task_offset, 1);
    g->members.v[1].task_offsets.v[0] = (struct streams_group_describe_response_task_offset){name("0"), 0, 70};
    g->members.v[1].task_end_offsets.len = 1;
    g->members.v[1].task_end_offsets.v = ARENA_NEW(arena, struct streams_group_describe_response_task_offset, 1);
    g->members.v[1].task_end_offsets.v[0] = (struct streams_group_describe_response_task_offset){name("0"), 0, 100};
    *v = (struct streams_view){.group_id = name("g"), .group = g, .coordinator = {2, "h", 9}};
}

static void tasks_that_move_are_named(void **state)
{
    (void)state;
    struct cli cli;
    struct run run;
    struct streams_view v;
    cli_begin(&cli, &run, false);
    made_up(&cli.arena, &v);
    streams_print_tasks(&cli, &v);
    cli_end(&cli, &run, CLI_OK);
    assert_int_equal(lines_of(run.out), 6); /* an empty line, the headers, four rows */
    assert_non_null(strstr(run.out, "g      0_0   active   -        a  "));
    assert_non_null(strstr(run.out, "g      0_1   active   to go    a  "));
    assert_non_null(strstr(run.out, "g      0_1   active   to come  b"));
    assert_non_null(strstr(run.out, "g      0_0   standby  -        b"));
    assert_int_equal(count_of(run.out, "to come"), 1);
    assert_int_equal(count_of(run.out, "to go"), 1);
    assert_non_null(strstr(run.out, "70"));
    assert_non_null(strstr(run.out, "30\n")); /* the lag of the copy */
    assert_null(strchr(run.out, 27));
    assert_columns_told(run, "streams", "describe");
}

static void a_problem_is_shown(void **state)
{
    (void)state;
    struct cli cli;
    struct run run;
    struct streams_view v;
    cli_begin(&cli, &run, false);
    made_up(&cli.arena, &v);
    struct streams_group_topology_response *t = stored(&cli.arena);
    t->group_state = name("Initializing");
    t->problem = name("Source topics in are missing.");
    v.topology = t;
    streams_print_summary(&cli, &v);
    streams_print_members(&cli, &v);
    streams_print_topology(&cli, &v);
    cli_end(&cli, &run, CLI_OK);
    assert_non_null(strstr(run.out, "Initializing"));
    assert_non_null(strstr(run.out, "PROBLEM  Source topics in are missing.\n"));
    assert_non_null(strstr(run.out, "2 (h:9)"));
    assert_non_null(strstr(run.out, "0[0,1]"));
    assert_non_null(strstr(run.out, "c(2)"));
    assert_columns_told(run, "streams", "describe");
}

static void offsets_name_the_task_and_its_owner(void **state)
{
    (void)state;
    struct cli cli;
    struct run run;
    struct streams_view v;
    struct offsets_view offsets = {0};
    cli_begin(&cli, &run, false);
    made_up(&cli.arena, &v);
    offsets_view_add(&offsets, name("old"), 0, &cli.arena);
    streams_view_partitions(&v, &offsets, &cli.arena);
    assert_int_equal(offsets.count, 3);
    streams_print_offsets(&cli, &v, &offsets);
    cli_end(&cli, &run, CLI_OK);
    assert_int_equal(count_of(run.out, "0_1"), 1);
    assert_int_equal(count_of(run.out, "/10.0.0.1"), 2); /* nobody reads the old topic */
    assert_columns_told(run, "streams", "describe");
}

static void as_json(void **state)
{
    (void)state;
    struct arena arena;
    struct streams_view v;
    struct offsets_view offsets = {0};
    arena_init(&arena, 0);
    made_up(&arena, &v);
    json_t *g = streams_json(&v, &offsets);
    assert_string_equal(json_string_value(json_object_get(g, "type")), "streams");
    assert_string_equal(json_string_value(json_object_get(g, "state")), "Reconciling");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(g, "topology"), "epoch")), 3);
    assert_true(json_is_array(json_object_get(g, "offsets")));
    const json_t *member = json_array_get(json_object_get(g, "members"), 1);
    const json_t *target = json_object_get(json_object_get(member, "targetAssignment"), "active");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(json_array_get(target, 0), "partitions"), 0)), 1);
    assert_true(json_is_null(json_object_get(member, "userEndpoint")));
    json_decref(g);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_wrong_with_a_file_is_said),
        cmocka_unit_test(a_missing_file_is_said),
        cmocka_unit_test(what_is_printed_can_be_read),
        cmocka_unit_test(all_of_a_topology_is_read),
        cmocka_unit_test(a_hash_is_worked_out_again),
        cmocka_unit_test(tasks_that_move_are_named),
        cmocka_unit_test(a_problem_is_shown),
        cmocka_unit_test(offsets_name_the_task_and_its_owner),
        cmocka_unit_test(as_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
