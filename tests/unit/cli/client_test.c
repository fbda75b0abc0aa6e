/* client_test.c: commands against a node that is made up. */
#include "fake_node.h"

#include <time.h>

static void a_coordinator_is_waited_for(void **state)
{
    struct fake *f = *state;
    f->coordinator_missing = 3;
    struct run r = run_cli("groups", "coordinator", "g", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "\n   7  127.0.0.1:"));
    run_fini(&r);
    f->coordinator_missing = 1 << 20;
    r = run_cli("groups", "coordinator", "g", "--timeout", "200", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "COORDINATOR_NOT_AVAILABLE"));
    run_fini(&r);
}

static void a_moved_coordinator_is_followed(void **state)
{
    struct fake *f = *state;
    f->not_coordinator = 2;
    struct run r = run_cli("groups", "describe", "g", NULL);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "g      classic  Empty"));
    assert_int_equal(f->not_coordinator, 0);
    run_fini(&r);
}

static void a_consumer_group_is_described(void **state)
{
    (void)state;
    struct run r = run_cli("groups", "describe", "moving", "--members", NULL);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "GROUP   TYPE      STATE        EPOCH  ASSIGNMENT-EPOCH  ASSIGNOR  #MEMBERS  COORDINATOR          SHARD\n"
                                  "moving  consumer  Reconciling      5                 4  uniform          2  7 (127.0.0.1:"));
    assert_non_null(strstr(r.out, "PROTOCOL  EPOCH  TARGET-EPOCH  TOPICS       TOPIC-REGEX  ASSIGNMENT   TARGET\n"));
    assert_non_null(strstr(r.out, " classic       4             4  orders       -            -            orders[1]\n"));
    assert_non_null(strstr(r.out, " consumer      3             4  orders,wide  ord.*        orders[0,1]  orders[0]\n"));
    run_fini(&r);
    r = run_cli("groups", "describe", "moving", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "moving  orders          1               -              15    -  z            /h    c\n"));
    run_fini(&r);
    r = run_cli("groups", "describe", "moving", "g", "--json", NULL);
    assert_int_equal(r.code, CLI_OK);
    json_t *document = json_loads(r.out, 0, NULL);
    json_t *groups = json_object_get(document, "groups"), *group = json_array_get(groups, 0);
    assert_int_equal(json_array_size(groups), 2);
    assert_int_equal(json_integer_value(json_object_get(group, "assignmentEpoch")), 4);
    json_t *z = json_array_get(json_object_get(group, "members"), 1);
    assert_string_equal(json_string_value(json_object_get(z, "memberType")), "consumer");
    assert_string_equal(json_string_value(json_object_get(z, "topicRegex")), "ord.*");
    assert_string_equal(json_string_value(json_object_get(z, "rackId")), "r1");
    assert_int_equal(json_array_size(json_object_get(json_array_get(json_object_get(z, "assignment"), 0), "partitions")), 2);
    assert_int_equal(json_array_size(json_object_get(json_array_get(json_object_get(z, "targetAssignment"), 0), "partitions")), 1);
    assert_null(json_object_get(json_array_get(groups, 1), "epoch")); /* a classic group */
    json_decref(document);
    run_fini(&r);
}

static void check_protected(const char *words, json_type first, json_type second)
{
    struct run r = run_cli("groups", "describe", "moving", "g", "--json", NULL);
    json_t *document = json_loads(r.out, 0, NULL), *groups = json_object_get(document, "groups");
    assert_int_equal(json_typeof(json_object_get(json_array_get(groups, 0), "protected")), first);
    assert_int_equal(json_typeof(json_object_get(json_array_get(groups, 1), "protected")), second);
    json_decref(document);
    run_fini(&r);
    r = run_cli("groups", "describe", "moving", "--state", NULL);
    assert_int_equal(strstr(r.out, words) != NULL, first == JSON_TRUE);
    run_fini(&r);
    r = run_cli("groups", "describe", "g", "--state", NULL);
    assert_null(strstr(r.out, words));
    run_fini(&r);
}

static void a_protected_group_is_said_to_be(void **state)
{
    struct fake *f = *state;
    check_protected("\n\nPROTECTED  not deleted, and its offsets are changed by its members only", JSON_TRUE, JSON_FALSE);
    f->kafka = true; /* which does not know of it */
    check_protected("PROTECTED", JSON_NULL, JSON_NULL);
}

