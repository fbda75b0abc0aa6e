/* queue_test.c: entries that wait come to whom they are for, once each and in their order, whoever works on them. */
#include "log_queue.h"

#include <muster/base.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 5, ENTRIES = 60000, PAYLOAD_MAX = 2000, LONG_BYTES = 700 << 10 };

struct log_case {
    struct log_line line;
    uint64_t put, applied; /* the newest indexes */
    bool wrong, being_applied;
};

/* A payload says whose it is: each byte of it the entry's index and line. */
static uint8_t mark(const struct log_case *c, uint64_t index)
{
    return (uint8_t)(index * 31 + (uint64_t)(uintptr_t)c / sizeof(*c));
}

static void take(void *ctx, struct log_line *line, const struct log_queued *e)
{
    struct log_case *c = CONTAINER_OF(line, struct log_case, line);
    (void)ctx;
    c->wrong = c->wrong || c->being_applied || e->index != c->applied + 1 || e->kind != (uint8_t)(e->index % 3 + 1) ||
               e->term != e->index / 100 + 1;
    c->being_applied = true;
    for (int32_t i = 0; i < e->payload.len; i++) {
        c->wrong = c->wrong || e->payload.ptr[i] != mark(c, e->index);
    }
    c->applied = e->index;
    c->being_applied = false;
}

static void put(struct log_queue *q, struct log_case *c, size_t len, uint8_t *room)
{
    uint64_t index = ++c->put;
    memset(room, mark(c, index), len);
    const struct bytes payload = {room, len == 0 && index % 2 == 0 ? -1 : (int32_t)len};
    const struct log_queued entry = {index, index / 100 + 1, (uint8_t)(index % 3 + 1), payload};
    log_queue_put(q, &c->line, &entry);
}

static void assert_all_applied(const struct log_case *all)
{
    for (int i = 0; i < LINES; i++) {
        assert_false(all[i].wrong);
        assert_int_equal(all[i].applied, all[i].put);
    }
}

/* More than may wait at a time; now and then the caller waits for all of it, and goes on. */
static void every_line_gets_its_entries_in_order(void **unused)
{
    (void)unused;
    struct log_case all[LINES] = {0};
    struct log_queue *q = log_queue_new(take, NULL);
    uint8_t *room = malloc(LONG_BYTES);
    struct prng random;
    prng_seed(&random, 3);
    for (int i = 0; i < ENTRIES; i++) {
        struct log_case *c = &all[prng_below(&random, LINES)];
        size_t len = prng_below(&random, 2000) == 0 ? LONG_BYTES : (size_t)prng_below(&random, PAYLOAD_MAX);
        put(q, c, prng_below(&random, 50) == 0 ? 0 : len, room);
        if (prng_below(&random, 20000) == 0) {
            log_queue_finish(q);
            assert_all_applied(all);
        }
    }
    log_queue_finish(q);
    assert_all_applied(all);
    log_queue_free(q);
    free(room);
}

/* Only what was not applied: the rest is the caller's to see. */
static void what_waits_is_taken_back(void **unused)
{
    (void)unused;
    struct log_case all[LINES] = {0};
    struct log_queue *q = log_queue_new(take, NULL);
    uint8_t *room = malloc(LONG_BYTES);
    for (int i = 0; i < 10; i++) {
        put(q, &all[0], 100, room);
        put(q, &all[1], 100, room);
    }
    log_queue_take_back(q, &all[0].line, 4);
    all[0].put = 3;
    log_queue_take_back(q, &all[2].line, 1); /* which has none */
    put(q, &all[0], 50, room);
    assert_int_equal(all[0].applied + all[1].applied, 0);
    log_queue_finish(q);
    assert_all_applied(all);
    put(q, &all[0], LONG_BYTES, room);
    log_queue_take_back(q, &all[0].line, 1);
    assert_int_equal(all[0].applied, all[0].put); /* a piece that was full */
    put(q, &all[0], 0, room);
    log_queue_take_back(q, &all[0].line, 1);
    all[0].put = all[0].applied;
    put(q, &all[0], 1, room);
    log_queue_finish(q);
    assert_all_applied(all);
    log_queue_free(q);
    free(room);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_gets_its_entries_in_order),
        cmocka_unit_test(what_waits_is_taken_back),
    };
    return cmocka_run_group_tests_name("entries that wait", tests, NULL, NULL);
}
