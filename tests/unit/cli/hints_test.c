/* hints_test.c: what commands say to somebody who does not know the cluster yet: which words there are, and which command it is instead. */
#include "fake_node.h"

#include <unistd.h>

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
    f->more = list_two;
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
        return list_two(f, key, request);
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
    f->more = list_two;
    struct run r = run_cli("offsets", "pre-create", "made", "--topic", "orders:0,1", "--to-offset", "5000", NULL);
    assert_int_equal(lines_of(r.err), 2);
    assert_run(r, CLI_OK, "made   orders          1               -          15\n",
               "2 of the new offsets would be beyond the end of their partition, and become the end");
}

typedef struct list_offsets_response_partition_response listed_end;
typedef struct alter_group_offsets_response_partition altered;

/* Of orders 0 nobody has set the end; the others end at 15. */
static const void *list_ends(struct fake *f, const struct list_offsets_request *request)
{
    struct list_offsets_response *r = ARENA_NEW(&f->arena, struct list_offsets_response, 1);
    wire_init(&wire_list_offsets_response, r);
    r->topics.len = request->topics.len;
    r->topics.v = ARENA_NEW(&f->arena, struct list_offsets_response_topic_response, request->topics.len);
    for (int32_t i = 0; i < request->topics.len; i++) {
        r->topics.v[i].name = request->topics.v[i].name;
        r->topics.v[i].partitions.len = request->topics.v[i].partitions.len;
        r->topics.v[i].partitions.v = ARENA_NEW(&f->arena, listed_end, r->topics.v[i].partitions.len);
        for (int32_t k = 0; k < r->topics.v[i].partitions.len; k++) {
            const struct list_offsets_request_partition *p = &request->topics.v[i].partitions.v[k];
            r->topics.v[i].partitions.v[k] = (listed_end){.partition_index = p->partition_index,
                                                          .timestamp = -1,
                                                          .offset = p->timestamp == -1 && p->partition_index > 0 ? 15 : 0};
        }
    }
    return r;
}

/* As a coordinator does it to the group "behind", which has committed 10 everywhere. */
static const void *alter_offsets(struct fake *f, const struct alter_group_offsets_request *request)
{
    struct alter_group_offsets_response *r = ARENA_NEW(&f->arena, struct alter_group_offsets_response, 1);
    wire_init(&wire_alter_group_offsets_response, r);
    r->topics.len = request->topics.len;
    r->topics.v = ARENA_NEW(&f->arena, struct alter_group_offsets_response_topic, request->topics.len);
    for (int32_t i = 0; i < request->topics.len; i++) {
        r->topics.v[i].name = request->topics.v[i].name;
        r->topics.v[i].partitions.len = request->topics.v[i].partitions.len;
        r->topics.v[i].partitions.v = ARENA_NEW(&f->arena, altered, r->topics.v[i].partitions.len);
        for (int32_t k = 0; k < r->topics.v[i].partitions.len; k++) {
            const struct alter_group_offsets_request_partition *p = &request->topics.v[i].partitions.v[k];
            int64_t to = p->action == 1 ? 10 + p->offset : p->offset;
            to = p->action == 1 && to > p->most ? p->most : to;
            r->topics.v[i].partitions.v[k] = (altered){.partition_index = p->partition_index, .before = 10, .after = to};
        }
    }
    return r;
}

static const void *ends_and_changes(struct fake *f, int16_t key, const void *request)
{
    return key == API_KEY_LIST_OFFSETS          ? list_ends(f, request)
           : key == API_KEY_ALTER_GROUP_OFFSETS ? alter_offsets(f, request)
           : key == API_KEY_LIST_GROUPS         ? list_two(f, key, request)
                                                : NULL;
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
    fake_more(f, ends_and_changes, keys, COUNT_OF(keys));
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
    const void *r = list_two(f, key, request);
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
        return alter_offsets(f, request);
    }
    return protects(f, key, request);
}

