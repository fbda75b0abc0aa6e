/* log_verbs_test.c: filters, patterns, Kafka's form, counting and comparing; and moments as people write them. */
#include "run.h"

#include "made.h"

#include <jansson.h>

struct fixture {
    struct made made;
    char dir[32]; /* the story, in a real folder */
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    assert_non_null(f);
    made_init(&f->made);
    made_story(&f->made);
    made_close(&f->made);
    made_folder(&f->made, f->dir);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    made_folder_remove(f->dir);
    made_fini(&f->made);
    free(f);
    return 0;
}

/* ---- filters ---- */

static void a_topic_is_found_by_name_id_and_in_subscriptions(void **state)
{
    struct fixture *f = *state;
    struct run r = run_cli("log", "dump", "--data", f->dir, "--topic", "orders", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(count_of(r.out, "  Topic Name=orders"), 1);
    assert_int_equal(count_of(r.out, "OffsetCommit group=g topic=orders"), 3);
    assert_int_equal(count_of(r.out, "ClassicMember "), 1);
    assert_int_equal(count_of(r.out, "ClassicAssignment "), 1);
    assert_null(strstr(r.out, "ClassicGroup"));
    run_fini(&r);
    r = run_cli("log", "dump", "--data", f->dir, "--topic", "payments", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_string_equal(r.out, "");
    run_fini(&r);
}

static void a_member_is_found(void **state)
{
    struct fixture *f = *state;
    struct run r = run_cli("log", "dump", "--data", f->dir, "--member", "m1", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(count_of(r.out, "MemberId=m1"), 2);
    assert_int_equal(count_of(r.out, "Leader=m1"), 1);
    assert_int_equal(lines_of(r.out), 4);
    run_fini(&r);
    r = run_cli("log", "dump", "--data", f->dir, "--member", "m1", "--topic", "orders", NULL);
    assert_int_equal(lines_of(r.out), 3);
    run_fini(&r);
}

static void times_are_bounds(void **state)
{
    struct fixture *f = *state;
    struct run r = run_cli("log", "dump", "--data", f->dir, "--since", "2026-09-21T14:13:20.001Z", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_string_equal(r.out, "");
    assert_string_equal(r.err, "muster: nothing is there\n");
    run_fini(&r);
    r = run_cli("log", "dump", "--data", f->dir, "--since", "2026-09-21T14:13:20Z", "--until", "2026-09-21T16:13:20+02:00", NULL);
    assert_int_equal(lines_of(r.out), 10);
    run_fini(&r);
    r = run_cli("log", "dump", "--data", f->dir, "--until", "2026-09-21 14:13:19", NULL);
    assert_string_equal(r.out, "");
    run_fini(&r);
    r = run_cli("log", "dump", "--data", f->dir, "--since", "yesterday", NULL);
    assert_int_equal(r.code, CLI_USAGE);
    assert_non_null(strstr(r.err, "--since takes a time"));
    run_fini(&r);
}

static void a_pattern_is_looked_for_in_the_line(void **state)
{
    struct fixture *f = *state;
    struct run r = run_cli("log", "grep", "offset=(17|42)", "--data", f->dir, NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(lines_of(r.out), 3);
    run_fini(&r);
    r = run_cli("log", "grep", "FIRST start\"$", "--ignore-case", "--data", f->dir, "--json", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(lines_of(r.out), 2);
    run_fini(&r);
    r = run_cli("log", "grep", "FIRST start", "--data", f->dir, NULL);
    assert_int_equal(r.code, CLI_FAILED);
    run_fini(&r);
    r = run_cli("log", "grep", "(", "--data", f->dir, NULL);
    assert_int_equal(r.code, CLI_USAGE);
    assert_non_null(strstr(r.err, "'(' is no pattern"));
    run_fini(&r);
}

static void an_entry_tells_its_size_and_clocks(void **state)
{
    struct fixture *f = *state;
    struct run r = run_cli("log", "dump", "--data", f->dir, "--shard", "1", "--from", "5", "--to", "5", "--json", NULL);
    json_t *entry = json_loads(r.out, 0, NULL);
    assert_non_null(entry);
    assert_int_equal(json_integer_value(json_object_get(entry, "bytes")), made_entry(&f->made.arena, 1, 5, 2).payload.len);
    assert_true(json_is_integer(json_object_get(entry, "shardClockMs")));
    assert_string_equal(json_string_value(json_object_get(entry, "time")), "2026-09-21T14:13:20.000Z");
    json_decref(entry);
    run_fini(&r);
}

/* ---- Kafka's form ---- */

/* The lines are those of kafka-dump-log --offsets-decoder of Kafka 4.4.0, word for word. */
static void kafkas_form(void **state)
{
    struct fixture *f = *state;
    struct run r = run_cli("log", "dump", "--data", f->dir, "--group", "g", "--type", "OffsetCommit", "--format", "kafka", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "Dumping shard-1\nLog starting offset: 4\nbaseOffset: 4 lastOffset: 4 count: 2 "));
    assert_non_null(strstr(
        r.out,
        " isTransactional: false isControl: false deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: 1790000000000 size: "));
    assert_non_null(strstr(r.out, "| offset: 5 CreateTime: 1790000000000 keySize: "));
    assert_non_null(
        strstr(r.out, " sequence: 0 headerKeys: [] key: {\"type\":\"1\",\"data\":{\"group\":\"g\",\"topic\":\"orders\",\"partition\":1}} "
                      "payload: {\"version\":\"4\",\"data\":{\"offset\":42,\"leaderEpoch\":-1,\"metadata\":\"here\","
                      "\"commitTimestamp\":1790000000000}}\n"));
    assert_non_null(strstr(r.out, "\"partition\":1}} payload: <DELETE>\n"));
    assert_null(strstr(r.out, "CommitClockMs"));
    run_fini(&r);
    r = run_cli("log", "dump", "--data", f->dir, "--format", "kafka", "--type", "ClassicGroup", NULL);
    assert_non_null(strstr(
        r.out,
        "key: {\"type\":\"16384\",\"data\":{\"groupId\":\"g\"}} payload: {\"version\":\"0\",\"data\":{\"protocolType\":\"consumer\""));
    run_fini(&r);
    r = run_cli("log", "dump", "--data", f->dir, "--format", "xml", NULL);
    assert_int_equal(r.code, CLI_USAGE);
    run_fini(&r);
    r = run_cli("log", "dump", "--data", f->dir, "--format", "kafka", "--json", NULL);
    assert_int_equal(r.code, CLI_USAGE);
    run_fini(&r);
}

/* ---- counting ---- */

static void counts_by_shard_type_group_and_client(void **state)
{
    struct fixture *f = *state;
    struct run r = run_cli("log", "stat", "--data", f->dir, NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "1 segment, "));
    assert_non_null(strstr(r.out, "\nOffsetCommit "));
    run_fini(&r);
    r = run_cli("log", "stat", "--data", f->dir, "--json", NULL);
    json_t *document = json_loads(r.out, 0, NULL);
    json_t *shard = json_array_get(json_object_get(document, "shards"), 1);
    assert_int_equal(json_integer_value(json_object_get(shard, "entries")), MADE_LAST);
    assert_int_equal(json_integer_value(json_object_get(shard, "erased")), 1);
    assert_int_equal(json_integer_value(json_object_get(shard, "lastIndex")), MADE_LAST);
    assert_int_equal(json_integer_value(json_object_get(shard, "firstTerm")), 1);
    assert_int_equal(json_integer_value(json_object_get(shard, "lastTerm")), 2);
    assert_int_equal(json_integer_value(json_object_get(shard, "records")), 8);
    assert_int_equal(json_array_size(json_object_get(document, "groups")), 2);
    assert_string_equal(json_string_value(json_object_get(json_array_get(json_object_get(document, "groups"), 0), "name")), "g");
    json_decref(document);
    run_fini(&r);
    r = run_cli("log", "stat", "--data", f->dir, "--group", "h", "--json", NULL);
    document = json_loads(r.out, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(document, "groups")), 1);
    json_decref(document);
    run_fini(&r);
}

/* ---- comparing ---- */

static void equal_logs_do_not_differ(void **state)
{
    struct fixture *f = *state;
    struct run r = run_cli("log", "diff", "--data", f->dir, "--with", f->dir, "--json", NULL);
    assert_int_equal(r.code, CLI_OK);
    json_t *document = json_loads(r.out, 0, NULL);
    json_t *shard = json_array_get(json_object_get(document, "shards"), 1);
    assert_int_equal(json_integer_value(json_object_get(shard, "same")), MADE_LAST);
    assert_int_equal(json_integer_value(json_object_get(shard, "different")), 0);
    json_decref(document);
    run_fini(&r);
}

/* A log that ends where the other goes on, with an entry in between that another leader wrote. */
static void the_first_difference_is_shown(void **state)
{
    struct fixture *f = *state;
    struct made other;
    char dir[32];
    made_init(&other);
    made_write(&other, (struct store_record){.kind = STORE_TERM, .shard = 1, .term = 1, .vote = 1});
    for (uint64_t index = 1; index <= 5; index++) {
        made_write(&other, made_entry(&other.arena, 1, index, 1)); /* its entry 5 commits 99, that of the story 42 */
    }
    made_close(&other);
    made_folder(&other, dir);
    struct run r = run_cli("log", "diff", "--data", f->dir, "--with", dir, NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "1 entry that both logs have is not the same"));
    assert_non_null(strstr(r.out, "shard 1, entry 5 of "));
    assert_int_equal(count_of(r.out, "offset=42"), 1);
    assert_int_equal(count_of(r.out, "offset=99"), 1);
    run_fini(&r);
    r = run_cli("log", "diff", "--data", f->dir, "--with", dir, "--shard", "0", NULL);
    assert_int_equal(r.code, CLI_OK);
    run_fini(&r);
    r = run_cli("log", "diff", "--data", f->dir, "--with", dir, "--to", "4", NULL);
    assert_int_equal(r.code, CLI_OK);
    run_fini(&r);
    r = run_cli("log", "diff", "--data", f->dir, "--with", dir, "--from", "5", "--json", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    json_t *document = json_loads(r.out, 0, NULL);
    json_t *shard = json_array_get(json_object_get(document, "shards"), 1);
    assert_int_equal(json_integer_value(json_object_get(shard, "same")), 0);
    assert_int_equal(json_integer_value(json_object_get(shard, "firstDifference")), 5);
    json_decref(document);
    run_fini(&r);
    r = run_cli("log", "diff", "--data", f->dir, "--with", dir, "--since", "2026-09-21T14:13:21Z", NULL);
    assert_int_equal(r.code, CLI_OK);
    run_fini(&r);
    r = run_cli("log", "diff", "--data", f->dir, "--with", dir, "--with-node", "1", NULL);
    assert_int_equal(r.code, CLI_USAGE);
    run_fini(&r);
    r = run_cli("log", "diff", "--data", f->dir, NULL);
    assert_int_equal(r.code, CLI_USAGE);
    run_fini(&r);
    made_folder_remove(dir);
    made_fini(&other);
}

/* States are compared behind every entry, and the entry that makes the difference is shown. */
static void the_first_entry_that_makes_another_state(void **state)
{
    struct fixture *f = *state;
    struct made other;
    char dir[32];
    struct run r = run_cli("log", "verify", "--data", f->dir, "--with", f->dir, "--json", NULL);
    assert_int_equal(r.code, CLI_OK);
    json_t *document = json_loads(r.out, 0, NULL);
    json_t *shard = json_array_get(json_object_get(document, "states"), 1);
    assert_int_equal(json_integer_value(json_object_get(shard, "compared")), MADE_LAST);
    assert_true(json_is_null(json_object_get(shard, "firstDifference")));
    json_decref(document);
    run_fini(&r);
    made_init(&other);
    made_write(&other, (struct store_record){.kind = STORE_TERM, .shard = 1, .term = 1, .vote = 1});
    for (uint64_t index = 1; index <= 5; index++) {
        made_write(&other, made_entry(&other.arena, 1, index, 1)); /* its entry 5 commits 99, that of the story 42 */
    }
    made_close(&other);
    made_folder(&other, dir);
    r = run_cli("log", "verify", "--data", f->dir, "--with", dir, NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "shard 1: the states are the same up to index 4 and differ behind entry 5"));
    assert_int_equal(count_of(r.out, "offset=42"), 1);
    assert_int_equal(count_of(r.out, "offset=99"), 1);
    run_fini(&r);
    r = run_cli("log", "verify", "--data", f->dir, "--with", dir, "--checksums", NULL);
    assert_int_equal(r.code, CLI_USAGE);
    run_fini(&r);
    made_folder_remove(dir);
    made_fini(&other);
}

/* What is wrong in another shard is not asked for. */
static void one_shard_is_verified(void **state)
{
    struct made other;
    char dir[32];
    (void)state;
    made_init(&other);
    made_story(&other);
    made_snapshot(&other, 6, 4711, 0);
    made_close(&other);
    made_folder(&other, dir);
    struct run r = run_cli("log", "verify", "--data", dir, "--shard", "1", NULL);
    assert_int_equal(r.code, CLI_CORRUPT);
    run_fini(&r);
    r = run_cli("log", "verify", "--data", dir, "--shard", "0", "--json", NULL);
    assert_int_equal(r.code, CLI_OK);
    json_t *document = json_loads(r.out, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(document, "shards")), 1);
    assert_int_equal(json_integer_value(json_object_get(document, "snapshots")), 0);
    json_decref(document);
    run_fini(&r);
    r = run_cli("log", "verify", "--data", dir, "--shard", "2", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "there is no shard 2: the log is of 2"));
    run_fini(&r);
    r = run_cli("log", "verify", "--data", dir, "--shard", "0", "--checksums", NULL);
    assert_int_equal(r.code, CLI_USAGE);
    run_fini(&r);
    made_folder_remove(dir);
    made_fini(&other);
}

