/* applied.c: a change of topics or configs is answered when every connected node has applied it, so that whoever asks next, anywhere, sees it.
 *
 * A message on API_CHANNEL_APPLIED: 1, token, index: tell me when you have applied shard 0 up to there; 2, token: I have. */
#include "internal.h"

enum { ASK = 1, TELL = 2, ASK_BYTES = 17, TELL_BYTES = 9, MAX_NODES = 32, MAX_ASKS = 4096 };

struct applied_wait {
    struct applied_wait *next;
    struct api_request *request;
    const void *response;
    uint64_t token;
    uint32_t nodes[MAX_NODES]; /* that have not told yet */
    size_t node_count;
};

static void waits_remove(struct api *a, struct applied_wait *w)
{
    struct applied_wait **link = &a->applied_waits;
    while (*link != w) {
        link = &(*link)->next;
    }
    *link = w->next;
}

static void applied_finish(struct api_request *r)
{
    waits_remove(r->api, r->applied);
    wait_cancel(r);
    api_answer(r, r->applied->response);
    api_unref(r);
}

static void ask_nodes(struct api *a, struct applied_wait *w)
{
    struct replica *replica = coord_replica(a->coord);
    uint32_t nodes[MAX_NODES];
    uint8_t message[ASK_BYTES] = {ASK};
    put_be64(message + 1, w->token);
    put_be64(message + 9, coord_applied_index(a->coord, 0));
    size_t count = replica_nodes(replica, nodes, MAX_NODES);
    for (size_t i = 0; i < count && i < MAX_NODES; i++) {
        if (nodes[i] == a->options.node_id || !replica_connected(replica, nodes[i])) {
            continue;
        }
        if (replica_send(replica, nodes[i], API_CHANNEL_APPLIED, (struct bytes){message, ASK_BYTES})) {
            w->nodes[w->node_count++] = nodes[i];
        }
    }
}

void applied_wait_begin(struct api_request *r, const void *response)
{
    struct api *a = r->api;
    struct applied_wait *w = arena_get(r->arena, sizeof(*w));
    w->request = r;
    w->response = response;
    w->token = ++a->next_id;
    if (a->options.apply_wait_us > 0) {
        ask_nodes(a, w);
    }
    w->next = a->applied_waits;
    a->applied_waits = w;
    r->applied = w;
    if (w->node_count == 0) {
        applied_finish(r);
    } else {
        wait_arm(r, a->now_us + a->options.apply_wait_us, applied_finish);
    }
}

static void node_told(struct applied_wait *w, uint32_t node)
{
    for (size_t i = 0; i < w->node_count; i++) {
        if (w->nodes[i] == node) {
            w->nodes[i] = w->nodes[--w->node_count];
            break;
        }
    }
    if (w->node_count == 0) {
        applied_finish(w->request);
    }
}

static void take_tell(struct api *a, uint32_t from, uint64_t token)
{
    for (struct applied_wait *w = a->applied_waits; w != NULL; w = w->next) {
        if (w->token == token) {
            node_told(w, from);
            return;
        }
    }
}

static void tell(struct api *a, uint32_t node, uint64_t token)
{
    uint8_t message[TELL_BYTES] = {TELL};
    put_be64(message + 1, token);
    replica_send(coord_replica(a->coord), node, API_CHANNEL_APPLIED, (struct bytes){message, TELL_BYTES});
}

static void take_ask(struct api *a, struct applied_ask ask)
{
    if (coord_applied_index(a->coord, 0) >= ask.index) {
        tell(a, ask.node, ask.token);
        return;
    }
    if (a->ask_count == MAX_ASKS) {
        return; /* whoever asks waits for a bounded time only */
    }
    if (a->ask_count == a->ask_cap) {
        size_t cap = a->ask_cap > 0 ? a->ask_cap * 2 : 16;
        a->asks = pool_resize(&a->pool, a->asks, a->ask_cap * sizeof(*a->asks), cap * sizeof(*a->asks));
        a->ask_cap = cap;
    }
    a->asks[a->ask_count++] = ask;
}

void applied_message(struct api *a, uint32_t from, struct bytes data)
{
    if (data.len == ASK_BYTES && data.ptr[0] == ASK) {
        take_ask(a, (struct applied_ask){from, get_be64(data.ptr + 1), get_be64(data.ptr + 9)});
    } else if (data.len == TELL_BYTES && data.ptr[0] == TELL) {
        take_tell(a, from, get_be64(data.ptr + 1));
    }
}

void applied_answer_asks(struct api *a)
{
    if (a->ask_count == 0) {
        return;
    }
    uint64_t applied = coord_applied_index(a->coord, 0);
    for (size_t i = 0; i < a->ask_count;) {
        if (a->asks[i].index <= applied) {
            tell(a, a->asks[i].node, a->asks[i].token);
            a->asks[i] = a->asks[--a->ask_count];
        } else {
            i++;
        }
    }
}

void applied_peer_lost(struct api *a, uint32_t node)
{
    struct applied_wait *next;
    for (struct applied_wait *w = a->applied_waits; w != NULL; w = next) {
        next = w->next;
        node_told(w, node); /* it reads the catalogue's log before it serves again */
    }
    for (size_t i = 0; i < a->ask_count;) {
        if (a->asks[i].node == node) {
            a->asks[i] = a->asks[--a->ask_count];
        } else {
            i++;
        }
    }
}
