/* initialize_client: StreamsGroupInitialize, the request of KIP-1071's early revision, in each of its uses on a real cluster.
 *
 *   initialize_client BOOTSTRAP before      makes the topics and groups, and drives each use
 *   initialize_client BOOTSTRAP after       with the cluster changed in between (a coordinator killed, all nodes started again): everything is as it was left
 *
 * Prints what it saw; ends with 0, or with 1 and a line FAILED. */
#include "client.h"

#include <muster/wire.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    INITIALIZE = 20006,
    TOPOLOGY = 20007,
    HEARTBEAT = 88,
    CREATE_TOPICS = 19,
    ALTER_CONFIGS = 44,
    COMMIT = 8,
    CONSUMER_COMMIT_VERSION = 8
};
enum { GROUP_ID_NOT_FOUND = 69, INVALID_TOPOLOGY = 130, TOPOLOGY_FENCED = 132, MISSING_SOURCES = 20131, INCONSISTENT_INTERNAL = 20134 };
enum { PATIENCE_MS = 30000 };

static struct client client;
static struct arena arena;

__attribute__((format(printf, 1, 2), noreturn)) static void failed(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("FAILED: ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
    exit(1);
}

/* ---- requests ---------------------------------------------------------------------------------------------------------- */

static int16_t initialize_error(const void *response)
{
    return ((const struct streams_group_initialize_response *)response)->error_code;
}

static int16_t topology_error(const void *response)
{
    return ((const struct streams_group_topology_response *)response)->error_code;
}

static int16_t heartbeat_error(const void *response)
{
    return ((const struct streams_group_heartbeat_response *)response)->error_code;
}

static const void *ask(const char *group, int16_t key, int16_t max_version, const void *request, client_error_fn *error_of)
{
    struct client_call call = {.key = key, .min_version = 0, .max_version = max_version, .request = request};
    const void *answer = NULL;
    client.deadline_ms = client_now_ms() + PATIENCE_MS;
    if (client_group_call(&client, str_of(group), &call, error_of, &arena, &answer) != 0) {
        failed("%s: request %d: %s", group, key, client.error);
    }
    return answer;
}

static void expect(const char *group, const char *what, int got, int wanted)
{
    if (got != wanted) {
        failed("%s: %s: %d instead of %d", group, what, got, wanted);
    }
    printf("%s: %s: %d\n", group, what, got);
}

static struct streams_group_initialize_request request_of(const char *group, const char *source, const char *changelog,
                                                          int32_t repartitions)
{
    struct streams_group_initialize_request r;
    wire_init(&wire_streams_group_initialize_request, &r);
    r.group_id = str_of(group);
    r.topology.len = repartitions >= 0 ? 2 : 1;
    r.topology.v = ARENA_NEW(&arena, struct streams_group_initialize_request_subtopology, 2);
    struct streams_group_initialize_request_subtopology *first = &r.topology.v[0], *second = &r.topology.v[1];
    first->subtopology = STR("0");
    first->source_topic_regex = STR_NULL;
    first->source_topics = (struct str_array){.v = ARENA_NEW(&arena, struct str, 1), .len = 1};
    first->source_topics.v[0] = str_of(source);
    struct streams_group_initialize_request_topic_info *log = ARENA_NEW(&arena, struct streams_group_initialize_request_topic_info, 1);
    *log = (struct streams_group_initialize_request_topic_info){.name = str_of(changelog), .topic_configs = {.len = -1}};
    first->state_changelog_topics.v = log;
    first->state_changelog_topics.len = 1;
    if (repartitions < 0) {
        return r;
    }
    struct str again = arena_printf(&arena, "%s-again", group);
    first->repartition_sink_topics = (struct str_array){.v = ARENA_NEW(&arena, struct str, 1), .len = 1};
    first->repartition_sink_topics.v[0] = again;
    second->subtopology = STR("1");
    second->source_topic_regex = STR_NULL;
    second->repartition_source_topics.v = ARENA_NEW(&arena, struct streams_group_initialize_request_topic_info, 1);
    second->repartition_source_topics.v[0] =
        (struct streams_group_initialize_request_topic_info){.name = again, .partitions = repartitions, .topic_configs = {.len = -1}};
    second->repartition_source_topics.len = 1;
    return r;
}

static int16_t initialize(const struct streams_group_initialize_request *r)
{
    char group[64];
    snprintf(group, sizeof group, "%.*s", STR_ARG(r->group_id));
    const struct streams_group_initialize_response *answer = ask(group, INITIALIZE, -1, r, initialize_error);
    if (answer->error_code != 0) {
        printf("%s: said: %.*s\n", group, STR_ARG(answer->error_message));
    }
    return answer->error_code;
}

static const struct streams_group_topology_response *topology_of(const char *group)
{
    struct streams_group_topology_request r;
    wire_init(&wire_streams_group_topology_request, &r);
    r.group_id = str_of(group);
    return ask(group, TOPOLOGY, -1, &r, topology_error);
}

static void expect_state(const char *group, const char *state, int32_t subtopologies)
{
    const struct streams_group_topology_response *t = topology_of(group);
    if (t->error_code != 0 || !str_eq(t->group_state, str_of(state)) || t->subtopologies.len != subtopologies) {
        failed("%s: error %d, state %.*s, %d subtopologies instead of %s, %d", group, t->error_code, STR_ARG(t->group_state),
               t->subtopologies.len, state, subtopologies);
    }
    printf("%s: %s with %d subtopologies, epoch %d\n", group, state, subtopologies, t->group_epoch);
}

static const struct streams_group_heartbeat_response *heartbeat(const char *group, const char *member, int32_t epoch, bool with_topology)
{
    struct streams_group_heartbeat_request r;
    wire_init(&wire_streams_group_heartbeat_request, &r);
    r.group_id = str_of(group);
    r.member_id = str_of(member);
    r.member_epoch = epoch;
    r.endpoint_information_epoch = -1;
    if (epoch == 0) {
        r.rebalance_timeout_ms = 60000;
        r.process_id = str_of(member);
        r.active_tasks.len = r.standby_tasks.len = r.warmup_tasks.len = 0;
        r.client_tags.len = 0;
    }
    if (with_topology) {
        r.topology = ARENA_NEW(&arena, struct streams_group_heartbeat_request_topology, 1);
        r.topology->subtopologies.v = ARENA_NEW(&arena, struct streams_group_heartbeat_request_subtopology, 1);
        r.topology->subtopologies.len = 1;
        struct streams_group_heartbeat_request_subtopology *one = &r.topology->subtopologies.v[0];
        one->subtopology_id = STR("other");
        one->source_topics = (struct str_array){.v = ARENA_NEW(&arena, struct str, 1), .len = 1};
        one->source_topics.v[0] = STR("init-in");
    }
    return ask(group, HEARTBEAT, 1, &r, heartbeat_error);
}

static int32_t tasks_of(const struct streams_group_heartbeat_response *answer)
{
    int32_t count = 0;
    for (int32_t i = 0; i < answer->active_tasks.len; i++) {
        count += answer->active_tasks.v[i].partitions.len;
    }
    return count;
}

static void make_topic(const char *name, int32_t partitions)
{
    struct create_topics_request r;
    wire_init(&wire_create_topics_request, &r);
    struct create_topics_request_creatable_topic topic = {.name = str_of(name), .num_partitions = partitions, .replication_factor = 1};
    r.topics.v = &topic;
    r.topics.len = 1;
    struct client_call call = {.key = CREATE_TOPICS, .min_version = 2, .max_version = -1, .request = &r};
    const void *answer = NULL;
    client.deadline_ms = client_now_ms() + PATIENCE_MS;
    if (client_any_call(&client, &call, &arena, &answer, NULL) != 0 ||
        ((const struct create_topics_response *)answer)->topics.v[0].error_code != 0) {
        failed("topic %s cannot be made: %s", name, client.error);
    }
}

static void configure(const char *group, const char *key, const char *value)
{
    struct incremental_alter_configs_request r;
    wire_init(&wire_incremental_alter_configs_request, &r);
    struct incremental_alter_configs_request_alterable_config config = {.name = str_of(key), .value = str_of(value)};
    struct incremental_alter_configs_request_alter_configs_resource resource = {.resource_type = 32,
                                                                                .resource_name = str_of(group),
                                                                                .configs = {.v = &config, .len = 1}};
    r.resources.v = &resource;
    r.resources.len = 1;
    struct client_call call = {.key = ALTER_CONFIGS, .min_version = 0, .max_version = -1, .request = &r};
    const void *answer = NULL;
    client.deadline_ms = client_now_ms() + PATIENCE_MS;
    if (client_any_call(&client, &call, &arena, &answer, NULL) != 0 ||
        ((const struct incremental_alter_configs_response *)answer)->responses.v[0].error_code != 0) {
        failed("%s: config %s: %s", group, key, client.error);
    }
}

static int16_t commit_error(const void *response)
{
    return ((const struct offset_commit_response *)response)->topics.v[0].partitions.v[0].error_code;
}

/* Makes an empty classic group with an offset. */
static void commit(const char *group)
{
    struct offset_commit_request r;
    wire_init(&wire_offset_commit_request, &r);
    r.group_id = str_of(group);
    r.member_id = STR("");
    r.generation_id_or_member_epoch = -1;
    struct offset_commit_request_partition partition = {.committed_offset = 42,
                                                        .committed_leader_epoch = -1,
                                                        .committed_metadata = STR("")};
    struct offset_commit_request_topic topic = {.name = STR("init-in"), .partitions = {.v = &partition, .len = 1}};
    r.topics.v = &topic;
    r.topics.len = 1;
    expect(group, "commit of a simple consumer", commit_error(ask(group, COMMIT, CONSUMER_COMMIT_VERSION, &r, commit_error)), 0);
}

/* ---- the uses ------------------------------------------------------------------------------------------------------------- */

/* A member that joined without a topology is asked; another one waits; after the initialization both get tasks. */
static void by_a_member(void)
{
    configure("init-member", "streams.topology.initialization", "explicit");
    configure("init-member", "streams.initial.rebalance.delay.ms", "0");
    configure("init-member", "streams.assignment.interval.ms", "0");
    const struct streams_group_heartbeat_response *a = heartbeat("init-member", "a", 0, false);
    expect("init-member", "join without a topology", a->error_code, 0);
    expect("init-member", "the first one is asked", a->should_initialize_topology, true);
    int32_t epoch = a->member_epoch;
    const struct streams_group_heartbeat_response *b = heartbeat("init-member", "b", 0, false);
    expect("init-member", "the second one is asked", b->should_initialize_topology, false);
    expect("init-member", "tasks of the one that waits", tasks_of(b), 0);
    expect_state("init-member", "Initializing", 0);
    struct streams_group_initialize_request r = request_of("init-member", "init-in", "init-member-log", 3);
    r.member_id = STR("a");
    expect("init-member", "initialization", initialize(&r), 0);
    int32_t tasks = 0;
    for (int i = 0; i < 40 && tasks == 0; i++) {
        a = heartbeat("init-member", "a", epoch, false);
        expect("init-member", "heartbeat of a", a->error_code, 0);
        epoch = a->member_epoch;
        tasks = tasks_of(a);
        usleep(50000);
    }
    if (tasks == 0) {
        failed("init-member: a got no tasks");
    }
    printf("init-member: a has %d tasks at epoch %d\n", tasks, epoch);
}

static void uses(void)
{
    make_topic("init-in", 4);
    by_a_member();

    struct streams_group_initialize_request r = request_of("init-empty", "init-in", "init-empty-log", -1);
    r.topology_id = STR("version-1");
    expect("init-empty", "creation of an empty group", initialize(&r), 0);
    expect_state("init-empty", "Empty", 1);
    expect("init-empty", "the same again", initialize(&r), 0);
    r = request_of("init-empty", "init-in", "init-empty-other-log", 4);
    r.topology_id = STR("version-1");
    expect("init-empty", "another topology under the same id", initialize(&r), INVALID_TOPOLOGY);
    r.topology_id = STR("version-2");
    expect("init-empty", "another topology under another id", initialize(&r), 0);
    expect_state("init-empty", "Empty", 2);

    commit("init-classic");
    r = request_of("init-classic", "init-in", "init-classic-log", -1);
    expect("init-classic", "migration of an empty classic group", initialize(&r), 0);
    expect_state("init-classic", "Empty", 1);

    r = request_of("init-missing", "init-nowhere", "init-missing-log", -1);
    expect("init-missing", "a source that is missing", initialize(&r), MISSING_SOURCES);
    r = request_of("init-missing", "init-in", "init-missing-log", -1);
    r.topology.v[0].source_topics.len = 0;
    r.topology.v[0].source_topic_regex = STR("init-no.*");
    expect("init-missing", "a regular expression without a match", initialize(&r), MISSING_SOURCES);
    expect("init-missing", "and there is no such group", topology_of("init-missing")->error_code, GROUP_ID_NOT_FOUND);

    make_topic("init-unfit-log", 3);
    r = request_of("init-unfit", "init-in", "init-unfit-log", -1);
    expect("init-unfit", "an internal topic that does not fit", initialize(&r), INCONSISTENT_INTERNAL);
    expect("init-unfit", "and there is no such group", topology_of("init-unfit")->error_code, GROUP_ID_NOT_FOUND);

    configure("init-strict", "streams.topology.initialization", "strict");
    r = request_of("init-strict", "init-in", "init-strict-log", -1);
    expect("init-strict", "initialization by an operator", initialize(&r), 0);
    expect("init-strict", "a member with another topology", heartbeat("init-strict", "m", 0, true)->error_code, TOPOLOGY_FENCED);
    expect("init-strict", "a member without one", heartbeat("init-strict", "m", 0, false)->error_code, 0);
}

static void still(void)
{
    expect_state("init-empty", "Empty", 2);
    expect_state("init-classic", "Empty", 1);
    const struct streams_group_topology_response *t = topology_of("init-empty");
    if (!str_eq(t->topology_id, STR("version-2"))) {
        failed("init-empty: topology id %.*s", STR_ARG(t->topology_id));
    }
    expect("init-missing", "there is no such group", topology_of("init-missing")->error_code, GROUP_ID_NOT_FOUND);
    t = topology_of("init-member");
    expect("init-member", "subtopologies", t->subtopologies.len, 2);
    expect("init-strict", "subtopologies", topology_of("init-strict")->subtopologies.len, 1);
    expect("init-strict", "a member with another topology", heartbeat("init-strict", "n", 0, true)->error_code, TOPOLOGY_FENCED);
    struct streams_group_initialize_request r = request_of("init-late", "init-in", "init-late-log", 2);
    expect("init-late", "creation of an empty group", initialize(&r), 0);
    expect_state("init-late", "Empty", 2);
}

int main(int argc, char **argv)
{
    if (argc != 3 || (strcmp(argv[2], "before") != 0 && strcmp(argv[2], "after") != 0)) {
        fprintf(stderr, "usage: initialize_client BOOTSTRAP before|after\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    arena_init(&arena, 0);
    if (client_init(&client, argv[1], PATIENCE_MS) != 0) {
        failed("%s", client.error);
    }
    if (strcmp(argv[2], "before") == 0) {
        uses();
    } else {
        still();
    }
    client_fini(&client);
    arena_fini(&arena);
    return 0;
}
