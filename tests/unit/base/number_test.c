/* Byte orders, hash, pseudo-random numbers. */
#include "base_test.h"

static void byte_orders(void **state)
{
    (void)state;
    uint8_t p[8];
    put_be16(p, 0x0102);
    assert_memory_equal(p, "\x01\x02", 2);
    assert_int_equal(get_be16(p), 0x0102);
    put_be32(p, 0x01020304);
    assert_memory_equal(p, "\x01\x02\x03\x04", 4);
    assert_int_equal(get_be32(p), 0x01020304);
    put_be64(p, 0x0102030405060708);
    assert_memory_equal(p, "\x01\x02\x03\x04\x05\x06\x07\x08", 8);
    assert_int_equal(get_be64(p), 0x0102030405060708);
    put_le16(p, 0x0102);
    assert_memory_equal(p, "\x02\x01", 2);
    assert_int_equal(get_le16(p), 0x0102);
    put_le32(p, 0x01020304);
    assert_memory_equal(p, "\x04\x03\x02\x01", 4);
    assert_int_equal(get_le32(p), 0x01020304);
    put_le64(p, 0x0102030405060708);
    assert_memory_equal(p, "\x08\x07\x06\x05\x04\x03\x02\x01", 8);
    assert_int_equal(get_le64(p), 0x0102030405060708);
}

/* Values of the published XXH3: what is stored under them must be found by every later build. */
static void hash_is_xxh3(void **state)
{
    (void)state;
    assert_true(hash_bytes("", 0, 0) == 0x2d06800538d394c2u);
    assert_true(hash_bytes("orders", 6, 0) != hash_bytes("orders", 6, 1));
    assert_true(hash_bytes("orders", 6, 0) != hash_bytes("order", 5, 0));
}

/* The first outputs of xoshiro256** from the state 1, 2, 3, 4 (reference implementation). */
static void prng_is_xoshiro(void **state)
{
    (void)state;
    struct prng p = {{1, 2, 3, 4}};
    const uint64_t expected[] = {11520, 0, 1509978240, 1215971899390074240};
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_true(prng_next(&p) == expected[i]);
    }
    struct prng a, b;
    prng_seed(&a, 0);
    prng_seed(&b, 1);
    assert_true((a.s[0] | a.s[1] | a.s[2] | a.s[3]) != 0);
    assert_true(prng_next(&a) != prng_next(&b));
}

static void prng_bounds(void **state)
{
    (void)state;
    struct prng p;
    prng_seed(&p, 42);
    int seen[6] = {0};
    for (int i = 0; i < 6000; i++) {
        uint64_t value = prng_below(&p, 6);
        assert_true(value < 6);
        seen[value]++;
    }
    for (size_t i = 0; i < COUNT_OF(seen); i++) {
        assert_in_range(seen[i], 800, 1200);
    }
    assert_true(prng_below(&p, 1) == 0);
    assert_true(prng_below(&p, UINT64_MAX) < UINT64_MAX);
    CHECK_PANICS(prng_below(&p, 0));
    int hits = 0;
    for (int i = 0; i < 10000; i++) {
        hits += prng_chance(&p, 250000);
        assert_false(prng_chance(&p, 0));
        assert_true(prng_chance(&p, 1000000));
    }
    assert_in_range(hits, 2200, 2800);
}

int run_number_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(byte_orders),
        cmocka_unit_test(hash_is_xxh3),
        cmocka_unit_test(prng_is_xoshiro),
        cmocka_unit_test(prng_bounds),
    };
    return cmocka_run_group_tests_name("numbers", tests, NULL, NULL);
}
