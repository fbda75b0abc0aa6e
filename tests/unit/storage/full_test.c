/* full_test.c: a full disk, a failing disk. */
#include "fixture.h"

enum { RESERVE = 8192 };

static int setup(void **state)
{
    struct box *b = malloc(sizeof(*b));
    assert_non_null(b);
    box_init(b, 4096, RESERVE);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    box_fini(*state);
    free(*state);
    return 0;
}

static uint64_t disk_bytes(const struct box *b)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < mem_disk_file_count(b->disk); i++) {
        sum += (uint64_t)mem_disk_file(b->disk, mem_disk_file_name(b->disk, i)).len;
    }
    return sum;
}

/* Writes entries of shard 0 until the disk is full; gives the first index that was refused. */
static uint64_t fill_up(struct box *b, uint64_t next)
{
    int rc = 0;
    mem_disk_faults(b->disk)->capacity_bytes = disk_bytes(b) + 4096;
    while (rc == 0) {
        rc = box_write(b, rec_entry(0, next, 1, "a payload of some length"));
        next += rc == 0 ? 1 : 0;
    }
    assert_int_equal(rc, MUSTER_E_FULL);
    return next;
}

static void a_full_disk_refuses_changes_and_keeps_all(void **state)
{
    struct box *b = *state;
    struct store_stats stats;
    assert_int_equal(box_open(b), 0);
    uint64_t next = fill_up(b, 1);
    assert_true(next > 20);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(box_write(b, rec_entry(0, next, 1, "again")), MUSTER_E_FULL);
    }
    store_stats(b->store, &stats);
    assert_int_equal(stats.full_events, 6);
    assert_false(box_has_name(b, "next.tmp")); /* nothing half made is kept */
    mem_disk_faults(b->disk)->capacity_bytes = 0;
    assert_int_equal(box_write(b, rec_entry(0, next, 1, "space again")), 0);
    box_crash(b, 1);
    assert_int_equal(box_open(b), 0);
    assert_int_equal(b->found->shards[0].last, next);
}

static void votes_are_written_from_the_reserve(void **state)
{
    struct box *b = *state;
    assert_int_equal(box_open(b), 0);
    assert_true(box_has_name(b, "reserve"));
    uint64_t next = fill_up(b, 1);
    uint64_t term = 1;
    while (box_has_name(b, "reserve")) { /* first into what is left of the segment */
        assert_int_equal(box_write(b, rec_term(1, term++, 2)), 0);
        assert_true(term < 1000);
    }
    for (int i = 0; i < 40; i++) {
        struct store_record both[] = {rec_term(1, term, 3), rec_term(2, term, 1)};
        assert_int_equal(store_write(b->store, both, 2), 0);
        term++;
    }
    assert_int_equal(box_write(b, rec_entry(0, next, 1, "x")), MUSTER_E_FULL); /* there is room in the reserve, but not for this */
    struct store_record mixed[] = {rec_term(1, term, 3), rec_entry(0, next, 1, "x")};
    assert_int_equal(store_write(b->store, mixed, 2), MUSTER_E_FULL);
    box_crash(b, 3);
    assert_int_equal(box_open(b), 0);
    assert_int_equal(b->found->shards[1].term, term - 1);
    assert_int_equal(b->found->shards[1].vote, 3);
    assert_int_equal(b->found->shards[0].last, next - 1);
    assert_int_equal(b->warnings, 1);                                          /* no room for another reserve */
    assert_int_equal(box_write(b, rec_entry(0, next, 1, "x")), MUSTER_E_FULL); /* still, after the restart */
    assert_int_equal(box_write(b, rec_term(1, term, 0)), 0);
    mem_disk_faults(b->disk)->capacity_bytes = 0;
    assert_int_equal(box_write(b, rec_entry(0, next, 1, "x")), 0);
    assert_true(box_has_name(b, "reserve")); /* made again */
    box_kill(b);
    assert_int_equal(box_open(b), 0);
    assert_int_equal(b->found->shards[1].term, term);
    assert_int_equal(b->found->shards[0].last, next);
}

