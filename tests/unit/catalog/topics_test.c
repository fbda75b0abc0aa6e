#include "fixture.h"
#include "tests.h"

#include <stdio.h>
#include <string.h>

static struct int32_array nodes(struct fixture *f, int count, int a, int b)
{
    struct int32_array list = {ARENA_NEW(&f->arena, int32_t, 2), count};
    list.v[0] = a;
    list.v[1] = b;
    return list;
}

/* ---- CreateTopics: what Kafka 4.4.0 answers -------------------------------------------------------------------------------------- */

void test_names(void **state)
{
    struct fixture *f = *state;
    char name[251];
    memset(name, 'x', 250);
    name[250] = '\0';
    assert_string_equal(create_one(f, "tb", 3, 1), "tb 0 3/1");
    assert_string_equal(create_one(f, "", 1, 1), " 17 Topic name is invalid: the empty string is not allowed");
    assert_string_equal(create_one(f, ".", 1, 1), ". 17 Topic name is invalid: '.' is not allowed");
    assert_string_equal(create_one(f, "..", 1, 1), ".. 17 Topic name is invalid: '..' is not allowed");
    assert_string_equal(create_one(f, "a b", 1, 1), "a b 17 Topic name is invalid: 'a b' contains one or more characters other than ASCII "
                                                    "alphanumerics, '.', '_' and '-'");
    assert_non_null(strstr(create_one(f, name, 1, 1), "' is longer than the max allowed length 249"));
    name[249] = '\0';
    assert_non_null(strstr(create_one(f, name, 1, 1), " 0 1/1"));
    assert_string_equal(create_one(f, "tb", 1, 1), "tb 36 Topic 'tb' already exists.");
}

void test_collisions(void **state)
{
    struct fixture *f = *state;
    new_topic both[] = {{.name = STR("t.b_c"), .num_partitions = 1, .replication_factor = 1},
                        {.name = STR("t_b.c"), .num_partitions = 1, .replication_factor = 1}};
    assert_string_equal(create(f, both, 2), "t.b_c 0 1/1\nt_b.c 0 1/1"); /* not with each other */
    assert_string_equal(create_one(f, "t_b_c", 1, 1), "t_b_c 17 Topic 't_b_c' collides with existing topic: t.b_c");
    assert_string_equal(create_one(f, "t.b_c", 1, 1), "t.b_c 36 Topic 't.b_c' already exists.");
    assert_string_equal(create_one(f, "txbxc", 1, 1), "txbxc 0 1/1");
}

void test_counts(void **state)
{
    struct fixture *f = *state;
    const char *bad_factor = "n 38 Replication factor must be larger than 0, or -1 to use the default value.";
    const char *bad_count = "n 37 Number of partitions was set to an invalid non-positive value.";
    f->world.settings.default_partitions = 4;
    f->world.settings.default_replication_factor = 2;
    assert_string_equal(create_one(f, "defaults", -1, -1), "defaults 0 4/2");
    assert_string_equal(create_one(f, "n", 0, 1), bad_count);
    assert_string_equal(create_one(f, "n", -2, 1), bad_count);
    assert_string_equal(create_one(f, "n", 1, 0), bad_factor);
    assert_string_equal(create_one(f, "n", 1, -2), bad_factor);
    assert_string_equal(create_one(f, "n", 0, 0), bad_factor);
    assert_string_equal(
        create_one(f, "n", 1, 4),
        "n 38 Unable to replicate the partition 4 time(s): The target replication factor of 4 cannot be reached because only 3 "
        "broker(s) are registered or some brokers have all their log directories cordoned.");
    f->world.settings.max_partitions_per_topic = 10;
    assert_string_equal(create_one(f, "n", 11, 1), "n 44 Excessively large number of partitions per request.");
    assert_string_equal(create_one(f, "n", 10, 1), "n 0 10/1");
    f->world.settings.max_topics = 2;
    assert_string_equal(create_one(f, "m", 1, 1), "m 44 The cluster holds 2 topics already, which is its limit.");
    f->world.settings.max_topics = 3;
    new_topic two[] = {{.name = STR("p"), .num_partitions = 1, .replication_factor = 1},
                       {.name = STR("q"), .num_partitions = 1, .replication_factor = 1}};
    assert_string_equal(create(f, two, 2), "p 0 1/1\nq 44 The cluster holds 3 topics already, which is its limit.");
}