static void an_unknown_group_is_an_error(void **state)
{
    (void)state;
    struct run r = run_cli("groups", "describe", "none", "--json", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_string_equal(r.out, "");
    assert_string_equal(r.err, "muster: group 'none': GROUP_ID_NOT_FOUND: not here: none\n");
    run_fini(&r);
    r = run_cli("groups", "describe", "", NULL);
    assert_string_equal(r.err, "muster: group '': GROUP_ID_NOT_FOUND: not here: \n");
    run_fini(&r);
    r = run_cli("offsets", "list", "g", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "no committed offsets"));
    run_fini(&r);
}

/* Neither a name that somebody chose nor what a server says of it may reach the terminal as it is. */
static void messages_are_safe(void **state)
{
    struct fake *f = *state;
    struct run r = run_cli("groups", "describe", "red\x1b[31m", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_string_equal(r.err, "muster: group 'red\\x1b[31m': GROUP_ID_NOT_FOUND: not here: red\\x1b[31m\n");
    run_fini(&r);
    f->coordinator_missing = 1 << 20;
    r = run_cli("groups", "describe", "bell\a\xff", "--timeout", "100", NULL);
    assert_non_null(strstr(r.err, "group 'bell\\x07\\xff' has no coordinator: none was elected in time\n"));
    run_fini(&r);
    r = run_cli("groups", "describe", "", "--timeout", "100", NULL);
    assert_non_null(strstr(r.err, "group '' has no coordinator: none was elected in time\n"));
    run_fini(&r);
}

static void another_controller_is_asked(void **state)
{
    struct fake *f = *state;
    f->not_controller = 2;
    struct run r = run_cli("topics", "create", "t", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(f->creates, 3);
    assert_non_null(strstr(r.out, "created"));
    run_fini(&r);
}

/* Nobody is sent a change when no node leads. */
static void a_missing_controller_is_told(void **state)
{
    struct fake *f = *state;
    f->leaderless = true;
    struct run r = run_cli("topics", "create", "t", "--timeout", "300", NULL);
    assert_int_equal(r.code, CLI_UNREACHABLE);
    assert_int_equal(f->creates, 0);
    assert_string_equal(r.err, "muster: no node leads the cluster: no majority of its nodes answers (muster cluster status)\n");
    run_fini(&r);
}

/* Who asks stands in the log: the user, in characters that every server takes. */
static void requests_name_the_user(void **state)
{
    struct fake *f = *state;
    char user[CLIENT_USER_BYTES], id[CLIENT_ID_BYTES];
    struct run r = run_cli("groups", "describe", "g", NULL);
    assert_int_equal(r.code, CLI_OK);
    run_fini(&r);
    client_user(user, sizeof(user));
    assert_true(strlen(user) > 0);
    client_id_of(user, id, sizeof(id));
    assert_string_equal(f->client_id, id);
    client_id_of("DOM\\j.do-e_1 \xc3\xb6/\n", id, sizeof(id));
    assert_string_equal(id, "muster-cli/DOM_j.do-e_1_____");
    char small[16];
    client_id_of("a-name-that-is-too-long", small, sizeof(small));
    assert_string_equal(small, "muster-cli/a-na");
}

/* A change whose answer is lost is not sent again. */
static void a_lost_answer_is_told(void **state)
{
    struct fake *f = *state;
    f->close_on_create = true;
    struct run r = run_cli("topics", "create", "t", "--timeout", "2000", NULL);
    assert_int_equal(r.code, CLI_UNREACHABLE);
    assert_int_equal(f->creates, 1);
    assert_non_null(strstr(r.err, "may have been carried out"));
    run_fini(&r);
}

static void the_next_address_is_tried(void **state)
{
    struct fake *f = *state;
    char bootstrap[128];
    snprintf(bootstrap, sizeof(bootstrap), "127.0.0.1:1,127.0.0.1:%d", f->port);
    struct run r = run_cli("groups", "coordinator", "g", "--bootstrap", bootstrap, NULL);
    assert_int_equal(r.code, CLI_OK);
    run_fini(&r);
    r = run_cli("groups", "coordinator", "g", "--bootstrap", "127.0.0.1:1", NULL);
    assert_int_equal(r.code, CLI_UNREACHABLE);
    assert_non_null(strstr(r.err, "127.0.0.1:1: Connection refused"));
    run_fini(&r);
}

static void a_silent_node_is_given_up(void **state)
{
    struct fake *f = *state;
    f->silent = true;
    int64_t before = client_now_ms();
    struct run r = run_cli("topics", "list", "--timeout", "300", NULL);
    assert_true(client_now_ms() - before < 5000);
    assert_int_equal(r.code, CLI_UNREACHABLE);
    assert_non_null(strstr(r.err, "no answer in time"));
    assert_null(strstr(r.err, "carried out"));
    run_fini(&r);
}

static void a_foreign_protocol_is_told(void **state)
{
    struct fake *f = *state;
    f->garbage = true;
    struct run r = run_cli("groups", "list", "--timeout", "1000", NULL);
    assert_int_equal(r.code, CLI_UNREACHABLE);
    assert_non_null(strstr(r.err, "not Kafka's protocol"));
    run_fini(&r);
}

static void a_node_of_another_kind_is_told(void **state)
{
    struct fake *f = *state;
    f->kafka = true;
    struct run r = run_cli("cluster", "status", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "it is not a muster node"));
    run_fini(&r);
}

static void offsets_are_set_against_the_ends(void **state)
{
    (void)state;
    struct run r = run_cli("offsets", "list", "--group", "behind", NULL);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, CLI_OK);
    assert_string_equal(r.out, "GROUP   TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  LEADER-EPOCH  METADATA\n"
                               "behind  gone            0              10               -    -             -  m\n"
                               "behind  orders          0              10               5    0             -  m\n"
                               "behind  orders          1              10              15    5             -  m\n"
                               "behind  orders          2              10               -    -             -  m\n");
    run_fini(&r);
    r = run_cli("offsets", "list", "behind", "none-committed", "--json", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    json_t *document = json_loads(r.out, 0, NULL);
    json_t *offsets = json_object_get(json_array_get(json_object_get(document, "groups"), 0), "offsets");
    assert_int_equal(json_array_size(offsets), 4);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(offsets, 2), "lag")), 5);
    assert_true(json_is_null(json_object_get(json_array_get(offsets, 0), "logEndOffset")));
    json_decref(document);
    run_fini(&r);
}

