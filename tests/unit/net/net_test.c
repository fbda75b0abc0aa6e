/* net_test.c: the listener over loopback. The server's loop is turned by hand between what the clients do, so that every step is seen. */
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fixture.h"

enum { MAX_SEEN = 4096, MAX_HELD = 4096 };

/* The layer above: the first byte of a frame says what it does.
 *   e  answers at once with the same bytes      d  answers when the test says so      h  like d, and holds what follows
 *   x  calls it garbage                         c  closes without an answer           b  answers with as many bytes as the next four say
 *   y  like d, until something follows: then it answers at once                       z  like y, but then it still waits for the test */
struct world {
    struct server server;
    char seen[MAX_SEEN];
    size_t seen_count;
    struct held {
        struct net_slot *slot;
        struct bytes frame;
    } held[MAX_HELD];
    size_t held_count;
    size_t gone, follows;
    uint64_t last_connection;
};

static enum net_verdict on_frame(void *ctx, const struct net_frame *frame)
{
    struct world *w = ctx;
    char what = (char)frame->frame.ptr[0];
    assert_true(w->seen_count < MAX_SEEN);
    w->seen[w->seen_count++] = what;
    w->last_connection = frame->connection;
    assert_true(str_eq(frame->principal->name, STR("ANONYMOUS")));
    assert_memory_equal(frame->host.ptr, "/127.0.0.1", 10);
    if (what == 'x') {
        return NET_CLOSE;
    }
    if (strchr("dhyz", what) != NULL) {
        net_set_user(frame->slot, &w->held[w->held_count]);
        w->held[w->held_count].slot = frame->slot;
        w->held[w->held_count++].frame = frame->frame;
        return what == 'h' ? NET_HOLD : what == 'd' ? NET_TAKEN : NET_YIELD;
    }
    if (what == 'c') {
        net_answer_close(frame->slot);
    } else if (what == 'b') {
        size_t len = get_be32(frame->frame.ptr + 1);
        void *filled = arena_get(frame->arena, len);
        answer(frame->slot, (struct bytes){filled, (int32_t)len});
    } else {
        answer(frame->slot, frame->frame);
    }
    net_release(frame->slot);
    return NET_TAKEN;
}

static void on_follows(void *ctx, struct net_slot *slot, void *user)
{
    struct world *w = ctx;
    struct held *held = user;
    assert_ptr_equal(held->slot, slot);
    w->follows++;
    if (held->frame.ptr[0] == 'y') {
        answer(slot, held->frame);
        net_release(slot);
        held->slot = NULL;
    }
}

static void on_gone(void *ctx, struct net_slot *slot, void *user)
{
    struct world *w = ctx;
    w->gone++;
    assert_non_null(user);
    net_release(slot);
    *(struct net_slot **)user = NULL;
}

static void turn(struct world *w)
{
    for (int i = 0; i < 4; i++) {
        uv_run(&w->server.loop, UV_RUN_NOWAIT);
        net_resume(w->server.net);
        net_flush(w->server.net);
    }
}

static void open_world(struct world *w)
{
    server_open(&w->server, &(struct net_handler){.ctx = w, .frame = on_frame, .follows = on_follows, .gone = on_gone});
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

/* ---- clients ---- */

static int connect_client(struct world *w)
{
    int fd = server_connect(&w->server);
    turn(w);
    return fd;
}

static void send_bytes(int fd, const void *data, size_t len)
{
    assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), (ssize_t)len);
}

static size_t put_frame(uint8_t *dst, const char *text)
{
    size_t len = strlen(text);
    put_be32(dst, (uint32_t)len);
    memcpy(dst + 4, text, len);
    return 4 + len;
}

static void send_frame(int fd, const char *text)
{
    uint8_t bytes[512];
    send_bytes(fd, bytes, put_frame(bytes, text));
}

static void expect_frames(struct world *w, int fd, const char *const *texts, size_t count)
{
    uint8_t expected[1024], got[1024];
    size_t len = 0;
    for (size_t i = 0; i < count; i++) {
        len += put_frame(expected + len, texts[i]);
    }
    turn(w);
    assert_int_equal(receive(fd, got, sizeof(got)), len);
    assert_memory_equal(got, expected, len);
}

