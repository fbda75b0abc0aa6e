/* The topics of streams groups: somebody makes the sources, lets them grow, deletes them and the internal ones, and makes them again. And those who look at the
 * groups: any node is asked, over and over. */
#include "streams.h"

#include <stdio.h>
#include <string.h>

enum { UNKNOWN_TOPIC = 3, TOPIC_EXISTS = 36, INVALID_PARTITIONS = 37, CHORE_PATIENCE_US = 1500000, LOOK_PATIENCE_US = 150000 };

static void admin_acts(struct sim *sim, void *arg, uint64_t tag);
static void look_again(struct sim *sim, void *arg, uint64_t tag);

/* ---- chores ---- */

static void add_chore(struct sim *sim, enum chore_kind kind, const char *topic, int32_t partitions, int64_t delay_us)
{
    struct sim_streams *s = sim->streams;
    if (s->chore_count == COUNT_OF(s->chores))
        return;
    struct chore *c = &s->chores[s->chore_count++];
    *c = (struct chore){.kind = kind, .partitions = partitions, .not_before_us = sim->now_us + delay_us};
    snprintf(c->topic, sizeof(c->topic), "%s", topic);
}

void streams_delete_topic(struct sim *sim, const char *topic)
{
    add_chore(sim, CHORE_DELETE, topic, 0, 0);
}

static void drop_internals(struct sim *sim, uint32_t group)
{
    add_chore(sim, CHORE_DELETE, streams_plans[group].changelog, 0, 0);
    if (streams_plans[group].repartition != NULL)
        add_chore(sim, CHORE_DELETE, streams_plans[group].repartition, 0, 0);
}

void streams_repair(struct sim *sim, uint32_t group)
{
    int64_t *at = &sim->streams->repaired_at_us[group];
    if (sim->streams->chore_count > 0 || sim->now_us < *at + 1500000)
        return;
    *at = sim->now_us;
    drop_internals(sim, group);
}

static uint32_t source_count(const struct sim *sim, uint32_t group)
{
    return sim->streams->second_source[group] ? 2 : 1;
}

static void disturb(struct sim *sim)
{
    struct sim_streams *s = sim->streams;
    uint32_t group = (uint32_t)prng_below(&sim->random, SIM_STREAMS_GROUPS);
    const struct plan *plan = &streams_plans[group];
    const char *source = plan->sources[prng_below(&sim->random, source_count(sim, group))];
    switch (prng_below(&sim->random, 4)) {
    case 0:
        add_chore(sim, CHORE_DELETE, plan->repartition != NULL && sim_chance(sim, 500000) ? plan->repartition : plan->changelog, 0, 0);
        break;
    case 1:
        add_chore(sim, CHORE_DELETE, source, 0, 0);
        add_chore(sim, CHORE_CREATE, source, s->partitions[group], sim_between(sim, 10000, 1200000));
        break;
    case 2:
        if (s->partitions[group] + 1 >= TASKS_MAX)
            break;
        s->partitions[group]++;
        for (uint32_t i = 0; i < source_count(sim, group); i++)
            add_chore(sim, CHORE_GROW, plan->sources[i], s->partitions[group], 0);
        drop_internals(sim, group);
        break;
    default:
        if (plan->sources[1] == NULL || s->second_source[group])
            break;
        s->second_source[group] = true;
        add_chore(sim, CHORE_CREATE, plan->sources[1], s->partitions[group], 0);
        break;
    }
    sim->totals.topics_changed++;
}

bool streams_admin_idle(struct sim *sim)
{
    return sim->streams->chore_count == 0;
}

int32_t streams_task_count(const struct sim *sim, uint32_t group, uint32_t sub)
{
    return sub == 0 || streams_plans[group].repartition != NULL ? sim->streams->partitions[group] : 0;
}

/* ---- one after the other, each until somebody says that it is done ---- */

static void admin_soon(struct sim *sim, int64_t delay_us)
{
    sim_at(sim, sim->now_us + delay_us, admin_acts, NULL, ++sim->streams->chore_serial);
}

static void chore_done(struct sim *sim)
{
    struct sim_streams *s = sim->streams;
    memmove(&s->chores[0], &s->chores[1], (--s->chore_count) * sizeof(s->chores[0]));
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
    struct sim *sim = r->sim;
    struct sim_streams *s = sim->streams;
    if (s->chore_serial != r->serial || s->chore_count == 0)
        return;
    int16_t error = error_of(s->chores[0].kind, r->answer);
    if (request_elsewhere(error)) {
        s->admin_node = 1 + (uint32_t)prng_below(&sim->random, sim->options.nodes);
        admin_soon(sim, sim_between(sim, 2000, 30000));
        return;
    }
    if (error != 0 && error != UNKNOWN_TOPIC && error != TOPIC_EXISTS && error != INVALID_PARTITIONS)
        sim_fail(sim, "topic %s: chore %d is answered with error %d", s->chores[0].topic, (int)s->chores[0].kind, error);
    sim_say(sim, "admin: topic %s chore %d error %d", s->chores[0].topic, (int)s->chores[0].kind, error);
    chore_done(sim);
    admin_soon(sim, sim_between(sim, 500, 20000));
}

