/* log.c: how fast a log is read, checked and applied again, beside what the same bytes take to be read at all. Makes a folder of commits of many groups, then runs in one process
 *
 *   read     the files, with read(2)
 *   scan     every checksum (store_scan)
 *   verify   `muster log verify`: scanned twice, all snapshots, every entry applied, the state compared
 *
 *     log [--mib 1024] [--groups 10000] [--records 10] DIR        records: commits in an entry. DIR is made, and stays. */
#include "cli.h"
#include "log.h"

#include <muster/group.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 1000, SHARDS = 8, PARTITIONS = 12, RECORDS_MAX = 100 };

struct shape {
    uint64_t mib;
    int64_t groups, records;
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static long max_rss_mib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

/* ---- the folder ---- */

struct making {
    const struct shape *shape;
    struct store_port port;
    struct store *store;
    struct prng random;
    uint64_t index[SHARDS], bytes, entries;
    int64_t *revisions; /* of each group */
    struct arena arena;
};

static void ignore_shard(void *ctx, uint32_t shard, const struct store_shard_state *state)
{
    (void)ctx, (void)shard, (void)state;
}

static void ignore_entry(void *ctx, uint32_t shard, uint64_t index, uint64_t term, uint8_t type, struct bytes payload)
{
    (void)ctx, (void)shard, (void)index, (void)term, (void)type, (void)payload;
}

/* One turn's commits of one group, as a coordinator writes them. */
static struct bytes entry_of(struct making *m, int64_t group, struct str id)
{
    struct log_entry entry;
    struct log_entry_cause cause = {.client_id = STR("bench"),
                                    .host = STR("/10.0.0.1"),
                                    .api_key = API_KEY_OFFSET_COMMIT,
                                    .api_version = 9,
                                    .group_id = id,
                                    .reason = STR_NULL,
                                    .rule = STR("commit: taken")};
    struct log_entry_group_revision revision = {.group_id = id, .revision = m->revisions[group]++};
    struct log_entry_entry_record records[RECORDS_MAX];
    wire_init(&wire_log_entry, &entry);
    entry.wall_ms = 1790000000000 + (int64_t)m->entries;
    entry.shard_clock_ms = (int64_t)m->entries;
    entry.causes.v = &cause;
    entry.causes.len = 1;
    entry.groups.v = &revision;
    entry.groups.len = 1;
    for (int64_t i = 0; i < m->shape->records; i++) {
        struct offset_commit_key key = {.group = id, .topic = STR("orders"), .partition = (int32_t)prng_below(&m->random, PARTITIONS)};
        struct offset_commit_value value;
        wire_init(&wire_offset_commit_value, &value);
        value.offset = (int64_t)m->entries;
        value.metadata = STR("");
        value.commit_timestamp = entry.wall_ms;
        struct record r = wire_record_encode(RECORD_OFFSET_COMMIT, &key, 4, &value, &m->arena);
        records[i] = (struct log_entry_entry_record){0, r.key, r.value};
    }
    entry.records.v = records;
    entry.records.len = (int32_t)m->shape->records;
    return wire_encode(&wire_log_entry, 0, &entry, &m->arena);
}

static void make_batch(struct making *m)
{
    struct store_record batch[BATCH];
    arena_clear(&m->arena);
    for (size_t i = 0; i < BATCH; i++) {
        int64_t group = (int64_t)prng_below(&m->random, (uint64_t)m->shape->groups);
        struct str id = arena_printf(&m->arena, "group-%06" PRId64, group);
        uint32_t shard = log_shard_of_group(id, SHARDS);
        batch[i] = (struct store_record){.kind = STORE_ENTRY,
                                         .entry_type = LOG_COMMAND,
                                         .shard = shard,
                                         .term = 1,
                                         .index = ++m->index[shard],
                                         .payload = entry_of(m, group, id)};
        m->bytes += (uint64_t)batch[i].payload.len;
        m->entries++;
    }
    MUSTER_CHECK(store_write(m->store, batch, BATCH) == 0);
}

static uint64_t make(const char *dir, const struct shape *shape)
{
    struct making m = {.shape = shape};
    struct store_options options = {.shard_count = SHARDS, .segment_bytes = 64 << 20, .reserve_bytes = 1 << 20, .entry_max_bytes = 1 << 20};
    struct store_recovery recovery = {NULL, ignore_shard, ignore_entry};
    struct store_report report;
    prng_seed(&m.random, 7);
    arena_init(&m.arena, 0);
    m.revisions = calloc((size_t)shape->groups, sizeof(*m.revisions));
    MUSTER_CHECK(m.revisions != NULL && store_port_posix_init(&m.port, dir, false) == 0);
    MUSTER_CHECK(store_open(&m.store, &m.port, &options, &recovery, &report) == 0);
    while (m.bytes < shape->mib << 20) {
        make_batch(&m);
    }
    store_close(m.store);
    store_port_posix_fini(&m.port);
    arena_fini(&m.arena);
    free(m.revisions);
    return m.entries;
}

/* ---- the figures ---- */

static uint64_t read_all(const char *dir)
{
    static char block[1 << 20];
    uint64_t sum = 0;
    for (unsigned n = 1;; n++) {
        char path[4200];
        snprintf(path, sizeof(path), "%s/log-%016x.seg", dir, n);
        int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) {
            return sum;
        }
        for (ssize_t got = 1; got > 0; sum += (uint64_t)got) {
            got = read(file, block, sizeof(block));
            MUSTER_CHECK(got >= 0);
        }
        close(file);
    }
}

