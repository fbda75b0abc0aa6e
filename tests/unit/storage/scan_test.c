/* scan_test.c: the offline reader on good, damaged and living folders. It must never change one. */
#include "fixture.h"

#define SEGMENT_1 "log-0000000000000001.seg"
#define SEGMENT_2 "log-0000000000000002.seg"

static int setup(void **state)
{
    struct box *b = malloc(sizeof(*b));
    assert_non_null(b);
    box_init(b, 4096, 4096);
    *state = b;
    return 0;
}

static int teardown(void **state)
{
    box_fini(*state);
    free(*state);
    return 0;
}

/* What the reader showed. */
struct seen {
    struct twin *twin; /* records applied in order */
    unsigned batches, entries, terms, snapshot_records, checkpoints, snapshots, torn, corrupt;
    char last_damage[200];
    void (*on_record)(struct seen *seen); /* runs in the middle of a scan */
    void *arg;
};

static void see_batch(void *ctx, const char *file, uint64_t offset, uint64_t sequence, uint32_t records)
{
    struct seen *s = ctx;
    assert_non_null(file);
    assert_true(offset >= 64 && sequence > 0);
    (void)records;
    s->batches++;
}

static void see_record(void *ctx, const struct store_record *r)
{
    struct seen *s = ctx;
    s->entries += r->kind == STORE_ENTRY ? 1 : 0;
    s->terms += r->kind == STORE_TERM ? 1 : 0;
    s->snapshot_records += r->kind == STORE_SNAPSHOT ? 1 : 0;
    s->checkpoints += r->kind == STORE_CHECKPOINT ? 1 : 0;
    if (r->kind != STORE_CHECKPOINT) {
        twin_apply(s->twin, r);
    }
    if (s->on_record != NULL) {
        s->on_record(s);
    }
}

static void see_snapshot(void *ctx, const struct store_snapshot_meta *meta)
{
    struct seen *s = ctx;
    assert_true(meta->config.len >= 0);
    s->snapshots++;
}

static void see_damage(void *ctx, bool torn_tail, const char *file, uint64_t offset, const char *text)
{
    struct seen *s = ctx;
    s->torn += torn_tail ? 1 : 0;
    s->corrupt += torn_tail ? 0 : 1;
    (void)snprintf(s->last_damage, sizeof(s->last_damage), "%s %llu %s", file, (unsigned long long)offset, text);
}

static void seen_fini(struct seen *s)
{
    free(s->twin);
}

/* Scans and proves that not a byte, not a name, not the lock was touched. */
static int scan(struct mem_disk *disk, struct seen *seen, struct store_report *report)
{
    struct store_port port;
    struct mem_counts before;
    struct mem_counts after;
    struct store_visit visit = {.ctx = seen, .batch = see_batch, .record = see_record, .snapshot = see_snapshot, .damage = see_damage};
    if (seen->twin == NULL) {
        seen->twin = twin_new();
    }
    mem_disk_counts(disk, &before);
    mem_disk_port(disk, &port);
    port.lock = NULL; /* a call would crash */
    port.write = NULL;
    port.allocate = NULL;
    port.truncate = NULL;
    port.rename = NULL;
    port.remove = NULL;
    port.sync = NULL;
    port.sync_dir = NULL;
    int rc = store_scan(&port, &visit, report);
    mem_disk_end_process(disk, &port);
    if (seen->on_record == NULL) {
        mem_disk_counts(disk, &after);
        assert_int_equal(before.changes, after.changes);
    }
    return rc;
}

static void fill(struct box *b, struct twin *twin, uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i <= last; i++) {
        struct store_record r = rec_entry((uint32_t)(i % 2), (i + 1) / 2, 1, "a payload of some length");
        assert_int_equal(box_write(b, r), 0);
        twin_apply(twin, &r);
    }
}

