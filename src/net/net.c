/* net.c: the listener as a whole: made, counted, closed. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

int64_t net_now_ms(const struct net *n)
{
    return (int64_t)uv_now(n->loop);
}

/* Often enough that a connection is closed within a quarter more than its limit. */
static uint64_t sweep_interval_ms(int64_t max_idle_ms)
{
    int64_t interval = max_idle_ms / 4;
    if (interval < 50) {
        return 50;
    }
    return interval > 5000 ? 5000 : (uint64_t)interval;
}

int net_new(struct net **ret, struct uv_loop_s *loop, const struct net_options *options, const struct net_handler *handler)
{
    struct net *n = calloc(1, sizeof(*n));
    if (n == NULL) {
        return MUSTER_E_FULL;
    }
    n->loop = loop;
    n->options = *options;
    net_pressure_init(n);
    n->handler = *handler;
    n->anonymous = (struct principal){STR("User"), STR("ANONYMOUS")};
    TAILQ_INIT(&n->all);
    TAILQ_INIT(&n->dirty);
    TAILQ_INIT(&n->ready);
    TAILQ_INIT(&n->starved);
    TAILQ_INIT(&n->doomed);
    TAILQ_INIT(&n->free_slots);
    uv_timer_init(loop, &n->idle_timer);
    n->idle_timer.data = n;
    n->handles = 1;
    uint64_t interval = sweep_interval_ms(options->max_idle_ms);
    uv_timer_start(&n->idle_timer, net_idle_sweep, interval, interval);
    uv_unref((uv_handle_t *)&n->idle_timer);
    *ret = n;
    return MUSTER_E_OK;
}

static void on_idle_timer_closed(uv_handle_t *handle)
{
    net_handle_closed(handle->data);
}

void net_close(struct net *n, void (*done)(void *ctx), void *ctx)
{
    n->closed = done;
    n->closed_ctx = ctx;
    n->shut = true;
    net_stop_listening(n);
    struct net_conn *conn, *next;
    TAILQ_FOREACH_SAFE(conn, &n->all, all, next)
    {
        conn_close(conn, "shutdown");
    }
    uv_close((uv_handle_t *)&n->idle_timer, on_idle_timer_closed);
}

void net_handle_closed(struct net *n)
{
    MUSTER_CHECK(n->handles > 0);
    n->handles--;
    if (n->handles == 0 && n->closed != NULL) {
        n->closed(n->closed_ctx);
    }
}

void net_free(struct net *n)
{
    if (n == NULL) {
        return;
    }
    MUSTER_CHECK(n->handles == 0 && n->slots_out == 0);
    struct net_slot *slot, *next;
    TAILQ_FOREACH_SAFE(slot, &n->free_slots, link, next)
    {
        arena_fini(&slot->arena);
        free(slot);
    }
    for (uint32_t i = 0; i < n->free_buf_count; i++) {
        buf_fini(&n->free_bufs[i]);
    }
    free(n->table);
    free(n);
}

void net_close_connection(struct net *n, uint64_t connection, const char *reason)
{
    uint32_t idx = (uint32_t)connection;
    if (idx >= n->table_cap || n->table[idx] == NULL || n->table[idx]->id != connection) {
        return;
    }
    conn_doom(n->table[idx], reason);
}

void net_resume(struct net *n)
{
    net_close_doomed(n);
    struct conn_list ready = TAILQ_HEAD_INITIALIZER(ready);
    TAILQ_CONCAT(&ready, &n->ready, ready_link);
    struct net_conn *conn;
    while ((conn = TAILQ_FIRST(&ready)) != NULL) {
        TAILQ_REMOVE(&ready, conn, ready_link);
        conn->ready = false;
        conn_resume(conn);
    }
    net_close_doomed(n);
}

bool net_has_resumable(const struct net *n)
{
    return !TAILQ_EMPTY(&n->ready) || !TAILQ_EMPTY(&n->doomed);
}

void net_stats(const struct net *n, struct net_stats *ret)
{
    *ret = n->stats;
    ret->queued_bytes = n->frame_bytes + n->half_bytes;
    ret->unread_bytes = n->unread_bytes;
    ret->share = n->share;
    ret->stride = n->stride;
    const struct net_conn *c;
    TAILQ_FOREACH(c, &n->all, all)
    {
        uint64_t output = conn_output_bytes(c);
        ret->most_in_flight = c->in_flight > ret->most_in_flight ? c->in_flight : ret->most_in_flight;
        ret->most_output_bytes = output > ret->most_output_bytes ? output : ret->most_output_bytes;
    }
}