static void expect_closed(struct world *w, int fd)
{
    uint8_t byte;
    turn(w);
    ssize_t n = recv(fd, &byte, 1, 0);
    assert_true(n == 0 || (n < 0 && errno == ECONNRESET));
    close(fd);
}

static void answer_held(struct world *w, size_t idx)
{
    assert_non_null(w->held[idx].slot);
    answer(w->held[idx].slot, w->held[idx].frame);
    net_release(w->held[idx].slot);
    w->held[idx].slot = NULL;
}

static struct net_stats stats_of(const struct world *w)
{
    return server_stats(&w->server);
}

/* ---- tests ---- */

static void test_frames_at_every_split(void **state)
{
    struct world *w = *state;
    static const char *const texts[] = {"e", "e-second, a longer one", "e3"};
    uint8_t bytes[256];
    size_t len = 0;
    open_world(w);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        len += put_frame(bytes + len, texts[i]);
    }
    int fd = connect_client(w);
    for (size_t split = 0; split <= len; split++) {
        if (split > 0) {
            send_bytes(fd, bytes, split);
        }
        turn(w);
        if (split < len) {
            send_bytes(fd, bytes + split, len - split);
        }
        expect_frames(w, fd, texts, COUNT_OF(texts));
    }
    for (size_t i = 0; i < len; i++) {
        send_bytes(fd, bytes + i, 1);
        turn(w);
    }
    expect_frames(w, fd, texts, COUNT_OF(texts));
    assert_int_equal(stats_of(w).queued_bytes, 0);
    close(fd);
}

static void test_answers_keep_order(void **state)
{
    struct world *w = *state;
    open_world(w);
    int fd = connect_client(w);
    send_frame(fd, "d1");
    send_frame(fd, "e2");
    send_frame(fd, "d3");
    send_frame(fd, "e4");
    expect_frames(w, fd, NULL, 0);
    assert_int_equal(w->seen_count, 4);
    answer_held(w, 1);
    expect_frames(w, fd, NULL, 0);
    answer_held(w, 0);
    expect_frames(w, fd, (const char *const[]){"d1", "e2", "d3", "e4"}, 4);
    close(fd);
}

static void test_hold_keeps_what_follows(void **state)
{
    struct world *w = *state;
    open_world(w);
    int fd = connect_client(w);
    int other = connect_client(w);
    send_frame(fd, "h1");
    send_frame(fd, "e2");
    send_frame(fd, "h3");
    send_frame(fd, "e4");
    turn(w);
    assert_int_equal(w->seen_count, 1);
    send_frame(other, "e5");
    expect_frames(w, other, (const char *const[]){"e5"}, 1);
    answer_held(w, 0);
    assert_true(net_has_resumable(w->server.net));
    expect_frames(w, fd, (const char *const[]){"h1", "e2"}, 2);
    answer_held(w, 1);
    expect_frames(w, fd, (const char *const[]){"h3", "e4"}, 2);
    close(fd);
    close(other);
}

static void test_what_yields_is_told_of_what_follows(void **state)
{
    struct world *w = *state;
    open_world(w);
    int fd = connect_client(w);
    int other = connect_client(w);
    send_frame(fd, "y1");
    expect_frames(w, fd, NULL, 0);
    send_frame(other, "e"); /* is nothing to it */
    expect_frames(w, other, (const char *const[]){"e"}, 1);
    expect_frames(w, fd, NULL, 0);
    assert_int_equal(w->follows, 0);
    send_frame(fd, "e2");
    expect_frames(w, fd, (const char *const[]){"y1", "e2"}, 2);
    assert_int_equal(w->follows, 1);
    static const uint8_t together[] = {0, 0,   0,   2, 'y', '3', 0, 0,   0,   2, 'y', '4', 0, 0,   0,
                                       2, 'z', '5', 0, 0,   0,   2, 'e', '6', 0, 0,   0,   2, 'e', '7'};
    send_bytes(fd, together, sizeof(together));
    expect_frames(w, fd, (const char *const[]){"y3", "y4"}, 2);
    assert_int_equal(w->follows, 4); /* each once */
    answer_held(w, 3);
    expect_frames(w, fd, (const char *const[]){"z5", "e6", "e7"}, 3);
    send_frame(fd, "y8");
    turn(w);
    close(fd);
    turn(w);
    assert_int_equal(w->gone, 1);
    assert_int_equal(w->follows, 4);
    assert_int_equal(stats_of(w).queued_bytes, 0);
    close(other);
}

