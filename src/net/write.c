/* write.c: answers leave, one write a connection and turn. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

struct buf net_take_buf(struct net *n)
{
    if (n->free_buf_count > 0) {
        return n->free_bufs[--n->free_buf_count];
    }
    struct buf fresh;
    buf_init(&fresh, 0);
    return fresh;
}

void net_give_buf(struct net *n, struct buf *b)
{
    if (n->free_buf_count < NET_KEPT_BUFS && b->cap <= NET_KEPT_BUF_BYTES && b->ptr != NULL) {
        buf_clear(b);
        n->free_bufs[n->free_buf_count++] = *b;
        buf_init(b, 0);
    } else {
        buf_fini(b);
    }
}

void conn_make_dirty(struct net_conn *c)
{
    if (!c->dirty && !c->closing && c->out.len > 0) {
        c->dirty = true;
        TAILQ_INSERT_TAIL(&c->net->dirty, c, dirty_link);
    }
}

size_t conn_output_bytes(const struct net_conn *c)
{
    return c->out.len + c->writing_bytes;
}

void conn_count_output(struct net_conn *c)
{
    size_t bytes = c->closing || c->writes == 0 ? 0 : conn_output_bytes(c);
    c->net->unread_bytes += bytes - c->unread_bytes;
    c->unread_bytes = bytes;
}

/* Memory that clients hold by not reading has an end, however many they are: who holds most goes first. */
static void shed_unread(struct net *n)
{
    while (n->options.max_unread_bytes > 0 && n->unread_bytes > n->options.max_unread_bytes) {
        struct net_conn *most = NULL, *c;
        TAILQ_FOREACH(c, &n->all, all)
        {
            most = most == NULL || c->unread_bytes > most->unread_bytes ? c : most;
        }
        n->stats.unread_closed++;
        conn_close(most, "answers that are not read take too much memory");
    }
}

static void on_written(uv_write_t *request, int status)
{
    struct net_write *write = request->data;
    struct net_conn *c = write->conn;
    struct net *n = c->net;
    c->writes--;
    c->writing_bytes -= write->bytes.len;
    net_give_buf(n, &write->bytes);
    free(write);
    c->owned_slots--;
    conn_count_output(c);
    if (c->closing) {
        conn_put(c);
        return;
    }
    if (status < 0) {
        conn_close(c, uv_strerror(status));
        return;
    }
    c->active_ms = net_now_ms(n);
    conn_make_dirty(c);
    if (c->blocked) {
        conn_make_ready(c);
    }
}

/* Hands the bytes to the loop, which writes them when the socket takes them. Owns *bytes from then on. */
static int conn_write_later(struct net_conn *c, struct buf *bytes, size_t from)
{
    struct net_write *write = calloc(1, sizeof(*write));
    if (write == NULL) {
        return UV_ENOMEM;
    }
    write->request.data = write;
    write->conn = c;
    buf_drop_front(bytes, from);
    write->bytes = *bytes;
    buf_init(bytes, 0);
    uv_buf_t part = uv_buf_init((char *)write->bytes.ptr, (unsigned)write->bytes.len);
    int rc = uv_write(&write->request, (uv_stream_t *)&c->tcp, &part, 1, on_written);
    if (rc < 0) {
        buf_fini(&write->bytes);
        free(write);
        return rc;
    }
    c->writes++;
    c->writing_bytes += write->bytes.len;
    c->owned_slots++; /* the write holds the connection, too */
    conn_count_output(c);
    return 0;
}

static int conn_write(struct net_conn *c, struct buf *bytes)
{
    uv_buf_t part = uv_buf_init((char *)bytes->ptr, (unsigned)bytes->len);
    int written = uv_try_write((uv_stream_t *)&c->tcp, &part, 1);
    if (written < 0 && written != UV_EAGAIN) {
        return written;
    }
    size_t done = written > 0 ? (size_t)written : 0;
    if (done > 0) {
        c->active_ms = net_now_ms(c->net);
    }
    c->net->stats.writes++;
    c->net->stats.bytes_out += bytes->len;
    if (done < bytes->len) {
        return conn_write_later(c, bytes, done);
    }
    net_give_buf(c->net, bytes);
    return 0;
}

static int conn_flush(struct net_conn *c)
{
    const struct net_transport *transport = &c->net->options.transport;
    if (c->writes > 0) {
        return 0; /* its end makes the connection dirty again */
    }
    if (transport->output == NULL) {
        return conn_write(c, &c->out);
    }
    struct buf wrapped = net_take_buf(c->net);
    int rc = transport->output(c->transport, (struct bytes){c->out.ptr, (int32_t)c->out.len}, &wrapped);
    net_give_buf(c->net, &c->out);
    rc = rc < 0 ? UV_EPROTO : conn_write(c, &wrapped);
    if (rc < 0) {
        buf_fini(&wrapped);
    }
    return rc;
}

int conn_send_raw(struct net_conn *c, struct bytes data)
{
    struct buf copy = net_take_buf(c->net);
    if (buf_put(&copy, data.ptr, (size_t)data.len) < 0) {
        return MUSTER_E_FULL;
    }
    return conn_write_later(c, &copy, 0) < 0 ? MUSTER_E_IO : MUSTER_E_OK;
}

void net_flush(struct net *n)
{
    struct net_conn *c;
    n->turn++;
    while ((c = TAILQ_FIRST(&n->dirty)) != NULL) {
        TAILQ_REMOVE(&n->dirty, c, dirty_link);
        c->dirty = false;
        int rc = conn_flush(c);
        if (rc < 0) {
            conn_close(c, uv_strerror(rc));
        } else if (c->blocked && c->writes == 0) {
            conn_make_ready(c);
        }
    }
    shed_unread(n);
    net_close_doomed(n);
}
