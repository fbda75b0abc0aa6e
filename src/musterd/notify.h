/* notify.h: what the service manager is told, in systemd's words: a datagram to the socket that $NOTIFY_SOCKET names. Others speak it, too (podman, s6, test
 * harnesses). Without the variable all of it does nothing. */
#ifndef MUSTERD_NOTIFY_H
#define MUSTERD_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NOTIFY_PATH_BYTES = 108, NOTIFY_STATUS_BYTES = 256 };

struct notify {
    char path[NOTIFY_PATH_BYTES];     /* of a file; or abstract: its first byte is NUL */
    size_t path_len;                  /* 0: nobody listens */
    uint64_t watchdog_us;             /* how often it wants to be told WATCHDOG=1, at the latest; 0: not at all */
    char status[NOTIFY_STATUS_BYTES]; /* the last one told */
};

/* From the values of $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID; NULL: not set. A path that cannot be one counts as not set. */
void notify_init(struct notify *n, const char *socket_path, const char *watchdog_usec, const char *watchdog_pid);
/* "READY=1", "STOPPING=1", "WATCHDOG=1". Never waits; whether it arrived is nobody's concern. */
void notify_send(const struct notify *n, const char *text);
/* STATUS= for people, when it is another one than before. */
void notify_status(struct notify *n, const char *status);

#endif
