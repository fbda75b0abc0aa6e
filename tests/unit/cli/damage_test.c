/* damage_test.c: imperfect folders (field case B47; fault/case_B47 has it with real nodes): everything before the damage is shown, its place and kind are told, the exit code
 * says which, nothing is changed and nothing crashes. */
#include "run.h"

#include "made.h"

static const struct log_filter everything = {.group = {NULL, -1}, .type = {NULL, -1}, .shard = -1, .from = 0, .to = INT64_MAX, .all = true};

enum what { DUMP, KAFKA, STAT, DIFF, VERIFY, STATE };

static int read_folder(struct cli *cli, struct log_folder *f, enum what what)
{
    struct log_filter filter = everything;
    switch (what) {
    case KAFKA:
        filter.format = LOG_FORMAT_KAFKA;
        return log_dump_folder(cli, f, &filter);
    case STAT:
        return log_stat_folder(cli, f, &everything, 3);
    case DIFF:
        return log_diff_folders(cli, f, "one", f, "the same", &filter);
    case VERIFY:
        return log_verify_folder(cli, f, -1);
    case STATE:
        return log_state_folder(cli, f, &everything, &(struct log_moment){.index = INT64_MAX});
    default:
        return log_dump_folder(cli, f, &everything);
    }
}

static struct run look(struct mem_disk *disk, enum what what)
{
    struct cli cli;
    struct run r;
    struct log_folder f;
    struct store_port port;
    struct mem_counts before;
    struct mem_counts after;
    mem_disk_counts(disk, &before);
    mem_disk_port(disk, &port);
    port.lock = NULL; /* a call would crash */
    port.write = NULL;
    port.sync = NULL;
    cli_begin(&cli, &r, false);
    int code = log_folder_open_port(&cli, &port, &f);
    if (code == CLI_OK) {
        code = read_folder(&cli, &f, what);
        log_folder_close(&f);
    }
    cli_end(&cli, &r, code);
    mem_disk_end_process(disk, &port);
    mem_disk_counts(disk, &after);
    assert_int_equal(before.changes, after.changes);
    return r;
}

/* What of the story is printed has to be its beginning; erased marks aside, which look ahead. */
static void strip_erased(char *text)
{
    for (char *at = strstr(text, "(erased) "); at != NULL; at = strstr(at, "(erased) ")) {
        memmove(at, at + 9, strlen(at + 9) + 1);
    }
}

static void assert_beginning(const char *whole, char *part)
{
    strip_erased(part);
    assert_true(strlen(part) == 0 || strncmp(whole, part, strlen(part)) == 0);
}

struct fixture {
    struct made made;
    char *whole; /* the story's dump, marks aside */
    int64_t end; /* of the last batch in the segment */
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    made_init(&f->made);
    made_story(&f->made);
    made_close(&f->made);
    struct run r = look(f->made.disk, DUMP);
    assert_int_equal(r.code, CLI_OK);
    f->whole = strdup(r.out);
    strip_erased(f->whole);
    run_fini(&r);
    struct bytes segment = mem_disk_file(f->made.disk, MADE_SEGMENT);
    f->end = segment.len;
    while (f->end > 0 && segment.ptr[f->end - 1] == 0) {
        f->end--;
    }
    assert_true(f->end > 400 && f->end < segment.len);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    made_fini(&f->made);
    free(f->whole);
    free(f);
    return 0;
}

static void last_200_bytes_cut_anywhere(void **state)
{
    struct fixture *f = *state;
    int torn = 0;
    for (int64_t len = f->end - 200; len < f->end; len++) {
        struct mem_disk *disk = mem_disk_clone(f->made.disk);
        mem_disk_cut(disk, MADE_SEGMENT, (uint64_t)len);
        struct run r = look(disk, DUMP);
        assert_true(r.code == CLI_TORN || r.code == CLI_OK);
        assert_beginning(f->whole, r.out);
        assert_non_null(strstr(r.out, "join: new member"));
        if (r.code == CLI_TORN) {
            torn++;
            assert_non_null(strstr(r.err, "torn tail: " MADE_SEGMENT ", offset "));
        }
        int code = r.code;
        run_fini(&r);
        for (enum what what = KAFKA; what <= VERIFY; what++) {
            r = look(disk, what);
            assert_int_equal(r.code, code);
            run_fini(&r);
        }
        mem_disk_free(disk);
    }
    assert_true(torn > 150);
}

/* More commits, so that the log has its last 4 KiB behind its beginning. */
static void add_commits(struct made *m)
{
    for (uint64_t i = 0; i < 40; i++) {
        struct made_change e;
        struct offset_commit_key key = {.group = STR("k"), .topic = STR("orders"), .partition = 1};
        struct offset_commit_value value;
        made_change_init(&e, API_KEY_OFFSET_COMMIT, "commit: taken", "k", (int64_t)i);
        wire_init(&wire_offset_commit_value, &value);
        value.offset = (int64_t)i;
        value.metadata = STR("metadata");
        made_change_add(&e, wire_record_encode(RECORD_OFFSET_COMMIT, &key, 4, &value, &m->arena));
        made_write(m, (struct store_record){.kind = STORE_ENTRY,
                                            .entry_type = LOG_COMMAND,
                                            .shard = 1,
                                            .index = MADE_LAST + 1 + i,
                                            .term = 2,
                                            .payload = wire_encode(&wire_log_entry, 0, &e.v, &m->arena)});
    }
}

