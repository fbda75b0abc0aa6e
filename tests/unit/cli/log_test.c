/* log_test.c: the log of a made folder, shown, filtered, verified, replayed. */
#include "run.h"

#include "made.h"

#include <ftw.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

static int setup(void **state)
{
    struct made *m = calloc(1, sizeof(*m));
    assert_non_null(m);
    made_init(m);
    *state = m;
    return 0;
}

static int teardown(void **state)
{
    made_fini(*state);
    free(*state);
    return 0;
}

static const struct log_filter everything = {.group = {NULL, -1}, .type = {NULL, -1}, .shard = -1, .from = 0, .to = INT64_MAX};

/* Opens the disk by a port that can only read. */
static int open_folder(struct cli *cli, struct made *m, struct log_folder *f)
{
    struct store_port port;
    mem_disk_port(m->disk, &port);
    port.lock = NULL;
    port.write = NULL;
    port.allocate = NULL;
    port.truncate = NULL;
    port.rename = NULL;
    port.remove = NULL;
    port.sync = NULL;
    port.sync_dir = NULL;
    return log_folder_open_port(cli, &port, f);
}

static struct run dump(struct made *m, struct log_filter filter, bool json)
{
    struct cli cli;
    struct run r;
    struct log_folder f;
    cli_begin(&cli, &r, json);
    int code = open_folder(&cli, m, &f);
    if (code == CLI_OK) {
        code = log_dump_folder(&cli, &f, &filter);
        log_folder_close(&f);
    }
    cli_end(&cli, &r, code);
    return r;
}

static struct run verify(struct made *m, bool json)
{
    struct cli cli;
    struct run r;
    struct log_folder f;
    cli_begin(&cli, &r, json);
    int code = open_folder(&cli, m, &f);
    if (code == CLI_OK) {
        code = log_verify_folder(&cli, &f, -1);
        log_folder_close(&f);
    }
    cli_end(&cli, &r, code);
    return r;
}

static struct run state_at(struct made *m, const char *group, int64_t at)
{
    struct cli cli;
    struct run r;
    struct log_folder f;
    struct log_filter filter = everything;
    filter.group = str_of(group);
    filter.shard = 1; /* the story has both groups there, wherever their ids would lie */
    cli_begin(&cli, &r, false);
    int code = open_folder(&cli, m, &f);
    if (code == CLI_OK) {
        code = log_state_folder(&cli, &f, &filter, &(struct log_moment){.given = at != INT64_MAX, .index = at});
        log_folder_close(&f);
    }
    cli_end(&cli, &r, code);
    return r;
}

/* ---- dump ---- */

static void shows_each_record_with_its_cause(void **state)
{
    made_story(*state);
    struct run r = dump(*state, everything, false);
    assert_int_equal(r.code, CLI_OK);
    assert_string_equal(r.err, "");
    assert_int_equal(lines_of(r.out), 1 + 1 + 2 + 2 + 1 + 1 + 1 + 1);
    assert_non_null(strstr(r.out, "SHARD     INDEX  TERM   SIZE  TIME"));
    char place[64];
    snprintf(place, sizeof(place), "    1         3     1 %6d  ", made_entry(&((struct made *)*state)->arena, 1, 3, 1).payload.len);
    const char *first = strstr(r.out, place);
    assert_non_null(first);
    const char *rest = "2026-09-21T14:13:20.000Z  join: new member                                               ClassicGroup GroupId=g";
    assert_true(strncmp(first + strlen(place), rest, strlen(rest)) == 0);
    assert_non_null(strstr(r.out, "ClassicGroup GroupId=g : ProtocolType=consumer Generation=1 State=Stable ProtocolName=range Leader=m1"));
    assert_non_null(strstr(r.out, "Protocols=[Name=range Metadata=topics(orders)]"));
    assert_non_null(strstr(r.out, "ClassicAssignment GroupId=g MemberId=m1 : Generation=1 Assignment=orders[0,1]"));
    assert_non_null(strstr(r.out, "OffsetCommit group=g topic=orders partition=1 : offset=17"));
    assert_non_null(strstr(r.out, "OffsetCommit group=g topic=orders partition=1 : tombstone"));
    assert_non_null(strstr(r.out, "ClassicGroup GroupId=h : tombstone"));
    assert_non_null(strstr(r.out, "Topic Name=orders : TopicId=AQIDAAAAAAAAAAAAAAAAAA Partitions=3"));
    assert_non_null(strstr(r.out, " <- JoinGroup v4 app /127.0.0.1 \"first start\"\n"));
    assert_null(strstr(r.out, "offset=99"));
    run_fini(&r);
}