/* A partition without a leader, or whose leader has moved, is none that is gone, and nothing is known of what it had at a moment. */
static void what_no_leader_answers_for_is_refused(void **state)
{
    struct fake *f = *state;
    f->kafka = true;
    struct run r = run_cli("offsets", "delete", "behind", "--stale", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_string_equal(r.out, "");
    assert_non_null(strstr(r.err, "orders-2: its leader does not say"));
    run_fini(&r);
    r = run_cli("offsets", "reset", "behind", "--topic", "orders:0,1", "--to-datetime", "2024-01-01T00:00:00.000Z", NULL);
    assert_int_equal(count_of(r.out, "orders"), 2);
    run_fini(&r);
    f->moved_leader = true;
    r = run_cli("offsets", "reset", "behind", "--topic", "orders:0,1", "--to-datetime", "2024-01-01T00:00:00.000Z", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_string_equal(r.out, "");
    assert_non_null(strstr(r.err, "orders-0: its leader does not say"));
    run_fini(&r);
}

/* The node does not offer DescribeConfigs: what it says otherwise is shown all the same. */
static void topics_are_described_with_their_ends(void **state)
{
    (void)state;
    struct run r = run_cli("topics", "describe", "orders", "nothing", "--json", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "topic 'nothing': UNKNOWN_TOPIC_OR_PARTITION"));
    json_t *document = json_loads(r.out, 0, NULL);
    json_t *partitions = json_object_get(json_array_get(json_object_get(document, "topics"), 0), "partitions");
    assert_int_equal(json_array_size(partitions), 3);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(partitions, 1), "logEndOffset")), 15);
    assert_true(json_is_null(json_object_get(json_array_get(partitions, 2), "leader")));
    json_decref(document);
    run_fini(&r);
}

