/* snapshot_test.c: writing, reading, damaging and transferring snapshots. */
#include "fixture.h"

struct place {
    struct mem_disk *disk;
    struct store_port port;
};

static int setup(void **state)
{
    struct place *p = malloc(sizeof(*p));
    assert_non_null(p);
    p->disk = mem_disk_new();
    mem_disk_port(p->disk, &p->port);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    mem_disk_free(p->disk);
    free(p);
    return 0;
}

static const struct store_snapshot_meta sample_meta = {
    .shard = 3, .index = 1000, .term = 7, .config_index = 12, .state_hash = 0xfeedfacecafebeef};

/* Runs of data that can be told apart: run i is run_bytes(i) bytes long. */
static size_t run_bytes(size_t i)
{
    return 1 + (i * 7919) % 5000;
}

static void run_fill(size_t i, uint8_t *dst)
{
    struct prng random;
    prng_seed(&random, i);
    for (size_t k = 0; k < run_bytes(i); k++) {
        dst[k] = (uint8_t)prng_below(&random, 20); /* compresses somewhat */
    }
}

static void write_runs(const struct store_port *port, struct store_snapshot_meta meta, size_t count)
{
    struct store_snapshot_writer *w = NULL;
    uint8_t run[5001];
    meta.config = (struct bytes){(const uint8_t *)"three voters", 12};
    assert_int_equal(store_snapshot_create(port, &meta, &w), 0);
    for (size_t i = 0; i < count; i++) {
        run_fill(i, run);
        assert_int_equal(store_snapshot_add(w, (struct bytes){run, (int32_t)run_bytes(i)}), 0);
    }
    assert_int_equal(store_snapshot_commit(w), 0);
}

/* Reads to the end; every chunk must consist of whole runs, in order. Gives the number of chunks, or an error. */
static int read_runs(struct store_snapshot_reader *r, size_t count)
{
    uint8_t run[5001];
    size_t next = 0;
    int chunks = 0;
    for (;;) {
        struct bytes data;
        int rc = store_snapshot_next(r, &data);
        if (rc < 0) {
            return rc;
        }
        if (data.len == 0) {
            assert_int_equal(next, count);
            return chunks;
        }
        chunks++;
        size_t at = 0;
        while (at < (size_t)data.len) {
            assert_true(next < count && at + run_bytes(next) <= (size_t)data.len);
            run_fill(next, run);
            assert_memory_equal(data.ptr + at, run, run_bytes(next));
            at += run_bytes(next++);
        }
    }
}

static void what_is_written_is_read(void **state)
{
    struct place *p = *state;
    struct store_snapshot_meta meta;
    struct store_snapshot_reader *r = NULL;
    assert_int_equal(store_snapshot_open(&p->port, 3, 0, &meta, &r), MUSTER_E_NOT_FOUND);
    write_runs(&p->port, sample_meta, 400);
    assert_int_equal(store_snapshot_open(&p->port, 3, 1000, &meta, &r), 0);
    assert_int_equal(meta.shard, 3);
    assert_int_equal(meta.index, 1000);
    assert_int_equal(meta.term, 7);
    assert_int_equal(meta.config_index, 12);
    assert_true(meta.state_hash == sample_meta.state_hash);
    assert_int_equal(meta.config.len, 12);
    assert_memory_equal(meta.config.ptr, "three voters", 12);
    assert_int_equal(store_snapshot_check(r), 0); /* and is read from its beginning all the same */
    assert_true(read_runs(r, 400) >= 4);          /* several chunks */
    assert_int_equal(read_runs(r, 0), 0);         /* the end stays the end */
    store_snapshot_close(r);
    assert_int_equal(store_snapshot_open(&p->port, 3, 1001, &meta, &r), MUSTER_E_NOT_FOUND);
    assert_int_equal(store_snapshot_open(&p->port, 2, 0, &meta, &r), MUSTER_E_NOT_FOUND);
    assert_int_equal(mem_disk_file_count(p->disk), 1);
}

