/* damage_test.c: torn writes are dropped, everything else that is wrong is refused, and nothing wrong is ever handed over. */
#include "fixture.h"
#include "format.h"

#define SEGMENT_1 "log-0000000000000001.seg"
#define SEGMENT_2 "log-0000000000000002.seg"
#define SEGMENT_3 "log-0000000000000003.seg"

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

/* Where the used part of the segment ends. */
static size_t used_end(const struct mem_disk *d, const char *name)
{
    struct bytes file = mem_disk_file(d, name);
    size_t end = (size_t)file.len;
    while (end > 0 && file.ptr[end - 1] == 0) {
        end--;
    }
    return (end + 7) / 8 * 8;
}

/* A log of a few batches. ends[i] is the offset behind batch i, twins[i] the state after it. */
enum { STEPS = 6 };
struct small_log {
    size_t ends[STEPS + 1];
    struct twin *twins[STEPS + 1];
};

static void small_log_write(struct box *b, struct small_log *log)
{
    struct store_record steps[STEPS] = {rec_entry(0, 1, 1, "one"),   rec_entry(0, 2, 1, "two"), rec_term(1, 5, 2),
                                        rec_entry(1, 1, 5, "three"), rec_term(0, 2, 3),         rec_entry(0, 2, 2, "two again")};
    assert_int_equal(box_open(b), 0);
    log->twins[0] = twin_new();
    log->ends[0] = 64 + 32 + 56 * TWIN_SHARDS; /* the checkpoint ends in zeros */
    for (int i = 0; i < STEPS; i++) {
        assert_int_equal(box_write(b, steps[i]), 0);
        log->ends[i + 1] = used_end(b->disk, SEGMENT_1);
        log->twins[i + 1] = twin_new();
        twin_copy(log->twins[i + 1], log->twins[i]);
        twin_apply(log->twins[i + 1], &steps[i]);
    }
    box_kill(b);
}

static void small_log_free(struct small_log *log)
{
    for (int i = 0; i <= STEPS; i++) {
        free(log->twins[i]);
    }
}

static void every_flipped_bit_is_noticed(void **state)
{
    struct box *b = *state;
    struct small_log log;
    unsigned refused = 0;
    unsigned torn = 0;
    small_log_write(b, &log);
    for (size_t at = 0; at < log.ends[STEPS] + 64; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            struct mem_disk *disk = mem_disk_clone(b->disk);
            mem_disk_flip(disk, SEGMENT_1, at, (uint8_t)(1u << bit));
            int rc = box_open_disk(b, disk);
            if (at < log.ends[STEPS - 1]) {
                assert_int_equal(rc, MUSTER_E_CORRUPT);
                refused++;
            } else { /* the last batch and the unused rest: as a torn write looks */
                assert_int_equal(rc, 0);
                assert_true(b->report.torn_tail);
                assert_null(twin_difference(b->found, log.twins[at < log.ends[STEPS] ? STEPS - 1 : STEPS]));
                torn++;
            }
            mem_disk_free(disk);
        }
    }
    assert_true(refused > 1000 && torn > 500);
    small_log_free(&log);
}

/* Two bad batches at the end, one of the headers good: the first of them had been acknowledged. */
static void two_bad_batches_are_no_torn_write(void **state)
{
    struct box *b = *state;
    struct small_log log;
    small_log_write(b, &log);
    size_t last = log.ends[STEPS - 1];
    size_t before = log.ends[STEPS - 2];
    const size_t pairs[][2] = {{before + 33, last + 5}, {before + 5, last + 33}, {before + 33, last + 33}};
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        struct mem_disk *disk = mem_disk_clone(b->disk);
        mem_disk_flip(disk, SEGMENT_1, pairs[i][0], 1);
        mem_disk_flip(disk, SEGMENT_1, pairs[i][1], 1);
        assert_int_equal(box_open_disk(b, disk), MUSTER_E_CORRUPT);
        assert_int_equal(b->report.corrupt_offset, before);
        mem_disk_free(disk);
    }
    small_log_free(&log);
}

