/* hints_test.c: what commands say to somebody who does not know the cluster yet: which words there are, and which command it is instead. */
#include "fake_offsets.h"

#include <unistd.h>

/* ---- groups list ---- */

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
    f->more = fake_lists_two;
    assert_listed("--state", "Stable", false, true);
    assert_listed("--state", "stable", false, true);
    assert_listed("--state", "EMPTY, stable", true, true);
    assert_listed("--state", "Dead", false, false);
    assert_listed("--type", "Classic", true, false);
    assert_listed("--type", "streams,consumer", false, true);
    assert_listed("--state", NULL, true, true); /* what Kafka's tool shows with it is shown anyway */
    assert_listed("--type", NULL, true, true);
    assert_listed("--state", "--json", false, false);
    assert_listed("--type", "--type=classic", true, false);
    assert_run(run_cli("groups", "list", "--state", "--type", "consumer", NULL), CLI_OK, "\nnew ", "");
    assert_run(run_cli("groups", "list", "--timeout", NULL), CLI_USAGE, NULL, "--timeout takes a value");
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
    f->more = fake_lists_two;
    assert_run(run_cli("offsets", "pre-create", "made", "--topic", "orders:0,1", "--by-duration", "PT1H", NULL), CLI_OK, " 15\n",
               "nothing was changed");
}

/* ---- protected groups ---- */

/* The group "behind" is protected; nothing is made, changed or deleted without a test that fails. */
static const void *protects(struct fake *f, int16_t key, const void *request)
{
    static struct describe_configs_response_resource_result on = {.name = STR("muster.protected"), .value = STR("true")};
    const struct describe_configs_request *q = request;
    if (key != API_KEY_DESCRIBE_CONFIGS) {
        assert_true(key != API_KEY_OFFSET_DELETE && key != API_KEY_ALTER_GROUP_OFFSETS && key != API_KEY_DELETE_GROUPS);
        return NULL;
    }
    struct describe_configs_response *r = ARENA_NEW(&f->arena, struct describe_configs_response, 1);
    wire_init(&wire_describe_configs_response, r);
    r->results.v = ARENA_NEW(&f->arena, struct describe_configs_response_result, 1);
    r->results.len = 1;
    r->results.v[0] = (struct describe_configs_response_result){.error_message = STR_NULL,
                                                                .resource_type = 32,
                                                                .resource_name = q->resources.v[0].resource_name};
    if (str_eq(q->resources.v[0].resource_name, STR("behind"))) {
        r->results.v[0].configs.v = &on;
        r->results.v[0].configs.len = 1;
    }
    return r;
}

static void a_protected_group_is_refused_before_anything_is_done(void **state)
{
    static const int16_t keys[] = {API_KEY_DESCRIBE_CONFIGS, API_KEY_OFFSET_DELETE, API_KEY_ALTER_GROUP_OFFSETS, API_KEY_DELETE_GROUPS};
    static const char *const how[] = {NULL, "--execute"};
    const char *refusal = "group 'behind' is protected: its config muster.protected is true (--force)\n";
    struct fake *f = *state;
    fake_more(f, protects, keys, COUNT_OF(keys));
    for (size_t i = 0; i < COUNT_OF(how); i++) {
        struct run r = run_cli("offsets", "rename", "behind", "ahead", how[i], NULL);
        assert_null(strstr(r.err, "nothing was changed"));
        assert_run(r, CLI_FAILED, NULL, refusal);
        r = run_cli("offsets", "delete", "behind", "--topic", "orders", how[i], NULL);
        assert_null(strstr(r.err, "nothing was changed"));
        assert_run(r, CLI_FAILED, NULL, refusal);
    }
}

/* As protects(), but in one answer for all, backwards. */
static const void *lists_protected(struct fake *f, int16_t key, const void *request)
{
    static const struct describe_configs_response_resource_result on = {.name = STR("muster.protected"),
                                                                        .value = STR("true"),
                                                                        .documentation = STR_NULL};
    const struct describe_configs_request *q = request;
    if (key != API_KEY_DESCRIBE_CONFIGS) {
        return fake_lists_two(f, key, request);
    }
    struct describe_configs_response *r = ARENA_NEW(&f->arena, struct describe_configs_response, 1);
    wire_init(&wire_describe_configs_response, r);
    r->results.v = ARENA_NEW(&f->arena, struct describe_configs_response_result, q->resources.len);
    r->results.len = q->resources.len;
    for (int32_t i = 0; i < q->resources.len; i++) {
        struct describe_configs_response_result *to = &r->results.v[q->resources.len - 1 - i];
        *to = (struct describe_configs_response_result){.error_message = STR_NULL,
                                                        .resource_type = 32,
                                                        .resource_name = q->resources.v[i].resource_name};
        to->configs.len = str_eq(to->resource_name, STR("new"));
        to->configs.v = ARENA_NEW(&f->arena, struct describe_configs_response_resource_result, 1);
        to->configs.v[0] = on;
    }
    return r;
}