/* The longest rule that there is, and short ones: every record begins below RECORD. */
static void records_stand_in_one_column(void **state)
{
    struct made_change e;
    made_story(*state);
    made_change_init(&e, API_KEY_JOIN_GROUP, "classic join: in place of the last member of the new protocol", "g", 3);
    made_change_add(&e, wire_record_encode(RECORD_CLASSIC_GROUP, &(struct classic_group_key){STR("g")}, 0, NULL,
                                           &((struct made *)*state)->arena));
    made_change_write(*state, &e, MADE_LAST + 1);
    struct run r = dump(*state, everything, false);
    long column = strstr(r.out, "RECORD <-") - r.out;
    assert_int_equal(lines_of(r.out), 11);
    for (const char *line = r.out; *line != '\0'; line = strchr(line, '\n') + 1) {
        assert_true(line[column - 1] == ' ' && line[column - 2] == ' ' && line[column] >= 'A' && line[column] <= 'Z');
    }
    run_fini(&r);
}

static void shows_all_there_is_when_asked(void **state)
{
    struct log_filter filter = everything;
    filter.all = true;
    made_story(*state);
    struct run r = dump(*state, filter, false);
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(count_of(r.out, "(barrier)"), 2);
    assert_int_equal(count_of(r.out, "(configuration of the shard)"), 2);
    assert_int_equal(count_of(r.out, "(term 2, vote for node 2)"), 1);
    assert_int_equal(count_of(r.out, "(erased) OffsetCommit group=g topic=orders partition=1 : offset=99"), 1);
    assert_int_equal(count_of(r.out, "(erased)"), 1);
    run_fini(&r);
}

static void filters_by_group_type_shard_and_index(void **state)
{
    struct log_filter filter = everything;
    made_story(*state);
    filter.group = STR("h");
    struct run r = dump(*state, filter, false);
    assert_int_equal(lines_of(r.out), 3);
    run_fini(&r);

    filter = everything;
    filter.type = STR("offsetcommit");
    r = dump(*state, filter, false);
    assert_int_equal(lines_of(r.out), 4);
    assert_int_equal(count_of(r.out, "OffsetCommit group=g"), 3);
    run_fini(&r);

    filter.from = 5;
    filter.to = 5;
    r = dump(*state, filter, false);
    assert_int_equal(lines_of(r.out), 2);
    assert_non_null(strstr(r.out, "offset=42"));
    run_fini(&r);

    filter = everything;
    filter.shard = 0;
    r = dump(*state, filter, false);
    assert_int_equal(lines_of(r.out), 2);
    assert_non_null(strstr(r.out, "Topic Name=orders"));
    run_fini(&r);
}

static void json_is_one_object_a_line(void **state)
{
    made_story(*state);
    struct run r = dump(*state, everything, true);
    int lines = 0;
    assert_int_equal(r.code, CLI_OK);
    char *rest = r.out;
    for (char *line = strsep(&rest, "\n"); rest != NULL; line = strsep(&rest, "\n")) {
        json_t *object = json_loads(line, 0, NULL);
        assert_non_null(object);
        const char *type = json_string_value(json_object_get(json_object_get(object, "record"), "type"));
        assert_non_null(type);
        assert_true(json_is_string(json_object_get(json_object_get(object, "cause"), "rule")));
        if (strcmp(type, "ClassicMember") == 0) {
            json_t *decoded = json_object_get(json_object_get(json_object_get(object, "record"), "decoded"), "range");
            assert_string_equal(json_string_value(json_array_get(json_object_get(decoded, "topics"), 0)), "orders");
            assert_true(json_is_null(json_object_get(decoded, "userDataBytes")));
        }
        json_decref(object);
        lines++;
    }
    assert_int_equal(lines, 9);
    run_fini(&r);
}