static void test_garbage_closes_its_connection_only(void **state)
{
    struct world *w = *state;
    static const uint8_t zero[4] = {0}, negative[4] = {255, 255, 255, 255}, tls[8] = {0x16, 3, 1, 2, 0, 1, 0, 1};
    static const uint8_t large[104] = {0x0c, 0x80, 0, 0};
    open_world(w);
    int good = connect_client(w);
    const struct {
        const void *data;
        size_t len;
    } inputs[] = {{"GET / HTTP/1.1\r\n\r\n", 18}, {tls, sizeof(tls)}, {zero, 4},       {negative, 4},
                  {large, sizeof(large)},         {"\0\0\0\1x", 5},   {"\0\0\0\1c", 5}};
    for (size_t i = 0; i < COUNT_OF(inputs); i++) {
        int fd = connect_client(w);
        send_bytes(fd, inputs[i].data, inputs[i].len);
        expect_closed(w, fd);
    }
    assert_int_equal(stats_of(w).garbage_closed, 6);
    send_frame(good, "e1");
    expect_frames(w, good, (const char *const[]){"e1"}, 1);
    assert_int_equal(stats_of(w).connections, 1);
    close(good);
}

static void test_garbage_behind_good_requests(void **state)
{
    struct world *w = *state;
    open_world(w);
    int fd = connect_client(w);
    send_frame(fd, "d1");
    send_frame(fd, "x2");
    expect_closed(w, fd);
    assert_int_equal(w->gone, 1);
    assert_int_equal(stats_of(w).in_flight, 0);
}

static void test_memory_follows_bytes_not_claims(void **state)
{
    struct world *w = *state;
    static const uint8_t claim[104] = {0, 0x0f, 0xff, 0xff};
    open_world(w);
    int fds[50];
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        fds[i] = connect_client(w);
        send_bytes(fds[i], claim, sizeof(claim));
    }
    turn(w);
    assert_int_equal(stats_of(w).queued_bytes, COUNT_OF(fds) * sizeof(claim));
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        close(fds[i]);
    }
    turn(w);
    assert_int_equal(stats_of(w).queued_bytes, 0);
    assert_int_equal(stats_of(w).connections, 0);
}

static void test_idle_halves_are_closed(void **state)
{
    struct world *w = *state;
    w->server.options.max_idle_ms = 2000; /* longer than it takes to connect all of them, on a busy machine, too */
    open_world(w);
    int waiting = connect_client(w);
    send_frame(waiting, "d1");
    int fds[300];
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        fds[i] = connect_client(w);
        send_bytes(fds[i], "\0\0", 2);
    }
    turn(w);
    assert_int_equal(stats_of(w).connections, 301);
    for (int i = 0; i < 1000 && stats_of(w).connections > 1; i++) {
        usleep(10000);
        turn(w);
    }
    assert_int_equal(stats_of(w).connections, 1); /* the one that is owed an answer stays */
    assert_int_equal(stats_of(w).idle_closed, 300);
    answer_held(w, 0);
    expect_frames(w, waiting, (const char *const[]){"d1"}, 1);
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        close(fds[i]);
    }
    close(waiting);
}

