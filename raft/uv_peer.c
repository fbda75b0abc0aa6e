#include "uv_peer.h"
#include "uv_peer_internal.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BACKLOG = 128, ACCEPT_TIMEOUT_MS = 5000, INBOUND_MAX = 256, MAX_QUEUED_BYTES = 32 << 20 };

void peers_hold(struct uv_peers *peers)
{
    peers->holds++;
}

void peers_release(struct uv_peers *peers)
{
    MUSTER_CHECK(peers->holds > 0);
    peers->holds--;
    if (peers->holds > 0) {
        return;
    }
    void (*closed)(void *ctx) = peers->closed;
    void *ctx = peers->closed_ctx;
    free(peers);
    closed(ctx);
}

/* ---- listening -------------------------------------------------------------------------------------------------------------- */

int uv_listen_on(uv_loop_t *loop, uv_tcp_t *tcp, const char *host, uint16_t port, uv_connection_cb on_connection, char *text)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    char service[8];
    snprintf(service, sizeof service, "%u", port);
    int rc = uv_tcp_init(loop, tcp);
    MUSTER_CHECK(rc == 0);
    rc = getaddrinfo(host != NULL && host[0] != '\0' ? host : NULL, service, &hints, &list);
    if (rc != 0) {
        snprintf(text, 512, "muster.peer.listener: %.200s is no address of this machine: %s", host, gai_strerror(rc));
        return MUSTER_E_INVALID;
    }
    rc = uv_tcp_bind(tcp, list->ai_addr, 0);
    freeaddrinfo(list);
    if (rc == 0) {
        rc = uv_listen((uv_stream_t *)tcp, BACKLOG, on_connection);
    }
    if (rc != 0) {
        snprintf(text, 512, "muster.peer.listener: cannot listen on %.200s:%u: %s", host, port, uv_strerror(rc));
        return rc == UV_EADDRINUSE ? MUSTER_E_BUSY : rc == UV_EADDRNOTAVAIL ? MUSTER_E_INVALID : MUSTER_E_IO;
    }
    return 0;
}

/* ---- who dials us ------------------------------------------------------------------------------------------------------------- */

static void inbound_closed(struct channel *c)
{
    struct inbound *in = c->ctx;
    struct inbound **at = &in->peers->inbound;
    while (*at != in) {
        at = &(*at)->next;
    }
    *at = in->next;
    in->peers->inbound_count--;
    struct uv_peers *peers = in->peers;
    channel_fini(c);
    free(in);
    peers_release(peers);
}

static void inbound_ended(struct channel *c, const char *why)
{
    struct inbound *in = c->ctx;
    if (in->link != NULL && why != NULL) {
        log_event(LOG_WARN, "peer_connection_broken", "node=%u peer=%u direction=in error=\"%s\"", in->peers->self.node_id,
                  in->link->peer.node_id, why);
    }
    channel_close(c);
}

/* One line for each new cause, not for each attempt. */
static void log_refusal(struct uv_peers *peers, const struct hello *hello, enum hello_verdict verdict)
{
    struct uv_link *link = link_of(peers, hello->from);
    if (link != NULL && link->refused_it == verdict) {
        return;
    }
    if (link == NULL && peers->refused_stranger == hello->from) {
        return;
    }
    if (link != NULL) {
        link->refused_it = verdict;
    } else {
        peers->refused_stranger = hello->from;
    }
    char cluster[23];
    uuid_text(hello->cluster_id, cluster);
    log_event(LOG_ERROR, "peer_refused", "node=%u peer=%u cluster=%s reason=\"%s\"", peers->self.node_id, hello->from, cluster,
              hello_text(verdict, false));
}

static void answer_hello(struct inbound *in, enum hello_verdict verdict)
{
    struct hello_answer answer = {.verdict = verdict, .node = in->peers->self.node_id, .incarnation = in->peers->self.incarnation};
    struct buf out;
    buf_init(&out, HELLO_BYTES_MAX);
    MUSTER_CHECK(hello_answer_encode(&out, &answer) == 0);
    channel_send(&in->channel, (struct bytes){out.ptr, (int32_t)out.len});
    channel_flush(&in->channel);
    buf_fini(&out);
}