/* The last write landed elsewhere in the segment: it was whole, and said to be synced. Over what was there, or behind a gap. */
static void a_write_that_landed_elsewhere_is_no_torn_write(void **state)
{
    struct box *b = *state;
    struct small_log log;
    small_log_write(b, &log);
    struct bytes file = mem_disk_file(b->disk, SEGMENT_1);
    size_t from = log.ends[STEPS - 1], len = log.ends[STEPS] - from;
    for (size_t to = 64; to + len <= (size_t)file.len; to += 8) {
        uint8_t moved[4096];
        assert_int_equal(file.len, sizeof(moved));
        memcpy(moved, file.ptr, sizeof(moved));
        memset(moved + from, 0, len);
        memcpy(moved + to, file.ptr + from, len);
        struct mem_disk *disk = mem_disk_clone(b->disk);
        mem_disk_put(disk, SEGMENT_1, moved, sizeof(moved));
        assert_int_equal(box_open_disk(b, disk), to == from ? 0 : MUSTER_E_CORRUPT);
        mem_disk_free(disk);
    }
    small_log_free(&log);
}

static void corruption_changes_nothing_and_says_what_to_do(void **state)
{
    struct box *b = *state;
    struct small_log log;
    small_log_write(b, &log);
    mem_disk_flip(b->disk, SEGMENT_1, log.ends[2] + 40, 4);
    struct mem_disk *before = mem_disk_clone(b->disk);
    assert_int_equal(box_open(b), MUSTER_E_CORRUPT);
    assert_string_equal(b->report.corrupt_file, SEGMENT_1);
    assert_int_equal(b->report.corrupt_offset, log.ends[2]);
    assert_non_null(strstr(b->report.text, SEGMENT_1));
    assert_non_null(strstr(b->report.text, "To rebuild"));
    assert_non_null(strstr(b->report.text, "empty data folder"));
    assert_int_equal(mem_disk_file_count(b->disk), mem_disk_file_count(before));
    assert_true(bytes_eq(mem_disk_file(b->disk, SEGMENT_1), mem_disk_file(before, SEGMENT_1)));
    mem_disk_free(before);
    small_log_free(&log);
}

/* The end of the last batch is missing: as zeros in the prewritten file, or because the file ends there. */
static void a_last_batch_cut_at_every_byte_is_dropped(void **state)
{
    struct box *b = *state;
    struct small_log log;
    small_log_write(b, &log);
    for (size_t at = log.ends[STEPS - 1]; at < log.ends[STEPS]; at++) {
        for (int shorter = 0; shorter < 2; shorter++) {
            struct mem_disk *disk = mem_disk_clone(b->disk);
            mem_disk_cut(disk, SEGMENT_1, at);
            if (!shorter) {
                mem_disk_cut(disk, SEGMENT_1, 4096);
            }
            assert_int_equal(box_open_disk(b, disk), 0);
            struct bytes cut = mem_disk_file(disk, SEGMENT_1);
            bool whole = !shorter && memcmp(cut.ptr, mem_disk_file(b->disk, SEGMENT_1).ptr, log.ends[STEPS]) == 0;
            assert_null(twin_difference(b->found, log.twins[whole ? STEPS : STEPS - 1]));
            assert_int_equal(box_open_disk(b, disk), 0); /* and again, now without a torn tail */
            assert_false(b->report.torn_tail);
            mem_disk_free(disk);
        }
    }
    small_log_free(&log);
}

/* What a torn write has left must not meet what is written next. */
static void a_torn_tail_is_gone_before_the_next_write(void **state)
{
    struct box *b = *state;
    struct small_log log;
    char payload[2001];
    memset(payload, 'p', 2000);
    payload[2000] = '\0';
    small_log_write(b, &log);
    assert_int_equal(box_open(b), 0);
    assert_int_equal(box_write(b, rec_entry(2, 1, 1, payload)), 0);
    box_kill(b);
    size_t long_end = used_end(b->disk, SEGMENT_1);
    mem_disk_flip(b->disk, SEGMENT_1, log.ends[STEPS] + 4, 1); /* its front is bad, the rest is there */
    assert_int_equal(box_open(b), 0);
    assert_true(b->report.torn_tail);
    assert_int_equal(b->report.torn_offset, log.ends[STEPS]);
    assert_true(used_end(b->disk, SEGMENT_1) < long_end);
    assert_int_equal(box_write(b, rec_term(2, 1, 1)), 0);
    box_fill(b, 2, 1, 60, 1, "over into the next segment");
    assert_non_null(mem_disk_file(b->disk, SEGMENT_2).ptr);
    box_kill(b);
    assert_int_equal(box_open(b), 0);
    assert_int_equal(b->found->shards[2].last, 60);
    small_log_free(&log);
}

