/* Checkers. Each compares what clients were told with what any history the protocol allows could have told them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "world.h"

struct write {
    int64_t value, sent_us, acked_us; /* acked INT64_MAX: its outcome is not known; else when it is known to be there */
    int64_t answered_us;              /* INT64_MAX: not with success */
    uint32_t node;
};
struct reg { /* one (group, partition) */
    struct write *v;
    size_t len, cap;
};
struct owner {
    int32_t generation;
    char member[SIM_ID_MAX];
};
struct generation_seen {
    int32_t generation;
    int64_t at_us;
};

struct group_check {
    struct reg partitions[SIM_PARTITIONS];
    struct owner *owners[SIM_PARTITIONS];
    size_t owner_count[SIM_PARTITIONS], owner_cap[SIM_PARTITIONS];
    struct generation_seen *seen;
    size_t seen_count, seen_cap; /* rising in both fields */
};

struct sim_check {
    struct group_check groups[SIM_REGISTERS];
    uint64_t *hashes[SIM_SHARDS];
    size_t hash_cap[SIM_SHARDS]; /* by index; 0: not seen */
    int64_t next_value;
};

void check_decided(struct sim_node *n, uint32_t shard, const struct group_op *op, const struct group_out *out)
{
    expiry_decided(n, shard, op, out);
    causes_decided(n, op, out);
    levels_decided(n, op, out);
    offices_decided(n, shard, op, out);
    resets_decided(n, op, out);
}

static void *grown(void *v, size_t *cap, size_t need, size_t size)
{
    if (need <= *cap)
        return v;
    size_t old = *cap;
    while (*cap < need)
        *cap = *cap == 0 ? 64 : 2 * *cap;
    v = realloc(v, *cap * size);
    MUSTER_CHECK(v != NULL);
    memset((char *)v + old * size, 0, (*cap - old) * size);
    return v;
}

void check_init(struct sim *sim)
{
    sim->check = calloc(1, sizeof(*sim->check));
    MUSTER_CHECK(sim->check != NULL);
}

void check_state_hash(struct sim *sim, uint32_t node, uint32_t shard, uint64_t index, uint64_t hash)
{
    struct sim_check *c = sim->check;
    c->hashes[shard] = grown(c->hashes[shard], &c->hash_cap[shard], (size_t)index + 1, sizeof(uint64_t));
    uint64_t mixed = hash + 1; /* 0 stands for "not seen" */
    uint64_t *known = &c->hashes[shard][index];
    if (*known != 0 && *known != mixed)
        sim_fail(sim, "state differs: node %u shard %u index %llu", node, shard, (unsigned long long)index);
    *known = mixed;
}

bool check_state_agrees(const struct sim *sim, uint32_t shard, uint64_t index, uint64_t hash)
{
    const struct sim_check *c = sim->check;
    return index < c->hash_cap[shard] && c->hashes[shard][index] == hash + 1;
}

/* ---- what was committed and read; and the history of it, in the form of tests/lin/linearize.py ---- */

static void tell_history(struct sim *sim, uint32_t group, int32_t partition, const char *op, int64_t value, int64_t sent_us, int64_t at_us,
                         uint32_t node)
{
    FILE *out = sim->options.history;
    if (out == NULL)
        return;
    fprintf(out, "{\"register\": \"seed-%llu/group-%u/%d\", \"op\": \"%s\", \"value\": %lld, \"invoke\": %lld, ",
            (unsigned long long)sim->options.seed, group, partition, op, (long long)value, (long long)sent_us);
    if (at_us == INT64_MAX)
        fprintf(out, "\"return\": null, \"outcome\": \"unknown\", \"node\": %u}\n", node);
    else
        fprintf(out, "\"return\": %lld, \"outcome\": \"ok\", \"node\": %u}\n", (long long)at_us, node);
}

/* Reads are told as they are answered, writes when the run is over and their outcome can be said. */
static void tell_writes(struct sim *sim, uint32_t group, int32_t partition)
{
    const struct reg *r = &sim->check->groups[group].partitions[partition];
    for (size_t i = 0; i < r->len; i++)
        tell_history(sim, group, partition, "write", r->v[i].value, r->v[i].sent_us, r->v[i].answered_us, r->v[i].node);
}

void check_free(struct sim *sim)
{
    for (int g = 0; g < SIM_REGISTERS; g++) {
        struct group_check *group = &sim->check->groups[g];
        for (int p = 0; p < SIM_PARTITIONS; p++) {
            tell_writes(sim, (uint32_t)g, p);
            free(group->partitions[p].v);
            free(group->owners[p]);
        }
        free(group->seen);
    }
    for (int s = 0; s < SIM_SHARDS; s++)
        free(sim->check->hashes[s]);
    free(sim->check);
}

uint64_t check_write_begin(struct sim *sim, uint32_t group, int32_t partition, uint32_t node)
{
    struct reg *r = &sim->check->groups[group].partitions[partition];
    r->v = grown(r->v, &r->cap, r->len + 1, sizeof(*r->v));
    r->v[r->len++] = (struct write){++sim->check->next_value, sim->now_us, INT64_MAX, INT64_MAX, node};
    return (uint64_t)sim->check->next_value;
}

