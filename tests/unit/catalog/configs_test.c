#include "fixture.h"
#include "tests.h"

#include "consumer/configs.h"

#include <stdio.h>
#include <string.h>

enum { TOPIC = 2, BROKER = 4, GROUP = 32, SET = 0, DELETE = 1, APPEND = 2, SUBTRACT = 3 };

/* A value that is set and its problem; NULL: taken. What Kafka 4.4.0 answers. */
struct value_case {
    const char *name, *value, *problem;
};

static void check_values(struct fixture *f, int8_t type, const char *resource, const struct value_case *cases, size_t count)
{
    char expected[1024];
    for (size_t i = 0; i < count; i++) {
        const char *answer = alter(f, type, resource, cases[i].name, SET, cases[i].value);
        if (cases[i].problem == NULL) {
            snprintf(expected, sizeof expected, "%s 0", resource);
        } else {
            snprintf(expected, sizeof expected, "%s 40 %s", resource, cases[i].problem);
        }
        if (strcmp(answer, expected) != 0) {
            fail_msg("%s=%s: \"%s\" instead of \"%s\"", cases[i].name, cases[i].value, answer, expected);
        }
        if (cases[i].problem == NULL) {
            alter(f, type, resource, cases[i].name, DELETE, NULL);
        }
    }
}

static const struct value_case topic_values[] = {
    {"nope", "1", "Unknown topic config name: nope"},
    {"retention.ms", "7000", NULL},
    {"retention.ms", "-1", NULL},
    {"retention.ms", "-2", "Invalid value -2 for configuration retention.ms: Value must be at least -1"},
    {"retention.ms", "x", "Invalid value x for configuration retention.ms: Not a number of type LONG"},
    {"retention.ms", "", "Invalid value  for configuration retention.ms: Not a number of type LONG"},
    {"retention.ms", "9223372036854775807", NULL},
    {"retention.ms", "99999999999999999999",
     "Invalid value 99999999999999999999 for configuration retention.ms: Not a number of type LONG"},
    {"retention.bytes", "-5", NULL},
    {"segment.bytes", "3000000000", "Invalid value 3000000000 for configuration segment.bytes: Not a number of type INT"},
    {"segment.bytes", "+2000000", NULL},
    {"segment.ms", "0", "Invalid value 0 for configuration segment.ms: Value must be at least 1"},
    {"cleanup.policy", "", NULL},
    {"cleanup.policy", "delete,delete", NULL},
    {"cleanup.policy", " delete , compact ", NULL},
    {"cleanup.policy", ",", "Configuration 'cleanup.policy' values must not be empty."},
    {"cleanup.policy", "foo", "Invalid value foo for configuration cleanup.policy: String must be one of: compact, delete"},
    {"leader.replication.throttled.replicas", "*", NULL},
    {"leader.replication.throttled.replicas", "0:1,1:2", NULL},
    {"leader.replication.throttled.replicas", "", NULL},
    {"leader.replication.throttled.replicas", "x",
     "Invalid value [x] for configuration leader.replication.throttled.replicas: leader.replication.throttled.replicas must be the "
     "literal "
     "'*' or a list of replicas in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],..."},
    {"compression.gzip.level", "-1", NULL},
    {"compression.gzip.level", "9", NULL},
    {"compression.gzip.level", "0",
     "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1"},
    {"compression.lz4.level", "0", "Invalid value 0 for configuration compression.lz4.level: Value must be at least 1"},
    {"compression.lz4.level", "18", "Invalid value 18 for configuration compression.lz4.level: Value must be no more than 17"},
    {"compression.zstd.level", "-131072", NULL},
    {"compression.type", "none",
     "Invalid value none for configuration compression.type: String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"},
    {"remote.storage.enable", "true",
     "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."},
    {"remote.log.copy.disable", "true", NULL},
    {"preallocate", "x", "Invalid value x for configuration preallocate: Expected value to be either true or false"},
    {"preallocate", " TRUE ", NULL},
    {"min.cleanable.dirty.ratio", "2", "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"},
    {"min.cleanable.dirty.ratio", "1.5", "Invalid value 1.5 for configuration min.cleanable.dirty.ratio: Value must be no more than 1"},
    {"min.cleanable.dirty.ratio", "-0.1", "Invalid value -0.1 for configuration min.cleanable.dirty.ratio: Value must be at least 0"},
    {"min.cleanable.dirty.ratio", "abc", "Invalid value abc for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"},
    {"min.cleanable.dirty.ratio", "", "Invalid value  for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"},
    {"min.cleanable.dirty.ratio", ".", "Invalid value . for configuration min.cleanable.dirty.ratio: Not a number of type DOUBLE"},
    {"min.cleanable.dirty.ratio", ".50", NULL},
    {"min.cleanable.dirty.ratio", "1.000", NULL},
    {"message.timestamp.type", "x",
     "Invalid value x for configuration message.timestamp.type: String must be one of: CreateTime, LogAppendTime"},
    {"max.decompressed.message.bytes", "2147483647",
     "Invalid value 2147483647 for configuration max.decompressed.message.bytes: Value must be no more than 2147483639"},
    {"local.retention.ms", "-3", "Invalid value -3 for configuration local.retention.ms: Value must be at least -2"},
    {"flush.messages", "0", "Invalid value 0 for configuration flush.messages: Value must be at least 1"},
    {"errors.deadletterqueue.group.enable", "true", NULL},
};