static void a_used_up_reserve_refuses_votes_too(void **state)
{
    struct box *b = *state;
    assert_int_equal(box_open(b), 0);
    (void)fill_up(b, 1);
    uint64_t term = 1;
    int rc = 0;
    while (rc == 0) {
        rc = box_write(b, rec_term(1, term, 2));
        term += rc == 0 ? 1 : 0;
    }
    assert_int_equal(rc, MUSTER_E_FULL);
    assert_true(term > RESERVE / 100);
    box_kill(b);
    assert_int_equal(box_open(b), 0);
    assert_int_equal(b->found->shards[1].term, term - 1);
}

static void without_a_reserve_votes_are_refused(void **state)
{
    struct box *b = *state;
    b->options.reserve_bytes = 0;
    assert_int_equal(box_open(b), 0);
    assert_false(box_has_name(b, "reserve"));
    (void)fill_up(b, 1);
    int rc = 0;
    for (uint64_t term = 1; rc == 0; term++) {
        rc = box_write(b, rec_term(1, term, 2));
    }
    assert_int_equal(rc, MUSTER_E_FULL);
}

static void a_reserve_that_was_written_to_is_made_again(void **state)
{
    struct box *b = *state;
    assert_int_equal(box_open(b), 0);
    box_close(b);
    mem_disk_flip(b->disk, "reserve", 100, 1);
    assert_int_equal(box_open(b), 0);
    struct bytes reserve = mem_disk_file(b->disk, "reserve");
    assert_int_equal(reserve.len, RESERVE);
    assert_int_equal(reserve.ptr[100], 0);
    box_close(b);
    b->options.reserve_bytes = 2 * RESERVE;
    assert_int_equal(box_open(b), 0);
    assert_int_equal(mem_disk_file(b->disk, "reserve").len, 2 * RESERVE);
}

static void no_space_at_the_first_start_is_said(void **state)
{
    struct box *b = *state;
    mem_disk_faults(b->disk)->capacity_bytes = 1000;
    assert_int_equal(box_open(b), MUSTER_E_FULL);
    assert_non_null(strstr(b->report.text, "space"));
    mem_disk_faults(b->disk)->capacity_bytes = 0;
    assert_int_equal(box_open(b), 0);
}

/* A file system that copies on write may be full in the middle of a prewritten file. What it has written then must not stay. */
static void a_half_written_batch_is_wiped_before_the_next(void **state)
{
    struct box *b = *state;
    char *big = calloc(1, 3001);
    memset(big, 'b', 3000);
    assert_int_equal(box_open(b), 0);
    mem_disk_faults(b->disk)->full_write = 1;
    assert_int_equal(box_write(b, rec_entry(0, 1, 1, big)), MUSTER_E_FULL);
    assert_int_equal(box_write(b, rec_entry(0, 1, 1, "small")), 0);
    box_fill(b, 0, 2, 60, 1, "over into the next segment");
    mem_disk_faults(b->disk)->full_write = 1;
    assert_int_equal(box_write(b, rec_entry(0, 61, 1, big)), MUSTER_E_FULL);
    mem_disk_faults(b->disk)->full_write = 1; /* the wiping fails too */
    assert_int_equal(box_write(b, rec_entry(0, 61, 1, "x")), MUSTER_E_FULL);
    assert_int_equal(box_write(b, rec_entry(0, 61, 1, big)), 0);
    box_crash(b, 5);
    assert_int_equal(box_open(b), 0);
    assert_int_equal(b->found->shards[0].last, 61);
    assert_false(b->report.torn_tail);
    free(big);
}