static void protected_groups_are_listed(void **state)
{
    struct fake *f = *state;
    f->more = lists_protected;
    assert_listed("--protected", NULL, false, true);
    assert_run(run_cli("groups", "list", "--protected", "--type", "classic", NULL), CLI_OK, "GROUP", "");
    struct run r = run_cli("groups", "list", "--protected", "--json", NULL);
    assert_null(strstr(r.out, "\"old\""));
    assert_run(r, CLI_OK, "\"new\"", "");
}

static const void *takes_configs(struct fake *f, int16_t key, const void *request)
{
    (void)request;
    if (key != API_KEY_INCREMENTAL_ALTER_CONFIGS) {
        return NULL;
    }
    struct incremental_alter_configs_response *r = ARENA_NEW(&f->arena, struct incremental_alter_configs_response, 1);
    wire_init(&wire_incremental_alter_configs_response, r);
    r->responses.v = ARENA_NEW(&f->arena, struct incremental_alter_configs_response_alter_configs_resource_response, 1);
    r->responses.len = 1;
    r->responses.v[0] =
        (struct incremental_alter_configs_response_alter_configs_resource_response){.error_message = STR_NULL, .resource_name = STR("")};
    return r;
}

static void a_group_that_is_yet_to_come_is_told(void **state)
{
    static const int16_t keys[] = {API_KEY_INCREMENTAL_ALTER_CONFIGS};
    struct fake *f = *state;
    fake_more(f, takes_configs, keys, COUNT_OF(keys));
    struct run r = run_cli("groups", "protect", "behind", NULL);
    assert_string_equal(r.err, "");
    assert_run(r, CLI_OK, "behind  yes", NULL);
    assert_run(run_cli("groups", "protect", "none", NULL), CLI_OK, "none   yes", "group 'none': there is no such group yet");
    assert_run(run_cli("groups", "protect", "none", "--off", NULL), CLI_OK, "none   no", "");
}

/* ---- nobody to answer ---- */

static void a_missing_majority_is_told(void **state)
{
    struct fake *f = *state;
    f->list_loading = true;
    struct run r = run_cli("groups", "list", "--timeout", "200", NULL);
    assert_null(strstr(r.err, "cannot be reached"));
    assert_run(r, CLI_UNREACHABLE, NULL, "no node can say which groups there are: no majority answers (muster cluster status)");
}

static void a_node_that_is_not_there_is_told(void **state)
{
    (void)state;
    assert_run(run_cli("log", "dump", "--node", "9", NULL), CLI_UNREACHABLE, NULL,
               "node 9 cannot be reached, or there is none; --data DIR");
}

static void resetting_nothing_says_why(void **state)
{
    (void)state;
    assert_run(run_cli("offsets", "reset", "none", "--all-topics", "--to-latest", NULL), CLI_FAILED, NULL,
               "group 'none': there is no such group ('muster offsets pre-create' makes one)\n");
    assert_run(run_cli("offsets", "reset", "g", "--all-topics", "--to-latest", NULL), CLI_FAILED, NULL,
               "group 'g': there is nothing to reset: it has committed nothing of these topics");
}

/* One line for as many partitions as there are. */
static void what_is_cut_is_counted(void **state)
{
    struct fake *f = *state;
    f->kafka = true;
    f->more = fake_lists_two;
    struct run r = run_cli("offsets", "pre-create", "made", "--topic", "orders:0,1", "--to-offset", "5000", NULL);
    assert_int_equal(lines_of(r.err), 2);
    assert_run(r, CLI_OK, "made   orders          1               -          15\n",
               "2 of the new offsets would be beyond the end of their partition, and become the end");
}

static void assert_reset(const char *how, const char *value, const char *first, const char *second, const char *said)
{
    char line[120];
    struct run r = run_cli("offsets", "reset", "behind", "--topic", "orders:0,1", how, value, NULL);
    if (said == NULL && strstr(r.err, "group 'behind'") != NULL) {
        fail_msg("%s %s: said for nothing: %s", how, value != NULL ? value : "", r.err);
    }
    snprintf(line, sizeof(line), "0              10  %10s\nbehind  orders          1              10  %10s\n", first, second);
    assert_run(r, CLI_OK, line, said);
}

