/* input.c: from bytes to frames. */
#include "internal.h"

#include <string.h>

enum { FRAME_LENGTH_BYTES = 4 };

/* Memory of frames that somebody works on, and that will be free again soon. */
static size_t busy_bytes(const struct net *n)
{
    return n->frame_bytes - n->yielding_bytes;
}

static bool over_memory(const struct net *n, size_t more)
{
    return n->options.max_queued_bytes > 0 && n->frame_bytes + n->half_bytes + more > n->options.max_queued_bytes;
}

void conn_make_ready(struct net_conn *c)
{
    if (!c->ready && !c->closing) {
        c->ready = true;
        TAILQ_INSERT_TAIL(&c->net->ready, c, ready_link);
    }
}

/* Connections that waited for memory go on when half of it is free again, so that they do not take turns byte by byte; or when nothing is being worked on:
 * then the memory is their own input. */
void net_feed_starved(struct net *n)
{
    struct net_conn *c;
    if (TAILQ_EMPTY(&n->starved) || (busy_bytes(n) > 0 && n->frame_bytes + n->half_bytes > n->options.max_queued_bytes / 2)) {
        return;
    }
    while ((c = TAILQ_FIRST(&n->starved)) != NULL) {
        TAILQ_REMOVE(&n->starved, c, starved_link);
        c->starved = false;
        conn_make_ready(c);
    }
}

static void conn_starve(struct net_conn *c)
{
    if (!c->starved) {
        c->starved = true;
        TAILQ_INSERT_TAIL(&c->net->starved, c, starved_link);
    }
}

/* Whether the next frame may be taken now. Else something will call conn_make_ready: an answer, a finished write, or memory given back. */
static bool may_take(struct net_conn *c, size_t size)
{
    const struct net *n = c->net;
    if (c->holding || c->in_flight >= n->options.max_in_flight || conn_output_bytes(c) > n->options.max_output_bytes) {
        return false;
    }
    if (busy_bytes(n) > 0 && over_memory(n, size)) {
        conn_starve(c);
        return false;
    }
    if (!conn_has_turn(c)) {
        c->net->stats.deferred++;
        conn_make_ready(c);
        return false;
    }
    return true;
}

/* What stands before this frame and may be answered early. The call may answer any of them. */
static void tell_yielding(struct net_conn *c)
{
    struct net *n = c->net;
    while (c->yielding > 0) {
        struct net_slot *slot = TAILQ_FIRST(&c->slots);
        while (!slot->yields) {
            slot = TAILQ_NEXT(slot, link);
        }
        slot_yield(slot, false);
        n->handler.follows(n->handler.ctx, slot, slot->user);
    }
}

/* What was decoded from a frame can be many times its size. Requests that may wait long for others (NET_HOLD, or yielding) are not charged for it: were others
 * not read because of them, those that they wait for would not be, either. */
static void charge_decoded(struct net_slot *slot)
{
    if (slot->arena.used_bytes > slot->charged_bytes) {
        slot->conn->net->frame_bytes += slot->arena.used_bytes - slot->charged_bytes;
        slot->charged_bytes = slot->arena.used_bytes;
    }
}

static void conn_take(struct net_conn *c, struct net_slot *slot, struct bytes frame)
{
    struct net *n = c->net;
    struct net_frame taken = {
        .slot = slot,
        .frame = frame,
        .arena = &slot->arena,
        .connection = c->id,
        .host = str_of(c->host),
        .principal = &n->anonymous,
    };
    slot->charged_bytes = (size_t)frame.len;
    n->frame_bytes += slot->charged_bytes;
    n->stats.requests++;
    conn_count_taken(c);
    slot->in_cut = true;
    tell_yielding(c);
    enum net_verdict verdict = n->handler.frame(n->handler.ctx, &taken);
    slot->in_cut = false;
    if (verdict == NET_TAKEN && slot->owned && !slot->yields) {
        charge_decoded(slot);
    }
    if (verdict == NET_CLOSE) {
        n->stats.garbage_closed++;
        net_answer_close(slot);
        net_release(slot);
        return;
    }
    if (verdict == NET_YIELD && slot->state == SLOT_OPEN) {
        slot_yield(slot, true);
    }
    if (verdict == NET_HOLD && slot->state == SLOT_OPEN) {
        slot->holds = true;
        c->holding = true;
    }
    slot_put(slot);
}

static void log_garbage(const struct net_conn *c, int32_t size)
{
    uint64_t kept_back;
    if (log_gate_pass(&c->net->garbage_gate, net_now_ms(c->net) * 1000, &kept_back)) {
        log_event(LOG_INFO, "client_garbage", "connection=%llu host=%s frame_bytes=%d max_bytes=%zu kept_back=%llu",
                  (unsigned long long)c->id, c->host, size, c->net->options.request_max_bytes, (unsigned long long)kept_back);
    }
}

/* Takes whole frames off the front; returns the bytes used. */
static size_t conn_cut(struct net_conn *c, const uint8_t *data, size_t len)
{
    size_t used = 0;
    while (!c->doomed && len - used >= FRAME_LENGTH_BYTES) {
        int32_t size = (int32_t)get_be32(data + used);
        if (size <= 0 || (size_t)size > c->net->options.request_max_bytes) {
            c->net->stats.garbage_closed++;
            log_garbage(c, size);
            conn_doom(c, "frame length out of range");
            break;
        }
        if (len - used - FRAME_LENGTH_BYTES < (size_t)size) {
            break;
        }
        if (!may_take(c, (size_t)size)) {
            c->blocked = true;
            break;
        }
        struct net_slot *slot = slot_new(c);
        struct bytes frame = {data + used + FRAME_LENGTH_BYTES, size};
        conn_take(c, slot, arena_bytes(&slot->arena, frame));
        used += FRAME_LENGTH_BYTES + (size_t)size;
    }
    if (used > 0) {
        c->active_ms = net_now_ms(c->net);
    }
    return used;
}

