/* history_test.c: what nothing needs any more is kept within bounds, and goes first when the disk is full; a start does not need it, the offline reader finds it. */
#include "fixture.h"

#include "names.h"

static const char payload[] = "a payload of some length, so that a segment is soon full of them";

struct fixture {
    struct box box;
    int64_t now_ms;
};

static int64_t wall_ms(void *ctx)
{
    return ((struct fixture *)ctx)->now_ms;
}

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    box_init(&f->box, 4096, 4096);
    f->now_ms = 1000000;
    f->box.options.history_bytes = 1 << 20;
    f->box.options.history_ms = 60000;
    f->box.options.wall_ms = wall_ms;
    f->box.options.wall_ctx = f;
    assert_int_equal(box_open(&f->box), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    box_fini(&f->box);
    free(f);
    return 0;
}

/* Entries from..to of shard 0, a snapshot at the last, which nothing before is needed for any more. */
static void stretch(struct fixture *f, uint64_t from, uint64_t to)
{
    box_fill(&f->box, 0, from, to, 1, payload);
    make_snapshot(&f->box.port, 0, to, 1);
    assert_int_equal(box_write(&f->box, rec_snapshot(0, to, 1, to)), 0);
    assert_int_equal(store_trim(f->box.store, 0, to), 0);
}

static unsigned count(const struct fixture *f, const char *begin)
{
    unsigned found = 0;
    for (size_t i = 0; i < mem_disk_file_count(f->box.disk); i++) {
        found += strncmp(mem_disk_file_name(f->box.disk, i), begin, strlen(begin)) == 0;
    }
    return found;
}

static struct store_stats stats_of(const struct fixture *f)
{
    struct store_stats stats;
    store_stats(f->box.store, &stats);
    assert_int_equal(stats.history_segments, count(f, "past-"));
    assert_int_equal(stats.history_snapshots, count(f, "snap-0-") - 1);
    return stats;
}

/* ---- what the offline reader sees ---- */

struct seen {
    uint64_t first, last, entries, damages;
    bool gap;
};

static void see(void *ctx, const struct store_record *r)
{
    struct seen *s = ctx;
    if (r->kind == STORE_ENTRY && r->shard == 0) {
        s->gap = s->gap || (s->last != 0 && r->index != s->last + 1);
        s->first = s->first == 0 ? r->index : s->first;
        s->last = r->index;
        s->entries++;
    }
}

static void see_damage(void *ctx, bool torn, const char *file, uint64_t offset, const char *text)
{
    (void)torn, (void)file, (void)offset, (void)text;
    ((struct seen *)ctx)->damages++;
}

static int scan(struct fixture *f, struct seen *seen, struct store_report *report)
{
    struct store_port port;
    struct store_visit visit = {.ctx = seen, .record = see, .damage = see_damage};
    mem_disk_port(f->box.disk, &port);
    port.write = NULL;
    port.rename = NULL;
    port.remove = NULL;
    *seen = (struct seen){0};
    return store_scan(&port, &visit, report);
}

/* ---- tests ---- */

static void what_is_not_needed_is_kept_and_read(void **state)
{
    struct fixture *f = *state;
    struct seen seen;
    struct store_report report;
    stretch(f, 1, 100);
    stretch(f, 101, 200);
    stretch(f, 201, 300);
    struct store_stats stats = stats_of(f);
    assert_true(stats.history_segments >= 6 && stats.segments == 1);
    assert_int_equal(stats.history_snapshots, 2);
    assert_int_equal(stats.history_since_ms, 1000000);
    assert_int_equal(scan(f, &seen, &report), 0);
    assert_int_equal(seen.first, 1);
    assert_int_equal(seen.last, 300);
    assert_false(seen.gap);
}

static void a_start_does_not_read_it_and_keeps_it(void **state)
{
    struct fixture *f = *state;
    struct seen seen;
    struct store_report report;
    stretch(f, 1, 200);
    stretch(f, 201, 300);
    uint64_t segments = stats_of(f).history_segments;
    box_close(&f->box);
    assert_int_equal(box_open(&f->box), 0);
    assert_true(f->box.report.segments <= 2);
    struct store_stats stats = stats_of(f);
    assert_int_equal(stats.history_segments, segments);
    assert_int_equal(stats.history_snapshots, 1);
    assert_int_equal(scan(f, &seen, &report), 0);
    assert_int_equal(seen.entries, 300);
    f->box.options.history_bytes = 0; /* turned off */
    box_close(&f->box);
    assert_int_equal(box_open(&f->box), 0);
    assert_int_equal(stats_of(f).history_segments, 0);
    assert_int_equal(count(f, "snap-"), 1);
}

