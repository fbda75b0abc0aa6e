/* backup_test.c: backup files: what goes in comes out, nothing that is damaged passes, and a failed one leaves the one before. */
#include "fixture.h"

#include "backup.h"

enum { SHARDS = 3, MOST_RUNS = 40 };

static const struct store_backup_info info = {.cluster_id = {{0xc1, 2, 3}},
                                              .taken_ms = 1796000000123,
                                              .shard_count = SHARDS,
                                              .hash_version = 1,
                                              .draw = 0x1122334455667788,
                                              .version = "0.1.0"};

struct disk {
    struct mem_disk *disk;
    struct store_port port;
};

static int setup(void **state)
{
    struct disk *d = calloc(1, sizeof(*d));
    d->disk = mem_disk_new();
    mem_disk_port(d->disk, &d->port);
    *state = d;
    return 0;
}

static int teardown(void **state)
{
    struct disk *d = *state;
    mem_disk_free(d->disk);
    free(d);
    return 0;
}

static struct store_backup_section section_of(uint32_t shard)
{
    return (struct store_backup_section){
        .shard = shard, .index = 100 + shard, .term = 7, .state_hash = 0xabcdef + shard, .catalog_index = 40 * shard};
}

/* Run n of a shard: its length and bytes follow from both. */
static size_t make_run(uint32_t shard, uint32_t n, uint8_t *dst)
{
    size_t len = 1 + (shard * 31 + n * 17) % 200;
    for (size_t i = 0; i < len; i++) {
        dst[i] = (uint8_t)(shard + n + i / 3);
    }
    return len;
}

static int add_runs(struct store_backup_writer *w, uint32_t shard, uint32_t runs)
{
    int rc = MUSTER_E_OK;
    for (uint32_t n = 0; rc >= 0 && n < runs; n++) {
        uint8_t run[256];
        struct bytes data = {run, (int32_t)make_run(shard, n, run)};
        rc = store_backup_add(w, data);
    }
    return rc;
}

static int write_section(struct store_backup_writer *w, uint32_t shard, uint32_t runs)
{
    struct store_backup_section section = section_of(shard);
    int rc = store_backup_begin(w, &section);
    rc = rc < 0 ? rc : add_runs(w, shard, runs);
    int ended = store_backup_end(w);
    return rc < 0 ? rc : ended;
}

/* Shards 1, 2, 0: shard 0 goes last. */
static int write_backup(const struct store_port *port, const char *name, uint32_t runs)
{
    struct store_backup_writer *w = NULL;
    int rc = store_backup_create(port, name, 1, &info, &w);
    if (rc < 0) {
        return rc;
    }
    for (uint32_t i = 0; i < SHARDS; i++) {
        uint32_t shard = (i + 1) % SHARDS;
        (void)write_section(w, shard, runs * shard);
    }
    return store_backup_commit(w);
}

/* Reads it to the end. 0 only when everything that is handed over is right. */
static int read_backup(const struct store_port *port, const char *name, char *text)
{
    struct store_backup_reader *r = NULL;
    struct store_backup_info got;
    struct store_backup_section section;
    uint32_t sections = 0;
    int rc = store_backup_open(port, name, &got, &r, text);
    if (rc < 0) {
        return rc;
    }
    assert_true(uuid_eq(got.cluster_id, info.cluster_id) && got.taken_ms == info.taken_ms && got.shard_count == SHARDS &&
                got.hash_version == 1 && got.draw == info.draw && strcmp(got.version, info.version) == 0);
    while ((rc = store_backup_section(r, &section)) == 0) {
        struct store_backup_section wanted = section_of(section.shard);
        struct bytes data = {NULL, 1};
        uint64_t sum = 0;
        assert_true(section.index == wanted.index && section.term == wanted.term && section.state_hash == wanted.state_hash &&
                    section.catalog_index == wanted.catalog_index);
        while (rc == 0 && data.len > 0) {
            rc = store_backup_next(r, &data);
            for (int32_t i = 0; rc == 0 && i < data.len; i++) {
                sum = sum * 31 + data.ptr[i];
            }
        }
        if (rc < 0) {
            break;
        }
        uint64_t expected = 0;
        for (uint32_t n = 0; n < MOST_RUNS * section.shard; n++) {
            uint8_t run[256];
            size_t len = make_run(section.shard, n, run);
            for (size_t i = 0; i < len; i++) {
                expected = expected * 31 + run[i];
            }
        }
        assert_true(sum == expected);
        sections++;
    }
    (void)snprintf(text, 256, "%s", store_backup_problem(r));
    store_backup_close(r);
    assert_true(rc != MUSTER_E_NOT_FOUND || sections == SHARDS);
    return rc == MUSTER_E_NOT_FOUND ? MUSTER_E_OK : rc;
}

