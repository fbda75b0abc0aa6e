/* pressure_test.c: what becomes of the connections' requests when turns of the loop take too long. Times are what the test says. */
#include <sys/socket.h>
#include <unistd.h>

#include "fixture.h"

struct world {
    struct server server;
    size_t seen_count;
};

/* Every frame is answered at once with the same bytes. */
static enum net_verdict on_frame(void *ctx, const struct net_frame *frame)
{
    struct world *w = ctx;
    w->seen_count++;
    answer(frame->slot, frame->frame);
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
    server_open(&w->server, &(struct net_handler){.ctx = w, .frame = on_frame, .gone = on_gone});
}

static int setup(void **state)
{
    struct world *w = calloc(1, sizeof(*w));
    server_defaults(&w->server);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    int rc = server_close(&w->server);
    free(w);
    return rc;
}

static struct net_stats stats_of(const struct world *w)
{
    return server_stats(&w->server);
}

static int connect_client(struct world *w)
{
    int fd = server_connect(&w->server);
    uv_run(&w->server.loop, UV_RUN_NOWAIT);
    return fd;
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
    uv_run(&w->server.loop, UV_RUN_NOWAIT);
    net_resume(w->server.net);
    net_flush(w->server.net);
    net_pressure(w->server.net, took_us);
    return w->seen_count - before;
}

/* Long turns: each connection gets fewer requests into the next one, in the end one of them in a turn; nobody is forgotten, and all of it is answered in order. */
static void test_long_turns_make_shares_smaller(void **state)
{
    struct world *w = *state;
    w->server.options.max_turn_us = 1000;
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
    w->server.options.max_turn_us = 1000;
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