static void a_failed_write_kills_the_store(void **state)
{
    struct box *b = *state;
    assert_int_equal(box_open(b), 0);
    box_fill(b, 0, 1, 3, 1, "x");
    mem_disk_faults(b->disk)->fail_write = 1;
    assert_int_equal(box_write(b, rec_entry(0, 4, 1, "x")), MUSTER_E_IO);
    assert_int_equal(box_write(b, rec_entry(0, 4, 1, "x")), MUSTER_E_IO);
    assert_int_equal(box_write(b, rec_term(0, 4, 1)), MUSTER_E_IO);
    assert_int_equal(store_trim(b->store, 0, 1), MUSTER_E_IO);
    box_crash(b, 7);
    assert_int_equal(box_open(b), 0);
    assert_int_equal(b->found->shards[0].last, 3);
}

/* After a failed fsync nobody knows what the disk has: trying again would only look as if it had worked. */
static void a_failed_sync_kills_the_store(void **state)
{
    struct box *b = *state;
    struct mem_counts before;
    struct mem_counts after;
    assert_int_equal(box_open(b), 0);
    box_fill(b, 0, 1, 3, 1, "x");
    mem_disk_faults(b->disk)->fail_sync = 1;
    assert_int_equal(box_write(b, rec_entry(0, 4, 1, "x")), MUSTER_E_IO);
    mem_disk_counts(b->disk, &before);
    assert_int_equal(box_write(b, rec_entry(0, 4, 1, "x")), MUSTER_E_IO);
    mem_disk_counts(b->disk, &after);
    assert_int_equal(before.writes, after.writes);
    assert_int_equal(before.syncs, after.syncs);
}

/* Each sync of a stretch with several segment switches fails once. */
static void any_failed_sync_loses_nothing(void **state)
{
    (void)state;
    unsigned failed = 0;
    for (uint64_t at = 1; at < 120; at++) {
        struct box b;
        uint64_t acked = 0;
        box_init(&b, 4096, RESERVE);
        assert_int_equal(box_open(&b), 0);
        mem_disk_faults(b.disk)->fail_sync = at;
        mem_disk_faults(b.disk)->fail_sync_dir = at > 60 ? at - 60 : 0;
        int rc = 0;
        while (rc == 0 && acked < 100) {
            rc = box_write(&b, rec_entry(0, acked + 1, 1, "a payload of some length"));
            acked += rc == 0 ? 1 : 0;
        }
        failed += rc == MUSTER_E_IO ? 1 : 0;
        mem_disk_faults(b.disk)->fail_sync = 0;
        mem_disk_faults(b.disk)->fail_sync_dir = 0;
        box_crash(&b, at);
        assert_int_equal(box_open(&b), 0);
        assert_true(b.found->shards[0].last == acked || b.found->shards[0].last == acked + 1);
        box_fini(&b);
    }
    assert_true(failed > 90);
}

static void an_unreadable_disk_is_said(void **state)
{
    struct box *b = *state;
    assert_int_equal(box_open(b), 0);
    box_close(b);
    for (uint64_t at = 1; at <= 3; at++) {
        mem_disk_faults(b->disk)->fail_read = at;
        assert_int_equal(box_open(b), MUSTER_E_IO);
        assert_non_null(strstr(b->report.text, "Input/output error"));
    }
    mem_disk_faults(b->disk)->fail_read = 0;
    assert_int_equal(box_open(b), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_full_disk_refuses_changes_and_keeps_all),
        TEST(votes_are_written_from_the_reserve),
        TEST(a_used_up_reserve_refuses_votes_too),
        TEST(without_a_reserve_votes_are_refused),
        TEST(a_reserve_that_was_written_to_is_made_again),
        TEST(no_space_at_the_first_start_is_said),
        TEST(a_half_written_batch_is_wiped_before_the_next),
        TEST(a_failed_write_kills_the_store),
        TEST(a_failed_sync_kills_the_store),
        TEST(any_failed_sync_loses_nothing),
        TEST(an_unreadable_disk_is_said),
    };
    return cmocka_run_group_tests_name("storage full", tests, NULL, NULL);
}
