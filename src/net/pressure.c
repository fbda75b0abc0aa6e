/* pressure.c: more is asked for than this node can do. Then turns grow long, and in a long turn nobody else is heard: no peer, no deadline.
 *
 * Requests are not refused. Who is refused asks again at once, which makes more work and not less, and a heartbeat that is refused is a member in danger. They wait
 * where they came from: a connection whose share of the turn is used up is read no further, so its client's sends come to a stop, and the memory it takes here is
 * one read. Shares are equal, so who sends little hardly notices who sends much. */
#include "internal.h"

void net_pressure_init(struct net *n)
{
    n->share = NET_SHARE_MOST;
    n->stride = 1;
}

bool conn_has_turn(struct net_conn *c)
{
    struct net *n = c->net;
    if (c->turn != n->turn) {
        c->turn = n->turn;
        c->taken = 0;
    }
    return c->taken < n->share && (n->stride == 1 || (c->table_idx + n->turn) % n->stride == 0);
}

void conn_count_taken(struct net_conn *c)
{
    c->taken++;
    if (c->taken > c->net->most_taken) {
        c->net->most_taken = c->taken;
    }
}

static void tighten(struct net *n)
{
    if (n->most_taken > 1) {
        n->share = n->most_taken / 2;
    } else if (n->most_taken == 1) {
        n->share = 1;
        n->stride = n->stride < NET_STRIDE_MOST ? n->stride * 2 : n->stride;
    } /* else it was not the clients' turn that was long */
}

static void loosen(struct net *n)
{
    if (n->stride > 1) {
        n->stride /= 2;
    } else if (n->share < NET_SHARE_MOST) {
        n->share *= 2;
    }
}

void net_pressure(struct net *n, int64_t took_us)
{
    if (n->options.max_turn_us > 0) {
        if (took_us > n->options.max_turn_us) {
            tighten(n);
        } else if (took_us < n->options.max_turn_us / 2) {
            loosen(n);
        }
    }
    n->most_taken = 0;
}