/* Each holds no more than a connection may, and all together more than the node has for them: who holds most goes, whoever reads stays. */
static void test_unread_answers_have_an_end(void **state)
{
    struct world *w = *state;
    enum { CLIENTS = 20, MOST_BYTES = 32 << 20, ANSWER_BYTES = 8 << 20 };
    w->server.options.max_output_bytes = 1 << 30;
    w->server.options.max_unread_bytes = MOST_BYTES;
    open_world(w);
    int reader = connect_client(w), fds[CLIENTS];
    uint8_t request[9] = {0, 0, 0, 5, 'b'};
    put_be32(request + 5, ANSWER_BYTES);
    for (size_t i = 0; i < CLIENTS; i++) {
        fds[i] = connect_client(w);
        send_bytes(fds[i], request, sizeof(request));
        turn(w);
        assert_in_range(stats_of(w).unread_bytes, 1, MOST_BYTES);
    }
    assert_true(stats_of(w).unread_closed > 0 && stats_of(w).connections > 2);
    send_frame(reader, "e");
    expect_frames(w, reader, (const char *const[]){"e"}, 1);
    for (size_t i = 0; i < CLIENTS; i++) {
        close(fds[i]);
    }
    turn(w);
    assert_int_equal(stats_of(w).unread_bytes, 0);
    assert_int_equal(stats_of(w).connections, 1);
    close(reader);
}

static void test_depth_is_bounded(void **state)
{
    struct world *w = *state;
    w->server.options.max_in_flight = 4;
    open_world(w);
    int fd = connect_client(w);
    for (int i = 0; i < 10; i++) {
        send_frame(fd, "d");
    }
    turn(w);
    assert_int_equal(w->seen_count, 4);
    answer_held(w, 0);
    answer_held(w, 2);
    turn(w);
    assert_int_equal(w->seen_count, 6);
    for (size_t i = 0; i < 10; i++) {
        if (w->held[i].slot != NULL) {
            answer_held(w, i);
        }
        turn(w);
    }
    assert_int_equal(w->seen_count, 10);
    uint8_t got[64];
    assert_int_equal(receive(fd, got, sizeof(got)), 50);
    close(fd);
}

static void test_slow_reader_is_not_served_without_end(void **state)
{
    struct world *w = *state;
    enum { REQUESTS = 200, ANSWER_BYTES = 100000 };
    open_world(w);
    int fd = connect_client(w);
    uint8_t request[9] = {0, 0, 0, 5, 'b'};
    put_be32(request + 5, ANSWER_BYTES);
    for (int i = 0; i < REQUESTS; i++) {
        send_bytes(fd, request, sizeof(request));
        turn(w);
    }
    size_t before = w->seen_count;
    assert_true(before < REQUESTS); /* the kernel takes a few megabytes, and then nobody */
    turn(w);
    assert_int_equal(w->seen_count, before);
    size_t total = 0;
    static uint8_t got[1 << 20];
    for (int i = 0; i < 10000 && total < (size_t)REQUESTS * (ANSWER_BYTES + 4); i++) {
        total += receive(fd, got, sizeof(got));
        turn(w);
    }
    assert_int_equal(total, (size_t)REQUESTS * (ANSWER_BYTES + 4));
    assert_int_equal(w->seen_count, REQUESTS);
    close(fd);
}

static void test_connections_are_bounded(void **state)
{
    struct world *w = *state;
    w->server.options.max_connections = 3;
    open_world(w);
    int fds[3];
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        fds[i] = connect_client(w);
    }
    expect_closed(w, connect_client(w));
    assert_int_equal(stats_of(w).refused, 1);
    close(fds[0]);
    turn(w);
    fds[0] = connect_client(w);
    send_frame(fds[0], "e");
    expect_frames(w, fds[0], (const char *const[]){"e"}, 1);
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        close(fds[i]);
    }
}

static void test_connections_per_address_are_bounded(void **state)
{
    struct world *w = *state;
    w->server.options.max_connections_per_ip = 2;
    open_world(w);
    int a = connect_client(w), b = connect_client(w);
    expect_closed(w, connect_client(w));
    assert_int_equal(stats_of(w).connections, 2);
    close(a);
    close(b);
}

static void test_client_goes_while_owed(void **state)
{
    struct world *w = *state;
    open_world(w);
    int fd = connect_client(w);
    send_frame(fd, "d");
    send_frame(fd, "e");
    send_frame(fd, "h");
    turn(w);
    assert_int_equal(w->held_count, 2);
    close(fd);
    turn(w);
    assert_int_equal(w->gone, 2);
    assert_int_equal(stats_of(w).connections, 0);
    assert_int_equal(stats_of(w).queued_bytes, 0);
}

