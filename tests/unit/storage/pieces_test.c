/* pieces_test.c: recovery reads a segment piece by piece. Batches lie across the edges of the pieces, some are longer than one, and what tells a torn write from
 * damage may be pieces away. */
#include "fixture.h"
#include "format.h"

#define SEGMENT_1 "log-0000000000000001.seg"

enum { SEGMENT_BYTES = 2 << 20, PAYLOAD_BYTES = 90000, BATCHES = 24, RECORDS_MAX = 9, SEAL_BYTES = 32, PIECE_BYTES = 256 << 10 };

struct log {
    struct box box;
    struct twin *twin;        /* what has been written */
    size_t ends[BATCHES + 1]; /* where each batch ends in the segment that was the newest then */
    uint64_t last[BATCHES + 1];
    uint8_t payload[PAYLOAD_BYTES];
};

static int setup(void **state)
{
    struct log *l = calloc(1, sizeof(*l));
    assert_non_null(l);
    box_init(&l->box, SEGMENT_BYTES, 0);
    l->twin = twin_new();
    *state = l;
    return 0;
}

static int teardown(void **state)
{
    struct log *l = *state;
    box_fini(&l->box);
    free(l->twin);
    free(l);
    return 0;
}

static size_t used_end(const struct mem_disk *d, const char *name)
{
    struct bytes file = mem_disk_file(d, name);
    size_t end = (size_t)file.len;
    while (end > 0 && file.ptr[end - 1] == 0) {
        end--;
    }
    return (end + 7) / 8 * 8;
}

/* A batch of some entries of shard 0, of any size up to most. No payload ends with a zero. */
static size_t write_batch(struct log *l, struct prng *random, size_t records, size_t most)
{
    struct store_record batch[RECORDS_MAX];
    size_t bytes = 0;
    for (size_t i = 0; i < records; i++) {
        int32_t len = 1 + (int32_t)prng_below(random, most);
        batch[i] = rec_entry(0, l->twin->shards[0].last + 1, 1, "");
        batch[i].payload = (struct bytes){l->payload + prng_below(random, (uint64_t)(PAYLOAD_BYTES - len) + 1), len};
        twin_apply(l->twin, &batch[i]);
        bytes += (size_t)len;
    }
    assert_int_equal(store_write(l->box.store, batch, records), 0);
    return bytes;
}

static void fill_payload(struct log *l, struct prng *random)
{
    for (size_t i = 0; i < PAYLOAD_BYTES; i++) {
        l->payload[i] = (uint8_t)(1 + prng_below(random, 255));
    }
}

/* One segment that is filled by half. */
static void write_log(struct log *l, uint64_t seed)
{
    struct prng random;
    prng_seed(&random, seed);
    fill_payload(l, &random);
    assert_int_equal(box_open(&l->box), 0);
    l->ends[0] = SEGMENT_HEADER_BYTES + BATCH_HEADER_BYTES + CHECKPOINT_RECORD_BYTES * TWIN_SHARDS; /* it ends in zeros */
    for (int i = 0; i < BATCHES; i++) {
        write_batch(l, &random, 1, PAYLOAD_BYTES);
        l->ends[i + 1] = used_end(l->box.disk, SEGMENT_1);
        l->last[i + 1] = l->twin->shards[0].last;
    }
    assert_true(l->ends[BATCHES] > 2 * (size_t)PIECE_BYTES && l->ends[BATCHES] + 2 * (size_t)PIECE_BYTES < SEGMENT_BYTES);
    box_kill(&l->box);
}

static void batches_of_any_size_are_found(void **state)
{
    struct log *l = *state;
    struct box *b = &l->box;
    struct prng random;
    prng_seed(&random, 7);
    fill_payload(l, &random);
    assert_int_equal(box_open(b), 0);
    for (size_t bytes = 0; bytes < 4 * (size_t)SEGMENT_BYTES;) {
        size_t records = 1 + (size_t)prng_below(&random, RECORDS_MAX);
        bytes += write_batch(l, &random, records, records > 7 ? PAYLOAD_BYTES : 20000); /* some are longer than a piece, and than two */
    }
    box_kill(b);
    assert_int_equal(box_open(b), 0);
    assert_true(b->report.segments > 4);
    assert_null(twin_difference(b->found, l->twin));
}

static struct store_port plain;
static size_t most_read;

static int counted_read(void *ctx, int file, uint64_t offset, void *dst, size_t len, size_t *ret_len)
{
    most_read = len > most_read ? len : most_read;
    return plain.read(ctx, file, offset, dst, len, ret_len);
}

static void count_entry(void *ctx, uint32_t shard, uint64_t index, uint64_t term, uint8_t entry_type, struct bytes payload)
{
    (void)shard;
    (void)index;
    (void)term;
    (void)entry_type;
    *(size_t *)ctx += (size_t)payload.len;
}

static void ignore_shard(void *ctx, uint32_t shard, const struct store_shard_state *state)
{
    (void)ctx;
    (void)shard;
    (void)state;
}