static void entry_that_is_none_is_shown_and_told(void **state)
{
    static const uint8_t garbage[] = {0xff, 1, 2};
    struct made *m = *state;
    made_write(m, (struct store_record){.kind = STORE_TERM, .shard = 1, .term = 1, .vote = 1});
    made_write(m, made_entry(&m->arena, 1, 1, 1));
    made_write(m, (struct store_record){.kind = STORE_ENTRY, .entry_type = 1, .shard = 1, .index = 2, .term = 1, .payload = {garbage, 3}});
    struct run r = dump(m, everything, false);
    assert_int_equal(r.code, CLI_CORRUPT);
    assert_non_null(strstr(r.out, "(unreadable entry of 3 bytes"));
    assert_non_null(strstr(r.err, "cannot read"));
    run_fini(&r);
    r = verify(m, false);
    assert_int_equal(r.code, CLI_CORRUPT);
    run_fini(&r);
}

/* The moment that is asked for lies behind an entry that cannot be applied: that is told once, and is the exit code. */
static void a_moment_behind_a_wrong_entry_is_not_reached(void **state)
{
    static const uint8_t garbage[] = {0xff, 1, 2};
    struct made *m = *state;
    made_write(m, (struct store_record){.kind = STORE_TERM, .shard = 1, .term = 1, .vote = 1});
    for (uint64_t index = 1; index <= 3; index++) {
        made_write(m, made_entry(&m->arena, 1, index, 1));
    }
    made_write(m, (struct store_record){.kind = STORE_ENTRY, .entry_type = 1, .shard = 1, .index = 4, .term = 1, .payload = {garbage, 3}});
    made_write(m, made_entry(&m->arena, 1, 5, 1));
    struct run r = state_at(m, "g", 5);
    assert_int_equal(r.code, CLI_CORRUPT);
    assert_int_equal(count_of(r.err, "shard 1, index 4: "), 1);
    run_fini(&r);
    r = state_at(m, "g", 3);
    assert_int_equal(r.code, CLI_OK);
    assert_string_equal(r.err, "");
    run_fini(&r);
}

