/* The configuration: the table against itself, files good and bad, messages word for word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "group_defaults.h"
#include "settings.h"

#define BASE                                                                                                                               \
    "node.id=2\n"                                                                                                                          \
    "listeners=PLAINTEXT://127.0.0.1:9192\n"                                                                                               \
    "muster.peer.listener=127.0.0.1:9193\n"                                                                                                \
    "muster.peers=2@127.0.0.1:9193,1@127.0.0.1:9093,3@[::1]:9293\n"                                                                        \
    "muster.data.dir=data\n"

struct fixture {
    struct config config;
    struct buf errors;
    struct arena arena;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    config_init(&f->config);
    buf_init(&f->errors, 0);
    arena_init(&f->arena, 0);
    *state = f;
    return f == NULL;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    config_fini(&f->config);
    buf_fini(&f->errors);
    arena_fini(&f->arena);
    free(f);
    return 0;
}

/* The messages so far as a C string. */
static const char *messages(struct fixture *f)
{
    return arena_printf(&f->arena, "%.*s", (int)f->errors.len, f->errors.ptr != NULL ? (const char *)f->errors.ptr : "").ptr;
}

static int parse(struct fixture *f, const char *text)
{
    return config_parse(&f->config, "f", str_of(text), &f->errors);
}

/* The value of a key as text. */
static const char *value_of(struct fixture *f, const char *name)
{
    const struct config_row *key = config_row_find(str_of(name));
    assert_non_null(key);
    return arena_printf(&f->arena, "%.*s", STR_ARG(config_text(&f->config, key, &f->arena))).ptr;
}

static void names_are_unique_and_defaults_are_themselves(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_row *key = &config_keys[i];
        assert_ptr_equal(config_row_find(str_of(key->name)), key);
        assert_true(strlen(key->help) > 10);
        if (key->default_text != NULL) {
            assert_string_equal(value_of(f, key->name), key->default_text);
            assert_true(config_is_default(&f->config, key));
            assert_int_equal(config_set(&f->config, str_of(key->name), str_of(key->default_text), &f->errors), 0);
        }
    }
    assert_int_equal(f->errors.len, 0);
    assert_null(config_row_find(STR("no.such.key")));
}

static void every_number_keeps_its_range(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_row *key = &config_keys[i];
        if (key->kind != CONFIG_INT16 && key->kind != CONFIG_INT32 && key->kind != CONFIG_INT64) {
            continue;
        }
        const int64_t good[] = {key->min, key->max};
        const int64_t bad[] = {key->min - 1, key->max + 1};
        for (size_t j = 0; j < 2; j++) {
            struct str text = arena_printf(&f->arena, "%lld", (long long)good[j]);
            assert_int_equal(config_set(&f->config, str_of(key->name), text, &f->errors), 0);
            assert_string_equal(value_of(f, key->name), text.ptr);
            text = arena_printf(&f->arena, "%lld", (long long)bad[j]);
            assert_int_equal(config_set(&f->config, str_of(key->name), text, &f->errors), MUSTER_E_INVALID);
            assert_string_equal(value_of(f, key->name), arena_printf(&f->arena, "%lld", (long long)good[j]).ptr);
        }
    }
}

static void values_reach_their_fields(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(parse(f, BASE "group.initial.rebalance.delay.ms = 0\n"
                                   "default.replication.factor=3\n"
                                   "muster.max.state.bytes=1099511627776\n"
                                   "muster.fast.failover=FALSE\n"
                                   "muster.classic.rebalance.signal=close\n"
                                   "muster.log.level=warn\n"),
                     0);
    assert_int_equal(f->errors.len, 0);
    assert_int_equal(f->config.node_id, 2);
    assert_int_equal(f->config.group_initial_rebalance_delay_ms, 0);
    assert_int_equal(f->config.default_replication_factor, 3);
    assert_int_equal(f->config.max_state_bytes, 1099511627776);
    assert_false(f->config.fast_failover);
    assert_int_equal(f->config.classic_rebalance_signal, CONFIG_SIGNAL_CLOSE);
    assert_int_equal(f->config.log_level, LOG_WARN);
    assert_string_equal(f->config.data_dir, "data");
    assert_int_equal(f->config.group_max_size, 2147483647);
    assert_false(config_is_default(&f->config, config_row_find(STR("muster.fast.failover"))));
    assert_int_equal(config_validate(&f->config, &f->errors), 0);
}

