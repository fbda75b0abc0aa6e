/* Whom this node dials: one connection for consensus that is always wanted, and one for snapshot bytes on demand. */
#include "uv_peer_internal.h"

#include "address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OUT_MAX_BULK = 8 << 20,
    BACKOFF_MIN_MS =
        2, /* a dying process may take the first redial before its listener is gone, and reset it: the next one must not wait */
    BACKOFF_STEPS = 9,
    BACKOFF_MAX_MS = 800,
    CONNECT_TIMEOUT_MS = 1000, /* when the system would ask a second time: after a cut, the sooner somebody asks again the better */
    GREETING_TIMEOUT_MS = 5000,
    BULK_IDLE_MS = 60000
};

static void dial(struct outgoing *out);

static void link_hold(struct uv_link *link)
{
    link->holds++;
    peers_hold(link->peers);
}

static void link_release(struct uv_link *link)
{
    struct uv_peers *peers = link->peers;
    MUSTER_CHECK(link->holds > 0);
    link->holds--;
    if (link->holds == 0) {
        free(link);
    }
    peers_release(peers);
}

/* ---- ends ------------------------------------------------------------------------------------------------------------------- */

static void attempt_closed(struct channel *c)
{
    struct attempt *a = c->ctx;
    struct uv_peers *peers = a->peers;
    channel_fini(c);
    free(a);
    peers_release(peers);
}

static void detach(struct outgoing *out)
{
    struct attempt *a = out->attempt;
    out->state = LINK_IDLE;
    if (a == NULL) {
        return;
    }
    out->attempt = NULL;
    out->link->bytes_sent += a->channel.bytes_sent;
    out->link->dropped += a->channel.dropped;
    a->out = NULL;
    channel_close(&a->channel);
}

static void dial_failed(struct outgoing *out, int status);

static void on_timer(uv_timer_t *timer)
{
    struct uv_link *link = timer->data;
    if (link->raft.state == LINK_CONNECTING) {
        link->failures = 0; /* it has waited long enough */
        dial_failed(&link->raft, UV_ETIMEDOUT);
    } else {
        dial(&link->raft);
    }
}

static void dial_later(struct uv_link *link)
{
    unsigned shift = link->failures < BACKOFF_STEPS ? link->failures : BACKOFF_STEPS;
    uint64_t wait_ms = (uint64_t)BACKOFF_MIN_MS << shift;
    link->failures++;
    uv_timer_start(&link->timer, on_timer, wait_ms < BACKOFF_MAX_MS ? wait_ms : BACKOFF_MAX_MS, 0);
}

static void report(struct uv_link *link, enum core_peer_event event)
{
    if (!link->peers->closing) {
        link->peers->events.state(link->peers->events.ctx, link->peer.node_id, event);
    }
}

/* A connection that was up has ended: redial at once, since a refusal now is the evidence that the process is dead. */
static void ended(struct channel *c, const char *why)
{
    struct attempt *a = c->ctx;
    struct outgoing *out = a->out;
    if (out == NULL) {
        channel_close(c);
        return;
    }
    struct uv_link *link = out->link;
    bool was_up = out->state == LINK_UP;
    detach(out);
    if (out->class == HELLO_BULK) {
        return;
    }
    if (!was_up) {
        dial_later(link);
        return;
    }
    log_event(LOG_WARN, "peer_lost", "node=%u peer=%u%s%s%s", link->peers->self.node_id, link->peer.node_id, why != NULL ? " error=\"" : "",
              why != NULL ? why : "", why != NULL ? "\"" : "");
    report(link, CORE_PEER_DISCONNECTED);
    dial(out);
}

static void dial_failed(struct outgoing *out, int status)
{
    struct uv_link *link = out->link;
    detach(out);
    if (out->class == HELLO_BULK) {
        return;
    }
    if (link->dial_error != status) {
        link->dial_error = status;
        log_event(LOG_WARN, "peer_unreachable", "node=%u peer=%u address=%s error=\"%s\"", link->peers->self.node_id, link->peer.node_id,
                  link->peer.address, uv_strerror(status));
    }
    link->have_address = false; /* a name may lead elsewhere by now */
    if (status == UV_ECONNREFUSED && !link->dead) {
        link->dead = true;
        report(link, CORE_PEER_REFUSED);
    }
    dial_later(link);
}

static void refused(struct outgoing *out, enum hello_verdict verdict)
{
    struct uv_link *link = out->link;
    detach(out);
    if (link->refused_us != verdict) {
        link->refused_us = verdict;
        log_event(LOG_ERROR, "peer_not_accepted", "node=%u peer=%u address=%s reason=\"%s\"", link->peers->self.node_id, link->peer.node_id,
                  link->peer.address, hello_text(verdict, true));
    }
    if (out->class == HELLO_RAFT) {
        dial_later(link);
    }
}

/* ---- the way up --------------------------------------------------------------------------------------------------------------- */

