/* client_net.c: sockets that never block longer than they are told to. */
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { FRAME_MAX_BYTES = 256 << 20 };

int64_t client_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* 1 ready, 0 the deadline has passed, -1 with errno. */
static int wait_for(int fd, short events, int64_t deadline_ms)
{
    for (;;) {
        int64_t left = deadline_ms - client_now_ms();
        struct pollfd p = {.fd = fd, .events = events};
        int n = poll(&p, 1, left > 0 ? (int)left : 0);
        if (n >= 0 || errno != EINTR) {
            return n > 0 ? 1 : n;
        }
    }
}

static int connect_address(const struct addrinfo *address, int64_t deadline_ms, int *ret_fd)
{
    int one = 1;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return errno;
    }
    int failure = connect(fd, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
    if (failure == EINPROGRESS) {
        socklen_t len = sizeof(failure);
        int ready = wait_for(fd, POLLOUT, deadline_ms);
        if (ready <= 0) {
            failure = ready == 0 ? ETIMEDOUT : errno;
        } else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &len) < 0) {
            failure = errno;
        }
    }
    if (failure != 0) {
        close(fd);
        return failure;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    *ret_fd = fd;
    return 0;
}

int net_connect(const char *host, int32_t port, int64_t deadline_ms, int *ret_fd, char *text, size_t text_bytes)
{
    char service[16];
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    snprintf(service, sizeof(service), "%d", port);
    int rc = getaddrinfo(host, service, &hints, &list);
    if (rc != 0) {
        snprintf(text, text_bytes, "the name cannot be resolved: %s", gai_strerror(rc));
        return MUSTER_E_REFUSED;
    }
    int failure = ENOENT;
    for (const struct addrinfo *a = list; a != NULL && failure != 0; a = a->ai_next) {
        failure = connect_address(a, deadline_ms, ret_fd);
    }
    freeaddrinfo(list);
    if (failure != 0) {
        snprintf(text, text_bytes, "%s", failure == ETIMEDOUT ? "no connection in time" : strerror(failure));
        return MUSTER_E_REFUSED;
    }
    return MUSTER_E_OK;
}

int net_send(int fd, struct bytes data, int64_t deadline_ms, char *text, size_t text_bytes)
{
    int32_t sent = 0;
    while (sent < data.len) {
        ssize_t n = send(fd, data.ptr + sent, (size_t)(data.len - sent), MSG_NOSIGNAL);
        if (n > 0) {
            sent += (int32_t)n;
            continue;
        }
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno != EAGAIN) {
            snprintf(text, text_bytes, "%s", strerror(errno));
            return MUSTER_E_CLOSED;
        }
        if (wait_for(fd, POLLOUT, deadline_ms) <= 0) {
            snprintf(text, text_bytes, "it does not read what it is sent");
            return MUSTER_E_CLOSED;
        }
    }
    return MUSTER_E_OK;
}

/* Exactly len bytes. */
static int receive_bytes(int fd, int64_t quiet_ms, int64_t limit_ms, uint8_t *dst, int32_t len, char *text, size_t text_bytes)
{
    int32_t have = 0;
    while (have < len) {
        int64_t until = client_now_ms() + quiet_ms;
        int ready = wait_for(fd, POLLIN, until < limit_ms ? until : limit_ms);
        ssize_t n = ready > 0 ? recv(fd, dst + have, (size_t)(len - have), 0) : -1;
        if (n > 0) {
            have += (int32_t)n;
        } else if (ready == 0) {
            snprintf(text, text_bytes, "no answer in time");
            return MUSTER_E_CLOSED;
        } else if (n == 0) {
            snprintf(text, text_bytes, "it closed the connection");
            return MUSTER_E_CLOSED;
        } else if (errno != EINTR && errno != EAGAIN) {
            snprintf(text, text_bytes, "%s", strerror(errno));
            return MUSTER_E_CLOSED;
        }
    }
    return MUSTER_E_OK;
}

int net_receive(int fd, int64_t quiet_ms, int64_t limit_ms, struct arena *arena, struct bytes *ret, char *text, size_t text_bytes)
{
    uint8_t head[4];
    int rc = receive_bytes(fd, quiet_ms, limit_ms, head, sizeof(head), text, text_bytes);
    if (rc < 0) {
        return rc;
    }
    uint32_t len = get_be32(head);
    if (len > FRAME_MAX_BYTES) {
        snprintf(text, text_bytes, "it answered with something that is not Kafka's protocol");
        return MUSTER_E_MALFORMED;
    }
    uint8_t *data = arena_get(arena, len);
    rc = receive_bytes(fd, quiet_ms, limit_ms, data, (int32_t)len, text, text_bytes);
    if (rc == 0) {
        *ret = (struct bytes){data, (int32_t)len};
    }
    return rc;
}
