/* out_test.c: tables, JSON, and what members of classic groups tell each other. */
#include "run.h"

#include "out.h"

static int setup(void **state)
{
    struct arena *arena = calloc(1, sizeof(*arena));
    assert_non_null(arena);
    arena_init(arena, 0);
    *state = arena;
    return 0;
}

static int teardown(void **state)
{
    arena_fini(*state);
    free(*state);
    return 0;
}

static char *print(const struct table *t)
{
    char *text;
    size_t len;
    FILE *to = open_memstream(&text, &len);
    table_print(t, to);
    fclose(to);
    return text;
}

static void tables_are_aligned(void **state)
{
    static const char *const headers[] = {"NAME", "N", "LAST"};
    struct table t;
    table_init(&t, *state, headers, 3);
    table_text(&t, STR("a"));
    table_number(&t, 5);
    table_text(&t, STR_NULL);
    table_text(&t, STR("gr\xc3\xbc\xc3\x9f"));
    table_number_or_dash(&t, -1);
    table_text(&t, STR("x"));
    table_text(&t, STR(""));
    table_number(&t, 12345);
    table_text(&t, STR("y z"));
    char *text = print(&t);
    assert_string_equal(text, "NAME      N  LAST\n"
                              "a         5  -\n"
                              "gr\xc3\xbc\xc3\x9f      -  x\n"
                              "\"\"    12345  y z\n");
    free(text);
}

static void a_table_without_rows_is_its_header(void **state)
{
    static const char *const headers[] = {"A", "B"};
    struct table t;
    table_init(&t, *state, headers, 2);
    char *text = print(&t);
    assert_string_equal(text, "A  B\n");
    free(text);
}

static void assert_safe(struct arena *arena, struct str in, const char *out)
{
    struct str safe = out_text(in, arena);
    assert_int_equal(safe.len, strlen(out));
    assert_memory_equal(safe.ptr, out, strlen(out));
}

/* A group id from a client must not steer the terminal. */
static void control_characters_are_not_printed(void **state)
{
    assert_safe(*state, STR("\x1b[2Jx\n"), "\\x1b[2Jx\\x0a");
    assert_safe(*state, STR("\x7f"), "\\x7f");
    assert_safe(*state, STR("\xc2\x9b"), "\\xc2\\x9b");
    assert_safe(*state, STR("\xff\xc3"), "\\xff\\xc3");
    assert_safe(*state, STR("\xed\xa0\x80"), "\\xed\\xa0\\x80");
    assert_safe(*state, STR("\xe2\x82\xac"), "\xe2\x82\xac");
    assert_safe(*state, (struct str){"a\0b", 3}, "a\\x00b");
}

static void assert_json(json_t *value, const char *text)
{
    char *dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    assert_string_equal(dumped, text);
    free(dumped);
    json_decref(value);
}

static void json_takes_any_bytes(void **state)
{
    (void)state;
    assert_json(out_json_text(STR_NULL), "null");
    assert_json(out_json_text(STR("")), "\"\"");
    assert_json(out_json_text(STR("a\"b")), "\"a\\\"b\"");
    assert_json(out_json_text(STR("a\xff")), "\"a\xc3\xbf\"");
    assert_json(out_json_text((struct str){"a\0b", 3}), "\"a\\u0000b\"");
    assert_json(out_json_base64(BYTES_NULL), "null");
    assert_json(out_json_base64((struct bytes){(const uint8_t *)"abcd", 4}), "\"YWJjZA==\"");
}

static void times_are_utc(void **state)
{
    struct str text = out_time(0, *state);
    assert_true(str_eq(text, STR("1970-01-01T00:00:00.000Z")));
    text = out_time(1790000000123, *state);
    assert_true(str_eq(text, STR("2026-09-21T14:13:20.123Z")));
    text = out_time(-1, *state);
    assert_true(str_eq(text, STR("1969-12-31T23:59:59.999Z")));
    text = out_time(INT64_MAX, *state);
    assert_true(text.len > 0);
    text = out_time(INT64_MIN, *state);
    assert_true(text.len > 0);
}

/* ---- the consumer protocol ---- */