static void a_rename_says_what_becomes_of_the_old_group(void **state)
{
    static const int16_t keys[] = {API_KEY_ALTER_GROUP_OFFSETS};
    struct fake *f = *state;
    fake_more(f, ends_and_changes, keys, COUNT_OF(keys));
    assert_run(run_cli("offsets", "rename", "behind", "ahead", NULL), CLI_OK, "ahead", "group 'behind' would be deleted\n");
    f->more = renames;
    assert_run(run_cli("offsets", "rename", "behind", "ahead", "--force", NULL), CLI_OK, "ahead",
               "group 'behind' would be deleted, and its protection with it: group 'ahead' is not protected\n");
}

/* A group that there is not, and one whose name is close to it. */
static const void *list_close(struct fake *f, int16_t key, const void *request)
{
    const void *r = list_two(f, key, request);
    if (r != NULL) {
        ((const struct list_groups_response *)r)->groups.v[1].group_id = STR("nome");
    }
    return r;
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
    return list_close(f, key, request);
}

static void a_group_of_a_close_name_is_named(void **state)
{
    static const int16_t streams[] = {API_KEY_STREAMS_GROUP_DESCRIBE, API_KEY_STREAMS_GROUP_TOPOLOGY};
    struct fake *f = *state;
    f->more = list_close;
    assert_run(run_cli("groups", "describe", "none", NULL), CLI_FAILED, NULL, "; did you mean 'nome'?\n");
    assert_run(run_cli("offsets", "reset", "none", "--all-topics", "--to-latest", NULL), CLI_FAILED, NULL,
               "group 'none': there is no such group ('muster offsets pre-create' makes one)\n");
    f->more_keys = streams;
    f->more_count = COUNT_OF(streams);
    f->more = list_close_streams;
    assert_run(run_cli("streams", "describe", "none", NULL), CLI_FAILED, NULL, "; did you mean 'nome'?\n");
    assert_run(run_cli("streams", "topology", "none", NULL), CLI_FAILED, NULL, "; did you mean 'nome'?\n");
    f->more = list_two;
    struct run r = run_cli("groups", "describe", "none", NULL);
    assert_null(strstr(r.err, "did you mean"));
    run_fini(&r);
    f->more = list_close;
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

/* ---- what a plan leaves to be refused, and what was done and may be undone ---- */

enum members { MEMBERS_NONE, MEMBERS_READ, MEMBERS_FOREIGN };

/* The group "behind": nobody, a consumer that reads orders, or a worker of Kafka Connect. */
static const void *describe_members(struct fake *f, int16_t key, enum members members)
{
    if (key == API_KEY_DESCRIBE_GROUPS) {
        struct describe_groups_response *r = ARENA_NEW(&f->arena, struct describe_groups_response, 1);
        wire_init(&wire_describe_groups_response, r);
        r->groups.v = ARENA_NEW(&f->arena, struct describe_groups_response_described_group, 1);
        r->groups.len = 1;
        wire_init_type(wire_describe_groups_response.type->fields[1].type, r->groups.v);
        r->groups.v[0].group_id = STR("behind");
        r->groups.v[0].error_code = members == MEMBERS_READ ? 69 : 0;
        r->groups.v[0].group_state = STR("Stable");
        r->groups.v[0].protocol_type = STR("connect");
        r->groups.v[0].members.v = ARENA_NEW(&f->arena, struct describe_groups_response_described_group_member, 1);
        r->groups.v[0].members.len = members == MEMBERS_FOREIGN;
        wire_init_type(wire_describe_groups_response.type->fields[1].type->fields[6].type, r->groups.v[0].members.v);
        return r;
    }
    static struct str topics[] = {{"orders", 6}};
    struct consumer_group_describe_response *r = ARENA_NEW(&f->arena, struct consumer_group_describe_response, 1);
    wire_init(&wire_consumer_group_describe_response, r);
    r->groups.v = ARENA_NEW(&f->arena, struct consumer_group_describe_response_described_group, 1);
    r->groups.len = 1;
    wire_init_type(wire_consumer_group_describe_response.type->fields[1].type, r->groups.v);
    r->groups.v[0].group_id = STR("behind");
    r->groups.v[0].group_state = STR("Stable");
    r->groups.v[0].members.v = ARENA_NEW(&f->arena, struct consumer_group_describe_response_member, 1);
    r->groups.v[0].members.len = 1;
    r->groups.v[0].members.v[0] = (struct consumer_group_describe_response_member){.member_id = STR("m"),
                                                                                   .instance_id = STR_NULL,
                                                                                   .rack_id = STR_NULL,
                                                                                   .client_id = STR("c"),
                                                                                   .client_host = STR("/h"),
                                                                                   .subscribed_topic_names = {topics, 1},
                                                                                   .subscribed_topic_regex = STR("")};
    return r;
}

/* Nothing may be changed for a plan; with members only a fence would do. */
static const void *plans(struct fake *f, int16_t key, const void *request)
{
    enum members members = *(enum members *)f->more_state;
    const struct alter_group_offsets_request *alter = request;
    assert_true(key != API_KEY_OFFSET_DELETE);
    if (key == API_KEY_ALTER_GROUP_OFFSETS) {
        assert_true(alter->validate_only);
        if (members == MEMBERS_NONE || alter->fence) {
            return alter_offsets(f, request);
        }
        struct alter_group_offsets_response *r = ARENA_NEW(&f->arena, struct alter_group_offsets_response, 1);
        wire_init(&wire_alter_group_offsets_response, r);
        r->error_code = 68;
        return r;
    }
    bool describes = key == API_KEY_DESCRIBE_GROUPS || key == API_KEY_CONSUMER_GROUP_DESCRIBE;
    return describes && members != MEMBERS_NONE ? describe_members(f, key, members) : NULL;
}

static void a_deletion_that_would_be_refused_is_planned_so(void **state)
{
    static const int16_t keys[] = {API_KEY_ALTER_GROUP_OFFSETS, API_KEY_OFFSET_DELETE};
    static const char nothing[] = "nothing was changed; --execute does it\n";
    struct fake *f = *state;
    enum members members = MEMBERS_NONE;
    fake_more(f, plans, keys, COUNT_OF(keys));
    f->more_state = &members;
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "orders", NULL), CLI_OK, "behind  orders          2", nothing);
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "gone", NULL), CLI_OK, "behind  gone", nothing);
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "orders", "--force", NULL), CLI_OK, "behind  orders", nothing);
    members = MEMBERS_READ;
    struct run r = run_cli("offsets", "delete", "behind", "--topic", "orders:0,1", NULL);
    assert_null(strstr(r.err, nothing));
    assert_int_equal(count_of(r.err, "GROUP_SUBSCRIBED_TO_TOPIC"), 2);
    assert_int_equal(count_of(r.out, "behind  orders"), 2);
    assert_run(r, CLI_FAILED, NULL, "orders-0: GROUP_SUBSCRIBED_TO_TOPIC");
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "gone", NULL), CLI_FAILED, "behind  gone", "NON_EMPTY_GROUP");
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "orders", "--force", NULL), CLI_FAILED, "behind  orders", "(--fence)");
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "orders", "--fence", NULL), CLI_OK, "behind  orders", nothing);
    members = MEMBERS_FOREIGN;
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "orders:0", NULL), CLI_FAILED, "behind  orders",
               "orders-0: NON_EMPTY_GROUP");
}

