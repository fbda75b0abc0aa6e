#include "fixture.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

void server_defaults(struct server *s)
{
    s->options = (struct net_options){
        .request_max_bytes = 1 << 20,
        .max_connections = 2000,
        .max_connections_per_ip = 2000,
        .max_in_flight = 100,
        .max_output_bytes = 1 << 16,
        .max_idle_ms = 60000,
    };
    log_set(NULL, NULL, LOG_ERROR);
}

void server_open(struct server *s, const struct net_handler *handler)
{
    const char *why = NULL;
    assert_int_equal(uv_loop_init(&s->loop), 0);
    assert_int_equal(net_new(&s->net, &s->loop, &s->options, handler), 0);
    assert_int_equal(net_listen(s->net, "127.0.0.1", 0, &s->port, &why), 0);
    assert_true(s->port != 0);
}

static void on_closed(void *ctx)
{
    ((struct server *)ctx)->closed = true;
}

int server_close(struct server *s)
{
    net_close(s->net, on_closed, s);
    for (int i = 0; i < 1000 && !s->closed; i++) {
        uv_run(&s->loop, UV_RUN_NOWAIT);
    }
    if (!s->closed) {
        return -1;
    }
    net_free(s->net);
    return uv_loop_close(&s->loop);
}

struct net_stats server_stats(const struct server *s)
{
    struct net_stats stats;
    net_stats(s->net, &stats);
    return stats;
}

int server_connect(struct server *s)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(s->port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)), 0);
    return fd;
}

size_t receive(int fd, uint8_t *dst, size_t size)
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

void answer(struct net_slot *slot, struct bytes body)
{
    struct buf *out = net_answer_begin(slot);
    if (out != NULL) {
        uint8_t *at = buf_add(out, 4 + (size_t)body.len);
        assert_non_null(at);
        put_be32(at, (uint32_t)body.len);
        memcpy(at + 4, body.ptr, (size_t)body.len);
    }
    net_answer_end(slot);
}
