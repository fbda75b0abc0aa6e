/* How fresh the local copy of the catalogue must be before a shard decides anything that depends on topics: a new leader asks shard 0's leader once how far
 * shard 0 has come (a confirmed read), and waits until the local copy is there. */
#include "internal.h"

#include <stdlib.h>

enum {
    ASK_AGAIN_US = 20000,
    FLEE_TIMEOUTS = 2,     /* an election of shard 0's leader takes one */
    FLEE_REST_US = 5000000 /* if no node is better off the shard must not go round */
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
    s->barrier_serial = s->coord->barrier_serial + 1;
    s->coord->barrier_retry_us = 0;
}

static bool still_asking(const struct shard *s)
{
    return s->role == REPLICA_SERVING && !s->barrier_known;
}

static void barrier_answered(struct coord *c, uint64_t serial, uint64_t index)
{
    for (uint32_t i = 1; i < c->options.shard_count; i++) {
        struct shard *s = &c->shards[i];
        if (!still_asking(s) || serial < s->barrier_serial)
            continue;
        s->barrier_known = true;
        s->barrier_floor = index;
        held_release(s);
    }
    c->dirty = true;
}

/* A confirmed read of how far shard 0 has come, for this node (from 0) or for another. */
struct barrier_read {
    struct coord_read read;
    struct coord *coord;
    uint32_t from;
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
        barrier_answered(c, b->serial, b->index);
    } else if (error == 0) {
        uint8_t message[16];
        put_le64(message, b->serial);
        put_le64(message + 8, b->index);
        (void)replica_send(c->replica, b->from, COORD_CHANNEL_BARRIER_ANSWER, (struct bytes){message, sizeof(message)});
    }
    free(b); /* on error the asker asks again, perhaps somebody else */
}

static void barrier_read_start(struct coord *c, uint32_t from, uint64_t serial)
{
    struct barrier_read *b = calloc(1, sizeof(*b));
    MUSTER_CHECK(b != NULL);
    *b = (struct barrier_read){.read = {.shard = 0, .read = barrier_read, .done = barrier_read_done, .ctx = b},
                               .coord = c,
                               .from = from,
                               .serial = serial};
    coord_submit_read(c, &b->read);
}

void barrier_step(struct coord *c)
{
    bool wanted = false;
    for (uint32_t i = 1; i < c->options.shard_count && !wanted; i++)
        wanted = still_asking(&c->shards[i]);
    if (!wanted || c->now_us < c->barrier_retry_us)
        return;
    const struct shard *zero = &c->shards[0];
    c->barrier_retry_us = c->now_us + ASK_AGAIN_US;
    uint64_t serial = ++c->barrier_serial;
    if (zero->role == REPLICA_SERVING) {
        barrier_read_start(c, 0, serial);
    } else if (zero->role == REPLICA_FOLLOWER && zero->leader != 0) {
        uint8_t message[8];
        put_le64(message, serial);
        (void)replica_send(c->replica, zero->leader, COORD_CHANNEL_BARRIER_ASK, (struct bytes){message, sizeof(message)});
    }
}

void barrier_message(struct coord *c, uint32_t from, uint16_t channel, struct bytes data)
{
    if (channel == COORD_CHANNEL_BARRIER_ASK && data.len == 8)
        barrier_read_start(c, from, get_le64(data.ptr));
    else if (channel == COORD_CHANNEL_BARRIER_ANSWER && data.len == 16)
        barrier_answered(c, get_le64(data.ptr), get_le64(data.ptr + 8));
}

/* ---- a leader that cannot get to know -------------------------------------------------------------------------------------------------- */

/* When the shard is to be given away: its leader has found no way to shard 0 since it took office, and somebody waits for that. */
int64_t barrier_flee_us(const struct shard *s)
{
    const struct coord *c = s->coord;
    if (s->role != REPLICA_SERVING || s->held.count == 0 || catalog_ready(s))
        return INT64_MAX;
    int64_t patience_end_us = s->office_us + FLEE_TIMEOUTS * c->options.election_timeout_us;
    int64_t rest_end_us = s->fled_us == 0 ? 0 : s->fled_us + FLEE_REST_US;
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
        if (replica_transfer(c->replica, i, 0) == 0) {
            c->stats.offices_given_up++;
            log_event(LOG_WARN, "handing_over", "node=%u shard=%u reason=catalogue_unreachable", replica_self(c->replica), i);
        }
    }
}
