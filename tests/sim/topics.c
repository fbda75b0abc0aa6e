/* The administrator of topics: what he has to do he does one after the other, each until somebody says that it is done. And which topic is which: a topic that
 * is made again is another one. */
#include "member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UNKNOWN_TOPIC = 3, TOPIC_EXISTS = 36, INVALID_PARTITIONS = 37, CHORE_PATIENCE_US = 1500000 };

/* ---- which is which ---- */

uint32_t topic_number(struct sim *sim, struct uuid id)
{
    uint32_t n = 0;
    while (n < sim->topics_seen && !uuid_eq(sim->topics[n].id, id))
        n++;
    if (n == sim->topics_seen) {
        MUSTER_CHECK(n < SIM_TOPICS_MAX);
        sim->topics[sim->topics_seen++] = (struct sim_topic){id, sim->now_us};
    }
    return n;
}

static const struct group_set *newest_catalog(const struct sim *sim)
{
    const struct group_set *newest = NULL;
    for (uint32_t id = 1; id <= sim->options.nodes; id++) {
        const struct sim_node *n = &sim->nodes[id];
        const struct group_set *set = n->alive ? coord_set(n->coord, 0) : NULL;
        if (set != NULL && (newest == NULL || group_set_catalog_index(set) > group_set_catalog_index(newest)))
            newest = set;
    }
    return newest;
}

uint64_t topics_as_of(const struct sim *sim)
{
    const struct group_set *catalog = newest_catalog(sim);
    return catalog != NULL ? group_set_catalog_index(catalog) : 0;
}

bool topic_newest(const struct sim *sim, const char *name, struct catalog_topic *ret)
{
    const struct group_set *catalog = newest_catalog(sim);
    return catalog != NULL && catalog_find_topic(catalog, str_of(name), ret);
}

bool topic_exists(const struct sim *sim, uint32_t number)
{
    const struct group_set *catalog = newest_catalog(sim);
    struct catalog_topic topic;
    return catalog != NULL && catalog_find_topic_id(catalog, topic_id(sim, number), &topic);
}

struct uuid topic_id(const struct sim *sim, uint32_t number)
{
    MUSTER_CHECK(number < sim->topics_seen);
    return sim->topics[number].id;
}

int64_t topic_seen_us(const struct sim *sim, uint32_t number)
{
    MUSTER_CHECK(number < sim->topics_seen);
    return sim->topics[number].seen_us;
}

/* ---- chores ---- */

static void admin_acts(struct sim *sim, void *arg, uint64_t serial);

void chore_add(struct administrator *a, enum chore_kind kind, const char *topic, int32_t partitions, int64_t delay_us)
{
    if (a->count == COUNT_OF(a->chores))
        return;
    struct chore *c = &a->chores[a->count++];
    *c = (struct chore){.kind = kind, .partitions = partitions, .not_before_us = a->sim->now_us + delay_us};
    snprintf(c->topic, sizeof(c->topic), "%s", topic);
}

static void admin_soon(struct administrator *a, int64_t delay_us)
{
    sim_at(a->sim, a->sim->now_us + delay_us, admin_acts, a, ++a->serial);
}

static void chore_done(struct administrator *a)
{
    memmove(&a->chores[0], &a->chores[1], (--a->count) * sizeof(a->chores[0]));
}

static int16_t error_of(enum chore_kind kind, const void *answer)
{
    switch (kind) {
    case CHORE_CREATE:
        return ((const struct create_topics_response *)answer)->topics.v[0].error_code;
    case CHORE_DELETE:
        return ((const struct delete_topics_response *)answer)->responses.v[0].error_code;
    case CHORE_GROW:
        break;
    }
    return ((const struct create_partitions_response *)answer)->results.v[0].error_code;
}

