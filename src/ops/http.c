/* http.c: one GET per connection, read by hand: all that a scraper and a health check need. Anything else is answered with an error and closed. */
#include <muster/ops.h>

#include <bsd/sys/queue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uv.h>

enum { REQUEST_BYTES = 4096, MAX_CLIENTS = 64, CLIENT_MS = 10000, SWEEP_MS = 1000 };

struct client {
    uv_tcp_t tcp;
    TAILQ_ENTRY(client) link;
    struct ops *ops;
    uv_write_t write;
    struct buf out;
    char in[REQUEST_BYTES + 1];
    size_t in_len;
    uint64_t since_ms;
    bool answered;
};
TAILQ_HEAD(client_list, client);

struct ops {
    uv_loop_t *loop;
    struct ops_handler handler;
    uv_tcp_t listener;
    uv_timer_t sweep;
    struct client_list clients;
    uint32_t client_count, handles;
    void (*closed)(void *ctx);
    void *closed_ctx;
};

static void handle_closed(struct ops *o)
{
    if (--o->handles == 0) {
        void (*closed)(void *) = o->closed;
        void *ctx = o->closed_ctx;
        free(o);
        if (closed != NULL) {
            closed(ctx);
        }
    }
}

static void on_client_closed(uv_handle_t *handle)
{
    struct client *c = handle->data;
    struct ops *o = c->ops;
    TAILQ_REMOVE(&o->clients, c, link);
    o->client_count--;
    buf_fini(&c->out);
    free(c);
    handle_closed(o);
}

static void client_close(struct client *c)
{
    if (!uv_is_closing((uv_handle_t *)&c->tcp)) {
        uv_close((uv_handle_t *)&c->tcp, on_client_closed);
    }
}

static void on_written(uv_write_t *write, int status)
{
    (void)status;
    client_close(write->data);
}

static void respond(struct client *c, const char *status, const char *type, const struct buf *body)
{
    char head[256];
    int len = snprintf(head, sizeof(head), "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", status,
                       type, body->len);
    c->answered = true;
    uv_read_stop((uv_stream_t *)&c->tcp);
    if (buf_put(&c->out, head, (size_t)len) < 0 || buf_put(&c->out, body->ptr, body->len) < 0) {
        client_close(c);
        return;
    }
    uv_buf_t part = uv_buf_init((char *)c->out.ptr, (unsigned)c->out.len);
    c->write.data = c;
    if (uv_write(&c->write, (uv_stream_t *)&c->tcp, &part, 1, on_written) < 0) {
        client_close(c);
    }
}

/* What a GET asks for: the second word of its first line; null: it is no GET. */
static struct str target_of(const char *request)
{
    if (strncmp(request, "GET ", 4) != 0) {
        return STR_NULL;
    }
    return (struct str){request + 4, (int32_t)strcspn(request + 4, " \r\n")};
}

static bool target_is(struct str target, const char *path)
{
    size_t len = strlen(path);
    return target.len >= (int32_t)len && memcmp(target.ptr, path, len) == 0 && (target.len == (int32_t)len || target.ptr[len] == '?');
}

static void serve(struct client *c)
{
    static const char plain[] = "text/plain; charset=utf-8";
    struct ops *o = c->ops;
    struct str target = target_of(c->in);
    struct buf body;
    buf_init(&body, 0);
    int status = str_is_null(target) ? 405 : ops_probe(&o->handler, target, &body);
    if (status == 0 && target_is(target, "/metrics")) {
        o->handler.metrics(o->handler.ctx, &body);
        respond(c, "200 OK", "text/plain; version=0.0.4; charset=utf-8", &body);
    } else if (status == 0 && target_is(target, "/health")) {
        bool healthy = o->handler.health(o->handler.ctx, &body);
        respond(c, healthy ? "200 OK" : "503 Service Unavailable", plain, &body);
    } else if (status == 200 || status == 503) {
        respond(c, status == 200 ? "200 OK" : "503 Service Unavailable", plain, &body);
    } else {
        static const char text[] = "There is /livez, /readyz, /health and /metrics.\n";
        buf_put(&body, text, sizeof(text) - 1);
        respond(c, status == 405 ? "405 Method Not Allowed" : "404 Not Found", plain, &body);
    }
    buf_fini(&body);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    (void)suggested;
    struct client *c = handle->data;
    *ret = uv_buf_init(c->in + c->in_len, (unsigned)(REQUEST_BYTES - c->in_len));
}