static void test_large_frames(void **state)
{
    struct world *w = *state;
    open_world(w);
    int fd = connect_client(w);
    static uint8_t bytes[(1 << 20) + 4];
    static uint8_t got[sizeof(bytes)];
    const size_t sizes[] = {65536, 65537, 300000, 1 << 20};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        size_t len = sizes[i] + 4, sent = 0, received = 0;
        for (size_t at = 0; at < len; at++) {
            bytes[at] = (uint8_t)(at * 7 + i);
        }
        put_be32(bytes, (uint32_t)sizes[i]);
        bytes[4] = 'e';
        for (int round = 0; round < 10000 && received < len; round++) {
            ssize_t n = sent < len ? send(fd, bytes + sent, len - sent, MSG_NOSIGNAL) : 0;
            sent += n > 0 ? (size_t)n : 0;
            turn(w);
            received += receive(fd, got + received, len - received);
        }
        assert_int_equal(received, len);
        assert_memory_equal(got, bytes, len);
    }
    put_be32(bytes, (1 << 20) + 1);
    send_bytes(fd, bytes, 4);
    expect_closed(w, fd);
}

static void test_memory_of_requests_is_bounded(void **state)
{
    struct world *w = *state;
    enum { FRAME = 40000 };
    w->server.options.max_queued_bytes = 100000;
    open_world(w);
    static uint8_t bytes[FRAME + 4];
    put_be32(bytes, FRAME);
    bytes[4] = 'd';
    int fds[4];
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        fds[i] = connect_client(w);
        send_bytes(fds[i], bytes, sizeof(bytes));
        turn(w);
    }
    assert_int_equal(w->seen_count, 2); /* the third waits as input, the fourth in the kernel or as input */
    assert_true(stats_of(w).pauses > 0);
    answer_held(w, 0);
    answer_held(w, 1);
    turn(w);
    turn(w);
    assert_true(w->seen_count >= 3);
    for (size_t i = 2; i < 4; i++) {
        turn(w);
        answer_held(w, i);
    }
    turn(w);
    assert_int_equal(stats_of(w).queued_bytes, 0);
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        close(fds[i]);
    }
}

static void test_unfinished_requests_cannot_use_up_memory(void **state)
{
    struct world *w = *state;
    w->server.options.max_queued_bytes = 100000;
    open_world(w);
    static uint8_t half[40004];
    put_be32(half, 1 << 19);
    int fds[3];
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        fds[i] = connect_client(w);
        send_bytes(fds[i], half, sizeof(half));
        turn(w);
    }
    assert_int_equal(stats_of(w).connections, 2);
    assert_true(stats_of(w).queued_bytes <= 100000);
    int good = connect_client(w);
    send_frame(good, "e");
    expect_frames(w, good, (const char *const[]){"e"}, 1);
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        close(fds[i]);
    }
    close(good);
}

/* What yields may stay: whoever needs memory is not made to wait for it. */
static void test_nobody_waits_for_the_memory_of_what_yields(void **state)
{
    struct world *w = *state;
    w->server.options.max_queued_bytes = 100000;
    open_world(w);
    static uint8_t half[60004], small[10004];
    put_be32(half, 1 << 19);
    put_be32(small, 10000);
    small[4] = 'y';
    int fds[5];
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        fds[i] = connect_client(w);
        send_bytes(fds[i], small, sizeof(small));
        turn(w);
    }
    int hoards = connect_client(w), good = connect_client(w);
    send_bytes(hoards, half, sizeof(half));
    expect_closed(w, hoards);
    send_frame(good, "e");
    expect_frames(w, good, (const char *const[]){"e"}, 1);
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        close(fds[i]);
    }
    close(good);
    turn(w);
    assert_int_equal(w->gone, COUNT_OF(fds));
    assert_int_equal(stats_of(w).queued_bytes, 0);
}