typedef struct create_topics_request_creatable_replica_assignment replicas_of;

static const char *create_assigned(struct fixture *f, replicas_of *assignments, int32_t count)
{
    new_topic topic = {.name = STR("m"), .num_partitions = -1, .replication_factor = -1, .assignments = {assignments, count}};
    return create(f, &topic, 1);
}

void test_assignments(void **state)
{
    struct fixture *f = *state;
    replicas_of good[] = {{1, nodes(f, 2, 1, 2)}, {0, nodes(f, 2, 3, 1)}};
    assert_string_equal(create_assigned(f, good, 2), "m 0 2/2");
    replicas_of twice[] = {{0, nodes(f, 1, 1, 0)}, {0, nodes(f, 1, 1, 0)}};
    new_topic topic = {.name = STR("n"), .num_partitions = 2, .replication_factor = -1, .assignments = {twice, 1}};
    assert_string_equal(create(f, &topic, 1), "n 42 A manual partition assignment was specified, but numPartitions was not set to -1.");
    topic.num_partitions = -1;
    topic.replication_factor = 1;
    assert_string_equal(create(f, &topic, 1),
                        "n 42 A manual partition assignment was specified, but replication factor was not set to -1.");
    topic.replication_factor = -1;
    topic.assignments.len = 2;
    assert_string_equal(create(f, &topic, 1), "n 39 Found multiple manual partition assignments for partition 0");
    replicas_of gap[] = {{1, nodes(f, 1, 1, 0)}};
    topic.assignments.v = gap;
    topic.assignments.len = 1;
    assert_string_equal(create(f, &topic, 1), "n 39 partitions should be a consecutive 0-based integer sequence");
    gap[0] = (replicas_of){0, nodes(f, 0, 0, 0)};
    assert_string_equal(create(f, &topic, 1), "n 39 The manual partition assignment includes an empty replica list.");
    gap[0].broker_ids = nodes(f, 1, 9, 0);
    assert_string_equal(create(f, &topic, 1), "n 39 The manual partition assignment includes broker 9, but no such broker is registered.");
    gap[0].broker_ids = nodes(f, 2, 1, 1);
    assert_string_equal(create(f, &topic, 1), "n 39 The manual partition assignment includes the broker 1 more than once.");
    replicas_of uneven[] = {{0, nodes(f, 1, 1, 0)}, {1, nodes(f, 2, 1, 2)}};
    topic.assignments.v = uneven;
    topic.assignments.len = 2;
    assert_string_equal(create(f, &topic, 1),
                        "n 39 The manual partition assignment includes a partition with 2 replica(s), but this is not "
                        "consistent with previous partitions, which have 1 replica(s).");
}

void test_topic_configs(void **state)
{
    struct fixture *f = *state;
    struct create_topics_request_creatable_topic_config configs[] = {{STR("retention.ms"), STR("1")},
                                                                     {STR("retention.ms"), STR("5000")},
                                                                     {STR("cleanup.policy"), STR("compact,delete")}};
    new_topic topic = {.name = STR("c"), .num_partitions = 1, .replication_factor = 1, .configs = {configs, 3}};
    assert_string_equal(create(f, &topic, 1), "c 0 1/1");
    assert_string_equal(describe(f, 2, "c", "retention.ms cleanup.policy", false), "cleanup.policy=compact,delete(1) retention.ms=5000(1)");
    topic.name = STR("d");
    configs[1] = (struct create_topics_request_creatable_topic_config){STR("nope"), STR("1")};
    assert_string_equal(create(f, &topic, 1), "d 40 Unknown topic config name: nope");
    configs[1].value = STR_NULL;
    configs[2].value = STR_NULL;
    assert_string_equal(create(f, &topic, 1), "d 40 Null value not supported for topic configs: nope,cleanup.policy");
    configs[1] = (struct create_topics_request_creatable_topic_config){STR("segment.bytes"), STR("1")};
    configs[2].value = STR("delete");
    assert_string_equal(create(f, &topic, 1), "d 40 Invalid value 1 for configuration segment.bytes: Value must be at least 1048576");
    assert_int_equal(f->world.set != NULL, 1);
}