/* ---- a real folder ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static void reads_a_real_folder_without_touching_it(void **state)
{
    char dir[] = "/tmp/muster-cli-XXXXXX";
    struct made *m = *state;
    struct stat before;
    struct stat after;
    assert_non_null(mkdtemp(dir));
    made_story(m);
    made_export(m, dir);
    assert_int_equal(chmod(dir, 0555), 0);
    assert_int_equal(stat(dir, &before), 0);
    struct run r = run_cli("log", "dump", "--data", dir, "--group", "g", "--type", "ClassicMember", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(lines_of(r.out), 2);
    run_fini(&r);
    r = run_cli("log", "verify", "--data", dir, NULL);
    assert_int_equal(r.code, CLI_OK);
    run_fini(&r);
    r = run_cli("log", "verify", "--data", dir, "--checksums", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, " batches in 1 segment, 0 snapshots; the state was not made"));
    run_fini(&r);
    r = run_cli("log", "state", "--data", dir, "--at", "2999-01-01", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.err, "--at: that is in the future; what is shown is the end of the log"));
    run_fini(&r);
    r = run_cli("log", "dump", "--data", dir, "--group", "nobody", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_string_equal(r.out, "");
    assert_string_equal(r.err, "muster: the log holds no such record\n"); /* it is whole: nothing of it is in snapshots only */
    run_fini(&r);
    r = run_cli("log", "dump", "--data", dir, "--type", "StateHash", "--all", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    run_fini(&r);
    r = run_cli("log", "dump", "--data", dir, "--from", "1000", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_string_equal(r.err, "muster: nothing is there\n");
    run_fini(&r);
    r = run_cli("log", "dump", "--data", dir, "--from", "5", "--to", "3", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    run_fini(&r);
    r = run_cli("log", "dump", "--data", dir, "--until", "2001-01-01", "--json", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_string_equal(r.out, "");
    run_fini(&r);
    r = run_cli("log", "state", "--data", dir, "--group", "g", "--json", NULL);
    assert_int_equal(r.code, CLI_OK);
    run_fini(&r);
    assert_int_equal(stat(dir, &after), 0);
    assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
    assert_int_equal(before.st_mtim.tv_sec, after.st_mtim.tv_sec);
    assert_int_equal(chmod(dir, 0755), 0);
    (void)nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void a_folder_that_is_none_is_an_error(void **state)
{
    (void)state;
    struct run r = run_cli("log", "dump", "--data", "/nonexistent/folder", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "there is no such folder"));
    run_fini(&r);
    char dir[] = "/tmp/muster-cli-XXXXXX";
    assert_non_null(mkdtemp(dir));
    r = run_cli("log", "verify", "--data", dir, NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "holds no log"));
    run_fini(&r);
    assert_int_equal(rmdir(dir), 0);
}

/* ---- snapshots and replay ---- */

static void verifies_the_state_at_a_snapshot(void **state)
{
    made_story(*state);
    made_snapshot(*state, 6, 0, 0);
    struct run r = verify(*state, false);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "1 snapshot; the state agreed with 1 of them"));
    run_fini(&r);
}

/* Nothing to compare with is not the same as compared and found good. */
static void says_that_there_was_no_hash_to_compare_with(void **state)
{
    made_story(*state);
    struct run r = verify(*state, false);
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "no snapshots: no state hash was there to compare with. Verified are the checksums, and that every"));
    assert_null(strstr(r.out, "agreed"));
    run_fini(&r);
}

/* Entry 9 says what the state behind entry 8 was. */
static void hash_in_the_log(struct made *m, int64_t index, int64_t hash)
{
    struct state_hash_key key = {.shard = 1};
    struct state_hash_value value = {.index = index, .hash = hash};
    struct made_change e;
    made_change_init(&e, -1, "state hash: for the log's readers", NULL, 0);
    e.v.groups.len = 0;
    made_change_add(&e, wire_record_encode(RECORD_STATE_HASH, &key, 0, &value, &m->arena));
    made_change_write(m, &e, MADE_LAST + 1);
}

/* The hash of shard 1's state as verify shows it. */
static int64_t hash_of_the_story(struct made *m)
{
    struct run r = verify(m, true);
    json_t *document = json_loads(r.out, 0, NULL);
    const char *text = json_string_value(json_object_get(json_array_get(json_object_get(document, "shards"), 1), "stateHash"));
    assert_non_null(text);
    int64_t hash = (int64_t)strtoull(text, NULL, 16);
    json_decref(document);
    run_fini(&r);
    return hash;
}

static void verifies_the_hashes_that_leaders_wrote(void **state)
{
    struct made *m = *state;
    made_story(m);
    hash_in_the_log(m, MADE_LAST, hash_of_the_story(m));
    struct run r = verify(m, false);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "0 snapshots; the state agreed with 0 of them, and with 1 hash that leaders wrote into the log"));
    run_fini(&r);
    r = verify(m, true);
    json_t *document = json_loads(r.out, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(document, "hashes")), 1);
    assert_int_equal(json_integer_value(json_object_get(document, "hashesCompared")), 1);
    json_decref(document);
    run_fini(&r);
}