void test_topic_values(void **state)
{
    struct fixture *f = *state;
    create_one(f, "t", 1, 1);
    check_values(f, TOPIC, "t", topic_values, COUNT_OF(topic_values));
}

#define RANGE(name, low, high) name " must be in the range " low " to " high " inclusive."
static const struct value_case group_values[] = {
    {"nope", "1", "Unknown group config name: nope"},
    {"consumer.session.timeout.ms", "50000", NULL},
    {"consumer.session.timeout.ms", "1", RANGE("consumer.session.timeout.ms", "45000", "60000")},
    {"consumer.session.timeout.ms", "70000", RANGE("consumer.session.timeout.ms", "45000", "60000")},
    {"consumer.session.timeout.ms", "0", "Invalid value 0 for configuration consumer.session.timeout.ms: Value must be at least 1"},
    {"consumer.session.timeout.ms", "x", "Invalid value x for configuration consumer.session.timeout.ms: Not a number of type INT"},
    {"consumer.heartbeat.interval.ms", "1", RANGE("consumer.heartbeat.interval.ms", "5000", "15000")},
    {"consumer.heartbeat.interval.ms", "20000", RANGE("consumer.heartbeat.interval.ms", "5000", "15000")},
    {"consumer.assignment.interval.ms", "15001", RANGE("consumer.assignment.interval.ms", "0", "15000")},
    {"consumer.assignment.interval.ms", "-1",
     "Invalid value -1 for configuration consumer.assignment.interval.ms: Value must be at least 0"},
    {"consumer.assignor.offload.enable", "false", NULL},
    {"streams.num.standby.replicas", "3", "streams.num.standby.replicas must be less than or equal to 2"},
    {"streams.num.standby.replicas", "-1", "Invalid value -1 for configuration streams.num.standby.replicas: Value must be at least 0"},
    {"streams.num.warmup.replicas", "21", "streams.num.warmup.replicas must be less than or equal to 20"},
    {"streams.num.warmup.replicas", "0", NULL},
    {"streams.task.offset.interval.ms", "14999", "streams.task.offset.interval.ms must be greater than or equal to 15000"},
    {"streams.task.offset.interval.ms", "15000", NULL},
    {"streams.acceptable.recovery.lag", "-1",
     "Invalid value -1 for configuration streams.acceptable.recovery.lag: Value must be at least 0"},
    {"streams.acceptable.recovery.lag", "3000000000", NULL},
    {"streams.initial.rebalance.delay.ms", "-1",
     "Invalid value -1 for configuration streams.initial.rebalance.delay.ms: Value must be at least 0"},
    {"streams.initial.rebalance.delay.ms", "0", NULL},
    {"streams.session.timeout.ms", "60001", RANGE("streams.session.timeout.ms", "45000", "60000")},
    {"streams.assignor.name", "sticky", NULL},
    {"streams.assignor.name", "foo", "streams.assignor.name 'foo' is not a registered task assignor. Registered assignors are: [sticky]."},
    {"streams.assignor.name", "", "streams.assignor.name '' is not a registered task assignor. Registered assignors are: [sticky]."},
    {"streams.rack.aware.assignment.tags", "a,b", NULL},
    {"streams.rack.aware.assignment.tags", "", NULL},
    {"streams.rack.aware.assignment.tags", "a,a", "streams.rack.aware.assignment.tags must not contain duplicate tag keys."},
    {"streams.rack.aware.assignment.tags", "a,", "Configuration 'streams.rack.aware.assignment.tags' values must not be empty."},
    {"streams.assignor.offload.enable", "x",
     "Invalid value x for configuration streams.assignor.offload.enable: Expected value to be either true or false"},
    {"streams.topology.update", "epoch", NULL},
    {"streams.topology.update", "always",
     "Invalid value always for configuration streams.topology.update: String must be one of: reject, epoch"},
    {"streams.topology.initialization", "strict", NULL},
    {"streams.topology.initialization", "",
     "Invalid value  for configuration streams.topology.initialization: String must be one of: implicit, explicit, strict"},
    {"streams.warmup.mode", "lag", NULL},
    {"streams.warmup.mode", "LAG", "Invalid value LAG for configuration streams.warmup.mode: String must be one of: none, lag"},
    {"share.delivery.count.limit", "1", "Invalid value 1 for configuration share.delivery.count.limit: Value must be at least 2"},
    {"share.delivery.count.limit", "11", RANGE("share.delivery.count.limit", "2", "10")},
    {"share.record.lock.duration.ms", "14999", RANGE("share.record.lock.duration.ms", "15000", "60000")},
    {"share.partition.max.record.locks", "4001", RANGE("share.partition.max.record.locks", "100", "4000")},
    {"share.auto.offset.reset", "earliest", NULL},
    {"share.auto.offset.reset", "by_duration:PT1H", NULL},
    {"share.auto.offset.reset", "by_duration:P1DT2H3M4.5S", NULL},
    {"share.auto.offset.reset", "by_duration:P2D", NULL},
    {"share.isolation.level", "READ_COMMITTED",
     "Invalid value READ_COMMITTED for configuration share.isolation.level: String must be one of: read_committed, read_uncommitted"},
    {"errors.deadletterqueue.topic.name", "__x", "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'"},
    {"errors.deadletterqueue.topic.name", "a b", NULL},
    {"errors.deadletterqueue.copy.record.enable", "TRUE", NULL},
};

