/* The topics of consumer groups: somebody makes them, lets them grow, deletes them and makes them again. And what is asked of the groups. */
#include "consumer.h"

enum { GROUP_ID_NOT_FOUND = 69, GROWS_BY = 8 };

static void chore(struct sim *sim, enum chore_kind kind, uint32_t group, uint32_t topic, int64_t delay_us)
{
    char name[SIM_ID_MAX];
    chore_add(&sim->consumers->admin, kind, consumer_topic(group, topic, name), sim->consumers->partitions[group][topic], delay_us);
}

static void grow(struct sim *sim, uint32_t group, uint32_t topic)
{
    int32_t *partitions = &sim->consumers->partitions[group][topic];
    if (*partitions >= consumer_plans[group].partitions[topic] + GROWS_BY)
        return;
    ++*partitions;
    chore(sim, CHORE_GROW, group, topic, 0);
}

static void remove_topic(struct sim *sim, uint32_t group, uint32_t topic)
{
    int32_t *partitions = &sim->consumers->partitions[group][topic];
    chore(sim, CHORE_DELETE, group, topic, 0);
    if (consumer_plans[group].mixed) {
        *partitions = -1;
    } else if (sim_chance(sim, 700000)) {
        *partitions = consumer_plans[group].partitions[topic];
        chore(sim, CHORE_CREATE, group, topic, sim_between(sim, 10000, 1200000));
    } else {
        *partitions = 0;
    }
}

static void disturb(struct sim *sim)
{
    struct sim_consumers *s = sim->consumers;
    uint32_t group = (uint32_t)prng_below(&sim->random, SIM_CONSUMER_GROUPS);
    uint32_t topic = (uint32_t)prng_below(&sim->random, PLAN_TOPICS);
    int32_t *partitions = &s->partitions[group][topic];
    s->fashion[group] = consumer_plans[group].mixed ? (uint32_t)prng_below(&sim->random, 3) * 450000 + 50000 : 0;
    if (*partitions == 0) {
        *partitions = consumer_plans[group].partitions[topic];
        chore(sim, CHORE_CREATE, group, topic, 0);
    } else if (*partitions > 0 && topic != 0 && sim_chance(sim, 600000)) {
        remove_topic(sim, group, topic);
    } else if (*partitions > 0) {
        grow(sim, group, topic);
    }
}

/* ---- questions ---- */

static void fill_nothing(struct sim_request *r)
{
    (void)r;
}

static int16_t describe_error(const void *answer)
{
    return ((const struct consumer_group_describe_response_described_group *)answer)->error_code;
}

static void described(struct sim *sim, struct crowd *c, const void *answer, int64_t sent_us)
{
    sim->totals.consumer_describes++;
    consumer_check_group(sim, c, answer, sent_us, "a description");
}

static int16_t classic_error(const void *answer)
{
    return ((const struct describe_groups_response_described_group *)answer)->error_code;
}

static void classic_described(struct sim *sim, struct crowd *c, const void *answer, int64_t sent_us)
{
    sim->totals.consumer_describes++;
    consumer_check_classic(sim, c, answer, sent_us, "a description");
}

static struct crowd *choose(struct sim *sim, const struct question **ret)
{
    static const struct question describe = {GROUP_CONSUMER_DESCRIBE, 69, 1, fill_nothing, describe_error, described};
    static const struct question classic = {GROUP_DESCRIBE, 15, 6, fill_nothing, classic_error, classic_described};
    struct crowd *c = &sim->consumers->crowds[prng_below(&sim->random, SIM_CONSUMER_GROUPS)];
    *ret = consumer_plans[c->number].mixed && sim_chance(sim, 500000) ? &classic : &describe;
    return c;
}

void consumer_admin_start(struct sim *sim)
{
    struct sim_consumers *s = sim->consumers;
    administrator_start(&s->admin, sim, disturb);
    for (uint32_t group = 0; group < SIM_CONSUMER_GROUPS; group++) {
        for (uint32_t topic = 0; topic < PLAN_TOPICS - 1; topic++) {
            s->partitions[group][topic] = consumer_plans[group].partitions[topic];
            chore(sim, CHORE_CREATE, group, topic, 0);
        }
    }
    for (uint32_t i = 0; i < COUNT_OF(s->lookers); i++)
        looker_start(&s->lookers[i], sim, 1000000 + i * 9000, choose);
}
