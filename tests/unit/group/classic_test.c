/* classic_test.c: parts of classic groups by themselves: voting, subscriptions, budgets, refusals. What they do together is in tests/golden. */
#include "group_world.h"
#include "tests.h"

#include <string.h>

#include "classic/draft.h"

/* ---- voting ------------------------------------------------------------------------------------------------------------- */

static struct classic_member *voter(struct arena *arena, const char *const *names, int32_t count)
{
    struct classic_member *m = ARENA_NEW(arena, struct classic_member, 1);
    m->protocol_count = count;
    m->protocols = ARENA_NEW(arena, struct classic_protocol, count);
    for (int32_t i = 0; i < count; i++) {
        m->protocols[i].name = str_of(names[i]);
        m->protocols[i].metadata = bytes_of_str(str_of(names[i]));
    }
    return m;
}

#define VOTER(...) voter(&arena, (const char *const[]){__VA_ARGS__}, (int32_t)COUNT_OF(((const char *const[]){__VA_ARGS__})))

static void assert_vote(const struct classic_member *const *members, int32_t count, const char *want)
{
    struct arena arena;
    arena_init(&arena, 0);
    assert_true(str_eq(classic_vote(members, count, &arena), str_of(want)));
    arena_fini(&arena);
}

static void the_most_wanted_of_the_common_wins(void **unused)
{
    (void)unused;
    struct arena arena;
    arena_init(&arena, 0);
    const struct classic_member *three[] = {VOTER("range", "roundrobin", "sticky"), VOTER("roundrobin", "range", "own"),
                                            VOTER("roundrobin", "sticky", "range")};
    assert_vote(three, 3, "roundrobin");
    const struct classic_member *only_common[] = {VOTER("a", "c"), VOTER("b", "c")};
    assert_vote(only_common, 2, "c");
    const struct classic_member *one[] = {VOTER("x", "y")};
    assert_vote(one, 1, "x");
    const struct classic_member *nothing[] = {VOTER("a"), VOTER("b")};
    assert_vote(nothing, 2, "");
    arena_fini(&arena);
}

/* Places in a table of 16 buckets by Java's String.hashCode(): what java.util.HashMap iterates first wins. */
static void ties_go_as_in_kafka(void **unused)
{
    (void)unused;
    struct arena arena;
    arena_init(&arena, 0);
    const struct classic_member *tie[] = {VOTER("range", "roundrobin"), VOTER("roundrobin", "range")};
    assert_vote(tie, 2, "range"); /* place 9 before place 10 */
    const struct classic_member *letters[] = {VOTER("p", "a"), VOTER("a", "p")};
    assert_vote(letters, 2, "p"); /* 'p' is 112: place 0; 'a' is 97: place 1 */
    arena_fini(&arena);
}

/* ---- subscriptions and assignments ----------------------------------------------------------------------------------------- */

static void partitions_are_read_from_assignments(void **unused)
{
    (void)unused;
    /* version 1, topics: ab [0, 7], c [-1]; user data of the later version behind it */
    static const uint8_t bytes[] = {0, 1, 0, 0, 0, 2,   0, 2, 'a', 'b', 0,    0,    0,    2,    0,    0,    0,    0,    0,
                                    0, 0, 7, 0, 1, 'c', 0, 0, 0,   1,   0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 9};
    struct group g = {0};
    struct classic_member m = {.assignment = {bytes, sizeof bytes}, .assignment_generation = 3, .has_assignment = true};
    assert_true(classic_owns(&g, &m, STR("ab"), 0));
    assert_true(classic_owns(&g, &m, STR("ab"), 7));
    assert_false(classic_owns(&g, &m, STR("ab"), 1));
    assert_true(classic_owns(&g, &m, STR("c"), -1));
    assert_false(classic_owns(&g, &m, STR("c"), 0));
    assert_false(classic_owns(&g, &m, STR("d"), 0));
    g.classic.assignments_since = 4; /* a later generation has voided it */
    assert_false(classic_owns(&g, &m, STR("ab"), 0));
    g.classic.assignments_since = 3;
    for (int32_t len = 0; len < 22; len++) { /* cut off anywhere it owns nothing behind the cut */
        m.assignment.len = len;
        assert_false(classic_owns(&g, &m, STR("ab"), 7));
    }
    static const uint8_t huge[] = {0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 1, 'a'};
    m.assignment = (struct bytes){huge, sizeof huge};
    assert_false(classic_owns(&g, &m, STR("a"), 0));
}