void test_group_values(void **state)
{
    struct fixture *f = *state;
    check_values(f, GROUP, "g", group_values, COUNT_OF(group_values));
    static const char *const bad_resets[] = {"x",
                                             "LATEST",
                                             "by_duration:1h",
                                             "by_duration:-PT1H",
                                             "by_duration:P",
                                             "by_duration:PT",
                                             "by_duration:PT1",
                                             "by_duration:P1H",
                                             "by_duration:PT1D",
                                             "by_duration:PT1.5H",
                                             "by_duration:PT1M1H",
                                             "by_duration:PT1H1H"};
    for (size_t i = 0; i < COUNT_OF(bad_resets); i++) {
        char expected[512];
        snprintf(expected, sizeof expected,
                 "g 40 Invalid value %s for configuration share.auto.offset.reset: Invalid value `%s` for configuration "
                 "share.auto.offset.reset. "
                 "The value must be either 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
                 bad_resets[i], bad_resets[i]);
        assert_string_equal(alter(f, GROUP, "g", "share.auto.offset.reset", SET, bad_resets[i]), expected);
    }
}

/* What nodes of an older version would not keep to cannot be set before all know it; it can always be taken away. */
void test_configs_of_a_level(void **state)
{
    struct fixture *f = *state;
    struct feature_level_key key = {STR("feature.level")};
    struct feature_level_value value = {.level = 2, .release = STR_NULL};
    assert_string_equal(
        alter(f, GROUP, "g", "muster.protected", SET, "true"),
        "g 44 muster.protected needs feature level 2, and the cluster is at 1: nodes of an older version would not keep to it. "
        "When all run a newer one: muster cluster upgrade.");
    assert_string_equal(alter(f, GROUP, "g", "muster.protected", DELETE, NULL), "g 0");
    assert_true(group_apply(f->world.set, 99, wire_record_encode(RECORD_FEATURE_LEVEL, &key, 0, &value, &f->arena), &f->arena));
    assert_string_equal(alter(f, GROUP, "g", "muster.protected", SET, "true"), "g 0");
}

