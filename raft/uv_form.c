/* An unformed node on the network: it answers `musterd form`, tells nodes that dial it that it is empty, and does nothing else. */
#include "form.h"
#include "uv_channel.h"
#include "uv_peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONNECTIONS_MAX = 64 };

struct form_server {
    uv_loop_t *loop;
    struct form form;
    struct store_port port;
    uv_tcp_t listener;
    struct guest *guests;
    unsigned guest_count;
    unsigned handles; /* listener and guests that are not closed yet */
    bool closing, finished;
    void (*formed)(void *ctx, const struct store_identity *identity);
    void (*done)(void *ctx);
    void *ctx, *done_ctx;
};

struct guest {
    struct guest *next;
    struct channel channel;
    struct form_server *server;
};

static void release(struct form_server *s)
{
    s->handles--;
    if (s->handles > 0) {
        return;
    }
    if (s->finished) {
        struct store_identity identity = s->form.identity;
        void (*formed)(void *ctx, const struct store_identity *id) = s->formed;
        void *ctx = s->ctx;
        free(s);
        formed(ctx, &identity);
        return;
    }
    void (*done)(void *ctx) = s->done;
    void *ctx = s->done_ctx;
    free(s);
    if (done != NULL) {
        done(ctx);
    }
}

static void on_listener_closed(uv_handle_t *handle)
{
    release(handle->data);
}

static void close_all(struct form_server *s)
{
    if (s->closing) {
        return;
    }
    s->closing = true;
    uv_close((uv_handle_t *)&s->listener, on_listener_closed);
    for (struct guest *g = s->guests; g != NULL; g = g->next) {
        channel_close(&g->channel);
    }
}

static void guest_closed(struct channel *c)
{
    struct guest *g = c->ctx;
    struct form_server *s = g->server;
    struct guest **at = &s->guests;
    while (*at != g) {
        at = &(*at)->next;
    }
    *at = g->next;
    s->guest_count--;
    form_gone(&s->form, g);
    channel_fini(c);
    free(g);
    release(s);
}

static void guest_ended(struct channel *c, const char *why)
{
    (void)why;
    channel_close(c);
}

static void reply(struct guest *g, const struct buf *out)
{
    channel_send(&g->channel, (struct bytes){out->ptr, (int32_t)out->len});
    channel_flush(&g->channel);
}

static void answer_peer(struct guest *g)
{
    struct hello_answer answer = {.verdict = HELLO_VERDICT_UNFORMED, .node = g->server->form.config.node_id};
    struct buf out;
    buf_init(&out, HELLO_BYTES_MAX);
    MUSTER_CHECK(hello_answer_encode(&out, &answer) == 0);
    reply(g, &out);
    buf_fini(&out);
}

static int answer_form(struct guest *g, struct bytes frame)
{
    struct form_server *s = g->server;
    static struct form_request request;
    struct form_answer answer;
    int rc = form_request_decode(frame, &request);
    if (rc != 0) {
        return rc;
    }
    bool was_formed = s->form.state == FORM_FORMED;
    form_handle(&s->form, g, &request, &answer);
    struct buf out;
    buf_init(&out, FORM_FRAME_MAX);
    MUSTER_CHECK(form_answer_encode(&out, &answer) == 0);
    reply(g, &out);
    buf_fini(&out);
    if (s->form.state == FORM_FORMED && !was_formed) {
        char cluster[23];
        uuid_text(s->form.identity.cluster_id, cluster);
        log_event(LOG_INFO, "cluster_formed", "node=%u cluster=%s", s->form.config.node_id, cluster);
        s->finished = true;
        close_all(s);
    }
    return 0;
}

static int guest_frame(struct channel *c, struct bytes frame)
{
    struct guest *g = c->ctx;
    enum hello_class class;
    int rc = hello_class_of(frame, &class);
    if (rc != 0) {
        return rc;
    }
    if (class != HELLO_FORM) {
        answer_peer(g);
        return MUSTER_E_REFUSED;
    }
    return answer_form(g, frame);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct form_server *s = listener->data;
    if (status != 0 || s->closing) {
        return;
    }
    struct guest *g = calloc(1, sizeof *g);
    MUSTER_CHECK(g != NULL);
    g->server = s;
    MUSTER_CHECK(channel_init(&g->channel, s->loop, FORM_FRAME_MAX, FORM_FRAME_MAX + 4) == 0);
    g->channel.ctx = g;
    g->channel.on_frame = guest_frame;
    g->channel.on_end = guest_ended;
    g->channel.on_closed = guest_closed;
    g->next = s->guests;
    s->guests = g;
    s->guest_count++;
    s->handles++;
    int rc = uv_accept(listener, (uv_stream_t *)&g->channel.tcp);
    if (rc != 0 || s->guest_count > CONNECTIONS_MAX || channel_start(&g->channel) != 0) {
        channel_close(&g->channel);
    }
}

static void free_unopened(uv_handle_t *handle)
{
    free(handle->data);
}

int form_server_open(struct form_server **ret, uv_loop_t *loop, const struct store_port *port, const struct form_config *config,
                     const char *listen_host, uint16_t listen_port, void (*formed)(void *ctx, const struct store_identity *identity),
                     void *ctx, char *text)
{
    struct form_server *s = calloc(1, sizeof *s);
    MUSTER_CHECK(s != NULL);
    s->loop = loop;
    s->port = *port;
    s->formed = formed;
    s->ctx = ctx;
    int rc = form_init(&s->form, &s->port, config, text);
    if (rc != 0) {
        free(s);
        return rc;
    }
    rc = uv_listen_on(loop, &s->listener, listen_host, listen_port, on_connection, text);
    s->listener.data = s;
    if (rc != 0) {
        uv_close((uv_handle_t *)&s->listener, free_unopened);
        return rc;
    }
    s->handles = 1;
    *ret = s;
    return 0;
}

void form_server_close(struct form_server *s, void (*done)(void *ctx), void *ctx)
{
    s->done = done;
    s->done_ctx = ctx;
    close_all(s);
}
