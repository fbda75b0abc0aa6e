/* uv_peer_internal.h: shared by uv_peer.c (the listener and who dials us) and uv_link.c (whom we dial). */
#ifndef MUSTER_RAFT_UV_PEER_INTERNAL_H
#define MUSTER_RAFT_UV_PEER_INTERNAL_H

#include "form.h"
#include "uv_channel.h"
#include "uv_peer.h"

enum link_state {
    LINK_IDLE, /* no connection; the timer may be running */
    LINK_RESOLVING,
    LINK_CONNECTING,
    LINK_GREETING, /* the hello is sent */
    LINK_UP
};

/* One attempt at a connection; its memory lives until its handle is closed. */
struct attempt {
    struct channel channel;
    uv_connect_t connect;
    struct outgoing *out; /* NULL: given up */
    struct uv_peers *peers;
};

struct outgoing {
    struct uv_link *link;
    enum hello_class class;
    enum link_state state;
    struct attempt *attempt;
    struct hello sent;
    uv_getaddrinfo_t resolve;
    bool resolving;   /* the request is under way, also when nobody waits for it */
    uint64_t used_ms; /* bulk: when it last carried something */
};

struct uv_link {
    struct uv_peers *peers;
    struct store_peer peer;
    struct outgoing raft, bulk;
    unsigned holds; /* handles and requests that still point here */
    bool closing;
    uv_timer_t timer;  /* next dial of raft */
    unsigned failures; /* dials in a row that came to nothing */
    bool dead;         /* refused since */
    bool have_address;
    struct sockaddr_storage address;
    enum hello_verdict refused_us, refused_it; /* last causes logged */
    int dial_error;                            /* last cause logged */
    uint64_t dials, bytes_sent, dropped;       /* of connections that are gone */
};

struct inbound {
    struct inbound *next;
    struct channel channel;
    struct uv_peers *peers;
    struct uv_link *link; /* NULL until its hello is accepted */
    enum hello_class class;
    bool forming;
    uint64_t accepted_ms;
};

struct uv_peers {
    uv_loop_t *loop;
    struct store_identity self;
    struct uv_peers_events events;
    uv_tcp_t listener;
    uv_timer_t sweep;
    bool swept, closing;
    struct uv_link *links[32];
    size_t max_queued_bytes; /* for one peer; beyond it messages are dropped: a frozen peer must not cost memory without end */
    size_t link_count;
    struct inbound *inbound;
    unsigned inbound_count;
    uint32_t refused_stranger;
    size_t holds; /* handles and requests that still point here */
    void (*closed)(void *ctx);
    void *closed_ctx;
};

void peers_hold(struct uv_peers *peers);
void peers_release(struct uv_peers *peers);
struct uv_link *link_of(struct uv_peers *peers, uint32_t node);

struct uv_link *link_open(struct uv_peers *peers, const struct store_peer *peer);
void link_close(struct uv_link *link); /* its memory goes when nothing points to it any more */
void link_hurry(struct uv_link *link); /* dial now, if nothing is under way */
void link_sweep(struct uv_link *link);
void link_status(const struct uv_link *link, struct uv_peer_status *ret);

#endif
