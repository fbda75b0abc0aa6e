/* rdkafka_consumer: an ordinary librdkafka consumer that says with time stamps what its group does.
 *
 *   rdkafka_consumer BOOTSTRAP GROUP TOPIC [NAME=VALUE]...      librdkafka settings, and these two:
 *   reads=true    from where the group is: it reads a record of each partition it owns every 100 ms, and commits where it is then
 *   then=TOPIC    which it subscribes to as well when it gets SIGUSR1
 *
 * Subscribes, and every 100 ms commits the next offset of each partition it owns, waiting for the answer. Lines on standard output, each with
 * the wall clock in seconds first:
 *
 *   1700000000.123 assigned t[0] t[1]
 *   1700000000.456 revoked t[0] t[1]
 *   1700000000.789 committed 17 in 1.234 ms
 *   1700000000.999 failed 17 after 100.000 ms: Broker: Not coordinator
 *   1700000001.111 error: ...
 *   1700000000.123 begins t[0] 17           with reads=true: where the group is, once it is assigned
 *   1700000000.223 read t[0] 17
 *
 * SIGTERM and SIGINT make it leave the group and end with status 0. */
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <librdkafka/rdkafka.h>

enum { COMMIT_EVERY_MS = 100 };

static volatile sig_atomic_t stopping, subscribing;
static bool reads;
static const char *then;
static rd_kafka_topic_partition_list_t *positions; /* of what it reads; NULL: not known yet */

static void on_signal(int number)
{
    if (number == SIGUSR1) {
        subscribing = 1;
    } else {
        stopping = 1;
    }
}

static void forget_positions(void)
{
    if (positions != NULL) {
        rd_kafka_topic_partition_list_destroy(positions);
    }
    positions = NULL;
}

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    va_list args;
    printf("%.3f ", seconds(CLOCK_REALTIME));
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

static void say_partitions(const char *what, const rd_kafka_topic_partition_list_t *partitions)
{
    char line[4096];
    size_t len = 0;
    line[0] = '\0';
    for (int i = 0; i < partitions->cnt && len < sizeof(line); i++) {
        len += (size_t)snprintf(line + len, sizeof(line) - len, " %s[%d]", partitions->elems[i].topic, partitions->elems[i].partition);
    }
    say("%s%s", what, line);
}

static void on_rebalance(rd_kafka_t *consumer, rd_kafka_resp_err_t what, rd_kafka_topic_partition_list_t *partitions, void *opaque)
{
    (void)opaque;
    forget_positions();
    if (what == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS) {
        say_partitions("assigned", partitions);
        rd_kafka_assign(consumer, partitions);
    } else {
        say_partitions("revoked", partitions);
        rd_kafka_assign(consumer, NULL);
    }
}

static void on_error(rd_kafka_t *consumer, int error, const char *reason, void *opaque)
{
    (void)consumer;
    (void)opaque;
    say("error: %s (%s)", reason, rd_kafka_err2name((rd_kafka_resp_err_t)error));
}

static void set(rd_kafka_conf_t *conf, const char *name, const char *value)
{
    char why[512];
    if (rd_kafka_conf_set(conf, name, value, why, sizeof(why)) != RD_KAFKA_CONF_OK) {
        fprintf(stderr, "%s\n", why);
        exit(2);
    }
}

static rd_kafka_t *make_consumer(int argc, char **argv)
{
    char why[512];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    set(conf, "bootstrap.servers", argv[1]);
    set(conf, "group.id", argv[2]);
    set(conf, "enable.auto.commit", "false");
    set(conf, "session.timeout.ms", "6000");
    set(conf, "heartbeat.interval.ms", "500");
    set(conf, "reconnect.backoff.ms", "10");
    set(conf, "reconnect.backoff.max.ms", "100");
    set(conf, "socket.nagle.disable", "true");
    for (int i = 4; i < argc; i++) {
        char *equals = strchr(argv[i], '=');
        if (equals == NULL) {
            fprintf(stderr, "'%s' is not NAME=VALUE\n", argv[i]);
            exit(2);
        }
        *equals = '\0';
        if (strcmp(argv[i], "reads") == 0) {
            reads = strcmp(equals + 1, "true") == 0;
        } else if (strcmp(argv[i], "then") == 0) {
            then = equals + 1;
        } else {
            set(conf, argv[i], equals + 1);
        }
    }
    rd_kafka_conf_set_rebalance_cb(conf, on_rebalance);
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_t *consumer = rd_kafka_new(RD_KAFKA_CONSUMER, conf, why, sizeof(why));
    if (consumer == NULL) {
        fprintf(stderr, "%s\n", why);
        exit(2);
    }
    rd_kafka_poll_set_consumer(consumer);
    return consumer;
}

