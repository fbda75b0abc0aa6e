/* internal.h: private to src/net. README.md has the life of a connection and of a slot. */
#ifndef MUSTER_NET_INTERNAL_H
#define MUSTER_NET_INTERNAL_H

#include <bsd/sys/queue.h>
#include <muster/net.h>
#include <uv.h>

enum {
    NET_READ_BYTES = 1 << 16,       /* one read; the buffer is shared by all connections */
    NET_READ_AHEAD_BYTES = 1 << 16, /* input a connection may have waiting while its next frame may not be taken */
    NET_MOVE_BYTES = 1 << 16,       /* a frame of this size that stands alone is handed on without a copy */
    NET_YIELD_BYTES = 1 << 14,      /* a larger frame is one of those whose memory others wait for, even if it yields */
    NET_KEPT_SLOTS = 1024,
    NET_KEPT_BUFS = 256,
    NET_KEPT_BUF_BYTES = 1 << 16,
    NET_LISTENERS = 8,
    NET_KEEPALIVE_S = 60,
    NET_SHARE_MOST = 1 << 16,
    NET_STRIDE_MOST = 64,
};

struct net_conn;
TAILQ_HEAD(slot_list, net_slot);
TAILQ_HEAD(conn_list, net_conn);

enum slot_state { SLOT_OPEN, SLOT_ANSWERED };

struct net_slot {
    TAILQ_ENTRY(net_slot) link; /* of its connection, in order of requests; or of the free list */
    struct net_conn *conn;
    void *user;
    struct arena arena;
    struct buf frame;     /* a big frame's own memory; else empty */
    struct buf held;      /* the answer, while an earlier one is missing */
    size_t charged_bytes; /* in net->frame_bytes */
    enum slot_state state;
    bool listed; /* in its connection's list */
    bool owned;  /* not released yet */
    bool in_cut; /* a call of the handler is looking at it: kept until that returns */
    bool holds;  /* the frames behind it wait for its answer */
    bool yields; /* its owner is told of the frame behind it */
};

struct net_write {
    uv_write_t request;
    struct net_conn *conn;
    struct buf bytes;
};

struct net_conn {
    uv_tcp_t tcp;
    struct net *net;
    TAILQ_ENTRY(net_conn) all;
    TAILQ_ENTRY(net_conn) dirty_link, ready_link, starved_link, doomed_link;
    bool dirty, ready, starved, doomed; /* in which of these lists it is */
    bool closing, closed;               /* uv_close was called; its callback ran */
    bool reading, holding, blocked;     /* blocked: input waits that may not be taken yet */
    uint32_t in_flight;                 /* unanswered */
    uint32_t yielding;                  /* of these, those that yield */
    uint32_t owned_slots;               /* not released */
    uint32_t turn, taken;               /* requests taken in that turn */
    uint32_t table_idx;
    uint64_t id;
    int64_t active_ms;
    const char *reason; /* of the close */
    struct slot_list slots;
    struct buf in;                      /* bytes that are not a whole frame yet, or whose frame may not be taken yet */
    struct buf out;                     /* answers of this turn, and later ones while a write is under way */
    uint32_t writes;                    /* under way */
    size_t writing_bytes, unread_bytes; /* unread: what of its output is counted in net->unread_bytes */
    void *transport;
    char host[64];
};

struct net_listener {
    uv_tcp_t tcp;
    struct net *net;
    bool open;
};

struct net {
    uv_loop_t *loop;
    struct net_options options;
    struct net_handler handler;
    struct principal anonymous;
    struct net_listener listeners[NET_LISTENERS];
    uint32_t listener_count;
    uv_timer_t idle_timer;
    struct net_conn **table; /* by index; NULL: free */
    uint32_t table_cap;
    uint64_t serial;
    struct conn_list all, dirty, ready, starved, doomed;
    struct slot_list free_slots;
    uint32_t free_slot_count;
    struct buf free_bufs[NET_KEPT_BUFS];
    uint32_t free_buf_count;
    size_t frame_bytes, half_bytes; /* of slots; of connections' input */
    size_t unread_bytes;            /* output behind writes that the sockets do not take */
    size_t yielding_bytes;          /* of the former, small ones that yield: they may stay, so nobody waits for their memory */
    uint32_t turn;                  /* its number */
    uint32_t share, stride;         /* see net_pressure: a connection's requests in a turn, in every stride-th turn */
    uint32_t most_taken;            /* of one connection in this turn */
    struct log_gate garbage_gate, refused_gate, accept_gate;
    uint32_t handles;   /* not closed yet */
    uint32_t slots_out; /* not back on the free list or freed */
    void (*closed)(void *ctx);
    void *closed_ctx;
    bool shut;
    struct net_stats stats;
    char read_buf[NET_READ_BYTES];
};

/* ---- conn.c ---- */
void conn_accept(struct net *n, uv_stream_t *listener);
int64_t net_now_ms(const struct net *n);

/* ---- close.c ---- */
/* Marks the connection: it is closed at the next net_resume or net_flush, not in this call stack. */
void conn_doom(struct net_conn *c, const char *reason);
void conn_close(struct net_conn *c, const char *reason); /* at once; calls handler.gone */
void conn_put(struct net_conn *c);                       /* frees it when nothing refers to it any more */
void net_close_doomed(struct net *n);
void net_handle_closed(struct net *n);
void net_idle_sweep(uv_timer_t *timer);

/* ---- pressure.c ---- */
void net_pressure_init(struct net *n);
bool conn_has_turn(struct net_conn *c); /* whether one more of its requests may be taken in this turn */
void conn_count_taken(struct net_conn *c);

/* ---- input.c ---- */
void conn_start_reading(struct net_conn *c);
void conn_resume(struct net_conn *c);
void conn_make_ready(struct net_conn *c); /* its input is looked at again in net_resume */
void net_feed_starved(struct net *n);

/* ---- slot.c ---- */
struct net_slot *slot_new(struct net_conn *c);
void slot_put(struct net_slot *s); /* frees it when neither listed nor owned */
void slot_yield(struct net_slot *s, bool yields);

/* ---- write.c ---- */
void conn_make_dirty(struct net_conn *c);
size_t conn_output_bytes(const struct net_conn *c);
void conn_count_output(struct net_conn *c); /* after whatever changed it */
struct buf net_take_buf(struct net *n);
void net_give_buf(struct net *n, struct buf *b);
int conn_send_raw(struct net_conn *c, struct bytes data); /* behind what is queued; for the transport's own replies */

#endif
