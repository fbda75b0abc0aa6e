/* log_test.c: writing and reading back, without anything going wrong. */
#include "fixture.h"

static int setup(void **state)
{
    struct box *b = malloc(sizeof(*b));
    assert_non_null(b);
    box_init(b, 4096, 0);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    box_fini(*state);
    free(*state);
    return 0;
}

static void a_new_folder_is_empty(void **state)
{
    struct box *b = *state;
    assert_int_equal(box_open(b), 0);
    assert_int_equal(b->found_shards, TWIN_SHARDS);
    for (uint32_t i = 0; i < TWIN_SHARDS; i++) {
        assert_int_equal(b->found->shards[i].term, 0);
        assert_int_equal(b->found->shards[i].last, 0);
    }
    box_close(b);
    assert_int_equal(box_open(b), 0);
    assert_int_equal(b->report.segments, 1);
    assert_false(b->report.torn_tail);
}

static void what_is_written_is_found(void **state)
{
    struct box *b = *state;
    struct twin *twin = twin_new();
    struct store_record batch[] = {rec_term(0, 3, 2), rec_entry(0, 1, 3, "a"), rec_entry(1, 1, 1, ""), rec_entry(0, 2, 3, "bb"),
                                   rec_term(2, 9, 0)};
    batch[3].entry_type = 3;
    assert_int_equal(box_open(b), 0);
    assert_int_equal(store_write(b->store, batch, COUNT_OF(batch)), 0);
    for (size_t i = 0; i < COUNT_OF(batch); i++) {
        twin_apply(twin, &batch[i]);
    }
    box_kill(b);
    assert_int_equal(box_open(b), 0);
    assert_null(twin_difference(b->found, twin));
    assert_int_equal(b->report.records, COUNT_OF(batch));
    free(twin);
}

static void the_newest_term_and_vote_win(void **state)
{
    struct box *b = *state;
    assert_int_equal(box_open(b), 0);
    assert_int_equal(box_write(b, rec_term(1, 1, 1)), 0);
    assert_int_equal(box_write(b, rec_term(1, 4, 0)), 0);
    assert_int_equal(box_write(b, rec_term(1, 4, 3)), 0);
    assert_int_equal(box_write(b, rec_term(1, 4, 3)), 0);
    box_kill(b);
    assert_int_equal(box_open(b), 0);
    assert_int_equal(b->found->shards[1].term, 4);
    assert_int_equal(b->found->shards[1].vote, 3);
}

static void an_entry_erases_all_later_ones(void **state)
{
    struct box *b = *state;
    struct twin *twin = twin_new();
    assert_int_equal(box_open(b), 0);
    box_fill(b, 0, 1, 10, 1, "old");
    box_fill(b, 0, 4, 5, 2, "new");
    assert_int_equal(box_write(b, rec_entry(0, 7, 2, "gap")), MUSTER_E_INVALID);
    for (uint64_t i = 1; i <= 5; i++) {
        struct store_record r = i < 4 ? rec_entry(0, i, 1, "old") : rec_entry(0, i, 2, "new");
        twin_apply(twin, &r);
    }
    box_kill(b);
    assert_int_equal(box_open(b), 0);
    assert_null(twin_difference(b->found, twin));
    assert_int_equal(b->found->shards[0].last, 5);
    free(twin);
}