static const void *deletes(struct fake *f, int16_t key, const void *request)
{
    bool describes = key == API_KEY_DESCRIBE_GROUPS || key == API_KEY_CONSUMER_GROUP_DESCRIBE;
    if (describes && f->more_state != NULL) {
        return describe_members(f, key, *(enum members *)f->more_state);
    }
    if (key != API_KEY_OFFSET_DELETE) {
        return ends_and_changes(f, key, request);
    }
    struct offset_delete_response *r = ARENA_NEW(&f->arena, struct offset_delete_response, 1);
    wire_init(&wire_offset_delete_response, r);
    return r;
}

/* The index before is that of the group's coordinator; of shard 1, to which "behind" belongs, this node is none. */
static void what_was_done_says_how_it_is_undone(void **state)
{
    static const int16_t keys[] = {API_KEY_ALTER_GROUP_OFFSETS, API_KEY_OFFSET_DELETE};
    struct fake *f = *state;
    fake_more(f, deletes, keys, COUNT_OF(keys));
    assert_run(run_cli("offsets", "reset", "old", "--topic", "orders:0,1", "--to-offset", "3", "--execute", NULL), CLI_OK, NULL,
               "to undo it: muster offsets reset old --topic orders:0,1 --to-index 5 --execute\n");
    assert_run(run_cli("offsets", "reset", "my group", "--topic", "orders:1", "--to-offset", "3", "--fence", "--execute", NULL), CLI_OK,
               NULL, "to undo it: muster offsets reset 'my group' --topic orders:1 --to-index 5 --fence --execute\n");
    assert_run(run_cli("offsets", "reset", "old", "--topic", "orders:0", "--to-offset", "3", "--execute", "--json", NULL), CLI_OK,
               "\"undo\": \"muster offsets reset old --topic orders:0 --to-index 5 --execute\"", "");
    struct run r = run_cli("offsets", "reset", "old", "--topic", "orders:0", "--to-offset", "10", "--execute", NULL);
    assert_null(strstr(r.err, "undo"));
    run_fini(&r);
    r = run_cli("offsets", "reset", "old", "--topic", "orders:0", "--to-offset", "3", NULL);
    assert_null(strstr(r.err, "undo"));
    run_fini(&r);
    r = run_cli("offsets", "delete", "behind", "--topic", "orders", "--execute", NULL);
    const char *said = strstr(r.err, "to undo it: muster offsets reset behind --topic orders:0,1,2 --to-time ");
    int64_t at_ms;
    char moment[32] = "";
    assert_non_null(said);
    assert_int_equal(sscanf(strstr(said, "--to-time "), "--to-time %31s --execute", moment), 1);
    assert_true(log_time_parse(moment, 0, &at_ms) && at_ms <= log_wall_ms() && at_ms > log_wall_ms() - 60000);
    assert_run(r, CLI_OK, NULL, "3 offsets are deleted\n");
}