static void chore_answered(struct sim_request *r)
{
    struct administrator *a = r->owner;
    struct sim *sim = r->sim;
    if (a->serial != r->serial || a->count == 0)
        return;
    const struct chore *c = &a->chores[0];
    int16_t error = error_of(c->kind, r->answer);
    if (request_elsewhere(error)) {
        a->node = members_any(sim);
        admin_soon(a, sim_between(sim, 2000, 30000));
        return;
    }
    if (error != 0 && error != UNKNOWN_TOPIC && error != TOPIC_EXISTS && error != INVALID_PARTITIONS)
        sim_fail(sim, "topic %s: chore %d is answered with error %d", c->topic, (int)c->kind, error);
    sim_say(sim, "admin: topic %s chore %d error %d", c->topic, (int)c->kind, error);
    chore_done(a);
    admin_soon(a, sim_between(sim, 500, 20000));
}

static struct sim_request *create_request(struct administrator *a, const struct chore *c)
{
    struct sim_request *r = request_new(a->sim, a, chore_answered, CATALOG_CREATE_TOPICS, 19, 7);
    struct create_topics_request *m = ARENA_NEW(&r->arena, struct create_topics_request, 1);
    wire_init(&wire_create_topics_request, m);
    m->topics.v = ARENA_NEW(&r->arena, struct create_topics_request_creatable_topic, 1);
    m->topics.len = 1;
    m->topics.v[0] = (struct create_topics_request_creatable_topic){.name = arena_str(&r->arena, str_of(c->topic)),
                                                                    .num_partitions = c->partitions,
                                                                    .replication_factor = 1};
    r->request.op.request = m;
    return r;
}

static struct sim_request *delete_request(struct administrator *a, const struct chore *c)
{
    struct sim_request *r = request_new(a->sim, a, chore_answered, CATALOG_DELETE_TOPICS, 20, 6);
    struct delete_topics_request *m = ARENA_NEW(&r->arena, struct delete_topics_request, 1);
    wire_init(&wire_delete_topics_request, m);
    m->topics.v = ARENA_NEW(&r->arena, struct delete_topics_request_delete_topic_state, 1);
    m->topics.len = 1;
    m->topics.v[0].name = arena_str(&r->arena, str_of(c->topic));
    r->request.op.request = m;
    return r;
}

static struct sim_request *grow_request(struct administrator *a, const struct chore *c)
{
    struct sim_request *r = request_new(a->sim, a, chore_answered, CATALOG_CREATE_PARTITIONS, 37, 3);
    struct create_partitions_request *m = ARENA_NEW(&r->arena, struct create_partitions_request, 1);
    wire_init(&wire_create_partitions_request, m);
    m->topics.v = ARENA_NEW(&r->arena, struct create_partitions_request_topic, 1);
    m->topics.len = 1;
    m->topics.v[0].name = arena_str(&r->arena, str_of(c->topic));
    m->topics.v[0].count = c->partitions;
    m->topics.v[0].assignments.len = -1;
    r->request.op.request = m;
    return r;
}

static void chore_given_up(struct sim *sim, void *arg, uint64_t serial)
{
    struct administrator *a = arg;
    if (a->serial != serial)
        return;
    a->node = members_any(sim);
    admin_soon(a, 1000);
}

static void do_chore(struct administrator *a, const struct chore *c)
{
    struct sim_request *r = c->kind == CHORE_CREATE   ? create_request(a, c)
                            : c->kind == CHORE_DELETE ? delete_request(a, c)
                                                      : grow_request(a, c);
    r->request.op.caller = (struct group_caller){STR("admin"), STR("/sim")};
    r->serial = ++a->serial;
    request_send(r, a->node);
    sim_at(a->sim, a->sim->now_us + CHORE_PATIENCE_US, chore_given_up, a, r->serial);
}

static void admin_acts(struct sim *sim, void *arg, uint64_t serial)
{
    struct administrator *a = arg;
    if (a->serial != serial || sim->failed)
        return;
    if (a->count == 0 && !sim->healing && sim_chance(sim, 60000)) {
        a->disturb(sim);
        sim->totals.topics_changed++;
    }
    if (a->count > 0 && a->chores[0].not_before_us <= sim->now_us)
        do_chore(a, &a->chores[0]);
    else
        admin_soon(a, 50000);
}

void administrator_start(struct administrator *a, struct sim *sim, void (*disturb)(struct sim *sim))
{
    a->sim = sim;
    a->node = 1;
    a->disturb = disturb;
    admin_soon(a, 600000);
}