/* In the form in which verify shows it. */
static void a_hash_in_the_log_is_shown_in_hexadecimal(void **state)
{
    struct made *m = *state;
    made_story(m);
    hash_in_the_log(m, MADE_LAST, -2);
    struct log_filter filter = everything;
    filter.type = STR("StateHash");
    struct run r = dump(m, filter, false);
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "StateHash Shard=1 : Index=8 Hash=fffffffffffffffe"));
    run_fini(&r);
    filter.format = LOG_FORMAT_JSON;
    r = dump(m, filter, true);
    assert_non_null(strstr(r.out, "\"Hash\":\"fffffffffffffffe\""));
    run_fini(&r);
}

static void tells_between_which_entries_the_state_went_another_way(void **state)
{
    struct made *m = *state;
    made_story(m);
    made_snapshot(m, 5, 0, 0);
    hash_in_the_log(m, MADE_LAST, 12345);
    struct run r = verify(m, false);
    assert_int_equal(r.code, CLI_CORRUPT);
    assert_int_equal(count_of(r.err, "shard 1, index 8: the state behind this entry is another than its leader had"), 1);
    assert_non_null(strstr(r.err, "0000000000003039, into entry 9: one of the entries 6 to 8 does not make what it made then"));
    run_fini(&r);
}

/* Who takes over writes the newest hash that it knows: meanwhile a snapshot may have said that the state is right. */
static void a_hash_that_is_wrong_alone_is_told_so(void **state)
{
    struct made *m = *state;
    made_story(m);
    made_snapshot(m, 7, 0, 0);
    hash_in_the_log(m, 5, 12345);
    struct run r = verify(m, false);
    assert_int_equal(r.code, CLI_CORRUPT);
    assert_non_null(strstr(r.err, "shard 1, index 5: the state behind this entry is another than its leader had"));
    assert_non_null(strstr(r.err, "into entry 9, but the state behind entry 7 is right: that leader's was not\n"));
    run_fini(&r);
}

/* A hash of a state that the log does not make any more. */
static void a_hash_of_what_is_gone_is_not_compared(void **state)
{
    struct made *m = *state;
    made_snapshot(m, MADE_LAST, 0, MADE_LAST);
    hash_in_the_log(m, 3, 12345);
    struct run r = verify(m, true);
    assert_int_equal(r.code, CLI_OK);
    json_t *document = json_loads(r.out, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(document, "hashes")), 1);
    assert_int_equal(json_integer_value(json_object_get(document, "hashesCompared")), 0);
    json_decref(document);
    run_fini(&r);
}

/* Three entries, then a snapshot from another node in their place, and what came behind it. */
static void replaced_by_a_snapshot(struct made *m)
{
    made_write(m, (struct store_record){.kind = STORE_TERM, .shard = 1, .term = 1, .vote = 1});
    for (uint64_t index = 1; index <= 3; index++) {
        made_write(m, made_entry(&m->arena, 1, index, 1));
    }
    made_snapshot(m, 5, 0, 5);
    for (uint64_t index = 6; index <= MADE_LAST; index++) {
        made_write(m, made_entry(&m->arena, 1, index, 2));
    }
}

/* What the log said before a snapshot from another node is void: it may never have been, and hashes that are told later are not of it. */
static void a_hash_of_what_a_snapshot_from_another_node_replaced_is_not_compared(void **state)
{
    struct made *m = *state;
    replaced_by_a_snapshot(m);
    hash_in_the_log(m, 3, 12345);
    struct run r = verify(m, true);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, CLI_OK);
    json_t *document = json_loads(r.out, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(document, "hashes")), 1);
    assert_int_equal(json_integer_value(json_object_get(document, "hashesCompared")), 0);
    json_decref(document);
    run_fini(&r);
}