/* The end of a partition that nobody has set is not where it ends. */
static void nothing_is_cut_to_an_end_that_nobody_has_set(void **state)
{
    static const int16_t keys[] = {API_KEY_ALTER_GROUP_OFFSETS};
    static const char cut[] = "group 'behind': 1 of the new offsets would be beyond the end";
    struct fake *f = *state;
    char path[] = "/tmp/muster-hints-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "orders,0,70\norders,1,70\n", 24), 24);
    close(fd);
    fake_more(f, fake_ends_and_changes, keys, COUNT_OF(keys));
    assert_reset("--to-offset", "500", "500", "15", cut);
    assert_reset("--shift-by", "7", "17", "15", cut);
    assert_reset("--shift-by", "-4", "6", "6", NULL);
    assert_reset("--from-file", path, "70", "15", cut);
    assert_reset("--to-current", NULL, "10", "10", NULL);
    assert_reset("--to-latest", NULL, "0", "15",
                 "group 'behind': nobody has set the end of 1 of the partitions (muster topics set-end): it counts as 0\n");
    assert_run(run_cli("offsets", "pre-create", "made", "--topic", "orders:0", "--to-offset", "500", NULL), CLI_OK, "500\n", NULL);
    unlink(path);
}

static const void *list_behind(struct fake *f, int16_t key, const void *request)
{
    const void *r = fake_lists_two(f, key, request);
    if (r != NULL) {
        ((const struct list_groups_response *)r)->groups.v[0].group_id = STR("behind");
    }
    return r;
}

/* "behind" is protected; everything that changes something is a failure but the question whether it would be done. */
static const void *renames(struct fake *f, int16_t key, const void *request)
{
    if (key == API_KEY_ALTER_GROUP_OFFSETS) {
        assert_true(((const struct alter_group_offsets_request *)request)->validate_only);
        return fake_alters(f, request);
    }
    return protects(f, key, request);
}

static void a_rename_says_what_becomes_of_the_old_group(void **state)
{
    static const int16_t keys[] = {API_KEY_ALTER_GROUP_OFFSETS};
    struct fake *f = *state;
    fake_more(f, fake_ends_and_changes, keys, COUNT_OF(keys));
    assert_run(run_cli("offsets", "rename", "behind", "ahead", NULL), CLI_OK, "ahead", "group 'behind' would be deleted\n");
    f->more = renames;
    assert_run(run_cli("offsets", "rename", "behind", "ahead", "--force", NULL), CLI_OK, "ahead",
               "group 'behind' would be deleted, and its protection with it: group 'ahead' is not protected\n");
}

static const void *list_close_streams(struct fake *f, int16_t key, const void *request)
{
    if (key == API_KEY_STREAMS_GROUP_DESCRIBE) {
        struct streams_group_describe_response *r = ARENA_NEW(&f->arena, struct streams_group_describe_response, 1);
        wire_init(&wire_streams_group_describe_response, r);
        r->groups.v = ARENA_NEW(&f->arena, struct streams_group_describe_response_described_group, 1);
        r->groups.len = 1;
        wire_init_type(wire_streams_group_describe_response.type->fields[1].type, r->groups.v);
        r->groups.v[0].group_id = ((const struct streams_group_describe_request *)request)->group_ids.v[0];
        r->groups.v[0].error_code = 69;
        return r;
    }
    if (key == API_KEY_STREAMS_GROUP_TOPOLOGY) {
        struct streams_group_topology_response *r = ARENA_NEW(&f->arena, struct streams_group_topology_response, 1);
        wire_init(&wire_streams_group_topology_response, r);
        r->error_code = 69;
        return r;
    }
    return fake_lists_close(f, key, request);
}

static void a_group_of_a_close_name_is_named(void **state)
{
    static const int16_t streams[] = {API_KEY_STREAMS_GROUP_DESCRIBE, API_KEY_STREAMS_GROUP_TOPOLOGY};
    struct fake *f = *state;
    f->more = fake_lists_close;
    assert_run(run_cli("groups", "describe", "none", NULL), CLI_FAILED, NULL, "; did you mean 'nome'?\n");
    assert_run(run_cli("offsets", "reset", "none", "--all-topics", "--to-latest", NULL), CLI_FAILED, NULL,
               "group 'none': there is no such group ('muster offsets pre-create' makes one)\n");
    f->more_keys = streams;
    f->more_count = COUNT_OF(streams);
    f->more = list_close_streams;
    assert_run(run_cli("streams", "describe", "none", NULL), CLI_FAILED, NULL, "; did you mean 'nome'?\n");
    assert_run(run_cli("streams", "topology", "none", NULL), CLI_FAILED, NULL, "; did you mean 'nome'?\n");
    f->more = fake_lists_two;
    struct run r = run_cli("groups", "describe", "none", NULL);
    assert_null(strstr(r.err, "did you mean"));
    run_fini(&r);
    f->more = fake_lists_close;
    f->kafka = true;
    assert_run(run_cli("offsets", "reset", "none", "--topic", "orders:0", "--to-latest", NULL), CLI_FAILED, NULL,
               "GROUP_ID_NOT_FOUND: there is no such group ('muster offsets pre-create' makes one)\n");
    assert_run(run_cli("offsets", "pre-create", "nome", "--topic", "orders:0", "--to-latest", NULL), CLI_FAILED, NULL,
               "group 'nome': it exists ('muster offsets reset' changes it)\n");
}