static void an_empty_state_is_a_snapshot_too(void **state)
{
    struct place *p = *state;
    struct store_snapshot_meta meta = sample_meta;
    struct store_snapshot_reader *r = NULL;
    write_runs(&p->port, meta, 0);
    assert_int_equal(store_snapshot_open(&p->port, 3, 0, &meta, &r), 0);
    assert_int_equal(read_runs(r, 0), 0);
    store_snapshot_close(r);
}

static void big_runs_are_kept_whole(void **state)
{
    struct place *p = *state;
    size_t len = 3 * 1024 * 1024;
    uint8_t *run = malloc(len);
    struct store_snapshot_writer *w = NULL;
    struct store_snapshot_meta meta;
    struct store_snapshot_reader *r = NULL;
    struct bytes data;
    memset(run, 'r', len);
    assert_int_equal(store_snapshot_create(&p->port, &sample_meta, &w), 0);
    assert_int_equal(store_snapshot_add(w, (struct bytes){run, 10}), 0);
    assert_int_equal(store_snapshot_add(w, (struct bytes){run, (int32_t)len}), 0);
    assert_int_equal(store_snapshot_commit(w), 0);
    assert_int_equal(store_snapshot_open(&p->port, 3, 0, &meta, &r), 0);
    assert_int_equal(store_snapshot_next(r, &data), 0);
    assert_int_equal(data.len, 10);
    assert_int_equal(store_snapshot_next(r, &data), 0);
    assert_int_equal(data.len, len);
    assert_memory_equal(data.ptr, run, len);
    store_snapshot_close(r);
    assert_int_equal(store_snapshot_create(&p->port, &sample_meta, &w), 0);
    assert_int_equal(store_snapshot_add(w, (struct bytes){run, 40 * 1024 * 1024}), MUSTER_E_LIMIT);
    assert_int_equal(store_snapshot_commit(w), MUSTER_E_LIMIT); /* an error is not forgotten */
    free(run);
}

static void the_newest_that_is_good_is_opened(void **state)
{
    struct place *p = *state;
    struct store_snapshot_meta meta = sample_meta;
    struct store_snapshot_reader *r = NULL;
    write_runs(&p->port, meta, 5);
    meta.index = 2000;
    write_runs(&p->port, meta, 5);
    meta.index = 999;
    write_runs(&p->port, meta, 5);
    assert_int_equal(store_snapshot_open(&p->port, 3, 0, &meta, &r), 0);
    assert_int_equal(meta.index, 2000);
    store_snapshot_close(r);
    mem_disk_flip(p->disk, "snap-3-2000.snap", 30, 1);
    assert_int_equal(store_snapshot_open(&p->port, 3, 0, &meta, &r), 0);
    assert_int_equal(meta.index, 1000);
    store_snapshot_close(r);
    assert_int_equal(store_snapshot_open(&p->port, 3, 1500, &meta, &r), MUSTER_E_CORRUPT);
}

static void nothing_is_visible_before_commit(void **state)
{
    struct place *p = *state;
    struct store_snapshot_meta meta = sample_meta;
    struct store_snapshot_writer *w = NULL;
    struct store_snapshot_reader *r = NULL;
    assert_int_equal(store_snapshot_create(&p->port, &meta, &w), 0);
    assert_int_equal(store_snapshot_add(w, (struct bytes){(const uint8_t *)"x", 1}), 0);
    assert_int_equal(store_snapshot_open(&p->port, 3, 0, &meta, &r), MUSTER_E_NOT_FOUND);
    store_snapshot_abort(w);
    assert_int_equal(mem_disk_file_count(p->disk), 0);
}