static void says_of_what_time_a_state_is(void **state)
{
    made_story(*state);
    struct run r = state_at(*state, NULL, 2);
    assert_non_null(strstr(r.out, "As of entry 2 of shard 1, shard clock 0 ms, before its first record\n"));
    run_fini(&r);
    r = state_at(*state, NULL, 3);
    assert_non_null(strstr(r.out, "As of entry 3 of shard 1, shard clock 5000 ms, 2026-09-21T14:13:20.000Z\n"));
    run_fini(&r);
    made_snapshot(*state, 6, 0, 0);
    r = state_at(*state, NULL, 6);
    assert_non_null(strstr(r.out, "As of entry 6 of shard 1, shard clock 5000 ms, a snapshot\n"));
    run_fini(&r);
}

static void finds_a_state_that_is_not_the_snapshots(void **state)
{
    made_story(*state);
    made_snapshot(*state, 6, 4711, 0);
    struct run r = verify(*state, false);
    assert_int_equal(r.code, CLI_CORRUPT);
    assert_non_null(strstr(r.err, "shard 1, index 6: the state does not have the hash"));
    assert_non_null(strstr(r.err, "shard 1, index 6: the records are the same"));
    run_fini(&r);
}

/* What differs is told record by record, with the entry that wrote it. */
static void tells_the_records_that_differ(void **state)
{
    made_story(*state);
    made_snapshot_as(*state, 6, 4);
    struct run r = verify(*state, false);
    assert_int_equal(r.code, CLI_CORRUPT);
    assert_non_null(strstr(r.err, "shard 1, index 6: the log makes, and the snapshot has another value of: OffsetCommit group=g "
                                  "topic=orders partition=1 : offset=42"));
    assert_non_null(strstr(r.err, "the log makes, and the snapshot has not: ClassicGroup GroupId=h"));
    assert_int_equal(count_of(r.err, "was last written by entry 5"), 1);
    assert_int_equal(count_of(r.err, "was last written by entry 6"), 1);
    run_fini(&r);
}

/* Nine megabytes of commits to a group of shard 0: more than waits to be applied at once. */
static void put_much(struct made *m)
{
    enum { ENTRIES = 105, RECORDS = 3 };
    static char metadata[30000];
    memset(metadata, 'm', sizeof(metadata));
    for (uint64_t i = 0; i < ENTRIES; i++) {
        struct made_change e;
        made_change_init(&e, API_KEY_OFFSET_COMMIT, "commit: taken", "k", (int64_t)i);
        for (int32_t k = 0; k < RECORDS; k++) {
            struct offset_commit_key key = {.group = STR("k"), .topic = STR("orders"), .partition = k};
            struct offset_commit_value value;
            wire_init(&wire_offset_commit_value, &value);
            value.offset = (int64_t)i;
            value.metadata = (struct str){metadata, (int32_t)sizeof(metadata)};
            made_change_add(&e, wire_record_encode(RECORD_OFFSET_COMMIT, &key, 4, &value, &m->arena));
        }
        made_write(m, (struct store_record){.kind = STORE_ENTRY,
                                            .entry_type = LOG_COMMAND,
                                            .shard = 0,
                                            .index = 4 + i,
                                            .term = 1,
                                            .payload = wire_encode(&wire_log_entry, 0, &e.v, &m->arena)});
        arena_clear(&m->arena);
    }
}

static void verified_hash(struct made *m, char ret[17])
{
    struct run r = verify(m, true);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, CLI_OK);
    json_t *document = json_loads(r.out, 0, NULL);
    json_t *shard = json_array_get(json_object_get(document, "shards"), 1);
    assert_int_equal(json_integer_value(json_object_get(shard, "appliedIndex")), MADE_LAST);
    snprintf(ret, 17, "%s", json_string_value(json_object_get(shard, "stateHash")));
    json_decref(document);
    run_fini(&r);
}

