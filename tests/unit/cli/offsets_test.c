/* offsets_test.c: offsets as files: CSV, JSON, Kafka's own log; durations; command lines of the commands that change offsets. */
#include "run.h"

#include "kafka_batch.h"
#include "kafka_offsets.h"
#include "offset_file.h"
#include "out.h"
#include "when.h"

#include <lz4frame.h>
#include <unistd.h>

/* ---- files ---- */

struct file {
    char path[64];
};

static struct file file_of(const void *data, size_t len)
{
    struct file f = {"/tmp/muster-offsets-XXXXXX"};
    int fd = mkstemp(f.path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, data, len), len);
    close(fd);
    return f;
}

/* What a file says, as CSV with groups; or the message. Freed by the caller. */
static char *read_back(const char *text, int expected)
{
    struct cli cli;
    struct run run;
    struct saved_offsets saved;
    struct file f = file_of(text, strlen(text));
    cli_begin(&cli, &run, false);
    int code = saved_read(&cli, f.path, &saved);
    if (code == CLI_OK) {
        saved_write_csv(&saved, true, cli.out);
    }
    cli_end(&cli, &run, code);
    unlink(f.path);
    assert_int_equal(run.code, expected);
    char *ret = strdup(expected == CLI_OK ? run.out : run.err);
    run_fini(&run);
    return ret;
}

static void assert_reads(const char *text, const char *csv)
{
    char *got = read_back(text, CLI_OK);
    assert_string_equal(got, csv);
    free(got);
}

static void assert_wrong(const char *text, const char *message)
{
    char *got = read_back(text, CLI_FAILED);
    if (strstr(got, message) == NULL) {
        fail_msg("'%s' is not in: %s", message, got);
    }
    free(got);
}

static void csv_is_read_as_kafka_writes_it(void **state)
{
    (void)state;
    assert_reads("t,1,5\nt,0,6\n", "\"\",t,0,6\n\"\",t,1,5\n");
    assert_reads("g,t,0,6\r\n\r\nf,t,0,7", "f,t,0,7\ng,t,0,6\n");
    assert_reads("\"g,\"\"x\"\"\",\"t\",0,6\n", "\"g,\"\"x\"\"\",t,0,6\n");
    assert_reads("t,0,1\nt,0,1\n", "\"\",t,0,1\n");
    assert_reads("", "");
    assert_wrong("t,0\n", "line 1: is neither");
    assert_wrong("t,0,1\nt,0,-1\n", "line 2: '-1' is no offset");
    assert_wrong("orders,0,abc\n", "line 1: 'abc' is no offset");
    assert_wrong("orders,zero,5\n", "line 1: 'zero' is no partition");
    assert_wrong("topic,partition,offset\norders,0,5\n", "line 1: is a header; remove it");
    assert_wrong("GROUP,TOPIC,PARTITION,OFFSET\n", "line 1: is a header; remove it");
    assert_wrong("orders,0,5\ntopic,partition,offset\n", "line 2: 'partition' is no partition");
    assert_wrong("t,0,1\nt,0,2\n", "has t-0 twice, with offset 1 and with 2");
    assert_wrong("g,t,0,1\nf,t,0,2\ng,t,0,3\n", "has t-0 of group 'g' twice, with offset 1 and with 3");
    assert_wrong("t,0,1,\n", "line 1");
    assert_wrong("a,b,0,1,2\n", "line 1");
    assert_wrong("\"t,0,1\n", "line 1");
    assert_wrong("\"t\"x,0,1\n", "line 1");
    assert_wrong("t,0,99999999999999999999\n", "line 1");
    assert_wrong(",0,1\n", "line 1");
}

