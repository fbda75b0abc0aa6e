/* log_consumer_test.c: a consumer group in a log: its records as lines, and what they make of the group. */
#include "run.h"

#include "made.h"

#include <jansson.h>

/* Entry 3: a joins group c alone and has both partitions of orders; 4: b, which speaks the classic protocol, joins, a is to give one up; 5: so is group d, of which
 * a regular expression and records of both protocols are live. */
enum { LAST = 5 };

struct story {
    struct made made;
    char dir[32];
};

static const struct uuid orders = {{1, 2, 3}}, unknown = {{9}};

/* ---- records ---- */

static struct record group_record(struct story *s, const char *group, int32_t epoch)
{
    struct consumer_group_metadata_key key = {.group_id = str_of(group)};
    struct consumer_group_metadata_value v;
    wire_init(&wire_consumer_group_metadata_value, &v);
    v.epoch = epoch;
    v.metadata_hash = 4711;
    return wire_record_encode(RECORD_CONSUMER_GROUP_METADATA, &key, 0, &v, &s->made.arena);
}

static struct record assignment_record(struct story *s, int32_t epoch)
{
    struct consumer_group_target_assignment_metadata_key key = {.group_id = STR("c")};
    struct consumer_group_target_assignment_metadata_value v = {.assignment_epoch = epoch,
                                                                .assignment_timestamp = 1790000000000,
                                                                .assignment_clock_ms = 4711};
    return wire_record_encode(RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA, &key, 0, &v, &s->made.arena);
}

static struct record regex_record(struct story *s, const char *group)
{
    struct consumer_group_regular_expression_key key = {.group_id = str_of(group), .regular_expression = STR("o.*")};
    struct str topics[] = {STR("orders")};
    struct consumer_group_regular_expression_value v = {.topics = {topics, 1}, .version = 3, .timestamp = 1790000000000};
    return wire_record_encode(RECORD_CONSUMER_GROUP_REGULAR_EXPRESSION, &key, 0, &v, &s->made.arena);
}

static struct record member_record(struct story *s, const char *member, const char *instance, bool is_classic)
{
    static const uint8_t subscription[] = {0, 1, 0, 0, 0, 1, 0, 6, 'o', 'r', 'd', 'e', 'r', 's', 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0};
    struct consumer_group_member_metadata_key key = {.group_id = STR("c"), .member_id = str_of(member)};
    struct consumer_group_member_metadata_value_classic_protocol protocol = {STR("range"), {subscription, sizeof(subscription)}};
    struct consumer_group_member_metadata_value_classic_member_metadata classic = {.session_timeout_ms = 9000,
                                                                                   .supported_protocols = {&protocol, 1}};
    struct str topics[] = {STR("orders"), STR("payments")};
    struct consumer_group_member_metadata_value v;
    wire_init(&wire_consumer_group_member_metadata_value, &v);
    v.instance_id = str_of(instance);
    v.rack_id = STR_NULL;
    v.subscribed_topic_names = (struct str_array){topics, is_classic ? 1 : 2};
    v.subscribed_topic_regex = is_classic ? STR_NULL : STR("o.*");
    v.server_assignor = is_classic ? STR_NULL : STR("uniform");
    v.classic_member_metadata = is_classic ? &classic : NULL;
    return wire_record_encode(RECORD_CONSUMER_GROUP_MEMBER_METADATA, &key, 0, &v, &s->made.arena);
}

static struct record target_record(struct story *s, const char *member, struct uuid topic, int32_t first, int32_t count)
{
    struct consumer_group_target_assignment_member_key key = {.group_id = STR("c"), .member_id = str_of(member)};
    int32_t partitions[] = {0, 1, 2, 3};
    struct consumer_group_target_assignment_member_value_topic_partition one = {topic, {partitions + first, count}};
    struct consumer_group_target_assignment_member_value v = {.topic_partitions = {&one, 1}};
    return wire_record_encode(RECORD_CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER, &key, 0, &v, &s->made.arena);
}