static void all_records_are_shown_in_order(void **state)
{
    struct box *b = *state;
    struct twin *twin = twin_new();
    struct seen seen = {0};
    struct store_report report;
    assert_int_equal(box_open(b), 0);
    fill(b, twin, 1, 200);
    struct store_record more[] = {rec_entry(1, 50, 2, "erases 50 to 100"), rec_term(2, 8, 1)};
    assert_int_equal(store_write(b->store, more, 2), 0);
    twin_apply(twin, &more[0]);
    twin_apply(twin, &more[1]);
    assert_int_equal(scan(b->disk, &seen, &report), 0); /* while the node runs */
    assert_null(twin_difference(seen.twin, twin));
    assert_int_equal(seen.entries, 201); /* erased ones included */
    assert_int_equal(seen.terms, 1);
    assert_int_equal(seen.checkpoints, report.segments * TWIN_SHARDS);
    assert_int_equal(report.records, 202);
    assert_int_equal(seen.batches, report.batches);
    assert_int_equal(seen.torn + seen.corrupt, 0);
    seen_fini(&seen);
    free(twin);
}

static void an_empty_folder_is_clean(void **state)
{
    struct box *b = *state;
    struct seen seen = {0};
    struct store_report report;
    assert_int_equal(scan(b->disk, &seen, &report), 0);
    assert_int_equal(seen.batches, 0);
    seen_fini(&seen);
}

/* KAFKA-9293, etcd PR 13880: no entry after the snapshot. */
static void a_snapshot_without_entries_is_shown(void **state)
{
    struct box *b = *state;
    struct seen seen = {0};
    struct store_report report;
    assert_int_equal(box_open(b), 0);
    make_snapshot(&b->port, 1, 500, 4);
    assert_int_equal(box_write(b, rec_snapshot(1, 500, 4, 500)), 0);
    box_close(b);
    assert_int_equal(scan(b->disk, &seen, &report), 0);
    assert_int_equal(seen.snapshots, 1);
    assert_int_equal(seen.snapshot_records, 1);
    assert_int_equal(seen.entries, 0);
    seen_fini(&seen);
    mem_disk_delete(b->disk, SEGMENT_1); /* only the snapshot is left: it is shown, and the loss told */
    struct seen again = {0};
    assert_int_equal(scan(b->disk, &again, &report), MUSTER_E_CORRUPT);
    assert_int_equal(again.snapshots, 1);
    assert_non_null(strstr(report.text, "log is missing"));
    seen_fini(&again);
}

static void a_needed_snapshot_that_is_gone_or_bad_is_told(void **state)
{
    struct box *b = *state;
    struct seen seen = {0};
    struct seen again = {0};
    struct store_report report;
    assert_int_equal(box_open(b), 0);
    make_snapshot(&b->port, 1, 500, 4);
    assert_int_equal(box_write(b, rec_snapshot(1, 500, 4, 500)), 0);
    box_close(b);
    mem_disk_flip(b->disk, "snap-1-500.snap", 100, 1);
    assert_int_equal(scan(b->disk, &seen, &report), MUSTER_E_CORRUPT);
    assert_string_equal(report.corrupt_file, "snap-1-500.snap");
    assert_int_equal(seen.snapshot_records, 1); /* the log is shown all the same */
    mem_disk_delete(b->disk, "snap-1-500.snap");
    assert_int_equal(scan(b->disk, &again, &report), MUSTER_E_CORRUPT);
    assert_non_null(strstr(again.last_damage, "missing"));
    seen_fini(&seen);
    seen_fini(&again);
}

static size_t used_end(const struct mem_disk *d, const char *name)
{
    struct bytes file = mem_disk_file(d, name);
    size_t end = (size_t)file.len;
    while (end > 0 && file.ptr[end - 1] == 0) {
        end--;
    }
    return end;
}

/* The newest segment cut at each of its last 200 bytes: all before the damage is shown, the kind of damage is right. */
static void a_segment_cut_anywhere_near_its_end(void **state)
{
    struct box *b = *state;
    struct twin *twin = twin_new();
    struct store_report report;
    unsigned torn = 0;
    assert_int_equal(box_open(b), 0);
    fill(b, twin, 1, 60);
    box_kill(b);
    size_t end = used_end(b->disk, SEGMENT_2);
    assert_true(end > 600);
    for (size_t at = end - 200; at <= end + 8; at++) {
        struct mem_disk *disk = mem_disk_clone(b->disk);
        struct seen seen = {0};
        mem_disk_cut(disk, SEGMENT_2, at);
        int rc = scan(disk, &seen, &report);
        assert_true(rc == 0 || rc == MUSTER_E_TRUNCATED);
        assert_int_equal(seen.torn, rc == 0 ? 0 : 1);
        assert_int_equal(report.torn_tail, rc != 0);
        assert_true(seen.entries >= 57 && seen.entries <= 60);
        torn += seen.torn;
        seen_fini(&seen);
        mem_disk_free(disk);
    }
    assert_true(torn > 150);
    free(twin);
}