static void json_is_read_back_whole(void **state)
{
    (void)state;
    assert_reads("{\"groups\":[{\"group\":\"g\",\"offsets\":[{\"topic\":\"t\",\"partition\":1,\"offset\":5,\"leaderEpoch\":3,\"metadata\":"
                 "\"m\"}]}]}",
                 "g,t,1,5\n");
    assert_reads(" {\"groups\":[{\"group\":\"g\",\"offsets\":[{\"topic\":\"t\",\"partition\":1,\"currentOffset\":5,\"lag\":7}]}]}",
                 "g,t,1,5\n");
    assert_wrong("{\"groups\":[", "line 1");
    assert_wrong("{\"group\":[]}", "has no list 'groups'");
    assert_wrong("{\"groups\":[{\"group\":\"g\",\"offsets\":[{\"topic\":\"t\",\"partition\":1}]}]}", "offset 1 of group 'g' lacks");
    assert_wrong("{\"groups\":[{\"group\":\"g\",\"offsets\":[{\"topic\":\"t\",\"partition\":-1,\"offset\":1}]}]}",
                 "offset 1 of group 'g' lacks");
}

static void json_has_what_csv_has_not(void **state)
{
    (void)state;
    struct cli cli;
    struct run run;
    struct saved_offsets saved = {0}, again;
    cli_begin(&cli, &run, true);
    saved_add(&saved, &(struct saved_offset){STR("g"), STR("t"), 2, 9, 4, STR("why")}, &cli.arena);
    saved_add(&saved, &(struct saved_offset){STR("h"), STR("t"), 0, 1, -1, STR_NULL}, &cli.arena);
    json_t *document = saved_json(&saved);
    char *text = json_dumps(document, 0);
    struct file f = file_of(text, strlen(text));
    assert_int_equal(saved_read(&cli, f.path, &again), CLI_OK);
    assert_int_equal(again.count, 2);
    assert_int_equal(again.v[0].leader_epoch, 4);
    assert_true(str_eq(again.v[0].metadata, STR("why")));
    assert_int_equal(again.v[1].leader_epoch, -1);
    assert_true(saved_find(&again, STR("g"), STR("t"), 2) == &again.v[0]);
    assert_null(saved_find(&again, STR("g"), STR("t"), 0));
    unlink(f.path);
    free(text);
    json_decref(document);
    cli_end(&cli, &run, CLI_OK);
    run_fini(&run);
}

/* On a terminal, that is; in a file the names are as they are. */
static void names_do_not_reach_a_terminal_as_commands(void **state)
{
    static const char csv[] = "\"g\033[2J\",orders,0,1\n";
    struct cli cli;
    struct run run;
    struct saved_offsets saved;
    struct file f = file_of(csv, strlen(csv));
    (void)state;
    cli_begin(&cli, &run, false);
    assert_int_equal(saved_read(&cli, f.path, &saved), CLI_OK);
    saved_write_csv(&saved, true, cli.out);
    saved_make_safe(&saved, &cli.arena);
    saved_write_csv(&saved, true, cli.out);
    cli_end(&cli, &run, CLI_OK);
    unlink(f.path);
    assert_string_equal(run.out, "g\033[2J,orders,0,1\ng\\x1b[2J,orders,0,1\n");
    run_fini(&run);
}

static struct run read_part(const char *text, size_t len)
{
    struct cli cli;
    struct run run;
    struct saved_offsets saved;
    struct file f = file_of(text, len);
    cli_begin(&cli, &run, false);
    int code = saved_read(&cli, f.path, &saved);
    if (code == CLI_OK) {
        saved_write_csv(&saved, true, cli.out);
    }
    cli_end(&cli, &run, code);
    unlink(f.path);
    assert_true(run.code == CLI_OK || (run.code == CLI_FAILED && strstr(run.err, f.path) != NULL));
    return run;
}