static struct record current_record(struct story *s, const char *member, int32_t epoch, int8_t state, int32_t has, int32_t revoking)
{
    struct consumer_group_current_member_assignment_key key = {.group_id = STR("c"), .member_id = str_of(member)};
    int32_t partitions[] = {0, 1}, epochs[] = {2, 2};
    struct consumer_group_current_member_assignment_value_topic_partitions keeps = {orders, {partitions, has}, {epochs, has}};
    struct consumer_group_current_member_assignment_value_topic_partitions gives = {orders,
                                                                                    {partitions + has, revoking},
                                                                                    {epochs, revoking}};
    struct consumer_group_current_member_assignment_value v = {.member_epoch = epoch,
                                                               .previous_member_epoch = epoch - 1,
                                                               .state = state,
                                                               .assigned_partitions = {&keeps, has > 0},
                                                               .partitions_pending_revocation = {&gives, revoking > 0}};
    return wire_record_encode(RECORD_CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, &key, 0, &v, &s->made.arena);
}

static struct record streams_record(struct story *s, const char *group)
{
    struct streams_group_metadata_key key = {.group_id = str_of(group)};
    struct streams_group_metadata_value v;
    wire_init(&wire_streams_group_metadata_value, &v);
    v.epoch = 7;
    return wire_record_encode(RECORD_STREAMS_GROUP_METADATA, &key, 0, &v, &s->made.arena);
}

/* ---- the folder ---- */

static void write_group_c(struct story *s)
{
    struct made_change e;
    made_change_init(&e, API_KEY_CONSUMER_GROUP_HEARTBEAT, "consumer: join", "c", 0);
    made_change_add(&e, member_record(s, "a", "i-1", false));
    made_change_add(&e, regex_record(s, "c"));
    made_change_add(&e, group_record(s, "c", 2));
    made_change_add(&e, target_record(s, "a", orders, 0, 2));
    made_change_add(&e, assignment_record(s, 2));
    made_change_add(&e, current_record(s, "a", 2, 0, 2, 0));
    made_change_write(&s->made, &e, 3);
    made_change_init(&e, API_KEY_CONSUMER_GROUP_HEARTBEAT, "consumer: join", "c", 1);
    made_change_add(&e, member_record(s, "b", NULL, true));
    made_change_add(&e, group_record(s, "c", 3));
    made_change_add(&e, target_record(s, "a", orders, 0, 1));
    made_change_add(&e, target_record(s, "b", unknown, 1, 1));
    made_change_add(&e, assignment_record(s, 3));
    made_change_add(&e, current_record(s, "b", 3, 2, 0, 0));
    made_change_add(&e, current_record(s, "a", 2, 1, 1, 1));
    made_change_write(&s->made, &e, 4);
}

static int setup(void **state)
{
    struct story *s = calloc(1, sizeof(*s));
    struct made_change e;
    assert_non_null(s);
    made_init(&s->made);
    for (uint32_t shard = 0; shard < 2; shard++) {
        made_write(&s->made, (struct store_record){.kind = STORE_TERM, .shard = shard, .term = 1, .vote = 1});
        for (uint64_t index = 1; index <= (shard == 0 ? 3 : 2); index++) { /* shard 0: the topic orders */
            made_write(&s->made, made_entry(&s->made.arena, shard, index, 1));
        }
    }
    write_group_c(s);
    made_change_init(&e, API_KEY_CONSUMER_GROUP_HEARTBEAT, "consumer: join", "d", 0);
    made_change_add(&e, group_record(s, "d", 1));
    made_change_add(&e, regex_record(s, "d"));
    made_change_add(&e, streams_record(s, "d"));
    made_change_write(&s->made, &e, LAST);
    made_folder(&s->made, s->dir);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    struct story *s = *state;
    made_folder_remove(s->dir);
    made_fini(&s->made);
    free(s);
    return 0;
}

/* ---- tests ---- */