static void a_crash_leaves_a_whole_snapshot_or_none(void **state)
{
    (void)state;
    unsigned whole = 0;
    unsigned none = 0;
    for (uint64_t cut = 1; cut <= 12; cut++) {
        for (uint64_t seed = 0; seed < 10; seed++) {
            struct mem_disk *disk = mem_disk_new();
            struct store_port port;
            struct store_snapshot_writer *w = NULL;
            struct store_snapshot_meta meta;
            struct store_snapshot_reader *r = NULL;
            struct prng random;
            mem_disk_port(disk, &port);
            mem_disk_faults(disk)->cut_power = cut;
            int rc = store_snapshot_create(&port, &sample_meta, &w);
            rc = rc < 0 ? rc : store_snapshot_add(w, (struct bytes){(const uint8_t *)"state", 5});
            rc = w == NULL ? rc : store_snapshot_commit(w);
            prng_seed(&random, seed);
            mem_disk_crash(disk, &random);
            mem_disk_port(disk, &port);
            int opened = store_snapshot_open(&port, 3, 0, &meta, &r);
            assert_true(opened == 0 || (rc < 0 && opened == MUSTER_E_NOT_FOUND));
            struct bytes data = {NULL, 0};
            assert_int_equal(opened == 0 ? store_snapshot_next(r, &data) : 0, 0);
            assert_int_equal(data.len, opened == 0 ? 5 : 0);
            store_snapshot_close(r);
            whole += opened == 0 ? 1 : 0;
            none += opened == 0 ? 0 : 1;
            mem_disk_free(disk);
        }
    }
    assert_true(whole > 10 && none > 10);
}

static void every_flip_and_cut_is_noticed(void **state)
{
    struct place *p = *state;
    const char *name = "snap-3-1000.snap";
    write_runs(&p->port, sample_meta, 3);
    size_t len = (size_t)mem_disk_file(p->disk, name).len;
    for (size_t at = 0; at < len; at++) {
        for (int cut = 0; cut < 2; cut++) {
            struct mem_disk *copy = mem_disk_clone(p->disk);
            struct store_port port;
            struct store_snapshot_meta meta;
            struct store_snapshot_reader *r = NULL;
            mem_disk_port(copy, &port);
            if (cut) {
                mem_disk_cut(copy, name, at);
            } else {
                mem_disk_flip(copy, name, at, (uint8_t)(1u << (at % 8)));
            }
            int rc = store_snapshot_open(&port, 3, 0, &meta, &r);
            if (rc == 0) {
                assert_int_equal(store_snapshot_check(r), MUSTER_E_CORRUPT);
                rc = read_runs(r, 3);
                store_snapshot_close(r);
            }
            assert_int_equal(rc, MUSTER_E_CORRUPT);
            mem_disk_free(copy);
        }
    }
}

/* The chunks of one file between the header and the trailer of another of the same name and length. */
static void expect_mix_refused(struct place *p, struct mem_disk *other)
{
    struct store_snapshot_meta meta;
    struct store_snapshot_reader *r = NULL;
    struct bytes a = mem_disk_file(p->disk, "snap-3-1000.snap");
    struct bytes b = mem_disk_file(other, "snap-3-1000.snap");
    assert_int_equal(a.len, b.len);
    assert_memory_not_equal(a.ptr, b.ptr, (size_t)a.len);
    struct mem_disk *disk = mem_disk_new();
    struct store_port port;
    uint8_t *mixed = malloc((size_t)a.len);
    memcpy(mixed, a.ptr, (size_t)a.len);
    memcpy(mixed + 84, b.ptr + 84, (size_t)a.len - 84 - 48);
    mem_disk_put(disk, "snap-3-1000.snap", mixed, (size_t)a.len);
    mem_disk_port(disk, &port);
    assert_int_equal(store_snapshot_open(&port, 3, 0, &meta, &r), 0);
    struct bytes data = {NULL, 1};
    int rc = 0;
    while (rc == 0 && data.len > 0) {
        rc = store_snapshot_next(r, &data);
    }
    assert_int_equal(rc, MUSTER_E_CORRUPT);
    store_snapshot_close(r);
    free(mixed);
    mem_disk_free(disk);
}

static void write_text(const struct store_port *port, struct store_snapshot_meta meta, const char *text)
{
    struct store_snapshot_writer *w = NULL;
    meta.config = (struct bytes){(const uint8_t *)"three voters", 12};
    assert_int_equal(store_snapshot_create(port, &meta, &w), 0);
    assert_int_equal(store_snapshot_add(w, (struct bytes){(const uint8_t *)text, (int32_t)strlen(text)}), 0);
    assert_int_equal(store_snapshot_commit(w), 0);
}

