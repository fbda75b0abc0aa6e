/* kill_test.c: kill -9 of a real process at any moment, on a data folder that forgets what was not synced (port_lossy.c).
 *
 * The child writes and tells through a pipe what has been acknowledged to it; the parent kills it and looks at what the folder has. */
#include "fixture.h"
#include "temp_dir.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 25 };

static const struct store_options options = {.shard_count = TWIN_SHARDS,
                                             .segment_bytes = 16 * 1024,
                                             .reserve_bytes = 16 * 1024,
                                             .entry_max_bytes = 100000};

struct life {
    struct store_port port;
    struct store *store;
    struct store_report report;
    uint64_t last, term, vote;
};

static void on_shard(void *ctx, uint32_t shard, const struct store_shard_state *state)
{
    struct life *life = ctx;
    if (shard == 0) {
        life->last = state->last_index;
        life->term = state->term;
        life->vote = state->vote;
    }
}

static void on_entry(void *ctx, uint32_t shard, uint64_t index, uint64_t term, uint8_t entry_type, struct bytes payload)
{
    (void)ctx;
    (void)shard;
    (void)entry_type;
    char expected[64];
    int len = snprintf(expected, sizeof(expected), "payload of entry %" PRIu64, index);
    assert_int_equal(term, 1);
    assert_int_equal(payload.len, len);
    assert_memory_equal(payload.ptr, expected, (size_t)len);
}

static int life_begin(struct life *life, const char *dir)
{
    *life = (struct life){0};
    struct store_recovery recovery = {life, on_shard, on_entry};
    int rc = store_port_posix_init(&life->port, dir, false);
    return rc < 0 ? rc : store_open(&life->store, &life->port, &options, &recovery, &life->report);
}

/* A vote, then entries, then a vote again, as fast as it goes; now and then a snapshot and a trim. */
_Noreturn static void child(const char *dir, int out)
{
    struct life life;
    if (life_begin(&life, dir) < 0) {
        _exit(1);
    }
    for (;;) {
        char payload[64];
        struct store_record entry = rec_entry(0, ++life.last, 1, payload);
        entry.payload.len = snprintf(payload, sizeof(payload), "payload of entry %" PRIu64, life.last);
        struct store_record vote = rec_term(0, ++life.term, life.last);
        if (store_write(life.store, &entry, 1) < 0 || store_write(life.store, &vote, 1) < 0) {
            _exit(2);
        }
        uint64_t told[2] = {life.last, life.term};
        if (write(out, told, sizeof(told)) != (ssize_t)sizeof(told)) {
            _exit(3);
        }
        if (life.last % 150 == 0) {
            make_snapshot(&life.port, 0, life.last - 5, 1);
            struct store_record snapshot = rec_snapshot(0, life.last - 5, 1, life.last - 5);
            if (store_write(life.store, &snapshot, 1) < 0 || store_trim(life.store, 0, life.last - 5) < 0) {
                _exit(4);
            }
        }
    }
}