static void test_close_by_number(void **state)
{
    struct world *w = *state;
    open_world(w);
    int a = connect_client(w), b = connect_client(w);
    send_frame(a, "d");
    turn(w);
    uint64_t connection = w->last_connection;
    assert_int_not_equal(connection, 0);
    net_close_connection(w->server.net, connection, "test");
    net_close_connection(w->server.net, connection, "twice");
    net_close_connection(w->server.net, connection + (1ull << 32), "unknown");
    answer(w->held[0].slot, bytes_of_str(STR("late")));
    net_release(w->held[0].slot);
    expect_closed(w, a);
    assert_int_equal(w->gone, 0);
    send_frame(b, "e");
    expect_frames(w, b, (const char *const[]){"e"}, 1);
    close(b);
}

static void test_busy_port(void **state)
{
    struct world *w = *state;
    const char *why = NULL;
    uint16_t port;
    open_world(w);
    assert_int_equal(net_listen(w->server.net, "127.0.0.1", w->server.port, &port, &why), MUSTER_E_BUSY);
    assert_non_null(why);
    assert_int_equal(net_listen(w->server.net, "no such host.invalid", 0, &port, &why), MUSTER_E_INVALID);
}

/* A transport that turns every byte over, both ways. */
static void *flip_open(void *ctx)
{
    return ctx;
}

static void flip_close(void *state)
{
    ++*(int *)state;
}

static int flip(struct bytes in, struct buf *out)
{
    uint8_t *at = buf_add(out, (size_t)in.len);
    for (int32_t i = 0; i < in.len; i++) {
        at[i] = in.ptr[i] ^ 0xff;
    }
    return 0;
}

static int flip_input(void *state, struct bytes received, struct buf *plain, struct buf *reply)
{
    (void)state;
    if (received.ptr[0] == '?') { /* the transport's own talk */
        return buf_put(reply, "!", 1);
    }
    return received.ptr[0] == '#' ? MUSTER_E_MALFORMED : flip(received, plain);
}

static int flip_output(void *state, struct bytes plain, struct buf *out)
{
    (void)state;
    return flip(plain, out);
}

static void test_transport(void **state)
{
    struct world *w = *state;
    int closes = 0;
    w->server.options.transport = (struct net_transport){"flip", flip_open, flip_close, flip_input, flip_output, &closes};
    open_world(w);
    uint8_t bytes[16], got[16];
    int fd = connect_client(w);
    send_bytes(fd, "?", 1);
    turn(w);
    assert_int_equal(receive(fd, got, sizeof(got)), 1);
    assert_int_equal(got[0], '!');
    size_t len = put_frame(bytes, "e12");
    for (size_t i = 0; i < len; i++) {
        bytes[i] ^= 0xff;
    }
    send_bytes(fd, bytes, len);
    turn(w);
    assert_int_equal(receive(fd, got, sizeof(got)), len);
    assert_memory_equal(got, bytes, len);
    send_bytes(fd, "#", 1);
    expect_closed(w, fd);
    assert_int_equal(closes, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_frames_at_every_split, setup, teardown),
        cmocka_unit_test_setup_teardown(test_answers_keep_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_hold_keeps_what_follows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_yields_is_told_of_what_follows, setup, teardown),
        cmocka_unit_test_setup_teardown(test_garbage_closes_its_connection_only, setup, teardown),
        cmocka_unit_test_setup_teardown(test_garbage_behind_good_requests, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_follows_bytes_not_claims, setup, teardown),
        cmocka_unit_test_setup_teardown(test_idle_halves_are_closed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unread_answers_have_an_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_depth_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_slow_reader_is_not_served_without_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_connections_are_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_connections_per_address_are_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_client_goes_while_owed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_large_frames, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_of_requests_is_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(test_unfinished_requests_cannot_use_up_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nobody_waits_for_the_memory_of_what_yields, setup, teardown),
        cmocka_unit_test_setup_teardown(test_close_by_number, setup, teardown),
        cmocka_unit_test_setup_teardown(test_busy_port, setup, teardown),
        cmocka_unit_test_setup_teardown(test_transport, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