static void chunks_cannot_be_exchanged(void **state)
{
    struct place *p = *state;
    struct store_snapshot_meta meta = sample_meta;
    struct mem_disk *other = mem_disk_new();
    struct store_port port;
    mem_disk_port(other, &port);
    write_text(&p->port, meta, "the same data");
    meta.state_hash++;
    write_text(&port, meta, "the same data"); /* under another header */
    expect_mix_refused(p, other);
    write_text(&port, sample_meta, "OTHER DATA..."); /* under the same header: every chunk is good by itself */
    expect_mix_refused(p, other);
    mem_disk_free(other);
}

static void full_and_failing_disks_leave_nothing(void **state)
{
    struct place *p = *state;
    struct store_snapshot_writer *w = NULL;
    uint8_t run[5001];
    mem_disk_faults(p->disk)->capacity_bytes = 100000;
    assert_int_equal(store_snapshot_create(&p->port, &sample_meta, &w), 0);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < 1000; i++) {
        run_fill(i, run);
        rc = store_snapshot_add(w, (struct bytes){run, (int32_t)run_bytes(i)});
    }
    assert_int_equal(rc, MUSTER_E_FULL);
    assert_int_equal(store_snapshot_commit(w), MUSTER_E_FULL);
    assert_int_equal(mem_disk_file_count(p->disk), 0);
    mem_disk_faults(p->disk)->capacity_bytes = 0;
    mem_disk_faults(p->disk)->fail_sync = 1;
    assert_int_equal(store_snapshot_create(&p->port, &sample_meta, &w), 0);
    assert_int_equal(store_snapshot_commit(w), MUSTER_E_IO);
    assert_int_equal(mem_disk_file_count(p->disk), 0);
}

/* ---- transfer ----------------------------------------------------------------------------------------------------------------- */

static void a_transfer_is_resumed_where_it_stopped(void **state)
{
    struct place *p = *state;
    struct mem_disk *other = mem_disk_new();
    struct store_port port;
    struct store_snapshot_meta meta;
    struct store_snapshot_reader *r = NULL;
    struct store_snapshot_sink *sink = NULL;
    uint64_t have = 99;
    uint8_t piece[777];
    mem_disk_port(other, &port);
    write_runs(&p->port, sample_meta, 100);
    assert_int_equal(store_snapshot_open(&p->port, 3, 0, &meta, &r), 0);
    uint64_t total = store_snapshot_file_bytes(r);
    for (unsigned round = 0;; round++) { /* a new connection after every 50 pieces */
        assert_int_equal(store_snapshot_receive(&port, 3, 1000, 7, &sink, &have), 0);
        assert_int_equal(have, round * 50 * sizeof(piece));
        for (int i = 0; i < 50 && have < total; i++) {
            size_t got = 0;
            assert_int_equal(store_snapshot_read_raw(r, have, piece, sizeof(piece), &got), 0);
            assert_int_equal(store_snapshot_receive_add(sink, have + 1, (struct bytes){piece, (int32_t)got}), MUSTER_E_INVALID);
            assert_int_equal(store_snapshot_receive_add(sink, have, (struct bytes){piece, (int32_t)got}), 0);
            have += got;
        }
        if (have == total) {
            break;
        }
        store_snapshot_receive_abort(sink);
    }
    assert_int_equal(store_snapshot_receive_commit(sink), 0);
    store_snapshot_close(r);
    assert_int_equal(store_snapshot_open(&port, 3, 0, &meta, &r), 0);
    assert_int_equal(meta.term, 7);
    assert_true(read_runs(r, 100) > 0);
    store_snapshot_close(r);
    assert_int_equal(mem_disk_file_count(other), 1);
    mem_disk_free(other);
}

