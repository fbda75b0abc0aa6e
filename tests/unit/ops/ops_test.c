/* ops_test.c: the admin port over loopback, and the text form of metrics. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <muster/ops.h>
#include <uv.h>

struct world {
    uv_loop_t loop;
    struct ops *ops;
    uint16_t port;
    bool healthy, closed;
};

static void metrics(void *ctx, struct buf *out)
{
    (void)ctx;
    ops_metric(out, "a_total", OPS_COUNTER, "What a is.");
    ops_value(out, "a_total", NULL, STR_NULL, 18446744073709551615u);
    ops_metric(out, "b", OPS_GAUGE, "What b is.");
    ops_value(out, "b", "api", STR("x\"y\\z\n"), 0);
}

static bool health(void *ctx, struct buf *out)
{
    buf_put(out, "words\n", 6);
    return ((struct world *)ctx)->healthy;
}

static bool always(void *ctx, struct buf *why)
{
    (void)ctx;
    (void)why;
    return true;
}

static bool when_healthy(void *ctx, struct buf *why)
{
    buf_put(why, "not today", 9);
    return ((struct world *)ctx)->healthy;
}

static const struct ops_check checks[] = {{"ping", true, always}, {"peers", false, when_healthy}, {"peer", false, always}};

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    struct ops_handler handler = {.ctx = w, .metrics = metrics, .health = health, .checks = checks, .check_count = COUNT_OF(checks)};
    const char *why;
    if (uv_loop_init(&w->loop) != 0 || ops_open(&w->ops, &w->loop, "127.0.0.1", 0, &handler, &w->port, &why) != 0) {
        return -1;
    }
    *state = w;
    return 0;
}

static void on_closed(void *ctx)
{
    ((struct world *)ctx)->closed = true;
}

static int teardown(void **state)
{
    struct world *w = *state;
    ops_close(w->ops, on_closed, w);
    for (int i = 0; i < 1000 && !w->closed; i++) {
        uv_run(&w->loop, UV_RUN_NOWAIT);
    }
    bool clean = w->closed && uv_loop_close(&w->loop) == 0;
    free(w);
    return clean ? 0 : -1;
}

/* Sends the text in pieces of `step` bytes; returns what came back until the end. */
static const char *talk(struct world *w, const char *text, size_t step)
{
    static char got[8192];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(w->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    size_t len = strlen(text), received = 0;
    for (size_t at = 0; at < len; at += step) {
        send(fd, text + at, at + step < len ? step : len - at, MSG_NOSIGNAL);
        uv_run(&w->loop, UV_RUN_NOWAIT);
    }
    for (int i = 0; i < 1000; i++) {
        uv_run(&w->loop, UV_RUN_NOWAIT);
        ssize_t n = recv(fd, got + received, sizeof(got) - 1 - received, 0);
        if (n == 0) {
            break;
        }
        received += n > 0 ? (size_t)n : 0;
    }
    got[received] = '\0';
    close(fd);
    return got;
}

static void test_metrics(void **state)
{
    static const char body[] = "# HELP a_total What a is.\n# TYPE a_total counter\na_total 18446744073709551615\n"
                               "# HELP b What b is.\n# TYPE b gauge\nb{api=\"x\\\"y\\\\z\\n\"} 0\n";
    for (size_t step = 1; step <= 64; step *= 4) {
        const char *got = talk(*state, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", step);
        assert_memory_equal(got, "HTTP/1.1 200 OK\r\n", 17);
        assert_non_null(strstr(got, "Content-Type: text/plain; version=0.0.4"));
        assert_string_equal(strstr(got, "\r\n\r\n") + 4, body);
    }
}

static void test_health(void **state)
{
    struct world *w = *state;
    assert_non_null(strstr(talk(w, "GET /health HTTP/1.0\r\n\r\n", 100), "503 Service Unavailable"));
    w->healthy = true;
    const char *got = talk(w, "GET /health?x HTTP/1.0\r\n\r\n", 100);
    assert_non_null(strstr(got, "200 OK"));
    assert_string_equal(strstr(got, "\r\n\r\n") + 4, "words\n");
}

/* One GET of the target: status and body. */
static void assert_probe(struct world *w, const char *target, const char *status, const char *body)
{
    char request[256];
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", target);
    const char *got = talk(w, request, 100);
    assert_memory_equal(got, "HTTP/1.1 ", 9);
    assert_memory_equal(got + 9, status, strlen(status));
    assert_string_equal(strstr(got, "\r\n\r\n") + 4, body);
}

/* What fails is told without asking for it; /livez does not ask what a restart would not mend. */
static void test_probes(void **state)
{
    struct world *w = *state;
    assert_probe(w, "/livez", "200 OK", "ok\n");
    assert_probe(w, "/livez/", "200 OK", "ok\n");
    assert_probe(w, "/livez?verbose", "200 OK", "[+]ping ok\nlivez check passed\n");
    assert_probe(w, "/readyz", "503 ", "[+]ping ok\n[-]peers failed: not today\n[+]peer ok\nreadyz check failed\n");
    w->healthy = true;
    assert_probe(w, "/readyz", "200 OK", "ok\n");
    assert_probe(w, "/readyz?verbose=1&x", "200 OK", "[+]ping ok\n[+]peers ok\n[+]peer ok\nreadyz check passed\n");
}

static void test_probes_leave_out_and_ask_one(void **state)
{
    struct world *w = *state;
    assert_probe(w, "/readyz?exclude=peers", "200 OK", "ok\n");
    assert_probe(w, "/readyz?exclude=ping&verbose&exclude=peers", "200 OK",
                 "[+]ping excluded: ok\n[+]peers excluded: ok\n[+]peer ok\nreadyz check passed\n");
    assert_probe(w, "/readyz?exclude=peer", "503 ", "[+]ping ok\n[-]peers failed: not today\n[+]peer excluded: ok\nreadyz check failed\n");
    assert_probe(w, "/livez?verbose&exclude=peers", "200 OK",
                 "[+]ping ok\n[warn]some health checks cannot be excluded: no matches for \"peers\"\nlivez check passed\n");
    assert_probe(w, "/readyz/peers", "503 ", "[-]peers failed: not today\n");
    assert_probe(w, "/readyz/peer", "200 OK", "[+]peer ok\n");
    assert_non_null(strstr(talk(w, "GET /livez/peers HTTP/1.1\r\n\r\n", 100), "404 Not Found"));
    assert_non_null(strstr(talk(w, "GET /livezx HTTP/1.1\r\n\r\n", 100), "404 Not Found"));
    assert_non_null(strstr(talk(w, "GET /readyz/ping/x HTTP/1.1\r\n\r\n", 100), "404 Not Found"));
    assert_non_null(strstr(talk(w, "HEAD /livez HTTP/1.1\r\n\r\n", 100), "405 Method Not Allowed"));
    assert_non_null(strstr(talk(w, "GET \r\n\r\n", 100), "404 Not Found"));
}

static void test_histogram(void **state)
{
    (void)state;
    static struct ops_histogram h;
    struct buf out;
    buf_init(&out, 0);
    ops_observe(&h, -5);
    ops_observe(&h, 1000);
    ops_observe(&h, 1001);
    ops_observe(&h, 8192000);
    ops_observe(&h, 8192001);
    ops_histogram(&out, "h_seconds", "H.", &h);
    ops_value_none(&out, "limit", "key", STR("a"));
    static struct ops_histogram fine = {.first_us = 100};
    ops_observe(&fine, 100);
    ops_observe(&fine, 819201);
    ops_histogram_of(&out, "rtt_seconds", "To", 2, &fine);
    buf_put(&out, "", 1);
    const char *text = (const char *)out.ptr;
    static const char head[] = "# HELP h_seconds H.\n# TYPE h_seconds histogram\nh_seconds_bucket{le=\"0.001\"} 2\n";
    assert_memory_equal(text, head, sizeof(head) - 1);
    assert_non_null(strstr(text, "\nh_seconds_bucket{le=\"0.002\"} 3\n"));
    assert_non_null(
        strstr(text, "\nh_seconds_bucket{le=\"4.096\"} 3\nh_seconds_bucket{le=\"8.192\"} 4\nh_seconds_bucket{le=\"+Inf\"} 5\n"));
    assert_non_null(strstr(text, "\nh_seconds_sum 16.386002\nh_seconds_count 5\nlimit{key=\"a\"} +Inf\n"));
    assert_non_null(strstr(text, "\nrtt_seconds_bucket{To=\"2\",le=\"0.0001\"} 1\n"));
    assert_non_null(strstr(text, "\nrtt_seconds_bucket{To=\"2\",le=\"0.8192\"} 1\nrtt_seconds_bucket{To=\"2\",le=\"+Inf\"} 2\n"));
    assert_non_null(strstr(text, "\nrtt_seconds_sum{To=\"2\"} 0.819301\nrtt_seconds_count{To=\"2\"} 2\n"));
    buf_fini(&out);
}

static void test_other_requests(void **state)
{
    struct world *w = *state;
    assert_non_null(strstr(talk(w, "GET / HTTP/1.1\r\n\r\n", 100), "404 Not Found"));
    assert_non_null(strstr(talk(w, "GET /metricsx HTTP/1.1\r\n\r\n", 100), "404 Not Found"));
    assert_non_null(strstr(talk(w, "POST /metrics HTTP/1.1\r\n\r\n", 100), "405 Method Not Allowed"));
    static char large[6000];
    memset(large, 'a', sizeof(large) - 1);
    assert_string_equal(talk(w, large, 6000), "");
}

static int connect_silently(struct world *w)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(w->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    for (int i = 0; i < 3; i++) {
        uv_run(&w->loop, UV_RUN_NOWAIT);
    }
    return fd;
}

static bool is_ended(int fd)
{
    char byte;
    return recv(fd, &byte, 1, 0) == 0;
}

/* As many as there may be say nothing: who asks is served all the same, in the place of the one that was silent longest. */
static void test_silent_clients_keep_nobody_out(void **state)
{
    enum { SILENT = 64 };
    struct world *w = *state;
    int fds[SILENT];
    for (int i = 0; i < SILENT; i++) {
        fds[i] = connect_silently(w);
    }
    assert_false(is_ended(fds[0]));
    for (int i = 0; i < 3; i++) {
        assert_non_null(strstr(talk(w, "GET /metrics HTTP/1.1\r\n\r\n", 100), "200 OK"));
    }
    assert_true(is_ended(fds[0]));
    int ended = 0;
    for (int i = 0; i < SILENT; i++) {
        ended += is_ended(fds[i]);
        close(fds[i]);
    }
    assert_int_equal(ended, 1); /* the place is free again after each answer */
    for (int i = 0; i < 10; i++) {
        uv_run(&w->loop, UV_RUN_NOWAIT);
    }
}

static void test_addresses(void **state)
{
    struct world *w = *state;
    struct ops_handler handler = {.ctx = w, .metrics = metrics, .health = health};
    struct ops *second;
    uint16_t port;
    const char *why = NULL;
    assert_int_equal(ops_open(&second, &w->loop, "127.0.0.1", w->port, &handler, &port, &why), MUSTER_E_BUSY);
    assert_non_null(why);
    assert_int_equal(ops_open(&second, &w->loop, "nowhere", 0, &handler, &port, &why), MUSTER_E_INVALID);
    uv_run(&w->loop, UV_RUN_NOWAIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_metrics, setup, teardown),
        cmocka_unit_test_setup_teardown(test_health, setup, teardown),
        cmocka_unit_test_setup_teardown(test_probes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_probes_leave_out_and_ask_one, setup, teardown),
        cmocka_unit_test(test_histogram),
        cmocka_unit_test_setup_teardown(test_other_requests, setup, teardown),
        cmocka_unit_test_setup_teardown(test_silent_clients_keep_nobody_out, setup, teardown),
        cmocka_unit_test_setup_teardown(test_addresses, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