/* Values grow with the run, and so with every register. */
static struct write *find_write(struct reg *r, int64_t value)
{
    size_t low = 0, high = r->len;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->v[middle].value < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low < r->len && r->v[low].value == value ? &r->v[low] : NULL;
}

void check_write_acked(struct sim *sim, uint32_t group, int32_t partition, int64_t value)
{
    struct write *w = find_write(&sim->check->groups[group].partitions[partition], value);
    MUSTER_CHECK(w != NULL);
    w->answered_us = sim->now_us;
    if (sim->now_us < w->acked_us)
        w->acked_us = sim->now_us;
}

/* Nothing that was over before the read began may be newer than what it found: w is newer than v when w was sent after v was known to be there. */
static void check_found(struct sim *sim, uint32_t group, int32_t partition, int64_t value, int64_t sent_us, const char *how)
{
#ifndef MUSTER_FAULT_BLIND_CHECK
    struct reg *r = &sim->check->groups[group].partitions[partition];
    struct write *found = value < 0 ? NULL : find_write(r, value);
    if (value >= 0 && found == NULL) {
        sim_fail(sim, "%s: group %u partition %d: offset %lld was never committed", how, group, partition, (long long)value);
        return;
    }
    int64_t there_us = found != NULL ? found->acked_us : -1;
    for (size_t i = r->len; i > 0 && r->v[i - 1].sent_us > there_us; i--) { /* in the order in which they were sent */
        const struct write *w = &r->v[i - 1];
        if (w != found && w->acked_us < sent_us) {
            sim_fail(sim, "%s: group %u partition %d: found %lld, but %lld was acknowledged before", how, group, partition,
                     (long long)value, (long long)w->value);
            return;
        }
    }
    if (found != NULL && sim->now_us < found->acked_us)
        found->acked_us = sim->now_us;
#else
    (void)sim, (void)group, (void)partition, (void)value, (void)sent_us, (void)how;
#endif
}

void check_read(struct sim *sim, uint32_t group, int32_t partition, int64_t value, int64_t sent_us, uint32_t node, const char *how)
{
    tell_history(sim, group, partition, "read", value, sent_us, sim->now_us, node);
    check_found(sim, group, partition, value, sent_us, how);
}

void check_saved(struct sim *sim, uint32_t group, int32_t partition, int64_t value, int64_t asked_us)
{
    check_found(sim, group, partition, value, asked_us, "backup");
}

void check_generation(struct sim *sim, uint32_t group, int32_t generation, int64_t sent_us, int64_t at_us)
{
    struct group_check *g = &sim->check->groups[group];
    for (size_t i = g->seen_count; i > 0; i--) {
        if (g->seen[i - 1].at_us < sent_us && g->seen[i - 1].generation > generation) {
            sim_fail(sim, "group %u: generation %d after %d was seen", group, generation, g->seen[i - 1].generation);
            return;
        }
    }
    if (g->seen_count > 0 && g->seen[g->seen_count - 1].generation >= generation)
        return;
    g->seen = grown(g->seen, &g->seen_cap, g->seen_count + 1, sizeof(*g->seen));
    g->seen[g->seen_count++] = (struct generation_seen){generation, at_us};
    sim->totals.generations++;
}

void check_heartbeat(struct sim *sim, uint32_t group, int32_t generation, int64_t sent_us)
{
    const struct group_check *g = &sim->check->groups[group];
    for (size_t i = g->seen_count; i > 0; i--) {
        if (g->seen[i - 1].at_us < sent_us && g->seen[i - 1].generation > generation) {
            sim_fail(sim, "group %u: a heartbeat of generation %d is fine although %d was seen before it left", group, generation,
                     g->seen[i - 1].generation);
            return;
        }
    }
}

void check_owner(struct sim *sim, uint32_t group, int32_t generation, int32_t partition, const char *member)
{
    struct group_check *g = &sim->check->groups[group];
    for (size_t i = g->owner_count[partition]; i > 0; i--) {
        const struct owner *o = &g->owners[partition][i - 1];
        if (o->generation != generation)
            continue;
        if (strcmp(o->member, member) != 0)
            sim_fail(sim, "group %u generation %d partition %d: two owners, %s and %s", group, generation, partition, o->member, member);
        return;
    }
    g->owners[partition] = grown(g->owners[partition], &g->owner_cap[partition], g->owner_count[partition] + 1, sizeof(struct owner));
    struct owner *o = &g->owners[partition][g->owner_count[partition]++];
    o->generation = generation;
    snprintf(o->member, sizeof(o->member), "%s", member);
}

void check_group_gone(struct sim *sim, struct str group_id)
{
    for (uint32_t i = 0; i < SIM_GROUPS_MAX; i++) {
        char id[SIM_ID_MAX];
        snprintf(id, sizeof(id), "group-%u", i);
        if (!str_eq(str_of(id), group_id))
            continue;
        struct group_check *g = &sim->check->groups[i];
        sim_say(sim, "group=%u is empty and removed", i);
        g->seen_count = 0;
        memset(g->owner_count, 0, sizeof(g->owner_count));
    }
}