/* An entry is erased long after it was read: it has been applied by then, and the state is made again without it. */
static void takes_back_what_is_erased_late(void **state)
{
    struct made *m = *state, story;
    char hash[17], want[17];
    made_init(&story);
    made_story(&story);
    made_close(&story);
    verified_hash(&story, want);
    made_fini(&story);
    for (uint32_t shard = 0; shard < 2; shard++) {
        made_write(m, (struct store_record){.kind = STORE_TERM, .shard = shard, .term = 1, .vote = 1});
        for (uint64_t index = 1; index <= (shard == 0 ? 3 : 5); index++) {
            made_write(m, made_entry(&m->arena, shard, index, 1));
        }
    }
    put_much(m);
    made_write(m, (struct store_record){.kind = STORE_TERM, .shard = 1, .term = 2, .vote = 2});
    for (uint64_t index = 5; index <= MADE_LAST; index++) {
        made_write(m, made_entry(&m->arena, 1, index, 2));
    }
    made_snapshot(m, 6, 0, 0);
    verified_hash(m, hash);
    assert_string_equal(hash, want);
}

/* A snapshot and no entries. */
static void reads_a_snapshot_without_entries(void **state)
{
    struct log_filter filter = everything;
    made_snapshot(*state, 5, 0, 5);
    struct run r = dump(*state, filter, false);
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(lines_of(r.out), 2);
    assert_non_null(strstr(r.out, "    1         5     2"));
    assert_non_null(strstr(r.out, "(snapshot of everything up to here"));
    run_fini(&r);
    r = verify(*state, true);
    assert_int_equal(r.code, CLI_OK);
    json_t *document = json_loads(r.out, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(document, "snapshotsCompared")), 1);
    json_decref(document);
    run_fini(&r);
    r = state_at(*state, "g", INT64_MAX);
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "offset=42"));
    run_fini(&r);
    r = state_at(*state, "g", 4);
    assert_int_equal(r.code, CLI_FAILED);
    run_fini(&r);
}

static void replays_entries_behind_a_snapshot(void **state)
{
    struct made *m = *state;
    made_snapshot(m, 5, 0, 5);
    for (uint64_t index = 6; index <= MADE_LAST; index++) {
        made_write(m, made_entry(&m->arena, 1, index, 2));
    }
    struct run r = verify(m, false);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "the state agreed with 1 of them"));
    run_fini(&r);
    r = state_at(m, "g", 7);
    assert_non_null(strstr(r.out, "offset=42"));
    run_fini(&r);
    r = state_at(m, "g", 8);
    assert_null(strstr(r.out, "offset=42"));
    assert_non_null(strstr(r.out, "ClassicMember GroupId=g MemberId=m1"));
    run_fini(&r);
}

/* A node that was behind got a snapshot from another: what its log had of the shard is void, the history goes on behind the snapshot. */
static void goes_on_behind_a_snapshot_from_another_node(void **state)
{
    struct made *m = *state;
    replaced_by_a_snapshot(m);
    struct run r = dump(m, everything, false);
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "join: new member"));
    assert_non_null(strstr(r.out, "delete: empty group"));
    run_fini(&r);
    r = verify(m, false);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "the state agreed with 1 of them"));
    run_fini(&r);
    r = state_at(m, "g", 3);
    assert_int_equal(r.code, CLI_OK);
    assert_null(strstr(r.out, "offset="));
    run_fini(&r);
    r = state_at(m, "g", 6);
    assert_non_null(strstr(r.out, "offset=42"));
    run_fini(&r);
}

static void shows_the_state_as_of_an_index(void **state)
{
    made_story(*state);
    struct run r = state_at(*state, "g", 4);
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "offset=17"));
    run_fini(&r);
    r = state_at(*state, "g", 5);
    assert_non_null(strstr(r.out, "offset=42"));
    assert_null(strstr(r.out, "offset=99"));
    run_fini(&r);
    r = state_at(*state, "h", 6);
    assert_int_equal(r.code, CLI_OK);
    run_fini(&r);
    r = state_at(*state, "h", 7);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "there is nothing of group h"));
    run_fini(&r);
}