/* Starts a child, lets it acknowledge `count` more pairs and a little, kills it; gives the last pair it told. */
static void run_and_kill(const char *dir, unsigned count, unsigned extra_us, uint64_t told[2])
{
    int pipes[2];
    int status = 0;
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(pipes[0]);
        child(dir, pipes[1]);
    }
    (void)close(pipes[1]);
    for (unsigned i = 0; i < count; i++) {
        struct pollfd readable = {.fd = pipes[0], .events = POLLIN};
        assert_int_equal(poll(&readable, 1, 20000), 1);
        assert_int_equal(read(pipes[0], told, 16), 16);
    }
    struct timespec pause = {.tv_nsec = (long)extra_us * 1000};
    (void)nanosleep(&pause, NULL);
    assert_int_equal(kill(pid, SIGKILL), 0);
    uint64_t more[2];
    while (read(pipes[0], more, sizeof(more)) == (ssize_t)sizeof(more)) {
        memcpy(told, more, sizeof(more));
    }
    (void)close(pipes[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void a_kill_loses_nothing_acknowledged(void **state)
{
    (void)state;
    char dir[TEMP_DIR_BYTES];
    struct prng random;
    uint64_t told[2] = {0, 0};
    temp_dir_make(dir);
    prng_seed(&random, 20);
    for (int round = 0; round < ROUNDS; round++) {
        struct life life;
        run_and_kill(dir, 1 + (unsigned)prng_below(&random, 60), (unsigned)prng_below(&random, 3000), told);
        int rc = life_begin(&life, dir);
        if (rc < 0) {
            fail_msg("round %d: open says %s: %s", round, muster_strerror(rc), life.report.text);
        }
        if (life.last < told[0] || life.term < told[1]) {
            fail_msg("round %d: acknowledged entries or votes are lost: entry %" PRIu64 " of %" PRIu64 ", term %" PRIu64 " of %" PRIu64,
                     round, life.last, told[0], life.term, told[1]);
        }
        assert_true(life.last <= told[0] + 2 && life.term <= told[1] + 2);
        store_close(life.store);
        store_port_posix_fini(&life.port);
    }
    assert_true(told[0] > ROUNDS * 5);
    temp_dir_remove(dir);
}

/* The port itself: what is not synced is gone with the process. */
static void the_port_forgets_what_was_not_synced(void **state)
{
    (void)state;
    char dir[TEMP_DIR_BYTES];
    temp_dir_make(dir);
    struct store_port port;
    int file = -1;
    uint64_t bytes = 0;
    char read_back[8] = {0};
    size_t got = 0;
    struct bytes hello = {(const uint8_t *)"hello", 5};
    struct bytes there = {(const uint8_t *)"there", 5};
    assert_int_equal(store_port_posix_init(&port, dir, false), 0);
    assert_int_equal(port.open(port.ctx, "kept", true, true, &file), 0);
    assert_int_equal(port.write(port.ctx, file, 0, &hello, 1), 0);
    assert_int_equal(port.sync(port.ctx, file), 0);
    assert_int_equal(port.sync_dir(port.ctx), 0);
    assert_int_equal(port.write(port.ctx, file, 2, &there, 1), 0); /* not synced */
    assert_int_equal(port.read(port.ctx, file, 0, read_back, 8, &got), 0);
    assert_int_equal(got, 7);
    assert_memory_equal(read_back, "hethere", 7);
    assert_int_equal(port.open(port.ctx, "lost", true, true, &file), 0);
    assert_int_equal(port.write(port.ctx, file, 0, &hello, 1), 0);
    assert_int_equal(port.sync(port.ctx, file), 0); /* its name is not */
    assert_int_equal(port.rename(port.ctx, "kept", "renamed"), 0);
    assert_int_equal(port.open(port.ctx, "kept", false, true, &file), MUSTER_E_NOT_FOUND);
    store_port_posix_fini(&port);
    assert_int_equal(store_port_posix_init(&port, dir, false), 0);
    assert_int_equal(port.open(port.ctx, "lost", false, true, &file), MUSTER_E_NOT_FOUND);
    assert_int_equal(port.open(port.ctx, "renamed", false, true, &file), MUSTER_E_NOT_FOUND);
    assert_int_equal(port.open(port.ctx, "kept", false, true, &file), 0);
    assert_int_equal(port.size(port.ctx, file, &bytes), 0);
    assert_int_equal(bytes, 5);
    assert_int_equal(port.read(port.ctx, file, 0, read_back, 8, &got), 0);
    assert_memory_equal(read_back, "hello", 5);
    assert_int_equal(port.truncate(port.ctx, file, 2), 0);
    assert_int_equal(port.allocate(port.ctx, file, 4), 0);
    assert_int_equal(port.read(port.ctx, file, 0, read_back, 8, &got), 0);
    assert_int_equal(got, 4);
    assert_memory_equal(read_back, "he\0\0", 4);
    assert_int_equal(port.sync(port.ctx, file), 0);
    assert_int_equal(port.rename(port.ctx, "kept", "renamed"), 0);
    assert_int_equal(port.sync_dir(port.ctx), 0);
    store_port_posix_fini(&port);
    assert_int_equal(store_port_posix_init(&port, dir, false), 0);
    assert_int_equal(port.open(port.ctx, "renamed", false, false, &file), 0);
    assert_int_equal(port.read(port.ctx, file, 0, read_back, 8, &got), 0);
    assert_int_equal(got, 4);
    store_port_posix_fini(&port);
    temp_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_port_forgets_what_was_not_synced),
        cmocka_unit_test(a_kill_loses_nothing_acknowledged),
    };
    return cmocka_run_group_tests_name("storage kill", tests, NULL, NULL);
}
