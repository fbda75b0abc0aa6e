/* pressure_test.c: what becomes of the connections' requests when turns of the loop take too long. Times are what the test says. */
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
#include <muster/net.h>
#include <uv.h>

struct world {
    uv_loop_t loop;
    struct net *net;
    struct net_options options;
    uint16_t port;
    size_t seen_count;
    bool closed;
};

/* Every frame is answered at once with the same bytes. */
static enum net_verdict on_frame(void *ctx, const struct net_frame *frame)
{
    struct world *w = ctx;
    w->seen_count++;
    struct buf *out = net_answer_begin(frame->slot);
    if (out != NULL) {
        uint8_t *at = buf_add(out, 4 + (size_t)frame->frame.len);
        assert_non_null(at);
        put_be32(at, (uint32_t)frame->frame.len);
        memcpy(at + 4, frame->frame.ptr, (size_t)frame->frame.len);
    }
    net_answer_end(frame->slot);
    net_release(frame->slot);
    return NET_TAKEN;
}

static void on_gone(void *ctx, struct net_slot *slot, void *user)
{
    (void)ctx;
    (void)user;
    net_release(slot);
}

static void open_world(struct world *w)
{
    struct net_handler handler = {.ctx = w, .frame = on_frame, .gone = on_gone};
    const char *why = NULL;
    assert_int_equal(uv_loop_init(&w->loop), 0);
    assert_int_equal(net_new(&w->net, &w->loop, &w->options, &handler), 0);
    assert_int_equal(net_listen(w->net, "127.0.0.1", 0, &w->port, &why), 0);
}

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    w->options = (struct net_options){
        .request_max_bytes = 1 << 20,
        .max_connections = 2000,
        .max_connections_per_ip = 2000,
        .max_in_flight = 100,
        .max_output_bytes = 1 << 16,
        .max_idle_ms = 60000,
    };
    log_set(NULL, NULL, LOG_ERROR);
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
    net_close(w->net, on_closed, w);
    for (int i = 0; i < 1000 && !w->closed; i++) {
        uv_run(&w->loop, UV_RUN_NOWAIT);
    }
    if (!w->closed) {
        return -1;
    }
    net_free(w->net);
    int rc = uv_loop_close(&w->loop);
    free(w);
    return rc;
}

static struct net_stats stats_of(struct world *w)
{
    struct net_stats stats;
    net_stats(w->net, &stats);
    return stats;
}

static int connect_client(struct world *w)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(w->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    uv_run(&w->loop, UV_RUN_NOWAIT);
    return fd;
}

static size_t receive(int fd, uint8_t *dst, size_t size)
{
    size_t len = 0;
    for (;;) {
        ssize_t n = recv(fd, dst + len, size - len, 0);
        if (n <= 0) {
            return len;
        }
        len += (size_t)n;
    }
}

/* In one piece, so that they arrive together. */
static void send_many(int fd, int count)
{
    static const uint8_t frame[] = {0, 0, 0, 1, 'e'};
    static uint8_t bytes[4096];
    for (int i = 0; i < count; i++) {
        memcpy(bytes + (size_t)i * sizeof(frame), frame, sizeof(frame));
    }
    assert_int_equal(send(fd, bytes, (size_t)count * sizeof(frame), MSG_NOSIGNAL), (size_t)count * sizeof(frame));
}

/* One turn of the loop, and how long it took. */
static size_t timed_turn(struct world *w, int64_t took_us)
{
    size_t before = w->seen_count;
    uv_run(&w->loop, UV_RUN_NOWAIT);
    net_resume(w->net);
    net_flush(w->net);
    net_pressure(w->net, took_us);
    return w->seen_count - before;
}

/* Long turns: each connection gets fewer requests into the next one, in the end one of them in a turn; nobody is forgotten, and all of it is answered in order. */
static void test_long_turns_make_shares_smaller(void **state)
{
    struct world *w = *state;
    w->options.max_turn_us = 1000;
    open_world(w);
    int busy = connect_client(w), calm = connect_client(w);
    send_many(busy, 64);
    size_t first = 0;
    for (int i = 0; i < 100 && first == 0; i++) {
        first = timed_turn(w, 5000);
    }
    assert_int_equal(first, 64);
    assert_int_equal(stats_of(w).share, 32);
    send_many(busy, 90);
    send_many(calm, 1);
    size_t turns = 0, seen = 0;
    while (seen < 91 && turns < 100) {
        size_t more = timed_turn(w, 700); /* neither long nor short: it stays as it is */
        assert_true(more <= 32 + 1);
        seen += more;
        turns += more > 0;
    }
    assert_int_equal(seen, 91);
    assert_true(turns >= 3);
    assert_int_equal(stats_of(w).share, 32);
    assert_true(stats_of(w).deferred > 0);
    uint8_t got[4096];
    assert_int_equal(receive(busy, got, sizeof(got)), (64 + 90) * 5);
    assert_int_equal(receive(calm, got, sizeof(got)), 5);
    close(busy);
    close(calm);
}

/* When even one request of each connection is too much, the connections take turns; short turns give everything back. */
static void test_connections_take_turns(void **state)
{
    enum { CLIENTS = 16, ROUNDS = 200 };
    struct world *w = *state;
    w->options.max_turn_us = 1000;
    open_world(w);
    int fds[CLIENTS];
    for (size_t i = 0; i < CLIENTS; i++) {
        fds[i] = connect_client(w);
    }
    size_t sent = 0;
    for (int i = 0; i < ROUNDS && stats_of(w).stride < 8; i++) {
        for (size_t k = 0; k < CLIENTS && sent < CLIENTS * 100; k++) {
            send_many(fds[k], 10);
            sent += 10;
        }
        timed_turn(w, 2000);
    }
    assert_int_equal(stats_of(w).share, 1);
    assert_true(stats_of(w).stride >= 8);
    size_t most = 0;
    for (int i = 0; i < 8; i++) {
        size_t more = timed_turn(w, 700);
        most = more > most ? more : most;
    }
    assert_true(most <= 2 * CLIENTS / 8);
    for (int i = 0; i < ROUNDS * 10 && w->seen_count < sent; i++) {
        timed_turn(w, 700);
    }
    assert_int_equal(w->seen_count, sent);
    for (int i = 0; i < ROUNDS; i++) {
        timed_turn(w, 10);
    }
    assert_int_equal(stats_of(w).stride, 1);
    assert_true(stats_of(w).share >= 1 << 16);
    uint8_t got[1024];
    for (size_t i = 0; i < CLIENTS; i++) {
        assert_int_equal(receive(fds[i], got, sizeof(got)), sent / CLIENTS * 5);
        close(fds[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_long_turns_make_shares_smaller, setup, teardown),
        cmocka_unit_test_setup_teardown(test_connections_take_turns, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