/* A reset does not go by members but with a fence, although the deletion did. */
static void what_was_deleted_beside_members_is_undone_with_a_fence(void **state)
{
    static const int16_t keys[] = {API_KEY_ALTER_GROUP_OFFSETS, API_KEY_OFFSET_DELETE, API_KEY_DESCRIBE_GROUPS,
                                   API_KEY_CONSUMER_GROUP_DESCRIBE};
    struct fake *f = *state;
    enum members members = MEMBERS_READ;
    fake_more(f, deletes, keys, COUNT_OF(keys));
    f->more_state = &members;
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "orders:1", "--execute", NULL), CLI_OK, NULL, " --fence --execute\n");
    struct run r = run_cli("offsets", "delete", "behind", "--topic", "orders:1", "--fence", "--execute", NULL);
    assert_int_equal(count_of(r.err, "--fence"), 1);
    run_fini(&r);
}

static const void *fences(struct fake *f, int16_t key, const void *request)
{
    const void *answer = ends_and_changes(f, key, request);
    if (key == API_KEY_ALTER_GROUP_OFFSETS) {
        const struct alter_group_offsets_request *alter = request;
        struct alter_group_offsets_response *r = (struct alter_group_offsets_response *)(uintptr_t)answer;
        r->fenced = *(int *)f->more_state;
        for (int32_t i = 0; i < r->topics.v[0].partitions.len; i++) {
            r->topics.v[0].partitions.v[i].after = alter->topics.v[0].partitions.v[i].action == 2 ? -1 : 3;
        }
    }
    return answer;
}