/* What is named twice is refused once, behind the others; the controller's own topic cannot be made. */
void test_repeated_names(void **state)
{
    struct fixture *f = *state;
    new_topic topics[] = {{.name = STR("d1"), .num_partitions = 1, .replication_factor = 1},
                          {.name = STR("__cluster_metadata"), .num_partitions = 1, .replication_factor = 1},
                          {.name = STR("e1"), .num_partitions = 1, .replication_factor = 1},
                          {.name = STR("d1"), .num_partitions = 2, .replication_factor = 1}};
    assert_string_equal(create(f, topics, 4), "e1 0 1/1\nd1 42 Duplicate topic name.\n__cluster_metadata 42 Creation of internal topic "
                                              "__cluster_metadata is prohibited.");
    assert_string_equal(create(f, topics, 0), "");
    assert_string_equal(create_one(f, "__consumer_offsets", 1, 1), "__consumer_offsets 0 1/1");
}

void test_validate_only(void **state)
{
    struct fixture *f = *state;
    new_topic topic = {.name = STR("v"), .num_partitions = 2, .replication_factor = 1};
    struct create_topics_request q = {.topics = {&topic, 1}, .validate_only = true};
    assert_string_equal(ask(f, CATALOG_CREATE_TOPICS, 7, &q), "v 0 2/1");
    assert_int_equal(f->records, 0);
    struct catalog_topic found;
    assert_false(catalog_find_topic(f->world.set, STR("v"), &found));
}

/* Ids differ from each other, look like random UUIDs and are found again. */
void test_topic_ids(void **state)
{
    struct fixture *f = *state;
    new_topic topics[50];
    char names[50][16];
    for (int i = 0; i < 50; i++) {
        snprintf(names[i], sizeof names[i], "t%d", i);
        topics[i] = (new_topic){.name = str_of(names[i]), .num_partitions = 1, .replication_factor = 1};
    }
    create(f, topics, 50);
    struct uuid last = {{0}};
    for (int i = 0; i < 50; i++) {
        struct catalog_topic by_name, by_id;
        char text[23];
        assert_true(catalog_find_topic(f->world.set, str_of(names[i]), &by_name));
        assert_true(catalog_find_topic_id(f->world.set, by_name.id, &by_id));
        assert_true(str_eq(by_name.name, by_id.name));
        assert_int_equal(by_name.id.b[6] >> 4, 4);
        assert_int_equal(by_name.id.b[8] >> 6, 2);
        assert_false(uuid_eq(by_name.id, last));
        uuid_text(by_name.id, text);
        assert_true(text[0] != '-');
        last = by_name.id;
    }
    int count = 0;
    struct catalog_topic t;
    struct str before = STR_NULL;
    for (bool more = catalog_next_topic(f->world.set, STR_NULL, &t); more; more = catalog_next_topic(f->world.set, t.name, &t)) {
        assert_true(str_cmp(before, t.name) < 0);
        before = t.name;
        count++;
    }
    assert_int_equal(count, 50);
    struct group_set_counts counts;
    group_set_counts(f->world.set, &counts);
    assert_int_equal(counts.topics, 50);
}

/* ---- CreatePartitions ------------------------------------------------------------------------------------------------------------- */

typedef struct create_partitions_request_topic grown;

static const char *grow(struct fixture *f, grown *topics, int32_t count, bool validate_only)
{
    struct create_partitions_request q = {.topics = {topics, count}, .validate_only = validate_only};
    return ask(f, CATALOG_CREATE_PARTITIONS, 3, &q);
}

