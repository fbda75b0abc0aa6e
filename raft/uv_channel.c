#include "uv_channel.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

enum {
    READ_BYTES = 64 << 10,
    KEEP_BYTES = 1 << 20, /* an empty input buffer above this is given back */
    KEEPALIVE_S = 5,
    /* Unacknowledged bytes for so long end a connection: the machine is gone, or the way to it. When the way is there again, the system would ask
     * again only after as long a time as it was cut; a new connection is there at once. */
    SILENCE_MS = 1000
};

int channel_init(struct channel *c, uv_loop_t *loop, size_t frame_max, size_t out_max)
{
    memset(c, 0, sizeof *c);
    c->frame_max = frame_max;
    c->out_max = out_max;
    buf_init(&c->in, 0);
    buf_init(&c->out, 0);
    buf_init(&c->writing, 0);
    int rc = uv_tcp_init(loop, &c->tcp);
    c->tcp.data = c;
    return rc;
}

static void end(struct channel *c, const char *why)
{
    if (c->ended || c->closing) {
        return;
    }
    c->ended = true;
    uv_read_stop((uv_stream_t *)&c->tcp);
    c->on_end(c, why);
}

static void end_by_system(struct channel *c, int status)
{
    bool gone = status == UV_EOF || status == UV_ECONNRESET || status == UV_EPIPE;
    end(c, gone ? NULL : uv_strerror(status));
}

/* ---- reading ---------------------------------------------------------------------------------------------------------------- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    struct channel *c = handle->data;
    (void)suggested;
    ret->base = buf_add(&c->in, READ_BYTES);
    ret->len = ret->base != NULL ? READ_BYTES : 0;
    c->in.len -= ret->len; /* room, not content */
}

static void take_frames(struct channel *c)
{
    size_t at = 0;
    while (c->in.len - at >= 4 && !c->closing) {
        size_t len = get_le32(c->in.ptr + at);
        if (len > c->frame_max || len == 0) {
            end(c, "a frame of impossible length");
            return;
        }
        if (c->in.len - at - 4 < len) {
            break;
        }
        int rc = c->on_frame(c, (struct bytes){c->in.ptr + at + 4, (int32_t)len});
        at += 4 + len;
        if (rc != 0) {
            end(c, muster_strerror(rc));
            return;
        }
    }
    buf_drop_front(&c->in, at);
    if (c->in.len == 0 && c->in.cap > KEEP_BYTES) {
        buf_fini(&c->in);
        buf_init(&c->in, 0);
    }
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *unused)
{
    struct channel *c = stream->data;
    (void)unused;
    if (n < 0) {
        end_by_system(c, (int)n);
        return;
    }
    c->in.len += (size_t)n;
    c->bytes_received += (uint64_t)n;
    take_frames(c);
}

int channel_start(struct channel *c)
{
    uv_os_fd_t fd;
    unsigned silence_ms = SILENCE_MS;
    uv_tcp_nodelay(&c->tcp, 1);
    uv_tcp_keepalive(&c->tcp, 1, KEEPALIVE_S);
    if (uv_fileno((uv_handle_t *)&c->tcp, &fd) == 0) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &silence_ms, sizeof silence_ms);
    }
    return uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read);
}

/* ---- writing ---------------------------------------------------------------------------------------------------------------- */

size_t channel_queued(const struct channel *c)
{
    return c->out.len + c->writing.len;
}

static bool has_room(const struct channel *c, size_t len)
{
    size_t queued = channel_queued(c);
    return len <= CHANNEL_FRAME_MAX && (queued == 0 || queued + 4 + len <= c->out_max);
}

bool channel_send(struct channel *c, struct bytes frame)
{
    if (c->closing || c->ended || !has_room(c, (size_t)frame.len)) {
        c->dropped++;
        return false;
    }
    uint8_t *p = buf_add(&c->out, 4 + (size_t)frame.len);
    if (p == NULL) {
        c->dropped++;
        return false;
    }
    put_le32(p, (uint32_t)frame.len);
    memcpy(p + 4, frame.ptr, (size_t)frame.len);
    return true;
}

static void on_written(uv_write_t *req, int status)
{
    struct channel *c = req->data;
    c->write_busy = false;
    c->bytes_sent += c->writing.len;
    buf_clear(&c->writing);
    if (status != 0) {
        end_by_system(c, status);
        return;
    }
    channel_flush(c);
}

static void write_rest(struct channel *c)
{
    struct buf spare = c->writing;
    c->writing = c->out;
    c->out = spare;
    uv_buf_t part = uv_buf_init((char *)c->writing.ptr, (unsigned)c->writing.len);
    c->write.data = c;
    c->write_busy = true;
    int rc = uv_write(&c->write, (uv_stream_t *)&c->tcp, &part, 1, on_written);
    if (rc != 0) {
        c->write_busy = false;
        end_by_system(c, rc);
    }
}

void channel_flush(struct channel *c)
{
    if (c->closing || c->ended || c->write_busy || c->out.len == 0) {
        return;
    }
    uv_buf_t all = uv_buf_init((char *)c->out.ptr, (unsigned)c->out.len);
    int n = uv_try_write((uv_stream_t *)&c->tcp, &all, 1);
    if (n < 0 && n != UV_EAGAIN) {
        end_by_system(c, n);
        return;
    }
    if (n > 0) {
        c->bytes_sent += (uint64_t)n;
        buf_drop_front(&c->out, (size_t)n);
    }
    if (c->out.len > 0) {
        write_rest(c);
    }
}

/* ---- the end ---------------------------------------------------------------------------------------------------------------- */

static void on_close(uv_handle_t *handle)
{
    struct channel *c = handle->data;
    c->on_closed(c);
}

void channel_close(struct channel *c)
{
    if (!c->closing) {
        c->closing = true;
        uv_close((uv_handle_t *)&c->tcp, on_close);
    }
}

void channel_fini(struct channel *c)
{
    buf_fini(&c->in);
    buf_fini(&c->out);
    buf_fini(&c->writing);
}