/* As seen on Kafka 4.4.0 with the same bounds. */
void test_group_timeouts_together(void **state)
{
    static const char session[] = "streams.session.timeout.ms";
    static const char heartbeat[] = "streams.heartbeat.interval.ms";
    static const char refused[] = "g 40 streams.session.timeout.ms must be greater than streams.heartbeat.interval.ms";
    struct fixture *f = *state;
    f->world.settings.streams.min_session_timeout_ms = 6000;
    f->world.settings.streams.max_heartbeat_interval_ms = 8000;
    assert_string_equal(alter(f, GROUP, "g", session, SET, "7000"), "g 0");
    assert_string_equal(alter(f, GROUP, "g", heartbeat, SET, "7500"), refused);
    assert_string_equal(alter(f, GROUP, "g", heartbeat, SET, "7000"), refused);
    assert_string_equal(alter(f, GROUP, "g", heartbeat, SET, "6999"), "g 0");
    assert_string_equal(alter(f, GROUP, "g", session, SET, "6999"), refused);
    assert_string_equal(alter(f, GROUP, "g", session, DELETE, NULL), "g 0");
    assert_string_equal(alter(f, GROUP, "g", heartbeat, SET, "8000"), "g 0");
    assert_string_equal(alter(f, GROUP, "g", session, SET, "8000"), refused);
    assert_string_equal(alter(f, GROUP, "g", heartbeat, DELETE, NULL), "g 0");
    assert_string_equal(alter(f, GROUP, "g", session, SET, "6000"), "g 0"); /* the node's interval is 5000 */
    f->world.settings.streams.heartbeat_interval_ms = 6000;
    assert_string_equal(alter(f, GROUP, "g", "streams.num.standby.replicas", SET, "1"), "g 0");
    assert_string_equal(alter(f, GROUP, "g", session, SET, "6001"), "g 0");
    assert_string_equal(alter(f, GROUP, "g", session, SET, "6000"), refused);
}

/* The bounds are the node's, in the texts, too. */
void test_consumer_timeouts(void **state)
{
    static const char session[] = "consumer.session.timeout.ms";
    static const char heartbeat[] = "consumer.heartbeat.interval.ms";
    static const char refused[] = "g 40 consumer.session.timeout.ms must be greater than consumer.heartbeat.interval.ms";
    struct fixture *f = *state;
    struct consumer_settings *node = &f->world.settings.consumer;
    assert_string_equal(alter(f, GROUP, "g", session, SET, "44999"),
                        "g 40 consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.");
    node->min_session_timeout_ms = 6000;
    node->max_heartbeat_interval_ms = 8000;
    node->max_assignment_interval_ms = 20;
    assert_string_equal(alter(f, GROUP, "g", session, SET, "5999"),
                        "g 40 consumer.session.timeout.ms must be in the range 6000 to 60000 inclusive.");
    assert_string_equal(alter(f, GROUP, "g", "consumer.assignment.interval.ms", SET, "21"),
                        "g 40 consumer.assignment.interval.ms must be in the range 0 to 20 inclusive.");
    assert_string_equal(alter(f, GROUP, "g", session, SET, "7000"), "g 0");
    assert_string_equal(alter(f, GROUP, "g", heartbeat, SET, "7000"), refused);
    assert_string_equal(alter(f, GROUP, "g", heartbeat, SET, "6999"), "g 0");
    assert_string_equal(alter(f, GROUP, "g", session, SET, "6999"), refused);
    assert_string_equal(alter(f, GROUP, "g", "streams.heartbeat.interval.ms", SET, "6999"), "g 0"); /* no matter here */
}

/* What is in force: the group's own within the node's bounds, over what the node has. */
void test_consumer_configs(void **state)
{
    struct fixture *f = *state;
    struct consumer_configs c;
    consumer_configs(NULL, &f->world.settings, STR("g"), &f->arena, &c);
    assert_int_equal(c.session_timeout_ms, 45000);
    assert_true(c.offload);
    assert_string_equal(alter(f, GROUP, "g", "consumer.session.timeout.ms", SET, "50000"), "g 0");
    assert_string_equal(alter(f, GROUP, "g", "consumer.assignment.interval.ms", SET, "2000"), "g 0");
    assert_string_equal(alter(f, GROUP, "g", "consumer.assignor.offload.enable", SET, "false"), "g 0");
    consumer_configs(f->world.set, &f->world.settings, STR("g"), &f->arena, &c);
    assert_int_equal(c.session_timeout_ms, 50000);
    assert_int_equal(c.heartbeat_interval_ms, 5000);
    assert_int_equal(c.assignment_interval_ms, 2000);
    assert_false(c.offload);
    f->world.settings.consumer.max_session_timeout_ms = 47000;
    f->world.settings.consumer.max_assignment_interval_ms = 1500;
    consumer_configs(f->world.set, &f->world.settings, STR("g"), &f->arena, &c);
    assert_int_equal(c.session_timeout_ms, 47000);
    assert_int_equal(c.assignment_interval_ms, 1500);
    consumer_configs(f->world.set, &f->world.settings, STR("h"), &f->arena, &c);
    assert_int_equal(c.session_timeout_ms, 45000);
}