static void bytes_are_a_bound(void **state)
{
    struct fixture *f = *state;
    struct seen seen;
    struct store_report report;
    f->box.options.history_bytes = 3 * 4096 + 1024;
    box_close(&f->box);
    assert_int_equal(box_open(&f->box), 0);
    for (uint64_t i = 0; i < 10; i++) {
        stretch(f, 100 * i + 1, 100 * i + 100);
        assert_true(stats_of(f).history_bytes <= f->box.options.history_bytes);
    }
    assert_int_equal(stats_of(f).history_segments, 3);
    assert_int_equal(scan(f, &seen, &report), 0);
    assert_int_equal(seen.last, 1000);
    assert_false(seen.gap);
    /* A snapshot that no entry follows is of no use. */
    for (size_t i = 0; i < mem_disk_file_count(f->box.disk); i++) {
        uint32_t shard;
        uint64_t index;
        if (store_snapshot_name_parse(mem_disk_file_name(f->box.disk, i), &shard, &index)) {
            assert_true(index + 1 >= seen.first);
        }
    }
}

static void so_is_age(void **state)
{
    struct fixture *f = *state;
    stretch(f, 1, 200);
    uint64_t first = stats_of(f).history_segments;
    f->now_ms += 50000;
    stretch(f, 201, 300);
    assert_true(stats_of(f).history_segments > first);
    f->now_ms += 20000; /* the first are over a minute old */
    assert_int_equal(store_tidy(f->box.store), 0);
    struct store_stats stats = stats_of(f);
    assert_true(stats.history_segments > 0 && stats.history_segments < first);
    assert_int_equal(stats.history_since_ms, 1050000);
    f->now_ms += 20000;
    assert_int_equal(store_tidy(f->box.store), 0);
    assert_int_equal(stats_of(f).history_since_ms, 1050000);
    f->now_ms += 60000;
    assert_int_equal(store_tidy(f->box.store), 0);
    assert_int_equal(stats_of(f).history_segments, 0);
}

static uint64_t disk_bytes(const struct fixture *f)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < mem_disk_file_count(f->box.disk); i++) {
        sum += (uint64_t)mem_disk_file(f->box.disk, mem_disk_file_name(f->box.disk, i)).len;
    }
    return sum;
}

static void on_a_full_disk_it_goes_first(void **state)
{
    struct fixture *f = *state;
    stretch(f, 1, 200);
    stretch(f, 201, 300);
    struct store_stats before = stats_of(f);
    mem_disk_faults(f->box.disk)->capacity_bytes = disk_bytes(f);
    uint64_t next = 301;
    int rc = 0;
    while ((rc = box_write(&f->box, rec_entry(0, next, 1, payload))) == 0) {
        next++;
    }
    assert_int_equal(rc, MUSTER_E_FULL);
    struct store_stats after = stats_of(f);
    assert_int_equal(after.history_segments, 0);
    assert_int_equal(after.history_snapshots, 0);
    assert_int_equal(after.full_events, 1);
    assert_true(after.history_given_up >= before.history_segments);
    assert_true((next - 301) * (sizeof(payload) + 60) > before.history_segments * 3000); /* its space was used */
    box_close(&f->box);
    assert_int_equal(box_open(&f->box), 0);
    assert_int_equal(f->box.found->shards[0].last, next - 1);
}

static void room_is_made_when_asked_for(void **state)
{
    struct fixture *f = *state;
    stretch(f, 1, 200);
    stretch(f, 201, 300);
    store_make_room(f->box.store);
    assert_int_equal(stats_of(f).history_bytes, 0);
    assert_int_equal(count(f, "past-"), 0);
}