/* In a time that is not the square of their number. */
static void many_partitions_are_described(void **state)
{
    (void)state;
    struct timespec start, end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    struct run r = run_cli("topics", "describe", "wide", NULL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(end.tv_sec - start.tv_sec < 10);
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(lines_of(r.out), WIDE + 4);
    assert_non_null(strstr(r.out, " 59999 "));
    run_fini(&r);
}

static bool serving(const char *text, size_t shard)
{
    json_t *document = json_loads(text, 0, NULL);
    assert_non_null(document);
    bool is = json_is_true(json_object_get(json_array_get(json_object_get(document, "shards"), shard), "serving"));
    json_decref(document);
    return is;
}

static void status_says_what_is_served(void **state)
{
    struct fake *f = *state;
    struct run r = run_cli("cluster", "status", "--json", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "1 of 2 shards has no leader: their groups are not served"));
    assert_true(serving(r.out, 0));
    assert_false(serving(r.out, 1));
    run_fini(&r);
    f->list_loading = true;
    r = run_cli("cluster", "status", "--json", NULL);
    assert_false(serving(r.out, 0));
    run_fini(&r);
    r = run_cli("cluster", "status", NULL);
    assert_non_null(strstr(r.out, "not serving"));
    assert_non_null(strstr(r.out, "no leader"));
    assert_non_null(strstr(r.out, "  p:3           unreachable      0  "));
    assert_non_null(strstr(r.err, "node 3: the other nodes have no connection to it"));
    run_fini(&r);
    f->list_loading = false;
    f->transferred = true;
    r = run_cli("cluster", "status", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_non_null(strstr(r.out, "controller: node 7\n"));
    run_fini(&r);
}

/* Neither a leader that is busy, nor one that gives up handing over, nor one that does not serve yet is the end. */
static void a_transfer_is_tried_until_the_shard_is_served(void **state)
{
    struct fake *f = *state;
    f->transfer_busy = 2;
    f->transfer_in_vain = 2;
    f->not_serving = 2;
    struct run r = run_cli("cluster", "transfer", "1", "--to", "7", NULL);
    assert_string_equal(r.err, "");
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(f->transfer_busy, 0);
    assert_int_equal(f->transfer_in_vain, 0);
    assert_int_equal(f->not_serving, 0);
    run_fini(&r);
}

static void a_transfer_that_does_not_come_about_is_told(void **state)
{
    struct fake *f = *state;
    f->transfer_busy = 1 << 20;
    struct run r = run_cli("cluster", "transfer", "1", "--to", "7", "--timeout", "300", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "shard 1: COORDINATOR_NOT_AVAILABLE: A transfer of the shard is under way already"));
    run_fini(&r);
    f->transfer_busy = 0;
    f->not_serving = 1 << 20;
    r = run_cli("cluster", "transfer", "1", "--to", "7", "--timeout", "300", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "node 7 leads it but does not serve it yet"));
    run_fini(&r);
}