void test_resources(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(alter(f, TOPIC, "none", "retention.ms", SET, "1"), "none 3 The topic 'none' does not exist.");
    assert_string_equal(alter(f, TOPIC, "", "retention.ms", SET, "1"), " 42 Default topic resources are not allowed.");
    assert_string_equal(
        alter(f, TOPIC, "a b", "retention.ms", SET, "1"),
        "a b 17 Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'");
    assert_string_equal(alter(f, GROUP, "", "consumer.session.timeout.ms", SET, "1"), " 42 Default group resources are not allowed.");
    assert_string_equal(alter(f, 0, "x", "a", SET, "1"), "x 42 Unknown resource type 0");
    assert_string_equal(alter(f, 99, "x", "a", SET, "1"), "x 42 Unknown resource type 99");
    assert_string_equal(alter(f, BROKER, "abc", "log.retention.ms", SET, "1"), "abc 42 Node id must be an integer, but it is: abc");
    assert_string_equal(alter(f, BROKER, "7", "log.retention.ms", SET, "1"), "7 42 No broker with id 7 is registered.");
    assert_string_equal(alter(f, GROUP, "g", "consumer.session.timeout.ms", SET, NULL),
                        "g 42 Null value not supported for : consumer.session.timeout.ms");
    assert_string_equal(alter(f, GROUP, "g", "consumer.session.timeout.ms", 9, "1"), "g 42 Unknown operations type 9");
    assert_int_equal(f->records, 0);
}

/* Configs of groups that do not exist fill no memory beyond the budget; what is there can always be taken away. */
void test_configs_within_the_budget(void **state)
{
    struct fixture *f = *state;
    struct group_set_counts counts;
    char group[16] = "g0";
    int taken = 0;
    group_set_counts(f->world.set, &counts);
    f->world.settings.max_state_bytes = counts.bytes + 4096;
    const char *answer = alter(f, GROUP, group, "consumer.session.timeout.ms", SET, "50000");
    for (; strstr(answer, " 44 ") == NULL && taken < 100; taken++) {
        snprintf(group, sizeof group, "g%d", taken + 1);
        answer = alter(f, GROUP, group, "consumer.session.timeout.ms", SET, "50000");
    }
    assert_in_range(taken, 2, 30);
    assert_string_equal(alter(f, GROUP, "g0", "consumer.session.timeout.ms", DELETE, NULL), "g0 0");
}

void test_operations(void **state)
{
    struct fixture *f = *state;
    create_one(f, "t", 1, 1);
    assert_string_equal(alter(f, TOPIC, "t", "cleanup.policy", APPEND, "compact"), "t 0");
    assert_string_equal(describe(f, TOPIC, "t", "cleanup.policy", false), "cleanup.policy=delete,compact(1)");
    assert_string_equal(alter(f, TOPIC, "t", "cleanup.policy", APPEND, "compact,compact"), "t 0");
    assert_string_equal(alter(f, TOPIC, "t", "cleanup.policy", SUBTRACT, "delete"), "t 0");
    assert_string_equal(describe(f, TOPIC, "t", "cleanup.policy", false), "cleanup.policy=compact(1)");
    assert_string_equal(alter(f, TOPIC, "t", "cleanup.policy", SUBTRACT, "compact"), "t 0");
    assert_string_equal(describe(f, TOPIC, "t", "cleanup.policy", false), "cleanup.policy=(1)");
    assert_string_equal(alter(f, TOPIC, "t", "cleanup.policy", APPEND, "bad"),
                        "t 40 Invalid value bad for configuration cleanup.policy: String must be one of: compact, delete");
    assert_string_equal(alter(f, TOPIC, "t", "retention.ms", APPEND, "1"),
                        "t 40 Can't APPEND to key retention.ms because its type is not LIST.");
    assert_string_equal(alter(f, GROUP, "g", "streams.rack.aware.assignment.tags", SUBTRACT, "a"),
                        "g 40 Can't SUBTRACT to key streams.rack.aware.assignment.tags because its type is not LIST.");
    assert_string_equal(alter(f, TOPIC, "t", "nope", APPEND, "1"), "t 40 Can't APPEND to key nope because its type is not LIST.");
    assert_string_equal(alter(f, TOPIC, "t", "cleanup.policy", DELETE, NULL), "t 0");
    int64_t before = f->records;
    assert_string_equal(alter(f, TOPIC, "t", "cleanup.policy", DELETE, NULL), "t 0");
    assert_string_equal(alter(f, TOPIC, "t", "nope", DELETE, NULL), "t 0");
    assert_int_equal(f->records, before);
    assert_string_equal(f->rule, "alter configs: nothing changed");
}

