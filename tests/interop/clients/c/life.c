/* A group's life with librdkafka as Debian packages it: two members, a commit, a restart, list, describe, delete.
 *
 *     librdkafka-life                          the whole life, with the environment described in ../README.md
 *     librdkafka-life make TOPIC PARTITIONS    makes a topic; for clients that have no admin API
 *     librdkafka-life commit GROUP TOPIC PARTITION OFFSET    a commit outside of a group
 *     librdkafka-life committed GROUP TOPIC PARTITION        prints the committed offset
 *     librdkafka-life delete GROUP             deletes a group
 *     librdkafka-life member GROUP TOPIC       a member that commits on and on, prints `owns P,P..` and `committed P OFFSET`, and leaves at the
 *                                              end of standard input
 */
#include <librdkafka/rdkafka.h>

#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WAIT_MS   30000
#define COMMITTED 5

static const char *bootstrap;
static int64_t lowest_offset; /* a message below it means that a member did not resume where the group had committed */

__attribute__((noreturn, format(printf, 1, 2))) static void fail(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    printf("FAILED: ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
    exit(1);
}

__attribute__((format(printf, 1, 2))) static void story(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vprintf(format, args);
    printf("\n");
    fflush(stdout);
    va_end(args);
}

static int64_t now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static int64_t number(const char *text)
{
    char *end;
    int64_t value = strtoll(text, &end, 10);

    if (end == text || *end != '\0') {
        fail("'%s' is not a number", text);
    }
    return value;
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
    char error[256];

    if (rd_kafka_conf_set(conf, name, value, error, sizeof error) != RD_KAFKA_CONF_OK) {
        fail("%s", error);
    }
}

static rd_kafka_t *client(const char *group, const char *client_id)
{
    char error[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();

    set(conf, "bootstrap.servers", bootstrap);
    set(conf, "client.id", client_id);
    if (group != NULL) {
        set(conf, "group.id", group);
        set(conf, "session.timeout.ms", "10000");
        set(conf, "heartbeat.interval.ms", "500");
        set(conf, "enable.auto.commit", "false");
        set(conf, "auto.offset.reset", "earliest");
    }
    rd_kafka_t *rk = rd_kafka_new(group != NULL ? RD_KAFKA_CONSUMER : RD_KAFKA_PRODUCER, conf, error, sizeof error);
    if (rk == NULL) {
        fail("%s", error);
    }
    if (group != NULL) {
        rd_kafka_poll_set_consumer(rk);
    }
    return rk;
}

/* ---- admin */

static rd_kafka_event_t *admin_result(rd_kafka_queue_t *queue, const char *what)
{
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, WAIT_MS);

    if (event == NULL) {
        fail("%s: no answer", what);
    }
    if (rd_kafka_event_error(event) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fail("%s: %s", what, rd_kafka_event_error_string(event));
    }
    return event;
}

static void make_topic(rd_kafka_t *rk, const char *name, int partitions)
{
    char error[256];
    size_t count;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_NewTopic_t *topic = rd_kafka_NewTopic_new(name, partitions, 1, error, sizeof error);

    rd_kafka_CreateTopics(rk, &topic, 1, NULL, queue);
    rd_kafka_event_t *event = admin_result(queue, "create topic");
    const rd_kafka_topic_result_t **rows = rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event), &count);
    if (rd_kafka_topic_result_error(rows[0]) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fail("create topic: %s", rd_kafka_topic_result_error_string(rows[0]));
    }
    rd_kafka_event_destroy(event);
    rd_kafka_NewTopic_destroy(topic);
    rd_kafka_queue_destroy(queue);
}

static bool listed(rd_kafka_t *rk, const char *group)
{
    size_t count;
    bool found = false;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);

    rd_kafka_ListConsumerGroups(rk, NULL, queue);
    rd_kafka_event_t *event = admin_result(queue, "list groups");
    const rd_kafka_ConsumerGroupListing_t **rows =
        rd_kafka_ListConsumerGroups_result_valid(rd_kafka_event_ListConsumerGroups_result(event), &count);
    for (size_t i = 0; i < count; i++) {
        found |= strcmp(rd_kafka_ConsumerGroupListing_group_id(rows[i]), group) == 0;
    }
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
    return found;
}