/* A second connection of one class from a node replaces the first: the node has given that one up. */
static void replace_older(struct inbound *in)
{
    for (struct inbound *other = in->peers->inbound; other != NULL; other = other->next) {
        if (other != in && other->link == in->link && other->class == in->class) {
            channel_close(&other->channel);
        }
    }
}

static int welcome(struct inbound *in, struct bytes frame)
{
    struct uv_peers *peers = in->peers;
    struct hello hello;
    int rc = hello_decode(frame, &hello);
    if (rc != 0) {
        answer_hello(in, HELLO_VERDICT_VERSION);
        return rc;
    }
    enum hello_verdict verdict = hello_judge(&peers->self, &hello);
    answer_hello(in, verdict);
    if (verdict != HELLO_VERDICT_OK) {
        log_refusal(peers, &hello, verdict);
        return MUSTER_E_REFUSED;
    }
    in->link = link_of(peers, hello.from);
    in->class = hello.class;
    in->link->refused_it = HELLO_VERDICT_OK;
    in->channel.frame_max = CHANNEL_FRAME_MAX;
    replace_older(in);
    link_hurry(in->link); /* it lives: no reason to wait before dialing it */
    return 0;
}

static int form_question(struct inbound *in, struct bytes frame)
{
    static struct form_request request;
    struct form_answer answer;
    int rc = form_request_decode(frame, &request);
    if (rc != 0) {
        return rc;
    }
    in->forming = true;
    form_handle_formed(&in->peers->self, &request, &answer);
    struct buf out;
    buf_init(&out, FORM_FRAME_MAX);
    MUSTER_CHECK(form_answer_encode(&out, &answer) == 0);
    channel_send(&in->channel, (struct bytes){out.ptr, (int32_t)out.len});
    channel_flush(&in->channel);
    buf_fini(&out);
    return 0;
}

static int inbound_frame(struct channel *c, struct bytes frame)
{
    struct inbound *in = c->ctx;
    if (in->link != NULL) {
        return in->peers->events.message(in->peers->events.ctx, in->link->peer.node_id, frame);
    }
    enum hello_class class;
    int rc = hello_class_of(frame, &class);
    if (rc == MUSTER_E_VERSION) {
        answer_hello(in, HELLO_VERDICT_VERSION);
    }
    if (rc != 0) {
        return rc;
    }
    return class == HELLO_FORM ? form_question(in, frame) : welcome(in, frame);
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct uv_peers *peers = listener->data;
    if (status != 0 || peers->closing) {
        return;
    }
    struct inbound *in = calloc(1, sizeof *in);
    MUSTER_CHECK(in != NULL);
    in->peers = peers;
    MUSTER_CHECK(channel_init(&in->channel, peers->loop, FORM_FRAME_MAX, FORM_FRAME_MAX + 4) == 0);
    in->channel.ctx = in;
    in->channel.on_frame = inbound_frame;
    in->channel.on_end = inbound_ended;
    in->channel.on_closed = inbound_closed;
    in->accepted_ms = uv_now(peers->loop);
    in->next = peers->inbound;
    peers->inbound = in;
    peers->inbound_count++;
    peers_hold(peers);
    int rc = uv_accept(listener, (uv_stream_t *)&in->channel.tcp);
    if (rc != 0 || peers->inbound_count > INBOUND_MAX || channel_start(&in->channel) != 0) {
        channel_close(&in->channel);
    }
}

/* Connections that never said who they are, or whose form client went to sleep. */
static void on_sweep(uv_timer_t *timer)
{
    struct uv_peers *peers = timer->data;
    for (struct inbound *in = peers->inbound; in != NULL; in = in->next) {
        uint64_t patience_ms = in->forming ? 12 * ACCEPT_TIMEOUT_MS : ACCEPT_TIMEOUT_MS;
        if (in->link == NULL && uv_now(peers->loop) - in->accepted_ms > patience_ms) {
            channel_close(&in->channel);
        }
    }
    for (size_t i = 0; i < peers->link_count; i++) {
        link_sweep(peers->links[i]);
    }
}

/* ---- the whole ------------------------------------------------------------------------------------------------------------------ */

static void on_handle_closed(uv_handle_t *handle)
{
    peers_release(handle->data);
}

struct uv_link *link_of(struct uv_peers *peers, uint32_t node)
{
    for (size_t i = 0; i < peers->link_count; i++) {
        if (peers->links[i]->peer.node_id == node) {
            return peers->links[i];
        }
    }
    return NULL;
}

