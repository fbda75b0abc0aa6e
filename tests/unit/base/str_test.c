/* Views and UUIDs. */
#include "base_test.h"

static void null_and_empty_differ(void **state)
{
    (void)state;
    assert_true(str_is_null(STR_NULL));
    assert_true(str_is_null(str_of(NULL)));
    assert_false(str_is_null(STR("")));
    assert_true(str_is_empty(STR_NULL));
    assert_true(str_is_empty(STR("")));
    assert_false(str_is_empty(STR("a")));
    assert_false(str_eq(STR_NULL, STR("")));
    assert_true(str_eq(STR_NULL, str_of(NULL)));
    assert_true(str_eq((struct str){"x", -1}, (struct str){NULL, -7}));
    assert_true(str_eq(STR(""), (struct str){NULL, 0}));
    assert_true(str_cmp(STR_NULL, STR("")) < 0);
    assert_true(str_cmp(STR(""), STR_NULL) > 0);
    assert_int_equal(str_cmp(STR_NULL, STR_NULL), 0);
}

static void blank_is_white_space_alone(void **state)
{
    (void)state;
    assert_false(str_is_blank(STR_NULL));
    assert_true(str_is_blank(STR("")));
    assert_true(str_is_blank(STR(" \t\n\v\f\r")));
    assert_false(str_is_blank(STR(" a ")));
    assert_false(str_is_blank(STR("\0")));
    assert_false(str_is_blank(STR("\xc2\xa0"))); /* no-break space */
}

static void order_is_of_bytes(void **state)
{
    (void)state;
    const struct str sorted[] = {STR_NULL, STR(""), STR("\0"), STR("a"), STR("a\0"), STR("aa"), STR("b"), STR("\xff")};
    for (size_t i = 0; i < COUNT_OF(sorted); i++) {
        for (size_t k = 0; k < COUNT_OF(sorted); k++) {
            assert_int_equal(str_cmp(sorted[i], sorted[k]), (i > k) - (i < k));
            assert_int_equal(str_eq(sorted[i], sorted[k]), i == k);
            assert_int_equal(bytes_eq(bytes_of_str(sorted[i]), bytes_of_str(sorted[k])), i == k);
        }
    }
    assert_int_equal(str_of("orders").len, 6);
}

static void uuid_texts(void **state)
{
    (void)state;
    struct uuid id = {{0x0f, 0x0f, 0x6d, 0x64, 0xf2, 0x06, 0xba, 0x92, 0xfb, 0xff, 0xbf, 0x00, 0x01, 0x02, 0x03, 0xff}};
    char text[23], dashed[37];
    uuid_text(id, text);
    assert_string_equal(text, "Dw9tZPIGupL7_78AAQID_w");
    uuid_dashed(id, dashed);
    assert_string_equal(dashed, "0f0f6d64-f206-ba92-fbff-bf00010203ff");
    struct uuid parsed = {{0}};
    assert_int_equal(uuid_parse(str_of(text), &parsed), 0);
    assert_true(uuid_eq(parsed, id));
    uuid_text((struct uuid){{0}}, text);
    assert_string_equal(text, "AAAAAAAAAAAAAAAAAAAAAA");
    assert_true(uuid_is_zero((struct uuid){{0}}));
    assert_false(uuid_is_zero(id));
    assert_true(uuid_cmp(id, (struct uuid){{0}}) > 0);
    assert_true(uuid_cmp((struct uuid){{0}}, id) < 0);
    assert_int_equal(uuid_cmp(id, parsed), 0);
}

static void uuid_texts_come_back(void **state)
{
    (void)state;
    struct prng random;
    prng_seed(&random, 1);
    for (int i = 0; i < 1000; i++) {
        struct uuid id, parsed;
        char text[23];
        memcpy(id.b, (uint64_t[]){prng_next(&random), prng_next(&random)}, sizeof(id.b));
        uuid_text(id, text);
        assert_int_equal(uuid_parse(str_of(text), &parsed), 0);
        assert_true(uuid_eq(id, parsed));
    }
}

static void what_is_no_uuid(void **state)
{
    (void)state;
    struct uuid id = {{7}};
    assert_int_equal(uuid_parse(STR_NULL, &id), MUSTER_E_MALFORMED);
    assert_int_equal(uuid_parse(STR("AAAAAAAAAAAAAAAAAAAAA"), &id), MUSTER_E_MALFORMED);
    assert_int_equal(uuid_parse(STR("AAAAAAAAAAAAAAAAAAAAAAA"), &id), MUSTER_E_MALFORMED);
    assert_int_equal(uuid_parse(STR("AAAAAAAAAAAAAAAAAAAAA="), &id), MUSTER_E_MALFORMED);
    assert_int_equal(uuid_parse(STR("AAAAAAAAAA+AAAAAAAAAAA"), &id), MUSTER_E_MALFORMED);
    assert_int_equal(id.b[0], 7);
}

int run_str_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_and_empty_differ), cmocka_unit_test(blank_is_white_space_alone),
        cmocka_unit_test(order_is_of_bytes),     cmocka_unit_test(uuid_texts),
        cmocka_unit_test(uuid_texts_come_back),  cmocka_unit_test(what_is_no_uuid),
    };
    return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
