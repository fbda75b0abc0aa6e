/* Consumers commit what they have, mostly with their epoch, sometimes with another one, and read it back. KIP-848: any epoch from that with which the partition
 * was given up to the member's own is fine for what it has, and only the latter for what it has not. */
#include "consumer.h"

enum {
    NONE = 0,
    ILLEGAL_GENERATION = 22,
    UNKNOWN_MEMBER_ID = 25,
    REBALANCE_IN_PROGRESS = 27,
    GROUP_ID_NOT_FOUND = 69,
    FENCED_INSTANCE_ID = 82,
    STALE_MEMBER_EPOCH = 113
};

/* ---- asking ---- */

static uint32_t register_of(const struct consumer *c)
{
    return SIM_GROUPS_MAX + c->member.crowd->number;
}

/* One of its partitions of the topic that stays, of those that are kept book of. */
static bool pick_unit(const struct consumer *c, uint32_t *ret)
{
    const struct unit_set *has = &c->member.has.role[ACTIVE];
    struct sim *sim = c->member.sim;
    struct catalog_topic kept;
    char name[SIM_ID_MAX];
    if (has->len == 0 || !topic_newest(sim, consumer_topic(c->member.crowd->number, 0, name), &kept))
        return false;
    uint32_t number = topic_number(sim, kept.id);
    int32_t start = (int32_t)prng_below(&sim->random, SIM_PARTITIONS);
    for (int32_t i = 0; i < SIM_PARTITIONS; i++) {
        *ret = unit_of(number, (start + i) % SIM_PARTITIONS);
        if (set_has(has, *ret))
            return true;
    }
    return false;
}

static int32_t given_epoch(const struct consumer *c, uint32_t unit)
{
    for (size_t i = 0; i < c->given_count; i++) {
        if (c->given[i].unit == unit)
            return c->given[i].epoch;
    }
    return 0;
}

static int32_t epoch_to_ask(const struct consumer *c, uint32_t unit)
{
    struct sim *sim = c->member.sim;
    int32_t epoch = c->member.epoch, given = given_epoch(c, unit);
    switch (prng_below(&sim->random, 12)) {
    case 0:
        return epoch + (c->classic ? 1000 : 1); /* one that never was */
    case 1:
        return epoch > 1 && !c->classic ? epoch - 1 : epoch;
    case 2:
        return given > 1 && !c->classic ? given - 1 : epoch;
    case 3:
        return given > 0 && !c->classic ? given : epoch;
    default:
        return epoch;
    }
}

static struct sim_request *commit_request(struct consumer *c, uint32_t unit, int32_t epoch, int64_t *ret_value)
{
    struct member *m = &c->member;
    struct sim_request *r = member_request(m, GROUP_OFFSET_COMMIT, 8, 9);
    struct offset_commit_request *q = ARENA_NEW(&r->arena, struct offset_commit_request, 1);
    int32_t partition = unit_partition(unit);
    char name[SIM_ID_MAX];
    wire_init(&wire_offset_commit_request, q);
    r->request.op.request = q;
    *ret_value = (int64_t)check_write_begin(m->sim, register_of(c), partition, m->node);
    q->group_id = r->request.op.group_id;
    q->generation_id_or_member_epoch = epoch;
    q->member_id = member_text(r, m->member_id);
    q->group_instance_id = member_instance(m, r);
    q->topics.v = ARENA_NEW(&r->arena, struct offset_commit_request_topic, 1);
    q->topics.len = 1;
    q->topics.v[0].name = member_text(r, consumer_topic(m->crowd->number, 0, name));
    q->topics.v[0].partitions.v = ARENA_NEW(&r->arena, struct offset_commit_request_partition, 1);
    q->topics.v[0].partitions.len = 1;
    q->topics.v[0].partitions.v[0] = (struct offset_commit_request_partition){partition, *ret_value, -1, STR("")};
    return r;
}

static void send_commit(struct consumer *c, uint32_t unit)
{
    struct member *m = &c->member;
    c->partition = unit_partition(unit);
    c->asked_unit = unit;
    c->asked_epoch = epoch_to_ask(c, unit);
    m->sim->totals.consumer_commits++;
    member_send_aside(m, commit_request(c, unit, c->asked_epoch, &c->value));
}

/* A commit of what it has with the epoch that it knows is fine, whatever becomes of the heartbeat before it. */
static void beside_heard(struct sim_request *r)
{
    struct consumer *c = consumer_of(r->owner);
    struct member *m = &c->member;
    const struct offset_commit_response *a = r->answer;
    const struct offset_commit_request *asked = r->request.op.request;
    const struct offset_commit_request_partition *p = &asked->topics.v[0].partitions.v[0];
    int16_t error = a->topics.v[0].partitions.v[0].error_code;
    if (error == NONE) {
        m->sim->totals.commits_acked++;
        check_write_acked(m->sim, register_of(c), p->partition_index, p->committed_offset);
    } else if (error == STALE_MEMBER_EPOCH && c->sure_beside == r->serial) {
        sim_fail(m->sim, "%s (%s) in epoch %d: a commit of partition %d behind a heartbeat, with epoch %d, is answered with error %d",
                 m->name, m->member_id, m->epoch, p->partition_index, asked->generation_id_or_member_epoch, error);
    }
}

void consumer_commits_beside(struct member *m)
{
    struct consumer *c = consumer_of(m);
    uint32_t unit;
    int64_t value;
    if (m->life != LIFE_MEMBER || m->stray != STRAY_NONE || m->aside || !pick_unit(c, &unit))
        return;
    struct sim_request *r = commit_request(c, unit, m->epoch, &value);
    m->sim->totals.consumer_beside++;
    member_send_beside(m, r, beside_heard);
    c->sure_beside = m->sure && member_believes(m) && given_epoch(c, unit) > 0 ? r->serial : 0;
}