static void wrong_lines_are_all_named(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(parse(f, "node.id=two\n"
                              "group.max.size=0\n"
                              "\n"
                              "muster.fast.failover=maybe\n"
                              "muster.shards=8\n"
                              "muster.shards=9\n"
                              "num.partitions=99999999999999999999\n"
                              "group.coordinator.rebalance.protocols=classic,share\n"
                              "num.partitions=\n"),
                     MUSTER_E_INVALID);
    assert_string_equal(messages(f), "f:1: node.id: 'two' is not a number\n"
                                     "f:2: group.max.size: 0 is out of range, which is 1 to 2147483647\n"
                                     "f:4: muster.fast.failover: 'maybe' is not one of true|false\n"
                                     "f:6: muster.shards: was already set in line 5\n"
                                     "f:7: num.partitions: 99999999999999999999 is out of range, which is 1 to 100000\n"
                                     "f:8: group.coordinator.rebalance.protocols: 'share' is not one of classic|consumer|streams\n"
                                     "f:9: num.partitions: was already set in line 7\n");
    assert_int_equal(f->config.shards, 8);
}

static void unknown_keys_get_a_suggestion(void **state)
{
    static const struct {
        const char *key;
        const char *message;
    } cases[] = {
        {"listener", "unknown key 'listener': did you mean 'listeners'?\n"},
        {"group.max.session.timeouts.ms", "unknown key 'group.max.session.timeouts.ms': did you mean 'group.max.session.timeout.ms'?\n"},
        {"muster.datadir", "unknown key 'muster.datadir': did you mean 'muster.data.dir'?\n"},
        {"broker.id", "unknown key 'broker.id': it is node.id here\n"},
        {"log.dirs", "unknown key 'log.dirs': it is muster.data.dir here\n"},
        {"group.consumer.session.timeouts.ms",
         "unknown key 'group.consumer.session.timeouts.ms': did you mean 'group.consumer.session.timeout.ms'?\n"},
        {"group.share.session.timeout.ms", "unknown key 'group.share.session.timeout.ms': share groups are not served\n"},
        {"group.streams.max.sizes", "unknown key 'group.streams.max.sizes': did you mean 'group.streams.max.size'?\n"},
        {"completely.different.from.all", "unknown key 'completely.different.from.all'\n"},
        {"", "unknown key ''\n"},
        {"k\x1b[2J\nfine", "unknown key 'k?[2J?fine'\n"}, /* a terminal shows it and does not obey it */
    };
    struct fixture *f = *state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        buf_clear(&f->errors);
        assert_int_equal(config_set(&f->config, str_of(cases[i].key), STR("1"), &f->errors), MUSTER_E_INVALID);
        assert_string_equal(messages(f), cases[i].message);
    }
}

static void required_keys_are_required(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(config_validate(&f->config, &f->errors), MUSTER_E_INVALID);
    assert_non_null(strstr(messages(f), "node.id: is required\n"));
    assert_non_null(strstr(messages(f), "muster.data.dir: is required\n"));
    assert_non_null(strstr(messages(f), "muster.peers: is required\n"));
    assert_non_null(strstr(messages(f), "muster.peer.listener: is required\n"));
    assert_non_null(strstr(messages(f), "advertised.listeners: is needed"));
}

/* Each line, added to a good file, makes it a bad one, and the message says why. */
struct bad_line {
    const char *key;
    const char *value;
    const char *message;
};

static void are_bad(struct fixture *f, const struct bad_line *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_clear(&f->errors);
        config_fini(&f->config);
        config_init(&f->config);
        assert_int_equal(parse(f, BASE), 0);
        assert_int_equal(config_set(&f->config, str_of(cases[i].key), str_of(cases[i].value), &f->errors), 0);
        assert_int_equal(config_validate(&f->config, &f->errors), MUSTER_E_INVALID);
        assert_string_equal(messages(f), cases[i].message);
    }
}

