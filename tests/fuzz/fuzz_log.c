/* fuzz_log.c: `muster log` on logs whose checksums are right and whose entries are anything: every verb ends with one of the documented codes, changes nothing and prints
 * nothing that a terminal would obey.
 *
 * Byte 0 picks the verb, byte 1 the filters; then entries: shard and kind in one byte, length in two, payload. A shard's indexes go on by themselves, and back where bit 7 is set. */
#include "commands.h"
#include "log.h"
#include "mem_port.h"

#include <muster/group.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SHARDS = 2, VERBS = 8, SEGMENT_BYTES = 16384 };

static void on_shard(void *ctx, uint32_t shard, const struct store_shard_state *state)
{
    (void)ctx, (void)shard, (void)state;
}

static void on_entry(void *ctx, uint32_t shard, uint64_t index, uint64_t term, uint8_t entry_type, struct bytes payload)
{
    (void)ctx, (void)shard, (void)index, (void)term, (void)entry_type, (void)payload;
}

static void write_log(struct mem_disk *disk, const uint8_t *data, size_t size)
{
    static const struct store_options options = {.shard_count = SHARDS,
                                                 .segment_bytes = SEGMENT_BYTES,
                                                 .reserve_bytes = 4096,
                                                 .entry_max_bytes = 1 << 16};
    struct store_recovery recovery = {NULL, on_shard, on_entry};
    struct store_report report;
    struct store_port port;
    struct store *store = NULL;
    uint64_t index[SHARDS] = {0}, term = 1;
    mem_disk_port(disk, &port);
    MUSTER_CHECK(store_open(&store, &port, &options, &recovery, &report) == 0);
    while (size >= 3) {
        size_t len = (size_t)(data[1] | data[2] << 8);
        uint32_t shard = data[0] % SHARDS;
        uint8_t kind = data[0] >> 1 & 3;
        len = len < size - 3 ? len : size - 3;
        bool back = (data[0] & 0x80) != 0 && index[shard] > 0;
        term += back;
        index[shard] += !back;
        struct store_record r = {.kind = STORE_ENTRY,
                                 .entry_type = kind == 0 ? LOG_COMMAND : kind,
                                 .shard = shard,
                                 .term = term,
                                 .index = index[shard],
                                 .payload = {data + 3, (int32_t)len}};
        MUSTER_CHECK(store_write(store, &r, 1) == 0);
        data += 3 + len;
        size -= 3 + len;
    }
    store_close(store);
    mem_disk_end_process(disk, &port);
}

static int run_verb(struct cli *cli, struct log_folder *f, uint8_t verb, const struct log_filter *filter, uint8_t filters)
{
    struct log_moment at = {.given = (filters & 1) != 0,
                            .by_time = (filters & 2) != 0,
                            .index = filters >> 2 & 7,
                            .by_clock = (filters & 0x22) == 0x20,
                            .clock_ms = filters,
                            .wall_ms = INT64_C(1800000000000)};
    at.index = at.given ? at.index + 1 : INT64_MAX;
    switch (verb % VERBS) {
    case 0:
    case 1:
    case 2:
        return log_dump_folder(cli, f, filter);
    case 3:
        return log_stat_folder(cli, f, filter, 2);
    case 4:
        return log_diff_folders(cli, f, "one", f, "other", filter);
    case 5:
        return log_verify_folder(cli, f, filter->shard);
    default:
        return log_state_folder(cli, f, filter, &at);
    }
}

static void check_shown(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        MUSTER_CHECK(text[i] == '\n' || (uint8_t)text[i] >= ' ');
    }
}

static void read_log(struct mem_disk *disk, uint8_t verb, uint8_t filters)
{
    struct log_filter filter = {.group = (filters & 0x10) != 0 ? STR("g") : STR_NULL,
                                .type = (filters & 0x20) != 0 ? STR("OffsetCommit") : STR_NULL,
                                .topic = (filters & 0x40) != 0 ? STR("orders") : STR_NULL,
                                .member = (filters & 0x80) != 0 ? STR("m1") : STR_NULL,
                                .shard = (filters & 0x08) != 0 ? 1 : -1,
                                .to = INT64_MAX,
                                .all = (filters & 0x04) != 0,
                                .format = verb % VERBS == 2 ? LOG_FORMAT_KAFKA : LOG_FORMAT_TEXT};
    struct mem_counts before, after;
    struct store_port port;
    struct log_folder folder;
    char *out_text = NULL, *err_text = NULL;
    size_t out_len = 0, err_len = 0;
    struct cli cli = {.out = open_memstream(&out_text, &out_len),
                      .err = open_memstream(&err_text, &err_len),
                      .command = &command_log_state, /* the one of these that looks at its options while it runs */
                      .json = verb % VERBS % 2 == 1};
    arena_init(&cli.arena, 0);
    mem_disk_counts(disk, &before);
    mem_disk_port(disk, &port);
    int code = log_folder_open_port(&cli, &port, &folder);
    if (code == CLI_OK) {
        code = run_verb(&cli, &folder, verb, &filter, filters);
        log_folder_close(&folder);
    }
    mem_disk_end_process(disk, &port);
    mem_disk_counts(disk, &after);
    fclose(cli.out);
    fclose(cli.err);
    MUSTER_CHECK(before.changes == after.changes);
    MUSTER_CHECK(code == CLI_OK || code == CLI_FAILED || code == CLI_USAGE || code == CLI_CORRUPT);
    bool remark =
        code == CLI_OK && strstr(err_text, "wall clocks went back") != NULL; /* of all that is said the only thing that is no failure */
    MUSTER_CHECK((code == CLI_OK) == (err_len == 0) || remark);
    check_shown(out_text, out_len);
    check_shown(err_text, err_len);
    free(out_text);
    free(err_text);
    arena_fini(&cli.arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || size > 1 << 15) {
        return 0;
    }
    struct mem_disk *disk = mem_disk_new();
    write_log(disk, data + 2, size - 2);
    read_log(disk, data[0], data[1]);
    mem_disk_free(disk);
    return 0;
}