static void who_was_removed_is_said_to_come_back_where_it_does(void **state)
{
    static const int16_t keys[] = {API_KEY_ALTER_GROUP_OFFSETS, API_KEY_OFFSET_DELETE};
    struct fake *f = *state;
    int fenced = 1;
    fake_more(f, fences, keys, COUNT_OF(keys));
    f->more_state = &fenced;
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "orders", "--fence", "--execute", NULL), CLI_OK, NULL,
               "group 'behind': 1 member was removed; it joins again by itself, and begins where its auto.offset.reset says\n");
    assert_run(run_cli("offsets", "reset", "old", "--topic", "orders:0", "--to-offset", "3", "--fence", "--execute", NULL), CLI_OK, NULL,
               "group 'old': 1 member was removed; it joins again by itself, and goes on from the new offsets\n");
    fenced = 2;
    assert_run(run_cli("offsets", "delete", "behind", "--topic", "orders", "--fence", "--execute", NULL), CLI_OK, NULL,
               "group 'behind': 2 members were removed; they join again by themselves, and begin where their auto.offset.reset says\n");
    assert_run(run_cli("offsets", "reset", "old", "--topic", "orders:0", "--to-offset", "3", "--fence", "--execute", NULL), CLI_OK, NULL,
               "group 'old': 2 members were removed; they join again by themselves, and go on from the new offsets\n");
}

/* Partition 0 had an offset before, the others none. */
static const void *sets_new(struct fake *f, int16_t key, const void *request)
{
    const void *answer = ends_and_changes(f, key, request);
    if (key == API_KEY_ALTER_GROUP_OFFSETS) {
        struct alter_group_offsets_response *r = (struct alter_group_offsets_response *)(uintptr_t)answer;
        for (int32_t i = 0; i < r->topics.v[0].partitions.len; i++) {
            altered *p = &r->topics.v[0].partitions.v[i];
            p->before = p->partition_index == 0 ? 10 : -1;
        }
    }
    return answer;
}

static void what_had_no_offset_before_is_undone_too(void **state)
{
    static const int16_t keys[] = {API_KEY_ALTER_GROUP_OFFSETS, API_KEY_OFFSET_DELETE};
    struct fake *f = *state;
    fake_more(f, sets_new, keys, COUNT_OF(keys));
    assert_run(run_cli("offsets", "reset", "old", "--topic", "orders:0,1", "--to-offset", "3", "--execute", NULL), CLI_OK, NULL,
               "to undo it: muster offsets reset old --topic orders:0 --to-index 5 --execute\n"
               "muster: and of what had no offset before: muster offsets delete old --topic orders:1 --execute\n");
    assert_run(run_cli("offsets", "reset", "old", "--topic", "orders:1", "--to-offset", "3", "--fence", "--execute", NULL), CLI_OK, NULL,
               "to undo it: muster offsets delete old --topic orders:1 --fence --execute\n");
    assert_run(run_cli("offsets", "reset", "old", "--topic", "orders:0,1", "--to-offset", "3", "--execute", "--json", NULL), CLI_OK,
               "\"undoNew\": \"muster offsets delete old --topic orders:1 --execute\"", "");
    assert_run(run_cli("offsets", "copy", "behind", "none", "--execute", NULL), CLI_OK, NULL, "to undo it: muster groups delete none\n");
    assert_run(run_cli("offsets", "pre-create", "made", "--topic", "orders:1", "--to-offset", "3", "--execute", NULL), CLI_OK, NULL,
               "to undo it: muster groups delete made\n");
}

/* More than a command line holds would have to name what had offsets before. */
static void what_is_too_much_for_a_command_line_is_not_deleted_whole(void **state)
{
    static const int16_t keys[] = {API_KEY_ALTER_GROUP_OFFSETS};
    struct fake *f = *state;
    char topic[400] = "wide:1";
    fake_more(f, sets_new, keys, COUNT_OF(keys));
    for (int i = 2; i <= 50; i++) {
        snprintf(topic + strlen(topic), sizeof(topic) - strlen(topic), ",%d", i);
    }
    assert_run(run_cli("offsets", "reset", "old", "--topic", topic, "--to-offset", "3", "--execute", NULL), CLI_OK, NULL,
               ",49,50 --execute\n");
    snprintf(topic + strlen(topic), sizeof(topic) - strlen(topic), ",51");
    struct run r = run_cli("offsets", "reset", "old", "--topic", topic, "--to-offset", "3", "--execute", NULL);
    assert_null(strstr(r.err, "undo it"));
    assert_run(r, CLI_OK, NULL, "51 offsets are set\n");
}

