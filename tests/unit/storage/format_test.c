/* format_test.c: the worked examples of storage/FORMAT.md are what the code writes, byte for byte. */
#include "fixture.h"

#include <errno.h>

#define FORMAT_MD "../../../storage/FORMAT.md"

/* The bytes of the lines "    0040  4d 42 ..." behind the given heading, up to the next heading. Lines count from the offset they name. */
static size_t example_bytes(const char *heading, uint8_t *dst, size_t cap)
{
    char line[512];
    bool inside = false;
    size_t end = 0;
    FILE *f = fopen(FORMAT_MD, "r");
    if (f == NULL) {
        fail_msg("%s: %s", FORMAT_MD, strerror(errno));
    }
    while (fgets(line, sizeof(line), f) != NULL) {
        if (line[0] == '#') {
            inside = strstr(line, heading) != NULL;
        }
        unsigned offset = 0;
        int at = 0;
        if (!inside || sscanf(line, "    %4x  %n", &offset, &at) != 1 || at != 10) {
            continue;
        }
        unsigned byte = 0;
        int used = 0;
        assert_int_equal(offset, end);
        while (sscanf(line + at, "%2x%n", &byte, &used) == 1 && used == 2) {
            assert_true(end < cap);
            dst[end++] = (uint8_t)byte;
            at += 3;
        }
    }
    (void)fclose(f);
    return end;
}

static void print_file(const char *what, struct bytes file, size_t len)
{
    print_message("%s:\n", what);
    for (size_t i = 0; i < len; i++) {
        if (i % 16 == 0) {
            print_message("    %04zx  ", i);
        }
        print_message("%02x%s", file.ptr[i], i % 16 == 15 || i + 1 == len ? "\n" : " ");
    }
}

static void check_example(const char *heading, struct bytes file)
{
    static uint8_t expected[8192];
    size_t len = example_bytes(heading, expected, sizeof(expected));
    bool same = len > 0 && len <= (size_t)file.len && memcmp(expected, file.ptr, len) == 0;
    for (size_t i = len; i < (size_t)file.len; i++) {
        same = same && file.ptr[i] == 0; /* what the page leaves out is zero */
    }
    if (!same) {
        size_t end = (size_t)file.len;
        while (end > 0 && file.ptr[end - 1] == 0) {
            end--;
        }
        print_file(heading, file, end);
        fail_msg("the example under \"%s\" is not what is written", heading);
    }
}

static void ignore_shard(void *ctx, uint32_t shard, const struct store_shard_state *state)
{
    (void)ctx;
    (void)shard;
    assert_int_equal(state->last_index, 0);
}

static void no_entry(void *ctx, uint32_t shard, uint64_t index, uint64_t term, uint8_t entry_type, struct bytes payload)
{
    (void)ctx;
    (void)shard;
    (void)term;
    (void)entry_type;
    (void)payload;
    fail_msg("entry %u in a new folder", (unsigned)index);
}

static void the_log(void **state)
{
    (void)state;
    struct mem_disk *disk = mem_disk_new();
    struct store_port port;
    struct store *s = NULL;
    struct store_report report;
    struct store_options options = {.shard_count = 1, .segment_bytes = 4096, .entry_max_bytes = 1000};
    struct store_recovery recovery = {NULL, ignore_shard, no_entry};
    struct store_record batch[] = {rec_term(0, 2, 3), rec_entry(0, 1, 2, "hello")};
    mem_disk_port(disk, &port);
    assert_int_equal(store_open(&s, &port, &options, &recovery, &report), 0);
    assert_int_equal(store_write(s, batch, COUNT_OF(batch)), 0);
    check_example("A log", mem_disk_file(disk, "log-0000000000000001.seg"));
    store_close(s);
    mem_disk_free(disk);
}

static void a_snapshot(void **state)
{
    (void)state;
    struct mem_disk *disk = mem_disk_new();
    struct store_port port;
    struct store_snapshot_writer *w = NULL;
    struct store_snapshot_meta meta = {
        .shard = 3, .index = 1000, .term = 7, .config_index = 12, .config = {(const uint8_t *)"conf", 4}, .state_hash = 0x1122334455667788};
    mem_disk_port(disk, &port);
    assert_int_equal(store_snapshot_create(&port, &meta, &w), 0);
    assert_int_equal(store_snapshot_add(w, (struct bytes){(const uint8_t *)"hello", 5}), 0);
    assert_int_equal(store_snapshot_commit(w), 0);
    check_example("A snapshot", mem_disk_file(disk, "snap-3-1000.snap"));
    mem_disk_free(disk);
}

static void an_identity(void **state)
{
    (void)state;
    struct mem_disk *disk = mem_disk_new();
    struct store_port port;
    struct store_identity id = {.node_id = 2, .shard_count = 8, .hash_version = 1, .peer_count = 2};
    memset(id.cluster_id.b, 0xc1, 16);
    memset(id.incarnation.b, 0x22, 16);
    for (uint32_t i = 0; i < 2; i++) {
        id.peers[i].node_id = i + 1;
        memset(id.peers[i].incarnation.b, (int)(0x11 * (i + 1)), 16);
        (void)snprintf(id.peers[i].address, sizeof(id.peers[i].address), "n%u:9093", i + 1);
    }
    mem_disk_port(disk, &port);
    assert_int_equal(store_identity_write(&port, &id), 0);
    check_example("An identity", mem_disk_file(disk, "identity"));
    mem_disk_free(disk);
}

static void a_backup(void **state)
{
    (void)state;
    struct mem_disk *disk = mem_disk_new();
    struct store_port port;
    struct store_backup_writer *w = NULL;
    struct store_backup_info info = {
        .taken_ms = 1796000000000, .shard_count = 1, .hash_version = 1, .draw = 0x5566778899aabbcc, .version = "0.1.0"};
    struct store_backup_section section = {.shard = 0, .index = 1000, .term = 7, .state_hash = 0x1122334455667788};
    memset(info.cluster_id.b, 0xc1, 16);
    mem_disk_port(disk, &port);
    assert_int_equal(store_backup_create(&port, "day.backup", 1, &info, &w), 0);
    assert_int_equal(store_backup_begin(w, &section), 0);
    assert_int_equal(store_backup_add(w, (struct bytes){(const uint8_t *)"hello", 5}), 0);
    assert_int_equal(store_backup_end(w), 0);
    assert_int_equal(store_backup_commit(w), 0);
    check_example("A backup", mem_disk_file(disk, "day.backup"));
    mem_disk_free(disk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_log),
        cmocka_unit_test(a_snapshot),
        cmocka_unit_test(an_identity),
        cmocka_unit_test(a_backup),
    };
    return cmocka_run_group_tests_name("storage format", tests, NULL, NULL);
}
