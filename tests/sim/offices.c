/* Who leads which shard, as nodes are told, and that what they record of it for the history of groups is that and nothing else: each office that is recorded was one, the one
 * before it had led, and whoever leads in the end has said so. The states' hashes say that all nodes have the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

enum { LEVEL = 3 }; /* from which on they are recorded */

struct sim_office {
    uint64_t term;
    uint32_t node;
    bool served, handed_over; /* it was to */
    bool decided, told;
    int64_t since_us;
};

static struct sim_office *find(const struct sim *sim, uint32_t shard, uint64_t term)
{
    for (size_t i = sim->office_count[shard]; i > 0; i--) {
        if (sim->offices[shard][i - 1].term == term)
            return &sim->offices[shard][i - 1];
    }
    return NULL;
}

static struct sim_office *add(struct sim *sim, uint32_t shard, uint64_t term, uint32_t node)
{
    if (sim->office_count[shard] == sim->office_cap[shard]) {
        sim->office_cap[shard] = sim->office_cap[shard] == 0 ? 64 : 2 * sim->office_cap[shard];
        sim->offices[shard] = realloc(sim->offices[shard], sim->office_cap[shard] * sizeof(struct sim_office));
        MUSTER_CHECK(sim->offices[shard] != NULL);
    }
    struct sim_office *o = &sim->offices[shard][sim->office_count[shard]++];
    *o = (struct sim_office){.term = term, .node = node, .since_us = sim->now_us};
    return o;
}

void offices_fini(struct sim *sim)
{
    for (uint32_t shard = 0; shard < SIM_SHARDS; shard++)
        free(sim->offices[shard]);
}

void offices_role(struct sim_node *n, uint32_t shard, enum replica_role role, uint64_t term)
{
    if (role == REPLICA_FOLLOWER)
        return;
    struct sim_office *o = find(n->sim, shard, term);
    if (o == NULL)
        o = add(n->sim, shard, term, n->id);
    if (o->node != n->id)
        sim_fail(n->sim, "shard %u: nodes %u and %u lead in term %llu", shard, o->node, n->id, (unsigned long long)term);
    o->served = o->served || role != REPLICA_LEADER;
    o->handed_over = o->handed_over || role == REPLICA_HANDING_OVER;
}

/* Whether some office of that node came before; the newest of them. */
static const struct sim_office *newest_of(const struct sim *sim, uint32_t shard, int32_t node, uint64_t before_term)
{
    const struct sim_office *newest = NULL;
    for (size_t i = 0; i < sim->office_count[shard]; i++) {
        const struct sim_office *o = &sim->offices[shard][i];
        if (o->node == (uint32_t)node && o->term < before_term && (newest == NULL || o->term > newest->term))
            newest = o;
    }
    return newest;
}

/* What is known of the one before: that it led, and that it was heard of after it had begun to, by the slowest of clocks. Whoever votes names the leader of the term before in the
 * next one: so it may have been heard of in its office before that one. */
static void check_before(struct sim_node *n, uint32_t shard, const struct group_office *said)
{
    struct sim *sim = n->sim;
    const struct sim_office *before = newest_of(sim, shard, said->from_node_id, (uint64_t)said->term);
    const struct sim_office *heard = newest_of(sim, shard, said->from_node_id, (uint64_t)said->from_term);
    if (said->from_node_id < 0)
        return;
    if (before == NULL) {
        sim_fail(sim, "shard %u term %lld: node %d is said to have led before, and did not", shard, (long long)said->term,
                 said->from_node_id);
        return;
    }
    if (said->handed_over && !before->handed_over)
        sim_fail(sim, "shard %u term %lld: node %d is said to have handed over, and did not", shard, (long long)said->term,
                 said->from_node_id);
    heard = heard != NULL ? heard : newest_of(sim, shard, said->from_node_id, (uint64_t)said->from_term + 1);
    if (heard != NULL && said->silent_ms > 0 && SIM_LEAST_US(said->silent_ms - 2) > sim->now_us - heard->since_us)
        sim_fail(sim, "shard %u term %lld: node %d is said to have been silent for %lld ms, and leads since %lld ms", shard,
                 (long long)said->term, said->from_node_id, (long long)said->silent_ms, (long long)(sim->now_us - heard->since_us) / 1000);
}

void offices_decided(struct sim_node *n, uint32_t shard, const struct group_op *op, const struct group_out *out)
{
    struct sim *sim = n->sim;
    if (op->kind != SHARD_OFFICE)
        return;
    const struct group_office *said = op->office;
    struct sim_office *o = find(sim, shard, (uint64_t)said->term);
    if (o == NULL || o->node != n->id || said->node_id != (int32_t)n->id || !o->served) {
        sim_fail(sim, "node %u says that node %d took office of shard %u in term %lld", n->id, said->node_id, shard, (long long)said->term);
        return;
    }
    bool known = catalog_feature_level(coord_set(n->coord, 0)) >= LEVEL;
    if (!o->told && known != (out->records.len > 0))
        sim_fail(sim, "shard %u: the office of node %u in term %lld is%s recorded (%s)", shard, n->id, (long long)said->term,
                 known ? " not" : "", out->rule);
    o->decided = true;
    o->told = o->told || out->records.len > 0;
    sim->totals.offices_recorded += out->records.len > 0;
    sim_say(sim, "node=%u shard=%u office term=%lld from=%d silent_ms=%lld handed_over=%d rule=\"%s\"", n->id, shard, (long long)said->term,
            said->from_node_id, (long long)said->silent_ms, said->handed_over, out->rule);
    check_before(n, shard, said);
}

/* What a node's state says: offices that were, in order, and no more than are kept. */
static void check_list(struct sim *sim, uint32_t shard, const struct group_set *set)
{
    struct group_office said;
    int64_t term = INT64_MAX;
    int32_t nth = 0;
    for (; group_set_office(set, nth, &said); nth++) {
        const struct sim_office *o = find(sim, shard, (uint64_t)said.term);
        if (said.term >= term || o == NULL || o->node != (uint32_t)said.node_id || !o->told)
            sim_fail(sim, "shard %u: the history says that node %d took office in term %lld", shard, said.node_id, (long long)said.term);
        if (said.from_node_id >= 0 && newest_of(sim, shard, said.from_node_id, (uint64_t)said.term) == NULL)
            sim_fail(sim, "shard %u term %lld: the history says that node %d led before", shard, (long long)said.term, said.from_node_id);
        term = said.term;
    }
    if (nth > 32)
        sim_fail(sim, "shard %u: the history has %d offices", shard, nth);
}

bool offices_calm(struct sim *sim, char *why, size_t why_len)
{
    for (uint32_t shard = 0; shard < SIM_SHARDS && !sim->failed; shard++) {
        struct sim_node *leader = operator_leader_of(sim, shard);
        struct replica_shard_status s;
        struct group_office newest = {.term = -1};
        snprintf(why, why_len, "shard %u: who leads has not recorded it", shard);
        if (leader == NULL)
            return false;
        replica_status(leader->core, shard, &s);
        const struct sim_office *o = find(sim, shard, s.term);
        if (o == NULL || !o->decided)
            return false;
        check_list(sim, shard, coord_set(leader->coord, shard));
        histories_check(leader, shard);
        (void)group_set_office(coord_set(leader->coord, shard), 0, &newest);
        if (o->told && newest.term != (int64_t)s.term)
            return false;
    }
    return true;
}
