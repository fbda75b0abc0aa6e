/* writer_test.c: the log thread. Run it under ThreadSanitizer too. */
#include "fixture.h"
#include "temp_dir.h"

#include <pthread.h>
#include <semaphore.h>

struct place {
    char dir[TEMP_DIR_BYTES];
    struct store_port port;
    struct store *store;
    struct store_writer *writer;
    struct store_report report;
    sem_t woken;
    uint64_t recovered[TWIN_SHARDS];
};

static const struct store_options options = {.shard_count = TWIN_SHARDS,
                                             .segment_bytes = 64 * 1024,
                                             .reserve_bytes = 64 * 1024,
                                             .entry_max_bytes = 100000};

static void on_shard(void *ctx, uint32_t shard, const struct store_shard_state *state)
{
    struct place *p = ctx;
    p->recovered[shard] = state->last_index;
}

static void on_entry(void *ctx, uint32_t shard, uint64_t index, uint64_t term, uint8_t entry_type, struct bytes payload)
{
    (void)ctx;
    (void)shard;
    (void)entry_type;
    assert_true(index > 0 && term > 0 && payload.len >= 0);
}

static void on_wake(void *ctx)
{
    struct place *p = ctx;
    (void)sem_post(&p->woken);
}

static void place_open(struct place *p)
{
    struct store_recovery recovery = {p, on_shard, on_entry};
    assert_int_equal(store_open(&p->store, &p->port, &options, &recovery, &p->report), 0);
    assert_int_equal(store_writer_start(&p->writer, p->store, on_wake, p), 0);
}

static void place_close(struct place *p)
{
    store_writer_stop(p->writer);
    store_close(p->store);
    p->writer = NULL;
    p->store = NULL;
}

static int setup(void **state)
{
    struct place *p = calloc(1, sizeof(*p));
    assert_non_null(p);
    temp_dir_make(p->dir);
    assert_int_equal(sem_init(&p->woken, 0, 0), 0);
    assert_int_equal(store_port_posix_init(&p->port, p->dir, false), 0);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    place_close(p);
    store_port_posix_fini(&p->port);
    temp_dir_remove(p->dir);
    (void)sem_destroy(&p->woken);
    free(p);
    return 0;
}

static int wait_result(struct place *p)
{
    int result = 1;
    while (sem_wait(&p->woken) != 0) {
    }
    assert_true(store_writer_poll(p->writer, &result));
    return result;
}

static void batches_come_back_one_by_one(void **state)
{
    struct place *p = *state;
    int result = 1;
    place_open(p);
    assert_false(store_writer_busy(p->writer));
    assert_false(store_writer_poll(p->writer, &result));
    for (uint64_t i = 1; i <= 500; i++) {
        struct store_record batch[] = {rec_entry(0, i, 1, "one"), rec_entry(1, i, 1, "two")};
        assert_int_equal(store_writer_submit(p->writer, batch, 2), 0);
        assert_int_equal(store_writer_submit(p->writer, batch, 2), MUSTER_E_BUSY);
        assert_true(store_writer_busy(p->writer));
        assert_int_equal(wait_result(p), 0);
        assert_false(store_writer_busy(p->writer));
        assert_false(store_writer_poll(p->writer, &result)); /* once a batch */
    }
    place_close(p);
    place_open(p);
    assert_int_equal(p->recovered[0], 500);
    assert_int_equal(p->recovered[1], 500);
}

static void results_are_given_back_as_they_are(void **state)
{
    struct place *p = *state;
    place_open(p);
    struct store_record gap = rec_entry(0, 9, 1, "gap");
    assert_int_equal(store_writer_submit(p->writer, &gap, 1), 0);
    assert_int_equal(wait_result(p), MUSTER_E_INVALID);
}

static void stop_waits_for_the_batch_in_flight(void **state)
{
    struct place *p = *state;
    for (uint64_t i = 1; i <= 50; i++) {
        place_open(p);
        assert_int_equal(p->recovered[2], i - 1);
        struct store_record r = rec_entry(2, i, 1, "in flight");
        assert_int_equal(store_writer_submit(p->writer, &r, 1), 0);
        place_close(p);
    }
}

static void trims_run_between_batches(void **state)
{
    struct place *p = *state;
    struct store_stats stats;
    char payload[3001];
    memset(payload, 'x', 3000);
    payload[3000] = '\0';
    place_open(p);
    for (uint64_t i = 1; i <= 200; i++) {
        struct store_record r = rec_entry(0, i, 1, payload);
        assert_int_equal(store_writer_submit(p->writer, &r, 1), 0);
        uint32_t shard = 0;
        uint64_t bytes = 0;
        store_stats(p->store, &stats); /* from this thread, while the other writes */
        (void)store_oldest(p->store, &shard, &bytes);
        assert_int_equal(wait_result(p), 0);
        if (i % 50 == 0) {
            make_snapshot(&p->port, 0, i, 1);
            struct store_record snapshot = rec_snapshot(0, i, 1, i);
            assert_int_equal(store_writer_submit(p->writer, &snapshot, 1), 0);
            assert_int_equal(wait_result(p), 0);
            store_writer_trim(p->writer, 0, i);
            store_writer_trim(p->writer, 0, i - 1);
        }
    }
    do { /* the last trim ran, or runs now */
        store_stats(p->store, &stats);
        (void)sched_yield();
    } while (stats.segments > 1);
    assert_int_equal(stats.log_bytes, 64 * 1024);
    place_close(p);
    place_open(p);
    assert_int_equal(p->recovered[0], 200);
}

/* Snapshots are written by other threads at the same time. */
static void *snapshot_main(void *arg)
{
    struct place *p = arg;
    for (uint64_t i = 1; i <= 20; i++) {
        make_snapshot(&p->port, 2, i, 1);
    }
    return NULL;
}

static void snapshots_are_written_alongside(void **state)
{
    struct place *p = *state;
    pthread_t thread;
    place_open(p);
    assert_int_equal(pthread_create(&thread, NULL, snapshot_main, p), 0);
    for (uint64_t i = 1; i <= 200; i++) {
        struct store_record r = rec_entry(0, i, 1, "alongside");
        assert_int_equal(store_writer_submit(p->writer, &r, 1), 0);
        assert_int_equal(wait_result(p), 0);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* The next segment is prepared in between, so that the switch has nothing left to write. */
static void the_next_segment_is_prepared_ahead(void **state)
{
    struct place *p = *state;
    char payload[3001];
    int file = -1;
    uint64_t bytes = 0;
    memset(payload, 'x', 3000);
    payload[3000] = '\0';
    place_open(p);
    for (uint64_t i = 1; i <= 15; i++) { /* most of the first segment */
        struct store_record r = rec_entry(0, i, 1, payload);
        assert_int_equal(store_writer_submit(p->writer, &r, 1), 0);
        assert_int_equal(wait_result(p), 0);
    }
    store_writer_stop(p->writer);
    p->writer = NULL;
    assert_int_equal(p->port.open(p->port.ctx, "next.tmp", false, false, &file), 0);
    assert_int_equal(p->port.size(p->port.ctx, file, &bytes), 0);
    p->port.close(p->port.ctx, file);
    assert_int_equal(bytes, 64 * 1024);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(batches_come_back_one_by_one), TEST(results_are_given_back_as_they_are), TEST(stop_waits_for_the_batch_in_flight),
        TEST(trims_run_between_batches),    TEST(snapshots_are_written_alongside),    TEST(the_next_segment_is_prepared_ahead),
    };
    return cmocka_run_group_tests_name("storage writer", tests, NULL, NULL);
}