static void up(struct outgoing *out)
{
    struct uv_link *link = out->link;
    out->state = LINK_UP;
    out->used_ms = uv_now(link->peers->loop);
    out->attempt->channel.frame_max = HELLO_BYTES_MAX;
    if (out->class == HELLO_BULK) {
        return;
    }
    link->failures = 0;
    link->dead = false;
    link->refused_us = HELLO_VERDICT_OK;
    link->dial_error = 0;
    log_event(LOG_INFO, "peer_connected", "node=%u peer=%u address=%s", link->peers->self.node_id, link->peer.node_id, link->peer.address);
    report(link, CORE_PEER_CONNECTED);
}

static int on_frame(struct channel *c, struct bytes frame)
{
    struct attempt *a = c->ctx;
    struct hello_answer answer;
    if (a->out == NULL || a->out->state != LINK_GREETING) {
        return MUSTER_E_MALFORMED; /* the other way is another connection */
    }
    int rc = hello_answer_decode(frame, &answer);
    if (rc != 0) {
        refused(a->out, HELLO_VERDICT_VERSION);
        return 0;
    }
    enum hello_verdict verdict = hello_judge_answer(&a->peers->self, &a->out->sent, &answer);
    if (verdict != HELLO_VERDICT_OK) {
        refused(a->out, verdict);
        return 0;
    }
    up(a->out);
    return 0;
}

static void on_connect(uv_connect_t *req, int status)
{
    struct attempt *a = req->data;
    if (a->out == NULL) {
        return; /* given up meanwhile; the handle is closing */
    }
    if (status == 0) {
        status = channel_start(&a->channel);
    }
    if (status != 0) {
        dial_failed(a->out, status);
        return;
    }
    a->out->state = LINK_GREETING;
    channel_flush(&a->channel); /* the hello stands at the head of the buffer since the attempt was made */
}

static void queue_hello(struct outgoing *out)
{
    const struct uv_peers *peers = out->link->peers;
    struct buf frame;
    buf_init(&frame, HELLO_BYTES_MAX);
    out->sent = (struct hello){.class = out->class,
                               .cluster_id = peers->self.cluster_id,
                               .from = peers->self.node_id,
                               .incarnation = peers->self.incarnation,
                               .to = out->link->peer.node_id,
                               .shard_count = peers->self.shard_count,
                               .hash_version = peers->self.hash_version};
    MUSTER_CHECK(hello_encode(&frame, &out->sent) == 0);
    MUSTER_CHECK(channel_send(&out->attempt->channel, (struct bytes){frame.ptr, (int32_t)frame.len}));
    buf_fini(&frame);
}

static void connect_to(struct outgoing *out)
{
    struct uv_link *link = out->link;
    struct attempt *a = calloc(1, sizeof *a);
    MUSTER_CHECK(a != NULL);
    a->peers = link->peers;
    a->out = out;
    size_t most = out->class == HELLO_RAFT ? link->peers->max_queued_bytes : OUT_MAX_BULK;
    MUSTER_CHECK(channel_init(&a->channel, link->peers->loop, HELLO_BYTES_MAX, most) == 0);
    a->channel.ctx = a;
    a->channel.on_frame = on_frame;
    a->channel.on_end = ended;
    a->channel.on_closed = attempt_closed;
    a->connect.data = a;
    peers_hold(link->peers);
    out->attempt = a;
    out->state = LINK_CONNECTING;
    out->used_ms = uv_now(link->peers->loop);
    queue_hello(out);
    if (out->class == HELLO_RAFT) {
        uv_timer_start(&link->timer, on_timer, CONNECT_TIMEOUT_MS, 0);
    }
    int rc = uv_tcp_connect(&a->connect, &a->channel.tcp, (const struct sockaddr *)&link->address, on_connect);
    if (rc != 0) {
        dial_failed(out, rc);
    }
}

static void on_resolved(uv_getaddrinfo_t *req, int status, struct addrinfo *list)
{
    struct outgoing *out = req->data;
    struct uv_peers *peers = out->link->peers;
    out->resolving = false;
    if (status == 0 && list != NULL && list->ai_addrlen <= sizeof out->link->address) {
        memcpy(&out->link->address, list->ai_addr, list->ai_addrlen);
        out->link->have_address = true;
    } else if (status == 0) {
        status = UV_EAI_NONAME;
    }
    uv_freeaddrinfo(list);
    if (!peers->closing && !out->link->closing && out->state == LINK_RESOLVING) {
        if (status == 0) {
            connect_to(out);
        } else {
            dial_failed(out, status);
        }
    }
    link_release(out->link);
}

