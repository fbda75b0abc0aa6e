/* A graceful transfer hands the remaining times over, so that it neither shortens nor lengthens a session.
 *
 * Message: u32 shard, u64 term, then for each timer: u8 kind, u32 epoch, u32 remaining of the rebalance timeout, u32 seen members, u64 remaining us,
 * u16 length + group id, u16 length + member id; little-endian. Best effort: without it the new leader gives every member a full session.
 *
 * While a shard is handed over nobody is heard of, so the times hold for whoever takes over. If nobody does, members are heard of again, and the times are void:
 * a message with one byte behind its head says so. It comes behind the other on the same connection; when that ends, or when office is not taken soon, they are
 * void, too.
 *
 * The message also announces the handover: until the next leader is known, nobody is told where the coordinator is (FindCoordinator waits), and who is elected
 * keeps requests until it serves. So a client is told once to look for the coordinator, and then finds it. */
#include "internal.h"

enum { HEAD_BYTES = 12, TIMER_BYTES = 25, MOST_BYTES = 4 << 20, CALLED_OFF = 0xff };

static bool put_id(struct buf *out, struct str id)
{
    uint8_t len[2];
    put_le16(len, (uint16_t)id.len);
    return buf_put(out, len, 2) == 0 && buf_put(out, id.ptr, (size_t)id.len) == 0;
}

static bool put_timer(struct buf *out, const struct shard *s, const struct timer *t)
{
    uint8_t head[TIMER_BYTES];
    int64_t left = t->deadline_us > s->live_us ? t->deadline_us - s->live_us : 0;
#ifdef MUSTER_FAULT_HANDOVER_IGNORES_CLOCKS
    left = t->deadline_us; /* by this node's clock, as if the other one's said the same */
#endif
    head[0] = (uint8_t)t->what.kind;
    put_le32(head + 1, (uint32_t)t->what.epoch);
    put_le32(head + 5, (uint32_t)t->what.remaining_ms);
    put_le32(head + 9, (uint32_t)t->what.seen_members);
    put_le64(head + 13, (uint64_t)left);
    put_le32(head + 21, 0);
    if (t->what.group_id.len > UINT16_MAX || t->what.member_id.len > UINT16_MAX)
        return true; /* such a one starts afresh */
    return buf_put(out, head, sizeof(head)) == 0 && put_id(out, t->what.group_id) && put_id(out, t->what.member_id);
}

static bool export_head(const struct shard *s, struct buf *out)
{
    uint8_t head[HEAD_BYTES];
    put_le32(head, s->id);
    put_le64(head + 4, s->term);
    return buf_put(out, head, sizeof(head)) == 0;
}

static void export(const struct shard *s, struct buf *out)
{
    if (!export_head(s, out))
        return;
    for (size_t i = 0; i < s->timers.heap_len; i++) {
        if (!put_timer(out, s, s->timers.heap[i]))
            return;
    }
}

static void tell(struct shard *s, const struct buf *out)
{
    uint32_t nodes[64];
    struct coord *c = s->coord;
    size_t count = replica_nodes(c->replica, nodes, COUNT_OF(nodes));
    for (size_t i = 0; i < count && i < COUNT_OF(nodes); i++) {
        if (nodes[i] != replica_self(c->replica) && (s->leader == 0 || s->leader == replica_self(c->replica) || s->leader == nodes[i]))
            (void)replica_send(c->replica, nodes[i], COORD_CHANNEL_TIMERS, (struct bytes){out->ptr, (int32_t)out->len});
    }
}

static void announced(struct shard *s, uint32_t from, uint64_t term)
{
    s->handover_announced = true;
    s->handover_term = term;
    s->handover_from = from;
    s->handover_us = s->coord->now_us;
}

bool handover_pending(const struct shard *s)
{
    if (!s->handover_announced || s->coord->now_us > s->handover_us + s->coord->options.election_timeout_us)
        return false;
    bool elected = s->term == s->handover_term + 1;
    switch (s->role) {
    case REPLICA_FOLLOWER: /* who has voted in the next term may still name the leader of the one before */
        return s->term == s->handover_term || (elected && (s->leader == 0 || s->leader == s->handover_from));
    case REPLICA_LEADER:
        return elected;
    case REPLICA_SERVING:
        return false;
    case REPLICA_HANDING_OVER:
        break;
    }
    return true;
}

void handover_expire(struct shard *s)
{
    if (s->role == REPLICA_LEADER && s->held.count > 0 && !handover_pending(s))
        held_release(s);
}

