/* Arena, pool and buf. */
#include "base_test.h"

/* Linked in front of libc's (WRAP in CMakeLists.txt): allocation number fail_at gives NULL. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *ptr, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *ptr, size_t size);

static int fail_at, allocations;

static bool fails_now(void)
{
    return ++allocations == fail_at;
}

void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *ptr, size_t size)
{
    return fails_now() ? NULL : __real_realloc(ptr, size);
}

static void fail_allocation(int number)
{
    allocations = 0;
    fail_at = number;
}

static void arena_memory_is_zeroed_and_aligned(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    for (int round = 0; round < 3; round++) {
        for (size_t size = 0; size < 3000; size += 7) {
            uint8_t *ptr = arena_get(&a, size);
            assert_non_null(ptr);
            assert_int_equal((uintptr_t)ptr % _Alignof(max_align_t), 0);
            for (size_t i = 0; i < size; i++) {
                assert_int_equal(ptr[i], 0);
            }
            memset(ptr, 0xee, size);
        }
        arena_clear(&a);
        assert_int_equal(a.used_bytes, 0);
    }
    uint8_t *large = arena_get(&a, 3 << 20);
    assert_int_equal(large[(3 << 20) - 1], 0);
    arena_fini(&a);
    assert_null(a.head);
}

static void arena_keeps_its_first_chunk(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    void *first = arena_get(&a, 16);
    for (int i = 0; i < 100; i++) {
        arena_get(&a, 1000);
    }
    arena_clear(&a);
    assert_ptr_equal(arena_get(&a, 16), first);
    arena_fini(&a);
    arena_get(&a, 1 << 20); /* a first chunk as large as this goes back to the machine */
    arena_clear(&a);
    assert_null(a.head);
    arena_fini(&a);
}

static void arena_goes_back_to_a_mark(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    struct arena_mark empty = arena_here(&a);
    void *kept = arena_get(&a, 100);
    memset(kept, 7, 100);
    struct arena_mark mark = arena_here(&a);
    void *next = arena_get(&a, 16);
    for (int i = 0; i < 100; i++) {
        arena_get(&a, 1000);
    }
    arena_rewind(&a, mark);
    assert_int_equal(a.used_bytes, mark.used_bytes);
    uint8_t *again = arena_get(&a, 16);
    assert_ptr_equal(again, next);
    assert_int_equal(again[0], 0);
    assert_int_equal(((uint8_t *)kept)[99], 7);
    arena_rewind(&a, empty);
    assert_null(a.head);
    assert_int_equal(a.used_bytes, 0);
    arena_fini(&a);
}

/* At the end of a full chunk, too, without asking the machine for memory each time. */
static void arena_goes_back_again_and_again(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 0);
    arena_get(&a, 4096);
    struct arena_mark mark = arena_here(&a);
    const void *first = arena_get(&a, 64);
    for (int i = 0; i < 10; i++) {
        arena_rewind(&a, mark);
        assert_ptr_equal(a.head, mark.head);
        assert_ptr_equal(arena_get(&a, 64), first);
    }
    arena_rewind(&a, mark);
    assert_non_null(arena_get(&a, 1 << 20)); /* more than the one that was kept has */
    arena_fini(&a);
}

static void arena_limit(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a, 64);
    assert_non_null(arena_try(&a, 40));
    assert_int_equal(a.used_bytes, 48);
    assert_null(arena_try(&a, 17));
    assert_int_equal(a.used_bytes, 48);
    assert_non_null(arena_try(&a, 16));
    assert_null(arena_try(&a, 0));
    assert_null(arena_try(&a, SIZE_MAX));
    CHECK_PANICS(arena_get(&a, 1));
    arena_clear(&a);
    assert_non_null(arena_try(&a, 64));
    CHECK_PANICS(arena_array(&a, SIZE_MAX / 2, 3));
    arena_fini(&a);
}

static void arena_copies(void **state)
{
    (void)state;
    struct arena a;
    char source[] = "orders";
    arena_init(&a, 0);
    struct str copy = arena_str(&a, str_of(source));
    source[0] = 'X';
    assert_true(str_eq(copy, STR("orders")));
    assert_true(str_is_null(arena_str(&a, STR_NULL)));
    assert_int_equal(arena_str(&a, STR("")).len, 0);
    assert_non_null(arena_str(&a, STR("")).ptr);
    struct str text = arena_printf(&a, "%s-%05d", "group", 42);
    assert_true(str_eq(text, STR("group-00042")));
    assert_int_equal(text.ptr[text.len], '\0');
    arena_fini(&a);
}

