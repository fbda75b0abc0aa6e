/* Records: type and version in front, tombstones, foreign types. */
#include "wire_test.h"

static struct arena arena;

static int setup(void **state)
{
    (void)state;
    arena_init(&arena, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

static struct record offset_commit(int16_t version, bool tombstone)
{
    struct offset_commit_key key = {.group = STR("g"), .topic = STR("t"), .partition = 3};
    struct offset_commit_value value;
    wire_init(&wire_offset_commit_value, &value);
    value.offset = 42;
    return wire_record_encode(RECORD_OFFSET_COMMIT, &key, version, tombstone ? NULL : &value, &arena);
}

static void bytes_of_a_record(void **state)
{
    (void)state;
    struct record record = offset_commit(3, false);
    assert_true(bytes_eq(record.key, LITERAL("\x00\x01"
                                             "\x00\x01g"
                                             "\x00\x01t"
                                             "\x00\x00\x00\x03")));
    assert_true(bytes_eq(record.value, LITERAL("\x00\x03"
                                               "\x00\x00\x00\x00\x00\x00\x00\x2a"
                                               "\xff\xff\xff\xff"
                                               "\x00\x00"
                                               "\x00\x00\x00\x00\x00\x00\x00\x00")));
    struct wire_decoded_record decoded;
    assert_int_equal(wire_record_decode(record, &arena, &decoded), 0);
    assert_string_equal(decoded.schema->name, "OffsetCommit");
    assert_int_equal(decoded.value_version, 3);
    assert_int_equal(((struct offset_commit_key *)decoded.key)->partition, 3);
    assert_int_equal(((struct offset_commit_value *)decoded.value)->offset, 42);
    assert_int_equal(((struct offset_commit_value *)decoded.value)->expire_timestamp, -1);
}

static void tombstones(void **state)
{
    (void)state;
    struct wire_decoded_record decoded;
    struct record record = offset_commit(3, true);
    assert_int_equal(record.value.len, -1);
    assert_int_equal(wire_record_decode(record, &arena, &decoded), 0);
    assert_null(decoded.value);
    assert_non_null(decoded.key);
}

static void what_is_no_record(void **state)
{
    (void)state;
    struct wire_decoded_record decoded;
    struct record record = offset_commit(3, false);
    for (int32_t len = 0; len < record.key.len; len++) {
        struct record cut = {{record.key.ptr, len}, record.value};
        assert_int_equal(wire_record_decode(cut, &arena, &decoded), MUSTER_E_TRUNCATED);
    }
    for (int32_t len = 0; len < record.value.len; len++) {
        struct record cut = {record.key, {record.value.ptr, len}};
        assert_int_equal(wire_record_decode(cut, &arena, &decoded), MUSTER_E_TRUNCATED);
    }
    struct record foreign = {LITERAL("\x00\x04"
                                     "\x00\x01g"),
                             BYTES_NULL};
    assert_int_equal(wire_record_decode(foreign, &arena, &decoded), MUSTER_E_NOT_FOUND);
    struct record newer = {record.key, LITERAL("\x00\x05"
                                               "\x00")};
    assert_int_equal(wire_record_decode(newer, &arena, &decoded), MUSTER_E_VERSION);
    struct record longer = {LITERAL("\x00\x01"
                                    "\x00\x01g"
                                    "\x00\x01t"
                                    "\x00\x00\x00\x03"
                                    "x"),
                            record.value};
    assert_int_equal(wire_record_decode(longer, &arena, &decoded), MUSTER_E_MALFORMED);
}

static void check_dump(struct record record, const char *expected)
{
    struct buf out;
    buf_init(&out, 0);
    assert_int_equal(wire_record_dump(record, &arena, &out), 0);
    assert_int_equal(buf_put(&out, "", 1), 0);
    assert_string_equal((const char *)out.ptr, expected);
    buf_fini(&out);
}

static void dumps(void **state)
{
    (void)state;
    check_dump(offset_commit(3, true),
               "{\"type\":\"OffsetCommit\",\"key\":{\"group\":\"g\",\"topic\":\"t\",\"partition\":3},\"value\":null}");
    check_dump(offset_commit(4, false), "{\"type\":\"OffsetCommit\",\"key\":{\"group\":\"g\",\"topic\":\"t\",\"partition\":3},"
                                        "\"value\":{\"offset\":42,\"leaderEpoch\":-1,\"metadata\":\"\",\"commitTimestamp\":0}}");
    check_dump((struct record){LITERAL("\x00\x04"
                                       "abcd"),
                               LITERAL("ab")},
               "{\"type\":4,\"key\":\"YWJjZA==\",\"value\":\"YWI=\"}");
    check_dump((struct record){LITERAL("\x00\x04"
                                       "abc"),
                               BYTES_NULL},
               "{\"type\":4,\"key\":\"YWJj\",\"value\":null}");
    struct buf out;
    buf_init(&out, 0);
    assert_int_equal(wire_record_dump((struct record){LITERAL("\x00"), BYTES_NULL}, &arena, &out), MUSTER_E_TRUNCATED);
    buf_fini(&out);
}

static void our_types_have_our_numbers(void **state)
{
    (void)state;
    struct classic_group_key key = {.group_id = STR("g")};
    struct classic_group_value value;
    wire_init(&wire_classic_group_value, &value);
    value.generation = 5;
    value.state = 3;
    struct record record = wire_record_encode(RECORD_CLASSIC_GROUP, &key, 0, &value, &arena);
    assert_true(bytes_eq(record.key, LITERAL("\x40\x00"
                                             "\x00\x01g")));
    struct wire_decoded_record decoded;
    assert_int_equal(wire_record_decode(record, &arena, &decoded), 0);
    const struct classic_group_value *copy = decoded.value;
    assert_int_equal(copy->generation, 5);
    assert_true(str_is_null(copy->leader));
}

int run_record_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_of_a_record, setup, teardown),
        cmocka_unit_test_setup_teardown(tombstones, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_record, setup, teardown),
        cmocka_unit_test_setup_teardown(dumps, setup, teardown),
        cmocka_unit_test_setup_teardown(our_types_have_our_numbers, setup, teardown),
    };
    return cmocka_run_group_tests_name("record", tests, NULL, NULL);
}
