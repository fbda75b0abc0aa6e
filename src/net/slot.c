/* slot.c: the place of one answer in the order of its connection. */
#include "internal.h"

#include <stdlib.h>

struct net_slot *slot_new(struct net_conn *c)
{
    struct net *n = c->net;
    struct net_slot *slot = TAILQ_FIRST(&n->free_slots);
    if (slot != NULL) {
        TAILQ_REMOVE(&n->free_slots, slot, link);
        n->free_slot_count--;
    } else {
        slot = calloc(1, sizeof(*slot));
        MUSTER_CHECK(slot != NULL); /* bounded by connections times max_in_flight */
        arena_init(&slot->arena, 0);
    }
    n->slots_out++;
    slot->conn = c;
    slot->user = NULL;
    slot->state = SLOT_OPEN;
    slot->charged_bytes = 0;
    slot->listed = slot->owned = true;
    slot->in_cut = slot->holds = slot->yields = false;
    TAILQ_INSERT_TAIL(&c->slots, slot, link);
    c->in_flight++;
    c->owned_slots++;
    n->stats.in_flight++;
    return slot;
}

void slot_yield(struct net_slot *slot, bool yields)
{
    struct net_conn *c = slot->conn;
    if (slot->yields == yields) {
        return;
    }
    size_t bytes = slot->charged_bytes <= NET_YIELD_BYTES ? slot->charged_bytes : 0;
    slot->yields = yields;
    if (yields) {
        c->yielding++;
        c->net->yielding_bytes += bytes;
    } else {
        c->yielding--;
        c->net->yielding_bytes -= bytes;
    }
}

void slot_put(struct net_slot *slot)
{
    if (slot->listed || slot->owned || slot->in_cut) {
        return;
    }
    struct net_conn *c = slot->conn;
    struct net *n = c->net;
    buf_fini(&slot->held);
    n->slots_out--;
    if (n->free_slot_count < NET_KEPT_SLOTS) {
        arena_clear(&slot->arena);
        TAILQ_INSERT_HEAD(&n->free_slots, slot, link);
        n->free_slot_count++;
    } else {
        arena_fini(&slot->arena);
        free(slot);
    }
    c->owned_slots--;
    conn_put(c);
}

void net_set_user(struct net_slot *slot, void *user)
{
    slot->user = user;
}

struct buf *net_answer_begin(struct net_slot *slot)
{
    struct net_conn *c = slot->conn;
    if (c->closing || c->doomed) {
        return NULL;
    }
    MUSTER_CHECK(slot->state == SLOT_OPEN);
    if (TAILQ_FIRST(&c->slots) != slot) {
        return &slot->held;
    }
    if (c->out.ptr == NULL) {
        c->out = net_take_buf(c->net);
    }
    return &c->out;
}

/* Answers whose turn has come move to the output. */
static void conn_advance(struct net_conn *c)
{
    struct net_slot *slot;
    while ((slot = TAILQ_FIRST(&c->slots)) != NULL && slot->state == SLOT_ANSWERED) {
        TAILQ_REMOVE(&c->slots, slot, link);
        slot->listed = false;
        if (slot->held.len > 0) {
            if (c->out.ptr == NULL) {
                c->out = net_take_buf(c->net);
            }
            if (buf_put(&c->out, slot->held.ptr, slot->held.len) < 0) {
                conn_doom(c, "no memory");
            }
        }
        slot_put(slot);
    }
}

/* It is owed no answer any more. */
static void settle(struct net_slot *slot)
{
    struct net_conn *c = slot->conn;
    slot->state = SLOT_ANSWERED;
    c->in_flight--;
    c->net->stats.in_flight--;
    slot_yield(slot, false);
}

void net_answer_end(struct net_slot *slot)
{
    struct net_conn *c = slot->conn;
    if (c->closing || slot->state == SLOT_ANSWERED) {
        return;
    }
    settle(slot);
    c->net->stats.answers++;
    if (slot->holds) {
        c->holding = false;
    }
    if (TAILQ_FIRST(&c->slots) == slot) {
        conn_advance(c);
        conn_count_output(c);
        conn_make_dirty(c);
    }
    if (c->blocked) {
        conn_make_ready(c);
    }
}

void net_answer_close(struct net_slot *slot)
{
    struct net_conn *c = slot->conn;
    if (c->closing || slot->state == SLOT_ANSWERED) {
        return;
    }
    settle(slot);
    conn_doom(c, "request refused");
}

void net_release(struct net_slot *slot)
{
    MUSTER_CHECK(slot->owned && slot->state == SLOT_ANSWERED);
    struct net *n = slot->conn->net;
    slot->owned = false;
    n->frame_bytes -= slot->charged_bytes;
    slot->charged_bytes = 0;
    buf_fini(&slot->frame);
    slot_put(slot);
    net_feed_starved(n);
}