static void pool_counts_what_was_asked_for(void **state)
{
    (void)state;
    struct pool p = {0};
    uint8_t *ptr = pool_get(&p, 100);
    assert_int_equal(ptr[99], 0);
    memset(ptr, 1, 100);
    assert_int_equal(p.bytes, 100);
    assert_int_equal(p.objects, 1);
    ptr = pool_resize(&p, ptr, 100, 300);
    assert_int_equal(ptr[99], 1);
    assert_int_equal(ptr[100], 0);
    assert_int_equal(ptr[299], 0);
    assert_int_equal(p.bytes, 300);
    ptr = pool_resize(&p, ptr, 300, 10);
    assert_int_equal(p.bytes, 10);
    assert_int_equal(p.objects, 1);
    void *other = pool_resize(&p, NULL, 0, 5);
    assert_int_equal(p.objects, 2);
    pool_put(&p, other, 5);
    CHECK_PANICS(pool_put(&p, ptr, 11));
    pool_put(&p, ptr, 10);
    pool_put(&p, NULL, 4711);
    assert_int_equal(p.bytes, 0);
    assert_int_equal(p.objects, 0);
}

static void pool_copies(void **state)
{
    (void)state;
    struct pool p = {0};
    struct str text = pool_str(&p, STR("orders"));
    struct str empty = pool_str(&p, STR(""));
    struct str null = pool_str(&p, STR_NULL);
    assert_true(str_eq(text, STR("orders")));
    assert_true(str_eq(empty, STR("")));
    assert_true(str_is_null(null));
    assert_int_equal(p.bytes, 6);
    assert_int_equal(p.objects, 1);
    pool_put_str(&p, text);
    pool_put_str(&p, empty);
    pool_put_str(&p, null);
    struct bytes bytes = pool_bytes(&p, (struct bytes){(const uint8_t *)"\0\1\2", 3});
    assert_memory_equal(bytes.ptr, "\0\1\2", 3);
    pool_put_bytes(&p, bytes);
    assert_int_equal(p.bytes + p.objects, 0);
}

static void buf_grows_to_its_limit(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b, 1000);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(buf_put(&b, "0123456789", 10), 0);
    }
    assert_int_equal(b.len, 1000);
    assert_int_equal(buf_put(&b, "x", 1), MUSTER_E_LIMIT);
    assert_null(buf_add(&b, SIZE_MAX));
    assert_int_equal(b.len, 1000);
    assert_int_equal(buf_put(&b, NULL, 0), 0);
    buf_drop_front(&b, 993);
    assert_int_equal(b.len, 7);
    assert_memory_equal(b.ptr, "3456789", 7);
    buf_drop_front(&b, 0);
    CHECK_PANICS(buf_drop_front(&b, 8));
    buf_drop_front(&b, 7);
    assert_int_equal(b.len, 0);
    memset(buf_add(&b, 1000), 7, 1000);
    buf_clear(&b);
    assert_int_equal(b.len, 0);
    assert_true(b.cap >= 1000);
    buf_fini(&b);
    assert_null(b.ptr);
    assert_non_null(buf_add(&b, 0));
    buf_fini(&b);
}

static void arena_without_memory(void **state)
{
    (void)state;
    for (int failing = 1; failing <= 4; failing++) {
        struct arena a;
        int refused = 0;
        arena_init(&a, 0);
        fail_allocation(failing);
        for (int i = 0; i < 100; i++) {
            size_t before = a.used_bytes;
            if (arena_try(&a, 1000) == NULL) {
                refused++;
                assert_int_equal(a.used_bytes, before);
            }
        }
        fail_allocation(0);
        assert_int_equal(refused, 1);
        arena_fini(&a);
    }
    struct arena a;
    arena_init(&a, 0);
    fail_allocation(1);
    CHECK_PANICS(arena_get(&a, 10));
    fail_allocation(0);
    arena_fini(&a);
}

static void buf_without_memory(void **state)
{
    (void)state;
    for (int failing = 1; failing <= 4; failing++) {
        struct buf b;
        int refused = 0;
        buf_init(&b, 0);
        fail_allocation(failing);
        for (int i = 0; i < 100; i++) {
            refused += buf_put(&b, "0123456789012345678901234567890123456789", 40) == MUSTER_E_LIMIT;
        }
        fail_allocation(0);
        assert_int_equal(refused, 1);
        assert_int_equal(b.len, 99 * 40);
        buf_fini(&b);
    }
}

static void pool_without_memory(void **state)
{
    (void)state;
    struct pool p = {0};
    fail_allocation(1);
    CHECK_PANICS(pool_get(&p, 10));
    void *ptr = pool_get(&p, 10);
    fail_allocation(1);
    CHECK_PANICS(pool_resize(&p, ptr, 10, 1000));
    fail_allocation(0);
    pool_put(&p, ptr, 10);
    assert_int_equal(p.bytes + p.objects, 0);
}

int run_memory_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arena_memory_is_zeroed_and_aligned),
        cmocka_unit_test(arena_keeps_its_first_chunk),
        cmocka_unit_test(arena_goes_back_to_a_mark),
        cmocka_unit_test(arena_goes_back_again_and_again),
        cmocka_unit_test(arena_limit),
        cmocka_unit_test(arena_copies),
        cmocka_unit_test(pool_counts_what_was_asked_for),
        cmocka_unit_test(pool_copies),
        cmocka_unit_test(buf_grows_to_its_limit),
        cmocka_unit_test(arena_without_memory),
        cmocka_unit_test(buf_without_memory),
        cmocka_unit_test(pool_without_memory),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