static const struct group *one_member(struct world *w, struct bytes subscription, const char *type)
{
    struct arena arena;
    arena_init(&arena, 0);
    struct classic_member_key key = {.group_id = STR("g"), .member_id = STR("m")};
    struct classic_member_value value;
    struct classic_member_value_classic_protocol protocol = {STR("range"), subscription};
    wire_init(&wire_classic_member_value, &value);
    value.protocols.v = &protocol;
    value.protocols.len = 1;
    struct classic_group_key group_key = {.group_id = STR("g")};
    struct classic_group_value group_value;
    wire_init(&wire_classic_group_value, &group_value);
    group_value.protocol_type = str_of(type);
    group_value.protocol_name = STR("range");
    struct record records[] = {wire_record_encode(RECORD_CLASSIC_MEMBER, &key, 0, &value, &arena),
                               wire_record_encode(RECORD_CLASSIC_GROUP, &group_key, 0, &group_value, &arena)};
    world_apply(w, records, 2);
    arena_fini(&arena);
    return group_find(w->set, STR("g"));
}

static bool subscribed(struct world *w, const struct group *g, const char *topic, bool *ret_known)
{
    struct arena arena;
    arena_init(&arena, 0);
    struct group_op op = {.settings = &w->settings};
    struct decision d = {.set = w->set, .op = &op, .arena = &arena};
    bool is = classic_subscribed(&d, g, str_of(topic), ret_known);
    bool again = classic_subscribed(&d, g, str_of(topic), ret_known);
    assert_int_equal(is, again);
    arena_fini(&arena);
    return is;
}

static void topics_are_read_from_subscriptions(void **unused)
{
    (void)unused;
    struct world w;
    world_init(&w, &(struct world_events){0});
    static const uint8_t bytes[] = {0, 3, 0, 0, 0, 3, 0, 1, 'b', 0, 1, 'a', 0, 1, 'b', 0, 0, 0, 1, 'u', 0, 0};
    bool known;
    const struct group *g = one_member(&w, (struct bytes){bytes, sizeof bytes}, "consumer");
    assert_true(subscribed(&w, g, "a", &known) && known);
    assert_true(subscribed(&w, g, "b", &known) && known);
    assert_true(!subscribed(&w, g, "c", &known) && known);
    for (int32_t len = 0; len < 20; len++) {
        g = one_member(&w, (struct bytes){bytes, len}, "consumer");
        assert_true(!subscribed(&w, g, "a", &known) && !known);
    }
    g = one_member(&w, (struct bytes){bytes, sizeof bytes}, "connect");
    assert_true(!subscribed(&w, g, "a", &known) && !known);
    world_fini(&w);
}

/* ---- budgets ------------------------------------------------------------------------------------------------------------------- */

static void budgets_count_what_is_reserved(void **unused)
{
    (void)unused;
    struct world w;
    world_init(&w, &(struct world_events){0});
    struct group_op op = {.settings = &w.settings};
    struct decision d = {.set = w.set, .op = &op};
    assert_true(budget_allows(&d, 1000000, 1000000, INT64_MAX / 2));
    w.settings.max_groups = 3;
    w.settings.reserved_groups = 2;
    assert_true(budget_allows(&d, 1, 0, 0));
    assert_false(budget_allows(&d, 2, 0, 0));
    w.settings.max_members = 1;
    w.settings.reserved_members = 1;
    assert_true(budget_allows(&d, 1, 0, 0));
    assert_false(budget_allows(&d, 0, 1, 0));
    w.settings.max_state_bytes = (int64_t)w.pool.bytes + 100;
    assert_true(budget_allows(&d, 0, 0, 100));
    assert_false(budget_allows(&d, 0, 0, 101));
    w.settings.reserved_bytes = 50;
    assert_false(budget_allows(&d, 0, 0, 51));
    world_fini(&w);
}

/* ---- refusals -------------------------------------------------------------------------------------------------------------------- */

static const void *refused(enum group_op_kind kind, int16_t version, const void *request, struct arena *arena, int16_t error)
{
    struct group_op op = {.kind = kind, .api_version = version, .group_id = STR("g"), .request = request};
    struct group_out out;
    group_refuse(&op, error, arena, &out);
    assert_int_equal(out.error, error);
    assert_int_equal(out.verdict, out.answer == NULL ? GROUP_SILENT : GROUP_ANSWER);
    assert_int_equal(out.records.len, 0);
    return out.answer;
}