static struct sim_request *create_request(struct sim *sim, const struct chore *c)
{
    struct sim_request *r = request_new(sim, NULL, chore_answered, CATALOG_CREATE_TOPICS, 19, 7);
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

static struct sim_request *delete_request(struct sim *sim, const struct chore *c)
{
    struct sim_request *r = request_new(sim, NULL, chore_answered, CATALOG_DELETE_TOPICS, 20, 6);
    struct delete_topics_request *m = ARENA_NEW(&r->arena, struct delete_topics_request, 1);
    wire_init(&wire_delete_topics_request, m);
    m->topics.v = ARENA_NEW(&r->arena, struct delete_topics_request_delete_topic_state, 1);
    m->topics.len = 1;
    m->topics.v[0].name = arena_str(&r->arena, str_of(c->topic));
    r->request.op.request = m;
    return r;
}

static struct sim_request *grow_request(struct sim *sim, const struct chore *c)
{
    struct sim_request *r = request_new(sim, NULL, chore_answered, CATALOG_CREATE_PARTITIONS, 37, 3);
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
    (void)arg;
    if (sim->streams->chore_serial != serial)
        return;
    sim->streams->admin_node = 1 + (uint32_t)prng_below(&sim->random, sim->options.nodes);
    admin_soon(sim, 1000);
}

static void do_chore(struct sim *sim, const struct chore *c)
{
    struct sim_streams *s = sim->streams;
    struct sim_request *r = c->kind == CHORE_CREATE   ? create_request(sim, c)
                            : c->kind == CHORE_DELETE ? delete_request(sim, c)
                                                      : grow_request(sim, c);
    r->request.op.caller = (struct group_caller){STR("admin"), STR("/sim")};
    r->serial = ++s->chore_serial;
    request_send(r, s->admin_node);
    sim_at(sim, sim->now_us + CHORE_PATIENCE_US, chore_given_up, NULL, r->serial);
}

static void admin_acts(struct sim *sim, void *arg, uint64_t serial)
{
    struct sim_streams *s = sim->streams;
    (void)arg;
    if (s->chore_serial != serial || sim->failed)
        return;
    if (s->chore_count == 0 && !sim->healing && sim_chance(sim, 60000))
        disturb(sim);
    if (s->chore_count > 0 && s->chores[0].not_before_us <= sim->now_us)
        do_chore(sim, &s->chores[0]);
    else
        admin_soon(sim, 50000);
}

/* ---- those who look ---- */

static void look_at(struct looker *l, int64_t delay_us)
{
    sim_at(l->sim, l->sim->now_us + delay_us, look_again, l, ++l->serial);
}

static void look_answered(struct sim_request *r)
{
    struct sim *sim = r->sim;
    struct looker *l = r->owner;
    if (l->serial != r->serial)
        return;
    int16_t error = l->topology ? ((const struct streams_group_topology_response *)r->answer)->error_code
                                : ((const struct streams_group_describe_response_described_group *)r->answer)->error_code;
    if (!request_elsewhere(error)) {
        sim->totals.streams_describes++;
        if (l->topology)
            streams_check_topology(sim, l->group, r->answer, l->sent_us);
        else
            streams_check_group(sim, l->group, r->answer, l->sent_us, "a description");
    }
    if (!sim->failed)
        look_at(l, sim_between(sim, 3000, 40000));
}

static void look_given_up(struct sim *sim, void *arg, uint64_t serial)
{
    struct looker *l = arg;
    (void)sim;
    if (l->serial == serial)
        look_at(l, 1000);
}

static void look_again(struct sim *sim, void *arg, uint64_t serial)
{
    struct looker *l = arg;
    char id[SIM_ID_MAX];
    if (l->serial != serial || sim->failed)
        return;
    l->group = (uint32_t)prng_below(&sim->random, SIM_STREAMS_GROUPS);
    l->topology = sim_chance(sim, 250000);
    streams_group_id(l->group, id);
    struct sim_request *r = request_new(sim, l, look_answered, l->topology ? GROUP_STREAMS_TOPOLOGY : GROUP_STREAMS_DESCRIBE,
                                        l->topology ? 20007 : 89, l->topology ? 0 : 1);
    r->request.op.group_id = arena_str(&r->arena, str_of(id));
    if (l->topology) {
        struct streams_group_topology_request *m = ARENA_NEW(&r->arena, struct streams_group_topology_request, 1);
        m->group_id = r->request.op.group_id;
        r->request.op.request = m;
    } else {
        struct streams_group_describe_request *m = ARENA_NEW(&r->arena, struct streams_group_describe_request, 1);
        wire_init(&wire_streams_group_describe_request, m);
        r->request.op.request = m;
    }
    r->request.op.caller = (struct group_caller){STR("looker"), STR("/sim")};
    l->sent_us = sim->now_us;
    r->serial = ++l->serial;
    request_send(r, 1 + (uint32_t)prng_below(&sim->random, sim->options.nodes));
    sim_at(sim, sim->now_us + LOOK_PATIENCE_US, look_given_up, l, r->serial);
}

void streams_admin_start(struct sim *sim)
{
    struct sim_streams *s = sim->streams;
    s->admin_node = 1;
    for (uint32_t group = 0; group < SIM_STREAMS_GROUPS; group++) {
        s->partitions[group] = streams_plans[group].partitions;
        add_chore(sim, CHORE_CREATE, streams_plans[group].sources[0], s->partitions[group], 0);
    }
    admin_soon(sim, 600000);
    for (uint32_t i = 0; i < COUNT_OF(s->lookers); i++) {
        s->lookers[i].sim = sim;
        s->lookers[i].number = i;
        look_at(&s->lookers[i], 1000000 + i * 7000);
    }
}