static void keys_are_judged_together(void **state)
{
    static const struct bad_line cases[] = {
        {"listeners", "SSL://127.0.0.1:9192",
         "listeners: 'SSL://127.0.0.1:9192' is not PLAINTEXT://HOST:PORT (other security protocols are not served yet)\n"},
        {"listeners", "PLAINTEXT://127.0.0.1",
         "listeners: 'PLAINTEXT://127.0.0.1' is not PLAINTEXT://HOST:PORT (other security protocols are not served yet)\n"},
        {"listeners", "PLAINTEXT://a:1,PLAINTEXT://b:2", "listeners: exactly one is needed, not 2\n"},
        {"listeners", "", "listeners: exactly one is needed, not 0\n"},
        {"listeners", "PLAINTEXT://0.0.0.0:9192",
         "advertised.listeners: is needed, because listeners names no address that clients could be told\n"},
        {"advertised.listeners", "PLAINTEXT://0.0.0.0:9192",
         "advertised.listeners: 'PLAINTEXT://0.0.0.0:9192' is no address that clients could connect to\n"},
        {"advertised.listeners", "PLAINTEXT://a:1,PLAINTEXT://b:2", "advertised.listeners: one is enough, not 2\n"},
        {"muster.peer.listener", "127.0.0.1", "muster.peer.listener: '127.0.0.1' is not HOST:PORT\n"},
        {"muster.admin.listener", "9464", "muster.admin.listener: '9464' is not HOST:PORT\n"},
        {"muster.peers", "1@a:1,3@b:2", "muster.peers: node.id 2 is not among them\n"},
        {"muster.peers", "2@a:1,2@b:2", "muster.peers: '2@b:2' has the id or the address of another one\n"},
        {"muster.peers", "1@a:1,2@a:1", "muster.peers: '2@a:1' has the id or the address of another one\n"},
        {"muster.peers", "2@a", "muster.peers: '2@a' is not ID@HOST:PORT\n"},
        {"muster.peers", "0@a:1", "muster.peers: '0@a:1' is not ID@HOST:PORT\n"},
        {"muster.peers", "a:1", "muster.peers: 'a:1' is not ID@HOST:PORT\n"},
        {"muster.peers", "2@:1", "muster.peers: '2@:1' is not ID@HOST:PORT\n"},
        {"muster.peers",
         "1@a:1,2@a:2,3@a:3,4@a:4,5@a:5,6@a:6,7@a:7,8@a:8,9@a:9,10@a:10,11@a:11,12@a:12,13@a:13,14@a:14,15@a:15,16@a:16,"
         "17@a:17,18@a:18,19@a:19,20@a:20,21@a:21,22@a:22,23@a:23,24@a:24,25@a:25,26@a:26,27@a:27,28@a:28,29@a:29,30@a:30,31@a:31,32@a:32,"
         "33@a:33",
         "muster.peers: '33@a:33' is one more than a cluster can have\n"},
        {"group.min.session.timeout.ms", "1800001",
         "group.min.session.timeout.ms: 1800001 is more than group.max.session.timeout.ms, which is 1800000\n"},
        {"muster.heartbeat.interval.ms", "151",
         "muster.heartbeat.interval.ms: 151, taken 2 times, is more than muster.election.timeout.ms, which is 300\n"},
        {"muster.entry.max.bytes", "67108864",
         "muster.entry.max.bytes: 67108864, taken 2 times, is more than muster.log.segment.bytes, which is 67108864\n"},
    };
    are_bad(*state, cases, COUNT_OF(cases));
}

/* A node's own values lie within the bounds it sets for groups. */
static void streams_settings_are_judged_together(void **state)
{
    static const struct bad_line cases[] = {
        {"group.streams.session.timeout.ms", "44999",
         "group.streams.min.session.timeout.ms: 45000 is more than group.streams.session.timeout.ms, which is 44999\n"},
        {"group.streams.session.timeout.ms", "60001",
         "group.streams.session.timeout.ms: 60001 is more than group.streams.max.session.timeout.ms, which is 60000\n"},
        {"group.streams.heartbeat.interval.ms", "4999",
         "group.streams.min.heartbeat.interval.ms: 5000 is more than group.streams.heartbeat.interval.ms, which is 4999\n"},
        {"group.streams.heartbeat.interval.ms", "45000",
         "group.streams.heartbeat.interval.ms: 45000 is not less than group.streams.session.timeout.ms, which is 45000\n"
         "group.streams.heartbeat.interval.ms: 45000 is more than group.streams.max.heartbeat.interval.ms, which is 15000\n"},
        {"group.streams.min.assignment.interval.ms", "1001",
         "group.streams.min.assignment.interval.ms: 1001 is more than group.streams.assignment.interval.ms, which is 1000\n"},
        {"group.streams.assignment.interval.ms", "16000",
         "group.streams.assignment.interval.ms: 16000 is more than group.streams.max.assignment.interval.ms, which is 15000\n"},
        {"group.streams.num.standby.replicas", "3",
         "group.streams.num.standby.replicas: 3 is more than group.streams.max.standby.replicas, which is 2\n"},
        {"group.streams.num.warmup.replicas", "21",
         "group.streams.num.warmup.replicas: 21 is more than group.streams.max.warmup.replicas, which is 20\n"},
        {"group.streams.task.offset.interval.ms", "14999",
         "group.streams.min.task.offset.interval.ms: 15000 is more than group.streams.task.offset.interval.ms, which is 14999\n"},
    };
    are_bad(*state, cases, COUNT_OF(cases));
}