static void nothing_to_delete_is_told(void **state)
{
    (void)state;
    assert_run(run_cli("offsets", "delete", "g", "--stale", NULL), CLI_FAILED, NULL, "group 'g': nothing is committed\n");
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "x", NULL), CLI_FAILED, NULL, "group 'behind': it has no such offsets\n");
}

/* What is committed beyond the end stays there, as with Kafka's tool. */
static void what_is_committed_is_not_cut_by_to_current(void **state)
{
    struct fake *f = *state;
    f->kafka = true;
    f->more = list_behind;
    struct run r = run_cli("offsets", "reset", "behind", "--topic", "orders:0", "--to-current", NULL);
    assert_null(strstr(r.err, "beyond"));
    assert_run(r, CLI_OK, "0              10          10\n", NULL);
}

/* ---- lag ---- */

/* A group of a muster cluster: orders 0 has no end, 1 ends at 15; of Apache Kafka 0 is the end. */
static void no_lag_is_told_where_nobody_has_set_an_end(void **state)
{
    static const int16_t keys[] = {API_KEY_ALTER_GROUP_OFFSETS};
    struct fake *f = *state;
    fake_more(f, fake_ends_and_changes, keys, COUNT_OF(keys));
    assert_run(run_cli("offsets", "list", "behind", NULL), CLI_OK,
               "behind  orders          0              10               -    -             -  m\n"
               "behind  orders          1              10              15    5             -  m\n",
               "");
    assert_run(run_cli("groups", "describe", "behind", NULL), CLI_OK, "behind  orders          0              10               -    -  ",
               "");
    assert_run(run_cli("offsets", "list", "behind", "--json", NULL), CLI_OK, "\"logEndOffset\": null,\n          \"lag\": null", "");
    assert_run(run_cli("topics", "describe", "orders", NULL), CLI_OK, "orders          0       7             0               0\n", "");
    f->kafka = true;
    assert_run(run_cli("offsets", "list", "behind", NULL), CLI_OK,
               "behind  orders          0              10               0    0             -  m\n", "");
}

/* ---- columns ---- */

static const void *one_member(struct fake *f, int16_t key, const void *request)
{
    if (key != API_KEY_CLUSTER_MEMBERS) {
        return fake_lists_two(f, key, request);
    }
    struct cluster_members_response *r = ARENA_NEW(&f->arena, struct cluster_members_response, 1);
    wire_init(&wire_cluster_members_response, r);
    r->node_id = NODE_ID;
    return r;
}

static void what_a_column_means_stands_on_the_page(void **state)
{
    static const int16_t keys[] = {API_KEY_CLUSTER_MEMBERS};
    struct fake *f = *state;
    fake_more(f, one_member, keys, COUNT_OF(keys));
    f->transferred = true; /* else a shard has no leader */
    assert_columns_told(run_cli("cluster", "status", NULL), "cluster", "status");
    assert_columns_told(run_cli("cluster", "members", NULL), "cluster", "members");
    assert_columns_told(run_cli("topics", "describe", "orders", NULL), "topics", "describe");
    assert_columns_told(run_cli("groups", "list", NULL), "groups", "list");
    assert_columns_told(run_cli("groups", "describe", "behind", "--verbose", NULL), "groups", "describe");
    assert_columns_told(run_cli("groups", "describe", "moving", "--members", NULL), "groups", "describe");
    assert_columns_told(run_cli("offsets", "list", "behind", NULL), "offsets", "list");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_lag_is_told_where_nobody_has_set_an_end, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(what_a_column_means_stands_on_the_page, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(groups_are_listed_by_words_that_there_are, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_group_says_its_shard, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_groups_shard_is_handed_over, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(records_are_not_looked_up_where_there_are_none, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_protected_group_is_refused_before_anything_is_done, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(protected_groups_are_listed, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_group_that_is_yet_to_come_is_told, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_missing_majority_is_told, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_node_that_is_not_there_is_told, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(resetting_nothing_says_why, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(what_is_cut_is_counted, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(nothing_is_cut_to_an_end_that_nobody_has_set, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_rename_says_what_becomes_of_the_old_group, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_group_of_a_close_name_is_named, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(nothing_to_delete_is_told, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(what_is_committed_is_not_cut_by_to_current, fake_setup, fake_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