/* A big frame that is all of the input changes hands instead of being copied. */
static bool conn_move(struct net_conn *c)
{
    if (c->in.len < NET_MOVE_BYTES || get_be32(c->in.ptr) != c->in.len - FRAME_LENGTH_BYTES || c->doomed) {
        return false;
    }
    if (c->in.len - FRAME_LENGTH_BYTES > c->net->options.request_max_bytes || !may_take(c, 0)) {
        return false;
    }
    struct net_slot *slot = slot_new(c);
    slot->frame = c->in;
    c->net->half_bytes -= c->in.len;
    buf_init(&c->in, 0);
    c->active_ms = net_now_ms(c->net);
    conn_take(c, slot, (struct bytes){slot->frame.ptr + FRAME_LENGTH_BYTES, (int32_t)(slot->frame.len - FRAME_LENGTH_BYTES)});
    return true;
}

static void conn_pause(struct net_conn *c)
{
    if (c->reading) {
        c->reading = false;
        c->net->stats.pauses++;
        uv_read_stop((uv_stream_t *)&c->tcp);
    }
}

/* Keeps bytes that are not a frame yet, or whose frame has to wait. */
static void conn_keep(struct net_conn *c, const uint8_t *data, size_t len)
{
    struct net *n = c->net;
    if (over_memory(n, len)) {
        /* Only halves of frames hold the memory, and nothing that is being worked on, or will be in the next turn, frees it. */
        if (busy_bytes(n) == 0 && TAILQ_EMPTY(&n->ready)) {
            conn_doom(c, "memory for requests is used up by unfinished ones");
            return;
        }
        conn_starve(c);
        conn_pause(c);
    }
    if (buf_put(&c->in, data, len) < 0) {
        conn_doom(c, "no memory");
        return;
    }
    n->half_bytes += len;
}

static void conn_drop_input(struct net_conn *c, size_t used)
{
    c->net->half_bytes -= used;
    if (used == c->in.len) {
        buf_fini(&c->in);
    } else {
        buf_drop_front(&c->in, used);
    }
}

/* What is in c->in, as far as it may be taken. */
static void conn_cut_kept(struct net_conn *c)
{
    c->blocked = false;
    if (c->in.len == 0 || conn_move(c)) {
        return;
    }
    size_t used = conn_cut(c, c->in.ptr, c->in.len);
    conn_drop_input(c, used);
}

static void conn_input(struct net_conn *c, const uint8_t *data, size_t len)
{
    if (c->in.len > 0) {
        conn_keep(c, data, len);
        conn_cut_kept(c);
    } else {
        size_t used = conn_cut(c, data, len);
        if (used < len && !c->doomed) {
            conn_keep(c, data + used, len - used);
        }
    }
    if (c->blocked && c->in.len >= NET_READ_AHEAD_BYTES) {
        conn_pause(c);
    }
}

void conn_resume(struct net_conn *c)
{
    conn_cut_kept(c);
    if (c->doomed || c->reading || c->starved) {
        return;
    }
    if (!c->blocked || c->in.len < NET_READ_AHEAD_BYTES) {
        conn_start_reading(c);
    }
}

/* ---- the socket ---- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
    (void)suggested;
    struct net_conn *c = handle->data;
    *ret = uv_buf_init(c->net->read_buf, sizeof(c->net->read_buf));
}

/* Through the transport, when there is one. */
static int conn_received(struct net_conn *c, struct bytes raw)
{
    const struct net_transport *transport = &c->net->options.transport;
    if (transport->input == NULL) {
        conn_input(c, raw.ptr, (size_t)raw.len);
        return MUSTER_E_OK;
    }
    struct buf plain, reply;
    buf_init(&plain, 0);
    buf_init(&reply, 0);
    int rc = transport->input(c->transport, raw, &plain, &reply);
    if (rc == 0 && reply.len > 0) {
        rc = conn_send_raw(c, (struct bytes){reply.ptr, (int32_t)reply.len});
    }
    if (rc == 0 && plain.len > 0) {
        conn_input(c, plain.ptr, plain.len);
    }
    buf_fini(&plain);
    buf_fini(&reply);
    return rc;
}

static void on_read(uv_stream_t *stream, ssize_t nread, const uv_buf_t *buf)
{
    struct net_conn *c = stream->data;
    if (nread == 0) {
        return;
    }
    if (nread < 0) {
        conn_close(c, nread == UV_EOF ? "client closed" : uv_strerror((int)nread));
        return;
    }
    c->net->stats.reads++;
    c->net->stats.bytes_in += (uint64_t)nread;
    if (conn_received(c, (struct bytes){(const uint8_t *)buf->base, (int32_t)nread}) < 0) {
        conn_doom(c, "transport");
    }
    if (c->doomed) {
        conn_close(c, c->reason);
    }
}

void conn_start_reading(struct net_conn *c)
{
    if (!c->closing && !c->reading && uv_read_start((uv_stream_t *)&c->tcp, on_alloc, on_read) == 0) {
        c->reading = true;
    }
}
