/* listen.c: the sockets that clients connect to. */
#include "internal.h"

#include <string.h>

enum { LISTEN_BACKLOG = 4096 }; /* the kernel takes the lesser of this and net.core.somaxconn */

static void on_listener_closed(uv_handle_t *handle)
{
    struct net_listener *listener = handle->data;
    net_handle_closed(listener->net);
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct net_listener *listener = stream->data;
    if (status < 0) {
        uint64_t kept_back;
        if (log_gate_pass(&listener->net->accept_gate, net_now_ms(listener->net) * 1000, &kept_back)) {
            log_event(LOG_WARN, "client_accept_failed", "error=\"%s\" kept_back=%llu", uv_strerror(status), (unsigned long long)kept_back);
        }
        return;
    }
    conn_accept(listener->net, stream);
}

/* Every form of address: numbers at once, names through the resolver (start-up may block). */
static int resolve(struct net *n, const char *host, uint16_t port, struct sockaddr_storage *ret)
{
    if (host[0] == '\0') {
        return uv_ip4_addr("0.0.0.0", port, (struct sockaddr_in *)ret);
    }
    if (uv_ip4_addr(host, port, (struct sockaddr_in *)ret) == 0 || uv_ip6_addr(host, port, (struct sockaddr_in6 *)ret) == 0) {
        return 0;
    }
    uv_getaddrinfo_t request;
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    int rc = uv_getaddrinfo(n->loop, &request, NULL, host, NULL, &hints);
    if (rc < 0) {
        return rc;
    }
    struct addrinfo *found = request.addrinfo;
    memcpy(ret, found->ai_addr, found->ai_addrlen);
    uv_freeaddrinfo(found);
    if (ret->ss_family == AF_INET) {
        ((struct sockaddr_in *)ret)->sin_port = htons(port);
    } else {
        ((struct sockaddr_in6 *)ret)->sin6_port = htons(port);
    }
    return 0;
}

static uint16_t bound_port(const uv_tcp_t *tcp)
{
    struct sockaddr_storage address;
    int len = sizeof(address);
    if (uv_tcp_getsockname(tcp, (struct sockaddr *)&address, &len) < 0) {
        return 0;
    }
    if (address.ss_family == AF_INET) {
        return ntohs(((struct sockaddr_in *)&address)->sin_port);
    }
    return ntohs(((struct sockaddr_in6 *)&address)->sin6_port);
}

int net_listen(struct net *n, const char *host, uint16_t port, uint16_t *ret_port, const char **ret_why)
{
    struct sockaddr_storage address;
    *ret_why = "too many listeners";
    if (n->listener_count == NET_LISTENERS) {
        return MUSTER_E_INVALID;
    }
    memset(&address, 0, sizeof(address));
    int rc = resolve(n, host, port, &address);
    if (rc < 0) {
        *ret_why = uv_strerror(rc);
        return MUSTER_E_INVALID;
    }
    struct net_listener *listener = &n->listeners[n->listener_count++];
    listener->net = n;
    listener->tcp.data = listener;
    uv_tcp_init(n->loop, &listener->tcp);
    n->handles++;
    listener->open = true;
    rc = uv_tcp_bind(&listener->tcp, (struct sockaddr *)&address, 0);
    if (rc == 0) {
        rc = uv_listen((uv_stream_t *)&listener->tcp, LISTEN_BACKLOG, on_connection);
    }
    if (rc < 0) {
        *ret_why = uv_strerror(rc);
        return rc == UV_EADDRINUSE ? MUSTER_E_BUSY : MUSTER_E_IO;
    }
    *ret_port = bound_port(&listener->tcp);
    return MUSTER_E_OK;
}

void net_stop_listening(struct net *n)
{
    for (uint32_t i = 0; i < n->listener_count; i++) {
        if (n->listeners[i].open) {
            n->listeners[i].open = false;
            uv_close((uv_handle_t *)&n->listeners[i].tcp, on_listener_closed);
        }
    }
}
