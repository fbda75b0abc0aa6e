/* posix_test.c: the port on a real file system. */
#include "fixture.h"
#include "temp_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    char dir[TEMP_DIR_BYTES];
    char data[TEMP_DIR_BYTES + 8];
};

static int setup(void **state)
{
    struct place *p = malloc(sizeof(*p));
    assert_non_null(p);
    temp_dir_make(p->dir);
    (void)snprintf(p->data, sizeof(p->data), "%s/data", p->dir);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    struct place *p = *state;
    temp_dir_remove(p->dir);
    free(p);
    return 0;
}

static void count_name(void *arg, const char *name)
{
    assert_non_null(name);
    (*(unsigned *)arg)++;
}

static void files_behave_as_promised(void **state)
{
    struct place *p = *state;
    struct store_port port;
    int file = -1;
    uint64_t bytes = 0;
    size_t got = 0;
    char read[64];
    unsigned names = 0;
    assert_int_equal(store_port_posix_init(&port, p->data, false), 0);
    assert_int_equal(port.open(port.ctx, "a", false, true, &file), MUSTER_E_NOT_FOUND);
    assert_int_equal(port.open(port.ctx, "a", true, true, &file), 0);
    struct bytes parts[40]; /* more than one pwritev takes here, with an empty one in between */
    for (int i = 0; i < 40; i++) {
        parts[i] = (struct bytes){(const uint8_t *)"xy", i == 20 ? 0 : 2};
    }
    assert_int_equal(port.write(port.ctx, file, 10, parts, 40), 0);
    assert_int_equal(port.size(port.ctx, file, &bytes), 0);
    assert_int_equal(bytes, 10 + 78);
    assert_int_equal(port.read(port.ctx, file, 80, read, sizeof(read), &got), 0);
    assert_int_equal(got, 8);
    assert_memory_equal(read, "xyxyxyxy", 8);
    assert_int_equal(port.read(port.ctx, file, 1000, read, sizeof(read), &got), 0);
    assert_int_equal(got, 0);
    assert_int_equal(port.sync(port.ctx, file), 0);
    assert_int_equal(port.truncate(port.ctx, file, 5), 0);
    assert_int_equal(port.size(port.ctx, file, &bytes), 0);
    assert_int_equal(bytes, 5);
    port.close(port.ctx, file);
    assert_int_equal(port.rename(port.ctx, "a", "b"), 0);
    assert_int_equal(port.rename(port.ctx, "a", "b"), MUSTER_E_NOT_FOUND);
    assert_int_equal(port.sync_dir(port.ctx), 0);
    assert_int_equal(port.list(port.ctx, count_name, &names), 0);
    assert_int_equal(names, 1);
    assert_int_equal(port.remove(port.ctx, "b"), 0);
    assert_int_equal(port.remove(port.ctx, "b"), MUSTER_E_NOT_FOUND);
    store_port_posix_fini(&port);
    store_port_posix_fini(&port); /* twice does no harm */
}

/* Whatever lies under the name of a file and is none is refused, at once: nobody waits for a pipe to be written, and no link leads out of the folder. */
static void only_files_are_opened(void **state)
{
    struct place *p = *state;
    struct store_port port;
    int file = -1;
    assert_int_equal(store_port_posix_init(&port, p->data, false), 0);
    int dir = open(p->data, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    assert_true(dir >= 0);
    assert_int_equal(mkfifoat(dir, "0", 0600), 0);
    assert_int_equal(mkdirat(dir, "1", 0700), 0);
    assert_int_equal(symlinkat("/etc/hostname", dir, "2"), 0);
    (void)close(dir);
    for (int i = 0; i < 6; i++) {
        const char name[2] = {(char)('0' + i / 2), '\0'};
        assert_int_equal(port.open(port.ctx, name, false, i % 2 != 0, &file), MUSTER_E_NO_FILE);
    }
    assert_int_equal(file, -1);
    store_port_posix_fini(&port);
}

static void allocated_blocks_are_really_taken(void **state)
{
    struct place *p = *state;
    struct store_port port;
    struct stat st;
    char path[TEMP_DIR_BYTES + 16];
    int file = -1;
    uint64_t bytes = 0;
    assert_int_equal(store_port_posix_init(&port, p->data, false), 0);
    assert_int_equal(port.open(port.ctx, "a", true, true, &file), 0);
    assert_int_equal(port.allocate(port.ctx, file, 300000), 0);
    assert_int_equal(port.allocate(port.ctx, file, 1000000), 0); /* grows on */
    assert_int_equal(port.allocate(port.ctx, file, 5), 0);       /* never shrinks */
    assert_int_equal(port.size(port.ctx, file, &bytes), 0);
    assert_int_equal(bytes, 1000000);
    assert_int_equal(port.sync(port.ctx, file), 0);
    (void)snprintf(path, sizeof(path), "%s/a", p->data);
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_blocks * 512 >= 1000000);
    assert_int_equal(port.allocate(port.ctx, file, (uint64_t)1 << 52), MUSTER_E_IO); /* beyond any file size */
    port.close(port.ctx, file);
    store_port_posix_fini(&port);
}

static void one_process_at_a_time(void **state)
{
    struct place *p = *state;
    struct store_port first;
    struct store_port second;
    assert_int_equal(store_port_posix_init(&first, p->data, false), 0);
    assert_int_equal(store_port_posix_init(&second, p->data, false), 0);
    assert_int_equal(first.lock(first.ctx), 0);
    assert_int_equal(first.lock(first.ctx), 0); /* ours already */
    assert_int_equal(second.lock(second.ctx), MUSTER_E_BUSY);
    store_port_posix_fini(&first);
    assert_int_equal(second.lock(second.ctx), 0);
    store_port_posix_fini(&second);
}