/* What a start takes of memory does not go with the size of the segments. */
static void no_segment_is_read_whole(void **state)
{
    struct log *l = *state;
    struct store_report report;
    struct store *store = NULL;
    size_t handed_over = 0;
    struct store_recovery recovery = {&handed_over, ignore_shard, count_entry};
    write_log(l, 3);
    mem_disk_port(l->box.disk, &plain);
    struct store_port counted = plain;
    counted.read = counted_read;
    most_read = 0;
    assert_int_equal(store_open(&store, &counted, &l->box.options, &recovery, &report), 0);
    assert_true(handed_over > 2 * (size_t)PIECE_BYTES && most_read > 0);
    assert_true(most_read <= PIECE_BYTES);
    store_close(store);
    mem_disk_end_process(l->box.disk, &plain);
}

/* One bit, at the beginning, in the middle and at the end of each batch. */
static void a_bad_batch_is_judged_by_what_is_far_behind(void **state)
{
    struct log *l = *state;
    struct box *b = &l->box;
    write_log(l, 11);
    for (int i = 0; i < BATCHES; i++) {
        size_t len = l->ends[i + 1] - l->ends[i];
        const size_t places[] = {l->ends[i] + 5, l->ends[i] + len / 2, l->ends[i + 1] - 9};
        for (size_t k = 0; k < COUNT_OF(places); k++) {
            struct mem_disk *disk = mem_disk_clone(b->disk);
            mem_disk_flip(disk, SEGMENT_1, places[k], 4);
            assert_int_equal(box_open_disk(b, disk), i + 1 < BATCHES ? MUSTER_E_CORRUPT : 0);
            if (i + 1 < BATCHES) {
                assert_int_equal(b->report.corrupt_offset, l->ends[i]);
            } else {
                assert_true(b->report.torn_tail);
                assert_int_equal(b->report.torn_offset, l->ends[i]);
                assert_int_equal(b->found->shards[0].last, l->last[i]);
            }
            mem_disk_free(disk);
        }
    }
}

/* Only the last batch was good once; what follows it, however far, is left of a write that was torn, and goes. */
static void a_torn_tail_is_found_and_wiped_however_far(void **state)
{
    struct log *l = *state;
    struct box *b = &l->box;
    write_log(l, 12);
    for (size_t at = l->ends[BATCHES]; at < SEGMENT_BYTES; at += 50001) {
        struct mem_disk *disk = mem_disk_clone(b->disk);
        mem_disk_flip(disk, SEGMENT_1, at, 1);
        assert_int_equal(box_open_disk(b, disk), 0);
        assert_true(b->report.torn_tail);
        assert_null(twin_difference(b->found, l->twin));
        assert_true(used_end(disk, SEGMENT_1) <= l->ends[BATCHES] + SEAL_BYTES);
        assert_int_equal(box_open_disk(b, disk), 0);
        assert_false(b->report.torn_tail);
        mem_disk_free(disk);
    }
}

static void a_file_that_is_cut_off_ends_with_its_last_whole_batch(void **state)
{
    struct log *l = *state;
    struct box *b = &l->box;
    write_log(l, 13);
    for (size_t at = l->ends[0]; at < SEGMENT_BYTES; at += 9973) {
        int whole = 0;
        while (whole < BATCHES && l->ends[whole + 1] <= at) {
            whole++;
        }
        struct mem_disk *disk = mem_disk_clone(b->disk);
        mem_disk_cut(disk, SEGMENT_1, at);
        assert_int_equal(box_open_disk(b, disk), 0);
        assert_int_equal(b->found->shards[0].last, l->last[whole]);
        assert_int_equal(b->report.torn_tail, whole < BATCHES && at > l->ends[whole]);
        mem_disk_free(disk);
    }
}

/* Any of the reads, of the first and of the second reading. */
static void a_piece_that_cannot_be_read_is_told(void **state)
{
    struct log *l = *state;
    struct box *b = &l->box;
    write_log(l, 14);
    uint64_t failed = 0;
    for (int rc = MUSTER_E_IO; rc != 0; failed++) {
        struct mem_disk *disk = mem_disk_clone(b->disk);
        mem_disk_faults(disk)->fail_read = failed + 1;
        rc = box_open_disk(b, disk);
        assert_true(rc == MUSTER_E_IO || rc == 0);
        if (rc == 0) {
            assert_null(twin_difference(b->found, l->twin));
        } else {
            assert_true(b->report.text[0] != '\0');
            assert_true(bytes_eq(mem_disk_file(disk, SEGMENT_1), mem_disk_file(b->disk, SEGMENT_1)));
        }
        mem_disk_free(disk);
    }
    assert_true(failed > 10);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(batches_of_any_size_are_found),
        TEST(no_segment_is_read_whole),
        TEST(a_bad_batch_is_judged_by_what_is_far_behind),
        TEST(a_torn_tail_is_found_and_wiped_however_far),
        TEST(a_file_that_is_cut_off_ends_with_its_last_whole_batch),
        TEST(a_piece_that_cannot_be_read_is_told),
    };
    return cmocka_run_group_tests_name("storage pieces", tests, NULL, NULL);
}