static char *dumped(struct mem_disk *disk, int64_t *ret_end)
{
    struct run r = look(disk, DUMP);
    assert_int_equal(r.code, CLI_OK);
    char *text = strdup(r.out);
    assert_non_null(text);
    strip_erased(text);
    run_fini(&r);
    struct bytes segment = mem_disk_file(disk, MADE_SEGMENT);
    for (*ret_end = segment.len; *ret_end > 0 && segment.ptr[*ret_end - 1] == 0;) {
        --*ret_end;
    }
    return text;
}

/* One disk of which the last 4 KiB are cut or flipped at this byte: dump tells the place and shows the beginning, and so do other verbs: one, another at each byte, or all. */
static void look_at_damage(const struct made *m, const char *whole, int64_t at, bool flips, bool all)
{
    struct mem_disk *disk = mem_disk_clone(m->disk);
    if (flips) {
        mem_disk_flip(disk, MADE_SEGMENT, (uint64_t)at, (uint8_t)(1u << at % 8));
    } else {
        mem_disk_cut(disk, MADE_SEGMENT, (uint64_t)at);
    }
    struct run r = look(disk, DUMP);
    assert_true(r.code == CLI_TORN || r.code == CLI_OK || (flips && r.code == CLI_CORRUPT));
    assert_beginning(whole, r.out);
    assert_non_null(strstr(r.out, "join: new member"));
    assert_true((r.code == CLI_OK) == (strstr(r.err, MADE_SEGMENT ", offset ") == NULL));
    int code = r.code;
    run_fini(&r);
    for (enum what what = KAFKA; what <= STATE; what++) {
        if (all || (int64_t)what == at % STATE + 1) {
            r = look(disk, what);
            assert_int_equal(r.code, code);
            run_fini(&r);
        }
    }
    mem_disk_free(disk);
}

/* Cut at every byte of the last 4 KiB, and a bit flipped at a third of them; at all, with all verbs, with MUSTER_TEST_ALL=1. */
static void last_4_kib_cut_or_flipped(void **state)
{
    bool all = getenv("MUSTER_TEST_ALL") != NULL;
    struct made m;
    int64_t end;
    (void)state;
    made_init(&m);
    made_story(&m);
    add_commits(&m);
    made_close(&m);
    char *whole = dumped(m.disk, &end);
    assert_true(end > 6000);
    for (int64_t at = end - 4096; at < end; at++) {
        look_at_damage(&m, whole, at, false, all);
        if (all || at % 3 == 0) {
            look_at_damage(&m, whole, at, true, all);
        }
    }
    free(whole);
    made_fini(&m);
}

static void one_byte_flipped_anywhere(void **state)
{
    struct fixture *f = *state;
    int codes[CLI_CORRUPT + 1] = {0};
    for (int64_t at = 0; at < f->end + 16; at++) {
        struct mem_disk *disk = mem_disk_clone(f->made.disk);
        mem_disk_flip(disk, MADE_SEGMENT, (uint64_t)at, 0x10);
        struct run r = look(disk, DUMP);
        assert_true(r.code == CLI_TORN || r.code == CLI_CORRUPT);
        assert_beginning(f->whole, r.out);
        assert_non_null(strstr(r.err, MADE_SEGMENT ", offset "));
        codes[r.code]++;
        run_fini(&r);
        enum what what = at % 2 == 0 ? STATE : at % 4 == 1 ? STAT : DIFF;
        r = look(disk, what);
        assert_true(r.code == CLI_TORN || r.code == CLI_CORRUPT);
        run_fini(&r);
        mem_disk_free(disk);
    }
    assert_true(codes[CLI_CORRUPT] > f->end / 2 && codes[CLI_TORN] > 0);
}

static void damage_in_the_middle_leaves_what_was_before(void **state)
{
    struct fixture *f = *state;
    struct run r;
    struct bytes segment = mem_disk_file(f->made.disk, MADE_SEGMENT);
    const uint8_t *at = memmem(segment.ptr, (size_t)segment.len, "delete: empty group", 19);
    assert_non_null(at);
    mem_disk_flip(f->made.disk, MADE_SEGMENT, (uint64_t)(at - segment.ptr), 0x01);
    r = look(f->made.disk, DUMP);
    assert_int_equal(r.code, CLI_CORRUPT);
    assert_non_null(strstr(r.err, "damaged: " MADE_SEGMENT));
    assert_non_null(strstr(r.out, "join: new group"));
    assert_null(strstr(r.out, "offsets: deleted"));
    run_fini(&r);
}

