/* manager.c: what the service manager hears of this node, and when: systemd with Type=notify and WatchdogSec=.
 *
 * Ready is a node that listens: for `musterd form`, or for clients; whether shards have leaders is not for the manager to wait for (the other nodes may be
 * started after this one). The watchdog is fed from the loop, so by a loop that turns, and while the disk answers: the two things that a new process mends. */
#include "server.h"

#include <stdio.h>
#include <stdlib.h>

static void on_watchdog(uv_timer_t *timer)
{
    struct server *s = timer->data;
    if (admin_disk_answers(s)) {
        notify_send(&s->notify, "WATCHDOG=1");
    }
}

void manager_open(struct server *s)
{
    notify_init(&s->notify, getenv("NOTIFY_SOCKET"), getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
    uv_timer_init(&s->loop, &s->watchdog);
    s->watchdog.data = s;
    if (s->notify.watchdog_us > 0) {
        uint64_t every_ms = s->notify.watchdog_us / 3000; /* two may be late */
        uv_timer_start(&s->watchdog, on_watchdog, 0, every_ms > 0 ? every_ms : 1);
    }
}

void manager_ready(struct server *s)
{
    notify_send(&s->notify, "READY=1");
    manager_tell(s);
}

void manager_stopping(struct server *s)
{
    notify_send(&s->notify, "STOPPING=1");
    manager_tell(s);
}

void manager_tell(struct server *s)
{
    char text[NOTIFY_STATUS_BYTES];
    if (s->ending) {
        notify_status(&s->notify, "Ends: hands its shards over.");
        return;
    }
    if (s->replica == NULL) {
        notify_status(&s->notify, s->forming != NULL ? "Waits for `musterd form`." : "Starts.");
        return;
    }
    uint32_t nodes[32], led = 0, led_by_nobody = 0, shards = replica_shard_count(s->replica);
    size_t connected = 0, count = replica_nodes(s->replica, nodes, COUNT_OF(nodes));
    for (size_t i = 0; i < count; i++) {
        connected += nodes[i] == replica_self(s->replica) || replica_connected(s->replica, nodes[i]);
    }
    for (uint32_t i = 0; i < shards; i++) {
        struct replica_shard_status status;
        replica_status(s->replica, i, &status);
        led += status.role != REPLICA_FOLLOWER;
        led_by_nobody += status.leader == 0;
    }
    snprintf(text, sizeof(text), "Leads %u of %u shards, %u have no leader; connected to %zu of %zu nodes, itself included.", led, shards,
             led_by_nobody, connected, count);
    notify_status(&s->notify, text);
}
