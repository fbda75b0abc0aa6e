/* uv_channel.h: frames over one TCP connection: a 32-bit little-endian length and that many bytes, both ways.
 *
 * What is sent in a turn is gathered and leaves with channel_flush in one write; what the socket does not take waits, up to a bound, beyond which
 * channel_send says no. Memory for a frame is taken as its bytes arrive. */
#ifndef MUSTER_RAFT_UV_CHANNEL_H
#define MUSTER_RAFT_UV_CHANNEL_H

#include <muster/base.h>
#include <uv.h>

/* The longest frame nodes send each other: muster.entry.max.bytes may be 64 MiB, and there is something around an entry. The same on every node, whatever
 * its settings: a frame that its receiver does not accept would end the connection that all shards share. */
enum { CHANNEL_FRAME_MAX = 72 << 20 };

struct channel {
    uv_tcp_t tcp;
    uv_write_t write;
    struct buf in, out, writing;
    size_t frame_max, out_max;
    bool write_busy, closing, ended;
    uint64_t bytes_sent, bytes_received, dropped;
    void *ctx;
    /* A frame, borrowed for the call. Not 0: the channel is closed. */
    int (*on_frame)(struct channel *c, struct bytes frame);
    /* The other side has gone (why NULL), or something is wrong, in words. Called once and never after channel_close; the channel is still to be closed. */
    void (*on_end)(struct channel *c, const char *why);
    /* The handle is closed; the channel's memory may go after channel_fini. */
    void (*on_closed)(struct channel *c);
};

/* The callbacks and ctx are set by the caller before the first event. */
int channel_init(struct channel *c, uv_loop_t *loop, size_t frame_max, size_t out_max);
/* After connect or accept: TCP_NODELAY, keepalive, reads. */
int channel_start(struct channel *c);
/* false: the buffer is full (an empty one takes any frame), the frame is longer than CHANNEL_FRAME_MAX, or the channel is closing. */
bool channel_send(struct channel *c, struct bytes frame);
void channel_flush(struct channel *c);
size_t channel_queued(const struct channel *c);
/* Idempotent. on_closed follows from the loop. */
void channel_close(struct channel *c);
void channel_fini(struct channel *c);

#endif
