/* close.c: a connection ends.
 *
 * A connection that must go while others are deep in a call is only marked (doomed); net_resume and net_flush close what is marked from the top
 * of the stack, so that handler.gone never runs inside a call of the layers above. */
#include "internal.h"

#include <stdlib.h>

void conn_doom(struct net_conn *c, const char *reason)
{
    if (c->doomed || c->closing) {
        return;
    }
    c->doomed = true;
    c->reason = reason;
    TAILQ_INSERT_TAIL(&c->net->doomed, c, doomed_link);
}

void conn_put(struct net_conn *c)
{
    if (!c->closed || c->owned_slots > 0) {
        return;
    }
    struct net *n = c->net;
    free(c);
    net_handle_closed(n);
}

static void on_conn_closed(uv_handle_t *handle)
{
    struct net_conn *c = handle->data;
    c->closed = true;
    conn_put(c);
}

static void leave_lists(struct net_conn *c)
{
    struct net *n = c->net;
    TAILQ_REMOVE(&n->all, c, all);
    if (c->dirty) {
        TAILQ_REMOVE(&n->dirty, c, dirty_link);
    }
    if (c->ready) {
        TAILQ_REMOVE(&n->ready, c, ready_link);
    }
    if (c->starved) {
        TAILQ_REMOVE(&n->starved, c, starved_link);
    }
    if (c->doomed) {
        TAILQ_REMOVE(&n->doomed, c, doomed_link);
    }
    c->dirty = c->ready = c->starved = c->doomed = false;
    n->table[c->table_idx] = NULL;
}

static void drop_slots(struct net_conn *c)
{
    struct net *n = c->net;
    struct net_slot *slot;
    while ((slot = TAILQ_FIRST(&c->slots)) != NULL) {
        TAILQ_REMOVE(&c->slots, slot, link);
        slot->listed = false;
        if (slot->state == SLOT_OPEN) {
            slot->state = SLOT_ANSWERED;
            n->stats.in_flight--;
            slot_yield(slot, false);
            slot->in_cut = true; /* it may be released in the call */
            n->handler.gone(n->handler.ctx, slot, slot->user);
            slot->in_cut = false;
        }
        slot_put(slot);
    }
    c->in_flight = 0;
}

void conn_close(struct net_conn *c, const char *reason)
{
    if (c->closing) {
        return;
    }
    struct net *n = c->net;
    c->closing = true;
    log_event(LOG_DEBUG, "client_closed", "connection=%llu host=%s reason=\"%s\" in_flight=%u", (unsigned long long)c->id, c->host, reason,
              c->in_flight);
    leave_lists(c);
    conn_count_output(c);
    n->stats.closed++;
    n->stats.connections--;
    n->half_bytes -= c->in.len;
    buf_fini(&c->in);
    if (c->transport != NULL) {
        n->options.transport.close(c->transport);
    }
    c->owned_slots++; /* kept until the slots are gone through */
    uv_close((uv_handle_t *)&c->tcp, on_conn_closed);
    drop_slots(c);
    buf_fini(&c->out);
    c->owned_slots--;
}

void net_close_doomed(struct net *n)
{
    struct net_conn *c;
    while ((c = TAILQ_FIRST(&n->doomed)) != NULL) {
        conn_close(c, c->reason);
    }
}

/* Idle: no whole request for too long while none is owed, or answers that the client does not take. Half a frame does not count as life. */
void net_idle_sweep(uv_timer_t *timer)
{
    struct net *n = timer->data;
    int64_t now = net_now_ms(n);
    struct net_conn *c, *next;
    TAILQ_FOREACH_SAFE(c, &n->all, all, next)
    {
        bool stuck = c->in_flight == 0 || conn_output_bytes(c) > 0;
        if (stuck && now - c->active_ms > n->options.max_idle_ms) {
            n->stats.idle_closed++;
            conn_close(c, c->in.len > 0 ? "idle with half a request" : "idle");
        }
    }
}