int uv_peers_open(struct uv_peers **ret, uv_loop_t *loop, const struct store_identity *self, const char *listen_host, uint16_t listen_port,
                  const struct uv_peers_events *events, char *text)
{
    struct uv_peers *peers = calloc(1, sizeof *peers);
    MUSTER_CHECK(peers != NULL);
    peers->loop = loop;
    peers->self = *self;
    peers->events = *events;
    peers->max_queued_bytes = events->max_queued_bytes > 0 ? events->max_queued_bytes : MAX_QUEUED_BYTES;
    peers->listener.data = peers;
    int rc = uv_listen_on(loop, &peers->listener, listen_host, listen_port, on_connection, text);
    peers->listener.data = peers;
    peers_hold(peers);
    if (rc != 0) {
        *ret = peers;
        return rc;
    }
    uv_timer_init(loop, &peers->sweep);
    peers->sweep.data = peers;
    peers_hold(peers);
    uv_timer_start(&peers->sweep, on_sweep, 1000, 1000);
    peers->swept = true;
    for (uint32_t i = 0; i < self->peer_count; i++) {
        if (self->peers[i].node_id != self->node_id) {
            peers->links[peers->link_count++] = link_open(peers, &self->peers[i]);
        }
    }
    *ret = peers;
    return 0;
}

static const struct store_peer *peer_in(const struct store_identity *id, uint32_t node)
{
    for (uint32_t i = 0; i < id->peer_count; i++) {
        if (id->peers[i].node_id == node) {
            return &id->peers[i];
        }
    }
    return NULL;
}

/* The connections both ways end. Only a node that stays, at another address, is reported as lost: the others are unknown by now. */
static void drop_link(struct uv_link *link, bool known)
{
    struct uv_peers *peers = link->peers;
    for (struct inbound *in = peers->inbound; in != NULL; in = in->next) {
        if (in->link == link) {
            in->link = NULL;
            channel_close(&in->channel);
        }
    }
    if (known && link->raft.state == LINK_UP) {
        peers->events.state(peers->events.ctx, link->peer.node_id, CORE_PEER_DISCONNECTED);
    }
    link_close(link);
}

void uv_peers_set(struct uv_peers *peers, const struct store_identity *self)
{
    size_t kept = 0;
    peers->self = *self;
    peers->refused_stranger = 0;
    for (size_t i = 0; i < peers->link_count; i++) {
        struct uv_link *link = peers->links[i];
        const struct store_peer *p = peer_in(self, link->peer.node_id);
        bool known = p != NULL && uuid_eq(p->incarnation, link->peer.incarnation);
        if (known && strcmp(p->address, link->peer.address) == 0) {
            peers->links[kept++] = link;
        } else {
            drop_link(link, known);
        }
    }
    peers->link_count = kept;
    for (uint32_t i = 0; i < self->peer_count; i++) {
        const struct store_peer *p = &self->peers[i];
        if (p->node_id != self->node_id && link_of(peers, p->node_id) == NULL) {
            peers->links[peers->link_count++] = link_open(peers, p);
        }
    }
}

void uv_peers_close(struct uv_peers *peers, void (*closed)(void *ctx), void *ctx)
{
    peers->closing = true;
    peers->closed = closed;
    peers->closed_ctx = ctx;
    uv_close((uv_handle_t *)&peers->listener, on_handle_closed);
    if (peers->swept) {
        uv_close((uv_handle_t *)&peers->sweep, on_handle_closed);
    }
    for (struct inbound *in = peers->inbound; in != NULL; in = in->next) {
        channel_close(&in->channel);
    }
    for (size_t i = 0; i < peers->link_count; i++) {
        link_close(peers->links[i]);
    }
}

size_t uv_peers_status(const struct uv_peers *peers, struct uv_peer_status *ret, size_t capacity)
{
    for (size_t i = 0; i < peers->link_count && i < capacity; i++) {
        const struct uv_link *link = peers->links[i];
        link_status(link, &ret[i]);
        for (const struct inbound *in = peers->inbound; in != NULL; in = in->next) {
            if (in->link == link) {
                ret[i].heard = ret[i].heard || in->class == HELLO_RAFT;
                ret[i].bytes_received += in->channel.bytes_received;
            }
        }
    }
    return peers->link_count;
}