static void test_round_trip(void **state)
{
    struct disk *d = *state;
    char text[256];
    assert_int_equal(write_backup(&d->port, "day.backup", MOST_RUNS), 0);
    assert_int_equal(read_backup(&d->port, "day.backup", text), 0);
    assert_int_equal(mem_disk_file(d->disk, "day.backup.1.tmp").len, -1);
    assert_int_equal(write_backup(&d->port, "day.backup", MOST_RUNS), 0); /* replaces it */
    assert_int_equal(read_backup(&d->port, "day.backup", text), 0);
    assert_int_equal(read_backup(&d->port, "night.backup", text), MUSTER_E_NOT_FOUND);
}

static void test_sections_can_be_read_over(void **state)
{
    struct disk *d = *state;
    struct store_backup_reader *r = NULL;
    struct store_backup_info got;
    struct store_backup_section section;
    char text[256];
    assert_int_equal(write_backup(&d->port, "b", MOST_RUNS), 0);
    assert_int_equal(store_backup_open(&d->port, "b", &got, &r, text), 0);
    for (uint32_t i = 0; i < SHARDS; i++) {
        assert_int_equal(store_backup_section(r, &section), 0);
        assert_int_equal(section.shard, (i + 1) % SHARDS);
    }
    assert_int_equal(store_backup_section(r, &section), MUSTER_E_NOT_FOUND);
    assert_int_equal(store_backup_section(r, &section), MUSTER_E_NOT_FOUND);
    store_backup_close(r);
}

/* Whichever byte is wrong, the file is refused, and where it is wrong is said. */
static void test_every_flipped_byte_is_found(void **state)
{
    struct disk *d = *state;
    char text[256];
    assert_int_equal(write_backup(&d->port, "b", MOST_RUNS), 0);
    int32_t len = mem_disk_file(d->disk, "b").len;
    assert_true(len > 500 && len < 100000);
    for (int32_t i = 0; i < len; i++) {
        for (unsigned bit = 0; bit < 8; bit += 3) {
            mem_disk_flip(d->disk, "b", (uint64_t)i, (uint8_t)(1u << bit));
            int rc = read_backup(&d->port, "b", text);
            assert_true(rc == MUSTER_E_CORRUPT || rc == MUSTER_E_VERSION);
            assert_true(rc != MUSTER_E_CORRUPT || strncmp(text, "at byte ", 8) == 0);
            mem_disk_flip(d->disk, "b", (uint64_t)i, (uint8_t)(1u << bit));
        }
    }
    assert_int_equal(read_backup(&d->port, "b", text), 0);
}

static void test_every_cut_is_found(void **state)
{
    struct disk *d = *state;
    char text[256];
    assert_int_equal(write_backup(&d->port, "b", MOST_RUNS), 0);
    struct bytes file = mem_disk_file(d->disk, "b");
    uint8_t *copy = malloc((size_t)file.len + 1);
    memcpy(copy, file.ptr, (size_t)file.len);
    copy[file.len] = 0;
    int32_t whole = file.len;
    for (int32_t len = 0; len < whole; len++) {
        mem_disk_put(d->disk, "cut", copy, (size_t)len);
        assert_int_equal(read_backup(&d->port, "cut", text), MUSTER_E_CORRUPT);
    }
    mem_disk_put(d->disk, "cut", copy, (size_t)whole + 1); /* and every addition */
    assert_int_equal(read_backup(&d->port, "cut", text), MUSTER_E_CORRUPT);
    free(copy);
}

/* A section that was given up is not there; one that is missing is not made up for. */
static void test_drop_and_missing(void **state)
{
    struct disk *d = *state;
    struct store_backup_writer *w = NULL;
    struct store_backup_section section = section_of(2);
    char text[256];
    assert_int_equal(store_backup_create(&d->port, "b", 1, &info, &w), 0);
    assert_int_equal(write_section(w, 1, MOST_RUNS), 0);
    uint64_t before = store_backup_bytes(w);
    section.index = 77;
    assert_int_equal(store_backup_begin(w, &section), 0);
    assert_int_equal(add_runs(w, 1, 3000), 0);
    assert_true(store_backup_bytes(w) > before);
    assert_int_equal(store_backup_drop(w), 0);
    assert_true(store_backup_bytes(w) == before);
    assert_int_equal(write_section(w, 2, MOST_RUNS * 2), 0);
    assert_int_equal(write_section(w, 0, 0), 0);
    assert_int_equal(store_backup_commit(w), 0);
    assert_int_equal(read_backup(&d->port, "b", text), 0);

    assert_int_equal(store_backup_create(&d->port, "b", 1, &info, &w), 0);
    assert_int_equal(write_section(w, 1, 3), 0);
    assert_int_equal(store_backup_commit(w), MUSTER_E_INVALID);
    assert_int_equal(read_backup(&d->port, "b", text), 0); /* the one before */
}

