#include "fake_replica.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 4096 };

struct proposed {
    uint32_t shard;
    uint64_t term, index;
    struct bytes data;
};

struct replica {
    struct replica_events events;
    uint32_t shards;
    uint64_t term[16], last[16], round;
    enum replica_role role[16];
    struct proposed proposed[MOST];
    size_t count;
    int rc;
    int64_t contact_us, led_us;
    size_t sent, sent_bytes;
    uint32_t sent_to;
    uint8_t sent_data[32]; /* of the newest, its beginning */
    size_t transfers;
    uint32_t transferred, transferred_to, takes;
};

struct replica *fake_new(uint32_t shards)
{
    struct replica *r = calloc(1, sizeof(*r));
    r->shards = shards;
    return r;
}

void fake_free(struct replica *r)
{
    for (size_t i = 0; i < r->count; i++)
        free((void *)(uintptr_t)r->proposed[i].data.ptr);
    free(r);
}

struct replica_events *fake_events(struct replica *r)
{
    return &r->events;
}

void fake_role(struct replica *r, uint32_t shard, enum replica_role role, uint64_t term, uint32_t leader)
{
    while (role == REPLICA_FOLLOWER && r->count > 0) /* proposals of the old term are gone */
        free((void *)(uintptr_t)r->proposed[--r->count].data.ptr);
    r->term[shard] = term;
    r->role[shard] = role;
    r->events.role(r->events.ctx, shard, role, term, leader);
}

void fake_serve(struct replica *r, uint32_t shard, uint64_t term)
{
    fake_role(r, shard, REPLICA_LEADER, term, 1);
    r->events.apply(r->events.ctx, shard, ++r->last[shard], term, (struct bytes){NULL, 0});
    fake_role(r, shard, REPLICA_SERVING, term, 1);
}

int replica_propose(struct replica *r, uint32_t shard, struct bytes entry, uint64_t *ret_term, uint64_t *ret_index)
{
    if (r->rc != 0)
        return r->rc;
    uint8_t *copy = malloc((size_t)entry.len);
    memcpy(copy, entry.ptr, (size_t)entry.len);
    *ret_term = r->term[shard];
    *ret_index = ++r->last[shard];
    r->proposed[r->count++] = (struct proposed){shard, *ret_term, *ret_index, {copy, entry.len}};
    return 0;
}

size_t fake_commit(struct replica *r)
{
    size_t count = r->count;
    for (size_t i = 0; i < count; i++) {
        struct proposed p = r->proposed[i];
        r->events.apply(r->events.ctx, p.shard, p.index, p.term, p.data);
        free((void *)(uintptr_t)p.data.ptr);
    }
    MUSTER_CHECK(r->count == count);
    r->count = 0;
    return count;
}

size_t fake_proposed(const struct replica *r)
{
    return r->count;
}

void fake_confirm(struct replica *r)
{
    for (uint32_t s = 0; s < r->shards; s++)
        r->events.confirmed(r->events.ctx, s, r->term[s], r->round);
    r->round++;
}

void fake_refuse(struct replica *r, int rc)
{
    r->rc = rc;
}

void fake_contact(struct replica *r, int64_t us)
{
    r->contact_us = us;
}

void fake_led(struct replica *r, int64_t us)
{
    r->led_us = us;
}

struct bytes fake_newest(const struct replica *r)
{
    return r->count > 0 ? r->proposed[r->count - 1].data : BYTES_NULL;
}

uint64_t replica_want_round(struct replica *r, uint32_t shard)
{
    (void)shard;
    return r->round;
}

void replica_status(const struct replica *r, uint32_t shard, struct replica_shard_status *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->role = r->role[shard];
    ret->term = r->term[shard];
    ret->last_index = r->last[shard];
    ret->contact_us = r->contact_us;
    ret->led_us = r->led_us;
}

bool replica_send(struct replica *r, uint32_t node, uint16_t channel, struct bytes data)
{
    (void)channel;
    r->sent++;
    r->sent_to = node;
    r->sent_bytes = (size_t)data.len;
    memcpy(r->sent_data, data.ptr, r->sent_bytes < sizeof(r->sent_data) ? r->sent_bytes : sizeof(r->sent_data));
    return true;
}

void fake_take(struct replica *r, uint32_t node)
{
    r->takes = node;
}

int replica_transfer(struct replica *r, uint32_t shard, uint32_t node)
{
    r->transfers++;
    r->transferred = shard;
    r->transferred_to = node;
    return node != 0 && node == r->takes ? 0 : MUSTER_E_NOT_FOUND;
}

size_t fake_transfers(const struct replica *r, uint32_t *ret_shard)
{
    *ret_shard = r->transferred;
    return r->transfers;
}

void fake_message(struct replica *r, uint32_t from, uint16_t channel, const void *data, size_t len)
{
    r->events.message(r->events.ctx, from, channel, (struct bytes){data, (int32_t)len});
}

void fake_peer(struct replica *r, uint32_t node, bool connected)
{
    r->events.peer(r->events.ctx, node, connected);
}

size_t fake_sent(const struct replica *r)
{
    return r->sent;
}

size_t fake_sent_bytes(const struct replica *r)
{
    return r->sent_bytes;
}

const uint8_t *fake_sent_data(const struct replica *r, uint32_t *ret_node)
{
    *ret_node = r->sent_to;
    return r->sent_data;
}

uint32_t fake_transferred_to(const struct replica *r)
{
    return r->transferred_to;
}

uint32_t replica_self(const struct replica *r)
{
    (void)r;
    return 1;
}

size_t replica_nodes(const struct replica *r, uint32_t *ret_ids, size_t capacity)
{
    (void)r;
    if (capacity > 0)
        ret_ids[0] = 1;
    if (capacity > 1)
        ret_ids[1] = 2;
    return 2;
}