static void consumer_settings_are_judged_together(void **state)
{
    static const struct bad_line cases[] = {
        {"group.consumer.session.timeout.ms", "44999",
         "group.consumer.min.session.timeout.ms: 45000 is more than group.consumer.session.timeout.ms, which is 44999\n"},
        {"group.consumer.session.timeout.ms", "60001",
         "group.consumer.session.timeout.ms: 60001 is more than group.consumer.max.session.timeout.ms, which is 60000\n"},
        {"group.consumer.heartbeat.interval.ms", "4999",
         "group.consumer.min.heartbeat.interval.ms: 5000 is more than group.consumer.heartbeat.interval.ms, which is 4999\n"},
        {"group.consumer.heartbeat.interval.ms", "45000",
         "group.consumer.heartbeat.interval.ms: 45000 is not less than group.consumer.session.timeout.ms, which is 45000\n"
         "group.consumer.heartbeat.interval.ms: 45000 is more than group.consumer.max.heartbeat.interval.ms, which is 15000\n"},
        {"group.consumer.min.assignment.interval.ms", "1001",
         "group.consumer.min.assignment.interval.ms: 1001 is more than group.consumer.assignment.interval.ms, which is 1000\n"},
        {"group.consumer.assignment.interval.ms", "16000",
         "group.consumer.assignment.interval.ms: 16000 is more than group.consumer.max.assignment.interval.ms, which is 15000\n"},
        {"group.consumer.assignors", "", "group.consumer.assignors: names none\n"},
        {"group.consumer.assignors", "range, uniform,Range", "group.consumer.assignors: names one twice\n"},
        {"group.streams.assignors", "", "group.streams.assignors: names none\n"},
    };
    are_bad(*state, cases, COUNT_OF(cases));
}

/* Whatever the case they came in. */
static void lists_keep_the_words_that_they_may_hold(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(parse(f, "group.coordinator.rebalance.protocols=Classic, STREAMS\ngroup.consumer.assignors=Range\n"), 0);
    assert_string_equal(f->config.rebalance_protocols, "classic, streams");
    assert_string_equal(f->config.consumer_assignors, "range");
    assert_int_equal(config_set(&f->config, STR("group.consumer.migration.policy"), STR("UPGRADE"), &f->errors), 0);
    assert_int_equal(f->config.consumer_migration_policy, CONFIG_MIGRATION_UPGRADE);
}