static void refusals_say_it_where_clients_look(void **unused)
{
    (void)unused;
    struct arena arena;
    arena_init(&arena, 0);
    struct join_group_request join = {.member_id = STR("m")};
    const struct join_group_response *joined = refused(GROUP_JOIN, 5, &join, &arena, 16);
    assert_int_equal(joined->error_code, 16);
    assert_true(str_eq(joined->member_id, STR("m")) && str_eq(joined->protocol_name, STR("")));
    joined = refused(GROUP_JOIN, 7, &join, &arena, 16);
    assert_true(str_is_null(joined->protocol_name));
    assert_int_equal(((const struct sync_group_response *)refused(GROUP_SYNC, 5, NULL, &arena, 15))->error_code, 15);
    assert_int_equal(((const struct heartbeat_response *)refused(GROUP_HEARTBEAT, 4, NULL, &arena, 16))->error_code, 16);
    assert_int_equal(((const struct heartbeat_response *)refused(GROUP_HEARTBEAT, 4, NULL, &arena, 14))->error_code, 15);
    assert_int_equal(((const struct leave_group_response *)refused(GROUP_LEAVE, 4, NULL, &arena, 16))->error_code, 16);
    struct int32_array indexes = {(int32_t[]){4, 5}, 2};
    struct offset_fetch_request_topics topic = {.name = STR("t"), .partition_indexes = indexes};
    struct offset_fetch_request_group fetch = {.group_id = STR("g"), .topics = {&topic, 1}};
    const struct offset_fetch_response_group *fetched = refused(GROUP_OFFSET_FETCH, 1, &fetch, &arena, 14);
    assert_int_equal(fetched->topics.v[0].partitions.v[1].error_code, 14);
    assert_int_equal(fetched->topics.v[0].partitions.v[1].partition_index, 5);
    fetched = refused(GROUP_OFFSET_FETCH, 8, &fetch, &arena, 14);
    assert_int_equal(fetched->error_code, 14);
    assert_int_equal(fetched->topics.len, 0);
    struct offset_commit_request_partition partition = {.partition_index = 3};
    struct offset_commit_request_topic commit_topic = {.name = STR("t"), .partitions = {&partition, 1}};
    struct offset_commit_request commit = {.topics = {&commit_topic, 1}};
    const struct offset_commit_response *committed = refused(GROUP_OFFSET_COMMIT, 8, &commit, &arena, 16);
    assert_int_equal(committed->topics.v[0].partitions.v[0].error_code, 16);
    assert_int_equal(committed->topics.v[0].partitions.v[0].partition_index, 3);
    assert_int_equal(((const struct describe_groups_response_described_group *)refused(GROUP_DESCRIBE, 5, NULL, &arena, 15))->error_code,
                     15);
    assert_int_equal(((const struct delete_groups_response_deletable_group_result *)refused(GROUP_DELETE, 2, NULL, &arena, 16))->error_code,
                     16);
    assert_int_equal(((const struct offset_delete_response *)refused(GROUP_OFFSET_DELETE, 0, NULL, &arena, 16))->error_code, 16);
    assert_null(refused(GROUP_TIMER, -1, NULL, &arena, 16));
    assert_null(refused(CATALOG_CURSOR, -1, NULL, &arena, 16));
    assert_null(refused(SHARD_OFFICE, -1, NULL, &arena, 16));
    arena_fini(&arena);
}

