/* net.h: the client listener. Connections, frames and the order of answers; knows nothing of what a frame says.
 *
 * Everything runs on the loop thread. A frame that is complete goes to the handler at once, in the order of its connection, and gets a slot: its
 * place in the order of answers. Answers may be given in any order; they leave in the order of their requests. What was answered in a turn leaves
 * with net_flush, one write a connection.
 *
 * Memory is taken for bytes that have arrived, never for what a length word announces. Whatever a client sends can close its own connection and
 * nothing else. */
#ifndef MUSTER_NET_H
#define MUSTER_NET_H

#include <muster/base.h>

struct uv_loop_s;
struct net;
struct net_slot;

/* Who speaks on a connection. Without authentication everybody is User:ANONYMOUS, as with Kafka. */
struct principal { struct str type, name; };

struct net_frame {
    struct net_slot *slot;
    struct bytes frame;                          /* without its length word; valid until net_release(slot) */
    struct arena *arena;                         /* of the slot, for whatever lives as long as the request */
    uint64_t connection;                         /* never 0, never used again */
    struct str host;                             /* as Kafka shows it: "/127.0.0.1"; valid until net_release(slot) */
    const struct principal *principal;           /* valid until net_release(slot) */
};

enum net_verdict {
    NET_TAKEN,                                   /* the next frame of the connection may come */
    NET_YIELD,                                   /* it may come; if this one is not answered by then, the handler is told first (`follows`) */
    NET_HOLD,                                    /* it may come when this one is answered */
    NET_CLOSE                                    /* the frame is garbage: close; the slot is released by net */
};

struct net_handler {
    void *ctx;
    enum net_verdict (*frame)(void *ctx, const struct net_frame *frame);
    /* A frame has come behind an unanswered slot that yields: it should not wait for this one. Once for each; NULL: no frame yields. user: see net_set_user. */
    void (*follows)(void *ctx, struct net_slot *slot, void *user);
    /* The client of an unanswered slot has gone: its answer is not wanted any more. The slot still has to be released. user: see net_set_user. */
    void (*gone)(void *ctx, struct net_slot *slot, void *user);
};

/* What stands between the socket and the frames; NULL functions: nothing (plain text). The seam for TLS. */
struct net_transport {
    const char *name;
    void *(*open)(void *ctx);                    /* state of a connection; NULL: refused */
    void (*close)(void *state);
    /* Takes bytes off the socket, appends plain bytes to plain and, where the protocol has something to say, bytes for the socket to reply. Negative: close. */
    int (*input)(void *state, struct bytes received, struct buf *plain, struct buf *reply);
    int (*output)(void *state, struct bytes plain, struct buf *out);
    void *ctx;
};

struct net_options {
    size_t request_max_bytes;                    /* socket.request.max.bytes: a longer frame closes its connection */
    uint32_t max_connections;                    /* max.connections: one more is closed at once */
    uint32_t max_connections_per_ip;             /* max.connections.per.ip */
    uint32_t max_in_flight;                      /* unanswered requests of one connection; beyond it its socket is not read */
    size_t max_queued_bytes;                     /* frames and parts of frames of all connections together; 0: no limit */
    size_t max_output_bytes;                     /* answers one connection may have waiting before its socket is not read any more */
    size_t max_unread_bytes;                     /* answers that clients do not read, of all connections together: beyond it who has most is closed; 0: no limit */
    int64_t max_idle_ms;                         /* connections.max.idle.ms: no whole request for so long and none owed, or answers not taken for so long */
    int64_t max_turn_us;                         /* see net_pressure; 0: turns may take as long as they do */
    struct net_transport transport;
};

int  net_new(struct net **ret, struct uv_loop_s *loop, const struct net_options *options, const struct net_handler *handler);
/* Listens on host:port; host empty: on all addresses; port 0: any. *ret_port: the real one. 0 or, with *ret_why a text for people, INVALID (host), BUSY
 * (the port is taken), IO. */
int  net_listen(struct net *n, const char *host, uint16_t port, uint16_t *ret_port, const char **ret_why);
void net_stop_listening(struct net *n);
/* Closes listeners and connections; done runs from the loop when the last handle is closed. Slots may be released after that, until net_free. */
void net_close(struct net *n, void (*done)(void *ctx), void *ctx);
void net_free(struct net *n);                    /* after done, and when no slot is open */

/* ---- slots ------------------------------------------------------------------------------------------------------------------- */

void net_set_user(struct net_slot *slot, void *user);
/* Where the answer's bytes (whole frames with their length words) are to be appended; NULL when the client has gone. Once per slot, closed by
 * net_answer_end in the same call stack. */
struct buf *net_answer_begin(struct net_slot *slot);
void net_answer_end(struct net_slot *slot);
/* No answer can be given: closes the connection. */
void net_answer_close(struct net_slot *slot);
/* Gives frame and arena back. After net_answer_end, net_answer_close or gone; exactly once. */
void net_release(struct net_slot *slot);

/* Closes a connection by its number; an unknown number does nothing. */
void net_close_connection(struct net *n, uint64_t connection, const char *reason);

/* ---- turns ------------------------------------------------------------------------------------------------------------------- */

/* Hands out frames that had to wait for an answer or for memory. Before the turn's requests are decided. */
void net_resume(struct net *n);
bool net_has_resumable(const struct net *n);
/* Writes what was answered. At the end of the turn. */
void net_flush(struct net *n);

/* How long the turn took, for whoever knows. While turns are longer than max_turn_us each connection gets fewer requests into one: half as many from turn to turn, and
 * when it is one, half of the connections take turns, and so on. What has to wait is read no further, so it waits at the client. Every connection gets its share; in short
 * turns all of it is taken back step by step. */
void net_pressure(struct net *n, int64_t took_us);

struct net_stats {
    uint64_t accepted, closed, refused, requests, answers, bytes_in, bytes_out, reads, writes;
    uint64_t garbage_closed, idle_closed, pauses; /* pauses: sockets not read because of a limit */
    uint64_t connections, in_flight, queued_bytes, unread_bytes;
    uint64_t unread_closed;                       /* connections, because of max_unread_bytes */
    uint64_t most_in_flight, most_output_bytes;   /* of one connection, now */
    uint64_t deferred;                            /* times that a connection's requests waited for another turn: see net_pressure */
    uint64_t share, stride;                       /* requests of a connection in a turn, at most; every how many turns */
};
/* Looks at every connection: for whoever asks now and then. */
void net_stats(const struct net *n, struct net_stats *ret);

#endif