int64_t handover_expiry_us(const struct shard *s)
{
    bool waits = s->role == REPLICA_LEADER && s->held.count > 0;
    return waits ? s->handover_us + s->coord->options.election_timeout_us + 1 : INT64_MAX;
}

void handover_send(struct shard *s)
{
    announced(s, replica_self(s->coord->replica), s->term);
    struct buf out;
    buf_init(&out, MOST_BYTES);
    export(s, &out);
    tell(s, &out);
    buf_fini(&out);
}

void handover_call_off(struct shard *s)
{
    struct buf out;
    uint8_t mark = CALLED_OFF;
    s->handover_announced = false;
    buf_init(&out, MOST_BYTES);
    if (export_head(s, &out) && buf_put(&out, &mark, 1) == 0)
        tell(s, &out);
    buf_fini(&out);
}

void handover_forget(struct coord *c, uint32_t node)
{
    for (uint32_t i = 0; i < c->options.shard_count; i++) {
        struct shard *s = &c->shards[i];
        bool handed_over = s->term == s->handover_term + 1; /* and may well end now */
        if (s->handover_from != node)
            continue;
        if (!handed_over || s->role != REPLICA_LEADER)
            buf_clear(&s->handover);
        s->handover_announced = s->handover_announced && handed_over;
    }
}

/* One timer of the message; false at its end or where it is damaged. */
static bool next_timer(struct bytes *in, struct group_timer *ret, int64_t *ret_left_us)
{
    if (in->len < TIMER_BYTES + 4)
        return false;
    const uint8_t *p = in->ptr;
    int32_t group_len = get_le16(p + TIMER_BYTES);
    if (in->len < TIMER_BYTES + 4 + group_len)
        return false;
    int32_t member_len = get_le16(p + TIMER_BYTES + 2 + group_len);
    int32_t total = TIMER_BYTES + 4 + group_len + member_len;
    if (in->len < total || p[0] > GROUP_TIMER_LAST)
        return false;
    *ret = (struct group_timer){
        .kind = (enum group_timer_kind)p[0],
        .epoch = (int32_t)get_le32(p + 1),
        .remaining_ms = (int32_t)get_le32(p + 5),
        .seen_members = (int32_t)get_le32(p + 9),
        .group_id = {(const char *)p + TIMER_BYTES + 2, group_len},
        .member_id = {(const char *)p + TIMER_BYTES + 4 + group_len, member_len},
    };
    *ret_left_us = (int64_t)get_le64(p + 13);
    *in = (struct bytes){p + total, in->len - total};
    return true;
}

/* Only shortens what was armed in full, and only for what is still the same epoch. */
void handover_take(struct shard *s)
{
    bool recent = s->coord->now_us - s->handover_us <= 2 * s->coord->options.election_timeout_us; /* a transfer is given up after one */
    if (s->handover.len >= HEAD_BYTES && s->term == s->handover_term + 1 && recent) {
        struct bytes in = {s->handover.ptr + HEAD_BYTES, (int32_t)(s->handover.len - HEAD_BYTES)};
        struct group_timer what;
        int64_t left_us;
        while (next_timer(&in, &what, &left_us)) {
            const struct timer *t = timer_find(&s->timers, &what);
            int64_t at_us = s->live_us + left_us;
#ifdef MUSTER_FAULT_HANDOVER_IGNORES_CLOCKS
            at_us = left_us;
#endif
            if (t != NULL && t->what.epoch == what.epoch && left_us >= 0 && at_us < t->deadline_us)
                timer_arm(&s->timers, &what, at_us, 0);
        }
    }
    buf_clear(&s->handover);
}

void coord_handover_export(struct coord *c, uint32_t shard, struct buf *out)
{
    MUSTER_CHECK(shard < c->options.shard_count);
    export(&c->shards[shard], out);
}

void coord_handover_import(struct coord *c, uint32_t from, uint32_t shard, struct bytes data)
{
    struct shard *s = &c->shards[shard];
    if (data.len < HEAD_BYTES || get_le32(data.ptr) != shard)
        return;
    buf_clear(&s->handover);
    announced(s, from, get_le64(data.ptr + 4));
    s->handover_announced = data.len != HEAD_BYTES + 1;
    if (s->handover_announced)
        (void)buf_put(&s->handover, data.ptr, (size_t)data.len); /* without memory for it everybody has a full session */
}
