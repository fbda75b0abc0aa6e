/* `musterd form`: the side that asks. Blocking, with plain sockets: it runs once, by hand, in a process of its own.
 *
 * It holds a connection to every node until the end; what a node was prepared for stays reserved for as long. */
#include "address.h"
#include "form.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { TEXT_BYTES = 512 };

struct target {
    const struct store_peer *peer;
    int fd;
    struct form_answer answer;
};

struct client {
    const struct form_config *config;
    int64_t deadline_ms;
    struct target targets[32];
    char *text;
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

__attribute__((format(printf, 4, 5))) static int fail(struct client *c, const struct target *t, int error, const char *format, ...)
{
    char what[200];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(c->text, TEXT_BYTES, "node %u at %s: %s", t->peer->node_id, t->peer->address, what);
    return error;
}

/* ---- one connection --------------------------------------------------------------------------------------------------------- */

static int wait_for(struct client *c, int fd, short events)
{
    int64_t left = c->deadline_ms - now_ms();
    struct pollfd p = {.fd = fd, .events = events};
    int n = poll(&p, 1, left > 0 ? (int)left : 0);
    if (n == 0) {
        errno = ETIMEDOUT;
    }
    return n > 0 ? 0 : -1;
}

static int try_connect(struct client *c, const struct addrinfo *a)
{
    int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int error = 0;
    socklen_t len = sizeof error;
    if (fd < 0) {
        return -1;
    }
    int rc = connect(fd, a->ai_addr, a->ai_addrlen);
    if (rc != 0 && errno == EINPROGRESS) {
        rc = wait_for(c, fd, POLLOUT);
        if (rc == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error != 0) {
            errno = error;
            rc = -1;
        }
    }
    if (rc != 0) {
        error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static int dial(struct client *c, struct target *t)
{
    char host[ADDRESS_HOST_BYTES], port[ADDRESS_PORT_BYTES];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list;
    if (address_split(t->peer->address, host, port) != 0) {
        return fail(c, t, MUSTER_E_INVALID, "that is not an address");
    }
    int rc = getaddrinfo(host, port, &hints, &list);
    if (rc != 0) {
        return fail(c, t, MUSTER_E_CLOSED, "the name cannot be resolved: %s", gai_strerror(rc));
    }
    errno = 0;
    for (const struct addrinfo *a = list; a != NULL && t->fd < 0; a = a->ai_next) {
        t->fd = try_connect(c, a);
    }
    int error = errno;
    freeaddrinfo(list);
    return t->fd >= 0 ? 0 : fail(c, t, MUSTER_E_CLOSED, "cannot be reached: %s", strerror(error));
}

static int send_all(struct client *c, int fd, const uint8_t *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            if (wait_for(c, fd, POLLOUT) != 0) {
                return -1;
            }
            continue;
        }
        if (n < 0) {
            return -1;
        }
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static int receive_all(struct client *c, int fd, uint8_t *data, size_t len)
{
    while (len > 0) {
        ssize_t n = recv(fd, data, len, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            if (wait_for(c, fd, POLLIN) != 0) {
                return -1;
            }
            continue;
        }
        if (n <= 0) {
            errno = n == 0 ? ECONNRESET : errno;
            return -1;
        }
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static int exchange(struct client *c, struct target *t, const struct form_request *request)
{
    uint8_t in[FORM_FRAME_MAX]; /* on the stack: a node that leads asks from a thread of its pool */
    struct buf out;
    buf_init(&out, FORM_FRAME_MAX);
    MUSTER_CHECK(buf_add(&out, 4) != NULL && form_request_encode(&out, request) == 0);
    put_le32(out.ptr, (uint32_t)out.len - 4);
    uint8_t length[4];
    int rc = send_all(c, t->fd, out.ptr, out.len);
    buf_fini(&out);
    if (rc != 0 || receive_all(c, t->fd, length, 4) != 0) {
        return fail(c, t, MUSTER_E_CLOSED, "no answer: %s", strerror(errno));
    }
    uint32_t len = get_le32(length);
    if (len > sizeof in || receive_all(c, t->fd, in, len) != 0) {
        return fail(c, t, MUSTER_E_MALFORMED, "what answers there is not a musterd peer listener");
    }
    rc = form_answer_decode((struct bytes){in, (int32_t)len}, &t->answer);
    if (rc != 0) {
        return fail(c, t, rc, "what answers there is not a musterd peer listener of this version");
    }
    if (t->answer.error != 0) {
        return fail(c, t, t->answer.error, "%s", t->answer.text);
    }
    return 0;
}

/* ---- the conversation --------------------------------------------------------------------------------------------------------- */

/* The nodes have to be those that are meant: with other numbers, or of a cluster with more of them, nothing is begun. */
static int check_config(struct client *c, const struct target *t)
{
    if (t->answer.node_id != t->peer->node_id) {
        return fail(c, t, MUSTER_E_INVALID, "the address leads to node %u", t->answer.node_id);
    }
    if (t->answer.shard_count != c->config->shard_count) {
        return fail(c, t, MUSTER_E_INVALID, "it has muster.shards=%u, not %u", t->answer.shard_count, c->config->shard_count);
    }
    if (t->answer.peer_count != c->config->peer_count) {
        return fail(c, t, MUSTER_E_INVALID, "its muster.peers are %u, not %u", t->answer.peer_count, c->config->peer_count);
    }
    return 0;
}

static int query_all(struct client *c)
{
    const struct form_request query = {.op = FORM_QUERY};
    for (uint32_t i = 0; i < c->config->peer_count; i++) {
        struct target *t = &c->targets[i];
        int rc = dial(c, t);
        if (rc == 0) {
            rc = exchange(c, t, &query);
        }
        if (rc == 0) {
            rc = check_config(c, t);
        }
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

static void random_uuid(struct uuid *ret)
{
    MUSTER_CHECK(getrandom(ret->b, sizeof ret->b, 0) == (ssize_t)sizeof ret->b);
    ret->b[6] = (uint8_t)((ret->b[6] & 0x0f) | 0x40); /* RFC 9562, version 4 */
    ret->b[8] = (uint8_t)((ret->b[8] & 0x3f) | 0x80);
}

static int prepare_all(struct client *c, struct uuid *ret_cluster_id)
{
    struct form_request request = {.op = FORM_PREPARE};
    struct store_identity *id = &request.identity;
    random_uuid(&id->cluster_id);
    id->shard_count = c->config->shard_count;
    id->hash_version = c->config->hash_version;
    id->peer_count = c->config->peer_count;
    for (uint32_t i = 0; i < id->peer_count; i++) {
        id->peers[i] = c->config->peers[i];
        random_uuid(&id->peers[i].incarnation);
    }
    for (uint32_t i = 0; i < id->peer_count; i++) {
        id->node_id = id->peers[i].node_id;
        id->incarnation = id->peers[i].incarnation;
        int rc = exchange(c, &c->targets[i], &request);
        if (rc != 0) {
            return rc;
        }
    }
    *ret_cluster_id = id->cluster_id;
    return 0;
}

static int commit_all(struct client *c, struct uuid cluster_id)
{
    const struct form_request request = {.op = FORM_COMMIT, .cluster_id = cluster_id};
    for (uint32_t i = 0; i < c->config->peer_count; i++) {
        int rc = c->targets[i].answer.state == FORM_FORMED ? 0 : exchange(c, &c->targets[i], &request);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

/* Some nodes are formed. Those that are not must have been prepared for the same cluster: then an earlier run broke off between its commits. */
static int check_rest(struct client *c, const struct target *formed, bool *ret_all)
{
    *ret_all = true;
    for (uint32_t i = 0; i < c->config->peer_count; i++) {
        const struct target *t = &c->targets[i];
        bool same = t->answer.state != FORM_EMPTY && uuid_eq(t->answer.cluster_id, formed->answer.cluster_id);
        if (t->answer.state == FORM_FORMED && !same) {
            return fail(c, t, MUSTER_E_EXISTS, "it belongs to another cluster than node %u", formed->peer->node_id);
        }
        if (!same) {
            return fail(
                c, t, MUSTER_E_EXISTS,
                "its data folder is empty, but node %u belongs to a cluster already; to be taken in there: muster cluster replace %u, "
                "or muster cluster add where it was no member yet",
                formed->peer->node_id, t->peer->node_id);
        }
        *ret_all = *ret_all && t->answer.state == FORM_FORMED;
    }
    return 0;
}

static int converse(struct client *c, struct uuid *ret_cluster_id, bool *ret_already)
{
    int rc = query_all(c);
    if (rc != 0) {
        return rc;
    }
    for (uint32_t i = 0; i < c->config->peer_count; i++) {
        const struct target *t = &c->targets[i];
        if (t->answer.state == FORM_FORMED) {
            *ret_cluster_id = t->answer.cluster_id;
            rc = check_rest(c, t, ret_already);
            return rc != 0 || *ret_already ? rc : commit_all(c, *ret_cluster_id);
        }
    }
    rc = prepare_all(c, ret_cluster_id);
    return rc != 0 ? rc : commit_all(c, *ret_cluster_id);
}

int form_client_run(const struct form_config *config, int timeout_ms, struct uuid *ret_cluster_id, bool *ret_already, char *text)
{
    struct client *c = calloc(1, sizeof *c);
    MUSTER_CHECK(c != NULL && config->peer_count <= COUNT_OF(c->targets));
    c->config = config;
    c->deadline_ms = now_ms() + timeout_ms;
    c->text = text;
    for (uint32_t i = 0; i < config->peer_count; i++) {
        c->targets[i] = (struct target){.peer = &config->peers[i], .fd = -1};
    }
    *ret_already = false;
    int rc = converse(c, ret_cluster_id, ret_already);
    for (uint32_t i = 0; i < config->peer_count; i++) {
        if (c->targets[i].fd >= 0) {
            close(c->targets[i].fd);
        }
    }
    free(c);
    return rc;
}

bool form_client_await(const struct form_config *config, int timeout_ms)
{
    enum { PAUSE_MS = 20 };
    int64_t deadline_ms = now_ms() + timeout_ms;
    for (;;) {
        char text[RAFT_HOST_TEXT_BYTES];
        struct uuid cluster_id;
        bool formed = false;
        int64_t left_ms = deadline_ms - now_ms();
        if (left_ms <= 0) {
            return false;
        }
        if (form_client_run(config, (int)left_ms, &cluster_id, &formed, text) == 0 && formed) {
            return true;
        }
        const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000};
        nanosleep(&pause, NULL);
    }
}

/* ---- one node into a cluster that is there ---------------------------------------------------------------------------------------- */

int form_client_join(const struct store_identity *identity, uint32_t feature_level, int timeout_ms, char *text)
{
    struct client *c = calloc(1, sizeof *c);
    struct form_request *request = calloc(1, sizeof *request);
    MUSTER_CHECK(c != NULL && request != NULL);
    c->deadline_ms = now_ms() + timeout_ms;
    c->text = text;
    *request = (struct form_request){.op = FORM_JOIN, .identity = *identity, .feature_level = feature_level};
    int rc = MUSTER_E_INVALID;
    for (uint32_t i = 0; i < identity->peer_count; i++) {
        if (identity->peers[i].node_id == identity->node_id) {
            struct target *t = &c->targets[0];
            *t = (struct target){.peer = &identity->peers[i], .fd = -1};
            rc = dial(c, t);
            rc = rc == 0 ? exchange(c, t, request) : rc;
            if (t->fd >= 0) {
                close(t->fd);
            }
        }
    }
    free(request);
    free(c);
    return rc;
}