static void write_three_segments(struct box *b)
{
    assert_int_equal(box_open(b), 0);
    box_fill(b, 0, 1, 150, 1, "a payload of some length");
    box_kill(b);
    assert_non_null(mem_disk_file(b->disk, SEGMENT_3).ptr);
}

static void a_missing_segment_is_corruption(void **state)
{
    struct box *b = *state;
    write_three_segments(b);
    const char *names[] = {SEGMENT_1, SEGMENT_2};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct mem_disk *disk = mem_disk_clone(b->disk);
        mem_disk_delete(disk, names[i]);
        assert_int_equal(box_open_disk(b, disk), MUSTER_E_CORRUPT);
        assert_non_null(strstr(b->report.text, "missing"));
        mem_disk_free(disk);
    }
}

static void a_bad_end_before_a_good_segment_is_corruption(void **state)
{
    struct box *b = *state;
    write_three_segments(b);
    size_t end = used_end(b->disk, SEGMENT_1);
    struct mem_disk *flipped = mem_disk_clone(b->disk);
    mem_disk_flip(flipped, SEGMENT_1, end - 16, 1); /* in its last batch */
    assert_int_equal(box_open_disk(b, flipped), MUSTER_E_CORRUPT);
    assert_string_equal(b->report.corrupt_file, SEGMENT_1);
    struct mem_disk *cut = mem_disk_clone(b->disk);
    mem_disk_cut(cut, SEGMENT_1, end - 200); /* whole batches are gone, nothing looks torn */
    assert_int_equal(box_open_disk(b, cut), MUSTER_E_CORRUPT);
    mem_disk_free(flipped);
    mem_disk_free(cut);
}

static void a_lost_block_in_the_middle_is_corruption(void **state)
{
    struct box *b = *state;
    assert_int_equal(box_open(b), 0);
    box_fill(b, 0, 1, 30, 1, "a payload of some length");
    box_kill(b);
    struct bytes file = mem_disk_file(b->disk, SEGMENT_1);
    uint8_t *copy = malloc((size_t)file.len);
    memcpy(copy, file.ptr, (size_t)file.len);
    memset(copy + 512, 0, 512);
    mem_disk_put(b->disk, SEGMENT_1, copy, (size_t)file.len);
    free(copy);
    assert_int_equal(box_open(b), MUSTER_E_CORRUPT);
}

static void an_empty_or_foreign_segment_is_corruption(void **state)
{
    struct box *b = *state;
    write_three_segments(b);
    struct mem_disk *empty = mem_disk_clone(b->disk);
    mem_disk_cut(empty, SEGMENT_3, 0);
    assert_int_equal(box_open_disk(b, empty), MUSTER_E_CORRUPT);
    struct mem_disk *renamed = mem_disk_clone(b->disk);
    struct bytes second = mem_disk_file(b->disk, SEGMENT_2);
    mem_disk_put(renamed, SEGMENT_3, second.ptr, (size_t)second.len);
    assert_int_equal(box_open_disk(b, renamed), MUSTER_E_CORRUPT);
    mem_disk_free(empty);
    mem_disk_free(renamed);
}

/* The same node after another life: its third segment continues other batches than the ones here. */
static void a_segment_of_another_log_is_corruption(void **state)
{
    struct box *b = *state;
    struct box other;
    write_three_segments(b);
    box_init(&other, 4096, 0);
    assert_int_equal(box_open(&other), 0);
    box_fill(&other, 0, 1, 150, 1, "A payload of some length"); /* as long, another letter */
    box_kill(&other);
    struct bytes third = mem_disk_file(other.disk, SEGMENT_3);
    assert_int_equal(third.len, mem_disk_file(b->disk, SEGMENT_3).len);
    mem_disk_put(b->disk, SEGMENT_3, third.ptr, (size_t)third.len);
    assert_int_equal(box_open(b), MUSTER_E_CORRUPT);
    assert_non_null(strstr(b->report.text, "does not continue"));
    box_fini(&other);
}