static void records_that_cannot_follow_are_refused(void **state)
{
    struct box *b = *state;
    assert_int_equal(box_open(b), 0);
    struct mem_counts before;
    struct mem_counts after;
    box_fill(b, 0, 1, 5, 2, "x");
    assert_int_equal(box_write(b, rec_term(0, 5, 1)), 0);
    mem_disk_counts(b->disk, &before);
    assert_int_equal(box_write(b, rec_entry(0, 7, 2, "gap")), MUSTER_E_INVALID);
    assert_int_equal(box_write(b, rec_entry(0, 0, 2, "zero")), MUSTER_E_INVALID);
    assert_int_equal(box_write(b, rec_entry(0, 6, 0, "term 0")), MUSTER_E_INVALID);
    assert_int_equal(box_write(b, rec_entry(TWIN_SHARDS, 1, 1, "shard")), MUSTER_E_INVALID);
    assert_int_equal(box_write(b, rec_term(0, 4, 0)), MUSTER_E_INVALID);
    assert_int_equal(box_write(b, rec_term(0, 5, 2)), MUSTER_E_INVALID);
    assert_int_equal(box_write(b, rec_snapshot(0, 3, 2, 3)), MUSTER_E_NOT_FOUND); /* there is no such file */
    assert_int_equal(box_write(b, (struct store_record){.kind = STORE_CHECKPOINT}), MUSTER_E_INVALID);
    struct store_record two[] = {rec_entry(0, 6, 2, "good"), rec_entry(0, 8, 2, "gap")};
    assert_int_equal(store_write(b->store, two, 2), MUSTER_E_INVALID); /* the good one neither */
    char *big = calloc(1, b->options.entry_max_bytes + 2);
    memset(big, 'x', b->options.entry_max_bytes + 1);
    assert_int_equal(box_write(b, rec_entry(0, 6, 2, big)), MUSTER_E_LIMIT);
    free(big);
    mem_disk_counts(b->disk, &after);
    assert_int_equal(after.writes, before.writes);
    assert_int_equal(box_write(b, rec_entry(0, 6, 2, "good")), 0);
    assert_int_equal(store_write(b->store, NULL, 0), 0);
}

static void segments_follow_each_other(void **state)
{
    struct box *b = *state;
    struct twin *twin = twin_new();
    struct store_stats stats;
    assert_int_equal(box_open(b), 0);
    assert_int_equal(box_write(b, rec_term(2, 7, 3)), 0);
    for (uint64_t i = 1; i <= 300; i++) {
        struct store_record r = rec_entry((uint32_t)(i % 2), (i + 1) / 2, 1 + i / 100, "a payload of some length");
        assert_int_equal(box_write(b, r), 0);
        twin_apply(twin, &r);
    }
    twin->shards[2].term = 7;
    twin->shards[2].vote = 3;
    store_stats(b->store, &stats);
    assert_true(stats.segments > 5);
    assert_int_equal(stats.log_bytes, stats.segments * 4096);
    assert_int_equal(stats.records, 301);
    box_kill(b);
    assert_int_equal(box_open(b), 0);
    assert_null(twin_difference(b->found, twin));
    assert_int_equal(b->report.segments, stats.segments);
    free(twin);
}

static void a_batch_bigger_than_a_segment_gets_a_bigger_one(void **state)
{
    struct box *b = *state;
    struct twin *twin = twin_new();
    char *big = calloc(1, 20001);
    memset(big, 'y', 20000);
    struct store_record records[] = {rec_entry(0, 1, 1, "small"), rec_entry(0, 2, 1, big), rec_entry(0, 3, 1, "small")};
    assert_int_equal(box_open(b), 0);
    for (size_t i = 0; i < COUNT_OF(records); i++) {
        assert_int_equal(box_write(b, records[i]), 0);
        twin_apply(twin, &records[i]);
    }
    box_kill(b);
    assert_int_equal(box_open(b), 0);
    assert_null(twin_difference(b->found, twin));
    assert_true(mem_disk_file(b->disk, "log-0000000000000002.seg").len > 20000);
    free(big);
    free(twin);
}

static void trimming_removes_what_nobody_needs(void **state)
{
    struct box *b = *state;
    struct store_stats stats;
    uint32_t shard = 99;
    uint64_t bytes = 0;
    assert_int_equal(box_open(b), 0);
    assert_int_equal(box_write(b, rec_term(1, 6, 2)), 0);
    assert_false(store_oldest(b->store, &shard, &bytes));
    box_fill(b, 0, 1, 200, 1, "a payload of some length");
    assert_true(store_oldest(b->store, &shard, &bytes));
    assert_int_equal(shard, 0);
    assert_int_equal(store_trim(b->store, 0, 200), 0); /* no snapshot says so yet: nothing goes */
    store_stats(b->store, &stats);
    uint64_t full = stats.segments;
    assert_true(full > 3);
    make_snapshot(&b->port, 0, 190, 1);
    assert_int_equal(box_write(b, rec_snapshot(0, 190, 1, 191)), MUSTER_E_INVALID); /* no trim past the snapshot */
    assert_int_equal(box_write(b, rec_snapshot(0, 190, 1, 150)), 0);
    assert_int_equal(box_write(b, rec_snapshot(0, 190, 1, 120)), 0); /* a trim does not go back */
    assert_int_equal(store_trim(b->store, 0, 150), 0);
    store_stats(b->store, &stats);
    assert_true(stats.segments < full && stats.segments >= 2);
    assert_false(box_has_name(b, "1.seg"));
    box_kill(b);
    assert_int_equal(box_open(b), 0); /* the vote of shard 1 was in a segment that is gone */
    assert_int_equal(b->found->shards[1].term, 6);
    assert_int_equal(b->found->shards[1].vote, 2);
    assert_int_equal(b->found->shards[0].trim, 150);
    assert_int_equal(b->found->shards[0].last, 200);
    assert_int_equal(b->found->shards[0].snapshot_index, 190);
}