/* number: what is said of it. */
static void commit(rd_kafka_t *consumer, const rd_kafka_topic_partition_list_t *partitions, int64_t number)
{
    double begun = seconds(CLOCK_MONOTONIC);
    rd_kafka_resp_err_t error = rd_kafka_commit(consumer, partitions, 0);
    double took_ms = (seconds(CLOCK_MONOTONIC) - begun) * 1000;
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
        say("committed %lld in %.3f ms", (long long)number, took_ms);
    } else {
        say("failed %lld after %.3f ms: %s", (long long)number, took_ms, rd_kafka_err2str(error));
    }
}

/* What is assigned to it; NULL: nothing. */
static rd_kafka_topic_partition_list_t *assignment(rd_kafka_t *consumer)
{
    rd_kafka_topic_partition_list_t *partitions = NULL;
    if (rd_kafka_assignment(consumer, &partitions) != RD_KAFKA_RESP_ERR_NO_ERROR || partitions == NULL) {
        return NULL;
    }
    if (partitions->cnt == 0) {
        rd_kafka_topic_partition_list_destroy(partitions);
        return NULL;
    }
    return partitions;
}

/* Commits the same offset for everything that is assigned. */
static void commit_all(rd_kafka_t *consumer, int64_t offset)
{
    rd_kafka_topic_partition_list_t *partitions = assignment(consumer);
    if (partitions == NULL) {
        return;
    }
    for (int i = 0; i < partitions->cnt; i++) {
        partitions->elems[i].offset = offset;
    }
    commit(consumer, partitions, offset);
    rd_kafka_topic_partition_list_destroy(partitions);
}

static bool find_positions(rd_kafka_t *consumer)
{
    enum { TIMEOUT_MS = 5000 };
    if (positions != NULL) {
        return true;
    }
    rd_kafka_topic_partition_list_t *found = assignment(consumer);
    if (found == NULL) {
        return false;
    }
    if (rd_kafka_committed(consumer, found, TIMEOUT_MS) != RD_KAFKA_RESP_ERR_NO_ERROR) {
        rd_kafka_topic_partition_list_destroy(found);
        return false;
    }
    for (int i = 0; i < found->cnt; i++) {
        rd_kafka_topic_partition_t *p = &found->elems[i];
        p->offset = p->offset < 0 ? 0 : p->offset;
        say("begins %s[%d] %lld", p->topic, p->partition, (long long)p->offset);
    }
    positions = found;
    return true;
}

static void read_on(rd_kafka_t *consumer, int64_t number)
{
    if (!find_positions(consumer)) {
        return;
    }
    for (int i = 0; i < positions->cnt; i++) {
        rd_kafka_topic_partition_t *p = &positions->elems[i];
        say("read %s[%d] %lld", p->topic, p->partition, (long long)p->offset++);
    }
    rd_kafka_topic_partition_list_t *copy = rd_kafka_topic_partition_list_copy(positions);
    commit(consumer, copy, number); /* a rebalance may come meanwhile */
    rd_kafka_topic_partition_list_destroy(copy);
}

static rd_kafka_resp_err_t subscribe(rd_kafka_t *consumer, const char *topic, const char *other)
{
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(2);
    rd_kafka_topic_partition_list_add(topics, topic, RD_KAFKA_PARTITION_UA);
    if (other != NULL) {
        rd_kafka_topic_partition_list_add(topics, other, RD_KAFKA_PARTITION_UA);
    }
    rd_kafka_resp_err_t error = rd_kafka_subscribe(consumer, topics);
    rd_kafka_topic_partition_list_destroy(topics);
    return error;
}

static void run(rd_kafka_t *consumer, const char *topic)
{
    double next = seconds(CLOCK_MONOTONIC);
    for (int64_t offset = 1; !stopping;) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, COMMIT_EVERY_MS / 5);
        if (message != NULL) {
            rd_kafka_message_destroy(message);
        }
        if (subscribing) {
            subscribing = 0;
            say("subscribes to %s as well: %s", then, rd_kafka_err2str(subscribe(consumer, topic, then)));
        }
        if (seconds(CLOCK_MONOTONIC) >= next) {
            next = seconds(CLOCK_MONOTONIC) + COMMIT_EVERY_MS / 1000.0;
            (reads ? read_on : commit_all)(consumer, offset++);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: %s BOOTSTRAP GROUP TOPIC [NAME=VALUE]...\n", argv[0]);
        return 2;
    }
    const struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    setvbuf(stdout, NULL, _IOLBF, 0);

    rd_kafka_t *consumer = make_consumer(argc, argv);
    rd_kafka_resp_err_t error = subscribe(consumer, argv[3], NULL);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fprintf(stderr, "subscribe: %s\n", rd_kafka_err2str(error));
        return 1;
    }
    run(consumer, argv[3]);
    forget_positions();
    error = rd_kafka_consumer_close(consumer);
    say("left: %s", rd_kafka_err2str(error));
    rd_kafka_destroy(consumer);
    return error == RD_KAFKA_RESP_ERR_NO_ERROR ? 0 : 1;
}