static void a_live_log_is_read_to_its_end(void **state)
{
    (void)state;
    struct run r = run_cli("log", "dump", NULL);
    assert_int_equal(r.code, CLI_OK);
    assert_int_equal(lines_of(r.out), 1 + 2 + 2 + 1 + 1 + 1 + 1);
    assert_non_null(strstr(r.err, "shard 1: entries before 3 are no longer in the node"));
    run_fini(&r);
    r = run_cli("log", "dump", "--from", "5", "--to", "6", "--shard", "1", NULL);
    assert_int_equal(lines_of(r.out), 3);
    assert_string_equal(r.err, "");
    run_fini(&r);
    r = run_cli("log", "dump", "--group", "nobody", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_string_equal(r.out, "");
    assert_non_null(
        strstr(r.err, "muster: the log holds no such record in what the node has in memory; what came before is on its disk (--disk)\n"));
    run_fini(&r);
    r = run_cli("log", "dump", "--shard", "9", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    run_fini(&r);
}

static struct change_member_response *change_answer(struct fake *f)
{
    struct change_member_response *r = ARENA_NEW(&f->arena, struct change_member_response, 1);
    wire_init(&wire_change_member_response, r);
    return r;
}

static struct cluster_members_response *members_answer(struct fake *f)
{
    struct cluster_members_response *r = ARENA_NEW(&f->arena, struct cluster_members_response, 1);
    wire_init(&wire_cluster_members_response, r);
    r->node_id = NODE_ID;
    return r;
}

/* A change of node 4 stands in the way of every other. */
static const void *changing(struct fake *f, int16_t key, const void *request)
{
    (void)request;
    if (key == API_KEY_CHANGE_MEMBER) {
        struct change_member_response *r = change_answer(f);
        r->error_code = 60;
        r->error_message = STR("Another change is under way.");
        return r;
    }
    if (key != API_KEY_CLUSTER_MEMBERS) {
        return NULL;
    }
    struct cluster_members_response *r = members_answer(f);
    r->change_id = 3;
    r->change_kind = *(int8_t *)f->more_state;
    r->change_node = 4;
    return r;
}

static void an_addition_in_the_way_says_how_it_is_ended(void **state)
{
    static const int16_t keys[] = {API_KEY_CHANGE_MEMBER, API_KEY_CLUSTER_MEMBERS};
    struct fake *f = *state;
    int8_t kind = 1;
    fake_more(f, changing, keys, COUNT_OF(keys));
    f->more_state = &kind;
    struct run r = run_cli("cluster", "remove", "2", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_non_null(strstr(r.err, "Another change is under way (muster cluster remove 4 --force ends it)\n"));
    run_fini(&r);
    kind = 4;
    r = run_cli("cluster", "remove", "2", NULL);
    assert_int_equal(r.code, CLI_FAILED);
    assert_null(strstr(r.err, "--force"));
    run_fini(&r);
}

/* Voters are nodes 1 to *more_state, node 9 learns; every change is taken, and goes on. */
static const void *voting(struct fake *f, int16_t key, const void *request)
{
    (void)request;
    if (key == API_KEY_CHANGE_MEMBER) {
        struct change_member_response *r = change_answer(f);
        r->change_id = 5;
        return r;
    }
    if (key != API_KEY_CLUSTER_MEMBERS) {
        return NULL;
    }
    struct cluster_members_response *r = members_answer(f);
    r->members.len = *(int *)f->more_state + 1;
    r->members.v = ARENA_NEW(&f->arena, struct cluster_members_response_member, r->members.len);
    for (int32_t i = 0; i < r->members.len; i++) {
        bool learns = i + 1 == r->members.len;
        r->members.v[i] = (struct cluster_members_response_member){
            .node_id = learns ? 9 : i + 1, .standing = learns ? 1 : 2, .peer_address = STR("p:1"), .host = STR("h"), .release = STR_NULL};
    }
    return r;
}

static void assert_warned(struct fake *f, int voters, const char *verb, const char *node, const char *said)
{
    f->more_state = &voters;
    struct run r = run_cli("cluster", verb, node, "--no-wait", NULL);
    assert_string_equal(r.err, said);
    assert_run(r, CLI_OK, "Change 5 is under way", NULL);
}

/* Somebody used to etcd expects a word where a change makes the cluster no safer, or less safe than it looks. */
static void how_many_failures_are_survived_is_told(void **state)
{
    static const int16_t keys[] = {API_KEY_CHANGE_MEMBER, API_KEY_CLUSTER_MEMBERS};
    static const char two[] = "muster: with 2 voters the cluster survives no failure: when either of them is down, nothing is served\n";
    static const char four[] = "muster: with 4 voters the cluster survives 1 failure, as with 3: an odd number is best\n";
    struct fake *f = *state;
    fake_more(f, voting, keys, COUNT_OF(keys));
    assert_warned(f, 3, "remove", "2", two);
    assert_warned(f, 2, "remove", "2", "muster: with 1 voter the cluster survives no failure, and what that node's disk loses is lost\n");
    assert_warned(f, 4, "remove", "2", "");
    assert_warned(f, 5, "remove", "2", four);
    assert_warned(f, 2, "remove", "9", ""); /* it has no vote */
    assert_warned(f, 1, "add", "4@h:1", two);
    assert_warned(f, 3, "add", "4@h:1", four);
    assert_warned(f, 4, "add", "6@h:1", "");
    assert_warned(f, 5, "promote", "9", "muster: with 6 voters the cluster survives 2 failures, as with 5: an odd number is best\n");
    assert_warned(f, 2, "replace", "2", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_addition_in_the_way_says_how_it_is_ended, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(how_many_failures_are_survived_is_told, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_coordinator_is_waited_for, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_moved_coordinator_is_followed, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(an_unknown_group_is_an_error, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_consumer_group_is_described, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_protected_group_is_said_to_be, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(messages_are_safe, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(another_controller_is_asked, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_missing_controller_is_told, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(requests_name_the_user, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_lost_answer_is_told, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(the_next_address_is_tried, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_silent_node_is_given_up, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_foreign_protocol_is_told, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_node_of_another_kind_is_told, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(offsets_are_set_against_the_ends, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(what_no_leader_answers_for_is_refused, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(topics_are_described_with_their_ends, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(many_partitions_are_described, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(status_says_what_is_served, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_transfer_is_tried_until_the_shard_is_served, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_transfer_that_does_not_come_about_is_told, fake_setup, fake_teardown),
        cmocka_unit_test_setup_teardown(a_live_log_is_read_to_its_end, fake_setup, fake_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