static void refusals_of_the_catalogue_name_each_thing(void **unused)
{
    (void)unused;
    struct arena arena;
    arena_init(&arena, 0);
    struct create_topics_request_creatable_topic create = {.name = STR("t")};
    struct create_topics_request creates = {.topics = {&create, 1}};
    const struct create_topics_response *created = refused(CATALOG_CREATE_TOPICS, 7, &creates, &arena, 41);
    assert_true(str_eq(created->topics.v[0].name, STR("t")) && created->topics.v[0].error_code == 41);
    struct delete_topics_request deletes = {.topic_names = {(struct str[]){STR("a"), STR("b")}, 2}};
    const struct delete_topics_response *deleted = refused(CATALOG_DELETE_TOPICS, 5, &deletes, &arena, 41);
    assert_true(deleted->responses.len == 2 && str_eq(deleted->responses.v[1].name, STR("b")) && deleted->responses.v[1].error_code == 41);
    struct delete_topics_request_delete_topic_state state = {.name = STR_NULL, .topic_id = {{7}}};
    deletes.topics.v = &state;
    deletes.topics.len = 1;
    deleted = refused(CATALOG_DELETE_TOPICS, 6, &deletes, &arena, 41);
    assert_true(deleted->responses.len == 1 && deleted->responses.v[0].topic_id.b[0] == 7);
    struct create_partitions_request_topic grow = {.name = STR("t")};
    struct create_partitions_request grows = {.topics = {&grow, 1}};
    const struct create_partitions_response *grown = refused(CATALOG_CREATE_PARTITIONS, 3, &grows, &arena, 41);
    assert_true(str_eq(grown->results.v[0].name, STR("t")) && grown->results.v[0].error_code == 41);
    struct incremental_alter_configs_request_alter_configs_resource resource = {.resource_type = 2, .resource_name = STR("t")};
    struct incremental_alter_configs_request alters = {.resources = {&resource, 1}};
    const struct incremental_alter_configs_response *altered = refused(CATALOG_ALTER_CONFIGS, 1, &alters, &arena, 41);
    assert_true(altered->responses.v[0].error_code == 41 && altered->responses.v[0].resource_type == 2);
    struct set_end_offset_request_partition end = {.partition = 2};
    struct set_end_offset_request_topic ends_topic = {.name = STR("t"), .partitions = {&end, 1}};
    struct set_end_offset_request ends = {.topics = {&ends_topic, 1}};
    const struct set_end_offset_response *ended = refused(CATALOG_SET_END, 0, &ends, &arena, 41);
    assert_true(ended->topics.v[0].partitions.v[0].error_code == 41 && ended->topics.v[0].partitions.v[0].partition == 2);
    assert_int_equal(((const struct register_node_response *)refused(CATALOG_REGISTER_NODE, 0, NULL, &arena, 41))->error_code, 41);
    assert_int_equal(((const struct init_producer_id_response *)refused(CATALOG_PRODUCER_ID, 4, NULL, &arena, 41))->error_code, 41);
    assert_int_equal(((const struct change_member_response *)refused(CATALOG_CHANGE_MEMBER, 0, NULL, &arena, 41))->error_code, 41);
    assert_int_equal(((const struct change_member_response *)refused(CATALOG_MEMBER_STEP, 0, NULL, &arena, 41))->change_id, -1);
    assert_int_equal(((const struct upgrade_cluster_response *)refused(CATALOG_UPGRADE, 0, NULL, &arena, 41))->error_code, 41);
    arena_fini(&arena);
}

static void every_kind_has_a_class_and_a_name(void **unused)
{
    (void)unused;
    for (int kind = GROUP_JOIN; kind <= SHARD_OFFICE; kind++) {
        assert_true(strlen(group_op_name((enum group_op_kind)kind)) > 2);
    }
    assert_int_equal(group_op_class(GROUP_JOIN), GROUP_CLASS_MEMBERSHIP);
    assert_int_equal(group_op_class(GROUP_TIMER), GROUP_CLASS_MEMBERSHIP);
    assert_int_equal(group_op_class(GROUP_HEARTBEAT), GROUP_CLASS_MEMBERSHIP);
    assert_int_equal(group_op_class(GROUP_OFFSET_FETCH), GROUP_CLASS_READ);
    assert_int_equal(group_op_class(GROUP_OFFSET_COMMIT), GROUP_CLASS_COMMIT);
    assert_int_equal(group_op_class(GROUP_DELETE), GROUP_CLASS_EXCLUSIVE);
    assert_int_equal(group_op_class(CATALOG_CREATE_TOPICS), GROUP_CLASS_EXCLUSIVE);
}

static void generations_stay_positive(void **unused)
{
    (void)unused;
    assert_int_equal(next_generation(0), 1);
    assert_int_equal(next_generation(INT32_MAX), 1);
}

int run_classic_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_most_wanted_of_the_common_wins),
        cmocka_unit_test(ties_go_as_in_kafka),
        cmocka_unit_test(partitions_are_read_from_assignments),
        cmocka_unit_test(topics_are_read_from_subscriptions),
        cmocka_unit_test(budgets_count_what_is_reserved),
        cmocka_unit_test(refusals_say_it_where_clients_look),
        cmocka_unit_test(refusals_of_the_catalogue_name_each_thing),
        cmocka_unit_test(every_kind_has_a_class_and_a_name),
        cmocka_unit_test(generations_stay_positive),
    };
    return cmocka_run_group_tests_name("classic", tests, NULL, NULL);
}
