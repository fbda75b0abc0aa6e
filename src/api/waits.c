/* waits.c: a binary heap of the requests that go on at a known moment. */
#include "internal.h"

static void heap_set(struct wait_heap *h, size_t at, struct api_request *r)
{
    h->v[at] = r;
    r->wait.at = at;
}

static void heap_up(struct wait_heap *h, size_t at, struct api_request *r)
{
    while (at > 0 && h->v[(at - 1) / 2]->wait.due_us > r->wait.due_us) {
        heap_set(h, at, h->v[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_set(h, at, r);
}

static void heap_down(struct wait_heap *h, size_t at, struct api_request *r)
{
    while (2 * at + 1 < h->len) {
        size_t child = 2 * at + 1;
        if (child + 1 < h->len && h->v[child + 1]->wait.due_us < h->v[child]->wait.due_us) {
            child++;
        }
        if (h->v[child]->wait.due_us >= r->wait.due_us) {
            break;
        }
        heap_set(h, at, h->v[child]);
        at = child;
    }
    heap_set(h, at, r);
}

void wait_cancel(struct api_request *r)
{
    struct wait_heap *h = &r->api->waits;
    size_t at = r->wait.at;
    if (at == SIZE_MAX) {
        return;
    }
    r->wait.at = SIZE_MAX;
    struct api_request *last = h->v[--h->len];
    if (last == r) {
        return;
    }
    if (at > 0 && h->v[(at - 1) / 2]->wait.due_us > last->wait.due_us) {
        heap_up(h, at, last);
    } else {
        heap_down(h, at, last);
    }
}

void wait_arm(struct api_request *r, int64_t due_us, void (*fire)(struct api_request *r))
{
    struct wait_heap *h = &r->api->waits;
    wait_cancel(r);
    if (h->len == h->cap) {
        size_t cap = h->cap > 0 ? h->cap * 2 : 64;
        h->v = pool_resize(&r->api->pool, h->v, h->cap * sizeof(*h->v), cap * sizeof(*h->v));
        h->cap = cap;
    }
    r->wait.due_us = due_us;
    r->wait.fire = fire;
    heap_up(h, h->len++, r);
}

void waits_fire(struct api *a)
{
    struct wait_heap *h = &a->waits;
    while (h->len > 0 && h->v[0]->wait.due_us <= a->now_us) {
        struct api_request *r = h->v[0];
        wait_cancel(r);
        r->wait.fire(r);
    }
}

int64_t waits_next_us(const struct api *a)
{
    return a->waits.len > 0 ? a->waits.v[0]->wait.due_us : INT64_MAX;
}
