/* uv_peer.h: the connections between nodes.
 *
 * Each node dials each other node, and a connection carries messages only from who dialed. So who has something to say knows first whether it can be
 * said, two nodes that dial at once do not collide, and when a process dies everybody who had a connection to it redials at once and meets the
 * refusal that is the evidence of its death. Snapshot bytes have a second connection, dialed when they are wanted. */
#ifndef MUSTER_RAFT_UV_PEER_H
#define MUSTER_RAFT_UV_PEER_H

#include "core.h"
#include "hello.h"

#include <uv.h>

struct uv_peers;

struct uv_peers_events {
    void *ctx;
    size_t max_queued_bytes; /* for one peer; 0: 32 MiB. Messages beyond are dropped */
    void (*state)(void *ctx, uint32_t node, enum core_peer_event event);
    int (*message)(void *ctx, uint32_t node, struct bytes data); /* not 0: the sender is broken, its connection is closed */
};

/* Listens and begins to dial. text, 512 bytes, with INVALID, BUSY and IO; *ret is to be closed then, too. */
int uv_peers_open(struct uv_peers **ret, uv_loop_t *loop, const struct store_identity *self, const char *listen_host, uint16_t listen_port,
                  const struct uv_peers_events *events, char *text);
/* closed is called from the loop; the memory goes then. No event after this call. */
void uv_peers_close(struct uv_peers *peers, void (*closed)(void *ctx), void *ctx);
/* Other peers: whom to dial and let in from now on. Connections of those that are gone, or are not the same any more, end. */
void uv_peers_set(struct uv_peers *peers, const struct store_identity *self);
bool uv_peers_send(struct uv_peers *peers, uint32_t node, enum core_class class, struct bytes data);
void uv_peers_flush(struct uv_peers *peers);
size_t uv_peers_status(const struct uv_peers *peers, struct uv_peer_status *ret, size_t capacity);

/* Binds and listens; shared with the listener of an unformed node. text as above. */
int uv_listen_on(uv_loop_t *loop, uv_tcp_t *tcp, const char *host, uint16_t port, uv_connection_cb on_connection, char *text);

#endif
