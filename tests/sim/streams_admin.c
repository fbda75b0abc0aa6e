/* The topics of streams groups: somebody makes the sources, lets them grow, deletes them and the internal ones, and makes them again. And what is asked of the
 * groups. */
#include "streams.h"

static void drop_internals(struct sim *sim, uint32_t group)
{
    struct administrator *a = &sim->streams->admin;
    chore_add(a, CHORE_DELETE, streams_plans[group].changelog, 0, 0);
    if (streams_plans[group].repartition != NULL)
        chore_add(a, CHORE_DELETE, streams_plans[group].repartition, 0, 0);
}

void streams_repair(struct sim *sim, uint32_t group)
{
    int64_t *at = &sim->streams->repaired_at_us[group];
    if (sim->streams->admin.count > 0 || sim->now_us < *at + 1500000)
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
        chore_add(&s->admin, CHORE_DELETE, plan->repartition != NULL && sim_chance(sim, 500000) ? plan->repartition : plan->changelog, 0,
                  0);
        break;
    case 1:
        chore_add(&s->admin, CHORE_DELETE, source, 0, 0);
        chore_add(&s->admin, CHORE_CREATE, source, s->partitions[group], sim_between(sim, 10000, 1200000));
        break;
    case 2:
        if (s->partitions[group] + 1 >= TASKS_MAX)
            break;
        s->partitions[group]++;
        for (uint32_t i = 0; i < source_count(sim, group); i++)
            chore_add(&s->admin, CHORE_GROW, plan->sources[i], s->partitions[group], 0);
        drop_internals(sim, group);
        break;
    default:
        if (plan->sources[1] == NULL || s->second_source[group])
            break;
        s->second_source[group] = true;
        chore_add(&s->admin, CHORE_CREATE, plan->sources[1], s->partitions[group], 0);
        break;
    }
}

int32_t streams_task_count(const struct sim *sim, uint32_t group, uint32_t sub)
{
    return sub == 0 || streams_plans[group].repartition != NULL ? sim->streams->partitions[group] : 0;
}

/* ---- questions ---- */

static void fill_describe(struct sim_request *r)
{
    struct streams_group_describe_request *m = ARENA_NEW(&r->arena, struct streams_group_describe_request, 1);
    wire_init(&wire_streams_group_describe_request, m);
    r->request.op.request = m;
}

static int16_t describe_error(const void *answer)
{
    return ((const struct streams_group_describe_response_described_group *)answer)->error_code;
}

static void described(struct sim *sim, struct crowd *c, const void *answer, int64_t sent_us)
{
    sim->totals.streams_describes++;
    streams_check_group(sim, c, answer, sent_us, "a description");
}

static void fill_topology(struct sim_request *r)
{
    struct streams_group_topology_request *m = ARENA_NEW(&r->arena, struct streams_group_topology_request, 1);
    m->group_id = r->request.op.group_id;
    r->request.op.request = m;
}

static int16_t topology_error(const void *answer)
{
    return ((const struct streams_group_topology_response *)answer)->error_code;
}

static void topology_told(struct sim *sim, struct crowd *c, const void *answer, int64_t sent_us)
{
    sim->totals.streams_describes++;
    streams_check_topology(sim, c, answer, sent_us);
}

static struct crowd *choose(struct sim *sim, const struct question **ret)
{
    static const struct question describe = {GROUP_STREAMS_DESCRIBE, 89, 1, fill_describe, describe_error, described};
    static const struct question topology = {GROUP_STREAMS_TOPOLOGY, 20007, 0, fill_topology, topology_error, topology_told};
    struct crowd *c = &sim->streams->crowds[prng_below(&sim->random, SIM_STREAMS_GROUPS)];
    *ret = sim_chance(sim, 250000) ? &topology : &describe;
    return c;
}

void streams_admin_start(struct sim *sim)
{
    struct sim_streams *s = sim->streams;
    administrator_start(&s->admin, sim, disturb);
    for (uint32_t group = 0; group < SIM_STREAMS_GROUPS; group++) {
        s->partitions[group] = streams_plans[group].partitions;
        chore_add(&s->admin, CHORE_CREATE, streams_plans[group].sources[0], s->partitions[group], 0);
    }
    for (uint32_t i = 0; i < COUNT_OF(s->lookers); i++)
        looker_start(&s->lookers[i], sim, 1000000 + i * 7000, choose);
}