static void send_fetch(struct consumer *c, uint32_t unit)
{
    struct member *m = &c->member;
    struct sim_request *r = member_request(m, GROUP_OFFSET_FETCH, 9, 9);
    struct offset_fetch_request_group *q = ARENA_NEW(&r->arena, struct offset_fetch_request_group, 1);
    char name[SIM_ID_MAX];
    r->request.op.request = q;
    c->partition = unit_partition(unit);
    c->asked_epoch = sim_chance(m->sim, 100000) ? m->epoch + 1 : m->epoch;
    q->group_id = r->request.op.group_id;
    q->member_id = c->classic ? STR_NULL : member_text(r, m->member_id);
    q->member_epoch = c->classic ? -1 : c->asked_epoch;
    q->topics.v = ARENA_NEW(&r->arena, struct offset_fetch_request_topics, 1);
    q->topics.len = 1;
    q->topics.v[0].name = member_text(r, consumer_topic(m->crowd->number, 0, name));
    q->topics.v[0].partition_indexes.v = ARENA_NEW(&r->arena, int32_t, 1);
    q->topics.v[0].partition_indexes.v[0] = c->partition;
    q->topics.v[0].partition_indexes.len = 1;
    m->sim->totals.consumer_fetches++;
    member_send_aside(m, r);
}

bool consumer_asks_offsets(struct consumer *c)
{
    uint32_t unit;
    struct sim *sim = c->member.sim;
    if (!sim_chance(sim, 300000) || !pick_unit(c, &unit))
        return false;
    if (sim_chance(sim, 700000))
        send_commit(c, unit);
    else
        send_fetch(c, unit);
    return true;
}

/* ---- what it hears ---- */

/* What is right: NONE, STALE_MEMBER_EPOCH; -1: either. */
static int expected_of(const struct consumer *c)
{
    const struct member *m = &c->member;
    int32_t given = given_epoch(c, c->asked_unit);
    if (!m->sure || !member_believes(m))
        return -1;
    if (c->asked_epoch == m->epoch)
        return NONE;
    if (c->asked_epoch < m->epoch && given == 0)
        return -1;
    return c->asked_epoch < m->epoch && c->asked_epoch >= given ? NONE : STALE_MEMBER_EPOCH;
}

static void hear_modern(struct consumer *c, int16_t error, const char *what)
{
    struct member *m = &c->member;
    int expected = expected_of(c);
    if (error == UNKNOWN_MEMBER_ID || error == GROUP_ID_NOT_FOUND) {
        member_refused(m, error, STR_NULL);
        return;
    }
    m->sim->totals.consumer_stale += error == STALE_MEMBER_EPOCH;
    bool other_type = m->crowd->restarts && !member_believes(m) && error == ILLEGAL_GENERATION;
    if ((expected >= 0 && error != expected) || (error != NONE && error != STALE_MEMBER_EPOCH && !other_type))
        sim_fail(m->sim, "%s (%s) in epoch %d: a %s of partition %d, given with epoch %d, with epoch %d is answered with error %d", m->name,
                 m->member_id, m->epoch, what, c->partition, given_epoch(c, c->asked_unit), c->asked_epoch, error);
}

static void hear_classic(struct consumer *c, int16_t error, const char *what)
{
    struct member *m = &c->member;
    bool other = c->asked_epoch != m->epoch;
    if (error == UNKNOWN_MEMBER_ID || error == FENCED_INSTANCE_ID || error == GROUP_ID_NOT_FOUND)
        member_refused(m, error, STR_NULL);
    else if (error != ILLEGAL_GENERATION && error != REBALANCE_IN_PROGRESS && (error != NONE || other))
        sim_fail(m->sim, "%s (%s) in generation %d: a %s with generation %d is answered with error %d", m->name, m->member_id, m->epoch,
                 what, c->asked_epoch, error);
}

static void heard(struct consumer *c, int16_t error, const char *what)
{
    if (c->classic)
        hear_classic(c, error, what);
    else
        hear_modern(c, error, what);
}

static void commit_heard(struct consumer *c, const struct offset_commit_response *a)
{
    int16_t error = a->topics.v[0].partitions.v[0].error_code;
    if (error == NONE) {
        c->member.sim->totals.commits_acked++;
        check_write_acked(c->member.sim, register_of(c), c->partition, c->value);
    }
    heard(c, error, "commit");
}

static void fetch_heard(struct consumer *c, const struct offset_fetch_response_group *a)
{
    struct member *m = &c->member;
    if (a->error_code == NONE)
        check_read(m->sim, register_of(c), c->partition, a->topics.v[0].partitions.v[0].committed_offset, m->sent_us, m->node, "fetch");
    if (c->classic && a->error_code == NONE)
        return;
    c->asked_unit = unit_of(0, UNIT_PARTITIONS - 1); /* its own epoch and nothing else */
    heard(c, a->error_code, "fetch");
}

bool consumer_hears_offsets(struct consumer *c, struct sim_request *r)
{
    const struct offset_commit_response *commit = r->answer;
    const struct offset_fetch_response_group *fetch = r->answer;
    if (!c->member.aside)
        return false;
    bool commits = r->request.op.kind == GROUP_OFFSET_COMMIT;
    int16_t error = commits ? commit->topics.v[0].partitions.v[0].error_code : fetch->error_code;
    if (request_elsewhere(error))
        member_elsewhere(&c->member);
    else if (commits)
        commit_heard(c, commit);
    else
        fetch_heard(c, fetch);
    return true;
}