static void dump_shows_partitions_and_states_in_words(void **state)
{
    struct story *s = *state;
    struct run r = run_cli("log", "dump", "--data", s->dir, NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "ConsumerGroupMetadata GroupId=c : Epoch=2 <- ConsumerGroupHeartbeat v0 app-1 /127.0.0.1\n"));
    assert_non_null(strstr(r.out, "ConsumerGroupMemberMetadata GroupId=c MemberId=a : InstanceId=i-1 "));
    assert_non_null(strstr(r.out, "SubscribedTopicNames=[orders,payments] SubscribedTopicRegex=o.* ServerAssignor=uniform <-"));
    assert_non_null(
        strstr(r.out, "ClassicMemberMetadata={SessionTimeoutMs=9000 SupportedProtocols=[Name=range Metadata=topics(orders)]} <-"));
    assert_non_null(
        strstr(r.out, "ConsumerGroupTargetAssignmentMember GroupId=c MemberId=a : TopicPartitions=AQIDAAAAAAAAAAAAAAAAAA[0,1] <-"));
    assert_non_null(strstr(r.out, "ConsumerGroupCurrentMemberAssignment GroupId=c MemberId=a : MemberEpoch=2 PreviousMemberEpoch=1 "
                                  "State=UnrevokedPartitions AssignedPartitions=AQIDAAAAAAAAAAAAAAAAAA[0@2] "
                                  "PartitionsPendingRevocation=AQIDAAAAAAAAAAAAAAAAAA[1@2] <-"));
    assert_non_null(strstr(r.out, "ConsumerGroupRegularExpression GroupId=c RegularExpression=o.* : Topics=[orders] Version=3 <-"));
    run_fini(&r);
    r = run_cli("log", "dump", "--data", s->dir, "--type", "ConsumerGroupMemberMetadata", "--json", NULL);
    assert_int_equal(count_of(r.out, "\"decoded\":{\"range\":{\"version\":1,\"topics\":[\"orders\"]"), 1);
    run_fini(&r);
    r = run_cli("log", "dump", "--data", s->dir, "--type", "ConsumerGroupCurrentMemberAssignment", "--member", "a", "--json", NULL);
    assert_true(count_of(r.out, "\"State\":1,") > 0);
    assert_int_equal(count_of(r.out, "},\"names\":{\"State\":\"UnrevokedPartitions\"}}"), count_of(r.out, "\"State\":1,"));
    run_fini(&r);
    r = run_cli("log", "dump", "--data", s->dir, "--type", "ConsumerGroupMetadata", "--json", NULL);
    assert_int_equal(count_of(r.out, "\"names\""), 0); /* it has no such numbers */
    run_fini(&r);
}

static void state_shows_the_group_in_front_of_its_records(void **state)
{
    struct story *s = *state;
    assert_columns_told(run_cli("log", "state", "--data", s->dir, "--group", "c", "--shard", "1", NULL), "log", "state");
    struct run r = run_cli("log", "state", "--data", s->dir, "--group", "c", "--shard", "1", NULL);
    assert_int_equal(r.code, CLI_OK);
    const char *head = strstr(r.out, "Consumer group c: Reconciling, epoch 3, assignment epoch 3\n");
    assert_non_null(head);
    assert_true(head < strstr(r.out, "ConsumerGroupMetadata GroupId=c"));
    assert_non_null(strstr(r.out, "MEMBER-ID  GROUP-INSTANCE-ID  PROTOCOL  EPOCH  STATE                 SUBSCRIPTION          PARTITIONS  "
                                  "GIVING-UP  TARGET\n"));
    assert_non_null(strstr(r.out,
                           "\na          i-1                consumer      2  UnrevokedPartitions   orders,payments /o.*  orders[0]   "
                           "orders[1]  orders[0]\n"));
    assert_non_null(strstr(r.out,
                           "\nb          -                  classic       3  UnreleasedPartitions  orders                -           "
                           "-          CQAAAAAAAAAAAAAAAAAAAA[1]\n"));
    assert_null(strstr(r.out, "group d"));
    run_fini(&r);
    r = run_cli("log", "state", "--data", s->dir, "--group", "c", "--shard", "1", "--at", "3", NULL);
    assert_non_null(strstr(r.out, "Consumer group c: Stable, epoch 2, assignment epoch 2\n"));
    run_fini(&r);
    r = run_cli("log", "state", "--data", s->dir, "--group", "d", "--shard", "1", NULL); /* the streams group is in force */
    assert_non_null(strstr(r.out, "Consumer group d: ?, epoch 1, assignment epoch 0\n"));
    assert_non_null(strstr(r.out, "Streams group d: Initializing, epoch 7, assignment epoch 0, no topology\n"));
    run_fini(&r);
    r = run_cli("log", "state", "--data", s->dir, "--type", "ConsumerGroupMetadata", NULL); /* records were asked for, not groups */
    assert_int_equal(lines_of(r.out), 2);
    run_fini(&r);
}