/* What the worlds of other tests take for granted is what a node has that was configured with nothing. */
static void settings_follow_the_keys(void **state)
{
    struct fixture *f = *state;
    struct group_settings s, d = group_defaults();
    settings_group(&f->config, 3, &s);
#define SAME(field) assert_int_equal(s.field, d.field)
    SAME(initial_rebalance_delay_ms), SAME(min_session_timeout_ms), SAME(max_session_timeout_ms), SAME(new_member_join_timeout_ms);
    SAME(group_max_size), SAME(max_protocols), SAME(offset_metadata_max_bytes), SAME(offsets_retention_ms), SAME(default_partitions);
    SAME(default_replication_factor), SAME(max_partitions_per_topic), SAME(max_topics), SAME(node_count), SAME(commit_owned_only);
    SAME(rebalance_on_partition_change), SAME(adaptive.enabled), SAME(adaptive.floor_ms), SAME(adaptive.rate);
    SAME(adaptive.hold_interval_ms), SAME(adaptive.hold_rate), SAME(streams.hold_ms), SAME(consumer.hold_ms);
    SAME(history_max_entries);
    SAME(streams.session_timeout_ms), SAME(streams.min_session_timeout_ms), SAME(streams.max_session_timeout_ms);
    SAME(streams.heartbeat_interval_ms), SAME(streams.min_heartbeat_interval_ms), SAME(streams.max_heartbeat_interval_ms);
    SAME(streams.assignment_interval_ms), SAME(streams.min_assignment_interval_ms), SAME(streams.max_assignment_interval_ms);
    SAME(streams.initial_rebalance_delay_ms), SAME(streams.max_size), SAME(streams.num_standby_replicas);
    SAME(streams.max_standby_replicas), SAME(streams.num_warmup_replicas), SAME(streams.max_warmup_replicas);
    SAME(streams.acceptable_recovery_lag), SAME(streams.task_offset_interval_ms), SAME(streams.min_task_offset_interval_ms);
    SAME(streams.assignor_offload), SAME(streams.initialize_timeout_ms), SAME(streams.max_subtopologies);
    SAME(streams.max_topology_topics), SAME(consumer.max_subscribed_topics), SAME(consumer.max_regexes);
    SAME(consumer.session_timeout_ms), SAME(consumer.min_session_timeout_ms), SAME(consumer.max_session_timeout_ms);
    SAME(consumer.heartbeat_interval_ms), SAME(consumer.min_heartbeat_interval_ms), SAME(consumer.max_heartbeat_interval_ms);
    SAME(consumer.assignment_interval_ms), SAME(consumer.min_assignment_interval_ms), SAME(consumer.max_assignment_interval_ms);
    SAME(consumer.max_size), SAME(consumer.assignor_offload), SAME(consumer.regex_refresh_interval_ms);
    SAME(consumer.upgrade), SAME(consumer.downgrade);
#undef SAME
    assert_true(str_eq(s.streams.rack_aware_assignment_tags, d.streams.rack_aware_assignment_tags));
    assert_true(str_eq(s.consumer.assignors, d.consumer.assignors));
    assert_int_equal(s.max_groups, 125000); /* a shard's share */
    assert_int_equal(s.history_max_bytes, 33554432);
    assert_int_equal(config_set(&f->config, STR("group.consumer.migration.policy"), STR("downgrade"), &f->errors), 0);
    settings_group(&f->config, 3, &s);
    assert_false(s.consumer.upgrade);
    assert_true(s.consumer.downgrade);
}

static void addresses_are_taken_apart(void **state)
{
    struct fixture *f = *state;
    struct config_peer peers[CONFIG_MAX_PEERS];
    assert_int_equal(parse(f, BASE), 0);
    assert_int_equal(config_validate(&f->config, &f->errors), 0);
    assert_int_equal(config_peers(&f->config, peers), 3);
    assert_int_equal(peers[0].id, 1);
    assert_int_equal(peers[1].id, 2);
    assert_int_equal(peers[2].id, 3);
    assert_string_equal(peers[2].at.host, "::1");
    assert_int_equal(peers[0].at.port, 9093);
    assert_int_equal(config_listener(&f->config).port, 9192);
    assert_string_equal(config_advertised(&f->config).host, "127.0.0.1");
    assert_int_equal(config_peer_listener(&f->config).port, 9193);
    assert_int_equal(config_set(&f->config, STR("advertised.listeners"), STR(" PLAINTEXT://broker-2.example:19092 "), &f->errors), 0);
    assert_string_equal(config_advertised(&f->config).host, "broker-2.example");
    assert_int_equal(config_advertised(&f->config).port, 19092);
}

static void endpoints_of_no_use_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",     "a",     ":",      "a:",     "a:0",     "a:65536", "a:-1",  "a:+1",
                                      "a:1x", "a b:1", "::1:80", "[::1]",  "[a]:1",   "[::1:1",  "a/b:1", "a:1234567890",
                                      "@a:1", "a:b:1", "a: 1",   "[::1]1", "a\x01:1", "[]:1"};
    struct config_endpoint at = {.port = 7};
    char longest[300];
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_false(config_parse_endpoint(str_of(bad[i]), &at));
    }
    memset(longest, 'a', sizeof(longest));
    memcpy(longest + 256, ":1", 3);
    assert_false(config_parse_endpoint(str_of(longest), &at));
    assert_int_equal(at.port, 7);
    assert_true(config_parse_endpoint(str_of(longest + 1), &at));
    assert_int_equal(strlen(at.host), 255);
    assert_true(config_parse_endpoint(STR(":65535"), &at));
    assert_string_equal(at.host, "");
    assert_int_equal(at.port, 65535);
}