static const uint8_t subscription_v3[] = {0, 3, 0,   0,  0, 2, 0,   1, 'a', 0, 1, 'b', 0, 0, 0, 2, 7, 7, /* topics, user data */
                                          0, 0, 0,   1,  0, 1, 'a', 0, 0,   0, 1, 0,   0, 0, 5,          /* owned a[5] */
                                          0, 0, 0,   9,                                                  /* generation */
                                          0, 2, 'r', '1'};                                               /* rack */

static void subscriptions_of_every_version(void **state)
{
    struct consumer_subscription s;
    assert_true(consumer_subscription_parse((struct bytes){subscription_v3, sizeof(subscription_v3)}, *state, &s));
    assert_int_equal(s.version, 3);
    assert_int_equal(s.topics.len, 2);
    assert_int_equal(s.user_data.len, 2);
    assert_int_equal(s.owned.len, 1);
    assert_int_equal(s.owned.v[0].partitions.v[0], 5);
    assert_int_equal(s.generation, 9);
    assert_true(str_eq(s.rack, STR("r1")));
    static const uint8_t v0[] = {0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};
    assert_true(consumer_subscription_parse((struct bytes){v0, sizeof(v0)}, *state, &s));
    assert_int_equal(s.topics.len, 0);
    assert_int_equal(s.user_data.len, -1);
    static const uint8_t v9[] = {0, 9, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 42, 42};
    assert_true(consumer_subscription_parse((struct bytes){v9, sizeof(v9)}, *state, &s));
}

static void cut_and_foreign_bytes_are_refused(void **state)
{
    struct consumer_subscription s;
    struct consumer_assignment a;
    for (int32_t len = 0; len < (int32_t)sizeof(subscription_v3); len++) {
        assert_false(consumer_subscription_parse((struct bytes){subscription_v3, len}, *state, &s));
    }
    static const uint8_t huge[] = {0, 0, 0x7f, 0xff, 0xff, 0xff};
    assert_false(consumer_subscription_parse((struct bytes){huge, sizeof(huge)}, *state, &s));
    assert_false(consumer_assignment_parse((struct bytes){huge, sizeof(huge)}, *state, &a));
    static const uint8_t left_over[] = {0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 1};
    assert_false(consumer_subscription_parse((struct bytes){left_over, sizeof(left_over)}, *state, &s));
    assert_false(consumer_subscription_parse(BYTES_NULL, *state, &s));
    assert_true(consumer_assignment_parse(BYTES_NULL, *state, &a));
    assert_int_equal(a.topics.len, 0);
    assert_json(consumer_assignment_json((struct bytes){huge, sizeof(huge)}, *state), "{\"bytes\":6}");
}

static void partitions_as_text(void **state)
{
    static const uint8_t bytes[] = {0, 0, 0, 0, 0, 2, 0, 1, 'a', 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 1, 'b', 0, 0, 0, 0, 0, 0, 0, 0};
    struct consumer_assignment a;
    assert_true(consumer_assignment_parse((struct bytes){bytes, sizeof(bytes)}, *state, &a));
    struct str text = topic_partitions_text(&a.topics, *state);
    assert_true(str_eq(text, STR("a[0,3] b[]")));
    assert_json(topic_partitions_json(&a.topics), "[{\"topic\":\"a\",\"partitions\":[0,3]},{\"topic\":\"b\",\"partitions\":[]}]");
}

static void one_is_singular(void **state)
{
    assert_true(str_eq(out_count(0, "batch", "batches", *state), STR("0 batches")));
    assert_true(str_eq(out_count(1, "batch", "batches", *state), STR("1 batch")));
    assert_true(str_eq(out_count(2, "batch", "batches", *state), STR("2 batches")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tables_are_aligned, setup, teardown),
        cmocka_unit_test_setup_teardown(a_table_without_rows_is_its_header, setup, teardown),
        cmocka_unit_test_setup_teardown(control_characters_are_not_printed, setup, teardown),
        cmocka_unit_test(json_takes_any_bytes),
        cmocka_unit_test_setup_teardown(times_are_utc, setup, teardown),
        cmocka_unit_test_setup_teardown(subscriptions_of_every_version, setup, teardown),
        cmocka_unit_test_setup_teardown(cut_and_foreign_bytes_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(partitions_as_text, setup, teardown),
        cmocka_unit_test_setup_teardown(one_is_singular, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
