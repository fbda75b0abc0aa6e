/* Kafka's own bytes: decoded, encoded again, dumped, cut short. */
#include "wire_test.h"

#include <stdio.h>
#include <stdlib.h>

static const struct wire_msg *message_named(const char *name)
{
    for (size_t i = 0; i < all_message_count(); i++) {
        if (strcmp(all_message(i)->name, name) == 0) {
            return all_message(i);
        }
    }
    fail_msg("no message %s", name);
    return NULL;
}

static int hex_digit(char c)
{
    return c >= 'a' ? c - 'a' + 10 : c - '0';
}

static struct bytes from_hex(const char *text, struct arena *arena)
{
    size_t len = strlen(text) / 2;
    uint8_t *ptr = arena_get(arena, len);
    for (size_t i = 0; i < len; i++) {
        ptr[i] = (uint8_t)(hex_digit(text[2 * i]) << 4 | hex_digit(text[2 * i + 1]));
    }
    return (struct bytes){ptr, (int32_t)len};
}

static void check_sample(const char *name, int16_t version, const char *hex, const char *json, struct arena *arena)
{
    const struct wire_msg *msg = message_named(name);
    struct bytes body = from_hex(hex, arena);
    void *value = arena_get(arena, msg->type->size);
    size_t used = 0;
    int rc = wire_decode(msg, version, body, arena, value, &used);
    if (rc != 0 || used != (size_t)body.len) {
        fail_msg("%s version %d: rc %d, %zu of %d bytes used", name, version, rc, used, body.len);
    }
    struct bytes again = wire_encode(msg, version, value, arena);
    if (!bytes_eq(body, again)) {
        fail_msg("%s version %d: encoded differently", name, version);
    }
    struct buf dump;
    buf_init(&dump, 0);
    assert_int_equal(wire_dump(msg, version, value, &dump), 0);
    assert_int_equal(buf_put(&dump, "", 1), 0);
    assert_string_equal((const char *)dump.ptr, json);
    buf_fini(&dump);
    check_truncations(msg, version, body);
}

static void kafka_bytes(void **state)
{
    (void)state;
    FILE *file = fopen("fixtures/kafka-4.4.0.tsv", "r");
    assert_non_null(file);
    struct arena arena;
    arena_init(&arena, 0);
    char *line = NULL;
    size_t room = 0;
    int samples = 0;
    while (getline(&line, &room, file) > 0) {
        char *rest = line;
        char *name = strsep(&rest, "\t");
        char *version = strsep(&rest, "\t");
        char *hex = strsep(&rest, "\t");
        char *json = strsep(&rest, "\n");
        assert_non_null(json);
        check_sample(name, (int16_t)strtol(version, NULL, 10), hex, json, &arena);
        arena_clear(&arena);
        samples++;
    }
    assert_true(samples > 500);
    free(line);
    fclose(file);
    arena_fini(&arena);
}

int run_golden_tests(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kafka_bytes)};
    return cmocka_run_group_tests_name("golden", tests, NULL, NULL);
}