/* A list cannot grow beyond what a record's string may hold. */
void test_long_list(void **state)
{
    struct fixture *f = *state;
    char tags[20001];
    create_one(f, "t", 1, 1);
    size_t len = 0;
    for (int i = 0; i < 2000; i++) {
        len += (size_t)snprintf(tags + len, sizeof tags - len, "%s%d:%d", i > 0 ? "," : "", i, i + 1000);
    }
    assert_string_equal(alter(f, TOPIC, "t", "leader.replication.throttled.replicas", SET, tags), "t 0");
    len = 0;
    for (int i = 0; i < 1700; i++) {
        len += (size_t)snprintf(tags + len, sizeof tags - len, "%s%d:%d", i > 0 ? "," : "", i + 2000, i + 10000);
    }
    assert_string_equal(alter(f, TOPIC, "t", "leader.replication.throttled.replicas", APPEND, tags),
                        "t 40 The value of leader.replication.throttled.replicas becomes too long.");
}

/* Each resource for itself; a resource that is named twice is refused both times. */
void test_several(void **state)
{
    struct fixture *f = *state;
    typedef struct incremental_alter_configs_request_alterable_config change;
    change one[] = {{STR("retention.ms"), SET, STR("1")}, {STR("segment.ms"), SET, STR("9")}};
    change twice[] = {{STR("retention.ms"), SET, STR("1")}, {STR("retention.ms"), SET, STR("2")}};
    change nulls[] = {{STR("retention.ms"), SET, STR_NULL}, {STR("a"), DELETE, STR_NULL}, {STR("b"), APPEND, STR_NULL}};
    change clash[] = {{STR("min.compaction.lag.ms"), SET, STR("10")}, {STR("max.compaction.lag.ms"), SET, STR("5")}};
    const char *names[] = {"a", "b", "c", "d", "e"};
    for (int i = 0; i < 5; i++) {
        create_one(f, names[i], 1, 1);
    }
    struct incremental_alter_configs_request_alter_configs_resource r[] = {{TOPIC, STR("a"), {one, 1}},   {TOPIC, STR("b"), {one, 2}},
                                                                           {TOPIC, STR("a"), {one, 1}},   {TOPIC, STR("c"), {twice, 2}},
                                                                           {TOPIC, STR("d"), {nulls, 3}}, {TOPIC, STR("e"), {clash, 2}},
                                                                           {GROUP, STR("b"), {one, 1}}};
    struct incremental_alter_configs_request q = {.resources = {r, 7}, .validate_only = true};
    const char *expected = "a 42 Each resource must appear at most once.\nb 0\na 42 Each resource must appear at most once.\n"
                           "c 42 Error due to duplicate config keys\n"
                           "d 42 Null value not supported for : retention.ms, b\n"
                           "e 40 conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)\n"
                           "b 40 Unknown group config name: retention.ms";
    int64_t before = f->records;
    assert_string_equal(ask(f, CATALOG_ALTER_CONFIGS, 1, &q), expected);
    assert_int_equal(f->records, before);
    assert_string_equal(f->rule, "alter configs: validated only");
    q.validate_only = false;
    assert_string_equal(ask(f, CATALOG_ALTER_CONFIGS, 1, &q), expected);
    assert_string_equal(describe(f, TOPIC, "b", "retention.ms segment.ms", false), "retention.ms=1(1) segment.ms=9(1)");
    /* What is stored already is looked at, too. */
    assert_string_equal(alter(f, TOPIC, "e", "min.compaction.lag.ms", SET, "100"), "e 0");
    assert_string_equal(alter(f, TOPIC, "e", "max.compaction.lag.ms", SET, "99"),
                        "e 40 conflict topic config setting min.compaction.lag.ms (100) > max.compaction.lag.ms (99)");
}