static void expect_described(rd_kafka_t *rk, const char *group, rd_kafka_consumer_group_state_t state, size_t members)
{
    size_t count;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);

    rd_kafka_DescribeConsumerGroups(rk, &group, 1, NULL, queue);
    rd_kafka_event_t *event = admin_result(queue, "describe group");
    const rd_kafka_ConsumerGroupDescription_t **rows =
        rd_kafka_DescribeConsumerGroups_result_groups(rd_kafka_event_DescribeConsumerGroups_result(event), &count);
    const rd_kafka_error_t *error = rd_kafka_ConsumerGroupDescription_error(rows[0]);
    if (error != NULL && rd_kafka_error_code(error) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fail("describe group: %s", rd_kafka_error_string(error));
    }
    if (rd_kafka_ConsumerGroupDescription_state(rows[0]) != state || rd_kafka_ConsumerGroupDescription_member_count(rows[0]) != members) {
        fail("the group is %s with %zu members", rd_kafka_consumer_group_state_name(rd_kafka_ConsumerGroupDescription_state(rows[0])),
             rd_kafka_ConsumerGroupDescription_member_count(rows[0]));
    }
    story("described: %s, %zu members", rd_kafka_consumer_group_state_name(state), members);
    rd_kafka_event_destroy(event);
    rd_kafka_queue_destroy(queue);
}

static void delete_group(rd_kafka_t *rk, const char *group)
{
    size_t count;
    rd_kafka_queue_t *queue = rd_kafka_queue_new(rk);
    rd_kafka_DeleteGroup_t *row = rd_kafka_DeleteGroup_new(group);

    rd_kafka_DeleteGroups(rk, &row, 1, NULL, queue);
    rd_kafka_event_t *event = admin_result(queue, "delete group");
    const rd_kafka_group_result_t **rows = rd_kafka_DeleteGroups_result_groups(rd_kafka_event_DeleteGroups_result(event), &count);
    const rd_kafka_error_t *error = rd_kafka_group_result_error(rows[0]);
    if (error != NULL) {
        fail("delete group: %s", rd_kafka_error_string(error));
    }
    rd_kafka_event_destroy(event);
    rd_kafka_DeleteGroup_destroy(row);
    rd_kafka_queue_destroy(queue);
}

/* ---- members */

static rd_kafka_t *join(const char *group, const char *client_id, const char *topic)
{
    rd_kafka_t *rk = client(group, client_id);
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);

    rd_kafka_topic_partition_list_add(topics, topic, RD_KAFKA_PARTITION_UA);
    rd_kafka_resp_err_t error = rd_kafka_subscribe(rk, topics);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fail("subscribe: %s", rd_kafka_err2str(error));
    }
    rd_kafka_topic_partition_list_destroy(topics);
    return rk;
}

static void poll_once(rd_kafka_t *rk)
{
    rd_kafka_message_t *message = rd_kafka_consumer_poll(rk, 50);

    if (message != NULL) {
        if (message->err == RD_KAFKA_RESP_ERR__FATAL || message->err == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED) {
            fail("poll: %s", rd_kafka_message_errstr(message));
        }
        if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR && message->offset < lowest_offset) {
            fail("got offset %lld although %lld is committed", (long long)message->offset, (long long)lowest_offset);
        }
        rd_kafka_message_destroy(message);
    }
}

static int owned(rd_kafka_t *rk)
{
    rd_kafka_topic_partition_list_t *list;

    if (rk == NULL || rd_kafka_assignment(rk, &list) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        return 0;
    }
    int count = list->cnt;
    rd_kafka_topic_partition_list_destroy(list);
    return count;
}