static void a_flipped_byte_in_the_middle_is_corruption(void **state)
{
    struct box *b = *state;
    struct twin *twin = twin_new();
    struct seen seen = {0};
    struct store_report report;
    assert_int_equal(box_open(b), 0);
    fill(b, twin, 1, 60);
    box_kill(b);
    mem_disk_flip(b->disk, SEGMENT_1, 1000, 1);
    assert_int_equal(scan(b->disk, &seen, &report), MUSTER_E_CORRUPT);
    assert_int_equal(seen.corrupt, 1);
    assert_true(seen.entries > 3 && seen.entries < 15); /* what came before */
    assert_string_equal(report.corrupt_file, SEGMENT_1);
    assert_true(report.corrupt_offset <= 1000 && report.corrupt_offset > 800);
    seen_fini(&seen);
    free(twin);
}

static void empty_foreign_and_missing_files(void **state)
{
    struct box *b = *state;
    struct twin *twin = twin_new();
    struct store_report report;
    assert_int_equal(box_open(b), 0);
    fill(b, twin, 1, 90);
    box_kill(b);
    mem_disk_put(b->disk, "log-1.seg", "", 0); /* no name of ours */
    mem_disk_put(b->disk, "README", "", 0);
    struct seen clean = {0};
    assert_int_equal(scan(b->disk, &clean, &report), 0);
    struct mem_disk *empty = mem_disk_clone(b->disk);
    mem_disk_cut(empty, SEGMENT_2, 0);
    struct seen seen = {0};
    assert_int_equal(scan(empty, &seen, &report), MUSTER_E_CORRUPT);
    assert_true(seen.entries > 10);
    struct mem_disk *missing = mem_disk_clone(b->disk);
    mem_disk_delete(missing, SEGMENT_2);
    struct seen gap = {0};
    assert_int_equal(scan(missing, &gap, &report), MUSTER_E_CORRUPT);
    assert_non_null(strstr(report.text, "missing"));
    mem_disk_free(empty);
    mem_disk_free(missing);
    seen_fini(&clean);
    seen_fini(&seen);
    seen_fini(&gap);
    free(twin);
}

/* ---- while the node goes on -------------------------------------------------------------------------------------------------------- */

/* Halfway through the scan the node trims what has not been read yet, and begins new segments. */
static void node_goes_on(struct seen *s)
{
    struct box *b = s->arg;
    if (s->entries != 5 || b->store == NULL) {
        return;
    }
    s->on_record = NULL;
    make_snapshot(&b->port, 0, 100, 1);
    make_snapshot(&b->port, 1, 100, 1);
    assert_int_equal(box_write(b, rec_snapshot(0, 100, 1, 100)), 0);
    assert_int_equal(box_write(b, rec_snapshot(1, 100, 1, 100)), 0);
    assert_int_equal(store_trim(b->store, 0, 100), 0);
    assert_int_equal(store_trim(b->store, 1, 100), 0);
    box_fill(b, 2, 1, 80, 1, "and on it goes");
    s->on_record = node_goes_on;
}

static void a_folder_that_is_trimmed_under_the_reader(void **state)
{
    struct box *b = *state;
    struct twin *twin = twin_new();
    struct seen seen = {.on_record = node_goes_on, .arg = b};
    struct store_report report;
    assert_int_equal(box_open(b), 0);
    fill(b, twin, 1, 200);
    uint64_t segments = 0;
    struct store_stats stats;
    store_stats(b->store, &stats);
    segments = stats.segments;
    assert_int_equal(scan(b->disk, &seen, &report), 0);
    assert_int_equal(report.segments, segments); /* all that were there when it began */
    assert_true(seen.entries >= 200);
    assert_false(box_has_name(b, "0001.seg"));
    seen_fini(&seen);
    free(twin);
}