/* The log named the snapshot, then the process died before it trimmed. */
static void a_trim_cut_short_is_finished_at_the_next_start(void **state)
{
    struct box *b = *state;
    assert_int_equal(box_open(b), 0);
    box_fill(b, 0, 1, 200, 1, "a payload of some length");
    make_snapshot(&b->port, 0, 190, 1);
    assert_int_equal(box_write(b, rec_snapshot(0, 190, 1, 150)), 0);
    box_kill(b);
    assert_true(box_has_name(b, "1.seg"));
    assert_int_equal(box_open(b), 0);
    assert_false(box_has_name(b, "1.seg"));
    assert_int_equal(b->found->shards[0].last, 200);
    box_kill(b);
    assert_int_equal(box_open(b), 0);
    assert_int_equal(b->found->shards[0].last, 200);
}

static void one_idle_shard_pins_the_log(void **state)
{
    struct box *b = *state;
    uint32_t shard = 99;
    uint64_t bytes = 0;
    assert_int_equal(box_open(b), 0);
    assert_int_equal(box_write(b, rec_entry(2, 1, 1, "idle")), 0);
    box_fill(b, 0, 1, 200, 1, "a payload of some length");
    make_snapshot(&b->port, 0, 200, 1);
    assert_int_equal(box_write(b, rec_snapshot(0, 200, 1, 200)), 0);
    assert_int_equal(store_trim(b->store, 0, 200), 0);
    assert_true(box_has_name(b, "1.seg"));
    assert_true(store_oldest(b->store, &shard, &bytes));
    assert_int_equal(shard, 2);
    make_snapshot(&b->port, 2, 1, 1);
    assert_int_equal(box_write(b, rec_snapshot(2, 1, 1, 1)), 0);
    assert_int_equal(store_trim(b->store, 2, 1), 0);
    assert_false(box_has_name(b, "1.seg"));
    assert_false(store_oldest(b->store, &shard, &bytes));
    box_close(b);
    assert_int_equal(box_open(b), 0);
    assert_int_equal(b->found->shards[2].snapshot_index, 1);
    assert_int_equal(b->found->shards[2].last, 1);
}

static void erased_entries_pin_nothing(void **state)
{
    struct box *b = *state;
    uint32_t shard = 0;
    uint64_t bytes = 0;
    assert_int_equal(box_open(b), 0);
    box_fill(b, 0, 1, 200, 1, "a payload of some length");
    assert_int_equal(box_write(b, rec_entry(0, 11, 2, "erases 11 to 200")), 0);
    box_fill(b, 1, 1, 60, 1, "so that the next segment begins here");
    make_snapshot(&b->port, 0, 11, 2);
    make_snapshot(&b->port, 1, 60, 1);
    assert_int_equal(box_write(b, rec_snapshot(0, 11, 2, 11)), 0);
    assert_int_equal(box_write(b, rec_snapshot(1, 60, 1, 60)), 0);
    assert_int_equal(store_trim(b->store, 0, 11), 0);
    assert_int_equal(store_trim(b->store, 1, 60), 0);
    assert_false(store_oldest(b->store, &shard, &bytes));
}