/* Following ends where it is told to. */
static void follow_ends(void **state)
{
    struct fixture *f = *state;
    struct run r = run_cli("log", "follow", "--data", f->dir, "--shard", "1", "--from", "3", "--to", "4", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(lines_of(r.out), 5);
    run_fini(&r);
    r = run_cli("log", "follow", "--data", f->dir, "--from", "1", "--until", "2026-09-22", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(lines_of(r.out), 11);
    assert_string_equal(r.err, "muster: --until: 2026-09-22T00:00:00.000Z has passed: what was written before is shown, and nothing is "
                               "waited for\n");
    run_fini(&r);
    r = run_cli("log", "follow", "--data", f->dir, "--until", "10m", NULL);
    assert_int_equal(r.code, CLI_USAGE);
    assert_non_null(
        strstr(r.err, " has passed: there is nothing to follow ('muster log dump --until TIME' shows what was written before)\n"));
    run_fini(&r);
    r = run_cli("log", "follow", "--until", "10m", NULL);
    assert_int_equal(r.code, CLI_USAGE);
    run_fini(&r);
    r = run_cli("log", "follow", "--data", f->dir, "--to", "4", NULL);
    assert_int_equal(r.code, CLI_USAGE);
    run_fini(&r);
}

/* A log that begins with a snapshot of another state: nothing in it is wrong by itself. */
static void a_wrong_beginning_is_explained(void **state)
{
    struct fixture *f = *state;
    struct made other;
    char dir[32];
    made_init(&other);
    made_snapshot_as(&other, 6, 4);
    made_close(&other);
    made_folder(&other, dir);
    struct run r = run_cli("log", "verify", "--data", dir, NULL);
    assert_int_equal(r.code, CLI_OK);
    run_fini(&r);
    r = run_cli("log", "verify", "--data", f->dir, "--with", dir, NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "shard 1: the states differ at index 6, the first that both logs make"));
    assert_non_null(strstr(r.err, "the log makes, and the snapshot has not: ClassicGroup GroupId=h"));
    assert_non_null(strstr(r.err, "was last written by entry 6"));
    run_fini(&r);
    made_folder_remove(dir);
    made_fini(&other);
}

/* A node had written entries that no majority got, 5 to `last`, when a snapshot of entry 6 came from another node. */
static void make_replaced(struct made *m, uint64_t last, bool wrong_end, char dir[32])
{
    made_init(m);
    for (uint32_t shard = 0; shard < 2; shard++) {
        made_write(m, (struct store_record){.kind = STORE_TERM, .shard = shard, .term = 1, .vote = 1});
        for (uint64_t index = 1; index <= (shard == 0 ? 3 : last); index++) {
            made_write(m, made_entry(&m->arena, shard, index, 1));
        }
    }
    made_write(m, (struct store_record){.kind = STORE_TERM, .shard = 1, .term = 2, .vote = 2});
    made_snapshot(m, 6, 0, 6);
    for (uint64_t index = 7; index <= MADE_LAST; index++) {
        made_write(m, made_entry(&m->arena, 1, index, 2));
    }
    if (wrong_end) {
        made_snapshot(m, MADE_LAST, 4711, 0);
    }
    made_close(m);
    made_folder(m, dir);
}

/* What never was committed makes no difference. */
static void what_a_snapshot_from_another_node_replaced_is_no_difference(void **state)
{
    struct fixture *f = *state;
    for (uint64_t last = 5; last <= MADE_LAST; last++) {
        struct made other;
        char dir[32];
        make_replaced(&other, last, false, dir);
        assert_run(run_cli("log", "verify", "--data", dir, NULL), CLI_OK, "the state agreed with 1 of them", "");
        struct run r = run_cli("log", "verify", "--data", f->dir, "--with", dir, "--json", NULL);
        assert_string_equal(r.err, "");
        assert_int_equal(r.code, CLI_OK);
        json_t *document = json_loads(r.out, 0, NULL);
        json_t *shard = json_array_get(json_object_get(document, "states"), 1);
        assert_int_equal(json_integer_value(json_object_get(shard, "compared")), 7);
        assert_int_equal(json_integer_value(json_object_get(shard, "lastIndex")), MADE_LAST);
        json_decref(document);
        run_fini(&r);
        assert_run(run_cli("log", "verify", "--data", dir, "--with", f->dir, NULL), CLI_OK, NULL, "");
        made_folder_remove(dir);
        made_fini(&other);
        make_replaced(&other, last, true, dir); /* is verified twice */
        r = run_cli("log", "verify", "--data", dir, NULL);
        assert_null(strstr(r.err, "index 6"));
        assert_run(r, CLI_CORRUPT, NULL, "shard 1, index 8: the state does not have the hash that the snapshot carries");
        made_folder_remove(dir);
        made_fini(&other);
    }
}

static void what_a_column_of_a_log_means_stands_on_the_page(void **state)
{
    struct fixture *f = *state;
    assert_columns_told(run_cli("log", "dump", "--data", f->dir, NULL), "log", "dump");
    assert_columns_told(run_cli("log", "stat", "--data", f->dir, NULL), "log", "stat");
    assert_columns_told(run_cli("log", "diff", "--data", f->dir, "--with", f->dir, NULL), "log", "diff");
    assert_columns_told(run_cli("log", "verify", "--data", f->dir, "--with", f->dir, NULL), "log", "verify");
}

/* ---- moments ---- */

static void times_as_people_write_them(void **state)
{
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {
        {"1970-01-01T00:00:01Z", 1000},
        {"1970-01-01 00:00:01.5", 1500},
        {"1970-01-01T00:01", 60000},
        {"1970-01-02", 86400000},
        {"1970-01-01T01:00:00.007+01:00", 7},
        {"1969-12-31T23:00:00-01:00", 0},
        {"now", 10000000},
        {"1s", 9999000},
        {"2m ago", 9880000},
        {"1h", 6400000},
        {"250ms", 9999750},
    };
    static const char *const bad[] = {
        "", "5", "5 parsecs", "1970-13-01", "1970-01-01T00:00:00+1", "1970-01-01T00:00:00.", "s", "99999999999999999999s", "1s later"};
    int64_t ms;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_true(log_time_parse(good[i].text, 10000000, &ms));
        assert_int_equal(ms, good[i].ms);
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(log_time_parse(bad[i], 10000000, &ms));
    }
}