/* A disk whose reads catch a batch half written: the first read of the end misses bytes that the next one has. */
struct half {
    struct store_port real;
    unsigned reads;
    size_t hide_from, hide_to;
};

static int half_open(void *ctx, const char *name, bool create, bool write, int *ret_file)
{
    struct half *h = ctx;
    return h->real.open(h->real.ctx, name, create, write, ret_file);
}

static void half_close(void *ctx, int file)
{
    struct half *h = ctx;
    h->real.close(h->real.ctx, file);
}

static int half_read(void *ctx, int file, uint64_t offset, void *dst, size_t len, size_t *ret_len)
{
    struct half *h = ctx;
    int rc = h->real.read(h->real.ctx, file, offset, dst, len, ret_len);
    for (size_t i = 0; rc == 0 && h->reads < 2 && i < *ret_len; i++) {
        if (offset + i >= h->hide_from && offset + i < h->hide_to) {
            ((uint8_t *)dst)[i] = 0;
        }
    }
    h->reads++;
    h->hide_from += 8; /* the write goes on while we look */
    return rc;
}

static int half_size(void *ctx, int file, uint64_t *ret_bytes)
{
    struct half *h = ctx;
    return h->real.size(h->real.ctx, file, ret_bytes);
}

static int half_list(void *ctx, void (*each)(void *arg, const char *name), void *arg)
{
    struct half *h = ctx;
    return h->real.list(h->real.ctx, each, arg);
}

static void a_batch_caught_half_written_is_read_again(void **state)
{
    struct box *b = *state;
    struct twin *twin = twin_new();
    struct store_report report;
    assert_int_equal(box_open(b), 0);
    fill(b, twin, 1, 8);
    box_kill(b);
    size_t end = used_end(b->disk, SEGMENT_1);
    for (size_t back = 1; back < 2 * 96; back++) { /* in the last batch, and in the one before with a good one behind it */
        struct half h = {.hide_from = end - back - 8, .hide_to = end - back + 1};
        struct seen seen = {.twin = twin_new()};
        struct store_visit visit = {.ctx = &seen, .batch = see_batch, .record = see_record, .snapshot = see_snapshot, .damage = see_damage};
        mem_disk_port(b->disk, &h.real);
        struct store_port port = {
            .ctx = &h, .open = half_open, .close = half_close, .read = half_read, .size = half_size, .list = half_list};
        assert_int_equal(store_scan(&port, &visit, &report), 0);
        assert_null(twin_difference(seen.twin, twin));
        mem_disk_end_process(b->disk, &h.real);
        seen_fini(&seen);
    }
    free(twin);
}

/* A half-written batch that stays so is a torn tail, not a loop. */
static void callbacks_are_optional(void **state)
{
    struct box *b = *state;
    struct store_visit visit = {0};
    struct store_report report;
    assert_int_equal(box_open(b), 0);
    box_fill(b, 0, 1, 60, 1, "x");
    make_snapshot(&b->port, 0, 20, 1);
    box_kill(b);
    mem_disk_flip(b->disk, SEGMENT_2, used_end(b->disk, SEGMENT_2) - 3, 1);
    struct store_port port;
    mem_disk_port(b->disk, &port);
    assert_int_equal(store_scan(&port, &visit, &report), MUSTER_E_TRUNCATED);
    assert_string_equal(report.torn_file, SEGMENT_2);
    mem_disk_faults(b->disk)->fail_read = 2;
    assert_int_equal(store_scan(&port, &visit, &report), MUSTER_E_IO);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(all_records_are_shown_in_order),
        TEST(an_empty_folder_is_clean),
        TEST(a_snapshot_without_entries_is_shown),
        TEST(a_needed_snapshot_that_is_gone_or_bad_is_told),
        TEST(a_segment_cut_anywhere_near_its_end),
        TEST(a_flipped_byte_in_the_middle_is_corruption),
        TEST(empty_foreign_and_missing_files),
        TEST(a_folder_that_is_trimmed_under_the_reader),
        TEST(a_batch_caught_half_written_is_read_again),
        TEST(callbacks_are_optional),
    };
    return cmocka_run_group_tests_name("storage scan", tests, NULL, NULL);
}
