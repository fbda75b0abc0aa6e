/* What consumers of the classic protocol write into JoinGroup and SyncGroup: subscriptions and assignments. Topics are named there; here they have numbers. */
#include "consumer.h"

#include <string.h>

/* ---- which topics there are ---- */

/* What clients have heard of the topics they know, also while every node is dead, or those that live have not come so far again. */
static bool number_of(struct sim *sim, uint32_t group, uint32_t topic, uint32_t *ret)
{
    struct known_topic *known = &sim->consumers->known[group][topic];
    uint64_t as_of = topics_as_of(sim);
    if (as_of > 0 && as_of >= known->as_of) {
        struct catalog_topic found;
        char name[SIM_ID_MAX];
        known->as_of = as_of;
        known->there = topic_newest(sim, consumer_topic(group, topic, name), &found);
        known->number = known->there ? topic_number(sim, found.id) : 0;
        if (known->there)
            sim->consumers->had[known->number] = known;
    }
    *ret = known->number;
    return known->there;
}

void topics_heard(struct sim *sim, uint32_t group)
{
    uint32_t number;
    for (uint32_t t = 0; t < PLAN_TOPICS; t++)
        (void)number_of(sim, group, t, &number);
}

static uint32_t topic_of(uint32_t group, struct str name)
{
    uint32_t topic = 0;
    char own[SIM_ID_MAX];
    while (topic < PLAN_TOPICS && !str_eq(name, str_of(consumer_topic(group, topic, own))))
        topic++;
    return topic;
}

/* ---- writing ---- */

static void write_number(struct buf *out, int size, int32_t value)
{
    uint8_t *at = buf_add(out, (size_t)size);
    if (size == 2)
        put_be16(at, (uint16_t)value);
    else
        put_be32(at, (uint32_t)value);
}

static void write_text(struct buf *out, const char *text)
{
    write_number(out, 2, (int32_t)strlen(text));
    (void)buf_put(out, text, strlen(text));
}

/* Of a topic that is gone, or is another one of that name by now, too: the coordinator may not know that yet. */
static void write_partitions(struct buf *out, struct sim *sim, uint32_t group, const struct unit_set *units)
{
    size_t count_at = out->len;
    int32_t count = 0;
    write_number(out, 4, 0);
    for (uint32_t t = 0; t < PLAN_TOPICS; t++) {
        struct unit_set own = {0};
        char name[SIM_ID_MAX];
        for (int32_t i = 0; i < units->len; i++) {
            if (sim->consumers->had[unit_name(units->v[i])] == &sim->consumers->known[group][t])
                set_add(&own, unit_of(0, unit_partition(units->v[i])));
        }
        if (own.len > 0) {
            count++;
            write_text(out, consumer_topic(group, t, name));
            write_number(out, 4, own.len);
        }
        for (int32_t i = 0; i < own.len; i++)
            write_number(out, 4, unit_partition(own.v[i]));
        set_free(&own);
    }
    put_be32(out->ptr + count_at, (uint32_t)count);
}

static struct bytes taken(struct buf *out, struct arena *arena)
{
    struct bytes bytes = arena_bytes(arena, (struct bytes){out->ptr, (int32_t)out->len});
    buf_fini(out);
    return bytes;
}

struct bytes subscription_bytes(const struct consumer *c, int16_t version, struct arena *arena)
{
    uint32_t group = c->member.crowd->number;
    struct buf out;
    char name[SIM_ID_MAX];
    buf_init(&out, 0);
    write_number(&out, 2, version);
    write_number(&out, 4, __builtin_popcount(c->names));
    topics_heard(c->member.sim, group);
    for (uint32_t t = 0; t < PLAN_TOPICS; t++) {
        if ((c->names >> t & 1) != 0)
            write_text(&out, consumer_topic(group, t, name));
    }
    write_number(&out, 4, -1); /* user data */
    if (version >= 1)
        write_partitions(&out, c->member.sim, group, &c->member.has.role[ACTIVE]);
    if (version >= 2)
        write_number(&out, 4, c->member.epoch > 0 ? c->member.epoch : -1);
    if (version >= 3)
        write_number(&out, 2, -1); /* rack */
    return taken(&out, arena);
}

struct bytes assignment_bytes(struct sim *sim, uint32_t group, const struct unit_set *units, struct arena *arena)
{
    struct buf out;
    buf_init(&out, 0);
    write_number(&out, 2, 1);
    write_partitions(&out, sim, group, units);
    write_number(&out, 4, -1); /* user data */
    return taken(&out, arena);
}

/* ---- reading ---- */

struct reader {
    const uint8_t *at;
    int64_t left;
    bool bad;
};

static int32_t read_number(struct reader *r, int size)
{
    r->bad = r->bad || r->left < size;
    if (r->bad)
        return 0;
    int32_t value = size == 2 ? (int16_t)get_be16(r->at) : (int32_t)get_be32(r->at);
    r->at += size;
    r->left -= size;
    return value;
}

static struct str read_text(struct reader *r)
{
    int32_t len = read_number(r, 2);
    r->bad = r->bad || len < 0 || r->left < len;
    if (r->bad)
        return STR_NULL;
    struct str text = {(const char *)r->at, len};
    r->at += len;
    r->left -= len;
    return text;
}

static void read_partitions(struct reader *r, struct sim *sim, uint32_t group, struct unit_set *ret)
{
    int32_t topics = read_number(r, 4);
    for (int32_t i = 0; i < topics && !r->bad; i++) {
        uint32_t topic = topic_of(group, read_text(r)), number = 0;
        int32_t count = read_number(r, 4);
        bool there = topic < PLAN_TOPICS && number_of(sim, group, topic, &number);
        r->bad = r->bad || topic == PLAN_TOPICS;
        for (int32_t k = 0; k < count && !r->bad; k++) {
            int32_t partition = read_number(r, 4);
            if (there && !r->bad)
                set_add(ret, unit_of(number, partition));
        }
    }
}

bool subscription_read(struct sim *sim, uint32_t group, struct bytes in, uint32_t *ret_names, struct unit_set *owned)
{
    struct reader r = {in.ptr, in.len, false};
    int32_t version = read_number(&r, 2), topics = read_number(&r, 4);
    *ret_names = 0;
    for (int32_t i = 0; i < topics && !r.bad; i++)
        *ret_names |= 1u << topic_of(group, read_text(&r));
    int32_t user_data = read_number(&r, 4);
    r.bad = r.bad || user_data >= 0 || *ret_names >> PLAN_TOPICS != 0;
    if (version >= 1)
        read_partitions(&r, sim, group, owned);
    return !r.bad;
}

bool assignment_read(struct sim *sim, uint32_t group, struct bytes in, struct unit_set *ret)
{
    struct reader r = {in.ptr, in.len, false};
    if (in.len <= 0)
        return true; /* nothing */
    (void)read_number(&r, 2);
    read_partitions(&r, sim, group, ret);
    return !r.bad;
}
