/* The floor that a coordinator is compared with: one thread, epoll, and answers that are constants.
 *
 *     echo PORT [TOPIC [FIRST NODES]]
 *
 * It looks like a coordinator to gcload as long as groups have one member and the topic has one partition: ApiVersions, Metadata,
 * FindCoordinator, JoinGroup and SyncGroup are answered with canned bytes, every Heartbeat with constants and its own correlation id.
 * It keeps no state and checks nothing: what a request costs here is what reading, framing and writing cost anywhere. With FIRST and NODES it is
 * one of so many processes on the ports from FIRST on, among which the groups are divided: then a client's requests are, too, as those to a
 * cluster are. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 16, CANNED_BYTES = 512, EVENTS = 256, CONNS_MAX = 4096, NODES_MAX = 9 };
enum { METADATA = 3, FIND_COORDINATOR = 10, JOIN_GROUP = 11, HEARTBEAT = 12, SYNC_GROUP = 14, API_VERSIONS = 18 };

/* An answer without its length word and correlation id. */
struct canned {
    uint8_t bytes[CANNED_BYTES];
    size_t length;
};

struct conn {
    uint8_t *in; /* a part of a frame that has not come whole */
    size_t held;
};

static struct canned answers[API_VERSIONS + 1];
static struct canned coordinators[NODES_MAX]; /* FindCoordinator's answers, by node */
static uint32_t node_count = 1;
static struct conn conns[CONNS_MAX]; /* by descriptor */
static uint8_t out[BUFFER_BYTES * 2];

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- canned answers */

static void put(struct canned *c, const void *data, size_t length)
{
    if (c->length + length > sizeof c->bytes) {
        fprintf(stderr, "echo: a canned answer is too long\n");
        exit(1);
    }
    memcpy(c->bytes + c->length, data, length);
    c->length += length;
}

static void put8(struct canned *c, uint8_t value)
{
    put(c, &value, 1);
}

static void put16(struct canned *c, int value)
{
    uint16_t big = htons((uint16_t)value);

    put(c, &big, sizeof big);
}

static void put32(struct canned *c, int32_t value)
{
    uint32_t big = htonl((uint32_t)value);

    put(c, &big, sizeof big);
}

static void put_string(struct canned *c, const char *text)
{
    put16(c, (int)strlen(text));
    put(c, text, strlen(text));
}

static void put_node(struct canned *c, int node, int port)
{
    put32(c, node);
    put_string(c, "127.0.0.1");
    put32(c, port);
}

/* Version 3: the first flexible one, in a header that is not. The versions offered are the last inflexible ones, but for the heartbeat. */
static void can_api_versions(struct canned *c)
{
    static const int offered[][2] = {{METADATA, 8},  {FIND_COORDINATOR, 2}, {JOIN_GROUP, 5},
                                     {HEARTBEAT, 4}, {SYNC_GROUP, 3},       {API_VERSIONS, 3}};
    size_t count = sizeof offered / sizeof *offered;

    put16(c, 0);
    put8(c, (uint8_t)(count + 1));
    for (size_t i = 0; i < count; i++) {
        put16(c, offered[i][0]);
        put16(c, 0);
        put16(c, offered[i][1]);
        put8(c, 0);
    }
    put32(c, 0);
    put8(c, 0);
}

static void can_metadata(struct canned *c, int first, const char *topic)
{
    put32(c, 0);
    put32(c, (int32_t)node_count);
    for (int i = 0; i < (int)node_count; i++) {
        put_node(c, i + 1, first + i);
        put16(c, -1); /* rack */
    }
    put_string(c, "echo");
    put32(c, 1); /* controller */
    put32(c, 1);
    put16(c, 0);
    put_string(c, topic);
    put8(c, 0);
    put32(c, 1); /* partitions: one, led by the only node */
    put16(c, 0);
    put32(c, 0);
    put32(c, 1);
    put32(c, 0);
    for (int list = 0; list < 2; list++) { /* replicas, in-sync replicas */
        put32(c, 1);
        put32(c, 1);
    }
    put32(c, 0); /* offline replicas */
    put32(c, INT32_MIN);
    put32(c, INT32_MIN);
}

static void can_find_coordinator(struct canned *c, int node, int port)
{
    put32(c, 0);
    put16(c, 0);
    put16(c, -1);
    put_node(c, node, port);
}

static void can_join_group(struct canned *c)
{
    put32(c, 0);
    put16(c, 0);
    put32(c, 1); /* generation */
    put_string(c, "range");
    put_string(c, "m"); /* leader */
    put_string(c, "m");
    put32(c, 1);
    put_string(c, "m");
    put16(c, -1);
    put32(c, 0);
}

static void can_sync_group(struct canned *c, const char *topic)
{
    put32(c, 0);
    put16(c, 0);
    put32(c, (int32_t)(2 + 4 + 2 + strlen(topic) + 4 + 4 + 4));
    put16(c, 0); /* the consumer protocol's assignment: version, topics, user data */
    put32(c, 1);
    put_string(c, topic);
    put32(c, 1);
    put32(c, 0);
    put32(c, -1);
}

static void can_heartbeat(struct canned *c)
{
    put8(c, 0); /* version 4: tags of the header */
    put32(c, 0);
    put16(c, 0);
    put8(c, 0);
}

/* ---- requests and answers */

static uint32_t get32(const uint8_t *at)
{
    uint32_t big;

    memcpy(&big, at, sizeof big);
    return ntohl(big);
}