static void receive_file(const struct store_port *port, struct bytes file, uint32_t shard, uint64_t index, uint64_t term, int expected)
{
    struct store_snapshot_sink *sink = NULL;
    uint64_t have = 0;
    assert_int_equal(store_snapshot_receive(port, shard, index, term, &sink, &have), 0);
    assert_int_equal(have, 0);
    assert_int_equal(store_snapshot_receive_add(sink, 0, file), 0);
    assert_int_equal(store_snapshot_receive_commit(sink), expected);
}

static void a_bad_transfer_is_never_visible(void **state)
{
    struct place *p = *state;
    struct mem_disk *other = mem_disk_new();
    struct store_port port;
    mem_disk_port(other, &port);
    write_runs(&p->port, sample_meta, 3);
    struct bytes file = mem_disk_file(p->disk, "snap-3-1000.snap");
    uint8_t *bad = malloc((size_t)file.len);
    for (int32_t at = 0; at < file.len; at += 7) {
        memcpy(bad, file.ptr, (size_t)file.len);
        bad[at] ^= 0x40;
        receive_file(&port, (struct bytes){bad, file.len}, 3, 1000, 7, MUSTER_E_CORRUPT);
        assert_int_equal(mem_disk_file_count(other), 0); /* nor kept to be resumed */
    }
    receive_file(&port, (struct bytes){file.ptr, file.len - 1}, 3, 1000, 7, MUSTER_E_CORRUPT);
    receive_file(&port, file, 3, 1000, 8, MUSTER_E_CORRUPT);
    receive_file(&port, file, 3, 1001, 7, MUSTER_E_CORRUPT);
    receive_file(&port, file, 2, 1000, 7, MUSTER_E_CORRUPT);
    receive_file(&port, file, 3, 1000, 7, 0);
    free(bad);
    mem_disk_free(other);
}

/* Committed means durable: also the bytes, also the name. */
static void a_crash_after_a_received_commit_takes_nothing(void **state)
{
    struct place *p = *state;
    unsigned unfinished = 0;
    write_runs(&p->port, sample_meta, 20);
    struct bytes file = mem_disk_file(p->disk, "snap-3-1000.snap");
    for (uint64_t cut = 0; cut <= 8; cut++) {
        for (uint64_t seed = 0; seed < 12; seed++) {
            struct mem_disk *other = mem_disk_new();
            struct store_port port;
            struct store_snapshot_sink *sink = NULL;
            struct store_snapshot_meta meta;
            struct store_snapshot_reader *r = NULL;
            struct prng random;
            uint64_t have = 0;
            mem_disk_port(other, &port);
            mem_disk_faults(other)->cut_power = cut;
            int rc = store_snapshot_receive(&port, 3, 1000, 7, &sink, &have);
            rc = rc < 0 ? rc : store_snapshot_receive_add(sink, 0, file);
            if (sink != NULL) {
                int committed = store_snapshot_receive_commit(sink);
                rc = rc < 0 ? rc : committed;
            }
            prng_seed(&random, seed);
            mem_disk_crash(other, &random);
            mem_disk_port(other, &port);
            int opened = store_snapshot_open(&port, 3, 0, &meta, &r);
            assert_true(opened == 0 || (rc < 0 && opened == MUSTER_E_NOT_FOUND));
            if (opened == 0) {
                assert_true(read_runs(r, 20) > 0);
                store_snapshot_close(r);
            }
            unfinished += rc < 0 ? 1 : 0;
            mem_disk_free(other);
        }
    }
    assert_true(unfinished > 40 && unfinished < 9 * 12);
}

