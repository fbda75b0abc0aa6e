#include "notify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static uint64_t number(const char *text)
{
    char *end;
    unsigned long long value = text != NULL ? strtoull(text, &end, 10) : 0;
    return text != NULL && *text >= '0' && *text <= '9' && *end == '\0' ? value : 0;
}

void notify_init(struct notify *n, const char *socket_path, const char *watchdog_usec, const char *watchdog_pid)
{
    memset(n, 0, sizeof(*n));
    size_t len = socket_path != NULL ? strlen(socket_path) : 0;
    if (len < 2 || len >= sizeof(n->path) || (socket_path[0] != '/' && socket_path[0] != '@')) {
        return;
    }
    memcpy(n->path, socket_path, len);
    n->path_len = len;
    if (n->path[0] == '@') {
        n->path[0] = '\0'; /* an abstract socket: a name that is no file's */
    }
    if (watchdog_pid == NULL || number(watchdog_pid) == (uint64_t)getpid()) {
        n->watchdog_us = number(watchdog_usec);
    }
}

void notify_send(const struct notify *n, const char *text)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = n->path_len > 0 ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (fd < 0) {
        return;
    }
    memcpy(to.sun_path, n->path, n->path_len);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n->path_len + (n->path[0] != '\0'));
    (void)sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&to, len);
    close(fd);
}

void notify_status(struct notify *n, const char *status)
{
    char text[NOTIFY_STATUS_BYTES + 8];
    if (strncmp(status, n->status, sizeof(n->status) - 1) == 0) {
        return;
    }
    snprintf(n->status, sizeof(n->status), "%s", status);
    snprintf(text, sizeof(text), "STATUS=%s", n->status);
    notify_send(n, text);
}