static void a_snapshot_of_another_history_empties_the_log(void **state)
{
    struct box *b = *state;
    assert_int_equal(box_open(b), 0);
    box_fill(b, 0, 1, 20, 1, "old");
    make_snapshot(&b->port, 0, 10, 5); /* entry 10 has term 1 here */
    assert_int_equal(box_write(b, rec_snapshot(0, 10, 5, 4)), 0);
    box_kill(b);
    assert_int_equal(box_open(b), 0);
    assert_int_equal(b->found->shards[0].last, 10);
    assert_int_equal(b->found->shards[0].trim, 10);
    make_snapshot(&b->port, 0, 50, 6); /* beyond the end */
    struct store_record batch[] = {rec_snapshot(0, 50, 6, 50), rec_entry(0, 51, 6, "next")};
    assert_int_equal(store_write(b->store, batch, 2), 0);
    assert_int_equal(box_write(b, rec_entry(0, 50, 6, "covered")), MUSTER_E_INVALID);
    box_kill(b);
    assert_int_equal(box_open(b), 0);
    assert_int_equal(b->found->shards[0].snapshot_index, 50);
    assert_int_equal(b->found->shards[0].last, 51);
}

/* The entry that decides may be in the same batch as the snapshot. */
static void an_own_snapshot_keeps_what_follows(void **state)
{
    struct box *b = *state;
    assert_int_equal(box_open(b), 0);
    box_fill(b, 0, 1, 3, 1, "x");
    make_snapshot(&b->port, 0, 4, 2);
    struct store_record batch[] = {rec_entry(0, 4, 2, "four"), rec_entry(0, 5, 2, "five"), rec_snapshot(0, 4, 2, 4),
                                   rec_entry(0, 6, 2, "six")};
    assert_int_equal(store_write(b->store, batch, COUNT_OF(batch)), 0);
    box_kill(b);
    assert_int_equal(box_open(b), 0);
    assert_int_equal(b->found->shards[0].trim, 4);
    assert_int_equal(b->found->shards[0].last, 6);
}

static void closing_seals_the_last_batch(void **state)
{
    struct box *b = *state;
    assert_int_equal(box_open(b), 0);
    assert_int_equal(box_write(b, rec_entry(0, 1, 1, "acknowledged")), 0);
    box_close(b);
    struct bytes file = mem_disk_file(b->disk, "log-0000000000000001.seg");
    const uint8_t *at = memmem(file.ptr, (size_t)file.len, "acknowledged", 12);
    assert_non_null(at);
    mem_disk_flip(b->disk, "log-0000000000000001.seg", (uint64_t)(at - file.ptr), 1);
    assert_int_equal(box_open(b), MUSTER_E_CORRUPT); /* after a kill the same flip would look like a torn write */
}

static void another_shard_count_is_refused(void **state)
{
    struct box *b = *state;
    assert_int_equal(box_open(b), 0);
    box_close(b);
    b->options.shard_count = TWIN_SHARDS - 1;
    assert_int_equal(box_open(b), MUSTER_E_CORRUPT);
    assert_non_null(strstr(b->report.text, "shards"));
}

static void a_second_process_is_refused(void **state)
{
    struct box *b = *state;
    assert_int_equal(box_open(b), 0);
    assert_int_equal(box_open_disk(b, b->disk), MUSTER_E_BUSY);
    assert_non_null(strstr(b->report.text, "another process"));
}

static void options_out_of_range_are_refused(void **state)
{
    struct box *b = *state;
    b->options.segment_bytes = 100;
    assert_int_equal(box_open(b), MUSTER_E_INVALID);
    b->options.segment_bytes = 4096;
    b->options.shard_count = 0;
    assert_int_equal(box_open(b), MUSTER_E_INVALID);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_new_folder_is_empty),
        TEST(what_is_written_is_found),
        TEST(the_newest_term_and_vote_win),
        TEST(an_entry_erases_all_later_ones),
        TEST(records_that_cannot_follow_are_refused),
        TEST(segments_follow_each_other),
        TEST(a_batch_bigger_than_a_segment_gets_a_bigger_one),
        TEST(trimming_removes_what_nobody_needs),
        TEST(a_trim_cut_short_is_finished_at_the_next_start),
        TEST(one_idle_shard_pins_the_log),
        TEST(erased_entries_pin_nothing),
        TEST(a_snapshot_of_another_history_empties_the_log),
        TEST(an_own_snapshot_keeps_what_follows),
        TEST(closing_seals_the_last_batch),
        TEST(another_shard_count_is_refused),
        TEST(a_second_process_is_refused),
        TEST(options_out_of_range_are_refused),
    };
    return cmocka_run_group_tests_name("storage log", tests, NULL, NULL);
}