static void on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf)
{
    (void)buf;
    struct client *c = stream->data;
    if (nread == 0) {
        return;
    }
    if (nread < 0) {
        client_close(c);
        return;
    }
    c->in_len += (size_t)nread;
    c->in[c->in_len] = '\0';
    if (memmem(c->in, c->in_len, "\r\n\r\n", 4) != NULL || memmem(c->in, c->in_len, "\n\n", 2) != NULL) {
        serve(c);
    } else if (c->in_len == REQUEST_BYTES) {
        client_close(c);
    }
}

/* Whoever opened a connection first and has not asked yet, or else has not taken its answer, makes room: silent connections must not keep out those who ask. */
static void make_room(struct ops *o)
{
    struct client *c, *oldest = NULL;
    TAILQ_FOREACH(c, &o->clients, link)
    {
        if (!uv_is_closing((uv_handle_t *)&c->tcp) && (oldest == NULL || (oldest->answered && !c->answered))) {
            oldest = c;
        }
    }
    if (oldest != NULL) {
        client_close(oldest);
    }
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct ops *o = listener->data;
    struct client *c = status == 0 ? calloc(1, sizeof(*c)) : NULL;
    if (c == NULL) {
        return;
    }
    c->ops = o;
    c->tcp.data = c;
    c->since_ms = uv_now(o->loop);
    if (o->client_count >= MAX_CLIENTS) {
        make_room(o);
    }
    uv_tcp_init(o->loop, &c->tcp);
    TAILQ_INSERT_TAIL(&o->clients, c, link);
    o->client_count++;
    o->handles++;
    if (uv_accept(listener, (uv_stream_t *)&c->tcp) < 0 || uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) < 0) {
        client_close(c);
    }
}

/* Whoever has not asked, or not taken the answer, in time is closed. */
static void on_sweep(uv_timer_t *timer)
{
    struct ops *o = timer->data;
    struct client *c;
    TAILQ_FOREACH(c, &o->clients, link)
    {
        if (uv_now(o->loop) - c->since_ms > CLIENT_MS) {
            client_close(c);
        }
    }
}

static void on_handle_closed(uv_handle_t *handle)
{
    handle_closed(handle->data);
}

static int bind_to(struct ops *o, const char *host, uint16_t port)
{
    struct sockaddr_storage address;
    const char *name = host[0] != '\0' ? host : "0.0.0.0";
    int rc = uv_ip4_addr(name, port, (struct sockaddr_in *)&address);
    if (rc < 0) {
        rc = uv_ip6_addr(name, port, (struct sockaddr_in6 *)&address);
    }
    if (rc == 0) {
        rc = uv_tcp_bind(&o->listener, (struct sockaddr *)&address, 0);
    }
    return rc < 0 ? rc : uv_listen((uv_stream_t *)&o->listener, MAX_CLIENTS, on_connection);
}

static uint16_t bound_port(const uv_tcp_t *tcp)
{
    struct sockaddr_storage address;
    int len = sizeof(address);
    if (uv_tcp_getsockname(tcp, (struct sockaddr *)&address, &len) < 0) {
        return 0;
    }
    return ntohs(address.ss_family == AF_INET ? ((struct sockaddr_in *)&address)->sin_port : ((struct sockaddr_in6 *)&address)->sin6_port);
}

int ops_open(struct ops **ret, struct uv_loop_s *loop, const char *host, uint16_t port, const struct ops_handler *handler,
             uint16_t *ret_port, const char **ret_why)
{
    struct ops *o = calloc(1, sizeof(*o));
    MUSTER_CHECK(o != NULL);
    o->loop = loop;
    o->handler = *handler;
    TAILQ_INIT(&o->clients);
    uv_tcp_init(loop, &o->listener);
    uv_timer_init(loop, &o->sweep);
    o->listener.data = o->sweep.data = o;
    o->handles = 2;
    int rc = bind_to(o, host, port);
    if (rc < 0) {
        *ret_why = uv_strerror(rc);
        ops_close(o, NULL, NULL);
        return rc == UV_EADDRINUSE ? MUSTER_E_BUSY : MUSTER_E_INVALID;
    }
    uv_timer_start(&o->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
    uv_unref((uv_handle_t *)&o->sweep);
    *ret_port = bound_port(&o->listener);
    *ret = o;
    return MUSTER_E_OK;
}

void ops_close(struct ops *o, void (*done)(void *ctx), void *ctx)
{
    struct client *c;
    o->closed = done;
    o->closed_ctx = ctx;
    TAILQ_FOREACH(c, &o->clients, link)
    {
        client_close(c);
    }
    uv_close((uv_handle_t *)&o->listener, on_handle_closed);
    uv_close((uv_handle_t *)&o->sweep, on_handle_closed);
}
