/* rdkafka_consumer: an ordinary librdkafka consumer that says with time stamps what its group does.
 *
 *   rdkafka_consumer BOOTSTRAP GROUP TOPIC [NAME=VALUE]...      librdkafka settings
 *
 * Subscribes, and every 100 ms commits the next offset of each partition it owns, waiting for the answer. Lines on standard output, each with
 * the wall clock in seconds first:
 *
 *   1700000000.123 assigned t[0] t[1]
 *   1700000000.456 revoked t[0] t[1]
 *   1700000000.789 committed 17 in 1.234 ms
 *   1700000000.999 failed 17 after 100.000 ms: Broker: Not coordinator
 *   1700000001.111 error: ...
 *
 * SIGTERM and SIGINT make it leave the group and end with status 0. */
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <librdkafka/rdkafka.h>

enum { COMMIT_EVERY_MS = 100 };

static volatile sig_atomic_t stopping;

static void on_signal(int number)
{
    (void)number;
    stopping = 1;
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
        set(conf, argv[i], equals + 1);
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

/* Commits the same offset for everything that is assigned. */
static void commit(rd_kafka_t *consumer, int64_t offset)
{
    rd_kafka_topic_partition_list_t *partitions = NULL;
    if (rd_kafka_assignment(consumer, &partitions) != RD_KAFKA_RESP_ERR_NO_ERROR || partitions == NULL) {
        return;
    }
    for (int i = 0; i < partitions->cnt; i++) {
        partitions->elems[i].offset = offset;
    }
    if (partitions->cnt > 0) {
        double begun = seconds(CLOCK_MONOTONIC);
        rd_kafka_resp_err_t error = rd_kafka_commit(consumer, partitions, 0);
        double took_ms = (seconds(CLOCK_MONOTONIC) - begun) * 1000;
        if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
            say("committed %lld in %.3f ms", (long long)offset, took_ms);
        } else {
            say("failed %lld after %.3f ms: %s", (long long)offset, took_ms, rd_kafka_err2str(error));
        }
    }
    rd_kafka_topic_partition_list_destroy(partitions);
}

static void run(rd_kafka_t *consumer)
{
    double next = seconds(CLOCK_MONOTONIC);
    for (int64_t offset = 1; !stopping;) {
        rd_kafka_message_t *message = rd_kafka_consumer_poll(consumer, COMMIT_EVERY_MS / 5);
        if (message != NULL) {
            rd_kafka_message_destroy(message);
        }
        if (seconds(CLOCK_MONOTONIC) >= next) {
            next = seconds(CLOCK_MONOTONIC) + COMMIT_EVERY_MS / 1000.0;
            commit(consumer, offset++);
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
    setvbuf(stdout, NULL, _IOLBF, 0);

    rd_kafka_t *consumer = make_consumer(argc, argv);
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, argv[3], RD_KAFKA_PARTITION_UA);
    rd_kafka_resp_err_t error = rd_kafka_subscribe(consumer, topics);
    rd_kafka_topic_partition_list_destroy(topics);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
        fprintf(stderr, "subscribe: %s\n", rd_kafka_err2str(error));
        return 1;
    }
    run(consumer);
    error = rd_kafka_consumer_close(consumer);
    say("left: %s", rd_kafka_err2str(error));
    rd_kafka_destroy(consumer);
    return error == RD_KAFKA_RESP_ERR_NO_ERROR ? 0 : 1;
}