static const void *deletes_group(struct fake *f, int16_t key, const void *request)
{
    if (key == API_KEY_DELETE_GROUPS) {
        struct delete_groups_response *r = ARENA_NEW(&f->arena, struct delete_groups_response, 1);
        wire_init(&wire_delete_groups_response, r);
        r->results.v = ARENA_NEW(&f->arena, struct delete_groups_response_deletable_group_result, 1);
        r->results.len = 1;
        r->results.v[0].group_id = ((const struct delete_groups_request *)request)->groups_names.v[0];
        r->results.v[0].error_code = str_eq(r->results.v[0].group_id, STR("none")) ? 69 : 0;
        return r;
    }
    return list_close(f, key, request);
}

static void a_deleted_group_says_how_it_comes_back(void **state)
{
    static const int16_t keys[] = {API_KEY_DELETE_GROUPS};
    struct fake *f = *state;
    fake_more(f, deletes_group, keys, COUNT_OF(keys));
    assert_run(run_cli("groups", "delete", "behind", NULL), CLI_OK, "behind  deleted",
               "to undo it: muster offsets pre-create behind --to-time ");
    assert_run(run_cli("groups", "delete", "behind", "--json", NULL), CLI_OK, "\"undo\": \"muster offsets pre-create behind --to-time ",
               "");
    struct run r = run_cli("groups", "delete", "old", NULL);
    assert_string_equal(r.err, "");
    run_fini(&r);
    r = run_cli("groups", "delete", "none", NULL);
    assert_string_equal(r.err, "muster: group 'none': GROUP_ID_NOT_FOUND: there is no such group\n");
    run_fini(&r);
}

/* Names of groups are what clients say: the command is not to do anything else when a shell takes it. */
static void the_command_that_undoes_is_one_for_a_shell(void **state)
{
    static const int16_t keys[] = {API_KEY_ALTER_GROUP_OFFSETS};
    static const struct {
        const char *group, *before, *behind;
    } groups[] = {
        {"a'; reboot; '", " reset 'a'\\''; reboot; '\\''' --topic orders:1 --to-", " --execute\n"},
        {"$(reboot)", " reset '$(reboot)' --topic orders:1 --to-", " --execute\n"},
        {"a\\b", " reset 'a\\b' --topic orders:1 --to-", " --execute\n"},
        {"a\nb'\\", " reset $'a\\012b\\'\\\\' --topic orders:1 --to-", " --execute\n"},
        {"\xff", " reset $'\\377' --topic orders:1 --to-", " --execute\n"},
        {"''''", " reset ''\\'''\\'''\\'''\\''' --topic orders:1 --to-", " --execute\n"},
        {"--fence", " reset --topic orders:1 --to-", " --execute -- --fence\n"},
        {"-'", " reset --topic orders:1 --to-", " --execute -- '-'\\'''\n"},
    };
    struct fake *f = *state;
    fake_more(f, deletes, keys, COUNT_OF(keys));
    for (size_t i = 0; i < COUNT_OF(groups); i++) {
        struct run r = run_cli("offsets", "reset", "--topic", "orders:1", "--to-offset", "3", "--execute", "--", groups[i].group, NULL);
        assert_non_null(strstr(r.err, groups[i].before));
        assert_run(r, CLI_OK, NULL, groups[i].behind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
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
        cmocka_unit_test_setup_teardown(a_deletion_that_would_be_refused_is_planned_so, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(what_was_done_says_how_it_is_undone, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(what_was_deleted_beside_members_is_undone_with_a_fence, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(who_was_removed_is_said_to_come_back_where_it_does, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(what_had_no_offset_before_is_undone_too, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(what_is_too_much_for_a_command_line_is_not_deleted_whole, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_deleted_group_says_how_it_comes_back, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(the_command_that_undoes_is_one_for_a_shell, fake_setup, fake_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