/* An export that was cut off or has another byte somewhere is read or refused. A CSV that ends within a number cannot be told from a whole one: it is said. */
static void exports_cut_or_changed_anywhere(void **state)
{
    (void)state;
    static const char csv[] = "\"g,1\",orders,0,1200\ng2,orders,11,34\ng2,t,0,7\n";
    static const char json[] =
        "{\"groups\":[{\"group\":\"g\",\"offsets\":[{\"topic\":\"t\",\"partition\":1,\"offset\":57,\"metadata\":\"m\"}]}]}\n";
    for (size_t len = 0; len < strlen(csv); len++) {
        struct run run = read_part(csv, len);
        bool whole = len == 0 || csv[len - 1] == '\n';
        size_t shown = strlen(run.out);
        shown -= shown > 0 && !whole; /* the end of its last line */
        assert_memory_equal(run.out, csv, shown);
        assert_true(whole == (run.code == CLI_OK && run.err[0] == '\0'));
        assert_true(!whole || shown == len);
        run_fini(&run);
    }
    for (size_t len = 1; len < strlen(json) - 1; len++) {
        struct run run = read_part(json, len);
        assert_int_equal(run.code, CLI_FAILED);
        run_fini(&run);
    }
    for (int which = 0; which < 2; which++) {
        char text[256] = {0};
        size_t len = which == 0 ? sizeof(csv) - 1 : sizeof(json) - 1;
        memcpy(text, which == 0 ? csv : json, len);
        for (size_t i = 0; i < 8 * len; i++) {
            text[i / 8] = (char)(text[i / 8] ^ 1 << i % 8);
            struct run run = read_part(text, len);
            run_fini(&run);
            text[i / 8] = (char)(text[i / 8] ^ 1 << i % 8);
        }
    }
}

static void durations_are_iso(void **state)
{
    (void)state;
    int64_t ms;
    assert_true(when_parse_duration("P1DT2H3M4.5S", &ms));
    assert_int_equal(ms, ((26 * 60 + 3) * 60 + 4) * 1000 + 500);
    assert_true(when_parse_duration("PT10M", &ms));
    assert_int_equal(ms, 600000);
    assert_true(when_parse_duration("P7D", &ms));
    const char *const wrong[] = {"", "P", "PT", "1D", "P1H", "PT1D", "P1DT", "PT1S1H", "P-1D", "PT1", "P99999999999D"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_false(when_parse_duration(wrong[i], &ms));
    }
}

/* ---- Kafka's log ---- */

struct maker {
    struct arena arena;
    struct buf log;
    int64_t next;
};

static struct record commit_record(struct maker *m, const char *group, int32_t partition, int64_t offset)
{
    struct offset_commit_key key = {.group = str_of(group), .topic = STR("t"), .partition = partition};
    struct offset_commit_value value;
    wire_init(&wire_offset_commit_value, &value);
    value.offset = offset;
    value.metadata = STR("m");
    return wire_record_encode(RECORD_OFFSET_COMMIT, &key, 3, offset < 0 ? NULL : &value, &m->arena);
}

/* Sets attributes and producer of the newest batch, and its checksum anew. */
static void mark_batch(struct maker *m, size_t at, uint16_t attributes, int64_t producer)
{
    uint8_t *p = m->log.ptr + at;
    put_be16(p + 21, attributes);
    put_be64(p + 43, (uint64_t)producer);
    put_be32(p + 17, crc32c(p + 21, m->log.len - at - 21));
}

static void put_batch(struct maker *m, const struct record *records, int32_t count, uint16_t attributes, int64_t producer)
{
    size_t at = m->log.len;
    kafka_batch_write(&m->log, m->next, 1000, records, count);
    m->next += count;
    if (attributes != 0) {
        mark_batch(m, at, attributes, producer);
    }
}

static void put_commit(struct maker *m, const char *group, int32_t partition, int64_t offset, uint16_t attributes, int64_t producer)
{
    struct record record = commit_record(m, group, partition, offset);
    put_batch(m, &record, 1, attributes, producer);
}

static void put_marker(struct maker *m, bool commit, int64_t producer)
{
    const uint8_t key[4] = {0, 0, 0, commit};
    struct record marker = {{key, 4}, {(const uint8_t *)"\0\0\0\0\0\0", 6}};
    put_batch(m, &marker, 1, 0x30, producer);
}