static void resolve(struct outgoing *out)
{
    char host[ADDRESS_HOST_BYTES], port[ADDRESS_PORT_BYTES];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct uv_peers *peers = out->link->peers;
    if (address_split(out->link->peer.address, host, port) != 0) {
        dial_failed(out, UV_EINVAL);
        return;
    }
    int number = address_port(port);
    if (uv_ip4_addr(host, number, (struct sockaddr_in *)&out->link->address) == 0 ||
        uv_ip6_addr(host, number, (struct sockaddr_in6 *)&out->link->address) == 0) {
        out->link->have_address = true;
        connect_to(out);
        return;
    }
    out->state = LINK_RESOLVING;
    if (out->resolving) {
        return;
    }
    out->resolve.data = out;
    int rc = uv_getaddrinfo(peers->loop, &out->resolve, on_resolved, host, port, &hints);
    if (rc != 0) {
        dial_failed(out, rc);
        return;
    }
    out->resolving = true;
    link_hold(out->link);
}

static void dial(struct outgoing *out)
{
    struct uv_link *link = out->link;
    if (link->peers->closing || link->closing || out->state != LINK_IDLE) {
        return;
    }
    link->dials++;
    if (link->have_address) {
        connect_to(out);
    } else {
        resolve(out);
    }
}

/* ---- from outside --------------------------------------------------------------------------------------------------------------- */

static void on_timer_closed(uv_handle_t *handle)
{
    link_release(handle->data);
}

struct uv_link *link_open(struct uv_peers *peers, const struct store_peer *peer)
{
    struct uv_link *link = calloc(1, sizeof *link);
    MUSTER_CHECK(link != NULL);
    link->peers = peers;
    link->peer = *peer;
    link->raft = (struct outgoing){.link = link, .class = HELLO_RAFT};
    link->bulk = (struct outgoing){.link = link, .class = HELLO_BULK};
    uv_timer_init(peers->loop, &link->timer);
    link->timer.data = link;
    link_hold(link);
    dial(&link->raft);
    return link;
}

void link_close(struct uv_link *link)
{
    link->closing = true;
    if (link->raft.resolving) {
        uv_cancel((uv_req_t *)&link->raft.resolve);
    }
    if (link->bulk.resolving) {
        uv_cancel((uv_req_t *)&link->bulk.resolve);
    }
    detach(&link->raft);
    detach(&link->bulk);
    uv_close((uv_handle_t *)&link->timer, on_timer_closed);
}

void link_hurry(struct uv_link *link)
{
    link->dead = false;
    link->failures = 0;
    if (link->raft.state == LINK_IDLE) {
        uv_timer_stop(&link->timer);
        dial(&link->raft);
    }
}

static void sweep_greeting(struct outgoing *out, uint64_t now_ms)
{
    bool waiting = out->state == LINK_CONNECTING || out->state == LINK_GREETING;
    if (waiting && now_ms - out->used_ms > GREETING_TIMEOUT_MS) {
        dial_failed(out, UV_ETIMEDOUT);
    }
}

void link_sweep(struct uv_link *link)
{
    uint64_t now_ms = uv_now(link->peers->loop);
    sweep_greeting(&link->raft, now_ms);
    sweep_greeting(&link->bulk, now_ms);
    if (link->bulk.state == LINK_UP && now_ms - link->bulk.used_ms > BULK_IDLE_MS) {
        detach(&link->bulk);
    }
}

bool uv_peers_send(struct uv_peers *peers, uint32_t node, enum core_class class, struct bytes data)
{
    struct uv_link *link = link_of(peers, node);
    if (link == NULL || link->raft.state != LINK_UP) {
        return false;
    }
    if (class == CORE_RAFT) {
        return channel_send(&link->raft.attempt->channel, data);
    }
    dial(&link->bulk);
    if (link->bulk.attempt == NULL) {
        return false;
    }
    link->bulk.used_ms = link->bulk.state == LINK_UP ? uv_now(peers->loop) : link->bulk.used_ms;
    return channel_send(&link->bulk.attempt->channel, data);
}

static void flush(struct outgoing *out)
{
    if (out->attempt != NULL && out->state >= LINK_GREETING) {
        channel_flush(&out->attempt->channel);
    }
}

void uv_peers_flush(struct uv_peers *peers)
{
    for (size_t i = 0; i < peers->link_count; i++) {
        flush(&peers->links[i]->raft);
        flush(&peers->links[i]->bulk);
    }
}

void link_status(const struct uv_link *link, struct uv_peer_status *ret)
{
    *ret = (struct uv_peer_status){.node = link->peer.node_id,
                                   .connected = link->raft.state == LINK_UP,
                                   .bytes_sent = link->bytes_sent,
                                   .dropped = link->dropped,
                                   .dials = link->dials};
    const struct attempt *both[] = {link->raft.attempt, link->bulk.attempt};
    for (size_t i = 0; i < COUNT_OF(both); i++) {
        if (both[i] != NULL) {
            ret->bytes_sent += both[i]->channel.bytes_sent;
            ret->bytes_queued += channel_queued(&both[i]->channel);
            ret->dropped += both[i]->channel.dropped;
        }
    }
    ret->expelled = link->refused_us == HELLO_VERDICT_NODE;
    if (link->refused_us != HELLO_VERDICT_OK) {
        snprintf(ret->refusal, sizeof ret->refusal, "%s", hello_text(link->refused_us, true));
    }
}