void test_create_partitions(void **state)
{
    struct fixture *f = *state;
    struct catalog_topic t;
    create_one(f, "ta", 3, 1);
    create_one(f, "tb", 3, 1);
    grown bad[] = {{STR("ta"), 3, {NULL, -1}}, {STR("tb"), 2, {NULL, -1}}, {STR("none"), 5, {NULL, -1}}, {STR("tc"), 0, {NULL, -1}}};
    assert_string_equal(grow(f, bad, 3, false), "ta 37 Topic already has 3 partition(s).\n"
                                                "tb 37 The topic tb currently has 3 partition(s); 2 would not be an increase.\nnone 3");
    grown one = {STR("tb"), 4, {NULL, -1}};
    assert_string_equal(grow(f, &one, 1, true), "tb 0");
    assert_true(catalog_find_topic(f->world.set, STR("tb"), &t) && t.partitions == 3);
    assert_string_equal(grow(f, &one, 1, false), "tb 0");
    assert_true(catalog_find_topic(f->world.set, STR("tb"), &t) && t.partitions == 4);
    struct create_partitions_request_assignment assignments[] = {{nodes(f, 1, 1, 0)}, {nodes(f, 1, 9, 0)}};
    one = (grown){STR("tb"), 6, {assignments, 1}};
    assert_string_equal(grow(f, &one, 1, false),
                        "tb 39 Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.");
    one.assignments.len = 2;
    assert_string_equal(grow(f, &one, 1, false),
                        "tb 39 The manual partition assignment includes broker 9, but no such broker is registered.");
    assignments[1].broker_ids = nodes(f, 1, 2, 0);
    assert_string_equal(grow(f, &one, 1, false), "tb 0");
    grown twice[] = {{STR("tb"), 7, {NULL, -1}}, {STR("ta"), 4, {NULL, -1}}, {STR("tb"), 8, {NULL, -1}}};
    assert_string_equal(grow(f, twice, 3, false), "tb 42 Duplicate topic name.\nta 0");
    one = (grown){STR("ta"), 10001, {NULL, -1}};
    assert_string_equal(grow(f, &one, 1, false), "ta 44 Excessively large number of additional partitions per request.");
    assert_true(catalog_find_topic(f->world.set, STR("tb"), &t) && t.partitions == 6);
}

/* ---- DeleteTopics -------------------------------------------------------------------------------------------------------------------- */

typedef struct delete_topics_request_delete_topic_state doomed;

static const char *drop(struct fixture *f, doomed *topics, int32_t count)
{
    struct delete_topics_request q = {.topics = {topics, count}};
    return ask(f, CATALOG_DELETE_TOPICS, 6, &q);
}

static struct uuid id_of(struct fixture *f, const char *name)
{
    struct catalog_topic t;
    assert_true(catalog_find_topic(f->world.set, str_of(name), &t));
    return t.id;
}

void test_delete_topics(void **state)
{
    struct fixture *f = *state;
    struct uuid none = {{0}}, other = {{1, 2, 3}};
    const char *names[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++) {
        create_one(f, names[i], 1, 1);
    }
    struct uuid b = id_of(f, "b"), c = id_of(f, "c");
    doomed mixed[] = {{STR("a"), none}, {STR_NULL, b}, {STR("none"), none}, {STR_NULL, other}, {STR_NULL, none}, {STR("c"), c}};
    assert_string_equal(drop(f, mixed, 6),
                        " 42 Neither topic name nor id were specified. -\nc 42 You may not specify both topic name and topic id. id\n"
                        "a 0 id\nb 0 id\nnone 3 This server does not host this topic-partition. -\n"
                        " 100 This server does not host this topic ID. AQIDAAAAAAAAAAAAAAAAAA");
    doomed names_twice[] = {{STR("c"), none}, {STR("c"), none}};
    assert_string_equal(drop(f, names_twice, 2), "c 42 Duplicate topic name. -");
    doomed ids_twice[] = {{STR_NULL, c}, {STR_NULL, c}};
    assert_non_null(strstr(drop(f, ids_twice, 2), "42 Duplicate topic id."));
    doomed both[] = {{STR_NULL, c}, {STR("c"), none}};
    assert_string_equal(drop(f, both, 2), "c 42 The provided topic name maps to an ID that was already supplied. id");
    struct str old_names[] = {STR("c"), STR("none"), STR("x"), STR("x")};
    struct delete_topics_request q = {.topic_names = {old_names, 4}};
    assert_string_equal(ask(f, CATALOG_DELETE_TOPICS, 5, &q),
                        "c 0 id\nnone 3 This server does not host this topic-partition. -\nx 42 Duplicate topic name. -");
    assert_string_equal(drop(f, both, 0), "");
    struct catalog_topic t;
    assert_true(catalog_next_topic(f->world.set, STR_NULL, &t) && str_eq(t.name, STR("d")));
    assert_false(catalog_next_topic(f->world.set, t.name, &t));
}