static void check_group(const json_t *group)
{
    assert_string_equal(json_string_value(json_object_get(group, "state")), "Reconciling");
    assert_int_equal(json_integer_value(json_object_get(group, "epoch")), 3);
    const json_t *regex = json_array_get(json_object_get(group, "regularExpressions"), 0);
    assert_string_equal(json_string_value(json_object_get(regex, "regex")), "o.*");
    assert_string_equal(json_string_value(json_array_get(json_object_get(regex, "topics"), 0)), "orders");
    const json_t *a = json_array_get(json_object_get(group, "members"), 0), *b = json_array_get(json_object_get(group, "members"), 1);
    assert_string_equal(json_string_value(json_object_get(a, "memberId")), "a");
    assert_string_equal(json_string_value(json_object_get(a, "protocol")), "consumer");
    assert_string_equal(json_string_value(json_object_get(b, "protocol")), "classic");
    const json_t *giving = json_array_get(json_object_get(a, "givingUp"), 0), *target = json_array_get(json_object_get(b, "target"), 0);
    assert_string_equal(json_string_value(json_object_get(giving, "topic")), "orders");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(giving, "partitions"), 0)), 1);
    assert_true(json_is_null(json_object_get(target, "topic")));
    assert_string_equal(json_string_value(json_object_get(target, "topicId")), "CQAAAAAAAAAAAAAAAAAAAA");
    assert_int_equal(json_array_size(json_object_get(b, "partitions")), 0);
}

static void state_shows_the_group_as_json(void **state)
{
    struct story *s = *state;
    struct run r = run_cli("log", "state", "--data", s->dir, "--group", "c", "--shard", "1", "--json", NULL);
    assert_int_equal(r.code, CLI_OK);
    int groups = 0, records = 0;
    char *rest = r.out;
    for (char *line = strsep(&rest, "\n"); rest != NULL; line = strsep(&rest, "\n")) {
        json_t *object = json_loads(line, 0, NULL);
        assert_non_null(object);
        records += json_object_get(object, "record") != NULL ? 1 : 0;
        json_t *group = json_object_get(object, "consumerGroup");
        if (group != NULL) {
            groups++;
            assert_int_equal(records, 1); /* only its revision came before */
            check_group(group);
        }
        json_decref(object);
    }
    assert_int_equal(groups, 1);
    assert_int_equal(records, 1 + 3 + 3 + 3);
    run_fini(&r);
}

/* Shard 0 is read for the names of topics, whatever is asked for. */
static void names_are_known_whatever_shard_is_asked_for(void **state)
{
    struct story *s = *state;
    struct run r = run_cli("log", "state", "--data", s->dir, "--group", "c", "--shard", "1", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "orders[0]   orders[1]  orders[0]\n"));
    assert_null(strstr(r.out, "Topic Name=orders"));
    run_fini(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(dump_shows_partitions_and_states_in_words, setup, teardown),
        cmocka_unit_test_setup_teardown(state_shows_the_group_in_front_of_its_records, setup, teardown),
        cmocka_unit_test_setup_teardown(state_shows_the_group_as_json, setup, teardown),
        cmocka_unit_test_setup_teardown(names_are_known_whatever_shard_is_asked_for, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