void test_describe_topic(void **state)
{
    struct fixture *f = *state;
    create_one(f, "t", 1, 1);
    assert_string_equal(describe(f, TOPIC, "none", NULL, true), "3 ");
    assert_string_equal(describe(f, TOPIC, "", NULL, true), "17 Topic name is invalid: the empty string is not allowed");
    assert_string_equal(describe(f, TOPIC, "t", "segment.ms compression.type retention.ms nope", true),
                        "compression.type=producer(5)[compression.type=producer(5)] retention.ms=604800000(5) segment.ms=604800000(5)");
    alter(f, TOPIC, "t", "preallocate", SET, " TRUE ");
    alter(f, TOPIC, "t", "min.cleanable.dirty.ratio", SET, ".50");
    alter(f, TOPIC, "t", "segment.bytes", SET, "+2000000");
    alter(f, TOPIC, "t", "follower.replication.throttled.replicas", SET, " 0:1 , 1:1");
    assert_string_equal(describe(f, TOPIC, "t",
                                 "preallocate min.cleanable.dirty.ratio segment.bytes follower.replication.throttled.replicas", true),
                        "follower.replication.throttled.replicas=0:1,1:1(1)[follower.replication.throttled.replicas=0:1,1:1(1)] "
                        "min.cleanable.dirty.ratio=0.5(1)[min.cleanable.dirty.ratio=0.5(1) log.cleaner.min.cleanable.ratio=0.5(5)] "
                        "preallocate=true(1)[preallocate=true(1) log.preallocate=false(5)] "
                        "segment.bytes=2000000(1)[segment.bytes=2000000(1) log.segment.bytes=1073741824(5)]");
    /* What is set for all brokers is what topics fall back to. */
    assert_string_equal(alter(f, BROKER, "", "log.segment.bytes", SET, "5000000"), " 0");
    alter(f, TOPIC, "t", "segment.bytes", DELETE, NULL);
    assert_string_equal(describe(f, TOPIC, "t", "segment.bytes", true),
                        "segment.bytes=5000000(3)[log.segment.bytes=5000000(3) log.segment.bytes=1073741824(5)]");
}

void test_describe_group(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(describe(f, GROUP, "", NULL, true), "42 Group name must not be empty");
    assert_string_equal(describe(f, 8, "1", NULL, true), "42 Unsupported resource type: 8");
    assert_string_equal(describe(f, 16, "x", NULL, true), "");
    assert_string_equal(describe(f, 16, "", NULL, true), "42 Client metrics subscription name must not be empty");
    assert_non_null(strstr(describe(f, 77, "x", NULL, true), "42 This most likely occurs because of a request being malformed"));
    alter(f, GROUP, "g", "consumer.session.timeout.ms", SET, "50000");
    alter(f, GROUP, "g", "share.isolation.level", SET, "read_committed");
    assert_string_equal(
        describe(f, GROUP, "g", "consumer.session.timeout.ms share.isolation.level streams.assignor.name", true),
        "consumer.session.timeout.ms=50000(8)[consumer.session.timeout.ms=50000(8) group.consumer.session.timeout.ms=45000(5)] "
        "share.isolation.level=read_committed(8)[share.isolation.level=read_committed(8)] "
        "streams.assignor.name=sticky(5)[group.streams.assignors=sticky(5)]");
    assert_string_equal(describe(f, GROUP, "other", "share.isolation.level", true),
                        "share.isolation.level=read_uncommitted(5)[share.isolation.level=read_uncommitted(5)]");
    /* Hidden ones can be set but are not told; the others are all there. */
    alter(f, GROUP, "g", "streams.num.warmup.replicas", SET, "3");
    assert_string_equal(describe(f, GROUP, "g", "streams.num.warmup.replicas", true), "");
    int names = 0;
    for (const char *at = describe(f, GROUP, "g", NULL, false); (at = strchr(at, '=')) != NULL; at++) {
        names++;
    }
    assert_int_equal(names, 21);
    /* Our own are told to who asks for them, and to everybody where they are set. */
    assert_null(strstr(describe(f, GROUP, "g", NULL, false), "streams.topology"));
    assert_string_equal(describe(f, GROUP, "g", "streams.topology.update streams.warmup.mode", true),
                        "streams.topology.update=reject(5)[streams.topology.update=reject(5)] "
                        "streams.warmup.mode=none(5)[streams.warmup.mode=none(5)]");
    alter(f, GROUP, "g", "streams.topology.initialization", SET, "explicit");
    assert_non_null(strstr(describe(f, GROUP, "g", NULL, false), "streams.topology.initialization=explicit(8)"));
    assert_null(strstr(describe(f, GROUP, "g", NULL, false), "streams.topology.update"));
    struct str name = STR_NULL;
    assert_true(catalog_next_config_resource(f->world.set, GROUP, name, &name) && str_eq(name, STR("g")));
    assert_false(catalog_next_config_resource(f->world.set, GROUP, name, &name));
    /* The node's own setting is what a group falls back to. */
    assert_string_equal(
        describe_on_node(f, "g2", "consumer.session.timeout.ms"),
        "consumer.session.timeout.ms=50000(4)[group.consumer.session.timeout.ms=50000(4) group.consumer.session.timeout.ms=45000(5)]");
}