static void a_dump_reads_back_as_the_same(void **state)
{
    struct fixture *f = *state;
    struct config again;
    struct buf first, second;
    assert_int_equal(parse(f, BASE "group.max.size=17\nmuster.log.level=debug\n"), 0);
    buf_init(&first, 0);
    buf_init(&second, 0);
    config_init(&again);
    config_dump(&f->config, &first);
    assert_int_equal(config_parse(&again, "dump", (struct str){(const char *)first.ptr, (int32_t)first.len}, &f->errors), 0);
    config_dump(&again, &second);
    assert_int_equal(first.len, second.len);
    assert_memory_equal(first.ptr, second.ptr, first.len);
    config_fini(&again);
    buf_fini(&first);
    buf_fini(&second);
}

/* ---- files -------------------------------------------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text, size_t len)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
}

/* What a function prints, and its result. */
static int check_captured(const char *path, char **out, char **err)
{
    size_t out_len, err_len;
    FILE *out_file = open_memstream(out, &out_len);
    FILE *err_file = open_memstream(err, &err_len);
    int status = config_check(path, out_file, err_file);
    fclose(out_file);
    fclose(err_file);
    return status;
}

static void files_are_checked(void **state)
{
    struct fixture *f = *state;
    char folder[] = "/tmp/muster-config-XXXXXX";
    char *out, *err;
    assert_non_null(mkdtemp(folder));
    const char *path = arena_printf(&f->arena, "%s/x.properties", folder).ptr;

    assert_int_equal(check_captured(path, &out, &err), 1);
    assert_string_equal(err, arena_printf(&f->arena, "%s: No such file or directory\n", path).ptr);
    free(out);
    free(err);

    write_file(path, BASE, strlen(BASE));
    assert_int_equal(check_captured(path, &out, &err), 0);
    assert_string_equal(out, arena_printf(&f->arena, "%s: good\n", path).ptr);
    assert_string_equal(err, "");
    free(out);
    free(err);

    write_file(path, "node.id=1\n", 10);
    assert_int_equal(config_load(&f->config, path, &f->errors), MUSTER_E_INVALID);
    assert_non_null(strstr(messages(f), arena_printf(&f->arena, "%s: muster.peers: is required\n", path).ptr));

    size_t big = (1 << 20) + 1;
    char *text = arena_get(&f->arena, big);
    memset(text, '\n', big);
    write_file(path, text, big);
    buf_clear(&f->errors);
    assert_int_equal(config_load(&f->config, path, &f->errors), MUSTER_E_INVALID);
    assert_non_null(strstr(messages(f), "is longer than 1048576 bytes\n"));

    assert_int_equal(config_load(&f->config, folder, &f->errors), MUSTER_E_IO);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void the_manual_names_every_key(void **state)
{
    (void)state;
    char *text;
    size_t len;
    FILE *file = open_memstream(&text, &len);
    config_help(file);
    fclose(file);
    for (size_t i = 0; i < config_key_count; i++) {
        char line[128];
        snprintf(line, sizeof(line), "\n  %s%s", config_keys[i].name, config_keys[i].default_text != NULL ? "=" : "    (required; ");
        assert_non_null(strstr(text, line));
    }
    assert_non_null(strstr(text, "\nThe node and its cluster\n\n  node.id "));
    assert_non_null(strstr(text, "\nOffsets\n\n  offset.metadata.max.bytes=4096    (0 to 2147483647)\n"));
    for (const char *p = text; *p != '\0'; p = strchr(p, '\n') + 1) {
        assert_true(strchr(p, '\n') - p < 140);
    }
    free(text);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(names_are_unique_and_defaults_are_themselves),
        CASE(every_number_keeps_its_range),
        CASE(values_reach_their_fields),
        CASE(wrong_lines_are_all_named),
        CASE(unknown_keys_get_a_suggestion),
        CASE(required_keys_are_required),
        CASE(keys_are_judged_together),
        CASE(streams_settings_are_judged_together),
        CASE(consumer_settings_are_judged_together),
        CASE(lists_keep_the_words_that_they_may_hold),
        CASE(settings_follow_the_keys),
        CASE(addresses_are_taken_apart),
        CASE(endpoints_of_no_use_are_refused),
        CASE(a_dump_reads_back_as_the_same),
        CASE(files_are_checked),
        CASE(the_manual_names_every_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
