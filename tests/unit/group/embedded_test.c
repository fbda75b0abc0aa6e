/* embedded_test.c: subscriptions and assignments of the classic protocol byte by byte. */
#include "tests.h"

#include <string.h>

#include "embedded.h"

#define BYTES(...)                                                                                                                         \
    (struct bytes)                                                                                                                         \
    {                                                                                                                                      \
        (const uint8_t[]){__VA_ARGS__}, (int32_t)sizeof((const uint8_t[]){__VA_ARGS__})                                                    \
    }

/* Version, topics ["in"], user data "u", owned [in: 1], generation 7, rack "r"; each part from a version on. */
#define TOPICS 0, 0, 0, 1, 0, 2, 'i', 'n'
#define USER   0, 0, 0, 1, 'u'
#define OWNED  0, 0, 0, 1, 0, 2, 'i', 'n', 0, 0, 0, 1, 0, 0, 0, 1
#define LATER  0, 0, 0, 7
#define RACK   0, 1, 'r'

static void check_subscription(struct bytes in, int16_t version)
{
    struct arena arena;
    struct consumer_protocol_subscription s;
    arena_init(&arena, 0);
    assert_true(embedded_subscription(in, &arena, &s));
    assert_int_equal(embedded_version(in), version);
    assert_int_equal(s.topics.len, 1);
    assert_true(str_eq(s.topics.v[0], STR("in")));
    assert_int_equal(s.user_data.len, 1);
    assert_int_equal(s.owned_partitions.len, version >= 1 ? 1 : 0);
    assert_true(version < 1 || s.owned_partitions.v[0].partitions.v[0] == 1);
    assert_int_equal(s.generation_id, version >= 2 ? 7 : -1);
    assert_true(version >= 3 ? str_eq(s.rack_id, STR("r")) : str_is_null(s.rack_id));
    arena_fini(&arena);
}

static void test_subscriptions(void **state)
{
    (void)state;
    check_subscription(BYTES(0, 0, TOPICS, USER), 0);
    check_subscription(BYTES(0, 1, TOPICS, USER, OWNED), 1);
    check_subscription(BYTES(0, 2, TOPICS, USER, OWNED, LATER), 2);
    check_subscription(BYTES(0, 3, TOPICS, USER, OWNED, LATER, RACK), 3);
    /* Of a later version, and with something behind its end. */
    check_subscription(BYTES(0, 9, TOPICS, USER, OWNED, LATER, RACK, 1, 2, 3), 3);
    check_subscription(BYTES(0, 0, TOPICS, USER, 1, 2, 3), 0);
}

/* What ends early, has no version or a length beyond its end. */
static void test_unreadable(void **state)
{
    (void)state;
    struct arena arena;
    struct consumer_protocol_subscription s;
    struct consumer_protocol_assignment a;
    struct bytes whole = BYTES(0, 3, TOPICS, USER, OWNED, LATER, RACK);
    arena_init(&arena, 0);
    for (int32_t len = 0; len < whole.len; len++) {
        assert_false(embedded_subscription((struct bytes){whole.ptr, len}, &arena, &s));
    }
    assert_false(embedded_subscription(BYTES_NULL, &arena, &s));
    assert_false(embedded_subscription(BYTES(0xff, 0xff, TOPICS, USER), &arena, &s));
    assert_false(embedded_subscription(BYTES(0, 0, 0x7f, 0xff, 0xff, 0xff, 0), &arena, &s));
    assert_false(embedded_assignment(BYTES(0), &arena, &a));
    assert_false(embedded_assignment(BYTES(0, 0, OWNED), &arena, &a));
    assert_int_equal(embedded_version(BYTES(0)), 0);
    assert_int_equal(embedded_version(BYTES(0x80, 0)), 0);
    arena_fini(&arena);
}

static void test_assignments(void **state)
{
    (void)state;
    struct arena arena;
    struct consumer_protocol_assignment a;
    int32_t partition = 1;
    struct consumer_protocol_assignment_topic_partition in = {STR("in"), {&partition, 1}};
    const uint8_t expected[] = {0, 0, OWNED, 0xff, 0xff, 0xff, 0xff};
    arena_init(&arena, 0);
    wire_init(&wire_consumer_protocol_assignment, &a);
    a.assigned_partitions.v = &in;
    a.assigned_partitions.len = 1;
    for (int16_t version = 0; version <= 3; version++) {
        struct bytes out = embedded_assignment_write(&a, version, &arena);
        struct consumer_protocol_assignment back;
        assert_int_equal(out.len, sizeof expected);
        assert_int_equal(out.ptr[1], version);
        assert_memory_equal(out.ptr + 2, expected + 2, sizeof expected - 2);
        assert_true(embedded_assignment(out, &arena, &back));
        assert_int_equal(back.assigned_partitions.len, 1);
        assert_int_equal(back.assigned_partitions.v[0].partitions.v[0], 1);
        assert_int_equal(back.user_data.len, -1);
    }
    arena_fini(&arena);
}

int run_embedded_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_subscriptions),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_assignments),
    };
    return cmocka_run_group_tests_name("embedded", tests, NULL, NULL);
}
