/* fixture.h: a listener on loopback whose loop the test turns by hand, and clients of it. */
#ifndef MUSTER_NET_TEST_FIXTURE_H
#define MUSTER_NET_TEST_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <muster/net.h>
#include <uv.h>

struct server {
    uv_loop_t loop;
    struct net *net;
    struct net_options options; /* as server_defaults made them, until server_open */
    uint16_t port;
    bool closed;
};

void server_defaults(struct server *s);
void server_open(struct server *s, const struct net_handler *handler);
int server_close(struct server *s); /* 0: nothing is left open */
struct net_stats server_stats(const struct server *s);
int server_connect(struct server *s);                  /* a client's socket, which does not block */
size_t receive(int fd, uint8_t *dst, size_t size);     /* what has come */
void answer(struct net_slot *slot, struct bytes body); /* a frame */

#endif