/* The answer to FindCoordinator version 2: its group stands behind the header's client id. */
static const struct canned *coordinator_of(const uint8_t *frame, uint32_t length)
{
    uint32_t hash = 2166136261;
    uint32_t at = 8;
    for (int i = 0; i < 2 && at + 2 <= length; i++) {
        uint32_t len = (uint32_t)(frame[at] << 8 | frame[at + 1]);
        at += 2;
        for (uint32_t k = 0; i == 1 && k < len && at + k < length; k++) {
            hash = (hash ^ frame[at + k]) * 16777619;
        }
        at += len < 0x8000 ? len : 0; /* else null */
    }
    return &coordinators[(hash >> 8) % node_count];
}

/* Writes the answer to the request at `frame` behind `at`; returns the bytes written, 0 for a request it does not know. */
static size_t answer(const uint8_t *frame, uint32_t length, uint8_t *at)
{
    if (length < 8) {
        return 0;
    }
    int key = frame[0] << 8 | frame[1];
    if (key > API_VERSIONS || answers[key].length == 0) {
        fprintf(stderr, "echo: key %d is not served\n", key);
        return 0;
    }
    const struct canned *c = key == FIND_COORDINATOR ? coordinator_of(frame, length) : &answers[key];
    uint32_t big = htonl((uint32_t)c->length + 4);
    memcpy(at, &big, 4);
    memcpy(at + 4, frame + 4, 4); /* correlation id */
    memcpy(at + 8, c->bytes, c->length);
    return c->length + 8;
}

static void drop(int fd)
{
    free(conns[fd].in);
    conns[fd] = (struct conn){0};
    close(fd);
}

static bool write_all(int fd, const uint8_t *data, size_t length)
{
    while (length > 0) {
        ssize_t count = send(fd, data, length, MSG_NOSIGNAL);
        if (count <= 0) {
            return false;
        }
        data += count;
        length -= (size_t)count;
    }
    return true;
}

/* Answers every whole frame of the bytes; returns how many were used up, SIZE_MAX when the connection is no good. */
static size_t serve(int fd, const uint8_t *bytes, size_t length)
{
    size_t used = 0, filled = 0;

    while (length - used >= 4) {
        uint32_t frame = get32(bytes + used);
        if (frame > BUFFER_BYTES - 4) {
            return SIZE_MAX;
        }
        if (length - used < 4 + frame) {
            break;
        }
        size_t written = answer(bytes + used + 4, frame, out + filled);
        if (written == 0) {
            return SIZE_MAX;
        }
        filled += written;
        used += 4 + frame;
        if (filled > sizeof out - CANNED_BYTES - 8) {
            if (!write_all(fd, out, filled)) {
                return SIZE_MAX;
            }
            filled = 0;
        }
    }
    return write_all(fd, out, filled) ? used : SIZE_MAX;
}

static void readable(int fd)
{
    static uint8_t in[BUFFER_BYTES * 2];
    struct conn *conn = &conns[fd];

    memcpy(in, conn->in, conn->held);
    ssize_t count = recv(fd, in + conn->held, BUFFER_BYTES, 0);
    if (count <= 0) {
        drop(fd);
        return;
    }
    size_t length = conn->held + (size_t)count;
    size_t used = serve(fd, in, length);
    if (used == SIZE_MAX) {
        drop(fd);
        return;
    }
    conn->held = length - used;
    memcpy(conn->in, in + used, conn->held);
}

/* ---- the loop */

static void accept_one(int listener, int epoll)
{
    int on = 1, fd = accept(listener, NULL, NULL);

    if (fd < 0) {
        return;
    }
    if (fd >= CONNS_MAX || (conns[fd].in = malloc(BUFFER_BYTES)) == NULL) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
        drop(fd);
    }
}

static int listen_on(int port)
{
    int on = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 1024) < 0) {
        fail("echo: listen");
    }
    return fd;
}

static void loop(int listener)
{
    struct epoll_event events[EVENTS], event = {.events = EPOLLIN, .data.fd = listener};
    int epoll = epoll_create1(0);

    if (epoll < 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) < 0) {
        fail("echo: epoll");
    }
    for (;;) {
        int count = epoll_wait(epoll, events, EVENTS, -1);
        if (count < 0 && errno != EINTR) {
            fail("echo: epoll_wait");
        }
        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == listener) {
                accept_one(listener, epoll);
            } else {
                readable(events[i].data.fd);
            }
        }
    }
}

int main(int argc, char **argv)
{
    char *end;
    long port = argc > 1 ? strtol(argv[1], &end, 10) : 0;
    const char *topic = argc > 2 ? argv[2] : "gcload-1";

    long first = argc > 4 ? strtol(argv[3], NULL, 10) : port;
    long nodes = argc > 4 ? strtol(argv[4], NULL, 10) : 1;
    if (port < 1 || port > UINT16_MAX || *end != '\0' || first < 1 || nodes < 1 || nodes > NODES_MAX || first + nodes > UINT16_MAX) {
        fprintf(stderr, "usage: echo PORT [TOPIC [FIRST NODES]]\n");
        return 2;
    }
    node_count = (uint32_t)nodes;
    can_api_versions(&answers[API_VERSIONS]);
    can_metadata(&answers[METADATA], (int)first, topic);
    for (int i = 0; i < (int)node_count; i++) {
        can_find_coordinator(&coordinators[i], i + 1, (int)first + i);
    }
    answers[FIND_COORDINATOR] = coordinators[0];
    can_join_group(&answers[JOIN_GROUP]);
    can_sync_group(&answers[SYNC_GROUP], topic);
    can_heartbeat(&answers[HEARTBEAT]);
    loop(listen_on((int)port));
}