static void another_transfer_of_the_shard_replaces_the_first(void **state)
{
    struct place *p = *state;
    struct store_snapshot_sink *sink = NULL;
    uint64_t have = 0;
    struct bytes data = {(const uint8_t *)"abcdef", 6};
    assert_int_equal(store_snapshot_receive(&p->port, 3, 1000, 7, &sink, &have), 0);
    assert_int_equal(store_snapshot_receive_add(sink, 0, data), 0);
    store_snapshot_receive_abort(sink);
    assert_int_equal(store_snapshot_receive(&p->port, 2, 1000, 7, &sink, &have), 0); /* another shard */
    assert_int_equal(have, 0);
    store_snapshot_receive_abort(sink);
    assert_int_equal(store_snapshot_receive(&p->port, 3, 1000, 7, &sink, &have), 0);
    assert_int_equal(have, 6);
    store_snapshot_receive_abort(sink);
    assert_int_equal(store_snapshot_receive(&p->port, 3, 1010, 7, &sink, &have), 0);
    assert_int_equal(have, 0);
    store_snapshot_receive_abort(sink);
    assert_int_equal(store_snapshot_receive(&p->port, 3, 1000, 7, &sink, &have), 0);
    assert_int_equal(have, 0);
    mem_disk_faults(p->disk)->full_write = 1; /* half of it arrives: it must not count when the transfer is resumed */
    assert_int_equal(store_snapshot_receive_add(sink, 0, data), MUSTER_E_FULL);
    store_snapshot_receive_abort(sink);
    assert_int_equal(store_snapshot_receive(&p->port, 3, 1000, 7, &sink, &have), 0);
    assert_int_equal(have, 0);
    store_snapshot_receive_abort(sink);
}

/* ---- with the log --------------------------------------------------------------------------------------------------------------- */

static void the_log_decides_which_snapshots_stay(void **state)
{
    (void)state;
    struct box b;
    struct store_snapshot_meta meta;
    struct store_snapshot_reader *old = NULL;
    struct store_snapshot_sink *sink = NULL;
    struct bytes data;
    uint64_t have = 0;
    box_init(&b, 4096, 0);
    assert_int_equal(box_open(&b), 0);
    box_fill(&b, 0, 1, 30, 1, "x");
    make_snapshot(&b.port, 0, 10, 1);
    assert_int_equal(box_write(&b, rec_snapshot(0, 10, 1, 10)), 0);
    assert_int_equal(store_snapshot_open(&b.port, 0, 10, &meta, &old), 0);
    make_snapshot(&b.port, 0, 20, 1);
    assert_true(box_has_name(&b, "snap-0-10.snap")); /* until the log says so */
    assert_int_equal(box_write(&b, rec_snapshot(0, 20, 1, 20)), 0);
    assert_false(box_has_name(&b, "snap-0-10.snap"));
    assert_true(box_has_name(&b, "snap-0-20.snap"));
    assert_int_equal(store_snapshot_next(old, &data), 0); /* who reads it goes on */
    assert_true(data.len > 0);
    store_snapshot_close(old);
    make_snapshot(&b.port, 0, 25, 1); /* the log never hears of it */
    assert_int_equal(store_snapshot_receive(&b.port, 1, 5, 1, &sink, &have), 0);
    store_snapshot_receive_abort(sink);
    box_kill(&b);
    mem_disk_put(b.disk, "snap-0-30.snap.tmp", "half", 4);
    mem_disk_put(b.disk, "notes.txt", "of the operator", 15);
    assert_int_equal(box_open(&b), 0);
    assert_true(box_has_name(&b, "snap-0-20.snap"));
    assert_false(box_has_name(&b, "snap-0-25.snap"));
    assert_false(box_has_name(&b, ".tmp"));
    assert_true(box_has_name(&b, "notes.txt"));
    box_fini(&b);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_is_read),
        TEST(an_empty_state_is_a_snapshot_too),
        TEST(big_runs_are_kept_whole),
        TEST(the_newest_that_is_good_is_opened),
        TEST(nothing_is_visible_before_commit),
        TEST(a_crash_leaves_a_whole_snapshot_or_none),
        TEST(every_flip_and_cut_is_noticed),
        TEST(chunks_cannot_be_exchanged),
        TEST(full_and_failing_disks_leave_nothing),
        TEST(a_transfer_is_resumed_where_it_stopped),
        TEST(a_bad_transfer_is_never_visible),
        TEST(a_crash_after_a_received_commit_takes_nothing),
        TEST(another_transfer_of_the_shard_replaces_the_first),
        TEST(the_log_decides_which_snapshots_stay),
    };
    return cmocka_run_group_tests_name("storage snapshots", tests, NULL, NULL);
}