static void test_shards_out_of_range(void **state)
{
    struct disk *d = *state;
    struct store_backup_writer *w = NULL;
    static const uint32_t shards[][SHARDS] = {{1, 1, 0}, {1, 2, 3}, {2, 0, 2}};
    char text[256];
    for (size_t i = 0; i < COUNT_OF(shards); i++) {
        assert_int_equal(store_backup_create(&d->port, "b", 1, &info, &w), 0);
        for (size_t k = 0; k < SHARDS; k++) {
            struct store_backup_section section = section_of(shards[i][k]);
            assert_int_equal(store_backup_begin(w, &section), 0);
            assert_int_equal(add_runs(w, section.shard, MOST_RUNS * section.shard), 0);
            assert_int_equal(store_backup_end(w), 0);
        }
        assert_int_equal(store_backup_commit(w), 0);
        assert_int_equal(read_backup(&d->port, "b", text), MUSTER_E_CORRUPT);
        assert_non_null(strstr(text, "out of range or there twice"));
    }
}

/* Whatever call fails, the error comes out at the end and the backup before is as it was. */
static void test_failures(void **state)
{
    struct disk *d = *state;
    char text[256];
    assert_int_equal(write_backup(&d->port, "b", MOST_RUNS), 0);
    for (uint64_t at = 1; at < 9; at++) {
        mem_disk_faults(d->disk)->fail_write = at;
        int rc = write_backup(&d->port, "b", MOST_RUNS);
        mem_disk_faults(d->disk)->fail_write = 0;
        assert_int_equal(rc, MUSTER_E_IO);
        assert_int_equal(read_backup(&d->port, "b", text), 0);
        assert_int_equal(mem_disk_file(d->disk, "b.1.tmp").len, -1);
    }
    mem_disk_faults(d->disk)->fail_sync = 1;
    assert_int_equal(write_backup(&d->port, "b", MOST_RUNS), MUSTER_E_IO);
    mem_disk_faults(d->disk)->capacity_bytes = 1000;
    assert_int_equal(write_backup(&d->port, "b", MOST_RUNS), MUSTER_E_FULL);
    mem_disk_faults(d->disk)->capacity_bytes = 0;
    assert_int_equal(read_backup(&d->port, "b", text), 0);
}

/* The power goes at each change in turn: the backup before, or the new one, is whole. */
static void test_power_cuts(void **state)
{
    struct disk *d = *state;
    char text[256];
    bool finished = false;
    assert_int_equal(write_backup(&d->port, "b", MOST_RUNS), 0);
    for (uint64_t at = 1; !finished; at++) {
        struct prng random;
        prng_seed(&random, at);
        mem_disk_faults(d->disk)->cut_power = at;
        finished = write_backup(&d->port, "b", MOST_RUNS) == 0;
        mem_disk_faults(d->disk)->cut_power = 0;
        if (!finished) {
            mem_disk_crash(d->disk, &random);
            mem_disk_port(d->disk, &d->port);
        }
        assert_int_equal(read_backup(&d->port, "b", text), 0);
        assert_true(at < 100);
    }
}

static void test_newer_version_is_told(void **state)
{
    struct disk *d = *state;
    char text[256];
    assert_int_equal(write_backup(&d->port, "b", MOST_RUNS), 0);
    struct bytes file = mem_disk_file(d->disk, "b");
    uint8_t *copy = malloc((size_t)file.len);
    memcpy(copy, file.ptr, (size_t)file.len);
    uint32_t header = get_le32(copy + 12);
    put_le32(copy + 8, BACKUP_VERSION + 1);
    put_le64(copy + header - 8, hash_bytes(copy, header - 8, 0));
    mem_disk_put(d->disk, "b", copy, (size_t)file.len);
    free(copy);
    assert_int_equal(read_backup(&d->port, "b", text), MUSTER_E_VERSION);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_round_trip),
        TEST(test_sections_can_be_read_over),
        TEST(test_every_flipped_byte_is_found),
        TEST(test_every_cut_is_found),
        TEST(test_drop_and_missing),
        TEST(test_shards_out_of_range),
        TEST(test_failures),
        TEST(test_power_cuts),
        TEST(test_newer_version_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
