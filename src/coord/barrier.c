/* How fresh the local copy of the catalogue must be before a shard decides anything that depends on topics: a new leader asks shard 0's leader once how far
 * shard 0 has come (a confirmed read), and waits until the local copy is there.
 *
 * Who is not answered asks all others, too, and who is asked and follows shard 0's leader passes it on: two nodes may see a third one and not each other.
 *
 *     ASK     u64 serial; to all: and u32 nonce; passed on: and u32 who asked
 *     ANSWER  u64 serial, u64 index; to what was passed on: and u32 nonce, u32 who asked, by the same way back
 *
 * Little-endian. Nothing is passed on twice. The nonce is the asking process's: what is passed on may outlive the connection, and so the process, that asked. */
#include "internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    ASK_AGAIN_US = 20000,
    ASK_ALL_AFTER = 3,      /* questions that were not answered */
    FLEE_TIMEOUTS = 2,      /* an election of shard 0's leader takes one */
    FLEE_REST_US = 5000000, /* if no node is better off the shard must not go round */
    ASK_BYTES = 8,
    ASK_ALL_BYTES = 12,
    PASSED_BYTES = 16,
    ANSWER_BYTES = 16,
    ANSWER_BACK_BYTES = 24
};

bool catalog_ready(const struct shard *s)
{
    if (s->id == 0)
        return true;
    uint64_t applied = s->coord->shards[0].applied;
    bool restoring = s->coord->shards[0].restoring;
#ifdef MUSTER_FAULT_HALF_CATALOG
    restoring = false;
#endif
    return !restoring && s->barrier_known && applied >= s->barrier_floor && applied >= (uint64_t)group_set_cursor(s->set);
}

void held_release(struct shard *s)
{
    if (s->role == REPLICA_HANDING_OVER || s->held.count == 0)
        return;
    struct request_list held;
    request_list_init(&held);
    request_list_move(&s->held, &held);
    struct coord_request *r;
    while ((r = request_list_take(&held)) != NULL)
        request_route(s, r);
}

void barrier_reset(struct shard *s)
{
    s->barrier_known = s->id == 0;
    s->barrier_floor = 0;
    s->barrier_via = 0;
    s->barrier_serial = s->coord->barrier_serial + 1;
    s->coord->barrier_retry_us = 0;
}

static bool still_asking(const struct shard *s)
{
    return s->role == REPLICA_SERVING && !s->barrier_known;
}

/* via: who passed the question on; 0: nobody had to. */
static void barrier_answered(struct coord *c, uint64_t serial, uint64_t index, uint32_t via)
{
    c->barrier_tries = 0;
    for (uint32_t i = 1; i < c->options.shard_count; i++) {
        struct shard *s = &c->shards[i];
        if (!still_asking(s) || serial < s->barrier_serial)
            continue;
        s->barrier_known = true;
        s->barrier_floor = index;
        s->barrier_via = via;
        s->barrier_us = c->now_us;
        held_release(s);
    }
    c->dirty = true;
}

/* A confirmed read of how far shard 0 has come, for this node (from 0) or for another. origin: for whom that one passed it on; 0: it asks for itself. */
struct barrier_read {
    struct coord_read read;
    struct coord *coord;
    uint32_t from, nonce, origin;
    uint64_t serial, index;
};

static void barrier_read(struct coord_read *read, const struct group_set *set)
{
    (void)set;
    struct barrier_read *b = read->ctx;
    b->index = b->coord->shards[0].applied;
}

static void barrier_read_done(struct coord_read *read, int16_t error)
{
    struct barrier_read *b = read->ctx;
    struct coord *c = b->coord;
    if (error == 0 && b->from == 0) {
        barrier_answered(c, b->serial, b->index, 0);
    } else if (error == 0) {
        uint8_t message[ANSWER_BACK_BYTES];
        put_le64(message, b->serial);
        put_le64(message + 8, b->index);
        put_le32(message + 16, b->nonce);
        put_le32(message + 20, b->origin);
        int32_t len = b->origin == 0 ? ANSWER_BYTES : ANSWER_BACK_BYTES;
        (void)replica_send(c->replica, b->from, COORD_CHANNEL_BARRIER_ANSWER, (struct bytes){message, len});
    }
    free(b); /* on error the asker asks again, perhaps somebody else */
}

static void barrier_read_start(struct coord *c, struct barrier_read how)
{
    struct barrier_read *b = malloc(sizeof(*b));
    MUSTER_CHECK(b != NULL);
    *b = how;
    b->coord = c;
    b->read = (struct coord_read){.shard = 0, .read = barrier_read, .done = barrier_read_done, .ctx = b};
    coord_submit_read(c, &b->read);
}

static void send_ask(struct coord *c, uint32_t node, const uint8_t *message, int32_t len)
{
    (void)replica_send(c->replica, node, COORD_CHANNEL_BARRIER_ASK, (struct bytes){message, len});
}

static void ask_all(struct coord *c, uint64_t serial)
{
    if (c->barrier_nonce == 0) {
        struct uuid id;
        c->events.draw_id(c->events.ctx, &id);
        c->barrier_nonce = get_le32(id.b) | 1;
    }
    uint8_t message[ASK_ALL_BYTES];
    put_le64(message, serial);
    put_le32(message + ASK_BYTES, c->barrier_nonce);
    uint32_t nodes[64];
    size_t count = replica_nodes(c->replica, nodes, COUNT_OF(nodes));
    for (size_t i = 0; i < count && i < COUNT_OF(nodes); i++) {
        if (nodes[i] != replica_self(c->replica))
            send_ask(c, nodes[i], message, sizeof(message));
    }
}