static void maker_begin(struct maker *m)
{
    *m = (struct maker){.next = 0};
    arena_init(&m->arena, 0);
    buf_init(&m->log, 0);
}

static void maker_end(struct maker *m)
{
    arena_fini(&m->arena);
    buf_fini(&m->log);
}

/* The live offsets of a log as CSV, and the exit code. */
static struct run run_segment(const void *data, size_t len)
{
    struct cli cli;
    struct run run;
    struct saved_offsets live;
    struct file f = file_of(data, len);
    struct kafka_offsets *k = kafka_offsets_new();
    cli_begin(&cli, &run, false);
    int code = kafka_offsets_read_segment(&cli, k, f.path);
    kafka_offsets_take(k, &cli.arena, &live);
    saved_write_csv(&live, true, cli.out);
    kafka_offsets_free(k);
    cli_end(&cli, &run, code);
    unlink(f.path);
    return run;
}

static void assert_log(struct maker *m, const char *csv)
{
    struct run run = run_segment(m->log.ptr, m->log.len);
    assert_int_equal(run.code, CLI_OK);
    assert_string_equal(run.out, csv);
    assert_string_equal(run.err, "");
    run_fini(&run);
}

static void a_checksum_is_castagnolis(void **state)
{
    (void)state;
    assert_int_equal(crc32c((const uint8_t *)"123456789", 9), 0xe3069283u);
    assert_int_equal(crc32c(NULL, 0), 0);
}

static void a_log_says_what_is_live(void **state)
{
    (void)state;
    struct maker m;
    maker_begin(&m);
    put_commit(&m, "g", 0, 5, 0, 0);
    put_commit(&m, "g", 1, 6, 0, 0);
    put_commit(&m, "h", 0, 1, 0, 0);
    put_commit(&m, "g", 0, 7, 0, 0);
    put_commit(&m, "h", 0, -1, 0, 0);
    assert_log(&m, "g,t,0,7\ng,t,1,6\n");
    maker_end(&m);
}

static void a_transaction_counts_when_it_is_committed(void **state)
{
    (void)state;
    struct maker m;
    maker_begin(&m);
    put_commit(&m, "g", 0, 5, 0, 0);
    put_commit(&m, "g", 0, 6, 0x10, 1);
    put_commit(&m, "g", 1, 7, 0x10, 2);
    assert_log(&m, "g,t,0,5\n");
    put_marker(&m, true, 1);
    assert_log(&m, "g,t,0,6\n");
    put_marker(&m, false, 2);
    put_marker(&m, true, 2);
    assert_log(&m, "g,t,0,6\n");
    maker_end(&m);
}

/* The same records, compressed as a producer does it. */
static void lz4_is_read(void **state)
{
    (void)state;
    struct maker m;
    maker_begin(&m);
    struct record records[40];
    for (int i = 0; i < 40; i++) {
        records[i] = commit_record(&m, "g", i % 2, i);
    }
    put_batch(&m, records, 40, 0, 0);
    uint8_t packed[8192];
    size_t len = LZ4F_compressFrame(packed, sizeof(packed), m.log.ptr + 61, m.log.len - 61, NULL);
    assert_false(LZ4F_isError(len));
    m.log.len = 61;
    assert_int_equal(buf_put(&m.log, packed, len), 0);
    put_be32(m.log.ptr + 8, (uint32_t)(m.log.len - 12));
    mark_batch(&m, 0, 3, -1);
    assert_log(&m, "g,t,0,38\ng,t,1,39\n");
    mark_batch(&m, 0, 4, -1);
    struct run run = run_segment(m.log.ptr, m.log.len);
    assert_int_equal(run.code, CLI_FAILED);
    assert_non_null(strstr(run.err, "is compressed with zstd"));
    run_fini(&run);
    maker_end(&m);
}

