/* decode(encode(x)) = x for random x, for every message in every version. */
#include "random_value.h"
#include "wire_test.h"

enum { ROUNDS = 40 };

static void check_equal_dumps(const struct wire_msg *msg, int16_t version, const void *a, const void *b)
{
    struct buf first, second;
    buf_init(&first, 0);
    buf_init(&second, 0);
    assert_int_equal(wire_dump(msg, version, a, &first), 0);
    assert_int_equal(wire_dump(msg, version, b, &second), 0);
    assert_int_equal(first.len, second.len);
    assert_memory_equal(first.ptr, second.ptr, first.len);
    buf_fini(&first);
    buf_fini(&second);
}

/* A copy in one block of just the size that was asked for stands when all that it was made of is gone. */
static void check_copy(const struct wire_msg *msg, int16_t version, struct bytes body)
{
    struct arena source, scratch;
    arena_init(&source, 0);
    arena_init(&scratch, 0);
    void *value = arena_get(&source, msg->type->size);
    struct bytes text = arena_bytes(&source, body);
    assert_int_equal(wire_decode(msg, version, text, &source, value, NULL), 0);
    size_t size = wire_copy_size(msg->type, value);
    void *block = test_malloc(size);
    void *copy = wire_copy(msg->type, value, block);
    assert_ptr_equal(copy, block);
    arena_fini(&source);
    assert_true(bytes_eq(body, wire_encode(msg, version, copy, &scratch)));
    arena_fini(&scratch);
    test_free(block);
}

/* Nothing of the text it was decoded from is needed any more; the arrays stay where they are. */
static void check_own(const struct wire_msg *msg, int16_t version, struct bytes body, struct arena *arena)
{
    void *value = arena_get(arena, msg->type->size);
    uint8_t *text = test_malloc((size_t)body.len + 1);
    memcpy(text, body.ptr, (size_t)body.len);
    assert_int_equal(wire_decode(msg, version, (struct bytes){text, body.len}, arena, value, NULL), 0);
    wire_own(msg->type, value, arena);
    test_free(text);
    assert_true(bytes_eq(body, wire_encode(msg, version, value, arena)));
}

static void check_round(const struct wire_msg *msg, int16_t version, struct prng *random, struct arena *arena)
{
    void *value = random_value(msg, version, random, arena);
    struct bytes body = wire_encode(msg, version, value, arena);
    void *copy = arena_get(arena, msg->type->size);
    size_t used = 0;
    int rc = wire_decode(msg, version, body, arena, copy, &used);
    if (rc != 0 || used != (size_t)body.len) {
        fail_msg("%s version %d: rc %d, %zu of %d bytes used", msg->name, version, rc, used, body.len);
    }
    assert_true(bytes_eq(body, wire_encode(msg, version, copy, arena)));
    check_equal_dumps(msg, version, value, copy);
    check_copy(msg, version, body);
    check_own(msg, version, body, arena);
    int32_t cut = (int32_t)prng_below(random, (uint64_t)body.len + 1);
    if (cut < body.len) {
        assert_true(wire_decode(msg, version, (struct bytes){body.ptr, cut}, arena, copy, NULL) < 0);
    }
}

static void every_message_every_version(void **state)
{
    (void)state;
    struct prng random;
    struct arena arena;
    prng_seed(&random, 4711);
    arena_init(&arena, 0);
    int rounds = 0;
    for (size_t i = 0; i < all_message_count(); i++) {
        const struct wire_msg *msg = all_message(i);
        for (int16_t version = msg->min_version; version <= msg->max_version; version++) {
            for (int round = 0; round < ROUNDS; round++, rounds++) {
                check_round(msg, version, &random, &arena);
                arena_clear(&arena);
            }
        }
    }
    assert_true(rounds > 400 * ROUNDS);
    arena_fini(&arena);
}

/* A random byte changed anywhere: refused or read, never more. Sanitizers watch. */
static void damaged_bodies_are_survived(void **state)
{
    (void)state;
    struct prng random;
    struct arena arena;
    prng_seed(&random, 815);
    arena_init(&arena, 1 << 20);
    int refused = 0, read = 0;
    for (int round = 0; round < 20000; round++) {
        const struct wire_msg *msg = all_message((size_t)prng_below(&random, all_message_count()));
        uint64_t versions = (uint64_t)msg->max_version - (uint64_t)msg->min_version + 1;
        int16_t version = (int16_t)(msg->min_version + (int)prng_below(&random, versions));
        struct bytes body = wire_encode(msg, version, random_value(msg, version, &random, &arena), &arena);
        uint8_t *damaged = arena_get(&arena, (size_t)body.len + 1);
        memcpy(damaged, body.ptr, (size_t)body.len);
        damaged[prng_below(&random, (uint64_t)body.len + 1)] = (uint8_t)prng_next(&random);
        void *value = arena_get(&arena, msg->type->size);
        int rc = wire_decode(msg, version, (struct bytes){damaged, body.len}, &arena, value, NULL);
        refused += rc < 0;
        read += rc == 0;
        arena_clear(&arena);
    }
    assert_true(refused > 1000 && read > 1000);
    arena_fini(&arena);
}

int run_roundtrip_tests(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_message_every_version), cmocka_unit_test(damaged_bodies_are_survived)};
    return cmocka_run_group_tests_name("roundtrip", tests, NULL, NULL);
}
