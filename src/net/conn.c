/* conn.c: a connection begins. */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A place in the table, so that a connection's number finds it. */
static int table_put(struct net *n, struct net_conn *c)
{
    uint32_t idx = 0;
    if (n->stats.connections < n->table_cap) {
        idx = (uint32_t)(n->serial % n->table_cap);
        while (n->table[idx] != NULL) {
            idx = (idx + 1) % n->table_cap;
        }
    } else {
        uint32_t cap = n->table_cap > 0 ? n->table_cap * 2 : 64;
        struct net_conn **table = realloc(n->table, cap * sizeof(struct net_conn *));
        if (table == NULL) {
            return MUSTER_E_FULL;
        }
        memset(table + n->table_cap, 0, (cap - n->table_cap) * sizeof(struct net_conn *));
        idx = n->table_cap;
        n->table = table;
        n->table_cap = cap;
    }
    n->table[idx] = c;
    c->table_idx = idx;
    c->id = ++n->serial << 32 | idx;
    return MUSTER_E_OK;
}

static void name_peer(struct net_conn *c)
{
    struct sockaddr_storage address;
    int len = sizeof(address);
    char text[56] = "";
    if (uv_tcp_getpeername(&c->tcp, (struct sockaddr *)&address, &len) == 0) {
        if (address.ss_family == AF_INET) {
            uv_ip4_name((struct sockaddr_in *)&address, text, sizeof(text));
        } else {
            uv_ip6_name((struct sockaddr_in6 *)&address, text, sizeof(text));
        }
    }
    snprintf(c->host, sizeof(c->host), "/%s", text);
}

static uint32_t connections_from(const struct net *n, const char *host)
{
    uint32_t count = 0;
    const struct net_conn *c;
    TAILQ_FOREACH(c, &n->all, all)
    {
        count += strcmp(c->host, host) == 0;
    }
    return count;
}

/* NULL: welcome. */
static const char *why_refused(const struct net *n, const struct net_conn *c)
{
    if (n->shut) {
        return "shutdown";
    }
    if (n->stats.connections >= n->options.max_connections) {
        return "max.connections";
    }
    if (n->options.max_connections_per_ip < n->options.max_connections &&
        connections_from(n, c->host) >= n->options.max_connections_per_ip) {
        return "max.connections.per.ip";
    }
    return NULL;
}

static void on_refused_closed(uv_handle_t *handle)
{
    struct net_conn *c = handle->data;
    struct net *n = c->net;
    free(c);
    net_handle_closed(n);
}

static void log_refused(struct net *n, const struct net_conn *c, const char *reason)
{
    uint64_t kept_back;
    if (log_gate_pass(&n->refused_gate, net_now_ms(n) * 1000, &kept_back)) {
        log_event(LOG_WARN, "client_refused", "host=%s reason=%s connections=%llu kept_back=%llu", c->host, reason,
                  (unsigned long long)n->stats.connections, (unsigned long long)kept_back);
    }
}

static int conn_admit(struct net *n, struct net_conn *c)
{
    const char *refused = why_refused(n, c);
    if (refused == NULL && n->options.transport.open != NULL) {
        c->transport = n->options.transport.open(n->options.transport.ctx);
        refused = c->transport == NULL ? "transport" : NULL;
    }
    if (refused == NULL && table_put(n, c) < 0) {
        refused = "memory";
    }
    if (refused != NULL) {
        n->stats.refused++;
        log_refused(n, c, refused);
        return MUSTER_E_REFUSED;
    }
    return MUSTER_E_OK;
}

void conn_accept(struct net *n, uv_stream_t *listener)
{
    struct net_conn *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        log_event(LOG_WARN, "client_accept_failed", "error=\"no memory\"");
        return;
    }
    c->net = n;
    c->tcp.data = c;
    TAILQ_INIT(&c->slots);
    uv_tcp_init(n->loop, &c->tcp);
    n->handles++;
    if (uv_accept(listener, (uv_stream_t *)&c->tcp) < 0) {
        uv_close((uv_handle_t *)&c->tcp, on_refused_closed);
        return;
    }
    name_peer(c);
    if (conn_admit(n, c) < 0) {
        uv_close((uv_handle_t *)&c->tcp, on_refused_closed);
        return;
    }
    uv_tcp_nodelay(&c->tcp, 1);
    uv_tcp_keepalive(&c->tcp, 1, NET_KEEPALIVE_S);
    TAILQ_INSERT_TAIL(&n->all, c, all);
    c->active_ms = net_now_ms(n);
    n->stats.accepted++;
    n->stats.connections++;
    log_event(LOG_DEBUG, "client_connected", "connection=%llu host=%s", (unsigned long long)c->id, c->host);
    conn_start_reading(c);
}