void barrier_step(struct coord *c)
{
    bool wanted = false;
    for (uint32_t i = 1; i < c->options.shard_count && !wanted; i++)
        wanted = still_asking(&c->shards[i]);
    if (!wanted)
        c->barrier_tries = 0;
    if (!wanted || c->now_us < c->barrier_retry_us)
        return;
    const struct shard *zero = &c->shards[0];
    c->barrier_retry_us = c->now_us + ASK_AGAIN_US;
    uint64_t serial = ++c->barrier_serial;
    if (zero->role == REPLICA_SERVING) {
        barrier_read_start(c, (struct barrier_read){.serial = serial});
        return;
    }
    if (zero->role == REPLICA_FOLLOWER && zero->leader != 0) {
        uint8_t message[ASK_BYTES];
        put_le64(message, serial);
        send_ask(c, zero->leader, message, sizeof(message));
    }
    if (++c->barrier_tries > ASK_ALL_AFTER)
        ask_all(c, serial);
}

static void pass_on(struct coord *c, uint32_t from, struct bytes data)
{
    uint8_t message[PASSED_BYTES];
    memcpy(message, data.ptr, ASK_ALL_BYTES);
    put_le32(message + ASK_ALL_BYTES, from);
    send_ask(c, c->shards[0].leader, message, sizeof(message));
}

static void asked(struct coord *c, uint32_t from, struct bytes data)
{
    const struct shard *zero = &c->shards[0];
    struct barrier_read read = {.from = from, .serial = get_le64(data.ptr)};
    if (data.len == PASSED_BYTES) {
        read.nonce = get_le32(data.ptr + ASK_BYTES);
        read.origin = get_le32(data.ptr + ASK_ALL_BYTES);
    } else if (data.len == ASK_ALL_BYTES && zero->role == REPLICA_FOLLOWER && zero->leader != 0 && zero->leader != from) {
        pass_on(c, from, data);
        return;
    }
    barrier_read_start(c, read);
}

static void answered(struct coord *c, uint32_t from, struct bytes data)
{
    uint64_t serial = get_le64(data.ptr), index = get_le64(data.ptr + 8);
    if (data.len == ANSWER_BYTES) {
        barrier_answered(c, serial, index, 0);
        return;
    }
    uint32_t nonce = get_le32(data.ptr + 16), origin = get_le32(data.ptr + 20);
    if (origin != replica_self(c->replica))
        (void)replica_send(c->replica, origin, COORD_CHANNEL_BARRIER_ANSWER, data);
    else if (nonce == c->barrier_nonce)
        barrier_answered(c, serial, index, from);
}

void barrier_message(struct coord *c, uint32_t from, uint16_t channel, struct bytes data)
{
    if (channel == COORD_CHANNEL_BARRIER_ASK && (data.len == ASK_BYTES || data.len == ASK_ALL_BYTES || data.len == PASSED_BYTES))
        asked(c, from, data);
    else if (channel == COORD_CHANNEL_BARRIER_ANSWER && (data.len == ANSWER_BYTES || data.len == ANSWER_BACK_BYTES))
        answered(c, from, data);
}

/* ---- a leader that cannot get to know -------------------------------------------------------------------------------------------------- */

/* Somebody passed the question on: to that one the shard can be given without its coming back for the same reason. */
static bool knows_better(const struct shard *s)
{
    return s->barrier_known && s->barrier_via != 0;
}

/* When the shard is to be given away: its leader has found no way to shard 0 since it took office, or is behind it and has none of its own, and somebody waits
 * for that. */
int64_t barrier_flee_us(const struct shard *s)
{
    const struct coord *c = s->coord;
    if (s->role != REPLICA_SERVING || s->held.count == 0 || catalog_ready(s))
        return INT64_MAX;
    int64_t timeout_us = c->options.election_timeout_us;
    int64_t patience_end_us = knows_better(s) ? s->barrier_us + timeout_us / 2 : s->office_us + FLEE_TIMEOUTS * timeout_us;
    int64_t rest_us = knows_better(s) ? FLEE_TIMEOUTS * timeout_us : FLEE_REST_US;
    int64_t rest_end_us = s->fled_us == 0 ? 0 : s->fled_us + rest_us;
    return patience_end_us > rest_end_us ? patience_end_us : rest_end_us;
}

/* Where two nodes do not see each other, the one may lead shards and the other shard 0, with the votes of a third that sees both and would do. */
void barrier_flee(struct coord *c)
{
    for (uint32_t i = 1; i < c->options.shard_count; i++) {
        struct shard *s = &c->shards[i];
        if (c->now_us < barrier_flee_us(s))
            continue;
        s->fled_us = c->now_us;
        int rc = replica_transfer(c->replica, i, knows_better(s) ? s->barrier_via : 0);
        if (rc == MUSTER_E_NOT_FOUND && knows_better(s)) /* it has no vote, or is gone */
            rc = replica_transfer(c->replica, i, 0);
        if (rc == 0) {
            c->stats.offices_given_up++;
            log_event(LOG_WARN, "handing_over", "node=%u shard=%u reason=catalogue_unreachable", replica_self(c->replica), i);
        }
    }
}