struct moment {
    double wall, cpu;
};

static struct moment begin(void)
{
    return (struct moment){now_s(), cpu_s()};
}

/* By the clock on the wall, and by the processor time that it took: on a busy machine the second one is the program's. */
static void tell(const char *what, struct moment began, uint64_t bytes, uint64_t entries)
{
    double wall = now_s() - began.wall, cpu = cpu_s() - began.cpu;
    printf("%-8s %7.2f s wall %7.0f MB/s   %7.2f s processor %7.0f MB/s %10.0f entries/s   memory so far %ld MiB\n", what, wall,
           (double)bytes / 1e6 / wall, cpu, (double)bytes / 1e6 / cpu, (double)entries / cpu, max_rss_mib());
    fflush(stdout);
}

static int measure(const char *dir, uint64_t entries)
{
    struct cli cli = {.out = fopen("/dev/null", "w"), .err = stderr};
    struct log_folder folder;
    struct store_port port;
    struct store_visit visit = {0};
    struct store_report report;
    arena_init(&cli.arena, 0);
    uint64_t bytes = read_all(dir);
    struct moment began = begin();
    MUSTER_CHECK(read_all(dir) == bytes && cli.out != NULL);
    tell("read", began, bytes, entries);
    MUSTER_CHECK(store_port_posix_init(&port, dir, true) == 0);
    began = begin();
    MUSTER_CHECK(store_scan(&port, &visit, &report) == 0);
    tell("scan", began, bytes, entries);
    store_port_posix_fini(&port);
    began = begin();
    int code = log_folder_open(&cli, dir, &folder);
    code = code == CLI_OK ? log_verify_folder(&cli, &folder, -1) : code;
    tell("verify", began, bytes, entries);
    log_folder_close(&folder);
    fclose(cli.out);
    arena_fini(&cli.arena);
    return code;
}

static bool option(int argc, char **argv, int *at, const char *name, int64_t most, int64_t *ret)
{
    if (strcmp(argv[*at], name) != 0 || *at + 1 >= argc) {
        return false;
    }
    return cli_parse_number(argv[++*at], 1, most, ret);
}

int main(int argc, char **argv)
{
    struct shape shape = {.mib = 1024, .groups = 10000, .records = 10};
    int64_t mib = 1024;
    const char *dir = NULL;
    for (int i = 1; i < argc; i++) {
        bool known = option(argc, argv, &i, "--mib", 1 << 20, &mib) || option(argc, argv, &i, "--groups", 1000000, &shape.groups) ||
                     option(argc, argv, &i, "--records", RECORDS_MAX, &shape.records);
        if (!known && (argv[i][0] == '-' || dir != NULL)) {
            fprintf(stderr, "log [--mib N] [--groups N] [--records N] DIR\n");
            return CLI_USAGE;
        }
        dir = known ? dir : argv[i];
    }
    if (dir == NULL || access(dir, F_OK) == 0) {
        fprintf(stderr, "log: a folder that is not there yet is needed\n");
        return CLI_USAGE;
    }
    shape.mib = (uint64_t)mib;
    uint64_t entries = make(dir, &shape);
    printf("%" PRIu64 " MiB of entries, %" PRIu64 " entries of %" PRId64 " commits, %" PRId64 " groups\n", shape.mib, entries,
           shape.records, shape.groups);
    return measure(dir, entries);
}