static void many_records_take_the_memory_of_the_live_ones(void **state)
{
    (void)state;
    struct maker m;
    maker_begin(&m);
    for (int i = 0; i < 250; i++) {
        struct record records[1000];
        for (int k = 0; k < 1000; k++) {
            records[k] = commit_record(&m, "g", k % 3, i * 1000 + k);
        }
        put_batch(&m, records, 1000, 0, 0);
        arena_clear(&m.arena);
    }
    assert_log(&m, "g,t,0,249999\ng,t,1,249997\ng,t,2,249998\n");
    maker_end(&m);
}

/* Wherever it is cut and whichever byte is another: it is read or refused, and what is read was there. */
static void damage_is_said(void **state)
{
    (void)state;
    struct maker m;
    maker_begin(&m);
    put_commit(&m, "g", 0, 5, 0, 0);
    size_t first = m.log.len;
    put_commit(&m, "g", 0, 6, 0, 0);
    for (size_t len = 0; len < m.log.len; len++) {
        struct run run = run_segment(m.log.ptr, len);
        assert_int_equal(run.code, CLI_OK);
        assert_string_equal(run.out, len < first ? "" : "g,t,0,5\n");
        assert_int_equal(strstr(run.err, "no whole batch") != NULL, len != 0 && len != first);
        run_fini(&run);
    }
    for (size_t i = 0; i < m.log.len; i++) {
        m.log.ptr[i] ^= 0x41;
        struct run run = run_segment(m.log.ptr, m.log.len);
        bool unchecked = i % first < 8 || (i % first >= 12 && i % first < 16); /* offset and leader epoch */
        bool length = i % first >= 8 && i % first < 12;
        assert_true(unchecked ? run.code == CLI_OK : length ? run.code == CLI_OK || run.code == CLI_CORRUPT : run.code == CLI_CORRUPT);
        assert_true(strcmp(run.out, "") == 0 || strcmp(run.out, "g,t,0,5\n") == 0 || (unchecked && strcmp(run.out, "g,t,0,6\n") == 0));
        run_fini(&run);
        m.log.ptr[i] ^= 0x41;
    }
    maker_end(&m);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    struct arena arena;
    struct buf log;
    struct saved_offsets saved = {0};
    arena_init(&arena, 0);
    buf_init(&log, 0);
    for (int i = 0; i < 1200; i++) {
        saved_add(&saved, &(struct saved_offset){STR("g"), STR("t"), i, i * 10, i % 3 - 1, i % 2 == 0 ? STR("m") : STR_NULL}, &arena);
    }
    kafka_offsets_write(&saved, 5, &log);
    struct run run = run_segment(log.ptr, log.len);
    assert_int_equal(lines_of(run.out), 1200);
    assert_non_null(strstr(run.out, "\ng,t,1199,11990\n"));
    run_fini(&run);
    buf_fini(&log);
    arena_fini(&arena);
}

/* ---- command lines ---- */

static void assert_usage(struct run run, const char *message)
{
    assert_int_equal(run.code, CLI_USAGE);
    if (strstr(run.err, message) == NULL) {
        fail_msg("'%s' is not in: %s", message, run.err);
    }
    run_fini(&run);
}