/* A client may send what looks like a batch: in a torn write it must not pass for one. */
static void a_batch_inside_a_payload_is_only_a_payload(void **state)
{
    struct box *b = *state;
    struct box other;
    struct store_identity identity = {.shard_count = TWIN_SHARDS, .incarnation = {{7}}};
    box_init(&other, 4096, 0);
    assert_int_equal(box_open(&other), 0);
    box_fill(&other, 0, 1, 9, 1, "x");
    box_kill(&other);
    struct bytes foreign = mem_disk_file(other.disk, SEGMENT_1);
    size_t from = 64 + 32 + 56 * TWIN_SHARDS; /* good batches, 2 to 10 */
    struct store_record r = rec_entry(0, 1, 1, "");
    uint8_t payload[2000];
    memcpy(payload + 4, foreign.ptr + from, 1900); /* 28 bytes of record before it: at a multiple of 8 with these 4 */
    r.payload = (struct bytes){payload, 1904};

    struct store_port port;
    mem_disk_port(b->disk, &port);
    assert_int_equal(store_identity_write(&port, &identity), 0);
    assert_int_equal(box_open(b), 0);
    assert_int_equal(box_write(b, r), 0);
    box_kill(b);
    mem_disk_flip(b->disk, SEGMENT_1, from, 1);
    assert_int_equal(box_open(b), 0);
    assert_true(b->report.torn_tail);
    box_fini(&other);
}

/* It was synced before the segment got its name, so it cannot be torn. */
static void a_bad_first_batch_is_corruption_even_alone(void **state)
{
    struct box *b = *state;
    assert_int_equal(box_open(b), 0);
    box_kill(b);
    mem_disk_flip(b->disk, SEGMENT_1, SEGMENT_HEADER_BYTES + 60, 1);
    assert_int_equal(box_open(b), MUSTER_E_CORRUPT);
    assert_non_null(strstr(b->report.text, "first batch"));
}

/* A checkpoint with right checksums that tells another story than the segments before: no accident of the disk, but not to be believed. */
static void a_checkpoint_must_agree_with_what_came_before(void **state)
{
    struct box *b = *state;
    struct segment_header h;
    uint8_t copy[4096];
    size_t len = BATCH_HEADER_BYTES + CHECKPOINT_RECORD_BYTES * TWIN_SHARDS;
    assert_int_equal(box_open(b), 0);
    box_fill(b, 0, 1, 60, 1, "a payload of some length");
    box_kill(b);
    assert_null(mem_disk_file(b->disk, SEGMENT_3).ptr);
    for (size_t field = 0; field < 6; field++) {
        struct mem_disk *disk = mem_disk_clone(b->disk);
        memcpy(copy, mem_disk_file(disk, SEGMENT_2).ptr, sizeof(copy));
        assert_int_equal(store_segment_decode(copy, sizeof(copy), &h), 0);
        copy[SEGMENT_HEADER_BYTES + BATCH_HEADER_BYTES + RECORD_HEADER_BYTES + 8 * field]++;
        store_batch_end(copy + SEGMENT_HEADER_BYTES, len, h.salt, h.first_sequence, TWIN_SHARDS);
        mem_disk_put(disk, SEGMENT_2, copy, sizeof(copy));
        assert_int_equal(box_open_disk(b, disk), MUSTER_E_CORRUPT);
        assert_string_equal(b->report.corrupt_file, SEGMENT_2);
        mem_disk_free(disk);
    }
}

static void a_newer_format_is_refused(void **state)
{
    struct box *b = *state;
    assert_int_equal(box_open(b), 0);
    box_close(b);
    struct bytes file = mem_disk_file(b->disk, SEGMENT_1);
    uint8_t copy[4096];
    memcpy(copy, file.ptr, sizeof(copy));
    put_le32(copy + 8, 2);
    put_le64(copy + 56, hash_bytes(copy, 56, 0));
    mem_disk_put(b->disk, SEGMENT_1, copy, sizeof(copy));
    assert_int_equal(box_open(b), MUSTER_E_VERSION);
    assert_non_null(strstr(b->report.text, "version"));
}

