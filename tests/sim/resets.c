/* An administrator who resets offsets of classic groups under running members, with AlterGroupOffsets and Fence. A reset is a write like any other, and what it says was there
 * before a read; its members are thrown out by it and by nothing else, and what they commit behind it is refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <muster/messages.h>

#include "world.h"

enum { PATIENCE_US = 150000, NONE = 0, UNKNOWN_TOPIC = 3 };

struct sim_resets {
    struct sim *sim;
    uint64_t serial;
    uint32_t group, node;
    int32_t partition;
    int64_t value, sent_us;
    struct reset_group {
        int64_t fenced_us;         /* some node last decided that members go */
        int64_t sent_us, acked_us; /* of the newest reset that was acknowledged; acked 0: there is none */
    } groups[SIM_GROUPS_MAX];
};

static void again(struct sim *sim, void *arg, uint64_t serial);

static void again_at(struct sim_resets *a, int64_t delay_us)
{
    sim_at(a->sim, a->sim->now_us + delay_us, again, a, ++a->serial);
}

static void rest(struct sim_resets *a)
{
    again_at(a, sim_between(a->sim, 300000, 3000000));
}

static void acknowledged(struct sim_resets *a, const struct alter_group_offsets_response *answer)
{
    struct sim *sim = a->sim;
    const struct alter_group_offsets_response_partition *p = &answer->topics.v[0].partitions.v[0];
    struct reset_group *g = &a->groups[a->group];
    check_read(sim, a->group, a->partition, p->before, a->sent_us, a->node, "reset");
    check_write_acked(sim, a->group, a->partition, a->value);
    if (p->after != a->value)
        sim_fail(sim, "reset of group %u partition %d to %lld says that it is %lld", a->group, a->partition, (long long)a->value,
                 (long long)p->after);
    g->sent_us = a->sent_us;
    g->acked_us = sim->now_us;
    sim->totals.resets++;
    sim->totals.reset_members += (uint64_t)answer->fenced;
    sim_say(sim, "reset group=%u partition=%d value=%lld before=%lld fenced=%d", a->group, a->partition, (long long)a->value,
            (long long)p->before, answer->fenced);
}

static void answered(struct sim_request *r)
{
    struct sim_resets *a = r->owner;
    const struct alter_group_offsets_response *answer = r->answer;
    if (a->serial != r->serial)
        return;
    if (answer->error_code == NONE)
        acknowledged(a, answer);
    else if (!request_elsewhere(answer->error_code) && answer->error_code != UNKNOWN_TOPIC)
        sim_fail(a->sim, "a reset of group %u is answered with error %d", a->group, answer->error_code);
    if (request_elsewhere(answer->error_code))
        again_at(a, sim_between(a->sim, 1000, 20000));
    else
        rest(a);
}

/* Perhaps it was done, perhaps not. */
static void given_up(struct sim *sim, void *arg, uint64_t serial)
{
    struct sim_resets *a = arg;
    (void)sim;
    if (a->serial == serial)
        rest(a);
}

static void again(struct sim *sim, void *arg, uint64_t serial)
{
    struct sim_resets *a = arg;
    if (a->serial != serial || sim->healing || sim->failed)
        return;
    a->group = (uint32_t)prng_below(&sim->random, sim->options.groups + 3); /* those of committers, too */
    a->partition = (int32_t)prng_below(&sim->random, SIM_PARTITIONS);
    a->node = members_any(sim);
    a->sent_us = sim->now_us;
    a->value = (int64_t)check_write_begin(sim, a->group, a->partition, a->node);
    struct sim_request *r = request_new(sim, a, answered, GROUP_ALTER_OFFSETS, 20020, 0);
    struct alter_group_offsets_request *q = ARENA_NEW(&r->arena, struct alter_group_offsets_request, 1);
    wire_init(&wire_alter_group_offsets_request, q);
    q->group_id = arena_printf(&r->arena, "group-%u", a->group);
    q->create = 1;
    q->fence = true;
    q->topics.v = ARENA_NEW(&r->arena, struct alter_group_offsets_request_topic, 1);
    q->topics.len = 1;
    q->topics.v[0].name = STR(SIM_TOPIC);
    q->topics.v[0].partitions.v = ARENA_NEW(&r->arena, struct alter_group_offsets_request_partition, 1);
    q->topics.v[0].partitions.len = 1;
    q->topics.v[0].partitions.v[0] = (struct alter_group_offsets_request_partition){
        .partition_index = a->partition, .offset = a->value, .most = INT64_MAX, .leader_epoch = -1, .metadata = STR_NULL};
    r->request.op.group_id = q->group_id;
    r->request.op.caller = (struct group_caller){STR("admin"), STR("/sim")};
    r->request.op.request = q;
    r->serial = ++a->serial;
    request_send(r, a->node);
    sim_at(sim, sim->now_us + PATIENCE_US, given_up, a, r->serial);
}

void resets_start(struct sim *sim)
{
    sim->resets = calloc(1, sizeof(*sim->resets));
    MUSTER_CHECK(sim->resets != NULL);
    sim->resets->sim = sim;
    rest(sim->resets);
}

void resets_fini(struct sim *sim)
{
    free(sim->resets);
}

void resets_decided(struct sim_node *n, const struct group_op *op, const struct group_out *out)
{
    if (op->kind != GROUP_ALTER_OFFSETS || out->records.len == 0)
        return;
    for (uint32_t i = 0; i < SIM_GROUPS_MAX; i++) {
        char id[SIM_ID_MAX];
        snprintf(id, sizeof(id), "group-%u", i);
        if (str_eq(str_of(id), op->group_id))
            n->sim->resets->groups[i].fenced_us = n->sim->now_us;
    }
}

bool resets_fenced_since(const struct sim *sim, uint32_t group, int64_t us)
{
    return sim->resets->groups[group].fenced_us >= us;
}

/* joined_us: when the member that commits was last told that it is one. */
void resets_check_commit(struct sim *sim, uint32_t group, int64_t joined_us, int64_t sent_us, const char *member)
{
    const struct reset_group *g = &sim->resets->groups[group];
    if (g->acked_us != 0 && joined_us < g->sent_us && sent_us > g->acked_us)
        sim_fail(sim, "group %u: a commit of %s, which a reset has fenced, is fine", group, member);
}