/* Polls both members until the first owns a and the second b partitions. */
static void await_owned(rd_kafka_t *first, int a, rd_kafka_t *second, int b)
{
    int64_t deadline = now_ms() + WAIT_MS;

    while (owned(first) != a || owned(second) != b) {
        if (now_ms() > deadline) {
            fail("wanted %d and %d partitions, have %d and %d", a, b, owned(first), owned(second));
        }
        poll_once(first);
        if (second != NULL) {
            poll_once(second);
        }
    }
    story("assigned: %d and %d partitions", a, b);
}

/* Commits a list. A coordinator that moves makes it try again, as applications do. */
static void commit_list(rd_kafka_t *rk, const rd_kafka_topic_partition_list_t *list)
{
    rd_kafka_resp_err_t error;
    int64_t deadline = now_ms() + WAIT_MS;

    while ((error = rd_kafka_commit(rk, list, 0)) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        if (error == RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID || error == RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION || now_ms() > deadline) {
            fail("commit: %s", rd_kafka_err2str(error));
        }
        story("commit: %s, once more", rd_kafka_err2str(error));
        poll_once(rk);
    }
}

/* Commits an offset for every partition the member owns. */
static void commit_owned(rd_kafka_t *rk, int64_t offset)
{
    rd_kafka_topic_partition_list_t *list;

    rd_kafka_assignment(rk, &list);
    for (int i = 0; i < list->cnt; i++) {
        list->elems[i].offset = offset;
    }
    commit_list(rk, list);
    rd_kafka_topic_partition_list_destroy(list);
}

static int64_t committed(rd_kafka_t *rk, const char *topic, int partition)
{
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);

    rd_kafka_topic_partition_list_add(list, topic, partition);
    rd_kafka_resp_err_t error = rd_kafka_committed(rk, list, WAIT_MS);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fail("committed: %s", rd_kafka_err2str(error));
    }
    int64_t offset = list->elems[0].offset;
    rd_kafka_topic_partition_list_destroy(list);
    return offset;
}

static void expect_committed(rd_kafka_t *rk, const char *topic, int64_t wanted)
{
    for (int partition = 0; partition < 2; partition++) {
        int64_t offset = committed(rk, topic, partition);
        if (offset != wanted) {
            fail("partition %d: committed %lld, wanted %lld", partition, (long long)offset, (long long)wanted);
        }
    }
    story("committed: %lld", (long long)wanted);
}

static void leave(rd_kafka_t *rk)
{
    rd_kafka_resp_err_t error = rd_kafka_consumer_close(rk);

    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fail("close: %s", rd_kafka_err2str(error));
    }
    rd_kafka_destroy(rk);
}

static void hook(const char *name, const char *argument)
{
    char command[1024];
    const char *program = getenv(name);

    if (program == NULL || *program == '\0') {
        return;
    }
    snprintf(command, sizeof command, "%s %s", program, argument);
    if (system(command) != 0) {
        fail("%s: failed", command);
    }
}

static int life(const char *run)
{
    char topic[128], group[128];

    snprintf(topic, sizeof topic, "librdkafka-%s", run);
    snprintf(group, sizeof group, "librdkafka-group-%s", run);
    rd_kafka_t *admin = client(NULL, "librdkafka-admin");
    make_topic(admin, topic, 2);
    hook("HOOK_TOPIC", topic);

    rd_kafka_t *a = join(group, "librdkafka-a", topic);
    await_owned(a, 2, NULL, 0);
    rd_kafka_t *b = join(group, "librdkafka-b", topic);
    await_owned(a, 1, b, 1);
    commit_owned(a, COMMITTED);
    commit_owned(b, COMMITTED);
    expect_committed(a, topic, COMMITTED);
    hook("HOOK_MIDLIFE", group);
    commit_owned(a, COMMITTED);
    commit_owned(b, COMMITTED);
    if (!listed(admin, group)) {
        fail("the group is not listed");
    }
    story("listed");
    expect_described(admin, group, RD_KAFKA_CONSUMER_GROUP_STATE_STABLE, 2);

    leave(b);
    await_owned(a, 2, NULL, 0);
    leave(a);
    expect_described(admin, group, RD_KAFKA_CONSUMER_GROUP_STATE_EMPTY, 0);

    lowest_offset = COMMITTED;
    a = join(group, "librdkafka-a2", topic);
    await_owned(a, 2, NULL, 0);
    expect_committed(a, topic, COMMITTED);
    leave(a);
    delete_group(admin, group);
    if (listed(admin, group)) {
        fail("the deleted group is listed");
    }
    story("deleted");
    rd_kafka_destroy(admin);
    return 0;
}