/* The story, and behind it four commits of a second each by the shard's clock; before the third the wall clock was set back by 2.5 s. */
static void make_jump(struct made *m, char dir[32])
{
    static const int32_t after_ms[] = {1000, 3000, 500, 4000};
    struct made_change e;
    made_init(m);
    made_story(m);
    for (int i = 0; i < 4; i++) {
        struct offset_commit_key key = {.group = STR("g"), .topic = STR("orders"), .partition = 1};
        struct offset_commit_value value;
        wire_init(&wire_offset_commit_value, &value);
        value.offset = 100 + i;
        value.metadata = STR("");
        made_change_init(&e, API_KEY_OFFSET_COMMIT, "commit: of a member", "g", 4 + i);
        e.v.wall_ms += after_ms[i];
        e.v.shard_clock_ms = 6000 + 1000 * i;
        made_change_add(&e, wire_record_encode(RECORD_OFFSET_COMMIT, &key, 4, &value, &m->arena));
        made_change_write(m, &e, (uint64_t)(MADE_LAST + 1 + i));
    }
    made_close(m);
    made_folder(m, dir);
}

/* What is written meanwhile is not of it: where nothing was later the end is where the log ended when it was looked for. */
static void a_moment_behind_the_log_is_its_end_now(void **state)
{
    struct fixture *f = *state;
    struct cli cli;
    struct run r;
    struct log_folder folder;
    struct log_found *found;
    size_t count;
    const struct log_moment at = {.given = true, .by_time = true, .wall_ms = INT64_MAX};
    cli_begin(&cli, &r, false);
    assert_int_equal(log_folder_open(&cli, f->dir, &folder), CLI_OK);
    assert_int_equal(log_find_moment(&cli, &folder, &at, &found, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(found[0].at, 3);
    assert_int_equal(found[1].at, MADE_LAST);
    log_folder_close(&folder);
    cli_end(&cli, &r, CLI_OK);
    run_fini(&r);
}

static void assert_as_of(const char *dir, const char *at, uint64_t index, const char *said)
{
    char line[64];
    struct run r = run_cli("log", "state", "--data", dir, "--shard", "1", "--at", at, NULL);
    snprintf(line, sizeof(line), "As of entry %d of shard 1, ", (int)index);
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, line));
    if (said == NULL) {
        assert_string_equal(r.err, "");
    } else {
        assert_non_null(strstr(r.err, said));
    }
    run_fini(&r);
}