/* A deleted topic takes its configs and ends with it and is remembered; one made anew under its name is another one. */
void test_deleted_is_remembered(void **state)
{
    struct fixture *f = *state;
    struct topics topics;
    struct topic_view view;
    struct uuid none = {{0}};
    catalog_topics(f->world.set, &topics);
    create_one(f, "t", 2, 1);
    struct uuid old = id_of(f, "t");
    assert_string_equal(alter(f, 2, "t", "retention.ms", 0, "7000"), "t 0");
    struct set_end_offset_request_partition end = {1, 42};
    struct set_end_offset_request_topic end_topic = {STR("t"), {&end, 1}};
    struct set_end_offset_request end_request = {{&end_topic, 1}};
    assert_string_equal(ask(f, CATALOG_SET_END, 0, &end_request), "t 0 @1");
    assert_int_equal(catalog_end_offset(f->world.set, old, 1), 42);
    assert_false(topics.was_deleted(topics.ctx, old));
    doomed gone = {STR("t"), none};
    assert_string_equal(drop(f, &gone, 1), "t 0 id");
    assert_true(topics.was_deleted(topics.ctx, old));
    assert_false(topics.by_id(topics.ctx, old, &view));
    assert_false(topics.by_name(topics.ctx, STR("t"), &view));
    assert_int_equal(catalog_end_offset(f->world.set, old, 1), 0);
    create_one(f, "t", 2, 1);
    assert_true(topics.by_name(topics.ctx, STR("t"), &view));
    assert_false(uuid_eq(view.id, old));
    assert_string_equal(describe(f, 2, "t", "retention.ms", false), "retention.ms=604800000(5)");
    assert_int_equal(catalog_end_offset(f->world.set, view.id, 1), 0);
    assert_false(topics.was_deleted(topics.ctx, none));
}

/* The oldest deletions are forgotten, so that a catalogue does not grow with its past. */
void test_deletions_are_bounded(void **state)
{
    struct fixture *f = *state;
    enum { AT_ONCE = 500, ROUNDS = 21 };
    new_topic topics[AT_ONCE];
    doomed gone[AT_ONCE];
    char names[AT_ONCE][16];
    struct topics view;
    struct uuid first = {{0}}, last = {{0}};
    f->world.check = false;
    catalog_topics(f->world.set, &view);
    for (int i = 0; i < AT_ONCE; i++) {
        snprintf(names[i], sizeof names[i], "t%d", i);
        topics[i] = (new_topic){.name = str_of(names[i]), .num_partitions = 1, .replication_factor = 1};
        gone[i] = (doomed){.name = str_of(names[i])};
    }
    size_t bytes = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct create_topics_request q = {.topics = {topics, AT_ONCE}};
        struct delete_topics_request drops = {.topics = {gone, AT_ONCE}};
        ask(f, CATALOG_CREATE_TOPICS, 4, &q);
        last = id_of(f, "t0");
        first = round == 0 ? last : first;
        ask(f, CATALOG_DELETE_TOPICS, 6, &drops);
        bytes = round == ROUNDS - 2 ? f->world.pool.bytes : bytes;
        assert_true(view.was_deleted(view.ctx, first) == (round < ROUNDS - 1));
    }
    assert_true(view.was_deleted(view.ctx, last));
    assert_in_range(f->world.pool.bytes, bytes - 1000, bytes + 1000);
}

void test_set_end(void **state)
{
    struct fixture *f = *state;
    create_one(f, "t", 2, 1);
    struct set_end_offset_request_partition ends[] = {{0, 5}, {2, 5}, {1, -1}, {-1, 3}};
    struct set_end_offset_request_topic topics[] = {{STR("t"), {ends, 4}}, {STR("none"), {ends, 1}}};
    struct set_end_offset_request q = {{topics, 2}};
    assert_string_equal(ask(f, CATALOG_SET_END, 0, &q),
                        "t 0 @0\nt 3 The topic has 2 partition(s). @2\nt 42 An end offset cannot be negative. @1\n"
                        "t 3 The topic has 2 partition(s). @-1\nnone 3 There is no such topic. @0");
    assert_int_equal(catalog_end_offset(f->world.set, id_of(f, "t"), 0), 5);
    assert_int_equal(catalog_end_offset(f->world.set, id_of(f, "t"), 1), 0);
    topics[0].name = STR("none");
    ask(f, CATALOG_SET_END, 0, &q);
    assert_string_equal(f->rule, "set end: refused");
}