/* ---- a member for lives that others tell */

static void tell_owned(const rd_kafka_topic_partition_list_t *list)
{
    static char before[1024] = "none";
    char now[1024] = "owns ";
    size_t at = strlen(now);

    for (int i = 0; i < list->cnt; i++) {
        at += (size_t)snprintf(now + at, sizeof now - at, "%s%d", i == 0 ? "" : ",", list->elems[i].partition);
    }
    if (strcmp(before, now) != 0) {
        story("%s", now);
        memcpy(before, now, sizeof before);
    }
}

/* The time as the offset: whoever commits later commits more. What a rebalance refuses is tried again with the next round. */
static void commit_the_time(rd_kafka_t *rk, rd_kafka_topic_partition_list_t *list)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    for (int i = 0; i < list->cnt; i++) {
        list->elems[i].offset = (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
    }
    if (list->cnt == 0 || rd_kafka_commit(rk, list, 0) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        return;
    }
    for (int i = 0; i < list->cnt; i++) {
        if (list->elems[i].err == RD_KAFKA_RESP_ERR_NO_ERROR) {
            story("committed %d %lld", list->elems[i].partition, (long long)list->elems[i].offset);
        }
    }
}

static int member_command(const char *group, const char *topic)
{
    rd_kafka_topic_partition_list_t *list;
    struct pollfd in = {.fd = 0, .events = POLLIN};
    rd_kafka_t *rk = join(group, "librdkafka-member", topic);

    while (poll(&in, 1, 0) == 0) {
        poll_once(rk);
        if (rd_kafka_assignment(rk, &list) == RD_KAFKA_RESP_ERR_NO_ERROR) {
            tell_owned(list);
            commit_the_time(rk, list);
            rd_kafka_topic_partition_list_destroy(list);
        }
    }
    leave(rk);
    return 0;
}

static int usage(void)
{
    fprintf(stderr,
            "usage: librdkafka-life [make TOPIC PARTITIONS | commit GROUP TOPIC PARTITION OFFSET | committed GROUP TOPIC PARTITION | "
            "delete GROUP | member GROUP TOPIC]\n");
    return 2;
}

static int commit_command(char **argv)
{
    rd_kafka_t *rk = client(argv[0], "librdkafka-commit");
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new(1);

    rd_kafka_topic_partition_list_add(list, argv[1], (int)number(argv[2]))->offset = number(argv[3]);
    commit_list(rk, list);
    rd_kafka_topic_partition_list_destroy(list);
    rd_kafka_destroy(rk);
    return 0;
}

int main(int argc, char **argv)
{
    const char *run = getenv("RUN");

    bootstrap = getenv("BOOTSTRAP");
    if (bootstrap == NULL || run == NULL) {
        fprintf(stderr, "librdkafka-life: BOOTSTRAP and RUN must be set\n");
        return 2;
    }
    if (argc == 1) {
        return life(run);
    }
    if (argc == 4 && strcmp(argv[1], "make") == 0) {
        make_topic(client(NULL, "librdkafka-admin"), argv[2], (int)number(argv[3]));
        return 0;
    }
    if (argc == 6 && strcmp(argv[1], "commit") == 0) {
        return commit_command(argv + 2);
    }
    if (argc == 5 && strcmp(argv[1], "committed") == 0) {
        printf("%lld\n", (long long)committed(client(argv[2], "librdkafka-committed"), argv[3], (int)number(argv[4])));
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "delete") == 0) {
        delete_group(client(NULL, "librdkafka-admin"), argv[2]);
        return 0;
    }
    if (argc == 4 && strcmp(argv[1], "member") == 0) {
        return member_command(argv[2], argv[3]);
    }
    return usage();
}