static void a_read_only_port_changes_nothing(void **state)
{
    struct place *p = *state;
    struct store_port port;
    struct store_port reader;
    int file = -1;
    assert_int_equal(store_port_posix_init(&reader, p->data, true), MUSTER_E_NOT_FOUND); /* nor makes the folder */
    assert_int_equal(access(p->data, F_OK), -1);
    assert_int_equal(store_port_posix_init(&port, p->data, false), 0);
    assert_int_equal(store_port_posix_init(&reader, p->data, true), 0);
    assert_int_equal(port.open(port.ctx, "a", true, true, &file), 0);
    port.close(port.ctx, file);
    assert_int_equal(reader.open(reader.ctx, "b", true, false, &file), MUSTER_E_IO);
    assert_int_equal(errno, EROFS);
    assert_int_equal(reader.open(reader.ctx, "a", false, true, &file), MUSTER_E_IO);
    assert_int_equal(reader.rename(reader.ctx, "a", "b"), MUSTER_E_IO);
    assert_int_equal(reader.remove(reader.ctx, "a"), MUSTER_E_IO);
    assert_int_equal(reader.lock(reader.ctx), MUSTER_E_IO);
    assert_int_equal(reader.open(reader.ctx, "a", false, false, &file), 0);
    reader.close(reader.ctx, file);
    store_port_posix_fini(&reader);
    store_port_posix_fini(&port);
}

static void a_folder_that_cannot_be_made_is_an_error(void **state)
{
    struct place *p = *state;
    struct store_port port;
    char path[TEMP_DIR_BYTES + 32];
    (void)snprintf(path, sizeof(path), "%s/not/there", p->dir);
    assert_int_equal(store_port_posix_init(&port, path, false), MUSTER_E_NOT_FOUND);
    (void)snprintf(path, sizeof(path), "%s/file", p->dir);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    assert_int_equal(store_port_posix_init(&port, path, false), MUSTER_E_IO); /* a file is in the way */
    assert_int_equal(errno, ENOTDIR);
}

static void ignore_shard(void *ctx, uint32_t shard, const struct store_shard_state *state)
{
    (void)shard;
    *(uint64_t *)ctx += state->last_index;
}

static void ignore_entry(void *ctx, uint32_t shard, uint64_t index, uint64_t term, uint8_t entry_type, struct bytes payload)
{
    (void)ctx;
    (void)shard;
    (void)entry_type;
    assert_true(index > 0 && term > 0 && payload.len >= 0);
}

static const struct store_options options = {.shard_count = TWIN_SHARDS,
                                             .segment_bytes = 64 * 1024,
                                             .reserve_bytes = 64 * 1024,
                                             .entry_max_bytes = 100000};

static void a_store_lives_on_it(void **state)
{
    struct place *p = *state;
    struct store_report report;
    uint64_t last = 0;
    struct store_recovery recovery = {&last, ignore_shard, ignore_entry};
    for (int life = 0; life < 4; life++) {
        struct store_port port;
        struct store *s = NULL;
        last = 0;
        assert_int_equal(store_port_posix_init(&port, p->data, false), 0);
        assert_int_equal(store_open(&s, &port, &options, &recovery, &report), 0);
        assert_int_equal(last, (uint64_t)life * 700);
        for (uint64_t i = 1; i <= 700; i++) {
            struct store_record r =
                rec_entry(1, last + i, 1,
                          "a payload that is some hundred bytes long, so that a few hundred of them fill a segment, as they "
                          "do in real life, where they are longer still");
            assert_int_equal(store_write(s, &r, 1), 0);
        }
        store_close(s);
        store_port_posix_fini(&port);
    }
    struct store_port reader;
    struct store_visit visit = {0};
    assert_int_equal(store_port_posix_init(&reader, p->data, true), 0);
    assert_int_equal(store_scan(&reader, &visit, &report), 0);
    assert_int_equal(report.records, 2800);
    assert_true(report.segments > 4);
    store_port_posix_fini(&reader);
}

/* Root may write anywhere: the test then has nothing to show and says so. */
static void an_unwritable_folder_is_said(void **state)
{
    struct place *p = *state;
    struct store_port port;
    struct store_report report;
    struct store *s = NULL;
    uint64_t last = 0;
    struct store_recovery recovery = {&last, ignore_shard, ignore_entry};
    assert_int_equal(store_port_posix_init(&port, p->data, false), 0);
    assert_int_equal(chmod(p->data, 0500), 0);
    if (geteuid() == 0) {
        store_port_posix_fini(&port);
        assert_int_equal(store_port_posix_init(&port, p->data, true), 0); /* a port that may not write stands in */
    }
    assert_int_equal(store_open(&s, &port, &options, &recovery, &report), MUSTER_E_IO);
    assert_true(strstr(report.text, "Permission denied") != NULL || strstr(report.text, "Read-only") != NULL);
    store_port_posix_fini(&port);
    assert_int_equal(chmod(p->data, 0700), 0);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(files_behave_as_promised),
        TEST(only_files_are_opened),
        TEST(allocated_blocks_are_really_taken),
        TEST(one_process_at_a_time),
        TEST(a_read_only_port_changes_nothing),
        TEST(a_folder_that_cannot_be_made_is_an_error),
        TEST(a_store_lives_on_it),
        TEST(an_unwritable_folder_is_said),
    };
    return cmocka_run_group_tests_name("storage posix", tests, NULL, NULL);
}