/* What was read of a damaged log is what the last line is about, and no more than that. */
static void verify_says_up_to_where_it_holds(void **state)
{
    struct fixture *f = *state;
    struct mem_disk *disk = mem_disk_clone(f->made.disk);
    struct bytes segment = mem_disk_file(disk, MADE_SEGMENT);
    const uint8_t *at = memmem(segment.ptr, (size_t)segment.len, "delete: empty group", 19);
    assert_non_null(at);
    struct run r = look(disk, VERIFY);
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, " in 1 segment, no snapshots"));
    assert_non_null(strstr(r.out, "Verified are the checksums, and that every entry can be applied\n"));
    run_fini(&r);
    mem_disk_flip(disk, MADE_SEGMENT, (uint64_t)(at - segment.ptr), 0x01);
    r = look(disk, VERIFY);
    assert_int_equal(r.code, CLI_CORRUPT);
    assert_non_null(strstr(r.err, "muster cluster replace ID"));
    assert_non_null(strstr(r.out, " in 1 segment before the damage, no snapshots"));
    assert_non_null(strstr(r.out, "Verified are the checksums, and that every entry before the damage can be applied\n"));
    run_fini(&r);
    mem_disk_free(disk);
    disk = mem_disk_clone(f->made.disk);
    mem_disk_cut(disk, MADE_SEGMENT, (uint64_t)f->end - 3);
    r = look(disk, VERIFY);
    assert_int_equal(r.code, CLI_TORN);
    assert_non_null(strstr(r.out, "Verified are the checksums, and that every entry before the torn tail can be applied\n"));
    run_fini(&r);
    mem_disk_free(disk);
}

static void empty_and_missing_files(void **state)
{
    struct fixture *f = *state;
    struct mem_disk *disk = mem_disk_clone(f->made.disk);
    mem_disk_cut(disk, MADE_SEGMENT, 0);
    struct run r = look(disk, DUMP);
    assert_int_equal(r.code, CLI_CORRUPT);
    assert_non_null(strstr(r.err, MADE_SEGMENT));
    run_fini(&r);
    mem_disk_free(disk);

    disk = mem_disk_new();
    mem_disk_put(disk, MADE_SEGMENT, "", 0);
    r = look(disk, VERIFY);
    assert_int_not_equal(r.code, CLI_OK);
    run_fini(&r);
    mem_disk_free(disk);

    disk = mem_disk_new();
    mem_disk_put(disk, "notes.txt", "hello", 5);
    r = look(disk, DUMP);
    assert_int_equal(r.code, CLI_FAILED);
    run_fini(&r);
    mem_disk_free(disk);
}

static void a_damaged_snapshot_is_told(void **state)
{
    struct made m;
    (void)state;
    made_init(&m);
    made_snapshot(&m, 5, 0, 5);
    made_close(&m);
    for (size_t i = 0; i < mem_disk_file_count(m.disk); i++) {
        const char *name = mem_disk_file_name(m.disk, i);
        if (strncmp(name, "snap-", 5) == 0) {
            struct bytes file = mem_disk_file(m.disk, name);
            mem_disk_flip(m.disk, name, (uint64_t)file.len / 2, 0x01);
        }
    }
    struct run r = look(m.disk, DUMP);
    assert_int_equal(r.code, CLI_CORRUPT);
    assert_non_null(strstr(r.err, "snap-"));
    run_fini(&r);
    r = look(m.disk, VERIFY);
    assert_int_equal(r.code, CLI_CORRUPT);
    run_fini(&r);
    made_fini(&m);
}

/* Records of kinds that are known, with contents that are not: the checksums are right, so the printer has to cope. */
static void random_payloads_do_no_harm(void **state)
{
    (void)state;
    struct prng prng;
    prng_seed(&prng, 47);
    for (int round = 0; round < 200; round++) {
        struct made m;
        made_init(&m);
        made_write(&m, (struct store_record){.kind = STORE_TERM, .shard = 1, .term = 2, .vote = 1});
        for (uint64_t index = 1; index <= MADE_LAST; index++) {
            struct store_record r = made_entry(&m.arena, 1, index, 2);
            uint8_t *bytes = (uint8_t *)arena_bytes(&m.arena, r.payload).ptr;
            for (int flips = 0; index > 2 && flips < 3; flips++) {
                bytes[prng_below(&prng, (uint64_t)r.payload.len)] ^= (uint8_t)(1u << prng_below(&prng, 8));
            }
            r.payload.ptr = bytes;
            made_write(&m, r);
        }
        made_close(&m);
        for (enum what what = DUMP; what <= STATE; what++) {
            struct run r = look(m.disk, what);
            assert_true(r.code == CLI_OK || r.code == CLI_CORRUPT || r.code == CLI_FAILED);
            run_fini(&r);
        }
        made_fini(&m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(last_200_bytes_cut_anywhere, setup, teardown),
        cmocka_unit_test(last_4_kib_cut_or_flipped),
        cmocka_unit_test_setup_teardown(one_byte_flipped_anywhere, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_in_the_middle_leaves_what_was_before, setup, teardown),
        cmocka_unit_test_setup_teardown(verify_says_up_to_where_it_holds, setup, teardown),
        cmocka_unit_test_setup_teardown(empty_and_missing_files, setup, teardown),
        cmocka_unit_test(a_damaged_snapshot_is_told),
        cmocka_unit_test(random_payloads_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
