#include "fixture.h"
#include "tests.h"

#include "catalog/rules.h"

#include <string.h>

static const char *register_node(struct fixture *f, int32_t id, uint8_t incarnation, const char *host, const char *rack)
{
    struct register_node_request q = {.node_id = id, .incarnation = {{incarnation}}, .host = str_of(host), .port = 9092};
    q.peer_address = STR("h:9093");
    q.rack = str_of(rack);
    return ask(f, CATALOG_REGISTER_NODE, 0, &q);
}

void test_nodes(void **state)
{
    struct fixture *f = *state;
    struct catalog_node node;
    assert_string_equal(register_node(f, 2, 2, "h", NULL), "node 0");
    assert_int_equal(f->records, 0); /* as it was */
    assert_string_equal(register_node(f, 2, 2, "elsewhere", "r1"), "node 0");
    assert_int_equal(f->records, 1);
    assert_string_equal(register_node(f, 2, 9, "h", NULL), "node 42 Node 2 is registered with incarnation AgAAAAAAAAAAAAAAAAAAAA.");
    assert_string_equal(register_node(f, -1, 9, "h", NULL), "node 42 A node id cannot be negative.");
    assert_string_equal(register_node(f, 2147483647, 9, "h", NULL), "node 0");
    int32_t seen[5] = {0};
    int count = 0;
    for (bool more = catalog_next_node(f->world.set, -1, &node); more; more = catalog_next_node(f->world.set, node.node_id, &node)) {
        seen[count++] = node.node_id;
        if (node.node_id == 2) {
            assert_true(str_eq(node.host, STR("elsewhere")) && str_eq(node.rack, STR("r1")) && node.port == 9092);
        } else {
            assert_true(str_is_null(node.rack));
        }
    }
    assert_int_equal(count, 4);
    assert_true(seen[0] == 1 && seen[1] == 2 && seen[2] == 3 && seen[3] == 2147483647);
}

static const char *producer_id(struct fixture *f, const char *transactional, int64_t id, int16_t epoch)
{
    struct init_producer_id_request q = {.transactional_id = str_of(transactional), .producer_id = id, .producer_epoch = epoch};
    return ask(f, CATALOG_PRODUCER_ID, 5, &q);
}

void test_producer_ids(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(producer_id(f, NULL, -1, -1), "0 0/0");
    assert_string_equal(producer_id(f, NULL, -1, -1), "0 1/0");
    assert_string_equal(producer_id(f, NULL, 7, 3), "0 2/0");
    assert_string_equal(producer_id(f, NULL, 7, -1), "42 -1/-1");
    assert_string_equal(producer_id(f, "", -1, -1), "42 -1/-1");
    assert_string_equal(producer_id(f, "tx", -1, -1), "42 -1/-1");
    assert_string_equal(producer_id(f, NULL, -1, -1), "0 3/0");
}

void test_cursor(void **state)
{
    struct fixture *f = *state;
    struct group_op op = {.kind = CATALOG_CURSOR, .group_id = STR_NULL, .catalog_index = 17};
    world_run(&f->world, &op);
    assert_int_equal(group_set_cursor(f->world.set), 17);
    op.catalog_index = 16;
    world_tick(&f->world, 5000);
    world_run(&f->world, &op);
    assert_int_equal(group_set_cursor(f->world.set), 17);
    assert_string_equal(f->rule, "cursor: already there");
    assert_int_equal(group_set_clock(f->world.set), 5000); /* time passes in a shard where nothing else happens */
}

/* Only what concerns groups makes the other shards look at theirs. */
void test_what_moves_the_index(void **state)
{
    struct fixture *f = *state;
    uint64_t index = group_set_catalog_index(f->world.set);
    assert_int_equal(index, 0);
    create_one(f, "t", 1, 1);
    assert_true(group_set_catalog_index(f->world.set) > index);
    index = group_set_catalog_index(f->world.set);
    producer_id(f, NULL, -1, -1);
    register_node(f, 9, 9, "h", NULL);
    struct set_end_offset_request_partition end = {0, 42};
    struct set_end_offset_request_topic topic = {STR("t"), {&end, 1}};
    struct set_end_offset_request q = {{&topic, 1}};
    ask(f, CATALOG_SET_END, 0, &q);
    assert_int_equal(group_set_catalog_index(f->world.set), index);
    alter(f, 32, "g", "consumer.session.timeout.ms", 0, "50000");
    assert_true(group_set_catalog_index(f->world.set) > index);
}