void test_broker_configs(void **state)
{
    struct fixture *f = *state;
    assert_string_equal(alter(f, BROKER, "1", "num.partitions", SET, "5"),
                        "1 42 Cannot update these configs dynamically: [num.partitions]");
    assert_string_equal(alter(f, BROKER, "", "muster.shards", SET, "5"), " 42 Cannot update these configs dynamically: [muster.shards]");
    assert_string_equal(alter(f, BROKER, "", "log.retention.ms", SET, "x"),
                        " 42 Invalid value x for configuration log.retention.ms: Not a number of type LONG");
    assert_string_equal(alter(f, BROKER, "", "muster.max.groups", SET, "0"),
                        " 42 Invalid value 0 for configuration muster.max.groups: Value must be at least 1");
    assert_string_equal(alter(f, BROKER, "1", "log.retention.ms", APPEND, "1"),
                        "1 40 Config value append is not allowed for config key: log.retention.ms");
    assert_string_equal(alter(f, BROKER, "2", "log.retention.ms", SET, "1000"), "2 0");
    assert_string_equal(alter(f, BROKER, "", "muster.max.groups", SET, "900"), " 0");
    assert_string_equal(alter(f, BROKER, "", "some.plugin", SET, "secret"), " 0");
    assert_string_equal(describe(f, BROKER, "", NULL, true),
                        "muster.max.groups=900(3)[muster.max.groups=900(3)] some.plugin=(3 fixed secret)[some.plugin=(3)]");
    assert_string_equal(describe_on_node(f, "2", NULL),
                        "node.id=2(4 fixed)[node.id=2(4) node.id=-1(5)] num.partitions=7(4 fixed)[num.partitions=7(4) num.partitions=1(5)] "
                        "group.max.size=2147483647(5 fixed)[group.max.size=2147483647(5)] "
                        "muster.max.groups=900(3)[muster.max.groups=900(3) muster.max.groups=500(4) muster.max.groups=1000000(5)] "
                        "group.consumer.session.timeout.ms=50000(4 fixed)[group.consumer.session.timeout.ms=50000(4) "
                        "group.consumer.session.timeout.ms=45000(5)] "
                        "muster.odd=x(4 fixed)[muster.odd=x(4)] log.retention.ms=1000(2)[log.retention.ms=1000(2)] "
                        "some.plugin=(3 fixed secret)[some.plugin=(3)]");
    assert_string_equal(describe_on_node(f, "1", NULL), "42 Unexpected broker id, expected 2 or empty string, but received 1");
    assert_string_equal(describe_on_node(f, "x", NULL), "42 Broker id must be an integer, but it is: x");
}

/* Budgets are of the cluster and replicated; a shard has its share. */
void test_budgets(void **state)
{
    struct fixture *f = *state;
    struct group_settings settings = {.max_groups = 1, .max_members = 2, .max_state_bytes = 3};
    catalog_settings(f->world.set, 8, &settings);
    assert_true(settings.max_groups == 1 && settings.max_members == 2 && settings.max_state_bytes == 3);
    assert_string_equal(alter(f, BROKER, "", "muster.max.groups", SET, "81"), " 0");
    assert_string_equal(alter(f, BROKER, "", "muster.max.state.bytes", SET, " 8000000 "), " 0");
    catalog_settings(f->world.set, 8, &settings);
    assert_true(settings.max_groups == 11 && settings.max_members == 2 && settings.max_state_bytes == 1000000);
}