/* Where a wall clock was set back a time is there twice; by the shard's clock each moment is once. */
static void a_clock_that_was_set_back(void **state)
{
    struct made m;
    char dir[32];
    (void)state;
    make_jump(&m, dir);
    const char *twice = "shard 1: wall clocks went back, and 2026-09-21T14:13:22.000Z is more than once in the log: taken is the first "
                        "time, behind entry 9 (clock:6000); the last is entry 11 (clock:8000)\n";
    assert_as_of(dir, "2026-09-21T14:13:22Z", 9, twice);
    assert_as_of(dir, "2026-09-21T14:13:23.5Z", 11, NULL);
    assert_as_of(dir, "2026-09-21T14:13:20.4Z", 8, NULL);
    assert_as_of(dir, "clock:4999", 2, NULL);
    assert_as_of(dir, "clock:5000", 8, NULL);
    assert_as_of(dir, "clock:6999", 9, NULL);
    assert_as_of(dir, "clock:7000", 10, NULL);
    assert_as_of(dir, "clock:8999", 11, NULL);
    assert_as_of(dir, "clock:99999", 12, NULL);
    struct run r = run_cli("log", "state", "--data", dir, "--at", "clock:7000", NULL);
    assert_int_equal(r.code, CLI_USAGE);
    assert_non_null(strstr(r.err, "each shard has its own entries and clock"));
    run_fini(&r);
    r = run_cli("log", "state", "--data", dir, "--shard", "1", "--at", "clock:7s", NULL);
    assert_int_equal(r.code, CLI_USAGE);
    assert_non_null(strstr(r.err, "--at clock:MS takes milliseconds of the shard's clock, a whole number, not '7s'"));
    run_fini(&r);
    made_folder_remove(dir);
    made_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_topic_is_found_by_name_id_and_in_subscriptions, setup, teardown),
        cmocka_unit_test_setup_teardown(a_member_is_found, setup, teardown),
        cmocka_unit_test_setup_teardown(times_are_bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(a_pattern_is_looked_for_in_the_line, setup, teardown),
        cmocka_unit_test_setup_teardown(an_entry_tells_its_size_and_clocks, setup, teardown),
        cmocka_unit_test_setup_teardown(kafkas_form, setup, teardown),
        cmocka_unit_test_setup_teardown(counts_by_shard_type_group_and_client, setup, teardown),
        cmocka_unit_test_setup_teardown(equal_logs_do_not_differ, setup, teardown),
        cmocka_unit_test_setup_teardown(the_first_difference_is_shown, setup, teardown),
        cmocka_unit_test_setup_teardown(the_first_entry_that_makes_another_state, setup, teardown),
        cmocka_unit_test_setup_teardown(a_wrong_beginning_is_explained, setup, teardown),
        cmocka_unit_test(one_shard_is_verified),
        cmocka_unit_test_setup_teardown(what_a_snapshot_from_another_node_replaced_is_no_difference, setup, teardown),
        cmocka_unit_test_setup_teardown(follow_ends, setup, teardown),
        cmocka_unit_test_setup_teardown(a_moment_behind_the_log_is_its_end_now, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_column_of_a_log_means_stands_on_the_page, setup, teardown),
        cmocka_unit_test(times_as_people_write_them),
        cmocka_unit_test(a_clock_that_was_set_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