/* The whole catalogue through a snapshot in small slices, taken while it is changed. */
void test_snapshot_under_change(void **state)
{
    struct fixture *f = *state;
    struct pool pool = {0};
    struct arena arena;
    struct buf run;
    arena_init(&arena, 0);
    buf_init(&run, 0);
    create_one(f, "a", 1, 1);
    create_one(f, "b", 1, 1);
    alter(f, 2, "a", "retention.ms", 0, "1");
    alter(f, 32, "g", "consumer.session.timeout.ms", 0, "50000");
    producer_id(f, NULL, -1, -1);
    uint64_t hash = group_set_hash(f->world.set);
    f->world.check = false;
    struct group_set *copy = group_set_new(&pool, 1);
    group_snapshot_begin(f->world.set);
    bool more = true;
    for (int step = 0; more; step++) {
        more = group_snapshot_next(f->world.set, 1, &run);
        assert_int_equal(group_restore(copy, (struct bytes){run.ptr, (int32_t)run.len}, &arena), 0);
        buf_clear(&run);
        if (step == 1) {
            struct delete_topics_request_delete_topic_state gone = {.name = STR("a")};
            struct delete_topics_request q = {.topics = {&gone, 1}};
            ask(f, CATALOG_DELETE_TOPICS, 6, &q);
            create_one(f, "c", 1, 1);
            alter(f, 32, "g", "consumer.session.timeout.ms", 1, NULL);
            producer_id(f, NULL, -1, -1);
        }
    }
    group_snapshot_end(f->world.set);
    assert_int_equal(group_set_hash(copy), hash);
    struct catalog_topic t;
    struct str value;
    assert_true(catalog_find_topic(copy, STR("a"), &t) && !catalog_find_topic(copy, STR("c"), &t));
    assert_true(catalog_config(copy, 32, STR("g"), STR("consumer.session.timeout.ms"), &value) && str_eq(value, STR("50000")));
    assert_true(catalog_config(copy, 2, STR("a"), STR("retention.ms"), &value) && str_eq(value, STR("1")));
    group_set_free(copy);
    assert_int_equal(pool.bytes, 0);
    buf_fini(&run);
    arena_fini(&arena);
}

/* Whatever decodes can be applied, in any order, and the state stays sound: random records over few keys, then all of them away again. */
void test_any_history_applies(void **state)
{
    struct fixture *f = *state;
    struct prng random;
    struct arena arena;
    struct pool pool = {0};
    arena_init(&arena, 0);
    prng_seed(&random, 7);
    struct group_set *set = group_set_new(&pool, 0);
    for (int step = 0; step < 20000; step++) {
        char name[2] = {(char)('a' + prng_below(&random, 3)), '\0'};
        struct uuid id = {{(uint8_t)prng_below(&random, 3)}};
        bool gone = step >= 15000 || prng_below(&random, 3) == 0;
        struct record r;
        struct topic_key topic = {str_of(name)};
        struct topic_value topic_value = {id, (int32_t)prng_below(&random, 5) - 1, 1, step};
        struct topic_deleted_key deleted = {id};
        struct topic_deleted_value deleted_value = {str_of(name), (int64_t)prng_below(&random, 2)};
        struct config_key config = {2, str_of(name), STR("k")};
        struct config_value config_value = {str_of(name)};
        struct topic_end_key end = {id, 0};
        struct topic_end_value end_value = {step};
        switch (prng_below(&random, 4)) {
        case 0:
            r = wire_record_encode(RECORD_TOPIC, &topic, 0, gone ? NULL : &topic_value, &arena);
            break;
        case 1:
            r = wire_record_encode(RECORD_TOPIC_DELETED, &deleted, 0, gone ? NULL : &deleted_value, &arena);
            break;
        case 2:
            r = wire_record_encode(RECORD_CONFIG, &config, 0, gone ? NULL : &config_value, &arena);
            break;
        default:
            r = wire_record_encode(RECORD_TOPIC_END, &end, 0, gone ? NULL : &end_value, &arena);
            break;
        }
        assert_true(group_apply(set, (uint64_t)step + 1, r, &arena));
        struct catalog_topic by_name, by_id;
        if (catalog_find_topic(set, str_of(name), &by_name)) {
            assert_true(catalog_find_topic_id(set, by_name.id, &by_id) && uuid_eq(by_name.id, by_id.id));
        }
        arena_clear(&arena);
    }
    struct group_set_counts counts;
    group_set_counts(set, &counts);
    assert_int_equal(counts.topics, 0);
    assert_int_equal(group_set_hash(set), 0);
    group_set_free(set);
    assert_int_equal(pool.bytes, 0);
    arena_fini(&arena);
    (void)f;
}

void test_every_rule_was_hit(void **state)
{
    (void)state;
    for (int i = 0; i < CATALOG_RULE_COUNT; i++) {
        if (!rule_was_hit(catalog_rules[i])) {
            fail_msg("no test hits the rule \"%s\"", catalog_rules[i]);
        }
    }
}
