/* hints_test.c: what commands say to somebody who does not know the cluster yet: which words there are, and which command it is instead. */
#include "fake_node.h"

static void assert_run(struct run r, int code, const char *out, const char *err)
{
    if (r.code != code || (out != NULL && strstr(r.out, out) == NULL) || (err != NULL && strstr(r.err, err) == NULL)) {
        fail_msg("exit code %d\nout: %s\nerr: %s\nnot: %d\nout: %s\nerr: %s", r.code, r.out, r.err, code, out != NULL ? out : "anything",
                 err != NULL ? err : "anything");
    }
    run_fini(&r);
}

/* ---- groups list ---- */

typedef struct list_groups_response_listed_group listed;

static const void *list_two(struct fake *f, int16_t key, const void *request)
{
    static const listed groups[] = {
        {.group_id = STR("old"), .protocol_type = STR("consumer"), .group_state = STR("Empty"), .group_type = STR("classic")},
        {.group_id = STR("new"), .protocol_type = STR("consumer"), .group_state = STR("Stable"), .group_type = STR("consumer")},
    };
    (void)request;
    if (key != API_KEY_LIST_GROUPS) {
        return NULL;
    }
    struct list_groups_response *r = ARENA_NEW(&f->arena, struct list_groups_response, 1);
    wire_init(&wire_list_groups_response, r);
    r->groups.v = ARENA_NEW(&f->arena, listed, COUNT_OF(groups));
    memcpy(r->groups.v, groups, sizeof(groups));
    r->groups.len = COUNT_OF(groups);
    return r;
}

static void assert_listed(const char *option, const char *value, bool old, bool new)
{
    struct run r = run_cli("groups", "list", option, value, NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(strstr(r.out, "\nold ") != NULL, old);
    assert_int_equal(strstr(r.out, "\nnew ") != NULL, new);
    run_fini(&r);
}

static void groups_are_listed_by_words_that_there_are(void **state)
{
    struct fake *f = *state;
    f->more = list_two;
    assert_listed("--state", "Stable", false, true);
    assert_listed("--state", "stable", false, true);
    assert_listed("--state", "EMPTY, stable", true, true);
    assert_listed("--state", "Dead", false, false);
    assert_listed("--type", "Classic", true, false);
    assert_listed("--type", "streams,consumer", false, true);
    assert_run(run_cli("groups", "list", "--state", "Stabel", NULL), CLI_USAGE, NULL,
               "--state: 'Stabel' is no state of groups; there are: PreparingRebalance, CompletingRebalance, Stable, ");
    assert_run(run_cli("groups", "list", "--state", "Stable,", NULL), CLI_USAGE, NULL, "--state: '' is no state");
    assert_run(run_cli("groups", "list", "--type", "consumers", NULL), CLI_USAGE, NULL,
               "--type: 'consumers' is no type of groups; there are: classic, consumer, streams, share");
}

/* ---- shards ---- */

/* The node has two shards; "g" is in shard 1, "shop" in 0. */
static void a_group_says_its_shard(void **state)
{
    struct fake *f = *state;
    uint32_t g = log_shard_of_group(STR("g"), 2);
    uint32_t moving = log_shard_of_group(STR("moving"), 2);
    char line[80];
    assert_int_not_equal(g, moving);
    snprintf(line, sizeof(line), "NODE  ADDRESS          SHARD\n   7  127.0.0.1:%d      %u\n", f->port, g);
    struct run r = run_cli("groups", "coordinator", "g", NULL);
    assert_string_equal(r.out, line);
    run_fini(&r);
    snprintf(line, sizeof(line), "\"shard\": %u", g);
    assert_run(run_cli("groups", "coordinator", "g", "--json", NULL), CLI_OK, line, NULL);
    assert_run(run_cli("groups", "describe", "g", "--json", NULL), CLI_OK, line, NULL);
    snprintf(line, sizeof(line), "(127.0.0.1:%d)      %u\n", f->port, g);
    assert_run(run_cli("groups", "describe", "g", NULL), CLI_OK, line, NULL);
    snprintf(line, sizeof(line), "(127.0.0.1:%d)      %u\n", f->port, moving);
    assert_run(run_cli("groups", "describe", "moving", NULL), CLI_OK, line, NULL);
    f->kafka = true;
    assert_run(run_cli("groups", "describe", "g", NULL), CLI_OK, ")      -\n", NULL);
    assert_run(run_cli("groups", "describe", "g", "--json", NULL), CLI_OK, "\"shard\": null", NULL);
    assert_run(run_cli("groups", "coordinator", "g", NULL), CLI_OK, "      -\n", NULL);
}

static void a_groups_shard_is_handed_over(void **state)
{
    struct fake *f = *state;
    const char *in_1 = log_shard_of_group(STR("g"), 2) == 1 ? "g" : "moving";
    assert_run(run_cli("cluster", "transfer", "shop", "7", NULL), CLI_USAGE, NULL,
               "'shop' is not the number of a shard; for the shard of a group: --group shop");
    assert_run(run_cli("cluster", "transfer", NULL), CLI_USAGE, NULL, "say what: SHARD, or --group GROUP");
    assert_run(run_cli("cluster", "transfer", "1", "7", "--group", "g", NULL), CLI_USAGE, NULL, "say what once");
    assert_run(run_cli("cluster", "transfer", "--group", "g", "seven", NULL), CLI_USAGE, NULL, "'seven' is not the id of a node");
    assert_run(run_cli("cluster", "transfer", "--group", in_1, "7", NULL), CLI_OK, "shard 1: node -1 -> node 7", NULL);
    assert_true(f->transferred);
    f->kafka = true;
    assert_run(run_cli("cluster", "transfer", "--group", in_1, "7", NULL), CLI_FAILED, NULL, "it is not a muster node");
}

/* ---- times ---- */

/* Kafka means the time of records, of which there are none here: its answer would be the end. */
static void records_are_not_looked_up_where_there_are_none(void **state)
{
    struct fake *f = *state;
    assert_run(
        run_cli("offsets", "reset", "behind", "--topic", "orders:0,1", "--to-datetime", "2026-11-30T20:15:00Z", NULL), CLI_FAILED, NULL,
        "--to-datetime: there are no records here to look up by time; --to-time brings back what the group had committed at that time");
    assert_run(run_cli("offsets", "reset", "behind", "--topic", "orders:0,1", "--by-duration", "PT1H", NULL), CLI_FAILED, NULL,
               "--by-duration: there are no records here");
    assert_run(run_cli("offsets", "pre-create", "made", "--topic", "orders:0,1", "--by-duration", "PT1H", NULL), CLI_FAILED, NULL,
               "there are no records here to look up by time\n");
    f->kafka = true;
    f->more = list_two;
    assert_run(run_cli("offsets", "pre-create", "made", "--topic", "orders:0,1", "--by-duration", "PT1H", NULL), CLI_OK, " 15\n",
               "nothing was changed");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(groups_are_listed_by_words_that_there_are, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_group_says_its_shard, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_groups_shard_is_handed_over, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(records_are_not_looked_up_where_there_are_none, fake_setup, fake_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