static const char *nth_past(const struct fixture *f, unsigned n)
{
    static char name[STORE_NAME_BYTES];
    uint64_t best = 0, number;
    int64_t since_ms;
    for (unsigned k = 0; k <= n; k++) {
        uint64_t next = UINT64_MAX;
        for (size_t i = 0; i < mem_disk_file_count(f->box.disk); i++) {
            const char *one = mem_disk_file_name(f->box.disk, i);
            if (store_past_name_parse(one, &number, &since_ms) && number > best && number < next) {
                next = number;
                snprintf(name, sizeof(name), "%s", one);
            }
        }
        best = next;
    }
    return name;
}

static void damage_in_it_hurts_nobody(void **state)
{
    struct fixture *f = *state;
    struct seen seen;
    struct store_report report;
    stretch(f, 1, 200);
    stretch(f, 201, 300);
    mem_disk_flip(f->box.disk, nth_past(f, 1), 1000, 1);
    assert_int_equal(scan(f, &seen, &report), MUSTER_E_CORRUPT);
    assert_true(report.only_past);
    assert_non_null(strstr(report.text, "past-"));
    assert_int_equal(seen.damages, 1);
    assert_true(seen.gap && seen.first == 1 && seen.last == 300); /* what is behind is shown */
    box_close(&f->box);
    assert_int_equal(box_open(&f->box), 0);
    assert_int_equal(f->box.found->shards[0].last, 300);
}

/* An older program trims without keeping: what it left behind is cut off from the log. */
static void history_that_is_cut_off_goes(void **state)
{
    struct fixture *f = *state;
    struct seen seen;
    struct store_report report;
    stretch(f, 1, 200);
    stretch(f, 201, 300);
    unsigned all = count(f, "past-");
    mem_disk_delete(f->box.disk, nth_past(f, 2));
    assert_int_equal(scan(f, &seen, &report), 0);
    assert_false(seen.gap);
    assert_true(seen.first > 1 && seen.last == 300);
    box_close(&f->box);
    assert_int_equal(box_open(&f->box), 0);
    assert_int_equal(stats_of(f).history_segments, all - 3);
}

/* Whenever the power goes: the folder opens, nothing is lost, history reaches to the log. */
static void crashes_leave_it_whole(void **state)
{
    struct fixture *f = *state;
    stretch(f, 1, 150);
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct seen seen;
        struct store_report report;
        uint64_t next = f->box.found->shards[0].last + 1;
        next = next < 151 ? 151 : next;
        if (next > TWIN_ENTRIES - 100) {
            break;
        }
        mem_disk_faults(f->box.disk)->cut_power = 5 + seed;
        uint64_t acknowledged = next - 1;
        while (acknowledged < next + 13 && box_write(&f->box, rec_entry(0, acknowledged + 1, 1, payload)) == 0) {
            acknowledged++;
        }
        if (f->box.found->shards[0].snapshot_index < 150 || seed % 3 == 0) {
            struct store_snapshot_writer *w = NULL;
            struct store_snapshot_meta meta = {
                .shard = 0, .index = acknowledged, .term = 1, .config_index = 1, .config = {(const uint8_t *)"c", 1}};
            if (store_snapshot_create(&f->box.port, &meta, &w) == 0 && store_snapshot_commit(w) == 0 &&
                box_write(&f->box, rec_snapshot(0, acknowledged, 1, acknowledged)) == 0) {
                (void)store_trim(f->box.store, 0, acknowledged);
            }
        }
        box_crash(&f->box, seed);
        assert_int_equal(box_open(&f->box), 0);
        assert_true(f->box.found->shards[0].last >= acknowledged);
        int rc = scan(f, &seen, &report);
        assert_true(rc == 0 || rc == MUSTER_E_TRUNCATED);
        assert_false(seen.gap);
        assert_int_equal(seen.first, 1);
        (void)stats_of(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_not_needed_is_kept_and_read, setup, teardown),
        cmocka_unit_test_setup_teardown(a_start_does_not_read_it_and_keeps_it, setup, teardown),
        cmocka_unit_test_setup_teardown(bytes_are_a_bound, setup, teardown),
        cmocka_unit_test_setup_teardown(so_is_age, setup, teardown),
        cmocka_unit_test_setup_teardown(on_a_full_disk_it_goes_first, setup, teardown),
        cmocka_unit_test_setup_teardown(room_is_made_when_asked_for, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_in_it_hurts_nobody, setup, teardown),
        cmocka_unit_test_setup_teardown(history_that_is_cut_off_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(crashes_leave_it_whole, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
