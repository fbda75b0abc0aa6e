/* log.c: one event, one line. The sink and the level are set once at start-up, before other threads log. */
#include <muster/base.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { LOG_LINE_BYTES = 4096, LOG_GATE_US = 1000000 };

static const char *const level_names[] = {"debug", "info", "warn", "error"};

static void log_to_stderr(void *ctx, enum log_level level, const char *line)
{
    (void)ctx;
    struct timespec now;
    struct tm parts;
    char stamp[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &parts);
    fprintf(stderr, "%s.%03ldZ level=%s %s\n", stamp, now.tv_nsec / 1000000, level_names[level], line);
}

static struct {
    log_sink_fn *sink;
    void *ctx;
    enum log_level least;
} log_to = {log_to_stderr, NULL, LOG_INFO};

void log_set(log_sink_fn *sink, void *ctx, enum log_level least)
{
    log_to.sink = sink != NULL ? sink : log_to_stderr;
    log_to.ctx = ctx;
    log_to.least = least;
}

void log_event(enum log_level level, const char *event, const char *format, ...)
{
    if (level < log_to.least) {
        return;
    }
    char line[LOG_LINE_BYTES];
    int head = snprintf(line, sizeof(line), "evt=%s ", event);
    MUSTER_CHECK(head > 0 && (size_t)head < sizeof(line));
    va_list args;
    va_start(args, format);
    int len = vsnprintf(line + head, sizeof(line) - (size_t)head, format, args);
    va_end(args);
    if (len <= 0) {
        line[head - 1] = '\0'; /* nothing but the event: no space at the end */
    } else if ((size_t)head + (size_t)len >= sizeof(line)) {
        memcpy(line + sizeof(line) - 4, "...", 4);
    }
    text_tame(line, strlen(line)); /* a line break out of a client's value must not forge a line */
    log_to.sink(log_to.ctx, level, line);
}

bool log_gate_pass(struct log_gate *gate, int64_t now_us, uint64_t *ret_kept_back)
{
    if (now_us < gate->shut_until_us) {
        gate->kept_back++;
        return false;
    }
    gate->shut_until_us = now_us + LOG_GATE_US;
    *ret_kept_back = gate->kept_back;
    gate->kept_back = 0;
    return true;
}