static void what_is_unclear_is_not_done(void **state)
{
    (void)state;
    assert_usage(run_cli("offsets", "reset", "g", "--all-topics", NULL), "say where to, once");
    assert_usage(run_cli("offsets", "reset", "g", "--all-topics", "--to-latest", "--to-earliest", NULL), "say where to, once");
    assert_usage(run_cli("offsets", "reset", "g", "--to-latest", NULL), "say which topics");
    assert_usage(run_cli("offsets", "reset", "g", "--to-latest", "--all-topics", "--topic", "t", NULL), "say which topics");
    assert_usage(run_cli("offsets", "reset", "g", "--all-topics", "--to-offset", "five", NULL), "--to-offset takes a whole number");
    assert_usage(run_cli("offsets", "reset", "g", "--all-topics", "--to-datetime", "soon", NULL), "--to-datetime takes a time");
    assert_usage(run_cli("offsets", "reset", "g", "--all-topics", "--by-duration", "1h", NULL), "--by-duration takes a duration");
    assert_usage(run_cli("offsets", "reset", "g", "--all-topics", "--to-latest", "--execute", "--dry-run", NULL), "do not go together");
    assert_usage(run_cli("offsets", "reset", "g", "--to-time", "soon", NULL), "--to-time takes a time");
    assert_usage(run_cli("offsets", "reset", "g", "--to-time", "2999-01-01", NULL), "--to-time: that is in the future");
    assert_usage(run_cli("offsets", "pre-create", "g", "--to-time", "2999-01-01", NULL), "--to-time: that is in the future");
    assert_usage(run_cli("offsets", "reset", "g", "--to-index", "0", NULL), "--to-index takes a whole number");
    assert_usage(run_cli("offsets", "reset", "g", "--to-latest", "--all-topics", "--data", "d", NULL), "go with --to-index and --to-time");
    assert_usage(run_cli("offsets", "delete", "g", NULL), "say what");
    assert_usage(run_cli("offsets", "delete", "g", "--stale", "--topic", "t", NULL), "say what");
    assert_usage(run_cli("offsets", "copy", "g", "g", NULL), "both groups are the same");
    assert_usage(run_cli("offsets", "import", NULL), "say where from");
    assert_usage(run_cli("offsets", "import", "f", "--from-kafka", "127.0.0.1:1", NULL), "say where from");
    assert_usage(run_cli("offsets", "import", "f", "--create-topics", "--skip-missing", NULL), "do not go together");
    assert_usage(run_cli("offsets", "reset", "g", "--all-topics", "--to-offset", "five", NULL), "takes a whole number, not 'five'");
    struct run run = run_cli("offsets", "import", "/nonexistent/offsets.csv", NULL);
    assert_int_equal(run.code, CLI_FAILED);
    run_fini(&run);
}

/* A name that is mistyped is not another one that is left out. */
static void a_file_says_whose_offsets_it_has(void **state)
{
    (void)state;
    const char *two = "shop,t,0,1\nbank,t,0,2\nshop,t,1,3\n", *none = "t,0,1\n";
    struct file named = file_of(two, strlen(two)), unnamed = file_of(none, strlen(none));
    char message[120];
    struct run run = run_cli("offsets", "import", named.path, "--group", "shoop", NULL);
    assert_int_equal(run.code, CLI_FAILED);
    assert_string_equal(run.err, "muster: there are no offsets of group 'shoop' to import; there are of: 'bank', 'shop'\n");
    run_fini(&run);
    run = run_cli("offsets", "import", named.path, "--group", "shop", "--group", "shoop", NULL);
    assert_int_equal(run.code, CLI_FAILED);
    assert_non_null(strstr(run.err, "no offsets of group 'shoop'"));
    run_fini(&run);
    snprintf(message, sizeof(message), "%s: does not name its group; say which one with --group", unnamed.path);
    assert_usage(run_cli("offsets", "import", named.path, unnamed.path, NULL), message);
    unlink(named.path);
    unlink(unnamed.path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_is_read_as_kafka_writes_it),
        cmocka_unit_test(json_is_read_back_whole),
        cmocka_unit_test(json_has_what_csv_has_not),
        cmocka_unit_test(names_do_not_reach_a_terminal_as_commands),
        cmocka_unit_test(exports_cut_or_changed_anywhere),
        cmocka_unit_test(durations_are_iso),
        cmocka_unit_test(a_checksum_is_castagnolis),
        cmocka_unit_test(a_log_says_what_is_live),
        cmocka_unit_test(a_transaction_counts_when_it_is_committed),
        cmocka_unit_test(lz4_is_read),
        cmocka_unit_test(many_records_take_the_memory_of_the_live_ones),
        cmocka_unit_test(damage_is_said),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_is_unclear_is_not_done),
        cmocka_unit_test(a_file_says_whose_offsets_it_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
