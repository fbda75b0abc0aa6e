/* The JSON form beyond what the golden samples show. */
#include "wire_test.h"

static void check_text(struct str text, const char *expected)
{
    struct buf out;
    buf_init(&out, 0);
    assert_int_equal(wire_dump_str(text, &out), 0);
    assert_int_equal(buf_put(&out, "", 1), 0);
    assert_string_equal((const char *)out.ptr, expected);
    buf_fini(&out);
}

static void strings(void **state)
{
    (void)state;
    check_text(STR_NULL, "null");
    check_text(STR(""), "\"\"");
    check_text(STR("a\"b\\c/d"), "\"a\\\"b\\\\c/d\"");
    check_text(STR("\n\r\t\x01\x7f"), "\"\\n\\r\\t\\u0001\\u007f\"");
    check_text(STR("gr\xc3\xbcn \xe6\x97\xa5 \xf0\x9f\x98\x80"), "\"gr\xc3\xbcn \xe6\x97\xa5 \xf0\x9f\x98\x80\"");
}

static void strings_that_are_not_utf8(void **state)
{
    (void)state;
    check_text(STR("\xff"
                   "a"),
               "\"\\u00ffa\"");
    check_text(STR("\xc3"), "\"\\u00c3\""); /* ends early */
    check_text(STR("\xc3"
                   "a"),
               "\"\\u00c3a\"");
    check_text(STR("\xc0\x80"), "\"\\u00c0\\u0080\""); /* a long form */
    check_text(STR("\xe0\x80\x80"), "\"\\u00e0\\u0080\\u0080\"");
    check_text(STR("\xed\xa0\x80"), "\"\\u00ed\\u00a0\\u0080\""); /* a surrogate */
    check_text(STR("\xf4\x90\x80\x80"), "\"\\u00f4\\u0090\\u0080\\u0080\"");
}

static void fields_follow_the_version(void **state)
{
    (void)state;
    struct heartbeat_request request;
    struct buf out;
    wire_init(&wire_heartbeat_request, &request);
    request.group_id = STR("g");
    buf_init(&out, 0);
    assert_int_equal(wire_dump(&wire_heartbeat_request, 2, &request, &out), 0);
    assert_int_equal(wire_dump(&wire_heartbeat_request, 3, &request, &out), 0);
    assert_int_equal(buf_put(&out, "", 1), 0);
    assert_string_equal((const char *)out.ptr, "{\"GroupId\":\"g\",\"GenerationId\":0,\"MemberId\":\"\"}"
                                               "{\"GroupId\":\"g\",\"GenerationId\":0,\"MemberId\":\"\",\"GroupInstanceId\":null}");
    buf_fini(&out);
}

static void empty_messages(void **state)
{
    (void)state;
    struct cluster_status_request request;
    struct buf out;
    wire_init(&wire_cluster_status_request, &request);
    buf_init(&out, 0);
    assert_int_equal(wire_dump(&wire_cluster_status_request, 0, &request, &out), 0);
    assert_int_equal(out.len, 2);
    assert_memory_equal(out.ptr, "{}", 2);
    buf_fini(&out);
}

static void the_limit_is_told(void **state)
{
    (void)state;
    struct heartbeat_request request;
    wire_init(&wire_heartbeat_request, &request);
    struct buf whole;
    buf_init(&whole, 0);
    assert_int_equal(wire_dump(&wire_heartbeat_request, 4, &request, &whole), 0);
    for (size_t limit = 1; limit < whole.len; limit++) {
        struct buf out;
        buf_init(&out, limit);
        assert_int_equal(wire_dump(&wire_heartbeat_request, 4, &request, &out), MUSTER_E_LIMIT);
        buf_fini(&out);
    }
    buf_fini(&whole);
}

int run_dump_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings),        cmocka_unit_test(strings_that_are_not_utf8), cmocka_unit_test(fields_follow_the_version),
        cmocka_unit_test(empty_messages), cmocka_unit_test(the_limit_is_told),
    };
    return cmocka_run_group_tests_name("dump", tests, NULL, NULL);
}