static void a_log_that_was_deleted_is_not_a_new_one(void **state)
{
    struct box *b = *state;
    struct store_identity identity = {.shard_count = TWIN_SHARDS, .node_id = 1};
    struct store_port port;
    mem_disk_port(b->disk, &port);
    assert_int_equal(store_identity_write(&port, &identity), 0);
    assert_int_equal(box_open(b), 0);
    assert_int_equal(box_write(b, rec_term(0, 5, 1)), 0);
    box_close(b);
    struct mem_disk *without_identity = mem_disk_clone(b->disk);
    mem_disk_delete(b->disk, SEGMENT_1);
    assert_int_equal(box_open(b), MUSTER_E_CORRUPT);
    assert_non_null(strstr(b->report.text, "log is missing"));
    mem_disk_delete(without_identity, "identity");
    assert_int_equal(box_open_disk(b, without_identity), 0); /* the log is what counts */
    mem_disk_free(without_identity);
}

static void a_snapshot_that_the_log_needs_must_be_there_and_good(void **state)
{
    struct box *b = *state;
    const char *name = "snap-0-20.snap";
    assert_int_equal(box_open(b), 0);
    box_fill(b, 0, 1, 30, 1, "x");
    make_snapshot(&b->port, 0, 20, 1);
    assert_int_equal(box_write(b, rec_snapshot(0, 20, 1, 20)), 0);
    box_close(b);
    for (size_t at = 0; at < (size_t)mem_disk_file(b->disk, name).len; at++) {
        struct mem_disk *disk = mem_disk_clone(b->disk);
        mem_disk_flip(disk, name, at, 0x10);
        assert_int_equal(box_open_disk(b, disk), MUSTER_E_CORRUPT);
        mem_disk_cut(disk, name, at);
        assert_int_equal(box_open_disk(b, disk), MUSTER_E_CORRUPT);
        mem_disk_free(disk);
    }
    /* A torn last batch beside it is the lesser thing to tell. */
    assert_int_equal(box_open(b), 0);
    assert_int_equal(box_write(b, rec_entry(0, 31, 1, "torn")), 0);
    box_kill(b);
    struct bytes log = mem_disk_file(b->disk, SEGMENT_1);
    size_t end = (size_t)log.len;
    while (log.ptr[end - 1] == 0) {
        end--;
    }
    mem_disk_flip(b->disk, SEGMENT_1, end - 1, 0x10);
    struct mem_disk *both = mem_disk_clone(b->disk);
    mem_disk_flip(both, name, 30, 0x10);
    assert_int_equal(box_open_disk(b, both), MUSTER_E_CORRUPT);
    assert_true(b->report.torn_tail);
    assert_non_null(strstr(b->report.text, name));
    mem_disk_free(both);
    mem_disk_delete(b->disk, name);
    assert_int_equal(box_open(b), MUSTER_E_CORRUPT);
    assert_string_equal(b->report.corrupt_file, name);
    assert_non_null(strstr(b->report.text, "missing"));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_flipped_bit_is_noticed),
        TEST(two_bad_batches_are_no_torn_write),
        TEST(a_write_that_landed_elsewhere_is_no_torn_write),
        TEST(corruption_changes_nothing_and_says_what_to_do),
        TEST(a_last_batch_cut_at_every_byte_is_dropped),
        TEST(a_torn_tail_is_gone_before_the_next_write),
        TEST(a_missing_segment_is_corruption),
        TEST(a_bad_end_before_a_good_segment_is_corruption),
        TEST(a_lost_block_in_the_middle_is_corruption),
        TEST(an_empty_or_foreign_segment_is_corruption),
        TEST(a_segment_of_another_log_is_corruption),
        TEST(a_batch_inside_a_payload_is_only_a_payload),
        TEST(a_bad_first_batch_is_corruption_even_alone),
        TEST(a_checkpoint_must_agree_with_what_came_before),
        TEST(a_newer_format_is_refused),
        TEST(a_log_that_was_deleted_is_not_a_new_one),
        TEST(a_snapshot_that_the_log_needs_must_be_there_and_good),
    };
    return cmocka_run_group_tests_name("storage damage", tests, NULL, NULL);
}