static void causes_have_their_names(void **state)
{
    (void)state;
    struct arena arena;
    struct group_rebalance_cause_key key = {STR("g"), 1, 0};
    struct group_rebalance_cause_value v;
    struct group_rebalance_key whole_key = {.group_id = STR("g"), .rebalance = 1};
    struct group_rebalance_value whole;
    struct group_rebalance_value_count count = {.cause = 16, .count = 2};
    arena_init(&arena, 0);
    wire_init(&wire_group_rebalance_cause_value, &v);
    wire_init(&wire_group_rebalance_value, &whole);
    v.cause = 16;
    whole.group_type = 1;
    whole.causes.v = &count;
    whole.causes.len = 1;
    struct str cause = log_record_text(wire_record_encode(RECORD_GROUP_REBALANCE_CAUSE, &key, 0, &v, &arena), -1, &arena);
    struct str rebalance = log_record_text(wire_record_encode(RECORD_GROUP_REBALANCE, &whole_key, 0, &whole, &arena), -1, &arena);
    assert_non_null(strstr(arena_printf(&arena, "%.*s", STR_ARG(cause)).ptr, " Cause=admin "));
    const char *text = arena_printf(&arena, "%.*s", STR_ARG(rebalance)).ptr;
    assert_non_null(strstr(text, "GroupType=consumer "));
    assert_non_null(strstr(text, "Cause=admin Count=2"));
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shows_each_record_with_its_cause, setup, teardown),
        cmocka_unit_test_setup_teardown(records_stand_in_one_column, setup, teardown),
        cmocka_unit_test_setup_teardown(shows_all_there_is_when_asked, setup, teardown),
        cmocka_unit_test_setup_teardown(filters_by_group_type_shard_and_index, setup, teardown),
        cmocka_unit_test_setup_teardown(json_is_one_object_a_line, setup, teardown),
        cmocka_unit_test_setup_teardown(entry_that_is_none_is_shown_and_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_moment_behind_a_wrong_entry_is_not_reached, setup, teardown),
        cmocka_unit_test_setup_teardown(reads_a_real_folder_without_touching_it, setup, teardown),
        cmocka_unit_test_setup_teardown(a_folder_that_is_none_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(verifies_the_state_at_a_snapshot, setup, teardown),
        cmocka_unit_test_setup_teardown(says_that_there_was_no_hash_to_compare_with, setup, teardown),
        cmocka_unit_test_setup_teardown(verifies_the_hashes_that_leaders_wrote, setup, teardown),
        cmocka_unit_test_setup_teardown(a_hash_in_the_log_is_shown_in_hexadecimal, setup, teardown),
        cmocka_unit_test_setup_teardown(tells_between_which_entries_the_state_went_another_way, setup, teardown),
        cmocka_unit_test_setup_teardown(a_hash_that_is_wrong_alone_is_told_so, setup, teardown),
        cmocka_unit_test_setup_teardown(a_hash_of_what_is_gone_is_not_compared, setup, teardown),
        cmocka_unit_test_setup_teardown(a_hash_of_what_a_snapshot_from_another_node_replaced_is_not_compared, setup, teardown),
        cmocka_unit_test_setup_teardown(says_of_what_time_a_state_is, setup, teardown),
        cmocka_unit_test_setup_teardown(finds_a_state_that_is_not_the_snapshots, setup, teardown),
        cmocka_unit_test_setup_teardown(tells_the_records_that_differ, setup, teardown),
        cmocka_unit_test_setup_teardown(takes_back_what_is_erased_late, setup, teardown),
        cmocka_unit_test_setup_teardown(reads_a_snapshot_without_entries, setup, teardown),
        cmocka_unit_test_setup_teardown(replays_entries_behind_a_snapshot, setup, teardown),
        cmocka_unit_test_setup_teardown(goes_on_behind_a_snapshot_from_another_node, setup, teardown),
        cmocka_unit_test_setup_teardown(shows_the_state_as_of_an_index, setup, teardown),
        cmocka_unit_test(causes_have_their_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
